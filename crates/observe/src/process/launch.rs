//! Launches a program that is traced from its first instruction on.
//!
//! # Safety
//! Between `fork` and `exec`, the child reads from and writes to pipes, calls `sigaction`, `pthread_sigmask`,
//! `prctl`, `seccomp` and `close`, and does nothing else. All of these are allowed there, and nothing is
//! allocated.
#![allow(unsafe_code)]

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Pid;

use super::attach::AttachError;
use super::filter;
use super::signals::{Stop, stop};
use super::sys::{self, Go};
use super::tracer::{Tracer, options};

/// Options for launching a program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Launch {
    /// Reports new executable memory to [`super::Watcher::mapped`], by a seccomp filter that the program
    /// keeps for ever. Calls that it marks fail (`ENOSYS`) when nobody traces. The program can't enter
    /// seccomp's strict mode, which the kernel allows only without a filter. Without privileges, the
    /// set-user-ID programs that it starts gain none; they would not while traced anyway.
    pub filter: bool,
    /// Kills the program when this process ends, however that happens. This is required with a filter, whose
    /// marked calls fail when nobody traces.
    pub kill_with_us: bool,
    /// Makes this process stop itself when the program is stopped from the terminal, so that a shell notices.
    pub stop_with_it: bool,
}

/// The message in place of a number, when the child never got as far as sending its own.
const NOBODY: [u8; 4] = [0; 4];

/// Starts the program, traced and stopped at the event of its `exec`, with the signal settings that this
/// process inherited.
pub(super) fn launch(command: &mut Command, launch: Launch, tracer: &mut Tracer) -> io::Result<(Child, i32)> {
    let (mut number, number_writer) = io::pipe()?;
    let (permission_reader, mut permission) = io::pipe()?;
    let active = Arc::new(AtomicBool::new(true));
    let mut at_failure = number_writer.try_clone()?;
    let pipes =
        Pipes { number: number_writer, permission: permission_reader, other_end: permission.as_raw_fd() };
    prepare(command, launch, tracer, pipes, &active);
    std::thread::scope(|scope| {
        // `spawn` returns only when the child executes the program, and the child waits for this thread's
        // permission.
        let spawned = scope.spawn(move || {
            let child = command.spawn();
            let _ = at_failure.write_all(&NOBODY);
            child
        });
        let seized = seize(&mut number, launch);
        if seized.is_ok() {
            permission.write_all(&[1])?;
        }
        drop(permission);
        let stop = match &seized {
            Ok(Some(pid)) => first_exec(*pid),
            _ => None,
        };
        active.store(false, Ordering::Relaxed);
        let child =
            spawned.join().map_err(|_| io::Error::other("the thread that starts the program panicked"))?;
        seized?;
        Ok((child?, stop.unwrap_or(0)))
    })
}

/// The child's ends of two pipes.
struct Pipes {
    number: PipeWriter,
    permission: PipeReader,
    other_end: RawFd,
}

/// Prepares the child to send its number, wait until it is traced, and restore the signal settings that this
/// process inherited.
fn prepare(
    command: &mut Command,
    launch: Launch,
    tracer: &Tracer,
    mut pipes: Pipes,
    active: &Arc<AtomicBool>,
) {
    let (mask, sigchld) = tracer.inherited();
    let filter = launch.filter.then(filter::program);
    let active = active.clone();
    let before_exec = move || {
        if !active.load(Ordering::Relaxed) {
            // Somebody starts the same command once more, without the tracer.
            return Ok(());
        }
        // SAFETY: this process has no use for it. If it stayed open, the reader would never see the end.
        unsafe { libc::close(pipes.other_end) };
        pipes.number.write_all(&rustix::process::getpid().as_raw_pid().to_ne_bytes())?;
        // The end of the pipe without a byte means that this process can't be traced.
        pipes.permission.read_exact(&mut [0])?;
        sigchld.set()?;
        mask.set()?;
        if let Some(filter) = &filter {
            sys::install_filter(filter)?;
        }
        Ok(())
    };
    // SAFETY: the closure makes calls that are allowed after `fork`, and allocates nothing.
    unsafe { command.pre_exec(before_exec) };
}

/// Traces the child that sends its number. Returns `None` if there is no child.
fn seize(number: &mut PipeReader, launch: Launch) -> io::Result<Option<Pid>> {
    let mut bytes = NOBODY;
    number.read_exact(&mut bytes)?;
    let Some(pid) = Pid::from_raw(i32::from_ne_bytes(bytes)) else { return Ok(None) };
    sys::seize(pid, options(launch)).map_err(|error| AttachError::why(pid, &error))?;
    Ok(Some(pid))
}

/// Waits until the child executes the program, and returns the status of that stop. Returns `None` if the
/// child ended before.
fn first_exec(pid: Pid) -> Option<i32> {
    loop {
        let status = sys::wait_stop(pid).ok()?;
        match stop(status)? {
            Stop::Event(libc::PTRACE_EVENT_EXEC) => return Some(status),
            Stop::Signal(signal) => sys::go(pid, Go::On, signal).ok()?,
            Stop::Group(_) => sys::listen(pid).ok()?,
            Stop::Trap | Stop::Syscall | Stop::Event(_) => sys::go(pid, Go::On, 0).ok()?,
        }
    }
}
