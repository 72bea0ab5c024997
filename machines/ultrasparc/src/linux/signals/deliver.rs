//! The calls about signals, and the delivery of caught ones.

use super::actions::{Action, SIG_DFL, SIG_IGN, sa};
use super::fault::Signal;
use super::{SIGKILL, SIGNALS, SIGSTOP, information_of_host, mask_to_host, of_host, to_host};
use crate::cpu::window::BIAS;
use crate::linux::errno::Errno;
use crate::linux::host;
use crate::linux::kept::Ended;
use crate::linux::process::Process;
use crate::linux::structures::{Fields, guest_u64, host_u32};

impl Process {
    /// Serves `rt_sigaction`.
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

    /// Sets the host's dispositions again of the two signals that its C library takes for itself with the first
    /// thread.
    pub(crate) fn renew_actions(&self) {
        for number in [32, 33] {
            let handler = self.kept.actions.actions[number as usize].handler;
            // The disposition could be set before, so this can't fail.
            let _ = host::dispose(to_host(number), self.kept.actions.disposition(number, handler), 0);
        }
    }

    /// Serves `rt_sigprocmask`.
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

    /// Serves `sigaltstack`.
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

    /// True if the call that the caught signal interrupted is made once more after its handler.
    pub(crate) fn restarts_after_caught(&self) -> bool {
        let Some(number) = host::caught_number() else { return false };
        let action = self.kept.actions.actions[usize::from(of_host(number))];
        action.flags & sa::RESTART != 0
    }

    /// Delivers caught signals until there are none.
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
                // The program has blocked it meanwhile, or handles it no more, so the host's kernel gets it back.
                host::send_again(&caught);
            }
            host::set_mask(mask_to_host(self.signals.mask));
        }
        None
    }

    /// Delivers a signal of the program's own making: its handler runs, or the program ends.
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
            // The signal could be caught, so it can be given its default again.
            let number = number as u64;
            let _ = host::dispose(to_host(number), self.kept.actions.disposition(number, SIG_DFL), 0);
        }
        None
    }
}
