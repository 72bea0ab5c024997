// One operation, computed in the way that is linked to this: `aes|hmac-md5|hmac-sha1|hmac-sha256 BYTES [TIMES]` or
// `rsa 1024|2048 [TIMES]`. It writes the result in hexadecimal. Inputs are made of counters, so that others can make
// the same ones.
#include <stdio.h>
#include <stdlib.h>

#include "guest.h"
#include "rsa.h"

static uint8_t key[32] __attribute__((aligned(8))), iv[16] __attribute__((aligned(8)));
static uint8_t from[65536] __attribute__((aligned(8192))), to[65536] __attribute__((aligned(8192)));

static void show(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        printf("%02x", bytes[i]);
    printf("\n");
}

static int rsa(size_t bits, unsigned times)
{
    const uint64_t *modulus = bits == 1024 ? rsa1024_modulus : rsa2048_modulus;
    const uint64_t *exponent = bits == 1024 ? rsa1024_exponent : rsa2048_exponent;
    uint64_t base[32], result[32];
    size_t words = bits / 64;
    if (bits != 1024 && bits != 2048)
        return 2;
    for (size_t i = 0; i < words; i++)
        base[i] = 0x0123456789abcdefull * (i + 1);
    base[words - 1] >>= 8;
    while (times--)
        power(result, base, exponent, modulus, words);
    for (size_t i = words; i-- > 0;)
        printf("%016llx", (unsigned long long)result[i]);
    printf("\n");
    return 0;
}

int main(int count, char **words)
{
    if (count < 3) {
        fprintf(stderr, "%s: aes|hmac-md5|hmac-sha1|hmac-sha256 BYTES [TIMES], or rsa BITS [TIMES]\n", words[0]);
        return 2;
    }
    size_t bytes = strtoul(words[2], NULL, 10);
    unsigned times = count > 3 ? strtoul(words[3], NULL, 10) : 1;
    if (!ready())
        return 1;
    if (!strcmp(words[1], "rsa"))
        return rsa(bytes, times);
    if (bytes > sizeof from)
        return 2;
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = i;
    for (size_t i = 0; i < sizeof iv; i++)
        iv[i] = 0xf0 + i;
    for (size_t i = 0; i < bytes; i++)
        from[i] = i * 7 + (i >> 8);
    if (!strcmp(words[1], "aes")) {
        while (times--)
            aes128_cbc_encrypt(key, iv, from, to, bytes);
        show(to, bytes);
        return 0;
    }
    static const char *const names[] = {"hmac-md5", "hmac-sha1", "hmac-sha256"};
    for (enum hash hash = MD5; hash <= SHA256; hash++)
        if (!strcmp(words[1], names[hash])) {
            while (times--)
                hmac(hash, key, digest_bytes[hash], from, bytes, to);
            show(to, digest_bytes[hash]);
            return 0;
        }
    return 2;
}
