#pragma OPENCL FP_CONTRACT OFF

kernel void entry_0_k0(global float *a, const long end_i)
{
    const long i = get_global_id(0);
    if (i >= end_i)
        return;
    a[i] = (float)((int)i);
}

kernel void entry_0_k1(global float *a, const long end_i)
{
    const long i = get_global_id(0);
    if (i >= end_i)
        return;
    const long t1 = (long)((ulong)i + (ulong)17);
    a[i + 17] = (float)(((int)t1) % 17);
}

kernel void entry_0_k2(global float *a, const long end_i)
{
    const long i = get_global_id(0);
    if (i >= end_i)
        return;
    a[i] = (float)((int)((uint)((int)i) + (uint)1));
}

kernel void entry_0_k3(global float *a, const long end_i)
{
    const long i = get_global_id(0);
    if (i >= end_i)
        return;
    const long t1 = (long)((ulong)i + (ulong)3);
    a[i + 3] = (float)((int)((uint)(((int)t1) % 3) + (uint)1));
}

kernel void pulls_1_k4(global const float *a, global const float *b, global float *c, const long end_i)
{
    const long i = get_global_id(0);
    if (i >= end_i)
        return;
    const float t1 = a[i];
    float acc = 0.0f;
    for (long j = 0; j < 200; j++) {
        const float t2 = a[j] - t1;
        acc = acc + ((b[j] * t2) / (fabs(t2) + 0.01f));
    }
    c[i] = acc;
}
