//! Camellia in CBC and CTR over many messages: every row at every lane position, against RFC 3713,
//! the direct kernels and another implementation.

use camellia::cipher::{Block, BlockCipherEncrypt, KeyInit};
use millstream_cpu::Features;
use millstream_engines::camellia::{
    CBC, CBC_LANES, CTR, CTR_LANES, Cbc, CbcJob, CbcLanes, CbcLanesOps, Ctr, CtrJob, CtrLanes, CtrLanesOps,
};
use millstream_engines::modes::{BlockMode, ByteStream, Direction};
use millstream_engines::{Bound, Engine, InOut};
use millstream_testkit::{Guarded, Ran, Random, executes, feature_subsets, hex, hex_array};
use proptest::prelude::*;

/// The widest row's lanes.
const WIDTH: usize = 32;

fn cbc_rows() -> impl Iterator<Item = Bound<CbcLanesOps>> {
    let rows = CBC_LANES.available(Features::hardware());
    rows.filter(|row| executes("camellia-cbc-lanes", row.kernel().name))
}

fn ctr_rows() -> impl Iterator<Item = Bound<CtrLanesOps>> {
    let rows = CTR_LANES.available(Features::hardware());
    rows.filter(|row| executes("camellia-ctr-lanes", row.kernel().name))
}

/// A message; in CBC its last bytes that are no whole block play no part.
#[derive(Clone, Debug)]
struct Message {
    key: Vec<u8>,
    iv: [u8; 16],
    data: Vec<u8>,
}

impl Message {
    fn random(random: &mut Random, key_len: usize, len: usize) -> Self {
        Message { key: random.bytes(key_len), iv: random.array(), data: random.bytes(len) }
    }

    fn whole(&self) -> &[u8] {
        &self.data[..self.data.len() / 16 * 16]
    }

    /// What the portable kernel makes of it, alone: ciphertext and last block.
    fn cbc(&self) -> (Vec<u8>, [u8; 16]) {
        let (mut data, mut chain) = (self.whole().to_vec(), self.iv);
        Cbc::new(Features::none(), &self.key).unwrap().encrypt(&mut chain, InOut::in_place(&mut data));
        (data, chain)
    }

    fn ctr(&self) -> Vec<u8> {
        let mut data = self.data.clone();
        let key = Ctr::new(Features::none(), &self.key).unwrap();
        ByteStream::new(&key, &self.iv, Direction::Encrypt).unwrap().update(InOut::in_place(&mut data));
        data
    }
}

/// One key for each message, or one for all of them if `same`.
fn keys<K>(messages: &[Message], same: bool, new: impl Fn(usize, &[u8]) -> K) -> Vec<K> {
    let keys = if same { &messages[..1] } else { messages };
    keys.iter().enumerate().map(|(i, m)| new(i, &m.key)).collect()
}

/// Every message through the row, in place and from one buffer to another, as expected.
fn check_cbc(row: Bound<CbcLanesOps>, messages: &[Message], same: bool, want: &[(Vec<u8>, [u8; 16])]) {
    let kernels: Vec<_> = CBC.available(Features::hardware()).collect();
    let keys = keys(messages, same, |i, key| Cbc::with_kernel(kernels[i % kernels.len()], key).unwrap());
    for in_place in [true, false] {
        let mut outputs: Vec<Vec<u8>> = messages
            .iter()
            .map(|m| if in_place { m.whole().to_vec() } else { vec![0xee; m.whole().len()] })
            .collect();
        let mut jobs: Vec<CbcJob<'_>> = Vec::new();
        for (i, (m, output)) in messages.iter().zip(&mut outputs).enumerate() {
            let data =
                if in_place { InOut::in_place(output) } else { InOut::separate(m.whole(), output).unwrap() };
            jobs.push(CbcJob { key: &keys[i % keys.len()], iv: m.iv, data });
        }
        CbcLanes::with_kernel(row).encrypt(&mut jobs.iter_mut().collect::<Vec<_>>());
        let chains: Vec<[u8; 16]> = jobs.iter().map(|job| job.iv).collect();
        drop(jobs);
        for (i, (output, chain)) in outputs.iter().zip(chains).enumerate() {
            assert_eq!(
                (output, chain),
                (&want[i].0, want[i].1),
                "{row:?}, message {i} of {}",
                messages.len()
            );
        }
    }
}

fn check_ctr(row: Bound<CtrLanesOps>, messages: &[Message], same: bool, want: &[Vec<u8>]) {
    let kernels: Vec<_> = CTR.available(Features::hardware()).collect();
    let keys = keys(messages, same, |i, key| Ctr::with_kernel(kernels[i % kernels.len()], key).unwrap());
    for in_place in [true, false] {
        let mut outputs: Vec<Vec<u8>> = messages
            .iter()
            .map(|m| if in_place { m.data.clone() } else { vec![0xee; m.data.len()] })
            .collect();
        let mut jobs: Vec<CtrJob<'_>> = Vec::new();
        for (i, (m, output)) in messages.iter().zip(&mut outputs).enumerate() {
            let data =
                if in_place { InOut::in_place(output) } else { InOut::separate(&m.data, output).unwrap() };
            jobs.push(CtrJob { key: &keys[i % keys.len()], counter: m.iv, data });
        }
        CtrLanes::with_kernel(row).apply(&mut jobs.iter_mut().collect::<Vec<_>>());
        drop(jobs);
        for (i, output) in outputs.iter().enumerate() {
            assert_eq!(output, &want[i], "{row:?}, message {i} of {}", messages.len());
        }
    }
}

