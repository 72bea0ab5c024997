/* Signals: codes and addresses, what handlers may change, stacks, masks, and what they interrupt. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* As glibc's <bits/sigcontext.h> has it on sparc64. */
struct context { char info[128]; unsigned long regs[16], tstate, tpc, tnpc; unsigned y, fprs; };

static sigjmp_buf env;
static volatile int count, last;
static char *page;

static void jump(int signal, siginfo_t *info, void *context) {
    struct context *c = context;
    printf("signal %d code %d address %d pc %d\n", signal, info->si_code,
           info->si_addr == (void *)c->tpc ? -1 : (int)((char *)info->si_addr - (signal == SIGSEGV && info->si_code == 1 ? 0 : page)), c->tnpc == c->tpc + 4);
    siglongjmp(env, signal);
}
static void skip(int signal, siginfo_t *info, void *context) {
    struct context *c = context;
    count++;
    c->tpc = c->tnpc;
    c->tnpc += 4;
    c->regs[8] = 77; /* %o0 */
}
static void note(int signal) { count++; last = signal; }
static void queued(int signal, siginfo_t *info, void *context) {
    printf("queued %d code %d value %d own %d\n", signal, info->si_code, info->si_value.sival_int, info->si_pid == getpid());
}
static void child(int signal, siginfo_t *info, void *context) {
    printf("child: code %d status %d\n", info->si_code, info->si_status);
    count++;
}
static void masked(int signal) {
    sigset_t now;
    sigprocmask(SIG_BLOCK, NULL, &now);
    printf("in handler: own %d other %d third %d\n", sigismember(&now, signal), sigismember(&now, SIGUSR2), sigismember(&now, SIGHUP));
}
static void on_stack(int signal) {
    stack_t now;
    sigaltstack(NULL, &now);
    printf("on stack %d\n", now.ss_flags);
    siglongjmp(env, 1);
}
static int deep(int n) {
    volatile char frame[2000];
    frame[0] = n;
    return deep(n + 1) + frame[0];
}
static int windows(int n) { return n == 0 ? (raise(SIGUSR1), 0) : windows(n - 1) + n; }

static void set(int signal, void *handler, int flags) {
    struct sigaction action = {.sa_flags = flags};
    action.sa_handler = handler;
    if (sigaction(signal, &action, NULL)) printf("sigaction %d: errno %d\n", signal, errno);
}

int main(int argc, char **argv) {
    if (argc > 1) { raise(atoi(argv[1])); return 99; }
    setvbuf(stdout, NULL, _IONBF, 0);
    page = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int faults[] = {SIGSEGV, SIGBUS, SIGILL};
    for (int i = 0; i < 3; i++) set(faults[i], jump, SA_SIGINFO);
    unsigned long odd = (unsigned long)page + 1;
    if (!sigsetjmp(env, 1)) *(volatile int *)16 = 1;
    if (!sigsetjmp(env, 1)) *page = 1;
    if (!sigsetjmp(env, 1)) asm volatile("ldx [%0], %%g1" ::"r"(odd) : "g1");
    if (!sigsetjmp(env, 1)) asm volatile(".word 0");

    set(SIGILL, skip, SA_SIGINFO);
    register long o0 asm("o0") = 5;
    asm volatile(".word 0" : "+r"(o0));
    printf("skipped %d, %%o0 %ld\n", count, o0);

    set(SIGUSR1, note, 0);
    printf("through windows %d %d\n", windows(50), count);
    set(SIGALRM, note, 0);
    /* Again and again: a first one may come before the call that it is to interrupt. */
    struct itimerval soon = {{0, 50000}, {0, 50000}}, never = {0};
    int before = count;
    setitimer(ITIMER_REAL, &soon, NULL);
    int paused = pause();
    printf("pause %d errno %d count %d", paused, errno, count > before);
    alarm(10);
    printf(" alarm left %d\n", alarm(0));
    count = before + 1;

    sigset_t block, old, pending;
    sigemptyset(&block);
    sigaddset(&block, SIGUSR1);
    sigprocmask(SIG_BLOCK, &block, &old);
    raise(SIGUSR1);
    raise(SIGUSR1);
    sigpending(&pending);
    printf("blocked %d pending %d %d\n", count, sigismember(&pending, SIGUSR1), sigismember(&pending, SIGUSR2));
    int suspended = sigsuspend(&old);
    printf("suspended %d errno %d count %d\n", suspended, errno, count);
    raise(SIGUSR1);
    siginfo_t info;
    printf("waited %d", sigwaitinfo(&block, &info));
    printf(" code %d count %d\n", info.si_code, count);
    struct timespec brief = {0, 1000000};
    int waited = sigtimedwait(&block, NULL, &brief);
    printf("timed %d errno %d\n", waited, errno);
    sigprocmask(SIG_SETMASK, &old, NULL);

    set(SIGRTMIN + 3, queued, SA_SIGINFO);
    union sigval value = {.sival_int = 123};
    sigqueue(getpid(), SIGRTMIN + 3, value);
    struct sigaction action = {.sa_handler = masked};
    sigaddset(&action.sa_mask, SIGUSR2);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    set(SIGUSR1, masked, SA_NODEFER | SA_RESETHAND);
    raise(SIGUSR1);
    sigaction(SIGUSR1, NULL, &action);
    printf("reset %d\n", action.sa_handler == SIG_DFL);

    int ends[2];
    char byte;
    if (pipe(ends)) return 1;
    set(SIGALRM, note, 0);
    count = 0;
    setitimer(ITIMER_REAL, &soon, NULL);
    int got = read(ends[0], &byte, 1);
    printf("interrupted %d errno %d count %d\n", got, errno, count > 0);
    setitimer(ITIMER_REAL, &never, NULL);
    count = 0;
    set(SIGALRM, note, SA_RESTART);
    if (fork() == 0) { usleep(300000); write(ends[1], "x", 1); _exit(0); }
    setitimer(ITIMER_REAL, &soon, NULL);
    got = read(ends[0], &byte, 1);
    printf("restarted %d count %d\n", got, count > 0);
    setitimer(ITIMER_REAL, &never, NULL);
    wait(NULL);

    set(SIGCHLD, child, SA_SIGINFO | SA_RESTART);
    for (int i = 0; i < 2; i++) {
        /* The child may have ended before fork returns here. */
        before = count;
        pid_t pid = fork();
        if (pid == 0) { if (i) raise(SIGUSR2); _exit(6); }
        waitpid(pid, NULL, 0);
        while (count == before) usleep(1000);
    }
    signal(SIGCHLD, SIG_DFL);
    printf("ignored %d\n", signal(SIGPIPE, SIG_IGN) == SIG_DFL);
    close(ends[0]);
    got = write(ends[1], "x", 1);
    printf("pipe %d errno %d\n", got, errno);

    struct itimerval often = {{0, 2000}, {0, 2000}};
    count = 0;
    setitimer(ITIMER_REAL, &often, NULL);
    volatile unsigned long work = 0;
    while (count < 20) work++;
    memset(&often, 0, sizeof often);
    setitimer(ITIMER_REAL, &often, NULL);
    printf("counted %d\n", count >= 20);

    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&stack, NULL);
    set(SIGSEGV, on_stack, SA_ONSTACK);
    if (!sigsetjmp(env, 1)) deep(0);
    if (!sigsetjmp(env, 1)) deep(0);
    stack.ss_size = 100;
    printf("small %d errno %d\n", sigaltstack(&stack, NULL), errno);
    errno = 0;
    printf("kill %d", kill(getpid(), 65));
    printf(" errno %d\n", errno);
    abort();
}
