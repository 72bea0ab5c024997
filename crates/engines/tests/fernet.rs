//! Fernet: the specification's vectors, changed tokens, several keys, and every number of tokens at once.
//!
//! Ref. the Fernet specification, acceptance tests, as published in the PyPI package `cryptography_vectors`.

use millstream_cpu::Features;
use millstream_engines::fernet::{
    Age, Fernet, FernetKey, FernetKeys, FernetLanes, KeyedFernetJob, NONCE, Value,
};
use millstream_engines::{Error, InOut};
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

/// Tokens of several keys as bytes, in place and apart, some of them changed: each is the one that the codec makes, and one that was changed
/// leaves nothing.
#[test]
fn tokens_of_any_keys_as_bytes_are_those_in_base64() {
    let (mut random, features) = (Random::new(32), Features::hardware());
    let raw: [[u8; 32]; 2] = [random.bytes(32).try_into().unwrap(), random.bytes(32).try_into().unwrap()];
    let keys = raw.map(|raw| (Fernet::from_bytes(features, &raw), FernetKey::new(features, &raw).unwrap()));
    assert!(FernetKey::new(features, &[7; 31]).is_err());
    let lanes = FernetLanes::new(features);
    for count in [1, 2, 17, 60] {
        let plain: Vec<_> = (0..count).map(|i| random.bytes([3, 16, 70, 0, 300][i % 5])).collect();
        let nonces: Vec<_> = (0..count).map(|_| random.bytes(NONCE)).collect();
        let mut padded: Vec<_> = plain
            .iter()
            .map(|plain| {
                let padding = 16 - plain.len() % 16;
                [&plain[..], &vec![padding as u8; padding]].concat()
            })
            .collect();
        let whole = padded.clone();
        let mut jobs: Vec<_> = padded
            .iter_mut()
            .enumerate()
            .map(|(i, data)| KeyedFernetJob::new(&keys[i % 3 % 2].1, &nonces[i], InOut::in_place(data)))
            .collect();
        lanes.seal(&mut jobs.iter_mut().collect::<Vec<_>>());
        let mut tags: Vec<_> = jobs.iter().map(|job| (job.result, job.tag)).collect();
        drop(jobs);
        for i in 0..count {
            assert_eq!(tags[i].0, Ok(()));
            let token = [&[0x80], &nonces[i][..], &padded[i], &tags[i].1].concat();
            let (time, iv) = nonces[i].split_first_chunk().unwrap();
            let expected =
                keys[i % 3 % 2].0.seal(u64::from_be_bytes(*time), &iv.try_into().unwrap(), &plain[i]);
            assert_eq!(base64(&token), expected, "{i} of {count}");
        }
        for i in (0..count).step_by(3) {
            tags[i].1[i % 32] ^= 1;
        }
        let mut apart: Vec<_> = padded.iter().map(|data| vec![0xee; data.len()]).collect();
        let mut in_place = padded.clone();
        let mut jobs: Vec<_> = (0..count)
            .zip(padded.iter().zip(apart.iter_mut().zip(&mut in_place)))
            .map(|(i, (data, (apart, in_place)))| {
                let data = match i % 2 {
                    0 => InOut::separate(data, apart).unwrap(),
                    _ => InOut::in_place(in_place),
                };
                KeyedFernetJob { tag: tags[i].1, ..KeyedFernetJob::new(&keys[i % 3 % 2].1, &nonces[i], data) }
            })
            .collect();
        lanes.open(&mut jobs.iter_mut().collect::<Vec<_>>());
        let results: Vec<_> = jobs.iter().map(|job| job.result).collect();
        drop(jobs);
        for i in 0..count {
            let changed = i % 3 == 0;
            assert_eq!(results[i], if changed { Err(Error::Authentication) } else { Ok(()) });
            let data = if i % 2 == 0 { &apart[i] } else { &in_place[i] };
            match (changed, i % 2) {
                (false, _) => assert_eq!(*data, whole[i], "{i} of {count}"),
                (true, 0) => assert!(data.iter().all(|byte| *byte == 0), "{i} of {count}"),
                (true, _) => assert_eq!(*data, padded[i], "{i} of {count}"),
            }
        }
    }
    for (nonce, data) in [(NONCE - 1, 16), (NONCE, 15), (NONCE, 0)] {
        let (nonce, mut data) = (vec![0; nonce], vec![0; data]);
        let mut job = KeyedFernetJob::new(&keys[0].1, &nonce, InOut::in_place(&mut data));
        lanes.seal(&mut [&mut job]);
        assert!(matches!(job.result, Err(Error::NonceLength { .. } | Error::DataLength { .. })));
    }
}

fn base64(bytes: &[u8]) -> String {
    const CHARACTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut padded = [0; 3];
        padded[..group.len()].copy_from_slice(group);
        let [a, b, c] = padded;
        let number = u32::from_be_bytes([0, a, b, c]);
        for i in 0..4 {
            let character = CHARACTERS[(number >> (18 - 6 * i)) as usize & 63];
            text.push(if i <= group.len() { character.into() } else { '=' });
        }
    }
    text
}
