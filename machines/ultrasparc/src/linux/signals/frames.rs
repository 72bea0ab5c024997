//! The frames that handlers run on, and contexts: a thread's registers in the program's memory, and back.

use super::SIGSEGV;
use super::actions::{Action, sa};
use super::fault::{Signal, about};
use crate::cpu::Cpu;
use crate::cpu::window::{BIAS, INS, LOCALS};
use crate::linux::errno::Errno;
use crate::linux::kept::{After, Ended, Left};
use crate::linux::process::Process;
use crate::linux::structures::{Fields, guest_u32, guest_u64};

/// `si_code` of a signal without information.
const SI_NOINFO: u32 = 32767;

/// `PSTATE` of a program, in bits 19:8 of `TSTATE`: interrupts (IE) and floating point (PEF) enabled.
const TSTATE: u64 = 0x12 << 8;

/// The magic number in `pt_regs`, beside the type of the trap.
const PT_REGS_MAGIC: u32 = 0x57ac_6c00;

/// Offsets in `struct rt_signal_frame`.
mod frame {
    /// The register save area and the rest of a stack frame come before it.
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
    /// The registers, fsr, fprs, gsr, a queue, and bytes of which the third says if the registers are valid.
    pub const FLOAT: u64 = 0xd0;
    pub const FLOAT_ENABLED: u64 = FLOAT + 256 + 4 * 8 + 2;
    pub const BYTES: u64 = 0x200;
}

impl Process {
    /// Puts `struct rt_signal_frame` on the stack and sets the registers for the handler.
    pub(super) fn push_frame(&mut self, signal: &Signal, action: Action) -> Result<(), Errno> {
        let kept = self.spill_window().is_ok();
        if !kept {
            // The stack has ended. A handler on a stack of its own can jump elsewhere, but it can't return to the
            // frames that were not written.
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

    /// Makes `pt_regs`.
    fn registers(&self) -> Vec<u8> {
        let cpu = &self.cpu;
        let fields = cpu.r[..16].iter().fold(Fields::new(), |fields, word| fields.u64(*word));
        let fields = fields.u64(tstate(cpu)).u64(cpu.pc).u64(cpu.npc).u32(cpu.y as u32);
        fields.u32(PT_REGS_MAGIC).bytes()
    }

    /// Makes `__siginfo_fpu_t`.
    fn float_registers(&self) -> Vec<u8> {
        let cpu = &self.cpu;
        let fields = cpu.d.iter().fold(Fields::new(), |fields, word| fields.u64(*word));
        fields.u64(cpu.fsr).u64(cpu.gsr).u64(cpu.fprs).bytes()
    }

    /// Serves `rt_sigreturn`: the registers come from the frame, which a handler may have changed.
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
            // The window could not be written to its own frame.
            _ => place,
        };
        self.fill_window(frame)?;
        // The kernel ignores an invalid stack, too.
        let _ = self.signals.set_stack(&bytes[frame::STACK as usize..]);
        self.signals.set_mask(guest_u64(&bytes, frame::MASK as usize));
        Ok(())
    }

    /// Reads the current window's locals and ins from a frame, as the kernel does when it returns to a program whose
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

    /// Serves `ta 0x6e`: writes the registers and the mask into a `struct ucontext`.
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

    /// Serves `ta 0x6f`: goes on as a `struct ucontext` says, with its mask if %o1 is not zero.
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

/// Sets the condition codes and the ASI from `TSTATE`, all of it that a program may change.
fn set_tstate(cpu: &mut Cpu, tstate: u64) {
    cpu.set_ccr((tstate >> 32) as u8);
    cpu.asi = (tstate >> 24) as u8;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_as_long_as_the_kernels() {
        assert_eq!((frame::BYTES, frame::MASK, frame::FLOAT), (528, 512, 480));
        assert_eq!((context::FRAME_POINTER, context::RETURN, context::FLOAT_ENABLED), (0xb8, 0xc0, 0x1f2));
    }
}
