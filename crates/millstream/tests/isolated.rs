//! Grants of a service: how they are had, what their end means, and what goes wrong.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use millstream::cwq::{Algorithm, Status};
use millstream::hash::{Hash, HashKernel};
use millstream::isolated::{
    Accelerator, Attach, AttachError, Exportable, Fallback, GrantState, KeyRefusal, Service, ServiceRefusal,
    fallbacks,
};
use millstream::queue::{Buffer, Done, Queue, Refusal, Request, SharedQueue};
use millstream::{Error, InOut, aes};
use millstream_double::{Double, Manner};

fn filled(queue: &Queue, bytes: &[u8]) -> Buffer {
    let mut buffer = queue.buffer(bytes.len()).unwrap();
    buffer.copy_from_slice(bytes);
    buffer
}

fn copy(queue: &mut Queue, byte: u8) {
    let (source, destination) = (filled(queue, &[byte; 300]), queue.buffer(300).unwrap());
    queue.submit(Request::copy(source, destination)).unwrap();
}

/// A queue with one operation that ended and ten that have not begun.
fn busy(double: &Double) -> (Accelerator, Queue) {
    let accelerator = double.attach();
    let mut queue = accelerator.queue().unwrap();
    copy(&mut queue, 100);
    assert_eq!(queue.wait().unwrap().result, Ok(()));
    let orders = double.last().orders.clone();
    orders.stall(true);
    for i in 0..10 {
        copy(&mut queue, i);
    }
    (accelerator, queue)
}

/// All ten end with a status and come back with their input.
fn check_end(ended: &[Done], status: Status) {
    assert_eq!(ended.len(), 10);
    for done in ended {
        assert_eq!(done.result, Err(status));
        let source = done.buffers.source.as_ref().unwrap();
        assert!(source.len() == 300 && source.iter().all(|b| *b == source[0]), "the input is intact");
        assert_eq!(done.buffers.destination.as_ref().unwrap().len(), 300);
    }
    let mut inputs: Vec<u8> = ended.iter().map(|done| done.buffers.source.as_ref().unwrap()[0]).collect();
    inputs.sort_unstable();
    assert_eq!(inputs, (0..10).collect::<Vec<_>>());
}

fn check_refused(accelerator: &Accelerator, queue: &mut Queue, why: Refusal) {
    assert_eq!(queue.submit(Request::null()).unwrap_err().why, why);
    assert_eq!(queue.buffer(1).unwrap_err(), why);
    assert_eq!(queue.import_key(Algorithm::AesCbc, &[0; 16]), Err(Error::Queue(why)));
    assert_eq!(accelerator.queue().unwrap_err(), Error::Queue(why));
    assert!(why.to_string().contains("attach again") && why.to_string().contains("import the keys again"));
}

#[test]
fn a_revoked_grant_ends_what_is_in_flight() {
    let double = Double::start();
    let (accelerator, mut queue) = busy(&double);
    assert_eq!(accelerator.state(), GrantState::Live);
    double.last().revoke();
    let ended: Vec<Done> = std::iter::from_fn(|| queue.wait()).collect();
    check_end(&ended, Status::Revoked);
    assert_eq!(accelerator.state(), GrantState::Revoked);
    check_refused(&accelerator, &mut queue, Refusal::Revoked);
    // Anew, and the first one's buffers are still what they were.
    let again = double.attach();
    let mut queue = again.queue().unwrap();
    copy(&mut queue, 9);
    assert_eq!(queue.wait().unwrap().result, Ok(()));
    check_end(&ended, Status::Revoked);
}

#[test]
fn polling_alone_notices_every_end() {
    type End = fn(&millstream_double::Served);
    for (end, status) in [
        (millstream_double::Served::revoke as End, Status::Revoked),
        (millstream_double::Served::kill_worker, Status::Gone),
        (millstream_double::Served::kill_broker, Status::Gone),
    ] {
        let double = Double::start();
        let (_accelerator, mut queue) = busy(&double);
        end(&double.last());
        let (mut ended, until) = (Vec::new(), Instant::now() + Duration::from_secs(20));
        while queue.in_flight() > 0 && Instant::now() < until {
            ended.extend(queue.poll());
        }
        check_end(&ended, status);
    }
}

