//! The options that name keys, and what a token is to know about a new one.

use std::path::{Path, PathBuf};

use millstream_cpu::Features;
use millstream_files::age;
use millstream_files::certificate::Certificate;
use millstream_files::key::{self, Form as FileForm, Found, Key, Kind, PublicKey};
use millstream_store::{Attributes, Role, usage};

use super::forms::{Kind as KindOption, usage_names};
use crate::commands::{Context, cautions};
use crate::error::Error;
use crate::hex;
use crate::output::Output;
use crate::secret;
use crate::shown;
use crate::tokens::pins::UserPin;
use crate::tokens::{Place, described};

/// A key in a token.
#[derive(clap::Args)]
pub(super) struct InToken {
    /// The label of the token
    #[arg(short = 'T', long, value_name = "TOKEN")]
    pub(super) token: String,
    /// The label of the key, or its identifier
    #[arg(short = 'K', long = "token-key", value_name = "LABEL")]
    pub(super) key: String,
    #[command(flatten)]
    pub(super) pin: UserPin,
    #[command(flatten)]
    pub(super) place: Place,
}

impl InToken {
    /// Returns the attributes of the key, which are authentic.
    fn show(&self) -> Result<Attributes, Error> {
        let mut store = self.place.open()?;
        let mut token = store.token(&self.token, Role::User, &self.pin.get()?)?;
        let object = token.find(&self.key)?;
        token.show(object)
    }

    /// Reads the key, if it may leave its token.
    pub(super) fn export(&self) -> Result<Key, Error> {
        let mut store = self.place.open()?;
        let mut token = store.token(&self.token, Role::User, &self.pin.get()?)?;
        let object = token.find(&self.key)?;
        let attributes = token.show(object)?;
        if !attributes.exportable {
            return Err(Error::Key(format!(
                "key {} was not made exportable, so it stays in its token",
                shown::text(&self.key)
            )));
        }
        let unknown = || {
            Error::Usage(format!(
                "key {:?} is of the kind {:?}, which a newer millstream knows",
                self.key, attributes.kind
            ))
        };
        let kind = Kind::named(&attributes.kind).ok_or_else(unknown)?;
        let secret = token.export(object)?;
        Key::new(Features::active()?, kind, &secret).map_err(|error| Error::in_format(error, &self.key, ""))
    }
}

/// The part of a key that may be seen.
pub(super) struct Seen {
    pub(super) attributes: Attributes,
    /// The public key; none for keys without one.
    pub(super) public: Option<PublicKey>,
    /// True when there is nothing but a public key.
    pub(super) is_public: bool,
    /// The name of the key in messages.
    name: String,
}

impl Seen {
    /// Looks at the key of a file.
    fn of(found: Found) -> Result<Self, Error> {
        let name = "the key".to_owned();
        match found {
            Found::Key(key) => {
                let features = Features::active()?;
                let asked = Attributes { exportable: true, ..Attributes::default() };
                let attributes = described(features, &key, &asked)?;
                let public = key.kind().is_pair().then(|| key.public(features)).transpose();
                let public = public.map_err(|error| Error::in_format(error, "the key", ""))?;
                Ok(Seen { attributes, public, is_public: false, name })
            }
            Found::Public(public) => {
                let attributes =
                    Attributes { kind: public.kind().name().to_owned(), ..Attributes::default() };
                Ok(Seen { attributes, public: Some(public), is_public: true, name })
            }
        }
    }

    /// Returns the public key.
    pub(super) fn public(self) -> Result<PublicKey, Error> {
        let none = || {
            millstream_files::Error::Key(format!(
                "{} has no public keys: the same key does both",
                self.attributes.kind
            ))
        };
        self.public.ok_or_else(|| Error::in_format(none(), &self.name, ""))
    }
}

/// A key in a file or in a token.
#[derive(clap::Args)]
pub(super) struct Source {
    /// The file of the key
    #[arg(conflicts_with = "token", required_unless_present = "token", value_name = "FILE")]
    file: Option<PathBuf>,
    /// The kind of key, if the file holds its bytes alone
    #[arg(long, value_enum, value_name = "KIND", conflicts_with = "token")]
    raw: Option<KindOption>,
    /// The label of the token
    #[arg(short = 'T', long, value_name = "TOKEN", requires = "key")]
    token: Option<String>,
    /// The label of the key in the token, or its identifier
    #[arg(short = 'K', long = "token-key", id = "key", value_name = "LABEL", requires = "token")]
    key: Option<String>,
    #[command(flatten)]
    pin: UserPin,
    #[command(flatten)]
    place: Place,
}

impl Source {
    /// Returns the public part as a file of this form. That of an identity file of age is its recipients, one a line.
    pub(super) fn public(self, context: &Context, form: FileForm) -> Result<Vec<u8>, Error> {
        let seen = match &self.file {
            // The file is read once, because it may be a pipe.
            Some(path) => {
                let (bytes, exposed) = secret::key_file(path)?;
                if age::is_identity_file(&bytes) {
                    exposed.into_iter().for_each(|exposed| context.warn(exposed));
                    return recipients(path, &bytes);
                }
                Seen::of(found(context, path, &bytes, exposed, self.raw.map(Kind::from))?)?
            }
            None => self.see(context)?,
        };
        seen.public()?.write(form).map_err(|error| Error::in_format(error, "the key", ""))
    }

