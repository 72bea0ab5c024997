//! crypto_mb of Intel's cryptography primitives, which does eight operations in a call. The library is loaded at run time from the
//! file that `CRYPTO_MB` names; no distribution has it, so there is no other place to look.
//!
//! Doubts are decided in the peer's favour: it is given nonces and padded messages, which ours derives and makes each time, and it does not
//! verify a signature of RSA before it hands it out.
//!
//! # Safety
//! The types are those of the headers `crypto_mb/*.h` of version 1.1. Every pointer of an array is to one of eight objects as long as the
//! header says, which a row's closure owns.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int};
use std::ptr::null_mut;

use millstream::Features;
use millstream::hash::{Hash, HashKernel};
use millstream::publickey::ecdsa::{self, Curve};

use super::Row;
use super::cases::{Algorithm, Case, MESSAGE, Material, Operation, numbers};
use super::ours::MANY;
use crate::peers::dl::Library;

pub const NAME: &str = "crypto_mb";
const VARIABLE: &str = "CRYPTO_MB";

type Ins = [*const u8; MANY];
type Outs = [*mut u8; MANY];
/// A status has four bits for each operation. Zero is success.
type Status = u32;

/// The result of `mbx_getversion`.
#[repr(C)]
struct Version {
    numbers: [c_int; 3],
    target: [c_char; 4],
    name: *const c_char,
    date: *const c_char,
    text: *const c_char,
}

/// The library.
pub struct CryptoMb {
    library: Library,
}

impl CryptoMb {
    /// Loads the library.
    ///
    /// # Errors
    /// Says why it is not there.
    pub fn load() -> Result<CryptoMb, String> {
        let path = std::env::var(VARIABLE)
            .map_err(|_| format!("{NAME}: {VARIABLE} does not name a libcrypto_mb.so (BENCHMARKING.md)"))?;
        let library = Library::open(&path).map_err(|why| format!("{NAME}: {why}"))?;
        if !(is_x86_feature("avx512ifma")) {
            return Err(format!("{NAME}: this processor has no AVX512-IFMA"));
        }
        Ok(CryptoMb { library })
    }

    pub fn version(&self) -> String {
        let version: unsafe extern "C" fn() -> *const Version = self.function("mbx_getversion");
        // SAFETY: the structure and its texts are static.
        unsafe { CStr::from_ptr((*version()).text) }.to_string_lossy().into_owned()
    }

    /// Returns a function of the library.
    fn function<F: Copy>(&self, name: &str) -> F {
        // SAFETY: the callers name types of the headers.
        unsafe { self.library.symbol(name) }.unwrap_or_else(|why| panic!("{NAME}: {why}"))
    }

    /// Returns the row of a case; none if the library does not have the algorithm.
    pub fn row(&self, features: Features, case: &Case, material: &Material) -> Option<Row> {
        match (case.algorithm, case.operation) {
            (Algorithm::X25519, _) => Some(self.x25519(features, material)),
            (Algorithm::Ed25519, operation) => Some(self.ed25519(features, operation, material)),
            (Algorithm::Ec(curve @ (Curve::P256 | Curve::P384)), Operation::Agree) => {
                Some(self.agree(features, curve, material))
            }
            (Algorithm::Ec(curve @ (Curve::P256 | Curve::P384)), Operation::Sign) => {
                Some(self.sign(features, curve, material))
            }
            (Algorithm::Ec(curve @ (Curve::P256 | Curve::P384)), Operation::Verify) => {
                Some(self.verify(features, curve, material))
            }
            (Algorithm::Ec(_) | Algorithm::MlKem(_) | Algorithm::MlDsa(_) | Algorithm::SlhDsa(_), _) => None,
            (Algorithm::Rsa(bits), Operation::Verify) => self.rsa_public(features, bits, material),
            (Algorithm::Rsa(bits), _) => self.rsa_private(features, bits, material),
        }
    }

