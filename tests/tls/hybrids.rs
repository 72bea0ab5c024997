//! The groups of ML-KEM in TLS 1.3, between OpenSSL 3.0 on Millstream, OpenSSL 4 with its own, and Go.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use millstream_tests::{OpenSsl, go_tls_client, run, with_each_openssl};

use crate::peer::Tls;

/// The groups: name, number, bytes of the client's share, and the name in counters.
const GROUPS: [(&str, u16, usize, &str); 6] = [
    ("X25519MLKEM768", 0x11ec, 1216, "x25519-ml-kem-768"),
    ("SecP256r1MLKEM768", 0x11eb, 1249, "p256-ml-kem-768"),
    ("SecP384r1MLKEM1024", 0x11ed, 1665, "p384-ml-kem-1024"),
    ("MLKEM512", 0x0200, 800, "ml-kem-512"),
    ("MLKEM768", 0x0201, 1184, "ml-kem-768"),
    ("MLKEM1024", 0x0202, 1568, "ml-kem-1024"),
];

/// OpenSSL 3.0 has these groups from Millstream alone, and OpenSSL 4 has its own: each is the server once.
#[test]
fn openssl_3_0_on_millstream_and_openssl_4() {
    let (old, new) = (OpenSsl::system(), OpenSsl::newest(4));
    for (tls, serves) in [(Tls::between(&old, &new), true), (Tls::between(&new, &old), false)] {
        let sides = if serves { (&tls.millstream, &tls.default) } else { (&tls.default, &tls.millstream) };
        for (group, .., counted) in GROUPS {
            let words = format!("-tls1_3 -groups {group}");
            tls.exchange(sides, &words, &words, 20_000);
            tls.millstream.take().require(counted, 1, 32);
        }
        tls.default.counted().require_none();
    }
}

/// Millstream's keys are used on both sides, also where the default provider tells of the same groups.
fn both_providers(openssl: &OpenSsl) {
    let tls = Tls::new(openssl);
    for (group, .., counted) in GROUPS {
        let words = format!("-tls1_3 -groups {group}");
        tls.exchange((&tls.millstream, &tls.millstream), &words, &words, 20_000);
        tls.millstream.take().require(counted, 2, 64);
    }
}

with_each_openssl!(both_providers);

/// Where both providers tell of a group, it is listed once, and the default list of groups is as before.
#[test]
fn openssl_4_lists_each_group_once() {
    let openssl = OpenSsl::newest(4);
    let tls = Tls::new(&openssl);
    let [with, without] = [&tls.millstream, &tls.default].map(|side| {
        let list = openssl.text(side, "list -tls-groups");
        let mut groups: Vec<_> = list.trim().split(':').map(str::to_owned).collect();
        groups.sort();
        groups
    });
    assert_eq!(with, without, "each group is there once");
    // A client and a server that name no groups agree on the first of OpenSSL's own list.
    tls.exchange((&tls.millstream, &tls.millstream), "-tls1_3", "-tls1_3", 1000);
    tls.millstream.take().require("x25519-ml-kem-768", 2, 128);
}

/// One line of configuration gives the groups to programs on OpenSSL 3.0 that know nothing of them.
#[test]
fn a_line_of_configuration_sets_the_groups() {
    const LINES: &str = "
[init]
ssl_conf = millstream_ssl
[millstream_ssl]
system_default = millstream_tls
[millstream_tls]
Groups = X25519MLKEM768:X25519:P-256:P-384
";
    let (old, new) = (OpenSsl::system(), OpenSsl::newest(4));
    let tls = Tls::between(&new, &old);
    // OpenSSL 3.0's own list has no groups of providers.
    tls.exchange((&tls.default, &tls.millstream), "-tls1_3", "-tls1_3", 1000);
    assert_eq!(tls.millstream.take().of("*ml-kem*"), (0, 0));
    let mut file =
        OpenOptions::new().append(true).open(tls.millstream.configuration()).expect("the file is there");
    file.write_all(LINES.as_bytes()).expect("the file is written");
    tls.exchange((&tls.default, &tls.millstream), "-tls1_3", "-tls1_3", 1000);
    tls.millstream.take().require("x25519-ml-kem-768", 1, 64);
    // A server without the group has another one, which the client offers too.
    tls.exchange((&tls.default, &tls.millstream), "-tls1_3 -groups P-256", "-tls1_3", 1000);
    assert_eq!(tls.millstream.take().of("*ml-kem*"), (0, 0));
}

