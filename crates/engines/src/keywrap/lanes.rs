//! Keys under any other keys, as they come from queues: the first half of a wrapped key stands apart, as a tag does.
//!
//! Ref. NIST SP 800-38F §6.2 (KW), §6.3 (KWP).

use std::fmt;

use millstream_cpu::Features;

use super::chain::Chain;
use super::form::{Form, HALF};
use super::{KeyWrap, Wrapping};
use crate::aead::by_key;
use crate::modes::{BlockMode, Direction};
use crate::{Error, InOut, Kernel};

/// Bytes of the tag: the first half of a wrapped key.
pub const TAG: usize = HALF;

/// Bytes of the nonce of a key that KWP wraps: its length, big-endian, the second half of the standard's initial value.
pub const LENGTH: usize = 4;

/// One key to wrap or unwrap with the key for that, for [`KwLanes`] and [`KwpLanes`].
pub struct KeyedWrapJob<'a, K> {
    /// The key that wraps.
    pub key: &'a K,
    /// The length of the key in the data, [`LENGTH`] bytes, where KWP wraps; else nothing.
    pub nonce: &'a [u8],
    /// The key that is wrapped, in whole halves of a block. KWP puts zeros after its length.
    pub data: InOut<'a>,
    /// The tag: wrapping writes it, unless the result is an error; unwrapping reads it.
    pub tag: [u8; TAG],
    /// [`Error::NonceLength`], [`Error::DataLength`] and [`Error::Parameter`], with nothing written; of an unwrapped key [`Error::Authentication`] when it was not wrapped under this
    /// one. A separate output is then zero, and a buffer in place holds what it held before.
    pub result: Result<(), Error>,
    /// The bytes of the key that was unwrapped.
    pub len: u32,
    chain: Chain,
}

impl<'a, K> KeyedWrapJob<'a, K> {
    /// A key with a tag of zeros.
    pub const fn new(key: &'a K, nonce: &'a [u8], data: InOut<'a>) -> Self {
        KeyedWrapJob { key, nonce, data, tag: [0; TAG], result: Ok(()), len: 0, chain: Chain::NONE }
    }

    /// Returns how many bytes of the data are the key's.
    fn len_within(&self, direction: Direction, form: Form) -> Result<usize, Error> {
        let (algorithm, whole) = (form.name(), self.data.len());
        // The wrapped key has one half more than the data.
        form.unwrapped_len(whole + HALF).map_err(|_| Error::DataLength {
            algorithm,
            given: whole as u64,
            takes: if form == Form::Kw {
                "a multiple of 8 bytes, 16 at least"
            } else {
                "a multiple of 8 bytes"
            },
        })?;
        if form == Form::Kw || direction == Direction::Decrypt {
            let takes = "none";
            let given = self.nonce.len();
            return if given == 0 { Ok(whole) } else { Err(Error::NonceLength { algorithm, given, takes }) };
        }
        let len: [u8; LENGTH] = self.nonce.try_into().map_err(|_| Error::NonceLength {
            algorithm,
            given: self.nonce.len(),
            takes: "4 bytes: the length of the key",
        })?;
        let len = u32::from_be_bytes(len) as usize;
        if len == 0 || len.next_multiple_of(HALF) != whole {
            let takes = "a length that the data has, without less than 8 bytes at its end";
            let name = "the length of the key";
            return Err(Error::Parameter { algorithm, name, given: len as u64, takes });
        }
        Ok(len)
    }
}

impl<K> Wrapping for KeyedWrapJob<'_, K> {
    fn begin(&mut self, direction: Direction, form: Form, check_value: [u8; HALF]) -> bool {
        let len = match self.len_within(direction, form) {
            Ok(len) => len,
            Err(error) => {
                self.result = Err(error);
                return false;
            }
        };
        self.data.copy();
        let carried = match direction {
            Direction::Encrypt => {
                self.data.output()[len..].fill(0);
                form.begin(check_value, len)
            }
            Direction::Decrypt => self.tag,
        };
        (self.result, self.len) = (Ok(()), 0);
        self.chain = Chain::new(direction, carried, self.data.len() / HALF);
        true
    }

    fn chain(&mut self, _: Direction) -> (&mut Chain, &mut [u8]) {
        (&mut self.chain, self.data.output())
    }

    fn finish(&mut self, direction: Direction, form: Form, check_value: [u8; HALF]) {
        if direction == Direction::Encrypt {
            self.tag = self.chain.carried;
            return;
        }
        let (right, len) = self.chain.verdict(form, check_value, self.data.output());
        if bool::from(right) {
            self.len = len as u32;
        } else {
            self.result = Err(Error::Authentication);
        }
    }
}