#[test]
fn a_dead_worker_and_a_dead_broker_end_what_is_in_flight() {
    let double = Double::start();
    let (accelerator, mut queue) = busy(&double);
    double.last().kill_worker();
    check_end(&std::iter::from_fn(|| queue.wait()).collect::<Vec<_>>(), Status::Gone);
    check_refused(&accelerator, &mut queue, Refusal::Gone);

    let (accelerator, mut queue) = busy(&double);
    double.last().kill_broker();
    check_end(&std::iter::from_fn(|| queue.wait()).collect::<Vec<_>>(), Status::Gone);
    assert_eq!(accelerator.state(), GrantState::Gone);
    check_refused(&accelerator, &mut queue, Refusal::Gone);
}

#[test]
fn what_completed_before_the_end_is_kept() {
    let double = Double::start();
    let accelerator = double.attach();
    let mut queue = accelerator.queue().unwrap();
    for i in 0..10 {
        queue.submit(Request::digest(Hash::Sha256, filled(&queue, &[i; 999]))).unwrap();
    }
    // The first is waited for, so the worker is awake and does the others too.
    let first = queue.wait().unwrap();
    while double.last().orders.taken.load(Ordering::Relaxed) < 10 {
        std::thread::yield_now();
    }
    double.last().kill_broker();
    let ended: Vec<Done> = std::iter::once(first).chain(std::iter::from_fn(|| queue.wait())).collect();
    assert_eq!(ended.len(), 10);
    for done in ended {
        let digest = HashKernel::best(millstream::features().unwrap(), Hash::Sha256)
            .digest(done.buffers.source.as_ref().unwrap());
        assert_eq!((done.result, done.tag()), (Ok(()), &*digest));
    }
}

