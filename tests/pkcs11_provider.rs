//! OpenSSL with its provider for PKCS #11 on the module, and keys of a token in the service.
//!
//! The command and the provider are those of newer releases of Debian, and run on their own libraries. What they signed, the system's
//! OpenSSL verifies.

use std::path::Path;
use std::process::Command;

use millstream_tests::tokens::{PIN, module};
use millstream_tests::{OtherOpenSsl, Running, Tokens, free_port, program, run};

/// A token in the service, and an OpenSSL that uses it by URIs.
struct Bed {
    tokens: Tokens,
    other: OtherOpenSsl,
}

impl Bed {
    /// Makes the token, with keys for signatures, decryption and agreement.
    fn new(other: OtherOpenSsl) -> Bed {
        let tokens = Tokens::of_service();
        for words in [
            "p-256 -K host --id 01",
            "rsa -K rsa --id 02",
            "ed25519 -K ed --id 03",
            "p-256 -K agree --id 04 --usages derive",
        ] {
            tokens.generate(words);
        }
        let pin = tokens.place.path("pin");
        for (name, early) in [("provider.cnf", false), ("early.cnf", true)] {
            tokens.place.write(name, other.configuration(module(), &pin, early));
        }
        tokens.place.write("text", "keys that stay");
        Bed { tokens, other }
    }

    /// Gives a program of the other release its configuration.
    fn configured(&self, (loader, arguments): (std::path::PathBuf, Vec<std::path::PathBuf>)) -> Command {
        let mut command = self.tokens.command(loader);
        command.args(arguments).env("OPENSSL_CONF", self.tokens.place.path("provider.cnf"));
        command
    }

    /// Returns the other OpenSSL's command with these words.
    fn command(&self, words: &str) -> Command {
        let mut command = self.configured(self.other.command());
        command.args(words.split_whitespace());
        command
    }

    /// Runs it, and returns its output.
    #[track_caller]
    fn text(&self, words: &str) -> String {
        run(&mut self.command(words), b"").text()
    }

    /// Runs it, and requires that the service computes one operation for it at least.
    #[track_caller]
    fn by_token(&self, words: &str) -> String {
        self.tokens.computes(1, || self.text(words))
    }

    /// Runs the system's OpenSSL, which has no token.
    #[track_caller]
    fn system(&self, words: &str) -> String {
        self.tokens.text(program("openssl"), words)
    }

    /// Brings out a public key as `LABEL.pub`.
    #[track_caller]
    fn public(&self, label: &str) {
        self.tokens.millstream(&format!("key public -T web -K {label} --pin-file pin -o {label}.pub"));
    }

    /// Compares what the token agrees on with what OpenSSL does, for a key of a kind.
    #[track_caller]
    fn agrees(&self, label: &str, kind: &str) {
        self.public(label);
        self.system(&format!("genpkey -algorithm {kind} -out peer.pem"));
        self.system("pkey -in peer.pem -pubout -out peer.pub");
        self.by_token(&format!("pkeyutl -derive -inkey {} -peerkey peer.pub -out shared", private(label)));
        self.system(&format!("pkeyutl -derive -inkey peer.pem -peerkey {label}.pub -out expected"));
        assert_eq!(self.tokens.place.read("shared"), self.tokens.place.read("expected"), "{label}");
    }
}

/// Returns the URI of a private key.
fn private(label: &str) -> String {
    format!("pkcs11:token=web;object={label};type=private")
}

/// Signs, decrypts and agrees with each kind of key, makes one, and serves TLS.
fn uses_keys(bed: &Bed) {
    // Each key is there twice, and the private part names itself.
    let listed = bed.text("storeutl -noout -text pkcs11:token=web");
    assert_eq!(listed.matches("type=private").count(), 4, "{listed}");
    assert!(listed.contains("Total found: 8"), "{listed}");

    for label in ["host", "rsa", "ed"] {
        bed.public(label);
    }
    let pss = "-sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:32";
    for (label, words) in
        [("host", "-sha256"), ("host", "-sha512"), ("rsa", "-sha256"), ("rsa", &format!("-sha256 {pss}"))]
    {
        bed.by_token(&format!("dgst {words} -sign {} -out signature text", private(label)));
        let verify = format!("dgst {words} -verify {label}.pub -signature signature text");
        assert_eq!(bed.system(&verify), "Verified OK\n", "{label} {words}");
    }
    bed.by_token(&format!("pkeyutl -sign -rawin -inkey {} -in text -out signature", private("ed")));
    bed.system("pkeyutl -verify -pubin -inkey ed.pub -rawin -in text -sigfile signature");

    // Without a hash for OAEP, the provider sends the numbers of none.
    let oaep = "-pkeyopt rsa_padding_mode:oaep";
    let with_hash = format!("{oaep} -pkeyopt rsa_oaep_md:sha256 -pkeyopt rsa_mgf1_md:sha256");
    for padding in ["", oaep, &with_hash] {
        bed.system(&format!("pkeyutl -encrypt -pubin -inkey rsa.pub {padding} -in text -out sealed"));
        let opened =
            bed.by_token(&format!("pkeyutl -decrypt -inkey {} {padding} -in sealed", private("rsa")));
        assert_eq!(opened, "keys that stay", "{padding}");
    }
    bed.agrees("agree", "EC -pkeyopt ec_paramgen_curve:P-256");

    // A key that the provider makes is in the token; it writes no file of it.
    let uri = "pkcs11_uri:pkcs11:token=web;object=made";
    let words = format!(
        "genpkey -propquery provider=pkcs11 -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -pkeyopt {uri}"
    );
    run(&mut bed.command(&words), b"");
    bed.public("made");
    bed.by_token(&format!("dgst -sha256 -sign {} -out signature text", private("made")));
    bed.system("dgst -sha256 -verify made.pub -signature signature text");

    // Digests, with the module loaded before the first URI.
    let mut digest = bed.command("dgst -propquery provider=pkcs11 -sha256 text");
    digest.env("OPENSSL_CONF", bed.tokens.place.path("early.cnf"));
    let by_module = run(&mut digest, b"").text();
    let own = bed.system("dgst -sha256 text");
    assert_eq!(by_module.split(' ').next_back(), own.split(' ').next_back(), "{by_module}");
}

