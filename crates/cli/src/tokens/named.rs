//! Keys of a token by the names that users give: a label, an application's identifier, or the object's own.
//!
//! A token can have other objects beside keys, which programs with PKCS #11 put there under the same label: public keys, certificates and data.

use millstream_store::vault::Session;
use millstream_store::{Error as StoreError, ObjectId, Token};

use crate::error::Error;
use crate::{hex, shown};

/// Returns the key with that label, else with that identifier of an application in hexadecimal, else the object that has it as its own.
///
/// # Errors
/// [`Error::Store`]: there is none, or there are several.
pub fn find(token: &mut Token<'_, impl Session>, name: &str) -> Result<ObjectId, Error> {
    let labelled = token.file().labelled(token.id(), name)?.to_vec();
    let mut found = keys_of(token, labelled)?;
    if found.is_empty()
        && let Some(id) = hex::read(name).filter(|id| !id.is_empty())
    {
        let identified = token.file().identified(token.id(), &id)?.to_vec();
        found = keys_of(token, identified)?;
    }
    match found[..] {
        [] => Ok(token.find(name)?),
        [key] => Ok(key),
        _ => Err(StoreError::Ambiguous(name.to_owned()).into()),
    }
}

/// Refuses a label that a key has already.
///
/// # Errors
/// [`Error::Key`].
pub fn is_free(token: &mut Token<'_, impl Session>, label: &str) -> Result<(), Error> {
    let labelled = token.file().labelled(token.id(), label)?.to_vec();
    if keys_of(token, labelled)?.is_empty() {
        return Ok(());
    }
    let label = shown::text(label);
    Err(Error::Key(format!(
        "the token has a key {label} already; choose another label, or remove that one first"
    )))
}

/// Returns those of the objects that are keys.
fn keys_of(token: &mut Token<'_, impl Session>, objects: Vec<ObjectId>) -> Result<Vec<ObjectId>, Error> {
    let mut keys = Vec::new();
    for object in objects {
        let (attributes, _) = token.read(object)?;
        let kind = attributes.kind.as_str();
        if !kind.ends_with(" public") && !["certificate", "data"].contains(&kind) {
            keys.push(object);
        }
    }
    Ok(keys)
}
