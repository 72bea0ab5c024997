//! `millstream man`: manual pages, generated from the definitions of options and the sections here.

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

/// A section of a page: paragraphs, and indented lines that are kept as they are.
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
  when the command was called wrongly, or a file could not be opened. The codes of the other files are printed.",
    ),
    (
        "KEYS",
        "All bytes of the file named with -k are the key. A passphrase becomes a key by \
PBKDF2 with HMAC-SHA-1, a fixed salt and 1000 iterations, as in the Solaris command, so that the same \
passphrase gives the same code everywhere. That is weak; prefer a key file.

An algorithm that is too weak for new data, which -l marks as legacy, causes a warning of one line; -q turns it off. \
Called through a link named mac, the command behaves like that of Solaris and warns only of a key that everyone may read.",
    ),
    (
        "EXAMPLES",
        "Make a key, and authenticate two files with it:

  head -c 32 /dev/urandom > key && chmod 600 key
  mac -a sha256_hmac -k key a.iso b.iso

The same with the key in another process, a worker of 'millstream serve':

  mac --isolated -a sha256_hmac -k key a.iso b.iso",
    ),
];

pub(super) const SPEED: &[Section] = &[
    (
        "WAYS",
        "direct
  One call for each object, with the key kept.
batch
  One call for as many objects as --depth says, side by side in vector lanes where that pays.
queue
  As many operations in flight as --depth says, with their objects in the queue's arena. The thread that \
polls for results computes them.
queue-thread
  The same, computed by a second thread. It is measured only when named, because it takes another core.
isolated
  The same, with the accelerator in a worker of the service, so that keys are out of this process's reach. It is measured \
only with --isolated. If no service runs, one is started for the run.
openssl
  OpenSSL 3, with everything fetched and every key set beforehand.
openssl-oneshot
  The same, but everything is fetched, made and freed for each object.
pkcs11
  Two calls of the module for each object, with a session and a key kept. The key is sensitive and not extractable.
softhsm
  The same with SoftHSM, loaded into the process, and a token that is made for the run. It is measured only with \
--against softhsm.
p11-kit
  The same with SoftHSM in another process, behind the server of p11-kit. It is measured only with --against p11-kit. The \
version in Debian 12 can't carry the parameters of CBC, CTR and GCM, so only ECB, digests and HMACs are measured there.",
    ),
    (
        "FIGURES",
        "Bytes are those of the data, without tags. GB are 10^9 bytes. The ways take about 200 short turns \
each. A figure is what the fastest tenth of the turns reached, because the machine was busy with something else in the others. \
With several threads, GB and operations a second are the sum over all threads; ns and cycles are the time that one \
thread spends on an object. Cycles follow from the core's clock, which is measured in each turn. Latencies are those of \
single operations, from submission to result; all objects of a batch have the same. With isolated keys, a last table gives \
the ratio of the isolated queue's operations a second to those of the other ways that keep keys out of reach, and to those \
of the queue in this process.",
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

The cost of isolation, beside the cost of the usual ways of isolation:

  millstream speed --isolated --against softhsm,p11-kit aes-128-ecb hmac-sha256

A curve over packet lengths, and the cost of the same through SoftHSM:

  millstream speed --bytes 64-1500:4 --plot cbc.svg aes-128-cbc
  millstream speed --pkcs11 /usr/lib/softhsm/libsofthsm2.so --pin-file pin aes-128-cbc",
    ),
];

