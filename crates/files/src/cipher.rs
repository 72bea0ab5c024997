//! The ciphers in formats, by name, and the workers that compute them.

use std::fmt;

use millstream_cpu::Features;
use millstream_engines::Error as EngineError;
use millstream_engines::InOut;
use millstream_engines::aead::{Aead, TAG};
use millstream_engines::chacha20poly1305::ChaCha20Poly1305;
use millstream_engines::gcm::Gcm;
use millstream_engines::modes::{BlockMode, Direction, Padding, StreamMode, unpad};
use millstream_engines::rc4::Rc4;
use millstream_engines::{aes, camellia, des, sm4};

use crate::error::Error;
use crate::pipeline::{Cut, Piece, Worker};

/// A family of ciphers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// AES, 16 bytes to a block.
    Aes,
    /// Camellia, 16 bytes to a block.
    Camellia,
    /// SM4, 16 bytes to a block.
    Sm4,
    /// DES, 8 bytes to a block.
    Des,
    /// Triple DES, 8 bytes to a block.
    TripleDes,
    /// RC4.
    Rc4,
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305,
}

/// The mode in which a cipher is used on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Electronic codebook.
    Ecb,
    /// Cipher block chaining.
    Cbc,
    /// Counter.
    Ctr,
    /// Cipher feedback of whole blocks.
    Cfb,
    /// XTS, the whole stream one data unit.
    Xts,
    /// Galois/counter mode.
    Gcm,
    /// The cipher's only mode (RC4, ChaCha20-Poly1305).
    Stream,
}

/// A cipher, with its key length if the name says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cipher {
    family: Family,
    mode: Mode,
    bits: Option<usize>,
}

/// Every name without a key length, its cipher, and the bits of its shortest and longest key.
const NAMES: &[(&str, Family, Mode, usize, usize)] = &[
    ("aes-ecb", Family::Aes, Mode::Ecb, 128, 256),
    ("aes-cbc", Family::Aes, Mode::Cbc, 128, 256),
    ("aes-ctr", Family::Aes, Mode::Ctr, 128, 256),
    ("aes-cfb", Family::Aes, Mode::Cfb, 128, 256),
    ("aes-xts", Family::Aes, Mode::Xts, 256, 512),
    ("aes-gcm", Family::Aes, Mode::Gcm, 128, 256),
    ("chacha20-poly1305", Family::ChaCha20Poly1305, Mode::Stream, 256, 256),
    ("camellia-ecb", Family::Camellia, Mode::Ecb, 128, 256),
    ("camellia-cbc", Family::Camellia, Mode::Cbc, 128, 256),
    ("camellia-ctr", Family::Camellia, Mode::Ctr, 128, 256),
    ("sm4-ecb", Family::Sm4, Mode::Ecb, 128, 128),
    ("sm4-cbc", Family::Sm4, Mode::Cbc, 128, 128),
    ("sm4-ctr", Family::Sm4, Mode::Ctr, 128, 128),
    ("des-ecb", Family::Des, Mode::Ecb, 64, 64),
    ("des-cbc", Family::Des, Mode::Cbc, 64, 64),
    ("des-cfb", Family::Des, Mode::Cfb, 64, 64),
    ("3des-ecb", Family::TripleDes, Mode::Ecb, 128, 192),
    ("3des-cbc", Family::TripleDes, Mode::Cbc, 128, 192),
    ("3des-cfb", Family::TripleDes, Mode::Cfb, 128, 192),
    ("rc4", Family::Rc4, Mode::Stream, 8, 2048),
];

/// One line of the list that `encrypt -l` prints.
#[derive(Clone, Copy, Debug)]
pub struct Listed {
    /// The name for `-a`, without a key length.
    pub name: &'static str,
    /// The cipher.
    pub cipher: Cipher,
    /// Bits of the shortest key.
    pub least_bits: usize,
    /// Bits of the longest key.
    pub most_bits: usize,
}

/// Every cipher that [`Cipher::from_name`] knows.
pub fn list() -> impl Iterator<Item = Listed> {
    NAMES.iter().map(|&(name, family, mode, least_bits, most_bits)| Listed {
        name,
        cipher: Cipher::new(family, mode),
        least_bits,
        most_bits,
    })
}

impl Cipher {
    /// Makes a cipher. The key file's length says how long its key is.
    pub const fn new(family: Family, mode: Mode) -> Self {
        Cipher { family, mode, bits: None }
    }

    /// Restricts the cipher to a key of this length.
    pub const fn with_bits(self, bits: usize) -> Self {
        Cipher { bits: Some(bits), ..self }
    }

