//! Backups in a real S3 server, versitygw, also when connections are cut and when the credentials are wrong.
//!
//! The server is installed into `target/versitygw` by Go when it isn't there. Run with `--features cloud`.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use millstream_backup::list::{list, remove};
use millstream_backup::verify::verify;
use millstream_backup::{Error, Get, Location, Policy, Put, Store, get, put};
use millstream_cpu::Features;
use millstream_files::envelope::{Identity, Recipient};

const KEY: [u8; 32] = [7; 32];

/// The server, in a folder of its own.
struct Server {
    child: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/versitygw");
    let program = folder.join("versitygw");
    if !program.exists() {
        let status = Command::new("go")
            .args(["install", "github.com/versity/versitygw/cmd/versitygw@v1.8.0"])
            .env("GOBIN", std::path::absolute(&folder).unwrap())
            .status()
            .expect("Go, which builds the S3 server");
        assert!(status.success(), "versitygw was not installed");
    }
    program
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("bucket")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new(program())
            .args([
                "--access",
                "us",
                "--secret",
                "er",
                "--port",
                &format!("127.0.0.1:{port}"),
                "--quiet",
                "posix",
            ])
            .arg(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        for _ in 0..200 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Server { child, port, _folder: folder };
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("versitygw does not listen");
    }
}

/// A proxy that cuts each connection after some bytes, the first few times.
fn cutting(port: u16, cuts: usize) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    let left = Arc::new(AtomicUsize::new(cuts));
    thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(("127.0.0.1", port)).unwrap());
            let cut =
                left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
            for (mut from, mut to) in
                [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)]
            {
                thread::spawn(move || -> io::Result<()> {
                    let (mut buffer, mut passed) = ([0; 8192], 0);
                    loop {
                        let n = from.read(&mut buffer)?;
                        if n == 0 || cut && passed > 60_000 {
                            let _ = from.shutdown(Shutdown::Both);
                            return to.shutdown(Shutdown::Both);
                        }
                        passed += n;
                        to.write_all(&buffer[..n])?;
                    }
                });
            }
        }
    });
    own
}

/// Opens a backup's store at that port. The environment is the process's, so one test does all.
fn at(port: u16, secret: &str, name: &str) -> (Store, Location) {
    // SAFETY: this is the only thread that reads or writes the environment.
    #[allow(unsafe_code)]
    unsafe {
        std::env::set_var("AWS_ACCESS_KEY_ID", "us");
        std::env::set_var("AWS_SECRET_ACCESS_KEY", secret);
        std::env::set_var("AWS_REGION", "us-east-1");
        std::env::set_var("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}"));
    }
    let (location, inner, is_local) = Location::parse(&format!("s3://{name}")).unwrap();
    assert!(!is_local);
    let policy = Policy { attempts: 6, first_wait: Duration::from_millis(50), ..Policy::default() };
    (Store::new(inner, policy).unwrap(), location)
}

#[test]
fn a_real_server_keeps_backups() {
    let server = Server::start();
    let features = Features::hardware();
    let bytes: Vec<u8> = (0..1_500_000u64).map(|i| (i * i >> 3) as u8).collect();
    let mut options = Put::new(features);
    (options.segment_bytes, options.memory) = (200_000, 2_000_000);
    let made = |store: &Store, location: &Location| {
        put::put(store, location, &options, &[Recipient::Key(&KEY)], &mut &bytes[..], &|_| {})
    };
    let read = |store: &Store, location: &Location| {
        let mut out = Vec::new();
        get::get(store, location, &Get::new(features), &[Identity::Key(&KEY)], &mut out, &|_| {}).map(|_| out)
    };
    for name in ["bucket/pool/now", "bucket/with space/Köln ü", "bucket/100%"] {
        let (store, location) = at(server.port, "er", name);
        made(&store, &location).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(read(&store, &location).unwrap() == bytes, "{name}");
        assert_eq!(verify(&store, &location, &Get::new(features), None, 100, &|_| {}).unwrap().segments, 8);
        assert!(matches!(made(&store, &location), Err(Error::Exists(_))), "{name}");
        let mut range = Get::new(features);
        range.range = Some(399_000..401_000);
        let mut part = Vec::new();
        get::get(&store, &location, &range, &[Identity::Key(&KEY)], &mut part, &|_| {}).unwrap();
        assert!(part == bytes[399_000..401_000], "{name}");
    }
    let (store, all) = at(server.port, "er", "bucket");
    assert_eq!(list(&store, &all, features).unwrap().len(), 3);

    // Connections that are cut in the middle are made again.
    let (store, location) = at(cutting(server.port, 6), "er", "bucket/cut");
    made(&store, &location).unwrap();
    let (store, location) = at(cutting(server.port, 6), "er", "bucket/cut");
    assert!(read(&store, &location).unwrap() == bytes);
    remove(&store, &location).unwrap();
    assert!(matches!(read(&store, &location), Err(Error::Missing { partial: false, .. })));

    // What does not pass is told at once.
    let (store, location) = at(server.port, "wrong", "bucket/denied");
    let denied = made(&store, &location).unwrap_err().to_string();
    assert!(denied.contains("credentials"), "{denied}");
    let (store, location) = at(server.port, "er", "nowhere/a");
    let absent = made(&store, &location).unwrap_err().to_string();
    assert!(absent.contains("bucket"), "{absent}");
}
