//! AES of many objects at once against a reading of the standards and against OpenSSL: every lane
//! kernel, any number of objects, any mix of lengths and keys; and keystream made ahead.

mod aes_common;

use aes_common::Reference;
use millstream_cpu::Features;
use millstream_engines::aes::{
    CBC, CBC_LANES, CFB, CFB_LANES, CMAC, CMAC_LANES, CTR, CTR_LANES, Cbc, CbcJob, CbcLanes, Cfb, CfbJob,
    CfbLanes, Cmac, CmacJob, CmacLanes, Ctr, CtrJob, CtrLanes, KeystreamAhead, srtp_counter,
};
use millstream_engines::modes::Direction;
use millstream_engines::{Engine, InOut, engines};
use millstream_testkit::{Guarded, Ran, Random, feature_subsets, hex, hex_array};
use proptest::prelude::*;

type Block = [u8; 16];

/// The most lanes of any kernel.
const WIDTH: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    CbcEncrypt,
    CbcDecrypt,
    Cfb,
    Cmac,
    Ctr,
}

const MODES: [Mode; 5] = [Mode::CbcEncrypt, Mode::CbcDecrypt, Mode::Cfb, Mode::Cmac, Mode::Ctr];

impl Mode {
    fn table(self) -> &'static dyn Engine {
        let name = match self {
            Mode::CbcEncrypt | Mode::CbcDecrypt => "aes-cbc-lanes",
            Mode::Cfb => "aes-cfb128-lanes",
            Mode::Cmac => "aes-cmac-lanes",
            Mode::Ctr => "aes-ctr-lanes",
        };
        *engines().iter().find(|engine| engine.algorithm().name == name).unwrap()
    }

    /// The lane kernels that `features` allow.
    fn rows(self, features: Features) -> Vec<&'static str> {
        let kernels = self.table().kernels().into_iter();
        kernels.filter(|kernel| features.contains(kernel.requires)).map(|kernel| kernel.name).collect()
    }

    /// How many kernels of the single objects' table there are.
    fn key_kernels(self, features: Features) -> usize {
        match self {
            Mode::CbcEncrypt | Mode::CbcDecrypt => CBC.available(features).count(),
            Mode::Cfb => CFB.available(features).count(),
            Mode::Cmac => CMAC.available(features).count(),
            Mode::Ctr => CTR.available(features).count(),
        }
    }

    fn step(self) -> usize {
        if matches!(self, Mode::CbcEncrypt | Mode::CbcDecrypt) { 16 } else { 1 }
    }
}

/// One object: which key, its vector, its data.
#[derive(Clone, Debug)]
struct Object {
    key: usize,
    iv: Block,
    data: Vec<u8>,
}

/// A key's bytes, and on which kernel of those available it is.
type Key = (Vec<u8>, usize);

/// What is expected: the output (nothing for CMAC), and what the job's block holds after.
fn expected(mode: Mode, keys: &[Key], object: &Object) -> (Vec<u8>, Block) {
    let Object { key, iv, data } = object;
    let reference = Reference::new(&keys[*key].0);
    let last = |blocks: &[u8]| blocks.as_chunks().0.last().copied().unwrap_or(*iv);
    match mode {
        Mode::CbcEncrypt => {
            let out = reference.run("aes-cbc", Direction::Encrypt, iv, data);
            let last = last(&out);
            (out, last)
        }
        Mode::CbcDecrypt => (reference.run("aes-cbc", Direction::Decrypt, iv, data), last(data)),
        Mode::Cfb => {
            let out = reference.run("aes-cfb128", Direction::Encrypt, iv, data);
            let last = last(&out);
            (out, last)
        }
        Mode::Cmac => (data.clone(), reference.cmac(data)),
        Mode::Ctr => (reference.run("aes-ctr", Direction::Encrypt, iv, data), *iv),
    }
}

