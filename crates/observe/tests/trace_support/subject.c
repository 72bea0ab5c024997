// A program that uses AES instructions, checks what they compute, and does what is hard for a tracer.
//
// It prints one line of numbers, and ends with 0 if all was right.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <immintrin.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define AES __attribute__((target("aes,sse2"), noinline))

AES __m128i encrypt(__m128i b, const __m128i *k) {
  b = _mm_xor_si128(b, k[0]);
  for (int i = 1; i < 10; i++) b = _mm_aesenc_si128(b, k[i]);
  return _mm_aesenclast_si128(b, k[10]);
}

AES __m128i decrypt(__m128i b, const __m128i *k) {
  b = _mm_xor_si128(b, k[10]);
  for (int i = 9; i > 0; i--) b = _mm_aesdec_si128(b, _mm_aesimc_si128(k[i]));
  return _mm_aesdeclast_si128(b, k[0]);
}

AES static int round_trips(int count, int seed) {
  __m128i k[11], x, first;
  __asm__ volatile("" : "+r"(seed));  // Each call is made.
  x = _mm_set_epi32(1, 2, 3, seed);
  for (int i = 0; i < 11; i++) k[i] = _mm_set_epi32(i * 77 + 1, i ^ 0x55, seed, i * i);
  first = x;
  for (int i = 0; i < count; i++) x = encrypt(x, k);
  for (int i = 0; i < count; i++) x = decrypt(x, k);
  return memcmp(&x, &first, 16) != 0;
}

// Where the program's own code is. Whoever is interrupted must be there, as far as it can see.
static struct { uintptr_t start, end; } code[64];
static int codes;

static void learn_code(void) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[512], rights[8];
  while (maps && fgets(line, sizeof line, maps) && codes < 64)
    if (sscanf(line, "%lx-%lx %7s", &code[codes].start, &code[codes].end, rights) == 3 && strchr(rights, 'x')) codes++;
  if (maps) fclose(maps);
}

static int is_own_code(uintptr_t at) {
  for (int i = 0; i < codes; i++)
    if (at >= code[i].start && at < code[i].end) return 1;
  return 0;
}

static uintptr_t at(void *context) { return ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP]; }

static volatile sig_atomic_t stop;
static long signals, wrong, strange, calls;

static void tick(int number, siginfo_t *info, void *context) {
  (void)number, (void)info;
  __atomic_add_fetch(&signals, 1, __ATOMIC_RELAXED);
  if (!is_own_code(at(context))) __atomic_add_fetch(&strange, 1, __ATOMIC_RELAXED);
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *)) {
  struct sigaction action = {0};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(number, &action, 0);
}

static void *work(void *seed) {
  while (!stop) {
    if (round_trips(100, (int)(long)seed)) __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&calls, 200, __ATOMIC_RELAXED);
  }
  return 0;
}

// True if the time is over. Where none is given ("told"), it is over when standard input is closed, or after minutes in
// which nobody did that.
static int is_over(const char *seconds, const struct timespec *from) {
  struct timespec now;
  struct pollfd input = {.fd = 0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  double since = now.tv_sec - from->tv_sec + (now.tv_nsec - from->tv_nsec) / 1e9;
  if (strcmp(seconds, "told")) return since >= atof(seconds);
  return (poll(&input, 1, 0) == 1 && input.revents & POLLHUP) || since >= 300;
}

// Threads that encrypt while signals come.
static int do_work(const char *seconds, int threads, int period) {
  pthread_t ids[16];
  struct itimerval timer = {{0, period}, {0, period}}, none = {{0, 0}, {0, 0}};
  struct timespec from;
  handle(SIGPROF, tick), handle(SIGALRM, tick);
  setitimer(ITIMER_PROF, &timer, 0), setitimer(ITIMER_REAL, &timer, 0);
  for (long i = 0; i < threads; i++) pthread_create(&ids[i], 0, work, (void *)i);
  clock_gettime(CLOCK_MONOTONIC, &from);
  do usleep(2000);
  while (!is_over(seconds, &from));
  stop = 1;
  for (int i = 0; i < threads; i++) pthread_join(ids[i], 0);
  setitimer(ITIMER_PROF, &none, 0), setitimer(ITIMER_REAL, &none, 0);
  return wrong || strange;
}

// Children of fork and vfork, while a thread goes on encrypting: as many as said, or until told.
static int do_forks(const char *count, char *self) {
  pthread_t id;
  struct timespec from;
  clock_gettime(CLOCK_MONOTONIC, &from);
  pthread_create(&id, 0, work, (void *)1);
  for (int i = 0; strcmp(count, "told") ? i < atoi(count) : !is_over(count, &from); i++) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) _exit(round_trips(10, i));
    if (child < 0 || waitpid(child, &status, 0) != child || status) wrong++;
    child = vfork();
    if (child == 0) {
      if (i % 4 == 0) execl(self, self, "execs", "0", (char *)0);
      _exit(round_trips(10, i));
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status) wrong++;
    calls += 20;
  }
  stop = 1;
  pthread_join(id, 0);
  return wrong != 0;
}

