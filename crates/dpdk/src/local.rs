//! A burst in lanes, on the thread that asks for it.
//!
//! # Safety
//! Packets are as [`crate::packet`] says. Each packet has a place of its own: the bytes of its mbufs, where they lie in one piece, or a copy
//! of its span. References into a place are made for one step, and are gone before the next one begins.
#![allow(unsafe_code)]

use std::ops::Range;

use millstream::compare::begins;
use millstream::{EngineError, InOut, Key, Operation};
use zeroize::Zeroizing;

use crate::algorithms::Engine;
use crate::bits::{F8Start, F9Frame};
use crate::geometry::{Region, combined, encrypted_tag};
use crate::packet::{Packet, Status};
use crate::session::{Plan, Session, Step};

/// The number of packets that are executed at a time: as many as the widest lanes take.
const MANY: usize = 512;

/// The longest initialisation vector of a cipher, in bytes.
const LONGEST_IV: usize = 16;

/// Executes the operations of a burst. Each packet has its status then.
///
/// # Safety
/// See the module.
pub unsafe fn run(packets: &mut [Packet]) {
    let mut tags = Vec::with_capacity(64 * packets.len().min(MANY));
    for burst in packets.chunks_mut(MANY) {
        tags.clear();
        // SAFETY: as the caller says.
        unsafe {
            let mut works = Vec::with_capacity(burst.len());
            works.extend(burst.iter_mut().filter_map(|packet| Work::new(packet)));
            for number in 0..2 {
                if !step(number, &mut works, &mut tags) {
                    break;
                }
            }
            works.iter_mut().for_each(|work| work.finish(&tags));
        }
    }
}

/// A packet under way.
struct Work<'a> {
    packet: &'a mut Packet,
    plan: &'a Plan<Key>,
    /// The span's bytes, and the place for the result: the same, or apart.
    input: *const u8,
    output: *mut u8,
    /// The copy of the span where it does not lie in one piece.
    copy: Option<Zeroizing<Vec<u8>>>,
    /// The place of the tag that was computed among the tags of the burst.
    tag: Range<usize>,
    /// The place of the tag in the span where the cipher covers it.
    encrypted_tag: Option<usize>,
    /// True if one operation does both steps.
    combined: bool,
}

impl<'a> Work<'a> {
    /// Begins with a packet. One whose session is no local one, or whose places overlap, has failed.
    ///
    /// # Safety
    /// See the module.
    #[inline]
    unsafe fn new(packet: &'a mut Packet) -> Option<Self> {
        packet.status = Status::Good;
        // SAFETY: as the caller says.
        let session = unsafe { packet.session.as_ref() };
        let Some(Session::Here(plan)) = session.filter(|_| !packet.overlaps_itself()) else {
            packet.status = Status::Argument;
            return None;
        };
        let encrypted_tag = encrypted_tag(plan, packet);
        // A tag that is encrypted is put between the bytes, so they are changed where they lie.
        let usable = packet.whole().filter(|_| encrypted_tag.is_none() || packet.is_in_place());
        let mut work = match usable {
            Some((input, output)) => {
                Work { packet, plan, input, output, copy: None, tag: 0..0, encrypted_tag, combined: false }
            }
            None => {
                let mut copy = Zeroizing::new(vec![0; packet.length as usize]);
                // SAFETY: as the caller says.
                unsafe { packet.read(0, &mut copy) };
                let (input, output) = (copy.as_ptr(), std::ptr::null_mut());
                let copy = Some(copy);
                Work { packet, plan, input, output, copy, tag: 0..0, encrypted_tag, combined: false }
            }
        };
        if let Some(copy) = &mut work.copy {
            work.output = copy.as_mut_ptr();
            work.input = work.output;
        }
        Some(work)
    }

    /// Returns the place of the tag.
    fn tag_place(&self) -> *mut u8 {
        match self.encrypted_tag {
            // `encrypted_tag` found that it is in the span.
            Some(at) => self.output.wrapping_add(at),
            None => self.packet.tag,
        }
    }

