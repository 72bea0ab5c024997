//! What is left in memory after words have completed: no key, no round key of AES, no state of an HMAC's key.
//!
//! The accelerator runs on a stack that the test owns, and takes its memory from a region that the test owns
//! and never gives back: both are read through afterwards. That the arena holds nothing but what was asked for
//! the other tests say, which compare all of it.
//!
//! # Safety
//! One thread at a time allocates from the region, while [`ARMED`] says so; the stack is exclusively borrowed for
//! the call that runs on it.
#![cfg(all(target_arch = "x86_64", not(miri)))]
#![allow(unsafe_code)]

#[path = "accelerator/case.rs"]
#[allow(dead_code)]
mod case;
#[path = "accelerator/queue.rs"]
#[allow(dead_code)]
mod queue;

use std::alloc::{GlobalAlloc, Layout, System};
use std::arch::asm;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use case::{Case, every_kind, random_case};
use millstream_accelerator::LocalArena;
use millstream_cpu::Features;
use millstream_cwq::{Algorithm, Opcode};
use millstream_engines::hash::Hasher;
use millstream_testkit::Random;
use queue::{Form, Station};

const REGION: usize = 64 << 20;

/// Memory that is given out once.
struct Region;

static ARMED: AtomicBool = AtomicBool::new(false);
static BEGIN: AtomicUsize = AtomicUsize::new(0);
static USED: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Region = Region;

// SAFETY: while it is armed, every allocation is a part of the region of its own, aligned as asked; otherwise it
// is the system's. What lies in the region is never freed or given out again.
unsafe impl GlobalAlloc for Region {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !ARMED.load(Ordering::Relaxed) {
            // SAFETY: as the caller says.
            return unsafe { System.alloc(layout) };
        }
        let begin = BEGIN.load(Ordering::Relaxed);
        let at = (begin + USED.load(Ordering::Relaxed)).next_multiple_of(layout.align());
        let used = at + layout.size() - begin;
        if used > REGION {
            return std::ptr::null_mut();
        }
        USED.store(used, Ordering::Relaxed);
        std::ptr::with_exposed_provenance_mut(at)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        let begin = BEGIN.load(Ordering::Relaxed);
        if begin == 0 || !(begin..begin + REGION).contains(&memory.addr()) {
            // SAFETY: the system's own, as the caller says.
            unsafe { System.dealloc(memory, layout) }
        }
    }
}

/// Calls `f` with its stack in `stack`; whatever it panics with is given back.
fn on_stack(stack: &mut [u128], f: &mut dyn FnMut()) {
    type Call<'a> = (&'a mut dyn FnMut(), Option<Box<dyn std::any::Any + Send>>);
    extern "C" fn enter(call: *mut c_void) {
        // SAFETY: made from an exclusive borrow below.
        let (f, panic) = unsafe { &mut *call.cast::<Call<'_>>() };
        *panic = catch_unwind(AssertUnwindSafe(f)).err();
    }
    let mut call: Call<'_> = (f, None);
    let top = stack.as_mut_ptr_range().end;
    // SAFETY: the stack is ours and aligned; `enter` does not unwind and gives the stack pointer back.
    unsafe {
        asm!(
            "mov r12, rsp",
            "mov rsp, {top}",
            "call {enter}",
            "mov rsp, r12",
            top = in(reg) top,
            enter = sym enter,
            in("rdi") std::ptr::from_mut(&mut call).cast::<c_void>(),
            out("r12") _,
            clobber_abi("C"),
        );
    }
    if let Some(panic) = call.1 {
        std::panic::resume_unwind(panic);
    }
}

/// Eight bytes that may not be found, and what they are.
type Needles = HashMap<u64, String>;

