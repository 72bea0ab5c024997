/* What processes have together: System V's segments, semaphores and queues, by the multiplexer and by their own numbers, POSIX's
   queues, and semaphores in shared memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

union value { int val; struct semid_ds *buf; unsigned short *array; struct seminfo *info; };
struct message { long type; char text[64]; };

/* The result, and the error if there is one. */
static long told(const char *what, long result) {
    printf("%s %ld errno %d\n", what, result < 0 ? -1 : result, result < 0 ? errno : 0);
    fflush(stdout);
    return result;
}
static int attached(int segment) {
    struct shmid_ds state;
    return shmctl(segment, IPC_STAT, &state) ? -1 : (int)state.shm_nattch;
}

static void segments(int direct) {
    long page = sysconf(_SC_PAGESIZE);
    int segment = direct ? syscall(SYS_shmget, IPC_PRIVATE, 3 * page - 100, IPC_CREAT | 0640)
                         : shmget(IPC_PRIVATE, 3 * page - 100, IPC_CREAT | 0640);
    char *one = direct ? (char *)syscall(SYS_shmat, segment, 0, 0) : shmat(segment, NULL, 0);
    char *two = shmat(segment, NULL, SHM_RDONLY);
    printf("segment %d %d %d\n", segment >= 0, one != (void *)-1, two != (void *)-1);
    struct shmid_ds state;
    memset(&state, 7, sizeof state);
    told("stat", direct ? syscall(SYS_shmctl, segment, IPC_STAT, &state) : shmctl(segment, IPC_STAT, &state));
    printf("size %ld mode %o own %d creator %d last %d attached %ld when %d %d key %d\n", (long)state.shm_segsz,
           state.shm_perm.mode, state.shm_perm.uid == geteuid(), state.shm_cpid == getpid(), state.shm_lpid == getpid(),
           (long)state.shm_nattch, labs(state.shm_atime - time(NULL)) < 100, labs(state.shm_ctime - time(NULL)) < 100,
           state.shm_perm.__key);
    strcpy(one, "before");
    *(volatile long *)(one + 2 * page) = 5;
    fflush(stdout);
    if (fork() == 0) {
        while (*(volatile char *)(two) != 'g') usleep(1000); /* the parent writes after this began */
        strcpy(one + 100, "by the child");
        _exit(attached(segment));
    }
    strcpy(one, "go");
    int status;
    wait(&status);
    printf("child %d saw %s %ld\n", WEXITSTATUS(status), one + 100, *(long *)(two + 2 * page));
    told("protect", mprotect(two, page, PROT_READ | PROT_WRITE));
    state.shm_perm.mode = 0600;
    told("set", shmctl(segment, IPC_SET, &state));
    told("detach", direct ? syscall(SYS_shmdt, two) : shmdt(two));
    printf("attached %d\n", attached(segment));
    told("detach again", shmdt(two));
    told("remove", direct ? syscall(SYS_shmctl, segment, IPC_RMID, 0) : shmctl(segment, IPC_RMID, NULL));
    told("stat removed", shmctl(segment, IPC_STAT, &state));
    printf("mode %o\n", state.shm_perm.mode & 01777);
    /* Mapping something else there lets go, too, and the segment is gone. */
    char *other = mmap(one, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    printf("other %d %d\n", other == one, one[0]);
    told("stat gone", shmctl(segment, IPC_STAT, &state));
    told("attach gone", (long)shmat(segment, NULL, 0));
    segment = shmget(IPC_PRIVATE, page, IPC_CREAT | 0600);
    told("occupied", (long)shmat(segment, other, 0));
    told("odd", (long)shmat(segment, (char *)(((long)other & ~0xffffL) + 0x40000000) + 100, 0));
    char *place = (char *)(((long)other & ~0xffffL) + 0x40000000);
    printf("round %d\n", shmat(segment, place + 100, SHM_RND) == place);
    printf("remap %d", shmat(segment, place, SHM_REMAP) == place);
    printf(" attached %d\n", attached(segment));
    shmctl(segment, IPC_RMID, NULL);
    told("no such", shmget(0x4d5a0001, page, 0));
}

static void semaphores(int direct) {
    int set = direct ? syscall(SYS_semget, IPC_PRIVATE, 3, IPC_CREAT | 0600) : semget(IPC_PRIVATE, 3, IPC_CREAT | 0600);
    unsigned short values[3] = {1, 0, 300};
    union value value = {.array = values};
    told("setall", direct ? syscall(SYS_semctl, set, 0, SETALL, values) : semctl(set, 0, SETALL, value));
    value.val = 7;
    told("setval", direct ? syscall(SYS_semctl, set, 1, SETVAL, (unsigned long)7 << 32) : semctl(set, 1, SETVAL, value));
    memset(values, 0, sizeof values);
    value.array = values;
    semctl(set, 0, GETALL, value);
    printf("values %d %d %d\n", values[0], values[1], values[2]);
    struct sembuf both[2] = {{0, -1, 0}, {2, -100, SEM_UNDO}};
    told("semop", semop(set, both, 2));
    printf("now %d %d pid %d\n", semctl(set, 0, GETVAL), semctl(set, 2, GETVAL), semctl(set, 2, GETPID) == getpid());
    struct sembuf wait_for = {0, -1, 0}, no = {0, -1, IPC_NOWAIT};
    told("nowait", semop(set, &no, 1));
    struct timespec soon = {0, 20000000};
    told("timed", direct ? syscall(SYS_semtimedop, set, &wait_for, 1, &soon) : semtimedop(set, &wait_for, 1, &soon));
    fflush(stdout);
    if (fork() == 0) {
        struct sembuf raise = {0, 1, 0}, undone = {1, -5, SEM_UNDO};
        semop(set, &undone, 1);
        semop(set, &raise, 1);
        _exit(0);
    }
    told("waited", semop(set, &wait_for, 1));
    wait(NULL);
    printf("undone %d\n", semctl(set, 1, GETVAL));
    struct semid_ds state;
    value.buf = &state;
    told("stat", semctl(set, 0, IPC_STAT, value));
    printf("%d semaphores mode %o when %d %d\n", (int)state.sem_nsems, state.sem_perm.mode,
           labs(state.sem_otime - time(NULL)) < 100, labs(state.sem_ctime - time(NULL)) < 100);
    state.sem_perm.mode = 0400;
    told("set", semctl(set, 0, IPC_SET, value));
    struct seminfo info;
    value.info = &info;
    printf("info %d %d\n", semctl(set, 0, IPC_INFO, value) >= 0, info.semmsl >= 3 && info.semvmx == 32767);
    told("too many", semop(set, both, 100000));
    told("remove", semctl(set, 0, IPC_RMID));
    told("gone", semop(set, both, 1));
}

static void messages(int direct) {
    int queue = direct ? syscall(SYS_msgget, IPC_PRIVATE, IPC_CREAT | 0600) : msgget(IPC_PRIVATE, IPC_CREAT | 0600);
    struct message message = {3, "third"};
    told("send", direct ? syscall(SYS_msgsnd, queue, &message, 6, 0) : msgsnd(queue, &message, 6, 0));
    message.type = 0x123456789aL;
    strcpy(message.text, "long");
    told("send", msgsnd(queue, &message, 5, IPC_NOWAIT));
    struct msqid_ds state;
    told("stat", direct ? syscall(SYS_msgctl, queue, IPC_STAT, &state) : msgctl(queue, IPC_STAT, &state));
    printf("%d messages, %d bytes, from %d, mode %o\n", (int)state.msg_qnum, (int)state.__msg_cbytes, state.msg_lspid == getpid(),
           state.msg_perm.mode);
    state.msg_qbytes = 1000;
    told("set", msgctl(queue, IPC_SET, &state));
    memset(&message, 0, sizeof message);
    told("short", msgrcv(queue, &message, 2, 0, 0));
    told("not third", msgrcv(queue, &message, 64, 3, MSG_EXCEPT));
    printf("type %lx %s\n", message.type, message.text);
    told("cut", direct ? syscall(SYS_msgrcv, queue, &message, 2, -5L, MSG_NOERROR) : msgrcv(queue, &message, 2, -5, MSG_NOERROR));
    printf("type %lx %.2s\n", message.type, message.text);
    told("none", msgrcv(queue, &message, 64, 0, IPC_NOWAIT));
    message.type = 0;
    told("no type", msgsnd(queue, &message, 1, 0));
    fflush(stdout);
    if (fork() == 0) {
        message.type = 9;
        msgsnd(queue, &message, 1, 0);
        _exit(0);
    }
    told("waited", msgrcv(queue, &message, 64, 9, 0));
    wait(NULL);
    told("remove", msgctl(queue, IPC_RMID, NULL));
}

static volatile int notified;
static void notify(int signal, siginfo_t *info, void *context) {
    notified = signal * 1000 + info->si_value.sival_int + (info->si_code == SI_MESGQ ? 100 : 0);
}

static void posix(void) {
    char name[40], text[300];
    snprintf(name, sizeof name, "/millstream-%d", getpid());
    struct mq_attr wanted = {0, 4, 100}, have;
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &wanted);
    printf("queue %d cloexec %d\n", queue >= 0, fcntl(queue, F_GETFD));
    told("again", mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &wanted));
    told("none", mq_open("/millstream-none", O_RDONLY));
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = notify;
    sigaction(SIGUSR1, &action, NULL);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    event.sigev_value.sival_int = 42;
    told("notify", mq_notify(queue, &event));
    told("send", mq_send(queue, "first", 5, 1));
    printf("notified %d\n", notified);
    told("send", mq_send(queue, "second", 6, 9));
    mq_getattr(queue, &have);
    printf("flags %lx most %ld size %ld now %ld\n", have.mq_flags, have.mq_maxmsg, have.mq_msgsize, have.mq_curmsgs);
    unsigned priority;
    long count = told("receive", mq_receive(queue, text, sizeof text, &priority));
    printf("%.*s %u\n", (int)count, text, priority);
    told("small", mq_receive(queue, text, 50, &priority));
    count = told("receive", mq_receive(queue, text, sizeof text, &priority));
    printf("%.*s %u\n", (int)count, text, priority);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    told("timed", mq_timedreceive(queue, text, sizeof text, &priority, &until));
    have.mq_flags = O_NONBLOCK;
    told("set", mq_setattr(queue, &have, &wanted));
    told("nonblocking", mq_receive(queue, text, sizeof text, &priority));
    mq_getattr(queue, &have);
    printf("flags %d, before %lx\n", have.mq_flags == O_NONBLOCK, wanted.mq_flags);
    told("unlink", mq_unlink(name));
    told("gone", mq_unlink(name));
}

