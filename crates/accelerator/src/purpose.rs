//! The purpose of a key in a slot, and the nonces that are made for it.
//!
//! Ref. NIST SP 800-38D §8.2: constructions of initialisation vectors; §8.3: how often a key may be used with them.

use std::cell::Cell;

use millstream_cwq::{Algorithm, ControlWord, Opcode, Padding, Scheme, Status, UsageError, Usages};

use crate::algorithms::whole_tag;
use crate::check::CheckedWord;
use crate::limits::{Limited, Uses};

/// Bytes of a nonce.
const NONCE: usize = ControlWord::MADE_NONCE_BYTES as usize;

/// All bits of a nonce.
const NONCE_MASK: u128 = (1 << (8 * NONCE)) - 1;

/// The shortest tag that is compared under a key that can't produce it. If tags could grow by one byte at a time, 256
/// attempts would find each byte. Nobody can guess 12 bytes at once.
const SHORTEST_TAG: u32 = 12;

/// A nonce is given: a bit beyond those of [`Usages`].
const GIVEN_NONCE: u16 = 1 << 8;
/// The accelerator makes the nonce.
const MADE_NONCE: u16 = 1 << 9;
/// A tag is compared that is shorter than [`SHORTEST_TAG`].
const SHORT_TAG: u16 = 1 << 10;
/// The key is used by one operation more. A key whose uses are counted lacks the bit, so that others need no question of their own.
const USE: u16 = 1 << 11;

const ENCRYPT: u16 = Usages::ENCRYPT.to_bits() as u16;
const SIGN: u16 = Usages::SIGN.to_bits() as u16;
const DECRYPT: u16 = Usages::DECRYPT.to_bits() as u16;
const DERIVE: u16 = Usages::DERIVE.to_bits() as u16;
// The reverse of a purpose is the bit above it.
const _: () = assert!(Usages::DECRYPT.to_bits() as u16 == ENCRYPT << 1);
const _: () = assert!(Usages::VERIFY.to_bits() as u16 == SIGN << 1);

/// The nonces that are left for a key: where they go on, and how many more there are. Each is given out once.
///
/// A counter can't be copied, because two of one key would give out the same nonces.
#[derive(Debug, PartialEq, Eq)]
pub struct NonceCounter {
    next: u128,
    left: u64,
}

impl NonceCounter {
    /// Counts for a key that exists in one slot only, because it was generated for it and is never given out: 32 random bits,
    /// then a counter of 64 bits (SP 800-38D §8.2.1). It never ends in practice.
    pub fn counting(fixed: [u8; 4]) -> Self {
        NonceCounter { next: u128::from(u32::from_be_bytes(fixed)) << 64, left: u64::MAX }
    }

    /// Counts for a key that may exist elsewhere, because it was imported or may be exported: 96 random bits, incremented from
    /// one nonce to the next (SP 800-38D §8.2.2, the second way), 2^32 times at most (§8.3).
    pub fn random(start: [u8; NONCE]) -> Self {
        let next = start.iter().fold(0, |number, byte| number << 8 | u128::from(*byte));
        NonceCounter { next, left: 1 << 32 }
    }

    /// Goes on at the position of another counter.
    pub fn resume((next, left): (u128, u64)) -> Self {
        NonceCounter { next: next & NONCE_MASK, left }
    }

    /// Returns the position: the next nonce as a number, and how many are left. The counter gives out no more, so that the
    /// one that resumes there repeats none.
    pub fn into_position(self) -> (u128, u64) {
        (self.next, self.left)
    }
}

/// The source of a key's nonces.
#[derive(Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Nonces {
    /// The client gives a nonce with each operation.
    #[default]
    Given,
    /// The accelerator makes the nonces, and refuses given ones. This is for keys of an AEAD.
    Made(NonceCounter),
}

/// The purpose of a key: see [`PreparedKey::with_purpose`](crate::PreparedKey::with_purpose).
#[derive(Debug, PartialEq, Eq)]
pub struct Purpose {
    /// The permitted usages.
    pub usages: Usages,
    /// The source of its nonces.
    pub nonces: Nonces,
}

impl Purpose {
    /// Returns the purpose with all usages of the algorithm, under given nonces.
    pub fn of(algorithm: Algorithm) -> Self {
        Purpose { usages: Usages::of(algorithm), nonces: Nonces::Given }
    }

    /// Checks that a key of the algorithm can have this purpose.
    ///
    /// # Errors
    /// [`UsageError`].
    pub fn check(&self, algorithm: Algorithm) -> Result<(), UsageError> {
        self.usages.check(algorithm, matches!(self.nonces, Nonces::Made(_)))
    }
}

