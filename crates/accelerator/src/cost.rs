//! The cost of a word: about the time it takes, so that queues share time and not bytes.
//!
//! The unit is the time of one byte under AES, some 0.06 ns. The table is of 8 KB objects, 32 side by side, on a processor
//! with VAES and AVX-512; on others the fast algorithms come closer to the slow ones.

use millstream_cpu::Features;
use millstream_cwq::{Algorithm, ControlWord, Flags, Opcode};
use millstream_engines::modes::Direction;
use millstream_engines::{InOut, xaes};

use crate::algorithms::{
    byte_cost, each_nanoseconds, hash_of, is_format, is_private, most_whole, public_nanoseconds, takes_key,
};
use crate::key::{AeadKey, Key};
use crate::operation::Operation;
use crate::unit::Unit;
use crate::work::Checksum;

/// The cost of a word that asks for nothing.
pub(crate) const NULL_COST: i64 = 128;

/// The cost of any other word beside its bytes, so that a flood of small words is counted too.
const WORD_COST: i64 = 512;

/// The cost of expanding a key that a word brings with it.
const KEY_COST: i64 = 16 * 1024;

/// The cost of a byte that is copied to or from private memory.
pub(crate) const COPY_COST: i64 = 4;

/// The cost of opening a sealed mid-state and sealing the next.
const STATES_COST: i64 = 64 * 1024;

/// The cost of one byte, by the number of the algorithm.
static BYTE_COST: [u8; 256] = {
    let mut costs = [0; 256];
    let mut at = 0;
    while at < Algorithm::ALL.len() {
        costs[Algorithm::ALL[at] as usize] = byte_cost(Algorithm::ALL[at]);
        at += 1;
    }
    costs
};

/// The cost of an operation beside its bytes, by the number of the algorithm: in full lanes, and alone.
static EACH_COST: [[u32; 256]; 2] = {
    let mut costs = [[0; 256]; 2];
    let mut at = 0;
    while at < Algorithm::ALL.len() {
        let (each, alone) = each_nanoseconds(Algorithm::ALL[at]);
        costs[0][Algorithm::ALL[at] as usize] = PER_NANOSECOND as u32 * each;
        costs[1][Algorithm::ALL[at] as usize] = PER_NANOSECOND as u32 * alone;
        at += 1;
    }
    costs
};

/// Returns the cost of a word that has no bytes.
#[inline(always)]
fn word_cost(word: &ControlWord, alone: bool) -> i64 {
    let each = WORD_COST + i64::from(EACH_COST[usize::from(alone)][usize::from(word.algorithm)]);
    match word.algorithm {
        RSA => each + rsa_cost(word, alone),
        LATTICES_BEGIN..=LATTICES_END | SLH_DSA_BEGIN..=SLH_DSA_END => post_quantum_cost(word, each),
        _ => each,
    }
}

/// Returns the cost of an operation on lattices or on hashes, of which `each` is that with a private key. A public key comes with its word and is expanded
/// first, and so is a private key that comes with its word.
#[cold]
fn post_quantum_cost(word: &ControlWord, each: i64) -> i64 {
    let times = Algorithm::from_code(word.algorithm).and_then(public_nanoseconds);
    let (public, make) = times.map_or((0, 0), |(public, make)| (i64::from(public), i64::from(make)));
    let made = if word.has(Flags::KEY_IN_ARENA) { PER_NANOSECOND * make } else { 0 };
    match word.opcode {
        VERIFY | ENCAPSULATE => WORD_COST + PER_NANOSECOND * public,
        // The public key was kept when the private one was made.
        PUBLIC_KEY => WORD_COST + made,
        _ => each + made,
    }
}

/// The numbers of the algorithms on lattices.
const LATTICES_BEGIN: u8 = Algorithm::MlKem512 as u8;
const LATTICES_END: u8 = Algorithm::MlDsa87 as u8;

/// The numbers of the parameter sets of SLH-DSA.
const SLH_DSA_BEGIN: u8 = Algorithm::SlhDsaSha2_128s as u8;
const SLH_DSA_END: u8 = Algorithm::SlhDsaShake256f as u8;

