/* Children under seccomp: a system call that is not theirs would kill them, also one that somebody made them do. */

#include "work.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void strict(void) {
    /* Not where there is a filter already, which the trace of a launched program has. */
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) {
        fprintf(stderr, "strict mode is refused\n");
    }
}

static void filtered(void) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void child(const char *name, void (*shut)(void)) {
    int ends[2], status;
    REQUIRE(pipe(ends) == 0);
    pid_t made = fork();
    if (made == 0) {
        shut();
        uint32_t sum = 0;
        for (uint32_t i = 0; i < 100; i++) {
            sum += work(i, 1 + (int)i % 9);
        }
        syscall(SYS_write, ends[1], &sum, sizeof sum);
        syscall(SYS_exit, 5);
    }
    REQUIRE(waitpid(made, &status, 0) == made);
    uint32_t sum = 0;
    close(ends[1]);
    int got = (int)read(ends[0], &sum, sizeof sum);
    printf("%s: %d bytes, %08x, %s %d\n", name, got, sum, WIFEXITED(status) ? "exited" : "killed",
        WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

/* The first CPUID and the first AES of its life are under the filter. */
int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    child("strict", strict);
    child("filtered", filtered);
    return 0;
}