/// A purpose as a slot has it.
pub(crate) struct Permits {
    /// The permitted usages: bits of [`Usages`], and those above.
    bits: u16,
    usages: Usages,
    /// The next nonce and how many are left, where they are made. A `Cell` will do, because slots belong to one thread. It is
    /// boxed, because most keys have none and slots lie close together.
    counter: Option<Box<Cell<(u128, u64)>>>,
    /// The uses of a key that are counted.
    uses: Option<Box<Cell<Uses>>>,
}

impl Permits {
    pub(crate) fn new(purpose: Purpose) -> Self {
        let Purpose { usages, nonces } = purpose;
        let produces = usages.contains(Usages::ENCRYPT) || usages.contains(Usages::SIGN);
        let (above, counter) = match nonces {
            Nonces::Given if produces => (GIVEN_NONCE | SHORT_TAG, None),
            Nonces::Given => (GIVEN_NONCE, None),
            Nonces::Made(counter) => (MADE_NONCE, Some(Box::new(Cell::new(counter.into_position())))),
        };
        Permits { bits: u16::from(usages.to_bits()) | above | USE, usages, counter, uses: None }
    }

    /// Returns the purpose again, on its way to another slot.
    pub(crate) fn into_purpose(self) -> Purpose {
        let nonces = match self.counter {
            None => Nonces::Given,
            Some(counter) => Nonces::Made(NonceCounter::resume(counter.into_inner())),
        };
        Purpose { usages: self.usages, nonces }
    }

    /// Has the key's uses counted within a grant's limits from here on.
    pub(crate) fn limit(&mut self, limited: &Limited) {
        self.bits &= !USE;
        let before = self.uses.as_ref().map(|uses| uses.get());
        self.uses = Some(Box::new(Cell::new(limited.of_key(before))));
    }

    /// Checks that the key may be used as a word demands, and counts the use if the grant's limits want that.
    #[inline(always)]
    pub(crate) fn check(&self, demand: Demand, limited: Option<&Limited>) -> Result<(), Status> {
        match demand.0 & !self.bits {
            0 => Ok(()),
            missing => self.check_closely(missing, limited),
        }
    }

    #[cold]
    #[inline(never)]
    fn check_closely(&self, missing: u16, limited: Option<&Limited>) -> Result<(), Status> {
        if missing & !USE != 0 {
            return Err(against(missing & !USE));
        }
        match (limited, &self.uses) {
            (Some(limited), Some(uses)) => limited.count(uses),
            _ => Ok(()),
        }
    }

    /// Gives out the next nonce, which never comes again.
    pub(crate) fn make_nonce(&self) -> Result<[u8; NONCE], Status> {
        let counter = self.counter.as_ref().ok_or(Status::NonceMissing)?;
        let (next, left) = counter.get();
        let left = left.checked_sub(1).ok_or(Status::NoncesSpent)?;
        counter.set((next.wrapping_add(1) & NONCE_MASK, left));
        let mut nonce = [0; NONCE];
        nonce.copy_from_slice(&next.to_be_bytes()[16 - NONCE..]);
        Ok(nonce)
    }
}

/// The usages that a word asks of one of its keys.
#[derive(Clone, Copy)]
pub(crate) struct Demand(u16);

impl Demand {
    /// Returns the demand on the word's key.
    #[inline(always)]
    pub(crate) fn of_key(checked: &CheckedWord) -> Demand {
        let mut demand = match checked.opcode {
            Opcode::Hmac | Opcode::Mac | Opcode::PartialMac => SIGN,
            // The bare power is as good for decrypting as for signing.
            Opcode::Sign | Opcode::Decrypt if is_bare(checked) => SIGN | DECRYPT,
            Opcode::Sign => SIGN,
            Opcode::Decrypt => DECRYPT,
            Opcode::Agree | Opcode::Decapsulate => DERIVE,
            // An application that may use a private key may know its public one.
            Opcode::PublicKey => 0,
            // Data that is decrypted in pieces is not verified, and gives away the keystream, with which anybody can encrypt.
            Opcode::PartialAead if checked.reverse => {
                return Demand(ENCRYPT | ENCRYPT << 1 | GIVEN_NONCE | short_tag(checked) | USE);
            }
            Opcode::PartialAead => ENCRYPT | GIVEN_NONCE,
            Opcode::Aead if checked.makes_nonce => ENCRYPT | MADE_NONCE,
            Opcode::Aead if !checked.reverse => ENCRYPT | GIVEN_NONCE,
            _ => ENCRYPT,
        };
        if checked.reverse {
            demand = demand << 1 | short_tag(checked);
        }
        Demand(demand | USE)
    }

