//! Clients and brokers that do what they should not.

use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use millstream_cwq::{Algorithm, ControlWord, Status};
use millstream_protocol::{Grant, KeyPurpose, KeyRequest, KeyRules, Message, Order, Report, Secret};
use millstream_shm::{Memory, pair};

use crate::client::{Client, grant};
use crate::lingering;
use crate::process::Worker;
use crate::test;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "who_takes_no_answers_loses_its_key_socket_only",
            who_takes_no_answers_loses_its_key_socket_only,
        ),
        test("descriptors_with_requests_are_refused", descriptors_with_requests_are_refused),
        test("descriptors_with_requests_hold_up_nobody", descriptors_with_requests_hold_up_nobody),
        test("an_idle_worker_uses_no_time", an_idle_worker_uses_no_time),
        test(
            "who_takes_no_completions_does_not_make_it_spin",
            who_takes_no_completions_does_not_make_it_spin,
        ),
        test("impossible_indices_harm_their_own_grant_only", impossible_indices_harm_their_own_grant_only),
        test("orders_that_cannot_be_obeyed_are_refused", orders_that_cannot_be_obeyed_are_refused),
        test("memory_is_checked_against_the_grant", memory_is_checked_against_the_grant),
        test("a_dropped_grant_is_served_no_more", a_dropped_grant_is_served_no_more),
    ]
}

fn null(tag: u64) -> ControlWord {
    ControlWord { tag, ..ControlWord::default() }
}

fn who_takes_no_answers_loses_its_key_socket_only() {
    let worker = Worker::start(&[]);
    let mut flood = Client::served(&worker, grant(1));
    let other = Client::served(&worker, grant(2));
    let request = KeyRequest::Import {
        algorithm: Algorithm::AesCbc as u8,
        exportable: false,
        purpose: KeyPurpose::default(),
        bytes: Secret::new(&[1; 16]),
    };
    let bytes = request.encode();
    let mut sent = 0;
    while flood.keys.send(&bytes, &[]).is_ok() {
        sent += 1;
        assert!(sent < 1_000_000, "its socket is never given up");
        if sent % 64 == 0 {
            assert_eq!(
                other.export(other.import(Algorithm::AesGcm, true, &[sent as u8; 16])),
                [sent as u8; 16]
            );
            let handle = other.import(Algorithm::AesGcm, false, &[1; 16]);
            let _ = other.ask(&KeyRequest::Destroy { handle });
            if sent > 64 * 20 {
                continue;
            }
        }
    }
    assert_eq!(flood.execute(null(1)), Status::Ok, "its operations go on");
}

/// When the kernel refuses descriptors, their sender goes on without them.
fn descriptors_with_requests_are_refused() {
    if !lingering::kernel_can_refuse() {
        println!("SKIPPED descriptors_with_requests_are_refused: the kernel is older than 6.16");
        return;
    }
    let worker = Worker::start(&[]);
    let mut client = Client::new(grant(1));
    let keys = client.worker_keys.take().unwrap();
    keys.refuse_descriptors().unwrap();
    worker.obeys(&Order::Serve { grant: client.grant.clone() }, &client.descriptors(&keys));
    let request = KeyRequest::Export { handle: 0 }.encode();
    assert!(client.keys.send(&request, &[client.arena_memory.as_fd()]).is_err());
    client.import(Algorithm::AesCbc, false, &[1; 16]);
}

