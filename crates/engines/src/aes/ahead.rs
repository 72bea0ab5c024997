//! AES-CTR whose keystream is made before the data is there.
//!
//! A protocol such as SRTP counts its packets and builds each packet's first counter block from that number.
//! The keystream of its next packets can be made many at a time, in lanes, and a packet then costs one XOR.
//!
//! Ref. RFC 3711 §4.1.1; NIST SP 800-38A §6.5.

use millstream_cpu::Features;
use zeroize::optimization_barrier;

use super::vector::{load_short, store_short};
use super::{Block, Ctr, CtrJob, CtrLanes};
use crate::{Error, InOut};

/// Bytes of keystream held by default.
const BUFFER: usize = 8192;

/// Packets whose keystream is made in one call of the lanes.
const AT_ONCE: usize = 16;

/// AES-CTR for numbered packets, with keystream made ahead of them.
///
/// The result is always that of [`Ctr::apply`] with the packet's counter block; only the time at which
/// the rounds are done differs. Keystream is used once and overwritten as it is used.
///
/// A packet that follows within the buffer is XORed. The first packet past the buffer causes a new buffer to be
/// made, from that packet on. A packet that comes late, twice, or from far ahead goes through the cipher
/// directly, and so does the end of a packet that is longer than usual. A packet with a wild number therefore
/// costs no more than its own keystream.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::InOut;
/// use millstream_engines::aes::{KeystreamAhead, srtp_counter};
///
/// let (key, salt, ssrc) = ([7; 16], [1; 14], 0xcafe_babe);
/// let counter = move |index| srtp_counter(&salt, ssrc, index);
/// let mut sender = KeystreamAhead::new(Features::hardware(), &key, 160, counter)?;
/// let mut receiver = KeystreamAhead::new(Features::hardware(), &key, 160, counter)?;
/// for index in 0..100 {
///     let mut packet = [0x55; 160];
///     sender.apply(index, InOut::in_place(&mut packet));
///     receiver.apply(index, InOut::in_place(&mut packet));
///     assert_eq!(packet, [0x55; 160]);
/// }
/// # Ok::<(), millstream_engines::Error>(())
/// ```
pub struct KeystreamAhead<F> {
    key: Ctr,
    lanes: CtrLanes,
    counter: F,
    /// A slot for each packet; all zeros where it is used up.
    keystream: Box<[u8]>,
    /// True for each slot that holds keystream.
    ready: Box<[bool]>,
    /// The length of a slot, in bytes.
    slot: usize,
    /// The index of the first slot's packet.
    first: u64,
    /// The number of packets that the buffer was made for: none at first, then one a slot.
    held: u64,
    /// The index that follows the last packet that was out of the buffer's reach.
    expected: u64,
}

