//! One operation on a packet's bytes, wherever its key is.

use millstream::{Key, Operation};

use crate::fate::Fate;
use crate::keys::Bound;

/// The longest tag here.
pub(crate) const MOST_TAG: usize = 32;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Seal,
    Open,
    Encrypt,
    Decrypt,
    Mac,
    Verify,
}

/// A short text of bytes, in a place of its own.
#[derive(Clone, Copy, Default)]
pub(crate) struct Short {
    bytes: [u8; MOST_TAG],
    len: usize,
}

impl Short {
    /// Makes one of several pieces, which together are no longer than a tag.
    pub fn of(pieces: &[&[u8]]) -> Self {
        let mut short = Short::default();
        for piece in pieces {
            short.bytes[short.len..short.len + piece.len()].copy_from_slice(piece);
            short.len += piece.len();
        }
        short
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// One operation on a packet's bytes. A tag that is to be compared is there from the beginning; one that is computed comes with
/// the result.
pub(crate) struct Task<'a> {
    pub kind: Kind,
    pub key: &'a Bound,
    pub iv: Short,
    pub aad: Short,
    pub data: &'a mut [u8],
    pub tag: Short,
    pub tag_len: usize,
    pub result: Result<(), Fate>,
}

impl Task<'_> {
    /// Puts a computed tag in place, cut to the association's length.
    pub fn set_tag(&mut self, computed: &[u8]) {
        match computed.get(..self.tag_len) {
            Some(tag) => self.tag = Short::of(&[tag]),
            None => self.result = Err(Fate::Engine),
        }
    }

    /// Takes the end of the operation.
    fn take(&mut self, (result, tag): Outcome) {
        self.result = result;
        if result.is_ok() && self.makes_tag() {
            self.set_tag(&tag);
        }
    }

    /// Returns true if the operation computes a tag.
    pub fn makes_tag(&self) -> bool {
        matches!(self.kind, Kind::Seal | Kind::Mac)
    }
}

/// Executes all operations on this thread, in lanes wherever that pays.
pub(crate) fn run_here(tasks: &mut [Task<'_>]) {
    if let [task] = tasks {
        return run_one(task);
    }
    let mut operations = Vec::with_capacity(tasks.len());
    for task in tasks.iter_mut() {
        let Bound::Here(key) = task.key else {
            task.result = Err(Fate::NoKey);
            continue;
        };
        match operation(task.kind, key, &task.iv, &task.aad, task.data, &task.tag) {
            Some(operation) => operations.push(operation),
            None => task.result = Err(Fate::Engine),
        }
    }
    let ran = millstream::batch(&mut operations).is_ok();
    let results: Vec<_> = operations.iter().map(|operation| outcome(operation, ran)).collect();
    drop(operations);
    let begun = tasks.iter_mut().filter(|task| task.result.is_ok());
    for (task, outcome) in begun.zip(results) {
        task.take(outcome);
    }
}

/// Executes one operation, without the lists of many.
fn run_one(task: &mut Task<'_>) {
    let Bound::Here(key) = task.key else { return task.result = Err(Fate::NoKey) };
    let operation = operation(task.kind, key, &task.iv, &task.aad, task.data, &task.tag);
    let Some(mut operation) = operation else { return task.result = Err(Fate::Engine) };
    let ran = millstream::batch(std::slice::from_mut(&mut operation)).is_ok();
    let outcome = outcome(&operation, ran);
    drop(operation);
    task.take(outcome);
}

/// The end of an operation: its result, and its tag in the first bytes.
type Outcome = (Result<(), Fate>, [u8; MOST_TAG]);

fn outcome(operation: &Operation<'_>, ran: bool) -> Outcome {
    let mut tag = [0; MOST_TAG];
    let len = operation.tag().len().min(MOST_TAG);
    tag[..len].copy_from_slice(&operation.tag()[..len]);
    let result = if ran { operation.result().map_err(fate) } else { Err(Fate::Engine) };
    (result, tag)
}

fn fate(error: millstream::EngineError) -> Fate {
    match error {
        millstream::EngineError::Authentication => Fate::Forged,
        _ => Fate::Engine,
    }
}

fn operation<'o>(
    kind: Kind,
    key: &'o Key,
    iv: &'o Short,
    aad: &'o Short,
    data: &'o mut [u8],
    tag: &'o Short,
) -> Option<Operation<'o>> {
    use millstream::InOut;
    let (iv, aad, tag) = (iv.as_slice(), aad.as_slice(), tag.as_slice());
    Some(match kind {
        Kind::Seal => Operation::seal(key.as_aead()?, iv, aad, InOut::in_place(data)),
        Kind::Open => Operation::open_cut(key.as_aead()?, iv, aad, InOut::in_place(data), tag, tag.len()),
        Kind::Encrypt => Operation::encrypt(key.as_cipher()?, iv, InOut::in_place(data)),
        Kind::Decrypt => Operation::decrypt(key.as_cipher()?, iv, InOut::in_place(data)),
        Kind::Mac => Operation::mac(key.as_mac()?, data),
        Kind::Verify => Operation::verify(key.as_mac()?, data, tag),
    })
}
