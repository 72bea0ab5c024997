/* The primes below a bound, by Eratosthenes' sieve, many times over. */
#include <stdio.h>
#include <string.h>

enum { BOUND = 1 << 16 };
static unsigned char composite[BOUND];

int main(void)
{
    unsigned long sum = 0;
    for (int round = 0; round < 400; round++) {
        memset(composite, 0, sizeof composite);
        for (unsigned i = 2; i * i < BOUND; i++)
            if (!composite[i])
                for (unsigned j = i * i; j < BOUND; j += i)
                    composite[j] = 1;
        for (unsigned i = 2; i < BOUND; i++)
            if (!composite[i])
                sum += i ^ (unsigned)round;
    }
    printf("%lu\n", sum);
    return 0;
}
