#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

kernel void entry_0_k0(global double *restrict a, const long end_i, const long end_j)
{
    const int i = get_global_id(1);
    const int j = get_global_id(0);
    if (i >= end_i || j >= end_j)
        return;
    a[i * 80 + j] = (double)(i * j % 7);
}

__attribute__((reqd_work_group_size(256, 1, 1)))
kernel void entry_0_k1(global const double *restrict a, global double *restrict c)
{
    const int i = get_group_id(0);
    const int item_i = get_local_id(0);
    local double b[256];
    const int t1 = i << 11;
    const int t2 = min(t1 + 2048, 4800);
    const int t3 = t2 - (t2 - t1) % 2048;
    double acc = 0.0;
    double acc1 = 0.0;
    double acc2 = 0.0;
    double acc3 = 0.0;
    double acc4 = 0.0;
    double acc5 = 0.0;
    double acc6 = 0.0;
    double acc7 = 0.0;
    for (int j = t1; j < t3; j += 2048) {
        acc += a[j + item_i];
        acc1 += a[j + item_i + 256];
        acc2 += a[j + item_i + 512];
        acc3 += a[j + item_i + 768];
        acc4 += a[j + item_i + 1024];
        acc5 += a[j + item_i + 1280];
        acc6 += a[j + item_i + 1536];
        acc7 += a[j + item_i + 1792];
    }
    double acc8 = acc;
    for (int j = t3 + item_i; j < t2; j += 256) {
        acc8 += a[j];
    }
    b[item_i] = acc8 + acc1 + acc2 + acc3 + acc4 + acc5 + acc6 + acc7;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    long acc9 = 128;
    char t4;
    do {
        if (item_i < acc9) {
            b[item_i] = b[item_i] + b[acc9 + item_i];
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        const long t5 = acc9 >> 1;
        t4 = t5 > 0;
        acc9 = t5;
    } while (t4);
    const double t6 = b[0];
    if (item_i == 0) {
        c[i] = t6;
    }
}

kernel void step_1_k2(global const double *restrict a, global double *restrict b, const long end_i, const long end_j)
{
    const int i = get_global_id(1);
    const int j = get_global_id(0);
    if (i >= end_i || j >= end_j)
        return;
    const int t1 = i << 2;
    const int t2 = t1 + 1;
    if (t1 + 4 < 59) {
        const double t3 = a[i * 320 + j + 161];
        const double t4 = a[i * 320 + j + 241];
        const double t5 = (a[i * 320 + j + 81] + t4 + a[i * 320 + j + 160] + a[i * 320 + j + 162]) * 0.25;
        const double t6 = (t3 + a[i * 320 + j + 321] + a[i * 320 + j + 240] + a[i * 320 + j + 242]) * 0.25;
        const double t7 = (t4 + a[i * 320 + j + 401] + a[i * 320 + j + 320] + a[i * 320 + j + 322]) * 0.25;
        b[i * 320 + j + 81] = (a[i * 320 + j + 1] + t3 + a[i * 320 + j + 80] + a[i * 320 + j + 82]) * 0.25;
        b[i * 320 + j + 161] = t5;
        b[i * 320 + j + 241] = t6;
        b[i * 320 + j + 321] = t7;
    } else {
        for (int k = t2; k < 59; k++) {
            b[j + k * 80 + 1] = (a[j + k * 80 - 79] + a[j + k * 80 + 81] + a[j + k * 80] + a[j + k * 80 + 2]) * 0.25;
        }
    }
}
