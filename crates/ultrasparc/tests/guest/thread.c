/* A thread, which is refused. */
#include <pthread.h>
#include <stdio.h>
static void *run(void *x) { return x; }
int main(void) {
    pthread_t thread;
    printf("%d\n", pthread_create(&thread, NULL, run, NULL));
    return 0;
}
