//! Sessions of SRTP, and many packets in one call.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc)]

use std::sync::atomic::{AtomicU64, Ordering};

use millstream::srtp::{Outgoing, Profile, Receiver, Sender, protect_many};

use super::queue::structures::none_reserved;
use super::{In, Out, free, guard, make, object_mut, put};
use crate::failure::Failure;
use crate::status::{Status, StatusCode};

/// A profile of SRTP: AES-128 in counter mode, HMAC-SHA1 with tags of 10 bytes. The numbers are those of DTLS-SRTP (RFC 5764).
pub const MILLSTREAM_SRTP_AES128_CM_SHA1_80: u32 = 1;
/// The same with tags of 4 bytes.
pub const MILLSTREAM_SRTP_AES128_CM_SHA1_32: u32 = 2;
/// AES-256 in counter mode, HMAC-SHA1 with tags of 10 bytes (RFC 6188).
pub const MILLSTREAM_SRTP_AES256_CM_SHA1_80: u32 = 3;
/// AES-128-GCM, tags of 16 bytes (RFC 7714).
pub const MILLSTREAM_SRTP_AEAD_AES_128_GCM: u32 = 7;
/// AES-256-GCM, tags of 16 bytes (RFC 7714).
pub const MILLSTREAM_SRTP_AEAD_AES_256_GCM: u32 = 8;

/// The most bytes by which a protected packet is longer: 16 of RTP, 20 of RTCP.
pub const MILLSTREAM_SRTP_TRAILER: usize = 20;

/// The side of a session that protects packets.
pub struct SrtpSender {
    inner: Sender,
    /// The last protected packet, before it is copied to where C wants it.
    place: Vec<u8>,
    /// The last round of packets that had one of this sender.
    round: u64,
}

/// The side of a session that accepts packets.
pub struct SrtpReceiver(Receiver);

const _: () = {
    const fn send<T: Send>() {}
    send::<SrtpSender>();
    send::<SrtpReceiver>();
};

/// One packet to protect, 64 bytes. Set all of it to 0, then its fields.
#[derive(Debug)]
#[repr(C)]
pub struct SrtpPacket {
    /// The sender of the packet.
    pub sender: *mut SrtpSender,
    /// The packet of RTP: header and payload.
    pub packet: *const u8,
    /// Bytes of the packet.
    pub packet_length: usize,
    /// The place for the protected packet, apart from everything else that the call names.
    pub output: *mut u8,
    /// Bytes of room there; after the call, bytes of the protected packet, or 0 if the packet failed.
    pub output_length: usize,
    /// The result, after the call.
    pub status: StatusCode,
    /// 0.
    pub reserved: [u32; 5],
}

const _: () = assert!(size_of::<SrtpPacket>() == 64);

fn profile(number: u32) -> Result<Profile, Failure> {
    match number {
        MILLSTREAM_SRTP_AES128_CM_SHA1_80 => Ok(Profile::Aes128CmSha1Tag80),
        MILLSTREAM_SRTP_AES128_CM_SHA1_32 => Ok(Profile::Aes128CmSha1Tag32),
        MILLSTREAM_SRTP_AES256_CM_SHA1_80 => Ok(Profile::Aes256CmSha1Tag80),
        MILLSTREAM_SRTP_AEAD_AES_128_GCM => Ok(Profile::AeadAes128Gcm),
        MILLSTREAM_SRTP_AEAD_AES_256_GCM => Ok(Profile::AeadAes256Gcm),
        other => Err(Failure::Argument("profile", other.into())),
    }
}

/// Makes the side of a session that protects packets: `profile` is MILLSTREAM_SRTP_..., and the master key comes with the master salt behind
/// it, 30 bytes for AES-128 in counter mode, 46 for AES-256, 28 and 44 for GCM. Its handle goes to *made, to be freed with
/// millstream_srtp_sender_free(). A sender is used by one thread at a time.
///
/// Fails, with NULL in *made, with MILLSTREAM_STATUS_ARGUMENT (no such profile), MILLSTREAM_STATUS_KEY_LENGTH,
/// MILLSTREAM_STATUS_FEATURES, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_srtp_sender_new(
    profile: u32,
    key_and_salt: *const u8,
    key_and_salt_length: usize,
    made: *mut *mut SrtpSender,
) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe {
        make("made", made, || {
            let key = In::new("key_and_salt", key_and_salt, key_and_salt_length)?.get();
            let inner = Sender::new(self::profile(profile)?, key)?;
            Ok(SrtpSender { inner, place: Vec::new(), round: 0 })
        })
    })
}

/// Zeroises and frees a sender; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_srtp_sender_free(sender: *mut SrtpSender) {
    // SAFETY: the caller's promise; see the module.
    unsafe { free(sender) }
}

