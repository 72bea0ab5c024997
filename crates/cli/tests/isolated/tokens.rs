//! Tokens of a real service: PINs, the life of a key, several clients, and deaths of everybody at any time.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use millstream::cwq::{Algorithm, Status, Usages};
use millstream::isolated::token::{Attributes, Login, OpenToken, Pin, TokenStatus, usage};
use millstream::isolated::{
    Accelerator, Attach, AttachError, Grants, KeyRefusal, Service as Operator, ServiceKey, ServiceRefusal,
};
use millstream::queue::{KeyHandle, KeyOptions, Queue, Request};
use millstream::{Error, SignatureScheme};

use super::secrets::{memory_of, places};
use super::service::{PRIVATE, Service, eventually, millstream, signal};

const OFFICER: &[u8] = b"officer's PIN";
const USER: &[u8] = b"314159";

/// A user who is not the service's.
const NOBODY: u32 = 65534;

/// The folder of a store, which services come and go with.
pub struct Kept(tempfile::TempDir);

impl Kept {
    pub fn new() -> Self {
        Kept(tempfile::tempdir_in(millstream_testkit::memory()).unwrap())
    }

    pub fn store(&self) -> PathBuf {
        self.0.path().join("tokens")
    }

    /// Starts a service with this store, and with these lines in `[tokens]`.
    pub fn serve_with(&self, workers: &str, lines: &str) -> Service {
        let policy = self.0.path().join("policy.toml");
        let store = self.store();
        let text =
            format!("[default]\nattaches_per_s = 0\nworkers = 0\n[tokens]\nstore = {store:?}\n{lines}");
        std::fs::write(&policy, text).unwrap();
        Service::as_command(|serve| {
            serve.args(["--accelerators", workers, PRIVATE, "1", "--policy"]).arg(&policy);
            serve.arg("--metrics").arg(format!("unix:{}", self.metrics().display()));
        })
    }

    fn metrics(&self) -> PathBuf {
        self.0.path().join("metrics.sock")
    }

    /// Returns the value of a metric.
    pub fn metric(&self, name: &str) -> u64 {
        let mut asked = UnixStream::connect(self.metrics()).unwrap();
        asked.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut said = String::new();
        asked.read_to_string(&mut said).unwrap();
        let line = said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {said}")).parse().unwrap()
    }

    pub fn serve(&self) -> Service {
        self.serve_with("1", "")
    }
}

/// Makes the token `web`.
pub fn make(service: &Service) -> u128 {
    service.attach().unwrap().make_token("web", OFFICER, Some(USER)).unwrap()
}

pub fn token(service: &Service) -> TokenStatus {
    let tokens = operator(service).tokens().unwrap();
    tokens.into_iter().find(|token| token.label == "web").unwrap()
}

pub fn operator(service: &Service) -> Operator {
    Operator::connect(Some(service.socket())).unwrap()
}

pub fn private(service: &Service) -> Accelerator {
    Attach { private_keys: true, ..service.wanted() }.attach().unwrap()
}

pub fn open(accelerator: &Accelerator, token: u128) -> OpenToken {
    accelerator.open_token(token, Pin::User(USER)).unwrap()
}

pub fn asked(label: &str, kind: &str) -> Attributes {
    Attributes { label: label.into(), kind: kind.into(), ..Attributes::default() }
}

pub fn refused<T: std::fmt::Debug>(result: Result<T, Error>, why: KeyRefusal) {
    assert_eq!(result.unwrap_err(), Error::Key(why));
}

/// Signs with a key of a grant.
fn signature(queue: &mut Queue, key: KeyHandle) -> Result<Vec<u8>, Status> {
    let mut message = queue.buffer(7).unwrap();
    message.copy_from_slice(b"message");
    queue.submit(Request::sign(key, message)).unwrap();
    let done = queue.wait().unwrap();
    done.result.map(|()| done.tag().to_vec())
}

