//! The completion, which says what became of a control word.

use std::fmt;

/// The 16 bytes that come back for each control word, little-endian.
///
/// | at | bytes | field |
/// | --- | --- | --- |
/// | 0 | 8 | `tag`: the control word's |
/// | 8 | 2 | `status` |
/// | 10 | 2 | zero |
/// | 12 | 4 | `value`: a checksum, or the bytes written as digest, tag or mid-state |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct Completion {
    /// The control word's tag.
    pub tag: u64,
    /// A [`Status`].
    pub status: u16,
    /// Zero.
    pub reserved: u16,
    /// A checksum, or the bytes written as digest, tag or mid-state.
    pub value: u32,
}

impl Completion {
    /// Bytes in a completion.
    pub const BYTES: usize = 16;
    /// 64-bit words in a completion.
    pub const WORDS: usize = Self::BYTES / 8;

    /// Returns the completion as it passes through a ring.
    #[inline(always)]
    pub const fn to_words(&self) -> [u64; Self::WORDS] {
        [self.tag, self.status as u64 | (self.reserved as u64) << 16 | (self.value as u64) << 32]
    }

    /// Returns the completion that came through a ring.
    #[inline(always)]
    pub const fn from_words(words: [u64; Self::WORDS]) -> Self {
        Completion {
            tag: words[0],
            status: words[1] as u16,
            reserved: (words[1] >> 16) as u16,
            value: (words[1] >> 32) as u32,
        }
    }

    /// Returns the status, or nothing for a number that this version does not know.
    #[inline]
    pub fn status(&self) -> Option<Status> {
        Status::from_code(self.status)
    }
}

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $code:literal $text:literal,)+) => {
        /// The end of an operation. Every status but [`Status::Ok`] means that nothing was done, except where its
        /// doc says what was written. The input is always intact.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u16)]
        pub enum Status {
            $($(#[$doc])* $name = $code,)+
        }

        impl Status {
            /// Every status, in the order of the numbers.
            pub const ALL: &[Status] = &[$(Status::$name),+];

            /// The number of statuses.
            pub const COUNT: usize = Status::ALL.len();

            /// Returns the status that a number stands for, if any.
            #[inline(always)]
            pub const fn from_code(code: u16) -> Option<Self> {
                match code {
                    $($code => Some(Status::$name),)+
                    _ => None,
                }
            }

            /// Returns the place in [`Status::ALL`], as an index for tables of statuses.
            #[inline]
            pub const fn index(self) -> usize {
                enum Place { $($name,)+ }
                match self {
                    $(Status::$name => Place::$name as usize,)+
                }
            }

            /// Returns the name that reports and metrics use.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Status::$name => stringify!($name),)+
                }
            }
        }

        impl fmt::Display for Status {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Status::$name => $text,)+
                })
            }
        }
    };
}