/// Every row of both tables on these messages, each under its own key.
fn check(messages: &[Message]) {
    let want: Vec<_> = messages.iter().map(Message::cbc).collect();
    for row in cbc_rows() {
        check_cbc(row, messages, false, &want);
    }
    let want: Vec<_> = messages.iter().map(Message::ctr).collect();
    for row in ctr_rows() {
        check_ctr(row, messages, false, &want);
    }
}

/// RFC 3713 appendix A, the keys of each size in turn, so that each is at each position once.
#[test]
fn examples_of_the_standard_in_every_lane() {
    let key = "0123456789abcdeffedcba987654321000112233445566778899aabbccddeeff";
    let ciphers = [
        (16, "67673138549669730857065648eabe43"),
        (24, "b4993401b3e996f84ee5cee7d79b09b9"),
        (32, "9acc237dff16d76c20ef7c919e3a7509"),
    ];
    let plain = hex(&key[..32]);
    let mut ran = Ran::new("camellia lanes, RFC 3713");
    for first in 0..3 {
        let sets: Vec<_> = (0..3 * WIDTH).map(|i| ciphers[(first + i) % 3]).collect();
        let cbc: Vec<Message> = sets
            .iter()
            .map(|&(len, _)| Message { key: hex(key)[..len].to_vec(), iv: [0; 16], data: plain.clone() })
            .collect();
        let ctr: Vec<Message> = sets
            .iter()
            .map(|&(len, _)| Message {
                key: hex(key)[..len].to_vec(),
                iv: hex_array(&key[..32]),
                data: vec![0; 16],
            })
            .collect();
        let blocks: Vec<_> = sets.iter().map(|&(_, block)| (hex(block), hex_array(block))).collect();
        for row in cbc_rows() {
            check_cbc(row, &cbc, false, &blocks);
            ran.kernel(row.kernel().name);
        }
        let blocks: Vec<_> = sets.iter().map(|&(_, block)| hex(block)).collect();
        for row in ctr_rows() {
            check_ctr(row, &ctr, false, &blocks);
        }
    }
    ran.missing((&CBC_LANES).kernels().iter().map(|k| (k.name, k.requires)));
    ran.at_least(1);
}

/// Every number of messages to three widths and one, of mixed lengths, under different keys of mixed
/// sizes and under one.
#[test]
fn every_number_of_messages() {
    let mut random = Random::new(1);
    let messages: Vec<Message> = (0..3 * WIDTH + 1)
        .map(|i| {
            let len = random.below([1, 17, 40, 100, 300][i % 5]);
            Message::random(&mut random, [16, 24, 32, 16][i % 4], len)
        })
        .collect();
    let mut one_key = messages.clone();
    for message in &mut one_key {
        message.key = messages[1].key.clone();
    }
    for (messages, same) in [(messages, false), (one_key, true)] {
        let cbc: Vec<_> = messages.iter().map(Message::cbc).collect();
        let ctr: Vec<_> = messages.iter().map(Message::ctr).collect();
        for n in 1..=messages.len() {
            for row in cbc_rows() {
                check_cbc(row, &messages[..n], same, &cbc[..n]);
            }
            for row in ctr_rows() {
                check_ctr(row, &messages[..n], same, &ctr[..n]);
            }
        }
    }
}

/// Every length to a few blocks, all in one call and each as that of all messages; lengths far apart.
#[test]
fn every_length() {
    let mut random = Random::new(2);
    check(&(0..=100).map(|len| Message::random(&mut random, 16, len)).collect::<Vec<_>>());
    for len in 0..=70 {
        check(&(0..9).map(|_| Message::random(&mut random, 32, len)).collect::<Vec<_>>());
    }
    for others in [1, 10, WIDTH + 5] {
        let mut messages: Vec<Message> =
            (0..others).map(|i| Message::random(&mut random, 16, 3 * i)).collect();
        messages.push(Message::random(&mut random, 16, 5003));
        check(&messages);
    }
}

/// Counters at the end of their range.
#[test]
fn counters_carry_and_wrap() {
    let mut random = Random::new(3);
    let messages: Vec<Message> = (0..40)
        .map(|i| {
            let counter = u128::MAX >> [0, 64, 96, 120][i % 4];
            Message { iv: counter.to_be_bytes(), ..Message::random(&mut random, 16, 50) }
        })
        .collect();
    check(&messages);
}

