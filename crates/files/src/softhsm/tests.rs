//! Folders as SoftHSM2 writes them, whole, cut off and changed.

use std::fs;
use std::sync::LazyLock;

use millstream_engines::aes::Cbc;
use millstream_engines::modes::{BlockStream, Direction, Padding};
use millstream_testkit::hex;
use tempfile::TempDir;

use super::attributes::cka;
use super::*;
use crate::key::{Key, Kind};

const PIN: &[u8] = b"4321";

/// The entry of that PIN in a token that SoftHSM2 2.6.1 made, and a label that its master key sealed there.
const ENTRY: &str = "603e71c8113d34e36d69ae058ba009ab7e9cdcf827ccaad4bbd4141fa945025e9255a62842b15a3b\
                     78efa14e5dd93c7d8e60f79b3baac44f505e54d2b54852825a8a047a4cb453ec";
const SEALED_LABEL: &str = "85b110bab60a920343b2bb7171a0938ee32dcdc2a4e02844976b16b340cea8b1";
const LABEL: &[u8] = b"rsa";

/// A file that grows by one attribute after the other.
#[derive(Clone)]
struct Made(Vec<u8>);

impl Made {
    fn new() -> Self {
        Made(1u64.to_be_bytes().to_vec())
    }

    fn numbers(mut self, numbers: &[u64]) -> Self {
        self.0.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
        self
    }

    fn flag(self, kind: u64, flag: bool) -> Self {
        let mut made = self.numbers(&[kind, 1]);
        made.0.push(if flag { 255 } else { 0 });
        made
    }

    fn number(self, kind: u64, number: u64) -> Self {
        self.numbers(&[kind, 2, number])
    }

    fn bytes(self, kind: u64, bytes: &[u8]) -> Self {
        let mut made = self.numbers(&[kind, 3, bytes.len() as u64]);
        made.0.extend_from_slice(bytes);
        made
    }

    /// Adds the attributes of all keys, of which these uses are allowed.
    fn key(self, class: u64, key_type: u64, uses: &[u64]) -> Self {
        let mut made = self.number(cka::CLASS, class).number(cka::KEY_TYPE, key_type);
        for each in [cka::ENCRYPT, cka::DECRYPT, cka::SIGN, cka::VERIFY, cka::DERIVE, cka::WRAP, cka::UNWRAP]
        {
            made = made.flag(each, uses.contains(&each));
        }
        made.flag(cka::SENSITIVE, false)
            .flag(cka::EXTRACTABLE, true)
            .flag(cka::WRAP_WITH_TRUSTED, false)
            .numbers(&[cka::ALLOWED_MECHANISMS, 5, 1, 0x1041])
            .numbers(&[cka::UNWRAP_TEMPLATE, 4, 0])
    }
}

/// Seals bytes as the master key of the token does.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let opened = decrypted(ENTRY);
    let cipher = Cbc::new(Features::hardware(), &opened[3..]).unwrap();
    let mut out = vec![9; 16 + bytes.len() + 16];
    let mut stream = BlockStream::new(&cipher, &[9; 16], Direction::Encrypt, Padding::Pkcs7).unwrap();
    let mut len = 16 + stream.update(bytes, &mut out[16..]).unwrap();
    len += stream.finish(&mut out[len..]).unwrap();
    out.truncate(len);
    out
}

/// Opens the entry of the PIN, step by step as the format has it.
fn decrypted(entry: &str) -> Vec<u8> {
    let entry = hex(entry);
    let hash = |data: &[u8]| {
        let mut out = [0; 32];
        let sha256 = millstream_engines::hash::Hash::Sha256;
        millstream_engines::hash::digest(Features::none(), sha256, data, &mut out).unwrap();
        out
    };
    let mut key = hash(&[&entry[..8], PIN].concat());
    for _ in 1..1500 + u32::from(entry[7]) {
        key = hash(&key);
    }
    let cipher = Cbc::new(Features::none(), &key).unwrap();
    let mut out = vec![0; 64];
    let mut stream = BlockStream::new(&cipher, &entry[8..24], Direction::Decrypt, Padding::Pkcs7).unwrap();
    let mut len = stream.update(&entry[24..], &mut out).unwrap();
    len += stream.finish(&mut out[len..]).unwrap();
    out.truncate(len);
    assert_eq!((&out[..3], out.len()), (&b"RJR"[..], 35));
    out
}

fn token_file(label: &str) -> Vec<u8> {
    let label = format!("{label:32}");
    Made::new().bytes(cka::OS_TOKEN_LABEL, label.as_bytes()).bytes(cka::OS_USER_PIN, &hex(ENTRY)).0
}

