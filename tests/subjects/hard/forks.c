/* A tree of processes: each does its work, adds what its children found, and hands the sum on by a pipe. */

#include "work.h"

#include <sys/wait.h>
#include <unistd.h>

static uint32_t tree(uint32_t seed, int depth) {
    uint32_t sum = work(seed, 13);
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    for (uint32_t i = 0; depth && i < 4; i++) {
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            uint32_t found = tree(seed * 4 + i + 1, depth - 1);
            REQUIRE(write(ends[1], &found, sizeof found) == sizeof found);
            _exit(40 + (int)i);
        }
    }
    int codes = 0;
    for (int i = 0; depth && i < 4; i++) {
        uint32_t found;
        int status;
        REQUIRE(read(ends[0], &found, sizeof found) == sizeof found);
        REQUIRE(wait(&status) > 0 && WIFEXITED(status));
        sum += found;
        codes += WEXITSTATUS(status);
    }
    REQUIRE(depth == 0 || codes == 40 + 41 + 42 + 43);
    close(ends[0]);
    close(ends[1]);
    return sum;
}

int main(void) {
    uint32_t sum = tree(1, 3);
    REQUIRE(wait(NULL) == -1);
    printf("%08x of 85 processes\n", sum);
    return 0;
}
