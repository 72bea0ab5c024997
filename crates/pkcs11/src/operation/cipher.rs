//! Encryption and decryption in a session, of one part or several.
//!
//! An AEAD gives out nothing of what it decrypts before the tag has been compared: all parts are kept until the last.
//!
//! Ref. PKCS #11 v3.2 §5.8, §5.10.

use std::sync::Arc;

use cryptoki_sys::*;
use millstream::modes::{BlockMode, Direction, unpad};
use millstream::publickey::rsa;
use millstream::{DecryptionScheme, InOut, SystemRandom, aes, des};
use zeroize::Zeroizing;

use crate::abi::Mechanism;
use crate::mechanism::parameters::{self, Aead, Oaep};
use crate::mechanism::{Row, Way};
use crate::object::engine::Engine;
use crate::object::purpose::{AesMode, Purpose};
use crate::refusal::{Outcome, Refusal, demand, refuse};
use crate::text::Text;

/// The most bytes of parts that are kept until the last.
const MOST_KEPT: usize = 1 << 30;

/// An encryption or a decryption under way.
#[derive(Clone)]
pub struct Ciphering {
    engine: Arc<Engine>,
    direction: Direction,
    form: Form,
    /// The input that is not computed yet.
    held: Text,
    /// True once a part was added.
    pub in_parts: bool,
}

#[derive(Clone)]
enum Form {
    /// Whole blocks.
    Blocks { chain: Zeroizing<Vec<u8>>, block: usize, padded: bool },
    /// A key stream: the first counter block, and the bytes that are done.
    Stream { first: u128, done: u64 },
    /// Everything at once.
    Whole(Whole),
}

#[derive(Clone)]
enum Whole {
    Aead(Arc<Aead>),
    Xts([u8; 16]),
    Wrap,
    RsaPkcs,
    RsaRaw,
    RsaOaep(Box<Oaep>),
}

/// Returns what the key of a mechanism is expanded for.
///
/// # Errors
/// `CKR_MECHANISM_INVALID` for one that neither encrypts nor wraps.
pub fn purpose(way: Way, _: &Mechanism<'_>) -> Outcome<Purpose> {
    Ok(match way {
        Way::AesBlocks(mode, _) => Purpose::Aes(mode),
        Way::AesCtr => Purpose::Aes(AesMode::Ctr),
        Way::AesXts => Purpose::Xts,
        Way::Des3(cbc, _) => Purpose::Des3(cbc),
        Way::Gcm => Purpose::Gcm,
        Way::ChaCha => Purpose::ChaCha,
        Way::Wrap(form) => Purpose::Wrap(form),
        Way::RsaPkcs | Way::RsaRaw | Way::RsaOaep => Purpose::Pair,
        _ => return refuse(CKR_MECHANISM_INVALID),
    })
}

