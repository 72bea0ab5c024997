//! One object at a time on this thread, without a queue: the engines' types as a program uses them, with the
//! key kept.

use millstream::Generator;
use millstream_cpu::Features;
use millstream_engines::aead::Aead;
use millstream_engines::chacha20poly1305::ChaCha20Poly1305;
use millstream_engines::crc::{Crc, Crc32, Crc32c, Polynomial};
use millstream_engines::gcm::Gcm;
use millstream_engines::hash::{Hash, HashKernel};
use millstream_engines::hmac::HmacKey;
use millstream_engines::ipsum::IpChecksum;
use millstream_engines::kasumi::{F8, F9};
use millstream_engines::modes::{BlockMode, ByteStream, Direction, StreamMode};
use millstream_engines::rc4::Rc4;
use millstream_engines::{Error as EngineError, InOut, Kernel, aes, camellia, des, sm4};
use millstream_files::cipher::{Cipher, Family, Mode};

use zeroize::Zeroizing;

use crate::error::Error;
use crate::speed::algorithm::{AAD, Algorithm, Case, kasumi};
use crate::speed::objects::{Io, Objects};
use crate::speed::{Prepared, Way};

/// The way that calls the engines directly.
pub struct Direct {
    /// The features that the kernels may use.
    pub features: Features,
}

impl Way for Direct {
    fn name(&self) -> &'static str {
        "direct"
    }

    fn prepare(&self, case: &Case, _: &mut Objects, _: usize) -> Result<Option<Prepared>, Error> {
        Ok(Some(prepare(self.features, case)?))
    }
}

/// Prepares a direct call, which every case has.
pub fn prepare(features: Features, case: &Case) -> Result<Prepared, EngineError> {
    let key = &case.algorithm.key()[..];
    Ok(match case.algorithm {
        Algorithm::Cipher(cipher) => self::cipher(features, case, cipher, key)?,
        Algorithm::CipherMac(cipher, hash) => {
            let mac = HmacKey::new(features, hash, &case.algorithm.mac_key());
            match cipher.family() {
                Family::Aes => chained(aes::Cbc::new(features, key)?, aes::Cbc::kernel, mac, case),
                Family::Camellia => {
                    chained(camellia::Cbc::new(features, key)?, camellia::Cbc::kernel, mac, case)
                }
                Family::Sm4 => chained(sm4::Cbc::new(features, key)?, sm4::Cbc::kernel, mac, case),
                _ => chained(des::Cbc::new(features, key)?, des::Cbc::kernel, mac, case),
            }
        }
        Algorithm::Digest(hash) => digest(features, hash),
        Algorithm::Hmac(hash) => {
            let key = HmacKey::new(features, hash, key);
            tag(key.kernel(), move |data| key.sign(data))
        }
        Algorithm::Cmac(_) => {
            let key = aes::Cmac::new(features, key)?;
            tag(key.kernel(), move |data| key.mac(data))
        }
        Algorithm::KasumiF8 => {
            let key = F8::new(features, key)?;
            pass(key.kernel(), move |_, data| {
                let bits = 8 * data.len();
                key.apply(kasumi::COUNT, kasumi::BEARER, kasumi::DIRECTION, data, bits).is_ok()
            })
        }
        Algorithm::KasumiF9 => {
            let key = F9::new(features, key)?;
            tag(key.kernel(), move |data| {
                let bits = 8 * data.len();
                // An empty tag is a wrong one, so a failure shows in the comparison.
                let mac = key.mac(kasumi::COUNT, kasumi::FRESH, kasumi::DIRECTION, data, bits);
                mac.unwrap_or_default()
            })
        }
        Algorithm::Random => random(features),
        Algorithm::Crc32 => crc(Crc32::new(features)),
        Algorithm::Crc32c => crc(Crc32c::new(features)),
        Algorithm::IpChecksum => {
            let fresh = IpChecksum::new(features);
            tag(fresh.kernel(), move |data| {
                let mut sum = fresh.clone();
                sum.update(data);
                sum.value().to_be_bytes()
            })
        }
    })
}

