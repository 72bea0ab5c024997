/* Threads: each part prints what is right whatever the order in which they run. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MANY 8

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *value(long x) { return (void *)(intptr_t)x; }

/* Counters: under a mutex, atomic, compared and swapped, under a lock of our own that spins. */
static long counted;
static _Atomic long added;
static _Atomic uint64_t swapped;
static _Atomic unsigned char lock;
static long locked;

static void *count(void *x) {
    long rounds = (long)(intptr_t)x;
    for (long i = 0; i < rounds; i++) {
        pthread_mutex_lock(&mutex);
        counted++;
        pthread_mutex_unlock(&mutex);
        atomic_fetch_add(&added, 1);
        uint64_t old = atomic_load(&swapped);
        while (!atomic_compare_exchange_weak(&swapped, &old, old * 5 + 1 - 4 * old)) {}
        while (atomic_exchange(&lock, 1)) {}
        locked++;
        atomic_store(&lock, 0);
    }
    return x;
}

static void counters(void) {
    pthread_t threads[MANY];
    for (long i = 0; i < MANY; i++) pthread_create(&threads[i], NULL, count, value(20000 + i));
    long sum = 0;
    for (int i = 0; i < MANY; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (long)(intptr_t)result;
    }
    printf("counted %ld added %ld swapped %ld locked %ld of %ld\n", counted, atomic_load(&added),
           (long)atomic_load(&swapped), locked, sum);
}

/* Producers and consumers: a ring under a condition, and a pipe that is read until it waits. */
static int ring[4], in, out, ways[2];
static pthread_cond_t room = PTHREAD_COND_INITIALIZER;

static void *produce(void *x) {
    for (int i = 1; i <= 3000; i++) {
        pthread_mutex_lock(&mutex);
        while (in - out == 4) pthread_cond_wait(&room, &mutex);
        ring[in++ % 4] = i;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&mutex);
    }
    return x;
}

static void *consume(void *x) {
    for (int i = 1; i <= 3000; i++) {
        pthread_mutex_lock(&mutex);
        while (in == out) pthread_cond_wait(&changed, &mutex);
        int got = ring[out++ % 4];
        pthread_cond_signal(&room);
        pthread_mutex_unlock(&mutex);
        write(ways[1], &got, sizeof got);
    }
    close(ways[1]);
    return x;
}

static void queues(void) {
    pthread_t producer, consumer;
    pipe(ways);
    pthread_create(&consumer, NULL, consume, NULL);
    pthread_create(&producer, NULL, produce, NULL);
    long sum = 0, times = 0;
    int got, order = 1;
    while (read(ways[0], &got, sizeof got) == sizeof got) {
        order &= got == ++times;
        sum += got;
    }
    pthread_join(producer, NULL);
    pthread_join(consumer, NULL);
    printf("pipe %ld times %ld in order %d\n", sum, times, order);
}

/* What each has of its own: variables, registers, floating point, the stack, keys, who it is, errno. */
static __thread long own = 7;
static pthread_key_t key;
static _Atomic int destroyed, ready;

static void destroy(void *x) { destroyed++; }

static long deep(int n) { return n == 0 ? own : deep(n - 1) + n; }

static void *separate(void *x) {
    long number = (long)(intptr_t)x;
    int right = own == 7;
    own = number;
    pthread_setspecific(key, value(number));
    double part = number / 3.0;
    ready++;
    while (ready < MANY) sched_yield();
    for (int i = 0; i < 300; i++) {
        errno = (int)number;
        part = part * 1.5 / 1.5;
        if (i % 50 == 0) usleep(100);
        right &= own == number && deep(30) == number + 465 && errno == number;
    }
    right &= pthread_getspecific(key) == value(number) && part > number / 3.1 && part < number / 2.9;
    right &= gettid() != getpid() && pthread_self() != 0;
    return value(right ? number : -1000);
}

static void separately(void) {
    pthread_t threads[MANY];
    pthread_key_create(&key, destroy);
    for (long i = 0; i < MANY; i++) pthread_create(&threads[i], NULL, separate, value(100 + i));
    long sum = 0;
    for (int i = 0; i < MANY; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (long)(intptr_t)result;
    }
    printf("own %ld of %d destroyed %d mine %ld\n", sum, 8 * 100 + 28, destroyed, own);
    printf("first %d\n", gettid() == getpid());
}

