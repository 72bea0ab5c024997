/* A program of 32 bits that needs no library: its CPUID and its AES are of another mode than the tracer's. */

typedef long long vector __attribute__((vector_size(16)));

static int call(int number, int a, const void *b, int c) {
    int result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
    return result;
}

static void print(int to, const char *text) {
    int length = 0;
    while (text[length]) {
        length++;
    }
    call(4, to, text, length);
}

__attribute__((target("aes,sse2"), noinline)) static unsigned compute(void) {
    vector state = {1, 2}, key = {3, 4};
    for (int i = 0; i < 1000; i++) {
        state = __builtin_ia32_aesenc128(state, key);
    }
    return (unsigned)state[0];
}

__attribute__((force_align_arg_pointer)) void _start(void) {
    unsigned a = 1, b, c, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "=c"(c), "=d"(d));
    print(2, c >> 25 & 1 ? "AES: yes\n" : "AES: no\n");
    static char text[] = "00000000\n";
    unsigned sum = compute();
    for (int i = 0; i < 8; i++) {
        text[i] = "0123456789abcdef"[sum >> (28 - 4 * i) & 15];
    }
    print(1, text);
    call(1, 32, 0, 0);
}
