//! Private keys that programs load from files, in a service: TLS servers sign there, and their memory has nothing of the keys.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use millstream_tests::certificate::Certificate;
use millstream_tests::memory::Secrets;
use millstream_tests::{
    Nginx, OpenSsl, Place, Provider, Running, Service, Side, eventually, free_port, program, run, signal,
    with_each_openssl,
};
use rustix::process::Signal;

/// A kind of key: its name, the certificate, and the names under which signatures are counted.
type Kind = (&'static str, fn(&Place) -> Certificate, &'static str);

const KINDS: &[Kind] = &[
    ("ecdsa", Certificate::ecdsa, "ecdsa-p256"),
    ("rsa", Certificate::rsa, "rsa-2048"),
    ("ed25519", Certificate::ed25519, "ed25519"),
];

const HANDSHAKES: u64 = 3;

/// `openssl s_server`, which answers each request with a page.
struct Server {
    running: Running,
    port: u16,
}

impl Server {
    #[track_caller]
    fn start(openssl: &OpenSsl, side: &Side, certificate: &Certificate, words: &str) -> Server {
        let port = free_port();
        let mut command = openssl.command(side, &format!("s_server -www -accept 127.0.0.1:{port} {words}"));
        command.arg("-cert").arg(&certificate.certificate).arg("-key").arg(&certificate.key);
        let running = Running::start(command.stdin(Stdio::null()).stdout(Stdio::null()));
        let mut server = Server { running, port };
        eventually("the server listens", || {
            let ended = server.running.child.try_wait().expect("it is our child");
            assert!(ended.is_none(), "{command:?}: {ended:?}");
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        server
    }

    fn pid(&self) -> u32 {
        self.running.child.id()
    }

    /// Fetches the page, and requires that the server's certificate is verified.
    #[track_caller]
    fn fetch(&self, openssl: &OpenSsl, side: &Side, certificate: &Certificate, words: &str) {
        let words =
            format!("s_client -connect 127.0.0.1:{} -ign_eof -verify_return_error {words}", self.port);
        let mut client = openssl.command(side, &words);
        client.arg("-CAfile").arg(&certificate.certificate);
        let page = run(&mut client, b"GET / HTTP/1.0\r\n\r\n").text();
        assert!(page.contains("Verify return code: 0 (ok)") && page.contains("s_server"), "{page}");
    }
}

/// Returns the operations of private keys that the service shows, and the keys.
fn shown(service: &Service) -> (u64, u64) {
    let status: serde_json::Value =
        serde_json::from_str(&service.status().expect("it answers")).expect("it is JSON");
    let workers = status["workers"].as_array().expect("a list");
    let private: Vec<_> = workers
        .iter()
        .filter(|worker| worker["private_keys"].as_bool() == Some(true))
        .map(|worker| worker["worker"].as_u64())
        .collect();
    assert!(!private.is_empty(), "{status}");
    let grants = status["grants"].as_array().expect("a list").iter();
    let theirs = grants.filter(|grant| private.contains(&grant["worker"].as_u64()));
    theirs.fold((0, 0), |(operations, keys), grant| {
        let number = |name: &str| grant[name].as_u64().unwrap_or_else(|| panic!("no {name} in {grant}"));
        (operations + number("operations"), keys + number("keys"))
    })
}

/// The server signs in the service, in both versions of TLS, and nothing of its key is in its memory.
fn s_server(openssl: &OpenSsl) {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let isolated = Side::new(&place, "isolated", Provider::Isolated(&service));
    let default = Side::new(&place, "default", Provider::Default);
    for (name, certificate, counted) in KINDS {
        let certificate = certificate(&place);
        let server = Server::start(openssl, &isolated, &certificate, "");
        let (_, keys) = shown(&service);
        assert!(keys >= 1, "{name}: the key is in the service when it is loaded");
        for version in ["-tls1_2", "-tls1_3"] {
            for _ in 0..HANDSHAKES {
                server.fetch(openssl, &default, &certificate, version);
            }
        }
        let (operations, _) = shown(&service);
        assert!(operations >= 2 * HANDSHAKES, "{name}: {operations} operations");
        let found = Secrets::of_key(&default, &certificate.key).found_in(server.pid());
        assert!(found.is_empty(), "{name}: {found:#?}");
        drop(server);
        isolated.take().require_isolated(counted, 2 * HANDSHAKES, 0);
    }
}

/// The same search finds a key that is in the process.
fn s_server_without_isolation(openssl: &OpenSsl) {
    let place = Place::new();
    let local = Side::new(&place, "local", Provider::Millstream);
    let default = Side::new(&place, "default", Provider::Default);
    for (name, certificate, _) in KINDS {
        let certificate = certificate(&place);
        let server = Server::start(openssl, &local, &certificate, "");
        server.fetch(openssl, &default, &certificate, "-tls1_3");
        let found = Secrets::of_key(&default, &certificate.key).found_in(server.pid());
        assert!(!found.is_empty(), "{name}");
    }
}

/// A key in any form of file is in the service when it is loaded, and does not come out again.
fn forms(openssl: &OpenSsl) {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let isolated = Side::new(&place, "isolated", Provider::Isolated(&service));
    let default = Side::new(&place, "default", Provider::Default);
    let message = place.write("message", "a message");
    for (name, certificate, counted) in &KINDS[..2] {
        let key = certificate(&place).key;
        let public = place.path("public");
        let shown = |path: &std::path::Path| path.display().to_string();
        openssl.good(&default, &format!("pkey -in {} -pubout -out {}", shown(&key), shown(&public)), b"");
        let expected = std::fs::read(&public).expect("it was written");
        let old = if *name == "rsa" { "rsa" } else { "ec" };
        for form in [
            "pkcs8 -topk8 -nocrypt".to_owned(),
            "pkcs8 -topk8 -nocrypt -outform DER".to_owned(),
            "pkcs8 -topk8 -passout pass:secret".to_owned(),
            format!("{old} {}", if *name == "rsa" { "-traditional" } else { "" }),
            format!("{old} -outform DER {}", if *name == "rsa" { "-traditional" } else { "" }),
        ] {
            // OpenSSL 3.0's `rsa` has the option, its `ec` needs none.
            let file = place.path("file");
            openssl.good(&default, &format!("{form} -in {} -out {}", shown(&key), shown(&file)), b"");
            let load = format!("-passin pass:secret -in {}", shown(&file));
            let told = openssl.good(&isolated, &format!("pkey {load} -pubout"), b"");
            assert!(told == expected, "{name}, {form}");
            let sign = format!("dgst -sha256 -passin pass:secret -sign {} {}", shown(&file), shown(&message));
            let signature = place.write("signature", openssl.good(&isolated, &sign, b""));
            let verify = format!(
                "dgst -sha256 -verify {} -signature {} {}",
                shown(&public),
                shown(&signature),
                shown(&message)
            );
            openssl.good(&default, &verify, b"");
            isolated.take().require_isolated(counted, 1, 0);
            let ended = run(&mut openssl.command(&isolated, &format!("pkey {load}")), b"");
            assert_ne!(ended.code, Some(0), "{name}, {form}: the private part came out");
        }
    }
}

with_each_openssl!(s_server, s_server_without_isolation, forms);

/// Starts a program that loads a key and then waits for the message to sign.
#[track_caller]
fn signer(side: &Side, key: &Path) -> Running {
    let words = format!("pkeyutl -sign -rawin -inkey {}", key.display());
    let mut command = OpenSsl::system().command(side, &words);
    let running = Running::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
    let call = format!("/proc/{}/syscall", running.child.id());
    let reads_input = format!("{} 0x0 ", libc::SYS_read);
    eventually("the program waits for the message", || {
        std::fs::read_to_string(&call).is_ok_and(|call| call.starts_with(&reads_input))
    });
    running
}

/// Returns the signature of a message by a program that waits for it.
#[track_caller]
fn signature(mut signer: Running, message: &[u8]) -> Vec<u8> {
    let mut input = signer.child.stdin.take().expect("it is piped");
    input.write_all(message).expect("the program reads it");
    drop(input);
    let mut signature = Vec::new();
    let output = signer.child.stdout.as_mut().expect("it is piped");
    output.read_to_end(&mut signature).expect("the program writes it");
    signature
}

/// Nothing of a key of ML-DSA is in the memory of a program that has loaded it, whichever form the file has. The same search finds a
/// key that is in the process. The C library fills what is freed, because OpenSSL 3.0 looks for the lines of PEM in DER, too, and
/// frees what it took for a line without wiping it.
#[test]
fn ml_dsa_leaves_nothing() {
    let (openssl, place) = (OpenSsl::system(), Place::new());
    let service = Service::start(&place, &[]);
    // What a thread keeps to allocate again is not filled, so it keeps nothing.
    let isolated = Side::new(&place, "isolated", Provider::Isolated(&service))
        .with("MALLOC_PERTURB_", "165")
        .with("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0");
    let [key, message] = [place.path("key"), place.write("message", "a message")];
    for name in ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"] {
        let local = Side::new(&place, name, Provider::Millstream);
        openssl.good(&local, &format!("genpkey -algorithm {name} -out {}", key.display()), b"");
        let secrets = Secrets::of_key(&local, &key);
        assert!(!secrets.found_in(signer(&local, &key).child.id()).is_empty(), "{name}");
        for form in ["seed-priv", "seed-only", "priv-only"] {
            let writer = Side::new(&place, &format!("{name}-{form}"), Provider::Millstream);
            writer.configure(&format!("ml-dsa.output_formats = {form}"));
            let file = place.path(form);
            let words = format!("pkey -in {} -out {}", key.display(), file.display());
            openssl.good(&writer, &words, b"");
            let running = signer(&isolated, &file);
            assert!(shown(&service).1 >= 1, "{name}, {form}: the key is in the service");
            let found = secrets.found_in(running.child.id());
            assert!(found.is_empty(), "{name}, {form}: {found:#?}");
            let signature = place.write("signature", signature(running, b"a message"));
            let words = format!("-inkey {} -in {}", key.display(), message.display());
            let verify = format!("pkeyutl -verify -rawin {words} -sigfile {}", signature.display());
            openssl.good(&local, &verify, b"");
        }
        isolated.take().require_isolated(&name.to_lowercase(), 3, 0);
    }
}

/// Requires that the program's own thread alone takes signals for the process. nginx's master sleeps until one reaches that thread.
fn only_the_program_takes_signals(pid: u32) {
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).expect("it runs") {
        let task = task.expect("it runs");
        if *task.file_name() == *pid.to_string() {
            continue;
        }
        let status = std::fs::read_to_string(task.path().join("status")).expect("it runs");
        let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).expect("it has a mask");
        let blocked = u64::from_str_radix(blocked.trim(), 16).expect("a number");
        assert_eq!(blocked >> (Signal::CHILD.as_raw() - 1) & 1, 1, "{status}");
    }
}

