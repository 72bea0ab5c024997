//! Backups in servers of the three protocols: S3 (versitygw), Azure (Azurite) and Google Cloud Storage (a small one), also when
//! connections are cut, when the network goes and when the credentials are wrong or expire.
//!
//! Run with `--features cloud`. Go, npm and Python have to be there.

mod servers;

use std::time::Duration;

use millstream_backup::list::{list, remove};
use millstream_backup::put::Done;
use millstream_backup::verify::verify;
use millstream_backup::{Error, Get, Location, Policy, Put, Store, get, put};
use millstream_cpu::Features;
use millstream_files::envelope::{Identity, Recipient};

use servers::{ACCOUNT, Fault, Proxy, Server};

const KEY: [u8; 32] = [7; 32];

/// Bytes of a segment. A stream has eight segments.
const SEGMENT: u64 = 200_000;

/// Bytes that pass before the network goes: some of the segments, and not all.
const HALF: usize = 800_000;

/// A server with a protocol, at a port.
#[derive(Clone, Copy)]
struct At<'a> {
    scheme: &'a str,
    host: &'a str,
    port: u16,
    secret: &'a str,
}

impl At<'_> {
    /// Opens a backup's store. The environment is the process's, so one test does all.
    fn open(self, name: &str) -> (Store, Location) {
        let end = format!("http://{}:{}", self.host, self.port);
        let variables = match self.scheme {
            "s3" => vec![
                ("AWS_ACCESS_KEY_ID", "us".into()),
                ("AWS_SECRET_ACCESS_KEY", self.secret.to_owned()),
                ("AWS_REGION", "us-east-1".into()),
                ("AWS_ENDPOINT_URL", end),
            ],
            "gs" => vec![("GOOGLE_BASE_URL", end), ("GOOGLE_BEARER_TOKEN", self.secret.to_owned())],
            _ => vec![
                ("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT.0.into()),
                ("AZURE_STORAGE_ACCOUNT_KEY", self.secret.to_owned()),
                ("AZURE_STORAGE_ENDPOINT", format!("{end}/{}", ACCOUNT.0)),
            ],
        };
        for (name, value) in variables {
            // SAFETY: this is the only thread that reads or writes the environment.
            #[allow(unsafe_code)]
            unsafe {
                std::env::set_var(name, value);
            }
        }
        let (location, inner, is_local) = Location::parse(&format!("{}://{name}", self.scheme)).unwrap();
        assert!(!is_local);
        let policy = Policy { attempts: 6, first_wait: Duration::from_millis(50), ..Policy::default() };
        (Store::new(inner, policy).unwrap(), location)
    }

    /// Returns the same server behind a proxy.
    fn through(self, port: u16) -> Self {
        At { host: Proxy::HOST, port, ..self }
    }
}

fn stream() -> Vec<u8> {
    (0..1_500_000u64).map(|i| ((i * i) >> 3) as u8).collect()
}

fn options() -> Put {
    let mut options = Put::new(Features::hardware());
    (options.segment_bytes, options.memory) = (SEGMENT, 10 * SEGMENT);
    options
}

fn made((store, location): &(Store, Location)) -> Result<Done, Error> {
    put::put(store, location, &options(), &[Recipient::Key(&KEY)], &mut &stream()[..], &|_| {})
}

fn resumed((store, location): &(Store, Location)) -> Result<Done, Error> {
    put::resume(store, location, &options(), &[Identity::Key(&KEY)], &mut &stream()[..], &|_| {})
}

fn read((store, location): &(Store, Location), options: &Get) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    get::get(store, location, options, &[Identity::Key(&KEY)], &mut out, &|_| {}).map(|_| out)
}

