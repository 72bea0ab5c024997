//! The memory of a worker that has used keys for every algorithm, in slots and carried by words, with every
//! kernel there is, as root sees it: nothing of a key, and nothing of its expansion, is found.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use libtest_mimic::Trial;
use millstream_accelerator::{PublicKeyError, Random, generate_key, given_by, hash_of, slh_dsa_set};
use millstream_cpu::Features;
use millstream_cwq::{Algorithm, ControlWord, Flags, Opcode, Padding, Scheme, Status};
use millstream_protocol::Grant;
use millstream_testkit::keys::RSA_1024;

use crate::client::{Client, grant};
use crate::needles::{Needles, subsets};
use crate::process::Worker;
use crate::test;

pub fn tests() -> Vec<Trial> {
    vec![
        test("nothing_of_a_key_can_be_read", nothing_of_a_key_can_be_read),
        test("without_hidden_memory_stacks_are_wiped", without_hidden_memory_stacks_are_wiped),
    ]
}

/// The places of things in the arena.
const IV: u32 = 0;
const MAC: u32 = 64;
const KEYS: u32 = 4096;
const PEER: u32 = 8192;
const SOURCE: u32 = 64 << 10;
const DESTINATION: u32 = 128 << 10;

/// The number of objects that are executed together, so that lanes fill.
const TOGETHER: u64 = 40;

/// The name of bytes that are planted where they may be found.
const PLANTED: &str = "planted";

fn random(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty()).unwrap();
    bytes
}

struct System;

impl Random for System {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), PublicKeyError> {
        bytes.copy_from_slice(&random(bytes.len()));
        Ok(())
    }
}

/// Returns every algorithm with a key, and the lengths of keys that make a difference. Keys of fewer than 16
/// bytes are not looked for, because too many other bytes are like them.
fn every_key() -> Vec<(Algorithm, Vec<u8>)> {
    let lens = |algorithm| -> &'static [usize] {
        match algorithm {
            Algorithm::None
            | Algorithm::Crc32
            | Algorithm::Crc32c
            | Algorithm::IpChecksum
            | Algorithm::Random => &[],
            Algorithm::AesXts => &[32, 64],
            Algorithm::AesSiv => &[32, 48, 64],
            Algorithm::AesGcmSiv => &[16, 32],
            Algorithm::Xaes256Gcm | Algorithm::Fernet => &[32],
            Algorithm::ChaCha20Poly1305 | Algorithm::Ed25519 | Algorithm::X25519 => &[32],
            Algorithm::P256 | Algorithm::MlDsa44 | Algorithm::MlDsa65 | Algorithm::MlDsa87 => &[32],
            Algorithm::MlKem512 | Algorithm::MlKem768 | Algorithm::MlKem1024 => &[64],
            Algorithm::P384 => &[48],
            Algorithm::P521 => &[66],
            Algorithm::Rsa => const { &[RSA_1024.len()] },
            // One of the twelve sets stands for all.
            Algorithm::SlhDsaSha2_128f => &[64],
            algorithm if slh_dsa_set(algorithm).is_some() => &[],
            Algorithm::DesEcb | Algorithm::DesCbc | Algorithm::DesCfb | Algorithm::DesMac => &[16, 24],
            Algorithm::KasumiF8 | Algorithm::KasumiF9 => &[16],
            Algorithm::Sm4Ecb | Algorithm::Sm4Cbc | Algorithm::Sm4Ctr => &[16],
            Algorithm::Rc4 => &[16, 64],
            algorithm if hash_of(algorithm).is_some() => &[32, 200],
            _ => &[16, 24, 32],
        }
    };
    let keys = |algorithm: &Algorithm| {
        let algorithm = *algorithm;
        lens(algorithm).iter().map(move |len| match algorithm {
            Algorithm::Rsa => (algorithm, RSA_1024.to_vec()),
            // The root of a key must be that of its seeds.
            Algorithm::SlhDsaSha2_128f => {
                let key = generate_key(Features::hardware(), algorithm, *len, &mut System);
                (algorithm, key.unwrap().to_vec())
            }
            // Above it there is no scalar.
            Algorithm::P521 => (algorithm, [&[0][..], &random(*len - 1)].concat()),
            _ => (algorithm, random(*len)),
        })
    };
    Algorithm::ALL.iter().flat_map(keys).collect()
}

