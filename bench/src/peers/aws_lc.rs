//! AWS-LC, called below its EVP interface wherever it has such a call, because that is faster.
//!
//! # Safety
//! Types and functions are those of the crate `aws-lc-sys`. Schedules and contexts belong to one
//! row; an [`Io`](crate::case::Io)'s output has its input's length, its tag 64 bytes.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use aws_lc_sys as lc;
use millstream_engines::modes::Direction;

use super::{Peer, Row};
use crate::case::{AAD, Algorithm, Case, Cipher, Hash, Mode};

/// AWS-LC as the crate `aws-lc-sys` builds it.
pub struct AwsLc;

impl Peer for AwsLc {
    fn name(&self) -> &str {
        "aws-lc"
    }

    fn version(&self) -> String {
        // SAFETY: returns a static C string.
        let text = unsafe { std::ffi::CStr::from_ptr(lc::OpenSSL_version(0)) };
        format!("{} (aws-lc-sys {})", text.to_string_lossy(), env!("AWS_LC_SYS_VERSION"))
    }

    fn row(&self, case: &Case, _size: usize) -> Option<Row> {
        match case.algorithm {
            Algorithm::Cipher(Cipher::Aes(_), Mode::Cbc | Mode::Ctr | Mode::Cfb) => aes(case),
            Algorithm::Cipher(Cipher::Aes(bits), mode) => evp(case, bits, mode),
            Algorithm::Cipher(Cipher::Des, _) => des(case),
            Algorithm::Cipher(Cipher::Tdes, _) => tdes(case),
            Algorithm::Rc4 => rc4(case),
            Algorithm::Gcm(_) | Algorithm::ChaCha20Poly1305 => aead(case),
            Algorithm::Digest(hash) => digest(hash),
            // The library has no HMAC over SHA-3.
            Algorithm::Hmac(Hash::Sha3_256) => None,
            Algorithm::Hmac(hash) => hmac(case, hash),
            Algorithm::Cmac(bits) => cmac(case, bits),
            Algorithm::HkdfSha256 => hkdf(case),
            _ => None,
        }
    }
}

fn aes(case: &Case) -> Option<Row> {
    let key = case.key();
    let bits = 8 * key.len() as c_uint;
    let decrypts = case.direction == Direction::Decrypt;
    let Algorithm::Cipher(_, mode) = case.algorithm else { return None };
    let mut schedule = lc::AES_KEY { rd_key: [0; 60], rounds: 0 };
    // SAFETY: the key has `bits` bits.
    unsafe {
        if decrypts && mode == Mode::Cbc {
            lc::AES_set_decrypt_key(key.as_ptr(), bits, &mut schedule);
        } else {
            lc::AES_set_encrypt_key(key.as_ptr(), bits, &mut schedule);
        }
    }
    let first: [u8; 16] = case.iv().try_into().ok()?;
    let way = !decrypts as c_int;
    match mode {
        // SAFETY: here and below, the vector is a copy of one block for each object.
        Mode::Cbc => Row::new("AES_cbc_encrypt", move |io| unsafe {
            let (mut iv, out) = (first, io.output.as_mut_ptr());
            lc::AES_cbc_encrypt(io.input.as_ptr(), out, io.input.len(), &schedule, iv.as_mut_ptr(), way);
        }),
        // SAFETY: as above.
        Mode::Ctr => Row::new("AES_ctr128_encrypt", move |io| unsafe {
            let (mut counter, mut pad, mut used) = (first, [0u8; 16], 0);
            lc::AES_ctr128_encrypt(
                io.input.as_ptr(),
                io.output.as_mut_ptr(),
                io.input.len(),
                &schedule,
                counter.as_mut_ptr(),
                pad.as_mut_ptr(),
                &mut used,
            );
        }),
        // SAFETY: as above.
        _ => Row::new("AES_cfb128_encrypt", move |io| unsafe {
            let (mut iv, mut used) = (first, 0);
            lc::AES_cfb128_encrypt(
                io.input.as_ptr(),
                io.output.as_mut_ptr(),
                io.input.len(),
                &schedule,
                iv.as_mut_ptr(),
                &mut used,
                way,
            );
        }),
    }
}

