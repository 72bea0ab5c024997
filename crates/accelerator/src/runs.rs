//! Runs: words that follow each other, are alike, and ask for something frequent.
//!
//! The jobs of a run are made in a list of their engine's own type, and their completions are posted together. Words are judged by the
//! same [`check`] as all others. A run ends before the first word that is unusual, and behind the first that is refused. So this way
//! differs from the general one only in what it does not have to ask.

use std::ops::Deref;

use millstream_cwq::ring::Word;
use millstream_cwq::{Completion, ControlWord, Status};

use crate::arena::Arena;
use crate::check::{CheckedWord, Pieces, check};
use crate::grant::Grant;
use crate::held::{HeldWord, MOST_HELD};
use crate::jobs::{FULL_LANES, JobKind, recycle, with_kind};
use crate::operands::{Operands, complete, put_nonce, staged_len, written_mac};
use crate::queue::Queue;
use crate::run::{Executor, shape_on};
use crate::shape::word_of;
use crate::slab::Slab;
use crate::stage::{Placed, Stage, copy_in, prefetch, write_out};
use crate::stats::Filled;
use crate::status::failed;
use crate::trace::About;
use crate::word_keys::find_keys;

/// The end of a word that was refused.
type Refused = Option<(About, Completion)>;

/// The words that a run has seen to.
pub(crate) struct Seen {
    pub(crate) words: usize,
    /// True if another run may follow. It may not behind a word that was refused: somebody who has every other word refused would have
    /// all that follow looked through for each.
    pub(crate) goes_on: bool,
}

impl Executor {
    /// Executes the first words as a run, if they fill lanes or are all that there are.
    #[inline]
    pub(crate) fn run_alike<A: Arena, M: Deref<Target = [Word]>>(
        &mut self,
        grants: &Slab<Grant<A>>,
        queues: &mut Slab<Queue<M>>,
        held: &[HeldWord],
    ) -> Option<Seen> {
        let first = held.first()?;
        let grant = first.grant(grants)?;
        let queue = queues.at_mut(first.queue as usize)?;
        let alike = held.chunk_by(|one, next| one.is_like(next) && one.queue == next.queue).next()?;
        if alike.len() < held.len() && alike.len() < FULL_LANES {
            return None;
        }
        let shape = shape_on(self.way, first);
        if grant.arena.exclusive() {
            with_kind!(shape, self.run_in_arena(grant, queue, alike))
        } else {
            with_kind!(shape, self.run_on_copies(grant, queue, alike))
        }
    }

    /// Executes words of one queue whose objects can be used where they lie; none when the first is unusual.
    #[inline(never)]
    fn run_in_arena<const SHAPE: u64, K: JobKind, A: Arena, M: Deref<Target = [Word]>>(
        &mut self,
        grant: &Grant<A>,
        queue: &mut Queue<M>,
        alike: &[HeldWord],
    ) -> Option<Seen> {
        let mut jobs: Vec<K::Job<'_>> = recycle(std::mem::take(K::list(&mut self.lists)));
        jobs.reserve_exact(MOST_HELD);
        let mut refused = None;
        for held in alike.iter().take_while(|held| !held.cancelled) {
            let word = word_of::<SHAPE>(held.words);
            let added = judge::<SHAPE, A>(&word, grant).and_then(|checked| {
                let keys = find_keys(&checked, grant, None)?;
                if checked.makes_nonce {
                    put_nonce(&checked, grant, &mut [])?;
                }
                K::add(&checked, keys, Operands::in_arena(&grant.arena, &checked), &mut jobs)
            });
            if let Err(status) = added {
                refused = refusal(&word, status);
                break;
            }
        }
        self.run_jobs::<K>(&mut jobs);
        queue.post_all(alike.iter().zip(&jobs).map(|(held, job)| {
            let word = word_of::<SHAPE>(held.words);
            let mac = written_mac(&CheckedWord::again::<SHAPE>(&word));
            let completion = complete(word.tag, mac, K::result(job), K::tag(job), 0, &grant.arena);
            (About::of(&word, word.source_len), completion)
        }));
        let made = jobs.len();
        *K::list(&mut self.lists) = recycle(jobs);
        seen(queue, made, refused)
    }

