//! The options that name keys, and what a token is to know about a new one.

use std::path::{Path, PathBuf};

use millstream_cpu::Features;
use millstream_files::key::{self, Found, Key, Kind, PublicKey};
use millstream_store::{Attributes, Role, usage};

use super::forms::{Kind as KindOption, usage_names, usages_of};
use crate::commands::{Context, cautions};
use crate::error::Error;
use crate::hex;
use crate::output::Output;
use crate::secret;
use crate::tokens::pins::UserPin;
use crate::tokens::{Place, named};

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
    /// Reads the key, and authenticates it.
    pub(super) fn read(&self) -> Result<(Attributes, Key), Error> {
        let mut store = self.place.open()?;
        let features = store.features;
        let mut token = store.token(&self.token, Role::User, &self.pin.get()?)?;
        let object = named::find(&mut token, &self.key)?;
        let (attributes, secret) = token.read(object)?;
        let unknown = || {
            Error::Usage(format!(
                "key {:?} is of the kind {:?}, which a newer millstream knows",
                self.key, attributes.kind
            ))
        };
        let kind = Kind::named(&attributes.kind).ok_or_else(unknown)?;
        let key =
            Key::new(features, kind, &secret).map_err(|error| Error::in_format(error, &self.key, ""))?;
        Ok((attributes, key))
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
    /// Reads the key, with its attributes if it is in a token.
    pub(super) fn read(self, context: &Context) -> Result<(Option<Attributes>, Found), Error> {
        if let (Some(token), Some(key)) = (self.token, self.key) {
            let (attributes, key) = InToken { token, key, pin: self.pin, place: self.place }.read()?;
            return Ok((Some(attributes), Found::Key(key)));
        }
        let path = self.file.expect("a file or a token is required");
        Ok((None, read_file(context, &path, self.raw.map(Kind::from))?))
    }
}

/// Reads a key file.
pub(super) fn read_file(context: &Context, path: &Path, raw: Option<Kind>) -> Result<Found, Error> {
    let (bytes, exposed) = secret::key_file(path)?;
    let found = key::read(Features::active()?, &bytes, raw).map_err(|error| Error::secret(path, error))?;
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

    /// Applies the options to the attributes of a new key.
    pub(super) fn apply(&self, kind: Kind, attributes: &mut Attributes) -> Result<(), Error> {
        attributes.exportable = self.exportable;
        if let Some(Identifier(id)) = &self.id {
            attributes.id.clone_from(id);
        }
        if self.usages.is_empty() {
            return Ok(());
        }
        attributes.usages = 0;
        for name in &self.usages {
            let bit = usage::NAMES.iter().position(|known| known == name).map(|bit| 1 << bit);
            let allowed = usages_of(kind);
            attributes.usages |= bit.filter(|bit| bit & allowed != 0).ok_or_else(|| {
                Error::Usage(format!("--usages {name}: keys of {kind} have {}", usage_names(allowed)))
            })?;
        }
        Ok(())
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

/// Returns the public key of what was found.
pub(super) fn public_of(features: Features, found: &Found) -> Result<PublicKey, Error> {
    match found {
        Found::Public(public) => Ok(public.clone()),
        Found::Key(key) => key.public(features).map_err(|error| Error::in_format(error, "the key", "")),
    }
}
