//! Servers of object stores, which are installed below `target` when they aren't there, and a proxy that disturbs connections to them.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// A server in a folder of its own.
pub struct Server {
    child: Child,
    pub port: u16,
    _folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The account of Azure's server, and its key in base64.
pub const ACCOUNT: (&str, &str) = ("us", "ZXI=");

impl Server {
    /// Starts versitygw with the bucket `bucket`, for the user `us` with the secret `er`.
    pub fn s3() -> Self {
        let program = by_go("versitygw", "github.com/versity/versitygw/cmd/versitygw@v1.8.0");
        let keys = ["--access", "us", "--secret", "er", "--quiet"];
        Server::start(|port, folder| {
            std::fs::create_dir(folder.join("bucket")).unwrap();
            let mut server = Command::new(program);
            server.args(keys).args(["--port", &format!("127.0.0.1:{port}"), "posix"]).arg(folder);
            server
        })
    }

    /// Starts a server of Google's protocol with the bucket `bucket`, for the token `er`.
    pub fn gcs() -> Self {
        Server::start(|port, _| {
            let mut server = Command::new("python3");
            server.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores/gcs.py"));
            server.args([&port.to_string(), "bucket", "er"]);
            server
        })
    }

    /// Starts Azurite for [`ACCOUNT`], and makes the container `bucket`.
    pub fn azure() -> Self {
        let program = by_npm("azurite", "azurite@3.37.0", "node_modules/.bin/azurite-blob");
        let server = Server::start(|port, folder| {
            let mut server = Command::new(program);
            server.args(["--silent", "--blobHost", "127.0.0.1", "--blobPort", &port.to_string()]);
            server.args(["--skipApiVersionCheck", "--disableTelemetry", "--location"]).arg(folder);
            server.env("AZURITE_ACCOUNTS", format!("{}:{}", ACCOUNT.0, ACCOUNT.1));
            server
        });
        server.make_container();
        server
    }

    /// Starts a server at a free port, and waits until it listens.
    fn start(command: impl FnOnce(u16, &Path) -> Command) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = command(port, folder.path());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let server = Server { child, port, _folder: folder };
        for _ in 0..600 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return server;
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("{command:?} does not listen");
    }

    /// Makes a container, which has to be signed for as any request.
    fn make_container(&self) {
        const MAKE: &str = r#"
import base64, email.utils, hashlib, hmac, sys, urllib.request
port, account, key = sys.argv[1:]
date = email.utils.formatdate(usegmt=True)
signed = "PUT" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:2021-08-06\n/{account}/{account}/bucket\nrestype:container"
mac = hmac.new(base64.b64decode(key), signed.encode(), hashlib.sha256).digest()
headers = {"x-ms-date": date, "x-ms-version": "2021-08-06", "Content-Length": "0",
           "Authorization": f"SharedKey {account}:" + base64.b64encode(mac).decode()}
url = f"http://127.0.0.1:{port}/{account}/bucket?restype=container"
urllib.request.urlopen(urllib.request.Request(url, method="PUT", headers=headers)).read()
"#;
        let (account, key) = ACCOUNT;
        let mut python = Command::new("python3");
        let made = python.args(["-c", MAKE, &self.port.to_string(), account, key]).status().unwrap();
        assert!(made.success(), "Azurite made no container");
    }
}

/// Returns the folder for a server below `target`.
fn folder(name: &str) -> PathBuf {
    std::path::absolute(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target").join(name)).unwrap()
}

fn by_go(name: &str, module: &str) -> PathBuf {
    let (folder, mut go) = (folder(name), Command::new("go"));
    installed(folder.join(name), go.args(["install", module]).env("GOBIN", folder))
}

fn by_npm(name: &str, package: &str, program: &str) -> PathBuf {
    let (folder, mut npm) = (folder(name), Command::new("npm"));
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", package, "--prefix"]).arg(&folder);
    installed(folder.join(program), &mut npm)
}

fn installed(program: PathBuf, install: &mut Command) -> PathBuf {
    if !program.exists() {
        let status = install.status().unwrap_or_else(|error| panic!("{install:?}: {error}"));
        assert!(status.success(), "{install:?} failed");
    }
    program
}

/// A way in which connections are disturbed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// So many connections are cut after 60,000 bytes.
    Cuts(usize),
    /// After so many bytes on all connections together every one is cut: the network is gone.
    Gone(usize),
}

/// A proxy that disturbs connections.
pub struct Proxy {
    fault: Fault,
    connections: AtomicUsize,
    passed: AtomicUsize,
    mended: AtomicBool,
}

impl Proxy {
    /// The address, which stands for that of another machine: what is sent there is signed.
    pub const HOST: &str = "127.0.0.2";

    /// Starts a proxy in front of a port, and returns its own port.
    pub fn start(port: u16, fault: Fault) -> (u16, Arc<Self>) {
        let listener = TcpListener::bind((Proxy::HOST, 0)).unwrap();
        let own = listener.local_addr().unwrap().port();
        let (connections, passed, mended) = Default::default();
        let proxy = Arc::new(Proxy { fault, connections, passed, mended });
        let of_thread = Arc::clone(&proxy);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(("127.0.0.1", port)).unwrap());
                let number = of_thread.connections.fetch_add(1, Ordering::SeqCst);
                for (from, to) in
                    [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)]
                {
                    let proxy = Arc::clone(&of_thread);
                    thread::spawn(move || proxy.pass(number, from, to));
                }
            }
        });
        (own, proxy)
    }

    /// Ends the disturbance.
    pub fn mend(&self) {
        self.mended.store(true, Ordering::SeqCst);
    }

    /// Passes bytes on, until the connection is closed or cut.
    fn pass(&self, number: usize, mut from: TcpStream, mut to: TcpStream) -> io::Result<()> {
        let (mut buffer, mut passed) = ([0; 8192], 0);
        loop {
            let n = from.read(&mut buffer)?;
            passed += n;
            let all = self.passed.fetch_add(n, Ordering::SeqCst) + n;
            let is_cut = match self.fault {
                _ if self.mended.load(Ordering::SeqCst) => false,
                Fault::Cuts(many) => number < many && passed > 60_000,
                Fault::Gone(after) => all > after,
            };
            if n == 0 || is_cut {
                let _ = from.shutdown(Shutdown::Both);
                return to.shutdown(Shutdown::Both);
            }
            to.write_all(&buffer[..n])?;
        }
    }
}