    fn is_in_place(&self) -> bool {
        std::ptr::eq(self.input, self.output)
    }

    /// Returns bytes to be changed.
    ///
    /// # Safety
    /// See the module. The region is in the span.
    #[inline]
    unsafe fn data<'d>(&self, region: Region) -> InOut<'d> {
        // SAFETY: as the caller says. Input and output are the same or apart, by `Packet::overlaps_itself`.
        unsafe {
            let output = std::slice::from_raw_parts_mut(self.output.add(region.at), region.len);
            if self.is_in_place() {
                return InOut::in_place(output);
            }
            let input = std::slice::from_raw_parts(self.input.add(region.at), region.len);
            InOut::separate(input, output).expect("both have the region's length")
        }
    }

    /// Returns bytes to be authenticated: what was there, or what the cipher has made of it.
    ///
    /// # Safety
    /// See the module. The region is in the span.
    #[inline]
    unsafe fn message<'d>(&self, region: Region, after_cipher: bool) -> &'d [u8] {
        let from = if after_cipher { self.output.cast_const() } else { self.input };
        // SAFETY: as the caller says.
        unsafe { std::slice::from_raw_parts(from.add(region.at), region.len) }
    }

    /// Copies those bytes of the span that a cipher doesn't change.
    ///
    /// # Safety
    /// See the module. The region is in the span.
    unsafe fn copy_around(&self, region: Region) {
        if self.is_in_place() {
            return;
        }
        let behind = self.packet.length as usize - region.end();
        // SAFETY: as the caller says; the two are apart.
        unsafe {
            self.output.copy_from_nonoverlapping(self.input, region.at);
            self.output.add(region.end()).copy_from_nonoverlapping(self.input.add(region.end()), behind);
        }
    }

    /// Ends with the packet: puts a copy where it belongs, and then the tag.
    ///
    /// # Safety
    /// See the module.
    unsafe fn finish(&mut self, tags: &[u8]) {
        if self.packet.status != Status::Good {
            return;
        }
        // SAFETY: as the caller says.
        unsafe {
            let is_auth_only = self.plan.second.is_none() && self.plan.first.is_auth();
            match &self.copy {
                // Data that is only authenticated stays where it was.
                Some(_) if is_auth_only && self.packet.is_in_place() => {}
                Some(copy) => self.packet.write(0, copy),
                None if is_auth_only => self.copy_around(Region { at: 0, len: 0, bits: 0 }),
                None => return,
            }
            self.packet.give_tag(&tags[self.tag.clone()]);
        }
    }
}

