//! The pool of presignatures: nonces of P-256 whose inverse and point were computed while there was nothing else to do.
//!
//! A presignature is taken out of the pool, and zeros are left in its place, before the signature is computed. So it serves once even if
//! a request fails half-way. Who has two signatures with one presignature has the key, and a copy of this memory that runs on would
//! make them. So before any is taken the host's [`Watch`] says whether the machine may have been copied or its clocks have jumped: then
//! all are wiped. The messages of those signatures are copied by then, so a copy that is made later makes the same signatures again. What is
//! older than [`AGE_NS`] is wiped too, and nothing is made unless a signature has asked for it that recently.
//!
//! A copy has the generator of random bytes as well, and would make the same nonces anew. So none are made before the generator has a seed
//! that was drawn [`SETTLE_NS`] after that.

use std::fmt;
use std::sync::{Mutex, MutexGuard};

use millstream_cpu::Features;
use millstream_publickey::Random;
use millstream_publickey::ecdsa::{Lanes, Presignature};

/// The most presignatures that are kept: a multiple of what lanes make.
const CAPACITY: usize = 128;

/// The age in nanoseconds at which a presignature is wiped.
const AGE_NS: u64 = 5_000_000_000;

/// The nanoseconds after which copies of a machine draw different seeds. The kernel is told of a new generation by an interrupt, which may come
/// after the number has changed, or never. It seeds its own generator each minute, with the times of other interrupts.
const SETTLE_NS: u64 = 90_000_000_000;

/// Watches the machine on behalf of an accelerator that keeps presignatures.
pub trait Watch: Send {
    /// Returns the time in nanoseconds, of a clock that runs while the machine is suspended. Returns none if since the last look the machine may
    /// have been restored from a snapshot, or was suspended, or its clock was set.
    fn look(&mut self) -> Option<u64>;
}

/// Counts of an accelerator's presignatures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Presignatures {
    /// Presignatures that are ready.
    pub ready: u64,
    /// Presignatures that signatures were made with.
    pub taken: u64,
    /// Presignatures that were wiped unused.
    pub dropped: u64,
}

/// The pool of a unit, if it has one. A clone has none, because a copy would serve twice.
#[derive(Default)]
pub(crate) struct Presigned(Option<Mutex<Pool>>);

impl Presigned {
    /// Keeps presignatures from here on.
    pub(crate) fn keep(&mut self, watch: Box<dyn Watch>) {
        self.0 = Some(Mutex::new(Pool::new(watch)));
    }

    /// Returns true when the generator may be that of a copy, too, and another seed is worth something.
    #[inline]
    pub(crate) fn wants_seed(&mut self) -> bool {
        self.pool().is_some_and(|pool| pool.generator == Nonces::WantSeed)
    }

    /// Notes that the generator has a new seed.
    pub(crate) fn seeded(&mut self) {
        if let Some(pool) = self.pool() {
            pool.seeded();
        }
    }

    /// Returns the pool for a turn's signatures, which have asked for it. A pool that a panic left half changed is not used.
    pub(super) fn asked(&self) -> Option<MutexGuard<'_, Pool>> {
        let mut pool = self.0.as_ref()?.lock().ok()?;
        pool.asked = pool.look();
        Some(pool)
    }

    /// Returns the counts; zeros without a pool.
    pub(crate) fn counts(&self) -> Presignatures {
        let pool = self.0.as_ref().and_then(|pool| pool.lock().ok());
        pool.map_or(Presignatures::default(), |pool| pool.counts())
    }

    pub(crate) fn pool(&mut self) -> Option<&mut Pool> {
        self.0.as_mut()?.get_mut().ok()
    }
}

impl Clone for Presigned {
    fn clone(&self) -> Self {
        Presigned(None)
    }
}

impl fmt::Debug for Presigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Presigned" } else { "None" })
    }
}