/// Runs the objects on a lane kernel. Data goes in place, in buffers that begin at any address, or from
/// the objects to such buffers. Returns what [`expected`] does.
fn run(
    mode: Mode,
    features: Features,
    row: &str,
    keys: &[Key],
    objects: &[Object],
    in_place: bool,
) -> Vec<(Vec<u8>, Block)> {
    let mut buffers: Vec<Vec<u8>> = objects
        .iter()
        .enumerate()
        .map(|(i, object)| {
            let mut buffer = vec![0xee; object.data.len() + 8];
            if in_place || mode == Mode::Cmac {
                buffer[i % 8..][..object.data.len()].copy_from_slice(&object.data);
            }
            buffer
        })
        .collect();
    let mut blocks = Vec::new();
    macro_rules! in_lanes {
        ($table:ident, $lanes:ident, $single:ident, $type:ident, $op:ident, $job:expr, $block:ident) => {{
            let kernels: Vec<_> = $single.available(features).collect();
            let keys: Vec<_> = keys
                .iter()
                .map(|(key, kernel)| $type::with_kernel(kernels[kernel % kernels.len()], key).unwrap())
                .collect();
            let lanes = $lanes::with_kernel($table.named(features, row).unwrap());
            assert_eq!(lanes.kernel().name, row);
            let slices = buffers.iter_mut().zip(objects).enumerate();
            let job = $job;
            let mut jobs: Vec<_> = slices
                .map(|(i, (buffer, object))| {
                    job(&keys[object.key], object, &mut buffer[i % 8..][..object.data.len()])
                })
                .collect();
            lanes.$op(&mut jobs.iter_mut().collect::<Vec<_>>());
            blocks.extend(jobs.iter().map(|job| job.$block));
        }};
    }
    fn pass<'a>(in_place: bool, object: &'a Object, buffer: &'a mut [u8]) -> InOut<'a> {
        if in_place { InOut::in_place(buffer) } else { InOut::separate(&object.data, buffer).unwrap() }
    }
    fn cbc<'a>(key: &'a Cbc, object: &'a Object, buffer: &'a mut [u8], in_place: bool) -> CbcJob<'a> {
        CbcJob { key, iv: object.iv, data: pass(in_place, object, buffer) }
    }
    fn cfb<'a>(key: &'a Cfb, object: &'a Object, buffer: &'a mut [u8], in_place: bool) -> CfbJob<'a> {
        CfbJob { key, iv: object.iv, data: pass(in_place, object, buffer) }
    }
    fn ctr<'a>(key: &'a Ctr, object: &'a Object, buffer: &'a mut [u8], in_place: bool) -> CtrJob<'a> {
        CtrJob { key, counter: object.iv, data: pass(in_place, object, buffer) }
    }
    fn cmac<'a>(key: &'a Cmac, object: &Object, buffer: &'a mut [u8], _: bool) -> CmacJob<'a> {
        CmacJob { key, data: buffer, tag: object.iv }
    }
    match mode {
        Mode::CbcEncrypt => {
            in_lanes!(CBC_LANES, CbcLanes, CBC, Cbc, encrypt, |k, o, b| cbc(k, o, b, in_place), iv)
        }
        Mode::CbcDecrypt => {
            in_lanes!(CBC_LANES, CbcLanes, CBC, Cbc, decrypt, |k, o, b| cbc(k, o, b, in_place), iv)
        }
        Mode::Cfb => in_lanes!(CFB_LANES, CfbLanes, CFB, Cfb, encrypt, |k, o, b| cfb(k, o, b, in_place), iv),
        Mode::Cmac => {
            in_lanes!(CMAC_LANES, CmacLanes, CMAC, Cmac, sign, |k, o, b| cmac(k, o, b, in_place), tag)
        }
        Mode::Ctr => {
            in_lanes!(CTR_LANES, CtrLanes, CTR, Ctr, apply, |k, o, b| ctr(k, o, b, in_place), counter)
        }
    }
    let outputs = buffers.into_iter().zip(objects).enumerate().map(|(i, (buffer, object))| {
        let (before, rest) = buffer.split_at(i % 8);
        let (out, after) = rest.split_at(object.data.len());
        assert!(before.iter().chain(after).all(|&byte| byte == 0xee), "outside of an object");
        out.to_vec()
    });
    outputs.zip(blocks).collect()
}

fn check(mode: Mode, features: Features, keys: &[Key], objects: &[Object], ran: &mut Ran) {
    let expected: Vec<_> = objects.iter().map(|object| expected(mode, keys, object)).collect();
    for row in mode.rows(features) {
        for in_place in [true, false] {
            let results = run(mode, features, row, keys, objects, in_place);
            for (i, (result, expected)) in results.iter().zip(&expected).enumerate() {
                let (bytes, of) = (objects[i].data.len(), objects.len());
                assert!(
                    result == expected,
                    "{mode:?} {row} in place {in_place}: object {i} of {of}, {bytes} bytes"
                );
            }
        }
        ran.kernel(row);
    }
}