/// A server that insists on a group asks the client once more.
#[test]
fn a_server_asks_for_the_group() {
    let (old, new) = (OpenSsl::system(), OpenSsl::newest(4));
    let tls = Tls::between(&old, &new);
    let client = "-tls1_3 -groups *X25519:X25519MLKEM768";
    tls.exchange((&tls.millstream, &tls.default), "-tls1_3 -groups X25519MLKEM768", client, 1000);
    tls.millstream.take().require("x25519-ml-kem-768", 1, 64);
}

/// A client of Go, which has an implementation of its own.
#[test]
fn go_is_the_client() {
    let openssl = OpenSsl::system();
    let tls = Tls::new(&openssl);
    let mut server = tls.server(&tls.millstream, "-naccept 1 -tls1_3 -groups X25519MLKEM768");
    let ended = run(go_tls_client().arg(tls.place.path("socket")), b"from Go\n");
    assert_eq!(ended.text(), "X25519MLKEM768\n");
    server.expect("the data of Go's client", |server| server.wrote("from Go\n"));
    server.finish();
    tls.millstream.take().require("x25519-ml-kem-768", 1, 64);
}

/// Shares of every kind of wrong length, and right ones with wrong keys in them, end the connection with an alert; the server goes on.
#[test]
fn wrong_shares_are_refused() {
    let openssl = OpenSsl::system();
    let tls = Tls::new(&openssl);
    for (group, id, len, _) in GROUPS {
        let shares = [1, 31, 32, 33, 65, len - 32, len - 1, len + 1, len + 32, 2 * len];
        let connections = shares.len() + 2;
        let mut server =
            tls.server(&tls.millstream, &format!("-naccept {connections} -tls1_3 -groups {group}"));
        // A share of the right length with numbers that are not below q.
        for share in shares.iter().map(|len| vec![4; *len]).chain([vec![0xff; len]]) {
            let mut stream = UnixStream::connect(tls.place.path("socket")).expect("the server listens");
            stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time limit");
            stream.write_all(&client_hello(id, &share)).expect("the server reads");
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).expect("the server ends the connection");
            // An alert of two bytes: fatal. Its kind is illegal_parameter, or what OpenSSL says of a key that it can't take.
            assert!(
                answer.len() == 7 && answer[0] == 21 && answer[5] == 2,
                "{group} {}: {answer:?}",
                share.len()
            );
            assert!([47, 50, 80].contains(&answer[6]), "{group} {}: {answer:?}", share.len());
        }
        let mut client =
            tls.client(&tls.millstream, &format!("-quiet -nocommands -no_ign_eof -tls1_3 -groups {group}"));
        client.send(b"good\n");
        server.expect("a good client's data", |server| server.wrote("good"));
        client.finish();
        server.finish();
    }
}

/// Returns a client's first record, with one share. Ref. RFC 8446 §4.1.2.
fn client_hello(group: u16, share: &[u8]) -> Vec<u8> {
    let with_len = |len: usize, bytes: &[u8]| {
        let size = bytes.len().to_be_bytes();
        [&size[size.len() - len..], bytes].concat()
    };
    let extension = |kind: u16, bytes: &[u8]| [&kind.to_be_bytes()[..], &with_len(2, bytes)].concat();
    let share = [&group.to_be_bytes()[..], &with_len(2, share)].concat();
    let extensions = [
        // The versions, the groups, the signatures, and the shares.
        extension(43, &[2, 3, 4]),
        extension(10, &with_len(2, &group.to_be_bytes())),
        extension(13, &with_len(2, &[8, 4, 4, 3])),
        extension(51, &with_len(2, &share)),
    ];
    let hello =
        [&[3, 3][..], &[7; 32], &with_len(1, &[]), &with_len(2, &[0x13, 1]), &with_len(1, &[0])].concat();
    let hello = [hello, with_len(2, &extensions.concat())].concat();
    let message = [&[1][..], &with_len(3, &hello)].concat();
    [&[22, 3, 1][..], &with_len(2, &message)].concat()
}
