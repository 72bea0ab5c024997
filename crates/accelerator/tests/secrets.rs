//! Nothing of a key, and nothing of what it is expanded to, is left in memory after words have completed.
//!
//! The accelerator runs on a stack that the test owns, and takes its memory from a region that the test owns
//! and never gives back: both are read through afterwards. Keys in slots lie in memory of their own. What kernels
//! spill to the stack is wiped before it is looked at, as a worker does it whose stack can be read: so the test says that
//! nothing lies deeper than what is wiped. That the arena holds nothing but what was asked for the other tests say,
//! which compare all of it.
//!
//! # Safety
//! One thread at a time allocates from the region, while [`ARMED`] says so; the stack is exclusively borrowed for
//! the call that runs on it.
#![cfg(all(target_arch = "x86_64", not(miri)))]
#![allow(unsafe_code)]

#[path = "accelerator/case.rs"]
#[allow(dead_code)]
mod case;
#[path = "accelerator/needles.rs"]
mod needles;
#[path = "accelerator/queue.rs"]
#[allow(dead_code)]
mod queue;

use std::alloc::{GlobalAlloc, Layout, System};
use std::arch::asm;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use case::{Case, every_kind, random_case};
use millstream_accelerator::{Generator, LocalArena, Watch};
use millstream_cpu::Features;
use millstream_cwq::{Algorithm, Opcode, Status};
use millstream_engines::hash::Hash;
use millstream_publickey::ecdsa::{Curve, Lanes, Message, Presignature, PrivateKey};
use millstream_testkit::Random;
use needles::Needles;
use queue::{Form, Station};

const REGION: usize = 64 << 20;

/// The bytes of the region that one run uses at most. Keys on lattices and what is computed with them lie on the heap.
const MOST_USED: usize = 32 << 20;

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

/// The bytes that a worker wipes of its stack, where it must.
const WIPED: usize = 256 << 10;

/// Zeroes the stack below the caller.
#[inline(never)]
fn wipe_stack() {
    let bytes = [0_u8; WIPED];
    std::hint::black_box(&bytes);
}

fn needles_of(cases: &[Case]) -> Needles {
    let mut needles = Needles::default();
    for case in cases {
        needles.add_key(case::features(), case.key_algorithm(), &case.key);
        if case.is_chained() {
            needles.add_key(case::features(), case.hash, &case.mac_key);
        }
    }
    needles
}

/// The leftovers of cases.
#[derive(Default)]
struct Left {
    /// Secrets that lie where none may be.
    leaks: Vec<String>,
    /// Secrets that lay on the stack before it was wiped.
    spilled: usize,
    /// Bytes of the stack that were used.
    depth: usize,
}

/// Runs cases on a stack and in memory that are looked at afterwards.
fn run(cases: &[Case], needles: &Needles, carried: bool, stack: &mut [u128]) -> Left {
    let arena = Arc::new(LocalArena::new(1 << 20));
    stack.fill(0);
    let before = USED.swap(0, Ordering::Relaxed).max(4 << 20);
    let begin = BEGIN.load(Ordering::Relaxed);
    // SAFETY: the region is a leaked allocation of more bytes, and nothing lies in it now.
    unsafe { std::ptr::with_exposed_provenance_mut::<u8>(begin).write_bytes(0, before) };
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
        let word = station.lay(case, tag, Form { carried, gather: false, in_place: false }).word;
        station.client.submissions.push(&word.to_words()).expect("room");
    }
    station.client.submissions.publish();
    let mut ended = 0;
    on_stack(stack, &mut || {
        ARMED.store(true, Ordering::Relaxed);
        // Many operations of RSA take several turns.
        while ended < cases.len() {
            match station.accelerator.step(0) {
                0 => break,
                done => ended += done,
            }
        }
        ARMED.store(false, Ordering::Relaxed);
    });
    let spilled = bytes_of(stack);
    let depth = spilled.len() - spilled.iter().position(|byte| *byte != 0).unwrap_or(spilled.len());
    let spilled = needles.scan(&spilled).len();
    on_stack(stack, &mut wipe_stack);
    assert_eq!(ended, cases.len());
    while let Some(done) = station.client.completed() {
        assert_eq!(done.status, cases[done.tag as usize - 1].status as u16);
    }
    let used = USED.load(Ordering::Relaxed);
    assert!(used > 0 && used < MOST_USED, "{used}");
    // SAFETY: as above; the station lives there, and nobody changes it now.
    let region = unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<u8>(begin), used) };
    let bytes = bytes_of(stack);
    let name = &cases[0].name;
    let report = |place: &str, found: BTreeMap<String, usize>, len: usize| -> Vec<String> {
        let from = |at| if place == "stack" { len - at } else { at };
        found.iter().map(|(what, at)| format!("{name}: {place}: {what}, at {:#x}", from(*at))).collect()
    };
    let mut leaks = report("stack", needles.scan(&bytes), bytes.len());
    leaks.extend(report("heap", needles.scan(region), region.len()));
    Left { leaks, spilled, depth }
}

