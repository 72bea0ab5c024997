//! The host's system calls: which of them programs may reach, what memory each touches, and how they are interrupted.
//!
//! A call is made with [`call`]. [`Number`] says for each call which arguments are pointers and how many bytes the kernel
//! may touch there, and `call` compares that with the buffers it was given. So no caller has to be believed.
//!
//! A signal that comes just before a call that sleeps must not be slept over. The two instructions before the call look at
//! what the thread has caught; a handler that interrupts between them and the call moves the program counter past it. What
//! is left then is an answer like any other: interrupted.
//!
//! # Safety
//! - `call`: the kernel touches what [`Number`] says and nothing else; `call` checks that this lies in the slices and regions
//!   that it was given. None of the calls maps, unmaps or protects memory of this process, and none starts a thread.
//! - `fork`: the child has the thread that called alone. That thread had the turn (`threads.rs`), so the others were
//!   in a call, began or ended one, or waited for their turn: they held no lock but those of the turn, which the child
//!   leaves behind, and of the C library's heap and threads, which the library releases in the child. Threads are the C library's,
//!   not those of Rust's, which has locks of its own around their ends.
#![allow(unsafe_code)]

mod caught;

use std::ffi::{CStr, CString, c_long, c_void};
use std::mem::MaybeUninit;

pub use caught::{
    CALL, Disposition, as_started, attend, block_all, call_out, caught_number, dispose, end_by, forget,
    is_caught, is_ignored, mask, reserve, reserved, send_again, set_mask, take, take_call,
};

use crate::linux::errno::{Errno, RESTART};
use crate::memory::Region;

/// An argument of a call.
pub enum Argument<'a> {
    /// A number, or no pointer.
    Word(u64),
    /// A path or another text.
    Text(&'a CStr),
    /// Bytes that the kernel reads.
    In(&'a [u8]),
    /// Bytes that the kernel writes, or reads and writes.
    Out(&'a mut [u8]),
    /// Bytes of the program's memory, which other threads may use meanwhile.
    Region(&'a Region),
}

impl From<u64> for Argument<'_> {
    fn from(word: u64) -> Self {
        Argument::Word(word)
    }
}

impl From<i32> for Argument<'_> {
    fn from(word: i32) -> Self {
        Argument::Word(word as i64 as u64)
    }
}

impl<'a> From<&'a CString> for Argument<'a> {
    fn from(text: &'a CString) -> Self {
        Argument::Text(text)
    }
}

impl<'a> From<&'a [u8]> for Argument<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Argument::In(bytes)
    }
}

impl<'a> From<&'a mut [u8]> for Argument<'a> {
    fn from(bytes: &'a mut [u8]) -> Self {
        Argument::Out(bytes)
    }
}

impl<'a> From<&'a Region> for Argument<'a> {
    fn from(region: &'a Region) -> Self {
        Argument::Region(region)
    }
}

impl<'a> From<Option<&'a [u8]>> for Argument<'a> {
    fn from(bytes: Option<&'a [u8]>) -> Self {
        bytes.map_or(Argument::Word(0), Argument::In)
    }
}

impl<'a> From<Option<&'a mut [u8]>> for Argument<'a> {
    fn from(bytes: Option<&'a mut [u8]>) -> Self {
        bytes.map_or(Argument::Word(0), Argument::Out)
    }
}

/// How many bytes the kernel may touch at a pointer, and whether it writes them.
#[derive(Clone, Copy)]
enum Touch {
    /// Up to a zero.
    Text,
    /// Reads as many as the argument of that index says.
    Reads(usize),
    /// Writes as many as the argument of that index says.
    Writes(usize),
    /// Reads that many.
    ReadsBytes(u64),
    /// Writes that many.
    WritesBytes(u64),
    /// Reads and writes so many for each of as many as the argument of that index says.
    Each(usize, u64),
    /// Reads eight, and as many more as the argument of that index says.
    ReadsAfter(usize),
    /// Writes eight, and as many more as the argument of that index says.
    WritesAfter(usize),
    /// Writes as many as the 32-bit number says to which the argument of that index points.
    WritesCounted(usize),
}
use Touch::{Each, Reads, ReadsAfter, ReadsBytes, Text, Writes, WritesAfter, WritesBytes, WritesCounted};

