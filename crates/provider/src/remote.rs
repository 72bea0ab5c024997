//! Keys in the service: what isolated contexts hold in place of a key.
//!
//! [`ServiceKey`] does the work. What is OpenSSL's is here: which usages a key must have for what programs do with it, and the
//! reasons that they read. A forked child must set its keys again, and so must a process whose service was restarted: the
//! reason says so. No key is ever computed with in this process instead.

use std::sync::{Arc, OnceLock};

use millstream::Error;
use millstream::cwq::{Algorithm, Usages};
use millstream::isolated::token::Login;
use millstream::isolated::{Attach, Grants, KeyRefusal, ServiceKey, ServiceKeyError, UsageRange};
use millstream::modes::Direction;
use zeroize::Zeroizing;

use crate::error::{Reason, Result};
use crate::provider::Provider;
use crate::traces;
use millstream::{DecryptionScheme, SignatureScheme};

/// The grants of this process, whichever library context asked for them.
static GRANTS: Grants = Grants::new();

const NOT_CONFIGURED: Reason = Reason::INVALID_KEY.with(
    "no isolation is configured: set MILLSTREAM_SOCKET, or add the line `isolated = yes` to the provider's section of openssl.cnf",
);
const PARENTS: Reason = Reason::CIPHER_OPERATION_FAILED
    .with("the key was set before a fork and is the parent's: set it again in the child");
const NOT_THERE: Reason = Reason::NOT_SUPPORTED
    .with("the key is in the service, which does not have this algorithm: give it a key that is bytes");
const ONLY_ENCRYPTS: Reason = Reason::CIPHER_OPERATION_FAILED.with(
    "the isolated key was set to encrypt, and so can't decrypt: set it again for a context that decrypts",
);
const ONLY_DECRYPTS: Reason = Reason::CIPHER_OPERATION_FAILED.with(
    "the isolated key was set to decrypt, and so can't encrypt: set it again for a context that encrypts",
);
const ONLY_OPENS: Reason = Reason::CIPHER_OPERATION_FAILED.with(
    "the service's policy (`usages` or `nonces`) lets this key only open whole messages: set the tag, of 16 bytes, before the data, \
     pass the data in one piece, and see that the tag is right; or have the policy allow `encrypt`, with nonces of \"any\" origin",
);
const TOO_LONG: Reason = Reason::LENGTH_TOO_LARGE.with(
    "an isolated key takes at most 4 MiB at once: make data units shorter, or ask for millstream.isolated=no",
);

/// Connects to the configured service, if there is one, for programs that can't reach its socket later.
pub fn connect_early(provider: Provider) {
    if let Some(service) = &provider.configuration().service {
        GRANTS.connect_early(service);
    }
}

/// Brings a key to the service that works in one direction, with the usages that this direction takes and no more.
pub fn one_way(
    provider: Provider,
    algorithm: Algorithm,
    key: &[u8],
    direction: Direction,
) -> Result<ServiceKey> {
    let usages = match direction {
        // The modes that do the same in both directions have no keys for one.
        _ if Usages::is_two_way(algorithm) => Usages::of(algorithm),
        Direction::Encrypt => Usages::ENCRYPT,
        Direction::Decrypt => Usages::DECRYPT,
    };
    bring(provider, algorithm, key, usages.into())
}

/// Brings a key of an AEAD to the service.
///
/// Programs that use OpenSSL give nonces themselves, and whoever may seal under any nonce can decrypt. What is decrypted in
/// pieces, before its tag is known, takes keystream, which sealing gives. So a key has both usages. Where a policy forbids
/// that, a key that is to decrypt may do that alone, and opens whole messages only.
pub fn aead(
    provider: Provider,
    algorithm: Algorithm,
    key: &[u8],
    direction: Direction,
) -> Result<ServiceKey> {
    let most = Usages::of(algorithm);
    let least = if direction == Direction::Decrypt { Usages::DECRYPT } else { most };
    bring(provider, algorithm, key, UsageRange { most, least })
}

/// Brings a key to the service that computes MACs.
pub fn signing(provider: Provider, algorithm: Algorithm, key: &[u8]) -> Result<ServiceKey> {
    bring(provider, algorithm, key, Usages::SIGN.into())
}

/// Brings a private key to the service.
pub fn private(provider: Provider, algorithm: Algorithm, key: &[u8]) -> Result<PrivateKey> {
    let usages = Usages::of(algorithm);
    let made = ServiceKey::import_wrapped(&GRANTS, service(&provider)?, algorithm, key, usages);
    traces::wipe();
    let (key, wrapped) = made.map_err(|error| refused(error, algorithm, usages))?;
    let origin = Origin::Wrapped(Zeroizing::new(wrapped));
    Ok(PrivateKey { provider, algorithm, usages, made: Made::new(key), origin })
}

