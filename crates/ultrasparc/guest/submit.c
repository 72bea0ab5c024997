// What an operation over the fast path costs the strand: `submit BYTES TIMES` encrypts objects that lie in the page, and
// looks once for each whether it is done. The last block is written.
#include "fast.h"

int main(int count, char **words)
{
    if (count != 3 || !grant())
        return 2;
    size_t bytes = strtoul(words[1], NULL, 10);
    unsigned times = strtoul(words[2], NULL, 10);
    for (size_t i = 0; i < bytes; i++)
        page[2 * QUEUE_BYTES + i] = i * 7 + (i >> 8);
    for (int i = 0; i < 16; i++)
        page[QUEUE_BYTES + i] = i, page[QUEUE_BYTES + 64 + i] = 0xf0 + i;
    struct control_word *last = NULL;
    while (times--) {
        // No more than the queue holds: the word before last, by now, is nearly always done.
        struct control_word word = {
            .control = OPCODE_CIPHER | ENCRYPT | START | END | AES128_CBC | BYTES(bytes),
            .source = 2 * QUEUE_BYTES,
            .key = QUEUE_BYTES,
            .iv = QUEUE_BYTES + 64,
            .destination = 1 << 20,
        };
        last = submit(&word);
        while (user_load(USER_HEAD) == (tail + sizeof word) % (QUEUE_WORDS * sizeof word))
            ;
    }
    if (last)
        drain(last);
    for (int i = 0; i < 16; i++)
        printf("%02x", page[(1 << 20) + bytes - 16 + i]);
    printf("\n");
    return 0;
}
