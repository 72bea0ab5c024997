//! CMAC: a MAC from a block cipher in CBC mode, with a subkey in the last block.
//!
//! This module serves every cipher. AES also has kernels of its own for CMAC:
//! [`aes::Cmac`](crate::aes::Cmac).
//!
//! Ref. NIST SP 800-38B §5.3, §6.1 and §6.2.

mod state;

pub use state::{State, Stream};

use std::fmt;

use zeroize::{Zeroize, optimization_barrier};

use crate::compare::begins;
use crate::modes::BlockMode;
use crate::{Error, InOut, camellia, des};

/// The shortest tag that is verified, in bytes. SP 800-38B appendix A.2 wants 64 bits unless the
/// number of failed verifications is limited, and never fewer than 32.
pub const MIN_TAG: usize = 4;

/// A key for CMAC with blocks of `N` bytes, as a [`State`] needs it.
pub trait Key<const N: usize> {
    /// The name, as in `aes-cmac`.
    const NAME: &'static str;

    /// Passes whole blocks and one more through CBC, and keeps only the chaining value.
    fn absorb(&self, chain: &mut [u8; N], blocks: &[u8], last: &[u8; N]);

    /// Returns at most `N` bytes as the last block: padded if they are fewer, XOR the subkey.
    fn last_block(&self, bytes: &[u8]) -> [u8; N];
}

/// A cipher in CBC mode, with blocks of `N` bytes.
pub trait Cbc<const N: usize>: BlockMode {
    /// The MAC's name, as in `camellia-cmac`.
    const CMAC: &'static str;

    /// Passes whole blocks through CBC, and keeps only the chaining value.
    fn absorb(&self, chain: &mut [u8; N], blocks: &[u8]) {
        let mut discarded = [0; 512];
        for part in blocks.chunks(discarded.len()) {
            let output = &mut discarded[..part.len()];
            self.encrypt(chain, InOut::separate(part, output).expect("as long as each other"));
        }
        discarded.fill(0);
        optimization_barrier(&discarded);
    }
}

impl Cbc<16> for camellia::Cbc {
    const CMAC: &'static str = "camellia-cmac";
}

/// DES alone, and triple DES with two keys or three, which SP 800-38B calls TDEA.
impl Cbc<8> for des::Cbc {
    const CMAC: &'static str = "3des-cmac";

    fn absorb(&self, chain: &mut [u8; 8], blocks: &[u8]) {
        self.chain_only(chain, blocks.as_chunks().0);
    }
}

/// A key for CMAC, from any cipher's key for CBC.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::{camellia, cmac::Cmac};
///
/// let key = Cmac::new(camellia::Cbc::new(Features::hardware(), &[7; 32])?);
/// let tag = key.mac(b"in one piece");
/// let mut stream = key.stream();
/// stream.update(b"in one ");
/// stream.update(b"piece");
/// stream.verify(&tag)?;
/// # Ok::<(), millstream_engines::Error>(())
/// ```
pub struct Cmac<M: Cbc<N>, const N: usize> {
    mode: M,
    /// The subkey for a whole last block.
    k1: [u8; N],
    /// The subkey for a padded last block.
    k2: [u8; N],
}

impl<M: Cbc<N>, const N: usize> Cmac<M, N> {
    /// Derives the subkeys, SP 800-38B §6.1.
    pub fn new(mode: M) -> Self {
        const { assert!(M::BLOCK == N && M::IV == N) };
        let mut zero = [0; N];
        mode.absorb(&mut zero, &[0; N]);
        let k1 = double(zero);
        zero.zeroize();
        Cmac { mode, k1, k2: double(k1) }
    }

    /// The key's mode, which knows the kernel.
    pub fn mode(&self) -> &M {
        &self.mode
    }

    /// Returns the tag of `message`. A shorter tag is the first bytes of it.
    pub fn mac(&self, message: &[u8]) -> [u8; N] {
        // SP 800-38B §6.2: the last block, whole if it can be, stays for the end.
        let (blocks, last) = message.split_at(message.len().saturating_sub(1) / N * N);
        let mut tag = [0; N];
        self.absorb(&mut tag, blocks, &self.last_block(last));
        tag
    }

    /// Compares the tag of `message`, or as much of it as is given, in constant time.
    ///
    /// # Errors
    /// [`Error::Authentication`] when it differs; [`Error::TagLength`] when `tag` is shorter than
    /// [`MIN_TAG`] or longer than a block.
    pub fn verify(&self, message: &[u8], tag: &[u8]) -> Result<(), Error> {
        compare(M::CMAC, &self.mac(message), tag)
    }

    /// Begins a message in pieces.
    pub fn stream(&self) -> Stream<'_, Self, N> {
        Stream::new(self)
    }

    /// Begins a message in pieces, whose state borrows nothing.
    pub fn begin(&self) -> State<N> {
        State::new()
    }
}

impl<M: Cbc<N>, const N: usize> Key<N> for Cmac<M, N> {
    const NAME: &'static str = M::CMAC;

    fn absorb(&self, chain: &mut [u8; N], blocks: &[u8], last: &[u8; N]) {
        if !blocks.is_empty() {
            self.mode.absorb(chain, blocks);
        }
        self.mode.absorb(chain, last);
    }

    /// SP 800-38B §6.2 step 4.
    fn last_block(&self, bytes: &[u8]) -> [u8; N] {
        let mut block = [0; N];
        block[..bytes.len()].copy_from_slice(bytes);
        let subkey = match block.get_mut(bytes.len()) {
            Some(end) => {
                *end = 0x80;
                &self.k2
            }
            None => &self.k1,
        };
        for (byte, key) in block.iter_mut().zip(subkey) {
            *byte ^= key;
        }
        block
    }
}

impl<M: Cbc<N>, const N: usize> Drop for Cmac<M, N> {
    fn drop(&mut self) {
        self.k1.zeroize();
        self.k2.zeroize();
    }
}

impl<M: Cbc<N>, const N: usize> fmt::Debug for Cmac<M, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cmac").field("algorithm", &M::CMAC).finish_non_exhaustive()
    }
}

/// Multiplication by x in the field of SP 800-38B §5.3, big-endian.
pub(crate) fn double<const N: usize>(block: [u8; N]) -> [u8; N] {
    const { assert!(N == 8 || N == 16) };
    let polynomial = if N == 8 { 0x1b } else { 0x87 };
    let mut doubled = [0; N];
    let mut carry = (block[0] >> 7) * polynomial;
    for i in (0..N).rev() {
        // The polynomial comes into the last byte, and into each other byte the top bit of the byte
        // behind it.
        doubled[i] = block[i] << 1 ^ carry;
        carry = block[i] >> 7;
    }
    doubled
}

/// Compares a tag, or as much of it as is given, in constant time.
pub(crate) fn compare(algorithm: &'static str, computed: &[u8], tag: &[u8]) -> Result<(), Error> {
    if !(MIN_TAG..=computed.len()).contains(&tag.len()) {
        let takes = if computed.len() == 8 { "4 to 8 bytes" } else { "4 to 16 bytes" };
        return Err(Error::TagLength { algorithm, given: tag.len(), takes });
    }
    if begins(computed, tag).into() { Ok(()) } else { Err(Error::Authentication) }
}
