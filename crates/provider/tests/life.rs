//! Loading, unloading, threads, forks, and what is left over.

mod support;

use std::sync::Barrier;

use support::{CipherContext, Library, libcrypto};

fn seal(library: &Library, name: &str) -> Vec<u8> {
    let cipher = library.cipher(name).unwrap();
    let key: Vec<u8> = (0..cipher.key_len() as u8).collect();
    cipher.context(true, &key, &vec![2; cipher.iv_len()]).unwrap().update(&[3; 160]).unwrap()
}

/// Bytes of memory that this process has.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[test]
fn the_first_use_may_come_from_many_threads_at_once() {
    let library = Library::millstream();
    let barrier = Barrier::new(16);
    let names = ["AES-128-CBC", "AES-256-CTR", "AES-128-XTS", "DES-EDE3-CBC"];
    let all: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|i| {
                let (library, barrier) = (&library, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    (0..50).map(|j| seal(library, names[(i + j) % 4])).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (i, outputs) in all.iter().enumerate() {
        for (j, output) in outputs.iter().enumerate() {
            assert_eq!(*output, seal(&library, names[(i + j) % 4]));
        }
    }
}

#[test]
fn it_can_be_unloaded_and_loaded_again() {
    let expected = seal(&Library::millstream(), "AES-128-CBC");
    for _ in 0..200 {
        assert_eq!(seal(&Library::millstream(), "AES-128-CBC"), expected);
    }
}

#[test]
fn many_library_contexts_do_not_know_each_other() {
    let libraries: Vec<_> = (0..64).map(|_| Library::millstream()).collect();
    let expected = seal(&libraries[0], "AES-192-CFB");
    assert!(libraries.iter().all(|library| seal(library, "AES-192-CFB") == expected));
}

#[test]
fn a_forked_child_goes_on() {
    let library = Library::millstream();
    let cipher = library.cipher("AES-128-CBC").unwrap();
    let mut begun = cipher.context(true, &[1; 16], &[2; 16]).unwrap();
    let first = begun.update(&[3; 40]).unwrap();
    let expected = seal(&library, "AES-256-CTR");
    let mut twin = begun.copy().unwrap();
    let rest = twin.update(&[4; 40]).unwrap();
    // SAFETY: the child only computes, and leaves without unwinding.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let same = begun.update(&[4; 40]).ok() == Some(rest) && seal(&library, "AES-256-CTR") == expected;
        // SAFETY: ends the child.
        unsafe { libc::_exit(if same { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: waits for that child.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    assert_eq!(first.len(), 32);
}

#[test]
fn contexts_leave_nothing_behind() {
    let library = Library::millstream();
    let names = ["AES-128-CBC", "AES-128-CTR", "AES-128-XTS", "AES-128-CBC-HMAC-SHA1", "CAMELLIA-128-CBC"];
    let ciphers: Vec<_> = names.iter().map(|name| library.cipher(name).unwrap()).collect();
    let round = |number: usize| {
        for i in 0..number {
            let cipher = &ciphers[i % ciphers.len()];
            let key: Vec<u8> = (0..cipher.key_len() as u8).collect();
            let mut context = cipher.context(i % 3 == 0, &key, &[1; 16]).unwrap();
            context.update(&[0; 32]).unwrap();
            let mut copy = context.copy().unwrap();
            copy.update(&[0; 32]).unwrap();
        }
    };
    round(5000);
    let before = resident();
    round(100_000);
    let grown = resident().saturating_sub(before);
    // A box and a key of each would be a hundred times as much. Tests beside this one need some, too.
    assert!(grown < 32 << 20, "{grown} bytes more");
}

#[test]
fn contexts_without_a_key_refuse_to_work() {
    let library = Library::millstream();
    for name in ["AES-128-CBC", "AES-128-CTR", "RC4", "AES-128-CBC-HMAC-SHA1"] {
        let cipher = library.cipher(name).unwrap();
        let mut context = CipherContext::new();
        context.init(Some(&cipher), true, None, None, &[]).unwrap();
        assert!(context.update(&[0; 32]).unwrap_err().text.ends_with("no key set"), "{name}");
        assert!(context.copy().unwrap().finish().unwrap_err().text.ends_with("no key set"), "{name}");
    }
    // SAFETY: takes nothing.
    assert_eq!(unsafe { (libcrypto().ERR_peek_error)() }, 0);
}
