//! The results of calls: the numbers that a C program sees.

/// The result of a call. The numbers never change; new ones may be added. MILLSTREAM_STATUS_OK is 0, and all others are
/// failures, except that a queue returns MILLSTREAM_STATUS_NOTHING when nothing has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Status {
    /// The call succeeded.
    Ok = 0,

    /// A pointer is NULL that may not be: a handle, a place for a result, or bytes of which there are more than 0.
    Null = 1,
    /// An output overlaps something else that the call names. Input and output may begin at the same byte.
    Overlap = 2,
    /// A length is more than an object in memory can have (SIZE_MAX / 2).
    Size = 3,
    /// A number stands for nothing: an algorithm, a kind, a padding, an option.
    Argument = 4,
    /// The function, or the operation, does not take this algorithm.
    Algorithm = 5,
    /// The algorithm takes whole messages only, no streams.
    OneShot = 6,
    /// The message of this stream has ended: restart or free it.
    Ended = 7,
    /// The room for an output is too short.
    OutputLength = 8,
    /// A reserved field is not 0, or one that this operation does not use.
    Reserved = 9,
    /// A fault inside the library was caught. What the call was to write is undefined; free the objects it used.
    Panic = 10,
    /// MILLSTREAM_HWCAP or MILLSTREAM_QUEUE can't be understood.
    Features = 11,
    /// A failure for which this version of the library has no number: millstream_last_error says what it is.
    Other = 12,

    /// The algorithm takes no key of that length.
    KeyLength = 16,
    /// The two halves of an XTS key are equal.
    WeakKey = 17,
    /// The algorithm takes no nonce or initialisation vector of that length.
    NonceLength = 18,
    /// The algorithm has no tag of that length.
    TagLength = 19,
    /// The data's length does not fit the mode: not whole blocks, too short, or too long.
    DataLength = 20,
    /// A parameter has a value that the algorithm does not take.
    Parameter = 21,
    /// A tag does not match. An output of its own is all zero then, and one in place holds the input again.
    Authentication = 22,
    /// The padding at the end of what was decrypted is not valid.
    Padding = 23,
    /// The bytes are not a mid-state of this algorithm.
    MidState = 24,
    /// The call comes in an order that the message does not allow, as associated data after data.
    Order = 25,
    /// There are no random bytes: the kernel gives none, or the accelerator's generator waits for a seed.
    Random = 26,
    /// A packet with this number was protected or accepted before, or its number is too far behind to know.
    Replayed = 27,
    /// A session of SRTP has as many sources as fit.
    Sources = 28,

    /// No operation of the queue has ended; or, when waiting, none is in flight.
    Nothing = 32,
    /// The queue is full: take what has ended, then submit again.
    Full = 33,
    /// The arena has no room: free buffers, or ask for more arena_bytes.
    ArenaFull = 34,
    /// A buffer is of another queue.
    ForeignBuffer = 35,
    /// The destination is not as long as the source.
    DestinationLength = 36,
    /// More than 255 bytes of initialisation vector, 64 of tag, or 64 buffers.
    TooLong = 37,
    /// The buffer is with an operation in flight.
    InFlight = 38,
    /// The buffer went with a queue or an accelerator that has ended: all that can be done is to free it.
    Lost = 39,
    /// Every key slot is taken: remove a key first.
    KeySlots = 40,
    /// There is no such key, or it is not one for this algorithm.
    NoSuchKey = 41,
    /// The operation was cancelled before it began.
    Cancelled = 42,
    /// The grant was revoked. Operations that had not completed ended with this, their input intact.
    Revoked = 43,
    /// The accelerator has ended. Operations that had not completed ended with this, their input intact.
    Gone = 44,
    /// This is a forked child of the process that attached.
    Forked = 45,
    /// The policy of the service does not allow the algorithm, or such a key.
    Policy = 46,
    /// The thread of an accelerator could not be started, or not be pinned.
    Thread = 47,
    /// Memory for a queue can't be had.
    Memory = 48,
    /// Every queue of the grant is taken.
    QueuesTaken = 49,
    /// The key was not made for this, or a key of its algorithm can't be made for what was asked.
    KeyUsage = 50,
    /// The accelerator makes the nonces of this key: seal with MILLSTREAM_KIND_SEAL_WITH_MADE_NONCE.
    NonceGiven = 51,
    /// The accelerator makes no nonces for this key: give one.
    NonceMissing = 52,
    /// The key has sealed as often as its nonces allow: use another.
    NoncesSpent = 53,
    /// The key compares no tag of less than 12 bytes, because it may not produce them, or because its nonces are made.
    ShortTag = 54,
    /// The policy allows no more uses of this key, or of this grant's keys, in a second: wait.
    UsesPerSecond = 55,
    /// The key, or the grant's keys, were used as often as the policy allows.
    UsesSpent = 56,

    /// No service can be reached at the socket.
    NoService = 64,
    /// This user may not connect to the socket.
    NotPermitted = 65,
    /// The service's policy allows this user no grant.
    Denied = 66,
    /// More was asked for than the policy allows.
    TooMuch = 67,
    /// This user has as many grants as the policy allows.
    TooManyGrants = 68,
    /// No worker of the service can take the grant.
    NoWorker = 69,
    /// Memory or descriptors have run out in the service.
    ServiceExhausted = 70,
    /// The service speaks another version of the protocol.
    ServiceVersion = 71,
    /// The service did not answer within the limit.
    NoAnswer = 72,
    /// The service's answer makes no sense.
    Answer = 73,
    /// This process has no descriptors left for a grant.
    Descriptors = 74,
    /// The granted memory can't be mapped.
    GrantMemory = 75,
    /// There is no service, and no accelerator could be made in its place.
    InProcess = 76,
    /// The key was not made to be exported.
    NotExportable = 77,
    /// The service's memory for keys has run out.
    KeyMemory = 78,
    /// The service did not understand the message.
    ServiceMessage = 79,
    /// The service is neither root's nor this user's, nor that of the user who was named.
    Untrusted = 80,
    /// The service grants this user nothing at the moment: it asks too often, or has held up others.
    NotNow = 81,

    /// The accelerator knows control words of another version.
    WordVersion = 96,
    /// The accelerator knows no such operation.
    WordOpcode = 97,
    /// The accelerator knows no such algorithm for the operation.
    WordAlgorithm = 98,
    /// The accelerator refused a control word's flags.
    WordFlags = 99,
    /// The accelerator found something in a field that is to be 0.
    WordReserved = 100,
    /// The accelerator found a span of memory outside the arena.
    WordRange = 101,
    /// The accelerator refused a list of buffers.
    WordGather = 102,
}

