//! Keeps an attached process intact whatever happens to us: each byte that is written into it stands in a
//! journal that a second process of ours holds.
//!
//! The process that the user started (the *front*) only waits. The *tracer* is its child, in a session of its
//! own. Both hold the journal, a memory file, and the front holds a descriptor of each traced memory. If the
//! tracer dies, the kernel detaches it, and the front restores every byte. If the front dies, the tracer gets
//! SIGTERM, restores what it wrote, and detaches.
//!
//! # What remains
//! Killing the front, which bears the command's name and number, is always safe. If the tracer itself is
//! killed with SIGKILL, two kinds of threads die of SIGTRAP or go on behind a breakpoint's byte: one that had
//! executed a breakpoint and had no answer yet, and one that executes a breakpoint in the fraction of a
//! millisecond until the front has restored it. With breakpoints that go when they fire, this risk exists
//! only in the first moments after attaching: of 12 busy programs, 12 lived. Breakpoints that are armed again
//! ten times a second renew it each time: 11 of 12 lived. Breakpoints that stay, with `--count`, keep it as
//! long as they are hit: none of 12 lived. So the tracer has a session and a name of its own, which no key
//! and no `pkill` reaches, and users see the front.
//!
//! # Safety
//! `fork` is called only after checking that this process has one thread, so the child may do all that the
//! parent may. The other calls take sets of signals that live here, and descriptors that this file owns.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

use super::breakpoints::{LONGEST, Original, Record, Writable, put_back};
use super::displaced::Moved;
use crate::memory::Memory;
use crate::process::ProcessMemory;

/// The size of one entry. As a power of two it crosses no page, so an entry is written whole or not at all,
/// even if its writer is killed.
const ENTRY: usize = 64;

/// The changed bytes, in a file that outlives its writer.
#[derive(Debug)]
pub struct Journal {
    file: File,
    /// The entry of each changed byte, by space and address.
    entries: HashMap<(u32, u64), u64>,
    free: Vec<u64>,
    length: u64,
}

impl Journal {
    /// Creates an empty journal.
    ///
    /// # Errors
    /// Fails when no memory file can be made.
    pub fn new() -> io::Result<Journal> {
        let file = rustix::fs::memfd_create("millstream-journal", rustix::fs::MemfdFlags::CLOEXEC)?;
        Ok(Journal { file: file.into(), entries: HashMap::new(), free: Vec::new(), length: 0 })
    }

    /// Returns the number of changed bytes.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true when no byte is changed.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Forgets an address space that is gone.
    ///
    /// # Errors
    /// Fails when that can't be recorded.
    pub fn forget(&mut self, space: u32) -> io::Result<()> {
        let gone: Vec<u64> = self.entries.keys().filter(|key| key.0 == space).map(|key| key.1).collect();
        gone.into_iter().try_for_each(|address| self.remove(space, address))
    }

    fn add(&mut self, space: u32, address: u64, instruction: &[u8]) -> io::Result<()> {
        let entry = self.free.pop().unwrap_or(self.length);
        let mut bytes = [0; ENTRY];
        bytes[0] = instruction.len() as u8;
        bytes[4..8].copy_from_slice(&space.to_le_bytes());
        bytes[8..16].copy_from_slice(&address.to_le_bytes());
        bytes[16..16 + instruction.len()].copy_from_slice(instruction);
        self.file.write_all_at(&bytes, entry * ENTRY as u64)?;
        self.length = self.length.max(entry + 1);
        self.entries.insert((space, address), entry);
        Ok(())
    }

    fn remove(&mut self, space: u32, address: u64) -> io::Result<()> {
        let Some(entry) = self.entries.remove(&(space, address)) else { return Ok(()) };
        self.file.write_all_at(&[0], entry * ENTRY as u64)?;
        self.free.push(entry);
        Ok(())
    }
}

/// Reads another process's journal: space, address and instruction of each entry.
fn entries(file: &File) -> io::Result<Vec<(u32, u64, Original)>> {
    let mut bytes = vec![0; file.metadata()?.len() as usize];
    file.read_exact_at(&mut bytes, 0)?;
    let read = |entry: &[u8]| {
        let length = usize::from(entry[0]);
        let instruction = Original::new(entry.get(16..16 + length.min(LONGEST))?)?;
        let space = u32::from_le_bytes(entry[4..8].try_into().ok()?);
        let address = u64::from_le_bytes(entry[8..16].try_into().ok()?);
        Some((space, address, instruction))
    };
    Ok(bytes.chunks_exact(ENTRY).filter_map(read).collect())
}

/// The memory of a process, by a descriptor that stays with this memory when the process executes another
/// program.
#[derive(Debug)]
pub struct SpaceMemory(File);

impl SpaceMemory {
    /// Opens the memory of a traced process.
    ///
    /// # Errors
    /// Fails when the kernel does not allow it.
    pub fn open(pid: i32) -> io::Result<SpaceMemory> {
        let file = File::options().read(true).write(true).open(format!("/proc/{pid}/mem"))?;
        Ok(SpaceMemory(file))
    }

