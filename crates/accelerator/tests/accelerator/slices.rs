//! Long objects: executed in slices they come to the same as at once, and whatever happens between two slices, each ends
//! with one definite status.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use millstream_accelerator::{Arena, GrantId, LocalArena, QueueId, Turns};
use millstream_cwq::{Algorithm, ControlWord, Opcode, Status};
use millstream_testkit::Random;

use crate::case::{every_kind, random_case};
use crate::queue::{Client, Exclusive, FORMS, Memory, Station};

/// The shortest slices there are, some that end inside of blocks, and some of many blocks.
const SLICES: [u32; 4] = [32, 47, 200, 1024];

/// Runs every kind of operation, in every form, in slices of so many bytes, several at a time.
fn every_kind_in_slices<A: Arena + Clone>(mut station: Station<A>, slice: u32, random: &mut Random) {
    station = station.slice(slice);
    for kind in every_kind() {
        for form in FORMS {
            let most = 6 * slice as usize;
            let lens = [slice as usize, slice as usize + 1, random.below(most), most];
            let cases: Vec<_> = lens.iter().map(|len| random_case(random, &kind, *len)).collect();
            station.run(&cases.iter().collect::<Vec<_>>(), form);
        }
    }
}

#[test]
fn every_kind_comes_to_the_same_in_slices() {
    let mut random = Random::new(4711);
    for slice in SLICES {
        let arena = Arc::new(LocalArena::new(1 << 20));
        every_kind_in_slices(Station::new(arena.clone(), 32), slice, &mut random);
        every_kind_in_slices(Station::new(Exclusive(arena), 32), slice, &mut random);
    }
}

/// The SHA-256 digest of so many bytes.
fn long_hash(len: u32, tag: u64) -> ControlWord {
    let hash = Algorithm::Sha256 as u8;
    let opcode = Opcode::Hash as u8;
    ControlWord { opcode, hash, source: 64, source_len: len, mac_len: 32, tag, ..ControlWord::default() }
}

fn station() -> Station<Arc<LocalArena>> {
    Station::new(Arc::new(LocalArena::new(1 << 20)), 32).slice(4096)
}

#[test]
fn a_long_object_gives_way_to_a_short_one() {
    let mut station = station();
    let (mut other, submissions, completions) = Client::new(8);
    let arena = Arc::new(LocalArena::new(4096));
    let grant = station.accelerator.add_grant(arena, 1);
    station.accelerator.add_queue(grant, submissions, completions, 1).expect("rings");
    station.client.submit(&long_hash(1 << 19, 1));
    station.accelerator.step(0);
    other.submit(&long_hash(64, 2));
    let steps = (1..).find(|_| {
        station.accelerator.step(0);
        other.completed().is_some()
    });
    assert!(steps.is_some_and(|steps| steps <= 8), "it waited for {steps:?} turns");
    assert!(station.client.completed().is_none(), "the long one is not at its end");
    assert_eq!(station.accelerator.held(), 1);
    while station.accelerator.held() > 0 {
        station.accelerator.step(0);
    }
    assert_eq!(station.client.completed().and_then(|done| done.status()), Some(Status::Ok));
}

#[test]
fn a_long_object_can_be_cancelled_between_slices() {
    let mut station = station();
    station.client.submit(&long_hash(1 << 19, 7));
    station.accelerator.step(0);
    station.client.submit(&ControlWord {
        opcode: Opcode::Cancel as u8,
        key: 7,
        tag: 8,
        ..ControlWord::default()
    });
    while station.accelerator.step(0) > 0 || station.accelerator.held() > 0 {}
    let mut ended: Vec<_> = std::iter::from_fn(|| station.client.completed()).collect();
    ended.sort_by_key(|done| done.tag);
    let ended: Vec<_> = ended.iter().map(|done| (done.tag, done.status(), done.value)).collect();
    assert_eq!(ended, [(7, Some(Status::Cancelled), 0), (8, Some(Status::Ok), 1)]);
}

#[test]
fn a_long_object_ends_with_its_grant_and_with_its_key() {
    let mut gone = station();
    gone.client.submit(&long_hash(1 << 19, 1));
    gone.accelerator.step(0);
    gone.accelerator.remove_grant(gone.grant);
    assert_eq!(gone.client.completed().and_then(|done| done.status()), Some(Status::Revoked));
    assert_eq!(gone.accelerator.held(), 0);

    let mut station = station();
    let key = station
        .accelerator
        .insert_raw_key(station.grant, Algorithm::AesCmac, &[7; 16], false)
        .expect("a free slot");
    station.client.submit(&ControlWord {
        opcode: Opcode::Mac as u8,
        algorithm: Algorithm::AesCmac as u8,
        key: key.to_bits(),
        source: 64,
        source_len: 1 << 19,
        mac_len: 16,
        tag: 1,
        ..ControlWord::default()
    });
    station.accelerator.step(0);
    assert!(station.accelerator.remove_key(station.grant, key));
    while station.accelerator.step(0) > 0 || station.accelerator.held() > 0 {}
    assert_eq!(station.client.completed().and_then(|done| done.status()), Some(Status::Key));
}

