//! The slots that hold the keys of a grant, and how keys get in, out, and to another accelerator.

use std::collections::VecDeque;
use std::fmt;

use millstream_cpu::Features;
use millstream_cwq::{Algorithm, Status};
use zeroize::Zeroizing;

use crate::kept::{Kept, NotKept, SharedKeyMemory};
use crate::key::{Key, KeyKind, KeyRef};
use crate::limits::{Clock, Limited, UseLimits};
use crate::purpose::{Demand, Permits, Purpose};
use crate::slot_errors::{ExportError, InsertError, SlotsFull};
use crate::wipe::wipe_stack;

/// Names a key in a slot: the slot's number, and the number of the key among all that were in it. So an old handle does not
/// name the slot's next key, nor any of the 32,766 after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle(u32);

impl Handle {
    /// Bits of the slot's number.
    const INDEX_BITS: u32 = 16;

    /// Returns the handle as control words carry it.
    pub const fn to_bits(self) -> u32 {
        self.0
    }

    /// Rebuilds a handle from a control word. Unknown bits name no key.
    pub const fn from_bits(bits: u32) -> Self {
        Handle(bits)
    }

    fn new(index: usize, generation: u16) -> Self {
        Handle(u32::from(generation) << Self::INDEX_BITS | index as u32)
    }

    const fn index(self) -> usize {
        (self.0 & ((1 << Self::INDEX_BITS) - 1)) as usize
    }

    const fn generation(self) -> u16 {
        (self.0 >> Self::INDEX_BITS) as u16
    }
}

/// A key that was expanded and lies in the memory of its grant, so that putting it in a slot costs next to nothing. Any
/// thread can make one.
///
/// ```
/// use millstream_accelerator::{KeySlots, PreparedKey};
/// use millstream_cpu::Features;
/// use millstream_cwq::Algorithm;
///
/// let key = PreparedKey::new(Features::hardware(), Algorithm::AesGcm, &[7; 32], true, None)?;
/// let mut slots = KeySlots::new(4);
/// let handle = slots.insert_prepared(key)?;
/// assert_eq!(slots.export(handle).unwrap()[..], [7; 32]);
/// # Ok::<(), millstream_accelerator::InsertError>(())
/// ```
pub struct PreparedKey(Held);

impl PreparedKey {
    /// Expands a key into `memory`, or onto the heap; the key of a hash is an HMAC's. Its bytes are kept beside it, to
    /// be exported if that is allowed, and for a move to another accelerator.
    ///
    /// # Errors
    /// [`InsertError::Engine`]; [`InsertError::Memory`].
    pub fn new(
        features: Features,
        algorithm: Algorithm,
        bytes: &[u8],
        exportable: bool,
        memory: Option<&SharedKeyMemory>,
    ) -> Result<Self, InsertError> {
        let kept = expand(features, algorithm, bytes, memory);
        wipe_stack();
        let kept = kept.map_err(|error| match error {
            NotKept::Engine(error) => InsertError::Engine(error),
            NotKept::Memory => InsertError::Memory,
        })?;
        Ok(PreparedKey(Held { kept, algorithm, exportable, permits: Permits::new(Purpose::of(algorithm)) }))
    }

    /// Limits the key to less than all that its algorithm can, or to nonces that the accelerator makes.
    ///
    /// ```
    /// use millstream_accelerator::{InsertError, Nonces, PreparedKey, Purpose};
    /// use millstream_cpu::Features;
    /// use millstream_cwq::{Algorithm, Usages};
    ///
    /// let key = || PreparedKey::new(Features::hardware(), Algorithm::Sha256, b"Jefe", false, None);
    /// let purpose = |usages| Purpose { usages, nonces: Nonces::Given };
    /// assert!(key()?.with_purpose(purpose(Usages::VERIFY)).is_ok());
    /// let refused = key()?.with_purpose(purpose(Usages::ENCRYPT)).unwrap_err();
    /// assert!(refused.to_string().contains("can't encrypt"));
    /// # Ok::<(), InsertError>(())
    /// ```
    ///
    /// # Errors
    /// [`InsertError::Usage`].
    pub fn with_purpose(mut self, purpose: Purpose) -> Result<Self, InsertError> {
        purpose.check(self.0.algorithm).map_err(InsertError::Usage)?;
        self.0.permits = Permits::new(purpose);
        Ok(self)
    }

    /// Returns the key's algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.0.algorithm
    }
}

/// Expands a key in a stack frame of its own, which the caller wipes.
#[inline(never)]
fn expand(
    features: Features,
    algorithm: Algorithm,
    bytes: &[u8],
    memory: Option<&SharedKeyMemory>,
) -> Result<Kept, NotKept> {
    Kept::expand(features, algorithm, bytes, true, memory)
}

