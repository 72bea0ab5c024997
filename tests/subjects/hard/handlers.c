/* CPUID and AES inside handlers of SIGSEGV and SIGTRAP, where these are blocked; then the handlers are needed again. */

#include "work.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 100, PAGE = 4096 };

static uint8_t *heap;
static volatile sig_atomic_t barriers, traps;

static void on_fault(int number, siginfo_t *info, void *context) {
    (void)context;
    uint8_t *at = info->si_addr;
    /* CPUID inside the handler, where the signal is blocked. */
    work(2, 3);
    if (number == SIGSEGV && at >= heap && at < heap + PAGES * PAGE) {
        barriers++;
        REQUIRE(mprotect((void *)((uintptr_t)at & ~(uintptr_t)(PAGE - 1)), PAGE, PROT_READ | PROT_WRITE) == 0);
        return;
    }
    REQUIRE(number == SIGTRAP);
    traps++;
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
        raise(SIGTRAP);
        __asm__ volatile("int3");
    }
    printf("%d barriers, %d traps\n", barriers, traps);
}

int main(void) {
    handle(SIGSEGV);
    handle(SIGTRAP);
    in_handlers();
    return 0;
}