#[test]
fn a_key_is_made_used_copied_changed_exported_and_removed() {
    let kept = Kept::new();
    let service = kept.serve();
    let web = make(&service);
    assert_eq!((token(&service).token, token(&service).objects, token(&service).manages), (web, 0, true));
    let accelerator = private(&service);
    let token = open(&accelerator, web);
    let wanted = Attributes { id: vec![1, 2], exportable: true, ..asked("server", "ed25519") };
    let (object, made) = token.generate(&wanted, None).unwrap();
    assert!(made.never_outside && made.exportable && made.bits == 256 && made.created > 0);
    assert_eq!((made.usages, &made.id[..]), (usage::SIGN | usage::VERIFY, &[1, 2][..]));
    assert_eq!(operator(&service).objects(web).unwrap(), [(object, made.clone())]);

    // The key signs for two grants, and each has a slot of its own.
    let mut queue = accelerator.queue().unwrap();
    let key = token.load(object, Algorithm::Ed25519, KeyOptions::default()).unwrap();
    let first = signature(&mut queue, key).unwrap();
    let raw = made.public_key.last_chunk::<32>().unwrap();
    let public =
        millstream::publickey::ed25519::PublicKey::new(millstream::features().unwrap(), raw).unwrap();
    public.verify(b"message", &first).unwrap();
    let other = private(&service);
    let also = open(&other, web);
    let loaded = also.load(object, Algorithm::Ed25519, KeyOptions::default()).unwrap();
    assert_eq!(signature(&mut other.queue().unwrap(), loaded).unwrap(), first);
    refused(token.load(object, Algorithm::P256, KeyOptions::default()), KeyRefusal::TokenKind);
    let derive = KeyOptions { usages: Some(Usages::DERIVE), ..KeyOptions::default() };
    refused(token.load(object, Algorithm::Ed25519, derive), KeyRefusal::TokenUsage);
    refused(token.load(object ^ 1, Algorithm::Ed25519, KeyOptions::default()), KeyRefusal::NoSuchObject);

    // A copy that can't leave, then the original outside and in again.
    let (copy, stays) =
        token.copy(object, &token, &Attributes { usages: usage::SIGN, ..asked("copy", "") }).unwrap();
    assert_eq!((&stays.public_key, stays.exportable, stays.usages), (&made.public_key, false, usage::SIGN));
    refused(token.export(copy), KeyRefusal::NotExportable);
    refused(token.change(copy, &Attributes { exportable: true, ..stays.clone() }), KeyRefusal::Attributes);
    refused(token.change(copy, &Attributes { usages: usage::VERIFY, ..stays }), KeyRefusal::TokenUsage);
    let bytes = token.export(object).unwrap();
    assert!(!token.show(object).unwrap().never_outside, "it has been outside");
    let (again, brought) = token.import(&asked("again", "ed25519"), &bytes).unwrap();
    assert_eq!((&brought.public_key, brought.never_outside), (&made.public_key, false));
    refused(token.import(&asked("x", "ed25519"), &bytes[1..]), KeyRefusal::KeyLength);
    refused(token.import(&asked("x", "dsa"), &bytes), KeyRefusal::Attributes);
    refused(token.import(&asked("x", "hmac"), &[7; 3600]), KeyRefusal::KeyLength);

    // The other grant sees what this one does, without its PIN again.
    let renamed =
        also.change(again, &Attributes { id: vec![9], usages: usage::SIGN, ..asked("renamed", "") }).unwrap();
    assert_eq!(token.show(again).unwrap(), renamed);
    token.remove(object).unwrap();
    refused(also.show(object), KeyRefusal::NoSuchObject);
    refused(also.remove(object), KeyRefusal::NoSuchObject);
    assert_eq!(signature(&mut queue, key).unwrap(), first, "what was loaded stays");
    let labels: BTreeSet<String> =
        operator(&service).objects(web).unwrap().into_iter().map(|(_, is)| is.label).collect();
    assert_eq!(labels, ["copy".to_owned(), "renamed".to_owned()].into());

    // All of it is there after the service has ended.
    drop((token, also, accelerator, other, queue, service));
    let service = kept.serve();
    let accelerator = private(&service);
    let key = open(&accelerator, web).load(copy, Algorithm::Ed25519, KeyOptions::default()).unwrap();
    assert_eq!(signature(&mut accelerator.queue().unwrap(), key).unwrap(), first);
}

#[test]
fn every_kind_of_key_is_made_and_used() {
    let kept = Kept::new();
    let service = kept.serve();
    let web = make(&service);
    let (data, pairs) = (service.attach().unwrap(), private(&service));
    let (of_data, of_pairs) = (open(&data, web), open(&pairs, web));
    for (kind, bits, algorithm) in [
        ("aes", Some(128), Algorithm::AesGcm),
        ("aes", None, Algorithm::AesCbc),
        ("hmac", Some(1024), Algorithm::Sha512),
        ("chacha20-poly1305", None, Algorithm::ChaCha20Poly1305),
    ] {
        let (object, made) = of_data.generate(&asked(kind, kind), bits).unwrap();
        assert_eq!(made.bits, bits.unwrap_or(256), "{kind}");
        let key = of_data.load(object, algorithm, KeyOptions::default()).unwrap();
        let mut queue = data.queue().unwrap();
        let (source, destination) = (queue.buffer(32).unwrap(), queue.buffer(32).unwrap());
        queue
            .submit(match algorithm {
                Algorithm::Sha512 => Request::mac(key, source),
                Algorithm::AesCbc => Request::encrypt(key, &[1; 16], source, destination),
                _ => Request::seal(key, &[1; 12], b"", source, destination),
            })
            .unwrap();
        queue.wait().unwrap().result.unwrap();
    }
    refused(of_pairs.generate(&asked("x", "aes"), Some(100)), KeyRefusal::KeyLength);
    static GRANTS: Grants = Grants::new();
    let (login, options) = (Login::new(web, USER), Grants::options(Some(service.socket().to_owned())));
    login.check(&GRANTS, &options).unwrap();
    for (kind, bits, algorithm, usages) in [
        ("p-256", None, Algorithm::P256, Usages::SIGN),
        ("p-384", None, Algorithm::P384, Usages::SIGN),
        ("p-521", None, Algorithm::P521, Usages::SIGN),
        ("x25519", None, Algorithm::X25519, Usages::DERIVE),
        ("rsa", Some(2048), Algorithm::Rsa, Usages::SIGN),
    ] {
        let (object, made) = of_pairs.generate(&asked(kind, kind), bits).unwrap();
        let key = ServiceKey::load(&GRANTS, &options, &login, object, algorithm, usages).unwrap();
        // The public key is the one that the token says: its raw form is the end of the encoding.
        let public = key.public_key().unwrap();
        assert!(made.public_key.ends_with(&public), "{kind}");
        match SignatureScheme::usual(algorithm, millstream::hash::Hash::Sha256) {
            Some(scheme) => drop(key.sign_with(scheme, &[7; 32]).unwrap()),
            None => drop(key.agree(&[9; 32]).unwrap()),
        }
    }
}

