//! Descriptions of security associations and policies, as files and programs give them.

use std::fmt;
use std::net::IpAddr;

use zeroize::Zeroizing;

use crate::ip::Flow;
use crate::suite::Suite;

/// The direction of an association, seen from this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Packets that arrive are opened.
    In,
    /// Packets that leave are sealed.
    Out,
}

/// Addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix {
    /// The first address; bits behind the prefix are not looked at.
    pub address: IpAddr,
    /// The number of bits: 32 at most for IPv4, 128 for IPv6.
    pub bits: u8,
}

impl Prefix {
    /// Returns true if the address is one of these.
    pub fn contains(self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(address)) => {
                let shift = 32 - u32::from(self.bits);
                (u32::from(own) ^ u32::from(address)).checked_shr(shift).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(address)) => {
                let shift = 128 - u32::from(self.bits);
                (u128::from(own) ^ u128::from(address)).checked_shr(shift).unwrap_or(0) == 0
            }
            _ => false,
        }
    }

    /// Returns the same addresses with zeros behind the prefix, so that prefixes of the same addresses are equal.
    pub fn network(self) -> Self {
        let address = match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::from((u32::from(address) & mask).to_be_bytes())
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::from((u128::from(address) & mask).to_be_bytes())
            }
        };
        Prefix { address, ..self }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

/// Inner packets by their addresses and protocol, as seen from the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selector {
    /// The sources.
    pub source: Prefix,
    /// The destinations.
    pub destination: Prefix,
    /// The protocol; none for all of them.
    pub protocol: Option<u8>,
}

impl Selector {
    /// Returns true if the packet is one of these.
    pub fn contains(&self, flow: &Flow) -> bool {
        self.source.contains(flow.source)
            && self.destination.contains(flow.destination)
            && self.protocol.is_none_or(|protocol| protocol == flow.protocol)
    }
}

/// The ports of ESP in UDP (RFC 3948).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encapsulation {
    /// The port of whoever sends.
    pub source_port: u16,
    /// The port of whoever receives.
    pub destination_port: u16,
}

/// A lifetime. A limit that is none is infinite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// Bytes of inner packets.
    pub bytes: Option<u64>,
    /// Packets.
    pub packets: Option<u64>,
    /// Seconds since the association was added.
    pub seconds: Option<u64>,
}

/// Lifetimes: behind the soft one the association should be replaced, behind the hard one it carries nothing any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The soft limit, which is only reported.
    pub soft: Limit,
    /// The hard limit.
    pub hard: Limit,
}

/// Keys as they are agreed on. They are zeroised when dropped, and not shown.
#[derive(Clone)]
pub struct KeyMaterial {
    /// The cipher's key, without its salt.
    pub cipher: Zeroizing<Vec<u8>>,
    /// The salt; not used by CBC.
    pub salt: Zeroizing<[u8; 4]>,
    /// The HMAC's key; empty for an AEAD.
    pub auth: Zeroizing<Vec<u8>>,
}

/// Shows nothing of the keys.
impl fmt::Debug for KeyMaterial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyMaterial")
    }
}

/// A security association, as it is described to whoever makes it: [`parse`](crate::parse) reads the syntax of `ip xfrm state`.
#[derive(Clone, Debug)]
pub struct Description {
    /// The line on which the description begins, from 1.
    pub line: usize,
    /// The outer source.
    pub source: IpAddr,
    /// The outer destination.
    pub destination: IpAddr,
    /// The security parameters index; 0 to 255 are reserved.
    pub spi: u32,
    /// The number by which policies name it.
    pub reqid: u32,
    /// The direction, where it is said.
    pub direction: Option<Direction>,
    /// The algorithms.
    pub suite: Suite,
    /// The keys.
    pub keys: KeyMaterial,
    /// The packets that the replay window covers.
    pub window: u32,
    /// True for sequence numbers of 64 bits.
    pub extended: bool,
    /// The ports, if packets go in UDP.
    pub encapsulation: Option<Encapsulation>,
    /// The inner packets, if that is said.
    pub selector: Option<Selector>,
    /// The lifetimes.
    pub limits: Limits,
    /// The last sequence number that was sent, wherever that was.
    pub last_sent: u64,
    /// The last sequence number that was accepted, wherever that was.
    pub last_accepted: u64,
    /// True if the outer DSCP is the inner one.
    pub encap_dscp: bool,
    /// True if the inner DSCP becomes the outer one.
    pub decap_dscp: bool,
    /// True if congestion is told between the headers.
    pub ecn: bool,
}

impl Description {
    /// Returns true if both describe one association, but for its keys and for the numbers that it has come to.
    pub fn is_alike(&self, other: &Description) -> bool {
        let facts = |of: &Description| {
            let ends = (of.source, of.destination, of.spi, of.reqid, of.direction, of.encapsulation);
            let ways = (of.encap_dscp, of.decap_dscp, of.ecn, of.extended);
            (ends, ways, of.suite, of.window, of.selector, of.limits)
        };
        facts(self) == facts(other)
    }
}

/// The packets that a policy concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyDirection {
    /// Packets that leave.
    Out,
    /// Packets that arrive, for this machine or through it.
    In,
}

/// The associations that a policy's packets may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template {
    /// The outer source; none for any.
    pub source: Option<IpAddr>,
    /// The outer destination; none for any.
    pub destination: Option<IpAddr>,
    /// The SPI; 0 for any.
    pub spi: u32,
    /// The number; 0 for any.
    pub reqid: u32,
}

impl Template {
    /// Returns true if an association is one of the template's.
    pub(crate) fn fits(&self, facts: &Description) -> bool {
        self.source.is_none_or(|address| address == facts.source)
            && self.destination.is_none_or(|address| address == facts.destination)
            && (self.spi == 0 || self.spi == facts.spi)
            && (self.reqid == 0 || self.reqid == facts.reqid)
    }
}

/// A policy: which inner packets go by which associations. [`parse`](crate::parse) reads the syntax of `ip xfrm policy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The direction.
    pub direction: PolicyDirection,
    /// The packets.
    pub selector: Selector,
    /// The order among policies: the lowest number is looked at first.
    pub priority: u32,
    /// The associations; none if the packets are to be dropped.
    pub template: Option<Template>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_contain_what_begins_alike() {
        let prefix = |text: &str, bits| Prefix { address: text.parse().unwrap(), bits };
        let has = |prefix: Prefix, text: &str| prefix.contains(text.parse().unwrap());
        assert!(has(prefix("10.1.0.0", 16), "10.1.255.1") && !has(prefix("10.1.0.0", 16), "10.2.0.1"));
        assert!(has(prefix("0.0.0.0", 0), "255.1.2.3") && !has(prefix("0.0.0.0", 0), "::1"));
        assert!(has(prefix("10.1.0.9", 32), "10.1.0.9") && !has(prefix("10.1.0.9", 32), "10.1.0.8"));
        assert!(has(prefix("::", 0), "fe80::1") && has(prefix("fd00::", 8), "fdff::1"));
        assert!(has(prefix("fd00::1", 128), "fd00::1") && !has(prefix("fd00::1", 128), "fd00::2"));
        assert_eq!(prefix("10.1.200.9", 16).network(), prefix("10.1.0.0", 16));
        assert_eq!(prefix("10.1.200.9", 32).network(), prefix("10.1.200.9", 32));
        assert_eq!(prefix("10.1.200.9", 0).network(), prefix("0.0.0.0", 0));
        assert_eq!(prefix("fd00::1", 64).network(), prefix("fd00::", 64));
        assert_eq!(prefix("fd00::1", 0).network(), prefix("::", 0));
    }
}