/// Executes the steps of this number, those of one kind side by side. Returns false where no packet has such a step.
///
/// # Safety
/// See the module.
unsafe fn step(number: usize, works: &mut [Work<'_>], tags: &mut Vec<u8>) -> bool {
    let mut operations = Vec::with_capacity(works.len());
    let mut whose = Vec::with_capacity(works.len());
    let mut any = false;
    for (place, work) in works.iter_mut().enumerate() {
        let is_over = work.packet.status != Status::Good || number > 0 && work.combined;
        let Some(step) = work.plan.step(number).filter(|_| !is_over) else { continue };
        any = true;
        // SAFETY: as the caller says.
        match unsafe { begin(step, work, number > 0, &mut operations) } {
            Ok(()) if operations.len() > whose.len() => whose.push(place),
            Ok(()) => {}
            Err(status) => work.packet.status = status,
        }
    }
    if operations.is_empty() {
        return any;
    }
    let ran = millstream::batch(&mut operations);
    let mut outcomes = Vec::with_capacity(whose.len());
    for (operation, place) in operations.iter().zip(&whose) {
        let work = &works[*place];
        let step = work.plan.step(number).expect("it has begun");
        let step =
            if work.combined { work.plan.steps().find(|step| step.is_auth()).unwrap_or(step) } else { step };
        let status = if ran.is_ok() { status(operation.result()) } else { Status::Failed };
        outcomes.push(if status == Status::Good {
            take_tag(step, operation, work, tags)
        } else {
            (status, 0)
        });
    }
    // No reference into a place is left.
    drop(operations);
    let mut at = tags.len() - outcomes.iter().map(|(_, len)| len).sum::<usize>();
    for (place, (status, len)) in whose.into_iter().zip(outcomes) {
        let work = &mut works[place];
        work.packet.status = status;
        // SAFETY: as the caller says.
        unsafe {
            if len > 0 {
                work.tag = at..at + len;
                at += len;
                // A cipher that comes next may cover the tag.
                if work.copy.is_none() || work.encrypted_tag.is_some() {
                    let tag = &tags[std::mem::take(&mut work.tag)];
                    work.tag_place().copy_from_nonoverlapping(tag.as_ptr(), tag.len());
                }
            } else if status != Status::Good && number > 0 {
                undo(work);
            }
        }
    }
    true
}

/// Keeps the tag of an operation that has one to give. Returns the status, and how many bytes were kept.
#[inline]
fn take_tag(
    step: &Step<Key>,
    operation: &Operation<'_>,
    work: &Work<'_>,
    tags: &mut Vec<u8>,
) -> (Status, usize) {
    let tag = operation.tag();
    if !step.has_tag() || tag.is_empty() {
        return (Status::Good, 0);
    }
    if step.forward {
        tags.extend_from_slice(&tag[..step.tag_len]);
        return (Status::Good, step.tag_len);
    }
    // A digest: MACs were compared where they were computed.
    // SAFETY: the packet's maker promises so many bytes.
    let given = unsafe { Packet::given(work.tag_place(), step.tag_len) };
    let right = given.len() == step.tag_len && bool::from(begins(tag, given));
    (if right { Status::Good } else { Status::Authentication }, 0)
}

fn status(result: Result<(), EngineError>) -> Status {
    match result {
        Ok(()) => Status::Good,
        Err(EngineError::Authentication) => Status::Authentication,
        Err(_) => Status::Argument,
    }
}

/// Adds the operation of a step to the list, in which it stays where it was made; none where there is nothing to compute.
///
/// # Safety
/// See the module.
#[inline]
unsafe fn begin<'a>(
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
                // The cipher takes none of it.
                work.copy_around(Region { at: 0, len: 0, bits: 0 });
                Ok(())
            }
            Engine::NullAuth => Ok(()),
            _ => auth(step, work, region, after_cipher, list),
        }
    }
}

/// # Safety
/// See the module; so for all that follow.
#[inline]
unsafe fn cipher<'a>(
    step: &'a Step<Key>,
    work: &Work<'a>,
    region: Region,
    forward: bool,
    list: &mut Vec<Operation<'a>>,
) -> Result<(), Status> {
    let mut iv = [0; LONGEST_IV];
    let iv = &mut iv[..step.iv_len];
    // SAFETY: as the caller says.
    let data = unsafe {
        iv.copy_from_slice(given(work.packet.iv, step.iv_len)?);
        work.copy_around(region);
        work.data(region)
    };
    let key = step.key.as_ref().ok_or(Status::Argument)?;
    if let (Key::KasumiF8(key), false) = (key, region.bits == 8 * region.len) {
        let start = iv.first_chunk().and_then(F8Start::new).ok_or(Status::Argument)?;
        let F8Start { count, bearer, direction } = start;
        list.push(Operation::kasumi_f8(key, count, bearer, direction, data, region.bits));
        return Ok(());
    }
    let key = key.as_cipher().ok_or(Status::Argument)?;
    list.push(if forward { Operation::encrypt(key, iv, data) } else { Operation::decrypt(key, iv, data) });
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
        let key = step.key.as_ref().and_then(Key::as_aead).ok_or(Status::Argument)?;
        let data = work.data(region);
        if step.forward {
            list.push(Operation::seal(key, nonce, aad, data));
            return Ok(());
        }
        let tag = given(packet.tag, step.tag_len)?;
        match tag.try_into() {
            Ok(whole) => list.push(Operation::open(key, nonce, aad, data, whole)),
            Err(_) => list.push(Operation::open_cut(key, nonce, aad, data, tag, step.tag_len)),
        }
    }
    Ok(())
}

