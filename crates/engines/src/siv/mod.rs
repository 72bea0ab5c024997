//! AES-SIV: deterministic authenticated encryption. The tag is a MAC over everything, and the counter block that the text is
//! encrypted from.
//!
//! Equal messages with equal associated data become equal ciphertexts, so tables can be joined by them. Nothing else shows, and
//! a nonce, where there is one, is the last component of the associated data (RFC 5297 §3).
//!
//! Short messages under one key go side by side: the chains of their MACs on the kernel of ECB, and their texts on the lanes
//! of CTR.
//!
//! Ref. RFC 5297 §2.

mod chain;
mod job;
mod lanes;

use std::fmt;

use millstream_cpu::Features;
use zeroize::Zeroize;

pub use job::SivJob;
pub use lanes::{KeyedSivJob, SivLanes};

use crate::aes::{self, Block, Cmac, Ctr, CtrJob, CtrLanes, EcbOps, Forward, features_of};
use crate::cmac::{self, double};
use crate::compare::begins;
use crate::{Bound, Error, InOut, Kernel};
use chain::{Chain, LANES, xor};

const NAME: &str = "aes-siv";

/// Bytes of the tag, which RFC 5297 calls the synthetic initialisation vector and puts in front of the ciphertext.
pub const TAG: usize = 16;

/// The most components of associated data (RFC 5297 §7): with the text there are 127.
pub const MAX_COMPONENTS: usize = 126;

/// The longest text that stands beside others, in bytes. One alone keeps the processor as busy from there on as the direct
/// kernels can.
const LONGEST: usize = 2048;

/// A key for AES-SIV of 256, 384 or 512 bits: the first half authenticates, the second encrypts. Zeroised on drop.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::siv::Siv;
/// use millstream_engines::{Error, InOut};
///
/// let siv = Siv::new(Features::hardware(), &[7; 64])?;
/// let (mut value, mut tag) = (*b"4000 1234 5678 9010", [0; 16]);
/// siv.seal(&[b"customers.card"], InOut::in_place(&mut value), &mut tag)?;
/// siv.open(&[b"customers.card"], InOut::in_place(&mut value), &tag)?;
/// assert_eq!(&value, b"4000 1234 5678 9010");
///
/// let forged = siv.open(&[b"customers.name"], InOut::in_place(&mut value), &tag);
/// assert_eq!(forged, Err(Error::Authentication));
/// # Ok::<(), Error>(())
/// ```
pub struct Siv {
    /// The MAC's key for one message.
    cmac: Cmac,
    /// The same for blocks of many messages.
    blocks: Forward,
    ctr: Ctr,
    lanes: CtrLanes,
    subkeys: [Block; 2],
    /// The MAC of a block of zeros, with which S2V begins.
    zero: Block,
}

