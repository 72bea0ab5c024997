//! Strands: processors that execute one program, of which one at a time has what they have together.

use std::sync::Arc;

use crate::cpu::{Cpu, Device, block};
use crate::memory::Memory;

/// What the strands of a program have together: its memory, the blocks made of it with their counts, and the device.
pub(crate) struct Common {
    memory: Memory,
    cache: block::Cache,
    device: Option<Box<dyn Device>>,
}

impl Cpu {
    /// Another strand of the program, with registers like this one's and no window but the current one. It has no memory until it
    /// is given some.
    pub(crate) fn strand(&self) -> Cpu {
        Cpu {
            r: self.r,
            d: self.d,
            windows: super::window::Windows::default(),
            memory: Memory::absent(),
            device: None,
            attention: Arc::clone(&self.attention),
            trap: None,
            cache: block::Cache::default(),
            ..*self
        }
    }

    /// Gives away what strands have together; until it is back, all memory faults.
    pub(crate) fn give(&mut self) -> Common {
        Common {
            memory: std::mem::replace(&mut self.memory, Memory::absent()),
            cache: std::mem::take(&mut self.cache),
            device: self.device.take(),
        }
    }

    /// Gets it.
    pub(crate) fn receive(&mut self, common: Common) {
        (self.memory, self.cache, self.device) = (common.memory, common.cache, common.device);
    }
}
