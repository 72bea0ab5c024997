//! Checking a long word and beginning its operation: nothing is written before all of it was found to be right.

use millstream_cpu::Features;
use millstream_cwq::{ControlWord, Opcode, Status};
use millstream_engines::aead::AeadState;
use millstream_engines::aes::{CmacState, Xts};
use millstream_engines::rc4::Rc4;
use millstream_engines::{Error, chacha20poly1305, gcm, kasumi};

use super::state::{Cipher, Sum};
use super::{Long, Openings, Phase};
use crate::algorithms::{every_algorithm, hash_of};
use crate::arena::{Arena, Span};
use crate::check::{CheckedWord, KeyAt, Pieces, check};
use crate::cost::is_keyed_piece;
use crate::grant::Grant;
use crate::key::{AeadKey, CipherKey, KeyRef, MacKey};
use crate::sealer::Sealer;
use crate::shape::ANY;
use crate::sink::{check_cipher, f8_start, f9_start};
use crate::slots::Handle;
use crate::status::status_of;
use crate::wipe::wipe_stack;
use crate::word_keys::{CarriedKeys, WordKeys, expand_carried_keys, find_keys, make_nonce};
use crate::work::Checksum;

impl Long {
    /// Begins a word's operation. `gathered` is the number of bytes that its gather list named when its cost was reckoned,
    /// and `per_byte` is the cost of a byte.
    ///
    /// # Errors
    /// The status with which the word ends.
    #[cold]
    #[inline(never)]
    pub(crate) fn begin<A: Arena>(
        features: Features,
        word: &ControlWord,
        gathered: u32,
        grant: &Grant<A>,
        per_byte: i64,
        openings: Option<&Openings>,
    ) -> Result<Box<Long>, Status> {
        let arena = &grant.arena;
        let mut pieces = Pieces::new();
        let mut checked = CheckedWord::NOTHING;
        check::<ANY, A>(word, arena, grant.policy.as_deref(), &mut pieces, &mut checked)?;
        let len = checked.source.len();
        if checked.source.is_gathered() && len > gathered {
            // The list has changed since, and the queue was charged for less than it names now.
            return Err(Status::Gather);
        }
        let carried = carried_keys(features, arena, &checked)?;
        let found = find_keys(&checked, grant, carried.as_ref())?;
        let mut iv = [0; 255];
        let iv = read_or_make_iv(&checked, grant, &mut iv)?;
        let mut expected = [0; 255];
        let expected = if checked.reverse { read(arena, checked.mac, &mut expected) } else { &[] };
        let sealer =
            if is_keyed_piece(word) { Some(Box::new(sealer(features, &checked, grant)?)) } else { None };
        let cipher = cipher(&checked, &found, iv, sealer.as_deref())?;
        let sum = sum(features, arena, &checked, &found, iv, sealer.as_deref())?;
        let mut chain = [0; 16];
        let kept = iv.len().min(16);
        chain[..kept].copy_from_slice(&iv[..kept]);
        let has_aad = matches!(checked.opcode, Opcode::Aead | Opcode::PartialAead) && checked.aad.len > 0;
        let long = Long {
            word: *word,
            checked,
            pieces,
            carried,
            cipher,
            sum,
            chain,
            expected: expected.to_vec(),
            per_byte,
            phase: if has_aad { Phase::Aad } else { Phase::Data },
            done: 0,
            place: None,
            verdict: Status::Ok,
            sealer: sealer.filter(|_| checked.state.len > 0),
        };
        if long.opens() {
            openings.ok_or(Status::TooLong)?.has_place_for(len)?;
        }
        Ok(Box::new(long))
    }
}

/// Expands the keys that a word brings with it, if it does, and wipes the stack after that.
fn carried_keys<A: Arena>(
    features: Features,
    arena: &A,
    checked: &CheckedWord,
) -> Result<Option<CarriedKeys>, Status> {
    if !matches!(checked.key, KeyAt::Arena(_)) && !matches!(checked.mac_key, KeyAt::Arena(_)) {
        return Ok(None);
    }
    let carried = expand_carried_keys(features, arena, checked);
    wipe_stack();
    carried.map(Some)
}