/// Shows the algorithm and nothing of the key.
impl fmt::Debug for PreparedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PreparedKey({:?})", self.algorithm())
    }
}

/// A slot on its way to another process: its handle is valid there too.
pub struct MovedSlot {
    /// The slot, and the number of its key. An empty slot remembers that the keys it had are gone.
    pub handle: Handle,
    /// The key, if there is one.
    pub key: Option<MovedKey>,
}

/// A key on its way to another process.
pub struct MovedKey {
    /// Returns the key's algorithm.
    pub algorithm: Algorithm,
    /// True when its bytes may be given to the client.
    pub exportable: bool,
    /// The key's purpose, with the position of its nonces.
    pub purpose: Purpose,
    /// The bytes that it is expanded from.
    pub bytes: Zeroizing<Vec<u8>>,
}

/// Shows the algorithm and nothing of the key.
impl fmt::Debug for MovedSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MovedSlot({:?}, {:?})", self.handle, self.key.as_ref().map(|key| key.algorithm))
    }
}

struct Held {
    kept: Kept,
    /// The key's algorithm, where it can be compared without loading the key.
    algorithm: Algorithm,
    exportable: bool,
    permits: Permits,
}

struct Slot {
    /// Changes with each key, so that old handles don't fit. Odd while a key is there.
    generation: u16,
    held: Option<Held>,
}

/// The slots for the keys of one grant. Outside there are only handles.
///
/// ```
/// use millstream_accelerator::{Key, KeySlots};
/// use millstream_cpu::Features;
/// use millstream_cwq::Algorithm;
///
/// let mut slots = KeySlots::new(4);
/// let handle = slots.insert(Key::new(Features::hardware(), Algorithm::AesGcm, &[7; 32])?).unwrap();
/// assert!(slots.get(handle).is_some());
/// assert!(slots.remove(handle));
/// assert!(slots.get(handle).is_none());
/// # Ok::<(), millstream_engines::Error>(())
/// ```
pub struct KeySlots {
    slots: Vec<Slot>,
    /// Slots that had a key and have none now. The one that waited longest is next, so that handles live long.
    free: VecDeque<u16>,
    capacity: usize,
    memory: Option<SharedKeyMemory>,
    /// The limits on the uses of its keys, where there are any.
    limited: Option<Box<Limited>>,
}

impl KeySlots {
    /// Makes room for that many keys on the heap, at most 65536.
    pub fn new(capacity: usize) -> Self {
        KeySlots::with_memory(capacity, None)
    }

    /// Makes room for that many keys, at most 65536, in `memory`, or on the heap.
    pub fn with_memory(capacity: usize, memory: Option<SharedKeyMemory>) -> Self {
        let capacity = capacity.min(1 << Handle::INDEX_BITS);
        KeySlots { slots: Vec::new(), free: VecDeque::new(), capacity, memory, limited: None }
    }

    /// Returns true if the uses of its keys are counted.
    pub(crate) fn is_limited(&self) -> bool {
        self.limited.is_some()
    }

    /// Limits the uses of all keys from here on, and of those that come.
    pub(crate) fn limit(&mut self, limits: UseLimits, clock: &Clock) {
        let limited = self.limited.get_or_insert_with(|| Box::new(Limited::new(limits, clock.clone())));
        limited.change(limits);
        for held in self.slots.iter_mut().filter_map(|slot| slot.held.as_mut()) {
            held.permits.limit(limited);
        }
    }

    /// Takes over the slots that another process gave up with [`KeySlots::into_moved`], keys and all. Any thread may do it,
    /// and it takes as long as expanding the keys.
    ///
    /// # Errors
    /// The errors of [`PreparedKey::new`]; [`InsertError::SlotsFull`] when handles are not those of slots.
    pub fn from_moved(
        features: Features,
        capacity: usize,
        memory: Option<SharedKeyMemory>,
        moved: Vec<MovedSlot>,
    ) -> Result<Self, InsertError> {
        let mut slots = KeySlots::with_memory(capacity, memory);
        moved.into_iter().try_for_each(|slot| slots.push_moved(features, slot))?;
        Ok(slots)
    }

    /// Takes over the next of these slots, for a caller that takes them one at a time.
    ///
    /// # Errors
    /// The errors of [`KeySlots::from_moved`]. The slots are then as before.
    pub fn push_moved(&mut self, features: Features, slot: MovedSlot) -> Result<(), InsertError> {
        let (index, generation) = (self.slots.len(), slot.handle.generation());
        let is_next = slot.handle.index() == index && index < self.capacity;
        if !is_next || slot.key.is_some() != (generation % 2 == 1) {
            return Err(InsertError::SlotsFull);
        }
        let held = match slot.key {
            Some(MovedKey { algorithm, exportable, purpose, bytes }) => {
                let key = PreparedKey::new(features, algorithm, &bytes, exportable, self.memory.as_ref())?;
                Some(key.with_purpose(purpose)?.0)
            }
            None => {
                self.free.push_back(index as u16);
                None
            }
        };
        self.slots.push(Slot { generation, held });
        Ok(())
    }

