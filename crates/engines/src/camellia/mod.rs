//! Camellia with keys of 128, 192 and 256 bits, and its modes ECB, CBC and CTR.
//!
//! Ref. RFC 3713 (the cipher), NIST SP 800-38A (the modes), RFC 5528 (counter mode).
//!
//! # Safety
//! The functions of a kernel are called through a [`Bound`], which is the witness that their
//! features exist; see [`crate::kernel`].
#![allow(unsafe_code)]

mod arch;
mod job;
mod lanes;
mod passes;
mod portable;
mod round;
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(dead_code))]
mod sbox;
mod schedule;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod side_by_side;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod sliced;

use std::fmt;

use millstream_cpu::{FeatureSet, Features};

pub use job::{CbcJob, CbcLanesOps, CtrJob, CtrLanesOps};
pub use lanes::{CBC_LANES, CTR_LANES, CbcLanes, CtrLanes};
pub use sbox::S1;
pub use schedule::{Order, Schedule};

use crate::modes::{BlockMode, Direction, StreamMode};
use crate::{AlgorithmInfo, Bound, Error, InOut, Kernel, Row, Standing, Table, Timing};

/// One block.
pub type Block = [u8; 16];

/// The functions of one kernel.
#[derive(Clone, Copy)]
pub struct Ops {
    ecb: unsafe fn(&Schedule, Direction, InOut<'_>),
    cbc: unsafe fn(&Schedule, Direction, &mut Block, InOut<'_>),
    ctr: unsafe fn(&Schedule, &mut Block, InOut<'_>),
}

static ROWS: &[Row<Ops>] = &[
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-gfni256-by32",
            requires: arch::x86_64_gfni::REQUIRES_256,
            timing: Timing::Constant,
            note: "each byte of 32 blocks in one AVX2 register; an S-box is two affine instructions",
        },
        ops: arch::x86_64_gfni::OPS_256,
    },
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-gfni512-by64",
            requires: arch::x86_64_gfni::REQUIRES_512,
            timing: Timing::Constant,
            note: "as by32 in AVX-512 registers, which Zen 4 splits in two",
        },
        ops: arch::x86_64_gfni::OPS_512,
    },
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-aesni-by16",
            requires: arch::x86_64_aesni::REQUIRES,
            timing: Timing::Constant,
            note: "the AES S-box between affine maps by shuffles",
        },
        ops: arch::x86_64_aesni::OPS,
    },
    #[cfg(target_arch = "aarch64")]
    Row {
        kernel: Kernel {
            name: "aarch64-ce-by16",
            requires: arch::aarch64_ce::REQUIRES,
            timing: Timing::Constant,
            note: "the AES S-box between affine maps by table instructions",
        },
        ops: arch::aarch64_ce::OPS,
    },
    Row {
        kernel: Kernel {
            name: "portable",
            requires: FeatureSet::EMPTY,
            timing: Timing::Constant,
            note: "bitsliced over eight blocks, inversion in GF((2^4)^2)",
        },
        ops: portable::OPS,
    },
];

const fn algorithm(name: &'static str, standard: &'static str) -> AlgorithmInfo {
    AlgorithmInfo { name, standing: Standing::Current, standard, key_bits: &[128, 192, 256] }
}

/// The kernels of ECB.
pub static ECB: Table<Ops> =
    Table::new(algorithm("camellia-ecb", "RFC 3713; SP 800-38A §6.1"), ROWS, |kernel| {
        let mut data = KEY;
        let ecb = Ecb::with_kernel(kernel, &KEY).expect("sixteen bytes");
        ecb.encrypt(&mut [], InOut::in_place(&mut data));
        data == ANSWER
    });

/// The kernels of CBC.
pub static CBC: Table<Ops> =
    Table::new(algorithm("camellia-cbc", "RFC 3713; SP 800-38A §6.2"), ROWS, |kernel| {
        let mut data = KEY;
        let cbc = Cbc::with_kernel(kernel, &KEY).expect("sixteen bytes");
        cbc.encrypt(&mut [0; 16], InOut::in_place(&mut data));
        data == ANSWER
    });

/// The kernels of CTR.
pub static CTR: Table<Ops> =
    Table::new(algorithm("camellia-ctr", "RFC 5528; SP 800-38A §6.5"), ROWS, |kernel| {
        let mut data = [0; 16];
        let ctr = Ctr::with_kernel(kernel, &KEY).expect("sixteen bytes");
        ctr.blocks(Direction::Encrypt, &mut { KEY }, InOut::in_place(&mut data));
        data == ANSWER
    });

