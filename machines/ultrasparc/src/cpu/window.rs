//! Register windows: save, restore, and the guest's stack behind them.
//! Ref. The SPARC Architecture Manual, Version 9, §5.1.4, §6.4 and §H; frames as in its 64-bit ABI.

use crate::cpu::{Cpu, Op, Step, Trap};
use crate::isa::{Class, Decode, Instruction, Operand};
use crate::processor::Feature;

/// The number of windows.
pub const WINDOWS: usize = 8;

/// V9's stack bias, which is added to a 64-bit frame's stack pointer.
pub const BIAS: u64 = 2047;

/// The index in [`Cpu::r`] of the first out register.
pub const OUTS: usize = 8;
/// The index of the first local.
pub const LOCALS: usize = 16;
/// The index of the first in.
pub const INS: usize = 24;

/// The windows that are not the current one, and the registers that count them.
#[derive(Clone)]
pub struct Windows {
    /// Number of the current one.
    pub cwp: usize,
    /// The number of times that `save` goes without a spill.
    pub cansave: usize,
    /// The number of times that `restore` goes without a fill.
    pub canrestore: usize,
    /// The number of windows of another address space: none in a user program.
    pub otherwin: usize,
    /// The number of windows that hold nothing of another address space.
    pub cleanwin: usize,
    /// The locals and ins of each window but the current one.
    saved: [[u64; 16]; WINDOWS],
}

impl Default for Windows {
    fn default() -> Windows {
        Windows {
            cwp: 0,
            cansave: WINDOWS - 2,
            canrestore: 0,
            otherwin: 0,
            cleanwin: WINDOWS - 1,
            saved: [[0; 16]; WINDOWS],
        }
    }
}

/// Windows by distance: 0 is the current one, `k` is the one that `k` times `restore` would bring, up to `canrestore`.
impl Cpu {
    /// Register `index`, 8 to 31, of the window `k` restores up. The outs of a window are the ins of the one below
    /// it.
    #[must_use]
    pub fn window(&self, k: usize, index: usize) -> u64 {
        match self.window_place(k, index) {
            (0, index) => self.r[index],
            (k, index) => self.windows.saved[self.windows.slot(k)][index - LOCALS],
        }
    }

    /// Sets register `index`, 8 to 31, of the window `k` restores up.
    pub fn set_window(&mut self, k: usize, index: usize, value: u64) {
        match self.window_place(k, index) {
            (0, index) => self.r[index] = value,
            (k, index) => {
                let slot = self.windows.slot(k);
                self.windows.saved[slot][index - LOCALS] = value;
            }
        }
    }

    /// The window and index at which a register is kept: outs are the ins of the window below.
    fn window_place(&self, k: usize, index: usize) -> (usize, usize) {
        debug_assert!((OUTS..32).contains(&index) && k < WINDOWS);
        if k > 0 && index < LOCALS { (k - 1, index + 16) } else { (k, index) }
    }

    /// Writes all windows but the current one to their frames, as `flushw` and `ta 3` do.
    ///
    /// # Errors
    /// The trap of the first frame that can't be written. The windows before it, the oldest first, are written.
    pub fn flush_windows(&mut self) -> Result<(), Trap> {
        while self.windows.canrestore > 0 {
            self.spill()?;
        }
        Ok(())
    }

    /// Writes the oldest window to its frame.
    fn spill(&mut self) -> Result<(), Trap> {
        let oldest = self.windows.canrestore;
        let frame = Self::frame(self.window(oldest, 14))?;
        let mut bytes = [0; 128];
        for (bytes, value) in bytes.chunks_exact_mut(8).zip(self.windows.saved[self.windows.slot(oldest)]) {
            bytes.copy_from_slice(&value.to_be_bytes());
        }
        self.memory.write(frame, &bytes).map_err(Trap::Memory)?;
        self.windows.canrestore -= 1;
        self.windows.cansave += 1;
        Ok(())
    }

