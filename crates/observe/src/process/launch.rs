//! Starting a program that is traced from its first instruction on.
//!
//! # Safety
//! What runs in the child between `fork` and `exec` writes to and reads from pipes, calls `sigaction`, `pthread_sigmask`,
//! `prctl`, `seccomp` and `close`, and nothing else: those are allowed there. It allocates nothing.
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

/// How a program is launched.
#[derive(Clone, Copy, Debug, Default)]
pub struct Launch {
    /// [`super::Watcher::mapped`] is told of new executable memory, by way of a seccomp filter, which the program keeps for
    /// ever. What it marks fails (`ENOSYS`) when nobody traces. The program can't enter seccomp's strict mode, which the
    /// kernel allows only without a filter. Without privileges the program also loses that set-user-ID programs it
    /// starts gain any; traced ones do not anyway.
    pub filter: bool,
    /// The program is killed when this process ends, however that ends. With a filter it must be: what the filter marks
    /// fails when nobody traces.
    pub kill_with_us: bool,
    /// This process stops itself when the program was stopped from the terminal, so that a shell sees it.
    pub stop_with_it: bool,
}

/// What a child says when it never came as far as saying its number.
const NOBODY: [u8; 4] = [0; 4];

/// Starts it, traced and stopped at the event of its `exec`, and everything that it comes from as it was.
pub(super) fn launch(command: &mut Command, launch: Launch, tracer: &mut Tracer) -> io::Result<(Child, i32)> {
    let (mut number, number_writer) = io::pipe()?;
    let (permission_reader, mut permission) = io::pipe()?;
    let active = Arc::new(AtomicBool::new(true));
    let mut at_failure = number_writer.try_clone()?;
    let pipes =
        Pipes { number: number_writer, permission: permission_reader, other_end: permission.as_raw_fd() };
    prepare(command, launch, tracer, pipes, &active);
    std::thread::scope(|scope| {
        // `spawn` returns when the child executes the program, and that waits for us.
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

/// What the child needs of two pipes.
struct Pipes {
    number: PipeWriter,
    permission: PipeReader,
    other_end: RawFd,
}

/// Has the child say its number, wait until it is traced, and be as this process was started.
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
            // The command is started once more, by somebody else.
            return Ok(());
        }
        // SAFETY: this process has no use for it: if it stayed open there would be no end to read.
        unsafe { libc::close(pipes.other_end) };
        pipes.number.write_all(&rustix::process::getpid().as_raw_pid().to_ne_bytes())?;
        // An end instead of a byte: this process can't be traced.
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

/// Traces the child that says its number. `None` if there is none.
fn seize(number: &mut PipeReader, launch: Launch) -> io::Result<Option<Pid>> {
    let mut bytes = NOBODY;
    number.read_exact(&mut bytes)?;
    let Some(pid) = Pid::from_raw(i32::from_ne_bytes(bytes)) else { return Ok(None) };
    sys::seize(pid, options(launch)).map_err(|error| AttachError::why(pid, &error))?;
    Ok(Some(pid))
}

/// Waits until it executes the program: the status of that stop. `None` if it ended before.
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