#[test]
fn a_grant_that_moves_waits_for_its_long_objects_or_cancels_them() {
    let mut waited = station();
    waited.client.submit(&long_hash(1 << 19, 1));
    waited.accelerator.step(0);
    while waited.accelerator.pause(waited.grant) > 0 {
        waited.accelerator.step(0);
    }
    // Words that come now are left to whoever goes on.
    waited.client.submit(&long_hash(64, 2));
    assert_eq!(waited.accelerator.step(0), 0);
    assert!(waited.accelerator.release_grant(waited.grant).is_some());
    assert_eq!(waited.client.completed().and_then(|done| done.status()), Some(Status::Ok));
    assert!(waited.client.completed().is_none());

    let mut cut = station();
    cut.client.submit(&long_hash(1 << 19, 1));
    cut.accelerator.step(0);
    assert!(cut.accelerator.release_grant(cut.grant).is_some());
    assert_eq!(cut.client.completed().and_then(|done| done.status()), Some(Status::Cancelled));
}

/// Opens so many bytes from 64 on, to behind them. The tag is wrong.
fn open(key: millstream_accelerator::Handle, len: u32, tag: u64) -> ControlWord {
    ControlWord {
        opcode: Opcode::Aead as u8,
        algorithm: Algorithm::AesGcm as u8,
        flags: millstream_cwq::Flags::REVERSE,
        key: key.to_bits(),
        source: 64,
        source_len: len,
        destination: 64 + len,
        iv: 0,
        iv_len: 12,
        mac: 16,
        mac_len: 16,
        tag,
        ..ControlWord::default()
    }
}

/// A grant that opens things, in an accelerator that has others.
struct Opener {
    client: Client,
    grant: GrantId,
    queue: QueueId,
    rings: Memory,
    key: millstream_accelerator::Handle,
}

impl Opener {
    fn new(station: &mut Station<Arc<LocalArena>>, arena_bytes: u32) -> Self {
        let accelerator = &mut station.accelerator;
        let (client, submissions, completions) = Client::new(32);
        let grant = accelerator.add_grant(Arc::new(LocalArena::new(arena_bytes)), 1);
        let queue = accelerator.add_queue(grant, submissions.clone(), completions, 1).expect("rings");
        let key = accelerator.insert_raw_key(grant, Algorithm::AesGcm, &[7; 16], false).expect("a free slot");
        Opener { client, grant, queue, rings: submissions, key }
    }
}

const LONG: u32 = 2 << 20;

#[test]
fn openings_of_one_grant_wait_for_those_of_others() {
    let mut station = Station::new(Arc::new(LocalArena::new(4096)), 32).slice(1 << 16);
    let mut all: Vec<_> = (0..4).map(|_| Opener::new(&mut station, 2 * LONG + 4096)).collect();
    for opener in &mut all {
        let words = (0..8).map(|tag| open(opener.key, LONG, tag));
        words.for_each(|word| opener.client.submit(&word));
    }
    station.accelerator.step(0);
    // Short ones have places of their own.
    let mut short = Opener::new(&mut station, 2 * LONG + 4096);
    short.client.submit(&open(short.key, LONG / 4, 0));
    let (mut ended, mut first) = ([0_u32; 4], true);
    while station.accelerator.held() > 0 {
        station.accelerator.step(0);
        for (opener, ended) in all.iter_mut().zip(&mut ended) {
            while let Some(done) = opener.client.completed() {
                assert_eq!(done.status(), Some(Status::Authentication));
                *ended += 1;
            }
        }
        if short.client.completed().is_some() {
            assert!(ended.iter().sum::<u32>() <= 4, "the short one waited for {ended:?} long ones");
            first = false;
        }
        let (least, most) = (ended.iter().min().unwrap_or(&0), ended.iter().max().unwrap_or(&0));
        assert!(most - least <= 2, "{ended:?}: none opens its next while another waits");
    }
    assert_eq!((ended, first), ([8; 4], false));
}