    /// Returns the cipher of a name such as `aes-256-cbc`, `aes-cbc`, `des-ede3-cbc` or `rc4`: the names of
    /// `openssl enc`, and the same without a key length. `cfb128` is `cfb`.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.strip_suffix("cfb128").map_or(name.to_owned(), |start| format!("{start}cfb"));
        list().find_map(|listed| listed.cipher.named(listed.name, &name))
    }

    /// Returns this cipher, if `name` is its `own` name with or without a key length.
    fn named(self, own: &str, name: &str) -> Option<Self> {
        if name == own {
            return Some(self);
        }
        let starts: &[(&str, usize)] = match (self.family, self.mode) {
            (Family::Aes, Mode::Xts) => &[("aes-128", 128), ("aes-256", 256)],
            (Family::Aes, _) => &[("aes-128", 128), ("aes-192", 192), ("aes-256", 256)],
            (Family::Camellia, _) => &[("camellia-128", 128), ("camellia-192", 192), ("camellia-256", 256)],
            (Family::TripleDes, _) => &[("des-ede", 128), ("des-ede3", 192)],
            _ => &[],
        };
        let (_, mode) = own.split_once('-')?;
        let start = name.strip_suffix(mode)?.strip_suffix('-')?;
        starts.iter().find(|(known, _)| *known == start).map(|&(_, bits)| self.with_bits(bits))
    }

    /// Returns the family.
    pub const fn family(&self) -> Family {
        self.family
    }

    /// Returns the mode.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns true when it should not be chosen for anything new.
    pub fn is_legacy(&self) -> bool {
        matches!(self.family, Family::Des | Family::TripleDes | Family::Rc4) || self.mode == Mode::Ecb
    }

    /// Returns true when it authenticates.
    pub fn is_aead(&self) -> bool {
        self.mode == Mode::Gcm || self.family == Family::ChaCha20Poly1305
    }

    /// Returns true when its data may need padding.
    pub fn is_block_mode(&self) -> bool {
        matches!(self.mode, Mode::Ecb | Mode::Cbc)
    }

    /// Returns true when `openssl enc` has it.
    pub fn is_in_openssl_enc(&self) -> bool {
        !self.is_aead() && self.mode != Mode::Xts
    }

    /// Returns the bytes of its initialisation vector, counter block, nonce or tweak.
    pub fn iv_bytes(&self) -> usize {
        match (self.family, self.mode) {
            (_, Mode::Ecb) | (Family::Rc4, _) => 0,
            (_, Mode::Gcm) | (Family::ChaCha20Poly1305, _) => 12,
            (Family::Des | Family::TripleDes, _) => 8,
            _ => 16,
        }
    }

    /// Returns the bytes of its default key: the length in its name, else the longest, except 16 for RC4.
    pub fn default_key_bytes(&self) -> usize {
        let bits = self.bits.unwrap_or(match self.family {
            Family::Aes | Family::Camellia | Family::ChaCha20Poly1305 => 256,
            Family::Des => 64,
            Family::TripleDes => 192,
            Family::Sm4 | Family::Rc4 => 128,
        });
        bits / 8 * if self.mode == Mode::Xts { 2 } else { 1 }
    }

    /// Returns how its streams are cut. A stream that must be computed as a whole is one piece.
    pub fn cut(&self) -> Cut {
        /// The length of a piece: whole blocks of every cipher, and short enough to stay in the second-level
        /// cache.
        const PIECE: usize = 256 << 10;
        match self.most_bytes() {
            Some(most) => Cut { first: most + 1, rest: PIECE, growth: TAG },
            None => Cut { first: PIECE, rest: PIECE, growth: TAG },
        }
    }

    /// Returns the longest stream of a mode that is computed as a whole, in bytes.
    fn most_bytes(&self) -> Option<usize> {
        match self.mode {
            // IEEE 1619 §5.1 allows 2^20 blocks in a data unit.
            Mode::Xts => Some(16 << 20),
            // No output may be used before all of it is verified, so all of it is held.
            _ if self.is_aead() => Some(1 << 30),
            _ => None,
        }
    }

    /// Makes the worker that computes the pieces of one stream, in order.
    ///
    /// # Errors
    /// Fails on a key or a vector of the wrong length.
    pub fn worker(
        &self,
        features: Features,
        key: &[u8],
        iv: &[u8],
        associated_data: &[u8],
        direction: Direction,
        padding: Padding,
    ) -> Result<Worker, Error> {
        if self.bits.is_some() && key.len() != self.default_key_bytes() {
            let (given, takes) = (key.len(), takes(self.default_key_bytes()));
            return Err(EngineError::KeyLength { algorithm: self.algorithm(), given, takes }.into());
        }
        if iv.len() != self.iv_bytes() {
            let takes = takes(self.iv_bytes());
            return Err(
                EngineError::NonceLength { algorithm: self.algorithm(), given: iv.len(), takes }.into()
            );
        }
        self.bound_worker(features, key, iv, associated_data, direction, padding)
    }

    fn bound_worker(
        &self,
        features: Features,
        key: &[u8],
        iv: &[u8],
        associated_data: &[u8],
        direction: Direction,
        padding: Padding,
    ) -> Result<Worker, Error> {
        let most = self.most_bytes().unwrap_or(usize::MAX);
        match (self.family, self.mode) {
            (Family::Aes, Mode::Ecb) => Ok(block_mode(aes::Ecb::new(features, key)?, iv, direction, padding)),
            (Family::Aes, Mode::Cbc) => Ok(block_mode(aes::Cbc::new(features, key)?, iv, direction, padding)),
            (Family::Aes, Mode::Ctr) => Ok(stream_mode(aes::Ctr::new(features, key)?, iv, direction)),
            (Family::Aes, Mode::Cfb) => Ok(stream_mode(aes::Cfb::new(features, key)?, iv, direction)),
            (Family::Aes, Mode::Xts) => Ok(xts(aes::Xts::new(features, key)?, iv, direction, most)),
            (Family::Aes, _) => {
                Ok(whole_aead(Gcm::new(features, key)?, iv, associated_data, direction, most))
            }
            (Family::ChaCha20Poly1305, _) => {
                Ok(whole_aead(ChaCha20Poly1305::new(features, key)?, iv, associated_data, direction, most))
            }
            (Family::Camellia, Mode::Ecb) => {
                Ok(block_mode(camellia::Ecb::new(features, key)?, iv, direction, padding))
            }
            (Family::Camellia, Mode::Cbc) => {
                Ok(block_mode(camellia::Cbc::new(features, key)?, iv, direction, padding))
            }
            (Family::Camellia, _) => Ok(stream_mode(camellia::Ctr::new(features, key)?, iv, direction)),
            (Family::Sm4, Mode::Ecb) => Ok(block_mode(sm4::Ecb::new(features, key)?, iv, direction, padding)),
            (Family::Sm4, Mode::Cbc) => Ok(block_mode(sm4::Cbc::new(features, key)?, iv, direction, padding)),
            (Family::Sm4, _) => Ok(stream_mode(sm4::Ctr::new(features, key)?, iv, direction)),
            (Family::Des | Family::TripleDes, mode) => {
                self.check_des_key(key)?;
                match mode {
                    Mode::Ecb => Ok(block_mode(des::Ecb::new(features, key)?, iv, direction, padding)),
                    Mode::Cbc => Ok(block_mode(des::Cbc::new(features, key)?, iv, direction, padding)),
                    _ => Ok(stream_mode(des::Cfb::new(features, key)?, iv, direction)),
                }
            }
            (Family::Rc4, _) => {
                let mut rc4 = Rc4::new(features, key)?;
                Ok(Box::new(move |piece: &mut Piece| {
                    rc4.apply(InOut::in_place(&mut piece.bytes));
                    Ok(())
                }))
            }
        }
    }

    /// Checks the key's length. One engine computes both ciphers, so the length must be that of the named
    /// one.
    fn check_des_key(&self, key: &[u8]) -> Result<(), Error> {
        let (good, takes) = match self.family {
            Family::Des => (key.len() == 8, "8 bytes"),
            _ => (key.len() == 16 || key.len() == 24, "16 or 24 bytes"),
        };
        if good {
            return Ok(());
        }
        Err(EngineError::KeyLength { algorithm: self.algorithm(), given: key.len(), takes }.into())
    }

    fn algorithm(&self) -> &'static str {
        let named = |l: &Listed| l.cipher.family == self.family && l.cipher.mode == self.mode;
        list().find(named).map_or("cipher", |listed| listed.name)
    }
}

