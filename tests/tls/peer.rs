//! `s_server` and `s_client` with what they have written so far, and the settings of both sides.

use std::io::{Read, Write};
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use millstream_tests::certificate::Certificate;
use millstream_tests::{Counters, OpenSsl, Place, Provider, Running, Side, bytes, eventually};

/// `s_server` or `s_client`, with all of its output.
pub struct Peer {
    running: Running,
    stdin: Option<ChildStdin>,
    pub out: Arc<Mutex<Vec<u8>>>,
    pub err: Arc<Mutex<Vec<u8>>>,
    shown: String,
}

impl Peer {
    fn start(mut command: Command) -> Peer {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = Running::start(&mut command);
        let stdin = running.child.stdin.take();
        let out: ChildStdout = running.child.stdout.take().expect("it is piped");
        let err: ChildStderr = running.child.stderr.take().expect("it is piped");
        Peer { running, stdin, out: collect(out), err: collect(err), shown: format!("{command:?}") }
    }

    pub fn send(&mut self, data: &[u8]) {
        let stdin = self.stdin.as_mut().expect("not closed yet");
        // A peer that failed reports that itself.
        let _ = stdin.write_all(data).and_then(|()| stdin.flush());
    }

    #[track_caller]
    pub fn expect(&mut self, what: &str, is: impl Fn(&Peer) -> bool) {
        let mut ended = None;
        eventually(what, || {
            let so = is(self);
            ended = self.running.child.try_wait().expect("it is our child");
            so || ended.is_some()
        });
        // Output that was written at the end arrives a moment later.
        if ended.is_some() {
            thread::sleep(std::time::Duration::from_millis(200));
        }
        assert!(is(self), "{what}: not before the end ({ended:?})\n{}\n{}", self.shown, self.says());
    }

    pub fn says(&self) -> String {
        let out = self.out.lock().expect("no reader panics");
        let err = self.err.lock().expect("no reader panics");
        let end = String::from_utf8_lossy(&out[out.len().saturating_sub(2000)..]);
        format!("{end}\n{}", String::from_utf8_lossy(&err))
    }

    pub fn received(&self) -> usize {
        self.out.lock().expect("no reader panics").len()
    }

    pub fn wrote(&self, text: &str) -> bool {
        contains(&self.out.lock().expect("no reader panics"), text.as_bytes())
    }

    pub fn complained(&self, text: &str) -> bool {
        contains(&self.err.lock().expect("no reader panics"), text.as_bytes())
    }

    /// Closes its input, and requires that it succeeds.
    #[track_caller]
    pub fn finish(&mut self) {
        drop(self.stdin.take());
        eventually("the peer ends", || self.running.child.try_wait().expect("it is our child").is_some());
        let status = self.running.child.wait().expect("it is our child");
        assert!(status.success(), "{}: {status}\n{}", self.shown, self.says());
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Reads a stream to its end, into memory that can be looked at meanwhile.
fn collect(mut from: impl Read + Send + 'static) -> Arc<Mutex<Vec<u8>>> {
    let all = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&all);
    thread::spawn(move || {
        let mut piece = [0; 1 << 16];
        while let Ok(read @ 1..) = from.read(&mut piece) {
            shared.lock().expect("no reader panics").extend_from_slice(&piece[..read]);
        }
    });
    all
}

/// No certificates of the system's authorities: a test that verifies a peer names the certificate itself, and reading them all takes
/// longer than the exchange.
const NO_AUTHORITIES: [&str; 3] = ["-no-CAfile", "-no-CApath", "-no-CAstore"];

/// The settings of both sides, and certificates of all kinds.
pub struct Tls<'a> {
    /// The server's version, and the client's.
    openssl: (&'a OpenSsl, &'a OpenSsl),
    pub place: Place,
    pub default: Side,
    pub millstream: Side,
    rsa: Certificate,
    ecdsa: Certificate,
    dsa: Certificate,
}