/// RFC 3713 appendix A, 128-bit key: the key is the plaintext too.
const KEY: Block =
    [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10];
const ANSWER: Block =
    [0x67, 0x67, 0x31, 0x38, 0x54, 0x96, 0x69, 0x73, 0x08, 0x57, 0x06, 0x56, 0x48, 0xea, 0xbe, 0x43];

macro_rules! mode {
    ($(#[$doc:meta])* $mode:ident, $table:ident, $name:literal) => {
        $(#[$doc])*
        pub struct $mode {
            kernel: Bound<Ops>,
            schedule: Schedule,
        }

        impl $mode {
            /// Expands a key of 16, 24 or 32 bytes for the best kernel.
            ///
            /// # Errors
            /// [`Error::KeyLength`].
            pub fn new(features: Features, key: &[u8]) -> Result<Self, Error> {
                $mode::with_kernel($table.best(features), key)
            }

            /// Does the same as `new`, for the kernel given.
            ///
            /// # Errors
            /// [`Error::KeyLength`].
            pub fn with_kernel(kernel: Bound<Ops>, key: &[u8]) -> Result<Self, Error> {
                Ok($mode { kernel, schedule: Schedule::new($name, key)? })
            }

            /// The kernel in use.
            pub fn kernel(&self) -> &'static Kernel {
                self.kernel.kernel()
            }
        }

        impl fmt::Debug for $mode {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", $name, self.kernel().name)
            }
        }
    };
}

mode! {
    /// Camellia in ECB: each block on its own, for constructions that need the bare cipher.
    ///
    /// ```
    /// use millstream_cpu::Features;
    /// use millstream_engines::{InOut, camellia, modes::BlockMode};
    ///
    /// let ecb = camellia::Ecb::new(Features::hardware(), &[7; 32])?;
    /// let mut block = *b"sixteen bytes..!";
    /// ecb.encrypt(&mut [], InOut::in_place(&mut block));
    /// ecb.decrypt(&mut [], InOut::in_place(&mut block));
    /// assert_eq!(&block, b"sixteen bytes..!");
    /// # Ok::<(), millstream_engines::Error>(())
    /// ```
    Ecb, ECB, "camellia-ecb"
}

mode! {
    /// Camellia in CBC.
    ///
    /// ```
    /// use millstream_cpu::Features;
    /// use millstream_engines::camellia::Cbc;
    /// use millstream_engines::modes::{BlockStream, Direction, Padding};
    ///
    /// let cbc = Cbc::new(Features::hardware(), &[7; 16])?;
    /// let mut out = [0; 32];
    /// let mut stream = BlockStream::new(&cbc, &[1; 16], Direction::Encrypt, Padding::Pkcs7)?;
    /// let n = stream.update(b"of any length at all", &mut out)?;
    /// assert_eq!(n + stream.finish(&mut out[n..])?, 32);
    /// # Ok::<(), millstream_engines::Error>(())
    /// ```
    Cbc, CBC, "camellia-cbc"
}

mode! {
    /// Camellia in counter mode; the counter is the whole block, big-endian.
    ///
    /// ```
    /// use millstream_cpu::Features;
    /// use millstream_engines::{InOut, camellia::Ctr};
    /// use millstream_engines::modes::{ByteStream, Direction};
    ///
    /// let ctr = Ctr::new(Features::hardware(), &[7; 24])?;
    /// let mut message = *b"of any length";
    /// ByteStream::new(&ctr, &[1; 16], Direction::Encrypt)?.update(InOut::in_place(&mut message));
    /// ByteStream::new(&ctr, &[1; 16], Direction::Decrypt)?.update(InOut::in_place(&mut message));
    /// assert_eq!(&message, b"of any length");
    /// # Ok::<(), millstream_engines::Error>(())
    /// ```
    Ctr, CTR, "camellia-ctr"
}

/// Requires whole blocks.
fn whole_blocks(data: &InOut<'_>) {
    assert!(data.len().is_multiple_of(16), "data must be whole blocks");
}

impl BlockMode for Ecb {
    const NAME: &'static str = "camellia-ecb";
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

impl BlockMode for Cbc {
    const NAME: &'static str = "camellia-cbc";
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

impl StreamMode for Ctr {
    const NAME: &'static str = "camellia-ctr";
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
