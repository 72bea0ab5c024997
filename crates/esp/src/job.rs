//! A packet on its way through an association: what is done before and after it is computed.
//!
//! Ref. RFC 4303 §3.3 and §3.4; RFC 4106 §3 and §5 (nonces and associated data), RFC 3686 §4 (counter blocks).

use std::net::SocketAddr;
use std::sync::Arc;

use crate::description::Direction;
use crate::fate::Fate;
use crate::held::Held;
use crate::ip::{Flow, inner_class, outer_class, set_class};
use crate::packet::Packet;
use crate::sa::Sa;
use crate::suite::{Cipher, HEADER};
use crate::task::Short;

/// Numbers of next headers.
const IPV4: u8 = 4;
const IPV6: u8 = 41;
const DUMMY: u8 = 59;

/// A packet on its way through an association.
pub struct Job {
    pub(crate) held: Arc<Held>,
    pub(crate) packet: Packet,
    pub(crate) number: u64,
    pub(crate) result: Result<(), Fate>,
    /// The class of the outer header, which has come or is to go.
    class: u8,
    /// The outer source.
    from: Option<SocketAddr>,
    /// Bytes of the inner packet.
    inner_len: usize,
}

impl Job {
    /// Begins to seal an inner packet: takes a sequence number, and puts header, padding and trailer around it.
    ///
    /// # Errors
    /// The packet, and the [`Fate`] that it is dropped for; it is counted.
    pub fn seal(sa: &Arc<Sa>, packet: Packet) -> Result<Self, (Packet, Fate)> {
        match Held::new(sa) {
            Ok(held) => Job::seal_held(&held, packet),
            Err(fate) => refuse(sa, packet, fate),
        }
    }

    /// Begins to seal an inner packet, as [`Job::seal`], with others of its batch.
    ///
    /// # Errors
    /// As for [`Job::seal`].
    pub fn seal_held(held: &Arc<Held>, mut packet: Packet) -> Result<Self, (Packet, Fate)> {
        let facts = held.sa.facts();
        match frame(&held.sa, &mut packet) {
            Ok((number, flow)) => Ok(Job {
                held: held.clone(),
                packet,
                number,
                result: Ok(()),
                class: outer_class(flow.class, facts.encap_dscp, facts.ecn),
                from: None,
                inner_len: flow.len,
            }),
            Err(fate) => refuse(&held.sa, packet, fate),
        }
    }

    /// Begins to open a packet that has arrived, from its SPI on. `class` is the outer header's traffic class.
    ///
    /// # Errors
    /// The packet, and the [`Fate`] that it is dropped for; it is counted.
    pub fn open(
        sa: &Arc<Sa>,
        packet: Packet,
        class: u8,
        from: Option<SocketAddr>,
    ) -> Result<Self, (Packet, Fate)> {
        match Held::new(sa) {
            Ok(held) => Job::open_held(&held, packet, class, from),
            Err(fate) => refuse(sa, packet, fate),
        }
    }

    /// Begins to open a packet that has arrived, as [`Job::open`], with others of its batch.
    ///
    /// # Errors
    /// As for [`Job::open`].
    pub fn open_held(
        held: &Arc<Held>,
        packet: Packet,
        class: u8,
        from: Option<SocketAddr>,
    ) -> Result<Self, (Packet, Fate)> {
        match receive(&held.sa, packet.data()) {
            Ok(number) => {
                let (held, result) = (held.clone(), Ok(()));
                Ok(Job { held, packet, number, result, class, from, inner_len: 0 })
            }
            Err(fate) => refuse(&held.sa, packet, fate),
        }
    }

    /// Ends a packet after it was computed, in the order of the association's packets. `admits` says whether policies admit an inner packet.
    /// What was sealed is counted; what was opened is checked, its number is taken, and the outer headers' congestion is noted in it.
    ///
    /// # Errors
    /// The [`Fate`] that it is dropped for; it is counted.
    pub fn finish(&mut self, admits: impl FnOnce(&Sa, &Flow) -> bool) -> Result<(), Fate> {
        let ended = match (self.result, self.sa().direction()) {
            (Err(fate), _) => Err(fate),
            (Ok(()), Direction::Out) => Ok(()),
            (Ok(()), Direction::In) => self.unframe(admits),
        };
        match ended {
            Ok(()) => drop(self.sa().counters().add(self.inner_len)),
            Err(fate) => self.sa().counters().drop(fate),
        }
        self.result = ended;
        ended
    }

    /// Returns the association.
    pub fn sa(&self) -> &Arc<Sa> {
        &self.held.sa
    }

    /// Returns the packet's sequence number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the traffic class for the outer header, or that of the one that came.
    pub fn class(&self) -> u8 {
        self.class
    }

    /// Returns the outer source of a packet that has arrived.
    pub fn from(&self) -> Option<SocketAddr> {
        self.from
    }

    /// Returns what came of it so far.
    pub fn result(&self) -> Result<(), Fate> {
        self.result
    }

    /// Returns the packet.
    pub fn packet(&self) -> &Packet {
        &self.packet
    }

