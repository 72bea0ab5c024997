//! One thing to compute, with its answer: as an operation, or as a control word.

use std::sync::Mutex;

use millstream_accelerator::{
    Checksum, DecryptionScheme, Key, Operation, SignatureScheme, Unit, VerifyingKey, hash_of, is_long_result,
    slh_dsa_set, status_of,
};
use millstream_cpu::Features;
use millstream_cwq::{Algorithm, ControlWord, Opcode, Status, Usages};
use millstream_engines::aead::Aead;
use millstream_engines::aes::Cbc;
use millstream_engines::crc::{Crc32, Crc32c};
use millstream_engines::ff1::{Ff1Lanes, KeyedFf1Job};
use millstream_engines::hash::{Hash, Hasher};
use millstream_engines::hmac::HmacKey;
use millstream_engines::ipsum::IpChecksum;
use millstream_engines::keywrap::{Form, KeyWrap};
use millstream_engines::modes::{BlockMode, ByteStream, Direction};
use millstream_engines::{Error, InOut, des};
use millstream_publickey::rsa::MAX_PUBLIC_DER;
use millstream_publickey::{ecdsa, mldsa, mlkem, rsa, slhdsa, x25519};
use millstream_testkit::{Random, keys};

/// Bytes of the room for a mid-state, or for the long result of a key pair, but for signatures of SLH-DSA.
pub const STATE: usize = 5000;
const _: () = assert!(STATE > mldsa::MAX_SIGNATURE && STATE > ControlWord::STATE_BYTES as usize);

/// The value of bytes that nobody has written.
pub const UNTOUCHED: u8 = 0xa5;

/// The features of the last [`set_features`].
static FEATURES: Mutex<Option<Features>> = Mutex::new(None);

/// Returns the processor's features, or fewer; none under Miri, for the portable kernels.
pub fn features() -> Features {
    let usual = if cfg!(miri) { Features::none() } else { Features::hardware() };
    FEATURES.lock().expect("nobody panics with it").unwrap_or(usual)
}

/// Limits the tests that follow to these features.
#[allow(dead_code)]
pub fn set_features(features: Features) {
    *FEATURES.lock().expect("nobody panics with it") = Some(features);
}

/// Fills bytes as the source of random ones of all units here: any order of operations gives the same then.
pub fn not_so_random(bytes: &mut [u8]) -> Result<(), millstream_publickey::Error> {
    let len = bytes.len();
    bytes.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at * 151 + len * 7 + 3) as u8);
    Ok(())
}

/// Returns a unit with such a source.
#[allow(dead_code)]
pub fn unit() -> Unit {
    let mut unit = Unit::new(features());
    unit.set_random(not_so_random);
    unit
}

/// An operation's inputs, and the outputs that must come of them.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub opcode: Opcode,
    pub algorithm: Algorithm,
    pub hash: Algorithm,
    pub reverse: bool,
    pub key: Vec<u8>,
    pub mac_key: Vec<u8>,
    pub iv: Vec<u8>,
    /// Associated data, the mid-state before, a signature, or a label.
    pub aad: Vec<u8>,
    /// Bytes in front that a combined operation does not encrypt.
    pub clear: usize,
    pub source: Vec<u8>,
    pub parameter: u32,
    pub first: bool,
    pub last: bool,
    /// The digest or tag: to compute, or in reverse to compare with.
    pub mac: Vec<u8>,
    /// The destination, after success.
    pub output: Vec<u8>,
    /// The mid-state after, or the result of RSA.
    pub state: Vec<u8>,
    /// The checksum.
    pub value: u32,
    pub status: Status,
}

impl Case {
    pub fn new(name: impl Into<String>, opcode: Opcode) -> Self {
        Case {
            name: name.into(),
            opcode,
            algorithm: Algorithm::None,
            hash: Algorithm::None,
            reverse: opcode == Opcode::MacThenDecrypt,
            key: vec![],
            mac_key: vec![],
            iv: vec![],
            aad: vec![],
            clear: 0,
            source: vec![],
            parameter: 0,
            first: false,
            last: false,
            mac: vec![],
            output: vec![],
            state: vec![],
            value: 0,
            status: Status::Ok,
        }
    }

    /// A cipher in one direction.
    pub fn cipher(name: &str, algorithm: Algorithm, decrypt: bool, key: Vec<u8>, iv: Vec<u8>) -> Self {
        Case { algorithm, reverse: decrypt, key, iv, ..Case::new(name, Opcode::Cipher) }
    }

    pub fn from(self, source: Vec<u8>, output: Vec<u8>) -> Self {
        Case { source, output, ..self }
    }

    pub fn has_key(&self) -> bool {
        use Opcode::*;
        matches!(
            self.opcode,
            Cipher
                | Aead
                | Hmac
                | Mac
                | EncryptThenMac
                | MacThenDecrypt
                | Sign
                | Agree
                | PublicKey
                | Decrypt
                | Decapsulate
        )
    }

    /// Returns true for an operation whose public key comes with its word.
    pub fn brings_public_key(&self) -> bool {
        matches!(self.opcode, Opcode::Verify | Opcode::Encapsulate)
    }

    /// Returns true for an operation whose result goes to the destination.
    pub fn is_long(&self) -> bool {
        is_long_result(self.algorithm, self.opcode)
    }

    /// Returns the bytes of the room for the mid-state or the long result, which are more than that has.
    pub fn room(&self) -> usize {
        slh_dsa_set(self.algorithm).map_or(STATE, |set| set.signature_len() + 9)
    }

    /// Returns true for a signature within a context.
    fn signs_within(&self) -> bool {
        mldsa_set(self.algorithm).is_some() || slh_dsa_set(self.algorithm).is_some()
    }

