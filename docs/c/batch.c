/*
 * Many objects, one call: 32 packets are sealed side by side, then opened, and one that was changed is not.
 *
 *     cc batch.c $(pkg-config --cflags --libs millstream) -o batch
 */
#include <millstream.h>
#include <stdio.h>
#include <string.h>

#define COUNT 32
#define BYTES 100

int main(void)
{
    static const uint8_t bytes[16] = {7};
    static uint8_t nonces[COUNT][12], packets[COUNT][BYTES], tags[COUNT][16];
    static millstream_operation operations[COUNT + 2];
    uint8_t digest[32];
    millstream_key *key;
    millstream_status status;
    int i;

    if (millstream_key_new(MILLSTREAM_ALGORITHM_AES_GCM, bytes, sizeof bytes, &key))
        goto failed;
    for (i = 0; i < COUNT; i++) {
        nonces[i][0] = (uint8_t)i;
        memset(packets[i], i, BYTES);
        operations[i].kind = MILLSTREAM_KIND_SEAL;
        operations[i].key = key;
        operations[i].iv = nonces[i];
        operations[i].iv_length = sizeof nonces[i];
        operations[i].aad = (const uint8_t *)"header";
        operations[i].aad_length = 6;
        operations[i].input = packets[i];
        operations[i].output = packets[i];
        operations[i].length = BYTES;
        operations[i].tag = tags[i];
        operations[i].tag_length = sizeof tags[i];
    }
    /* Operations of other kinds may go with them. */
    operations[COUNT].kind = MILLSTREAM_KIND_DIGEST;
    operations[COUNT].algorithm = MILLSTREAM_ALGORITHM_SHA256;
    operations[COUNT].input = (const uint8_t *)"abc";
    operations[COUNT].length = 3;
    operations[COUNT].tag = digest;
    operations[COUNT].tag_length = sizeof digest;
    operations[COUNT + 1].kind = MILLSTREAM_KIND_CHECKSUM;
    operations[COUNT + 1].algorithm = MILLSTREAM_ALGORITHM_CRC32C;
    operations[COUNT + 1].input = (const uint8_t *)"123456789";
    operations[COUNT + 1].length = 9;
    if (millstream_batch(operations, COUNT + 2))
        goto failed;
    printf("sealed %d packets of %d bytes\n", COUNT, BYTES);
    printf("sha256 %02x%02x%02x%02x\n", digest[0], digest[1], digest[2], digest[3]);
    printf("crc32c %08x\n", (unsigned)operations[COUNT + 1].value);

    packets[5][0] ^= 1;
    for (i = 0; i < COUNT; i++)
        operations[i].kind = MILLSTREAM_KIND_OPEN;
    status = millstream_batch(operations, COUNT);
    if (status != MILLSTREAM_STATUS_AUTHENTICATION)
        goto failed;
    printf("%s\n", millstream_last_error());
    for (i = 0; i < COUNT; i++) {
        int opened = operations[i].status == MILLSTREAM_STATUS_OK;
        if (opened != (i != 5) || (opened && packets[i][BYTES - 1] != i))
            goto failed;
    }
    printf("opened the others\n");
    millstream_key_free(key);
    return 0;

failed:
    fprintf(stderr, "%s\n", millstream_last_error());
    return 1;
}