/* One waits in a call for what another, which computes first, sends. */
static int sides[2];

static void *compute(void *x) {
    volatile unsigned sum = 0;
    for (unsigned i = 0; i < 3000000; i++) sum += i;
    const char *text = sum == 3167741088u ? "computed" : "wrong";
    struct iovec {
        const void *at;
        size_t length;
    };
    write(sides[1], text, strlen(text));
    return x;
}

static void *receive(void *x) {
    char text[32] = "";
    recv(sides[0], text, sizeof text, 0);
    printf("received %s\n", text);
    return x;
}

static void waits(void) {
    pthread_t reader, writer;
    socketpair(AF_UNIX, SOCK_STREAM, 0, sides);
    pthread_create(&reader, NULL, receive, NULL);
    pthread_create(&writer, NULL, compute, NULL);
    pthread_join(reader, NULL);
    pthread_join(writer, NULL);
    sem_t semaphore;
    sem_init(&semaphore, 0, 1);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    printf("first %d", sem_timedwait(&semaphore, &until));
    int second = sem_timedwait(&semaphore, &until);
    printf(" second %d %d\n", second, errno == ETIMEDOUT);
}

/* A thread that spins for what another stores, both ways. */
static volatile int turn;

static void *spin(void *x) {
    for (int i = 0; i < 5; i++) {
        while (turn != 1) {}
        turn = 0;
    }
    return x;
}

static void spinning(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, spin, NULL);
    for (int i = 0; i < 5; i++) {
        turn = 1;
        while (turn != 0) {}
    }
    pthread_join(thread, NULL);
    printf("spun\n");
}

/* Signals: to one thread, to the process with one that does not block it, on a stack of its own. */
static _Atomic int handled[2], mine;
static _Atomic long who[2];
static _Atomic uintptr_t stood;
static char stack_of[1 << 16];

static void handle(int signal, siginfo_t *info, void *context) {
    int which = signal == SIGUSR2;
    who[which] = gettid();
    int here;
    stood = (uintptr_t)&here;
    handled[which]++;
}

static _Atomic int stops;

static void *sleeper(void *x) {
    *(_Atomic long *)x = gettid();
    stack_t stack = {.ss_sp = stack_of, .ss_size = sizeof stack_of};
    sigaltstack(&stack, NULL);
    int left = 0;
    while (!handled[0]) left = nanosleep(&(struct timespec){10, 0}, NULL);
    return value(left);
}

static void *open_one(void *x) {
    *(_Atomic long *)x = gettid();
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    while (!handled[1]) pause();
    sigset_t now;
    pthread_sigmask(0, NULL, &now);
    return value(sigismember(&now, SIGUSR2));
}

static void *waiter(void *x) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    int signal = 0;
    sigwait(&set, &signal);
    return value(signal);
}

static void signals(void) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_t one, two, three;
    _Atomic long first = 0, second = 0;
    void *result;
    pthread_create(&one, NULL, sleeper, &first);
    pthread_create(&two, NULL, open_one, &second);
    pthread_create(&three, NULL, waiter, NULL);
    while (!first || !second) usleep(1000);
    usleep(20000);
    printf("kill %d\n", pthread_kill(one, SIGUSR1));
    pthread_join(one, &result);
    int on = stood >= (uintptr_t)stack_of && stood < (uintptr_t)stack_of + sizeof stack_of;
    printf("to one %d interrupted %ld on its stack %d\n", who[0] == first, (long)(intptr_t)result, on);
    kill(getpid(), SIGUSR2);
    pthread_join(two, &result);
    printf("to the open one %d blocked %ld times %d\n", who[1] == second, (long)(intptr_t)result, handled[1]);
    kill(getpid(), SIGHUP);
    pthread_join(three, &result);
    printf("waited for %ld\n", (long)(intptr_t)result);
    stack_t stack;
    sigaltstack(NULL, &stack);
    printf("stack disabled here %d\n", stack.ss_flags == SS_DISABLE);
    int there = 0;
    for (int i = 0; i < 200 && (there = syscall(SYS_tgkill, getpid(), (pid_t)first, 0)) == 0; i++) usleep(10000);
    printf("gone %d\n", there == -1 && errno == ESRCH);
}