    /// Reads the window above the current one from its frame, which is at the current frame pointer.
    fn fill(&mut self) -> Result<(), Trap> {
        let frame = Self::frame(self.r[30])?;
        let mut bytes = [0; 128];
        self.memory.read(frame, &mut bytes).map_err(Trap::Memory)?;
        let slot = self.windows.slot(1);
        for (value, bytes) in self.windows.saved[slot].iter_mut().zip(bytes.chunks_exact(8)) {
            *value = u64::from_be_bytes(bytes.try_into().expect("chunks of eight bytes"));
        }
        self.windows.canrestore += 1;
        self.windows.cansave -= 1;
        Ok(())
    }

    /// The address of the register save area of a stack pointer.
    fn frame(pointer: u64) -> Result<u64, Trap> {
        let frame = pointer.wrapping_add(BIAS);
        if frame.is_multiple_of(8) { Ok(frame) } else { Err(Trap::NotAligned(frame)) }
    }

    /// Goes to the next window; the old outs are the new ins.
    #[inline]
    pub(crate) fn save_window(&mut self) -> Result<(), Trap> {
        if self.windows.cansave == 0 {
            self.spill()?;
        }
        let cwp = self.windows.cwp;
        self.windows.saved[cwp % WINDOWS].copy_from_slice(&self.r[LOCALS..32]);
        self.r.copy_within(OUTS..LOCALS, INS);
        self.windows.cwp = (cwp + 1) % WINDOWS;
        self.windows.cansave -= 1;
        self.windows.canrestore += 1;
        Ok(())
    }

    /// Goes back to the window before; the old ins are the new outs.
    #[inline]
    pub(crate) fn restore_window(&mut self) -> Result<(), Trap> {
        if self.windows.canrestore == 0 {
            self.fill()?;
        }
        self.r.copy_within(INS..32, OUTS);
        let slot = self.windows.slot(1);
        self.r[LOCALS..32].copy_from_slice(&self.windows.saved[slot]);
        self.windows.cwp = slot;
        self.windows.cansave += 1;
        self.windows.canrestore -= 1;
        Ok(())
    }
}

impl Windows {
    /// The place in `saved` of the window `k` restores up.
    fn slot(&self, k: usize) -> usize {
        (self.cwp + WINDOWS - k) % WINDOWS
    }
}

/// A row of this family: `op` 2, by `op3`.
const fn row(name: &'static str, op3: u32, operands: &'static [Operand], run: Decode) -> Instruction {
    Instruction {
        name,
        mask: 0xc1f8_0000,
        value: 2 << 30 | op3 << 19,
        operands,
        needs: Feature::V9,
        class: Class::Window,
        decode: run,
    }
}

/// The rows.
pub const INSTRUCTIONS: &[Instruction] = &[
    row("flushw", 0x2b, &[], Decode::Plain(|word, _| Op::integer(flushw, word))),
    row(
        "save",
        0x3c,
        &[Operand::R1, Operand::R2OrImm13, Operand::Rd],
        Decode::Plain(|word, _| Op::integer(save, word)),
    ),
    row(
        "restore",
        0x3d,
        &[Operand::R1, Operand::R2OrImm13, Operand::Rd],
        Decode::Plain(|word, _| Op::integer(restore, word)),
    ),
];

/// Executes `save`: the sum is computed in the old window, and set in the new one.
fn save(cpu: &mut Cpu, op: &Op) -> Step {
    let sum = cpu.get(op.rs1).wrapping_add(cpu.operand2(op));
    if let Err(trap) = cpu.save_window() {
        return cpu.stop(trap);
    }
    cpu.set(op.rd, sum);
    Step::Next
}

fn restore(cpu: &mut Cpu, op: &Op) -> Step {
    let sum = cpu.get(op.rs1).wrapping_add(cpu.operand2(op));
    if let Err(trap) = cpu.restore_window() {
        return cpu.stop(trap);
    }
    cpu.set(op.rd, sum);
    Step::Next
}

fn flushw(cpu: &mut Cpu, _: &Op) -> Step {
    match cpu.flush_windows() {
        Ok(()) => Step::Next,
        Err(trap) => cpu.stop(trap),
    }
}
