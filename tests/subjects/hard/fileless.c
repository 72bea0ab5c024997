/* Executes an AES round in memory of each kind that no file accounts for: fileless KIND. */

#define _GNU_SOURCE
#include "work.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, READ = PROT_READ, WRITE = PROT_WRITE, EXEC = PROT_EXEC, OWN = MAP_PRIVATE | MAP_ANONYMOUS };

/* movdqu (%rdi),%xmm0; aesenc %xmm0,%xmm0; movdqu %xmm0,(%rdi); ret */
#define CODE "\xf3\x0f\x6f\x07\x66\x0f\x38\xdc\xc0\xf3\x0f\x7f\x07\xc3"
/* The same with pxor %xmm0,%xmm0. */
#define PLAIN "\xf3\x0f\x6f\x07\x66\x0f\xef\xc0\x90\xf3\x0f\x7f\x07\xc3"
enum { SIZE = 14 };

/* Pages of the program's own. */
static uint8_t in_bss[2 * PAGE] __attribute__((aligned(PAGE)));
static uint8_t in_data[2 * PAGE] __attribute__((aligned(PAGE))) = {1};
__asm__(".section .rodata\n .p2align 12\n in_rodata: .byte 0xf3,0x0f,0x6f,0x07,0x66,0x0f,0x38,0xdc,0xc0,0xf3,0x0f,0x7f,0x07,0xc3\n"
        ".p2align 12\n .text\n .p2align 12\n .type in_text,@function\n in_text: movdqu (%rdi),%xmm0\n pxor %xmm0,%xmm0\n nop\n movdqu %xmm0,(%rdi)\n ret\n"
        ".size in_text, .-in_text\n .p2align 12\n .type round_in_text,@function\n round_in_text: movdqu (%rdi),%xmm0\n aesenc %xmm0,%xmm0\n"
        "movdqu %xmm0,(%rdi)\n ret\n .size round_in_text, .-round_in_text\n .p2align 12\n");
extern uint8_t in_rodata[], in_text[], round_in_text[];

static uint8_t *map(int protection, int flags, int file) {
    uint8_t *at = mmap(NULL, PAGE, protection, flags, file, 0);
    REQUIRE(at != MAP_FAILED);
    return at;
}

static void protect(void *at, int protection) { REQUIRE(mprotect(at, PAGE, protection) == 0); }

static void call(const uint8_t *code) {
    uint8_t state[16] = {1};
    ((void (*)(uint8_t *))(uintptr_t)code)(state);
    REQUIRE(state[0] != 1);
}

/* Writes code into a page that becomes executable then. */
static void make_in(uint8_t *page, const char *code) {
    protect(page, READ | WRITE);
    memcpy(page, code, SIZE);
    protect(page, READ | EXEC);
    call(page);
}

static uint8_t *made(void) {
    uint8_t *page = map(READ | WRITE, OWN, -1);
    make_in(page, CODE);
    return page;
}

static void *in_thread(void *unused) {
    REQUIRE(munmap(made(), PAGE) == 0);
    return unused;
}

/* Several threads turn the same pages to code and back. */
static void *in_turns(void *unused) {
    for (int turn = 0; turn < 100; turn++) {
        uint8_t *page = map(READ | WRITE, OWN, -1);
        make_in(page, turn == 50 ? CODE : PLAIN);
        protect(page, READ | WRITE);
        memcpy(page, PLAIN, SIZE);
        REQUIRE(munmap(page, PAGE) == 0);
    }
    return unused;
}

static int temporary(void) {
    char name[] = "/tmp/fileless-XXXXXX";
    int file = mkstemp(name);
    REQUIRE(file >= 0 && unlink(name) == 0 && write(file, CODE, SIZE) == SIZE && ftruncate(file, PAGE) == 0);
    return file;
}

int main(int count, char **words) {
    const char *kind = count > 1 ? words[1] : "";
    uint8_t on_stack[3 * PAGE];
    int known = 1, status = 0;
    pthread_t threads[4];
    if (!strcmp(kind, "rwx")) {
        uint8_t *page = map(READ | WRITE | EXEC, OWN, -1);
        memcpy(page, CODE, SIZE);
        call(page);
        memset(page, 0, SIZE);
    } else if (!strcmp(kind, "mprotect")) {
        made();
    } else if (!strcmp(kind, "mremap")) {
        call(mremap(made(), PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, (char *)map(READ, OWN, -1)));
    } else if (!strcmp(kind, "overwritten")) {
        uint8_t *page = made();
        protect(page, READ | WRITE);
        memset(page, 0, PAGE);
        protect(page, READ | EXEC);
    } else if (!strcmp(kind, "bss")) {
        make_in(in_bss, CODE);
    } else if (!strcmp(kind, "data")) {
        make_in(in_data, CODE);
    } else if (!strcmp(kind, "rodata")) {
        protect(in_rodata, READ | EXEC);
        call(in_rodata);
    } else if (!strcmp(kind, "heap")) {
        uintptr_t end = ((uintptr_t)sbrk(0) + PAGE - 1) & -(uintptr_t)PAGE;
        REQUIRE(brk((void *)(end + PAGE)) == 0);
        make_in((uint8_t *)end, CODE);
    } else if (!strcmp(kind, "stack")) {
        uint8_t *page = (uint8_t *)(((uintptr_t)on_stack + PAGE - 1) & -(uintptr_t)PAGE);
        make_in(page, CODE);
        protect(page, READ | WRITE);
    } else if (!strcmp(kind, "text")) {
        make_in(in_text, CODE);
    } else if (!strcmp(kind, "same")) {
        /* Code that is watched is written once more, over what watches it. */
        make_in(round_in_text, CODE);
    } else if (!strcmp(kind, "thread")) {
        REQUIRE(pthread_create(threads, NULL, in_thread, NULL) == 0 && pthread_join(*threads, NULL) == 0);
    } else if (!strcmp(kind, "threads")) {
        for (int i = 0; i < 4; i++) {
            REQUIRE(pthread_create(threads + i, NULL, in_turns, NULL) == 0);
        }
        for (int i = 0; i < 4; i++) {
            REQUIRE(pthread_join(threads[i], NULL) == 0);
        }
    } else if (!strcmp(kind, "fork")) {
        pid_t child = fork();
        if (child == 0) {
            in_thread(NULL);
            _exit(0);
        }
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    } else if (!strcmp(kind, "memfd")) {
        int file = memfd_create("twice", 0);
        REQUIRE(file >= 0 && ftruncate(file, PAGE) == 0);
        uint8_t *code = map(READ | EXEC, MAP_SHARED, file), *data = map(READ | WRITE, MAP_SHARED, file);
        memcpy(data, CODE, SIZE);
        call(code);
    } else if (!strcmp(kind, "file")) {
        call(map(READ | EXEC, MAP_PRIVATE, temporary()));
    } else if (!strcmp(kind, "shared")) {
        uint8_t *page = map(READ | WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
        make_in(page, CODE);
    } else if (!strcmp(kind, "plain")) {
        for (int turn = 0; turn < 20; turn++) {
            uint8_t *page = map(READ | WRITE, OWN, -1);
            make_in(page, PLAIN);
            REQUIRE(turn % 2 || munmap(page, PAGE) == 0);
        }
        make_in(in_text, PLAIN);
    } else {
        known = 0;
    }
    puts(known ? "done" : "unknown");
    return !known;
}
