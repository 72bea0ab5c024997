//! Several messages at once, in lanes where that pays.

use std::sync::OnceLock;

use arrayvec::ArrayVec;
use millstream::aes::{CbcJob, CbcLanes};
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

    /// Tells whether the blocks are encrypted in AES-CBC.
    fn are_chained(&self) -> bool {
        matches!((self.key, self.direction), (CipherKey::AesCbc(_), Direction::Encrypt))
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
    if chains.iter().all(Blocks::are_chained) {
        return encrypt_cbc(chains);
    }
    let mut operations: Vec<_> = chains.iter_mut().map(Blocks::operation).collect();
    millstream::batch(&mut operations)?;
    let failed = operations.iter().find_map(|operation| operation.result().err());
    drop(operations);
    chains.iter_mut().for_each(Blocks::after);
    failed.map_or(Ok(()), |error| Err(Reason::from(error)))
}

/// The most chains that are handed to the lanes at once: as many as there are pipes.
const MOST: usize = 32;

/// Encrypts chains of AES-CBC, which are what pipelines are for. For the short ones, an [`Operation`] each takes longer than the
/// lanes do.
fn encrypt_cbc(chains: &mut [Blocks<'_>]) -> Result<()> {
    static LANES: OnceLock<CbcLanes> = OnceLock::new();
    let lanes = match LANES.get() {
        Some(lanes) => lanes,
        None => {
            let lanes = CbcLanes::new(millstream::features()?);
            LANES.get_or_init(|| lanes)
        }
    };
    for chains in chains.chunks_mut(MOST) {
        // Lists are filled where they are: to collect one would move all of its room.
        let (mut jobs, mut ends) = (ArrayVec::<CbcJob<'_>, MOST>::new(), ArrayVec::<_, MOST>::new());
        for Blocks { key, chain, data, .. } in chains {
            if let CipherKey::AesCbc(key) = key {
                let iv = (**chain).try_into().expect("a chain of one block");
                jobs.push(CbcJob { key, iv, data: data.reborrow().word_by_word() });
                ends.push(chain);
            }
        }
        let mut list = ArrayVec::<_, MOST>::new();
        list.extend(&mut jobs);
        lanes.encrypt(&mut list);
        drop(list);
        for (end, job) in ends.iter_mut().zip(&jobs) {
            end.copy_from_slice(&job.iv);
        }
    }
    Ok(())
}
