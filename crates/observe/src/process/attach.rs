//! Attaches to running processes, and explains why that may be refused.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::status::Status;
use super::sys;

/// The reason why a process can't be traced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The process does not exist.
    Gone,
    /// The process is a zombie or a thread of the kernel, and has no program.
    NoProgram,
    /// The process is this one.
    Ourselves,
    /// Another process traces it already.
    Traced {
        /// The tracing process.
        by: i32,
        /// The name.
        name: String,
    },
    /// The process belongs to another user.
    OtherUser {
        /// The user.
        uid: u32,
    },
    /// The Yama module allows tracing only of one's own descendants (1), only by the privileged (2), or not
    /// at all (3).
    Yama {
        /// The value of `kernel.yama.ptrace_scope`.
        scope: u32,
    },
    /// The process made itself undumpable, or was started set-user-ID.
    Undumpable,
    /// The kernel, a container's seccomp profile or a security module refuses the call as such.
    Forbidden {
        /// True when this process is under a seccomp filter.
        filtered: bool,
        /// The kernel's error.
        error: i32,
    },
}

/// A process that can't be traced, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachError {
    /// The process.
    pub pid: i32,
    /// The reason.
    pub obstacle: Obstacle,
}

impl AttachError {
    /// Explains the kernel's error.
    pub(super) fn why(pid: Pid, error: &io::Error) -> io::Error {
        let obstacle = obstacle(pid, error);
        let kind = if obstacle == Obstacle::Gone {
            io::ErrorKind::NotFound
        } else {
            io::ErrorKind::PermissionDenied
        };
        io::Error::new(kind, AttachError { pid: pid.as_raw_pid(), obstacle })
    }
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} can't be traced: ", self.pid)?;
        match &self.obstacle {
            Obstacle::Gone => f.write_str("there is no such process"),
            Obstacle::NoProgram => f.write_str("it runs no program: it has ended, or belongs to the kernel"),
            Obstacle::Ourselves => f.write_str("it is this command itself"),
            Obstacle::Traced { by, name } => {
                write!(f, "process {by} ({name}) traces it already, and only one tracer is allowed; end that one first")
            }
            Obstacle::OtherUser { uid } => {
                write!(f, "it belongs to user {uid}; run this command as that user, or as root")
            }
            Obstacle::Yama { scope: 1 } => f.write_str(
                "kernel.yama.ptrace_scope is 1, which allows tracing one's own children only; start the program with this \
                 command, run this command as root, or set `sysctl kernel.yama.ptrace_scope=0`",
            ),
            Obstacle::Yama { scope: 2 } => f.write_str(
                "kernel.yama.ptrace_scope is 2, which allows tracing to root only; run this command as root, or set \
                 `sysctl kernel.yama.ptrace_scope=1`",
            ),
            Obstacle::Yama { scope } => {
                write!(f, "kernel.yama.ptrace_scope is {scope}, which forbids all tracing until the next boot")
            }
            Obstacle::Undumpable => f.write_str(
                "it has protected itself (PR_SET_DUMPABLE), or was started with privileges of its own; run this command as root",
            ),
            Obstacle::Forbidden { filtered: true, error } => write!(
                f,
                "the call ptrace is refused ({}) to this process, which is under a seccomp filter; in a container, start it \
                 with --cap-add=SYS_PTRACE or a seccomp profile that allows ptrace",
                io::Error::from_raw_os_error(*error)
            ),
            Obstacle::Forbidden { filtered: false, error } => write!(
                f,
                "the call ptrace is refused ({}); a security module or sandbox forbids it here",
                io::Error::from_raw_os_error(*error)
            ),
        }
    }
}

impl std::error::Error for AttachError {}

