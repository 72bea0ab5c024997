//! The pace of keys that take long to make or to expand. The thread that answers about keys does nothing else meanwhile, so after each of them
//! it serves others for three times as long.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use millstream_accelerator::{GrantId, slh_dsa_set};
use millstream_cwq::Algorithm;

/// The rest after a key, in multiples of the time that the key took.
const REST: u32 = 3;

/// The time that needs no rest: a client's turn is over after less.
pub(super) const SHORT: Duration = Duration::from_millis(1);

/// The time for which the next in the line is waited for. The library asks every 20 ms.
const HELD: Duration = Duration::from_millis(100);

/// The most grants in a line.
const MOST_WAITING: usize = 64;

/// The origin of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The client, who may have it still.
    Imported,
    /// This worker, and from nowhere else.
    Generated,
}

/// A refusal: others come first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Resting;

/// The paces of a worker, one for each kind of work that takes long: to make a key of RSA takes a hundred times as long as a key on hashes, and does not
/// hold that up.
#[derive(Default)]
pub(super) struct Paces {
    primes: Pace<GrantId>,
    trees: Pace<GrantId>,
}

impl Paces {
    /// Returns a grant's turn to make or to expand a key, if that may take long.
    ///
    /// # Errors
    /// [`Resting`] while others come first.
    pub(super) fn turn(
        &self,
        grant: GrantId,
        algorithm: Algorithm,
        origin: Origin,
    ) -> Result<Option<Turn<'_>>, Resting> {
        self.of(algorithm, origin).map(|pace| pace.turn(grant, Instant::now())).transpose()
    }

    /// Returns the pace of a key that may take long.
    fn of(&self, algorithm: Algorithm, origin: Origin) -> Option<&Pace<GrantId>> {
        match algorithm {
            // Primes are searched for. A key that is brought has them.
            Algorithm::Rsa if origin == Origin::Generated => Some(&self.primes),
            // The uppermost tree is computed anew in any case.
            _ if slh_dsa_set(algorithm).is_some() => Some(&self.trees),
            _ => None,
        }
    }

    /// Gives up the places of a grant that ends here.
    pub(super) fn forget(&self, grant: GrantId) {
        [&self.primes, &self.trees].into_iter().for_each(|pace| pace.forget(grant));
    }
}

/// One line of grants. Who was refused first has the next turn, if he asks in time, so that no client who asks all the time has every turn.
struct Pace<G> {
    line: RefCell<Line<G>>,
}

struct Line<G> {
    /// The end of the rest; none before the first key.
    rests_until: Option<Instant>,
    waiting: VecDeque<G>,
}

/// A turn, which ends when this is dropped.
pub(super) struct Turn<'a, G = GrantId> {
    pace: &'a Pace<G>,
    began: Instant,
}

impl<G> Default for Pace<G> {
    fn default() -> Self {
        Pace { line: RefCell::new(Line { rests_until: None, waiting: VecDeque::new() }) }
    }
}

impl<G: Copy + PartialEq> Pace<G> {
    fn turn(&self, grant: G, now: Instant) -> Result<Turn<'_, G>, Resting> {
        if self.line.borrow_mut().lets(grant, now) {
            return Ok(Turn { pace: self, began: now });
        }
        Err(Resting)
    }

    fn forget(&self, grant: G) {
        self.line.borrow_mut().waiting.retain(|waiting| *waiting != grant);
    }
}

impl<G> Pace<G> {
    /// Ends a turn.
    fn rest(&self, began: Instant, now: Instant) {
        let took = now.saturating_duration_since(began);
        let rest = if took < SHORT { Duration::ZERO } else { REST * took };
        self.line.borrow_mut().rests_until = Some(now + rest);
    }
}

impl<G: Copy + PartialEq> Line<G> {
    /// Returns true if a grant has its turn now. If not, it waits in the line.
    fn lets(&mut self, grant: G, now: Instant) -> bool {
        let Some(rests_until) = &mut self.rests_until else { return true };
        // Whoever does not ask again in time loses the place.
        while self.waiting.front().is_some_and(|first| *first != grant) && now >= *rests_until + HELD {
            self.waiting.pop_front();
            *rests_until += HELD;
        }
        if now >= *rests_until && self.waiting.front().is_none_or(|first| *first == grant) {
            self.waiting.pop_front();
            return true;
        }
        if self.waiting.len() < MOST_WAITING && !self.waiting.contains(&grant) {
            self.waiting.push_back(grant);
        }
        false
    }
}

