//! Random bytes in C: at once, in a batch, and in a queue.

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

#[macro_use]
mod support;

use std::collections::BTreeSet;
use std::ptr::{null, null_mut};

use millstream_c::ffi::batch::{Kind, KindCode, Operation, millstream_batch};
use millstream_c::ffi::library::*;
use millstream_c::ffi::queue::*;
use millstream_c::status::Status;

/// Bytes around what is filled, which nobody may touch.
const AROUND: u8 = 0xa5;

/// Returns what was filled in the middle of its surroundings.
fn middle(bytes: &[u8; 48]) -> [u8; 32] {
    assert!(bytes[..8].iter().chain(&bytes[40..]).all(|byte| *byte == AROUND));
    bytes[8..40].try_into().unwrap()
}

#[test]
fn every_way_gives_other_bytes() {
    let mut seen = BTreeSet::new();
    for _ in 0..3 {
        let mut bytes = [AROUND; 48];
        ok!(millstream_random(bytes[8..].as_mut_ptr(), 32));
        assert!(seen.insert(middle(&bytes)));
    }
    let mut rooms = [[AROUND; 48]; 5];
    let mut operations = rooms.each_mut().map(|room| {
        let mut operation: Operation = unsafe { std::mem::zeroed() };
        operation.kind = KindCode(Kind::Random as u32);
        (operation.output, operation.length) = (room[8..].as_mut_ptr(), 32);
        operation
    });
    ok!(millstream_batch(operations.as_mut_ptr(), operations.len()));
    for (operation, room) in operations.iter().zip(&rooms) {
        assert_eq!((operation.status, operation.tag_length), (Status::Ok.into(), 0));
        assert!(seen.insert(middle(room)));
    }
    let mut queue = null_mut();
    ok!(millstream_queue_inline(null(), &mut queue));
    for _ in 0..3 {
        let mut request: Request = unsafe { std::mem::zeroed() };
        request.kind = KindCode(Kind::Random as u32);
        ok!(millstream_buffer_new(queue, 32, &mut request.destination));
        ok!(millstream_queue_submit(queue, &request, null_mut()));
        let mut done: Done = unsafe { std::mem::zeroed() };
        ok!(millstream_queue_wait(queue, &mut done));
        assert_eq!((done.status, done.source, done.tag_length), (Status::Ok.into(), null_mut(), 0));
        let bytes = unsafe { std::slice::from_raw_parts(millstream_buffer_data(done.destination), 32) };
        assert!(seen.insert(bytes.try_into().unwrap()));
        unsafe { millstream_buffer_free(done.destination) };
    }
    assert_eq!(seen.len(), 11);
    unsafe { millstream_queue_free(queue) };
}

#[test]
fn what_is_not_used_must_be_nothing() {
    let mut room = [AROUND; 48];
    let mut operation: Operation = unsafe { std::mem::zeroed() };
    operation.kind = KindCode(Kind::Random as u32);
    (operation.output, operation.length, operation.input) = (room[8..].as_mut_ptr(), 32, room.as_ptr());
    assert_eq!(unsafe { millstream_batch(&mut operation, 1) }, Status::Reserved);
    (operation.input, operation.output) = (null(), null_mut());
    assert_eq!(unsafe { millstream_batch(&mut operation, 1) }, Status::Null);
    let mut queue = null_mut();
    ok!(millstream_queue_inline(null(), &mut queue));
    let mut request: Request = unsafe { std::mem::zeroed() };
    request.kind = KindCode(Kind::Random as u32);
    assert_eq!(
        unsafe { millstream_queue_submit(queue, &request, null_mut()) },
        Status::Null,
        "no destination"
    );
    ok!(millstream_buffer_new(queue, 32, &mut request.source));
    ok!(millstream_buffer_new(queue, 32, &mut request.destination));
    assert_eq!(unsafe { millstream_queue_submit(queue, &request, null_mut()) }, Status::Reserved, "a source");
    unsafe {
        millstream_buffer_free(request.source);
        millstream_buffer_free(request.destination);
        millstream_queue_free(queue);
    }
    assert_eq!(room, [AROUND; 48]);
}