fn bytes_of(stack: &[u128]) -> Vec<u8> {
    let mut bytes = vec![0; size_of_val(stack)];
    for (bytes, word) in bytes.chunks_exact_mut(size_of::<u128>()).zip(stack) {
        bytes.copy_from_slice(&word.to_ne_bytes());
    }
    bytes
}

/// The scan finds what is there.
fn finds(stack: &mut [u128]) {
    let mut needles = Needles::default();
    let secret: Vec<u8> = Random::new(1).bytes(16);
    needles.add("a secret", &secret);
    stack.fill(0);
    on_stack(stack, &mut || {
        let copy = secret.clone();
        let array: [u8; 16] = copy.try_into().expect("16 bytes");
        std::hint::black_box(&array);
    });
    assert!(!needles.scan(&bytes_of(stack)).is_empty());
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
        let mut needles = Needles::default();
        for (kind, tag) in every_kind().iter().filter(|kind| kind.has_destination()).zip(1..) {
            // The objects have several sizes, so that staging memory grows.
            let case = random_case(&mut random, kind, 100 * tag as usize);
            // Eight bytes of digits of a small radix are mostly zero, and may be anything.
            if case.algorithm != Algorithm::AesFf1 || case.parameter >= 1 << 12 {
                // AES-KWP pads with zeros, so its last block may be anything, too.
                let padded = if case.algorithm == Algorithm::AesKwp { 8 } else { 0 };
                needles.add("an input", &case.source[..case.source.len() - padded]);
                needles.add("an output", &case.output[..case.output.len() - padded]);
            }
            let word =
                station.lay(&case, tag, Form { carried: false, gather: tag % 3 == 0, in_place: false }).word;
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
        assert!(!needles.scan(region()).is_empty(), "the scan finds objects in staging memory");
        forget(&mut station);
        assert_eq!(needles.scan(region()), BTreeMap::new());
    }
}

/// Nothing that a generator gave out, and no key or seed that made it, can be found in its memory or on its stack after.
fn random_bytes_are_forgotten(stack: &mut [u128]) {
    const BUFFER: usize = 4096;
    for (features, without) in needles::subsets() {
        stack.fill(0);
        USED.store(0, Ordering::Relaxed);
        let begin = BEGIN.load(Ordering::Relaxed);
        // SAFETY: as in `run`.
        unsafe { std::ptr::with_exposed_provenance_mut::<u8>(begin).write_bytes(0, 1 << 16) };
        let mut random = Random::new(53);
        let (seed, other): ([u8; 32], [u8; 32]) =
            (random.bytes(32).try_into().unwrap(), random.bytes(32).try_into().unwrap());
        // The same again, elsewhere: what the generator gives out, and the keys that make it.
        let mut needles = Needles::default();
        let mut key = seed.to_vec();
        for _ in 0..3 {
            needles.add_key(features, Algorithm::AesCtr, &key);
            let mut pass = vec![0; BUFFER];
            let ctr = millstream_engines::aes::Ctr::new(features, &key).unwrap();
            ctr.apply(&[0; 16], millstream_engines::InOut::in_place(&mut pass));
            key = pass[..32].to_vec();
            needles.add("output", &pass[32..]);
        }
        // The key that the seed made is in use, until another seed comes.
        let mut in_use = Needles::default();
        in_use.add_key(features, Algorithm::AesCtr, &key);
        needles.add("seed", &other);
        let mut output = vec![0_u8; 3 * (BUFFER - 32)];
        let mut generator = None;
        let region = || {
            let used = USED.load(Ordering::Relaxed);
            // SAFETY: as in `leaks`; nobody changes it while it is looked at.
            unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<u8>(begin), used) }
        };
        on_stack(stack, &mut || {
            ARMED.store(true, Ordering::Relaxed);
            let mut made = Generator::new(features, &seed);
            for part in output.chunks_mut(1000) {
                made.fill(part).unwrap();
            }
            generator = Some(made);
            ARMED.store(false, Ordering::Relaxed);
        });
        on_stack(stack, &mut wipe_stack);
        assert!(!needles.scan(&output).is_empty(), "the needles are what it gives out");
        assert_eq!(needles.scan(region()), BTreeMap::new(), "without [{without}]");
        assert_eq!(needles.scan(&bytes_of(stack)), BTreeMap::new(), "without [{without}]");
        assert!(!in_use.scan(region()).is_empty(), "the scan finds the key in use");
        let mut generator = generator.unwrap();
        on_stack(stack, &mut || {
            ARMED.store(true, Ordering::Relaxed);
            generator.reseed(&other);
            ARMED.store(false, Ordering::Relaxed);
        });
        let after = (needles.scan(region()), in_use.scan(region()));
        assert_eq!(after, Default::default(), "without [{without}]");
        on_stack(stack, &mut wipe_stack);
        assert_eq!(needles.scan(&bytes_of(stack)), BTreeMap::new(), "without [{without}]");
        drop(generator);
        assert!(region().iter().filter(|byte| **byte != 0).count() < 64, "all secrets are zeroed in the end");
    }
}

