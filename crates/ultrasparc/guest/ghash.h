// GHASH, twice: with a table of sixteen multiples, and with the carry-less multiplication of Rainbow Falls.
// Ref. NIST SP 800-38D §6.3, §6.4. A block is two words, the first bit the highest of the first word.
#pragma once

#include "guest.h"

struct block {
    uint64_t high, low;
};

// x^4 times what falls off the end, for each of sixteen.
static const uint64_t fallen[16] = {0x0000, 0x1c20, 0x3840, 0x2460, 0x7080, 0x6ca0, 0x48c0, 0x54e0,
                                    0xe100, 0xfd20, 0xd940, 0xc560, 0x9180, 0x8da0, 0xa9c0, 0xb5e0};

static void make_table(struct block table[16], struct block h)
{
    table[0] = (struct block){0, 0};
    table[8] = h;
    for (int i = 4; i; i >>= 1) {
        uint64_t out = h.low & 1;
        h.low = h.low >> 1 | h.high << 63;
        h.high = h.high >> 1 ^ (out ? 0xe1ull << 56 : 0);
        table[i] = h;
    }
    for (int i = 2; i < 16; i <<= 1)
        for (int j = 1; j < i; j++)
            table[i + j] = (struct block){table[i].high ^ table[j].high, table[i].low ^ table[j].low};
}

static struct block multiply_tables(const struct block table[16], struct block x)
{
    struct block z = {0, 0};
    for (int i = 0; i < 32; i++) {
        uint64_t word = i < 16 ? x.low : x.high;
        if (i) {
            uint64_t out = z.low & 15;
            z.low = z.low >> 4 | z.high << 60;
            z.high = z.high >> 4 ^ fallen[out] << 48;
        }
        const struct block *entry = &table[word >> 4 * (i % 16) & 15];
        z.high ^= entry->high, z.low ^= entry->low;
    }
    return z;
}

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

static void ghash(struct block *y, struct block h, const uint8_t *from, size_t blocks, int with_tables)
{
    const uint64_t *words = (const uint64_t *)from;
    struct block table[16];
    if (with_tables)
        make_table(table, h);
#ifdef XMULX
    else
        h = doubled(h);
#endif
    for (; blocks; blocks--, words += 2) {
        y->high ^= words[0], y->low ^= words[1];
#ifdef XMULX
        if (!with_tables) {
            *y = multiply_xmulx(h, *y);
            continue;
        }
#endif
        *y = multiply_tables(table, *y);
    }
}