#[test]
fn a_place_is_free_again_however_its_object_ends() {
    type End = fn(&mut Station<Arc<LocalArena>>, &mut Opener);
    let ways: [End; 3] = [
        |station, opener| station.accelerator.remove_queue(opener.queue),
        |_, opener| {
            let word = ControlWord { opcode: Opcode::Cancel as u8, tag: 9, ..ControlWord::default() };
            // The one under way and the one that waits.
            opener.client.submit(&ControlWord { key: 1, ..word });
            opener.client.submit(&ControlWord { key: 2, ..word });
        },
        |_, opener| opener.rings.iter().for_each(|word| word.store(u64::MAX, Ordering::Release)),
    ];
    for end in ways {
        let mut station = Station::new(Arc::new(LocalArena::new(4096)), 32).slice(4096);
        // Two have the places, and one is in line before whoever comes then.
        let mut before: Vec<_> = (0..3).map(|_| Opener::new(&mut station, 2 * LONG + 4096)).collect();
        for opener in &mut before {
            opener.client.submit(&open(opener.key, LONG, 1));
            opener.client.submit(&open(opener.key, LONG, 2));
        }
        station.accelerator.step(0);
        assert_eq!(station.accelerator.held(), 6);
        before.iter_mut().for_each(|opener| end(&mut station, opener));
        let mut last = Opener::new(&mut station, 2 * LONG + 4096);
        last.client.submit(&open(last.key, LONG, 1));
        let steps = (0..20_000).find(|_| {
            station.accelerator.step(0);
            let done = last.client.completed();
            done.inspect(|done| assert_eq!(done.status(), Some(Status::Authentication))).is_some()
        });
        assert!(steps.is_some(), "it still waits");
        assert_eq!(station.accelerator.held(), 0);
    }
}

/// Requests about keys and doorbells are charged to a grant, too, and there is no end to them.
#[test]
fn no_client_keeps_a_place_by_staying_in_debt() {
    const DEBT: u64 = 20_000_000;
    let mut station = Station::new(Arc::new(LocalArena::new(1 << 20)), 32);
    // This clock makes every turn take equally long.
    let mut now = 0;
    let clock = move || {
        now += 500;
        now
    };
    station.accelerator.bound_turns(Turns::default(), clock);
    let mut debtors: Vec<_> = (0..4).map(|_| Opener::new(&mut station, 2 * LONG + 4096)).collect();
    for debtor in &mut debtors {
        (1..9).for_each(|tag| debtor.client.submit(&open(debtor.key, LONG, tag)));
    }
    // Somebody always has something to do: in time that nobody wants, debts are let off.
    let step = |station: &mut Station<Arc<LocalArena>>| {
        while station.client.submissions.push(&long_hash(1 << 10, 0).to_words()).is_ok() {}
        station.client.submissions.publish();
        while station.client.completed().is_some() {}
        station.accelerator.step(0);
    };
    // Two of them have the places, the others are in line.
    (0..20).for_each(|_| step(&mut station));
    assert!(debtors.iter_mut().all(|debtor| debtor.client.completed().is_none()));
    let mut last = Opener::new(&mut station, 2 * LONG + 4096);
    last.client.submit(&open(last.key, LONG, 1));
    let steps = (0..5000).find(|_| {
        debtors.iter().for_each(|debtor| station.accelerator.charge(debtor.grant, DEBT));
        step(&mut station);
        last.client.completed().is_some()
    });
    assert!(steps.is_some(), "it still waits");
    // They are not let off, either.
    let opened = debtors.iter_mut().map(|debtor| std::iter::from_fn(|| debtor.client.completed()).count());
    assert!(opened.sum::<usize>() <= 2);
}

#[test]
fn no_more_long_objects_are_under_way_than_there_is_memory_for() {
    let mut station = Station::new(Arc::new(LocalArena::new(4096)), 32).slice(4096);
    let grant = station.accelerator.add_grant(Arc::new(LocalArena::new(1 << 19)), 1);
    let mut clients: Vec<_> = (0..64)
        .map(|_| {
            let (client, submissions, completions) = Client::new(16);
            station.accelerator.add_queue(grant, submissions, completions, 1).expect("rings");
            client
        })
        .collect();
    for client in &mut clients {
        (0..16).for_each(|tag| client.submit(&long_hash(1 << 18, tag)));
    }
    let mut most = 0;
    let (mut other, submissions, completions) = Client::new(8);
    let arena = Arc::new(LocalArena::new(1 << 19));
    let grant = station.accelerator.add_grant(arena, 1);
    station.accelerator.add_queue(grant, submissions, completions, 1).expect("rings");
    let mut begun_beside = 0;
    let mut left = 64 * 16;
    while left > 0 {
        station.accelerator.step(0);
        most = most.max(station.accelerator.held());
        if most >= 256 && begun_beside == 0 {
            other.submit(&long_hash(1 << 18, 1));
            begun_beside = left;
        }
        for client in &mut clients {
            while client.completed().is_some() {
                left -= 1;
            }
        }
        if other.completed().is_some() {
            assert!(begun_beside - left < 700, "it waited for {}", begun_beside - left);
            begun_beside = usize::MAX;
        }
    }
    assert!((256..=257).contains(&most), "{most} were under way");
    assert_eq!(begun_beside, usize::MAX, "another's went beside them");
}

