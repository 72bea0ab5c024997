/* Descriptors that the kernel fills with numbers; what processes and files are to the kernel; capabilities. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/klog.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* The result, and the error if there is one. */
static long told(const char *what, long result) {
    printf("%s %ld errno %d\n", what, result < 0 ? -1 : result, result < 0 ? errno : 0);
    fflush(stdout);
    return result;
}

static void show(const struct signalfd_siginfo *info) {
    printf("signal %u code %d errno %d own %d user %d int %d ptr %lx status %d\n", info->ssi_signo, info->ssi_code, info->ssi_errno,
           info->ssi_pid == getpid(), info->ssi_uid == getuid(), info->ssi_int, (long)info->ssi_ptr, info->ssi_status);
}

static void signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGRTMIN + 1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    printf("signalfd %d %d %d\n", fd >= 0, fcntl(fd, F_GETFD), !!(fcntl(fd, F_GETFL) & O_NONBLOCK));
    struct signalfd_siginfo info[4];
    memset(info, 9, sizeof info);
    told("none", read(fd, info, sizeof info));
    /* One that waits since before. */
    kill(getpid(), SIGUSR1);
    told("read", read(fd, info, sizeof info) == sizeof *info);
    show(info);
    union sigval value = {.sival_int = 77};
    sigqueue(getpid(), SIGRTMIN + 1, value);
    value.sival_ptr = (void *)0x123456789abcdefL;
    sigqueue(getpid(), SIGRTMIN + 1, value);
    struct iovec pieces[2] = {{info, 100}, {(char *)info + 100, sizeof info - 100}};
    told("two", readv(fd, pieces, 2) == 2 * sizeof *info);
    /* sival_int and sival_ptr are one place: both are shown. */
    printf("%u %d %x; %u %d %lx\n", info[0].ssi_signo == SIGRTMIN + 1, info[0].ssi_code, info[0].ssi_int, info[1].ssi_signo == SIGRTMIN + 1,
           info[1].ssi_code, (long)info[1].ssi_ptr);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) raise(SIGKILL);
    waitpid(child, NULL, 0);
    told("child", read(fd, info, sizeof info) == sizeof *info);
    printf("signal %u code %d status %d of %d\n", info->ssi_signo, info->ssi_code, info->ssi_status, info->ssi_pid == child);
    fflush(stdout);
    if ((child = fork()) == 0) _exit(30);
    waitpid(child, NULL, 0);
    read(fd, info, sizeof info);
    printf("signal %u code %d status %d\n", info->ssi_signo, info->ssi_code, info->ssi_status);
    /* Another set in the same descriptor, and a copy of it. */
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    told("changed", signalfd(fd, &set, 0) == fd);
    int copy = dup(fd);
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGUSR2);
    int poller = epoll_create1(0);
    struct epoll_event event = {EPOLLIN, {.fd = 7}};
    epoll_ctl(poller, EPOLL_CTL_ADD, copy, &event);
    told("ready", epoll_wait(poller, &event, 1, 1000));
    told("copy", read(copy, info, sizeof info) == sizeof *info);
    printf("signal %u\n", info->ssi_signo);
    sigset_t pending;
    sigpending(&pending);
    printf("pending %d %d\n", sigismember(&pending, SIGUSR1), sigismember(&pending, SIGUSR2));
    told("wrong size", syscall(SYS_signalfd4, -1, &set, 16, 0));
    told("old", syscall(SYS_signalfd, -1, &set, 8) >= 0);
    close(fd);
    close(copy);
}

static void numbers(void) {
    uint64_t value = 0;
    int event = eventfd(3, 0);
    read(event, &value, 8);
    printf("event %ld\n", (long)value);
    for (value = 200; value < 203; value++) write(event, &value, 8);
    struct iovec piece = {&value, 8};
    readv(event, &piece, 1);
    printf("event %ld\n", (long)value);
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec soon = {{0, 0}, {0, 1000000}};
    timerfd_settime(timer, 0, &soon, NULL);
    read(timer, &value, 8);
    printf("timer %ld\n", (long)value);
    /* One that comes from another process. */
    int ends[2];
    socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
    fflush(stdout);
    char byte = 0, control[CMSG_SPACE(sizeof(int))];
    piece = (struct iovec){&byte, 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    if (fork() == 0) {
        int given = eventfd(9, 0);
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &given, sizeof given);
        _exit(sendmsg(ends[0], &message, 0) != 1);
    }
    recvmsg(ends[1], &message, 0);
    wait(NULL);
    memcpy(&event, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof event);
    read(event, &value, 8);
    printf("given %ld\n", (long)value);
    int watcher = inotify_init1(IN_NONBLOCK);
    mkdir("watched", 0700);
    int watch = inotify_add_watch(watcher, "watched", IN_CREATE | IN_DELETE);
    close(open("watched/one", O_CREAT | O_WRONLY, 0600));
    unlink("watched/one");
    char text[500];
    long count = read(watcher, text, sizeof text);
    for (char *at = text; at < text + count;) {
        struct inotify_event *one = (struct inotify_event *)at;
        printf("watch %d mask %x cookie %u name %s\n", one->wd == watch, one->mask, one->cookie, one->name);
        at += sizeof *one + one->len;
    }
    rmdir("watched");
}

