//! The reasons why packets are dropped, and the counters of them.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! fates {
    ($($(#[$doc:meta])* $fate:ident $name:literal $text:literal,)+) => {
        /// The reason why a packet was dropped.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Fate {
            $($(#[$doc])* $fate,)+
        }

        impl Fate {
            /// All reasons.
            pub const ALL: &[Fate] = &[$(Fate::$fate,)+];

            /// Returns the name under which it is counted, as in JSON.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Fate::$fate => $name,)+
                }
            }

            const fn text(self) -> &'static str {
                match self {
                    $(Fate::$fate => $text,)+
                }
            }
        }
    };
}

fates! {
    /// No security association is for the packet: no selector contains it, or nobody has its SPI.
    NoSa "no_sa" "no security association is for this packet",
    /// The bytes are no packet of ESP, or none of IP.
    Malformed "malformed" "no packet of ESP or IP",
    /// A packet with this sequence number was accepted before.
    Replayed "replayed" "a packet with this number was accepted before",
    /// The sequence number is left of the window.
    Old "old" "the packet's number is left of the window",
    /// The tag is not right: another key, or a packet that was changed.
    Forged "forged" "authentication failed",
    /// The decrypted bytes have a padding, a next header or an inner packet that is none.
    Inner "inner" "the authentic packet has no inner packet in it",
    /// The inner packet is not one that the association's selectors admit (RFC 4301 §5.2).
    Policy "policy" "the inner packet is none that the association admits",
    /// The outer header says that congestion was experienced, and the inner one that its sender can't be told (RFC 6040 §4.2).
    Congested "congested" "congestion, of which the inner packet's sender can't be told",
    /// A hard limit of bytes, packets or time was reached.
    Expired "expired" "the association's lifetime is over",
    /// No sequence number is left, or none can be reserved.
    Numbers "numbers" "no sequence number is left, or none could be reserved",
    /// The packet is longer than the association's path takes.
    TooBig "too_big" "the packet is too big for the path",
    /// The key is not there: the service that held it has ended, and has not got it again yet.
    NoKey "no_key" "the service that held the key has ended",
    /// The service ended, or refused, while it had the packet.
    Service "service" "the service ended while it had the packet",
    /// An engine refused the packet, which is a fault of this program.
    Engine "engine" "an engine refused the packet",
    /// A dummy packet (RFC 4303 §2.6), which is discarded as its sender means it.
    Dummy "dummy" "a dummy packet",
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl std::error::Error for Fate {}

/// Counters of packets that went through, and of those that were dropped, by reason.
#[derive(Debug, Default)]
pub struct Counters {
    packets: AtomicU64,
    bytes: AtomicU64,
    dropped: [AtomicU64; Fate::ALL.len()],
}

impl Counters {
    /// Counts a packet that went through, with the bytes of its inner packet. Returns all packets and bytes with it.
    pub fn add(&self, bytes: usize) -> (u64, u64) {
        let packets = self.packets.fetch_add(1, Ordering::Relaxed) + 1;
        (packets, self.bytes.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64)
    }

    /// Counts a packet that was dropped.
    pub fn drop(&self, fate: Fate) {
        self.dropped[fate as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the packets that went through.
    pub fn packets(&self) -> u64 {
        self.packets.load(Ordering::Relaxed)
    }

    /// Returns the bytes of their inner packets.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the packets that were dropped for a reason.
    pub fn dropped(&self, fate: Fate) -> u64 {
        self.dropped[fate as usize].load(Ordering::Relaxed)
    }

    /// Returns the reasons for which packets were dropped, each with its count.
    pub fn all_dropped(&self) -> impl Iterator<Item = (Fate, u64)> + '_ {
        Fate::ALL.iter().map(|fate| (*fate, self.dropped(*fate))).filter(|(_, count)| *count > 0)
    }
}