/// A worker that is stopped, and not dead, could go on writing: what it may write to is not given back.
#[test]
fn outputs_stay_with_a_worker_that_does_not_let_go() {
    let double = Double::start();
    let (_accelerator, mut queue) = busy(&double);
    let served = double.last();
    served.orders.hold.store(true, Ordering::Release);
    let began = Instant::now();
    served.revoke();
    let ended: Vec<Done> = std::iter::from_fn(|| queue.wait()).collect();
    assert_eq!(ended.len(), 10);
    for done in &ended {
        assert_eq!(done.result, Err(Status::Revoked));
        assert_eq!(done.buffers.source.as_ref().unwrap().len(), 300);
        assert!(done.buffers.destination.is_none());
    }
    assert!(began.elapsed() >= Duration::from_millis(900), "it had a second for it");
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_queue_dropped_in_flight_leaves_nothing_to_be_overwritten() {
    let double = Double::start();
    let accelerator = double.wanted().attach().unwrap();
    let two = Attach { queues: 2, ..double.wanted() }.attach().unwrap();
    let (mut first, second) = (two.queue().unwrap(), two.queue().unwrap());
    let orders = double.last().orders.clone();
    orders.stall(true);
    let (source, destination) = (first.buffer(300_000).unwrap(), first.buffer(300_000).unwrap());
    first.submit(Request::copy(source, destination)).unwrap();
    let began = Instant::now();
    drop(first);
    assert!(began.elapsed() < Duration::from_secs(10), "the wait is bounded");
    assert!(second.buffer(300_000).is_err(), "both spans are the worker's still");
    assert!(matches!(two.queue(), Err(Error::QueuesTaken)), "and so are the rings");
    // With a worker that works, a queue comes back whole.
    orders.stall(false);
    let mut queue = accelerator.queue().unwrap();
    for round in 0..40 {
        for i in 0..round % 16 {
            copy(&mut queue, i);
        }
        drop(queue);
        queue = accelerator.queue().expect("it came back");
        assert!(queue.buffer(1_000_000).is_ok(), "with every buffer");
        copy(&mut queue, 3);
        let done = queue.wait().unwrap();
        assert_eq!(done.buffers.destination.unwrap()[..], [3; 300]);
        assert_eq!(queue.in_flight(), 0);
    }
}

#[test]
fn queues_of_a_grant_share_keys_and_arena() {
    let double = Double::start();
    let accelerator = Attach { queues: 3, ..double.wanted() }.attach().unwrap();
    let key = accelerator.import_key(Algorithm::AesCtr, &[5; 16], Exportable::No).unwrap();
    let mut queues: Vec<Queue> = (0..3).map(|_| accelerator.queue().unwrap()).collect();
    assert_eq!(accelerator.queue().unwrap_err(), Error::QueuesTaken);
    let ctr = aes::Ctr::new(millstream::features().unwrap(), &[5; 16]).unwrap();
    let mut wanted = [7; 100];
    ctr.apply(&[1; 16], InOut::in_place(&mut wanted));
    for i in 0..3 {
        // A buffer of another queue of the same grant is as good.
        let source = filled(&queues[(i + 1) % 3], &[7; 100]);
        let destination = queues[i].buffer(100).unwrap();
        queues[i].submit(Request::encrypt(key, &[1; 16], source, destination)).unwrap();
    }
    for queue in &mut queues {
        let done = queue.wait().unwrap();
        assert_eq!(done.buffers.destination.unwrap()[..], wanted);
    }
    // A buffer of another grant is refused.
    let other = double.attach();
    let mut queue = other.queue().unwrap();
    let foreign = queue.submit(Request::digest(Hash::Sha1, queues[0].buffer(4).unwrap())).unwrap_err();
    assert_eq!(foreign.why, Refusal::ForeignBuffer);
    let info = accelerator.grant();
    assert_eq!((info.queues, info.depth, info.key_slots), (3, 16, 8));
    assert!(accelerator.is_isolated() && accelerator.socket() == Some(double.path()));
}

#[test]
fn keys_come_back_only_if_they_may() {
    let double = Double::start();
    let accelerator = double.attach();
    let open = accelerator.import_key(Algorithm::AesGcm, &[8; 32], Exportable::Yes).unwrap();
    let closed = accelerator.import_key(Algorithm::AesGcm, &[9; 32], Exportable::No).unwrap();
    let made = accelerator.generate_key(Algorithm::Sha256, 40, Exportable::Yes).unwrap();
    assert_eq!(**accelerator.export_key(open).unwrap(), [8; 32]);
    assert_eq!(accelerator.export_key(closed).unwrap_err(), Error::Key(KeyRefusal::NotExportable));
    assert_eq!(accelerator.export_key(made).unwrap().len(), 40);
    accelerator.destroy_key(open).unwrap();
    assert_eq!(accelerator.destroy_key(open).unwrap_err(), Error::Key(KeyRefusal::NoSuchKey));
    let long = accelerator.import_key(Algorithm::Sha256, &[0; 6000], Exportable::No).unwrap_err();
    assert_eq!(long, Error::Key(KeyRefusal::KeyLength));
    let none = accelerator.import_key(Algorithm::Crc32, &[0; 4], Exportable::No).unwrap_err();
    assert!(none.to_string().contains("key"), "{none}");
}

#[test]
fn a_late_answer_about_a_key_is_not_taken_for_another() {
    let double = Double::start();
    let accelerator = Attach { limit: Duration::from_millis(300), ..double.wanted() }.attach().unwrap();
    let orders = double.last().orders.clone();
    let first = accelerator.import_key(Algorithm::AesGcm, &[1; 32], Exportable::Yes).unwrap();
    orders.deafen(true);
    let late = accelerator.import_key(Algorithm::AesGcm, &[2; 32], Exportable::Yes).unwrap_err();
    assert_eq!(late, Error::NoAnswer(Duration::from_millis(300)));
    assert!(late.to_string().contains("did not answer within 300ms"), "{late}");
    orders.deafen(false);
    assert_eq!(**accelerator.export_key(first).unwrap(), [1; 32]);
    let third = accelerator.import_key(Algorithm::AesGcm, &[3; 32], Exportable::Yes).unwrap();
    assert_eq!(**accelerator.export_key(third).unwrap(), [3; 32]);
}

/// To drop a key waits for nobody: a worker that is stopped hears of it when it goes on.
#[test]
fn keys_are_discarded_without_waiting() {
    let double = Double::start();
    let limit = Duration::from_secs(20);
    let accelerator = Attach { limit, key_slots: 600, ..double.wanted() }.attach().unwrap();
    let orders = double.last().orders.clone();
    let import = || accelerator.import_key(Algorithm::AesGcm, &[1; 32], Exportable::Yes);
    let keys: Vec<_> = (0..600).map(|_| import().unwrap()).collect();
    assert_eq!(import().unwrap_err(), Error::KeySlots);
    orders.deafen(true);
    let began = std::time::Instant::now();
    keys[1..].iter().for_each(|key| accelerator.discard_key(*key));
    assert!(began.elapsed() < limit / 2, "{:?}", began.elapsed());
    orders.deafen(false);
    assert_eq!(**accelerator.export_key(keys[0]).unwrap(), [1; 32]);
    // All places are free, and the answer to the last request is told from those before.
    let again: Vec<_> = (1..600).map(|_| import().unwrap()).collect();
    assert_eq!(**accelerator.export_key(again[7]).unwrap(), [1; 32]);
    assert!(keys[1..].iter().all(|key| accelerator.export_key(*key).is_err()));
}

#[test]
fn no_service_is_a_clear_error_and_a_fall_back_is_counted() {
    let path = std::env::temp_dir().join("millstream-nobody.sock");
    let nobody = Attach { socket: Some(path.clone()), ..Attach::default() };
    let error = nobody.attach().unwrap_err();
    assert!(matches!(&error, AttachError::NoService { path: named, .. } if *named == path));
    let text = error.to_string();
    assert!(text.contains("millstream-nobody.sock") && text.contains("millstream serve"), "{text}");
    assert!(text.contains("MILLSTREAM_SOCKET"), "{text}");

    let before = fallbacks();
    let allowed = Attach { fallback: Fallback::InProcess, queues: 2, ..nobody };
    let accelerator = allowed.attach().unwrap();
    assert_eq!(fallbacks(), before + 1);
    assert!(!accelerator.is_isolated() && accelerator.socket().is_none());
    assert_eq!((accelerator.grant().id, accelerator.state()), (0, GrantState::Live));
    let key = accelerator.generate_key(Algorithm::Sha256, 32, Exportable::Yes).unwrap();
    let bytes = accelerator.export_key(key).unwrap();
    let wanted = millstream::hmac::HmacKey::new(millstream::features().unwrap(), Hash::Sha256, &bytes);
    for mut queue in [accelerator.queue().unwrap(), accelerator.queue().unwrap()] {
        queue.submit(Request::mac(key, filled(&queue, b"message"))).unwrap();
        assert_eq!(queue.wait().unwrap().tag(), &*wanted.sign(b"message"));
    }
    assert_eq!(accelerator.queue().unwrap_err(), Error::QueuesTaken);
    accelerator.destroy_key(key).unwrap();
    assert!(accelerator.export_key(key).is_err() && accelerator.destroy_key(key).is_err());
}

#[test]
fn a_refusal_is_an_answer_and_says_what_to_do() {
    let double = Double::start();
    *double.manner.lock().unwrap() = Manner::Refuse(ServiceRefusal::TooMuch, "at most 4 queues");
    // Leave to fall back is not leave to compute around a refusal: none of these is an absence.
    let wanted = Attach { fallback: Fallback::InProcess, ..double.wanted() };
    let error = wanted.attach().unwrap_err();
    assert!(matches!(error, AttachError::Refused { why: ServiceRefusal::TooMuch, .. }));
    let text = error.to_string();
    assert!(text.contains("at most 4 queues") && text.contains("ask for less"), "{text}");

    *double.manner.lock().unwrap() = Manner::Silent;
    let (began, limit) = (Instant::now(), Duration::from_millis(100));
    let error = Attach { limit, ..wanted.clone() }.attach().unwrap_err();
    assert!(matches!(error, AttachError::Limit { .. }) && began.elapsed() < Duration::from_secs(5));
    assert!(error.to_string().contains("within 100ms"), "{error}");

    *double.manner.lock().unwrap() = Manner::OtherVersion;
    let error = wanted.attach().unwrap_err();
    assert!(matches!(error, AttachError::Version { theirs: 77, .. }), "{error}");
    assert!(error.to_string().contains("same release"), "{error}");

    for manner in [Manner::FourDescriptors, Manner::ShortRings] {
        *double.manner.lock().unwrap() = manner;
        let error = wanted.attach().unwrap_err();
        assert!(matches!(error, AttachError::Answer { .. }), "{error}");
    }
}

#[test]
fn an_index_that_cant_be_ends_the_grant() {
    let double = Double::start();
    let (_accelerator, mut queue) = busy(&double);
    double.last().corrupt();
    assert!(queue.poll().is_none());
    assert_eq!(queue.submit(Request::null()).unwrap_err().why, Refusal::Gone);
    // The worker lives and does not let go.
    let ended: Vec<Done> = std::iter::from_fn(|| queue.wait()).collect();
    assert!(ended.len() == 10 && ended.iter().all(|done| done.result == Err(Status::Gone)));
}

#[test]
fn a_grant_ends_with_its_last_owner() {
    let double = Double::start();
    let accelerator = double.attach();
    let served = double.last();
    let queue = accelerator.queue().unwrap();
    let buffer = filled(&queue, b"it outlives everything");
    drop(accelerator);
    assert!(served.is_served(), "the queue owns the grant too");
    drop(queue);
    // The grant's memory goes back to the system when it ends.
    assert!(served.is_served(), "so does a buffer");
    assert_eq!(buffer[..], *b"it outlives everything");
    drop(buffer);
    let until = Instant::now() + Duration::from_secs(10);
    while served.is_served() {
        assert!(Instant::now() < until, "the grant has not ended");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn who_waits_long_sleeps_and_is_woken() {
    let double = Double::start();
    let accelerator = double.attach();
    let mut queue = accelerator.queue().unwrap();
    let orders = double.last().orders.clone();
    let mut waits = Vec::new();
    for _ in 0..5 {
        orders.stall(true);
        copy(&mut queue, 1);
        let (orders, began) = (orders.clone(), Instant::now());
        let waker = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(30));
            orders.stall(false);
        });
        assert_eq!(queue.wait().unwrap().result, Ok(()));
        let waited = began.elapsed();
        waker.join().unwrap();
        assert!(waited >= Duration::from_millis(30), "{waited:?}");
        waits.push(waited);
    }
    // Nobody wakes a sleeper by chance; but other programs may keep it waiting.
    assert!(waits.iter().any(|waited| *waited < Duration::from_millis(95)), "{waits:?}");
}

