//! Executing held words, and making completions of what came of them.

use std::ops::Deref;

use millstream_cpu::Features;
use millstream_cwq::ring::Word;
use millstream_cwq::{ControlWord, Opcode, Status};

use crate::arena::{Arena, Span};
use crate::check::{CheckedWord, Pieces, check};
use crate::grant::Grant;
use crate::held::{HeldWord, MOST_HELD};
use crate::jobs::{Lists, recycle};
use crate::operands::{Operands, add_operation, complete_operation, put_nonce, written_mac};
use crate::operation::Operation;
use crate::queue::{Queue, post};
use crate::shape::{ANY, shape, with_shape, word_of};
use crate::slab::Slab;
use crate::stage::Stage;
use crate::stats::Filled;
use crate::status::failed;
use crate::trace::About;
use crate::unit::Unit;
use crate::uses::STAGED;
use crate::way::Way;
use crate::wipe::wipe_list;
use crate::word_keys::find_keys;

/// An operation under way that works on an exclusive arena itself: all that its completion needs of the word.
struct DirectOp {
    tag: u64,
    queue: u32,
    mac: Span,
    about: About,
}

/// The sub-unit, and memory that is used again and again.
pub(crate) struct Executor {
    pub(crate) unit: Unit,
    pub(crate) operations: Vec<Operation<'static>>,
    pub(crate) lists: Lists,
    direct: Vec<DirectOp>,
    /// The words that can't be direct, by their place among those that are held.
    others: Vec<u32>,
    pub(crate) stage: Stage,
    pub(crate) filled: Filled,
    pub(crate) way: Way,
}

impl Executor {
    pub(crate) fn new(unit: Unit) -> Self {
        Executor {
            unit,
            // A list that grew would leave what it held where it was.
            operations: Vec::with_capacity(MOST_HELD),
            lists: Lists::default(),
            direct: Vec::with_capacity(MOST_HELD),
            others: Vec::with_capacity(MOST_HELD),
            stage: Stage::new(MOST_HELD),
            filled: Filled::default(),
            way: Way::default(),
        }
    }

    pub(crate) fn filled(&self) -> Filled {
        self.filled
    }

    /// Wipes what is left of objects.
    pub(crate) fn forget(&mut self) {
        self.stage.memory.wipe();
    }

    /// Executes words and posts a completion for each to its queue.
    #[inline]
    pub(crate) fn run<A: Arena, M: Deref<Target = [Word]>>(
        &mut self,
        features: Features,
        grants: &Slab<Grant<A>>,
        queues: &mut Slab<Queue<M>>,
        held: &[HeldWord],
    ) {
        let mut begin = 0;
        while let Some(run) = self.run_alike(grants, queues, &held[begin..]) {
            begin += run.words;
            if !run.goes_on {
                break;
            }
        }
        if begin < held.len() {
            self.run_direct(grants, queues, held, begin);
        }
        let mut next = 0;
        while next < self.others.len() {
            next = self.run_staged(features, grants, queues, held, next);
        }
        self.others.clear();
    }

    /// Executes the words whose objects can be used where they lie, and leaves the others to
    /// [`Executor::run_staged`].
    #[inline]
    fn run_direct<A: Arena, M: Deref<Target = [Word]>>(
        &mut self,
        grants: &Slab<Grant<A>>,
        queues: &mut Slab<Queue<M>>,
        held: &[HeldWord],
        mut begin: usize,
    ) {
        let mut operations = recycle(std::mem::take(&mut self.operations));
        for alike in held[begin..].chunk_by(HeldWord::is_like) {
            match alike[0].grant(grants).filter(|grant| grant.arena.exclusive()) {
                Some(grant) => {
                    let shape = shape_on(self.way, &alike[0]);
                    with_shape!(shape, self.add_direct(grant, queues, alike, begin as u32, &mut operations));
                }
                None => self.others.extend(begin as u32..(begin + alike.len()) as u32),
            }
            begin += alike.len();
        }
        if !operations.is_empty() {
            self.filled.add(self.unit.run_counted(&mut operations));
        }
        let mut done = &operations[..];
        for of_queue in self.direct.chunk_by(|one, next| one.queue == next.queue) {
            let (own, others) = done.split_at(of_queue.len());
            done = others;
            let Some(queue) = queues.at_mut(of_queue[0].queue as usize) else { continue };
            let Some(grant) = grants.at(queue.grant) else { continue };
            queue.post_all(of_queue.iter().zip(own).map(|(direct, operation)| {
                (direct.about, complete_operation(direct.tag, direct.mac, operation, &grant.arena))
            }));
        }
        wipe_list(&mut self.direct);
        self.operations = recycle(operations);
    }

