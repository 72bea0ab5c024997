//! `token migrate`: the keys of a real SoftHSM2 compute afterwards what they computed there, and what can't come along is named.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use common::{Ended, Place, ended};
use millstream_testkit::skip;

const SOFTHSM: &str = "/usr/lib/softhsm/libsofthsm2.so";

/// The labels and types of pairs in SoftHSM2, their identifiers, and their kinds in a token.
const PAIRS: [(&str, &str, &str, &str); 5] = [
    ("rsa", "rsa:2048", "01", "rsa"),
    ("p256", "EC:prime256v1", "02", "p-256"),
    ("p384", "EC:secp384r1", "03", "p-384"),
    ("p521", "EC:secp521r1", "04", "p-521"),
    ("ed", "EC:edwards25519", "05", "ed25519"),
];

/// A folder with tokens of SoftHSM2, of which `old` has the PIN 4321 and keys, and with a store, in which the token `web` has the PIN 1234.
struct Both(Place);

impl Both {
    fn new() -> Option<Self> {
        let there = |program: &str| Command::new(program).arg("--version").output().is_ok();
        if !Path::new(SOFTHSM).exists() || !there("softhsm2-util") || !there("pkcs11-tool") {
            skip("token migrate: SoftHSM or pkcs11-tool is missing (apt-get install softhsm2 opensc)");
            return None;
        }
        let both = Both(Place::new());
        for (file, line) in [("old.pin", "4321\n"), ("pin", "1234\n"), ("so", "officer\n")] {
            both.0.key(file, line);
        }
        std::fs::create_dir(both.0.path("tokens")).unwrap();
        let tokens = both.0.path("tokens");
        let config = format!("directories.tokendir = {}\nlog.level = ERROR\n", tokens.display());
        both.0.write("softhsm2.conf", config);
        both.softhsm("softhsm2-util --init-token --free --label old --so-pin 12345678 --pin 4321");
        both.run("token init web --so-pin-file so --pin-file pin").good();
        Some(both)
    }

    /// Runs a program on SoftHSM2.
    #[track_caller]
    fn softhsm(&self, line: &str) -> Vec<u8> {
        let mut words = line.split_whitespace();
        let mut command = Command::new(words.next().unwrap());
        command.args(words).env("SOFTHSM2_CONF", self.0.path("softhsm2.conf"));
        let Ended { code, out, err } = ended(command.current_dir(self.0.path("")), b"");
        assert_eq!(code, Some(0), "{line}: {err}");
        out
    }

    /// Runs `pkcs11-tool` as the user of `old`.
    #[track_caller]
    fn tool(&self, line: &str) -> Vec<u8> {
        self.softhsm(&format!("pkcs11-tool --module {SOFTHSM} --token-label old --login --pin 4321 {line}"))
    }

    fn run(&self, line: &str) -> Ended {
        self.0.words(&format!("{line} --store store"))
    }

    fn migrate(&self, line: &str) -> Ended {
        self.run(&format!("token migrate tokens -T web --softhsm-pin-file old.pin {line}"))
    }

    fn openssl(&self, line: &str) -> Vec<u8> {
        self.0.run("openssl", line.split_whitespace(), b"").good()
    }

    /// Returns the contents of all files of SoftHSM2.
    fn files(&self) -> BTreeMap<std::path::PathBuf, Vec<u8>> {
        let tokens = std::fs::read_dir(self.0.path("tokens")).unwrap();
        let folders = tokens.map(|entry| entry.unwrap().path());
        let files = folders.flat_map(|folder| std::fs::read_dir(folder).unwrap());
        let paths = files.map(|entry| entry.unwrap().path());
        paths.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
    }

    /// Lists the keys of `web`.
    fn listed(&self) -> String {
        String::from_utf8(self.run("key list -T web").good()).unwrap()
    }
}

