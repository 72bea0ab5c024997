//! Pages of the commands that run or watch other programs, and `openssl-conf`.

use super::Section;

pub const RUN: &[Section] = &[
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

pub const TRACE: &[Section] = &[
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
sentences), unreadable (an array of path and why) and cost. Where a path, module or command is not UTF-8, its bytes are in Base64 in \
path_base64, module_base64 or command_base64, too. A function has name, symbol (the name in the file, if it is another one), address, bounds, present, ran, \
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

  millstream trace -- openssl enc -aes-128-cbc -pbkdf2 -k secret -in disk.img -out /dev/null
  millstream trace --count -- openssl speed -seconds 1 -evp aes-128-cbc
  millstream trace --rate --seconds 10 -p $(pgrep -n nginx)

A check that none of it is left without AES:

  millstream trace --without aes -- openssl speed -seconds 1 -evp aes-128-gcm",
    ),
];

pub const COMPARE: &[Section] = &[
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
something else each time; nothing is said about their output then.

A warning says when other programs or a hypervisor took processors meanwhile, or when the factors of the pairs differ by more than \
a factor of 1.25: the processor time says more than the time then.",
    ),
    (
        "JSON",
        "An object: version (1), command, runs, with and without (each wall_s and cpu_s, arrays of seconds), wall_ratio and \
cpu_ratio (each median, low, high, differs), disturbed (an array of objects with kind and text, as in millstream-speed(1)), \
output (same, different or varies), and layers, which is the member without of millstream-run(1).",
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

pub const OPENSSL_CONF: &[Section] = &[
    (
        "USE",
        "Write the configuration to a file and name the file in OPENSSL_CONF, in a systemd unit or a user's profile. For all \
programs that read the system's file, append it to that file with --append; no program needs OPENSSL_CONF then. The same \
text works for programs of Node.js, which look for nodejs_conf.

The provider's section may have further lines: socket and isolated (yes, private or no), which mean what the options mean, and tally, \
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

pub const SPARC: &[Section] = &[
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

OpenSSL on a T4, with the crypto instructions that it executed, and on a T2, which has none. In a checkout, cargo xtask \
openssl builds such a program and prints its place:

  millstream sparc --mix ./openssl speed -evp aes-128-cbc
  millstream sparc --cpu t2 ./openssl speed -evp aes-128-cbc",
    ),
];