statuses! {
    /// Done.
    Ok = 0 "done",
    /// A tag does not match. The destination is zero.
    Authentication = 1 "authentication failed: the data was changed, or the key or nonce is not the one it was sealed with",
    /// The word's version is not [`VERSION`](crate::VERSION).
    Version = 16 "a control word of another version; this accelerator knows version 1",
    /// The opcode is unknown.
    Opcode = 17 "no such opcode",
    /// The opcode has no such algorithm, or no such hash.
    Algorithm = 18 "the opcode takes no such algorithm or hash",
    /// A flag that is reserved, or that the opcode does not use, is set.
    Flags = 19 "a flag is set that is reserved or that the opcode does not use",
    /// A field that the opcode does not use is not zero.
    Reserved = 20 "a field that the opcode does not use is not zero",
    /// The policy of the grant does not allow the algorithm, or the hash.
    Policy = 21 "the policy of this grant does not allow the algorithm",
    /// The source is not inside the arena.
    SourceRange = 32 "the source is not inside the arena",
    /// The destination is not inside the arena.
    DestinationRange = 33 "the destination is not inside the arena",
    /// The associated data is not inside the arena.
    AadRange = 34 "the associated data is not inside the arena",
    /// The initialisation vector is not inside the arena.
    IvRange = 35 "the initialisation vector is not inside the arena",
    /// The tag or digest is not inside the arena.
    MacRange = 36 "the place of the tag or digest is not inside the arena",
    /// A key in the arena is not inside it.
    KeyRange = 37 "the key is not inside the arena",
    /// The mid-state is not inside the arena.
    StateRange = 38 "the mid-state is not inside the arena",
    /// A gather list, or one of its pieces, is not inside the arena, the list has too many pieces or more
    /// bytes than the arena, or it changed while it was read.
    Gather = 39 "the gather list or one of its pieces is not inside the arena, or it is too long, or was changed",
    /// Something that is written overlaps something else that the word names.
    Overlap = 40 "an output overlaps another part of the operation",
    /// There is no such key, or it is not one for this algorithm.
    Key = 48 "no such key for this algorithm",
    /// The key's length is not one the algorithm takes, or it is weak.
    KeyLength = 49 "the algorithm takes no such key",
    /// The initialisation vector's or nonce's length is not one the algorithm takes.
    IvLength = 50 "the algorithm takes no initialisation vector of that length",
    /// The tag's or digest's length is not one the algorithm produces.
    MacLength = 51 "the algorithm has no tag or digest of that length",
    /// The data's length does not fit the algorithm.
    DataLength = 52 "the data's length does not fit the algorithm",
    /// The given bytes are not a mid-state of this hash, or not one that was sealed under this key.
    MidState = 53 "not a mid-state of this algorithm, or not under this key",
    /// A parameter is out of its range.
    Parameter = 54 "a parameter is out of its range",
    /// The key was not made to encrypt.
    UsageEncrypt = 55 "the key was not made to encrypt: import or generate it with that usage",
    /// The key was not made to decrypt.
    UsageDecrypt = 56 "the key was not made to decrypt: import or generate it with that usage",
    /// The key was not made to produce MACs.
    UsageSign = 57 "the key was not made to sign: import or generate it with that usage",
    /// The key was not made to compare MACs.
    UsageVerify = 58 "the key was not made to verify: import or generate it with that usage",
    /// A key that may compare tags and not produce them, or whose nonces the accelerator makes, compares at least 12 bytes, or
    /// all where there are fewer. A client who may compare one byte more each time finds a tag byte by byte.
    ShortTag = 59 "this key compares no tag of less than 12 bytes",
    /// A nonce was given for a key whose nonces the accelerator makes.
    NonceGiven = 60 "the accelerator makes the nonces of this key: seal without giving one",
    /// The accelerator makes no nonces for this key, or the key came with the word.
    NonceMissing = 61 "the accelerator makes no nonces for this key: give one, or make the key so that it does",
    /// The key has sealed as often as its nonces allow.
    NoncesSpent = 62 "the key has sealed as often as its nonces allow: use another key",
    /// The object to open is longer than what the service can hold back until the tag was compared: 16 MiB, or less where
    /// the service may lock little memory.
    TooLong = 63 "too long to be opened in one piece: more than 16 MiB (16777216 bytes), or than the service's limit of locked memory leaves room for; seal it in shorter pieces, or raise that limit",
    /// The operation was cancelled before it began, or while it was under way. In the latter case a part of the destination
    /// may be written.
    Cancelled = 64 "cancelled before it was done",
    /// The grant was taken away before the operation was done. A long operation may have written a part of its destination.
    Revoked = 65 "the grant was revoked before it was done",
    /// The accelerator ended before it was done.
    Gone = 66 "the accelerator has ended; the input is intact",
    /// The peer's public key is not one to agree with or to encapsulate for.
    Peer = 67 "the peer's public key is none to make a secret with: its order is small, or it is not encoded as it should be; ask the peer for another key",
    /// The key was not made to agree with peers.
    UsageDerive = 68 "the key was not made to derive secrets: import or generate it with that usage",
    /// The keys of the grant, or this one, were used as often in the last second as the policy allows.
    UsesPerSecond = 69 "the policy allows no more uses of this key, or of this grant's keys, in a second: wait, or ask for fewer",
    /// The key, or the keys of the grant, were used as often as the policy allows in all.
    UsesSpent = 70 "this key, or this grant's keys, were used as often as the policy allows in all: ask an operator for a higher limit",
    /// The accelerator's generator was never seeded, or has given out all that one seed allows.
    Random = 72 "no random bytes: the accelerator's generator waits for a seed from the kernel; ask again",
}

impl std::error::Error for Status {}

#[cfg(test)]
mod tests {
    use std::mem::{align_of, offset_of, size_of};

    use super::*;

    #[test]
    fn every_field_has_its_place() {
        assert_eq!((size_of::<Completion>(), align_of::<Completion>()), (16, 16));
        assert_eq!(offset_of!(Completion, tag), 0);
        assert_eq!(offset_of!(Completion, status), 8);
        assert_eq!(offset_of!(Completion, value), 12);
        let done =
            Completion { tag: 0x0706_0504_0302_0100, status: 0x0908, reserved: 0x0b0a, value: 0x0f0e_0d0c };
        assert_eq!(done.to_words(), [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908]);
        assert_eq!(Completion::from_words(done.to_words()), done);
    }

    #[test]
    fn every_status_has_a_number_and_a_text_of_its_own() {
        for status in Status::ALL {
            assert_eq!(Status::from_code(*status as u16), Some(*status));
            assert_eq!(Status::ALL[status.index()], *status);
            assert_eq!(status.name(), format!("{status:?}"));
            let same = Status::ALL.iter().filter(|other| other.to_string() == status.to_string());
            assert_eq!(same.count(), 1, "{status}");
        }
        assert_eq!(Status::from_code(2), None);
        assert_eq!((Status::Ok.index(), Status::COUNT), (0, Status::ALL.len()));
    }
}
