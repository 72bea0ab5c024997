//! OpenSSL, which takes one object after another.
//!
//! # Safety
//! An object's output is as long as its input, and either the same memory or disjoint.
#![allow(unsafe_code)]

use super::{Cell, Row, Rows};
use crate::case::{AAD, Algorithm, Mode, Value};
use crate::many::work::Work;
use crate::peers::Peer;
use crate::peers::openssl::{self, AES_256_GCM_SIV, CHACHA20_POLY1305, KeyedCipher, OpenSsl};

impl Rows for OpenSsl {
    fn version(&self) -> (String, String) {
        (self.name().to_owned(), Peer::version(self))
    }

    fn rows(&self, cell: &Cell) -> Vec<Row> {
        self.direct(cell).into_iter().collect()
    }
}

impl OpenSsl {
    fn direct(&self, cell: &Cell) -> Option<Row> {
        let (family, work) = (self.family(), cell.work);
        let keys = |name: &str| -> Option<Vec<KeyedCipher>> {
            let iv = &work.iv(0)[..work.iv_len()];
            let key = |k| self.keyed_cipher(name, work.direction(), &work.key(k), iv);
            cell.each_key(key).into_iter().collect()
        };
        match work {
            Work::EncryptThenMac(cipher, hash) => {
                let keys = keys(&openssl::cipher_name(cipher, Mode::Cbc))?;
                let macs = cell.each_key(|k| self.hmac(hash, &work.mac_key(k)));
                Some(Row::each(family, "direct", "EVP, EVP_MAC", move |object, tag| {
                    let (input, output, len) = object.data.parts();
                    // SAFETY: as the heading says.
                    unsafe { keys[object.key].apply(&object.iv, input, output, len) };
                    macs[object.key].compute(object.data.output(), tag);
                }))
            }
            Work::Null => None,
            Work::One(case) => match case.algorithm {
                Algorithm::Cipher(cipher, mode) => {
                    let keys = keys(&openssl::cipher_name(cipher, mode))?;
                    Some(Row::each(family, "direct", "EVP Init(iv) Update Final", move |object, _| {
                        let (input, output, len) = object.data.parts();
                        // SAFETY: as the heading says.
                        unsafe { keys[object.key].apply(&object.iv, input, output, len) };
                    }))
                }
                Algorithm::Gcm(bits) => aead(family, keys(&openssl::gcm_name(bits))?),
                Algorithm::ChaCha20Poly1305 => aead(family, keys(CHACHA20_POLY1305)?),
                Algorithm::Value(Value::GcmSiv) => aead(family, keys(AES_256_GCM_SIV)?),
                Algorithm::Digest(hash) => {
                    let digest = self.fetched_digest(hash)?;
                    Some(Row::each(family, "direct", "EVP Init Update Final", move |object, tag| {
                        digest.compute(object.data.input(), tag);
                    }))
                }
                Algorithm::Hmac(_) | Algorithm::Cmac(_) => {
                    let mac = |k| match case.algorithm {
                        Algorithm::Hmac(hash) => self.hmac(hash, &work.key(k)),
                        _ => self.cmac(&work.key(k)),
                    };
                    let macs = cell.each_key(mac);
                    Some(Row::each(family, "direct", "EVP_MAC init update final", move |object, tag| {
                        macs[object.key].compute(object.data.input(), tag);
                    }))
                }
                _ => None,
            },
        }
    }
}

fn aead(family: &'static str, keys: Vec<KeyedCipher>) -> Option<Row> {
    let call = "EVP Init(iv) Update(aad) Update Final tag";
    Some(Row::each(family, "direct", call, move |object, tag| {
        let (input, output, len) = object.data.parts();
        // SAFETY: as the heading says.
        unsafe { keys[object.key].seal_or_open(&object.iv[..12], &AAD, input, output, len, tag) };
    }))
}
