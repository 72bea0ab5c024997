//! The place of the tokens: a store that this process opens itself, if the configuration asks for it, or else the service.
//!
//! `MILLSTREAM_STORE` names a store's folder, as for `millstream token`, and `MILLSTREAM_SOCKET` a service's socket. Without them a line
//! `store = "/FOLDER"` or `socket = "/PATH"` does, in `millstream/pkcs11.toml` below `XDG_CONFIG_HOME` (`~/.config`) or in
//! `/etc/millstream/pkcs11.toml`. Where nothing names a place, the service is asked at its usual sockets. A process with more rights than its
//! user reads nothing but `/etc`.

use std::path::{Path, PathBuf};

use cryptoki_sys::CKR_GENERAL_ERROR;
use millstream::isolated::environment;

use crate::refusal::{Outcome, refuse};

/// The name of the configuration below the folders of configurations.
const FILE: &str = "millstream/pkcs11.toml";

/// A place of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The folder of a store.
    Folder(PathBuf),
    /// The service, at a socket that was named or where one usually is.
    Service(Option<PathBuf>),
}

/// Returns the place of the tokens.
///
/// # Errors
/// `CKR_GENERAL_ERROR` for a configuration that can't be read. A line to standard error says why.
pub fn place() -> Outcome<Place> {
    let variable = |name| environment(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = variable("MILLSTREAM_STORE") {
        return Ok(Place::Folder(folder));
    }
    if let Some(socket) = variable("MILLSTREAM_SOCKET") {
        return Ok(Place::Service(Some(socket)));
    }
    let home = || Some(variable("HOME")?.join(".config"));
    let own = variable("XDG_CONFIG_HOME").or_else(home);
    for folder in own.into_iter().chain([PathBuf::from("/etc")]) {
        let path = folder.join(FILE);
        match std::fs::read_to_string(&path) {
            Ok(text) => return read(&path, &text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return complain(&path, &error.to_string()),
        }
    }
    Ok(Place::Service(None))
}

/// Reads the configuration: one line `store = "/FOLDER"` or `socket = "/PATH"`, empty lines and comments.
fn read(path: &Path, text: &str) -> Outcome<Place> {
    let mut place = None;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (name, value) =
            line.split_once('=').map_or((line, ""), |(name, value)| (name.trim(), value.trim()));
        let named = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        let named = named.filter(|named| named.starts_with('/') && !named.contains(['"', '\\']));
        let found = match (name, named) {
            ("store", Some(folder)) => Place::Folder(folder.into()),
            ("socket", Some(socket)) => Place::Service(Some(socket.into())),
            _ => {
                let forms = "store = \"/FOLDER\" or socket = \"/PATH\"";
                return complain(path, &format!("'{line}' is not of the form {forms}"));
            }
        };
        if place.replace(found).is_some() {
            return complain(path, "two lines name a place of tokens: leave one of them out");
        }
    }
    match place {
        Some(place) => Ok(place),
        None => complain(path, "no line names a place of tokens, as store = \"/FOLDER\" does"),
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
    fn a_configuration_names_one_place_or_is_refused() {
        let path = Path::new("pkcs11.toml");
        let good = "# tokens\n\n store = \"/var/lib/millstream\" \n";
        assert_eq!(read(path, good), Ok(Place::Folder("/var/lib/millstream".into())));
        assert_eq!(read(path, "socket=\"/run/x\""), Ok(Place::Service(Some("/run/x".into()))));
        let two = "socket = \"/run/x\"\nstore = \"/y\"";
        let bad = [
            "",
            "store = tokens",
            "store = \"tokens\"",
            "shop = \"/x\"",
            "store \"/x\"",
            "socket = \"\"",
            two,
        ];
        for bad in bad {
            assert_eq!(read(path, bad), refuse(CKR_GENERAL_ERROR), "{bad}");
        }
    }
}
