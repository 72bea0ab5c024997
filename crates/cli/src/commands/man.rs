//! `millstream man`: manual pages, generated from the definitions, and the sections that options
//! alone don't make.

use std::io;
use std::path::PathBuf;

use clap::{Args, CommandFactory};

use crate::commands::{Cli, decrypt, digest, encrypt, mac, standalone};
use crate::error::Error;

/// Write the manual pages into a directory
#[derive(clap::Args)]
pub(super) struct Man {
    /// The directory, which must exist
    directory: PathBuf,
}

/// A section of a page: paragraphs, or lines kept as they are where they are indented.
pub(super) type Section = (&'static str, &'static str);

pub(super) const DIGEST: &[Section] = &[
    (
        "EXIT STATUS",
        "0
  when every digest was printed.
1
  when a file could not be read or the algorithm is unknown.
2
  when the command was called wrongly, or a file could not be opened. The other files are digested.",
    ),
    (
        "EXAMPLES",
        "The digest of one file, of several, and of standard input:

  digest -a sha256 disk.img
  digest -v -a sha512 a.iso b.iso
  tar c photos | digest -a sha256",
    ),
];

pub(super) const MAC: &[Section] = &[
    (
        "EXIT STATUS",
        "0
  when every code was printed.
1
  when a file could not be read, the algorithm is unknown or the key can't be used.
2
  when the command was called wrongly, or a file could not be opened. The other files are done.",
    ),
    (
        "KEYS",
        "The bytes of the file named with -k are the key, all of them. A passphrase becomes a key by \
PBKDF2 with HMAC-SHA-1, a fixed salt and 1000 iterations, as in the Solaris command, so that the same \
passphrase gives the same code everywhere. That is weak; prefer a key file.

For an algorithm that is too weak for new data, which -l marks as legacy, there is a warning of one line, which -q turns off. \
Called through a link named mac the command is that of Solaris and warns of nothing but a key that everyone may read.",
    ),
    (
        "EXAMPLES",
        "Make a key, and authenticate two files with it:

  head -c 32 /dev/urandom > key && chmod 600 key
  mac -a sha256_hmac -k key a.iso b.iso

The same with the key in another process, that of 'millstream serve':

  mac --isolated -a sha256_hmac -k key a.iso b.iso",
    ),
];

pub(super) const SPEED: &[Section] = &[
    (
        "WAYS",
        "direct
  A call for each object, with the key kept.
batch
  A call for as many objects as --depth says, side by side in the lanes of vectors where that pays.
queue
  As many operations in flight as --depth says, with their objects in the queue's arena. The thread that \
polls for results computes them.
queue-thread
  The same, with a thread beside that computes. Only where it is named, for it takes another core.
isolated
  The same, with the accelerator in a worker of the service: keys are out of this process's reach. Only with \
--isolated. Where no service runs, one is started for the run.
openssl
  OpenSSL 3, everything fetched and every key set beforehand.
openssl-oneshot
  The same, everything fetched, made and freed for each object.
pkcs11
  Two calls of the module for each object, with a session and a key kept. The key is sensitive and not extractable.
softhsm
  The same with SoftHSM, loaded into the process, and a token that is made for the run. Only with --against softhsm.
p11-kit
  The same with SoftHSM in another process, behind the server of p11-kit. Only with --against p11-kit. Debian 12's can \
not carry the parameters of CBC, CTR and GCM, so only ECB, digests and HMACs are measured there.",
    ),
    (
        "FIGURES",
        "Bytes are those of the data, without tags. GB are 10^9 bytes. The ways take about 200 short turns \
each; a figure is what the fastest tenth of them reached, for in the others the machine had something else to \
do. With several threads, GB and operations a second are those of all together, ns and cycles those that one \
thread spends on an object. Cycles follow from the core's clock, which is measured in each turn. Latencies are those of single operations, from handing over to result; of a \
batch, all of its objects have the same. Beside isolated keys a last table says how many times as many operations a \
second the isolated queue does as the other ways out of reach, and as the queue in this process.",
    ),
    (
        "EXIT STATUS",
        "0
  when everything was measured.
1
  when results differ, an algorithm is unknown or a library can't be used. Nothing is printed then.
2
  when the command was called wrongly.",
    ),
    (
        "EXAMPLES",
        "AES-GCM as openssl speed would show it, then packets of a mix of lengths, opened:

  millstream speed --show kb aes-128-gcm
  millstream speed --bytes imix --decrypt aes-128-gcm chacha20-poly1305

What isolation costs, and what it costs the usual way:

  millstream speed --isolated --against softhsm,p11-kit aes-128-ecb hmac-sha256

A curve over packet lengths, and what the same costs through SoftHSM:

  millstream speed --bytes 64-1500:4 --plot cbc.svg aes-128-cbc
  millstream speed --pkcs11 /usr/lib/softhsm/libsofthsm2.so --pin-file pin aes-128-cbc",
    ),
];

