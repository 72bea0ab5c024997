/* Integers, calls and windows: what a compiler makes of C that has no floating point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

struct small { int a; short b; char c; };
struct large { long a[5]; struct small s; };
struct mixed { double d; int i; float f; };

static struct large turn(struct large l, struct small s, struct mixed m)
{
	for (int i = 0; i < 5; i++)
		l.a[i] = l.a[4 - i] * s.a + s.b - s.c + (long)m.d + m.i + (long)m.f;
	l.s = s;
	l.s.a++;
	return l;
}

static int ackermann(int m, int n)
{
	return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

/* Deeper than there are windows, with something live in each. */
static long deep(int n, long a, long b)
{
	if (n == 0)
		return a ^ b;
	long below = deep(n - 1, a * 3 + n, b ^ a);
	return below * 5 + a - b + n;
}

static long sum(int n, ...)
{
	va_list list;
	long total = 0;
	va_start(list, n);
	while (n-- > 0)
		total = total * 7 + va_arg(list, long);
	va_end(list);
	return total;
}

static int by_value(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static jmp_buf place;

static void leap(int depth)
{
	if (depth == 0)
		longjmp(place, 42);
	leap(depth - 1);
	puts("not reached");
}

static void arithmetic(void)
{
	for (int i = 0; i < 200; i++) {
		uint64_t a = next() >> (next() & 63), b = next() >> (next() & 63);
		int64_t s = (int64_t)a, t = (int64_t)b;
		uint32_t u = (uint32_t)a, v = (uint32_t)b;
		int32_t p = (int32_t)u, q = (int32_t)v;
		b += b == 0, t += t == 0, v += v == 0, q += q == 0;
		printf("%lu %lu %ld %ld %u %u %ld %ld\n", a / b, a % b, s / t, s % t, u / v, u % v,
		       (long)p / q, (long)p % q);
		printf("%lx %lx %lx %d %d %d %d\n", a * b, (uint64_t)((unsigned __int128)a * b >> 64), a << (b & 63),
		       s < t, u < v, p <= q, __builtin_popcountl(a));
		printf("%d %d %x %x\n", __builtin_clzl(a | 1), __builtin_ctzl(b | 1), p >> (v & 31), u >> (v & 31));
	}
}

int main(void)
{
	arithmetic();
	printf("%d %ld\n", ackermann(2, 9), deep(300, 1, 2));
	struct large l = {{1, 2, 3, 4, 5}, {6, 7, 8}};
	l = turn(l, (struct small){-3, 200, 'x'}, (struct mixed){2.75, -9, 1e6f});
	for (int i = 0; i < 5; i++)
		printf("%ld ", l.a[i]);
	printf("%d %d %c\n", l.s.a, l.s.b, l.s.c);
	printf("%ld\n", sum(12, 1L, -2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L, 10L, 11L, 12L));
	static int64_t list[1000];
	for (int i = 0; i < 1000; i++)
		list[i] = (int64_t)next() >> (i & 31);
	qsort(list, 1000, sizeof *list, by_value);
	uint64_t hash = 0;
	for (int i = 0; i < 1000; i++)
		hash = hash * 31 + (uint64_t)list[i] + (i && list[i] < list[i - 1]);
	printf("%016lx\n", hash);
	int came = setjmp(place);
	if (came == 0)
		leap(40);
	printf("longjmp %d\n", came);
	char text[256], copy[256];
	for (int length = 0; length < 100; length += 7) {
		memset(text, 'a' + length % 26, sizeof text);
		memmove(text + 3, text, length);
		strncpy(copy, text, length), copy[length] = 0;
		printf("%zu %d %s\n", strlen(copy), memcmp(copy, text, length), copy);
	}
	for (int i = 0; i < 20; i++) {
		snprintf(text, sizeof text, "%ld", (long)next());
		printf("%d", strtol(text, NULL, 10) == atol(text));
	}
	putchar('\n');
	return 17;
}
