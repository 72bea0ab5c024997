//! Signals of the host: how they are caught, blocked and sent again. Each thread has its own that it caught.
//!
//! # Safety
//! - the handler: it runs with all signals blocked, writes what is its own thread's, and changes in the interrupted context the
//!   mask and, between two labels, the program counter: of calls, and of accesses to files' pages.
//! - actions are set by the kernel's call itself, as the C library keeps two signals from its own. It uses them where a
//!   process of several threads changes its user, or has one cancelled, by its functions, which nobody calls here.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::{
    Argument, SIGQUEUE, TGSIGQUEUE, bytes as b, call, millstream_sparc_call_left, millstream_sparc_call_look,
    millstream_sparc_call_made,
};
use crate::linux::errno::Errno;

/// In [`STATE`]: a signal was caught that was not dealt with yet.
const CAUGHT: u8 = 1;
/// In [`STATE`]: another thread called this one out of what it waits for.
const CALLED: u8 = 2;

/// The host's signal by which threads call each other, in a program that has several.
pub const CALL: c_int = 64;

thread_local! {
    /// What keeps this thread from beginning a call.
    static STATE: AtomicU8 = const { AtomicU8::new(0) };
    /// The signal that was caught, as the host told it.
    static INFO: Slot = const { Slot(UnsafeCell::new([0; b::SIGINFO])) };
}

/// What has the processor stop at the next block.
static ATTENTION: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Signals that are this emulator's own, as the kernel has a set: none, or [`CALL`].
static RESERVED: AtomicU64 = AtomicU64::new(0);

/// One signal's information. It is written by the handler only while nothing is caught in its thread, and all signals are
/// blocked there from then on until it was taken.
struct Slot(UnsafeCell<[u8; b::SIGINFO]>);

/// Where this thread's state is: not zero if a call is not to begin.
pub(super) fn state() -> *const u8 {
    STATE.with(|state| state.as_ptr().cast_const())
}

/// Where in an interrupted context the program counter is.
#[cfg(target_arch = "x86_64")]
fn program_counter(context: &mut libc::ucontext_t) -> &mut u64 {
    let word = &mut context.uc_mcontext.gregs[libc::REG_RIP as usize];
    // SAFETY: a register is the same 64 bits whether it has a sign or not.
    unsafe { &mut *std::ptr::from_mut(word).cast() }
}

/// Where in an interrupted context the program counter is.
#[cfg(target_arch = "aarch64")]
fn program_counter(context: &mut libc::ucontext_t) -> &mut u64 {
    &mut context.uc_mcontext.pc
}

/// Signals that a fault of this process itself raises.
const OF_FAULTS: [c_int; 5] = [libc::SIGILL, libc::SIGTRAP, libc::SIGBUS, libc::SIGFPE, libc::SIGSEGV];

/// Every signal but those of faults and this emulator's own, as the kernel has a set.
fn all_blocked() -> u64 {
    OF_FAULTS.iter().fold(u64::MAX, |set, signal| set & !(1 << (signal - 1))) & !reserved()
}

/// Signals that are this emulator's own, as the kernel has a set.
#[must_use]
pub fn reserved() -> u64 {
    RESERVED.load(Ordering::SeqCst)
}

/// The handler of every signal that a program handles.
extern "C" fn handler(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives a handler that asked for it the information and the context that it interrupted.
    let (code, context) = unsafe { ((*info).si_code, &mut *context.cast::<libc::ucontext_t>()) };
    if signal == libc::SIGBUS
        && code > 0
        && let Some(after) = crate::memory::after_sigbus(*program_counter(context))
    {
        *program_counter(context) = after;
        return;
    }
    if OF_FAULTS.contains(&signal) && code > 0 {
        // This process is at fault, not the program. The instruction faults again, and the process ends.
        // SAFETY: the default disposition is no handler.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        return;
    }
    if signal == CALL && reserved() != 0 {
        STATE.with(|state| state.fetch_or(CALLED, Ordering::SeqCst));
        leave_call(context);
        return;
    }
    // SAFETY: signals are blocked from the first that is caught until it was taken, so nobody else uses the slot; the kernel's
    // information is that long.
    INFO.with(|slot| unsafe {
        (*slot.0.get()).copy_from_slice(std::slice::from_raw_parts(info.cast(), b::SIGINFO));
    });
    STATE.with(|state| state.fetch_or(CAUGHT, Ordering::SeqCst));
    if let Some(attention) = ATTENTION.get() {
        attention.store(true, Ordering::SeqCst);
    }
    // The kernel's set is one word; the library's is longer, and what follows in memory is not its own.
    // SAFETY: the word lies in the context.
    unsafe { *std::ptr::addr_of_mut!(context.uc_sigmask).cast::<u64>() = all_blocked() };
    leave_call(context);
}

