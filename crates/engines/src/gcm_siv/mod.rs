//! AES-GCM-SIV: authenticated encryption in which a nonce that comes twice shows whether the messages are equal, and nothing else.
//!
//! Each nonce has keys of its own, derived from the key. Short messages under one key go side by side: their keys are derived
//! in one pass over the kernel of ECB, and each further step is made for all messages before the next, so that no message waits
//! for its own. Messages that all have one nonce have one pair of keys, which is derived once, and share the passes of their texts.
//!
//! Ref. RFC 8452 §4, §5.

mod job;
mod lanes;

use std::fmt;

use millstream_cpu::Features;
use zeroize::Zeroize;

pub use job::GcmSivJob;
pub use lanes::{GcmSivLanes, KeyedGcmSivJob};

use crate::aead::{Aead, TAG};
use crate::aes::{self, Block, EcbOps, Forward, wipe};
use crate::compare::begins;
use crate::gcm::{POLYVAL, Polyval, PolyvalOps};
use crate::{Bound, Error, InOut, Kernel};

const NAME: &str = "aes-gcm-siv";

/// Bytes of a nonce.
pub const NONCE: usize = 12;

/// The longest plaintext and the longest associated data, in bytes (RFC 8452 §6).
const MAX_BYTES: u64 = 1 << 36;

/// The longest text that stands beside others, in bytes.
const LONGEST: usize = 2048;

/// The messages that are under way side by side.
const LANES: usize = 16;

/// Blocks that are encrypted to derive the longest key.
const DERIVED: usize = 6;

/// Blocks of keystream that are made at a time.
const AHEAD: usize = 32;

/// The same for a short text.
const FEW: usize = 4;

/// A key for AES-GCM-SIV of 128 or 256 bits, bound to kernels. Zeroised on drop.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::aead::Aead;
/// use millstream_engines::gcm_siv::GcmSiv;
/// use millstream_engines::{Error, InOut};
///
/// let key = GcmSiv::new(Features::hardware(), &[7; 32])?;
/// let (mut value, mut tag) = (*b"an object", [0; 16]);
/// key.seal(&[1; 12], b"header", InOut::in_place(&mut value), &mut tag)?;
/// key.open(&[1; 12], b"header", InOut::in_place(&mut value), &tag)?;
/// assert_eq!(&value, b"an object");
/// # Ok::<(), Error>(())
/// ```
pub struct GcmSiv {
    /// The key-generating key.
    deriving: Forward,
    ecb: Bound<EcbOps>,
    polyval: Bound<PolyvalOps>,
    key_len: usize,
}

/// The keys of one nonce.
struct MessageKeys {
    hash: Block,
    cipher: Forward,
}

impl Drop for MessageKeys {
    fn drop(&mut self) {
        self.hash.zeroize();
    }
}

