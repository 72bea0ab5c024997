//! Signals: SPARC's numbers, what a program does about each, and the frames that its handlers run on.
//!
//! The host's kernel keeps the account of what is blocked and pending: the host's mask is always the program's. A signal
//! that the program handles is caught by [`host`]'s handler, which blocks all others until it was dealt with here.
//! Ref. Linux `arch/sparc/kernel/signal_64.c`, `arch/sparc/include/uapi/asm/{signal,uctx,ptrace}.h`.

use crate::cpu::window::{BIAS, INS, LOCALS};
use crate::cpu::{Cpu, Trap};
use crate::linux::errno::Errno;
use crate::linux::host::{self, Disposition};
use crate::linux::process::{After, Ended, Left, Process};
use crate::linux::structures::{Fields, guest_u32, guest_u64, host_u32, host_u64};
use crate::memory::{Access, Fault};

/// The host's number that stands for SPARC's SIGEMT, which the host lacks: that of SIGSTKFLT, which no kernel sends.
pub const EMT_ON_HOST: i32 = libc::SIGSTKFLT;

/// SPARC's number of each of the host's signals 1 to 31.
const OF_HOST: [u8; 32] = {
    let mut table = [0; 32];
    let mut i = 0;
    while i < 32 {
        table[i] = i as u8;
        i += 1;
    }
    table[libc::SIGBUS as usize] = SIGBUS;
    table[libc::SIGUSR1 as usize] = 30;
    table[libc::SIGUSR2 as usize] = 31;
    table[EMT_ON_HOST as usize] = SIGEMT;
    table[libc::SIGCHLD as usize] = SIGCHLD;
    table[libc::SIGCONT as usize] = 19;
    table[libc::SIGSTOP as usize] = SIGSTOP;
    table[libc::SIGTSTP as usize] = 18;
    table[libc::SIGURG as usize] = 16;
    table[libc::SIGIO as usize] = SIGIO;
    table[libc::SIGPWR as usize] = 29;
    table[libc::SIGSYS as usize] = 12;
    table
};

const SIGILL: u8 = 4;
const SIGTRAP: u8 = 5;
const SIGEMT: u8 = 7;
const SIGFPE: u8 = 8;
const SIGKILL: u8 = 9;
const SIGBUS: u8 = 10;
const SIGSEGV: u8 = 11;
const SIGSTOP: u8 = 17;
const SIGCHLD: u8 = 20;
const SIGIO: u8 = 23;

/// The highest number.
pub const SIGNALS: u64 = 64;

/// Handlers that are none.
const SIG_DFL: u64 = 0;
const SIG_IGN: u64 = 1;

/// Flags of an action.
mod sa {
    pub const ONSTACK: u64 = 1;
    pub const RESTART: u64 = 2;
    pub const RESETHAND: u64 = 4;
    pub const NOCLDSTOP: u64 = 8;
    pub const NODEFER: u64 = 0x20;
    pub const NOCLDWAIT: u64 = 0x100;
    pub const SIGINFO: u64 = 0x200;
}

/// `si_code` where there is no information.
const SI_NOINFO: u32 = 32767;

/// Flags of an alternate stack.
const SS_ONSTACK: u32 = 1;
const SS_DISABLE: u32 = 2;

/// What an alternate stack has at least.
const MINSIGSTKSZ: u64 = 4096;

/// `PSTATE` of a program, in bits 19:8 of `TSTATE`: interrupts (IE) and floating point (PEF) enabled.
const TSTATE: u64 = 0x12 << 8;

/// In `pt_regs`, beside the type of the trap.
const PT_REGS_MAGIC: u32 = 0x57ac_6c00;

/// Offsets in `struct rt_signal_frame`.
mod frame {
    /// Register save area and the rest of a stack frame.
    pub const INFO: u64 = 192;
    /// `pt_regs`: sixteen registers, then tstate, tpc, tnpc, y and a magic number.
    pub const REGISTERS: u64 = INFO + 128;
    pub const FLOAT: u64 = REGISTERS + 160;
    pub const STACK: u64 = FLOAT + 8;
    pub const MASK: u64 = STACK + 24;
    pub const WINDOWS: u64 = MASK + 8;
    pub const BYTES: u64 = WINDOWS + 8;
    /// `__siginfo_fpu_t`: 64 single registers, fsr, gsr, fprs.
    pub const FLOAT_BYTES: u64 = 256 + 24;
}

