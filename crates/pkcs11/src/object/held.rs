//! A key of a token in the service: what it is loaded for there, and the operations that travel.
//!
//! Ref. PKCS #11 v3.2 §6, for what each mechanism does; `millstream::isolated` for how an operation travels.

use std::time::{Duration, Instant};

use cryptoki_sys::*;
use millstream::Error;
use millstream::cwq::{Algorithm, Usages};
use millstream::isolated::{BegunSignature, Chaining, ServiceKey, ServiceKeyError, TokenKey};
use millstream::modes::Direction;
use millstream::publickey::weierstrass::Curve;
use millstream::publickey::{mldsa, mlkem};
use millstream::queue::{Piece, Refusal as Submission};
use millstream::{DecryptionScheme, Features, InOut, SignatureScheme, algorithm_of, algorithm_of_slh_dsa};
use millstream_files::key::PublicKey;

use super::attributes::Attributes;
use super::kind::Kind;
use super::purpose::{AesMode, Purpose, Secret, hash_for};
use crate::refusal::{Outcome, Refusal, demand, refuse};
use crate::text::Text;

/// Returns the usages that a key of a kind may have in the service, and the attributes that allow them.
fn usages_of(kind: Kind) -> [(Usages, CK_ATTRIBUTE_TYPE); 5] {
    [
        (Usages::ENCRYPT, CKA_ENCRYPT),
        (Usages::DECRYPT, CKA_DECRYPT),
        (Usages::SIGN, CKA_SIGN),
        (Usages::VERIFY, CKA_VERIFY),
        (Usages::DERIVE, kind.deriving_usage()),
    ]
}

/// The most bytes of a message that is sealed or opened at once. The arena, which all threads share, has room for several of those.
const WHOLE: usize = 1 << 20;

/// The bytes of a piece of a longer one.
pub const PIECE: usize = 256 << 10;

/// The longest time to wait for room that other threads have.
const PATIENCE: Duration = Duration::from_secs(10);

/// Loads a key for an algorithm, with these usages.
type Load = Box<dyn FnOnce(Algorithm, Usages) -> Outcome<TokenKey>>;

/// A key of a token in the service that is not loaded yet.
pub struct Held(Load);

/// A key that is loaded in the service.
pub struct Remote {
    key: TokenKey,
    /// The bytes of a modulus, of a scalar, of a ciphertext of ML-KEM or of a signature of ML-DSA or SLH-DSA; 0 for other keys.
    size: usize,
    /// The public key of ML-DSA, with which the representatives of messages are made.
    public: Option<Box<mldsa::PublicKey>>,
}

/// Returns the algorithm in the service for a purpose.
fn algorithm(purpose: Purpose, kind: Kind) -> Outcome<Algorithm> {
    Ok(match (purpose, kind) {
        (Purpose::Hmac(hash), _) => algorithm_of(hash),
        (Purpose::Aes(AesMode::Ecb), _) => Algorithm::AesEcb,
        (Purpose::Aes(AesMode::Cbc), _) => Algorithm::AesCbc,
        (Purpose::Aes(AesMode::Ctr), _) => Algorithm::AesCtr,
        (Purpose::Xts, _) => Algorithm::AesXts,
        (Purpose::Cmac, _) => Algorithm::AesCmac,
        (Purpose::Gcm, _) => Algorithm::AesGcm,
        (Purpose::ChaCha, _) => Algorithm::ChaCha20Poly1305,
        (Purpose::Des3(true), _) => Algorithm::DesCbc,
        (Purpose::Des3(false), _) => Algorithm::DesEcb,
        // The service has no operation for these, and the key does not come here.
        (Purpose::Wrap(_), _) => return refuse(CKR_KEY_FUNCTION_NOT_PERMITTED),
        (Purpose::Pair, Kind::Rsa) => Algorithm::Rsa,
        (Purpose::Pair, Kind::Curve(Curve::P256)) => Algorithm::P256,
        (Purpose::Pair, Kind::Curve(Curve::P384)) => Algorithm::P384,
        (Purpose::Pair, Kind::Curve(Curve::P521)) => Algorithm::P521,
        (Purpose::Pair, Kind::Ed25519) => Algorithm::Ed25519,
        (Purpose::Pair, Kind::X25519) => Algorithm::X25519,
        (Purpose::Pair, Kind::MlKem(mlkem::Set::MlKem512)) => Algorithm::MlKem512,
        (Purpose::Pair, Kind::MlKem(mlkem::Set::MlKem768)) => Algorithm::MlKem768,
        (Purpose::Pair, Kind::MlKem(mlkem::Set::MlKem1024)) => Algorithm::MlKem1024,
        (Purpose::Pair, Kind::MlDsa(mldsa::Set::MlDsa44)) => Algorithm::MlDsa44,
        (Purpose::Pair, Kind::MlDsa(mldsa::Set::MlDsa65)) => Algorithm::MlDsa65,
        (Purpose::Pair, Kind::MlDsa(mldsa::Set::MlDsa87)) => Algorithm::MlDsa87,
        (Purpose::Pair, Kind::SlhDsa(set)) => algorithm_of_slh_dsa(set),
        (Purpose::Pair, Kind::Secret(_)) => return refuse(CKR_KEY_TYPE_INCONSISTENT),
    })
}