    /// The scheme of a signature.
    pub fn scheme(&self) -> SignatureScheme {
        let hash = || self.hash();
        if self.signs_within() {
            let scheme = SignatureScheme::of_word(self.algorithm, self.hash, self.parameter);
            return scheme.expect("a scheme of ML-DSA or SLH-DSA");
        }
        match (self.algorithm, self.parameter & 0xff) {
            (Algorithm::Ed25519, _) => SignatureScheme::Ed25519,
            (Algorithm::Rsa, 0) => SignatureScheme::RsaRaw,
            (Algorithm::Rsa, 1) => SignatureScheme::RsaPkcs1 { hash: hash_of(self.hash) },
            (Algorithm::Rsa, _) => SignatureScheme::RsaPss {
                hash: hash(),
                mgf_hash: self.mask(),
                salt_len: (self.parameter >> 16) as u16,
            },
            (_, deterministic) => SignatureScheme::Ecdsa { hash: hash(), deterministic: deterministic == 1 },
        }
    }

    /// The scheme of a decryption.
    pub fn decryption(&self) -> DecryptionScheme<'_> {
        match self.parameter & 0xff {
            0 => DecryptionScheme::RsaRaw,
            1 => DecryptionScheme::RsaPkcs1,
            _ => DecryptionScheme::RsaOaep { hash: self.hash(), mgf_hash: self.mask(), label: &self.aad },
        }
    }

    fn mask(&self) -> Hash {
        Algorithm::from_code((self.parameter >> 8) as u8).and_then(hash_of).expect("a hash")
    }

    pub fn is_chained(&self) -> bool {
        matches!(self.opcode, Opcode::EncryptThenMac | Opcode::MacThenDecrypt)
    }

    pub fn has_destination(&self) -> bool {
        use Opcode::*;
        matches!(self.opcode, Copy | CopyChecksum | Cipher | Aead | EncryptThenMac | MacThenDecrypt | Random)
    }

    /// The algorithm of its first key.
    pub fn key_algorithm(&self) -> Algorithm {
        if self.opcode == Opcode::Hmac { self.hash } else { self.algorithm }
    }

    /// Returns true when a control word can express the case: the length of its initialisation vector has 8 bits.
    pub fn fits_a_word(&self) -> bool {
        self.iv.len() <= 255
    }

    /// Returns the value that the completion must have.
    pub fn completion_value(&self) -> u32 {
        match self.opcode {
            Opcode::Checksum | Opcode::CopyChecksum => self.value,
            Opcode::Aead if self.status == Status::Ok && self.reverse => self.value,
            Opcode::PartialHash if !self.last => self.state.len() as u32,
            _ if self.is_long() && self.status == Status::Ok => self.state.len() as u32,
            _ if self.status != Status::Ok || self.reverse => 0,
            _ => self.mac.len() as u32,
        }
    }

    pub fn hash(&self) -> Hash {
        hash_of(self.hash).expect("a hash")
    }

    pub fn checksum(&self) -> Checksum {
        match self.algorithm {
            Algorithm::Crc32 => Checksum::Crc32,
            Algorithm::Crc32c => Checksum::Crc32c,
            _ => Checksum::Ip,
        }
    }

    /// Returns the bytes that must lie at the destination, if that was untouched before.
    pub fn expected_output(&self) -> Vec<u8> {
        match self.status {
            _ if !self.has_destination() => vec![],
            Status::Ok => self.output.clone(),
            Status::Authentication => vec![0; self.source.len()],
            _ => vec![UNTOUCHED; self.source.len()],
        }
    }
}

/// Returns the parameter set of an algorithm, if it is ML-DSA.
pub fn mldsa_set(algorithm: Algorithm) -> Option<mldsa::Set> {
    mldsa::Set::ALL.into_iter().find(|set| set.name() == algorithm.name())
}

/// Returns the parameter set of an algorithm, if it is ML-KEM.
pub fn mlkem_set(algorithm: Algorithm) -> Option<mlkem::Set> {
    mlkem::Set::ALL.into_iter().find(|set| set.name() == algorithm.name())
}

/// The keys of a case, expanded.
pub struct Keys {
    pub recipient: Option<mlkem::PublicKey>,
    pub verifying: Option<VerifyingKey>,
    pub key: Option<Key>,
    pub mac_key: Option<Key>,
}

impl Keys {
    pub fn of(features: Features, case: &Case) -> Result<Self, Error> {
        let refusal =
            |_| Error::KeyLength { algorithm: "ml-kem", given: case.key.len(), takes: "a public key" };
        Ok(Keys {
            recipient: match mlkem_set(case.algorithm) {
                Some(set) if case.opcode == Opcode::Encapsulate => {
                    Some(mlkem::PublicKey::new(features, set, &case.key).map_err(refusal)?)
                }
                _ => None,
            },
            verifying: match case.opcode {
                Opcode::Verify => Some(VerifyingKey::new(features, case.algorithm, &case.key)?),
                _ => None,
            },
            key: if case.has_key() {
                Some(Key::new(features, case.key_algorithm(), &case.key)?)
            } else {
                None
            },
            mac_key: if case.is_chained() {
                Some(Key::new(features, case.hash, &case.mac_key)?)
            } else {
                None
            },
        })
    }

    fn key(&self) -> &Key {
        self.key.as_ref().expect("a key")
    }
}

/// The buffers that an operation writes to.
pub struct Room {
    pub in_place: bool,
    pub output: Vec<u8>,
    pub state: Vec<u8>,
}

impl Room {
    pub fn of(case: &Case, in_place: bool) -> Self {
        let in_place =
            in_place && !matches!(case.opcode, Opcode::Copy | Opcode::CopyChecksum | Opcode::Random);
        let output =
            if in_place { case.source.clone() } else { vec![UNTOUCHED; case.expected_output().len()] };
        Room { in_place, output, state: vec![UNTOUCHED; case.room()] }
    }
}

