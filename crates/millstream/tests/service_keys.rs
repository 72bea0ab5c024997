//! Keys that a library keeps in the service, one for each call: this program is also the broker and its worker.
//!
//! # Safety
//! The child calls `_exit` and never returns to the tests. What else it calls must work in the child of a process with
//! several threads: that is what is tested.
#![allow(unsafe_code)]

#[allow(dead_code, reason = "it would ask the user's own service")]
#[path = "../examples/server.rs"]
mod server;

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use millstream::aead::Aead;
use millstream::cwq::{Algorithm, Usages};
use millstream::hash::Hash;
use millstream::hmac::HmacKey;
use millstream::isolated::{
    Attach, AttachError, Chaining, Grants, KeyRefusal, Service, ServiceKey, ServiceKeyError, UsageRange,
};
use millstream::modes::{BlockMode, Direction};
use millstream::queue::{Piece, Refusal};
use millstream::{Error, Features, InOut, aes, gcm};
use millstream_broker::worker::{self, Config as WorkerConfig};
use millstream_broker::{Broker, Config, Stop, WorkerCommand};
use millstream_shm::Listener;

/// Much longer than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

fn main() {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match arguments.first().and_then(|first| first.to_str()) {
        Some("as-broker") => return serve(&arguments[1..]),
        Some("as-worker") => return work(&arguments[1..]),
        _ => {}
    }
    let tests: [(&str, fn()); 10] = [
        ("whole messages are those of a key in this process", whole_messages),
        ("messages in pieces are those of a key in this process", pieces),
        ("a key does what it was made for, and no more", usages),
        ("a policy may leave the least that will do", policy),
        ("grants are asked for when one is full, and given back", growth),
        ("grants are given back though another thread waits for a service", given_back_later),
        ("a forked child has keys of its own", fork),
        ("after the end of a grant its keys fail, and new ones attach", revoked),
        ("a connection that was made early serves the first key", early),
        ("the server of the cookbook uses a key of the service", cookbook),
    ];
    for (name, test) in tests {
        test();
        println!("test {name} ... ok");
    }
    println!("test result: ok. {} passed; 0 failed; 0 ignored", tests.len());
}

/// The broker's side: a socket and a policy, which may be empty.
fn serve(arguments: &[OsString]) {
    let this = std::env::current_exe().unwrap();
    let worker = WorkerCommand { program: this, arguments: vec!["as-worker".into()] };
    let policy = Some(PathBuf::from(&arguments[1])).filter(|path| !path.as_os_str().is_empty());
    let config = Config { policy, ..Config::new(PathBuf::from(&arguments[0]), worker) };
    let broker = Broker::start(config).unwrap();
    println!("serving");
    broker.run(&Stop::new().unwrap()).unwrap();
}

fn work(arguments: &[OsString]) {
    let number = |name: &str| {
        let found = arguments.iter().find_map(|argument| argument.to_str()?.strip_prefix(name));
        found.map(|value| value.parse::<u64>().unwrap())
    };
    let config = WorkerConfig {
        spin: Duration::from_nanos(number("--spin-ns=").unwrap()),
        flush: Duration::from_nanos(number("--flush-ns=").unwrap()),
        cpu: number("--cpu=").map(|cpu| cpu as usize),
        key_memory: number("--key-memory=").unwrap() as usize,
        ..WorkerConfig::new(0)
    };
    worker::run(config).unwrap();
}

/// A service that ends with this.
struct Running {
    folder: tempfile::TempDir,
    broker: Child,
}

impl Running {
    fn start(policy: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("policy.toml");
        std::fs::write(&file, policy).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("as-broker").arg(socket_in(folder.path()));
        command.arg(if policy.is_empty() { PathBuf::new() } else { file });
        let mut broker = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(broker.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "serving\n", "the broker did not start");
        Running { folder, broker }
    }

    fn options(&self) -> Attach {
        Grants::options(Some(socket_in(self.folder.path())))
    }

