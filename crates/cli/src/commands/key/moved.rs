//! `millstream key generate`, `import`, `export` and `copy`: keys that come to be somewhere.

use std::path::PathBuf;

use millstream_cpu::Features;
use millstream_files::key::Key;
use millstream_store::Role;

use super::forms::{self, Form, Kind};
use super::options::{Imported, InToken, Rules, read_import, secret_output};
use crate::commands::Context;
use crate::error::Error;
use crate::tokens::pins::UserPin;
use crate::tokens::{self, Place};

/// Make a key in a token, or in a file
#[derive(clap::Args)]
pub(super) struct Generate {
    /// The kind of key
    #[arg(value_enum)]
    kind: Kind,
    /// The key's length in bits [default: 256, and 3072 for rsa]
    #[arg(short = 'b', long, value_name = "BITS")]
    bits: Option<usize>,
    /// The file to make in place of a key in a token; without both, standard output, unless that is a terminal
    #[arg(short = 'o', long, value_name = "FILE", conflicts_with_all = ["token", "label"])]
    output: Option<PathBuf>,
    /// The form of the file [default: pem, and raw for keys without a public part]
    #[arg(long, value_enum, conflicts_with = "token")]
    form: Option<Form>,
    /// The label of the token
    #[arg(short = 'T', long, value_name = "TOKEN", requires = "label")]
    token: Option<String>,
    /// The label for the key
    #[arg(short = 'K', long = "token-key", id = "label", value_name = "LABEL", requires = "token")]
    label: Option<String>,
    #[command(flatten)]
    rules: Rules,
    #[command(flatten)]
    pin: UserPin,
    #[command(flatten)]
    place: Place,
}

impl Generate {
    pub(super) fn run(self) -> Result<(), Error> {
        let (Some(token), Some(label)) = (self.token, self.label) else {
            if self.rules.are_given() {
                return Err(Error::Usage(
                    "a file knows no usages and no identifier; leave these options out".into(),
                ));
            }
            // The key is made when there is a place for it.
            let output = secret_output(self.output.as_deref())?;
            let form = self.form.map_or_else(|| forms::usual(self.kind.into()), Into::into);
            let features = Features::active()?;
            let key = Key::generate(features, self.kind.into(), self.bits).map_err(tokens::unmade)?;
            return output.save(key.write(features, form).map_err(tokens::unmade)?);
        };
        let asked = self.rules.asked(self.kind.into(), &label)?;
        let mut store = self.place.open()?;
        let mut token = store.token(&token, Role::User, &self.pin.get()?)?;
        token.generate(self.kind.into(), self.bits, &asked)
    }
}

/// Bring the key or the certificate of a file into a token
///
/// The file stays as it is; remove it when the key is to be nowhere else. A certificate gets the identifier of the key that it certifies, if the token has that
/// one and --id says no other.
#[derive(clap::Args)]
pub(super) struct Import {
    /// The file: PKCS#8, SEC 1 or PKCS#1 in PEM or DER, a JSON Web Key, a keyset of Tink, or an X.509 certificate in PEM or DER
    file: PathBuf,
    /// The kind of key, if the file holds its bytes alone
    #[arg(long, value_enum, value_name = "KIND")]
    raw: Option<Kind>,
    /// The label of the token
    #[arg(short = 'T', long, value_name = "TOKEN")]
    token: String,
    /// The label for the key or the certificate
    #[arg(short = 'K', long = "token-key", value_name = "LABEL")]
    label: String,
    #[command(flatten)]
    rules: Rules,
    #[command(flatten)]
    pin: UserPin,
    #[command(flatten)]
    place: Place,
}

impl Import {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        let key = match read_import(context, &self.file, self.raw.map(Into::into))? {
            Imported::Key(key) => key,
            Imported::Certificate(certificate) => {
                let id = self.rules.of_certificate()?;
                let mut store = self.place.open()?;
                let mut token = store.token(&self.token, Role::User, &self.pin.get()?)?;
                return token.import_certificate(&self.label, &id, &certificate);
            }
        };
        let asked = self.rules.asked(key.kind(), &self.label)?;
        let mut store = self.place.open()?;
        let mut token = store.token(&self.token, Role::User, &self.pin.get()?)?;
        token.import(key.kind(), key.secret(), &asked)
    }
}

/// Write a key of a token to a file, if it may leave the token
#[derive(clap::Args)]
pub(super) struct Export {
    #[command(flatten)]
    key: InToken,
    /// The file to make; without it, standard output, unless that is a terminal
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The form of the file [default: pem, and raw for keys without a public part]
    #[arg(long, value_enum)]
    form: Option<Form>,
}

impl Export {
    pub(super) fn run(self) -> Result<(), Error> {
        let key = self.key.export()?;
        let output = secret_output(self.output.as_deref())?;
        let form = self.form.map_or_else(|| forms::usual(key.kind()), Into::into);
        output.save(key.write(Features::active()?, form).map_err(tokens::unmade)?)
    }
}

/// Copy a key within a token, or to another one
#[derive(clap::Args)]
pub(super) struct Copy {
    #[command(flatten)]
    key: InToken,
    /// The token for the copy [default: the same]
    #[arg(long, value_name = "TOKEN")]
    to_token: Option<String>,
    /// The label of the copy [default: the same]
    #[arg(long, value_name = "LABEL")]
    to_label: Option<String>,
    /// Read the user PIN of the other token from the first line of a file or a descriptor [default: ask at the terminal]
    #[arg(long, value_name = "FILE", requires = "to_token")]
    to_pin_file: Option<PathBuf>,
}

impl Copy {
    pub(super) fn run(self) -> Result<(), Error> {
        use crate::tokens::pins::{self, prompt};
        if self.to_token.is_none() && self.to_label.is_none() {
            return Err(Error::Usage(
                "name another token with --to-token, or another label with --to-label".into(),
            ));
        }
        let pin = self.key.pin.get()?;
        let mut store = self.key.place.open()?;
        let to = self.to_token.filter(|other| *other != self.key.token);
        let to = to
            .map(|other| {
                Ok::<_, Error>((other, pins::get(self.to_pin_file.as_deref(), &prompt::USER, false)?))
            })
            .transpose()?;
        let to = to.as_ref().map(|(other, pin)| (other.as_str(), pin));
        tokens::copy(&mut store, (&self.key.token, &pin, &self.key.key), to, self.to_label)
    }
}
