//! The page of `esp`.

use super::Section;

pub const ESP: &[Section] = &[
    (
        "ASSOCIATIONS",
        "They are written as 'ip xfrm state' and 'ip xfrm policy' print them, and as their 'add' takes them. An entry begins with a line that is not \
indented. Modes other than tunnel, selectors with ports, marks and whatever else is not known are refused with their line. Algorithms are

aead rfc4106(gcm(aes)), rfc7539esp(chacha20,poly1305)
  A key with 4 bytes of salt behind it, and the bits of a tag.
enc cbc(aes), rfc3686(ctr(aes)), cbc(des3_ede)
  With auth hmac(sha1), or auth-trunc of hmac(sha256) with 128 bits, hmac(sha384) with 192 and hmac(sha512) with 256.

An association whose src is an address of this machine seals, one whose dst is opens; 'dir out' and 'dir in' say so, too. A packet that leaves takes the newest \
association that fits it. Without replay-window a window has 64 packets. The file must not be readable by everyone.",
    ),
    (
        "ASSOCIATIONS OF A DAEMON",
        "With --from-kernel associations and policies are those that a daemon of IKE has given to the kernel, as they come and go. What is not there is refused by its \
name and counted as not_followed. This needs CAP_NET_ADMIN in the network namespace. The daemon should install no policies for them, and make new keys by time, because the kernel does not see the packets.",
    ),
    (
        "SEQUENCE NUMBERS",
        "No number is used twice under one key, also by a process that is started again after it was killed: it would give plaintext and the means to forge away. \
Numbers are reserved a million at a time, in a file of the folder that --state names, before the first of them is used; a new process begins behind \
them. The folder belongs to the keys. Keep it with them, and never bring an old copy of it back while its keys are in use. One process at a time uses a \
folder. The highest number that was accepted is there, too, and is written each second.",
    ),
    (
        "PATH MTU",
        "A packet that may not be cut and does not fit is answered with 'fragmentation needed' or 'packet too big', and the length that fits. Routers tell narrower paths by \
ICMP, which anybody can forge. So a message counts only if it quotes a packet that was lately sent to that peer, it makes no path narrower than --least-path-mtu, and it is forgotten after ten minutes.",
    ),
    (
        "SIGNALS",
        "SIGINT and SIGTERM end the data plane in order: the device and the socket are gone, and no numbers are lost.",
    ),
    (
        "EXIT STATUS",
        "0
  when it was done, or a signal ended the data plane.
1
  when it failed.
2
  when the command was called wrongly.",
    ),
    (
        "EXAMPLES",
        "A data plane with two workers, in a user and network namespace of its own, a new association for it, and its counters:

  millstream esp run --sa sas.conf --workers 2
  millstream esp add new.conf
  millstream esp del 0xc0de0001
  millstream esp show --json",
    ),
];
