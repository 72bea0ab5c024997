//! The structures of queues that C fills and reads.

use std::time::Duration;

use millstream::queue::{Config, ThreadConfig};

use crate::algorithm::AlgorithmCode;
use crate::failure::Failure;
use crate::ffi::batch::KindCode;
use crate::ffi::lent::Buffer;
use crate::status::StatusCode;

/// The value for a time of looking before sleeping that stands for none at all.
pub const MILLSTREAM_NO_SPIN: u32 = u32::MAX;

/// The sizes of a queue, 32 bytes. A number of 0 stands for the usual value.
#[derive(Debug)]
#[repr(C)]
pub struct QueueOptions {
    /// The most operations in flight; rounded up to a power of two, at most 65536. Usual: 256.
    pub depth: u32,
    /// Bytes of arena for buffers. Usual: 8 MiB.
    pub arena_bytes: u32,
    /// The most keys that it may hold. Usual: 64.
    pub key_slots: u32,
    /// The queue's share of an accelerator that serves several queues. Usual: 1.
    pub weight: u32,
    /// 0.
    pub reserved: [u32; 4],
}

/// The behaviour of an accelerator's thread, 32 bytes. A number of 0 stands for the usual value.
#[derive(Debug)]
#[repr(C)]
pub struct ThreadOptions {
    /// If this is not 0, the thread is pinned to the processor `cpu`.
    pub pin: u32,
    /// The processor.
    pub cpu: u32,
    /// Microseconds that the thread looks at empty rings before it sleeps. Usual: 50. MILLSTREAM_NO_SPIN: none.
    pub spin_us: u32,
    /// Microseconds that an operation may wait for others to fill lanes with. Usual: 0.
    pub flush_deadline_us: u32,
    /// 0.
    pub reserved: [u32; 4],
}

/// One operation for a queue, 128 bytes. Set all of it to 0, then the fields that its kind uses. The small parts (iv,
/// aad, tag) are copied when it is submitted. Output never goes over input: source and destination are two buffers.
#[derive(Debug)]
#[repr(C)]
pub struct Request {
    /// The kind of the operation.
    pub kind: KindCode,
    /// The hash or checksum, where there is no key; the hash of a scheme.
    pub algorithm: AlgorithmCode,
    /// The key, from millstream_queue_import_key() or of the accelerator.
    pub key: u64,
    /// The key of the HMAC, where a cipher and an HMAC are combined.
    pub mac_key: u64,
    /// The input.
    pub source: *mut Buffer,
    /// The output, as long as the input unless it is the result of a key pair; NULL where there is none.
    pub destination: *mut Buffer,
    /// More input, read after the source as if it were one with it: `more_count` buffers.
    pub more: *const *mut Buffer,
    /// The number of those buffers, at most 63.
    pub more_count: usize,
    /// Initialisation vector, first counter block, tweak, or nonce; the context of ML-DSA or SLH-DSA.
    pub iv: *const u8,
    /// Bytes of the initialisation vector, at most 255.
    pub iv_length: usize,
    /// Associated data, or the mid-state before; the public key to encapsulate for.
    pub aad: *const u8,
    /// Bytes of associated data: as many as the arena has room for.
    pub aad_length: usize,
    /// The tag to compare with.
    pub tag: *const u8,
    /// Bytes of the tag, at most 64.
    pub tag_length: usize,
    /// Bytes in front that are authenticated and not encrypted, where a cipher and an HMAC are combined.
    pub clear_length: u32,
    /// For KASUMI, the bits of the last byte that are no part of the message, 0 to 7.
    pub unused_bits: u8,
    /// For KASUMI F9, DIRECTION: 0 or 1.
    pub direction: u8,
    /// 0.
    pub reserved: [u8; 2],
    /// The caller's own value, which comes back with the end.
    pub user: u64,
    /// The scheme of a key pair, as in an operation of a batch; the radix of FF1.
    pub scheme: u32,
    /// 0.
    pub reserved_too: u32,
}