impl Held {
    /// Keeps what loads the key.
    pub fn new(load: impl FnOnce(Algorithm, Usages) -> Outcome<TokenKey> + 'static) -> Self {
        Held(Box::new(load))
    }

    /// Loads the key for a purpose, with all usages that its attributes allow.
    ///
    /// # Errors
    /// `CKR_KEY_FUNCTION_NOT_PERMITTED` for what the service does not do with such a key; those of the service.
    pub fn load(
        self,
        features: Features,
        purpose: Purpose,
        kind: Kind,
        attributes: &Attributes,
    ) -> Outcome<Remote> {
        let algorithm = algorithm(purpose, kind)?;
        let allowed = usages_of(kind)
            .into_iter()
            .filter(|(usage, kind)| attributes.is(*kind) && Usages::of(algorithm).contains(*usage));
        let usages = allowed.fold(Usages::NONE, |all, (usage, _)| all | usage);
        demand(!usages.is_empty(), CKR_KEY_FUNCTION_NOT_PERMITTED)?;
        let size = match kind {
            Kind::Rsa => attributes.get(CKA_MODULUS).unwrap_or_default().len(),
            Kind::Curve(curve) => curve.bytes(),
            Kind::MlKem(set) => set.ciphertext_len(),
            Kind::MlDsa(set) => set.signature_len(),
            Kind::SlhDsa(set) => set.signature_len(),
            _ => 0,
        };
        let public = match kind {
            Kind::MlDsa(set) => {
                let info = attributes.get(CKA_PUBLIC_KEY_INFO).unwrap_or_default();
                let public = PublicKey::from_spki(features, info)?;
                Some(Box::new(mldsa::PublicKey::new(features, set, public.as_bytes())?))
            }
            _ => None,
        };
        let key = (self.0)(algorithm, usages)?;
        Ok(Remote { key, size, public })
    }
}

impl Remote {
    /// Returns the bytes of a modulus, of a scalar, of a ciphertext of ML-KEM or of a signature of ML-DSA or SLH-DSA.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns true for a key of RSA.
    pub fn is_rsa(&self) -> bool {
        self.key.algorithm() == Algorithm::Rsa
    }

    /// Returns true for a key of X25519.
    pub fn is_x25519(&self) -> bool {
        self.key.algorithm() == Algorithm::X25519
    }

    /// Does something with the key. Where other threads have all of the queue or of its memory, this one waits for its turn, and where the key has to be loaded
    /// again, `act` is called again.
    fn with<T>(&self, mut act: impl FnMut(&ServiceKey) -> Result<T, ServiceKeyError>) -> Outcome<T> {
        // The clock is not read where there is room at once.
        let mut end = None;
        let mut pause = Duration::from_micros(20);
        loop {
            match self.key.with(&mut act) {
                Err(ServiceKeyError::Failed(Error::Queue(Submission::Full | Submission::ArenaFull)))
                    if Instant::now() < *end.get_or_insert_with(|| Instant::now() + PATIENCE) =>
                {
                    std::thread::sleep(pause);
                    pause = (2 * pause).min(Duration::from_millis(2));
                }
                done => return Ok(done?),
            }
        }
    }

    /// Does the same in place. What one operation takes is written when it has succeeded, and not before, so that it can be done again from there. Of more than `whole`
    /// bytes a copy is kept.
    fn in_place<T>(
        &self,
        data: &mut [u8],
        whole: usize,
        mut act: impl FnMut(&ServiceKey, &mut [u8]) -> Result<T, ServiceKeyError>,
    ) -> Outcome<T> {
        if data.len() <= whole {
            return self.with(|key| act(key, data));
        }
        let (out, done) = self.with(|key| {
            let mut out = Text::from(&*data);
            let done = act(key, &mut out)?;
            Ok((out, done))
        })?;
        data.copy_from_slice(&out);
        Ok(done)
    }

