//! `millstream token seal`: has the machine's TPM seal the device secret of a store.

use std::path::{Path, PathBuf};
use std::time::Duration;

use millstream_store::file::File;
use millstream_store::tpm::{self, Pcrs, Tpm};
use millstream_store::{DeviceSecret, Error as StoreError, folder};

use crate::error::Error;
use crate::tokens::Place;

/// The longest time for which another process may be writing to the store.
const PATIENCE: Duration = Duration::from_secs(30);

/// Have this machine's TPM seal the device secret of a store
///
/// Afterwards no other machine opens the tokens, whoever copies the folder, and the secret is in no file beside them. Without a copy of the secret
/// they are lost together with the TPM. Where there is no store yet, a new secret is made for it.
#[derive(clap::Args)]
pub(super) struct Seal {
    #[command(flatten)]
    copies: Copies,
    /// Seal it to the values that these PCRs have now, as 7 or 0,7: another firmware or boot loader does not get it
    #[arg(long, value_name = "PCRS")]
    pcrs: Option<Pcrs>,
    #[command(flatten)]
    place: Place,
}

/// The copy of the secret, about which nobody may keep silent.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct Copies {
    /// Write a copy of the secret into this new file first, which is to be kept in a safe place elsewhere
    #[arg(long, value_name = "FILE")]
    copy: Option<PathBuf>,
    /// Make no copy: there is one already, or the tokens may end with the TPM
    #[arg(long)]
    no_copy: bool,
    /// Seal this copy of the secret, on another machine or after the TPM was cleared
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
}

impl Seal {
    pub(super) fn run(self) -> Result<(), Error> {
        let place = self.place.folder()?;
        let tpm = Tpm::of_machine()?;
        let secret = match &self.copies.from {
            Some(copy) => DeviceSecret::read_copy(copy)?,
            None if has_tokens(&place)? => DeviceSecret::find(&place)?.0,
            None => match DeviceSecret::find(&place) {
                Err(StoreError::DeviceSecret { .. }) => DeviceSecret::random()?,
                found => found?.0,
            },
        };
        folder::make(&place)?;
        if let Some(copy) = &self.copies.copy {
            secret.write_copy(copy)?;
        }
        tpm::seal(&tpm, &place, &secret, self.pcrs.unwrap_or_default())?;
        Ok(())
    }
}

/// Returns true when a store is there that has tokens, which another secret would not open.
fn has_tokens(place: &Path) -> Result<bool, Error> {
    match File::copied_within(&folder::file(place), PATIENCE) {
        Err(StoreError::Missing(_)) => Ok(false),
        file => Ok(file?.tokens().next().is_some()),
    }
}
