//! The permutation Keccak-f[1600] on every kernel and in every lane, against SHAKE128.

use millstream_cpu::Features;
use millstream_engines::Engine;
use millstream_engines::sha3::{KECCAK, Keccak, RATE_SHAKE128, Shake, States, WORDS, Xof};
use millstream_testkit::{Ran, Random, executes};

/// The words that SHAKE128 gives after a whole block: two permutations, with a block of padding before the second.
fn expected(block: &[u8; RATE_SHAKE128]) -> Vec<u64> {
    let mut shake = Shake::new(Features::none(), Xof::Shake128);
    shake.update(block);
    let mut out = [0; RATE_SHAKE128];
    shake.finish().squeeze(&mut out);
    out.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect()
}

/// The same with a kernel, for as many blocks as there are lanes.
fn permuted<const N: usize>(blocks: &[[u8; RATE_SHAKE128]], run: impl Fn(&mut States<N>)) -> Vec<Vec<u64>> {
    let mut states = States::<N>::ZERO;
    for (lane, block) in blocks.iter().take(N).enumerate() {
        for (i, bytes) in block.as_chunks().0.iter().enumerate() {
            states.words[i][lane] = u64::from_le_bytes(*bytes);
        }
    }
    run(&mut states);
    for lane in 0..N {
        states.words[0][lane] ^= 0x1f;
        states.words[RATE_SHAKE128 / 8 - 1][lane] ^= 1 << 63;
    }
    run(&mut states);
    (0..N).map(|lane| (0..RATE_SHAKE128 / 8).map(|i| states.words[i][lane]).collect()).collect()
}

#[test]
fn miri_every_lane_gives_what_shake_gives() {
    assert_eq!(WORDS, 25);
    let name = KECCAK.algorithm.name;
    let mut random = Random::new(1600);
    let blocks: Vec<[u8; RATE_SHAKE128]> = (0..8).map(|_| random.array()).collect();
    let expected: Vec<_> = blocks.iter().map(expected).collect();
    let mut ran = Ran::new(name);
    for kernel in KECCAK.available(Features::hardware()) {
        let kernel_name = kernel.kernel().name;
        if !executes(name, kernel_name) {
            continue;
        }
        let keccak = Keccak::with_kernel(kernel);
        assert!([1, 4, 8].contains(&keccak.width()), "{kernel_name}");
        assert_eq!(permuted::<1>(&blocks, |s| keccak.permute_one(s)), expected[..1], "{kernel_name}");
        assert_eq!(permuted::<4>(&blocks, |s| keccak.permute_four(s)), expected[..4], "{kernel_name}");
        assert_eq!(permuted::<8>(&blocks, |s| keccak.permute_eight(s)), expected, "{kernel_name}");
        ran.kernel(kernel_name);
    }
    ran.missing((&&KECCAK as &dyn Engine).kernels().iter().map(|k| (k.name, k.requires)));
    ran.at_least(1);
}