/// nginx loads its keys before it forks its workers, who then sign in the service all the same, also after a reload.
fn nginx(openssl: &OpenSsl, only_private: bool) {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let provider = if only_private { Provider::IsolatedPrivate } else { Provider::Isolated };
    let isolated = Side::new(&place, "isolated", provider(&service));
    let default = Side::new(&place, "default", Provider::Default);
    let (ecdsa, rsa) = (Certificate::ecdsa(&place), Certificate::rsa(&place));
    let www = place.make("www");
    place.write("www/page", "a page");
    let (certificate, key) = (rsa.certificate.display(), rsa.key.display());
    let secrets = [&ecdsa, &rsa].map(|it| Secrets::of_key(&default, &it.key));
    let server =
        format!("ssl_certificate {certificate};\nssl_certificate_key {key};\nroot {};", www.display());
    let nginx = Nginx::start_with(ecdsa, &[], &place, &isolated, openssl, 2, &server);
    let fetch = |version: &str, certificate: &Certificate, words: &[&str]| {
        let mut curl: Command = default.command(program("curl"));
        curl.args(["--silent", "--show-error", "--fail", "--max-time", "20", "--cacert"]);
        curl.arg(&certificate.certificate).args(["--tlsv1.2", "--tls-max", version]).args(words);
        assert_eq!(run(curl.arg(nginx.url("page")), b"").text(), "a page");
    };
    let fetches = || {
        for _ in 0..10 {
            fetch("1.2", &nginx.certificate, &["--ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256"]);
            fetch("1.2", &rsa, &["--ciphers", "ECDHE-RSA-AES128-GCM-SHA256"]);
            fetch("1.3", &nginx.certificate, &[]);
        }
    };
    let search = || {
        for pid in nginx.workers().into_iter().chain([nginx.master()]) {
            for secrets in &secrets {
                let found = secrets.found_in(pid);
                assert!(found.is_empty(), "process {pid}: {found:#?}");
            }
        }
    };
    fetches();
    search();
    only_the_program_takes_signals(nginx.master());
    let before = nginx.workers();
    signal(nginx.master(), Signal::HUP);
    eventually("only new workers are left", || {
        let now = nginx.workers();
        now.len() == 2 && !now.iter().any(|pid| before.contains(pid))
    });
    fetches();
    search();
    assert!(shown(&service).0 >= 30, "{:?}", shown(&service));
    nginx.finish();
    let counters = isolated.take();
    counters.require_isolated("ecdsa-p256", 20, 0).require_isolated("rsa-2048", 20, 0);
    if only_private {
        // Ten fetches in each of three suites, before and after the reload, with a record each way at least.
        counters.require_local("aes-*-gcm", 120, 120);
    } else {
        counters.require_isolated("aes-*-gcm", 120, 120);
    }
}

#[test]
fn nginx_with_the_systems() {
    nginx(&OpenSsl::system(), false);
}

#[test]
fn long_newest_3_nginx() {
    nginx(&OpenSsl::newest(3), false);
}

#[test]
fn nginx_with_its_private_keys_only() {
    nginx(&OpenSsl::system(), true);
}
