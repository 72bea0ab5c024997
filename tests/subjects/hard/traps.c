/* A program with a SIGTRAP handler of its own: its breakpoints, its single steps, and SIGTRAP as a mere signal. */

#include "work.h"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

static volatile sig_atomic_t breakpoints, steps, sent, queued;
static volatile uintptr_t at;

static void on_trap(int number, siginfo_t *info, void *context) {
    (void)number;
    ucontext_t *user = context;
    work(2, 3);
    switch (info->si_code) {
    case SI_KERNEL:
        breakpoints++;
        at = (uintptr_t)user->uc_mcontext.gregs[REG_RIP];
        break;
    case TRAP_TRACE:
    /* Some hypervisors lose the reason for a step (DR6) when they switch at the wrong moment. The kernel then takes it for
       a breakpoint. Nothing else here raises this code. */
    case TRAP_BRKPT:
        steps++;
        break;
    case SI_QUEUE:
        queued += info->si_value.sival_int;
        break;
    default:
        sent++;
    }
}

static void own_breakpoints(void) {
    for (int i = 0; i < 500; i++) {
        uintptr_t after;
        __asm__ volatile("int3\nlea 0(%%rip), %0" : "=r"(after));
        /* The handler saw the address behind the int3, before the 7 bytes of the lea. */
        REQUIRE(at == after - 7);
        work((uint32_t)i, 6);
    }
    __asm__ volatile(".byte 0xcd, 0x03");
    printf("%d breakpoints\n", breakpoints);
}

static void own_steps(void) {
    for (int i = 0; i < 100; i++) {
        __asm__ volatile(
            "sub $128, %%rsp\npushf\norl $0x100, (%%rsp)\npopf\nnop\nnop\n"
            "pushf\nandl $0xfffffeff, (%%rsp)\npopf\nadd $128, %%rsp\n" ::: "cc", "memory");
    }
    printf("%d steps\n", steps);
}

/* Steps over AES, where a breakpoint of somebody else's may be. */
__attribute__((target("aes"), noinline)) static uint32_t stepped(uint32_t seed) {
    __m128i s = _mm_set1_epi32((int)seed), k = _mm_set1_epi32(77);
    __asm__ volatile(
        "sub $128, %%rsp\npushf\norl $0x100, (%%rsp)\npopf\n"
        "aesenc %1, %0\naesenc %1, %0\naesenc %1, %0\n"
        "pushf\nandl $0xfffffeff, (%%rsp)\npopf\nadd $128, %%rsp\n"
        : "+x"(s)
        : "x"(k)
        : "cc", "memory");
    return (uint32_t)_mm_cvtsi128_si32(s);
}

static void steps_over_aes(void) {
    int before = steps;
    uint32_t sum = 0;
    /* This one needs the instruction and does not ask: what is withheld can still be executed. */
    for (uint32_t i = 0; i < 50; i++) {
        sum += stepped(i);
    }
    printf("%08x in %d steps over AES\n", sum, steps - before);
}

static void as_a_signal(void) {
    for (int i = 0; i < 100; i++) {
        raise(SIGTRAP);
        kill(getpid(), SIGTRAP);
        sigqueue(getpid(), SIGTRAP, (union sigval){.sival_int = i});
        work((uint32_t)i, 5);
    }
    printf("%d sent, %d queued\n", sent, queued);
}

/* While it is blocked it waits. */
static void blocked(void) {
    sigset_t all, before, now, pending;
    sigfillset(&all);
    REQUIRE(sigprocmask(SIG_SETMASK, &all, &before) == 0);
    raise(SIGTRAP);
    REQUIRE(sigpending(&pending) == 0);
    printf("SIGTRAP is %s\n", sigismember(&pending, SIGTRAP) ? "pending" : "lost");
    int earlier = sent;
    REQUIRE(sigprocmask(SIG_SETMASK, &before, &now) == 0);
    printf("%d came later, SIGTRAP was %s\n", sent - earlier, sigismember(&now, SIGTRAP) ? "blocked" : "unblocked");
    struct sigaction action;
    REQUIRE(sigaction(SIGTRAP, NULL, &action) == 0);
    printf("the handler is %s\n", action.sa_sigaction == on_trap ? "kept" : "lost");
}

static void ignored(void) {
    struct sigaction action = {.sa_handler = SIG_IGN};
    REQUIRE(sigaction(SIGTRAP, &action, NULL) == 0);
    raise(SIGTRAP);
    REQUIRE(sigaction(SIGTRAP, NULL, &action) == 0);
    printf("SIGTRAP is ignored, %s\n", action.sa_handler == SIG_IGN ? "still" : "no more");
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    REQUIRE(sigaction(SIGTRAP, &action, NULL) == 0);
    own_breakpoints();
    own_steps();
    as_a_signal();
    steps_over_aes();
    blocked();
    ignored();
    signal(SIGTRAP, SIG_DFL);
    /* And it dies of a breakpoint. */
    __asm__ volatile("int3");
    return 0;
}
