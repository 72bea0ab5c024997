//! Columns under keys of a service's tokens: this program is also the broker and its workers. With `with-tokens` it shows the socket of
//! a service with tokens and serves until its input ends, for the tests of the Python package.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use millstream::cwq::Algorithm;
use millstream::ff1::Alphabet;
use millstream::hash::Hash;
use millstream::isolated::token::{Attributes, Pin};
use millstream::isolated::{Accelerator, Attach};
use millstream_broker::worker::{self, Config as WorkerConfig};
use millstream_broker::{Broker, Config, Stop, WorkerCommand};
use millstream_columns::{
    Encoding, Error, Isolated, OnError, Open, Parameter, Seal, Token, from_values, values,
};

const OFFICER: &[u8] = b"officer's PIN";
const USER: &[u8] = b"314159";

fn main() {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match arguments.first().and_then(|first| first.to_str()) {
        Some("as-broker") => return serve(&arguments[1..]),
        Some("as-worker") => return work(&arguments[1..]),
        Some("with-tokens") => return show(),
        _ => {}
    }
    let tests: [(&str, fn()); 3] = [
        ("columns under keys of tokens", columns),
        ("names mean one key", names),
        ("a key without its service computes nothing", ended),
    ];
    for (name, test) in tests {
        test();
        println!("test {name} ... ok");
    }
    println!("test result: ok. {} passed; 0 failed; 0 ignored", tests.len());
    if arguments.iter().any(|argument| argument == "--measure") {
        measure();
    }
}

/// Serves until the input ends.
fn show() {
    let service = service();
    println!("{}", socket_in(service.folder.path()).display());
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
}

