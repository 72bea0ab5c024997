//! Keys of the service's tokens by their URIs: `openssl` signs, decrypts, makes certificates and serves TLS with keys that it never has.

use std::process::{Command, Stdio};

use millstream_tests::{
    Ended, OpenSsl, Place, Provider, Running, Service, Side, built, eventually, free_port, run,
    with_each_openssl,
};

const PIN: &str = "314159";

/// A service with the token `web`, which has a key pair of each kind, and programs that are isolated.
struct Tokens {
    service: Service,
    isolated: Side,
    default: Side,
    place: Place,
}

const KINDS: [&str; 6] = ["p-256", "p-384", "ed25519", "x25519", "rsa -b 2048", "ml-dsa-65"];

impl Tokens {
    fn new() -> Tokens {
        let place = Place::new();
        place.write("pin", PIN);
        place.write("so-pin", "271828");
        place.write("message", "a message");
        let store = place.path("store");
        let policy =
            place.write("policy.toml", format!("[default]\n[tokens]\nstore = \"{}\"\n", store.display()));
        let service = Service::start(&place, &["--policy", policy.to_str().expect("UTF-8")]);
        let isolated = Side::new(&place, "isolated", Provider::Isolated(&service));
        let default = Side::new(&place, "default", Provider::Default);
        let tokens = Tokens { service, isolated, default, place };
        tokens.millstream("token init web --so-pin-file so-pin --pin-file pin");
        for kind in KINDS {
            let label = kind.split(' ').next().expect("a word");
            tokens.millstream(&format!("key generate {kind} -T web -K {label} --pin-file pin"));
        }
        tokens.millstream("key generate aes -T web -K cipher --pin-file pin");
        tokens
    }

    #[track_caller]
    fn millstream(&self, words: &str) -> String {
        let mut command = Command::new(&built().millstream);
        command.args(words.split(' ')).current_dir(self.place.folder()).env_remove("MILLSTREAM_STORE");
        run(command.env("MILLSTREAM_SOCKET", self.service.socket()), b"").text()
    }

    /// Returns the URI of a key, with its PIN's file.
    fn uri(&self, label: &str) -> String {
        format!("millstream:web/{label}?pin-source={}", self.path("pin"))
    }

    fn path(&self, name: &str) -> String {
        self.place.path(name).display().to_string()
    }

    /// Runs openssl with the service.
    fn run(&self, openssl: &OpenSsl, words: &str) -> Ended {
        run(&mut openssl.command(&self.isolated, words), b"")
    }
}

