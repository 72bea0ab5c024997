//! From control words to operations, and from their results to completions.
//!
//! # Safety
//! Slices of an arena are lent to operations only where the arena is exclusive: its promise, and the
//! overlap rule that [`plan`] checked, are the witness.
#![allow(unsafe_code)]

use millstream_cpu::Features;
use millstream_cwq::{Algorithm, Completion, ControlWord, Flags, Opcode, Status};
use millstream_engines::hash::HashJob;
use millstream_engines::modes::Direction;
use millstream_engines::{Error, InOut, kasumi};
use zeroize::{Zeroizing, optimization_barrier};

use crate::accelerator::failed;
use crate::arena::{Arena, Span, slice, slice_mut};
use crate::grant::Grant;
use crate::kept::{Kept, NoMemory, wipe_list, wipe_stack};
use crate::key::{Key, hash_of};
use crate::operation::{Checksum, Expected, Operation, Partial, Sink, Work, aead, chained, cipher, keyed};
use crate::places::Places;
use crate::plan::{KeyAt, Pieces, Plan, Source, plan};
use crate::slots::Handle;
use crate::stats::Filled;
use crate::trace::About;
use crate::unit::Unit;

/// A word that an accelerator took from a queue: its own copy, read once.
#[derive(Clone, Copy)]
pub(crate) struct Taken {
    pub(crate) words: [u64; ControlWord::WORDS],
    /// The bytes that its gather list named when its cost was reckoned.
    pub(crate) gathered: u32,
    pub(crate) queue: u32,
    pub(crate) grant: u32,
    /// Taken back; of [`Opcode::Cancel`], that it found what it looked for.
    pub(crate) cancelled: bool,
}

impl Taken {
    #[inline(always)]
    pub(crate) fn word(&self) -> ControlWord {
        ControlWord::from_words(self.words)
    }

    #[inline(always)]
    pub(crate) fn tag(&self) -> u64 {
        self.words[ControlWord::WORDS - 1]
    }

    /// The grant it is of, while there is one.
    #[inline(always)]
    fn of<'g, A>(&self, grants: &'g Places<Grant<A>>) -> Option<&'g Grant<A>> {
        grants.at(self.grant as usize)
    }
}

/// An operation under way whose word needs nothing staged: what its completion is made from.
struct Direct {
    tag: u64,
    queue: u32,
    grant: u32,
    mac: Span,
    about: About,
}

/// What is known of a word before it is executed.
struct Entry {
    plan: Result<Plan, Status>,
    /// Why no operation could be made from the plan.
    refused: Option<Status>,
    /// Where its inputs begin in staging memory, if any lie there.
    staged_at: Option<usize>,
    /// The index of its keys among those that words brought with them.
    carried: Option<usize>,
}

/// Keys that came with a word.
#[derive(Default)]
struct Carried {
    key: Option<Kept>,
    mac_key: Option<Kept>,
}

/// The sub-unit, and memory that is used again and again.
pub(crate) struct Executor {
    unit: Unit,
    entries: Vec<Entry>,
    carried: Vec<Carried>,
    operations: Vec<Operation<'static>>,
    direct: Vec<Direct>,
    /// The words that need something staged.
    staged: Vec<Taken>,
    completions: Vec<Completion>,
    /// Copies of inputs that can't be used where they lie.
    staging: Vec<u8>,
    /// Outputs that can't be written where they belong at once.
    outputs: Vec<u8>,
    filled: Filled,
}

impl Executor {
    pub(crate) fn new(unit: Unit) -> Self {
        Executor {
            unit,
            entries: Vec::new(),
            carried: Vec::new(),
            operations: Vec::new(),
            direct: Vec::new(),
            staged: Vec::new(),
            completions: Vec::new(),
            staging: Vec::new(),
            outputs: Vec::new(),
            filled: Filled::default(),
        }
    }

    pub(crate) fn filled(&self) -> Filled {
        self.filled
    }

    /// Wipes what is left of objects.
    pub(crate) fn forget(&mut self) {}

    /// Executes words and posts a completion for each, with the number of its queue.
    pub(crate) fn run<A: Arena>(
        &mut self,
        features: Features,
        grants: &Places<Grant<A>>,
        taken: &[Taken],
        mut post: impl FnMut(u32, About, Completion),
    ) {
        self.run_direct(grants, taken, &mut post);
        if !self.staged.is_empty() {
            self.run_staged(features, grants, &mut post);
        }
    }

