//! The codes of ciphers and hashes in a control word, and the units that know them.
//!
//! T2's are those of Linux's driver and of OpenSPARC's tests. Rainbow Falls' were never published: the ones here are
//! ours, from codes that T2 left free and refuses as errors of the word.

use std::fmt;

use crate::processor::Processor;

/// The unit beside a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Model {
    /// UltraSPARC T1: modular arithmetic only.
    T1,
    /// UltraSPARC T2: control words too.
    T2,
    /// Rainbow Falls: more algorithms, and queues for user programs.
    RainbowFalls,
}

impl Model {
    /// The unit of a processor; UltraSPARC II had none yet, and T4 none any more.
    #[must_use]
    pub const fn of(processor: Processor) -> Option<Model> {
        match processor {
            Processor::T1 => Some(Model::T1),
            Processor::T2 => Some(Model::T2),
            Processor::T3 => Some(Model::RainbowFalls),
            Processor::UltraSparc2 | Processor::T4 => None,
        }
    }

    /// Strands of a core, which share its unit.
    #[must_use]
    pub const fn strands(self) -> usize {
        match self {
            Model::T1 => 4,
            Model::T2 | Model::RainbowFalls => 8,
        }
    }

    /// The most cores, and so units, of a chip.
    #[must_use]
    pub const fn units(self) -> u64 {
        match self {
            Model::T1 | Model::T2 => 8,
            Model::RainbowFalls => 16,
        }
    }

    /// True if it has a control word queue.
    #[must_use]
    pub const fn has_queue(self) -> bool {
        !matches!(self, Model::T1)
    }
}

/// A cipher with its chaining.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cipher {
    /// The cipher.
    pub kind: CipherKind,
    /// The chaining of blocks; [`Chaining::Ecb`] for the stream ciphers, which chain no blocks.
    pub chaining: Chaining,
}

/// A cipher, as the bits of its code above the chaining.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum CipherKind {
    /// RC4 that writes its state back.
    Rc4 = 0x00,
    /// RC4 that leaves its state in memory as it was.
    Rc4NoStream = 0x04,
    /// DES.
    Des = 0x08,
    /// Triple DES with three keys.
    TripleDes = 0x0c,
    /// AES with a key of 128 bits.
    Aes128 = 0x10,
    /// AES with a key of 192 bits.
    Aes192 = 0x14,
    /// AES with a key of 256 bits.
    Aes256 = 0x18,
    /// Rainbow Falls: KASUMI as a block cipher. The code is ours.
    Kasumi = 0x1c,
    /// Rainbow Falls: KASUMI in its mode f8. The code is ours.
    KasumiF8 = 0x20,
}

/// The chaining of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Chaining {
    /// Blocks are not chained.
    Ecb = 0,
    /// Cipher block chaining.
    Cbc = 1,
    /// Cipher feedback of whole blocks.
    Cfb = 2,
    /// Counter mode.
    Ctr = 3,
}

impl Chaining {
    /// All of them.
    pub const ALL: [Chaining; 4] = [Chaining::Ecb, Chaining::Cbc, Chaining::Cfb, Chaining::Ctr];

    /// The name, as in `aes-128-cbc`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        ["ecb", "cbc", "cfb", "ctr"][self as usize]
    }
}

impl CipherKind {
    /// All of them, by code.
    pub const ALL: [CipherKind; 9] = [
        CipherKind::Rc4,
        CipherKind::Rc4NoStream,
        CipherKind::Des,
        CipherKind::TripleDes,
        CipherKind::Aes128,
        CipherKind::Aes192,
        CipherKind::Aes256,
        CipherKind::Kasumi,
        CipherKind::KasumiF8,
    ];

