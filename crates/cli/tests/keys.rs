//! `token` and `key`: keys of OpenSSL come in and go out unchanged, PINs are kept apart, and nothing is overwritten or shown.

mod common;

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use common::{Ended, MILLSTREAM, Place, Terminal, exists};
use millstream_testkit::newest_openssl;

/// A folder with a store, in which the token `web` has the PIN 1234 in the file `pin`, and the officer's is in `so`.
struct Tokens(Place);

impl Tokens {
    fn new() -> Self {
        let place = Place::with_pins();
        let tokens = Tokens(place);
        tokens.run("token init web --so-pin-file so --pin-file pin").good();
        tokens
    }

    fn run(&self, line: &str) -> Ended {
        self.0.words(&format!("{line} --store store"))
    }

    /// Runs a command on a key of the token.
    fn key(&self, line: &str) -> Ended {
        self.run(&format!("key {line} -T web --pin-file pin"))
    }

    fn openssl(&self, line: &str) -> Vec<u8> {
        self.0.run("openssl", line.split_whitespace(), b"").out
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// The options of `openssl genpkey`, and the kind that a list shows.
const PAIRS: [(&str, &str, &str); 7] = [
    ("p256", "ec -pkeyopt ec_paramgen_curve:P-256", "p-256"),
    ("p384", "ec -pkeyopt ec_paramgen_curve:P-384", "p-384"),
    ("p521", "ec -pkeyopt ec_paramgen_curve:P-521", "p-521"),
    ("ed25519", "ed25519", "ed25519"),
    ("x25519", "x25519", "x25519"),
    ("rsa2048", "rsa -pkeyopt rsa_keygen_bits:2048", "rsa"),
    ("rsa3072", "rsa -pkeyopt rsa_keygen_bits:3072", "rsa"),
];

#[test]
fn keys_of_openssl_come_back_as_they_were() {
    let tokens = Tokens::new();
    for (name, options, kind) in PAIRS {
        tokens.openssl(&format!("genpkey -algorithm {options} -out {name}.pem"));
        tokens.key(&format!("import {name}.pem -K {name} --exportable")).good();
        let theirs = tokens.openssl(&format!("pkey -in {name}.pem -pubout"));
        assert!(theirs.starts_with(b"-----BEGIN PUBLIC KEY-----"), "{name}");
        assert_eq!(text(tokens.key(&format!("public -K {name}")).good()), text(theirs.clone()), "{name}");
        tokens.key(&format!("export -K {name} -o {name}.out")).good();
        assert_eq!(tokens.0.path(&format!("{name}.out")).metadata().unwrap().mode() & 0o777, 0o600);
        // OpenSSL writes what it read: the same key, in its own encoding.
        let [before, after] =
            [".pem", ".out"].map(|end| tokens.openssl(&format!("pkey -in {name}{end} -outform DER")));
        assert!(!before.is_empty() && before == after, "{name}");
        assert_eq!(tokens.0.read(&format!("{name}.out")), tokens.0.read(&format!("{name}.pem")), "{name}");
        let shown = text(tokens.key(&format!("show -K {name}")).good());
        assert!(shown.contains(&format!("kind        {kind}\n")), "{shown}");
        assert!(shown.ends_with(&text(theirs)), "{shown}");
    }
    let listed = text(tokens.run("key list -T web").good());
    assert_eq!(listed.lines().count(), PAIRS.len(), "{listed}");
    assert!(listed.lines().all(|line| line.contains(" bits  exportable  ")), "{listed}");
}

/// Keys of ML-KEM and ML-DSA are made, written as seeds, and come in again; each has its public key.
#[test]
fn keys_on_lattices_are_made_and_come_back() {
    let tokens = Tokens::new();
    for (kind, name, seed, public) in [
        ("ml-kem-512", "4.4.1", 64, 800),
        ("ml-kem-768", "4.4.2", 64, 1184),
        ("ml-kem-1024", "4.4.3", 64, 1568),
        ("ml-dsa-44", "4.3.17", 32, 1312),
        ("ml-dsa-65", "4.3.18", 32, 1952),
        ("ml-dsa-87", "4.3.19", 32, 2592),
    ] {
        tokens.key(&format!("generate {kind} -K {kind} --exportable")).good();
        tokens.key(&format!("export -K {kind} --form der -o {kind}.der")).good();
        // 22 bytes in front of the seed: RFC 9935 §6, RFC 9881 §6.
        let der = tokens.0.read(&format!("{kind}.der"));
        assert_eq!((der.len(), &der[20..22]), (22 + seed, &[0x80, seed as u8][..]), "{kind} {name}");
        tokens.key(&format!("export -K {kind} --form raw -o {kind}.raw")).good();
        assert_eq!(tokens.0.read(&format!("{kind}.raw")), der[22..], "{kind}");
        tokens.key(&format!("public -K {kind} --form der -o {kind}.pub")).good();
        let spki = tokens.0.read(&format!("{kind}.pub"));
        assert_eq!(spki.len(), 22 + public, "{kind}");
        tokens.key(&format!("import {kind}.der -K {kind}-again --exportable")).good();
        tokens.key(&format!("public -K {kind}-again --form der -o {kind}.again")).good();
        assert_eq!(tokens.0.read(&format!("{kind}.again")), spki, "{kind}");
        let shown = text(tokens.key(&format!("show -K {kind}")).good());
        assert!(shown.contains(&format!("kind        {kind}\n")), "{shown}");
    }
}

/// Keys of SLH-DSA are made, written whole, and come in again. OpenSSL 4 reads ours and writes the same bytes, and we read its keys.
#[test]
fn keys_on_hashes_are_those_of_openssl() {
    let tokens = Tokens::new();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/openssl");
    let folder = newest_openssl(&folder, "4.").unwrap_or_else(|why| panic!("{why}"));
    let openssl = |line: &str| tokens.0.run(folder.join("bin/openssl"), line.split_whitespace(), b"").good();
    for (kind, n) in [("slh-dsa-sha2-128f", 16), ("slh-dsa-sha2-256s", 32), ("slh-dsa-shake-192f", 24)] {
        tokens.key(&format!("generate {kind} -K {kind} --exportable")).good();
        tokens.key(&format!("export -K {kind} -o ours.pem")).good();
        openssl("pkey -in ours.pem -out again.pem");
        assert_eq!(tokens.0.read("again.pem"), tokens.0.read("ours.pem"), "{kind}");
        tokens.key(&format!("export -K {kind} --form raw -o raw")).good();
        assert_eq!(tokens.0.read("raw").len(), 4 * n, "{kind}");
        tokens.key(&format!("public -K {kind} -o ours.pub")).good();
        openssl("pkey -in ours.pem -pubout -out theirs.pub");
        assert_eq!(tokens.0.read("theirs.pub"), tokens.0.read("ours.pub"), "{kind}");
        let shown = text(tokens.key(&format!("show -K {kind}")).good());
        assert!(shown.contains(&format!("kind        {kind}\n")), "{shown}");
        openssl(&format!("genpkey -algorithm {kind} -out theirs.pem"));
        tokens.key(&format!("import theirs.pem -K {kind}-theirs --exportable")).good();
        tokens.key(&format!("export -K {kind}-theirs -o back.pem")).good();
        assert_eq!(tokens.0.read("back.pem"), tokens.0.read("theirs.pem"), "{kind}");
        tokens.key(&format!("export -K {kind} --form jwk -o jwk")).bad(2, &[kind, "write PEM or raw"]);
        for file in ["ours.pem", "again.pem", "raw", "ours.pub", "theirs.pub", "theirs.pem", "back.pem"] {
            std::fs::remove_file(tokens.0.path(file)).unwrap();
        }
    }
    let listed = text(tokens.run("key list -T web").good());
    assert!(listed.contains("slh-dsa-sha2-256s") && listed.contains("1024 bits"), "{listed}");
}

#[test]
fn forms_are_read_and_written() {
    let tokens = Tokens::new();
    for (name, options, kind) in PAIRS {
        tokens.openssl(&format!("genpkey -algorithm {options} -out {name}.pem"));
        // OpenSSL 3.0's pkey writes SEC 1 and PKCS#1 in DER.
        let der = tokens.openssl(&format!("pkcs8 -topk8 -nocrypt -in {name}.pem -outform DER"));
        tokens.0.key(&format!("{name}.der"), &der);
        tokens.key(&format!("import {name}.pem -K {name} --exportable")).good();
        let mut forms = vec!["der", "jwk"];
        if !kind.ends_with("25519") {
            forms.push("traditional");
        }
        if kind == "ed25519" {
            forms.push("tink");
        }
        for form in forms {
            tokens.key(&format!("export -K {name} --form {form} -o {name}.{form}.out")).good();
            if form == "traditional" {
                let read =
                    tokens.openssl(&format!("pkcs8 -topk8 -nocrypt -in {name}.{form}.out -outform DER"));
                assert_eq!(read, der, "{name}");
            }
            tokens.key(&format!("import {name}.{form}.out -K {name}-{form} --exportable")).good();
            tokens.key(&format!("export -K {name}-{form} --form der -o {name}-{form}.der")).good();
            assert_eq!(tokens.0.read(&format!("{name}-{form}.der")), der, "{name} {form}");
        }
        for form in ["der", "jwk"] {
            tokens.key(&format!("public -K {name} --form {form} -o {name}.{form}.pub")).good();
            let again = tokens.0.words(&format!("key public {name}.{form}.pub"));
            assert_eq!(
                again.good(),
                tokens.openssl(&format!("pkey -in {name}.pem -pubout")),
                "{name} {form}"
            );
        }
    }
}

#[test]
fn secret_keys_are_bytes_jwk_or_a_keyset() {
    let tokens = Tokens::new();
    tokens.0.key("aes", [7; 32]);
    tokens.0.key("hmac", [9; 64]);
    for (kind, forms) in [("aes", ["raw", "jwk", "tink"]), ("hmac", ["raw", "jwk", "tink"])] {
        tokens.key(&format!("import {kind} --raw {kind} -K {kind} --exportable --id 0a0b")).good();
        for form in forms {
            tokens.key(&format!("export -K {kind} --form {form} -o {kind}.{form}")).good();
            let raw = if form == "raw" { format!("--raw {kind}") } else { String::new() };
            tokens.key(&format!("import {kind}.{form} {raw} -K {kind}-{form} --exportable")).good();
            tokens.key(&format!("export -K {kind}-{form} -o {kind}.{form}.raw")).good();
            assert_eq!(tokens.0.read(&format!("{kind}.{form}.raw")), tokens.0.read(kind), "{form}");
        }
        tokens.key(&format!("export -K {kind} --form pem -o no")).bad(2, &[kind, "JWK or raw"]);
        assert!(!exists(&tokens.0.path("no")));
        tokens.key(&format!("public -K {kind}")).bad(1, &["no public keys"]);
    }
    let json: serde_json::Value = serde_json::from_slice(&tokens.key("show -K hmac --json").good()).unwrap();
    assert_eq!((&json["kind"], &json["bits"], &json["id"]), (&"hmac".into(), &512.into(), &"0a0b".into()));
    tokens.key("import aes -K x").bad(1, &["aes: no known form", "--raw"]);
    tokens.key("import hmac --raw aes -K x").bad(1, &["hmac: a key of 64 bytes", "16, 24 or 32"]);
}

#[test]
fn generated_keys_sign_in_openssl_and_stay_unless_exportable() {
    let tokens = Tokens::new();
    tokens.0.write("data", "signed");
    for kind in ["p-256", "p-521", "rsa -b 2048"] {
        let name = &kind[..3];
        tokens.key(&format!("generate {kind} -K {name} --exportable")).good();
        tokens.key(&format!("export -K {name} -o {name}.pem")).good();
        tokens.key(&format!("public -K {name} -o {name}.pub")).good();
        tokens.openssl(&format!("dgst -sha256 -sign {name}.pem -out {name}.sig data"));
        let verified = tokens.openssl(&format!("dgst -sha256 -verify {name}.pub -signature {name}.sig data"));
        assert_eq!(text(verified), "Verified OK\n", "{kind}");
    }
    tokens.key("generate ed25519 -K stays --usages sign").good();
    tokens.key("export -K stays -o stays.pem").bad(1, &["stays", "not made exportable"]);
    assert!(!exists(&tokens.0.path("stays.pem")));
    let shown = text(tokens.key("show -K stays").good());
    for line in ["usages      sign\n", "exportable  no\n", "made inside yes\n"] {
        assert!(shown.contains(line), "{shown}");
    }
    tokens.key("generate ed25519 -K x --usages encrypt").bad(2, &["ed25519 have sign,verify"]);
    tokens.key("generate rsa -b 1000 -K x").bad(2, &["rsa of 1000 bits", "2048 or 3072 or 4096"]);
    // Files need no token.
    tokens.0.words("key generate p-384 -o file.pem").good();
    assert!(text(tokens.openssl("pkey -in file.pem -noout -text")).contains("P-384"));
    tokens.0.words("key generate p-384 -o file.pem").bad(1, &["file.pem: is there already"]);
    assert_eq!(tokens.0.words("key generate aes -b 128").good().len(), 16);
}

#[test]
fn keys_are_copied_found_by_name_and_removed() {
    let tokens = Tokens::new();
    tokens.0.key("pin2", "5678\n");
    tokens.run("token init other --so-pin-file so --pin-file pin2").good();
    tokens.key("generate p-256 -K a").good();
    tokens.key("copy -K a --to-label b").good();
    tokens.key("copy -K a --to-token other --to-pin-file pin2").good();
    let public = tokens.key("public -K a").good();
    assert_eq!(tokens.key("public -K b").good(), public);
    assert_eq!(tokens.run("key public -T other -K a --pin-file pin2").good(), public);
    tokens.key("remove -K a").good();
    tokens.key("remove -K a").bad(1, &["no key labelled \"a\"", "millstream key list"]);
    assert_eq!(tokens.key("public -K b").good(), public);
    tokens.key("copy -K b --to-label b").bad(1, &["a key b already"]);
    let listed = text(tokens.run("key list -T web").good());
    let object = listed.split_whitespace().next().unwrap();
    assert_eq!(tokens.key(&format!("public -K {object}")).good(), public);
}

#[test]
fn wrong_pins_lock_and_the_officer_unlocks() {
    let tokens = Tokens::new();
    tokens.0.key("wrong", "4321\n");
    let try_wrong = || tokens.run("key generate aes -K x -T web --pin-file wrong");
    try_wrong().bad(1, &["wrong user PIN; 9 tries are left"]);
    tokens.key("generate aes -K x").good();
    for _ in 0..9 {
        try_wrong().bad(1, &["wrong user PIN", "left"]);
    }
    try_wrong().bad(1, &["the last try", "millstream token pin --reset"]);
    tokens.key("generate aes -K y").bad(1, &["locked", "millstream token pin --reset"]);
    assert!(text(tokens.run("token list").good()).contains("user PIN locked"));
    tokens.run("token pin web --reset --so-pin-file so --new-pin-file wrong").good();
    tokens.run("key generate aes -K y -T web --pin-file wrong").good();
    tokens.run("token pin web --pin-file wrong --new-pin-file pin").good();
    tokens.key("show -K x").good();
    let json: serde_json::Value = serde_json::from_slice(&tokens.run("token list --json").good()).unwrap();
    assert_eq!((&json[0]["label"], &json[0]["keys"]), (&"web".into(), &2.into()));
    tokens.run("token remove web --so-pin-file pin").bad(1, &["security officer's PIN"]);
    tokens.run("token remove web --so-pin-file so").good();
    tokens.run("token remove web --force").bad(1, &["no token is labelled \"web\""]);
}

#[test]
fn bad_calls_and_files_name_the_thing_and_the_remedy() {
    let tokens = Tokens::new();
    let place = &tokens.0;
    place.words("token list --store none").bad(1, &["none/tokens.redb: no such store", "token init"]);
    tokens.run("token init web --so-pin-file so --pin-file pin").bad(1, &["\"web\" already"]);
    tokens.run("token init same --so-pin-file pin --pin-file pin").bad(2, &["the same"]);
    place.key("short", "123\n");
    tokens.run("token init s --so-pin-file so --pin-file short").bad(1, &["4 to 255 bytes"]);
    place.write("open", "1234\n");
    std::fs::set_permissions(place.path("open"), PermissionsExt::from_mode(0o644)).unwrap();
    tokens.run("key generate aes -T web -K x --pin-file open").bad(1, &["everyone may read", "chmod 600"]);
    std::fs::set_permissions(place.path("store/device-secret"), PermissionsExt::from_mode(0o644)).unwrap();
    tokens.key("generate aes -K x").bad(1, &["device-secret", "chmod 600"]);
    std::fs::set_permissions(place.path("store/device-secret"), PermissionsExt::from_mode(0o600)).unwrap();
    tokens.key("generate aes -K x").good();
    // Another machine: no try is spent.
    std::fs::rename(place.path("store/device-secret"), place.path("kept")).unwrap();
    tokens
        .key("generate aes -K y")
        .bad(1, &["device-secret: not a device secret: it is not there", "restore"]);
    tokens.run("token init second --so-pin-file so --pin-file pin").bad(1, &["device-secret", "restore"]);
    place.key("store/device-secret", [1; 32]);
    tokens.key("generate aes -K y").bad(1, &["another device secret"]);
    std::fs::rename(place.path("kept"), place.path("store/device-secret")).unwrap();
    assert!(text(tokens.run("token list").good()).contains("ready"));
    tokens.openssl("genpkey -algorithm ec -pkeyopt ec_paramgen_curve:secp256k1 -out k1.pem");
    tokens.key("import k1.pem -K x").bad(1, &["k1.pem: a curve that is not known here"]);
    tokens.openssl("genpkey -algorithm ed25519 -aes-256-cbc -pass pass:x -out locked.pem");
    tokens.key("import locked.pem -K x").bad(1, &["locked.pem: an encrypted key", "openssl pkey"]);
    place.write("noise", "no key at all");
    tokens.key("import noise -K x").bad(1, &["noise: no known form"]);
}

#[test]
fn the_terminal_asks_without_an_echo() {
    let place = Place::new();
    let mut terminal = Terminal::new(&place, &format!("{MILLSTREAM} token init web --store store"));
    for (prompt, answer) in [
        ("New security officer's PIN: ", "officer"),
        ("New security officer's PIN again: ", "officer"),
        ("New user PIN: ", "1234"),
        ("New user PIN again: ", "1234"),
    ] {
        terminal.see(prompt);
        terminal.type_in(&format!("{answer}\n"));
    }
    let (code, shown) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(!shown.contains("1234") && !shown.contains("officer\r"), "{shown}");
    let mut terminal =
        Terminal::new(&place, &format!("{MILLSTREAM} key generate p-256 -T web -K a --store store"));
    terminal.see("User PIN: ");
    terminal.type_in("1234\n");
    let (code, shown) = terminal.end();
    assert_eq!((code, shown.contains("1234")), (Some(0), false), "{shown}");
    let listed = text(place.words("key list -T web --store store").good());
    assert!(listed.contains("stays       a\n"), "{listed}");
}

/// A PIN comes from a descriptor that a shell has opened, and never lies in a file.
#[test]
fn a_pin_comes_from_a_descriptor() {
    let tokens = Tokens::new();
    let line =
        format!("{MILLSTREAM} key generate aes -T web -K a --store store --pin-file /dev/fd/3 3<<< 1234");
    tokens.0.run("bash", ["-c", &line], b"").good();
    assert_eq!(text(tokens.run("key list -T web").good()).lines().count(), 1);
}

/// Commands that come at once wait for each other, and lose nothing.
#[test]
fn commands_at_once_wait_for_each_other() {
    let tokens = Tokens::new();
    std::thread::scope(|scope| {
        for i in 0..6 {
            let tokens = &tokens;
            scope.spawn(move || tokens.key(&format!("generate aes -K key{i}")).good());
        }
    });
    assert_eq!(text(tokens.run("key list -T web").good()).lines().count(), 6);
}

#[test]
fn files_are_encrypted_and_authenticated_with_keys_of_a_token() {
    let tokens = Tokens::new();
    tokens.0.write("plain", "a file\n");
    tokens.key("generate aes -K files --exportable").good();
    tokens.key("generate hmac -K codes --exportable").good();
    tokens.key("generate aes -K one-way --usages encrypt").good();
    tokens.key("generate p-256 -K pair").good();
    tokens.key("export -K files --form raw -o files.key").good();
    tokens.key("export -K codes --form raw -o codes.key").good();
    // The key of a token seals a key of the file's own, so that it need not leave its token for that.
    tokens.run("encrypt -K files -T web --pin-file pin -i plain -o sealed").good();
    assert!(tokens.0.read("sealed").starts_with(b"Millstrk"));
    assert_eq!(tokens.run("decrypt -K files --pin-file pin -i sealed").text(), "a file\n", "the only token");
    tokens.0.words("decrypt -k files.key -i sealed").bad(2, &["under a key of a token", "-K"]);
    tokens.0.words("decrypt -i sealed").bad(2, &["under a key of a token", "-K"]);
    // A file that was encrypted with the same key in a file is opened, too.
    tokens.0.words("encrypt -k files.key -i plain -o direct").good();
    assert_eq!(tokens.run("decrypt -K files --pin-file pin -i direct").text(), "a file\n");
    tokens.key("generate aes -K others").good();
    tokens.run("decrypt -K others --pin-file pin -i sealed").bad(1, &["sealed"]);
    let mut forged = tokens.0.read("sealed");
    forged[30] ^= 1;
    tokens.0.write("forged", forged);
    tokens.run("decrypt -K files --pin-file pin -i forged").bad(1, &["forged"]);
    // An option may follow the files.
    let code = tokens.0.words("mac -a sha256_hmac -K codes -T web --pin-file pin --store store plain").text();
    assert_eq!(code, tokens.0.words("mac -a sha256_hmac -k codes.key plain").text());
    tokens.run("encrypt -K one-way --pin-file pin -i plain -o once").good();
    tokens.run("decrypt -K one-way --pin-file pin -i once").bad(1, &["one-way", "was not made to decrypt"]);
    tokens
        .0
        .words("mac -a sha256_hmac -K pair --pin-file pin --store store plain")
        .bad(1, &["pair", "p-256", "secret key"]);
    tokens.run("encrypt -K nothing --pin-file pin -i plain -o other").bad(1, &["nothing"]);
    tokens.run("token init second --so-pin-file so --pin-file pin").good();
    tokens.run("decrypt -K files --pin-file pin -i sealed").bad(2, &["2 tokens", "-T"]);
}

/// The configuration that is printed is one that the program takes: OpenSSH and NSS here, others in the tests of programs.
#[test]
fn programs_take_the_configuration_that_is_printed() {
    let tokens = Tokens::new();
    let module = tokens.0.write("module.so", "");
    let module = module.canonicalize().unwrap().display().to_string();
    let setup =
        |program: &str| tokens.0.words(&format!("token setup {program} -T web -K host --module module.so"));
    for program in ["ssh", "nginx", "java", "nss", "gnutls", "knot"] {
        let text = setup(program).text();
        assert!(text.contains(&module), "{program}: {text}");
    }
    // BIND takes keys from the provider.
    assert!(setup("bind").text().contains("-l 'pkcs11:token=web;object=host?pin-source=file:"));
    let configuration = tokens.0.write("ssh_config", setup("ssh").good());
    let told = tokens.0.run("ssh", ["-T", "-F", configuration.to_str().unwrap(), "-G", "host"], b"").text();
    assert!(told.contains(&format!("pkcs11provider {module}\n")), "{told}");
    assert!(setup("nginx").text().contains("engine:pkcs11:pkcs11:token=web;object=host;type=private"));
    tokens.0.words("token setup ssh -T web --module nothing.so").bad(1, &["nothing.so", "--module"]);
    tokens.0.words("token setup emacs -T web").bad(2, &["nginx", "java"]);
}

#[test]
fn a_label_names_one_key_and_an_identifier_of_an_application_does_too() {
    let tokens = Tokens::new();
    tokens.key("generate p-256 -K web --id 0a0b").good();
    let public = tokens.key("public -K web").text();
    assert_eq!(tokens.key("public -K 0a0b").text(), public);
    tokens.key("generate aes -K web").bad(1, &["web", "already", "remove"]);
    tokens.key("copy -K web --to-label web").bad(1, &["web", "already"]);
    tokens.openssl("genpkey -algorithm ed25519 -out other.pem");
    tokens.key("import other.pem -K web").bad(1, &["web", "already"]);
    tokens.key("copy -K web --to-label again").good();
    assert_eq!(tokens.key("public -K web").text(), public);
    // The copy has the same identifier: then it names none of them alone.
    tokens.key("public -K 0a0b").bad(1, &["0a0b"]);
    assert_eq!(tokens.key("public -K again").text(), public);
}
