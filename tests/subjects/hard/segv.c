/* A program with a SIGSEGV handler of its own: a collector's write barrier, null pointers, and CPUID in the middle. */

#include "work.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 200, PAGE = 4096 };

static uint8_t *heap;
static volatile sig_atomic_t barriers, others, handler_ran;
static sigjmp_buf back;

static void on_fault(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    handler_ran = 1;
    uint8_t *at = info->si_addr;
    /* CPUID inside the handler, where SIGSEGV is blocked. */
    work(2, 3);
    if (at >= heap && at < heap + PAGES * PAGE) {
        REQUIRE(info->si_code == SEGV_ACCERR);
        barriers++;
        REQUIRE(mprotect((void *)((uintptr_t)at & ~(uintptr_t)(PAGE - 1)), PAGE, PROT_READ | PROT_WRITE) == 0);
        return;
    }
    others++;
    siglongjmp(back, 1 + (info->si_code == SEGV_MAPERR));
}

static void handle(int flags) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | flags};
    REQUIRE(sigaction(SIGSEGV, &action, NULL) == 0);
}

static void write_barrier(void) {
    heap = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(heap != MAP_FAILED);
    uint32_t sum = 0;
    for (int i = 0; i < PAGES; i++) {
        heap[i * PAGE + i] = (uint8_t)work((uint32_t)i, 7);
        sum = sum * 31 + heap[i * PAGE + i];
    }
    printf("%08x over %d barriers\n", sum, barriers);
}

static void real_faults(void) {
    for (volatile int i = 0; i < 50; i++) {
        int how = sigsetjmp(back, 1);
        if (how == 0) {
            if (i % 3 == 0) {
                *nowhere = 1;
            } else if (i % 3 == 1) {
                ((void (*)(void))(uintptr_t)24)();
            } else {
                /* Privileged: a general protection, as a CPUID that faults is. */
                __asm__ volatile("hlt");
            }
            REQUIRE(!"reached");
        }
        REQUIRE(how == (i % 3 == 2 ? 1 : 2));
        has_aes();
    }
    printf("%d other faults\n", others);
}

/* While SIGSEGV is blocked the kernel would take the handler away on a fault: CPUID is none. */
static void blocked(void) {
    sigset_t all, before;
    sigfillset(&all);
    REQUIRE(sigprocmask(SIG_SETMASK, &all, &before) == 0);
    uint32_t sum = work(77, 21);
    sigset_t now;
    REQUIRE(sigprocmask(SIG_SETMASK, &before, &now) == 0);
    printf("%08x with all signals blocked, SIGSEGV %s\n", sum, sigismember(&now, SIGSEGV) ? "still" : "no more");
    struct sigaction action;
    REQUIRE(sigaction(SIGSEGV, NULL, &action) == 0);
    printf("the handler is %s\n", action.sa_sigaction == on_fault ? "kept" : "lost");
    handler_ran = 0;
    if (sigsetjmp(back, 1) == 0) {
        *nowhere = 1;
    }
    printf("the handler %s\n", handler_ran ? "ran" : "did not run");
}

static void ignored(void) {
    struct sigaction action = {.sa_handler = SIG_IGN};
    REQUIRE(sigaction(SIGSEGV, &action, NULL) == 0);
    uint32_t sum = work(78, 22);
    REQUIRE(sigaction(SIGSEGV, NULL, &action) == 0);
    printf("%08x with SIGSEGV ignored, %s\n", sum, action.sa_handler == SIG_IGN ? "still" : "no more");
    /* One that is sent is ignored too. */
    REQUIRE(kill(getpid(), SIGSEGV) == 0);
    has_aes();
}

/* SA_NODEFER and SA_RESETHAND keep their meaning. */
static void once(void) {
    handle(SA_RESETHAND);
    has_aes();
    if (sigsetjmp(back, 1) == 0) {
        *nowhere = 1;
    }
    struct sigaction action;
    REQUIRE(sigaction(SIGSEGV, NULL, &action) == 0);
    printf("the handler that is good for one is %s\n", action.sa_handler == SIG_DFL ? "gone" : "there");
}

int main(void) {
    handle(0);
    write_barrier();
    real_faults();
    blocked();
    ignored();
    once();
    fflush(stdout);
    /* And it dies of a real one. */
    *nowhere = 1;
    return 0;
}
