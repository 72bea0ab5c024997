//! Many operations with one call, from C.

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

use std::ptr::{null, null_mut};

use millstream_c::algorithm::{Algorithm, AlgorithmCode};
use millstream_c::ffi::batch::{Kind, KindCode};
use millstream_c::ffi::queue::*;
use millstream_c::status::Status;

const DEPTH: usize = 8;

fn options() -> QueueOptions {
    let mut options: QueueOptions = unsafe { std::mem::zeroed() };
    (options.depth, options.arena_bytes) = (DEPTH as u32, 1 << 20);
    options
}

macro_rules! queue {
    () => {{
        let mut queue = null_mut();
        assert_eq!(unsafe { millstream_queue_inline(&options(), &mut queue) }, Status::Ok);
        queue
    }};
}

fn request(kind: Kind, user: u64) -> Request {
    let mut request: Request = unsafe { std::mem::zeroed() };
    (request.kind, request.user) = (KindCode(kind as u32), user);
    request
}

/// Takes as many ends as there are, and room for.
macro_rules! drained {
    ($queue:expr, $capacity:expr) => {{
        let mut ends: Vec<Done> = (0..$capacity).map(|_| unsafe { std::mem::zeroed() }).collect();
        let mut count = 99;
        let status = unsafe { millstream_queue_drain($queue, ends.as_mut_ptr(), $capacity, &mut count) };
        ends.truncate(count);
        (status, ends)
    }};
}

#[test]
fn all_that_fit_are_submitted_and_taken_in_order() {
    let queue = queue!();
    let requests: Vec<Request> = (0..DEPTH as u64 + 3).map(|number| request(Kind::Null, number)).collect();
    let (mut tickets, mut submitted) = ([0; DEPTH + 3], 0);
    let status = unsafe {
        millstream_queue_submit_many(
            queue,
            requests.as_ptr(),
            requests.len(),
            tickets.as_mut_ptr(),
            &mut submitted,
        )
    };
    assert_eq!((status, submitted), (Status::Full, DEPTH));
    let (status, first) = drained!(queue, 5);
    assert_eq!((status, first.len()), (Status::Ok, 5));
    // The rest goes in now, without its tickets and number being asked for.
    let rest = unsafe {
        millstream_queue_submit_many(queue, requests[submitted..].as_ptr(), 3, null_mut(), null_mut())
    };
    assert_eq!(rest, Status::Ok);
    let (status, others) = drained!(queue, DEPTH);
    assert_eq!((status, others.len()), (Status::Ok, DEPTH - 5 + 3));
    let ends: Vec<&Done> = first.iter().chain(&others).collect();
    assert!(ends.iter().zip(0..).all(|(done, number)| done.user == number));
    assert!(ends.iter().zip(&tickets[..DEPTH]).all(|(done, ticket)| done.ticket == *ticket));
    assert_eq!(drained!(queue, DEPTH).0, Status::Nothing);
    unsafe { millstream_queue_free(queue) };
}

#[test]
fn the_first_that_is_refused_says_why_and_those_before_it_are_done() {
    let queue = queue!();
    let wrong = Request { kind: KindCode(12_345), ..request(Kind::Null, 2) };
    let requests = [request(Kind::Null, 0), request(Kind::Null, 1), wrong, request(Kind::Null, 3)];
    let mut submitted = 99;
    let status =
        unsafe { millstream_queue_submit_many(queue, requests.as_ptr(), 4, null_mut(), &mut submitted) };
    let alone = unsafe { millstream_queue_submit(queue, &requests[2], null_mut()) };
    assert_ne!(alone, Status::Ok);
    assert_eq!((status, submitted), (alone, 2));
    assert_eq!(drained!(queue, DEPTH).1.iter().map(|done| done.user).collect::<Vec<_>>(), [0, 1]);
    unsafe { millstream_queue_free(queue) };
}

#[test]
fn an_end_with_a_mid_state_is_the_last_of_its_call() {
    let queue = queue!();
    let mut buffers = [null_mut(); 3];
    let mut requests = [Kind::PartialDigest, Kind::PartialDigest, Kind::Null].map(|kind| request(kind, 7));
    for (request, buffer) in requests.iter_mut().zip(&mut buffers).take(2) {
        assert_eq!(unsafe { millstream_buffer_new(queue, 64, buffer) }, Status::Ok);
        (request.source, request.algorithm) = (*buffer, AlgorithmCode(Algorithm::Sha256 as u32));
    }
    let submitted =
        unsafe { millstream_queue_submit_many(queue, requests.as_ptr(), 3, null_mut(), null_mut()) };
    assert_eq!(submitted, Status::Ok);
    let (mut states, mut taken) = (0, 0);
    while taken < 3 {
        let (status, ends) = drained!(queue, DEPTH);
        assert_eq!(status, Status::Ok);
        let (last, before) = ends.split_last().unwrap();
        assert!(before.iter().all(|done| done.state.is_null()));
        if !last.state.is_null() {
            // It is there to be read.
            let state = unsafe { std::slice::from_raw_parts(last.state, last.state_length) };
            assert!(state.iter().any(|byte| *byte != 0));
            states += 1;
        }
        taken += ends.len();
    }
    assert_eq!(states, 2);
    unsafe {
        millstream_queue_free(queue);
        buffers[..2].iter().for_each(|buffer| assert_eq!(millstream_buffer_free(*buffer), Status::Ok));
    }
}

#[test]
fn what_is_missing_is_named() {
    let queue = queue!();
    let mut submitted = 99;
    let none = unsafe { millstream_queue_submit_many(queue, null(), 1, null_mut(), &mut submitted) };
    assert_eq!((none, submitted), (Status::Null, 0));
    assert_eq!(
        unsafe { millstream_queue_submit_many(queue, null(), 0, null_mut(), &mut submitted) },
        Status::Ok
    );
    let one = request(Kind::Null, 7);
    assert_eq!(
        unsafe { millstream_queue_submit_many(queue, &one, 1, null_mut(), &mut submitted) },
        Status::Ok
    );
    let mut count = 99;
    assert_eq!(unsafe { millstream_queue_drain(queue, null_mut(), 1, &mut count) }, Status::Null);
    let mut done: Done = unsafe { std::mem::zeroed() };
    assert_eq!(unsafe { millstream_queue_drain(queue, &mut done, 1, null_mut()) }, Status::Null);
    // Neither call has taken it.
    assert_eq!(drained!(queue, DEPTH).1.iter().map(|done| done.user).collect::<Vec<_>>(), [7]);
    unsafe { millstream_queue_free(queue) };
}
