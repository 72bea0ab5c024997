//! The keys in a folder of SoftHSM2, read without its library, and never written.
//!
//! | file | holds |
//! | --- | --- |
//! | `attributes.rs` | the attributes in a file |
//! | `pin.rs` | the master key under the user PIN, and what it seals |
//! | `object.rs` | objects and their keys |
//!
//! Ref. SoftHSM2 2.6.1: `ObjectFile`, `File`, `SecureDataManager`, `RFC4880`; PKCS #11 3.1 §4 for the attributes.

mod attributes;
mod object;
mod pin;
#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use millstream_cpu::Features;
use zeroize::Zeroizing;

use self::attributes::{Attributes, cka};
pub use self::object::{Class, Contents, Object, Use};
use self::pin::Master;
use crate::error::plain;
use crate::key::Secret;

/// The file of a token's label and PINs.
const TOKEN_FILE: &str = "token.object";

/// The file of a token's objects where SoftHSM2 keeps them in a database.
const DATABASE: &str = "sqlite3.db";

/// The most bytes of a file.
const MOST_BYTES: u64 = 16 << 20;

/// The reason why the keys of SoftHSM2 can't be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file or a folder can't be read.
    Read {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The folder holds no token.
    NoToken(PathBuf),
    /// The folder holds several tokens, or none with the label that was asked for.
    Label {
        /// The folder.
        folder: PathBuf,
        /// The labels of its tokens, in order.
        labels: Vec<String>,
        /// The label that was asked for.
        asked: Option<String>,
    },
    /// The token is kept in a database.
    Database(PathBuf),
    /// The token has no user PIN.
    NoPin(PathBuf),
    /// The PIN is not the token's user PIN.
    WrongPin(PathBuf),
    /// A file is not as SoftHSM2 writes it.
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault.
        why: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Read { path, source } => write!(
                f,
                "{}: can not read it: {}; run as the user whose programs use SoftHSM2, or as root",
                path.display(),
                plain(source)
            ),
            Error::NoToken(path) => write!(
                f,
                "{}: no token of SoftHSM2 is in it; name the folder that directories.tokendir in softhsm2.conf names, as \
                 /var/lib/softhsm/tokens",
                path.display()
            ),
            Error::Label { folder, labels, asked } => {
                let folder = folder.display();
                match asked {
                    Some(asked) if !labels.contains(asked) => write!(f, "{folder}: no token {asked:?}; ")?,
                    Some(asked) => {
                        return write!(
                            f,
                            "{folder}: several tokens have the label {asked:?}; name the folder of one"
                        );
                    }
                    None => write!(f, "{folder}: several tokens; choose one with --softhsm-token; ")?,
                }
                write!(f, "there are {labels:?}")
            }
            Error::Database(path) => write!(
                f,
                "{}: SoftHSM2 keeps this token in a database (objectstore.backend = db), which is not read here; bring its exportable \
                 keys in files with 'millstream key import'",
                path.display()
            ),
            Error::NoPin(path) => write!(
                f,
                "{}: the token has no user PIN; set one with 'softhsm2-util --init-pin'",
                path.display()
            ),
            Error::WrongPin(path) => {
                write!(f, "{}: this is not the user PIN of the SoftHSM2 token", path.display())
            }
            Error::Damaged { path, why } => write!(
                f,
                "{}: damaged: {why}; bring back a good copy of the file, or move it out of a copy of the folder to go without it",
                path.display()
            ),
        }
    }
}

impl std::error::Error for Error {}

/// A token's folder.
///
/// ```no_run
/// use std::path::Path;
///
/// use millstream_cpu::Features;
/// use millstream_files::softhsm::Token;
///
/// let token = Token::find(Path::new("/var/lib/softhsm/tokens"), Some("web"))?;
/// for object in token.objects(Features::hardware(), b"1234")? {
///     println!("{:?} {:?}", object.class, object.label);
/// }
/// # Ok::<(), millstream_files::softhsm::Error>(())
/// ```
#[derive(Debug)]
pub struct Token {
    folder: PathBuf,
    label: String,
}