pub(super) const RUN: &[Section] = &[
    (
        "WITHOUT FEATURES",
        "With --without or --with-only the program, and all that it starts, does not find features of the processor. It runs as it \
is, without Millstream, unless --provider is given too. Names are those of --list; what can't be used without a feature goes with \
it, as vaes with aes. Two layers act:

The answers to CPUID
  The program runs under this command's eyes (ptrace), and each CPUID instruction that it executes is answered without the \
bits of what is withheld. That reaches every program and library, static and stripped ones too, and costs nothing once the \
program has asked. The processor and the kernel must be able to have CPUID fault: Intel's can since Ivy Bridge, AMD's \
from Linux 6.17 on, and most virtual machines. On AArch64 the auxiliary vector is edited in its stead; that is not tried on \
such a machine yet.
Knobs
  Variables that OpenSSL, BoringSSL, AWS-LC, GnuTLS, nettle, NSS, Go, Java, Botan, glibc and Millstream read. What is set \
already is kept and added to. Those that have a program print what it would not have printed (JAVA_TOOL_OPTIONS, GODEBUG with \
newer names) are set only where CPUID can't be answered.

Where CPUID can't be answered this is said, and knobs act alone, as with --knobs-only. ring, RustCrypto, libgcrypt, libsodium \
and others have none.

A program that asks nobody has the features nevertheless: one that was compiled for them, reads /proc/cpuinfo, or asks XGETBV. \
Code in the kernel is not reached. A set-user-ID program that is traced gets no privileges. What a program leaves running when \
it ends keeps what it was told, and programs started by that find everything.

With --json the object has without: asked and withheld (arrays of names; withheld is what the processor has of them), \
cpuid (null, or answered and programs), why_no_cpuid, knobs (an array of library, variable and value), notes, and why_failed \
where a program failed soon.",
    ),
    (
        "WHAT IS SET",
        "OPENSSL_CONF
  A configuration in a temporary folder: that of the program, which is included, and the provider. Other providers and \
settings stay as they are, and random numbers are left to OpenSSL's own generator. OPENSSL_MODULES is not touched: the \
module is named by its path, so that the system's own modules are found as before.
MILLSTREAM_TALLY
  The file in which all processes count.
MILLSTREAM_SOCKET
  With --isolated, where the service is.

Programs that read a configuration of their own, or start others without these variables, are not reached; nor are those \
that are set-user-ID, and those that bring another library. A program of Node.js reads the same file. A service that \
is started for the run serves this user, and every user where this user is root; whether another service has anything \
for a user that the program changes to is its policy's affair. A program that calls chroot(2) before its first key (Dovecot's login \
processes do) is served over a connection that the provider made when the program first fetched an algorithm, as the user that it was \
then. The service closes such a connection when nothing was asked for on it in a minute (idle_s in the policy); after that no key is \
taken.",
    ),
    (
        "THE END",
        "The run ends when CMD does, also where CMD has left processes behind: run servers in the foreground. Signals \
that are sent to this command are passed on to CMD, so that a supervisor need not know of it.",
    ),
    (
        "THE TABLE",
        "An operation is one message or record; of streams, one update. Bytes are those of the data. Where nothing was \
accelerated the likely reason is given. With --json an object: version (1), command, status, service (null, or socket and \
own: whether it was started for the run), accelerated (an array of place, algorithm, kernel, operations and bytes, the \
most bytes first) and nothing (null, or the reason).",
    ),
    (
        "EXIT STATUS",
        "That of CMD; 128 and the signal's number where it was ended by one; 126 when it can't be run and 127 when it is not \
there; 1 when nothing could be set up, and 2 when the command was called wrongly. Where CMD fails soon without features the likely \
reason is given.",
    ),
    (
        "EXAMPLES",
        "A program of the distribution, as it is:

  millstream run -- openssl speed -evp aes-256-gcm
  millstream run -- curl -O https://example.org/file

A server whose session keys are in another process, and the table in a file:

  millstream run --isolated --report table -- nginx -g 'daemon off;'

Programs as they would be on a processor without AES, or without AVX-512, and one that has nothing but SSE2:

  millstream run --without aes -- openssl speed -evp aes-128-gcm
  millstream run --without avx512 -- python3 job.py
  millstream run --with-only '' -- ssh -V",
    ),
];