/// Has the service make a private key.
pub fn generate_private(provider: Provider, algorithm: Algorithm, len: usize) -> Result<PrivateKey> {
    let usages = Usages::of(algorithm);
    let key = ServiceKey::generate(&GRANTS, service(&provider)?, algorithm, len, usages);
    let made = Made::new(key.map_err(|error| refused(error, algorithm, usages))?);
    Ok(PrivateKey { provider, algorithm, usages, made, origin: Origin::Nowhere })
}

/// Loads a private key of a token, which the login opens.
pub fn of_token(
    provider: Provider,
    login: Arc<Login>,
    object: u128,
    algorithm: Algorithm,
    usages: Usages,
) -> Result<PrivateKey> {
    let origin = Origin::Token { login, object };
    let key = origin.made(provider, algorithm, usages)?.ok_or(Reason::INTERNAL)?;
    Ok(PrivateKey { provider, algorithm, usages, made: Made::new(key), origin })
}

/// A private key in the service.
///
/// A forked child, and a process whose grant has ended, have the service make the key again from where it came from.
pub struct PrivateKey {
    provider: Provider,
    algorithm: Algorithm,
    usages: Usages,
    made: Made,
    origin: Origin,
}

/// The place from which a key is made again.
enum Origin {
    /// A key that the process had before is nowhere else any more, so it is kept as ciphertext that only the service can read.
    Wrapped(Zeroizing<Vec<u8>>),
    /// A key of a token is loaded once more.
    Token { login: Arc<Login>, object: u128 },
    /// Other keys are for one connection, and end with their grant.
    Nowhere,
}

impl Origin {
    /// Has the service make the key; none where it can't be made again.
    fn made(&self, provider: Provider, algorithm: Algorithm, usages: Usages) -> Result<Option<ServiceKey>> {
        let service = service(&provider)?;
        let made = match self {
            Origin::Wrapped(wrapped) => ServiceKey::unwrap(&GRANTS, service, algorithm, wrapped, usages),
            Origin::Token { login, object } => {
                ServiceKey::load(&GRANTS, service, login, *object, algorithm, usages)
            }
            Origin::Nowhere => return Ok(None),
        };
        Ok(Some(made.map_err(|error| refused(error, algorithm, usages))?))
    }
}

/// A key as the service has made it, and as it has made it again. What has ended stays until all is dropped: no lock is needed then, which a
/// child that is forked meanwhile would wait for for ever.
struct Made {
    key: ServiceKey,
    again: OnceLock<Box<Made>>,
}

impl Made {
    fn new(key: ServiceKey) -> Self {
        Made { key, again: OnceLock::new() }
    }

    /// Returns the one that was made last.
    fn last(&self) -> &Made {
        let mut last = self;
        while let Some(again) = last.again.get() {
            last = again;
        }
        last
    }
}

impl PrivateKey {
    /// Returns the algorithm that the key is for.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns the public key that belongs to it: a point as in SEC 1, the DER of an `RSAPublicKey`, or the bytes of Curve25519.
    pub fn public_key(&self) -> Result<Vec<u8>> {
        self.with(ServiceKey::public_key)
    }

    /// Signs a digest, or for Ed25519 a message.
    pub fn sign(&self, scheme: SignatureScheme, signed: &[u8]) -> Result<Vec<u8>> {
        self.with(|key| key.sign_with(scheme, signed))
    }

    /// Decrypts with RSA.
    pub fn decrypt(&self, scheme: DecryptionScheme<'_>, ciphertext: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
        self.with(|key| key.decrypt(scheme, ciphertext))
    }

    /// Agrees with a peer.
    pub fn agree(&self, peer: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
        self.with(|key| key.agree(peer))
    }

    /// Uses the key. Where it has ended, it is made again once.
    fn with<T>(&self, each: impl Fn(&ServiceKey) -> std::result::Result<T, ServiceKeyError>) -> Result<T> {
        let made = self.made.last();
        match each(&made.key) {
            Err(why) if why.has_ended() => match self.again(made)? {
                Some(made) => Ok(each(&made.key)?),
                None => Err(why.into()),
            },
            done => Ok(done?),
        }
    }

