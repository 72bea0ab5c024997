//! The cases: every algorithm and direction, with the key, nonce and data that all rows share.

use millstream_engines::modes::Direction::{self, Decrypt, Encrypt};
use millstream_testkit::Random;

/// The associated data of every AEAD, as long as in a TLS or IPsec record.
pub const AAD: [u8; 12] = [0xad; 12];

/// The default sizes, in bytes.
pub const SIZES: [usize; 6] = [16, 64, 256, 1024, 8192, 65536];

/// COUNT, BEARER, FRESH and DIRECTION of every KASUMI object (3GPP TS 35.201 §3, §4).
pub mod kasumi {
    pub const COUNT: u32 = 0x72a4_f20f;
    pub const BEARER: u8 = 12;
    pub const FRESH: u32 = 0x05d2_ec49;
    pub const DIRECTION: u8 = 1;
}

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    Md5,
    Sha1,
    Sha256,
    Sha512,
    Sha3_256,
}

impl Hash {
    pub const ALL: [Hash; 5] = [Hash::Md5, Hash::Sha1, Hash::Sha256, Hash::Sha512, Hash::Sha3_256];

    pub fn name(self) -> &'static str {
        match self {
            Hash::Md5 => "md5",
            Hash::Sha1 => "sha1",
            Hash::Sha256 => "sha256",
            Hash::Sha512 => "sha512",
            Hash::Sha3_256 => "sha3-256",
        }
    }

    pub fn digest_len(self) -> usize {
        match self {
            Hash::Md5 => 16,
            Hash::Sha1 => 20,
            Hash::Sha256 | Hash::Sha3_256 => 32,
            Hash::Sha512 => 64,
        }
    }
}

/// A block cipher; for AES and Camellia with the key's length in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    Aes(usize),
    Camellia(usize),
    Des,
    Tdes,
}

/// A mode of operation that only enciphers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Ecb,
    Cbc,
    Ctr,
    Cfb,
    Xts,
}

/// An algorithm of columns, with a key of 256 bits; AES-SIV has two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    Siv,
    GcmSiv,
    Xaes,
    /// AES-KW: the object is the key that is wrapped.
    Kw,
    Kwp,
    /// FF1: the object is decimal digits of two bytes each.
    Ff1,
}

impl Value {
    pub const ALL: [Value; 6] = [Value::Siv, Value::GcmSiv, Value::Xaes, Value::Kw, Value::Kwp, Value::Ff1];

    /// Returns the directions that have rows.
    pub fn directions(self) -> &'static [Direction] {
        if self.wraps() { &[Encrypt] } else { &[Encrypt, Decrypt] }
    }

    fn wraps(self) -> bool {
        matches!(self, Value::Kw | Value::Kwp)
    }

    fn is_aead(self) -> bool {
        matches!(self, Value::Siv | Value::GcmSiv | Value::Xaes)
    }

    fn name(self, decrypt: bool) -> &'static str {
        match (self, decrypt) {
            (Value::Siv, false) => "aes-256-siv-seal",
            (Value::Siv, true) => "aes-256-siv-open",
            (Value::GcmSiv, false) => "aes-256-gcm-siv-seal",
            (Value::GcmSiv, true) => "aes-256-gcm-siv-open",
            (Value::Xaes, false) => "xaes-256-gcm-seal",
            (Value::Xaes, true) => "xaes-256-gcm-open",
            (Value::Kw, _) => "aes-256-kw-wrap",
            (Value::Kwp, _) => "aes-256-kwp-wrap",
            (Value::Ff1, false) => "aes-256-ff1-encrypt",
            (Value::Ff1, true) => "aes-256-ff1-decrypt",
        }
    }

    fn iv_len(self) -> usize {
        match self {
            Value::GcmSiv => 12,
            Value::Xaes => 24,
            _ => 0,
        }
    }
}