    /// Executes words of one queue on copies of what they read. All are checked first, then all inputs are copied, so that where they
    /// are not in the cache they come together; then the engine runs, and all outputs are copied.
    #[inline(never)]
    fn run_on_copies<const SHAPE: u64, K: JobKind, A: Arena, M: Deref<Target = [Word]>>(
        &mut self,
        grant: &Grant<A>,
        queue: &mut Queue<M>,
        alike: &[HeldWord],
    ) -> Option<Seen> {
        let arena = &grant.arena;
        if arena.is_gone() {
            return None;
        }
        let mut refused = self.place::<SHAPE, A>(grant, alike);
        let Stage { memory, placed, .. } = &mut self.stage;
        for (held, place) in alike.iter().zip(&*placed) {
            let checked = CheckedWord::again::<SHAPE>(&word_of::<SHAPE>(held.words));
            copy_in(arena, &checked, memory.get(place.begin..place.begin + staged_len(&checked)));
        }
        let mut memory = std::mem::take(&mut self.stage.memory);
        let mut jobs: Vec<K::Job<'_>> = recycle(std::mem::take(K::list(&mut self.lists)));
        jobs.reserve_exact(MOST_HELD);
        let given = memory.given();
        let (mut rest, mut at) = (memory.get(0..given), 0);
        for (held, place) in alike.iter().zip(&self.stage.placed) {
            let word = word_of::<SHAPE>(held.words);
            let checked = CheckedWord::again::<SHAPE>(&word);
            let (own, behind) =
                std::mem::take(&mut rest)[place.begin - at..].split_at_mut(staged_len(&checked));
            (rest, at) = (behind, place.begin + own.len());
            let added = find_keys(&checked, grant, None).and_then(|keys| {
                if checked.makes_nonce {
                    put_nonce(&checked, grant, own)?;
                }
                K::add(&checked, keys, Operands::staged(&checked, own), &mut jobs)
            });
            if let Err(status) = added {
                refused = refusal(&word, status);
                break;
            }
        }
        self.run_jobs::<K>(&mut jobs);
        self.stage.placed.truncate(jobs.len());
        for ((held, place), job) in alike.iter().zip(&mut self.stage.placed).zip(&jobs) {
            let mac = written_mac(&CheckedWord::again::<SHAPE>(&word_of::<SHAPE>(held.words)));
            place.completion = complete(held.tag(), mac, K::result(job), K::tag(job), 0, arena);
        }
        *K::list(&mut self.lists) = recycle(jobs);
        queue.post_all(alike.iter().zip(&self.stage.placed).map(|(held, place)| {
            let word = word_of::<SHAPE>(held.words);
            let checked = CheckedWord::again::<SHAPE>(&word);
            let own = memory.get(place.begin..place.begin + staged_len(&checked));
            write_out(arena, &checked, &place.completion, own);
            // When the memory has gone away under the copies, what was read or written is not known.
            let gone = arena.is_gone();
            let completion = if gone { failed(word.tag, Status::Revoked) } else { place.completion };
            (About::of(&word, word.source_len), completion)
        }));
        memory.take_back();
        self.stage.memory = memory;
        let made = self.stage.placed.len();
        self.stage.placed.clear();
        seen(queue, made, refused)
    }

    /// Checks words of a run, and gives each a place in staging memory, as long as there is room.
    #[inline(always)]
    fn place<const SHAPE: u64, A: Arena>(&mut self, grant: &Grant<A>, alike: &[HeldWord]) -> Refused {
        let stage = &mut self.stage;
        for held in alike.iter().take_while(|held| !held.cancelled) {
            let word = word_of::<SHAPE>(held.words);
            let checked = match judge::<SHAPE, A>(&word, grant) {
                Ok(checked) => checked,
                Err(status) => return refusal(&word, status),
            };
            let len = staged_len(&checked);
            if stage.is_full() || len > stage.memory.room() {
                break;
            }
            prefetch(&grant.arena, &checked);
            stage.placed.push(Placed { begin: stage.memory.give(len), completion: Completion::default() });
        }
        None
    }

    /// Executes jobs, if there are any.
    #[inline(always)]
    fn run_jobs<K: JobKind>(&mut self, jobs: &mut [K::Job<'_>]) {
        if !jobs.is_empty() {
            K::run(&self.unit, jobs);
            self.filled.add(Filled { operations: jobs.len() as u64, calls: 1 });
        }
    }
}

/// Checks a word of a frequent kind.
#[inline(always)]
fn judge<const SHAPE: u64, A: Arena>(word: &ControlWord, grant: &Grant<A>) -> Result<CheckedWord, Status> {
    let mut checked = CheckedWord::NOTHING;
    check::<SHAPE, A>(word, &grant.arena, grant.policy.as_deref(), &mut Pieces::new(), &mut checked)?;
    debug_assert_eq!(CheckedWord::again::<SHAPE>(word), checked);
    Ok(checked)
}

#[cold]
fn refusal(word: &ControlWord, status: Status) -> Refused {
    Some((About::of(word, 0), failed(word.tag, status)))
}

/// Posts the end of a word that was refused behind those that were made.
#[inline(always)]
fn seen<M: Deref<Target = [Word]>>(queue: &mut Queue<M>, made: usize, refused: Refused) -> Option<Seen> {
    let Some((about, completion)) = refused else {
        return (made > 0).then_some(Seen { words: made, goes_on: true });
    };
    queue.post(about, completion);
    Some(Seen { words: made + 1, goes_on: false })
}
