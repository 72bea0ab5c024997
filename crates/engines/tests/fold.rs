//! The compression functions of SHA-2 on blocks of many messages, on every kernel, against one message at a time.

use std::fmt::Debug;

use millstream_cpu::Features;
use millstream_engines::hash::{self, CompressOps, FoldOps, FoldWord, LaneBlocks, LaneFold, LaneStates};
use millstream_engines::sha256::{SHA256, SHA256_FOLD};
use millstream_engines::sha512::{SHA512, SHA512_FOLD};
use millstream_engines::{Engine, Table};
use millstream_testkit::{Ran, Random, executes};

/// Folds random blocks into random chaining values in every number of lanes, twice in a row.
fn check<W, const N: usize, const BLOCK: usize>(
    direct: &'static Table<CompressOps<[W; 8], BLOCK>>,
    table: &'static Table<FoldOps<W, N>>,
    word: impl Fn(&mut Random) -> W,
) where
    W: FoldWord + Debug + PartialEq,
    CompressOps<[W; 8], BLOCK>: Sync,
    FoldOps<W, N>: Sync,
{
    let name = table.algorithm.name;
    let mut ran = Ran::new(name);
    let mut random = Random::new(16);
    for kernel in table.available(Features::hardware()) {
        let kernel_name = kernel.kernel().name;
        if !executes(name, kernel_name) {
            continue;
        }
        let fold = LaneFold::new(kernel);
        for live in 0..=N {
            let (mut states, mut blocks) = (LaneStates::<W, N>::ZERO, LaneBlocks::<W, N>::ZERO);
            states.words.as_flattened_mut().fill_with(|| word(&mut random));
            let mut expected = states.clone();
            for _ in 0..2 {
                blocks.words.as_flattened_mut().fill_with(|| word(&mut random));
                fold.fold(&mut states, &blocks, live);
                for lane in 0..live {
                    let mut bytes = [0; BLOCK];
                    for (i, bytes) in bytes.chunks_mut(BLOCK / 16).enumerate() {
                        blocks.words[i][lane].write(bytes);
                    }
                    let mut state = expected.words.map(|word| word[lane]);
                    hash::fold(direct.best(Features::none()), &mut state, &[bytes]);
                    for i in 0..8 {
                        expected.words[i][lane] = state[i];
                    }
                }
            }
            for i in 0..8 {
                assert_eq!(
                    states.words[i][..live],
                    expected.words[i][..live],
                    "{name} {kernel_name}: {live}"
                );
            }
        }
        ran.kernel(kernel_name);
    }
    ran.missing((&table as &dyn Engine).kernels().iter().map(|k| (k.name, k.requires)));
    ran.at_least(1);
}

#[test]
fn miri_blocks_of_many_messages_of_sha256() {
    check(&SHA256, &SHA256_FOLD, |random| random.next_u64() as u32);
}

#[test]
fn miri_blocks_of_many_messages_of_sha512() {
    check(&SHA512, &SHA512_FOLD, Random::next_u64);
}
