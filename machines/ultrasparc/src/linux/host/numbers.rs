//! The table of the host's calls: each one's number, and which of its arguments are pointers to how many bytes.

use std::ffi::c_long;

/// The bytes that the kernel may touch at a pointer, and how.
#[derive(Clone, Copy)]
pub(super) enum Touch {
    /// Reads up to a zero.
    Text,
    /// Reads as many as the argument of that index says.
    Reads(usize),
    /// Writes as many as the argument of that index says.
    Writes(usize),
    /// Reads that many.
    ReadsBytes(u64),
    /// Writes that many.
    WritesBytes(u64),
    /// Reads and writes an array, of as many elements of that size as the argument of that index says.
    Each(usize, u64),
    /// Reads eight, and as many more as the argument of that index says.
    ReadsAfter(usize),
    /// Writes eight, and as many more as the argument of that index says.
    WritesAfter(usize),
    /// Writes as many as the 32-bit number says that the argument of that index points to.
    WritesCounted(usize),
}
use Touch::{Each, Reads, ReadsAfter, ReadsBytes, Text, Writes, WritesAfter, WritesBytes, WritesCounted};

/// A call of the host: its number, and which of its arguments are pointers to what.
#[derive(Clone, Copy)]
pub struct Number {
    pub(super) raw: c_long,
    pub(super) touches: &'static [(usize, Touch)],
}

