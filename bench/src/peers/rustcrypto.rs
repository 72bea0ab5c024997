//! The crates of RustCrypto, with the features and the compiler flags a program gets by default.

use aes_gcm::aead::{AeadInOut, inout::InOutBuf};
use aes_gcm::{Aes128Gcm, Aes256Gcm, KeyInit};
use chacha20poly1305::ChaCha20Poly1305;
use cmac::{Cmac, Mac};
use hkdf::Hkdf;
use hmac::{EagerHash, Hmac};
use md5::Digest;
use millstream_engines::modes::Direction;
use xts_mode::Xts128;

use cbc::cipher::{
    Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, InnerIvInit,
    StreamCipher, StreamCipherCoreWrapper, array::ArraySize,
};

use super::{Peer, Row, values};
use crate::case::{AAD, Algorithm, Case, Cipher, Hash, Io, Mode};

/// RustCrypto.
pub struct RustCrypto;

impl Peer for RustCrypto {
    fn name(&self) -> &str {
        "rustcrypto"
    }

    fn version(&self) -> String {
        env!("RUSTCRYPTO_VERSIONS").to_owned()
    }

    fn row(&self, case: &Case, _size: usize) -> Option<Row> {
        match case.algorithm {
            Algorithm::Cipher(Cipher::Aes(128), Mode::Xts) => xts::<aes::Aes128>(case),
            Algorithm::Cipher(Cipher::Aes(_), Mode::Xts) => xts::<aes::Aes256>(case),
            Algorithm::Cipher(Cipher::Aes(128), Mode::Ctr) => ctr::<aes::Aes128>(case),
            Algorithm::Cipher(Cipher::Aes(_), Mode::Ctr) => ctr::<aes::Aes256>(case),
            Algorithm::Cipher(Cipher::Camellia(_), Mode::Ctr) => ctr::<camellia::Camellia128>(case),
            Algorithm::Cipher(Cipher::Aes(128), _) => blocks::<aes::Aes128>(case),
            Algorithm::Cipher(Cipher::Aes(_), _) => blocks::<aes::Aes256>(case),
            Algorithm::Cipher(Cipher::Camellia(_), _) => blocks::<camellia::Camellia128>(case),
            Algorithm::Cipher(Cipher::Des, _) => blocks::<des::Des>(case),
            Algorithm::Cipher(Cipher::Tdes, _) => blocks::<des::TdesEde3>(case),
            Algorithm::Gcm(128) => aead::<Aes128Gcm>(case),
            Algorithm::Gcm(_) => aead::<Aes256Gcm>(case),
            Algorithm::ChaCha20Poly1305 => aead::<ChaCha20Poly1305>(case),
            Algorithm::Cmac(128) => mac::<Cmac<aes::Aes128>>(case),
            Algorithm::Cmac(_) => mac::<Cmac<aes::Aes256>>(case),
            Algorithm::Digest(Hash::Md5) => digest::<md5::Md5>(),
            Algorithm::Digest(Hash::Sha1) => digest::<sha1::Sha1>(),
            Algorithm::Digest(Hash::Sha256) => digest::<sha2::Sha256>(),
            Algorithm::Digest(Hash::Sha512) => digest::<sha2::Sha512>(),
            Algorithm::Digest(Hash::Sha3_256) => digest::<sha3::Sha3_256>(),
            Algorithm::Hmac(Hash::Md5) => hmac::<md5::Md5>(case),
            Algorithm::Hmac(Hash::Sha1) => hmac::<sha1::Sha1>(case),
            Algorithm::Hmac(Hash::Sha256) => hmac::<sha2::Sha256>(case),
            Algorithm::Hmac(Hash::Sha512) => hmac::<sha2::Sha512>(case),
            Algorithm::Hmac(Hash::Sha3_256) => hmac::<sha3::Sha3_256>(case),
            Algorithm::HkdfSha256 => hkdf_row(case),
            Algorithm::Value(value) => values::theirs(case, value),
            Algorithm::Rc4 => rc4_row(case),
            _ => None,
        }
    }
}

/// Makes rows of ECB, CBC and CFB over whole blocks.
fn blocks<C>(case: &Case) -> Option<Row>
where
    C: BlockCipherEncrypt + BlockCipherDecrypt + KeyInit + 'static,
{
    let cipher = C::new_from_slice(&case.key()).ok()?;
    let iv = Array::try_from(&case.iv()[..]).ok();
    let Algorithm::Cipher(_, mode) = case.algorithm else { return None };
    match (mode, case.direction) {
        (Mode::Ecb, Direction::Encrypt) => Row::new("ecb", move |io| {
            let (input, output) = both(io);
            cipher.encrypt_blocks_b2b(input, output).expect("of one length");
        }),
        (Mode::Ecb, Direction::Decrypt) => Row::new("ecb", move |io| {
            let (input, output) = both(io);
            cipher.decrypt_blocks_b2b(input, output).expect("of one length");
        }),
        (Mode::Cbc, Direction::Encrypt) => iv.and_then(|iv| {
            Row::new("cbc", move |io| {
                let (input, output) = both(io);
                let mut mode = cbc::Encryptor::inner_iv_init(&cipher, &iv);
                mode.encrypt_blocks_b2b(input, output).expect("of one length");
            })
        }),
        (Mode::Cbc, Direction::Decrypt) => iv.and_then(|iv| {
            Row::new("cbc", move |io| {
                let (input, output) = both(io);
                let mut mode = cbc::Decryptor::inner_iv_init(&cipher, &iv);
                mode.decrypt_blocks_b2b(input, output).expect("of one length");
            })
        }),
        (Mode::Cfb, Direction::Encrypt) => iv.and_then(|iv| {
            Row::new("cfb-mode", move |io| {
                let (input, output) = both(io);
                let mut mode = cfb_mode::Encryptor::inner_iv_init(&cipher, &iv);
                mode.encrypt_blocks_b2b(input, output).expect("of one length");
            })
        }),
        (Mode::Cfb, Direction::Decrypt) => iv.and_then(|iv| {
            Row::new("cfb-mode", move |io| {
                let (input, output) = both(io);
                let mut mode = cfb_mode::Decryptor::inner_iv_init(&cipher, &iv);
                mode.decrypt_blocks_b2b(input, output).expect("of one length");
            })
        }),
        _ => None,
    }
}