impl Ciphering {
    /// Begins with a key that was expanded for the mechanism's [`purpose`].
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID`.
    pub fn begin(
        row: &Row,
        mechanism: &Mechanism<'_>,
        engine: Arc<Engine>,
        direction: Direction,
    ) -> Outcome<Self> {
        let blocks = |iv: usize, block: usize, padded: bool| {
            let chain = Zeroizing::new(parameters::vector(mechanism, iv)?);
            Outcome::Ok(Form::Blocks { chain, block, padded })
        };
        let bare = |whole| mechanism.bare().map(|()| Form::Whole(whole));
        let form = match row.way {
            Way::AesBlocks(AesMode::Ecb, padded) => blocks(aes::Ecb::IV, 16, padded)?,
            Way::AesBlocks(_, padded) => blocks(aes::Cbc::IV, 16, padded)?,
            Way::Des3(false, padded) => blocks(des::Ecb::IV, 8, padded)?,
            Way::Des3(true, padded) => blocks(des::Cbc::IV, 8, padded)?,
            Way::AesCtr => {
                let first = parameters::counter(mechanism)?;
                let first = first.try_into().map_err(|_| Refusal(CKR_MECHANISM_PARAM_INVALID))?;
                Form::Stream { first: u128::from_be_bytes(first), done: 0 }
            }
            Way::AesXts => {
                let tweak = parameters::vector(mechanism, 16)?;
                Form::Whole(Whole::Xts(tweak.try_into().map_err(|_| Refusal(CKR_MECHANISM_PARAM_INVALID))?))
            }
            Way::Gcm => Form::Whole(Whole::Aead(Arc::new(parameters::gcm(mechanism)?))),
            Way::ChaCha => Form::Whole(Whole::Aead(Arc::new(parameters::chacha(mechanism)?))),
            Way::Wrap(_) => {
                // The usual check value may be given.
                let usual = mechanism.parameter.is_empty() || mechanism.parameter == [0xa6; 8];
                demand(usual, CKR_MECHANISM_PARAM_INVALID)?;
                Form::Whole(Whole::Wrap)
            }
            Way::RsaPkcs => bare(Whole::RsaPkcs)?,
            Way::RsaRaw => bare(Whole::RsaRaw)?,
            Way::RsaOaep => Form::Whole(Whole::RsaOaep(Box::new(parameters::oaep(mechanism)?))),
            _ => return refuse(CKR_MECHANISM_INVALID),
        };
        Ok(Ciphering { engine, direction, form, held: Text::default(), in_parts: false })
    }

    fn encrypts(&self) -> bool {
        self.direction == Direction::Encrypt
    }

    /// Returns how many bytes an update with so many bytes gives.
    pub fn update_len(&self, input: usize) -> usize {
        match &self.form {
            Form::Blocks { block, padded, .. } => {
                let total = self.held.len() + input;
                // The last block of a padded message stays for the end.
                let kept = usize::from(*padded && !self.encrypts() && total > 0);
                (total - kept) / block * block
            }
            Form::Stream { .. } => input,
            Form::Whole(_) => 0,
        }
    }

    /// Adds a part; returns what is done of it.
    ///
    /// # Errors
    /// `CKR_DATA_LEN_RANGE`.
    pub fn update(&mut self, input: &[u8]) -> Outcome<Text> {
        let ready = self.update_len(input.len());
        self.in_parts = true;
        if let Form::Stream { first, done } = &mut self.form {
            return stream(&self.engine, self.direction, *first, done, input);
        }
        demand(self.held.len().saturating_add(input.len()) <= MOST_KEPT, self.too_long())?;
        if let Form::Blocks { chain, .. } = &mut self.form {
            let mut data = std::mem::take(&mut self.held);
            data.add(input);
            self.held = data.split_off(ready);
            self.engine.pass(self.direction, chain, &mut data)?;
            return Ok(data);
        }
        self.held.add(input);
        Ok(Text::default())
    }

    fn too_long(&self) -> CK_RV {
        if self.encrypts() { CKR_DATA_LEN_RANGE } else { CKR_ENCRYPTED_DATA_LEN_RANGE }
    }

    /// Returns the most bytes that the end gives after so many more, and by how many it may give less.
    pub fn finish_len(&self, input: usize) -> (usize, usize) {
        let total = self.held.len() + input;
        match &self.form {
            Form::Blocks { block, padded: true, .. } if self.encrypts() => (total / block * block + block, 0),
            Form::Blocks { block, padded: true, .. } => (total, *block),
            Form::Blocks { .. } | Form::Whole(Whole::Xts(_)) => (total, 0),
            Form::Stream { .. } => (input, 0),
            Form::Whole(Whole::Aead(aead)) if self.encrypts() => (total + aead.tag, 0),
            Form::Whole(Whole::Aead(aead)) => (total.saturating_sub(aead.tag), 0),
            Form::Whole(Whole::Wrap) => match &*self.engine {
                Engine::Wrap(wrap) if self.encrypts() => (wrap.form().wrapped_len(total).unwrap_or(total), 0),
                Engine::Wrap(wrap) => (wrap.form().unwrapped_len(total).unwrap_or(total), 8),
                _ => (total, total),
            },
            Form::Whole(_) => match &*self.engine {
                Engine::RsaPublic(key) => (key.size(), 0),
                Engine::Rsa(key) => (key.size(), key.size()),
                Engine::Remote(key) => (key.size(), key.size()),
                _ => (total, total),
            },
        }
    }

    /// Takes the last part, and returns what is left to be given.
    ///
    /// # Errors
    /// `CKR_DATA_LEN_RANGE`, `CKR_ENCRYPTED_DATA_LEN_RANGE`, `CKR_ENCRYPTED_DATA_INVALID`.
    pub fn finish(mut self, input: &[u8]) -> Outcome<Text> {
        if let Form::Stream { first, done } = &mut self.form {
            return stream(&self.engine, self.direction, *first, done, input);
        }
        let length = Refusal(self.too_long());
        demand(self.held.len().saturating_add(input.len()) <= MOST_KEPT, length.0)?;
        let mut data = std::mem::take(&mut self.held);
        if data.is_empty() {
            // There is room for a block of padding or a tag behind it.
            data = Text::with_room(input.len() + 16);
        }
        data.add(input);
        let encrypts = self.encrypts();
        match self.form {
            Form::Blocks { mut chain, block, padded } => {
                if padded && encrypts {
                    let pad = block - data.len() % block;
                    data.add_times(pad, pad as u8);
                }
                let whole = data.len().is_multiple_of(block) && (encrypts || !padded || !data.is_empty());
                demand(whole, length.0)?;
                self.engine.pass(self.direction, &mut chain, &mut data)?;
                if padded && !encrypts {
                    let last = data.len() - block;
                    let kept = unpad(&data[last..])?;
                    data.truncate(last + kept);
                }
                Ok(data)
            }
            Form::Stream { .. } => unreachable!("a stream was taken above"),
            Form::Whole(whole) => whole_of(&self.engine, &whole, encrypts, data).map_err(|refusal| {
                // Engines say that a length is wrong, and not in which direction.
                if refusal.0 == CKR_DATA_LEN_RANGE { length } else { refusal }
            }),
        }
    }
}

/// Takes bytes through AES-CTR from where the stream is.
fn stream(engine: &Engine, direction: Direction, first: u128, done: &mut u64, input: &[u8]) -> Outcome<Text> {
    let used = (*done % 16) as usize;
    let mut data = Text::with_room(used + input.len());
    data.add_times(used, 0);
    data.add(input);
    let counter = first.wrapping_add(u128::from(*done / 16));
    match engine {
        Engine::Ctr(ctr) => ctr.apply(&counter.to_be_bytes(), InOut::in_place(&mut data)),
        Engine::Remote(key) => key.pass(direction, &mut counter.to_be_bytes(), &mut data)?,
        _ => return refuse(CKR_FUNCTION_FAILED),
    }
    *done = done.checked_add(input.len() as u64).ok_or(Refusal(CKR_DATA_LEN_RANGE))?;
    data.drop_first(used);
    Ok(data)
}

fn whole_of(engine: &Engine, whole: &Whole, encrypts: bool, mut data: Text) -> Outcome<Text> {
    match (whole, engine) {
        (Whole::Aead(aead), engine) if encrypts => {
            let tag = engine.seal(&aead.nonce, &aead.aad, &mut data)?;
            data.add(&tag[..aead.tag]);
            Ok(data)
        }
        (Whole::Aead(aead), engine) => {
            let len = data.len().checked_sub(aead.tag).ok_or(Refusal(CKR_ENCRYPTED_DATA_LEN_RANGE))?;
            let tag = data.split_off(len);
            // Programs of version 2.40, as Java is one, know no CKR_AEAD_DECRYPT_FAILED. The message interface has it.
            let opened = engine.open(&aead.nonce, &aead.aad, &mut data, &tag);
            opened.map_err(|Refusal(value)| match value {
                CKR_AEAD_DECRYPT_FAILED => Refusal(CKR_ENCRYPTED_DATA_INVALID),
                value => Refusal(value),
            })?;
            Ok(data)
        }
        (Whole::Xts(tweak), Engine::Remote(key)) => {
            let direction = if encrypts { Direction::Encrypt } else { Direction::Decrypt };
            key.data_unit(direction, tweak, &mut data)?;
            Ok(data)
        }
        (Whole::Xts(tweak), Engine::Xts(xts)) => {
            let text = InOut::in_place(&mut data);
            if encrypts {
                xts.encrypt(tweak, text)?
            } else {
                xts.decrypt(tweak, text)?
            }
            Ok(data)
        }
        (Whole::Wrap, Engine::Wrap(wrap)) if encrypts => {
            let mut out = Text::zeros(wrap.form().wrapped_len(data.len())?);
            let len = wrap.wrap(&data, &mut out)?;
            out.truncate(len);
            Ok(out)
        }
        (Whole::Wrap, Engine::Wrap(wrap)) => {
            let mut out = Text::zeros(wrap.form().unwrapped_len(data.len())?);
            let len = wrap.unwrap(&data, &mut out).map_err(|_| Refusal(CKR_ENCRYPTED_DATA_INVALID))?;
            out.truncate(len);
            Ok(out)
        }
        (whole, Engine::RsaPublic(key)) if encrypts => public(whole, key, &data).map(Text::from),
        (whole, Engine::Rsa(key)) if !encrypts => private(whole, key, &data).map(Text::from),
        (whole, Engine::Remote(key)) if !encrypts => {
            demand(data.len() == key.size(), CKR_ENCRYPTED_DATA_LEN_RANGE)?;
            let scheme = match whole {
                Whole::RsaPkcs => DecryptionScheme::RsaPkcs1,
                Whole::RsaOaep(oaep) => {
                    DecryptionScheme::RsaOaep { hash: oaep.hash, mgf_hash: oaep.mgf, label: &oaep.label }
                }
                _ => DecryptionScheme::RsaRaw,
            };
            key.decrypt(scheme, &data).map(Text::from)
        }
        _ => refuse(CKR_KEY_TYPE_INCONSISTENT),
    }
}

fn public(whole: &Whole, key: &rsa::PublicKey, message: &[u8]) -> Outcome<Zeroizing<Vec<u8>>> {
    let mut out = Zeroizing::new(vec![0; key.size()]);
    let len = match whole {
        Whole::RsaPkcs => key.encrypt_pkcs1(&mut SystemRandom, message, &mut out)?,
        Whole::RsaOaep(oaep) => key.encrypt_oaep(&engine_oaep(oaep), &mut SystemRandom, message, &mut out)?,
        _ => {
            key.raw(&padded(message, key.size())?, &mut out).map_err(|_| Refusal(CKR_DATA_LEN_RANGE))?;
            key.size()
        }
    };
    out.truncate(len);
    Ok(out)
}

fn private(whole: &Whole, key: &rsa::PrivateKey, ciphertext: &[u8]) -> Outcome<Zeroizing<Vec<u8>>> {
    let mut out = Zeroizing::new(vec![0; key.size()]);
    demand(ciphertext.len() == key.size(), CKR_ENCRYPTED_DATA_LEN_RANGE)?;
    let len = match whole {
        Whole::RsaPkcs => key.decrypt_pkcs1(ciphertext, &mut out),
        Whole::RsaOaep(oaep) => key.decrypt_oaep(&engine_oaep(oaep), ciphertext, &mut out),
        _ => key.raw(ciphertext, &mut out).map(|()| key.size()),
    };
    // A number that is not below the modulus is no ciphertext of this key.
    let len = len.map_err(|_| Refusal(CKR_ENCRYPTED_DATA_INVALID))?;
    out.truncate(len);
    Ok(out)
}

fn engine_oaep(oaep: &Oaep) -> rsa::Oaep<'_> {
    rsa::Oaep { hash: oaep.hash, mgf: oaep.mgf, label: &oaep.label }
}

/// Returns a number with zeros in front of it, as long as a modulus.
///
/// # Errors
/// `CKR_DATA_LEN_RANGE`.
pub fn padded(number: &[u8], len: usize) -> Outcome<Zeroizing<Vec<u8>>> {
    let zeros = len.checked_sub(number.len()).ok_or(Refusal(CKR_DATA_LEN_RANGE))?;
    let mut whole = Zeroizing::new(vec![0; zeros]);
    whole.extend_from_slice(number);
    Ok(whole)
}
