/* GnuTLS, and nettle under it. */

#include "subject.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

static gnutls_aead_cipher_hd_t handle;

static void begin(void) {
    REQUIRE(gnutls_global_init() == 0);
}

static void key(const uint8_t bytes[16]) {
    gnutls_datum_t datum = {(unsigned char *)bytes, 16};
    REQUIRE(gnutls_aead_cipher_init(&handle, GNUTLS_CIPHER_AES_128_GCM, &datum) == 0);
}

static void seal(const uint8_t nonce[12], const uint8_t *in, uint8_t *out) {
    size_t length = LENGTH + 16;
    REQUIRE(gnutls_aead_cipher_encrypt(handle, nonce, 12, NULL, 0, 16, in, LENGTH, out, &length) == 0);
    REQUIRE(length == LENGTH + 16);
}

static void hash(const uint8_t *in, size_t length, uint8_t digest[32]) {
    REQUIRE(gnutls_hash_fast(GNUTLS_DIG_SHA256, in, length, digest) == 0);
}
