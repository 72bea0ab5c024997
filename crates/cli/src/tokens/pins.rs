//! The options by which PINs come: from a file or a descriptor, else from the terminal, and never from the command line.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::secret::{self, Prompt, Secret};

/// The option of the user PIN.
#[derive(Default, clap::Args)]
pub struct UserPin {
    /// Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]
    #[arg(long, value_name = "FILE")]
    pin_file: Option<PathBuf>,
}

/// The option of the security officer's PIN.
#[derive(clap::Args)]
pub struct OfficerPin {
    /// Read the security officer's PIN from the first line of a file or a descriptor [default: ask at the terminal]
    #[arg(long, value_name = "FILE")]
    so_pin_file: Option<PathBuf>,
}

/// The prompts for PINs.
pub mod prompt {
    use super::Prompt;

    const REMEDY: &str = "name a file with --pin-file";

    pub const USER: Prompt =
        Prompt { what: "PIN", first: "User PIN: ", again: "User PIN again: ", remedy: REMEDY };
    pub const NEW_USER: Prompt =
        Prompt { what: "PIN", first: "New user PIN: ", again: "New user PIN again: ", remedy: REMEDY };
    pub const SOFTHSM: Prompt = Prompt {
        what: "PIN",
        first: "User PIN in SoftHSM2: ",
        again: "User PIN in SoftHSM2 again: ",
        remedy: "name a file with --softhsm-pin-file",
    };
    pub const OFFICER: Prompt = Prompt {
        what: "PIN",
        first: "Security officer's PIN: ",
        again: "Security officer's PIN again: ",
        remedy: "name a file with --so-pin-file",
    };
    pub const NEW_OFFICER: Prompt = Prompt {
        what: "PIN",
        first: "New security officer's PIN: ",
        again: "New security officer's PIN again: ",
        remedy: "name a file with --new-pin-file",
    };
}

impl UserPin {
    /// Returns the PIN of a token that is there.
    ///
    /// # Errors
    /// [`Error::Secret`] and [`Error::Passphrase`].
    pub fn get(&self) -> Result<Secret, Error> {
        get(self.pin_file.as_deref(), &prompt::USER, false)
    }

    /// Returns the PIN for a new token, for which the terminal asks twice.
    ///
    /// # Errors
    /// As [`UserPin::get`].
    pub fn choose(&self) -> Result<Secret, Error> {
        get(self.pin_file.as_deref(), &prompt::NEW_USER, true)
    }
}

impl OfficerPin {
    /// Returns the PIN of a token that is there.
    ///
    /// # Errors
    /// As [`UserPin::get`].
    pub fn get(&self) -> Result<Secret, Error> {
        get(self.so_pin_file.as_deref(), &prompt::OFFICER, false)
    }

    /// Returns the PIN for a new token, for which the terminal asks twice.
    ///
    /// # Errors
    /// As [`UserPin::get`].
    pub fn choose(&self) -> Result<Secret, Error> {
        let prompt = Prompt { remedy: prompt::OFFICER.remedy, ..prompt::NEW_OFFICER };
        get(self.so_pin_file.as_deref(), &prompt, true)
    }
}

/// Returns the PIN in a file, or what the terminal says.
///
/// # Errors
/// As [`UserPin::get`]. A file that everyone may read is an error, since a PIN is short.
pub fn get(file: Option<&Path>, prompt: &Prompt, twice: bool) -> Result<Secret, Error> {
    let Some(path) = file else { return secret::ask_for(prompt, twice) };
    match secret::pin_file(path)? {
        (pin, None) => Ok(pin),
        (_, Some(exposed)) => {
            let why = exposed.split_once(": ").map_or("", |(_, why)| why).to_owned();
            Err(Error::secret(path, why))
        }
    }
}
