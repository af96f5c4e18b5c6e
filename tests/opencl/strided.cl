#pragma OPENCL FP_CONTRACT OFF

kernel void combed_1_k0(global int *a, const long end_i)
{
    const long i = get_global_id(0);
    if (i >= end_i)
        return;
    const long t1 = (long)((ulong)i << 1);
    a[i * 2] = (int)t1;
}

kernel void combed_1_k1(global int *a, const long end_i)
{
    const long i = get_global_id(0);
    if (i >= end_i)
        return;
    const long t1 = (long)((ulong)((long)((ulong)i << 1)) + (ulong)1);
    a[i * 2 + 1] = (int)((uint)0 - (uint)((int)t1));
}