fn keys(random: &mut Random, lengths: &[usize], kernels: usize) -> Vec<Key> {
    lengths.iter().map(|&len| (random.bytes(len), random.below(kernels))).collect()
}

fn objects(
    random: &mut Random,
    mode: Mode,
    n: usize,
    keys: usize,
    length: impl Fn(&mut Random) -> usize,
) -> Vec<Object> {
    (0..n)
        .map(|_| {
            let len = length(random) / mode.step() * mode.step();
            Object { key: random.below(keys), iv: random.array(), data: random.bytes(len) }
        })
        .collect()
}

/// The mixes of keys: one; many of one length; all lengths; all lengths on all kernels.
fn mixes(random: &mut Random, kernels: usize) -> Vec<Vec<Key>> {
    vec![
        keys(random, &[16], 1),
        keys(random, &[24], 1),
        keys(random, &[32], 1),
        keys(random, &[16; 20], 1),
        keys(random, &[32; 20], 1),
        keys(random, &[16, 24, 32, 16, 24, 32, 32], 1),
        keys(random, &[16, 24, 32, 16, 24, 32, 32, 16, 16], kernels),
    ]
}

fn missing(mode: Mode, ran: &Ran) {
    ran.missing(mode.table().kernels().into_iter().map(|k| (k.name, k.requires)));
    ran.at_least(mode.rows(Features::hardware()).len());
}

#[test]
fn any_number_of_objects_of_one_length() {
    for mode in MODES {
        let mut ran = Ran::new(mode.table().algorithm().name);
        let mut random = Random::new(11);
        for keys in mixes(&mut random, mode.key_kernels(Features::hardware())) {
            for n in (0..=3 * WIDTH + 1).step_by(3).chain([1, 2, WIDTH, WIDTH + 1, 2 * WIDTH + 1]) {
                for len in [0, 16, 31, 48, 80, 96, 135, 160] {
                    let objects = objects(&mut random, mode, n, keys.len(), |_| len);
                    check(mode, Features::hardware(), &keys, &objects, &mut ran);
                }
            }
        }
        missing(mode, &ran);
    }
}

#[test]
fn any_mix_of_lengths() {
    for mode in MODES {
        let mut ran = Ran::new(mode.table().algorithm().name);
        let mut random = Random::new(12);
        for keys in mixes(&mut random, mode.key_kernels(Features::hardware())) {
            for n in 0..=3 * WIDTH + 1 {
                for most in [80, 300, 1200] {
                    let objects = objects(&mut random, mode, n, keys.len(), |random| random.below(most));
                    check(mode, Features::hardware(), &keys, &objects, &mut ran);
                }
            }
        }
        missing(mode, &ran);
    }
}

