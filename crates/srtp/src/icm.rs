//! AES in counter mode as SRTP counts: the state of one cipher of a session, with keystream ahead of small packets.
//!
//! Ref. RFC 3711 §4.1.1, RFC 6188.

use millstream::aes::{Ctr, KeystreamAhead};
use millstream::{EngineError, Features, InOut};
use zeroize::Zeroizing;

use crate::count::Counter;

/// Bytes of the salt behind a key.
pub const SALT: usize = 14;

/// Bytes of a cipher's block.
const BLOCK: usize = 16;

/// The longest packet whose keystream is made ahead, in bytes. The cipher computes a longer one as fast as it would fetch its keystream.
const SMALL: usize = 512;

/// The sources whose keystream is made ahead at the same time. Sessions that were made from one template share a cipher.
const SOURCES: usize = 4;

/// A counter block from the number of a packet.
type Count = Box<dyn Fn(u64) -> [u8; BLOCK] + Send>;

/// The cipher of a session.
pub struct Icm {
    features: Features,
    key: Ctr,
    /// The key's own bytes, of which keystreams are made.
    bytes: Zeroizing<Vec<u8>>,
    salt: u128,
    /// The counter block with which the packet begins.
    counter: u128,
    /// The bytes of the packet that are done.
    done: usize,
    /// The packet's source and number, if its counter is one of SRTP's.
    packet: Option<Packet>,
    /// The packet before.
    last: Option<Packet>,
    ahead: Vec<(u64, KeystreamAhead<Count>)>,
    /// The place in `ahead` of the source that gives way to the next.
    oldest: usize,
    counted: Counter,
}

/// A packet as its counter names it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Packet {
    /// The upper half of the counter before the salt: zeros and the source.
    source: u64,
    /// The number of 48 bits.
    index: u64,
}

impl Packet {
    fn of(iv: u128) -> Option<Self> {
        let lower = iv as u64;
        (lower & 0xffff == 0).then_some(Packet { source: (iv >> 64) as u64, index: lower >> 16 })
    }

    fn follows(self, last: Packet) -> bool {
        self.source == last.source && self.index == last.index + 1
    }
}

impl Icm {
    /// Expands a key, behind which the salt comes.
    ///
    /// # Errors
    /// [`EngineError::KeyLength`].
    pub fn new(features: Features, key_and_salt: &[u8]) -> Result<Self, EngineError> {
        let (key, salt) = key_and_salt.split_at(key_and_salt.len().saturating_sub(SALT));
        let mut block = [0; BLOCK];
        block[..salt.len()].copy_from_slice(salt);
        let cipher = Ctr::new(features, key)?;
        let counted = Counter::new(&format!("aes-{}-ctr", 8 * key.len()), cipher.kernel().name);
        Ok(Icm {
            features,
            key: cipher,
            bytes: Zeroizing::new(key.to_vec()),
            salt: u128::from_be_bytes(block),
            counter: 0,
            done: 0,
            packet: None,
            last: None,
            ahead: Vec::new(),
            oldest: 0,
            counted,
        })
    }

    /// Begins a packet: the initialisation vector is what SRTP XORs with the salt.
    pub fn begin(&mut self, iv: [u8; BLOCK]) {
        let iv = u128::from_be_bytes(iv);
        self.counter = iv ^ self.salt;
        self.done = 0;
        self.last = self.packet;
        self.packet = Packet::of(iv);
    }

    /// Encrypts or decrypts the next bytes of a packet.
    pub fn apply(&mut self, data: &mut [u8]) {
        self.counted.add(data.len());
        let begins = self.done == 0;
        let done = self.done;
        self.done += data.len();
        if let Some(packet) = self.packet.filter(|_| begins && data.len() <= SMALL)
            && let Some(ahead) = self.ahead_of(packet, data.len())
        {
            ahead.apply(packet.index, InOut::in_place(data));
            return;
        }
        self.direct(done, data);
    }

