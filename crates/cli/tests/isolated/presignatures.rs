//! Nonces of P-256 that a worker for private keys computes before they are needed: where the policy says so, once each, and not for long.

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use millstream::SignatureScheme;
use millstream::cwq::Algorithm;
use millstream::hash::Hash;
use millstream::isolated::{Attach, Exportable};
use millstream::publickey::ecdsa::{Curve, Message, PublicKey};
use millstream::queue::{KeyHandle, Queue, Request};
use serde_json::Value;

use super::service::{PRIVATE, Service, eventually, millstream};

/// A service whose policy says `precompute` for everybody, and a client of it.
struct Trial {
    service: Service,
    policy: PathBuf,
    queue: Queue,
    key: KeyHandle,
    public: PublicKey,
    _folder: tempfile::TempDir,
}

const DIGEST: [u8; 32] = [0x5a; 32];

fn policy(precompute: &str) -> String {
    format!("[default]\n{precompute}\n")
}

impl Trial {
    /// Starts it; none where no memory for presignatures can be had.
    fn new(precompute: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.toml");
        std::fs::write(&path, policy(precompute)).unwrap();
        let service = Service::as_command(|serve| {
            serve.args([PRIVATE, "1", "--policy"]).arg(&path);
        });
        let kind = worker(&service)["key_memory"].as_str().unwrap().to_owned();
        if kind.contains("ordinary") {
            println!("SKIPPED presignatures: {kind}");
            return None;
        }
        let accelerator = Attach { private_keys: true, ..service.wanted() }.attach().unwrap();
        let key = accelerator.generate_key(Algorithm::P256, 32, Exportable::No).unwrap();
        let mut queue = accelerator.queue().unwrap();
        let point = run(&mut queue, Request::public_key(key));
        let public = PublicKey::new(millstream::features().unwrap(), Curve::P256, &point).unwrap();
        Some(Trial { service, policy: path, queue, key, public, _folder: folder })
    }

    fn sign(&mut self, digest: [u8; 32], deterministic: bool) -> Vec<u8> {
        let mut source = self.queue.buffer(32).unwrap();
        source.copy_from_slice(&digest);
        let scheme = SignatureScheme::Ecdsa { hash: Hash::Sha256, deterministic };
        let signature = run(&mut self.queue, Request::sign_with(self.key, scheme, source));
        self.public.verify(&Message::digest(Hash::Sha256, &digest), &signature).unwrap();
        signature
    }

    /// Signs now and then until there are presignatures for many signatures.
    fn fill(&mut self) {
        eventually("presignatures are made", || {
            self.sign(DIGEST, false);
            self.count("ready") >= 64
        });
    }

    fn presignatures(&self) -> Value {
        worker(&self.service)["presignatures"].clone()
    }

    fn count(&self, what: &str) -> u64 {
        self.presignatures()[what].as_u64().unwrap()
    }
}

/// Returns what is told of the worker for private keys. The other one has no presignatures.
fn worker(service: &Service) -> Value {
    let status = service.status();
    let workers = status["workers"].as_array().unwrap();
    let (private, other): (Vec<_>, Vec<_>) =
        workers.iter().partition(|worker| worker["private_keys"] == true);
    assert!(other.iter().all(|worker| worker["presignatures"].is_null()), "{status}");
    private[0].clone()
}

/// Executes an operation that must succeed, and returns what it gave.
fn run(queue: &mut Queue, request: Request<'_>) -> Vec<u8> {
    queue.submit(request).unwrap();
    let done = queue.wait().unwrap();
    done.result.unwrap();
    done.tag().to_vec()
}

/// Returns a number below 2^256 as DER has it.
fn integer(number: &[u8]) -> Vec<u8> {
    let first = number.iter().position(|byte| *byte != 0).unwrap();
    let mut bytes = number[first..].to_vec();
    if bytes[0] >= 0x80 {
        bytes.insert(0, 0);
    }
    [&[2, bytes.len() as u8][..], &bytes].concat()
}

