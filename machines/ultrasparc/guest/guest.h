// What each way of computing gives: the main program is the same for all of them, and so are the results.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum hash { MD5, SHA1, SHA256 };

static const unsigned digest_bytes[] = {16, 20, 32};

// How these are computed, for messages.
extern const char way[];

// Whether it can be done here at all; says why not.
int ready(void);

// AES-128-CBC: whole blocks.
void aes128_cbc_encrypt(const uint8_t key[16], const uint8_t iv[16], const uint8_t *from, uint8_t *to, size_t bytes);

// HMAC with a key of at most 32 bytes, as T2's unit takes it.
void hmac(enum hash hash, const uint8_t *key, size_t key_bytes, const uint8_t *message, size_t bytes, uint8_t *mac);

// base ^ exponent mod modulus; numbers of so many words, the least significant first.
void power(uint64_t *result, const uint64_t *base, const uint64_t *exponent, const uint64_t *modulus, size_t words);