/// Makes a runner that fills the output with random bytes, and seeds its generator anew as often as that asks for it.
fn random(features: Features) -> Prepared {
    let mut generator = Generator::new(features, &seed());
    let kernel = format!("AES-256-CTR {}, keys erased", aes::CTR.best(features).kernel().name);
    Prepared::each(kernel, move |io| {
        if generator.wants_seed() {
            generator.reseed(&seed());
        }
        generator.fill(io.result).is_ok()
    })
}

/// Returns a seed from the kernel.
pub fn seed() -> Zeroizing<[u8; 32]> {
    let mut seed = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *seed).expect("Linux has given random bytes since 3.17");
    seed
}

fn cipher(features: Features, case: &Case, cipher: Cipher, key: &[u8]) -> Result<Prepared, EngineError> {
    let way = case.direction;
    Ok(match (cipher.family(), cipher.mode()) {
        (Family::Aes, Mode::Ecb) => blocks(aes::Ecb::new(features, key)?, aes::Ecb::kernel, way),
        (Family::Aes, Mode::Cbc) => blocks(aes::Cbc::new(features, key)?, aes::Cbc::kernel, way),
        (Family::Aes, Mode::Ctr) => {
            let key = aes::Ctr::new(features, key)?;
            pass(key.kernel(), move |iv, data| {
                key.apply(iv, data);
                true
            })
        }
        (Family::Aes, Mode::Cfb) => {
            let key = aes::Cfb::new(features, key)?;
            let run = if case.decrypts() { aes::Cfb::decrypt } else { aes::Cfb::encrypt };
            pass(key.kernel(), move |iv, data| {
                run(&key, iv, data);
                true
            })
        }
        (Family::Aes, Mode::Xts) => {
            let key = aes::Xts::new(features, key)?;
            let run = if case.decrypts() { aes::Xts::decrypt } else { aes::Xts::encrypt };
            pass(key.kernel(), move |tweak, data| run(&key, tweak, data).is_ok())
        }
        (Family::Aes, _) => aead(Gcm::new(features, key)?, Gcm::kernel, case),
        (Family::ChaCha20Poly1305, _) => {
            aead(ChaCha20Poly1305::new(features, key)?, ChaCha20Poly1305::kernel, case)
        }
        (Family::Camellia, Mode::Ecb) => {
            blocks(camellia::Ecb::new(features, key)?, camellia::Ecb::kernel, way)
        }
        (Family::Camellia, Mode::Cbc) => {
            blocks(camellia::Cbc::new(features, key)?, camellia::Cbc::kernel, way)
        }
        (Family::Camellia, _) => stream(camellia::Ctr::new(features, key)?, camellia::Ctr::kernel, way),
        (Family::Sm4, Mode::Ecb) => blocks(sm4::Ecb::new(features, key)?, sm4::Ecb::kernel, way),
        (Family::Sm4, Mode::Cbc) => blocks(sm4::Cbc::new(features, key)?, sm4::Cbc::kernel, way),
        (Family::Sm4, _) => stream(sm4::Ctr::new(features, key)?, sm4::Ctr::kernel, way),
        (Family::Des | Family::TripleDes, Mode::Ecb) => {
            blocks(des::Ecb::new(features, key)?, des::Ecb::kernel, way)
        }
        (Family::Des | Family::TripleDes, Mode::Cbc) => {
            blocks(des::Cbc::new(features, key)?, des::Cbc::kernel, way)
        }
        (Family::Des | Family::TripleDes, _) => stream(des::Cfb::new(features, key)?, des::Cfb::kernel, way),
        (Family::Rc4, _) => {
            let fresh = Rc4::new(features, key)?;
            pass(fresh.kernel(), move |_, data| {
                fresh.clone().apply(data);
                true
            })
        }
    })
}

