//! Control words of any 64 bytes, over an arena in the middle of memory that must not change: each has a
//! status, changes its outputs at most, and can be executed again. What it does does not depend on whether
//! objects are staged, nor on the way that it takes: alone, after others like it, and among others of any kind.
#![cfg_attr(fuzzing, no_main)]

use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use millstream_accelerator::{
    Accelerator, Arena, FlushPolicy, NonceCounter, Nonces, PreparedKey, Purpose, Way, given_by,
    is_long_result,
};
use millstream_cpu::Features;
use millstream_cwq::ring::{self, Consumer, Producer, Word};
use millstream_cwq::{Algorithm, Completion, ControlWord, Flags, Opcode, Status, Usages};

const ARENA: usize = 2048;
const GUARD: usize = 512;
const RING: usize = 16;

/// An arena in the middle of an allocation.
#[derive(Clone)]
struct Middle {
    whole: NonNull<u8>,
    exclusive: bool,
}

// SAFETY: the allocation is never freed and has `ARENA` bytes after its first `GUARD`. Only one thread is
// there, and where the arena is exclusive only one word is in flight.
unsafe impl Arena for Middle {
    fn base(&self) -> NonNull<u8> {
        // SAFETY: inside the allocation.
        unsafe { self.whole.add(GUARD) }
    }

    fn len(&self) -> u32 {
        ARENA as u32
    }

    fn exclusive(&self) -> bool {
        self.exclusive
    }
}

impl Middle {
    fn new(exclusive: bool) -> Self {
        let whole = Box::leak(vec![0_u8; ARENA + 2 * GUARD].into_boxed_slice());
        Middle { whole: NonNull::from(whole).cast(), exclusive }
    }

    fn fill(&self, whole: &[u8]) {
        // SAFETY: as long as the allocation, to which no reference exists.
        unsafe { self.whole.as_ptr().copy_from_nonoverlapping(whole.as_ptr(), ARENA + 2 * GUARD) }
    }

    fn contents(&self) -> Vec<u8> {
        // SAFETY: as in `fill`; the reference ends with the copy.
        unsafe { std::slice::from_raw_parts(self.whole.as_ptr(), ARENA + 2 * GUARD).to_vec() }
    }
}

struct Station {
    accelerator: Accelerator<Middle, Arc<[Word]>>,
    arena: Middle,
    submissions: Producer<Arc<[Word]>, { ControlWord::WORDS }>,
    completions: Consumer<Arc<[Word]>, { Completion::WORDS }>,
}

impl Station {
    fn new(exclusive: bool) -> Self {
        let submissions: Arc<[Word]> = ring::memory::<{ ControlWord::WORDS }>(RING).into();
        let completions: Arc<[Word]> = ring::memory::<{ Completion::WORDS }>(RING).into();
        let arena = Middle::new(exclusive);
        let mut accelerator = Accelerator::new(Features::hardware(), FlushPolicy::default());
        // The same for every word, so that it gives the same again and in the other arena.
        accelerator.set_random(|bytes| {
            bytes.fill(0x5a);
            Ok(())
        });
        let grant = accelerator.add_grant(arena.clone(), 64);
        accelerator.add_queue(grant, submissions.clone(), completions.clone(), 1).expect("rings");
        // A key of SLH-DSA must have the root of its seeds, which takes milliseconds to find.
        let quick = |algorithm: &&Algorithm| millstream_accelerator::slh_dsa_set(**algorithm).is_none();
        for algorithm in Algorithm::ALL.iter().filter(quick) {
            for len in [8, 16, 32, 64] {
                let bytes: Vec<u8> = (1..=len).collect();
                if accelerator.insert_raw_key(grant, *algorithm, &bytes, false).is_ok() {
                    break;
                }
            }
        }
        // Keys for less: one whose nonces are made, and one that compares and signs nothing.
        let some = [(Algorithm::AesGcm, Usages::ENCRYPT, true), (Algorithm::Sha256, Usages::VERIFY, false)];
        for (algorithm, usages, made) in some {
            let nonces = if made { Nonces::Made(NonceCounter::counting([7; 4])) } else { Nonces::Given };
            let key =
                PreparedKey::new(Features::hardware(), algorithm, &[7; 16], false, None).expect("a key");
            let key = key.with_purpose(Purpose { usages, nonces }).expect("a purpose");
            accelerator.insert_prepared(grant, key).expect("a free slot");
        }
        Station {
            accelerator,
            arena,
            submissions: Producer::new(submissions).expect("a ring"),
            completions: Consumer::new(completions).expect("a ring"),
        }
    }

