//! The algorithms of columns: Millstream's keys, and those of RustCrypto's crates and of `fpe`, each in place.

use ::aes::cipher::{BlockCipherEncrypt, KeyInit};
use aes_gcm::Aes256Gcm;
use aes_gcm::aead::{AeadInOut, inout::InOutBuf};
use aes_gcm_siv::Aes256GcmSiv;
use aes_kw::{KwAes256, KwpAes256};
use aes_siv::siv::Aes256Siv;
use fpe::ff1::{FF1, FlexibleNumeralString};
use millstream_cpu::Features;
use millstream_engines::aead::Aead;
use millstream_engines::aes::EcbOps;
use millstream_engines::ff1::{Ff1, Ff1Job};
use millstream_engines::gcm::{GcmOps, POLYVAL};
use millstream_engines::gcm_siv::GcmSiv;
use millstream_engines::keywrap::{Form, KeyWrap};
use millstream_engines::modes::Direction;
use millstream_engines::siv::Siv;
use millstream_engines::xaes::Xaes;
use millstream_engines::{Bound, InOut, Kernel};

use super::Row;
use crate::case::{AAD, Case, Io, Value};

/// The radix of FF1's digits.
pub const RADIX: u32 = 10;

/// A tag with room for the longest.
type Tag = [u8; 64];

/// Returns Millstream's row, with the key that `make` makes.
pub fn ours(case: &Case, value: Value, make: impl Fn(Value, &[u8]) -> Option<Ours>) -> Option<Row> {
    let mut key = make(value, &case.key())?;
    let (iv, direction) = (case.iv(), case.direction);
    Row::new(key.kernel().name, move |io| in_place(io, |data, tag| key.run(direction, &iv, data, tag)))
}

/// Returns the row of the crate that has the algorithm.
pub fn theirs(case: &Case, value: Value) -> Option<Row> {
    let mut key = Theirs::new(value, &case.key());
    let (iv, direction) = (case.iv(), case.direction);
    Row::new(Theirs::call(value), move |io| in_place(io, |data, tag| key.run(direction, &iv, data, tag)))
}

#[inline(always)]
fn in_place(io: &mut Io<'_>, mut run: impl FnMut(&mut [u8], &mut Tag)) {
    io.output.copy_from_slice(io.input);
    run(io.output, io.tag);
}

/// Takes a wrapped key apart: its first half block goes where tags are.
#[inline(always)]
fn settle(wrapped: &[u8], data: &mut [u8], tag: &mut Tag) {
    let (first, rest) = wrapped.split_at(8);
    tag[..8].copy_from_slice(first);
    data.copy_from_slice(rest);
}

/// A key of Millstream.
#[expect(clippy::large_enum_variant, reason = "a row has one, and what is measured follows no pointer to it")]
pub enum Ours {
    Siv(Siv),
    GcmSiv(GcmSiv),
    Xaes(Xaes),
    Wrap(KeyWrap, Vec<u8>),
    Ff1(Ff1),
}

impl Ours {
    /// Makes a key of any algorithm but XAES on a kernel of ECB.
    pub fn new(value: Value, kernel: Bound<EcbOps>, key: &[u8]) -> Option<Ours> {
        let wrap = |form| Some(Ours::Wrap(KeyWrap::with_kernel(kernel, form, key).ok()?, Vec::new()));
        match value {
            Value::Siv => Siv::with_kernel(kernel, key).ok().map(Ours::Siv),
            Value::GcmSiv => {
                let features = Features::hardware();
                // Portable code stands beside portable code.
                let polyval = match kernel.kernel().name {
                    "portable" => POLYVAL.named(features, "portable")?,
                    _ => POLYVAL.best(features),
                };
                GcmSiv::with_kernels(kernel, polyval, key).ok().map(Ours::GcmSiv)
            }
            Value::Xaes => None,
            Value::Kw => wrap(Form::Kw),
            Value::Kwp => wrap(Form::Kwp),
            Value::Ff1 => Ff1::with_kernel(kernel, key, RADIX).ok().map(Ours::Ff1),
        }
    }

    pub fn xaes(kernel: Bound<GcmOps>, key: &[u8]) -> Option<Ours> {
        Xaes::with_kernel(kernel, key).ok().map(Ours::Xaes)
    }

    pub fn kernel(&self) -> &'static Kernel {
        match self {
            Ours::Siv(key) => key.kernel(),
            Ours::GcmSiv(key) => key.kernel(),
            Ours::Xaes(key) => key.kernel(),
            Ours::Wrap(key, _) => key.kernel(),
            Ours::Ff1(key) => key.kernel(),
        }
    }

    /// Works on one object.
    #[inline(always)]
    pub fn run(&mut self, direction: Direction, iv: &[u8], data: &mut [u8], tag: &mut Tag) {
        match self {
            Ours::Siv(key) => {
                let (data, tag) = (InOut::in_place(data), tag.first_chunk_mut().expect("a tag has room"));
                match direction {
                    Direction::Encrypt => key.seal(&[&AAD], data, tag).expect("short enough"),
                    Direction::Decrypt => key.open(&[&AAD], data, tag).expect("the tag is right"),
                }
            }
            Ours::GcmSiv(key) => aead(key, direction, iv, data, tag),
            Ours::Xaes(key) => aead(key, direction, iv, data, tag),
            Ours::Wrap(key, room) => {
                room.resize(data.len() + 8, 0);
                key.wrap(data, room).expect("whole halves");
                settle(room, data, tag);
            }
            Ours::Ff1(key) => {
                let mut job = Ff1Job::new(&AAD, data.as_chunks_mut::<2>().0);
                match direction {
                    Direction::Encrypt => key.encrypt_many(&mut [&mut job]),
                    Direction::Decrypt => key.decrypt_many(&mut [&mut job]),
                }
                job.result.expect("digits");
            }
        }
    }
}

