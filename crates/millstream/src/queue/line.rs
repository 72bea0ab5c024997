//! The line of tasks that wait for room in a shared queue: who came first is served first.

use std::collections::VecDeque;
use std::task::Waker;

/// A place in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(u64);

/// The tasks that wait for room, in the order in which they came.
#[derive(Default)]
pub(super) struct Line {
    waiting: VecDeque<Waiter>,
    next: u64,
}

struct Waiter {
    place: Place,
    /// The way to wake the task; none from when it was woken until it has looked.
    waker: Option<Waker>,
}

impl Line {
    /// Takes the last place.
    pub(super) fn join(&mut self) -> Place {
        let place = Place(self.next);
        // 2^64 places are never taken.
        self.next += 1;
        self.waiting.push_back(Waiter { place, waker: None });
        place
    }

    /// Returns the number of tasks that wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the number of tasks that came before. All of them are ahead of one that has left the line.
    pub(super) fn ahead(&self, place: Place) -> usize {
        self.waiting.partition_point(|waiter| waiter.place.0 < place.0)
    }

    /// Returns the place of the waker of the task that waits at a place in the line; none when it has left.
    pub(super) fn waker(&mut self, place: Place) -> Option<&mut Option<Waker>> {
        let at = self.ahead(place);
        let waiter = self.waiting.get_mut(at).filter(|waiter| waiter.place == place)?;
        Some(&mut waiter.waker)
    }

    /// Gives a place up. Returns the waker that was kept for it, to be dropped outside of any lock.
    pub(super) fn leave(&mut self, place: Place) -> Option<Waker> {
        let at = self.ahead(place);
        self.waiting.get(at).filter(|waiter| waiter.place == place)?;
        self.waiting.remove(at)?.waker
    }

    /// Returns the wakers of the first tasks of the line, as many as there is room for, of those that still sleep.
    pub(super) fn admit(&mut self, room: usize) -> impl Iterator<Item = Waker> {
        self.waiting.iter_mut().take(room).filter_map(|waiter| waiter.waker.take())
    }

    /// Takes the waker of the first task that sleeps.
    pub(super) fn first_sleeper(&mut self) -> Option<(Place, Waker)> {
        self.waiting.iter_mut().find_map(|waiter| Some((waiter.place, waiter.waker.take()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleep(line: &mut Line, place: Place) {
        *line.waker(place).unwrap() = Some(Waker::noop().clone());
    }

    #[test]
    fn miri_the_first_are_admitted_first_and_places_in_the_middle_can_be_given_up() {
        let mut line = Line::default();
        let places: Vec<Place> = (0..5).map(|_| line.join()).collect();
        for place in &places {
            sleep(&mut line, *place);
        }
        assert_eq!((line.ahead(places[3]), line.len()), (3, 5));
        assert!(line.leave(places[1]).is_some() && line.leave(places[1]).is_none());
        assert_eq!((line.ahead(places[3]), line.len()), (2, 4));
        assert_eq!(line.admit(2).count(), 2);
        assert_eq!(line.admit(2).count(), 0, "nobody is woken twice");
        assert_eq!(line.admit(9).count(), 2);
        assert!(line.first_sleeper().is_none());
        sleep(&mut line, places[4]);
        assert!(line.first_sleeper().is_some_and(|(place, _)| place == places[4]));
        assert!(line.waker(places[1]).is_none(), "nobody sleeps at a place that was given up");
        assert_eq!(line.admit(9).count(), 0);
    }
}
