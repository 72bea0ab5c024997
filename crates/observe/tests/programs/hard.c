/* What is hard to trace, each under a name. Prints the same with a tracer and without, but for `aes 0` or `aes 1`. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int aes(void)
{
    unsigned a, b, c, d;
    __cpuid(1, a, b, c, d);
    return c >> 25 & 1;
}

static uint64_t mix(uint64_t x, long rounds)
{
    for (long i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}

static void nap(long milliseconds)
{
    struct timespec t = { milliseconds / 1000, milliseconds % 1000 * 1000000 };
    while (nanosleep(&t, &t) < 0) { }
}

/* --- threads --- */
static void *work(void *argument)
{
    uint64_t sum = (uintptr_t)argument + 1;
    int seen = 0;
    for (int i = 0; i < 100; i++) {
        seen += aes();
        sum = mix(sum, 1000);
    }
    return (void *)(uintptr_t)(sum ^ (uint64_t)seen << 56);
}

static int threads(void)
{
    uint64_t sum = 0;
    for (int round = 0; round < 20; round++) {
        pthread_t thread[8];
        for (intptr_t i = 0; i < 8; i++) pthread_create(&thread[i], NULL, work, (void *)i);
        for (int i = 0; i < 8; i++) {
            void *result;
            pthread_join(thread[i], &result);
            sum += (uintptr_t)result & 0xffffffffffffff;
        }
    }
    printf("sum %016llx\naes %d\n", (unsigned long long)sum, aes());
    return 0;
}

/* --- a tree of processes, each of which asks --- */
static int tree(int depth)
{
    int sum = aes();
    if (depth == 0) return sum;
    pid_t child[3];
    for (int i = 0; i < 3; i++)
        if ((child[i] = fork()) == 0) _exit(tree(depth - 1));
    for (int i = 0; i < 3; i++) {
        int status;
        if (waitpid(child[i], &status, 0) != child[i] || !WIFEXITED(status)) _exit(255);
        sum += WEXITSTATUS(status);
    }
    return sum;
}

static int forks(void)
{
    int sum = tree(4); /* 121 processes */
    printf("%s\naes %d\n", sum == 0 || sum == 121 ? "all agree" : "they differ", sum != 0);
    return 0;
}

/* --- vfork and exec, one after the other --- */
static int execs(const char *self, int left)
{
    if (left == 0) return aes();
    char count[16];
    snprintf(count, sizeof count, "%d", left - 1);
    pid_t child = vfork();
    if (child == 0) {
        execl(self, self, "execs", count, (char *)NULL);
        _exit(200);
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 201;
}

/* --- exec by a thread that is not the first --- */
static const char *self_path;
static void *spin(void *unused)
{
    (void)unused;
    for (;;) mix(1, 100);
    return NULL;
}
static void *exec_say(void *unused)
{
    (void)unused;
    nap(5);
    execl(self_path, self_path, "say", (char *)NULL);
    _exit(200);
    return NULL;
}

static int thread_exec(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++) pthread_create(&thread, NULL, spin, NULL);
    pthread_create(&thread, NULL, exec_say, NULL);
    for (;;) pause();
}

/* --- many signals --- */
static volatile long ticks;
static void tick(int signal) { (void)signal; ticks++; }

static int storm(void)
{
    struct sigaction action = { .sa_handler = tick, .sa_flags = SA_RESTART };
    sigaction(SIGALRM, &action, NULL);
    struct itimerval timer = { { 0, 100 }, { 0, 100 } };
    setitimer(ITIMER_REAL, &timer, NULL);
    uint64_t sum = 88172645463325252u;
    int seen = 0;
    for (int i = 0; i < 2000; i++) {
        sum = mix(sum, 50000);
        seen += aes();
    }
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_REAL, &timer, NULL);
    printf("sum %016llx\n%s\naes %d\n", (unsigned long long)sum, ticks > 200 ? "many" : "few", seen == 2000 ? 1 : seen);
    return 0;
}

/* --- own SIGSEGV handler: real faults, faults without an address, CPUID in the handler --- */
static sigjmp_buf back;
static volatile int faults, kernel_faults, in_handler;
static void on_segv(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    in_handler += aes();
    if (info->si_code == SEGV_MAPERR && info->si_addr == (void *)0xdead000) faults++;
    if (info->si_code == SI_KERNEL) kernel_faults++;
    siglongjmp(back, 1);
}

static int segv(void)
{
    struct sigaction action = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO };
    sigaction(SIGSEGV, &action, NULL);
    for (int i = 0; i < 500; i++) {
        if (sigsetjmp(back, 1) == 0) *(volatile int *)0xdead000 = 1;
        aes();
        if (sigsetjmp(back, 1) == 0) *(volatile int *)(0x8000dead00000000u) = 1;
    }
    /* Signals of this number that somebody sends, with the next instruction a CPUID as like as not. */
    for (int i = 0; i < 10; i++)
        if (sigsetjmp(back, 1) == 0) raise(SIGSEGV);
    printf("%d %d\naes %d\n", faults, kernel_faults, in_handler == 1010 ? 1 : in_handler);
    return 0;
}