#[inline(always)]
fn aead(key: &impl Aead, direction: Direction, iv: &[u8], data: &mut [u8], tag: &mut Tag) {
    let (data, tag) = (InOut::in_place(data), tag.first_chunk_mut().expect("a tag has room"));
    match direction {
        Direction::Encrypt => key.seal(iv, &AAD, data, tag).expect("short enough"),
        Direction::Decrypt => key.open(iv, &AAD, data, tag).expect("the tag is right"),
    }
}

/// A key of a crate that is compared with.
pub enum Theirs {
    Siv(Box<Aes256Siv>),
    GcmSiv(Box<Aes256GcmSiv>),
    /// XAES-256-GCM, composed as its specification says: no crate of RustCrypto has it.
    Xaes(Box<::aes::Aes256>, [u8; 16]),
    Kw(Box<KwAes256>, Vec<u8>),
    Kwp(Box<KwpAes256>, Vec<u8>),
    Ff1(Box<FF1<::aes::Aes256>>),
}

impl Theirs {
    pub fn new(value: Value, key: &[u8]) -> Theirs {
        const LENGTH: &str = "the key's length is right";
        match value {
            Value::Siv => Theirs::Siv(Box::new(Aes256Siv::new_from_slice(key).expect(LENGTH))),
            Value::GcmSiv => Theirs::GcmSiv(Box::new(Aes256GcmSiv::new_from_slice(key).expect(LENGTH))),
            Value::Xaes => {
                let cipher = ::aes::Aes256::new_from_slice(key).expect(LENGTH);
                let mut zeros = [0; 16].into();
                cipher.encrypt_block(&mut zeros);
                let of = u128::from_be_bytes(zeros.into());
                let doubled = of << 1 ^ if of >> 127 == 1 { 0x87 } else { 0 };
                Theirs::Xaes(Box::new(cipher), doubled.to_be_bytes())
            }
            Value::Kw => Theirs::Kw(Box::new(KwAes256::new_from_slice(key).expect(LENGTH)), Vec::new()),
            Value::Kwp => Theirs::Kwp(Box::new(KwpAes256::new_from_slice(key).expect(LENGTH)), Vec::new()),
            Value::Ff1 => Theirs::Ff1(Box::new(FF1::new(key, RADIX).expect("a radix"))),
        }
    }

    /// Returns the crate and its call.
    pub fn call(value: Value) -> &'static str {
        match value {
            Value::Siv => "aes-siv, in place",
            Value::GcmSiv => "aes-gcm-siv, in place",
            Value::Xaes => "aes and aes-gcm, composed",
            Value::Kw | Value::Kwp => "aes-kw",
            Value::Ff1 => "fpe",
        }
    }

    /// Works on one object.
    #[inline(always)]
    pub fn run(&mut self, direction: Direction, iv: &[u8], data: &mut [u8], tag: &mut Tag) {
        const RIGHT: &str = "the object is right";
        match self {
            Theirs::Siv(key) => match direction {
                Direction::Encrypt => {
                    let made = key.encrypt_inout_detached([AAD], InOutBuf::from(data)).expect(RIGHT);
                    tag[..16].copy_from_slice(&made);
                }
                Direction::Decrypt => {
                    let given = tag.first_chunk::<16>().expect("a whole tag").into();
                    key.decrypt_inout_detached([AAD], InOutBuf::from(data), given).expect(RIGHT);
                }
            },
            Theirs::GcmSiv(key) => their_aead(&**key, direction, iv, data, tag),
            Theirs::Xaes(key, mask) => {
                let mut derived = [0; 32];
                for (number, half) in (1..).zip(derived.as_chunks_mut::<16>().0) {
                    half[..4].copy_from_slice(&[0, number, b'X', 0]);
                    half[4..].copy_from_slice(&iv[..12]);
                    half.iter_mut().zip(&*mask).for_each(|(byte, mask)| *byte ^= mask);
                    key.encrypt_block(half.into());
                }
                their_aead(&Aes256Gcm::new(&derived.into()), direction, &iv[12..], data, tag);
            }
            Theirs::Kw(key, room) => {
                room.resize(data.len() + 8, 0);
                settle(key.wrap_key(data, room).expect(RIGHT), data, tag);
            }
            Theirs::Kwp(key, room) => {
                room.resize(data.len() + 8, 0);
                settle(key.wrap_key(data, room).expect(RIGHT), data, tag);
            }
            Theirs::Ff1(key) => {
                let digits = data.as_chunks_mut::<2>().0;
                let given: Vec<u16> = digits.iter().map(|digit| u16::from_le_bytes(*digit)).collect();
                let given = FlexibleNumeralString::from(given);
                let made = match direction {
                    Direction::Encrypt => key.encrypt(&AAD, &given),
                    Direction::Decrypt => key.decrypt(&AAD, &given),
                };
                let made: Vec<u16> = made.expect(RIGHT).into();
                digits.iter_mut().zip(made).for_each(|(digit, made)| *digit = made.to_le_bytes());
            }
        }
    }
}

#[inline(always)]
fn their_aead(key: &impl AeadInOut, direction: Direction, iv: &[u8], data: &mut [u8], tag: &mut Tag) {
    let nonce = iv.try_into().expect("the nonce's length is right");
    let data = InOutBuf::from(data);
    match direction {
        Direction::Encrypt => {
            let made = key.encrypt_inout_detached(nonce, &AAD, data).expect("short enough");
            tag[..16].copy_from_slice(&made);
        }
        Direction::Decrypt => {
            let given = tag[..16].try_into().expect("a whole tag");
            key.decrypt_inout_detached(nonce, &AAD, data, given).expect("the tag is right");
        }
    }
}
