/* Code that is made, run, thrown away and made again at the same place, which is data in between. */

#include "work.h"

#include <sys/mman.h>

enum { PAGE = 4096 };

/* movdqu (%rdi),%xmm0; movdqu (%rsi),%xmm1; aesenc %xmm1,%xmm0 and so on; movdqu %xmm0,(%rdi); ret */
static const uint8_t HEAD[] = {0xf3, 0x0f, 0x6f, 0x07, 0xf3, 0x0f, 0x6f, 0x0e};
static const uint8_t AESENC[] = {0x66, 0x0f, 0x38, 0xdc, 0xc1};
static const uint8_t TAIL[] = {0xf3, 0x0f, 0x7f, 0x07, 0xc3};

static size_t make(uint8_t *code, int rounds) {
    uint8_t *at = code;
    memcpy(at, HEAD, sizeof HEAD);
    at += sizeof HEAD;
    for (int i = 0; i < rounds; i++) {
        memcpy(at, AESENC, sizeof AESENC);
        at += sizeof AESENC;
    }
    memcpy(at, TAIL, sizeof TAIL);
    return (size_t)(at - code) + sizeof TAIL;
}

static uint32_t sum_of(const uint8_t *bytes, size_t length) {
    uint32_t sum = 1;
    for (size_t i = 0; i < length; i++) {
        sum = sum * 16777619u ^ bytes[i];
    }
    return sum;
}

int main(void) {
    uint8_t *place = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(place != MAP_FAILED);
    uint8_t state[16] = {1}, expected[16] = {1}, key[16] = {2};
    uint32_t sum = 0;
    for (int turn = 0; turn < 300; turn++) {
        REQUIRE(mmap(place, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == place);
        int count = 1 + turn % 13;
        size_t length = make(place, count);
        uint32_t written = sum_of(place, length);
        REQUIRE(mprotect(place, PAGE, PROT_READ | PROT_EXEC) == 0);
        if (has_aes()) {
            ((void (*)(uint8_t *, const uint8_t *))(uintptr_t)place)(state, key);
        }
        for (int i = 0; i < count; i++) {
            round_by_the_book(expected, key);
        }
        REQUIRE(!has_aes() || memcmp(state, expected, 16) == 0);
        /* The same bytes are written over and executed in place, without a system call. */
        if (turn % 3 == 0) {
            REQUIRE(mprotect(place, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
            memset(place, (int)turn, PAGE);
            length = make(place, count + 1);
            written = sum_of(place, length);
            if (has_aes()) {
                ((void (*)(uint8_t *, const uint8_t *))(uintptr_t)place)(state, key);
            }
            for (int i = 0; i < count + 1; i++) {
                round_by_the_book(expected, key);
            }
        }
        /* As data again, it is what was written. */
        REQUIRE(mprotect(place, PAGE, PROT_READ | PROT_WRITE) == 0);
        sum = sum * 31 + written;
    }
    printf("%08x %08x\n", sum, sum_of(expected, 16));
    return 0;
}
