//! The source of a unit's random bytes: a generator of its own, or a function of its host.

use std::fmt;
use std::sync::Mutex;

use millstream_cpu::Features;
use millstream_engines::Error as EngineError;
use millstream_publickey::{Error, Random};

use crate::generator::Generator;

/// A function that fills bytes with random ones that are fit for keys.
pub type FillRandom = fn(&mut [u8]) -> Result<(), Error>;

/// The origin of a unit's random bytes.
#[derive(Default)]
pub(crate) enum Source {
    /// There are none: signatures are deterministic, and requests for random bytes fail.
    #[default]
    Nowhere,
    /// The host's own function, where there is one for the whole process.
    Host(FillRandom),
    /// A generator that the host seeds. Units are shared among threads, so it is behind a lock; nobody waits for that of an
    /// accelerator, which has one thread.
    Own(Mutex<Generator>),
}

impl Source {
    /// Mixes a seed into the generator, or makes one from it.
    pub(crate) fn seed(&mut self, features: Features, seed: &[u8; 32]) {
        match self {
            Source::Own(generator) if !generator.is_poisoned() => {
                if let Ok(generator) = generator.get_mut() {
                    generator.reseed(seed);
                }
            }
            _ => *self = Source::Own(Mutex::new(Generator::new(features, seed))),
        }
    }

    /// Returns true when the generator has given out so much that it wants another seed, or gives out no more.
    #[inline]
    pub(crate) fn wants_seed(&mut self) -> bool {
        match self {
            Source::Own(generator) => generator.get_mut().map_or(true, |generator| generator.wants_seed()),
            Source::Nowhere | Source::Host(_) => false,
        }
    }

    /// Fills what operations ask for, one after the other.
    pub(crate) fn fill_all(&self, fills: &mut [&mut Fill<'_>]) {
        let mut random = UnitRandom(self);
        for fill in fills {
            fill.result = random.fill(fill.bytes).map_err(|_| EngineError::Random);
        }
    }

    /// Returns the random bytes there are, if there are any.
    pub(crate) fn random(&self) -> Option<UnitRandom<'_>> {
        match self {
            Source::Nowhere => None,
            Source::Host(_) | Source::Own(_) => Some(UnitRandom(self)),
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Nowhere => "Nowhere",
            Source::Host(_) => "Host",
            Source::Own(_) => "Own",
        })
    }
}

impl Clone for Source {
    /// Copies the host's function. A generator is not copied, because the copy would repeat it: the clone has none.
    fn clone(&self) -> Self {
        match self {
            Source::Host(fill) => Source::Host(*fill),
            Source::Nowhere | Source::Own(_) => Source::Nowhere,
        }
    }
}

/// Bytes to fill with random ones.
pub(crate) struct Fill<'a> {
    pub(crate) bytes: &'a mut [u8],
    pub(crate) result: Result<(), EngineError>,
}

impl<'a> Fill<'a> {
    pub(crate) fn new(bytes: &'a mut [u8]) -> Self {
        Fill { bytes, result: Ok(()) }
    }
}

/// The random bytes of a [`Unit`](crate::Unit): see [`Unit::random`](crate::Unit::random).
#[derive(Debug)]
pub struct UnitRandom<'a>(&'a Source);

impl Random for UnitRandom<'_> {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        match self.0 {
            Source::Nowhere => Err(Error::Random),
            Source::Host(fill) => fill(bytes),
            // A thread that panicked may have left the generator half changed.
            Source::Own(generator) => generator.lock().map_err(|_| Error::Random)?.fill(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(source: &Source) -> [u8; 32] {
        let mut bytes = [0; 32];
        source.random().expect("a source").fill(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_source_is_seeded_and_its_clone_is_not() {
        let mut source = Source::default();
        assert!(source.random().is_none() && !source.wants_seed());
        source.seed(Features::hardware(), &[1; 32]);
        let first = drawn(&source);
        assert!(source.clone().random().is_none());
        source.seed(Features::hardware(), &[1; 32]);
        assert_ne!(drawn(&source), first);
        let mut bytes = vec![0; Generator::WANTS_SEED_AFTER as usize];
        source.random().unwrap().fill(&mut bytes).unwrap();
        assert!(source.wants_seed());
        source.seed(Features::hardware(), &[2; 32]);
        assert!(!source.wants_seed());
    }

    #[test]
    fn a_host_s_function_is_asked_each_time() {
        let mut source = Source::Host(|bytes| {
            bytes.fill(7);
            Ok(())
        });
        assert_eq!(drawn(&source.clone()), [7; 32]);
        assert!(!source.wants_seed());
        let failing = Source::Host(|_| Err(Error::Random));
        assert_eq!(failing.random().unwrap().fill(&mut [0]), Err(Error::Random));
    }

    #[test]
    fn after_a_panic_a_generator_gives_nothing_until_it_is_seeded() {
        let mut source = Source::default();
        source.seed(Features::hardware(), &[1; 32]);
        let Source::Own(generator) = &source else { panic!("it has its own") };
        let panicked = std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    let _held = generator.lock();
                    panic!("as a test");
                })
                .join()
        });
        assert!(panicked.is_err() && source.wants_seed());
        assert_eq!(source.random().unwrap().fill(&mut [0]), Err(Error::Random));
        source.seed(Features::hardware(), &[1; 32]);
        drawn(&source);
    }
}
