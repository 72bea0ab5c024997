//! The work that is measured with many objects in flight, and the keys and initialisation vectors that all
//! rows share.

use millstream_engines::modes::Direction::{self, Decrypt, Encrypt};
use millstream_testkit::Random;

use crate::case::{Algorithm, Case, Cipher, Hash, Mode, Value, kasumi};

/// One algorithm in one direction, or two in a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    One(Case),
    /// CBC encryption, then the HMAC of the ciphertext, as in IPsec.
    EncryptThenMac(Cipher, Hash),
    /// A null operation, which shows the cost of the mechanism.
    Null,
}

impl Work {
    /// Returns everything, in the order of the report.
    pub fn all() -> Vec<Work> {
        use Algorithm as A;
        use Cipher::{Aes, Camellia, Des, Tdes};
        let one = |algorithm, direction| Work::One(Case { algorithm, direction });
        let mut all = Vec::new();
        for mode in [Mode::Cbc, Mode::Cfb, Mode::Ctr] {
            all.extend([128, 256].map(|bits| one(A::Cipher(Aes(bits), mode), Encrypt)));
        }
        for bits in [128, 256] {
            all.extend([Encrypt, Decrypt].map(|direction| one(A::Gcm(bits), direction)));
        }
        all.extend([Encrypt, Decrypt].map(|direction| one(A::ChaCha20Poly1305, direction)));
        all.extend([128, 256].map(|bits| one(A::Cmac(bits), Encrypt)));
        // XAES-256-GCM has a longer nonce than objects have, and KWP's chain is KW's.
        for value in [Value::Siv, Value::GcmSiv, Value::Kw, Value::Ff1] {
            all.extend(value.directions().iter().map(|&direction| one(A::Value(value), direction)));
        }
        all.extend(Hash::ALL.map(|hash| one(A::Digest(hash), Encrypt)));
        all.extend(Hash::ALL.map(|hash| one(A::Hmac(hash), Encrypt)));
        all.push(Work::EncryptThenMac(Aes(128), Hash::Sha1));
        all.push(Work::EncryptThenMac(Aes(128), Hash::Sha256));
        all.push(Work::EncryptThenMac(Tdes, Hash::Md5));
        all.extend([Tdes, Des].map(|cipher| one(A::Cipher(cipher, Mode::Cbc), Encrypt)));
        all.extend([A::KasumiF8, A::KasumiF9].map(|algorithm| one(algorithm, Encrypt)));
        all.push(one(A::Cipher(Camellia(128), Mode::Cbc), Encrypt));
        all.extend([A::Crc32, A::Crc32c].map(|algorithm| one(algorithm, Encrypt)));
        all.push(Work::Null);
        all
    }

    /// Returns the name in reports and in `--algorithms`, such as `aes-128-cbc-encrypt-hmac-sha1`.
    pub fn name(self) -> String {
        match self {
            Work::One(case) => case.name(),
            Work::EncryptThenMac(_, hash) => format!("{}-hmac-{}", self.cipher_case().name(), hash.name()),
            Work::Null => "null".to_owned(),
        }
    }

    /// Returns the case, or the cipher of a chain; for a null operation CRC, which has neither key nor
    /// output.
    pub fn cipher_case(self) -> Case {
        match self {
            Work::One(case) => case,
            Work::EncryptThenMac(cipher, _) => {
                Case { algorithm: Algorithm::Cipher(cipher, Mode::Cbc), direction: Encrypt }
            }
            Work::Null => Case { algorithm: Algorithm::Crc32c, direction: Encrypt },
        }
    }

    /// Returns true when an object of that many bytes is whole blocks, where it must be.
    pub fn takes(self, len: usize) -> bool {
        self.cipher_case().takes(len)
    }

    pub fn opens(self) -> bool {
        self.cipher_case().opens()
    }

    /// Returns true when as many bytes come out as go in.
    pub fn has_output(self) -> bool {
        self.cipher_case().has_output()
    }

    /// Returns the bytes of tag, digest or checksum.
    pub fn tag_len(self) -> usize {
        match self {
            Work::One(case) => case.tag_len(),
            Work::EncryptThenMac(_, hash) => hash.digest_len(),
            Work::Null => 0,
        }
    }

    pub fn has_key(self) -> bool {
        !self.key(0).is_empty()
    }

    /// Returns the key of that number; for a chain the cipher's.
    pub fn key(self, number: usize) -> Vec<u8> {
        Random::new(0x1000 + number as u64).bytes(self.cipher_case().key().len())
    }

    /// Returns the HMAC key of that number, for a chain.
    pub fn mac_key(self, number: usize) -> Vec<u8> {
        Random::new(0x2000 + number as u64).bytes(32)
    }

    /// Returns the initialisation vector, nonce or counter block of an object. For KASUMI, it is made of
    /// COUNT and BEARER, or COUNT and FRESH, as the standard says (3GPP TS 35.201 §3.4, §4.4).
    pub fn iv(self, object: usize) -> [u8; 16] {
        let mut iv = [0; 16];
        Random::new(0x3000 + object as u64).fill(&mut iv);
        match self.cipher_case().algorithm {
            // One peer's counter has 32 bits, so there must be no carry out of them.
            Algorithm::Cipher(_, Mode::Ctr) => iv[12..].copy_from_slice(&[0; 4]),
            Algorithm::KasumiF8 => {
                iv[4..8].copy_from_slice(&[kasumi::BEARER << 3 | kasumi::DIRECTION << 2, 0, 0, 0])
            }
            _ => {}
        }
        iv
    }

    /// Returns how many bytes of [`Work::iv`] are used.
    pub fn iv_len(self) -> usize {
        self.cipher_case().iv().len()
    }

    pub fn direction(self) -> Direction {
        self.cipher_case().direction
    }
}

/// The lengths of the objects in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// All objects have that many bytes.
    Equal(usize),
    /// The classic mix of packets, in whole blocks of 16 bytes. Of every twelve objects, seven have 64 bytes,
    /// four 576 and one 1504.
    Imix,
}

impl Sizes {
    const IMIX: [usize; 12] = [64, 576, 64, 64, 576, 64, 1504, 64, 576, 64, 64, 576];

    /// Returns the lengths of so many objects.
    pub fn of(self, objects: usize) -> Vec<usize> {
        match self {
            Sizes::Equal(bytes) => vec![bytes; objects],
            Sizes::Imix => Self::IMIX.into_iter().cycle().take(objects).collect(),
        }
    }

    /// Returns the one length, if there is one.
    pub fn equal(self) -> Option<usize> {
        match self {
            Sizes::Equal(bytes) => Some(bytes),
            Sizes::Imix => None,
        }
    }

    /// Returns the length of the longest object.
    pub fn longest(self) -> usize {
        self.of(12).into_iter().max().unwrap_or(0)
    }
}

impl std::fmt::Display for Sizes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Sizes::Equal(bytes) => write!(f, "{bytes}"),
            Sizes::Imix => f.write_str("imix"),
        }
    }
}

impl std::str::FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "imix" => Ok(Sizes::Imix),
            _ => text.parse().map(Sizes::Equal).map_err(|_| format!("{text} is neither a number nor imix")),
        }
    }
}

/// The choice between one key for all objects and one for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Keys {
    Same,
    Different,
}

impl Keys {
    /// Returns how many keys so many objects have.
    pub fn count(self, objects: usize) -> usize {
        match self {
            Keys::Same => 1,
            Keys::Different => objects,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Keys::Same => "same key",
            Keys::Different => "a key each",
        }
    }
}