/// Makes a token in a folder, with these objects.
fn token(folder: &Path, label: &str, objects: &[(&str, &[u8])]) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join(TOKEN_FILE), token_file(label)).unwrap();
    fs::write(folder.join("generation"), [0; 8]).unwrap();
    for (name, bytes) in objects {
        fs::write(folder.join(format!("{name}.object")), bytes).unwrap();
        fs::write(folder.join(format!("{name}.lock")), b"").unwrap();
    }
}

/// Reads a single object.
fn object(bytes: &[u8]) -> Result<Object, Error> {
    static MASTER: LazyLock<Master> =
        LazyLock::new(|| Master::open(Features::hardware(), &hex(ENTRY), PIN).unwrap().unwrap());
    Object::read(Features::hardware(), &MASTER, &Attributes::parse(Path::new("one.object"), bytes)?)
}

/// An EC private key, sealed, whose scalar has lost its leading zeros as SoftHSM2 writes it.
fn p256() -> Made {
    Made::new()
        .flag(cka::PRIVATE, true)
        .bytes(cka::LABEL, &sealed(b"server"))
        .bytes(cka::ID, &sealed(&[1, 2]))
        .bytes(cka::VALUE, &sealed(&[7; 30]))
        .bytes(cka::EC_PARAMS, &sealed(&hex("06082a8648ce3d030107")))
        .bytes(cka::START_DATE, b"")
        .flag(cka::ALWAYS_AUTHENTICATE, true)
        .key(3, 3, &[cka::SIGN, cka::DERIVE, cka::ENCRYPT])
}

/// A secret key in the clear.
fn secret(key_type: u64, value: &[u8], check: &[u8]) -> Made {
    Made::new()
        .flag(cka::PRIVATE, false)
        .bytes(cka::LABEL, b"open")
        .bytes(cka::ID, b"")
        .bytes(cka::VALUE, value)
        .bytes(cka::CHECK_VALUE, check)
        .key(4, key_type, &[cka::ENCRYPT])
}

fn key(object: &Object) -> &Key {
    match &object.contents {
        Contents::Key(key) => key,
        other => panic!("{other:?}"),
    }
}