/// The broker's side: a socket and a policy.
fn serve(arguments: &[OsString]) {
    let this = std::env::current_exe().unwrap();
    let worker = WorkerCommand { program: this, arguments: vec!["as-worker".into()] };
    let policy = Some(PathBuf::from(&arguments[1]));
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
    let is_said = |name: &str| arguments.iter().any(|argument| argument == name);
    let config = WorkerConfig {
        tokens: is_said("--tokens"),
        private_keys: is_said("--private-keys"),
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
    fn start() -> Self {
        let folder = tempfile::tempdir_in(millstream_testkit::memory()).unwrap();
        let (file, store) = (folder.path().join("policy.toml"), folder.path().join("tokens"));
        std::fs::write(&file, format!("[default]\nattaches_per_s = 0\n[tokens]\nstore = {store:?}\n"))
            .unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("as-broker").arg(socket_in(folder.path())).arg(file);
        let mut broker = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(broker.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "serving\n", "the broker did not start");
        Running { folder, broker }
    }

    fn options(&self) -> Attach {
        // Other tests may have all processors for longer than a program waits by default.
        let limit = Duration::from_secs(60);
        Attach { socket: Some(socket_in(self.folder.path())), limit, ..Attach::default() }
    }

    fn attach(&self, name: &str) -> Result<Isolated, Error> {
        Isolated::attach(&self.options(), name, USER, Hash::Sha256)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.broker.kill();
        let _ = self.broker.wait();
    }
}

/// The socket's folder is one that the broker makes.
fn socket_in(folder: &Path) -> PathBuf {
    folder.join("run").join("millstream.sock")
}

/// Makes a token with keys, of a label and a kind each.
fn token(accelerator: &Accelerator, label: &str, keys: &[(&str, &str)]) {
    let token = accelerator.make_token(label, OFFICER, Some(USER)).unwrap();
    let token = accelerator.open_token(token, Pin::User(USER)).unwrap();
    for (label, kind) in keys {
        let asked = Attributes { label: (*label).into(), kind: (*kind).into(), ..Attributes::default() };
        token.generate(&asked, matches!(*kind, "aes" | "hmac").then_some(256)).unwrap();
    }
}

fn service() -> Running {
    let service = Running::start();
    let accelerator = service.options().attach().unwrap();
    let keys = [
        ("customers", "aes"),
        ("stream", "chacha20-poly1305"),
        ("tokens", "hmac"),
        ("curve", "ed25519"),
        ("joins", "aes-siv"),
        ("messages", "fernet"),
    ];
    token(&accelerator, "web", &keys);
    token(&accelerator, "other", &[("tokens", "hmac")]);
    service
}

fn rows() -> Vec<Option<Vec<u8>>> {
    (0..3000).map(|i| (i % 7 != 3).then(|| vec![b'a' + (i % 26) as u8; i % 40])).collect()
}

fn columns() {
    let service = service();
    let rows = rows();
    let rows: Vec<Option<&[u8]>> = rows.iter().map(Option::as_deref).collect();
    let column = from_values(&rows, true).unwrap();
    let aad = Parameter::Constant(b"customers.name");
    for name in ["web/customers", "customers", "web/stream"] {
        let key = service.attach(name).unwrap();
        let sealed = key.seal(&column, &Seal { aad, ..Seal::default() }).unwrap();
        // Another client opens it with the same key of the token, and with no other.
        let how = Open { aad, text: true, ..Open::default() };
        let opened = service.attach(name).unwrap().open(&sealed, &how).unwrap();
        assert_eq!(values(&opened).unwrap(), rows, "{name}");
        let wrong = if name == "web/stream" { "customers" } else { "web/stream" };
        let refused = service.attach(wrong).unwrap().open(&sealed, &how).unwrap_err();
        assert!(matches!(refused, Error::Row { row: 0, .. }), "{refused}");
    }
    // Deterministic: another client gets the same, and equal values are equal.
    let how = Open { aad, text: true, ..Open::default() };
    let [first, again] = [0; 2].map(|_| {
        let key = service.attach("web/joins").unwrap();
        let sealed = key.seal(&column, &Seal { aad, ..Seal::default() }).unwrap();
        assert_eq!(values(&key.open(&sealed, &how).unwrap()).unwrap(), rows);
        let refused = key.seal(&column, &Seal::default()).unwrap_err();
        assert!(matches!(refused, Error::Parameter { .. }), "{refused}");
        sealed
    });
    assert_eq!(values(&first).unwrap(), values(&again).unwrap());
    let refused = service.attach("customers").unwrap().open(&first, &how).unwrap_err();
    assert!(matches!(refused, Error::Row { row: 0, .. }), "{refused}");
    // One key of kind `aes` serves other algorithms where they are asked for.
    let of = |algorithm| Isolated::attach_for(&service.options(), "customers", USER, algorithm);
    let siv = of(Algorithm::AesGcmSiv).unwrap().seal(&column, &Seal { aad, ..Seal::default() }).unwrap();
    assert_eq!(values(&of(Algorithm::AesGcmSiv).unwrap().open(&siv, &how).unwrap()).unwrap(), rows);
    let decimal = Alphabet::new("0123456789").unwrap();
    let cards: Vec<String> = (0..3000).map(|i| format!("{i:016}")).collect();
    let cards: Vec<Option<&[u8]>> = cards.iter().map(|card| Some(card.as_bytes())).collect();
    let column_of_cards = from_values(&cards, true).unwrap();
    let fpe = of(Algorithm::AesFf1).unwrap();
    let tokens = fpe.encrypt_digits(&column_of_cards, &decimal, aad, OnError::Fail).unwrap();
    assert!(values(&tokens).unwrap().iter().zip(&cards).all(|(token, card)| token != card));
    let back = of(Algorithm::AesFf1).unwrap().decrypt_digits(&tokens, &decimal, aad, OnError::Fail).unwrap();
    assert_eq!(values(&back).unwrap(), cards);
    assert!(matches!(of(Algorithm::ChaCha20Poly1305), Err(Error::Isolated(_))));
    let tokens = service.attach("messages").unwrap().encrypt_tokens(&column, None).unwrap();
    let how = Token { text: true, ..Token::default() };
    let back = service.attach("messages").unwrap().decrypt_tokens(&tokens, &how).unwrap();
    assert_eq!(values(&back).unwrap(), rows);
    let [first, again, second] = ["web/tokens", "web/tokens", "other/tokens"]
        .map(|name| service.attach(name).unwrap().sign(&column, Encoding::Binary).unwrap());
    assert_eq!(values(&first).unwrap(), values(&again).unwrap());
    assert_ne!(values(&first).unwrap(), values(&second).unwrap());
}

fn names() {
    let service = service();
    for (name, words) in
        [("tokens", "more than one key"), ("web/nothing", "no token"), ("web/curve", "kind ed25519")]
    {
        let refused = service.attach(name).unwrap_err();
        assert!(matches!(&refused, Error::Name { .. }) && refused.to_string().contains(words), "{refused}");
    }
    let wrong = Isolated::attach(&service.options(), "customers", b"000000", Hash::Sha256).unwrap_err();
    assert!(matches!(wrong, Error::Isolated(millstream::Error::WrongPin { left: 1.. })), "{wrong}");
    let nowhere = Attach { socket: Some("/nowhere/millstream.sock".into()), ..Attach::default() };
    let refused = Isolated::attach(&nowhere, "customers", USER, Hash::Sha256).unwrap_err();
    assert!(matches!(refused, Error::Isolated(millstream::Error::Attach(_))), "{refused}");
}

fn ended() {
    let service = service();
    let (rows, key) = (rows(), service.attach("customers").unwrap());
    let rows: Vec<Option<&[u8]>> = rows.iter().map(Option::as_deref).collect();
    let column = from_values(&rows, true).unwrap();
    key.seal(&column, &Seal::default()).unwrap();
    drop(service);
    let began = Instant::now();
    // The grant's end may come while a column is under way, too.
    loop {
        match key.seal(&column, &Seal::default()) {
            Err(ended) => return assert!(matches!(ended, Error::Isolated(_)), "{ended}"),
            Ok(_) => assert!(began.elapsed() < Duration::from_secs(60), "the grant did not end"),
        }
    }
}

/// Prints the time of a value, beside the same key in this process.
fn measure() {
    let service = service();
    let values: Vec<Vec<u8>> = (0..200_000).map(|i| format!("{i:016}").into_bytes()).collect();
    let rows: Vec<Option<&[u8]>> = values.iter().map(|value| Some(&value[..])).collect();
    let column = from_values(&rows, true).unwrap();
    let (aead, mac) = (service.attach("customers").unwrap(), service.attach("web/tokens").unwrap());
    let here = millstream_columns::Aead::new(millstream_columns::Cipher::AesGcm, &[7; 32]).unwrap();
    let ways: [(&str, &dyn Fn()); 3] = [
        ("AES-256-GCM isolated", &|| drop(aead.seal(&column, &Seal::default()).unwrap())),
        ("HMAC-SHA256 isolated", &|| drop(mac.sign(&column, Encoding::Binary).unwrap())),
        ("AES-256-GCM here", &|| drop(here.seal(&column, &Seal::default()).unwrap())),
    ];
    let mut least = [f64::MAX; 3];
    for _ in 0..5 {
        for (least, (_, way)) in least.iter_mut().zip(&ways) {
            let began = Instant::now();
            way();
            *least = least.min(began.elapsed().as_nanos() as f64 / values.len() as f64);
        }
    }
    for (ns, (name, _)) in least.iter().zip(&ways) {
        println!("{name:24} {ns:8.1} ns a value");
    }
}
