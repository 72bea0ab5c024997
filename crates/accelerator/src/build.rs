//! From a plan, keys and bytes to an operation.

use millstream_cpu::Features;
use millstream_cwq::{Algorithm, Opcode, Status};
use millstream_engines::hash::HashJob;
use millstream_engines::modes::Direction;
use millstream_engines::{Error, InOut, kasumi};
use zeroize::Zeroizing;

use crate::arena::Arena;
use crate::execute::status_of;
use crate::grant::Grant;
use crate::kept::{Kept, NotKept};
use crate::key::{KeyRef, hash_of};
use crate::operation::{Checksum, Expected, Operation, Partial, Sink, Work, aead, chained, cipher, keyed};
use crate::plan::{KeyAt, Plan};
use crate::purpose::Demand;
use crate::slots::Handle;

/// Keys that came with a word.
#[derive(Default)]
pub(crate) struct Carried {
    key: Option<Kept>,
    mac_key: Option<Kept>,
}

/// The keys that a word brings with it. In a frame of its own, to be wiped.
#[inline(never)]
pub(crate) fn carry<A: Arena>(features: Features, arena: &A, plan: &Plan) -> Result<Carried, Status> {
    let expand = |at: KeyAt, algorithm: Algorithm| {
        let KeyAt::Arena(span) = at else { return Ok(None) };
        let mut bytes = Zeroizing::new(vec![0; span.len as usize]);
        arena.read(span.at, &mut bytes);
        Kept::expand(features, algorithm, &bytes, false, None).map(Some).map_err(|error| match error {
            NotKept::Engine(_) => Status::KeyLength,
            NotKept::Memory => Status::Key,
        })
    };
    Ok(Carried { key: expand(plan.key, plan.algorithm)?, mac_key: expand(plan.mac_key, plan.hash)? })
}

/// The keys that a word names.
#[derive(Clone, Copy)]
pub(crate) struct Keys<'a> {
    key: Option<KeyRef<'a>>,
    mac_key: Option<KeyRef<'a>>,
}

impl<'a> Keys<'a> {
    /// The cipher's key, or the MAC's where there is no other.
    pub(crate) fn first(&self) -> Option<KeyRef<'a>> {
        self.key
    }

    /// The MAC's key in a combined operation.
    pub(crate) fn second(&self) -> Option<KeyRef<'a>> {
        self.mac_key
    }
}

#[inline(always)]
pub(crate) fn keys<'a, A>(
    plan: &Plan,
    grant: &'a Grant<A>,
    carried: Option<&'a Carried>,
) -> Result<Keys<'a>, Status> {
    // A key of another algorithm is as good as none. One that goes with its word is the client's own, and for anything.
    let find = |at, carried: Option<&'a Kept>, algorithm, demand: fn(&Plan) -> Demand| match at {
        KeyAt::None => Ok(None),
        KeyAt::Slot(bits) => grant.keys.find(Handle::from_bits(bits), algorithm, demand(plan)).map(Some),
        KeyAt::Arena(_) => carried.map(|kept| Some(kept.key())).ok_or(Status::Key),
    };
    Ok(Keys {
        key: find(plan.key, carried.and_then(|c| c.key.as_ref()), plan.algorithm, Demand::of_key)?,
        mac_key: find(plan.mac_key, carried.and_then(|c| c.mac_key.as_ref()), plan.hash, Demand::of_mac_key)?,
    })
}

/// The nonce of a word for which one is made, after [`keys`] has found that its key permits that.
#[cold]
pub(crate) fn make_nonce<A>(plan: &Plan, grant: &Grant<A>) -> Result<[u8; 12], Status> {
    let KeyAt::Slot(bits) = plan.key else { return Err(Status::NonceMissing) };
    grant.keys.make_nonce(Handle::from_bits(bits))
}

/// The bytes that a word is about.
pub(crate) enum Data<'a> {
    /// Read in one place, and written in another.
    Separate(&'a [u8], &'a mut [u8]),
    /// A copy, which becomes the output.
    InPlace(&'a mut [u8]),
}

impl<'a> Data<'a> {
    #[inline(always)]
    fn input(self) -> &'a [u8] {
        match self {
            Data::Separate(source, _) => source,
            Data::InPlace(bytes) => bytes,
        }
    }

    #[inline(always)]
    fn pass(self) -> Result<InOut<'a>, Status> {
        match self {
            Data::Separate(source, destination) => {
                InOut::separate(source, destination).map_err(|_| Status::DestinationRange)
            }
            Data::InPlace(bytes) => Ok(InOut::in_place(bytes)),
        }
    }
}

/// What a word reads and writes while it is executed; a digest or tag is written after.
pub(crate) struct Objects<'a> {
    pub(crate) data: Data<'a>,
    pub(crate) aad: &'a [u8],
    pub(crate) iv: &'a [u8],
    /// The tag to compare with; empty where none is.
    pub(crate) mac: &'a [u8],
    /// Where a mid-state goes.
    pub(crate) state: &'a mut [u8],
}

/// Makes operations in their places in a list.
struct Added<'v, 'a>(&'v mut Vec<Operation<'a>>);

impl<'a> Sink<'a> for Added<'_, 'a> {
    type Taken = Result<(), Status>;

    #[inline(always)]
    fn accept(self, work: Work<'a>) -> Result<(), Status> {
        self.0.push(Operation::new(work));
        Ok(())
    }

    #[inline(always)]
    fn refuse(self, error: Error) -> Result<(), Status> {
        Err(status_of(error))
    }
}

