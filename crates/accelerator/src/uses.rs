//! The fields that each opcode uses. All others must be zero, so that they can get a meaning later.

use millstream_cwq::{ControlWord, Flags, Opcode};

/// Returns true for the opcodes of key pairs.
#[inline(always)]
pub(crate) const fn is_of_pair(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Sign
            | Opcode::Agree
            | Opcode::PublicKey
            | Opcode::Verify
            | Opcode::Decrypt
            | Opcode::Encapsulate
            | Opcode::Decapsulate
    )
}

/// Returns true for the opcodes whose words bring a public key with them.
#[inline(always)]
pub(crate) const fn brings_public_key(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::Verify | Opcode::Encapsulate)
}

/// Returns true when an opcode's words are pieces of messages.
#[inline(always)]
pub(crate) const fn is_piece(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::PartialHash | Opcode::PartialMac | Opcode::PartialAead)
}

/// The bits of a word that an opcode uses.
pub(crate) struct Uses {
    pub(crate) words: [u64; ControlWord::WORDS],
    pub(crate) flags: u16,
}

impl Uses {
    /// Returns true for an opcode that writes to a destination.
    #[inline(always)]
    pub(crate) const fn has_destination(&self) -> bool {
        self.words[3] as u32 != 0
    }

    /// Returns true for an opcode with an initialisation vector, a nonce or a context.
    #[inline(always)]
    pub(crate) const fn has_iv(&self) -> bool {
        self.words[0] & 0xff << 48 != 0
    }

    /// Returns true for an opcode with a digest, a tag, or another result of such a length.
    #[inline(always)]
    pub(crate) const fn has_mac(&self) -> bool {
        self.words[0] & 0xff << 56 != 0
    }
}

/// Makes the mask from a word that has ones in the fields that the opcode uses.
const fn uses(fields: ControlWord) -> Uses {
    let mut words = fields.to_words();
    // Every word has a version, an opcode and the caller's tag. Flags are checked on their own.
    words[0] |= 0xffff | 0xffff << 32;
    words[7] = u64::MAX;
    Uses { words, flags: fields.flags }
}

const NOTHING: ControlWord = ControlWord::from_words([0; ControlWord::WORDS]);

const SOURCE: ControlWord =
    ControlWord { source: u32::MAX, source_len: u32::MAX, flags: Flags::GATHER, ..NOTHING };
const COPY: ControlWord = ControlWord { destination: u32::MAX, ..SOURCE };
const CIPHER: ControlWord = ControlWord {
    algorithm: 0xff,
    key: u32::MAX,
    key_len: u16::MAX,
    iv: u32::MAX,
    iv_len: 0xff,
    parameter: u32::MAX,
    flags: Flags::GATHER | Flags::REVERSE | Flags::KEY_IN_ARENA,
    ..COPY
};
const AEAD: ControlWord = ControlWord {
    aad: u32::MAX,
    aad_len: u32::MAX,
    mac: u32::MAX,
    mac_len: 0xff,
    parameter: 0,
    flags: CIPHER.flags | Flags::MAKE_NONCE,
    ..CIPHER
};
const HASH: ControlWord = ControlWord { hash: 0xff, mac: u32::MAX, mac_len: 0xff, ..SOURCE };
const PARTIAL: ControlWord = ControlWord {
    aad: u32::MAX,
    aad_len: u32::MAX,
    state: u32::MAX,
    flags: Flags::GATHER | Flags::FIRST | Flags::LAST,
    ..HASH
};
const HMAC: ControlWord = ControlWord {
    key: u32::MAX,
    key_len: u16::MAX,
    flags: Flags::GATHER | Flags::REVERSE | Flags::KEY_IN_ARENA,
    ..HASH
};
const MAC: ControlWord =
    ControlWord { algorithm: 0xff, hash: 0, iv: u32::MAX, iv_len: 0xff, parameter: u32::MAX, ..HMAC };
const CHAINED: ControlWord = ControlWord {
    algorithm: 0xff,
    destination: u32::MAX,
    mac_key: u32::MAX,
    mac_key_len: u16::MAX,
    aad_len: u32::MAX,
    iv: u32::MAX,
    iv_len: 0xff,
    flags: Flags::GATHER | Flags::KEY_IN_ARENA | Flags::MAC_KEY_IN_ARENA,
    ..HMAC
};
const PARTIAL_MAC: ControlWord =
    ControlWord { algorithm: 0xff, key: u32::MAX, flags: PARTIAL.flags | Flags::REVERSE, ..PARTIAL };
const PARTIAL_AEAD: ControlWord =
    ControlWord { hash: 0, destination: u32::MAX, iv: u32::MAX, iv_len: 0xff, ..PARTIAL_MAC };
const PUBLIC: ControlWord = ControlWord {
    algorithm: 0xff,
    key: u32::MAX,
    key_len: u16::MAX,
    mac: u32::MAX,
    mac_len: 0xff,
    flags: Flags::KEY_IN_ARENA,
    ..NOTHING
};
const PRIVATE: ControlWord =
    ControlWord { source: u32::MAX, source_len: u32::MAX, flags: PUBLIC.flags | Flags::GATHER, ..PUBLIC };
const SIGN: ControlWord = ControlWord {
    hash: 0xff,
    parameter: u32::MAX,
    destination: u32::MAX,
    mac_key_len: u16::MAX,
    iv: u32::MAX,
    iv_len: 0xff,
    ..PRIVATE
};
const VERIFY: ControlWord = ControlWord {
    mac: 0,
    mac_len: 0,
    destination: 0,
    mac_key_len: 0,
    aad: u32::MAX,
    aad_len: u32::MAX,
    ..SIGN
};
const DECRYPT: ControlWord =
    ControlWord { destination: u32::MAX, mac_key_len: u16::MAX, iv: 0, iv_len: 0, ..VERIFY };
/// The result of a key pair without input.
const LONG_PUBLIC: ControlWord = ControlWord { destination: u32::MAX, mac_key_len: u16::MAX, ..PUBLIC };

const RANDOM: ControlWord =
    ControlWord { algorithm: 0xff, source_len: u32::MAX, destination: u32::MAX, ..NOTHING };

/// The flags of words for which something is staged in any arena: a gathered source, or a key that the word brings with it.
pub(crate) const STAGED: u16 = Flags::GATHER | Flags::KEY_IN_ARENA | Flags::MAC_KEY_IN_ARENA;

/// The fields that each opcode uses, by its number.
pub(crate) const USES: [Uses; 23] = [
    uses(NOTHING),
    uses(COPY),
    uses(ControlWord { algorithm: 0xff, ..COPY }),
    uses(ControlWord { algorithm: 0xff, ..SOURCE }),
    uses(CIPHER),
    uses(AEAD),
    uses(HASH),
    uses(PARTIAL),
    uses(HMAC),
    uses(MAC),
    uses(CHAINED),
    uses(CHAINED),
    uses(ControlWord { key: u32::MAX, mac_key: u32::MAX, ..NOTHING }),
    uses(PARTIAL_MAC),
    uses(PARTIAL_AEAD),
    uses(SIGN),
    uses(PRIVATE),
    uses(LONG_PUBLIC),
    uses(VERIFY),
    uses(DECRYPT),
    uses(RANDOM),
    uses(LONG_PUBLIC),
    uses(PRIVATE),
];
