//! Keys with fewer usages than their algorithm has, or whose nonces the accelerator makes.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc)]

use millstream::cwq::Usages;
use millstream::queue::{KeyOptions as Inner, Nonces};

use super::isolated::{Accelerator, exportable};
use super::queue::structures::none_reserved;
use super::{In, guard, object, object_mut, put};
use crate::algorithm::AlgorithmCode;
use crate::failure::Failure;
use crate::queue::Queue;
use crate::status::Status;

/// A usage in millstream_key_options: the key may encrypt and seal.
pub const MILLSTREAM_USAGE_ENCRYPT: u32 = 1;
/// The key may decrypt and open.
pub const MILLSTREAM_USAGE_DECRYPT: u32 = 2;
/// The key may produce MACs.
pub const MILLSTREAM_USAGE_SIGN: u32 = 4;
/// The key may compare MACs.
pub const MILLSTREAM_USAGE_VERIFY: u32 = 8;
/// The key may encrypt other keys, for which there is no operation yet.
pub const MILLSTREAM_USAGE_WRAP: u32 = 16;
/// The key may derive other keys, for which there is no operation yet.
pub const MILLSTREAM_USAGE_DERIVE: u32 = 32;

/// The purpose of a key in a slot, 32 bytes. A number of 0 stands for the usual value.
///
/// Some sets of usages are refused with MILLSTREAM_STATUS_KEY_USAGE because they would not hold. Under CTR, CFB, RC4
/// and KASUMI F8 whoever may encrypt can decrypt, and the other way round. Under an AEAD whoever may seal with any
/// nonce can decrypt, so a key that only seals needs made nonces. A key that verifies and does not sign, and one whose
/// nonces are made, compares tags of 12 bytes at least, or whole ones.
#[derive(Debug)]
#[repr(C)]
pub struct KeyOptions {
    /// MILLSTREAM_USAGE_... together. Usual: all usages for which the algorithm has operations.
    pub usages: u32,
    /// 1 if the key's bytes may be had back from an accelerator, else 0.
    pub exportable: u32,
    /// 1 if the accelerator makes the nonces of the AEAD's key (MILLSTREAM_KIND_SEAL_WITH_MADE_NONCE) and refuses given ones
    /// for sealing, else 0.
    pub makes_nonces: u32,
    /// 0.
    pub reserved: [u32; 5],
}

impl KeyOptions {
    fn options(&self) -> Result<Inner, Failure> {
        none_reserved(&self.reserved)?;
        let usages = match self.usages {
            0 => None,
            bits => {
                let known = u8::try_from(bits).ok().and_then(Usages::from_bits);
                Some(known.ok_or(Failure::Argument("set of usages", bits.into()))?)
            }
        };
        let nonces = match self.makes_nonces {
            0 => Nonces::Given,
            1 => Nonces::Made,
            other => return Err(Failure::Argument("choice of nonces", other.into())),
        };
        Ok(Inner { usages, exportable: exportable(self.exportable)?, nonces })
    }
}

/// # Safety
/// NULL, or options.
unsafe fn options(given: *const KeyOptions) -> Result<Inner, Failure> {
    // SAFETY: as the caller says.
    unsafe { given.as_ref() }.map_or(Ok(Inner::default()), KeyOptions::options)
}

/// Imports a key as millstream_accelerator_import_key() does, with `options`, or with the usual ones where they are
/// NULL. Fails as that does, and with MILLSTREAM_STATUS_KEY_USAGE, MILLSTREAM_STATUS_RESERVED; with
/// MILLSTREAM_STATUS_POLICY also where the service's policy does not allow such a key, which millstream_last_error()
/// says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_accelerator_import_key_with(
    accelerator: *const Accelerator,
    algorithm: AlgorithmCode,
    key: *const u8,
    key_length: usize,
    options: *const KeyOptions,
    made: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise; see the module.
        unsafe {
            put("made", made, 0)?;
            let accelerator = object("accelerator", accelerator)?.inner();
            let (key, options) = (In::new("key", key, key_length)?.get(), self::options(options)?);
            put("made", made, accelerator.import_key_with(algorithm.keyed()?, key, options)?.to_bits())
        }
    })
}

/// Generates a key as millstream_accelerator_generate_key() does, with `options`, or with the usual ones where they are
/// NULL. Fails as millstream_accelerator_import_key_with() does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_accelerator_generate_key_with(
    accelerator: *const Accelerator,
    algorithm: AlgorithmCode,
    key_length: usize,
    options: *const KeyOptions,
    made: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise; see the module.
        unsafe {
            put("made", made, 0)?;
            let accelerator = object("accelerator", accelerator)?.inner();
            let options = self::options(options)?;
            let key = accelerator.generate_key_with(algorithm.keyed()?, key_length, options)?;
            put("made", made, key.to_bits())
        }
    })
}

/// Imports a key as millstream_queue_import_key() does, with `options`, or with the usual ones where they are NULL. A
/// queue of this process has no way to export a key. Fails as millstream_queue_import_key() and
/// millstream_accelerator_import_key_with() do.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_queue_import_key_with(
    queue: *mut Queue,
    algorithm: AlgorithmCode,
    key: *const u8,
    key_length: usize,
    options: *const KeyOptions,
    made: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise; see the module.
        unsafe {
            put("made", made, 0)?;
            let (queue, key) = (object_mut("queue", queue)?, In::new("key", key, key_length)?.get());
            let options = self::options(options)?;
            let key = queue.inner_mut().import_key_with(algorithm.keyed()?, key, options)?;
            put("made", made, key.to_bits())
        }
    })
}

#[cfg(test)]
mod tests {
    use std::mem::{align_of, offset_of};

    use super::*;

    /// C programs are compiled against these.
    #[test]
    fn every_field_has_its_place() {
        assert_eq!((size_of::<KeyOptions>(), align_of::<KeyOptions>()), (32, 4));
        assert_eq!(offset_of!(KeyOptions, exportable), 4);
        assert_eq!(offset_of!(KeyOptions, makes_nonces), 8);
        assert_eq!(offset_of!(KeyOptions, reserved), 12);
    }

    #[test]
    fn the_usages_are_those_of_control_words() {
        let numbers = [
            (Usages::ENCRYPT, MILLSTREAM_USAGE_ENCRYPT),
            (Usages::DECRYPT, MILLSTREAM_USAGE_DECRYPT),
            (Usages::SIGN, MILLSTREAM_USAGE_SIGN),
            (Usages::VERIFY, MILLSTREAM_USAGE_VERIFY),
            (Usages::WRAP, MILLSTREAM_USAGE_WRAP),
            (Usages::DERIVE, MILLSTREAM_USAGE_DERIVE),
        ];
        for (usage, number) in numbers {
            assert_eq!(u32::from(usage.to_bits()), number);
        }
    }
}
