//! ML-DSA, SLH-DSA and ML-KEM in OpenSSL's own commands: keys, certificates and signatures on OpenSSL 3.0, which has them from Millstream alone, and
//! between it and OpenSSL 4, which has its own. Keys of tokens sign and decapsulate for a program on PKCS #11, and OpenSSL 4 is the other side.

use millstream_tests::tokens::{PIN, module};
use millstream_tests::{
    OpenSsl, Place, Provider, Service, Side, Tokens, bytes, python_pkcs11, run, with_each_openssl,
};

const SIGNATURES: [&str; 3] = ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"];
/// Sets that sign fast; a test of the provider has the others.
const OF_HASHES: [&str; 2] = ["SLH-DSA-SHA2-128f", "SLH-DSA-SHAKE-192f"];
const MECHANISMS: [&str; 3] = ["ML-KEM-512", "ML-KEM-768", "ML-KEM-1024"];

const SELF_SIGNED: &str =
    "req -x509 -nodes -days 2 -subj /CN=localhost -config req.cnf -addext basicConstraints=CA:TRUE";

/// Commands of one version, on one provider, in a folder.
struct Shell<'a> {
    openssl: &'a OpenSsl,
    side: Side,
    place: &'a Place,
}

impl<'a> Shell<'a> {
    fn new(openssl: &'a OpenSsl, place: &'a Place, name: &str, provider: Provider) -> Self {
        place.write("req.cnf", "[req]\ndistinguished_name = dn\n[dn]\n");
        place.write("leaf.cnf", "basicConstraints = CA:FALSE\n");
        Shell { openssl, side: Side::new(place, name, provider), place }
    }

    /// Runs a command in the folder, requires success, and returns its output as text.
    #[track_caller]
    fn good(&self, words: &str) -> String {
        let ended = run(self.openssl.command(&self.side, words).current_dir(self.place.folder()), b"");
        assert_eq!(ended.code, Some(0), "{words}: {}", ended.err);
        ended.text()
    }

    /// Does the same with a command that has to fail.
    #[track_caller]
    fn bad(&self, words: &str) {
        let ended = run(self.openssl.command(&self.side, words).current_dir(self.place.folder()), b"");
        assert!(ended.code.is_some_and(|code| code != 0), "{words}: it should fail");
    }

    /// Shows the key, without the ends of lines: OpenSSL 4 has more bytes in one.
    #[track_caller]
    fn shown(&self) -> String {
        self.good("pkey -in key -noout -text").split_whitespace().collect()
    }

    /// Makes a self-signed certificate of a new key that is not encrypted.
    #[track_caller]
    fn certificate(&self, algorithm: &str, key: &str, certificate: &str) {
        self.good(&format!("{SELF_SIGNED} -newkey {algorithm} -keyout {key} -out {certificate}"));
    }
}

fn changed(place: &Place, from: &str, to: &str) {
    let mut bytes = place.read(from);
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    place.write(to, bytes);
}

/// Makes, shows, writes and reads keys, and signs files and certificates, with Millstream alone.
fn keys_signatures_and_certificates(openssl: &OpenSsl) {
    let place = Place::new();
    let names = SIGNATURES.into_iter().chain(OF_HASHES);
    signatures_of(&Shell::new(openssl, &place, "millstream", Provider::Millstream), names);
    files_of_mechanisms(&Shell::new(openssl, &place, "mechanisms", Provider::Millstream));
}

with_each_openssl!(keys_signatures_and_certificates);

/// Does the same where other keys are in a service: these are in the process. Those of ML-DSA are in the service, which makes and
/// signs what others verify.
#[test]
fn where_other_keys_are_isolated() {
    let (openssl, place) = (OpenSsl::system(), Place::new());
    let service = Service::start(&place, &[]);
    let isolated = Shell::new(&openssl, &place, "isolated", Provider::Isolated(&service));
    signatures_of(&isolated, OF_HASHES);
    certificates_of_the_service(&isolated, &Shell::new(&openssl, &place, "maker", Provider::Millstream));
    files_of_mechanisms(&Shell::new(&openssl, &place, "mechanisms", Provider::Isolated(&service)));
}

/// Makes a root, a request and a certificate with keys in the service, of files that the maker has written.
fn certificates_of_the_service(shell: &Shell<'_>, maker: &Shell<'_>) {
    for name in SIGNATURES {
        for key in ["key", "root.key"] {
            maker.good(&format!("genpkey -algorithm {name} -out {key}"));
        }
        shell.good(&format!("{SELF_SIGNED} -key root.key -out root"));
        shell.good("req -new -subj /CN=leaf -config req.cnf -key key -out request");
        shell.good("x509 -req -in request -CA root -CAkey root.key -days 2 -extfile leaf.cnf -out leaf");
        for verifier in [maker, shell] {
            verifier.good("verify -CAfile root leaf");
        }
        shell.side.take().require_isolated(&name.to_lowercase(), 3, 300).require_local(
            &name.to_lowercase(),
            2,
            300,
        );
        // The service makes a key, too, which no file can have.
        shell.bad(&format!("genpkey -algorithm {name} -out new"));
    }
}