/// Adds the operation that a word describes.
#[inline(always)]
pub(crate) fn build<'a>(
    plan: &Plan,
    keys: Keys<'a>,
    objects: Objects<'a>,
    operations: &mut Vec<Operation<'a>>,
) -> Result<(), Status> {
    let Objects { data, aad, iv, mac, state } = objects;
    let hash = || hash_of(plan.algorithm).ok_or(Status::Algorithm);
    let expected = plan.reverse.then_some(mac);
    let sink = Added(operations);
    match plan.opcode {
        Opcode::Copy => sink.accept(match data {
            Data::Separate(source, destination) => Work::Copy { source, destination },
            Data::InPlace(_) => Work::Null,
        }),
        Opcode::CopyChecksum => {
            let checksum = checksum(plan.algorithm)?;
            sink.accept(match data {
                Data::Separate(source, destination) => Work::CopyChecksum { checksum, source, destination },
                Data::InPlace(data) => Work::Checksum { checksum, data },
            })
        }
        Opcode::Checksum => {
            sink.accept(Work::Checksum { checksum: checksum(plan.algorithm)?, data: data.input() })
        }
        Opcode::Cipher => {
            if let Some(KeyRef::KasumiF8(key)) = keys.key {
                return kasumi_f8(plan, key, iv, data.pass()?, sink);
            }
            let key = keys.key.and_then(KeyRef::as_cipher).ok_or(Status::Key)?;
            let direction = if plan.reverse { Direction::Decrypt } else { Direction::Encrypt };
            cipher(key, direction, iv, data.pass()?, sink)
        }
        Opcode::Aead => {
            let key = keys.key.and_then(KeyRef::as_aead).ok_or(Status::Key)?;
            aead(key, iv, aad, data.pass()?, expected, sink)
        }
        Opcode::Hash => sink.accept(Work::Hash(hash()?, HashJob::new(data.input()))),
        Opcode::PartialHash => {
            let before = (!plan.first).then_some(aad);
            let after = (plan.state.len > 0).then_some(state);
            sink.accept(Work::Partial(Partial {
                hash: hash()?,
                before,
                data: data.input(),
                after,
                digest: None,
            }))
        }
        Opcode::Hmac => {
            let key = keys.key.and_then(KeyRef::as_mac).ok_or(Status::Key)?;
            keyed(key, data.input(), expected, sink)
        }
        Opcode::Mac => match keys.key {
            Some(KeyRef::KasumiF9(key)) => kasumi_f9(plan, key, iv, data.input(), expected, sink),
            key => {
                if !iv.is_empty() {
                    return Err(Status::IvLength);
                }
                let key = key.and_then(KeyRef::as_mac).ok_or(Status::Key)?;
                keyed(key, data.input(), expected, sink)
            }
        },
        Opcode::EncryptThenMac | Opcode::MacThenDecrypt => {
            let cipher = keys.key.and_then(KeyRef::as_cipher).ok_or(Status::Key)?;
            let Some(KeyRef::Hmac(hmac)) = keys.mac_key else { return Err(Status::Key) };
            chained(cipher, iv, hmac, plan.clear as usize, data.pass()?, expected, sink)
        }
        // Pieces under a key are executed in slices.
        Opcode::PartialMac | Opcode::PartialAead => Err(Status::Opcode),
        _ => sink.accept(Work::Null),
    }
}

pub(crate) fn checksum(algorithm: Algorithm) -> Result<Checksum, Status> {
    match algorithm {
        Algorithm::Crc32 => Ok(Checksum::Crc32),
        Algorithm::Crc32c => Ok(Checksum::Crc32c),
        Algorithm::IpChecksum => Ok(Checksum::Ip),
        _ => Err(Status::Algorithm),
    }
}

/// COUNT, BEARER and DIRECTION of F8.
#[inline(always)]
pub(crate) fn f8_start(iv: &[u8]) -> Result<(u32, u8, u8), Status> {
    // TS 35.201 §3.4: COUNT || BEARER || DIRECTION || 0...0.
    let start = u64::from_be_bytes(iv.try_into().map_err(|_| Status::IvLength)?);
    if start & ((1 << 26) - 1) != 0 {
        return Err(Status::Parameter);
    }
    Ok(((start >> 32) as u32, (start >> 27) as u8 & 31, (start >> 26) as u8 & 1))
}

/// COUNT and FRESH of F9.
#[inline(always)]
pub(crate) fn f9_start(iv: &[u8]) -> Result<(u32, u32), Status> {
    // TS 35.201 §4.4: COUNT || FRESH.
    let start = u64::from_be_bytes(iv.try_into().map_err(|_| Status::IvLength)?);
    Ok(((start >> 32) as u32, start as u32))
}

#[inline(always)]
fn kasumi_f8<'a>(
    plan: &Plan,
    key: &'a kasumi::F8,
    iv: &[u8],
    data: InOut<'a>,
    sink: Added<'_, 'a>,
) -> Result<(), Status> {
    let (count, bearer, direction) = f8_start(iv)?;
    let bits = 8 * data.len() - (plan.parameter & 7) as usize;
    sink.accept(Work::KasumiF8(kasumi::F8Job::new(key, count, bearer, direction, data, bits)))
}

#[inline(always)]
fn kasumi_f9<'a>(
    plan: &Plan,
    key: &'a kasumi::F9,
    iv: &[u8],
    message: &'a [u8],
    expected: Expected<'a>,
    sink: Added<'_, 'a>,
) -> Result<(), Status> {
    let ((count, fresh), direction) = (f9_start(iv)?, (plan.parameter >> 8) as u8);
    let bits = 8 * message.len() - (plan.parameter & 7) as usize;
    let job = kasumi::F9Job::new(key, count, fresh, direction, message, bits);
    sink.accept(Work::KasumiF9(job, expected))
}