/// A call that was not made yet is not made any more.
fn leave_call(context: &mut libc::ucontext_t) {
    let pc = program_counter(context);
    let (look, made, left) = (
        &raw const millstream_sparc_call_look as u64,
        &raw const millstream_sparc_call_made as u64,
        &raw const millstream_sparc_call_left as u64,
    );
    if (look..made).contains(pc) {
        *pc = left;
    }
}

/// What is done when a signal of the host comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// The kernel's own way.
    Default,
    /// Nothing.
    Ignore,
    /// It is caught, for [`take`].
    Catch,
}

/// Has signals that are caught stop the processor whose flag that is.
pub fn attend(attention: &Arc<AtomicBool>) {
    // A second processor in one process gets no signals: the command has one, and tests of the library need none.
    let _ = ATTENTION.set(Arc::clone(attention));
}

/// Whether there is a signal to [`take`].
#[must_use]
pub fn is_caught() -> bool {
    STATE.with(|state| state.load(Ordering::SeqCst)) & CAUGHT != 0
}

/// The signal that was caught. Signals stay blocked until [`set_mask`].
pub fn take() -> Option<[u8; b::SIGINFO]> {
    if !is_caught() {
        return None;
    }
    // SAFETY: as in the handler: signals are blocked now.
    let info = INFO.with(|slot| unsafe { *slot.0.get() });
    forget();
    Some(info)
}

/// The number of the signal that was caught, which stays to be taken.
#[must_use]
pub fn caught_number() -> Option<c_int> {
    // SAFETY: as in the handler: signals are blocked while something is caught.
    let number = |slot: &Slot| unsafe { (&*slot.0.get())[..4].try_into().expect("four bytes") };
    is_caught().then(|| c_int::from_ne_bytes(INFO.with(number)))
}

/// Gives a signal that was caught back to the kernel, which has it wait as long as it is blocked. Of one that was sent to the process
/// a thread that is not its first can't say so: it is that thread's then.
pub fn send_again(info: &[u8; b::SIGINFO]) {
    let word = |at: usize| i32::from_ne_bytes([info[at], info[at + 1], info[at + 2], info[at + 3]]);
    let (signal, code) = (word(0), word(8));
    let [pid, tid] = [rustix::process::getpid(), rustix::thread::gettid()].map(|id| id.as_raw_pid());
    // A process may send itself any information. That it can't be queued means that it is queued already.
    let _ = if code == libc::SI_TKILL || pid != tid {
        call(TGSIGQUEUE, [pid.into(), tid.into(), signal.into(), info.as_slice().into()])
    } else {
        call(SIGQUEUE, [Argument::from(pid), signal.into(), info.as_slice().into()])
    };
}

/// Forgets what was caught, as the child of a fork has it: it is its parent's.
pub fn forget() {
    STATE.with(|state| state.fetch_and(!CAUGHT, Ordering::SeqCst));
}

/// Has threads be able to call each other: from now on a signal is not the program's any more.
pub fn reserve() {
    RESERVED.store(1 << (CALL - 1), Ordering::SeqCst);
    // Every signal can be caught but two, and it is none of these.
    let _ = dispose(CALL, Disposition::Catch, 0);
}

/// Has a thread of this process leave the call that it is in, or not begin the next.
pub fn call_out(thread: i32) {
    // One that has ended needs no call.
    let _ = call(super::TGKILL, [rustix::process::getpid().as_raw_pid().into(), thread.into(), CALL.into()]);
}