/// A keyed or unkeyed function of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    Cipher(Cipher, Mode),
    /// AES-GCM with a key of that many bits.
    Gcm(usize),
    ChaCha20Poly1305,
    /// AES-CMAC with a key of that many bits.
    Cmac(usize),
    Digest(Hash),
    Hmac(Hash),
    /// HKDF: the object is the input keying material, and 32 bytes come out.
    HkdfSha256,
    Value(Value),
    /// RC4: the keystream goes on from object to object, so a fresh one needs a new key.
    Rc4,
    KasumiF8,
    KasumiF9,
    Crc32,
    Crc32c,
    IpChecksum,
    /// The IP checksum fused with the copy of what it covers.
    IpChecksumCopy,
}

/// One algorithm in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    pub algorithm: Algorithm,
    pub direction: Direction,
}

impl Case {
    /// Every case, in the order of the report.
    pub fn all() -> Vec<Case> {
        use Algorithm as A;
        use Cipher::{Aes, Camellia, Des, Tdes};
        let mut all = Vec::new();
        let mut push = |algorithm, directions: &[Direction]| {
            all.extend(directions.iter().map(|&direction| Case { algorithm, direction }));
        };
        for mode in [Mode::Ecb, Mode::Cbc, Mode::Ctr, Mode::Cfb, Mode::Xts] {
            let both: &[Direction] = if mode == Mode::Ctr { &[Encrypt] } else { &[Encrypt, Decrypt] };
            push(A::Cipher(Aes(128), mode), both);
            push(A::Cipher(Aes(256), mode), both);
        }
        for bits in [128, 256] {
            push(A::Gcm(bits), &[Encrypt, Decrypt]);
        }
        push(A::ChaCha20Poly1305, &[Encrypt, Decrypt]);
        push(A::Cmac(128), &[Encrypt]);
        push(A::Cmac(256), &[Encrypt]);
        for hash in Hash::ALL {
            push(A::Digest(hash), &[Encrypt]);
        }
        for hash in Hash::ALL {
            push(A::Hmac(hash), &[Encrypt]);
        }
        push(A::HkdfSha256, &[Encrypt]);
        for value in Value::ALL {
            push(A::Value(value), value.directions());
        }
        push(A::Cipher(Camellia(128), Mode::Cbc), &[Encrypt, Decrypt]);
        push(A::Cipher(Camellia(128), Mode::Ctr), &[Encrypt]);
        push(A::Cipher(Des, Mode::Cbc), &[Encrypt, Decrypt]);
        push(A::Cipher(Tdes, Mode::Cbc), &[Encrypt, Decrypt]);
        for last in [A::Rc4, A::KasumiF8, A::KasumiF9, A::Crc32, A::Crc32c, A::IpChecksum, A::IpChecksumCopy]
        {
            push(last, &[Encrypt]);
        }
        all
    }

    /// Returns the name in reports and in `--algorithms`, such as `aes-128-gcm-seal`.
    pub fn name(&self) -> String {
        let decrypt = self.direction == Decrypt;
        match self.algorithm {
            Algorithm::Cipher(cipher, mode) => {
                let cipher = match cipher {
                    Cipher::Aes(bits) => format!("aes-{bits}"),
                    Cipher::Camellia(bits) => format!("camellia-{bits}"),
                    Cipher::Des => "des".to_owned(),
                    Cipher::Tdes => "3des".to_owned(),
                };
                let mode = match mode {
                    Mode::Ecb => "ecb",
                    Mode::Cbc => "cbc",
                    Mode::Ctr => return format!("{cipher}-ctr"),
                    Mode::Cfb => "cfb128",
                    Mode::Xts => "xts",
                };
                format!("{cipher}-{mode}-{}", if decrypt { "decrypt" } else { "encrypt" })
            }
            Algorithm::Gcm(bits) => format!("aes-{bits}-gcm-{}", if decrypt { "open" } else { "seal" }),
            Algorithm::ChaCha20Poly1305 => {
                format!("chacha20-poly1305-{}", if decrypt { "open" } else { "seal" })
            }
            Algorithm::Cmac(bits) => format!("aes-{bits}-cmac"),
            Algorithm::Digest(hash) => hash.name().to_owned(),
            Algorithm::Hmac(hash) => format!("hmac-{}", hash.name()),
            Algorithm::HkdfSha256 => "hkdf-sha256".to_owned(),
            Algorithm::Value(value) => value.name(decrypt).to_owned(),
            Algorithm::Rc4 => "rc4".to_owned(),
            Algorithm::KasumiF8 => "kasumi-f8".to_owned(),
            Algorithm::KasumiF9 => "kasumi-f9".to_owned(),
            Algorithm::Crc32 => "crc32".to_owned(),
            Algorithm::Crc32c => "crc32c".to_owned(),
            Algorithm::IpChecksum => "ip-checksum".to_owned(),
            Algorithm::IpChecksumCopy => "ip-checksum-copy".to_owned(),
        }
    }

