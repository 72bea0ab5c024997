//! Executing slices. Those of ciphers that keep a chaining value or a counter go side by side, as words do.

use millstream_cwq::{Completion, ControlWord, Opcode, Status};
use millstream_engines::InOut;
use millstream_engines::compare::begins;
use millstream_engines::modes::Direction;
use zeroize::Zeroize;

use super::state::{Cipher, Sum, next_chain};
use super::{Long, Phase, Slice};
use crate::arena::Arena;
use crate::grant::Grant;
use crate::jobs::recycle;
use crate::operation::Operation;
use crate::run::Executor;
use crate::slab::Slab;
use crate::status::{failed, status_of};
use crate::word_keys::find_keys_again;

/// Executes slices, as many at a time as there is staging memory for. A slice that ends its operation has the completion in
/// `end`.
pub(crate) fn run<A: Arena>(executor: &mut Executor, grants: &Slab<Grant<A>>, mut slices: &mut [Slice]) {
    while !slices.is_empty() {
        let (mut count, mut room) = (0, executor.stage.memory.room());
        while let Some(slice) = slices.get(count)
            && (count == 0 || slice.len as usize + SLICE_ROOM <= room)
        {
            room = room.saturating_sub(slice.len as usize + SLICE_ROOM);
            count += 1;
        }
        let (now, later) = slices.split_at_mut(count);
        run_together(executor, grants, now);
        slices = later;
    }
}

/// The most bytes of staging memory that a slice takes beside its own.
const SLICE_ROOM: usize = 128;

fn run_together<A: Arena>(executor: &mut Executor, grants: &Slab<Grant<A>>, slices: &mut [Slice]) {
    let Executor { unit, stage, operations, filled, .. } = executor;
    let staging = &mut stage.memory;
    for slice in &mut *slices {
        slice.begin = staging.give(slice.len as usize);
    }
    let given = staging.given();
    let mut rest = staging.get(0..given);
    let mut at = 0;
    let mut list = recycle(std::mem::take(operations));
    // The last block that each slice read, which the next decrypts with.
    let mut last_in = Vec::with_capacity(slices.len());
    for slice in slices.iter_mut() {
        let (own, others) = std::mem::take(&mut rest)[slice.begin - at..].split_at_mut(slice.len as usize);
        (rest, at) = (others, slice.begin + slice.len as usize);
        let tag = slice.long.tag();
        let last = match grants.at(slice.grant as usize) {
            Some(grant) if !grant.arena.is_gone() => slice.long.read(grant, own, &mut list),
            _ => Err(Status::Revoked),
        };
        slice.end = last.as_ref().err().map(|status| failed(tag, *status));
        last_in.push(last.unwrap_or_default());
    }
    if !list.is_empty() {
        filled.add(unit.run_counted(&mut list));
    }
    let mut results = list.iter().map(Operation::result).collect::<Vec<_>>().into_iter();
    *operations = recycle(list);
    for (slice, last_in) in slices.iter_mut().zip(&mut last_in) {
        let Some(grant) = grants.at(slice.grant as usize).filter(|_| slice.end.is_none()) else { continue };
        let place = staging.get(slice.begin..slice.begin + slice.len as usize);
        let result = if slice.long.is_listed(place.len()) { results.next() } else { None };
        let ended = match result {
            Some(Err(error)) => Err(status_of(error)),
            _ => slice.long.written(grant, place, last_in),
        };
        last_in.zeroize();
        slice.end = ended.unwrap_or_else(|status| Some(failed(slice.long.tag(), status)));
        if grant.arena.is_gone() {
            slice.end = Some(failed(slice.long.tag(), Status::Revoked));
        }
    }
    staging.take_back();
}

impl Long {
    fn direction(&self) -> Direction {
        if self.checked.reverse { Direction::Decrypt } else { Direction::Encrypt }
    }

    /// Returns where in a slice the bytes begin that are not in clear.
    fn skip(&self, len: usize) -> usize {
        (self.checked.clear.saturating_sub(self.done) as usize).min(len)
    }

    /// Returns true when a slice of so many bytes goes side by side with others.
    fn is_listed(&self, len: usize) -> bool {
        self.phase == Phase::Data
            && matches!(self.cipher, Cipher::Chained | Cipher::Counter)
            && self.skip(len) < len
    }

