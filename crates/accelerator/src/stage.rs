//! Staging: copies of what words read, for the engines to work on, and copies of what they write.

use std::ops::Deref;

use millstream_cpu::Features;
use millstream_cwq::ring::Word;
use millstream_cwq::{Completion, ControlWord, Opcode, Status};

use crate::arena::{Arena, Span};
use crate::check::{CheckedWord, KeyAt, Pieces, check};
use crate::grant::Grant;
use crate::held::HeldWord;
use crate::jobs::recycle;
use crate::operands::{
    Operands, add_operation, complete_operation, iv_place, put_nonce, read_mac, staged_len, written_mac,
};
use crate::operation::Operation;
use crate::queue::{Queue, post};
use crate::sets::slh_dsa_set;
use crate::shape::{ANY, with_shape, word_of};
use crate::slab::Slab;
use crate::staging::Staging;
use crate::stats::Filled;
use crate::status::failed;
use crate::trace::About;
use crate::unit::Unit;
use crate::wipe::{wipe_list, wipe_stack};
use crate::word_keys::{CarriedKeys, expand_carried_keys, find_keys};

/// Bytes of staging memory after which no more words are staged before those that are have been executed: enough to
/// fill lanes, and little enough to stay in a second-level cache.
const STAGED_BYTES: usize = 1 << 20;

/// A word that something is staged for, from when it was checked until it completes.
struct StagedOp {
    checked: CheckedWord,
    /// The shape of the code that checked it.
    shape: u64,
    /// The word's place among those that are held.
    index: u32,
    /// The place of its keys among those that words brought with them.
    carried: Option<u32>,
    /// The word's place in staging memory: the source, which becomes the output, and then the other inputs.
    begin: usize,
    end: usize,
    /// True when the source was staged while the word was checked.
    gathered: bool,
    /// The reason why the checked word made no operation.
    refused: Option<Status>,
    completion: Completion,
}

impl StagedOp {
    /// Returns true where the whole object is a copy, and not only a gathered source.
    #[inline(always)]
    fn is_copy(&self, exclusive: bool) -> bool {
        !exclusive && self.end > self.begin
    }
}

/// Tells the arenas of words that take long that nothing of them is touched meanwhile.
#[inline(always)]
fn rest_arenas<A: Arena>(ops: &[StagedOp], grants: &Slab<Grant<A>>, held: &[HeldWord]) {
    for op in ops.iter().filter(|op| slh_dsa_set(op.checked.algorithm).is_some()) {
        if let Some(grant) = held[op.index as usize].grant(grants) {
            grant.arena.rest();
        }
    }
}

/// A word of a run that has a place in staging memory.
pub(crate) struct Placed {
    pub(crate) begin: usize,
    pub(crate) completion: Completion,
}

/// The words that are staged now, and the memory that holds their copies.
pub(crate) struct Stage {
    /// The words of a run, which need less.
    pub(crate) placed: Vec<Placed>,
    ops: Vec<StagedOp>,
    carried: Vec<CarriedKeys>,
    pub(crate) memory: Staging,
}

impl Stage {
    /// Makes room for that many words. A list that grew would leave what it held where it was.
    pub(crate) fn new(words: usize) -> Self {
        Stage {
            placed: Vec::with_capacity(words),
            ops: Vec::with_capacity(words),
            carried: Vec::with_capacity(words),
            memory: Staging::new(),
        }
    }

