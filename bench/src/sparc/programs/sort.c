/* Quicksort of random numbers through a function pointer, and binary searches among them. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 200000 };
static uint64_t numbers[COUNT];

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void quick(uint64_t *from, long count)
{
    while (count > 12) {
        uint64_t pivot = from[count / 2];
        long i = 0, j = count - 1;
        while (i <= j) {
            while (compare(&from[i], &pivot) < 0)
                i++;
            while (compare(&from[j], &pivot) > 0)
                j--;
            if (i <= j) {
                uint64_t t = from[i];
                from[i++] = from[j];
                from[j--] = t;
            }
        }
        quick(from, j + 1);
        from += i;
        count -= i;
    }
    for (long i = 1; i < count; i++)
        for (long j = i; j > 0 && from[j - 1] > from[j]; j--) {
            uint64_t t = from[j];
            from[j] = from[j - 1];
            from[j - 1] = t;
        }
}

int main(void)
{
    uint64_t sum = 0, state = 88172645463325252u;
    for (int round = 0; round < 12; round++) {
        for (int i = 0; i < COUNT; i++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            numbers[i] = state;
        }
        quick(numbers, COUNT);
        for (int i = 0; i < COUNT; i += 7) {
            uint64_t *found = bsearch(&numbers[i], numbers, COUNT, sizeof numbers[0], compare);
            sum += (uint64_t)(found - numbers) ^ numbers[i];
        }
    }
    printf("%016lx\n", (unsigned long)sum);
    return 0;
}
