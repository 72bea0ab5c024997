//! Every DES kernel against every other, RustCrypto and OpenSSL: lengths, pieces, places.

use millstream_cpu::Features;
use millstream_engines::des::{self, Cbc, Cfb, Ecb, Ops};
use millstream_engines::modes::{BlockMode, BlockStream, ByteStream, Direction, Padding, StreamMode};
use millstream_engines::{Bound, Engine, Error, InOut, Table};
use millstream_testkit::{Guarded, Ran, Random, feature_subsets};

const KEYS: [usize; 3] = [8, 16, 24];

fn kernels() -> Vec<Bound<Ops>> {
    des::TRIPLE_CBC.available(Features::hardware()).collect()
}

fn portable() -> Bound<Ops> {
    des::TRIPLE_CBC.named(Features::none(), "portable").unwrap()
}

/// Block counts that change a kernel's path: few, the crossovers, each width and four past it,
/// and two passes of the widest.
fn counts() -> Vec<usize> {
    let mut counts: Vec<usize> = (0..=36).collect();
    for width in [64, 128, 256, 512] {
        counts.extend(width - 2..=width + 4);
    }
    counts.extend([100, 300, 528, 1024 + 17]);
    counts
}

/// ECB by the definition, one block at a time, on the portable kernel.
fn each_block(key: &[u8], direction: Direction, data: &mut [u8]) {
    let ecb = Ecb::with_kernel(portable(), key).unwrap();
    for block in data.chunks_mut(8) {
        ecb.pass(direction, &mut [], block.into());
    }
}

/// CBC and CFB by their definitions (SP 800-38A §6.2, §6.3), from ECB.
fn reference(mode: &str, key: &[u8], iv: [u8; 8], direction: Direction, data: &mut [u8]) {
    let ecb = Ecb::with_kernel(portable(), key).unwrap();
    let mut chain = iv;
    for block in data.as_chunks_mut::<8>().0 {
        let input = *block;
        match (mode, direction) {
            ("cbc", Direction::Encrypt) => {
                *block = std::array::from_fn(|i| input[i] ^ chain[i]);
                ecb.encrypt(&mut [], block.as_mut_slice().into());
                chain = *block;
            }
            ("cbc", Direction::Decrypt) => {
                ecb.decrypt(&mut [], block.as_mut_slice().into());
                *block = std::array::from_fn(|i| block[i] ^ chain[i]);
                chain = input;
            }
            _ => {
                ecb.encrypt(&mut [], chain.as_mut_slice().into());
                *block = std::array::from_fn(|i| input[i] ^ chain[i]);
                chain = if direction == Direction::Encrypt { *block } else { input };
            }
        }
    }
}

#[test]
fn every_path_agrees_with_the_definition() {
    let mut ran = Ran::new("des");
    let mut random = Random::new(1);
    let longest = *counts().iter().max().unwrap() * 8;
    for key_len in KEYS {
        let (key, iv, data) = (random.bytes(key_len), random.array::<8>(), random.bytes(longest));
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            // A mode's output for a prefix is the prefix of its output.
            let [mut ecb, mut cbc, mut cfb] = [data.clone(), data.clone(), data.clone()];
            each_block(&key, direction, &mut ecb);
            reference("cbc", &key, iv, direction, &mut cbc);
            reference("cfb", &key, iv, direction, &mut cfb);
            for kernel in kernels() {
                for count in counts() {
                    let len = 8 * count;
                    let mut out = data[..len].to_vec();
                    Ecb::with_kernel(kernel, &key).unwrap().pass(
                        direction,
                        &mut [],
                        InOut::in_place(&mut out),
                    );
                    assert!(out == ecb[..len], "ECB {key_len} {direction:?} {count} on {kernel:?}");

                    let mut chain = iv;
                    out.fill(0);
                    let pass = InOut::separate(&data[..len], &mut out).unwrap();
                    Cbc::with_kernel(kernel, &key).unwrap().pass(direction, &mut chain, pass);
                    assert!(out == cbc[..len], "CBC {key_len} {direction:?} {count} on {kernel:?}");
                    let ciphertext = if direction == Direction::Encrypt { &cbc } else { &data };
                    assert_eq!(chain, last_block(iv, &ciphertext[..len]));

                    let mut chain = iv;
                    out.copy_from_slice(&data[..len]);
                    let pass = InOut::in_place(&mut out);
                    Cfb::with_kernel(kernel, &key).unwrap().blocks(direction, &mut chain, pass);
                    assert!(out == cfb[..len], "CFB {key_len} {direction:?} {count} on {kernel:?}");
                    let ciphertext = if direction == Direction::Encrypt { &cfb } else { &data };
                    assert_eq!(chain, last_block(iv, &ciphertext[..len]));
                    ran.kernel(kernel.kernel().name);
                }
            }
        }
    }
    ran.missing((&des::TRIPLE_CBC).kernels().iter().map(|kernel| (kernel.name, kernel.requires)));
    ran.at_least(1);
}

fn last_block(iv: [u8; 8], ciphertext: &[u8]) -> [u8; 8] {
    ciphertext.last_chunk().copied().unwrap_or(iv)
}

