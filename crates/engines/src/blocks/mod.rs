//! Ciphers of 16-byte blocks that pass many blocks side by side, in ECB, CBC and CTR.
//!
//! A [`Cipher`] has its key schedule, its rounds and its tables of kernels in its own folder. Everything that such ciphers
//! have in common is here, generic over them:
//!
//! | file | holds |
//! | --- | --- |
//! | `mod.rs` | the modes of one message, the known answers of every table |
//! | `subkeys.rs` | the expanded key |
//! | `field.rs` | S-boxes that invert in a field of 256 elements, as linear maps around the inversion in another one |
//! | `bits.rs` | the bits of eight words in planes, for kernels of any processor |
//! | `planes.rs` | the bytes of many blocks in vectors, for the kernels of all tiers |
//! | `by16.rs` | kernels that invert by the AES instructions, sixteen blocks at a time |
//! | `passes.rs` | a mode's pass over a message, on any kernel |
//! | `job.rs`, `lanes.rs` | many messages at once: the jobs and the lane managers |
//! | `side_by_side.rs` | the messages in their lanes |
//!
//! AES has modes of its own, because its processors' instructions work on whole blocks.
//!
//! Ref. NIST SP 800-38A.
//!
//! # Safety
//! The functions of a kernel are called through a [`Bound`], which is the witness that their
//! features exist; see [`crate::kernel`].
#![allow(unsafe_code)]

pub(crate) mod bits;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) mod by16;
pub(crate) mod field;
mod job;
mod lanes;
pub(crate) mod passes;
pub(crate) mod planes;
pub(crate) mod side_by_side;
mod subkeys;

use std::fmt;

use millstream_cpu::Features;

pub use job::{CbcJob, CbcLanesOps, CtrJob, CtrLanesOps};
pub use lanes::{CbcLanes, CtrLanes};
pub(crate) use lanes::{cbc_direct, ctr_direct};
pub use subkeys::{Schedule, Subkeys};

use crate::modes::{BlockMode, Direction, StreamMode};
use crate::{Bound, Error, InOut, Kernel, Table};

/// One block.
pub type Block = [u8; 16];

/// A cipher, as a type without values.
pub trait Cipher: Copy + fmt::Debug + Send + Sync + 'static {
    /// The tables of kernels.
    const TABLES: Tables<Self>;
    /// A published vector of the cipher.
    const EXAMPLE: Example;

    /// A value for each byte of the longest key's subkeys, in rows of sixteen: `[[T; 16]; ROWS]`.
    type Rows<T: Copy>: Copy + AsRef<[[T; 16]]> + AsMut<[[T; 16]]>;

    /// Returns rows that hold one value.
    fn rows_of<T: Copy>(value: T) -> Self::Rows<T>;

    /// Expands a key.
    ///
    /// # Errors
    /// [`Error::KeyLength`], which names `algorithm`.
    fn expand(algorithm: &'static str, key: &[u8]) -> Result<Schedule<Self>, Error>;
}

/// The tables of a cipher's kernels.
pub struct Tables<C: Cipher> {
    /// The kernels of ECB.
    pub ecb: &'static Table<Ops<C>>,
    /// The kernels of CBC.
    pub cbc: &'static Table<Ops<C>>,
    /// The kernels of CTR.
    pub ctr: &'static Table<Ops<C>>,
    /// The kernels of CBC encryption over many messages.
    pub cbc_lanes: &'static Table<CbcLanesOps<C>>,
    /// The kernels of CTR over many messages.
    pub ctr_lanes: &'static Table<CtrLanesOps<C>>,
}

/// A published vector: this key encrypts `plain` to `cipher`.
pub struct Example {
    /// The key, of any length that the cipher takes.
    pub key: &'static [u8],
    /// The block before.
    pub plain: Block,
    /// The block after.
    pub cipher: Block,
}