/// Offsets in `struct ucontext`.
mod context {
    pub const MASK: u64 = 16;
    /// tstate, pc, npc, y, %g1 to %g7, %o0 to %o7.
    pub const REGISTERS: u64 = 32;
    pub const FRAME_POINTER: u64 = REGISTERS + 19 * 8;
    pub const RETURN: u64 = FRAME_POINTER + 8;
    /// The registers, fsr, fprs, gsr, a queue, and bytes of which the third says whether they count.
    pub const FLOAT: u64 = 0xd0;
    pub const FLOAT_ENABLED: u64 = FLOAT + 256 + 4 * 8 + 2;
    pub const BYTES: u64 = 0x200;
}

/// What a program does about a signal.
#[derive(Clone, Copy, Default)]
struct Action {
    handler: u64,
    flags: u64,
    restorer: u64,
    mask: u64,
}

/// Where handlers run that want a stack of their own.
#[derive(Clone, Copy, Default)]
struct Stack {
    start: u64,
    length: u64,
}

/// What a program does about each signal.
#[derive(Default)]
pub(crate) struct Actions {
    /// By SPARC's numbers; the first is none.
    actions: Vec<Action>,
    /// Whether signals that end the program are caught: see [`Actions::witness`].
    witnessed: bool,
}

/// What the kernel keeps of a thread's signals.
pub struct Signals {
    /// The blocked signals, by SPARC's numbers: bit 0 is signal 1.
    pub(crate) mask: u64,
    /// What is blocked again after the handler of a signal that was waited for.
    saved: Option<u64>,
    stack: Stack,
}

/// A signal to a program: SPARC's number and `siginfo`.
pub struct Signal {
    number: u8,
    information: Vec<u8>,
}

/// The host's number of a signal.
#[must_use]
pub fn to_host(sparc: u64) -> i32 {
    match OF_HOST.iter().position(|number| u64::from(*number) == sparc) {
        Some(host) => host as i32,
        None => sparc as i32,
    }
}

/// SPARC's number of a signal.
#[must_use]
pub fn of_host(host: i32) -> u8 {
    usize::try_from(host).ok().and_then(|host| OF_HOST.get(host).copied()).unwrap_or(host as u8)
}

/// The host's set for a set of SPARC's, without what is this emulator's own.
#[must_use]
pub fn mask_to_host(sparc: u64) -> u64 {
    bits(sparc).fold(0, |set, number| set | 1 << (to_host(number) - 1)) & !host::reserved()
}

/// SPARC's set for a set of the host's.
#[must_use]
pub fn mask_of_host(host: u64) -> u64 {
    bits(host).fold(0, |set, number| set | 1 << (of_host(number as i32) - 1))
}

/// The numbers in a set.
fn bits(set: u64) -> impl Iterator<Item = u64> {
    (1..=SIGNALS).filter(move |number| set >> (number - 1) & 1 != 0)
}

/// `siginfo` of SPARC from the host's: the same fields, but for one.
#[must_use]
pub fn information_of_host(host: &[u8]) -> Vec<u8> {
    let word = |at: usize| host_u32(host, at);
    let number = of_host(word(0) as i32);
    let code = word(8) as i32;
    let fields = Fields::new().u32(number.into()).u32(word(4)).u32(code as u32).u32(0);
    let fields = match (number, code) {
        // A child: who, whose, how it ended, and its times.
        (SIGCHLD, 1..=6) => {
            let status = if code == 1 { word(24) } else { of_host(word(24) as i32).into() };
            fields
                .u32(word(16))
                .u32(word(20))
                .u32(status)
                .u32(0)
                .u64(host_u64(host, 32))
                .u64(host_u64(host, 40))
        }
        // A descriptor: its band is an int on SPARC.
        (SIGIO, 1..=6) => fields.u32(word(16)).u32(word(24)),
        // A timer, or another process: two words, then what was sent along.
        _ => fields.u32(word(16)).u32(word(20)).u64(value_of(host_u64(host, 24), code)),
    };
    fields.pad(128).bytes()
}

/// What was sent along with a signal. Programs here send a word as a big-endian union has it.
fn value_of(host: u64, code: i32) -> u64 {
    const SI_QUEUE: i32 = -1;
    const SI_TIMER: i32 = -2;
    const SI_MESGQ: i32 = -3;
    if matches!(code, SI_QUEUE | SI_TIMER | SI_MESGQ) { host } else { 0 }
}

