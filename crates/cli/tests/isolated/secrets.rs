//! The bytes of keys are in no memory that a client maps and in no dump, and where the kernel has secret
//! memory, not even root can read them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use millstream::cwq::Algorithm;
use millstream::isolated::Exportable;
use millstream::queue::{Queue, Request, RequestKey};
use millstream_protocol::{KeyPurpose, KeyReply, KeyRequest, Secret};

use super::hostile::Raw;
use super::needles::{Needles, subsets};
use super::operations::IV;
use super::service::{Service, eventually, runs, signal};

/// Returns the readable memory of a process, with the place of each piece. Pieces that can't be read are left
/// out, and so are those that are as they are in a file: programs and libraries, which nobody may write to.
pub fn memory_of(pid: u32) -> Vec<(String, Vec<u8>)> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let mut memory = File::open(format!("/proc/{pid}/mem")).unwrap();
    let mut pieces = Vec::new();
    for line in maps.lines() {
        let (range, rest) = line.split_once(' ').unwrap();
        let (begin, end) = range.split_once('-').unwrap();
        let address = |text| u64::from_str_radix(text, 16).unwrap();
        let (begin, end) = (address(begin), address(end));
        if !rest.starts_with('r') || is_as_in_a_file(rest) || end - begin > 1 << 30 {
            continue;
        }
        let mut bytes = vec![0; (end - begin) as usize];
        if memory.seek(SeekFrom::Start(begin)).is_ok() && memory.read_exact(&mut bytes).is_ok() {
            pieces.push((line.to_owned(), bytes));
        }
    }
    assert!(pieces.len() > 5, "the memory of {pid} can be read");
    pieces
}

/// Returns true for a private mapping of a file that may not be written to. What is shared may be written to elsewhere.
fn is_as_in_a_file(rest: &str) -> bool {
    let path = rest.split_whitespace().nth(4).unwrap_or_default();
    matches!(&rest[..4], "r--p" | "r-xp") && path.starts_with('/') && !path.starts_with("/memfd:")
}

/// Returns the pieces of memory in which a secret lies.
pub fn places(memory: &[(String, Vec<u8>)], secret: &[u8]) -> BTreeSet<String> {
    let found = memory.iter().filter(|(_, bytes)| memchr(bytes, secret));
    found.map(|(line, _)| line.clone()).collect()
}

fn memchr(bytes: &[u8], secret: &[u8]) -> bool {
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|byte| *byte == secret[0]) {
        if bytes[from + at..].starts_with(secret) {
            return true;
        }
        from += at + 1;
    }
    false
}

/// A key that was made and used in the worker is in no memory that its client maps. It is exported in the
/// end, so that the test knows what to look for.
#[test]
fn a_generated_key_is_in_no_memory_of_its_client() {
    let service = Service::start();
    let accelerator = service.attach().unwrap();
    let mut queue = accelerator.queue().unwrap();
    let key = accelerator.generate_key(Algorithm::AesCbc, 32, Exportable::Yes).unwrap();
    for _ in 0..100 {
        let (source, destination) = (queue.buffer(256).unwrap(), queue.buffer(256).unwrap());
        queue.submit(Request::encrypt(key, &IV, source, destination)).unwrap();
        queue.wait().unwrap().result.unwrap();
    }
    let mine = memory_of(std::process::id());
    let secret = accelerator.export_key(key).unwrap();
    assert_eq!(places(&mine, &secret), BTreeSet::new());
    // The scan must find the exported key.
    let mine = memory_of(std::process::id());
    assert!(!places(&mine, &secret).is_empty(), "the scan would find it");
}

/// Memory shared with the client holds no key either, whoever looks at it.
#[test]
fn keys_are_not_in_shared_memory() {
    let service = Service::start();
    let raw = Raw::attach(&service, 1, 64);
    let secret = *b"an imported key, 32 bytes of it.";
    let import = KeyRequest::Import {
        algorithm: 0x15,
        exportable: true,
        purpose: KeyPurpose::default(),
        bytes: Secret::new(&secret),
    };
    let Some(KeyReply::Key { handle }) = raw.ask(&import) else { panic!("imported") };
    for mapping in [&raw.arena, &raw.rings, &raw.state] {
        let mut bytes = vec![0; mapping.len()];
        mapping.read(0, &mut bytes);
        assert!(!memchr(&bytes, &secret));
    }
    assert!(
        matches!(raw.ask(&KeyRequest::Export { handle }), Some(KeyReply::Exported { bytes }) if bytes.expose() == secret)
    );
}

