/*
 * One object, one call: a digest, an HMAC, a sealed message, and a file in pieces.
 *
 *     cc direct.c $(pkg-config --cflags --libs millstream) -o direct
 */
#include <millstream.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program with the library's own words when a call fails. */
static void check(millstream_status status)
{
    if (status != MILLSTREAM_STATUS_OK) {
        fprintf(stderr, "%s\n", millstream_last_error());
        exit(1);
    }
}

static void print(const char *what, const uint8_t *bytes, size_t length)
{
    printf("%s ", what);
    for (size_t i = 0; i < length; i++)
        printf("%02x", bytes[i]);
    printf("\n");
}

/* FIPS 180-4: the digest of "abc". */
static void digest(void)
{
    uint8_t digest[32];
    check(millstream_digest(MILLSTREAM_ALGORITHM_SHA256, (const uint8_t *)"abc", 3, digest, sizeof digest));
    print("sha256", digest, sizeof digest);
}

/* RFC 4231, test case 2. */
static void hmac(void)
{
    const char *message = "what do ya want for nothing?";
    uint8_t mac[64];
    size_t length;
    millstream_key *key;

    check(millstream_key_new(MILLSTREAM_ALGORITHM_SHA256, (const uint8_t *)"Jefe", 4, &key));
    check(millstream_mac(key, (const uint8_t *)message, strlen(message), mac, sizeof mac, &length));
    print("hmac-sha256", mac, length);
    check(millstream_mac_verify(key, (const uint8_t *)message, strlen(message), mac, 16));
    millstream_key_free(key);
}

/* Seals a message in place, opens it again, and sees that a changed one is not opened. */
static void seal(void)
{
    static const uint8_t bytes[32] = {7}, nonce[12] = {1};
    char message[] = "one small object";
    uint8_t *data = (uint8_t *)message, tag[16];
    size_t length = strlen(message);
    millstream_key *key;

    check(millstream_key_new(MILLSTREAM_ALGORITHM_AES_GCM, bytes, sizeof bytes, &key));
    check(millstream_seal(key, nonce, sizeof nonce, NULL, 0, data, data, length, tag));
    print("aes-256-gcm", tag, sizeof tag);

    data[0] ^= 1;
    if (millstream_open(key, nonce, sizeof nonce, NULL, 0, data, data, length, tag, sizeof tag)
        != MILLSTREAM_STATUS_AUTHENTICATION)
        exit(1);
    printf("refused: %s\n", millstream_last_error());

    data[0] ^= 1;
    check(millstream_open(key, nonce, sizeof nonce, NULL, 0, data, data, length, tag, sizeof tag));
    printf("opened: %s\n", message);
    millstream_key_free(key);
}

/* A message in pieces, padded to whole blocks. The stream keeps the key. */
static void pieces(void)
{
    static const uint8_t bytes[16] = {7}, iv[16] = {9};
    static const char *text[] = {"in pieces ", "of any ", "length"};
    uint8_t sealed[64], opened[64];
    size_t total = 0, length, i;
    millstream_key *key;
    millstream_stream *stream;

    check(millstream_key_new(MILLSTREAM_ALGORITHM_AES_CBC, bytes, sizeof bytes, &key));
    check(millstream_stream_encrypt(key, MILLSTREAM_PADDING_PKCS7, iv, sizeof iv, &stream));
    for (i = 0; i < 3; i++) {
        check(millstream_stream_pass(stream, (const uint8_t *)text[i], strlen(text[i]), sealed + total,
                                     sizeof sealed - total, &length));
        total += length;
    }
    check(millstream_stream_finish(stream, sealed + total, sizeof sealed - total, &length));
    total += length;
    millstream_stream_free(stream);
    printf("encrypted to %zu bytes\n", total);

    check(millstream_stream_decrypt(key, MILLSTREAM_PADDING_PKCS7, iv, sizeof iv, &stream));
    millstream_key_free(key);
    check(millstream_stream_pass(stream, sealed, total, opened, sizeof opened, &length));
    total = length;
    check(millstream_stream_finish(stream, opened + total, sizeof opened - total, &length));
    total += length;
    millstream_stream_free(stream);
    printf("decrypted: %.*s\n", (int)total, (const char *)opened);
}

/* A digest that is left off and taken up again, which may be on another machine. */
static void left_off(void)
{
    uint8_t state[MILLSTREAM_MID_STATE_ROOM], digest[64];
    size_t length;
    millstream_stream *stream;

    check(millstream_stream_digest(MILLSTREAM_ALGORITHM_SHA512, &stream));
    check(millstream_stream_update(stream, (const uint8_t *)"a", 1));
    check(millstream_stream_export(stream, state, sizeof state, &length));
    millstream_stream_free(stream);

    check(millstream_stream_import_digest(MILLSTREAM_ALGORITHM_SHA512, state, length, &stream));
    check(millstream_stream_update(stream, (const uint8_t *)"bc", 2));
    check(millstream_stream_finish(stream, digest, sizeof digest, &length));
    millstream_stream_free(stream);
    print("sha512", digest, length);
}

int main(void)
{
    digest();
    hmac();
    seal();
    pieces();
    left_off();
    return 0;
}