/* A fault is its own thread's. */
static __thread sigjmp_buf back;
static __thread int faults;

static void catch(int signal, siginfo_t *info, void *context) {
    faults++;
    siglongjmp(back, 1);
}

static void *faulty(void *x) {
    for (int i = 0; i < 10; i++)
        if (!sigsetjmp(back, 1)) *(volatile int *)0 = 1;
    return value(faults);
}

static void faulting(void) {
    struct sigaction action = {.sa_sigaction = catch, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    pthread_t threads[4];
    long sum = 0;
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, faulty, NULL);
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (long)(intptr_t)result;
    }
    printf("faults %ld mine %d\n", sum, faults);
}

/* Cancelled while it waits, and while it computes. */
static _Atomic int cleaned;

static void clean(void *x) { cleaned++; }

static void *in_read(void *x) {
    char byte;
    pthread_cleanup_push(clean, NULL);
    read(ways[0], &byte, 1);
    pthread_cleanup_pop(0);
    return x;
}

static void *in_loop(void *x) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    pthread_cleanup_push(clean, NULL);
    ready = 1;
    for (;;) {}
    pthread_cleanup_pop(0);
    return x;
}

static void cancelled(void) {
    pthread_t reader, looper;
    void *result;
    pipe(ways);
    ready = 0;
    pthread_create(&reader, NULL, in_read, NULL);
    pthread_create(&looper, NULL, in_loop, NULL);
    while (!ready) usleep(1000);
    usleep(10000);
    pthread_cancel(reader);
    pthread_join(reader, &result);
    printf("reader cancelled %d\n", result == PTHREAD_CANCELED);
    pthread_cancel(looper);
    pthread_join(looper, &result);
    printf("looper cancelled %d cleaned %d\n", result == PTHREAD_CANCELED, cleaned);
}

/* Locks: of readers and a writer, recursive, one whose holder ended, a barrier, once. */
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic int times, serial;
static pthread_mutex_t robust;
static long shared[2];

static void initialize(void) { times++; }

static void *hold(void *x) {
    pthread_mutex_lock(&robust);
    return x;
}

static void *take(void *x) {
    int wrong = 0;
    for (int i = 0; i < 500; i++) {
        if (i % 10 == 0) {
            pthread_rwlock_wrlock(&rwlock);
            shared[0]++;
            sched_yield();
            shared[1]++;
        } else {
            pthread_rwlock_rdlock(&rwlock);
            wrong += shared[0] != shared[1];
        }
        pthread_rwlock_unlock(&rwlock);
    }
    pthread_once(&once, initialize);
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) serial++;
    return value(wrong);
}

static void locks(void) {
    pthread_t threads[MANY];
    pthread_barrier_init(&barrier, NULL, MANY);
    long wrong = 0;
    for (long i = 0; i < MANY; i++) pthread_create(&threads[i], NULL, take, NULL);
    for (int i = 0; i < MANY; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong += (long)(intptr_t)result;
    }
    printf("written %ld wrong %ld once %d serial %d\n", shared[0], wrong, times, serial);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    pthread_create(&threads[0], NULL, hold, NULL);
    usleep(20000);
    int got = pthread_mutex_lock(&robust);
    printf("holder ended %d consistent %d\n", got == EOWNERDEAD, pthread_mutex_consistent(&robust));
    pthread_join(threads[0], NULL);
}

/* The kernel's own ways: words that threads go over from one to another, and that change as they are woken. */
static _Atomic int words[2], woken;

static void *at_word(void *x) {
    ready++;
    syscall(SYS_futex, &words[0], 0 | 128, 0, NULL, NULL, 0);
    woken++;
    return x;
}

static void futexes(void) {
    pthread_t threads[4];
    ready = 0;
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, at_word, NULL);
    while (ready < 4) usleep(1000);
    usleep(50000);
    printf("not %ld\n", syscall(SYS_futex, &words[0], 4 | 128, 1, (void *)10, &words[1], 77));
    printf("over %ld\n", syscall(SYS_futex, &words[0], 4 | 128, 1, (void *)1, &words[1], 0));
    /* Adds 5 to the second word, and wakes there too, as it was less than 3. */
    int how = 1 << 28 | 2 << 24 | 5 << 12 | 3;
    printf("both %ld\n", syscall(SYS_futex, &words[0], 5 | 128, 10, (void *)10, &words[1], how));
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("woken %d word %d\n", woken, words[1]);
    printf("kind %ld\n", syscall(SYS_futex, &words[0], 6 | 128, 0, NULL, NULL, 0));
}

