//! What is out and to whom: every grant is charged here before anything is made for it, and given back when no worker has
//! it any more.
//!
//! There are three kinds of purse: an account's (a user's, or that of the users who share one), the service's and each
//! worker's. A charge must fit into all that it touches. A part of what the service and its workers have is a reserve, which only
//! accounts may use that hold little.

mod account;
mod bucket;
mod resource;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

pub(crate) use account::Account;
pub(crate) use bucket::Rate;
pub(crate) use resource::{Amounts, Over, Purse, Resource};

use bucket::Buckets;

/// What the service has in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Whole {
    /// Of all grants and connections.
    pub(crate) service: Amounts,
    /// Of each worker.
    pub(crate) worker: Amounts,
    /// The part, in hundredths, that only those may use who hold little.
    pub(crate) reserve_percent: u32,
}

impl Default for Whole {
    fn default() -> Self {
        Whole { service: Amounts::UNLIMITED, worker: Amounts::UNLIMITED, reserve_percent: 20 }
    }
}

/// One account may use so much of a reserve: one part of so many, or a usual grant's worth where that is more.
const PARTS: u64 = 16;

/// What a usual grant takes, with room to spare.
const MODEST: Amounts = Amounts::new(&[
    (Resource::Connections, 4),
    (Resource::Descriptors, 16),
    (Resource::Queues, 8),
    (Resource::Memory, 16 << 20),
    (Resource::KeyMemory, 512 << 10),
    (Resource::Orders, 2),
]);

/// Stands among the workers for the client of a grant that has ended, as long as it may look at its memory.
const CLIENT: usize = usize::MAX;
/// Stands there for the threads that give its memory back, until they have.
const SYSTEM: usize = usize::MAX - 1;

/// What is still charged when no worker has it any more; and orders, which come back as they are answered.
const LOOKED_AT: [Resource; 3] = [Resource::Descriptors, Resource::Memory, Resource::Orders];

/// A grant that is charged.
#[derive(Debug)]
struct Entry {
    account: Account,
    amounts: Amounts,
    /// The workers that have it, or may have it.
    holders: BTreeSet<usize>,
}

/// What is out.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    whole: Whole,
    entries: BTreeMap<u64, Entry>,
    service: Amounts,
    accounts: BTreeMap<Account, Amounts>,
    workers: BTreeMap<usize, Amounts>,
    /// Workers that have less than the others may have.
    smaller: BTreeMap<usize, Amounts>,
    buckets: Buckets,
    /// Accounts that are granted nothing until then.
    barred: BTreeMap<Account, Instant>,
}

impl Ledger {
    pub(crate) fn new(whole: Whole) -> Self {
        Ledger { whole, ..Ledger::default() }
    }

    /// Another policy holds. What is out stays out, even where it is more than could be had now.
    pub(crate) fn set_whole(&mut self, whole: Whole) {
        self.whole = whole;
    }

    /// A worker could not get as much as was meant for it.
    pub(crate) fn set_worker(&mut self, worker: usize, resource: Resource, most: u64) {
        self.smaller.entry(worker).or_insert(Amounts::UNLIMITED).set(resource, most);
    }

    /// Charges what belongs to no grant: connections.
    ///
    /// # Errors
    /// What there is too little of; nothing is charged then.
    pub(crate) fn take(&mut self, account: Account, amounts: &Amounts, limits: &Amounts) -> Result<(), Over> {
        self.fits(account, None, amounts, limits)?;
        self.add(account, amounts);
        Ok(())
    }

    /// Takes it back.
    pub(crate) fn give_back(&mut self, account: Account, amounts: &Amounts) {
        self.service.subtract(amounts);
        if let Some(held) = self.accounts.get_mut(&account) {
            held.subtract(amounts);
            if held.is_zero() {
                self.accounts.remove(&account);
            }
        }
    }

    /// Charges it whatever the limits say: a connection that has lost its grant.
    pub(crate) fn add(&mut self, account: Account, amounts: &Amounts) {
        self.service.add(amounts);
        self.accounts.entry(account).or_default().add(amounts);
    }

    /// Charges a grant, which one worker is about to have.
    ///
    /// # Errors
    /// As for [`Ledger::take`].
    pub(crate) fn charge(
        &mut self,
        grant: u64,
        account: Account,
        worker: usize,
        amounts: Amounts,
        limits: &Amounts,
    ) -> Result<(), Over> {
        self.fits(account, Some(worker), &amounts, limits)?;
        self.add(account, &amounts);
        self.workers.entry(worker).or_default().add(&amounts);
        self.entries.insert(grant, Entry { account, amounts, holders: BTreeSet::from([worker]) });
        Ok(())
    }

