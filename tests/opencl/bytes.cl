#pragma OPENCL FP_CONTRACT OFF

kernel void entry_0_k0(global char *a, const long end_i)
{
    const long i = get_global_id(0);
    if (i >= end_i)
        return;
    a[i] = (char)((int)i);
}

kernel void entry_0_k1(global char *a, const long end_i)
{
    const long i = get_global_id(0);
    if (i >= end_i)
        return;
    a[i + 250] = (char)(((int)((long)((ulong)i + (ulong)250))) % 250);
}

kernel void above_1_k2(global const char *a, const char s, global char *b, const long end_i)
{
    const long i = get_global_id(0);
    if (i >= end_i)
        return;
    b[i] = (uchar)a[i] > (uchar)s;
}

kernel void counted_2_k3(global const char *a, global long *b, const long end_i)
{
    const long i = get_global_id(0);
    if (i >= end_i)
        return;
    b[i] = a[i] ? ((long)((ulong)((long)((int)i)) * (ulong)5000000000L)) : 1;
}
