//! Accelerators and keys in the service's processes.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc)]

use std::ffi::{CStr, CString, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use millstream::isolated::{self, Attach, Exportable, Fallback, GrantState as State};

use super::direct::report;
use super::queue::structures::{none_reserved, spin};
use super::{In, Out, free, guard, guard_value, make, object, put, text};
use crate::algorithm::AlgorithmCode;
use crate::direct::room;
use crate::failure::Failure;
use crate::queue::{Queue, key};
use crate::status::Status;

/// The reaction when no service can be reached. That covers an absent service only, where nothing listens at the
/// socket: a service that refuses, that this user may not reach, or that does not answer, is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum FallbackKind {
    /// The call fails.
    Never = 0,
    /// An accelerator on a thread of this process takes its place, and holds the keys: millstream_fallbacks() counts it.
    InProcess = 1,
}

/// A number that is to be one of [`FallbackKind`]: C may pass any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct FallbackCode(pub u32);

/// The state of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum GrantState {
    /// The grant is served.
    Live = 0,
    /// The grant was revoked.
    Revoked = 1,
    /// The worker or the service has ended; or this is a forked child of the process that attached.
    Gone = 2,
}

/// The options with which a service is asked for a grant, 64 bytes. A number of 0, or a text of NULL, stands for the
/// usual value.
#[derive(Debug)]
#[repr(C)]
pub struct AttachOptions {
    /// The path of the service's socket. Usual: where the environment variable MILLSTREAM_SOCKET says, in the user's
    /// runtime directory, or in /run/millstream.
    pub socket: *const c_char,
    /// The name that `millstream status` shows for this client. Usual: the program's name.
    pub name: *const c_char,
    /// The number of queues. Usual: 1.
    pub queues: u32,
    /// The most operations in flight in each queue; rounded up to a power of two, at most 65536. Usual: 256.
    pub depth: u32,
    /// Bytes of arena for buffers. Usual: 8 MiB.
    pub arena_bytes: u32,
    /// The most keys that the grant may hold. Usual: 64.
    pub key_slots: u32,
    /// The reaction when no service can be reached. Usual: MILLSTREAM_FALLBACK_NEVER.
    pub fallback: FallbackCode,
    /// Milliseconds that the service may take to answer this and later requests. Usual: 5000.
    pub limit_ms: u32,
    /// Microseconds that waiting looks before it sleeps. Usual: 50. MILLSTREAM_NO_SPIN: none.
    pub spin_us: u32,
    /// The bytes of input from which its cache lines are handed towards the worker's core, where there is output too.
    /// Usual: never. Measure before you ask for it.
    pub demote_from: u32,
    /// The user that the service may have besides root and this process's own user. Usual: the user that the
    /// environment variable MILLSTREAM_SERVICE_UID names, and for the service in /run/millstream the owner of that
    /// directory.
    pub service_uid: u32,
    /// 1 for a grant for private keys, which other grants don't take. Usual: 0.
    pub private_keys: u32,
    /// 0.
    pub reserved: [u32; 2],
}

/// The terms of a grant, 64 bytes.
#[derive(Debug)]
#[repr(C)]
pub struct GrantInfo {
    /// The grant's number, as `millstream status` shows it; 0 for one in this process.
    pub id: u64,
    /// The algorithms it may use: bit n % 64 of element n / 64 is for the algorithm of number n.
    pub algorithms: [u64; 2],
    /// The number of queues.
    pub queues: u32,
    /// Operations in flight in each.
    pub depth: u32,
    /// Bytes of arena. Each queue keeps some for itself: 768 for each operation in flight.
    pub arena_bytes: u32,
    /// The most keys that the grant may hold.
    pub key_slots: u32,
    /// The grant's share of an accelerator, among the weights of all.
    pub weight: u32,
    /// 1 if keys and accelerator are in another process, 0 if they are in this.
    pub is_isolated: u32,
    /// 0.
    pub reserved: [u32; 4],
}

/// A grant, and its socket as C reads it.
pub struct Accelerator {
    inner: isolated::Accelerator,
    socket: Option<CString>,
}

/// Both traits are what lets C use one from many threads.
const _: () = {
    const fn both<T: Send + Sync>() {}
    both::<Accelerator>();
};

