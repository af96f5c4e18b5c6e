#pragma OPENCL FP_CONTRACT OFF

kernel void entry_0_k0(global float *a, const long end_i, const long end_j)
{
    const long i = get_global_id(1);
    const long j = get_global_id(0);
    if (i >= end_i || j >= end_j)
        return;
    a[i * 50 + j] = (float)(((int)((uint)((int)i) + (uint)((int)j))) % 5);
}

kernel void entry_0_k1(global float *a, const long end_i, const long end_j)
{
    const long i = get_global_id(1);
    const long j = get_global_id(0);
    if (i >= end_i || j >= end_j)
        return;
    a[i * 50 + j] = (float)(((int)((uint)((int)i) * (uint)((int)j))) % 3);
}

kernel void product_1_k2(global const float *a, global const float *b, global float *c, const long end_i, const long end_j)
{
    const long i = get_global_id(1);
    const long j = get_global_id(0);
    if (i >= end_i || j >= end_j)
        return;
    float acc = 0.0f;
    for (long k = 0; k < 50; k++) {
        acc = fma(a[i * 50 + k], b[j * 50 + k], acc);
    }
    c[i * 40 + j] = acc;
}
