//! Objects that are copied: what of one grant's is in the staging memory never gets to another, and how much is staged is
//! bounded.

use std::sync::Arc;

use millstream_accelerator::{Arena, LocalArena};
use millstream_cwq::{Algorithm, ControlWord, Opcode, Status};
use millstream_testkit::Random;

use crate::case::{every_kind, random_case};
use crate::queue::{Client, FORMS, Station};

const SECRET: [u8; 8] = *b"\xc3SECRET\x9a";

/// A grant whose objects are nothing but the secret.
struct Victim {
    arena: Arc<LocalArena>,
    client: Client,
}

impl Victim {
    fn new(station: &mut Station<Arc<LocalArena>>) -> Self {
        let arena = Arc::new(LocalArena::new(1 << 18));
        arena.write(0, &SECRET.repeat(16 << 10));
        let grant = station.accelerator.add_grant(arena.clone(), 0);
        let (client, submissions, completions) = Client::new(16);
        station.accelerator.add_queue(grant, submissions, completions, 1).expect("rings");
        Victim { arena, client }
    }

    /// Fills staging memory with it, and a little more of it each time.
    fn submit(&mut self, len: u32) {
        let word =
            |opcode: Opcode| ControlWord { opcode: opcode as u8, source_len: len, ..ControlWord::default() };
        self.client.submit(&ControlWord { destination: 128 << 10, ..word(Opcode::Copy) });
        let hash = Algorithm::Sha256 as u8;
        self.client.submit(&ControlWord { hash, mac: 128 << 10, mac_len: 32, ..word(Opcode::Hash) });
    }
}

/// Every kind of operation, in every form and of many lengths, that ends well or does not, after another grant's
/// objects and between them.
#[test]
fn nothing_of_another_grant_comes_out() {
    let mut station = Station::new(Arc::new(LocalArena::new(1 << 20)), 32);
    let mut victim = Victim::new(&mut station);
    let mut random = Random::new(81);
    for (round, kind) in every_kind().iter().enumerate() {
        for form in FORMS {
            let cases: Vec<_> = (0..8)
                .map(|i| {
                    let len = random.below([40, 3000][i % 2]);
                    random_case(&mut random, kind, len)
                })
                .collect();
            victim.submit(1000 + 2000 * (round as u32 % 32));
            // `run` compares all of the arena with what must be there.
            station.run(&cases.iter().collect::<Vec<_>>(), form);
            while let Some(done) = victim.client.completed() {
                assert_eq!(done.status(), Some(Status::Ok));
            }
            let found =
                station.snapshot().windows(4).any(|bytes| SECRET.windows(4).any(|part| part == bytes));
            assert!(!found, "{kind:?} {form:?}");
        }
    }
    let mut theirs = vec![0; 8];
    victim.arena.read(128 << 10, &mut theirs);
    assert_ne!(theirs, [0; 8], "the victim was served");
}

/// A tag that does not match leaves zeros, also where the output becomes of the input in place.
#[test]
fn what_is_not_authentic_leaves_zeros() {
    let mut random = Random::new(82);
    let mut failed = 0;
    for kind in
        every_kind().iter().filter(|kind| matches!(kind.opcode, Opcode::Aead | Opcode::MacThenDecrypt))
    {
        let mut station = Station::new(Arc::new(LocalArena::new(1 << 18)), 32);
        let mut cases: Vec<_> = (0..16).map(|i| random_case(&mut random, kind, 100 * i)).collect();
        for case in cases.iter_mut().filter(|case| case.reverse && case.status == Status::Ok) {
            case.mac[0] ^= 1;
            case.status = Status::Authentication;
            failed += 1;
        }
        station.run(&cases.iter().collect::<Vec<_>>(), FORMS[0]);
    }
    assert!(failed > 100);
}

/// More than is staged at once, and one object that is bigger than that alone.
#[test]
fn big_objects_and_many_come_out_right() {
    let mut station = Station::new(Arc::new(LocalArena::new(24 << 20)), 256);
    let mut random = Random::new(83);
    let kinds = every_kind();
    let sealed =
        |kind: &&crate::case::Case| kind.opcode == Opcode::Aead && kind.algorithm == Algorithm::AesGcm;
    let kind = kinds.iter().find(sealed).expect("a kind");
    let cases: Vec<_> = (0..250)
        .map(|i| {
            let len = if i == 100 { 3 << 20 } else { 30_000 };
            random_case(&mut random, kind, len)
        })
        .collect();
    station.run(&cases.iter().collect::<Vec<_>>(), FORMS[0]);
}