/// Makes rows of ECB and XTS. Only EVP has the many-block forms.
fn evp(case: &Case, bits: usize, mode: Mode) -> Option<Row> {
    let (key, iv) = (case.key(), case.iv());
    let way = (case.direction == Direction::Encrypt) as c_int;
    // SAFETY: key and vector have the cipher's lengths; the context is made by the library.
    let ctx = unsafe {
        let cipher = match (mode, bits) {
            (Mode::Ecb, 128) => lc::EVP_aes_128_ecb(),
            (Mode::Ecb, 256) => lc::EVP_aes_256_ecb(),
            (Mode::Xts, 256) => lc::EVP_aes_256_xts(),
            _ => return None,
        };
        let ctx = lc::EVP_CIPHER_CTX_new();
        ok(lc::EVP_CipherInit_ex(ctx, cipher, null_mut(), key.as_ptr(), iv.as_ptr(), way));
        lc::EVP_CIPHER_CTX_set_padding(ctx, 0);
        ctx
    };
    // SAFETY: the output has room for whole blocks of input.
    Row::new("EVP Init(iv) Update Final", move |io| unsafe {
        let (mut written, mut last) = (0, 0);
        let out = io.output.as_mut_ptr();
        ok(lc::EVP_CipherInit_ex(ctx, null(), null_mut(), null(), iv.as_ptr(), -1));
        ok(lc::EVP_CipherUpdate(ctx, out, &mut written, io.input.as_ptr(), io.input.len() as c_int));
        ok(lc::EVP_CipherFinal_ex(ctx, out.add(written as usize), &mut last));
    })
}

fn des_schedule(key: &[u8]) -> lc::DES_key_schedule {
    let key = lc::DES_cblock { bytes: key.try_into().expect("eight bytes") };
    let mut schedule = MaybeUninit::uninit();
    // SAFETY: the call fills the whole schedule.
    unsafe {
        lc::DES_set_key(&key, schedule.as_mut_ptr());
        schedule.assume_init()
    }
}

fn des(case: &Case) -> Option<Row> {
    let schedule = des_schedule(&case.key());
    let first: [u8; 8] = case.iv().try_into().ok()?;
    let way = (case.direction == Direction::Encrypt) as c_int;
    // SAFETY: the vector is a copy of one block for each object.
    Row::new("DES_ncbc_encrypt", move |io| unsafe {
        let mut iv = lc::DES_cblock { bytes: first };
        let out = io.output.as_mut_ptr();
        lc::DES_ncbc_encrypt(io.input.as_ptr(), out, io.input.len(), &schedule, &mut iv, way);
    })
}

fn tdes(case: &Case) -> Option<Row> {
    let key = case.key();
    let schedules = [des_schedule(&key[..8]), des_schedule(&key[8..16]), des_schedule(&key[16..])];
    let first: [u8; 8] = case.iv().try_into().ok()?;
    let way = (case.direction == Direction::Encrypt) as c_int;
    // SAFETY: the vector is a copy of one block for each object.
    Row::new("DES_ede3_cbc_encrypt", move |io| unsafe {
        let mut iv = lc::DES_cblock { bytes: first };
        let (input, out, len) = (io.input.as_ptr(), io.output.as_mut_ptr(), io.input.len());
        let [first, second, third] = &schedules;
        lc::DES_ede3_cbc_encrypt(input, out, len, first, second, third, &mut iv, way);
    })
}

fn rc4(case: &Case) -> Option<Row> {
    let key = case.key();
    let mut state = MaybeUninit::uninit();
    // SAFETY: the call fills the whole state.
    let mut state = unsafe {
        lc::RC4_set_key(state.as_mut_ptr(), key.len() as c_uint, key.as_ptr());
        state.assume_init()
    };
    // SAFETY: output has the input's length.
    Row::new("RC4", move |io| unsafe {
        lc::RC4(&mut state, io.input.len(), io.input.as_ptr(), io.output.as_mut_ptr());
    })
}

fn aead(case: &Case) -> Option<Row> {
    let (key, nonce) = (case.key(), case.iv());
    // SAFETY: the key has the AEAD's length.
    let ctx = unsafe {
        let aead = match case.algorithm {
            Algorithm::Gcm(128) => lc::EVP_aead_aes_128_gcm(),
            Algorithm::Gcm(_) => lc::EVP_aead_aes_256_gcm(),
            _ => lc::EVP_aead_chacha20_poly1305(),
        };
        lc::EVP_AEAD_CTX_new(aead, key.as_ptr(), key.len(), 16)
    };
    if case.opens() {
        // SAFETY: output has the input's length, the tag is there.
        return Row::new("EVP_AEAD_CTX_open_gather", move |io| unsafe {
            ok(lc::EVP_AEAD_CTX_open_gather(
                ctx,
                io.output.as_mut_ptr(),
                nonce.as_ptr(),
                nonce.len(),
                io.input.as_ptr(),
                io.input.len(),
                io.tag.as_ptr(),
                16,
                AAD.as_ptr(),
                AAD.len(),
            ));
        });
    }
    // SAFETY: output has the input's length, the tag has room for more than 16 bytes.
    Row::new("EVP_AEAD_CTX_seal_scatter", move |io| unsafe {
        let mut tag_len = 0;
        ok(lc::EVP_AEAD_CTX_seal_scatter(
            ctx,
            io.output.as_mut_ptr(),
            io.tag.as_mut_ptr(),
            &mut tag_len,
            16,
            nonce.as_ptr(),
            nonce.len(),
            io.input.as_ptr(),
            io.input.len(),
            null(),
            0,
            AAD.as_ptr(),
            AAD.len(),
        ));
    })
}