    /// Returns true when as much is staged as is executed at a time.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.memory.given() >= STAGED_BYTES
    }

    /// Checks words from the first of `others` on, as long as they are like it, and finds room for what must be staged.
    /// Returns how many it has seen to: none when the first one's object does not fit beside those that are staged.
    #[inline(never)]
    pub(crate) fn enter_alike<const SHAPE: u64>(
        &mut self,
        features: Features,
        grants: &Slab<Grant<impl Arena>>,
        queues: &mut Slab<Queue<impl Deref<Target = [Word]>>>,
        held: &[HeldWord],
        others: &[u32],
    ) -> usize {
        let first = &held[others[0] as usize];
        for (entered, &index) in others.iter().enumerate() {
            let held = &held[index as usize];
            if !held.is_like(first) || self.is_full() {
                return entered;
            }
            let word = word_of::<SHAPE>(held.words);
            match self.enter::<SHAPE, _>(features, grants, held, &word, index) {
                Ok(()) => {}
                Err(Status::TooLong) if self.memory.given() > 0 => return entered,
                Err(status) => post(queues, held.queue, About::of(&word, 0), failed(word.tag, status)),
            }
        }
        others.len()
    }

    /// Checks a word, and finds room for what must be staged.
    #[inline(always)]
    fn enter<const SHAPE: u64, A: Arena>(
        &mut self,
        features: Features,
        grants: &Slab<Grant<A>>,
        held: &HeldWord,
        word: &ControlWord,
        index: u32,
    ) -> Result<(), Status> {
        let grant = held.grant(grants).ok_or(Status::Revoked)?;
        let arena = &grant.arena;
        if arena.is_gone() {
            return Err(Status::Revoked);
        }
        if held.cancelled && word.opcode != Opcode::Cancel as u8 {
            return Err(Status::Cancelled);
        }
        let mut pieces = Pieces::new();
        let mut checked = CheckedWord::NOTHING;
        check::<SHAPE, A>(word, arena, grant.policy.as_deref(), &mut pieces, &mut checked)?;
        let gathered = checked.source.is_gathered();
        if gathered && checked.source.len() > held.gathered {
            // The list has changed since, and the queue was charged for less than it names now.
            return Err(Status::Gather);
        }
        let len = if !arena.exclusive() {
            staged_len(&checked)
        } else if gathered {
            checked.source.len() as usize
        } else {
            0
        };
        if len > self.memory.room() {
            return Err(Status::TooLong);
        }
        let mut carried = None;
        let in_arena = |key| matches!(key, KeyAt::Arena(_));
        if SHAPE == ANY && (in_arena(checked.key) || in_arena(checked.mac_key)) {
            carried = Some(self.expand_carried_keys(features, arena, &checked)?);
        }
        let (begin, end) = self.find_room(arena, &checked, gathered, len);
        if gathered {
            let mut rest = self.memory.get(begin..end);
            for piece in &pieces {
                read(arena, *piece, &mut rest);
            }
        }
        let completion = Completion { tag: word.tag, ..Completion::default() };
        let shape = SHAPE;
        self.ops.push(StagedOp {
            checked,
            shape,
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

    /// Gives a word a place of so many bytes, if it stages anything.
    #[inline(always)]
    fn find_room<A: Arena>(
        &mut self,
        arena: &A,
        checked: &CheckedWord,
        gathered: bool,
        len: usize,
    ) -> (usize, usize) {
        if !arena.exclusive() {
            prefetch(arena, checked);
        } else if !gathered {
            return (0, 0);
        }
        let begin = self.memory.give(len);
        (begin, begin + len)
    }

    /// Expands the keys that a word brings with it, and returns their number among those of this turn.
    #[cold]
    fn expand_carried_keys<A: Arena>(
        &mut self,
        features: Features,
        arena: &A,
        checked: &CheckedWord,
    ) -> Result<u32, Status> {
        let carried = expand_carried_keys(features, arena, checked);
        // The copies that follow must not take along what a key has left on the stack.
        wipe_stack();
        self.carried.push(carried?);
        Ok(self.carried.len() as u32 - 1)
    }

    /// Copies what the words read, in the order in which [`Operands::staged`] takes it.
    #[inline(always)]
    pub(crate) fn copy_in<A: Arena>(&mut self, grants: &Slab<Grant<A>>, held: &[HeldWord]) {
        for op in &self.ops {
            let Some(grant) = held[op.index as usize].grant(grants) else { continue };
            if !op.is_copy(grant.arena.exclusive()) {
                continue;
            }
            copy_in(&grant.arena, &op.checked, self.memory.get(op.begin..op.end));
        }
    }

    /// Makes operations, runs them, and writes digests and tags.
    #[inline(always)]
    pub(crate) fn execute<A: Arena>(
        &mut self,
        unit: &Unit,
        operations: &mut Vec<Operation<'static>>,
        filled: &mut Filled,
        grants: &Slab<Grant<A>>,
        held: &[HeldWord],
    ) {
        let Stage { ops, carried, memory, .. } = self;
        let mut list = recycle(std::mem::take(operations));
        add_operations(ops, carried, memory, grants, held, &mut list);
        if !list.is_empty() {
            rest_arenas(ops, grants, held);
            filled.add(unit.run_counted(&mut list));
        }
        complete_all(ops, &list, grants, held);
        *operations = recycle(list);
    }

    /// Copies outputs to where they belong, and posts the completions.
    #[inline(always)]
    pub(crate) fn copy_out<A: Arena, M: Deref<Target = [Word]>>(
        &mut self,
        grants: &Slab<Grant<A>>,
        queues: &mut Slab<Queue<M>>,
        held: &[HeldWord],
    ) {
        for op in &self.ops {
            let held = &held[op.index as usize];
            let StagedOp { checked, completion, begin, end, .. } = op;
            let mut completion = *completion;
            if let Some(grant) = held.grant(grants) {
                if op.is_copy(grant.arena.exclusive()) {
                    let place = self.memory.get(*begin..*end);
                    write_out(&grant.arena, checked, &completion, place);
                }
                if grant.arena.is_gone() {
                    // The memory went away under the copies, so what was read or written is not known.
                    completion = failed(held.tag(), Status::Revoked);
                }
            }
            let about = About { bytes: checked.object_len(), ..About::of(&held.word(), 0) };
            post(queues, held.queue, about, completion);
        }
    }

    /// Forgets the words, and frees their places.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.memory.take_back();
        wipe_list(&mut self.ops);
        wipe_list(&mut self.carried);
    }
}

/// Adds the operations of all staged words to a list, and notes which words make none.
#[inline(always)]
fn add_operations<'a, A: Arena>(
    ops: &mut [StagedOp],
    carried: &'a [CarriedKeys],
    memory: &'a mut Staging,
    grants: &'a Slab<Grant<A>>,
    held: &[HeldWord],
    list: &mut Vec<Operation<'a>>,
) {
    let given = memory.given();
    let mut adder = Adder { carried, grants, held, list, at: 0, rest: memory.get(0..given) };
    for alike in ops.chunk_by_mut(|one, next| one.shape == next.shape) {
        with_shape!(alike[0].shape, adder.add_alike(alike));
    }
}

