//! Signals of the host: catching, blocking and sending them again. Each thread has its own caught signals.
//!
//! # Safety
//! - the handler: it runs with all signals blocked and writes only its own thread's state. In the interrupted context
//!   it changes the mask and, between two labels, the program counter: of calls, and of accesses to files' pages.
//! - actions are set by the kernel's own call, because the C library hides two signals from its callers. The library
//!   uses these when a process of several threads changes its user, or cancels a thread, by its functions, which
//!   nobody calls here.
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

/// In [`STATE`]: a signal was caught and has not been taken yet.
const CAUGHT: u8 = 1;
/// In [`STATE`]: another thread called this one out of a call that waits.
const CALLED: u8 = 2;

/// The host's signal by which threads call each other, in a program that has several.
pub const CALL: c_int = 64;

thread_local! {
    /// Not zero if this thread must not begin a call.
    static STATE: AtomicU8 = const { AtomicU8::new(0) };
    /// The caught signal, as the host described it.
    static INFO: Slot = const { Slot(UnsafeCell::new([0; b::SIGINFO])) };
}

/// The flag that stops the processor at the end of the block.
static ATTENTION: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Signals that this emulator uses itself, as the kernel has a set: none, or [`CALL`].
static RESERVED: AtomicU64 = AtomicU64::new(0);

/// One signal's information. The handler writes it only while its thread has caught nothing, and all signals are
/// blocked there from then on until it is taken.
struct Slot(UnsafeCell<[u8; b::SIGINFO]>);

/// The address of this thread's state, which is not zero if a call must not begin.
pub(super) fn state() -> *const u8 {
    STATE.with(|state| state.as_ptr().cast_const())
}

/// The program counter in an interrupted context.
#[cfg(target_arch = "x86_64")]
fn program_counter(context: &mut libc::ucontext_t) -> &mut u64 {
    let word = &mut context.uc_mcontext.gregs[libc::REG_RIP as usize];
    // SAFETY: a register is the same 64 bits with a sign and without.
    unsafe { &mut *std::ptr::from_mut(word).cast() }
}

/// The program counter in an interrupted context.
#[cfg(target_arch = "aarch64")]
fn program_counter(context: &mut libc::ucontext_t) -> &mut u64 {
    &mut context.uc_mcontext.pc
}

/// Signals that a fault of this process raises.
const OF_FAULTS: [c_int; 5] = [libc::SIGILL, libc::SIGTRAP, libc::SIGBUS, libc::SIGFPE, libc::SIGSEGV];

/// The set, as the kernel has it, of every signal but those of faults and of this emulator.
fn all_blocked() -> u64 {
    OF_FAULTS.iter().fold(u64::MAX, |set, signal| set & !(1 << (signal - 1))) & !reserved()
}

/// Signals that this emulator uses itself, as the kernel has a set.
#[must_use]
pub fn reserved() -> u64 {
    RESERVED.load(Ordering::SeqCst)
}

/// Handles every signal that a program handles.
extern "C" fn handler(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives a handler with SA_SIGINFO the information and the interrupted context.
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
        // SAFETY: the default disposition runs no code of this process.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        return;
    }
    if signal == CALL && reserved() != 0 {
        STATE.with(|state| state.fetch_or(CALLED, Ordering::SeqCst));
        leave_call(context);
        return;
    }
    // SAFETY: signals are blocked from the first that is caught until it is taken, so nobody else uses the slot; the
    // kernel's information is that long.
    INFO.with(|slot| unsafe {
        (*slot.0.get()).copy_from_slice(std::slice::from_raw_parts(info.cast(), b::SIGINFO));
    });
    STATE.with(|state| state.fetch_or(CAUGHT, Ordering::SeqCst));
    if let Some(attention) = ATTENTION.get() {
        attention.store(true, Ordering::SeqCst);
    }
    // The kernel's set is one word. The library's is longer, and the words after the first are not its own.
    // SAFETY: the word lies in the context.
    unsafe { *std::ptr::addr_of_mut!(context.uc_sigmask).cast::<u64>() = all_blocked() };
    leave_call(context);
}

/// Skips a call that has not been made yet.
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

/// The action on a signal of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// The kernel's default action.
    Default,
    /// The kernel throws the signal away.
    Ignore,
    /// The handler catches it, for [`take`].
    Catch,
}

/// Sets the flag of the processor that caught signals stop.
pub fn attend(attention: &Arc<AtomicBool>) {
    // Only the first processor of a process gets signals: the command has one, and tests of the library need none.
    let _ = ATTENTION.set(Arc::clone(attention));
}

/// True if there is a signal to [`take`].
#[must_use]
pub fn is_caught() -> bool {
    STATE.with(|state| state.load(Ordering::SeqCst)) & CAUGHT != 0
}

/// Takes the caught signal. Signals stay blocked until [`set_mask`].
pub fn take() -> Option<[u8; b::SIGINFO]> {
    if !is_caught() {
        return None;
    }
    // SAFETY: signals are blocked now, as in the handler.
    let info = INFO.with(|slot| unsafe { *slot.0.get() });
    forget();
    Some(info)
}

