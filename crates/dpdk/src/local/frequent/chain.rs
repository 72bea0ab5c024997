//! Ciphers with an HMAC of what they make, as ESP has them: bytes in clear and what is encrypted behind them, all of which is authenticated.
//!
//! # Safety
//! As for [the folder](super).
#![allow(unsafe_code)]

use millstream::hash::Hash;
use millstream::hmac::HmacJob;

use super::cipher::{Cipher, begin};
use super::kinds::{Chain, Kind, Kinds, Lanes, List, data, has_one_place, with_all};
use super::mac;
use crate::packet::{Packet, Status};

/// A packet's keys, and how many of its bytes are in clear.
#[derive(Clone, Copy)]
struct Part<'a> {
    chain: Chain<'a>,
    clear: usize,
}

/// Executes packets from the first on, as many as are frequent ones of that cipher, hash and direction. Returns how many those were.
///
/// # Safety
/// See the module; so for all that follow.
#[inline(never)]
pub unsafe fn run<C: Cipher>(packets: &mut [Packet], lanes: &Lanes, forward: bool, hash: Hash) -> usize {
    let (mut kinds, mut parts) = (Kinds::default(), List::new());
    for packet in &*packets {
        // SAFETY: as the caller says.
        match unsafe { part::<C>(&mut kinds, packet) } {
            Some(part) if part.chain.cipher.forward == forward && part.chain.key.hash() == hash => {
                parts.push(part);
            }
            _ => break,
        }
    }
    let packets = &mut packets[..parts.len()];
    // SAFETY: as the caller says. No job of the one is there when those of the other are made.
    unsafe {
        if forward {
            packets.iter_mut().for_each(|packet| packet.status = Status::Good);
            ciphers::<C>(packets, &parts, lanes, forward);
            macs(packets, &parts, lanes, forward, hash);
        } else {
            macs(packets, &parts, lanes, forward, hash);
            ciphers::<C>(packets, &parts, lanes, forward);
        }
    }
    parts.len()
}

/// Returns the part of a packet that is authenticated as a whole, and encrypted to its end; none for another one.
#[inline(always)]
unsafe fn part<'a, C: Cipher>(kinds: &mut Kinds<'a>, packet: &Packet) -> Option<Part<'a>> {
    // SAFETY: as the caller says.
    unsafe {
        let Some(Kind::Chain(chain)) = kinds.of(packet) else { return None };
        let clear = packet.length.checked_sub(packet.cipher_length)?;
        let is_plain =
            packet.auth_at == 0 && packet.auth_length == packet.length && packet.cipher_at == clear;
        // A tag in what is authenticated is wrong, and the general way says so.
        let has_tag = !packet.tag.is_null() && packet.tag_at >= packet.length;
        // A cipher that wants something else is found out before anything is computed.
        let begins = chain.cipher.key.as_ref().is_some_and(C::has) && !packet.iv.is_null();
        let is_whole = (packet.cipher_length as usize).is_multiple_of(C::BLOCK);
        (is_plain && has_tag && begins && is_whole).then_some(Part { chain, clear: clear as usize })
    }
}

/// Encrypts or decrypts the packets that are good so far, and copies what they have in clear.
#[inline(always)]
unsafe fn ciphers<C: Cipher>(packets: &[Packet], parts: &[Part<'_>], lanes: &Lanes, forward: bool) {
    let mut jobs = List::new();
    for (packet, part) in packets.iter().zip(parts) {
        if packet.status != Status::Good {
            continue;
        }
        // SAFETY: as the caller says.
        unsafe {
            if !has_one_place(packet) {
                packet.destination.copy_from_nonoverlapping(packet.source, part.clear);
            }
            jobs.extend(begin::<C>(part.chain.cipher, packet, part.clear));
        }
    }
    with_all(&mut jobs, |jobs| C::run(lanes, jobs, forward));
}

/// Writes the tags of packets that were encrypted, or compares those of packets that are to be decrypted. A place of its own is zero where a tag is wrong.
#[inline(always)]
unsafe fn macs(packets: &mut [Packet], parts: &[Part<'_>], lanes: &Lanes, forward: bool, hash: Hash) {
    let mut jobs = List::new();
    for (packet, part) in packets.iter().zip(parts) {
        // SAFETY: as the caller says.
        unsafe {
            let from = if forward { packet.destination.cast_const() } else { packet.source };
            let message = std::slice::from_raw_parts(from, packet.length as usize);
            jobs.push(HmacJob::new(part.chain.key, message));
        }
    }
    // SAFETY: as the caller says.
    unsafe { mac::end(packets, &mut jobs, lanes.hmac(hash), |at| parts[at].chain.mac.tag_len, forward) };
    drop(jobs);
    for packet in packets.iter().filter(|packet| packet.status != Status::Good && !has_one_place(packet)) {
        // SAFETY: as the caller says.
        unsafe { data(packet, 0).output().fill(0) };
    }
}