/// Every eight bytes at multiples of four, as they are and with the bytes of each half or of all reversed.
fn add(needles: &mut Needles, what: &str, secret: &[u8]) {
    for at in (0..(secret.len() + 1).saturating_sub(8)).step_by(4) {
        let bytes: [u8; 8] = secret[at..at + 8].try_into().expect("eight bytes");
        let [a, b] = [0, 4].map(|at| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")));
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let whole = u64::from_le_bytes(bytes);
        for needle in [whole, whole.swap_bytes(), pair(a.swap_bytes(), b.swap_bytes()), pair(b, a)] {
            needles.insert(needle, format!("{what} from byte {at}"));
        }
    }
}

/// The round keys. Ref. FIPS 197 §5.2.
fn expand(key: &[u8]) -> Vec<u8> {
    let xtime = |a: u8| a << 1 ^ if a & 0x80 != 0 { 0x1b } else { 0 };
    let times = |mut a: u8, mut b: u8| {
        let mut product = 0;
        while b > 0 {
            product ^= if b & 1 != 0 { a } else { 0 };
            (a, b) = (xtime(a), b >> 1);
        }
        product
    };
    let sub = |a: u8| {
        let inverse = (0..=255).find(|b| times(a, *b) == 1).unwrap_or(0);
        [1, 2, 3, 4].iter().fold(inverse, |sum, n| sum ^ inverse.rotate_left(*n)) ^ 0x63
    };
    let nk = key.len() / 4;
    let mut words: Vec<[u8; 4]> = key.as_chunks().0.to_vec();
    let mut rcon = 1;
    for i in nk..4 * (nk + 7) {
        let mut word = words[i - 1];
        if i % nk == 0 {
            word.rotate_left(1);
            word = word.map(sub);
            word[0] ^= rcon;
            rcon = xtime(rcon);
        } else if nk > 6 && i % nk == 4 {
            word = word.map(sub);
        }
        for (a, b) in word.iter_mut().zip(words[i - nk]) {
            *a ^= b;
        }
        words.push(word);
    }
    words.concat()
}

/// An HMAC key's padded blocks, and the states after them.
fn add_hmac(needles: &mut Needles, case: &Case, key: &[u8]) {
    let hash = case.hash();
    let block = if hash.output_len() > 32 || hash.name().starts_with("sha512") { 128 } else { 64 };
    let digest = |bytes: &[u8]| {
        let mut hasher = Hasher::new(Features::hardware(), hash);
        hasher.update(bytes);
        hasher
    };
    let mut padded = if key.len() > block { digest(key).finish().to_vec() } else { key.to_vec() };
    let meaningful = padded.len();
    padded.resize(block, 0);
    for (name, pad) in [("ipad", 0x36), ("opad", 0x5c)] {
        let padded: Vec<u8> = padded.iter().map(|byte| byte ^ pad).collect();
        add(needles, &format!("key ^ {name}"), &padded[..meaningful]);
        let state = digest(&padded).export();
        // The chaining value is somewhere in the exported state; its head and the length are no secrets.
        let mut empty = BTreeSet::new();
        digest(&vec![0; block]).export().windows(8).for_each(|window| {
            empty.insert(window.to_vec());
        });
        for at in 0..state.len() - 7 {
            let window = &state[at..at + 8];
            let plain = window.iter().filter(|byte| **byte == 0).count() > 2 || empty.contains(window);
            if !plain {
                add(needles, &format!("state after {name}, exported byte {at}"), window);
            }
        }
    }
}

fn needles(cases: &[Case]) -> Needles {
    let mut needles = Needles::new();
    for case in cases {
        if !case.mac_key.is_empty() {
            add(&mut needles, "HMAC key", &case.mac_key);
            add_hmac(&mut needles, case, &case.mac_key);
        }
        if case.opcode == Opcode::Hmac {
            add_hmac(&mut needles, case, &case.key);
        }
        add(&mut needles, "key", &case.key);
        if (0x10..=0x16).contains(&(case.algorithm as u8)) {
            let halves = if case.algorithm == Algorithm::AesXts { 2 } else { 1 };
            for half in case.key.chunks(case.key.len() / halves) {
                add(&mut needles, "AES round keys", &expand(half));
            }
        }
    }
    needles
}

/// What of the needles is in memory.
fn scan(memory: &[u8], needles: &Needles) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    // Most of it is zero.
    for (block, at) in memory.chunks(64).zip((0..).step_by(64)) {
        if block.iter().all(|byte| *byte == 0) {
            continue;
        }
        for at in at..(at + 64).min(memory.len().saturating_sub(7)) {
            let window = u64::from_le_bytes(memory[at..at + 8].try_into().expect("eight bytes"));
            if let Some(what) = needles.get(&window) {
                found.entry(what.clone()).or_insert(at);
            }
        }
    }
    found
}

