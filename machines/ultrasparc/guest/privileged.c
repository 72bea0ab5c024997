// The kernel's part, played by a program: the hypervisor's calls on a control word queue and on modular arithmetic, made by
// `ta 0x80`. Real addresses are the program's own.
#include <stdio.h>
#include <stdlib.h>

#include "guest.h"
#include "queue.h"

enum { NCS_QCONF = 0x111, NCS_QINFO, NCS_GETHEAD, NCS_GETTAIL, NCS_SETTAIL, NCS_QHANDLE_TO_DEVINO, NCS_SETHEAD_MARKER };
enum { MAU = 1, CWQ = 2 };

struct reply {
    uint64_t status, value[3];
};

static struct reply call(uint64_t function, uint64_t a, uint64_t b, uint64_t c)
{
    register uint64_t o0 __asm__("o0") = a, o1 __asm__("o1") = b, o2 __asm__("o2") = c, o3 __asm__("o3") = 0;
    register uint64_t o5 __asm__("o5") = function;
    __asm__ volatile("ta 0x80" : "+r"(o0), "+r"(o1), "+r"(o2), "+r"(o3) : "r"(o5) : "memory");
    return (struct reply){o0, {o1, o2, o3}};
}

// The core trap, of which one function is used: agreeing on the version of a group of calls.
static uint64_t set_version(uint64_t group, uint64_t major, uint64_t minor)
{
    register uint64_t o0 __asm__("o0") = group, o1 __asm__("o1") = major, o2 __asm__("o2") = minor;
    register uint64_t o5 __asm__("o5") = 0;
    __asm__ volatile("ta 0xff" : "+r"(o0), "+r"(o1), "+r"(o2) : "r"(o5) : "memory");
    return o0;
}

static uint64_t must(const char *what, struct reply reply)
{
    if (reply.status) {
        fprintf(stderr, "%s: status %llu\n", what, (unsigned long long)reply.status);
        exit(1);
    }
    return reply.value[0];
}

static struct control_word queue[16] __attribute__((aligned(1024)));
static uint8_t key[16] __attribute__((aligned(16))), iv[32] __attribute__((aligned(16)));
static uint8_t from[4096] __attribute__((aligned(64))), to[4096] __attribute__((aligned(64)));

static void aes(size_t bytes)
{
    uint64_t handle = must("qconf", call(NCS_QCONF, CWQ, (uint64_t)queue, 16));
    struct reply info = call(NCS_QINFO, handle, 0, 0);
    printf("queue type %llu, %llu entries\n", (unsigned long long)info.value[0], (unsigned long long)info.value[2]);
    for (int i = 0; i < 16; i++)
        key[i] = i, iv[i] = 0xf0 + i;
    for (size_t i = 0; i < bytes; i++)
        from[i] = i * 7 + (i >> 8);
    queue[0] = (struct control_word){
        .control = OPCODE_CIPHER | ENCRYPT | START | END | AES128_CBC | BYTES(bytes),
        .source = (uint64_t)from,
        .key = (uint64_t)key,
        .iv = (uint64_t)iv,
        .destination = (uint64_t)to,
    };
    must("settail", call(NCS_SETTAIL, handle, 64, 0));
    while (must("gethead", call(NCS_GETHEAD, handle, 0, 0)) != 64)
        ;
    must("sethead_marker", call(NCS_SETHEAD_MARKER, handle, 64, 0));
    printf("%s\n", queue[0].control & FAILED ? "failed" : queue[0].control & DONE ? "done" : "not done");
    // A word without a source, and a tail beyond the queue.
    queue[1] = (struct control_word){.control = OPCODE_CIPHER | ENCRYPT | START | END | AES128_CBC | BYTES(16)};
    printf("no source: status %llu\n", (unsigned long long)call(NCS_SETTAIL, handle, 128, 0).status);
    printf("no such tail: status %llu\n", (unsigned long long)call(NCS_SETTAIL, handle, 1024, 0).status);
    must("unconfigure", call(NCS_QCONF, CWQ, handle, 0));
    for (size_t i = 0; i < bytes; i++)
        printf("%02x", to[i]);
    printf("\n");
}

int main(int count, char **words)
{
    if (set_version(0x103, 2, 0) != 0) {
        fprintf(stderr, "no NCS calls here\n");
        return 1;
    }
    aes(count > 1 ? strtoul(words[1], NULL, 10) : 64);
    return 0;
}
