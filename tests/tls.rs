//! `openssl s_server` and `s_client`: every suite, Millstream on both sides and on either one.

#[path = "tls/hybrids.rs"]
mod hybrids;
#[path = "tls/peer.rs"]
mod peer;
#[path = "tls/signatures.rs"]
mod signatures;

use millstream::{FeatureSet, Features};
use millstream_tests::{Counters, OpenSsl, with_each_openssl};

use peer::Tls;

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