/// Makes a word that uses a key of an algorithm. In reverse, it has a tag to compare with, or something to
/// decrypt.
fn word(algorithm: Algorithm, reverse: bool) -> ControlWord {
    let word = ControlWord {
        algorithm: algorithm as u8,
        source: SOURCE,
        source_len: 704,
        flags: if reverse { Flags::REVERSE } else { 0 },
        ..ControlWord::default()
    };
    let cipher = ControlWord { opcode: Opcode::Cipher as u8, destination: DESTINATION, iv: IV, ..word };
    let sum = ControlWord { opcode: Opcode::Mac as u8, mac: MAC, ..word };
    use Algorithm::*;
    match algorithm {
        AesGcm | AesSiv | AesGcmSiv | Xaes256Gcm | ChaCha20Poly1305 => {
            let iv_len = if algorithm == Xaes256Gcm { 24 } else { 12 };
            ControlWord { opcode: Opcode::Aead as u8, iv_len, mac: MAC, mac_len: 16, ..cipher }
        }
        Fernet => ControlWord { opcode: Opcode::Aead as u8, iv_len: 24, mac: MAC, mac_len: 32, ..cipher },
        AesKw | AesKwp => {
            let iv_len = if algorithm == AesKwp && !reverse { 4 } else { 0 };
            ControlWord { opcode: Opcode::Aead as u8, iv_len, mac: MAC, mac_len: 8, ..cipher }
        }
        AesFf1 => ControlWord { source_len: ControlWord::MOST_FORMAT_BYTES, parameter: 1 << 16, ..cipher },
        AesCmac => ControlWord { mac_len: 16, ..sum },
        DesMac => ControlWord { mac_len: 8, ..sum },
        KasumiF9 => ControlWord { mac_len: 4, iv: IV, iv_len: 8, ..sum },
        Ed25519 => ControlWord { opcode: Opcode::Sign as u8, flags: 0, mac_len: 64, ..sum },
        P256 | P384 | P521 | Rsa => {
            let (opcode, hash) = (Opcode::Sign as u8, Sha256 as u8);
            let signed = ControlWord { opcode, hash, source_len: 32, flags: 0, ..sum };
            if algorithm != Rsa {
                return ControlWord { mac_len: given_by(algorithm, Opcode::Sign) as u8, ..signed };
            }
            let parameter = Scheme::of(Padding::Pkcs1).to_bits();
            ControlWord { parameter, mac: 0, destination: DESTINATION, mac_key_len: 128, ..signed }
        }
        MlDsa44 | MlDsa65 | MlDsa87 | SlhDsaSha2_128f => ControlWord {
            opcode: Opcode::Sign as u8,
            source_len: 32,
            flags: 0,
            destination: DESTINATION,
            mac_key_len: given_by(algorithm, Opcode::Sign) as u16,
            ..word
        },
        MlKem512 | MlKem768 | MlKem1024 => ControlWord {
            opcode: Opcode::Decapsulate as u8,
            source_len: given_by(algorithm, Opcode::Encapsulate),
            flags: 0,
            mac_len: 32,
            ..sum
        },
        X25519 => ControlWord {
            opcode: Opcode::Agree as u8,
            source: PEER,
            source_len: 32,
            flags: 0,
            mac_len: 32,
            ..sum
        },
        AesEcb | CamelliaEcb | Sm4Ecb | DesEcb | Rc4 => ControlWord { iv: 0, ..cipher },
        DesCbc | DesCfb | KasumiF8 => ControlWord { iv_len: 8, ..cipher },
        _ if hash_of(algorithm).is_some() => {
            let hash = algorithm as u8;
            ControlWord { opcode: Opcode::Hmac as u8, algorithm: 0, hash, mac_len: 16, ..sum }
        }
        _ => ControlWord { iv_len: 16, ..cipher },
    }
}

/// Uses a key in a slot and carried, alone and side by side, in both directions.
fn use_key(client: &mut Client, algorithm: Algorithm, key: &[u8]) {
    let handle = client.import(algorithm, false, key);
    client.arena.write(KEYS as usize, key);
    client.arena.write(PEER as usize, &[9; 32]);
    // The length of a key that is wrapped; all else has a vector of zeros.
    let length = if algorithm == Algorithm::AesKwp { 704_u32 } else { 0 };
    client.arena.write(IV as usize, &length.to_be_bytes());
    for reverse in [false, true] {
        let word = word(algorithm, reverse);
        let in_slot = ControlWord { key: handle, ..word };
        let flags = word.flags | Flags::KEY_IN_ARENA;
        let carried = ControlWord { key: KEYS, key_len: key.len() as u16, flags, ..word };
        // A private key of RSA is too long to be carried.
        let words = if algorithm == Algorithm::Rsa { &[in_slot][..] } else { &[in_slot, carried] };
        for &word in words {
            let right = |status| match status {
                Some(Status::Ok) => true,
                Some(Status::Authentication) => reverse,
                _ => false,
            };
            assert!(right(Some(client.execute(word))), "{algorithm:?}");
            client.submit(&vec![word; TOGETHER as usize]);
            for _ in 0..TOGETHER {
                assert!(right(client.next().status()), "{algorithm:?}");
            }
        }
    }
    client.arena.write(KEYS as usize, &vec![0; key.len()]);
}

