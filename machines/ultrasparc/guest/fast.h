// The fast path of Rainbow Falls: a granted page with the queue in front, and everything else behind it. Addresses in
// control words are offsets into the page.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "guest.h"
#include "queue.h"

#define QUEUE_WORDS 64

static uint8_t *page;
static uint64_t tail;

static int grant(void)
{
    long address = syscall(SYS_GRANT, QUEUE_WORDS);
    if (address == -1) {
        perror("no fast path");
        return 0;
    }
    page = (uint8_t *)address;
    return 1;
}

// Where the next word goes.
static inline struct control_word *place(void)
{
    return (struct control_word *)(page + tail);
}

// Submits the word that was written there: all that it takes.
static inline void ring(void)
{
    tail = (tail + sizeof(struct control_word)) % (QUEUE_WORDS * sizeof(struct control_word));
    user_store(USER_TAIL, tail);
}

// Waits until the queue is empty: the last word that was submitted is done, well or not.
static inline void drain(const volatile struct control_word *word)
{
    while (user_load(USER_HEAD) != tail)
        if (!(user_load(USER_STATUS) & 1)) {
            fprintf(stderr, "the grant was taken away\n");
            exit(1);
        }
    if (word->control & FAILED) {
        fprintf(stderr, "the unit refused the word %016llx\n", (unsigned long long)word->control);
        exit(1);
    }
}
