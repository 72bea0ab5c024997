//! DES and triple DES, many messages at a time: every row of lanes against the direct kernels,
//! RustCrypto, and published vectors.
//!
//! Ref. NIST CAVP, TDES multi-block message tests; FIPS 81; FIPS 113.

use ::des::cipher::{Block, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use millstream_cpu::Features;
use millstream_engines::des::{self, CbcJob, CbcLanes, CfbJob, CfbLanes, LanesOps, MacJob, MacLanes};
use millstream_engines::modes::{BlockMode, ByteStream, Direction};
use millstream_engines::{Bound, Engine, InOut};
use millstream_testkit::{Guarded, Ran, Random, cavp, feature_subsets, hex, hex_array};
use proptest::prelude::*;

/// The most messages that any row takes at a time.
const WIDTH: usize = 256;

fn kernels() -> Vec<Bound<LanesOps>> {
    des::TRIPLE_CBC_LANES.available(Features::hardware()).collect()
}

fn ran(what: &'static str) -> Ran {
    let mut ran = Ran::new(what);
    for kernel in kernels() {
        ran.kernel(kernel.kernel().name);
    }
    ran.missing((&des::TRIPLE_CBC_LANES).kernels().iter().map(|kernel| (kernel.name, kernel.requires)));
    ran.at_least(2);
    ran
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Encrypt,
    Decrypt,
    Cfb,
    Mac,
}
use Mode::{Cfb, Decrypt, Encrypt, Mac};

/// A message under the key of that number.
#[derive(Clone, Debug)]
struct Message {
    key: usize,
    iv: [u8; 8],
    data: Vec<u8>,
}

/// What a message becomes: its bytes, empty for a MAC, and the chaining value.
type Answer = (Vec<u8>, [u8; 8]);

/// A key in each of the types that jobs take.
struct Keys {
    bytes: Vec<u8>,
    cbc: des::Cbc,
    cfb: des::Cfb,
    mac: des::Mac,
}

impl Keys {
    fn new(features: Features, bytes: Vec<u8>) -> Self {
        let cbc = des::Cbc::new(features, &bytes).unwrap();
        let cfb = des::Cfb::new(features, &bytes).unwrap();
        let mac = des::Mac::new(features, &bytes).unwrap();
        Keys { bytes, cbc, cfb, mac }
    }

    /// As many as that: of all lengths, made for this processor's direct kernels and for others'.
    fn many(random: &mut Random, count: usize) -> Vec<Keys> {
        (0..count)
            .map(|i| {
                let features = if i % 5 == 4 { Features::none() } else { Features::hardware() };
                Keys::new(features, random.bytes([24, 16, 24, 8][i % 4]))
            })
            .collect()
    }
}

/// One block by RustCrypto.
fn theirs(key: &[u8], direction: Direction, block: [u8; 8]) -> [u8; 8] {
    fn pass<C: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt>(
        key: &[u8],
        direction: Direction,
        block: &mut Block<C>,
    ) {
        let cipher = C::new_from_slice(key).unwrap();
        match direction {
            Direction::Encrypt => cipher.encrypt_block(block),
            Direction::Decrypt => cipher.decrypt_block(block),
        }
    }
    let mut block = block.into();
    match key.len() {
        8 => pass::<::des::Des>(key, direction, &mut block),
        16 => pass::<::des::TdesEde2>(key, direction, &mut block),
        _ => pass::<::des::TdesEde3>(key, direction, &mut block),
    }
    block.into()
}

fn xor(a: [u8; 8], b: [u8; 8]) -> [u8; 8] {
    std::array::from_fn(|i| a[i] ^ b[i])
}

/// The modes by their definitions, over RustCrypto's blocks.
fn reference(mode: Mode, key: &[u8], message: &Message) -> Answer {
    let mut chain = if mode == Mac { [0; 8] } else { message.iv };
    let mut out = Vec::new();
    for piece in message.data.chunks(8) {
        let mut input = [0; 8];
        input[..piece.len()].copy_from_slice(piece);
        match mode {
            Encrypt | Mac => chain = theirs(key, Direction::Encrypt, xor(chain, input)),
            Decrypt => {
                let block = xor(chain, theirs(key, Direction::Decrypt, input));
                out.extend(block);
                chain = input;
            }
            Cfb => {
                let block = xor(input, theirs(key, Direction::Encrypt, chain));
                out.extend(&block[..piece.len()]);
                if piece.len() == 8 {
                    chain = block;
                }
            }
        }
        if mode == Encrypt {
            out.extend(chain);
        }
    }
    (out, chain)
}

/// Where a message's output goes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    In,
    Apart,
}