/// The host's `siginfo` for one that a program sends.
#[must_use]
pub fn information_to_host(guest: &[u8]) -> [u8; 128] {
    let mut host = [0; 128];
    let number = to_host(guest_u32(guest, 0).into()) as u32;
    for (at, word) in [
        (0, number),
        (4, guest_u32(guest, 4)),
        (8, guest_u32(guest, 8)),
        (16, guest_u32(guest, 16)),
        (20, guest_u32(guest, 20)),
    ] {
        host[at..at + 4].copy_from_slice(&word.to_ne_bytes());
    }
    host[24..32].copy_from_slice(&guest_u64(guest, 24).to_ne_bytes());
    host
}

/// The status of a child that ended or stopped, by SPARC's signals.
#[must_use]
pub fn status_of_host(status: u32) -> u32 {
    match status & 0x7f {
        0 => status,
        0x7f if status != 0xffff => status & !0xff00 | u32::from(of_host((status >> 8 & 0xff) as i32)) << 8,
        0x7f => status,
        signal => status & !0x7f | u32::from(of_host(signal as i32)),
    }
}

/// A signal about an address.
fn about(number: u8, code: u32, address: u64) -> Signal {
    let information = Fields::new().u32(number.into()).u32(0).u32(code).u32(0).u64(address).pad(128).bytes();
    Signal { number, information }
}

/// The signal for what stopped a program, if it did not do so by a system call.
pub fn of_trap(cpu: &Cpu, trap: Trap) -> Option<Signal> {
    const ILL_ILLOPC: u32 = 1;
    const ILL_PRVOPC: u32 = 5;
    const BUS_ADRALN: u32 = 1;
    const BUS_ADRERR: u32 = 2;
    const SEGV_MAPERR: u32 = 1;
    const SEGV_ACCERR: u32 = 2;
    const FPE_INTDIV: u32 = 1;
    const EMT_TAGOVF: u32 = 1;
    Some(match trap {
        Trap::IllegalInstruction(_) => about(SIGILL, ILL_ILLOPC, cpu.pc),
        Trap::PrivilegedOpcode(_) | Trap::PrivilegedAction => about(SIGILL, ILL_PRVOPC, cpu.pc),
        Trap::NotAligned(address) => about(SIGBUS, BUS_ADRALN, address),
        Trap::Memory(fault) => {
            let (signal, code) = match fault {
                Fault { ended: true, .. } => (SIGBUS, BUS_ADRERR),
                Fault { mapped: true, .. } => (SIGSEGV, SEGV_ACCERR),
                Fault { .. } => (SIGSEGV, SEGV_MAPERR),
            };
            let address = if fault.access == Access::Execute { cpu.pc } else { fault.address };
            about(signal, code, address)
        }
        Trap::DivisionByZero => about(SIGFPE, FPE_INTDIV, cpu.pc),
        Trap::TagOverflow => about(SIGEMT, EMT_TAGOVF, cpu.pc),
        Trap::FpException => about(SIGFPE, float_code(cpu.fsr), cpu.pc),
        Trap::Software(_) | Trap::Attention => return None,
    })
}

/// `si_code` of the exception in `fsr`.
fn float_code(fsr: u64) -> u32 {
    const IEEE: u64 = 1;
    const FPE_FLTUNK: u32 = 14;
    if fsr >> 14 & 7 != IEEE {
        return FPE_FLTUNK;
    }
    // Invalid, overflow, underflow, division, inexact: `cexc` from its highest bit.
    let codes = [(0x10, 7), (0x08, 4), (0x04, 5), (0x02, 3), (0x01, 6)];
    codes.into_iter().find(|(bit, _)| fsr & bit != 0).map_or(FPE_FLTUNK, |(_, code)| code)
}

/// The signal of `ta 1`.
pub fn breakpoint(cpu: &Cpu) -> Signal {
    const TRAP_BRKPT: u32 = 1;
    about(SIGTRAP, TRAP_BRKPT, cpu.pc)
}

/// The signal of a software trap that nobody answers.
pub fn unknown_trap(cpu: &Cpu) -> Signal {
    const ILL_ILLTRP: u32 = 4;
    about(SIGILL, ILL_ILLTRP, cpu.pc)
}

