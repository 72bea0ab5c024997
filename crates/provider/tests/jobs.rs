//! Operations inside of ASYNC_JOBs: they pause, so that others join them.

#[path = "support/pkeys.rs"]
mod pkeys;
mod support;

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use millstream_testkit::Random;
use pkeys::Key;
use support::{CipherContext, Library, Object, done, libcrypto, optional};

const ASYNC_PAUSE: c_int = 2;
const ASYNC_FINISH: c_int = 3;

type Function = unsafe extern "C" fn(*mut c_void) -> c_int;
type Start = unsafe extern "C" fn(*mut Object, Object, *mut c_int, Function, *mut c_void, usize) -> c_int;
type InitThread = unsafe extern "C" fn(usize, usize) -> c_int;
type New = unsafe extern "C" fn() -> Object;
type AllFds = unsafe extern "C" fn(Object, *mut c_int, *mut usize) -> c_int;

struct Async {
    start: Start,
    new_wait_context: New,
    fds: AllFds,
}

fn asynchronous(jobs: usize) -> Async {
    let find = |name| optional(name).unwrap();
    // SAFETY: the functions of those names have those types.
    unsafe {
        let init = std::mem::transmute::<Object, InitThread>(find("ASYNC_init_thread"));
        assert_eq!(init(jobs, 0), 1);
        Async {
            start: std::mem::transmute::<Object, Start>(find("ASYNC_start_job")),
            new_wait_context: std::mem::transmute::<Object, New>(find("ASYNC_WAIT_CTX_new")),
            fds: std::mem::transmute::<Object, AllFds>(find("ASYNC_WAIT_CTX_get_all_fds")),
        }
    }
}

/// One message, and what comes of it.
struct Message {
    context: CipherContext,
    plain: Vec<u8>,
    sealed: Vec<u8>,
}

unsafe extern "C" fn seal(argument: *mut c_void) -> c_int {
    // SAFETY: a job's argument is a copy of a message's address.
    let message = unsafe { &mut **argument.cast::<*mut Message>() };
    for piece in message.plain.chunks(2000) {
        message.sealed.extend(message.context.update(piece).unwrap());
    }
    message.sealed.extend(message.context.finish().unwrap());
    1
}

/// A message to sign, and its signature.
struct Signed<'k> {
    library: &'k Library,
    key: &'k Key,
    message: Vec<u8>,
    signature: Vec<u8>,
}

