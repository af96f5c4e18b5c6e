#pragma OPENCL FP_CONTRACT OFF

kernel void entry_0_k0(global int *a, const long end_i, const long end_j)
{
    const long i = get_global_id(1);
    const long j = get_global_id(0);
    if (i >= end_i || j >= end_j)
        return;
    a[i * 50 + j] = (int)((uint)((int)((uint)((int)i) * (uint)100)) + (uint)((int)j));
}

kernel void turned_1_k1(global const int *a, global int *b, const long end_i, const long end_j)
{
    const long i = get_global_id(1);
    const long j = get_global_id(0);
    if (i >= end_i || j >= end_j)
        return;
    b[i * 30 + j] = a[j * 50 + i];
}
