//! The place of the tokens: a store that this process opens itself, if the configuration asks for it.
//!
//! `MILLSTREAM_STORE` names the store's folder, as for `millstream token`. Without it a line `store = "FOLDER"` does, in
//! `millstream/pkcs11.toml` below `XDG_CONFIG_HOME` (`~/.config`) or in `/etc/millstream/pkcs11.toml`. Where neither names one, there are no
//! slots. A process with more rights than its user reads nothing but `/etc`.

use std::path::{Path, PathBuf};

use cryptoki_sys::CKR_GENERAL_ERROR;
use millstream::isolated::environment;

use crate::refusal::{Outcome, refuse};

/// The name of the configuration below the folders of configurations.
const FILE: &str = "millstream/pkcs11.toml";

/// Returns the folder of the store; none when nothing names one.
///
/// # Errors
/// `CKR_GENERAL_ERROR` for a configuration that can't be read. A line to standard error says why.
pub fn store() -> Outcome<Option<PathBuf>> {
    let variable = |name| environment(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = variable("MILLSTREAM_STORE") {
        return Ok(Some(folder));
    }
    let home = || Some(variable("HOME")?.join(".config"));
    let own = variable("XDG_CONFIG_HOME").or_else(home);
    for folder in own.into_iter().chain([PathBuf::from("/etc")]) {
        let path = folder.join(FILE);
        match std::fs::read_to_string(&path) {
            Ok(text) => return read(&path, &text).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return complain(&path, &error.to_string()),
        }
    }
    Ok(None)
}

/// Reads the configuration: lines `store = "FOLDER"`, empty lines and comments.
fn read(path: &Path, text: &str) -> Outcome<PathBuf> {
    let mut store = None;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let value =
            line.split_once('=').filter(|(name, _)| name.trim() == "store").map(|(_, value)| value.trim());
        let folder = value.and_then(|value| value.strip_prefix('"')?.strip_suffix('"'));
        match folder {
            Some(folder) if folder.starts_with('/') && !folder.contains(['"', '\\']) => {
                store = Some(folder.into())
            }
            _ => return complain(path, &format!("'{line}' is not of the form store = \"/FOLDER\"")),
        }
    }
    match store {
        Some(store) => Ok(store),
        None => complain(path, "no line names a store, as store = \"/FOLDER\" does"),
    }
}

fn complain<T>(path: &Path, why: &str) -> Outcome<T> {
    eprintln!("libmillstream-pkcs11: {}: {why}", path.display());
    refuse(CKR_GENERAL_ERROR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_names_one_folder_or_is_refused() {
        let path = Path::new("pkcs11.toml");
        let good = "# tokens\n\n store = \"/var/lib/millstream\" \n";
        assert_eq!(read(path, good), Ok(PathBuf::from("/var/lib/millstream")));
        for bad in ["", "store = tokens", "store = \"tokens\"", "shop = \"/x\"", "store \"/x\""] {
            assert_eq!(read(path, bad), refuse(CKR_GENERAL_ERROR), "{bad}");
        }
    }
}