/// The case as an operation.
pub fn operation<'a>(case: &'a Case, keys: &'a Keys, room: &'a mut Room) -> Operation<'a> {
    let Room { in_place, output, state } = room;
    let source = case.source.as_slice();
    if matches!(case.opcode, Opcode::Copy) {
        return Operation::copy(source, output);
    }
    if matches!(case.opcode, Opcode::Random) {
        return Operation::random(output);
    }
    if matches!(case.opcode, Opcode::CopyChecksum) {
        return Operation::copy_checksum(case.checksum(), source, output);
    }
    let mut output = Some(output.as_mut_slice());
    let mut data = || {
        let output = output.take().expect("taken once");
        if *in_place { InOut::in_place(output) } else { InOut::separate(source, output).expect("as long") }
    };
    let bits = (8 * source.len()).wrapping_sub((case.parameter & 7) as usize);
    let number = |at: usize| u32::from_be_bytes(case.iv[at..at + 4].try_into().expect("four bytes"));
    match case.opcode {
        Opcode::Checksum => Operation::checksum(case.checksum(), source),
        Opcode::Cipher => match keys.key() {
            Key::KasumiF8(key) if case.parameter != 0 => {
                let start = case.iv[..].try_into().expect("eight bytes");
                Operation::kasumi_f8_iv(key, start, data(), bits)
            }
            Key::AesFf1(key) if case.reverse => {
                Operation::decrypt_digits(key, case.parameter, &case.iv, data())
            }
            Key::AesFf1(key) => Operation::encrypt_digits(key, case.parameter, &case.iv, data()),
            key if case.reverse => Operation::decrypt(key.as_cipher().expect("a cipher's"), &case.iv, data()),
            key => Operation::encrypt(key.as_cipher().expect("a cipher's"), &case.iv, data()),
        },
        Opcode::Aead => {
            let key = keys.key().as_aead().expect("an AEAD's");
            match case.reverse {
                false => Operation::seal(key, &case.iv, &case.aad, data()),
                true => Operation::open_cut(key, &case.iv, &case.aad, data(), &case.mac, case.mac.len()),
            }
        }
        Opcode::Hash => Operation::digest(case.hash(), source),
        Opcode::PartialHash => {
            let before = (!case.first).then_some(case.aad.as_slice());
            match case.last {
                true => Operation::last_hash(case.hash(), before, source),
                false => Operation::partial_hash(case.hash(), before, source, state),
            }
        }
        Opcode::Hmac | Opcode::Mac => match keys.key() {
            Key::KasumiF9(key) => {
                let direction = (case.parameter >> 8) as u8;
                let (count, fresh) = (number(0), number(4));
                match case.reverse {
                    false => Operation::kasumi_f9(key, count, fresh, direction, source, bits),
                    true => {
                        let code = case.mac.as_slice().try_into().expect("four bytes");
                        Operation::verify_kasumi_f9(key, count, fresh, direction, source, bits, code)
                    }
                }
            }
            key if case.reverse => Operation::verify(key.as_mac().expect("a MAC's"), source, &case.mac),
            key => Operation::mac(key.as_mac().expect("a MAC's"), source),
        },
        Opcode::EncryptThenMac | Opcode::MacThenDecrypt => {
            let cipher = keys.key().as_cipher().expect("a cipher's");
            let Some(Key::Hmac(mac)) = &keys.mac_key else { panic!("an HMAC key") };
            match case.reverse {
                false => Operation::encrypt_then_mac(cipher, &case.iv, mac, case.clear, data()),
                true => Operation::mac_then_decrypt(cipher, &case.iv, mac, case.clear, data(), &case.mac),
            }
        }
        Opcode::Sign => match (keys.key(), case.scheme()) {
            (Key::Ed25519(key), _) => Operation::sign(key, source),
            (Key::Curve(key), SignatureScheme::Ecdsa { hash, deterministic }) => {
                Operation::sign_ecdsa(key, hash, deterministic, source)
            }
            (Key::Rsa(key), scheme) => Operation::sign_rsa(key, scheme, source, state),
            (Key::MlDsa(key), scheme) => Operation::sign_ml_dsa(key, scheme, &case.iv, source, state),
            (Key::SlhDsa(key), scheme) => Operation::sign_slh_dsa(key, scheme, &case.iv, source, state),
            (key, _) => panic!("not one to sign with: {key:?}"),
        },
        Opcode::Verify => {
            let key = keys.verifying.as_ref().expect("a public key");
            Operation::verify_in_context(key, case.scheme(), &case.iv, source, &case.aad)
        }
        Opcode::Encapsulate => Operation::encapsulate(keys.recipient.as_ref().expect("a public key"), state),
        Opcode::Decapsulate => match keys.key() {
            Key::MlKem(key) => Operation::decapsulate(key, source),
            key => panic!("not one to decapsulate with: {key:?}"),
        },
        Opcode::Decrypt => match keys.key() {
            Key::Rsa(key) => Operation::decrypt_rsa(key, case.decryption(), source, state),
            key => panic!("not one to decrypt with: {key:?}"),
        },
        Opcode::Agree => match keys.key() {
            Key::X25519(key) => Operation::agree(key, source),
            Key::Curve(key) => Operation::agree_ecdh(key, source),
            key => panic!("not one to agree with: {key:?}"),
        },
        // The result is too long for a tag: see `is_long`.
        Opcode::PublicKey if case.algorithm == Algorithm::Rsa => Operation::null(),
        Opcode::PublicKey => Operation::public_key(keys.key().by_ref().as_private().expect("a private key")),
        _ => Operation::null(),
    }
}

/// The results of an operation, kept while its buffers are looked at.
pub struct Outcome {
    status: Status,
    tag: Vec<u8>,
    value: u32,
}

