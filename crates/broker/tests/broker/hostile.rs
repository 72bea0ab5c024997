//! Clients that talk nonsense, too much, or too little.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use millstream_protocol::{Message, Refusal, Reply, Request, VERSION, Wanted};
use rustix::net::{SendFlags, send};

use crate::client::Client;
use crate::system::{LIMIT, Service, is_root};

pub const TRIALS: &[(&str, fn())] = &[
    ("another version is told so", version),
    ("nonsense ends the connection", nonsense),
    ("a flood of requests holds up nobody", flood),
    ("workers do not count again and again", surveys),
    ("a client that does not read holds up nobody", deaf),
    ("connections that ask for nothing are limited", crowd),
    ("a client that leaves at any moment leaves nothing", leaves),
];

fn refused(client: &Client) -> (Refusal, String) {
    match client.next() {
        Some((Reply::Refused { why, detail }, _)) => (why, detail),
        other => panic!("{other:?}"),
    }
}

fn version() {
    let service = Service::new();
    let client = service.client();
    let mut bytes = Request::Status {}.encode().to_vec();
    bytes[..2].copy_from_slice(&(VERSION + 1).to_le_bytes());
    client.0.send(&bytes, &[]).unwrap();
    let (why, detail) = refused(&client);
    assert_eq!(why, Refusal::Message);
    assert!(detail.contains("version"), "{detail}");
    client.attach();
}

fn nonsense() {
    let service = Service::new();
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    for len in (1..600).step_by(7).chain([4096]) {
        let client = service.client();
        let bytes: Vec<u8> = (0..len)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (seed >> 56) as u8
            })
            .collect();
        client.0.send(&[&VERSION.to_le_bytes()[..], &[9, 0], &bytes[..len.min(4000)]].concat(), &[]).unwrap();
        assert_eq!(refused(&client).0, Refusal::Message);
        assert!(client.next().is_none(), "the end of the connection");
    }
    let client = service.client();
    send(&client.0, &[0; 100_000], SendFlags::empty()).unwrap();
    assert_eq!(refused(&client).0, Refusal::Message);
    assert!(client.next().is_none());
    service.client().attach();
    if !is_root() {
        println!("SKIPPED descriptors of strangers: only root can count the broker's");
        return;
    }
    // Descriptors that nobody asked for must not even be opened.
    let client = service.client();
    client.status();
    let count = || std::fs::read_dir(format!("/proc/{}/fd", service.child.id())).unwrap().count();
    // The descriptors of the grant before are closed when its memory was given back.
    let before = crate::system::eventually("the broker is at rest", || {
        let found = count();
        std::thread::sleep(std::time::Duration::from_millis(100));
        (found == count()).then_some(found)
    });
    let (ours, theirs) = millstream_shm::pair().unwrap();
    let with = [theirs.as_fd(); 8];
    let sent = client.0.send(&Request::Status {}.encode(), &with);
    assert_eq!(sent.is_err(), crate::lingering::kernel_can_refuse(), "{sent:?}");
    client.0.try_send(&Request::Status {}.encode(), &[]).unwrap();
    assert!(client.next().is_some());
    assert_eq!(count(), before);
    drop(theirs);
    assert!(ours.is_closed());
}

fn flood() {
    let service = Service::new();
    let begin = Instant::now();
    let stop = Duration::from_secs(2);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let client = service.client();
                while begin.elapsed() < stop {
                    // Neither side blocks the other: when the socket is full this one reads.
                    match client.0.try_send(&Request::Status {}.encode(), &[]) {
                        Ok(()) => {}
                        Err(_) => while client.0.try_receive().is_ok() {},
                    }
                }
            });
        }
        std::thread::sleep(Duration::from_millis(100));
        let mut worst = Duration::ZERO;
        while begin.elapsed() < stop {
            let one = Instant::now();
            service.client().attach();
            worst = worst.max(one.elapsed());
        }
        println!("the slowest grant beside a flood: {worst:?}");
        assert!(worst < Duration::from_secs(5));
    });
}

fn surveys() {
    const ROUNDS: u32 = 20;
    let service = Service::new();
    let clients = [service.client(), service.client()];
    let _granted = clients.each_ref().map(Client::attach);
    clients[0].status();
    let begin = Instant::now();
    for _ in 0..ROUNDS {
        clients[0].status();
    }
    // Surveys are 20 ms apart, whoever asks.
    let taken = begin.elapsed();
    assert!(taken >= Duration::from_millis(20) * ROUNDS, "{ROUNDS} answers in {taken:?}");
    // Clients that ask meanwhile are told the result of the next survey.
    for _ in 0..ROUNDS {
        clients.iter().for_each(|client| client.send(&Request::Status {}));
        for client in &clients {
            while !matches!(client.next().expect("an answer").0, Reply::End {}) {}
        }
    }
}

fn deaf() {
    let service = Service::new();
    let clients: Vec<_> = (0..40).map(|_| service.client()).collect();
    let _granted: Vec<_> = clients.iter().map(Client::attach).collect();
    let deaf = service.client();
    let mut sent = 0;
    // This sends until nothing more is taken: the broker reads no more requests while its answers are not read.
    while deaf.0.try_send(&Request::Status {}.encode(), &[]).is_ok() {
        sent += 1;
        assert!(sent < 100_000, "everything is taken");
        if sent % 50 == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    service.client().attach();
    // After that, all requests are answered.
    let mut ends = 0;
    while ends < sent {
        if let (Reply::End {}, _) = deaf.next().unwrap() {
            ends += 1;
        }
    }
    service.client().attach();
}

fn crowd() {
    let service = Service::new();
    let crowd: Vec<_> = (0..64).map(|_| service.client()).collect();
    let more = service.client();
    let (why, detail) = refused(&more);
    assert_eq!(why, Refusal::Exhausted);
    assert!(detail.contains("connections"), "{detail}");
    let granted = crowd[0].attach();
    assert_eq!(granted.state(), 0);
    service.client().attach();
}

fn leaves() {
    let service = Service::new();
    let begin = Instant::now();
    for i in 0..300 {
        let client = service.client();
        if i % 3 > 0 {
            client.send(&Request::Attach { wanted: Wanted::default() });
        }
        if i % 3 > 1 {
            std::thread::sleep(Duration::from_micros(100 * (i % 10)));
        }
    }
    let watcher = service.client();
    crate::system::eventually("nothing is left", || {
        let (workers, grants) = watcher.status();
        (grants.is_empty() && workers[0].sleeps == 0).then_some(())
    });
    assert!(begin.elapsed() < LIMIT);
}
