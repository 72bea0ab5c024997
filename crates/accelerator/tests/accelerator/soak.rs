//! An accelerator on one thread and its client on another: random operations, some taken back, every result
//! compared with a direct call's.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use millstream_accelerator::{Arena, FlushPolicy, LocalArena};
use millstream_cwq::{ControlWord, Opcode, Status};
use millstream_testkit::Random;

use crate::case::{Case, every_kind, not_so_random, random_case};
use crate::queue::{Client, FORMS, Laid, Layout, accelerator};

/// Bytes of the arena for each word in flight.
const PLACE: u32 = 16 * 1024;

const PLACES: u64 = 96;

/// A word in flight.
struct Flight<'c> {
    case: &'c Case,
    laid: Laid,
    before: Vec<u8>,
    taken_back: bool,
}

fn contents(arena: &LocalArena, place: u64) -> Vec<u8> {
    let mut bytes = vec![0; PLACE as usize];
    arena.read(place as u32 * PLACE, &mut bytes);
    bytes
}

/// Returns how many operations were done, and how many were cancelled.
fn soak(time: Duration) -> (u64, u64) {
    let mut random = Random::new(31);
    // A private key of RSA is too long for a word to bring it.
    let kinds: Vec<_> = every_kind().into_iter().filter(|kind| !kind.is_long()).collect();
    let cases: Vec<_> = (0..1500)
        .map(|i| {
            let len = random.below([100, 2000][i % 2]);
            random_case(&mut random, &kinds[i % kinds.len()], len)
        })
        .collect();
    let arena = Arc::new(LocalArena::new(PLACES as u32 * PLACE));
    let policy = FlushPolicy { full: 40, deadline: 3 };
    let mut accelerator = accelerator(policy);
    accelerator.set_random(not_so_random);
    let grant = accelerator.add_grant(arena.clone(), 0);
    let (mut client, submissions, completions) = Client::new(128);
    accelerator.add_queue(grant, submissions, completions, 1).expect("rings");
    let stop = AtomicBool::new(false);
    let mut counts = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut now = 0;
            while !stop.load(Ordering::Relaxed) {
                now += 1;
                if accelerator.step(now) == 0 && accelerator.held() == 0 {
                    std::thread::yield_now();
                }
            }
        });
        // Ends the other thread whatever happens to this one.
        struct Stop<'a>(&'a AtomicBool);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let _stop = Stop(&stop);
        let mut layout = Layout::new(arena.clone());
        let mut free: Vec<u64> = (0..PLACES).collect();
        let mut flights: BTreeMap<u64, Flight<'_>> = BTreeMap::new();
        let (mut cancels, mut next) = (BTreeMap::new(), 1);
        let end = Instant::now() + time;
        while Instant::now() < end || !flights.is_empty() || !cancels.is_empty() {
            let mut burst = if Instant::now() < end { random.below(30) } else { 0 };
            while burst > 0 && flights.len() + cancels.len() < 120 {
                burst -= 1;
                let Some(place) = free.pop() else { break };
                let case = &cases[random.below(cases.len())];
                layout.end = place as u32 * PLACE;
                // The place is in the tag.
                let tag = next * PLACES + place;
                next += 1;
                let form = FORMS[[1, 3, 5][random.below(3)]];
                let laid = layout.lay(case, tag, form, |_| unreachable!("keys are carried"));
                assert!(layout.end <= (place as u32 + 1) * PLACE);
                let before = contents(&arena, place);
                client.submit(&laid.word);
                flights.insert(tag, Flight { case, laid, before, taken_back: false });
                if random.below(8) == 0 {
                    let which = random.below(flights.len());
                    let of = flights.values_mut().nth(which).expect("one in flight");
                    of.taken_back = true;
                    let of = of.laid.word.tag;
                    let tag = next * PLACES;
                    next += 1;
                    client.submit(&ControlWord {
                        opcode: Opcode::Cancel as u8,
                        key: of as u32,
                        mac_key: (of >> 32) as u32,
                        tag,
                        ..ControlWord::default()
                    });
                    cancels.insert(tag, of);
                }
            }
            if flights.is_empty() {
                std::thread::yield_now();
            }
            while let Some(done) = client.completed() {
                if cancels.remove(&done.tag).is_some() {
                    assert_eq!(done.status(), Some(Status::Ok));
                    counts.1 += u64::from(done.value);
                    continue;
                }
                let flight = flights.remove(&done.tag).expect("a tag that is in flight");
                let (place, mut expected) = (done.tag % PLACES, flight.before);
                if done.status() == Some(Status::Cancelled) {
                    assert!(flight.taken_back);
                } else {
                    assert_eq!(done.status(), Some(flight.case.status), "{:?}", flight.case);
                    assert_eq!(done.value, flight.case.completion_value(), "{:?}", flight.case);
                    for (at, bytes) in &flight.laid.expected {
                        let at = (at - place as u32 * PLACE) as usize;
                        expected[at..at + bytes.len()].copy_from_slice(bytes);
                    }
                }
                assert!(contents(&arena, place) == expected, "{:?}", flight.case);
                free.push(place);
                counts.0 += 1;
            }
        }
    });
    counts
}

#[test]
fn two_seconds_of_anything() {
    let (done, cancelled) = soak(Duration::from_secs(2));
    println!("{done} operations, {cancelled} cancelled");
    assert!(done > 100);
}

/// Runs as long as `MILLSTREAM_SOAK_SECONDS` says, or a minute.
#[test]
#[ignore = "takes a minute"]
fn a_minute_of_anything() {
    let seconds = std::env::var("MILLSTREAM_SOAK_SECONDS").ok().and_then(|text| text.parse().ok());
    let (done, cancelled) = soak(Duration::from_secs(seconds.unwrap_or(60)));
    println!("{done} operations, {cancelled} cancelled");
    assert!(done > 100 && cancelled > 0);
}
