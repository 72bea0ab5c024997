// What an operation over the fast path costs the strand: `submit BYTES TIMES [wait]` encrypts objects that lie in the page, no
// more than the queue holds, and looks once for each how far the unit is. With `wait` it waits for all and writes the last block.
#include "fast.h"

// Kept from being merged with its loop, so that it is what a call costs.
__attribute__((noinline)) static struct control_word *submit(uint64_t control, uint64_t from, uint64_t to)
{
    struct control_word *word = place();
    *word = (struct control_word){
        .control = control,
        .source = from,
        .key = QUEUE_BYTES,
        .iv = QUEUE_BYTES + 64,
        .destination = to,
    };
    ring();
    return word;
}

int main(int count, char **words)
{
    if (count < 3 || !grant())
        return 2;
    size_t bytes = strtoul(words[1], NULL, 10);
    unsigned times = strtoul(words[2], NULL, 10);
    if (!times || times >= QUEUE_WORDS)
        return 2;
    for (size_t i = 0; i < bytes; i++)
        page[2 * QUEUE_BYTES + i] = i * 7 + (i >> 8);
    for (int i = 0; i < 16; i++)
        page[QUEUE_BYTES + i] = i, page[QUEUE_BYTES + 64 + i] = 0xf0 + i;
    uint64_t control = OPCODE_CIPHER | ENCRYPT | START | END | AES128_CBC | BYTES(bytes), done = 0;
    struct control_word *last;
    do {
        last = submit(control, 2 * QUEUE_BYTES, 1 << 20);
        done |= user_load(USER_HEAD);
    } while (--times);
    if (count > 3) {
        drain(last);
        for (int i = 0; i < 16; i++)
            printf("%02x", page[(1 << 20) + bytes - 16 + i]);
        printf("\n");
    }
    return 0;
}
