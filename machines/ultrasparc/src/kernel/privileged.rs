//! Hypervisor calls of a program that plays the kernel: its addresses are real ones.
//!
//! Ref. UltraSPARC Virtual Machine Specification 3.0 §1: the fast trap 0x80 with the function in %o5 and arguments in
//! %o0 to %o3; the core trap 0xff, of which only `api_set_version` (function 0) exists here.

use super::{CPU, Kernel};
use crate::cpu::Cpu;
use crate::hypervisor::Status;
use crate::timing::parameters as p;

const FAST_TRAP: u8 = 0x80;
const CORE_TRAP: u8 = 0xff;
const API_SET_VERSION: u64 = 0;

/// %o0 in the current window; %o5 is five later.
const O0: usize = 8;

impl Kernel {
    /// Serves a trap of the hypervisor; false if there is no such trap for this program.
    pub(super) fn trap(&mut self, cpu: &mut Cpu, number: u8) -> bool {
        if !self.privileged {
            return false;
        }
        let [a, b, c, d, _, function] = std::array::from_fn(|index| cpu.r[O0 + index]);
        let (status, results) = match number {
            FAST_TRAP => {
                let reply = self.hypercall(&mut cpu.memory, function, [a, b, c, d]);
                (reply.status, Some(reply.results))
            }
            CORE_TRAP if function == API_SET_VERSION => match self.machine.set_version(CPU, a, b, c) {
                Ok(minor) => (Status::Ok, Some([minor, 0, 0])),
                Err(status) => (status, None),
            },
            CORE_TRAP => (Status::BadTrap, None),
            _ => return false,
        };
        // The unit works while the processor is in the hypervisor.
        self.advance(&mut cpu.memory, p::HYPERVISOR_CALL.value as u64);
        cpu.r[O0] = status as u64;
        if let Some(results) = results {
            cpu.r[O0 + 1..O0 + 4].copy_from_slice(&results);
        }
        true
    }
}
