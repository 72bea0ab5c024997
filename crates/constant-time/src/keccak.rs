//! Rows of the permutation Keccak-f\[1600\].

use millstream_engines::sha3::{KECCAK, Keccak, States, WORDS};

use crate::Row;
use crate::trial::{Part, Trial};

/// Bytes of a state.
const STATE: usize = 8 * WORDS;

/// Returns the trials of a row of the permutation's table; none for another table.
pub fn trials(row: Row) -> Option<Vec<Trial>> {
    if row.algorithm != KECCAK.algorithm.name {
        return None;
    }
    let keccak = Keccak::with_kernel(KECCAK.named(row.features, row.name)?);
    let trial = |count: usize, run: fn(Keccak, &mut [Part<'_>])| {
        let what = format!("{count} states");
        let kernel = keccak.kernel();
        Trial::new(row.algorithm, kernel, what, 0, &vec![STATE; count], move |_, parts| run(keccak, parts))
    };
    Some(vec![
        trial(1, |keccak, parts| permute::<1>(parts, |states| keccak.permute_one(states))),
        trial(4, |keccak, parts| permute::<4>(parts, |states| keccak.permute_four(states))),
        trial(8, |keccak, parts| permute::<8>(parts, |states| keccak.permute_eight(states))),
    ])
}

fn permute<const N: usize>(parts: &mut [Part<'_>], run: impl Fn(&mut States<N>)) {
    let mut states = States::<N>::ZERO;
    for (lane, part) in parts.iter().enumerate() {
        for (i, bytes) in part.data.as_chunks().0.iter().enumerate() {
            states.words[i][lane] = u64::from_le_bytes(*bytes);
        }
    }
    run(&mut states);
    for (lane, part) in parts.iter_mut().enumerate() {
        for (i, bytes) in part.data.as_chunks_mut().0.iter_mut().enumerate() {
            *bytes = states.words[i][lane].to_le_bytes();
        }
    }
}
