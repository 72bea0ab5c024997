//! The interfaces that all AEADs share.

use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::hash::MidState;
use crate::{Error, InOut};

/// The length of a full tag, in bytes.
pub const TAG: usize = 16;

/// A keyed AEAD, one object at a time (RFC 5116 §2).
pub trait Aead {
    /// The name, as in `aes-gcm`.
    const NAME: &'static str;

    /// Encrypts `data` and computes the tag over it and `aad`.
    ///
    /// A nonce must never be used twice under one key.
    ///
    /// # Errors
    /// A nonce of a length the algorithm does not take, or data longer than it allows.
    fn seal(&self, nonce: &[u8], aad: &[u8], data: InOut<'_>, tag: &mut [u8; TAG]) -> Result<(), Error>;

    /// Decrypts `data` if `tag`, the whole of it, is right. The comparison takes the same time wherever the tags
    /// differ. (A caller who takes truncated tags says how short they may be: see
    /// [`Gcm::open_cut`](crate::gcm::Gcm::open_cut).)
    ///
    /// # Errors
    /// [`Error::Authentication`] when the tag does not match: a separate output is then zero, and a
    /// buffer opened in place holds its ciphertext again. Otherwise as for [`Aead::seal`].
    fn open(&self, nonce: &[u8], aad: &[u8], data: InOut<'_>, tag: &[u8; TAG]) -> Result<(), Error>;
}

/// One message with its key, for lanes to which messages of any keys come.
pub struct Keyed<'a, K, J> {
    /// The key.
    pub key: &'a K,
    /// The message, as the key's own functions for many take it.
    pub job: J,
}

impl<K, J> Deref for Keyed<'_, K, J> {
    type Target = J;

    #[inline(always)]
    fn deref(&self) -> &J {
        &self.job
    }
}

impl<K, J> DerefMut for Keyed<'_, K, J> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut J {
        &mut self.job
    }
}

/// Hands the messages of each key to `run`, one key after another, and reorders `jobs` for that.
pub(crate) fn by_key<J, K: PartialEq>(
    jobs: &mut [&mut J],
    key: impl Fn(&J) -> K,
    mut run: impl FnMut(&mut [&mut J]),
) {
    let mut rest = jobs;
    while let Some(first) = rest.first() {
        let of = key(first);
        let mut same = 1;
        for i in 1..rest.len() {
            if key(rest[i]) == of {
                rest.swap(i, same);
                same += 1;
            }
        }
        let (own, others) = rest.split_at_mut(same);
        run(own);
        rest = others;
    }
}

/// Hands jobs to a block of code in arrays, of sixteen, eight, four, two and one: nothing is allocated for them.
macro_rules! in_arrays {
    ($jobs:expr, |$array:ident| $run:expr) => {
        crate::aead::in_arrays!($jobs, |$array| $run, 16 8 4 2 1);
    };
    ($jobs:expr, |$array:ident| $run:expr, $($size:literal)+) => {
        let rest = $jobs;
        $(
            let (arrays, rest) = rest.as_chunks_mut::<$size>();
            for $array in arrays {
                $run;
            }
        )+
        debug_assert!(rest.is_empty());
    };
}
pub(crate) use in_arrays;

