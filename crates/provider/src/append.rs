//! Buffers of secret bytes that grow.

use zeroize::Zeroizing;

/// Appends to secret bytes. A vector that grows by itself leaves its bytes behind where they were: here they move to a larger
/// one, and the old one is zeroised.
pub fn append(held: &mut Zeroizing<Vec<u8>>, more: &[u8]) {
    let needed = held.len() + more.len();
    if needed > held.capacity() {
        let mut larger = Zeroizing::new(Vec::with_capacity(needed.max(2 * held.capacity())));
        larger.extend_from_slice(held);
        *held = larger;
    }
    held.extend_from_slice(more);
}
