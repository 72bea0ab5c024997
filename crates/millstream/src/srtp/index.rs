//! The numbers of packets, and a memory of those that were there.
//!
//! Ref. RFC 3711 §3.3.1 and appendix A (the index of a packet), §3.3.2 (replay protection).

use std::collections::HashMap;

use super::Error;

/// The most sources of a session.
const MOST_SOURCES: usize = 1024;

/// The numbers behind the newest of which it is known whether they were there.
const WINDOW: u64 = 128;

/// The bits of a packet's number.
const BITS: u32 = 48;

/// The sources of a session by their SSRC. Most sessions have one, which is looked at first.
#[derive(Default)]
pub(super) struct Sources {
    first: Option<(u32, Numbers)>,
    others: HashMap<u32, Numbers>,
}

/// The numbers of a source, as far as they are known.
#[derive(Clone, Copy)]
pub(super) struct Numbers {
    newest: u64,
    /// The numbers that were there, the newest in the lowest bit.
    seen: u128,
}

impl Numbers {
    /// Returns the number of a packet that has this sequence number: the one that is closest to the newest.
    pub(super) fn guess(self, sequence: u16) -> u64 {
        let ahead = sequence.wrapping_sub(self.newest as u16) as i16;
        match self.newest.checked_add_signed(ahead.into()) {
            Some(index) => index,
            // Before the first turn of sequence numbers there is none.
            None => u64::from(sequence),
        }
    }

    /// Checks that a number may come.
    pub(super) fn check(self, index: u64) -> Result<(), Error> {
        if index >= 1 << BITS {
            return Err(Error::Exhausted);
        }
        match self.newest.checked_sub(index) {
            Some(behind) if behind >= WINDOW => Err(Error::Old),
            Some(behind) if self.seen >> behind & 1 == 1 => Err(Error::Replayed),
            _ => Ok(()),
        }
    }

    /// Notes a number that was checked.
    pub(super) fn note(&mut self, index: u64) {
        match index.checked_sub(self.newest) {
            Some(ahead) => {
                self.seen = if ahead < WINDOW { self.seen << ahead } else { 0 } | 1;
                self.newest = index;
            }
            // One that came with others is as old as it was before them. It can't come again, as it is too old now.
            None if self.newest - index >= WINDOW => {}
            None => self.seen |= 1 << (self.newest - index),
        }
    }
}

impl Sources {
    #[inline]
    fn get(&self, source: u32) -> Option<&Numbers> {
        match &self.first {
            Some((first, numbers)) if *first == source => Some(numbers),
            Some(_) => self.others.get(&source),
            None => None,
        }
    }

    /// Returns true if a packet of this source was there before.
    pub(super) fn knows(&self, source: u32) -> bool {
        self.get(source).is_some()
    }

    fn has_room(&self) -> bool {
        self.others.len() < MOST_SOURCES - 1
    }

    /// Returns the number of a source's packet of RTP, if it may come.
    pub(super) fn next(&self, source: u32, sequence: u16) -> Result<u64, Error> {
        let Some(numbers) = self.get(source) else {
            return if self.has_room() { Ok(sequence.into()) } else { Err(Error::Sources) };
        };
        let index = numbers.guess(sequence);
        numbers.check(index)?;
        Ok(index)
    }

    /// Checks that a source's packet of RTCP with this number may come.
    pub(super) fn check(&self, source: u32, index: u32) -> Result<(), Error> {
        match self.get(source) {
            Some(numbers) => numbers.check(index.into()),
            None if self.has_room() => Ok(()),
            None => Err(Error::Sources),
        }
    }

    /// Notes a number that may come: a packet with it was protected, or is authentic.
    pub(super) fn note(&mut self, source: u32, index: u64) {
        let new = Numbers { newest: index, seen: 0 };
        let (first, numbers) = self.first.get_or_insert((source, new));
        if *first == source { numbers } else { self.others.entry(source).or_insert(new) }.note(index);
    }

    /// Returns the number after the newest of a source.
    pub(super) fn after(&self, source: u32) -> u64 {
        self.get(source).map_or(0, |numbers| numbers.newest + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(sources: &mut Sources, sequences: &[u16]) -> Vec<Result<u64, Error>> {
        let mut next = |sequence: &u16| {
            let index = sources.next(7, *sequence)?;
            sources.note(7, index);
            Ok(index)
        };
        sequences.iter().map(&mut next).collect()
    }

    #[test]
    fn sequence_numbers_turn_over() {
        let mut sources = Sources::default();
        let got = all(&mut sources, &[65534, 65535, 0, 65533, 1, 40000, 60000, 20000]);
        let numbers: [u64; 8] = [65534, 65535, 65536, 65533, 65537, 65537 - 25537, 0, 0];
        assert_eq!(got[..5], numbers[..5].iter().map(|n| Ok(*n)).collect::<Vec<_>>()[..]);
        // 40000 is closer to the turn before, where it is too far behind.
        assert_eq!(got[5], Err(Error::Old));
        assert_eq!(got[7], Ok(65536 + 20000));
    }

    #[test]
    fn a_number_comes_once_and_not_too_late() {
        let mut sources = Sources::default();
        let got = all(&mut sources, &[1000, 1000, 1100, 1000, 973, 972, 1099, 1099, 2000, 1099]);
        let (twice, late) = (Err(Error::Replayed), Err(Error::Old));
        assert_eq!(got, [Ok(1000), twice, Ok(1100), twice, Ok(973), late, Ok(1099), twice, Ok(2000), late]);
    }

    #[test]
    fn sources_and_numbers_end() {
        let mut sources = Sources::default();
        (0..MOST_SOURCES as u32).for_each(|source| sources.note(source, 5));
        assert_eq!(sources.next(MOST_SOURCES as u32, 1), Err(Error::Sources));
        assert_eq!(sources.check(MOST_SOURCES as u32, 1), Err(Error::Sources));
        sources.note(0, (1 << BITS) - 1);
        assert_eq!(sources.next(0, 0), Err(Error::Exhausted));
    }
}