/// Whether a signal ends a program that does nothing about it. Those of faults are not among them but for SIGBUS, which the host
/// makes of a file's end: of the program's others they are made here, and this process's own are not to be caught.
fn ends(number: u64) -> bool {
    use libc::{
        SIGABRT, SIGALRM, SIGBUS, SIGHUP, SIGINT, SIGPIPE, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
        SIGVTALRM, SIGXCPU, SIGXFSZ,
    };
    let plain = [SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGPIPE, SIGALRM, SIGTERM, SIGUSR1, SIGUSR2, SIGBUS];
    let timed = [SIGVTALRM, SIGPROF, SIGXCPU, SIGXFSZ];
    let host = to_host(number);
    plain.contains(&host) || timed.contains(&host)
}

impl Actions {
    /// As this process has them: what it ignores, the program does too.
    #[must_use]
    pub fn inherited() -> Actions {
        let mut actions = vec![Action::default(); SIGNALS as usize + 1];
        for (number, action) in actions.iter_mut().enumerate().skip(1) {
            if host::is_ignored(to_host(number as u64)) {
                action.handler = SIG_IGN;
            }
        }
        Actions { actions, witnessed: false }
    }

    /// Has signals that end the program caught, so that this process sees its end.
    pub(crate) fn witness(&mut self) {
        self.witnessed = true;
        for number in 1..=SIGNALS {
            let handler = self.actions[number as usize].handler;
            if handler == SIG_DFL && ends(number) {
                // It could be caught by the program, too.
                let _ = host::dispose(to_host(number), self.disposition(number, handler), 0);
            }
        }
    }

    /// Whether a signal that came ends the program, and this process was to see it.
    fn is_end(&self, number: u8) -> bool {
        let handler = self.actions[usize::from(number)].handler;
        handler == SIG_DFL && self.disposition(number.into(), handler) == Disposition::Catch
    }

    /// What the host does with a signal that the program does that with.
    fn disposition(&self, number: u64, handler: u64) -> Disposition {
        match handler {
            SIG_DFL if self.witnessed && ends(number) => Disposition::Catch,
            SIG_DFL => Disposition::Default,
            SIG_IGN => Disposition::Ignore,
            _ => Disposition::Catch,
        }
    }
}

impl Signals {
    /// As this process has them: what it blocks, the program does too.
    #[must_use]
    pub fn inherited() -> Signals {
        Signals { mask: mask_of_host(host::mask()), saved: None, stack: Stack::default() }
    }

    /// Those of a thread that this one starts.
    pub(crate) fn of_thread(&self) -> Signals {
        Signals { mask: self.mask, saved: None, stack: Stack::default() }
    }

    /// Sets what is blocked, here and in the host.
    pub(crate) fn set_mask(&mut self, mask: u64) {
        self.mask = mask & !(1 << (SIGKILL - 1) | 1 << (SIGSTOP - 1));
        host::set_mask(mask_to_host(self.mask));
    }

    /// Blocks other signals only until one came that was waited for: what was blocked before is again after its handler.
    pub(crate) fn suspended(&mut self, mask: u64) {
        self.saved = Some(self.mask);
        self.mask = mask & !(1 << (SIGKILL - 1) | 1 << (SIGSTOP - 1));
    }

    /// Whether an address lies on the alternate stack.
    fn is_on_stack(&self, pointer: u64) -> bool {
        self.stack.length != 0 && pointer.wrapping_sub(self.stack.start) < self.stack.length
    }

    /// `stack_t` as it is.
    fn stack_bytes(&self, pointer: u64) -> Vec<u8> {
        let flags = match self.stack.length {
            0 => SS_DISABLE,
            _ if self.is_on_stack(pointer) => SS_ONSTACK,
            _ => 0,
        };
        Fields::new().u64(self.stack.start).u32(flags).u32(0).u64(self.stack.length).bytes()
    }

    /// Sets the alternate stack from a `stack_t`.
    fn set_stack(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        let (flags, length) = (guest_u32(bytes, 8), guest_u64(bytes, 16));
        self.stack = match flags {
            SS_DISABLE => Stack::default(),
            0 | SS_ONSTACK if length < MINSIGSTKSZ => return Err(Errno(libc::ENOMEM)),
            0 | SS_ONSTACK => Stack { start: guest_u64(bytes, 0), length },
            _ => return Err(Errno(libc::EINVAL)),
        };
        Ok(())
    }
}

