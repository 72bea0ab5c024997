/* AES-GCM by OpenSSL's provider for PKCS #11, beside OpenSSL's own: with a key that the token makes ("stays"), or with one that is given. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The compiler may have the headers of an older OpenSSL, which has no opaque keys. */
typedef struct evp_cipher_st EVP_CIPHER;
typedef struct evp_cipher_ctx_st EVP_CIPHER_CTX;
typedef struct evp_skey_st EVP_SKEY;
typedef struct {
    const char *key;
    unsigned int type;
    void *data;
    size_t size, returned;
} OSSL_PARAM;
EVP_CIPHER *EVP_CIPHER_fetch(void *, const char *, const char *);
EVP_CIPHER_CTX *EVP_CIPHER_CTX_new(void);
void EVP_CIPHER_CTX_free(EVP_CIPHER_CTX *);
EVP_SKEY *EVP_SKEY_generate(void *, const char *, const char *, const OSSL_PARAM *);
int EVP_CipherInit_SKEY(EVP_CIPHER_CTX *, const EVP_CIPHER *, EVP_SKEY *, const unsigned char *, size_t, int, const OSSL_PARAM *);
int EVP_CipherInit_ex2(EVP_CIPHER_CTX *, const EVP_CIPHER *, const unsigned char *, const unsigned char *, int, const OSSL_PARAM *);
int EVP_CipherUpdate(EVP_CIPHER_CTX *, unsigned char *, int *, const unsigned char *, int);
int EVP_CipherFinal_ex(EVP_CIPHER_CTX *, unsigned char *, int *);
int EVP_CIPHER_CTX_ctrl(EVP_CIPHER_CTX *, int, int, void *);
OSSL_PARAM OSSL_PARAM_construct_utf8_string(const char *, char *, size_t);
OSSL_PARAM OSSL_PARAM_construct_int(const char *, int *);
OSSL_PARAM OSSL_PARAM_construct_end(void);
void ERR_print_errors_fp(FILE *);

enum { GET_TAG = 0x10, SET_TAG = 0x11, LEN = 1000, TAG = 16 };

static EVP_SKEY *kept;
static const unsigned char given[32] = "a key that the program has read";

static void need(int right, const char *what)
{
    if (right)
        return;
    printf("failed: %s\n", what);
    ERR_print_errors_fp(stdout);
    exit(1);
}

/* Seals or opens a message; returns false for a wrong tag. The whole message is one update: the provider 1.3 makes a message of its own, with
 * the same nonce, of each. */
static int pass(const char *by, int seals, const unsigned char *nonce, const unsigned char *in, unsigned char *out, unsigned char *tag)
{
    int len = 0, last = 0, right = 1;
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, "AES-256-GCM", by);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    need(cipher != NULL && context != NULL, "the cipher");
    if (kept != NULL)
        need(EVP_CipherInit_SKEY(context, cipher, kept, nonce, 12, seals, NULL), "the key");
    else
        need(EVP_CipherInit_ex2(context, cipher, given, nonce, seals, NULL), "the key");
    if (!seals)
        need(EVP_CIPHER_CTX_ctrl(context, SET_TAG, TAG, tag), "the tag");
    need(EVP_CipherUpdate(context, NULL, &len, (const unsigned char *)"head", 4), "associated data");
    right = EVP_CipherUpdate(context, out, &len, in, LEN) && EVP_CipherFinal_ex(context, out + len, &last);
    if (seals)
        need(EVP_CIPHER_CTX_ctrl(context, GET_TAG, TAG, tag), "the tag");
    need(!right || len + last == LEN, "the length");
    EVP_CIPHER_CTX_free(context);
    return right;
}

int main(int count, char **words)
{
    int ephemeral = 0, messages = 0;
    unsigned char in[LEN], sealed[LEN + TAG], other[LEN + TAG], out[LEN + TAG], tag[TAG], other_tag[TAG];
    need(count == 3, "two words: the kind of key, and its URI");
    if (strcmp(words[1], "stays") == 0) {
        OSSL_PARAM wanted[3];
        wanted[0] = OSSL_PARAM_construct_utf8_string("pkcs11_uri", words[2], 0);
        wanted[1] = OSSL_PARAM_construct_int("pkcs11_ephemeral", &ephemeral);
        wanted[2] = OSSL_PARAM_construct_end();
        kept = EVP_SKEY_generate(NULL, "AES", "provider=pkcs11", wanted);
        need(kept != NULL, "a new key");
    }
    for (int i = 0; i < LEN; i++)
        in[i] = (unsigned char)i;
    for (; messages < 4; messages++) {
        unsigned char nonce[12] = "of message ";
        nonce[11] = (unsigned char)messages;
        need(pass("provider=pkcs11", 1, nonce, in, sealed, tag), "sealing");
        need(memcmp(in, sealed, LEN) != 0, "ciphertext");
        if (kept == NULL) {
            need(pass("provider=default", 1, nonce, in, other, other_tag), "sealing");
            need(memcmp(other, sealed, LEN) == 0 && memcmp(other_tag, tag, TAG) == 0, "the same as OpenSSL's own");
        }
        need(pass("provider=pkcs11", 0, nonce, sealed, out, tag), "opening");
        need(memcmp(in, out, LEN) == 0, "the message");
        tag[messages] ^= 1;
        need(!pass("provider=pkcs11", 0, nonce, sealed, out, tag), "a wrong tag refused");
    }
    printf("%d messages\n", messages);
    return 0;
}