#[test]
fn tasks_are_woken_when_a_grant_ends() {
    for (end, status) in [
        (millstream_double::Served::revoke as fn(&millstream_double::Served), Status::Revoked),
        (millstream_double::Served::kill_broker, Status::Gone),
    ] {
        let double = Double::start();
        let accelerator = double.attach();
        let queue = SharedQueue::new(accelerator.queue().unwrap());
        let served = double.last();
        served.orders.stall(true);
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
        runtime.block_on(async {
            let tasks: Vec<_> = (0..10_u8)
                .map(|i| {
                    let mut buffer = queue.buffer(64).unwrap();
                    buffer.fill(i);
                    let pending = queue.submit(Request::digest(Hash::Sha256, buffer)).unwrap();
                    tokio::spawn(pending)
                })
                .collect();
            tokio::time::sleep(Duration::from_millis(20)).await;
            tokio::task::spawn_blocking(move || end(&served)).await.unwrap();
            for (i, task) in tasks.into_iter().enumerate() {
                let done = tokio::time::timeout(Duration::from_secs(20), task).await;
                let done = done.expect("a wake-up was lost").unwrap();
                assert_eq!(done.result, Err(status));
                assert_eq!(done.buffers.source.unwrap()[..], [i as u8; 64]);
            }
        });
    }
}