/// Makes, reads, verifies, lists and removes backups with names of many kinds.
fn keeps_backups(at: At<'_>, names: &[&str]) {
    let features = Features::hardware();
    let bytes = stream();
    for name in names {
        let backup = at.open(name);
        made(&backup).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(read(&backup, &Get::new(features)).unwrap() == bytes, "{name}");
        let (store, location) = &backup;
        assert_eq!(verify(store, location, &Get::new(features), None, 100, &|_| {}).unwrap().segments, 8);
        assert!(matches!(made(&backup), Err(Error::Exists(_))), "{name}");
        let mut range = Get::new(features);
        range.range = Some(399_000..401_000);
        assert!(read(&backup, &range).unwrap() == bytes[399_000..401_000], "{name}");
    }
    let (store, all) = at.open("bucket");
    assert_eq!(list(&store, &all, features).unwrap().len(), names.len());
    for name in names {
        let (store, location) = at.open(name);
        remove(&store, &location).unwrap();
    }
    assert!(list(&store, &all, features).unwrap().is_empty());
}

/// Cuts connections, and then the network.
fn outlives_the_network(at: At<'_>) {
    let whole = Get::new(Features::hardware());
    // Connections that are cut in the middle are made again.
    let cut = |many| at.through(Proxy::start(at.port, Fault::Cuts(many)).0).open("bucket/cut");
    made(&cut(6)).unwrap();
    assert!(read(&cut(6), &whole).unwrap() == stream());
    let (store, location) = at.open("bucket/cut");
    remove(&store, &location).unwrap();
    assert!(matches!(read(&(store, location), &whole), Err(Error::Missing { partial: false, .. })));

    // A network that is gone interrupts the backup, and nobody takes it for a whole one.
    let (port, proxy) = Proxy::start(at.port, Fault::Gone(HALF));
    let backup = at.through(port).open("bucket/gone");
    let gone = made(&backup).unwrap_err();
    assert!(matches!(gone, Error::Store { .. }), "{gone}");
    let beside = at.open("bucket/gone");
    assert!(matches!(read(&beside, &whole), Err(Error::Missing { partial: true, .. })));
    proxy.mend();
    resumed(&backup).unwrap();
    assert!(read(&beside, &whole).unwrap() == stream());
    remove(&beside.0, &beside.1).unwrap();
}

/// Tells wrong credentials and absent buckets at once, and goes on after credentials that expired.
fn tells_refusals(at: At<'_>, wrong: &str) {
    let denied = made(&At { secret: wrong, ..at }.open("bucket/denied")).unwrap_err().to_string();
    assert!(denied.contains("credentials"), "{denied}");
    let absent = made(&at.open("nowhere/a")).unwrap_err().to_string();
    assert!(absent.contains("bucket"), "{absent}");

    // Credentials that expire while a backup is made leave it to those that come after them.
    let interrupted = at.through(Proxy::start(at.port, Fault::Gone(HALF)).0).open("bucket/expired");
    made(&interrupted).unwrap_err();
    let expired = resumed(&At { secret: wrong, ..at }.open("bucket/expired")).unwrap_err().to_string();
    assert!(expired.contains("credentials"), "{expired}");
    let renewed = at.open("bucket/expired");
    resumed(&renewed).unwrap();
    assert!(read(&renewed, &Get::new(Features::hardware())).unwrap() == stream());
    remove(&renewed.0, &renewed.1).unwrap();
}

#[test]
fn servers_keep_backups() {
    const HOST: &str = "127.0.0.1";
    const NAMES: [&str; 3] = ["bucket/pool/now", "bucket/with space/Köln ü", "bucket/100%"];
    let server = Server::s3();
    let at = At { scheme: "s3", host: HOST, port: server.port, secret: "er" };
    keeps_backups(at, &NAMES);
    outlives_the_network(at);
    tells_refusals(at, "wrong");

    let server = Server::azure();
    let at = At { scheme: "az", host: HOST, port: server.port, secret: ACCOUNT.1 };
    keeps_backups(at, &NAMES);
    outlives_the_network(at);
    tells_refusals(at, "d3Jvbmc=");

    let server = Server::gcs();
    let at = At { scheme: "gs", host: HOST, port: server.port, secret: "er" };
    keeps_backups(at, &NAMES);
    outlives_the_network(at);
    tells_refusals(at, "wrong");
}
