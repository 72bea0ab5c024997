//! From control words to operations, and from their results to completions.
//!
//! # Safety
//! Slices of an arena are lent to operations only where the arena is exclusive: its promise, and the
//! overlap rule that [`plan`] checked, are the witness.
#![allow(unsafe_code)]

use millstream_cpu::Features;
use millstream_cwq::{Completion, ControlWord, Flags, Opcode, Status};
use millstream_engines::Error;

use crate::accelerator::{MOST_HELD, failed};
use crate::arena::{Arena, Span, slice, slice_mut};
use crate::build::{Carried, Data, Objects, build, carry, keys, make_nonce};
use crate::grant::Grant;
use crate::kept::{wipe_list, wipe_stack};
use crate::operation::Operation;
use crate::places::Places;
use crate::plan::{KeyAt, Pieces, Plan, Source, plan};
use crate::staging::Staging;
use crate::stats::Filled;
use crate::trace::About;
use crate::unit::Unit;

/// Bytes of staging memory after which no more words are staged before those that are have been executed: enough to
/// fill lanes, and little enough to stay in a second-level cache.
const STAGED_BYTES: usize = 1 << 20;

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

/// A word that something is staged for, from when it was checked until it completes.
struct Entry {
    plan: Plan,
    /// Which of the words that were taken.
    index: u32,
    /// Which of the keys that words brought with them.
    carried: Option<u32>,
    /// Its place in staging memory: the source, what becomes of it, and then the other inputs.
    begin: usize,
    end: usize,
    /// Whether the source was staged when the word was checked.
    gathered: bool,
    /// Why no operation could be made from the plan.
    refused: Option<Status>,
    /// What became of it.
    completion: Completion,
}

impl Entry {
    /// Whether the whole object is a copy.
    #[inline(always)]
    fn is_copy(&self, exclusive: bool) -> bool {
        !exclusive && self.end > self.begin
    }
}

/// The sub-unit, and memory that is used again and again.
pub(crate) struct Executor {
    pub(crate) unit: Unit,
    pub(crate) operations: Vec<Operation<'static>>,
    direct: Vec<Direct>,
    /// Which of the words are not direct.
    others: Vec<u32>,
    entries: Vec<Entry>,
    carried: Vec<Carried>,
    pub(crate) staging: Staging,
    pub(crate) filled: Filled,
}

impl Executor {
    pub(crate) fn new(unit: Unit) -> Self {
        Executor {
            unit,
            // A list that grew would leave what it held where it was.
            operations: Vec::with_capacity(MOST_HELD),
            direct: Vec::with_capacity(MOST_HELD),
            others: Vec::with_capacity(MOST_HELD),
            entries: Vec::with_capacity(MOST_HELD),
            carried: Vec::with_capacity(MOST_HELD),
            staging: Staging::new(),
            filled: Filled::default(),
        }
    }

    pub(crate) fn filled(&self) -> Filled {
        self.filled
    }

    /// Wipes what is left of objects.
    pub(crate) fn forget(&mut self) {
        self.staging.wipe();
    }

    /// Executes words and posts a completion for each, with the number of its queue.
    #[inline]
    pub(crate) fn run<A: Arena>(
        &mut self,
        features: Features,
        grants: &Places<Grant<A>>,
        taken: &[Taken],
        mut post: impl FnMut(u32, About, Completion),
    ) {
        self.run_direct(grants, taken, &mut post);
        let mut next = 0;
        while next < self.others.len() {
            next = self.run_staged(features, grants, taken, next, &mut post);
        }
        self.others.clear();
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
        for (index, taken) in (0..).zip(taken) {
            let word = taken.word();
            let direct = taken.of(grants).filter(|grant| grant.arena.exclusive());
            let direct = direct.filter(|_| word.flags & STAGED == 0 && word.opcode != Opcode::Cancel as u8);
            let Some(grant) = direct.filter(|_| !taken.cancelled) else {
                self.others.push(index);
                continue;
            };
            let Taken { queue, grant: of, .. } = *taken;
            let about = About::of(&word, word.source_len);
            match direct_operation(&word, grant, &mut operations) {
                Ok(mac) => self.direct.push(Direct { tag: word.tag, queue, grant: of, mac, about }),
                Err(status) => post(queue, about, failed(word.tag, status)),
            }
        }
        if !operations.is_empty() {
            self.filled.add(self.unit.run_counted(&mut operations));
        }
        for (operation, direct) in operations.iter().zip(&self.direct) {
            let Some(grant) = grants.at(direct.grant as usize) else { continue };
            post(direct.queue, direct.about, complete(direct.tag, direct.mac, operation, &grant.arena));
        }
        wipe_list(&mut self.direct);
        self.operations = recycle(operations);
    }

