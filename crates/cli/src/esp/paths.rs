//! The addresses and ports from which peers send now, where a NAT in between has given them others.
//!
//! Ref. RFC 7296 §2.23 (the update of addresses by whoever is not behind a NAT), RFC 3948 §2.1.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{PoisonError, RwLock};

use millstream_esp::{Description, Direction};

use super::sockets::Local;

/// The way between this machine and a peer, as associations in UDP describe it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Path {
    pub(super) local: Local,
    pub(super) peer: SocketAddr,
    /// The number that the associations of both directions have in common.
    reqid: u32,
}

impl Path {
    /// Returns the way of an association's packets: where they leave from or come to, and the other end.
    pub(super) fn of(facts: &Description, direction: Direction) -> Self {
        let ports = facts.encapsulation;
        let (source, destination) =
            (ports.map(|ports| ports.source_port), ports.map(|ports| ports.destination_port));
        let ((address, port), (peer, peer_port)) = match direction {
            Direction::Out => ((facts.source, source), (facts.destination, destination)),
            Direction::In => ((facts.destination, destination), (facts.source, source)),
        };
        let peer = SocketAddr::new(peer, peer_port.unwrap_or(0));
        Path { local: Local { address, port }, peer, reqid: facts.reqid }
    }
}

/// The peers whose packets come from somewhere else than their associations say.
#[derive(Default)]
pub(super) struct Moved(RwLock<HashMap<Path, SocketAddr>>);

impl Moved {
    /// Returns the address to which a peer's packets go.
    pub(super) fn peer(&self, path: &Path) -> SocketAddr {
        *self.0.read().unwrap_or_else(PoisonError::into_inner).get(path).unwrap_or(&path.peer)
    }

    /// Notes the source of an authentic packet, of which `is_newest` says that none with a higher number has come. Returns true if the peer
    /// has moved. An older packet may have been on its way for long, and says nothing.
    pub(super) fn heard(&self, path: &Path, from: SocketAddr, is_newest: impl FnOnce() -> bool) -> bool {
        // A source may have a scope, and the description's address has none.
        let is_same = |known: SocketAddr| (known.ip(), known.port()) == (from.ip(), from.port());
        if is_same(self.peer(path)) || !is_newest() {
            return false;
        }
        let mut moved = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if is_same(path.peer) {
            moved.remove(path);
        } else {
            moved.insert(*path, from);
        }
        true
    }

    /// Forgets where a peer is, after the last association that hears from it is gone.
    pub(super) fn forget(&self, path: &Path) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(path);
    }
}

#[cfg(test)]
mod tests {
    use millstream_esp::parse;

    use super::*;

    fn path(text: &str, direction: Direction) -> Path {
        let text = format!(
            "{text} mode tunnel aead rfc4106(gcm(aes)) 0x000102030405060708090a0b0c0d0e0f10111213 128 \
             encap type espinudp sport 4500 dport 4501 addr 0.0.0.0"
        );
        Path::of(&parse(&text).unwrap().states[0], direction)
    }

    #[test]
    fn a_peer_is_where_its_newest_packet_came_from() {
        let inbound = path("src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x101 reqid 7", Direction::In);
        let told = SocketAddr::from(([192, 0, 2, 1], 4500));
        let other = SocketAddr::from(([198, 51, 100, 1], 1024));
        assert_eq!((inbound.peer, inbound.local.port), (told, Some(4501)));
        let moved = Moved::default();
        assert!(!moved.heard(&inbound, told, || unreachable!("it is where it was said to be")));
        assert!(!moved.heard(&inbound, other, || false));
        assert_eq!(moved.peer(&inbound), told);
        assert!(moved.heard(&inbound, other, || true));
        assert!(!moved.heard(&inbound, other, || true), "it has not moved again");
        assert_eq!(moved.peer(&inbound), other);
        assert!(moved.heard(&inbound, told, || true), "it is back");
        assert!(moved.0.read().unwrap().is_empty());
        moved.heard(&inbound, other, || true);
        moved.forget(&inbound);
        assert_eq!(moved.peer(&inbound), told);
    }

    #[test]
    fn both_directions_of_a_tunnel_have_one_path() {
        let inbound = path("src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x101 reqid 7", Direction::In);
        let back = "src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x102 reqid";
        // The ports of both are the other way around, too.
        let mut outbound = path(&format!("{back} 7"), Direction::Out);
        (outbound.local.port, outbound.peer) = (Some(4501), SocketAddr::from(([192, 0, 2, 1], 4500)));
        assert_eq!(inbound, outbound);
        assert_ne!(inbound.reqid, path(&format!("{back} 8"), Direction::Out).reqid);
    }
}
