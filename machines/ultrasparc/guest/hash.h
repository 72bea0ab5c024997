// MD5, SHA-1 and SHA-256 around a function that takes one block into the state, and HMAC on these.
#pragma once

#include "guest.h"

// One block of 64 bytes, aligned to 8, into the state.
void hash_block(enum hash hash, uint32_t state[8], const uint8_t block[64]);

static const uint32_t initial[3][8] = {
    {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476},
    {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0},
    {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19},
};

struct running {
    uint8_t block[64] __attribute__((aligned(8)));
    uint32_t state[8];
    uint64_t bytes;
    enum hash hash;
};

static void hash_begin(struct running *r, enum hash hash)
{
    r->hash = hash;
    r->bytes = 0;
    memcpy(r->state, initial[hash], sizeof r->state);
}

static void hash_add(struct running *r, const uint8_t *from, size_t bytes)
{
    while (bytes) {
        size_t held = r->bytes % 64, part = 64 - held;
        if (part > bytes)
            part = bytes;
        memcpy(r->block + held, from, part);
        r->bytes += part, from += part, bytes -= part;
        if (r->bytes % 64 == 0)
            hash_block(r->hash, r->state, r->block);
    }
}

static void hash_end(struct running *r, uint8_t *digest)
{
    uint64_t bits = r->bytes * 8;
    uint8_t length[8], one = 0x80, zero = 0;
    hash_add(r, &one, 1);
    while (r->bytes % 64 != 56)
        hash_add(r, &zero, 1);
    for (int i = 0; i < 8; i++)
        length[i] = bits >> 8 * (r->hash == MD5 ? i : 7 - i);
    hash_add(r, length, 8);
    for (unsigned i = 0; i < digest_bytes[r->hash]; i++)
        digest[i] = r->state[i / 4] >> 8 * (r->hash == MD5 ? i % 4 : 3 - i % 4);
}

void hmac(enum hash hash, const uint8_t *key, size_t key_bytes, const uint8_t *message, size_t bytes, uint8_t *mac)
{
    struct running r;
    uint8_t pad[64];
    for (int outer = 0; outer < 2; outer++) {
        for (size_t i = 0; i < 64; i++)
            pad[i] = (i < key_bytes ? key[i] : 0) ^ (outer ? 0x5c : 0x36);
        hash_begin(&r, hash);
        hash_add(&r, pad, 64);
        hash_add(&r, outer ? mac : message, outer ? digest_bytes[hash] : bytes);
        hash_end(&r, mac);
    }
}
