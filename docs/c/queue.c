/*
 * Many objects in flight: on the thread that polls, then on an accelerator's own thread; and more than a queue holds.
 *
 *     cc queue.c $(pkg-config --cflags --libs millstream) -o queue
 */
#include <millstream.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 16
#define BYTES 64

static void check(millstream_status status)
{
    if (status != MILLSTREAM_STATUS_OK) {
        fprintf(stderr, "%s\n", millstream_last_error());
        exit(1);
    }
}

/* SP 800-38A, F.2.1: the key, the initialisation vector, and the first block before and after. */
static const uint8_t key_bytes[16] = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6,
                                      0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c};
static const uint8_t plain[16] = {0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96,
                                  0xe9, 0x3d, 0x7e, 0x11, 0x73, 0x93, 0x17, 0x2a};
static const uint8_t cipher[4] = {0x76, 0x49, 0xab, 0xac};

static void run(millstream_queue *queue, const char *name)
{
    millstream_buffer *buffers[2 * COUNT];
    millstream_request request;
    millstream_done done;
    uint8_t iv[16];
    uint64_t key;
    int i, right = 0;

    for (i = 0; i < 16; i++)
        iv[i] = (uint8_t)i;
    check(millstream_queue_import_key(queue, MILLSTREAM_ALGORITHM_AES_CBC, key_bytes, sizeof key_bytes, &key));
    for (i = 0; i < 2 * COUNT; i++)
        check(millstream_buffer_new(queue, BYTES, &buffers[i]));

    for (i = 0; i < COUNT; i++) {
        memcpy(millstream_buffer_data(buffers[2 * i]), plain, sizeof plain);
        memset(&request, 0, sizeof request);
        request.kind = MILLSTREAM_KIND_ENCRYPT;
        request.key = key;
        request.iv = iv;
        request.iv_length = sizeof iv;
        request.source = buffers[2 * i];
        request.destination = buffers[2 * i + 1];
        request.user = (uint64_t)i;
        check(millstream_queue_submit(queue, &request, NULL));
    }
    /* Until its end has been taken a buffer is the operation's. */
    if (millstream_buffer_data(buffers[0]) || millstream_buffer_free(buffers[0]) != MILLSTREAM_STATUS_IN_FLIGHT)
        exit(1);

    while (millstream_queue_wait(queue, &done) == MILLSTREAM_STATUS_OK) {
        const uint8_t *output = millstream_buffer_data(done.destination);
        if (done.status != MILLSTREAM_STATUS_OK || done.destination != buffers[2 * done.user + 1])
            exit(1);
        right += memcmp(output, cipher, sizeof cipher) == 0;
    }
    printf("%s: %d of %d right\n", name, right, COUNT);

    for (i = 0; i < 2 * COUNT; i++)
        check(millstream_buffer_free(buffers[i]));
    check(millstream_queue_remove_key(queue, key));
}

/* 64 messages through a queue that holds 4: it is full most of the time, and room in it is awaited. */
static void stream(millstream_thread *thread)
{
    millstream_queue_options options;
    millstream_request request;
    millstream_buffer *buffer;
    millstream_queue *queue;
    millstream_done done;
    int i, right = 0;

    memset(&options, 0, sizeof options);
    options.depth = 4;
    options.arena_bytes = 1 << 20;
    check(millstream_thread_queue(thread, &options, &queue));
    for (i = 0; i < 64; i++) {
        check(millstream_buffer_new(queue, BYTES, &buffer));
        memset(&request, 0, sizeof request);
        request.kind = MILLSTREAM_KIND_DIGEST;
        request.algorithm = MILLSTREAM_ALGORITHM_SHA256;
        request.source = buffer;
        /* A minute at most. What ends meanwhile is kept for millstream_queue_poll(). */
        check(millstream_queue_submit_wait(queue, &request, UINT64_C(60000000000), NULL));
        while (millstream_queue_poll(queue, &done) == MILLSTREAM_STATUS_OK) {
            right += done.status == MILLSTREAM_STATUS_OK;
            check(millstream_buffer_free(done.source));
        }
    }
    while (millstream_queue_wait(queue, &done) == MILLSTREAM_STATUS_OK) {
        right += done.status == MILLSTREAM_STATUS_OK;
        check(millstream_buffer_free(done.source));
    }
    printf("through a queue of 4: %d of 64\n", right);
    millstream_queue_free(queue);
}

int main(void)
{
    millstream_queue_options options;
    millstream_queue *queue;
    millstream_thread *thread;

    check(millstream_queue_inline(NULL, &queue));
    run(queue, "inline");
    millstream_queue_free(queue);

    memset(&options, 0, sizeof options);
    options.depth = 64;
    options.arena_bytes = 1 << 20;
    check(millstream_thread_start(NULL, &thread));
    check(millstream_thread_queue(thread, &options, &queue));
    run(queue, "on a thread");
    millstream_queue_free(queue);
    stream(thread);
    millstream_thread_free(thread);
    return 0;
}
