//! Tests of the ledger against a model that adds everything up anew.

use super::*;

const ROOM: Whole = Whole {
    service: Amounts::UNLIMITED.with(&[(Resource::Memory, 1 << 30), (Resource::Descriptors, 1000)]),
    worker: Amounts::UNLIMITED.with(&[(Resource::Queues, 400), (Resource::KeyMemory, 64 << 20)]),
    reserve_percent: 20,
};

fn grant(queues: u64, memory: u64) -> Amounts {
    Amounts::new(&[
        (Resource::Grants, 1),
        (Resource::Descriptors, 7),
        (Resource::Queues, queues),
        (Resource::Memory, memory),
        (Resource::KeyMemory, queues << 16),
        (Resource::Orders, 1),
    ])
}

/// Checks the charges against the sums of the entries and the connections.
fn balances(ledger: &Ledger, connections: &BTreeMap<Account, u64>) {
    let (mut service, mut accounts) = (Amounts::default(), BTreeMap::<Account, Amounts>::new());
    let mut workers = BTreeMap::<usize, Amounts>::new();
    for entry in ledger.entries.values() {
        assert!(!entry.holders.is_empty(), "what nobody has is charged");
        service.add(&entry.amounts);
        accounts.entry(entry.account).or_default().add(&entry.amounts);
        for worker in &entry.holders {
            workers.entry(*worker).or_default().add(&entry.amounts);
        }
    }
    for (account, count) in connections {
        let amounts = Amounts::new(&[(Resource::Connections, *count)]);
        service.add(&amounts);
        accounts.entry(*account).or_default().add(&amounts);
    }
    accounts.retain(|_, held| !held.is_zero());
    assert_eq!(ledger.service, service);
    assert_eq!(ledger.accounts, accounts);
    for worker in (0..4).chain([CLIENT, SYSTEM]) {
        assert_eq!(ledger.of_worker(worker).0, workers.get(&worker).copied().unwrap_or_default());
    }
}

#[test]
fn whatever_happens_the_sum_is_what_is_out_and_all_of_it_comes_back() {
    const ONE: Amounts = Amounts::new(&[(Resource::Connections, 1)]);
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut any = move |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 11) % below
    };
    let mut refused = 0;
    for _ in 0..40 {
        let mut ledger = Ledger::new(ROOM);
        let (mut connections, mut ids) = (BTreeMap::new(), 0);
        for _ in 0..500 {
            let (account, worker) = (Account(any(5) as u32), any(4) as usize);
            let id = any(ids + 1);
            match any(13) {
                0 | 1 => {
                    let amounts = grant(1 + any(64), any(1 << 27));
                    let limits = Amounts::UNLIMITED.with(&[(Resource::Grants, 20)]);
                    ids += 1;
                    refused += u32::from(ledger.charge(ids, account, worker, amounts, &limits).is_err());
                }
                2 => refused += u32::from(ledger.join(id, worker).is_err()),
                3 | 4 => drop(ledger.leave(id, worker)),
                5 => ledger.ordered(id),
                6 => {
                    if ledger.entries.get(&id).is_some_and(|entry| entry.amounts.get(Resource::Orders) > 0) {
                        ledger.answered(id);
                    }
                }
                7 if any(20) == 0 => drop(ledger.lose(worker)),
                7 => {
                    if ledger.take(account, &ONE, &Amounts::UNLIMITED).is_ok() {
                        *connections.entry(account).or_default() += 1;
                    }
                }
                8 => ledger.keep_for_client(id),
                9 => drop(ledger.leave_to_look(id)),
                10 => ledger.keep_until_freed(id),
                11 => ledger.freed(id),
                _ => {
                    if let Some(count) = connections.get_mut(&account).filter(|count| **count > 0) {
                        *count -= 1;
                        ledger.give_back(account, &ONE);
                    }
                }
            }
            balances(&ledger, &connections);
        }
        (0..4).chain([CLIENT, SYSTEM]).for_each(|worker| drop(ledger.lose(worker)));
        for (account, count) in connections {
            (0..count).for_each(|_| ledger.give_back(account, &ONE));
        }
        assert!(ledger.service.is_zero() && ledger.accounts.is_empty() && ledger.entries.is_empty());
        assert!(ledger.workers.values().all(Amounts::is_zero));
    }
    assert!(refused > 100, "limits were reached: {refused}");
}

