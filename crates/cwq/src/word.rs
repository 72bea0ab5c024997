//! The control word.

/// The only version of the control word there is.
pub const VERSION: u8 = 1;

/// Bits of [`ControlWord::flags`]. Those without a name are reserved and must be zero.
pub struct Flags;

impl Flags {
    /// Decrypt, open or verify, where the opcode alone does not say.
    pub const REVERSE: u16 = 1;
    /// `key` is not a handle but the offset of `key_len` bytes of key in the arena: the word is
    /// self-contained.
    pub const KEY_IN_ARENA: u16 = 1 << 1;
    /// The same for `mac_key` and `mac_key_len`.
    pub const MAC_KEY_IN_ARENA: u16 = 1 << 2;
    /// `source` is the offset of a list of `source_len` pieces, each an offset and a length of 32
    /// bits: their bytes one after the other are the source.
    pub const GATHER: u16 = 1 << 3;
    /// The message begins with this piece: there is no mid-state before.
    pub const FIRST: u16 = 1 << 4;
    /// The message ends with this piece: its digest or tag goes to `mac`.
    pub const LAST: u16 = 1 << 5;
    /// The accelerator makes the nonce with which an AEAD seals, and writes its 12 bytes to `iv`, which is an output then.
    /// The key must be one for which it does that.
    pub const MAKE_NONCE: u16 = 1 << 6;
    /// All bits that have a meaning.
    pub const ALL: u16 = (1 << 7) - 1;
}

/// One operation: 64 bytes, little-endian, one cache line.
///
/// Offsets count bytes from the beginning of the arena. Fields that the opcode does not use are zero.
/// The destination is as long as the source, or as `mac_key_len` says for a result of a key pair that is longer than 255 bytes. It is the
/// source, or lies apart from it. A word whose destination lies apart can be executed again. One in place leaves its input if it fails, but where
/// it is cancelled, revoked or loses its key midway. Words that are in flight together are executed in any order and side by side: one that
/// reads what another writes is submitted when the other has completed.
///
/// | at | bytes | field |
/// | --- | --- | --- |
/// | 0 | 1 | `version`: 1 |
/// | 1 | 1 | `opcode` |
/// | 2 | 1 | `algorithm`: cipher, AEAD, MAC or checksum |
/// | 3 | 1 | `hash`: of a hash, an HMAC, or the HMAC of a combined operation |
/// | 4 | 2 | `flags` |
/// | 6 | 1 | `iv_len`: bytes of initialisation vector or nonce; of ML-DSA and SLH-DSA those of the context |
/// | 7 | 1 | `mac_len`: bytes of digest, tag, signature, secret or public key |
/// | 8 | 4 | `key`: handle, or offset of the key |
/// | 12 | 4 | `mac_key`: the same for the HMAC of a combined operation |
/// | 16 | 4 | `source`: offset |
/// | 20 | 4 | `source_len`: bytes, or pieces of a gather list; of random bytes those of the destination |
/// | 24 | 4 | `destination`: offset |
/// | 28 | 4 | `aad`: offset of associated data, or of the mid-state before a piece |
/// | 32 | 4 | `aad_len`: its bytes; of a combined operation the bytes that are not encrypted |
/// | 36 | 4 | `iv`: offset of the initialisation vector or nonce, or of the place for a nonce that is made; of ML-DSA and SLH-DSA the context |
/// | 40 | 4 | `mac`: offset of the digest, tag, signature, secret or public key |
/// | 44 | 2 | `key_len`: bytes of a key in the arena, at most [`ControlWord::MOST_KEY_BYTES`] |
/// | 46 | 2 | `mac_key_len`: the same of `mac_key`; of RSA, ML-KEM, ML-DSA and SLH-DSA the bytes of the destination for a long result |
/// | 48 | 4 | `state`: offset of 256 bytes for a mid-state |
/// | 52 | 4 | `parameter`: of KASUMI: bits 0 to 2 the unused bits of the last byte, bit 8 the DIRECTION of F9, bit 9 of F8 [`ControlWord::ANY_START`]; of key pairs a [`Scheme`](crate::Scheme) |
/// | 56 | 8 | `tag`: the caller's, given back in the completion |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct ControlWord {
    /// [`VERSION`].
    pub version: u8,
    /// An [`Opcode`](crate::Opcode).
    pub opcode: u8,
    /// An [`Algorithm`](crate::Algorithm).
    pub algorithm: u8,
    /// An [`Algorithm`](crate::Algorithm) that is a hash.
    pub hash: u8,
    /// See [`Flags`].
    pub flags: u16,
    /// Bytes of initialisation vector or nonce, or of the context of ML-DSA or SLH-DSA.
    pub iv_len: u8,
    /// Bytes of digest or tag.
    pub mac_len: u8,
    /// Handle, or offset of the key.
    pub key: u32,
    /// The same for the HMAC of a combined operation.
    pub mac_key: u32,
    /// Offset of the source.
    pub source: u32,
    /// Bytes of the source, or pieces of its gather list.
    pub source_len: u32,
    /// Offset of the destination.
    pub destination: u32,
    /// Offset of associated data, or of the mid-state before a piece.
    pub aad: u32,
    /// Bytes of associated data; of a combined operation the bytes that are not encrypted.
    pub aad_len: u32,
    /// Offset of the initialisation vector or nonce, or of the context of ML-DSA or SLH-DSA.
    pub iv: u32,
    /// Offset of the digest or tag.
    pub mac: u32,
    /// Bytes of a key in the arena.
    pub key_len: u16,
    /// Bytes of an HMAC key in the arena; of a long result of a key pair the bytes of the destination.
    pub mac_key_len: u16,
    /// Offset of the place for the mid-state after a piece: 256 bytes.
    pub state: u32,
    /// The unused bits of the last byte and the direction, for KASUMI; the scheme, for key pairs.
    pub parameter: u32,
    /// The caller's, given back in the completion.
    pub tag: u64,
}

