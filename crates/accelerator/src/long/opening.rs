//! The places that hold plaintext until its tag was compared. They are there from the beginning, and grants take turns.
//!
//! There are two sizes of places, so that a short object does not wait for long ones. A grant that finds none free waits in
//! line. It has one place at a time, and is in line once for each size: however many objects it has, each other grant that
//! waits opens one object before it opens its next.

use std::collections::VecDeque;

use millstream_cwq::Status;
use zeroize::Zeroize;

/// The memory that an accelerator takes for objects when its turns are bounded; it takes no more afterwards. A caller that
/// wants memory of some kind, locked or hidden, sees to it that the allocator has such memory then.
///
/// ```
/// use millstream_accelerator::Reserve;
///
/// assert_eq!(Reserve::within(usize::MAX), Reserve::default());
/// let little = Reserve::within(2 << 20);
/// assert!(little.bytes() <= 2 << 20 && little.long < Reserve::default().long);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserve {
    /// Bytes for the copies of objects on which a turn works. An object of which a quarter of it is too little is
    /// executed in slices.
    pub staging: usize,
    /// The longest object that is opened in one of [`Reserve::SHORT_PLACES`] places, in bytes.
    pub short: usize,
    /// The longest object that is opened in slices at all, in bytes, in one of [`Reserve::LONG_PLACES`]. What is longer ends with
    /// [`Status::TooLong`].
    pub long: usize,
}

impl Default for Reserve {
    /// 2 MiB, 1 MiB and 16 MiB: [`Reserve::bytes`] are 42 MiB.
    fn default() -> Self {
        Reserve { staging: 2 << 20, short: 1 << 20, long: super::MOST_OPENED as usize }
    }
}

impl Reserve {
    /// The number of short objects that are opened in slices at a time.
    pub const SHORT_PLACES: usize = 8;

    /// The number of long objects that are opened in slices at a time.
    pub const LONG_PLACES: usize = 2;

    /// The least bytes of staging memory.
    const LEAST_STAGING: usize = 256 << 10;

    /// Returns the bytes of all of it.
    pub fn bytes(&self) -> usize {
        self.staging + Self::SHORT_PLACES * self.short + Self::LONG_PLACES * self.long
    }

    /// Returns the default, or as much as so many bytes have room for. It takes 266,240 bytes even where less is given.
    pub fn within(bytes: usize) -> Self {
        let mut reserve = Reserve::default();
        while reserve.bytes() > bytes && reserve.short > 256 {
            reserve.staging = (reserve.staging / 2).max(Self::LEAST_STAGING);
            reserve.short /= 2;
            reserve.long /= 2;
        }
        reserve
    }
}

/// Places of one size, and the grants that wait for one.
struct Places {
    bytes: usize,
    free: Vec<Vec<u8>>,
    waiting: VecDeque<usize>,
}

impl Places {
    fn new(bytes: usize, count: usize) -> Self {
        Places { bytes, free: (0..count).map(|_| vec![0; bytes]).collect(), waiting: VecDeque::new() }
    }

    /// Takes a place for a grant whose turn it is, or puts the grant in line.
    fn take(&mut self, grant: usize) -> Option<Vec<u8>> {
        let before = self.waiting.iter().position(|waiting| *waiting == grant);
        if before.unwrap_or(self.waiting.len()) < self.free.len() {
            return self.free.pop();
        }
        if before.is_none() {
            self.waiting.push_back(grant);
        }
        None
    }
}

/// The places of an accelerator.
pub(crate) struct Openings {
    short: Places,
    long: Places,
    /// The grants that have one, each once.
    holders: Vec<usize>,
}

impl Openings {
    pub(crate) fn new(reserve: Reserve) -> Self {
        Openings {
            short: Places::new(reserve.short, Reserve::SHORT_PLACES),
            long: Places::new(reserve.long, Reserve::LONG_PLACES),
            holders: Vec::with_capacity(Reserve::SHORT_PLACES + Reserve::LONG_PLACES),
        }
    }

    /// Checks that an object of so many bytes can be opened.
    ///
    /// # Errors
    /// [`Status::TooLong`].
    pub(crate) fn has_place_for(&self, bytes: u32) -> Result<(), Status> {
        if bytes as usize <= self.long.bytes { Ok(()) } else { Err(Status::TooLong) }
    }

