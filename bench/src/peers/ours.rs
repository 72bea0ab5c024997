//! Millstream's rows: the types of `millstream-engines` as a program uses them, with the key kept.

use millstream_cpu::Features;
use millstream_engines::aead::Aead;
use millstream_engines::chacha20poly1305::{CHACHA20_POLY1305, ChaCha20Poly1305};
use millstream_engines::crc::{CRC32, CRC32C, Crc32, Crc32c};
use millstream_engines::gcm::{GCM, Gcm};
use millstream_engines::hash::{Hash as EngineHash, HashKernel};
use millstream_engines::hkdf::Hkdf;
use millstream_engines::hmac::HmacKey;
use millstream_engines::ipsum::{IP_CHECKSUM, IpChecksum};
use millstream_engines::kasumi::{F8, F9, UEA1, UIA1};
use millstream_engines::modes::{BlockMode, Direction, StreamMode};
use millstream_engines::rc4::{RC4, Rc4};
use millstream_engines::{Bound, InOut, Kernel, Table, aes, camellia, des};

use super::{Row, values};
use crate::case::{AAD, Algorithm, Case, Cipher, Hash, Io, Mode, Value, kasumi};

/// The choice of a kernel: the one of that name, or the one that is picked.
#[derive(Clone, Copy)]
struct Choice<'a> {
    features: Features,
    kernel: Option<&'a str>,
}

impl Choice<'_> {
    fn of<T>(self, table: &'static Table<T>) -> Option<Bound<T>> {
        match self.kernel {
            Some(name) => table.named(self.features, name),
            None => Some(table.best(self.features)),
        }
    }

    fn of_hash(self, hash: Hash) -> Option<HashKernel> {
        let hash = match hash {
            Hash::Md5 => EngineHash::Md5,
            Hash::Sha1 => EngineHash::Sha1,
            Hash::Sha256 => EngineHash::Sha256,
            Hash::Sha512 => EngineHash::Sha512,
            Hash::Sha3_256 => EngineHash::Sha3_256,
        };
        match self.kernel {
            Some(name) => HashKernel::named(self.features, hash, name),
            None => Some(HashKernel::best(self.features, hash)),
        }
    }
}