    /// Executes words for which something is staged, from the given one of them on; which is next.
    ///
    /// All are checked first, then all inputs are copied, so that where they are not in the cache they come
    /// together; then the engines run, and all outputs are copied.
    #[inline(never)]
    fn run_staged<A: Arena>(
        &mut self,
        features: Features,
        grants: &Places<Grant<A>>,
        taken: &[Taken],
        mut next: usize,
        post: &mut impl FnMut(u32, About, Completion),
    ) -> usize {
        while let Some(&index) = self.others.get(next) {
            if self.staging.given() >= STAGED_BYTES {
                break;
            }
            let word = &taken[index as usize];
            match self.enter(features, grants, word, index) {
                Ok(()) => {}
                // What fits into all of it waits until the others are done.
                Err(Status::TooLong) if self.staging.given() > 0 => break,
                Err(status) => post(word.queue, About::of(&word.word(), 0), failed(word.tag(), status)),
            }
            next += 1;
        }
        self.copy_in(grants, taken);
        self.execute(grants, taken);
        self.copy_out(grants, taken, post);
        self.staging.take_back();
        wipe_list(&mut self.entries);
        wipe_list(&mut self.carried);
        next
    }

    /// Checks a word, and finds room for what must be staged.
    #[inline(always)]
    fn enter<A: Arena>(
        &mut self,
        features: Features,
        grants: &Places<Grant<A>>,
        taken: &Taken,
        index: u32,
    ) -> Result<(), Status> {
        let grant = taken.of(grants).ok_or(Status::Revoked)?;
        let (word, arena) = (taken.word(), &grant.arena);
        if arena.is_gone() {
            return Err(Status::Revoked);
        }
        if taken.cancelled && word.opcode != Opcode::Cancel as u8 {
            return Err(Status::Cancelled);
        }
        let mut pieces = Pieces::new();
        let mut checked = Plan::NOTHING;
        plan(&word, arena, grant.policy, &mut pieces, &mut checked)?;
        let gathered = matches!(checked.source, Source::Gather { .. });
        if gathered && checked.source.len() > taken.gathered {
            // The list has changed since: what it names now was not paid for.
            return Err(Status::Gather);
        }
        let len = if !arena.exclusive() {
            staged_len(&checked)
        } else if gathered {
            checked.source.len() as usize
        } else {
            0
        };
        if len > self.staging.room() {
            return Err(Status::TooLong);
        }
        let mut carried = None;
        if matches!(checked.key, KeyAt::Arena(_)) || matches!(checked.mac_key, KeyAt::Arena(_)) {
            carried = Some(self.carry(features, arena, &checked)?);
        }
        let (mut begin, mut end) = (0, 0);
        if !arena.exclusive() {
            prefetch(arena, &checked);
            begin = self.staging.give(len);
            end = begin + len;
        } else if gathered {
            begin = self.staging.give(len);
            end = begin + len;
        }
        if gathered {
            let mut rest = self.staging.get(begin..end);
            for piece in &pieces {
                read(arena, *piece, &mut rest);
            }
        }
        let completion = Completion { tag: word.tag, ..Completion::default() };
        self.entries.push(Entry {
            plan: checked,
            index,
            carried,
            begin,
            end,
            gathered,
            refused: None,
            completion,
        });
        Ok(())
    }

    /// Expands the keys that a word brings with it.
    #[cold]
    fn carry<A: Arena>(&mut self, features: Features, arena: &A, plan: &Plan) -> Result<u32, Status> {
        let carried = carry(features, arena, plan);
        // What is copied from here on has no business with what a key has left.
        wipe_stack();
        self.carried.push(carried?);
        Ok(self.carried.len() as u32 - 1)
    }

    /// Copies what the words read, in the order in which [`staged_objects`] takes it.
    #[inline(always)]
    fn copy_in<A: Arena>(&mut self, grants: &Places<Grant<A>>, taken: &[Taken]) {
        for entry in &self.entries {
            let Some(grant) = taken[entry.index as usize].of(grants) else { continue };
            if !entry.is_copy(grant.arena.exclusive()) {
                continue;
            }
            let (plan, arena) = (&entry.plan, &grant.arena);
            let mut rest = self.staging.get(entry.begin..entry.end);
            match plan.source {
                Source::Span(span) => read(arena, span, &mut rest),
                Source::Gather { total } => rest = &mut std::mem::take(&mut rest)[total as usize..],
            }
            read(arena, plan.aad, &mut rest);
            // The place of a nonce that is to be made is left open.
            read(arena, plan.iv, &mut rest);
            read(arena, read_mac(plan), &mut rest);
        }
    }