/// Copies the initialisation vector, or makes a nonce for a word that asks for one.
fn read_or_make_iv<'b, A: Arena>(
    checked: &CheckedWord,
    grant: &Grant<A>,
    buffer: &'b mut [u8; 255],
) -> Result<&'b [u8], Status> {
    if !checked.makes_nonce {
        return Ok(read(&grant.arena, checked.iv, buffer));
    }
    let nonce = make_nonce(checked.key, grant)?;
    let made = &mut buffer[..nonce.len()];
    made.copy_from_slice(&nonce);
    Ok(made)
}

/// Copies a short input.
fn read<'b, A: Arena>(arena: &A, span: Span, buffer: &'b mut [u8; 255]) -> &'b [u8] {
    let bytes = &mut buffer[..span.len as usize];
    if span.len > 0 {
        arena.read(span.at, bytes);
    }
    bytes
}

/// Returns the cipher of an operation, before its first byte.
fn cipher(
    checked: &CheckedWord,
    keys: &WordKeys<'_>,
    iv: &[u8],
    sealer: Option<&Sealer>,
) -> Result<Cipher, Status> {
    let begun = match checked.opcode {
        Opcode::PartialAead if !checked.first => {
            let before = sealer.ok_or(Status::Key)?.open(checked.opcode, iv)?;
            aead_resumed(keys.key.and_then(KeyRef::as_aead).ok_or(Status::Key)?, &before)
        }
        Opcode::Aead | Opcode::PartialAead => {
            aead_begun(keys.key.and_then(KeyRef::as_aead).ok_or(Status::Key)?, iv)
        }
        Opcode::Cipher | Opcode::EncryptThenMac | Opcode::MacThenDecrypt => {
            let key = keys.key.and_then(KeyRef::as_cipher).ok_or(Status::Key)?;
            let secret = checked.source.len() - checked.clear;
            check_cipher(key, iv, secret as usize).and_then(|()| cipher_begun(key, iv, checked.parameter))
        }
        _ => Ok(Cipher::None),
    };
    begun.map_err(status_of)
}

fn aead_begun(key: AeadKey<'_>, nonce: &[u8]) -> Result<Cipher, Error> {
    Ok(match key {
        AeadKey::AesGcm(key) => Cipher::Gcm(Box::new(key.begin(nonce)?)),
        AeadKey::ChaCha20Poly1305(key) => Cipher::ChaCha(Box::new(key.begin(nonce)?)),
        key => return Err(whole_only(key)),
    })
}

/// Takes up an object of an AEAD that was left off.
fn aead_resumed(key: AeadKey<'_>, before: &[u8]) -> Result<Cipher, Error> {
    Ok(match key {
        AeadKey::AesGcm(key) => Cipher::Gcm(Box::new(gcm::State::import(key, before)?)),
        AeadKey::ChaCha20Poly1305(key) => {
            Cipher::ChaCha(Box::new(chacha20poly1305::State::import(key, before)?))
        }
        key => return Err(whole_only(key)),
    })
}

/// Refuses slices and pieces of an object that comes as a whole. The check has refused such words before.
#[cold]
fn whole_only(key: AeadKey<'_>) -> Error {
    Error::Parameter { algorithm: key.name(), name: "piece", given: 0, takes: "an object as a whole" }
}

macro_rules! sliced_ciphers {
    (
        ciphers { $($cipher:ident = $module:ident::$key:ident as $stored:ident {
            facts $facts:tt
            keys $keys:tt
            lanes $lanes:tt
            alone $alone:tt
            slices $slices:ident
        })+ }
        $($rest:tt)+
    ) => {
        /// Returns what a cipher keeps between two slices, before its first byte.
        fn cipher_begun(key: CipherKey<'_>, iv: &[u8], parameter: u32) -> Result<Cipher, Error> {
            match key {
                $(CipherKey::$cipher(key) => $slices(key, iv, parameter),)+
            }
        }
    };
}
every_algorithm!(sliced_ciphers);

fn chained<K>(_: &K, _: &[u8], _: u32) -> Result<Cipher, Error> {
    Ok(Cipher::Chained)
}

fn counter<K>(_: &K, _: &[u8], _: u32) -> Result<Cipher, Error> {
    Ok(Cipher::Counter)
}

