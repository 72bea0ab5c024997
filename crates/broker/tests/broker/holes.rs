//! A client that punches holes into its own arena while its words touch it is ended, and nobody beside it.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use millstream_cwq::{Algorithm, ControlWord, Flags, Opcode, Status};
use millstream_protocol::{STATE_REVOKED, Wanted};
use millstream_shm::{Mapping, Memory};
use rustix::fs::{FallocateFlags, fallocate};

use crate::real::{Queue, attach};
use crate::system::{Service, Setting, eventually};

pub const TRIALS: &[(&str, fn())] =
    &[("real workers: who makes holes in its arena is ended, and no other", holes)];

/// A worker without progress for this long is dead. The limit is the service's, because a touch waits until
/// the kernel lets it in between two holes, which takes seconds on some machines.
const STUCK: Duration = Duration::from_secs(10);

const MAPPERS: usize = 4;
/// The number of times that each of them maps the arena. The kernel walks all of these to punch a hole.
const MAPPINGS: usize = 10_000;

const ARENA: u32 = 32 << 20;
/// The part of the arena from here on has no holes. Lists of pieces lie there, and digests.
const WHOLE: u32 = ARENA - (2 << 20);
const PIECES: u32 = 64;
const WORDS: u32 = 256;

/// Maps its standard input again and again, and keeps the mappings until it is killed.
pub fn map(_: &[OsString]) {
    let arena = Memory::received(std::io::stdin().as_fd().try_clone_to_owned().unwrap()).unwrap();
    let mapped: Vec<_> = (0..MAPPINGS).map_while(|_| Mapping::shared(&arena).ok()).collect();
    println!("{}", mapped.len());
    std::thread::sleep(Duration::from_secs(60));
}

struct Mapper(Child);

impl Mapper {
    fn new(arena: OwnedFd) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let mut child = command.arg("as-mapper").stdin(arena).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut said = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut said, &mut line).unwrap();
        assert_eq!(line.trim(), MAPPINGS.to_string());
        Mapper(child)
    }
}

impl Drop for Mapper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns where the list of a word begins.
fn list(word: u32) -> u32 {
    WHOLE + word * PIECES * 8
}

/// Makes a word that reads a byte of each of 64 pages.
fn gather(word: u32) -> ControlWord {
    ControlWord {
        opcode: Opcode::Hash as u8,
        hash: Algorithm::Sha256 as u8,
        flags: Flags::GATHER,
        source: list(word),
        source_len: PIECES,
        mac: ARENA - (1 << 20) + 64 * word,
        mac_len: 32,
        ..ControlWord::default()
    }
}

/// Writes the lists of pieces. Each piece is a byte of another page.
fn write_lists(arena: &Mapping) {
    for word in 0..WORDS {
        for piece in 0..PIECES {
            let page = (word * PIECES + piece) % (WHOLE / 4096);
            let entry = [(page * 4096).to_le_bytes(), 1u32.to_le_bytes()].concat();
            arena.write((list(word) + 8 * piece) as usize, &entry);
        }
    }
}

/// Tells threads to end when it is dropped.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

fn holes() {
    let service = Service::with(Setting { real: true, stuck: Some(STUCK), ..Setting::default() });
    let (client, attacker, watcher) = (service.client(), service.client(), service.client());
    let mut bystander = attach(&client);
    let before = watcher.status().0[0].pid;
    let wanted = Wanted { queues: 1, depth: WORDS, arena_bytes: ARENA, ..Wanted::default() };
    let mut attacker = Queue::of(attacker.try_attach(wanted).unwrap());
    let granted = attacker.granted.clone();
    write_lists(&Mapping::shared(&granted.arena).unwrap());
    attacker.submit(gather(0));
    assert_eq!(attacker.next(), Some(Status::Ok));
    let _mappers: Vec<_> = (0..MAPPERS).map(|_| Mapper::new(granted.arena.duplicate().unwrap())).collect();
    let over = AtomicBool::new(false);
    let (mut worst, begin) = (Duration::ZERO, Instant::now());
    std::thread::scope(|scope| {
        // The threads must end when an assertion fails, too.
        let _ends = Ends(&over);
        scope.spawn(|| {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            while !over.load(Relaxed) {
                fallocate(&granted.arena, flags, 0, u64::from(WHOLE)).unwrap();
            }
        });
        scope.spawn(|| {
            while granted.state() == 0 && !over.load(Relaxed) {
                (0..WORDS).for_each(|word| attacker.submit(gather(word)));
                for _ in 0..WORDS {
                    while !attacker.has_room_again() && granted.state() == 0 && !over.load(Relaxed) {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
            }
        });
        // The broker is asked for nothing meanwhile.
        while granted.state() == 0 && begin.elapsed() < 6 * STUCK {
            let asked = Instant::now();
            assert_eq!(bystander.null(), Some(Status::Ok), "its worker is gone");
            worst = worst.max(asked.elapsed());
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    println!("ended after {:?}; an operation beside it took {worst:?} at most", begin.elapsed());
    assert_eq!(granted.state(), STATE_REVOKED, "{worst:?}");
    assert_eq!(bystander.null(), Some(Status::Ok));
    let workers = eventually("it counts", || Some(watcher.status().0));
    assert_eq!((workers[0].pid, workers[0].restarts, bystander.granted.state()), (before, 0, 0));
}
