/* libsodium, which has AES-GCM only where the processor has it. */

#include "subject.h"

#include <sodium.h>

static crypto_aead_aes256gcm_state state;

static void begin(void) {
    REQUIRE(sodium_init() >= 0);
}

static void key(const uint8_t bytes[16]) {
    uint8_t whole[32];
    memcpy(whole, bytes, 16);
    memcpy(whole + 16, bytes, 16);
    if (!crypto_aead_aes256gcm_is_available()) {
        printf("unavailable\n");
        exit(3);
    }
    REQUIRE(crypto_aead_aes256gcm_beforenm(&state, whole) == 0);
}

static void seal(const uint8_t nonce[12], const uint8_t *in, uint8_t *out) {
    unsigned long long length = 0;
    REQUIRE(crypto_aead_aes256gcm_encrypt_afternm(out, &length, in, LENGTH, NULL, 0, NULL, nonce, &state) == 0);
    REQUIRE(length == LENGTH + 16);
}

static void hash(const uint8_t *in, size_t length, uint8_t digest[32]) {
    REQUIRE(crypto_hash_sha256(digest, in, length) == 0);
}
