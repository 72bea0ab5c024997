//! Acceptance of many packets at a time.

use crate::InOut;
use crate::aes::CtrJob;
use crate::gcm::GcmJob;
use crate::hmac::HmacJob;

use super::keys::{Keys, nonce};
use super::lanes::{CHUNK, Lanes};
use super::many::{ROLL_OVER, roll_over};
use super::packet::Rtp;
use super::{Error, Receiver};

/// A protected packet of RTP that has arrived, which [`Receiver::unprotect_many`] decrypts in its place.
pub struct Incoming<'a> {
    packet: &'a mut [u8],
    result: Result<usize, Error>,
    plan: Plan,
}

/// The way in which a packet is accepted.
#[derive(Clone, Copy)]
enum Plan {
    /// The packet has its result.
    Done,
    /// The packet is accepted by itself, after those that go side by side.
    Alone,
    /// The packet goes side by side with others.
    Beside { rtp: Rtp, index: u64, nonce: [u8; 12] },
}

impl<'a> Incoming<'a> {
    /// Plans to accept a packet.
    pub fn new(packet: &'a mut [u8]) -> Self {
        Incoming { packet, result: Err(Error::Malformed), plan: Plan::Alone }
    }

    /// Returns what came of it: the bytes of the packet without its tag, which are in front. After a failure the packet is as it came.
    pub fn result(&self) -> Result<usize, Error> {
        self.result
    }
}

