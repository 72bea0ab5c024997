/* Threads that start and end all the time: some are joined, some leave by themselves, some outlive their maker. */

#include "work.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_uint sum;
static atomic_int alive;

static void *leaf(void *seed) {
    atomic_fetch_add(&sum, work((uint32_t)(uintptr_t)seed, 11));
    atomic_fetch_sub(&alive, 1);
    return NULL;
}

static void start(uintptr_t seed, pthread_t *joined) {
    pthread_t thread;
    atomic_fetch_add(&alive, 1);
    REQUIRE(pthread_create(&thread, NULL, leaf, (void *)seed) == 0);
    if (joined) {
        *joined = thread;
    } else {
        REQUIRE(pthread_detach(thread) == 0);
    }
}

static void *maker(void *seed) {
    for (uintptr_t i = 0; i < 60; i++) {
        pthread_t thread;
        start((uintptr_t)seed * 1000 + i, &thread);
        start((uintptr_t)seed * 1000 + 500 + i, NULL);
        REQUIRE(pthread_join(thread, NULL) == 0);
    }
    return NULL;
}

int main(void) {
    pthread_t makers[4];
    for (uintptr_t i = 0; i < 4; i++) {
        REQUIRE(pthread_create(&makers[i], NULL, maker, (void *)i) == 0);
    }
    for (int i = 0; i < 4; i++) {
        REQUIRE(pthread_join(makers[i], NULL) == 0);
    }
    while (atomic_load(&alive)) {
        usleep(1000);
    }
    printf("%08x of 480 threads\n", atomic_load(&sum));
    return 7;
}
