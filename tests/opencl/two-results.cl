#pragma OPENCL FP_CONTRACT OFF

kernel void entry_0_k0(global float *restrict a, const long end_i)
{
    const int i = get_global_id(0);
    if (i >= end_i)
        return;
    a[i] = (float)(i % 10);
}

__attribute__((reqd_work_group_size(256, 1, 1)))
kernel void entry_0_k1(global const float *restrict a, global float *restrict c)
{
    const int i = get_group_id(0);
    const int item_i = get_local_id(0);
    local float b[256];
    const int t1 = i << 11;
    const int t2 = min(t1 + 2048, 1000);
    const int t3 = t2 - (t2 - t1) % 2048;
    float acc = 0.0f;
    float acc1 = 0.0f;
    float acc2 = 0.0f;
    float acc3 = 0.0f;
    float acc4 = 0.0f;
    float acc5 = 0.0f;
    float acc6 = 0.0f;
    float acc7 = 0.0f;
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
    float acc8 = acc;
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
    const float t6 = b[0];
    if (item_i == 0) {
        c[i] = t6;
    }
}

kernel void halves_1_k2(global const float *restrict a, global float *restrict b, global float *restrict c, const long end_i)
{
    const int i = get_global_id(0);
    if (i >= end_i)
        return;
    const float4 t1 = ((global const float4 *)a)[i];
    const float4 t2 = t1 * t1;
    ((global float4 *)b)[i] = t2 + 1.0f;
    ((global float4 *)c)[i] = t2 - 1.0f;
}
