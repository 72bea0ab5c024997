/*
 * What no command of OpenSSL does: the same operation by two providers of one process, compared; and pipelines
 * (OpenSSL 3.5), compared with one operation at a time and then timed in turns with it. Built and run by drive.rs.
 *
 *   drive check cipher|digest NAME            prints how many comparisons were equal
 *   drive pipelines NAME enc|dec PIPES BYTES ROUNDS
 *                                             prints nanoseconds of processor time an operation, singly and in pipes,
 *                                             a pair for each round; `absent WHY` where there are no pipelines
 */
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST 20000
#define PIPES 32

static void fail(const char *what)
{
    fprintf(stderr, "%s: ", what);
    ERR_print_errors_fp(stderr);
    fputc('\n', stderr);
    exit(1);
}

static void need(int good, const char *what)
{
    if (!good)
        fail(what);
}

static unsigned char data[MOST], key[64], iv[PIPES][16], aad[20];

static void randomise(void)
{
    need(RAND_bytes(data, sizeof data) && RAND_bytes(key, sizeof key) && RAND_bytes(iv[0], sizeof iv)
         && RAND_bytes(aad, sizeof aad), "RAND_bytes");
}

static int is_aead(const EVP_CIPHER *cipher)
{
    return (EVP_CIPHER_get_flags(cipher) & EVP_CIPH_FLAG_AEAD_CIPHER) != 0;
}

/* One message; the tag follows it where there is one. Returns its length. */
static int once(EVP_CIPHER *cipher, int enc, const unsigned char *in, int len, unsigned char *out)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int first = 0, last = 0, n, aead = is_aead(cipher);

    need(EVP_CipherInit_ex2(ctx, cipher, key, iv[0], enc, NULL), "init");
    if (aead) {
        if (!enc) {
            len -= 16;
            need(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, (void *)(in + len)), "set tag");
        }
        need(EVP_CipherUpdate(ctx, NULL, &n, aad, sizeof aad), "aad");
    }
    need(EVP_CipherUpdate(ctx, out, &first, in, len), "update");
    need(EVP_CipherFinal_ex(ctx, out + first, &last), "final");
    n = first + last;
    if (aead && enc) {
        need(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, out + n), "get tag");
        n += 16;
    }
    EVP_CIPHER_CTX_free(ctx);
    return n;
}

static int check_cipher(const char *name)
{
    static unsigned char a[MOST + 64], b[MOST + 64], c[MOST + 64];
    EVP_CIPHER *theirs = EVP_CIPHER_fetch(NULL, name, "provider=default");
    EVP_CIPHER *ours = EVP_CIPHER_fetch(NULL, name, "provider=millstream");
    int compared = 0, xts, len, la, lb;

    if (ours == NULL)
        return 0;
    need(theirs != NULL, name);
    xts = EVP_CIPHER_get_mode(ours) == EVP_CIPH_XTS_MODE;
    for (len = xts ? 16 : 0; len <= 17000; len = len < 300 ? len + 1 : len * 3 / 2) {
        randomise();
        la = once(theirs, 1, data, len, a);
        lb = once(ours, 1, data, len, b);
        if (la != lb || memcmp(a, b, la) != 0)
            fail("encrypted otherwise");
        if (once(ours, 0, a, la, c) != len || memcmp(c, data, len) != 0)
            fail("decrypted otherwise");
        compared++;
    }
    return compared;
}

static int check_digest(const char *name)
{
    unsigned char a[EVP_MAX_MD_SIZE], b[EVP_MAX_MD_SIZE];
    unsigned int la, lb;
    EVP_MD *theirs = EVP_MD_fetch(NULL, name, "provider=default");
    EVP_MD *ours = EVP_MD_fetch(NULL, name, "provider=millstream");
    int compared = 0, len;

    if (ours == NULL)
        return 0;
    need(theirs != NULL, name);
    for (len = 0; len <= 17000; len = len < 300 ? len + 1 : len * 3 / 2) {
        randomise();
        need(EVP_Digest(data, len, a, &la, theirs, NULL) && EVP_Digest(data, len, b, &lb, ours, NULL), "digest");
        if (la != lb || memcmp(a, b, la) != 0)
            fail("digested otherwise");
        compared++;
    }
    return compared;
}

#if OPENSSL_VERSION_NUMBER >= 0x30500000L

static double now(void)
{
    struct timespec at;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return at.tv_sec * 1e9 + at.tv_nsec;
}

struct streams {
    EVP_CIPHER *cipher;
    EVP_CIPHER_CTX *single[PIPES], *many;
    size_t pipes, bytes;
    unsigned char in[PIPES][MOST], one[PIPES][MOST + 32], out[PIPES][MOST + 32];
    int enc;
};

