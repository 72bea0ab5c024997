//! A guest's control word queue and its shadow: copying words into it, and status back.

use super::super::Status;
use super::super::domain::{Bus, Domain};
use super::super::position::Position;
use crate::spu::{Control, ControlWord, WORD_BYTES, read_word, write_word};

/// The hypervisor's memory for each core: 64 control words and one more.
pub(in super::super) const SHADOW_BYTES: u64 = 65 * 64;

/// A guest's queue, and its shadow in the hypervisor's memory.
pub(in super::super) struct ShadowQueue {
    pub position: Position,
    /// Physical address of the shadow.
    pub base: u64,
}

impl ShadowQueue {
    /// The physical address of an entry's shadow.
    pub fn at(&self, offset: u64) -> u64 {
        self.base + offset
    }

    pub fn before(&self, offset: u64) -> u64 {
        (offset + self.position.bytes() - WORD_BYTES) % self.position.bytes()
    }

    /// Copies a word that the guest submitted, with physical addresses in place of real ones.
    pub fn translate(&self, domain: &Domain, mut word: ControlWord) -> Result<ControlWord, Status> {
        if word.control.start_of_block() {
            word.control = word.control.with_strand(self.position.strand as u8).interrupting();
        }
        if word.source == 0 {
            return Err(Status::Invalid);
        }
        let (data, key) = (word.control.len() as u64, word.control.auth_key_len() as u64);
        let place = |real: u64, bytes: u64| if real == 0 { Ok(0) } else { domain.translate(real, bytes) };
        Ok(ControlWord {
            control: word.control,
            source: place(word.source, data)?,
            auth_key: place(word.auth_key, key)?,
            auth_iv: place(word.auth_iv, 32)?,
            final_auth_state: place(word.final_auth_state, 32)?,
            // The released code checks this key, too, with the length of the authentication key.
            cipher_key: place(word.cipher_key, key)?,
            cipher_iv: place(word.cipher_iv, 32)?,
            destination: place(word.destination, data)?,
        })
    }

    /// Sets status bits in the guest's word, and returns the control of its shadow.
    pub fn finished(&self, offset: u64, bits: Control, bus: &mut Bus<'_>) -> Control {
        let place = self.position.physical + offset;
        // A guest that has lost its queue's memory is told nothing.
        if let Ok(control) = read_word(bus, place) {
            let _ = write_word(bus, place, control | bits.0);
        }
        Control(read_word(bus, self.at(offset)).unwrap_or(0))
    }
}