/* --- own breakpoints --- */
static volatile int traps;
static void on_trap(int signal) { (void)signal; traps++; }

static int trap(void)
{
    signal(SIGTRAP, on_trap);
    for (int i = 0; i < 1000; i++) __asm__ volatile("int3");
    printf("%d\naes %d\n", traps, aes());
    return 0;
}

/* --- a child that is stopped and continued --- */
static int stop(void)
{
    pid_t child = fork();
    if (child == 0) {
        for (;;) aes();
    }
    for (int i = 0; i < 20; i++) {
        int status;
        kill(child, SIGSTOP);
        if (waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status)) return 1;
        if (waitpid(child, &status, WUNTRACED | WNOHANG) != 0) return 2;
        kill(child, SIGCONT);
        if (waitpid(child, &status, WCONTINUED) != child || !WIFCONTINUED(status)) return 3;
    }
    kill(child, SIGTERM);
    int status;
    waitpid(child, &status, 0);
    printf("ended by %d\naes %d\n", WTERMSIG(status), aes());
    return 0;
}

/* --- processes with threads that are killed while they fork --- */
static void *fork_on(void *unused)
{
    (void)unused;
    for (;;) {
        pid_t child = fork();
        if (child == 0) _exit(aes());
        waitpid(child, NULL, 0);
    }
    return NULL;
}

static int killed(void)
{
    for (int i = 0; i < 40; i++) {
        pid_t child = fork();
        if (child == 0) {
            pthread_t thread;
            setpgid(0, 0);
            for (int j = 0; j < 3; j++) pthread_create(&thread, NULL, fork_on, NULL);
            for (;;) pause();
        }
        nap(i % 7);
        kill(child, SIGKILL);
        int status;
        if (waitpid(child, &status, 0) != child || WTERMSIG(status) != SIGKILL) return 1;
    }
    printf("aes %d\n", aes());
    return 0;
}

/* --- bound to one processor after the other, whose numbers it asks --- */
static int bound(void)
{
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &all)) continue;
        unsigned a, b, c, d, low;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        __cpuid(1, a, low, c, d);
        __cpuid_count(0xb, 0, a, b, c, d);
        printf("%d is %u %u\n", cpu, low >> 24, d);
    }
    printf("aes %d\n", aes());
    return 0;
}

static void *ask_on(void *unused)
{
    (void)unused;
    for (;;) aes();
    return NULL;
}

/* --- leaves a process that works on when there is a file beside the one that it writes --- */
static int leave(const char *file, int with_threads)
{
    if (fork() == 0) {
        pthread_t thread;
        char go[4096];
        snprintf(go, sizeof go, "%s.go", file);
        setsid();
        for (int i = 0; i < 4 * with_threads; i++) pthread_create(&thread, NULL, i % 2 ? fork_on : ask_on, NULL);
        for (int i = 0; i < 20000 && access(go, F_OK); i++) nap(1);
        char text[] = "aes ?";
        text[4] = '0' + aes();
        int descriptor = open(file, O_CREAT | O_WRONLY, 0600);
        return write(descriptor, text, 5) != 5;
    }
    return 9;
}

int main(int count, char **arguments)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    self_path = arguments[0];
    const char *mode = count > 1 ? arguments[1] : "say";
    if (!strcmp(mode, "say")) return printf("aes %d\n", aes()) < 0;
    if (!strcmp(mode, "threads")) return threads();
    if (!strcmp(mode, "forks")) return forks();
    if (!strcmp(mode, "execs")) {
        int result = execs(arguments[0], atoi(arguments[2]));
        if (count > 3) printf("aes %d\n", result);
        return result;
    }
    if (!strcmp(mode, "thread_exec")) return thread_exec();
    if (!strcmp(mode, "storm")) return storm();
    if (!strcmp(mode, "segv")) return segv();
    if (!strcmp(mode, "trap")) return trap();
    if (!strcmp(mode, "stop")) return stop();
    if (!strcmp(mode, "killed")) return killed();
    if (!strcmp(mode, "bound")) return bound();
    if (!strcmp(mode, "leave")) return leave(arguments[2], 0);
    if (!strcmp(mode, "leave_threads")) return leave(arguments[2], 1);
    if (!strcmp(mode, "abort")) abort();
    if (!strcmp(mode, "exit")) return atoi(arguments[2]);
    if (!strcmp(mode, "raise")) return raise(atoi(arguments[2]));
    if (!strcmp(mode, "hang")) {
        printf("%d\n", getpid());
        for (;;) pause();
    }
    if (!strcmp(mode, "spin")) {
        pthread_t thread;
        printf("%d\n", getpid());
        for (;;) {
            pthread_create(&thread, NULL, work, NULL);
            pthread_join(thread, NULL);
        }
    }
    return 99;
}
