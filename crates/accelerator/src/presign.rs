//! Presignatures of an accelerator: kept, made and forgotten when its host says so.

use std::ops::Deref;

use millstream_cwq::ring::Word;

use crate::accelerator::Accelerator;
use crate::arena::Arena;
use crate::grant::GrantId;
use crate::pairs::{Presignatures, Watch};

impl<A: Arena, M: Deref<Target = [Word]>> Accelerator<A, M> {
    /// Has the accelerator keep presignatures of P-256 for grants that [may use them](crate::GrantConfig::presigns): the inverse of a random
    /// nonce and the x coordinate of its point. A signature with one takes a few multiplications, and its nonce is not hedged with
    /// key and message. They are made by [`Accelerator::presign`] only, after signatures have asked for them.
    ///
    /// A copy of the accelerator's memory that runs on reveals the keys: the host answers for that, with what its [`Watch`] sees. What that sees
    /// from here on counts, so call this before [`Accelerator::seed`]. After the watch has seen something no more are made, until the accelerator
    /// [wants a seed](Accelerator::wants_seed) and has it.
    pub fn keep_presignatures(&mut self, watch: Box<dyn Watch>) {
        self.executor.unit.keep_presignatures(watch);
    }

    /// Changes whether a grant's signatures may use presignatures, and returns true if there is such a grant. Where no grant may, those that there
    /// are go.
    pub fn set_presigns(&mut self, id: GrantId, presigns: bool) -> bool {
        let is_there = self.grants.get_mut(id.0).map(|grant| grant.presigns = presigns).is_some();
        self.forget_needless_presignatures();
        is_there
    }

    /// Wipes all presignatures where no grant may use them.
    pub(crate) fn forget_needless_presignatures(&mut self) {
        if self.presigning() == 0 {
            self.forget_presignatures();
        }
    }

    /// Returns how many grants may use presignatures.
    pub fn presigning(&self) -> usize {
        self.grants.iter().filter(|(_, grant)| grant.presigns).count()
    }

    /// Returns true when there is room for more presignatures, and signatures have asked for some not long ago.
    pub fn wants_presignatures(&mut self) -> bool {
        self.executor.unit.pairs().wants_presignatures()
    }

    /// Makes as many presignatures as lanes make at a time, which takes as long as that many signatures in lanes. Returns true if they were made.
    pub fn presign(&mut self) -> bool {
        self.executor.unit.presign()
    }

    /// Returns true when there are presignatures.
    #[inline]
    pub fn has_presignatures(&mut self) -> bool {
        self.executor.unit.pairs().presigned.pool().is_some_and(|pool| !pool.is_empty())
    }

    /// Wipes the presignatures that are too old, or all where the machine may have been copied. Returns the nanoseconds after which that is to
    /// be done again; none when there are none.
    pub fn age_presignatures(&mut self) -> Option<u64> {
        self.executor.unit.pairs().presigned.pool()?.expires_in()
    }

    /// Wipes all presignatures.
    pub fn forget_presignatures(&mut self) {
        if let Some(pool) = self.executor.unit.pairs().presigned.pool() {
            pool.forget();
        }
    }

    /// Returns the counts of the presignatures.
    pub fn presignatures(&self) -> Presignatures {
        self.executor.unit.presignatures()
    }
}