/// A call of the host: its number, and which of its arguments are pointers to what.
#[derive(Clone, Copy)]
pub struct Number {
    raw: c_long,
    touches: &'static [(usize, Touch)],
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
    // With a number or a lock.
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
    // With a number, none, or that many bytes at the third argument.
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

    // Processes and who they are.
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
    // Only with numbers as its arguments, and those that say nothing of memory.
    PRCTL = SYS_prctl [];
    PRCTL_NAME = SYS_prctl [1: WritesBytes(16)];
    PERSONALITY = SYS_personality [];
    CAPGET = SYS_capget [0: WritesBytes(8), 1: WritesBytes(b::CAPABILITIES as u64)];
    CAPSET = SYS_capset [0: WritesBytes(8), 1: ReadsBytes(b::CAPABILITIES as u64)];
    // With numbers, and with a place in an epoll.
    KCMP = SYS_kcmp [];
    KCMP_EPOLL = SYS_kcmp [4: ReadsBytes(12)];
    SYSLOG = SYS_syslog [1: Writes(2)];
    // The kernel compares, waits and wakes; it writes nothing. With a time, and with a second word to which waiters go over.
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
    // The sixth argument is two words: a pointer and a length, which `pselect` below builds.
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
    // With a number; with a structure; with all values of a set.
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

/// Makes a call of the host.
///
/// # Errors
/// What the kernel says; [`RESTART`] if a signal was caught before it began; `EFAULT` if a buffer is too short for what the
/// kernel may do, which is a mistake of the caller.
pub fn call<const N: usize>(number: Number, mut arguments: [Argument<'_>; N]) -> Result<u64, Errno> {
    if !number.touches.iter().all(|&(index, touch)| fits(&arguments, index, touch)) {
        debug_assert!(false, "call {} was given too short a buffer", number.raw);
        return Err(Errno(libc::EFAULT));
    }
    let mut words = [0; 6];
    for (index, (word, argument)) in words.iter_mut().zip(&mut arguments).enumerate() {
        let touched = number.touches.iter().any(|(touched, _)| *touched == index);
        *word = match argument {
            // What is not a pointer to the kernel is a number, and must not be a pointer here.
            Argument::Word(word) => *word,
            _ if !touched => return Err(Errno(libc::EFAULT)),
            Argument::Text(text) => text.as_ptr() as u64,
            Argument::In(bytes) => bytes.as_ptr() as u64,
            Argument::Out(bytes) => bytes.as_mut_ptr() as u64,
            Argument::Region(region) => region.place() as u64,
        };
    }
    // SAFETY: each pointer that the kernel follows was found to be a slice or region as long as it may touch, above.
    unsafe { raw(number.raw, &words) }
}

/// Whether an argument is no pointer, or points to as many bytes as the kernel may touch.
fn fits(arguments: &[Argument<'_>], index: usize, touch: Touch) -> bool {
    let word = |index: usize| match arguments.get(index) {
        Some(Argument::Word(word)) => *word,
        _ => 0,
    };
    let (have, written) = match arguments.get(index) {
        None | Some(Argument::Word(0)) => return true,
        Some(Argument::Word(_)) => return false,
        Some(Argument::Text(_)) => return matches!(touch, Text),
        Some(Argument::In(bytes)) => (bytes.len() as u64, false),
        Some(Argument::Out(bytes)) => (bytes.len() as u64, true),
        Some(Argument::Region(region)) => (region.length(), region.is_writable()),
    };
    match touch {
        Text => false,
        Reads(length) => have >= word(length),
        Writes(length) => written && have >= word(length),
        ReadsBytes(length) => have >= length,
        WritesBytes(length) => written && have >= length,
        Each(count, size) => written && word(count).checked_mul(size).is_some_and(|length| have >= length),
        ReadsAfter(length) => word(length).checked_add(8).is_some_and(|length| have >= length),
        WritesAfter(length) => written && word(length).checked_add(8).is_some_and(|length| have >= length),
        WritesCounted(at) => match arguments.get(at) {
            Some(Argument::Out(length)) if length.len() >= 4 => {
                let length = u32::from_ne_bytes([length[0], length[1], length[2], length[3]]);
                written && have >= u64::from(length)
            }
            _ => false,
        },
    }
}

/// # Safety
/// The kernel may follow the pointers among the words.
unsafe fn raw(number: c_long, words: &[u64; 6]) -> Result<u64, Errno> {
    // SAFETY: as this function's.
    let answer = unsafe { interruptible(caught::state(), number, words) };
    match answer {
        -4095..0 if answer == -i64::from(RESTART.0) => Err(RESTART),
        -4095..0 => Err(Errno(-answer as i32)),
        _ => Ok(answer as u64),
    }
}

/// A system call unless `caught` is set. A handler that finds the program counter between the two labels moves it to the
/// third.
///
/// # Safety
/// As [`raw`].
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn interruptible(caught: *const u8, number: c_long, words: &[u64; 6]) -> i64 {
    std::arch::naked_asm!(
        "mov rax, rsi",
        "mov r11, rdi",
        "mov rcx, rdx",
        "mov rdi, [rcx]",
        "mov rsi, [rcx + 8]",
        "mov rdx, [rcx + 16]",
        "mov r10, [rcx + 24]",
        "mov r8, [rcx + 32]",
        "mov r9, [rcx + 40]",
        ".globl millstream_sparc_call_look",
        ".globl millstream_sparc_call_made",
        ".globl millstream_sparc_call_left",
        ".hidden millstream_sparc_call_look",
        ".hidden millstream_sparc_call_made",
        ".hidden millstream_sparc_call_left",
        "millstream_sparc_call_look:",
        "cmp byte ptr [r11], 0",
        "jne millstream_sparc_call_left",
        "syscall",
        "millstream_sparc_call_made:",
        "ret",
        "millstream_sparc_call_left:",
        "mov rax, -512",
        "ret",
    )
}

/// A system call unless `caught` is set. A handler that finds the program counter between the two labels moves it to the
/// third.
///
/// # Safety
/// As [`raw`].
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn interruptible(caught: *const u8, number: c_long, words: &[u64; 6]) -> i64 {
    std::arch::naked_asm!(
        "mov x9, x0",
        "mov x8, x1",
        "mov x10, x2",
        "ldp x0, x1, [x10]",
        "ldp x2, x3, [x10, 16]",
        "ldp x4, x5, [x10, 32]",
        ".globl millstream_sparc_call_look",
        ".globl millstream_sparc_call_made",
        ".globl millstream_sparc_call_left",
        ".hidden millstream_sparc_call_look",
        ".hidden millstream_sparc_call_made",
        ".hidden millstream_sparc_call_left",
        "millstream_sparc_call_look:",
        "ldrb w11, [x9]",
        "cbnz w11, millstream_sparc_call_left",
        "svc 0",
        "millstream_sparc_call_made:",
        "ret",
        "millstream_sparc_call_left:",
        "mov x0, -512",
        "ret",
    )
}

unsafe extern "C" {
    static millstream_sparc_call_look: u8;
    static millstream_sparc_call_made: u8;
    static millstream_sparc_call_left: u8;
}

/// Makes a second process: its number, or zero in it.
///
/// # Errors
/// What the kernel says.
pub fn fork() -> Result<i32, Errno> {
    // SAFETY: no lock that the child needs is held by a thread that it has not, as this file says above.
    match unsafe { libc::fork() } {
        -1 => Err(last()),
        pid => Ok(pid),
    }
}

/// Starts a thread with a stack of that many bytes, which nobody waits for.
///
/// # Errors
/// There can be no more.
pub fn start(stack: usize, run: Box<dyn FnOnce() + Send>) -> Result<(), Errno> {
    extern "C" fn begin(run: *mut c_void) -> *mut c_void {
        // SAFETY: it is the box that was given away below.
        let run = unsafe { Box::from_raw(run.cast::<Box<dyn FnOnce() + Send>>()) };
        run();
        std::ptr::null_mut()
    }
    let run = Box::into_raw(Box::new(run));
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    // SAFETY: the attributes are made before they are used; the thread gets a box that nobody else has, and that is taken back
    // where there is no thread.
    let error = unsafe {
        libc::pthread_attr_init(attributes.as_mut_ptr());
        libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), stack);
        libc::pthread_attr_setdetachstate(attributes.as_mut_ptr(), libc::PTHREAD_CREATE_DETACHED);
        let error = libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), begin, run.cast());
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        if error != 0 {
            drop(Box::from_raw(run));
        }
        error
    };
    if error == 0 { Ok(()) } else { Err(Errno(error)) }
}

