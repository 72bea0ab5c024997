//! HMACs alone.
//!
//! # Safety
//! As for [the folder](super).
#![allow(unsafe_code)]

use millstream::compare::begins;
use millstream::hmac::{HmacJob, HmacLanes};
use zeroize::Zeroize;

use super::kinds::{Kind, Kinds, List, with_all};
use crate::local::begin::given;
use crate::packet::{Packet, Status};

/// Signs or verifies packets from the first on, as many as are frequent ones of that hash and direction. Returns how many those were.
///
/// # Safety
/// See the module; so for all that follow.
#[inline(never)]
pub unsafe fn run(packets: &mut [Packet], lanes: &HmacLanes, forward: bool) -> usize {
    let (mut kinds, mut jobs, mut tags) = (Kinds::default(), List::new(), List::new());
    let hash = lanes.hash();
    for packet in &*packets {
        // SAFETY: as the caller says.
        unsafe {
            let Some(Kind::Mac(step, key)) = kinds.of(packet) else { break };
            let is_plain = packet.auth_at == 0 && packet.auth_length == packet.length && packet.is_in_place();
            if step.forward != forward || key.hash() != hash || !is_plain || packet.tag.is_null() {
                break;
            }
            jobs.push(HmacJob::new(key, input(packet)));
            tags.push(step.tag_len);
        }
    }
    // SAFETY: as the caller says.
    unsafe { end(&mut packets[..jobs.len()], &mut jobs, lanes, |at| tags[at], forward) };
    jobs.len()
}

/// Executes the jobs of packets, of which there are as many, and ends with the packets: a tag is written, or compared.
#[inline(always)]
pub unsafe fn end(
    packets: &mut [Packet],
    jobs: &mut [HmacJob<'_>],
    lanes: &HmacLanes,
    tag_len: impl Fn(usize) -> usize,
    forward: bool,
) {
    with_all(jobs, |jobs| lanes.sign(jobs));
    for (at, (packet, job)) in packets.iter_mut().zip(jobs).enumerate() {
        // SAFETY: as the caller says. The lengths of tags were compared when the session was made.
        unsafe {
            if forward {
                packet.status = Status::Good;
                packet.give_tag(&job.tag[..tag_len(at)]);
            } else {
                let right = given(packet.tag, tag_len(at)).is_ok_and(|tag| begins(&job.tag, tag).into());
                packet.status = if right { Status::Good } else { Status::Authentication };
                // The right tag of a packet that somebody has forged is nobody's business.
                job.tag.zeroize();
            }
        }
    }
}

/// Returns the bytes of a packet's span before anything is written.
#[inline(always)]
unsafe fn input<'a>(packet: &Packet) -> &'a [u8] {
    // SAFETY: as the caller says; `Kinds::of` found that they lie in one piece.
    unsafe { std::slice::from_raw_parts(packet.source, packet.length as usize) }
}
