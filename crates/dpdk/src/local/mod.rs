//! A burst in lanes, on the thread that asks for it.
//!
//! # Safety
//! Packets are as [`crate::packet`] says. Each packet has a place of its own: the bytes of its mbufs, where they lie in one piece, or a copy
//! of its span. References into a place are made for one step, and are gone before the next one begins.
#![allow(unsafe_code)]

mod begin;
mod frequent;
mod work;

use millstream::compare::begins;
use millstream::{EngineError, Key, Operation};

use crate::algorithms::Engine;
use crate::geometry::Region;
use crate::packet::{Packet, Status};
use crate::session::Step;
use begin::{begin, cipher};
use work::Work;

/// The number of packets that are executed at a time: as many as the C side describes, and the widest lanes take.
const MANY: usize = 256;

/// Executes the operations of a burst. Each packet has its status then.
///
/// # Safety
/// See the module.
pub unsafe fn run(packets: &mut [Packet]) {
    for burst in packets.chunks_mut(MANY) {
        // SAFETY: as the caller says.
        unsafe {
            let done = frequent::run(burst);
            if done < burst.len() {
                run_any(&mut burst[done..]);
            }
        }
    }
}

/// Executes operations of any kinds.
///
/// # Safety
/// See the module.
#[inline(never)]
unsafe fn run_any(burst: &mut [Packet]) {
    let (mut works, mut tags) = (Vec::with_capacity(burst.len()), Vec::with_capacity(64 * burst.len()));
    // SAFETY: as the caller says.
    unsafe {
        burst.iter_mut().for_each(|packet| Work::begin(packet, &mut works));
        for number in 0..2 {
            if !step(number, &mut works, &mut tags) {
                break;
            }
        }
        works.iter_mut().for_each(|work| work.finish(&tags));
    }
}

/// Executes the steps of this number, those of one kind side by side. Returns false where no packet has such a step.
///
/// # Safety
/// See the module.
unsafe fn step(number: usize, works: &mut [Work<'_>], tags: &mut Vec<u8>) -> bool {
    let mut operations = Vec::with_capacity(works.len());
    let mut whose = Vec::with_capacity(works.len());
    let mut any = false;
    for (place, work) in works.iter_mut().enumerate() {
        let is_over = work.packet.status != Status::Good || number > 0 && work.combined;
        let Some(step) = work.plan.step(number).filter(|_| !is_over) else { continue };
        any = true;
        // SAFETY: as the caller says.
        match unsafe { begin(step, work, number > 0, &mut operations) } {
            Ok(()) if operations.len() > whose.len() => whose.push(place),
            Ok(()) => {}
            Err(status) => work.packet.status = status,
        }
    }
    if operations.is_empty() {
        return any;
    }
    let ran = millstream::batch(&mut operations);
    let mut outcomes = Vec::with_capacity(whose.len());
    for (operation, place) in operations.iter().zip(&whose) {
        let work = &works[*place];
        let step = work.plan.step(number).expect("it has begun");
        let step =
            if work.combined { work.plan.steps().find(|step| step.is_auth()).unwrap_or(step) } else { step };
        let status = if ran.is_ok() { status(operation.result()) } else { Status::Failed };
        outcomes.push(if status == Status::Good {
            take_tag(step, operation, work, tags)
        } else {
            (status, 0)
        });
    }
    // No reference into a place is left.
    drop(operations);
    let mut at = tags.len() - outcomes.iter().map(|(_, len)| len).sum::<usize>();
    for (place, (status, len)) in whose.into_iter().zip(outcomes) {
        let work = &mut works[place];
        work.packet.status = status;
        // SAFETY: as the caller says.
        unsafe {
            if len > 0 {
                work.tag = at..at + len;
                at += len;
                // A cipher that comes next may cover the tag.
                if work.copy.is_none() || work.encrypted_tag.is_some() {
                    let tag = &tags[std::mem::take(&mut work.tag)];
                    work.tag_place().copy_from_nonoverlapping(tag.as_ptr(), tag.len());
                }
            } else if status != Status::Good && number > 0 {
                undo(work);
            }
        }
    }
    true
}

/// Keeps the tag of an operation that has one to give. Returns the status, and how many bytes were kept.
#[inline]
fn take_tag(
    step: &Step<Key>,
    operation: &Operation<'_>,
    work: &Work<'_>,
    tags: &mut Vec<u8>,
) -> (Status, usize) {
    let tag = operation.tag();
    if !step.has_tag() || tag.is_empty() {
        return (Status::Good, 0);
    }
    if step.forward {
        tags.extend_from_slice(&tag[..step.tag_len]);
        return (Status::Good, step.tag_len);
    }
    // A digest: MACs were compared where they were computed.
    // SAFETY: the packet's maker promises so many bytes.
    let given = unsafe { Packet::given(work.tag_place(), step.tag_len) };
    let right = given.len() == step.tag_len && bool::from(begins(tag, given));
    (if right { Status::Good } else { Status::Authentication }, 0)
}

fn status(result: Result<(), EngineError>) -> Status {
    match result {
        Ok(()) => Status::Good,
        Err(EngineError::Authentication) => Status::Authentication,
        Err(_) => Status::Argument,
    }
}

/// Takes back what the cipher has made of a packet whose tag then was wrong. In place the ciphertext is there again, and a
/// place of its own is zero.
///
/// # Safety
/// See the module.
unsafe fn undo(work: &Work<'_>) {
    let step = &work.plan.first;
    let Some(region) = Region::of(step, work.packet).filter(|_| work.copy.is_none()) else { return };
    // SAFETY: as the caller says.
    unsafe {
        if !work.is_in_place() {
            work.output.add(region.at).write_bytes(0, region.len);
        } else if matches!(step.engine, Engine::Cipher(_) | Engine::KasumiF8) {
            // Nothing is wrong with this one, as with the first: the same key, initialisation vector and length.
            let mut one = Vec::with_capacity(1);
            if cipher(step, work, region, !step.forward, &mut one).is_ok() {
                let _ = millstream::batch(&mut one);
            }
        }
    }
}
