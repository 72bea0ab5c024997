//! f8 and f9 over many messages: every row at every lane position, against TS 35.203, the direct
//! kernels and Intel's library.

mod kasumi_common;

#[cfg(target_arch = "x86_64")]
use kasumi_common::intel::Library;
use kasumi_common::{F8_SETS, F9_SETS};
use millstream_cpu::Features;
use millstream_engines::kasumi::{
    F8, F8Job, F8Lanes, F8LanesOps, F9, F9Job, F9Lanes, F9LanesOps, UEA1, UEA1_LANES, UIA1_LANES,
};
use millstream_engines::{Bound, Engine, Error, InOut};
use millstream_testkit::{Guarded, Ran, Random, executes, feature_subsets, hex, hex_array};
use proptest::prelude::*;

/// The widest row's lanes.
const WIDTH: usize = 64;

fn f8_rows() -> impl Iterator<Item = Bound<F8LanesOps>> {
    UEA1_LANES.available(Features::hardware()).filter(|row| executes("kasumi-f8-lanes", row.kernel().name))
}

fn f9_rows() -> impl Iterator<Item = Bound<F9LanesOps>> {
    UIA1_LANES.available(Features::hardware()).filter(|row| executes("kasumi-f9-lanes", row.kernel().name))
}

/// A message and its parameters, from which jobs of both modes are made.
#[derive(Clone, Debug)]
struct Message {
    key: [u8; 16],
    count: u32,
    fresh: u32,
    bearer: u8,
    direction: u8,
    bits: usize,
    data: Vec<u8>,
}

impl Message {
    fn random(random: &mut Random, bits: usize) -> Self {
        Message {
            key: random.array(),
            count: random.next_u64() as u32,
            fresh: random.next_u64() as u32,
            bearer: random.below(32) as u8,
            direction: random.below(2) as u8,
            bits,
            data: random.bytes(bits.div_ceil(8)),
        }
    }

    /// What the portable kernel makes of it, alone.
    fn f8(&self) -> Vec<u8> {
        let mut data = self.data.clone();
        let key = F8::new(Features::none(), &self.key).unwrap();
        key.apply(self.count, self.bearer, self.direction, InOut::in_place(&mut data), self.bits).unwrap();
        data
    }

    fn f9(&self) -> [u8; 4] {
        let key = F9::new(Features::none(), &self.key).unwrap();
        key.mac(self.count, self.fresh, self.direction, &self.data, self.bits).unwrap()
    }
}

/// Every message through the row, in place and from one buffer to another, as expected.
fn check_f8(row: Bound<F8LanesOps>, messages: &[Message], want: &[Vec<u8>]) {
    let lanes = F8Lanes::with_kernel(row);
    let keys: Vec<F8> = messages.iter().map(|m| F8::new(Features::hardware(), &m.key).unwrap()).collect();
    for in_place in [true, false] {
        let mut outputs: Vec<Vec<u8>> = messages
            .iter()
            .map(|m| if in_place { m.data.clone() } else { vec![0xee; m.data.len()] })
            .collect();
        let mut jobs: Vec<F8Job<'_>> = Vec::new();
        for ((message, key), output) in messages.iter().zip(&keys).zip(&mut outputs) {
            let data = if in_place {
                InOut::in_place(output)
            } else {
                InOut::separate(&message.data, output).unwrap()
            };
            jobs.push(F8Job::new(key, message.count, message.bearer, message.direction, data, message.bits));
        }
        lanes.apply(&mut jobs.iter_mut().collect::<Vec<_>>());
        assert!(jobs.iter().all(|job| job.result == Ok(())));
        drop(jobs);
        for (i, (output, want)) in outputs.iter().zip(want).enumerate() {
            assert_eq!(output, want, "{row:?}, message {i} of {}, {} bits", messages.len(), messages[i].bits);
        }
    }
}

fn check_f9(row: Bound<F9LanesOps>, messages: &[Message], want: &[[u8; 4]]) {
    let keys: Vec<F9> = messages.iter().map(|m| F9::new(Features::hardware(), &m.key).unwrap()).collect();
    let mut jobs: Vec<F9Job<'_>> = messages
        .iter()
        .zip(&keys)
        .map(|(m, key)| F9Job::new(key, m.count, m.fresh, m.direction, &m.data, m.bits))
        .collect();
    F9Lanes::with_kernel(row).mac(&mut jobs.iter_mut().collect::<Vec<_>>());
    for (i, (job, want)) in jobs.iter().zip(want).enumerate() {
        assert_eq!(job.result, Ok(*want), "{row:?}, message {i} of {}, {} bits", messages.len(), job.bits);
    }
}