    /// Takes data through a block mode; `chain` is as long as the mode's initialisation vector.
    ///
    /// # Errors
    /// Those of the service. The data is as it was then.
    pub fn pass(&self, direction: Direction, chain: &mut [u8], data: &mut [u8]) -> Outcome {
        let chaining = match self.key.algorithm() {
            Algorithm::AesEcb | Algorithm::DesEcb => Chaining::None,
            Algorithm::AesCtr => Chaining::Counter,
            _ => Chaining::Ciphertext,
        };
        let vector = self.in_place(data, ServiceKey::PIECE, |key, data| {
            let mut vector = chain.to_vec();
            key.cipher(direction, chaining, &mut vector, InOut::in_place(data))?;
            Ok(vector)
        })?;
        chain.copy_from_slice(&vector);
        Ok(())
    }

    /// Takes a data unit of XTS.
    ///
    /// # Errors
    /// Those of the service.
    pub fn data_unit(&self, direction: Direction, tweak: &[u8], data: &mut [u8]) -> Outcome {
        self.with(|key| key.data_unit(direction, tweak, InOut::in_place(data)))
    }

    /// Seals a message in place.
    ///
    /// # Errors
    /// Those of the service.
    pub fn seal(&self, nonce: &[u8], aad: &[u8], data: &mut [u8]) -> Outcome<[u8; 16]> {
        self.in_place(data, WHOLE, |key, data| {
            if data.len() <= WHOLE {
                return key.seal(nonce, aad, InOut::in_place(data));
            }
            let state = pieces(key, Direction::Encrypt, nonce, aad, data)?;
            key.tag(&state)
        })
    }

    /// Opens a message in place if its tag, which may have been cut, is right.
    ///
    /// # Errors
    /// `CKR_AEAD_DECRYPT_FAILED`: the data is zeros or ciphertext then; those of the service.
    pub fn open(&self, nonce: &[u8], aad: &[u8], data: &mut [u8], tag: &[u8]) -> Outcome {
        let cut = <[u8; 16]>::try_from(tag);
        let whole = if cut.is_ok() { WHOLE } else { 0 };
        self.in_place(data, whole, |key, data| {
            // In pieces keystream is made, which is encryption.
            let whole = if key.usages().contains(Usages::ENCRYPT) { WHOLE } else { ServiceKey::LONGEST };
            match &cut {
                Ok(tag) if data.len() <= whole => key.open(nonce, aad, InOut::in_place(data), tag),
                _ => {
                    let state = pieces(key, Direction::Decrypt, nonce, aad, data)?;
                    match bool::from(millstream::compare::begins(&key.tag(&state)?, tag)) {
                        true => Ok(()),
                        false => Err(ServiceKeyError::Authentication),
                    }
                }
            }
        })
    }

    /// Encrypts a piece of a message in place; `state` is the mid-state, and before the first piece there is none.
    ///
    /// # Errors
    /// Those of the service.
    pub fn seal_piece(&self, nonce: &[u8], aad: &[u8], state: &mut Vec<u8>, data: &mut [u8]) -> Outcome {
        *state = self.with(|key| {
            let piece = if state.is_empty() { Piece::First(nonce) } else { Piece::Next(state) };
            key.partial(Direction::Encrypt, piece, aad, InOut::in_place(data))
        })?;
        Ok(())
    }

    /// Returns the tag of a message that ends with a mid-state.
    ///
    /// # Errors
    /// Those of the service.
    pub fn tag(&self, state: &[u8]) -> Outcome<[u8; 16]> {
        self.with(|key| key.tag(state))
    }

    /// Adds a piece to a message whose MAC is made, or compared.
    ///
    /// # Errors
    /// Those of the service.
    pub fn add_to_mac(&self, signs: bool, before: Option<&[u8]>, piece: &[u8]) -> Outcome<Vec<u8>> {
        self.with(
            |key| if signs { key.partial_mac(before, piece) } else { key.partial_verify(before, piece) },
        )
    }

    /// Returns the MAC of so many bytes.
    ///
    /// # Errors
    /// Those of the service.
    pub fn mac(&self, before: Option<&[u8]>, last: &[u8], len: usize) -> Outcome<Vec<u8>> {
        self.with(|key| {
            let mut mac = vec![0; len];
            key.mac(before, last, &mut mac)?;
            Ok(mac)
        })
    }

    /// Compares a MAC, or as much of it as there is.
    ///
    /// # Errors
    /// `CKR_SIGNATURE_INVALID`; those of the service.
    pub fn verify(&self, before: Option<&[u8]>, last: &[u8], mac: &[u8]) -> Outcome {
        let compared = self.with(|key| match key.verify(before, last, mac) {
            Err(ServiceKeyError::Authentication) => Ok(false),
            compared => compared.map(|()| true),
        })?;
        demand(compared, CKR_SIGNATURE_INVALID)
    }

