// Control words, and how a process asks the kernel for what it may not do itself.
//
// The words are those of the UltraSPARC T2; the system calls and the registers of the fast path are Millstream's own.
#pragma once

#include <stdint.h>

struct control_word {
    uint64_t control, source, auth_key, auth_iv, final_auth_state, key, iv, destination;
};

#define OPCODE_CIPHER (0x40ull << 56)
#define OPCODE_AUTH (0x41ull << 56)
#define ENCRYPT (1ull << 55)
#define START (1ull << 54)
#define END (1ull << 53)
#define FAILED (3ull << 51)
#define DONE (1ull << 50)
#define DIGEST_BYTES(n) ((uint64_t)((n) - 1) << 40)
#define AUTH(type) ((uint64_t)(type) << 32)
#define CIPHER(type) ((uint64_t)(type) << 24)
#define KEY_BYTES(n) ((uint64_t)((n) - 1) << 16)
#define BYTES(n) ((uint64_t)((n) - 1))

#define AES128_CBC CIPHER(0x11)
#define AES128_CTR CIPHER(0x13)
#define HMAC_MD5 AUTH(5)
#define HMAC_SHA1 AUTH(6)
#define HMAC_SHA256 AUTH(7)

// An operation over the framework: control words with the process's addresses, and their number.
#define SYS_OPERATION 20000
// A power over the framework: a `struct power`.
#define SYS_POWER 20001
// A queue for the fast path, of so many words: the address of its page.
#define SYS_GRANT 20002
// Gives it back.
#define SYS_REVOKE 20003

struct power {
    uint64_t result, base, exponent, modulus, words;
};

// The fast path's registers.
#define ASI_USER_QUEUE 0xb8
#define USER_TAIL 0x00
#define USER_HEAD 0x08
#define USER_STATUS 0x10
#define PAGE_BYTES (4 << 20)
#define QUEUE_BYTES 4096

static inline uint64_t user_load(uint64_t address)
{
    uint64_t value;
    __asm__ volatile("ldxa [%1] %2, %0" : "=r"(value) : "r"(address), "i"(ASI_USER_QUEUE) : "memory");
    return value;
}

static inline void user_store(uint64_t address, uint64_t value)
{
    __asm__ volatile("membar #StoreStore\n\tstxa %0, [%1] %2" : : "r"(value), "r"(address), "i"(ASI_USER_QUEUE) : "memory");
}

// The state that a hash begins with, where the unit looks for it: MD5's words are little-endian there.
static inline void initial_state(enum hash hash, uint8_t state[32])
{
    static const uint32_t words[8] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    static const uint32_t words256[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    for (int i = 0; i < 32; i++)
        state[i] = (hash == SHA256 ? words256 : words)[i / 4] >> 8 * (hash == MD5 ? i % 4 : 3 - i % 4);
}
