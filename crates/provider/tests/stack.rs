//! Operations inside of ASYNC_JOBs fit on the stacks of jobs, which end in a guard page here.
//!
//! libcrypto takes the stacks from functions of this test, so the test is a program of its own.

#[path = "support/kems.rs"]
mod kems;
#[path = "support/pkeys.rs"]
mod pkeys;
mod support;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::Mutex;

use pkeys::{Key, Operation};
use support::{CipherContext, Library, Object, Param, libcrypto, optional};

/// Bytes of a job's stack (`STACKSIZE` in OpenSSL's `async_posix.h`).
const STACK: usize = 32768;
const PAGE: usize = 4096;
const ASYNC_PAUSE: c_int = 2;
const ASYNC_FINISH: c_int = 3;

/// The stacks, which are never freed.
static STACKS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

unsafe extern "C" fn allocate(len: usize, _: *const c_char, _: c_int) -> *mut c_void {
    if len != STACK {
        // SAFETY: as its own.
        return unsafe { libc::malloc(len) };
    }
    // SAFETY: a new mapping, whose lowest page nobody may touch.
    let stack = unsafe {
        let (all, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let at = libc::mmap(ptr::null_mut(), PAGE + STACK, all, flags, -1, 0);
        assert_ne!(at, libc::MAP_FAILED);
        assert_eq!(libc::mprotect(at, PAGE, libc::PROT_NONE), 0);
        at.byte_add(PAGE)
    };
    STACKS.lock().unwrap().push(stack as usize);
    stack
}

unsafe extern "C" fn reallocate(at: *mut c_void, len: usize, _: *const c_char, _: c_int) -> *mut c_void {
    // SAFETY: no stack is made larger.
    unsafe { libc::realloc(at, len) }
}

unsafe extern "C" fn free(at: *mut c_void, _: *const c_char, _: c_int) {
    if !STACKS.lock().unwrap().contains(&(at as usize)) {
        // SAFETY: it came from one of the two above.
        unsafe { libc::free(at) }
    }
}

type Allocate = unsafe extern "C" fn(usize, *const c_char, c_int) -> *mut c_void;
type Reallocate = unsafe extern "C" fn(*mut c_void, usize, *const c_char, c_int) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void, *const c_char, c_int);
type SetFunctions = unsafe extern "C" fn(Allocate, Reallocate, Free) -> c_int;
type InitThread = unsafe extern "C" fn(usize, usize) -> c_int;
type NewWaitContext = unsafe extern "C" fn() -> Object;
type Work<'w> = &'w mut dyn FnMut();
type Start = unsafe extern "C" fn(
    *mut Object,
    Object,
    *mut c_int,
    unsafe extern "C" fn(*mut c_void) -> c_int,
    *mut c_void,
    usize,
) -> c_int;