/// Returns our row for a case, with the kernel of that name or the one that is picked.
pub fn row(case: &Case, features: Features, kernel: Option<&str>) -> Option<Row> {
    let choice = Choice { features, kernel };
    let key = &case.key()[..];
    match case.algorithm {
        Algorithm::Cipher(Cipher::Aes(_), mode) => aes_row(case, choice, mode),
        Algorithm::Cipher(Cipher::Camellia(_), mode) => camellia_row(case, choice, mode),
        Algorithm::Cipher(Cipher::Des | Cipher::Tdes, mode) => des_row(case, choice, mode),
        Algorithm::Rc4 => {
            let mut state = Rc4::with_kernel(choice.of(&RC4)?, key).ok()?;
            cipher(state.kernel(), move |data| state.apply(data))
        }
        Algorithm::Gcm(_) => {
            let key = Gcm::with_kernel(choice.of(&GCM)?, key).ok()?;
            aead(key.kernel(), key, case)
        }
        Algorithm::ChaCha20Poly1305 => {
            let key = ChaCha20Poly1305::with_kernel(choice.of(&CHACHA20_POLY1305)?, key).ok()?;
            aead(key.kernel(), key, case)
        }
        Algorithm::Cmac(_) => {
            let key = aes::Cmac::with_kernel(choice.of(&aes::CMAC)?, key).ok()?;
            tag(key.kernel(), move |data| key.mac(data))
        }
        Algorithm::Digest(hash) => {
            let kernel = choice.of_hash(hash)?;
            tag(kernel.kernel(), move |data| kernel.digest(data))
        }
        Algorithm::Hmac(hash) => {
            let key = HmacKey::with_kernel(choice.of_hash(hash)?, key);
            tag(key.kernel(), move |data| key.sign(data))
        }
        Algorithm::Value(value) => values::ours(case, value, |value, key| match value {
            Value::Xaes => values::Ours::xaes(choice.of(&GCM)?, key),
            _ => values::Ours::new(value, choice.of(&aes::ECB)?, key),
        }),
        Algorithm::HkdfSha256 => hkdf(case, choice.of_hash(Hash::Sha256)?),
        Algorithm::KasumiF8 => {
            let key = F8::with_kernel(choice.of(&UEA1)?, key).ok()?;
            cipher(key.kernel(), move |data| {
                let bits = 8 * data.len();
                key.apply(kasumi::COUNT, kasumi::BEARER, kasumi::DIRECTION, data, bits).expect("whole bytes");
            })
        }
        Algorithm::KasumiF9 => {
            let key = F9::with_kernel(choice.of(&UIA1)?, key).ok()?;
            tag(key.kernel(), move |data| {
                key.mac(kasumi::COUNT, kasumi::FRESH, kasumi::DIRECTION, data, 8 * data.len())
                    .expect("whole bytes")
            })
        }
        Algorithm::Crc32 => {
            let fresh = Crc32::with_kernel(choice.of(&CRC32)?);
            tag(fresh.kernel(), move |data| {
                let mut crc = fresh.clone();
                crc.update(data);
                crc.value().to_be_bytes()
            })
        }
        Algorithm::Crc32c => {
            let fresh = Crc32c::with_kernel(choice.of(&CRC32C)?);
            tag(fresh.kernel(), move |data| {
                let mut crc = fresh.clone();
                crc.update(data);
                crc.value().to_be_bytes()
            })
        }
        Algorithm::IpChecksum => {
            let fresh = IpChecksum::with_kernel(choice.of(&IP_CHECKSUM)?);
            tag(fresh.kernel(), move |data| {
                let mut sum = fresh.clone();
                sum.update(data);
                sum.value().to_be_bytes()
            })
        }
        Algorithm::IpChecksumCopy => {
            let fresh = IpChecksum::with_kernel(choice.of(&IP_CHECKSUM)?);
            Row::new(fresh.kernel().name, move |io| {
                let mut sum = fresh.clone();
                sum.update_copy(io.input, io.output).expect("of one length");
                io.tag[..2].copy_from_slice(&sum.value().to_be_bytes());
            })
        }
    }
}

/// Returns a row for each of our kernels that has the case, except the one that is picked.
pub fn other_rows(case: &Case, features: Features) -> Vec<Row> {
    let picked = row(case, features, None).map(|row| row.call);
    let mut names: Vec<&str> = Vec::new();
    for kernel in millstream_engines::engines().iter().flat_map(|engine| engine.kernels()) {
        if !names.contains(&kernel.name) && picked.as_deref() != Some(kernel.name) {
            names.push(kernel.name);
        }
    }
    names.into_iter().filter_map(|name| row(case, features, Some(name))).collect()
}

fn aes_row(case: &Case, choice: Choice<'_>, mode: Mode) -> Option<Row> {
    let key = &case.key()[..];
    let encrypts = case.direction == Direction::Encrypt;
    let iv: aes::Block = case.iv().try_into().unwrap_or_default();
    match mode {
        Mode::Ecb => {
            let key = aes::Ecb::with_kernel(choice.of(&aes::ECB)?, key).ok()?;
            blocks(key.kernel(), key, case)
        }
        Mode::Cbc => {
            let key = aes::Cbc::with_kernel(choice.of(&aes::CBC)?, key).ok()?;
            blocks(key.kernel(), key, case)
        }
        Mode::Ctr => {
            let key = aes::Ctr::with_kernel(choice.of(&aes::CTR)?, key).ok()?;
            cipher(key.kernel(), move |data| key.apply(&iv, data))
        }
        Mode::Cfb => {
            let key = aes::Cfb::with_kernel(choice.of(&aes::CFB)?, key).ok()?;
            if encrypts {
                cipher(key.kernel(), move |data| key.encrypt(&iv, data))
            } else {
                cipher(key.kernel(), move |data| key.decrypt(&iv, data))
            }
        }
        Mode::Xts => {
            let key = aes::Xts::with_kernel(choice.of(&aes::XTS)?, key).ok()?;
            if encrypts {
                cipher(key.kernel(), move |data| key.encrypt(&iv, data).expect("a data unit"))
            } else {
                cipher(key.kernel(), move |data| key.decrypt(&iv, data).expect("a data unit"))
            }
        }
    }
}

