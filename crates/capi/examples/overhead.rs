//! Measures what a call from C costs beside the same call of the Rust API: both in turns, in one process, the best of
//! many rounds.
//!
//! `cargo run --release -p millstream-capi --example overhead`
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

use std::hint::black_box;
use std::ptr::{null, null_mut};
use std::time::Instant;

use millstream::aead::Aead;
use millstream::gcm::Gcm;
use millstream::hash::{Hash, digest};
use millstream::{InOut, Operation as Rust};
use millstream_c::algorithm::AlgorithmCode;
use millstream_c::ffi::batch::{Kind, KindCode, Operation, millstream_batch};
use millstream_c::ffi::direct::{millstream_digest, millstream_key_new, millstream_seal};

const ROUNDS: usize = 400;
const OF_BATCH: usize = 64;
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

fn compare(name: &str, calls: usize, mut rust: impl FnMut(), mut c: impl FnMut()) {
    let (mut of_rust, mut of_c) = (Best(f64::MAX), Best(f64::MAX));
    for _ in 0..ROUNDS {
        of_rust.round(calls, &mut rust);
        of_c.round(calls, &mut c);
    }
    println!("{name:32} Rust {:8.1} ns  C {:8.1} ns  {:.3} times", of_rust.0, of_c.0, of_c.0 / of_rust.0);
}

fn main() -> Result<(), millstream::Error> {
    let features = millstream::features()?;
    let (key, mut c_key) = (Gcm::new(features, &[7; 16])?, null_mut());
    // Functions of another crate that are not generic are called, not inlined: as from C.
    let made = unsafe { millstream_key_new(AlgorithmCode(0x15), [7; 16].as_ptr(), 16, &mut c_key) };
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
