//! The default format, both ways against the real Tink (PyPI's package `tink`).
//!
//! The package is installed into `target/venv-tink` when it isn't there.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use common::{Place, bytes};

/// Does what each line of standard input says, and answers each with a line.
const PROGRAM: &str = r#"
import json, sys, tink
from tink import secret_key_access, streaming_aead
from tink.streaming_aead import streaming_aead_key_templates as templates

streaming_aead.register()
access = secret_key_access.TOKEN

def primitive(keyset):
    handle = tink.json_proto_keyset_format.parse(open(keyset).read(), access)
    return handle.primitive(streaming_aead.StreamingAead)

for line in sys.stdin:
    command, keyset, source, target, aad = json.loads(line)
    if command == 'generate':
        handle = tink.new_keyset_handle(getattr(templates, source))
        with open(keyset, 'w') as out:
            out.write(tink.json_proto_keyset_format.serialize(handle, access))
    elif command == 'encrypt':
        with primitive(keyset).new_encrypting_stream(open(target, 'wb'), aad.encode()) as out:
            out.write(open(source, 'rb').read())
    elif command == 'decrypt':
        with primitive(keyset).new_decrypting_stream(open(source, 'rb'), aad.encode()) as data:
            open(target, 'wb').write(data.read())
    print('done', command, flush=True)
"#;

/// The Python that has Tink.
fn python() -> &'static Path {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/venv-tink");
        let python = venv.join("bin/python3");
        let has_tink =
            || Command::new(&python).args(["-c", "import tink"]).output().is_ok_and(|o| o.status.success());
        if !has_tink() {
            let run = |command: &mut Command| {
                let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
                assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
            };
            run(Command::new("python3").args(["-m", "venv"]).arg(&venv));
            run(Command::new(venv.join("bin/pip")).args(["install", "--quiet", "tink>=1.10"]));
            assert!(has_tink(), "tink is installed in {} and can't be imported", venv.display());
        }
        python
    })
}