impl Process {
    /// `rt_sigaction`.
    pub(crate) fn set_action(&mut self, a: &[u64; 6]) -> Result<u64, Errno> {
        let [number, new, old, restorer, size, _] = *a;
        let kept = number == u64::from(SIGKILL) || number == u64::from(SIGSTOP);
        if size != 8 || !(1..=SIGNALS).contains(&number) || kept && new != 0 {
            return Err(Errno(libc::EINVAL));
        }
        let before = self.kept.actions.actions[number as usize];
        if new != 0 {
            let bytes = self.bytes(new, 32)?;
            let word = |at| guest_u64(bytes, at);
            let action = Action { handler: word(0), flags: word(8), restorer, mask: word(24) };
            let disposition = self.kept.actions.disposition(number, action.handler);
            let flag = |theirs: u64, ours: i32| if action.flags & theirs != 0 { ours } else { 0 };
            let flags = flag(sa::NOCLDSTOP, libc::SA_NOCLDSTOP) | flag(sa::NOCLDWAIT, libc::SA_NOCLDWAIT);
            if host::reserved() >> (to_host(number) - 1) & 1 != 0 {
                return Err(Errno(libc::EINVAL));
            }
            host::dispose(to_host(number), disposition, flags)?;
            self.kept.actions.actions[number as usize] = action;
        }
        let Action { handler, flags, restorer, mask } = before;
        self.put(old, &Fields::new().u64(handler).u64(flags).u64(restorer).u64(mask).bytes())?;
        Ok(0)
    }

    /// Has the host do again what the program does about two signals that its C library takes for itself with the first thread.
    pub(crate) fn renew_actions(&self) {
        for number in [32, 33] {
            let handler = self.kept.actions.actions[number as usize].handler;
            // It could be set before.
            let _ = host::dispose(to_host(number), self.kept.actions.disposition(number, handler), 0);
        }
    }

    /// `rt_sigprocmask`.
    pub(crate) fn change_mask(&mut self, a: &[u64; 6]) -> Result<u64, Errno> {
        const BLOCK: u64 = 1;
        const UNBLOCK: u64 = 2;
        const SET: u64 = 4;
        let [how, new, old, size, ..] = *a;
        if size != 8 {
            return Err(Errno(libc::EINVAL));
        }
        let before = self.signals.mask;
        if new != 0 {
            let set = guest_u64(self.bytes(new, 8)?, 0);
            self.signals.set_mask(match how {
                BLOCK => before | set,
                UNBLOCK => before & !set,
                SET => set,
                _ => return Err(Errno(libc::EINVAL)),
            });
        }
        self.put(old, &before.to_be_bytes())?;
        Ok(0)
    }

    /// `sigaltstack`.
    pub(crate) fn change_stack(&mut self, a: &[u64; 6]) -> Result<u64, Errno> {
        let [new, old, ..] = *a;
        let pointer = self.cpu.r[14].wrapping_add(BIAS);
        let before = self.signals.stack_bytes(pointer);
        if new != 0 {
            if self.signals.is_on_stack(pointer) {
                return Err(Errno(libc::EPERM));
            }
            let bytes = self.bytes(new, 24)?.to_vec();
            self.signals.set_stack(&bytes)?;
        }
        self.put(old, &before)?;
        Ok(0)
    }

    /// Whether the call that the caught signal interrupted is made once more after its handler.
    pub(crate) fn restarts_after_caught(&self) -> bool {
        let Some(number) = host::caught_number() else { return false };
        let action = self.kept.actions.actions[usize::from(of_host(number))];
        action.flags & sa::RESTART != 0
    }

    /// Delivers what was caught, until nothing is.
    pub(crate) fn deliver(&mut self) -> Option<Ended> {
        self.cpu.attention.store(false, std::sync::atomic::Ordering::SeqCst);
        while let Some(caught) = host::take() {
            let number = of_host(host_u32(&caught, 0) as i32);
            let blocked = self.signals.mask >> (number - 1) & 1 != 0;
            let handled = self.kept.actions.actions[usize::from(number)].handler > SIG_IGN;
            if handled && !blocked {
                let signal = Signal { number, information: information_of_host(&caught) };
                if let Some(ended) = self.enter(&signal) {
                    return Some(ended);
                }
            } else if !blocked && !handled && self.kept.actions.is_end(number) {
                return Some(Ended::Killed(to_host(number.into())));
            } else {
                // The program blocked it meanwhile, or handles it no more: the host's kernel has it once more.
                host::send_again(&caught);
            }
            host::set_mask(mask_to_host(self.signals.mask));
        }
        None
    }

