//! AES-CMAC: a MAC from CBC, with a subkey in the last block.
//!
//! Ref. NIST SP 800-38B §6; RFC 4493.
//!
//! # Safety
//! A kernel's functions are called through its [`Bound`], the witness that its features exist.
#![allow(unsafe_code)]

use millstream_cpu::Features;
use zeroize::Zeroize;

use super::arch::serial_rows;
use super::schedule::{Block, Expand, KEY_BITS, Schedule};
use super::vector::{Chain, Keys, load_short};
use crate::cmac::{self, compare, double};
use crate::kernel::{BesideKernel, no_padding};
use crate::{AlgorithmInfo, Bound, Error, Kernel, Row, Standing, Table};

const NAME: &str = "aes-cmac";

/// The kernels of AES-CMAC, all of them one block at a time.
pub static CMAC: Table<CmacOps> = Table::new(
    AlgorithmInfo {
        name: NAME,
        standing: Standing::Current,
        standard: "NIST SP 800-38B, RFC 4493",
        key_bits: KEY_BITS,
    },
    serial_rows!(CmacOps { expand: expand, absorb: cmac_absorb }),
    known_answer,
);

/// The functions of a kernel of AES-CMAC. `absorb` takes whole blocks, then one more, into a chaining
/// value. The last block is a little-endian number so that the caller can pass it in registers.
pub struct CmacOps {
    pub(crate) expand: Expand,
    pub(crate) absorb: unsafe fn(&Schedule, &mut Block, &[u8], u128),
}

/// An AES key for CMAC.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::aes::Cmac;
///
/// let key = Cmac::new(Features::hardware(), &[7; 16])?;
/// let tag = key.mac(b"in one piece");
/// let mut stream = key.stream();
/// stream.update(b"in one ");
/// stream.update(b"piece");
/// stream.verify(&tag)?;
/// # Ok::<(), millstream_engines::Error>(())
/// ```
pub struct Cmac {
    pub(super) schedule: Schedule,
    /// The subkey for a whole last block.
    k1: Block,
    /// The subkey for a padded last block.
    k2: Block,
    kernel: Bound<CmacOps>,
    _unused: BesideKernel,
}

no_padding!(Cmac: Schedule, Block, Block, Bound<CmacOps>, BesideKernel);

impl Cmac {
    /// A key of 16, 24 or 32 bytes on the best kernel that `features` allow.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn new(features: Features, key: &[u8]) -> Result<Self, Error> {
        Cmac::with_kernel(CMAC.best(features), key)
    }

    /// A key on the given kernel.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    #[inline]
    pub fn with_kernel(kernel: Bound<CmacOps>, key: &[u8]) -> Result<Self, Error> {
        // The key is expanded in place, because moving a schedule costs as much as making one.
        let mut this = Schedule::blank(NAME, key).map(|schedule| Cmac {
            schedule,
            k1: [0; 16],
            k2: [0; 16],
            kernel,
            _unused: [0; size_of::<BesideKernel>()],
        });
        if let Ok(this) = &mut this {
            // SAFETY: `kernel` is bound.
            unsafe { (kernel.ops().expand)(&mut this.schedule, key) };
            // SP 800-38B §6.1.
            let mut zero = [0; 16];
            this.absorb_number(&mut zero, &[], 0);
            this.k1 = double(zero);
            this.k2 = double(this.k1);
            zero.zeroize();
        }
        this
    }

    /// The kernel this key is bound to.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Returns the tag of `message`. A shorter tag is the first bytes of it.
    #[inline]
    pub fn mac(&self, message: &[u8]) -> Block {
        let mut tag = [0; 16];
        // SP 800-38B §6.2: the last block, whole if it can be, stays for the end.
        let (blocks, last) = message.split_at(message.len().saturating_sub(1) / 16 * 16);
        self.absorb_number(&mut tag, blocks, self.last_number(last));
        tag
    }

    /// Compares the tag of `message` in constant time.
    ///
    /// # Errors
    /// [`Error::Authentication`] when it differs; [`Error::TagLength`] when `tag` is not
    /// [`MIN_TAG`](cmac::MIN_TAG) to 16 bytes.
    pub fn verify(&self, message: &[u8], tag: &[u8]) -> Result<(), Error> {
        compare(NAME, &self.mac(message), tag)
    }

    /// Begins a message in pieces.
    pub fn stream(&self) -> CmacStream<'_> {
        CmacStream::new(self)
    }

    /// Begins a message in pieces, whose state borrows nothing.
    pub fn begin(&self) -> CmacState {
        CmacState::new()
    }

    /// The subkeys for a whole last block and for a padded one.
    pub(crate) fn subkeys(&self) -> [Block; 2] {
        [self.k1, self.k2]
    }

    #[inline(always)]
    fn absorb_number(&self, chain: &mut Block, blocks: &[u8], last: u128) {
        // SAFETY: the kernel is bound.
        unsafe { (self.kernel.ops().absorb)(&self.schedule, chain, blocks, last) }
    }

    /// Returns at most 16 bytes, padded if they are fewer, XOR the subkey: SP 800-38B §6.2 step 4.
    #[inline(always)]
    pub(super) fn last_number(&self, bytes: &[u8]) -> u128 {
        let (block, subkey) = match <Block>::try_from(bytes) {
            Ok(whole) => (u128::from_le_bytes(whole), &self.k1),
            Err(_) => (load_short(bytes) | 0x80 << (8 * bytes.len()), &self.k2),
        };
        block ^ u128::from_le_bytes(*subkey)
    }
}

