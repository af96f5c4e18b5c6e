#pragma OPENCL FP_CONTRACT OFF

kernel void entry_0_k0(global int *restrict a, const long end_i)
{
    const int i = get_global_id(0);
    if (i >= end_i)
        return;
    a[i] = i * i;
}

kernel void entry_0_k1(global int *restrict a, const long end_i)
{
    const int i = get_global_id(0);
    if (i >= end_i)
        return;
    a[i] = i * 37 % 100;
}

kernel void entry_0_k2(global int *restrict a, global int *restrict b, const long end_i)
{
    const int i = get_global_id(0);
    if (i >= end_i)
        return;
    if (i < 128) {
        if (i < 100) {
            a[i] = i * i;
        }
    } else {
        b[i - 128] = (i + -128) * 37 % 100;
    }
}

__attribute__((reqd_work_group_size(256, 1, 1)))
kernel void entry_0_k3(global const int *restrict a, global int *restrict c)
{
    const int i = get_group_id(0);
    const int item_i = get_local_id(0);
    local int b[256];
    const int t1 = i << 11;
    const int t2 = min(t1 + 2048, 1000);
    const int t3 = t2 - (t2 - t1) % 2048;
    int acc = 0;
    int acc1 = 0;
    int acc2 = 0;
    int acc3 = 0;
    int acc4 = 0;
    int acc5 = 0;
    int acc6 = 0;
    int acc7 = 0;
    for (int j = t1; j < t3; j += 2048) {
        acc = (uint)acc + a[j + item_i];
        acc1 = (uint)acc1 + a[j + item_i + 256];
        acc2 = (uint)acc2 + a[j + item_i + 512];
        acc3 = (uint)acc3 + a[j + item_i + 768];
        acc4 = (uint)acc4 + a[j + item_i + 1024];
        acc5 = (uint)acc5 + a[j + item_i + 1280];
        acc6 = (uint)acc6 + a[j + item_i + 1536];
        acc7 = (uint)acc7 + a[j + item_i + 1792];
    }
    int acc8 = acc;
    for (int j = t3 + item_i; j < t2; j += 256) {
        acc8 = (uint)acc8 + a[j];
    }
    b[item_i] = (uint)acc8 + acc1 + acc2 + acc3 + acc4 + acc5 + acc6 + acc7;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    long acc9 = 128;
    char t4;
    do {
        if (item_i < acc9) {
            b[item_i] = (uint)b[item_i] + b[acc9 + item_i];
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        const long t5 = acc9 >> 1;
        t4 = t5 > 0;
        acc9 = t5;
    } while (t4);
    const int t6 = b[0];
    if (item_i == 0) {
        c[i] = t6;
    }
}

kernel void looked_up_1_k4(global const int *restrict a, global const int *restrict b, global int *restrict c, const long end_i, global int *fault)
{
    const int i = get_global_id(0);
    if (i >= end_i)
        return;
    const int t1 = a[i];
    if (!((uint)t1 < (uint)100)) {
        *fault = 1;
        return;
    }
    c[i] = b[t1];
}