    /// Makes operations, runs them, and writes digests and tags.
    #[inline(always)]
    fn execute<A: Arena>(&mut self, grants: &Places<Grant<A>>, taken: &[Taken]) {
        let Executor { unit, operations, entries, carried, staging, filled, .. } = self;
        let mut list = recycle(std::mem::take(operations));
        let given = staging.given();
        let mut rest = staging.get(0..given);
        let mut at = 0;
        for entry in entries.iter_mut() {
            let Some(grant) = taken[entry.index as usize].of(grants) else { continue };
            let (plan, arena) = (&entry.plan, &grant.arena);
            let mut own: &mut [u8] = &mut [];
            if entry.end > entry.begin {
                (own, rest) =
                    std::mem::take(&mut rest)[entry.begin - at..].split_at_mut(entry.end - entry.begin);
                at = entry.end;
            }
            let carried = entry.carried.and_then(|index| carried.get(index as usize));
            let built = keys(plan, grant, carried).and_then(|keys| {
                if plan.makes_nonce {
                    if arena.exclusive() {
                        write_nonce(plan, grant)?;
                    } else {
                        own[iv_place(plan)].copy_from_slice(&make_nonce(plan, grant)?);
                    }
                }
                let objects = match (arena.exclusive(), entry.gathered) {
                    (false, _) => staged_objects(plan, own),
                    (true, true) => gathered_objects(arena, plan, own),
                    (true, false) => direct_objects(arena, plan),
                };
                build(plan, keys, objects, &mut list)
            });
            entry.refused = built.err();
        }
        if !list.is_empty() {
            filled.add(unit.run_counted(&mut list));
        }
        let mut done = list.iter();
        for entry in entries.iter_mut() {
            let word = &taken[entry.index as usize];
            let tag = entry.completion.tag;
            if let Some(status) = entry.refused {
                entry.completion = failed(tag, status);
                continue;
            }
            if let (Some(operation), Some(grant)) = (done.next(), word.of(grants)) {
                entry.completion = complete(tag, written_mac(&entry.plan), operation, &grant.arena);
            }
            if entry.plan.opcode == Opcode::Cancel {
                entry.completion.value = u32::from(word.cancelled);
            }
        }
        *operations = recycle(list);
    }

    /// Copies outputs to where they belong, and posts the completions.
    #[inline(always)]
    fn copy_out<A: Arena>(
        &mut self,
        grants: &Places<Grant<A>>,
        taken: &[Taken],
        post: &mut impl FnMut(u32, About, Completion),
    ) {
        for entry in &self.entries {
            let word = &taken[entry.index as usize];
            let Entry { plan, completion, begin, end, .. } = entry;
            let mut completion = *completion;
            if let Some(grant) = word.of(grants) {
                if entry.is_copy(grant.arena.exclusive()) {
                    let place = self.staging.get(*begin..*end);
                    write_out(&grant.arena, plan, &completion, place);
                }
                if grant.arena.is_gone() {
                    // Who knows what was read and written.
                    completion = failed(word.tag(), Status::Revoked);
                }
            }
            let about = About { bytes: plan.source.len(), ..About::of(&word.word(), 0) };
            post(word.queue, about, completion);
        }
    }
}

/// Copies a word's output from its place to where it belongs.
#[inline(always)]
fn write_out<A: Arena>(arena: &A, plan: &Plan, completion: &Completion, place: &mut [u8]) {
    let destination = &mut place[..plan.destination.len as usize];
    let status = completion.status;
    if status == Status::Authentication as u16 {
        // In place an engine leaves the input as it was.
        destination.fill(0);
    } else if status != Status::Ok as u16 {
        return;
    }
    if plan.destination.len > 0 {
        arena.write(plan.destination.at, destination);
    }
    if plan.makes_nonce && status == Status::Ok as u16 {
        arena.write(plan.iv.at, &place[iv_place(plan)]);
    }
    if plan.state.len > 0 && status == Status::Ok as u16 {
        let begin = place.len() - plan.state.len as usize;
        arena.write(plan.state.at, &place[begin..][..completion.value as usize]);
    }
}

/// Says early what a word will touch.
#[inline(always)]
fn prefetch<A: Arena>(arena: &A, plan: &Plan) {
    if let Source::Span(span) = plan.source {
        arena.prefetch(span.at, span.len);
    }
    arena.prefetch(plan.iv.at, plan.iv.len);
    arena.prefetch(plan.aad.at, plan.aad.len);
    arena.prefetch_write(plan.destination.at, plan.destination.len);
    if plan.reverse {
        arena.prefetch(plan.mac.at, plan.mac.len);
    } else {
        arena.prefetch_write(plan.mac.at, plan.mac.len);
    }
}