impl GcmSiv {
    /// A key of 16 or 32 bytes on the best kernels that `features` allow.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn new(features: Features, key: &[u8]) -> Result<Self, Error> {
        GcmSiv::with_kernels(aes::ECB.best(features), POLYVAL.best(features), key)
    }

    /// A key on the given kernels of ECB and of POLYVAL.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn with_kernels(ecb: Bound<EcbOps>, polyval: Bound<PolyvalOps>, key: &[u8]) -> Result<Self, Error> {
        if !matches!(key.len(), 16 | 32) {
            return Err(Error::KeyLength { algorithm: NAME, given: key.len(), takes: "16 or 32 bytes" });
        }
        Ok(GcmSiv { deriving: Forward::new(ecb, NAME, key)?, ecb, polyval, key_len: key.len() })
    }

    /// The kernel of AES in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.ecb.kernel()
    }

    /// Seals many messages, the short ones side by side, and may reorder `jobs`. Each job has a result of its own.
    pub fn seal_many(&self, jobs: &mut [&mut GcmSivJob<'_>]) {
        self.many::<false>(jobs);
    }

    /// Opens many messages, the short ones side by side, and may reorder `jobs`. Each job has a result of its own.
    pub fn open_many(&self, jobs: &mut [&mut GcmSivJob<'_>]) {
        self.many::<true>(jobs);
    }

    fn many<const OPEN: bool>(&self, jobs: &mut [&mut GcmSivJob<'_>]) {
        if let [job] = jobs {
            return job.direct::<OPEN>(self);
        }
        if let Some(nonce) = one_nonce(jobs) {
            let keys = self.keys(&nonce);
            for window in jobs.chunks_mut(AHEAD) {
                let short = self.long_alone::<OPEN>(window);
                self.window_of_nonce::<OPEN>(&mut window[..short], &keys);
            }
            return;
        }
        let mut keys: [MessageKeys; LANES] = std::array::from_fn(|_| self.no_keys());
        for window in jobs.chunks_mut(LANES) {
            let short = self.long_alone::<OPEN>(window);
            self.window::<OPEN>(&mut window[..short], &mut keys);
        }
    }

    /// Works on the messages that can't stand beside others, moves them to the end, and returns how many are left.
    fn long_alone<const OPEN: bool>(&self, window: &mut [&mut GcmSivJob<'_>]) -> usize {
        let mut short = window.len();
        let mut i = 0;
        while i < short {
            if window[i].is_short() {
                i += 1;
            } else {
                window[i].direct::<OPEN>(self);
                short -= 1;
                window.swap(i, short);
            }
        }
        short
    }

    /// Works on no more than [`AHEAD`] messages of one nonce, whose keys are at hand: those of a column that is to show which of its
    /// values are equal.
    fn window_of_nonce<const OPEN: bool>(&self, jobs: &mut [&mut GcmSivJob<'_>], keys: &MessageKeys) {
        let mut tags = [[0; 16]; AHEAD];
        let tags = &mut tags[..jobs.len()];
        if OPEN {
            for (tag, job) in tags.iter_mut().zip(&*jobs) {
                *tag = job.tag;
            }
            crypt_many(&keys.cipher, tags, jobs);
        }
        for (tag, job) in tags.iter_mut().zip(&mut *jobs) {
            let text = if OPEN { &*job.data.output() } else { job.data.input() };
            *tag = self.hash(&keys.hash, job.nonce, job.aad, text);
        }
        keys.cipher.encrypt(tags);
        if !OPEN {
            crypt_many(&keys.cipher, tags, jobs);
        }
        for (tag, job) in tags.iter().zip(jobs) {
            job.result = Ok(());
            if !OPEN {
                job.tag = *tag;
            } else if !bool::from(begins(tag, &job.tag)) {
                job.result = Err(withdraw(&keys.cipher, &job.tag, job.data.reborrow()));
            }
        }
        wipe(tags);
    }

    /// Works on no more messages than there are lanes.
    fn window<const OPEN: bool>(&self, jobs: &mut [&mut GcmSivJob<'_>], keys: &mut [MessageKeys; LANES]) {
        self.derive::<{ LANES * DERIVED }>(jobs.iter().map(|job| job.nonce), keys);
        let mut tags = [[0; 16]; LANES];
        if OPEN {
            for (job, keys) in jobs.iter_mut().zip(&*keys) {
                crypt(&keys.cipher, &job.tag, job.data.reborrow());
            }
        }
        for ((tag, job), keys) in tags.iter_mut().zip(&mut *jobs).zip(&*keys) {
            let text = if OPEN { &*job.data.output() } else { job.data.input() };
            *tag = self.hash(&keys.hash, job.nonce, job.aad, text);
        }
        for (tag, keys) in tags[..jobs.len()].iter_mut().zip(&*keys) {
            keys.cipher.encrypt(std::slice::from_mut(tag));
        }
        for ((tag, job), keys) in tags.iter().zip(jobs).zip(&*keys) {
            job.result = Ok(());
            if !OPEN {
                job.tag = *tag;
                crypt(&keys.cipher, tag, job.data.reborrow());
            } else if !bool::from(begins(tag, &job.tag)) {
                job.result = Err(withdraw(&keys.cipher, &job.tag, job.data.reborrow()));
            }
        }
        wipe(&mut tags);
    }

    /// The place of a nonce's keys.
    #[inline(always)]
    fn no_keys(&self) -> MessageKeys {
        MessageKeys { hash: [0; 16], cipher: Forward::blank(self.ecb, self.key_len) }
    }

    /// Derives the keys of nonces of [`NONCE`] bytes, RFC 8452 §4: half of each block that is encrypted. There are no more than `BLOCKS` of them.
    fn derive<'n, const BLOCKS: usize>(
        &self,
        nonces: impl Iterator<Item = &'n [u8]>,
        keys: &mut [MessageKeys],
    ) {
        let each = 2 + self.key_len / 8;
        let mut blocks = [[0; 16]; BLOCKS];
        let mut count = 0;
        for nonce in nonces {
            let nonce: &[u8; NONCE] = nonce.try_into().expect("a nonce that was checked");
            for (i, block) in blocks[count..count + each].iter_mut().enumerate() {
                block[0] = i as u8;
                block[4..].copy_from_slice(nonce);
            }
            count += each;
        }
        self.deriving.encrypt(&mut blocks[..count]);
        for (blocks, keys) in blocks[..count].chunks_exact(each).zip(keys) {
            let mut halves = [[0; 8]; DERIVED];
            for (half, block) in halves.iter_mut().zip(blocks) {
                half.copy_from_slice(&block[..8]);
            }
            let bytes = halves.as_flattened_mut();
            keys.hash.copy_from_slice(&bytes[..16]);
            keys.cipher.replace(&bytes[16..16 + self.key_len]);
            wipe(&mut halves);
        }
        wipe(&mut blocks[..count]);
    }

    /// Derives the keys of one nonce.
    fn keys(&self, nonce: &[u8]) -> MessageKeys {
        let mut keys = [self.no_keys()];
        self.derive::<DERIVED>([nonce].into_iter(), &mut keys);
        let [keys] = keys;
        keys
    }

    /// The block that becomes the tag when it is encrypted, RFC 8452 §4.
    #[inline(always)]
    fn hash(&self, key: &Block, nonce: &[u8], aad: &[u8], text: &[u8]) -> Block {
        let mut hash = Polyval::with_kernel(self.polyval, key);
        if !aad.is_empty() {
            hash.absorb(aad);
        }
        if !text.is_empty() {
            hash.absorb(text);
        }
        let lengths = (aad.len() as u128 * 8) | (text.len() as u128 * 8) << 64;
        hash.absorb(&lengths.to_le_bytes());
        let mut value = hash.value();
        for (byte, nonce) in value.iter_mut().zip(nonce) {
            *byte ^= nonce;
        }
        value[15] &= 0x7f;
        value
    }
}

impl Aead for GcmSiv {
    const NAME: &'static str = NAME;

    fn seal(&self, nonce: &[u8], aad: &[u8], data: InOut<'_>, tag: &mut [u8; TAG]) -> Result<(), Error> {
        check(nonce, aad.len() as u64, data.len() as u64)?;
        let keys = self.keys(nonce);
        *tag = self.hash(&keys.hash, nonce, aad, data.input());
        keys.cipher.encrypt(std::slice::from_mut(tag));
        crypt(&keys.cipher, tag, data);
        Ok(())
    }

    fn open(&self, nonce: &[u8], aad: &[u8], mut data: InOut<'_>, tag: &[u8; TAG]) -> Result<(), Error> {
        check(nonce, aad.len() as u64, data.len() as u64)?;
        let keys = self.keys(nonce);
        crypt(&keys.cipher, tag, data.reborrow());
        let mut right = self.hash(&keys.hash, nonce, aad, data.output());
        keys.cipher.encrypt(std::slice::from_mut(&mut right));
        let same = begins(&right, tag).into();
        wipe(&mut right);
        if same { Ok(()) } else { Err(withdraw(&keys.cipher, tag, data)) }
    }
}

impl fmt::Debug for GcmSiv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME}({})", self.kernel().name)
    }
}

fn check(nonce: &[u8], aad: u64, data: u64) -> Result<(), Error> {
    if nonce.len() != NONCE {
        return Err(Error::NonceLength { algorithm: NAME, given: nonce.len(), takes: "12 bytes" });
    }
    for given in [aad, data] {
        if given > MAX_BYTES {
            return Err(Error::DataLength { algorithm: NAME, given, takes: "at most 2^36 bytes" });
        }
    }
    Ok(())
}

/// Returns the nonce, if all messages have the same one, of the right length.
fn one_nonce(jobs: &[&mut GcmSivJob<'_>]) -> Option<[u8; NONCE]> {
    let nonce: [u8; NONCE] = jobs.first()?.nonce.try_into().ok()?;
    jobs.iter().all(|job| job.nonce == nonce).then_some(nonce)
}

/// Encrypts or decrypts a text from its tag, RFC 8452 §4: the first 32 bits count, little-endian.
#[inline(always)]
fn crypt(cipher: &Forward, tag: &Block, data: InOut<'_>) {
    // Short texts do not pay for the room of long ones.
    if data.len() <= 16 * FEW {
        crypt_by::<FEW>(cipher, tag, data)
    } else {
        crypt_by::<AHEAD>(cipher, tag, data)
    }
}

#[inline(always)]
fn crypt_by<const BLOCKS: usize>(cipher: &Forward, tag: &Block, mut data: InOut<'_>) {
    let mut counters = Counters::new(tag);
    let mut pads = [[0; 16]; BLOCKS];
    let mut used = 0;
    while !data.is_empty() {
        let part = data.take(data.len().min(16 * BLOCKS));
        used = used.max(part.len().div_ceil(16));
        let pads = &mut pads[..part.len().div_ceil(16)];
        counters.fill(pads);
        cipher.encrypt(pads);
        add(pads, part);
    }
    wipe(&mut pads[..used]);
}

/// Does the same with many texts, the keystreams of the short ones side by side.
fn crypt_many(cipher: &Forward, tags: &[Block], jobs: &mut [&mut GcmSivJob<'_>]) {
    let mut pads = [[0; 16]; AHEAD];
    let mut begin = 0;
    while begin < jobs.len() {
        let (mut end, mut used) = (begin, 0);
        while end < jobs.len() && used + jobs[end].data.len().div_ceil(16) <= AHEAD {
            let blocks = jobs[end].data.len().div_ceil(16);
            Counters::new(&tags[end]).fill(&mut pads[used..used + blocks]);
            (end, used) = (end + 1, used + blocks);
        }
        if end == begin {
            crypt(cipher, &tags[begin], jobs[begin].data.reborrow());
            begin += 1;
            continue;
        }
        cipher.encrypt(&mut pads[..used]);
        let mut pads = &pads[..used];
        for job in &mut jobs[begin..end] {
            let (own, rest) = pads.split_at(job.data.len().div_ceil(16));
            add(own, job.data.reborrow());
            pads = rest;
        }
        begin = end;
    }
    wipe(&mut pads);
}

/// The counter blocks of one text.
struct Counters {
    first: u128,
    counter: u32,
}

impl Counters {
    #[inline(always)]
    fn new(tag: &Block) -> Self {
        let first = u128::from_le_bytes(*tag) | 1 << 127;
        Counters { first, counter: first as u32 }
    }

    /// Writes the next blocks.
    #[inline(always)]
    fn fill(&mut self, blocks: &mut [Block]) {
        for block in blocks {
            *block = (self.first >> 32 << 32 | u128::from(self.counter)).to_le_bytes();
            self.counter = self.counter.wrapping_add(1);
        }
    }
}

/// Adds a keystream to as many blocks of text, the last of which may be shorter.
#[inline(always)]
fn add(pads: &[Block], mut text: InOut<'_>) {
    let whole = text.len() / 16;
    for (i, pad) in pads[..whole].iter().enumerate() {
        let block = u128::from_ne_bytes(text.load(16 * i)) ^ u128::from_ne_bytes(*pad);
        text.store(16 * i, block.to_ne_bytes());
    }
    let rest = text.len() % 16;
    if rest > 0 {
        text.take(16 * whole);
        text.xor(&pads[whole][..rest]);
    }
}

/// Takes back the output of a failed `open`.
#[cold]
fn withdraw(cipher: &Forward, tag: &Block, mut data: InOut<'_>) -> Error {
    if data.is_in_place() {
        // The same keystream turns the plaintext into ciphertext.
        crypt(cipher, tag, data);
    } else {
        data.output().fill(0);
    }
    Error::Authentication
}