/// Has the command of the system's OpenSSL verify a signature.
fn openssl_verifies(trial: &Trial, digest: &[u8], signature: &[u8]) -> bool {
    let file = |name: &str, bytes: &[u8]| {
        let path = trial.service.folder().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    // RFC 5480: id-ecPublicKey, secp256r1, and the point in a bit string.
    let mut spki = b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00".to_vec();
    spki.extend_from_slice(&trial.public.to_bytes());
    let numbers = [integer(&signature[..32]), integer(&signature[32..])].concat();
    let der = [&[0x30, numbers.len() as u8][..], &numbers].concat();
    let mut openssl = Command::new("openssl");
    openssl.args(["pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey"]).arg(file("public", &spki));
    openssl.arg("-in").arg(file("digest", digest)).arg("-sigfile").arg(file("signature", &der));
    openssl.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
}

#[test]
fn each_serves_once_and_signatures_are_right() {
    let Some(mut trial) = Trial::new("precompute = \"on\"") else { return };
    let mut seen = HashSet::new();
    for turn in 0..4000_u32 {
        if turn.is_multiple_of(100) {
            trial.fill();
        }
        let mut digest = DIGEST;
        digest[..4].copy_from_slice(&turn.to_be_bytes());
        let signature = trial.sign(digest, false);
        assert!(seen.insert(signature[..32].to_vec()), "two signatures have one nonce");
        if turn.is_multiple_of(500) {
            assert!(openssl_verifies(&trial, &digest, &signature));
            assert!(!openssl_verifies(&trial, &DIGEST, &signature), "it verifies nothing else");
        }
    }
    let counts = trial.presignatures();
    let (taken, ready) = (counts["taken"].as_u64().unwrap(), counts["ready"].as_u64().unwrap());
    assert!(counts["on"] == true && ready <= 128, "{counts}");
    assert!(taken >= 40 * 32, "many of 4000 signatures had a nonce that was there: {counts}");
}

#[test]
fn they_are_for_random_nonces_of_p256_only() {
    let Some(mut trial) = Trial::new("precompute = \"on\"") else { return };
    trial.fill();
    let accelerator = Attach { private_keys: true, ..trial.service.wanted() }.attach().unwrap();
    let others = [Algorithm::P384, Algorithm::Ed25519].map(|algorithm| {
        let len = if algorithm == Algorithm::P384 { 48 } else { 32 };
        accelerator.generate_key(algorithm, len, Exportable::No).unwrap()
    });
    let mut queue = accelerator.queue().unwrap();
    let before = trial.count("taken");
    let first = trial.sign(DIGEST, true);
    for _ in 0..20 {
        assert_eq!(trial.sign(DIGEST, true), first, "the nonce of RFC 6979");
        let scheme = SignatureScheme::Ecdsa { hash: Hash::Sha384, deterministic: false };
        let digest = queue_buffer(&queue);
        run(&mut queue, Request::sign_with(others[0], scheme, digest));
        let message = queue_buffer(&queue);
        run(&mut queue, Request::sign(others[1], message));
    }
    assert_eq!(trial.count("taken"), before);
    assert_ne!(trial.sign(DIGEST, false), trial.sign(DIGEST, false));
    assert_eq!(trial.count("taken"), before + 2);
}

fn queue_buffer(queue: &Queue) -> millstream::queue::Buffer {
    let mut buffer = queue.buffer(48).unwrap();
    buffer.fill(7);
    buffer
}

#[test]
fn the_old_are_wiped_and_not_made_again_unless_they_are_asked_for() {
    let Some(mut trial) = Trial::new("precompute = \"on\"") else { return };
    trial.fill();
    let ready = trial.count("ready");
    eventually("they grow old", || trial.count("ready") == 0);
    assert!(trial.count("dropped") >= ready, "{}", trial.presignatures());
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(trial.count("ready"), 0);
    trial.fill();
}

/// A worker that never rests wipes them, too.
#[test]
fn the_old_are_wiped_while_there_is_other_work() {
    let Some(mut trial) = Trial::new("precompute = \"on\"") else { return };
    // So many signatures wait that the worker has some also while their client waits for a processor.
    let depth = 256;
    let accelerator = Attach { private_keys: true, depth, ..trial.service.wanted() }.attach().unwrap();
    let key = accelerator.generate_key(Algorithm::Rsa, 256, Exportable::No).unwrap();
    let mut queue = accelerator.queue().unwrap();
    trial.fill();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let scheme = SignatureScheme::RsaPkcs1 { hash: Some(Hash::Sha384) };
            while !ended.load(Ordering::Relaxed) {
                while queue.in_flight() < depth {
                    let (digest, place) = (queue_buffer(&queue), queue.buffer(256).unwrap());
                    queue.submit(Request::sign_rsa(key, scheme, digest, place)).unwrap();
                }
                queue.wait().unwrap().result.unwrap();
            }
        });
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(7) && trial.count("ready") > 0 {
            std::thread::sleep(Duration::from_millis(100));
        }
        ended.store(true, Ordering::Relaxed);
        assert!(begin.elapsed() < Duration::from_secs(7), "{}", trial.presignatures());
    });
}