impl Outcome {
    pub fn of(operation: &Operation<'_>) -> Self {
        let status = operation.result().map_or_else(status_of, |()| Status::Ok);
        Outcome { status, tag: operation.tag().to_vec(), value: operation.value() }
    }

    pub fn check(&self, case: &Case, room: &Room) {
        assert_eq!(self.status, case.status, "{case:?}");
        let output = match case.status {
            Status::Ok => case.expected_output(),
            _ if room.in_place && case.has_destination() => case.source.clone(),
            _ => case.expected_output(),
        };
        if case.has_destination() {
            assert!(room.output == output, "output: {case:?}, in place: {}", room.in_place);
        }
        if case.status != Status::Ok {
            return assert!(self.tag.is_empty(), "no tag after a failure: {case:?}");
        }
        if case.opcode == Opcode::PublicKey && case.is_long() {
            // A public key on lattices is the tag here, and that of RSA is no operation.
            assert!(self.tag.is_empty() || self.tag == case.state, "public key: {case:?}");
        } else if !case.reverse {
            let whole = case.mac.len().max(self.tag.len() * usize::from(case.mac.is_empty()));
            assert_eq!(self.tag[..whole], case.mac, "tag: {case:?}");
        }
        if matches!(case.opcode, Opcode::Checksum | Opcode::CopyChecksum | Opcode::Aead) {
            assert_eq!(self.value, case.value, "{case:?}");
        }
        // A long public key has no place here.
        let long = case.is_long() && case.opcode != Opcode::PublicKey;
        if long || case.opcode == Opcode::PartialHash && !case.last {
            assert_eq!(self.value as usize, case.state.len());
            assert_eq!(room.state[..case.state.len()], case.state, "mid-state: {case:?}");
            assert!(room.state[case.state.len()..].iter().all(|byte| *byte == UNTOUCHED));
        }
    }
}

/// Computes one cipher directly.
pub fn direct_cipher(key: &Key, reverse: bool, iv: &[u8], parameter: u32, data: &mut [u8]) {
    let direction = if reverse { Direction::Decrypt } else { Direction::Encrypt };
    let mut iv = iv.to_vec();
    if let Key::AesFf1(key) = key {
        let mut job = KeyedFf1Job::new(key, parameter, &iv, InOut::in_place(data));
        if reverse {
            Ff1Lanes::new(features()).decrypt(&mut [&mut job]);
        } else {
            Ff1Lanes::new(features()).encrypt(&mut [&mut job]);
        }
        return job.result.expect("digits of the radix");
    }
    let bits = 8 * data.len() - (parameter & 7) as usize;
    let data = InOut::in_place(data);
    let first = |iv: &[u8]| -> [u8; 16] { iv.try_into().expect("16 bytes") };
    match key {
        Key::AesEcb(key) => key.pass(direction, &mut iv, data),
        Key::AesCbc(key) => key.pass(direction, &mut iv, data),
        Key::AesCtr(key) => key.apply(&first(&iv), data),
        Key::AesCfb(key) if reverse => key.decrypt(&first(&iv), data),
        Key::AesCfb(key) => key.encrypt(&first(&iv), data),
        Key::AesXts(key) if reverse => key.decrypt(&first(&iv), data).expect("a data unit"),
        Key::AesXts(key) => key.encrypt(&first(&iv), data).expect("a data unit"),
        Key::CamelliaEcb(key) => key.pass(direction, &mut iv, data),
        Key::CamelliaCbc(key) => key.pass(direction, &mut iv, data),
        Key::CamelliaCtr(key) => ByteStream::new(key, &iv, direction).expect("16 bytes").update(data),
        Key::Sm4Ecb(key) => key.pass(direction, &mut iv, data),
        Key::Sm4Cbc(key) => key.pass(direction, &mut iv, data),
        Key::Sm4Ctr(key) => ByteStream::new(key, &iv, direction).expect("16 bytes").update(data),
        Key::DesEcb(key) => key.pass(direction, &mut iv, data),
        Key::DesCbc(key) => key.pass(direction, &mut iv, data),
        Key::DesCfb(key) => ByteStream::new(&**key, &iv, direction).expect("8 bytes").update(data),
        Key::Rc4(key) => key.clone().apply(data),
        Key::KasumiF8(key) => {
            let start = u64::from_be_bytes(iv[..].try_into().expect("eight bytes"));
            key.apply_iv(start, data, bits).expect("as many bits");
        }
        _ => panic!("not a cipher's: {key:?}"),
    }
}

