//! The way of a packet's steps into the queue.
//!
//! # Safety
//! Packets are as [`crate::packet`] says.
#![allow(unsafe_code)]

use millstream::queue::{Buffer, Buffers, Done, Queue, Refusal};

use super::flight::Flight;
use super::request;
use crate::algorithms::Engine;
use crate::geometry::{Region, encrypted_tag};
use crate::packet::{Packet, Status};
use crate::session::{LONGEST_IV, Step};

/// The least room of a buffer, in bytes: that for an Ethernet frame, so that each buffer fits all usual packets.
const ROOM: usize = 1536;

/// The queue, its buffers, and which packet each of its operations belongs to.
pub struct Sender {
    queue: Queue,
    /// The number of the packet in each slot of the queue.
    numbers: Vec<u64>,
    /// Buffers to be used again.
    spare: Vec<Buffer>,
}

impl Sender {
    /// Takes a queue.
    pub fn new(queue: Queue) -> Self {
        let numbers = vec![0; queue.depth()];
        Sender { queue, numbers, spare: Vec::new() }
    }

    /// Returns the number of operations that may be in flight.
    pub fn depth(&self) -> usize {
        self.numbers.len()
    }

    /// Has the worker begin with what was sent.
    pub fn flush(&mut self) {
        self.queue.flush();
    }

    /// Takes the end of an operation.
    pub fn poll(&mut self) -> Option<Done> {
        self.queue.poll()
    }

    /// Returns the number of the packet that an operation belongs to.
    pub fn number(&self, done: &Done) -> u64 {
        self.numbers[slot(done.ticket.to_bits())]
    }

    /// Keeps the buffer of an operation to be used again. The next operation takes the last one.
    #[inline]
    pub fn recycle(&mut self, mut buffers: Buffers) {
        self.spare.extend(buffers.source.take());
        self.spare.extend(buffers.destination.take());
    }

    /// Returns a buffer of so many bytes.
    #[inline]
    fn buffer(&mut self, len: usize) -> Result<Buffer, Status> {
        let fitting = self.spare.pop().filter(|buffer| buffer.capacity() >= len);
        let mut buffer = match fitting {
            Some(buffer) => buffer,
            None => self.queue.buffer(len.max(ROOM)).map_err(refused)?,
        };
        buffer.set_len(len);
        Ok(buffer)
    }

    /// Sends the next operation of a packet, or ends with the packet where none is left.
    ///
    /// # Errors
    /// [`Status::Failed`] for want of room or after the grant's end; [`Status::Argument`].
    ///
    /// # Safety
    /// See the module.
    #[inline]
    pub unsafe fn advance(&mut self, flight: &mut Flight, number: u64) -> Result<(), Status> {
        let plan = flight.plan();
        while let Some(step) = plan.step(flight.step) {
            let region = Region::of(step, &flight.packet).ok_or(Status::Argument)?;
            let lacks_tag = plan.steps().any(|step| step.has_tag() && flight.packet.tag.is_null());
            if lacks_tag {
                return Err(Status::Argument);
            }
            match step.engine {
                // SAFETY: as the caller says.
                Engine::NullCipher => unsafe { pass(flight) },
                Engine::NullAuth => {}
                // SAFETY: as the caller says.
                _ => return unsafe { self.send(flight, step, region, number) },
            }
            flight.step += 1;
        }
        let has_passed = plan.steps().any(|step| step.engine == Engine::NullCipher);
        if !has_passed {
            let written = plan.steps().find_map(|step| written(step, &flight.packet));
            // SAFETY: as the caller says.
            unsafe { copy_rest(&flight.packet, written) };
        }
        flight.end(Status::Good);
        Ok(())
    }

