//! The most frequent packets, on bytes in one piece: AES-GCM; AES-CBC, AES-CTR and 3DES-CBC; HMAC; and those ciphers with an HMAC of what they make.
//! Their jobs are made in a list of their engine's own type, so nothing is sorted, and nobody asks of each what it is. Whatever is
//! unusual about a packet is left to the general way, which also says what is wrong with one.
//!
//! # Safety
//! As for [the folder](super).
#![allow(unsafe_code)]

mod chain;
mod cipher;
mod gcm;
mod kinds;
mod mac;

use millstream::Key;

use crate::packet::Packet;
use cipher::{AesCbc, AesCtr, DesCbc};
use kinds::{Kind, Kinds, lanes};

/// Executes packets from the first on, as many as are of its kind. Returns how many those were; each has its status then.
///
/// # Safety
/// See the module; so for all that follow. There are at most [`MANY`](super::MANY) packets.
pub unsafe fn run(packets: &mut [Packet]) -> usize {
    let (Some(lanes), Some(first)) = (lanes(), packets.first()) else { return 0 };
    // SAFETY: as the caller says.
    unsafe {
        match Kinds::default().of(first) {
            Some(Kind::Gcm(step, _)) => gcm::run(packets, &lanes.gcm, step.forward),
            Some(Kind::Mac(step, key)) => mac::run(packets, lanes.hmac(key.hash()), step.forward),
            Some(Kind::Cipher(step)) => match step.key {
                Some(Key::AesCbc(_)) => cipher::run::<AesCbc>(packets, lanes, step.forward),
                Some(Key::AesCtr(_)) => cipher::run::<AesCtr>(packets, lanes, step.forward),
                Some(Key::DesCbc(_)) => cipher::run::<DesCbc>(packets, lanes, step.forward),
                _ => 0,
            },
            Some(Kind::Chain(chain)) => {
                let (forward, hash) = (chain.cipher.forward, chain.key.hash());
                match chain.cipher.key {
                    Some(Key::AesCbc(_)) => chain::run::<AesCbc>(packets, lanes, forward, hash),
                    Some(Key::AesCtr(_)) => chain::run::<AesCtr>(packets, lanes, forward, hash),
                    Some(Key::DesCbc(_)) => chain::run::<DesCbc>(packets, lanes, forward, hash),
                    _ => 0,
                }
            }
            None => 0,
        }
    }
}
