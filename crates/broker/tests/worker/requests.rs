//! Floods of requests about keys hold up no order, no move and no other client's request.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use millstream_cwq::{Algorithm, ControlWord, Opcode};
use millstream_protocol::{Grant, KeyPurpose, KeyRefusal, KeyReply, KeyRequest, Message, Secret};

use crate::client::{Client, grant};
use crate::moving::move_grant;
use crate::process::Worker;
use crate::test;

pub fn tests() -> Vec<Trial> {
    vec![
        test("a_flood_of_requests_holds_up_nobody_else", a_flood_of_requests_holds_up_nobody_else),
        test("keys_that_take_long_come_at_intervals", keys_that_take_long_come_at_intervals),
    ]
}

/// The number of clients that flood.
const FLOODS: u64 = 40;

/// The bytes of an object that keeps the accelerator's turns long.
const LONG: u32 = 8 << 20;

/// Returns the median of several times.
fn middle(mut what: impl FnMut()) -> Duration {
    let mut times: Vec<_> = (0..15)
        .map(|_| {
            let begin = Instant::now();
            what();
            begin.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// Makes a client whose long objects never end while the test lasts. Each request about a key waits for a
/// turn that one of them takes.
fn long_turns(worker: &Worker, id: u64) -> Client {
    let mut client = Client::served(worker, Grant { arena_bytes: LONG + 4096, ..grant(id) });
    let key = client.import(Algorithm::DesMac, false, b"12345678abcdefghABCDEFGH");
    let word = ControlWord {
        opcode: Opcode::Mac as u8,
        algorithm: Algorithm::DesMac as u8,
        key,
        source: 64,
        source_len: LONG,
        mac_len: 8,
        ..ControlWord::default()
    };
    client.submit(&(0..64).map(|tag| ControlWord { tag, ..word }).collect::<Vec<_>>());
    client
}

fn a_flood_of_requests_holds_up_nobody_else() {
    let (worker, other) = (Worker::start(&[]), Worker::start(&[]));
    let bystander = Client::served(&worker, Grant { key_slots: 2048, ..grant(1) });
    for _ in 0..1000 {
        bystander.import(Algorithm::AesCbc, false, &[7; 16]);
    }
    let _long = long_turns(&worker, 2);
    let floods: Vec<_> = (3..3 + FLOODS).map(|id| Client::served(&worker, grant(id))).collect();
    let request = KeyRequest::Discard { handle: u32::MAX }.encode();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                // This sends as many as the sockets take, and nobody reads the answers.
                for flood in &floods {
                    while flood.keys.try_send(&request, &[]).is_ok() {}
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        std::thread::sleep(Duration::from_millis(50));
        let order = middle(|| drop(worker.counts()));
        let import = middle(|| {
            bystander.import(Algorithm::AesCmac, false, &[1; 16]);
        });
        let begin = Instant::now();
        let moved = move_grant(&bystander, &worker, &other);
        let took = begin.elapsed();
        over.store(true, Ordering::Relaxed);
        println!("an order {order:?}, a key {import:?}, a move of {} keys {took:?}", 1000 + 15);
        moved.unwrap();
        // An order waits for one turn, and a key for one turn of each client. Other tests run beside this one.
        assert!(order < Duration::from_millis(60), "{order:?} for an order");
        assert!(import < Duration::from_millis(300), "{import:?} for a key");
        assert!(took < Duration::from_secs(4), "{took:?} for a move");
    });
    assert_eq!(other.counts().1[0].1.keys, 1015);
}

/// A set of SLH-DSA whose keys take long to expand, and the bytes of such a key.
const SLOW: (Algorithm, u16) = (Algorithm::SlhDsaShake256s, 128);

/// A client that asks for keys on hashes all the time, and brings them or has them made, gets one at intervals. Another client has its turn in between, and other
/// keys come at once.
fn keys_that_take_long_come_at_intervals() {
    let worker = Worker::start(&[]);
    let [greedy, modest, bystander] = [1, 2, 3].map(|id| Client::served(&worker, grant(id)));
    let (algorithm, len, purpose) = (SLOW.0 as u8, SLOW.1, KeyPurpose::default);
    let generate = KeyRequest::Generate { algorithm, exportable: true, purpose: purpose(), len };
    let Some(KeyReply::Key { handle }) = modest.ask(&generate) else { panic!("no key") };
    let bytes = modest.export(handle);
    let import = || KeyRequest::Import {
        algorithm,
        exportable: false,
        purpose: purpose(),
        bytes: Secret::new(&bytes),
    };
    // Whoever asks anew at once is told to wait. Other keys of the same client, and everybody else's, come meanwhile.
    let mut refused = 0;
    for request in [import(), generate, import(), import()] {
        let handle = loop {
            match greedy.ask(&request) {
                Some(KeyReply::Key { handle }) => break handle,
                Some(KeyReply::Refused { why: KeyRefusal::Busy }) => refused += 1,
                other => panic!("{other:?}"),
            }
            for client in [&greedy, &bystander] {
                let handle = client.import(Algorithm::P256, false, &[7; 32]);
                client.ask(&KeyRequest::Destroy { handle });
            }
        };
        assert!(matches!(greedy.ask(&KeyRequest::Destroy { handle }), Some(KeyReply::Destroyed {})));
    }
    assert!(refused >= 2, "{refused} refusals between four keys");
    // The other client asks now and then, as the library does, and is not the one who always comes too late.
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let greedy = scope.spawn(|| {
            let mut had = Vec::new();
            while !over.load(Ordering::Relaxed) {
                if let Some(KeyReply::Key { handle }) = greedy.ask(&import()) {
                    had.push(Instant::now());
                    greedy.ask(&KeyRequest::Destroy { handle });
                }
            }
            had
        });
        let asked = Instant::now();
        while !matches!(modest.ask(&import()), Some(KeyReply::Key { .. })) {
            assert!(asked.elapsed() < Duration::from_secs(10), "the other client has no turn");
            std::thread::sleep(Duration::from_millis(20));
        }
        let had = Instant::now();
        over.store(true, Ordering::Relaxed);
        let before = greedy.join().unwrap().iter().filter(|at| (asked..had).contains(at)).count();
        println!(
            "{refused} refusals; the other client had a key after {:?} and {before} others",
            had - asked
        );
        assert!(before <= 3, "{before} keys came first");
    });
}
