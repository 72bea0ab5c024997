/*
 * Keys out of reach: they are in the service's process, which `millstream serve` starts. Only handles are here.
 *
 *     cc isolated.c $(pkg-config --cflags --libs millstream) -o isolated
 *     ./isolated [SOCKET]
 */
#include <millstream.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(millstream_status status)
{
    if (status != MILLSTREAM_STATUS_OK) {
        fprintf(stderr, "%s\n", millstream_last_error());
        exit(1);
    }
}

/* Seals `source` to `destination`, or opens it again; the end of it. */
static millstream_done pass(millstream_queue *queue, millstream_kind kind, uint64_t key, const uint8_t *tag,
                            millstream_buffer *source, millstream_buffer *destination)
{
    static const uint8_t nonce[12] = {1};
    millstream_request request;
    millstream_done done;

    memset(&request, 0, sizeof request);
    request.kind = kind;
    request.key = key;
    if (kind != MILLSTREAM_KIND_SEAL_WITH_MADE_NONCE) {
        request.iv = nonce;
        request.iv_length = sizeof nonce;
    }
    request.tag = tag;
    request.tag_length = tag ? 16 : 0;
    request.source = source;
    request.destination = destination;
    check(millstream_queue_submit(queue, &request, NULL));
    check(millstream_queue_wait(queue, &done));
    return done;
}

int main(int argc, char **argv)
{
    static const char text[] = "out of reach";
    uint8_t bytes[32];
    uint64_t generated, imported, sealing;
    millstream_attach_options options;
    millstream_key_options purpose;
    millstream_accelerator *accelerator;
    millstream_grant_info info;
    millstream_queue *queue;
    millstream_buffer *source, *sealed, *opened;
    millstream_done done;

    memset(&options, 0, sizeof options);
    if (argc > 1)
        options.socket = argv[1];
    check(millstream_attach(&options, &accelerator));
    check(millstream_accelerator_info(accelerator, &info));
    printf("isolated: %u, state %u\n", info.is_isolated, millstream_accelerator_state(accelerator));

    check(millstream_accelerator_queue(accelerator, &queue));
    check(millstream_buffer_new(queue, sizeof text, &source));
    check(millstream_buffer_new(queue, sizeof text, &sealed));
    check(millstream_buffer_new(queue, sizeof text, &opened));
    memcpy(millstream_buffer_data(source), text, sizeof text);

    /* A random key that this process never sees. */
    check(millstream_accelerator_generate_key(accelerator, MILLSTREAM_ALGORITHM_AES_GCM, 32, 0, &generated));
    if (millstream_accelerator_export_key(accelerator, generated, bytes, sizeof bytes, NULL)
        != MILLSTREAM_STATUS_NOT_EXPORTABLE)
        return 1;
    printf("export: %s\n", millstream_last_error());
    done = pass(queue, MILLSTREAM_KIND_SEAL, generated, NULL, source, sealed);
    check(done.status);
    done = pass(queue, MILLSTREAM_KIND_OPEN, generated, done.tag, sealed, opened);
    check(done.status);
    printf("opened: %s\n", (const char *)millstream_buffer_data(opened));

    /* One of this process's own; its bytes are not needed any more after. */
    memset(bytes, 7, sizeof bytes);
    check(millstream_accelerator_import_key(accelerator, MILLSTREAM_ALGORITHM_AES_GCM, bytes, sizeof bytes, 0,
                                            &imported));
    check(millstream_wipe(bytes, sizeof bytes));
    done = pass(queue, MILLSTREAM_KIND_SEAL, imported, NULL, source, sealed);
    check(done.status);
    printf("tag %02x%02x%02x%02x\n", done.tag[0], done.tag[1], done.tag[2], done.tag[3]);

    /* Under the other key it is not opened, and nothing of it is left. */
    done = pass(queue, MILLSTREAM_KIND_OPEN, generated, done.tag, sealed, opened);
    printf("other key: %s\n", millstream_status_text(done.status));
    check(millstream_accelerator_destroy_key(accelerator, imported));
    done = pass(queue, MILLSTREAM_KIND_SEAL, imported, NULL, source, sealed);
    printf("destroyed: %s\n", millstream_status_text(done.status));

    /* One that seals, and nothing else, under nonces that the worker makes: nobody can have it use one twice. */
    memset(&purpose, 0, sizeof purpose);
    purpose.usages = MILLSTREAM_USAGE_ENCRYPT;
    purpose.makes_nonces = 1;
    check(millstream_accelerator_generate_key_with(accelerator, MILLSTREAM_ALGORITHM_AES_GCM, 32, &purpose,
                                                   &sealing));
    done = pass(queue, MILLSTREAM_KIND_SEAL_WITH_MADE_NONCE, sealing, NULL, source, sealed);
    check(done.status);
    printf("made nonce: %u bytes after the tag's %u\n", done.nonce_length, done.tag_length);
    done = pass(queue, MILLSTREAM_KIND_SEAL, sealing, NULL, source, sealed);
    printf("given nonce: %s\n", millstream_status_text(done.status));
    done = pass(queue, MILLSTREAM_KIND_OPEN, sealing, done.tag, sealed, opened);
    printf("opening: %s\n", millstream_status_text(done.status));

    check(millstream_buffer_free(source));
    check(millstream_buffer_free(sealed));
    check(millstream_buffer_free(opened));
    millstream_queue_free(queue);
    millstream_accelerator_free(accelerator);
    return 0;
}
