//! What using the units cost: what was counted, and its cycles by the timing model.

use crate::processor::Processor;
use crate::timing::parameters as p;

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accounts {
    processor: Processor,
    /// Operations over the framework.
    pub operations: u64,
    /// Bytes that the kernel copied for these, in and out.
    pub bytes_copied: u64,
    /// Hypervisor calls, the kernel's and those of privileged programs.
    pub hypervisor_calls: u64,
    /// Interrupts that the kernel took.
    pub interrupts: u64,
    /// Stores to the fast path's doorbell.
    pub doorbells: u64,
    /// Loads from its registers.
    pub looks: u64,
    /// Operations that the units ended.
    pub unit_operations: u64,
    /// Cycles that the units were busy.
    pub unit_cycles: u64,
}

/// One line of the account.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What.
    pub what: &'static str,
    /// How often, or how many bytes.
    pub count: u64,
    /// Cycles by the timing model.
    pub cycles: f64,
}

impl Accounts {
    pub(super) fn new(processor: Processor) -> Accounts {
        Accounts {
            processor,
            operations: 0,
            bytes_copied: 0,
            hypervisor_calls: 0,
            interrupts: 0,
            doorbells: 0,
            looks: 0,
            unit_operations: 0,
            unit_cycles: 0,
        }
    }

    /// The processor whose units these are.
    #[must_use]
    pub fn processor(&self) -> Processor {
        self.processor
    }

    /// What it cost, by what was done. The framework's fixed costs contain hypervisor calls and interrupts, whose lines
    /// are taken out of it.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        let line = |what, count: u64, each: f64| Line { what, count, cycles: count as f64 * each };
        let thread = line(
            "framework: system call, and what the thread does",
            self.operations,
            p::FRAMEWORK_THREAD.value,
        );
        let calls = line("hypervisor calls", self.hypervisor_calls, p::HYPERVISOR_CALL.value);
        let interrupts = line("interrupts", self.interrupts, p::INTERRUPT.value);
        let rest = p::FRAMEWORK_REST.value * self.operations as f64;
        let rest = Line {
            what: "framework: driver, and waking the thread",
            count: self.operations,
            cycles: (rest - calls.cycles - interrupts.cycles).max(0.0),
        };
        let copies = line("bytes copied by the kernel", self.bytes_copied, p::T2_COPY.value);
        let doorbells = line("fast path: doorbells", self.doorbells, p::FAST_INSTRUCTION.value);
        let looks = line("fast path: looks at its registers", self.looks, p::T2_L2_LATENCY.value);
        let unit = Line {
            what: "operations of the unit",
            count: self.unit_operations,
            cycles: self.unit_cycles as f64,
        };
        let all = [thread, rest, calls, interrupts, copies, doorbells, looks, unit];
        all.into_iter().filter(|line| line.count > 0).collect()
    }
}
