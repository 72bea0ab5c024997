//! The way of a request into the ring.

use millstream_accelerator::MAX_PIECES;
use millstream_cwq::{ControlWord, Flags, Opcode};
use millstream_shm::{prefetch_words, share};

use super::buffers::{Buffers, Cold, ColdParts, Refused};
use super::parts::{AAD, STATE};
use super::request::{Parameters, Request, RequestKey};
use super::slot::State;
use super::{Queue, Ticket, trace};
use crate::heap::{Buffer, SMALL, iv_line, tag_line};
use crate::refusal::Refusal;

/// The fewest bytes of input that are handed over to the accelerator's core. Handing them over takes this thread longer
/// than it takes the accelerator to fetch them, so it is done only where this thread has time: where it has no output to
/// fetch itself.
const HANDED_OVER: usize = 512;

/// The number of operations in flight from which on requests are shown to the accelerator that many at a time.
const HANDFUL: usize = 8;

/// The place behind an initialisation vector in its line, in bytes. The nonces of most AEADs are no longer than this.
const BEHIND_IV: usize = 16;

/// The place behind a tag in its line, in bytes, where an initialisation vector lies if both are short, and associated data behind that if
/// they are short, too: so all of them are one cache line on the way.
const BEHIND_TAG: usize = 32;

/// The opcodes of words that bring public keys.
const VERIFY: u8 = Opcode::Verify as u8;
const ENCAPSULATE: u8 = Opcode::Encapsulate as u8;

/// The longest initialisation vector that a control word can tell of, in bytes.
const LONGEST_IV: usize = u8::MAX as usize;

/// Returns true for a result that has no room beside a buffer: a long signature or public key.
#[inline(always)]
pub(super) fn is_long(tag_len: u8) -> bool {
    usize::from(tag_len) > SMALL
}

// The place of a mid-state has room for it.
const _: () = assert!(STATE > u8::MAX as usize);

impl Queue {
    /// Puts an operation in flight. An accelerator that sleeps is woken, and the last few of many are begun, by the next
    /// [`Queue::poll`], [`Queue::wait`] or [`Queue::flush`].
    ///
    /// # Errors
    /// [`Refused`], with the buffers: see [`Refusal`].
    #[inline(always)]
    pub fn submit(&mut self, request: Request<'_>) -> Result<Ticket, Refused> {
        // The word stays in registers until the ring takes it: written to memory field by field and read back
        // by the word, it would cost more than all the rest. So it, and each buffer, is a variable of its own.
        let Request { mut word, parameters, buffers: Buffers { source, destination, mut cold } } = request;
        let pushed = self.push(&mut word, &parameters, source.as_ref(), destination.as_ref(), &mut cold);
        match pushed {
            Ok(ticket) => {
                let entry = &mut self.slots[ticket.slot() as usize];
                self.free.pop();
                let tag_len = if parameters.tag.is_empty() { word.mac_len } else { 0 };
                let alone = source.is_none() && destination.is_none() && tag_len != 0;
                let aside = alone || is_long(tag_len);
                let state = State::live(tag_len, word.state != 0 || aside, word.has(Flags::MAKE_NONCE));
                entry.begin(word.to_words()[0], state);
                // A free slot has no buffers, so there is nothing to drop: the compiler can't know.
                std::mem::forget(std::mem::replace(&mut entry.source, source));
                std::mem::forget(std::mem::replace(&mut entry.destination, destination));
                std::mem::forget(std::mem::replace(&mut entry.cold, cold));
                Ok(ticket)
            }
            Err(why) => Err(Refused { why, buffers: Buffers { source, destination, cold } }),
        }
    }

    /// Fills the word in, and pushes it into the ring.
    #[inline(always)]
    fn push(
        &mut self,
        word: &mut ControlWord,
        parameters: &Parameters<'_>,
        source: Option<&Buffer>,
        destination: Option<&Buffer>,
        cold: &mut Cold,
    ) -> Result<Ticket, Refusal> {
        if let Some(why) = self.refusal() {
            return Err(why);
        }
        let slot = *self.free.last().ok_or(Refusal::Full)?;
        let bytes = self.place_source(word, source, destination.is_some(), cold)?;
        let has_source = source.is_some() || word.has(Flags::GATHER);
        self.place_destination(word, has_source, destination, bytes)?;
        let foreign = |buffer: &Buffer| !buffer.is_of(&self.heap);
        if source.is_some_and(foreign) || destination.is_some_and(foreign) {
            return Err(Refusal::ForeignBuffer);
        }
        // The offset and not the buffer, whose address would keep it from staying in registers.
        let home = match (destination, source) {
            (Some(destination), _) => Some(destination.at()),
            (None, Some(source)) => Some(source.at()),
            (None, None) => None,
        };
        match home {
            Some(home) if !is_long(word.mac_len) || !parameters.tag.is_empty() => {
                self.place_iv_and_tag(word, parameters, home, cold)?;
            }
            // There is no buffer that the result could lie beside, or not room for it, so it lies where mid-states do.
            _ if word.mac_len != 0 => word.mac = self.places.state.at() + slot * STATE as u32,
            _ => {}
        }
        self.place_aad(word, parameters, home, slot, cold)?;
        if parameters.leaves_state {
            word.state = self.places.state.at() + slot * STATE as u32;
        }
        self.place_keys(word, parameters, cold)?;
        let ticket = self.slots[slot as usize].ticket();
        word.tag = ticket.to_bits();
        trace::submit(self.label, word, bytes as u32);
        self.submissions.push(&word.to_words()).map_err(|_| Refusal::Gone)?;
        self.show();
        Ok(ticket)
    }

