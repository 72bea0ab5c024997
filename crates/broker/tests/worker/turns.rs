//! Whatever one grant has under way, the others have their turns, and a queue that rests is woken.

use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use millstream_cwq::{Algorithm, ControlWord, Opcode, Status};
use millstream_protocol::{Grant, Order};

use crate::client::{Client, grant};
use crate::process::Worker;
use crate::test;

pub fn tests() -> Vec<Trial> {
    vec![
        test("long_objects_leave_others_their_turns", long_objects_leave_others_their_turns),
        test("a_queue_that_rests_is_woken_by_its_client", a_queue_that_rests_is_woken_by_its_client),
    ]
}

/// The bytes of an attacker's objects. With any of these algorithms, one takes many times as long as a turn
/// may last.
const LONG: u32 = 8 << 20;

/// Makes a grant whose queues are full of long objects.
fn attacker(worker: &Worker, id: u64, algorithm: Algorithm, key: &[u8]) -> Client {
    let mut attacker = Client::served(worker, Grant { queues: 3, arena_bytes: 2 * LONG + 4096, ..grant(id) });
    let word = ControlWord { source: 64, source_len: LONG, ..ControlWord::default() };
    let word = match algorithm {
        Algorithm::Sha256 => {
            let hash = algorithm as u8;
            ControlWord { opcode: Opcode::Hash as u8, hash, mac_len: 32, ..word }
        }
        Algorithm::DesMac => {
            let key = attacker.import(algorithm, false, key);
            let algorithm = algorithm as u8;
            ControlWord { opcode: Opcode::Mac as u8, algorithm, key, mac_len: 8, ..word }
        }
        _ => {
            let key = attacker.import(algorithm, false, key);
            let (algorithm, destination) = (algorithm as u8, 128 + LONG);
            ControlWord { opcode: Opcode::Cipher as u8, algorithm, key, iv_len: 8, destination, ..word }
        }
    };
    for queue in 0..3 {
        let words: Vec<_> = (0..16).map(|tag| ControlWord { tag, ..word }).collect();
        attacker.submit_to(queue, &words);
    }
    attacker.doorbell.ring();
    attacker
}

/// Returns the sorted times of so many operations on 64 bytes, done one at a time.
fn times(client: &mut Client, word: ControlWord, count: u64) -> Vec<Duration> {
    let mut times: Vec<_> = (0..count)
        .map(|tag| {
            let begin = Instant::now();
            assert_eq!(client.execute(ControlWord { tag, ..word }), Status::Ok);
            begin.elapsed()
        })
        .collect();
    times.sort_unstable();
    times
}

fn long_objects_leave_others_their_turns() {
    let worker = Worker::start(&[]);
    let mut bystander = Client::served(&worker, grant(1));
    let key = bystander.import(Algorithm::AesEcb, false, &[7; 16]);
    let word = ControlWord {
        opcode: Opcode::Cipher as u8,
        algorithm: Algorithm::AesEcb as u8,
        key,
        source: 64,
        source_len: 64,
        destination: 256,
        ..ControlWord::default()
    };
    times(&mut bystander, word, 100);
    let attacks: [(Algorithm, &[u8]); 3] = [
        (Algorithm::DesMac, b"12345678abcdefghABCDEFGH"),
        (Algorithm::DesCbc, b"12345678abcdefghABCDEFGH"),
        (Algorithm::Sha256, b""),
    ];
    for (id, (algorithm, key)) in (2..).zip(attacks) {
        let attacker = attacker(&worker, id, algorithm, key);
        let begin = Instant::now();
        let times = times(&mut bystander, word, 400);
        let middle = times[200];
        // An object of the attacker takes at least tens of milliseconds, and 48 of them wait. Other tests run
        // beside this one, so the bounds are generous and not the length of a turn.
        assert!(middle < Duration::from_millis(40), "{algorithm:?}: {middle:?} in the middle");
        assert!(times[395] < Duration::from_millis(200), "{algorithm:?}: {:?} at the end", times[395]);
        // The bystander can import keys, and the worker answers at once.
        bystander.import(Algorithm::AesCmac, false, &[1; 16]);
        worker.counts();
        assert!(begin.elapsed() < Duration::from_secs(8), "{algorithm:?}: {:?}", begin.elapsed());
        // The attacker's objects end with its grant.
        worker.obeys(&Order::Drop { grant: attacker.grant.id }, &[]);
    }
    assert_eq!(bystander.execute(word), Status::Ok);
}

fn null() -> ControlWord {
    ControlWord::default()
}

fn a_queue_that_rests_is_woken_by_its_client() {
    let worker = Worker::start(&[]);
    let mut busy = Client::served(&worker, Grant { queues: 2, ..grant(1) });
    let mut other = Client::served(&worker, grant(2));
    for tag in 0..20 {
        // The first client keeps the worker awake while the other's queue goes to sleep.
        let begin = Instant::now();
        let mut done = 0;
        while begin.elapsed() < Duration::from_millis(6) {
            assert_eq!(busy.execute(ControlWord { tag: done, ..null() }), Status::Ok);
            done += 1;
        }
        assert_eq!(other.execute(ControlWord { tag, ..null() }), Status::Ok);
    }
}
