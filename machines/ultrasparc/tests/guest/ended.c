/* Files that end before their mapping does: SIGBUS for who touches what is behind, EFAULT for calls. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile char *volatile map;
static long page;
static int fd;
static volatile int grows, times;

static void on_bus(int signal, siginfo_t *information, void *context) {
    long at = (volatile char *)information->si_addr - map;
    times++;
    if (grows) {
        /* The instruction is made once more, and the page is there. */
        ftruncate(fd, 4 * page);
        return;
    }
    printf(" bus %d code %d page %ld and %ld\n", signal == SIGBUS, information->si_code, at / page, at % page);
    siglongjmp(back, 1);
}

#define TOUCH(what, ...)                                                                                               \
    do {                                                                                                               \
        printf("%s", what);                                                                                            \
        if (sigsetjmp(back, 1) == 0) {                                                                                 \
            __VA_ARGS__;                                                                                               \
            printf(" done\n");                                                                                         \
        }                                                                                                              \
    } while (0)

static void told(const char *what, long result) {
    printf("%s %ld errno %d\n", what, result, result < 0 ? errno : 0);
}

static void touches(void) {
    volatile int reached = 0;
    TOUCH("load", reached = map[2 * page + 5]; reached = 99);
    TOUCH("wide load", reached = *(volatile long *)(map + 2 * page + 16); reached = 99);
    TOUCH("short load", reached = *(volatile short *)(map + 2 * page + 2); reached = 99);
    TOUCH("int load", reached = *(volatile int *)(map + 2 * page + 4); reached = 99);
    TOUCH("float load", reached = *(volatile double *)(map + 2 * page + 8); reached = 99);
    TOUCH("store", map[3 * page] = 1; reached = 99);
    TOUCH("short store", *(volatile short *)(map + 3 * page + 2) = 1; reached = 99);
    TOUCH("int store", *(volatile int *)(map + 3 * page + 4) = 1; reached = 99);
    TOUCH("wide store", *(volatile long *)(map + 3 * page + 8) = 1; reached = 99);
    TOUCH("exchange", __atomic_fetch_add((int *)(map + 3 * page + 4), 1, __ATOMIC_SEQ_CST); reached = 99);
    printf("went on %d\n", reached);
    TOUCH("before", map[page] = 7; reached = *(volatile int *)(map + page));
    printf("is %d %d\n", map[page], reached == 7 << 24);
    TOUCH("copy", memcpy((void *)(map + 2 * page), (void *)map, 2000));
}

static void calls(void) {
    struct iovec pieces[2] = {{(void *)(map + 2 * page - 3), 3}, {(void *)(map + 2 * page), 3}};
    int ends[2];
    pipe(ends);
    told("write", write(ends[1], map + 2 * page + 1, 10));
    told("write part", write(ends[1], map + 2 * page, 1));
    write(ends[1], "abcdefgh", 8);
    told("read", read(ends[0], map + 2 * page, 4));
    told("names", uname((struct utsname *)(map + 2 * page)));
    told("path", open(map + 3 * page, O_RDONLY));
    told("pieces", writev(ends[1], pieces + 1, 1));
    told("sync", msync(map, 4 * page, MS_SYNC));
}

static int ended(void (*how)(void)) {
    int status;
    fflush(stdout);
    if (fork() == 0) {
        signal(SIGBUS, SIG_DFL);
        how();
        map[3 * page] = 1;
        _exit(0);
    }
    wait(&status);
    return WIFSIGNALED(status) ? (WTERMSIG(status) == SIGBUS) : -WEXITSTATUS(status) - 100;
}

static void plain(void) {}
static void ignored(void) { signal(SIGBUS, SIG_IGN); }
static void blocked(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGBUS);
    sigprocmask(SIG_BLOCK, &set, NULL);
    struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &action, NULL);
}

int main(int count, char **arguments) {
    struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    page = sysconf(_SC_PAGESIZE);
    fd = open("ends", O_RDWR | O_CREAT | O_TRUNC, 0600);
    ftruncate(fd, 2 * page);
    map = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (count > 1) {
        map[2 * page] = 1;
        return 0;
    }
    calls();
    sigaction(SIGBUS, &action, NULL);
    calls();
    touches();
    mprotect(map, 4 * page, PROT_READ);
    TOUCH("protected", times = map[3 * page]);
    mprotect(map, 4 * page, PROT_READ | PROT_WRITE);
    printf("ended %d %d %d\n", ended(plain), ended(ignored), ended(blocked));
    times = 0;
    grows = 1;
    map[3 * page + 9] = 42;
    long sum = map[3 * page + 9] + map[2 * page];
    grows = 0;
    printf("grown %d %ld\n", times, sum);
    TOUCH("there", map[3 * page] = 5);
    /* Another takes what was there away. */
    fflush(stdout);
    if (fork() == 0) _exit(truncate("ends", page) != 0);
    wait(NULL);
    TOUCH("taken", map[page] = 5);
    TOUCH("kept", map[page - 1] = 5);
    calls();
    return 0;
}