/// Runs cases on a stack and in memory that are looked at afterwards; what secrets are there.
fn leaks(cases: &[Case], carried: bool, stack: &mut [u128]) -> Vec<String> {
    let arena = Arc::new(LocalArena::new(1 << 20));
    let needles = needles(cases);
    stack.fill(0);
    USED.store(0, Ordering::Relaxed);
    let begin = BEGIN.load(Ordering::Relaxed);
    // SAFETY: the region is a leaked allocation of that size, and nothing lies in it now.
    unsafe { std::ptr::with_exposed_provenance_mut::<u8>(begin).write_bytes(0, 4 << 20) };
    let mut station = None;
    // On that stack too: on its own the test has computed with the same keys, and values with uninitialised parts take
    // along what lies there.
    on_stack(stack, &mut || {
        ARMED.store(true, Ordering::Relaxed);
        station = Some(Station::new(arena.clone(), 128));
        ARMED.store(false, Ordering::Relaxed);
    });
    let mut station = station.expect("made");
    for (case, tag) in cases.iter().zip(1..) {
        let word = station.lay(case, tag, Form { carried, gather: false }).word;
        station.client.submissions.push(&word.to_words()).expect("room");
    }
    station.client.submissions.publish();
    let mut ended = 0;
    on_stack(stack, &mut || {
        ARMED.store(true, Ordering::Relaxed);
        ended = station.accelerator.step(0);
        ARMED.store(false, Ordering::Relaxed);
    });
    assert_eq!(ended, cases.len());
    while let Some(done) = station.client.completed() {
        assert_eq!(done.status, cases[done.tag as usize - 1].status as u16);
    }
    let used = USED.load(Ordering::Relaxed);
    assert!(used > 0 && used < 4 << 20);
    // SAFETY: as above; the station lives there, and nobody changes it now.
    let region = unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<u8>(begin), used) };
    let bytes: Vec<u8> = stack.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let name = &cases[0].name;
    let report = |place: &str, found: BTreeMap<String, usize>, len: usize| -> Vec<String> {
        let from = |at| if place == "stack" { len - at } else { at };
        found.iter().map(|(what, at)| format!("{name}: {place}: {what}, at {:#x}", from(*at))).collect()
    };
    let mut leaks = report("stack", scan(&bytes, &needles), bytes.len());
    leaks.extend(report("heap", scan(region, &needles), region.len()));
    leaks
}

/// The scan finds what is there.
fn finds(stack: &mut [u128]) {
    let mut needles = Needles::new();
    let secret: Vec<u8> = Random::new(1).bytes(16);
    add(&mut needles, "a secret", &secret);
    stack.fill(0);
    on_stack(stack, &mut || {
        let copy = secret.clone();
        let array: [u8; 16] = copy.try_into().expect("16 bytes");
        std::hint::black_box(&array);
    });
    let bytes: Vec<u8> = stack.iter().flat_map(|word| word.to_ne_bytes()).collect();
    assert!(!scan(&bytes, &needles).is_empty());
}

/// What kernels are known to spill to the stack and leave there, and nobody else may: AES in vector registers,
/// Camellia, KASUMI, and the outer state of HMAC with SHA-512. Of AES some gets to the heap, where values with
/// uninitialised parts are copied over what was spilled.
fn of_an_engine(leak: &str) -> bool {
    let [aes, key, opad] =
        [": AES round keys", "stack: key from", "stack: state after opad"].map(|text| leak.contains(text));
    aes || opad || key && (leak.contains(" Camellia") || leak.contains(" Kasumi"))
}

