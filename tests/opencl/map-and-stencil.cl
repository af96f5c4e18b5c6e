#pragma OPENCL FP_CONTRACT OFF

kernel void ramp_1_k0(global float *a, const long end_i)
{
    const long i = get_global_id(0);
    if (i >= end_i)
        return;
    a[i] = ((float)((int)i)) * 0.25f;
}

kernel void smooth_2_k1(global const float *a, global float *b, const long end_i)
{
    const long i = get_global_id(0);
    if (i >= end_i)
        return;
    b[i + 1] = (a[i + 1] * 0.5f) + ((a[i] + a[i + 2]) * 0.25f);
}