/// Returns true for a word that takes longer than a turn by itself: a signature on hashes.
#[inline(always)]
pub(crate) fn outlasts_turns(word: &ControlWord) -> bool {
    word.opcode == SIGN && matches!(word.algorithm, SLH_DSA_BEGIN..=SLH_DSA_END)
}

/// Returns the cost of an operation of RSA beside [`WORD_COST`]: the cube of the modulus's bytes, of which the word has at least as many for the
/// result or the public key. A word that has fewer is refused.
#[cold]
fn rsa_cost(word: &ControlWord, alone: bool) -> i64 {
    let power = |len: u16| {
        let len = i64::from(len.clamp(128, 512));
        len * len * len * PER_NANOSECOND / LANES_PER_NANOSECOND * if alone { 2 } else { 1 }
    };
    match word.opcode {
        // The longest exponents have eight bytes.
        VERIFY => power(word.key_len) / 12,
        PUBLIC_KEY => 0,
        _ => power(word.mac_key_len),
    }
}

/// The cubes of bytes that lanes of AVX-512 IFMA do in a nanosecond.
const LANES_PER_NANOSECOND: i64 = 168;

const RSA: u8 = Algorithm::Rsa as u8;

/// A nanosecond in the unit of costs.
pub(crate) const PER_NANOSECOND: i64 = 16;

/// The bytes of the object with which the cost of an algorithm is measured.
const SAMPLE: usize = 2048;

/// The costs of algorithms on this processor where an object is alone, so that lanes do not help it.
pub(crate) struct Costs {
    alone: [u16; 256],
}

impl Costs {
    /// Measures with a clock of nanoseconds. The best of some tries counts, because anything may come in between; nothing is
    /// cheaper than in full lanes.
    pub(crate) fn measured(unit: &Unit, clock: &mut dyn FnMut() -> u64) -> Self {
        const TRIES: usize = 3;
        let mut alone = BYTE_COST.map(u16::from);
        let mut data = vec![0x5a; SAMPLE];
        for algorithm in Algorithm::ALL {
            // The time of an operation with a private key hardly depends on its bytes.
            if is_private(*algorithm) {
                continue;
            }
            let key = some_key(unit.features(), *algorithm);
            let mut best = u64::MAX;
            for _ in 0..TRIES {
                let began = clock();
                if let Some(mut operation) = sample(*algorithm, key.as_ref(), &mut data) {
                    unit.run_one(&mut operation);
                }
                best = best.min(clock().saturating_sub(began));
            }
            let bytes =
                if is_format(*algorithm) { ControlWord::MOST_FORMAT_BYTES.into() } else { SAMPLE as i64 };
            let per_byte = (best.min(1 << 30) as i64 * PER_NANOSECOND / bytes).clamp(1, 1 << 15) as u16;
            let cost = &mut alone[*algorithm as usize];
            *cost = per_byte.max(*cost);
        }
        // The generator, which may have no seed yet, is AES in counter mode.
        alone[Algorithm::Random as usize] = alone[Algorithm::AesCtr as usize];
        Costs { alone }
    }

    /// Makes costs that are the same for all algorithms.
    #[cfg(test)]
    pub(crate) fn all(alone: u16) -> Self {
        Costs { alone: [alone; 256] }
    }

    /// Returns the cost of one byte of a word, with its way to private memory and back.
    #[inline]
    pub(crate) fn per_byte(&self, word: &ControlWord) -> i64 {
        let of = |algorithm: u8| i64::from(self.alone[usize::from(algorithm)]);
        of(word.algorithm) + of(word.hash) + COPY_COST
    }

    /// Returns the cost of a word about so many bytes.
    #[inline]
    pub(crate) fn alone(&self, word: &ControlWord, bytes: i64) -> i64 {
        let cost = word_cost(word, true) + self.per_byte(word) * bytes;
        if brings_keys(word) {
            cost + keys_cost(word, |algorithm| self.alone[algorithm].into())
        } else {
            cost
        }
    }
}

/// Makes a key of the length that costs most.
pub(crate) fn some_key(features: Features, algorithm: Algorithm) -> Option<Key> {
    let bytes: [u8; 64] = std::array::from_fn(|i| i as u8);
    let longest = (1..=bytes.len()).rev().find(|len| takes_key(algorithm, *len))?;
    Key::new(features, algorithm, &bytes[..longest]).ok()
}