impl<F: Fn(u64) -> Block> KeystreamAhead<F> {
    /// Expands the key for packets of usually at most `packet_bytes`, of which packet `i` begins with the
    /// counter block `counter(i)`. The buffer holds 8 KB of keystream, or that of one packet if a packet is
    /// longer.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn new(features: Features, key: &[u8], packet_bytes: usize, counter: F) -> Result<Self, Error> {
        KeystreamAhead::with_buffer(features, key, packet_bytes, BUFFER, counter)
    }

    /// Does the same as [`KeystreamAhead::new`], with another amount of keystream, in bytes.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn with_buffer(
        features: Features,
        key: &[u8],
        packet_bytes: usize,
        buffer_bytes: usize,
        counter: F,
    ) -> Result<Self, Error> {
        let slot = packet_bytes.max(1).next_multiple_of(16);
        let slots = (buffer_bytes / slot).max(1);
        Ok(KeystreamAhead {
            key: Ctr::new(features, key)?,
            lanes: CtrLanes::new(features),
            counter,
            keystream: vec![0; slot * slots].into(),
            ready: vec![false; slots].into(),
            slot,
            first: 0,
            held: 0,
            expected: 0,
        })
    }

    /// Encrypts or decrypts packet `index`, of any length.
    #[inline]
    pub fn apply(&mut self, index: u64, mut data: InOut<'_>) {
        let slots = self.ready.len() as u64;
        let mut ahead = index.wrapping_sub(self.first);
        // The packet comes less than a buffer's length after the buffer, or follows the last packet that was
        // out of reach.
        if ahead.wrapping_sub(self.held) < slots || (ahead >= self.held && index == self.expected) {
            self.refill(index);
            ahead = 0;
        }
        if ahead >= self.held || !self.ready[ahead as usize] {
            return self.direct(index, data);
        }
        self.ready[ahead as usize] = false;
        let slot = &mut self.keystream[ahead as usize * self.slot..][..self.slot];
        xor(data.take(data.len().min(slot.len())), slot);
        if !data.is_empty() {
            let blocks = (self.slot / 16) as u128;
            let counter = u128::from_be_bytes((self.counter)(index)).wrapping_add(blocks);
            self.key.apply(&counter.to_be_bytes(), data);
        }
    }

    /// Returns the number of packets whose keystream is made at a time.
    pub fn packets(&self) -> usize {
        self.ready.len()
    }

    #[cold]
    fn direct(&mut self, index: u64, data: InOut<'_>) {
        self.expected = index.wrapping_add(1);
        self.key.apply(&(self.counter)(index), data);
    }

    /// Makes the keystream of the packets from `first` on: the encryption of zeros.
    #[cold]
    fn refill(&mut self, first: u64) {
        let mut index = first;
        let groups = self.keystream.chunks_mut(self.slot * AT_ONCE);
        for (group, ready) in groups.zip(self.ready.chunks_mut(AT_ONCE)) {
            let mut slots = group.chunks_exact_mut(self.slot).zip(&mut *ready);
            let mut jobs: [_; AT_ONCE] = std::array::from_fn(|_| {
                let slot = slots.next().map_or(Default::default(), |(slot, ready)| {
                    if std::mem::replace(ready, true) {
                        // The slot still holds the keystream of a packet that did not come.
                        slot.fill(0);
                    }
                    slot
                });
                let job =
                    CtrJob { key: &self.key, counter: (self.counter)(index), data: InOut::in_place(slot) };
                index = index.wrapping_add(1);
                job
            });
            self.lanes.apply(&mut jobs.each_mut()[..ready.len()]);
        }
        self.first = first;
        self.held = self.ready.len() as u64;
    }
}

impl<F> Drop for KeystreamAhead<F> {
    fn drop(&mut self) {
        self.keystream.fill(0);
        optimization_barrier(&*self.keystream);
    }
}

/// XORs the keystream onto the data and overwrites it. The keystream is whole blocks and at least as long as
/// the data.
#[inline]
fn xor(mut data: InOut<'_>, keystream: &mut [u8]) {
    let wide = data.len() - data.len() % 64;
    let whole = data.len() - data.len() % 16;
    for block in keystream[..wide].as_chunks_mut::<64>().0 {
        xor_block(data.take(64), block);
    }
    for block in keystream[wide..whole].as_chunks_mut::<16>().0 {
        xor_block(data.take(16), block);
    }
    if let Some(block) = keystream[whole..].first_chunk().filter(|_| !data.is_empty()) {
        let end = load_short(data.input()) ^ u128::from_le_bytes(*block);
        store_short(data.output(), end);
    }
    keystream[whole..].fill(0);
}

#[inline(always)]
fn xor_block<const N: usize>(mut data: InOut<'_>, keystream: &mut [u8; N]) {
    let mut bytes: [u8; N] = data.load(0);
    for i in 0..N {
        bytes[i] ^= keystream[i];
    }
    data.store(0, bytes);
    *keystream = [0; N];
}

/// The first counter block of an SRTP packet: the session salt, the stream's SSRC and the packet's index
/// (48 bits: the roll-over counter and the sequence number). RFC 3711 §4.1.1.
pub fn srtp_counter(salt: &[u8; 14], ssrc: u32, index: u64) -> Block {
    let mut block = [0; 16];
    block[..14].copy_from_slice(salt);
    let number = u128::from_be_bytes(block) ^ u128::from(ssrc) << 64 ^ u128::from(index) << 16;
    number.to_be_bytes()
}
