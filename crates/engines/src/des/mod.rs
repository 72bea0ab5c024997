//! DES and triple DES in ECB, CBC and CFB with 64-bit feedback, and the DES MAC.
//!
//! Legacy: a DES key of 56 bits is found by search, and a 64-bit block repeats too soon (SP 800-67
//! rev. 2 §3.3 allows 2^20 blocks under one bundle). These ciphers are for data that exists
//! already.
//!
//! Every type takes a key of 8 bytes (DES), 16 (triple DES with K1 = K3) or 24 (three keys); parity
//! bits are ignored and weak keys are taken, see [`weak_key`]. All kernels are constant-time.
//!
//! Ref. FIPS 46-3; NIST SP 800-67 rev. 2; FIPS 81 and NIST SP 800-38A (modes); FIPS 113 (MAC).

mod arch;
mod circuits;
mod job;
mod known_answer;
mod lanes;
mod mac;
mod modes;
mod ops;
#[cfg(target_arch = "x86_64")]
mod planes;
mod portable;
mod schedule;
mod serial;
mod side_by_side;
mod slices;
pub mod tables;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
mod wiring;

use millstream_cpu::Features;
use subtle::ConstantTimeEq;

pub use self::job::{CbcJob, CfbJob, LanesOps, MacJob};
pub use self::lanes::{CbcLanes, CfbLanes, MacLanes};
pub use self::mac::{Mac, MacState, mac};
pub use ops::{BLOCK, Ops};
pub use schedule::Schedule;

use crate::kernel::{AlgorithmInfo, Bound, Kernel, Row, Standing, Table};
use crate::modes::{BlockMode, Direction, StreamMode};
use crate::{Error, InOut};
use ops::Keyed;

/// The kernels, best first. Every mode has the same ones.
static ROWS: &[Row<Ops>] = &[
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_vbmi::ROW,
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx512::ROW,
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx2::ROW,
    portable::ROW,
];

/// The kernels of the lanes, best first.
static LANE_ROWS: &[Row<LanesOps>] = &[
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_vbmi::LANES,
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx512::LANES,
    #[cfg(target_arch = "x86_64")]
    arch::x86_64_avx2::LANES,
    portable::LANES,
    lanes::DIRECT,
];