static void pipes(void) {
    int ends[2];
    pipe(ends);
    char text[20] = "";
    struct iovec pieces[2] = {{"splic", 5}, {"ed", 2}};
    told("vmsplice", vmsplice(ends[1], pieces, 2, 0));
    read(ends[0], text, sizeof text);
    printf("%s\n", text);
    write(ends[1], "from the pipe", 13);
    memset(text, 0, sizeof text);
    struct iovec halves[2] = {{text, 6}, {text + 6, 14}};
    told("vmsplice", vmsplice(ends[0], halves, 2, 0));
    printf("%s\n", text);
    told("no pipe", vmsplice(open("/dev/null", O_WRONLY), pieces, 2, 0));
    told("no descriptor", vmsplice(-1, pieces, 2, 0));
}

static void handles(void) {
    struct { struct file_handle head; unsigned char rest[128]; } handle;
    int mount = -1;
    close(open("handled", O_CREAT | O_RDWR, 0600));
    handle.head.handle_bytes = 0;
    told("length", name_to_handle_at(AT_FDCWD, "handled", &handle.head, &mount, 0));
    printf("some %d\n", handle.head.handle_bytes > 0 && handle.head.handle_bytes <= 128);
    unsigned wanted = handle.head.handle_bytes;
    told("handle", name_to_handle_at(AT_FDCWD, "handled", &handle.head, &mount, 0));
    printf("same %d mount %d\n", handle.head.handle_bytes == wanted, mount > 0 && mount < 100000000);
    int here = open(".", O_RDONLY), again = open_by_handle_at(here, &handle.head, O_RDWR);
    told("open", again < 0 ? -1 : 0);
}

/* qemu dies of it. */
static void long_handle(void) {
    struct file_handle handle = {1000};
    int mount;
    told("too long", name_to_handle_at(AT_FDCWD, ".", &handle, &mount, 0));
}

static void capabilities(void) {
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[2] = {{1, 2, 3}, {4, 5, 6}};
    told("capget", syscall(SYS_capget, &head, sets));
    char line[200];
    unsigned long effective = 0, permitted = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status)) sscanf(line, "CapEff: %lx", &effective), sscanf(line, "CapPrm: %lx", &permitted);
    fclose(status);
    printf("same %d %d\n", effective == ((unsigned long)sets[1].effective << 32 | sets[0].effective),
           permitted == ((unsigned long)sets[1].permitted << 32 | sets[0].permitted));
    head.version = 7;
    told("unknown", syscall(SYS_capget, &head, sets));
    printf("version %x", head.version);
    head.version = 7;
    told(" asked", syscall(SYS_capget, &head, NULL));
    head.version = _LINUX_CAPABILITY_VERSION_3;
    fflush(stdout);
    if (fork() == 0) {
        sets[0].effective = 0;
        told("capset", syscall(SYS_capset, &head, sets));
        sets[0].permitted = sets[0].inheritable = 0;
        told("none", syscall(SYS_capset, &head, sets));
        sets[0].permitted = 1;
        told("more", syscall(SYS_capset, &head, sets));
        syscall(SYS_capget, &head, sets);
        printf("left %x %x\n", sets[0].effective, sets[0].permitted);
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
}

static void compared(void) {
    int one = open("/dev/null", O_RDONLY), same = dup(one), other = open("/dev/null", O_RDONLY);
    told("same file", syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, one, same));
    printf("other %d\n", syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, one, other) > 0);
    told("closed", syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, one, 999));
    told("kind", syscall(SYS_kcmp, getpid(), getpid(), 99, 0, 0));
    int poller = epoll_create1(0), ends[2];
    pipe(ends);
    struct epoll_event event = {EPOLLIN};
    epoll_ctl(poller, EPOLL_CTL_ADD, ends[0], &event);
    struct kcmp_epoll_slot slot = {poller, ends[0], 0};
    long answer = syscall(SYS_kcmp, getpid(), getpid(), KCMP_EPOLL_TFD, ends[0], &slot);
    /* A kernel may be built without. */
    printf("epoll %d\n", answer == 0 || errno == EOPNOTSUPP);
}

static void log_of_the_kernel(void) {
    told("kind", klogctl(99, NULL, 0));
    told("nowhere", klogctl(3, NULL, 10));
    char text[64];
    long size = klogctl(10, NULL, 0), read = klogctl(3, text, sizeof text);
    printf("log %d %d\n", size > 0 || errno == EPERM, read >= 0 || errno == EPERM);
}

int main(int argc, char **argv) {
    if (argc < 2 || strcmp(argv[1], "signals") == 0) signals();
    if (argc < 2 || strcmp(argv[1], "numbers") == 0) numbers();
    if (argc < 2 || strcmp(argv[1], "pipes") == 0) pipes();
    if (argc < 2 || strcmp(argv[1], "handles") == 0) handles();
    if (argc < 2 || strcmp(argv[1], "long") == 0) long_handle();
    if (argc < 2 || strcmp(argv[1], "capabilities") == 0) capabilities();
    if (argc < 2 || strcmp(argv[1], "compared") == 0) compared();
    if (argc < 2 || strcmp(argv[1], "log") == 0) log_of_the_kernel();
    return 0;
}
