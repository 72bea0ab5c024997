//! The tests that Miri executes: batches, both kinds of arena, cancellation, and a client on another thread.

use std::sync::Arc;

use millstream_accelerator::{Arena, LocalArena, Operation};
use millstream_cwq::{Algorithm, ControlWord, Opcode, Status};
use millstream_testkit::Random;

use crate::case::{Case, Keys, Outcome, Room, every_kind, features, operation, random_case, unit};
use crate::queue::{Exclusive, FORMS, Station};

/// Two short cases of each kind whose portable kernel is quick enough, for every other kind from `first` on: each half takes minutes.
fn cases(first: usize) -> Vec<Case> {
    let quick = |case: &Case| {
        use Algorithm::*;
        let cipher =
            matches!(case.algorithm, None | AesCbc | AesCtr | AesGcm | AesCmac | ChaCha20Poly1305 | Rc4);
        (cipher || matches!(case.algorithm, Crc32 | IpChecksum)) && matches!(case.hash, None | Sha256)
    };
    let mut random = Random::new(41);
    let mut kinds = every_kind();
    for kind in kinds.iter_mut().filter(|kind| kind.is_chained()) {
        // Else it might be MD5, whose kernel is in assembly.
        kind.hash = Algorithm::Sha256;
    }
    kinds
        .iter()
        .filter(|kind| quick(kind))
        .skip(first)
        .step_by(2)
        .flat_map(|kind| {
            let mut case = || loop {
                let case = random_case(&mut random, kind, 40);
                if case.algorithm != Algorithm::Rc4 || case.key.len() <= 16 {
                    return case;
                }
            };
            [case(), case()]
        })
        .collect()
}

/// One case of each kind: words have the other.
fn batch(half: usize) {
    let cases: Vec<Case> = cases(half).into_iter().step_by(2).collect();
    let keys: Vec<_> = cases.iter().map(|case| Keys::of(features(), case).expect("good keys")).collect();
    let mut rooms: Vec<_> = cases.iter().enumerate().map(|(i, case)| Room::of(case, i % 2 == 0)).collect();
    let mut operations: Vec<Operation<'_>> = cases
        .iter()
        .zip(&keys)
        .zip(&mut rooms)
        .map(|((case, keys), room)| operation(case, keys, room))
        .collect();
    unit().run(&mut operations);
    let outcomes: Vec<_> = operations.iter().map(Outcome::of).collect();
    drop(operations);
    for ((case, room), outcome) in cases.iter().zip(&rooms).zip(outcomes) {
        outcome.check(case, room);
    }
}

#[test]
fn miri_batches() {
    batch(0);
}

#[test]
fn miri_long_batches() {
    batch(1);
}

/// Every other case, from `first` on: both arenas have all of them between them.
fn words<A: Arena + Clone>(arena: A, half: usize, first: usize) {
    let cases: Vec<Case> = cases(half).into_iter().skip(first).step_by(2).collect();
    let mut station = Station::new(arena, 256);
    for (i, form) in FORMS.into_iter().enumerate() {
        let cases: Vec<_> = cases.iter().skip(i).step_by(FORMS.len()).collect();
        station.run(&cases, form);
    }
}

#[test]
fn miri_words_over_a_staged_arena() {
    words(Arc::new(LocalArena::new(1 << 16)), 0, 0);
}

#[test]
fn miri_long_words_over_a_staged_arena() {
    words(Arc::new(LocalArena::new(1 << 16)), 1, 0);
}

#[test]
fn miri_long_words_over_an_exclusive_arena() {
    for half in [0, 1] {
        words(Exclusive(Arc::new(LocalArena::new(1 << 16))), half, 1);
    }
}

#[test]
fn miri_a_client_on_another_thread() {
    let arena = Arc::new(LocalArena::new(1 << 12));
    let Station { mut accelerator, mut client, .. } = Station::new(arena.clone(), 8);
    let words: u64 = if cfg!(miri) { 20 } else { 2000 };
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut ended = 0;
            while ended < words as usize {
                ended += accelerator.step(0);
                std::thread::yield_now();
            }
        });
        for tag in 0..words {
            let bytes = tag.to_le_bytes();
            arena.write(100, &bytes);
            client.submit(&ControlWord {
                opcode: Opcode::Copy as u8,
                source: 100,
                source_len: 8,
                destination: 200,
                tag,
                ..ControlWord::default()
            });
            let done = loop {
                match client.completed() {
                    Some(done) => break done,
                    None => std::thread::yield_now(),
                }
            };
            assert_eq!((done.tag, done.status()), (tag, Some(Status::Ok)));
            let mut copy = [0; 8];
            arena.read(200, &mut copy);
            assert_eq!(copy, bytes);
        }
    });
}
