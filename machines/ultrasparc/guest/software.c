// Everything in plain C, for any SPARC V9: AES with four tables of 256 words, and the hashes as their standards
// write them. Tables depend on the key in the cache: these are for comparison, not for use.
#include "hash.h"
#include "number.h"

const char way[] = "software";

int ready(void)
{
    return 1;
}

static uint8_t sbox[256];
static uint32_t table[4][256];

static uint32_t right(uint32_t word, int count)
{
    return word >> count | word << (32 - count);
}

static uint32_t left(uint32_t word, int count)
{
    return word << count | word >> (32 - count);
}

static void make_tables(void)
{
    uint8_t p = 1, q = 1;
    if (sbox[0])
        return;
    do {
        // p goes through the powers of 3, q through those of its inverse.
        p ^= p << 1 ^ (p & 0x80 ? 0x1b : 0);
        q ^= q << 1, q ^= q << 2, q ^= q << 4;
        q ^= q & 0x80 ? 0x09 : 0;
        uint32_t rotated = q * 0x01010101u;
        sbox[p] = q ^ (uint8_t)left(rotated, 1) ^ (uint8_t)left(rotated, 2) ^ (uint8_t)left(rotated, 3) ^
                  (uint8_t)left(rotated, 4) ^ 0x63;
    } while (p != 1);
    sbox[0] = 0x63;
    for (int i = 0; i < 256; i++) {
        uint32_t s = sbox[i], s2 = (s << 1 ^ (s & 0x80 ? 0x1b : 0)) & 0xff;
        table[0][i] = s2 << 24 | s << 16 | s << 8 | (s ^ s2);
        for (int j = 1; j < 4; j++)
            table[j][i] = right(table[0][i], 8 * j);
    }
}

static uint32_t load(const uint8_t *from)
{
    return (uint32_t)from[0] << 24 | from[1] << 16 | from[2] << 8 | from[3];
}

static uint32_t substituted(uint32_t word)
{
    return (uint32_t)sbox[word >> 24] << 24 | sbox[word >> 16 & 255] << 16 | sbox[word >> 8 & 255] << 8 |
           sbox[word & 255];
}

static void expand(uint32_t w[44], const uint8_t key[16])
{
    uint32_t constant = 1;
    for (int i = 0; i < 4; i++)
        w[i] = load(key + 4 * i);
    for (int i = 4; i < 44; i++) {
        uint32_t word = w[i - 1];
        if (i % 4 == 0) {
            word = substituted(left(word, 8)) ^ constant << 24;
            constant = constant << 1 ^ (constant & 0x80 ? 0x11b : 0);
        }
        w[i] = w[i - 4] ^ word;
    }
}

static inline uint32_t column(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t key)
{
    return table[0][a >> 24] ^ table[1][b >> 16 & 255] ^ table[2][c >> 8 & 255] ^ table[3][d & 255] ^ key;
}

static inline uint32_t last_column(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t key)
{
    return ((uint32_t)sbox[a >> 24] << 24 | sbox[b >> 16 & 255] << 16 | sbox[c >> 8 & 255] << 8 | sbox[d & 255]) ^ key;
}

void aes128_cbc_encrypt(const uint8_t key[16], const uint8_t iv[16], const uint8_t *from, uint8_t *to, size_t bytes)
{
    uint32_t w[44], a[4], b[4];
    make_tables();
    expand(w, key);
    memcpy(a, iv, 16);
    // Objects here are aligned, and SPARC is big-endian: a column is a word.
    for (; bytes; bytes -= 16, from += 16, to += 16) {
        const uint32_t *k = w, *words = (const uint32_t *)from;
        for (int i = 0; i < 4; i++)
            a[i] ^= words[i] ^ k[i];
        for (int round = 1; round < 10; round++) {
            k += 4;
            for (int i = 0; i < 4; i++)
                b[i] = column(a[i], a[(i + 1) & 3], a[(i + 2) & 3], a[(i + 3) & 3], k[i]);
            memcpy(a, b, 16);
        }
        for (int i = 0; i < 4; i++)
            b[i] = last_column(a[i], a[(i + 1) & 3], a[(i + 2) & 3], a[(i + 3) & 3], k[4 + i]);
        memcpy(a, b, 16);
        memcpy(to, a, 16);
    }
}

