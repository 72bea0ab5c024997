/* A chain of fifty programs, each of which is this one; every fifth is begun by a thread that is not the first. */

#include "work.h"

#include <pthread.h>
#include <unistd.h>

static char count[16], sum[16];
static char *next[] = {"execs", count, sum, NULL};

static void *begin_next(void *unused) {
    (void)unused;
    execv("/proc/self/exe", next);
    REQUIRE(!"reached");
    return NULL;
}

static void *idle(void *unused) {
    (void)unused;
    pause();
    return NULL;
}

int main(int arguments, char **argument) {
    int left = arguments > 1 ? atoi(argument[1]) : 50;
    uint32_t before = arguments > 2 ? (uint32_t)strtoul(argument[2], NULL, 16) : 0;
    if (left == 0) {
        printf("%08x after 50 programs\n", before);
        return 50;
    }
    snprintf(count, sizeof count, "%d", left - 1);
    snprintf(sum, sizeof sum, "%08x", before + work((uint32_t)left, 9));
    if (left % 5) {
        begin_next(NULL);
    }
    pthread_t thread;
    for (int i = 0; i < 3; i++) {
        REQUIRE(pthread_create(&thread, NULL, idle, NULL) == 0);
    }
    REQUIRE(pthread_create(&thread, NULL, begin_next, NULL) == 0);
    pthread_join(thread, NULL);
    return 1;
}
