//! Ciphers alone.
//!
//! # Safety
//! As for [the folder](super).
#![allow(unsafe_code)]

use millstream::aes::{CbcJob, CtrJob};
use millstream::{InOut, Key, des};

use super::kinds::{Kind, Kinds, Lanes, List, data, with_all};
use crate::local::begin::given;
use crate::packet::{Packet, Status};
use crate::session::{LONGEST_IV, Step};

/// A cipher whose packets are frequent.
pub trait Cipher {
    /// The engine's own job.
    type Job<'a>;

    /// Bytes of data come in multiples of this.
    const BLOCK: usize;

    /// Returns true for a key of this cipher.
    fn has(key: &Key) -> bool;

    /// Makes the job of data that begins with these bytes; none if the key is another cipher's.
    fn job<'a>(key: &'a Key, begin: &[u8; LONGEST_IV], data: InOut<'a>) -> Option<Self::Job<'a>>;

    /// Executes jobs of one direction.
    fn run(lanes: &Lanes, jobs: &mut [&mut Self::Job<'_>], forward: bool);
}

/// AES-CBC.
pub enum AesCbc {}

impl Cipher for AesCbc {
    type Job<'a> = CbcJob<'a>;
    const BLOCK: usize = 16;

    #[inline(always)]
    fn has(key: &Key) -> bool {
        matches!(key, Key::AesCbc(_))
    }

    #[inline(always)]
    fn job<'a>(key: &'a Key, begin: &[u8; LONGEST_IV], data: InOut<'a>) -> Option<CbcJob<'a>> {
        let Key::AesCbc(key) = key else { return None };
        Some(CbcJob { key, iv: *begin, data })
    }

    #[inline(always)]
    fn run(lanes: &Lanes, jobs: &mut [&mut CbcJob<'_>], forward: bool) {
        if forward { lanes.aes_cbc.encrypt(jobs) } else { lanes.aes_cbc.decrypt(jobs) }
    }
}

/// AES-CTR.
pub enum AesCtr {}

impl Cipher for AesCtr {
    type Job<'a> = CtrJob<'a>;
    const BLOCK: usize = 1;

    #[inline(always)]
    fn has(key: &Key) -> bool {
        matches!(key, Key::AesCtr(_))
    }

    #[inline(always)]
    fn job<'a>(key: &'a Key, begin: &[u8; LONGEST_IV], data: InOut<'a>) -> Option<CtrJob<'a>> {
        let Key::AesCtr(key) = key else { return None };
        Some(CtrJob { key, counter: *begin, data })
    }

    #[inline(always)]
    fn run(lanes: &Lanes, jobs: &mut [&mut CtrJob<'_>], _: bool) {
        lanes.aes_ctr.apply(jobs);
    }
}

/// DES-CBC and 3DES-CBC.
pub enum DesCbc {}

impl Cipher for DesCbc {
    type Job<'a> = des::CbcJob<'a>;
    const BLOCK: usize = 8;

    #[inline(always)]
    fn has(key: &Key) -> bool {
        matches!(key, Key::DesCbc(_))
    }

    #[inline(always)]
    fn job<'a>(key: &'a Key, begin: &[u8; LONGEST_IV], data: InOut<'a>) -> Option<des::CbcJob<'a>> {
        let (Key::DesCbc(key), Some(iv)) = (key, begin.first_chunk()) else { return None };
        Some(des::CbcJob { key, iv: *iv, data })
    }

    #[inline(always)]
    fn run(lanes: &Lanes, jobs: &mut [&mut des::CbcJob<'_>], forward: bool) {
        if forward { lanes.des_cbc.encrypt(jobs) } else { lanes.des_cbc.decrypt(jobs) }
    }
}

/// Executes packets from the first on, as many as are frequent ones of that cipher and direction. Returns how many those were.
///
/// # Safety
/// See the module; so for all that follow.
#[inline(never)]
pub unsafe fn run<C: Cipher>(packets: &mut [Packet], lanes: &Lanes, forward: bool) -> usize {
    let (mut kinds, mut jobs) = (Kinds::default(), List::new());
    for packet in &*packets {
        // SAFETY: as the caller says.
        unsafe {
            let Some(Kind::Cipher(step)) = kinds.of(packet) else { break };
            let is_plain = packet.cipher_at == 0 && packet.cipher_length == packet.length;
            if step.forward != forward || !is_plain {
                break;
            }
            let Some(job) = begin::<C>(step, packet, 0) else { break };
            jobs.push(job);
        }
    }
    with_all(&mut jobs, |jobs| C::run(lanes, jobs, forward));
    packets.iter_mut().zip(&jobs).for_each(|(packet, _)| packet.status = Status::Good);
    jobs.len()
}

/// Makes the job of a packet's bytes from `at` on; none where something is unusual or wrong.
#[inline(always)]
pub unsafe fn begin<'a, C: Cipher>(step: &'a Step<Key>, packet: &Packet, at: usize) -> Option<C::Job<'a>> {
    // SAFETY: as the caller says.
    unsafe {
        let iv = given(packet.iv, step.iv_len).ok()?;
        let data = data(packet, at);
        let mut block = [0; LONGEST_IV];
        step.begin_with(iv, &mut block);
        let is_whole = data.len().is_multiple_of(C::BLOCK);
        step.key.as_ref().filter(|_| is_whole).and_then(|key| C::job(key, &block, data))
    }
}
