//! A forked child has nothing of its parent's grants, and can't disturb them; it may attach itself.
//!
//! # Safety
//! The child calls `_exit` and never returns to the test. What else it calls must work in the child of a process with
//! several threads: that is what is tested.
#![allow(unsafe_code)]

use millstream::cwq::{Algorithm, Status};
use millstream::isolated::{Exportable, GrantState};
use millstream::nonce::{CounterNonces, NonceError, RandomNonces};
use millstream::queue::{
    AcceleratorThread, Config, KeyOptions, Nonces, Queue, Refusal, Request, ThreadConfig,
};
use millstream_double::Double;

fn main() {
    let double = Double::start();
    let accelerator = double.attach();
    let mut queue = accelerator.queue().unwrap();
    let key = accelerator.import_key(Algorithm::AesGcm, &[7; 16], Exportable::Yes).unwrap();
    let mut buffer = queue.buffer(64).unwrap();
    buffer.fill(42);
    let (mut source, destination) = (queue.buffer(64).unwrap(), queue.buffer(64).unwrap());
    source.fill(43);
    queue.submit(Request::copy(source, destination)).unwrap();

    // SAFETY: see above.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let good = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            assert_eq!(queue.submit(Request::null()).unwrap_err().why, Refusal::Forked);
            assert_eq!(queue.buffer(1).unwrap_err(), Refusal::Forked);
            let error = accelerator.export_key(key).unwrap_err();
            assert!(error.to_string().contains("forked child"), "{error}");
            assert!(accelerator.queue().is_err());
            assert_eq!(accelerator.state(), GrantState::Gone);
            assert!(buffer.iter().all(|b| *b == 0), "zeros of its own");
            buffer.fill(1);
            let done = queue.wait().unwrap();
            assert_eq!(done.result, Err(Status::Gone));
            drop((done, buffer, queue, accelerator));
            let own = double.attach();
            let mut queue = own.queue().unwrap();
            copies(&mut queue);
        }));
        // SAFETY: ends the child and nothing else.
        unsafe { libc::_exit(if good.is_ok() { 33 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: `status` is ours.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(libc::WEXITSTATUS(status), 33, "all went as it should in the child");

    // The parent's grant never noticed.
    let done = queue.wait().unwrap();
    assert_eq!(done.result, Ok(()));
    assert_eq!(done.buffers.destination.unwrap()[..], [43; 64]);
    assert_eq!(buffer[..], [42; 64]);
    assert_eq!(**accelerator.export_key(key).unwrap(), [7; 16]);
    assert_eq!(accelerator.state(), GrantState::Live);
    copies(&mut queue);
    a_child_has_no_thread_of_its_parents();
    a_child_makes_no_nonces_of_its_parents();
    a_child_repeats_no_random_bytes_of_its_parents();
    println!("test result: ok. 4 passed; 0 failed; 0 ignored");
}

/// A child has a copy of the queues that a thread of its parent serves, and no such thread: it waits for nothing.
fn a_child_has_no_thread_of_its_parents() {
    let spawn =
        || AcceleratorThread::spawn(millstream::features().unwrap(), ThreadConfig::default()).unwrap();
    let thread = spawn();
    let mut queue = thread.queue(Config::default()).unwrap();
    let key = queue.import_key(Algorithm::AesGcm, &[7; 16]).unwrap();
    let mut kept = queue.buffer(64).unwrap();
    kept.fill(42);
    let (source, destination) = (queue.buffer(64).unwrap(), queue.buffer(64).unwrap());
    // Not shown to the thread before the next call: in the child it never will be.
    queue.submit(Request::copy(source, destination)).unwrap();

    // SAFETY: see above.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends a child that waits for ever: many times as long as all of this takes.
        unsafe { libc::alarm(60) };
        let good = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            assert_eq!(queue.submit(Request::null()).unwrap_err().why, Refusal::Forked);
            assert_eq!(queue.buffer(1).unwrap_err(), Refusal::Forked);
            let refused = queue.import_key(Algorithm::AesGcm, &[7; 16]).unwrap_err();
            assert_eq!(refused, millstream::Error::Queue(Refusal::Forked));
            assert!(refused.to_string().contains("forked child"), "{refused}");
            assert!(!queue.remove_key(key));
            assert_eq!(thread.queue(Config::default()).unwrap_err().to_string(), refused.to_string());
            let done = queue.wait().unwrap();
            assert!(done.result == Err(Status::Gone) || done.result == Ok(()), "{:?}", done.result);
            assert!(queue.wait().is_none());
            assert_eq!(kept[..], [42; 64], "a copy of its own");
            drop((done, kept, queue, thread));
            let own = spawn();
            copies(&mut own.queue(Config::default()).unwrap());
        }));
        // SAFETY: ends the child and nothing else.
        unsafe { libc::_exit(if good.is_ok() { 33 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: `status` is ours.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!((libc::WIFEXITED(status), libc::WEXITSTATUS(status)), (true, 33), "all went as it should");

    assert_eq!(queue.wait().unwrap().result, Ok(()));
    assert_eq!(kept[..], [42; 64]);
    copies(&mut queue);
}

/// A child has a copy of an inline accelerator. It gets other random bytes than its parent, and so does a batch.
fn a_child_repeats_no_random_bytes_of_its_parents() {
    let mut queue = Queue::inline(millstream::features().unwrap(), Config::default()).unwrap();
    let mut drawn = move || {
        let mut all = vec![0; 96];
        let buffer = queue.buffer(32).unwrap();
        queue.submit(Request::random(buffer)).unwrap();
        let done = queue.wait().unwrap();
        assert_eq!(done.result, Ok(()));
        all[..32].copy_from_slice(&done.buffers.destination.unwrap());
        let (batch, direct) = all[32..].split_at_mut(32);
        let mut operations = [millstream::Operation::random(batch)];
        millstream::batch(&mut operations).unwrap();
        assert_eq!(operations[0].result(), Ok(()));
        millstream::random(direct).unwrap();
        all
    };
    drawn();
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    // SAFETY: see above.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let good = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            std::io::Write::write_all(&mut writer, &drawn()).unwrap();
        }));
        // SAFETY: ends the child and nothing else.
        unsafe { libc::_exit(if good.is_ok() { 33 } else { 1 }) };
    }
    let here = drawn();
    let mut there = vec![0; 96];
    std::io::Read::read_exact(&mut reader, &mut there).unwrap();
    let mut status = 0;
    // SAFETY: `status` is ours.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!((libc::WIFEXITED(status), libc::WEXITSTATUS(status)), (true, 33), "all went as it should");
    let blocks: std::collections::BTreeSet<_> = here.chunks(32).chain(there.chunks(32)).collect();
    assert_eq!(blocks.len(), 6, "nothing comes twice");
}

