// KASUMI of counter blocks, `small|merged|instructions BLOCKS`: with the boxes of 128 and 512 entries, with two tables of
// 65,536 entries that each do a whole half of FI, or with the T4's instructions. It writes the last block.
// Ref. 3GPP TS 35.202.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kasumi.h"

struct round {
    uint16_t kl[2], ko[3], ki[3];
    // The same as registers of the T4's instructions.
    uint64_t fl, two, last;
};

static uint16_t merged[2][65536];

static uint16_t turned(uint16_t word, int count)
{
    return word << count | word >> (16 - count);
}

// TS 35.202 §4.6 and table 1.
static void expand(struct round rounds[8], const uint16_t key[8])
{
    static const uint16_t c[8] = {0x0123, 0x4567, 0x89ab, 0xcdef, 0xfedc, 0xba98, 0x7654, 0x3210};
#define PLAIN(n) key[(i + (n)) & 7]
#define PRIMED(n) (key[(i + (n)) & 7] ^ c[(i + (n)) & 7])
    for (int i = 0; i < 8; i++) {
        struct round *r = &rounds[i];
        r->kl[0] = turned(PLAIN(0), 1), r->kl[1] = PRIMED(2);
        r->ko[0] = turned(PLAIN(1), 5), r->ko[1] = turned(PLAIN(5), 8), r->ko[2] = turned(PLAIN(6), 13);
        r->ki[0] = PRIMED(4), r->ki[1] = PRIMED(3), r->ki[2] = PRIMED(7);
        r->fl = (uint64_t)r->kl[0] << 16 | r->kl[1];
        r->two = (uint64_t)r->ko[0] << 48 | (uint64_t)r->ko[1] << 32 | (uint64_t)r->ki[0] << 16 | r->ki[1];
        r->last = (uint64_t)r->ko[2] << 32 | r->ki[2];
    }
}

// The first half of FI, and the second: both boxes once each.
static uint16_t first_half(uint16_t x)
{
    uint16_t nine = s9[x >> 7] ^ (x & 0x7f), seven = s7[x & 0x7f] ^ (nine & 0x7f);
    return seven << 9 | nine;
}

static uint16_t second_half(uint16_t x)
{
    uint16_t nine = s9[x & 0x1ff] ^ x >> 9, seven = s7[x >> 9] ^ (nine & 0x7f);
    return seven << 9 | nine;
}

static inline uint16_t fi_small(uint16_t x, uint16_t key)
{
    return second_half(first_half(x) ^ key);
}

static inline uint16_t fi_merged(uint16_t x, uint16_t key)
{
    return merged[1][merged[0][x] ^ key];
}

static inline uint32_t fl(uint32_t x, const struct round *r)
{
    uint16_t left = x >> 16, right = x;
    right ^= turned(left & r->kl[0], 1);
    left ^= turned(right | r->kl[1], 1);
    return (uint32_t)left << 16 | right;
}

#define FO(name, fi)                                            \
    static inline uint32_t name(uint32_t x, const struct round *r) \
    {                                                           \
        uint16_t left = x >> 16, right = x;                     \
        for (int i = 0; i < 3; i++) {                           \
            uint16_t next = fi(left ^ r->ko[i], r->ki[i]) ^ right; \
            left = right, right = next;                         \
        }                                                       \
        return (uint32_t)left << 16 | right;                    \
    }

FO(fo_small, fi_small)
FO(fo_merged, fi_merged)

#define KASUMI(name, fo)                                                     \
    __attribute__((noinline)) static uint64_t name(const struct round rounds[8], uint64_t block) \
    {                                                                        \
        uint32_t left = block >> 32, right = block;                          \
        for (int i = 0; i < 8; i += 2) {                                     \
            right ^= fo(fl(left, &rounds[i]), &rounds[i]);                   \
            left ^= fl(fo(right, &rounds[i + 1]), &rounds[i + 1]);           \
        }                                                                    \
        return (uint64_t)left << 32 | right;                                 \
    }

KASUMI(with_small, fo_small)
KASUMI(with_merged, fo_merged)

#ifdef T4
// What the three instructions compute is not public; this is how Millstream's do.
__attribute__((noinline)) static uint64_t with_instructions(const struct round rounds[8], uint64_t block)
{
    double left, right, zero, x;
    __asm__("fzero %0" : "=e"(zero));
    uint64_t halves[2] = {block >> 32, block & 0xffffffff};
    memcpy(&left, &halves[0], 8);
    memcpy(&right, &halves[1], 8);
    for (int i = 0; i < 8; i += 2) {
        const double *odd = (const double *)&rounds[i].fl, *even = (const double *)&rounds[i + 1].fl;
        __asm__("kasumi_fl_xor %1, %2, %3, %0" : "=e"(x) : "e"(odd[0]), "e"(zero), "e"(left));
        __asm__("kasumi_fi_fi %1, %2, %0" : "=e"(x) : "e"(odd[1]), "e"(x));
        __asm__("kasumi_fi_xor %1, %2, %3, %0" : "=e"(right) : "e"(odd[2]), "e"(right), "e"(x));
        __asm__("kasumi_fi_fi %1, %2, %0" : "=e"(x) : "e"(even[1]), "e"(right));
        __asm__("kasumi_fi_xor %1, %2, %3, %0" : "=e"(x) : "e"(even[2]), "e"(zero), "e"(x));
        __asm__("kasumi_fl_xor %1, %2, %3, %0" : "=e"(left) : "e"(even[0]), "e"(left), "e"(x));
    }
    memcpy(&halves[0], &left, 8);
    memcpy(&halves[1], &right, 8);
    return halves[0] << 32 | halves[1];
}
#endif

int main(int count, char **words)
{
    static const uint16_t key[8] = {0x2bd6, 0x459f, 0x82c5, 0xb300, 0x952c, 0x4910, 0x4881, 0xff48};
    struct round rounds[8];
    uint64_t block = 0;
    if (count != 3)
        return 2;
    uint64_t (*kasumi)(const struct round *, uint64_t) = with_small;
    if (!strcmp(words[1], "merged")) {
        kasumi = with_merged;
        for (int i = 0; i < 65536; i++)
            merged[0][i] = first_half(i), merged[1][i] = second_half(i);
    }
#ifdef T4
    if (!strcmp(words[1], "instructions"))
        kasumi = with_instructions;
#endif
    expand(rounds, key);
    for (unsigned i = 0, blocks = strtoul(words[2], NULL, 10); i < blocks; i++)
        block = kasumi(rounds, 0xea024714ad5c4d84 + i);
    printf("%016llx\n", (unsigned long long)block);
    return 0;
}
