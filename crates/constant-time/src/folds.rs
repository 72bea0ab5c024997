//! Rows of the functions that fold blocks of many messages.

use millstream_engines::hash::{FoldWord, LaneBlocks, LaneFold, LaneStates};
use millstream_engines::sha256::SHA256_FOLD;
use millstream_engines::sha512::SHA512_FOLD;

use crate::Row;
use crate::trial::Trial;

/// Words of a chaining value, which stand before those of a block.
const STATE: usize = 8;

/// Words of a chaining value and a block.
const WORDS: usize = STATE + 16;

/// Returns the trials of a row of such a table; none for another table.
pub fn trials(row: Row) -> Option<Vec<Trial>> {
    match row.algorithm {
        "sha256-fold" => {
            let fold = LaneFold::new(SHA256_FOLD.named(row.features, row.name)?);
            Some(of(row, fold, |bytes| u32::from_be_bytes(bytes.try_into().expect("four bytes"))))
        }
        "sha512-fold" => {
            let fold = LaneFold::new(SHA512_FOLD.named(row.features, row.name)?);
            Some(of(row, fold, |bytes| u64::from_be_bytes(bytes.try_into().expect("eight bytes"))))
        }
        _ => None,
    }
}

/// Returns trials with all lanes, and with few, for which some rows have another way.
fn of<W: FoldWord, const N: usize>(row: Row, fold: LaneFold<W, N>, read: fn(&[u8]) -> W) -> Vec<Trial> {
    let trial = |live: usize| {
        let (what, parts) = (format!("{live} blocks"), vec![WORDS * size_of::<W>(); live]);
        Trial::new(row.algorithm, fold.kernel(), what, 0, &parts, move |_, parts| {
            let (mut states, mut blocks) = (LaneStates::<W, N>::ZERO, LaneBlocks::<W, N>::ZERO);
            for (lane, part) in parts.iter().enumerate() {
                for (i, bytes) in part.data.chunks(size_of::<W>()).enumerate() {
                    if i < STATE {
                        states.words[i][lane] = read(bytes);
                    } else {
                        blocks.words[i - STATE][lane] = read(bytes);
                    }
                }
            }
            fold.fold(&mut states, &blocks, parts.len());
            for (lane, part) in parts.iter_mut().enumerate() {
                for (i, bytes) in part.data.chunks_mut(size_of::<W>()).take(STATE).enumerate() {
                    states.words[i][lane].write(bytes);
                }
            }
        })
    };
    vec![trial(3), trial(N)]
}