/// Every row of both tables on these messages.
fn check(messages: &[Message]) {
    let want: Vec<Vec<u8>> = messages.iter().map(Message::f8).collect();
    for row in f8_rows() {
        check_f8(row, messages, &want);
    }
    let want: Vec<[u8; 4]> = messages.iter().map(Message::f9).collect();
    for row in f9_rows() {
        check_f9(row, messages, &want);
    }
}

/// The published sets in turn, so that each set is at each position once.
#[test]
fn test_sets_of_the_standard_in_every_lane() {
    let mut ran = Ran::new("kasumi lanes, TS 35.203");
    for first in 0..5 {
        let sets: Vec<_> = (0..WIDTH + 5).map(|i| F8_SETS[(first + i) % 5]).collect();
        let messages: Vec<Message> = sets
            .iter()
            .map(|&(key, count, bearer, direction, bits, plain, _)| Message {
                key: hex_array(key),
                count,
                fresh: 0,
                bearer,
                direction,
                bits,
                data: hex(plain),
            })
            .collect();
        let want: Vec<Vec<u8>> = sets.iter().map(|set| hex(set.6)).collect();
        for row in f8_rows() {
            check_f8(row, &messages, &want);
            ran.kernel(row.kernel().name);
        }
        let sets: Vec<_> = (0..WIDTH + 5).map(|i| F9_SETS[(first + i) % 5]).collect();
        let messages: Vec<Message> = sets
            .iter()
            .map(|&(key, count, fresh, direction, bits, message, _)| Message {
                key: hex_array(key),
                count,
                fresh,
                bearer: 0,
                direction,
                bits,
                data: hex(message),
            })
            .collect();
        let want: Vec<[u8; 4]> = sets.iter().map(|set| hex_array(set.6)).collect();
        for row in f9_rows() {
            check_f9(row, &messages, &want);
        }
    }
    ran.missing((&UEA1_LANES).kernels().iter().map(|k| (k.name, k.requires)));
    ran.at_least(1);
}

/// Every number of messages to three widths and one, the lengths of mixed bits and no bits.
#[test]
fn every_number_of_messages() {
    let mut random = Random::new(1);
    let messages: Vec<Message> = (0..3 * WIDTH + 1)
        .map(|i| {
            let bits = random.below([1, 8, 64, 65, 200, 700][i % 6]);
            Message::random(&mut random, bits)
        })
        .collect();
    let (want, codes): (Vec<_>, Vec<_>) = messages.iter().map(|m| (m.f8(), m.f9())).unzip();
    for n in 1..=messages.len() {
        for row in f8_rows() {
            check_f8(row, &messages[..n], &want[..n]);
        }
        for row in f9_rows() {
            check_f9(row, &messages[..n], &codes[..n]);
        }
    }
}

/// A message that takes another's lane and is ended by the direct kernel before the lane runs again, because too few
/// are left.
#[test]
fn a_lane_that_is_filled_and_never_run() {
    let mut random = Random::new(12);
    for bits in [64, 128, 1000] {
        for more in 1..=3 {
            let messages: Vec<Message> =
                (0..WIDTH + more).map(|_| Message::random(&mut random, bits)).collect();
            check(&messages);
            check(&messages[..WIDTH / 2 + more]);
        }
    }
}

/// Every length in bits to a few blocks, all in one call and each as that of all messages.
#[test]
fn every_length() {
    let mut random = Random::new(2);
    let messages: Vec<Message> = (0..=8 * 75).map(|bits| Message::random(&mut random, bits)).collect();
    check(&messages);
    for bits in 0..=8 * 10 {
        let messages: Vec<Message> = (0..5).map(|_| Message::random(&mut random, bits)).collect();
        check(&messages);
    }
}

/// One message far longer than the others, which the direct kernel ends; and block numbers of more
/// than two bytes.
#[test]
fn lengths_far_apart() {
    let mut random = Random::new(3);
    for long in [64 * 20 + 7, 64 * 300] {
        for others in [2, 40, WIDTH + 9] {
            let mut messages: Vec<Message> =
                (0..others).map(|i| Message::random(&mut random, 9 * i)).collect();
            messages.push(Message::random(&mut random, long));
            check(&messages);
        }
    }
    let messages: Vec<Message> = (0..4).map(|i| Message::random(&mut random, 64 * (65_550 + i))).collect();
    let want: Vec<Vec<u8>> = messages.iter().map(Message::f8).collect();
    for row in f8_rows() {
        check_f8(row, &messages, &want);
    }
}