    fn grants(&self) -> Vec<u64> {
        let mut service = Service::connect(Some(&socket_in(self.folder.path()))).unwrap();
        service.status().unwrap().grants.iter().map(|grant| grant.grant.id).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.broker.kill();
        let _ = self.broker.wait();
    }
}

/// The socket's folder is one that the broker makes.
fn socket_in(folder: &std::path::Path) -> PathBuf {
    folder.join("run").join("millstream.sock")
}

fn features() -> Features {
    millstream::features().unwrap()
}

fn plaintext(len: usize) -> Vec<u8> {
    (0..len).map(|at| ((at * 7) >> 3) as u8).collect()
}

fn whole_messages() {
    static GRANTS: Grants = Grants::new();
    let service = Running::start("");
    let options = service.options();

    let all = Usages::of(Algorithm::AesGcm);
    let key = ServiceKey::import(&GRANTS, &options, Algorithm::AesGcm, &[7; 32], all).unwrap();
    assert_eq!((key.algorithm(), key.len(), key.usages()), (Algorithm::AesGcm, 32, all));
    let local = gcm::Gcm::new(features(), &[7; 32]).unwrap();
    for len in [0, 1, 1000, ServiceKey::LONGEST] {
        let plain = plaintext(len);
        let (mut here, mut there) = (plain.clone(), vec![0; len]);
        let mut tag = [0; 16];
        local.seal(&[1; 12], b"header", InOut::in_place(&mut here), &mut tag).unwrap();
        let data = InOut::separate(&plain, &mut there).unwrap();
        assert_eq!(key.seal(&[1; 12], b"header", data).unwrap(), tag, "{len}");
        assert!(here == there, "{len}");
        key.open(&[1; 12], b"header", InOut::in_place(&mut there), &tag).unwrap();
        assert!(there == plain, "{len}");
        tag[15] ^= 1;
        let wrong = key.open(&[1; 12], b"header", InOut::in_place(&mut here), &tag);
        assert_eq!(wrong, Err(ServiceKeyError::Authentication));
        assert!(here.iter().all(|byte| *byte == 0), "{len}");
    }

    let xts =
        ServiceKey::import(&GRANTS, &options, Algorithm::AesXts, &plaintext(64), Usages::ENCRYPT).unwrap();
    let local = aes::Xts::new(features(), &plaintext(64)).unwrap();
    let (mut here, mut there) = (plaintext(4096), plaintext(4096));
    local.encrypt(&[3; 16], InOut::in_place(&mut here)).unwrap();
    xts.data_unit(Direction::Encrypt, &[3; 16], InOut::in_place(&mut there)).unwrap();
    assert!(here == there);

    let hmac = ServiceKey::import(&GRANTS, &options, Algorithm::Sha256, b"Jefe", Usages::SIGN).unwrap();
    let mut mac = [0; 32];
    hmac.mac(None, b"what do ya want for nothing?", &mut mac).unwrap();
    assert_eq!(mac, *HmacKey::new(features(), Hash::Sha256, b"Jefe").sign(b"what do ya want for nothing?"));
    let short = hmac.mac(None, b"", &mut mac[..31]).unwrap_err();
    assert_eq!(short.to_string(), "an output of 31 bytes where 32 are needed");
}

