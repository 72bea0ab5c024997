//! AES: `aes_eround*`, `aes_dround*`, `aes_kexpand*`.
//! Ref. FIPS 197; Oracle SPARC Architecture 2011, "AES Cryptographic Operations".
//!
//! The state is in two double registers, columns 0 and 1 in one, 2 and 3 in the other. An instruction computes one half
//! of a round, out of both halves of the state and one half of the round key. Decryption takes the key schedule of
//! encryption, backwards: its rounds add the key before InvMixColumns.

#[cfg(target_arch = "aarch64")]
mod aarch64;
mod fusion;
mod portable;
mod rounds;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use std::sync::LazyLock;

use crate::cpu::Op;
use crate::isa::{Class, Instruction, Operand, Word};
use crate::processor::Feature;
use crate::t4::{Kind, doubles};

pub use fusion::FUSIONS;
pub use rounds::{Halves, Handlers};

use rounds::{DECRYPT, DECRYPT_LAST, ENCRYPT, ENCRYPT_LAST};

const ROUND: Kind = Kind { needs: Feature::Aes, class: Class::AesRound };
const KEY: Kind = Kind { needs: Feature::Aes, class: Class::AesKey };

/// The rows.
pub const INSTRUCTIONS: &[Instruction] = &[
    ROUND.four("aes_eround01", 0, |word, _| single::<ENCRYPT, 0>(word)),
    ROUND.four("aes_eround23", 1, |word, _| single::<ENCRYPT, 1>(word)),
    ROUND.four("aes_dround01", 2, |word, _| single::<DECRYPT, 0>(word)),
    ROUND.four("aes_dround23", 3, |word, _| single::<DECRYPT, 1>(word)),
    ROUND.four("aes_eround01_l", 4, |word, _| single::<ENCRYPT_LAST, 0>(word)),
    ROUND.four("aes_eround23_l", 5, |word, _| single::<ENCRYPT_LAST, 1>(word)),
    ROUND.four("aes_dround01_l", 6, |word, _| single::<DECRYPT_LAST, 0>(word)),
    ROUND.four("aes_dround23_l", 7, |word, _| single::<DECRYPT_LAST, 1>(word)),
    KEY.three("aes_kexpand0", 0x130, |word, _| expansion::<0>(word)),
    Instruction {
        // The third register's place has the number of the round constant.
        operands: &[Operand::D1, Operand::D2, Operand::Imm5Rs3, Operand::Dd],
        ..KEY.four("aes_kexpand1", 8, |word, _| Op { rs3: word.rs3(), ..expansion::<1>(word) })
    },
    KEY.three("aes_kexpand2", 0x131, |word, _| expansion::<2>(word)),
];

fn single<const KIND: usize, const HALF: usize>(word: Word) -> Op {
    doubles(handlers().single[KIND][HALF], word)
}

fn expansion<const WHICH: usize>(word: Word) -> Op {
    doubles(handlers().expansion[WHICH], word)
}

/// Every unit that this host has, the best first: the processor's own AES, and tables.
#[must_use]
pub fn units() -> Vec<&'static Handlers> {
    #[allow(unused_mut)]
    let mut units = vec![&portable::HANDLERS];
    #[cfg(target_arch = "x86_64")]
    {
        use millstream_cpu::{Feature, FeatureSet, Features};
        const NEEDS: FeatureSet = FeatureSet::of(&[Feature::Aes, Feature::Ssse3, Feature::Sse41]);
        if Features::hardware().contains(NEEDS) {
            units.insert(0, &x86_64::HANDLERS);
        }
    }
    #[cfg(target_arch = "aarch64")]
    {
        use millstream_cpu::{Feature, FeatureSet, Features};
        const NEEDS: FeatureSet = FeatureSet::of(&[Feature::Aes, Feature::Neon]);
        if Features::hardware().contains(NEEDS) {
            units.insert(0, &aarch64::HANDLERS);
        }
    }
    units
}

/// The best of them.
#[must_use]
pub fn handlers() -> &'static Handlers {
    static BEST: LazyLock<&'static Handlers> = LazyLock::new(|| units()[0]);
    &BEST
}

#[cfg(test)]
mod tests;
