//! Keys in files: published examples, and that damaged files are errors.

use millstream_cpu::Features;
use millstream_files::Error;
use millstream_files::key::{self, Form, Found, Key, Kind};
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
            let read = key::read(features(), &public.write(form).unwrap(), None).unwrap();
            assert!(matches!(read, Found::Public(read) if read == public), "{kind} {form:?}");
        }
    }
    assert_eq!(written, 33);
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
