//! The operations of a packet's steps.
//!
//! # Safety
//! As for [the folder](super).
#![allow(unsafe_code)]

use millstream::{InOut, Key, Operation};

use super::work::{Work, put};
use crate::algorithms::Engine;
use crate::bits::F9Frame;
use crate::geometry::{Region, combined};
use crate::packet::{Packet, Status};
use crate::session::{LONGEST_IV, Step};

/// Does something with a key. That of a frequent algorithm has the code to itself, so that its operation is made where it stays.
macro_rules! each {
    ($key:ident.$as:ident: $($frequent:ident),+ => |$name:ident| $make:expr) => {
        match $key {
            $(Key::$frequent($name) => $make,)+
            _ => {
                let $name = $key.$as().ok_or(Status::Argument)?;
                $make
            }
        }
    };
}

/// Adds the operation of a step to the list, in which it stays where it was made; none where there is nothing to compute.
///
/// # Safety
/// See the module.
#[inline]
pub unsafe fn begin<'a>(
    step: &'a Step<Key>,
    work: &mut Work<'a>,
    after_cipher: bool,
    list: &mut Vec<Operation<'a>>,
) -> Result<(), Status> {
    if work.plan.may_combine
        && !after_cipher
        && let Some(clear) = combined(work.plan, work.packet)
    {
        work.combined = true;
        // SAFETY: as the caller says.
        return unsafe { chained(work, clear, list) };
    }
    let region = Region::of(step, work.packet).ok_or(Status::Argument)?;
    if step.has_tag() && work.packet.tag.is_null() {
        return Err(Status::Argument);
    }
    // SAFETY: as the caller says; the region is in the span.
    unsafe {
        match step.engine {
            Engine::Cipher(_) | Engine::KasumiF8 => cipher(step, work, region, step.forward, list),
            Engine::Aead(_) => aead(step, work, region, list),
            Engine::NullCipher => {
                // All of the span is copied, as if nothing of it were the cipher's.
                work.copy_around(Region { at: 0, len: 0, bits: 0 });
                Ok(())
            }
            Engine::NullAuth => Ok(()),
            _ => auth(step, work, region, after_cipher, list),
        }
    }
}

/// Adds the operation of a cipher, in its direction or the other.
///
/// # Safety
/// See the module; so for all that follow.
#[inline]
pub unsafe fn cipher<'a>(
    step: &'a Step<Key>,
    work: &Work<'a>,
    region: Region,
    forward: bool,
    list: &mut Vec<Operation<'a>>,
) -> Result<(), Status> {
    let mut block = [0; LONGEST_IV];
    // SAFETY: as the caller says.
    let (len, data) = unsafe {
        let len = step.begin_with(given(work.packet.iv, step.iv_len)?, &mut block);
        work.copy_around(region);
        (len, work.data(region))
    };
    let iv = &block[..len];
    let key = step.key.as_ref().ok_or(Status::Argument)?;
    if let Key::KasumiF8(key) = key {
        let iv = *iv.first_chunk().ok_or(Status::Argument)?;
        put(list, || Operation::kasumi_f8_iv(key, iv, data, region.bits));
        return Ok(());
    }
    each!(key.as_cipher: AesCbc, AesCtr => |key| if forward {
        put(list, || Operation::encrypt(key, iv, data))
    } else {
        put(list, || Operation::decrypt(key, iv, data))
    });
    Ok(())
}

#[inline]
unsafe fn aead<'a>(
    step: &'a Step<Key>,
    work: &Work<'a>,
    region: Region,
    list: &mut Vec<Operation<'a>>,
) -> Result<(), Status> {
    let packet = &*work.packet;
    // SAFETY: as the caller says. What is read beside the data lies apart from them.
    unsafe {
        let (nonce, aad) = (given(packet.iv, step.iv_len)?, given(packet.aad, step.aad_len)?);
        if overlaps(work, region, nonce) || overlaps(work, region, aad) {
            return Err(Status::Argument);
        }
        let key = step.key.as_ref().ok_or(Status::Argument)?;
        work.copy_around(region);
        let data = work.data(region);
        if step.forward {
            each!(key.as_aead: AesGcm, ChaCha20Poly1305 => |key| put(list, || Operation::seal(key, nonce, aad, data)));
            return Ok(());
        }
        let tag = given(packet.tag, step.tag_len)?;
        let Ok(whole) = tag.try_into() else {
            let key = key.as_aead().ok_or(Status::Argument)?;
            put(list, || Operation::open_cut(key, nonce, aad, data, tag, step.tag_len));
            return Ok(());
        };
        each!(key.as_aead: AesGcm, ChaCha20Poly1305 => |key| {
            put(list, || Operation::open(key, nonce, aad, data, whole))
        });
    }
    Ok(())
}