impl<'a> Tls<'a> {
    pub fn new(openssl: &'a OpenSsl) -> Tls<'a> {
        Tls::between(openssl, openssl)
    }

    /// With another version on the client's side than on the server's.
    pub fn between(server: &'a OpenSsl, client: &'a OpenSsl) -> Tls<'a> {
        let openssl = (server, client);
        let place = Place::new();
        let default = Side::new(&place, "default", Provider::Default);
        let millstream = Side::new(&place, "millstream", Provider::Millstream);
        let (rsa, ecdsa) = (Certificate::rsa(&place), Certificate::ecdsa(&place));
        let dsa = Certificate::dsa(&place);
        Tls { openssl, place, default, millstream, rsa, ecdsa, dsa }
    }

    /// Starts a server on its own socket in the test's folder.
    pub fn server(&self, side: &Side, words: &str) -> Peer {
        let socket = self.place.path("socket");
        let _ = std::fs::remove_file(&socket);
        let mut server = self.openssl.0.command(side, "s_server -quiet -unix");
        let first = if words.contains("DSS") { &self.dsa } else { &self.rsa };
        server.arg(&socket).arg("-cert").arg(&first.certificate).arg("-key").arg(&first.key);
        server.arg("-dcert").arg(&self.ecdsa.certificate).arg("-dkey").arg(&self.ecdsa.key);
        server.args(NO_AUTHORITIES).args(words.split_whitespace());
        let mut server = Peer::start(server);
        server.expect("the server listens", |_| listens(&socket.to_string_lossy()));
        server
    }

    pub fn client(&self, side: &Side, words: &str) -> Peer {
        let mut client = self.openssl.1.command(side, "s_client -no_ign_eof -unix");
        client.arg(self.place.path("socket")).args(NO_AUTHORITIES).args(words.split_whitespace());
        Peer::start(client)
    }

    /// Exchanges that many bytes in both directions over one connection.
    #[track_caller]
    pub fn exchange(&self, sides: (&Side, &Side), server: &str, client: &str, len: usize) {
        let mut server = self.server(sides.0, &format!("-naccept 1 {server}"));
        let mut client = self.client(sides.1, &format!("-quiet -nocommands -no_ign_eof {client}"));
        let (down, up) = (bytes(len), bytes(len + 1));
        // The directions take turns, because both commands block when they write, and would wait for each
        // other.
        client.send(&up);
        server.expect("all data at the server", |server| server.received() >= up.len());
        server.send(&down);
        client.expect("all data at the client", |client| client.received() >= down.len());
        client.finish();
        server.finish();
        assert!(*server.out.lock().expect("no reader panics") == up, "{}: other data", server.shown);
        assert!(*client.out.lock().expect("no reader panics") == down, "{}: other data", client.shown);
    }

    /// Exchanges data with Millstream on both sides, on the server's only, and on the client's only. Returns
    /// the counts of all three.
    #[track_caller]
    pub fn exchanges(&self, server: &str, client: &str, len: usize) -> [Counters; 3] {
        let (ours, theirs) = (&self.millstream, &self.default);
        [(ours, ours), (ours, theirs), (theirs, ours)].map(|sides| {
            self.exchange(sides, server, client, len);
            ours.take()
        })
    }

    /// Returns the suites of a protocol version that both sides have.
    pub fn suites(&self, words: &str) -> Vec<String> {
        let list = |side| {
            let text = self.openssl.0.text(side, &format!("ciphers -s {words} ALL:!PSK:!SRP:@SECLEVEL=0"));
            text.trim().split(':').map(str::to_owned).collect::<Vec<_>>()
        };
        let (default, suites) = (list(&self.default), list(&self.millstream));
        // SEED is in OpenSSL's legacy provider, which is not on Millstream's side.
        let expected: Vec<_> = default.into_iter().filter(|suite| !suite.contains("SEED")).collect();
        assert_eq!(suites, expected, "the provider changes no choice of suites");
        suites
    }
}

/// Returns true when somebody listens on that socket. The file exists a moment earlier.
fn listens(path: &str) -> bool {
    let sockets = std::fs::read_to_string("/proc/net/unix").expect("it is readable");
    sockets.lines().any(|line| line.ends_with(path) && line.split_whitespace().nth(3) == Some("00010000"))
}
