//! Ciphers against OpenSSL's own.

mod support;

use millstream_testkit::Random;
use support::{Cipher, CipherContext, Library, Param, Refused};

/// The ciphers that OpenSSL and Millstream both have, but for AEADs.
const CIPHERS: &[&str] = &[
    "AES-128-ECB",
    "AES-192-ECB",
    "AES-256-ECB",
    "AES-128-CBC",
    "AES-192-CBC",
    "AES-256-CBC",
    "AES-128-CTR",
    "AES-192-CTR",
    "AES-256-CTR",
    "AES-128-CFB",
    "AES-192-CFB",
    "AES-256-CFB",
    "AES-128-XTS",
    "AES-256-XTS",
    "CAMELLIA-128-ECB",
    "CAMELLIA-192-ECB",
    "CAMELLIA-256-ECB",
    "CAMELLIA-128-CBC",
    "CAMELLIA-192-CBC",
    "CAMELLIA-256-CBC",
    "CAMELLIA-128-CTR",
    "CAMELLIA-192-CTR",
    "CAMELLIA-256-CTR",
    "SM4-ECB",
    "SM4-CBC",
    "SM4-CTR",
    "DES-EDE3-ECB",
    "DES-EDE3-CBC",
    "DES-EDE3-CFB",
    "DES-EDE-ECB",
    "DES-EDE-CBC",
    "DES-EDE-CFB",
    "DES-ECB",
    "DES-CBC",
    "DES-CFB",
    "RC4",
    "RC4-40",
];

/// Other names of some of them.
const ALIASES: &[(&str, &[&str])] = &[
    ("AES-128-CBC", &["AES128", "2.16.840.1.101.3.4.1.2"]),
    ("AES-256-CBC", &["AES256", "2.16.840.1.101.3.4.1.42"]),
    ("AES-256-XTS", &["1.3.111.2.1619.0.1.2"]),
    ("AES-128-CFB", &["2.16.840.1.101.3.4.1.4"]),
    ("CAMELLIA-192-CBC", &["CAMELLIA192", "1.2.392.200011.61.1.1.1.3"]),
    ("CAMELLIA-256-CTR", &["0.3.4401.5.3.1.9.49"]),
    ("SM4-CBC", &["SM4", "1.2.156.10197.1.104.2"]),
    ("SM4-CTR", &["1.2.156.10197.1.104.7"]),
    ("DES-EDE3-CBC", &["DES3", "1.2.840.113549.3.7"]),
    ("DES-EDE-ECB", &["DES-EDE", "1.3.14.3.2.17"]),
    ("DES-CBC", &["DES", "1.3.14.3.2.7"]),
    ("RC4", &["1.2.840.113549.3.4"]),
];

fn is_xts(name: &str) -> bool {
    name.ends_with("XTS")
}

/// Encrypts or decrypts, in pieces.
fn pass(cipher: &Cipher, encrypt: bool, key: &[u8], iv: &[u8], pieces: &[&[u8]]) -> Result<Vec<u8>, Refused> {
    let mut context = cipher.context(encrypt, key, iv)?;
    let mut out = Vec::new();
    for piece in pieces {
        out.extend(context.update(piece)?);
    }
    out.extend(context.finish()?);
    Ok(out)
}

#[test]
fn any_length_in_any_pieces_is_as_the_default_providers() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    let mut random = Random::new(1);
    for name in CIPHERS {
        let (ours, theirs) = (ours.cipher(name).unwrap(), theirs.cipher(name).unwrap());
        for round in 0..200 {
            let key = random.bytes(theirs.key_len());
            let iv = random.bytes(theirs.iv_len());
            let len = if round < 100 { round } else { random.below(5000) };
            let plain = random.bytes(if is_xts(name) { len + 16 } else { len });
            let sealed = pass(&theirs, true, &key, &iv, &[&plain]).unwrap();
            for (encrypt, from, to) in [(true, &plain, &sealed), (false, &sealed, &plain)] {
                let (mut a, mut b) = (random.below(from.len() + 1), random.below(from.len() + 1));
                if a > b {
                    (a, b) = (b, a);
                }
                let pieces: &[&[u8]] =
                    if is_xts(name) { &[from] } else { &[&from[..a], &from[a..b], &from[b..]] };
                let passed = pass(&ours, encrypt, &key, &iv, pieces);
                assert_eq!(passed.as_ref(), Ok(to), "{name}, {len} bytes, cut at {a} and {b}");
            }
        }
    }
}