/// A child has a copy of an inline accelerator, counters and all: it would seal under the nonces that its parent uses too.
fn a_child_makes_no_nonces_of_its_parents() {
    let mut queue = Queue::inline(millstream::features().unwrap(), Config::default()).unwrap();
    let made = KeyOptions { nonces: Nonces::Made, ..KeyOptions::default() };
    let key = queue.import_key_with(Algorithm::AesGcm, &[7; 16], made).unwrap();
    let (counted, random) = (CounterNonces::new([1; 4]).unwrap(), RandomNonces::new().unwrap());
    let seal = |queue: &Queue| {
        Request::seal_with_made_nonce(key, b"", queue.buffer(64).unwrap(), queue.buffer(64).unwrap())
    };
    queue.submit(seal(&queue)).unwrap();

    // SAFETY: see above.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let good = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let done = queue.wait().unwrap();
            assert_eq!((done.result, done.nonce()), (Err(Status::Gone), &[][..]));
            assert_eq!(queue.submit(seal(&queue)).unwrap_err().why, Refusal::Forked);
            assert!(queue.wait().is_none());
            let forked = Err(NonceError::Forked.into());
            assert_eq!((counted.next(), random.next()), (forked.clone(), forked));
            assert!(CounterNonces::new([2; 4]).unwrap().next().is_ok());
        }));
        // SAFETY: ends the child and nothing else.
        unsafe { libc::_exit(if good.is_ok() { 33 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: `status` is ours.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!((libc::WIFEXITED(status), libc::WEXITSTATUS(status)), (true, 33), "all went as it should");
    assert!(counted.next().is_ok() && random.next().is_ok());
    let done = queue.wait().unwrap();
    assert_eq!((done.result, done.nonce().len()), (Ok(()), 12));
}

fn copies(queue: &mut Queue) {
    let (mut source, destination) = (queue.buffer(64).unwrap(), queue.buffer(64).unwrap());
    source.fill(9);
    queue.submit(Request::copy(source, destination)).unwrap();
    assert_eq!(queue.wait().unwrap().buffers.destination.unwrap()[..], [9; 64]);
}
