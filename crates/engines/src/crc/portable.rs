//! Sixteen bytes a step, each looked up in the table for its distance from the step's end.
//!
//! Tables indexed by data are in order here: a checksum's data is not secret.

use std::marker::PhantomData;

use super::polynomial::times_x;
use super::{Ops, Polynomial};
use crate::InOut;

/// Bytes in a step.
const STEP: usize = 16;

/// Bytes copied at a time, so that the CRC finds them in the first-level cache.
const PIECE: usize = 4096;

pub(super) const fn ops<P: Polynomial>() -> Ops<P> {
    Ops { update: update::<P>, copy: copy::<P>, polynomial: PhantomData }
}

/// `Tables::OF[k][b]` is the remainder of byte `b` followed by `k` zero bytes.
struct Tables<P>(PhantomData<P>);

impl<P: Polynomial> Tables<P> {
    const OF: &'static [[u32; 256]; STEP] = &tables(P::REFLECTED);
}

const fn tables(p: u32) -> [[u32; 256]; STEP] {
    let mut tables = [[0; 256]; STEP];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = byte as u32;
        let mut k = 0;
        while k < STEP {
            let mut bit = 0;
            while bit < 8 {
                remainder = times_x(p, remainder);
                bit += 1;
            }
            tables[k][byte] = remainder;
            k += 1;
        }
        byte += 1;
    }
    tables
}

/// The remainder after `data`.
pub(super) fn update<P: Polynomial>(mut remainder: u32, data: &[u8]) -> u32 {
    let tables = Tables::<P>::OF;
    let (steps, rest) = data.as_chunks::<STEP>();
    for step in steps {
        let low = u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|i| step[i])) ^ u64::from(remainder);
        let high = u64::from_le_bytes([8, 9, 10, 11, 12, 13, 14, 15].map(|i| step[i]));
        remainder = 0;
        for i in 0..8 {
            remainder ^= tables[15 - i][(low >> (8 * i)) as usize & 0xff];
            remainder ^= tables[7 - i][(high >> (8 * i)) as usize & 0xff];
        }
    }
    for &byte in rest {
        remainder = remainder >> 8 ^ tables[0][(remainder as u8 ^ byte) as usize];
    }
    remainder
}

fn copy<P: Polynomial>(mut remainder: u32, mut data: InOut<'_>) -> u32 {
    while !data.is_empty() {
        let mut piece = data.take(data.len().min(PIECE));
        piece.copy();
        remainder = update::<P>(remainder, piece.input());
    }
    remainder
}
