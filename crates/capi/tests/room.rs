//! Room in a full queue, awaited by C.

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

use std::ptr::null_mut;
use std::time::{Duration, Instant};

use millstream_c::algorithm::{Algorithm, AlgorithmCode};
use millstream_c::ffi::batch::{Kind, KindCode};
use millstream_c::ffi::queue::*;
use millstream_c::status::Status;

const DEPTH: u64 = 4;
const SHA256: AlgorithmCode = AlgorithmCode(Algorithm::Sha256 as u32);

fn options() -> QueueOptions {
    let mut options: QueueOptions = unsafe { std::mem::zeroed() };
    (options.depth, options.arena_bytes) = (DEPTH as u32, 1 << 20);
    options
}

/// Submits an operation that does nothing but carry a number.
macro_rules! submit {
    ($queue:expr, $number:expr, $timeout_ns:expr) => {{
        let mut request: Request = unsafe { std::mem::zeroed() };
        (request.kind, request.user) = (KindCode(Kind::Null as u32), $number);
        unsafe { millstream_queue_submit_wait($queue, &request, $timeout_ns, null_mut()) }
    }};
}

/// Takes an operation that has ended, and returns its number.
macro_rules! taken {
    ($queue:expr) => {{
        let mut done: Done = unsafe { std::mem::zeroed() };
        match unsafe { millstream_queue_poll($queue, &mut done) } {
            Status::Ok => Some(done.user),
            status => {
                assert_eq!(status, Status::Nothing);
                None
            }
        }
    }};
}

#[test]
fn what_ends_while_room_is_awaited_is_kept_in_order_and_bounded() {
    let mut queue = null_mut();
    assert_eq!(unsafe { millstream_queue_inline(&options(), &mut queue) }, Status::Ok);
    for number in 0..2 * DEPTH {
        assert_eq!(submit!(queue, number, 0), Status::Ok, "{number}");
        assert_eq!(unsafe { millstream_queue_in_flight(queue) } as u64, number + 1);
    }
    // As many are kept as the queue is deep.
    assert_eq!(submit!(queue, 99, u64::MAX), Status::Full);
    assert_eq!(taken!(queue), Some(0));
    assert_eq!(submit!(queue, 2 * DEPTH, u64::MAX), Status::Ok);
    for number in 1..=2 * DEPTH {
        assert_eq!(taken!(queue), Some(number));
    }
    assert_eq!((taken!(queue), unsafe { millstream_queue_in_flight(queue) }), (None, 0));
    // Some that were kept go with the queue.
    for number in 0..DEPTH + 1 {
        assert_eq!(submit!(queue, number, 0), Status::Ok);
    }
    unsafe { millstream_queue_free(queue) };
}

#[test]
fn a_time_limit_is_kept() {
    let mut slow: ThreadOptions = unsafe { std::mem::zeroed() };
    // The accelerator holds operations for longer than the test takes, for others to come.
    slow.flush_deadline_us = 600_000_000;
    let (mut thread, mut queue) = (null_mut(), null_mut());
    assert_eq!(unsafe { millstream_thread_start(&slow, &mut thread) }, Status::Ok);
    assert_eq!(unsafe { millstream_thread_queue(thread, &options(), &mut queue) }, Status::Ok);
    let mut buffers = [null_mut(); DEPTH as usize];
    for buffer in &mut buffers {
        let mut request: Request = unsafe { std::mem::zeroed() };
        (request.kind, request.algorithm) = (KindCode(Kind::Digest as u32), SHA256);
        assert_eq!(unsafe { millstream_buffer_new(queue, 16, buffer) }, Status::Ok);
        request.source = *buffer;
        assert_eq!(unsafe { millstream_queue_submit_wait(queue, &request, 0, null_mut()) }, Status::Ok);
    }
    let (began, limit) = (Instant::now(), Duration::from_millis(30));
    assert_eq!(submit!(queue, 99, limit.as_nanos() as u64), Status::Full);
    assert!(began.elapsed() >= limit);
    assert_eq!(submit!(queue, 99, 0), Status::Full);
    // What was refused was not submitted.
    assert_eq!(unsafe { millstream_queue_in_flight(queue) } as u64, DEPTH);
    unsafe {
        millstream_queue_free(queue);
        millstream_thread_free(thread);
        for buffer in buffers {
            assert_eq!(millstream_buffer_free(buffer), Status::Ok);
        }
    }
}