fn signatures_of<'n>(shell: &Shell<'_>, names: impl IntoIterator<Item = &'n str>) {
    let place = shell.place;
    place.write("message", bytes(10_000));
    for name in names {
        let counted = name.to_lowercase();
        // A key of SLH-DSA has no form with a seed.
        let first = if OF_HASHES.contains(&name) { "priv" } else { "seed" };
        shell.good(&format!("genpkey -algorithm {name} -out key"));
        assert!(String::from_utf8_lossy(&place.read("key")).starts_with("-----BEGIN PRIVATE KEY-----\n"));
        shell.good("pkey -in key -pubout -out public");
        assert!(String::from_utf8_lossy(&place.read("public")).starts_with("-----BEGIN PUBLIC KEY-----\n"));
        let shown = shell.good("pkey -in key -noout -text");
        assert!(shown.starts_with(&format!("{name} Private-Key:\n{first}:\n    ")), "{shown}");
        assert!(shown.contains("\npriv:\n    ") && shown.contains("\npub:\n    "), "{shown}");
        shell.good("pkeyutl -sign -rawin -inkey key -in message -out signature");
        let verify = "pkeyutl -verify -rawin -pubin -inkey public -in message -sigfile";
        shell.good(&format!("{verify} signature"));
        changed(place, "signature", "wrong");
        shell.bad(&format!("{verify} wrong"));
        // A key in every form: DER, and encrypted.
        shell.good("pkey -in key -outform DER -out der");
        shell.good("pkey -inform DER -in der -aes256 -passout pass:secret -out encrypted");
        let encrypted = place.read("encrypted");
        assert!(String::from_utf8_lossy(&encrypted).starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"));
        shell.good("pkey -in encrypted -passin pass:secret -out again");
        assert_eq!(place.read("again"), place.read("key"));
        shell.bad("pkey -in encrypted -passin pass:another");
        // A root, a request, and a certificate for it.
        shell.certificate(name, "root.key", "root");
        assert!(shell.good("x509 -in root -noout -text").contains(&format!("Signature Algorithm: {name}")));
        shell.good("verify -CAfile root root");
        shell.good("req -new -subj /CN=leaf -config req.cnf -key key -out request");
        shell.good("req -in request -verify -noout");
        shell.good("x509 -req -in request -CA root -CAkey root.key -days 2 -extfile leaf.cnf -out leaf");
        shell.good("verify -CAfile root leaf");
        shell.good("x509 -in leaf -noout -pubkey -out leaf.pub");
        assert_eq!(place.read("leaf.pub"), place.read("public"));
        shell.certificate(name, "other.key", "other");
        shell.bad("verify -CAfile other leaf");
        shell.side.take().require_local(&counted, 8, 20_000);
    }
}

fn files_of_mechanisms(shell: &Shell<'_>) {
    let place = shell.place;
    for name in MECHANISMS {
        shell.good(&format!("genpkey -algorithm {name} -out key"));
        shell.good("pkey -in key -pubout -out public");
        let shown = shell.good("pkey -in key -noout -text");
        assert!(shown.starts_with(&format!("{name} Private-Key:\nseed:\n    ")), "{shown}");
        shell.good("pkey -in key -aes256 -passout pass:secret -out encrypted");
        shell.good("pkey -in encrypted -passin pass:secret -out again");
        assert_eq!(place.read("again"), place.read("key"));
    }
}

