//! The border to the C side, whose header is `driver/millstream_dpdk.h`.
//!
//! # Safety
//! The C side promises: pointers are valid for what they are said to point to, and handles are such that a function of this file gave and
//! none has freed. A session is freed when no packet of it is in flight, a lane when nobody uses it, a device after its lanes and sessions.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc)]

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use millstream::Feature;

use crate::algorithms::{Class, Row, TABLE};
use crate::isolated::{Device, Lane};
use crate::local;
use crate::packet::{Packet, Status};
use crate::refusal::Refusal;
use crate::session::{Session, Transform};

/// A transform as C describes it.
#[repr(C)]
pub struct GivenTransform {
    /// The class: 1 for an authentication, 2 for a cipher, 3 for an AEAD.
    pub class: u32,
    /// The number of the algorithm in DPDK's enumeration.
    pub number: u32,
    /// 0 where it decrypts, opens or verifies.
    pub forward: u32,
    /// Bytes of the key.
    pub key_length: u16,
    /// Bytes of the initialisation vector.
    pub iv_length: u16,
    /// Bytes of the tag or digest.
    pub tag_length: u16,
    /// Bytes of associated data.
    pub aad_length: u16,
    /// The key.
    pub key: *const u8,
}

/// Room for a message to the C side: the reason for a refusal.
#[repr(C)]
pub struct Message {
    /// The bytes.
    pub text: *mut c_char,
    /// The room for them, with the zero at the end.
    pub room: usize,
}

impl Message {
    /// Writes the reason, as much of it as there is room for. Returns its number.
    unsafe fn refuse(&self, refusal: &Refusal) -> c_int {
        let text = refusal.to_string();
        let len = text.len().min(self.room.saturating_sub(1));
        if self.room > 0 {
            // SAFETY: as the C side promises, so much room.
            unsafe {
                self.text.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), len);
                self.text.add(len).write(0);
            }
        }
        refusal.number()
    }
}

/// Hands a new object to C, or the reason why there is none.
unsafe fn hand_over<T>(
    made: *mut *mut T,
    message: &Message,
    make: impl FnOnce() -> Result<T, Refusal>,
) -> c_int {
    match catch_unwind(AssertUnwindSafe(make)) {
        Ok(Ok(object)) => {
            // SAFETY: as the C side promises, room for a pointer.
            unsafe { made.write(Box::into_raw(Box::new(object))) };
            0
        }
        // SAFETY: as the C side promises.
        Ok(Err(refusal)) => unsafe { message.refuse(&refusal) },
        Err(_) => -libc::EFAULT,
    }
}

/// Returns the description of the algorithm at a place of the table; null behind the last.
#[unsafe(no_mangle)]
pub extern "C" fn millstream_dpdk_row(place: usize) -> *const Row {
    TABLE.get(place).map_or(std::ptr::null(), |entry| &raw const entry.row)
}

/// Returns the instructions that are used, by DPDK's feature flags for processors.
#[unsafe(no_mangle)]
pub extern "C" fn millstream_dpdk_features() -> u64 {
    // RTE_CRYPTODEV_FF_CPU_AVX2, _AESNI and _AVX512; on AArch64 _ARM_CE.
    let flags = [(Feature::Avx2, 5), (Feature::Aes, 6), (Feature::Avx512f, 8)];
    let Ok(features) = millstream::features() else { return 0 };
    flags
        .into_iter()
        .filter(|(feature, _)| features.contains((*feature).into()))
        .map(|(_, bit)| 1 << bit)
        .sum()
}

unsafe fn transforms<'a>(given: *const GivenTransform, count: usize) -> Result<Vec<Transform<'a>>, Refusal> {
    // SAFETY: as the C side promises.
    let given = unsafe { std::slice::from_raw_parts(given, count) };
    let mut transforms = Vec::with_capacity(count);
    for one in given {
        let class = match one.class {
            1 => Class::Auth,
            2 => Class::Cipher,
            3 => Class::Aead,
            _ => return Err(Refusal::Chain),
        };
        transforms.push(Transform {
            class,
            number: one.number,
            forward: one.forward != 0,
            // SAFETY: as the C side promises.
            key: unsafe { Packet::given(one.key, one.key_length.into()) },
            iv_len: one.iv_length,
            tag_len: one.tag_length,
            aad_len: one.aad_length,
        });
    }
    Ok(transforms)
}

