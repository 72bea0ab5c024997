//! The state that slots and the homes of tokens speak of: who is logged in, what is listed, and the changes since.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use millstream_store::file::{Stored, TokenInfo};
use millstream_store::{ObjectId, TokenId};

use super::stamp::Stamp;

/// The one who is logged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LoggedIn {
    /// Nobody.
    Nobody = 0,
    /// The user.
    User = 1,
    /// The security officer.
    Officer = 2,
}

/// The objects of a token, by their names.
pub type Found = Vec<(ObjectId, Arc<Stored>)>;

/// A change that this process has made.
pub struct Done {
    /// The object.
    pub name: ObjectId,
    /// The object as it is now; none when it was removed.
    pub stored: Option<Arc<Stored>>,
    /// The step from the token's state before to the one after.
    pub step: Step,
}

/// A step from one state of a token to the next.
pub enum Step {
    /// The file had the first state, and has the second.
    File(Stamp, Stamp),
    /// The numbers of the changes in the service, in order.
    Changes(TokenId, Vec<u64>),
}

impl Step {
    /// Returns the number of the last change; 0 for a file, whose changes have none.
    pub fn number(&self) -> u64 {
        match self {
            Step::File(..) => 0,
            Step::Changes(_, numbers) => numbers.last().copied().unwrap_or(0),
        }
    }
}

/// The state that was read last.
#[derive(Default)]
pub enum Seen {
    /// None.
    #[default]
    Nothing,
    /// The file's, and for whom.
    Folder(Stamp, LoggedIn),
    /// A token's in the service.
    Changes(SeenChanges),
}

/// The state of a token in the service.
pub struct SeenChanges {
    /// The token.
    pub token: TokenId,
    /// The number of its changes.
    pub read: u64,
    /// The connection and the count of the changes of all tokens, as they were before.
    pub count: Option<(u64, u64)>,
    /// The numbers above `read` of changes that this process has made.
    own: BTreeSet<u64>,
}

impl SeenChanges {
    /// Returns a state without changes of this process that come after it.
    pub fn new(token: TokenId, read: u64, count: Option<(u64, u64)>) -> Self {
        SeenChanges { token, read, count, own: BTreeSet::new() }
    }
}

impl Seen {
    /// Goes on by a change of this process's own. Returns false if the change can't be applied to what was read: it is in there already, or somebody else changed the token between.
    pub fn takes(&mut self, step: &Step) -> bool {
        match (self, step) {
            (Seen::Folder(stamp, _), Step::File(before, after)) if stamp == before => {
                *stamp = *after;
                true
            }
            (Seen::Changes(seen), Step::Changes(token, numbers))
                if seen.token == *token && step.number() > seen.read =>
            {
                seen.own.extend(numbers);
                // Another thread's change may have come before, and be noted after.
                while seen.own.remove(&(seen.read + 1)) {
                    seen.read += 1;
                }
                seen.own = seen.own.split_off(&seen.read);
                true
            }
            _ => false,
        }
    }
}

/// A token, and whether this user may change it.
pub struct Listed {
    /// The token.
    pub info: TokenInfo,
    /// True if this user may change it.
    pub writable: bool,
}

/// Locks what no panic can leave wrong.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