    /// Returns the cipher's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CipherKind::Rc4 => "rc4",
            CipherKind::Rc4NoStream => "rc4-no-stream",
            CipherKind::Des => "des",
            CipherKind::TripleDes => "3des",
            CipherKind::Aes128 => "aes-128",
            CipherKind::Aes192 => "aes-192",
            CipherKind::Aes256 => "aes-256",
            CipherKind::Kasumi => "kasumi",
            CipherKind::KasumiF8 => "kasumi-f8",
        }
    }

    /// Bytes of a block, 1 for a stream cipher.
    #[must_use]
    pub const fn block_len(self) -> usize {
        match self {
            CipherKind::Rc4 | CipherKind::Rc4NoStream | CipherKind::KasumiF8 => 1,
            CipherKind::Des | CipherKind::TripleDes | CipherKind::Kasumi => 8,
            CipherKind::Aes128 | CipherKind::Aes192 | CipherKind::Aes256 => 16,
        }
    }

    /// Bytes at the key's address: for RC4 its state.
    #[must_use]
    pub const fn key_len(self) -> usize {
        match self {
            CipherKind::Rc4 | CipherKind::Rc4NoStream => 258,
            CipherKind::Des => 8,
            CipherKind::TripleDes | CipherKind::Aes192 => 24,
            CipherKind::Aes128 | CipherKind::Kasumi | CipherKind::KasumiF8 => 16,
            CipherKind::Aes256 => 32,
        }
    }

    const fn is_stream(self) -> bool {
        self.block_len() == 1
    }
}

impl Cipher {
    /// The cipher of a code.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Cipher> {
        let kind = CipherKind::ALL.into_iter().find(|kind| *kind as u8 == code & !3)?;
        let chaining = Chaining::ALL[usize::from(code & 3)];
        (!kind.is_stream() || chaining == Chaining::Ecb).then_some(Cipher { kind, chaining })
    }

    /// The cipher's code.
    #[must_use]
    pub const fn code(self) -> u8 {
        self.kind as u8 | self.chaining as u8
    }

    /// True if a unit knows it.
    #[must_use]
    pub fn known_to(self, model: Model) -> bool {
        let new = matches!(self.kind, CipherKind::Kasumi | CipherKind::KasumiF8);
        model >= if new { Model::RainbowFalls } else { Model::T2 }
    }

    /// Bytes at the vector's address, 0 if there is no vector.
    #[must_use]
    pub const fn iv_len(self) -> usize {
        match (self.kind, self.chaining) {
            (CipherKind::KasumiF8, _) => 8,
            (_, Chaining::Ecb) => 0,
            (kind, _) => kind.block_len(),
        }
    }
}

impl fmt::Display for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        if self.kind.is_stream() { Ok(()) } else { write!(f, "-{}", self.chaining.name()) }
    }
}

/// A hash, MAC or checksum. From 12 on they are Rainbow Falls' only, and the codes are ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Auth {
    Md5 = 1,
    Sha1 = 2,
    Sha256 = 3,
    Crc32 = 4,
    HmacMd5 = 5,
    HmacSha1 = 6,
    HmacSha256 = 7,
    TcpChecksum = 8,
    SslMd5 = 9,
    SslSha1 = 10,
    SslSha256 = 11,
    /// SHA-512; SHA-384 with its initial state and 48 bytes of digest.
    Sha512 = 12,
    HmacSha512 = 13,
    Crc32c = 14,
    /// The checksum of an IP header; the same sum as TCP's.
    IpChecksum = 15,
    KasumiF9 = 16,
    /// Partial MD5. Partial hashes have the code of the hash and bit 4.
    PartialMd5 = 17,
    PartialSha1 = 18,
    PartialSha256 = 19,
    PartialSha512 = 28,
}

impl Auth {
    /// All of them, by code.
    pub const ALL: [Auth; 20] = [
        Auth::Md5,
        Auth::Sha1,
        Auth::Sha256,
        Auth::Crc32,
        Auth::HmacMd5,
        Auth::HmacSha1,
        Auth::HmacSha256,
        Auth::TcpChecksum,
        Auth::SslMd5,
        Auth::SslSha1,
        Auth::SslSha256,
        Auth::Sha512,
        Auth::HmacSha512,
        Auth::Crc32c,
        Auth::IpChecksum,
        Auth::KasumiF9,
        Auth::PartialMd5,
        Auth::PartialSha1,
        Auth::PartialSha256,
        Auth::PartialSha512,
    ];