/// Returns the reason why an object has no key.
fn reason(bytes: &[u8]) -> String {
    match object(bytes).unwrap().contents {
        Contents::Other(why) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_pin_of_softhsm2_opens_what_it_sealed() {
    let features = Features::hardware();
    let master = Master::open(features, &hex(ENTRY), PIN).unwrap().unwrap();
    assert_eq!(*master.unseal(&hex(SEALED_LABEL)).unwrap(), LABEL);
    assert_eq!(*master.unseal(b"").unwrap(), b"");
    assert!(Master::open(features, &hex(ENTRY), b"4322").unwrap().is_none());
    assert!(Master::open(features, &hex(ENTRY), b"").unwrap().is_none());
    for len in 0..72 {
        assert!(Master::open(features, &hex(ENTRY)[..len], PIN).is_none());
        assert!(len == 0 || len > 31 || master.unseal(&hex(SEALED_LABEL)[..len.min(31)]).is_none());
    }
}

#[test]
fn objects_are_read_with_what_they_may_do() {
    let read = object(&p256().0).unwrap();
    let expected = [&[0; 2][..], &[7; 30]].concat();
    assert_eq!((key(&read).kind(), key(&read).secret()), (Kind::P256, &expected[..]));
    assert_eq!((&read.label[..], &read.id[..]), (&b"server"[..], &[1, 2][..]));
    // Private keys have no flag that says what public keys do.
    assert_eq!((read.uses, read.exportable), (vec![Use::Sign, Use::Derive], true));
    assert_eq!(read.restrictions, ["a PIN before each use", "a list of mechanisms"]);

    // The check values are tried on tokens of SoftHSM2 by the test of the command.
    let aes = object(&secret(0x1f, &[7; 16], b"").0).unwrap();
    assert_eq!((key(&aes).kind(), key(&aes).secret()), (Kind::Aes, &[7; 16][..]));
    let hmac = object(&secret(0x10, b"sixteen bytes ok", b"").0).unwrap();
    assert_eq!(key(&hmac).kind(), Kind::Hmac);
    for (key_type, value) in [(0x1f, &[7; 16][..]), (0x10, b"sixteen bytes ok")] {
        let error = object(&secret(key_type, value, b"bad").0).unwrap_err();
        assert!(error.to_string().contains("one.object: damaged: the key's bytes"), "{error}");
    }

    assert!(reason(&secret(0x15, &[7; 24], b"").0).contains("triple DES"));
    assert!(reason(&secret(0x10, &[7; 8], b"").0).contains("16 to 1024"));
    let data = Made::new().flag(cka::PRIVATE, false).number(cka::CLASS, 0);
    assert!(reason(&data.0).contains("no key"));
    let brainpool = Made::new()
        .flag(cka::PRIVATE, false)
        .bytes(cka::VALUE, &[7; 32])
        .bytes(cka::EC_PARAMS, &hex("06092b2403030208010107"))
        .key(3, 3, &[cka::SIGN]);
    assert!(reason(&brainpool.0).contains("1.3.36.3.3.2.8.1.1.7"));
}

#[test]
fn a_file_that_is_cut_off_is_damaged_or_reads_as_before() {
    for whole in [p256(), secret(0x1f, &[7; 32], b"")] {
        let before = object(&whole.0).unwrap();
        let mut alike = 0;
        for len in 0..whole.0.len() {
            match object(&whole.0[..len]) {
                Err(Error::Damaged { .. }) => {}
                Err(other) => panic!("{len}: {other}"),
                Ok(cut) => {
                    alike += 1;
                    assert_eq!(key(&cut).secret(), key(&before).secret());
                    assert_eq!((cut.uses, cut.exportable), (before.uses.clone(), before.exportable));
                }
            }
        }
        // Two attributes follow those that have to be there.
        assert_eq!(alike, 2);
    }
    let folder = TempDir::new().unwrap();
    let whole = token_file("web");
    for len in 0..whole.len() {
        fs::write(folder.path().join(TOKEN_FILE), &whole[..len]).unwrap();
        let read = Token::find(folder.path(), None);
        let read = read.and_then(|token| token.objects(Features::hardware(), PIN));
        assert!(matches!(read, Err(Error::Damaged { .. } | Error::NoPin(_))), "{len}: {read:?}");
    }
}

#[test]
fn flipped_bits_never_panic_or_ask_for_memory() {
    for whole in [p256().0, secret(0x10, &[7; 32], b"").0] {
        for at in 0..whole.len() {
            for bits in [1, 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[at] ^= bits;
                match object(&changed) {
                    Ok(_) | Err(Error::Damaged { .. }) => {}
                    Err(other) => panic!("{at}: {other}"),
                }
            }
        }
    }
    // No file has such lengths.
    for kind in [3, 4, 5] {
        for len in [u64::MAX, u64::MAX / 8 + 1, 1 << 61, 1 << 40] {
            let made = Made::new().numbers(&[cka::LABEL, kind, len]);
            assert!(matches!(object(&made.0), Err(Error::Damaged { .. })));
        }
    }
}

#[test]
fn a_token_is_found_by_its_folder_or_its_label() {
    let place = TempDir::new().unwrap();
    let all = place.path();
    let features = Features::hardware();
    assert!(matches!(Token::find(all, None), Err(Error::NoToken(_))));
    assert!(matches!(Token::find(&all.join("none"), None), Err(Error::Read { .. })));

    token(&all.join("b"), "web", &[("1", &p256().0), ("2", &secret(0x1f, &[7; 16], b"").0)]);
    fs::write(all.join("other"), b"a file beside the tokens").unwrap();
    let web = Token::find(all, None).unwrap();
    assert_eq!((web.label(), web.folder()), ("web", &*all.join("b")));
    assert_eq!(web.objects(features, PIN).unwrap().len(), 2);
    assert!(matches!(web.objects(features, b"1234"), Err(Error::WrongPin(_))));
    assert_eq!(Token::find(&all.join("b"), Some("web")).unwrap().label(), "web");

    token(&all.join("a"), "mail", &[]);
    let several = Token::find(all, None).unwrap_err().to_string();
    assert!(several.contains("choose one with --softhsm-token") && several.contains("\"mail\""), "{several}");
    assert_eq!(Token::find(all, Some("web")).unwrap().folder(), all.join("b"));
    let none = Token::find(all, Some("ftp")).unwrap_err().to_string();
    assert!(none.contains("no token \"ftp\"; there are [\"mail\", \"web\"]"), "{none}");
    token(&all.join("c"), "web", &[]);
    let twice = Token::find(all, Some("web")).unwrap_err().to_string();
    assert!(twice.contains("name the folder of one"), "{twice}");

    // A damaged token stands only in its own way.
    fs::write(all.join("c").join(TOKEN_FILE), b"?").unwrap();
    assert_eq!(Token::find(all, Some("web")).unwrap().folder(), all.join("b"));
    assert!(matches!(Token::find(all, Some("ftp")), Err(Error::Damaged { .. })));
    assert!(matches!(Token::find(all, None), Err(Error::Damaged { .. })));

    fs::remove_file(all.join("c").join(TOKEN_FILE)).unwrap();
    fs::write(all.join("c").join(DATABASE), b"").unwrap();
    assert!(matches!(Token::find(&all.join("c"), None), Err(Error::Database(_))));
    fs::create_dir(all.join("b/3.object")).unwrap();
    let odd = Token::find(all, Some("web")).unwrap().objects(features, PIN).unwrap_err();
    assert!(odd.to_string().contains("3.object: damaged: this is no file"), "{odd}");
}
