//! General functions, slots and tokens.
//!
//! Ref. PKCS #11 v3.2 §5.4, §5.5.

use cryptoki_sys::*;

use super::functions;
use crate::abi::{bytes, put, structure};
use crate::mechanism;
use crate::module::Module;
use crate::refusal::{Outcome, Refusal, demand, refuse};

const VERSION: CK_VERSION = CK_VERSION { major: 0, minor: 1 };

/// Returns text as the standard has it: filled up with spaces, and cut between characters.
pub(super) fn padded<const N: usize>(text: &str) -> [CK_UTF8CHAR; N] {
    let mut field = [b' '; N];
    let end = (0..=N.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    field[..end].copy_from_slice(&text.as_bytes()[..end]);
    field
}

functions! {
    fn C_Initialize(args: *mut std::ffi::c_void) {
        if !args.is_null() {
            let args = structure(args.cast::<CK_C_INITIALIZE_ARGS>())?;
            let given = [
                args.CreateMutex.is_some(),
                args.DestroyMutex.is_some(),
                args.LockMutex.is_some(),
                args.UnlockMutex.is_some(),
            ];
            let all_or_none = given.iter().all(|one| *one == given[0]);
            demand(all_or_none && args.pReserved.is_null(), CKR_ARGUMENTS_BAD)?;
            // This module locks with what the system has, which a program with functions of its own has to allow.
            demand(!given[0] || args.flags & CKF_OS_LOCKING_OK != 0, CKR_CANT_LOCK)?;
        }
        Module::initialise()
    }

    fn C_Finalize(reserved: *mut std::ffi::c_void) {
        demand(reserved.is_null(), CKR_ARGUMENTS_BAD)?;
        Module::finalise()
    }

    fn C_GetInfo(info: *mut CK_INFO) {
        Module::get()?;
        put(info, CK_INFO {
            cryptokiVersion: CK_VERSION { major: 3, minor: 2 },
            manufacturerID: padded("Millstream"),
            flags: 0,
            libraryDescription: padded("Millstream tokens"),
            libraryVersion: VERSION,
        })
    }

    fn C_GetSlotList(present: CK_BBOOL, list: *mut CK_SLOT_ID, count: *mut CK_ULONG) {
        let module = Module::get()?;
        demand(!count.is_null(), CKR_ARGUMENTS_BAD)?;
        // All slots have tokens; that of the last is not initialised.
        let _ = present;
        let slots = module.look()?;
        let room = structure(count)?;
        put(count, slots.len() as CK_ULONG)?;
        if list.is_null() {
            return Ok(());
        }
        demand(room >= slots.len() as CK_ULONG, CKR_BUFFER_TOO_SMALL)?;
        for (place, slot) in slots.iter().enumerate() {
            put(list.add(place), slot.id)?;
        }
        Ok(())
    }

    fn C_GetSlotInfo(id: CK_SLOT_ID, info: *mut CK_SLOT_INFO) {
        let slot = Module::get()?.slot(id)?;
        put(info, CK_SLOT_INFO {
            slotDescription: padded(&format!("Millstream slot {}", slot.id)),
            manufacturerID: padded("Millstream"),
            flags: CKF_TOKEN_PRESENT,
            hardwareVersion: VERSION,
            firmwareVersion: VERSION,
        })
    }

    fn C_GetTokenInfo(id: CK_SLOT_ID, info: *mut CK_TOKEN_INFO) {
        let slot = Module::get()?.slot(id)?;
        let token = slot.info()?;
        let is_writable = token.as_ref().is_none_or(|listed| listed.writable);
        let token = token.map(|listed| listed.info);
        let mut flags = CKF_RNG | CKF_LOGIN_REQUIRED | CKF_DUAL_CRYPTO_OPERATIONS | CKF_ASYNC_SESSION_SUPPORTED;
        if !is_writable {
            // Such a user has sessions that write, too, for objects of sessions.
            flags |= CKF_WRITE_PROTECTED;
        }
        let (mut label, mut serial) = (String::new(), String::new());
        if let Some(token) = &token {
            flags |= CKF_TOKEN_INITIALIZED;
            label.clone_from(&token.label);
            // The serial number has 32 digits; the first half of them is as unique as it has to be.
            serial = token.token.to_string()[..16].to_owned();
            if token.has_user_pin {
                flags |= CKF_USER_PIN_INITIALIZED;
            }
            let tries = [
                (token.user_tries_left, CKF_USER_PIN_COUNT_LOW, CKF_USER_PIN_FINAL_TRY, CKF_USER_PIN_LOCKED),
                (token.officer_tries_left, CKF_SO_PIN_COUNT_LOW, CKF_SO_PIN_FINAL_TRY, CKF_SO_PIN_LOCKED),
            ];
            for (left, low, last, locked) in tries {
                flags |= match left {
                    0 => locked,
                    1 => low | last,
                    2..=9 => low,
                    _ => 0,
                };
            }
        }
        let count = |sessions: &std::sync::atomic::AtomicUsize| {
            sessions.load(std::sync::atomic::Ordering::Acquire) as CK_ULONG
        };
        let pin = millstream_store::vault::PIN_BYTES;
        put(info, CK_TOKEN_INFO {
            label: padded(&label),
            manufacturerID: padded("Millstream"),
            model: padded("token"),
            serialNumber: padded(&serial),
            flags,
            ulMaxSessionCount: CK_EFFECTIVELY_INFINITE,
            ulSessionCount: count(&slot.sessions),
            ulMaxRwSessionCount: CK_EFFECTIVELY_INFINITE,
            ulRwSessionCount: count(&slot.writing),
            ulMaxPinLen: *pin.end() as CK_ULONG,
            ulMinPinLen: *pin.start() as CK_ULONG,
            ulTotalPublicMemory: CK_UNAVAILABLE_INFORMATION,
            ulFreePublicMemory: CK_UNAVAILABLE_INFORMATION,
            ulTotalPrivateMemory: CK_UNAVAILABLE_INFORMATION,
            ulFreePrivateMemory: CK_UNAVAILABLE_INFORMATION,
            hardwareVersion: VERSION,
            firmwareVersion: VERSION,
            utcTime: padded(""),
        })
    }

    fn C_GetMechanismList(id: CK_SLOT_ID, list: *mut CK_MECHANISM_TYPE, count: *mut CK_ULONG) {
        Module::get()?.slot(id)?;
        let mechanisms = mechanism::all().count() as CK_ULONG;
        let room = structure(count)?;
        put(count, mechanisms)?;
        if list.is_null() {
            return Ok(());
        }
        demand(room >= mechanisms, CKR_BUFFER_TOO_SMALL)?;
        for (place, row) in mechanism::all().enumerate() {
            put(list.add(place), row.mechanism)?;
        }
        Ok(())
    }

    fn C_GetMechanismInfo(id: CK_SLOT_ID, kind: CK_MECHANISM_TYPE, info: *mut CK_MECHANISM_INFO) {
        Module::get()?.slot(id)?;
        let row = mechanism::find(kind, 0)?;
        put(info, CK_MECHANISM_INFO { ulMinKeySize: row.keys.0, ulMaxKeySize: row.keys.1, flags: row.flags })
    }

    fn C_InitToken(id: CK_SLOT_ID, pin: *mut CK_UTF8CHAR, len: CK_ULONG, label: *mut CK_UTF8CHAR) {
        let slot = Module::get()?.slot(id)?;
        let pin = given_pin(pin, len)?;
        // The label has 32 bytes, filled up with spaces.
        let label = str::from_utf8(bytes(label, 32)?).map_err(|_| Refusal(CKR_ARGUMENTS_BAD))?.trim_end_matches(' ');
        demand(!label.is_empty(), CKR_ARGUMENTS_BAD)?;
        slot.initialise(label, pin)
    }

    fn C_WaitForSlotEvent(flags: CK_FLAGS, slot: *mut CK_SLOT_ID, reserved: *mut std::ffi::c_void) {
        demand(reserved.is_null() && !slot.is_null(), CKR_ARGUMENTS_BAD)?;
        Module::get()?.wait_for_event(flags & CKF_DONT_BLOCK == 0)
    }

    fn C_GetFunctionStatus(session: CK_SESSION_HANDLE) {
        Module::get()?.session(session)?;
        refuse(CKR_FUNCTION_NOT_PARALLEL)
    }

    fn C_CancelFunction(session: CK_SESSION_HANDLE) {
        Module::get()?.session(session)?;
        refuse(CKR_FUNCTION_NOT_PARALLEL)
    }

    fn C_SeedRandom(session: CK_SESSION_HANDLE, seed: *mut CK_BYTE, len: CK_ULONG) {
        Module::get()?.session(session)?;
        bytes(seed, len)?;
        refuse(CKR_RANDOM_SEED_NOT_SUPPORTED)
    }

    fn C_GenerateRandom(session: CK_SESSION_HANDLE, random: *mut CK_BYTE, len: CK_ULONG) {
        Module::get()?.session(session)?;
        // The program's memory may be shared with others, so it is written once, from memory that is not.
        let mut left = len;
        let mut place = random;
        demand(len == 0 || !random.is_null(), CKR_ARGUMENTS_BAD)?;
        demand(isize::try_from(len).is_ok(), CKR_ARGUMENTS_BAD)?;
        while left > 0 {
            let mut chunk = zeroize::Zeroizing::new([0; 4096]);
            let n = left.min(chunk.len() as CK_ULONG) as usize;
            millstream::random(&mut chunk[..n])?;
            std::ptr::copy_nonoverlapping(chunk.as_ptr(), place, n);
            place = place.add(n);
            left -= n as CK_ULONG;
        }
        Ok(())
    }
}

/// Reads a PIN. This token has no other way to get one.
///
/// # Safety
/// As the module says.
pub(super) unsafe fn given_pin<'a>(pin: *const CK_UTF8CHAR, len: CK_ULONG) -> Outcome<&'a [u8]> {
    demand(!pin.is_null(), CKR_ARGUMENTS_BAD)?;
    // SAFETY: the program's promise.
    unsafe { bytes(pin, len) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(padded::<4>("ab"), *b"ab  ");
        assert_eq!(padded::<4>("abcé"), *b"abc ");
        assert_eq!(&padded::<5>("abcé"), "abcé".as_bytes());
    }
}
