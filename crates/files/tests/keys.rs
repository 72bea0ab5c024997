//! Keys in files: published examples, and that damaged files are errors.

use millstream_cpu::Features;
use millstream_files::Error;
use millstream_files::key::{self, Form, Found, Key, Kind};
use millstream_publickey::slhdsa::Set;
use millstream_testkit::Random;

fn features() -> Features {
    Features::hardware()
}

fn private(bytes: &[u8]) -> Key {
    match key::read(features(), bytes, None).unwrap() {
        Found::Key(key) => key,
        Found::Public(_) => panic!("a public key"),
    }
}

/// RFC 8037 §A.1.
const ED25519: &str = r#"{"kty":"OKP","crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
    "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;

/// RFC 7517 §A.2.
const P256: &str = r#"{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
    "y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","use":"enc","kid":"1",
    "d":"870MB6gfuTJ4HtUnUvYMyJpr5eUZNP4Bk43bVdj3eAE"}"#;

/// RFC 8410 §10.3: the key, and with an attribute and the public key.
const RFC8410: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
-----END PRIVATE KEY-----
";

/// RFC 8410 §10.1.
const RFC8410_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=
-----END PUBLIC KEY-----
";

#[test]
fn published_examples() {
    assert_eq!(
        (private(ED25519.as_bytes()).kind(), private(P256.as_bytes()).kind()),
        (Kind::Ed25519, Kind::P256)
    );
    let key = private(RFC8410.as_bytes());
    assert_eq!(&key.write(features(), Form::Pem).unwrap()[..], RFC8410.as_bytes());
    assert_eq!(key.public(features()).unwrap().write(Form::Pem).unwrap(), RFC8410_PUBLIC.as_bytes());
    // The public half must be that of the private one.
    let other = P256.replace("\"d\":\"8", "\"d\":\"9");
    let error = key::read(features(), other.as_bytes(), None).unwrap_err();
    assert!(error.to_string().contains("another private key"), "{error}");
}

#[test]
fn each_kind_comes_back_from_each_of_its_forms() {
    let forms = [Form::Pem, Form::Der, Form::Traditional, Form::Jwk, Form::Tink, Form::Raw];
    let mut written = 0;
    for kind in Kind::ALL {
        let bits = (kind == Kind::Rsa).then_some(2048);
        let key = Key::generate(features(), kind, bits).unwrap();
        for form in forms {
            let text = match key.write(features(), form) {
                Ok(text) => text,
                Err(Error::Key(why)) => {
                    assert!(why.contains(kind.name()), "{why}");
                    continue;
                }
                Err(error) => panic!("{error}"),
            };
            let raw = (form == Form::Raw).then_some(kind);
            let Found::Key(read) = key::read(features(), &text, raw).unwrap() else { panic!("{kind}") };
            // A JSON Web Key of 32 bytes does not say for which algorithm it is.
            let same_kind = read.kind() == kind || form == Form::Jwk && !kind.is_pair();
            assert!(same_kind && read.secret() == key.secret(), "{kind} {form:?}");
            written += 1;
        }
        if !kind.is_pair() {
            continue;
        }
        let public = key.public(features()).unwrap();
        for form in [Form::Pem, Form::Der, Form::Jwk] {
            let Ok(text) = public.write(form) else {
                let has_no_form = ["ml-", "slh-"].iter().any(|family| kind.name().starts_with(family));
                assert!(form == Form::Jwk && has_no_form, "{kind} {form:?}");
                continue;
            };
            let read = key::read(features(), &text, None).unwrap();
            assert!(matches!(read, Found::Public(read) if read == public), "{kind} {form:?}");
        }
    }
    assert_eq!(written, 92);
}

#[test]
fn damaged_files_are_errors_or_keys_and_never_a_panic() {
    let mut random = Random::new(1);
    for kind in [Kind::P256, Kind::P521, Kind::Ed25519, Kind::Aes, Kind::Hmac] {
        let key = Key::generate(features(), kind, None).unwrap();
        for form in [Form::Pem, Form::Der, Form::Traditional, Form::Jwk, Form::Tink] {
            let Ok(whole) = key.write(features(), form) else { continue };
            for len in 0..whole.len() {
                let read = key::read(features(), &whole[..len], None);
                let is_whole = matches!(&read, Ok(Found::Key(read)) if read.secret() == key.secret());
                assert!(read.is_err() || is_whole, "{kind} {form:?}, {len} bytes");
            }
            for _ in 0..200 {
                let mut bytes = whole.to_vec();
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
                let _ = key::read(features(), &bytes, None);
            }
        }
    }
}

/// The file of PyCA's vectors.
fn vector(name: &str) -> Vec<u8> {
    let path = millstream_testkit::cavp::directory().join("asymmetric").join(name);
    std::fs::read(&path).unwrap_or_else(|error| {
        panic!("{}: {error}; run `cargo xtask vectors` to install the published vectors", path.display())
    })
}

/// Seeds and expanded keys as others wrote them (RFC 9881 §6, RFC 9935 §6), byte for byte.
#[test]
fn keys_on_lattices_are_those_of_others() {
    for (file, kind, len) in [
        ("MLDSA/mldsa44_priv.der", Kind::MlDsa44, 32),
        ("MLDSA/mldsa65_noseed_priv.der", Kind::MlDsa65, 4032),
        ("MLKEM/mlkem768.der", Kind::MlKem768, 64),
    ] {
        let der = vector(file);
        let key = private(&der);
        assert_eq!((key.kind(), key.secret().len()), (kind, len), "{file}");
        assert_eq!(key.write(features(), Form::Der).unwrap()[..], der[..], "{file}");
    }
    assert_eq!(
        private(&vector("MLKEM/mlkem768.pem")).secret(),
        private(&vector("MLKEM/mlkem768.der")).secret()
    );
    let public = private(&vector("MLDSA/mldsa44_priv.der")).public(features()).unwrap();
    assert_eq!(public.write(Form::Der).unwrap(), vector("MLDSA/mldsa44_pub.der"));
}