/// Fills in what a direct call of the engines answers. In reverse the source and tag are what the forward
/// operation gave for the source.
pub fn answer(case: &mut Case) {
    let features = features();
    let keys = Keys::of(features, case).expect("a good key");
    let number = |at: usize| u32::from_be_bytes(case.iv[at..at + 4].try_into().expect("four bytes"));
    case.output = case.source.clone();
    match case.opcode {
        Opcode::Checksum | Opcode::CopyChecksum => {
            case.value = match case.checksum() {
                Checksum::Crc32 => Crc32::of(features, &case.source),
                Checksum::Crc32c => Crc32c::of(features, &case.source),
                Checksum::Ip => u32::from(IpChecksum::of(features, &case.source)),
            };
        }
        Opcode::Cipher => {
            direct_cipher(keys.key(), case.reverse, &case.iv, case.parameter, &mut case.output);
        }
        Opcode::Aead if case.algorithm == Algorithm::Fernet => {
            let key: &[u8; 32] = case.key[..].try_into().expect("32 bytes");
            let (time, iv) = case.iv.split_at(8);
            Cbc::new(features, &key[16..]).expect("16 bytes").pass(
                Direction::Encrypt,
                &mut iv.to_vec(),
                InOut::in_place(&mut case.output),
            );
            let token = [&[0x80], time, iv, &case.output].concat();
            case.mac = HmacKey::new(features, Hash::Sha256, &key[..16]).sign(&token).to_vec();
        }
        Opcode::Aead if matches!(case.algorithm, Algorithm::AesKw | Algorithm::AesKwp) => {
            let form = if case.algorithm == Algorithm::AesKw { Form::Kw } else { Form::Kwp };
            let len =
                case.iv.first_chunk().map_or(case.source.len(), |len| u32::from_be_bytes(*len) as usize);
            let mut wrapped = vec![0; case.source.len() + 8];
            let key = KeyWrap::new(features, form, &case.key).expect("a good key");
            key.wrap(&case.source[..len], &mut wrapped).expect("a length that fits");
            (case.mac, case.output) = (wrapped[..8].to_vec(), wrapped[8..].to_vec());
            if case.reverse {
                // The length is what comes of it.
                case.source[len..].fill(0);
                case.iv.clear();
                case.value = if form == Form::Kwp { len as u32 } else { 0 };
            }
        }
        Opcode::Aead => {
            let data = InOut::in_place(&mut case.output);
            let mut tag = [0; 16];
            match keys.key() {
                Key::AesGcm(key) => key.seal(&case.iv, &case.aad, data, &mut tag),
                Key::ChaCha20Poly1305(key) => key.seal(&case.iv, &case.aad, data, &mut tag),
                Key::AesGcmSiv(key) => key.seal(&case.iv, &case.aad, data, &mut tag),
                Key::Xaes256Gcm(key) => key.seal(&case.iv, &case.aad, data, &mut tag),
                Key::AesSiv(key) if case.iv.is_empty() => key.seal(&[&case.aad], data, &mut tag),
                Key::AesSiv(key) => key.seal(&[&case.aad, &case.iv], data, &mut tag),
                key => panic!("not an AEAD's: {key:?}"),
            }
            .expect("sealed");
            case.mac = tag[..case.mac.len()].to_vec();
        }
        Opcode::Hash => {
            let mut hasher = Hasher::new(features, case.hash());
            hasher.update(&case.source);
            case.mac = hasher.finish().to_vec();
        }
        Opcode::PartialHash => {
            let mut hasher = match case.first {
                true => Hasher::new(features, case.hash()),
                false => Hasher::import(features, case.hash(), &case.aad).expect("a mid-state"),
            };
            hasher.update(&case.source);
            match case.last {
                true => case.mac = hasher.finish().to_vec(),
                false => case.state = hasher.export().to_vec(),
            }
        }
        Opcode::Hmac | Opcode::Mac => {
            let bits = 8 * case.source.len() - (case.parameter & 7) as usize;
            let tag = match keys.key() {
                Key::Hmac(key) => key.sign(&case.source).to_vec(),
                Key::AesCmac(key) => key.mac(&case.source).to_vec(),
                Key::DesMac(_) => {
                    let mut mac = des::Mac::new(features, &case.key).expect("a good key");
                    mac.update(&case.source);
                    mac.finish_block().to_vec()
                }
                Key::KasumiF9(key) => {
                    let direction = (case.parameter >> 8) as u8;
                    key.mac(number(0), number(4), direction, &case.source, bits)
                        .expect("as many bits")
                        .to_vec()
                }
                key => panic!("not a MAC's: {key:?}"),
            };
            case.mac = tag[..case.mac.len()].to_vec();
        }
        Opcode::EncryptThenMac | Opcode::MacThenDecrypt => {
            let Some(Key::Hmac(mac)) = &keys.mac_key else { panic!("an HMAC key") };
            direct_cipher(keys.key(), false, &case.iv, 0, &mut case.output[case.clear..]);
            let tag = mac.sign(&case.output);
            case.mac = tag[..case.mac.len()].to_vec();
        }
        Opcode::Sign => match keys.key() {
            Key::Ed25519(key) => case.mac = key.sign(&case.source).to_vec(),
            Key::Curve(key) => {
                let message = ecdsa::Message::digest(case.hash(), &case.source);
                case.mac = key.sign_deterministic(&message).to_vec();
            }
            Key::Rsa(key) => {
                case.state = vec![0; key.size()];
                let written = match hash_of(case.hash) {
                    Some(hash) => key.sign_pkcs1_digest(hash, &case.source, &mut case.state),
                    None => key.sign_pkcs1_encoded(&case.source, &mut case.state),
                };
                assert_eq!(written, Ok(key.size()));
            }
            Key::MlDsa(key) => {
                let scheme = mldsa::Scheme::Pure(&case.iv);
                case.state = key.sign_deterministic(scheme, &case.source).expect("a context that fits");
            }
            Key::SlhDsa(key) => {
                let scheme = slhdsa::Scheme::Pure(&case.iv);
                case.state = key.sign_deterministic(scheme, &case.source).expect("a context that fits");
            }
            key => panic!("not one to sign with: {key:?}"),
        },
        Opcode::Encapsulate => {
            let mut message = [0; mlkem::MESSAGE];
            not_so_random(&mut message).expect("it never fails");
            let key = keys.recipient.as_ref().expect("a public key");
            let (ciphertext, secret) = key.encapsulate_message(&message);
            (case.state, case.mac) = (ciphertext, secret.as_bytes().to_vec());
        }
        Opcode::Decapsulate => {
            let Key::MlKem(key) = keys.key() else { panic!("not one to decapsulate with") };
            let message = case.source[..mlkem::MESSAGE].try_into().expect("32 bytes");
            let (mut ciphertext, secret) = key.public_key().encapsulate_message(message);
            case.mac = secret.as_bytes().to_vec();
            if case.source[0].is_multiple_of(3) {
                // One that was not made for the key.
                ciphertext[usize::from(case.source[1])] ^= 1;
                case.mac = key.decapsulate(&ciphertext).expect("as long").as_bytes().to_vec();
                assert_ne!(case.mac, secret.as_bytes());
            }
            case.source = ciphertext;
        }
        Opcode::Decrypt => {
            let Key::Rsa(key) = keys.key() else { panic!("not one to decrypt with") };
            let (oaep, size) =
                (rsa::Oaep { hash: case.hash(), mgf: case.hash(), label: &case.aad }, key.size());
            case.state = std::mem::replace(&mut case.source, vec![0; size]);
            let public = key.public_key();
            let mut source = std::mem::take(&mut case.source);
            public.encrypt_oaep(&oaep, &mut Bytes, &case.state, &mut source).expect("encrypted");
            case.source = source;
        }
        Opcode::Agree => match keys.key() {
            Key::X25519(key) => {
                let peer = x25519::PublicKey::new(&case.source).expect("32 bytes");
                case.mac = key.agree(&peer).expect("a point of a large order").as_bytes().to_vec();
            }
            Key::Curve(key) => {
                // The peer has another private key: the source's bytes, which are below the order with a small first one.
                case.source.resize(key.curve().bytes(), 1);
                case.source[0] = 0;
                let peer = ecdsa::PrivateKey::new(features, key.curve(), &case.source).expect("a scalar");
                case.source = peer.public().to_bytes().to_vec();
                case.mac = key.agree(&peer.public()).expect("a point of the same curve").to_vec();
            }
            key => panic!("not one to agree with: {key:?}"),
        },
        Opcode::Random => not_so_random(&mut case.output).expect("it never fails"),
        Opcode::PublicKey => {
            case.mac = match keys.key() {
                Key::X25519(key) => key.public_key().as_bytes().to_vec(),
                Key::Ed25519(key) => key.public_key().as_bytes().to_vec(),
                Key::Curve(key) => key.public().to_bytes().to_vec(),
                Key::Rsa(key) => {
                    case.state = vec![0; MAX_PUBLIC_DER];
                    let written = key.public_key().to_pkcs1(&mut case.state).expect("as long as the longest");
                    case.state.truncate(written);
                    vec![]
                }
                Key::MlKem(key) => {
                    case.state = key.public_key().as_bytes().to_vec();
                    vec![]
                }
                Key::MlDsa(key) => {
                    case.state = key.public_key().as_bytes().to_vec();
                    vec![]
                }
                Key::SlhDsa(key) => key.public_key().as_bytes().to_vec(),
                key => panic!("not a private key: {key:?}"),
            };
        }
        _ => {}
    }
    if case.reverse && matches!(case.opcode, Opcode::Aead | Opcode::MacThenDecrypt) {
        std::mem::swap(&mut case.source, &mut case.output);
    }
    if !case.has_destination() {
        case.output.clear();
    }
}