/* A thousand, one after another and fifty at a time; nothing of them is left. */
static void *nothing(void *x) { return x; }

static int entries(const char *path) {
    DIR *directory = opendir(path);
    int count = 0;
    while (readdir(directory)) count++;
    closedir(directory);
    return count - 2;
}

static long resident(void) {
    char line[200];
    long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, file)) sscanf(line, "VmRSS: %ld", &kilobytes);
    fclose(file);
    return kilobytes;
}

static void thousand(void) {
    pthread_t threads[50];
    long sum = 0, before = 0;
    for (long i = 0; i < 1000; i += 50) {
        for (long j = 0; j < 50; j++)
            if (pthread_create(&threads[j], NULL, nothing, value(i + j))) printf("not started\n");
        for (long j = 0; j < 50; j++) {
            void *result;
            pthread_join(threads[j], &result);
            sum += (long)(intptr_t)result;
        }
        if (i == 100) before = resident();
    }
    int left = 0;
    for (int i = 0; i < 200 && (left = entries("/proc/self/task")) > 1; i++) usleep(10000);
    printf("sum %ld left %d grown %d\n", sum, left, resident() > before + 4096);
}

/* The end of a process, or of its first thread. */
static void *blocked(void *x) {
    char byte;
    read(ways[0], &byte, 1);
    return x;
}

static void *computing(void *x) {
    for (;;) {}
    return x;
}

static void *ends(void *x) {
    usleep(50000);
    switch ((long)(intptr_t)x) {
    case 0: _exit(42);
    case 1: *(volatile int *)0 = 1;
    case 2: abort();
    case 3: kill(getpid(), SIGTERM); pause();
    case 4: execl("/proc/self/exe", "again", "after", NULL);
    }
    return x;
}

static void ending(long how, int exits) {
    pthread_t thread;
    pipe(ways);
    pthread_create(&thread, NULL, blocked, NULL);
    pthread_create(&thread, NULL, computing, NULL);
    pthread_create(&thread, NULL, ends, value(how));
    if (exits) pthread_exit(NULL);
    blocked(NULL);
}

static void *last(void *x) {
    usleep(50000);
    printf("last\n");
    fflush(stdout);
    return x;
}

static void first_goes(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, last, NULL);
    pthread_exit(NULL);
}

static void while_others(void) {
    pthread_t thread;
    pipe(ways);
    pthread_create(&thread, NULL, blocked, NULL);
    pthread_create(&thread, NULL, computing, NULL);
    usleep(20000);
    exit(43);
}

/* A process made by a thread: it has that thread alone, which starts others there. */
static void *forks(void *x) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        printf("child first %d alone %d\n", gettid() == getpid(), entries("/proc/self/task"));
        counted = 0;
        counters();
        fflush(stdout);
        if (x) *(volatile int *)0 = 1;
        pthread_exit(NULL);
    }
    int status;
    waitpid(child, &status, 0);
    printf("child %d signal %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return x;
}

static void forking(void) {
    pthread_t other, loop, forker;
    pipe(ways);
    pthread_create(&other, NULL, blocked, NULL);
    pthread_create(&loop, NULL, computing, NULL);
    for (int i = 0; i < 2; i++) {
        pthread_create(&forker, NULL, forks, value(i));
        pthread_join(forker, NULL);
    }
    fflush(stdout);
    pthread_create(&forker, NULL, ends, value(0));
    pthread_join(forker, NULL);
}

