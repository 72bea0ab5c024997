//! XAES-256-GCM: AES-256-GCM with nonces of 24 bytes, which may be drawn at random for any number of messages.
//!
//! The first half of the nonce and the key give the key of one message, by two blocks of AES. Many messages' keys are derived
//! side by side, and the messages share the lanes of GCM.
//!
//! Ref. C2SP, "XAES-256-GCM" (version 1.0.0); NIST SP 800-108r1 §4.1 with CMAC; SP 800-38D.

mod job;
mod lanes;

use std::fmt;

use millstream_cpu::Features;
use zeroize::Zeroize;

pub use job::XaesJob;
pub use lanes::{KeyedXaesJob, XaesLanes};

use crate::aead::{Aead, TAG};
use crate::aes::{self, Block, Forward, features_of, wipe};
use crate::cmac::double;
use crate::gcm::{GCM, Gcm, GcmJob, GcmLanes, GcmOps};
use crate::{Bound, Error, InOut, Kernel};

const NAME: &str = "xaes-256-gcm";

/// Bytes of a nonce.
pub const NONCE: usize = 24;

/// Bytes of a nonce that are GCM's own.
const INNER: usize = 12;

/// The messages whose keys are in memory at a time.
const LANES: usize = 8;

/// A key for XAES-256-GCM, bound to kernels. Zeroised on drop.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::aead::Aead;
/// use millstream_engines::xaes::Xaes;
/// use millstream_engines::{Error, InOut};
///
/// let key = Xaes::new(Features::hardware(), &[7; 32])?;
/// let (mut object, mut tag) = (*b"an object", [0; 16]);
/// key.seal(&[1; 24], b"header", InOut::in_place(&mut object), &mut tag)?;
/// key.open(&[1; 24], b"header", InOut::in_place(&mut object), &tag)?;
/// assert_eq!(&object, b"an object");
/// # Ok::<(), Error>(())
/// ```
pub struct Xaes {
    deriving: Forward,
    /// The subkey of CMAC for whole blocks.
    k1: Block,
    gcm: Bound<GcmOps>,
    lanes: GcmLanes,
}