impl<G> Drop for Turn<'_, G> {
    fn drop(&mut self) {
        self.pace.rest(self.began, Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use millstream_accelerator::{PreparedKey, PublicKeyError, Random, generate_key};
    use millstream_cpu::Features;

    use super::*;

    /// A clock that is set.
    struct Clock {
        pace: Pace<u8>,
        now: Instant,
    }

    impl Clock {
        fn new() -> Self {
            Clock { pace: Pace::default(), now: Instant::now() }
        }

        /// Asks for a turn at a time, and takes so long if it comes.
        fn ask(&mut self, grant: u8, at_ms: u64, takes_ms: u64) -> bool {
            let now = self.now + Duration::from_millis(at_ms);
            let Ok(turn) = self.pace.turn(grant, now) else { return false };
            std::mem::forget(turn);
            self.pace.rest(now, now + Duration::from_millis(takes_ms));
            true
        }
    }

    #[test]
    fn others_come_first_for_three_times_as_long() {
        let mut clock = Clock::new();
        assert!(clock.ask(1, 0, 20));
        assert!(!clock.ask(1, 21, 20) && !clock.ask(1, 79, 20), "resting until 80");
        assert!(clock.ask(1, 80, 0), "what took nothing needs no rest");
        assert!(clock.ask(1, 80, 20));
        assert!(!clock.ask(1, 100, 20) && clock.ask(1, 160, 20));
        let pace = Pace::default();
        drop(pace.turn(1, Instant::now() - Duration::from_secs(1)));
        assert!(pace.turn(1, Instant::now()).is_err(), "a turn that is dropped has ended");
    }

    #[test]
    fn who_was_refused_first_has_the_next_turn() {
        let mut clock = Clock::new();
        assert!(clock.ask(1, 0, 20));
        assert!(!clock.ask(2, 25, 20) && !clock.ask(1, 30, 20) && !clock.ask(3, 40, 20));
        // The first one asks all the time, and has its turn after the second all the same.
        assert!((80..120).all(|at| !clock.ask(1, at, 20)));
        assert!(clock.ask(2, 120, 20));
        assert!(!clock.ask(2, 200, 20) && clock.ask(1, 200, 20), "resting until 280");
        // The third one does not come. A while later the next one has its turn, and the others keep their order.
        assert!(!clock.ask(4, 281, 20) && !clock.ask(2, 379, 20));
        assert!(!clock.ask(4, 380, 20) && clock.ask(2, 380, 20));
        clock.pace.forget(4);
        assert!(clock.ask(5, 460, 20), "nobody waits any more");
        for grant in 0..=u8::MAX {
            assert!(!clock.ask(grant, 461, 20));
        }
        assert_eq!(clock.pace.line.borrow().waiting.len(), MOST_WAITING);
    }

    /// Bytes that are the same every time.
    struct Repeated(millstream_testkit::Random);

    impl Random for Repeated {
        fn fill(&mut self, bytes: &mut [u8]) -> Result<(), PublicKeyError> {
            self.0.fill(bytes);
            Ok(())
        }
    }

    /// Returns the shortest of some times, because anything may come in between.
    fn quickest(act: impl Fn()) -> Duration {
        let times = [(); 5].map(|()| {
            let began = Instant::now();
            act();
            began.elapsed()
        });
        times.into_iter().min().unwrap()
    }

    /// A key that takes long, of whatever algorithm, needs a line in [`Paces::of`].
    #[test]
    fn what_is_not_paced_is_quick() {
        let (features, paces) = (Features::hardware(), Paces::default());
        let mut checked = 0;
        for algorithm in Algorithm::ALL.iter().copied() {
            let is_paced = |origin| paces.of(algorithm, origin).is_some();
            // A key of RSA has the length of its modulus.
            let lens = if algorithm == Algorithm::Rsa { 256..=256 } else { 1..=128 };
            for len in lens.filter(|_| !is_paced(Origin::Imported)) {
                let random = |len| Repeated(millstream_testkit::Random::new(len as u64));
                let make = || generate_key(features, algorithm, len, &mut random(len));
                let Ok(key) = make() else { continue };
                let made = if is_paced(Origin::Generated) { SHORT } else { quickest(|| drop(make())) };
                let expanded = quickest(|| drop(PreparedKey::new(features, algorithm, &key, false, None)));
                checked += 1;
                assert!(
                    made <= 2 * SHORT && expanded <= 2 * SHORT,
                    "{} of {len} bytes: made in {made:?}, expanded in {expanded:?}",
                    algorithm.name()
                );
            }
        }
        assert!(checked > 200, "{checked} keys");
    }
}
