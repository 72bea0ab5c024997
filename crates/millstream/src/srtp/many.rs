//! Protection of many packets at a time.

use crate::InOut;
use crate::aes::CtrJob;
use crate::gcm::GcmJob;
use crate::hmac::HmacJob;

use super::index::Sources;
use super::keys::{Keys, SessionKeys, nonce};
use super::lanes::{CHUNK, Lanes};
use super::packet::Rtp;
use super::place::{BEHIND, Place};
use super::{Error, Sender};

/// A packet of RTP on its way out: its number, its bytes, and the place for the protected packet.
pub struct Outgoing<'a> {
    keys: &'a SessionKeys,
    packet: &'a [u8],
    place: Place<'a>,
    numbered: Result<Numbered, Error>,
}

/// The facts of a packet that has its number.
struct Numbered {
    rtp: Rtp,
    index: u64,
    nonce: [u8; 12],
}

impl<'a> Outgoing<'a> {
    /// Takes a packet's number, so that [`protect_many`] can protect it. What is in `place` gives way to the protected packet.
    pub fn new(sender: &'a mut Sender, packet: &'a [u8], place: impl Into<Place<'a>>) -> Self {
        Outgoing::begin(&sender.keys, &mut sender.rtp, packet, place.into())
    }

    fn begin(keys: &'a SessionKeys, sources: &mut Sources, packet: &'a [u8], mut place: Place<'a>) -> Self {
        let numbered = Rtp::parse(packet).and_then(|rtp| {
            place.make_room(packet.len())?;
            let index = sources.next(rtp.source, rtp.sequence)?;
            sources.note(rtp.source, index);
            let nonce = match &keys.rtp {
                Keys::Gcm(_, salt) => nonce(salt, rtp.source, index),
                Keys::Counter(_) => [0; 12],
            };
            Ok(Numbered { rtp, index, nonce })
        });
        if numbered.is_err() {
            place.end(0);
        }
        Outgoing { keys, packet, place, numbered }
    }

    /// Returns what came of it. After a failure the place is empty.
    pub fn result(&self) -> Result<(), Error> {
        self.numbered.as_ref().map(|_| ()).map_err(|error| *error)
    }

    /// Returns the bytes of the protected packet, after [`protect_many`]; 0 after a failure.
    pub fn protected_len(&self) -> usize {
        self.place.len()
    }

