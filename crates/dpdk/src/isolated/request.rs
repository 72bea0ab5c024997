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

/// Makes the request for an encryption with the HMAC of what it makes, or for the way back, in place. `block` gets what the cipher begins with.
///
/// # Safety
/// See the module.
pub unsafe fn combined<'a>(
    plan: &Plan<KeyHandle>,
    packet: &Packet,
    clear: usize,
    buffer: Buffer,
    block: &'a mut [u8; LONGEST_IV],
) -> Result<Request<'a>, Status> {
    let Some(second) = &plan.second else { return Err(Status::Argument) };
    let (cipher, auth) = if second.is_cipher() { (second, &plan.first) } else { (&plan.first, second) };
    let (Some(key), Some(mac_key)) = (cipher.key, auth.key) else { return Err(Status::Argument) };
    // SAFETY: as the caller says.
    let (iv, tag) = unsafe { (given(packet.iv, cipher.iv_len)?, given(packet.tag, auth.tag_len)?) };
    let iv = cipher.start(iv, block);
    let clear = clear as u32;
    Ok(if cipher.forward {
        Request::encrypt_then_mac(key, iv, mac_key, clear, None, buffer)
    } else {
        Request::mac_then_decrypt(key, iv, mac_key, clear, None, buffer, tag)
    })
}

/// Makes the request of one step, in place where it has another output than a code. What is read beside the data lies in `aside`: all that AES-GCM authenticates where it encrypts
/// nothing, or COUNT and FRESH of KASUMI F9. `block` gets what the algorithm begins with.
///
/// # Safety
/// See the module.
pub unsafe fn single<'a>(
    step: &Step<KeyHandle>,
    packet: &Packet,
    region: Region,
    buffer: Buffer,
    aside: &'a [u8],
    block: &'a mut [u8; LONGEST_IV],
) -> Result<Request<'a>, Status> {
    // SAFETY: as the caller says.
    unsafe {
        let tag = if step.has_tag() { given(packet.tag, step.tag_len)? } else { &[] };
        let iv = given(if step.is_auth() { packet.auth_iv } else { packet.iv }, step.iv_len)?;
        let iv = step.start(iv, block);
        Ok(match (step.engine, step.key) {
            (Engine::Digest(hash), _) => Request::digest(hash, buffer),
            (Engine::Cipher(_) | Engine::KasumiF8, Some(key)) => {
                let request = if step.forward {
                    Request::encrypt(key, iv, None, buffer)
                } else {
                    Request::decrypt(key, iv, None, buffer)
                };
                if step.engine == Engine::KasumiF8 {
                    request.with_parameter((8 * region.len - region.bits) as u8, 0).with_any_start()
                } else {
                    request
                }
            }
            (Engine::Aead(_), Some(key)) => {
                aead(step, key, iv, given(packet.aad, step.aad_len)?, tag, buffer)
            }
            (Engine::Gmac, Some(key)) => aead(step, key, iv, aside, tag, buffer),
            (Engine::KasumiF9, Some(key)) => f9(step, key, aside, buffer, tag)?,
            (_, Some(key)) if step.forward => Request::mac(key, buffer),
            (_, Some(key)) => Request::verify(key, buffer, tag),
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
    buffer: Buffer,
) -> Request<'a> {
    match tag.try_into() {
        _ if step.forward => Request::seal(key, nonce, aad, None, buffer),
        Ok(whole) => Request::open(key, nonce, aad, None, buffer, whole),
        Err(_) => Request::open_cut(key, nonce, aad, None, buffer, tag, step.tag_len),
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