    /// Adds the operations of words that are alike, of which `begin` is the first one's place among those that are held.
    #[inline(never)]
    fn add_direct<'a, const SHAPE: u64>(
        &mut self,
        grant: &'a Grant<impl Arena>,
        queues: &mut Slab<Queue<impl Deref<Target = [Word]>>>,
        alike: &[HeldWord],
        begin: u32,
        operations: &mut Vec<Operation<'a>>,
    ) {
        for (index, held) in (begin..).zip(alike) {
            let word = word_of::<SHAPE>(held.words);
            if word.flags & STAGED != 0 || word.opcode == Opcode::Cancel as u8 || held.cancelled {
                self.others.push(index);
                continue;
            }
            let queue = held.queue;
            let about = About::of(&word, word.source_len);
            match direct_operation::<SHAPE, _>(&word, grant, operations) {
                Ok(mac) => self.direct.push(DirectOp { tag: word.tag, queue, mac, about }),
                Err(status) => post(queues, queue, about, failed(word.tag, status)),
            }
        }
    }

    /// Executes words for which something is staged, from the given one of them on, and returns which is next.
    ///
    /// All are checked first, then all inputs are copied, so that where they are not in the cache they come
    /// together; then the engines run, and all outputs are copied.
    #[inline(never)]
    fn run_staged<A: Arena, M: Deref<Target = [Word]>>(
        &mut self,
        features: Features,
        grants: &Slab<Grant<A>>,
        queues: &mut Slab<Queue<M>>,
        held: &[HeldWord],
        mut next: usize,
    ) -> usize {
        let Executor { unit, operations, stage, others, filled, way, .. } = self;
        while let Some(&first) = others.get(next)
            && !stage.is_full()
        {
            let rest = &others[next..];
            let shape = shape_on(*way, &held[first as usize]);
            match with_shape!(shape, stage.enter_alike(features, grants, queues, held, rest)) {
                // The next object fits once the others have given their memory back.
                0 => break,
                entered => next += entered,
            }
        }
        stage.copy_in(grants, held);
        stage.execute(unit, operations, filled, grants, held);
        stage.copy_out(grants, queues, held);
        stage.clear();
        next
    }
}

/// Returns the shape for which the code is made that a word meets.
#[inline(always)]
pub(crate) fn shape_on(way: Way, held: &HeldWord) -> u64 {
    match way {
        Way::Fast => shape(&held.words),
        Way::General => ANY,
    }
}

/// Checks a word of an exclusive arena that stages nothing, and adds its operation. Returns where its digest or tag goes.
#[inline(always)]
fn direct_operation<'a, const SHAPE: u64, A: Arena>(
    word: &ControlWord,
    grant: &'a Grant<A>,
    operations: &mut Vec<Operation<'a>>,
) -> Result<Span, Status> {
    let mut checked = CheckedWord::NOTHING;
    check::<SHAPE, A>(word, &grant.arena, grant.policy.as_deref(), &mut Pieces::new(), &mut checked)?;
    let keys = find_keys(&checked, grant, None)?;
    if checked.makes_nonce {
        put_nonce(&checked, grant, &mut [])?;
    }
    add_operation::<SHAPE>(&checked, keys, Operands::in_arena(&grant.arena, &checked), operations)?;
    Ok(written_mac(&checked))
}
