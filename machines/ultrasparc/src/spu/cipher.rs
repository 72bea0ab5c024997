//! The ciphers of a control word.
//!
//! Ref. FIPS 197, SP 800-67, SP 800-38A. The width of T2's counter was never published, only that it has 32 bits at
//! least; here the last 32 bits of the counter block count, big-endian, and the counter is not written back.

use millstream_cpu::Features;
use millstream_engines::modes::{BlockMode, Direction, StreamMode};
use millstream_engines::{Error, InOut, aes, des};

use super::codes::{Chaining, Cipher, CipherKind};
use super::control_word::ControlWord;
use super::counters::counters;
use super::fault::{Fault, Field};
use super::physical::Physical;
use super::results::Results;
use super::{engine, kasumi, rc4};

/// Runs the cipher over the whole source.
pub(crate) fn run(
    cipher: Cipher,
    word: &ControlWord,
    source: &[u8],
    memory: &dyn Physical,
    results: &mut Results,
) -> Result<Vec<u8>, Fault> {
    let mut key = vec![0; cipher.kind.key_len()];
    memory.read(word.cipher_key, &mut key)?;
    let mut iv = vec![0; cipher.iv_len()];
    if !iv.is_empty() {
        memory.read(word.cipher_iv, &mut iv)?;
    }
    let mut data = source.to_vec();
    let direction = if word.control.encrypt() { Direction::Encrypt } else { Direction::Decrypt };
    match cipher.kind {
        CipherKind::Rc4 | CipherKind::Rc4NoStream => {
            let state = rc4::apply(&key, &mut data);
            results.latches.rc4(&state);
            if cipher.kind == CipherKind::Rc4 {
                results.writes.push((Field::CipherKey, word.cipher_key, state));
            }
            return Ok(data);
        }
        CipherKind::Des | CipherKind::TripleDes => chained(
            (des::Ecb::new, des::Cbc::new, des::Cfb::new),
            cipher.chaining,
            &key,
            &mut iv,
            direction,
            &mut data,
        ),
        CipherKind::Aes128 | CipherKind::Aes192 | CipherKind::Aes256 => chained(
            (aes::Ecb::new, aes::Cbc::new, aes::Cfb::new),
            cipher.chaining,
            &key,
            &mut iv,
            direction,
            &mut data,
        ),
        CipherKind::Kasumi => kasumi::apply(cipher.chaining, &key, &mut iv, direction, &mut data),
        CipherKind::KasumiF8 => kasumi::f8(&key, &iv, &mut data),
    }
    .expect("keys, vectors and blocks of the lengths that the code says");
    results.latches.cipher(&key, &iv);
    results.latches.made(&data);
    Ok(data)
}

/// A constructor of a key of an engine's mode.
type New<M> = fn(Features, &[u8]) -> Result<M, Error>;

/// Applies a block cipher, given as its modes.
fn chained<E: BlockMode, C: BlockMode, F: StreamMode>(
    (ecb, cbc, cfb): (New<E>, New<C>, New<F>),
    chaining: Chaining,
    key: &[u8],
    iv: &mut [u8],
    direction: Direction,
    data: &mut [u8],
) -> Result<(), Error> {
    match chaining {
        Chaining::Ecb => ecb(engine(), key)?.pass(direction, &mut [], InOut::in_place(data)),
        Chaining::Cbc => cbc(engine(), key)?.pass(direction, iv, InOut::in_place(data)),
        Chaining::Cfb => cfb(engine(), key)?.blocks(direction, iv, InOut::in_place(data)),
        // T2's tests have no DES in this mode, so its existence and its counter are ours.
        Chaining::Ctr => {
            let mut pad = counters(iv, data.len());
            ecb(engine(), key)?.pass(Direction::Encrypt, &mut [], InOut::in_place(&mut pad));
            xor(data, &pad);
        }
    }
    Ok(())
}

/// Adds a pad to the data.
pub(crate) fn xor(data: &mut [u8], pad: &[u8]) {
    for (byte, pad) in data.iter_mut().zip(pad) {
        *byte ^= pad;
    }
}
