//! Multiples of the base point, computed when this crate is compiled.
//!
//! An entry is three numbers below p, y + x, y - x and 2dxy, of four 64-bit words each. So one table serves the kernels of
//! every limb size, and what is read of it is a fifth less than in limbs.

// The compiler takes part of a second for each table.
#![allow(long_running_const_eval)]

use super::edwards::{BASE, Cached, D2, Extended};
use super::field::Fe;
use super::scalar::{WINDOW, WINDOWS};

/// The words of an entry.
pub(crate) const WORDS: usize = 12;
/// The multiples of a window.
pub(crate) const ENTRIES: usize = 1 << (WINDOW - 1);
/// The entries of [`MULTIPLES`].
pub(crate) const MULTIPLES_LEN: usize = 128;

/// The multiples 1 to 16 of 32^i B for each window i. The same word of all 16 entries lies together, so that a secret index
/// chooses within two vectors or under 16 masks.
#[repr(align(64))]
pub(crate) struct Comb(pub(crate) [[[u64; ENTRIES]; WORDS]; WINDOWS]);

/// The multiples 1 to 128 of B, an entry after the other, for indices that are public.
#[repr(align(64))]
pub(crate) struct Multiples(pub(crate) [[u64; WORDS]; MULTIPLES_LEN]);

pub(crate) static COMB: Comb = comb();
pub(crate) static MULTIPLES: Multiples = multiples();

const fn comb() -> Comb {
    let mut points = [Extended::IDENTITY; WINDOWS * ENTRIES];
    let mut base = BASE;
    let mut window = 0;
    while window < WINDOWS {
        let first = window * ENTRIES;
        fill(&mut points, first, ENTRIES, base);
        base = points[first + ENTRIES - 1].double();
        window += 1;
    }
    let entries = affine(&points);
    let mut comb = Comb([[[0; ENTRIES]; WORDS]; WINDOWS]);
    let mut i = 0;
    while i < WINDOWS * ENTRIES {
        let mut word = 0;
        while word < WORDS {
            comb.0[i / ENTRIES][word][i % ENTRIES] = entries[i][word];
            word += 1;
        }
        i += 1;
    }
    comb
}

const fn multiples() -> Multiples {
    let mut points = [Extended::IDENTITY; MULTIPLES_LEN];
    fill(&mut points, 0, MULTIPLES_LEN, BASE);
    Multiples(affine(&points))
}

/// Writes the multiples 1 to `count` of `base`, beginning at `first`.
const fn fill<const N: usize>(points: &mut [Extended; N], first: usize, count: usize, base: Extended) {
    let addend: Cached = base.cached();
    points[first] = base;
    let mut i = 1;
    while i < count {
        points[first + i] = points[first + i - 1].add(&addend);
        i += 1;
    }
}

/// The entries of points. All of them share one inversion.
const fn affine<const N: usize>(points: &[Extended; N]) -> [[u64; WORDS]; N] {
    // The product of the Z before each point.
    let mut before = [Fe::ONE; N];
    let mut product = Fe::ONE;
    let mut i = 0;
    while i < N {
        before[i] = product;
        product = product.mul(points[i].z);
        i += 1;
    }
    let mut inverse = product.power_for_inverse();
    let mut entries = [[0; WORDS]; N];
    while i > 0 {
        i -= 1;
        let z = inverse.mul(before[i]);
        inverse = inverse.mul(points[i].z);
        let (x, y) = (points[i].x.mul(z), points[i].y.mul(z));
        let numbers = [y.add(x).to_words(), y.sub(x).to_words(), x.mul(y).mul(D2).to_words()];
        let mut word = 0;
        while word < WORDS {
            entries[i][word] = numbers[word / 4][word % 4];
            word += 1;
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::super::edwards::Niels;
    use super::*;

    fn niels(word: impl Fn(usize) -> u64) -> Niels {
        let number = |at: usize| Fe::from_words([0, 1, 2, 3].map(|i| word(at + i)));
        Niels { plus: number(0), minus: number(4), xy2d: number(8) }
    }

    #[test]
    fn every_entry_is_its_multiple() {
        let mut window = BASE;
        for words in &COMB.0 {
            let mut multiple = Extended::IDENTITY;
            for entry in 0..ENTRIES {
                multiple = multiple.add(&window.cached());
                let point = Extended::IDENTITY.add_niels(&niels(|word| words[word][entry]));
                assert!(point.equals_vartime(&multiple));
            }
            window = window.double_times(WINDOW);
        }
        let mut multiple = Extended::IDENTITY;
        for words in &MULTIPLES.0 {
            multiple = multiple.add(&BASE.cached());
            assert!(Extended::IDENTITY.add_niels(&niels(|word| words[word])).equals_vartime(&multiple));
        }
    }
}
