#pragma OPENCL FP_CONTRACT OFF

kernel void entry_0_k0(global char *restrict a, const long end_i)
{
    const int i = get_global_id(0);
    if (i >= end_i)
        return;
    a[i] = (char)(i % 250);
}

__attribute__((reqd_work_group_size(256, 1, 1)))
kernel void entry_0_k1(global const long *restrict a, global long *restrict c)
{
    const int i = get_group_id(0);
    const int item_i = get_local_id(0);
    local long b[256];
    const int t1 = i << 11;
    const int t2 = min(t1 + 2048, 1000);
    const int t3 = t2 - (t2 - t1) % 2048;
    long acc = 0;
    long acc1 = 0;
    long acc2 = 0;
    long acc3 = 0;
    long acc4 = 0;
    long acc5 = 0;
    long acc6 = 0;
    long acc7 = 0;
    for (int j = t1; j < t3; j += 2048) {
        acc = (ulong)acc + a[j + item_i];
        acc1 = (ulong)acc1 + a[j + item_i + 256];
        acc2 = (ulong)acc2 + a[j + item_i + 512];
        acc3 = (ulong)acc3 + a[j + item_i + 768];
        acc4 = (ulong)acc4 + a[j + item_i + 1024];
        acc5 = (ulong)acc5 + a[j + item_i + 1280];
        acc6 = (ulong)acc6 + a[j + item_i + 1536];
        acc7 = (ulong)acc7 + a[j + item_i + 1792];
    }
    long acc8 = acc;
    for (int j = t3 + item_i; j < t2; j += 256) {
        acc8 = (ulong)acc8 + a[j];
    }
    b[item_i] = (ulong)acc8 + acc1 + acc2 + acc3 + acc4 + acc5 + acc6 + acc7;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    long acc9 = 128;
    char t4;
    do {
        if (item_i < acc9) {
            b[item_i] = (ulong)b[item_i] + b[acc9 + item_i];
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        const long t5 = acc9 >> 1;
        t4 = t5 > 0;
        acc9 = t5;
    } while (t4);
    const long t6 = b[0];
    if (item_i == 0) {
        c[i] = t6;
    }
}

kernel void above_1_k2(global const char *restrict a, const char s, global char *restrict b, const long end_i)
{
    const int i = get_global_id(0);
    if (i >= end_i)
        return;
    b[i] = (uchar)a[i] > (uchar)s;
}

kernel void counted_2_k3(global const char *restrict a, global long *restrict b, const long end_i)
{
    const int i = get_global_id(0);
    if (i >= end_i)
        return;
    b[i] = a[i] ? i * 5000000000L : 1;
}