/// A clock that the test sets.
struct Clock(Arc<AtomicU64>);

impl Watch for Clock {
    fn look(&mut self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed))
    }
}

/// Draws nonces as an accelerator does that was seeded alike, and adds what may not be found of their presignatures: all but r, which is public.
fn add_presignatures(needles: &mut Needles, generator: &mut Generator) -> usize {
    let lanes = Lanes::new(case::features());
    let mut places = [const { Presignature::NONE }; 8];
    let places = &mut places[..lanes.presignatures()];
    lanes.presign(case::features(), generator, places).expect("random bytes");
    let key = PrivateKey::new(case::features(), Curve::P256, &[9; 32]).expect("a scalar");
    let message = Message::digest(Hash::Sha256, &[1; 32]);
    for place in places.iter_mut() {
        let at = std::ptr::from_ref(place).cast::<u64>();
        // SAFETY: the value lies there; its last word has padding, which is left out.
        let words = unsafe { std::slice::from_raw_parts(at, size_of::<Presignature>() / 8 - 1) }.to_vec();
        let signature =
            key.sign_presigned(&message, place.take().expect("made")).expect("numbers above zero");
        let r: Vec<u64> =
            signature[..32].chunks(8).map(|limb| u64::from_be_bytes(limb.try_into().unwrap())).collect();
        for word in words.iter().filter(|word| **word > 1 && !r.contains(word)) {
            needles.add("a presignature", &word.to_le_bytes());
        }
    }
    places.len()
}

/// Presignatures lie in the accelerator until they serve, or are old, or their grant moves: not longer.
fn presignatures_are_forgotten(stack: &mut [u128]) {
    const SEED: [u8; 32] = [0x17; 32];
    for (features, without) in [(Features::hardware(), ""), (Features::none(), "all")] {
        case::set_features(features);
        stack.fill(0);
        USED.store(0, Ordering::Relaxed);
        let begin = BEGIN.load(Ordering::Relaxed);
        // SAFETY: as in `run`.
        unsafe { std::ptr::with_exposed_provenance_mut::<u8>(begin).write_bytes(0, 4 << 20) };
        let region = || {
            let used = USED.load(Ordering::Relaxed);
            // SAFETY: as in `run`; nobody changes it while it is looked at.
            unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<u8>(begin), used) }
        };
        let (arena, clock) = (Arc::new(LocalArena::new(1 << 20)), Arc::new(AtomicU64::new(0)));
        let mut station = None;
        on_stack(stack, &mut || {
            ARMED.store(true, Ordering::Relaxed);
            let mut made = Station::new(arena.clone(), 128);
            made.accelerator.seed(&SEED);
            made.accelerator.keep_presignatures(Box::new(Clock(clock.clone())));
            assert!(made.accelerator.set_presigns(made.grant, true));
            station = Some(made);
            ARMED.store(false, Ordering::Relaxed);
        });
        let (mut station, mut generator) = (station.expect("made"), Generator::new(features, &SEED));
        let mut random = Random::new(54);
        let kinds = every_kind();
        let kind = kinds.iter().find(|kind| kind.opcode == Opcode::Sign && kind.algorithm == Algorithm::P256);
        let kind = kind.expect("a kind that signs");
        let sign = |station: &mut Station<Arc<LocalArena>>, stack: &mut [u128], random: &mut Random| {
            // With parameter 0 the nonce is random.
            let case = Case { parameter: 0, ..random_case(random, kind, 32) };
            let word = station.lay(&case, 1, Form { carried: false, gather: false, in_place: false }).word;
            station.client.submissions.push(&word.to_words()).expect("room");
            station.client.submissions.publish();
            on_stack(stack, &mut || {
                ARMED.store(true, Ordering::Relaxed);
                assert_eq!(station.accelerator.step(0), 1);
                ARMED.store(false, Ordering::Relaxed);
            });
            assert_eq!(station.client.completed().expect("it ended").status(), Some(Status::Ok));
        };
        let (mut needles, mut made) = (Needles::default(), 0);
        let mut presign = |station: &mut Station<Arc<LocalArena>>,
                           stack: &mut [u128],
                           random: &mut Random,
                           needles: &mut Needles| {
            // A signature asks in vain, and draws what hedges its nonce.
            sign(station, stack, random);
            generator.fill(&mut [0; 32]).expect("random bytes");
            on_stack(stack, &mut || {
                ARMED.store(true, Ordering::Relaxed);
                assert!(station.accelerator.wants_presignatures() && station.accelerator.presign());
                ARMED.store(false, Ordering::Relaxed);
            });
            let added = add_presignatures(needles, &mut generator);
            assert!(!needles.scan(region()).is_empty(), "the scan finds presignatures");
            made += added as u64;
            added
        };
        for _ in 0..presign(&mut station, stack, &mut random, &mut needles) {
            sign(&mut station, stack, &mut random);
        }
        let taken = station.accelerator.presignatures();
        assert_eq!((taken.ready, taken.dropped), (0, 0));
        type Forget = fn(&mut Station<Arc<LocalArena>>, &AtomicU64);
        let ways: [Forget; 4] = [
            |_, _| {},
            |station, _| station.accelerator.forget_presignatures(),
            |station, _| {
                let other = station.accelerator.add_grant(Arc::new(LocalArena::new(64)), 0);
                drop(station.accelerator.release_grant(other).expect("a grant"));
            },
            // Nobody has asked for so long that no more are made after this.
            |station, clock| {
                clock.fetch_add(5_000_000_000, Ordering::Relaxed);
                assert_eq!(station.accelerator.age_presignatures(), None);
                assert!(!station.accelerator.wants_presignatures());
            },
        ];
        for (way, forget) in ways.iter().enumerate() {
            if way > 0 {
                presign(&mut station, stack, &mut random, &mut needles);
            }
            // The test has computed and sought presignatures too. What it left on its own stack must not get into what it moves now.
            wipe_stack();
            forget(&mut station, &clock);
            on_stack(stack, &mut wipe_stack);
            assert_eq!(needles.scan(region()), BTreeMap::new(), "without [{without}], way {way}");
            assert_eq!(needles.scan(&bytes_of(stack)), BTreeMap::new(), "without [{without}], way {way}");
        }
        let counts = station.accelerator.presignatures();
        assert_eq!((counts.ready, counts.taken, counts.taken + counts.dropped), (0, taken.taken, made));
    }
}

