/* Signals in all ways: timers during work, restarted and interrupted system calls, queued values, another stack. */

#include "work.h"

#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t alarms, children, values, ordered = 1, on_other_stack;
static char stack[64 << 10];

static void timer(int micros, int again) {
    struct itimerval when = {{0, again ? micros : 0}, {0, micros}};
    REQUIRE(setitimer(ITIMER_REAL, &when, NULL) == 0);
}

/* The work of a handler must not disturb the work that it interrupts. */
static void on_alarm(int number) {
    (void)number;
    alarms += work(3, 5) == 0 ? 2 : 1;
}

/* The next one is due when this has been served: however slow that is, the program gets on. */
static void on_alarm_again(int number) {
    on_alarm(number);
    timer(100, 0);
}

static void on_child(int number) {
    (void)number;
    children = 1;
}

static void on_value(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    ordered = ordered && info->si_code == SI_QUEUE && info->si_value.sival_int == values;
    values++;
    char here;
    on_other_stack += &here >= stack && &here < stack + sizeof stack;
}

static void handle(int number, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    REQUIRE(sigaction(number, &action, NULL) == 0);
}

/* Alarms come while it computes; the result is the same. */
static void during_work(void) {
    handle(SIGALRM, on_alarm_again, SA_RESTART);
    uint32_t sum = 0;
    timer(100, 0);
    for (uint32_t i = 0; i < 5000 || alarms < 50; i++) {
        sum += i < 5000 ? work(i, 20) : 0;
    }
    signal(SIGALRM, SIG_IGN);
    timer(0, 0);
    printf("%08x during alarms\n", sum);
}

/* A read that takes so many microseconds; how many alarms came, and how many interrupted it. */
static void during_call(int flags, int delay, int *came, int *interrupted) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    handle(SIGALRM, on_alarm, flags);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        usleep(delay);
        REQUIRE(write(ends[1], "x", 1) == 1);
        _exit(0);
    }
    int before = alarms;
    char byte;
    *interrupted = 0;
    timer(3000, 1);
    ssize_t got;
    while ((got = read(ends[0], &byte, 1)) < 0 && errno == EINTR) {
        ++*interrupted;
    }
    timer(0, 0);
    *came = alarms - before;
    REQUIRE(got == 1 && waitpid(child, NULL, 0) == child);
    close(ends[0]);
    close(ends[1]);
}

/* A read is restarted where that was asked for, and fails where it was not. On a busy machine it may be over before an alarm
   comes: then it takes longer the next time. */
static void during_calls(int flags) {
    int came, interrupted, delay = 80000;
    do {
        during_call(flags, delay, &came, &interrupted);
        delay *= 2;
    } while ((came == 0 || (flags == 0 && interrupted == 0)) && delay < 3000000);
    REQUIRE(flags == SA_RESTART ? interrupted == 0 : interrupted > 0 && interrupted <= came);
    printf("%s: %s\n", flags ? "restarted" : "interrupted", came > 0 ? "alarms came" : "no alarm came");
}

/* A sleep goes on for the rest of its time. */
static void during_sleep(void) {
    handle(SIGALRM, on_alarm, 0);
    struct timespec whole = {0, 40 * 1000 * 1000}, rest;
    timer(3000, 1);
    int interrupted = 0;
    while (nanosleep(&whole, &rest) == -1) {
        REQUIRE(errno == EINTR);
        REQUIRE(rest.tv_nsec <= whole.tv_nsec);
        whole = rest;
        interrupted++;
    }
    timer(0, 0);
    printf("sleep: %s\n", interrupted > 0 ? "interrupted" : "not interrupted");
}

/* Values that another process queues come in order, none lost, on the other stack. */
static void queued(void) {
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    REQUIRE(sigaltstack(&other, NULL) == 0);
    struct sigaction action = {.sa_sigaction = on_value, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    REQUIRE(sigaction(SIGRTMIN + 3, &action, NULL) == 0);
    handle(SIGCHLD, on_child, SA_RESTART);
    fflush(stdout);
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        for (int i = 0; i < 1000; i++) {
            while (sigqueue(parent, SIGRTMIN + 3, (union sigval){.sival_int = i}) == -1) {
                REQUIRE(errno == EAGAIN);
                usleep(100);
            }
        }
        _exit(0);
    }
    uint32_t sum;
    do {
        sum = work(5, 50);
    } while (values < 1000 || !children);
    REQUIRE(waitpid(child, NULL, 0) == child);
    printf("%08x, %d values, %s, %d on the other stack\n", sum, values, ordered ? "in order" : "disordered",
        on_other_stack);
}

/* What is pending is told by sigtimedwait, with who sent it. */
static void waited_for(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGRTMIN + 1);
    REQUIRE(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    REQUIRE(sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = 99}) == 0);
    REQUIRE(kill(getpid(), SIGUSR1) == 0);
    work(7, 40);
    for (int i = 0; i < 2; i++) {
        siginfo_t info;
        int number = sigtimedwait(&set, &info, &(struct timespec){5, 0});
        REQUIRE(info.si_pid == getpid());
        printf("waited for %s, code %d, value %d\n", number == SIGUSR1 ? "SIGUSR1" : "SIGRTMIN+1", info.si_code,
            number == SIGUSR1 ? 0 : info.si_value.sival_int);
    }
}

int main(void) {
    during_work();
    during_calls(SA_RESTART);
    during_calls(0);
    during_sleep();
    queued();
    waited_for();
    fflush(stdout);
    /* And it ends by one. */
    raise(SIGTERM);
    return 1;
}
