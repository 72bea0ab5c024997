//! The loop that executes.

use crate::cpu::{Cpu, Trap};

impl Cpu {
    /// Executes until something stops the program. `pc` and `npc` are then those of the instruction that did, which has
    /// changed nothing; for [`Trap::Attention`] those of the next one.
    pub fn run(&mut self) -> Trap {
        loop {
            if let Err(trap) = self.step() {
                return trap;
            }
        }
    }

    /// Executes exactly one instruction.
    ///
    /// # Errors
    /// What stopped it; it changed nothing then.
    pub fn step(&mut self) -> Result<(), Trap> {
        let word = self.memory.fetch(self.pc).map_err(Trap::Memory)?;
        Err(Trap::IllegalInstruction(word))
    }
}