    fn execute(&mut self, words: &[ControlWord]) -> Vec<Completion> {
        for word in words {
            self.submissions.push(&word.to_words()).expect("room");
        }
        self.submissions.publish();
        let mut ended = 0;
        // A piece under a key takes a step for its associated data, and one for its data.
        for _ in 0..2 * words.len() + 1 {
            ended += self.accelerator.step(0);
        }
        assert_eq!(ended, words.len(), "each step takes one at least");
        let mut done = Vec::new();
        while let Some(words) = self.completions.pop().expect("a sound ring") {
            done.push(Completion::from_words(words));
        }
        self.completions.release();
        // In any order: a word that needs no engine doesn't wait for those that do.
        let mut tags: Vec<u64> = words.iter().map(|word| word.tag).collect();
        let mut answered: Vec<u64> = done.iter().map(|done| done.tag).collect();
        tags.sort_unstable();
        answered.sort_unstable();
        assert_eq!(answered, tags);
        for done in &done {
            assert_eq!(done.reserved, 0);
            let status = done.status().expect("a status");
            assert!(status == Status::Ok || done.value == 0);
        }
        done
    }
}

/// Bytes of the arena, and around it.
fn pattern() -> Vec<u8> {
    let mut whole: Vec<u8> = (0..ARENA + 2 * GUARD).map(|i| (i * 7 + i / 256) as u8).collect();
    // Some gather lists, at the beginning of the arena.
    for i in 0..32 {
        let (at, len) = (64 + 61 * i as u32 % 1900, 3 * i as u32);
        whole[GUARD + 8 * i..][..4].copy_from_slice(&at.to_le_bytes());
        whole[GUARD + 8 * i + 4..][..4].copy_from_slice(&len.to_le_bytes());
    }
    whole
}

