//! Passes of several messages at once, in lanes where that pays.

use millstream::isolated::Chaining;
use millstream::modes::Direction;
use millstream::{CipherKey, InOut, Operation};

use crate::error::{Reason, Result};

/// Whole blocks of one message.
pub struct Pass<'a> {
    pub key: CipherKey<'a>,
    pub direction: Direction,
    pub chaining: Chaining,
    /// The vector before, and what the next pass needs after.
    pub chain: &'a mut [u8],
    pub data: InOut<'a>,
}

impl Pass<'_> {
    fn last_block(bytes: &[u8], chain: &mut [u8]) {
        if let Some(last) = bytes.len().checked_sub(chain.len()) {
            chain.copy_from_slice(&bytes[last..]);
        }
    }

    fn operation<'o>(&'o mut self) -> Operation<'o> {
        let data = self.data.reborrow();
        match self.direction {
            Direction::Encrypt => Operation::encrypt(self.key, self.chain, data),
            Direction::Decrypt => {
                let mut before = [0; 16];
                let before = &mut before[..self.chain.len()];
                before.copy_from_slice(self.chain);
                // In place, this ciphertext is about to be overwritten.
                if self.chaining == Chaining::Ciphertext {
                    Self::last_block(data.input(), self.chain);
                }
                Operation::decrypt(self.key, before, data)
            }
        }
    }

    fn after(&mut self) {
        match (self.chaining, self.direction) {
            (Chaining::Ciphertext, Direction::Encrypt) => Self::last_block(self.data.output(), self.chain),
            (Chaining::Counter, _) => self.chaining.count(self.chain, self.data.len()),
            _ => {}
        }
    }
}

/// Passes all of them.
pub fn together(passes: &mut [Pass<'_>]) -> Result<()> {
    let mut operations: Vec<_> = passes.iter_mut().map(Pass::operation).collect();
    millstream::batch(&mut operations)?;
    let failed = operations.iter().find_map(|operation| operation.result().err());
    drop(operations);
    passes.iter_mut().for_each(Pass::after);
    failed.map_or(Ok(()), |error| Err(Reason::from(error)))
}