pub(super) const RUN: &[Section] = &[
    (
        "WITHOUT FEATURES",
        "With --without or --with-only, the program and everything that it starts do not find some features of the processor. \
Millstream is not put into the program's OpenSSL then, unless --provider is given too. The names are those of --list. Features \
that depend on a withheld one are withheld too, as vaes with aes. Two layers act:

The answers to CPUID
  The program runs under ptrace, and each CPUID instruction that it executes is answered without the bits of the withheld \
features. That reaches every program and library, including static and stripped ones, and costs nothing once the program has \
asked. The processor and the kernel must support faulting on CPUID: Intel's processors do since Ivy Bridge, AMD's from Linux \
6.17 on, and most virtual machines. On AArch64 the auxiliary vector is edited instead; that has not been tried on such a \
machine yet.
Knobs
  Environment variables that OpenSSL, BoringSSL, AWS-LC, GnuTLS, nettle, NSS, Go, Java, Botan, glibc and Millstream read. \
Values that are set already are kept and extended. Variables that make a program print something extra (JAVA_TOOL_OPTIONS, \
GODEBUG with newer names) are set only where CPUID can't be answered.

Where CPUID can't be answered, a message says so, and knobs act alone, as with --knobs-only. ring, RustCrypto, libgcrypt, \
libsodium and others have no knobs.

A program that does not ask has the features anyway: one that was compiled for them, that reads /proc/cpuinfo, or that uses \
XGETBV. Code in the kernel is not reached. A set-user-ID program gets no privileges while it is traced. Processes that the \
program leaves running when it ends keep the answers they got, and programs that these start find every feature.

With --json, the object has a member without: asked and withheld (arrays of names; withheld lists those that the processor \
has), cpuid (null, or answered and programs), why_no_cpuid, knobs (an array of library, variable and value), notes, and \
why_failed if a program failed soon.",
    ),
    (
        "WHAT IS SET",
        "OPENSSL_CONF
  A configuration in a temporary folder, which includes that of the program and adds the provider. Other providers and \
settings stay as they are, and random numbers are left to OpenSSL's own generator. OPENSSL_MODULES is not touched: the \
module is named by its path, so that the system's own modules are found as before.
MILLSTREAM_TALLY
  The file in which all processes count.
MILLSTREAM_SOCKET
  The service's socket, with --isolated.

Programs that read a configuration of their own, or that start others without these variables, are not reached. Neither are \
set-user-ID programs and those that bring another library. A program of Node.js reads the same file. A service that is started \
for the run serves this user, or every user if this user is root. Another service decides by its policy about the user that a \
program may change to. A program that calls chroot(2) before its first key, as Dovecot's login processes do, is served over a \
connection that the provider made when the program first fetched an algorithm, with the program's user at that time. The \
service closes such a connection after a minute without a request (idle_s in the policy). After that, the program can set no \
key.",
    ),
    (
        "THE END",
        "The run ends when CMD does, even if CMD has left processes behind, so run servers in the foreground. Signals \
to this command are passed on to CMD, so that a supervisor need not know of it.",
    ),
    (
        "THE TABLE",
        "An operation is one message or record, or one update of a stream. Bytes are those of the data. If nothing was \
accelerated, the likely reason is given. With --json the report is an object: version (1), command, status, service (null, or \
socket and own, which is true if it was started for the run), accelerated (an array of place, algorithm, kernel, operations \
and bytes, the most bytes first) and nothing (null, or the reason).",
    ),
    (
        "EXIT STATUS",
        "That of CMD; 128 plus the signal's number if a signal ended it; 126 if it can't be run and 127 if it does not \
exist; 1 if the setup failed, and 2 if the command was called wrongly. If CMD fails soon without features, the likely \
reason is given.",
    ),
    (
        "EXAMPLES",
        "A program of the distribution, unchanged:

  millstream run -- openssl speed -evp aes-256-gcm
  millstream run -- curl -O https://example.org/file

A server whose session keys are in another process, and the table in a file:

  millstream run --isolated --report table -- nginx -g 'daemon off;'

Programs as on a processor without AES, or without AVX-512, and one that has nothing but SSE2:

  millstream run --without aes -- openssl speed -evp aes-128-gcm
  millstream run --without avx512 -- python3 job.py
  millstream run --with-only '' -- ssh -V",
    ),
];

