/* Millions of operations in several threads, each result of the hardware checked against the book's. */

#include "work.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

enum { THREADS = 4, CHECKED = 64 };

static long operations = 1000000;
static volatile sig_atomic_t asked_to_end;

static void on_term(int number) {
    (void)number;
    asked_to_end = 1;
}

/* FIPS 180-4 §4.2.2: the fractional parts of the cube roots of the first primes, in whole numbers. */
static uint32_t constants[64];

__attribute__((constructor)) static void make_constants(void) {
    int count = 0;
    for (uint64_t prime = 2; count < 64; prime++) {
        int composite = 0;
        for (uint64_t divisor = 2; divisor * divisor <= prime; divisor++) {
            composite |= prime % divisor == 0;
        }
        if (!composite) {
            /* The largest root with root^3 <= prime * 2^96. */
            unsigned __int128 root = 0;
            for (int bit = 35; bit >= 0; bit--) {
                unsigned __int128 more = root | (unsigned __int128)1 << bit;
                if (more * more * more <= (unsigned __int128)prime << 96) {
                    root = more;
                }
            }
            constants[count++] = (uint32_t)root;
        }
    }
}

static inline uint32_t turned(uint32_t x, int by) {
    return x >> by | x << (32 - by);
}

/* FIPS 180-4 §6.2.2, one block. */
static void compress_by_the_book(uint32_t state[8], const uint32_t block[16]) {
    uint32_t w[64], s[8];
    memcpy(w, block, 64);
    memcpy(s, state, 32);
    for (int t = 16; t < 64; t++) {
        uint32_t a = w[t - 15], b = w[t - 2];
        w[t] = w[t - 16] + w[t - 7] + (turned(a, 7) ^ turned(a, 18) ^ a >> 3) + (turned(b, 17) ^ turned(b, 19) ^ b >> 10);
    }
    for (int t = 0; t < 64; t++) {
        uint32_t first = s[7] + (turned(s[4], 6) ^ turned(s[4], 11) ^ turned(s[4], 25)) +
            ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants[t] + w[t];
        uint32_t second = (turned(s[0], 2) ^ turned(s[0], 13) ^ turned(s[0], 22)) +
            ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 28);
        s[4] += first;
        s[0] = first + second;
    }
    for (int i = 0; i < 8; i++) {
        state[i] += s[i];
    }
}

__attribute__((target("sha,sse4.1"), noinline)) static void compress_in_hardware(
    uint32_t state[8], const uint32_t block[16]) {
    __m128i w[4], abef, cdgh;
    for (int i = 0; i < 4; i++) {
        w[i] = _mm_loadu_si128((const __m128i *)block + i);
    }
    abef = _mm_set_epi32((int)state[0], (int)state[1], (int)state[4], (int)state[5]);
    cdgh = _mm_set_epi32((int)state[2], (int)state[3], (int)state[6], (int)state[7]);
    __m128i abef_before = abef, cdgh_before = cdgh;
    for (int t = 0; t < 16; t++) {
        if (t >= 4) {
            __m128i next = _mm_sha256msg1_epu32(w[t % 4], w[(t + 1) % 4]);
            next = _mm_add_epi32(next, _mm_alignr_epi8(w[(t + 3) % 4], w[(t + 2) % 4], 4));
            w[t % 4] = _mm_sha256msg2_epu32(next, w[(t + 3) % 4]);
        }
        __m128i sum = _mm_add_epi32(w[t % 4], _mm_loadu_si128((const __m128i *)constants + t));
        cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
        abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
    state[0] = (uint32_t)_mm_extract_epi32(abef, 3);
    state[1] = (uint32_t)_mm_extract_epi32(abef, 2);
    state[4] = (uint32_t)_mm_extract_epi32(abef, 1);
    state[5] = (uint32_t)_mm_extract_epi32(abef, 0);
    state[2] = (uint32_t)_mm_extract_epi32(cdgh, 3);
    state[3] = (uint32_t)_mm_extract_epi32(cdgh, 2);
    state[6] = (uint32_t)_mm_extract_epi32(cdgh, 1);
    state[7] = (uint32_t)_mm_extract_epi32(cdgh, 0);
}

static atomic_int wrong;

/* Every operation goes on from the one before, so one wrong byte would spoil the end; and batches are checked. */
static void *check(void *number) {
    uint8_t state[16] = {(uint8_t)(uintptr_t)number}, key[16] = {1, 2, 3}, expected[16];
    uint32_t hash[8] = {(uint32_t)(uintptr_t)number}, block[16] = {5}, expected_hash[8];
    int aes = has_aes(), sha = has_sha();
    for (long done = 0; done < operations && !asked_to_end; done += CHECKED) {
        memcpy(expected, state, 16);
        memcpy(expected_hash, hash, 32);
        block[done / CHECKED % 16]++;
        for (int i = 0; i < CHECKED; i++) {
            if (aes) {
                rounds_in_hardware(state, key, 1 + i % 7);
                continue;
            }
            for (int round = 0; round < 1 + i % 7; round++) {
                round_by_the_book(state, key);
            }
        }
        for (int i = 0; i < CHECKED; i++) {
            for (int round = 0; round < 1 + i % 7; round++) {
                round_by_the_book(expected, key);
            }
        }
        for (int i = 0; i < CHECKED / 8; i++) {
            (sha ? compress_in_hardware : compress_by_the_book)(hash, block);
            compress_by_the_book(expected_hash, block);
        }
        if (memcmp(state, expected, 16) || memcmp(hash, expected_hash, 32)) {
            atomic_fetch_add(&wrong, 1);
        }
    }
    uint32_t sum = hash[0] ^ hash[7];
    for (int i = 0; i < 16; i++) {
        sum = sum * 31 + state[i];
    }
    return (void *)(uintptr_t)sum;
}

/* Called with how many operations each thread does, or -1 until it is asked to end, or nothing. */
int main(int count, char **arguments) {
    if (count > 1) {
        operations = atol(arguments[1]);
    }
    if (operations < 0) {
        operations = LONG_MAX - CHECKED;
        signal(SIGTERM, on_term);
    }
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, check, (void *)i) == 0);
    }
    uint32_t sum = 0;
    for (int i = 0; i < THREADS; i++) {
        void *result;
        REQUIRE(pthread_join(threads[i], &result) == 0);
        sum = sum * 31 + (uint32_t)(uintptr_t)result;
    }
    printf("%08x, %d wrong\n", sum, atomic_load(&wrong));
    return atomic_load(&wrong) != 0;
}
