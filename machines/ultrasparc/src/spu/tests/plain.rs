//! The operations once more, made of other people's block ciphers and compression functions, for comparison.

use ::aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use ::hmac::{Hmac, Mac};
use md5::Md5;
use sha1::{Digest, Sha1};
use sha2::{Sha256, Sha512};

use crate::spu::{Auth, Chaining, Cipher, CipherKind};

/// Enciphers one block.
fn block(kind: CipherKind, encrypt: bool, key: &[u8], block: &[u8]) -> Vec<u8> {
    macro_rules! with {
        ($cipher:ty) => {{
            let cipher = <$cipher>::new_from_slice(key).expect("the key's length");
            let mut block = Array::try_from(block).expect("a block");
            if encrypt {
                cipher.encrypt_block(&mut block)
            } else {
                cipher.decrypt_block(&mut block)
            }
            block.to_vec()
        }};
    }
    match kind {
        CipherKind::Des => with!(::des::Des),
        CipherKind::TripleDes => with!(::des::TdesEde3),
        CipherKind::Aes128 => with!(::aes::Aes128),
        CipherKind::Aes192 => with!(::aes::Aes192),
        CipherKind::Aes256 => with!(::aes::Aes256),
        _ => unreachable!("no block cipher of T2"),
    }
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

/// Applies a cipher to whole blocks. SP 800-38A §6; the last 32 bits of a counter count.
pub fn cipher(cipher: Cipher, encrypt: bool, key: &[u8], iv: &[u8], data: &[u8]) -> Vec<u8> {
    let Cipher { kind, chaining } = cipher;
    let mut chain = iv.to_vec();
    let mut out = Vec::new();
    for input in data.chunks(kind.block_len()) {
        let made = match (chaining, encrypt) {
            (Chaining::Ecb, _) => block(kind, encrypt, key, input),
            (Chaining::Cbc, true) => block(kind, true, key, &xor(input, &chain)),
            (Chaining::Cbc, false) => xor(&block(kind, false, key, input), &chain),
            (Chaining::Cfb, _) => xor(input, &block(kind, true, key, &chain)),
            (Chaining::Ctr, _) => xor(input, &block(kind, true, key, &chain)),
        };
        chain = match chaining {
            Chaining::Ctr => {
                let at = chain.len() - 4;
                let counter = u32::from_be_bytes(chain[at..].try_into().expect("4 bytes")).wrapping_add(1);
                [&chain[..at], &counter.to_be_bytes()].concat()
            }
            _ if encrypt => made.clone(),
            _ => input.to_vec(),
        };
        out.extend(made);
    }
    out
}

/// The initial state of a hash, as memory has it.
pub fn initial(auth: Auth) -> Vec<u8> {
    let md5 = [0x01234567_u32, 0x89abcdef, 0xfedcba98, 0x76543210];
    let sha1 = [0x67452301_u32, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];
    let sha256 =
        [0x6a09e667_u32, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
    let sha512 = [
        0x6a09e667f3bcc908_u64,
        0xbb67ae8584caa73b,
        0x3c6ef372fe94f82b,
        0xa54ff53a5f1d36f1,
        0x510e527fade682d1,
        0x9b05688c2b3e6c1f,
        0x1f83d9abfb41bd6b,
        0x5be0cd19137e2179,
    ];
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect();
    match auth {
        Auth::Md5 | Auth::HmacMd5 | Auth::SslMd5 => words(&md5),
        Auth::Sha1 | Auth::HmacSha1 | Auth::SslSha1 => words(&sha1),
        Auth::Sha256 | Auth::HmacSha256 | Auth::SslSha256 => words(&sha256),
        Auth::Sha512 | Auth::HmacSha512 => sha512.iter().flat_map(|word| word.to_be_bytes()).collect(),
        Auth::Crc32 | Auth::Crc32c => vec![0xff; 4],
        Auth::TcpChecksum | Auth::IpChecksum => vec![0; 2],
        _ => unreachable!("{auth} begins with something else"),
    }
}

/// A hash, MAC or checksum from its usual beginning.
pub fn auth(auth: Auth, key: &[u8], data: &[u8]) -> Vec<u8> {
    match auth {
        Auth::Md5 => Md5::digest(data).to_vec(),
        Auth::Sha1 => Sha1::digest(data).to_vec(),
        Auth::Sha256 => Sha256::digest(data).to_vec(),
        Auth::Sha512 => Sha512::digest(data).to_vec(),
        Auth::HmacMd5 => hmac::<Hmac<Md5>>(key, data),
        Auth::HmacSha1 => hmac::<Hmac<Sha1>>(key, data),
        Auth::HmacSha256 => hmac::<Hmac<Sha256>>(key, data),
        Auth::HmacSha512 => hmac::<Hmac<Sha512>>(key, data),
        Auth::SslMd5 => ssl::<Md5>(key, 48, data),
        Auth::SslSha1 => ssl::<Sha1>(key, 40, data),
        Auth::SslSha256 => ssl::<Sha256>(key, 32, data),
        Auth::Crc32 => crc(0xedb8_8320, data).to_be_bytes().to_vec(),
        Auth::Crc32c => crc(0x82f6_3b78, data).to_be_bytes().to_vec(),
        Auth::TcpChecksum | Auth::IpChecksum => checksum(data).to_be_bytes().to_vec(),
        _ => unreachable!("{auth} is tested elsewhere"),
    }
}

fn hmac<M: Mac + ::hmac::digest::KeyInit>(key: &[u8], data: &[u8]) -> Vec<u8> {
    let mut mac = <M as ::hmac::digest::KeyInit>::new_from_slice(key).expect("any key");
    mac.update(data);
    mac.finalize().into_bytes().to_vec()
}

fn ssl<H: Digest>(key: &[u8], pads: usize, data: &[u8]) -> Vec<u8> {
    let inner = H::digest([key, &vec![0x36; pads], data].concat());
    H::digest([key, &vec![0x5c; pads], &inner].concat()).to_vec()
}

fn crc(polynomial: u32, data: &[u8]) -> u32 {
    let mut register = !0_u32;
    for byte in data {
        register ^= u32::from(*byte);
        for _ in 0..8 {
            register = register >> 1 ^ if register & 1 == 1 { polynomial } else { 0 };
        }
    }
    !register
}

fn checksum(data: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low));
    let mut sum: u32 = data.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// RC4's state from a key, as memory holds it: 256 bytes and two indices.
pub fn rc4_state(key: &[u8]) -> Vec<u8> {
    let mut s: Vec<u8> = (0..=255).collect();
    let mut j = 0_u8;
    for i in 0..256 {
        j = j.wrapping_add(s[i]).wrapping_add(key[i % key.len()]);
        s.swap(i, usize::from(j));
    }
    s.extend([0, 0]);
    s
}

/// Applies RC4 from a state, which moves on.
pub fn rc4(state: &mut [u8], data: &[u8]) -> Vec<u8> {
    let (s, indices) = state.split_at_mut(256);
    let step = |byte: &u8| {
        indices[0] = indices[0].wrapping_add(1);
        let i = usize::from(indices[0]);
        indices[1] = indices[1].wrapping_add(s[i]);
        s.swap(i, usize::from(indices[1]));
        byte ^ s[usize::from(s[i].wrapping_add(s[usize::from(indices[1])]))]
    };
    data.iter().map(step).collect()
}