/// The worth of the generator's nonces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nonces {
    /// Nobody else makes them.
    Own,
    /// A copy of the machine may make them, too, since about that time.
    Copied(u64),
    /// A copy may make them, and a seed that is drawn now is another than the copy's.
    WantSeed,
}

/// Presignatures in the order in which they were made.
pub(crate) struct Pool {
    places: Box<[Presignature; CAPACITY]>,
    /// The time at which each was made.
    made: [u64; CAPACITY],
    first: usize,
    count: usize,
    /// The time at which a signature last asked for one; none long after that.
    asked: Option<u64>,
    generator: Nonces,
    watch: Box<dyn Watch>,
    taken: u64,
    dropped: u64,
}

impl Pool {
    fn new(mut watch: Box<dyn Watch>) -> Self {
        // The looks that follow are compared with this one.
        watch.look();
        Pool {
            places: Box::new([const { Presignature::NONE }; CAPACITY]),
            made: [0; CAPACITY],
            first: 0,
            count: 0,
            asked: None,
            generator: Nonces::Own,
            watch,
            taken: 0,
            dropped: 0,
        }
    }

    /// Looks at the machine, wipes what may not be used any more, and returns the time.
    pub(crate) fn look(&mut self) -> Option<u64> {
        let Some(now) = self.watch.look() else {
            self.forget();
            let now = self.watch.look();
            // Without a time it counts from the next look.
            self.generator = Nonces::Copied(now.unwrap_or(u64::MAX));
            return now;
        };
        if let Nonces::Copied(at) = self.generator {
            let settled = now.saturating_sub(at) >= SETTLE_NS;
            self.generator = if settled { Nonces::WantSeed } else { Nonces::Copied(at.min(now)) };
        }
        let is_old = |made: u64| now.saturating_sub(made) >= AGE_NS;
        while self.count > 0 && is_old(self.made[self.first]) {
            self.drop_first();
        }
        self.asked = self.asked.filter(|asked| !is_old(*asked));
        Some(now)
    }

    /// Takes the oldest out of the pool, where zeros are left. Call [`Presigned::asked`] before.
    pub(super) fn take(&mut self) -> Option<Presignature> {
        while self.count > 0 {
            let taken = self.places[self.first].take();
            self.advance();
            if taken.is_some() {
                self.taken += 1;
                return taken;
            }
        }
        None
    }

    /// Returns true when there is room for more, and a signature has asked not long ago.
    pub(crate) fn wants(&mut self, lanes: &Lanes) -> bool {
        let wants = |pool: &Pool| pool.asked.is_some() && pool.generator == Nonces::Own;
        self.count + lanes.presignatures() <= CAPACITY && wants(self) && self.look().is_some() && wants(self)
    }

    fn seeded(&mut self) {
        // An earlier seed may be that of the copy.
        if self.generator == Nonces::WantSeed {
            self.generator = Nonces::Own;
        }
    }

    /// Makes as many as lanes make in one go, and returns true if they were made.
    pub(crate) fn fill(&mut self, features: Features, lanes: &Lanes, random: &mut dyn Random) -> bool {
        let made = lanes.presignatures();
        let Some(now) = self.look() else { return false };
        if self.count + made > CAPACITY || self.generator != Nonces::Own {
            return false;
        }
        // The capacity is a multiple of a batch, so no batch reaches over the end.
        let begin = (self.first + self.count) % CAPACITY;
        if lanes.presign(features, random, &mut self.places[begin..][..made]).is_err() {
            return false;
        }
        self.made[begin..][..made].fill(now);
        self.count += made;
        true
    }

    /// Wipes all. More are made when a signature asks again.
    pub(crate) fn forget(&mut self) {
        self.asked = None;
        while self.count > 0 {
            self.drop_first();
        }
        self.first = 0;
    }

