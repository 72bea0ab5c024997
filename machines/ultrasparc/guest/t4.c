// The same with the T4's instructions.
#include <stdio.h>
#include <stdlib.h>

#include "hash.h"
#include "number.h"

const char way[] = "T4 instructions";

void t4_aes128_cbc_encrypt(const void *key, const void *iv, const void *from, void *to, size_t blocks);
void t4_md5(uint32_t *state, const uint8_t *block);
void t4_sha1(uint32_t *state, const uint8_t *block);
void t4_sha256(uint32_t *state, const uint8_t *block);
uint64_t t4_montmul_16(uint64_t *a, const uint64_t *b, const uint64_t *n, const uint64_t *n0);
uint64_t t4_montmul_32(uint64_t *a, const uint64_t *b, const uint64_t *n, const uint64_t *n0);
uint64_t t4_montsqr_16(uint64_t *a, const uint64_t *b, const uint64_t *n, const uint64_t *n0);
uint64_t t4_montsqr_32(uint64_t *a, const uint64_t *b, const uint64_t *n, const uint64_t *n0);

int ready(void)
{
    return 1;
}

void aes128_cbc_encrypt(const uint8_t key[16], const uint8_t iv[16], const uint8_t *from, uint8_t *to, size_t bytes)
{
    if (bytes)
        t4_aes128_cbc_encrypt(key, iv, from, to, bytes / 16);
}

void hash_block(enum hash hash, uint32_t state[8], const uint8_t block[64])
{
    uint32_t words[8] __attribute__((aligned(8)));
    for (int i = 0; i < 8; i++)
        words[i] = hash == MD5 ? __builtin_bswap32(state[i]) : state[i];
    (hash == MD5 ? t4_md5 : hash == SHA1 ? t4_sha1 : t4_sha256)(words, block);
    for (int i = 0; i < 8; i++)
        state[i] = hash == MD5 ? __builtin_bswap32(words[i]) : words[i];
}

// The instructions take whole windows, so that operands have the size of the largest.
static void multiply(uint64_t *a, const uint64_t *b, const uint64_t *n, uint64_t n0, size_t words)
{
    uint64_t product[MOST_WORDS] = {0}, factor[MOST_WORDS] = {0}, modulus[MOST_WORDS] = {0};
    memcpy(product, a, 8 * words);
    memcpy(factor, b ? b : a, 8 * words);
    memcpy(modulus, n, 8 * words);
    uint64_t refused = words == 16 ? (b ? t4_montmul_16 : t4_montsqr_16)(product, factor, modulus, &n0)
                                   : (b ? t4_montmul_32 : t4_montsqr_32)(product, factor, modulus, &n0);
    if (refused) {
        fprintf(stderr, "the machine refused to multiply: were windows taken away?\n");
        exit(1);
    }
    memcpy(a, product, 8 * words);
}

void montgomery(uint64_t *a, const uint64_t *b, const uint64_t *n, uint64_t n0, size_t words)
{
    multiply(a, b, n, n0, words);
}

void montgomery_square(uint64_t *a, const uint64_t *n, uint64_t n0, size_t words)
{
    multiply(a, NULL, n, n0, words);
}