    /// Has the service make a key again that has ended. Where two threads do so at once, the first one's is kept.
    fn again<'a>(&'a self, ended: &'a Made) -> Result<Option<&'a Made>> {
        let key = self.origin.made(self.provider, self.algorithm, self.usages)?;
        Ok(key.map(|key| &**ended.again.get_or_init(|| Box::new(Made::new(key)))))
    }
}

/// Brings a key to the service that is to be an object, for any context of the algorithm.
pub fn import(provider: Provider, algorithm: Algorithm, key: &[u8]) -> Result<ServiceKey> {
    bring(provider, algorithm, key, usages_of_object(algorithm))
}

/// Has the service make a key that is to be an object.
pub fn generate(provider: Provider, algorithm: Algorithm, len: usize) -> Result<ServiceKey> {
    let usages = usages_of_object(algorithm);
    ServiceKey::generate(&GRANTS, service(&provider)?, algorithm, len, usages)
        .map_err(|error| refused(error, algorithm, usages.least))
}

fn bring(provider: Provider, algorithm: Algorithm, key: &[u8], usages: UsageRange) -> Result<ServiceKey> {
    ServiceKey::import(&GRANTS, service(&provider)?, algorithm, key, usages)
        .map_err(|error| refused(error, algorithm, usages.least))
}

/// Returns the options with which the service is asked.
pub fn service(provider: &Provider) -> Result<&Attach> {
    provider.configuration().service.as_ref().ok_or(NOT_CONFIGURED)
}

/// Returns the usages of a key that is an object, and the least that a policy may leave of them.
fn usages_of_object(algorithm: Algorithm) -> UsageRange {
    let most = Usages::of(algorithm);
    let least = match algorithm {
        _ if is_aead(algorithm) => Usages::DECRYPT,
        _ if most.contains(Usages::SIGN) => Usages::SIGN,
        _ => most,
    };
    UsageRange { most, least }
}

/// Fails unless the key is for `algorithm`, which is none where the service has no such algorithm, and of that length, if
/// one is given.
pub fn fits(key: &ServiceKey, algorithm: Option<Algorithm>, len: Option<usize>) -> Result<()> {
    let wanted = algorithm.ok_or(NOT_THERE)?;
    if wanted != key.algorithm() {
        return Err(Reason::NOT_SUPPORTED.because(format!(
            "the key is in the service and for {}: make or import another with millstream.algorithm={}",
            key.algorithm().name(),
            wanted.name()
        )));
    }
    if len.is_some_and(|len| len != key.len()) {
        return Err(Reason::INVALID_KEY_LENGTH);
    }
    Ok(())
}

fn is_aead(algorithm: Algorithm) -> bool {
    matches!(algorithm, Algorithm::AesGcm | Algorithm::ChaCha20Poly1305)
}

impl From<ServiceKeyError> for Reason {
    fn from(error: ServiceKeyError) -> Self {
        match error {
            ServiceKeyError::Forked => PARENTS,
            ServiceKeyError::Usage { algorithm, .. } if is_aead(algorithm) => ONLY_OPENS,
            ServiceKeyError::Usage { needed: Usages::DECRYPT, .. } => ONLY_ENCRYPTS,
            ServiceKeyError::Usage { .. } => ONLY_DECRYPTS,
            ServiceKeyError::TooLong { .. } => TOO_LONG,
            ServiceKeyError::Failed(error) => error.into(),
            error => Reason::CIPHER_OPERATION_FAILED.because(error.to_string()),
        }
    }
}

/// Says why the service took no key, with the policy's rule where it is one.
fn refused(error: Error, algorithm: Algorithm, usages: Usages) -> Reason {
    let name = algorithm.name();
    let (rule, why) = match error {
        Error::Key(KeyRefusal::Policy) => ("algorithms", format!("it does not allow {name}: add it")),
        Error::Key(KeyRefusal::PolicyUsages) => {
            let both = if usages == Usages::ENCRYPT | Usages::DECRYPT {
                " (with this algorithm who can do the one can do the other)"
            } else {
                ""
            };
            ("usages", format!("it allows no key of {name} to {usages}{both}: add what is missing"))
        }
        Error::Key(KeyRefusal::PolicyNonces) => (
            "nonces",
            format!(
                "it is \"worker\", and programs that use OpenSSL give the nonces of {name} themselves: make it \"any\" for them"
            ),
        ),
        error => return error.into(),
    };
    // nginx looks at numbers without their library, and takes that of "key setup failed" for a client without a suitable share: it
    // would hide the rule from its log.
    Reason::INVALID_KEY.because(format!(
        "the key was refused by the rule `{rule}` of the service's policy: {why}, or ask for millstream.isolated=no"
    ))
}