#[test]
fn names_and_natures_are_openssls() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    for name in CIPHERS {
        let (ours, theirs) = (ours.cipher(name).unwrap(), theirs.cipher(name).unwrap());
        let nature =
            |cipher: &Cipher| (cipher.nature(), cipher.key_len(), cipher.iv_len(), cipher.block_len());
        assert_eq!(nature(&ours), nature(&theirs), "{name}");
    }
    for (name, aliases) in ALIASES {
        for alias in *aliases {
            let alias = std::ffi::CString::new(*alias).unwrap();
            assert!(ours.cipher(name).unwrap().is_a(&alias), "{name} {alias:?}");
            assert!(theirs.cipher(name).unwrap().is_a(&alias), "{name} {alias:?}");
        }
    }
}

#[test]
fn properties_say_where_a_key_is_and_what_is_legacy() {
    let ours = Library::millstream();
    assert!(ours.cipher_with("AES-128-CBC", c"provider=millstream,millstream.isolated=no").is_some());
    assert!(ours.cipher_with("AES-128-CBC", c"millstream.isolated=yes").is_none());
    assert!(ours.cipher_with("AES-128-CBC", c"provider!=fips,millstream.accelerated=yes").is_some());
    assert!(ours.cipher_with("DES-CBC", c"millstream.legacy=yes").is_some());
    assert!(ours.cipher_with("RC4", c"millstream.legacy=yes").is_some());
    assert!(ours.cipher_with("DES-EDE3-CBC", c"millstream.legacy=yes").is_none());
}

/// A step of a script: output, or an error.
type Outcome = Result<Vec<u8>, u64>;

/// The same steps on one side.
struct Side {
    ours: bool,
    cipher: Cipher,
    context: CipherContext,
}