/// Both steps as one operation on the whole span: encryption with the HMAC of what it makes, or the way back.
#[inline]
unsafe fn chained<'a>(work: &Work<'a>, clear: usize, list: &mut Vec<Operation<'a>>) -> Result<(), Status> {
    let (first, second) = (&work.plan.first, work.plan.second.as_ref().ok_or(Status::Argument)?);
    let (cipher, auth) = if second.is_cipher() { (second, first) } else { (first, second) };
    let whole = Region { at: 0, len: work.packet.length as usize, bits: 0 };
    let (Some(key), Some(Key::Hmac(mac))) = (&cipher.key, &auth.key) else { return Err(Status::Argument) };
    if work.packet.tag.is_null() || work.packet.tag_at < work.packet.length {
        return Err(Status::Argument);
    }
    let mut block = [0; LONGEST_IV];
    // SAFETY: as the caller says; the tag does not begin in the span.
    unsafe {
        let len = cipher.begin_with(given(work.packet.iv, cipher.iv_len)?, &mut block);
        let iv = &block[..len];
        if auth.forward {
            each!(key.as_cipher: AesCbc, AesCtr => |key| {
                put(list, || Operation::encrypt_then_mac(key, iv, mac, clear, work.data(whole)))
            });
        } else {
            let tag = given(work.packet.tag, auth.tag_len)?;
            each!(key.as_cipher: AesCbc, AesCtr => |key| {
                put(list, || Operation::mac_then_decrypt(key, iv, mac, clear, work.data(whole), tag))
            });
        }
    }
    Ok(())
}

#[inline]
unsafe fn auth<'a>(
    step: &'a Step<Key>,
    work: &Work<'a>,
    region: Region,
    after_cipher: bool,
    list: &mut Vec<Operation<'a>>,
) -> Result<(), Status> {
    let packet = &*work.packet;
    // SAFETY: as the caller says. Nothing of it is written in this step.
    let (message, tag) = unsafe {
        let tag = if step.forward { &[] } else { given(work.tag_place(), step.tag_len)? };
        (work.message(region, after_cipher), tag)
    };
    let verifies = !step.forward;
    match (step.engine, &step.key) {
        (Engine::Digest(hash), _) => put(list, || Operation::digest(hash, message)),
        (Engine::Gmac, Some(Key::AesGcm(key))) => {
            // SAFETY: as the caller says.
            let nonce = unsafe { given(packet.auth_iv, step.iv_len)? };
            let nothing = InOut::in_place(&mut []);
            if verifies {
                put(list, || Operation::open_cut(key, nonce, message, nothing, tag, step.tag_len));
            } else {
                put(list, || Operation::seal(key, nonce, message, nothing));
            }
        }
        (Engine::KasumiF9, Some(Key::KasumiF9(key))) => {
            let frame = F9Frame::new(message).ok_or(Status::Argument)?;
            let F9Frame { count, fresh, direction, message, bits } = frame;
            match tag.try_into() {
                Ok(code) if verifies => {
                    put(list, || {
                        Operation::verify_kasumi_f9(key, count, fresh, direction, message, bits, code)
                    });
                }
                _ => put(list, || Operation::kasumi_f9(key, count, fresh, direction, message, bits)),
            }
        }
        (_, Some(key)) => {
            let key = key.as_mac().ok_or(Status::Argument)?;
            list.push(if verifies {
                Operation::verify(key, message, tag)
            } else {
                Operation::mac(key, message)
            });
        }
        (_, None) => return Err(Status::Argument),
    }
    Ok(())
}

/// Returns bytes that the packet has to give; it is wrong where there are none.
#[inline]
pub unsafe fn given<'a>(at: *const u8, len: usize) -> Result<&'a [u8], Status> {
    // SAFETY: as the caller says.
    let bytes = unsafe { Packet::given(at, len) };
    if bytes.len() == len { Ok(bytes) } else { Err(Status::Argument) }
}

/// Returns true if bytes that are read overlap what is written.
#[inline]
fn overlaps(work: &Work<'_>, region: Region, bytes: &[u8]) -> bool {
    let (written, read) = (work.output as usize + region.at, bytes.as_ptr() as usize);
    !bytes.is_empty() && written < read + bytes.len() && read < written + region.len
}