    /// Reads a slice, and executes it or adds it to the list of those that go side by side. Returns the last block that the
    /// cipher reads.
    fn read<'a, A: Arena>(
        &'a mut self,
        grant: &'a Grant<A>,
        place: &'a mut [u8],
        list: &mut Vec<Operation<'a>>,
    ) -> Result<[u8; 16], Status> {
        match self.phase {
            Phase::Out => return Ok([0; 16]),
            Phase::Aad => {
                grant.arena.read(self.checked.aad.at + self.done, place);
                let keys = find_keys_again(&self.checked, grant, self.carried.as_ref())?;
                self.cipher.aad(&keys, place)?;
                return Ok([0; 16]);
            }
            Phase::Data => self.read_source(&grant.arena, place),
        }
        let (direction, skip) = (self.direction(), self.skip(place.len()));
        let last = self.done + place.len() as u32 == self.checked.source.len();
        let unused = if last { (self.checked.parameter & 7) as usize } else { 0 };
        let at = (self.done + skip as u32) - self.checked.clear.min(self.done + skip as u32);
        let keys = find_keys_again(&self.checked, grant, self.carried.as_ref())?;
        if self.checked.opcode != Opcode::EncryptThenMac {
            let ends = last.then_some(((self.checked.parameter >> 8) as u8, unused));
            self.sum.add(&keys, place, ends)?;
        }
        let secret = &mut place[skip..];
        let last_in = secret.last_chunk().copied().unwrap_or_else(|| short(secret));
        match &mut self.cipher {
            Cipher::None => {}
            _ if secret.is_empty() => {}
            // `is_listed` says the same.
            Cipher::Chained | Cipher::Counter => {
                let key = keys.key.and_then(|key| key.as_cipher()).ok_or(Status::Key)?;
                let iv = &self.chain[..key.iv_len()];
                list.push(Operation::cipher(key, direction, iv, InOut::in_place(secret)));
            }
            cipher => cipher.pass(&keys, direction, &self.chain, at, secret, unused)?,
        }
        Ok(last_in)
    }

    /// Writes the output of a slice, and returns the completion if it was the last.
    fn written<A: Arena>(
        &mut self,
        grant: &Grant<A>,
        place: &mut [u8],
        last_in: &[u8; 16],
    ) -> Result<Option<Completion>, Status> {
        let arena = &grant.arena;
        match self.phase {
            Phase::Aad => {}
            Phase::Out => self.write_opened(arena, place.len()),
            Phase::Data => {
                let keys = find_keys_again(&self.checked, grant, self.carried.as_ref())?;
                let (direction, skip) = (self.direction(), self.skip(place.len()));
                if let (Cipher::Chained | Cipher::Counter, Some(key)) =
                    (&self.cipher, keys.key.and_then(|key| key.as_cipher()))
                {
                    let iv_len = key.iv_len();
                    next_chain(&self.cipher, iv_len, direction, &mut self.chain, last_in, &place[skip..]);
                }
                if self.checked.opcode == Opcode::EncryptThenMac {
                    self.sum.add(&keys, place, None)?;
                }
                if let Some(held) = &mut self.place {
                    held.hold(self.done as usize, place);
                } else if self.checked.destination.len > 0 {
                    arena.write(self.destination(0).at, place);
                }
            }
        }
        self.done += place.len() as u32;
        if self.done < self.total() { Ok(None) } else { self.next_phase(grant) }
    }

    /// Begins the next phase, or ends the operation.
    fn next_phase<A: Arena>(&mut self, grant: &Grant<A>) -> Result<Option<Completion>, Status> {
        match self.phase {
            Phase::Aad => {
                (self.phase, self.done) = (Phase::Data, 0);
                if self.total() > 0 {
                    return Ok(None);
                }
            }
            Phase::Data => {}
            Phase::Out => return Ok(Some(self.completed(self.verdict, 0))),
        }
        let keys = find_keys_again(&self.checked, grant, self.carried.as_ref())?;
        if let Some(sealer) = &self.sealer {
            let state = match &self.cipher {
                Cipher::None => self.sum.export(),
                cipher => cipher.export(),
            };
            let sealed = sealer.seal(self.checked.opcode, &state.ok_or(Status::Key)?);
            grant.arena.write(self.checked.state.at, &sealed);
            return Ok(Some(self.completed(Status::Ok, sealed.len() as u32)));
        }
        let of_cipher = self.cipher.tag(&keys)?;
        let tag = if of_cipher.is_empty() { self.sum.tag(&keys)? } else { of_cipher };
        if !self.checked.reverse {
            return Ok(Some(self.complete(&grant.arena, &tag)));
        }
        if self.checked.opcode == Opcode::Cipher {
            return Ok(Some(self.completed(Status::Ok, 0)));
        }
        let right = bool::from(begins(&tag, &self.expected));
        self.verdict = if right { Status::Ok } else { Status::Authentication };
        if self.opens() && self.checked.source.len() > 0 {
            (self.phase, self.done) = (Phase::Out, 0);
            return Ok(None);
        }
        Ok(Some(self.completed(self.verdict, 0)))
    }

    /// Writes the digest, tag or mid-state.
    fn complete<A: Arena>(&self, arena: &A, tag: &[u8]) -> Completion {
        if self.checked.makes_nonce {
            // An AEAD keeps what it needs of the nonce in its own state, so `chain` still holds all of it.
            let nonce = &self.chain[..ControlWord::MADE_NONCE_BYTES as usize];
            arena.write(self.checked.iv.at, nonce);
        }
        if self.checked.state.len > 0
            && let Sum::Hash(hasher) = &self.sum
        {
            let state = hasher.export();
            arena.write(self.checked.state.at, &state);
            return self.completed(Status::Ok, state.len() as u32);
        }
        let len = self.checked.mac.len;
        if len > 0 {
            arena.write(self.checked.mac.at, &tag[..len as usize]);
            return self.completed(Status::Ok, len);
        }
        self.completed(Status::Ok, self.sum.value())
    }

    fn completed(&self, status: Status, value: u32) -> Completion {
        Completion { tag: self.tag(), status: status as u16, value, ..Completion::default() }
    }

    /// Writes so many opened bytes, or zeros if the tag was wrong, and wipes them from their place. All of them at once would
    /// take longer than a turn.
    fn write_opened<A: Arena>(&mut self, arena: &A, len: usize) {
        let destination = self.checked.destination.at + self.done;
        let Some(place) = &mut self.place else { return };
        let opened = place.held(self.done as usize, len);
        if self.verdict != Status::Ok {
            opened.zeroize();
        }
        // An input that lies there, too, stays.
        if self.verdict == Status::Ok || !self.checked.is_in_place() {
            arena.write(destination, opened);
        }
        opened.zeroize();
        if self.done as usize + len == self.checked.source.len() as usize {
            place.is_wiped();
        }
    }
}

/// Returns the bytes at the end of a block.
fn short(bytes: &[u8]) -> [u8; 16] {
    let mut block = [0; 16];
    block[16 - bytes.len()..].copy_from_slice(bytes);
    block
}
