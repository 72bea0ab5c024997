//! The options that name a key in a token, as the Solaris commands have them.

use std::path::{Path, PathBuf};

use millstream_files::key::Kind;
use millstream_store::{Role, usage};

use crate::error::Error;
use crate::secret::Secret;
use crate::tokens::pins::UserPin;
use crate::tokens::{Place, named};

/// The options of a key in a token.
#[derive(clap::Args)]
pub(crate) struct Token {
    /// The label of a key in a token, or its identifier
    #[arg(short = 'K', long, value_name = "LABEL", allow_hyphen_values = true)]
    token_key: Option<PathBuf>,
    /// The label of the token [default: the only one there is]
    #[arg(short = 'T', long, value_name = "TOKEN", allow_hyphen_values = true)]
    token: Option<String>,
    #[command(flatten)]
    pin: UserPin,
    #[command(flatten)]
    place: Place,
}

impl Token {
    pub(crate) fn is_given(&self) -> bool {
        self.token_key.is_some() || self.token.is_some()
    }

    /// Applies the rules of the Solaris commands.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub(crate) fn check(&self, with_key_file: bool, with_passphrase: bool) -> Result<(), Error> {
        let why = match (&self.token_key, &self.token) {
            (Some(_), _) if with_key_file => "-k and -K can't be used together",
            (Some(_), _) if with_passphrase => "-K and --passphrase-file can't be used together",
            (None, Some(_)) => "-T needs -K",
            _ => return Ok(()),
        };
        Err(Error::Usage(why.into()))
    }

    /// Returns the label of the key, for messages.
    pub(crate) fn label(&self) -> Option<&Path> {
        self.token_key.as_deref()
    }

    /// Opens the token and returns the bytes of the key, if one is named. It must be a secret key with that usage.
    ///
    /// # Errors
    /// [`Error::Key`] for a key of another kind or for other uses; [`Error::Usage`], [`Error::Store`].
    pub(crate) fn key(&self, wanted: u32) -> Result<Option<Secret>, Error> {
        let Some(label) = &self.token_key else { return Ok(None) };
        let label = label.to_str().ok_or_else(|| Error::Usage("-K: a label is UTF-8".into()))?;
        let mut store = self.place.open()?;
        let token = match &self.token {
            Some(token) => token.clone(),
            None => {
                let labels: Vec<String> = store.file.tokens().map(|token| token.label).collect();
                match &labels[..] {
                    [only] => only.clone(),
                    _ => {
                        return Err(Error::Usage(format!(
                            "there are {} tokens; name one with -T",
                            labels.len()
                        )));
                    }
                }
            }
        };
        let mut token = store.token(&token, Role::User, &self.pin.get()?)?;
        let object = named::find(&mut token, label)?;
        let (attributes, secret) = token.read(object)?;
        if Kind::named(&attributes.kind).is_some_and(Kind::is_pair) {
            let why = format!("key {label} is of the kind {}, and a secret key is wanted", attributes.kind);
            return Err(Error::Key(why));
        }
        if attributes.usages & wanted == 0 {
            let name = usage::NAMES[wanted.trailing_zeros() as usize];
            let why = format!("key {label} was not made to {name}: it has no such usage");
            return Err(Error::Key(why));
        }
        Ok(Some(secret))
    }
}