#[test]
fn a_grant_is_charged_until_the_last_worker_has_let_go() {
    let mut ledger = Ledger::new(ROOM);
    let account = Account(7);
    ledger.charge(1, account, 0, grant(4, 1 << 20), &Amounts::UNLIMITED).unwrap();
    ledger.join(1, 1).unwrap();
    assert!(!ledger.leave(1, 0), "the other one has it");
    assert_eq!(ledger.of(account).get(Resource::Queues), 4);
    assert_eq!((ledger.workers_of(account).len(), ledger.of_worker(0).0.get(Resource::Queues)), (1, 0));
    assert!(!ledger.leave(1, 0), "twice is once");
    assert!(ledger.leave(1, 1));
    assert!(ledger.of(account).is_zero());
}

#[test]
fn a_client_that_looks_on_is_charged_for_memory_alone() {
    let mut ledger = Ledger::new(ROOM);
    let account = Account(7);
    ledger.charge(1, account, 0, grant(4, 1 << 20), &Amounts::UNLIMITED).unwrap();
    ledger.keep_for_client(1);
    assert_eq!(ledger.of(account), grant(4, 1 << 20), "the worker has it");
    ledger.answered(1);
    assert!(!ledger.leave(1, 0));
    assert_eq!(ledger.of(account), Amounts::new(&[(Resource::Descriptors, 2), (Resource::Memory, 1 << 20)]));
    assert!(ledger.leave_to_look(1) && ledger.of(account).is_zero());
}

#[test]
fn memory_is_charged_until_the_system_has_it_back() {
    let mut ledger = Ledger::new(ROOM);
    let account = Account(7);
    ledger.charge(1, account, 0, grant(4, 1 << 20), &Amounts::UNLIMITED).unwrap();
    ledger.keep_until_freed(1);
    ledger.keep_for_client(1);
    ledger.answered(1);
    assert!(!ledger.leave(1, 0), "its client looks at it");
    assert!(ledger.workers_of(account).is_empty());
    let kept = Amounts::new(&[(Resource::Descriptors, 2), (Resource::Memory, 1 << 20)]);
    assert_eq!(ledger.of(account), kept);
    assert!(ledger.leave_to_look(1), "it can be freed");
    assert_eq!(ledger.of(account), kept);
    ledger.freed(1);
    assert!(ledger.of(account).is_zero() && ledger.entries.is_empty());
}

#[test]
fn refusals_name_the_limit_and_where_it_is_set() {
    let mut ledger = Ledger::new(ROOM);
    let limits = Amounts::UNLIMITED.with(&[(Resource::Queues, 10), (Resource::Grants, 3)]);
    ledger.charge(1, Account(7), 0, grant(8, 0), &limits).unwrap();
    let over = ledger.charge(2, Account(7), 0, grant(4, 0), &limits).unwrap_err();
    assert_eq!((over.held, over.wanted, over.limit, over.refusal()), (8, 4, 10, Refusal::TooMuch));
    assert!(over.to_string().contains("total_queues"), "{over}");
    let over = ledger.charge(3, Account(8), 0, grant(4, 2 << 30), &limits).unwrap_err();
    assert_eq!((over.purse, over.refusal()), (Purse::Service, Refusal::Exhausted));
    assert!(over.to_string().contains("memory_mib"), "{over}");
    let over = ledger.charge(4, Account(9), 0, grant(500, 0), &Amounts::UNLIMITED).unwrap_err();
    assert_eq!(over.purse, Purse::Worker);
    ledger.set_worker(0, Resource::Queues, 9);
    assert!(ledger.charge(5, Account(9), 0, grant(2, 0), &limits).is_err(), "a worker that has less");
    ledger.charge(5, Account(9), 1, grant(2, 0), &limits).unwrap();
    let rate = Rate { per_second: 1, burst: 1 };
    ledger.spend(Account(7), 1, rate, Instant::now()).unwrap();
    let over = ledger.spend(Account(7), 1, rate, Instant::now()).unwrap_err();
    assert!(over.to_string().contains("attaches_per_s"), "{over}");
}

#[test]
fn who_holds_little_finds_something_when_the_others_have_taken_all_they_could() {
    let mut ledger = Ledger::new(ROOM);
    let mut id = 0;
    let mut fill = |ledger: &mut Ledger, uid| {
        let mut made = 0;
        loop {
            id += 1;
            if ledger.charge(id, Account(uid), 0, grant(20, 8 << 20), &Amounts::UNLIMITED).is_err() {
                return made;
            }
            made += 1;
        }
    };
    assert_eq!(
        (fill(&mut ledger, 1), fill(&mut ledger, 2)),
        (16, 0),
        "320 of 400 queues, in grants that are not small"
    );
    ledger.charge(1000, Account(3), 0, grant(2, 8 << 20), &Amounts::UNLIMITED).unwrap();
    assert!(ledger.charge(1001, Account(1), 0, grant(2, 8 << 20), &Amounts::UNLIMITED).is_err());
}

use millstream_protocol::Refusal;