    /// Returns the signature of a digest, or under Ed25519 and SLH-DSA of a message, within a context where there is one.
    ///
    /// # Errors
    /// Those of the service.
    pub fn sign(&self, scheme: SignatureScheme, context: &[u8], input: &[u8]) -> Outcome<Vec<u8>> {
        let (scheme, input) = self.fitted(scheme, input);
        self.with(|key| key.sign_within(scheme, context, &input))
    }

    /// Puts a signature in flight. This does not wait for room: the caller may be the one who has to make it.
    ///
    /// # Errors
    /// Those of the service; `CKR_DEVICE_MEMORY` while as many operations are in flight as fit.
    pub fn begin_signature(
        &self,
        scheme: SignatureScheme,
        context: &[u8],
        input: &[u8],
    ) -> Outcome<BegunSignature> {
        let (scheme, input) = self.fitted(scheme, input);
        Ok(self.key.with(|key| key.begin_signature_within(scheme, context, &input))?)
    }

    /// Returns the scheme and the digest of ECDSA with a length that the hash makes, which is the same number: the leftmost bits count, as many as the order of the
    /// curve has (FIPS 186-5 §6.4.1).
    fn fitted(&self, scheme: SignatureScheme, input: &[u8]) -> (SignatureScheme, Vec<u8>) {
        match scheme {
            SignatureScheme::Ecdsa { hash, deterministic } if hash.output_len() != input.len() => {
                // The order of P-521 ends within a byte, and has more bits than any digest that has to be fitted.
                let counts = &input[..input.len().min(self.size)];
                let hash = hash_for(counts.len());
                let zeros = vec![0; hash.output_len().saturating_sub(counts.len())];
                (SignatureScheme::Ecdsa { hash, deterministic }, [&zeros, counts].concat())
            }
            _ => (scheme, input.to_vec()),
        }
    }

    /// Decrypts with RSA.
    ///
    /// # Errors
    /// `CKR_ENCRYPTED_DATA_INVALID`; those of the service.
    pub fn decrypt(&self, scheme: DecryptionScheme<'_>, ciphertext: &[u8]) -> Outcome<Secret> {
        self.with(|key| key.decrypt(scheme, ciphertext)).map_err(|Refusal(value)| match value {
            // Data without the padding of OAEP, and a number that is not below the modulus, are no ciphertexts of this key.
            CKR_AEAD_DECRYPT_FAILED | CKR_DATA_LEN_RANGE | CKR_MECHANISM_PARAM_INVALID => {
                Refusal(CKR_ENCRYPTED_DATA_INVALID)
            }
            value => Refusal(value),
        })
    }

    /// Returns the representative of a message under ML-DSA, which is as good as the message to sign and has neither its length nor a context
    /// (FIPS 204 §6.2).
    ///
    /// # Errors
    /// `CKR_DATA_LEN_RANGE` for a digest of another length than it has; `CKR_KEY_TYPE_INCONSISTENT` for other keys.
    pub fn representative(&self, scheme: mldsa::Scheme<'_>, message: &[u8]) -> Outcome<[u8; mldsa::MU]> {
        let public = self.public.as_ref().ok_or(Refusal(CKR_KEY_TYPE_INCONSISTENT))?;
        Ok(public.representative(scheme, message)?)
    }

    /// Returns the shared secret in a ciphertext of ML-KEM.
    ///
    /// # Errors
    /// Those of the service.
    pub fn decapsulate(&self, ciphertext: &[u8]) -> Outcome<Secret> {
        self.with(|key| key.decapsulate(ciphertext))
    }

    /// Agrees with a peer's public key.
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID`; those of the service.
    pub fn agree(&self, peer: &[u8]) -> Outcome<Secret> {
        self.with(|key| key.agree(peer)).map_err(|Refusal(value)| match value {
            CKR_DATA_LEN_RANGE => Refusal(CKR_MECHANISM_PARAM_INVALID),
            value => Refusal(value),
        })
    }
}

/// Takes a long message in pieces, and returns the mid-state after it.
fn pieces(
    key: &ServiceKey,
    direction: Direction,
    nonce: &[u8],
    aad: &[u8],
    data: &mut [u8],
) -> Result<Vec<u8>, ServiceKeyError> {
    let mut state = key.partial(direction, Piece::First(nonce), aad, InOut::in_place(&mut []))?;
    for piece in data.chunks_mut(PIECE) {
        state = key.partial(direction, Piece::Next(&state), &[], InOut::in_place(piece))?;
    }
    Ok(state)
}
