/* Processes made in the unusual ways: vfork, posix_spawn, bare clone with shared memory, a daemon's double fork. */

#include "work.h"

#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int status_of(pid_t child, int options) {
    int status;
    REQUIRE(waitpid(child, &status, options) == child);
    return status;
}

/* This program again, as a leaf. */
static char *leaf[] = {"spawns", "leaf", NULL};

static void with_vfork(void) {
    volatile int sum = 0;
    for (volatile int i = 0; i < 20; i++) {
        pid_t child = vfork();
        if (child == 0) {
            if (i % 2) {
                execv("/proc/self/exe", leaf);
            }
            _exit(4);
        }
        int status = status_of(child, 0);
        REQUIRE(WIFEXITED(status));
        sum += WEXITSTATUS(status);
    }
    printf("vfork: %d\n", sum);
}

static void with_spawn(void) {
    int sum = 0;
    for (int i = 0; i < 20; i++) {
        pid_t child;
        REQUIRE(posix_spawn(&child, "/proc/self/exe", NULL, NULL, leaf, environ) == 0);
        sum += WEXITSTATUS(status_of(child, 0));
    }
    printf("posix_spawn: %d\n", sum);
}

static volatile uint32_t shared;

static int cloned(void *seed) {
    shared += work((uint32_t)(uintptr_t)seed, 17);
    syscall(SYS_exit, 6);
    return 0;
}

/* Memory is shared, and much else is not. */
static void with_clone(void) {
    static char stack[64 << 10];
    int flags[] = {
        CLONE_VM,
        CLONE_VM | SIGCHLD,
        CLONE_VM | CLONE_FILES | SIGUSR1,
        CLONE_VM | CLONE_FS | CLONE_VFORK | SIGCHLD,
        CLONE_VM | CLONE_SIGHAND,
        SIGCHLD,
    };
    int exits = 0;
    signal(SIGUSR1, SIG_IGN);
    for (uintptr_t i = 0; i < 60; i++) {
        pid_t child = clone(cloned, stack + sizeof stack - 64, flags[i % 6], (void *)i);
        REQUIRE(child > 0);
        exits += WEXITSTATUS(status_of(child, __WALL));
    }
    printf("clone: %08x, %d\n", shared, exits);
}

/* The daemon outlives its parent, and says so. */
static void with_double_fork(void) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        REQUIRE(setsid() > 0);
        pid_t parent = getpid();
        if (fork() != 0) {
            _exit(8);
        }
        close(ends[0]);
        for (int i = 0; i < 1000 && getppid() == parent; i++) {
            usleep(1000);
        }
        uint32_t sum = work(123, 45);
        REQUIRE(write(ends[1], &sum, sizeof sum) == sizeof sum);
        _exit(0);
    }
    close(ends[1]);
    int code = WEXITSTATUS(status_of(child, 0));
    uint32_t sum;
    REQUIRE(read(ends[0], &sum, sizeof sum) == sizeof sum);
    printf("daemon: %08x, %d\n", sum, code);
}

int main(int count, char **arguments) {
    if (count > 1) {
        (void)arguments;
        return 20 + (work(9, 10) == 0);
    }
    setvbuf(stdout, NULL, _IONBF, 0);
    with_vfork();
    with_spawn();
    with_clone();
    with_double_fork();
    return 0;
}
