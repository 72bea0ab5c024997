//! AES key wrapping: a key under another key, without a nonce. KW takes whole halves of a block, KWP any number of bytes.
//!
//! Each key is a chain of blocks in which every step waits for the one before, so many keys under one are wrapped side by
//! side.
//!
//! Ref. NIST SP 800-38F §5.3, §6; RFC 3394; RFC 5649.

mod chain;
mod form;
mod job;
mod lanes;

use std::fmt;

use millstream_cpu::Features;
use zeroize::Zeroize;

pub use form::{Form, OVERHEAD};
pub use job::Job;
pub use lanes::{KeyedKwJob, KeyedKwpJob, KeyedWrapJob, Kw, KwLanes, Kwp, KwpLanes, LENGTH, TAG};

use crate::aes::Ecb;
use crate::kernel::Bound;
use crate::modes::{BlockMode, Direction};
use crate::{Error, InOut, Kernel};
use chain::Chain;
use form::HALF;

/// The keys that are under way side by side: as many blocks as the widest kernel of ECB takes at a time.
const LANES: usize = 32;

/// A key under which other keys are wrapped. Zeroised on drop.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::keywrap::{Form, KeyWrap};
///
/// let wrapping = KeyWrap::new(Features::hardware(), Form::Kwp, &[7; 32])?;
/// let mut wrapped = [0; 24];
/// assert_eq!(wrapping.wrap(b"a key of 16 byte", &mut wrapped)?, 24);
/// let mut key = [0; 16];
/// assert_eq!(wrapping.unwrap(&wrapped, &mut key)?, 16);
/// assert_eq!(&key, b"a key of 16 byte");
/// # Ok::<(), millstream_engines::Error>(())
/// ```
pub struct KeyWrap {
    ecb: Ecb,
    form: Form,
    check_value: [u8; HALF],
}

impl KeyWrap {
    /// A key of 16, 24 or 32 bytes on the best kernel.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn new(features: Features, form: Form, key: &[u8]) -> Result<Self, Error> {
        KeyWrap::with_kernel(crate::aes::ECB.best(features), form, key)
    }

    /// A key on the given kernel of ECB.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn with_kernel(kernel: Bound<crate::aes::EcbOps>, form: Form, key: &[u8]) -> Result<Self, Error> {
        let named = |error| match error {
            Error::KeyLength { given, takes, .. } => {
                Error::KeyLength { algorithm: form.name(), given, takes }
            }
            other => other,
        };
        let ecb = Ecb::with_kernel(kernel, key).map_err(named)?;
        Ok(KeyWrap { ecb, form, check_value: form.check_value() })
    }

    /// Returns the key with another check value than the standard's (RFC 3394 §2.2.3.2; RFC 5649 §3). Of KWP the first four
    /// bytes count.
    #[must_use]
    pub fn with_check_value(mut self, check_value: [u8; HALF]) -> Self {
        self.check_value = check_value;
        self
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.ecb.kernel()
    }

    /// Returns the form of what it wraps.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Wraps `key` to the front of `wrapped`. Returns the number of bytes there.
    ///
    /// # Errors
    /// [`Error::DataLength`], and [`Error::OutputLength`] when `wrapped` is shorter than [`Form::wrapped_len`].
    pub fn wrap(&self, key: &[u8], wrapped: &mut [u8]) -> Result<usize, Error> {
        let mut job = Job::new(key, wrapped);
        self.wrap_many(&mut [&mut job]);
        job.result
    }

    /// Unwraps to the front of `key`. Returns the number of bytes there.
    ///
    /// # Errors
    /// [`Error::DataLength`]; [`Error::OutputLength`] when `key` is shorter than [`Form::unwrapped_len`];
    /// [`Error::Authentication`] when it was not wrapped under this key, and then `key` has zeros.
    pub fn unwrap(&self, wrapped: &[u8], key: &mut [u8]) -> Result<usize, Error> {
        let mut job = Job::new(wrapped, key);
        self.unwrap_many(&mut [&mut job]);
        job.result
    }

    /// Wraps many keys side by side. Each job has a result of its own.
    pub fn wrap_many(&self, jobs: &mut [&mut Job<'_>]) {
        self.walk(Direction::Encrypt, jobs);
    }

    /// Unwraps many keys side by side. Each job has a result of its own.
    pub fn unwrap_many(&self, jobs: &mut [&mut Job<'_>]) {
        self.walk(Direction::Decrypt, jobs);
    }

    /// Takes each job through its steps: a block of each of the lanes at a time.
    fn walk<W: Wrapping>(&self, direction: Direction, jobs: &mut [&mut W]) {
        let mut blocks = [0; 16 * LANES];
        let mut lanes = [0; LANES];
        let (mut live, mut waiting) = (0, 0);
        loop {
            while live < LANES && waiting < jobs.len() {
                let job = &mut jobs[waiting];
                if job.begin(direction, self.form, self.check_value) {
                    lanes[live] = waiting;
                    live += 1;
                }
                waiting += 1;
            }
            if live == 0 {
                break;
            }
            let blocks = &mut blocks[..16 * live];
            for (block, lane) in blocks.as_chunks_mut().0.iter_mut().zip(lanes) {
                let (chain, halves) = jobs[lane].chain(direction);
                chain.load(direction, halves, block);
            }
            self.ecb.pass(direction, &mut [], InOut::in_place(blocks));
            let mut lane = live;
            while lane > 0 {
                lane -= 1;
                let job = &mut jobs[lanes[lane]];
                let block = blocks[16 * lane..].first_chunk().expect("a block of each lane");
                let (chain, halves) = job.chain(direction);
                if chain.store(direction, halves, block) {
                    job.finish(direction, self.form, self.check_value);
                    live -= 1;
                    lanes[lane] = lanes[live];
                }
            }
        }
        blocks.zeroize();
    }
}

/// A key that goes through the steps of a chain.
trait Wrapping {
    /// Lays out the halves. Returns false if there is nothing to do, and then the result says why.
    fn begin(&mut self, direction: Direction, form: Form, check_value: [u8; HALF]) -> bool;

    /// Returns the chain, and the halves that it goes over.
    fn chain(&mut self, direction: Direction) -> (&mut Chain, &mut [u8]);

    /// Ends the key: keeps the carried half, or compares it.
    fn finish(&mut self, direction: Direction, form: Form, check_value: [u8; HALF]);
}

impl fmt::Debug for KeyWrap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.form.name(), self.kernel().name)
    }
}
