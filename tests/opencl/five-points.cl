#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

kernel void entry_0_k0(global double *a, const long end_i, const long end_j)
{
    const long i = get_global_id(1);
    const long j = get_global_id(0);
    if (i >= end_i || j >= end_j)
        return;
    a[i * 80 + j] = (double)(((int)((uint)((int)i) * (uint)((int)j))) % 7);
}

kernel void step_1_k1(global const double *a, global double *b, const long end_i, const long end_j)
{
    const long i = get_global_id(1);
    const long j = get_global_id(0);
    if (i >= end_i || j >= end_j)
        return;
    b[i * 80 + j + 81] = (((a[i * 80 + j + 1] + a[i * 80 + j + 161]) + a[i * 80 + j + 80]) + a[i * 80 + j + 82]) * 0.25;
}