/* What one waits for in a page that another removes is a fault, and no harm. */
static void removed(void) {
    pthread_t thread;
    pipe(ways);
    static char *page;
    page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long result;
    void *reads(void *x) { return value(read(ways[0], page, 8)); }
    pthread_create(&thread, NULL, reads, NULL);
    usleep(50000);
    munmap(page, 8192);
    write(ways[1], "12345678", 8);
    pthread_join(thread, NULL);
    char *again = mmap(page, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("same %d zero %d\n", again == page, again[0] == 0 && again[7] == 0);
}

/* What the library does with signals of its own: a timer that calls a function, a user that all threads change to. */
static void call(union sigval value) {
    pthread_mutex_lock(&mutex);
    times += value.sival_int;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
}

static void library(void) {
    pthread_t thread;
    pipe(ways);
    pthread_create(&thread, NULL, blocked, NULL);
    pthread_create(&thread, NULL, computing, NULL);
    usleep(20000);
    printf("user %d group %d\n", setreuid(-1, geteuid()), setregid(-1, getegid()));
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_value.sival_int = 3};
    event.sigev_notify_function = call;
    timer_t timer;
    struct itimerspec when = {{0, 10000000}, {0, 10000000}};
    printf("timer %d", timer_create(CLOCK_MONOTONIC, &event, &timer));
    printf(" %d\n", timer_settime(timer, 0, &when, NULL));
    pthread_mutex_lock(&mutex);
    while (times < 15) pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    printf("called\n");
    fflush(stdout);
    _exit(0);
}

/* Signals upon signals at threads in calls, which are made again. */
static _Atomic long storms, stopped;

static void storm(int signal) { storms++; }

static void *echo(void *x) {
    int *pair = x, got, errors = 0;
    for (int i = 0; i < 300; i++) {
        if (read(pair[0], &got, sizeof got) != sizeof got || got != i) errors++;
        if (write(pair[0], &got, sizeof got) != sizeof got) errors++;
    }
    return value(errors);
}

static void *shoot(void *x) {
    pthread_t *threads = x;
    while (!stopped) {
        for (int i = 0; i < 3; i++) pthread_kill(threads[i], SIGUSR1);
        kill(getpid(), SIGUSR2);
        usleep(200);
    }
    return NULL;
}

static void storming(void) {
    struct sigaction action = {.sa_handler = storm, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    pthread_t threads[4];
    int pairs[3][2], got;
    long errors = 0;
    for (int i = 0; i < 3; i++) {
        socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]);
        pthread_create(&threads[i], NULL, echo, pairs[i]);
    }
    pthread_create(&threads[3], NULL, shoot, threads);
    /* On a busy machine the messages could be through before the first signal. */
    for (int i = 0; i < 50000 && storms <= 20; i++) usleep(200);
    for (int i = 0; i < 300; i++)
        for (int j = 0; j < 3; j++) {
            if (write(pairs[j][1], &i, sizeof i) != sizeof i) errors++;
            if (read(pairs[j][1], &got, sizeof got) != sizeof got || got != i) errors++;
        }
    stopped = 1;
    pthread_join(threads[3], NULL);
    for (int i = 0; i < 3; i++) {
        void *result;
        pthread_join(threads[i], &result);
        errors += (long)(intptr_t)result;
    }
    printf("errors %ld stormed %d\n", errors, storms > 20);
}

static void limits(void) {
    pthread_t thread;
    struct sigaction action = {.sa_handler = storm};
    printf("own signal %d", sigaction(64, &action, NULL));
    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);
    printf(" %d %d\n", sigaction(64, &action, NULL), errno == EINVAL);
    printf("kinds %ld %d", syscall(SYS_clone, 0x100 | SIGCHLD, 1 << 20, 0, 0, 0), errno == EINVAL);
    printf(" %ld %d\n", syscall(SYS_clone, 0x10000, 1 << 20, 0, 0, 0), errno == EINVAL);
}

static const struct {
    const char *name;
    void (*run)(void);
} PARTS[] = {{"counters", counters},   {"queues", queues},   {"own", separately}, {"waits", waits},
             {"spin", spinning},       {"signals", signals}, {"faults", faulting}, {"cancel", cancelled},
             {"locks", locks},         {"futexes", futexes}, {"thousand", thousand}, {"first", first_goes},
             {"others", while_others}, {"fork", forking},    {"removed", removed}, {"limits", limits},
             {"library", library},     {"storm", storming}};

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[0], "again")) return printf("again %s\n", argv[1]), 44;
    for (int i = 0; argc > 1 && i < sizeof PARTS / sizeof *PARTS; i++)
        if (!strcmp(argv[1], PARTS[i].name)) PARTS[i].run();
    if (argc > 2 && !strcmp(argv[1], "end")) ending(atol(argv[2]), argc > 3);
    fflush(stdout);
    return 0;
}
