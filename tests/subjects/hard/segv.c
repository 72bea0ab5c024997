/* A program with a SIGSEGV handler of its own: a collector's write barrier, null pointers, and CPUID between. */

#include "work.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 200, PAGE = 4096 };

static uint8_t *heap;
static volatile sig_atomic_t barriers, others;
static sigjmp_buf back;

static void on_fault(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    uint8_t *at = info->si_addr;
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

/* SA_RESETHAND keeps its meaning. */
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
    setvbuf(stdout, NULL, _IONBF, 0);
    handle(0);
    write_barrier();
    real_faults();
    once();
    /* And it dies of a real one. */
    *nowhere = 1;
    return 0;
}