fn pieces() {
    static GRANTS: Grants = Grants::new();
    let service = Running::start("");
    let options = service.options();
    let plain = plaintext(3 * ServiceKey::PIECE + 160);

    // The vector is carried from call to call, and inside of a call from piece to piece.
    let key = ServiceKey::import(&GRANTS, &options, Algorithm::AesCbc, &[5; 16], Usages::ENCRYPT).unwrap();
    let local = aes::Cbc::new(features(), &[5; 16]).unwrap();
    let (mut here, mut there) = (plain.clone(), plain.clone());
    let mut chain = [9; 16];
    local.pass(Direction::Encrypt, &mut chain, InOut::in_place(&mut here));
    let (mut vector, (first, rest)) = ([9; 16], there.split_at_mut(160));
    for part in [first, rest] {
        key.cipher(Direction::Encrypt, Chaining::Ciphertext, &mut vector, InOut::in_place(part)).unwrap();
    }
    assert!(here == there);
    assert_eq!(vector, there[there.len() - 16..]);

    let both = Usages::of(Algorithm::AesCtr);
    let key = ServiceKey::import(&GRANTS, &options, Algorithm::AesCtr, &[5; 16], both).unwrap();
    let local = aes::Ctr::new(features(), &[5; 16]).unwrap();
    let (mut here, mut there) = (plain.clone(), plain.clone());
    local.apply(&[0xff; 16], InOut::in_place(&mut here));
    let (mut counter, (first, rest)) = ([0xff; 16], there.split_at_mut(160));
    for part in [first, rest] {
        key.cipher(Direction::Decrypt, Chaining::Counter, &mut counter, InOut::in_place(part)).unwrap();
    }
    assert!(here == there);

    let both = Usages::of(Algorithm::AesGcm);
    let key = ServiceKey::import(&GRANTS, &options, Algorithm::AesGcm, &[7; 16], both).unwrap();
    let mut whole = plain.clone();
    let tag = key.seal(&[1; 12], b"header", InOut::in_place(&mut whole)).unwrap();
    let (mut sealed, mut opened) = (plain.clone(), whole.clone());
    for (direction, data) in [(Direction::Encrypt, &mut sealed), (Direction::Decrypt, &mut opened)] {
        let (first, rest) = data.split_at_mut(100);
        let state =
            key.partial(direction, Piece::First(&[1; 12]), b"header", InOut::in_place(first)).unwrap();
        let state = key.partial(direction, Piece::Next(&state), b"", InOut::in_place(rest)).unwrap();
        assert_eq!(key.tag(&state).unwrap(), tag);
    }
    assert!(sealed == whole && opened == plain);

    let key = ServiceKey::import(&GRANTS, &options, Algorithm::Sha1, b"key", Usages::SIGN).unwrap();
    let (mut whole, mut parted) = ([0; 20], [1; 20]);
    key.mac(None, &plain, &mut whole).unwrap();
    let state = key.partial_mac(None, &plain[..100]).unwrap();
    let state = key.partial_mac(Some(&state), &plain[100..1000]).unwrap();
    key.mac(Some(&state), &plain[1000..], &mut parted).unwrap();
    assert_eq!(whole, parted);
}

fn usages() {
    static GRANTS: Grants = Grants::new();
    let service = Running::start("");
    let options = service.options();
    let key = ServiceKey::generate(&GRANTS, &options, Algorithm::AesCbc, 16, Usages::ENCRYPT).unwrap();
    assert_eq!(format!("{key:?}"), "ServiceKey(aes-cbc, 16 bytes, to encrypt)");
    let mut block = [1; 16];
    let mut cipher =
        |direction| key.cipher(direction, Chaining::Ciphertext, &mut [0; 16], InOut::in_place(&mut block));
    cipher(Direction::Encrypt).unwrap();
    let refused = cipher(Direction::Decrypt).unwrap_err();
    let why = ServiceKeyError::Usage { algorithm: Algorithm::AesCbc, needed: Usages::DECRYPT };
    assert_eq!(refused, why);
    assert!(refused.to_string().contains("aes-cbc was not made to decrypt"), "{refused}");
    assert!(matches!(key.mac(None, b"", &mut [0; 16]), Err(ServiceKeyError::Usage { .. })));

    // Decrypting before the tag is known takes keystream, which a key that only opens does not give.
    let opens = Usages::DECRYPT;
    let key = ServiceKey::generate(&GRANTS, &options, Algorithm::AesGcm, 16, opens).unwrap();
    let piece = key.partial(Direction::Decrypt, Piece::First(&[1; 12]), b"", InOut::in_place(&mut [1; 10]));
    let needed = Usages::ENCRYPT;
    assert_eq!(piece, Err(ServiceKeyError::Usage { algorithm: Algorithm::AesGcm, needed }));
    let given = ServiceKey::LONGEST + 1;
    let long = key.open(&[1; 12], b"", InOut::in_place(&mut vec![0; given]), &[0; 16]).unwrap_err();
    assert_eq!(long, ServiceKeyError::TooLong { given });
    assert!(long.to_string().contains("4194305") && long.to_string().contains("4194304"), "{long}");
}

