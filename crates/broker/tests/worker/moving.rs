//! A grant moves from one worker to another while its client goes on.

use std::collections::HashSet;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use millstream_cpu::Features;
use millstream_cwq::{Algorithm, ControlWord, Opcode, Status};
use millstream_engines::modes::BlockMode;
use millstream_engines::{InOut, aes};
use millstream_protocol::{
    Grant, HandOver, KeyRefusal, KeyReply, KeyRequest, Message, Order, QueueCounts, Report,
};
use millstream_shm::pair;

use crate::client::{Client, grant};
use crate::lingering;
use crate::process::Worker;
use crate::serve::pattern;
use crate::test;

pub fn tests() -> Vec<Trial> {
    vec![
        test("nothing_is_lost_when_a_grant_moves", nothing_is_lost_when_a_grant_moves),
        test("handles_stay_what_they_were", handles_stay_what_they_were),
        test("a_grant_that_does_not_arrive_is_refused", a_grant_that_does_not_arrive_is_refused),
        test("opposite_moves_do_not_wait_for_each_other", opposite_moves_do_not_wait_for_each_other),
        test("a_move_that_does_not_get_on_holds_up_nobody", a_move_that_does_not_get_on_holds_up_nobody),
        test("only_the_key_socket_comes_along", only_the_key_socket_comes_along),
    ]
}

/// Has one worker hand a grant to another, as a broker does.
pub fn move_grant(client: &Client, from: &Worker, to: &Worker) -> Result<(), String> {
    let (a, b) = pair().unwrap();
    let adopt = adopt(client).encode();
    to.control.send(&adopt, &client.descriptors(&b)).map_err(|error| error.to_string())?;
    let released = from.order(&Order::Release { grant: client.grant.id }, &[a.as_fd()]);
    let moved = Some(Report::Moved { grant: client.grant.id });
    match (released, from.report(), to.report(), to.report()) {
        (Some(Report::Done {}), left, Some(Report::Done {}), arrived)
            if (&left, &arrived) == (&moved, &moved) =>
        {
            Ok(())
        }
        other => Err(format!("{other:?}")),
    }
}

fn adopt(client: &Client) -> Order {
    Order::Adopt { grant: client.grant.clone(), keys: client.key_inode }
}

/// Waits for a worker's report that a move has failed, and returns the reason.
fn does_not_move(worker: &Worker, grant: u64) -> String {
    match worker.report() {
        Some(Report::NotMoved { grant: which, why }) if which == grant => why,
        other => panic!("{other:?}"),
    }
}

/// A grant moves there and back, again and again, in the middle of a stream of operations.
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
            // The client polls for some completions and sleeps until others. Both must survive the move.
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
    worker.obeys(&adopt(&client), &client.descriptors(&b));
    let why = does_not_move(&worker, 4);
    assert!(why.contains("too early"), "{why}");
    assert!(worker.refuses(&Order::Release { grant: 4 }, &[]).contains("descriptors"));
    let other = Client::served(&worker, grant(5));
    other.import(Algorithm::AesCbc, false, &[1; 16]);
}

/// Makes a grant with more keys than fit a socket that nobody reads.
fn with_many_keys(worker: &Worker, id: u64) -> Client {
    let client = Client::served(worker, Grant { key_slots: 2000, ..grant(id) });
    for key in 0..2000_u16 {
        client.import(Algorithm::AesCbc, true, &key.to_le_bytes().repeat(8));
    }
    client
}

fn opposite_moves_do_not_wait_for_each_other() {
    let (a, b) = (Worker::start(&[]), Worker::start(&[]));
    let (one, two) = (with_many_keys(&a, 1), with_many_keys(&b, 2));
    let ((one_from, one_to), (two_from, two_to)) = (pair().unwrap(), pair().unwrap());
    let begin = Instant::now();
    a.obeys(&Order::Release { grant: 1 }, &[one_from.as_fd()]);
    b.obeys(&Order::Release { grant: 2 }, &[two_from.as_fd()]);
    // Neither reads before it is told to, and by then both have more to say than the other has room for.
    let give = |worker: &Worker, client: &Client, from| {
        worker.control.send(&adopt(client).encode(), &client.descriptors(from)).unwrap();
    };
    give(&a, &two, &two_to);
    give(&b, &one, &one_to);
    for worker in [&a, &b] {
        let mut moved = Vec::new();
        while moved.len() < 2 {
            match worker.report() {
                Some(Report::Moved { grant }) => moved.push(grant),
                Some(Report::Done {}) => {}
                other => panic!("{other:?}"),
            }
        }
        moved.sort_unstable();
        assert_eq!(moved, [1, 2]);
    }
    println!("two grants with 2000 keys each changed places in {:?}", begin.elapsed());
    assert_eq!((a.counts().1[0].1.keys, b.counts().1[0].1.keys), (2000, 2000));
    assert_eq!(a.counts().1[0].0, 2);
}