/// Nothing outside the buffers is touched.
#[test]
fn guarded_buffers() {
    let mut random = Random::new(4);
    let messages: Vec<Message> =
        (0..2 * WIDTH).map(|i| Message::random(&mut random, 16, 7 * i % 90)).collect();
    let cbc_keys: Vec<Cbc> =
        messages.iter().map(|m| Cbc::new(Features::hardware(), &m.key).unwrap()).collect();
    let ctr_keys: Vec<Ctr> =
        messages.iter().map(|m| Ctr::new(Features::hardware(), &m.key).unwrap()).collect();
    for new in [Guarded::at_start, Guarded::at_end] {
        for row in cbc_rows() {
            let inputs: Vec<Guarded> = messages.iter().map(|m| new(m.whole())).collect();
            let mut outputs: Vec<Guarded> = messages.iter().map(|m| new(&vec![0; m.whole().len()])).collect();
            let mut jobs: Vec<CbcJob<'_>> = Vec::new();
            for (i, output) in outputs.iter_mut().enumerate() {
                let data = InOut::separate(&inputs[i], output).unwrap();
                jobs.push(CbcJob { key: &cbc_keys[i], iv: messages[i].iv, data });
            }
            CbcLanes::with_kernel(row).encrypt(&mut jobs.iter_mut().collect::<Vec<_>>());
            drop(jobs);
            assert!(outputs.iter().zip(&messages).all(|(output, m)| **output == *m.cbc().0), "{row:?}");
        }
        for row in ctr_rows() {
            let inputs: Vec<Guarded> = messages.iter().map(|m| new(&m.data)).collect();
            let mut outputs: Vec<Guarded> = messages.iter().map(|m| new(&vec![0; m.data.len()])).collect();
            let mut jobs: Vec<CtrJob<'_>> = Vec::new();
            for (i, output) in outputs.iter_mut().enumerate() {
                let data = InOut::separate(&inputs[i], output).unwrap();
                jobs.push(CtrJob { key: &ctr_keys[i], counter: messages[i].iv, data });
            }
            CtrLanes::with_kernel(row).apply(&mut jobs.iter_mut().collect::<Vec<_>>());
            drop(jobs);
            assert!(outputs.iter().zip(&messages).all(|(output, m)| **output == *m.ctr()), "{row:?}");
        }
    }
}

#[test]
fn every_subset_of_features() {
    let mut ran = Ran::new("camellia lanes, feature subsets");
    let messages: Vec<Message> = (0..9).map(|i| Message::random(&mut Random::new(i), 24, 48)).collect();
    let cbc: Vec<_> = messages.iter().map(Message::cbc).collect();
    let ctr: Vec<_> = messages.iter().map(Message::ctr).collect();
    for features in feature_subsets((&CBC_LANES).kernels().iter().map(|k| k.requires)) {
        check_cbc(CBC_LANES.best(features), &messages, false, &cbc);
        check_ctr(CTR_LANES.best(features), &messages, false, &ctr);
        ran.kernel(CbcLanes::new(features).kernel().name);
    }
    ran.at_least(1);
}

#[test]
#[should_panic(expected = "data must be whole blocks")]
fn part_of_a_block_is_refused() {
    let key = Cbc::new(Features::hardware(), &[1; 16]).unwrap();
    let mut data = [[0; 17]; 2];
    let mut jobs = data.each_mut().map(|data| CbcJob { key: &key, iv: [0; 16], data: InOut::in_place(data) });
    CbcLanes::new(Features::hardware()).encrypt(&mut jobs.each_mut());
}

/// A few short messages, enough for lanes.
#[test]
fn miri_long_a_few_messages() {
    let mut random = Random::new(6);
    check(&[16, 3, 0, 9, 16, 16, 16].map(|len| Message::random(&mut random, 16, len)));
}

#[test]
fn agrees_with_another_implementation() {
    let mut random = Random::new(7);
    let messages: Vec<Message> = (0..50).map(|i| Message::random(&mut random, 32, 16 * (i % 7))).collect();
    let want: Vec<(Vec<u8>, [u8; 16])> = messages
        .iter()
        .map(|m| {
            let cipher = camellia::Camellia256::new_from_slice(&m.key).unwrap();
            let (mut chain, mut data) = (m.iv, m.data.clone());
            for block in data.as_chunks_mut::<16>().0 {
                for i in 0..16 {
                    chain[i] ^= block[i];
                }
                let mut next = Block::<camellia::Camellia256>::from(chain);
                cipher.encrypt_block(&mut next);
                chain = next.into();
                *block = chain;
            }
            (data, chain)
        })
        .collect();
    for row in cbc_rows() {
        check_cbc(row, &messages, false, &want);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_set_of_messages(
        seed in any::<u64>(),
        shapes in proptest::collection::vec((0usize..3, prop_oneof![0usize..33, 0usize..300]), 0..100),
    ) {
        let mut random = Random::new(seed);
        let message = |(key, len)| Message::random(&mut random, 16 + 8 * key, len);
        check(&shapes.into_iter().map(message).collect::<Vec<_>>());
    }
}