/// One step; some are senseless, and must fail on both sides alike.
#[derive(Clone, Debug)]
enum Step {
    Init { encrypt: bool, key: Option<Vec<u8>>, iv: Option<Vec<u8>> },
    Update(Vec<u8>),
    InPlace(Vec<u8>),
    Cipher(Vec<u8>),
    Finish,
    Copy,
    Padding(bool),
    Ask(&'static std::ffi::CStr),
    AskIv(&'static std::ffi::CStr),
}

impl Side {
    fn new(library: &Library, name: &str, ours: bool) -> Self {
        Side { ours, cipher: library.cipher(name).unwrap(), context: CipherContext::new() }
    }

    fn take(&mut self, step: &Step) -> Outcome {
        let iv_len = self.cipher.iv_len();
        let context = &mut self.context;
        let outcome = match step {
            Step::Init { encrypt, key, iv } => {
                let (cipher, encrypt) = (Some(&self.cipher), *encrypt);
                context.init(cipher, encrypt, key.as_deref(), iv.as_deref(), &[]).map(|()| Vec::new())
            }
            Step::Update(data) => context.update(data),
            // In place the default provider overwrites input that it has not read when it holds a part of a block.
            Step::InPlace(data) if !self.ours => context.update(data),
            Step::InPlace(data) => {
                let mut buffer = [data.as_slice(), &[0; 64]].concat();
                let at = buffer.as_mut_ptr();
                // SAFETY: room for 64 bytes more.
                let written = unsafe { context.update_raw(at, at, data.len()) };
                written.map(|n| buffer[..n].to_vec())
            }
            Step::Cipher(data) => {
                let (returned, out) = context.cipher(data);
                Ok([returned.to_ne_bytes().as_slice(), &out].concat())
            }
            Step::Finish => context.finish(),
            Step::Copy => context.copy().map(|copy| {
                *context = copy;
                Vec::new()
            }),
            Step::Padding(padding) => {
                context.set_padding(*padding);
                Ok(Vec::new())
            }
            Step::Ask(key) => context.number(key).map(|n| n.to_ne_bytes().to_vec()),
            Step::AskIv(key) => context.octets(key, iv_len),
        };
        support::refused();
        outcome.map_err(|refused| refused.code & 0x7f_ffff)
    }
}

/// A step that the cipher may be asked for. What leaves the default provider in a state nobody may rely on is left out.
fn any_step(random: &mut Random, cipher: &Cipher, name: &str, whole: bool) -> Step {
    let encrypt = random.below(2) == 0;
    let len = match (random.below(4), is_xts(name)) {
        (0, _) => random.below(20),
        (1, _) => 16 * random.below(20),
        (_, true) => 16 + random.below(200),
        _ => random.below(200),
    };
    let data = random.bytes(if whole { len - len % 16 } else { len });
    match random.below(24) {
        0 => Step::Init { encrypt, key: Some(random.bytes(cipher.key_len())), iv: None },
        1 => Step::Init { encrypt, key: None, iv: Some(random.bytes(cipher.iv_len().max(16))) },
        2 => Step::Init { encrypt, key: None, iv: None },
        3..6 => {
            let iv = Some(random.bytes(cipher.iv_len().max(16)));
            Step::Init { encrypt, key: Some(random.bytes(cipher.key_len())), iv }
        }
        // OpenSSL 3.0.19 calls a null pointer when a copied XTS context is used for the other direction.
        6 if !is_xts(name) => Step::Copy,
        7 => Step::Padding(encrypt),
        8 => Step::Ask(c"num"),
        9 => Step::AskIv(c"iv"),
        10 => Step::AskIv(c"updated-iv"),
        11 => Step::Ask([c"keylen", c"ivlen", c"padding"][random.below(3)]),
        12 => Step::Finish,
        13 => Step::Cipher(data[..data.len() & !15].to_vec()),
        14..18 => Step::InPlace(data),
        _ => Step::Update(data),
    }
}

#[test]
fn any_script_has_the_default_providers_outcomes() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    let mut random = Random::new(2);
    for name in CIPHERS {
        for script in 0..150 {
            let mut sides = [Side::new(&ours, name, true), Side::new(&theirs, name, false)];
            let mut steps = Vec::new();
            let key = Some(random.bytes(sides[0].cipher.key_len()));
            let iv = Some(random.bytes(sides[0].cipher.iv_len().max(16)));
            let mut step = Step::Init { encrypt: script % 2 == 0, key, iv };
            for _ in 0..30 {
                steps.push(step.clone());
                let [mine, other] = sides.each_mut().map(|side| side.take(&step));
                if mine != other {
                    let last = &steps[steps.len().saturating_sub(6)..];
                    panic!("{name}: {mine:x?} where the default provider has {other:x?}, after {last:x?}");
                }
                // After a failure a message is over.
                step = match mine {
                    Err(_) => Step::Init {
                        encrypt: random.below(2) == 0,
                        key: Some(random.bytes(sides[0].cipher.key_len())),
                        iv: Some(random.bytes(sides[0].cipher.iv_len().max(16))),
                    },
                    Ok(_) => any_step(&mut random, &sides[0].cipher, name, script % 3 == 0),
                };
            }
        }
    }
}

#[test]
fn output_may_lie_anywhere_over_the_input() {
    let ours = Library::millstream();
    let mut random = Random::new(3);
    for name in CIPHERS.iter().filter(|name| !is_xts(name)) {
        let cipher = ours.cipher(name).unwrap();
        let (key, iv) = (random.bytes(cipher.key_len()), random.bytes(cipher.iv_len()));
        let plain = random.bytes(160);
        let expected = cipher.context(true, &key, &iv).unwrap().update(&plain).unwrap();
        for shift in [1, 7, 16, 40] {
            for later in [false, true] {
                let mut buffer = vec![0; 400];
                let (from, to) = if later { (0, shift) } else { (shift, 0) };
                buffer[from..from + plain.len()].copy_from_slice(&plain);
                let mut context = cipher.context(true, &key, &iv).unwrap();
                let at = buffer.as_mut_ptr();
                // SAFETY: both inside the buffer, with room for a block more.
                let n = unsafe { context.update_raw(at.add(to), at.add(from), plain.len()) }.unwrap();
                assert_eq!(buffer[to..to + n], expected, "{name} from {from} to {to}");
            }
        }
    }
}

#[test]
fn a_position_inside_a_block_can_be_saved_and_set() {
    let ours = Library::millstream();
    for name in ["AES-128-CFB", "DES-EDE3-CFB"] {
        let cipher = ours.cipher(name).unwrap();
        let (key, iv) = (vec![7; cipher.key_len()], vec![9; cipher.iv_len()]);
        let mut whole = cipher.context(true, &key, &iv).unwrap();
        let first = whole.update(b"beginning").unwrap();
        assert_eq!(first.len(), 9);
        let (position, state) =
            (whole.number(c"num").unwrap(), whole.octets(c"updated-iv", iv.len()).unwrap());
        assert_eq!(position, 9 % iv.len());
        let mut later = cipher.context(true, &key, &state).unwrap();
        later.set_number(c"num", position as u32).unwrap();
        assert_eq!(later.update(b"and the end").unwrap(), whole.update(b"and the end").unwrap(), "{name}");
    }
    let mut context = ours.cipher("AES-128-CTR").unwrap().context(true, &[1; 16], &[2; 16]).unwrap();
    assert!(context.set_number(c"num", 16).is_err());
}

#[test]
fn rc4_takes_keys_of_other_lengths() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    let outputs = [ours, theirs].map(|library| {
        let cipher = library.cipher("RC4").unwrap();
        let mut context = CipherContext::new();
        context.init(Some(&cipher), true, None, None, &[]).unwrap();
        context.set(&[Param::size(c"keylen", &mut 7)]).unwrap();
        assert_eq!(context.number(c"keylen"), Ok(7));
        assert_eq!(context.update(b"no key yet").unwrap_err().code & 0x7f_ffff, 114);
        context.init(None, true, Some(b"7 bytes"), None, &[]).unwrap();
        context.update(b"of any length").unwrap()
    });
    assert_eq!(outputs[0], outputs[1]);
}

