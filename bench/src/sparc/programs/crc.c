/* CRC-32 by a table, a byte at a time. */
#include <stdint.h>
#include <stdio.h>

static uint32_t table[256];
static unsigned char data[1 << 16];

int main(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
        table[i] = c;
    }
    for (unsigned i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 31 + (i >> 8));
    uint32_t crc = 0;
    for (int round = 0; round < 600; round++) {
        crc = ~crc;
        for (unsigned i = 0; i < sizeof data; i++)
            crc = table[(crc ^ data[i]) & 255] ^ crc >> 8;
        crc = ~crc;
    }
    printf("%08x\n", crc);
    return 0;
}