    /// Duplicates the descriptor of a memory that is open.
    ///
    /// # Errors
    /// Fails when the memory is not open, or there are too many descriptors.
    pub fn of(memory: &ProcessMemory) -> io::Result<SpaceMemory> {
        memory.try_clone().map(SpaceMemory)
    }

    /// Writes a moved instruction into its slot.
    ///
    /// # Errors
    /// Fails when the slot is not mapped.
    pub fn write_code(&self, moved: &Moved) -> io::Result<()> {
        self.write(moved.slot, &moved.bytes)
    }
}

impl Memory for SpaceMemory {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(buffer, address)
    }
}

impl Writable for SpaceMemory {
    fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, address)
    }
}

/// The tracer's side: the journal, and the link to the front if there is one.
#[derive(Debug)]
pub struct Guard {
    journal: Journal,
    front: Option<OwnedFd>,
}

impl Guard {
    /// Works without a front, for programs that we launch and that end with us.
    ///
    /// # Errors
    /// Fails when no memory file can be made.
    pub fn alone() -> io::Result<Guard> {
        Ok(Guard { journal: Journal::new()?, front: None })
    }

    /// Returns true when there is a front.
    pub fn is_guarded(&self) -> bool {
        self.front.is_some()
    }

    /// Hands the front the descriptor of an address space, before any byte of it is changed.
    ///
    /// # Errors
    /// Fails when the front does not accept it.
    pub fn opened(&self, space: u32, memory: &SpaceMemory) -> io::Result<()> {
        let Some(front) = &self.front else { return Ok(()) };
        let descriptors = [memory.0.as_fd()];
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut room);
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        let space = space.to_le_bytes();
        sendmsg(front, &[IoSlice::new(&space)], &mut ancillary, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// Tells the front that an address space is gone.
    pub fn closed(&mut self, space: u32) {
        let _ = self.journal.forget(space);
        if let Some(front) = &self.front {
            let mut none = SendAncillaryBuffer::default();
            let space = space.to_le_bytes();
            // If the message is lost, the front keeps a descriptor that it does not need.
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            let _ = sendmsg(front, &[IoSlice::new(&space)], &mut none, flags);
        }
    }

    /// Returns the record of one address space's changes.
    pub fn record(&mut self, space: u32) -> impl Record + '_ {
        Entry { journal: &mut self.journal, space }
    }
}

struct Entry<'j> {
    journal: &'j mut Journal,
    space: u32,
}

impl Record for Entry<'_> {
    fn arming(&mut self, address: u64, instruction: &[u8]) -> io::Result<()> {
        self.journal.add(self.space, address, instruction)
    }

    fn disarmed(&mut self, address: u64) -> io::Result<()> {
        self.journal.remove(self.space, address)
    }
}

/// The outcome of the guarded work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The work returned this code.
    Code(u8),
    /// The work was killed, and the bytes were restored.
    Killed {
        /// The signal that killed it.
        signal: i32,
        /// The number of bytes that were changed at that time.
        put_back: usize,
    },
}

/// The signals that end the command, which the front passes on.
const PASSED: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// Runs `work` in a process of its own, with this one as its front. `work` does its own printing, and returns
/// the exit code. SIGINT, SIGTERM, SIGHUP and SIGQUIT reach it as SIGTERM, blocked, for the tracer's loop to
/// fetch.
///
/// # Errors
/// Fails when this process has several threads, or a call fails.
pub fn guarded(work: impl FnOnce(Guard) -> u8) -> io::Result<Outcome> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other(
            "a process with several threads can't guard: call this before starting any",
        ));
    }
    let journal = Journal::new()?;
    let copy = journal.file.try_clone()?;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    let before = block(&[&PASSED[..], &[libc::SIGCHLD]].concat())?;
    let front = rustix::process::getpid();
    // SAFETY: this process has one thread.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            drop((ours, copy));
            let code = tracer(front, Guard { journal, front: Some(theirs) }, work);
            std::process::exit(code.into());
        }
        child => {
            drop((theirs, journal));
            let outcome = Front { tracer: child, link: ours, journal: copy, spaces: HashMap::new() }.wait();
            set_mask(&before)?;
            outcome
        }
    }
}

fn tracer(front: rustix::process::Pid, guard: Guard, work: impl FnOnce(Guard) -> u8) -> u8 {
    // In a session of its own, the tracer gets no signals from keys or to the front's group.
    let _ = rustix::process::setsid();
    // Another name keeps the tracer from being killed together with all processes of the command's name.
    let _ = rustix::thread::set_name(c"ms-tracer");
    let end = Some(rustix::process::Signal::TERM);
    if rustix::process::set_parent_process_death_signal(end).is_err()
        || rustix::process::getppid() != Some(front)
    {
        return 1;
    }
    work(guard)
}

/// The front, with everything that is needed to restore the bytes.
struct Front {
    tracer: i32,
    link: OwnedFd,
    journal: File,
    spaces: HashMap<u32, SpaceMemory>,
}