impl Accelerator {
    pub(super) fn inner(&self) -> &isolated::Accelerator {
        &self.inner
    }
}

impl AttachOptions {
    /// # Safety
    /// Texts are NULL or end with a zero.
    unsafe fn attach(&self) -> Result<Attach, Failure> {
        none_reserved(&self.reserved)?;
        let usual = Attach::default();
        // SAFETY: as the caller says.
        let (socket, name) = unsafe { (text(self.socket), text(self.name)) };
        let or = |given: u32, usual: usize| if given == 0 { usual } else { given as usize };
        Ok(Attach {
            socket: socket.map(|path| OsStr::from_bytes(path.to_bytes()).into()),
            service_uid: (self.service_uid != 0).then_some(self.service_uid),
            name: name.map_or(usual.name, |name| name.to_string_lossy().into_owned()),
            queues: if self.queues == 0 { usual.queues } else { self.queues },
            depth: or(self.depth, usual.depth),
            arena_bytes: if self.arena_bytes == 0 { usual.arena_bytes } else { self.arena_bytes },
            key_slots: or(self.key_slots, usual.key_slots),
            private_keys: match self.private_keys {
                0 => false,
                1 => true,
                other => return Err(Failure::Argument("private_keys", other.into())),
            },
            fallback: match self.fallback.0 {
                code if code == FallbackKind::Never as u32 => Fallback::Never,
                code if code == FallbackKind::InProcess as u32 => Fallback::InProcess,
                other => return Err(Failure::Argument("fallback", other.into())),
            },
            limit: match self.limit_ms {
                0 => usual.limit,
                given => Duration::from_millis(given.into()),
            },
            spin: spin(self.spin_us, usual.spin),
            demote_from: (self.demote_from != 0).then_some(self.demote_from as usize),
        })
    }
}

/// Asks a service (`millstream serve`) for a grant: memory for objects, queues, and places for keys, in one round trip, with
/// the options given or, for NULL, the usual ones. Its handle goes to *made, to be freed with
/// millstream_accelerator_free(). Any number of threads may use it at once. Where a worker has just died it waits, up to a
/// second, for the next one.
///
/// Fails, with NULL in *made, with MILLSTREAM_STATUS_NO_SERVICE, MILLSTREAM_STATUS_NOT_PERMITTED,
/// MILLSTREAM_STATUS_UNTRUSTED, MILLSTREAM_STATUS_DENIED, MILLSTREAM_STATUS_NOT_NOW,
/// MILLSTREAM_STATUS_TOO_MUCH, MILLSTREAM_STATUS_TOO_MANY_GRANTS, MILLSTREAM_STATUS_NO_WORKER,
/// MILLSTREAM_STATUS_SERVICE_EXHAUSTED, MILLSTREAM_STATUS_SERVICE_VERSION, MILLSTREAM_STATUS_NO_ANSWER,
/// MILLSTREAM_STATUS_ANSWER, MILLSTREAM_STATUS_DESCRIPTORS, MILLSTREAM_STATUS_GRANT_MEMORY,
/// MILLSTREAM_STATUS_IN_PROCESS, MILLSTREAM_STATUS_ARGUMENT (no such fallback), MILLSTREAM_STATUS_RESERVED,
/// MILLSTREAM_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_attach(
    options: *const AttachOptions,
    made: *mut *mut Accelerator,
) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe {
        make("made", made, || {
            let attach = options.as_ref().map_or_else(|| Ok(Attach::default()), |given| given.attach())?;
            let inner = attach.attach().map_err(millstream::Error::from)?;
            let socket = inner.socket().and_then(|path| CString::new(path.as_os_str().as_bytes()).ok());
            Ok(Accelerator { inner, socket })
        })
    })
}

/// Frees an accelerator. The grant ends when its queues are freed too. NULL is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_accelerator_free(accelerator: *mut Accelerator) {
    // SAFETY: the caller's promise; see the module. It came from `make`.
    unsafe { free(accelerator) }
}