#[test]
fn what_is_opened_in_slices_has_a_limit() {
    let len = millstream_accelerator::MOST_OPENED + 1;
    let arena = Arc::new(LocalArena::new(2 * len + 4096));
    let mut station = Station::new(arena, 32).slice(1 << 20);
    let key = station
        .accelerator
        .insert_raw_key(station.grant, Algorithm::AesGcm, &[7; 16], false)
        .expect("a free slot");
    let open = open(key, len, 1);
    station.client.submit(&open);
    while station.accelerator.step(0) > 0 || station.accelerator.held() > 0 {}
    assert_eq!(station.client.completed().and_then(|done| done.status()), Some(Status::TooLong));
    // One byte less is opened, and found to be wrong.
    station.client.submit(&ControlWord { source_len: len - 1, ..open });
    while station.accelerator.step(0) > 0 || station.accelerator.held() > 0 {}
    assert_eq!(station.client.completed().and_then(|done| done.status()), Some(Status::Authentication));
}

#[test]
fn queues_that_offer_nothing_rest_until_their_client_rings() {
    let mut station = station();
    let mut idle = vec![];
    for _ in 0..10 {
        let grant = station.accelerator.add_grant(Arc::new(LocalArena::new(4096)), 1);
        let (client, submissions, completions) = Client::new(8);
        station.accelerator.add_queue(grant, submissions, completions, 1).expect("rings");
        idle.push((grant, client));
    }
    for round in 0..4 {
        station.client.submit(&long_hash(64, round));
        station.accelerator.step(0);
        station.accelerator.wake_clients(|_| {});
        station.accelerator.rest();
    }
    assert_eq!((station.accelerator.queues(), station.accelerator.resting()), (11, 10));
    let (grant, client) = &mut idle[3];
    client.submit(&long_hash(64, 7));
    assert!(client.submissions.must_wake(), "its ring says that nobody looks");
    station.accelerator.attend(*grant);
    assert_eq!(station.accelerator.resting(), 9);
    assert_eq!(station.accelerator.step(0), 1);
    assert_eq!(client.completed().map(|done| done.tag), Some(7));
}

#[test]
fn of_queues_that_are_hardly_used_each_grant_waits_for_its_own() {
    const MANY: usize = 1000;
    let mut station = station();
    let arena = Arc::new(LocalArena::new(4096));
    let crowd = station.accelerator.add_grant(arena.clone(), 1);
    let mut add = |grant| {
        let (client, submissions, completions) = Client::new(8);
        station.accelerator.add_queue(grant, submissions, completions, 1).expect("rings");
        client
    };
    let mut many: Vec<_> = (0..MANY).map(|_| add(crowd)).collect();
    // All become calm: nothing was taken from them for some steps.
    let step = |station: &mut Station<Arc<LocalArena>>| {
        station.accelerator.step(0);
        station.accelerator.wake_clients(|_| {});
    };
    (0..64).for_each(|_| step(&mut station));
    assert_eq!(station.accelerator.resting(), 0);
    many[MANY - 1].submit(&long_hash(64, 1));
    station.client.submit(&long_hash(64, 2));
    // Each of two grants has every other look, so one with a single queue does not wait for the thousand of the other.
    (0..2).for_each(|_| step(&mut station));
    assert_eq!(station.client.completed().map(|done| done.tag), Some(2));
    // The other's has its turn when its queues were looked at once.
    let steps = (0..).take_while(|_| {
        step(&mut station);
        many[MANY - 1].completed().is_none()
    });
    assert!(steps.count() <= MANY / 4);
    // They can rest, and be woken, as any others.
    station.accelerator.rest();
    station.accelerator.rest();
    assert_eq!(station.accelerator.resting(), MANY + 1);
    many[7].submit(&long_hash(64, 3));
    station.accelerator.attend(crowd);
    step(&mut station);
    assert_eq!(many[7].completed().map(|done| done.tag), Some(3));
    station.accelerator.remove_grant(crowd);
    assert_eq!((station.accelerator.queues(), station.accelerator.resting()), (1, 1));
}
