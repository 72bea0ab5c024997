//! Messages under a key in pieces: they come to the same as whole ones, and their mid-states are of use to nobody else.

use std::sync::Arc;

use millstream_accelerator::{Arena, GrantConfig, Handle, Key, KeySlots, LocalArena, MovedQueue};
use millstream_cwq::{Algorithm, Completion, ControlWord, Flags, Opcode, Status};
use millstream_testkit::Random;

use crate::case::features;
use crate::queue::{Client, Exclusive, Station};

const LEN: u32 = 1 << 16;
const DESTINATION: u32 = 20_000;
const AAD: u32 = 40_000;
const IV: u32 = 50_000;
const STATE: u32 = 51_000;
const MAC: u32 = 52_000;

/// All that messages in pieces can be under, with a key and the bytes of a tag.
const ALL: [(Algorithm, &[u8], u8); 14] = [
    (Algorithm::Md5, b"Jefe", 16),
    (Algorithm::Sha1, b"Jefe", 20),
    (Algorithm::Sha224, b"Jefe", 28),
    (Algorithm::Sha256, &[0xaa; 131], 32),
    (Algorithm::Sha384, b"Jefe", 48),
    (Algorithm::Sha512, b"Jefe", 64),
    (Algorithm::Sha512_256, b"Jefe", 32),
    (Algorithm::Sha3_224, b"Jefe", 28),
    (Algorithm::Sha3_256, &[0xaa; 137], 32),
    (Algorithm::Sha3_384, b"Jefe", 48),
    (Algorithm::Sha3_512, b"Jefe", 64),
    (Algorithm::AesCmac, &[7; 24], 16),
    (Algorithm::AesGcm, &[7; 32], 16),
    (Algorithm::ChaCha20Poly1305, &[7; 32], 16),
];

fn is_aead(algorithm: Algorithm) -> bool {
    matches!(algorithm, Algorithm::AesGcm | Algorithm::ChaCha20Poly1305)
}

/// A message, or what became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Message {
    aad: Vec<u8>,
    data: Vec<u8>,
    tag: Vec<u8>,
}

/// A station with a key in a slot.
struct Pieces<A> {
    station: Station<A>,
    key: Handle,
    algorithm: Algorithm,
    tag_len: u8,
}

impl<A: Arena + Clone> Pieces<A> {
    fn new(mut station: Station<A>, (algorithm, key, tag_len): (Algorithm, &[u8], u8)) -> Self {
        let key =
            station.accelerator.insert_raw_key(station.grant, algorithm, key, false).expect("a good key");
        Pieces { station, key, algorithm, tag_len }
    }

    /// A word under the key, for a whole message or a piece.
    fn word(&self, piece: bool) -> ControlWord {
        let (algorithm, hash) = match self.algorithm {
            Algorithm::AesCmac | Algorithm::AesGcm | Algorithm::ChaCha20Poly1305 => (self.algorithm as u8, 0),
            hash => (0, hash as u8),
        };
        let opcode = match (is_aead(self.algorithm), piece) {
            (true, true) => Opcode::PartialAead,
            (true, false) => Opcode::Aead,
            (false, true) => Opcode::PartialMac,
            (false, false) if hash == 0 => Opcode::Mac,
            (false, false) => Opcode::Hmac,
        };
        let key = self.key.to_bits();
        ControlWord { opcode: opcode as u8, algorithm, hash, key, tag: 9, ..ControlWord::default() }
    }

    fn run(&mut self, word: &ControlWord) -> Completion {
        self.station.client.submit(word);
        for _ in 0..10_000 {
            self.station.accelerator.step(0);
            if let Some(done) = self.station.client.completed() {
                assert_eq!(done.tag, word.tag);
                return done;
            }
        }
        panic!("it never ends: {word:?}");
    }

    fn read(&self, at: u32, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.station.arena.read(at, &mut bytes);
        bytes
    }

    /// Fills in what a word reads and where it writes.
    fn fill(&self, mut word: ControlWord, aad: &[u8], data: &[u8], iv: &[u8]) -> ControlWord {
        let arena = &self.station.arena;
        arena.write(0, data);
        word.source_len = data.len() as u32;
        if is_aead(self.algorithm) {
            arena.write(AAD, aad);
            arena.write(IV, iv);
            (word.destination, word.aad, word.aad_len) = (DESTINATION, AAD, aad.len() as u32);
            (word.iv, word.iv_len) = (IV, iv.len() as u8);
        } else if !iv.is_empty() {
            arena.write(AAD, iv);
            (word.aad, word.aad_len) = (AAD, iv.len() as u32);
        }
        word
    }

