//! `openssl s_server` and `s_client`: every suite, Millstream on both sides and on either one.

use std::io::{Read, Write};
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use millstream::{FeatureSet, Features};
use millstream_tests::certificate::Certificate;
use millstream_tests::{
    Counters, OpenSsl, Place, Provider, Running, Side, bytes, eventually, with_each_openssl,
};

/// `s_server` or `s_client`, with all of its output.
struct Peer {
    running: Running,
    stdin: Option<ChildStdin>,
    out: Arc<Mutex<Vec<u8>>>,
    err: Arc<Mutex<Vec<u8>>>,
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

    fn send(&mut self, data: &[u8]) {
        let stdin = self.stdin.as_mut().expect("not closed yet");
        // A peer that failed reports that itself.
        let _ = stdin.write_all(data).and_then(|()| stdin.flush());
    }

    #[track_caller]
    fn expect(&mut self, what: &str, is: impl Fn(&Peer) -> bool) {
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

    fn says(&self) -> String {
        let out = self.out.lock().expect("no reader panics");
        let err = self.err.lock().expect("no reader panics");
        let end = String::from_utf8_lossy(&out[out.len().saturating_sub(2000)..]);
        format!("{end}\n{}", String::from_utf8_lossy(&err))
    }

    fn received(&self) -> usize {
        self.out.lock().expect("no reader panics").len()
    }

    fn wrote(&self, text: &str) -> bool {
        contains(&self.out.lock().expect("no reader panics"), text.as_bytes())
    }

    fn complained(&self, text: &str) -> bool {
        contains(&self.err.lock().expect("no reader panics"), text.as_bytes())
    }

    /// Closes its input, and requires that it succeeds.
    #[track_caller]
    fn finish(&mut self) {
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

/// The settings of both sides, and certificates of all kinds.
struct Tls<'a> {
    openssl: &'a OpenSsl,
    place: Place,
    default: Side,
    millstream: Side,
    rsa: Certificate,
    ecdsa: Certificate,
    dsa: Certificate,
}

impl<'a> Tls<'a> {
    fn new(openssl: &'a OpenSsl) -> Tls<'a> {
        let place = Place::new();
        let default = Side::new(&place, "default", Provider::Default);
        let millstream = Side::new(&place, "millstream", Provider::Millstream);
        let (rsa, ecdsa) = (Certificate::rsa(&place), Certificate::ecdsa(&place));
        let dsa = Certificate::dsa(&place);
        Tls { openssl, place, default, millstream, rsa, ecdsa, dsa }
    }

    /// Starts a server on its own socket in the test's folder.
    fn server(&self, side: &Side, words: &str) -> Peer {
        let socket = self.place.path("socket");
        let _ = std::fs::remove_file(&socket);
        let mut server = self.openssl.command(side, "s_server -quiet -unix");
        let first = if words.contains("DSS") { &self.dsa } else { &self.rsa };
        server.arg(&socket).arg("-cert").arg(&first.certificate).arg("-key").arg(&first.key);
        server.arg("-dcert").arg(&self.ecdsa.certificate).arg("-dkey").arg(&self.ecdsa.key);
        server.args(words.split_whitespace());
        let mut server = Peer::start(server);
        server.expect("the server listens", |_| listens(&socket.to_string_lossy()));
        server
    }

    fn client(&self, side: &Side, words: &str) -> Peer {
        let mut client = self.openssl.command(side, "s_client -no_ign_eof -unix");
        client.arg(self.place.path("socket")).args(words.split_whitespace());
        Peer::start(client)
    }

    /// Exchanges that many bytes in both directions over one connection.
    #[track_caller]
    fn exchange(&self, sides: (&Side, &Side), server: &str, client: &str, len: usize) {
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
    fn exchanges(&self, server: &str, client: &str, len: usize) -> [Counters; 3] {
        let (ours, theirs) = (&self.millstream, &self.default);
        [(ours, ours), (ours, theirs), (theirs, ours)].map(|sides| {
            self.exchange(sides, server, client, len);
            ours.take()
        })
    }

    /// Returns the suites of a protocol version that both sides have.
    fn suites(&self, words: &str) -> Vec<String> {
        let list = |side| {
            let text = self.openssl.text(side, &format!("ciphers -s {words} ALL:!PSK:!SRP:@SECLEVEL=0"));
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

/// Returns Millstream's cipher for a suite; none where it is the default provider's.
fn cipher(suite: &str) -> Option<String> {
    let suite = suite.replace('_', "");
    if suite.contains("CHACHA20") {
        return Some("chacha20-poly1305".to_owned());
    }
    let (name, bits) = ["AES", "CAMELLIA"].iter().find_map(|name| {
        let bits = ["128", "256"].into_iter().find(|bits| suite.contains(&format!("{name}{bits}")));
        bits.map(|bits| (name.to_ascii_lowercase(), bits))
    })?;
    match (suite.contains("GCM"), suite.contains("CCM")) {
        (_, true) => None,
        (true, _) => Some(format!("{name}-{bits}-gcm")),
        // The cipher counts alone, or as one operation with the MAC.
        _ => Some(format!("{name}-{bits}-cbc*")),
    }
}

const LEN: usize = 150_000;

/// Requires that Millstream computed a suite's cipher for all data on so many of Millstream's sides.
#[track_caller]
fn require(counters: [Counters; 3], suite: &str, len: usize) {
    for (counters, sides) in counters.iter().zip([2, 1, 1]) {
        // Handshakes digest data with every cipher.
        counters.require("sha*", 1, 100);
        if let Some(cipher) = cipher(suite) {
            counters.require(&cipher, (2 * sides * len / 16_384) as u64, (2 * sides * len) as u64);
        }
    }
}

fn tls_1_2(openssl: &OpenSsl) {
    let tls = Tls::new(openssl);
    let suites = tls.suites("-tls1_2");
    assert!(suites.len() >= 60, "{suites:?}");
    for suite in &suites {
        let words = format!("-tls1_2 -cipher {suite}:@SECLEVEL=0");
        require(tls.exchanges(&words, &words, LEN), suite, LEN);
    }
    tls.default.counted().require_none();
}

/// Tests CBC suites with the MAC over the plaintext, which is used without the extension.
fn without_encrypt_then_mac(openssl: &OpenSsl) {
    let tls = Tls::new(openssl);
    let mut used = 0;
    for suite in tls.suites("-tls1_2").iter().filter(|suite| cipher(suite).is_some_and(|c| c.contains("cbc")))
    {
        // One key exchange is as good as another here.
        if !suite.starts_with("ECDHE-RSA") && suite.contains("DH") {
            continue;
        }
        let words = format!("-tls1_2 -cipher {suite}:@SECLEVEL=0");
        require(tls.exchanges(&format!("{words} -no_etm"), &words, LEN), suite, LEN);
        used += 1;
    }
    assert!(used >= 12, "{used}");
    // libssl seals many records at a time when data is cut into short ones.
    for suite in ["AES128-SHA", "AES256-SHA", "AES128-SHA256", "AES256-SHA256"] {
        let words = format!("-tls1_2 -cipher {suite}:@SECLEVEL=0 -max_send_frag 512");
        require(tls.exchanges(&format!("{words} -no_etm"), &words, LEN), suite, LEN);
    }
}

/// Tests the oldest versions that these libraries still speak, with chained initialisation vectors, and keys
/// from MD5 and SHA-1.
fn tls_1_0_and_1_1(openssl: &OpenSsl) {
    let tls = Tls::new(openssl);
    for version in ["-tls1", "-tls1_1"] {
        for suite in ["AES128-SHA", "AES256-SHA", "CAMELLIA128-SHA"] {
            for etm in ["", "-no_etm"] {
                let words = format!("{version} -cipher {suite}:@SECLEVEL=0");
                require(tls.exchanges(&format!("{words} {etm}"), &words, LEN), suite, LEN);
            }
        }
    }
}

fn tls_1_3(openssl: &OpenSsl) {
    let tls = Tls::new(openssl);
    let mut suites = tls.suites("-tls1_3");
    assert!(suites.len() >= 3, "{suites:?}");
    suites.extend(["TLS_AES_128_CCM_SHA256", "TLS_AES_128_CCM_8_SHA256"].map(str::to_owned));
    for suite in &suites {
        let words = format!("-tls1_3 -ciphersuites {suite}");
        require(
            tls.exchanges(
                &format!("{words} -cipher ALL:@SECLEVEL=0"),
                &format!("{words} -cipher ALL:@SECLEVEL=0"),
                LEN,
            ),
            suite,
            LEN,
        );
    }
    tls.default.counted().require_none();
}

/// Sends several megabytes both ways through the most used suites.
fn much_data(openssl: &OpenSsl) {
    let tls = Tls::new(openssl);
    let len = 5 << 20;
    for suite in ["TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"] {
        let words = format!("-tls1_3 -ciphersuites {suite}");
        require(tls.exchanges(&words, &words, len), suite, len);
    }
    for suite in ["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-SHA384", "AES128-SHA"] {
        let words = format!("-tls1_2 -cipher {suite}");
        require(tls.exchanges(&words, &words, len), suite, len);
    }
}

/// No counters move without the provider.
fn counts_nothing_without_the_provider(openssl: &OpenSsl) {
    let tls = Tls::new(openssl);
    tls.exchange((&tls.default, &tls.default), "", "", LEN);
    tls.default.counted().require_none();
    tls.millstream.counted().require_none();
}

/// Resumes the session of the first connection in a second one, from a ticket that the server sealed.
fn resumption(openssl: &OpenSsl) {
    let tls = Tls::new(openssl);
    for version in ["-tls1_2", "-tls1_3"] {
        let mut server = tls.server(&tls.millstream, &format!("-naccept 2 {version}"));
        let session = tls.place.path("session").display().to_string();
        for (turn, words) in ["-sess_out", "-sess_in"].iter().enumerate() {
            let mut client = tls.client(&tls.millstream, &format!("{version} -nocommands {words} {session}"));
            // Tickets come before any data does.
            server.send(format!("for client {turn}\n").as_bytes());
            client.expect("the server's line", |client| client.wrote(&format!("for client {turn}")));
            client.finish();
            assert_eq!(client.wrote("Reused, "), turn == 1, "{}", client.says());
        }
        server.finish();
        let counted = tls.millstream.take();
        counted.require("aes-256-cbc", 2, 100).require("hmac*", 2, 100).require("aes-256-gcm", 4, 40);
    }
}

/// Changes keys in the middle of a connection when the client asks for it: `K` and `k` of TLS 1.3, `R` of TLS
/// 1.2.
fn new_keys(openssl: &OpenSsl) {
    let tls = Tls::new(openssl);
    let line = |byte: u8| [vec![byte; 999], vec![b'\n']].concat();
    let sides = [
        (&tls.millstream, &tls.millstream),
        (&tls.millstream, &tls.default),
        (&tls.default, &tls.millstream),
    ];
    let connections = [
        (
            "-tls1_3 -ciphersuites TLS_AES_128_GCM_SHA256",
            "",
            ["K\n", "k\n", "K\n"],
            "KEYUPDATE",
            "aes-128-gcm",
        ),
        (
            "-tls1_3 -ciphersuites TLS_CHACHA20_POLY1305_SHA256",
            "",
            ["k\n", "K\n", "k\n"],
            "KEYUPDATE",
            "chacha20-poly1305",
        ),
        (
            "-tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256",
            "-client_renegotiation",
            ["R\n"; 3],
            "RENEGOTIATING",
            "aes-128-gcm",
        ),
        (
            "-tls1_2 -cipher ECDHE-RSA-AES256-SHA384",
            "-client_renegotiation",
            ["R\n"; 3],
            "RENEGOTIATING",
            "aes-256-cbc*",
        ),
    ];
    for (words, renegotiation, commands, said, algorithm) in connections {
        for (servers, clients) in sides {
            let mut server = tls.server(servers, &format!("-naccept 1 {words} {renegotiation}"));
            let mut client = tls.client(clients, words);
            let mut sent = Vec::new();
            for (turn, command) in [""].iter().chain(&commands).enumerate() {
                // A command works only when it is read alone, so everything that was sent before must have
                // arrived.
                client.send(command.as_bytes());
                client.expect("new keys", |client| {
                    let err = client.err.lock().expect("no reader panics");
                    String::from_utf8_lossy(&err).matches(said).count() >= turn
                });
                // The lines begin with no letter of a command. The server answers when it has them, so never
                // in the middle of a handshake.
                let data = line(b'a' + turn as u8).repeat(100);
                client.send(&data);
                sent.extend(data);
                server.expect("the client's data", |server| server.received() >= sent.len());
                let answer = line(b's' + turn as u8);
                server.send(&answer);
                client.expect("the server's data", |client| client.wrote(&String::from_utf8_lossy(&answer)));
            }
            client.finish();
            server.finish();
            assert!(*server.out.lock().expect("no reader panics") == sent, "{words}: other data");
            assert!(!client.complained(":error:"), "{}", client.says());
            tls.millstream.take().require(algorithm, 300_000 / 16_384, 300_000);
        }
    }
}

/// Signs and agrees with the keys of both certificates, and with ephemeral ones of each curve.
fn key_pairs(openssl: &OpenSsl) {
    let tls = Tls::new(openssl);
    let connections: [(&str, &str, &[&str]); 6] = [
        ("-tls1_3", "-groups P-256 -sigalgs ECDSA+SHA256", &["ecdsa-p256", "ecdh-p256"]),
        ("-tls1_3", "-groups P-384 -sigalgs ECDSA+SHA256", &["ecdsa-p256", "ecdh-p384"]),
        ("-tls1_3", "-groups P-521 -sigalgs rsa_pss_rsae_sha512", &["rsa-2048", "ecdh-p521"]),
        ("-tls1_3", "-groups P-256 -sigalgs rsa_pss_rsae_sha256", &["rsa-2048", "ecdh-p256"]),
        ("-tls1_2 -cipher ECDHE-ECDSA-AES128-GCM-SHA256", "-groups P-256", &["ecdsa-p256", "ecdh-p256"]),
        ("-tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256", "-sigalgs RSA+SHA384", &["rsa-2048", "x25519"]),
    ];
    // Without AVX-512 IFMA RSA is OpenSSL's own, and so are agreements on P-256 and P-521.
    let features = Features::hardware();
    let agrees = features.contains(FeatureSet::parse("adx,avx512vl,avx512ifma"));
    let rsa_is_ours = millstream::publickey::rsa::RSA.best(features).kernel().requires != FeatureSet::EMPTY;
    // OpenSSL 4 signs with the provider that has decoded the key, which is the default one.
    let signs = !openssl.text(&tls.default, "version").starts_with("OpenSSL 4");
    let is_ours = |name: &str| match name {
        "rsa-2048" => signs && rsa_is_ours,
        "ecdsa-p256" => signs,
        "ecdh-p256" | "ecdh-p521" => agrees,
        _ => true,
    };
    for (both, client, algorithms) in connections {
        let counters = tls.exchanges(both, &format!("{both} {client}"), 1000);
        for (counters, sides) in counters.iter().zip([2, 1, 1]) {
            for algorithm in algorithms.iter().filter(|name| is_ours(name)) {
                counters.require(algorithm, sides, 1);
            }
        }
    }
    tls.default.counted().require_none();
}

with_each_openssl!(
    key_pairs,
    tls_1_2,
    tls_1_3,
    tls_1_0_and_1_1,
    without_encrypt_then_mac,
    much_data,
    counts_nothing_without_the_provider,
    resumption,
    new_keys,
);