#[test]
fn keys_of_softhsm_compute_here_what_they_did_there() {
    let Some(both) = Both::new() else { return };
    for (label, kind, id, _) in PAIRS {
        both.tool(&format!("--keypairgen --key-type {kind} --label {label} --id {id}"));
    }
    // The PIN seals only some of these, and only one may leave its token.
    both.tool("--keygen --key-type AES:32 --label aes --id 0a --private --sensitive --extractable");
    both.tool("--keygen --key-type AES:16 --label open --id 0b --extractable");
    both.tool("--keygen --key-type GENERIC:48 --label codes --id 0c --private --sensitive");
    // These stay there.
    both.tool("--keygen --key-type GENERIC:8 --label short --id 0d");
    both.tool("--keypairgen --key-type EC:secp256k1 --label coin --id 0e");
    both.openssl("genpkey -algorithm ed25519 -out ca.pem");
    both.openssl("req -x509 -new -key ca.pem -subj /CN=a -days 1 -outform DER -out cert.der");
    both.tool("--write-object cert.der --type cert --label cert --id 01");
    both.0.write("text", "the same message");
    both.tool("--write-object text --type data --label note");
    both.softhsm("softhsm2-util --init-token --free --label spare --so-pin 12345678 --pin 4321");
    let files = both.files();

    // The command asks for a choice, and a dry run changes nothing.
    both.migrate("--pin-file pin").bad(1, &["--softhsm-token", "\"old\"", "\"spare\""]);
    both.migrate("--softhsm-token new --dry-run").bad(1, &["no token \"new\""]);
    let planned = both.migrate("--softhsm-token old --dry-run").text();
    assert_eq!(both.listed(), "");
    let brought = both.migrate("--softhsm-token old --pin-file pin").text();
    assert_eq!(planned.replace("to bring  ", "brought   "), brought);
    for (label, _, _, kind) in PAIRS {
        assert!(brought.contains(&format!("  {label}\n")) && brought.contains(kind), "{brought}");
    }
    for line in [
        "brought   aes                 256 bits  stays       aes\n",
        "brought   aes                 128 bits  exportable  open\n",
        "brought   hmac                384 bits  stays       codes\n",
        "left      secret key         short: a key of 8 bytes; hmac takes 16 to 1024\n",
        "left      certificate        cert: no key; ",
        "left      data               note: no key; ",
        "left      private key        coin: a curve that is not known here, 1.3.132.0.10",
        "left      public key         coin: ",
    ] {
        assert!(brought.contains(line), "no '{line}' in {brought}");
    }
    assert_eq!(brought.lines().count(), 8 + 5, "{brought}");
    assert_eq!(both.listed().lines().count(), 8);
    assert!(files == both.files(), "the folder was written");

    // The public keys that SoftHSM2 has are those of the private keys here.
    for (label, _, id, kind) in PAIRS {
        let shown = both.run(&format!("key show -T web -K {id} --pin-file pin --json")).text();
        assert!(shown.contains(&format!("\"label\": \"{label}\"")), "{shown}");
        assert!(
            shown.contains("\"made_inside\": false") && shown.contains("\"exportable\": false"),
            "{shown}"
        );
        assert!(shown.contains("\"sign\"") && shown.contains("\"verify\""), "{shown}");
        let here = both.run(&format!("key public -T web -K {label} --pin-file pin")).good();
        both.0.write("public", &here);
        if kind == "rsa" {
            both.tool(&format!("--read-object --type pubkey --id {id} -o there.der"));
            assert!(both.openssl("pkey -pubin -inform DER -in there.der") == here, "{label}");
        } else {
            // pkcs11-tool 0.23 does not write public keys of curves whole, but shows the point, which is the end of one.
            let der = both.openssl("pkey -pubin -in public -outform DER");
            let list = String::from_utf8(both.tool("--list-objects --type pubkey")).unwrap();
            let points = list.lines().filter_map(|line| line.trim().strip_prefix("EC_POINT:"));
            let points: Vec<String> = points.map(|point| point.trim().to_owned()).collect();
            let end: String = der.iter().map(|byte| format!("{byte:02x}")).collect();
            // In front of the point are the tag and the length of an OCTET STRING.
            let is_it = |point: &String| end.ends_with(&point[4..]) || end.ends_with(&point[6..]);
            assert!(points.iter().any(is_it), "{label}: {list} {end}");
        }
        if kind == "ed25519" {
            continue;
        }
        // A signature of SoftHSM2 holds under the public key from here.
        both.openssl("dgst -sha256 -binary -out digest text");
        let mechanism = if kind == "rsa" { "SHA256-RSA-PKCS -i text" } else { "ECDSA -i digest" };
        both.tool(&format!("--sign -m {mechanism} --id {id} -f openssl -o signature"));
        let told = both.openssl("dgst -sha256 -verify public -signature signature text");
        assert_eq!(told, b"Verified OK\n", "{label}");
    }

    // Both tokens compute the same codes and ciphertexts.
    both.tool("--sign -m SHA256-HMAC --id 0c -i text -o code");
    let line = "mac -a sha256_hmac -K codes -T web --store store --pin-file pin text";
    let code = both.0.words(line).text();
    let digits: String = both.0.read("code").iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(code.contains(&digits), "{code} {digits}");
    let iv = "000102030405060708090a0b0c0d0e0f";
    both.tool(&format!("--encrypt -m AES-CBC-PAD --id 0b --iv {iv} -i text -o sealed"));
    both.run("key export -T web -K open --pin-file pin -o open.key").good();
    let line = format!("decrypt --format raw -a aes-cbc -k open.key --iv {iv} -i sealed");
    assert_eq!(both.0.words(&line).text(), "the same message");
    both.run("key export -T web -K aes --pin-file pin -o aes.key").bad(1, &["not made exportable"]);

    // Nothing is brought twice.
    let taken = both.migrate("--softhsm-token old --pin-file pin");
    taken.bad(1, &["labels already", "aes, codes, ed, open, p256, p384, p521, rsa", "key copy"]);
    let json = both.migrate("--softhsm-token spare --pin-file pin --json").text();
    assert!(json.contains("\"from\": \"spare\"") && json.contains("\"keys\": []"), "{json}");
}