    fn nonce(&self) -> &'static [u8] {
        if is_aead(self.algorithm) { &[3; 12] } else { &[] }
    }

    /// The whole message at once.
    fn whole(&mut self, plain: &Message) -> Message {
        let word = self.fill(self.word(false), &plain.aad, &plain.data, self.nonce());
        let done = self.run(&ControlWord { mac: MAC, mac_len: self.tag_len, ..word });
        assert_eq!(done.status(), Some(Status::Ok));
        let data = if is_aead(self.algorithm) { self.read(DESTINATION, plain.data.len()) } else { vec![] };
        Message { data, tag: self.read(MAC, usize::from(self.tag_len)), ..plain.clone() }
    }

    /// One piece that is not the last: what becomes of its data, and the mid-state after it.
    fn piece(&mut self, reverse: bool, before: Option<&[u8]>, aad: &[u8], data: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let first = if before.is_none() { Flags::FIRST } else { 0 };
        let reverse = if reverse { Flags::REVERSE } else { 0 };
        let word = self.fill(self.word(true), aad, data, before.unwrap_or(self.nonce()));
        let done = self.run(&ControlWord { flags: first | reverse, state: STATE, ..word });
        assert_eq!(done.status(), Some(Status::Ok), "{:?}", self.algorithm);
        let out = if is_aead(self.algorithm) { self.read(DESTINATION, data.len()) } else { vec![] };
        (out, self.read(STATE, done.value as usize))
    }

    /// The last piece, whose tag is written, or compared with one; the status, and what became of its data.
    fn last(&mut self, before: Option<&[u8]>, data: &[u8], expected: Option<&[u8]>) -> (Status, Vec<u8>) {
        let first = if before.is_none() { Flags::FIRST } else { 0 };
        let reverse = if expected.is_some() { Flags::REVERSE } else { 0 };
        let word = self.fill(self.word(true), &[], data, before.unwrap_or(self.nonce()));
        self.station.arena.write(MAC, expected.unwrap_or(&[0; 64]));
        let mac_len = expected.map_or(self.tag_len, |tag| tag.len() as u8);
        let flags = first | reverse | Flags::LAST;
        let done = self.run(&ControlWord { flags, mac: MAC, mac_len, ..word });
        let out = if is_aead(self.algorithm) { self.read(DESTINATION, data.len()) } else { vec![] };
        (done.status().expect("a status"), out)
    }

    /// A message in pieces that end there.
    fn in_pieces(&mut self, message: &Message, reverse: bool, ends: &[usize]) -> (Status, Message) {
        let (mut state, mut data, mut begin) = (None, vec![], 0);
        // Associated data in two pieces of its own.
        if is_aead(self.algorithm) {
            let (front, back) = message.aad.split_at(message.aad.len() / 3);
            state = Some(self.piece(reverse, None, front, &[]).1);
            state = Some(self.piece(reverse, state.as_deref(), back, &[]).1);
        }
        for end in ends {
            let (out, after) = self.piece(reverse, state.as_deref(), &[], &message.data[begin..*end]);
            data.extend(out);
            (state, begin) = (Some(after), *end);
        }
        let expected = reverse.then_some(&message.tag[..]);
        let (status, out) = self.last(state.as_deref(), &message.data[begin..], expected);
        data.extend(out);
        let tag = if reverse { message.tag.clone() } else { self.read(MAC, usize::from(self.tag_len)) };
        (status, Message { aad: message.aad.clone(), data, tag })
    }
}

/// Chooses where a message of so many bytes is cut.
fn cuts(random: &mut Random, len: usize) -> Vec<usize> {
    let mut cuts: Vec<_> = (0..random.below(5)).map(|_| random.below(len + 1)).collect();
    cuts.sort_unstable();
    cuts
}

fn come_to_the_same<A: Arena + Clone>(station: impl Fn() -> Station<A>, random: &mut Random) {
    for of in ALL {
        let mut pieces = Pieces::new(station(), of);
        for len in [0, 1, 15, 16, 17, 63, 64, 65, 128, 129, 1000, 9000] {
            let plain = Message { aad: random.bytes(len % 50), data: random.bytes(len), tag: vec![] };
            let whole = pieces.whole(&plain);
            let ends = cuts(random, len);
            let (status, done) = pieces.in_pieces(&plain, false, &ends);
            assert!((status, &done) == (Status::Ok, &whole), "{:?}: {len} bytes cut at {ends:?}", of.0);
            let sealed = if is_aead(of.0) {
                whole.clone()
            } else {
                Message { tag: whole.tag.clone(), ..plain.clone() }
            };
            let (status, opened) = pieces.in_pieces(&sealed, true, &cuts(random, len));
            assert_eq!(status, Status::Ok, "{:?}: {len} bytes", of.0);
            assert!(!is_aead(of.0) || opened.data == plain.data);
            let mut wrong = sealed;
            wrong.tag[3] ^= 1;
            assert_eq!(pieces.in_pieces(&wrong, true, &ends).0, Status::Authentication);
        }
    }
}