    /// Shows an accelerator on another core what was pushed, now or with words that follow. An inline one is shown all of it when
    /// it next works.
    #[inline(always)]
    fn show(&mut self) {
        if !self.on_other_core {
            return;
        }
        // The line will have come by the time that many more words were pushed.
        const AHEAD: u64 = 12;
        prefetch_words(self.submissions.place(AHEAD));
        // The accelerator has something to do while that many are in flight: it is shown more by the handful, because each
        // look at the ring that finds a little costs both sides a cache line's way.
        if self.in_flight() < HANDFUL || self.submissions.unpublished() >= HANDFUL as u64 {
            self.submissions.publish();
        }
    }

    /// Says where the input is. Returns how many bytes it has.
    #[inline(always)]
    fn place_source(
        &self,
        word: &mut ControlWord,
        source: Option<&Buffer>,
        has_output: bool,
        cold: &mut Cold,
    ) -> Result<usize, Refusal> {
        let mut bytes = 0;
        if let Some(source) = source {
            bytes = source.len();
            (word.source, word.source_len) = (source.at(), bytes as u32);
            if self.on_other_core {
                let from = if has_output { self.hand_over_from } else { HANDED_OVER };
                if bytes >= from {
                    share(source);
                }
            }
        }
        if let Some(cold) = cold.as_mut()
            && !cold.more.is_empty()
        {
            (word.source, word.source_len, bytes) = self.gather(word.source, word.source_len, cold)?;
            word.flags |= Flags::GATHER;
        }
        Ok(bytes)
    }

    /// Says where the output goes, which is as long as the input. Where there is no source, the input lies there too. Random bytes have no
    /// input: their word tells the output's length.
    #[inline(always)]
    fn place_destination(
        &self,
        word: &mut ControlWord,
        has_source: bool,
        destination: Option<&Buffer>,
        bytes: usize,
    ) -> Result<(), Refusal> {
        if let Some(destination) = destination {
            word.destination = destination.at();
            if word.opcode == Opcode::Random as u8 {
                word.source_len = destination.len() as u32;
            } else if !has_source && word.mac_key_len == 0 {
                (word.source, word.source_len) = (destination.at(), destination.len() as u32);
            // The long result of a key pair has a length of its own, which the word tells.
            } else if destination.len() != bytes && word.mac_key_len == 0 {
                return Err(Refusal::DestinationLength);
            }
        }
        Ok(())
    }

    /// Copies an initialisation vector, and a tag to compare with, to their lines beside the buffer that begins at `home`. An
    /// accelerator leaves a nonce or a tag that it makes in the same places.
    #[inline(always)]
    fn place_iv_and_tag(
        &self,
        word: &mut ControlWord,
        parameters: &Parameters<'_>,
        home: u32,
        cold: &mut Cold,
    ) -> Result<(), Refusal> {
        let Parameters { iv, tag, .. } = parameters;
        if tag.len() > SMALL {
            return Err(Refusal::TooLong);
        }
        if iv.len() > SMALL {
            if iv.len() > LONGEST_IV {
                return Err(Refusal::TooLong);
            }
            (word.iv, word.iv_len) = (self.copy_aside(iv, cold)?, iv.len() as u8);
        } else if !iv.is_empty() {
            let beside_tag = iv.len() <= BEHIND_IV && usize::from(word.mac_len) <= BEHIND_TAG;
            let at = if beside_tag { tag_line(home) + BEHIND_TAG as u32 } else { iv_line(home) };
            (word.iv, word.iv_len) = (at, iv.len() as u8);
            self.heap.write(word.iv, iv);
        } else if word.has(Flags::MAKE_NONCE) {
            (word.iv, word.iv_len) = (iv_line(home), ControlWord::MADE_NONCE_BYTES as u8);
        }
        if word.mac_len > 0 {
            word.mac = tag_line(home);
            self.heap.write(word.mac, tag);
        }
        Ok(())
    }