/// Protects `count` packets of RTP, those of one kind side by side: one packet for many receivers, or packets of many streams. All are
/// done on return, each with its `status`. Packets of one sender are protected in their order, and each number once: every further packet of one
/// sender begins a round of its own, so that lanes are fuller where senders differ.
///
/// Returns MILLSTREAM_STATUS_OK when all succeeded, else the status of the first that did not; the others are protected all the same. Fails
/// with nothing protected with MILLSTREAM_STATUS_NULL (`packets`), MILLSTREAM_STATUS_SIZE, MILLSTREAM_STATUS_FEATURES. A packet's `status` may
/// be MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE, MILLSTREAM_STATUS_OVERLAP, MILLSTREAM_STATUS_RESERVED, MILLSTREAM_STATUS_OUTPUT_LENGTH
/// (less room than the packet and MILLSTREAM_SRTP_TRAILER bytes), MILLSTREAM_STATUS_DATA_LENGTH (no packet of RTP), MILLSTREAM_STATUS_REPLAYED,
/// MILLSTREAM_STATUS_SOURCES, MILLSTREAM_STATUS_NONCES_SPENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_srtp_protect_many(packets: *mut SrtpPacket, count: usize) -> Status {
    guard(|| {
        if packets.is_null() && count > 0 {
            return Err(Failure::Null("packets"));
        }
        if count > isize::MAX as usize / size_of::<SrtpPacket>() {
            return Err(Failure::Size("packets", count));
        }
        if count == 0 {
            return Ok(());
        }
        millstream::features()?;
        // SAFETY: the caller's promise; not NULL, and no longer than an object can be.
        let packets = unsafe { std::slice::from_raw_parts_mut(packets, count) };
        let (mut first, mut left) = (None, (0..count).collect::<Vec<usize>>());
        while !left.is_empty() {
            // SAFETY: the caller's promise for each packet.
            unsafe { round(packets, &mut left, &mut first)? };
        }
        first.map_or(Ok(()), |(place, failure)| Err(Failure::Operation(place, Box::new(failure))))
    })
}

/// Protects the first packet of each sender among those that are left, and leaves the others. `first` receives the failure of the foremost.
///
/// # Safety
/// What the packets name is valid, as the caller promised.
unsafe fn round(
    packets: &mut [SrtpPacket],
    left: &mut Vec<usize>,
    first: &mut Option<(usize, Failure)>,
) -> Result<(), Failure> {
    // No two rounds have one number, so nothing has to be taken back at a round's end, however it ends.
    static ROUNDS: AtomicU64 = AtomicU64::new(0);
    let number = ROUNDS.fetch_add(1, Ordering::Relaxed) + 1;
    let (mut which, mut outgoing, mut later) = (Vec::new(), Vec::new(), Vec::new());
    let mut fail = |packet: &mut SrtpPacket, place: usize, failure: Failure| {
        (packet.status, packet.output_length) = (failure.status().into(), 0);
        if first.as_ref().is_none_or(|(before, _)| *before > place) {
            *first = Some((place, failure));
        }
    };
    for place in left.drain(..) {
        let packet = &mut packets[place];
        // SAFETY: as the caller says. A sender of this round has a reference to it in `outgoing`, and gets no other.
        match unsafe { parts(packet, number) } {
            Ok(None) => later.push(place),
            Ok(Some((sender, bytes))) => {
                which.push(place);
                outgoing.push(Outgoing::new(&mut sender.inner, bytes, &mut sender.place));
            }
            Err(failure) => fail(packet, place, failure),
        }
    }
    let protected = protect_many(&mut outgoing);
    let results: Vec<_> = outgoing.iter().map(Outgoing::result).collect();
    drop(outgoing);
    for (place, result) in which.into_iter().zip(results) {
        let packet = &mut packets[place];
        // SAFETY: as the caller says; the references of before are gone.
        let sender = unsafe { &*packet.sender };
        match result {
            Ok(()) if protected.is_ok() => {
                // SAFETY: as the caller says; `parts` found room for the packet and the longest trailer.
                unsafe { packet.output.copy_from_nonoverlapping(sender.place.as_ptr(), sender.place.len()) };
                (packet.status, packet.output_length) = (Status::Ok.into(), sender.place.len());
            }
            Ok(()) => {}
            Err(error) => fail(packet, place, error.into()),
        }
    }
    *left = later;
    Ok(protected?)
}

