/* Sockets over the loopback, and waiting for descriptors. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void inet(int family) {
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_storage found;
    void *address = family == AF_INET ? (void *)&four : (void *)&six;
    socklen_t length = family == AF_INET ? sizeof four : sizeof six;
    int listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    printf("listener %d reuse %d\n", listener >= 0, setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one));
    printf("bind %d", bind(listener, address, length));
    printf(" listen %d\n", listen(listener, 4));
    length = sizeof found;
    getsockname(listener, (struct sockaddr *)&found, &length);
    printf("family %d length %d\n", found.ss_family, length);
    fflush(stdout);
    if (fork() == 0) {
        int client = socket(family, SOCK_STREAM, 0);
        if (connect(client, (struct sockaddr *)&found, length)) _exit(1);
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        char text[100] = "";
        write(client, "question", 8);
        shutdown(client, SHUT_WR);
        long got = recv(client, text, 99, MSG_WAITALL);
        _exit(got == 6 && !strcmp(text, "answer") ? 0 : 2);
    }
    struct sockaddr_storage peer;
    socklen_t peer_length = sizeof peer;
    int server = accept4(listener, (struct sockaddr *)&peer, &peer_length, SOCK_CLOEXEC);
    printf("accepted %d family %d length %d cloexec %d\n", server >= 0, peer.ss_family, peer_length, fcntl(server, F_GETFD));
    char text[100] = "";
    long got = 0, more;
    while ((more = read(server, text + got, 99 - got)) > 0) got += more;
    printf("%s\n", text);
    send(server, "answer", 6, MSG_NOSIGNAL);
    close(server);
    int status;
    wait(&status);
    printf("client %d\n", WEXITSTATUS(status));
    int error = 5, type = 0;
    length = sizeof error;
    getsockopt(listener, SOL_SOCKET, SO_ERROR, &error, &length);
    getsockopt(listener, SOL_SOCKET, SO_TYPE, &type, &length);
    printf("error %d type %d\n", error, type);
    close(listener);
    int refused = socket(family, SOCK_STREAM, 0);
    errno = 0;
    length = family == AF_INET ? sizeof four : sizeof six;
    printf("refused %d", connect(refused, (struct sockaddr *)&found, length));
    printf(" errno %d\n", errno);
    close(refused);
}

int main(void) {
    inet(AF_INET);
    inet(AF_INET6);
    int pair[2];
    printf("pair %d\n", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    int file = open("/dev/null", O_WRONLY);
    char control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec pieces[2] = {{"ab", 2}, {"cde", 3}};
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &file, sizeof file);
    printf("sendmsg %ld\n", (long)sendmsg(pair[0], &message, 0));
    char text[20] = "";
    struct iovec into = {text, 19};
    memset(control, 0, sizeof control);
    struct msghdr back = {.msg_iov = &into, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    printf("recvmsg %ld %s", (long)recvmsg(pair[1], &back, 0), text);
    head = CMSG_FIRSTHDR(&back);
    int passed = -1;
    if (head) memcpy(&passed, CMSG_DATA(head), sizeof passed);
    printf(" level %d type %d usable %ld\n", head ? head->cmsg_level : -1, head ? head->cmsg_type : -1, (long)write(passed, "x", 1));
    struct timeval wait_time = {0, 20000}, read_back;
    setsockopt(pair[1], SOL_SOCKET, SO_RCVTIMEO, &wait_time, sizeof wait_time);
    socklen_t length = sizeof read_back;
    getsockopt(pair[1], SOL_SOCKET, SO_RCVTIMEO, &read_back, &length);
    printf("timeout %ld %ld\n", (long)read_back.tv_sec, (long)read_back.tv_usec);
    errno = 0;
    printf("timed %ld", (long)recv(pair[1], text, 1, 0));
    printf(" errno %d\n", errno);
    printf("nonblocking %ld", (long)recv(pair[1], text, 1, MSG_DONTWAIT));
    printf(" errno %d\n", errno);

    struct pollfd polled[2] = {{pair[1], POLLIN, 0}, {pair[1], POLLOUT, 0}};
    printf("poll %d %x %x\n", poll(polled, 2, 0), polled[0].revents, polled[1].revents);
    write(pair[0], "z", 1);
    printf("poll %d %x %x\n", poll(polled, 2, 1000), polled[0].revents, polled[1].revents);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pair[0], &set);
    FD_SET(pair[1], &set);
    struct timeval zero = {0, 0};
    printf("select %d", select(pair[1] + 1, &set, NULL, NULL, &zero));
    printf(" %d %d\n", !!FD_ISSET(pair[0], &set), !!FD_ISSET(pair[1], &set));
    int poller = epoll_create1(EPOLL_CLOEXEC), event = eventfd(3, EFD_NONBLOCK);
    struct epoll_event wanted = {EPOLLIN, {.u64 = 0x123456789abcdefUL}}, happened[4];
    printf("add %d\n", epoll_ctl(poller, EPOLL_CTL_ADD, pair[1], &wanted));
    wanted.data.u64 = 2;
    epoll_ctl(poller, EPOLL_CTL_ADD, event, &wanted);
    int count = epoll_wait(poller, happened, 4, 100);
    unsigned long sum = 0;
    for (int i = 0; i < count; i++) sum += happened[i].data.u64 + happened[i].events;
    printf("epoll %d %lx\n", count, sum);
    unsigned long value = 0;
    printf("event %ld", (long)read(event, &value, 8));
    printf(" %d\n", value != 0);
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec soon = {{0, 0}, {0, 10000000}};
    printf("timer %d %ld\n", timerfd_settime(timer, 0, &soon, NULL), (long)read(timer, &value, 8));
    return 0;
}