/// Runs the messages through the lanes, from and into those buffers.
fn run<B: AsMut<[u8]>>(
    kernel: Bound<LanesOps>,
    mode: Mode,
    keys: &[Keys],
    messages: &[Message],
    place: Place,
    buffer: impl Fn(&[u8]) -> B,
) -> Vec<Answer> {
    let mut inputs: Vec<B> = messages.iter().map(|message| buffer(&message.data)).collect();
    let mut outputs: Vec<B> =
        messages.iter().map(|message| buffer(&vec![0xa5; message.data.len()])).collect();
    let pairs = inputs.iter_mut().map(AsMut::as_mut).zip(outputs.iter_mut().map(AsMut::as_mut));
    let passes = pairs.map(|(input, output)| match place {
        Place::In => InOut::in_place(input),
        Place::Apart => InOut::separate(input, output).unwrap(),
    });
    let ivs: Vec<[u8; 8]> = match mode {
        Encrypt | Decrypt => {
            let with_keys = passes.zip(messages);
            let mut jobs: Vec<_> = with_keys
                .map(|(data, message)| CbcJob { key: &keys[message.key].cbc, iv: message.iv, data })
                .collect();
            let lanes = CbcLanes::with_kernel(kernel);
            let mut refs: Vec<_> = jobs.iter_mut().collect();
            if mode == Encrypt {
                lanes.encrypt(&mut refs)
            } else {
                lanes.decrypt(&mut refs)
            }
            jobs.iter().map(|job| job.iv).collect()
        }
        Cfb => {
            let with_keys = passes.zip(messages);
            let mut jobs: Vec<_> = with_keys
                .map(|(data, message)| CfbJob { key: &keys[message.key].cfb, iv: message.iv, data })
                .collect();
            CfbLanes::with_kernel(kernel).encrypt(&mut jobs.iter_mut().collect::<Vec<_>>());
            jobs.iter().map(|job| job.iv).collect()
        }
        Mac => {
            let with_keys = passes.zip(messages);
            let mut passes: Vec<_> = with_keys.collect();
            let mut jobs: Vec<_> = passes
                .iter_mut()
                .map(|(data, message)| MacJob {
                    key: &keys[message.key].mac,
                    message: data.input(),
                    mac: message.iv,
                })
                .collect();
            MacLanes::with_kernel(kernel).mac(&mut jobs.iter_mut().collect::<Vec<_>>());
            jobs.iter().map(|job| job.mac).collect()
        }
    };
    let mut results = if place == Place::In { inputs } else { outputs };
    let data = results.iter_mut().map(|out| if mode == Mac { Vec::new() } else { out.as_mut().to_vec() });
    data.zip(ivs).collect()
}

/// Checks every message's answer on every row.
fn check(keys: &[Keys], messages: &[Message], modes: &[Mode], place: Place) {
    for &mode in modes {
        let expected: Vec<Answer> =
            messages.iter().map(|message| reference(mode, &keys[message.key].bytes, message)).collect();
        for kernel in kernels() {
            compare(kernel, mode, &run(kernel, mode, keys, messages, place, <[u8]>::to_vec), &expected);
        }
    }
}

fn compare(kernel: Bound<LanesOps>, mode: Mode, ours: &[Answer], expected: &[Answer]) {
    for (i, (ours, expected)) in ours.iter().zip(expected).enumerate() {
        assert!(ours == expected, "message {i}, {} bytes out, {mode:?} on {kernel:?}", expected.0.len());
    }
}

const ALL: [Mode; 4] = [Encrypt, Decrypt, Cfb, Mac];

/// The multi-block messages of NIST: all of them as the jobs of one call, in every lane in turn.
#[test]
fn published_vectors_in_every_lane() {
    for (file, modes) in [("CBC/TCBC", [Encrypt, Decrypt]), ("CFB/TCFB64", [Cfb, Cfb])] {
        for mode in modes {
            let wanted = if mode == Decrypt { "DECRYPT" } else { "ENCRYPT" };
            let cases = ["MMT2", "MMT3"].map(|kind| cavp::cases(&format!("ciphers/3DES/{file}{kind}.rsp")));
            let cases: Vec<_> =
                cases.into_iter().flatten().filter(|case| case.contains_key(wanted)).collect();
            assert_eq!(cases.len(), 20);
            let keys: Vec<Keys> = cases
                .iter()
                .map(|case| [hex(&case["KEY1"]), hex(&case["KEY2"]), hex(&case["KEY3"])].concat())
                .map(|key| Keys::new(Features::hardware(), key))
                .collect();
            let names =
                if mode == Decrypt { ["CIPHERTEXT", "PLAINTEXT"] } else { ["PLAINTEXT", "CIPHERTEXT"] };
            let [from, to] = names.map(|name| cases.iter().map(|case| hex(&case[name])).collect::<Vec<_>>());
            for (count, first) in (0..20).map(|first| (WIDTH + 3, first)).chain([(20, 0), (40, 7)]) {
                let order: Vec<usize> = (0..count).map(|i| (i + first) % 20).collect();
                let message =
                    |&key: &usize| Message { key, iv: hex_array(&cases[key]["IV"]), data: from[key].clone() };
                let messages: Vec<_> = order.iter().map(message).collect();
                for kernel in kernels() {
                    let answers = run(kernel, mode, &keys, &messages, Place::In, <[u8]>::to_vec);
                    for (lane, (answer, &case)) in answers.iter().zip(&order).enumerate() {
                        assert!(answer.0 == to[case], "{file} case {case} as job {lane} on {kernel:?}");
                    }
                }
            }
        }
    }
    ran("des-lanes: vectors");
}