/// NIST SP 800-38A F.2.1, F.3.13, F.5.1 and RFC 4493 §4: four blocks and their ciphertext, or the tag of
/// 40 bytes, among random objects.
#[test]
fn published_answers_in_every_lane() {
    let key = hex("2b7e151628aed2a6abf7158809cf4f3c");
    let plain = hex("6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
         30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710");
    let iv = hex_array("000102030405060708090a0b0c0d0e0f");
    let cbc = hex("7649abac8119b246cee98e9b12e9197d 5086cb9b507219ee95db113a917678b2
         73bed6b8e3c1743b7116e69e22229516 3ff1caa1681fac09120eca307586e1a7");
    let cfb = hex("3b3fd92eb72dad20333449f8e83cfb4a c8a64537a0b3a93fcde3cdad9f1ce58b
         26751f67a3cbb140b1808cf187a4f4df c04b05357c5d1c0eeac4c66f9ff7f2e6");
    let ctr = hex("874d6191b620e3261bef6864990db6ce 9806f66b7970fdff8617187bb9fffdff
         5ae4df3edbd5d35e5b4f09020db03eab 1e031dda2fbe03d1792170a0f3009cee");
    let tag = hex_array("dfa66747de9ae63030ca32611497c827");
    let ctr_iv = hex_array("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
    let mut random = Random::new(13);
    for mode in MODES {
        let (iv, data, out, block): (Block, _, _, Block) = match mode {
            Mode::CbcEncrypt => (iv, &plain, &cbc, hex_array("3ff1caa1681fac09120eca307586e1a7")),
            Mode::CbcDecrypt => (iv, &cbc, &plain, hex_array("3ff1caa1681fac09120eca307586e1a7")),
            Mode::Cfb => (iv, &plain, &cfb, hex_array("c04b05357c5d1c0eeac4c66f9ff7f2e6")),
            Mode::Ctr => (ctr_iv, &plain, &ctr, ctr_iv),
            Mode::Cmac => (iv, &plain[..40].to_vec(), &plain[..40].to_vec(), tag),
        };
        let mut ran = Ran::new(mode.table().algorithm().name);
        for other in [None, Some(16), Some(32)] {
            let mut keys = vec![(key.clone(), 0)];
            keys.extend(other.map(|len| (random.bytes(len), 0)));
            for position in 0..2 * WIDTH + 1 {
                let mut objects =
                    objects(&mut random, mode, 2 * WIDTH + 1, keys.len(), |random| random.below(200));
                objects[position] = Object { key: 0, iv, data: data.clone() };
                for row in mode.rows(Features::hardware()) {
                    let results = run(mode, Features::hardware(), row, &keys, &objects, true);
                    assert!(results[position].0 == *out, "{mode:?} {row} position {position}");
                    assert!(results[position].1 == block, "{mode:?} {row} position {position}");
                    ran.kernel(row);
                }
            }
        }
        missing(mode, &ran);
    }
}

#[test]
fn nothing_outside_the_objects_is_touched() {
    let features = Features::hardware();
    let mut random = Random::new(14);
    let key_bytes: Vec<[u8; 16]> = (0..2 * WIDTH + 1).map(|_| random.array()).collect();
    macro_rules! guarded {
        ($table:ident, $lanes:ident, $type:ident, $op:ident, $step:literal, |$key:ident, $data:ident| $job:expr) => {
            let keys: Vec<_> = key_bytes.iter().map(|key| $type::new(features, key).unwrap()).collect();
            for kernel in $table.available(features) {
                for (one_key, most) in [(true, 320), (false, 320), (true, 80), (false, 80)] {
                    for at_end in [true, false] {
                        let mut memory: Vec<Guarded> = (0..keys.len())
                            .map(|_| {
                                let len = random.below(most) / $step * $step;
                                let data = random.bytes(len);
                                if at_end { Guarded::at_end(&data) } else { Guarded::at_start(&data) }
                            })
                            .collect();
                        let mut jobs: Vec<_> = memory
                            .iter_mut()
                            .enumerate()
                            .map(|(i, $data)| {
                                let $key = &keys[if one_key { 0 } else { i }];
                                $job
                            })
                            .collect();
                        $lanes::with_kernel(kernel).$op(&mut jobs.iter_mut().collect::<Vec<_>>());
                    }
                }
            }
        };
    }
    guarded!(CBC_LANES, CbcLanes, Cbc, encrypt, 16, |key, data| CbcJob {
        key,
        iv: [1; 16],
        data: InOut::in_place(data)
    });
    guarded!(CBC_LANES, CbcLanes, Cbc, decrypt, 16, |key, data| CbcJob {
        key,
        iv: [1; 16],
        data: InOut::in_place(data)
    });
    guarded!(CFB_LANES, CfbLanes, Cfb, encrypt, 1, |key, data| CfbJob {
        key,
        iv: [1; 16],
        data: InOut::in_place(data)
    });
    guarded!(CMAC_LANES, CmacLanes, Cmac, sign, 1, |key, data| CmacJob { key, data, tag: [1; 16] });
    guarded!(CTR_LANES, CtrLanes, Ctr, apply, 1, |key, data| CtrJob {
        key,
        counter: [1; 16],
        data: InOut::in_place(data)
    });
}

/// The counter is one 128-bit number, also for an object among others.
#[test]
fn the_counter_wraps() {
    let mut random = Random::new(15);
    let mut ran = Ran::new("aes-ctr-lanes");
    let keys = keys(&mut random, &[16, 16], 1);
    for wrap in [1u128 << 32, 1 << 64, 5 << 64, 0] {
        for len in [1, 16, 100, 500, 700, 2000] {
            let mut objects = objects(&mut random, Mode::Ctr, 50, 2, |_| len);
            for (i, object) in (0u128..).zip(&mut objects) {
                object.iv = wrap.wrapping_sub(i).to_be_bytes();
            }
            check(Mode::Ctr, Features::hardware(), &keys, &objects, &mut ran);
        }
    }
    missing(Mode::Ctr, &ran);
}

#[test]
fn every_feature_subset_gives_the_same_answer() {
    let requirements = engines().iter().filter(|e| e.algorithm().name.starts_with("aes-"));
    let requirements = requirements.flat_map(|e| e.kernels()).map(|k| k.requires);
    let mut random = Random::new(16);
    let mut ran = Ran::new("AES lanes, feature subsets");
    for features in feature_subsets(requirements) {
        for mode in MODES {
            let keys = keys(&mut random, &[16, 32, 16], mode.key_kernels(features));
            let objects = objects(&mut random, mode, WIDTH + 3, 3, |random| random.below(300));
            check(mode, features, &keys, &objects, &mut ran);
        }
    }
    ran.at_least(MODES.len().min(Mode::Ctr.rows(Features::hardware()).len()));
}

/// OpenSSL on the same objects.
#[cfg(target_arch = "x86_64")]
#[test]
fn openssl_agrees() {
    use openssl::symm::{Cipher, Crypter, Mode as Way};
    let mut random = Random::new(17);
    let mut cases = 0;
    for (mode, names) in [
        (Mode::CbcEncrypt, [Cipher::aes_128_cbc(), Cipher::aes_256_cbc()]),
        (Mode::Cfb, [Cipher::aes_128_cfb128(), Cipher::aes_256_cfb128()]),
        (Mode::Ctr, [Cipher::aes_128_ctr(), Cipher::aes_256_ctr()]),
    ] {
        let keys = keys(&mut random, &[16, 32, 16, 32, 16], 1);
        let objects = objects(&mut random, mode, 60, keys.len(), |random| random.below(3000));
        for row in mode.rows(Features::hardware()) {
            for (object, (out, _)) in
                objects.iter().zip(run(mode, Features::hardware(), row, &keys, &objects, true))
            {
                let key = &keys[object.key].0;
                let mut peer =
                    Crypter::new(names[key.len() / 32], Way::Encrypt, key, Some(&object.iv)).unwrap();
                peer.pad(false);
                let mut expected = vec![0; object.data.len() + 16];
                let n = peer.update(&object.data, &mut expected).unwrap();
                assert!(expected[..n] == out, "{mode:?} {row} {} bytes", object.data.len());
                cases += 1;
            }
        }
    }
    assert_eq!(cases, 60 * 3 * Mode::Ctr.rows(Features::hardware()).len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_sets_of_jobs(
        lengths in proptest::collection::vec((0usize..400, 0usize..6), 0..60),
        key_lengths in proptest::collection::vec(2usize..5, 6),
        seed: u64,
    ) {
        let mut random = Random::new(seed);
        let mut ran = Ran::new("AES lanes, random sets");
        for mode in MODES {
            let kernels = mode.key_kernels(Features::hardware());
            let keys: Vec<Key> = key_lengths.iter().map(|n| (random.bytes(8 * n), random.below(kernels))).collect();
            let objects: Vec<_> = lengths
                .iter()
                .map(|&(len, key)| Object { key, iv: random.array(), data: random.bytes(len / mode.step() * mode.step()) })
                .collect();
            check(mode, Features::hardware(), &keys, &objects, &mut ran);
        }
    }
}

/// Encryption by CBC, CFB and CTR. Miri interprets the other two modes with more time only.
#[test]
fn miri_small_sets() {
    small_sets(|i| i % 2 == 0);
}

#[test]
fn miri_long_small_sets_of_other_modes() {
    small_sets(|i| i % 2 == 1);
}

fn small_sets(chosen: fn(usize) -> bool) {
    let mut random = Random::new(18);
    let mut ran = Ran::new("AES lanes, small sets");
    for (_, mode) in MODES.into_iter().enumerate().filter(|(i, _)| chosen(*i)) {
        for (lengths, wide) in [(&[16; 1][..], !cfg!(miri)), (&[16, 32, 16], true)] {
            let keys = keys(&mut random, lengths, 2);
            for (n, most) in [(3, 100), (WIDTH + 2, 40)].into_iter().take(1 + usize::from(wide)) {
                let mut objects = objects(&mut random, mode, n, keys.len(), |random| random.below(most));
                objects[0].data.resize(most / 16 * 16, 5);
                let expected = run(mode, Features::hardware(), "direct-x1", &keys, &objects, true);
                for row in mode.rows(Features::hardware()) {
                    let results = run(mode, Features::hardware(), row, &keys, &objects, false);
                    assert!(results == expected, "{mode:?} {row}, {n} objects");
                    ran.kernel(row);
                }
            }
        }
    }
    ran.at_least(1);
}

#[test]
#[should_panic(expected = "whole blocks")]
fn cbc_takes_whole_blocks() {
    let key = Cbc::new(Features::hardware(), &[0; 16]).unwrap();
    let mut data = [0; 17];
    let mut job = CbcJob { key: &key, iv: [0; 16], data: InOut::in_place(&mut data) };
    CbcLanes::new(Features::hardware()).encrypt(&mut [&mut job]);
}

const SALT: [u8; 14] = [0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd];

/// RFC 3711 appendix B.2: the keystream of AES-CM, of 0xff02 blocks, as packet 0 of SSRC 0.
#[test]
fn keystream_ahead_gives_the_vectors_of_rfc_3711() {
    let key = hex("2b7e151628aed2a6abf7158809cf4f3c");
    let counter = |index| srtp_counter(&SALT, 0, index);
    assert_eq!(counter(0), hex_array("f0f1f2f3f4f5f6f7f8f9fafbfcfd0000"));
    let known = [
        (0x0000, "e03ead0935c95e80e166b16dd92b4eb4"),
        (0x0001, "d23513162b02d0f72a43a2fe4a5f97ab"),
        (0x0002, "41e95b3bb0a2e8dd477901e4fca894c0"),
        (0xfeff, "ec8cdf7398607cb0f2d21675ea9ea1e4"),
        (0xff00, "362b7c3c6773516318a077d7fc5073ae"),
        (0xff01, "6a2cc3787889374fbeb4c81b17ba6c44"),
    ];
    for usual in [16, 48, 160, 1 << 20] {
        let mut ahead = KeystreamAhead::new(Features::hardware(), &key, usual, counter).unwrap();
        let mut stream = vec![0; 0xff02 * 16];
        ahead.apply(0, InOut::in_place(&mut stream));
        for (block, keystream) in known {
            assert_eq!(stream[16 * block..][..16], hex(keystream), "block {block:x}, usually {usual}");
        }
    }
}

/// Packets in order, lost, late, twice, in another place, wild, short and long: always plain CTR.
#[test]
fn keystream_ahead_is_plain_ctr() {
    let mut random = Random::new(19);
    for features in [Features::hardware(), Features::none()] {
        for (usual, buffer) in [(160, 8192), (1, 100), (20, 1), (1200, 8192), (172, 4000), (32, 64)] {
            let key = random.bytes(32);
            let ssrc = random.next_u64() as u32;
            let counter = |index| srtp_counter(&SALT, ssrc, index);
            let plain = Ctr::new(features, &key).unwrap();
            let mut ahead = KeystreamAhead::with_buffer(features, &key, usual, buffer, counter).unwrap();
            assert!(ahead.packets() >= 1);
            let mut index = random.next_u64() >> random.below(64);
            for round in 0..600 {
                let packet = match random.below(12) {
                    0 => index.wrapping_sub(random.below(100) as u64),
                    1 => random.next_u64(),
                    2 => {
                        index = index.wrapping_add(random.below(120) as u64);
                        index
                    }
                    _ => index,
                };
                index = index.wrapping_add(1);
                let len = match random.below(4) {
                    0 => random.below(usual + 1),
                    1 if round % 8 == 0 => usual + random.below(300),
                    _ => usual,
                };
                let data = random.bytes(len);
                let mut expected = data.clone();
                plain.apply(&counter(packet), InOut::in_place(&mut expected));
                let mut result = vec![0; len];
                ahead.apply(packet, InOut::separate(&data, &mut result).unwrap());
                assert!(result == expected, "packet {packet:x} of {len} bytes");
                if random.below(20) == 0 {
                    let mut again = data;
                    ahead.apply(packet, InOut::in_place(&mut again));
                    assert!(again == expected, "packet {packet:x} again");
                }
            }
        }
    }
}
