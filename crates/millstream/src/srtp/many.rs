//! Protection of many packets at a time.

use crate::{InOut, Operation};

use super::keys::{Keys, nonce};
use super::packet::Rtp;
use super::{Error, Sender};

/// A packet of RTP on its way out: who protects it, its bytes, and the place for the protected packet.
pub struct Outgoing<'a> {
    sender: &'a mut Sender,
    packet: &'a [u8],
    place: &'a mut Vec<u8>,
    result: Result<(), Error>,
}

impl<'a> Outgoing<'a> {
    /// Plans to protect a packet. What is in `place` gives way to the protected packet.
    pub fn new(sender: &'a mut Sender, packet: &'a [u8], place: &'a mut Vec<u8>) -> Self {
        Outgoing { sender, packet, place, result: Ok(()) }
    }

    /// Returns what came of it. After a failure the place is empty.
    pub fn result(&self) -> Result<(), Error> {
        self.result
    }
}

impl Sender {
    /// Protects a packet of RTP: encrypts what is behind its header, and appends the tag. [`protect_many`] does so with many at a time.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::Replayed`], [`Error::Old`], [`Error::Sources`], [`Error::Exhausted`]: nothing has changed then.
    pub fn protect(&mut self, packet: &mut Vec<u8>) -> Result<(), Error> {
        let mut place = Vec::new();
        let mut one = [Outgoing::new(self, packet, &mut place)];
        protect_many(&mut one)?;
        one[0].result()?;
        *packet = place;
        Ok(())
    }
}

/// A packet under way.
struct Underway {
    rtp: Rtp,
    index: u64,
    nonce: [u8; 12],
}

/// Protects all packets, those of one kind side by side in lanes. Each has its result in place; one that fails concerns no other.
///
/// A sender has one packet in a call.
///
/// # Errors
/// [`Error::Features`], with nothing protected.
pub fn protect_many(packets: &mut [Outgoing<'_>]) -> Result<(), Error> {
    let underway: Vec<Option<Underway>> = packets.iter_mut().map(begin).collect();
    encrypt(packets, &underway)?;
    authenticate(packets, &underway)
}

/// Finds a packet's number, and puts its header in place.
fn begin(outgoing: &mut Outgoing<'_>) -> Option<Underway> {
    outgoing.place.clear();
    let begun = Rtp::parse(outgoing.packet).and_then(|rtp| {
        let index = outgoing.sender.rtp.next(rtp.source, rtp.sequence)?;
        outgoing.sender.rtp.note(rtp.source, index);
        Ok((rtp, index))
    });
    match begun {
        Ok((rtp, index)) => {
            let (packet, place) = (outgoing.packet, &mut *outgoing.place);
            // Room for the roll-over counter, which is authenticated behind the packet, and for the tag.
            place.reserve(packet.len() + 16);
            place.extend_from_slice(&packet[..rtp.header]);
            place.resize(packet.len(), 0);
            let nonce = match &outgoing.sender.keys.rtp {
                Keys::Gcm(_, salt) => nonce(salt, rtp.source, index),
                Keys::Counter(_) => [0; 12],
            };
            Some(Underway { rtp, index, nonce })
        }
        Err(error) => {
            outgoing.result = Err(error);
            None
        }
    }
}

/// Encrypts all packets; those of GCM have their tags then.
fn encrypt(packets: &mut [Outgoing<'_>], underway: &[Option<Underway>]) -> Result<(), Error> {
    let mut operations = Vec::with_capacity(packets.len());
    for (outgoing, underway) in packets.iter_mut().zip(underway) {
        let Some(Underway { rtp, index, nonce }) = underway else { continue };
        let (header, body) = outgoing.place.split_at_mut(rtp.header);
        let data = InOut::separate(&outgoing.packet[rtp.header..], body)?;
        operations.push(match &outgoing.sender.keys.rtp {
            Keys::Counter(keys) => Operation::encrypt(&keys.cipher, &keys.counter(rtp.source, *index), data),
            Keys::Gcm(key, _) => Operation::seal(&**key, nonce, header, data),
        });
    }
    run(&mut operations)?;
    let results: Vec<_> = operations.iter().map(outcome).collect();
    drop(operations);
    finish(packets, underway, results, |outgoing, tag| {
        if matches!(outgoing.sender.keys.rtp, Keys::Gcm(..)) {
            outgoing.place.extend_from_slice(&tag);
        }
    });
    Ok(())
}

/// Adds the tags of HMAC-SHA1.
fn authenticate(packets: &mut [Outgoing<'_>], underway: &[Option<Underway>]) -> Result<(), Error> {
    let mut operations = Vec::with_capacity(packets.len());
    let mut which = Vec::with_capacity(packets.len());
    for (outgoing, underway) in packets.iter_mut().zip(underway) {
        let (Some(Underway { index, .. }), Ok(()), Keys::Counter(keys)) =
            (underway, outgoing.result, &outgoing.sender.keys.rtp)
        else {
            which.push(false);
            continue;
        };
        which.push(true);
        outgoing.place.extend_from_slice(&roll_over(*index));
        operations.push(Operation::mac(&keys.auth, &outgoing.place[..]));
    }
    run(&mut operations)?;
    let results: Vec<_> = operations.iter().map(outcome).collect();
    drop(operations);
    let authenticated =
        packets.iter_mut().zip(which).filter_map(|(outgoing, which)| which.then_some(outgoing));
    for (outgoing, result) in authenticated.zip(results) {
        match result {
            Ok(tag) => {
                outgoing.place.truncate(outgoing.packet.len());
                outgoing.place.extend_from_slice(&tag[..outgoing.sender.keys.profile.tag_len()]);
            }
            Err(error) => fail(outgoing, error),
        }
    }
    Ok(())
}

/// Returns the roll-over counter of a number as it is authenticated.
pub(super) fn roll_over(index: u64) -> [u8; 4] {
    ((index >> 16) as u32).to_be_bytes()
}

fn run(operations: &mut [Operation<'_>]) -> Result<(), Error> {
    crate::batch(operations).map_err(|_| Error::Features)
}

/// The tag of an operation, cut to the longest here.
fn outcome(operation: &Operation<'_>) -> Result<[u8; 16], Error> {
    operation.result()?;
    let mut tag = [0; 16];
    let computed = operation.tag();
    let len = computed.len().min(tag.len());
    tag[..len].copy_from_slice(&computed[..len]);
    Ok(tag)
}

fn finish(
    packets: &mut [Outgoing<'_>],
    underway: &[Option<Underway>],
    results: Vec<Result<[u8; 16], Error>>,
    mut take: impl FnMut(&mut Outgoing<'_>, [u8; 16]),
) {
    let begun =
        packets.iter_mut().zip(underway).filter_map(|(outgoing, begun)| begun.as_ref().map(|_| outgoing));
    for (outgoing, result) in begun.zip(results) {
        match result {
            Ok(tag) => take(outgoing, tag),
            Err(error) => fail(outgoing, error),
        }
    }
}

fn fail(outgoing: &mut Outgoing<'_>, error: Error) {
    outgoing.place.clear();
    outgoing.result = Err(error);
}
