//! The ledger. Every grant is charged here before anything is made for it, and given back when no worker has
//! it any more.
//!
//! There are three kinds of purse: an account's (of one user, or of several who share it), the service's and
//! each worker's. A charge must fit into all that it touches. A part of what the service and its workers have
//! is a reserve, which is only for accounts that hold little.

mod account;
mod bucket;
mod resource;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

pub(crate) use account::Account;
pub(crate) use bucket::Rate;
pub(crate) use resource::{Amounts, Over, Purse, Resource};

use bucket::Buckets;

/// The limits of the whole service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Whole {
    /// The limits for all grants and connections together.
    pub(crate) service: Amounts,
    /// The limits of each worker.
    pub(crate) worker: Amounts,
    /// The percentage that is reserved for accounts that hold little.
    pub(crate) reserve_percent: u32,
}

impl Default for Whole {
    fn default() -> Self {
        Whole { service: Amounts::UNLIMITED, worker: Amounts::UNLIMITED, reserve_percent: 20 }
    }
}

/// An account may use one part in so many of a reserve, or a usual grant's worth where that is more.
const PARTS: u64 = 16;

/// The charge of a usual grant, with room to spare.
const MODEST: Amounts = Amounts::new(&[
    (Resource::Connections, 4),
    (Resource::Descriptors, 16),
    (Resource::Queues, 8),
    (Resource::Memory, 16 << 20),
    (Resource::KeyMemory, 512 << 10),
    (Resource::Orders, 2),
]);

/// A holder that stands for the client of a grant that has ended, as long as the client may look at the
/// memory.
const CLIENT: usize = usize::MAX;
/// A holder that stands for the threads that give the memory back, until they have.
const SYSTEM: usize = usize::MAX - 1;

/// The resources that stay charged when no worker has the grant any more. Orders come back as they are
/// answered.
const LOOKED_AT: [Resource; 3] = [Resource::Descriptors, Resource::Memory, Resource::Orders];

/// A grant that is charged.
#[derive(Debug)]
struct Entry {
    account: Account,
    amounts: Amounts,
    /// The workers that have it, or may have it.
    holders: BTreeSet<usize>,
}

/// The charges of everybody.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    whole: Whole,
    entries: BTreeMap<u64, Entry>,
    service: Amounts,
    accounts: BTreeMap<Account, Amounts>,
    workers: BTreeMap<usize, Amounts>,
    /// The limits of workers that have less than the others.
    smaller: BTreeMap<usize, Amounts>,
    buckets: Buckets,
    /// The accounts that are granted nothing, with the time until which that holds.
    barred: BTreeMap<Account, Instant>,
}

impl Ledger {
    pub(crate) fn new(whole: Whole) -> Self {
        Ledger { whole, ..Ledger::default() }
    }

    /// Sets the limits of another policy. Charges stay, even where they exceed the new limits.
    pub(crate) fn set_whole(&mut self, whole: Whole) {
        self.whole = whole;
    }

    /// Lowers a limit of one worker that could not get as much as was meant for it.
    pub(crate) fn set_worker(&mut self, worker: usize, resource: Resource, most: u64) {
        self.smaller.entry(worker).or_insert(Amounts::UNLIMITED).set(resource, most);
    }

    /// Charges an account for resources that belong to no grant, such as a connection.
    ///
    /// # Errors
    /// Names the resource that would be exceeded; nothing is charged then.
    pub(crate) fn take(&mut self, account: Account, amounts: &Amounts, limits: &Amounts) -> Result<(), Over> {
        self.fits(account, None, amounts, limits)?;
        self.add(account, amounts);
        Ok(())
    }

    /// Gives such a charge back.
    pub(crate) fn give_back(&mut self, account: Account, amounts: &Amounts) {
        self.service.subtract(amounts);
        if let Some(held) = self.accounts.get_mut(&account) {
            held.subtract(amounts);
            if held.is_zero() {
                self.accounts.remove(&account);
            }
        }
    }

    /// Charges an account whatever the limits say, as for a connection that has lost its grant.
    pub(crate) fn add(&mut self, account: Account, amounts: &Amounts) {
        self.service.add(amounts);
        self.accounts.entry(account).or_default().add(amounts);
    }

    /// Charges a grant that one worker is about to have.
    ///
    /// # Errors
    /// The same as for [`Ledger::take`].
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