/// Lengths that a key of the algorithm may have, in bytes.
pub fn key_lengths(algorithm: Algorithm) -> &'static [usize] {
    use Algorithm::*;
    match algorithm {
        AesEcb | AesCbc | AesCtr | AesCfb | AesGcm | AesCmac | AesKw | AesKwp | AesFf1 | CamelliaEcb
        | CamelliaCbc | CamelliaCtr => &[16, 24, 32],
        AesXts => &[32, 64],
        AesSiv => &[32, 48, 64],
        AesGcmSiv => &[16, 32],
        Xaes256Gcm | Fernet => &[32],
        ChaCha20Poly1305 | Ed25519 | X25519 | P256 | MlDsa44 | MlDsa65 | MlDsa87 => &[32],
        MlKem512 | MlKem768 | MlKem1024 => &[64],
        // Three seeds, of which a key is made: see `random_case`.
        SlhDsaSha2_128f => &[48],
        P384 => &[48],
        P521 => &[66],
        DesEcb | DesCbc | DesCfb | DesMac => &[8, 16, 24],
        Rc4 => &[1, 5, 16, 256],
        Sm4Ecb | Sm4Cbc | Sm4Ctr | KasumiF8 | KasumiF9 => &[16],
        Md5 | Sha1 | Sha224 | Sha256 | Sha384 | Sha512 | Sha512_256 | Sha3_224 | Sha3_256 | Sha3_384
        | Sha3_512 => &[0, 1, 16, 20, 64, 65, 128, 129, 200],
        _ => &[],
    }
}

