//! The path MTUs that routers have told, as far as they are believed.
//!
//! Messages of ICMP are not authentic, and whoever forges them could have packets cut as small as they like (RFC 4301 §6.1.1). So a message counts only
//! if it quotes a packet that an association has lately sent to that peer, no path is taken to be narrower than a floor, and what was told
//! is forgotten after a while.
//!
//! Ref. RFC 4301 §8.2 (path MTUs), RFC 1191 §6.3 and RFC 8201 §4 (their age), RFC 4459.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

/// The time after which a path is tried again with longer packets (RFC 1191 §6.3).
const LIFETIME: Duration = Duration::from_mins(10);

/// A packet that a router quotes is one of so many that were sent last.
const RECENT: u32 = 1 << 20;

/// The path MTUs of peers that are less than the outer MTU.
pub(super) struct PathMtus {
    outer: usize,
    floor: usize,
    told: RwLock<HashMap<IpAddr, Told>>,
    /// The number of peers in `told`, which is none nearly always.
    count: AtomicUsize,
}

/// The MTU of a path, and when that was told.
#[derive(Clone, Copy)]
struct Told {
    mtu: usize,
    at: Instant,
}

impl PathMtus {
    /// Makes an empty table. No path is wider than `outer` bytes, and none is taken to be narrower than `floor`.
    pub(super) fn new(outer: usize, floor: usize) -> Self {
        PathMtus {
            outer,
            floor: floor.min(outer),
            told: RwLock::new(HashMap::new()),
            count: AtomicUsize::new(0),
        }
    }

    /// Returns the longest outer packet that this machine sends.
    pub(super) fn outer(&self) -> usize {
        self.outer
    }

    /// Returns the longest outer packet that goes to a peer as a whole. `peer` is asked only if any path is narrower than the others.
    pub(super) fn longest(&self, peer: impl FnOnce() -> IpAddr) -> usize {
        if self.count.load(Ordering::Relaxed) == 0 {
            return self.outer;
        }
        self.told(peer()).unwrap_or(self.outer)
    }

    /// Returns the MTU that was told of a peer's path.
    pub(super) fn told(&self, peer: IpAddr) -> Option<usize> {
        let told = self.told.read().unwrap_or_else(PoisonError::into_inner);
        told.get(&peer).map(|told| told.mtu)
    }

    /// Notes a router's message about a packet of this machine. Returns false if it says nothing new: only a smaller MTU is news.
    pub(super) fn hear(&self, peer: IpAddr, mtu: usize) -> bool {
        let mtu = mtu.max(self.floor);
        if mtu >= self.longest(|| peer) {
            return false;
        }
        let mut told = self.told.write().unwrap_or_else(PoisonError::into_inner);
        told.insert(peer, Told { mtu, at: Instant::now() });
        self.count.store(told.len(), Ordering::Relaxed);
        true
    }

    /// Forgets what was told too long ago at this time.
    pub(super) fn forget_old(&self, now: Instant) {
        if self.count.load(Ordering::Relaxed) > 0 {
            let mut told = self.told.write().unwrap_or_else(PoisonError::into_inner);
            told.retain(|_, told| now.saturating_duration_since(told.at) < LIFETIME);
            self.count.store(told.len(), Ordering::Relaxed);
        }
    }
}

/// Reads the SPI and the low half of the number from the part of a packet that a router quotes; none if that is shorter.
pub(super) fn quoted(bytes: &[u8]) -> Option<(u32, u32)> {
    let [s0, s1, s2, s3, n0, n1, n2, n3] = *bytes.first_chunk()?;
    Some((u32::from_be_bytes([s0, s1, s2, s3]), u32::from_be_bytes([n0, n1, n2, n3])))
}

/// Returns true if a packet with these low bits of its number was sent lately by an association whose last number is `last`.
pub(super) fn is_recent(last: u64, number: u32) -> bool {
    let age = (last as u32).wrapping_sub(number);
    age < RECENT && u64::from(age) < last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_less_is_news_down_to_the_floor_and_it_is_forgotten() {
        let [one, other] = [1, 2].map(|last| IpAddr::from([192, 0, 2, last]));
        let mtus = PathMtus::new(1500, 1280);
        assert!(!mtus.hear(one, 1500) && !mtus.hear(one, 9000));
        assert_eq!((mtus.longest(|| unreachable!("no path is narrow")), mtus.told(one)), (1500, None));
        assert!(mtus.hear(one, 1400) && !mtus.hear(one, 1400) && !mtus.hear(one, 1450));
        assert_eq!((mtus.longest(|| one), mtus.longest(|| other)), (1400, 1500));
        assert!(mtus.hear(one, 0) && !mtus.hear(one, 68));
        assert_eq!(mtus.longest(|| one), 1280);
        let begun = Instant::now();
        mtus.forget_old(begun + LIFETIME / 2);
        assert_eq!(mtus.told(one), Some(1280));
        mtus.forget_old(begun + LIFETIME);
        assert_eq!((mtus.told(one), mtus.longest(|| unreachable!("no path is narrow"))), (None, 1500));
        // A floor above the MTU of this machine leaves no room for any message.
        assert!(!PathMtus::new(1000, 1280).hear(one, 576));
    }

    #[test]
    fn a_quoted_packet_was_sent_lately() {
        assert_eq!(quoted(&[1, 2, 3, 4, 0, 0, 0, 9, 7]), Some((0x0102_0304, 9)));
        assert_eq!(quoted(&[1, 2, 3, 4, 0, 0, 0]), None);
        assert!(is_recent(9, 9) && is_recent(9, 1));
        assert!(!is_recent(9, 0) && !is_recent(9, 10) && !is_recent(0, 0));
        assert!(!is_recent(1 << 30, 1) && is_recent(1 << 30, 1 << 30));
        // The upper half of a number is not on the wire.
        assert!(is_recent((7 << 32) + 5, u32::MAX) && !is_recent((7 << 32) + 5, 6));
    }
}