/// Whatever openssl does with a key in a file it does with one in the service.
fn every_command(openssl: &OpenSsl) {
    let tokens = Tokens::new();
    let good = |words: &str| openssl.good(&tokens.isolated, words, b"");
    let verify = |words: &str| openssl.good(&tokens.default, words, b"");
    let path = |name| tokens.path(name);
    for (label, counted) in [("p-256", "ecdsa-p256"), ("p-384", "ecdsa-p384"), ("rsa", "rsa-2048")] {
        let uri = tokens.uri(label);
        good(&format!("pkey -in {uri} -pubout -out {}", path("public")));
        // Whoever wants the public part alone needs no PIN.
        let public = good(&format!("pkey -pubin -in millstream:web/{label}?type=public -pubout"));
        assert!(public == std::fs::read(path("public")).expect("it was written"), "{label}");
        tokens.isolated.take();
        good(&format!("dgst -sha256 -sign {uri} -out {} {}", path("signature"), path("message")));
        tokens.isolated.take().require_isolated(counted, 1, 0);
        let words = format!("-signature {} {}", path("signature"), path("message"));
        verify(&format!("dgst -sha256 -verify {} {words}", path("public")));
        good(&format!("req -new -x509 -key {uri} -subj /CN={label} -days 2 -out {}", path("certificate")));
        verify(&format!("verify -CAfile {0} {0}", path("certificate")));
        // The certificate stands beside its key then, and needs no PIN.
        tokens.millstream(&format!("key import certificate -T web -K {label} --pin-file pin"));
        let written = std::fs::read_to_string(path("certificate")).expect("it was written");
        for uri in [
            format!("millstream:web/{label}?type=cert"),
            format!("pkcs11:token=web;object={label};type=cert"),
        ] {
            let told = String::from_utf8(good(&format!("x509 -in {uri}"))).expect("PEM");
            assert_eq!(told, written, "{uri}");
        }
        let both = String::from_utf8(good(&format!("storeutl -noout -text {uri}"))).expect("text");
        assert!(both.contains("Pkey") && both.contains("Certificate"), "{both}");
    }
    good(&format!(
        "pkeyutl -sign -rawin -inkey {} -in {} -out {}",
        tokens.uri("ed25519"),
        path("message"),
        path("signature")
    ));
    good(&format!("pkey -in {} -pubout -out {}", tokens.uri("ed25519"), path("public")));
    let words = format!("-in {} -sigfile {}", path("message"), path("signature"));
    verify(&format!("pkeyutl -verify -rawin -pubin -inkey {} {words}", path("public")));

    ml_dsa(openssl, &tokens);

    // RSA decrypts, and two agree.
    good(&format!("pkey -in {} -pubout -out {}", tokens.uri("rsa"), path("public")));
    let words = format!("-pubin -inkey {} -in {} -out {}", path("public"), path("message"), path("sealed"));
    verify(&format!("pkeyutl -encrypt -pkeyopt rsa_padding_mode:oaep {words}"));
    let words = format!("-inkey {} -in {}", tokens.uri("rsa"), path("sealed"));
    assert_eq!(good(&format!("pkeyutl -decrypt -pkeyopt rsa_padding_mode:oaep {words}")), b"a message");
    verify(&format!("genpkey -algorithm X25519 -out {}", path("peer")));
    verify(&format!("pkey -in {} -pubout -out {}", path("peer"), path("peer-public")));
    good(&format!("pkey -in {} -pubout -out {}", tokens.uri("x25519"), path("public")));
    let ours =
        good(&format!("pkeyutl -derive -inkey {} -peerkey {}", tokens.uri("x25519"), path("peer-public")));
    assert!(ours == verify(&format!("pkeyutl -derive -inkey {} -peerkey {}", path("peer"), path("public"))));

    // Nothing comes out.
    let ended = tokens.run(openssl, &format!("pkey -in {}", tokens.uri("p-256")));
    assert_ne!(ended.code, Some(0), "the private part came out");
}

/// Signs messages and certificates with keys of ML-DSA, made by the service and brought to it. OpenSSL before 3.5 has the public keys from Millstream.
fn ml_dsa(openssl: &OpenSsl, tokens: &Tokens) {
    let verifier = Side::new(&tokens.place, "verifier", Provider::Millstream);
    let path = |name| tokens.path(name);
    let good = |words: &str| openssl.good(&tokens.isolated, words, b"");
    let verify = |words: &str| openssl.good(&verifier, words, b"");
    for name in ["ML-DSA-44", "ML-DSA-87"] {
        verify(&format!("genpkey -algorithm {name} -out {}", path("own.key")));
        tokens.millstream(&format!("key import own.key -T web -K {} --pin-file pin", name.to_lowercase()));
    }
    for label in ["ml-dsa-65", "ml-dsa-44", "ml-dsa-87"] {
        let pin = path("pin");
        let by_label = tokens.uri(label);
        let by_rfc = format!("pkcs11:token=web;object={label};type=private?pin-source=file:{pin}");
        good(&format!("pkey -in {by_label} -pubout -out {}", path("public")));
        let public = good(&format!("pkey -pubin -in millstream:web/{label}?type=public -pubout"));
        assert!(public == std::fs::read(path("public")).expect("it was written"), "{label}");
        tokens.isolated.take();
        for uri in [&by_label, &by_rfc] {
            let words = format!("-in {} -out {}", path("message"), path("signature"));
            good(&format!("pkeyutl -sign -rawin -inkey {uri} {words}"));
            let words = format!("-in {} -sigfile {}", path("message"), path("signature"));
            verify(&format!("pkeyutl -verify -rawin -pubin -inkey {} {words}", path("public")));
        }
        good(&format!("req -new -x509 -key {by_rfc} -subj /CN={label} -days 2 -out {}", path("certificate")));
        tokens.isolated.take().require_isolated(label, 3, 100);
        verify(&format!("verify -CAfile {0} {0}", path("certificate")));
        let ended = tokens.run(openssl, &format!("pkey -in {by_label}"));
        assert_ne!(ended.code, Some(0), "the private part of {label} came out");
    }
}

