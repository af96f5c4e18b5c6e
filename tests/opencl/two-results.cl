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
    const long t1 = (long)((ulong)i + (ulong)10);
    a[i + 10] = (float)(((int)t1) % 10);
}

kernel void halves_1_k2(global const float *a, global float *b, global float *c, const long end_i)
{
    const long i = get_global_id(0);
    if (i >= end_i)
        return;
    const float t1 = a[i];
    const float t2 = t1 * t1;
    b[i] = t2 + 1.0f;
    c[i] = t2 - 1.0f;
}
