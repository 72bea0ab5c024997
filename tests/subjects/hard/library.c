/* A library with AES of its own, which the program beside it loads and unloads. */

#include "work.h"

uint32_t library_work(uint32_t seed) {
    return work(seed, 19);
}