/// What the one has written, the other reads and verifies.
#[test]
fn openssl_3_0_on_millstream_and_openssl_4() {
    let (old, new) = (OpenSsl::system(), OpenSsl::newest(4));
    let place = Place::new();
    let ours = Shell::new(&old, &place, "ours", Provider::Millstream);
    let theirs = Shell::new(&new, &place, "theirs", Provider::Default);
    place.write("message", bytes(1000));
    for name in SIGNATURES.into_iter().chain(OF_HASHES) {
        for (one, other) in [(&ours, &theirs), (&theirs, &ours)] {
            one.certificate(name, "key", "root");
            one.good("pkeyutl -sign -rawin -inkey key -in message -out signature");
            other.good("pkeyutl -verify -rawin -certin -inkey root -in message -sigfile signature");
            other.good("verify -CAfile root root");
            other.good("pkey -in key -out again");
            assert_eq!(place.read("again"), place.read("key"), "{name}");
            assert_eq!(one.shown(), other.shown(), "{name}");
            one.good("pkey -in key -aes-256-cbc -passout pass:secret -out encrypted");
            other.good("pkey -in encrypted -passin pass:secret -out again");
            assert_eq!(place.read("again"), place.read("key"), "{name}");
        }
    }
    for name in MECHANISMS {
        for (one, other) in [(&ours, &theirs), (&theirs, &ours)] {
            one.good(&format!("genpkey -algorithm {name} -out key"));
            other.good("pkey -in key -out again");
            assert_eq!(place.read("again"), place.read("key"), "{name}");
            let public = [one, other].map(|shell| shell.good("pkey -in key -pubout"));
            assert_eq!(public[0], public[1], "{name}");
            assert_eq!(one.shown(), other.shown(), "{name}");
        }
    }
    let counters = ours.side.take();
    counters.require("ml-dsa-65", 3, 2000);
    counters.require("slh-dsa-sha2-128f", 3, 2000);
    theirs.side.counted().require_none();
}

/// Private keys in each form that OpenSSL 4 can write, and in each that OpenSSL 3.0 is configured to write.
#[test]
fn forms_of_private_keys() {
    let (old, new) = (OpenSsl::system(), OpenSsl::newest(4));
    let place = Place::new();
    let theirs = Shell::new(&new, &place, "theirs", Provider::Default);
    for (name, family, seed_only, private_only) in
        [("ML-DSA-65", "ml-dsa", 54, 4060), ("ML-KEM-768", "ml-kem", 86, 2428)]
    {
        theirs.good(&format!("genpkey -algorithm {name} -out key"));
        for (form, len) in
            [("seed-only", Some(seed_only)), ("priv-only", Some(private_only)), ("seed-priv", None)]
        {
            let words = format!("pkey -in key -outform DER -provparam {family}.output_formats={form}");
            theirs.good(&format!("{words} -out theirs.der"));
            if let Some(len) = len {
                assert_eq!(place.read("theirs.der").len(), len, "{name} {form}");
            }
            let ours = Shell::new(&old, &place, &format!("{name}-{form}"), Provider::Millstream);
            ours.side.configure(&format!("{family}.output_formats = {form}"));
            ours.good("pkey -inform DER -in theirs.der -outform DER -out ours.der");
            assert_eq!(place.read("ours.der"), place.read("theirs.der"), "{name} {form}");
            // A key without a seed is the same key.
            let public = [&ours, &theirs].map(|shell| shell.good("pkey -inform DER -in theirs.der -pubout"));
            assert_eq!(public[0], public[1], "{name} {form}");
        }
    }
}

/// python-pkcs11 on keys of a token: in a store, and in the service, whose workers' counters tell that it has signed and decapsulated.
#[test]
fn keys_of_tokens() {
    let openssl = OpenSsl::newest(4);
    for (tokens, in_service) in [(Tokens::new(), false), (Tokens::of_service(), true)] {
        for words in ["ml-dsa-65 -K dsa", "ml-kem-768 -K kem"] {
            tokens.generate(words);
        }
        let theirs = Shell::new(&openssl, &tokens.place, "theirs", Provider::Default);
        for label in ["dsa", "kem"] {
            tokens.millstream(&format!("key public -T web -K {label} --pin-file pin -o {label}.pub"));
        }
        theirs.good("pkeyutl -encap -pubin -inkey kem.pub -out ciphertext -secret secret");
        let before = in_service.then(|| tokens.operations());
        let script = tokens.place.write("post_quantum.py", include_str!("python/post_quantum.py"));
        let mut python = python_pkcs11();
        tokens.apply(&mut python);
        let told = run(python.args(["-I", "-B"]).arg(script).arg(module()).arg(PIN), b"").text();
        assert_eq!(told, "made\nfound\n");
        // Five keys of ML-DSA that stay have signed three times each, five of ML-KEM were used once, and one of each once more.
        if let Some(before) = before {
            assert_eq!(tokens.operations(), before + 5 * 3 + 5 + 2);
        }
        assert_eq!(tokens.place.read("opened"), tokens.place.read("secret"));
        let verify = "pkeyutl -verify -rawin -pubin -inkey dsa.pub -in text -sigfile";
        theirs.good(&format!("{verify} signature"));
        changed(&tokens.place, "signature", "wrong");
        theirs.bad(&format!("{verify} wrong"));
        let listed = tokens.millstream("key list -T web");
        for name in SIGNATURES.iter().chain(&MECHANISMS) {
            assert!(listed.contains(&name.to_lowercase()), "{listed}");
        }
    }
}