fn policy() {
    static GRANTS: Grants = Grants::new();
    let service = Running::start("[default]\nusages = [\"decrypt\"]\n");
    let options = service.options();
    let import =
        |usages: UsageRange| ServiceKey::import(&GRANTS, &options, Algorithm::AesGcm, &[7; 16], usages);
    let most = Usages::of(Algorithm::AesGcm);
    let refused = import(most.into()).unwrap_err();
    assert_eq!(refused, Error::Key(KeyRefusal::PolicyUsages));
    let key = import(UsageRange { most, least: Usages::DECRYPT }).unwrap();
    assert_eq!(key.usages(), Usages::DECRYPT);
    let (mut data, mut tag) = ([3; 100], [0; 16]);
    let local = gcm::Gcm::new(features(), &[7; 16]).unwrap();
    local.seal(&[1; 12], b"", InOut::in_place(&mut data), &mut tag).unwrap();
    key.open(&[1; 12], b"", InOut::in_place(&mut data), &tag).unwrap();
    assert_eq!(data, [3; 100]);
}

fn growth() {
    static GRANTS: Grants = Grants::new();
    let service = Running::start("");
    let options = Attach { key_slots: 16, ..service.options() };
    let make = || ServiceKey::generate(&GRANTS, &options, Algorithm::AesEcb, 16, Usages::ENCRYPT).unwrap();
    let mut keys: Vec<ServiceKey> = (0..16).map(|_| make()).collect();
    assert_eq!(service.grants().len(), 1);
    keys.push(make());
    assert_eq!(service.grants().len(), 2, "the 17th key has a grant of its own");
    // The second one, which has four times as many slots, takes them all.
    keys.extend((0..63).map(|_| make()));
    assert_eq!(service.grants().len(), 2);
    for key in &keys {
        let mut block = [1; 16];
        key.cipher(Direction::Encrypt, Chaining::None, &mut [], InOut::in_place(&mut block)).unwrap();
    }
    drop(keys);
    eventually("a grant is given back", || service.grants().len() == 1);
    // The one that is left is used again.
    drop(make());
    assert_eq!(service.grants().len(), 1);
    // Other options are other grants.
    let other = Attach { name: "other".to_owned(), ..options.clone() };
    let _key = ServiceKey::generate(&GRANTS, &other, Algorithm::AesEcb, 16, Usages::ENCRYPT).unwrap();
    assert_eq!(service.grants().len(), 2);
}

/// A thread that attaches has the lock of the grants, here for as long as a service takes that never answers.
fn given_back_later() {
    static GRANTS: Grants = Grants::new();
    let service = Running::start("");
    let options = Attach { key_slots: 16, ..service.options() };
    let make =
        |options: &Attach| ServiceKey::generate(&GRANTS, options, Algorithm::AesEcb, 16, Usages::ENCRYPT);
    let keys: Vec<ServiceKey> = (0..17).map(|_| make(&options).unwrap()).collect();
    assert_eq!(service.grants().len(), 2);
    let path = service.folder.path().join("silent.sock");
    let silent = Listener::bind(&path).unwrap();
    std::thread::scope(|scope| {
        let waits = Attach { socket: Some(path), limit: Duration::from_secs(2), ..options.clone() };
        let attaching = scope.spawn(move || make(&waits).err().unwrap());
        let _asked = silent.accept().unwrap();
        let before = Instant::now();
        drop(keys);
        assert!(before.elapsed() < Duration::from_secs(1), "giving keys back waited for another thread");
        let why = attaching.join().unwrap();
        assert!(matches!(why, Error::Attach(AttachError::Limit { .. })), "{why:?}");
    });
    eventually("a grant is given back", || service.grants().len() == 1);
}

