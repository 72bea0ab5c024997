/* What a tracer has to do with, one thing at a time: `load WHAT COUNT` prints a result, and nanoseconds for each. */

#define _GNU_SOURCE
#include <cpuid.h>
#include <immintrin.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double processor(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static volatile sig_atomic_t caught;

static void on_signal(int number) {
    (void)number;
    caught++;
}

static void *nothing(void *argument) {
    return argument;
}

__attribute__((target("aes"), noinline)) static void encrypt(uint8_t state[16]) {
    __m128i s = _mm_loadu_si128((const __m128i *)state);
    s = _mm_aesenc_si128(s, s);
    _mm_storeu_si128((__m128i *)state, s);
    __asm__ volatile("" ::: "memory");
}

/* AES, memory, branches and system calls, as a server has them: no more is asked of the processor once it runs. */
static uint32_t steady(long count) {
    static uint8_t table[1 << 16];
    uint8_t state[16] = {1};
    uint32_t sum = 0;
    for (long i = 0; i < count; i++) {
        for (int block = 0; block < 2000; block++) {
            encrypt(state);
            table[(state[0] << 8 | state[1]) & 0xffff]++;
        }
        sum += table[sum & 0xffff] + (syscall(SYS_getppid) < 0);
    }
    return sum + state[3];
}

int main(int arguments, char **argument) {
    if (arguments < 3) {
        return 2;
    }
    const char *what = argument[1];
    long count = atol(argument[2]);
    if (strcmp(what, "execs") == 0) {
        if (count > 0) {
            char left[32];
            snprintf(left, sizeof left, "%ld", count - 1);
            execl("/proc/self/exe", "load", "execs", left, (char *)0);
            return 1;
        }
        printf("execs 0\n");
        return 0;
    }
    uint64_t result = 0;
    uint8_t state[16] = {1};
    signal(SIGUSR1, on_signal);
    int of_processor = strcmp(what, "steady") == 0;
    double begin = of_processor ? processor() : now();
    for (long i = 0; i < count && !of_processor; i++) {
        if (strcmp(what, "cpuids") == 0) {
            unsigned a, b, c, d;
            __cpuid(0, a, b, c, d);
            result += a != 0;
        } else if (strcmp(what, "signals") == 0) {
            raise(SIGUSR1);
            result = (uint64_t)caught;
        } else if (strcmp(what, "forks") == 0) {
            pid_t child = fork();
            if (child == 0) {
                _exit(0);
            }
            result += waitpid(child, NULL, 0) == child;
        } else if (strcmp(what, "threads") == 0) {
            pthread_t thread;
            result += pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0;
        } else if (strcmp(what, "hits") == 0) {
            encrypt(state);
            result = state[0];
        }
    }
    if (of_processor) {
        result = steady(count);
    }
    double took = (of_processor ? processor() : now()) - begin;
    printf("%s %llu\n", what, (unsigned long long)result);
    fprintf(stderr, "\nnanoseconds %.1f\n", count ? took / (double)count : 0);
    return 0;
}