macro_rules! numbers {
    ($($name:ident = $raw:ident [$($index:literal: $touch:expr),*];)*) => {
        $(#[allow(missing_docs)] pub const $name: Number = Number { raw: libc::$raw, touches: &[$(($index, $touch)),*] };)*
    };
}

/// Bytes of the host's structures, whose layouts are those of every 64-bit Linux but SPARC's own exceptions.
pub mod bytes {
    #![allow(missing_docs)]
    pub const TIMESPEC: usize = 16;
    pub const ITIMERSPEC: usize = 32;
    pub const TIMEVAL: usize = 16;
    pub const RUSAGE: usize = 144;
    pub const SIGINFO: usize = 128;
    pub const SIGSET: usize = 8;
    pub const RLIMIT: usize = 16;
    pub const FD_SET: usize = 128;
    pub const POLLFD: usize = 8;
    pub const EPOLL_EVENT: usize = std::mem::size_of::<libc::epoll_event>();
    pub const STATX: usize = 256;
    pub const SYSINFO: usize = 112;
    pub const FLOCK: usize = 32;
    pub const UTSNAME: usize = 390;
    pub const SHMID: usize = 112;
    pub const SEMID: usize = std::mem::size_of::<libc::semid_ds>();
    pub const MSQID: usize = 120;
    /// Two bytes for each semaphore of the largest set.
    pub const SEMAPHORES: usize = 2 * 65536;
    pub const MQ_ATTR: usize = 64;
    pub const SIGEVENT: usize = 64;
    pub const CAPABILITIES: usize = 24;
    /// A handle's head, and the longest handle.
    pub const FILE_HANDLE: usize = 8 + 128;
}

use bytes as b;

numbers! {
    // Descriptors.
    READ = SYS_read [1: Writes(2)];
    WRITE = SYS_write [1: Reads(2)];
    PREAD = SYS_pread64 [1: Writes(2)];
    PWRITE = SYS_pwrite64 [1: Reads(2)];
    CLOSE = SYS_close [];
    CLOSE_RANGE = SYS_close_range [];
    LSEEK = SYS_lseek [];
    DUP = SYS_dup [];
    DUP3 = SYS_dup3 [];
    PIPE2 = SYS_pipe2 [0: WritesBytes(8)];
    // FCNTL takes a number, a lock or an owner.
    FCNTL = SYS_fcntl [];
    FCNTL_LOCK = SYS_fcntl [2: WritesBytes(b::FLOCK as u64)];
    FCNTL_OWNER = SYS_fcntl [2: WritesBytes(8)];
    FLOCK = SYS_flock [];
    FSYNC = SYS_fsync [];
    FDATASYNC = SYS_fdatasync [];
    SYNC = SYS_sync [];
    SYNCFS = SYS_syncfs [];
    SYNC_FILE_RANGE = SYS_sync_file_range [];
    FTRUNCATE = SYS_ftruncate [];
    FALLOCATE = SYS_fallocate [];
    FADVISE = SYS_fadvise64 [];
    READAHEAD = SYS_readahead [];
    SENDFILE = SYS_sendfile [2: WritesBytes(8)];
    COPY_FILE_RANGE = SYS_copy_file_range [1: WritesBytes(8), 3: WritesBytes(8)];
    SPLICE = SYS_splice [1: WritesBytes(8), 3: WritesBytes(8)];
    TEE = SYS_tee [];
    // IOCTL takes a number, nothing, or that many bytes at the third argument.
    IOCTL = SYS_ioctl [];
    IOCTL_INT = SYS_ioctl [2: WritesBytes(4)];
    IOCTL_WINSIZE = SYS_ioctl [2: WritesBytes(8)];
    IOCTL_TERMIOS = SYS_ioctl [2: WritesBytes(36)];
    EVENTFD = SYS_eventfd2 [];
    TIMERFD_CREATE = SYS_timerfd_create [];
    TIMERFD_SETTIME = SYS_timerfd_settime [2: ReadsBytes(b::ITIMERSPEC as u64), 3: WritesBytes(b::ITIMERSPEC as u64)];
    TIMERFD_GETTIME = SYS_timerfd_gettime [1: WritesBytes(b::ITIMERSPEC as u64)];
    MEMFD_CREATE = SYS_memfd_create [0: Text];
    PIDFD_OPEN = SYS_pidfd_open [];
    SIGNALFD = SYS_signalfd4 [1: ReadsBytes(b::SIGSET as u64)];
    INOTIFY_INIT = SYS_inotify_init1 [];
    INOTIFY_ADD = SYS_inotify_add_watch [1: Text];
    INOTIFY_REMOVE = SYS_inotify_rm_watch [];

    // Paths.
    OPENAT = SYS_openat [1: Text];
    STATX = SYS_statx [1: Text, 4: WritesBytes(b::STATX as u64)];
    ACCESS = SYS_faccessat [1: Text];
    ACCESS2 = SYS_faccessat2 [1: Text];
    READLINK = SYS_readlinkat [1: Text, 2: Writes(3)];
    LINK = SYS_linkat [1: Text, 3: Text];
    SYMLINK = SYS_symlinkat [0: Text, 2: Text];
    UNLINK = SYS_unlinkat [1: Text];
    RENAME = SYS_renameat2 [1: Text, 3: Text];
    MKDIR = SYS_mkdirat [1: Text];
    MKNOD = SYS_mknodat [1: Text];
    CHMOD = SYS_fchmodat [1: Text];
    FCHMOD = SYS_fchmod [];
    CHOWN = SYS_fchownat [1: Text];
    FCHOWN = SYS_fchown [];
    TRUNCATE = SYS_truncate [0: Text];
    UTIMENS = SYS_utimensat [1: Text, 2: ReadsBytes(32)];
    CHDIR = SYS_chdir [0: Text];
    FCHDIR = SYS_fchdir [];
    CHROOT = SYS_chroot [0: Text];
    GETCWD = SYS_getcwd [0: Writes(1)];
    GETDENTS = SYS_getdents64 [1: Writes(2)];
    STATFS = SYS_statfs [0: Text, 1: WritesBytes(120)];
    FSTATFS = SYS_fstatfs [1: WritesBytes(120)];
    UMASK = SYS_umask [];
    GETXATTR = SYS_getxattr [0: Text, 1: Text, 2: Writes(3)];
    LGETXATTR = SYS_lgetxattr [0: Text, 1: Text, 2: Writes(3)];
    FGETXATTR = SYS_fgetxattr [1: Text, 2: Writes(3)];
    LISTXATTR = SYS_listxattr [0: Text, 1: Writes(2)];
    LLISTXATTR = SYS_llistxattr [0: Text, 1: Writes(2)];
    FLISTXATTR = SYS_flistxattr [1: Writes(2)];
    SETXATTR = SYS_setxattr [0: Text, 1: Text, 2: Reads(3)];
    LSETXATTR = SYS_lsetxattr [0: Text, 1: Text, 2: Reads(3)];
    FSETXATTR = SYS_fsetxattr [1: Text, 2: Reads(3)];
    REMOVEXATTR = SYS_removexattr [0: Text, 1: Text];
    LREMOVEXATTR = SYS_lremovexattr [0: Text, 1: Text];
    FREMOVEXATTR = SYS_fremovexattr [1: Text];

    NAME_TO_HANDLE = SYS_name_to_handle_at [1: Text, 2: WritesBytes(b::FILE_HANDLE as u64), 3: WritesBytes(8)];
    OPEN_BY_HANDLE = SYS_open_by_handle_at [1: ReadsBytes(b::FILE_HANDLE as u64)];

    // Processes and their identity.
    GETPID = SYS_getpid [];
    GETPPID = SYS_getppid [];
    GETTID = SYS_gettid [];
    GETUID = SYS_getuid [];
    GETEUID = SYS_geteuid [];
    GETGID = SYS_getgid [];
    GETEGID = SYS_getegid [];
    SETUID = SYS_setuid [];
    SETGID = SYS_setgid [];
    SETREUID = SYS_setreuid [];
    SETREGID = SYS_setregid [];
    SETRESUID = SYS_setresuid [];
    SETRESGID = SYS_setresgid [];
    GETRESUID = SYS_getresuid [0: WritesBytes(4), 1: WritesBytes(4), 2: WritesBytes(4)];
    GETRESGID = SYS_getresgid [0: WritesBytes(4), 1: WritesBytes(4), 2: WritesBytes(4)];
    SETFSUID = SYS_setfsuid [];
    SETFSGID = SYS_setfsgid [];
    GETGROUPS = SYS_getgroups [1: Each(0, 4)];
    SETGROUPS = SYS_setgroups [1: Each(0, 4)];
    GETPGID = SYS_getpgid [];
    SETPGID = SYS_setpgid [];
    GETSID = SYS_getsid [];
    SETSID = SYS_setsid [];
    GETPRIORITY = SYS_getpriority [];
    SETPRIORITY = SYS_setpriority [];
    SCHED_YIELD = SYS_sched_yield [];
    SCHED_GETAFFINITY = SYS_sched_getaffinity [2: Writes(1)];
    SCHED_SETAFFINITY = SYS_sched_setaffinity [2: Reads(1)];
    SCHED_GETSCHEDULER = SYS_sched_getscheduler [];
    SCHED_SETSCHEDULER = SYS_sched_setscheduler [2: ReadsBytes(4)];
    SCHED_GETPARAM = SYS_sched_getparam [1: WritesBytes(4)];
    SCHED_SETPARAM = SYS_sched_setparam [1: ReadsBytes(4)];
    SCHED_MAX = SYS_sched_get_priority_max [];
    SCHED_MIN = SYS_sched_get_priority_min [];
    SCHED_INTERVAL = SYS_sched_rr_get_interval [1: WritesBytes(b::TIMESPEC as u64)];
    GETCPU = SYS_getcpu [0: WritesBytes(4), 1: WritesBytes(4)];
    IOPRIO_GET = SYS_ioprio_get [];
    IOPRIO_SET = SYS_ioprio_set [];
    WAIT4 = SYS_wait4 [1: WritesBytes(4), 3: WritesBytes(b::RUSAGE as u64)];
    WAITID = SYS_waitid [2: WritesBytes(b::SIGINFO as u64), 4: WritesBytes(b::RUSAGE as u64)];
    PRLIMIT = SYS_prlimit64 [2: ReadsBytes(b::RLIMIT as u64), 3: WritesBytes(b::RLIMIT as u64)];
    GETRUSAGE = SYS_getrusage [1: WritesBytes(b::RUSAGE as u64)];
    // PRCTL is made only with numbers, and for requests that leave memory alone.
    PRCTL = SYS_prctl [];
    PRCTL_NAME = SYS_prctl [1: WritesBytes(16)];
    PERSONALITY = SYS_personality [];
    CAPGET = SYS_capget [0: WritesBytes(8), 1: WritesBytes(b::CAPABILITIES as u64)];
    CAPSET = SYS_capset [0: WritesBytes(8), 1: ReadsBytes(b::CAPABILITIES as u64)];
    // KCMP takes numbers, or a place in an epoll.
    KCMP = SYS_kcmp [];
    KCMP_EPOLL = SYS_kcmp [4: ReadsBytes(12)];
    SYSLOG = SYS_syslog [1: Writes(2)];
    // FUTEX compares, waits and wakes; the kernel writes nothing. It takes a time, or a second word to which waiters
    // move.
    FUTEX = SYS_futex [0: ReadsBytes(4), 3: ReadsBytes(b::TIMESPEC as u64)];
    FUTEX_REQUEUE = SYS_futex [0: ReadsBytes(4), 4: ReadsBytes(4)];
    SYSINFO = SYS_sysinfo [0: WritesBytes(b::SYSINFO as u64)];
    UNAME = SYS_uname [0: WritesBytes(b::UTSNAME as u64)];
    SETHOSTNAME = SYS_sethostname [0: Reads(1)];
    SETDOMAINNAME = SYS_setdomainname [0: Reads(1)];
    GETRANDOM = SYS_getrandom [0: Writes(1)];
    MEMBARRIER = SYS_membarrier [];

    // Signals.
    KILL = SYS_kill [];
    TKILL = SYS_tkill [];
    TGKILL = SYS_tgkill [];
    SIGPROCMASK = SYS_rt_sigprocmask [1: Reads(3), 2: Writes(3)];
    SIGPENDING = SYS_rt_sigpending [0: Writes(1)];
    SIGSUSPEND = SYS_rt_sigsuspend [0: Reads(1)];
    SIGTIMEDWAIT =
        SYS_rt_sigtimedwait [0: Reads(3), 1: WritesBytes(b::SIGINFO as u64), 2: ReadsBytes(b::TIMESPEC as u64)];
    SIGQUEUE = SYS_rt_sigqueueinfo [2: ReadsBytes(b::SIGINFO as u64)];
    TGSIGQUEUE = SYS_rt_tgsigqueueinfo [3: ReadsBytes(b::SIGINFO as u64)];

    // Time.
    CLOCK_GETTIME = SYS_clock_gettime [1: WritesBytes(b::TIMESPEC as u64)];
    CLOCK_GETRES = SYS_clock_getres [1: WritesBytes(b::TIMESPEC as u64)];
    CLOCK_SETTIME = SYS_clock_settime [1: ReadsBytes(b::TIMESPEC as u64)];
    CLOCK_NANOSLEEP =
        SYS_clock_nanosleep [2: ReadsBytes(b::TIMESPEC as u64), 3: WritesBytes(b::TIMESPEC as u64)];
    GETITIMER = SYS_getitimer [1: WritesBytes(32)];
    SETITIMER = SYS_setitimer [1: ReadsBytes(32), 2: WritesBytes(32)];
    TIMES = SYS_times [0: WritesBytes(32)];
    TIMER_CREATE = SYS_timer_create [1: ReadsBytes(64), 2: WritesBytes(4)];
    TIMER_SETTIME = SYS_timer_settime [2: ReadsBytes(b::ITIMERSPEC as u64), 3: WritesBytes(b::ITIMERSPEC as u64)];
    TIMER_GETTIME = SYS_timer_gettime [1: WritesBytes(b::ITIMERSPEC as u64)];
    TIMER_GETOVERRUN = SYS_timer_getoverrun [];
    TIMER_DELETE = SYS_timer_delete [];

    // Waiting for descriptors.
    PPOLL = SYS_ppoll [0: Each(1, b::POLLFD as u64), 2: WritesBytes(b::TIMESPEC as u64), 3: Reads(4)];
    // The sixth argument is two words, a pointer and a length, which `pselect` in the parent builds.
    PSELECT = SYS_pselect6 [
        1: WritesBytes(b::FD_SET as u64), 2: WritesBytes(b::FD_SET as u64), 3: WritesBytes(b::FD_SET as u64),
        4: WritesBytes(b::TIMESPEC as u64)
    ];
    EPOLL_CREATE = SYS_epoll_create1 [];
    EPOLL_CTL = SYS_epoll_ctl [3: ReadsBytes(b::EPOLL_EVENT as u64)];
    EPOLL_WAIT = SYS_epoll_pwait [1: Each(2, b::EPOLL_EVENT as u64), 4: Reads(5)];

    // System V's segments, semaphores and queues.
    SHMGET = SYS_shmget [];
    SHMCTL = SYS_shmctl [2: WritesBytes(b::SHMID as u64)];
    SEMGET = SYS_semget [];
    SEMTIMEDOP = SYS_semtimedop [1: Each(2, 6), 3: ReadsBytes(b::TIMESPEC as u64)];
    // SEMCTL takes a number, a structure, or all values of a set.
    SEMCTL = SYS_semctl [];
    SEMCTL_SET = SYS_semctl [3: WritesBytes(b::SEMID as u64)];
    SEMCTL_ALL = SYS_semctl [3: WritesBytes(b::SEMAPHORES as u64)];
    MSGGET = SYS_msgget [];
    MSGSND = SYS_msgsnd [1: ReadsAfter(2)];
    MSGRCV = SYS_msgrcv [1: WritesAfter(2)];
    MSGCTL = SYS_msgctl [2: WritesBytes(b::MSQID as u64)];

    // POSIX's queues.
    MQ_OPEN = SYS_mq_open [0: Text, 3: ReadsBytes(b::MQ_ATTR as u64)];
    MQ_UNLINK = SYS_mq_unlink [0: Text];
    MQ_SEND = SYS_mq_timedsend [1: Reads(2), 4: ReadsBytes(b::TIMESPEC as u64)];
    MQ_RECEIVE = SYS_mq_timedreceive [1: Writes(2), 3: WritesBytes(4), 4: ReadsBytes(b::TIMESPEC as u64)];
    MQ_NOTIFY = SYS_mq_notify [1: ReadsBytes(b::SIGEVENT as u64)];
    MQ_GETSETATTR = SYS_mq_getsetattr [1: ReadsBytes(b::MQ_ATTR as u64), 2: WritesBytes(b::MQ_ATTR as u64)];

    // Sockets.
    SOCKET = SYS_socket [];
    SOCKETPAIR = SYS_socketpair [3: WritesBytes(8)];
    BIND = SYS_bind [1: Reads(2)];
    CONNECT = SYS_connect [1: Reads(2)];
    LISTEN = SYS_listen [];
    ACCEPT = SYS_accept4 [1: WritesCounted(2), 2: WritesBytes(4)];
    GETSOCKNAME = SYS_getsockname [1: WritesCounted(2), 2: WritesBytes(4)];
    GETPEERNAME = SYS_getpeername [1: WritesCounted(2), 2: WritesBytes(4)];
    SENDTO = SYS_sendto [1: Reads(2), 4: Reads(5)];
    RECVFROM = SYS_recvfrom [1: Writes(2), 4: WritesCounted(5), 5: WritesBytes(4)];
    SHUTDOWN = SYS_shutdown [];
    GETSOCKOPT = SYS_getsockopt [3: WritesCounted(4), 4: WritesBytes(4)];
    SETSOCKOPT = SYS_setsockopt [3: Reads(4)];
}