/// Every opcode with every algorithm and direction it takes; combined operations with every cipher, the hash
/// left open.
pub fn every_kind() -> Vec<Case> {
    use Opcode::*;
    let aeads = [
        Algorithm::AesGcm,
        Algorithm::ChaCha20Poly1305,
        Algorithm::AesSiv,
        Algorithm::AesGcmSiv,
        Algorithm::Xaes256Gcm,
        Algorithm::Fernet,
        Algorithm::AesKw,
        Algorithm::AesKwp,
    ];
    let encrypts = |algorithm| Usages::of(algorithm).contains(Usages::ENCRYPT);
    let ciphers = Algorithm::ALL.iter().copied().filter(|a| encrypts(*a) && !aeads.contains(a));
    let hashes = Algorithm::ALL.iter().copied().filter(|a| hash_of(*a).is_some());
    let mut kinds = vec![Case::new("null", Null), Case::new("copy", Copy)];
    for algorithm in [Algorithm::Crc32, Algorithm::Crc32c, Algorithm::IpChecksum] {
        kinds.extend([Checksum, CopyChecksum].map(|o| Case { algorithm, ..Case::new("", o) }));
    }
    for reverse in [false, true] {
        for algorithm in ciphers.clone() {
            kinds.push(Case { algorithm, reverse, ..Case::new("", Cipher) });
            if !matches!(algorithm, Algorithm::KasumiF8 | Algorithm::AesFf1) {
                let opcode = if reverse { MacThenDecrypt } else { EncryptThenMac };
                kinds.push(Case { algorithm, ..Case::new("", opcode) });
            }
        }
        for algorithm in aeads {
            kinds.push(Case { algorithm, reverse, ..Case::new("", Aead) });
        }
        for algorithm in [Algorithm::AesCmac, Algorithm::DesMac, Algorithm::KasumiF9] {
            kinds.push(Case { algorithm, reverse, ..Case::new("", Mac) });
        }
        for hash in hashes.clone() {
            kinds.push(Case { hash, reverse, ..Case::new("", Hmac) });
        }
    }
    for hash in hashes {
        kinds.push(Case { hash, ..Case::new("", Hash) });
        for (first, last) in [(true, false), (false, false), (false, true), (true, true)] {
            kinds.push(Case { hash, first, last, ..Case::new("", PartialHash) });
        }
    }
    for (algorithm, opcode) in [(Algorithm::Ed25519, Sign), (Algorithm::X25519, Agree)] {
        kinds.extend([opcode, PublicKey].map(|o| Case { algorithm, ..Case::new("", o) }));
    }
    let hash = Algorithm::Sha384;
    for algorithm in [Algorithm::P256, Algorithm::P384, Algorithm::P521] {
        kinds.extend([Agree, PublicKey].map(|o| Case { algorithm, ..Case::new("", o) }));
        kinds.push(Case { algorithm, hash, parameter: 1, ..Case::new("", Sign) });
    }
    let algorithm = Algorithm::Rsa;
    kinds.push(Case { algorithm, ..Case::new("", PublicKey) });
    kinds.push(Case { algorithm, parameter: 1, ..Case::new("", Sign) });
    kinds.push(Case { algorithm, hash, parameter: 1, ..Case::new("", Sign) });
    kinds.push(Case { algorithm, hash, parameter: 2 | (hash as u32) << 8, ..Case::new("", Decrypt) });
    kinds.push(Case { algorithm: Algorithm::Random, ..Case::new("", Opcode::Random) });
    for algorithm in Algorithm::ALL.iter().copied().filter(|a| mlkem_set(*a).is_some()) {
        kinds.extend([PublicKey, Encapsulate, Decapsulate].map(|o| Case { algorithm, ..Case::new("", o) }));
    }
    for algorithm in Algorithm::ALL.iter().copied().filter(|a| mldsa_set(*a).is_some()) {
        kinds.push(Case { algorithm, ..Case::new("", PublicKey) });
        kinds.push(Case { algorithm, parameter: 1, ..Case::new("", Sign) });
    }
    // The quickest set. The others have cases of their own: see `hash_signatures.rs`.
    let algorithm = Algorithm::SlhDsaSha2_128f;
    kinds.push(Case { algorithm, ..Case::new("", PublicKey) });
    kinds.push(Case { algorithm, parameter: 1, ..Case::new("", Sign) });
    for case in &mut kinds {
        case.name = format!("{:?} {:?} {:?}", case.opcode, case.algorithm, case.hash);
    }
    kinds
}