/* Two processes that count in the same place, each as often: nothing is lost, and who waits is woken. */
static void together(void) {
    struct common { sem_t ready, done; pthread_mutex_t mutex; volatile long counted, swapped, locked; volatile unsigned char lock; };
    struct common *c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sem_init(&c->ready, 1, 0);
    sem_init(&c->done, 1, 0);
    pthread_mutexattr_t shared;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&c->mutex, &shared);
    fflush(stdout);
    int parent = fork() != 0;
    if (parent) sem_wait(&c->ready); else { usleep(20000); sem_post(&c->ready); }
    for (int i = 0; i < 20000; i++) {
        __atomic_add_fetch(&c->counted, 1, __ATOMIC_SEQ_CST);
        if (i % 10) continue;
        pthread_mutex_lock(&c->mutex);
        c->swapped++;
        pthread_mutex_unlock(&c->mutex);
        while (__atomic_test_and_set(&c->lock, __ATOMIC_ACQUIRE)) usleep(1);
        c->locked++;
        __atomic_clear(&c->lock, __ATOMIC_RELEASE);
    }
    if (!parent) { usleep(20000); sem_post(&c->done); _exit(0); }
    sem_wait(&c->done);
    wait(NULL);
    printf("counted %ld under a mutex %ld under a lock %ld\n", c->counted, c->swapped, c->locked);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec = (until.tv_nsec + 1000000) % 1000000000;
    until.tv_sec++;
    told("nobody", sem_timedwait(&c->done, &until));
}

int main(int argc, char **argv) {
    int direct = argc > 1 && strcmp(argv[1], "direct") == 0;
    segments(direct);
    semaphores(direct);
    messages(direct);
    posix();
    together();
    return 0;
}