    /// Returns true when an object of that many bytes is whole blocks, where it must be. Keys and values of digits are short.
    pub fn takes(&self, size: usize) -> bool {
        match self.algorithm {
            Algorithm::Value(Value::Kw | Value::Kwp) => size.is_multiple_of(8) && (16..=1024).contains(&size),
            Algorithm::Value(Value::Ff1) => size.is_multiple_of(2) && (12..=256).contains(&size),
            Algorithm::Cipher(_, Mode::Ctr) => true,
            Algorithm::Cipher(Cipher::Des | Cipher::Tdes, _) => size.is_multiple_of(8),
            Algorithm::Cipher(..) => size.is_multiple_of(16),
            _ => true,
        }
    }

    /// Returns true when the object is sealed or opened with a tag.
    pub fn is_aead(&self) -> bool {
        match self.algorithm {
            Algorithm::Gcm(_) | Algorithm::ChaCha20Poly1305 => true,
            Algorithm::Value(value) => value.is_aead(),
            _ => false,
        }
    }

    pub fn opens(&self) -> bool {
        self.is_aead() && self.direction == Decrypt
    }

    /// Returns true when as many bytes come out as go in.
    pub fn has_output(&self) -> bool {
        self.is_aead()
            || matches!(
                self.algorithm,
                Algorithm::Cipher(..)
                    | Algorithm::Value(_)
                    | Algorithm::Rc4
                    | Algorithm::KasumiF8
                    | Algorithm::IpChecksumCopy
            )
    }

    /// Makes decimal digits of random bytes, where the object is digits.
    pub fn shape(&self, object: &mut [u8]) {
        if self.algorithm == Algorithm::Value(Value::Ff1) {
            object.as_chunks_mut().0.iter_mut().for_each(|digit: &mut [u8; 2]| *digit = [digit[0] % 10, 0]);
        }
    }

    /// Returns the bytes of tag, digest or checksum that come out (and for `open` go in).
    pub fn tag_len(&self) -> usize {
        match self.algorithm {
            Algorithm::Cipher(..) | Algorithm::Rc4 | Algorithm::KasumiF8 => 0,
            Algorithm::Value(Value::Ff1) => 0,
            // The first half of a block of what is wrapped.
            Algorithm::Value(Value::Kw | Value::Kwp) => 8,
            Algorithm::Gcm(_) | Algorithm::ChaCha20Poly1305 | Algorithm::Cmac(_) | Algorithm::Value(_) => 16,
            Algorithm::Digest(hash) | Algorithm::Hmac(hash) => hash.digest_len(),
            Algorithm::HkdfSha256 => 32,
            Algorithm::KasumiF9 | Algorithm::Crc32 | Algorithm::Crc32c => 4,
            Algorithm::IpChecksum | Algorithm::IpChecksumCopy => 2,
        }
    }