/// The functions of one kernel.
#[derive(Clone, Copy)]
pub struct Ops<C: Cipher> {
    pub(crate) ecb: unsafe fn(&Schedule<C>, Direction, InOut<'_>),
    pub(crate) cbc: unsafe fn(&Schedule<C>, Direction, &mut Block, InOut<'_>),
    pub(crate) ctr: unsafe fn(&Schedule<C>, &mut Block, InOut<'_>),
}

macro_rules! mode {
    ($(#[$doc:meta])* $mode:ident, $table:ident) => {
        $(#[$doc])*
        pub struct $mode<C: Cipher> {
            kernel: Bound<Ops<C>>,
            pub(crate) schedule: Schedule<C>,
        }

        impl<C: Cipher> $mode<C> {
            /// Expands a key for the best kernel.
            ///
            /// # Errors
            /// [`Error::KeyLength`].
            pub fn new(features: Features, key: &[u8]) -> Result<Self, Error> {
                $mode::with_kernel(C::TABLES.$table.best(features), key)
            }

            /// Does the same as `new`, for the kernel given.
            ///
            /// # Errors
            /// [`Error::KeyLength`].
            pub fn with_kernel(kernel: Bound<Ops<C>>, key: &[u8]) -> Result<Self, Error> {
                Ok($mode { kernel, schedule: C::expand(C::TABLES.$table.algorithm.name, key)? })
            }

            /// The kernel in use.
            pub fn kernel(&self) -> &'static Kernel {
                self.kernel.kernel()
            }
        }

        impl<C: Cipher> fmt::Debug for $mode<C> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", C::TABLES.$table.algorithm.name, self.kernel().name)
            }
        }
    };
}

mode! {
    /// A cipher in ECB: each block on its own, for constructions that need the bare cipher.
    Ecb, ecb
}

mode! {
    /// A cipher in CBC.
    Cbc, cbc
}

mode! {
    /// A cipher in counter mode. The counter is the whole block, big-endian.
    Ctr, ctr
}

/// Requires whole blocks.
fn whole_blocks(data: &InOut<'_>) {
    assert!(data.len().is_multiple_of(16), "data must be whole blocks");
}

impl<C: Cipher> BlockMode for Ecb<C> {
    const NAME: &'static str = C::TABLES.ecb.algorithm.name;
    const BLOCK: usize = 16;
    const IV: usize = 0;

    fn encrypt(&self, chain: &mut [u8], data: InOut<'_>) {
        self.pass(Direction::Encrypt, chain, data);
    }

    fn decrypt(&self, chain: &mut [u8], data: InOut<'_>) {
        self.pass(Direction::Decrypt, chain, data);
    }

    fn pass(&self, direction: Direction, chain: &mut [u8], data: InOut<'_>) {
        assert!(chain.is_empty(), "ECB has no chaining value");
        whole_blocks(&data);
        // SAFETY: `kernel` is a `Bound`.
        unsafe { (self.kernel.ops().ecb)(&self.schedule, direction, data) }
    }
}

impl<C: Cipher> BlockMode for Cbc<C> {
    const NAME: &'static str = C::TABLES.cbc.algorithm.name;
    const BLOCK: usize = 16;
    const IV: usize = 16;

    fn encrypt(&self, chain: &mut [u8], data: InOut<'_>) {
        self.pass(Direction::Encrypt, chain, data);
    }

    fn decrypt(&self, chain: &mut [u8], data: InOut<'_>) {
        self.pass(Direction::Decrypt, chain, data);
    }

    fn pass(&self, direction: Direction, chain: &mut [u8], data: InOut<'_>) {
        let chain = chain.try_into().expect("a chaining value of 16 bytes");
        whole_blocks(&data);
        // SAFETY: `kernel` is a `Bound`.
        unsafe { (self.kernel.ops().cbc)(&self.schedule, direction, chain, data) }
    }
}

impl<C: Cipher> StreamMode for Ctr<C> {
    const NAME: &'static str = C::TABLES.ctr.algorithm.name;
    const BLOCK: usize = 16;
    const FEEDBACK: bool = false;

    fn blocks(&self, _: Direction, chain: &mut [u8], data: InOut<'_>) {
        let chain = chain.try_into().expect("a counter of 16 bytes");
        whole_blocks(&data);
        // SAFETY: `kernel` is a `Bound`.
        unsafe { (self.kernel.ops().ctr)(&self.schedule, chain, data) }
    }

    fn pad(&self, chain: &mut [u8], pad: &mut [u8]) {
        assert_eq!(pad.len(), 16, "a pad of 16 bytes");
        pad.fill(0);
        self.blocks(Direction::Encrypt, chain, InOut::in_place(pad));
    }
}

/// The number of messages in the known answers of lanes: more than the lanes of any kernel.
const MESSAGES: usize = 67;

/// The known answer of a table of ECB.
pub(crate) fn ecb_is_right<C: Cipher>(kernel: Bound<Ops<C>>) -> bool {
    let mut data = C::EXAMPLE.plain;
    let key = Ecb::<C>::with_kernel(kernel, C::EXAMPLE.key).expect("a key of the example");
    key.encrypt(&mut [], InOut::in_place(&mut data));
    data == C::EXAMPLE.cipher
}

/// The known answer of a table of CBC: with a vector of zeros, the first block is as in ECB.
pub(crate) fn cbc_is_right<C: Cipher>(kernel: Bound<Ops<C>>) -> bool {
    let mut data = C::EXAMPLE.plain;
    let key = Cbc::<C>::with_kernel(kernel, C::EXAMPLE.key).expect("a key of the example");
    key.encrypt(&mut [0; 16], InOut::in_place(&mut data));
    data == C::EXAMPLE.cipher
}

/// The known answer of a table of CTR: zeros become the encrypted counter.
pub(crate) fn ctr_is_right<C: Cipher>(kernel: Bound<Ops<C>>) -> bool {
    let mut data = [0; 16];
    let key = Ctr::<C>::with_kernel(kernel, C::EXAMPLE.key).expect("a key of the example");
    key.blocks(Direction::Encrypt, &mut { C::EXAMPLE.plain }, InOut::in_place(&mut data));
    data == C::EXAMPLE.cipher
}

/// The known answer of a table of lanes for CBC.
pub(crate) fn cbc_lanes_are_right<C: Cipher>(kernel: Bound<CbcLanesOps<C>>) -> bool {
    let key = Cbc::<C>::new(Features::hardware(), C::EXAMPLE.key).expect("a key of the example");
    let mut buffers = [C::EXAMPLE.plain; MESSAGES];
    let mut jobs = buffers.each_mut().map(|b| CbcJob { key: &key, iv: [0; 16], data: InOut::in_place(b) });
    CbcLanes::with_kernel(kernel).encrypt(&mut jobs.each_mut());
    jobs.iter().all(|job| job.iv == C::EXAMPLE.cipher) && buffers == [C::EXAMPLE.cipher; MESSAGES]
}

/// The known answer of a table of lanes for CTR.
pub(crate) fn ctr_lanes_are_right<C: Cipher>(kernel: Bound<CtrLanesOps<C>>) -> bool {
    let key = Ctr::<C>::new(Features::hardware(), C::EXAMPLE.key).expect("a key of the example");
    let mut buffers = [[0; 16]; MESSAGES];
    let counter = C::EXAMPLE.plain;
    let mut jobs = buffers.each_mut().map(|b| CtrJob { key: &key, counter, data: InOut::in_place(b) });
    CtrLanes::with_kernel(kernel).apply(&mut jobs.each_mut());
    buffers == [C::EXAMPLE.cipher; MESSAGES]
}