impl Token {
    /// Finds a token: the one whose folder this is, or the one with that label in a folder of tokens. Without a label there must be
    /// a single token.
    ///
    /// # Errors
    /// [`Error::NoToken`], [`Error::Label`], [`Error::Database`], [`Error::Read`]; [`Error::Damaged`] for a token whose label can't be read, unless another
    /// one is asked for.
    pub fn find(folder: &Path, label: Option<&str>) -> Result<Token, Error> {
        let (mut tokens, mut faults) = (Vec::new(), Vec::new());
        match Token::at(folder)? {
            Some(token) => tokens.push(token),
            None => {
                for path in entries(folder)? {
                    match Token::at(&path) {
                        Ok(token) => tokens.extend(token),
                        Err(fault) => faults.push(fault),
                    }
                }
            }
        }
        let labels: Vec<String> = tokens.iter().map(|token| token.label.clone()).collect();
        tokens.retain(|token| label.is_none_or(|label| label == token.label));
        // A damaged token may be the one that is meant, unless another one has the label.
        if let Some(fault) = faults.pop()
            && (label.is_none() || tokens.is_empty())
        {
            return Err(fault);
        }
        match tokens.pop() {
            Some(token) if tokens.is_empty() => Ok(token),
            None if labels.is_empty() => Err(Error::NoToken(folder.to_owned())),
            _ => Err(Error::Label { folder: folder.to_owned(), labels, asked: label.map(str::to_owned) }),
        }
    }

    /// Reads the token of a folder, if it has one.
    fn at(folder: &Path) -> Result<Option<Token>, Error> {
        let path = folder.join(TOKEN_FILE);
        if !exists(&path)? {
            return if exists(&folder.join(DATABASE))? {
                Err(Error::Database(folder.to_owned()))
            } else {
                Ok(None)
            };
        }
        let bytes = read(&path)?;
        let attributes = Attributes::parse(&path, &bytes)?;
        let label = attributes.stored(cka::OS_TOKEN_LABEL)?.ok_or_else(|| attributes.lacks("label"))?;
        // PKCS #11 fills labels with blanks.
        let label = String::from_utf8_lossy(label).trim_end().to_owned();
        Ok(Some(Token { folder: folder.to_owned(), label }))
    }

    /// Returns the label.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Returns the token's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reads all objects with the user PIN, in the order of their files' names. SoftHSM2 does not count the tries of PINs.
    ///
    /// # Errors
    /// [`Error::WrongPin`], [`Error::NoPin`]; [`Error::Read`] and [`Error::Damaged`] for the first file that can't be read.
    pub fn objects(&self, features: Features, pin: &[u8]) -> Result<Vec<Object>, Error> {
        let master = self.master(features, pin)?;
        let mut objects = Vec::new();
        for path in entries(&self.folder)? {
            let is_object = path.extension().is_some_and(|end| end == "object");
            if is_object && path.file_name().is_some_and(|name| name != TOKEN_FILE) {
                let bytes = read(&path)?;
                objects.push(Object::read(features, &master, &Attributes::parse(&path, &bytes)?)?);
            }
        }
        Ok(objects)
    }

    /// Opens the master key with the user PIN.
    fn master(&self, features: Features, pin: &[u8]) -> Result<Master, Error> {
        let path = self.folder.join(TOKEN_FILE);
        let bytes = read(&path)?;
        let attributes = Attributes::parse(&path, &bytes)?;
        let sealed = attributes.stored(cka::OS_USER_PIN)?.filter(|sealed| !sealed.is_empty());
        let sealed = sealed.ok_or_else(|| Error::NoPin(path.clone()))?;
        let Some(opened) = Master::open(features, sealed, pin) else {
            return Err(attributes.damaged("the user PIN's entry has another length"));
        };
        opened.ok_or_else(|| Error::WrongPin(path.clone()))
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Error + '_ {
    |source| Error::Read { path: path.to_owned(), source }
}

fn exists(path: &Path) -> Result<bool, Error> {
    match fs::metadata(path) {
        Ok(found) => Ok(found.is_file()),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(false)
        }
        Err(error) => Err(failed(path)(error)),
    }
}

/// Returns the paths in a folder, sorted.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(folder).map_err(failed(folder))?;
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.map_err(failed(folder))?;
    paths.sort();
    Ok(paths)
}

/// Reads a file, which may hold keys in the clear.
fn read(path: &Path) -> Result<Secret, Error> {
    let damaged = |why: &str| Error::Damaged { path: path.to_owned(), why: why.to_owned() };
    // A pipe would never end.
    if !fs::metadata(path).map_err(failed(path))?.is_file() {
        return Err(damaged("this is no file"));
    }
    let file = File::open(path).map_err(failed(path))?;
    let len = file.metadata().map_err(failed(path))?.len();
    if len > MOST_BYTES {
        return Err(damaged("it is longer than 16 MiB"));
    }
    // The room is there at once, so that no copy stays behind when the vector grows.
    let mut bytes = Zeroizing::new(Vec::with_capacity(len as usize + 1));
    file.take(len + 1).read_to_end(&mut bytes).map_err(failed(path))?;
    if bytes.len() as u64 != len {
        return Err(damaged("it changed while it was read"));
    }
    Ok(bytes)
}