/// A number that is one of [`Status`]: C may write any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct StatusCode(pub u32);

impl From<Status> for StatusCode {
    fn from(status: Status) -> Self {
        StatusCode(status as u32)
    }
}

/// Texts end with a zero, because C reads them.
macro_rules! texts {
    ($($name:ident $text:literal,)+) => {
        impl Status {
            /// All statuses, in the order of their numbers.
            pub const ALL: &[Status] = &[$(Status::$name),+];

            /// Returns the meaning and the remedy, in one line.
            pub const fn text(self) -> &'static std::ffi::CStr {
                match self {
                    $(Status::$name => $text,)+
                }
            }
        }
    };
}

texts! {
    Ok c"done",
    Null c"a pointer is NULL that may not be",
    Overlap c"an output overlaps something else that the call names: use the same start for both, or memory apart",
    Size c"a length is more than an object in memory can have",
    Argument c"a number stands for nothing: see the enumerations of millstream.h",
    Algorithm c"the function or operation does not take this algorithm",
    OneShot c"the algorithm takes whole messages only: use the one-shot functions",
    Ended c"the stream's message has ended: restart or free it",
    OutputLength c"the room for an output is too short",
    Reserved c"a field that is reserved or not used is not 0: set the whole structure to 0 first",
    Panic c"a fault inside the library was caught: please report it",
    Features c"MILLSTREAM_HWCAP or MILLSTREAM_QUEUE can't be understood",
    Other c"a failure without a number of its own: see millstream_last_error",
    KeyLength c"the algorithm takes no key of that length",
    WeakKey c"the two halves of the key are equal: use two different keys",
    NonceLength c"the algorithm takes no nonce or initialisation vector of that length",
    TagLength c"the algorithm has no tag of that length",
    DataLength c"the data's length does not fit the algorithm",
    Parameter c"a parameter has a value that the algorithm does not take",
    Authentication c"authentication failed: the data was changed, or the key or nonce is not the one it was sealed with",
    Padding c"bad padding: the key is wrong or the data was changed",
    MidState c"not a mid-state of this algorithm",
    Order c"the call comes in an order that the message does not allow",
    Random c"no random bytes: the kernel gives none to this process, or the accelerator's generator waits for a seed",
    Replayed c"a packet with this number was there before, or its number is too far behind to know",
    Sources c"the session has as many sources as fit: begin another",
    Nothing c"nothing has ended",
    Full c"the queue is full: take what has ended, then submit again",
    ArenaFull c"the arena has no room: free buffers, or ask for more arena_bytes",
    ForeignBuffer c"a buffer is of another queue: take buffers from the queue they go to",
    DestinationLength c"the destination is not as long as the source: see millstream_buffer_set_len",
    TooLong c"too many bytes of initialisation vector or tag, or too many buffers",
    InFlight c"the buffer is with an operation in flight: wait for its end",
    Lost c"the buffer went with a queue or accelerator that has ended: free it",
    KeySlots c"every key slot is taken: remove a key first, or ask for more key_slots",
    NoSuchKey c"there is no such key for this algorithm",
    Cancelled c"cancelled before it began",
    Revoked c"the grant was revoked: attach again and import the keys again",
    Gone c"the accelerator has ended: attach again, or start another, and import the keys again",
    Forked c"the grant is the parent's, and a forked child has none of it: attach again",
    Policy c"the policy of the service does not allow the algorithm, or such a key",
    Thread c"the accelerator's thread could not be started or pinned: choose another cpu",
    Memory c"no memory for a queue: ask for less arena_bytes or depth",
    QueuesTaken c"every queue of the grant is taken: free one, or attach with more queues",
    KeyUsage c"the key was not made for this, or can't be: see millstream_key_options",
    NonceGiven c"the accelerator makes the nonces of this key: seal without giving one",
    NonceMissing c"the accelerator makes no nonces for this key: give one",
    NoncesSpent c"the key has sealed as often as its nonces allow: use another key",
    ShortTag c"this key compares no tag of less than 12 bytes",
    UsesPerSecond c"the policy allows no more uses of this key, or of this grant's keys, in a second: wait, or ask for fewer",
    UsesSpent c"this key, or this grant's keys, were used as often as the policy allows: ask an operator for a higher limit",
    NoService c"no service can be reached: start one with `millstream serve`, or name its socket",
    NotPermitted c"this user may not connect to the service: ask its owner",
    Denied c"the service's policy allows this user no grant",
    TooMuch c"more was asked for than the service's policy allows",
    TooManyGrants c"this user has as many grants as the service's policy allows",
    NoWorker c"no worker of the service can take the grant: see `millstream status`",
    ServiceExhausted c"memory or descriptors have run out in the service",
    ServiceVersion c"the service speaks another version of the protocol: use the same release",
    NoAnswer c"the service did not answer in time: see whether it is stopped or overloaded",
    Answer c"what the service answered can't be: it is not a Millstream service of this release",
    Descriptors c"this process has no descriptors left for a grant: close some or raise the limit",
    GrantMemory c"the granted memory can't be mapped: ask for less arena_bytes",
    InProcess c"no service, and no accelerator in this process either",
    NotExportable c"the key was not made to be exported",
    KeyMemory c"the service's memory for keys has run out",
    ServiceMessage c"the service did not understand the message: use the same release",
    Untrusted c"the service is neither root's nor this user's: name its user, or find out who listens there",
    NotNow c"the service grants this user nothing at the moment: wait, and try again",
    WordVersion c"the accelerator knows control words of another version: use the same release",
    WordOpcode c"the accelerator knows no such operation: use the same release",
    WordAlgorithm c"the accelerator knows no such algorithm for the operation",
    WordFlags c"the accelerator refused a control word's flags",
    WordReserved c"the accelerator found something in a field that is to be 0",
    WordRange c"the accelerator found a span of memory outside the arena",
    WordGather c"the accelerator refused a list of buffers",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_text_of_its_own_and_numbers_rise() {
        for pair in Status::ALL.windows(2) {
            assert!((pair[0] as u32) < pair[1] as u32, "{pair:?}");
        }
        for status in Status::ALL {
            let same = Status::ALL.iter().filter(|other| other.text() == status.text());
            assert_eq!(same.count(), 1, "{status:?}");
        }
    }
}