impl Siv {
    /// A key of 32, 48 or 64 bytes on the best kernels that `features` allow.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn new(features: Features, key: &[u8]) -> Result<Self, Error> {
        let (mac, text) = match key.len() {
            32 | 48 | 64 => key.split_at(key.len() / 2),
            given => {
                return Err(Error::KeyLength { algorithm: NAME, given, takes: "32, 48 or 64 bytes" });
            }
        };
        let cmac = Cmac::new(features, mac)?;
        let zero = cmac.mac(&[0; 16]);
        let subkeys = cmac.subkeys();
        let blocks = Forward::new(aes::ECB.best(features), NAME, mac)?;
        let ctr = Ctr::new(features, text)?;
        Ok(Siv { cmac, blocks, ctr, lanes: CtrLanes::new(features), subkeys, zero })
    }

    /// A key on the given kernel of ECB for the MACs of many messages, and for all else on the best kernels that need no more
    /// features.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn with_kernel(kernel: Bound<EcbOps>, key: &[u8]) -> Result<Self, Error> {
        let mut siv = Siv::new(features_of(kernel.kernel()), key)?;
        siv.blocks = Forward::new(kernel, NAME, &key[..key.len() / 2])?;
        Ok(siv)
    }

    /// The kernel of the MACs of many messages.
    pub fn kernel(&self) -> &'static Kernel {
        self.blocks.kernel()
    }

    /// Encrypts `data` and computes the tag over it and each component of the associated data. No component and one
    /// that is empty are not the same.
    ///
    /// # Errors
    /// [`Error::Parameter`] for more than [`MAX_COMPONENTS`].
    pub fn seal(&self, components: &[&[u8]], data: InOut<'_>, tag: &mut [u8; TAG]) -> Result<(), Error> {
        check_components(components)?;
        *tag = self.s2v(components, data.input());
        self.crypt(tag, data);
        Ok(())
    }

    /// Decrypts `data` if `tag` is right. The comparison takes the same time wherever the tags differ.
    ///
    /// # Errors
    /// [`Error::Authentication`] when the tag does not match: a separate output is then zero, and a buffer opened in place
    /// holds its ciphertext again. [`Error::Parameter`] as for [`Siv::seal`].
    pub fn open(&self, components: &[&[u8]], mut data: InOut<'_>, tag: &[u8; TAG]) -> Result<(), Error> {
        check_components(components)?;
        self.crypt(tag, data.reborrow());
        let right = self.s2v(components, data.output());
        if begins(&right, tag).into() { Ok(()) } else { Err(self.withdraw(tag, data)) }
    }

    /// Seals many messages, the short ones side by side, and may reorder `jobs`. Each job has a result of its own.
    pub fn seal_many(&self, jobs: &mut [&mut SivJob<'_>]) {
        self.many::<false>(jobs);
    }

    /// Opens many messages, the short ones side by side, and may reorder `jobs`. Each job has a result of its own.
    pub fn open_many(&self, jobs: &mut [&mut SivJob<'_>]) {
        self.many::<true>(jobs);
    }

    fn many<const OPEN: bool>(&self, jobs: &mut [&mut SivJob<'_>]) {
        let head = self.head(jobs);
        for window in jobs.chunks_mut(LANES) {
            // Messages that can't stand beside others move to the end.
            let mut short = window.len();
            let mut i = 0;
            while i < short {
                if window[i].is_short() {
                    window[i].result = Ok(());
                    i += 1;
                } else {
                    window[i].direct::<OPEN>(self);
                    short -= 1;
                    window.swap(i, short);
                }
            }
            match &mut window[..short] {
                [] => {}
                [job] => job.direct::<OPEN>(self),
                jobs => self.window::<OPEN>(jobs, &head),
            }
        }
    }

    /// Passes the first components through S2V, as far as all messages have the very same bytes: the values of a column
    /// often do.
    fn head(&self, jobs: &[&mut SivJob<'_>]) -> Head {
        let mut head = Head { components: 0, d: self.zero };
        let [first, others @ ..] = jobs else { return head };
        for component in first.components.iter().take(MAX_COMPONENTS) {
            let same = |job: &&mut SivJob<'_>| {
                job.components.get(head.components).is_some_and(|other| std::ptr::eq(*other, *component))
            };
            if component.len() > LONGEST || !others.iter().all(same) {
                break;
            }
            head.d = xor(double(head.d), self.cmac.mac(component));
            head.components += 1;
        }
        head
    }

    /// Works on no more messages than there are lanes.
    fn window<const OPEN: bool>(&self, jobs: &mut [&mut SivJob<'_>], head: &Head) {
        let mut tags = [[0; 16]; LANES];
        if OPEN {
            for (tag, job) in tags.iter_mut().zip(&*jobs) {
                *tag = job.tag;
            }
            self.texts(jobs, &tags);
        }
        self.s2v_many::<OPEN>(jobs, &mut tags, head);
        if !OPEN {
            self.texts(jobs, &tags);
        }
        for (tag, job) in tags.iter().zip(jobs) {
            if !OPEN {
                job.tag = *tag;
            } else if !bool::from(begins(tag, &job.tag)) {
                job.result = Err(self.withdraw(&job.tag, job.data.reborrow()));
            }
        }
    }

    /// Encrypts or decrypts the texts.
    fn texts(&self, jobs: &mut [&mut SivJob<'_>], tags: &[Block; LANES]) {
        let (groups, rest) = jobs.as_chunks_mut::<8>();
        let (group_tags, rest_tags) = tags.split_at(8 * groups.len());
        for (group, tags) in groups.iter_mut().zip(group_tags.as_chunks::<8>().0) {
            let mut tags = tags.iter();
            let mut texts = group.each_mut().map(|job| {
                let tag = tags.next().expect("a tag for each message");
                CtrJob { key: &self.ctr, counter: counter(tag), data: job.data.reborrow() }
            });
            self.lanes.apply(&mut texts.each_mut());
        }
        for (job, tag) in rest.iter_mut().zip(rest_tags) {
            self.crypt(tag, job.data.reborrow());
        }
    }

    /// S2V, RFC 5297 §2.4, of one message.
    fn s2v(&self, components: &[&[u8]], text: &[u8]) -> Block {
        let mut d = self.zero;
        for component in components {
            d = xor(double(d), self.cmac.mac(component));
        }
        let mut chain = Chain::of_text(text, d, &self.subkeys);
        let mut value = [0; 16];
        let mut blocks = chain.blocks;
        for end in chain.ends() {
            cmac::Key::absorb(&self.cmac, &mut value, blocks, end);
            blocks = &[];
        }
        chain.wipe();
        value
    }

    /// S2V of many messages. The texts of opened ones are in their outputs.
    fn s2v_many<const OPEN: bool>(
        &self,
        jobs: &mut [&mut SivJob<'_>],
        tags: &mut [Block; LANES],
        head: &Head,
    ) {
        let most = jobs.iter().map(|job| job.components.len()).max().unwrap_or(0);
        let mut d = [head.d; LANES];
        let mut chains = [Chain::NONE; LANES];
        for at in head.components..most {
            for (chain, job) in chains.iter_mut().zip(&*jobs) {
                *chain = match job.components.get(at) {
                    Some(component) => Chain::of_component(component, &self.subkeys),
                    None => Chain::NONE,
                };
            }
            chain::run(&self.blocks, &mut chains[..jobs.len()]);
            for ((d, chain), job) in d.iter_mut().zip(&chains).zip(&*jobs) {
                if at < job.components.len() {
                    *d = xor(double(*d), chain.value);
                }
            }
        }
        let count = jobs.len();
        for ((chain, job), d) in chains.iter_mut().zip(jobs).zip(d) {
            let text = if OPEN { &*job.data.output() } else { job.data.input() };
            *chain = Chain::of_text(text, d, &self.subkeys);
        }
        chain::run(&self.blocks, &mut chains[..count]);
        for (tag, chain) in tags.iter_mut().zip(&mut chains) {
            *tag = chain.value;
            chain.wipe();
        }
    }

    /// Encrypts or decrypts a text from its tag, RFC 5297 §2.6.
    fn crypt(&self, tag: &Block, data: InOut<'_>) {
        self.ctr.apply(&counter(tag), data);
    }

    /// Takes back the output of a failed `open`.
    #[cold]
    fn withdraw(&self, tag: &Block, mut data: InOut<'_>) -> Error {
        if data.is_in_place() {
            // The same keystream turns the plaintext into ciphertext.
            self.crypt(tag, data);
        } else {
            data.output().fill(0);
        }
        Error::Authentication
    }
}

/// The components that messages have in common, which S2V takes in once.
struct Head {
    /// The number of them.
    components: usize,
    /// S2V's value after them.
    d: Block,
}

impl Drop for Head {
    fn drop(&mut self) {
        self.d.zeroize();
    }
}

impl Drop for Siv {
    fn drop(&mut self) {
        self.subkeys.zeroize();
        self.zero.zeroize();
    }
}

impl fmt::Debug for Siv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME}({})", self.kernel().name)
    }
}

/// Returns the first counter block: the tag with two bits cleared, so that additions of 32 and of 64 bits would carry nothing
/// (RFC 5297 §2.5).
fn counter(tag: &Block) -> Block {
    let mut counter = *tag;
    counter[8] &= 0x7f;
    counter[12] &= 0x7f;
    counter
}

fn check_components(components: &[&[u8]]) -> Result<(), Error> {
    if components.len() > MAX_COMPONENTS {
        return Err(Error::Parameter {
            algorithm: NAME,
            name: "the number of components of associated data",
            given: components.len() as u64,
            takes: "at most 126",
        });
    }
    Ok(())
}