    /// Returns the packet's buffer, for another one.
    pub fn into_packet(self) -> Packet {
        self.packet
    }

    /// Returns the vector that the packet carries.
    pub(crate) fn iv(&self) -> &[u8] {
        &self.packet.data()[HEADER..HEADER + self.sa().suite().iv_len()]
    }

    /// Returns the nonce, counter block or vector with which the cipher begins.
    pub(crate) fn nonce(&self) -> Short {
        let salt = &self.held.keys.salt[..];
        match self.sa().suite().cipher() {
            Cipher::AesGcm | Cipher::ChaCha20Poly1305 => Short::of(&[salt, self.iv()]),
            Cipher::AesCtr => Short::of(&[salt, self.iv(), &[0, 0, 0, 1]]),
            Cipher::AesCbc | Cipher::TripleDesCbc => Short::of(&[self.iv()]),
        }
    }

    /// Returns the associated data of an AEAD: SPI and number, all 64 bits of it where numbers are extended.
    pub(crate) fn aad(&self) -> Short {
        let header = &self.packet.data()[..HEADER];
        match self.sa().facts().extended {
            true => Short::of(&[&header[..4], &self.number.to_be_bytes()]),
            false => Short::of(&[header]),
        }
    }

    /// RFC 4303 §3.4.4.1: what comes after the tag proved right.
    fn unframe(&mut self, admits: impl FnOnce(&Sa, &Flow) -> bool) -> Result<(), Fate> {
        self.sa().accept(self.number)?;
        let suite = self.sa().suite();
        let start = HEADER + suite.iv_len();
        let end = self.packet.data().len() - suite.tag_len();
        let payload = &self.packet.data()[start..end];
        let [.., pad_len, next] = *payload else { return Err(Fate::Inner) };
        let body = (payload.len() - 2).checked_sub(pad_len.into()).ok_or(Fate::Inner)?;
        let padding = &payload[body..payload.len() - 2];
        if padding.iter().zip(1..).any(|(byte, count): (&u8, u8)| *byte != count) {
            return Err(Fate::Inner);
        }
        if next == DUMMY {
            return Err(Fate::Dummy);
        }
        let flow = Flow::read(&payload[..body]).map_err(|_| Fate::Inner)?;
        if next != if flow.source.is_ipv4() { IPV4 } else { IPV6 } {
            return Err(Fate::Inner);
        }
        if !admits(self.sa(), &flow) {
            return Err(Fate::Policy);
        }
        let facts = self.sa().facts();
        let class = inner_class(flow.class, self.class, facts.decap_dscp, facts.ecn)?;
        self.sa().charge(flow.len)?;
        self.packet.keep(start, flow.len);
        if class != flow.class {
            set_class(self.packet.data_mut(), class);
        }
        self.inner_len = flow.len;
        Ok(())
    }
}

/// Counts a packet that is dropped before it was computed.
fn refuse(sa: &Sa, packet: Packet, fate: Fate) -> Result<Job, (Packet, Fate)> {
    sa.counters().drop(fate);
    Err((packet, fate))
}

/// Puts header, padding and trailer around an inner packet. The vector of CBC comes later.
fn frame(sa: &Sa, packet: &mut Packet) -> Result<(u64, Flow), Fate> {
    let flow = Flow::read(packet.data())?;
    packet.keep(0, flow.len);
    sa.charge(flow.len)?;
    let (number, vector) = sa.take_number()?;
    let suite = sa.suite();
    let padded = (flow.len + 2).next_multiple_of(suite.block_len());
    let pad_len = padded - flow.len - 2;
    packet.grow_back(pad_len + 2);
    let trailer = &mut packet.data_mut()[flow.len..];
    for (byte, count) in trailer.iter_mut().zip(1..) {
        *byte = count;
    }
    trailer[pad_len] = pad_len as u8;
    trailer[pad_len + 1] = if flow.source.is_ipv4() { IPV4 } else { IPV6 };
    packet.grow_front(HEADER + suite.iv_len());
    let front = packet.data_mut();
    front[..4].copy_from_slice(&sa.facts().spi.to_be_bytes());
    front[4..8].copy_from_slice(&(number as u32).to_be_bytes());
    if suite.needs_unique_vectors() {
        front[8..16].copy_from_slice(&vector.to_be_bytes());
    }
    Ok((number, flow))
}

/// Checks the shape of a packet that has arrived, and finds its number.
fn receive(sa: &Sa, packet: &[u8]) -> Result<u64, Fate> {
    let suite = sa.suite();
    let payload =
        packet.len().checked_sub(HEADER + suite.iv_len() + suite.tag_len()).ok_or(Fate::Malformed)?;
    if payload == 0 || !payload.is_multiple_of(suite.block_len()) {
        return Err(Fate::Malformed);
    }
    if sa.is_over() {
        return Err(Fate::Expired);
    }
    let low = u32::from_be_bytes([packet[4], packet[5], packet[6], packet[7]]);
    sa.number_of(low)
}
