//! The failures behind the numbers: they know more, and say it when they are asked.

use std::fmt;
use std::io::ErrorKind;

use millstream::isolated::{AttachError, KeyRefusal, ServiceRefusal};
use millstream::queue::Refusal;
use millstream::{EngineError, Error, cwq, srtp};

use crate::status::Status;

/// The reason why a call failed, with all that is known about it. It is kept for [`millstream_last_error`](crate::ffi),
/// and put into words only when they are asked for: a full queue is a failure too.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The parameter of that name is NULL.
    Null(&'static str),
    /// The two parameters of these names overlap.
    Overlap(&'static str, &'static str),
    /// The parameter of that name is too long.
    Size(&'static str, usize),
    /// A number that stands for nothing, and the name of what it should be.
    Argument(&'static str, u64),
    /// An algorithm that is not accepted here, and the accepted ones.
    Algorithm {
        /// The name of the algorithm.
        given: &'static str,
        /// The accepted ones in words.
        takes: &'static str,
    },
    /// An algorithm without streams.
    OneShot(&'static str),
    /// The message has ended.
    Ended,
    /// A field that is to be 0.
    Reserved(&'static str),
    /// A panic, with its message.
    Panic(String),
    /// Nothing has ended.
    Nothing,
    /// The buffer of that name is in flight.
    InFlight(&'static str),
    /// The buffer of that name is lost.
    Lost(&'static str),
    /// One operation of a batch: its place, and its failure.
    Operation(usize, Box<Failure>),
    /// A failure of the library beneath.
    Core(Error),
}

impl Failure {
    /// Returns the number of the failure.
    pub fn status(&self) -> Status {
        match self {
            Failure::Null(_) => Status::Null,
            Failure::Overlap(..) => Status::Overlap,
            Failure::Size(..) => Status::Size,
            Failure::Argument(..) => Status::Argument,
            Failure::Algorithm { .. } => Status::Algorithm,
            Failure::OneShot(_) => Status::OneShot,
            Failure::Ended => Status::Ended,
            Failure::Reserved(_) => Status::Reserved,
            Failure::Panic(_) => Status::Panic,
            Failure::Nothing => Status::Nothing,
            Failure::InFlight(_) => Status::InFlight,
            Failure::Lost(_) => Status::Lost,
            Failure::Operation(_, failure) => failure.status(),
            Failure::Core(error) => of_error(error),
        }
    }
}

/// A number that stands for nothing. It is made out of line, like all failures that a call on the frequent way can have: the code
/// that makes one is as long as the rest of a wrapper.
#[cold]
#[inline(never)]
pub fn unknown(name: &'static str, number: u64) -> Failure {
    Failure::Argument(name, number)
}

/// A parameter that is NULL.
#[cold]
#[inline(never)]
pub fn null(name: &'static str) -> Failure {
    Failure::Null(name)
}

/// An algorithm that is not the hash that was asked for.
#[cold]
#[inline(never)]
pub fn not_a_hash(algorithm: cwq::Algorithm) -> Failure {
    Failure::Algorithm { given: algorithm.name(), takes: "a hash" }
}

/// A number that is of no key.
#[cold]
#[inline(never)]
pub fn no_key() -> Failure {
    cwq::Status::Key.into()
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Null(name) => write!(f, "{name} is NULL: only bytes whose length is 0 may be"),
            Failure::Overlap(a, b) => {
                write!(f, "{a} and {b} overlap: use the same start for input and output, or memory apart")
            }
            Failure::Size(name, len) => {
                write!(f, "{name} has {len} bytes, more than an object in memory can have")
            }
            Failure::Argument(name, given) => {
                write!(f, "{given} is no {name}: see the enumerations of millstream.h")
            }
            Failure::Algorithm { given, takes } => write!(f, "{given} was given where {takes} is taken"),
            Failure::OneShot(name) => {
                write!(f, "{name} takes whole messages only: use the one-shot functions or a batch")
            }
            Failure::Reserved(name) => {
                write!(f, "{name} is not 0, but this does not use it: set the whole structure to 0 first")
            }
            Failure::Panic(what) => {
                write!(f, "a fault inside the library was caught ({what}): please report it")
            }
            Failure::InFlight(name) => write!(f, "{name} is with an operation in flight: wait for its end"),
            Failure::Lost(name) => {
                write!(f, "{name} went with a queue or accelerator that has ended: free it")
            }
            Failure::Operation(place, why) => write!(f, "operation {place}: {why}"),
            Failure::Core(error) => error.fmt(f),
            Failure::Ended | Failure::Nothing => f.write_str(&self.status().text().to_string_lossy()),
        }
    }
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::Core(error.into())
    }
}

fn of_error(error: &Error) -> Status {
    match error {
        Error::Mask(_) | Error::Way(_) => Status::Features,
        Error::Engine(error) => of_engine(*error),
        Error::Srtp(error) => of_srtp(*error),
        Error::Queue(refusal) => of_refusal(*refusal),
        Error::KeySlots => Status::KeySlots,
        Error::Operation(status) => of_operation(*status),
        Error::Thread(_) => Status::Thread,
        Error::Memory(_) => Status::Memory,
        Error::Attach(error) => of_attach(error),
        Error::Key(refusal) => of_key_refusal(*refusal),
        Error::NoAnswer(_) => Status::NoAnswer,
        Error::QueuesTaken => Status::QueuesTaken,
        _ => Status::Other,
    }
}

fn of_srtp(error: srtp::Error) -> Status {
    match error {
        srtp::Error::KeyLength { .. } => Status::KeyLength,
        srtp::Error::Malformed => Status::DataLength,
        srtp::Error::Authentication => Status::Authentication,
        srtp::Error::Replayed | srtp::Error::Old => Status::Replayed,
        srtp::Error::Sources => Status::Sources,
        srtp::Error::Exhausted => Status::NoncesSpent,
        srtp::Error::Features => Status::Features,
        srtp::Error::Engine(error) => of_engine(error),
        _ => Status::Other,
    }
}

/// Returns the number of an engine's error.
pub fn of_engine(error: EngineError) -> Status {
    match error {
        EngineError::KeyLength { .. } => Status::KeyLength,
        EngineError::WeakKey { .. } => Status::WeakKey,
        EngineError::NonceLength { .. } => Status::NonceLength,
        EngineError::TagLength { .. } => Status::TagLength,
        EngineError::DataLength { .. } => Status::DataLength,
        EngineError::Parameter { .. } | EngineError::Peer { .. } => Status::Parameter,
        EngineError::OutputLength { .. } => Status::OutputLength,
        EngineError::Authentication => Status::Authentication,
        EngineError::Padding => Status::Padding,
        EngineError::MidState => Status::MidState,
        EngineError::Order { .. } => Status::Order,
        EngineError::Random => Status::Random,
        _ => Status::Other,
    }
}

fn of_refusal(refusal: Refusal) -> Status {
    match refusal {
        Refusal::Full => Status::Full,
        Refusal::ArenaFull => Status::ArenaFull,
        Refusal::BufferLength => Status::Size,
        Refusal::ForeignBuffer => Status::ForeignBuffer,
        Refusal::DestinationLength => Status::DestinationLength,
        Refusal::TooLong => Status::TooLong,
        Refusal::Gone => Status::Gone,
        Refusal::Revoked => Status::Revoked,
        Refusal::Forked => Status::Forked,
        _ => Status::Other,
    }
}

/// Returns the number of an operation's end in a queue.
pub fn of_operation(status: cwq::Status) -> Status {
    use cwq::Status as End;
    match status {
        End::Ok => Status::Ok,
        End::Authentication => Status::Authentication,
        End::Version => Status::WordVersion,
        End::Opcode => Status::WordOpcode,
        End::Algorithm => Status::WordAlgorithm,
        End::Flags => Status::WordFlags,
        End::Reserved => Status::WordReserved,
        End::Policy => Status::Policy,
        End::SourceRange
        | End::DestinationRange
        | End::AadRange
        | End::IvRange
        | End::MacRange
        | End::KeyRange
        | End::StateRange => Status::WordRange,
        End::Gather => Status::WordGather,
        End::Overlap => Status::Overlap,
        End::Key => Status::NoSuchKey,
        End::KeyLength => Status::KeyLength,
        End::IvLength => Status::NonceLength,
        End::MacLength => Status::TagLength,
        End::DataLength | End::TooLong => Status::DataLength,
        End::MidState => Status::MidState,
        End::Parameter | End::Peer => Status::Parameter,
        End::UsageEncrypt | End::UsageDecrypt | End::UsageSign | End::UsageVerify | End::UsageDerive => {
            Status::KeyUsage
        }
        End::ShortTag => Status::ShortTag,
        End::NonceGiven => Status::NonceGiven,
        End::NonceMissing => Status::NonceMissing,
        End::NoncesSpent => Status::NoncesSpent,
        End::UsesPerSecond => Status::UsesPerSecond,
        End::UsesSpent => Status::UsesSpent,
        End::Random => Status::Random,
        End::Cancelled => Status::Cancelled,
        End::Revoked => Status::Revoked,
        End::Gone => Status::Gone,
        _ => Status::Other,
    }
}

fn of_attach(error: &AttachError) -> Status {
    match error {
        AttachError::NoService { why: ErrorKind::PermissionDenied, .. } => Status::NotPermitted,
        AttachError::NoService { .. } => Status::NoService,
        AttachError::Untrusted { .. } => Status::Untrusted,
        AttachError::Refused { why, .. } => match why {
            ServiceRefusal::Denied => Status::Denied,
            ServiceRefusal::TooMuch => Status::TooMuch,
            ServiceRefusal::TooManyGrants => Status::TooManyGrants,
            ServiceRefusal::NoWorker => Status::NoWorker,
            ServiceRefusal::Exhausted => Status::ServiceExhausted,
            ServiceRefusal::Message => Status::ServiceMessage,
            ServiceRefusal::NotNow => Status::NotNow,
            _ => Status::Other,
        },
        AttachError::Version { .. } => Status::ServiceVersion,
        AttachError::Limit { .. } => Status::NoAnswer,
        AttachError::Answer { .. } => Status::Answer,
        AttachError::Memory(_) => Status::GrantMemory,
        AttachError::Descriptors => Status::Descriptors,
        AttachError::InProcess(_) => Status::InProcess,
        _ => Status::Other,
    }
}

fn of_key_refusal(refusal: KeyRefusal) -> Status {
    match refusal {
        KeyRefusal::NoSuchKey => Status::NoSuchKey,
        KeyRefusal::NotExportable => Status::NotExportable,
        KeyRefusal::SlotsFull => Status::KeySlots,
        KeyRefusal::Policy
        | KeyRefusal::PolicyUsages
        | KeyRefusal::PolicyNonces
        | KeyRefusal::PolicyExportable => Status::Policy,
        KeyRefusal::Usage | KeyRefusal::TwoWay | KeyRefusal::Nonces => Status::KeyUsage,
        KeyRefusal::KeyLength => Status::KeyLength,
        KeyRefusal::Algorithm => Status::Algorithm,
        KeyRefusal::Message => Status::ServiceMessage,
        KeyRefusal::Exhausted => Status::KeyMemory,
        #[allow(unreachable_patterns)]
        _ => Status::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_end_of_an_operation_is_without_a_number() {
        for end in cwq::Status::ALL {
            assert_ne!(of_operation(*end), Status::Other, "{end:?}");
        }
    }

    #[test]
    fn failures_name_the_thing_and_what_to_do() {
        let failure = Failure::Operation(3, Box::new(Failure::Null("key")));
        assert_eq!(failure.status(), Status::Null);
        assert_eq!(failure.to_string(), "operation 3: key is NULL: only bytes whose length is 0 may be");
    }
}