/// The number of the caught signal, without taking it.
#[must_use]
pub fn caught_number() -> Option<c_int> {
    // SAFETY: signals are blocked while one is caught, as in the handler.
    let number = |slot: &Slot| unsafe { (&*slot.0.get())[..4].try_into().expect("four bytes") };
    is_caught().then(|| c_int::from_ne_bytes(INFO.with(number)))
}

/// Gives a caught signal back to the kernel, where it waits as long as it is blocked. Only the first thread can give
/// it back to the whole process; any other thread gives it to itself.
pub fn send_again(info: &[u8; b::SIGINFO]) {
    let word = |at: usize| i32::from_ne_bytes([info[at], info[at + 1], info[at + 2], info[at + 3]]);
    let (signal, code) = (word(0), word(8));
    let [pid, tid] = [rustix::process::getpid(), rustix::thread::gettid()].map(|id| id.as_raw_pid());
    // A process may send itself any information. An error only means that the signal is queued already.
    let _ = if code == libc::SI_TKILL || pid != tid {
        call(TGSIGQUEUE, [pid.into(), tid.into(), signal.into(), info.as_slice().into()])
    } else {
        call(SIGQUEUE, [Argument::from(pid), signal.into(), info.as_slice().into()])
    };
}

/// Forgets the caught signal in a forked child, because it was the parent's.
pub fn forget() {
    STATE.with(|state| state.fetch_and(!CAUGHT, Ordering::SeqCst));
}

/// Lets threads call each other: from now on the program can't use [`CALL`] any more.
pub fn reserve() {
    RESERVED.store(1 << (CALL - 1), Ordering::SeqCst);
    // The kernel lets every signal be caught but two, and this is none of them.
    let _ = dispose(CALL, Disposition::Catch, 0);
}

/// Has a thread of this process leave the call that it is in, or not begin the next.
pub fn call_out(thread: i32) {
    // A thread that has ended needs no call.
    let _ = call(super::TGKILL, [rustix::process::getpid().as_raw_pid().into(), thread.into(), CALL.into()]);
}

/// True if this thread was called out; forgets it.
pub fn take_call() -> bool {
    STATE.with(|state| {
        let called = state.load(Ordering::SeqCst) & CALLED != 0;
        if called {
            state.fetch_and(!CALLED, Ordering::SeqCst);
        }
        called
    })
}

/// Blocks all signals, for the start of a thread.
pub fn block_all() {
    write_mask(all_blocked());
}

/// Blocks exactly the signals of the set. While a signal is caught all stay blocked: the one who takes it calls this
/// again.
pub fn set_mask(set: u64) {
    block_all();
    if !is_caught() {
        write_mask(set & !reserved());
    }
}

fn write_mask(set: u64) {
    let words = [libc::SIG_SETMASK as u64, &raw const set as u64, 0, b::SIGSET as u64, 0, 0];
    // SAFETY: the kernel reads the one word. The call has to be made even if a signal was caught, so `interruptible`
    // can't make it.
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
    // SAFETY: the kernel reads one action and writes the other; the handler does only what handlers may do.
    let answer = unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, new, &raw mut old, b::SIGSET) };
    if answer == 0 { Ok(old) } else { Err(super::last()) }
}

/// The code that a handler returns to.
#[cfg(target_arch = "x86_64")]
mod restorer {
    pub const FLAG: u64 = 0x0400_0000;

    #[unsafe(naked)]
    pub unsafe extern "C" fn restorer() {
        std::arch::naked_asm!("mov eax, 15", "syscall")
    }
}

/// Sets the action on a signal; `flags` are `SA_NOCLDSTOP` and `SA_NOCLDWAIT` of the host.
///
/// # Errors
/// The signal's action can't be changed.
pub fn dispose(signal: c_int, disposition: Disposition, flags: c_int) -> Result<(), Errno> {
    let mut new = Action { flags: flags as u64, mask: u64::MAX, ..Action::default() };
    // On other processors the kernel has a place of its own to return to.
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

/// True if the signal is ignored.
#[must_use]
pub fn is_ignored(signal: c_int) -> bool {
    action(signal, None).is_ok_and(|action| action.handler == libc::SIG_IGN)
}

/// Undoes what the Rust runtime changed before `main`, so that writing to a closed pipe ends a process, and so does a
/// fault of this process's own.
pub fn as_started() {
    for signal in [libc::SIGPIPE, libc::SIGSEGV, libc::SIGBUS] {
        let _ = dispose(signal, Disposition::Default, 0);
    }
}

/// Ends this process as the signal ends one that has no handler. Returns if the signal does not end processes.
pub fn end_by(signal: c_int) {
    let _ = dispose(signal, Disposition::Default, 0);
    set_mask(!(1 << (signal - 1)));
    // SAFETY: the call takes numbers only.
    unsafe { libc::kill(libc::getpid(), signal) };
}
