#include <stdio.h>
#include "filters.h"

int main(void)
{
    float image[4 * 5], kernel[] = {0.25f, 0.25f, 0.25f, 0.25f};
    for (int i = 0; i < 20; i++) image[i] = i;
    ravel_array *y;
    if (filters_conv_2(image, (int64_t[]){4, 5}, kernel, (int64_t[]){2, 2}, &y) != RAVEL_OK) {
        fprintf(stderr, "%s\n", ravel_last_error());
        return 1;
    }
    const int64_t *shape = ravel_array_shape(y);
    const float *data = ravel_array_data(y);
    printf("%d x %d, %g to %g\n", (int)shape[0], (int)shape[1], data[0], data[ravel_array_size(y) - 1]);
    ravel_array_release(y);

    double v[] = {1, 2, 6}, mean;
    filters_centered_1(v, (int64_t[]){3}, &mean, &y);
    printf("mean %g, last %g\n", mean, ((double *)ravel_array_data(y))[2]);
    ravel_array_release(y);

    int32_t numbers[] = {5, 6, 7}, found;
    ravel_status status = filters_element_1(numbers, (int64_t[]){3}, 9, &found);
    printf("status %d: %s\n", status, ravel_last_error());
    return 0;
}