    /// Takes a place for an object of a grant; none while the grant has one, or others go first.
    pub(super) fn take(&mut self, grant: usize, bytes: u32) -> Option<Place> {
        if self.holders.contains(&grant) {
            return None;
        }
        let places = if bytes as usize <= self.short.bytes { &mut self.short } else { &mut self.long };
        let memory = places.take(grant)?;
        self.leave_line(grant);
        self.holders.push(grant);
        Some(Place { memory, used: 0 })
    }

    /// Frees a place.
    pub(super) fn give_back(&mut self, grant: usize, place: Place) {
        self.holders.retain(|holder| *holder != grant);
        let memory = place.into_memory();
        let places = if memory.len() == self.short.bytes { &mut self.short } else { &mut self.long };
        places.free.push(memory);
    }

    /// Takes a grant out of the line, because its object waits no more. If another of its objects waits, that one lines up
    /// when its turn comes.
    pub(crate) fn leave_line(&mut self, grant: usize) {
        for places in [&mut self.short, &mut self.long] {
            places.waiting.retain(|waiting| *waiting != grant);
        }
    }
}

/// A place that an object has. It is zeroed when the object lets it go.
pub(super) struct Place {
    memory: Vec<u8>,
    /// Bytes from the front that may be other than zero.
    used: usize,
}

impl Place {
    /// Copies bytes to the place, from `at` on.
    pub(super) fn hold(&mut self, at: usize, bytes: &[u8]) {
        self.used = self.used.max(at + bytes.len());
        self.memory[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Lends bytes of the place. The caller zeroes those that it needs no more.
    pub(super) fn held(&mut self, at: usize, len: usize) -> &mut [u8] {
        &mut self.memory[at..at + len]
    }

    /// Notes that the caller has zeroed all of it, a slice at a time.
    pub(super) fn is_wiped(&mut self) {
        self.used = 0;
    }

    fn into_memory(mut self) -> Vec<u8> {
        self.wipe();
        std::mem::take(&mut self.memory)
    }

    fn wipe(&mut self) {
        let used = std::mem::take(&mut self.used).min(self.memory.len());
        self.memory[..used].zeroize();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.wipe();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESERVE: Reserve = Reserve { staging: 4096, short: 64, long: 256 };

    #[test]
    fn a_grant_has_one_place_and_others_go_before_its_next() {
        let mut openings = Openings::new(RESERVE);
        let (a, b) = (openings.take(1, 256).unwrap(), openings.take(2, 65).unwrap());
        assert!(openings.take(1, 256).is_none() && openings.take(1, 8).is_none(), "it has one");
        assert!(openings.take(3, 256).is_none() && openings.take(4, 256).is_none(), "there are no more");
        assert!(openings.take(5, 64).is_some(), "short ones have places of their own");
        openings.give_back(1, a);
        assert!(openings.take(1, 256).is_none() && openings.take(4, 256).is_none(), "the third was first");
        let third = openings.take(3, 256).unwrap();
        openings.give_back(2, b);
        openings.give_back(3, third);
        assert!(openings.take(3, 256).is_none(), "two go before it, and two are free");
        let fourth = openings.take(4, 256).unwrap();
        assert!(openings.take(1, 256).is_some(), "in whatever order they are asked");
        openings.give_back(4, fourth);
        assert!(openings.take(3, 256).is_some());
    }

    #[test]
    fn a_grant_that_waits_no_more_holds_up_nobody() {
        let mut openings = Openings::new(RESERVE);
        let a = openings.take(1, 256).unwrap();
        let _b = openings.take(2, 256).unwrap();
        assert!(openings.take(3, 256).is_none() && openings.take(4, 256).is_none());
        openings.leave_line(3);
        openings.give_back(1, a);
        assert!(openings.take(4, 256).is_some());
    }

    #[test]
    fn a_place_comes_back_zeroed_and_the_limit_has_a_name() {
        let mut openings = Openings::new(RESERVE);
        let mut place = openings.take(1, 256).unwrap();
        place.hold(16, &[7; 200]);
        assert_eq!(place.held(215, 2), [7, 0]);
        openings.give_back(1, place);
        assert!(openings.long.free.iter().all(|memory| *memory == [0; 256]));
        assert_eq!(
            (openings.has_place_for(256), openings.has_place_for(257)),
            (Ok(()), Err(Status::TooLong))
        );
    }

    #[test]
    fn a_reserve_fits_into_what_there_is() {
        for shift in 19..27 {
            let reserve = Reserve::within(1 << shift);
            assert!(reserve.bytes() <= 1 << shift, "{reserve:?}");
            assert!(reserve == Reserve::default() || 4 * reserve.bytes() > 1 << shift, "{reserve:?}");
        }
    }
}