/// Every number of messages up to where slices begin, and those around whole waves.
#[test]
fn any_number_of_messages() {
    let mut random = Random::new(1);
    let keys = Keys::many(&mut random, 9);
    for one_key in [true, false] {
        let messages: Vec<Message> = (0..3 * WIDTH + 1)
            .map(|i| Message {
                key: if one_key { 0 } else { i % keys.len() },
                iv: random.array(),
                data: random.bytes(40),
            })
            .collect();
        for mode in [Encrypt, Decrypt] {
            let expected: Vec<Answer> =
                messages.iter().map(|message| reference(mode, &keys[message.key].bytes, message)).collect();
            for kernel in kernels() {
                let counts = (0..=140).chain(WIDTH - 2..=WIDTH + 2).chain([2 * WIDTH + 1, 3 * WIDTH + 1]);
                for count in counts {
                    let ours = run(kernel, mode, &keys, &messages[..count], Place::In, <[u8]>::to_vec);
                    assert_eq!(ours.len(), count);
                    compare(kernel, mode, &ours, &expected);
                }
            }
        }
    }
    ran("des-lanes: counts");
}

/// Lengths from nothing to some batches, whole blocks where the mode needs them, in any order.
fn ragged(random: &mut Random, count: usize, keys: usize, blocks: usize, whole: bool) -> Vec<Message> {
    (0..count)
        .map(|_| {
            let len = if whole { 8 * random.below(blocks + 1) } else { random.below(8 * blocks + 1) };
            Message { key: random.below(keys), iv: random.array(), data: random.bytes(len) }
        })
        .collect()
}

#[test]
fn mixed_lengths_and_keys() {
    let mut random = Random::new(2);
    let keys = Keys::many(&mut random, 40);
    for (count, blocks) in [(3, 40), (21, 9), (50, 20), (150, 27), (2 * WIDTH + 90, 19), (WIDTH, 1)] {
        for many in [1, 2, keys.len()] {
            for place in [Place::In, Place::Apart] {
                check(&keys, &ragged(&mut random, count, many, blocks, true), &ALL, place);
                check(&keys, &ragged(&mut random, count, many, blocks, false), &[Cfb, Mac], place);
            }
        }
    }
    ran("des-lanes: lengths");
}

/// One long message among short ones: the wave must become narrow, and the direct kernel end it.
#[test]
fn one_outlasts_the_others() {
    let mut random = Random::new(3);
    let keys = Keys::many(&mut random, 8);
    for count in [2, 30, 200, WIDTH + 20] {
        let mut messages = ragged(&mut random, count, keys.len(), 4, true);
        messages[count / 2].data = random.bytes(8 * 301);
        check(&keys, &messages, &ALL, Place::In);
    }
}

#[test]
fn between_guard_pages() {
    let mut random = Random::new(4);
    let keys = Keys::many(&mut random, 5);
    for (mode, whole) in [(Encrypt, true), (Decrypt, true), (Cfb, false), (Mac, false)] {
        for count in [5, 33, 140] {
            let messages = ragged(&mut random, count, keys.len(), 18, whole);
            let expected: Vec<Answer> =
                messages.iter().map(|message| reference(mode, &keys[message.key].bytes, message)).collect();
            for kernel in kernels() {
                for place in [Place::In, Place::Apart] {
                    for guarded in [Guarded::at_start, Guarded::at_end] {
                        let buffer = |bytes: &[u8]| Lent(guarded(bytes));
                        let ours = run(kernel, mode, &keys, &messages, place, buffer);
                        compare(kernel, mode, &ours, &expected);
                    }
                }
            }
        }
    }
}

struct Lent(Guarded);