/// RFC 9909 appendix C.2.
const SLH_DSA: &str = "-----BEGIN PRIVATE KEY-----
MFICAQAwCwYJYIZIAWUDBAMUBECiJjvKRYYINlIxYASVI9YhZ3+tkNUetgZ6Mn4N
HmSlASuBCex3fKpOHwJMz8+Ul9mRgFCSgPQlavKwevgCibSU
-----END PRIVATE KEY-----
";

/// RFC 9909 appendix C.1.
const SLH_DSA_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MDAwCwYJYIZIAWUDBAMUAyEAK4EJ7Hd8qk4fAkzPz5SX2ZGAUJKA9CVq8rB6+AKJ
tJQ=
-----END PUBLIC KEY-----
";

/// A key of SLH-DSA comes back byte for byte. Its three seeds are the same key, and a root that does not belong to them is refused.
#[test]
fn keys_on_hashes_are_whole_and_checked() {
    let key = private(SLH_DSA.as_bytes());
    let kind = Kind::SlhDsa(Set::Sha2_128s);
    assert_eq!((key.kind(), key.bits(features()).unwrap()), (kind, 512));
    assert_eq!(&key.write(features(), Form::Pem).unwrap()[..], SLH_DSA.as_bytes());
    assert_eq!(key.public(features()).unwrap().write(Form::Pem).unwrap(), SLH_DSA_PUBLIC.as_bytes());
    let of_seeds = Key::new(features(), kind, &key.secret()[..48]).unwrap();
    assert_eq!(of_seeds.secret(), key.secret());
    let der = key.write(features(), Form::Der).unwrap();
    let mut wrong = [der.to_vec(), der.to_vec(), der.to_vec()];
    // The last byte of the root; the object identifier, which makes it a key of another hash; a byte less inside.
    *wrong[0].last_mut().unwrap() ^= 1;
    wrong[1][17] = 26;
    wrong[2].pop();
    (wrong[2][1], wrong[2][19]) = (81, 63);
    for der in wrong {
        assert!(matches!(key::read(features(), &der, None), Err(Error::Key(_))), "{der:02x?}");
    }
    let of_hashes = Kind::ALL.iter().filter_map(|kind| match kind {
        Kind::SlhDsa(set) => Some((kind, set)),
        _ => None,
    });
    for ((kind, set), arc) in of_hashes.zip(20..) {
        let public = key::PublicKey::new(features(), *kind, &vec![7; set.public_key_len()]).unwrap();
        let der = public.write(Form::Der).unwrap();
        assert_eq!(der[6..15], [0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, arc], "{kind}");
    }
}

/// Returns a structure in DER: a tag, a length of two bytes, and the content.
fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let len = u16::try_from(content.len()).expect("no longer than two bytes tell");
    let head = match content.len() {
        0..=0x7f => vec![tag, len as u8],
        0x80..=0xff => vec![tag, 0x81, len as u8],
        _ => [&[tag, 0x82][..], &len.to_be_bytes()].concat(),
    };
    [&head, content].concat()
}

/// A key with both its forms is read as its seed, if they are of one key; a seed alone is no string of bytes without its tag.
#[test]
fn a_seed_and_an_expanded_key_must_be_one_key() {
    use millstream_publickey::{mldsa, mlkem};
    let kem = mlkem::PrivateKey::from_seed(features(), mlkem::Set::MlKem512, &[7; 64]);
    let signer = mldsa::PrivateKey::from_seed(features(), mldsa::Set::MlDsa87, &[7; 32]);
    for (kind, arc, seed, expanded) in [
        (Kind::MlKem512, [4, 1], vec![7; 64], kem.to_expanded()),
        (Kind::MlDsa87, [3, 19], vec![7; 32], signer.to_expanded()),
    ] {
        let name = [&[0x06, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4][..], &arc].concat();
        let pkcs8 = |inner: &[u8]| der(0x30, &[&[2, 1, 0][..], &der(0x30, &name), &der(4, inner)].concat());
        let both =
            |seed: &[u8], expanded: &[u8]| pkcs8(&der(0x30, &[der(4, seed), der(4, expanded)].concat()));
        let read = |bytes: &[u8]| key::read(features(), bytes, None);
        for whole in [both(&seed, &expanded), pkcs8(&der(0x80, &seed))] {
            let key = private(&whole);
            assert_eq!((key.kind(), key.secret()), (kind, &seed[..]), "{kind}");
        }
        let long = private(&pkcs8(&der(4, &expanded)));
        assert_eq!(long.secret(), &expanded[..]);
        assert_eq!(
            long.public(features()).unwrap(),
            private(&both(&seed, &expanded)).public(features()).unwrap()
        );
        assert_eq!(long.bits(features()).unwrap(), 8 * seed.len());
        let mut other = expanded.to_vec();
        *other.last_mut().unwrap() ^= 1;
        for wrong in [
            both(&seed, &other),
            both(&seed, &expanded[1..]),
            both(&seed[1..], &expanded),
            pkcs8(&der(4, &seed)),
            pkcs8(&der(0x80, &seed[1..])),
            pkcs8(&der(4, &expanded[1..])),
            pkcs8(&der(0x30, &der(4, &seed))),
            pkcs8(&[]),
        ] {
            assert!(matches!(read(&wrong), Err(Error::Key(_))), "{kind}: {wrong:02x?}");
        }
    }
}