    /// Takes back what was written.
    fn fail(&mut self, error: Error) {
        self.place.room()[..self.packet.len() + BEHIND].fill(0);
        self.place.end(0);
        self.numbered = Err(error);
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

    /// Takes the numbers of many packets in their order, so that [`protect_many`] can protect them, alone or with those of other senders.
    ///
    /// ```
    /// use millstream::srtp::{Profile, Sender, protect_many};
    ///
    /// let mut sender = Sender::new(Profile::AeadAes128Gcm, &[7; 28])?;
    /// // Frames of video come in several packets.
    /// let packet = |sequence| [&[0x80, 96, 0, sequence, 0, 0, 0, 0, 0, 0, 0, 7][..], &[0x55; 1000]].concat();
    /// let packets: Vec<Vec<u8>> = (1..=20).map(packet).collect();
    /// let mut places = vec![Vec::new(); packets.len()];
    /// let pairs = packets.iter().map(Vec::as_slice).zip(&mut places);
    /// let mut outgoing: Vec<_> = sender.outgoing(pairs).collect();
    /// protect_many(&mut outgoing)?;
    /// assert!(outgoing.iter().all(|outgoing| outgoing.protected_len() == 1012 + 16));
    /// # Ok::<(), millstream::srtp::Error>(())
    /// ```
    pub fn outgoing<'a, P: Into<Place<'a>>>(
        &'a mut self,
        packets: impl IntoIterator<Item = (&'a [u8], P)>,
    ) -> impl Iterator<Item = Outgoing<'a>> {
        let Sender { keys, rtp, .. } = self;
        let keys = &*keys;
        packets.into_iter().map(move |(packet, place)| Outgoing::begin(keys, rtp, packet, place.into()))
    }
}

/// Protects all packets, those of one kind side by side in lanes. Each has its result in place; one that fails concerns no other.
///
/// # Errors
/// [`Error::Features`], with nothing protected.
pub fn protect_many(packets: &mut [Outgoing<'_>]) -> Result<(), Error> {
    let lanes = Lanes::get()?;
    for some in packets.chunks_mut(CHUNK) {
        encrypt(lanes, some)?;
        authenticate(lanes, some);
    }
    Ok(())
}

/// A packet that AES-GCM protects, and the bytes for its tag.
struct Sealing<'p> {
    job: GcmJob<'p>,
    tag: &'p mut [u8],
}

/// Encrypts all packets; those of GCM have their tags then.
fn encrypt(lanes: &Lanes, packets: &mut [Outgoing<'_>]) -> Result<(), Error> {
    let (mut sealings, mut pads) = (Vec::with_capacity(packets.len()), Vec::with_capacity(packets.len()));
    for Outgoing { keys, packet, place, numbered } in packets.iter_mut() {
        let Ok(Numbered { rtp, index, nonce }) = numbered else { continue };
        let (header, rest) = place.room().split_at_mut(rtp.header);
        let (clear, text) = packet.split_at(rtp.header);
        let (body, behind) = rest.split_at_mut(text.len());
        header.copy_from_slice(clear);
        let data = InOut::separate(text, body)?;
        match &keys.rtp {
            Keys::Counter(keys) => {
                let counter = keys.counter(rtp.source, *index);
                pads.push(CtrJob { key: &keys.cipher, counter, data });
            }
            Keys::Gcm(key, _) => {
                sealings.push(Sealing { job: GcmJob::new(key, nonce, clear, data), tag: behind });
            }
        }
    }
    if !pads.is_empty() {
        lanes.counter.apply(&mut pads.iter_mut().collect::<Vec<_>>());
    }
    let mut failed = Vec::new();
    if !sealings.is_empty() {
        lanes.gcm.seal(&mut sealings.iter_mut().map(|sealing| &mut sealing.job).collect::<Vec<_>>());
        for (at, Sealing { job, tag }) in sealings.into_iter().enumerate() {
            match job.result {
                Ok(()) => tag[..job.tag.len()].copy_from_slice(&job.tag),
                Err(error) => failed.push((at, error)),
            }
        }
    }
    let is_sealed = |outgoing: &&mut Outgoing<'_>| {
        outgoing.numbered.is_ok() && matches!(outgoing.keys.rtp, Keys::Gcm(..))
    };
    let mut failed = failed.into_iter().peekable();
    for (at, outgoing) in packets.iter_mut().filter(is_sealed).enumerate() {
        match failed.next_if(|(failed, _)| *failed == at) {
            Some((_, error)) => outgoing.fail(error.into()),
            None => outgoing.place.end(outgoing.packet.len() + outgoing.keys.profile.tag_len()),
        }
    }
    Ok(())
}

/// Adds the tags of HMAC-SHA1.
fn authenticate(lanes: &Lanes, packets: &mut [Outgoing<'_>]) {
    let mut jobs = Vec::with_capacity(packets.len());
    for Outgoing { keys, packet, place, numbered } in packets.iter_mut() {
        let (Ok(Numbered { index, .. }), Keys::Counter(keys)) = (numbered, &keys.rtp) else { continue };
        let message = &mut place.room()[..packet.len() + ROLL_OVER];
        message[packet.len()..].copy_from_slice(&roll_over(*index));
        jobs.push(HmacJob::new(&keys.auth, message));
    }
    if jobs.is_empty() {
        return;
    }
    lanes.sha1.sign(&mut jobs.iter_mut().collect::<Vec<_>>());
    let tags: Vec<_> = jobs.into_iter().map(|job| job.tag).collect();
    let authenticated = packets
        .iter_mut()
        .filter(|outgoing| outgoing.numbered.is_ok() && matches!(outgoing.keys.rtp, Keys::Counter(_)));
    for (Outgoing { keys, packet, place, .. }, tag) in authenticated.zip(tags) {
        let tag = &tag[..keys.profile.tag_len()];
        place.room()[packet.len()..][..tag.len()].copy_from_slice(tag);
        place.end(packet.len() + tag.len());
    }
}

/// Bytes of a roll-over counter.
pub(super) const ROLL_OVER: usize = 4;

/// Returns the roll-over counter of a number as it is authenticated.
pub(super) fn roll_over(index: u64) -> [u8; ROLL_OVER] {
    ((index >> 16) as u32).to_be_bytes()
}