/// A case of a kind, with random arguments of about that length, and its answer.
pub fn random_case(random: &mut Random, kind: &Case, len: usize) -> Case {
    use Algorithm::{AesGcmSiv, AesSiv, Fernet, Xaes256Gcm};
    let mut case = kind.clone();
    let block = match case.algorithm {
        Algorithm::AesEcb | Algorithm::AesCbc | Algorithm::CamelliaEcb | Algorithm::CamelliaCbc => 16,
        Algorithm::Sm4Ecb | Algorithm::Sm4Cbc | Algorithm::Fernet => 16,
        Algorithm::AesKw | Algorithm::AesKwp => 8,
        Algorithm::AesFf1 => 2,
        Algorithm::DesEcb | Algorithm::DesCbc => 8,
        _ => 1,
    };
    let mut pick = |from: &[usize]| if from.is_empty() { 0 } else { from[random.below(from.len())] };
    let key_len = pick(key_lengths(case.key_algorithm()));
    let iv_len = match case.algorithm {
        Algorithm::AesGcm => pick(&[12, 12, 12, 1, 8, 16, 128]),
        Algorithm::ChaCha20Poly1305 | Algorithm::AesGcmSiv => 12,
        Algorithm::AesSiv => pick(&[0, 0, 3, 12, 16]),
        Algorithm::Xaes256Gcm | Algorithm::Fernet => 24,
        Algorithm::AesKwp => 4,
        Algorithm::AesFf1 => pick(&[0, 0, 5, 11, 16, 40, 255]),
        Algorithm::AesCbc | Algorithm::AesCtr | Algorithm::AesCfb | Algorithm::AesXts => 16,
        Algorithm::CamelliaCbc | Algorithm::CamelliaCtr | Algorithm::Sm4Cbc | Algorithm::Sm4Ctr => 16,
        Algorithm::DesCbc | Algorithm::DesCfb | Algorithm::KasumiF8 | Algorithm::KasumiF9 => 8,
        _ => 0,
    };
    if case.is_chained() {
        let any = algorithm_of_index(pick(&[0, 1, 2, 3, 4, 5, 6]));
        case.hash = if case.hash == Algorithm::None { any } else { case.hash };
        case.mac_key = vec![0; pick(key_lengths(case.hash))];
        case.clear = pick(&[0, 1, 12, 13, 20]);
    }
    if case.has_key() || case.opcode == Opcode::Encapsulate {
        case.key = random.bytes(key_len);
    }
    if let (Some(set), Opcode::Encapsulate) = (mlkem_set(case.algorithm), case.opcode) {
        let key = mlkem::PrivateKey::new(features(), set, &case.key).expect("a seed");
        case.key = key.public_key().as_bytes().to_vec();
    }
    match case.algorithm {
        Algorithm::P521 => case.key[0] = 0,
        Algorithm::SlhDsaSha2_128f => {
            let key = slhdsa::PrivateKey::from_seeds(features(), slhdsa::Set::Sha2_128f, &case.key);
            case.key = key.expect("three seeds").to_bytes().to_vec();
        }
        Algorithm::Rsa => {
            case.key = if random.below(4) > 0 { keys::RSA_1024 } else { keys::RSA_2048 }.to_vec()
        }
        _ => {}
    }
    random.fill(&mut case.mac_key);
    case.iv = random.bytes(iv_len);
    if case.signs_within() && case.opcode == Opcode::Sign {
        let context_len = [0, 0, 1, 64, 65, 255][random.below(6)];
        case.iv = random.bytes(context_len);
    }
    let mut len = len / block * block;
    if case.algorithm == Algorithm::AesXts {
        len = len.max(16);
    }
    len = match case.opcode {
        Opcode::Agree | Opcode::Decapsulate => 32,
        Opcode::PublicKey | Opcode::Encapsulate => 0,
        Opcode::Sign if case.algorithm == Algorithm::Ed25519 => len.min(1024),
        Opcode::Sign if case.signs_within() => len.min(1024),
        Opcode::Sign if case.algorithm == Algorithm::Rsa && case.hash != Algorithm::None => 48,
        Opcode::Sign => len.min(66),
        Opcode::Decrypt => len.min(20),
        Opcode::Random => len.min(ControlWord::MOST_RANDOM_BYTES as usize),
        Opcode::Aead if case.algorithm == Fernet => len.clamp(16, ControlWord::MOST_WHOLE_BYTES as usize),
        Opcode::Aead if matches!(case.algorithm, AesSiv | AesGcmSiv | Xaes256Gcm) => {
            len.min(ControlWord::MOST_WHOLE_BYTES as usize)
        }
        Opcode::Aead if case.algorithm == Algorithm::AesKw => {
            len.clamp(16, ControlWord::MOST_WRAPPED_BYTES as usize)
        }
        Opcode::Aead if case.algorithm == Algorithm::AesKwp => {
            len.clamp(8, ControlWord::MOST_WRAPPED_BYTES as usize)
        }
        _ if case.algorithm == Algorithm::AesFf1 => len.clamp(12, ControlWord::MOST_FORMAT_BYTES as usize),
        _ => len,
    };
    case.source = random.bytes(len + case.clear);
    match case.algorithm {
        Algorithm::KasumiF8 => {
            case.parameter = if len > 0 { random.below(8) as u32 } else { 0 };
            if random.below(2) == 0 {
                let last =
                    u32::from_be_bytes(case.iv[4..].try_into().expect("four bytes")) & !((1 << 26) - 1);
                case.iv[4..].copy_from_slice(&last.to_be_bytes());
            } else {
                case.parameter |= ControlWord::ANY_START;
            }
        }
        Algorithm::AesKwp => {
            let key_len = len as u32 - random.below(8) as u32;
            case.iv = key_len.to_be_bytes().to_vec();
        }
        Algorithm::AesFf1 => {
            case.parameter = [10, 36, 256, 1 << 16][random.below(4)];
            for digit in case.source.as_chunks_mut::<2>().0 {
                *digit = ((u32::from(u16::from_le_bytes(*digit)) % case.parameter) as u16).to_le_bytes();
            }
        }
        Algorithm::KasumiF9 => {
            case.parameter = if len > 0 { random.below(8) as u32 } else { 0 } | (random.below(2) as u32) << 8;
        }
        _ => {}
    }
    let digest = hash_of(case.hash).map_or(0, |hash| hash.output_len());
    let mac_len = match case.opcode {
        Opcode::Hmac | Opcode::EncryptThenMac | Opcode::MacThenDecrypt => 4 + random.below(digest - 3),
        Opcode::Aead if case.algorithm == Algorithm::AesGcm => [4, 8, 12, 13, 14, 15, 16][random.below(7)],
        Opcode::Aead if case.algorithm == Fernet => 32,
        Opcode::Aead if case.algorithm == Algorithm::AesKw || case.algorithm == Algorithm::AesKwp => 8,
        Opcode::Aead => 16,
        Opcode::Mac => match case.algorithm {
            Algorithm::AesCmac => 4 + random.below(13),
            Algorithm::DesMac => 4 + random.below(5),
            _ => 4,
        },
        _ => 0,
    };
    case.mac = vec![0; mac_len];
    let has_no_aad = matches!(case.algorithm, Fernet | Algorithm::AesKw | Algorithm::AesKwp);
    if matches!(case.opcode, Opcode::Aead | Opcode::Decrypt) && !has_no_aad {
        let aad_len = random.below(70);
        case.aad = random.bytes(aad_len);
    }
    if case.opcode == Opcode::PartialHash && !case.first {
        let mut before = Hasher::new(features(), case.hash());
        let before_len = random.below(300);
        before.update(&random.bytes(before_len));
        case.aad = before.export().to_vec();
    }
    answer(&mut case);
    if case.reverse && case.opcode != Opcode::Cipher && random.below(4) == 0 {
        let at = random.below(case.mac.len());
        case.mac[at] ^= 1 << random.below(8);
        case.status = Status::Authentication;
    }
    case
}

/// Bytes that differ from draw to draw, for paddings.
struct Bytes;

impl millstream_publickey::Random for Bytes {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), millstream_publickey::Error> {
        static DRAWN: Mutex<u8> = Mutex::new(0);
        let mut drawn = DRAWN.lock().expect("nobody panics with it");
        for byte in bytes {
            *drawn = drawn.wrapping_add(41);
            *byte = *drawn;
        }
        Ok(())
    }
}

fn algorithm_of_index(index: usize) -> Algorithm {
    millstream_accelerator::algorithm_of(Hash::ALL[index])
}
