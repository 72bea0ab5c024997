//! A forked child has nothing of its parent's grants, and can't disturb them; it may attach itself.
//!
//! # Safety
//! The child calls `_exit` and never returns to the test. What else it calls must work in the child of a process with
//! several threads: that is what is tested.
#![allow(unsafe_code)]

mod double;

use double::Double;
use millstream::cwq::{Algorithm, Status};
use millstream::isolated::{Exportable, GrantState};
use millstream::queue::{Queue, Refusal, Request};

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
    println!("test result: ok. 1 passed; 0 failed; 0 ignored");
}

fn copies(queue: &mut Queue) {
    let (mut source, destination) = (queue.buffer(64).unwrap(), queue.buffer(64).unwrap());
    source.fill(9);
    queue.submit(Request::copy(source, destination)).unwrap();
    assert_eq!(queue.wait().unwrap().buffers.destination.unwrap()[..], [9; 64]);
}