    /// The hash, MAC or checksum of a code.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Auth> {
        Auth::ALL.into_iter().find(|auth| *auth as u8 == code)
    }

    /// True if a unit knows it.
    #[must_use]
    pub fn known_to(self, model: Model) -> bool {
        model >= if self as u8 >= 12 { Model::RainbowFalls } else { Model::T2 }
    }

    /// Returns the name of the hash, MAC or checksum.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Auth::Md5 => "md5",
            Auth::Sha1 => "sha1",
            Auth::Sha256 => "sha256",
            Auth::Crc32 => "crc32",
            Auth::HmacMd5 => "hmac-md5",
            Auth::HmacSha1 => "hmac-sha1",
            Auth::HmacSha256 => "hmac-sha256",
            Auth::TcpChecksum => "tcp-checksum",
            Auth::SslMd5 => "ssl-hmac-md5",
            Auth::SslSha1 => "ssl-hmac-sha1",
            Auth::SslSha256 => "ssl-hmac-sha256",
            Auth::Sha512 => "sha512",
            Auth::HmacSha512 => "hmac-sha512",
            Auth::Crc32c => "crc32c",
            Auth::IpChecksum => "ip-checksum",
            Auth::KasumiF9 => "kasumi-f9",
            Auth::PartialMd5 => "partial-md5",
            Auth::PartialSha1 => "partial-sha1",
            Auth::PartialSha256 => "partial-sha256",
            Auth::PartialSha512 => "partial-sha512",
        }
    }

    /// True if it takes a key.
    #[must_use]
    pub const fn is_keyed(self) -> bool {
        self.max_key_len() > 0
    }

    /// The longest key. T2's limit of 32 bytes is Linux's "HW limit"; that of HMAC-SHA-512 is ours.
    #[must_use]
    pub const fn max_key_len(self) -> usize {
        match self {
            Auth::HmacMd5
            | Auth::HmacSha1
            | Auth::HmacSha256
            | Auth::SslMd5
            | Auth::SslSha1
            | Auth::SslSha256 => 32,
            Auth::HmacSha512 => 64,
            Auth::KasumiF9 => 16,
            _ => 0,
        }
    }

    /// Bytes of the whole result, of which a word may want fewer.
    #[must_use]
    pub const fn result_len(self) -> usize {
        match self {
            Auth::Md5 | Auth::HmacMd5 | Auth::SslMd5 | Auth::PartialMd5 => 16,
            Auth::Sha1 | Auth::HmacSha1 | Auth::SslSha1 | Auth::PartialSha1 => 20,
            Auth::Sha256 | Auth::HmacSha256 | Auth::SslSha256 | Auth::PartialSha256 => 32,
            Auth::Sha512 | Auth::HmacSha512 | Auth::PartialSha512 => 64,
            Auth::Crc32 | Auth::Crc32c | Auth::KasumiF9 => 4,
            Auth::TcpChecksum | Auth::IpChecksum => 2,
        }
    }

    /// True if it begins with a saved partial hash.
    #[must_use]
    pub const fn is_partial(self) -> bool {
        self as u8 > 16
    }

    /// Bytes at the address of the initial state.
    #[must_use]
    pub const fn state_len(self) -> usize {
        match self {
            Auth::KasumiF9 => 9,
            // The count of hashed bytes, the chaining value, and room for a block.
            Auth::PartialSha512 => 8 + 64 + 128,
            auth if auth.is_partial() => 8 + auth.result_len() + 64,
            auth => auth.result_len(),
        }
    }

    /// Bytes of running state that SFAS stores, with which a next word may begin.
    #[must_use]
    pub const fn stored_len(self) -> usize {
        match self {
            // F9 has no state with which another word could go on.
            Auth::KasumiF9 => 0,
            auth => auth.state_len(),
        }
    }
}

impl fmt::Display for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