    /// Returns the keystream of a packet's source, which begins once a source's packets follow each other.
    fn ahead_of(&mut self, packet: Packet, len: usize) -> Option<&mut KeystreamAhead<Count>> {
        let at = match self.ahead.iter().position(|(source, _)| *source == packet.source) {
            Some(at) => at,
            None => {
                self.last.filter(|last| packet.follows(*last))?;
                let (source, salt) = (u128::from(packet.source) << 64, self.salt);
                let count: Count =
                    Box::new(move |index| (salt ^ source ^ u128::from(index.wrapping_shl(16))).to_be_bytes());
                let made = (packet.source, KeystreamAhead::new(self.features, &self.bytes, len, count).ok()?);
                if self.ahead.len() < SOURCES {
                    self.ahead.push(made);
                    self.ahead.len() - 1
                } else {
                    let at = self.oldest;
                    self.oldest = (at + 1) % SOURCES;
                    self.ahead[at] = made;
                    at
                }
            }
        };
        Some(&mut self.ahead[at].1)
    }

    /// Encrypts bytes of which so many come before in their packet.
    fn direct(&self, done: usize, mut data: &mut [u8]) {
        let counter = |blocks: usize| self.counter.wrapping_add(blocks as u128).to_be_bytes();
        let (mut blocks, into) = (done / BLOCK, done % BLOCK);
        if into > 0 {
            let mut keystream = Zeroizing::new([0; BLOCK]);
            self.key.apply(&counter(blocks), InOut::in_place(&mut *keystream));
            let (first, rest) = data.split_at_mut(data.len().min(BLOCK - into));
            first.iter_mut().zip(&keystream[into..]).for_each(|(byte, key)| *byte ^= key);
            (data, blocks) = (rest, blocks + 1);
        }
        self.key.apply(&counter(blocks), InOut::in_place(data));
    }
}

#[cfg(test)]
mod tests {
    use millstream_testkit::Random;

    use super::*;

    /// Whatever the order and lengths of packets, and however they are cut: the keystream is that of the counter.
    #[test]
    fn packets_in_any_order_are_as_without_keystream_ahead() {
        let mut random = Random::new(5);
        let features = millstream::features().unwrap();
        for key_len in [16, 24, 32] {
            let key: Vec<u8> = random.bytes(key_len + SALT);
            let (mut ours, plain) =
                (Icm::new(features, &key).unwrap(), Ctr::new(features, &key[..key_len]).unwrap());
            let mut index = 0;
            for i in 0..2000_u64 {
                index = match random.below(20) {
                    0 => random.below(1 << 20) as u64,
                    1 => index,
                    _ => index + 1,
                };
                // Bursts of some sources, and now and then one that comes once.
                let source = if random.below(40) == 0 { i as u32 } else { 7 + (i / 50 % 6) as u32 };
                let mut iv = [0; 16];
                iv[4..8].copy_from_slice(&source.to_be_bytes());
                iv[8..14].copy_from_slice(&index.to_be_bytes()[2..]);
                let len = if random.below(10) == 0 { random.below(1500) } else { 160 };
                let mut data = random.bytes(len);
                let mut expected = data.clone();
                let mut counter = iv;
                counter.iter_mut().zip(&key[key_len..]).for_each(|(byte, salt)| *byte ^= salt);
                plain.apply(&counter, InOut::in_place(&mut expected));
                ours.begin(iv);
                let cut = if random.below(3) == 0 { random.below(len + 1) } else { len };
                let (first, rest) = data.split_at_mut(cut);
                ours.apply(first);
                ours.apply(rest);
                assert_eq!(
                    data, expected,
                    "packet {i} of {source} with number {index}, {cut} of {len} bytes"
                );
            }
            assert!(!ours.ahead.is_empty() && ours.ahead.len() <= SOURCES);
        }
    }
}