#[test]
fn an_operator_asks_and_orders() {
    let double = Double::start();
    let accelerator = Attach { name: "tester".to_owned(), ..double.wanted() }.attach().unwrap();
    let mut service = Service::connect(Some(double.path())).unwrap();
    let status = service.status().unwrap();
    assert_eq!((status.workers.len(), status.grants.len()), (1, 1));
    assert_eq!((status.workers[0].worker, status.grants[0].name.as_str()), (3, "tester"));
    service.reload().unwrap();
    let error = service.revoke(999).unwrap_err();
    assert!(matches!(error, AttachError::Refused { why: ServiceRefusal::NoSuchGrant, .. }));
    service.revoke(accelerator.grant().id).unwrap();
    assert_eq!(accelerator.state(), GrantState::Revoked);
}

/// A grant takes a moment. On a machine that does much else it may take longer, so the limit is wide.
#[test]
fn attaching_takes_a_moment() {
    let double = Double::start();
    let mut times: Vec<Duration> = (0..51)
        .map(|_| {
            let began = Instant::now();
            let accelerator = double.attach();
            let taken = began.elapsed();
            drop(accelerator);
            taken
        })
        .collect();
    times.sort();
    println!("attach: best {:?}, median {:?}", times[0], times[25]);
    assert!(times[0] < Duration::from_millis(10), "{times:?}");
}

