//! Random bytes by every way that this process computes itself, and by a worker's double.

use std::collections::BTreeSet;

use millstream::cwq::{ControlWord, Status};
use millstream::queue::{AcceleratorThread, Config, Queue, Request, SharedQueue, ThreadConfig};
use millstream::{EngineError, Operation, Unit};
use millstream_double::Double;

fn drawn(queue: &mut Queue, len: usize) -> Vec<u8> {
    let buffer = queue.buffer(len).unwrap();
    queue.submit(Request::random(buffer)).unwrap();
    let done = queue.wait().unwrap();
    assert_eq!((done.result, done.tag(), done.state()), (Ok(()), &[][..], &[][..]));
    assert!(done.buffers.source.is_none());
    done.buffers.destination.unwrap().to_vec()
}

/// Fails unless about half of all bits are ones, and no block of 16 bytes comes twice.
fn looks_random(parts: &[Vec<u8>]) {
    let all = parts.concat();
    let ones: u64 = all.iter().map(|byte| u64::from(byte.count_ones())).sum();
    let bits = 8 * all.len() as u64;
    assert!((bits * 49 / 100..bits * 51 / 100).contains(&ones), "{ones} of {bits}");
    let blocks: BTreeSet<_> = parts.iter().flat_map(|part| part.chunks_exact(16)).collect();
    assert_eq!(blocks.len(), parts.iter().map(|part| part.len() / 16).sum::<usize>());
}

#[test]
fn every_way_gives_bytes_of_its_own() {
    let features = millstream::features().unwrap();
    let thread = AcceleratorThread::spawn(features, ThreadConfig::default()).unwrap();
    let double = Double::start();
    let accelerator = double.attach();
    let mut queues = [
        Queue::inline(features, Config::default()).unwrap(),
        Queue::inline(features, Config::default()).unwrap(),
        thread.queue(Config::default()).unwrap(),
        accelerator.queue().unwrap(),
    ];
    let mut parts = vec![];
    for queue in &mut queues {
        for len in [16, 32, 1000, ControlWord::MOST_RANDOM_BYTES as usize / 4] {
            parts.push(drawn(queue, len));
        }
    }
    let mut bytes = vec![vec![0; 512]; 40];
    let mut operations: Vec<_> = bytes.iter_mut().map(|bytes| Operation::random(bytes)).collect();
    millstream::batch(&mut operations).unwrap();
    assert!(operations.iter().all(|operation| operation.result() == Ok(())));
    drop(operations);
    parts.extend(bytes);
    let mut direct = vec![0; 5000];
    millstream::random(&mut direct).unwrap();
    parts.push(direct);
    looks_random(&parts);
}

#[test]
fn many_threads_share_a_queue() {
    let queue = Queue::inline(millstream::features().unwrap(), Config::default()).unwrap();
    let queue = SharedQueue::new(queue);
    let parts: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let draw = || {
            let buffer = queue.buffer(4096).unwrap();
            let done = queue.run(Request::random(buffer)).unwrap();
            done.check().unwrap();
            done.buffers.destination.unwrap().to_vec()
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(draw)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    looks_random(&parts);
}

#[test]
fn what_is_too_long_or_has_no_source_is_refused() {
    let features = millstream::features().unwrap();
    let mut queue = Queue::inline(features, Config::default()).unwrap();
    let most = ControlWord::MOST_RANDOM_BYTES as usize;
    assert_eq!(drawn(&mut queue, most).len(), most);
    assert!(drawn(&mut queue, 0).is_empty());
    let buffer = queue.buffer(most + 1).unwrap();
    queue.submit(Request::random(buffer)).unwrap();
    let done = queue.wait().unwrap();
    assert_eq!(done.result, Err(Status::DataLength));
    assert!(done.buffers.destination.unwrap().iter().all(|byte| *byte == 0));
    // A unit of one's own has no source before it is given one.
    let mut bytes = [0; 16];
    let mut operation = Operation::random(&mut bytes);
    Unit::new(features).run_one(&mut operation);
    assert_eq!(operation.result(), Err(EngineError::Random));
}
