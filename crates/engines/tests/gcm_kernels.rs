//! Every AES-GCM kernel against RustCrypto and OpenSSL, at every length and place where one could
//! go wrong.

use aes_gcm::AesGcm;
use aes_gcm::aead::consts::{U12, U16};
use aes_gcm::aead::{KeyInit, Payload};
use aes_gcm::aes::cipher::BlockCipherEncrypt;
use aes_gcm::aes::{Aes128, Aes192, Aes256};
use millstream_cpu::Features;
use millstream_engines::aead::{Aead, AeadState, AeadStream};
use millstream_engines::gcm::{GCM, Gcm, GcmOps};
use millstream_engines::{Bound, Engine, Error, InOut};
use millstream_testkit::{Guarded, Ran, Random, feature_subsets};

const KEYS: [usize; 3] = [16, 24, 32];

/// The widest kernel takes 32 blocks at a time; the second batch runs beside the first one's GHASH.
const TWO_BATCHES_AND_FOUR_BLOCKS: usize = 2 * 32 * 16 + 4 * 16;

fn kernels() -> impl Iterator<Item = Bound<GcmOps>> {
    GCM.available(Features::hardware())
}

/// Ciphertext and tag as RustCrypto makes them.
fn reference(key: &[u8], nonce: &[u8], aad: &[u8], msg: &[u8]) -> (Vec<u8>, [u8; 16]) {
    fn seal<C: KeyInit + aes_gcm::aead::Aead>(key: &[u8], nonce: &[u8], aad: &[u8], msg: &[u8]) -> Vec<u8> {
        let cipher = C::new_from_slice(key).unwrap();
        cipher.encrypt(nonce.try_into().unwrap(), Payload { msg, aad }).unwrap()
    }
    let seal = match (key.len(), nonce.len()) {
        (16, 12) => seal::<AesGcm<Aes128, U12>>,
        (24, 12) => seal::<AesGcm<Aes192, U12>>,
        (32, 12) => seal::<AesGcm<Aes256, U12>>,
        (16, 16) => seal::<AesGcm<Aes128, U16>>,
        (24, 16) => seal::<AesGcm<Aes192, U16>>,
        _ => seal::<AesGcm<Aes256, U16>>,
    };
    let mut sealed = seal(key, nonce, aad, msg);
    let tag = sealed.split_off(msg.len());
    (sealed, tag.try_into().unwrap())
}

/// Seals in place and opens into another buffer, and looks at all of it.
fn check(gcm: &Gcm, nonce: &[u8], aad: &[u8], plain: &[u8], expected: &(Vec<u8>, [u8; 16])) {
    let at = || {
        let name = gcm.kernel().name;
        format!("{name}: nonce {}, associated data {}, data {}", nonce.len(), aad.len(), plain.len())
    };
    let (mut buffer, mut tag) = (plain.to_vec(), [0; 16]);
    gcm.seal(nonce, aad, InOut::in_place(&mut buffer), &mut tag).unwrap();
    assert!((&buffer, tag) == (&expected.0, expected.1), "{}", at());
    let mut opened = vec![0xee; plain.len()];
    let result = gcm.open(nonce, aad, InOut::separate(&buffer, &mut opened).unwrap(), &tag);
    assert_eq!(result, Ok(()), "{}", at());
    assert!(opened == plain, "{}", at());
}

#[test]
fn every_length() {
    let mut random = Random::new(1);
    let mut ran = Ran::new("aes-gcm every length");
    let plain = random.bytes(TWO_BATCHES_AND_FOUR_BLOCKS);
    for key_len in KEYS {
        let (key, nonce, aad) = (random.bytes(key_len), random.bytes(12), random.bytes(13));
        let keyed: Vec<Gcm> = kernels().map(|kernel| Gcm::with_kernel(kernel, &key).unwrap()).collect();
        for len in 0..=plain.len() {
            let expected = reference(&key, &nonce, &aad, &plain[..len]);
            for gcm in &keyed {
                // The slow kernel has no batches of its own: past 8 blocks a few lengths will do.
                if gcm.kernel().name == "portable" && len > 128 && !len.is_multiple_of(61) {
                    continue;
                }
                check(gcm, &nonce, &aad, &plain[..len], &expected);
                ran.kernel(gcm.kernel().name);
            }
        }
    }
    ran.missing((&GCM).kernels().into_iter().map(|k| (k.name, k.requires)));
    ran.at_least(1);
}