/// The end of an operation, 128 bytes.
#[derive(Debug)]
#[repr(C)]
pub struct Done {
    /// The ticket that millstream_queue_submit() gave.
    pub ticket: u64,
    /// The request's `user`.
    pub user: u64,
    /// The result of the operation. If it failed, millstream_last_error() says what was given and what is taken.
    pub status: StatusCode,
    /// The checksum, if the operation took one; of a key pair the bytes that were written to the destination.
    pub value: u32,
    /// Bytes of `tag`.
    pub tag_length: u32,
    /// Bytes of the nonce that the accelerator made, which follow those of the tag in `tag`; 0 where it made none.
    pub nonce_length: u32,
    /// The request's source, which can be used again; NULL where it had none.
    pub source: *mut Buffer,
    /// The request's destination, which can be used again; NULL where it had none.
    pub destination: *mut Buffer,
    /// The mid-state after a piece of a message, or a signature, secret or public key for which `tag` has no room, until the queue is next polled
    /// or waited for; else NULL.
    pub state: *const u8,
    /// Bytes at `state`.
    pub state_length: usize,
    /// The digest, MAC or tag, and after it the nonce that was made.
    pub tag: [u8; 64],
}

impl QueueOptions {
    pub(super) fn config(&self) -> Result<Config, Failure> {
        none_reserved(&self.reserved)?;
        let usual = Config::default();
        let or = |given: u32, usual: usize| if given == 0 { usual } else { given as usize };
        Ok(Config {
            depth: or(self.depth, usual.depth),
            arena_bytes: if self.arena_bytes == 0 { usual.arena_bytes } else { self.arena_bytes },
            key_slots: or(self.key_slots, usual.key_slots),
            weight: if self.weight == 0 { usual.weight } else { self.weight },
        })
    }
}

impl ThreadOptions {
    pub(super) fn config(&self) -> Result<ThreadConfig, Failure> {
        none_reserved(&self.reserved)?;
        let usual = ThreadConfig::default();
        Ok(ThreadConfig {
            cpu: (self.pin != 0).then_some(self.cpu as usize),
            spin: spin(self.spin_us, usual.spin),
            flush_deadline: Duration::from_micros(self.flush_deadline_us.into()),
        })
    }
}

/// Reads a time of looking, as C gives it.
pub fn spin(given_us: u32, usual: Duration) -> Duration {
    match given_us {
        0 => usual,
        MILLSTREAM_NO_SPIN => Duration::ZERO,
        given => Duration::from_micros(given.into()),
    }
}

/// Fails unless the reserved words are 0.
pub fn none_reserved(words: &[u32]) -> Result<(), Failure> {
    if words.iter().any(|word| *word != 0) {
        return Err(Failure::Reserved("reserved"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::mem::{align_of, offset_of};

    use super::*;

    /// C programs are compiled against these.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn every_field_has_its_place() {
        assert_eq!((size_of::<Request>(), align_of::<Request>()), (128, 8));
        assert_eq!((size_of::<Done>(), align_of::<Done>()), (128, 8));
        assert_eq!((size_of::<QueueOptions>(), align_of::<QueueOptions>()), (32, 4));
        assert_eq!((size_of::<ThreadOptions>(), align_of::<ThreadOptions>()), (32, 4));
        let request = [
            (offset_of!(Request, kind), 0),
            (offset_of!(Request, algorithm), 4),
            (offset_of!(Request, key), 8),
            (offset_of!(Request, mac_key), 16),
            (offset_of!(Request, source), 24),
            (offset_of!(Request, destination), 32),
            (offset_of!(Request, more), 40),
            (offset_of!(Request, more_count), 48),
            (offset_of!(Request, iv), 56),
            (offset_of!(Request, iv_length), 64),
            (offset_of!(Request, aad), 72),
            (offset_of!(Request, aad_length), 80),
            (offset_of!(Request, tag), 88),
            (offset_of!(Request, tag_length), 96),
            (offset_of!(Request, clear_length), 104),
            (offset_of!(Request, unused_bits), 108),
            (offset_of!(Request, direction), 109),
            (offset_of!(Request, reserved), 110),
            (offset_of!(Request, user), 112),
            (offset_of!(Request, scheme), 120),
            (offset_of!(Request, reserved_too), 124),
        ];
        let done = [
            (offset_of!(Done, ticket), 0),
            (offset_of!(Done, user), 8),
            (offset_of!(Done, status), 16),
            (offset_of!(Done, value), 20),
            (offset_of!(Done, tag_length), 24),
            (offset_of!(Done, source), 32),
            (offset_of!(Done, destination), 40),
            (offset_of!(Done, state), 48),
            (offset_of!(Done, state_length), 56),
            (offset_of!(Done, tag), 64),
        ];
        for (i, (is, should)) in request.into_iter().chain(done).enumerate() {
            assert_eq!(is, should, "field {i}");
        }
    }
}
