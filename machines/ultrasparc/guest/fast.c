// The same over the fast path: objects are copied into the page, unless they lie there.
#include "fast.h"

const char way[] = "fast path";

// Offsets in the page.
#define KEY QUEUE_BYTES
#define IV (KEY + 64)
#define FROM (2 * QUEUE_BYTES)
#define TO (1 << 20)

int ready(void)
{
    return grant();
}

void aes128_cbc_encrypt(const uint8_t key[16], const uint8_t iv[16], const uint8_t *from, uint8_t *to, size_t bytes)
{
    memcpy(page + KEY, key, 16);
    memcpy(page + IV, iv, 16);
    memcpy(page + FROM, from, bytes);
    struct control_word *word = place();
    *word = (struct control_word){
        .control = OPCODE_CIPHER | ENCRYPT | START | END | AES128_CBC | BYTES(bytes),
        .source = FROM,
        .key = KEY,
        .iv = IV,
        .destination = TO,
    };
    ring();
    drain(word);
    memcpy(to, page + TO, bytes);
}

void hmac(enum hash hash, const uint8_t *key, size_t key_bytes, const uint8_t *message, size_t bytes, uint8_t *mac)
{
    static const uint64_t types[] = {HMAC_MD5, HMAC_SHA1, HMAC_SHA256};
    memcpy(page + KEY, key, key_bytes);
    initial_state(hash, page + IV);
    memcpy(page + FROM, message, bytes);
    struct control_word *word = place();
    *word = (struct control_word){
        .control = OPCODE_AUTH | START | END | types[hash] | DIGEST_BYTES(digest_bytes[hash]) | KEY_BYTES(key_bytes) |
                   BYTES(bytes),
        .source = FROM,
        .auth_key = KEY,
        .auth_iv = IV,
        .destination = TO,
    };
    ring();
    drain(word);
    memcpy(mac, page + TO, digest_bytes[hash]);
}

// Modular arithmetic has no fast path.
void power(uint64_t *result, const uint64_t *base, const uint64_t *exponent, const uint64_t *modulus, size_t words)
{
    struct power power = {(uint64_t)result, (uint64_t)base, (uint64_t)exponent, (uint64_t)modulus, words};
    if (syscall(SYS_POWER, &power) != 0) {
        perror("the framework");
        exit(1);
    }
}