/// A Python with Tink that works in one place.
struct Tink {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Tink {
    fn new(place: &Place) -> Self {
        place.write("program.py", PROGRAM);
        let mut child = Command::new(python())
            .arg("program.py")
            .current_dir(place.path(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Tink { child, stdin, stdout: BufReader::new(stdout) }
    }

    fn run(&mut self, command: [&str; 5]) {
        writeln!(self.stdin, "{}", serde_json::json!(command)).unwrap();
        let mut answer = String::new();
        self.stdout.read_line(&mut answer).unwrap();
        assert_eq!(answer, format!("done {}\n", command[0]), "{command:?}");
    }
}

impl Drop for Tink {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn both_ways(place: &Place, tink: &mut Tink, ours: &str, theirs: &str, lengths: &[usize], aad: &str) {
    let option = if aad.is_empty() { String::new() } else { format!("--aad={aad}") };
    for &len in lengths {
        let data = bytes(len);
        place.write("plain", &data);
        for file in [true, false] {
            if file {
                place.words(&format!("encrypt -k {ours} {option} -i plain -o sealed")).good();
            } else {
                let sealed = place.words_with(&format!("encrypt -k {ours} {option}"), &data).good();
                place.write("sealed", sealed);
            }
            tink.run(["decrypt", theirs, "sealed", "opened", aad]);
            assert!(place.read("opened") == data, "Tink does not read our {len} bytes");
        }
        tink.run(["encrypt", theirs, "plain", "sealed", aad]);
        place.words(&format!("decrypt -k {ours} {option} -i sealed -o opened")).good();
        assert!(place.read("opened") == data, "we do not read Tink's {len} bytes");
        let opened = place.words_with(&format!("decrypt -k {ours} {option}"), &place.read("sealed")).good();
        assert!(opened == data, "we do not read Tink's {len} bytes from a pipe");
    }
}

/// Files of both keys are decrypted together, and Tink reads files that were encrypted together.
fn several_files(place: &Place, tink: &mut Tink) {
    let lengths = [0, 100, 4096 - 40 - 16, 100_000];
    std::fs::create_dir(place.path("several")).unwrap();
    for len in lengths {
        place.write("plain", bytes(len));
        for name in ["old", "new"] {
            tink.run(["encrypt", name, "plain", &format!("{name}{len}.enc"), ""]);
        }
        place.write(&format!("ours{len}"), bytes(len));
    }
    let names = |of: &str, end: &str| lengths.map(|len| format!("{of}{len}{end}")).join(" ");
    let sealed = format!("{} {}", names("old", ".enc"), names("new", ".enc"));
    place.words(&format!("decrypt -q -k both --output-dir several {sealed}")).good();
    place.words(&format!("encrypt -q -k both {}", names("ours", ""))).good();
    for len in lengths {
        tink.run(["decrypt", "new", &format!("ours{len}.enc"), "opened", ""]);
        for name in [format!("several/old{len}"), format!("several/new{len}"), "opened".to_owned()] {
            assert!(place.read(&name) == bytes(len), "{name}, {len} bytes");
        }
    }
}

/// Plaintext around the segment boundaries.
fn lengths(segment: usize, header: usize) -> [usize; 7] {
    let first = segment - header - 16;
    [0, 1, first - 1, first, first + 1, first + segment - 16, first + segment - 15]
}

#[test]
fn a_bare_key_is_a_key_of_tinks_template() {
    let place = Place::new();
    let mut tink = Tink::new(&place);
    let secret = bytes(32);
    place.key("key", &secret);
    // AesGcmHkdfStreamingKey: params { 1 MB, 32 bytes, SHA256 }, key_value.
    let mut proto = vec![0x12, 0x08, 0x08, 0x80, 0x80, 0x40, 0x10, 0x20, 0x18, 0x03, 0x1a, 0x20];
    proto.extend_from_slice(&secret);
    let value = place.run("base64", ["-w0"], &proto).text();
    let keyset = serde_json::json!({
        "primaryKeyId": 7,
        "key": [{
            "keyData": {
                "typeUrl": "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey",
                "value": value,
                "keyMaterialType": "SYMMETRIC",
            },
            "status": "ENABLED",
            "keyId": 7,
            "outputPrefixType": "RAW",
        }],
    });
    place.key("keyset", keyset.to_string());
    both_ways(&place, &mut tink, "key", "keyset", &lengths(1 << 20, 40), "");
    both_ways(&place, &mut tink, "key", "keyset", &[100, 3 << 20], "context");
}

#[test]
fn keysets_of_tinks_templates() {
    let place = Place::new();
    let mut tink = Tink::new(&place);
    for (template, segment, header) in [
        ("AES256_GCM_HKDF_1MB", 1 << 20, 40),
        ("AES256_GCM_HKDF_4KB", 4096, 40),
        ("AES128_GCM_HKDF_4KB", 4096, 24),
    ] {
        tink.run(["generate", "keyset", template, "", ""]);
        place.key("keyset", place.read("keyset"));
        both_ways(&place, &mut tink, "keyset", "keyset", &lengths(segment, header)[2..], "aad");
    }
    tink.run(["generate", "keyset", "AES128_CTR_HMAC_SHA256_4KB", "", ""]);
    place.words("encrypt -k keyset -i keyset").bad(1, &["keyset: ", "AesCtrHmacStreamingKey"]);
}

#[test]
fn keysets_of_keygen_are_tinks() {
    let place = Place::new();
    let mut tink = Tink::new(&place);
    for (bits, header) in [(256, 40), (128, 24)] {
        place.words(&format!("keygen tink -b {bits} -o keyset{bits}")).good();
        let name = format!("keyset{bits}");
        both_ways(&place, &mut tink, &name, &name, &lengths(1 << 20, header)[2..5], "aad");
    }
}

#[test]
fn an_older_key_of_a_keyset_still_decrypts() {
    let place = Place::new();
    let mut tink = Tink::new(&place);
    for name in ["old", "new"] {
        tink.run(["generate", name, "AES256_GCM_HKDF_4KB", "", ""]);
    }
    let parse = |name| -> serde_json::Value { serde_json::from_slice(&place.read(name)).unwrap() };
    let (old, mut new) = (parse("old"), parse("new"));
    new["key"].as_array_mut().unwrap().push(old["key"][0].clone());
    place.key("both", new.to_string());
    for len in [0, 100, 4096 - 40 - 16, 100_000] {
        place.write("plain", bytes(len));
        for name in ["old", "new"] {
            tink.run(["encrypt", name, "plain", "sealed", ""]);
            place.words("decrypt -q -k both -i sealed -o opened").good();
            assert!(place.read("opened") == bytes(len), "{name}, {len} bytes");
        }
        place.words("encrypt -q -k both -i plain -o sealed").good();
        tink.run(["decrypt", "new", "sealed", "opened", ""]);
        assert!(place.read("opened") == bytes(len));
    }
    several_files(&place, &mut tink);
    let mut disabled = new.clone();
    disabled["key"][0]["status"] = "DISABLED".into();
    place.key("both", disabled.to_string());
    place.words("encrypt -k both -i plain").bad(1, &["both: ", "primary key is not enabled"]);
    place.key("both", "{\"encryptedKeyset\": \"abc\"}");
    place.words("encrypt -k both -i plain").bad(1, &["both: an encrypted keyset"]);
}
