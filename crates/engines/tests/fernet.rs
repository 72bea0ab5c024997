//! Fernet: the specification's vectors, changed tokens, several keys, and every number of tokens at once.
//!
//! Ref. the Fernet specification, acceptance tests, as published in the PyPI package `cryptography_vectors`.

use millstream_cpu::Features;
use millstream_engines::Error;
use millstream_engines::fernet::{Age, Fernet, FernetKeys, Value};
use millstream_testkit::{Random, cavp};

/// The value of a name in each object of a file of flat objects.
fn objects(file: &str) -> Vec<String> {
    let text = cavp::text(file);
    text.split('}').filter(|object| object.contains("secret")).map(str::to_owned).collect()
}

fn field<'a>(object: &'a str, name: &str) -> &'a str {
    let (_, rest) = object.split_once(&format!("\"{name}\"")).unwrap_or_else(|| panic!("{name} in {object}"));
    let value = rest.trim_start_matches([':', ' ']);
    match value.strip_prefix('"') {
        Some(text) => text.split('"').next().unwrap(),
        None => value.split([',', '\n', ']']).next().unwrap().trim(),
    }
}

/// Seconds since 1970 of a time of the year 1985 as RFC 3339 writes it, with its distance from UTC.
fn seconds(time: &str) -> u64 {
    let number = |from: usize, to: usize| time[from..to].parse::<i64>().unwrap();
    let days = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    assert_eq!(number(0, 4), 1985);
    // 15 years with four leap days.
    let day = 15 * 365 + 4 + days[number(5, 7) as usize - 1] + number(8, 10) - 1;
    let hours = if time[19..].starts_with('-') { -number(20, 22) } else { number(20, 22) };
    (86400 * day + 3600 * (number(11, 13) - hours) + 60 * number(14, 16) + number(17, 19)) as u64
}

fn key(object: &str) -> Fernet {
    Fernet::new(Features::hardware(), field(object, "secret")).unwrap()
}

#[test]
fn tokens_of_the_specification() {
    let generate = objects("fernet/generate.json");
    for object in &generate {
        let iv: Vec<u8> = object
            .split_once("\"iv\"")
            .map(|(_, rest)| &rest[rest.find('[').unwrap() + 1..rest.find(']').unwrap()])
            .unwrap()
            .split(',')
            .map(|byte| byte.trim().parse().unwrap())
            .collect();
        let token = key(object).seal(
            seconds(field(object, "now")),
            &iv.try_into().unwrap(),
            field(object, "src").as_bytes(),
        );
        assert_eq!(token, field(object, "token"));
    }
    let verify = objects("fernet/verify.json");
    for object in &verify {
        let age = Age { now: seconds(field(object, "now")), ttl: field(object, "ttl_sec").parse().unwrap() };
        let plain = key(object).open(field(object, "token"), Some(age)).unwrap();
        assert_eq!(&plain[..], field(object, "src").as_bytes());
    }
    let invalid = objects("fernet/invalid.json");
    for object in &invalid {
        let age = Age { now: seconds(field(object, "now")), ttl: field(object, "ttl_sec").parse().unwrap() };
        let error = key(object).open(field(object, "token"), Some(age)).unwrap_err();
        let expected = match field(object, "desc") {
            "far-future TS (unacceptable clock skew)" | "expired TTL" => {
                matches!(error, Error::Parameter { name: "the token's time", .. })
            }
            "payload padding error" | "incorrect IV (causes padding error)" => error == Error::Padding,
            _ => error == Error::Authentication,
        };
        assert!(expected, "{}: {error}", field(object, "desc"));
    }
    assert_eq!([generate.len(), verify.len(), invalid.len()], [1, 1, 8]);
}

/// Every number of values of every length, and tokens that were changed beside others that were not.
#[test]
fn many_are_as_each_alone() {
    let mut random = Random::new(31);
    let key = Fernet::from_bytes(Features::hardware(), &random.bytes(32).try_into().unwrap());
    for count in [0, 1, 2, 15, 16, 17, 50] {
        let plain: Vec<_> = (0..count).map(|i| random.bytes((7 * i) % 67)).collect();
        let values: Vec<_> = plain
            .iter()
            .map(|plain| Value { time: 1000 + count as u64, iv: random.bytes(16).try_into().unwrap(), plain })
            .collect();
        let mut tokens = key.seal_many(&values);
        assert_eq!(tokens.len(), count);
        for (token, value) in tokens.iter().zip(&values) {
            assert_eq!(*token, key.seal(value.time, &value.iv, value.plain));
        }
        for token in tokens.iter_mut().step_by(3) {
            let at = random.below(token.trim_end_matches('=').len());
            let other = if &token[at..=at] == "A" { "B" } else { "A" };
            token.replace_range(at..=at, other);
        }
        let tokens: Vec<&str> = tokens.iter().map(|token| &token[..]).collect();
        for (i, opened) in key.open_many(&tokens, None).into_iter().enumerate() {
            if i % 3 == 0 {
                assert_eq!(opened, Err(Error::Authentication), "{i} of {count}");
            } else {
                assert_eq!(opened.as_deref(), Ok(&plain[i]), "{i} of {count}");
            }
        }
    }
}

#[test]
fn the_limits_of_a_tokens_time() {
    let key = Fernet::from_bytes(Features::hardware(), &[5; 32]);
    let token = key.seal(1000, &[1; 16], b"");
    for (now, ttl, right) in [
        (1000, 0, true),
        (1001, 0, false),
        (1060, 60, true),
        (1061, 60, false),
        (940, 9, true),
        (939, 9, false),
    ] {
        let opened = key.open(&token, Some(Age { now, ttl }));
        assert_eq!(opened.is_ok(), right, "{now}, {ttl}");
        assert!(right || opened.unwrap_err().to_string().contains("the token's time is 1000"));
    }
    assert!(key.open(&key.seal(u64::MAX, &[1; 16], b""), Some(Age { now: 0, ttl: u64::MAX })).is_err());
}

#[test]
fn any_of_several_keys_opens() {
    let key = |byte| Fernet::from_bytes(Features::hardware(), &[byte; 32]);
    let keys = FernetKeys::new(key(1), [key(2), key(3)]);
    let tokens: Vec<String> = (0..40u8).map(|i| key(1 + i % 4).seal(77, &[i; 16], &[i; 9])).collect();
    let tokens: Vec<&str> = tokens.iter().map(|token| &token[..]).collect();
    for (i, opened) in keys.open_many(&tokens, None).into_iter().enumerate() {
        match opened {
            Ok(plain) => assert_eq!(&plain[..], [i as u8; 9]),
            Err(error) => assert!(i % 4 == 3 && error == Error::Authentication, "{i}: {error}"),
        }
    }
    let rotated = keys.rotate(tokens[2], &[0; 16]).unwrap();
    assert_eq!(rotated, key(1).seal(77, &[0; 16], &[2; 9]));
    assert_eq!(keys.rotate(tokens[3], &[0; 16]), Err(Error::Authentication));
}

#[test]
fn keys_that_are_none_are_refused() {
    for text in [
        "",
        "short",
        "cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4",
        "cw+0x689RpI+jtRR7oE8h/eQsKImvJapLeSbXpwF4e4=",
    ] {
        let refused = Fernet::new(Features::hardware(), text).unwrap_err();
        assert!(refused.to_string().contains("44 characters of base64"), "{refused}");
    }
}