fn xts(_: &Xts, _: &[u8], _: u32) -> Result<Cipher, Error> {
    Ok(Cipher::Xts)
}

fn rc4(key: &Rc4, _: &[u8], _: u32) -> Result<Cipher, Error> {
    Ok(Cipher::Rc4(Box::new(key.clone())))
}

fn kasumi_f8(key: &kasumi::F8, iv: &[u8], parameter: u32) -> Result<Cipher, Error> {
    Ok(Cipher::KasumiF8(key.begin_iv(f8_start(iv, parameter)?)))
}

/// Returns the hash, MAC or checksum of an operation, before its first byte.
fn sum<A: Arena>(
    features: Features,
    arena: &A,
    checked: &CheckedWord,
    keys: &WordKeys<'_>,
    iv: &[u8],
    sealer: Option<&Sealer>,
) -> Result<Sum, Status> {
    let hash = || hash_of(checked.algorithm).ok_or(Status::Algorithm);
    match checked.opcode {
        Opcode::Checksum | Opcode::CopyChecksum => {
            let checksum = Checksum::of(checked.algorithm).ok_or(Status::Algorithm)?;
            Ok(Sum::checksum(features, checksum))
        }
        Opcode::Hash => Sum::hash(features, hash()?, None),
        Opcode::PartialHash | Opcode::PartialMac => {
            let mut state = [0; ControlWord::STATE_BYTES as usize];
            let state = &mut state[..checked.aad.len as usize];
            if checked.aad.len > 0 {
                arena.read(checked.aad.at, state);
            }
            match checked.opcode {
                Opcode::PartialMac if checked.first => mac(checked, keys, iv),
                Opcode::PartialMac => {
                    taken_up(keys, &sealer.ok_or(Status::Key)?.open(checked.opcode, state)?)
                }
                _ => Sum::hash(features, hash()?, (!checked.first).then_some(&*state)),
            }
        }
        Opcode::EncryptThenMac | Opcode::MacThenDecrypt => match keys.mac_key {
            Some(KeyRef::Hmac(key)) => Ok(Sum::Hmac(Box::new(key.start()))),
            _ => Err(Status::Key),
        },
        Opcode::Hmac | Opcode::Mac => mac(checked, keys, iv),
        _ => Ok(Sum::None),
    }
}

fn mac(checked: &CheckedWord, keys: &WordKeys<'_>, iv: &[u8]) -> Result<Sum, Status> {
    let key = keys.key.ok_or(Status::Key)?;
    if let KeyRef::KasumiF9(key) = key {
        let (count, fresh) = f9_start(iv).map_err(status_of)?;
        if checked.parameter >> 8 > 1 {
            return Err(Status::Parameter);
        }
        return Ok(f9(key, count, fresh));
    }
    if !iv.is_empty() {
        return Err(Status::IvLength);
    }
    Ok(match key.as_mac().ok_or(Status::Key)? {
        MacKey::Hmac(key) => Sum::Hmac(Box::new(key.start())),
        MacKey::AesCmac(key) => Sum::Cmac(Box::new(key.begin())),
        MacKey::DesMac(key) => Sum::DesMac(key.begin()),
    })
}

/// Takes up a MAC whose message was left off.
fn taken_up(keys: &WordKeys<'_>, before: &[u8]) -> Result<Sum, Status> {
    Ok(match keys.key.ok_or(Status::Key)? {
        KeyRef::Hmac(key) => Sum::Hmac(Box::new(key.resume(before).map_err(status_of)?)),
        KeyRef::AesCmac(_) => Sum::Cmac(Box::new(CmacState::import(before).map_err(status_of)?)),
        _ => return Err(Status::Key),
    })
}

/// Returns the sealer for the mid-states of messages under a word's key.
fn sealer<A: Arena>(features: Features, checked: &CheckedWord, grant: &Grant<A>) -> Result<Sealer, Status> {
    let KeyAt::Slot(bits) = checked.key else { return Err(Status::Key) };
    let raw = grant.keys.raw(Handle::from_bits(bits)).ok_or(Status::Key)?;
    Ok(Sealer::new(features, checked.algorithm, raw))
}

fn f9(key: &kasumi::F9, count: u32, fresh: u32) -> Sum {
    Sum::KasumiF9(key.begin(count, fresh))
}
