/* What a subject in C does: the contract is in ../rust/src/lib.rs. A library's file defines the four functions below. */

#ifndef SUBJECT_H
#define SUBJECT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LENGTH = 256 << 10 };

/* Makes the library ready. */
static void begin(void);
/* Makes the key of 16 bytes ready. */
static void key(const uint8_t bytes[16]);
/* AES-128-GCM: `out` has room for the tag behind the ciphertext. */
static void seal(const uint8_t nonce[12], const uint8_t *in, uint8_t *out);
/* SHA-256. */
static void hash(const uint8_t *in, size_t length, uint8_t digest[32]);

#define REQUIRE(is)                                                    \
    do {                                                               \
        if (!(is)) {                                                   \
            fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #is); \
            exit(1);                                                   \
        }                                                              \
    } while (0)

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void print(const uint8_t *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        printf("%02x", bytes[i]);
    }
    printf("\n");
}

int main(int count, char **arguments) {
    static uint8_t input[LENGTH], sealed[LENGTH + 16], first[32], again[32];
    REQUIRE(count == 3);
    int gcm = strcmp(arguments[1], "aes-gcm") == 0;
    REQUIRE(gcm || strcmp(arguments[1], "sha256") == 0);
    double seconds = atof(arguments[2]);
    uint32_t state = 1;
    for (size_t i = 0; i < LENGTH; i++) {
        state = state * 1664525u + 1013904223u;
        input[i] = (uint8_t)(state >> 24);
    }
    uint8_t bytes[16], nonce[12];
    memset(bytes, 7, sizeof bytes);
    memset(nonce, 9, sizeof nonce);
    begin();
    if (gcm) {
        key(bytes);
    }
    double start = now(), best = 1e9;
    size_t length = gcm ? 16 : 32;
    for (int repetition = 0; repetition == 0 || now() - start < seconds; repetition++) {
        double before = now();
        if (gcm) {
            seal(nonce, input, sealed);
        } else {
            hash(input, LENGTH, again);
        }
        double took = now() - before;
        best = took < best ? took : best;
        const uint8_t *result = gcm ? sealed + LENGTH : again;
        if (repetition == 0) {
            memcpy(first, result, length);
        }
        REQUIRE(memcmp(first, result, length) == 0);
    }
    print(first, length);
    if (gcm) {
        hash(sealed, LENGTH, again);
        print(again, 32);
    }
    fprintf(stderr, "%.1f MB/s\n", LENGTH / best / 1e6);
    return 0;
}

#endif
