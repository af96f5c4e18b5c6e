#pragma OPENCL FP_CONTRACT OFF

kernel void entry_0_k0(global float *a, const long end_i, const long end_j)
{
    const long i = get_global_id(1);
    const long j = get_global_id(0);
    if (i >= end_i || j >= end_j)
        return;
    a[i * 50 + j] = (float)(((int)((uint)((int)i) + (uint)((int)((uint)((int)j) << 1)))) % 9);
}

kernel void convolved_1_k1(global const float *b, global const float *a, global float *c, const long end_i, const long end_j)
{
    const long i = get_global_id(1);
    const long j = get_global_id(0);
    if (i >= end_i || j >= end_j)
        return;
    float acc = 0.0f;
    for (long k = 0; k < 3; k++) {
        float acc1 = acc;
        for (long l = 0; l < 3; l++) {
            acc1 = fma(a[k * 3 + l], b[i * 50 + j + k * 50 + l], acc1);
        }
        acc = acc1;
    }
    c[i * 48 + j] = acc;
}