/// On older kernels their sender loses its key socket, and nothing of it is opened or closed in the worker.
fn descriptors_with_requests_hold_up_nobody() {
    let worker = Worker::start(&[]);
    let other = Client::served(&worker, grant(2));
    let open = || {
        let process = worker.described("descriptors_with_requests_hold_up_nobody")?;
        Some(std::fs::read_dir(format!("{process}/fd")).unwrap().count())
    };
    let before = open();
    let request = KeyRequest::Export { handle: 0 }.encode();
    let (mut held, mut deaf) = (Vec::new(), Vec::new());
    let begin = Instant::now();
    for round in 0..4 {
        let mut client = Client::new(grant(10 + round));
        let keys = client.worker_keys.take().unwrap();
        worker.obeys(&Order::Serve { grant: client.grant.clone() }, &client.descriptors(&keys));
        // The broker keeps the end, too.
        held.push(keys);
        worker.stopped(|| {
            for _ in 0..8 {
                client.keys.send(&request, &[]).unwrap();
            }
            deaf.push(lingering::send(&client.keys, &request).unwrap());
        });
        other.export(other.import(Algorithm::AesGcm, true, &[1; 16]));
        assert!(client.keys.is_closed() || client.keys.wait(Some(lingering::PROMPT)).unwrap());
        worker.obeys(&Order::Drop { grant: client.grant.id }, &[]);
    }
    assert!(begin.elapsed() < lingering::PROMPT, "{:?}", begin.elapsed());
    assert_eq!(open(), before);
}

fn an_idle_worker_uses_no_time() {
    let worker = Worker::start(&[]);
    let mut client = Client::served(&worker, grant(1));
    assert_eq!(client.execute(null(1)), Status::Ok);
    client.await_sleep();
    let switches = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", worker.child.id())).unwrap();
        let of = |text: String| {
            text.lines()
                .filter(|line| line.contains("ctxt_switches"))
                .map(|line| line.rsplit('\t').next().unwrap().parse::<u64>().unwrap())
                .sum::<u64>()
        };
        tasks
            .map(|task| of(std::fs::read_to_string(task.unwrap().path().join("status")).unwrap()))
            .sum::<u64>()
    };
    let (time, before) = (worker.cpu_time(), switches());
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!((worker.cpu_time(), switches()), (time, before), "not once awake in half a second");
}

fn who_takes_no_completions_does_not_make_it_spin() {
    let worker = Worker::start(&[]);
    let mut lazy = Client::served(&worker, grant(1));
    let mut other = Client::served(&worker, grant(2));
    // There is room for 512 completions, and nobody takes them.
    let mut tag = 0;
    while tag < 512 + 256 {
        let queue = &mut lazy.queues[0].submissions;
        if queue.push(&null(tag).to_words()).is_ok() {
            tag += 1;
        }
        queue.publish();
        if queue.must_wake() {
            lazy.doorbell.ring();
        }
    }
    std::thread::sleep(Duration::from_millis(200));
    let (time, slept) = (worker.cpu_time(), worker.counts().0);
    std::thread::sleep(Duration::from_secs(1));
    let used = worker.cpu_time() - time;
    assert!(used <= Duration::from_millis(30), "{used:?} of a second");
    assert!(worker.counts().0 - slept <= 60, "it looks at most every 50 ms");
    // The other client is woken as usual.
    let mut times = Vec::new();
    for tag in 0..20 {
        std::thread::sleep(Duration::from_millis(3));
        let begin = Instant::now();
        assert_eq!(other.execute(null(tag)), Status::Ok);
        times.push(begin.elapsed());
    }
    times.sort_unstable();
    assert!(times[10] < Duration::from_millis(20), "{times:?} while another is blocked");
    // No completion of the lazy one is lost.
    for tag in 0..512 + 256 {
        assert_eq!(lazy.next().tag, tag);
    }
}

fn impossible_indices_harm_their_own_grant_only() {
    let worker = Worker::start(&[]);
    let mut other = Client::served(&worker, grant(2));
    let hostile: Vec<_> = [0, 8]
        .into_iter()
        .enumerate()
        .map(|(number, at)| {
            let client = Client::served(&worker, grant(10 + number as u64));
            let ring = if at == 0 {
                client.queues[0].submissions.memory()
            } else {
                client.queues[0].completions.memory()
            };
            ring[at].store(u64::MAX / 3, Ordering::SeqCst);
            client.doorbell.ring();
            client
        })
        .collect();
    for tag in 0..1000 {
        assert_eq!(other.execute(null(tag)), Status::Ok);
    }
    for client in hostile {
        worker.obeys(&Order::Drop { grant: client.grant.id }, &[]);
    }
}

