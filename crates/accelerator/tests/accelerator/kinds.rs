//! Every algorithm in each direction on random data against a direct call of its engine.

use std::sync::Arc;

use millstream_accelerator::{LocalArena, Operation, Unit};
use millstream_testkit::Random;

use crate::case::{Case, Keys, Outcome, Room, every_kind, features, operation, random_case, unit};
use crate::queue::{Exclusive, FORMS, Station};

fn batch(unit: &Unit, random: &mut Random, cases: &[Case]) {
    let keys: Vec<_> = cases.iter().map(|case| Keys::of(features(), case).expect("keys")).collect();
    let mut rooms: Vec<_> = cases.iter().map(|case| Room::of(case, random.below(2) == 0)).collect();
    let mut operations: Vec<Operation<'_>> = cases
        .iter()
        .zip(&keys)
        .zip(&mut rooms)
        .map(|((case, keys), room)| operation(case, keys, room))
        .collect();
    unit.run(&mut operations);
    let outcomes: Vec<_> = operations.iter().map(Outcome::of).collect();
    drop(operations);
    for ((case, room), outcome) in cases.iter().zip(&rooms).zip(outcomes) {
        outcome.check(case, room);
    }
}

fn length(random: &mut Random) -> usize {
    let most = [20, 70, 300, 2000][random.below(4)];
    random.below(most)
}

/// Many of one kind, of lengths and keys that differ, some of them with the same key.
#[test]
fn many_of_one_kind() {
    let mut random = Random::new(21);
    let unit = unit();
    for kind in every_kind() {
        for count in [1, 2, 3, 7, 17, 40] {
            let mut cases: Vec<_> = (0..count)
                .map(|_| {
                    let len = length(&mut random);
                    random_case(&mut random, &kind, len)
                })
                .collect();
            if count == 17 {
                let same = cases[0].clone();
                cases.extend((0..8).map(|_| same.clone()));
            }
            batch(&unit, &mut random, &cases);
        }
    }
}

/// Any kinds together, one to six hundred: more than is sorted at a time.
#[test]
fn many_of_any_kind() {
    let mut random = Random::new(22);
    let unit = unit();
    let kinds = every_kind();
    for count in [1, 2, 5, 63, 64, 65, 511, 512, 513, 600] {
        let cases: Vec<_> = (0..count)
            .map(|_| {
                let (kind, len) = (random.below(kinds.len()), length(&mut random));
                random_case(&mut random, &kinds[kind], len)
            })
            .collect();
        batch(&unit, &mut random, &cases);
    }
}

/// The same through queues over both kinds of arena.
#[test]
fn words_of_any_kind() {
    let mut random = Random::new(23);
    let arena = || Arc::new(LocalArena::new(8 << 20));
    let (mut staged, mut direct) = (Station::new(arena(), 1024), Station::new(Exclusive(arena()), 1024));
    let kinds = every_kind();
    for (i, count) in [1, 2, 5, 64, 600].into_iter().cycle().take(20).enumerate() {
        let cases: Vec<_> = (0..count)
            .map(|_| {
                let (kind, len) = (random.below(kinds.len()), length(&mut random));
                random_case(&mut random, &kinds[kind], len)
            })
            .collect();
        let cases: Vec<_> = cases.iter().collect();
        staged.run(&cases, FORMS[i % FORMS.len()]);
        direct.run(&cases, FORMS[(i + 1) % FORMS.len()]);
    }
}