// A child of vfork that computes for a while in its parent's memory.
static int do_borrows(const char *seconds) {
  int status = 0;
  pid_t child = vfork();
  if (child == 0) {
    struct timespec from;
    int bad = 0;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do
      for (int i = 0; i < 1000; i++) bad |= round_trips(10, i);
    while (!is_over(seconds, &from));
    _exit(bad);
  }
  wrong += child < 0 || waitpid(child, &status, 0) != child || status != 0;
  wrong += round_trips(100, 1);
  return wrong != 0;
}

// A child of a process that nobody may look into any more.
static int do_hides(void) {
  int status = 0;
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  pid_t child = fork();
  if (child == 0) _exit(round_trips(100, 1) || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0);
  wrong += waitpid(child, &status, 0) != child || status != 0;
  return wrong != 0;
}

// A chain of programs.
static int do_execs(int left, char *self) {
  char number[16];
  wrong += round_trips(10, left);
  snprintf(number, sizeof number, "%d", left - 1);
  if (left > 0) execl(self, self, "execs", number, (char *)0);
  return wrong != 0;
}

// A library that comes late.
static int do_loads(int milliseconds) {
  usleep(1000 * milliseconds);
  void *library = dlopen("libcrypto.so.3", RTLD_NOW);
  if (!library) return 77;
  unsigned char *(*sha256)(const void *, size_t, unsigned char *) = dlsym(library, "SHA256");
  unsigned char digest[32];
  sha256("abc", 3, digest);
  wrong += digest[0] != 0xba || digest[31] != 0xad;
  return wrong != 0;
}

// A function whose first instruction can fault, and one that the program traps into by itself.
__attribute__((naked, noinline)) int load(const int *from) {
  (void)from;
  __asm__("movl (%rdi), %eax\n pxor %xmm0, %xmm0\n aesenc %xmm0, %xmm0\n ret");
}

static volatile long traps, faults;
static sigjmp_buf back;

static void on_trap(int number, siginfo_t *info, void *context) {
  (void)number, (void)info;
  traps++;
  if (!is_own_code(at(context))) strange++;
}

static void on_fault(int number, siginfo_t *info, void *context) {
  (void)number;
  faults++;
  if (at(context) != (uintptr_t)load || info->si_addr != 0) strange++;
  siglongjmp(back, 1);
}

static int do_traps(int count) {
  int five = 5;
  handle(SIGTRAP, on_trap), handle(SIGSEGV, on_fault);
  for (int i = 0; i < count; i++) {
    __asm__ volatile("int3");
    raise(SIGTRAP);
    if (load(&five) != 5) wrong++;
    if (sigsetjmp(back, 1) == 0) {
      load(0);
      wrong++;
    }
    wrong += round_trips(1, i);
  }
  struct sigaction action = {0};
  action.sa_handler = SIG_IGN;
  sigaction(SIGTRAP, &action, 0);
  raise(SIGTRAP);
  sigaction(SIGTRAP, 0, &action);
  wrong += action.sa_handler != SIG_IGN;
  if (traps != 2 * count || faults != count) wrong++;
  calls = traps;
  return wrong || strange;
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  int result = 2;
  learn_code();
  if (!strcmp(what, "work") && argc == 5) result = do_work(argv[2], atoi(argv[3]), atoi(argv[4]));
  if (!strcmp(what, "forks") && argc == 3) result = do_forks(argv[2], argv[0]);
  if (!strcmp(what, "borrows") && argc == 3) result = do_borrows(argv[2]);
  if (!strcmp(what, "hides")) result = do_hides();
  if (!strcmp(what, "execs") && argc == 3) result = do_execs(atoi(argv[2]), argv[0]);
  if (!strcmp(what, "loads") && argc == 3) result = do_loads(atoi(argv[2]));
  if (!strcmp(what, "traps") && argc == 3) result = do_traps(atoi(argv[2]));
  printf("calls %ld wrong %ld strange %ld signals %ld\n", calls, wrong, strange, signals);
  return result;
}