fn digest(hash: Hash) -> Option<Row> {
    let (name, call): (_, unsafe extern "C" fn(*const u8, usize, *mut u8) -> *mut u8) = match hash {
        Hash::Md5 => ("MD5", lc::MD5),
        Hash::Sha1 => ("SHA1", lc::SHA1),
        Hash::Sha256 => ("SHA256", lc::SHA256),
        Hash::Sha512 => ("SHA512", lc::SHA512),
        Hash::Sha3_256 => {
            let digest = evp_digest(hash);
            // SAFETY: the tag has room for the longest digest.
            return Row::new("EVP_Digest", move |io| unsafe {
                let (data, tag) = (io.input.as_ptr().cast(), io.tag.as_mut_ptr());
                ok(lc::EVP_Digest(data, io.input.len(), tag, null_mut(), digest, null_mut()));
            });
        }
    };
    // SAFETY: the tag has room for the longest digest.
    Row::new(name, move |io| unsafe {
        call(io.input.as_ptr(), io.input.len(), io.tag.as_mut_ptr());
    })
}

fn evp_digest(hash: Hash) -> *const lc::EVP_MD {
    // SAFETY: these return static descriptions.
    unsafe {
        match hash {
            Hash::Md5 => lc::EVP_md5(),
            Hash::Sha1 => lc::EVP_sha1(),
            Hash::Sha256 => lc::EVP_sha256(),
            Hash::Sha512 => lc::EVP_sha512(),
            Hash::Sha3_256 => lc::EVP_sha3_256(),
        }
    }
}

fn hmac(case: &Case, hash: Hash) -> Option<Row> {
    let key = case.key();
    // SAFETY: the context is made by the library, the key is copied.
    let ctx = unsafe {
        let ctx = lc::HMAC_CTX_new();
        ok(lc::HMAC_Init_ex(ctx, key.as_ptr().cast(), key.len(), evp_digest(hash), null_mut()));
        ctx
    };
    // SAFETY: no key means the same key; the tag has room for the longest digest.
    Row::new("HMAC Init Update Final", move |io| unsafe {
        let mut written = 0;
        ok(lc::HMAC_Init_ex(ctx, null(), 0, null(), null_mut()));
        ok(lc::HMAC_Update(ctx, io.input.as_ptr(), io.input.len()));
        ok(lc::HMAC_Final(ctx, io.tag.as_mut_ptr(), &mut written));
    })
}

fn cmac(case: &Case, bits: usize) -> Option<Row> {
    let key = case.key();
    // SAFETY: the context is made by the library, the key is copied.
    let ctx = unsafe {
        let cipher = if bits == 128 { lc::EVP_aes_128_cbc() } else { lc::EVP_aes_256_cbc() };
        let ctx = lc::CMAC_CTX_new();
        ok(lc::CMAC_Init(ctx, key.as_ptr().cast(), key.len(), cipher, null_mut()));
        ctx
    };
    // SAFETY: the tag has room for a block.
    Row::new("CMAC Reset Update Final", move |io| unsafe {
        let mut written = 0;
        ok(lc::CMAC_Reset(ctx));
        ok(lc::CMAC_Update(ctx, io.input.as_ptr(), io.input.len()));
        ok(lc::CMAC_Final(ctx, io.tag.as_mut_ptr(), &mut written));
    })
}

fn hkdf(case: &Case) -> Option<Row> {
    let (salt, info) = (case.key(), case.iv());
    let digest = evp_digest(Hash::Sha256);
    // SAFETY: 32 bytes of the tag are written.
    Row::new("HKDF", move |io| unsafe {
        ok(lc::HKDF(
            io.tag.as_mut_ptr(),
            32,
            digest,
            io.input.as_ptr(),
            io.input.len(),
            salt.as_ptr(),
            salt.len(),
            info.as_ptr(),
            info.len(),
        ));
    })
}

/// Checks the result of a call. A peer that fails has measured nothing.
#[inline(always)]
fn ok(result: c_int) {
    assert_eq!(result, 1, "AWS-LC refused an operation");
}