unsafe extern "C" fn sign(argument: *mut c_void) -> c_int {
    // SAFETY: a job's argument is a copy of the address.
    let signed = unsafe { &mut **argument.cast::<*mut Signed<'_>>() };
    signed.signature = signed.key.sign(signed.library, Some(c"SHA256"), &[], &signed.message).unwrap();
    1
}

struct Running<M = Message> {
    job: Object,
    wait_context: Object,
    message: Box<M>,
}

impl Async {
    fn running<M>(&self, message: M) -> Running<M> {
        // SAFETY: as the manual says.
        let wait_context = unsafe { (self.new_wait_context)() };
        Running { job: ptr::null_mut(), wait_context, message: Box::new(message) }
    }

    /// Starts a job that seals, or lets it go on.
    fn go_on(&self, running: &mut Running) -> c_int {
        self.go_on_with(running, seal)
    }

    /// The same with another function.
    fn go_on_with<M>(&self, running: &mut Running<M>, function: Function) -> c_int {
        let (mut returned, mut at) = (0, ptr::from_mut(&mut *running.message));
        // SAFETY: as the manual says; the message stays where it is.
        unsafe {
            (self.start)(
                &mut running.job,
                running.wait_context,
                &mut returned,
                function,
                (&raw mut at).cast(),
                size_of::<*mut M>(),
            )
        }
    }

    /// Tells whether the job's descriptor can be read.
    fn is_ready<M>(&self, running: &Running<M>) -> bool {
        let mut fds = [-1; 4];
        let mut number = 0;
        // SAFETY: places for the answers; there is at most one descriptor.
        unsafe {
            (self.fds)(running.wait_context, ptr::null_mut(), &mut number);
            assert_eq!(number, 1);
            (self.fds)(running.wait_context, fds.as_mut_ptr(), &mut number);
            let mut poll = libc::pollfd { fd: fds[0], events: libc::POLLIN, revents: 0 };
            libc::poll(&mut poll, 1, 0) == 1
        }
    }
}

#[test]
fn jobs_are_paused_and_passed_together() {
    let asynchronous = asynchronous(40);
    let library = Library::millstream();
    let mut random = Random::new(1);
    for name in ["AES-128-CBC", "AES-256-CBC", "CAMELLIA-128-CBC", "DES-EDE3-CBC"] {
        let cipher = library.cipher(name).unwrap();
        for jobs in [1, 3, 8, 40] {
            let mut expected = Vec::new();
            let mut all: Vec<_> = (0..jobs)
                .map(|_| {
                    let (key, iv) = (random.bytes(cipher.key_len()), random.bytes(cipher.iv_len()));
                    let len = random.below(9000);
                    let plain = random.bytes(len);
                    let context = || cipher.context(true, &key, &iv).unwrap();
                    let mut alone = context();
                    expected.push([alone.update(&plain).unwrap(), alone.finish().unwrap()].concat());
                    asynchronous.running(Message { context: context(), plain, sealed: Vec::new() })
                })
                .collect();
            let mut pauses = 0;
            let mut done = vec![false; jobs];
            while done.contains(&false) {
                for (running, done) in all.iter_mut().zip(&mut done).filter(|(_, done)| !**done) {
                    match asynchronous.go_on(running) {
                        ASYNC_PAUSE => {
                            pauses += 1;
                            assert!(asynchronous.is_ready(running));
                        }
                        ASYNC_FINISH => *done = true,
                        other => panic!("a job that ended with {other}"),
                    }
                }
            }
            // Only AES has lanes that fit on the stack of a job.
            assert!(
                jobs < 8 || !name.starts_with("AES") || pauses >= jobs / 2,
                "{pauses} pauses of {jobs} jobs"
            );
            for (running, expected) in all.iter().zip(&expected) {
                assert_eq!(&running.message.sealed, expected, "{name}, {jobs} jobs");
            }
        }
    }
}

#[test]
fn a_job_that_never_goes_on_harms_nobody() {
    let asynchronous = asynchronous(4);
    let library = Library::millstream();
    let cipher = library.cipher("AES-128-CBC").unwrap();
    let context = || cipher.context(true, &[1; 16], &[2; 16]).unwrap();
    let message = |plain: Vec<u8>| Message { context: context(), plain, sealed: Vec::new() };
    let mut dropped = asynchronous.running(message(vec![3; 4000]));
    assert_eq!(asynchronous.go_on(&mut dropped), ASYNC_PAUSE);
    // The job's buffers and its context are gone now, but its stack is not.
    drop(dropped.message);
    let mut other = asynchronous.running(message(vec![4; 4000]));
    while asynchronous.go_on(&mut other) != ASYNC_FINISH {}
    let mut alone = context();
    let expected = [alone.update(&[4; 4000]).unwrap(), alone.finish().unwrap()].concat();
    assert_eq!(other.message.sealed, expected);
}

/// Signatures of several keys and both algorithms with lanes; those of other curves never pause.
#[test]
fn signatures_are_passed_together() {
    let asynchronous = asynchronous(40);
    let library = Library::with(&[c"default", c"millstream"]);
    let properties = c"?provider=millstream";
    // SAFETY: a context that lives, and a C string.
    done(unsafe { (libcrypto().EVP_set_default_properties)(library.context, properties.as_ptr()) }).unwrap();
    let mut size = 2048;
    let curve = |name: &'static CStr| {
        Key::generate(&library, c"EC", &[support::Param::text(c"group", name)]).unwrap()
    };
    let (p256, p384) = ([(); 3].map(|()| curve(c"P-256")), [curve(c"P-384")]);
    let rsa = [Key::generate(&library, c"RSA", &[support::Param::size(c"bits", &mut size)]).unwrap()];
    let ifma = millstream::features().unwrap().contains(millstream::FeatureSet::parse("avx512f,avx512ifma"));
    if !ifma {
        println!(
            "SKIPPED signatures_are_passed_together: no AVX-512 IFMA, so RSA has no engine in the provider"
        );
    }
    for (keys, pauses_at) in [(&p256[..], true), (&rsa[..], ifma), (&p384[..], false)] {
        for jobs in [1, 3, 8, 20] {
            let mut all: Vec<_> = (0..jobs)
                .map(|i| {
                    let (key, message) = (&keys[i % keys.len()], vec![i as u8; 100 + i]);
                    asynchronous.running(Signed { library: &library, key, message, signature: Vec::new() })
                })
                .collect();
            let (mut pauses, mut ended) = (0, vec![false; jobs]);
            while ended.contains(&false) {
                for (running, ended) in all.iter_mut().zip(&mut ended).filter(|(_, ended)| !**ended) {
                    match asynchronous.go_on_with(running, sign) {
                        ASYNC_PAUSE => {
                            pauses += 1;
                            assert!(asynchronous.is_ready(running));
                        }
                        ASYNC_FINISH => *ended = true,
                        other => panic!("a job that ended with {other}"),
                    }
                }
            }
            assert_eq!(pauses > 0, pauses_at, "{pauses} pauses of {jobs} jobs");
            for running in &all {
                let Signed { key, message, signature, .. } = &*running.message;
                assert_eq!(key.verify(&library, Some(c"SHA256"), &[], message, signature), Ok(true));
            }
        }
    }
}
