//! KASUMI as Rainbow Falls had it: a block cipher in the usual modes, and f8 and f9.
//!
//! Ref. TS 35.201, TS 35.202. It is published that Rainbow Falls ran KASUMI, but not the form of its words. Ours: the
//! vector of f8 is COUNT (4 bytes), BEARER (5 bits), DIRECTION (1 bit) and zeros, the block it enciphers first; the
//! initial state of f9 is COUNT, FRESH (4 bytes each) and a byte whose lowest bit is DIRECTION; messages are whole
//! bytes.

use millstream_engines::kasumi::{F8, F9};
use millstream_engines::modes::Direction;
use millstream_engines::{Error, InOut};

use super::codes::Chaining;
use super::counters::counters;
use super::engine;

const BLOCK: usize = 8;

/// Applies the block cipher in a mode of operation.
pub(crate) fn apply(
    chaining: Chaining,
    key: &[u8],
    iv: &mut [u8],
    direction: Direction,
    data: &mut [u8],
) -> Result<(), Error> {
    let cipher = F8::new(engine(), key)?;
    let pads = if chaining == Chaining::Ctr { counters(iv, data.len()) } else { Vec::new() };
    let mut pads = pads.as_chunks::<BLOCK>().0.iter();
    let mut chain = u64::from_be_bytes(iv.try_into().unwrap_or_default());
    for bytes in data.as_chunks_mut::<BLOCK>().0 {
        let block = u64::from_be_bytes(*bytes);
        let out = match (chaining, direction) {
            (Chaining::Ecb, Direction::Encrypt) => cipher.block(block),
            (Chaining::Ecb, Direction::Decrypt) => cipher.inverse_block(block),
            (Chaining::Cbc, Direction::Encrypt) => cipher.block(block ^ chain),
            (Chaining::Cbc, Direction::Decrypt) => cipher.inverse_block(block) ^ chain,
            (Chaining::Cfb, _) => block ^ cipher.block(chain),
            (Chaining::Ctr, _) => {
                let counter = pads.next().map_or(0, |pad| u64::from_be_bytes(*pad));
                block ^ cipher.block(counter)
            }
        };
        chain = if direction == Direction::Encrypt { out } else { block };
        *bytes = out.to_be_bytes();
    }
    Ok(())
}

/// Applies f8 to whole bytes.
pub(crate) fn f8(key: &[u8], iv: &[u8], data: &mut [u8]) -> Result<(), Error> {
    let first = u64::from_be_bytes(*iv.first_chunk().expect("the vector of f8 has 8 bytes"));
    let (count, bearer, way) = ((first >> 32) as u32, (first >> 27) as u8 & 31, (first >> 26) as u8 & 1);
    let bits = 8 * data.len();
    F8::new(engine(), key)?.apply(count, bearer, way, InOut::in_place(data), bits)
}

/// The MAC f9 of whole bytes.
pub(crate) fn f9(key: &[u8], state: &[u8], data: &[u8]) -> [u8; 4] {
    let word = |at: usize| u32::from_be_bytes(*state[at..].first_chunk().expect("f9 begins with 9 bytes"));
    let f9 = F9::new(engine(), key).expect("a key of 16 bytes, which was checked");
    let mac = f9.mac(word(0), word(4), state[8] & 1, data, 8 * data.len());
    mac.expect("whole bytes, and a direction of one bit")
}
