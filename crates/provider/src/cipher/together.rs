//! Several messages at once, in lanes where that pays.

use millstream::isolated::Chaining;
use millstream::modes::Direction;
use millstream::{CipherKey, InOut, Operation};

use crate::error::{Reason, Result};

/// Whole blocks of one message.
pub struct Blocks<'a> {
    pub key: CipherKey<'a>,
    pub direction: Direction,
    pub chaining: Chaining,
    /// The vector before, and the state for the next blocks after.
    pub chain: &'a mut [u8],
    pub data: InOut<'a>,
}

impl Blocks<'_> {
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
                // In place, the last ciphertext is about to be overwritten.
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

/// Encrypts or decrypts all of them.
pub fn together(chains: &mut [Blocks<'_>]) -> Result<()> {
    let mut operations: Vec<_> = chains.iter_mut().map(Blocks::operation).collect();
    millstream::batch(&mut operations)?;
    let failed = operations.iter().find_map(|operation| operation.result().err());
    drop(operations);
    chains.iter_mut().for_each(Blocks::after);
    failed.map_or(Ok(()), |error| Err(Reason::from(error)))
}