/// Makes a word more likely to be understood.
fn tame(word: ControlWord) -> ControlWord {
    let opcode = Opcode::ALL[usize::from(word.opcode) % Opcode::ALL.len()];
    let of = |code: u8| Algorithm::ALL[usize::from(code) % Algorithm::ALL.len()] as u8;
    let near = |at: u32| at % (ARENA as u32 + 64);
    let cipher = opcode == Opcode::Cipher;
    let chained = matches!(opcode, Opcode::EncryptThenMac | Opcode::MacThenDecrypt | Opcode::Cancel);
    let aead = matches!(opcode, Opcode::Aead | Opcode::PartialAead);
    let cmac = opcode == Opcode::PartialMac && word.tag.is_multiple_of(4);
    let piece = matches!(opcode, Opcode::PartialHash | Opcode::PartialMac | Opcode::PartialAead);
    let random = opcode == Opcode::Random;
    let pass = random || cipher || chained || aead || matches!(opcode, Opcode::Copy | Opcode::CopyChecksum);
    let hash =
        matches!(opcode, Opcode::Hash | Opcode::PartialHash | Opcode::Hmac | Opcode::PartialMac) && !cmac;
    let keyed =
        cipher || chained || aead || matches!(opcode, Opcode::Hmac | Opcode::Mac | Opcode::PartialMac);
    let private = matches!(
        opcode,
        Opcode::Sign
            | Opcode::Agree
            | Opcode::PublicKey
            | Opcode::Verify
            | Opcode::Decrypt
            | Opcode::Encapsulate
            | Opcode::Decapsulate
    );
    let signers = [Algorithm::Ed25519, Algorithm::P256, Algorithm::P384, Algorithm::Rsa];
    let pair = match opcode {
        Opcode::Agree => [Algorithm::X25519, Algorithm::P256, Algorithm::P521][word.tag as usize % 3],
        Opcode::Decrypt => Algorithm::Rsa,
        // Of the keys on lattices only these have results for which the arena has room.
        Opcode::Encapsulate | Opcode::Decapsulate => Algorithm::MlKem512,
        Opcode::PublicKey if word.tag.is_multiple_of(5) => Algorithm::MlKem512,
        _ => signers[word.tag as usize % 4],
    };
    let signed = matches!(opcode, Opcode::Sign | Opcode::Verify | Opcode::Decrypt);
    let long_result = private && is_long_result(pair, opcode);
    let keyed = keyed || private;
    let in_arena = word.flags & Flags::KEY_IN_ARENA != 0 && keyed;
    let mac_in_arena = word.flags & Flags::MAC_KEY_IN_ARENA != 0 && chained;
    let handle = |key: u32| (1 << 16) | (key % 64);
    let first = |yes: bool, value: u32| if yes { value } else { 0 };
    let long = if word.flags & Flags::GATHER != 0 { word.source_len % 40 } else { word.source_len % 700 };
    ControlWord {
        version: 1,
        opcode: opcode as u8,
        algorithm: if hash {
            0
        } else if private {
            pair as u8
        } else if random && !word.tag.is_multiple_of(8) {
            Algorithm::Random as u8
        } else {
            of(word.algorithm)
        },
        hash: if hash || chained || signed && !word.hash.is_multiple_of(4) { of(word.hash) } else { 0 },
        flags: word.flags
            & Flags::ALL
            & !(if in_arena { 0 } else { Flags::KEY_IN_ARENA }
                | if mac_in_arena { 0 } else { Flags::MAC_KEY_IN_ARENA }),
        iv_len: if keyed && !private && opcode != Opcode::PartialMac { word.iv_len % 24 } else { 0 },
        mac_len: match opcode {
            Opcode::Cipher | Opcode::Random => 0,
            Opcode::Encapsulate => 32,
            _ if private => given_by(pair, opcode) as u8 & if long_result { 0 } else { 0xff },
            _ => word.mac_len % 66,
        },
        key: first(keyed, if in_arena { near(word.key) } else { handle(word.key) }),
        mac_key: first(chained, if mac_in_arena { near(word.mac_key) } else { handle(word.mac_key) }),
        source: match opcode {
            Opcode::PublicKey | Opcode::Random | Opcode::Encapsulate => 0,
            _ if word.flags & Flags::GATHER != 0 => word.source % 256,
            _ => near(word.source),
        },
        source_len: match opcode {
            Opcode::PublicKey | Opcode::Encapsulate => 0,
            Opcode::Decapsulate => 768,
            Opcode::Agree => given_by(pair, Opcode::PublicKey),
            Opcode::Decrypt => 128,
            _ if word.tag.is_multiple_of(3) => long & !15,
            _ => long,
        },
        destination: first(
            pass || long_result,
            // Some in place.
            near(if word.tag.is_multiple_of(7) { word.source } else { word.destination }),
        ),
        aad: first(aead || piece || opcode == Opcode::Verify, near(word.aad)),
        aad_len: first(!cipher && !random && (!private || opcode == Opcode::Verify), word.aad_len % 130),
        iv: first(keyed && !private && opcode != Opcode::PartialMac, near(word.iv)),
        mac: first(
            !cipher && !random && (!long_result || opcode == Opcode::Encapsulate) && opcode != Opcode::Verify,
            near(word.mac),
        ),
        key_len: match opcode {
            Opcode::Encapsulate if in_arena => 800,
            _ if in_arena => word.key_len % 70,
            _ => 0,
        },
        mac_key_len: match () {
            () if mac_in_arena => word.mac_key_len % 140,
            () if long_result && pair == Algorithm::MlKem512 => 760 + word.mac_key_len % 60,
            () if long_result => 100 + word.mac_key_len % 600,
            () => 0,
        },
        state: first(piece, near(word.state)),
        parameter: match () {
            () if signed => word.parameter & 0x3f_ff03,
            () if word.tag.is_multiple_of(5) => word.parameter & 0x107,
            () => 0,
        },
        tag: word.tag,
    }
}

/// The spans that a word may change.
fn outputs(word: &ControlWord, whole: &[u8]) -> Vec<std::ops::Range<usize>> {
    let len = if word.has(Flags::GATHER) {
        let list = whole.get(GUARD + word.source as usize..).unwrap_or_default();
        let entries = list.chunks_exact(8).take(word.source_len as usize);
        entries.map(|e| u32::from_le_bytes([e[4], e[5], e[6], e[7]]) as usize).sum()
    } else {
        word.source_len as usize
    };
    let reverse = word.has(Flags::REVERSE) || word.opcode == Opcode::MacThenDecrypt as u8;
    let span = |at: u32, len: usize| at as usize..at as usize + len;
    let pieces = [Opcode::PartialHash, Opcode::PartialMac, Opcode::PartialAead].map(|opcode| opcode as u8);
    let state = if pieces.contains(&word.opcode) { ControlWord::STATE_BYTES as usize } else { 0 };
    // A long result of a key pair has a length of its own.
    let of = Algorithm::from_code(word.algorithm).zip(Opcode::from_code(word.opcode));
    let is_long = of.is_some_and(|(algorithm, opcode)| is_long_result(algorithm, opcode));
    let len = if is_long { usize::from(word.mac_key_len) } else { len };
    vec![
        span(word.destination, len),
        span(word.mac, if reverse { 0 } else { usize::from(word.mac_len) }),
        span(word.state, state),
        span(word.iv, if word.has(Flags::MAKE_NONCE) { ControlWord::MADE_NONCE_BYTES as usize } else { 0 }),
    ]
}