fn camellia_row(case: &Case, choice: Choice<'_>, mode: Mode) -> Option<Row> {
    let key = &case.key()[..];
    match mode {
        Mode::Cbc => {
            let key = camellia::Cbc::with_kernel(choice.of(&camellia::CBC)?, key).ok()?;
            blocks(key.kernel(), key, case)
        }
        Mode::Ctr => {
            let key = camellia::Ctr::with_kernel(choice.of(&camellia::CTR)?, key).ok()?;
            let first: camellia::Block = case.iv().try_into().ok()?;
            cipher(key.kernel(), move |data| key.blocks(Direction::Encrypt, &mut { first }, data))
        }
        _ => None,
    }
}

fn des_row(case: &Case, choice: Choice<'_>, mode: Mode) -> Option<Row> {
    if mode != Mode::Cbc {
        return None;
    }
    let key = &case.key()[..];
    let table = if key.len() == 8 { &des::CBC } else { &des::TRIPLE_CBC };
    let key = des::Cbc::with_kernel(choice.of(table)?, key).ok()?;
    blocks(key.kernel(), key, case)
}

/// Makes a row from input to output.
fn cipher(kernel: &Kernel, mut run: impl FnMut(InOut<'_>) + 'static) -> Option<Row> {
    Row::new(kernel.name, move |io| run(pass(io)))
}

fn blocks<M: BlockMode + 'static>(kernel: &Kernel, mode: M, case: &Case) -> Option<Row> {
    let iv = case.iv();
    let mut first = [0; 16];
    first[..M::IV].copy_from_slice(&iv);
    if case.direction == Direction::Encrypt {
        cipher(kernel, move |data| {
            let mut chain = first;
            mode.encrypt(&mut chain[..M::IV], data);
        })
    } else {
        cipher(kernel, move |data| {
            let mut chain = first;
            mode.decrypt(&mut chain[..M::IV], data);
        })
    }
}

fn aead<A: Aead + 'static>(kernel: &Kernel, key: A, case: &Case) -> Option<Row> {
    let nonce = case.iv();
    if case.opens() {
        return Row::new(kernel.name, move |io| {
            let data = InOut::separate(io.input, io.output).expect("of one length");
            key.open(&nonce, &AAD, data, io.tag.first_chunk().expect("a whole tag"))
                .expect("the tag is right");
        });
    }
    Row::new(kernel.name, move |io| {
        let data = InOut::separate(io.input, io.output).expect("of one length");
        let tag = io.tag.first_chunk_mut().expect("a tag has room");
        key.seal(&nonce, &AAD, data, tag).expect("short enough");
    })
}

/// Makes a row from input to a tag, digest or checksum.
fn tag<T: AsRef<[u8]>>(kernel: &Kernel, mut run: impl FnMut(&[u8]) -> T + 'static) -> Option<Row> {
    Row::new(kernel.name, move |io| {
        let tag = run(io.input);
        let tag = tag.as_ref();
        io.tag[..tag.len()].copy_from_slice(tag);
    })
}

fn hkdf(case: &Case, kernel: HashKernel) -> Option<Row> {
    let (salt, info) = (case.key(), case.iv());
    Row::new(kernel.kernel().name, move |io| {
        let derived = Hkdf::extract_with_kernel(kernel, &salt, io.input);
        derived.expand(&info, &mut io.tag[..32]).expect("one digest");
    })
}

#[inline(always)]
fn pass<'a>(io: &'a mut Io<'_>) -> InOut<'a> {
    InOut::separate(io.input, io.output).expect("of one length")
}
