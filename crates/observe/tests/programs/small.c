/* Without a library, so that it can be compiled for 32 bits anywhere. Ends with 1 if it sees AES rounds, else 0. */
void _start(void)
{
    unsigned a = 1, b, c = 0, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    __asm__ volatile("int $0x80" : : "a"(1), "b"(c >> 25 & 1));
}
