//! The requests that a packet's steps are.
//!
//! # Safety
//! Packets are as [`crate::packet`] says.
#![allow(unsafe_code)]

use millstream::queue::{Buffer, KeyHandle, Request};

use crate::algorithms::Engine;
use crate::bits::F9Frame;
use crate::geometry::Region;
use crate::packet::{Packet, Status};
use crate::session::{LONGEST_IV, Plan, Step};

/// Makes the request for an encryption with the HMAC of what it makes, or for the way back. `block` gets what the cipher begins with.
///
/// # Safety
/// See the module.
pub unsafe fn combined<'a>(
    plan: &Plan<KeyHandle>,
    packet: &Packet,
    clear: usize,
    source: Buffer,
    destination: Option<Buffer>,
    block: &'a mut [u8; LONGEST_IV],
) -> Result<Request<'a>, Status> {
    let (Some(second), Some(destination)) = (&plan.second, destination) else { return Err(Status::Argument) };
    let (cipher, auth) = if second.is_cipher() { (second, &plan.first) } else { (&plan.first, second) };
    let (Some(key), Some(mac_key)) = (cipher.key, auth.key) else { return Err(Status::Argument) };
    // SAFETY: as the caller says.
    let (iv, tag) = unsafe { (given(packet.iv, cipher.iv_len)?, given(packet.tag, auth.tag_len)?) };
    let len = cipher.begin_with(iv, block);
    let iv = &block[..len];
    let clear = clear as u32;
    Ok(if cipher.forward {
        Request::encrypt_then_mac(key, iv, mac_key, clear, source, destination)
    } else {
        Request::mac_then_decrypt(key, iv, mac_key, clear, source, destination, tag)
    })
}

/// Makes the request of one step. What is read beside the data lies in `aside`: all that AES-GCM authenticates where it encrypts
/// nothing, or COUNT and FRESH of KASUMI F9. `block` gets what the algorithm begins with.
///
/// # Safety
/// See the module.
pub unsafe fn single<'a>(
    step: &Step<KeyHandle>,
    packet: &Packet,
    region: Region,
    source: Buffer,
    destination: Option<Buffer>,
    aside: &'a [u8],
    block: &'a mut [u8; LONGEST_IV],
) -> Result<Request<'a>, Status> {
    // SAFETY: as the caller says.
    unsafe {
        let tag = if step.has_tag() { given(packet.tag, step.tag_len)? } else { &[] };
        let iv = given(if step.is_auth() { packet.auth_iv } else { packet.iv }, step.iv_len)?;
        let len = step.begin_with(iv, block);
        let iv = &block[..len];
        Ok(match (step.engine, step.key, destination) {
            (Engine::Digest(hash), ..) => Request::digest(hash, source),
            (Engine::Cipher(_) | Engine::KasumiF8, Some(key), Some(destination)) => {
                let request = if step.forward {
                    Request::encrypt(key, iv, source, destination)
                } else {
                    Request::decrypt(key, iv, source, destination)
                };
                if step.engine == Engine::KasumiF8 {
                    request.with_parameter((8 * region.len - region.bits) as u8, 0).with_any_start()
                } else {
                    request
                }
            }
            (Engine::Aead(_), Some(key), Some(destination)) => {
                aead(step, key, iv, given(packet.aad, step.aad_len)?, tag, source, destination)
            }
            (Engine::Gmac, Some(key), Some(destination)) => {
                aead(step, key, iv, aside, tag, source, destination)
            }
            (Engine::KasumiF9, Some(key), None) => f9(step, key, aside, source, tag)?,
            (_, Some(key), None) if step.forward => Request::mac(key, source),
            (_, Some(key), None) => Request::verify(key, source, tag),
            _ => return Err(Status::Argument),
        })
    }
}

fn aead<'a>(
    step: &Step<KeyHandle>,
    key: KeyHandle,
    nonce: &'a [u8],
    aad: &'a [u8],
    tag: &'a [u8],
    source: Buffer,
    destination: Buffer,
) -> Request<'a> {
    match tag.try_into() {
        _ if step.forward => Request::seal(key, nonce, aad, source, destination),
        Ok(whole) => Request::open(key, nonce, aad, source, destination, whole),
        Err(_) => Request::open_cut(key, nonce, aad, source, destination, tag, step.tag_len),
    }
}

/// Makes the request of KASUMI F9, whose message is taken out of its frame; `start` is COUNT and FRESH.
fn f9<'a>(
    step: &Step<KeyHandle>,
    key: KeyHandle,
    start: &'a [u8],
    mut source: Buffer,
    tag: &'a [u8],
) -> Result<Request<'a>, Status> {
    let frame = F9Frame::new(&source).ok_or(Status::Argument)?;
    let (direction, bits, len) = (frame.direction, frame.bits, frame.message.len());
    source.copy_within(8..8 + len, 0);
    source.set_len(len);
    let request = if step.forward { Request::mac(key, source) } else { Request::verify(key, source, tag) };
    Ok(request.with_iv(start).with_parameter((8 * len - bits) as u8, direction))
}

unsafe fn given<'a>(at: *const u8, len: usize) -> Result<&'a [u8], Status> {
    // SAFETY: as the caller says.
    let bytes = unsafe { Packet::given(at, len) };
    if bytes.len() == len { Ok(bytes) } else { Err(Status::Argument) }
}
