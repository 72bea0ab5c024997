//! A core: its unit, who owns it, and the queues that the hypervisor keeps for it.

use super::Status;
use super::cwq::ShadowQueue;
use super::mau::MauQueue;
use crate::spu::{Queues, Spu};

/// A core.
pub(super) struct Core {
    pub spu: Spu,
    /// The partition that owns it, its strands and its units.
    pub partition: u16,
    /// The context that each strand executes in, by the strand's number.
    pub contexts: Vec<u16>,
    pub given: Given,
    pub cwq: Option<ShadowQueue>,
    pub mau: Option<MauQueue>,
    /// The cycles that the work under way still needs: for control words, for modular arithmetic.
    pub left: [Option<u64>; 2],
}

/// The units of a core that its partition may use.
#[derive(Clone, Copy)]
pub(super) struct Given {
    pub mau: bool,
    pub cwq: bool,
}

impl Core {
    /// Takes all queues away and aborts the work under way.
    pub fn reset(&mut self) {
        self.reset_mau();
        self.reset_queues();
    }

    pub fn reset_mau(&mut self) {
        self.mau = None;
        self.spu.mau.abort();
    }

    pub fn reset_queues(&mut self) {
        self.cwq = None;
        if let Some(queues) = &mut self.spu.queues {
            queues.reset();
        }
    }
}

impl Core {
    pub fn queues(&mut self) -> Result<&mut Queues, Status> {
        self.spu.queues.as_mut().ok_or(Status::NoAccess)
    }

    /// A register of the control word queue; zero where there is none.
    pub fn register(&self, address: u64) -> u64 {
        self.spu.queues.as_ref().and_then(|queues| queues.load(address)).unwrap_or(0)
    }
}