/// Makes the next queue of a grant, to be freed with millstream_queue_free(). All of them share the arena and the keys. One that
/// is freed after its operations have ended can be had again.
///
/// Fails, with NULL in *made, with MILLSTREAM_STATUS_QUEUES_TAKEN, MILLSTREAM_STATUS_ARENA_FULL,
/// MILLSTREAM_STATUS_REVOKED, MILLSTREAM_STATUS_GONE, MILLSTREAM_STATUS_FORKED, MILLSTREAM_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_accelerator_queue(
    accelerator: *const Accelerator,
    made: *mut *mut Queue,
) -> Status {
    // SAFETY: the caller's promise; see the module.
    guard(|| unsafe {
        make("made", made, || Ok(Queue::new(object("accelerator", accelerator)?.inner.queue()?)))
    })
}

pub(super) fn exportable(code: u32) -> Result<Exportable, Failure> {
    match code {
        0 => Ok(Exportable::No),
        1 => Ok(Exportable::Yes),
        other => Err(Failure::Argument("choice of exportable", other.into())),
    }
}

/// Brings a key of `key_length` bytes to the worker and writes its number, never 0, to *made. It works on every queue of the
/// grant. The bytes are not needed any more after: wipe them. `exportable` is 1 if they may be had back with
/// millstream_accelerator_export_key(), else 0.
///
/// Fails, with 0 in *made, with MILLSTREAM_STATUS_KEY_SLOTS, MILLSTREAM_STATUS_KEY_LENGTH, MILLSTREAM_STATUS_WEAK_KEY,
/// MILLSTREAM_STATUS_ALGORITHM, MILLSTREAM_STATUS_POLICY, MILLSTREAM_STATUS_KEY_MEMORY,
/// MILLSTREAM_STATUS_NO_ANSWER, MILLSTREAM_STATUS_SERVICE_MESSAGE, MILLSTREAM_STATUS_REVOKED, MILLSTREAM_STATUS_GONE,
/// MILLSTREAM_STATUS_FORKED, MILLSTREAM_STATUS_ARGUMENT, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_accelerator_import_key(
    accelerator: *const Accelerator,
    algorithm: AlgorithmCode,
    key: *const u8,
    key_length: usize,
    exportable: u32,
    made: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise; see the module.
        unsafe {
            put("made", made, 0)?;
            let accelerator = &object("accelerator", accelerator)?.inner;
            let (key, exportable) = (In::new("key", key, key_length)?.get(), self::exportable(exportable)?);
            put("made", made, accelerator.import_key(algorithm.keyed()?, key, exportable)?.to_bits())
        }
    })
}

/// Has the worker make a random key of `key_length` bytes, which this process never sees, and writes its number, never 0, to
/// *made. Fails as millstream_accelerator_import_key() does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_accelerator_generate_key(
    accelerator: *const Accelerator,
    algorithm: AlgorithmCode,
    key_length: usize,
    exportable: u32,
    made: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise; see the module.
        unsafe {
            put("made", made, 0)?;
            let accelerator = &object("accelerator", accelerator)?.inner;
            let exportable = self::exportable(exportable)?;
            put("made", made, accelerator.generate_key(algorithm.keyed()?, key_length, exportable)?.to_bits())
        }
    })
}

/// Writes the bytes of a key that was made exportable to `key`, which has room for `room` bytes, and their number to *written if
/// that is not NULL. Wipe them when they are not needed any more.
///
/// Fails, with nothing written, with MILLSTREAM_STATUS_NOT_EXPORTABLE, MILLSTREAM_STATUS_NO_SUCH_KEY,
/// MILLSTREAM_STATUS_OUTPUT_LENGTH (too little room), else as millstream_accelerator_import_key().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_accelerator_export_key(
    accelerator: *const Accelerator,
    handle: u64,
    key: *mut u8,
    room: usize,
    written: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise; nothing of the caller's is read.
        unsafe {
            let accelerator = &object("accelerator", accelerator)?.inner;
            let place = Out::new("key", key, room)?;
            let bytes = accelerator.export_key(self::key(handle)?)?;
            self::room(place.get(), bytes.len())?.copy_from_slice(&bytes);
            report(written, bytes.len());
        }
        Ok(())
    })
}