impl Default for ControlWord {
    #[inline(always)]
    fn default() -> Self {
        ControlWord::EMPTY
    }
}

/// Two fields of 32 bits in one word.
const fn pair(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

impl ControlWord {
    /// A word that has its version and nothing else.
    pub const EMPTY: ControlWord =
        ControlWord { version: VERSION, ..ControlWord::from_words([0; ControlWord::WORDS]) };
    /// Bytes of the place for a mid-state.
    pub const STATE_BYTES: u32 = 256;
    /// Bytes of a nonce that an accelerator makes.
    pub const MADE_NONCE_BYTES: u32 = 12;
    /// The longest key that a word may bring with it. A longer one is expanded once, into a slot.
    pub const MOST_KEY_BYTES: u16 = 512;
    /// The longest public key that a word may bring with it; that of ML-DSA-87 has 2592 bytes.
    pub const MOST_PUBLIC_KEY_BYTES: u16 = 3 * 1024;
    /// The most bytes of the destination of a key pair's operation; the longest signatures of SLH-DSA have 49,856 bytes.
    pub const MOST_RESULT_BYTES: u16 = 50 * 1024;
    /// The longest message that is signed as it is. Of a longer one the client signs a digest.
    pub const MOST_SIGNED_BYTES: u32 = 64 << 10;
    /// The most bytes of data, and of associated data, of a word under an AEAD that takes an object as a whole only: AES-SIV, AES-GCM-SIV,
    /// XAES-256-GCM and Fernet. Such a word is executed at once.
    pub const MOST_WHOLE_BYTES: u32 = 64 << 10;
    /// The most bytes of a key that a word under AES-KW or AES-KWP wraps. A key is one chain of blocks, so it takes longer than other
    /// data.
    pub const MOST_WRAPPED_BYTES: u32 = 8 << 10;
    /// The most bytes of digits of a word under FF1: 256 digits. The time grows with the square of their number.
    pub const MOST_FORMAT_BYTES: u32 = 512;
    /// The most random bytes of one word, which is executed at once.
    pub const MOST_RANDOM_BYTES: u32 = 64 << 10;
    /// Set in the parameter of KASUMI F8: the last 26 bits of the initialisation vector may be others than the zeros of TS 35.201 §3.4.
    pub const ANY_START: u32 = 1 << 9;
    /// Bytes in a control word.
    pub const BYTES: usize = 64;
    /// 64-bit words in a control word: the form in which it passes through a ring.
    pub const WORDS: usize = Self::BYTES / 8;

    /// Returns the word as it passes through a ring.
    #[inline(always)]
    pub const fn to_words(&self) -> [u64; Self::WORDS] {
        let bytes = [self.version, self.opcode, self.algorithm, self.hash];
        let halves = self.flags as u32 | (self.iv_len as u32) << 16 | (self.mac_len as u32) << 24;
        [
            pair(u32::from_le_bytes(bytes), halves),
            pair(self.key, self.mac_key),
            pair(self.source, self.source_len),
            pair(self.destination, self.aad),
            pair(self.aad_len, self.iv),
            pair(self.mac, self.key_len as u32 | (self.mac_key_len as u32) << 16),
            pair(self.state, self.parameter),
            self.tag,
        ]
    }

    /// Returns the word that came through a ring. Any 64 bytes are a control word; the accelerator decides
    /// whether it makes sense.
    #[inline(always)]
    pub const fn from_words(words: [u64; Self::WORDS]) -> Self {
        const fn low(word: u64) -> u32 {
            word as u32
        }
        const fn high(word: u64) -> u32 {
            (word >> 32) as u32
        }
        let [version, opcode, algorithm, hash] = low(words[0]).to_le_bytes();
        ControlWord {
            version,
            opcode,
            algorithm,
            hash,
            flags: high(words[0]) as u16,
            iv_len: (high(words[0]) >> 16) as u8,
            mac_len: (high(words[0]) >> 24) as u8,
            key: low(words[1]),
            mac_key: high(words[1]),
            source: low(words[2]),
            source_len: high(words[2]),
            destination: low(words[3]),
            aad: high(words[3]),
            aad_len: low(words[4]),
            iv: high(words[4]),
            mac: low(words[5]),
            key_len: high(words[5]) as u16,
            mac_key_len: (high(words[5]) >> 16) as u16,
            state: low(words[6]),
            parameter: high(words[6]),
            tag: words[7],
        }
    }

    /// Returns true when all of the given flags are set.
    #[inline(always)]
    pub const fn has(&self, flags: u16) -> bool {
        self.flags & flags == flags
    }
}

#[cfg(test)]
mod tests {
    use std::mem::{align_of, offset_of, size_of};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_field_has_its_place() {
        assert_eq!((size_of::<ControlWord>(), align_of::<ControlWord>()), (64, 64));
        let places = [
            (offset_of!(ControlWord, version), 0),
            (offset_of!(ControlWord, opcode), 1),
            (offset_of!(ControlWord, algorithm), 2),
            (offset_of!(ControlWord, hash), 3),
            (offset_of!(ControlWord, flags), 4),
            (offset_of!(ControlWord, iv_len), 6),
            (offset_of!(ControlWord, mac_len), 7),
            (offset_of!(ControlWord, key), 8),
            (offset_of!(ControlWord, mac_key), 12),
            (offset_of!(ControlWord, source), 16),
            (offset_of!(ControlWord, source_len), 20),
            (offset_of!(ControlWord, destination), 24),
            (offset_of!(ControlWord, aad), 28),
            (offset_of!(ControlWord, aad_len), 32),
            (offset_of!(ControlWord, iv), 36),
            (offset_of!(ControlWord, mac), 40),
            (offset_of!(ControlWord, key_len), 44),
            (offset_of!(ControlWord, mac_key_len), 46),
            (offset_of!(ControlWord, state), 48),
            (offset_of!(ControlWord, parameter), 52),
            (offset_of!(ControlWord, tag), 56),
        ];
        for (found, documented) in places {
            assert_eq!(found, documented);
        }
    }

    /// The bytes of the words are the bytes of the structure: byte `i` is `i`.
    #[test]
    fn words_are_little_endian_and_in_order() {
        let words = std::array::from_fn(|i| u64::from_le_bytes(std::array::from_fn(|j| (8 * i + j) as u8)));
        let word = ControlWord::from_words(words);
        assert_eq!([word.version, word.opcode, word.algorithm, word.hash], [0, 1, 2, 3]);
        assert_eq!(word.flags, 0x0504);
        assert_eq!([word.iv_len, word.mac_len], [6, 7]);
        assert_eq!([word.key, word.mac_key], [0x0b0a_0908, 0x0f0e_0d0c]);
        assert_eq!([word.source, word.source_len], [0x1312_1110, 0x1716_1514]);
        assert_eq!([word.destination, word.aad], [0x1b1a_1918, 0x1f1e_1d1c]);
        assert_eq!([word.aad_len, word.iv], [0x2322_2120, 0x2726_2524]);
        assert_eq!(word.mac, 0x2b2a_2928);
        assert_eq!([word.key_len, word.mac_key_len], [0x2d2c, 0x2f2e]);
        assert_eq!([word.state, word.parameter], [0x3332_3130, 0x3736_3534]);
        assert_eq!(word.tag, 0x3f3e_3d3c_3b3a_3938);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_on_the_way(words: [u64; ControlWord::WORDS]) {
            prop_assert_eq!(ControlWord::from_words(words).to_words(), words);
        }
    }
}