impl Receiver {
    /// Accepts many packets of RTP, side by side in lanes, as [`Receiver::unprotect`] does one after another. Each has its result in place; one that
    /// fails concerns no other.
    ///
    /// Packets go side by side 64 at a time, and are judged as they would have been before the first of these, so none is too old because of another
    /// one of the 64.
    ///
    /// # Errors
    /// [`Error::Features`], with nothing accepted.
    pub fn unprotect_many(&mut self, packets: &mut [Incoming<'_>]) -> Result<(), Error> {
        let lanes = Lanes::get()?;
        for some in packets.chunks_mut(CHUNK) {
            self.plan(some);
            match self.keys.rtp {
                Keys::Counter(_) => self.verify_and_decrypt(lanes, some)?,
                Keys::Gcm(..) => self.open(lanes, some)?,
            }
            self.end(some);
        }
        Ok(())
    }

    /// Decides which packets go side by side: those of known sources with numbers that may come. Of two with one number the first does.
    fn plan(&self, packets: &mut [Incoming<'_>]) {
        let mut numbers = Vec::with_capacity(packets.len());
        for (at, incoming) in packets.iter_mut().enumerate() {
            let len = incoming.packet.len().checked_sub(self.keys.profile.tag_len());
            let parsed = len.ok_or(Error::Malformed).and_then(|len| Rtp::parse(&incoming.packet[..len]));
            let planned = parsed.and_then(|rtp| match self.rtp.knows(rtp.source) {
                true => Ok(Some((rtp, self.rtp.next(rtp.source, rtp.sequence)?))),
                false => Ok(None),
            });
            incoming.plan = match planned {
                Ok(None) => Plan::Alone,
                Ok(Some((rtp, index))) => {
                    numbers.push((rtp.source, index, at));
                    let nonce = match &self.keys.rtp {
                        Keys::Gcm(_, salt) => nonce(salt, rtp.source, index),
                        Keys::Counter(_) => [0; 12],
                    };
                    Plan::Beside { rtp, index, nonce }
                }
                Err(error) => {
                    incoming.result = Err(error);
                    Plan::Done
                }
            };
        }
        numbers.sort_unstable();
        for pair in numbers.windows(2) {
            if (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1) {
                packets[pair[1].2].plan = Plan::Alone;
            }
        }
    }

    /// Compares the tags of HMAC-SHA1, and decrypts the packets that have the right ones.
    fn verify_and_decrypt(&self, lanes: &Lanes, packets: &mut [Incoming<'_>]) -> Result<(), Error> {
        let Keys::Counter(keys) = &self.keys.rtp else { return Ok(()) };
        let tag_len = self.keys.profile.tag_len();
        let (mut jobs, mut tags) =
            (Vec::with_capacity(packets.len()), Vec::<[u8; ROLL_OVER]>::with_capacity(packets.len()));
        for incoming in packets.iter_mut() {
            let Plan::Beside { index, .. } = incoming.plan else { continue };
            let len = incoming.packet.len() - tag_len;
            // The roll-over counter is authenticated behind the packet, where the tag begins, and the tag comes back afterwards.
            let (message, rest) = incoming.packet.split_at_mut(len + ROLL_OVER);
            let place = &mut message[len..];
            tags.push(place.try_into().unwrap_or_default());
            place.copy_from_slice(&roll_over(index));
            jobs.push((HmacJob::new(&keys.auth, message), &*rest));
        }
        lanes.sha1.sign(&mut jobs.iter_mut().map(|(job, _)| job).collect::<Vec<_>>());
        let mut verified = Vec::with_capacity(jobs.len());
        for ((job, rest), first) in jobs.iter().zip(&tags) {
            let mut tag = [0; 10];
            tag[..ROLL_OVER].copy_from_slice(first);
            tag[ROLL_OVER..tag_len].copy_from_slice(rest);
            verified.push(job.verify(&tag[..tag_len]));
        }
        drop(jobs);
        let mut pads = Vec::with_capacity(packets.len());
        let beside = packets.iter_mut().filter(|incoming| matches!(incoming.plan, Plan::Beside { .. }));
        for ((incoming, first), verified) in beside.zip(tags).zip(verified) {
            let Plan::Beside { rtp, index, .. } = incoming.plan else { continue };
            let len = incoming.packet.len() - tag_len;
            incoming.packet[len..len + ROLL_OVER].copy_from_slice(&first);
            incoming.result = verified.map(|()| len).map_err(Error::from);
            if verified.is_ok() {
                let data = InOut::in_place(&mut incoming.packet[rtp.header..len]);
                pads.push(CtrJob { key: &keys.cipher, counter: keys.counter(rtp.source, index), data });
            }
        }
        lanes.counter.apply(&mut pads.iter_mut().collect::<Vec<_>>());
        Ok(())
    }

    /// Opens packets of AES-GCM.
    fn open(&self, lanes: &Lanes, packets: &mut [Incoming<'_>]) -> Result<(), Error> {
        let Keys::Gcm(key, _) = &self.keys.rtp else { return Ok(()) };
        let mut jobs = Vec::with_capacity(packets.len());
        for Incoming { packet, result, plan } in packets.iter_mut() {
            let Plan::Beside { rtp, nonce, .. } = plan else { continue };
            let len = packet.len() - self.keys.profile.tag_len();
            let (message, tag) = packet.split_at_mut(len);
            let (header, body) = message.split_at_mut(rtp.header);
            let mut job = GcmJob::new(key, nonce, header, InOut::in_place(body));
            job.tag = *tag.first_chunk().ok_or(Error::Malformed)?;
            jobs.push((job, result, len));
        }
        lanes.gcm.open(&mut jobs.iter_mut().map(|(job, ..)| job).collect::<Vec<_>>());
        for (job, result, len) in jobs {
            *result = job.result.map(|()| len).map_err(Error::from);
        }
        Ok(())
    }

    /// Takes the numbers of authentic packets in their order, and accepts those that go by themselves.
    fn end(&mut self, packets: &mut [Incoming<'_>]) {
        for incoming in packets {
            match incoming.plan {
                Plan::Done => {}
                Plan::Alone => incoming.result = self.unprotect(incoming.packet),
                Plan::Beside { rtp, index, .. } => match incoming.result {
                    Ok(_) => self.rtp.note(rtp.source, index),
                    // Authentic packets of this call may have shown that sequence numbers have turned over.
                    Err(_) if self.rtp.next(rtp.source, rtp.sequence) != Ok(index) => {
                        incoming.result = self.unprotect(incoming.packet);
                    }
                    Err(_) => {}
                },
            }
        }
    }
}
