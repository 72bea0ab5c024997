//! The URIs that name keys of tokens: `millstream:TOKEN/LABEL` and RFC 7512's `pkcs11:`.
//!
//! | part | `millstream:` | `pkcs11:` |
//! | --- | --- | --- |
//! | token | before the slash | `token`, or `serial` |
//! | key | behind the slash: a label, or `id=` and hexadecimal digits | `object`, `id` |
//! | public part alone, certificates alone | `?type=public`, `?type=cert` | `type=public`, `type=cert` |
//! | PIN | `?pin-source=FILE`, `?pin-value=PIN` | the same |
//!
//! Ref. RFC 7512 §2.3 to §2.5, RFC 3986 §2.1 (bytes as `%` and two digits).

use std::path::PathBuf;

use millstream::isolated::token::{Attributes, TokenStatus};
use zeroize::Zeroizing;

use crate::error::{Reason, Result};

/// The keys that a URI names.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Uri {
    token: Option<String>,
    serial: Option<String>,
    label: Option<String>,
    id: Option<Vec<u8>>,
    /// The kind of objects that are wanted alone.
    only: Option<Only>,
    pub pin: Option<Pin>,
    /// True for the scheme whose URIs without a key name all keys of a token.
    lists: bool,
}

/// A kind of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Only {
    Private,
    Public,
    Certificates,
}

/// The place of a PIN that is not asked for.
#[derive(Debug, PartialEq, Eq)]
pub enum Pin {
    Value(Zeroizing<Vec<u8>>),
    File(PathBuf),
}

fn wrong(why: impl std::fmt::Display) -> Reason {
    Reason::INVALID_DATA.because(format!(
        "{why}: a key is named as millstream:TOKEN/LABEL or pkcs11:token=TOKEN;object=LABEL, with ?pin-source=FILE behind it"
    ))
}

/// Turns `%` and two digits into bytes.
fn decoded(text: &str) -> Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len()));
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
                let (high, low) = digit().zip(digit()).ok_or_else(|| wrong("% without two digits"))?;
                (high << 4 | low) as u8
            }
            byte => byte,
        });
    }
    Ok(bytes)
}

fn text_of(part: &str) -> Result<String> {
    String::from_utf8(decoded(part)?.to_vec()).map_err(|_| wrong("a name that is not UTF-8"))
}

/// Reads hexadecimal digits.
fn hexadecimal(digits: &str) -> Result<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(text, 16).ok()
    };
    pairs.map(byte).collect::<Option<_>>().ok_or_else(|| wrong("an identifier that is not hexadecimal"))
}

impl Uri {
    /// Reads a URI.
    ///
    /// # Errors
    /// [`Reason::INVALID_DATA`] for one that names no key.
    pub fn read(uri: &str) -> Result<Self> {
        let (scheme, rest) = uri.split_once(':').ok_or_else(|| wrong("no scheme"))?;
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut read = Uri::default();
        match &*scheme.to_ascii_lowercase() {
            "millstream" => read.path(path)?,
            "pkcs11" => {
                for part in path.split(';').filter(|part| !part.is_empty()) {
                    read.attribute(part)?;
                }
            }
            _ => return Err(wrong(format!("the scheme {scheme}"))),
        }
        for part in query.split('&').filter(|part| !part.is_empty()) {
            read.query(part)?;
        }
        Ok(read)
    }

    fn path(&mut self, path: &str) -> Result<()> {
        let (token, key) = path.split_once('/').unwrap_or((path, ""));
        let token = text_of(token)?;
        if token.is_empty() {
            return Err(wrong("no token"));
        }
        self.token = Some(token);
        match key.strip_prefix("id=") {
            Some(id) => self.id = Some(hexadecimal(id)?),
            None if key.is_empty() => self.lists = true,
            None => self.label = Some(text_of(key)?),
        }
        Ok(())
    }

    fn attribute(&mut self, part: &str) -> Result<()> {
        let (name, value) = part.split_once('=').ok_or_else(|| wrong(format!("{part} without a value")))?;
        match name {
            "token" => self.token = Some(text_of(value)?),
            "serial" => self.serial = Some(text_of(value)?),
            "object" => self.label = Some(text_of(value)?),
            "id" => self.id = Some(decoded(value)?.to_vec()),
            "type" => self.type_of(value)?,
            // These are the module's own, and the same for all of its tokens.
            "manufacturer"
            | "model"
            | "library-manufacturer"
            | "library-description"
            | "library-version"
            | "slot-id"
            | "slot-manufacturer"
            | "slot-description" => {}
            // A consumer refuses attributes that it does not know (§2.3).
            _ => return Err(wrong(format!("the attribute {name} is not known"))),
        }
        Ok(())
    }