    /// Returns the slots in the form in which another process takes them over. Keys that were put in expanded
    /// ([`KeySlots::insert`]) can't move: their handles name nothing there.
    pub fn into_moved(mut self) -> Vec<MovedSlot> {
        let moved = std::mem::take(&mut self.slots).into_iter().enumerate().map(|(index, slot)| {
            let held = slot.held.is_some();
            let key = slot.held.and_then(|Held { kept, algorithm, exportable, permits }| {
                let bytes = Zeroizing::new(kept.raw()?.to_vec());
                Some(MovedKey { algorithm, exportable, purpose: permits.into_purpose(), bytes })
            });
            let lost = held && key.is_none();
            MovedSlot { handle: Handle::new(index, slot.generation.wrapping_add(u16::from(lost))), key }
        });
        moved.collect()
    }

    /// Puts a key in a free slot. Its bytes are not known, so it can't be exported, nor move to another process, nor take
    /// messages in pieces.
    ///
    /// # Errors
    /// [`SlotsFull`], also where there is no more memory.
    pub fn insert(&mut self, key: Key) -> Result<Handle, SlotsFull> {
        let purpose = Purpose::of(key.algorithm());
        self.insert_for(key, purpose).map_err(|_| SlotsFull)
    }

    /// The same, for less than all that its algorithm can, or with nonces that the accelerator makes.
    ///
    /// # Errors
    /// [`InsertError::Usage`]; [`InsertError::SlotsFull`], also where there is no more memory.
    pub fn insert_for(&mut self, key: Key, purpose: Purpose) -> Result<Handle, InsertError> {
        let algorithm = key.algorithm();
        purpose.check(algorithm).map_err(InsertError::Usage)?;
        let kept = Kept::new(key, self.memory.as_ref()).map_err(|_| InsertError::SlotsFull)?;
        let held = Held { kept, algorithm, exportable: false, permits: Permits::new(purpose) };
        self.hold(held).map_err(|SlotsFull| InsertError::SlotsFull)
    }

    /// Puts a prepared key in a free slot.
    ///
    /// # Errors
    /// [`SlotsFull`], as [`InsertError::SlotsFull`].
    pub fn insert_prepared(&mut self, key: PreparedKey) -> Result<Handle, InsertError> {
        self.hold(key.0).map_err(|SlotsFull| InsertError::SlotsFull)
    }

    fn hold(&mut self, mut held: Held) -> Result<Handle, SlotsFull> {
        if let Some(limited) = &self.limited {
            held.permits.limit(limited);
        }
        let index = match self.free.pop_front() {
            Some(free) => usize::from(free),
            None if self.slots.len() < self.capacity => {
                self.slots.push(Slot { generation: 0, held: None });
                self.slots.len() - 1
            }
            None => return Err(SlotsFull),
        };
        let slot = &mut self.slots[index];
        slot.generation = slot.generation.wrapping_add(1);
        slot.held = Some(held);
        Ok(Handle::new(index, slot.generation))
    }

    /// Zeroises the key and frees its slot. Returns true if there was one.
    pub fn remove(&mut self, handle: Handle) -> bool {
        if self.held(handle).is_none() {
            return false;
        }
        let slot = &mut self.slots[handle.index()];
        slot.generation = slot.generation.wrapping_add(1);
        slot.held = None;
        self.free.push_back(handle.index() as u16);
        true
    }

    #[inline(always)]
    fn held(&self, handle: Handle) -> Option<&Held> {
        let slot = self.slots.get(handle.index())?;
        if slot.generation != handle.generation() {
            return None;
        }
        slot.held.as_ref()
    }

    /// Returns the key of a handle, if it has one.
    #[inline(always)]
    pub fn get(&self, handle: Handle) -> Option<KeyRef<'_>> {
        self.held(handle).map(|held| held.kept.key())
    }

    /// Returns the key of a handle, if it is one for that algorithm and permits what the word demands.
    #[inline(always)]
    pub(crate) fn find(
        &self,
        handle: Handle,
        algorithm: Algorithm,
        demand: Demand,
    ) -> Result<KeyRef<'_>, Status> {
        let held = self.held(handle).filter(|held| held.algorithm == algorithm).ok_or(Status::Key)?;
        held.permits.check(demand, self.limited.as_deref())?;
        KeyKind::of(algorithm).and_then(|kind| held.kept.key_of(kind)).ok_or(Status::Key)
    }

    /// Makes the next nonce of a key for which the accelerator makes them.
    pub(crate) fn make_nonce(&self, handle: Handle) -> Result<[u8; 12], Status> {
        self.held(handle).ok_or(Status::Key)?.permits.make_nonce()
    }

    /// Returns the bytes of an exportable key.
    ///
    /// # Errors
    /// [`ExportError`].
    pub fn export(&self, handle: Handle) -> Result<Zeroizing<Vec<u8>>, ExportError> {
        let held = self.held(handle).ok_or(ExportError::NoKey)?;
        match held.kept.raw() {
            Some(raw) if held.exportable => Ok(Zeroizing::new(raw.to_vec())),
            _ => Err(ExportError::NotExportable),
        }
    }

    /// Returns the bytes that a key was made from, if they were kept.
    pub(crate) fn raw(&self, handle: Handle) -> Option<&[u8]> {
        self.held(handle)?.kept.raw()
    }

    /// Returns how many keys are there.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Returns true when no key is there.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the memory for keys, or `None` for the heap.
    pub fn memory(&self) -> Option<&SharedKeyMemory> {
        self.memory.as_ref()
    }

    /// Returns how many keys there may be.
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

