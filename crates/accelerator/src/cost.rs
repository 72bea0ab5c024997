//! What a word costs: about the time it takes, so that queues share time and not bytes.
//!
//! The unit is the time of one byte under AES, some 0.06 ns. The table is of 8 KB objects, 32 side by side, on a processor
//! with VAES and AVX-512; on others the fast algorithms come closer to the slow ones.

use millstream_cwq::{Algorithm, ControlWord, Flags, Opcode};

/// What a word that asks for nothing costs.
pub(crate) const NULL_COST: i64 = 128;

/// What any other costs beside its bytes, so that a flood of small words is counted too.
const WORD_COST: i64 = 512;

/// What a key costs that a word brings with it, to be expanded.
const KEY_COST: i64 = 16 * 1024;

/// By the number of the algorithm, what one byte costs.
static BYTE_COST: [u8; 256] = {
    let mut costs = [0; 256];
    let mut at = 0;
    while at < Algorithm::ALL.len() {
        costs[Algorithm::ALL[at] as usize] = byte_cost(Algorithm::ALL[at]);
        at += 1;
    }
    costs
};

const fn byte_cost(algorithm: Algorithm) -> u8 {
    use Algorithm::*;
    match algorithm {
        None => 0,
        AesEcb | AesCbc | AesCtr | AesCfb | AesXts | AesGcm | AesCmac => 1,
        ChaCha20Poly1305 => 4,
        CamelliaEcb | CamelliaCbc => 7,
        CamelliaCtr => 10,
        // A triple key's: how long the key is, the word does not say.
        DesEcb => 11,
        DesCbc | DesCfb | DesMac => 47,
        Rc4 | KasumiF8 | KasumiF9 => 16,
        Md5 => 1,
        Sha1 => 2,
        Sha224 | Sha256 => 4,
        Sha384 | Sha512 | Sha512_256 => 5,
        // What is not known yet is not for nothing.
        _ => 1,
    }
}

/// What a word costs, and how many bytes it is about. Nothing of it is checked yet: what is longer than the arena will be
/// refused, and is cheap.
#[inline(always)]
pub(crate) fn cost(word: &ControlWord, gathered: u32, arena_len: u32) -> (i64, i64) {
    let source = if word.has(Flags::GATHER) { gathered } else { word.source_len };
    let mut bytes = i64::from(source.min(arena_len));
    // Of a combined operation the length of the associated data is a part of the source's.
    if word.opcode == Opcode::Aead as u8 {
        bytes += i64::from(word.aad_len.min(arena_len));
    }
    let of = |algorithm: u8| i64::from(BYTE_COST[usize::from(algorithm)]);
    let per_byte = (of(word.algorithm) + of(word.hash)).max(1);
    let mut cost = WORD_COST + per_byte * bytes;
    if word.flags & (Flags::KEY_IN_ARENA | Flags::MAC_KEY_IN_ARENA) != 0 {
        cost += keys_cost(word);
    }
    (cost, bytes)
}

/// What the keys cost that a word brings with it.
#[cold]
fn keys_cost(word: &ControlWord) -> i64 {
    let key = |flag, len: u16| if word.has(flag) { KEY_COST + i64::from(len) } else { 0 };
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
    }
}