/// A command that was killed has brought some keys. It goes on with the others, and says which were there.
#[test]
fn a_migration_that_was_interrupted_goes_on() {
    let Some(both) = Both::new() else { return };
    both.tool("--keypairgen --key-type EC:prime256v1 --label pair --id 01");
    both.tool("--keygen --key-type AES:32 --label cipher --id 02 --private --sensitive");
    both.tool("--keygen --key-type GENERIC:48 --label codes --id 03 --private --sensitive");
    both.migrate("--pin-file pin").good();
    both.run("key remove -T web -K codes --pin-file pin").good();
    both.migrate("--pin-file pin").bad(1, &["cipher, pair", "--resume"]);
    let went_on = both.migrate("--pin-file pin --resume").text();
    for line in ["there     aes                cipher: was brought before\n", "  pair: was brought before\n"]
    {
        assert!(went_on.contains(line), "{went_on}");
    }
    assert_eq!(went_on.lines().filter(|line| line.starts_with("brought ")).count(), 1, "{went_on}");
    let again = both.migrate("--pin-file pin --resume --json").text();
    assert!(again.contains("\"keys\": []") && again.contains("\"codes\""), "{again}");
    // Keys of the same labels that are others stay as they are, and nothing else is done.
    for kind in ["aes", "p-256"] {
        let label = if kind == "aes" { "cipher" } else { "pair" };
        both.run(&format!("key remove -T web -K {label} --pin-file pin")).good();
        let before = both.run("key list -T web").text();
        both.run(&format!("key generate {kind} -T web -K {label} --pin-file pin")).good();
        both.migrate("--pin-file pin --resume").bad(1, &["others than those in SoftHSM2", label]);
        both.run(&format!("key remove -T web -K {label} --pin-file pin")).good();
        assert_eq!(both.run("key list -T web").text(), before);
        both.migrate("--pin-file pin --resume").good();
    }
    assert_eq!(both.listed().lines().count(), 3);
}

#[test]
fn nothing_is_brought_where_something_is_wrong() {
    let Some(both) = Both::new() else { return };
    both.tool("--keygen --key-type AES:32 --label a --id 01 --private");
    both.tool("--keygen --key-type AES:32 --label b --id 02");

    both.0.key("wrong", "1111\n");
    let line = "token migrate tokens -T web --softhsm-pin-file wrong --pin-file pin";
    both.run(line).bad(1, &["token.object", "not the user PIN of the SoftHSM2 token"]);
    let line = "token migrate tokens -T mail --softhsm-pin-file old.pin --pin-file pin";
    both.run(line).bad(1, &["mail"]);
    both.migrate("--pin-file wrong").bad(1, &["wrong user PIN"]);
    both.run("token migrate store -T web --softhsm-pin-file old.pin")
        .bad(1, &["store: no token", "softhsm2.conf"]);
    both.run("token migrate none -T web --softhsm-pin-file old.pin").bad(1, &["none: can not read it"]);
    both.migrate("--dry-run --pin-file pin").bad(2, &["--dry-run", "--pin-file"]);

    // A label that is taken is refused, and one that is there twice.
    both.run("key generate hmac -T web -K b --pin-file pin").good();
    both.migrate("--pin-file pin").bad(1, &["labels already", ": b;"]);
    both.run("key remove -T web -K b --pin-file pin").good();
    both.tool("--keygen --key-type AES:16 --label b --id 03");
    both.migrate("--pin-file pin").bad(1, &["several keys with the label b", "p11tool --set-label"]);
    both.tool("--delete-object --type secrkey --id 03");

    // A file that was cut off is refused, and one in which a bit of a key has changed.
    let (path, whole) = both.files().into_iter().rfind(|(path, _)| is_object(path)).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let name = path.file_name().unwrap().to_string_lossy();
    both.migrate("--pin-file pin").bad(1, &[&*name, "damaged", "good copy"]);
    let value =
        whole.windows(24).position(|at| at[..16] == [0, 0, 0, 0, 0, 0, 0, 0x11, 0, 0, 0, 0, 0, 0, 0, 3]);
    let mut changed = whole.clone();
    changed[value.unwrap() + 24 + 16] ^= 1;
    std::fs::write(&path, &changed).unwrap();
    both.migrate("--pin-file pin").bad(1, &["damaged"]);
    assert_eq!(both.listed(), "");

    std::fs::write(&path, &whole).unwrap();
    both.migrate("--pin-file pin").good();
    assert_eq!(both.listed().lines().count(), 2);
}

/// Returns true for the file of an object, and not of the token.
fn is_object(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy();
    name.ends_with(".object") && name != "token.object"
}