/// Declares lanes of an AEAD that works on many messages of one key: a manager to which messages of any keys come.
macro_rules! lanes_by_key {
    ($(#[$doc:meta])* $lanes:ident: $key:ident, $(#[$job_doc:meta])* $keyed:ident($job:ident)) => {
        $(#[$job_doc])*
        pub type $keyed<'a> = crate::aead::Keyed<'a, $key, $job<'a>>;

        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $lanes;

        impl $lanes {
            /// Lanes for keys that are bound to any kernels.
            pub const fn new(_: millstream_cpu::Features) -> Self {
                $lanes
            }

            /// Seals many messages, those of one key side by side, and may reorder `jobs`. Each job has a result of its own.
            pub fn seal(&self, jobs: &mut [&mut $keyed<'_>]) {
                crate::aead::by_key(jobs, |keyed| std::ptr::from_ref(keyed.key), |jobs| {
                    crate::aead::in_arrays!(jobs, |array| {
                        let key = array[0].key;
                        key.seal_many(&mut array.each_mut().map(|keyed| &mut keyed.job));
                    });
                });
            }

            /// Opens many messages, those of one key side by side, and may reorder `jobs`. Each job has a result of its own.
            pub fn open(&self, jobs: &mut [&mut $keyed<'_>]) {
                crate::aead::by_key(jobs, |keyed| std::ptr::from_ref(keyed.key), |jobs| {
                    crate::aead::in_arrays!(jobs, |array| {
                        let key = array[0].key;
                        key.open_many(&mut array.each_mut().map(|keyed| &mut keyed.job));
                    });
                });
            }
        }
    };
}
pub(crate) use lanes_by_key;

/// One AEAD object in pieces, without its key, so that both can be kept side by side and a copy can go its own way.
/// Each call takes the key that the state was begun with; with another key the output is meaningless. Zeroised on drop.
pub trait AeadState: Clone {
    /// The key.
    type Key;

    /// Adds associated data.
    ///
    /// # Errors
    /// [`Error::Order`] after the first data; [`Error::DataLength`] past the algorithm's limit.
    fn aad(&mut self, key: &Self::Key, aad: &[u8]) -> Result<(), Error>;

    /// Encrypts the next piece, of any length.
    ///
    /// # Errors
    /// [`Error::DataLength`] past the algorithm's limit; [`Error::Order`] after decrypting.
    fn encrypt(&mut self, key: &Self::Key, data: InOut<'_>) -> Result<(), Error>;

    /// Decrypts the next piece, of any length. What it writes is unverified: nothing may act on
    /// it before [`AeadState::verify`] has returned `Ok`.
    ///
    /// # Errors
    /// As for [`AeadState::encrypt`].
    fn decrypt_unverified(&mut self, key: &Self::Key, data: InOut<'_>) -> Result<(), Error>;

    /// Returns the tag over all pieces so far.
    fn tag(&self, key: &Self::Key) -> [u8; TAG];

    /// Compares the whole tag in constant time.
    ///
    /// # Errors
    /// [`Error::Authentication`] when it differs: what was decrypted must then be discarded.
    fn verify(&self, key: &Self::Key, tag: &[u8; TAG]) -> Result<(), Error>;

    /// Returns the state in bytes to store. The bytes are as good as the key for this nonce.
    fn export(&self) -> MidState;

    /// Takes up an object that was left off under the same key.
    ///
    /// # Errors
    /// [`Error::MidState`] when `saved` can't be what [`AeadState::export`] gave.
    fn import(key: &Self::Key, saved: &[u8]) -> Result<Self, Error>;
}

/// One AEAD object in pieces: associated data first, then data, then the tag.
pub trait AeadStream {
    /// Adds associated data.
    ///
    /// # Errors
    /// [`Error::Order`] after the first data.
    fn aad(&mut self, aad: &[u8]) -> Result<(), Error>;

    /// Encrypts the next piece, of any length.
    ///
    /// # Errors
    /// [`Error::DataLength`] past the algorithm's limit; [`Error::Order`] after decrypting.
    fn encrypt(&mut self, data: InOut<'_>) -> Result<(), Error>;

    /// Decrypts the next piece, of any length. What it writes is unverified: nothing may act on
    /// it before [`AeadStream::verify`] has returned `Ok`.
    ///
    /// # Errors
    /// As for [`AeadStream::encrypt`].
    fn decrypt_unverified(&mut self, data: InOut<'_>) -> Result<(), Error>;

    /// The tag over all of it.
    fn tag(self) -> [u8; TAG];

    /// Compares the whole tag in constant time.
    ///
    /// # Errors
    /// [`Error::Authentication`] when it differs: what was decrypted must then be discarded.
    fn verify(self, tag: &[u8; TAG]) -> Result<(), Error>;
}

/// A state with its key: the streams of every AEAD here.
pub struct Stream<'k, S: AeadState> {
    pub(crate) key: &'k S::Key,
    pub(crate) state: S,
}

impl<'k, S: AeadState> Stream<'k, S> {
    #[inline(always)]
    pub(crate) fn new(key: &'k S::Key, state: S) -> Self {
        Stream { key, state }
    }
}

impl<S: AeadState> AeadStream for Stream<'_, S> {
    fn aad(&mut self, aad: &[u8]) -> Result<(), Error> {
        self.state.aad(self.key, aad)
    }

    fn encrypt(&mut self, data: InOut<'_>) -> Result<(), Error> {
        self.state.encrypt(self.key, data)
    }

    fn decrypt_unverified(&mut self, data: InOut<'_>) -> Result<(), Error> {
        self.state.decrypt_unverified(self.key, data)
    }

    fn tag(self) -> [u8; TAG] {
        self.state.tag(self.key)
    }

    fn verify(self, tag: &[u8; TAG]) -> Result<(), Error> {
        self.state.verify(self.key, tag)
    }
}

impl<S: AeadState + fmt::Debug> fmt::Debug for Stream<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("state", &self.state).finish_non_exhaustive()
    }
}
