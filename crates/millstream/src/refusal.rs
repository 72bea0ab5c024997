//! The reasons for which a queue refuses a request.

use std::fmt;

/// The most bytes that a buffer can have: 2^32 - 129.
pub(crate) const LONGEST_BUFFER: usize = 4_294_967_167;

/// The reason why nothing was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The queue is full: take what has come back, then submit again.
    Full,
    /// The arena has no room: drop buffers, or make the arena bigger.
    ArenaFull,
    /// A buffer was asked for that is longer than any arena has room for: 2^32 - 129 bytes at most.
    BufferLength,
    /// A buffer is of another queue's arena.
    ForeignBuffer,
    /// The destination is not as long as the source.
    DestinationLength,
    /// More than 255 bytes of initialisation vector, 64 of tag, 512 of a key in the request (a longer one belongs into a slot), or more than 64 buffers of input.
    TooLong,
    /// The accelerator has ended.
    Gone,
    /// The grant was revoked.
    Revoked,
    /// This is a forked child of the process that attached, or that has the accelerator's thread, or the key for which an
    /// inline accelerator makes nonces: child and parent would make the same.
    Forked,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::BufferLength => {
                const { assert!(LONGEST_BUFFER == 4_294_967_167) };
                "a buffer has at most 4294967167 bytes: ask for fewer, and pass longer data in pieces"
            }
            Refusal::Full => "the queue is full: take what has come back, then submit again",
            Refusal::ArenaFull => "the arena has no room: drop buffers, or configure more arena_bytes",
            Refusal::ForeignBuffer => "a buffer is of another queue: take buffers from the queue they go to",
            Refusal::DestinationLength => "the destination is not as long as the source: see Buffer::set_len",
            Refusal::TooLong => {
                "more than 255 bytes of initialisation vector, 64 of tag, 512 of key, or more than 64 buffers"
            }
            Refusal::Gone => {
                "the accelerator has ended: attach again, or spawn another, and import the keys again"
            }
            Refusal::Revoked => "the grant was revoked: attach again and import the keys again",
            Refusal::Forked => {
                "the accelerator is the parent's, and a forked child has none of it: attach or spawn one again, and import the keys again"
            }
        })
    }
}

impl std::error::Error for Refusal {}
