//! Keys of the service's tokens by their URIs: what `OSSL_STORE` loads, and with it every program that takes a URI for a key.
//!
//! A private key stays in the service. OpenSSL gets a key of ours that stands for it, and the public part. Lists and public parts
//! take no PIN, and certificates take none.
//!
//! Ref. provider-storemgmt(7), ossl_store(7).

pub mod uri;

use std::collections::VecDeque;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use millstream::cwq::{Algorithm, Usages};
use millstream::isolated::Service;
use millstream::isolated::token::{Attributes, Login, TokenStatus, usage};
use zeroize::Zeroizing;

use self::uri::{Pin, Uri};
use crate::error::{Reason, Result};
use crate::provider::Provider;
use crate::remote::{self, PrivateKey};

/// The most bytes of a PIN.
const MOST_PIN_BYTES: usize = 255;

/// An opened URI: the keys that it names, of which one is loaded at a time.
pub struct Store {
    pub provider: Provider,
    uri: Uri,
    left: VecDeque<(TokenStatus, u128, Attributes)>,
    /// The token that was opened last.
    login: Option<Arc<Login>>,
    /// The kind of object that the program takes, as OpenSSL numbers it; 0 for any.
    pub expected: i32,
}

/// An object that is loaded.
pub enum Loaded {
    /// The URI of a key.
    Name(String),
    /// A public key, a `SubjectPublicKeyInfo` in DER.
    Public(Vec<u8>),
    /// A private key in the service.
    Private(PrivateKey),
    /// A certificate, in DER.
    Certificate(Vec<u8>),
}

/// The kinds of objects, as `OSSL_STORE_INFO_…` numbers them.
const EXPECTS_NAME: i32 = 1;
const EXPECTS_PUBLIC: i32 = 3;
const EXPECTS_PRIVATE: i32 = 4;
const EXPECTS_CERTIFICATE: i32 = 5;

/// Returns the algorithm of a kind of key pair.
fn algorithm(kind: &str) -> Option<Algorithm> {
    Some(match kind {
        "rsa" => Algorithm::Rsa,
        "p-256" => Algorithm::P256,
        "p-384" => Algorithm::P384,
        "p-521" => Algorithm::P521,
        "ed25519" => Algorithm::Ed25519,
        "x25519" => Algorithm::X25519,
        "ml-dsa-44" => Algorithm::MlDsa44,
        "ml-dsa-65" => Algorithm::MlDsa65,
        "ml-dsa-87" => Algorithm::MlDsa87,
        _ => return None,
    })
}

/// Returns the usages of a key pair in the service that its token allows.
fn usages(attributes: &Attributes, algorithm: Algorithm) -> Usages {
    let pairs =
        [(usage::SIGN, Usages::SIGN), (usage::DECRYPT, Usages::DECRYPT), (usage::DERIVE, Usages::DERIVE)];
    let allowed = pairs.into_iter().filter(|(bit, _)| attributes.usages & bit != 0);
    let does = Usages::of(algorithm);
    allowed
        .map(|(_, usage)| usage)
        .filter(|usage| does.contains(*usage))
        .fold(Usages::NONE, |all, one| all | one)
}

impl Store {
    /// Opens a URI: finds what it names.
    ///
    /// # Errors
    /// The URI can't be understood, no service is configured or reached, or no token of it is meant.
    pub fn open(provider: Provider, uri: &str) -> Result<Self> {
        let uri = Uri::read(uri)?;
        let configured = remote::service(&provider)?;
        let mut service = Service::connect(configured.socket.as_deref()).map_err(failed)?;
        let tokens = service.tokens().map_err(failed)?;
        let mut left = VecDeque::new();
        for token in tokens.into_iter().filter(|token| uri.names_token(token)) {
            for (object, attributes) in service.objects(token.token).map_err(failed)? {
                let is_key = algorithm(&attributes.kind).is_some() && uri.takes_keys();
                let is_certificate = attributes.certificate().is_some() && uri.takes_certificates();
                if uri.names_object(&attributes) && (is_key || is_certificate) {
                    left.push_back((token.clone(), object, attributes));
                }
            }
        }
        // A key comes before its certificates, since most programs ask for one.
        left.make_contiguous().sort_by_key(|(.., attributes)| attributes.certificate().is_some());
        if left.is_empty() && !uri.lists() {
            return Err(Reason::INVALID_DATA.because(
                "no token of the service that this user may use has such a key pair or certificate; `millstream token list` and `millstream key list` show what there is",
            ));
        }
        Ok(Store { provider, uri, left, login: None, expected: 0 })
    }