#[test]
fn the_policy_turns_them_on_and_off() {
    for said in ["", "precompute = \"off\""] {
        let Some(mut trial) = Trial::new(said) else { return };
        for _ in 0..200 {
            trial.sign(DIGEST, false);
        }
        std::thread::sleep(Duration::from_millis(5));
        let off = serde_json::json!({ "on": false, "ready": 0, "taken": 0, "dropped": 0 });
        assert_eq!(trial.presignatures(), off);
        std::fs::write(&trial.policy, policy("precompute = \"on\"")).unwrap();
        trial.service.operator(&["reload"]);
        trial.fill();
        assert_eq!(trial.presignatures()["on"], true);
        std::fs::write(&trial.policy, policy("")).unwrap();
        trial.service.operator(&["reload"]);
        let began = Instant::now();
        eventually("they are dropped", || trial.count("ready") == 0);
        assert!(began.elapsed() < Duration::from_secs(3), "at once, and not for their age");
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(trial.count("ready"), 0, "no more are made for nobody");
        let taken = trial.count("taken");
        trial.sign(DIGEST, false);
        let after = trial.presignatures();
        assert!(
            after["on"] == false && after["taken"] == taken && after["dropped"].as_u64() > Some(0),
            "{after}"
        );
    }
}

/// Where the machine could be copied and nothing would tell, `auto` is off.
#[test]
fn auto_is_on_where_no_copy_of_the_machine_goes_unseen() {
    let Some(mut trial) = Trial::new("precompute = \"auto\"") else { return };
    if millstream_shm::VmGeneration::open().is_some() {
        trial.fill();
        return;
    }
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap();
    let flags = processor.lines().find(|line| line.starts_with("flags"));
    let is_bare = flags.is_some_and(|flags| !flags.split_whitespace().any(|flag| flag == "hypervisor"));
    if is_bare {
        trial.fill();
    } else {
        trial.sign(DIGEST, false);
        assert_eq!(trial.presignatures()["on"], false);
    }
}

/// Whoever turns them on is warned.
#[test]
fn the_log_warns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.toml");
    for (said, warned) in [("precompute = \"on\"", true), ("precompute = \"auto\"", false)] {
        std::fs::write(&path, policy(said)).unwrap();
        // A service without a place for its socket ends at once, after it has read its policy.
        let mut serve = millstream();
        serve.args(["serve", "--socket", "/dev/null/socket", "--policy"]).arg(&path);
        let output = serve.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains("snapshot") == warned, "{text}");
    }
}
