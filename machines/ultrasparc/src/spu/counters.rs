//! Counter mode: the counter blocks that are enciphered.

/// The counter blocks for that many bytes.
pub(crate) fn counters(iv: &[u8], bytes: usize) -> Vec<u8> {
    let (high, low) = iv.split_last_chunk::<4>().expect("a block has 8 bytes at least");
    let mut counter = u32::from_be_bytes(*low);
    let mut blocks = Vec::with_capacity(bytes);
    for _ in 0..bytes / iv.len() {
        blocks.extend_from_slice(high);
        blocks.extend_from_slice(&counter.to_be_bytes());
        counter = counter.wrapping_add(1);
    }
    blocks
}