/// The worker that a grant goes to takes nothing, and the one that another grant comes from says nothing.
fn a_move_that_does_not_get_on_holds_up_nobody() {
    let worker = Worker::start(&[]);
    let mut bystander = Client::served(&worker, grant(1));
    let (leaves, arrives) = (with_many_keys(&worker, 2), Client::new(grant(3)));
    let ((to, _deaf), (from, _mute)) = (pair().unwrap(), pair().unwrap());
    worker.obeys(&Order::Release { grant: 2 }, &[to.as_fd()]);
    worker.obeys(&adopt(&arrives), &arrives.descriptors(&from));
    // Orders and requests of others must be answered before either move has ended.
    for tag in 0..30 {
        bystander.import(Algorithm::AesCbc, false, &[1; 16]);
        assert_eq!(bystander.execute(ControlWord { tag, ..ControlWord::default() }), Status::Ok);
        if tag % 10 == 0 {
            worker.counts();
            let guest = Client::served(&worker, grant(100 + tag));
            worker.obeys(&Order::Drop { grant: guest.grant.id }, &[]);
        }
    }
    let mut given_up = HashSet::new();
    for _ in 0..2 {
        match worker.report() {
            Some(Report::NotMoved { grant, why }) => {
                assert!(why.contains("does not listen"), "{why}");
                given_up.insert(grant);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(given_up, HashSet::from([2, 3]));
    assert_eq!(bystander.execute(ControlWord::default()), Status::Ok);
    drop(leaves);
}

/// Another worker can neither keep nor be held up by descriptors that a compromised worker sends along.
fn only_the_key_socket_comes_along() {
    let worker = Worker::start(&[]);
    let mut bystander = Client::served(&worker, grant(1));
    let queue = HandOver::Queue { taken: 0, posted: 0, counts: QueueCounts::default() }.encode();
    let end = HandOver::End {}.encode();
    let (other, _its_peer) = pair().unwrap();
    let mut deaf = Vec::new();
    let begin = Instant::now();
    for id in 2..7 {
        let mut client = Client::new(grant(id));
        let own = client.worker_keys.take().unwrap();
        let (a, b) = pair().unwrap();
        worker.obeys(&adopt(&client), &client.descriptors(&b));
        if id == 2 {
            // Descriptors that are not expected are not even received.
            deaf.push(lingering::send(&a, &queue).unwrap());
        } else {
            a.send(&queue, &[]).unwrap();
        }
        match id {
            2 => {}
            3 => deaf.push(lingering::send(&a, &end).unwrap()),
            4 => a.send(&end, &[other.as_fd()]).unwrap(),
            5 => a.send(&end, &[own.as_fd(), own.as_fd()]).unwrap(),
            _ => a.send(&end, &[own.as_fd()]).unwrap(),
        }
        match id {
            2 => assert!(does_not_move(&worker, id).contains("descriptors")),
            3..6 => assert!(does_not_move(&worker, id).contains("not the key socket")),
            _ => {
                assert_eq!(worker.report(), Some(Report::Moved { grant: id }));
                drop(own);
                client.import(Algorithm::AesCbc, false, &[1; 16]);
            }
        }
        assert_eq!(bystander.execute(ControlWord { tag: id, ..ControlWord::default() }), Status::Ok);
        bystander.import(Algorithm::AesCbc, false, &[1; 16]);
        // This process holds it in the broker's place, and must not be the one that waits for its close.
        std::mem::forget(b);
    }
    assert!(begin.elapsed() < lingering::PROMPT, "{:?}", begin.elapsed());
}