fn fork() {
    static GRANTS: Grants = Grants::new();
    let service = Running::start("");
    let options = service.options();
    let make =
        || ServiceKey::import(&GRANTS, &options, Algorithm::AesEcb, &[7; 16], Usages::ENCRYPT).unwrap();
    let encrypt = |key: &ServiceKey| {
        let mut block = [1; 16];
        let done = key.cipher(Direction::Encrypt, Chaining::None, &mut [], InOut::in_place(&mut block));
        done.map(|()| block)
    };
    let key = make();
    let expected = encrypt(&key).unwrap();
    // SAFETY: see above.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends a child that waits for ever.
        unsafe { libc::alarm(60) };
        let good = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let refused = encrypt(&key).unwrap_err();
            assert_eq!(refused, ServiceKeyError::Forked);
            assert!(refused.to_string().contains("make it again in the child"), "{refused}");
            let own = make();
            assert_eq!(encrypt(&own).unwrap(), expected);
            assert_eq!(service.grants().len(), 2);
            drop((key, own));
        }));
        // SAFETY: ends the child and nothing else.
        unsafe { libc::_exit(if good.is_ok() { 33 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: `status` is ours.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!((libc::WIFEXITED(status), libc::WEXITSTATUS(status)), (true, 33), "all went as it should");
    // The parent's key never noticed, and the child's grant is gone with it.
    assert_eq!(encrypt(&key).unwrap(), expected);
    eventually("the child's grant ends", || service.grants().len() == 1);
}

fn revoked() {
    static GRANTS: Grants = Grants::new();
    let service = Running::start("");
    let options = service.options();
    let make = || ServiceKey::generate(&GRANTS, &options, Algorithm::AesEcb, 16, Usages::ENCRYPT).unwrap();
    let encrypt = |key: &ServiceKey| {
        key.cipher(Direction::Encrypt, Chaining::None, &mut [], InOut::in_place(&mut [1; 16]))
    };
    let key = make();
    encrypt(&key).unwrap();
    let grant = service.grants()[0];
    Service::connect(Some(options.socket.as_deref().unwrap())).unwrap().revoke(grant).unwrap();
    assert_eq!(encrypt(&key), Err(ServiceKeyError::Failed(Error::Queue(Refusal::Revoked))));
    encrypt(&make()).unwrap();
    assert!(!service.grants().contains(&grant));
}

fn early() {
    static GRANTS: Grants = Grants::new();
    let service = Running::start("");
    let options = service.options();
    let make = |options| ServiceKey::generate(&GRANTS, options, Algorithm::AesEcb, 16, Usages::ENCRYPT);
    GRANTS.connect_early(&options);
    // The socket can't be found any more, as after `chroot(2)`.
    let run = service.folder.path().join("run");
    std::fs::rename(&run, service.folder.path().join("elsewhere")).unwrap();
    let key = make(&options).unwrap();
    key.cipher(Direction::Encrypt, Chaining::None, &mut [], InOut::in_place(&mut [1; 16])).unwrap();
    // The connection was for one grant.
    let other = Attach { name: "other".to_owned(), ..options.clone() };
    assert!(matches!(make(&other), Err(Error::Attach(AttachError::NoService { .. }))));
}

fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < LONG, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn cookbook() {
    let service = Running::start("");
    let said = server::run(Attach { socket: service.options().socket, ..Attach::default() }).unwrap();
    assert_eq!(said, "200 sessions sealed 4000 records, isolated: true");
}