    /// Returns the demand of an operation that goes on with a key, whose use was counted when it began.
    pub(crate) fn again(self) -> Demand {
        Demand(self.0 & !USE)
    }

    /// Returns the demand on the second key of a combined operation.
    #[inline(always)]
    pub(crate) fn of_mac_key(checked: &CheckedWord) -> Demand {
        match checked.reverse {
            false => Demand(SIGN | USE),
            true if checked.mac.len < SHORTEST_TAG => Demand(SIGN << 1 | SHORT_TAG | USE),
            true => Demand(SIGN << 1 | USE),
        }
    }
}

/// Returns true for the power of RSA without a padding.
#[inline(always)]
fn is_bare(checked: &CheckedWord) -> bool {
    checked.algorithm == Algorithm::Rsa && checked.parameter == Scheme::of(Padding::None).to_bits()
}

/// Returns the demand of a tag that is compared.
#[inline(always)]
fn short_tag(checked: &CheckedWord) -> u16 {
    let short = (1..SHORTEST_TAG).contains(&checked.mac.len);
    // In a combined operation the second key compares.
    let compares = checked.opcode != Opcode::MacThenDecrypt;
    if short && compares && is_cut(checked.algorithm, checked.mac.len) { SHORT_TAG } else { 0 }
}

/// Returns true when a short tag is a part of a longer one.
#[cold]
#[inline(never)]
fn is_cut(algorithm: Algorithm, len: u32) -> bool {
    (len as usize) < whole_tag(algorithm)
}

/// Chooses the status to report among the things that a key does not permit.
#[cold]
fn against(missing: u16) -> Status {
    let is = |usage: Usages| missing & u16::from(usage.to_bits()) != 0;
    match missing {
        _ if is(Usages::ENCRYPT) => Status::UsageEncrypt,
        _ if is(Usages::DECRYPT) => Status::UsageDecrypt,
        _ if is(Usages::SIGN) => Status::UsageSign,
        _ if is(Usages::VERIFY) => Status::UsageVerify,
        _ if is(Usages::DERIVE) => Status::UsageDerive,
        _ if missing & GIVEN_NONCE != 0 => Status::NonceGiven,
        _ if missing & MADE_NONCE != 0 => Status::NonceMissing,
        _ => Status::ShortTag,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(counter: NonceCounter) -> Permits {
        Permits::new(Purpose { usages: Usages::ENCRYPT | Usages::DECRYPT, nonces: Nonces::Made(counter) })
    }

    #[test]
    fn a_counter_counts_behind_its_fixed_field() {
        let permits = made(NonceCounter::counting([0xab; 4]));
        let nonces: Vec<_> = (0..3).map(|_| permits.make_nonce().unwrap()).collect();
        for (count, nonce) in (0..).zip(&nonces) {
            assert_eq!(nonce, &[0xab, 0xab, 0xab, 0xab, 0, 0, 0, 0, 0, 0, 0, count]);
        }
        assert_eq!(
            permits.into_purpose().nonces,
            Nonces::Made(NonceCounter::resume((0xabab_abab_0000_0000_0000_0003, u64::MAX - 3)))
        );
    }

    #[test]
    fn random_nonces_go_on_over_the_end_of_their_field() {
        let permits = made(NonceCounter::random([0xff; NONCE]));
        assert_eq!(permits.make_nonce(), Ok([0xff; NONCE]));
        assert_eq!(permits.make_nonce(), Ok([0; NONCE]));
        assert_eq!(permits.into_purpose().nonces, Nonces::Made(NonceCounter::resume((1, (1 << 32) - 2))));
    }

    #[test]
    fn after_the_last_nonce_there_is_none() {
        let permits = made(NonceCounter::resume((7, 2)));
        assert!(permits.make_nonce().is_ok() && permits.make_nonce().is_ok());
        assert_eq!(permits.make_nonce(), Err(Status::NoncesSpent));
        assert_eq!(permits.make_nonce(), Err(Status::NoncesSpent), "and it stays so");
        let counting = made(NonceCounter::resume((u128::from(u64::MAX), 0)));
        assert_eq!(counting.make_nonce(), Err(Status::NoncesSpent));
        let given = Permits::new(Purpose::of(Algorithm::AesGcm));
        assert_eq!(given.make_nonce(), Err(Status::NonceMissing));
    }
}
