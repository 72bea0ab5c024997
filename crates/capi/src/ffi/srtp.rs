//! Sessions of SRTP, and many packets in one call.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc)]

use millstream::srtp::{Incoming, Profile, Receiver, Sender, protect_many};

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
    /// The last protected packet of RTCP, before it is copied to where C wants it.
    place: Vec<u8>,
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

/// One protected packet to accept, 32 bytes. Set all of it to 0, then its fields.
#[derive(Debug)]
#[repr(C)]
pub struct SrtpArrived {
    /// The protected packet of RTP, which is decrypted in place; apart from everything else that the call names.
    pub packet: *mut u8,
    /// Bytes of the protected packet; after the call, those of the packet without its tag, or 0 if the packet failed.
    pub length: usize,
    /// The result, after the call.
    pub status: StatusCode,
    /// 0.
    pub reserved: [u32; 3],
}

const _: () = assert!(size_of::<SrtpArrived>() == 32);

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
            Ok(SrtpSender { inner, place: Vec::new() })
        })
    })
}

/// Zeroises and frees a sender; NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_srtp_sender_free(sender: *mut SrtpSender) {
    // SAFETY: the caller's promise; see the module.
    unsafe { free(sender) }
}

/// Protects `count` packets of RTP, those of one kind side by side: one packet for many receivers, many packets of one stream, or packets of many
/// streams. All are done on return, each with its `status`. Packets of one sender are protected in their order, and each number once.
///
/// Returns MILLSTREAM_STATUS_OK when all succeeded, else the status of the first that did not; the others are protected all the same. Fails
/// with nothing protected with MILLSTREAM_STATUS_NULL (`packets`), MILLSTREAM_STATUS_SIZE, MILLSTREAM_STATUS_FEATURES. A packet's `status` may
/// be MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE, MILLSTREAM_STATUS_OVERLAP, MILLSTREAM_STATUS_RESERVED, MILLSTREAM_STATUS_OUTPUT_LENGTH
/// (less room than the packet and MILLSTREAM_SRTP_TRAILER bytes), MILLSTREAM_STATUS_DATA_LENGTH (no packet of RTP), MILLSTREAM_STATUS_REPLAYED,
/// MILLSTREAM_STATUS_SOURCES, MILLSTREAM_STATUS_NONCES_SPENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_srtp_protect_many(packets: *mut SrtpPacket, count: usize) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let packets = unsafe { all("packets", packets, count)? };
        millstream::features()?;
        let mut first = First(None);
        let mut good = Vec::with_capacity(count);
        for (place, packet) in packets.iter_mut().enumerate() {
            // SAFETY: the caller's promise for each packet.
            match unsafe { parts(packet) } {
                Ok((bytes, output)) => good.push((packet.sender, place, bytes, output)),
                Err(failure) => {
                    (packet.status, packet.output_length) = (first.note(place, failure), 0);
                }
            }
        }
        // The packets of a sender come together then, in their order.
        good.sort_by_key(|(sender, ..)| *sender);
        let which: Vec<usize> = good.iter().map(|(_, place, ..)| *place).collect();
        let mut outgoing = Vec::with_capacity(good.len());
        let mut good = good.into_iter().peekable();
        while let Some((at, ..)) = good.peek() {
            let at = *at;
            // SAFETY: not NULL, as `parts` has seen; the rest is the caller's word. No other reference is made to this sender, whose packets all follow.
            let sender = unsafe { object_mut("sender", at)? };
            let of_sender = std::iter::from_fn(|| good.next_if(|(sender, ..)| *sender == at));
            outgoing.extend(sender.inner.outgoing(of_sender.map(|(_, _, bytes, output)| (bytes, output))));
        }
        protect_many(&mut outgoing)?;
        for (place, outgoing) in which.into_iter().zip(&outgoing) {
            let packet = &mut packets[place];
            packet.output_length = outgoing.protected_len();
            packet.status = match outgoing.result() {
                Ok(()) => Status::Ok.into(),
                Err(error) => first.note(place, error.into()),
            };
        }
        first.end()
    })
}

/// The failure of the foremost packet that failed.
struct First(Option<(usize, Failure)>);

impl First {
    /// Notes a failure, and returns the packet's status.
    fn note(&mut self, place: usize, failure: Failure) -> StatusCode {
        let status = failure.status().into();
        if self.0.as_ref().is_none_or(|(before, _)| *before > place) {
            self.0 = Some((place, failure));
        }
        status
    }

    fn end(self) -> Result<(), Failure> {
        self.0.map_or(Ok(()), |(place, failure)| Err(Failure::Operation(place, Box::new(failure))))
    }
}

/// Returns the structures of a call.
///
/// # Safety
/// There are as many as the caller says, and nobody else uses them during the call.
unsafe fn all<'a, T>(name: &'static str, at: *mut T, count: usize) -> Result<&'a mut [T], Failure> {
    if count == 0 {
        return Ok(&mut []);
    }
    if at.is_null() {
        return Err(Failure::Null(name));
    }
    if count > isize::MAX as usize / size_of::<T>() {
        return Err(Failure::Size(name, count));
    }
    // SAFETY: the caller's promise; not NULL, and no longer than an object can be.
    Ok(unsafe { std::slice::from_raw_parts_mut(at, count) })
}

/// Returns a packet's bytes, and the place for the protected packet.
///
/// # Safety
/// What the packet names is valid for `'a`.
unsafe fn parts<'a>(packet: &SrtpPacket) -> Result<(&'a [u8], &'a mut [u8]), Failure> {
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
    // SAFETY: the caller's promise.
    Ok(unsafe { (bytes.get(), output.get()) })
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

/// Accepts `count` packets of RTP side by side, as millstream_srtp_unprotect() does one after another: many packets of one stream, or of several
/// streams of one receiver. All are done on return, each with its `status`; one that fails is as it came. Packets go 64 at a time, and are judged as
/// they would have been before the first of these, so none is too old because of another one of the 64; of two with one number one is accepted.
///
/// Returns MILLSTREAM_STATUS_OK when all were accepted, else the status of the first that was not; the others are accepted all the same. Fails with
/// nothing accepted with MILLSTREAM_STATUS_NULL (`receiver`, `packets`), MILLSTREAM_STATUS_SIZE, MILLSTREAM_STATUS_FEATURES. A packet's `status`
/// may be one of millstream_srtp_unprotect(), and MILLSTREAM_STATUS_RESERVED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_srtp_unprotect_many(
    receiver: *mut SrtpReceiver,
    packets: *mut SrtpArrived,
    count: usize,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (receiver, packets) =
            unsafe { (object_mut("receiver", receiver)?, all("packets", packets, count)?) };
        let mut first = First(None);
        let (mut which, mut incoming) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (place, packet) in packets.iter_mut().enumerate() {
            let checked = none_reserved(&packet.reserved);
            match checked.and_then(|()| Out::new("packet", packet.packet, packet.length)) {
                Ok(bytes) => {
                    which.push(place);
                    // SAFETY: the caller's promise.
                    incoming.push(Incoming::new(unsafe { bytes.get() }));
                }
                Err(failure) => (packet.status, packet.length) = (first.note(place, failure), 0),
            }
        }
        receiver.0.unprotect_many(&mut incoming)?;
        for (place, incoming) in which.into_iter().zip(&incoming) {
            let packet = &mut packets[place];
            (packet.status, packet.length) = match incoming.result() {
                Ok(len) => (Status::Ok.into(), len),
                Err(error) => (first.note(place, error.into()), 0),
            };
        }
        first.end()
    })
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
