// The same over the kernel's framework, as on T1 (powers alone) and T2: a system call for each operation.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "guest.h"
#include "queue.h"

const char way[] = "framework";

int ready(void)
{
    return 1;
}

static void operate(const struct control_word *word)
{
    if (syscall(SYS_OPERATION, word, 1) != 0) {
        perror("the framework");
        exit(1);
    }
}

void aes128_cbc_encrypt(const uint8_t key[16], const uint8_t iv[16], const uint8_t *from, uint8_t *to, size_t bytes)
{
    struct control_word word = {
        .control = OPCODE_CIPHER | ENCRYPT | START | END | AES128_CBC | BYTES(bytes),
        .source = (uint64_t)from,
        .key = (uint64_t)key,
        .iv = (uint64_t)iv,
        .destination = (uint64_t)to,
    };
    operate(&word);
}

void hmac(enum hash hash, const uint8_t *key, size_t key_bytes, const uint8_t *message, size_t bytes, uint8_t *mac)
{
    static const uint64_t types[] = {HMAC_MD5, HMAC_SHA1, HMAC_SHA256};
    uint8_t state[32] __attribute__((aligned(8)));
    initial_state(hash, state);
    struct control_word word = {
        .control = OPCODE_AUTH | START | END | types[hash] | DIGEST_BYTES(digest_bytes[hash]) | KEY_BYTES(key_bytes) |
                   BYTES(bytes),
        .source = (uint64_t)message,
        .auth_key = (uint64_t)key,
        .auth_iv = (uint64_t)state,
        .destination = (uint64_t)mac,
    };
    operate(&word);
}

void power(uint64_t *result, const uint64_t *base, const uint64_t *exponent, const uint64_t *modulus, size_t words)
{
    struct power power = {(uint64_t)result, (uint64_t)base, (uint64_t)exponent, (uint64_t)modulus, words};
    if (syscall(SYS_POWER, &power) != 0) {
        perror("the framework");
        exit(1);
    }
}
