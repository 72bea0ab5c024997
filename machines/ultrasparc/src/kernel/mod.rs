//! The operating system's part in using the accelerators: the framework's path, the fast path's grant, and hypervisor
//! calls of privileged guests.
//!
//! Solaris reached the units through its cryptographic framework; none of that is here. This kernel does the same
//! work in the same order behind system calls of ours:
//!
//! | number | call | |
//! | --- | --- | --- |
//! | 20000 | `operation(words, count)` | one operation: control words with the process's addresses ([`framework`]) |
//! | 20001 | `power(request)` | a modular power ([`framework`]) |
//! | 20002 | `grant(entries)` | a queue for the fast path; the address of its page ([`grant`]) |
//! | 20003 | `revoke()` | gives it back |
//!
//! A privileged process makes hypervisor calls itself, with `ta 0x80`: its addresses are real ones then.

mod accounts;
mod bus;
pub mod framework;
pub mod grant;
mod privileged;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use accounts::{Accounts, Line};
use bus::Bus;

use crate::cpu::Cpu;
use crate::hypervisor::{GROUP, Machine, Reply, Status};
use crate::linux::{Driver, Errno};
use crate::memory::Memory;
use crate::processor::Processor;
use crate::spu::{Model, Place, Work};
use crate::timing::model;

/// The system calls.
pub mod number {
    #![allow(missing_docs)]
    pub const OPERATION: u64 = 20000;
    pub const POWER: u64 = 20001;
    pub const GRANT: u64 = 20002;
    pub const REVOKE: u64 = 20003;
}

/// The processor that programs run on: there is one strand.
const CPU: usize = 0;
/// The program's address space, with which the hardware tags its requests.
const CONTEXT: u16 = 1;

/// The units of a machine, and the kernel that drives them. Clones refer to the same machine.
///
/// ```
/// use millstream_ultrasparc::kernel::Units;
/// use millstream_ultrasparc::processor::Processor;
///
/// assert!(Units::of(Processor::T2, false).is_some());
/// assert!(Units::of(Processor::T4, false).is_none(), "its instructions are in the core");
/// ```
#[derive(Clone)]
pub struct Units(Arc<Mutex<Kernel>>);

impl Units {
    /// The units of a processor, if it has any.
    #[must_use]
    pub fn of(processor: Processor, privileged: bool) -> Option<Units> {
        let model = Model::of(processor)?;
        Some(Units(Arc::new(Mutex::new(Kernel::new(processor, model, privileged)))))
    }

    /// Gives the processor the registers of the fast path.
    pub fn attach(&self, cpu: &mut Cpu) {
        cpu.device = Some(Box::new(grant::Registers(self.clone())));
    }

    /// The account so far.
    #[must_use]
    pub fn accounts(&self) -> Accounts {
        self.kernel().accounts
    }

    fn kernel(&self) -> MutexGuard<'_, Kernel> {
        // A panic leaves nothing half done that later calls would look at.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Driver for Units {
    fn trap(&mut self, cpu: &mut Cpu, number: u8) -> bool {
        self.kernel().trap(cpu, number)
    }

    fn call(&mut self, cpu: &mut Cpu, number: u64, arguments: &[u64; 6]) -> Option<Result<u64, Errno>> {
        let mut kernel = self.kernel();
        let &[a, b, ..] = arguments;
        Some(match number {
            number::OPERATION => kernel.operation(&mut cpu.memory, a, b),
            number::POWER => kernel.power(&mut cpu.memory, a),
            number::GRANT => kernel.grant(&mut cpu.memory, a),
            number::REVOKE => kernel.revoke(&mut cpu.memory),
            _ => return None,
        })
    }
}

/// The kernel's state.
struct Kernel {
    processor: Processor,
    model: Model,
    machine: Machine,
    /// The kernel's own memory: queues, and buffers that objects are copied to.
    own: Vec<u8>,
    queues: framework::Queues,
    grant: Option<grant::Grant>,
    privileged: bool,
    accounts: Accounts,
}

impl Kernel {
    fn new(processor: Processor, model: Model, privileged: bool) -> Kernel {
        let mut machine = Machine::new(processor, 1);
        // The kernel knows the group, and falls back to the newest minor version if 2.1 is too new.
        machine.set_version(CPU, GROUP, 2, 1).expect("every machine with units knows version 2");
        machine.set_context(CPU, CONTEXT);
        Kernel {
            processor,
            model,
            machine,
            own: vec![0; framework::MEMORY_BYTES],
            queues: framework::Queues::default(),
            grant: None,
            privileged,
            accounts: Accounts::new(processor),
        }
    }

    /// Makes a hypervisor call of the kernel.
    fn call(&mut self, memory: &mut Memory, function: u64, arguments: [u64; 3]) -> Result<[u64; 3], Errno> {
        let [a, b, c] = arguments;
        let Reply { status, results } = self.hypercall(memory, function, [a, b, c, 0]);
        match status {
            Status::Ok => Ok(results),
            Status::WouldBlock => Err(Errno(libc::EBUSY)),
            Status::NoAccess | Status::BadTrap | Status::NoCpu => Err(Errno(libc::ENODEV)),
            Status::Io => Err(Errno(libc::EIO)),
            _ => Err(Errno(libc::EINVAL)),
        }
    }

    fn hypercall(&mut self, memory: &mut Memory, function: u64, arguments: [u64; 4]) -> Reply {
        self.accounts.hypervisor_calls += 1;
        let mut bus = Bus { process: memory, kernel: &mut self.own };
        self.machine.hypercall(CPU, function, arguments, &mut bus)
    }

    /// Lets time pass for the units.
    fn advance(&mut self, memory: &mut Memory, cycles: u64) {
        let mut bus = Bus { process: memory, kernel: &mut self.own };
        let cost = |work: &Work| model::work(self.processor, work) as u64;
        for event in self.machine.advance(&mut bus, cycles, &cost) {
            let accounts = &mut self.accounts;
            let (operations, busy) = match event.completed.work.place {
                Place::Hypervisor => (&mut accounts.unit_operations, &mut accounts.unit_cycles),
                Place::User(_) => (&mut accounts.user_operations, &mut accounts.user_cycles),
            };
            *operations += u64::from(event.completed.last);
            *busy += cost(&event.completed.work);
        }
    }
}