fn obstacle(pid: Pid, error: &io::Error) -> Obstacle {
    let forbidden = |error| Obstacle::Forbidden { filtered: is_filtered(), error };
    match error.raw_os_error() {
        Some(libc::ESRCH) => return Obstacle::Gone,
        Some(libc::EPERM | libc::EACCES) => {}
        other => return forbidden(other.unwrap_or(0)),
    }
    let Some(status) = Status::of(pid) else { return Obstacle::Gone };
    let same_process =
        Status::of(rustix::process::getpid()).is_some_and(|own| own.number("Tgid") == status.number("Tgid"));
    if same_process {
        return Obstacle::Ourselves;
    }
    if status.field("State").is_some_and(|state| state.starts_with(['Z', 'X'])) || !status.has("VmSize") {
        return Obstacle::NoProgram;
    }
    if let Some(by) = status.number("TracerPid").filter(|by| *by != 0) {
        let name = std::fs::read_to_string(format!("/proc/{by}/comm")).unwrap_or_default();
        return Obstacle::Traced { by: by as i32, name: name.trim_end().to_owned() };
    }
    let own = rustix::process::geteuid().as_raw();
    if let Some(uid) = status.number("Uid").filter(|uid| own != 0 && *uid != own) {
        return Obstacle::OtherUser { uid };
    }
    if let Some(obstacle) = forbidden_by_yama() {
        return obstacle;
    }
    // The `/proc` files of an undumpable process belong to root.
    let owner =
        std::fs::metadata(format!("/proc/{pid}/stat")).map(|file| std::os::unix::fs::MetadataExt::uid(&file));
    if own != 0 && owner.is_ok_and(|owner| owner != own) {
        return Obstacle::Undumpable;
    }
    forbidden(libc::EPERM)
}

/// Returns the obstacle to tracing programs that run already, if the Yama module is one to this user.
pub fn forbidden_by_yama() -> Option<Obstacle> {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok()?;
    let scope: u32 = scope.trim().parse().ok()?;
    let is_root = rustix::process::geteuid().is_root();
    (scope >= 3 || scope > 0 && !is_root).then_some(Obstacle::Yama { scope })
}

fn is_filtered() -> bool {
    Status::of(rustix::process::getpid()).is_some_and(|status| status.number("Seccomp") == Some(2))
}

/// Returns the process that a thread belongs to.
pub(super) fn process_of(tid: Pid) -> Option<Pid> {
    Pid::from_raw(Status::of(tid)?.number("Tgid")? as i32)
}

/// The time to wait for a thread that another tracer is just letting go.
const LET_GO: Duration = Duration::from_secs(1);

/// Seizes all threads of a process, including those that are born meanwhile, and asks them to stop. Returns
/// their numbers.
///
/// # Errors
/// Returns [`AttachError`] when a living thread can't be traced. All others are let go once this thread ends.
pub(super) fn seize_all(pid: Pid, options: i32) -> io::Result<Vec<Pid>> {
    let mut seized = HashSet::new();
    let end = Instant::now() + LET_GO;
    loop {
        let before = seized.len();
        let mut refused = None;
        for tid in threads(pid)? {
            if seized.contains(&tid) {
                continue;
            }
            match sys::seize(tid, options) {
                Ok(()) => drop(sys::interrupt(tid)),
                // The thread was born to a traced parent, so it is traced already.
                Err(_) if is_ours(tid) => {}
                Err(error) => {
                    refused = Some((tid, error)).filter(|_| lives(tid) || tid == pid).or(refused);
                    continue;
                }
            }
            seized.insert(tid);
        }
        match refused {
            // A leader that has ended stays in the list as long as its threads live.
            Some((tid, _)) if tid == pid && !lives(pid) && !seized.is_empty() => {}
            Some((tid, error)) => {
                let error = AttachError::why(tid, &error);
                if !is_traced(tid) || Instant::now() >= end {
                    return Err(error);
                }
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            None => {}
        }
        if seized.len() == before {
            return Ok(seized.into_iter().collect());
        }
    }
}

/// Returns the children of a process that run in its memory: vfork made them, and they have not called exec yet.
pub(super) fn borrowers(pid: Pid) -> Vec<Pid> {
    let threads = threads(pid).unwrap_or_default();
    let lists = threads.iter().filter_map(|tid| {
        // Without this file, which is a kernel's option, such children are not found.
        std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/children")).ok()
    });
    let children = lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    let children = children.filter_map(|child| Pid::from_raw(child.parse().ok()?));
    children.filter(|child| sys::share_memory(pid, *child)).collect()
}

fn lives(tid: Pid) -> bool {
    Status::of(tid).is_some_and(|status| status.lives())
}

fn is_traced(tid: Pid) -> bool {
    Status::of(tid).and_then(|status| status.number("TracerPid")).is_some_and(|tracer| tracer != 0)
}

fn is_ours(tid: Pid) -> bool {
    let tracer = Status::of(tid).and_then(|status| status.number("TracerPid"));
    tracer == Some(rustix::thread::gettid().as_raw_pid() as u32)
}

fn threads(pid: Pid) -> io::Result<Vec<Pid>> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task"));
    let entries = entries.map_err(|_| AttachError::why(pid, &io::Error::from_raw_os_error(libc::ESRCH)))?;
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw);
    Ok(entries.filter_map(Result::ok).filter_map(number).collect())
}