impl AsMut<[u8]> for Lent {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

#[test]
fn the_direct_kernels_agree() {
    let mut random = Random::new(5);
    let keys = Keys::many(&mut random, 12);
    for (mode, whole) in [(Encrypt, true), (Decrypt, true), (Cfb, false), (Mac, false)] {
        let messages = ragged(&mut random, 300, keys.len(), 30, whole);
        let direct = |message: &Message| {
            let (keys, mut data, mut iv) = (&keys[message.key], message.data.clone(), message.iv);
            match mode {
                Encrypt => keys.cbc.encrypt(&mut iv, data.as_mut_slice().into()),
                Decrypt => keys.cbc.decrypt(&mut iv, data.as_mut_slice().into()),
                Cfb => {
                    let mut stream = ByteStream::new(&keys.cfb, &iv, Direction::Encrypt).unwrap();
                    stream.update(data.as_mut_slice().into());
                }
                Mac => {
                    let mut mac = des::Mac::new(Features::hardware(), &keys.bytes).unwrap();
                    mac.update(&data);
                    data = mac.finish_block().to_vec();
                }
            }
            data
        };
        let expected: Vec<_> = messages.iter().map(direct).collect();
        for kernel in kernels() {
            let ours = run(kernel, mode, &keys, &messages, Place::Apart, <[u8]>::to_vec);
            for ((data, chain), expected) in ours.iter().zip(&expected) {
                let ours = if mode == Mac { chain.as_slice() } else { data };
                assert!(ours == expected, "{mode:?} on {kernel:?}");
            }
        }
    }
}

#[test]
fn every_feature_subset() {
    let mut random = Random::new(6);
    let keys = Keys::many(&mut random, 4);
    let messages = ragged(&mut random, 150, keys.len(), 12, true);
    let expected: Vec<Answer> =
        messages.iter().map(|message| reference(Encrypt, &keys[message.key].bytes, message)).collect();
    for features in feature_subsets((&des::CBC_LANES).kernels().iter().map(|kernel| kernel.requires)) {
        let kernel = des::CBC_LANES.best(features);
        assert_eq!(CbcLanes::new(features).kernel().name, kernel.kernel().name);
        compare(
            kernel,
            Encrypt,
            &run(kernel, Encrypt, &keys, &messages, Place::In, <[u8]>::to_vec),
            &expected,
        );
    }
}

#[test]
fn a_mac_ignores_what_was_added_to_its_key() {
    let mut key = des::Mac::new(Features::hardware(), &[7; 24]).unwrap();
    key.update(b"something else");
    for kernel in kernels() {
        let mut jobs: Vec<_> =
            (0..40).map(|_| MacJob { key: &key, message: b"of any length", mac: [1; 8] }).collect();
        MacLanes::with_kernel(kernel).mac(&mut jobs.iter_mut().collect::<Vec<_>>());
        let expected = des::mac(Features::hardware(), &[7; 24], b"of any length").unwrap();
        assert!(jobs.iter().all(|job| job.mac[..4] == expected), "{kernel:?}");
    }
}

#[test]
#[should_panic(expected = "not whole blocks")]
fn cbc_takes_whole_blocks() {
    let key = des::Cbc::new(Features::none(), &[7; 8]).unwrap();
    let mut data = [0; 9];
    let mut job = CbcJob { key: &key, iv: [0; 8], data: InOut::in_place(&mut data) };
    CbcLanes::new(Features::none()).encrypt(&mut [&mut job]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_set_of_jobs(seed: u64, count in 0..400usize, keys in 1..30usize, blocks in 0..24usize, whole: bool) {
        let mut random = Random::new(seed);
        let keys = Keys::many(&mut random, keys);
        let messages = ragged(&mut random, count, keys.len(), blocks, whole);
        let modes: &[Mode] = if whole { &ALL } else { &[Cfb, Mac] };
        check(&keys, &messages, modes, Place::Apart);
    }
}

/// For Miri: the small forms, and with DES, to be short, enough messages for slices.
#[test]
fn miri_long_few_messages() {
    let mut random = Random::new(7);
    let keys = Keys::many(&mut random, 3);
    check(&keys, &ragged(&mut random, 3, 3, 2, true), &ALL, Place::In);
    let keys: Vec<Keys> = (0..2).map(|_| Keys::new(Features::hardware(), random.bytes(8))).collect();
    let block = |i: usize| Message { key: i % 2, iv: [i as u8; 8], data: vec![i as u8; 8] };
    let messages: Vec<Message> = (0..18).map(block).collect();
    check(&keys, &messages, &[Encrypt, Decrypt], Place::Apart);
    ran("des-lanes");
}
