//! Where the bytes of keys are: nowhere that a client maps, in no dump, and where the kernel has secret memory not
//! even where root can read.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use millstream::cwq::Algorithm;
use millstream::isolated::Exportable;
use millstream::queue::Request;
use millstream_protocol::{KeyReply, KeyRequest, Secret};

use super::hostile::Raw;
use super::operations::{Client, IV};
use super::service::{Service, eventually, runs, signal};

/// The readable memory of a process: where each piece is, and its bytes. What can't be read is left out.
fn memory_of(pid: u32) -> Vec<(String, Vec<u8>)> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let mut memory = File::open(format!("/proc/{pid}/mem")).unwrap();
    let mut pieces = Vec::new();
    for line in maps.lines() {
        let (range, rest) = line.split_once(' ').unwrap();
        let (begin, end) = range.split_once('-').unwrap();
        let address = |text| u64::from_str_radix(text, 16).unwrap();
        let (begin, end) = (address(begin), address(end));
        if !rest.starts_with('r') || end - begin > 1 << 30 {
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

/// In which pieces of memory a secret lies.
fn places(memory: &[(String, Vec<u8>)], secret: &[u8]) -> BTreeSet<String> {
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

/// A key that was made in the worker, and used, is in no memory that its client maps. It is exported in the end, which
/// is how the test knows what to look for.
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
    // The scan finds what is there.
    let mine = memory_of(std::process::id());
    assert!(!places(&mine, &secret).is_empty(), "the scan would find it");
}

/// What is shared with the client holds no key either, whoever looks at it.
#[test]
fn keys_are_not_in_shared_memory() {
    let service = Service::start();
    let raw = Raw::attach(&service, 1, 64);
    let secret = *b"an imported key, 32 bytes of it.";
    let import = KeyRequest::Import { algorithm: 0x15, exportable: true, bytes: Secret::new(&secret) };
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

/// Not even root reads a key in a worker: not its bytes, and not the round keys of AES that follow from it.
#[test]
fn a_worker_s_keys_are_in_no_memory_that_can_be_read_from_outside() {
    let service = Service::with(&["--accelerators", "1"]);
    let status = service.status();
    let kind = status["workers"][0]["key_memory"].as_str().unwrap_or_default().to_owned();
    if !kind.contains("memfd_secret") {
        println!("SKIPPED this kernel has no memfd_secret ({kind}): keys of a worker can be read by root");
        return;
    }
    let accelerator = service.attach().unwrap();
    let mut queue = accelerator.queue().unwrap();
    let secret = *b"this key is looked for by root..";
    let key = queue.import_key(Algorithm::AesCbc, &secret).unwrap();
    for _ in 0..100 {
        let (source, destination) = (queue.buffer(256).unwrap(), queue.buffer(256).unwrap());
        queue.submit(Request::encrypt(key, &IV, source, destination)).unwrap();
        queue.wait().unwrap().result.unwrap();
    }
    let worker = service.workers()[0];
    assert_eq!(places(&memory_of(worker), &secret), BTreeSet::new());
    assert_eq!(places(&memory_of(service.pid()), &secret), BTreeSet::new(), "the broker never saw it");
    // It is still there and works.
    let mut client = Client::new(service.attach().unwrap());
    assert_eq!(client.stream(10, |_| {}).unwrap().good, 10);
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
