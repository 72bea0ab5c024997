//! The chain of blocks that a key goes through: SP 800-38F's functions W and its inverse, a step at a time.
//!
//! Ref. NIST SP 800-38F §6.1 (W), §6.2 (KW), §6.3 (KWP).

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq, ConstantTimeGreater, ConstantTimeLess};
use zeroize::Zeroize;

use super::form::{Form, HALF};
use crate::modes::Direction;

/// The state of a chain between two blocks. The halves that are wrapped lie elsewhere.
pub(super) struct Chain {
    /// The half that goes through all blocks: A of the standard.
    pub(super) carried: [u8; HALF],
    /// The number of the next step, from 1 to `6 n`; wrapping counts up, unwrapping down.
    step: u64,
    /// The place of the next step's half, from 0.
    at: usize,
    /// The halves that are wrapped: n of the standard.
    count: usize,
}

impl Chain {
    /// A chain of no steps.
    pub(super) const NONE: Chain = Chain { carried: [0; HALF], step: 0, at: 0, count: 0 };

    /// A chain over so many halves.
    pub(super) fn new(direction: Direction, carried: [u8; HALF], count: usize) -> Self {
        let (step, at) = match direction {
            Direction::Encrypt => (1, 0),
            Direction::Decrypt => (6 * count as u64, count - 1),
        };
        Chain { carried, step, at, count }
    }

    /// A single half goes through one block and no steps: §6.3, step 4.
    fn is_short(&self) -> bool {
        self.count == 1
    }

    /// Writes the next block.
    pub(super) fn load(&self, direction: Direction, halves: &[u8], block: &mut [u8; 16]) {
        block[..HALF].copy_from_slice(&self.carried);
        if direction == Direction::Decrypt && !self.is_short() {
            let carried = u64::from_be_bytes(self.carried) ^ self.step;
            block[..HALF].copy_from_slice(&carried.to_be_bytes());
        }
        block[HALF..].copy_from_slice(&halves[HALF * self.at..][..HALF]);
    }

    /// Takes the block that the cipher made of it. Returns true if that was the last.
    pub(super) fn store(&mut self, direction: Direction, halves: &mut [u8], block: &[u8; 16]) -> bool {
        self.carried.copy_from_slice(&block[..HALF]);
        halves[HALF * self.at..][..HALF].copy_from_slice(&block[HALF..]);
        if self.is_short() {
            return true;
        }
        match direction {
            Direction::Encrypt => {
                self.carried = (u64::from_be_bytes(self.carried) ^ self.step).to_be_bytes();
                self.at = if self.at + 1 == self.count { 0 } else { self.at + 1 };
                self.step += 1;
                self.step > 6 * self.count as u64
            }
            Direction::Decrypt => {
                self.at = if self.at == 0 { self.count - 1 } else { self.at - 1 };
                self.step -= 1;
                self.step == 0
            }
        }
    }

    /// Compares the carried half of an unwrapped key, and its padding. Returns the verdict and the bytes of the key.
    pub(super) fn verdict(&self, form: Form, check_value: [u8; HALF], halves: &[u8]) -> (Choice, usize) {
        let whole = HALF * self.count;
        match form {
            Form::Kw => (self.carried.ct_eq(&check_value), whole),
            Form::Kwp => self.padding(&check_value, &halves[..whole]),
        }
    }

    /// §6.3, KWP-AD, steps 4 to 8: the check value, the length, and the padding of zeros. Which of them is wrong shows in
    /// nothing.
    fn padding(&self, check_value: &[u8; HALF], halves: &[u8]) -> (Choice, usize) {
        let len = u32::from_be_bytes([self.carried[4], self.carried[5], self.carried[6], self.carried[7]]);
        let mut right = self.carried[..4].ct_eq(&check_value[..4]);
        let padding = (halves.len() as u32).wrapping_sub(len);
        right &= padding.ct_lt(&(HALF as u32));
        for (i, byte) in halves.iter().rev().take(HALF - 1).enumerate() {
            let padded = padding.ct_gt(&(i as u32));
            right &= u8::conditional_select(&0, byte, padded).ct_eq(&0);
        }
        (right, len as usize)
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        self.carried.zeroize();
    }
}