#[test]
fn pieces_come_to_the_same_as_the_whole() {
    let arena = || Arc::new(LocalArena::new(LEN));
    let mut random = Random::new(31);
    come_to_the_same(|| Station::new(arena(), 8), &mut random);
    come_to_the_same(|| Station::new(Exclusive(arena()), 8), &mut random);
    for slice in [32, 47, 1024] {
        come_to_the_same(|| Station::new(arena(), 8).slice(slice), &mut random);
    }
}

/// A copy of a mid-state goes its own way, and is good again and again.
#[test]
fn a_mid_state_can_be_taken_up_twice() {
    for of in ALL {
        let mut pieces = Pieces::new(Station::new(Arc::new(LocalArena::new(LEN)), 8), of);
        let (_, state) = pieces.piece(false, None, &[], b"begins alike, ");
        for end in [&b"and ends so"[..], b"and ends otherwise", b"and ends so"] {
            let whole = [&b"begins alike, "[..], end].concat();
            let expected = pieces.whole(&Message { data: whole, ..Message::default() }).tag;
            assert_eq!(pieces.last(Some(&state), end, None).0, Status::Ok);
            assert_eq!(pieces.read(MAC, expected.len()), expected, "{:?}", of.0);
        }
    }
}

/// A message goes on where its grant went.
#[test]
fn a_mid_state_is_good_after_a_move() {
    for of in ALL {
        let arena = Arc::new(LocalArena::new(LEN));
        let mut pieces = Pieces::new(Station::new(arena.clone(), 8), of);
        let whole = pieces.whole(&Message { data: b"here and there".to_vec(), ..Message::default() });
        let (_, state) = pieces.piece(false, None, &[], b"here and ");
        let station = &mut pieces.station;
        let moved = station.accelerator.release_grant(station.grant).expect("a grant").keys.into_moved();
        let (client, submissions, completions) = Client::new(8);
        let keys = KeySlots::from_moved(features(), 16, None, moved).expect("the keys");
        let queues = [(submissions, completions, MovedQueue { weight: 1, ..MovedQueue::default() })];
        let adopted = station.accelerator.adopt_grant(arena, GrantConfig::new(16), queues, keys);
        (station.grant, station.client) = (adopted.expect("rings").0, client);
        assert_eq!(pieces.last(Some(&state), b"there", None).0, Status::Ok, "{:?}", of.0);
        assert_eq!(pieces.read(MAC, whole.tag.len()), whole.tag, "{:?}", of.0);
    }
}

/// A sealed state shows nothing to the client. One that he changes, or takes from elsewhere, is refused.
#[test]
fn a_mid_state_is_sealed() {
    for of in ALL {
        let mut pieces = Pieces::new(Station::new(Arc::new(LocalArena::new(LEN)), 8), of);
        let data = [0x5a; 40];
        let (_, state) = pieces.piece(false, None, &[], &data);
        assert!(!state.windows(4).any(|bytes| bytes == [0x5a; 4]), "{:?}", of.0);
        for at in [0, 31, 32, state.len() - 1] {
            let mut changed = state.clone();
            changed[at] ^= 0x80;
            assert_eq!(pieces.last(Some(&changed), b"", None).0, Status::MidState, "{:?}", of.0);
        }
        assert_eq!(pieces.last(Some(&state[..state.len() - 1]), b"", None).0, Status::MidState);
        let station = &mut pieces.station;
        let other =
            station.accelerator.insert_raw_key(station.grant, of.0, &[8; 32], false).expect("a good key");
        let own = std::mem::replace(&mut pieces.key, other);
        assert_eq!(pieces.last(Some(&state), b"", None).0, Status::MidState, "{:?}: another key", of.0);
        pieces.key = own;
        assert_eq!(pieces.last(Some(&state), b"", None).0, Status::Ok);
        assert!(pieces.station.accelerator.remove_key(pieces.station.grant, pieces.key));
        assert_eq!(pieces.last(Some(&state), b"", None).0, Status::Key, "the key is gone");
    }
}

/// A key whose bytes are not known seals nothing.
#[test]
fn a_key_without_its_bytes_takes_no_pieces() {
    for of in ALL {
        let mut pieces = Pieces::new(Station::new(Arc::new(LocalArena::new(LEN)), 8), of);
        let key = Key::new(features(), of.0, of.1).expect("a good key");
        let station = &mut pieces.station;
        pieces.key = station.accelerator.insert_key(station.grant, key).expect("a free slot");
        assert_eq!(pieces.last(None, b"data", None).0, Status::Key, "{:?}", of.0);
    }
}