    /// Executes the words whose objects can be used where they lie, and leaves the others to
    /// [`Executor::run_staged`].
    #[inline]
    fn run_direct<A: Arena>(
        &mut self,
        grants: &Places<Grant<A>>,
        taken: &[Taken],
        post: &mut impl FnMut(u32, About, Completion),
    ) {
        const STAGED: u16 = Flags::GATHER | Flags::KEY_IN_ARENA | Flags::MAC_KEY_IN_ARENA;
        let mut operations = recycle(std::mem::take(&mut self.operations));
        for taken in taken {
            let word = taken.word();
            let direct = taken.of(grants).filter(|grant| grant.arena.exclusive());
            let direct = direct.filter(|_| word.flags & STAGED == 0 && word.opcode != Opcode::Cancel as u8);
            let Some(grant) = direct.filter(|_| !taken.cancelled) else {
                self.staged.push(*taken);
                continue;
            };
            let Taken { queue, grant: of, .. } = *taken;
            let about = About::of(&word, word.source_len);
            match direct_operation(&word, grant, &mut operations) {
                Ok(mac) => self.direct.push(Direct { tag: word.tag, queue, grant: of, mac, about }),
                Err(status) => post(queue, about, failed(word.tag, status)),
            }
        }
        self.filled.add(self.unit.run_counted(&mut operations));
        for (operation, direct) in operations.iter().zip(&self.direct) {
            let Some(grant) = grants.at(direct.grant as usize) else { continue };
            post(direct.queue, direct.about, complete(direct.tag, direct.mac, operation, &grant.arena));
        }
        self.direct.clear();
        self.operations = recycle(operations);
    }

    /// Executes words for which inputs are copied, keys expanded, or outputs held back.
    #[cold]
    fn run_staged<A: Arena>(
        &mut self,
        features: Features,
        grants: &Places<Grant<A>>,
        post: &mut impl FnMut(u32, About, Completion),
    ) {
        let taken = std::mem::take(&mut self.staged);
        for word in &taken {
            let entry = self.enter(features, grants, word);
            self.entries.push(entry);
        }
        self.execute(grants, &taken);
        for ((taken, entry), completion) in taken.iter().zip(&self.entries).zip(self.completions.drain(..)) {
            let bytes = entry.plan.as_ref().map_or(0, |plan| plan.source.len());
            post(taken.queue, About::of(&taken.word(), bytes), completion);
        }
        wipe_list(&mut self.entries);
        wipe_list(&mut self.carried);
        wipe(&mut self.staging);
        wipe(&mut self.outputs);
        self.staged = taken;
        wipe_list(&mut self.staged);
    }

    /// Checks a word, and stages what must be staged.
    #[inline]
    fn enter<A: Arena>(&mut self, features: Features, grants: &Places<Grant<A>>, taken: &Taken) -> Entry {
        let mut entry = Entry { plan: Err(Status::Revoked), refused: None, staged_at: None, carried: None };
        let Some(grant) = taken.of(grants) else { return entry };
        let word = taken.word();
        if taken.cancelled && word.opcode != Opcode::Cancel as u8 {
            entry.plan = Err(Status::Cancelled);
            return entry;
        }
        let mut pieces = Pieces::new();
        let mut checked = Plan::NOTHING;
        entry.plan = plan(&word, &grant.arena, grant.algorithms, &mut pieces, &mut checked).map(|()| checked);
        let Ok(plan) = &entry.plan else { return entry };
        let gathers = matches!(plan.source, Source::Gather { .. });
        if gathers && plan.source.len() > taken.gathered {
            // The list has changed since: what it names now was not paid for.
            entry.plan = Err(Status::Gather);
            return entry;
        }
        let exclusive = grant.arena.exclusive();
        let carries = matches!(plan.key, KeyAt::Arena(_)) || matches!(plan.mac_key, KeyAt::Arena(_));
        if exclusive && !gathers && !carries {
            return entry;
        }
        if carries {
            let carried = carry(features, &grant.arena, plan);
            // What is copied from here on has no business with what a key has left.
            wipe_stack();
            match carried {
                Ok(carried) => self.carried.push(carried),
                Err(status) => {
                    entry.plan = Err(status);
                    return entry;
                }
            }
            entry.carried = Some(self.carried.len() - 1);
        }
        if gathers || !exclusive {
            entry.staged_at = Some(self.stage(&grant.arena, plan, &pieces));
        }
        entry
    }

