//! The side of a token that holds keys: it opens the token with a PIN, and seals and opens objects. It touches no file.
//!
//! The other side ([`crate::file`]) keeps what this one seals. [`LocalVault`] is this side within the process. A worker can be
//! it as well, since everything that crosses is bytes.

mod header;
mod local;
mod sealed;

pub use header::{Cost, Header, PIN_BYTES};
pub use local::{LocalSession, LocalVault};
pub use sealed::{Entry, MOST_SECRET_BYTES};

use zeroize::Zeroizing;

use crate::Error;
use crate::names::{ObjectId, Role, TokenId};

/// A secret that an object holds. Zeroised on drop.
pub type Secret = Zeroizing<Vec<u8>>;

/// A token as the file keeps it: two sealed records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Records {
    /// The header, as [`Header::encode`] gives it.
    pub header: Vec<u8>,
    /// The sealed index of its objects.
    pub index: Vec<u8>,
}

/// A change of an object that becomes true when the file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The sealed object; none when it is removed.
    pub sealed: Option<Vec<u8>>,
    /// The index that belongs to the changed token.
    pub index: Vec<u8>,
}

/// Makes and opens tokens.
pub trait Vault {
    /// An open token.
    type Session: Session;

    /// Makes a token, which the officer's PIN and, if there is one, the user's open.
    ///
    /// # Errors
    /// [`Error::PinLength`], [`Error::TokenLabel`], [`Error::Random`].
    fn make(
        &self,
        token: TokenId,
        label: &str,
        officer_pin: &[u8],
        user_pin: Option<&[u8]>,
    ) -> Result<Records, Error>;

    /// Checks what can be checked before a PIN is tried: no try is to be spent on a token of another machine.
    ///
    /// # Errors
    /// [`Error::OtherDevice`], [`Error::NoUserPin`], [`Error::PinLength`], [`Error::Malformed`], [`Error::Cost`].
    fn check(&self, header: &[u8], role: Role, pin: &[u8]) -> Result<(), Error>;

    /// Opens a token that has those records and objects. Returns none when the PIN is wrong.
    ///
    /// # Errors
    /// [`Error::RolledBack`] and [`Error::Forged`] when the PIN is right and the contents are not those that were sealed; else as
    /// [`Vault::check`].
    fn unlock(
        &self,
        records: &Records,
        objects: &mut dyn Iterator<Item = (ObjectId, Entry)>,
        role: Role,
        pin: &[u8],
    ) -> Result<Option<Self::Session>, Error>;
}

/// An open token.
///
/// A change is true for the session only after [`Session::applied`]: if the file could not take it, the session stays as it was, and
/// the next change replaces it.
pub trait Session {
    /// Returns the role in which the token was opened.
    fn role(&self) -> Role;

    /// Returns the sealed index of the token as this session knows it. A change is based on that one, and must not replace another.
    fn index(&self) -> &[u8];

    /// Returns the number of changes of the token that this session knows of, from its making on.
    fn changes(&self) -> u64;

    /// Takes the token as it is now, after another session has changed it. The session stays as it was if that fails.
    ///
    /// # Errors
    /// [`Error::Forged`] and [`Error::RolledBack`] when the contents are not those that were sealed, or an earlier state; [`Error::Malformed`].
    fn refresh(
        &mut self,
        records: &Records,
        objects: &mut dyn Iterator<Item = (ObjectId, Entry)>,
    ) -> Result<(), Error>;

    /// Seals an object, new or with new attributes or a new secret.
    ///
    /// # Errors
    /// [`Error::Role`] for the officer; [`Error::TooLong`], [`Error::Random`].
    fn seal(&mut self, object: ObjectId, attributes: &[u8], secret: &[u8]) -> Result<Change, Error>;

    /// Returns the change that removes an object.
    ///
    /// # Errors
    /// [`Error::Role`] for the officer; [`Error::NoObject`].
    fn forget(&mut self, object: ObjectId) -> Result<Change, Error>;

    /// Opens an object, and thereby authenticates its attributes.
    ///
    /// # Errors
    /// [`Error::Role`] for the officer; [`Error::Forged`] when it is another object, has other attributes, or is not the token's
    /// latest version.
    fn open(&self, object: ObjectId, attributes: &[u8], sealed: &[u8]) -> Result<Secret, Error>;

    /// Returns the records of the token with another PIN. The officer sets both PINs, the user their own.
    ///
    /// # Errors
    /// [`Error::Role`], [`Error::PinLength`], [`Error::Random`].
    fn set_pin(&mut self, role: Role, pin: &[u8]) -> Result<Records, Error>;

    /// Makes the last change true: the file has it.
    fn applied(&mut self);
}