#[test]
fn in_place_and_apart_at_any_address_between_guard_pages() {
    let mut random = Random::new(2);
    let key = random.bytes(24);
    for kernel in kernels() {
        let (ecb, cbc, cfb) = (
            Ecb::with_kernel(kernel, &key).unwrap(),
            Cbc::with_kernel(kernel, &key).unwrap(),
            Cfb::with_kernel(kernel, &key).unwrap(),
        );
        type Mode<'a> = &'a dyn Fn(Direction, InOut<'_>);
        let modes: [(&str, Mode<'_>); 3] = [
            ("ECB", &|direction, data| ecb.pass(direction, &mut [], data)),
            ("CBC", &|direction, data| cbc.pass(direction, &mut [7; 8], data)),
            ("CFB", &|direction, data| cfb.blocks(direction, &mut [7; 8], data)),
        ];
        for (name, mode) in modes {
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                for blocks in [1, 2, 3, 19, 64, 67, 257, 516] {
                    let data = random.bytes(8 * blocks);
                    let mut answer = data.clone();
                    mode(direction, answer.as_mut_slice().into());
                    for at_end in [false, true] {
                        let guarded = if at_end { Guarded::at_end } else { Guarded::at_start };
                        let (input, mut output) = (guarded(&data), guarded(&vec![0; data.len()]));
                        mode(direction, InOut::separate(&input, &mut output).unwrap());
                        assert!(*output == answer, "{name} {direction:?} {blocks} on {kernel:?}");
                        output.copy_from_slice(&data);
                        mode(direction, InOut::in_place(&mut output));
                        assert!(*output == answer, "{name} {direction:?} {blocks} on {kernel:?}");
                    }
                    let mut shifted = vec![0; data.len() + 3];
                    shifted[3..].copy_from_slice(&data);
                    mode(direction, InOut::in_place(&mut shifted[3..]));
                    assert!(shifted[3..] == answer, "{name} {direction:?} {blocks} on {kernel:?}");
                }
            }
        }
    }
}

#[test]
fn every_split_of_a_stream() {
    let mut random = Random::new(3);
    let (key, iv, plaintext) = (random.bytes(16), random.bytes(8), random.bytes(8 * 20 + 5));
    for kernel in kernels() {
        let cfb = Cfb::with_kernel(kernel, &key).unwrap();
        let cbc = Cbc::with_kernel(kernel, &key).unwrap();
        let mut ciphertext = plaintext.clone();
        ByteStream::new(&cfb, &iv, Direction::Encrypt).unwrap().update(ciphertext.as_mut_slice().into());
        let mut padded = vec![0; plaintext.len() + 8];
        let mut stream = BlockStream::new(&cbc, &iv, Direction::Encrypt, Padding::Pkcs7).unwrap();
        let written = stream.update(&plaintext, &mut padded).unwrap();
        let written = written + stream.finish(&mut padded[written..]).unwrap();
        assert_eq!(written, 8 * 21);
        for at in 0..=plaintext.len() {
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                let (from, to) = if direction == Direction::Encrypt {
                    (&plaintext, &ciphertext)
                } else {
                    (&ciphertext, &plaintext)
                };
                let mut data = from.clone();
                let mut stream = ByteStream::new(&cfb, &iv, direction).unwrap();
                stream.update((&mut data[..at]).into());
                stream.update((&mut data[at..]).into());
                assert!(data == *to, "CFB {direction:?} split at {at} on {kernel:?}");
            }
            let mut out = vec![0; written];
            let mut stream = BlockStream::new(&cbc, &iv, Direction::Decrypt, Padding::Pkcs7).unwrap();
            let mut n = stream.update(&padded[..at], &mut out).unwrap();
            n += stream.update(&padded[at..written], &mut out[n..]).unwrap();
            n += stream.finish(&mut out[n..]).unwrap();
            assert!(out[..n] == plaintext, "CBC split at {at} on {kernel:?}");
        }
    }
}

#[test]
fn mac_is_the_last_block_of_cbc_however_it_is_split() {
    let mut random = Random::new(4);
    for key_len in KEYS {
        let (key, data) = (random.bytes(key_len), random.bytes(37));
        for kernel in kernels() {
            for len in 0..=data.len() {
                let mut padded = data[..len].to_vec();
                padded.resize(len.next_multiple_of(8), 0);
                let mut chain = [0; 8];
                Cbc::with_kernel(portable(), &key).unwrap().encrypt(&mut chain, padded.as_mut_slice().into());
                for at in [0, len / 3, len] {
                    let mut mac = des::Mac::with_kernel(kernel, &key).unwrap();
                    mac.update(&data[..at]);
                    mac.update(&data[at..len]);
                    assert_eq!(mac.finish(), chain[..4], "{len} bytes split at {at} on {kernel:?}");
                }
            }
            assert_eq!(des::mac(Features::hardware(), &key, &[]).unwrap(), [0; 4]);
        }
    }
}

