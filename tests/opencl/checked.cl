#pragma OPENCL FP_CONTRACT OFF

kernel void entry_0_k0(global int *a, const long end_i)
{
    const long i = get_global_id(0);
    if (i >= end_i)
        return;
    const int t1 = (int)i;
    a[i] = (int)((uint)t1 * (uint)t1);
}

kernel void entry_0_k1(global int *a, const long end_i)
{
    const long i = get_global_id(0);
    if (i >= end_i)
        return;
    a[i] = ((int)((uint)((int)i) * (uint)37)) % 100;
}

kernel void looked_up_1_k2(global const int *a, global const int *b, global int *c, const long end_i, global int *fault)
{
    const long i = get_global_id(0);
    if (i >= end_i)
        return;
    const int t1 = a[i];
    if (!((t1 >= 0) & (t1 < 100))) {
        *fault = 1;
        return;
    }
    const long t2 = (long)t1;
    c[i] = b[t2];
}
