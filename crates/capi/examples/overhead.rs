//! Measures what a call from C costs beside the same call of the Rust API, and what one call for many operations saves: both in
//! turns, in one process, the best of many rounds.
//!
//! `cargo run --release -p millstream-capi --example overhead`
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

use std::hint::black_box;
use std::ptr::{null, null_mut};
use std::time::Instant;

use millstream::aead::Aead;
use millstream::gcm::Gcm;
use millstream::hash::{Hash, digest};
use millstream::queue::{Buffer, Config, Queue, Request as RustRequest};
use millstream::{InOut, Operation as Rust, cwq};
use millstream_c::algorithm::AlgorithmCode;
use millstream_c::ffi::batch::{Kind, KindCode, Operation, millstream_batch};
use millstream_c::ffi::direct::{millstream_digest, millstream_key_new, millstream_seal};
use millstream_c::ffi::queue::*;

const ROUNDS: usize = 400;
const OF_BATCH: usize = 64;
/// Batches of operations through a queue in one round.
const BATCHES: usize = 50;
const NONCE: &[u8] = &[3; 12];
/// AES-GCM.
const GCM: AlgorithmCode = AlgorithmCode(0x15);
const BYTES: usize = 64;

/// Nanoseconds a call, the best of the rounds.
struct Best(f64);

impl Best {
    fn round(&mut self, calls: usize, mut call: impl FnMut()) {
        let begin = Instant::now();
        (0..calls).for_each(|_| call());
        self.0 = self.0.min(begin.elapsed().as_nanos() as f64 / calls as f64);
    }
}

fn compare(name: &str, calls: usize, rust: impl FnMut(), c: impl FnMut()) {
    compare_as(name, calls, ("Rust", rust), ("C", c));
}

fn compare_as(
    name: &str,
    calls: usize,
    (first_name, mut first): (&str, impl FnMut()),
    (second_name, mut second): (&str, impl FnMut()),
) {
    let (mut of_first, mut of_second) = (Best(f64::MAX), Best(f64::MAX));
    for _ in 0..ROUNDS {
        of_first.round(calls, &mut first);
        of_second.round(calls, &mut second);
    }
    let times = of_second.0 / of_first.0;
    println!(
        "{name:32} {first_name} {:8.1} ns  {second_name} {:8.1} ns  {times:.3} times",
        of_first.0, of_second.0
    );
}

fn main() -> Result<(), millstream::Error> {
    direct_and_batch()?;
    through_queue(Kind::Null)?;
    through_queue(Kind::Seal)
}

fn direct_and_batch() -> Result<(), millstream::Error> {
    let features = millstream::features()?;
    let (key, mut c_key) = (Gcm::new(features, &[7; 16])?, null_mut());
    // Functions of another crate that are not generic are called, not inlined: as from C.
    let made = unsafe { millstream_key_new(GCM, [7; 16].as_ptr(), 16, &mut c_key) };
    assert_eq!(made as u32, 0);

    let (mut data, mut tag, nonce) = ([0; BYTES], [0; 16], [1; 12]);
    let (mut same, mut same_tag) = (data, tag);
    let (at, t, n) = (same.as_mut_ptr(), same_tag.as_mut_ptr(), nonce.as_ptr());
    compare(
        "AES-128-GCM seal, 64 bytes",
        2000,
        || key.seal(black_box(&nonce), &[], InOut::in_place(black_box(&mut data)), &mut tag).unwrap(),
        || assert_eq!(unsafe { millstream_seal(c_key, n, 12, null(), 0, at, at, BYTES, t) } as u32, 0),
    );
    let mut out = [0; 32];
    let mut same_out = out;
    let o = same_out.as_mut_ptr();
    compare(
        "SHA-256, 64 bytes",
        2000,
        || {
            digest(millstream::features().unwrap(), Hash::Sha256, black_box(&data[..]), &mut out).unwrap();
        },
        || assert_eq!(unsafe { millstream_digest(AlgorithmCode(0x53), at, BYTES, o, 32) } as u32, 0),
    );

    let nonces: [[u8; 12]; OF_BATCH] = std::array::from_fn(|i| [i as u8; 12]);
    let mut records = [[0; BYTES]; OF_BATCH];
    let (mut c_records, mut tags, mut c_tags) = (records, [[0; 16]; OF_BATCH], [[0; 16]; OF_BATCH]);
    let mut operations: [Operation; OF_BATCH] = unsafe { std::mem::zeroed() };
    for (i, operation) in operations.iter_mut().enumerate() {
        operation.kind = KindCode(Kind::Seal as u32);
        operation.key = c_key;
        (operation.iv, operation.iv_length) = (nonces[i].as_ptr(), 12);
        operation.input = c_records[i].as_ptr();
        (operation.output, operation.length) = (c_records[i].as_mut_ptr(), BYTES);
        (operation.tag, operation.tag_length) = (c_tags[i].as_mut_ptr(), 16);
    }
    compare(
        "batch of 64 seals of 64 bytes",
        50,
        || {
            let mut operations: Vec<_> = std::iter::zip(&nonces, &mut records)
                .map(|(nonce, record)| Rust::seal(&key, nonce, &[], InOut::in_place(record)))
                .collect();
            millstream::batch(&mut operations).unwrap();
            for (operation, tag) in operations.iter().zip(&mut tags) {
                operation.result().unwrap();
                tag.copy_from_slice(operation.tag());
            }
        },
        || assert_eq!(unsafe { millstream_batch(operations.as_mut_ptr(), OF_BATCH) } as u32, 0),
    );
    Ok(())
}

