//! Groups of users that are charged as one.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::path::Path;

use nix::unistd::User;

use crate::ledger::Account;

/// Groups of users that are charged as one: those of a `uids = ` line, and the users that a user makes in
/// user namespaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    /// Ranges, sorted and disjoint, each with its account.
    shared: Vec<(RangeInclusive<u32>, u32)>,
}

impl Accounts {
    /// Returns the account that is charged for a user: its own, where it shares with nobody.
    pub(crate) fn of(&self, uid: u32) -> Account {
        let at = self.shared.partition_point(|(uids, _)| *uids.end() < uid);
        match self.shared.get(at) {
            Some((uids, account)) if uids.contains(&uid) => Account(*account),
            _ => Account(uid),
        }
    }

    /// Makes one account of all these ranges, named by the first uid.
    pub(super) fn share(&mut self, ranges: &[RangeInclusive<u32>]) -> Result<(), String> {
        let Some(account) = ranges.first().map(|range| *range.start()) else { return Ok(()) };
        for range in ranges {
            self.insert(range.clone(), account)?;
        }
        Ok(())
    }

    fn insert(&mut self, range: RangeInclusive<u32>, account: u32) -> Result<(), String> {
        let at = self.shared.partition_point(|(uids, _)| uids.end() < range.start());
        match self.shared.get(at) {
            Some((other, _)) if other.start() <= range.end() => Err(format!(
                "{}-{}: some of these uids are shared by another range: take them out of one",
                range.start(),
                range.end()
            )),
            _ => {
                self.shared.insert(at, (range, account));
                Ok(())
            }
        }
    }

    /// Charges subordinate users to their owner, unless the policy says something else about them.
    pub(super) fn add_subordinates(&mut self, subuids: &Subuids) {
        for (owner, range) in &subuids.0 {
            let account = self.of(*owner).0;
            // A range that overlaps stays as it was assigned first.
            let _ = self.insert(range.clone(), account);
        }
    }
}

/// The subordinate users of each owner, which it may use in user namespaces.
pub(super) struct Subuids(Vec<(u32, RangeInclusive<u32>)>);

impl Subuids {
    /// Reads `/etc/subuid`; there are none where the file does not exist.
    pub(super) fn of_system() -> Self {
        let text = std::fs::read_to_string(Path::new("/etc/subuid")).unwrap_or_default();
        let mut known = HashMap::new();
        Subuids::parse(&text, |name| {
            *known
                .entry(name.to_owned())
                .or_insert_with(|| User::from_name(name).ok().flatten().map(|user| user.uid.as_raw()))
        })
    }

    /// Parses lines of an owner, the first uid and the number of uids. Malformed lines are left out, because
    /// the file is not this program's.
    fn parse(text: &str, mut user: impl FnMut(&str) -> Option<u32>) -> Self {
        let lines = text.lines().filter_map(|line| {
            let mut fields = line.trim().split(':');
            let owner = fields.next()?;
            let (first, count) = (fields.next()?.parse::<u32>().ok()?, fields.next()?.parse::<u32>().ok()?);
            let last = first.checked_add(count.checked_sub(1)?)?;
            let owner = owner.parse().ok().or_else(|| user(owner))?;
            Some((owner, first..=last))
        });
        Subuids(lines.collect())
    }
}

/// Parses uids and ranges of them, between commas.
pub(super) fn ranges(text: &str) -> Result<Vec<RangeInclusive<u32>>, String> {
    let ranges = text.split(',').map(|part| {
        let part = part.trim();
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
            (Ok(first), Ok(last)) if first <= last => Ok(first..=last),
            _ => Err(format!("{part:?} is no range of uids: write it as in 100000-165535")),
        }
    });
    ranges.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subordinate_users_are_charged_to_their_owner() {
        let text = "alice:100000:65536\n# nothing\nbob:165536:65536\n1002:300000:1\nnobody-knows:1:5\nbad:x:y\nb:4294967295:9\n";
        let subuids = Subuids::parse(text, |name| match name {
            "alice" => Some(1000),
            "bob" => Some(1001),
            _ => None,
        });
        let mut accounts = Accounts::default();
        accounts.share(&ranges("7,1001").unwrap()).unwrap();
        accounts.add_subordinates(&subuids);
        for (uid, account) in [
            (1000, 1000),
            (100_000, 1000),
            (165_535, 1000),
            (165_536, 7),
            (231_071, 7),
            (231_072, 231_072),
            (300_000, 1002),
            (3, 3),
        ] {
            assert_eq!(accounts.of(uid), Account(account), "{uid}");
        }
    }

    #[test]
    fn ranges_are_numbers_with_a_dash() {
        assert_eq!(ranges("5, 7-9").unwrap(), [5..=5, 7..=9]);
        for wrong in ["", "9-5", "a-b", "1-", "-1", "5,,6", "1-4294967296"] {
            assert!(ranges(wrong).is_err(), "{wrong}");
        }
    }
}
