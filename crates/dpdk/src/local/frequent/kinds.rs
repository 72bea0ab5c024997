//! The kinds of frequent packets, their keys and their engines.
//!
//! # Safety
//! As for [the folder](super).
#![allow(unsafe_code)]

use std::sync::OnceLock;

use arrayvec::ArrayVec;
use millstream::aes::{CbcLanes, CtrLanes};
use millstream::gcm::{Gcm, GcmLanes};
use millstream::hash::Hash;
use millstream::hmac::{HmacKey, HmacLanes};
use millstream::{Features, InOut, Key, des};

use crate::algorithms::Engine;
use crate::local::MANY;
use crate::packet::Packet;
use crate::session::{Plan, Session, Step};

/// A list of as many jobs as packets are executed at a time. It lies on the stack: a list from the heap costs a burst of 32 some ns a packet.
pub type List<J> = ArrayVec<J, MANY>;

/// The engines.
pub struct Lanes {
    pub gcm: GcmLanes,
    pub aes_cbc: CbcLanes,
    pub aes_ctr: CtrLanes,
    pub des_cbc: des::CbcLanes,
    hmac: [HmacLanes; Hash::ALL.len()],
}

impl Lanes {
    fn new(features: Features) -> Self {
        Lanes {
            gcm: GcmLanes::new(features),
            aes_cbc: CbcLanes::new(features),
            aes_ctr: CtrLanes::new(features),
            des_cbc: des::CbcLanes::new(features),
            hmac: Hash::ALL.map(|hash| HmacLanes::new(features, hash)),
        }
    }

    pub fn hmac(&self, hash: Hash) -> &HmacLanes {
        &self.hmac[hash as usize]
    }
}

/// Returns the lanes of the engines; none where the features are not known, which the general way reports.
pub fn lanes() -> Option<&'static Lanes> {
    static LANES: OnceLock<Option<Box<Lanes>>> = OnceLock::new();
    LANES.get_or_init(|| Some(Box::new(Lanes::new(millstream::features().ok()?)))).as_deref()
}

/// The kind of a session's packets, with its keys.
#[derive(Clone, Copy)]
pub enum Kind<'a> {
    Gcm(&'a Step<Key>, &'a Gcm),
    Cipher(&'a Step<Key>),
    Mac(&'a Step<Key>, &'a HmacKey),
    Chain(Chain<'a>),
}

/// A cipher, and an HMAC of what it makes.
#[derive(Clone, Copy)]
pub struct Chain<'a> {
    pub cipher: &'a Step<Key>,
    pub mac: &'a Step<Key>,
    pub key: &'a HmacKey,
}

impl<'a> Kind<'a> {
    fn of(plan: &'a Plan<Key>) -> Option<Self> {
        let first = &plan.first;
        match (&plan.second, first.engine, &first.key) {
            (None, Engine::Aead(_), Some(Key::AesGcm(key))) => Some(Kind::Gcm(first, key)),
            (None, Engine::Cipher(_), _) => Some(Kind::Cipher(first)),
            (None, Engine::Mac(_), Some(Key::Hmac(key))) if first.has_tag() => Some(Kind::Mac(first, key)),
            (Some(second), ..) if plan.may_combine => {
                let (cipher, mac) = if first.is_cipher() { (first, second) } else { (second, first) };
                let Some(Key::Hmac(key)) = &mac.key else { return None };
                Some(Kind::Chain(Chain { cipher, mac, key }))
            }
            _ => None,
        }
    }
}

/// The kinds of packets, one after another. Packets of one session mostly follow each other, so its kind is found once for all of them.
pub struct Kinds<'a> {
    last: *const Session,
    kind: Option<Kind<'a>>,
}

impl Default for Kinds<'_> {
    fn default() -> Self {
        Kinds { last: std::ptr::null(), kind: None }
    }
}

impl<'a> Kinds<'a> {
    /// Returns the kind of a packet whose bytes lie in one piece, if it is a frequent one.
    #[inline(always)]
    pub unsafe fn of(&mut self, packet: &Packet) -> Option<Kind<'a>> {
        if !std::ptr::eq(self.last, packet.session) {
            // SAFETY: as the caller says; a session outlives its packets.
            self.kind = match unsafe { packet.session.as_ref() } {
                Some(Session::Here(plan)) => Kind::of(plan),
                _ => None,
            };
            self.last = packet.session;
        }
        self.kind.filter(|_| packet.whole().is_some() && !packet.overlaps_itself())
    }
}

/// Returns the bytes of a packet's span from `at` on, which lies in one piece.
#[inline(always)]
pub unsafe fn data<'a>(packet: &Packet, at: usize) -> InOut<'a> {
    let len = packet.length as usize - at;
    // SAFETY: as the caller says. Source and destination are the same or apart: `Kinds::of` has asked.
    unsafe {
        let output = std::slice::from_raw_parts_mut(packet.destination.add(at), len);
        if has_one_place(packet) {
            return InOut::in_place(output);
        }
        let input = std::slice::from_raw_parts(packet.source.add(at), len);
        InOut::separate(input, output).expect("both have one length")
    }
}

/// Returns true if the result of a packet that lies in one piece takes the place of its source.
#[inline(always)]
pub fn has_one_place(packet: &Packet) -> bool {
    std::ptr::eq(packet.source, packet.destination)
}

/// Calls a function that takes references to jobs.
#[inline(always)]
pub fn with_all<J>(jobs: &mut [J], run: impl FnOnce(&mut [&mut J])) {
    let mut all = List::new();
    all.extend(jobs);
    run(&mut all);
}