/// Uses a key of an algorithm as clients of the service do: alone and many at once, by handle and carried
/// along.
fn use_key(queue: &mut Queue, algorithm: Algorithm, key: &[u8]) {
    let handle = queue.import_key(algorithm, key).unwrap();
    let keys = [RequestKey::Slot(handle), RequestKey::Carried(algorithm, key)];
    for (key, count) in keys.into_iter().flat_map(|key| [(key, 1), (key, 32)]) {
        for _ in 0..count {
            let source = queue.buffer(64).unwrap();
            let destination = || queue.buffer(64).unwrap();
            let request = match algorithm {
                Algorithm::AesGcm | Algorithm::ChaCha20Poly1305 => {
                    Request::seal(key, &IV[..12], &[], source, destination())
                }
                Algorithm::Sha256 | Algorithm::Sha512 | Algorithm::AesCmac | Algorithm::DesMac => {
                    Request::mac(key, source)
                }
                Algorithm::DesCbc => Request::encrypt(key, &IV[..8], source, destination()),
                Algorithm::AesEcb => Request::encrypt(key, &[], source, destination()),
                _ => Request::encrypt(key, &IV, source, destination()),
            };
            queue.submit(request).unwrap();
        }
        for _ in 0..count {
            queue.wait().unwrap().result.unwrap();
        }
    }
}

/// Not even root reads a key in a worker of the service, nor any part of its expansion, whichever kernels use
/// it. The worker's own tests cover every algorithm (`crates/broker/tests/worker/secrets.rs`).
#[test]
fn a_worker_s_keys_are_in_no_memory_that_can_be_read_from_outside() {
    use Algorithm::*;
    for (features, without) in subsets() {
        let mask: Vec<_> = without.split_whitespace().map(|feature| format!("-{feature}")).collect();
        let service = Service::as_command(|serve| {
            serve.args(["--accelerators", "1"]).env("MILLSTREAM_HWCAP", mask.join(" "));
        });
        let status = service.status();
        let kind = status["workers"][0]["key_memory"].as_str().unwrap_or_default().to_owned();
        if kind != "memfd_secret" {
            println!(
                "SKIPPED keys, heap and stacks of a worker can be read by root here: they are in {kind}"
            );
            return;
        }
        let accelerator = service.attach().unwrap();
        let mut queue = accelerator.queue().unwrap();
        let mut needles = Needles::default();
        let mut random = [0; 64];
        rustix::rand::getrandom(&mut random[..], rustix::rand::GetRandomFlags::empty()).unwrap();
        let keys =
            [(AesCbc, 32), (AesEcb, 16), (AesXts, 64), (AesGcm, 32), (AesCmac, 16), (ChaCha20Poly1305, 32)];
        let others = [(CamelliaCbc, 32), (DesCbc, 24), (DesMac, 16), (Sha256, 32), (Sha512, 64)];
        for (algorithm, len) in keys.into_iter().chain(others) {
            needles.add_key(features, algorithm, &random[..len]);
            use_key(&mut queue, algorithm, &random[..len]);
        }
        // The scan must find what a client writes to the memory it shares.
        let mut planted = queue.buffer(64).unwrap();
        planted.copy_from_slice(&random);
        let arena = |line: &str| line.contains("/memfd:");
        let of_worker = memory_of(service.workers()[0]);
        assert!(of_worker.iter().any(|(line, bytes)| arena(line) && !needles.scan(bytes).is_empty()));
        let of_broker = memory_of(service.pid());
        for (line, bytes) in of_worker.iter().chain(&of_broker).filter(|(line, _)| !arena(line)) {
            assert_eq!(needles.scan(bytes), Default::default(), "without [{without}]: at {line}");
        }
    }
}

#[test]
fn a_worker_that_crashes_leaves_no_dump() {
    let service = Service::as_command(|serve| {
        let folder = std::env::temp_dir();
        serve.current_dir(folder);
    });
    let worker = service.workers()[0];
    let limits = std::fs::read_to_string(format!("/proc/{worker}/limits")).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
    let _grant = service.attach().unwrap();
    signal(worker, "ABRT");
    eventually("it dies", || !runs(worker));
    let left = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    let dumps: Vec<_> = left
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("core"))
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(&worker.to_string()))
        .collect();
    assert!(dumps.is_empty(), "{dumps:?}");
}