/// The way from staged words to operations.
struct Adder<'s, 'a, A> {
    carried: &'a [CarriedKeys],
    grants: &'a Slab<Grant<A>>,
    held: &'s [HeldWord],
    list: &'s mut Vec<Operation<'a>>,
    /// The staging memory from `at` on.
    rest: &'a mut [u8],
    at: usize,
}

impl<'a, A: Arena> Adder<'_, 'a, A> {
    /// Adds the operations of words that the same code has checked.
    #[inline(never)]
    fn add_alike<const SHAPE: u64>(&mut self, alike: &mut [StagedOp]) {
        for op in alike {
            let Some(grant) = self.held[op.index as usize].grant(self.grants) else { continue };
            let mut own: &mut [u8] = &mut [];
            if op.end > op.begin {
                let rest = &mut std::mem::take(&mut self.rest)[op.begin - self.at..];
                (own, self.rest) = rest.split_at_mut(op.end - op.begin);
                self.at = op.end;
            }
            op.refused = self.add::<SHAPE>(op, grant, own).err();
        }
    }

    /// Adds the operation of one word, which has the given place in staging memory.
    #[inline(always)]
    fn add<const SHAPE: u64>(
        &mut self,
        op: &StagedOp,
        grant: &'a Grant<A>,
        own: &'a mut [u8],
    ) -> Result<(), Status> {
        let arena = &grant.arena;
        let checked = &if SHAPE == ANY {
            op.checked
        } else {
            CheckedWord::again::<SHAPE>(&word_of::<SHAPE>(self.held[op.index as usize].words))
        };
        debug_assert_eq!(checked, &op.checked);
        let carried = op.carried.and_then(|index| self.carried.get(index as usize));
        let keys = find_keys(checked, grant, carried)?;
        if checked.makes_nonce {
            put_nonce(checked, grant, own)?;
        }
        let operands = match (arena.exclusive(), op.gathered) {
            (false, _) => Operands::staged(checked, own),
            (true, true) => Operands::gathered(arena, checked, own),
            (true, false) => Operands::in_arena(arena, checked),
        };
        add_operation::<SHAPE>(checked, keys, operands, self.list)
    }
}