fn check(word: &ControlWord, before: &[u8], after: &[u8], status: Status) {
    assert_eq!(before[..GUARD], after[..GUARD], "bytes before the arena");
    assert_eq!(before[GUARD + ARENA..], after[GUARD + ARENA..], "bytes after the arena");
    if before == after {
        return;
    }
    assert!(
        matches!(status, Status::Ok | Status::Authentication),
        "{status:?} and bytes have changed: {word:?}"
    );
    let outputs = outputs(word, before);
    for (i, (a, b)) in before[GUARD..].iter().zip(&after[GUARD..]).enumerate() {
        assert!(a == b || outputs.iter().any(|span| span.contains(&i)), "byte {i} has changed: {word:?}");
    }
}

thread_local! {
    static STATIONS: RefCell<(Station, Station)> = RefCell::new((Station::new(false), Station::new(true)));
}

fuzz_target!(|data: &[u8]| {
    let Some((&how, bytes)) = data.split_first() else { return };
    let words: Vec<ControlWord> = bytes
        .chunks(ControlWord::BYTES)
        .take(RING)
        .enumerate()
        .map(|(i, chunk)| {
            let mut whole = [0; ControlWord::BYTES];
            whole[..chunk.len()].copy_from_slice(chunk);
            let words =
                std::array::from_fn(|i| u64::from_le_bytes(*whole[8 * i..].first_chunk().expect("8 bytes")));
            let word = ControlWord::from_words(words);
            if how >> (i % 8) & 1 == 1 { tame(word) } else { word }
        })
        .collect();
    STATIONS.with_borrow_mut(|(staged, exclusive)| {
        let pattern = pattern();
        for word in &words {
            for station in [&mut *staged, &mut *exclusive] {
                station.arena.fill(&pattern);
            }
            let done = staged.execute(std::slice::from_ref(word));
            let after = staged.arena.contents();
            check(word, &pattern, &after, done[0].status().expect("a status"));
            if word.has(Flags::MAKE_NONCE) {
                // Each time under another nonce, which each accelerator counts for itself.
                assert_eq!(exclusive.execute(std::slice::from_ref(word)), done, "in place: {word:?}");
                check(word, &pattern, &exclusive.arena.contents(), done[0].status().expect("a status"));
                continue;
            }
            // The second word on the fast way follows one that is like it.
            for way in [Way::General, Way::Fast, Way::Fast] {
                for (station, how) in [(&mut *staged, "staged"), (&mut *exclusive, "in place")] {
                    station.accelerator.set_way(way);
                    // A word in place has written over its input.
                    if word.source == word.destination {
                        station.arena.fill(&pattern);
                    }
                    assert_eq!(station.execute(std::slice::from_ref(word)), done, "{way:?}, {how}: {word:?}");
                    assert_eq!(station.arena.contents(), after, "{way:?}, {how}: {word:?}");
                }
            }
        }
        let [fast, general] = [Way::Fast, Way::General].map(|way| {
            staged.arena.fill(&pattern);
            staged.accelerator.set_way(way);
            let mut done = staged.execute(&words);
            done.sort_unstable_by_key(|done| (done.tag, done.status, done.value));
            let after = staged.arena.contents();
            assert_eq!(after[..GUARD], pattern[..GUARD]);
            assert_eq!(after[GUARD + ARENA..], pattern[GUARD + ARENA..]);
            (done, after)
        });
        staged.accelerator.set_way(Way::Fast);
        // Each made nonce is another, and what is computed with it.
        if !words.iter().any(|word| word.has(Flags::MAKE_NONCE)) {
            assert_eq!(fast, general, "{words:?}");
        }
    });
});