/// Whether this thread was called out, which is forgotten.
pub fn take_call() -> bool {
    STATE.with(|state| {
        let called = state.load(Ordering::SeqCst) & CALLED != 0;
        if called {
            state.fetch_and(!CALLED, Ordering::SeqCst);
        }
        called
    })
}

/// Blocks all signals, as a thread is started.
pub fn block_all() {
    write_mask(all_blocked());
}

/// Blocks exactly the signals of the set. While a signal is caught all stay blocked: who takes it calls this again.
pub fn set_mask(set: u64) {
    block_all();
    if !is_caught() {
        write_mask(set & !reserved());
    }
}

fn write_mask(set: u64) {
    let words = [libc::SIG_SETMASK as u64, &raw const set as u64, 0, b::SIGSET as u64, 0, 0];
    // SAFETY: the kernel reads the one word. It is made whether or not something was caught, so not by `interruptible`.
    unsafe { libc::syscall(libc::SYS_rt_sigprocmask, words[0], words[1], words[2], words[3]) };
}

/// The set of blocked signals.
#[must_use]
pub fn mask() -> u64 {
    let mut set = 0_u64;
    // SAFETY: the kernel writes the one word.
    unsafe { libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, 0_usize, &raw mut set, b::SIGSET) };
    set
}

/// The kernel's `struct sigaction`.
#[repr(C)]
#[derive(Default)]
struct Action {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

/// Sets and reads an action.
fn action(signal: c_int, new: Option<&Action>) -> Result<Action, Errno> {
    let mut old = Action::default();
    let new = new.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the kernel reads one action and writes the other; the handler keeps to what handlers may do.
    let answer = unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, new, &raw mut old, b::SIGSET) };
    if answer == 0 { Ok(old) } else { Err(super::last()) }
}

/// What a handler returns to.
#[cfg(target_arch = "x86_64")]
mod restorer {
    pub const FLAG: u64 = 0x0400_0000;

    #[unsafe(naked)]
    pub unsafe extern "C" fn restorer() {
        std::arch::naked_asm!("mov eax, 15", "syscall")
    }
}

/// Sets what is done when a signal comes; `flags` are `SA_NOCLDSTOP` and `SA_NOCLDWAIT` of the host.
///
/// # Errors
/// The signal has no other disposition than its own.
pub fn dispose(signal: c_int, disposition: Disposition, flags: c_int) -> Result<(), Errno> {
    let mut new = Action { flags: flags as u64, mask: u64::MAX, ..Action::default() };
    // The kernel of other processors has a place of its own to return to.
    #[cfg(target_arch = "x86_64")]
    {
        new.flags |= restorer::FLAG;
        new.restorer = restorer::restorer as *const () as usize;
    }
    new.handler = match disposition {
        Disposition::Default => libc::SIG_DFL,
        Disposition::Ignore => libc::SIG_IGN,
        Disposition::Catch => {
            new.flags |= libc::SA_SIGINFO as u64;
            handler as *const () as usize
        }
    };
    action(signal, Some(&new)).map(|_| ())
}

/// Whether a signal is ignored.
#[must_use]
pub fn is_ignored(signal: c_int) -> bool {
    action(signal, None).is_ok_and(|action| action.handler == libc::SIG_IGN)
}

/// Gives back what the Rust runtime changed before `main`: that writing to a closed pipe ends a process, and that a fault of
/// this process's own does so at once.
pub fn as_started() {
    for signal in [libc::SIGPIPE, libc::SIGSEGV, libc::SIGBUS] {
        let _ = dispose(signal, Disposition::Default, 0);
    }
}

/// Ends this process as the signal ends one that does nothing about it. Returns if it does not end one.
pub fn end_by(signal: c_int) {
    let _ = dispose(signal, Disposition::Default, 0);
    set_mask(!(1 << (signal - 1)));
    // SAFETY: numbers only.
    unsafe { libc::kill(libc::getpid(), signal) };
}