/// Binds the keys of a chain of transforms: in this process, or in the worker of a device that has one. Returns 0, or a negative error number
/// and the reason.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_dpdk_session_new(
    device: *const Device,
    given: *const GivenTransform,
    count: usize,
    made: *mut *mut Session,
    message: *const Message,
) -> c_int {
    // SAFETY: as the C side promises.
    unsafe {
        hand_over(made, &*message, || {
            let transforms = transforms(given, count)?;
            match device.as_ref() {
                None => Session::here(&transforms),
                Some(device) => device.session(&transforms),
            }
        })
    }
}

/// Zeroises the keys of a session and frees it. Null is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_dpdk_session_free(session: *mut Session) {
    // SAFETY: as the C side promises.
    unsafe { free(session) }
}

/// Executes the operations of a burst on this thread. Each has its status then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_dpdk_run(packets: *mut Packet, count: usize) {
    if count == 0 {
        return;
    }
    // SAFETY: as the C side promises.
    let packets = unsafe { std::slice::from_raw_parts_mut(packets, count) };
    // SAFETY: as the C side promises.
    let ran = catch_unwind(AssertUnwindSafe(|| unsafe { local::run(packets) }));
    if ran.is_err() {
        packets.iter_mut().for_each(|packet| packet.status = Status::Failed);
    }
}

/// Attaches to the service behind a socket. Returns 0, or a negative error number and the reason.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_dpdk_attach(
    socket: *const c_char,
    queue_pairs: u32,
    made: *mut *mut Device,
    message: *const Message,
) -> c_int {
    // SAFETY: as the C side promises.
    unsafe {
        let socket = Path::new(OsStr::from_bytes(CStr::from_ptr(socket).to_bytes()));
        hand_over(made, &*message, || Device::attach(socket, queue_pairs))
    }
}

/// Ends a device's grant. Null is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_dpdk_detach(device: *mut Device) {
    // SAFETY: as the C side promises.
    unsafe { free(device) }
}

/// Takes a queue of a device for a queue pair with so many descriptors. Returns 0, or a negative error number and the reason.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_dpdk_lane_new(
    device: *const Device,
    descriptors: u32,
    made: *mut *mut Lane,
    message: *const Message,
) -> c_int {
    // SAFETY: as the C side promises.
    unsafe { hand_over(made, &*message, || (*device).lane(descriptors as usize)) }
}

/// Frees a lane; operations in flight end first. Null is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_dpdk_lane_free(lane: *mut Lane) {
    // SAFETY: as the C side promises.
    unsafe { free(lane) }
}

/// Returns how many packets more may be in flight in a lane.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_dpdk_room(lane: *const Lane) -> usize {
    // SAFETY: as the C side promises.
    catch_unwind(AssertUnwindSafe(|| unsafe { (*lane).room() })).unwrap_or(0)
}

/// Gives packets to a worker. Returns how many of them it took, from the first on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_dpdk_submit(
    lane: *const Lane,
    packets: *const Packet,
    count: usize,
) -> usize {
    if count == 0 {
        return 0;
    }
    // SAFETY: as the C side promises.
    let taken = catch_unwind(AssertUnwindSafe(|| unsafe {
        (*lane).submit(std::slice::from_raw_parts(packets, count))
    }));
    taken.unwrap_or(0)
}

/// Takes packets that a worker has done. Returns how many there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_dpdk_poll(
    lane: *const Lane,
    packets: *mut Packet,
    count: usize,
) -> usize {
    if count == 0 {
        return 0;
    }
    // SAFETY: as the C side promises.
    let done = catch_unwind(AssertUnwindSafe(|| unsafe {
        (*lane).poll(std::slice::from_raw_parts_mut(packets, count))
    }));
    done.unwrap_or(0)
}

unsafe fn free<T>(object: *mut T) {
    if object.is_null() {
        return;
    }
    // SAFETY: as the C side promises; `hand_over` made the box.
    let freed = catch_unwind(AssertUnwindSafe(|| drop(unsafe { Box::from_raw(object) })));
    // A fault while it was freed leaves it as it is.
    drop(freed);
}

/// The layouts that C has in its header, where it compares them in the same way.
const _: () = {
    assert!(size_of::<Row>() == 36);
    assert!(size_of::<GivenTransform>() == 32);
    assert!(size_of::<Packet>() == 120);
    assert!(std::mem::offset_of!(Packet, tag) == 80);
    assert!(std::mem::offset_of!(Packet, tag_at) == 116);
};