    /// Tells whether all is loaded that the program takes.
    pub fn is_empty(&self) -> bool {
        self.next().is_none()
    }

    /// Returns the place of the next object that the program takes.
    fn next(&self) -> Option<usize> {
        let lists = self.uri.lists();
        self.left.iter().position(|(.., attributes)| match self.expected {
            0 => true,
            EXPECTS_NAME => lists,
            EXPECTS_PUBLIC | EXPECTS_PRIVATE => lists || attributes.certificate().is_none(),
            EXPECTS_CERTIFICATE => lists || attributes.certificate().is_some(),
            _ => false,
        })
    }

    /// Loads the next key. `ask` asks for the PIN of a token, if the URI does not tell it.
    ///
    /// # Errors
    /// There is none, the PIN is wrong, or the service refuses.
    pub fn load(&mut self, ask: impl FnOnce(&str) -> Option<Zeroizing<Vec<u8>>>) -> Result<Loaded> {
        let next = self.next().and_then(|at| self.left.remove(at));
        let (token, object, attributes) = next.ok_or(Reason::INVALID_DATA)?;
        let certificate = attributes.certificate();
        if self.uri.lists() {
            let kind = certificate.map_or("", |_| "?type=cert");
            return Ok(Loaded::Name(uri::of_key(&token.label, &attributes.label) + kind));
        }
        if let Some(certificate) = certificate {
            return Ok(Loaded::Certificate(certificate.to_vec()));
        }
        if self.uri.wants_public() || self.expected == EXPECTS_PUBLIC {
            return Ok(Loaded::Public(attributes.public_key));
        }
        let login = match self.login.take().filter(|login| login.token() == token.token) {
            Some(login) => login,
            None => Arc::new(Login::new(token.token, &self.pin(&token.label, ask)?)),
        };
        self.login = Some(Arc::clone(&login));
        let algorithm = algorithm(&attributes.kind).ok_or(Reason::INTERNAL)?;
        let usages = usages(&attributes, algorithm);
        Ok(Loaded::Private(remote::of_token(self.provider, login, object, algorithm, usages)?))
    }

    fn pin(
        &self,
        token: &str,
        ask: impl FnOnce(&str) -> Option<Zeroizing<Vec<u8>>>,
    ) -> Result<Zeroizing<Vec<u8>>> {
        match &self.uri.pin {
            Some(Pin::Value(pin)) => Ok(pin.clone()),
            Some(Pin::File(path)) => read_pin(path).map_err(|why| {
                Reason::INVALID_DATA.because(format!("the PIN's file {}: {why}", path.display()))
            }),
            None => ask(&format!("the user PIN of the token {token}")).ok_or_else(|| {
                Reason::INVALID_DATA.because(format!(
                    "the user PIN of the token {token} is needed: name its file with ?pin-source=FILE, or let the program ask for it"
                ))
            }),
        }
    }
}

/// Reads the first line of a PIN's file.
fn read_pin(path: &std::path::Path) -> std::result::Result<Zeroizing<Vec<u8>>, String> {
    use std::io::Read;
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if metadata.is_file() && metadata.mode() & 0o007 != 0 {
        return Err("others may read it: chmod o= it".into());
    }
    // With room for all of it, so that no copy is left where a smaller buffer was.
    let mut pin = Zeroizing::new(Vec::with_capacity(MOST_PIN_BYTES + 2));
    let read = file.take(MOST_PIN_BYTES as u64 + 1).read_to_end(&mut pin);
    read.map_err(|error| error.to_string())?;
    let len = pin.iter().position(|byte| *byte == b'\n').unwrap_or(pin.len());
    pin.truncate(len);
    Ok(pin)
}

fn failed(error: millstream::isolated::ServiceError) -> Reason {
    Reason::NOT_SUPPORTED.because(error.to_string())
}
