//! The options of PKCS #11 tokens.

use std::ffi::OsString;

use crate::error::Error;

/// The options of PKCS #11 tokens, which the Solaris commands have and this program does not support yet.
#[derive(clap::Args)]
pub(crate) struct Token {
    /// The label of a key in a PKCS #11 token (not in this version)
    #[arg(short = 'K', long, value_name = "LABEL", allow_hyphen_values = true)]
    token_key: Option<OsString>,
    /// The token, as `name[:manufacturer[:serial]]` (not in this version)
    #[arg(short = 'T', long, value_name = "TOKEN", allow_hyphen_values = true)]
    token: Option<OsString>,
}

impl Token {
    pub(crate) fn is_given(&self) -> bool {
        self.token_key.is_some() || self.token.is_some()
    }

    /// Applies the rules of the Solaris commands first, and then reports that there are no tokens here.
    pub(crate) fn refuse(&self, with_key_file: bool) -> Result<(), Error> {
        let why = match (&self.token_key, &self.token) {
            (None, None) => return Ok(()),
            (Some(_), _) if with_key_file => "-k and -K can't be used together",
            (None, Some(_)) => "-T needs -K",
            (Some(_), _) => "keys in PKCS #11 tokens are not part of this version; name a key file with -k",
        };
        Err(Error::Usage(why.into()))
    }
}