// FIPS 180-4 §4.2.2.
static const uint32_t k256[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static void sha256(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64], v[8];
    for (int i = 0; i < 64; i++)
        w[i] = i < 16 ? load(block + 4 * i)
                      : w[i - 16] + w[i - 7] + (right(w[i - 15], 7) ^ right(w[i - 15], 18) ^ w[i - 15] >> 3) +
                            (right(w[i - 2], 17) ^ right(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t e = v[4], a = v[0];
        uint32_t t1 = v[7] + (right(e, 6) ^ right(e, 11) ^ right(e, 25)) + ((e & v[5]) ^ (~e & v[6])) + k256[i] + w[i];
        uint32_t t2 = (right(a, 2) ^ right(a, 13) ^ right(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

static void sha1(uint32_t state[5], const uint8_t *block)
{
    uint32_t w[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int i = 0; i < 80; i++)
        w[i] = i < 16 ? load(block + 4 * i) : left(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (int i = 0; i < 80; i++) {
        uint32_t f = i < 20 ? (b & c) | (~b & d) : i < 40 ? b ^ c ^ d : i < 60 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
        uint32_t k = i < 20 ? 0x5a827999 : i < 40 ? 0x6ed9eba1 : i < 60 ? 0x8f1bbcdc : 0xca62c1d6;
        uint32_t t = left(a, 5) + f + e + k + w[i];
        e = d, d = c, c = left(b, 30), b = a, a = t;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

// RFC 1321 §3.4: T[i] is the integer part of 4294967296 times abs(sin(i + 1)).
static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

static void md5(uint32_t state[4], const uint8_t *block)
{
    static const uint8_t shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t x[16], a = state[0], b = state[1], c = state[2], d = state[3];
    for (int i = 0; i < 16; i++)
        x[i] = __builtin_bswap32(load(block + 4 * i));
    for (int i = 0; i < 64; i++) {
        int round = i / 16, k = round == 0 ? i : round == 1 ? 5 * i + 1 : round == 2 ? 3 * i + 5 : 7 * i;
        uint32_t f = round == 0 ? (b & c) | (~b & d) : round == 1 ? (b & d) | (c & ~d) : round == 2 ? b ^ c ^ d : c ^ (b | ~d);
        uint32_t t = b + left(a + f + x[k & 15] + sines[i], shifts[round][i % 4]);
        a = d, d = c, c = b, b = t;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
}

void hash_block(enum hash hash, uint32_t state[8], const uint8_t block[64])
{
    (hash == MD5 ? md5 : hash == SHA1 ? sha1 : sha256)(state, block);
}

void montgomery(uint64_t *a, const uint64_t *b, const uint64_t *n, uint64_t n0, size_t words)
{
    uint64_t t[MOST_WORDS + 2] = {0};
    for (size_t i = 0; i < words; i++) {
        unsigned __int128 sum = 0;
        for (size_t j = 0; j < words; j++) {
            sum = (unsigned __int128)a[i] * b[j] + t[j] + (uint64_t)(sum >> 64);
            t[j] = sum;
        }
        sum = (unsigned __int128)t[words] + (uint64_t)(sum >> 64);
        t[words] = sum;
        t[words + 1] = sum >> 64;
        uint64_t m = t[0] * n0;
        sum = (unsigned __int128)m * n[0] + t[0];
        for (size_t j = 1; j < words; j++) {
            sum = (unsigned __int128)m * n[j] + t[j] + (uint64_t)(sum >> 64);
            t[j - 1] = sum;
        }
        sum = (unsigned __int128)t[words] + (uint64_t)(sum >> 64);
        t[words - 1] = sum;
        t[words] = t[words + 1] + (uint64_t)(sum >> 64);
    }
    reduce(t, t[words], n, words);
    memcpy(a, t, 8 * words);
}

void montgomery_square(uint64_t *a, const uint64_t *n, uint64_t n0, size_t words)
{
    uint64_t b[MOST_WORDS];
    memcpy(b, a, 8 * words);
    montgomery(a, b, n, n0, words);
}
