/* Processes: fork, wait, pipes, exec. With "child" it is the program that was started. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void status_of(const char *what, int status) {
    if (WIFEXITED(status)) printf("%s: exit %d\n", what, WEXITSTATUS(status));
    if (WIFSIGNALED(status)) printf("%s: signal %d\n", what, WTERMSIG(status));
    if (WIFSTOPPED(status)) printf("%s: stopped %d\n", what, WSTOPSIG(status));
    if (WIFCONTINUED(status)) printf("%s: continued\n", what);
    fflush(stdout);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "child") == 0) {
        printf("%s %d %s %s\n", argv[0], argc, argc > 2 ? argv[2] : "-", getenv("COLOUR"));
        return 42;
    }
    int status, ends[2];
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(getppid() > 1 ? 3 : 4);
    printf("waited %d\n", waitpid(child, &status, 0) == child);
    status_of("plain", status);
    for (int i = 0; i < 3; i++) {
        int signals[3] = {SIGKILL, SIGUSR1, SIGSEGV};
        if ((child = fork()) == 0) {
            if (signals[i] == SIGSEGV) *(volatile int *)8 = 1;
            kill(getpid(), signals[i]);
            for (;;) pause();
        }
        waitpid(child, &status, 0);
        status_of("signalled", status);
    }
    /* It may end only when it has been seen to go on. */
    if (pipe(ends)) return 1;
    if ((child = fork()) == 0) {
        char end;
        close(ends[1]);
        raise(SIGSTOP);
        _exit(read(ends[0], &end, 1));
    }
    close(ends[0]);
    waitpid(child, &status, WUNTRACED);
    status_of("stopping", status);
    kill(child, SIGCONT);
    waitpid(child, &status, WCONTINUED);
    status_of("going on", status);
    close(ends[1]);
    siginfo_t info;
    waitid(P_PID, child, &info, WEXITED);
    printf("waitid: signal %d code %d status %d pid %d\n", info.si_signo, info.si_code, info.si_status, info.si_pid == child);
    errno = 0;
    printf("nobody: %d errno %d\n", waitpid(-1, &status, 0), errno);

    if (pipe(ends)) return 1;
    fflush(stdout);
    if ((child = fork()) == 0) {
        close(ends[0]);
        for (int i = 0; i < 1000; i++) if (write(ends[1], "0123456789", 10) != 10) _exit(1);
        _exit(0);
    }
    close(ends[1]);
    long total = 0, count;
    char buffer[4096];
    while ((count = read(ends[0], buffer, sizeof buffer)) > 0) total += count;
    struct rusage usage;
    wait4(child, &status, 0, &usage);
    printf("pipe: %ld, times %d\n", total, usage.ru_utime.tv_usec < 1000000);

    volatile int *common = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    volatile int *own = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fflush(stdout);
    if (fork() == 0) { *common = 5; *own = 6; _exit(0); }
    wait(NULL);
    printf("common %d own %d\n", *common, *own);
    munmap((void *)common, 8192);
    common = mmap((void *)common, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    fflush(stdout);
    if (fork() == 0) { *common = 7; _exit(0); }
    wait(NULL);
    printf("no longer common %d\n", *common);
    setenv("COLOUR", "blue green", 1);
    fflush(stdout);
    if (vfork() == 0) {
        execl("/proc/self/exe", "another name", "child", "with argument", NULL);
        _exit(9);
    }
    wait(&status);
    status_of("exec", status);
    char *words[] = {"spawned", "child", NULL};
    int failed = posix_spawn(&child, "/proc/self/exe", NULL, NULL, words, environ);
    printf("spawn %d\n", failed);
    waitpid(child, &status, 0);
    status_of("spawn", status);
    status_of("shell", system("echo from a shell; exit 5"));
    errno = 0;
    execl("/nothing", "nothing", NULL);
    printf("exec nothing: errno %d\n", errno);
    execl("/etc", "nothing", NULL);
    printf("exec a directory: errno %d\n", errno);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 100;
    printf("setrlimit %d\n", setrlimit(RLIMIT_NOFILE, &limit));
    getrlimit(RLIMIT_NOFILE, &limit);
    printf("descriptors %ld, dup beyond: %d errno %d\n", (long)limit.rlim_cur, dup2(0, 100), errno);
    printf("groups %d session %d\n", getpgrp() == getpgid(0), getsid(0) >= 0 && getsid(0) == getsid(getpid()));
    fflush(stdout);
    raise(SIGTERM);
    return 0;
}
