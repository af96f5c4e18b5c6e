#pragma OPENCL FP_CONTRACT OFF

kernel void entry_0_k0(global float *restrict a, const long end_i, const long end_j)
{
    const int i = get_global_id(1);
    const int j = get_global_id(0);
    if (i >= end_i || j >= end_j)
        return;
    a[i * 50 + j] = (float)((i + j) % 5);
}

kernel void entry_0_k1(global float *restrict a, const long end_i, const long end_j)
{
    const int i = get_global_id(1);
    const int j = get_global_id(0);
    if (i >= end_i || j >= end_j)
        return;
    a[i * 50 + j] = (float)(i * j % 3);
}

kernel void entry_0_k2(global float *restrict a, global float *restrict b, const long end_i)
{
    const int i = get_global_id(0);
    if (i >= end_i)
        return;
    if (i < 3520) {
        if (i < 3500) {
            a[i] = (float)((int)((uint)(int)(long)(uint)(i / 50) + (int)(long)(uint)(i % 50)) % 5);
        }
    } else {
        const int t1 = i + -3520;
        b[i - 3520] = (float)((int)((uint)(int)(long)((uint)t1 / (uint)50) * (int)(long)((uint)t1 % (uint)50)) % 3);
    }
}

__attribute__((reqd_work_group_size(256, 1, 1)))
kernel void entry_0_k3(global const float *restrict a, global float *restrict c)
{
    const int i = get_group_id(0);
    const int item_i = get_local_id(0);
    local float b[256];
    const int t1 = i << 11;
    const int t2 = min(t1 + 2048, 2800);
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

__attribute__((reqd_work_group_size(16, 16, 1)))
kernel void product_1_k4(global const float *restrict a, global const float *restrict b, global float *restrict e)
{
    const int i = get_group_id(2);
    const int j = get_group_id(1);
    const int k = get_group_id(0);
    const int item_i = get_local_id(2);
    const int item_j = get_local_id(1);
    const int item_k = get_local_id(0);
    local float c[2304] __attribute__((aligned(16)));
    local float d[2304] __attribute__((aligned(16)));
    const int t1 = j << 5;
    const int t2 = k << 5;
    const int t3 = (item_j << 4) + item_k;
    const int t4 = t1 + (item_j << 1);
    const int t5 = t4 + 1;
    const int t6 = t2 + (item_k << 1);
    const int t7 = t6 + 1;
    const int t8 = t3 & 31;
    const int t9 = t3 >> 5;
    const int t10 = min(t1 + t9, 69);
    const int t11 = min(t8, 49);
    const int t12 = t9 + 8;
    const int t13 = min(t1 + t12, 69);
    const int t14 = t9 + 16;
    const int t15 = min(t1 + t14, 69);
    const int t16 = t9 + 24;
    const int t17 = min(t1 + t16, 69);
    const int t18 = min(t2 + t9, 39);
    const int t19 = min(t2 + t12, 39);
    const int t20 = min(t2 + t14, 39);
    const int t21 = min(t2 + t16, 39);
    const float t22 = a[t13 * 50 + t11];
    const float t23 = a[t15 * 50 + t11];
    const float t24 = a[t17 * 50 + t11];
    const float t25 = b[t18 * 50 + t11];
    const float t26 = b[t19 * 50 + t11];
    const float t27 = b[t20 * 50 + t11];
    const float t28 = b[t21 * 50 + t11];
    c[t8 * 36 + t9] = a[t10 * 50 + t11];
    c[t8 * 36 + t9 + 8] = t22;
    c[t8 * 36 + t9 + 16] = t23;
    c[t8 * 36 + t9 + 24] = t24;
    d[t8 * 36 + t9] = t25;
    d[t8 * 36 + t9 + 8] = t26;
    d[t8 * 36 + t9 + 16] = t27;
    d[t8 * 36 + t9 + 24] = t28;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int t29 = min(t8 + 32, 49);
    float acc = 0.0f;
    float acc1 = 0.0f;
    float acc2 = 0.0f;
    float acc3 = 0.0f;
    const float t30 = a[t10 * 50 + t29];
    const float t31 = a[t13 * 50 + t29];
    const float t32 = a[t15 * 50 + t29];
    const float t33 = a[t17 * 50 + t29];
    const float t34 = b[t18 * 50 + t29];
    const float t35 = b[t19 * 50 + t29];
    const float t36 = b[t20 * 50 + t29];
    const float t37 = b[t21 * 50 + t29];
    for (int l = 0; l < 32; l++) {
        const float t38 = c[l * 36 + item_j * 2];
        const float t39 = c[l * 36 + item_j * 2 + 1];
        const float t40 = d[l * 36 + item_k * 2];
        const float t41 = d[l * 36 + item_k * 2 + 1];
        acc = fma(t38, t40, acc);
        acc1 = fma(t38, t41, acc1);
        acc2 = fma(t39, t40, acc2);
        acc3 = fma(t39, t41, acc3);
    }
    c[t8 * 36 + t9 + 1152] = t30;
    c[t8 * 36 + t9 + 1160] = t31;
    c[t8 * 36 + t9 + 1168] = t32;
    c[t8 * 36 + t9 + 1176] = t33;
    d[t8 * 36 + t9 + 1152] = t34;
    d[t8 * 36 + t9 + 1160] = t35;
    d[t8 * 36 + t9 + 1168] = t36;
    d[t8 * 36 + t9 + 1176] = t37;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    float acc4 = acc;
    float acc5 = acc1;
    float acc6 = acc2;
    float acc7 = acc3;
    for (int l = 0; l < 18; l++) {
        const float t42 = c[l * 36 + item_j * 2 + 1152];
        const float t43 = c[l * 36 + item_j * 2 + 1153];
        const float t44 = d[l * 36 + item_k * 2 + 1152];
        const float t45 = d[l * 36 + item_k * 2 + 1153];
        acc4 = fma(t42, t44, acc4);
        acc5 = fma(t42, t45, acc5);
        acc6 = fma(t43, t44, acc6);
        acc7 = fma(t43, t45, acc7);
    }
    const char t46 = t4 <= 69;
    if (t46) {
        if (t6 <= 39) {
            e[j * 1280 + item_j * 80 + k * 32 + item_k * 2] = acc4;
        }
    }
    if (t46) {
        if (t7 <= 39) {
            e[j * 1280 + item_j * 80 + k * 32 + item_k * 2 + 1] = acc5;
        }
    }
    const char t47 = t5 <= 69;
    if (t47) {
        if (t6 <= 39) {
            e[j * 1280 + item_j * 80 + k * 32 + item_k * 2 + 40] = acc6;
        }
    }
    if (t47) {
        if (t7 <= 39) {
            e[j * 1280 + item_j * 80 + k * 32 + item_k * 2 + 41] = acc7;
        }
    }
}