#[test]
fn every_length_of_associated_data() {
    let mut random = Random::new(2);
    let (key, nonce, all) = (random.bytes(16), random.bytes(12), random.bytes(1200));
    // To five blocks, then around what all powers of the hash subkey reach over, once and twice.
    for len in (0..=80).chain(560..=600).chain(1136..=1168) {
        for plain in [&[][..], &all[..20], &all[..300], &all[..700]] {
            let expected = reference(&key, &nonce, &all[..len], plain);
            for kernel in kernels() {
                check(&Gcm::with_kernel(kernel, &key).unwrap(), &nonce, &all[..len], plain, &expected);
            }
        }
    }
}

#[test]
fn every_length_of_nonce() {
    let mut random = Random::new(3);
    let (nonce, aad, plain) = (random.bytes(1200), random.bytes(20), random.bytes(70));
    for key_len in KEYS {
        let key = random.bytes(key_len);
        let portable = Gcm::new(Features::none(), &key).unwrap();
        for len in (1..=130).chain(570..=582) {
            let (mut sealed, mut tag) = (plain.clone(), [0; 16]);
            portable.seal(&nonce[..len], &aad, InOut::in_place(&mut sealed), &mut tag).unwrap();
            #[cfg(target_arch = "x86_64")]
            if len <= 128 {
                assert_eq!(openssl(&key, &nonce[..len], &aad, &plain), (sealed.clone(), tag), "nonce {len}");
            }
            for kernel in kernels() {
                let gcm = Gcm::with_kernel(kernel, &key).unwrap();
                check(&gcm, &nonce[..len], &aad, &plain, &(sealed.clone(), tag));
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn openssl(key: &[u8], nonce: &[u8], aad: &[u8], plain: &[u8]) -> (Vec<u8>, [u8; 16]) {
    use openssl::symm::{Cipher, encrypt_aead};
    let cipher = match key.len() {
        16 => Cipher::aes_128_gcm(),
        24 => Cipher::aes_192_gcm(),
        _ => Cipher::aes_256_gcm(),
    };
    let mut tag = [0; 16];
    let sealed = encrypt_aead(cipher, key, Some(nonce), aad, plain, &mut tag).unwrap();
    (sealed, tag)
}

/// SP 800-38D §6.3, step by step.
fn multiply(x: u128, y: u128) -> u128 {
    let (mut z, mut v) = (0, y);
    for i in 0..128 {
        z ^= v & 0u128.wrapping_sub(x >> (127 - i) & 1);
        v = (v >> 1) ^ ((0xe1 << 120) * (v & 1));
    }
    z
}

/// X^(2^128 - 2), which is 1/X.
fn invert(x: u128) -> u128 {
    let (mut power, mut inverse) = (x, 1 << 127);
    for _ in 1..128 {
        power = multiply(power, power);
        inverse = multiply(inverse, power);
    }
    inverse
}

/// The nonce of one block that is hashed to a given pre-counter block.
fn nonce_for(subkey: u128, j0: u128) -> [u8; 16] {
    let inverse = invert(subkey);
    multiply(multiply(j0, inverse) ^ 128, inverse).to_be_bytes()
}

/// The last 32 bits of the counter come round at every place a kernel has for them; no carry goes
/// further (SP 800-38D §6.2).
#[test]
fn counter_wraps() {
    let mut random = Random::new(4);
    let (key, plain, aad) = (random.array::<32>(), random.bytes(TWO_BATCHES_AND_FOUR_BLOCKS), [9; 12]);
    let mut block = [0; 16].into();
    Aes256::new_from_slice(&key).unwrap().encrypt_block(&mut block);
    let subkey = u128::from_be_bytes(block.into());
    for before in (0..70).chain([127, 128, 255, 256]) {
        let j0 = u128::from(random.next_u64()) << 64 | u128::from(u32::MAX - before);
        let nonce = nonce_for(subkey, j0);
        for len in [0, 16, 48, 63, 64, 300, 544, plain.len()] {
            let expected = reference(&key, &nonce, &aad, &plain[..len]);
            for kernel in kernels() {
                check(&Gcm::with_kernel(kernel, &key).unwrap(), &nonce, &aad, &plain[..len], &expected);
            }
        }
    }
}

#[test]
fn a_forgery_leaves_nothing() {
    let mut random = Random::new(5);
    let (key, nonce, aad, plain) = (random.bytes(16), random.bytes(12), random.bytes(17), random.bytes(700));
    for kernel in kernels() {
        let gcm = Gcm::with_kernel(kernel, &key).unwrap();
        for len in (0..100).chain([255, 256, 511, 512, 543, 544, 545, 700]) {
            let (mut sealed, mut tag) = (plain[..len].to_vec(), [0; 16]);
            gcm.seal(&nonce, &aad, InOut::in_place(&mut sealed), &mut tag).unwrap();
            for bit in [0, 7, 63, 64, 100, 127] {
                let mut bad = tag;
                bad[bit / 8] ^= 1 << (bit % 8);
                let mut buffer = sealed.clone();
                let result = gcm.open(&nonce, &aad, InOut::in_place(&mut buffer), &bad);
                assert_eq!(result, Err(Error::Authentication), "{kernel:?}, {len} bytes, bit {bit}");
                assert!(buffer == sealed, "{kernel:?}: {len} bytes in place");
            }
            let mut other_aad = aad.clone();
            other_aad[16] ^= 0x80;
            let mut out = vec![0xee; len];
            let result = gcm.open(&nonce, &other_aad, InOut::separate(&sealed, &mut out).unwrap(), &tag);
            assert_eq!(result, Err(Error::Authentication), "{kernel:?}, {len} bytes");
            assert!(out.iter().all(|&b| b == 0), "{kernel:?}: {len} bytes apart");
            if len > 0 {
                sealed[len - 1] ^= 1;
                let result = gcm.open(&nonce, &aad, InOut::separate(&sealed, &mut out).unwrap(), &tag);
                assert_eq!(result, Err(Error::Authentication), "{kernel:?}, {len} bytes, last changed");
            }
        }
    }
}

/// A sender who cuts a tag does not choose how much of it is compared: a right beginning of it is refused.
#[test]
fn a_tag_is_as_long_as_the_caller_expects() {
    for kernel in kernels() {
        let gcm = Gcm::with_kernel(kernel, &[1; 32]).unwrap();
        let (mut sealed, mut tag) = (*b"data", [0; 16]);
        gcm.seal(&[2; 12], b"", InOut::in_place(&mut sealed), &mut tag).unwrap();
        let lengths = [4, 8, 12, 13, 14, 15, 16];
        for (expected, given) in lengths.into_iter().flat_map(|e| lengths.map(|g| (e, g))) {
            let mut buffer = sealed;
            let data = InOut::in_place(&mut buffer);
            let result = gcm.open_cut(&[2; 12], b"", data, &tag[..given], expected);
            let mut stream = gcm.stream(&[2; 12]).unwrap();
            stream.decrypt_unverified(InOut::in_place(&mut sealed.clone())).unwrap();
            assert_eq!(stream.verify_cut(&tag[..given], expected), result);
            if given == expected {
                assert_eq!((result, &buffer), (Ok(()), b"data"));
            } else {
                assert!(matches!(result, Err(Error::TagLength { given: g, .. }) if g == given), "{result:?}");
                assert_eq!(buffer, sealed, "nothing was written");
            }
        }
    }
}

#[test]
fn short_tags() {
    for kernel in kernels() {
        let gcm = Gcm::with_kernel(kernel, &[1; 24]).unwrap();
        let (mut sealed, mut tag) = (*b"data", [0; 16]);
        gcm.seal(&[2; 12], b"", InOut::in_place(&mut sealed), &mut tag).unwrap();
        for len in 0..=17 {
            let given = &[&tag[..], &[0]].concat()[..len];
            let mut out = [0; 4];
            let data = InOut::separate(&sealed, &mut out).unwrap();
            let result = gcm.open_cut(&[2; 12], b"", data, given, len);
            let mut stream = gcm.stream(&[2; 12]).unwrap();
            stream.decrypt_unverified(InOut::in_place(&mut sealed.clone())).unwrap();
            assert_eq!(stream.verify_cut(given, len), result, "{kernel:?}, {len} bytes");
            if matches!(len, 4 | 8 | 12..=16) {
                assert_eq!((result, &out), (Ok(()), b"data"), "{kernel:?}, {len} bytes");
                let mut bad = given.to_vec();
                bad[len - 1] ^= 1;
                let data = InOut::separate(&sealed, &mut out).unwrap();
                let result = gcm.open_cut(&[2; 12], b"", data, &bad, len);
                assert_eq!(result, Err(Error::Authentication), "{kernel:?}, {len} bytes");
            } else {
                assert!(matches!(result, Err(Error::TagLength { given, .. }) if given == len), "{len} bytes");
            }
        }
    }
}

#[test]
fn what_is_refused() {
    for len in [0, 15, 17, 23, 25, 31, 33, 64] {
        let error = Gcm::new(Features::hardware(), &vec![0; len]).err();
        assert!(matches!(error, Some(Error::KeyLength { given, .. }) if given == len), "{len} bytes");
    }
    let gcm = Gcm::new(Features::hardware(), &[0; 16]).unwrap();
    let mut buffer = *b"data";
    let refused = gcm.seal(&[], b"", InOut::in_place(&mut buffer), &mut [0; 16]);
    assert!(matches!(refused, Err(Error::NonceLength { given: 0, .. })));
    assert_eq!(&buffer, b"data");
    assert!(gcm.stream(&[]).is_err());

    let mut stream = gcm.stream(&[0; 12]).unwrap();
    stream.aad(b"header").unwrap();
    stream.encrypt(InOut::in_place(&mut buffer)).unwrap();
    assert!(matches!(stream.aad(b"more"), Err(Error::Order { .. })));
    assert!(matches!(stream.decrypt_unverified(InOut::in_place(&mut buffer)), Err(Error::Order { .. })));
}

/// Key and state side by side, and two ends of one beginning.
#[test]
fn a_key_in_anothers_place_is_as_if_new() {
    let mut random = Random::new(9);
    for kernel in kernels() {
        let mut gcm = Gcm::with_kernel(kernel, &random.bytes(32)).unwrap();
        for len in [32, 16, 16, 24, 24, 17, 16, 32, 0, 32] {
            let (key, nonce, plain) = (random.bytes(len), random.bytes(12), random.bytes(2000));
            let set = gcm.rekey(&key);
            let Ok(new) = Gcm::with_kernel(kernel, &key) else {
                assert!(matches!(set, Err(Error::KeyLength { given, .. }) if given == len));
                continue;
            };
            set.unwrap();
            let passed = [&gcm, &new].map(|gcm| {
                let (mut data, mut tag) = (plain.clone(), [0; 16]);
                gcm.seal(&nonce, &nonce, InOut::in_place(&mut data), &mut tag).unwrap();
                (data, tag)
            });
            assert_eq!(passed[0], passed[1], "{} {len}", kernel.kernel().name);
            assert_eq!(passed[0], reference(&key, &nonce, &nonce, &plain));
        }
    }
}

#[test]
fn a_copy_of_a_state_goes_its_own_way() {
    let mut random = Random::new(5);
    let (key, aad, text) = (random.array::<16>(), random.bytes(21), random.bytes(211));
    for kernel in GCM.available(Features::hardware()) {
        let gcm = Gcm::with_kernel(kernel, &key).unwrap();
        for (at, nonce) in (0..text.len()).zip((1..=17).map(|len| vec![9; len]).cycle()) {
            let mut state = gcm.begin(&nonce).unwrap();
            state.aad(&gcm, &aad[..at % 21]).unwrap();
            let mut other = state.clone();
            other.aad(&gcm, b"of its own").unwrap();
            let mut sealed = text.clone();
            state.encrypt(&gcm, InOut::in_place(&mut sealed[..at])).unwrap();
            let mut cut = state.clone();
            assert_eq!(cut.tag(&gcm), state.tag(&gcm), "asking changes nothing");
            state.encrypt(&gcm, InOut::in_place(&mut sealed[at..])).unwrap();
            cut.encrypt(&gcm, InOut::in_place(&mut [1; 3])).unwrap();

            let (mut whole, mut tag) = (text.clone(), [0; 16]);
            gcm.seal(&nonce, &aad[..at % 21], InOut::in_place(&mut whole), &mut tag).unwrap();
            assert_eq!((&sealed, state.tag(&gcm)), (&whole, tag), "{kernel:?} at {at}");
            assert_eq!(state.verify_cut(&gcm, &tag[..12], 12), Ok(()));
            assert_eq!(state.verify(&gcm, &cut.tag(&gcm)), Err(Error::Authentication));
            assert_eq!(state.verify(&gcm, &other.tag(&gcm)), Err(Error::Authentication));
        }
    }
}

/// A message in pieces that end at the given places, sealed or opened.
fn in_pieces(
    gcm: &Gcm,
    nonce: &[u8],
    aad: &[u8],
    data: &[u8],
    ends: &[usize],
    seal: bool,
) -> (Vec<u8>, [u8; 16]) {
    let mut out = vec![0; data.len()];
    let mut stream = gcm.stream(nonce).unwrap();
    let mut start = 0;
    for &end in ends.iter().chain([&usize::MAX]) {
        let end = end.min(aad.len());
        stream.aad(&aad[start..end.max(start)]).unwrap();
        start = end.max(start);
    }
    start = 0;
    for &end in ends.iter().chain([&usize::MAX]) {
        let end = end.min(data.len()).max(start);
        let pass = InOut::separate(&data[start..end], &mut out[start..end]).unwrap();
        if seal { stream.encrypt(pass) } else { stream.decrypt_unverified(pass) }.unwrap();
        start = end;
    }
    (out, stream.tag())
}

#[test]
fn every_split() {
    let mut random = Random::new(6);
    let mut ran = Ran::new("aes-gcm every split");
    for (key_len, len) in [(16, 84), (24, 70), (32, 1100)] {
        let (key, nonce, aad, plain) =
            (random.bytes(key_len), random.bytes(12), random.bytes(50), random.bytes(len));
        let expected = reference(&key, &nonce, &aad, &plain);
        for kernel in kernels() {
            let gcm = Gcm::with_kernel(kernel, &key).unwrap();
            for split in 0..=plain.len() {
                let sealed = in_pieces(&gcm, &nonce, &aad, &plain, &[split], true);
                assert!(sealed == expected, "{kernel:?}: {split} of {len}");
                let opened = in_pieces(&gcm, &nonce, &aad, &expected.0, &[split], false);
                assert!(opened == (plain.clone(), expected.1), "{kernel:?}: {split} of {len}");
                ran.kernel(kernel.kernel().name);
            }
            for _ in 0..50 {
                let mut ends: Vec<usize> = (0..6).map(|_| random.below(len)).collect();
                ends.sort_unstable();
                let sealed = in_pieces(&gcm, &nonce, &aad, &plain, &ends, true);
                assert!(sealed == expected, "{kernel:?}: {ends:?} of {len}");
            }
            let mut stream = gcm.stream(&nonce).unwrap();
            stream.aad(&aad).unwrap();
            stream.decrypt_unverified(InOut::in_place(&mut expected.0.clone())).unwrap();
            assert_eq!(stream.verify(&expected.1), Ok(()), "{kernel:?}");
        }
    }
    ran.at_least(1);
}

#[test]
fn guard_pages_and_unaligned_buffers() {
    let mut random = Random::new(7);
    let (key, nonce, plain) = (random.bytes(32), random.bytes(12), random.bytes(1100));
    type Place = fn(&[u8]) -> Guarded;
    let places: [Place; 2] = [Guarded::at_end, Guarded::at_start];
    for len in (0..=130).chain([255, 257, 511, 513, 543, 544, 545, 600, 1023, 1025, 1100]) {
        let aad = &plain[..len % 40];
        let expected = reference(&key, &nonce, aad, &plain[..len]);
        for place in places {
            let (input, mut output) = (place(&plain[..len]), place(&vec![0; len]));
            let (nonce, aad) = (place(&nonce), place(aad));
            for kernel in kernels() {
                let gcm = Gcm::with_kernel(kernel, &key).unwrap();
                let mut tag = [0; 16];
                gcm.seal(&nonce, &aad, InOut::separate(&input, &mut output).unwrap(), &mut tag).unwrap();
                assert!((&*output, tag) == (&expected.0[..], expected.1), "{kernel:?}: {len} bytes");
                let tag = place(&tag);
                gcm.open(&nonce, &aad, InOut::in_place(&mut output), tag.first_chunk().unwrap()).unwrap();
                assert!(*output == *input, "{kernel:?}: {len} bytes");
            }
        }
    }
    for offset in 1..64 {
        let mut buffer = vec![0; 1200];
        buffer[offset..offset + 1100].copy_from_slice(&plain);
        let expected = reference(&key, &nonce, b"", &plain);
        for kernel in kernels() {
            let gcm = Gcm::with_kernel(kernel, &key).unwrap();
            let mut tag = [0; 16];
            gcm.seal(&nonce, b"", InOut::in_place(&mut buffer[offset..offset + 1100]), &mut tag).unwrap();
            assert!(
                (&buffer[offset..offset + 1100], tag) == (&expected.0[..], expected.1),
                "{kernel:?} {offset}"
            );
            gcm.open(&nonce, b"", InOut::in_place(&mut buffer[offset..offset + 1100]), &tag).unwrap();
            assert!(
                buffer[..offset].iter().chain(&buffer[offset + 1100..]).all(|&b| b == 0),
                "{kernel:?} {offset}"
            );
        }
    }
}

/// What one kernel seals every other opens; random lengths of everything.
#[test]
fn kernels_agree() {
    let mut random = Random::new(8);
    for _ in 0..150 {
        let key = random.bytes([16, 24, 32][random.clone().below(3)]);
        let len = random.below(1700);
        let (nonce_len, aad_len) = (1 + random.below(40), random.below(90));
        let (nonce, aad, plain) = (random.bytes(nonce_len), random.bytes(aad_len), random.bytes(len));
        for a in kernels() {
            let (mut sealed, mut tag) = (plain.clone(), [0; 16]);
            let gcm = Gcm::with_kernel(a, &key).unwrap();
            gcm.seal(&nonce, &aad, InOut::in_place(&mut sealed), &mut tag).unwrap();
            #[cfg(target_arch = "x86_64")]
            assert!(openssl(&key, &nonce, &aad, &plain) == (sealed.clone(), tag), "{a:?}: {len} bytes");
            for b in kernels() {
                let mut opened = sealed.clone();
                let gcm = Gcm::with_kernel(b, &key).unwrap();
                let result = gcm.open(&nonce, &aad, InOut::in_place(&mut opened), &tag);
                assert!(result.is_ok() && opened == plain, "{a:?} to {b:?}: {len} bytes");
            }
        }
    }
}

#[test]
fn every_subset_of_features() {
    let mut random = Random::new(9);
    let (key, nonce, aad, plain) = (random.bytes(16), random.bytes(12), random.bytes(12), random.bytes(600));
    let expected = reference(&key, &nonce, &aad, &plain);
    let mut ran = Ran::new("aes-gcm feature subsets");
    for features in feature_subsets((&GCM).kernels().into_iter().map(|k| k.requires)) {
        let gcm = Gcm::new(features, &key).unwrap();
        assert!(features.contains(gcm.kernel().requires));
        check(&gcm, &nonce, &aad, &plain, &expected);
        ran.kernel(gcm.kernel().name);
    }
    ran.at_least(kernels().count());
}

/// Small enough for an interpreter: every path of every kernel once.
#[test]
fn miri_small() {
    let plain: Vec<u8> = (0..1100u32).map(|i| i as u8).collect();
    let gcms: Vec<Gcm> = kernels().map(|kernel| Gcm::with_kernel(kernel, &[3; 16]).unwrap()).collect();
    let mut ran = Ran::new("aes-gcm");
    let in_two = reference(&[3; 16], &[5; 12], b"header", &plain[..100]);
    for gcm in &gcms {
        let pieces = in_pieces(gcm, &[5; 12], b"header", &plain[..100], &[21, 70], true);
        assert!(pieces == in_two, "{}", gcm.kernel().name);
        ran.kernel(gcm.kernel().name);
    }
    for len in [0, 1, 15, 16, 33, 48, 64, 65, 130, 260, 545, 1100] {
        // Of lengths that take the same path an interpreter takes one.
        if cfg!(miri) && [1, 16, 48, 65, 545].contains(&len) {
            continue;
        }
        let expected = reference(&[3; 16], &[5; 12], &plain[..len % 37], &plain[..len]);
        for gcm in &gcms {
            // Bitsliced, at a tenth of a second a block in Miri, and one path for all lengths.
            if cfg!(miri) && gcm.kernel().name == "portable" && len > 33 {
                continue;
            }
            check(gcm, &[5; 12], &plain[..len % 37], &plain[..len], &expected);
            ran.kernel(gcm.kernel().name);
        }
    }
    ran.missing((&GCM).kernels().into_iter().map(|k| (k.name, k.requires)));
    ran.at_least(gcms.len());
}
