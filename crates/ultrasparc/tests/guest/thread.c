/* A thread, which is refused; and what one thread waits for in vain. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
static void *run(void *x) { return x; }
int main(void) {
    pthread_t thread;
    printf("%d\n", pthread_create(&thread, NULL, run, NULL));
    sem_t semaphore;
    sem_init(&semaphore, 0, 1);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    printf("%d\n", sem_timedwait(&semaphore, &until));
    int second = sem_timedwait(&semaphore, &until);
    printf("%d %d\n", second, errno == ETIMEDOUT);
    return 0;
}
