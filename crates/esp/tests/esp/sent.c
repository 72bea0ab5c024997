// Keeps what a program sends to a netlink socket in the file that SENT names, and sends nothing.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags) {
    (void)descriptor, (void)flags;
    int kept = open(getenv("SENT"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ssize_t len = kept < 0 ? -1 : writev(kept, message->msg_iov, message->msg_iovlen);
    // Messages in a datagram begin at multiples of four bytes.
    static const char padding[3];
    if (len > 0 && len % 4) len = write(kept, padding, 4 - len % 4);
    if (kept >= 0) close(kept);
    errno = len < 0 ? EIO : EPERM;
    return -1;
}
