/* A library that comes and goes, at the same addresses or at others, while a thread uses another copy. */

#include "work.h"

#include <dlfcn.h>
#include <pthread.h>

static uint32_t once(const char *path, uint32_t seed) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != NULL);
    uint32_t (*function)(uint32_t) = (uint32_t(*)(uint32_t))(uintptr_t)dlsym(library, "library_work");
    REQUIRE(function != NULL);
    uint32_t result = function(seed);
    REQUIRE(dlclose(library) == 0);
    return result;
}

static void *beside(void *sum) {
    for (uint32_t i = 0; i < 5000; i++) {
        *(uint32_t *)sum += work(i, 23);
    }
    return NULL;
}

/* Called with the paths of two copies. */
int main(int count, char **paths) {
    REQUIRE(count == 3);
    uint32_t sum = 0, other = 0;
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, beside, &other) == 0);
    for (uint32_t i = 0; i < 200; i++) {
        sum = sum * 31 + once(paths[1 + i % 3 / 2], i);
    }
    REQUIRE(pthread_join(thread, NULL) == 0);
    printf("%08x %08x\n", sum, other);
    return 0;
}