#[test]
fn one_kernel_decrypts_what_another_encrypted_under_every_feature_subset() {
    let table: &'static Table<Ops> = &des::TRIPLE_CBC;
    let mut random = Random::new(5);
    let (key, plaintext) = (random.bytes(24), random.bytes(8 * 531));
    for encrypting in kernels() {
        let mut ciphertext = plaintext.clone();
        let cbc = Cbc::with_kernel(encrypting, &key).unwrap();
        cbc.encrypt(&mut [9; 8], ciphertext.as_mut_slice().into());
        for features in feature_subsets(table.kernels().iter().map(|kernel| kernel.requires)) {
            let mut data = ciphertext.clone();
            let cbc = Cbc::new(features, &key).unwrap();
            cbc.decrypt(&mut [9; 8], data.as_mut_slice().into());
            assert!(data == plaintext, "{encrypting:?} then {}", cbc.kernel().name);
        }
    }
}

#[test]
fn rustcrypto_agrees() {
    use ::des::cipher::{BlockCipherEncrypt, KeyInit};
    let mut random = Random::new(6);
    let data = random.bytes(8 * 70);
    for key_len in KEYS {
        let key = random.bytes(key_len);
        let mut theirs = data.clone();
        for block in theirs.as_chunks_mut::<8>().0 {
            match key_len {
                8 => ::des::Des::new_from_slice(&key).unwrap().encrypt_block(block.into()),
                16 => ::des::TdesEde2::new_from_slice(&key).unwrap().encrypt_block(block.into()),
                _ => ::des::TdesEde3::new_from_slice(&key).unwrap().encrypt_block(block.into()),
            }
        }
        for kernel in kernels() {
            let mut ours = data.clone();
            Ecb::with_kernel(kernel, &key).unwrap().encrypt(&mut [], ours.as_mut_slice().into());
            assert!(ours == theirs, "{key_len} on {kernel:?}");
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn openssl_agrees() {
    use openssl::provider::Provider;
    use openssl::symm::{Cipher, Crypter, Mode};
    let _default = Provider::load(None, "default").unwrap();
    let _legacy = Provider::load(None, "legacy");
    let mut ciphers = vec![("cbc", 24, Cipher::des_ede3_cbc()), ("cfb", 24, Cipher::des_ede3_cfb64())];
    if _legacy.is_ok() {
        ciphers.push(("cbc", 8, Cipher::des_cbc()));
    } else {
        millstream_testkit::skip("des: OpenSSL has no legacy provider here for single DES");
    }
    let mut random = Random::new(7);
    for (mode, key_len, cipher) in ciphers {
        for blocks in [1, 2, 17, 300, 600] {
            let (key, iv, data) = (random.bytes(key_len), random.bytes(8), random.bytes(8 * blocks));
            for (direction, theirs) in
                [(Direction::Encrypt, Mode::Encrypt), (Direction::Decrypt, Mode::Decrypt)]
            {
                let mut crypter = Crypter::new(cipher, theirs, &key, Some(&iv)).unwrap();
                crypter.pad(false);
                let mut expected = vec![0; data.len() + 8];
                let n = crypter.update(&data, &mut expected).unwrap();
                for kernel in kernels() {
                    let mut ours = data.clone();
                    let mut chain = iv.clone();
                    let pass = InOut::in_place(&mut ours);
                    match mode {
                        "cbc" => Cbc::with_kernel(kernel, &key).unwrap().pass(direction, &mut chain, pass),
                        _ => Cfb::with_kernel(kernel, &key).unwrap().blocks(direction, &mut chain, pass),
                    }
                    assert!(ours == expected[..n], "{mode} {direction:?} {blocks} on {kernel:?}");
                }
            }
        }
    }
}

#[test]
fn key_lengths() {
    for len in [0, 7, 9, 15, 17, 23, 25, 32] {
        let error = Cbc::new(Features::none(), &vec![1; len]).err().unwrap();
        assert!(matches!(error, Error::KeyLength { given, .. } if given == len));
    }
}

/// For Miri: a few blocks on each kernel, and just enough for its bitsliced path.
#[test]
fn miri_long_few_blocks_and_many() {
    let many = if cfg!(miri) { 21 } else { 600 };
    let mut ran = Ran::new("des-cbc");
    for (blocks, key_len) in [(1, 24), (5, 24), (many, 8)] {
        let key: Vec<u8> = (0..key_len).collect();
        let plain: Vec<u8> = (0..8 * blocks).map(|i| i as u8).collect();
        let mut expected = plain.clone();
        Cbc::with_kernel(portable(), &key).unwrap().encrypt(&mut [1; 8], expected.as_mut_slice().into());
        for kernel in kernels() {
            let cbc = Cbc::with_kernel(kernel, &key).unwrap();
            let mut data = plain.clone();
            cbc.encrypt(&mut [1; 8], data.as_mut_slice().into());
            assert_eq!(data, expected, "{kernel:?}");
            cbc.decrypt(&mut [1; 8], data.as_mut_slice().into());
            assert_eq!(data, plain, "{kernel:?}");
            ran.kernel(kernel.kernel().name);
        }
    }
    ran.missing((&des::TRIPLE_CBC).kernels().iter().map(|k| (k.name, k.requires)));
    ran.at_least(kernels().len());
}