fn takes(bytes: usize) -> &'static str {
    match bytes {
        0 => "none",
        8 => "8 bytes",
        12 => "12 bytes",
        16 => "16 bytes",
        24 => "24 bytes",
        32 => "32 bytes",
        64 => "64 bytes",
        _ => "another number of bytes",
    }
}

/// Formats the family and mode.
impl fmt::Display for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.algorithm())
    }
}

/// Makes a worker for ECB and CBC. Every piece except the last is whole blocks.
fn block_mode<M>(mode: M, iv: &[u8], direction: Direction, padding: Padding) -> Worker
where
    M: BlockMode + Send + 'static,
{
    let mut chain = iv.to_vec();
    Box::new(move |piece: &mut Piece| {
        let bytes = &mut piece.bytes;
        let len = bytes.len();
        let pads = piece.last && padding == Padding::Pkcs7;
        if pads && direction == Direction::Encrypt {
            let padded = len / M::BLOCK * M::BLOCK + M::BLOCK;
            bytes.resize(padded, (padded - len) as u8);
        } else if !len.is_multiple_of(M::BLOCK) || (pads && len == 0) {
            let takes = if len == 0 { "at least one block" } else { "whole blocks" };
            return Err(EngineError::DataLength { algorithm: M::NAME, given: len as u64, takes }.into());
        }
        mode.pass(direction, &mut chain, InOut::in_place(bytes));
        if pads && direction == Direction::Decrypt {
            let before_last = len - M::BLOCK;
            bytes.truncate(before_last + unpad(&bytes[before_last..])?);
        }
        Ok(())
    })
}

