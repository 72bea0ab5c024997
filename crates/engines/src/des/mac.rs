//! The DES MAC: CBC without its ciphertext, the left half of the last block.
//!
//! Ref. FIPS 113; PKCS #11 v3.1 §6.19 (CKM_DES_MAC: zero vector, zero padding, half a block).

use millstream_cpu::Features;
use zeroize::Zeroize;

use super::MAC;
use super::ops::{BLOCK, Keyed, Ops};
use crate::Error;
use crate::kernel::{Bound, Kernel};

/// The MAC of one message, in pieces of any length. A message that isn't whole blocks is padded with zeros. The empty
/// message has no block, and its MAC is zero.
///
/// The MAC is weak. Forging is easy if messages of different lengths share a key, and 32 bits are few.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::des;
///
/// let mut mac = des::Mac::new(Features::hardware(), &[0x13; 8])?;
/// mac.update(b"in pieces ");
/// mac.update(b"of any length");
/// assert_eq!(mac.finish(), des::mac(Features::hardware(), &[0x13; 8], b"in pieces of any length")?);
/// # Ok::<(), millstream_engines::Error>(())
/// ```
pub struct Mac {
    keyed: Keyed,
    state: MacState,
}

/// The MAC of one message in pieces, without its key, so that one key serves many messages. Each call takes the key that
/// the message was begun with.
pub struct MacState {
    chain: [u8; BLOCK],
    /// The number of bytes of the current block that are already added to `chain`.
    filled: usize,
}

impl Mac {
    /// Expands the key for the best kernel that `features` allow. Two or three keys give
    /// CKM_DES3_MAC.
    ///
    /// # Errors
    /// [`Error::KeyLength`] unless the key has 8, 16 or 24 bytes.
    pub fn new(features: Features, key: &[u8]) -> Result<Self, Error> {
        Self::with_kernel(MAC.best(features), key)
    }

    /// The same for a kernel of choice.
    ///
    /// # Errors
    /// As for [`Mac::new`].
    pub fn with_kernel(kernel: Bound<Ops>, key: &[u8]) -> Result<Self, Error> {
        let keyed = Keyed::new(kernel, ["des-mac", "3des-mac"], key)?;
        Ok(Mac { keyed, state: MacState::new() })
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.keyed.kernel.kernel()
    }

    pub(super) fn keyed(&self) -> &Keyed {
        &self.keyed
    }

    /// Begins an empty message of its own under this key.
    pub fn begin(&self) -> MacState {
        MacState::new()
    }

    /// Adds the next piece of the message.
    pub fn update(&mut self, data: &[u8]) {
        self.state.add_all(&self.keyed, data);
    }

    /// The MAC: the left 32 bits of the last block.
    pub fn finish(self) -> [u8; 4] {
        let [a, b, c, d, ..] = self.finish_block();
        [a, b, c, d]
    }

    /// Returns the whole last block, of which FIPS 113 allows any number of bits from the left.
    pub fn finish_block(mut self) -> [u8; BLOCK] {
        self.state.block(&self.keyed)
    }
}

impl MacState {
    fn new() -> Self {
        MacState { chain: [0; BLOCK], filled: 0 }
    }

    /// Adds the next piece of the message.
    pub fn update(&mut self, key: &Mac, data: &[u8]) {
        self.add_all(&key.keyed, data);
    }

    /// Returns the MAC of the pieces so far: the whole last block, of which FIPS 113 allows any number of bits from the
    /// left.
    pub fn tag(&self, key: &Mac) -> [u8; BLOCK] {
        MacState { chain: self.chain, filled: self.filled }.block(&key.keyed)
    }

    fn block(&mut self, keyed: &Keyed) -> [u8; BLOCK] {
        if self.filled > 0 {
            self.pad(keyed);
        }
        self.chain
    }

    fn add_all(&mut self, keyed: &Keyed, mut data: &[u8]) {
        if self.filled > 0 {
            let (head, rest) = data.split_at(data.len().min(BLOCK - self.filled));
            self.add(keyed, head);
            data = rest;
        }
        let (blocks, tail) = data.as_chunks();
        keyed.mac(&mut self.chain, blocks);
        self.add(keyed, tail);
    }

    /// Adds bytes to a block that is not full yet, and ciphers it when it is.
    fn add(&mut self, keyed: &Keyed, bytes: &[u8]) {
        for (c, b) in self.chain[self.filled..].iter_mut().zip(bytes) {
            *c ^= b;
        }
        self.filled += bytes.len();
        if self.filled == BLOCK {
            self.pad(keyed);
        }
    }

    /// Ciphers the current block. Missing bytes count as zeros.
    fn pad(&mut self, keyed: &Keyed) {
        keyed.mac(&mut self.chain, &[[0; BLOCK]]);
        self.filled = 0;
    }
}

impl Drop for MacState {
    fn drop(&mut self) {
        self.chain.zeroize();
    }
}

/// The DES MAC of a whole message.
///
/// # Errors
/// [`Error::KeyLength`] unless the key has 8, 16 or 24 bytes.
pub fn mac(features: Features, key: &[u8], data: &[u8]) -> Result<[u8; 4], Error> {
    let mut mac = Mac::new(features, key)?;
    mac.update(data);
    Ok(mac.finish())
}