/// Returns input and output as whole blocks.
#[allow(clippy::type_complexity)]
#[inline(always)]
fn both<'a, N: ArraySize>(io: &'a mut Io<'_>) -> (&'a [Array<u8, N>], &'a mut [Array<u8, N>]) {
    let (input, _) = Array::slice_as_chunks(io.input);
    let (output, _) = Array::slice_as_chunks_mut(io.output);
    (input, output)
}

fn ctr<C>(case: &Case) -> Option<Row>
where
    C: BlockCipherEncrypt<BlockSize = cbc::cipher::consts::U16> + KeyInit + 'static,
{
    let cipher = C::new_from_slice(&case.key()).ok()?;
    let iv = Array::try_from(&case.iv()[..]).ok()?;
    Row::new("ctr", move |io| {
        let core = ctr::CtrCore::<_, ctr::flavors::Ctr128BE>::inner_iv_init(&cipher, &iv);
        StreamCipherCoreWrapper::from_core(core).apply_keystream_b2b(io.input, io.output);
    })
}

/// Makes a row of XTS, which works in place only.
fn xts<C>(case: &Case) -> Option<Row>
where
    C: BlockCipherEncrypt<BlockSize = cbc::cipher::consts::U16> + BlockCipherDecrypt + KeyInit + 'static,
{
    let key = case.key();
    let (data, tweak) = key.split_at(key.len() / 2);
    let xts = Xts128::new(C::new_from_slice(data).ok()?, C::new_from_slice(tweak).ok()?);
    let tweak = Array::try_from(&case.iv()[..]).ok()?;
    let encrypts = case.direction == Direction::Encrypt;
    Row::new("xts-mode, in place", move |io| {
        if encrypts {
            xts.encrypt_sector(io.output, tweak);
        } else {
            xts.decrypt_sector(io.output, tweak);
        }
    })
}

fn aead<A: AeadInOut + KeyInit + 'static>(case: &Case) -> Option<Row> {
    let key = A::new_from_slice(&case.key()).ok()?;
    let nonce = Array::try_from(&case.iv()[..]).ok()?;
    if case.opens() {
        return Row::new("decrypt_inout_detached", move |io| {
            let tag = Array::try_from(&io.tag[..16]).expect("sixteen bytes");
            let data = InOutBuf::new(io.input, io.output).expect("of one length");
            key.decrypt_inout_detached(&nonce, &AAD, data, &tag).expect("the tag is right");
        });
    }
    Row::new("encrypt_inout_detached", move |io| {
        let data = InOutBuf::new(io.input, io.output).expect("of one length");
        let tag = key.encrypt_inout_detached(&nonce, &AAD, data).expect("short enough");
        io.tag[..16].copy_from_slice(&tag);
    })
}

/// Seals an object, for cases that open one.
pub fn seal(case: &Case, io: &mut Io<'_>) {
    let sealing = Case { direction: Direction::Encrypt, ..*case };
    let row = RustCrypto.row(&sealing, io.input.len());
    row.expect("RustCrypto has every AEAD here").run.batch(io, 1);
}

fn digest<D: Digest + 'static>() -> Option<Row> {
    Row::new("digest", |io| {
        let digest = D::digest(io.input);
        io.tag[..digest.len()].copy_from_slice(&digest);
    })
}

fn mac<M: Mac + KeyInit + Clone + 'static>(case: &Case) -> Option<Row> {
    let keyed = <M as KeyInit>::new_from_slice(&case.key()).ok()?;
    Row::new("clone update finalize", move |io| {
        let mut mac = keyed.clone();
        mac.update(io.input);
        let tag = mac.finalize().into_bytes();
        io.tag[..tag.len()].copy_from_slice(&tag);
    })
}

fn hmac<D: EagerHash + 'static>(case: &Case) -> Option<Row>
where
    Hmac<D>: Mac + KeyInit + Clone,
{
    mac::<Hmac<D>>(case)
}

fn hkdf_row(case: &Case) -> Option<Row> {
    let (salt, info) = (case.key(), case.iv());
    Row::new("new expand", move |io| {
        let derived = Hkdf::<sha2::Sha256>::new(Some(&salt), io.input);
        derived.expand(&info, &mut io.tag[..32]).expect("one digest");
    })
}

fn rc4_row(case: &Case) -> Option<Row> {
    let mut state = <rc4::Rc4 as KeyInit>::new_from_slice(&case.key()).ok()?;
    Row::new("apply_keystream", move |io| state.apply_keystream_b2b(io.input, io.output))
}
