//! SM4 and its modes on every kernel and in every lane, against GB/T 32907-2016 and OpenSSL.

use millstream_cpu::Features;
use millstream_engines::modes::{BlockMode, BlockStream, ByteStream, Direction, Padding, StreamMode};
use millstream_engines::sm4::{
    CBC, CBC_LANES, CTR, CTR_LANES, Cbc, CbcJob, CbcLanes, Ctr, CtrJob, CtrLanes, ECB, Ecb,
};
use millstream_engines::{Engine, Error, InOut};
use millstream_testkit::{Guarded, Ran, Random, executes, feature_subsets, hex};

use Direction::{Decrypt, Encrypt};

/// Four blocks past the widest kernel, and as many messages past the widest lanes.
const MOST: usize = 36;

/// GB/T 32907-2016 appendix A: the key is the plaintext too.
const EXAMPLE: &str = "0123456789abcdeffedcba9876543210";

/// A.1: one block alone, and enough to fill each width.
#[test]
fn miri_example_of_the_standard() {
    let mut ran = Ran::new("sm4-ecb, GB/T 32907");
    for kernel in ECB.available(Features::hardware()) {
        let ecb = Ecb::with_kernel(kernel, &hex(EXAMPLE)).unwrap();
        // Miri sees the shortest and the longest way.
        let counts: &[usize] = if cfg!(miri) { &[1, 33] } else { &[1, 2, 17, 33] };
        for &count in counts {
            let mut data = hex(EXAMPLE).repeat(count);
            ecb.encrypt(&mut [], InOut::in_place(&mut data));
            assert_eq!(data, hex("681edf34d206965e86b3e94f536e4246").repeat(count), "{kernel:?}");
            ecb.decrypt(&mut [], InOut::in_place(&mut data));
            assert_eq!(data, hex(EXAMPLE).repeat(count), "{kernel:?}");
        }
        ran.kernel(kernel.kernel().name);
    }
    ran.missing((&ECB).kernels().iter().map(|k| (k.name, k.requires)));
    ran.at_least(1);
}

/// A.2: a block encrypted a million times. In CBC over zeros, the chaining value goes through the cipher at each step. An emulator would
/// take a minute.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_million_times() {
    for kernel in CBC.available(Features::hardware()) {
        let cbc = Cbc::with_kernel(kernel, &hex(EXAMPLE)).unwrap();
        let (mut chain, mut zeros) = (hex(EXAMPLE), vec![0; 16000]);
        for _ in 0..1000 {
            zeros.fill(0);
            cbc.encrypt(&mut chain, InOut::in_place(&mut zeros));
        }
        assert_eq!(chain, hex("595298c7c6fd271f0402f804c33d3f66"), "{kernel:?}");
    }
}

/// What OpenSSL makes of a message in a mode, without padding.
#[cfg(target_arch = "x86_64")]
fn reference(mode: &str, key: &[u8], iv: &[u8], data: &[u8]) -> Vec<u8> {
    use openssl::symm::{Cipher, Crypter, Mode};
    let cipher = match mode {
        "ecb" => Cipher::sm4_ecb(),
        "cbc" => Cipher::sm4_cbc(),
        _ => Cipher::sm4_ctr(),
    };
    let iv = (mode != "ecb").then_some(iv);
    let mut crypter = Crypter::new(cipher, Mode::Encrypt, key, iv).unwrap();
    crypter.pad(false);
    let mut out = vec![0; data.len() + 16];
    let len = crypter.update(data, &mut out).unwrap();
    out.truncate(len);
    out
}

/// The same by the portable kernel, where the tests have no OpenSSL.
#[cfg(not(target_arch = "x86_64"))]
fn reference(mode: &str, key: &[u8], iv: &[u8], data: &[u8]) -> Vec<u8> {
    let (mut out, mut chain, none) = (data.to_vec(), iv.to_vec(), Features::none());
    let whole = InOut::in_place(&mut out);
    match mode {
        "ecb" => Ecb::new(none, key).unwrap().encrypt(&mut [], whole),
        "cbc" => Cbc::new(none, key).unwrap().encrypt(&mut chain, whole),
        _ => ByteStream::new(&Ctr::new(none, key).unwrap(), iv, Encrypt).unwrap().update(whole),
    }
    out
}

