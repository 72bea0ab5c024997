//! Keys of a token by the names that users give: a label, an application's identifier, or the object's own.
//!
//! A token can have other objects beside keys, which programs with PKCS #11 put there under the same label: public keys, certificates and data.

use millstream_store::{Attributes, CERTIFICATE, Error as StoreError, ObjectId};

use crate::error::Error;
use crate::{hex, shown};

/// Returns true if an object is a key that does something.
pub(super) fn is_key(attributes: &Attributes) -> bool {
    let kind = attributes.kind.as_str();
    !kind.ends_with(" public") && ![CERTIFICATE, "data"].contains(&kind)
}

/// Returns the identifier of an application that a name can be.
pub(super) fn identifier(name: &str) -> Option<Vec<u8>> {
    hex::read(name).filter(|id| !id.is_empty())
}

/// Returns the key that has a name, if any has.
///
/// # Errors
/// [`StoreError::Ambiguous`]: there are several.
pub(super) fn only(name: &str, keys: &[ObjectId]) -> Result<Option<ObjectId>, Error> {
    match keys {
        [] => Ok(None),
        [key] => Ok(Some(*key)),
        _ => Err(StoreError::Ambiguous(name.to_owned()).into()),
    }
}

/// Returns what a certificate is to have in a token with these objects: the identifier of the key that it certifies, if it was given none.
///
/// # Errors
/// [`Error::Key`]: the token has the certificate already.
pub(super) fn certificate(asked: &Attributes, objects: &[(ObjectId, Attributes)]) -> Result<Vec<u8>, Error> {
    let is_same = |is: &Attributes| is.certificate().is_some() && is.certificate() == asked.certificate();
    if let Some((_, is)) = objects.iter().find(|(_, is)| is_same(is)) {
        let label = shown::text(&is.label);
        return Err(Error::Key(format!("the token has this certificate already, with the label {label}")));
    }
    let of_key = objects.iter().find(|(_, is)| is_key(is) && is.public_key == asked.public_key);
    Ok(of_key.filter(|_| asked.id.is_empty()).map_or_else(|| asked.id.clone(), |(_, is)| is.id.clone()))
}

/// Refuses a label that keys have already.
///
/// # Errors
/// [`Error::Key`].
pub(super) fn is_free(label: &str, keys: &[ObjectId]) -> Result<(), Error> {
    if keys.is_empty() {
        return Ok(());
    }
    let label = shown::text(label);
    Err(Error::Key(format!(
        "the token has a key {label} already; choose another label, or remove that one first"
    )))
}
