/* CPUID and AES while all signals are blocked, or SIGSEGV and SIGTRAP are ignored.

   A fault then has the kernel make the disposition a default one. That a tracer can't give it back is known: the handler is
   set again here, and nobody looks whether the two are blocked still. The results, and all else that is blocked, stay right. */

#include "work.h"

#include <setjmp.h>
#include <signal.h>

static volatile sig_atomic_t handled;
static sigjmp_buf back;

static void on_signal(int number) {
    handled = number;
    if (number == SIGSEGV) {
        siglongjmp(back, 1);
    }
}

static void blocked(void) {
    sigset_t all, before, now;
    sigfillset(&all);
    REQUIRE(sigprocmask(SIG_SETMASK, &all, &before) == 0);
    for (uint32_t i = 0; i < 20; i++) {
        uint32_t sum = work(77 + i, 21);
        REQUIRE(sigprocmask(SIG_SETMASK, NULL, &now) == 0);
        int others = 0;
        for (int number = 1; number < SIGRTMAX; number++) {
            others += number != SIGSEGV && number != SIGTRAP && sigismember(&now, number);
        }
        printf("%08x, %d others blocked\n", sum, others);
    }
    REQUIRE(sigprocmask(SIG_SETMASK, &before, NULL) == 0);
}

static void handle(void) {
    struct sigaction action = {.sa_handler = on_signal};
    REQUIRE(sigaction(SIGSEGV, &action, NULL) == 0);
    REQUIRE(sigaction(SIGTRAP, &action, NULL) == 0);
}

static void handlers_work(void) {
    raise(SIGTRAP);
    REQUIRE(handled == SIGTRAP);
    if (sigsetjmp(back, 1) == 0) {
        *nowhere = 1;
    }
    REQUIRE(handled == SIGSEGV);
    printf("handled\n");
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    handle();
    handlers_work();
    blocked();
    handle();
    handlers_work();
    signal(SIGSEGV, SIG_IGN);
    signal(SIGTRAP, SIG_IGN);
    printf("%08x while ignored\n", work(78, 22));
    handle();
    handlers_work();
    return 0;
}
