//! The names of keys in the tokens of a service.

use millstream::cwq::Algorithm;
use millstream::hash::Hash;
use millstream::isolated::token::Attributes;
use millstream::isolated::{Attach, Service};

use crate::error::Error;

/// Finds a key of a token by its name.
pub(super) fn find(options: &Attach, name: &str) -> Result<(u128, u128, Attributes), Error> {
    let (token_label, label) = match name.rsplit_once('/') {
        Some((token, label)) => (Some(token), label),
        None => (None, name),
    };
    let mut service = Service::connect(options.socket.as_deref()).map_err(isolated)?;
    let mut found = Vec::new();
    for token in service.tokens().map_err(isolated)? {
        if token_label.is_some_and(|wanted| wanted != token.label) {
            continue;
        }
        let objects = service.objects(token.token).map_err(isolated)?;
        found.extend(
            objects
                .into_iter()
                .filter(|(_, attributes)| attributes.label == label)
                .map(|(object, attributes)| (token.token, object, attributes)),
        );
    }
    match found.len() {
        1 => Ok(found.swap_remove(0)),
        0 => Err(Error::name(
            name,
            "no token that this user may use has such a key: `millstream key list` shows what there is"
                .to_owned(),
        )),
        _ => Err(Error::name(
            name,
            "more than one key is called so: name its token, as TOKEN/LABEL".to_owned(),
        )),
    }
}

/// Returns the algorithm for which a key of that kind is loaded where none is asked for.
pub(super) fn algorithm(kind: &str, hash: Hash) -> Option<Algorithm> {
    match kind {
        "aes" => Some(Algorithm::AesGcm),
        "chacha20-poly1305" => Some(Algorithm::ChaCha20Poly1305),
        "aes-siv" => Some(Algorithm::AesSiv),
        "fernet" => Some(Algorithm::Fernet),
        "hmac" => Some(millstream::algorithm_of(hash)),
        _ => Hash::from_name(kind.strip_prefix("hmac-")?).map(millstream::algorithm_of),
    }
}

/// Makes the error of a column of an error of the service.
pub(super) fn isolated(error: impl Into<millstream::Error>) -> Error {
    Error::Isolated(error.into())
}
