//! The associations that seal, found by the packets that they are for without looking at all of them.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use crate::description::{Description, Prefix, Template};
use crate::ip::Flow;
use crate::sa::Sa;

/// The associations that seal.
///
/// A packet's destination leads to those whose selector begins with it: one look for each length of prefix that any of them has. Where a
/// policy names the peer, that leads to them.
#[derive(Default)]
pub(crate) struct Outbound {
    /// All associations, by the order in which they were added.
    all: BTreeMap<u64, Arc<Sa>>,
    /// The associations of each peer, the outer destination.
    by_peer: HashMap<IpAddr, Vec<Entry>>,
    /// The associations by the destinations of their inner packets; none for those that are for all packets.
    by_prefix: HashMap<Option<Prefix>, Vec<Entry>>,
    /// The prefixes of each length, of IPv4 and of IPv6.
    lengths: [BTreeMap<u8, usize>; 2],
    /// The number of the next one.
    next: u64,
}

/// An association and its number. In a list of them the newest is the last.
#[derive(Clone)]
struct Entry {
    number: u64,
    sa: Arc<Sa>,
}

impl Outbound {
    /// Adds an association as the newest.
    pub fn add(&mut self, sa: Arc<Sa>) {
        let number = self.next;
        self.next += 1;
        let entry = Entry { number, sa: sa.clone() };
        self.by_peer.entry(sa.facts().destination).or_default().push(entry.clone());
        let key = key(sa.facts());
        let list = self.by_prefix.entry(key).or_default();
        if let Some(prefix) = key.filter(|_| list.is_empty()) {
            *self.lengths[family(prefix.address)].entry(prefix.bits).or_default() += 1;
        }
        list.push(entry);
        self.all.insert(number, sa);
    }

    /// Removes the newest association with this SPI, and this destination where one is named.
    pub fn remove(&mut self, spi: u32, destination: Option<IpAddr>) -> Option<Arc<Sa>> {
        let (number, sa) = match destination {
            Some(peer) => {
                let entry = newest(self.by_peer.get(&peer)?, |sa| sa.facts().spi == spi)?;
                (entry.number, entry.sa.clone())
            }
            None => {
                let (number, sa) = self.all.iter().rev().find(|(_, sa)| sa.facts().spi == spi)?;
                (*number, sa.clone())
            }
        };
        self.all.remove(&number);
        take(&mut self.by_peer, &sa.facts().destination, number);
        let key = key(sa.facts());
        let was_last = take(&mut self.by_prefix, &key, number);
        if let Some(prefix) = key.filter(|_| was_last) {
            let lengths = &mut self.lengths[family(prefix.address)];
            if let Some(count) = lengths.get_mut(&prefix.bits) {
                *count -= 1;
                if *count == 0 {
                    lengths.remove(&prefix.bits);
                }
            }
        }
        Some(sa)
    }

    /// Returns the association with this SPI and this destination.
    pub fn get(&self, spi: u32, destination: IpAddr) -> Option<&Arc<Sa>> {
        let of_peer = self.by_peer.get(&destination)?;
        newest(of_peer, |sa| sa.facts().spi == spi).map(|entry| &entry.sa)
    }

    /// Finds the newest association that a packet can take, among those of the policy's template if there is one.
    pub fn find(&self, flow: &Flow, template: Option<&Template>) -> Option<&Arc<Sa>> {
        let fits = |sa: &Sa| {
            template.is_none_or(|template| template.fits(sa.facts())) && sa.admits(flow) && !sa.is_over()
        };
        let found = match template.and_then(|template| template.destination) {
            Some(peer) => newest(self.by_peer.get(&peer)?, fits),
            None => {
                let lengths = self.lengths[family(flow.destination)].keys();
                let prefixes =
                    lengths.map(|bits| Some(Prefix { address: flow.destination, bits: *bits }.network()));
                let lists = prefixes.chain([None]).filter_map(|key| self.by_prefix.get(&key));
                lists.filter_map(|list| newest(list, fits)).max_by_key(|entry| entry.number)
            }
        };
        found.map(|entry| &entry.sa)
    }

    /// Returns all associations, the newest first.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Sa>> {
        self.all.values().rev()
    }
}

/// Returns the newest association of a list that fits.
fn newest(list: &[Entry], fits: impl Fn(&Sa) -> bool) -> Option<&Entry> {
    list.iter().rev().find(|entry| fits(&entry.sa))
}

/// Takes an association out of its list. Returns true if it was the last one there.
fn take<K: std::hash::Hash + Eq>(lists: &mut HashMap<K, Vec<Entry>>, key: &K, number: u64) -> bool {
    let Some(list) = lists.get_mut(key) else { return false };
    list.retain(|entry| entry.number != number);
    let is_empty = list.is_empty();
    if is_empty {
        lists.remove(key);
    }
    is_empty
}

/// Returns the destinations of an association's inner packets.
fn key(facts: &Description) -> Option<Prefix> {
    facts.selector.map(|selector| selector.destination.network())
}

fn family(address: IpAddr) -> usize {
    usize::from(address.is_ipv6())
}