    /// Copies a word's inputs to staging memory, in the order in which `Inputs` takes them, and makes
    /// room for its output.
    fn stage<A: Arena>(&mut self, arena: &A, plan: &Plan, pieces: &Pieces) -> usize {
        let begin = self.staging.len();
        let mut copy = |span: Span| {
            let at = self.staging.len();
            self.staging.resize(at + span.len as usize, 0);
            arena.read(span.at, &mut self.staging[at..]);
        };
        match plan.source {
            Source::Span(span) => copy(span),
            Source::Gather { .. } => pieces.iter().for_each(|piece| copy(*piece)),
        }
        if !arena.exclusive() {
            [plan.aad, plan.iv, plan.mac].into_iter().for_each(copy);
            self.outputs.resize(self.outputs.len() + output_len(plan), 0);
        }
        begin
    }

    fn execute<A: Arena>(&mut self, grants: &Places<Grant<A>>, taken: &[Taken]) {
        let mut operations = recycle(std::mem::take(&mut self.operations));
        let mut room = self.outputs.as_mut_slice();
        for (entry, word) in self.entries.iter_mut().zip(taken) {
            let (Ok(plan), Some(grant)) = (&entry.plan, word.of(grants)) else { continue };
            let carried = entry.carried.and_then(|index| self.carried.get(index));
            let keys = keys(plan, grant, carried);
            let inputs = Inputs::locate(&grant.arena, plan, entry.staged_at.map(|at| &self.staging[at..]));
            let outputs = Outputs::locate(&grant.arena, plan, &mut room);
            let built = keys.and_then(|keys| build(plan, keys, inputs, outputs, &mut operations));
            entry.refused = built.err();
        }
        self.filled.add(self.unit.run_counted(&mut operations));
        let mut done = operations.iter();
        for (entry, word) in self.entries.iter().zip(taken) {
            let tag = word.tag();
            self.completions.push(match (&entry.plan, &entry.refused, word.of(grants)) {
                (Err(status), _, _) | (Ok(_), Some(status), _) => failed(tag, *status),
                (Ok(plan), None, Some(grant)) => match done.next() {
                    Some(_) if plan.opcode == Opcode::Cancel => {
                        Completion { tag, value: u32::from(word.cancelled), ..Completion::default() }
                    }
                    Some(operation) => complete(tag, written_mac(plan), operation, &grant.arena),
                    None => failed(tag, Status::Gone),
                },
                (Ok(_), None, None) => failed(tag, Status::Revoked),
            });
        }
        self.operations = recycle(operations);
        self.unstage(grants, taken);
    }

    /// Copies staged outputs to where they belong.
    fn unstage<A: Arena>(&mut self, grants: &Places<Grant<A>>, taken: &[Taken]) {
        let mut outputs = self.outputs.as_slice();
        for ((entry, word), completion) in self.entries.iter().zip(taken).zip(&self.completions) {
            let (Ok(plan), Some(grant)) = (&entry.plan, word.of(grants)) else { continue };
            if grant.arena.exclusive() {
                continue;
            }
            let (destination, rest) = outputs.split_at(plan.destination.len as usize);
            let (state, rest) = rest.split_at(plan.state.len as usize);
            outputs = rest;
            let status = completion.status();
            // After a failed authentication the engine has left zeros.
            if matches!(status, Some(Status::Ok | Status::Authentication)) {
                grant.arena.write(plan.destination.at, destination);
            }
            if status == Some(Status::Ok) && plan.state.len > 0 {
                grant.arena.write(plan.state.at, &state[..completion.value as usize]);
            }
        }
    }
}

/// Bytes that a word's output takes in staging memory.
fn output_len(plan: &Plan) -> usize {
    plan.destination.len as usize + plan.state.len as usize
}

/// An empty list in the same memory, for operations that borrow from something else.
fn recycle<'b>(mut operations: Vec<Operation<'_>>) -> Vec<Operation<'b>> {
    wipe_list(&mut operations);
    operations.into_iter().map(|_| unreachable!("it is empty")).collect()
}

