#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

kernel void mandelbrot_1_k0(global int *a, const long end_i, const long end_j)
{
    const long i = get_global_id(1);
    const long j = get_global_id(0);
    if (i >= end_i || j >= end_j)
        return;
    const double t1 = ((((double)((int)j)) * 3.0) * 0.015625) - 2.0;
    const double t2 = ((((double)((int)i)) * 2.0) / 48.0) - 1.0;
    double acc = 0.0;
    double acc1 = 0.0;
    int acc2 = 0;
    char t3;
    do {
        const double t4 = ((acc * acc) - (acc1 * acc1)) + t1;
        const double t5 = ((acc * 2.0) * acc1) + t2;
        const int t6 = (int)((uint)acc2 + (uint)1);
        t3 = (t6 < 100) & (((t4 * t4) + (t5 * t5)) < 4.0);
        acc = t4;
        acc1 = t5;
        acc2 = t6;
    } while (t3);
    a[i * 64 + j] = acc2;
}
