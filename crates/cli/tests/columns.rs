//! `millstream columns` from outside: on tables that PyArrow writes and reads, and beside openssl.

mod common;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use common::Place;

/// PyArrow is in the environment that `cargo xtask python` makes.
fn python(place: &Place, script: &str) -> String {
    let python = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/python/bin/python");
    assert!(python.exists(), "{}: run `cargo xtask python` first", python.display());
    let mut command = Command::new(python);
    command.args(["-c", script]).current_dir(place.path(".")).stdin(Stdio::null());
    let output = command.output().expect("python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

const WRITE: &str = r#"
import pyarrow as pa, pyarrow.parquet as pq, pyarrow.feather as feather
n = 100_000
table = pa.table({
    "id": [str(i) for i in range(n)],
    "ssn": [None if i % 7 == 0 else f"{i:09d}" for i in range(n)],
    "few": pa.array(["xyz"[i % 3] for i in range(n)]).dictionary_encode(),
    "when": pa.array(range(n), pa.timestamp("us", "Europe/Zurich")),
    "list": [[i, None] for i in range(n)],
})
for compression in ("snappy", "zstd", "gzip", "lz4", "brotli", "none"):
    pq.write_table(table, f"{compression}.parquet", compression=compression)
feather.write_feather(table, "lz4.arrow", compression="lz4")
feather.write_feather(table, "zstd.arrow", compression="zstd")
with pa.OSFile("plain.arrows", "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
    writer.write_table(table, max_chunksize=30_000)
"#;

const COMPARE: &str = r#"
import glob, pyarrow as pa, pyarrow.parquet as pq, pyarrow.feather as feather
def read(name):
    if name.endswith(".parquet"): return pq.read_table(name)
    if name.endswith(".arrow"): return feather.read_table(name)
    return pa.ipc.open_stream(name).read_all()
before = pq.read_table("none.parquet")
for name in sorted(glob.glob("opened.*")):
    after = read(name)
    assert after.schema.equals(before.schema) and after.equals(before), name
    sealed = read(name.replace("opened.", "sealed."))
    assert sealed["ssn"].type == pa.binary() and sealed["ssn"].null_count == before["ssn"].null_count
    assert sealed.drop(["ssn"]).equals(before.drop(["ssn"])), name
    print(name)
for name in ("snappy", "zstd", "gzip", "brotli"):
    assert pq.ParquetFile(f"sealed.{name}.parquet").metadata.row_group(0).column(1).compression == name.upper()
"#;

#[test]
fn tables_of_pyarrow_are_sealed_and_opened() {
    let place = Place::new();
    place.key("key", [7; 32]);
    python(&place, WRITE);
    let mut opened = 0;
    for name in place.names().iter().filter(|name| name.contains(".parquet") || name.contains(".arrow")) {
        let (sealed, back) = (format!("sealed.{name}"), format!("opened.{name}"));
        let columns = |what: &str, from: &str, to: &str| {
            let how = ["columns", what, "--column", "ssn", "--aad-column", "id", "--key", "key", from, to];
            place.millstream(how).good();
        };
        columns("seal", name, &sealed);
        columns("open", &sealed, &back);
        opened += 1;
    }
    assert_eq!(opened, 9);
    assert_eq!(python(&place, COMPARE).lines().count(), opened);
}

/// Values that PyCA's AES-GCM has sealed with the same layout open, and the other way round.
#[test]
fn values_are_those_of_other_libraries() {
    let place = Place::new();
    place.key("key", [7; 32]);
    python(
        &place,
        r#"
import base64, os
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
key = AESGCM(open("key", "rb").read())
lines = ["id,name"]
for i in range(100):
    nonce = os.urandom(12)
    lines.append(f"{i}," + base64.b64encode(nonce + key.encrypt(nonce, f"name {i}".encode(), str(i).encode())).decode())
open("theirs.csv", "w").write("\n".join(lines) + "\n")
"#,
    );
    place.words("columns open --column name --aad-column id -k key theirs.csv plain.csv").good();
    let plain = String::from_utf8(place.read("plain.csv")).expect("text");
    assert!(plain.starts_with("id,name\n0,name 0\n1,name 1\n") && plain.lines().count() == 101, "{plain}");
    place.words("columns seal --column name --aad-column id -k key plain.csv ours.csv").good();
    let names = python(
        &place,
        r#"
import base64, csv
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
key = AESGCM(open("key", "rb").read())
for row in csv.DictReader(open("ours.csv")):
    sealed = base64.b64decode(row["name"])
    print(key.decrypt(sealed[:12], sealed[12:], row["id"].encode()).decode())
"#,
    );
    assert_eq!(names.lines().last(), Some("name 99"));
}

#[test]
fn values_are_hashed_as_openssl_does() {
    let place = Place::new();
    place.key("key", b"a key of bytes");
    place.write("in.csv", "id,mail\n1,ada@example.com\n2,\n");
    for (options, openssl) in [
        ("", "openssl dgst -sha256 -r"),
        ("-k key", "openssl dgst -sha256 -hmac 'a key of bytes' -r"),
        ("-a SHA-512 -k key", "openssl dgst -sha512 -hmac 'a key of bytes' -r"),
        ("-a sha3_256", "openssl dgst -sha3-256 -r"),
    ] {
        place.words(&format!("columns hash --column mail {options} in.csv out.csv")).good();
        let hashed = String::from_utf8(place.read("out.csv")).expect("text");
        let script = format!("printf %s ada@example.com | {openssl} | cut -d' ' -f1");
        let theirs = place.run("sh", ["-c", &script], b"").text();
        assert_eq!(hashed, format!("id,mail\n1,{}\n2,\n", theirs.trim()));
    }
    // Through pipes, and in another form.
    let piped = place.words_with("columns hash --column mail --encoding base64 - -", b"mail;n\nabc;1\n");
    let error = piped.bad(1, &["no column is called \"mail\"; there are mail;n"]);
    assert!(error.contains("standard input"), "{error}");
    let line = "columns hash --column mail --encoding base64 --delimiter ; - -";
    let piped = place.words_with(line, b"mail;n\nabc;1\n");
    assert_eq!(piped.text(), "mail;n\nungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=;1\n");
}

/// NIST's samples of FF1 1 to 3, whose tweaks are text.
#[test]
fn values_are_encrypted_as_nists_samples() {
    let place = Place::new();
    let key: Vec<u8> =
        (0..16).map(|i| (0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128 >> (120 - 8 * i)) as u8).collect();
    place.key("key", &key);
    place.key("other", [8; 32]);
    place.write("in.csv", "id,tweak,card\n1,9876543210,0123456789\n2,,\n3,9876543210,0123456789\n");
    place.write("letters.csv", "card\n0123456789abcdefghi\n");
    for (options, from, encrypted) in [
        ("", "in.csv", "id,tweak,card\n1,9876543210,2433477484\n2,,\n3,9876543210,2433477484\n"),
        (
            "--tweak 9876543210",
            "in.csv",
            "id,tweak,card\n1,9876543210,6124200773\n2,,\n3,9876543210,6124200773\n",
        ),
        (
            "--tweak-column tweak",
            "in.csv",
            "id,tweak,card\n1,9876543210,6124200773\n2,,\n3,9876543210,6124200773\n",
        ),
        ("--radix 36 --tweak 7777pqrs777", "letters.csv", "card\na9tv40mll9kdu509eum\n"),
        (
            "--alphabet 0123456789abcdefghijklmnopqrstuvwxyz --tweak 7777pqrs777",
            "letters.csv",
            "card\na9tv40mll9kdu509eum\n",
        ),
    ] {
        place.words(&format!("columns encrypt --column card {options} -k key {from} out.csv")).good();
        assert_eq!(String::from_utf8(place.read("out.csv")).expect("text"), encrypted, "{options}");
        place.words(&format!("columns decrypt --column card {options} -k key out.csv back.csv")).good();
        assert_eq!(place.read("back.csv"), place.read(from), "{options}");
    }
    place
        .words("columns decrypt --column card -k other out.csv back.csv")
        .bad(1, &["column \"card\": row 0"]);
    place.write("mixed.csv", "card\n0123456789\n12345\n01234x6789\n");
    place
        .words("columns encrypt --column card -k key mixed.csv out.csv")
        .bad(1, &["row 1", "six decimal digits"]);
    place.words("columns encrypt --null-failed --column card -k key mixed.csv nulls.csv").good();
    assert_eq!(place.read("nulls.csv"), b"card\n2433477484\n\"\"\n\"\"\n");
    for (line, words) in [
        ("columns encrypt --column card mixed.csv out.csv", "a key is needed"),
        ("columns encrypt --column card --alphabet 00 -k key mixed.csv out.csv", "--alphabet: "),
        ("columns encrypt --column card --radix 37 -k key mixed.csv out.csv", "37"),
    ] {
        place.words(line).bad(2, &[words]);
    }
}

/// Keysets of Tink: PyCA makes the same values behind the key's prefix, and a key is replaced.
#[test]
fn keysets_seal_and_are_replaced() {
    let place = Place::new();
    python(
        &place,
        r#"
import base64, json
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
def key(id, secret):
    value = base64.b64encode(bytes([18, len(secret)]) + secret).decode()
    data = {"typeUrl": "type.googleapis.com/google.crypto.tink.AesSivKey", "value": value, "keyMaterialType": "SYMMETRIC"}
    return {"keyData": data, "status": "ENABLED", "keyId": id, "outputPrefixType": "TINK"}
old, new = key(1, bytes(range(64))), key(2, bytes([7]) * 64)
for name, primary, keys in [("old", 1, [old]), ("both", 2, [old, new]), ("new", 2, [new])]:
    open(name, "w").write(json.dumps({"primaryKeyId": primary, "key": keys}))
seal = lambda id, secret: base64.b64encode(bytes([1, 0, 0, 0, id]) + AESSIV(secret).encrypt(b"Ada", [b"name"])).decode()
open("plain.csv", "w").write("name\nAda\n")
open("theirs.old.csv", "w").write("name\n" + seal(1, bytes(range(64))) + "\n")
open("theirs.both.csv", "w").write("name\n" + seal(2, bytes([7]) * 64) + "\n")
"#,
    );
    for name in ["old", "both", "new"] {
        place.key(name, place.read(name));
    }
    for name in ["old", "both"] {
        let theirs = format!("theirs.{name}.csv");
        place.words(&format!("columns seal --column name --aad name -k {name} plain.csv sealed.csv")).good();
        assert_eq!(place.read("sealed.csv"), place.read(&theirs), "{name}");
        place.words(&format!("columns open --column name --aad name -k both {theirs} opened.csv")).good();
        assert_eq!(place.read("opened.csv"), b"name\nAda\n", "{name}");
    }
    let open = "columns open --column name --aad name -k";
    place.words(&format!("{open} new theirs.old.csv out.csv")).bad(1, &["row 0: authentication failed"]);
    place.words(&format!("{open} both -a aes-siv theirs.old.csv out.csv")).bad(2, &["leave out -a"]);
    place.write("keys", [b"{\"primaryKeyId\": 3, \"key\": []}".to_vec(), vec![b' '; 64]].concat());
    place.key("keys", place.read("keys"));
    place
        .words(&format!("{open} keys theirs.old.csv out.csv"))
        .bad(1, &["keys", "primary key is not enabled"]);
}

#[test]
fn nothing_is_lost_when_a_table_is_refused() {
    let place = Place::new();
    place.key("key", [7; 32]);
    place.key("other", [8; 32]);
    place.key("short", [8; 31]);
    place.write("in.csv", "id,name\n1,Ada\n2,Grace\n");
    let names = place.names();
    for (line, code, words) in [
        (
            "columns seal --column nme -k key in.csv out.csv",
            1,
            &["in.csv: no column is called \"nme\"; there are id, name"][..],
        ),
        ("columns seal --column name -k short in.csv out.csv", 1, &["short", "31"]),
        ("columns seal --column name in.csv out.csv", 2, &["a key is needed", "-k", "--isolated"]),
        ("columns seal --column name -a aes-gmc -k key in.csv out.csv", 2, &["did you mean aes-gcm?"]),
        (
            "columns seal --column name --to xlsx -k key in.csv out.csv",
            2,
            &["no format is called \"xlsx\"", "parquet, arrow, arrows, csv"],
        ),
        ("columns open --column name -k key in.csv out.csv", 1, &["column \"name\": row 0", "not base64"]),
        ("columns seal --column name -k key in.csv key", 2, &["is the key file key"]),
        ("columns seal --column name -k key none.csv out.csv", 1, &["none.csv"]),
        (
            "columns seal --column name --isolated web/x --pin-file key in.csv out.csv --socket none",
            1,
            &["none"],
        ),
    ] {
        place.words(line).bad(code, words);
        assert_eq!(place.names(), names, "{line}");
    }
    // A table may take its own place, and a failure leaves it there.
    place.words("columns seal --column name -k key in.csv in.csv").good();
    let sealed = place.read("in.csv");
    place
        .words("columns open --column name -k other in.csv in.csv")
        .bad(1, &["row 0: authentication failed"]);
    assert!(place.read("in.csv") == sealed);
    place.words("columns open --null-failed --column name -k other in.csv nulls.csv").good();
    assert_eq!(place.read("nulls.csv"), b"id,name\n1,\n2,\n");
    place.words("columns open --column name -k key in.csv in.csv").good();
    assert_eq!(place.read("in.csv"), b"id,name\n1,Ada\n2,Grace\n");
}