/// Makes the completions of all staged words, and writes digests and tags.
#[inline(always)]
fn complete_all<A: Arena>(
    ops: &mut [StagedOp],
    list: &[Operation<'_>],
    grants: &Slab<Grant<A>>,
    held: &[HeldWord],
) {
    let mut done = list.iter();
    for op in ops {
        let word = &held[op.index as usize];
        let tag = op.completion.tag;
        if let Some(status) = op.refused {
            op.completion = failed(tag, status);
            continue;
        }
        if let (Some(operation), Some(grant)) = (done.next(), word.grant(grants)) {
            op.completion = complete_operation(tag, written_mac(&op.checked), operation, &grant.arena);
        }
        if op.checked.opcode == Opcode::Cancel {
            op.completion.value = u32::from(word.cancelled);
        }
    }
}

/// Copies what a word reads to its place.
#[inline(always)]
pub(crate) fn copy_in<A: Arena>(arena: &A, checked: &CheckedWord, mut place: &mut [u8]) {
    match checked.source.span() {
        Some(span) => read(arena, span, &mut place),
        None => place = &mut std::mem::take(&mut place)[checked.source.len() as usize..],
    }
    read(arena, checked.aad, &mut place);
    if checked.makes_nonce {
        // The nonce is made later: its place is left open.
        place = &mut std::mem::take(&mut place)[checked.iv.len as usize..];
    } else {
        read(arena, checked.iv, &mut place);
    }
    read(arena, read_mac(checked), &mut place);
}

/// Copies a word's output from its place to where it belongs.
#[inline(always)]
pub(crate) fn write_out<A: Arena>(
    arena: &A,
    checked: &CheckedWord,
    completion: &Completion,
    place: &mut [u8],
) {
    let destination = &mut place[..checked.destination.len as usize];
    let status = completion.status;
    if status == Status::Authentication as u16 {
        // The engine worked in place, and gave its input back. The client has that already, or gets zeros.
        if checked.is_in_place() {
            return;
        }
        destination.fill(0);
    } else if status != Status::Ok as u16 {
        return;
    }
    if checked.destination.len > 0 {
        arena.write(checked.destination.at, destination);
    }
    if checked.makes_nonce && status == Status::Ok as u16 {
        arena.write(checked.iv.at, &place[iv_place(checked)]);
    }
    if checked.state.len > 0 && status == Status::Ok as u16 {
        let begin = place.len() - checked.state.len as usize;
        arena.write(checked.state.at, &place[begin..][..completion.value as usize]);
    }
}

/// Says early what a word will touch.
#[inline(always)]
pub(crate) fn prefetch<A: Arena>(arena: &A, checked: &CheckedWord) {
    if checked.is_in_place() {
        // The nonce mostly shares a line with the tag that is written, which comes once for both.
        prefetch_outputs(arena, checked);
        prefetch_small_inputs(arena, checked);
        return;
    }
    if let Some(span) = checked.source.span() {
        arena.prefetch(span.at, span.len);
    }
    prefetch_small_inputs(arena, checked);
    prefetch_outputs(arena, checked);
}

#[inline(always)]
fn prefetch_small_inputs<A: Arena>(arena: &A, checked: &CheckedWord) {
    if checked.makes_nonce {
        arena.prefetch_write(checked.iv.at, checked.iv.len);
    } else {
        arena.prefetch(checked.iv.at, checked.iv.len);
    }
    arena.prefetch(checked.aad.at, checked.aad.len);
}

#[inline(always)]
fn prefetch_outputs<A: Arena>(arena: &A, checked: &CheckedWord) {
    arena.prefetch_write(checked.destination.at, checked.destination.len);
    if checked.reverse {
        arena.prefetch(checked.mac.at, checked.mac.len);
    } else {
        arena.prefetch_write(checked.mac.at, checked.mac.len);
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