    /// Copies associated data behind the initialisation vector, whose cache line goes to the accelerator anyway; or to its place, or to a buffer
    /// that lives as long as the operation.
    #[inline(always)]
    fn place_aad(
        &self,
        word: &mut ControlWord,
        parameters: &Parameters<'_>,
        home: Option<u32>,
        slot: u32,
        cold: &mut Cold,
    ) -> Result<(), Refusal> {
        let aad = parameters.aad;
        if aad.is_empty() {
            return Ok(());
        }
        let beside = home.filter(|_| !word.has(Flags::MAKE_NONCE));
        word.aad = if let Some(home) = beside
            && parameters.iv.len() <= BEHIND_IV
            && aad.len() <= SMALL - BEHIND_IV
        {
            let beside_tag =
                aad.len() <= SMALL - BEHIND_TAG - BEHIND_IV && usize::from(word.mac_len) <= BEHIND_TAG;
            let at = if beside_tag { tag_line(home) + BEHIND_TAG as u32 } else { iv_line(home) }
                + BEHIND_IV as u32;
            self.heap.write(at, aad);
            at
        } else if aad.len() > AAD {
            self.copy_aside(aad, cold)?
        } else {
            let at = self.places.aad.at() + slot * AAD as u32;
            self.heap.write(at, aad);
            at
        };
        word.aad_len = aad.len() as u32;
        Ok(())
    }

    /// Names the keys: by their handles, or by where the request's own are.
    #[inline(always)]
    fn place_keys(
        &self,
        word: &mut ControlWord,
        parameters: &Parameters<'_>,
        cold: &mut Cold,
    ) -> Result<(), Refusal> {
        match parameters.key {
            None => {}
            Some(RequestKey::Slot(key)) => word.key = key.handle.to_bits(),
            Some(RequestKey::Carried(_, bytes)) => {
                let most = match word.opcode {
                    VERIFY | ENCAPSULATE => ControlWord::MOST_PUBLIC_KEY_BYTES,
                    _ => ControlWord::MOST_KEY_BYTES,
                };
                (word.key, word.key_len) = self.carry(bytes, most, cold)?;
                word.flags |= Flags::KEY_IN_ARENA;
            }
        }
        match parameters.mac_key {
            None => {}
            Some(RequestKey::Slot(key)) => word.mac_key = key.handle.to_bits(),
            Some(RequestKey::Carried(_, bytes)) => {
                (word.mac_key, word.mac_key_len) = self.carry(bytes, ControlWord::MOST_KEY_BYTES, cold)?;
                word.flags |= Flags::MAC_KEY_IN_ARENA;
            }
        }
        Ok(())
    }

    /// Copies a key that goes with the request to a buffer that lives as long as the operation. Returns where it is, and its length.
    #[cold]
    fn carry(&self, key: &[u8], most: u16, cold: &mut Cold) -> Result<(u32, u16), Refusal> {
        if key.len() > usize::from(most) {
            return Err(Refusal::TooLong);
        }
        Ok((self.copy_aside(key, cold)?, key.len() as u16))
    }

    /// Copies bytes to a buffer that lives as long as the operation. Returns where they are.
    #[cold]
    fn copy_aside(&self, bytes: &[u8], cold: &mut Cold) -> Result<u32, Refusal> {
        let mut buffer = self.buffer(bytes.len())?;
        buffer.copy_from_slice(bytes);
        let at = buffer.at();
        cold.get_or_insert_default().extra.push(buffer);
        Ok(at)
    }

    /// Writes the gather list of a request with several buffers of input. Returns where the list is, how many pieces it
    /// has, and how many bytes they have.
    #[cold]
    fn gather(&self, at: u32, len: u32, cold: &mut ColdParts) -> Result<(u32, u32, usize), Refusal> {
        let mut pieces = vec![(at, len)];
        for more in &cold.more {
            if !more.is_of(&self.heap) {
                return Err(Refusal::ForeignBuffer);
            }
            pieces.push((more.at(), more.len() as u32));
        }
        if pieces.len() > MAX_PIECES {
            return Err(Refusal::TooLong);
        }
        let mut list = self.buffer(8 * pieces.len())?;
        for (entry, (at, len)) in list.as_chunks_mut().0.iter_mut().zip(&pieces) {
            *entry = (u64::from(*at) | u64::from(*len) << 32).to_le_bytes();
        }
        let bytes = pieces.iter().map(|(_, len)| *len as usize).sum();
        let place = list.at();
        cold.extra.push(list);
        Ok((place, pieces.len() as u32, bytes))
    }
}
