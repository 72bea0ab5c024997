//! The local store of tokens: its place, its PINs, and how the commands open it.

pub mod named;
pub mod pins;

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use millstream_cpu::Features;
use millstream_store::vault::{LocalSession, LocalVault};
use millstream_store::{DeviceSecret, Error as StoreError, File, Role, Token};

use crate::error::Error;
use crate::secret::Secret;

/// The name of the store in its folder.
const FILE: &str = "tokens.redb";

/// The longest time to wait for another command that has the store open.
const PATIENCE: Duration = Duration::from_secs(30);

/// The option that names the store.
#[derive(clap::Args)]
pub struct Place {
    /// The folder of the tokens [default: what MILLSTREAM_STORE names, else that of this user, or of the machine for root]
    #[arg(long, value_name = "FOLDER")]
    store: Option<PathBuf>,
}

/// A store that is open, and what opens tokens in it.
pub struct Store {
    pub file: File,
    pub vault: LocalVault,
    pub features: Features,
}

impl Place {
    /// Returns the folder of the store.
    fn folder(&self) -> Result<PathBuf, Error> {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(folder) = self.store.clone().or_else(|| variable("MILLSTREAM_STORE")) {
            return Ok(folder);
        }
        if rustix::process::geteuid().is_root() {
            return Ok("/var/lib/millstream".into());
        }
        let state = variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")));
        let state =
            state.ok_or_else(|| Error::Usage("there is no home; name a folder with --store".into()))?;
        Ok(state.join("millstream"))
    }

    /// Opens the store that is there.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn open(&self) -> Result<Store, Error> {
        let folder = self.folder()?;
        let file = opened(&folder.join(FILE))?;
        let (device, _) = DeviceSecret::find(&folder)?;
        Store::with(file, device)
    }

    /// Opens the store, and makes it, its folder and the device secret if they are not there.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Write`] for the folder.
    pub fn open_or_make(&self) -> Result<Store, Error> {
        let folder = self.folder()?;
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(|source| Error::Write { name: folder.display().to_string(), source })?;
        let path = folder.join(FILE);
        let file = match File::create(&path) {
            Err(StoreError::Exists(_)) => opened(&path)?,
            file => file?,
        };
        // A new secret would open none of the tokens that are there.
        let (device, _) = match file.tokens().next() {
            None => DeviceSecret::find_or_make(&folder)?,
            Some(_) => DeviceSecret::find(&folder)?,
        };
        Store::with(file, device)
    }

    /// Opens the store to look at what needs no PIN.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn look(&self) -> Result<File, Error> {
        opened(&self.folder()?.join(FILE))
    }
}

impl Store {
    fn with(file: File, device: DeviceSecret) -> Result<Self, Error> {
        let features = Features::active()?;
        Ok(Store { file, vault: LocalVault::new(features, device), features })
    }

    /// Opens a token.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn token(&mut self, label: &str, role: Role, pin: &Secret) -> Result<Token<'_, LocalSession>, Error> {
        Ok(Token::open(&mut self.file, &self.vault, label, role, pin)?)
    }
}

/// Opens a store, and waits for a command that has it open.
fn opened(path: &Path) -> Result<File, Error> {
    Ok(File::open_within(path, PATIENCE)?)
}