#[test]
fn every_number_of_blocks_is_as_openssls() {
    let mut random = Random::new(1);
    let (key, iv, plain) = (random.array::<16>(), [0xff; 16], random.bytes(16 * MOST));
    let texts = ["ecb", "cbc", "ctr"].map(|mode| reference(mode, &key, &iv, &plain));
    for kernel in ECB.available(Features::hardware()) {
        let name = kernel.kernel().name;
        let ecb = Ecb::with_kernel(kernel, &key).unwrap();
        let cbc = Cbc::with_kernel(CBC.named(Features::hardware(), name).unwrap(), &key).unwrap();
        let ctr = Ctr::with_kernel(CTR.named(Features::hardware(), name).unwrap(), &key).unwrap();
        for bytes in (0..=MOST).map(|n| 16 * n) {
            check_block_mode(&ecb, &[], &plain[..bytes], &texts[0][..bytes]);
            check_block_mode(&cbc, &iv, &plain[..bytes], &texts[1][..bytes]);
            let (mut data, mut counter) = (plain[..bytes].to_vec(), iv);
            ctr.blocks(Encrypt, &mut counter, InOut::in_place(&mut data));
            assert_eq!(data, texts[2][..bytes], "{name}");
            let next = u128::from_be_bytes(iv).wrapping_add(bytes as u128 / 16);
            assert_eq!(u128::from_be_bytes(counter), next, "{name}");
        }
    }
}

/// In place and out of place, forth and back, and the chaining value that is left.
fn check_block_mode<M: BlockMode>(mode: &M, iv: &[u8], plain: &[u8], cipher: &[u8]) {
    let last =
        |iv: &[u8]| if cipher.is_empty() { iv.to_vec() } else { cipher[cipher.len() - iv.len()..].to_vec() };
    for (direction, from, to) in [(Encrypt, plain, cipher), (Decrypt, cipher, plain)] {
        let (mut data, mut chain) = (from.to_vec(), iv.to_vec());
        mode.pass(direction, &mut chain, InOut::in_place(&mut data));
        assert_eq!(data, to, "{} {direction:?}", M::NAME);
        assert_eq!(chain, last(iv), "{} {direction:?}", M::NAME);
        data.fill(0);
        mode.pass(direction, &mut iv.to_vec(), InOut::separate(from, &mut data).unwrap());
        assert_eq!(data, to, "{} {direction:?}", M::NAME);
    }
}

