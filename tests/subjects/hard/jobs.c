/* Job control: a parent that stops and continues its children, and is told of each step in order. */

#include "work.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t continued;

static void on_continue(int number) {
    (void)number;
    continued++;
}

/* What the parent is told next of that child. */
static const char *told(pid_t child) {
    static char text[32];
    int status;
    REQUIRE(waitpid(child, &status, WUNTRACED | WCONTINUED) == child);
    if (WIFSTOPPED(status)) {
        snprintf(text, sizeof text, "stopped by %d", WSTOPSIG(status));
    } else if (WIFCONTINUED(status)) {
        snprintf(text, sizeof text, "continued");
    } else if (WIFSIGNALED(status)) {
        snprintf(text, sizeof text, "killed by %d", WTERMSIG(status));
    } else {
        snprintf(text, sizeof text, "exited with %d", WEXITSTATUS(status));
    }
    return text;
}

/* That it went on is told only until something else happens to it: it waits until the parent has heard of it. */
static void wait_for_parent(int heard) {
    char byte;
    while (read(heard, &byte, 1) != 1) {
    }
}

static void compute(int ready, int heard) {
    struct sigaction action = {.sa_handler = on_continue, .sa_flags = SA_RESTART};
    REQUIRE(sigaction(SIGCONT, &action, NULL) == 0);
    REQUIRE(write(ready, "r", 1) == 1);
    for (int seen = 0; seen < 3;) {
        work(1, 9);
        if (continued > seen) {
            seen++;
            wait_for_parent(heard);
            REQUIRE(write(ready, "c", 1) == 1);
        }
    }
    _exit(continued);
}

static void from_outside(void) {
    int ends[2], heard[2];
    char byte;
    REQUIRE(pipe(ends) == 0 && pipe(heard) == 0);
    pid_t child = fork();
    if (child == 0) {
        compute(ends[1], heard[0]);
    }
    REQUIRE(read(ends[0], &byte, 1) == 1);
    int stops[] = {SIGSTOP, SIGTSTP, SIGTTIN};
    for (int i = 0; i < 3; i++) {
        REQUIRE(kill(child, stops[i]) == 0);
        printf("%s, ", told(child));
        /* It stays stopped though other signals come. */
        REQUIRE(kill(child, SIGWINCH) == 0);
        usleep(20000);
        int status;
        REQUIRE(waitpid(child, &status, WNOHANG | WCONTINUED) == 0);
        REQUIRE(kill(child, SIGCONT) == 0);
        printf("%s\n", told(child));
        REQUIRE(write(heard[1], "h", 1) == 1);
        /* A next stop would take back a SIGCONT whose handler has not run. */
        REQUIRE(read(ends[0], &byte, 1) == 1);
    }
    printf("%s\n", told(child));
}

static void by_itself(void) {
    int heard[2];
    REQUIRE(pipe(heard) == 0);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 2; i++) {
            raise(SIGSTOP);
            work(2, 9);
            wait_for_parent(heard[0]);
        }
        _exit(9);
    }
    for (int i = 0; i < 2; i++) {
        printf("%s, ", told(child));
        REQUIRE(kill(child, SIGCONT) == 0);
        printf("%s\n", told(child));
        REQUIRE(write(heard[1], "h", 1) == 1);
    }
    printf("%s\n", told(child));
}

/* A stopped child can be killed. */
static void killed(void) {
    pid_t child = fork();
    if (child == 0) {
        raise(SIGSTOP);
        _exit(1);
    }
    printf("%s, ", told(child));
    REQUIRE(kill(child, SIGKILL) == 0);
    printf("%s\n", told(child));
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    from_outside();
    by_itself();
    killed();
    return 0;
}