/// Clears memory that held data of others, and empties it.
fn wipe(bytes: &mut Vec<u8>) {
    if !bytes.is_empty() {
        bytes.fill(0);
        optimization_barrier(bytes.as_slice());
        bytes.clear();
    }
}

/// What a word reads.
struct Inputs<'a> {
    source: &'a [u8],
    aad: &'a [u8],
    iv: &'a [u8],
    /// The tag to compare with; empty where none is.
    mac: &'a [u8],
}

impl<'a> Inputs<'a> {
    #[inline(always)]
    fn locate<A: Arena>(arena: &'a A, plan: &Plan, staged: Option<&'a [u8]>) -> Self {
        let len = plan.source.len() as usize;
        if let Some(staged) = staged.filter(|_| !arena.exclusive()) {
            let (source, rest) = staged.split_at(len);
            let (aad, rest) = rest.split_at(plan.aad.len as usize);
            let (iv, rest) = rest.split_at(plan.iv.len as usize);
            return Inputs { source, aad, iv, mac: &rest[..plan.mac.len as usize] };
        }
        let read_mac = if plan.reverse { plan.mac } else { Span::default() };
        // SAFETY: a word that is not staged is of an exclusive arena, its spans were checked, and what is
        // lent here is only read.
        unsafe {
            let source = match (plan.source, staged) {
                (Source::Span(span), _) => slice(arena, span),
                (Source::Gather { .. }, staged) => &staged.unwrap_or_default()[..len],
            };
            Inputs {
                source,
                aad: slice(arena, plan.aad),
                iv: slice(arena, plan.iv),
                mac: slice(arena, read_mac),
            }
        }
    }
}

/// What a word writes while it is executed; a digest or tag is written after.
struct Outputs<'a> {
    destination: &'a mut [u8],
    state: &'a mut [u8],
}

impl<'a> Outputs<'a> {
    /// `room` is what is left of the staged outputs.
    #[inline(always)]
    fn locate<A: Arena>(arena: &'a A, plan: &Plan, room: &mut &'a mut [u8]) -> Self {
        if !arena.exclusive() {
            let (own, rest) = std::mem::take(room).split_at_mut(output_len(plan));
            *room = rest;
            let (destination, state) = own.split_at_mut(plan.destination.len as usize);
            return Outputs { destination, state };
        }
        // SAFETY: the arena is exclusive, the spans were checked, and the word writes them: nothing else that
        // it names overlaps them.
        unsafe {
            Outputs { destination: slice_mut(arena, plan.destination), state: slice_mut(arena, plan.state) }
        }
    }
}

/// The keys that a word brings with it. In a frame of its own, to be wiped.
#[inline(never)]
fn carry<A: Arena>(features: Features, arena: &A, plan: &Plan) -> Result<Carried, Status> {
    let expand = |at: KeyAt, algorithm: Algorithm| {
        let KeyAt::Arena(span) = at else { return Ok(None) };
        let mut bytes = Zeroizing::new(vec![0; span.len as usize]);
        arena.read(span.at, &mut bytes);
        match Key::new(features, algorithm, &bytes) {
            Ok(key) => Kept::new(key, None, None).map(Some).map_err(|NoMemory| Status::Key),
            Err(_) => Err(Status::KeyLength),
        }
    };
    Ok(Carried { key: expand(plan.key, plan.algorithm)?, mac_key: expand(plan.mac_key, plan.hash)? })
}

/// The keys that a word names.
#[derive(Clone, Copy)]
struct Keys<'a> {
    key: Option<&'a Key>,
    mac_key: Option<&'a Key>,
}

#[inline(always)]
fn keys<'a, A>(plan: &Plan, grant: &'a Grant<A>, carried: Option<&'a Carried>) -> Result<Keys<'a>, Status> {
    let find = |at: KeyAt, carried: Option<&'a Kept>, algorithm: Algorithm| {
        let key = match at {
            KeyAt::None => return Ok(None),
            KeyAt::Slot(bits) => grant.keys.get(Handle::from_bits(bits)),
            KeyAt::Arena(_) => carried.map(Kept::key),
        };
        // A key of another algorithm is as good as none.
        match key {
            Some(key) if key.algorithm() == algorithm => Ok(Some(key)),
            _ => Err(Status::Key),
        }
    };
    Ok(Keys {
        key: find(plan.key, carried.and_then(|c| c.key.as_ref()), plan.algorithm)?,
        mac_key: find(plan.mac_key, carried.and_then(|c| c.mac_key.as_ref()), plan.hash)?,
    })
}

