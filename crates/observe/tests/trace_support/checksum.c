// CRC-32 by folding, as in zlib's descendants, beside the same computed bit by bit: ends with 0 if both agree.
//
// Ref. Gopal et al., Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction (Intel, 2009).
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define APART __attribute__((target("pclmul,sse4.1"), noinline))

// It has no number of its own: who calls it says what it is for.
APART static __m128i fold(__m128i x, __m128i by, __m128i next) {
  __m128i low = _mm_clmulepi64_si128(x, by, 0x00), high = _mm_clmulepi64_si128(x, by, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

APART static uint32_t crc32_folded(const uint8_t *data, size_t length) {
  const __m128i by = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0), mask = _mm_setr_epi32(-1, 0, -1, 0);
  const __m128i last = _mm_set_epi64x(0, 0x163cd6124), polynomial = _mm_set_epi64x(0x1f7011641, 0x1db710641);
  __m128i x = _mm_xor_si128(_mm_loadu_si128((const void *)data), _mm_cvtsi32_si128(-1)), y;
  for (size_t i = 16; i < length; i += 16) x = fold(x, by, _mm_loadu_si128((const void *)(data + i)));
  y = _mm_clmulepi64_si128(x, by, 0x10);
  x = _mm_xor_si128(_mm_srli_si128(x, 8), y);
  y = _mm_srli_si128(x, 4);
  x = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(x, mask), last, 0x00), y);
  y = _mm_clmulepi64_si128(_mm_and_si128(x, mask), polynomial, 0x10);
  y = _mm_clmulepi64_si128(_mm_and_si128(y, mask), polynomial, 0x00);
  return ~_mm_extract_epi32(_mm_xor_si128(x, y), 1);
}

static uint32_t by_bits(const uint8_t *data, size_t length) {
  uint32_t sum = -1;
  for (size_t i = 0; i < length; i++) {
    sum ^= data[i];
    for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum;
}

#ifdef SAYS_NOTHING
// Multiplication that may be for anything.
APART static uint64_t product(uint64_t a, uint64_t b) {
  __m128i x = _mm_clmulepi64_si128(_mm_cvtsi64_si128(a), _mm_cvtsi64_si128(b), 0x00);
  return _mm_cvtsi128_si64(x);
}
int main(int count, char **words) { return product(count + 2, 5) != 15; }
#else
int main(void) {
  uint8_t data[256];
  for (int i = 0; i < 256; i++) data[i] = i * 7;
  return crc32_folded(data, sizeof data) != by_bits(data, sizeof data);
}
#endif