    /// Returns the nanoseconds after which the oldest is to be wiped; none when there are none.
    pub(crate) fn expires_in(&mut self) -> Option<u64> {
        let now = self.look()?;
        (self.count > 0).then(|| (self.made[self.first] + AGE_NS).saturating_sub(now))
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn counts(&self) -> Presignatures {
        Presignatures { ready: self.count as u64, taken: self.taken, dropped: self.dropped }
    }

    fn drop_first(&mut self) {
        drop(self.places[self.first].take());
        self.dropped += 1;
        self.advance();
    }

    fn advance(&mut self) {
        self.first = (self.first + 1) % CAPACITY;
        self.count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use millstream_engines::hash::Hash;
    use millstream_publickey::ecdsa;

    use super::*;
    use crate::generator::Generator;

    /// A clock that the test sets; the greatest number stands for a machine that may have been copied at the time 7.
    #[derive(Clone, Default)]
    struct Clock(Arc<AtomicU64>);

    impl Clock {
        fn set(&self, time: u64) {
            self.0.store(time, Ordering::Relaxed);
        }
    }

    impl Watch for Clock {
        fn look(&mut self) -> Option<u64> {
            let copied = self.0.compare_exchange(u64::MAX, 7, Ordering::Relaxed, Ordering::Relaxed);
            copied.is_err().then(|| self.0.load(Ordering::Relaxed))
        }
    }

    struct Trial {
        clock: Clock,
        presigned: Presigned,
        lanes: Lanes,
        generator: Generator,
    }

    impl Trial {
        fn new(features: Features) -> Self {
            let (clock, mut presigned) = (Clock::default(), Presigned::default());
            presigned.keep(Box::new(clock.clone()));
            let (lanes, generator) = (Lanes::new(features), Generator::new(features, &[1; 32]));
            Trial { clock, presigned, lanes, generator }
        }

        /// Fills the pool as long as it wants more, and returns how often.
        fn fill(&mut self) -> usize {
            let Trial { presigned, lanes, generator, .. } = self;
            let pool = presigned.pool().unwrap();
            let mut times = 0;
            while pool.wants(lanes) {
                assert!(pool.fill(Features::hardware(), lanes, generator));
                times += 1;
            }
            times
        }

        /// Has a signature ask, and fills the pool. Returns how often.
        fn again(&mut self) -> usize {
            drop(self.presigned.asked());
            self.fill()
        }

        fn seed(&mut self, seed: u8) {
            self.generator.reseed(&[seed; 32]);
            self.presigned.seeded();
        }

        fn counts(&mut self) -> [u64; 3] {
            let Presignatures { ready, taken, dropped } = self.presigned.pool().unwrap().counts();
            [ready, taken, dropped]
        }

        fn is_wiped(&mut self) -> bool {
            self.presigned.pool().unwrap().places.iter().all(Presignature::is_none)
        }
    }

    #[test]
    fn nothing_is_made_before_it_is_asked_for_and_not_more_than_fits() {
        for features in [Features::hardware(), Features::none()] {
            let mut trial = Trial::new(features);
            assert_eq!((trial.fill(), trial.counts()), (0, [0, 0, 0]));
            assert!(trial.presigned.asked().unwrap().take().is_none());
            let times = CAPACITY / trial.lanes.presignatures();
            assert_eq!((trial.fill(), trial.counts()), (times, [CAPACITY as u64, 0, 0]));
            // Taken one by one and filled again, they go round.
            for round in 1..=3 {
                let mut pool = trial.presigned.asked().unwrap();
                (0..40).for_each(|_| assert!(pool.take().is_some()));
                drop(pool);
                assert!(trial.fill() > 0);
                assert_eq!(trial.counts(), [CAPACITY as u64, 40 * round, 0]);
            }
        }
    }

    #[test]
    fn what_is_old_or_may_have_been_copied_is_wiped() {
        let mut trial = Trial::new(Features::hardware());
        trial.again();
        trial.clock.set(AGE_NS - 1);
        assert_eq!(trial.presigned.pool().unwrap().expires_in(), Some(1));
        trial.clock.set(AGE_NS);
        assert!(trial.presigned.asked().unwrap().take().is_none());
        assert!(trial.is_wiped() && trial.counts() == [0, 0, CAPACITY as u64]);
        assert_eq!(trial.presigned.pool().unwrap().expires_in(), None);
        trial.again();
        trial.clock.set(u64::MAX);
        assert!(trial.presigned.asked().unwrap().take().is_none());
        assert!(trial.is_wiped() && trial.counts() == [0, 0, 2 * CAPACITY as u64]);
        trial.clock.set(7 + SETTLE_NS);
        drop(trial.presigned.asked());
        trial.seed(2);
        // Nobody asks any more: what is wiped is not made again.
        assert!(trial.again() > 0);
        trial.clock.set(7 + SETTLE_NS + AGE_NS);
        assert_eq!(trial.presigned.pool().unwrap().expires_in(), None);
        assert_eq!((trial.fill(), trial.is_wiped()), (0, true));
        trial.again();
        trial.presigned.pool().unwrap().forget();
        assert_eq!((trial.fill(), trial.is_wiped()), (0, true), "whoever they were for may be gone");
        assert!(trial.presigned.clone().pool().is_none(), "a copy would serve twice");
    }

    /// Two machines that were restored from one snapshot have one generator, and see that when they are asked.
    #[test]
    fn copies_of_a_machine_make_none_before_each_has_a_seed_of_its_own() {
        let mut copies = [1, 2].map(|_| Trial::new(Features::hardware()));
        for (copy, seed) in copies.iter_mut().zip(5..) {
            assert!(copy.again() > 0, "as the original did");
            copy.clock.set(u64::MAX);
            assert_eq!(copy.again(), 0, "with nonces that the other makes, too");
            copy.seed(1);
            assert_eq!(copy.again(), 0, "the kernel's own generator may be that of the copy yet");
            copy.clock.set(6 + SETTLE_NS);
            assert!(copy.again() == 0 && !copy.presigned.wants_seed());
            copy.clock.set(7 + SETTLE_NS);
            assert!(copy.again() == 0 && copy.presigned.wants_seed());
            // The machine is copied once more before the seed is drawn.
            copy.clock.set(u64::MAX);
            drop(copy.presigned.asked());
            copy.seed(1);
            copy.clock.set(7 + SETTLE_NS);
            assert!(copy.again() == 0 && copy.presigned.wants_seed());
            copy.seed(seed);
            assert!(copy.again() > 0 && !copy.presigned.wants_seed());
        }
        let key = ecdsa::PrivateKey::new(Features::hardware(), ecdsa::Curve::P256, &[3; 32]).unwrap();
        let mut signatures = copies.each_mut().map(|copy| {
            let mut pool = copy.presigned.asked().unwrap();
            let taken = (0..CAPACITY).map(|i| {
                let digest = [i as u8; 32];
                let message = ecdsa::Message::digest(Hash::Sha256, &digest);
                key.sign_presigned(&message, pool.take().unwrap()).unwrap()[..32].to_vec()
            });
            taken.collect::<HashSet<_>>()
        });
        let [one, other] = &mut signatures;
        assert!(one.len() == CAPACITY && one.is_disjoint(other), "a nonce served on both");
    }

    #[test]
    fn a_copy_that_is_seen_without_a_time_counts_from_the_next_look() {
        struct Twice(u64);
        impl Watch for Twice {
            fn look(&mut self) -> Option<u64> {
                self.0 += 1;
                // The first look is the pool's own.
                (!(2..=3).contains(&self.0)).then_some(self.0 + (self.0 / 6) * SETTLE_NS)
            }
        }
        let mut presigned = Presigned::default();
        presigned.keep(Box::new(Twice(0)));
        drop(presigned.asked());
        assert!(!presigned.wants_seed(), "two looks, without a time");
        for wanted in [false, false, true] {
            drop(presigned.asked());
            assert_eq!(presigned.wants_seed(), wanted);
        }
    }
}