/// Ends this process at once.
pub fn exit(status: u8) -> ! {
    // SAFETY: a number only; nothing of this process is there afterwards.
    unsafe { libc::_exit(status.into()) }
}

/// Becomes another program. Returns only if that fails.
pub fn execute(path: &CStr, arguments: &[CString], environment: &[CString]) -> Errno {
    let pointers = |texts: &[CString]| -> Vec<_> {
        texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (arguments, environment) = (pointers(arguments), pointers(environment));
    // SAFETY: both lists end with a null pointer, and what they point to outlives the call.
    unsafe { libc::execve(path.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    last()
}

/// `pselect6`, whose last argument is a pointer to a pointer and a length.
///
/// # Errors
/// As [`call`].
pub fn pselect(
    count: u64,
    sets: [Option<&mut [u8]>; 3],
    timeout: Option<&mut [u8]>,
    mask: Option<u64>,
) -> Result<u64, Errno> {
    let [reads, writes, exceptions] = sets;
    let mut arguments: [Argument<'_>; 5] =
        [count.into(), reads.into(), writes.into(), exceptions.into(), timeout.into()];
    if count > 8 * b::FD_SET as u64
        || !PSELECT.touches.iter().all(|&(index, touch)| fits(&arguments, index, touch))
    {
        return Err(Errno(libc::EINVAL));
    }
    let mut words = [0; 6];
    for (word, argument) in words.iter_mut().zip(&mut arguments) {
        *word = match argument {
            Argument::Word(word) => *word,
            Argument::Out(bytes) => bytes.as_mut_ptr() as u64,
            Argument::In(_) | Argument::Text(_) | Argument::Region(_) => return Err(Errno(libc::EFAULT)),
        };
    }
    let set = mask.unwrap_or(0);
    let sized = [mask.map_or(0, |_| &raw const set as u64), b::SIGSET as u64];
    words[5] = sized.as_ptr() as u64;
    // SAFETY: the slices are as long as the call's sets and time, and the mask is one word.
    unsafe { raw(PSELECT.raw, &words) }
}

/// The most pieces of one vector.
const IOV_MAX: usize = 1024;

/// `vmsplice` into a pipe: the kernel keeps the pages of these bytes, not a copy.
///
/// # Errors
/// As [`call`].
pub fn splice_from_memory(pipe: u64, pieces: &[Region], flags: u64) -> Result<u64, Errno> {
    let vector: Vec<_> = pieces
        .iter()
        .take(IOV_MAX)
        .map(|piece| libc::iovec { iov_base: piece.place().cast(), iov_len: piece.length() as usize })
        .collect();
    // SAFETY: the kernel reads the vector and the regions that it names. What it keeps are pages, which it frees itself.
    unsafe { raw(libc::SYS_vmsplice, &[pipe, vector.as_ptr() as u64, vector.len() as u64, flags, 0, 0]) }
}

/// `vmsplice` out of a pipe: it copies.
///
/// # Errors
/// As [`call`].
pub fn splice_to_memory(pipe: u64, to: &mut [u8], flags: u64) -> Result<u64, Errno> {
    let piece = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
    // SAFETY: the kernel writes the slice, which is borrowed mutably.
    unsafe { raw(libc::SYS_vmsplice, &[pipe, &raw const piece as u64, 1, flags, 0, 0]) }
}

/// What a message is sent from or received into.
pub struct Message<'a> {
    /// Whose it is.
    pub name: &'a mut [u8],
    /// Its bytes.
    pub data: &'a mut [u8],
    /// Its ancillary data.
    pub control: &'a mut [u8],
}

/// Sends a message.
///
/// # Errors
/// As [`call`].
pub fn send_message(socket: u64, message: &mut Message<'_>, flags: u64) -> Result<u64, Errno> {
    with_header(message, |header| {
        // SAFETY: the header's pointers are slices of the lengths beside them.
        unsafe { raw(libc::SYS_sendmsg, &[socket, header as u64, flags, 0, 0, 0]) }
    })
    .map(|(sent, ..)| sent)
}

/// Receives a message: the bytes received, the lengths of its name and of its control data, and its flags.
///
/// # Errors
/// As [`call`].
pub fn receive_message(
    socket: u64,
    message: &mut Message<'_>,
    flags: u64,
) -> Result<(u64, usize, usize, u32), Errno> {
    with_header(message, |header| {
        // SAFETY: the header's pointers are slices of the lengths beside them, borrowed mutably.
        unsafe { raw(libc::SYS_recvmsg, &[socket, header as u64, flags, 0, 0, 0]) }
    })
}

fn with_header(
    message: &mut Message<'_>,
    made: impl FnOnce(*mut libc::msghdr) -> Result<u64, Errno>,
) -> Result<(u64, usize, usize, u32), Errno> {
    let mut data = libc::iovec { iov_base: message.data.as_mut_ptr().cast(), iov_len: message.data.len() };
    // SAFETY: all zeros are a header.
    let mut header: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    if !message.name.is_empty() {
        header.msg_name = message.name.as_mut_ptr().cast();
        header.msg_namelen = message.name.len() as u32;
    }
    if !message.control.is_empty() {
        header.msg_control = message.control.as_mut_ptr().cast();
        header.msg_controllen = message.control.len();
    }
    header.msg_iov = &mut data;
    header.msg_iovlen = 1;
    let count = made(&mut header)?;
    Ok((count, header.msg_namelen as usize, header.msg_controllen, header.msg_flags as u32))
}

fn last() -> Errno {
    Errno(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_writes_only_where_there_is_room() {
        let mut bytes = [0_u8; 8];
        let count = call(GETRANDOM, [bytes.as_mut_slice().into(), 8.into(), 0.into()]);
        assert_eq!(count, Ok(8));
        assert!(!fits(&[Argument::Out(&mut bytes), Argument::Word(9)], 0, Writes(1)));
        assert!(!fits(&[Argument::In(&bytes), Argument::Word(8)], 0, Writes(1)), "it is only to be read");
        assert!(!fits(&[Argument::Word(0x1000), Argument::Word(8)], 0, Writes(1)), "a number is no buffer");
        assert!(fits(&[Argument::Word(0), Argument::Word(8)], 0, Writes(1)), "no pointer is no harm");
        let pair = [Argument::Word(0), Argument::Out(&mut bytes), Argument::Word(2)];
        assert!(fits(&pair, 1, Each(2, 4)) && !fits(&pair, 1, Each(2, 8)));
    }

    #[test]
    fn an_error_is_the_kernels() {
        assert_eq!(call(CLOSE, [(-1).into()]), Err(Errno(libc::EBADF)));
    }
}