/// Returns a worker that has used every key, and the bytes that may not be found in it.
fn used(features: Features, options: &[&str]) -> (Worker, Client, Needles) {
    let worker = Worker::start(options);
    // Keys of DES take the room of eight slots.
    let wide = Grant { key_slots: 512, ..grant(1) };
    let mut client = Client::served(&worker, wide);
    let mut needles = Needles::default();
    for (algorithm, key) in every_key() {
        needles.add_key(features, algorithm, &key);
        use_key(&mut client, algorithm, &key);
    }
    let planted = random(16);
    needles.add(PLANTED, &planted);
    client.arena.write(KEYS as usize, &planted);
    client.await_sleep();
    (worker, client, needles)
}

/// A piece of a process's memory.
struct Piece {
    line: String,
    begin: u64,
    end: u64,
}

/// Returns the memory that a process may write to, as the kernel lists it. Nothing that was computed lies
/// elsewhere.
fn pieces(process: &str) -> Vec<Piece> {
    let maps = std::fs::read_to_string(format!("{process}/maps")).unwrap();
    let piece = |line: &str| {
        let (range, rest) = line.split_once(' ').unwrap();
        let (begin, end) = range.split_once('-').unwrap();
        let [begin, end] = [begin, end].map(|address| u64::from_str_radix(address, 16).unwrap());
        (rest.as_bytes()[1] == b'w').then(|| Piece { line: line.to_owned(), begin, end })
    };
    maps.lines().filter_map(piece).collect()
}

/// Returns the bytes between two addresses, or none where they can't be read.
fn read(process: &str, begin: u64, end: u64) -> Option<Vec<u8>> {
    let mut memory = File::open(format!("{process}/mem")).unwrap();
    let mut bytes = vec![0; (end - begin) as usize];
    memory.seek(SeekFrom::Start(begin)).ok()?;
    match memory.read_exact(&mut bytes) {
        Ok(()) => Some(bytes),
        Err(error) => {
            assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::IO.raw_os_error()), "{error}");
            None
        }
    }
}

fn nothing_of_a_key_can_be_read() {
    for (features, without) in subsets() {
        let mask: Vec<_> = without.split_whitespace().map(|feature| format!("-{feature}")).collect();
        let (worker, client, needles) = used(features, &["--features", &mask.join(" ")]);
        let Some(process) = worker.described("nothing_of_a_key_can_be_read") else { return };
        if worker.key_memory != "memfd_secret" {
            println!("SKIPPED nothing_of_a_key_can_be_read: keys are in {}", worker.key_memory);
            return;
        }
        let (mut hidden, mut planted) = (0, false);
        for Piece { line, begin, end } in pieces(&process) {
            let found = read(&process, begin, end).map(|bytes| needles.scan(&bytes));
            assert_eq!(found.is_none(), line.contains("secretmem"), "{line}");
            hidden += usize::from(found.is_none());
            for what in found.unwrap_or_default().into_keys() {
                // The client wrote these bytes to the arena, and can read them.
                assert!(what.starts_with(PLANTED), "without [{without}]: {what} is at {line}");
                planted = true;
            }
        }
        // At least keys, the heap and two stacks are hidden, and the scan does find bytes in ordinary memory.
        assert!(hidden >= 4 && planted, "{hidden} pieces are hidden, planted found: {planted}");
        drop(client);
    }
}

/// On a kernel without `memfd_secret` the stacks can be read, but hold nothing.
fn without_hidden_memory_stacks_are_wiped() {
    let features = Features::hardware();
    let (worker, _client, needles) = used(features, &["--hidden", "no"]);
    assert!(worker.key_memory.starts_with("locked memory"), "{}", worker.key_memory);
    let Some(process) = worker.described("without_hidden_memory_stacks_are_wiped") else { return };
    let pieces = pieces(&process);
    // Keys are in memory that can be read here, so the scan must find them.
    let all = pieces.iter().filter_map(|piece| read(&process, piece.begin, piece.end));
    assert!(all.map(|bytes| needles.scan(&bytes).len()).sum::<usize>() > 100);
    let mut stacks = 0;
    for task in std::fs::read_dir(format!("{process}/task")).unwrap() {
        let task = task.unwrap().path();
        let name = std::fs::read_to_string(task.join("comm")).unwrap();
        // The system call in which a thread sleeps: number, arguments, stack pointer, instruction pointer.
        let sleeps = std::fs::read_to_string(task.join("syscall")).unwrap();
        let pointer = sleeps.split_whitespace().nth(7).and_then(|text| text.strip_prefix("0x"));
        let pointer = u64::from_str_radix(pointer.expect("it sleeps"), 16).unwrap();
        if !["accelerator", "control"].contains(&name.trim()) {
            continue;
        }
        let piece = pieces.iter().find(|piece| (piece.begin..piece.end).contains(&pointer)).unwrap();
        // The scan covers everything below the thread's frames, and the nearest of those.
        let stack = read(&process, piece.begin, piece.end.min(pointer + (8 << 10))).unwrap();
        assert!(stack.iter().any(|byte| *byte != 0));
        assert_eq!(needles.scan(&stack), Default::default(), "the stack of {name}");
        stacks += 1;
    }
    assert_eq!(stacks, 2);
}
