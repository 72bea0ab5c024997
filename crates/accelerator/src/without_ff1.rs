//! The types of FF1 in a build that leaves it out. No key can be made, so nothing else ever happens.

use millstream_cpu::Features;
use millstream_engines::{Error, InOut, Kernel};

/// A key that cannot exist.
#[derive(Debug)]
pub enum Ff1Key {}

impl Ff1Key {
    /// Refuses every key.
    pub(crate) fn new(_: Features, key: &[u8]) -> Result<Self, Error> {
        let takes = "no key: this build leaves FF1 out";
        Err(Error::KeyLength { algorithm: "aes-ff1", given: key.len(), takes })
    }

    pub(crate) fn kernel(&self) -> &'static Kernel {
        match *self {}
    }
}

/// A value that cannot exist, because it has a key.
pub struct KeyedFf1Job<'a> {
    key: &'a Ff1Key,
    /// The result.
    pub(crate) result: Result<(), Error>,
}

impl<'a> KeyedFf1Job<'a> {
    pub(crate) fn new(key: &'a Ff1Key, _: u32, _: &'a [u8], _: InOut<'a>) -> Self {
        KeyedFf1Job { key, result: Ok(()) }
    }
}

/// Lanes to which no value comes.
#[derive(Clone, Copy, Debug)]
pub struct Ff1Lanes;

impl Ff1Lanes {
    pub(crate) fn new(_: Features) -> Self {
        Ff1Lanes
    }

    pub(crate) fn encrypt(&self, jobs: &mut [&mut KeyedFf1Job<'_>]) {
        if let Some(job) = jobs.first() {
            match *job.key {}
        }
    }

    pub(crate) fn decrypt(&self, jobs: &mut [&mut KeyedFf1Job<'_>]) {
        if let Some(job) = jobs.first() {
            match *job.key {}
        }
    }
}