pub(super) const SPARC: &[Section] = &[
    (
        "THE PROGRAM",
        "The program can be any for Linux on 64-bit SPARC, static or dynamic. A dynamic one needs a sparc64 system's libraries, \
which --sysroot names: absolute paths that exist there are taken from there, others from this machine. On Debian, \
use --sysroot /usr/sparc64-linux-gnu after installing libc6-sparc64-cross.

Files, descriptors, children, timers, sockets, semaphores, message queues and the terminal are this process's own. Programs \
that it starts are run the same way if they are for sparc64, and natively if they are for this machine. Memory that is shared \
with children, shared mappings of files, and segments of System V are the host's: every process sees at once what another \
writes, compare-and-swap is atomic, and semaphores in such memory wake their waiters. A program has 256 GiB of addresses.

Threads take turns on one processor: each is a thread of this process, and one at a time executes the program.

These calls fail with ENOSYS: asynchronous input and output (io_setup, io_uring), ptrace and calls that read other processes, \
mount and namespaces, keys, BPF, performance events, fanotify, userfaultfd, landlock, memory placement, quotas, modules, \
epoll_pwait2, openat2, sched_setattr, signals through a pidfd, and futexes with priority inheritance. seccomp fails with \
EINVAL.

--trace-syscalls reports each system call, and other events that stopped the program.",
    ),
    (
        "CAPABILITIES",
        "--hwcap takes the names of isainfo with a minus before each, as LD_HWCAP did on Solaris, and Linux's names for the two \
parts of mont, montmul and montsqr. A capability that is taken away is missing in AT_HWCAP, in %cfr and in the processor: its \
instructions raise SIGILL. Programs that check any of the three choose other code.",
    ),
    (
        "EXIT STATUS",
        "The program's own. A signal that ended the program ends this command too.

126
  when the program can't be run: it is for another machine, or its interpreter is missing.
127
  when there is no such file.",
    ),
    (
        "EXAMPLES",
        "The T4's capabilities, and the same without AES:

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
        "Runs are made in pairs, one run each way, in the order A B B A, after --warmup pairs that don't count. The time is \
that from start to end. The processor time is that in user and kernel mode of CMD and of the processes it waited for. The \
factor is that of the medians. Behind it are the lowest and the highest factor of the pairs, without a tenth at each end. If \
these disagree on which way is faster, or differ by less than 1 %, no difference is claimed. With fewer than 3 runs, a factor \
below 1.2 is not claimed either.

With all features, CMD runs under the same tracer, which answers CPUID truthfully. A CPUID then takes some microseconds, \
and each program takes some milliseconds more to start.

The standard output of CMD is read and digested, and the digests of both ways are compared. Programs that print times write \
something else each time; nothing is said about their output then.",
    ),
    (
        "JSON",
        "An object: version (1), command, runs, with and without (each wall_s and cpu_s, arrays of seconds), wall_ratio and \
cpu_ratio (each median, low, high, differs), output (same, different or varies), and layers, which is the member without \
of millstream-run(1).",
    ),
    (
        "EXIT STATUS",
        "0
  when both ways were measured.
1
  when CMD could not be run, or failed one way or both. The message says which way, and shows its last output.
2
  when the command was called wrongly, or this processor has none of the features to withhold.",
    ),
    (
        "EXAMPLES",
        "The worth of the processor's AES to an archive, and of AVX-512 to sorting:

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
SM3, SM4 and GFNI, for CRC32, and for ADX, MULX and AVX-512 IFMA, which serve long numbers. That includes later mappings, \
and code that Java makes at run time. A breakpoint is set where such an instruction begins, but only if symbols, unwinding \
tables, Go's function table, the virtual machine or the known beginning of a library's function prove that an instruction \
begins there, because it might be data otherwise. Places without a proof are counted and reported.

The program need not be prepared, may be static or stripped, and behaves as it does untraced. When the trace ends, all \
breakpoints are removed.",
    ),
    (
        "MODES",
        "--once
  A breakpoint is removed when it was reached. Reports what ran, and what did not, at nearly no cost.
--count
  Counts each call of a function with such instructions. Each takes a hundred thousandth of a second or more, so use it for \
short commands.
--rate
  Sets removed breakpoints again ten times a second. Reports in how many of these samples a function ran, and a lower bound \
of how often it is called per second while a thread is busy with it.

If the processor itself counts cryptographic instructions (AMD from Zen 4 on, AArch64) and the system allows it, its count is \
shown below.",
    ),
    (
        "THE REPORT",
        "First come the answers: whether AES, carry-less multiplication and SHA of the processor were used, and by which \
functions; other kinds are listed if they were used. Then each function that executed such instructions has a line: its class, \
its purpose, and its callers, the nearest first. Functions without a name are called fn_ and their address; names of C++ and \
Rust are shown without parameters. On a terminal long names are cut, and * replaces the part of a library's file name that \
differs in each run.

Instructions that ran for something else than the program's own cryptography are noise, and no yes: random generators of \
libraries are made of AES, hash tables mix keys with it, and libraries test themselves when they start. Then follows what could \
not be watched. If such instructions may have run there, the answer is not seen; this is so for programs that can rewrite their \
executable memory unnoticed. With -v, the report adds what did not run, and the cost of the trace.

The report goes to standard error, so that the program's output stays its own, or to the file of --report.",
    ),
    (
        "JSON",
        "An object: version (1), mode, seconds, samples, answers (an array of question, classes, answer, perhaps_checksum and \
functions; answer is yes, noise, unused, absent or unknown), processes (pid, command, began_s, watched_s, attached, ended, and \
modules, which are indices of the next array), modules (path, library, build_id, present, watched and unproved, which are \
objects of class and number, unwatchable, functions), counters (classes, event, count, speculative), notes (an array of \
sentences) and cost. A function has name, symbol (the name in the file, if it is another one), address, bounds, present, ran, \
worked, entries, samples, entries_per_s, hits, first_s, callers (arrays of names), origins and by_process.",
    ),
    (
        "THE CACHE",
        "The findings about a file with a megabyte of code or more are kept in $XDG_CACHE_HOME/millstream, or \
~/.cache/millstream, so that the next trace need not look through it. They are used only for the very same file: its device, \
inode, length and build id, and the times at which it and its inode changed, to the nanosecond, by the kernel's own clock. So \
the cache is not used for files that changed in the last two seconds or have no build id, on network file systems and FUSE, \
or in containers. Another version of the search begins anew, and a damaged entry is written anew.

The folder must be the user's own, and nobody else may write to it. Otherwise it is left alone, as under sudo with another \
user's home. A process with more rights than its user uses none. The cache holds 64 MB at most, of which the oldest entries are \
removed first, and may be removed at any time. --no-cache looks through everything, and keeps nothing.",
    ),
    (
        "THE END",
        "With CMD, the trace ends when CMD and all processes that it left running have ended; a message names those processes. \
If this command is killed or asked to end, those that still run are killed too. Signals, including those from the terminal, \
are CMD's. With --pid, the trace ends when the process does, after --seconds, or at SIGINT, SIGTERM or SIGHUP. Then the \
process goes on as before, and the report is written.

The processes of a server can all be traced together (-p \"$(pgrep nginx)\", or -p 7 -p 8); the trace ends with the last of \
them. Or trace its newest worker ($(pgrep -n nginx)), or the first process ($(pgrep -o postgres)) if that starts one for each \
connection. The report names other processes of the same program that were not watched.",
    ),
    (
        "EXIT STATUS",
        "That of CMD; 128 plus the signal's number if a signal ended it; 126 if it can't be run and 127 if it does not \
exist. With --pid 0. 1 if the process can't be traced, and 2 if the command was called wrongly.",
    ),
    (
        "EXAMPLES",
        "Does it use hardware AES? How often, as DTrace counted? And a server, for ten seconds:

  millstream trace -- openssl enc -aes-128-cbc -K 00 -iv 00 -in disk.img -out /dev/null
  millstream trace --count -- openssl speed -seconds 1 -evp aes-128-cbc
  millstream trace --rate --seconds 10 -p $(pgrep -n nginx)

A check that none of it is left without AES:

  millstream trace --without aes -- openssl speed -seconds 1 -evp aes-128-gcm",
    ),
];

pub(super) const OPENSSL_CONF: &[Section] = &[
    (
        "USE",
        "Write the configuration to a file and name the file in OPENSSL_CONF, in a systemd unit or a user's profile. For all \
programs that read the system's file, append it to that file with --append; no program needs OPENSSL_CONF then. The same \
text works for programs of Node.js, which look for nodejs_conf.

The provider's section may have further lines: socket and isolated (yes or no), which mean what the options mean, and tally, \
a file of counters.",
    ),
    (
        "WHAT IT CHANGES",
        "The file's own sections for providers, alg_section and random are extended. The default provider is \
activated, unless the file activates others without it. Millstream is preferred with the property ?millstream.accelerated=yes, \
which is added to default_properties: a file that demands fips=yes still gets that. Random numbers stay with \
the default provider.",
    ),
    (
        "EXAMPLES",
        "For the programs of one service, then for all:

  millstream openssl-conf > /etc/ssl/millstream.cnf
  millstream openssl-conf --append >> /etc/ssl/openssl.cnf

The providers that a program gets:

  OPENSSL_CONF=/etc/ssl/millstream.cnf openssl list -providers",
    ),
];

pub(super) const SERVE: &[Section] = &[
    (
        "READINESS",
        "The service is ready when clients can connect; a line of the log says where. With --ready-fd N, the socket's path and \
a newline are also written to that descriptor, which must be a pipe or a file. If NOTIFY_SOCKET is set, systemd is \
told when the service is ready, reads its policy again or ends, for units of Type=notify or notify-reload. A socket \
that systemd listens at is taken over: use ListenSequentialPacket= in the socket unit. Of several, the one \
named millstream is taken.",
    ),
    (
        "SIGNALS",
        "SIGTERM, SIGINT
  Submitted operations are finished, clients are told, workers end, and the socket is removed.
SIGHUP
  The policy file is read again. A file that can't be used changes nothing. 'millstream reload' does the same and reports \
whether it succeeded.",
    ),
    (
        "SPINNING",
        "An idle worker polls for work for as long as --spin-us says, and then sleeps until a doorbell \
rings. A longer time makes pauses cheaper for clients, but costs a processor's time. A sleeping worker costs none.",
    ),
    (
        "MEMORY",
        "Keys, and the heap and the stacks of workers, lie in memory that nobody else can read (memfd_secret), or in locked \
memory if the kernel has none. Both count as locked memory: for each worker, the limit (ulimit -l, LimitMEMLOCK= in a unit) \
should exceed --key-memory by 76 MiB. A worker that may lock less has less memory for keys, and grants that do not fit are \
refused; it also opens shorter objects only, as millstream status shows. With a still lower limit, a worker's heap is partly \
ordinary memory, which can be swapped. MemorySwapMax=0 in a unit prevents that, also for the memory that is shared with \
clients. A machine can't hibernate while a process uses memfd_secret.",
    ),
    (
        "LOG",
        "The log goes to standard error. Lines have the time only on a terminal, because the journal adds it itself. If a user \
causes more than 20 lines of a kind at once, or more than one a second after that, the others are left out; left_out= in the \
next line gives their number.",
    ),
    (
        "EXIT STATUS",
        "0
  when a signal ended it.
1
  when it could not start, or could not go on.
2
  when it was called wrongly.",
    ),
    (
        "ENVIRONMENT",
        "MILLSTREAM_SOCKET
  The socket, if --socket does not name one. Without both it is millstream.sock in XDG_RUNTIME_DIR, or in \
/run/user/UID; root's is /run/millstream/millstream.sock.",
    ),
    (
        "METRICS",
        "--metrics serves /metrics over HTTP, in the text format of Prometheus (version 0.0.4). The counts of queues are given for \
each user: labels have uids, of at most 1024 users, and \"others\" for the rest. --metrics-names lists each grant instead, \
with its number, its process and the client's name. Clients choose these names, and each makes a series that Prometheus keeps, \
so use it if you trust the clients, or to look for something.

Everybody who can connect to a port can read the metrics, including every user of the machine. A socket in the file system \
(unix:PATH) has mode 0660: the service's user and group can connect, as far as its directory lets them. A request at a port is \
refused (421) unless it is for localhost, a loopback address, the address that it came to or a --metrics-host, so that web pages \
can't make browsers read the metrics. A connection lasts at most 5 s. There are at most 32; one more closes the one that has \
been idle longest.",
    ),
    (
        "EXAMPLES",
        "For yourself, and for a machine, with two accelerators on processors of their own:

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
  The mean number of operations it computed together, for all of its grants.
SLEEPS
  The number of times it went to sleep for want of work, in all and per second.
RESTARTS
  The number of times it died and was started again.
KEYS IN, SANDBOX
  The kind of memory its keys are in, and the sandbox it is in.",
    ),
    (
        "GRANTS",
        "GRANT, USER, PID, PROGRAM
  Its number and its owner, as the kernel identified the client when it connected.
QUEUES, IN FLIGHT
  Its queues, and how many operations each takes; operations that are in flight now.
OPS, OPS/S, BYTES/S
  Operations since the grant began; operations, and bytes of their sources, per second.
BELLS/S, WAKES/S
  How often per second a sleeping worker, or the sleeping client, had to be woken.
KEYS
  Keys it holds, of the slots it has.
ERRORS
  Operations that failed. Below the table they are listed by the rule they broke.",
    ),
    (
        "LIMITS",
        "LIMITS OF
  The service, each worker and each user that holds anything: the amount that is charged, and after a slash the limit. \
Users who share an account are shown as the one with the lowest number. Users other than root and operators see their own.
GRANTS, CONNECTIONS, DESCRIPTORS, QUEUES
  Grants until their worker has let go, connections without a grant, descriptors of the service, queues.
MEMORY, KEY MEMORY
  Bytes of arenas and rings; bytes that are reserved for keys, 2 KiB for a key slot.
ORDERS
  Orders to make or end grants that a worker has not answered.",
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
  when it failed. No output is left under its final name, and the input is as it was. Output that went to standard output \
before the failure can't be taken back. With the tink format it consists of whole segments that verified, so check the status \
before using them.
2
  when the command was called wrongly.
130, 143, 129
  when SIGINT, SIGTERM or SIGHUP ended it. Nothing is left behind, and the input is as it was.",
);

const FORMATS: Section = (
    "FORMATS",
    "Without --format, decrypt accepts a file by its look only if that format is authenticated, which is tink. \
Otherwise anybody who can write the file could replace it by one of another format, and change the plaintext unnoticed. For \
the other formats, decrypt says what the file looks like and which option to add. The names aes, arcfour, des and 3des for -a \
mean the format solaris.

tink
  Tink's streaming AEAD AES256-GCM-HKDF with 1 MB segments, the default. It is authenticated: a change, a truncation \
and a wrong key are detected. -k names 32 random bytes, or a cleartext Tink keyset in JSON. With a \
passphrase, 40 bytes in front of the stream say how Argon2id makes the key from it.
solaris
  Version 1 of the format of the Solaris commands, with -a aes, arcfour, des or 3des. It is not authenticated.
openssl
  The format of openssl enc -pbkdf2, with a passphrase. -a takes openssl's names; the default is aes-256-cbc. It is not \
authenticated.
raw
  Ciphertext alone, with -a, -k and --iv. aes-gcm and chacha20-poly1305 append a tag of 16 bytes, \
and take at most 1 GiB; aes-xts takes at most 16 MiB, as one data unit.",
);

const FILES: Section = (
    "OUTPUT FILES",
    "The output gets its name only when it is complete and verified. Until then it has no name, or, if the \
file system does not allow that, a hidden one in the same directory that is removed on failure. So -i and -o \
may name the same file. An existing file keeps its permissions; its other hard links keep the old contents.

A new file is no more readable than the file it is made from. It has the permissions of that file, except those to execute \
and those that the umask takes away. If its group differs from the input's, the group gets no more than everyone has. \
Data that is decrypted from a pipe can be read by the owner only. The files of the key, the passphrase and the initialisation \
vector are never overwritten, whatever link names them.",
);

const SLIPS: Section = (
    "CAUTIONS",
    "An option with a value may be given once, and each run has one input. encrypt does not write to a terminal, and decrypt \
shows only text there; -o - overrides that. encrypt warns, in one line that -q turns off, if the format is not authenticated, \
if the algorithm is too weak for new data, and if the key file holds text or hexadecimal digits instead of a random key. The \
format tink refuses a key that is all zero.",
);

const SOLARIS: Section = (
    "SOLARIS",
    "Called through a link named encrypt or decrypt, the command is that of Solaris with more formats. The format of a file \
does not depend on the command's name: on Solaris -a is required, and with the algorithms of Solaris it means the format of \
Solaris here too. Without -a and --format, the same rules hold as for millstream encrypt and millstream decrypt. Under these \
names the last of repeated options counts, as with getopt(3C), and the only warning is of a key that everyone may \
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

Files that openssl enc -aes-256-cbc -pbkdf2 and an old Solaris machine wrote:

  decrypt --format openssl -a aes-256-cbc -i a.enc -o a
  decrypt -a aes -k key -i a.enc -o a",
    ),
];

/// Formats the sections as `--help` shows them.
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
            // These four have pages of their own names.
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

    /// Writes a page named like the subcommand, as `millstream-digest`, so that it does not hide another
    /// program's page.
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

/// Formats a section in roff. An indented line after a plain one is its item, others are kept as they are.
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