/// One message cut in two at every byte.
#[test]
fn every_split_of_a_stream() {
    let (key, iv) = ([9; 16], [7; 16]);
    let plain = Random::new(2).bytes(150);
    let want = reference("ctr", &key, &iv, &plain);
    for kernel in CTR.available(Features::hardware()) {
        let name = kernel.kernel().name;
        let ctr = Ctr::with_kernel(kernel, &key).unwrap();
        let cbc = Cbc::with_kernel(CBC.named(Features::hardware(), name).unwrap(), &key).unwrap();
        let sealed = cbc_stream(&cbc, Encrypt, &plain, plain.len());
        for at in 0..=plain.len() {
            let mut data = plain.clone();
            let mut stream = ByteStream::new(&ctr, &iv, Encrypt).unwrap();
            stream.update(InOut::in_place(&mut data[..at]));
            stream.update(InOut::in_place(&mut data[at..]));
            assert_eq!(data, want, "{name}, {at}");
            assert_eq!(cbc_stream(&cbc, Encrypt, &plain, at), sealed, "{name}, {at}");
            assert_eq!(cbc_stream(&cbc, Decrypt, &sealed, at), plain, "{name}, {at}");
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

/// Buffers that begin or end at a page that may not be touched.
#[test]
fn stays_inside_its_buffers() {
    let (key, iv) = ([3; 16], [0xff; 16]);
    for kernel in CTR.available(Features::hardware()) {
        let name = kernel.kernel().name;
        let ctr = Ctr::with_kernel(kernel, &key).unwrap();
        let cbc = Cbc::with_kernel(CBC.named(Features::hardware(), name).unwrap(), &key).unwrap();
        for blocks in [1, 3, 16, 17, 31, 32, 33] {
            let plain = Random::new(blocks as u64).bytes(16 * blocks);
            let want = reference("ctr", &key, &iv, &plain);
            for new in [Guarded::at_start, Guarded::at_end] {
                let (input, mut output) = (new(&plain), new(&plain));
                ctr.blocks(Encrypt, &mut { iv }, InOut::separate(&input, &mut output).unwrap());
                assert_eq!(*output, *want, "{name}");
                cbc.encrypt(&mut [1; 16], InOut::in_place(&mut output));
                cbc.decrypt(&mut [1; 16], InOut::in_place(&mut output));
                assert_eq!(*output, *want, "{name}");
            }
        }
    }
}

/// Every number of messages of mixed lengths, under different keys and under one, on every row of the lanes.
#[test]
fn every_number_of_messages() {
    let mut random = Random::new(3);
    let lens = |i: usize| [0, 16, 17, 48, 100, 331][i % 6];
    let messages: Vec<_> =
        (0..2 * MOST).map(|i| (random.array::<16>(), random.array::<16>(), random.bytes(lens(i)))).collect();
    let mut ran = Ran::new("sm4 lanes");
    for same in [false, true] {
        let key_of = |i: usize| if same { &messages[0].0 } else { &messages[i].0 };
        for n in 1..=messages.len() {
            check_cbc_lanes(&messages[..n], &key_of, &mut ran);
            check_ctr_lanes(&messages[..n], &key_of);
        }
    }
    ran.missing((&CBC_LANES).kernels().iter().map(|k| (k.name, k.requires)));
    ran.at_least(1);
}

/// A key, an initialisation vector or first counter block, and data.
type Message = ([u8; 16], [u8; 16], Vec<u8>);

fn check_cbc_lanes<'k>(messages: &[Message], key_of: &impl Fn(usize) -> &'k [u8; 16], ran: &mut Ran) {
    for row in CBC_LANES.available(Features::hardware()) {
        let name = row.kernel().name;
        if !executes("sm4-cbc-lanes", name) {
            continue;
        }
        let keys: Vec<_> =
            (0..messages.len()).map(|i| Cbc::new(Features::none(), key_of(i)).unwrap()).collect();
        let whole = |data: &[u8]| data[..data.len() / 16 * 16].to_vec();
        let mut buffers: Vec<_> = messages.iter().map(|(_, _, data)| whole(data)).collect();
        let mut jobs: Vec<_> = (buffers.iter_mut().enumerate())
            .map(|(i, data)| CbcJob { key: &keys[i], iv: messages[i].1, data: InOut::in_place(data) })
            .collect();
        CbcLanes::with_kernel(row).encrypt(&mut jobs.iter_mut().collect::<Vec<_>>());
        let chains: Vec<_> = jobs.iter().map(|job| job.iv).collect();
        drop(jobs);
        for (i, (_, iv, data)) in messages.iter().enumerate() {
            let mut want = (whole(data), *iv);
            keys[i].encrypt(&mut want.1, InOut::in_place(&mut want.0));
            assert_eq!((&buffers[i], chains[i]), (&want.0, want.1), "{name}, {i} of {}", messages.len());
        }
        ran.kernel(name);
    }
}

fn check_ctr_lanes<'k>(messages: &[Message], key_of: &impl Fn(usize) -> &'k [u8; 16]) {
    for row in CTR_LANES.available(Features::hardware()) {
        let name = row.kernel().name;
        if !executes("sm4-ctr-lanes", name) {
            continue;
        }
        let keys: Vec<_> =
            (0..messages.len()).map(|i| Ctr::new(Features::none(), key_of(i)).unwrap()).collect();
        let mut buffers: Vec<_> = messages.iter().map(|(_, _, data)| data.clone()).collect();
        let mut jobs: Vec<_> = (buffers.iter_mut().enumerate())
            .map(|(i, data)| CtrJob { key: &keys[i], counter: messages[i].1, data: InOut::in_place(data) })
            .collect();
        CtrLanes::with_kernel(row).apply(&mut jobs.iter_mut().collect::<Vec<_>>());
        drop(jobs);
        for (i, (_, counter, data)) in messages.iter().enumerate() {
            let mut want = data.clone();
            ByteStream::new(&keys[i], counter, Encrypt).unwrap().update(InOut::in_place(&mut want));
            assert_eq!(buffers[i], want, "{name}, {i} of {}", messages.len());
        }
    }
}

/// What one kernel seals another opens, under every subset of the features.
#[test]
fn kernels_agree_under_every_subset_of_features() {
    let plain = Random::new(4).bytes(16 * 70);
    let portable = Cbc::new(Features::none(), &[1; 16]).unwrap();
    for features in feature_subsets((&CBC).kernels().iter().map(|k| k.requires)) {
        let cbc = Cbc::new(features, &[1; 16]).unwrap();
        let mut data = plain.clone();
        cbc.encrypt(&mut [2; 16], InOut::in_place(&mut data));
        portable.decrypt(&mut [2; 16], InOut::in_place(&mut data));
        assert_eq!(data, plain);
        portable.encrypt(&mut [2; 16], InOut::in_place(&mut data));
        cbc.decrypt(&mut [2; 16], InOut::in_place(&mut data));
        assert_eq!(data, plain);
    }
}

#[test]
fn refuses_other_key_lengths() {
    for len in [0, 15, 17, 24, 32] {
        let error = Cbc::new(Features::none(), &vec![0; len]).unwrap_err();
        assert!(matches!(error, Error::KeyLength { algorithm: "sm4-cbc", given, .. } if given == len));
    }
}
