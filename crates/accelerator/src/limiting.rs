//! The host's side of limits on the use of keys: it sets them, and tells the time in which uses come back.

use std::ops::Deref;

use millstream_cwq::ring::Word;

use crate::accelerator::Accelerator;
use crate::arena::Arena;
use crate::grant::GrantId;
use crate::limits::UseLimits;

impl<A: Arena, M: Deref<Target = [Word]>> Accelerator<A, M> {
    /// Limits how often a grant's keys may be used from here on, and returns true if there is such a grant. What was used under other
    /// limits counts, if there were any. The host must [tell the time](Accelerator::tell_time) then.
    pub fn set_use_limits(&mut self, id: GrantId, limits: UseLimits) -> bool {
        let Accelerator { grants, clock, .. } = self;
        let Some(grant) = grants.get_mut(id.0) else { return false };
        if !limits.is_none() || grant.keys.is_limited() {
            grant.keys.limit(limits, clock.get_or_insert_default());
        }
        true
    }

    /// Returns true if some grant has or had limits, which need the time.
    #[inline]
    pub fn wants_time(&self) -> bool {
        self.clock.is_some()
    }

    /// Tells the accelerator the time, in milliseconds from any beginning.
    pub fn tell_time(&mut self, milliseconds: u64) {
        if let Some(clock) = &self.clock {
            clock.set(milliseconds);
        }
    }
}
