//! A unit with its queue in plain memory, and the tests that run on it.

mod blocks;
mod known_answers;
mod modular;
mod operations;
mod plain;
mod rainbow_falls;
mod registers;
mod user_queues;
mod words;

use millstream_testkit::Random;

use super::*;

/// The queue's memory, and where data begins.
pub(super) const QUEUE: u64 = 0x1000;
pub(super) const ENTRIES: u64 = 32;
const DATA: u64 = 0x2000;

/// A word with any fields: opcode, flags, hash length, authentication, cipher, key length and length; and its seven
/// addresses.
pub(crate) fn word_of(fields: (u64, u64, u64, u64, u64, u64, u64), addresses: &[u64]) -> ControlWord {
    let (opcode, flags, hash_len, auth, cipher, key_len, len) = fields;
    let control =
        opcode << 56 | flags << 48 | hash_len << 40 | auth << 32 | cipher << 24 | key_len << 16 | len;
    ControlWord {
        control: Control(control),
        source: addresses[0],
        auth_key: addresses[1],
        auth_iv: addresses[2],
        final_auth_state: addresses[3],
        cipher_key: addresses[4],
        cipher_iv: addresses[5],
        destination: addresses[6],
    }
}

/// A unit, memory, and a queue in it.
pub(super) struct Bench {
    pub memory: Vec<u8>,
    pub spu: Spu,
    free: u64,
    /// Every object's address, modulo 16.
    pub misalignment: u64,
}

impl Bench {
    pub fn new(model: Model) -> Bench {
        let mut bench = Bench { memory: vec![0; 0x60000], spu: Spu::new(model), free: DATA, misalignment: 0 };
        if model.has_queue() {
            for (address, value) in [
                (register::FIRST, QUEUE),
                (register::LAST, QUEUE + (ENTRIES - 1) * 64),
                (register::HEAD, QUEUE),
                (register::TAIL, QUEUE),
                (register::CSR, csr::ENABLED),
            ] {
                assert!(bench.spu.store(address, value));
            }
        }
        bench
    }

    /// Places an object in memory, and answers its address.
    pub fn place(&mut self, bytes: &[u8]) -> u64 {
        let address = self.free.next_multiple_of(16) + self.misalignment;
        self.free = address + bytes.len() as u64 + 16;
        self.memory.write(address, bytes).expect("enough memory");
        address
    }

    pub fn room(&mut self, bytes: usize) -> u64 {
        self.place(&vec![0x5a; bytes])
    }

    pub fn bytes(&self, address: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.memory.read(address, &mut bytes).expect("inside memory");
        bytes
    }

    pub fn register(&self, address: u64) -> u64 {
        self.queues().load(address).expect("a register")
    }

    pub fn queues(&self) -> &Queues {
        self.spu.queues.as_ref().expect("a control word queue")
    }

    /// Writes words at the tail, and moves it.
    pub fn submit(&mut self, words: &[ControlWord]) {
        let mut tail = self.register(register::TAIL);
        for word in words {
            self.memory.write(tail, &word.build()).expect("the queue");
            tail = if tail == self.register(register::LAST) {
                self.register(register::FIRST)
            } else {
                tail + 64
            };
        }
        assert!(self.spu.store(register::TAIL, tail));
    }

    /// Works until nothing is left to do.
    pub fn run(&mut self) -> Vec<Completed> {
        let mut done = Vec::new();
        for _ in 0..1000 {
            done.extend(self.spu.step(&mut self.memory));
            if self.spu.queues.as_ref().is_none_or(Queues::has_nothing) && !self.spu.mau.is_busy() {
                return done;
            }
        }
        panic!("the unit does not come to an end");
    }

    /// Executes words that must succeed.
    pub fn execute(&mut self, words: &[ControlWord]) {
        self.submit(words);
        let done = self.run();
        assert!(done.iter().all(|done| done.outcome == Outcome::Done), "{done:?}");
        assert_eq!(self.register(register::CSR), csr::ENABLED);
        assert_eq!(self.register(register::HEAD), self.register(register::TAIL));
    }

    /// Executes words of which one must be refused; answers its number, and the reason. The queue goes on after the
    /// last of them.
    pub fn refusal(&mut self, words: &[ControlWord]) -> (usize, Refusal) {
        let before = self.memory.clone();
        let first = self.register(register::HEAD);
        self.submit(words);
        let done = self.run();
        let Some(Completed { outcome: Outcome::Failed(Fault::Refused(refusal)), .. }) = done.last() else {
            panic!("not refused: {done:?}");
        };
        assert_eq!(self.register(register::CSR), csr::PROTOCOL_ERROR);
        assert!(self.memory[DATA as usize..] == before[DATA as usize..], "a refused word changes nothing");
        let index = done.len() - 1;
        let size = ENTRIES * 64;
        let head = (first - QUEUE + index as u64 * 64) % size + QUEUE;
        assert_eq!(self.register(register::HEAD), head, "the head stays at the word at fault");
        assert!(self.spu.store(register::HEAD, self.register(register::TAIL)));
        assert!(self.spu.store(register::CSR, csr::ENABLED));
        while self.spu.take_interrupt().is_some() {}
        (index, *refusal)
    }
}

/// A word for a cipher, with its objects placed.
pub(super) struct CipherWord {
    pub word: ControlWord,
    pub bytes: usize,
}

impl Bench {
    pub fn cipher(
        &mut self,
        cipher: Cipher,
        encrypt: bool,
        key: &[u8],
        iv: &[u8],
        source: &[u8],
    ) -> CipherWord {
        let control = Control::new(Opcode::Cipher, source.len()).with_cipher(cipher);
        let word = ControlWord {
            control: if encrypt { control.encrypting() } else { control },
            source: self.place(source),
            cipher_key: self.place(key),
            cipher_iv: if iv.is_empty() { 0 } else { self.place(iv) },
            destination: self.room(source.len()),
            ..ControlWord::default()
        };
        CipherWord { word, bytes: source.len() }
    }

    /// Runs a cipher word, and answers the bytes that it wrote.
    pub fn crypt(&mut self, CipherWord { word, bytes }: &CipherWord) -> Vec<u8> {
        self.execute(&[*word]);
        self.bytes(word.destination, *bytes)
    }

    /// A word for a hash, MAC or checksum, with its objects placed.
    pub fn auth(&mut self, auth: Auth, key: &[u8], state: &[u8], source: &[u8]) -> ControlWord {
        let control =
            Control::new(Opcode::Auth, source.len()).with_auth(auth).with_hash_len(auth.result_len());
        let control = if key.is_empty() { control } else { control.with_auth_key_len(key.len()) };
        ControlWord {
            control,
            source: self.place(source),
            auth_key: if key.is_empty() { 0 } else { self.place(key) },
            auth_iv: self.place(state),
            destination: self.room(auth.result_len()),
            ..ControlWord::default()
        }
    }

    pub fn digest(&mut self, word: &ControlWord) -> Vec<u8> {
        self.execute(&[*word]);
        self.bytes(word.destination, word.control.hash_len())
    }
}

/// All ciphers that work on blocks, of a unit.
pub(super) fn block_ciphers(model: Model) -> Vec<Cipher> {
    let kinds = CipherKind::ALL.into_iter().filter(|kind| kind.block_len() > 1);
    let all = kinds.flat_map(|kind| Chaining::ALL.map(|chaining| Cipher { kind, chaining }));
    all.filter(|cipher| cipher.known_to(model)).collect()
}

pub(super) fn random(seed: u64) -> Random {
    Random::new(seed)
}
