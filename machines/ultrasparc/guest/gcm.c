// AES-128-GCM split as on Rainbow Falls: the unit makes the keystream's ciphertext over the fast path, the strand runs GHASH
// beside it. `gcm tables|bytes|xmulx BYTES [TIMES]` writes the last 16 bytes of ciphertext and the tag; TIMES repeats GHASH alone.
// Whole blocks, and no additional data. Ref. NIST SP 800-38D §7.1.
#include "fast.h"
#include "ghash.h"

#define KEY QUEUE_BYTES
#define COUNTER (KEY + 64)
#define FROM (2 * QUEUE_BYTES)
#define TO (1 << 20)
#define MOST 65536

static struct control_word *counter_mode(uint64_t from, uint64_t to, size_t bytes)
{
    struct control_word *word = place();
    *word = (struct control_word){
        .control = OPCODE_CIPHER | ENCRYPT | START | END | AES128_CTR | BYTES(bytes),
        .source = from,
        .key = KEY,
        .iv = COUNTER,
        .destination = to,
    };
    ring();
    return word;
}

// AES of one block, as the keystream under a counter block.
static struct block keystream(const uint8_t counter[16])
{
    struct block block;
    memcpy(page + COUNTER, counter, 16);
    memset(page + FROM - 64, 0, 16);
    drain(counter_mode(FROM - 64, FROM - 128, 16));
    memcpy(&block, page + FROM - 128, 16);
    return block;
}

int main(int count, char **words)
{
    if (count < 3 || !grant())
        return 2;
    enum method method = !strcmp(words[1], "tables") ? NIBBLES : !strcmp(words[1], "bytes") ? WHOLE_BYTES : XMULX_PRODUCTS;
    size_t bytes = strtoul(words[2], NULL, 10) & ~15ul;
    unsigned times = count > 3 ? strtoul(words[3], NULL, 10) : 1;
    if (!bytes || bytes > MOST)
        return 2;
    uint8_t counter[16] = {0};
    for (int i = 0; i < 16; i++)
        page[KEY + i] = i;
    for (size_t i = 0; i < bytes; i++)
        page[FROM + i] = i * 7 + (i >> 8);
    struct block h = keystream(counter);
    for (int i = 0; i < 12; i++)
        counter[i] = 0xf0 + i;
    counter[15] = 1;
    struct block mask = keystream(counter);
    counter[15] = 2;
    memcpy(page + COUNTER, counter, 16);
    drain(counter_mode(FROM, TO, bytes));
    struct block y = {0, 0}, lengths = {0, 8 * bytes};
    struct hash_key hash_key;
    prepare(&hash_key, h, method);
    while (times--) {
        y = (struct block){0, 0};
        ghash(&y, &hash_key, page + TO, bytes / 16, method);
        ghash(&y, &hash_key, (const uint8_t *)&lengths, 1, method);
    }
    for (int i = 0; i < 16; i++)
        printf("%02x", page[TO + bytes - 16 + i]);
    printf(" %016llx%016llx\n", (unsigned long long)(y.high ^ mask.high), (unsigned long long)(y.low ^ mask.low));
    return 0;
}