    /// A signal of the program's own making: its handler runs, or the program ends.
    pub(crate) fn fault(&mut self, signal: Signal) -> Option<Ended> {
        let number = signal.number;
        let blocked = self.signals.mask >> (number - 1) & 1 != 0;
        if blocked || self.kept.actions.actions[usize::from(number)].handler <= SIG_IGN {
            return Some(Ended::Killed(to_host(number.into())));
        }
        self.enter(&signal)
    }

    /// Enters the handler of a signal.
    fn enter(&mut self, signal: &Signal) -> Option<Ended> {
        let number = usize::from(signal.number);
        let action = self.kept.actions.actions[number];
        if self.push_frame(signal, action).is_err() {
            // There is no stack to run on.
            return Some(Ended::Killed(libc::SIGSEGV));
        }
        let own = if action.flags & sa::NODEFER != 0 { 0 } else { 1 << (number - 1) };
        self.signals.saved = None;
        self.signals.set_mask(self.signals.mask | action.mask | own);
        if action.flags & sa::RESETHAND != 0 {
            self.kept.actions.actions[number].handler = SIG_DFL;
            // It could be caught, so it can be left to the kernel.
            let number = number as u64;
            let _ = host::dispose(to_host(number), self.kept.actions.disposition(number, SIG_DFL), 0);
        }
        None
    }

    /// Puts `struct rt_signal_frame` on the stack and sets the registers for the handler.
    fn push_frame(&mut self, signal: &Signal, action: Action) -> Result<(), Errno> {
        let kept = self.spill_window().is_ok();
        if !kept {
            // The stack has ended. Its handler, on a stack of its own, can go elsewhere, but back to the frames that were
            // not written it can't.
            let windows = &mut self.cpu.windows;
            (windows.cansave, windows.canrestore) = (windows.cansave + windows.canrestore, 0);
        }
        let pointer = self.cpu.r[14].wrapping_add(BIAS);
        let on_stack = self.signals.is_on_stack(pointer);
        let top = if action.flags & sa::ONSTACK != 0 && self.signals.stack.length != 0 && !on_stack {
            self.signals.stack.start + self.signals.stack.length
        } else {
            pointer
        };
        let place = top.wrapping_sub(frame::BYTES + frame::FLOAT_BYTES) & !15;
        if on_stack && !self.signals.is_on_stack(place) {
            return Err(Errno(libc::EFAULT));
        }
        let information = if action.flags & sa::SIGINFO != 0 {
            signal.information.clone()
        } else {
            Fields::new().u32(signal.number.into()).u32(0).u32(SI_NOINFO).pad(128).bytes()
        };
        let window = self.cpu.r[LOCALS..INS + 8].iter().fold(Fields::new(), |fields, word| fields.u64(*word));
        let mut bytes = window.pad(frame::INFO as usize).bytes();
        bytes.extend(information);
        bytes.extend(self.registers());
        let float = place + frame::BYTES;
        bytes.extend(float.to_be_bytes());
        bytes.extend(self.signals.stack_bytes(pointer));
        bytes.extend(self.signals.saved.unwrap_or(self.signals.mask).to_be_bytes());
        bytes.extend(if kept { 0 } else { place }.to_be_bytes());
        bytes.extend(self.float_registers());
        self.cpu.memory.write(place, &bytes)?;
        self.cpu.r[14] = place.wrapping_sub(BIAS);
        self.cpu.r[8] = signal.number.into();
        self.cpu.r[9] = place + frame::INFO;
        self.cpu.r[10] = place + frame::INFO;
        self.cpu.r[15] = action.restorer;
        self.cpu.jump(action.handler);
        Ok(())
    }

    /// `pt_regs`.
    fn registers(&self) -> Vec<u8> {
        let cpu = &self.cpu;
        let fields = cpu.r[..16].iter().fold(Fields::new(), |fields, word| fields.u64(*word));
        let fields = fields.u64(tstate(cpu)).u64(cpu.pc).u64(cpu.npc).u32(cpu.y as u32);
        fields.u32(PT_REGS_MAGIC).bytes()
    }

