//! AES key wrapping: a key under another key, without a nonce. KW takes whole halves of a block, KWP any number of bytes.
//!
//! Each key is a chain of blocks in which every step waits for the one before, so many keys under one are wrapped side by
//! side.
//!
//! Ref. NIST SP 800-38F §5.3, §6; RFC 3394; RFC 5649.

mod job;

use std::fmt;

use millstream_cpu::Features;
use zeroize::Zeroize;

pub use job::Job;

use crate::aes::Ecb;
use crate::kernel::Bound;
use crate::modes::{BlockMode, Direction};
use crate::{Error, InOut, Kernel};

/// Bytes of half a block, the unit of what is wrapped.
const HALF: usize = 8;

/// Bytes by which a wrapped key is longer than what is in it, made up to whole halves.
pub const OVERHEAD: usize = HALF;

/// The keys that are under way side by side: as many blocks as the widest kernel of ECB takes at a time.
const LANES: usize = 32;

/// The bytes that can be wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Whole halves of a block, two at least: KW (SP 800-38F §6.2).
    Kw,
    /// Any number of bytes, one at least: KWP (§6.3).
    Kwp,
}

impl Form {
    const fn name(self) -> &'static str {
        match self {
            Form::Kw => "aes-kw",
            Form::Kwp => "aes-kwp",
        }
    }

    /// The standard's value with which a wrapped key begins (§6.2, ICV1; §6.3, ICV2).
    const fn check_value(self) -> [u8; HALF] {
        match self {
            Form::Kw => [0xa6; HALF],
            Form::Kwp => [0xa6, 0x59, 0x59, 0xa6, 0, 0, 0, 0],
        }
    }

    /// Returns the bytes of what `len` bytes become.
    ///
    /// # Errors
    /// [`Error::DataLength`].
    pub fn wrapped_len(self, len: usize) -> Result<usize, Error> {
        let fits = match self {
            Form::Kw => len >= 2 * HALF && len.is_multiple_of(HALF),
            Form::Kwp => len >= 1 && u32::try_from(len).is_ok(),
        };
        let takes = match self {
            Form::Kw => "a multiple of 8 bytes, 16 at least",
            Form::Kwp => "1 to 4294967295 bytes",
        };
        let refused = Error::DataLength { algorithm: self.name(), given: len as u64, takes };
        if fits { len.next_multiple_of(HALF).checked_add(OVERHEAD).ok_or(refused) } else { Err(refused) }
    }

    /// Returns the most bytes that can be in `len` wrapped ones.
    ///
    /// # Errors
    /// [`Error::DataLength`].
    pub fn unwrapped_len(self, len: usize) -> Result<usize, Error> {
        // KWP's length has 32 bits.
        let (least, most, takes) = match self {
            Form::Kw => (3 * HALF, usize::MAX, "a multiple of 8 bytes, 24 at least"),
            Form::Kwp => (2 * HALF, u32::MAX as usize, "a multiple of 8 bytes, 16 to 4294967296"),
        };
        if len >= least && len.is_multiple_of(HALF) && len - OVERHEAD <= most {
            return Ok(len - OVERHEAD);
        }
        Err(Error::DataLength { algorithm: self.name(), given: len as u64, takes })
    }
}

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
    fn walk(&self, direction: Direction, jobs: &mut [&mut Job<'_>]) {
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
                jobs[lane].load(direction, block);
            }
            self.ecb.pass(direction, &mut [], InOut::in_place(blocks));
            let mut lane = live;
            while lane > 0 {
                lane -= 1;
                let job = &mut jobs[lanes[lane]];
                let block = blocks[16 * lane..].first_chunk().expect("a block of each lane");
                if job.store(direction, block) {
                    job.finish(direction, self.form, self.check_value);
                    live -= 1;
                    lanes[lane] = lanes[live];
                }
            }
        }
        blocks.zeroize();
    }
}

impl fmt::Debug for KeyWrap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.form.name(), self.kernel().name)
    }
}
