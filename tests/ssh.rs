//! OpenSSH: `scp` and `ssh` against an `sshd` on the loopback interface, as the user who runs the test.

use millstream_tests::{Counters, Place, Provider, Side, Sshd, bytes, eventually};

/// The name in OpenSSH, the name in the provider, and whether another algorithm's MAC goes with it.
const CIPHERS: &[(&str, &str, bool)] = &[
    ("aes128-ctr", "aes-128-ctr", true),
    ("aes192-ctr", "aes-192-ctr", true),
    ("aes256-ctr", "aes-256-ctr", true),
    ("aes128-gcm@openssh.com", "aes-128-gcm", false),
    ("aes256-gcm@openssh.com", "aes-256-gcm", false),
    ("aes128-cbc", "aes-128-cbc", true),
    ("aes192-cbc", "aes-192-cbc", true),
    ("aes256-cbc", "aes-256-cbc", true),
    ("3des-cbc", "3des-cbc", true),
];

const LEN: usize = 3_000_000;

/// Every cipher with several megabytes both ways, Millstream on both sides.
#[test]
fn copies_with_every_cipher() {
    let place = Place::new();
    let server = Side::new(&place, "server", Provider::Millstream);
    let client = Side::new(&place, "client", Provider::Millstream);
    let sshd = Sshd::start(place, &server);
    for (cipher, algorithm, code) in CIPHERS {
        let before = (server.counted(), client.counted());
        sshd.copies(&client, &["-c", cipher, "-o", "MACs=hmac-sha2-256"], LEN);
        // The counts of a server's connection are complete when its process has ended.
        let grown = |now: &Counters, before: &Counters, name: &str| now.of(name).1 - before.of(name).1;
        let due = 2 * LEN as u64;
        eventually("the server counts", || grown(&server.counted(), &before.0, algorithm) >= due);
        assert!(grown(&client.counted(), &before.1, algorithm) >= due, "{cipher}:\n{}", client.counted());
        if *code {
            // OpenSSH builds HMAC on digests itself.
            assert!(grown(&client.counted(), &before.1, "*sha256") >= due, "{cipher}:\n{}", client.counted());
        }
    }
}

/// OpenSSH makes its own AEAD from its own Poly1305 and OpenSSL's bare ChaCha20, which Millstream does not
/// offer. The data must arrive, and Millstream only does the key exchange.
#[test]
fn copies_with_openssh_s_own_cipher() {
    let place = Place::new();
    let side = Side::new(&place, "millstream", Provider::Millstream);
    let sshd = Sshd::start(place, &side);
    sshd.copies(&side, &["-c", "chacha20-poly1305@openssh.com"], LEN);
    let counted = side.counted();
    counted.require("sha256", 10, 1000);
    assert_eq!(counted.of("chacha20*"), (0, 0), "{counted}");
}

/// Tests MACs of all kinds. OpenSSH's HMAC copies digests for every packet.
#[test]
fn codes() {
    let place = Place::new();
    let server = Side::new(&place, "server", Provider::Millstream);
    let client = Side::new(&place, "client", Provider::Default);
    let sshd = Sshd::start(place, &server);
    let codes = [
        ("hmac-sha1", "*sha1"),
        ("hmac-sha1-96", "*sha1"),
        ("hmac-sha2-256-etm@openssh.com", "*sha256"),
        ("hmac-sha2-512", "*sha512"),
        ("hmac-md5", "*md5"),
        ("umac-128@openssh.com", "aes-128-ctr"),
    ];
    for (code, algorithm) in codes {
        let before = server.counted().of(algorithm);
        sshd.copies(&client, &["-c", "aes128-ctr", "-o", &format!("MACs={code}")], 500_000);
        eventually("the server counts", || server.counted().of(algorithm).1 - before.1 >= 1_000_000);
    }
    client.counted().require_none();
}

/// Keys change after each megabyte, on both sides in turn.
#[test]
fn new_keys() {
    let place = Place::new();
    let server = Side::new(&place, "server", Provider::Millstream);
    let millstream = Side::new(&place, "client", Provider::Millstream);
    let default = Side::new(&place, "default", Provider::Default);
    let sshd = Sshd::start(place, &server);
    let data = bytes(6 << 20);
    for (client, cipher) in [
        (&millstream, "aes256-gcm@openssh.com"),
        (&default, "aes128-gcm@openssh.com"),
        (&millstream, "aes128-ctr"),
        (&default, "aes256-cbc"),
        (&millstream, "chacha20-poly1305@openssh.com"),
    ] {
        let options = ["-v", "-c", cipher, "-o", "RekeyLimit=1M"];
        let ended = sshd.good(sshd.client(client, "ssh", &options).args(["127.0.0.1", "cat"]), &data);
        assert!(ended.out == data, "{cipher}: other data");
        let rekeyed = ended.err.matches("SSH2_MSG_KEXINIT sent").count();
        assert!(rekeyed >= 5, "{cipher}: {rekeyed} exchanges of keys");
    }
    default.counted().require_none();
    server.counted().require("aes-256-gcm", 100, 12 << 20).require("aes-128-gcm", 100, 12 << 20);
    server.counted().require("aes-128-ctr", 100, 12 << 20).require("aes-256-cbc", 100, 12 << 20);
}

#[test]
fn counts_nothing_without_the_provider() {
    let place = Place::new();
    let default = Side::new(&place, "default", Provider::Default);
    let sshd = Sshd::start(place, &default);
    sshd.copies(&default, &["-c", "aes128-ctr"], 100_000);
    default.counted().require_none();
}