impl Xaes {
    /// A key of 32 bytes on the best kernels that `features` allow.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn new(features: Features, key: &[u8]) -> Result<Self, Error> {
        Xaes::bound(GCM.best(features), features, key)
    }

    /// A key on the given kernel of GCM, and for all else on the best kernels that need no more features.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn with_kernel(kernel: Bound<GcmOps>, key: &[u8]) -> Result<Self, Error> {
        Xaes::bound(kernel, features_of(kernel.kernel()), key)
    }

    fn bound(gcm: Bound<GcmOps>, features: Features, key: &[u8]) -> Result<Self, Error> {
        if key.len() != 32 {
            return Err(Error::KeyLength { algorithm: NAME, given: key.len(), takes: "32 bytes" });
        }
        let deriving = Forward::new(aes::ECB.best(features), NAME, key)?;
        let mut zero = [[0; 16]];
        deriving.encrypt(&mut zero);
        let k1 = double(zero[0]);
        zero.zeroize();
        Ok(Xaes { deriving, k1, gcm, lanes: GcmLanes::new(features) })
    }

    /// The kernel of GCM in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.gcm.kernel()
    }

    /// Seals many messages, and may reorder `jobs`. Each job has a result of its own.
    pub fn seal_many(&self, jobs: &mut [&mut XaesJob<'_>]) {
        self.many::<false>(jobs);
    }

    /// Opens many messages, and may reorder `jobs`. Each job has a result of its own.
    pub fn open_many(&self, jobs: &mut [&mut XaesJob<'_>]) {
        self.many::<true>(jobs);
    }

    fn many<const OPEN: bool>(&self, jobs: &mut [&mut XaesJob<'_>]) {
        if let [job] = jobs {
            let data = job.data.reborrow();
            job.result = if OPEN {
                self.open(job.nonce, job.aad, data, &job.tag)
            } else {
                self.seal(job.nonce, job.aad, data, &mut job.tag)
            };
            return;
        }
        let mut keys: [Gcm; LANES] = std::array::from_fn(|_| self.blank());
        for window in jobs.chunks_mut(LANES) {
            // Messages whose nonce is refused move to the end.
            let mut right = window.len();
            let mut i = 0;
            while i < right {
                window[i].result = check(window[i].nonce);
                if window[i].result.is_ok() {
                    i += 1;
                } else {
                    right -= 1;
                    window.swap(i, right);
                }
            }
            let window = &mut window[..right];
            self.derive(window.iter().map(|job| job.nonce), &mut keys);
            if let Ok(full) = <&mut [&mut XaesJob<'_>; LANES]>::try_from(&mut *window) {
                let mut keys = keys.iter();
                let mut inner = full.each_mut().map(|job| {
                    let key = keys.next().expect("a key for each message");
                    let mut inner = GcmJob::new(key, &job.nonce[INNER..], job.aad, job.data.reborrow());
                    inner.tag = job.tag;
                    inner
                });
                if OPEN {
                    self.lanes.open(&mut inner.each_mut());
                } else {
                    self.lanes.seal(&mut inner.each_mut());
                }
                let done = inner.map(|inner| (inner.tag, inner.result));
                for (job, (tag, result)) in full.iter_mut().zip(done) {
                    job.result = result;
                    if !OPEN {
                        job.tag = tag;
                    }
                }
            } else {
                for (job, key) in window.iter_mut().zip(&keys) {
                    let (nonce, data) = (&job.nonce[INNER..], job.data.reborrow());
                    job.result = if OPEN {
                        key.open(nonce, job.aad, data, &job.tag)
                    } else {
                        key.seal(nonce, job.aad, data, &mut job.tag)
                    };
                }
            }
        }
    }

    /// A key of one message, to be replaced.
    fn blank(&self) -> Gcm {
        Gcm::with_kernel(self.gcm, &[0; 32]).expect("a key's length")
    }

    /// Derives the keys of nonces that were checked, no more than there are places for keys.
    fn derive<'n>(&self, nonces: impl Iterator<Item = &'n [u8]>, keys: &mut [Gcm]) {
        let mut blocks = [[0; 16]; 2 * LANES];
        let mut count = 0;
        for nonce in nonces {
            for counter in [1, 2] {
                let block = &mut blocks[count];
                block[1] = counter;
                block[2] = b'X';
                block[4..].copy_from_slice(&nonce[..INNER]);
                for (byte, key) in block.iter_mut().zip(self.k1) {
                    *byte ^= key;
                }
                count += 1;
            }
        }
        self.deriving.encrypt(&mut blocks[..count]);
        for (key, derived) in keys.iter_mut().zip(blocks[..count].chunks_exact(2)) {
            key.rekey(derived.as_flattened()).expect("a key's length");
        }
        wipe(&mut blocks);
    }

    /// Derives the key of one nonce, and has it used where it lies.
    fn with_key(&self, nonce: &[u8], work: impl FnOnce(&Gcm) -> Result<(), Error>) -> Result<(), Error> {
        check(nonce)?;
        let mut keys = [self.blank()];
        self.derive([nonce].into_iter(), &mut keys);
        work(&keys[0])
    }
}

impl Aead for Xaes {
    const NAME: &'static str = NAME;

    fn seal(&self, nonce: &[u8], aad: &[u8], data: InOut<'_>, tag: &mut [u8; TAG]) -> Result<(), Error> {
        self.with_key(nonce, |key| key.seal(&nonce[INNER..], aad, data, tag))
    }

    fn open(&self, nonce: &[u8], aad: &[u8], data: InOut<'_>, tag: &[u8; TAG]) -> Result<(), Error> {
        self.with_key(nonce, |key| key.open(&nonce[INNER..], aad, data, tag))
    }
}

impl Drop for Xaes {
    fn drop(&mut self) {
        self.k1.zeroize();
    }
}

impl fmt::Debug for Xaes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME}({})", self.kernel().name)
    }
}

fn check(nonce: &[u8]) -> Result<(), Error> {
    if nonce.len() != NONCE {
        return Err(Error::NonceLength { algorithm: NAME, given: nonce.len(), takes: "24 bytes" });
    }
    Ok(())
}