/// Nothing outside the buffers is touched.
#[test]
fn guarded_buffers() {
    let mut random = Random::new(4);
    let messages: Vec<Message> = (0..2 * WIDTH).map(|i| Message::random(&mut random, 11 * i % 301)).collect();
    let f8_keys: Vec<F8> = messages.iter().map(|m| F8::new(Features::hardware(), &m.key).unwrap()).collect();
    let f9_keys: Vec<F9> = messages.iter().map(|m| F9::new(Features::hardware(), &m.key).unwrap()).collect();
    for new in [Guarded::at_start, Guarded::at_end] {
        let inputs: Vec<Guarded> = messages.iter().map(|m| new(&m.data)).collect();
        for row in f8_rows() {
            let mut outputs: Vec<Guarded> = messages.iter().map(|m| new(&vec![0; m.data.len()])).collect();
            let mut jobs: Vec<F8Job<'_>> = Vec::new();
            for (i, output) in outputs.iter_mut().enumerate() {
                let (m, data) = (&messages[i], InOut::separate(&inputs[i], output).unwrap());
                jobs.push(F8Job::new(&f8_keys[i], m.count, m.bearer, m.direction, data, m.bits));
            }
            F8Lanes::with_kernel(row).apply(&mut jobs.iter_mut().collect::<Vec<_>>());
            drop(jobs);
            for (message, output) in messages.iter().zip(&outputs) {
                assert_eq!(**output, *message.f8(), "{row:?}, {} bits", message.bits);
            }
        }
        for row in f9_rows() {
            let mut jobs: Vec<F9Job<'_>> = Vec::new();
            for (i, m) in messages.iter().enumerate() {
                jobs.push(F9Job::new(&f9_keys[i], m.count, m.fresh, m.direction, &inputs[i], m.bits));
            }
            F9Lanes::with_kernel(row).mac(&mut jobs.iter_mut().collect::<Vec<_>>());
            for (message, job) in messages.iter().zip(&jobs) {
                assert_eq!(job.result, Ok(message.f9()), "{row:?}, {} bits", message.bits);
            }
        }
    }
}

/// Keys of every direct kernel in the lanes of every row.
#[test]
fn keys_of_any_kernel() {
    let kernels: Vec<_> = UEA1.available(Features::hardware()).collect();
    let messages: Vec<Message> =
        (0..20).map(|i| Message::random(&mut Random::new(i), 130 + i as usize)).collect();
    for row in f8_rows() {
        let keys: Vec<F8> = messages
            .iter()
            .enumerate()
            .map(|(i, m)| F8::with_kernel(kernels[i % kernels.len()], &m.key).unwrap())
            .collect();
        let mut buffers: Vec<Vec<u8>> = messages.iter().map(|m| m.data.clone()).collect();
        let mut jobs: Vec<F8Job<'_>> = Vec::new();
        for ((m, key), buffer) in messages.iter().zip(&keys).zip(&mut buffers) {
            jobs.push(F8Job::new(key, m.count, m.bearer, m.direction, InOut::in_place(buffer), m.bits));
        }
        F8Lanes::with_kernel(row).apply(&mut jobs.iter_mut().collect::<Vec<_>>());
        drop(jobs);
        assert!(buffers.iter().zip(&messages).all(|(buffer, m)| *buffer == m.f8()), "{row:?}");
    }
}

/// An initialisation vector whose last bits are no zeros begins with itself, in lanes as alone; with zeros it is COUNT, BEARER and DIRECTION.
#[test]
fn whole_initialisation_vectors_are_taken() {
    let messages: Vec<Message> =
        (0..20).map(|i| Message::random(&mut Random::new(i), 90 + 7 * i as usize)).collect();
    let ivs: Vec<u64> = (0..20).map(|i: u64| 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(i + 1)).collect();
    let keys: Vec<F8> = messages.iter().map(|m| F8::new(Features::hardware(), &m.key).unwrap()).collect();
    let alone = |key: &F8, iv: u64, m: &Message| {
        let mut data = m.data.clone();
        key.apply_iv(iv, InOut::in_place(&mut data), m.bits).unwrap();
        data
    };
    for (m, key) in messages.iter().zip(&keys) {
        let iv = u64::from(m.count) << 32 | u64::from(m.bearer) << 27 | u64::from(m.direction) << 26;
        assert_eq!(alone(key, iv, m), m.f8());
        assert_ne!(alone(key, iv | 1, m), m.f8());
    }
    for row in f8_rows() {
        let mut buffers: Vec<Vec<u8>> = messages.iter().map(|m| m.data.clone()).collect();
        let jobs = messages.iter().zip(&keys).zip(&ivs).zip(&mut buffers);
        let mut jobs: Vec<F8Job<'_>> = jobs
            .map(|(((m, key), iv), buffer)| F8Job::with_iv(key, *iv, InOut::in_place(buffer), m.bits))
            .collect();
        F8Lanes::with_kernel(row).apply(&mut jobs.iter_mut().collect::<Vec<_>>());
        drop(jobs);
        for (((m, key), iv), buffer) in messages.iter().zip(&keys).zip(&ivs).zip(&buffers) {
            assert_eq!(*buffer, alone(key, *iv, m), "{row:?}");
        }
    }
}