    fn x25519(&self, features: Features, material: &Material) -> Row {
        type Agree = unsafe extern "C" fn(*const Outs, *const Ins, *const Ins) -> Status;
        let agree: Agree = self.function("mbx_x25519_mb8");
        let peer = millstream::publickey::x25519::PrivateKey::new(features, &material.peer).expect("a key");
        let (private, public) = (eight(&material.private), eight(peer.public_key().as_bytes()));
        Row::new(NAME, "mbx_x25519_mb8", MANY, move |out| {
            out.resize(MANY * 32, 0);
            // SAFETY: see the top.
            ok(unsafe { agree(&outs(out), &ins(&private), &ins(&public)) });
        })
    }

    fn ed25519(&self, features: Features, operation: Operation, material: &Material) -> Row {
        type Sign = unsafe extern "C" fn(
            *const Outs,
            *const Outs,
            *const Ins,
            *const [u32; MANY],
            *const Ins,
            *const Ins,
        ) -> Status;
        type Verify = unsafe extern "C" fn(
            *const Ins,
            *const Ins,
            *const Ins,
            *const [u32; MANY],
            *const Ins,
        ) -> Status;
        let key =
            millstream::publickey::ed25519::PrivateKey::new(features, &material.private).expect("a key");
        let public = eight(key.public_key().as_bytes());
        let messages = eight(MESSAGE);
        let lens = [MESSAGE.len() as u32; MANY];
        if operation == Operation::Sign {
            let sign: Sign = self.function("mbx_ed25519_sign_mb8");
            let private = eight(&material.private);
            return Row::new(NAME, "mbx_ed25519_sign_mb8", MANY, move |out| {
                out.resize(MANY * 64, 0);
                let (r, s) = halves(out);
                // SAFETY: see the top.
                ok(unsafe { sign(&r, &s, &ins(&messages), &lens, &ins(&private), &ins(&public)) });
            });
        }
        let verify: Verify = self.function("mbx_ed25519_verify_mb8");
        let [r, s] = [0, 1].map(|half| eight(&material.signature[32 * half..][..32]));
        Row::new(NAME, "mbx_ed25519_verify_mb8", MANY, move |out| {
            // SAFETY: see the top.
            let status = unsafe { verify(&ins(&r), &ins(&s), &ins(&messages), &lens, &ins(&public)) };
            verdicts(status, out);
        })
    }

    fn agree(&self, features: Features, curve: Curve, material: &Material) -> Row {
        type Agree = unsafe extern "C" fn(
            *const Outs,
            *const Ins,
            *const Ins,
            *const Ins,
            *const Ins,
            *mut u8,
        ) -> Status;
        let agree: Agree = self.function(&format!("mbx_nistp{}_ecdh_mb8", curve.bits()));
        let private = eight(&reversed(&material.private));
        let [x, y] = coordinates(features, curve, &material.peer);
        Row::new(NAME, "mbx_nistp_ecdh_mb8", MANY, move |out| {
            out.resize(MANY * curve.bytes(), 0);
            let (x, y) = (ins(&x), ins(&y));
            // SAFETY: see the top; null is no scratch buffer, and no third coordinate.
            ok(unsafe { agree(&outs(out), &ins(&private), &x, &y, null_mut(), null_mut()) });
        })
    }

    fn sign(&self, features: Features, curve: Curve, material: &Material) -> Row {
        type Sign = unsafe extern "C" fn(
            *const Outs,
            *const Outs,
            *const Ins,
            *const Ins,
            *const Ins,
            *mut u8,
        ) -> Status;
        let sign: Sign = self.function(&format!("mbx_nistp{}_ecdsa_sign_mb8", curve.bits()));
        let (private, nonce) = (eight(&reversed(&material.private)), eight(&reversed(&material.peer)));
        let hash = HashKernel::best(features, Hash::Sha256);
        Row::new(NAME, "mbx_nistp_ecdsa_sign_mb8", MANY, move |out| {
            out.resize(MANY * 2 * curve.bytes(), 0);
            let digests: [_; MANY] = std::array::from_fn(|_| digest(hash, curve));
            let (r, s) = halves(out);
            let messages = digests.each_ref().map(|digest| digest.as_ptr());
            // SAFETY: see the top; null is no scratch buffer.
            ok(unsafe { sign(&r, &s, &messages, &ins(&nonce), &ins(&private), null_mut()) });
        })
    }

