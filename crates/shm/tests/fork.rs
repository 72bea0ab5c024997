//! A forked child has zeros of its own where its parent has shared memory.
//!
//! # Safety
//! The child calls only what is allowed between `fork` and `_exit` in a process with one thread.
#![allow(unsafe_code)]

use std::sync::atomic::Ordering;

use millstream_shm::{Mapping, Memory, forks};

fn main() {
    let memory = Memory::new("test", 8192).unwrap();
    let mapping = Mapping::shared(&memory).unwrap();
    let word = mapping.words(4096, 1).unwrap();
    word[0].store(7, Ordering::SeqCst);
    let before = forks();
    // SAFETY: this process has one thread.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let good = word[0].load(Ordering::SeqCst) == 0 && forks() == before + 1;
        // The child's writes stay with the child.
        word[0].store(9, Ordering::SeqCst);
        let own = Mapping::shared(&Memory::new("own", 4096).unwrap()).unwrap();
        own.words(0, 1).unwrap()[0].store(1, Ordering::SeqCst);
        drop((mapping, word));
        // SAFETY: ends the child and nothing else.
        unsafe { libc::_exit(if good { 33 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: `status` is ours.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(libc::WEXITSTATUS(status), 33, "the child saw zeros and that it is a child");
    assert_eq!((word[0].load(Ordering::SeqCst), forks()), (7, before), "the parent's is untouched");
    println!("test result: ok. 1 passed; 0 failed; 0 ignored");
}
