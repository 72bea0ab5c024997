//! Random bytes by control words and in batches: where they come from, and what becomes of a request without a source.

use std::collections::HashSet;
use std::sync::Arc;

use millstream_accelerator::{Arena, Generator, LocalArena, Operation, Unit};
use millstream_cwq::{Algorithm, ControlWord, Opcode, Status};
use millstream_testkit::Random;

use crate::case::{UNTOUCHED, every_kind, features, not_so_random, random_case};
use crate::queue::{Exclusive, FORMS, Station};

const SEED: [u8; 32] = [0x42; 32];

fn word(destination: u32, source_len: u32, tag: u64) -> ControlWord {
    let (opcode, algorithm) = (Opcode::Random as u8, Algorithm::Random as u8);
    ControlWord { opcode, algorithm, source_len, destination, tag, ..ControlWord::default() }
}

/// Words of many lengths, among others of all kinds, get the generator's stream: all of it, in order, and nothing twice.
fn words_get_the_stream<A: Arena + Clone>(arena: A) {
    let mut station = Station::new(arena, 256);
    let mut random = Random::new(91);
    station.accelerator.seed(&SEED);
    let mut same = Generator::new(features(), &SEED);
    for round in 0..20 {
        station.clear();
        let mut places = vec![];
        let kinds = every_kind();
        for tag in 0..150 {
            if random.below(3) > 0 {
                let most = [20, 500, 5000][random.below(3)];
                let len = random.below(most) as u32;
                let at = station.layout.put(&vec![UNTOUCHED; len as usize]);
                station.client.submissions.push(&word(at, len, tag).to_words()).expect("room");
                places.push((at, len, tag));
            } else {
                let kind = &kinds[random.below(kinds.len())];
                // These draw from the same generator.
                if !matches!(kind.opcode, Opcode::Random | Opcode::Encapsulate) {
                    let case = random_case(&mut random, kind, 100);
                    let laid = station.lay(&case, tag, FORMS[tag as usize % 4]);
                    station.client.submissions.push(&laid.word.to_words()).expect("room");
                }
            }
        }
        station.client.submissions.publish();
        let mut expected = station.snapshot();
        while station.accelerator.step(0) > 0 {}
        let mut ended = HashSet::new();
        while let Some(done) = station.client.completed() {
            ended.insert((done.tag, done.status()));
        }
        let after = station.snapshot();
        for (at, len, tag) in places {
            let place = at as usize..(at + len) as usize;
            assert!(ended.contains(&(tag, Some(Status::Ok))));
            same.fill(&mut expected[place.clone()]).unwrap();
            assert!(after[place.clone()] == expected[place], "round {round}, word {tag}, {len} bytes");
        }
        if round == 9 {
            station.accelerator.seed(&[7; 32]);
            same.reseed(&[7; 32]);
        }
    }
}

#[test]
fn words_get_the_generators_stream_in_order() {
    let arena = Arc::new(LocalArena::new(2 << 20));
    words_get_the_stream(arena.clone());
    words_get_the_stream(Exclusive(arena));
}

/// The longest word there is, and the empty one.
#[test]
fn longest_and_shortest() {
    let most = ControlWord::MOST_RANDOM_BYTES;
    for exclusive in [false, true] {
        let arena = Arc::new(LocalArena::new(2 * most));
        let run = |words: &[ControlWord]| -> Vec<Status> {
            let statuses =
                |station: &mut dyn FnMut(&ControlWord) -> Status| words.iter().map(station).collect();
            if exclusive {
                let mut station = Station::new(Exclusive(arena.clone()), 8);
                station.accelerator.seed(&SEED);
                statuses(&mut |word| execute(&mut station, word))
            } else {
                let mut station = Station::new(arena.clone(), 8);
                station.accelerator.seed(&SEED);
                statuses(&mut |word| execute(&mut station, word))
            }
        };
        assert_eq!(run(&[word(100, 0, 1), word(100, most, 2)]), [Status::Ok; 2]);
        let mut expected = vec![0; most as usize];
        Generator::new(features(), &SEED).fill(&mut expected).unwrap();
        let mut found = vec![0; 2 * most as usize];
        arena.read(0, &mut found);
        assert!(found[100..100 + most as usize] == expected);
        assert!(found[..100].iter().chain(&found[100 + most as usize..]).all(|byte| *byte == 0));
    }
}

fn execute<A: Arena + Clone>(station: &mut Station<A>, word: &ControlWord) -> Status {
    station.client.submit(word);
    assert_eq!(station.accelerator.step(0), 1);
    let done = station.client.completed().expect("a completion");
    assert_eq!((done.tag, done.value), (word.tag, 0));
    done.status().expect("a status")
}

/// Without a source a word fails and leaves the destination alone, and so does one after too many bytes under one seed.
#[test]
fn without_a_source_nothing_is_written() {
    fn failing(_: &mut [u8]) -> Result<(), millstream_publickey::Error> {
        Err(millstream_publickey::Error::Random)
    }
    let arena = Arc::new(LocalArena::new(4096));
    arena.write(0, &[UNTOUCHED; 4096]);
    let mut staged = Station::new(arena.clone(), 8);
    let mut direct = Station::new(Exclusive(arena.clone()), 8);
    staged.accelerator.set_random(failing);
    direct.accelerator.set_random(failing);
    assert_eq!(execute(&mut staged, &word(100, 64, 1)), Status::Random);
    assert_eq!(execute(&mut direct, &word(100, 64, 2)), Status::Random);
    let mut found = vec![0; 4096];
    arena.read(0, &mut found);
    assert_eq!(found, vec![UNTOUCHED; 4096]);
    // A seed makes up for it.
    staged.accelerator.seed(&SEED);
    assert_eq!(execute(&mut staged, &word(100, 64, 3)), Status::Ok);

    let mut bytes = [UNTOUCHED; 16];
    let mut operations = [Operation::random(&mut bytes)];
    let mut unit = Unit::new(features());
    unit.run(&mut operations);
    assert_eq!(operations[0].result(), Err(millstream_engines::Error::Random));
    unit.set_random(not_so_random);
    unit.run(&mut operations);
    assert_eq!(operations[0].result(), Ok(()));
    assert_ne!(bytes, [UNTOUCHED; 16]);
}

/// The accelerator tells its host when it wants a seed, and takes up again after it.
#[test]
fn the_host_is_told_when_a_seed_is_due() {
    let most = ControlWord::MOST_RANDOM_BYTES;
    let mut station = Station::new(Arc::new(LocalArena::new(2 * most)), 8);
    assert!(!station.accelerator.wants_seed(), "a host's function needs none");
    station.accelerator.seed(&SEED);
    for _ in 0..2 {
        for tag in 0..Generator::WANTS_SEED_AFTER / u64::from(most) {
            assert!(!station.accelerator.wants_seed());
            assert_eq!(execute(&mut station, &word(0, most, tag)), Status::Ok);
        }
        assert!(station.accelerator.wants_seed());
        station.accelerator.seed(&SEED);
    }
}