/// Cases of a kind, whose keys are long enough to be recognised.
fn some_cases(random: &mut Random, kind: &Case, count: usize, len: usize) -> Vec<Case> {
    let case = |_| loop {
        let case = random_case(random, kind, len);
        let long = |key: &[u8]| key.len() >= 16;
        if long(&case.key) && (!case.is_chained() || long(&case.mac_key)) {
            return case;
        }
    };
    (0..count).map(case).collect()
}

/// Every kind of operation, its keys in slots and carried, under features that choose every kernel there is.
#[test]
fn nothing_of_a_key_is_left() {
    BEGIN.store(
        Box::leak(vec![0_u8; REGION].into_boxed_slice()).as_mut_ptr().expose_provenance(),
        Ordering::Relaxed,
    );
    objects_are_forgotten();
    let mut stack = vec![0_u128; (512 << 10) / 16];
    finds(&mut stack);
    random_bytes_are_forgotten(&mut stack);
    presignatures_are_forgotten(&mut stack);
    let mut random = Random::new(51);
    let mut all = Left::default();
    for (features, without) in needles::subsets() {
        case::set_features(features);
        for kind in every_kind().iter().filter(|kind| kind.has_key()) {
            for (count, len) in [(1, 700), (40, 100)] {
                let cases = some_cases(&mut random, kind, count, len);
                let needles = needles_of(&cases);
                for carried in [false, true] {
                    let how = if carried { "carried" } else { "in a slot" };
                    let left = run(&cases, &needles, carried, &mut stack);
                    let told = |leak| format!("without [{without}], {count} x {len}, {how}: {leak}");
                    all.leaks.extend(left.leaks.into_iter().map(told));
                    all.spilled += left.spilled;
                    all.depth = all.depth.max(left.depth);
                }
            }
        }
    }
    println!("{} secrets were on the stack, {} bytes of which were used", all.spilled, all.depth);
    for leak in &all.leaks {
        println!("{leak}");
    }
    assert!(all.leaks.is_empty(), "{} secrets are left", all.leaks.len());
    assert!(all.spilled > 0, "kernels spill, and the scan finds it");
    assert!(all.depth < WIPED, "{} bytes of stack are used, and fewer are wiped", all.depth);
}