/// Zeroises a key. Operations under it that have not begun end with MILLSTREAM_STATUS_NO_SUCH_KEY.
///
/// Fails with MILLSTREAM_STATUS_NO_SUCH_KEY, else as millstream_accelerator_import_key().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_accelerator_destroy_key(
    accelerator: *const Accelerator,
    handle: u64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise; see the module.
        let accelerator = unsafe { &object("accelerator", accelerator)?.inner };
        Ok(accelerator.destroy_key(key(handle)?)?)
    })
}

/// Writes what was granted to *info. Fails with MILLSTREAM_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_accelerator_info(
    accelerator: *const Accelerator,
    info: *mut GrantInfo,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise; see the module.
        let accelerator = unsafe { &object("accelerator", accelerator)?.inner };
        let grant = accelerator.grant();
        let granted = GrantInfo {
            id: grant.id,
            algorithms: [grant.algorithms as u64, (grant.algorithms >> 64) as u64],
            queues: grant.queues,
            depth: grant.depth as u32,
            arena_bytes: grant.arena_bytes,
            key_slots: u32::try_from(grant.key_slots).unwrap_or(u32::MAX),
            weight: grant.weight,
            is_isolated: accelerator.is_isolated().into(),
            reserved: [0; 4],
        };
        // SAFETY: the caller's promise; see the module.
        unsafe { put("info", info, granted) }
    })
}

/// The state of a grant now, which takes a system call; MILLSTREAM_GRANT_STATE_GONE for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_accelerator_state(accelerator: *const Accelerator) -> GrantState {
    guard_value(GrantState::Gone, || {
        // SAFETY: the caller's promise; see the module.
        Ok(match unsafe { object("accelerator", accelerator)? }.inner.state() {
            State::Live => GrantState::Live,
            State::Revoked => GrantState::Revoked,
            State::Gone => GrantState::Gone,
        })
    })
}

/// The socket of the service; NULL where there is none, as for one in this process. The text lives as long as the
/// accelerator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_accelerator_socket(accelerator: *const Accelerator) -> *const c_char {
    guard_value(std::ptr::null(), || {
        // SAFETY: the caller's promise; see the module.
        let accelerator = unsafe { object("accelerator", accelerator)? };
        Ok(accelerator.socket.as_deref().map_or(std::ptr::null(), CStr::as_ptr))
    })
}

/// The number of times that this process took an accelerator of its own because no service could be reached.
#[unsafe(no_mangle)]
pub extern "C" fn millstream_fallbacks() -> u64 {
    isolated::fallbacks()
}

#[cfg(test)]
mod tests {
    use std::mem::{align_of, offset_of};

    use super::*;

    /// C programs are compiled against these.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn every_field_has_its_place() {
        assert_eq!((size_of::<AttachOptions>(), align_of::<AttachOptions>()), (64, 8));
        assert_eq!((size_of::<GrantInfo>(), align_of::<GrantInfo>()), (64, 8));
        let places = [
            (offset_of!(AttachOptions, socket), 0),
            (offset_of!(AttachOptions, name), 8),
            (offset_of!(AttachOptions, queues), 16),
            (offset_of!(AttachOptions, depth), 20),
            (offset_of!(AttachOptions, arena_bytes), 24),
            (offset_of!(AttachOptions, key_slots), 28),
            (offset_of!(AttachOptions, fallback), 32),
            (offset_of!(AttachOptions, limit_ms), 36),
            (offset_of!(AttachOptions, spin_us), 40),
            (offset_of!(AttachOptions, demote_from), 44),
            (offset_of!(AttachOptions, service_uid), 48),
            (offset_of!(AttachOptions, private_keys), 52),
            (offset_of!(AttachOptions, reserved), 56),
            (offset_of!(GrantInfo, id), 0),
            (offset_of!(GrantInfo, algorithms), 8),
            (offset_of!(GrantInfo, queues), 24),
            (offset_of!(GrantInfo, depth), 28),
            (offset_of!(GrantInfo, arena_bytes), 32),
            (offset_of!(GrantInfo, key_slots), 36),
            (offset_of!(GrantInfo, weight), 40),
            (offset_of!(GrantInfo, is_isolated), 44),
            (offset_of!(GrantInfo, reserved), 48),
        ];
        for (i, (is, should)) in places.into_iter().enumerate() {
            assert_eq!(is, should, "field {i}");
        }
    }
}
