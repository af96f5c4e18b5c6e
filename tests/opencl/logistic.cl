#pragma OPENCL FP_CONTRACT OFF

kernel void entry_0_k0(global float *a, const long end_i)
{
    const long i = get_global_id(0);
    if (i >= end_i)
        return;
    a[i] = ((float)((int)((uint)((int)i) + (uint)(-500)))) * 0.01f;
}

kernel void logistic_1_k1(global const float *a, global float *b, const long end_i)
{
    const long i = get_global_id(0);
    if (i >= end_i)
        return;
    const float t1 = (-104.0f) > (89.0f < (-a[i]) ? 89.0f : (-a[i])) ? (-104.0f) : (89.0f < (-a[i]) ? 89.0f : (-a[i]));
    const float t2 = fma(t1, 1.442695f, 12583166.0f);
    const float t3 = t2 - 12583166.0f;
    const int t4 = as_int(t2);
    const int t5 = (int)((uint)t4 >> 1);
    const float t6 = fma(t3, 0.00021219444f, fma(t3, -0.6933594f, t1));
    const float t7 = fma(fma(fma(fma(0.0013814539f, t6, 0.008368745f), t6, 0.04166839f), t6, 0.16666521f), t6, 0.49999994f);
    const float t8 = (fma(fma(t7, t6, 1.0f), t6, 1.0f) * as_float((int)((uint)t5 << 23))) * as_float((int)((uint)((int)((uint)t4 - (uint)t5)) << 23));
    b[i] = 1.0f / (t8 + 1.0f);
}