/// Returns the sender of a packet and the packet's bytes; none if that sender has a packet in this round.
///
/// # Safety
/// What the packet names is valid for `'a`.
unsafe fn parts<'a>(
    packet: &SrtpPacket,
    round: u64,
) -> Result<Option<(&'a mut SrtpSender, &'a [u8])>, Failure> {
    none_reserved(&packet.reserved)?;
    let bytes = In::new("packet", packet.packet, packet.packet_length)?;
    let output = Out::new("output", packet.output, packet.output_length)?;
    output.apart(&[bytes])?;
    if packet.output_length < packet.packet_length.saturating_add(MILLSTREAM_SRTP_TRAILER) {
        let (given, needed) = (packet.output_length, packet.packet_length + MILLSTREAM_SRTP_TRAILER);
        return Err(millstream::EngineError::OutputLength { given, needed }.into());
    }
    if packet.sender.is_null() {
        return Err(Failure::Null("sender"));
    }
    // SAFETY: not NULL; the rest is the caller's word. The number is looked at without a reference to the whole.
    if unsafe { (*packet.sender).round } == round {
        return Ok(None);
    }
    // SAFETY: as above; nobody else has a reference to a sender that is not of this round.
    unsafe {
        let sender = object_mut("sender", packet.sender)?;
        sender.round = round;
        Ok(Some((sender, bytes.get())))
    }
}

/// Protects a packet of RTCP in place: *length is its bytes before, and those of the protected packet after. `room` is the bytes that are at
/// `packet`: MILLSTREAM_SRTP_TRAILER more than the packet has.
///
/// Fails, with nothing changed, with MILLSTREAM_STATUS_OUTPUT_LENGTH, MILLSTREAM_STATUS_DATA_LENGTH (no packet of RTCP),
/// MILLSTREAM_STATUS_SOURCES, MILLSTREAM_STATUS_NONCES_SPENT, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_srtp_protect_rtcp(
    sender: *mut SrtpSender,
    packet: *mut u8,
    room: usize,
    length: *mut usize,
) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe {
        let (sender, len) = (object_mut("sender", sender)?, *object_mut("length", length)?);
        let bytes = Out::new("packet", packet, room)?.get();
        if room < len.saturating_add(MILLSTREAM_SRTP_TRAILER) {
            let needed = len.saturating_add(MILLSTREAM_SRTP_TRAILER);
            return Err(millstream::EngineError::OutputLength { given: room, needed }.into());
        }
        sender.place.clear();
        sender.place.extend_from_slice(&bytes[..len]);
        sender.inner.protect_rtcp(&mut sender.place)?;
        bytes[..sender.place.len()].copy_from_slice(&sender.place);
        put("length", length, sender.place.len())
    })
}

/// Makes the side of a session that accepts packets, as millstream_srtp_sender_new() makes the other, to be freed with
/// millstream_srtp_receiver_free(); fails as that does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_srtp_receiver_new(
    profile: u32,
    key_and_salt: *const u8,
    key_and_salt_length: usize,
    made: *mut *mut SrtpReceiver,
) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe {
        make("made", made, || {
            let key = In::new("key_and_salt", key_and_salt, key_and_salt_length)?.get();
            Ok(SrtpReceiver(Receiver::new(self::profile(profile)?, key)?))
        })
    })
}

/// Zeroises and frees a receiver; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_srtp_receiver_free(receiver: *mut SrtpReceiver) {
    // SAFETY: the caller's promise; see the module.
    unsafe { free(receiver) }
}

/// Accepts a packet of RTP in place: checks its tag, and that it comes once, and decrypts it. *length is its bytes before, and those of the packet
/// without its tag after.
///
/// Fails, with nothing changed, with MILLSTREAM_STATUS_AUTHENTICATION, MILLSTREAM_STATUS_REPLAYED, MILLSTREAM_STATUS_DATA_LENGTH (no
/// packet), MILLSTREAM_STATUS_SOURCES, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_srtp_unprotect(
    receiver: *mut SrtpReceiver,
    packet: *mut u8,
    length: *mut usize,
) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe { accept(receiver, packet, length, Receiver::unprotect) })
}

/// Accepts a packet of RTCP, as millstream_srtp_unprotect() does one of RTP; fails as that does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_srtp_unprotect_rtcp(
    receiver: *mut SrtpReceiver,
    packet: *mut u8,
    length: *mut usize,
) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe { accept(receiver, packet, length, Receiver::unprotect_rtcp) })
}

/// # Safety
/// As for the two functions before.
unsafe fn accept(
    receiver: *mut SrtpReceiver,
    packet: *mut u8,
    length: *mut usize,
    accept: fn(&mut Receiver, &mut [u8]) -> Result<usize, millstream::srtp::Error>,
) -> Result<(), Failure> {
    // SAFETY: as the caller says.
    unsafe {
        let (receiver, len) = (object_mut("receiver", receiver)?, *object_mut("length", length)?);
        let packet = Out::new("packet", packet, len)?.get();
        put("length", length, accept(&mut receiver.0, packet)?)
    }
}
