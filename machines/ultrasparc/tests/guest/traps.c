/* What no other emulator at hand does right: contexts that end, traps, and a stack that ends in the register windows. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static ucontext_t here, there;
static void coroutine(int a, int b) {
    for (int i = 0; i < 3; i++) {
        printf("coroutine %d %d %d\n", i, a, b);
        swapcontext(&there, &here);
    }
}
static long deep(long n) {
    volatile long x = n;
    return n == 0 ? 0 : deep(n - 1) + x;
}

static sigjmp_buf env;
static void jump(int signal, siginfo_t *info, void *context) {
    printf("signal %d code %d\n", signal, info->si_code);
    siglongjmp(env, signal);
}
/* Nothing of it is on the stack but what the windows' spills put there. */
static __attribute__((noinline)) long windows(long n) {
    if (n == -1) return 0;
    long below = windows(n + 1);
    asm volatile("");
    return below + 1;
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    char *stack = malloc(65536);
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = 65536;
    there.uc_link = &here;
    makecontext(&there, (void (*)(void))coroutine, 2, 11, 22);
    for (int i = 0; i < 4; i++) {
        swapcontext(&here, &there);
        printf("back %d\n", i);
    }
    printf("deep %ld\n", deep(30000));

    struct sigaction action = {.sa_sigaction = jump, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    int all[] = {SIGILL, SIGTRAP, SIGFPE, SIGSEGV, SIGBUS, 7};
    for (int i = 0; i < 6; i++) sigaction(all[i], &action, NULL);
    stack_t other = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&other, NULL);
    if (!sigsetjmp(env, 1)) asm volatile("sdivx %%g1, %%g0, %%g1" ::: "g1");
    if (!sigsetjmp(env, 1)) asm volatile("ta 1");
    if (!sigsetjmp(env, 1)) asm volatile("ta 2");
    if (!sigsetjmp(env, 1)) asm volatile("ta 5");
    if (!sigsetjmp(env, 1)) asm volatile("ta 0x80");
    if (!sigsetjmp(env, 1)) asm volatile("rdpr %%tl, %%g1" ::: "g1");
    if (!sigsetjmp(env, 1)) asm volatile("taddcctv %%g1, 1, %%g1" ::: "g1");
    if (!sigsetjmp(env, 1)) ((void (*)(void))8192)();
    if (!sigsetjmp(env, 1)) printf("%ld\n", windows(0));
    asm volatile("ta 3");
    char *pages = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(pages + 8192, 8192);
    int fd = open("few", O_RDWR | O_CREAT, 0600);
    write(fd, "exact", 5);
    lseek(fd, 0, SEEK_SET);
    printf("more than there is: %ld", (long)read(fd, pages + 8192 - 5, 100000));
    printf(" %.5s\n", pages + 8192 - 5);
    printf("done\n");
    return 0;
}
