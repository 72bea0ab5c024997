//! The operations that are under way in a session: at most one operation of each kind.

pub mod cipher;
pub mod digest;
pub mod encapsulation;
pub mod keys;
pub mod message;
pub mod pending;
pub mod prepared;
pub mod signature;
pub mod tls;

use std::sync::Arc;

use cryptoki_sys::*;

use self::cipher::Ciphering;
use self::digest::Digesting;
use self::message::Messages;
use self::pending::Pending;
use self::signature::Signing;
use crate::abi::Place;
use crate::object::Object;

/// The operations of a session.
#[derive(Default)]
pub struct Operations {
    /// The objects that a search found and that were not given yet.
    pub search: Option<std::vec::IntoIter<CK_OBJECT_HANDLE>>,
    /// A digest.
    pub digest: Option<Digesting>,
    /// An encryption.
    pub encrypt: Option<Keyed<Ciphering>>,
    /// A decryption.
    pub decrypt: Option<Keyed<Ciphering>>,
    /// A signature that is made.
    pub sign: Option<Keyed<Signing>>,
    /// A signature that an asynchronous session waits for.
    pub awaited: Option<Awaited>,
    /// A signature that is verified.
    pub verify: Option<Keyed<Signing>>,
    /// A signature that is made, and has its message in it.
    pub sign_recover: Option<Keyed<Signing>>,
    /// A signature from which the message is recovered.
    pub verify_recover: Option<Keyed<Signing>>,
    /// The signature that came before its message, in `C_VerifySignature`.
    pub expected: Option<Vec<u8>>,
    /// Messages that are encrypted.
    pub seal: Option<Messages>,
    /// Messages that are decrypted.
    pub open: Option<Messages>,
    /// Messages that are signed.
    pub sign_messages: Option<SignedMessages>,
    /// Messages whose signatures are verified.
    pub verify_messages: Option<SignedMessages>,
}

/// An operation, and the key that it is done with.
pub struct Keyed<T> {
    /// The operation.
    pub running: T,
    /// The key.
    pub key: Arc<Object>,
    /// True while the key wants the PIN for this one operation and has not got it.
    pub wants_pin: bool,
}

/// Messages that are signed, or whose signatures are verified, with one key.
pub struct SignedMessages {
    /// The state before the first byte of each message.
    pub start: Signing,
    /// The message that was begun in parts.
    pub begun: Option<Signing>,
    /// True if the key wants the PIN for each message.
    pub always_wants_pin: bool,
    /// True while the key wants it for the next message and has not got it.
    pub wants_pin: bool,
}

/// A signature that a session waits for.
pub struct Awaited {
    /// The function that began it.
    pub function: &'static str,
    /// The signature.
    pub pending: Arc<Pending>,
    /// The program's buffer, which has room for it.
    pub place: Place,
}
