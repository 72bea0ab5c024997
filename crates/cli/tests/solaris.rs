//! The format of the Solaris commands, against one written here with nothing but `openssl`.
//!
//! Ref. encrypt(1): version, iterations, vector, salt, ciphertext; PBKDF2 with HMAC-SHA-1.

mod common;

use common::{Place, bytes, hex};

const PASSPHRASE: &str = "trustno1";

struct Spec {
    name: &'static str,
    openssl: &'static str,
    key_bytes: usize,
    iv_bytes: usize,
}

const ALL: [Spec; 4] = [
    Spec { name: "aes", openssl: "aes-128-cbc", key_bytes: 16, iv_bytes: 16 },
    Spec { name: "arcfour", openssl: "rc4", key_bytes: 16, iv_bytes: 0 },
    Spec { name: "des", openssl: "des-cbc", key_bytes: 8, iv_bytes: 8 },
    Spec { name: "3des", openssl: "des-ede3-cbc", key_bytes: 24, iv_bytes: 8 },
];

impl Spec {
    fn cipher(&self, place: &Place, way: &str, key: &[u8], iv: &[u8], input: &[u8]) -> Vec<u8> {
        let iv = if iv.is_empty() { String::new() } else { format!("-iv {}", hex(iv)) };
        let cipher =
            if self.name == "aes" { format!("aes-{}-cbc", key.len() * 8) } else { self.openssl.into() };
        let line = format!("enc -provider default -provider legacy {way} -{cipher} -K {} {iv}", hex(key));
        place.run("openssl", line.split_whitespace(), input).good()
    }

    fn derive(&self, place: &Place, passphrase: &str, iterations: u32, salt: &[u8]) -> Vec<u8> {
        let line = format!(
            "kdf -keylen {} -kdfopt digest:SHA1 -kdfopt pass:{passphrase} -kdfopt iter:{iterations} -kdfopt hexsalt:{} \
             -binary PBKDF2",
            self.key_bytes,
            hex(salt)
        );
        place.run("openssl", line.split_whitespace(), b"").good()
    }

    /// Makes a file as Solaris would write it.
    fn file(&self, place: &Place, key: Option<&[u8]>, iterations: u32, data: &[u8]) -> Vec<u8> {
        let (iv, salt) = (bytes(self.iv_bytes), bytes(16));
        let key = match key {
            Some(key) => key.to_vec(),
            None => self.derive(place, PASSPHRASE, iterations, &salt),
        };
        let ciphertext = self.cipher(place, "", &key, &iv, data);
        [&1u32.to_be_bytes(), &iterations.to_be_bytes(), &iv[..], &salt, &ciphertext].concat()
    }

    /// Opens a file as Solaris would read it.
    fn open(&self, place: &Place, key: Option<&[u8]>, file: &[u8]) -> Vec<u8> {
        assert_eq!(file[..8], [0, 0, 0, 1, 0, 0, 3, 0xe8]);
        let (iv, rest) = file[8..].split_at(self.iv_bytes);
        let (salt, ciphertext) = rest.split_at(16);
        let key = match key {
            Some(key) => key.to_vec(),
            None => self.derive(place, PASSPHRASE, 1000, salt),
        };
        self.cipher(place, "-d", &key, iv, ciphertext)
    }
}

#[test]
fn passphrases_both_ways() {
    let place = Place::new();
    place.key("pass", PASSPHRASE);
    for spec in &ALL {
        for len in [0, 1, 8, 16, 100_000, 256 << 10] {
            let (name, data) = (spec.name, bytes(len));
            place.write("old", spec.file(&place, None, 1000, &data));
            place.words(&format!("decrypt -a {name} --passphrase-file pass -i old -o opened")).good();
            assert!(place.read("opened") == data, "{name}, {len} bytes: Solaris' file");
            let ours =
                place.words_with(&format!("encrypt -q -a {name} --passphrase-file pass"), &data).good();
            assert!(spec.open(&place, None, &ours) == data, "{name}, {len} bytes: our file");
        }
        // The number of iterations is read from the file.
        let other = spec.file(&place, None, 77, b"data");
        assert_eq!(
            place.words_with(&format!("decrypt -a {} --passphrase-file pass", spec.name), &other).good(),
            b"data"
        );
    }
}

#[test]
fn key_files_both_ways() {
    let place = Place::new();
    for spec in &ALL {
        let lengths: &[usize] = match spec.name {
            "aes" => &[16, 24, 32],
            "des" => &[8],
            "3des" => &[24],
            // This is a passphrase by another name.
            _ => continue,
        };
        for &key_bytes in lengths {
            let (name, data) = (spec.name, bytes(12345));
            let key = bytes(key_bytes);
            place.key("key", &key);
            let old = spec.file(&place, Some(&key), 1000, &data);
            assert_eq!(place.words_with(&format!("decrypt -a {name} -k key"), &old).good(), data);
            let ours = place.words_with(&format!("encrypt -q -a {name} -k key"), &data).good();
            assert_eq!(spec.open(&place, Some(&key), &ours), data);
        }
    }
    place.key("key", PASSPHRASE);
    let old = ALL[1].file(&place, None, 1000, b"data");
    assert_eq!(place.words_with("decrypt -a arcfour -k key", &old).good(), b"data");
    for (name, given) in [("aes", 17), ("des", 24), ("3des", 16), ("3des", 8)] {
        place.key("key", bytes(given));
        place.words(&format!("encrypt -q -a {name} -k key")).bad(1, &["key: ", &format!("{given} bytes")]);
    }
}

#[test]
fn a_hostile_header_costs_nothing() {
    let place = Place::new();
    place.key("pass", PASSPHRASE);
    let good = ALL[0].file(&place, None, 1000, b"data");
    let run = |file: &[u8]| place.words_with("decrypt -a aes --passphrase-file pass", file);
    let mut file = good.clone();
    file[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
    run(&file).bad(1, &["asks for 4294967295 iterations", "1000000"]);
    file[3] = 2;
    run(&file).bad(1, &["version 2"]);
    for len in [0, 3, 4, 7, 8, 23, 24, 39] {
        run(&good[..len]).bad(1, &["standard input: ends inside its header"]);
    }
    run(&good[..40]).bad(1, &["at least one block"]);
    run(&good[..55]).bad(1, &["whole blocks"]);
    // The error names the format that it looks like, but only the command line can choose it.
    place.words_with("decrypt --passphrase-file pass", &good).bad(2, &["--format solaris", "-a", "3des"]);
    place.words_with("decrypt --format solaris --passphrase-file pass", &good).bad(2, &["-a", "3des"]);
}

#[test]
fn a_wrong_passphrase_in_place_leaves_the_file() {
    let place = Place::new();
    place.key("pass", "wrong");
    let file = ALL[0].file(&place, None, 1000, &bytes(1000));
    place.write("old", &file);
    // One wrong key in 256 has good padding by chance, but not this one.
    place.words("decrypt -a aes --passphrase-file pass -i old -o old").bad(1, &["old: bad padding"]);
    assert_eq!(place.read("old"), file);
    assert_eq!(place.names(), ["old", "pass"]);
}
