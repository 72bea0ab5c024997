/* Words counted in a hash table of strings: calls, pointers, and many register windows. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct word {
    struct word *next;
    unsigned count;
    char text[16];
};

static struct word *table[4096];

static unsigned hash(const char *text)
{
    unsigned h = 2166136261u;
    while (*text)
        h = (h ^ (unsigned char)*text++) * 16777619u;
    return h & 4095;
}

static struct word *find(const char *text)
{
    struct word **at = &table[hash(text)];
    for (; *at; at = &(*at)->next)
        if (!strcmp((*at)->text, text))
            return *at;
    *at = calloc(1, sizeof **at);
    strcpy((*at)->text, text);
    return *at;
}

static unsigned ackermann(unsigned m, unsigned n)
{
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

int main(void)
{
    uint32_t state = 1;
    char text[16];
    for (int i = 0; i < 1500000; i++) {
        state = state * 1664525 + 1013904223;
        unsigned length = 2 + (state >> 29), seed = state >> 12 & 4095;
        for (unsigned k = 0; k < length; k++)
            text[k] = 'a' + (seed >> (k & 3) * 3 & 15);
        text[length] = 0;
        find(text)->count++;
    }
    uint64_t sum = 0;
    for (int i = 0; i < 4096; i++)
        for (struct word *word = table[i]; word; word = word->next)
            sum += (uint64_t)word->count * word->count;
    printf("%lu %u\n", (unsigned long)sum, ackermann(2, 300) + ackermann(3, 7));
    return 0;
}
