//! The most frequent packets, AES-GCM and AES-CTR on bytes in one piece: their jobs are made in a list of their engine's own type, so nothing is
//! sorted, and nobody asks of each what it is. Whatever is unusual about a packet is left to the general way, which also says what is wrong with one.
//!
//! # Safety
//! As for [the folder](super).
#![allow(unsafe_code)]

use std::sync::OnceLock;

use millstream::aes::{Ctr, CtrJob, CtrLanes};
use millstream::gcm::{Gcm, GcmJob, GcmLanes};
use millstream::{InOut, Key};

use super::begin::given;
use super::status;
use crate::algorithms::Engine;
use crate::packet::{Packet, Status};
use crate::session::{LONGEST_IV, Session, Step};

/// The kind of a packet, with its key.
enum Kind<'a> {
    Gcm(&'a Step<Key>, &'a Gcm),
    Ctr(&'a Step<Key>, &'a Ctr),
}

/// Executes packets from the first on, as many as are of its kind. Returns how many those were; each has its status then.
///
/// # Safety
/// See the module; so for all that follow.
pub unsafe fn run(packets: &mut [Packet]) -> usize {
    let Some((gcm, ctr)) = lanes() else { return 0 };
    // SAFETY: as the caller says.
    unsafe {
        match packets.first().and_then(|first| kind(first)) {
            Some(Kind::Gcm(step, _)) => run_gcm(packets, gcm, step.forward),
            Some(Kind::Ctr(..)) => run_ctr(packets, ctr),
            None => 0,
        }
    }
}

/// Returns the lanes of both engines; none where the features are not known, which the general way reports.
fn lanes() -> Option<&'static (GcmLanes, CtrLanes)> {
    static LANES: OnceLock<Option<(GcmLanes, CtrLanes)>> = OnceLock::new();
    let lanes = LANES.get_or_init(|| {
        let features = millstream::features().ok()?;
        Some((GcmLanes::new(features), CtrLanes::new(features)))
    });
    lanes.as_ref()
}

/// Returns the kind of a packet of which nothing is unusual: all of its span is the cipher's, and lies in one piece.
#[inline(always)]
unsafe fn kind<'a>(packet: &Packet) -> Option<Kind<'a>> {
    // SAFETY: as the caller says.
    let Some(Session::Here(plan)) = (unsafe { packet.session.as_ref() }) else { return None };
    let step = &plan.first;
    let is_plain = plan.second.is_none()
        && packet.cipher_at == 0
        && packet.cipher_length == packet.length
        && packet.whole().is_some()
        && !packet.overlaps_itself();
    match (step.engine, &step.key) {
        (Engine::Aead(_), Some(Key::AesGcm(key))) if is_plain && !packet.tag.is_null() => {
            Some(Kind::Gcm(step, key))
        }
        (Engine::Cipher(_), Some(Key::AesCtr(key))) if is_plain => Some(Kind::Ctr(step, key)),
        _ => None,
    }
}

unsafe fn run_gcm(packets: &mut [Packet], lanes: &GcmLanes, forward: bool) -> usize {
    let mut jobs = Vec::with_capacity(packets.len());
    for packet in &*packets {
        // SAFETY: as the caller says.
        match unsafe { gcm(packet, forward) } {
            Some(job) => jobs.push(job),
            None => break,
        }
    }
    let mut all: Vec<&mut GcmJob<'_>> = jobs.iter_mut().collect();
    if forward {
        lanes.seal(&mut all)
    } else {
        lanes.open(&mut all)
    }
    for (packet, job) in packets.iter_mut().zip(&jobs) {
        packet.status = status(job.result);
        if forward && packet.status == Status::Good {
            // SAFETY: as the caller says; `gcm` has looked at the length.
            unsafe { packet.give_tag(&job.tag[..job.tag_len]) };
        }
    }
    jobs.len()
}

/// Makes the job of a packet in this direction; none where the general way has to look at it.
#[inline(always)]
unsafe fn gcm<'a>(packet: &Packet, forward: bool) -> Option<GcmJob<'a>> {
    // SAFETY: as the caller says.
    unsafe {
        let Some(Kind::Gcm(step, key)) = kind(packet) else { return None };
        let (nonce, aad) = (given(packet.iv, step.iv_len).ok()?, given(packet.aad, step.aad_len).ok()?);
        if step.forward != forward || covers(packet, nonce) || covers(packet, aad) {
            return None;
        }
        let mut job = GcmJob::new(key, nonce, aad, data(packet));
        if !forward {
            let tag = given(packet.tag, step.tag_len).ok()?;
            job.tag.get_mut(..tag.len())?.copy_from_slice(tag);
        }
        job.tag_len = step.tag_len;
        (job.tag_len <= job.tag.len()).then_some(job)
    }
}

unsafe fn run_ctr(packets: &mut [Packet], lanes: &CtrLanes) -> usize {
    let mut jobs = Vec::with_capacity(packets.len());
    for packet in &*packets {
        // SAFETY: as the caller says.
        unsafe {
            let Some(Kind::Ctr(step, key)) = kind(packet) else { break };
            let Ok(iv) = given(packet.iv, step.iv_len) else { break };
            let mut counter = [0; LONGEST_IV];
            if step.begin_with(iv, &mut counter) != LONGEST_IV {
                break;
            }
            jobs.push(CtrJob { key, counter, data: data(packet) });
        }
    }
    lanes.apply(&mut jobs.iter_mut().collect::<Vec<_>>());
    packets.iter_mut().zip(&jobs).for_each(|(packet, _)| packet.status = Status::Good);
    jobs.len()
}

/// Returns the bytes of a packet's span, which lies in one piece.
#[inline(always)]
unsafe fn data<'a>(packet: &Packet) -> InOut<'a> {
    let len = packet.length as usize;
    // SAFETY: as the caller says. Source and destination are the same or apart: `kind` has asked.
    unsafe {
        let output = std::slice::from_raw_parts_mut(packet.destination, len);
        if packet.source == packet.destination.cast_const() {
            return InOut::in_place(output);
        }
        let input = std::slice::from_raw_parts(packet.source, len);
        InOut::separate(input, output).expect("both have one length")
    }
}

/// Returns true if bytes that are read overlap what is written.
#[inline(always)]
fn covers(packet: &Packet, bytes: &[u8]) -> bool {
    let (written, read) = (packet.destination as usize, bytes.as_ptr() as usize);
    !bytes.is_empty() && written < read + bytes.len() && read < written + packet.length as usize
}
