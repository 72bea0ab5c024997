// GHASH, twice: with a table of sixteen multiples, and with the carry-less multiplication of Rainbow Falls.
// Ref. NIST SP 800-38D §6.3, §6.4. A block is two words, the first bit the highest of the first word.
#pragma once

#include "guest.h"

struct block {
    uint64_t high, low;
};

// How it is computed: sixteen multiples of h and four bits at a time, 256 of them and a byte, or products of words.
enum method { NIBBLES, WHOLE_BYTES, XMULX_PRODUCTS };

// What is made once for each key.
struct hash_key {
    struct block h, table[256];
    // What comes back of the bits that fall off the end.
    uint64_t fallen[256];
};

static struct block shifted(struct block a)
{
    uint64_t out = a.low & 1;
    return (struct block){a.high >> 1 ^ (out ? 0xe1ull << 56 : 0), a.low >> 1 | a.high << 63};
}

static void make_tables(struct hash_key *key, int bits)
{
    struct block h = key->h, *table = key->table;
    memset(key->table, 0, sizeof key->table);
    for (int i = 1 << (bits - 1); i; i >>= 1, h = shifted(h))
        table[i] = h;
    for (int i = 2; i < 1 << bits; i <<= 1)
        for (int j = 1; j < i; j++)
            table[i + j] = (struct block){table[i].high ^ table[j].high, table[i].low ^ table[j].low};
    for (int i = 0; i < 1 << bits; i++) {
        struct block a = {0, i};
        for (int j = 0; j < bits; j++)
            a = shifted(a);
        key->fallen[i] = a.high;
    }
}

// Some bits of a word into the sum, from the last of the block to the first. Entries have sixteen bytes and what comes back
// eight, so that masked words are offsets.
#define STEP(bits, word, i)                                                                   \
    do {                                                                                      \
        uint64_t offset = ((i) ? (word) >> ((i) - 4) : (word) << 4) & ((1 << (bits)) - 1) << 4; \
        const struct block *entry = (const struct block *)(table + offset);                   \
        uint64_t back = *(const uint64_t *)(fallen + (low << 3 & ((1 << (bits)) - 1) << 3));   \
        low = (low >> (bits) | high << (64 - (bits))) ^ entry->low;                           \
        high = high >> (bits) ^ back ^ entry->high;                                           \
    } while (0)

#define MULTIPLY(name, bits)                                                                  \
    static inline struct block name(const struct hash_key *key, struct block x)               \
    {                                                                                         \
        const uint8_t *table = (const uint8_t *)key->table, *fallen = (const uint8_t *)key->fallen; \
        uint64_t high = 0, low = 0;                                                           \
        _Pragma("GCC unroll 16") for (int i = 0; i < 64; i += (bits)) STEP(bits, x.low, i); \
        _Pragma("GCC unroll 16") for (int i = 0; i < 64; i += (bits)) STEP(bits, x.high, i); \
        return (struct block){high, low};                                                     \
    }

MULTIPLY(multiply_nibbles, 4)
MULTIPLY(multiply_bytes, 8)

#ifdef XMULX
static inline uint64_t product_low(uint64_t a, uint64_t b)
{
    uint64_t c;
    __asm__("xmulx %1, %2, %0" : "=r"(c) : "r"(a), "r"(b));
    return c;
}

static inline uint64_t product_high(uint64_t a, uint64_t b)
{
    uint64_t c;
    __asm__("xmulxhi %1, %2, %0" : "=r"(c) : "r"(a), "r"(b));
    return c;
}

// Bits are reflected, so a product of 255 bits has to be taken one further: h is taken twice beforehand.
static struct block doubled(struct block h)
{
    uint64_t out = h.high >> 63;
    h.high = h.high << 1 | h.low >> 63;
    h.low = h.low << 1;
    return (struct block){h.high ^ (out ? 0xc2ull << 56 : 0), h.low ^ out};
}

static inline struct block multiply_xmulx(struct block h, struct block x)
{
    // Karatsuba: three products.
    uint64_t l0 = product_low(h.low, x.low), l1 = product_high(h.low, x.low);
    uint64_t h0 = product_low(h.high, x.high), h1 = product_high(h.high, x.high);
    uint64_t a = h.low ^ h.high, b = x.low ^ x.high;
    uint64_t m0 = product_low(a, b) ^ l0 ^ h0, m1 = product_high(a, b) ^ l1 ^ h1;
    l1 ^= m0, h0 ^= m1;
    // The lower half goes away in two steps: Gueron and Kounavis, with the constant for reflected bits.
    uint64_t c = 0xc2ull << 56;
    uint64_t t0 = product_low(l0, c), t1 = product_high(l0, c);
    l1 ^= t0;
    h0 ^= l0 ^ t1;
    t0 = product_low(l1, c), t1 = product_high(l1, c);
    h0 ^= t0;
    h1 ^= l1 ^ t1;
    return (struct block){h1, h0};
}
#endif

static void prepare(struct hash_key *key, struct block h, enum method method)
{
    key->h = h;
    if (method != XMULX_PRODUCTS)
        make_tables(key, method == NIBBLES ? 4 : 8);
#ifdef XMULX
    else
        key->h = doubled(h);
#endif
}

static void ghash(struct block *y, const struct hash_key *key, const uint8_t *from, size_t blocks, enum method method)
{
    const uint64_t *words = (const uint64_t *)from;
    struct block sum = *y;
    for (; blocks; blocks--, words += 2) {
        sum.high ^= words[0], sum.low ^= words[1];
        if (method == NIBBLES)
            sum = multiply_nibbles(key, sum);
        else if (method == WHOLE_BYTES)
            sum = multiply_bytes(key, sum);
#ifdef XMULX
        else
            sum = multiply_xmulx(key->h, sum);
#endif
    }
    *y = sum;
}