/// Makes a runner from input to output of the same length.
fn pass(kernel: &Kernel, mut run: impl FnMut(&[u8; 16], InOut<'_>) -> bool + 'static) -> Prepared {
    Prepared::each(kernel.name, move |io| match InOut::separate(io.input, io.result) {
        Ok(data) => run(io.iv, data),
        Err(_) => false,
    })
}

fn blocks<M: BlockMode + 'static>(mode: M, kernel: fn(&M) -> &'static Kernel, way: Direction) -> Prepared {
    pass(kernel(&mode), move |iv, data| {
        let mut chain = *iv;
        mode.pass(way, &mut chain[..M::IV], data);
        true
    })
}

fn stream<M: StreamMode + 'static>(mode: M, kernel: fn(&M) -> &'static Kernel, way: Direction) -> Prepared {
    pass(kernel(&mode), move |iv, data| match ByteStream::new(&mode, &iv[..M::BLOCK], way) {
        Ok(mut stream) => {
            stream.update(data);
            true
        }
        Err(_) => false,
    })
}

fn aead<A: Aead + 'static>(key: A, kernel: fn(&A) -> &'static Kernel, case: &Case) -> Prepared {
    let name = kernel(&key).name;
    if case.decrypts() {
        return Prepared::each(name, move |io| {
            let Some((data, tag)) = io.input.split_last_chunk() else { return false };
            InOut::separate(data, io.result).and_then(|data| key.open(&io.iv[..12], &AAD, data, tag)).is_ok()
        });
    }
    Prepared::each(name, move |io| {
        let Some((data, tag)) = io.result.split_last_chunk_mut() else { return false };
        InOut::separate(io.input, data).and_then(|data| key.seal(&io.iv[..12], &AAD, data, tag)).is_ok()
    })
}

/// Encrypts and then authenticates the ciphertext, or verifies it and then decrypts.
fn chained<M: BlockMode + 'static>(
    mode: M,
    kernel: fn(&M) -> &'static Kernel,
    mac: HmacKey,
    case: &Case,
) -> Prepared {
    let name = format!("{} + {}", kernel(&mode).name, mac.kernel().name);
    let (way, tag_bytes) = (case.direction, case.algorithm.tag_bytes());
    Prepared::each(name, move |io: Io<'_>| {
        let mut chain = *io.iv;
        if way == Direction::Decrypt {
            let (data, tag) = io.input.split_at(io.result.len());
            if mac.verify(data, tag).is_err() {
                return false;
            }
            return match InOut::separate(data, io.result) {
                Ok(data) => {
                    mode.decrypt(&mut chain[..M::IV], data);
                    true
                }
                Err(_) => false,
            };
        }
        let (data, tag) = io.result.split_at_mut(io.input.len());
        let Ok(pass) = InOut::separate(io.input, data) else { return false };
        mode.encrypt(&mut chain[..M::IV], pass);
        tag.copy_from_slice(&mac.sign(data)[..tag_bytes]);
        true
    })
}

fn digest(features: Features, hash: Hash) -> Prepared {
    let kernel = HashKernel::best(features, hash);
    tag(kernel.kernel(), move |data| kernel.digest(data))
}

fn crc<P: Polynomial>(fresh: Crc<P>) -> Prepared
where
    Crc<P>: Clone,
{
    tag(fresh.kernel(), move |data| {
        let mut crc = fresh.clone();
        crc.update(data);
        crc.value().to_be_bytes()
    })
}

/// Makes a runner from input to a tag, digest or checksum.
fn tag<T: AsRef<[u8]>>(kernel: &Kernel, mut run: impl FnMut(&[u8]) -> T + 'static) -> Prepared {
    Prepared::each(kernel.name, move |io| {
        let tag = run(io.input);
        io.result.copy_from_slice(tag.as_ref());
        true
    })
}