/// Makes an operation of the kind that costs most.
fn sample<'a>(algorithm: Algorithm, key: Option<&'a Key>, data: &'a mut [u8]) -> Option<Operation<'a>> {
    const IV: [u8; xaes::NONCE] = [0; xaes::NONCE];
    const LENGTH: [u8; 4] = (SAMPLE as u32).to_be_bytes();
    if let Some(checksum) = Checksum::of(algorithm) {
        return Some(Operation::checksum(checksum, data));
    }
    if let Some(hash) = hash_of(algorithm) {
        return Some(Operation::digest(hash, data));
    }
    let key = key?;
    if let Key::KasumiF9(key) = key {
        let bits = 8 * data.len();
        return Some(Operation::kasumi_f9(key, 0, 0, 0, data, bits));
    }
    if let Key::AesFf1(key) = key {
        let digits = &mut data[..ControlWord::MOST_FORMAT_BYTES as usize];
        return Some(Operation::encrypt_digits(key, 1 << 16, &[], InOut::in_place(digits)));
    }
    if let Some(key) = key.as_aead() {
        let nonce = match key {
            AeadKey::Xaes256Gcm(_) | AeadKey::Fernet(_) => &IV[..],
            AeadKey::AesKw(_) => &[],
            AeadKey::AesKwp(_) => &LENGTH,
            _ => &IV[..12],
        };
        return Some(Operation::seal(key, nonce, &[], InOut::in_place(data)));
    }
    if let Some(key) = key.as_mac() {
        return Some(Operation::mac(key, data));
    }
    let key = key.as_cipher()?;
    Some(Operation::cipher(key, Direction::Encrypt, &IV[..key.iv_len()], InOut::in_place(data)))
}

/// Returns the cost of a word, and how many bytes it is about. The word is not checked yet: one that is longer than the
/// arena will be refused, and is cheap.
#[inline(always)]
pub(crate) fn cost(word: &ControlWord, gathered: u32, arena_len: u32) -> (i64, i64) {
    let source = if word.has(Flags::GATHER) { gathered } else { word.source_len };
    let mut bytes = i64::from(source.min(arena_len));
    // In a combined operation the length of the associated data is a part of the source's. The label of OAEP is hashed.
    if matches!(word.opcode, AEAD | PARTIAL_AEAD | DECRYPT) {
        bytes += i64::from(word.aad_len.min(arena_len));
    }
    let of = |algorithm: u8| i64::from(BYTE_COST[usize::from(algorithm)]);
    let per_byte = (of(word.algorithm) + of(word.hash)).max(1);
    let mut cost = word_cost(word, false) + per_byte * bytes;
    if brings_keys(word) {
        cost += keys_cost(word, |algorithm| BYTE_COST[algorithm].into());
    }
    if is_keyed_piece(word) {
        cost += STATES_COST;
    }
    (cost, bytes)
}

/// Returns true when a word is a piece of a message whose mid-state is sealed.
#[inline(always)]
pub(crate) fn is_keyed_piece(word: &ControlWord) -> bool {
    word.opcode == Opcode::PartialMac as u8 || word.opcode == Opcode::PartialAead as u8
}

/// Returns true when a word is executed at once however long it takes: an operation with a key pair has no slices, and neither
/// have random bytes and objects that come whole, of which a word has few.
#[inline(always)]
pub(crate) fn is_at_once(word: &ControlWord) -> bool {
    matches!(word.opcode, SIGN | AGREE | PUBLIC_KEY | VERIFY | DECRYPT | RANDOM | ENCAPSULATE | DECAPSULATE)
        || matches!(word.algorithm, WHOLE_BEGIN..=WHOLE_END)
}

/// The numbers of the algorithms that take an object as a whole.
const WHOLE_BEGIN: u8 = Algorithm::AesSiv as u8;
const WHOLE_END: u8 = Algorithm::AesFf1 as u8;
const _: () = {
    let mut at = 0;
    while at < Algorithm::ALL.len() {
        let algorithm = Algorithm::ALL[at];
        assert!(most_whole(algorithm).is_some() == matches!(algorithm as u8, WHOLE_BEGIN..=WHOLE_END));
        at += 1;
    }
};

