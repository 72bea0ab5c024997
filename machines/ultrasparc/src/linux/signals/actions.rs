//! The account of a program's signals: its action on each, the signals that a thread blocks, and its alternate stack.

use super::{SIGKILL, SIGNALS, SIGSTOP, mask_of_host, mask_to_host, to_host};
use crate::linux::errno::Errno;
use crate::linux::host::{self, Disposition};
use crate::linux::structures::{Fields, guest_u32, guest_u64};

/// Values of a handler that are no addresses.
pub(super) const SIG_DFL: u64 = 0;
pub(super) const SIG_IGN: u64 = 1;

/// Flags of an action.
pub(super) mod sa {
    pub const ONSTACK: u64 = 1;
    pub const RESTART: u64 = 2;
    pub const RESETHAND: u64 = 4;
    pub const NOCLDSTOP: u64 = 8;
    pub const NODEFER: u64 = 0x20;
    pub const NOCLDWAIT: u64 = 0x100;
    pub const SIGINFO: u64 = 0x200;
}

/// Flags of an alternate stack.
const SS_ONSTACK: u32 = 1;
const SS_DISABLE: u32 = 2;

/// The least length of an alternate stack.
const MINSIGSTKSZ: u64 = 4096;

/// A program's action on a signal.
#[derive(Clone, Copy, Default)]
pub(super) struct Action {
    pub handler: u64,
    pub flags: u64,
    pub restorer: u64,
    pub mask: u64,
}

/// The alternate stack, for handlers that ask for it.
#[derive(Clone, Copy, Default)]
pub(super) struct Stack {
    pub start: u64,
    pub length: u64,
}

/// A program's action on each signal.
#[derive(Default)]
pub(crate) struct Actions {
    /// Indexed by SPARC's numbers, so the first is unused.
    pub(super) actions: Vec<Action>,
    /// True if signals that end the program are caught: see [`Actions::witness`].
    witnessed: bool,
}

/// State that the kernel keeps of a thread's signals.
pub struct Signals {
    /// The blocked signals, by SPARC's numbers: bit 0 is signal 1.
    pub(crate) mask: u64,
    /// The mask that is restored after the handler of a signal that was waited for.
    pub(super) saved: Option<u64>,
    pub(super) stack: Stack,
}

/// True if a signal ends a program that has no handler for it. The signals of faults are left out: the program's are
/// made here, and this process's own must not be caught. SIGBUS is among them, because the host raises it at a file's
/// end.
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
    /// The actions that this process inherited: signals that it ignores, the program ignores too.
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
                // The program could catch it, so this can't fail.
                let _ = host::dispose(to_host(number), self.disposition(number, handler), 0);
            }
        }
    }

    /// True if a caught signal ends the program, and this process was to witness it.
    pub(super) fn is_end(&self, number: u8) -> bool {
        let handler = self.actions[usize::from(number)].handler;
        handler == SIG_DFL && self.disposition(number.into(), handler) == Disposition::Catch
    }

    /// The host's disposition for a handler of the program.
    pub(super) fn disposition(&self, number: u64, handler: u64) -> Disposition {
        match handler {
            SIG_DFL if self.witnessed && ends(number) => Disposition::Catch,
            SIG_DFL => Disposition::Default,
            SIG_IGN => Disposition::Ignore,
            _ => Disposition::Catch,
        }
    }
}

impl Signals {
    /// The mask that this process inherited: signals that it blocks, the program blocks too.
    #[must_use]
    pub fn inherited() -> Signals {
        Signals { mask: mask_of_host(host::mask()), saved: None, stack: Stack::default() }
    }

    /// The signals of a thread that this one starts.
    pub(crate) fn of_thread(&self) -> Signals {
        Signals { mask: self.mask, saved: None, stack: Stack::default() }
    }

    /// Sets the blocked signals, here and in the host.
    pub(crate) fn set_mask(&mut self, mask: u64) {
        self.mask = mask & !(1 << (SIGKILL - 1) | 1 << (SIGSTOP - 1));
        host::set_mask(mask_to_host(self.mask));
    }

    /// Replaces the mask until a signal has come that was waited for. The former mask is restored after its handler.
    pub(crate) fn suspended(&mut self, mask: u64) {
        self.saved = Some(self.mask);
        self.mask = mask & !(1 << (SIGKILL - 1) | 1 << (SIGSTOP - 1));
    }

    /// True if an address lies on the alternate stack.
    pub(super) fn is_on_stack(&self, pointer: u64) -> bool {
        self.stack.length != 0 && pointer.wrapping_sub(self.stack.start) < self.stack.length
    }

    /// The current `stack_t`.
    pub(super) fn stack_bytes(&self, pointer: u64) -> Vec<u8> {
        let flags = match self.stack.length {
            0 => SS_DISABLE,
            _ if self.is_on_stack(pointer) => SS_ONSTACK,
            _ => 0,
        };
        Fields::new().u64(self.stack.start).u32(flags).u32(0).u64(self.stack.length).bytes()
    }

    /// Sets the alternate stack from a `stack_t`.
    pub(super) fn set_stack(&mut self, bytes: &[u8]) -> Result<(), Errno> {
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