impl Drop for Cmac {
    fn drop(&mut self) {
        self.k1.zeroize();
        self.k2.zeroize();
    }
}

/// The state of a message in pieces, apart from its key.
pub type CmacState = cmac::State<16>;

/// A message to be authenticated in pieces of any length.
pub type CmacStream<'k> = cmac::Stream<'k, Cmac, 16>;

impl cmac::Key<16> for Cmac {
    const NAME: &'static str = NAME;

    #[inline(always)]
    fn absorb(&self, chain: &mut Block, blocks: &[u8], last: &Block) {
        self.absorb_number(chain, blocks, u128::from_le_bytes(*last));
    }

    #[inline(always)]
    fn last_block(&self, bytes: &[u8]) -> Block {
        self.last_number(bytes).to_le_bytes()
    }
}

/// Runs CBC over whole blocks and one more, and keeps only the chaining value.
#[inline(always)]
pub(crate) fn absorb<L: Chain>(keys: Keys<'_, L>, chain: &mut Block, blocks: &[u8], last: u128) {
    let whitening = L::whitening(&keys);
    let mut state = L::splat(&keys, chain).xor(whitening);
    let last = L::splat(&keys, &last.to_le_bytes());
    if let [first, rest @ ..] = blocks.as_chunks().0 {
        state = state.xor(L::splat(&keys, first));
        for block in rest {
            state = state.encrypt_whitened(&keys, L::splat(&keys, block).xor(whitening));
        }
        state = state.encrypt_whitened(&keys, last.xor(whitening));
    } else {
        state = state.xor(last);
    }
    *chain = state.encrypt_whitened(&keys, whitening).xor(whitening).first();
}

/// RFC 4493 §4, example 3.
fn known_answer(kernel: Bound<CmacOps>) -> bool {
    let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
    let message = [
        0x6bc1_bee2_2e40_9f96_e93d_7e11_7393_172a_u128,
        0xae2d_8a57_1e03_ac9c_9eb7_6fac_45af_8e51,
        0x30c8_1c46_a35c_e411_0000_0000_0000_0000,
    ]
    .map(u128::to_be_bytes);
    let tag = 0xdfa6_6747_de9a_e630_30ca_3261_1497_c827_u128.to_be_bytes();
    Cmac::with_kernel(kernel, &key).is_ok_and(|cmac| cmac.verify(&message.as_flattened()[..40], &tag).is_ok())
}
