//! ring, through its keys that can be used more than once.

use ring::aead::{Aad, LessSafeKey, Nonce, Tag, UnboundKey};
use ring::{aead, digest, hkdf, hmac};

use super::{Peer, Row};
use crate::case::{AAD, Algorithm, Case, Hash};

/// ring.
pub struct Ring;

impl Peer for Ring {
    fn name(&self) -> &str {
        "ring"
    }

    fn version(&self) -> String {
        format!("ring {}", env!("RING_VERSION"))
    }

    fn row(&self, case: &Case, _size: usize) -> Option<Row> {
        match case.algorithm {
            Algorithm::Gcm(128) => aead_row(case, &aead::AES_128_GCM),
            Algorithm::Gcm(_) => aead_row(case, &aead::AES_256_GCM),
            Algorithm::ChaCha20Poly1305 => aead_row(case, &aead::CHACHA20_POLY1305),
            Algorithm::Digest(hash) => digest_row(hash),
            Algorithm::Hmac(hash) => hmac_row(case, hash),
            Algorithm::HkdfSha256 => hkdf_row(case),
            _ => None,
        }
    }
}

/// Makes an AEAD's row. ring works in place only, so its `open` has to be given the sealed bytes anew each
/// time.
fn aead_row(case: &Case, algorithm: &'static aead::Algorithm) -> Option<Row> {
    let key = LessSafeKey::new(UnboundKey::new(algorithm, &case.key()).ok()?);
    let nonce: [u8; 12] = case.iv().try_into().ok()?;
    if case.opens() {
        return Row::new("in place, after a copy", move |io| {
            io.output.copy_from_slice(io.input);
            let tag = Tag::try_from(&io.tag[..16]).expect("sixteen bytes");
            let nonce = Nonce::assume_unique_for_key(nonce);
            key.open_in_place_separate_tag(nonce, Aad::from(AAD), tag, io.output, 0..)
                .expect("the tag is right");
        });
    }
    Row::new("in place", move |io| {
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = key.seal_in_place_separate_tag(nonce, Aad::from(AAD), io.output).expect("short enough");
        io.tag[..16].copy_from_slice(tag.as_ref());
    })
}

fn digest_row(hash: Hash) -> Option<Row> {
    let algorithm = match hash {
        Hash::Md5 | Hash::Sha3_256 => return None,
        Hash::Sha1 => &digest::SHA1_FOR_LEGACY_USE_ONLY,
        Hash::Sha256 => &digest::SHA256,
        Hash::Sha512 => &digest::SHA512,
    };
    Row::new("digest", move |io| {
        let digest = digest::digest(algorithm, io.input);
        io.tag[..digest.as_ref().len()].copy_from_slice(digest.as_ref());
    })
}

fn hmac_row(case: &Case, hash: Hash) -> Option<Row> {
    let algorithm = match hash {
        Hash::Md5 | Hash::Sha3_256 => return None,
        Hash::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        Hash::Sha256 => hmac::HMAC_SHA256,
        Hash::Sha512 => hmac::HMAC_SHA512,
    };
    let key = hmac::Key::new(algorithm, &case.key());
    Row::new("sign", move |io| {
        let tag = hmac::sign(&key, io.input);
        io.tag[..tag.as_ref().len()].copy_from_slice(tag.as_ref());
    })
}

fn hkdf_row(case: &Case) -> Option<Row> {
    let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, &case.key());
    let info = case.iv();
    Row::new("extract expand fill", move |io| {
        let derived = salt.extract(io.input);
        let info = [&info[..]];
        let okm = derived.expand(&info, hkdf::HKDF_SHA256).expect("one digest");
        okm.fill(&mut io.tag[..32]).expect("one digest");
    })
}
