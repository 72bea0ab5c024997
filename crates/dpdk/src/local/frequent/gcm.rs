//! Packets of AES-GCM.
//!
//! # Safety
//! As for [the folder](super).
#![allow(unsafe_code)]

use millstream::gcm::{GcmJob, GcmLanes};

use super::kinds::{Kind, Kinds, List, data, with_all};
use crate::local::begin::given;
use crate::local::status;
use crate::packet::{Packet, Status};

/// Seals or opens packets from the first on, as many as are frequent ones of that direction. Returns how many those were.
///
/// # Safety
/// See the module; so for all that follow.
#[inline(never)]
pub unsafe fn run(packets: &mut [Packet], lanes: &GcmLanes, forward: bool) -> usize {
    let (mut kinds, mut jobs) = (Kinds::default(), List::new());
    for packet in &*packets {
        // SAFETY: as the caller says.
        unsafe {
            let Some(Kind::Gcm(step, key)) = kinds.of(packet) else { break };
            let is_plain = packet.cipher_at == 0 && packet.cipher_length == packet.length;
            let nonce = given(packet.iv, step.iv_len);
            let aad = given(packet.aad, step.aad_len);
            let tag = given(packet.tag, step.tag_len);
            let (Ok(nonce), Ok(aad), Ok(tag)) = (nonce, aad, tag) else { break };
            let is_apart = !covers(packet, nonce) && !covers(packet, aad);
            if step.forward != forward || !is_plain || !is_apart || tag.len() > 16 {
                break;
            }
            jobs.push(GcmJob::new(key, nonce, aad, data(packet, 0)));
            if let Some(job) = jobs.last_mut() {
                job.tag_len = tag.len();
                if !forward {
                    job.tag[..tag.len()].copy_from_slice(tag);
                }
            }
        }
    }
    with_all(&mut jobs, |jobs| if forward { lanes.seal(jobs) } else { lanes.open(jobs) });
    for (packet, job) in packets.iter_mut().zip(&jobs) {
        packet.status = status(job.result);
        if forward && packet.status == Status::Good {
            // SAFETY: as the caller says; the length was compared above.
            unsafe { packet.give_tag(&job.tag[..job.tag_len]) };
        }
    }
    jobs.len()
}

/// Returns true if bytes that are read overlap what is written.
#[inline(always)]
fn covers(packet: &Packet, bytes: &[u8]) -> bool {
    let (written, read) = (packet.destination as usize, bytes.as_ptr() as usize);
    !bytes.is_empty() && written < read + bytes.len() && read < written + packet.length as usize
}