static void singly(struct streams *s)
{
    size_t i;
    int n, last;

    for (i = 0; i < s->pipes; i++) {
        need(EVP_CipherInit_ex2(s->single[i], NULL, NULL, iv[i], s->enc, NULL)
             && EVP_CipherUpdate(s->single[i], s->one[i], &n, s->in[i], (int)s->bytes)
             && EVP_CipherFinal_ex(s->single[i], s->one[i] + n, &last), "one at a time");
        need((size_t)(n + last) <= s->bytes + 16, "length");
    }
}

/* The key is given the first time and kept, as it is singly. To name the cipher again would clear the number of pipes. */
static void in_pipes(struct streams *s, const unsigned char *with_key)
{
    const EVP_CIPHER *cipher = with_key != NULL ? s->cipher : NULL;
    const unsigned char *ivs[PIPES], *in[PIPES];
    unsigned char *out[PIPES];
    size_t i, got[PIPES], size[PIPES], len[PIPES], ivlen = EVP_CIPHER_get_iv_length(s->cipher);
    size_t keylen = EVP_CIPHER_get_key_length(s->cipher);

    for (i = 0; i < s->pipes; i++) {
        ivs[i] = iv[i], in[i] = s->in[i], len[i] = s->bytes, out[i] = s->out[i], size[i] = MOST + 32;
    }
    need(s->enc ? EVP_CipherPipelineEncryptInit(s->many, cipher, with_key, keylen, s->pipes, ivs, ivlen)
                : EVP_CipherPipelineDecryptInit(s->many, cipher, with_key, keylen, s->pipes, ivs, ivlen),
         "pipeline init");
    need(EVP_CipherPipelineUpdate(s->many, out, got, size, in, len), "pipeline update");
    for (i = 0; i < s->pipes; i++)
        out[i] += got[i], size[i] -= got[i];
    need(EVP_CipherPipelineFinal(s->many, out, got, size), "pipeline final");
}

static int pipelines(const char *name, int enc, size_t pipes, size_t bytes, int rounds)
{
    static struct streams s;
    size_t i, times, t;
    double begin, single, many;
    int r;

    s.cipher = EVP_CIPHER_fetch(NULL, name, "provider=millstream");
    if (s.cipher == NULL || !EVP_CIPHER_can_pipeline(s.cipher, enc)) {
        printf("absent the provider has no pipelines for %s\n", name);
        return 0;
    }
    need(pipes <= PIPES && bytes <= MOST - 32, "as many and as long as there is place for");
    s.enc = enc, s.pipes = pipes, s.bytes = bytes;
    randomise();
    s.many = EVP_CIPHER_CTX_new();
    for (i = 0; i < pipes; i++) {
        need(RAND_bytes(s.in[i], sizeof s.in[i]), "RAND_bytes");
        s.single[i] = EVP_CIPHER_CTX_new();
        need(EVP_CipherInit_ex2(s.single[i], s.cipher, key, iv[i], enc, NULL), "init");
        if (!enc) {
            /* What decrypts has to have been encrypted, for its padding. */
            int n, last;
            EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
            unsigned char *plain = s.one[i];

            memcpy(plain, s.in[i], bytes);
            need(EVP_CipherInit_ex2(ctx, s.cipher, key, iv[i], 1, NULL)
                 && EVP_CipherUpdate(ctx, s.in[i], &n, plain, (int)bytes - 16)
                 && EVP_CipherFinal_ex(ctx, s.in[i] + n, &last), "encrypt");
            s.bytes = n + last;
            EVP_CIPHER_CTX_free(ctx);
        }
    }
    in_pipes(&s, key);
    singly(&s);
    for (i = 0; i < pipes; i++)
        if (memcmp(s.one[i], s.out[i], s.bytes) != 0)
            fail("the pipeline's output is another");
    begin = now();
    singly(&s);
    times = (size_t)(2e7 / (now() - begin + 1)) + 1;
    for (r = 0; r < rounds; r++) {
        begin = now();
        for (t = 0; t < times; t++)
            singly(&s);
        single = now() - begin;
        begin = now();
        for (t = 0; t < times; t++)
            in_pipes(&s, NULL);
        many = now() - begin;
        printf("%.2f %.2f\n", single / times / pipes, many / times / pipes);
    }
    return 0;
}

#else

static int pipelines(const char *name, int enc, size_t pipes, size_t bytes, int rounds)
{
    (void)name, (void)enc, (void)pipes, (void)bytes, (void)rounds;
    printf("absent this OpenSSL has no pipelines of providers\n");
    return 0;
}

#endif

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "check") == 0) {
        printf("%d\n", strcmp(argv[2], "digest") == 0 ? check_digest(argv[3]) : check_cipher(argv[3]));
        return 0;
    }
    if (argc == 7 && strcmp(argv[1], "pipelines") == 0)
        return pipelines(argv[2], strcmp(argv[3], "enc") == 0, atoi(argv[4]), atoi(argv[5]), atoi(argv[6]));
    fprintf(stderr, "drive: see the head of drive.c\n");
    return 2;
}