/// Copies a span to the front of what is left of a word's place.
#[inline(always)]
fn read<A: Arena>(arena: &A, span: Span, rest: &mut &mut [u8]) {
    if span.len == 0 {
        return;
    }
    let (own, others) = std::mem::take(rest).split_at_mut(span.len as usize);
    *rest = others;
    // An initialisation vector is a copy of known length, which needs no call.
    match own.as_mut_array::<16>() {
        Some(own) => arena.read(span.at, own),
        None => arena.read(span.at, own),
    }
}

/// Bytes that a word's object and its other inputs take in staging memory.
#[inline(always)]
fn staged_len(plan: &Plan) -> usize {
    let spans = [plan.aad, plan.iv, read_mac(plan), plan.state];
    let small = spans.iter().map(|span| span.len as usize).sum::<usize>();
    plan.source.len() as usize + small
}

/// Where in a word's place its initialisation vector is.
#[inline(always)]
fn iv_place(plan: &Plan) -> std::ops::Range<usize> {
    let begin = plan.source.len() as usize + plan.aad.len as usize;
    begin..begin + plan.iv.len as usize
}

/// The copies that [`Executor::copy_in`] made. The output becomes of the source where it is.
#[inline(always)]
fn staged_objects<'a>(plan: &Plan, place: &'a mut [u8]) -> Objects<'a> {
    let (data, rest) = place.split_at_mut(plan.source.len() as usize);
    let (aad, rest) = rest.split_at_mut(plan.aad.len as usize);
    let (iv, rest) = rest.split_at_mut(plan.iv.len as usize);
    let (mac, state) = rest.split_at_mut(read_mac(plan).len as usize);
    Objects { data: Data::InPlace(data), aad, iv, mac, state }
}

/// The source from staging memory; the rest lies in an exclusive arena.
#[inline(always)]
fn gathered_objects<'a, A: Arena>(arena: &'a A, plan: &Plan, source: &'a [u8]) -> Objects<'a> {
    let direct = direct_objects(arena, plan);
    let data = match direct.data {
        Data::Separate(_, destination) => Data::Separate(source, destination),
        data => data,
    };
    Objects { data, ..direct }
}

/// The arena's own bytes.
#[inline(always)]
fn direct_objects<'a, A: Arena>(arena: &'a A, plan: &Plan) -> Objects<'a> {
    let source = if let Source::Span(span) = plan.source { span } else { Span::default() };
    // SAFETY: only words of an exclusive arena come here, whose spans were checked: what it writes overlaps nothing
    // else that it names.
    unsafe {
        Objects {
            data: Data::Separate(slice(arena, source), slice_mut(arena, plan.destination)),
            aad: slice(arena, plan.aad),
            iv: slice(arena, plan.iv),
            mac: slice(arena, read_mac(plan)),
            state: slice_mut(arena, plan.state),
        }
    }
}

/// Where a tag to compare with is read; nowhere where one is written.
#[inline(always)]
fn read_mac(plan: &Plan) -> Span {
    if plan.reverse { plan.mac } else { Span::default() }
}

/// An empty list in the same memory, for operations that borrow from something else.
pub(crate) fn recycle<'b>(mut operations: Vec<Operation<'_>>) -> Vec<Operation<'b>> {
    wipe_list(&mut operations);
    operations.into_iter().map(|_| unreachable!("it is empty")).collect()
}

/// Where a digest or tag is to be written; nowhere where one is read.
#[inline(always)]
fn written_mac(plan: &Plan) -> Span {
    if plan.reverse { Span::default() } else { plan.mac }
}

/// Makes a nonce and writes it to where an engine reads it: in an arena that nobody else touches.
#[cold]
#[inline(never)]
fn write_nonce<A: Arena>(plan: &Plan, grant: &Grant<A>) -> Result<(), Status> {
    grant.arena.write(plan.iv.at, &make_nonce(plan, grant)?);
    Ok(())
}

/// Checks a word of an exclusive arena that stages nothing, and adds its operation; where its digest or tag goes.
#[inline(always)]
fn direct_operation<'a, A: Arena>(
    word: &ControlWord,
    grant: &'a Grant<A>,
    operations: &mut Vec<Operation<'a>>,
) -> Result<Span, Status> {
    let mut checked = Plan::NOTHING;
    plan(word, &grant.arena, grant.policy, &mut Pieces::new(), &mut checked)?;
    let keys = keys(&checked, grant, None)?;
    if checked.makes_nonce {
        write_nonce(&checked, grant)?;
    }
    build(&checked, keys, direct_objects(&grant.arena, &checked), operations)?;
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
    use crate::operation::Checksum;

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