/// Makes a worker for CTR and CFB. Every piece except the last is whole blocks.
fn stream_mode<M>(mode: M, iv: &[u8], direction: Direction) -> Worker
where
    M: StreamMode + Send + 'static,
{
    let mut chain = iv.to_vec();
    Box::new(move |piece: &mut Piece| {
        let (blocks, mut tail) = InOut::in_place(&mut piece.bytes).split_blocks(M::BLOCK);
        mode.blocks(direction, &mut chain, blocks);
        if !tail.is_empty() {
            let mut pad = [0; millstream_engines::modes::MAX_BLOCK];
            mode.pad(&mut chain, &mut pad[..M::BLOCK]);
            tail.xor(&pad[..tail.len()]);
        }
        Ok(())
    })
}

/// Makes a worker for an AEAD on one object. The tag follows the ciphertext.
fn whole_aead<A>(aead: A, nonce: &[u8], associated_data: &[u8], direction: Direction, most: usize) -> Worker
where
    A: Aead + Send + 'static,
{
    let (nonce, associated_data) = (nonce.to_vec(), associated_data.to_vec());
    Box::new(move |piece: &mut Piece| {
        whole(piece, most)?;
        let bytes = &mut piece.bytes;
        if direction == Direction::Encrypt {
            let mut tag = [0; TAG];
            aead.seal(&nonce, &associated_data, InOut::in_place(bytes), &mut tag)?;
            bytes.extend_from_slice(&tag);
            return Ok(());
        }
        let given = bytes.len() as u64;
        let Some((data, tag)) = bytes.split_last_chunk_mut::<TAG>() else {
            let takes = "at least the 16 bytes of the tag";
            return Err(EngineError::DataLength { algorithm: A::NAME, given, takes }.into());
        };
        let len = data.len();
        aead.open(&nonce, &associated_data, InOut::in_place(data), tag)?;
        bytes.truncate(len);
        Ok(())
    })
}

/// Makes a worker for XTS on one data unit, whose tweak is given as a block.
fn xts(mode: aes::Xts, tweak: &[u8], direction: Direction, most: usize) -> Worker {
    let mut block = [0; 16];
    block.copy_from_slice(tweak);
    Box::new(move |piece: &mut Piece| {
        whole(piece, most)?;
        let data = InOut::in_place(&mut piece.bytes);
        match direction {
            Direction::Encrypt => mode.encrypt(&block, data)?,
            Direction::Decrypt => mode.decrypt(&block, data)?,
        }
        Ok(())
    })
}

/// Refuses a stream that did not fit into one piece.
fn whole(piece: &Piece, most: usize) -> Result<(), Error> {
    let given = piece.bytes.len() as u64;
    let what = "bytes (or more) of a cipher that takes its data as a whole";
    if piece.last && given <= most as u64 {
        Ok(())
    } else {
        Err(Error::Limit { what, given, most: most as u64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_openssl_enc_and_ours() {
        let named = |name| Cipher::from_name(name).unwrap_or_else(|| panic!("{name}"));
        let is = |name, family, mode, bits| assert_eq!(named(name), Cipher { family, mode, bits }, "{name}");
        is("aes-256-cbc", Family::Aes, Mode::Cbc, Some(256));
        is("aes-cbc", Family::Aes, Mode::Cbc, None);
        is("aes-128-cfb128", Family::Aes, Mode::Cfb, Some(128));
        is("camellia-192-ctr", Family::Camellia, Mode::Ctr, Some(192));
        is("sm4-ctr", Family::Sm4, Mode::Ctr, None);
        is("des-ede3-cbc", Family::TripleDes, Mode::Cbc, Some(192));
        is("des-ede-cbc", Family::TripleDes, Mode::Cbc, Some(128));
        is("3des-cbc", Family::TripleDes, Mode::Cbc, None);
        is("chacha20-poly1305", Family::ChaCha20Poly1305, Mode::Stream, None);
        for name in [
            "aes",
            "aes-512-cbc",
            "aes-256",
            "cbc",
            "",
            "-",
            "des-ede3",
            "aes-256-256-cbc",
            "AES-256-CBC",
            "aes-192-xts",
            "3des-192-cbc",
            "rc4-128",
        ] {
            assert_eq!(Cipher::from_name(name), None, "{name}");
        }
    }
}
