//! Strands: processors that execute one program and take turns with all that they share.

use std::sync::Arc;

use crate::cpu::{Cpu, Device, block};
use crate::memory::Memory;

/// All that the strands of a program share: its memory, the blocks made of it with their counts, and the device.
pub(crate) struct Common {
    memory: Memory,
    cache: block::Cache,
    device: Option<Box<dyn Device>>,
}

impl Cpu {
    /// Makes another strand of the program, with registers like this one's and no window but the current one. Its
    /// memory is absent until it receives the common part.
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

    /// Gives away what strands share. All memory faults until it is back.
    pub(crate) fn give(&mut self) -> Common {
        Common {
            memory: std::mem::replace(&mut self.memory, Memory::absent()),
            cache: std::mem::take(&mut self.cache),
            device: self.device.take(),
        }
    }

    /// Receives what strands share.
    pub(crate) fn receive(&mut self, common: Common) {
        (self.memory, self.cache, self.device) = (common.memory, common.cache, common.device);
    }
}