    /// Looks at the key.
    pub(super) fn see(self, context: &Context) -> Result<Seen, Error> {
        if let (Some(token), Some(key)) = (self.token, self.key) {
            let key = InToken { token, key, pin: self.pin, place: self.place };
            let (features, attributes) = (Features::active()?, key.show()?);
            // The public key of a certificate may be of a kind that no key here has.
            let has_public = !attributes.public_key.is_empty() && attributes.certificate().is_none();
            let public = has_public
                .then(|| PublicKey::from_spki(features, &attributes.public_key))
                .transpose()
                .map_err(|error| Error::in_format(error, &key.key, ""))?;
            return Ok(Seen { attributes, public, is_public: false, name: key.key });
        }
        let path = self.file.expect("a file or a token is required");
        Seen::of(read_file(context, &path, self.raw.map(Kind::from))?)
    }
}

/// Returns the recipients of an identity file, one a line.
fn recipients(path: &Path, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let (features, failed) = (Features::active()?, |error| Error::secret(path, error));
    let mut lines = String::new();
    for identity in age::identities(bytes).map_err(failed)? {
        lines.push_str(&identity.recipient(features).map_err(failed)?.to_line());
        lines.push('\n');
    }
    Ok(lines.into_bytes())
}

/// Reads a key file.
pub(super) fn read_file(context: &Context, path: &Path, raw: Option<Kind>) -> Result<Found, Error> {
    let (bytes, exposed) = secret::key_file(path)?;
    found(context, path, &bytes, exposed, raw)
}

/// The contents of a file that are brought into a token.
pub(super) enum Imported {
    Key(Key),
    Certificate(Box<Certificate>),
}

/// Reads a file with a key or a certificate. Where it has both, the key is meant.
pub(super) fn read_import(context: &Context, path: &Path, raw: Option<Kind>) -> Result<Imported, Error> {
    let (bytes, exposed) = secret::key_file(path)?;
    let has_key = raw.is_some() || bytes.windows(PRIVATE.len()).any(|part| part == PRIVATE);
    if !has_key {
        let certificate = Certificate::read(&bytes).map_err(|error| Error::secret(path, error))?;
        if let Some(certificate) = certificate {
            return Ok(Imported::Certificate(Box::new(certificate)));
        }
    }
    match found(context, path, &bytes, exposed, raw)? {
        Found::Key(key) => Ok(Imported::Key(key)),
        Found::Public(_) => Err(Error::secret(path, "a public key, which needs no token")),
    }
}

/// The end of the first line of every private key in PEM.
const PRIVATE: &[u8] = b"PRIVATE KEY-----";

/// Finds the key in a file's bytes, and warns if others may read a private one.
fn found(
    context: &Context,
    path: &Path,
    bytes: &[u8],
    exposed: Option<String>,
    raw: Option<Kind>,
) -> Result<Found, Error> {
    let found = key::read(Features::active()?, bytes, raw).map_err(|error| Error::secret(path, error))?;
    if let (Found::Key(_), Some(exposed)) = (&found, exposed) {
        context.warn(exposed);
    }
    Ok(found)
}

/// The options of a key that is new in a token.
#[derive(clap::Args)]
pub(super) struct Rules {
    /// The uses of the key, with commas: encrypt, decrypt, sign, verify, derive, wrap, unwrap [default: all that its kind does]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    usages: Vec<String>,
    /// Let the key leave the token again
    #[arg(long)]
    exportable: bool,
    /// An identifier of the application's, in hexadecimal, as PKCS #11's CKA_ID
    #[arg(long, value_name = "HEX", value_parser = hexadecimal)]
    id: Option<Identifier>,
}

/// An identifier's bytes.
#[derive(Clone, Debug)]
struct Identifier(Vec<u8>);

fn hexadecimal(text: &str) -> Result<Identifier, String> {
    match hex::read(text) {
        Some(id) if (1..=255).contains(&id.len()) => Ok(Identifier(id)),
        _ => Err("1 to 255 bytes in hexadecimal".to_owned()),
    }
}

impl Rules {
    /// Returns true if any of the options is given.
    pub(super) fn are_given(&self) -> bool {
        !self.usages.is_empty() || self.exportable || self.id.is_some()
    }

    /// Returns the identifier that a certificate is to have, empty for none.
    pub(super) fn of_certificate(&self) -> Result<Vec<u8>, Error> {
        if !self.usages.is_empty() || self.exportable {
            return Err(Error::Usage(
                "a certificate is public and has no usages; leave --usages and --exportable out".into(),
            ));
        }
        Ok(self.id.as_ref().map_or_else(Vec::new, |Identifier(id)| id.clone()))
    }

    /// Returns what is asked of a new key.
    pub(super) fn asked(&self, kind: Kind, label: &str) -> Result<Attributes, Error> {
        let mut attributes = Attributes {
            label: label.to_owned(),
            kind: kind.name().to_owned(),
            exportable: self.exportable,
            ..Attributes::default()
        };
        if let Some(Identifier(id)) = &self.id {
            attributes.id.clone_from(id);
        }
        for name in &self.usages {
            let bit = usage::NAMES.iter().position(|known| known == name).map(|bit| 1 << bit);
            let allowed = usage::of_kind(kind.name());
            attributes.usages |= bit.filter(|bit| bit & allowed != 0).ok_or_else(|| {
                Error::Usage(format!("--usages {name}: keys of {kind} have {}", usage_names(allowed)))
            })?;
        }
        Ok(attributes)
    }
}

/// The output for a secret: a new file that its owner alone can read, or standard output if that is no terminal.
pub(super) fn secret_output(path: Option<&Path>) -> Result<Output, Error> {
    use std::io::IsTerminal;
    match cautions::file(path) {
        Some(path) => Output::fresh(path),
        None if path.is_none() && std::io::stdout().is_terminal() => Err(Error::Usage(
            "standard output is a terminal; name a file with -o, or insist with '-o -'".into(),
        )),
        None => Output::standard(),
    }
}