macro_rules! tables {
    ($ops:ty, $rows:ident;
     $($(#[$doc:meta])* $table:ident $name:literal, $standard:literal, $bits:expr, $known:path;)*) => {
        $($(#[$doc])*
        pub static $table: Table<$ops> = Table::new(
            AlgorithmInfo { name: $name, standing: Standing::Legacy, standard: $standard, key_bits: $bits },
            $rows,
            $known,
        );)*
    };
}

tables! {
    Ops, ROWS;
    /// DES in ECB.
    ECB "des-ecb", "FIPS 46-3; SP 800-38A §6.1", &[64], known_answer::ecb;
    /// DES in CBC.
    CBC "des-cbc", "FIPS 46-3; SP 800-38A §6.2", &[64], known_answer::cbc;
    /// DES in CFB with 64-bit feedback.
    CFB "des-cfb64", "FIPS 46-3; SP 800-38A §6.3", &[64], known_answer::cfb;
    /// The DES MAC.
    MAC "des-mac", "FIPS 113", &[64], known_answer::mac;
    /// Triple DES in ECB.
    TRIPLE_ECB "3des-ecb", "SP 800-67; SP 800-38A §6.1", &[128, 192], known_answer::triple_ecb;
    /// Triple DES in CBC.
    TRIPLE_CBC "3des-cbc", "SP 800-67; SP 800-38A §6.2", &[128, 192], known_answer::triple_cbc;
    /// Triple DES in CFB with 64-bit feedback.
    TRIPLE_CFB "3des-cfb64", "SP 800-67; SP 800-38A §6.3", &[128, 192], known_answer::triple_cfb;
}

tables! {
    LanesOps, LANE_ROWS;
    /// DES in CBC, many messages at a time.
    CBC_LANES "des-cbc-lanes", "FIPS 46-3; SP 800-38A §6.2", &[64], known_answer::cbc_lanes;
    /// DES in CFB with 64-bit feedback, many messages at a time.
    CFB_LANES "des-cfb64-lanes", "FIPS 46-3; SP 800-38A §6.3", &[64], known_answer::cfb_lanes;
    /// The DES MAC of many messages at a time.
    MAC_LANES "des-mac-lanes", "FIPS 113", &[64], known_answer::mac_lanes;
    /// Triple DES in CBC, many messages at a time.
    TRIPLE_CBC_LANES "3des-cbc-lanes", "SP 800-67; SP 800-38A §6.2", &[128, 192], known_answer::triple_cbc_lanes;
    /// Triple DES in CFB with 64-bit feedback, many messages at a time.
    TRIPLE_CFB_LANES "3des-cfb64-lanes", "SP 800-67; SP 800-38A §6.3", &[128, 192], known_answer::triple_cfb_lanes;
}

macro_rules! mode {
    ($(#[$doc:meta])* $mode:ident $names:expr, $table:ident) => {
        $(#[$doc])*
        pub struct $mode(Keyed);

        impl $mode {
            /// Expands the key for the best kernel that `features` allow.
            ///
            /// # Errors
            /// [`Error::KeyLength`] unless the key has 8, 16 or 24 bytes.
            pub fn new(features: Features, key: &[u8]) -> Result<Self, Error> {
                Self::with_kernel($table.best(features), key)
            }

            /// The same for a kernel of choice.
            ///
            /// # Errors
            /// As for [`Self::new`].
            pub fn with_kernel(kernel: Bound<Ops>, key: &[u8]) -> Result<Self, Error> {
                Keyed::new(kernel, $names, key).map($mode)
            }

            /// The kernel in use.
            pub fn kernel(&self) -> &'static Kernel {
                self.0.kernel.kernel()
            }
        }
    };
}

mode! {
    /// ECB: each block alone. Equal blocks remain equal; other modes are built on it.
    Ecb ["des-ecb", "3des-ecb"], ECB
}
mode! {
    /// CBC. Decryption works on many blocks at a time.
    ///
    /// ```
    /// use millstream_cpu::Features;
    /// use millstream_engines::modes::BlockMode;
    /// use millstream_engines::{InOut, des};
    ///
    /// let cbc = des::Cbc::new(Features::hardware(), b"K1 of 8.K2 of 8.K3 of 8.")?;
    /// let mut data = *b"two blocks of 8.";
    /// cbc.encrypt(&mut [0; 8], InOut::in_place(&mut data));
    /// assert_ne!(&data, b"two blocks of 8.");
    /// cbc.decrypt(&mut [0; 8], InOut::in_place(&mut data));
    /// assert_eq!(&data, b"two blocks of 8.");
    /// # Ok::<(), millstream_engines::Error>(())
    /// ```
    Cbc ["des-cbc", "3des-cbc"], CBC
}
mode! {
    /// CFB with 64-bit feedback, for data of any length through
    /// [`ByteStream`](crate::modes::ByteStream). Decryption works on many blocks at a time.
    ///
    /// ```
    /// use millstream_cpu::Features;
    /// use millstream_engines::des;
    /// use millstream_engines::modes::{ByteStream, Direction};
    ///
    /// let cfb = des::Cfb::new(Features::hardware(), b"K1 of 8.K2 of 8.")?;
    /// let mut data = *b"of any length";
    /// ByteStream::new(&cfb, &[0; 8], Direction::Encrypt)?.update(data.as_mut_slice().into());
    /// ByteStream::new(&cfb, &[0; 8], Direction::Decrypt)?.update(data.as_mut_slice().into());
    /// assert_eq!(&data, b"of any length");
    /// # Ok::<(), millstream_engines::Error>(())
    /// ```
    Cfb ["des-cfb64", "3des-cfb64"], CFB
}

impl Cbc {
    /// Runs CBC and keeps only the chaining value.
    pub(crate) fn chain_only(&self, chain: &mut [u8; BLOCK], blocks: &[[u8; BLOCK]]) {
        self.0.mac(chain, blocks);
    }
}

impl BlockMode for Ecb {
    const NAME: &'static str = "des-ecb";
    const BLOCK: usize = BLOCK;
    const IV: usize = 0;

    fn encrypt(&self, chain: &mut [u8], data: InOut<'_>) {
        assert!(chain.is_empty(), "ECB has no chaining value");
        self.0.ecb(Direction::Encrypt, data);
    }

    fn decrypt(&self, chain: &mut [u8], data: InOut<'_>) {
        assert!(chain.is_empty(), "ECB has no chaining value");
        self.0.ecb(Direction::Decrypt, data);
    }
}

impl BlockMode for Cbc {
    const NAME: &'static str = "des-cbc";
    const BLOCK: usize = BLOCK;
    const IV: usize = BLOCK;

    fn encrypt(&self, chain: &mut [u8], data: InOut<'_>) {
        self.0.cbc(Direction::Encrypt, chain, data);
    }

    fn decrypt(&self, chain: &mut [u8], data: InOut<'_>) {
        self.0.cbc(Direction::Decrypt, chain, data);
    }
}

impl StreamMode for Cfb {
    const NAME: &'static str = "des-cfb64";
    const BLOCK: usize = BLOCK;
    const FEEDBACK: bool = true;

    fn blocks(&self, direction: Direction, chain: &mut [u8], data: InOut<'_>) {
        self.0.cfb(direction, chain, data);
    }

    fn pad(&self, chain: &mut [u8], pad: &mut [u8]) {
        pad.copy_from_slice(chain);
        self.0.ecb(Direction::Encrypt, InOut::in_place(pad));
    }
}

/// Keys under which two rounds or more have equal round keys, without parity bits: the four weak
/// keys, for which encryption is decryption, and the six pairs of semi-weak keys.
#[rustfmt::skip]
const WEAK: [u64; 16] = [
    0x0101010101010101, 0xfefefefefefefefe, 0xe0e0e0e0f1f1f1f1, 0x1f1f1f1f0e0e0e0e,
    0x011f011f010e010e, 0x1f011f010e010e01, 0x01e001e001f101f1, 0xe001e001f101f101,
    0x01fe01fe01fe01fe, 0xfe01fe01fe01fe01, 0x1fe01fe00ef10ef1, 0xe01fe01ff10ef10e,
    0x1ffe1ffe0efe0efe, 0xfe1ffe1ffe0efe0e, 0xe0fee0fef1fef1fe, 0xfee0fee0fef1fef1,
];

/// Returns true if any of the keys in `key`, 8 bytes each, is weak or semi-weak (SP 800-67 rev. 2
/// §3.3.2). The types here take such keys all the same. Parity bits are ignored. The time depends
/// on the length only.
pub fn weak_key(key: &[u8]) -> bool {
    let mut weak = subtle::Choice::from(0);
    for key in key.as_chunks::<BLOCK>().0 {
        for bad in WEAK {
            weak |= ((u64::from_be_bytes(*key) ^ bad) & 0xfefe_fefe_fefe_fefe).ct_eq(&0);
        }
    }
    weak.into()
}