/// Against the service that `MILLSTREAM_SOCKET` names: run by name, where one runs.
#[test]
#[ignore = "it needs a service: MILLSTREAM_SOCKET=... cargo test -p millstream --test isolated -- --ignored"]
fn a_real_service() {
    let began = Instant::now();
    let accelerator = Attach { queues: 2, ..Attach::default() }.attach().unwrap();
    println!("attach: {:?}, {accelerator:?}, {:?}", began.elapsed(), accelerator.grant());
    let key = accelerator.generate_key(Algorithm::AesCtr, 16, Exportable::Yes).unwrap();
    let bytes = accelerator.export_key(key).unwrap();
    let ctr = aes::Ctr::new(millstream::features().unwrap(), &bytes).unwrap();
    let mut wanted = [3; 777];
    ctr.apply(&[1; 16], InOut::in_place(&mut wanted));
    for mut queue in [accelerator.queue().unwrap(), accelerator.queue().unwrap()] {
        for _ in 0..1000 {
            let (source, destination) = (filled(&queue, &[3; 777]), queue.buffer(777).unwrap());
            queue.submit(Request::encrypt(key, &[1; 16], source, destination)).unwrap();
            let done = queue.wait().unwrap();
            assert_eq!((done.result, &done.buffers.destination.unwrap()[..]), (Ok(()), &wanted[..]));
        }
    }
    let mut queue = accelerator.queue().unwrap();
    for i in 0..100 {
        copy(&mut queue, i);
    }
    Service::connect(None).unwrap().revoke(accelerator.grant().id).unwrap();
    let ended: Vec<Done> = std::iter::from_fn(|| queue.wait()).collect();
    let revoked = ended.iter().filter(|done| done.result == Err(Status::Revoked)).count();
    println!("{} ended, {revoked} as revoked", ended.len());
    assert!(ended.iter().all(|done| matches!(done.result, Ok(()) | Err(Status::Revoked))));
    assert!(ended.iter().all(|done| done.buffers.destination.is_some()), "the worker let go");
    check_refused(&accelerator, &mut queue, Refusal::Revoked);
}

/// The same, and its workers are killed while they work, and stopped.
#[test]
#[ignore = "it kills the workers of the service that MILLSTREAM_SOCKET names"]
fn a_real_worker_dies() {
    let workers = || Service::connect(None).unwrap().status().unwrap().workers;
    let signal = |name: &str, pid: u32| {
        let mut kill = std::process::Command::new("kill");
        assert!(kill.args([name, &pid.to_string()]).status().unwrap().success());
    };
    for round in 0..5 {
        let accelerator = Accelerator::attach().unwrap();
        let mut queue = accelerator.queue().unwrap();
        let killer = std::thread::scope(|scope| {
            let killer = scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(30 + round));
                workers().iter().for_each(|worker| signal("-9", worker.pid));
                Instant::now()
            });
            while accelerator.state() == GrantState::Live && queue.submit(Request::null()).is_ok() {
                for i in 0..31 {
                    if let (Ok(mut source), Ok(destination)) = (queue.buffer(3000), queue.buffer(3000)) {
                        source.fill(i);
                        let _ = queue.submit(Request::copy(source, destination));
                    }
                }
                for _ in 0..16 {
                    let done = queue.wait().unwrap();
                    assert!(matches!(done.result, Ok(()) | Err(Status::Gone)), "{done:?}");
                }
            }
            killer.join().unwrap()
        });
        let ended: Vec<Done> = std::iter::from_fn(|| queue.wait()).collect();
        let gone = ended.iter().filter(|done| done.result == Err(Status::Gone)).count();
        println!("{} ended after {:?}, {gone} of them gone", ended.len(), killer.elapsed());
        assert!(killer.elapsed() < Duration::from_secs(2));
        check_refused(&accelerator, &mut queue, Refusal::Gone);
    }
    // A stopped worker is only slow.
    let accelerator = Accelerator::attach().unwrap();
    let mut queue = accelerator.queue().unwrap();
    // A stopped worker gives no figures, so its process is asked for before.
    let workers = workers();
    workers.iter().for_each(|worker| signal("-STOP", worker.pid));
    copy(&mut queue, 1);
    let began = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            workers.iter().for_each(|worker| signal("-CONT", worker.pid));
        });
        assert_eq!(queue.wait().unwrap().result, Ok(()));
    });
    assert!(began.elapsed() >= Duration::from_millis(300), "it was stopped");
}