/// A server with a key of the token, and clients that trust its certificate.
fn serves_tls(bed: &Bed, label: &str, signed: &str) {
    let key = private(label);
    bed.by_token(&format!("req -x509 -new -key {key} -subj /CN=localhost -days 2 -out {label}.crt"));
    let port = free_port();
    let words = format!("s_server -accept 127.0.0.1:{port} -quiet -www -cert {label}.crt -key {key}");
    let _server = Running::serving(&mut bed.command(&words), port);
    bed.tokens.computes(2, || {
        for version in ["-tls1_2", "-tls1_3"] {
            let words = format!(
                "s_client -connect 127.0.0.1:{port} {version} -verify_return_error -CAfile {label}.crt"
            );
            let mut client = bed.tokens.with(program("openssl"), &words);
            let said = run(&mut client, b"Q\n").text();
            assert!(said.contains(&format!("Peer signature type: {signed}\n")), "{said}");
        }
    });
}

/// OpenSSL 3.5 and the provider of Debian 13.
#[test]
fn debian_13() {
    let bed = Bed::new(OtherOpenSsl::debian_13());
    uses_keys(&bed);
    serves_tls(&bed, "host", "ECDSA");
    serves_tls(&bed, "rsa", "RSA-PSS");
    // A wrong PIN is told, and costs one try.
    bed.tokens.place.write("pin", "000000");
    let wrong =
        run(&mut bed.command(&format!("dgst -sha256 -sign {} -out signature text", private("host"))), b"");
    assert_ne!(wrong.code, Some(0), "{wrong:?}");
    bed.tokens.place.write("pin", PIN);
    bed.by_token(&format!("dgst -sha256 -sign {} -out signature text", private("host")));
}

/// The provider of Debian's next release: what that of Debian 13 has not, post-quantum keys and the message interface.
#[test]
fn long_newest_provider_of_debian() {
    let bed = Bed::new(OtherOpenSsl::testing());
    uses_keys(&bed);
    serves_tls(&bed, "host", "ECDSA");
    for words in ["x25519 -K x", "ml-dsa-65 -K mldsa", "ml-kem-768 -K mlkem"] {
        bed.tokens.generate(words);
    }
    bed.agrees("x", "x25519");
    bed.public("mldsa");
    bed.by_token(&format!("pkeyutl -sign -rawin -inkey {} -in text -out signature", private("mldsa")));
    bed.text("pkeyutl -verify -pubin -inkey mldsa.pub -rawin -in text -sigfile signature");
    bed.public("mlkem");
    bed.text("pkeyutl -encap -pubin -inkey mlkem.pub -out sealed -secret expected");
    bed.by_token(&format!("pkeyutl -decap -inkey {} -in sealed -secret shared", private("mlkem")));
    assert_eq!(bed.tokens.place.read("shared"), bed.tokens.place.read("expected"));

    // AES-GCM, by C_EncryptMessage: with a key that stays in the service, and with one that the program gives.
    let program_of = bed.tokens.place.path("messages");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("pkcs11/messages.c");
    let mut compile = Command::new(program("cc"));
    compile.arg("-Wall").arg("-Werror").arg("-o").arg(&program_of).arg(source);
    // The libraries of that release need another libc than the one that the compiler has.
    compile
        .arg("-Wl,--unresolved-symbols=ignore-in-shared-libs")
        .arg(bed.other.libraries().join("libcrypto.so.3"));
    run(&mut compile, b"").good();
    for (kind, least) in [("stays", 6), ("given", 0)] {
        let mut messages = bed.configured(bed.other.loader());
        messages.env("OPENSSL_CONF", bed.tokens.place.path("early.cnf"));
        messages.arg(&program_of).args([kind, "pkcs11:token=web;object=sealing"]);
        let told = bed.tokens.computes(least, || run(&mut messages, b"").text());
        assert_eq!(told, "4 messages\n", "{kind}");
    }
    assert!(bed.tokens.millstream("key list -T web").contains("sealing"));
}