/// Both steps as one operation on the whole span: encryption with the HMAC of what it makes, or the way back.
#[inline]
unsafe fn chained<'a>(work: &Work<'a>, clear: usize, list: &mut Vec<Operation<'a>>) -> Result<(), Status> {
    let (first, second) = (&work.plan.first, work.plan.second.as_ref().ok_or(Status::Argument)?);
    let (cipher, auth) = if second.is_cipher() { (second, first) } else { (first, second) };
    let whole = Region { at: 0, len: work.packet.length as usize, bits: 0 };
    let (Some(key), Some(Key::Hmac(mac))) = (cipher.key.as_ref().and_then(Key::as_cipher), &auth.key) else {
        return Err(Status::Argument);
    };
    if work.packet.tag.is_null() || work.packet.tag_at < work.packet.length {
        return Err(Status::Argument);
    }
    let mut iv = [0; LONGEST_IV];
    let iv = &mut iv[..cipher.iv_len];
    // SAFETY: as the caller says; the tag does not begin in the span.
    unsafe {
        iv.copy_from_slice(given(work.packet.iv, cipher.iv_len)?);
        if auth.forward {
            list.push(Operation::encrypt_then_mac(key, iv, mac, clear, work.data(whole)));
        } else {
            let tag = given(work.packet.tag, auth.tag_len)?;
            list.push(Operation::mac_then_decrypt(key, iv, mac, clear, work.data(whole), tag));
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
        (Engine::Digest(hash), _) => list.push(Operation::digest(hash, message)),
        (Engine::Gmac, Some(Key::AesGcm(key))) => {
            // SAFETY: as the caller says.
            let nonce = unsafe { given(packet.auth_iv, step.iv_len)? };
            let nothing = InOut::in_place(&mut []);
            list.push(if verifies {
                Operation::open_cut(key, nonce, message, nothing, tag, step.tag_len)
            } else {
                Operation::seal(key, nonce, message, nothing)
            });
        }
        (Engine::KasumiF9, Some(Key::KasumiF9(key))) => {
            let frame = F9Frame::new(message).ok_or(Status::Argument)?;
            let F9Frame { count, fresh, direction, message, bits } = frame;
            match tag.try_into() {
                Ok(code) if verifies => {
                    list.push(Operation::verify_kasumi_f9(key, count, fresh, direction, message, bits, code));
                }
                _ => list.push(Operation::kasumi_f9(key, count, fresh, direction, message, bits)),
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
unsafe fn given<'a>(at: *const u8, len: usize) -> Result<&'a [u8], Status> {
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

/// Takes back what the cipher has made of a packet whose tag then was wrong. In place the ciphertext is there again, and a
/// place of its own is zero.
///
/// # Safety
/// See the module.
unsafe fn undo(work: &Work<'_>) {
    let step = &work.plan.first;
    let Some(region) = Region::of(step, work.packet).filter(|_| work.copy.is_none()) else { return };
    // SAFETY: as the caller says.
    unsafe {
        if !work.is_in_place() {
            work.output.add(region.at).write_bytes(0, region.len);
        } else if matches!(step.engine, Engine::Cipher(_) | Engine::KasumiF8) {
            // The operation takes what the first one took: the same key, initialisation vector and length.
            let mut one = Vec::with_capacity(1);
            if cipher(step, work, region, !step.forward, &mut one).is_ok() {
                let _ = millstream::batch(&mut one);
            }
        }
    }
}
