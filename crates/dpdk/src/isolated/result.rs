//! The way of a worker's results into a packet.
//!
//! # Safety
//! Packets are as [`crate::packet`] says.
#![allow(unsafe_code)]

use millstream::compare::begins;
use millstream::cwq;
use millstream::queue::Done;

use super::flight::Flight;
use crate::algorithms::Engine;
use crate::geometry::Region;
use crate::packet::{Packet, Status};

/// Takes the end of an operation: the packet's next step comes then, or it has ended.
///
/// # Safety
/// See the module.
#[inline]
pub unsafe fn take(flight: &mut Flight, done: &Done) {
    let status = match done.result {
        // SAFETY: as the caller says.
        Ok(()) => unsafe { bring(flight, done) },
        Err(cwq::Status::Authentication) => Status::Authentication,
        Err(cwq::Status::Gone | cwq::Status::Revoked | cwq::Status::Cancelled | cwq::Status::Key) => {
            Status::Failed
        }
        Err(_) => Status::Argument,
    };
    if status != Status::Good {
        // SAFETY: as the caller says.
        unsafe { take_back(flight) };
        flight.end(status);
    } else if flight.combined.is_some() {
        flight.end(Status::Good);
    } else {
        flight.step += 1;
    }
}

/// Copies the output and the tag to the packet.
unsafe fn bring(flight: &mut Flight, done: &Done) -> Status {
    let (plan, packet) = (flight.plan(), &flight.packet);
    let Some(step) = plan.step(flight.step) else { return Status::Argument };
    // SAFETY: as the caller says.
    unsafe {
        match (&done.buffers.destination, flight.combined) {
            (Some(output), Some(_)) => packet.write(0, output),
            (Some(output), None) if step.engine != Engine::Gmac => {
                let Some(region) = Region::of(step, packet) else { return Status::Argument };
                if !step.forward && plan.second.is_some() && flight.step == 0 {
                    flight.kept = Some(keep(packet, region));
                }
                packet.write(region.at, output);
            }
            _ => {}
        }
        let auth =
            if flight.combined.is_some() { plan.steps().find(|step| step.is_auth()) } else { Some(step) };
        let Some(step) = auth.filter(|step| step.has_tag()) else { return Status::Good };
        if step.forward {
            packet.give_tag(&done.tag()[..step.tag_len]);
        } else if let Engine::Digest(_) = step.engine {
            // The worker has compared MACs itself.
            let right = begins(done.tag(), Packet::given(packet.tag, step.tag_len));
            return if bool::from(right) { Status::Good } else { Status::Authentication };
        }
    }
    Status::Good
}

/// Returns the bytes that are to be there should the tag be wrong: the ciphertext in place, zeros elsewhere.
unsafe fn keep(packet: &Packet, region: Region) -> Box<[u8]> {
    let mut bytes = vec![0; region.len].into_boxed_slice();
    if packet.is_in_place() {
        // SAFETY: as the caller says.
        unsafe { packet.read(region.at, &mut bytes) };
    }
    bytes
}

/// Takes back what was decrypted before its tag was found wrong.
///
/// # Safety
/// See the module.
pub unsafe fn take_back(flight: &mut Flight) {
    let Some(bytes) = flight.kept.take() else { return };
    if let Some(region) = Region::of(&flight.plan().first, &flight.packet) {
        // SAFETY: as the caller says.
        unsafe { flight.packet.write(region.at, &bytes) };
    }
}