    /// `__siginfo_fpu_t`.
    fn float_registers(&self) -> Vec<u8> {
        let cpu = &self.cpu;
        let fields = cpu.d.iter().fold(Fields::new(), |fields, word| fields.u64(*word));
        fields.u64(cpu.fsr).u64(cpu.gsr).u64(cpu.fprs).bytes()
    }

    /// `rt_sigreturn`: the registers are those that the frame says, which a handler may have changed.
    pub(crate) fn leave_handler(&mut self) -> Result<u64, Errno> {
        self.after = After::Keep;
        if self.restore_frame().is_err() {
            self.after = After::End(Left::Process(Ended::Killed(libc::SIGSEGV)));
        }
        Ok(0)
    }

    fn restore_frame(&mut self) -> Result<(), Errno> {
        let fault = Errno(libc::EFAULT);
        self.cpu.flush_windows().map_err(|_| fault)?;
        let place = self.cpu.r[14].wrapping_add(BIAS);
        let bytes = self.bytes(place, frame::BYTES)?.to_vec();
        let registers = &bytes[frame::REGISTERS as usize..];
        let word = |at: usize| guest_u64(registers, at * 8);
        let (pc, npc) = (word(17), word(18));
        if !place.is_multiple_of(16) || (pc | npc) & 3 != 0 {
            return Err(fault);
        }
        let float = guest_u64(&bytes, frame::FLOAT as usize);
        if float != 0 {
            let bytes = self.bytes(float, frame::FLOAT_BYTES)?.to_vec();
            for (register, bytes) in self.cpu.d.iter_mut().zip(bytes.chunks_exact(8)) {
                *register = guest_u64(bytes, 0);
            }
            (self.cpu.fsr, self.cpu.gsr) = (guest_u64(&bytes, 256), guest_u64(&bytes, 264));
        }
        for index in 1..16 {
            self.cpu.r[index] = word(index);
        }
        set_tstate(&mut self.cpu, word(16));
        self.cpu.y = u64::from(guest_u32(registers, 152));
        self.cpu.jump_pair(pc, npc);
        let frame = match guest_u64(&bytes, frame::WINDOWS as usize) {
            0 => self.cpu.r[14].wrapping_add(BIAS),
            // It could not be written to its own.
            _ => place,
        };
        self.fill_window(frame)?;
        // The kernel leaves a wrong stack as it is.
        let _ = self.signals.set_stack(&bytes[frame::STACK as usize..]);
        self.signals.set_mask(guest_u64(&bytes, frame::MASK as usize));
        Ok(())
    }

    /// Reads the current window's locals and ins from a frame, as the kernel does when it goes back to a program whose
    /// windows it wrote there.
    fn fill_window(&mut self, frame: u64) -> Result<(), Errno> {
        let bytes = self.bytes(frame, 128)?.to_vec();
        for (register, bytes) in self.cpu.r[LOCALS..INS + 8].iter_mut().zip(bytes.chunks_exact(8)) {
            *register = guest_u64(bytes, 0);
        }
        Ok(())
    }

    /// Writes the current window's locals and ins to its frame.
    pub(crate) fn spill_window(&mut self) -> Result<(), Errno> {
        self.cpu.flush_windows().map_err(|_| Errno(libc::EFAULT))?;
        let frame = self.cpu.r[14].wrapping_add(BIAS);
        let window = self.cpu.r[LOCALS..INS + 8].iter().fold(Fields::new(), |fields, word| fields.u64(*word));
        Ok(self.cpu.memory.write(frame, &window.bytes())?)
    }

    /// `ta 0x6e`: the registers and the mask into a `struct ucontext`.
    pub(crate) fn get_context(&mut self) -> Option<Ended> {
        let place = self.cpu.r[8];
        let saved = self.spill_window().and_then(|()| {
            self.cpu.advance();
            let cpu = &self.cpu;
            let fields = Fields::new().u64(0).u64(0).u64(self.signals.mask).u64(0);
            let fields = fields.u64(tstate(cpu)).u64(cpu.pc).u64(cpu.npc).u64(cpu.y);
            let fields = cpu.r[1..16].iter().fold(fields, |fields, word| fields.u64(*word));
            let fields = fields.u64(cpu.r[30]).u64(cpu.r[31]);
            let bytes = fields.pad(context::BYTES as usize).bytes();
            Ok(self.cpu.memory.write(place, &bytes)?)
        });
        match saved {
            Ok(()) => None,
            Err(_) => self.fault(about(SIGSEGV, 1, place)),
        }
    }