#[test]
fn wrong_pins_are_counted_for_all_and_the_officer_unlocks() {
    let kept = Kept::new();
    let service = kept.serve_with("2", "");
    let web = make(&service);
    let accelerator = service.attach().unwrap();
    let wrong = || accelerator.open_token(web, Pin::User(b"271828")).unwrap_err();
    assert_eq!(wrong(), Error::WrongPin { left: 9 });
    drop(open(&accelerator, web));
    assert_eq!(token(&service).user_tries_left, 10);
    // A login spends one try, however often it is used.
    static GRANTS: Grants = Grants::new();
    let (login, options) = (Login::new(web, b"271828"), Grants::options(Some(service.socket().to_owned())));
    for _ in 0..3 {
        assert_eq!(login.check(&GRANTS, &options), Err(Error::WrongPin { left: 9 }));
    }
    assert_eq!(token(&service).user_tries_left, 9);
    drop(open(&accelerator, web));
    refused(accelerator.open_token(web, Pin::User(b"123")), KeyRefusal::PinLength);
    refused(accelerator.open_token(web ^ 1, Pin::User(USER)), KeyRefusal::NoSuchToken);
    assert_eq!(token(&service).user_tries_left, 10, "no try was spent on these");

    // Many clients on all workers at once have ten tries among them, and no more.
    let barrier = Barrier::new(12);
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..12)
            .map(|i| {
                let (service, barrier) = (&service, &barrier);
                scope.spawn(move || {
                    let wanted = service.wanted();
                    let accelerator = Attach { private_keys: i % 3 == 0, ..wanted }.attach().unwrap();
                    barrier.wait();
                    accelerator.open_token(web, Pin::User(b"271828")).unwrap_err()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let left: BTreeSet<u8> = outcomes
        .iter()
        .filter_map(|outcome| if let Error::WrongPin { left } = outcome { Some(*left) } else { None })
        .collect();
    assert_eq!(left, (0..10).collect(), "{outcomes:?}");
    let locked = outcomes.iter().filter(|outcome| **outcome == Error::Key(KeyRefusal::PinLocked)).count();
    assert_eq!(locked, 2, "{outcomes:?}");
    assert_eq!(
        (kept.metric("millstream_wrong_pins_total"), kept.metric("millstream_tokens_opened_total")),
        (12, 2)
    );
    refused(accelerator.open_token(web, Pin::User(USER)), KeyRefusal::PinLocked);
    let shown = service.status();
    let shown = &shown["tokens"][0];
    assert_eq!((&shown["label"], &shown["user_tries_left"]), (&"web".into(), &0.into()), "{shown}");
    let said = |arguments: &[&str]| {
        let said = millstream().args(arguments).env("MILLSTREAM_SOCKET", service.socket()).output().unwrap();
        String::from_utf8(said.stdout).unwrap()
    };
    let table = said(&["status"]);
    let line = table.lines().find(|line| line.starts_with("web")).unwrap_or_else(|| panic!("{table}"));
    assert_eq!(
        line.split_whitespace().take(8).collect::<Vec<_>>(),
        ["web", "0", "1", "0", "locked", "10", "tries", "manages"]
    );
    let examined = said(&["doctor", "service"]);
    assert!(examined.contains("is locked") && examined.contains("token pin web --reset"), "{examined}");

    let officer = accelerator.open_token(web, Pin::Officer(OFFICER)).unwrap();
    refused(officer.generate(&asked("x", "aes"), None), KeyRefusal::PinRole);
    officer.set_pin(Pin::User(b"161803")).unwrap();
    let user = accelerator.open_token(web, Pin::User(b"161803")).unwrap();
    refused(user.set_pin(Pin::Officer(b"161803")), KeyRefusal::PinRole);
    user.set_pin(Pin::User(USER)).unwrap();
    drop(open(&accelerator, web));
    assert!(said(&["doctor", "service"]).contains("this user may use 1, with 0 objects"));
    refused(user.remove_token(), KeyRefusal::PinRole);
    refused(accelerator.make_token("web", OFFICER, None), KeyRefusal::TokenExists);
    let other = accelerator.make_token("none", OFFICER, None).unwrap();
    refused(accelerator.open_token(other, Pin::User(USER)), KeyRefusal::NoUserPin);
    officer.remove_token().unwrap();
    refused(accelerator.open_token(web, Pin::User(USER)), KeyRefusal::NoSuchToken);
}

/// Whoever is killed while a PIN is tried, the try is spent: the counter is on the disk before the PIN is looked at.
#[test]
fn a_try_survives_the_death_of_client_worker_and_broker() {
    let kept = Kept::new();
    let service = kept.serve();
    let web = make(&service);
    // The client: a process that tries, and is killed while a worker computes for it.
    let pin = kept.0.path().join("wrong");
    std::fs::write(&pin, "271828\n").unwrap();
    std::fs::set_permissions(&pin, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    for left in [9, 8, 7] {
        let mut child = millstream()
            .args(["key", "show", "-T", "web", "-K", "x", "--pin-file"])
            .arg(&pin)
            .env("MILLSTREAM_SOCKET", service.socket())
            .env_remove("MILLSTREAM_STORE")
            .spawn()
            .unwrap();
        eventually("the try is counted", || token(&service).user_tries_left == left);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(token(&service).user_tries_left, 7, "no killed client's try comes back");

    // The worker, while it computes.
    drop(open(&service.attach().unwrap(), web));
    assert_eq!(token(&service).user_tries_left, 10);
    let worker = |private: bool| {
        let status = service.status();
        let workers = status["workers"].as_array().unwrap();
        let found = workers.iter().find(|worker| worker["private_keys"] == private).unwrap();
        found["pid"].as_u64().unwrap() as u32
    };
    let (victim, accelerator) = (worker(false), service.attach().unwrap());
    std::thread::scope(|scope| {
        let trying = scope.spawn(|| accelerator.open_token(web, Pin::User(USER)));
        eventually("the try is counted", || token(&service).user_tries_left == 9);
        signal(victim, "KILL");
        assert!(matches!(trying.join().unwrap(), Err(Error::Queue(_))), "its grant has ended");
    });
    assert_eq!(token(&service).user_tries_left, 9, "the PIN was right, and nobody knows");
    eventually("there is another worker", || service.attach().is_ok());

    // The broker, while a worker computes.
    let accelerator = private(&service);
    std::thread::scope(|scope| {
        let trying = scope.spawn(|| accelerator.open_token(web, Pin::User(b"271828")));
        eventually("the try is counted", || token(&service).user_tries_left == 8);
        signal(service.pid(), "KILL");
        assert!(trying.join().unwrap().is_err());
    });
    drop(service);
    let service = kept.serve();
    assert_eq!(token(&service).user_tries_left, 8);
    drop(open(&service.attach().unwrap(), web));
    assert_eq!(token(&service).user_tries_left, 10);
}

/// Objects that clients were told of are there after any death.
#[test]
fn what_was_acknowledged_survives_the_death_of_the_broker() {
    let kept = Kept::new();
    let mut told = BTreeSet::new();
    let mut service = kept.serve();
    let web = make(&service);
    for round in 0..4 {
        let accelerator = service.attach().unwrap();
        let open = open(&accelerator, web);
        std::thread::scope(|scope| {
            let adding = scope.spawn(|| {
                let mut told = Vec::new();
                while let Ok((object, _)) = open.generate(&asked("k", "aes"), None) {
                    told.push(object);
                }
                told
            });
            std::thread::sleep(Duration::from_millis(60 + 35 * round));
            signal(service.pid(), "KILL");
            told.extend(adding.join().unwrap());
        });
        drop((open, accelerator));
        service = kept.serve();
        let there: BTreeSet<u128> =
            operator(&service).objects(web).unwrap().into_iter().map(|(object, _)| object).collect();
        assert!(told.is_subset(&there), "round {round}: {} told, {} there", told.len(), there.len());
    }
    assert!(told.len() > 4, "only {} keys were made", told.len());
    // All of them open, so none is torn.
    let accelerator = service.attach().unwrap();
    let open = open(&accelerator, web);
    for object in &told {
        open.load(*object, Algorithm::AesGcm, KeyOptions::default())
            .map(|key| accelerator.discard_key(key))
            .unwrap();
    }
}

/// Clients on different workers change one token at once: nothing is lost, and nobody is asked for a PIN again.
#[test]
fn clients_of_different_workers_change_a_token_at_once() {
    let kept = Kept::new();
    let service = kept.serve_with("2", "");
    let web = make(&service);
    std::thread::scope(|scope| {
        for i in 0..6 {
            let service = &service;
            scope.spawn(move || {
                let wanted = service.wanted();
                let accelerator = Attach { private_keys: i % 3 == 2, ..wanted }.attach().unwrap();
                let token = open(&accelerator, web);
                for j in 0..10 {
                    let (object, _) = token.generate(&asked(&format!("{i} {j}"), "aes"), None).unwrap();
                    if j % 3 == 0 {
                        token.remove(object).unwrap();
                    } else {
                        token.show(object).unwrap();
                    }
                }
            });
        }
    });
    let objects = operator(&service).objects(web).unwrap();
    assert_eq!(objects.len(), 6 * 6);
    let accelerator = service.attach().unwrap();
    let token = open(&accelerator, web);
    for (object, attributes) in objects {
        assert_eq!(token.show(object).unwrap(), attributes);
    }
}

/// The end of a grant, in each way, leaves nothing open.
#[test]
fn nothing_stays_open() {
    let kept = Kept::new();
    let service = kept.serve_with("2", "");
    let web = make(&service);
    let accelerator = service.attach().unwrap();
    let mut opened: Vec<OpenToken> = (0..16).map(|_| open(&accelerator, web)).collect();
    refused(accelerator.open_token(web, Pin::User(USER)), KeyRefusal::TokensOpen);
    opened.truncate(1);
    opened.push(open(&accelerator, web));
    let (object, _) = opened[1].generate(&asked("k", "aes"), None).unwrap();
    let key = opened[0].load(object, Algorithm::AesGcm, KeyOptions::default()).unwrap();

    // A grant that moves keeps its keys, and its tokens are closed.
    let grant = accelerator.grant().id;
    let status = service.status();
    let grants = status["grants"].as_array().unwrap();
    let worker = grants.iter().find(|of| of["grant"] == grant).unwrap()["worker"].as_u64().unwrap();
    service.operator(&["move", &grant.to_string(), &(1 - worker).to_string()]);
    let mut queue = accelerator.queue().unwrap();
    let (source, destination) = (queue.buffer(8).unwrap(), queue.buffer(8).unwrap());
    queue.submit(Request::seal(key, &[1; 12], b"", source, destination)).unwrap();
    queue.wait().unwrap().result.unwrap();
    refused(opened[0].show(object), KeyRefusal::TokenClosed);
    let again = open(&accelerator, web);
    again.show(object).unwrap();

    // A revoked one has neither.
    operator(&service).revoke(grant).unwrap();
    assert!(matches!(again.show(object), Err(Error::Queue(_))));
    // Numbers of another grant's tokens are nothing.
    let (one, other) = (service.attach().unwrap(), service.attach().unwrap());
    let of_one = open(&one, web);
    let raw = super::hostile::Raw::attach(&service, 1, 64);
    for session in 0..64 {
        let request = millstream_protocol::KeyRequest::ShowObject { session, object };
        let reply = raw.ask(&request).unwrap();
        let closed = millstream_protocol::KeyReply::Refused { why: KeyRefusal::TokenClosed };
        assert_eq!(reply, closed);
    }
    of_one.show(object).unwrap();
    drop((of_one, other));
}

/// The broker sees neither PINs nor keys, and a client no key of a token.
#[test]
fn keys_and_pins_are_in_no_memory_of_the_broker() {
    let kept = Kept::new();
    let service = kept.serve();
    // Not constants, which lie in the program's own image.
    let pin: Vec<u8> = (0..24).map(|i| b'a' + (std::process::id() as u8).wrapping_mul(i) % 26).collect();
    let web = service.attach().unwrap().make_token("web", OFFICER, Some(&pin)).unwrap();
    let accelerator = service.attach().unwrap();
    let token = accelerator.open_token(web, Pin::User(&pin)).unwrap();
    let known: Vec<u8> = (0..32_u8).map(|i| i.wrapping_mul(201) ^ std::process::id() as u8).collect();
    let (object, _) = token.import(&asked("known", "aes"), &known).unwrap();
    let generated = Attributes { exportable: true, ..asked("generated", "aes") };
    let (inside, _) = token.generate(&generated, None).unwrap();
    let mut queue = accelerator.queue().unwrap();
    for object in [object, inside] {
        let key = token.load(object, Algorithm::AesCbc, KeyOptions::default()).unwrap();
        let (source, destination) = (queue.buffer(64).unwrap(), queue.buffer(64).unwrap());
        queue.submit(Request::encrypt(key, &[1; 16], source, destination)).unwrap();
        queue.wait().unwrap().result.unwrap();
    }
    let (broker, mine) = (memory_of(service.pid()), memory_of(std::process::id()));
    let stored = std::fs::read(kept.store().join("tokens.redb")).unwrap();
    let secret = token.export(inside).unwrap();
    let here = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    for (what, bytes) in [("the PIN", &pin[..]), ("an imported key", &known), ("a generated key", &secret)] {
        assert_eq!(places(&broker, bytes), BTreeSet::new(), "{what}");
        assert!(!here(&stored, bytes), "{what}");
    }
    assert_eq!(places(&mine, &secret), BTreeSet::new(), "no client has what was made inside");
    // The scans would find what is there: the label, which is public.
    assert!(here(&stored, b"generated") && !places(&broker, b"generated").is_empty());
    assert!(!places(&mine, &known).is_empty(), "the client had brought it");
}

/// An agent signs with keys that only the service has, and goes on after the death of the worker that had them loaded.
#[test]
fn an_agent_signs_with_keys_of_the_service() {
    let kept = Kept::new();
    let service = kept.serve();
    let web = make(&service);
    let pairs = private(&service);
    let token = open(&pairs, web);
    let kinds = [("ed25519", None), ("p-256", None), ("p-521", None), ("rsa", Some(2048))];
    for (kind, bits) in kinds {
        token.generate(&asked(kind, kind), bits).unwrap();
    }
    token.generate(&asked("cipher", "aes"), None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let pin = folder.path().join("pin");
    std::fs::write(&pin, USER).unwrap();
    std::fs::set_permissions(&pin, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let script = r#"
        set -e
        test "$(ssh-add -l | wc -l)" = 4
        sign() {
            for kind in ed25519 p-256 p-521 rsa; do
                rm -f $kind.txt.sig
                ssh-add -L | grep " $kind\$" > $kind.pub
                echo data > $kind.txt
                ssh-keygen -q -Y sign -f $kind.pub -n test $kind.txt
                ssh-keygen -q -Y check-novalidate -n test -s $kind.txt.sig < $kind.txt
            done
        }
        sign
        touch signed
        while ! test -e killed; do sleep 0.02; done
        sign
    "#;
    let mut agent = millstream();
    agent.args([
        "agent",
        "-T",
        "web",
        "--pin-file",
        "pin",
        "--socket",
        "agent.sock",
        "--",
        "sh",
        "-c",
        script,
    ]);
    agent
        .current_dir(folder.path())
        .env("MILLSTREAM_SOCKET", service.socket())
        .env_remove("MILLSTREAM_STORE");
    let agent =
        agent.stderr(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    std::thread::scope(|scope| {
        let ended = scope.spawn(|| agent.wait_with_output().unwrap());
        eventually("it has signed", || folder.path().join("signed").exists() || ended.is_finished());
        if !ended.is_finished() {
            let status = service.status();
            let workers = status["workers"].as_array().unwrap();
            let private = workers.iter().find(|worker| worker["private_keys"] == true).unwrap();
            signal(private["pid"].as_u64().unwrap() as u32, "KILL");
            eventually("there is another worker", || {
                Attach { private_keys: true, ..service.wanted() }.attach().is_ok()
            });
            std::fs::write(folder.path().join("killed"), "").unwrap();
        }
        let ended = ended.join().unwrap();
        assert!(ended.status.success(), "{ended:?}");
    });
}

/// Files are encrypted and authenticated by keys that never leave the service.
#[test]
fn files_are_encrypted_and_authenticated_in_the_service() {
    let kept = Kept::new();
    let service = kept.serve();
    let web = make(&service);
    let accelerator = service.attach().unwrap();
    let token = open(&accelerator, web);
    token.generate(&asked("files", "aes"), Some(128)).unwrap();
    let one_way = Attributes { usages: usage::ENCRYPT, ..asked("one-way", "aes") };
    token.generate(&one_way, None).unwrap();
    token.import(&asked("codes", "hmac"), &[9; 32]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    for (name, bytes) in
        [("pin", USER), ("codes.key", &[9; 32]), ("a", b"a file\n"), ("b", b""), ("c", &[7; 3 << 20])]
    {
        std::fs::write(place(name), bytes).unwrap();
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(place(name), private).unwrap();
    }
    let run = |line: &str| {
        let mut command = millstream();
        command.args(line.split_whitespace()).current_dir(folder.path());
        command.env("MILLSTREAM_SOCKET", service.socket()).env_remove("MILLSTREAM_STORE").output().unwrap()
    };
    let good = |line: &str| {
        let ended = run(line);
        assert!(ended.status.success(), "{line}: {}", String::from_utf8_lossy(&ended.stderr));
        ended.stdout
    };
    let bad = |line: &str, why: &str| {
        let told = String::from_utf8(run(line).stderr).unwrap();
        assert!(told.contains(why), "{line}: {told}");
    };
    let pin = "-T web --pin-file pin";
    good(&format!("encrypt -K files {pin} -i a -o sealed"));
    assert_eq!(good(&format!("decrypt -K files {pin} -i sealed")), b"a file\n");
    good(&format!("encrypt -K files {pin} a b c"));
    for name in ["a", "b", "c"] {
        std::fs::rename(place(name), place(&format!("{name}.plain"))).unwrap();
    }
    good(&format!("decrypt -K files {pin} a.enc b.enc c.enc"));
    for name in ["a", "b", "c"] {
        assert!(
            std::fs::read(place(name)).unwrap() == std::fs::read(place(&format!("{name}.plain"))).unwrap()
        );
    }
    // So do keys of backups and of sealed files, of which the service wraps each.
    good(&format!("backup put kept/c --isolated files {pin} c"));
    assert!(good(&format!("backup get kept/c --isolated files {pin}")) == [7; 3 << 20]);
    good(&format!("seal --isolated files {pin} a -o a.sealed"));
    assert_eq!(good(&format!("open --isolated files {pin} a.sealed")), b"a file\n");
    bad(&format!("backup get kept/c --isolated one-way {pin}"), "key one-way was not made to decrypt");
    bad(&format!("backup put kept/d --isolated codes {pin} c"), "key codes is of the kind hmac");

    // Whoever encrypts with nonces of his own could decrypt, so such a key does not.
    bad(&format!("encrypt -K one-way {pin} -i a"), "encrypts and does not decrypt");
    bad(&format!("decrypt -K one-way {pin} -i sealed"), "was not made to decrypt");
    bad(&format!("encrypt -K files {pin} --format raw -a aes-128-cbc --iv 00 -i a"), "stays in the service");
    bad(&format!("encrypt -K codes {pin} -i a"), "was not made to encrypt");
    for name in ["a", "b", "c"] {
        let there = good(&format!("mac -a sha256_hmac -K codes {pin} {name}"));
        assert_eq!(there, good(&format!("mac -a sha256_hmac -k codes.key {name}")), "{name}");
    }
    bad(&format!("mac -a sha256_hmac -K files {pin} a"), "");
}

pub fn as_nobody(service: &Service, arguments: &[&str]) -> Output {
    let program = std::fs::File::open(env!("CARGO_BIN_EXE_millstream")).unwrap();
    // The folders above the program may be closed to that user.
    let descriptor = rustix::io::fcntl_dupfd_cloexec(&program, 100).unwrap();
    rustix::io::fcntl_setfd(&descriptor, rustix::io::FdFlags::empty()).unwrap();
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&descriptor));
    let mut command = Command::new(path);
    command
        .args(arguments)
        .uid(NOBODY)
        .gid(NOBODY)
        .current_dir("/")
        .env("MILLSTREAM_SOCKET", service.socket());
    command.env("MILLSTREAM_SERVICE_UID", "0").env_remove("MILLSTREAM_STORE");
    command.output().unwrap()
}

/// The policy says who may use and who may change a token, and holds at each request.
#[test]
fn the_policy_says_who_may_use_and_who_may_change() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED the_policy_says_who_may_use_and_who_may_change: this needs root");
        return;
    }
    let kept = Kept::new();
    let open_to_all = |service: &Service| {
        for path in [service.folder(), service.socket().parent().unwrap()] {
            std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
    };
    let service = kept.serve_with("1", "");
    open_to_all(&service);
    let web = make(&service);
    let accelerator = service.attach().unwrap();
    open(&accelerator, web).generate(&asked("k", "hmac"), None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let pin = folder.path().join("pin");
    std::fs::write(&pin, USER).unwrap();
    std::os::unix::fs::chown(&pin, Some(NOBODY), Some(NOBODY)).unwrap();
    std::fs::set_permissions(&pin, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let pin = pin.to_str().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let show = ["key", "show", "-T", "web", "-K", "k", "--pin-file", pin];
    let make = ["key", "generate", "aes", "-T", "web", "-K", "n", "--pin-file", pin];

    // Users that it does not name see no token, and find no store of their own either.
    let shown = as_nobody(&service, &show);
    assert!(!shown.status.success() && !text(&shown.stdout).contains("hmac"), "{shown:?}");
    let reload = |lines: &str| {
        let store = kept.store();
        let text =
            format!("[default]\nattaches_per_s = 0\nworkers = 0\n[tokens]\nstore = {store:?}\n{lines}");
        std::fs::write(kept.0.path().join("policy.toml"), text).unwrap();
        operator(&service).reload().unwrap();
    };
    reload("users = [\"65534\"]\n");
    let shown = as_nobody(&service, &show);
    assert!(shown.status.success() && text(&shown.stdout).contains("kind        hmac"), "{shown:?}");
    let made = as_nobody(&service, &make);
    assert!(!made.status.success() && text(&made.stderr).contains("managers"), "{made:?}");
    reload("managers = [\"@65534\"]\n");
    let made = as_nobody(&service, &make);
    assert!(made.status.success(), "{made:?}");
    assert_eq!(token(&service).objects, 2);
    reload("managers = [\"65534\"]\n[[token]]\nlabel = \"web\"\n");
    assert!(!as_nobody(&service, &show).status.success(), "a section for the token counts alone");
}

/// A user who is no manager can neither lock a token for others, nor try nine PINs each time that another has logged in.
#[test]
fn one_user_does_not_lock_a_token_for_others() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED one_user_does_not_lock_a_token_for_others: this needs root");
        return;
    }
    let kept = Kept::new();
    let serve = || {
        let service = kept.serve_with("1", "users = [\"65534\"]\n");
        for path in [service.folder(), service.socket().parent().unwrap()] {
            std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        service
    };
    let service = serve();
    let web = make(&service);
    let accelerator = service.attach().unwrap();
    open(&accelerator, web).generate(&asked("k", "hmac"), None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let file = |name: &str, pin: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, pin).unwrap();
        std::os::unix::fs::chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (right, wrong) = (file("right", USER), file("wrong", b"000000"));
    let shows = |service: &Service, pin: &str, says: &str| {
        let shown = as_nobody(service, &["key", "show", "-T", "web", "-K", "k", "--pin-file", pin]);
        let told =
            String::from_utf8_lossy(if shown.status.success() { &shown.stdout } else { &shown.stderr });
        assert!(told.contains(says), "{says}: {told}");
    };
    shows(&service, &wrong, "4 tries are left");
    shows(&service, &right, "kind        hmac");
    for left in ["4 tries are left", "3 tries are left", "2 tries are left", "1 try is left", "last try"] {
        shows(&service, &wrong, left);
    }
    // Another's login clears the token's count, and not that user's.
    assert_eq!(token(&service).user_tries_left, 5);
    drop(open(&accelerator, web));
    assert_eq!(token(&service).user_tries_left, 10);
    for pin in [&wrong, &right] {
        shows(&service, pin, "five wrong PINs");
    }
    assert_eq!(token(&service).user_tries_left, 10);

    // A service that is started again knows it still; a new PIN begins anew.
    drop((accelerator, service));
    let service = serve();
    shows(&service, &right, "five wrong PINs");
    assert_eq!(token(&service).user_tries_left, 10);
    let accelerator = service.attach().unwrap();
    accelerator.open_token(web, Pin::Officer(OFFICER)).unwrap().set_pin(Pin::User(USER)).unwrap();
    shows(&service, &right, "kind        hmac");
}

/// A store that a user may read and not write is listed, also while the service has it open.
#[test]
fn a_store_that_may_only_be_read_is_listed() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED a_store_that_may_only_be_read_is_listed: this needs root");
        return;
    }
    let kept = Kept::new();
    let service = kept.serve();
    let web = make(&service);
    open(&service.attach().unwrap(), web).generate(&asked("k", "hmac"), None).unwrap();
    let store = kept.store();
    for (path, mode) in [(kept.0.path(), 0o755), (&store, 0o755), (&store.join("tokens.redb"), 0o644)] {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }
    let store = store.to_str().unwrap();
    let tokens: &[&str] = &["token", "list", "--store", store];
    let keys: &[&str] = &["key", "list", "-T", "web", "--store", store];
    for (list, shown) in [(tokens, "1 keys"), (keys, "hmac")] {
        let listed = as_nobody(&service, list);
        let text = String::from_utf8_lossy(&listed.stdout);
        assert!(listed.status.success() && text.contains(shown), "{listed:?}");
    }
    let made = as_nobody(&service, &["key", "generate", "aes", "-T", "web", "-K", "n", "--store", store]);
    assert!(!made.status.success(), "{made:?}");
}

/// A service without `[tokens]` says so.
#[test]
fn a_service_without_tokens_says_so() {
    let service = Service::start();
    let accelerator = service.attach().unwrap();
    refused(accelerator.open_token(7, Pin::User(USER)), KeyRefusal::NoTokens);
    refused(accelerator.make_token("web", OFFICER, None), KeyRefusal::NoTokens);
    let why = operator(&service).tokens().unwrap_err();
    assert!(matches!(why, AttachError::Refused { why: ServiceRefusal::NoTokens, .. }), "{why}");
}

/// While PINs are tried, a packet waits no longer than it does anyway: the accelerator's thread has nothing to do with it.
#[test]
fn tries_do_not_stand_in_the_way_of_words() {
    let kept = Kept::new();
    let service = kept.serve();
    let web = make(&service);
    let (trying, working) = (service.attach().unwrap(), service.attach().unwrap());
    let key = working.import_key(Algorithm::AesGcm, &[7; 16], millstream::isolated::Exportable::No).unwrap();
    let mut queue = working.queue().unwrap();
    let mut slowest = || {
        let began = Instant::now();
        let mut times = Vec::new();
        while began.elapsed() < Duration::from_millis(400) {
            let (source, destination) = (queue.buffer(64).unwrap(), queue.buffer(64).unwrap());
            let at = Instant::now();
            queue.submit(Request::seal(key, &[1; 12], b"", source, destination)).unwrap();
            queue.wait().unwrap().result.unwrap();
            times.push(at.elapsed());
        }
        times.sort();
        times[times.len() * 9 / 10]
    };
    let quiet = slowest();
    let beside = std::thread::scope(|scope| {
        let tries = scope.spawn(|| (0..4).for_each(|_| drop(open(&trying, web))));
        let beside = slowest();
        tries.join().unwrap();
        beside
    });
    println!("nine of ten words within {quiet:?}, beside tries {beside:?}");
    // On one processor the threads share it: a turn of the scheduler is some milliseconds, a try a hundred.
    assert!(beside < quiet * 20 + Duration::from_millis(20), "{quiet:?} and {beside:?}");
}