    /// Whether a worker could take a grant of that account.
    pub(crate) fn has_room(&self, account: Account, worker: usize, amounts: &Amounts) -> bool {
        self.fits(account, Some(worker), amounts, &Amounts::UNLIMITED).is_ok()
    }

    /// Charges a grant to another worker as well, to which it is to move.
    ///
    /// # Errors
    /// As for [`Ledger::take`].
    pub(crate) fn join(&mut self, grant: u64, worker: usize) -> Result<(), Over> {
        let Some(entry) = self.entries.get(&grant) else { return Ok(()) };
        if entry.holders.contains(&worker) {
            return Ok(());
        }
        let held = self.accounts.get(&entry.account).copied().unwrap_or_default();
        self.fits_worker(worker, &held, &entry.amounts)?;
        self.workers.entry(worker).or_default().add(&entry.amounts);
        if let Some(entry) = self.entries.get_mut(&grant) {
            entry.holders.insert(worker);
        }
        Ok(())
    }

    /// A grant has ended, and its client may go on to look at its memory, which it is charged for until it [leaves](
    /// Ledger::leave_to_look).
    pub(crate) fn keep_for_client(&mut self, grant: u64) {
        self.keep(grant, CLIENT);
    }

    /// A grant has ended, and its memory is charged until the system has it back: until it is [freed](Ledger::freed).
    pub(crate) fn keep_until_freed(&mut self, grant: u64) {
        self.keep(grant, SYSTEM);
    }

    /// The system has it back.
    pub(crate) fn freed(&mut self, grant: u64) {
        self.leave(grant, SYSTEM);
    }

    fn keep(&mut self, grant: u64, holder: usize) {
        if let Some(entry) = self.entries.get_mut(&grant)
            && entry.holders.insert(holder)
        {
            self.workers.entry(holder).or_default().add(&entry.amounts);
        }
    }

    /// The client of such a grant looks at it no more. As [`Ledger::leave`].
    pub(crate) fn leave_to_look(&mut self, grant: u64) -> bool {
        self.leave(grant, CLIENT)
    }

    /// A worker has no more of a grant. When no other has it either, everything is given back that is not kept: whether nobody
    /// has it, so that its memory can be freed.
    pub(crate) fn leave(&mut self, grant: u64, worker: usize) -> bool {
        let Some(entry) = self.entries.get_mut(&grant) else { return false };
        if !entry.holders.remove(&worker) {
            return false;
        }
        if let Some(held) = self.workers.get_mut(&worker) {
            held.subtract(&entry.amounts);
        }
        if entry.holders.iter().any(is_worker) {
            return false;
        }
        if !entry.holders.is_empty() {
            let is_free = entry.holders.iter().eq([&SYSTEM]);
            let kept =
                LOOKED_AT.map(|resource| (resource, entry.amounts.get(resource).min(kept_of(resource))));
            let mut rest = entry.amounts;
            rest.subtract(&Amounts::new(&kept));
            self.reduce(grant, &rest);
            return is_free;
        }
        if let Some(Entry { account, amounts, .. }) = self.entries.remove(&grant) {
            self.give_back(account, &amounts);
        }
        true
    }

    /// A worker is dead: the grants that nobody has any more.
    pub(crate) fn lose(&mut self, worker: usize) -> Vec<u64> {
        let its = self.entries.iter().filter(|(_, entry)| entry.holders.contains(&worker));
        let its: Vec<u64> = its.map(|(grant, _)| *grant).collect();
        its.into_iter().filter(|grant| self.leave(*grant, worker)).collect()
    }

    /// A grant needs less than it was charged: some of it is given back early.
    pub(crate) fn reduce(&mut self, grant: u64, by: &Amounts) {
        let Some(entry) = self.entries.get_mut(&grant) else { return };
        entry.amounts.subtract(by);
        for worker in &entry.holders {
            if let Some(held) = self.workers.get_mut(worker) {
                held.subtract(by);
            }
        }
        let account = entry.account;
        self.give_back(account, by);
    }

    /// A worker was given an order about a grant, which counts until it is answered. It may be more than would be allowed:
    /// what has to be ended is ended.
    pub(crate) fn ordered(&mut self, grant: u64) {
        self.change(grant, |held, order| held.add(order));
    }

    /// The worker has answered.
    pub(crate) fn answered(&mut self, grant: u64) {
        self.change(grant, |held, order| held.subtract(order));
    }