unsafe extern "C" fn call(work: *mut c_void) -> c_int {
    // SAFETY: a job's argument is a copy of the pointer to the work.
    unsafe { (**work.cast::<*mut Work<'_>>())() }
    1
}

/// Does it in a job, which goes on at once whenever it pauses.
fn in_job(mut work: impl FnMut()) {
    let mut work: Work<'_> = &mut work;
    let (mut job, mut returned, mut at) = (ptr::null_mut(), 0, ptr::from_mut(&mut work));
    // SAFETY: the functions of those names have those types; the work outlives the job.
    unsafe {
        let new = std::mem::transmute::<Object, NewWaitContext>(optional("ASYNC_WAIT_CTX_new").unwrap());
        let start = std::mem::transmute::<Object, Start>(optional("ASYNC_start_job").unwrap());
        let argument = (&raw mut at).cast();
        let waits = new();
        let mut go_on = || start(&mut job, waits, &mut returned, call, argument, size_of::<*mut Work<'_>>());
        let mut state = go_on();
        // Signatures wait for others, and there are none.
        while state == ASYNC_PAUSE {
            state = go_on();
        }
        assert_eq!((state, returned), (ASYNC_FINISH, 1));
    }
}

fn cmac(library: &Library, key: &[u8]) -> [u8; 8] {
    let libcrypto = libcrypto();
    let mut mac = [0; 8];
    // SAFETY: as the manual says.
    unsafe {
        let fetched = (libcrypto.EVP_MAC_fetch)(library.context, c"CMAC".as_ptr(), ptr::null());
        let context = (libcrypto.EVP_MAC_CTX_new)(fetched);
        let params = support::ended(&[Param::text(c"cipher", c"DES-EDE3-CBC")]);
        assert_eq!((libcrypto.EVP_MAC_init)(context, key.as_ptr(), key.len(), params.as_ptr()), 1);
        assert_eq!((libcrypto.EVP_MAC_update)(context, b"data".as_ptr(), 4), 1);
        let mut len = 0;
        assert_eq!((libcrypto.EVP_MAC_final)(context, mac.as_mut_ptr(), &mut len, mac.len()), 1);
        (libcrypto.EVP_MAC_CTX_free)(context);
        (libcrypto.EVP_MAC_free)(fetched);
    }
    mac
}

#[test]
fn keys_are_set_and_used_inside_of_jobs() {
    let find = |name: &CStr| optional(name.to_str().unwrap()).unwrap();
    // SAFETY: the functions of those names have those types, and nothing was allocated before.
    unsafe {
        let set = std::mem::transmute::<Object, SetFunctions>(find(c"CRYPTO_set_mem_functions"));
        assert_eq!(set(allocate, reallocate, free), 1, "libcrypto has allocated something already");
        let init = std::mem::transmute::<Object, InitThread>(find(c"ASYNC_init_thread"));
        assert_eq!(init(1, 0), 1);
    }
    let library = Library::millstream();
    let key: Vec<u8> = (0..64_u8).map(|i| i.wrapping_mul(37) | 1).collect();
    for name in [
        "DES-CBC",
        "DES-CFB",
        "DES-EDE-CBC",
        "DES-EDE3",
        "DES-EDE3-CBC",
        "DES-EDE3-CFB",
        "CAMELLIA-256-CBC",
        "AES-256-CBC",
        "AES-256-CTR",
        "AES-256-GCM",
        "AES-256-XTS",
        "ChaCha20-Poly1305",
    ] {
        let cipher = library.cipher(name).unwrap_or_else(|| panic!("no {name}"));
        let seal = || {
            let mut context: CipherContext =
                cipher.context(true, &key[..cipher.key_len()], &[9; 16]).unwrap();
            [context.update(&[1; 100]).unwrap(), context.finish().unwrap()].concat()
        };
        let mut sealed = Vec::new();
        in_job(|| sealed = seal());
        assert_eq!(sealed, seal(), "{name}");
    }
    let mut mac = [0; 8];
    in_job(|| mac = cmac(&library, &key[..24]));
    assert_eq!(mac, cmac(&library, &key[..24]));
    drop(library);
    key_pairs();
    encapsulations();
    messages();
    assert!(!STACKS.lock().unwrap().is_empty(), "the stacks of jobs are another size");
}

/// Signs, verifies, agrees and decrypts with key pairs, which are imported inside of jobs too.
fn key_pairs() {
    let library = Library::with(&[c"default", c"millstream"]);
    // SAFETY: a context that lives, and a C string.
    unsafe { (libcrypto().EVP_set_default_properties)(library.context, c"?provider=millstream".as_ptr()) };
    let read = |key: &Key| Key::decode(&library, true, &key.encode(true).unwrap()).unwrap();
    for curve in [c"P-256", c"P-384", c"P-521"] {
        let key = Key::generate(&library, c"EC", &[Param::text(c"group", curve)]).unwrap();
        in_job(|| {
            let key = read(&key);
            let signature = key.sign(&library, Some(c"SHA256"), &[], b"message").unwrap();
            assert!(key.verify(&library, Some(c"SHA256"), &[], b"message", &signature).unwrap());
            assert_eq!(key.agree(&library, &key).unwrap().len(), curve_bytes(curve));
        });
    }
    for bits in [1024usize, 2048, 4096] {
        let mut size = bits;
        let key = Key::generate(&library, c"RSA", &[Param::size(c"bits", &mut size)]).unwrap();
        in_job(|| {
            let key = read(&key);
            for padding in [c"pkcs1", c"pss"] {
                let params = [Param::text(c"pad-mode", padding)];
                let signature = key.sign(&library, Some(c"SHA256"), &params, b"message").unwrap();
                assert!(key.verify(&library, Some(c"SHA256"), &params, b"message", &signature).unwrap());
            }
            for padding in [c"pkcs1", c"oaep"] {
                let params = [Param::text(c"pad-mode", padding)];
                let sealed = key.transform(&library, Operation::Encrypt, &params, b"secret").unwrap();
                let opened = key.transform(&library, Operation::Decrypt, &params, &sealed).unwrap();
                assert_eq!(opened, b"secret");
            }
        });
    }
}

/// Makes keys of ML-KEM and of hybrids with it, encapsulates and decapsulates.
fn encapsulations() {
    let library = pkeys::preferred();
    for name in
        [c"ML-KEM-512", c"ML-KEM-1024", c"X25519MLKEM768", c"SecP256r1MLKEM768", c"SecP384r1MLKEM1024"]
    {
        in_job(|| {
            let key = Key::generate(&library, name, &[]).unwrap();
            let (ciphertext, secret) = key.encapsulate(&library, &[]).unwrap();
            assert_eq!(key.decapsulate(&library, &ciphertext).unwrap(), secret);
        });
    }
}

/// Makes keys of ML-DSA and SLH-DSA, signs and verifies.
fn messages() {
    let library = pkeys::preferred();
    for name in [
        c"ML-DSA-44",
        c"ML-DSA-65",
        c"ML-DSA-87",
        c"SLH-DSA-SHA2-128f",
        c"SLH-DSA-SHA2-256f",
        c"SLH-DSA-SHAKE-256f",
    ] {
        in_job(|| {
            let key = Key::generate(&library, name, &[]).unwrap();
            let signature = key.sign(&library, None, &[], b"message").unwrap();
            assert!(key.verify(&library, None, &[], b"message", &signature).unwrap());
        });
    }
}

fn curve_bytes(curve: &CStr) -> usize {
    match curve.to_bytes() {
        b"P-256" => 32,
        b"P-384" => 48,
        _ => 66,
    }
}
