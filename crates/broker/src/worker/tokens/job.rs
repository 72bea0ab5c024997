//! A client's request about tokens that is under way.

use millstream_protocol::{KeyPurpose, KeyRefusal, KeyReply, KeyRequest};
use millstream_store::vault::LocalSession;
use millstream_store::{Attributes, ObjectId, Role, TokenId};

use super::keys::Secret;

/// An open token, as all grants of this worker have it that opened it in that role.
pub(super) type Name = (TokenId, Role);

/// A request, and how far it is.
pub(super) struct Job {
    /// The grant that waits for the answer; none when it has ended meanwhile.
    pub(super) grant: Option<u64>,
    pub(super) what: What,
    pub(super) stage: Stage,
}

/// The request itself.
pub(super) enum What {
    Open { name: Name, pin: Secret },
    Load { name: Name, object: ObjectId, algorithm: u8, purpose: KeyPurpose },
    Show { name: Name, object: ObjectId },
    Generate { name: Name, asked: Attributes, bits: u32 },
    Import { name: Name, asked: Attributes, secret: Secret },
    Copy { from: Name, object: ObjectId, to: Name, asked: Attributes },
    Alter { name: Name, object: ObjectId, asked: Attributes },
    Export { name: Name, object: ObjectId },
    Remove { name: Name, object: ObjectId },
    SetPin { name: Name, role: Role, pin: Secret },
    Make { old: Option<TokenId>, label: String, officer: Secret, user: Option<Secret> },
    RemoveToken { name: Name },
}

/// The progress of a request.
pub(super) enum Stage {
    /// The request waits for its turn on the vault's thread.
    Queued,
    /// The broker counts a try, or looks something up.
    Asking,
    /// The vault's thread has it.
    Working,
    /// The broker is told the outcome of a try; then the client is answered. A right PIN has opened the token.
    Ending(KeyReply, Option<Box<LocalSession>>),
    /// The request waits for its turn to change a token, or the broker changes it.
    Changing(Changing),
    /// The broker writes a header, or adds or removes a token; then the client is answered.
    Writing(KeyReply),
}

/// A change of an object.
pub(super) struct Changing {
    pub(super) name: Name,
    pub(super) object: ObjectId,
    /// The attributes and the key; none when the object is removed.
    pub(super) contents: Option<(Vec<u8>, Secret)>,
    /// The answer when it is on the disk; the number of changes is set then.
    pub(super) reply: KeyReply,
    /// The times that it was sealed.
    pub(super) attempts: u32,
}

impl What {
    /// Returns the open token that the request is about first, and the object that it has to read.
    pub(super) fn reads(&self) -> Option<(Name, Option<ObjectId>)> {
        match self {
            What::Load { name, object, .. }
            | What::Show { name, object }
            | What::Copy { from: name, object, .. }
            | What::Alter { name, object, .. }
            | What::Export { name, object } => Some((*name, Some(*object))),
            What::Generate { name, .. }
            | What::Import { name, .. }
            | What::Remove { name, .. }
            | What::SetPin { name, .. } => Some((*name, None)),
            What::Open { .. } | What::Make { .. } | What::RemoveToken { .. } => None,
        }
    }

    /// Returns true when the client has to be a manager of the token.
    pub(super) fn manages(&self) -> bool {
        !matches!(self, What::Open { .. } | What::Load { .. } | What::Show { .. })
    }
}

/// The reason why a request is not begun.
pub(super) enum Wrong {
    NotMine(Box<KeyRequest>),
    Refused(KeyRefusal),
}

impl From<KeyRefusal> for Wrong {
    fn from(why: KeyRefusal) -> Self {
        Wrong::Refused(why)
    }
}