const SIGN: u8 = Opcode::Sign as u8;
const AGREE: u8 = Opcode::Agree as u8;
const PUBLIC_KEY: u8 = Opcode::PublicKey as u8;
const AEAD: u8 = Opcode::Aead as u8;
const PARTIAL_AEAD: u8 = Opcode::PartialAead as u8;
const VERIFY: u8 = Opcode::Verify as u8;
const DECRYPT: u8 = Opcode::Decrypt as u8;
const RANDOM: u8 = Opcode::Random as u8;
const ENCAPSULATE: u8 = Opcode::Encapsulate as u8;
const DECAPSULATE: u8 = Opcode::Decapsulate as u8;

/// Returns true when a word brings a key with it.
#[inline(always)]
fn brings_keys(word: &ControlWord) -> bool {
    word.flags & (Flags::KEY_IN_ARENA | Flags::MAC_KEY_IN_ARENA) != 0
}

/// Returns the cost of the keys that a word brings with it. A long key of an HMAC is hashed.
#[cold]
fn keys_cost(word: &ControlWord, byte_cost: impl Fn(usize) -> i64) -> i64 {
    let hashed = byte_cost(usize::from(word.hash)).max(1);
    let key = |flag, len: u16| if word.has(flag) { KEY_COST + hashed * i64::from(len) } else { 0 };
    key(Flags::KEY_IN_ARENA, word.key_len) + key(Flags::MAC_KEY_IN_ARENA, word.mac_key_len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_algorithms_cost_more_and_lies_are_cheap() {
        let word = |algorithm: Algorithm, source_len| ControlWord {
            opcode: Opcode::Cipher as u8,
            algorithm: algorithm as u8,
            source_len,
            ..ControlWord::default()
        };
        let of = |word: &ControlWord| cost(word, 0, 1 << 20).0;
        assert!(of(&word(Algorithm::DesCbc, 8192)) > 40 * of(&word(Algorithm::AesCbc, 8192)));
        assert!(of(&word(Algorithm::AesCbc, u32::MAX)) < 2 << 20);
        let chained = ControlWord { hash: Algorithm::Sha256 as u8, ..word(Algorithm::AesCbc, 8192) };
        assert_eq!(of(&chained) - WORD_COST, 5 * 8192);
        let carried = ControlWord { flags: Flags::KEY_IN_ARENA, ..word(Algorithm::AesCbc, 0) };
        assert!(of(&carried) > KEY_COST && of(&word(Algorithm::None, 0)) == WORD_COST);
        // The key of an HMAC that is longer than a block is hashed, and counts as what is hashed.
        let mac = ControlWord { hash: Algorithm::Sha512 as u8, key_len: 512, ..carried };
        // An operation on lattices costs the time that it takes, and so does a key that is made first.
        let ml_dsa = ControlWord {
            opcode: Opcode::Sign as u8,
            algorithm: Algorithm::MlDsa65 as u8,
            ..ControlWord::default()
        };
        let verify = ControlWord { opcode: Opcode::Verify as u8, ..ml_dsa };
        let bringing = ControlWord { flags: Flags::KEY_IN_ARENA, ..ml_dsa };
        assert!(of(&ml_dsa) > 1_000_000 && of(&verify) < of(&ml_dsa) && of(&bringing) > 3 * of(&ml_dsa) / 2);
        // A signature on hashes takes more than the whole of a turn.
        let slh_dsa = ControlWord { algorithm: Algorithm::SlhDsaSha2_128s as u8, ..ml_dsa };
        let verify = ControlWord { opcode: Opcode::Verify as u8, ..slh_dsa };
        assert!(of(&slh_dsa) > 16_000_000 * PER_NANOSECOND && of(&verify) < of(&slh_dsa) / 100);
        let costs = Costs::all(20);
        assert_eq!(of(&mac) - of(&ControlWord { key_len: 0, ..mac }), 5 * 512);
        assert_eq!(costs.alone(&mac, 0), WORD_COST + KEY_COST + 20 * 512);
    }
}