/// URIs of RFC 7512, lists, and the errors of people.
fn uris_and_mistakes(openssl: &OpenSsl) {
    let tokens = Tokens::new();
    let text = |words: &str| openssl.text(&tokens.isolated, words);
    let list = text("storeutl -noout -text millstream:web");
    for kind in KINDS {
        let label = kind.split(' ').next().expect("a word");
        assert!(list.contains(&format!("millstream:web/{label}")), "{list}");
    }
    assert!(!list.contains("cipher"), "a key that is no pair: {list}");
    let pin = tokens.path("pin");
    let public = text(&format!("pkey -in {} -pubout", tokens.uri("p-256")));
    for uri in [
        format!("pkcs11:token=web;object=p-256;type=private?pin-source=file:{pin}"),
        format!("pkcs11:token=web;object=%70-256?pin-value={PIN}"),
    ] {
        assert_eq!(text(&format!("pkey -in {uri} -pubout")), public, "{uri}");
    }
    // The program asks for the PIN where the URI does not tell it.
    assert_eq!(text(&format!("pkey -in millstream:web/p-256 -passin file:{pin} -pubout")), public);

    let wrong = tokens.path("wrong");
    std::fs::write(&wrong, "271828\n").expect("the test's own folder");
    for (uri, said) in [
        (format!("millstream:web/p-256?pin-source={wrong}"), "PIN"),
        ("millstream:web/none".to_owned(), "no token of the service"),
        ("millstream:other/p-256".to_owned(), "no token of the service"),
        ("pkcs11:colour=red".to_owned(), "colour"),
        ("millstream:web/p-256?pin-source=/nowhere/at/all".to_owned(), "/nowhere/at/all"),
    ] {
        let ended = tokens.run(openssl, &format!("pkey -in {uri} -pubout"));
        assert_ne!(ended.code, Some(0), "{uri}");
        assert!(ended.err.contains(said), "{uri}: {}", ended.err);
    }
}

/// A TLS server's key is a URI.
fn a_server(openssl: &OpenSsl) {
    serves_with("p-256", openssl);
}

#[test]
fn a_server_of_ml_dsa_on_openssl_4() {
    serves_with("ml-dsa-65", &OpenSsl::newest(4));
}

/// Serves TLS with a key, which is loaded again when the worker that had it is gone.
fn serves_with(label: &str, openssl: &OpenSsl) {
    let tokens = Tokens::new();
    let (uri, port) = (tokens.uri(label), free_port());
    let certificate = tokens.path("certificate");
    openssl.good(
        &tokens.isolated,
        &format!("req -new -x509 -key {uri} -subj /CN=localhost -out {certificate}"),
        b"",
    );
    let words = format!("s_server -www -accept 127.0.0.1:{port} -cert {certificate} -key {uri}");
    let mut server = openssl.command(&tokens.isolated, &words);
    let mut server = Running::start(server.stdin(Stdio::null()).stdout(Stdio::null()));
    eventually("the server listens", || {
        assert!(server.child.try_wait().expect("it is our child").is_none(), "it has ended");
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    let fetch = || {
        let words =
            format!("s_client -connect 127.0.0.1:{port} -ign_eof -verify_return_error -CAfile {certificate}");
        let page = run(&mut openssl.command(&tokens.default, &words), b"GET / HTTP/1.0\r\n\r\n").text();
        assert!(page.contains("Verify return code: 0 (ok)"), "{page}");
    };
    fetch();
    let status: serde_json::Value =
        serde_json::from_str(&tokens.service.status().expect("it answers")).expect("JSON");
    let workers = status["workers"].as_array().expect("a list");
    let private = workers.iter().find(|worker| worker["private_keys"] == true).expect("one for private keys");
    let pid = private["pid"].as_u64().expect("a number") as u32;
    millstream_tests::signal(pid, rustix::process::Signal::KILL);
    // The dead one is noticed, and another takes keys.
    let words = format!("pkey -in {uri} -pubout");
    eventually("there is another worker", || {
        let status = tokens.service.status().unwrap_or_default();
        !status.contains(&format!("\"pid\": {pid},")) && tokens.run(openssl, &words).code == Some(0)
    });
    fetch();
}

with_each_openssl!(every_command, uris_and_mistakes, a_server);