    #[inline]
    unsafe fn send(
        &mut self,
        flight: &Flight,
        step: &Step<millstream::queue::KeyHandle>,
        region: Region,
        number: u64,
    ) -> Result<(), Status> {
        let packet = &flight.packet;
        let whole = Region { at: 0, len: packet.length as usize, bits: 0 };
        let region = if flight.combined.is_some() { whole } else { region };
        let (mut aside, mut block) = (Vec::new(), [0; LONGEST_IV]);
        // SAFETY: as the caller says.
        let request = unsafe {
            // AES-GCM over associated data alone has no input.
            let is_gmac = step.engine == Engine::Gmac;
            let mut buffer = self.buffer(if is_gmac { 0 } else { region.len })?;
            let into: &mut [u8] = if is_gmac {
                aside.resize(region.len, 0);
                &mut aside
            } else {
                &mut buffer
            };
            if flight.step > 0 && step.is_auth() {
                read_after_cipher(flight, region, into);
            } else {
                packet.read(region.at, into);
            }
            if let (1, true, Some(at)) = (flight.step, step.is_cipher(), encrypted_tag(flight.plan(), packet))
            {
                let tag = Packet::given(packet.tag, flight.plan().first.tag_len);
                into[at - region.at..][..tag.len()].copy_from_slice(tag);
            }
            if step.engine == Engine::KasumiF9 {
                aside.extend(buffer.iter().take(8));
            }
            match flight.combined {
                Some(clear) => request::combined(flight.plan(), packet, clear, buffer, &mut block),
                None => request::single(step, packet, region, buffer, &aside, &mut block),
            }?
        };
        match self.queue.submit(request) {
            Ok(ticket) => {
                self.numbers[slot(ticket.to_bits())] = number;
                Ok(())
            }
            Err(refused_request) => {
                let why = refused_request.why;
                self.recycle(refused_request.buffers);
                Err(refused(why))
            }
        }
    }
}

/// Returns the slot of the queue in which an operation is, from the lower half of its ticket.
fn slot(ticket: u64) -> usize {
    ticket as u32 as usize
}

/// For want of room or after a grant's end nothing is done: whoever asks again then gets the same answer, or another.
fn refused(_: Refusal) -> Status {
    Status::Failed
}

/// Returns the region that a step writes.
fn written<K>(step: &Step<K>, packet: &Packet) -> Option<Region> {
    if step.is_auth() || step.engine == Engine::NullCipher { None } else { Region::of(step, packet) }
}

/// Does the work of a cipher that changes nothing: copies the span to a place of its own. A tag in there, which was made before, stays.
unsafe fn pass(flight: &Flight) {
    let (plan, packet) = (flight.plan(), &flight.packet);
    let made = plan.step(0).filter(|step| flight.step > 0 && step.forward && step.has_tag());
    // SAFETY: as the caller says; the tag that was made has its length.
    unsafe {
        let tag = Packet::given(packet.tag, made.map_or(0, |step| step.tag_len)).to_vec();
        copy_rest(packet, None);
        if !tag.is_empty() {
            packet.give_tag(&tag);
        }
    }
}

/// Copies to a place of its own what no step has written there.
unsafe fn copy_rest(packet: &Packet, written: Option<Region>) {
    if packet.is_in_place() {
        return;
    }
    let written = written.unwrap_or(Region { at: 0, len: 0, bits: 0 });
    for part in [0..written.at, written.end()..packet.length as usize] {
        let mut bytes = vec![0; part.len()];
        // SAFETY: as the caller says.
        unsafe {
            packet.read(part.start, &mut bytes);
            packet.write(part.start, &bytes);
        }
    }
}

/// Reads what is authenticated after the cipher: what that has written, and around it what was there.
unsafe fn read_after_cipher(flight: &Flight, region: Region, into: &mut [u8]) {
    let packet = &flight.packet;
    // SAFETY: as the caller says.
    unsafe {
        packet.read(region.at, into);
        let Some(cipher) = written(&flight.plan().first, packet) else { return };
        let (from, to) = (cipher.at.max(region.at), cipher.end().min(region.end()));
        if from < to {
            packet.read_result(from, &mut into[from - region.at..to - region.at]);
        }
    }
}