impl fmt::Debug for KeySlots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySlots({} of {})", self.len(), self.capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        Key::new(Features::none(), Algorithm::AesCbc, &[1; 16]).unwrap()
    }

    fn prepared(exportable: bool) -> PreparedKey {
        PreparedKey::new(Features::none(), Algorithm::AesCbc, &[1; 16], exportable, None).unwrap()
    }

    #[test]
    fn a_handle_never_names_the_next_key() {
        let mut slots = KeySlots::new(2);
        let first = slots.insert(key()).unwrap();
        let second = slots.insert(key()).unwrap();
        assert_eq!(slots.insert(key()), Err(SlotsFull));
        assert!(slots.remove(first));
        assert!(!slots.remove(first), "gone already");
        let third = slots.insert(key()).unwrap();
        assert_eq!(third.index(), first.index());
        assert!(slots.get(first).is_none() && slots.get(second).is_some() && slots.get(third).is_some());
        assert_eq!(slots.len(), 2);
    }

    #[test]
    fn bits_that_were_never_given_out_name_nothing() {
        let mut slots = KeySlots::new(2);
        let handle = slots.insert(key()).unwrap();
        for bits in [0, 1, 2, u32::MAX, handle.to_bits() ^ 1, handle.to_bits() + (2 << 16)] {
            assert!(slots.get(Handle::from_bits(bits)).is_none(), "{bits:#x}");
        }
    }

    #[test]
    fn only_exportable_keys_come_out() {
        let mut slots = KeySlots::new(3);
        let open = slots.insert_prepared(prepared(true)).unwrap();
        let closed = slots.insert_prepared(prepared(false)).unwrap();
        let bare = slots.insert(key()).unwrap();
        assert_eq!(slots.export(open).unwrap()[..], [1; 16]);
        assert_eq!(slots.export(closed), Err(ExportError::NotExportable));
        assert_eq!(slots.export(bare), Err(ExportError::NotExportable));
        assert!(slots.remove(open));
        assert_eq!(slots.export(open), Err(ExportError::NoKey));
    }

    #[test]
    fn handles_stay_valid_in_another_place_and_old_ones_stay_stale() {
        let mut slots = KeySlots::new(4);
        let handles =
            [false, true, false].map(|exportable| slots.insert_prepared(prepared(exportable)).unwrap());
        let bare = slots.insert(key()).unwrap();
        assert!(slots.remove(handles[0]));
        let moved = slots.into_moved();
        let mut slots = KeySlots::from_moved(Features::none(), 4, None, moved).unwrap();
        assert_eq!(slots.len(), 2);
        assert!(slots.get(handles[0]).is_none() && slots.get(bare).is_none());
        assert_eq!(slots.export(handles[1]).unwrap()[..], [1; 16]);
        assert_eq!(slots.export(handles[2]), Err(ExportError::NotExportable));
        let next = [slots.insert(key()).unwrap(), slots.insert(key()).unwrap()];
        assert_eq!(slots.insert(key()), Err(SlotsFull));
        assert!(next.iter().all(|next| !handles.contains(next) && *next != bare));
    }

    #[test]
    fn what_is_no_slot_does_not_move_in() {
        let slot = |bits, key| MovedSlot { handle: Handle::from_bits(bits), key };
        let algorithm = Algorithm::AesCbc;
        let purpose = || Purpose::of(algorithm);
        let key =
            || Some(MovedKey { algorithm, exportable: false, purpose: purpose(), bytes: vec![1; 16].into() });
        for moved in [vec![slot(1, None)], vec![slot(1 << 16, None)], vec![slot(2 << 16, key())]] {
            assert!(KeySlots::from_moved(Features::none(), 4, None, moved).is_err());
        }
        assert!(KeySlots::from_moved(Features::none(), 4, None, vec![slot(1 << 16, key())]).is_ok());
    }
}