    fn query(&mut self, part: &str) -> Result<()> {
        let (name, value) = part.split_once('=').ok_or_else(|| wrong(format!("{part} without a value")))?;
        match name {
            "pin-value" => self.pin = Some(Pin::Value(decoded(value)?)),
            "pin-source" => {
                let path = text_of(value)?;
                if path.starts_with('|') {
                    return Err(wrong("a PIN from a program is not taken"));
                }
                let path = path.strip_prefix("file://").or(path.strip_prefix("file:")).unwrap_or(&path);
                self.pin = Some(Pin::File(path.into()));
            }
            "type" => self.type_of(value)?,
            "module-name" | "module-path" => {}
            _ => return Err(wrong(format!("the attribute {name} is not known"))),
        }
        Ok(())
    }

    fn type_of(&mut self, value: &str) -> Result<()> {
        self.only = Some(match value {
            "private" => Only::Private,
            "public" => Only::Public,
            "cert" => Only::Certificates,
            _ => return Err(wrong(format!("objects of the type {value} are not loaded here"))),
        });
        // A token alone with a type means all of that type.
        self.lists &= value != "cert";
        Ok(())
    }

    /// Tells whether the URI names a token alone, whose keys are to be listed.
    pub fn lists(&self) -> bool {
        self.lists
    }

    /// Tells whether public parts alone are wanted.
    pub fn wants_public(&self) -> bool {
        self.only == Some(Only::Public)
    }

    /// Tells whether keys may be meant.
    pub fn takes_keys(&self) -> bool {
        self.only != Some(Only::Certificates)
    }

    /// Tells whether certificates may be meant.
    pub fn takes_certificates(&self) -> bool {
        matches!(self.only, None | Some(Only::Certificates))
    }

    /// Tells whether the URI can mean that token.
    pub fn names_token(&self, token: &TokenStatus) -> bool {
        let serial = format!("{:032x}", token.token);
        self.token.as_ref().is_none_or(|label| *label == token.label)
            && self.serial.as_ref().is_none_or(|given| *given == serial || *given == serial[..16])
    }

    /// Tells whether the URI can mean that object.
    pub fn names_object(&self, object: &Attributes) -> bool {
        self.label.as_ref().is_none_or(|label| *label == object.label)
            && self.id.as_ref().is_none_or(|id| *id == object.id)
    }
}

/// Returns the URI of a key, without a PIN.
pub fn of_key(token: &str, label: &str) -> String {
    let encode = |text: &str| -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        text.bytes()
            .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
            .collect()
    };
    format!("millstream:{}/{}", encode(token), encode(label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_schemes_name_tokens_keys_and_pins() {
        let ours = Uri::read("millstream:web%20shop/server?pin-source=file:/run/pin").unwrap();
        let theirs =
            Uri::read("pkcs11:token=web%20shop;object=server?pin-source=file:///run/pin&module-name=p11")
                .unwrap();
        assert_eq!(ours, theirs);
        assert_eq!(ours.pin, Some(Pin::File("/run/pin".into())));
        let by_id = Uri::read("pkcs11:token=web;id=%01%ab;type=private?pin-value=12%333").unwrap();
        assert_eq!((by_id.id, by_id.only), (Some(vec![1, 0xab]), Some(Only::Private)));
        let certificates = Uri::read("pkcs11:token=web;type=cert").unwrap();
        assert!(certificates.takes_certificates() && !certificates.takes_keys());
        assert!(!Uri::read("millstream:web?type=cert").unwrap().lists());
        assert!(ours.takes_keys() && ours.takes_certificates());
        assert_eq!(by_id.pin, Some(Pin::Value(Zeroizing::new(b"1233".to_vec()))));
        assert_eq!(Uri::read("millstream:web/id=01ab").unwrap().id, Some(vec![1, 0xab]));
        assert!(Uri::read("millstream:web").unwrap().lists() && !ours.lists());
        assert_eq!(of_key("web shop", "a/b"), "millstream:web%20shop/a%2Fb");
        assert_eq!(Uri::read(&of_key("é", "a/b?c")).unwrap().label.as_deref(), Some("a/b?c"));
    }

    #[test]
    fn what_can_not_be_understood_is_refused() {
        for uri in [
            "web/server",
            "file:web",
            "millstream:",
            "millstream:/server",
            "millstream:web/%4",
            "millstream:web/%ff",
            "millstream:web/id=0g",
            "millstream:web/id=012",
            "millstream:web/server?pin=1",
            "pkcs11:token",
            "pkcs11:token=web;colour=red",
            "pkcs11:type=secret-key",
            "pkcs11:token=web?pin-source=|cat",
        ] {
            let why = Uri::read(uri).unwrap_err();
            assert!(why.detail.unwrap().contains("millstream:TOKEN/LABEL"), "{uri}");
        }
    }
}