    /// Returns true when a worker could take a grant of that account.
    pub(crate) fn has_room(&self, account: Account, worker: usize, amounts: &Amounts) -> bool {
        self.fits(account, Some(worker), amounts, &Amounts::UNLIMITED).is_ok()
    }

    /// Charges a grant also to the worker that it is to move to.
    ///
    /// # Errors
    /// The same as for [`Ledger::take`].
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

    /// Keeps the memory of an ended grant charged while its client may look at it, until the client
    /// [leaves](Ledger::leave_to_look).
    pub(crate) fn keep_for_client(&mut self, grant: u64) {
        self.keep(grant, CLIENT);
    }

    /// Keeps the memory of an ended grant charged until the system has it back, which [`Ledger::freed`]
    /// records.
    pub(crate) fn keep_until_freed(&mut self, grant: u64) {
        self.keep(grant, SYSTEM);
    }

    /// Records that the system has the memory back.
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

    /// Records that the client of an ended grant no longer looks at it. Returns what [`Ledger::leave`] does.
    pub(crate) fn leave_to_look(&mut self, grant: u64) -> bool {
        self.leave(grant, CLIENT)
    }

    /// Records that a worker has nothing of a grant any more. When no other worker has it either, everything
    /// is given back that is not kept. Returns true when nobody has it, so that its memory can be freed.
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

    /// Removes a dead worker from all of its grants, and returns those that nobody has any more.
    pub(crate) fn lose(&mut self, worker: usize) -> Vec<u64> {
        let its = self.entries.iter().filter(|(_, entry)| entry.holders.contains(&worker));
        let its: Vec<u64> = its.map(|(grant, _)| *grant).collect();
        its.into_iter().filter(|grant| self.leave(*grant, worker)).collect()
    }

    /// Gives a part of a grant's charge back early.
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

    /// Charges an order about a grant until it is answered. Limits do not apply, because orders that end a
    /// grant must be given.
    pub(crate) fn ordered(&mut self, grant: u64) {
        self.change(grant, |held, order| held.add(order));
    }

    /// Gives the charge of an answered order back.
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

    /// Takes the tokens that a request costs.
    ///
    /// # Errors
    /// The account asks too often.
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

    /// Bars an account from being granted anything for a time.
    pub(crate) fn bar(&mut self, account: Account, limit: Duration, now: Instant) {
        self.barred.retain(|_, until| *until > now);
        self.barred.insert(account, now + limit);
    }

    /// Returns how long an account is still barred.
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

    /// Returns the limits that apply to an account: all of each resource while it holds little of it, else
    /// the part that is not reserved.
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

    /// Returns the charge of an account.
    #[cfg(test)]
    pub(crate) fn of(&self, account: Account) -> Amounts {
        self.accounts.get(&account).copied().unwrap_or_default()
    }

    /// Returns all accounts that hold anything.
    pub(crate) fn accounts(&self) -> impl Iterator<Item = (Account, &Amounts)> {
        self.accounts.iter().map(|(account, held)| (*account, held))
    }

    /// Returns the service's charges and limits.
    pub(crate) fn of_service(&self) -> (Amounts, Amounts) {
        (self.service, self.whole.service)
    }

    /// Returns one worker's charges and limits.
    pub(crate) fn of_worker(&self, worker: usize) -> (Amounts, Amounts) {
        (self.workers.get(&worker).copied().unwrap_or_default(), self.limits_of(worker))
    }

    fn limits_of(&self, worker: usize) -> Amounts {
        self.smaller.get(&worker).map_or(self.whole.worker, |smaller| self.whole.worker.min(smaller))
    }

    /// Returns the workers that have grants of an account.
    pub(crate) fn workers_of(&self, account: Account) -> BTreeSet<usize> {
        let its = self.entries.values().filter(|entry| entry.account == account);
        its.flat_map(|entry| entry.holders.iter().copied().filter(is_worker)).collect()
    }
}

fn is_worker(holder: &usize) -> bool {
    *holder < SYSTEM
}

/// Returns how much of a grant's charge is kept when no worker has it: all the memory, and its two
/// descriptors.
fn kept_of(resource: Resource) -> u64 {
    match resource {
        Resource::Descriptors => 2,
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests;
