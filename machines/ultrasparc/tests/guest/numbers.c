/* Floating point: single, double and quad, roundings and exceptions, printed and read again. */
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 2463534242u;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static double any(void)
{
	uint64_t bits = next();
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static void round_trip(void)
{
	char text[64];
	for (int i = 0; i < 300; i++) {
		double value = any();
		if (value != value)
			continue;
		snprintf(text, sizeof text, "%.17g", value);
		printf("%s %d %a %.3e %g\n", text, strtod(text, NULL) == value, value, value, (double)(float)value);
	}
}

static void quads(void)
{
	volatile long double third = 1.0L / 3.0L, big = 1e4000L, two = 2;
	printf("%.40Lg %.40Lg %.40Lg\n", third, big * third, sqrtl(two));
	printf("%.36Lg %.36Lg %.36Lg\n", sinl(third), expl(third), logl(big));
	printf("%.36Lg %La\n", powl(third, 17.5L), third);
	for (int i = 0; i < 100; i++) {
		volatile long double a = any(), b = any();
		long long whole = (long long)(a / 3e290L);
		printf("%.34Lg %.34Lg %.34Lg %.34Lg %d %d %d %lld\n", a + b, a - b, a * b, a / b, a < b, a == b, a >= b,
		       fabsl(a) < 1e300L ? whole : 0);
	}
	printf("%.34Lg\n", strtold("3.14159265358979323846264338327950288419716939937510582097", NULL));
}

static void roundings(void)
{
	static const int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
	for (int m = 0; m < 4; m++) {
		fesetround(modes[m]);
		feclearexcept(FE_ALL_EXCEPT);
		volatile double one = 1, three = 3, huge = 1e308, tiny = 1e-308;
		volatile float single = 16777217.0;
		printf("%a %a %a", one / three, -one / three, (double)(float)(one / three));
		printf(" %x", fetestexcept(FE_ALL_EXCEPT));
		printf(" %a %a", huge * 10, -huge * 10);
		printf(" %x", fetestexcept(FE_ALL_EXCEPT));
		printf(" %a %a %a", tiny / 1e10, -tiny / 1e10, (double)single);
		printf(" %x", fetestexcept(FE_ALL_EXCEPT));
		printf(" %g %ld %g %a\n", rint(2.5), lrint(-3.5), nearbyint(0.5), sqrt(three));
	}
	fesetround(FE_TONEAREST);
}

int main(void)
{
	round_trip();
	quads();
	roundings();
	volatile double zero = 0, big = 1e30;
	feclearexcept(FE_ALL_EXCEPT);
	printf("%g %g %d %d\n", 1 / zero, -1 / zero, isnan(zero / zero), (int)(big > 1e29));
	printf("%x\n", fetestexcept(FE_ALL_EXCEPT));
	double total = 0;
	float small = 0;
	for (int i = 1; i < 100000; i++) {
		total += sin(i) * cos(i / 3.0) / sqrt(i) + (double)(i % 7) / 3;
		small += 1.0f / (float)i;
	}
	printf("%.17g %.9g %.17g %.17g\n", total, small, fma(total, total, -1e10), hypot(total, 3));
	for (int i = -5; i < 6; i++)
		printf("%d %u %ld %g %g\n", (int)(i * 1.7), (unsigned)(i * i * 1e8), (long)(i * 1e15), (double)(i * 1000003L),
		       (double)(uint64_t)(i + 5ul) * 1e18);
	return 0;
}