pub(super) const SPARC: &[Section] = &[
    (
        "THE PROGRAM",
        "It is a program for Linux on 64-bit SPARC, static or dynamic. A dynamic one needs a sparc64 system's libraries, \
which --sysroot names: absolute paths that are there are taken from there, others from this machine. On Debian, \
--sysroot /usr/sparc64-linux-gnu after installing libc6-sparc64-cross.

Files, descriptors, children, timers, sockets, semaphores, queues of messages and the terminal are this process's own. Programs that it \
starts are run the same way if they are for sparc64, and natively if they are for this machine. Memory that is shared with children, files \
that are mapped to be shared, and segments of System V are the host's: everybody sees at once what another writes, compare-and-swap holds, and \
semaphores in it wake who waits. A program has 256 GiB of addresses.

Threads take turns on one processor: each is a thread of this process, and one at a time executes the program.

These calls answer ENOSYS: asynchronous input and output (io_setup, io_uring), ptrace and \
what reads other processes, mount and namespaces, keys, BPF, performance events, fanotify, userfaultfd, landlock, the placing of memory, quotas, \
modules, epoll_pwait2, openat2, sched_setattr, signals through a pidfd; futexes that pass on priorities. seccomp answers EINVAL.

--trace-syscalls tells each system call, and what stopped the program otherwise.",
    ),
    (
        "CAPABILITIES",
        "--hwcap takes the names of isainfo with a minus before each, as LD_HWCAP did on Solaris, and those of Linux for the two \
parts of mont, montmul and montsqr. What is taken away is gone from AT_HWCAP, from %cfr, and from the processor: the instruction \
is SIGILL. Programs that ask any of the three choose other code.",
    ),
    (
        "EXIT STATUS",
        "The program's own. Where a signal ended the program it ends this command too.

126
  when the program can't be run: it is for another machine, or its interpreter is missing.
127
  when there is no such file.",
    ),
    (
        "EXAMPLES",
        "What the T4 had, and the same without AES:

  millstream sparc --isainfo
  millstream sparc --isainfo --hwcap \"-aes\"

OpenSSL on a T4, with the crypto instructions that it executed, and on a T2, which has none:

  millstream sparc --mix ./openssl speed -evp aes-128-cbc
  millstream sparc --cpu t2 ./openssl speed -evp aes-128-cbc",
    ),
];

pub(super) const COMPARE: &[Section] = &[
    (
        "THE MEASURE",
        "One run each way is made beside the other, in the order A B B A, after --warmup of them that don't count. Time is \
that from start to end; processor is the time in user and kernel mode of CMD and of what it waited for. The factor is \
that of the medians; behind it stand the lowest and the highest factor of the pairs, without a tenth at each end. Where \
these don't agree on who is faster, or differ by less than 1 %, no difference is claimed. With fewer than 3 runs \
a factor below 1.2 is not either.

With all features CMD runs under the same tracer, which answers CPUID with the truth. A CPUID takes some microseconds then, \
and each program some milliseconds more to start.

What CMD writes on standard output is read and digested, and the digests of both ways compared. Programs that print \
times write something else each time; then nothing is said about it.",
    ),
    (
        "JSON",
        "An object: version (1), command, runs, with and without (each wall_s and cpu_s, arrays of seconds), wall_ratio and \
cpu_ratio (each median, low, high, differs), output (same, different or varies), and layers, which is the object without \
of millstream-run(1).",
    ),
    (
        "EXIT STATUS",
        "0
  when both ways were measured.
1
  when CMD could not be run, or failed one way or both: which, and what it said, is told.
2
  when the command was called wrongly, or this processor has nothing of what is to be withheld.",
    ),
    (
        "EXAMPLES",
        "What the processor's AES is worth to an archive, and what AVX-512 is to sorting:

  millstream compare --without aes -- openssl enc -aes-256-ctr -pass pass:x -pbkdf2 -in disk.img -out /dev/null
  millstream compare --without avx512 --input words -- sort

All vector instructions beyond those that every processor of this architecture has:

  millstream compare --with-only '' -n 11 -- sha256sum disk.img",
    ),
];

