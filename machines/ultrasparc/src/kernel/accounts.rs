//! The account of a program's use of the units: what was counted, and its cycles by the timing model.

use crate::processor::Processor;
use crate::timing::parameters as p;

/// Counts of everything that costs time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accounts {
    processor: Processor,
    /// Operations over the framework.
    pub operations: u64,
    /// Bytes that the kernel copied for operations, in and out.
    pub bytes_copied: u64,
    /// Hypervisor calls of the kernel and of privileged programs.
    pub hypervisor_calls: u64,
    /// Interrupts that the kernel took.
    pub interrupts: u64,
    /// Stores to the fast path's doorbell.
    pub doorbells: u64,
    /// Loads from the fast path's registers.
    pub looks: u64,
    /// Operations of the kernel's queues that the units ended.
    pub unit_operations: u64,
    /// Cycles that the units were busy with these operations.
    pub unit_cycles: u64,
    /// Operations of the process's own queue: the process goes on while the units work on them.
    pub user_operations: u64,
    /// Cycles that the units were busy with the process's operations.
    pub user_cycles: u64,
}

/// One line of the account.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The name of the item.
    pub what: &'static str,
    /// The number of times, or of bytes.
    pub count: u64,
    /// Cycles by the timing model.
    pub cycles: f64,
    /// True if these cycles pass during others of the account, so that they are no part of the sum.
    pub meanwhile: bool,
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
            user_operations: 0,
            user_cycles: 0,
        }
    }

    /// The processor whose units these are.
    #[must_use]
    pub fn processor(&self) -> Processor {
        self.processor
    }

    /// The lines of the account. The framework's fixed costs contain hypervisor calls and interrupts, so the cycles
    /// of these are taken out of it.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        let line = |what, count: u64, cycles: f64| Line { what, count, cycles, meanwhile: false };
        let times = |what, count: u64, each: p::Parameter| line(what, count, count as f64 * each.value);
        let own = "framework: system call, and what the thread does";
        let calls = times("hypervisor calls", self.hypervisor_calls, p::HYPERVISOR_CALL);
        let interrupts = times("interrupts", self.interrupts, p::INTERRUPT);
        let rest = p::FRAMEWORK_REST.value * self.operations as f64 - calls.cycles - interrupts.cycles;
        let all = [
            times(own, self.operations, p::FRAMEWORK_THREAD),
            line("framework: driver, and waking the thread", self.operations, rest.max(0.0)),
            calls,
            interrupts,
            times("bytes copied by the kernel", self.bytes_copied, p::T2_COPY),
            line("operations of the unit", self.unit_operations, self.unit_cycles as f64),
            times("fast path: doorbells", self.doorbells, p::FAST_INSTRUCTION),
            times("fast path: looks at its registers", self.looks, p::T2_L2_LATENCY),
            Line {
                meanwhile: true,
                ..line("meanwhile: operations of the unit", self.user_operations, self.user_cycles as f64)
            },
        ];
        all.into_iter().filter(|line| line.count > 0).collect()
    }
}
