/* Files that are mapped to be shared, POSIX's shared memory and named semaphores. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The result, and the error if there is one. */
static long told(const char *what, long result) {
    printf("%s %ld errno %d\n", what, result < 0 ? -1 : result, result < 0 ? errno : 0);
    fflush(stdout);
    return result;
}

static void files(long page) {
    int fd = open("shared", O_RDWR | O_CREAT | O_TRUNC, 0600), reads = open("shared", O_RDONLY), writes = open("shared", O_WRONLY);
    ftruncate(fd, 3 * page);
    char *one = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *two = mmap(NULL, page, PROT_READ, MAP_SHARED, reads, page);
    strcpy(one + page, "at once");
    char text[20] = "";
    pread(fd, text, 19, page);
    printf("%s|%s\n", two, text);
    pwrite(fd, "from a call", 12, 2 * page);
    printf("%s\n", one + 2 * page);
    fflush(stdout);
    if (fork() == 0) {
        strcpy(one + page, "by a child");
        _exit(0);
    }
    wait(NULL);
    printf("%s\n", two);
    told("sync", msync(one, 3 * page, MS_SYNC));
    told("protect", mprotect(two, page, PROT_READ | PROT_WRITE));
    told("protect", mprotect(one, page, PROT_READ));
    told("write what is read", (long)mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, reads, 0));
    told("read what is written", (long)mmap(NULL, page, PROT_READ, MAP_SHARED, writes, 0));
    told("own", (long)mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE, reads, 0) == -1);
    /* More of it, elsewhere, and the file with it. */
    ftruncate(fd, 6 * page);
    char *moved = mremap(one + page, 2 * page, 5 * page, MREMAP_MAYMOVE);
    strcpy(moved + 4 * page, "far");
    pread(fd, text, 19, 5 * page);
    printf("%s|%s|%s\n", moved, moved + page, text);
    told("shrink", mremap(moved, 5 * page, page, 0) == moved);
    printf("%s\n", moved);
    close(fd);
    munmap(moved, page);
    /* A file that ends in the first half of a page: zeros up to the next. */
    fd = open("short", O_RDWR | O_CREAT | O_TRUNC, 0600);
    write(fd, "short file", 10);
    char *end = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0);
    int sum = 0;
    for (int i = 10; i < page; i++) sum += end[i];
    printf("%s %d\n", end, sum);
    /* Its program's, until it is mapped anew. */
    char *own = mmap(end, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0);
    own[0] = 'S';
    pread(fd, text, 10, 0);
    printf("%d %s %.10s\n", own == end, own, text);
    fd = open("/dev/zero", O_RDWR);
    int *zeros = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    fflush(stdout);
    if (fork() == 0) _exit(zeros[0] = 9);
    wait(NULL);
    printf("zeros %d\n", zeros[0]);
    told("device", (long)mmap(NULL, page, PROT_READ, MAP_SHARED, open("/dev/null", O_RDWR), 0));
}

static void named(long page) {
    char name[40];
    snprintf(name, sizeof name, "/millstream-%d", getpid());
    int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    ftruncate(fd, page);
    volatile int *number = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    sem_t *semaphore = sem_open(name, O_CREAT | O_EXCL, 0600, 0), *done;
    printf("opened %d %d\n", number != MAP_FAILED, semaphore != SEM_FAILED);
    fflush(stdout);
    if (fork() == 0) {
        /* As a program that knows nothing but the name. */
        munmap((void *)number, page);
        int own = shm_open(name, O_RDWR, 0);
        volatile int *other = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
        sem_t *again = sem_open(name, 0);
        while (other[0] != 5) usleep(1000);
        other[1] = 6;
        sem_post(again);
        _exit(0);
    }
    number[0] = 5;
    told("waited", sem_wait(semaphore));
    printf("number %d\n", number[1]);
    wait(NULL);
    told("unlink", sem_unlink(name));
    told("unlink", shm_unlink(name));
    int sealed = memfd_create("sealed", MFD_ALLOW_SEALING);
    ftruncate(sealed, page);
    told("seal", fcntl(sealed, F_ADD_SEALS, F_SEAL_WRITE));
    told("write", (long)mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, sealed, 0));
    told("read", mmap(NULL, page, PROT_READ, MAP_SHARED, sealed, 0) == MAP_FAILED);
}

int main(void) {
    long page = sysconf(_SC_PAGESIZE);
    files(page);
    named(page);
    return 0;
}