/// Makes operations in their places in a list.
struct Added<'v, 'a>(&'v mut Vec<Operation<'a>>);

impl<'a> Sink<'a> for Added<'_, 'a> {
    type Taken = Result<(), Status>;

    #[inline(always)]
    fn accept(self, work: Work<'a>) -> Result<(), Status> {
        self.0.push(Operation::new(work));
        Ok(())
    }

    #[inline(always)]
    fn refuse(self, error: Error) -> Result<(), Status> {
        Err(status_of(error))
    }
}

/// Adds the operation that a word describes.
#[inline(always)]
fn build<'a>(
    plan: &Plan,
    keys: Keys<'a>,
    inputs: Inputs<'a>,
    outputs: Outputs<'a>,
    operations: &mut Vec<Operation<'a>>,
) -> Result<(), Status> {
    let Inputs { source, aad, iv, mac } = inputs;
    let Outputs { destination, state } = outputs;
    let hash = || hash_of(plan.algorithm).ok_or(Status::Algorithm);
    let pass = |destination| InOut::separate(source, destination).map_err(|_| Status::DestinationRange);
    let expected = plan.reverse.then_some(mac);
    let sink = Added(operations);
    match plan.opcode {
        Opcode::Copy => sink.accept(Work::Copy { source, destination }),
        Opcode::CopyChecksum => {
            let checksum = checksum(plan.algorithm)?;
            sink.accept(Work::CopyChecksum { checksum, source, destination })
        }
        Opcode::Checksum => sink.accept(Work::Checksum { checksum: checksum(plan.algorithm)?, data: source }),
        Opcode::Cipher => {
            if let Some(Key::KasumiF8(key)) = keys.key {
                return kasumi_f8(plan, key, iv, pass(destination)?, sink);
            }
            let key = keys.key.and_then(Key::as_cipher).ok_or(Status::Key)?;
            let direction = if plan.reverse { Direction::Decrypt } else { Direction::Encrypt };
            cipher(key, direction, iv, pass(destination)?, sink)
        }
        Opcode::Aead => {
            let key = keys.key.and_then(Key::as_aead).ok_or(Status::Key)?;
            aead(key, iv, aad, pass(destination)?, expected, sink)
        }
        Opcode::Hash => sink.accept(Work::Hash(hash()?, HashJob::new(source))),
        Opcode::PartialHash => {
            let before = (!plan.first).then_some(aad);
            let after = (plan.state.len > 0).then_some(state);
            sink.accept(Work::Partial(Partial { hash: hash()?, before, data: source, after, digest: None }))
        }
        Opcode::Hmac => {
            let key = keys.key.and_then(Key::as_mac).ok_or(Status::Key)?;
            keyed(key, source, expected, sink)
        }
        Opcode::Mac => match keys.key {
            Some(Key::KasumiF9(key)) => kasumi_f9(plan, key, iv, source, expected, sink),
            key => {
                if !iv.is_empty() {
                    return Err(Status::IvLength);
                }
                let key = key.and_then(Key::as_mac).ok_or(Status::Key)?;
                keyed(key, source, expected, sink)
            }
        },
        Opcode::EncryptThenMac | Opcode::MacThenDecrypt => {
            let cipher = keys.key.and_then(Key::as_cipher).ok_or(Status::Key)?;
            let Some(Key::Hmac(hmac)) = keys.mac_key else { return Err(Status::Key) };
            chained(cipher, iv, hmac, plan.clear as usize, pass(destination)?, expected, sink)
        }
        _ => sink.accept(Work::Null),
    }
}

fn checksum(algorithm: Algorithm) -> Result<Checksum, Status> {
    match algorithm {
        Algorithm::Crc32 => Ok(Checksum::Crc32),
        Algorithm::Crc32c => Ok(Checksum::Crc32c),
        Algorithm::IpChecksum => Ok(Checksum::Ip),
        _ => Err(Status::Algorithm),
    }
}

