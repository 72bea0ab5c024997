//! A grant moves from one worker to another while its client goes on.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libtest_mimic::Trial;
use millstream_cpu::Features;
use millstream_cwq::{Algorithm, ControlWord, Opcode, Status};
use millstream_engines::modes::BlockMode;
use millstream_engines::{InOut, aes};
use millstream_protocol::{KeyRefusal, KeyReply, KeyRequest, Message, Order, Report};
use millstream_shm::pair;

use crate::client::{Client, grant};
use crate::process::Worker;
use crate::serve::pattern;
use crate::test;

pub fn tests() -> Vec<Trial> {
    vec![
        test("nothing_is_lost_when_a_grant_moves", nothing_is_lost_when_a_grant_moves),
        test("handles_stay_what_they_were", handles_stay_what_they_were),
        test("a_grant_that_does_not_arrive_is_refused", a_grant_that_does_not_arrive_is_refused),
    ]
}

/// Has one worker hand a grant to another, as a broker does.
pub fn move_grant(client: &Client, from: &Worker, to: &Worker) -> Result<(), String> {
    let (a, b) = pair().unwrap();
    let adopt = Order::Adopt { grant: client.grant.clone() }.encode();
    to.control.send(&adopt, &client.descriptors(&b)).map_err(|error| error.to_string())?;
    let released = from.order(&Order::Release { grant: client.grant.id }, &[std::os::fd::AsFd::as_fd(&a)]);
    drop((a, b));
    match (released, to.report()) {
        (Some(Report::Done {}), Some(Report::Done {})) => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

/// There and back, again and again, in the middle of a stream of operations.
fn nothing_is_lost_when_a_grant_moves() {
    const OPERATIONS: u64 = 60_000;
    const DEPTH: u64 = 192;
    let workers = [Worker::start(&[]), Worker::start(&[])];
    let mut client = Client::served(&workers[0], grant(1));
    let key = client.import(Algorithm::AesCbc, false, &[7; 16]);
    let data = pattern(256, 1);
    client.arena.write(4096, &data);
    client.arena.write(0, &[9; 16]);
    let mut expected = data;
    let engine = aes::Cbc::new(Features::hardware(), &[7; 16]).unwrap();
    engine.encrypt(&mut [9; 16], InOut::in_place(&mut expected));
    let place = |tag: u64| 8192 + 256 * (tag % 256) as u32;
    let word = |tag| ControlWord {
        opcode: Opcode::Cipher as u8,
        algorithm: Algorithm::AesCbc as u8,
        key,
        source: 4096,
        source_len: 256,
        destination: place(tag),
        iv_len: 16,
        tag,
        ..ControlWord::default()
    };
    // The broker's side needs descriptors only, so the client goes on meanwhile.
    let (keys, _) = pair().unwrap();
    let broker = Client::broker_side(&client, keys);
    let over = AtomicBool::new(false);
    let moves = std::thread::scope(|scope| {
        let mover = scope.spawn(|| {
            let mut moves = 0;
            while !over.load(Ordering::Relaxed) {
                let (from, to) = (&workers[moves % 2], &workers[(moves + 1) % 2]);
                move_grant(&broker, from, to).unwrap();
                moves += 1;
                std::thread::sleep(Duration::from_micros(500));
            }
            moves
        });
        let mut seen = HashSet::new();
        let (mut next, mut done) = (0, 0);
        while done < OPERATIONS {
            while next < OPERATIONS && next - done < DEPTH {
                client.submit(&[word(next)]);
                next += 1;
            }
            // Some by looking, some asleep: both must survive the move.
            let completion =
                if done % 64 == 0 { client.next_asleep(Duration::from_secs(5)) } else { client.next() };
            assert_eq!(completion.status(), Some(Status::Ok));
            assert!(seen.insert(completion.tag), "{} twice", completion.tag);
            assert_eq!(client.read(place(completion.tag) as usize, 256), expected);
            done += 1;
        }
        assert_eq!(seen.len() as u64, OPERATIONS);
        over.store(true, Ordering::Relaxed);
        mover.join().unwrap()
    });
    println!("{moves} moves");
    assert!(moves >= 10, "{moves} moves only");
    let counts = |worker: &Worker| worker.counts().1;
    let here = counts(&workers[moves % 2]);
    assert_eq!((here.len(), here[0].1.operations), (1, OPERATIONS), "what was counted moves along");
    assert!(counts(&workers[(moves + 1) % 2]).is_empty());
}

fn handles_stay_what_they_were() {
    let (a, b) = (Worker::start(&[]), Worker::start(&[]));
    let client = Client::served(&a, grant(3));
    let gone = client.import(Algorithm::AesGcm, true, &[1; 16]);
    let open = client.import(Algorithm::AesGcm, true, &[2; 16]);
    let closed = client.import(Algorithm::Sha256, false, &[3; 64]);
    assert_eq!(client.ask(&KeyRequest::Destroy { handle: gone }), Some(KeyReply::Destroyed {}));
    move_grant(&client, &a, &b).unwrap();
    assert_eq!(client.export(open), [2; 16]);
    assert_eq!(client.refused(&KeyRequest::Export { handle: closed }), KeyRefusal::NotExportable);
    assert_eq!(client.refused(&KeyRequest::Export { handle: gone }), KeyRefusal::NoSuchKey);
    assert_ne!(client.import(Algorithm::AesGcm, true, &[4; 16]), gone, "an old handle does not come back");
    assert_eq!(b.counts().1[0].1.keys, 3);
    assert!(a.counts().1.is_empty());
}

fn a_grant_that_does_not_arrive_is_refused() {
    let worker = Worker::start(&[]);
    let client = Client::new(grant(4));
    let (a, b) = pair().unwrap();
    drop(a);
    let why = worker.refuses(&Order::Adopt { grant: client.grant.clone() }, &client.descriptors(&b));
    assert!(why.contains("too early"), "{why}");
    assert!(worker.refuses(&Order::Release { grant: 4 }, &[]).contains("descriptors"));
    let other = Client::served(&worker, grant(5));
    other.import(Algorithm::AesCbc, false, &[1; 16]);
}