impl Front {
    fn wait(mut self) -> io::Result<Outcome> {
        let signals = signals()?;
        loop {
            let mut ready = [PollFd::new(&signals, PollFlags::IN), PollFd::new(&self.link, PollFlags::IN)];
            match poll(&mut ready, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let hung_up = ready[1].revents().contains(PollFlags::HUP);
            self.listen();
            let mut info = [0u8; size_of::<libc::signalfd_siginfo>()];
            let Ok(_) = rustix::io::read(&signals, &mut info) else {
                // The tracer's end may show on the link first. SIGCHLD is then on its way.
                if hung_up {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                continue;
            };
            let number = i32::from_le_bytes([info[0], info[1], info[2], info[3]]);
            if number != libc::SIGCHLD {
                // SAFETY: both arguments are numbers, and the child was not reaped yet, so the number is
                // still its own.
                unsafe { libc::kill(self.tracer, libc::SIGTERM) };
            } else if let Some(outcome) = self.ended()? {
                return Ok(outcome);
            }
        }
    }

    fn ended(&mut self) -> io::Result<Option<Outcome>> {
        let mut status = 0;
        // SAFETY: `status` is ours.
        if unsafe { libc::waitpid(self.tracer, &raw mut status, libc::WNOHANG) } != self.tracer {
            return Ok(None);
        }
        if libc::WIFEXITED(status) {
            // A tracer that ended in a hurry may have left bytes behind.
            self.restore()?;
            return Ok(Some(Outcome::Code(libc::WEXITSTATUS(status) as u8)));
        }
        if !libc::WIFSIGNALED(status) {
            return Ok(None);
        }
        let put_back = self.restore()?;
        Ok(Some(Outcome::Killed { signal: libc::WTERMSIG(status), put_back }))
    }

    fn restore(&mut self) -> io::Result<usize> {
        self.listen();
        let changed = entries(&self.journal)?;
        for (space, address, original) in &changed {
            if let Some(memory) = self.spaces.get(space) {
                // A memory that is gone needs no restoring.
                let _ = put_back(memory, *address, original);
            }
        }
        Ok(changed.len())
    }

    /// Receives the tracer's messages: a space with its descriptor, or a space that is gone.
    fn listen(&mut self) {
        loop {
            let mut bytes = [0; 4];
            let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut room);
            let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
            match recvmsg(&self.link, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, flags) {
                Ok(message) if message.bytes == 4 => {}
                _ => return,
            }
            let space = u32::from_le_bytes(bytes);
            let memory = ancillary.drain().find_map(|message| match message {
                RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
                _ => None,
            });
            match memory {
                Some(memory) => self.spaces.insert(space, SpaceMemory(memory.into())),
                None => self.spaces.remove(&space),
            };
        }
    }
}

fn set(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: a set of signals is plain data, and `sigemptyset` makes it whole.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        set
    }
}

/// Blocks these signals as well, and returns the mask from before.
fn block(signals: &[i32]) -> io::Result<libc::sigset_t> {
    let mut before = set(&[]);
    let wanted = set(signals);
    // SAFETY: both sets are ours.
    match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const wanted, &raw mut before) } {
        0 => Ok(before),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

fn set_mask(mask: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: the set is whole.
    match unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

fn signals() -> io::Result<OwnedFd> {
    let wanted = set(&[&PASSED[..], &[libc::SIGCHLD]].concat());
    // SAFETY: the set is whole.
    match unsafe { libc::signalfd(-1, &raw const wanted, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: signalfd has just returned this descriptor.
        descriptor => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_says_to_another_what_stands() {
        let mut guard = Guard::alone().unwrap();
        let file = guard.journal.file.try_clone().unwrap();
        guard.record(1).arming(0x1000, &[0x66, 0x0F, 0x38, 0xDC, 0xC1]).unwrap();
        guard.record(2).arming(0x2000, &[0x55]).unwrap();
        guard.record(1).arming(0x3000, &[0x90]).unwrap();
        guard.record(1).disarmed(0x1000).unwrap();
        let found: Vec<(u32, u64)> = entries(&file).unwrap().iter().map(|e| (e.0, e.1)).collect();
        assert_eq!(found, [(2, 0x2000), (1, 0x3000)]);
        guard.record(1).arming(0x4000, &[0x90]).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 3 * ENTRY as u64, "room is used again");
        guard.closed(1);
        assert_eq!(entries(&file).unwrap().len(), 1);
        assert_eq!(guard.journal.len(), 1);
    }

    #[test]
    fn a_torn_entry_is_no_entry() {
        let journal = Journal::new().unwrap();
        journal.file.write_all_at(&[255; 16], 0).unwrap();
        journal.file.write_all_at(&[0; ENTRY], ENTRY as u64).unwrap();
        let found = entries(&journal.file).unwrap();
        assert!(found.iter().all(|entry| entry.2.bytes().len() <= LONGEST));
    }
}