/// Objects stay in the accelerator's own memory until it goes to sleep, or a grant goes: not longer.
fn objects_are_forgotten() {
    type Forget = fn(&mut Station<Arc<LocalArena>>);
    let ways: [Forget; 3] = [
        |station| assert!(station.accelerator.sleep()),
        |station| {
            let other = station.accelerator.add_grant(Arc::new(LocalArena::new(64)), 0);
            station.accelerator.remove_grant(other);
        },
        |station| assert!(station.accelerator.release_grant(station.grant).is_some()),
    ];
    let mut random = Random::new(52);
    for forget in ways {
        let begin = BEGIN.load(Ordering::Relaxed);
        USED.store(0, Ordering::Relaxed);
        // SAFETY: as in `leaks`.
        unsafe { std::ptr::with_exposed_provenance_mut::<u8>(begin).write_bytes(0, 4 << 20) };
        let arena = Arc::new(LocalArena::new(1 << 20));
        ARMED.store(true, Ordering::Relaxed);
        let mut station = Station::new(arena, 128);
        ARMED.store(false, Ordering::Relaxed);
        let mut needles = Needles::new();
        for (kind, tag) in every_kind().iter().filter(|kind| kind.has_destination()).zip(1..) {
            // Of more than one size, so that staging memory grows.
            let case = random_case(&mut random, kind, 100 * tag as usize);
            add(&mut needles, "an input", &case.source);
            add(&mut needles, "an output", &case.output);
            let word = station.lay(&case, tag, Form { carried: false, gather: tag % 3 == 0 }).word;
            station.client.submissions.push(&word.to_words()).expect("room");
        }
        station.client.submissions.publish();
        let region = || {
            let used = USED.load(Ordering::Relaxed);
            assert!(used > 0 && used < 4 << 20);
            // SAFETY: as in `leaks`; nobody changes it while it is looked at.
            unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<u8>(begin), used) }
        };
        ARMED.store(true, Ordering::Relaxed);
        while station.accelerator.step(0) > 0 {}
        ARMED.store(false, Ordering::Relaxed);
        assert!(!scan(region(), &needles).is_empty(), "the scan finds objects in staging memory");
        forget(&mut station);
        assert_eq!(scan(region(), &needles), BTreeMap::new());
    }
}

#[test]
fn nothing_of_a_key_is_left() {
    BEGIN.store(
        Box::leak(vec![0_u8; REGION].into_boxed_slice()).as_mut_ptr().expose_provenance(),
        Ordering::Relaxed,
    );
    objects_are_forgotten();
    let mut stack = vec![0_u128; (2 << 20) / 16];
    finds(&mut stack);
    let mut random = Random::new(51);
    let mut all = vec![];
    for kind in every_kind().iter().filter(|kind| kind.has_key()) {
        for (count, len) in [(1, 40), (1, 700), (40, 100)] {
            let cases: Vec<_> = (0..count)
                .map(|_| {
                    loop {
                        let case = random_case(&mut random, kind, len);
                        let long = |key: &[u8]| key.len() >= 16;
                        if long(&case.key) && (!case.is_chained() || long(&case.mac_key)) {
                            return case;
                        }
                    }
                })
                .collect();
            for carried in [false, true] {
                let how = if carried { "carried" } else { "in a slot" };
                let found = leaks(&cases, carried, &mut stack);
                all.extend(found.into_iter().map(|leak| format!("{count} x {len}, {how}: {leak}")));
            }
        }
    }
    let (known, others): (Vec<_>, Vec<_>) = all.iter().partition(|leak| of_an_engine(leak));
    println!("{} secrets left on the stack by engines' kernels", known.len());
    for leak in &others {
        println!("{leak}");
    }
    assert!(others.is_empty(), "{} secrets are left", others.len());
}
