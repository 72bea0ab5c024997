// Numbers of many words, the least significant first, and powers by Montgomery multiplication.
#pragma once

#include "guest.h"

#define MOST_WORDS 32

// a = a * b / 2^(64 words) mod n; n0 is -1/n mod 2^64.
void montgomery(uint64_t *a, const uint64_t *b, const uint64_t *n, uint64_t n0, size_t words);

// a = a * a / 2^(64 words) mod n.
void montgomery_square(uint64_t *a, const uint64_t *n, uint64_t n0, size_t words);

// a - n where a is not less, or where a carry came out of it.
static void reduce(uint64_t *a, uint64_t carry, const uint64_t *n, size_t words)
{
    uint64_t less[MOST_WORDS], borrow = 0;
    for (size_t i = 0; i < words; i++) {
        unsigned __int128 word = (unsigned __int128)a[i] - n[i] - borrow;
        less[i] = word;
        borrow = (uint64_t)(word >> 64) & 1;
    }
    if (carry || !borrow)
        memcpy(a, less, 8 * words);
}

static void twice(uint64_t *a, const uint64_t *n, size_t words)
{
    uint64_t carry = 0;
    for (size_t i = 0; i < words; i++) {
        uint64_t next = a[i] >> 63;
        a[i] = a[i] << 1 | carry;
        carry = next;
    }
    reduce(a, carry, n, words);
}

static uint64_t negative_inverse(uint64_t n)
{
    uint64_t x = n;
    // Right in 3 bits, and in twice as many each time.
    for (int i = 0; i < 5; i++)
        x *= 2 - n * x;
    return -x;
}

void power(uint64_t *result, const uint64_t *base, const uint64_t *exponent, const uint64_t *modulus, size_t words)
{
    uint64_t one[MOST_WORDS] = {0}, square[MOST_WORDS], a[MOST_WORDS], n0 = negative_inverse(modulus[0]);
    // 2^(64 words) mod n, from 1, and then its square.
    uint64_t unit[MOST_WORDS] = {1};
    for (size_t i = 0; i < 64 * words; i++)
        twice(unit, modulus, words);
    memcpy(square, unit, 8 * words);
    for (size_t i = 0; i < 64 * words; i++)
        twice(square, modulus, words);
    memcpy(a, base, 8 * words);
    montgomery(a, square, modulus, n0, words);
    memcpy(result, unit, 8 * words);
    for (size_t i = 64 * words; i-- > 0;) {
        montgomery_square(result, modulus, n0, words);
        if (exponent[i / 64] >> i % 64 & 1)
            montgomery(result, a, modulus, n0, words);
    }
    one[0] = 1;
    montgomery(result, one, modulus, n0, words);
}