#[test]
fn equal_halves_are_no_keys_for_xts() {
    for library in [Library::millstream(), Library::openssl()] {
        let cipher = library.cipher("AES-128-XTS").unwrap();
        let refused = cipher.context(true, &[5; 32], &[0; 16]).map(|_| ()).unwrap_err();
        assert!(refused.text.ends_with("xts duplicated keys"), "{}", refused.text);
    }
}

/// Data that was written under such keys before anybody refused them stays readable; nothing new is written.
#[test]
fn equal_halves_decrypt_what_is_old() {
    let old: Vec<u8> = (0..512_u32).map(|i| (i * 3) as u8).collect();
    for (name, key) in [("AES-128-XTS", vec![5; 32]), ("AES-256-XTS", vec![6; 64])] {
        let outputs = [Library::millstream(), Library::openssl()].map(|library| {
            let cipher = library.cipher(name).unwrap();
            cipher.context(false, &key, &[1; 16]).unwrap().update(&old).unwrap()
        });
        assert!(outputs[0] == outputs[1] && outputs[0] != old, "{name}");
    }
    let library = Library::millstream();
    let cipher = library.cipher("AES-128-XTS").unwrap();
    let mut context = cipher.context(false, &[5; 32], &[1; 16]).unwrap();
    context.init(None, true, None, Some(&[1; 16]), &[]).unwrap();
    let refused = context.update(&old).unwrap_err();
    assert!(refused.text.ends_with("xts duplicated keys"), "{}", refused.text);
}

#[test]
fn xts_refuses_data_units_that_are_too_long() {
    let data = vec![0; (16 << 20) + 1];
    for library in [Library::millstream(), Library::openssl()] {
        let cipher = library.cipher("AES-256-XTS").unwrap();
        let key: Vec<u8> = (0..64).collect();
        let refused = cipher.context(true, &key, &[0; 16]).unwrap().update(&data).unwrap_err();
        assert!(refused.text.ends_with("xts data unit is too large"), "{}", refused.text);
    }
}

#[test]
fn random_keys_for_des_have_parity() {
    let ours = Library::millstream();
    for name in ["DES-CBC", "DES-EDE-CBC", "DES-EDE3-CFB"] {
        let cipher = ours.cipher(name).unwrap();
        let mut context = CipherContext::new();
        context.init(Some(&cipher), true, None, None, &[]).unwrap();
        let mut keys = [[0; 24]; 2];
        for key in &mut keys {
            // SAFETY: a place for the longest key.
            support::done(unsafe {
                (support::libcrypto().EVP_CIPHER_CTX_rand_key)(context.0, key.as_mut_ptr())
            })
            .unwrap();
            assert!(
                key[..cipher.key_len()].iter().all(|byte| byte.count_ones() % 2 == 1),
                "{name}: {key:x?}"
            );
        }
        assert_ne!(keys[0], keys[1]);
    }
}
