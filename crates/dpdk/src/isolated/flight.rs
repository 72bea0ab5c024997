//! Packets on their way to a worker and back.
//!
//! # Safety
//! Packets are as [`crate::packet`] says.
#![allow(unsafe_code)]

use millstream::queue::KeyHandle;

use crate::packet::{Packet, Status};
use crate::session::{Plan, Session};

/// A packet on its way.
pub struct Flight {
    /// The packet.
    pub packet: Packet,
    /// The step that is with the worker, or that comes next.
    pub step: usize,
    /// True when nothing is left to be done.
    pub ended: bool,
    /// Bytes in clear before what is encrypted, where both steps are one operation.
    pub combined: Option<usize>,
    /// The bytes that take the place of what was decrypted, should the tag be wrong after that.
    pub kept: Option<Box<[u8]>>,
}

impl Flight {
    /// Returns the steps of the packet's session.
    pub fn plan<'p>(&self) -> &'p Plan<KeyHandle> {
        // SAFETY: as the module says; whoever made the flight found that a worker has the keys.
        match unsafe { &*self.packet.session } {
            Session::Worker(plan, _) => plan,
            Session::Here(_) => unreachable!("a session of a worker"),
        }
    }

    /// Ends with the packet.
    pub fn end(&mut self, status: Status) {
        (self.packet.status, self.ended) = (status, true);
    }
}

/// The packets on their way, in the order in which they came. Each stays where it began: moving one costs more than making it.
pub struct Flights {
    /// A ring, which grows to its size when it is first gone through.
    slots: Vec<Flight>,
    most: usize,
    /// The number of the first packet.
    first: u64,
    len: usize,
}

impl Flights {
    /// Makes room for so many packets, at least one.
    pub fn new(most: usize) -> Self {
        Flights { slots: Vec::with_capacity(most.next_power_of_two()), most, first: 0, len: 0 }
    }

    /// Returns the number of packets on their way.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of packets for which there is room.
    pub fn room(&self) -> usize {
        self.most - self.len
    }

    #[inline(always)]
    fn slot(&self, number: u64) -> usize {
        number as usize & (self.most.next_power_of_two() - 1)
    }

    /// Adds a packet behind the others. Returns its number.
    #[inline(always)]
    pub fn begin(&mut self, packet: &Packet) -> u64 {
        let number = self.first + self.len as u64;
        let slot = self.slot(number);
        self.len += 1;
        match self.slots.get_mut(slot) {
            Some(flight) => {
                flight.packet.clone_from(packet);
                (flight.step, flight.ended, flight.combined, flight.kept) = (0, false, None, None);
            }
            None => {
                let packet = packet.clone();
                self.slots.push(Flight { packet, step: 0, ended: false, combined: None, kept: None });
            }
        }
        number
    }

    /// Takes the last packet back.
    pub fn withdraw(&mut self) {
        self.len -= 1;
    }

    /// Returns the packet of this number, which is on its way.
    #[inline(always)]
    pub fn get(&mut self, number: u64) -> &mut Flight {
        let slot = self.slot(number);
        &mut self.slots[slot]
    }

    /// Hands the first packet over if it has ended.
    #[inline(always)]
    pub fn end_first(&mut self, to: &mut Packet) -> bool {
        let slot = self.slot(self.first);
        let ended = self.slots.get_mut(slot).filter(|flight| self.len > 0 && flight.ended);
        let Some(flight) = ended else { return false };
        to.clone_from(&flight.packet);
        flight.kept = None;
        (self.first, self.len) = (self.first + 1, self.len - 1);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::{null, null_mut};

    use super::*;

    fn packet(length: u32) -> Packet {
        Packet {
            session: null(),
            user: null_mut(),
            source: null(),
            destination: null_mut(),
            source_pieces: null(),
            destination_pieces: null_mut(),
            access: null(),
            iv: null(),
            auth_iv: null(),
            aad: null(),
            tag: null_mut(),
            offset: 0,
            length,
            cipher_at: 0,
            cipher_length: 0,
            auth_at: 0,
            auth_length: 0,
            status: Status::Good,
            tag_at: 0,
        }
    }

    #[test]
    fn packets_come_back_in_order_around_the_ring() {
        let (mut flights, mut to) = (Flights::new(3), packet(0));
        assert!(!flights.end_first(&mut to));
        let mut next = 0;
        for round in 0..10_u32 {
            let numbers = [0, 1, 2].map(|i| flights.begin(&packet(3 * round + i)));
            assert_eq!((flights.room(), flights.len()), (0, 3));
            // The last ends first, and waits for those before it.
            for number in numbers.into_iter().rev() {
                assert!(!flights.end_first(&mut to));
                flights.get(number).end(Status::Good);
            }
            while flights.end_first(&mut to) {
                assert_eq!(to.length, next);
                next += 1;
            }
        }
        assert_eq!((next, flights.len()), (30, 0));
        // One that was taken back is not there any more, however it ended.
        let number = flights.begin(&packet(99));
        flights.get(number).end(Status::Good);
        flights.withdraw();
        assert!(!flights.end_first(&mut to));
        assert_eq!(flights.begin(&packet(30)), number);
        assert!(!flights.end_first(&mut to), "the new one has not ended");
    }
}