impl KeyWrap {
    /// Unwraps keys, of which those that fail leave nothing.
    fn open_many<K>(&self, jobs: &mut [&mut KeyedWrapJob<'_, K>]) {
        self.walk(Direction::Decrypt, jobs);
        for job in jobs.iter_mut().filter(|job| job.result == Err(Error::Authentication)) {
            self.withdraw(job);
        }
    }

    /// Takes back the output of a key that was not right: the way back through the chain gives the input again.
    #[cold]
    fn withdraw<K>(&self, job: &mut KeyedWrapJob<'_, K>) {
        if !job.data.is_in_place() {
            return job.data.output().fill(0);
        }
        let halves = job.data.output();
        let mut chain = Chain::new(Direction::Encrypt, job.chain.carried, halves.len() / HALF);
        let mut block = [0; 2 * HALF];
        loop {
            chain.load(Direction::Encrypt, halves, &mut block);
            self.ecb.pass(Direction::Encrypt, &mut [], InOut::in_place(&mut block));
            if chain.store(Direction::Encrypt, halves, &block) {
                break;
            }
        }
    }
}

/// Declares keys of one form, and the lanes to which keys of that form come.
macro_rules! forms {
    ($($(#[$key_doc:meta])* $key:ident, $form:ident, $(#[$doc:meta])* $lanes:ident, $(#[$job_doc:meta])* $job:ident;)+) => { $(
        $(#[$key_doc])*
        pub struct $key(KeyWrap);

        impl $key {
            /// A key of 16, 24 or 32 bytes on the best kernel.
            ///
            /// # Errors
            /// [`Error::KeyLength`].
            pub fn new(features: Features, key: &[u8]) -> Result<Self, Error> {
                Ok($key(KeyWrap::new(features, Form::$form, key)?))
            }

            /// The kernel in use.
            pub fn kernel(&self) -> &'static Kernel {
                self.0.kernel()
            }
        }

        impl fmt::Debug for $key {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        $(#[$job_doc])*
        pub type $job<'a> = KeyedWrapJob<'a, $key>;

        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $lanes;

        impl $lanes {
            /// Lanes for keys that are bound to any kernels.
            pub const fn new(_: Features) -> Self {
                $lanes
            }

            /// Wraps many keys, those under one side by side, and may reorder `jobs`. Each job has a result of its own.
            pub fn seal(&self, jobs: &mut [&mut $job<'_>]) {
                by_key(jobs, |job| std::ptr::from_ref(job.key), |jobs| {
                    let key = jobs[0].key;
                    key.0.walk(Direction::Encrypt, jobs);
                });
            }

            /// Unwraps many keys, those under one side by side, and may reorder `jobs`. Each job has a result of its own.
            pub fn open(&self, jobs: &mut [&mut $job<'_>]) {
                by_key(jobs, |job| std::ptr::from_ref(job.key), |jobs| {
                    let key = jobs[0].key;
                    key.0.open_many(jobs);
                });
            }
        }
    )+ };
}

forms! {
    /// A key under which KW wraps other keys. Zeroised on drop.
    Kw, Kw,
    /// Many keys that KW wraps, under any keys.
    ///
    /// ```
    /// use millstream_cpu::Features;
    /// use millstream_engines::InOut;
    /// use millstream_engines::keywrap::{KeyedKwJob, Kw, KwLanes};
    ///
    /// let features = Features::hardware();
    /// let (wrapping, mut key) = (Kw::new(features, &[7; 32])?, *b"a key of 16 byte");
    /// let mut job = KeyedKwJob::new(&wrapping, b"", InOut::in_place(&mut key));
    /// KwLanes::new(features).seal(&mut [&mut job]);
    /// KwLanes::new(features).open(&mut [&mut job]);
    /// assert_eq!((job.result, job.len, &key), (Ok(()), 16, b"a key of 16 byte"));
    /// # Ok::<(), millstream_engines::Error>(())
    /// ```
    KwLanes,
    /// One key with the one under which KW wraps it.
    KeyedKwJob;

    /// A key under which KWP wraps other keys. Zeroised on drop.
    Kwp, Kwp,
    /// Many keys that KWP wraps, under any keys.
    KwpLanes,
    /// One key with the one under which KWP wraps it.
    KeyedKwpJob;
}