/// What is wrong with one message is said there and does not touch the others, nor its buffer.
#[test]
fn errors_stay_with_their_message() {
    let (key, code_key) = (F8::new(Features::hardware(), &[1; 16]), F9::new(Features::hardware(), &[1; 16]));
    let (key, code_key) = (key.unwrap(), code_key.unwrap());
    let mut want = [5; 9];
    key.apply(1, 2, 1, InOut::in_place(&mut want), 72).unwrap();
    for row in f8_rows() {
        let mut buffers = [[5; 9]; 12];
        let mut jobs = buffers.each_mut().map(|b| F8Job::new(&key, 1, 2, 1, InOut::in_place(b), 72));
        jobs[0].bits = 73;
        jobs[4].bearer = 32;
        jobs[11].direction = 2;
        F8Lanes::with_kernel(row).apply(&mut jobs.each_mut());
        assert!(matches!(jobs[0].result, Err(Error::DataLength { given: 73, .. })));
        assert!(matches!(jobs[4].result, Err(Error::Parameter { name: "BEARER", given: 32, .. })));
        assert!(matches!(jobs[11].result, Err(Error::Parameter { name: "DIRECTION", given: 2, .. })));
        for (i, buffer) in buffers.iter().enumerate() {
            assert_eq!(*buffer, if [0, 4, 11].contains(&i) { [5; 9] } else { want }, "{row:?}, message {i}");
        }
    }
    let want = code_key.mac(1, 2, 1, &[5; 9], 72);
    for row in f9_rows() {
        let mut jobs = [(); 12].map(|()| F9Job::new(&code_key, 1, 2, 1, &[5; 9], 72));
        jobs[3].bits = 64;
        jobs[7].direction = 255;
        F9Lanes::with_kernel(row).mac(&mut jobs.each_mut());
        for (i, job) in jobs.iter().enumerate() {
            match i {
                3 => assert!(matches!(job.result, Err(Error::DataLength { given: 64, .. }))),
                7 => assert!(matches!(job.result, Err(Error::Parameter { given: 255, .. }))),
                _ => assert_eq!(job.result, want, "{row:?}, message {i}"),
            }
        }
    }
}

#[test]
fn every_subset_of_features() {
    let mut ran = Ran::new("kasumi lanes, feature subsets");
    let messages: Vec<Message> = (0..9).map(|i| Message::random(&mut Random::new(i), 77)).collect();
    let (want, codes): (Vec<_>, Vec<_>) = messages.iter().map(|m| (m.f8(), m.f9())).unzip();
    for features in feature_subsets((&UEA1_LANES).kernels().iter().map(|k| k.requires)) {
        check_f8(UEA1_LANES.best(features), &messages, &want);
        check_f9(UIA1_LANES.best(features), &messages, &codes);
        ran.kernel(F8Lanes::new(features).kernel().name);
    }
    ran.at_least(1);
}

/// Few short messages: Miri takes seconds for a block in 64 lanes.
#[test]
fn miri_a_few_messages() {
    let mut random = Random::new(6);
    check(&[70, 24, 33, 0].map(|bits| Message::random(&mut random, bits)));
}

#[cfg(target_arch = "x86_64")]
#[test]
fn agrees_with_ipsec_mb() {
    let Some(intel) = Library::load() else {
        return millstream_testkit::skip(
            "kasumi lanes: Intel's ipsec-mb 1.x (libipsec-mb1) is not installed",
        );
    };
    let mut random = Random::new(7);
    let messages: Vec<Message> = (1..=400).map(|bits| Message::random(&mut random, bits)).collect();
    let encrypt = |m: &Message| intel.f8(&m.key, m.count, m.bearer, m.direction, &m.data, m.bits);
    let want: Vec<Vec<u8>> = messages.iter().map(encrypt).collect();
    let code = |m: &Message| intel.f9(&m.key, m.count, m.fresh, m.direction, &m.data, m.bits);
    let codes: Vec<[u8; 4]> = messages.iter().map(code).collect();
    for row in f8_rows() {
        check_f8(row, &messages, &want);
    }
    for row in f9_rows() {
        check_f9(row, &messages, &codes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_set_of_messages(
        seed in any::<u64>(),
        bits in proptest::collection::vec(prop_oneof![0usize..70, 0usize..1200, Just(512usize)], 0..150),
    ) {
        let mut random = Random::new(seed);
        check(&bits.into_iter().map(|bits| Message::random(&mut random, bits)).collect::<Vec<_>>());
    }
}