    fn verify(&self, features: Features, curve: Curve, material: &Material) -> Row {
        type Verify = unsafe extern "C" fn(
            *const Ins,
            *const Ins,
            *const Ins,
            *const Ins,
            *const Ins,
            *const Ins,
            *mut u8,
        ) -> Status;
        let verify: Verify = self.function(&format!("mbx_nistp{}_ecdsa_verify_mb8", curve.bits()));
        let len = curve.bytes();
        let [r, s] = [0, 1].map(|half| eight(&material.signature[len * half..][..len]));
        let [x, y] = coordinates(features, curve, &material.private);
        let hash = HashKernel::best(features, Hash::Sha256);
        Row::new(NAME, "mbx_nistp_ecdsa_verify_mb8", MANY, move |out| {
            let digests: [_; MANY] = std::array::from_fn(|_| digest(hash, curve));
            let messages = digests.each_ref().map(|digest| digest.as_ptr());
            let (r, s, x, y) = (ins(&r), ins(&s), ins(&x), ins(&y));
            // SAFETY: see the top; null is no scratch buffer, and no third coordinate.
            let status = unsafe { verify(&r, &s, &messages, &x, &y, null_mut(), null_mut()) };
            verdicts(status, out);
        })
    }

    fn rsa_private(&self, features: Features, bits: usize, material: &Material) -> Option<Row> {
        type Power = unsafe extern "C" fn(
            *const Ins,
            *const Outs,
            *const Ins,
            *const Ins,
            *const Ins,
            *const Ins,
            *const Ins,
            c_int,
            Method,
            *mut u8,
        ) -> Status;
        let power: Power = self.function("mbx_rsa_private_crt_mb8");
        let (method, mut scratch) = self.method("mbx_RSA_private_crt_Method", bits);
        let numbers = numbers(&material.private)?;
        // RFC 8017 §A.1.2: p, q, both exponents, and the inverse of q follow n, e and d.
        let of_key: [_; 5] = std::array::from_fn(|i| eight(&limbs(&numbers[4 + i], bits / 16)));
        let block = eight(&encoded(features, bits, material)?);
        Some(Row::new(NAME, "mbx_rsa_private_crt_mb8", MANY, move |out| {
            out.resize(MANY * bits / 8, 0);
            let [p, q, dp, dq, inverse] = of_key.each_ref().map(ins);
            let (from, to, bits) = (ins(&block), outs(out), bits as c_int);
            // SAFETY: see the top; the buffer is as long as the method asks.
            ok(unsafe { power(&from, &to, &p, &q, &dp, &dq, &inverse, bits, method, scratch.as_mut_ptr()) });
        }))
    }

    fn rsa_public(&self, features: Features, bits: usize, material: &Material) -> Option<Row> {
        type Power =
            unsafe extern "C" fn(*const Ins, *const Outs, *const Ins, c_int, Method, *mut u8) -> Status;
        let power: Power = self.function("mbx_rsa_public_mb8");
        let (method, mut scratch) = self.method("mbx_RSA_pub65537_Method", bits);
        let numbers = numbers(&material.private)?;
        let modulus = eight(&limbs(&numbers[1], bits / 8));
        let (expected, signature) = (encoded(features, bits, material)?, eight(&material.signature));
        let mut powers = vec![0; MANY * bits / 8];
        Some(Row::new(NAME, "mbx_rsa_public_mb8", MANY, move |out| {
            let (from, to, n) = (ins(&signature), outs(&mut powers), ins(&modulus));
            // SAFETY: see the top; the buffer is as long as the method asks.
            ok(unsafe { power(&from, &to, &n, bits as c_int, method, scratch.as_mut_ptr()) });
            out.extend(powers.chunks(bits / 8).map(|power| u8::from(power == expected)));
        }))
    }