    /// Returns the key that every row uses; for XTS its two halves, for HKDF the salt.
    pub fn key(&self) -> Vec<u8> {
        let len = match self.algorithm {
            Algorithm::Cipher(Cipher::Aes(bits), Mode::Xts) => bits / 4,
            Algorithm::Cipher(Cipher::Aes(bits) | Cipher::Camellia(bits), _) => bits / 8,
            Algorithm::Gcm(bits) | Algorithm::Cmac(bits) => bits / 8,
            Algorithm::Cipher(Cipher::Des, _) => 8,
            Algorithm::Cipher(Cipher::Tdes, _) => 24,
            Algorithm::Value(Value::Siv) => 64,
            Algorithm::ChaCha20Poly1305
            | Algorithm::Hmac(_)
            | Algorithm::HkdfSha256
            | Algorithm::Value(_) => 32,
            Algorithm::Rc4 | Algorithm::KasumiF8 | Algorithm::KasumiF9 => 16,
            _ => 0,
        };
        Random::new(1).bytes(len)
    }

    /// Returns the initialisation vector, nonce or tweak of every object, or for HKDF the info.
    pub fn iv(&self) -> Vec<u8> {
        let len = match self.algorithm {
            Algorithm::Cipher(_, Mode::Ecb) => 0,
            Algorithm::Cipher(Cipher::Des | Cipher::Tdes, _) => 8,
            Algorithm::Cipher(..) => 16,
            Algorithm::Gcm(_) | Algorithm::ChaCha20Poly1305 | Algorithm::HkdfSha256 => 12,
            Algorithm::Value(value) => value.iv_len(),
            _ => 0,
        };
        Random::new(2).bytes(len)
    }
}

/// One object on its way through a row: input and output of the same length, and the tag (or
/// digest, or checksum), which `open` reads and everything else writes.
pub struct Io<'a> {
    pub input: &'a [u8],
    pub output: &'a mut [u8],
    pub tag: &'a mut [u8; 64],
}

/// The memory that all rows of one case and size share, so that none has better addresses. Both buffers begin
/// on a cache line, or a chosen number of bytes after it, and half a page apart within their pages, so that a
/// store to one never looks like a store to the data that is loaded next from the other.
pub struct Buffers {
    input: Placed,
    output: Placed,
    pub tag: [u8; 64],
}

impl Buffers {
    /// Makes random input; for `open`, input that was sealed with the case's key and nonce.
    pub fn new(case: &Case, len: usize, offset: usize) -> Self {
        let (input, output) = (Placed::new(len, offset), Placed::new(len, PAGE / 2 + offset));
        let mut buffers = Buffers { input, output, tag: [0; 64] };
        Random::new(3).fill(buffers.input.bytes_mut());
        case.shape(buffers.input.bytes_mut());
        if case.opens() {
            crate::peers::rustcrypto::seal(case, &mut buffers.io());
            buffers.input.bytes_mut().copy_from_slice(buffers.output.bytes());
        }
        buffers
    }

    pub fn io(&mut self) -> Io<'_> {
        Io { input: self.input.bytes(), output: self.output.bytes_mut(), tag: &mut self.tag }
    }

    pub fn output(&self) -> &[u8] {
        self.output.bytes()
    }

    /// Copies the input to the output, for rows that work in place.
    pub fn refill(&mut self) {
        self.output.bytes_mut().copy_from_slice(self.input.bytes());
    }

    pub fn size(&self) -> usize {
        self.input.len
    }
}

const PAGE: usize = 4096;

/// Bytes that begin at a chosen place within a page.
pub struct Placed {
    memory: Vec<u8>,
    at: usize,
    len: usize,
}

impl Placed {
    pub fn new(len: usize, offset_in_page: usize) -> Placed {
        let memory = vec![0; len + 2 * PAGE];
        let at = memory.as_ptr().align_offset(PAGE) + offset_in_page;
        Placed { memory, at, len }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.at..self.at + self.len]
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.at..self.at + self.len]
    }
}