pub(super) const TRACE: &[Section] = &[
    (
        "HOW IT IS KNOWN",
        "Every executable mapping of the program is searched for instructions of AES, VAES, PCLMUL, VPCLMUL, SHA, SHA-512, \
SM3, SM4, GFNI, for CRC32, and for ADX, MULX and AVX-512 IFMA, which serve long numbers; also what is mapped later, \
and what Java makes at run time. A breakpoint is set where such instructions begin, but only where symbols, unwinding tables, \
Go's function table, the virtual machine or the known beginning of a library's function prove that an instruction begins there: elsewhere it might be data. What has no \
proof is counted and told.

The program need not be prepared, may be static or stripped, and does what it does untraced. When the trace ends all breakpoints \
are removed.",
    ),
    (
        "MODES",
        "--once
  A breakpoint goes when it was reached. Says what ran, and what did not, at nearly no cost.
--count
  Each entry of a function with such instructions is counted. A hundred thousandth of a second or more for each: for short \
commands.
--rate
  Breakpoints that went are set again ten times a second. Says in how many of these samples a function ran, and how often in a \
second it is entered while a thread is busy with it, at least.

Where the processor itself counts cryptographic instructions (AMD from Zen 4 on, AArch64) and the system allows it, its count stands below.",
    ),
    (
        "THE REPORT",
        "First the answers: whether AES, carry-less multiplication and SHA of the processor were used, and by whom; others \
where they were. Then a line for each function that executed such instructions: its class, what for, and who called it, the nearest \
first. Functions without a name are called fn_ and their address; names of C++ and Rust stand without parameters. On a terminal long names are \
cut, and * is in place of what a library's file is given anew in each run.

What ran for something else than the program's own cryptography is noise, and no yes: random generators of libraries are made of AES, \
hash tables mix keys with it, libraries test themselves when they start. Then what could not be watched. Where that may have \
run such instructions the answer is not seen: so it is for programs that can rewrite their executable memory unnoticed. With -v what did not run, and what the trace cost.

The report goes to standard error, so that the program's output stays its own, or to the file of --report.",
    ),
    (
        "JSON",
        "An object: version (1), mode, seconds, samples, answers (an array of question, classes, answer, perhaps_checksum and functions; answer is yes, \
noise, unused, absent or unknown), processes (pid, command, began_s, watched_s, attached, ended, modules: indices of the next), modules \
(path, library, build_id, present, watched and unproved: objects of class and number, unwatchable, functions), counters (classes, event, \
count, speculative), notes (an array of sentences) and cost. A function has name, symbol (the name as the file has it, where it is another), address, bounds, present, ran, worked, entries, samples, \
entries_per_s, hits, first_s, callers (arrays of names), origins and by_process.",
    ),
    (
        "THE CACHE",
        "What was found in a file with a megabyte of code or more is kept in $XDG_CACHE_HOME/millstream, or ~/.cache/millstream, so that the next \
trace need not look through it. It is used only for the very same file: device, inode, length, build id, and when it and \
its inode changed, to the nanosecond, by the kernel's own clock; so not for files that changed in the last two seconds, that have no build id, on file systems \
of other machines and FUSE's, or in containers. Another version of the search begins anew, and what is damaged is written anew.

The folder must be the user's own, and nobody else may write to it; else it is left alone, as under sudo with another user's home. A process with \
more rights than its user uses none. It holds 64 MB at most, of which the oldest go, and may be removed at any time. --no-cache looks through everything, and keeps nothing.",
    ),
    (
        "THE END",
        "With CMD it ends when that has ended and all that it left running, of which it tells; what of that still runs when this command is \
killed or asked to end is killed, too. Signals, also those from the terminal, are CMD's. With --pid it ends when the process \
does, after --seconds, or at SIGINT, SIGTERM or SIGHUP; then the process goes on as before, and the report is written.

Of a server with several processes all can be traced together (-p \"$(pgrep nginx)\", or -p 7 -p 8), then the trace ends with the last of them; or its newest \
worker ($(pgrep -n nginx)), or the first ($(pgrep -o postgres)) where that starts one for each connection. Which others of the same program were not watched is said.",
    ),
    (
        "EXIT STATUS",
        "That of CMD; 128 and the signal's number where it was ended by one; 126 when it can't be run and 127 when it is not \
there. With --pid 0. 1 when the process can't be traced, and 2 when the command was called wrongly.",
    ),
    (
        "EXAMPLES",
        "Does it use hardware AES? How often, as DTrace counted? And a server, for ten seconds:

  millstream trace -- openssl enc -aes-128-cbc -K 00 -iv 00 -in disk.img -out /dev/null
  millstream trace --count -- openssl speed -seconds 1 -evp aes-128-cbc
  millstream trace --rate --seconds 10 -p $(pgrep -n nginx)

That nothing is left of it:

  millstream trace --without aes -- openssl speed -seconds 1 -evp aes-128-gcm",
    ),
];

pub(super) const OPENSSL_CONF: &[Section] = &[
    (
        "USE",
        "Write it to a file and name that in OPENSSL_CONF, in a unit of systemd or a user's profile. For all programs that \
read the system's file, put it at that file's end with --append: no program has to be told then. The same \
text is good for programs of Node.js, which look for nodejs_conf.

A line of the provider's section may say more: socket and isolated (yes or no) as the options do, and tally, \
a file of counters.",
    ),
    (
        "WHAT IT CHANGES",
        "The sections that the file has for providers, alg_section and random are extended. The default provider is \
activated, unless the file activates others without it. Millstream is preferred with the property ?millstream.accelerated=yes, \
behind what default_properties has already: a file that demands fips=yes goes on to get that. Random numbers stay with \
the default provider.",
    ),
    (
        "EXAMPLES",
        "For the programs of one service, then for all:

  millstream openssl-conf > /etc/ssl/millstream.cnf
  millstream openssl-conf --append >> /etc/ssl/openssl.cnf

What a program gets:

  OPENSSL_CONF=/etc/ssl/millstream.cnf openssl list -providers",
    ),
];

pub(super) const SERVE: &[Section] = &[
    (
        "READINESS",
        "Ready is when clients can connect; a line of the log says where. With --ready-fd N the socket's path and a \
newline are written to that descriptor too, which must be a pipe or a file. Where NOTIFY_SOCKET is set, systemd is \
told when the service is ready, reads its policy again or ends, for units of Type=notify or notify-reload. A socket \
that systemd listens at is taken over: ListenSequentialPacket= in the socket unit, and if there are several, the one \
named millstream.",
    ),
    (
        "SIGNALS",
        "SIGTERM, SIGINT
  Operations that were submitted are finished, clients are told, workers end, and the socket is removed.
SIGHUP
  The policy file is read again. One that can't be used changes nothing. 'millstream reload' does the same and says \
whether it succeeded.",
    ),
    (
        "SPINNING",
        "A worker that has nothing to do looks for more for as long as --spin-us says, and then sleeps until a doorbell \
rings. Longer makes pauses cheaper for clients and costs a processor's time; an idle service costs none.",
    ),
    (
        "MEMORY",
        "Keys, and the heap and the stacks of workers, lie in memory that nobody else can read (memfd_secret), or, where the \
kernel has none, in locked memory. Both count as locked memory: the limit (ulimit -l, LimitMEMLOCK= in a unit) should \
leave each worker 76 MiB more than --key-memory says. A worker that may lock less has less for keys, and grants that do not \
fit are refused; it also opens shorter objects only, as millstream status says. Where it leaves less, a worker's heap is partly ordinary memory, which \
can be swapped; MemorySwapMax=0 in a unit prevents that, for the memory that is shared with clients too. A machine can't \
hibernate while a process uses memfd_secret.",
    ),
    (
        "LOG",
        "To standard error, with the time only where that is a terminal: the journal has it already. A user who causes more than 20 lines of a kind at once, \
         or more than one a second after that, has the others left out; left_out= in the next one says how many.",
    ),
    (
        "EXIT STATUS",
        "0
  when it was ended by a signal.
1
  when it could not be started, or not go on.
2
  when it was called wrongly.",
    ),
    (
        "ENVIRONMENT",
        "MILLSTREAM_SOCKET
  The socket, where --socket does not name one. Without both it is millstream.sock in XDG_RUNTIME_DIR, or in \
/run/user/UID; root's is /run/millstream/millstream.sock.",
    ),
    (
        "METRICS",
        "--metrics serves /metrics over HTTP, in the text format of Prometheus (version 0.0.4). What queues did is told of each \
user: labels have uids, of 1024 users at most, and \"others\" for the rest. --metrics-names tells of each grant in its place, \
with its number, its process and that one's name. Clients choose these, and each is a series that Prometheus keeps: use it where \
you trust the clients, or to look for something.

Whoever can connect to a port can read the metrics, every user of the machine included. A socket in the file system \
(unix:PATH) has mode 0660: the service's user and group can connect, as far as its directory lets them. A request at a port is \
refused (421) unless it is for localhost, a loopback address, the address that it came to or a --metrics-host, so that web pages can't \
have browsers read the metrics. A connection lasts 5 s at most, and there are 32: one more closes the one that has been idle longest.",
    ),
    (
        "EXAMPLES",
        "For oneself, and for a machine, with two accelerators on processors of their own:

  millstream serve
  millstream serve --policy /etc/millstream/policy.toml -n 2 --pin 2,3 --user millstream",
    ),
];

const CONTROL_STATUS: Section = (
    "EXIT STATUS",
    "0
  when it was done.
1
  when no service answers, or it refused.
2
  when the command was called wrongly.",
);

pub(super) const STATUS: &[Section] = &[
    (
        "WORKERS",
        "WORKER, PID, CPU
  Its number, its process, and the processor it is pinned to.
LANES
  How many operations it computed together, in the mean, of all its grants.
SLEEPS
  How often it had nothing to do for so long that it went to sleep, in all and each second.
RESTARTS
  How often it died and was started again.
KEYS IN, SANDBOX
  Where its keys are, and what keeps it from harm.",
    ),
    (
        "GRANTS",
        "GRANT, USER, PID, PROGRAM
  Its number, and whose it is, as the kernel said when the client connected.
QUEUES, IN FLIGHT
  Its queues and how many operations each takes; operations that are in flight now.
OPS, OPS/S, BYTES/S
  Operations since the grant began; operations, and bytes of their sources, each second.
BELLS/S, WAKES/S
  How often a sleeping worker, or the sleeping client, had to be woken.
KEYS
  Keys it holds, of the slots it has.
ERRORS
  Operations that failed. Below the table they are told apart by the rule they broke.",
    ),
    (
        "LIMITS",
        "LIMITS OF
  The service, each worker and each user that holds anything: what is charged, and after a slash the most that may be. \
Users who share an account are the one with the lowest number. Who is neither root nor an operator sees its own.
GRANTS, CONNECTIONS, DESCRIPTORS, QUEUES
  Grants until their worker has let go, connections that have none, descriptors of the service, queues.
MEMORY, KEY MEMORY
  Bytes of arenas and rings; bytes that are reserved for keys, 2 KiB for a key slot.
ORDERS
  Grants that a worker is making or ending.",
    ),
    ("RATES", "Rates are those of the interval of --watch; without it, of 0.2 seconds."),
    CONTROL_STATUS,
    (
        "EXAMPLES",
        "A live view, and the busiest grant's number:

  millstream status --watch
  millstream status --json | jq '.grants | max_by(.operations_per_s).grant'",
    ),
];

pub(super) const REVOKE: &[Section] = &[
    CONTROL_STATUS,
    (
        "EXAMPLES",
        "Two grants, and all of them:

  millstream revoke 3 7
  millstream revoke --all",
    ),
];

pub(super) const MOVE: &[Section] = &[
    CONTROL_STATUS,
    (
        "EXAMPLES",
        "Grant 7 to worker 1:

  millstream move 7 1",
    ),
];

pub(super) const RELOAD: &[Section] = &[CONTROL_STATUS];

const CRYPT_STATUS: Section = (
    "EXIT STATUS",
    "0
  when the output is complete.
1
  when it failed. No output is left under its final name, and the input is as it was. On standard \
output what was written before the failure can't be taken back: with the tink format whole segments that \
verified, so check the status before using them.
2
  when the command was called wrongly.
130, 143, 129
  when SIGINT, SIGTERM or SIGHUP ended it. Nothing is left behind, and the input is as it was.",
);

const FORMATS: Section = (
    "FORMATS",
    "Without --format, decrypt takes a file for what it looks like only where that format is authenticated, which is tink. \
Otherwise whoever can write the file could put one of another format in its place, and change the plaintext without a word. Of \
the others it says what the file looks like and which option to add. The names aes, arcfour, des and 3des for -a ask for the \
format solaris.

tink
  Tink's streaming AEAD AES256-GCM-HKDF with 1 MB segments, the default. Authenticated: a change, a cut \
and a wrong key are detected. -k names 32 random bytes, or a cleartext Tink keyset in JSON. With a \
passphrase, 40 bytes precede the stream that tell how Argon2id makes the key from it.
solaris
  Version 1 of the format of the Solaris commands, with -a aes, arcfour, des or 3des. Not authenticated.
openssl
  That of openssl enc -pbkdf2, with a passphrase. -a has openssl's names, aes-256-cbc unless given. Not \
authenticated.
raw
  Ciphertext alone, with -a, -k and --iv. aes-gcm and chacha20-poly1305 put a tag of 16 bytes behind it, \
and take at most 1 GiB; aes-xts takes at most 16 MiB, as one data unit.",
);

const FILES: Section = (
    "OUTPUT FILES",
    "The output gets its name only when it is complete and verified. Until then it has none, or where the \
file system does not allow that, a hidden one in the same directory that is removed on failure. So -i and -o \
may name the same file. An existing file keeps its permissions; its other hard links keep the old contents.

A new file is no more readable than the file it is made from: it has that one's permissions without those to execute \
and those that the umask takes away. Where its group is another than the input's, the group is given no more than everyone has. \
What is decrypted from a pipe only its owner may read. The files of the key, the passphrase and the initialisation vector are never \
written over, whatever link names them.",
);

const SLIPS: Section = (
    "CAUTIONS",
    "An option with a value may be given once, and each run has one input. encrypt does not write to a terminal, and decrypt \
shows text there only; -o - insists. encrypt warns, in one line that -q turns off, where the format is not authenticated or \
the algorithm is too weak for new data, and where the key file holds text or hexadecimal digits instead of a random key. A key that \
is all zero is refused in the format tink.",
);

const SOLARIS: Section = (
    "SOLARIS",
    "Called through a link named encrypt or decrypt the command is that of Solaris with more formats. Which format a file is in \
does not depend on the name: on Solaris -a is required, and with the algorithms of Solaris it asks for the format of Solaris here \
too. Without -a and --format the same rules hold as for millstream encrypt and millstream decrypt. Under these names \
an option that is given again counts as it was given last, as with getopt(3C), and nothing is warned of but a key that everyone may \
read. A minus for -i and -o names the standard streams; for a file of that name, write ./-.",
);

pub(super) const ENCRYPT: &[Section] = &[
    FORMATS,
    FILES,
    SLIPS,
    SOLARIS,
    CRYPT_STATUS,
    (
        "EXAMPLES",
        "With a key file, and with a passphrase in place:

  head -c 32 /dev/urandom > key && chmod 600 key
  encrypt -k key -i disk.img -o disk.img.enc
  encrypt -i letter -o letter

For openssl, and for an old Solaris machine:

  encrypt --format openssl -a aes-256-ctr -i a -o a.enc
  encrypt -a aes -k key -i a -o a.enc",
    ),
];

pub(super) const DECRYPT: &[Section] = &[
    FORMATS,
    FILES,
    SLIPS,
    SOLARIS,
    CRYPT_STATUS,
    (
        "EXAMPLES",
        "With a key file, and from a pipe with a passphrase:

  decrypt -k key -i disk.img.enc -o disk.img
  ssh host cat backup.enc | decrypt | tar x

What openssl enc -aes-256-cbc -pbkdf2 wrote, and what an old Solaris machine wrote:

  decrypt --format openssl -a aes-256-cbc -i a.enc -o a
  decrypt -a aes -k key -i a.enc -o a",
    ),
];

/// The sections as `--help` shows them.
pub(super) fn help(sections: &[Section]) -> String {
    let section = |(title, text): &Section| {
        let mut name = title.to_lowercase();
        name[..1].make_ascii_uppercase();
        let lines =
            text.lines().map(|line| if line.is_empty() { String::new() } else { format!("  {line}") });
        format!("{name}:\n{}", lines.collect::<Vec<_>>().join("\n"))
    };
    sections.iter().map(section).collect::<Vec<_>>().join("\n\n")
}

impl Man {
    pub(super) fn run(self) -> Result<(), Error> {
        let mut cli = Cli::command();
        cli.build();
        self.page(clap::Command::clone(&cli), "millstream", &[])?;
        for command in cli.get_subcommands().filter(|command| command.get_name() != "help") {
            let name = format!("millstream-{}", command.get_name());
            // The four have pages of their own names.
            if ["digest", "mac", "encrypt", "decrypt"].contains(&command.get_name()) {
                continue;
            }
            let sections = match command.get_name() {
                "speed" => SPEED,
                "run" => RUN,
                "compare" => COMPARE,
                "sparc" => SPARC,
                "trace" => TRACE,
                "openssl-conf" => OPENSSL_CONF,
                "serve" => SERVE,
                "status" => STATUS,
                "revoke" => REVOKE,
                "move" => MOVE,
                "reload" => RELOAD,
                _ => &[],
            };
            // The sections are the same text as the help's end.
            let command = command.clone().after_long_help(None::<&str>);
            self.page(command.display_name(name.clone()).name(name.clone()), &name, sections)?;
        }
        self.own::<digest::Digest>("digest", DIGEST)?;
        self.own::<mac::Mac>("mac", MAC)?;
        self.own::<encrypt::Encrypt>("encrypt", ENCRYPT)?;
        self.own::<decrypt::Decrypt>("decrypt", DECRYPT)
    }

    /// A page named as the subcommand: `millstream-digest`, so as not to hide another's page.
    fn own<A: Args>(&self, name: &'static str, sections: &[Section]) -> Result<(), Error> {
        let command = standalone::<A>(name.to_owned()).after_long_help(None::<&str>).display_name(name);
        self.page(command, &format!("millstream-{name}"), sections)
    }

    fn page(&self, command: clap::Command, name: &str, sections: &[Section]) -> Result<(), Error> {
        let path = self.directory.join(format!("{name}.1"));
        let failed = |source| Error::Write { name: path.display().to_string(), source };
        let text = render(command, name, sections).map_err(failed)?;
        std::fs::write(&path, text).map_err(failed)
    }
}

fn render(command: clap::Command, name: &str, sections: &[Section]) -> io::Result<Vec<u8>> {
    let subcommands = command.has_subcommands();
    let page = clap_mangen::Man::new(command).title(name.to_uppercase()).section("1").manual("Millstream");
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if subcommands {
        page.render_subcommands_section(&mut text)?;
    }
    for (title, body) in sections {
        text.extend_from_slice(roff(title, body).as_bytes());
    }
    Ok(text)
}

/// A section in roff: an indented line after a plain one is its item, others are kept as they are.
fn roff(title: &str, body: &str) -> String {
    let escape = |line: &str| {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
    };
    let mut text = format!(".SH \"{title}\"\n");
    let examples = title == "EXAMPLES";
    let mut lines = body.lines().peekable();
    while let Some(line) = lines.next() {
        let item = !examples && lines.peek().is_some_and(|next| next.starts_with("  "));
        text += &match line.strip_prefix("  ") {
            Some(example) if examples => format!(".EX\n    {}\n.EE\n", escape(example)),
            Some(definition) => format!("{}\n", escape(definition)),
            None if item => format!(".TP\n\\fB{}\\fR\n", escape(line)),
            None if line.is_empty() => ".PP\n".to_owned(),
            None => format!("{}\n", escape(line)),
        };
    }
    text
}
