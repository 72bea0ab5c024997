//! AES modes against a reading of the standards, against OpenSSL, and against themselves: every
//! kernel, every length, every split.

mod aes_common;

use aes_common::{LIMIT, MODES, Mode, Reference, kernels};
use millstream_cpu::Features;
use millstream_engines::aes::{CBC, CFB, CMAC, CTR, Cbc, Cfb, Cmac, Ctr, ECB, Ecb, XTS, Xts};
use millstream_engines::modes::{BlockMode, BlockStream, ByteStream, Direction, Padding, StreamMode};
use millstream_engines::{Engine, Error, InOut, engines};
use millstream_testkit::{Guarded, Ran, Random, feature_subsets};

const DIRECTIONS: [Direction; 2] = [Direction::Encrypt, Direction::Decrypt];

/// How many of a table's kernels this processor can run.
fn runnable(table: &dyn Engine) -> usize {
    table.kernels().into_iter().filter(|k| Features::hardware().contains(k.requires)).count()
}

/// In place, and from one odd address to another.
fn both_ways(run: &dyn Fn(InOut<'_>), data: &[u8], expected: &[u8], what: &str) {
    let mut buffer = data.to_vec();
    run(InOut::in_place(&mut buffer));
    assert!(buffer == expected, "in place: {what}");
    let mut input = vec![0; data.len() + 1];
    input[1..].copy_from_slice(data);
    let mut output = vec![0; data.len() + 7];
    run(InOut::separate(&input[1..], &mut output[3..3 + data.len()]).unwrap());
    assert!(output[3..3 + data.len()] == *expected, "separate: {what}");
    assert!(output[..3] == [0; 3] && output[3 + data.len()..] == [0; 4], "outside: {what}");
}

fn lengths(mode: &Mode) -> impl Iterator<Item = usize> {
    let step = mode.step;
    (mode.min..=LIMIT).chain([1024, 1039, 1600, 2100]).filter(move |len| len % step == 0)
}

#[test]
fn every_length_on_every_kernel() {
    for mode in MODES {
        let mut ran = Ran::new(mode.name);
        let mut random = Random::new(3);
        for &key_len in mode.keys {
            let key = random.bytes(key_len);
            let iv = random.array();
            let reference = Reference::new(&key);
            let kernels = kernels(mode, Features::hardware(), &key);
            let data = random.bytes(2100);
            for len in lengths(mode) {
                for direction in DIRECTIONS {
                    let expected = reference.run(mode.name, direction, &iv, &data[..len]);
                    for kernel in &kernels {
                        let what = format!("{} {} {direction:?} {key_len} {len}", mode.name, kernel.name);
                        both_ways(&|pass| (kernel.run)(direction, &iv, pass), &data[..len], &expected, &what);
                        ran.kernel(kernel.name);
                    }
                }
            }
        }
        ran.missing(mode.table.kernels().into_iter().map(|k| (k.name, k.requires)));
        ran.at_least(runnable(mode.table));
    }
}

#[test]
fn nothing_outside_the_buffers_is_touched() {
    for mode in MODES {
        let mut random = Random::new(4);
        let key = random.bytes(mode.keys[0]);
        let iv = random.array();
        let kernels = kernels(mode, Features::hardware(), &key);
        let data = random.bytes(LIMIT);
        for len in (mode.min..=LIMIT).filter(|len| len % mode.step == 0) {
            for (input, mut output) in [
                (Guarded::at_end(&data[..len]), Guarded::at_end(&data[..len])),
                (Guarded::at_start(&data[..len]), Guarded::at_start(&data[..len])),
            ] {
                for kernel in &kernels {
                    for direction in DIRECTIONS {
                        (kernel.run)(direction, &iv, InOut::separate(&input, &mut output).unwrap());
                        (kernel.run)(direction, &iv, InOut::in_place(&mut output));
                    }
                }
            }
        }
    }
}

#[test]
fn what_one_kernel_encrypts_another_decrypts() {
    for mode in MODES {
        let mut random = Random::new(5);
        for &key_len in mode.keys {
            let key = random.bytes(key_len);
            let iv = random.array();
            let data = random.bytes(1600);
            for a in kernels(mode, Features::hardware(), &key) {
                for b in kernels(mode, Features::hardware(), &key) {
                    let mut buffer = data.clone();
                    (a.run)(Direction::Encrypt, &iv, InOut::in_place(&mut buffer));
                    (b.run)(Direction::Decrypt, &iv, InOut::in_place(&mut buffer));
                    assert!(buffer == data, "{} {} {}", mode.name, a.name, b.name);
                }
            }
        }
    }
}

#[test]
fn every_feature_subset_gives_the_same_answer() {
    let requirements = engines().iter().filter(|e| e.algorithm().name.starts_with("aes-"));
    let requirements = requirements.flat_map(|e| e.kernels()).map(|k| k.requires);
    let mut random = Random::new(6);
    let key: [u8; 32] = random.array();
    let (iv, data) = (random.array(), random.bytes(800));
    for features in feature_subsets(requirements) {
        for mode in MODES {
            let expected = Reference::new(&key).run(mode.name, Direction::Encrypt, &iv, &data);
            for kernel in kernels(mode, features, &key) {
                let mut buffer = data.clone();
                (kernel.run)(Direction::Encrypt, &iv, InOut::in_place(&mut buffer));
                assert!(buffer == expected, "{} {} {:?}", mode.name, kernel.name, features.set());
            }
            assert!(features.contains(mode.table.chosen(features).requires));
        }
        let cmac = Cmac::new(features, &key).unwrap();
        assert_eq!(cmac.mac(&data), Reference::new(&key).cmac(&data), "{:?}", features.set());
    }
}

/// The counter is one 128-bit number: 32 bits, 64 bits, all of it wrap at any place in the data.
#[test]
fn the_counter_wraps() {
    let mut random = Random::new(7);
    let key = random.bytes(16);
    let data = random.bytes(80 * 16 + 5);
    for kernel in CTR.available(Features::hardware()) {
        let ctr = Ctr::with_kernel(kernel, &key).unwrap();
        for wrap in [1u128 << 32, 1 << 64, 5 << 64, 0] {
            for before in 0..75 {
                let iv = wrap.wrapping_sub(before).to_be_bytes();
                let expected = Reference::new(&key).run("aes-ctr", Direction::Encrypt, &iv, &data);
                let mut buffer = data.clone();
                ctr.apply(&iv, InOut::in_place(&mut buffer));
                assert!(buffer == expected, "{kernel:?} {before} blocks before {wrap:x}");
                let mut chain = iv;
                ctr.blocks(Direction::Encrypt, &mut chain, InOut::in_place(&mut [0; 80 * 16]));
                assert_eq!(u128::from_be_bytes(chain), u128::from_be_bytes(iv).wrapping_add(80));
            }
        }
    }
}

/// A key that took another's place does as a new one, whatever lengths the two have; a refusal changes nothing.
#[test]
fn a_key_in_anothers_place_is_as_if_new() {
    let mut random = Random::new(8);
    for kernel in CTR.available(Features::hardware()) {
        let mut ctr = Ctr::with_kernel(kernel, &random.bytes(32)).unwrap();
        let mut last = None;
        for len in [32, 32, 16, 16, 24, 17, 32, 0, 24] {
            let (key, iv) = (random.bytes(len), random.bytes(16).try_into().unwrap());
            let set = ctr.rekey(&key);
            match Ctr::with_kernel(kernel, &key) {
                Ok(new) => last = Some(new),
                Err(_) => assert!(matches!(set, Err(Error::KeyLength { given, .. }) if given == len)),
            }
            let passed = [&ctr, last.as_ref().unwrap()].map(|ctr| {
                let mut data = [0; 500];
                ctr.apply(&iv, InOut::in_place(&mut data));
                data
            });
            assert!(passed[0] == passed[1], "{kernel:?}, {len} bytes");
        }
    }
}

/// Every way to cut 100 bytes in three around a block's ends, and every way to cut them in two.
fn byte_stream<M: StreamMode>(mode: &M, direction: Direction, expected: &[u8], iv: &[u8], data: &[u8]) {
    for i in 0..=data.len() {
        for j in [i, i + 1, i + 15, i + 16, i + 40] {
            let mut buffer = data.to_vec();
            let (a, rest) = buffer.split_at_mut(i);
            let (b, c) = rest.split_at_mut((j - i).min(data.len() - i));
            let mut stream = ByteStream::new(mode, iv, direction).unwrap();
            for piece in [a, b, c] {
                stream.update(InOut::in_place(piece));
            }
            assert!(buffer == expected, "{} {direction:?} cut at {i} and {j}", M::NAME);
        }
    }
}

#[test]
fn streams_of_bytes_may_be_cut_anywhere() {
    let mut random = Random::new(8);
    let (key, iv, data) = (random.bytes(24), random.array(), random.bytes(700));
    let reference = Reference::new(&key);
    for direction in DIRECTIONS {
        let expected = reference.run("aes-ctr", direction, &iv, &data);
        for kernel in CTR.available(Features::hardware()) {
            byte_stream(&Ctr::with_kernel(kernel, &key).unwrap(), direction, &expected, &iv, &data);
        }
        let expected = reference.run("aes-cfb128", direction, &iv, &data);
        for kernel in CFB.available(Features::hardware()) {
            byte_stream(&Cfb::with_kernel(kernel, &key).unwrap(), direction, &expected, &iv, &data);
        }
    }
    let ctr = Ctr::new(Features::hardware(), &key).unwrap();
    assert!(matches!(
        ByteStream::new(&ctr, &[0; 12], Direction::Encrypt).err(),
        Some(Error::NonceLength { given: 12, .. })
    ));
}

fn block_stream<M: BlockMode>(mode: &M, name: &str, reference: &Reference, iv: &[u8; 16], data: &[u8]) {
    let mut padded = data.to_vec();
    padded.resize(data.len() + 16 - data.len() % 16, (16 - data.len() % 16) as u8);
    let expected = reference.run(name, Direction::Encrypt, iv, &padded);
    let pass = |direction, input: &[u8], cut: usize| {
        let mut stream = BlockStream::new(mode, &iv[..M::IV], direction, Padding::Pkcs7).unwrap();
        let mut out = vec![0; input.len() + 32];
        let mut n = stream.update(&input[..cut], &mut out).unwrap();
        n += stream.update(&input[cut..], &mut out[n..]).unwrap();
        n += stream.finish(&mut out[n..]).unwrap();
        out.truncate(n);
        out
    };
    for cut in 0..=data.len() {
        assert!(pass(Direction::Encrypt, data, cut) == expected, "{name} cut at {cut}");
    }
    for cut in 0..=expected.len() {
        assert!(pass(Direction::Decrypt, &expected, cut) == data, "{name} decrypted, cut at {cut}");
    }
}

#[test]
fn streams_of_blocks_may_be_cut_anywhere() {
    let mut random = Random::new(9);
    let (key, iv, data) = (random.bytes(16), random.array(), random.bytes(601));
    let reference = Reference::new(&key);
    for len in [601, 592] {
        for kernel in CBC.available(Features::hardware()) {
            let cbc = Cbc::with_kernel(kernel, &key).unwrap();
            block_stream(&cbc, "aes-cbc", &reference, &iv, &data[..len]);
        }
        for kernel in ECB.available(Features::hardware()) {
            let ecb = Ecb::with_kernel(kernel, &key).unwrap();
            block_stream(&ecb, "aes-ecb", &reference, &iv, &data[..len]);
        }
    }
}

/// The chaining value after a call is what the next call needs.
#[test]
fn calls_continue_where_the_last_one_ended() {
    let mut random = Random::new(10);
    let (key, iv, data) = (random.bytes(32), random.array(), random.bytes(1024));
    let reference = Reference::new(&key);
    for direction in DIRECTIONS {
        let expected = reference.run("aes-cbc", direction, &iv, &data);
        for kernel in CBC.available(Features::hardware()) {
            let cbc = Cbc::with_kernel(kernel, &key).unwrap();
            for cut in (0..=1024).step_by(16) {
                let (mut buffer, mut chain) = (data.clone(), iv);
                let (a, b) = buffer.split_at_mut(cut);
                cbc.pass(direction, &mut chain, InOut::in_place(a));
                cbc.pass(direction, &mut chain, InOut::in_place(b));
                assert!(buffer == expected, "{kernel:?} {direction:?} cut at {cut}");
            }
        }
    }
}

#[test]
fn xts_refuses_what_the_standard_refuses() {
    let mut random = Random::new(11);
    let features = Features::hardware();
    for len in [0, 16, 24, 31, 33, 48, 63, 65, 128] {
        assert!(matches!(Xts::new(features, &vec![1; len]), Err(Error::KeyLength { .. })), "{len}");
    }
    for len in [32, 64] {
        assert_eq!(Xts::new(features, &vec![7; len]).err(), Some(Error::WeakKey { algorithm: "aes-xts" }));
        let mut key = vec![7; len];
        key[len - 1] = 6;
        assert!(Xts::new(features, &key).is_ok());
    }
    let xts = Xts::new(features, &random.bytes(32)).unwrap();
    let mut long = vec![0; (16 << 20) + 1];
    for len in [0, 1, 15, (16 << 20) + 1] {
        let error = xts.encrypt(&[0; 16], InOut::in_place(&mut long[..len])).unwrap_err();
        assert!(matches!(error, Error::DataLength { given, .. } if given == len as u64));
        assert_eq!(xts.decrypt(&[0; 16], InOut::in_place(&mut long[..len])), Err(error));
        assert!(long.iter().all(|&b| b == 0), "written to on error");
    }
    xts.encrypt(&[0; 16], InOut::in_place(&mut long[..16 << 20])).unwrap();
    assert_eq!(Xts::sector(0x0102)[..3], [2, 1, 0]);
}

#[test]
fn cmac_in_one_piece_and_in_many() {
    let mut ran = Ran::new("aes-cmac");
    let mut random = Random::new(12);
    for key_len in [16, 24, 32] {
        let key = random.bytes(key_len);
        let message = random.bytes(200);
        for kernel in CMAC.available(Features::hardware()) {
            let cmac = Cmac::with_kernel(kernel, &key).unwrap();
            for len in 0..=message.len() {
                let message = &message[..len];
                let tag = Reference::new(&key).cmac(message);
                let guarded = Guarded::at_end(message);
                assert_eq!(cmac.mac(&guarded), tag, "{kernel:?} {len}");
                for cut in 0..=len.min(70) {
                    let mut stream = cmac.stream();
                    stream.update(&message[..cut]);
                    stream.update(&message[cut..]);
                    assert_eq!(stream.finish(), tag, "{kernel:?} {len} cut at {cut}");
                }
                let mut stream = cmac.stream();
                message.iter().for_each(|byte| stream.update(&[*byte]));
                assert_eq!(stream.verify(&tag), Ok(()));
                ran.kernel(kernel.kernel().name);
            }
        }
    }
    ran.at_least(runnable(&&CMAC));
}

#[test]
fn cmac_takes_tags_of_4_to_16_bytes_and_no_wrong_bit() {
    let cmac = Cmac::new(Features::hardware(), &[3; 16]).unwrap();
    let tag = cmac.mac(b"message");
    for len in 0..=20 {
        let given: Vec<u8> = tag.into_iter().chain([0; 4]).take(len).collect();
        let verdict = cmac.verify(b"message", &given);
        if (4..=16).contains(&len) {
            assert_eq!(verdict, Ok(()));
            for bit in 0..8 * len {
                let mut wrong = given.clone();
                wrong[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(cmac.verify(b"message", &wrong), Err(Error::Authentication));
            }
        } else {
            assert!(matches!(verdict, Err(Error::TagLength { given, .. }) if given == len));
        }
    }
    assert_eq!(cmac.verify(b"massage", &tag), Err(Error::Authentication));
}

#[test]
fn keys_of_other_lengths_are_refused() {
    let features = Features::hardware();
    for len in (0..=64).filter(|len| ![16, 24, 32].contains(len)) {
        let key = vec![0; len];
        let refused =
            |result: Result<(), Error>| matches!(result, Err(Error::KeyLength { given, .. }) if given == len);
        assert!(refused(Ecb::new(features, &key).map(drop)));
        assert!(refused(Cbc::new(features, &key).map(drop)));
        assert!(refused(Ctr::new(features, &key).map(drop)));
        assert!(refused(Cfb::new(features, &key).map(drop)));
        assert!(refused(Cmac::new(features, &key).map(drop)));
    }
}

#[test]
fn every_kernel_passes_its_self_test_and_the_best_is_first() {
    for engine in engines().iter().filter(|e| e.algorithm().name.starts_with("aes-")) {
        let hardware = Features::hardware();
        for kernel in engine.kernels().into_iter().filter(|k| hardware.contains(k.requires)) {
            assert_eq!(engine.check(hardware, kernel.name), Some(true), "{}", kernel.name);
        }
        let last = if engine.algorithm().name.ends_with("-lanes") { "direct-x1" } else { "portable" };
        assert_eq!(engine.chosen(Features::none()).name, last);
    }
    assert_eq!(XTS.best(Features::hardware()).kernel().name, CTR.best(Features::hardware()).kernel().name);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn agrees_with_openssl() {
    use openssl::symm::{Cipher, Crypter, Mode as Way};
    let mut random = Random::new(13);
    for mode in MODES {
        for &key_len in mode.keys {
            let cipher = match (mode.name, key_len) {
                ("aes-ecb", 16) => Cipher::aes_128_ecb(),
                ("aes-ecb", 24) => Cipher::aes_192_ecb(),
                ("aes-ecb", 32) => Cipher::aes_256_ecb(),
                ("aes-cbc", 16) => Cipher::aes_128_cbc(),
                ("aes-cbc", 24) => Cipher::aes_192_cbc(),
                ("aes-cbc", 32) => Cipher::aes_256_cbc(),
                ("aes-ctr", 16) => Cipher::aes_128_ctr(),
                ("aes-ctr", 24) => Cipher::aes_192_ctr(),
                ("aes-ctr", 32) => Cipher::aes_256_ctr(),
                ("aes-cfb128", 16) => Cipher::aes_128_cfb128(),
                ("aes-cfb128", 24) => Cipher::aes_192_cfb128(),
                ("aes-cfb128", 32) => Cipher::aes_256_cfb128(),
                ("aes-xts", 32) => Cipher::aes_128_xts(),
                ("aes-xts", 64) => Cipher::aes_256_xts(),
                other => panic!("{other:?}"),
            };
            for _ in 0..20 {
                let key = random.bytes(key_len);
                let iv: [u8; 16] = random.array();
                let len = (mode.min + random.below(3000)) / mode.step * mode.step;
                let data = random.bytes(len);
                for direction in DIRECTIONS {
                    let way = if direction == Direction::Encrypt { Way::Encrypt } else { Way::Decrypt };
                    let iv_given = cipher.iv_len().map(|_| &iv[..]);
                    let mut crypter = Crypter::new(cipher, way, &key, iv_given).unwrap();
                    crypter.pad(false);
                    let mut expected = vec![0; len + 16];
                    let n = crypter.update(&data, &mut expected).unwrap();
                    assert_eq!(n, len);
                    for kernel in kernels(mode, Features::hardware(), &key) {
                        let mut buffer = data.clone();
                        (kernel.run)(direction, &iv, InOut::in_place(&mut buffer));
                        assert!(buffer == expected[..n], "{} {} {direction:?} {len}", mode.name, kernel.name);
                    }
                }
            }
        }
    }
}

/// Small enough for Miri, which runs the vector instructions one by one, and bitsliced code a
/// thousand times slower: a block in half a second. So the portable kernel and the reference take
/// short data there, and the vector kernels are held against one another beyond.
#[test]
fn miri_each_mode_on_each_kernel() {
    each_mode_on_each_kernel(0);
}

#[cfg(miri)]
#[test]
fn miri_long_each_mode_on_each_kernel() {
    each_mode_on_each_kernel(1);
}

/// Runs every kernel on messages of several lengths. Miri runs the longest in one direction of each kernel, which is the other for `half`
/// 1: they take most of the time.
fn each_mode_on_each_kernel(half: usize) {
    let mut random = Random::new(14);
    for mode in MODES {
        let mut ran = Ran::new(mode.name);
        let key = random.bytes(mode.keys[mode.keys.len() - 1]);
        let iv = random.array();
        let reference = Reference::new(&key);
        let kernels = kernels(mode, Features::hardware(), &key);
        let data = random.bytes(575);
        for len in if mode.step == 1 { [1, 16, 47, 575] } else { [0, 16, 112, 560] } {
            // Miri goes without the length in the middle.
            if len < mode.min || cfg!(miri) && (17..512).contains(&len) {
                continue;
            }
            let short = !cfg!(miri) || len <= 16;
            for (turn, direction) in DIRECTIONS.into_iter().enumerate() {
                let mut expected = data[..len].to_vec();
                match short {
                    true => expected = reference.run(mode.name, direction, &iv, &expected),
                    false => (kernels[0].run)(direction, &iv, InOut::in_place(&mut expected)),
                }
                let longest = kernels.iter().enumerate().filter(|(index, kernel)| {
                    short || kernel.name != "portable" && (!cfg!(miri) || (index + half) % 2 == turn)
                });
                for (_, kernel) in longest {
                    let what = format!("{} {} {direction:?} {len}", mode.name, kernel.name);
                    both_ways(&|pass| (kernel.run)(direction, &iv, pass), &data[..len], &expected, &what);
                    ran.kernel(kernel.name);
                }
            }
        }
        ran.missing(mode.table.kernels().into_iter().map(|k| (k.name, k.requires)));
        ran.at_least(runnable(mode.table));
    }
}
