/* What the hard programs share: a little AES and SHA-256 in hardware where CPUID says so, and by the book. */

#ifndef WORK_H
#define WORK_H

#define _GNU_SOURCE
#include <cpuid.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(is)                                                      \
    do {                                                                 \
        if (!(is)) {                                                     \
            fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #is); \
            fflush(NULL);                                                \
            abort();                                                     \
        }                                                                \
    } while (0)

/* Asks the processor each time, as a program may. */
static inline int has_aes(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_AES);
}

static inline int has_sha(void) {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

/* Where nothing is mapped; the compiler must not know. */
static int *volatile nowhere = (int *)16;

/* FIPS 197 §5.1: one round, with the S-box computed when it is first wanted. */
static uint8_t sbox[256];

static inline uint8_t times(uint8_t a, uint8_t b) {
    uint8_t product = 0;
    for (; b; b >>= 1) {
        product ^= b & 1 ? a : 0;
        a = (uint8_t)(a << 1 ^ (a & 0x80 ? 0x1b : 0));
    }
    return product;
}

/* Before any thread. */
__attribute__((constructor)) static void make_sbox(void) {
    for (int i = 0; i < 256; i++) {
        uint8_t inverse = (uint8_t)i, power = (uint8_t)i;
        /* i to the power of 254. */
        for (int bit = 0; bit < 6; bit++) {
            power = times(power, power);
            inverse = times(inverse, power);
        }
        inverse = times(inverse, inverse);
        uint8_t s = inverse;
        for (int turn = 1; turn < 5; turn++) {
            s ^= (uint8_t)(inverse << turn | inverse >> (8 - turn));
        }
        sbox[i] = s ^ 0x63;
    }
}

static inline void round_by_the_book(uint8_t state[16], const uint8_t key[16]) {
    uint8_t shifted[16];
    for (int i = 0; i < 16; i++) {
        shifted[i] = sbox[state[(i + 4 * (i % 4)) % 16]];
    }
    for (int column = 0; column < 16; column += 4) {
        const uint8_t *s = shifted + column;
        for (int row = 0; row < 4; row++) {
            uint8_t twice = (uint8_t)(s[row] << 1 ^ (s[row] & 0x80 ? 0x1b : 0));
            uint8_t next = s[(row + 1) % 4];
            uint8_t thrice = (uint8_t)(next << 1 ^ (next & 0x80 ? 0x1b : 0) ^ next);
            state[column + row] = twice ^ thrice ^ s[(row + 2) % 4] ^ s[(row + 3) % 4] ^ key[column + row];
        }
    }
}

/* Many sites of their own, so that each can be trapped at: a function, a loop and a straight run. */
__attribute__((target("aes,sse4.1"), noinline)) static void rounds_in_hardware(
    uint8_t state[16], const uint8_t key[16], int rounds) {
    __m128i s = _mm_loadu_si128((const __m128i *)state), k = _mm_loadu_si128((const __m128i *)key);
    for (; rounds % 4; rounds--) {
        s = _mm_aesenc_si128(s, k);
    }
    for (; rounds; rounds -= 4) {
        s = _mm_aesenc_si128(s, k);
        s = _mm_aesenc_si128(s, k);
        s = _mm_aesenc_si128(s, k);
        s = _mm_aesenc_si128(s, k);
    }
    _mm_storeu_si128((__m128i *)state, s);
    /* It is done though nobody may want the result. */
    __asm__ volatile("" ::: "memory");
}

/* The same from both; which one ran shows only in its speed. */
static inline void rounds(uint8_t state[16], const uint8_t key[16], int rounds) {
    if (has_aes()) {
        rounds_in_hardware(state, key, rounds);
    } else {
        for (int i = 0; i < rounds; i++) {
            round_by_the_book(state, key);
        }
    }
}

/* A number that depends on each of so many rounds. */
static inline uint32_t work(uint32_t seed, int count) {
    uint8_t state[16], key[16];
    for (int i = 0; i < 16; i++) {
        state[i] = (uint8_t)(seed >> (i % 4 * 8));
        key[i] = (uint8_t)(seed * 31 + (uint32_t)i);
    }
    rounds(state, key, count);
    uint32_t result;
    memcpy(&result, state, sizeof result);
    return result;
}

#endif
