//! A queue pair whose operations a worker executes, which alone holds the keys.
//!
//! Bytes are copied to buffers of the grant's arena, and back from there. Packets come back in the order in which they were
//! given, whatever the order in which the worker ends with them.
//!
//! # Safety
//! Packets are as [`crate::packet`] says.
#![allow(unsafe_code)]

mod flight;
mod request;
mod result;
mod sender;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use millstream::isolated::{Accelerator, Attach};

use crate::geometry::combined;
use crate::packet::{Packet, Status};
use crate::refusal::Refusal;
use crate::session::{Session, Transform};
use flight::Flights;
use sender::Sender;

/// The most operations in flight in a queue pair, whatever the number of its descriptors. A worker that has 512 of 64 bytes before it makes half as
/// many a second, because all that are in flight touch buffers of their own, which then leave the caches.
const IN_FLIGHT: usize = 256;

/// The depth of a queue, which is more than that: a full ring has each side ask for the other's place in it.
const DEPTH: usize = 2048;

/// Bytes of arena for a queue pair: room for its packets in flight, of 16 KiB each, twice.
const ARENA: u32 = 16 << 20;

/// Keys that a device may hold.
const KEYS: usize = 4096;

/// A device whose keys a worker holds.
pub struct Device(Accelerator);

impl Device {
    /// Takes an accelerator, wherever it is.
    pub fn new(accelerator: Accelerator) -> Self {
        Device(accelerator)
    }

    /// Attaches to the service behind a socket.
    ///
    /// # Errors
    /// [`Refusal`]; nothing falls back to keys in this process.
    pub fn attach(socket: &Path, queue_pairs: u32) -> Result<Self, Refusal> {
        let attach = Attach {
            socket: Some(socket.to_owned()),
            name: "crypto_millstream".to_owned(),
            queues: queue_pairs,
            depth: DEPTH,
            arena_bytes: ARENA.saturating_mul(queue_pairs.max(1)),
            key_slots: KEYS,
            ..Attach::default()
        };
        Ok(Device(attach.attach()?))
    }

    /// Binds the keys of a chain of transforms in the worker.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn session(&self, transforms: &[Transform<'_>]) -> Result<Session, Refusal> {
        Session::in_worker(&self.0, transforms)
    }

    /// Takes a queue for a queue pair, in which no more operations are in flight than it has descriptors.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn lane(&self, descriptors: usize) -> Result<Lane, Refusal> {
        let sender = Sender::new(self.0.queue()?);
        let flights = Flights::new(descriptors.clamp(1, IN_FLIGHT.min(sender.depth())));
        Ok(Lane(Mutex::new(Inner { sender, flights })))
    }
}

/// A queue pair's side of the worker. DPDK allows one thread to give and another to take.
pub struct Lane(Mutex<Inner>);

impl Lane {
    /// Returns how many packets more may be in flight.
    pub fn room(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).flights.room()
    }

    /// Gives packets to the worker. Returns how many of them it took, from the first on.
    ///
    /// # Safety
    /// See the module.
    pub unsafe fn submit(&self, packets: &[Packet]) -> usize {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: as the caller says.
        let taken = packets.iter().take_while(|packet| unsafe { inner.submit(packet) }).count();
        inner.sender.flush();
        taken
    }

    /// Takes packets whose operations have ended. Returns how many there are.
    ///
    /// # Safety
    /// See the module.
    pub unsafe fn poll(&self, packets: &mut [Packet]) -> usize {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: as the caller says.
        unsafe { inner.poll(packets) }
    }
}

/// The state of a queue pair.
struct Inner {
    sender: Sender,
    flights: Flights,
}

impl Inner {
    /// Gives a packet to the worker. Returns false where there is no room now.
    ///
    /// # Safety
    /// See the module.
    unsafe fn submit(&mut self, packet: &Packet) -> bool {
        if self.flights.room() == 0 {
            return false;
        }
        let number = self.flights.begin(packet);
        let flight = self.flights.get(number);
        flight.packet.status = Status::Good;
        // SAFETY: as the caller says.
        let sent = match unsafe { flight.packet.session.as_ref() } {
            Some(Session::Worker(plan, _)) if !flight.packet.overlaps_itself() => {
                flight.combined = combined(plan, &flight.packet);
                // SAFETY: as the caller says.
                unsafe { self.sender.advance(flight, number) }
            }
            _ => Err(Status::Argument),
        };
        match sent {
            // Packets that were taken before make room when they come back.
            Err(Status::Failed) if self.flights.len() > 1 => {
                self.flights.withdraw();
                return false;
            }
            Err(status) => self.flights.get(number).end(status),
            Ok(()) => {}
        }
        true
    }

    /// # Safety
    /// See the module.
    unsafe fn poll(&mut self, packets: &mut [Packet]) -> usize {
        // No more are brought than are asked for: what was brought earlier would leave the caches before the application looks at it.
        for _ in 0..packets.len() {
            let Some(done) = self.sender.poll() else { break };
            let number = self.sender.number(&done);
            let flight = self.flights.get(number);
            // SAFETY: as the caller says.
            unsafe {
                result::take(flight, &done);
                self.sender.recycle(done.buffers);
                if !flight.ended
                    && let Err(status) = self.sender.advance(flight, number)
                {
                    result::take_back(flight);
                    flight.end(status);
                }
            }
        }
        let mut count = 0;
        while count < packets.len() && self.flights.end_first(&mut packets[count]) {
            count += 1;
        }
        count
    }
}