/// Compares queues of 64 operations each: Rust and C, each operation with a call of its own, and C with one call for all.
fn through_queue(kind: Kind) -> Result<(), millstream::Error> {
    let config = || Config { depth: OF_BATCH, ..Config::default() };
    let mut rust = Queue::inline(millstream::features()?, config())?;
    let key = rust.import_key(cwq::Algorithm::AesGcm, &[7; 16])?;
    let pair = |queue: &Queue| Ok((queue.buffer(BYTES)?, queue.buffer(BYTES)?));
    let mut places: Vec<Option<(Buffer, Buffer)>> =
        (0..OF_BATCH).map(|_| pair(&rust).map(Some)).collect::<Result<_, millstream::Error>>()?;

    let (mut queue, mut handle) = (null_mut(), 0);
    let mut requests: [Request; OF_BATCH] = unsafe { std::mem::zeroed() };
    let mut ends: [Done; OF_BATCH] = unsafe { std::mem::zeroed() };
    unsafe {
        assert_eq!(millstream_queue_inline(null(), &mut queue) as u32, 0);
        assert_eq!(millstream_queue_import_key(queue, GCM, [7; 16].as_ptr(), 16, &mut handle) as u32, 0);
        for request in &mut requests {
            request.kind = KindCode(kind as u32);
            if matches!(kind, Kind::Seal) {
                (request.key, request.iv, request.iv_length) = (handle, NONCE.as_ptr(), NONCE.len());
                assert_eq!(millstream_buffer_new(queue, BYTES, &mut request.source) as u32, 0);
                assert_eq!(millstream_buffer_new(queue, BYTES, &mut request.destination) as u32, 0);
            }
        }
    }
    let (all, each) = (requests.as_ptr(), ends.as_mut_ptr());
    let singly = || unsafe {
        for i in 0..OF_BATCH {
            assert_eq!(millstream_queue_submit(queue, all.add(i), null_mut()) as u32, 0);
        }
        for i in 0..OF_BATCH {
            assert_eq!(millstream_queue_poll(queue, each.add(i)) as u32, 0);
        }
    };
    let together = || unsafe {
        let mut count = 0;
        let status = millstream_queue_submit_many(queue, all, OF_BATCH, null_mut(), &mut count);
        assert_eq!((status as u32, count), (0, OF_BATCH));
        assert_eq!(millstream_queue_drain(queue, each, OF_BATCH, &mut count) as u32, 0);
        assert_eq!(count, OF_BATCH);
    };
    let name =
        if matches!(kind, Kind::Seal) { "queue, 64 seals of 64 bytes" } else { "queue, 64 null operations" };
    let of_rust = || {
        for place in &mut places {
            let request = match kind {
                Kind::Seal => {
                    let (source, destination) = place.take().unwrap();
                    RustRequest::seal(key, NONCE, &[], source, destination)
                }
                _ => RustRequest::null(),
            };
            rust.submit(request).unwrap();
        }
        for place in &mut places {
            let done = rust.poll().unwrap();
            done.result.unwrap();
            if let (Some(source), Some(destination)) = (done.buffers.source, done.buffers.destination) {
                *place = Some((source, destination));
            }
        }
    };
    compare(name, BATCHES, of_rust, singly);
    compare_as(name, BATCHES, ("one a call", singly), ("one call for all", together));
    Ok(())
}