    fn change(&mut self, grant: u64, how: impl Fn(&mut Amounts, &Amounts)) {
        const ORDER: Amounts = Amounts::new(&[(Resource::Orders, 1)]);
        let Some(entry) = self.entries.get_mut(&grant) else { return };
        how(&mut entry.amounts, &ORDER);
        how(&mut self.service, &ORDER);
        how(self.accounts.entry(entry.account).or_default(), &ORDER);
        for worker in &entry.holders {
            how(self.workers.entry(*worker).or_default(), &ORDER);
        }
    }

    /// Takes the tokens that something costs.
    ///
    /// # Errors
    /// The account comes too often.
    pub(crate) fn spend(
        &mut self,
        account: Account,
        cost: u32,
        rate: Rate,
        now: Instant,
    ) -> Result<(), Over> {
        match self.buckets.take(account, cost, rate, now) {
            true => Ok(()),
            false => Err(Over {
                purse: Purse::Account,
                resource: Resource::Attaches,
                held: 0,
                wanted: cost.into(),
                limit: rate.per_second.into(),
            }),
        }
    }

    /// An account is granted nothing for so long.
    pub(crate) fn bar(&mut self, account: Account, limit: Duration, now: Instant) {
        self.barred.retain(|_, until| *until > now);
        self.barred.insert(account, now + limit);
    }

    /// How long it still is granted nothing.
    pub(crate) fn barred(&self, account: Account, now: Instant) -> Option<Duration> {
        self.barred.get(&account)?.checked_duration_since(now).filter(|left| !left.is_zero())
    }

    fn fits(
        &self,
        account: Account,
        worker: Option<usize>,
        wanted: &Amounts,
        limits: &Amounts,
    ) -> Result<(), Over> {
        let held = self.accounts.get(&account).copied().unwrap_or_default();
        held.fits(wanted, limits, Purse::Account)?;
        self.service.fits(wanted, &self.available(&held, wanted, &self.whole.service), Purse::Service)?;
        worker.map_or(Ok(()), |worker| self.fits_worker(worker, &held, wanted))
    }

    fn fits_worker(&self, worker: usize, held: &Amounts, wanted: &Amounts) -> Result<(), Over> {
        let limits = self.available(held, wanted, &self.limits_of(worker));
        self.workers.get(&worker).copied().unwrap_or_default().fits(wanted, &limits, Purse::Worker)
    }

    /// What an account that holds so much may count on: all of it while it has little, else what is not reserved.
    fn available(&self, held: &Amounts, wanted: &Amounts, limits: &Amounts) -> Amounts {
        let mut available = *limits;
        for resource in Resource::ALL {
            let limit = limits.get(resource);
            if limit == u64::MAX {
                continue;
            }
            let reserve = (u128::from(limit) * u128::from(self.whole.reserve_percent) / 100) as u64;
            let modest = (reserve / PARTS).max(MODEST.get(resource));
            if held.get(resource).saturating_add(wanted.get(resource)) > modest {
                available.set(resource, limit - reserve);
            }
        }
        available
    }

    /// What an account holds.
    #[cfg(test)]
    pub(crate) fn of(&self, account: Account) -> Amounts {
        self.accounts.get(&account).copied().unwrap_or_default()
    }

    /// All accounts that hold anything.
    pub(crate) fn accounts(&self) -> impl Iterator<Item = (Account, &Amounts)> {
        self.accounts.iter().map(|(account, held)| (*account, held))
    }

    /// What is out, and what there is of it.
    pub(crate) fn of_service(&self) -> (Amounts, Amounts) {
        (self.service, self.whole.service)
    }

    /// As [`Ledger::of_service`], of one worker.
    pub(crate) fn of_worker(&self, worker: usize) -> (Amounts, Amounts) {
        (self.workers.get(&worker).copied().unwrap_or_default(), self.limits_of(worker))
    }

    fn limits_of(&self, worker: usize) -> Amounts {
        self.smaller.get(&worker).map_or(self.whole.worker, |smaller| self.whole.worker.min(smaller))
    }

    /// The workers that have grants of an account.
    pub(crate) fn workers_of(&self, account: Account) -> BTreeSet<usize> {
        let its = self.entries.values().filter(|entry| entry.account == account);
        its.flat_map(|entry| entry.holders.iter().copied().filter(is_worker)).collect()
    }
}

fn is_worker(holder: &usize) -> bool {
    *holder < SYSTEM
}

/// How much of what a grant was charged is kept when no worker has it: all the memory, and its two descriptors.
fn kept_of(resource: Resource) -> u64 {
    match resource {
        Resource::Descriptors => 2,
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests;