fn orders_that_cannot_be_obeyed_are_refused() {
    let worker = Worker::start(&[]);
    let client = Client::served(&worker, grant(1));
    let (socket, _other) = pair().unwrap();
    let again = worker.refuses(&Order::Serve { grant: grant(1) }, &client.descriptors(&socket));
    assert!(again.contains("served here already"), "{again}");
    for order in [
        Order::Drop { grant: 9 },
        Order::Limit { grant: 9, weight: 1, algorithms: 0, keys: KeyRules::default() },
    ] {
        assert!(worker.refuses(&order, &[]).contains("grant 9 is not served here"));
    }
    assert!(worker.refuses(&Order::Release { grant: 9 }, &[socket.as_fd()]).contains("not served"));
    assert!(worker.refuses(&Order::Serve { grant: grant(2) }, &[]).contains("0 descriptors"));
    worker.control.send(b"nonsense", &[]).unwrap();
    assert!(matches!(worker.report(), Some(Report::Failed { .. })));
    for bad in [
        Grant { queues: 0, ..grant(3) },
        Grant { queues: 100_000, ..grant(3) },
        Grant { depth: 3, ..grant(3) },
        Grant { arena_bytes: 0, ..grant(3) },
        Grant { key_slots: 1 << 17, ..grant(3) },
    ] {
        let why = worker.refuses(&Order::Serve { grant: bad }, &client.descriptors(&socket));
        assert!(why.contains("none that can be served"), "{why}");
    }
    client.import(Algorithm::AesCbc, false, &[1; 16]);
}

fn memory_is_checked_against_the_grant() {
    let worker = Worker::start(&[]);
    let client = Client::new(grant(1));
    let (socket, _other) = pair().unwrap();
    let small = Memory::new("small", 4096 - 64).unwrap();
    for (place, what) in [(0, "arena"), (1, "rings"), (2, "state page")] {
        let mut descriptors = client.descriptors(&socket);
        descriptors[place] = small.as_fd();
        let why = worker.refuses(&Order::Serve { grant: grant(1) }, &descriptors);
        assert!(why.contains(what) && why.contains("bytes"), "{why}");
        // Memory that could be cut off while the worker uses it is not mapped.
        descriptors[place] = socket.as_fd();
        let why = worker.refuses(&Order::Serve { grant: grant(1) }, &descriptors);
        assert!(why.contains(what), "{why}");
    }
    let mut descriptors = client.descriptors(&socket);
    descriptors[3] = client.arena_memory.as_fd();
    let why = worker.refuses(&Order::Serve { grant: grant(1) }, &descriptors);
    assert!(why.contains("doorbell"), "{why}");
    assert!(worker.counts().1.is_empty(), "nothing is left of it");
    worker.obeys(&Order::Serve { grant: grant(1) }, &client.descriptors(&socket));
}

fn a_dropped_grant_is_served_no_more() {
    let worker = Worker::start(&[]);
    let mut client = Client::served(&worker, grant(1));
    assert_eq!(client.execute(null(1)), Status::Ok);
    worker.control.send(&Order::Drop { grant: 1 }.encode(), &[]).unwrap();
    let Some(Report::Counts { grant: 1, counts }) = worker.report() else { panic!("no last counts") };
    assert_eq!((counts.operations, worker.report()), (1, Some(Report::Done {})));
    assert!(client.keys.is_closed());
    client.submit(&[null(2)]);
    client.doorbell.ring();
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(client.queues[0].completions.ready(), Ok(0));
    let Some(process) = worker.described("a_dropped_grant_is_served_no_more") else { return };
    let maps = std::fs::read_to_string(format!("{process}/maps")).unwrap();
    assert!(!maps.contains("memfd:arena") && !maps.contains("memfd:rings"), "{maps}");
}