    /// `ta 0x6f`: goes on as a `struct ucontext` says; with its mask if %o1 is not zero.
    pub(crate) fn set_context(&mut self) -> Option<Ended> {
        let place = self.cpu.r[8];
        match self.restore_context(place) {
            Ok(()) => None,
            Err(_) => self.fault(about(SIGSEGV, 1, place)),
        }
    }

    fn restore_context(&mut self, place: u64) -> Result<(), Errno> {
        self.spill_window()?;
        let bytes = self.bytes(place, context::BYTES)?.to_vec();
        let word = |at: u64| guest_u64(&bytes, at as usize);
        let register = |index: u64| word(context::REGISTERS + 8 * index);
        let (pc, npc) = (register(1), register(2));
        if !place.is_multiple_of(8) || (pc | npc) & 3 != 0 {
            return Err(Errno(libc::EFAULT));
        }
        if self.cpu.r[9] != 0 {
            self.signals.set_mask(word(context::MASK));
        }
        set_tstate(&mut self.cpu, register(0));
        self.cpu.y = register(3) & 0xffff_ffff;
        // %g7 is the thread's own and stays.
        for index in (1..=6).chain(8..=15) {
            self.cpu.r[index as usize] = register(3 + index);
        }
        let frame = self.cpu.r[14].wrapping_add(BIAS);
        let links = Fields::new().u64(word(context::FRAME_POINTER)).u64(word(context::RETURN)).bytes();
        self.cpu.memory.write(frame + 14 * 8, &links)?;
        self.fill_window(frame)?;
        if bytes[context::FLOAT_ENABLED as usize] != 0 {
            let float = &bytes[context::FLOAT as usize..];
            for (register, bytes) in self.cpu.d.iter_mut().zip(float.chunks_exact(8)) {
                *register = guest_u64(bytes, 0);
            }
            (self.cpu.fsr, self.cpu.gsr) = (guest_u64(float, 256), guest_u64(float, 272));
        }
        self.cpu.jump_pair(pc, npc);
        Ok(())
    }
}

/// `TSTATE`: the condition codes in bits 39:32, the ASI in 31:24.
fn tstate(cpu: &Cpu) -> u64 {
    u64::from(cpu.ccr()) << 32 | u64::from(cpu.asi) << 24 | TSTATE
}

/// A program changes the condition codes and the ASI, and nothing else.
fn set_tstate(cpu: &mut Cpu, tstate: u64) {
    cpu.set_ccr((tstate >> 32) as u8);
    cpu.asi = (tstate >> 24) as u8;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_there_and_back_are_the_same() {
        for host in 1..=64 {
            assert_eq!(to_host(of_host(host).into()), host);
        }
        assert_eq!((of_host(libc::SIGCHLD), of_host(libc::SIGUSR1), of_host(libc::SIGSYS)), (20, 30, 12));
        assert_eq!(to_host(10), libc::SIGBUS);
        for set in [0, u64::MAX, 0x8000_0000_0010_0400] {
            assert_eq!(mask_of_host(mask_to_host(set)), set);
        }
    }

    #[test]
    fn a_status_names_sparcs_signal() {
        assert_eq!(status_of_host(0x0300), 0x0300);
        assert_eq!(status_of_host(libc::SIGBUS as u32 | 0x80), 10 | 0x80);
        assert_eq!(status_of_host((libc::SIGSTOP as u32) << 8 | 0x7f), 17 << 8 | 0x7f);
        assert_eq!(status_of_host(0xffff), 0xffff);
    }

    #[test]
    fn a_float_exception_has_its_code() {
        assert_eq!(float_code(1 << 14 | 0x02), 3);
        assert_eq!(float_code(1 << 14 | 0x10), 7);
        assert_eq!(float_code(2 << 14), 14);
    }

    #[test]
    fn frames_are_as_long_as_the_kernels() {
        assert_eq!((frame::BYTES, frame::MASK, frame::FLOAT), (528, 512, 480));
        assert_eq!((context::FRAME_POINTER, context::RETURN, context::FLOAT_ENABLED), (0xb8, 0xc0, 0x1f2));
    }
}
