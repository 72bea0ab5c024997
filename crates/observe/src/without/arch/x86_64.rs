//! CPUID faults, and is answered in place of the processor.

use std::io;

use crate::capability::Withheld;
use crate::memory::Memory;
use crate::process::{self, SI_KERNEL, Signal, Thread};
use crate::without::Masker;
use crate::without::answer::{Question, answer, hidden};
use crate::without::processor::{ARCH_SET_CPUID, ask, cpuid};

/// The instruction.
const CPUID: [u8; 2] = [0x0f, 0xa2];

/// What is kept for answering.
#[derive(Debug)]
pub(in crate::without) struct Kept {
    withheld: Withheld,
    /// The highest basic leaf.
    highest: u32,
    /// Questions whose answers were looked through for what is hidden.
    seen: Vec<Question>,
}

impl Kept {
    pub(in crate::without) fn new(withheld: Withheld) -> Kept {
        Kept { withheld, highest: cpuid(Question { leaf: 0, subleaf: 0 }).eax, seen: Vec::new() }
    }
}

impl Masker {
    /// Has CPUID fault in a program that did not begin yet.
    pub(in crate::without) fn hide(&mut self, thread: &mut Thread) -> io::Result<()> {
        /// The number of arch_prctl in 64-bit programs and 32-bit ones.
        const ARCH_PRCTL: [u64; 2] = [158, 384];
        let number = ARCH_PRCTL[usize::from(thread.registers()?.is_32_bit())];
        thread.inject(number, [ARCH_SET_CPUID, 0, 0, 0, 0, 0]).map(drop)
    }

    /// Answers it if it is a CPUID's.
    pub(in crate::without) fn faulted(
        &mut self,
        thread: &mut Thread,
        signal: &Signal,
    ) -> io::Result<process::Answer> {
        if signal.info()?.code() != SI_KERNEL {
            return Ok(process::Answer::NotMine);
        }
        let mut code = [0; CPUID.len()];
        let pc = thread.registers()?.pc();
        if thread.memory().read(pc, &mut code).is_err() || code != CPUID {
            return Ok(process::Answer::NotMine);
        }
        self.answer(thread)?;
        Ok(process::Answer::Swallow)
    }

    /// Answers the CPUID that the thread is at.
    fn answer(&mut self, thread: &mut Thread) -> io::Result<()> {
        let tid = thread.tid;
        let registers = thread.registers()?;
        let question = Question { leaf: registers.rax() as u32, subleaf: registers.rcx() as u32 };
        let raw = ask(tid, question);
        let told = answer(question, raw, self.kept.highest, self.kept.withheld);
        registers.set_rax(told.eax.into());
        registers.set_rbx(told.ebx.into());
        registers.set_rcx(told.ecx.into());
        registers.set_rdx(told.edx.into());
        registers.set_pc(registers.pc().wrapping_add(CPUID.len() as u64));
        *self.report.answered.entry(thread.pid).or_default() += 1;
        if told != raw && !self.kept.seen.contains(&question) {
            self.kept.seen.push(question);
            let hidden = hidden(question, raw, self.kept.highest, self.kept.withheld);
            self.report.hidden = self.report.hidden.union(hidden);
        }
        Ok(())
    }
}
