/* CPUID and AES while SIGSEGV and SIGTRAP are blocked or ignored: a real fault would then take the handler away. */

#include "work.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 100, PAGE = 4096 };

static uint8_t *heap;
static volatile sig_atomic_t barriers, handler_ran;
static sigjmp_buf back;

static void on_fault(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    handler_ran = 1;
    uint8_t *at = info->si_addr;
    /* CPUID inside the handler, where the signal is blocked. */
    work(2, 3);
    if (at >= heap && at < heap + PAGES * PAGE) {
        barriers++;
        REQUIRE(mprotect((void *)((uintptr_t)at & ~(uintptr_t)(PAGE - 1)), PAGE, PROT_READ | PROT_WRITE) == 0);
        return;
    }
    siglongjmp(back, 1);
}

static void handle(int number) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    REQUIRE(sigaction(number, &action, NULL) == 0);
}

static void in_handlers(void) {
    heap = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(heap != MAP_FAILED);
    for (int i = 0; i < PAGES; i++) {
        heap[i * PAGE + i] = 1;
    }
    printf("%d barriers\n", barriers);
}

/* What is done with all signals blocked leaves everything as it was. */
static void blocked(int signal) {
    sigset_t all, before, now;
    sigfillset(&all);
    REQUIRE(sigprocmask(SIG_SETMASK, &all, &before) == 0);
    uint32_t sum = work(77, 21);
    REQUIRE(sigprocmask(SIG_SETMASK, &before, &now) == 0);
    struct sigaction action;
    REQUIRE(sigaction(signal, NULL, &action) == 0);
    printf("%08x with all signals blocked: %s blocked, the handler is %s\n", sum,
        sigismember(&now, signal) ? "still" : "no more", action.sa_sigaction == on_fault ? "kept" : "lost");
    handler_ran = 0;
    if (sigsetjmp(back, 1) == 0) {
        if (signal == SIGSEGV) {
            *nowhere = 1;
        } else {
            raise(signal);
        }
    }
    printf("the handler %s\n", handler_ran ? "ran" : "did not run");
}

static void ignored(int number) {
    REQUIRE(signal(number, SIG_IGN) != SIG_ERR);
    uint32_t sum = work(78, 22);
    struct sigaction action;
    REQUIRE(sigaction(number, NULL, &action) == 0);
    printf("%08x while ignored: %s\n", sum, action.sa_handler == SIG_IGN ? "still" : "no more");
    /* One that is sent is ignored too. */
    REQUIRE(kill(getpid(), number) == 0);
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    handle(SIGSEGV);
    handle(SIGTRAP);
    in_handlers();
    blocked(SIGSEGV);
    blocked(SIGTRAP);
    ignored(SIGSEGV);
    ignored(SIGTRAP);
    return 0;
}
