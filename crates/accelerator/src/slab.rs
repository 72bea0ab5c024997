//! Numbered places for grants and queues. An old number never names a new thing.

/// The number of a place, and of the thing in it among all that were there: after that is gone it names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Id {
    index: u32,
    generation: u32,
}

impl Id {
    #[inline(always)]
    pub(crate) fn index(self) -> usize {
        self.index as usize
    }
}

struct Place<T> {
    /// The number of things that were there before. After 2^32 of them an old number would name something again.
    generation: u32,
    value: Option<T>,
}

/// Things by their numbers.
pub(crate) struct Slab<T> {
    places: Vec<Place<T>>,
    things: usize,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Slab { places: Vec::new(), things: 0 }
    }

    /// Puts something in the first free place.
    pub(crate) fn insert(&mut self, value: T) -> Id {
        let index = self.places.iter().position(|place| place.value.is_none()).unwrap_or(self.places.len());
        if index == self.places.len() {
            self.places.push(Place { generation: 0, value: None });
        }
        let place = &mut self.places[index];
        place.value = Some(value);
        self.things += 1;
        Id { index: index as u32, generation: place.generation }
    }

    pub(crate) fn remove(&mut self, id: Id) -> Option<T> {
        let place = self.places.get_mut(id.index()).filter(|place| place.generation == id.generation)?;
        let value = place.value.take()?;
        place.generation = place.generation.wrapping_add(1);
        self.things -= 1;
        Some(value)
    }

    #[inline]
    pub(crate) fn get(&self, id: Id) -> Option<&T> {
        let place = self.places.get(id.index()).filter(|place| place.generation == id.generation)?;
        place.value.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        let place = self.places.get_mut(id.index()).filter(|place| place.generation == id.generation)?;
        place.value.as_mut()
    }

    /// Returns the thing that is at a place now.
    #[inline(always)]
    pub(crate) fn at(&self, index: usize) -> Option<&T> {
        self.places.get(index)?.value.as_ref()
    }

    #[inline(always)]
    pub(crate) fn at_mut(&mut self, index: usize) -> Option<&mut T> {
        self.places.get_mut(index)?.value.as_mut()
    }

    /// Returns the thing that is at a place now, and its number.
    #[inline(always)]
    pub(crate) fn named_mut(&mut self, index: usize) -> Option<(Id, &mut T)> {
        let place = self.places.get_mut(index)?;
        Some((Id { index: index as u32, generation: place.generation }, place.value.as_mut()?))
    }

    /// Returns how many things there are.
    pub(crate) fn count(&self) -> usize {
        self.things
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.places.iter_mut().filter_map(|place| place.value.as_mut())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Id, &T)> {
        (0..).zip(&self.places).filter_map(|(index, place)| {
            Some((Id { index, generation: place.generation }, place.value.as_ref()?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_names_one_thing_and_then_nothing() {
        let mut places = Slab::new();
        let (a, b) = (places.insert('a'), places.insert('b'));
        assert_eq!(places.remove(a), Some('a'));
        assert_eq!(places.remove(a), None);
        let c = places.insert('c');
        assert_eq!(c.index(), a.index());
        assert_eq!((places.get(a), places.get(b), places.get(c)), (None, Some(&'b'), Some(&'c')));
        assert_eq!(places.iter().collect::<Vec<_>>(), [(c, &'c'), (b, &'b')]);
        places.iter_mut().for_each(|thing| *thing = thing.to_ascii_uppercase());
        assert_eq!(places.iter().collect::<Vec<_>>(), [(c, &'C'), (b, &'B')]);
        places.iter_mut().for_each(|thing| *thing = thing.to_ascii_lowercase());
        assert_eq!((places.at(0), places.at(2), places.count()), (Some(&'c'), None, 2));
    }
}
