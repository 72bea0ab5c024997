//! Makes CPUID fault, and answers it in place of the processor.

use std::collections::HashMap;
use std::io;

use crate::capability::Withheld;
use crate::memory::Memory;
use crate::process::{self, Pid, SI_KERNEL, Signal, Thread};
use crate::without::answer::{Answer, Question, answer, hidden};
use crate::without::processor::{ARCH_SET_CPUID, ask, bound, cpuid};
use crate::without::report::Report;

/// The bytes of the instruction.
const CPUID: [u8; 2] = [0x0f, 0xa2];

/// The most answers that are kept, because a program may ask any of 2^64 questions.
const MOST_KNOWN: usize = 4096;

/// The state for answering.
#[derive(Debug)]
pub(in crate::without) struct Kept {
    withheld: Withheld,
    /// The highest basic leaf.
    highest: u32,
    /// Answers for threads that may run on any processor. They are kept because CPUID is slow where a
    /// hypervisor answers it.
    known: HashMap<Question, Answer>,
}

impl Kept {
    pub(in crate::without) fn new(withheld: Withheld) -> Kept {
        Kept { withheld, highest: cpuid(Question { leaf: 0, subleaf: 0 }).eax, known: HashMap::new() }
    }

    /// Makes CPUID fault in a program that has not begun yet.
    pub(in crate::without) fn hide(&mut self, thread: &mut Thread, _: &mut Report) -> io::Result<()> {
        set_cpuid(thread, 0)
    }

    /// Lets a thread execute CPUID again, as nobody will answer it any more.
    pub(in crate::without) fn show(&mut self, thread: &mut Thread) -> io::Result<()> {
        set_cpuid(thread, 1)
    }

    /// Answers the fault if it is a CPUID's.
    pub(in crate::without) fn faulted(
        &mut self,
        thread: &mut Thread,
        signal: &Signal,
        report: &mut Report,
    ) -> io::Result<process::Answer> {
        if signal.info()?.code() == SI_KERNEL && is_at_cpuid(thread)? {
            self.answer(thread, report)?;
            return Ok(process::Answer::Swallow);
        }
        // The program's own SIGSEGV handler may execute CPUID.
        thread.leave_unblocked();
        Ok(process::Answer::NotMine)
    }

    /// Answers the CPUID that the thread is at.
    fn answer(&mut self, thread: &mut Thread, report: &mut Report) -> io::Result<()> {
        let tid = thread.tid;
        let registers = thread.registers()?;
        let question = Question { leaf: registers.rax() as u32, subleaf: registers.rcx() as u32 };
        let told = self.told(tid, question, report);
        registers.set_rax(told.eax.into());
        registers.set_rbx(told.ebx.into());
        registers.set_rcx(told.ecx.into());
        registers.set_rdx(told.edx.into());
        registers.set_pc(registers.pc().wrapping_add(CPUID.len() as u64));
        *report.answered.entry(thread.pid).or_default() += 1;
        Ok(())
    }

    fn told(&mut self, tid: Pid, question: Question, report: &mut Report) -> Answer {
        let bound = bound(tid, question);
        if let (None, Some(known)) = (&bound, self.known.get(&question)) {
            return *known;
        }
        let raw = ask(question, bound.as_ref());
        let told = answer(question, raw, self.highest, self.withheld);
        if bound.is_none() && self.known.len() < MOST_KNOWN {
            self.known.insert(question, told);
        }
        if told != raw {
            let hidden = hidden(question, raw, self.highest, self.withheld);
            report.hidden = report.hidden.union(hidden);
        }
        told
    }
}

/// Sets whether CPUID is executed (1) in this thread or faults (0).
fn set_cpuid(thread: &mut Thread, executed: u64) -> io::Result<()> {
    /// The number of arch_prctl in 64-bit programs and 32-bit ones.
    const ARCH_PRCTL: [u64; 2] = [158, 384];
    let number = ARCH_PRCTL[usize::from(thread.registers()?.is_32_bit())];
    thread.inject(number, [ARCH_SET_CPUID, executed, 0, 0, 0, 0]).map(drop)
}

fn is_at_cpuid(thread: &mut Thread) -> io::Result<bool> {
    let mut code = [0; CPUID.len()];
    let pc = thread.registers()?.pc();
    Ok(thread.memory().read(pc, &mut code).is_ok() && code == CPUID)
}