#[inline(always)]
fn kasumi_f8<'a>(
    plan: &Plan,
    key: &'a kasumi::F8,
    iv: &[u8],
    data: InOut<'a>,
    sink: Added<'_, 'a>,
) -> Result<(), Status> {
    // TS 35.201 §3.4: COUNT || BEARER || DIRECTION || 0...0.
    let start = u64::from_be_bytes(iv.try_into().map_err(|_| Status::IvLength)?);
    if start & ((1 << 26) - 1) != 0 {
        return Err(Status::Parameter);
    }
    let (count, bearer, direction) =
        ((start >> 32) as u32, (start >> 27) as u8 & 31, (start >> 26) as u8 & 1);
    let bits = 8 * data.len() - (plan.parameter & 7) as usize;
    sink.accept(Work::KasumiF8(kasumi::F8Job::new(key, count, bearer, direction, data, bits)))
}

#[inline(always)]
fn kasumi_f9<'a>(
    plan: &Plan,
    key: &'a kasumi::F9,
    iv: &[u8],
    message: &'a [u8],
    expected: Expected<'a>,
    sink: Added<'_, 'a>,
) -> Result<(), Status> {
    // TS 35.201 §4.4: COUNT || FRESH.
    let start = u64::from_be_bytes(iv.try_into().map_err(|_| Status::IvLength)?);
    let (count, fresh, direction) = ((start >> 32) as u32, start as u32, (plan.parameter >> 8) as u8);
    let bits = 8 * message.len() - (plan.parameter & 7) as usize;
    let job = kasumi::F9Job::new(key, count, fresh, direction, message, bits);
    sink.accept(Work::KasumiF9(job, expected))
}

/// Where a digest or tag is to be written; nowhere where one is read.
#[inline(always)]
fn written_mac(plan: &Plan) -> Span {
    if plan.reverse { Span::default() } else { plan.mac }
}

/// Checks a word of an exclusive arena that stages nothing, and adds its operation; where its digest or tag goes.
#[inline(always)]
fn direct_operation<'a, A: Arena>(
    word: &ControlWord,
    grant: &'a Grant<A>,
    operations: &mut Vec<Operation<'a>>,
) -> Result<Span, Status> {
    let mut checked = Plan::NOTHING;
    plan(word, &grant.arena, grant.algorithms, &mut Pieces::new(), &mut checked)?;
    let keys = keys(&checked, grant, None)?;
    let inputs = Inputs::locate(&grant.arena, &checked, None);
    let outputs = Outputs::locate(&grant.arena, &checked, &mut [].as_mut_slice());
    build(&checked, keys, inputs, outputs, operations)?;
    Ok(written_mac(&checked))
}

/// Writes the digest or tag, and says what came of the operation.
#[inline(always)]
fn complete<A: Arena>(tag: u64, mac: Span, operation: &Operation<'_>, arena: &A) -> Completion {
    let mut value = operation.value();
    if let Err(error) = operation.result() {
        return failed(tag, status_of(error));
    }
    if mac.len > 0 {
        arena.write(mac.at, &operation.tag()[..mac.len as usize]);
        value = mac.len;
    }
    Completion { tag, status: Status::Ok as u16, value, ..Completion::default() }
}

/// The status that an engine's error is.
#[cold]
pub fn status_of(error: Error) -> Status {
    match error {
        Error::KeyLength { .. } | Error::WeakKey { .. } => Status::KeyLength,
        Error::NonceLength { .. } => Status::IvLength,
        Error::TagLength { .. } => Status::MacLength,
        Error::DataLength { .. } => Status::DataLength,
        Error::OutputLength { .. } => Status::DestinationRange,
        Error::Authentication => Status::Authentication,
        Error::MidState => Status::MidState,
        _ => Status::Parameter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recycled_memory_is_the_same_memory() {
        let data = [1, 2, 3];
        let mut operations = Vec::with_capacity(100);
        operations.push(Operation::checksum(Checksum::Ip, &data));
        let place = operations.as_ptr() as usize;
        let recycled: Vec<Operation<'static>> = recycle(operations);
        assert_eq!((recycled.as_ptr() as usize, recycled.capacity(), recycled.len()), (place, 100, 0));
    }
}
