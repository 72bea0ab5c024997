/* Signals: raised, from a timer, and from instructions that trap. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t seen[32];
static sigjmp_buf place;

static void count(int number)
{
	seen[number]++;
}

static void told(int number, siginfo_t *info, void *context)
{
	(void)context;
	seen[number]++;
	printf("signal %d code %d address %p\n", number, info->si_code, number == SIGSEGV ? info->si_addr : NULL);
	siglongjmp(place, number);
}

static void install(int number, void (*simple)(int), void (*full)(int, siginfo_t *, void *))
{
	struct sigaction action;
	memset(&action, 0, sizeof action);
	if (simple)
		action.sa_handler = simple;
	else
		action.sa_sigaction = full, action.sa_flags = SA_SIGINFO;
	sigaction(number, &action, NULL);
}

/* Values in many registers, which a handler must not change. */
static long busy(void)
{
	long a = 1, b = 2, c = 3, d = 4;
	double x = 1, y = 2;
	while (seen[SIGALRM] < 3) {
		a += b, b ^= c, c += d, d = a - b;
		x = x * 0.5 + y, y = y * 0.5 - x;
	}
	return a * 0 + b * 0 + c * 0 + d * 0 + (x == x) + (y == y);
}

int main(void)
{
	install(SIGUSR1, count, NULL);
	install(SIGALRM, count, NULL);
	install(SIGSEGV, NULL, told);
	install(SIGILL, NULL, told);
	raise(SIGUSR1);
	kill(getpid(), SIGUSR1);
	printf("%d\n", (int)seen[SIGUSR1]);
	sigset_t set, old;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &old);
	raise(SIGUSR1);
	printf("blocked %d\n", (int)seen[SIGUSR1]);
	sigprocmask(SIG_SETMASK, &old, NULL);
	printf("delivered %d\n", (int)seen[SIGUSR1]);
	struct itimerval every = {{0, 5000}, {0, 5000}}, never = {{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &every, NULL);
	printf("busy %ld\n", busy());
	setitimer(ITIMER_REAL, &never, NULL);
	fflush(stdout);
	if (sigsetjmp(place, 1) == 0)
		*(volatile int *)8 = 1;
	if (sigsetjmp(place, 1) == 0)
		__asm__ volatile("illtrap 0");
	printf("%d %d\n", (int)seen[SIGSEGV], (int)seen[SIGILL]);
	return 3;
}