    /// Returns a method of RSA, and the scratch buffer for it.
    fn method(&self, name: &str, bits: usize) -> (Method, Vec<u8>) {
        let find: unsafe extern "C" fn(c_int) -> Method = self.function(name);
        let room: unsafe extern "C" fn(Method) -> c_int = self.function("mbx_RSA_Method_BufSize");
        // SAFETY: see the top; methods are static.
        unsafe {
            let method = find(bits as c_int);
            assert!(!method.is_null(), "{NAME} has no RSA of {bits} bits");
            (method, vec![0; usize::try_from(room(method)).expect("a size")])
        }
    }
}

type Method = *const std::ffi::c_void;

fn is_x86_feature(name: &str) -> bool {
    Features::hardware().contains(millstream_cpu::FeatureSet::parse(name))
}

fn eight(bytes: &[u8]) -> [Vec<u8>; MANY] {
    std::array::from_fn(|_| bytes.to_vec())
}

fn ins(objects: &[Vec<u8>; MANY]) -> Ins {
    objects.each_ref().map(|object| object.as_ptr())
}

/// Returns the addresses of eight results, one behind the other.
fn outs(out: &mut [u8]) -> Outs {
    let mut results = out.chunks_exact_mut(out.len() / MANY);
    std::array::from_fn(|_| results.next().expect("eight results").as_mut_ptr())
}

/// Returns the addresses of both halves of eight results.
fn halves(out: &mut [u8]) -> (Outs, Outs) {
    let len = out.len() / MANY / 2;
    let first = outs(out);
    // SAFETY: the second half begins in the middle of each result.
    (first, first.map(|result| unsafe { result.add(len) }))
}

/// Numbers are little-endian there.
fn reversed(bytes: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = bytes.iter().rev().copied().collect();
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

/// The same in so many bytes.
fn limbs(number: &[u8], len: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = number.iter().rev().copied().collect();
    bytes.resize(len.next_multiple_of(8), 0);
    bytes
}

fn coordinates(features: Features, curve: Curve, private: &[u8]) -> [[Vec<u8>; MANY]; 2] {
    let key = ecdsa::PrivateKey::new(features, curve, private).expect("a key");
    let (point, len) = (key.public().to_bytes(), curve.bytes());
    [0, 1].map(|i| eight(&reversed(&point[1 + i * len..][..len])))
}

/// A digest as a number of a curve, big-endian.
fn digest(hash: HashKernel, curve: Curve) -> Vec<u8> {
    let digest = hash.digest(MESSAGE);
    let mut number = vec![0; curve.bytes() - digest.len()];
    number.extend_from_slice(&digest);
    number
}

/// The block that a signature of RSA is the power of.
fn encoded(features: Features, bits: usize, material: &Material) -> Option<Vec<u8>> {
    let key = super::ours::rsa_key(features, &material.private).ok()?;
    let (mut signature, mut block) = (vec![0; bits / 8], vec![0; bits / 8]);
    key.sign_pkcs1(Hash::Sha256, MESSAGE, &mut signature).ok()?;
    key.public_key().raw(&signature, &mut block).ok()?;
    Some(block)
}

fn ok(status: Status) {
    assert_eq!(status, 0, "{NAME} refused what it is documented to take");
}

fn verdicts(status: Status, out: &mut Vec<u8>) {
    out.extend((0..MANY).map(|lane| u8::from(status >> (4 * lane) & 0xf == 0)));
}
