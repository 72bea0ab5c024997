/* libgcrypt, which is under GnuPG and has no environment variable. */

#include "subject.h"

#include <gcrypt.h>

static gcry_cipher_hd_t handle;

static void begin(void) {
    REQUIRE(gcry_check_version(NULL) != NULL);
    gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
    gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
}

static void key(const uint8_t bytes[16]) {
    REQUIRE(gcry_cipher_open(&handle, GCRY_CIPHER_AES128, GCRY_CIPHER_MODE_GCM, 0) == 0);
    REQUIRE(gcry_cipher_setkey(handle, bytes, 16) == 0);
}

static void seal(const uint8_t nonce[12], const uint8_t *in, uint8_t *out) {
    REQUIRE(gcry_cipher_reset(handle) == 0);
    REQUIRE(gcry_cipher_setiv(handle, nonce, 12) == 0);
    REQUIRE(gcry_cipher_final(handle) == 0);
    REQUIRE(gcry_cipher_encrypt(handle, out, LENGTH, in, LENGTH) == 0);
    REQUIRE(gcry_cipher_gettag(handle, out + LENGTH, 16) == 0);
}

static void hash(const uint8_t *in, size_t length, uint8_t digest[32]) {
    gcry_md_hash_buffer(GCRY_MD_SHA256, digest, in, length);
}
