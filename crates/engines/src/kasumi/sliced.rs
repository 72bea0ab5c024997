//! KASUMI on many blocks, each under a key of its own: every byte of the blocks and of the keys in a
//! vector of its own (a plane), one block a byte.
//!
//! A 16-bit word is two planes. Except for FI, the cipher then consists of additions of planes, and
//! of rotations that move bits from one plane of a word to the other. Keys are expanded in that form
//! too: from sixteen planes, in about the time of a round.
//!
//! Ref. TS 35.202 §4.
//!
//! # Safety
//! The methods of a [`Plane`] need its features; every function here passes that duty to its
//! caller, which is compiled for those features and reached through a `Bound`.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc, reason = "the head of this file says it for all")]

/// A vector of bytes, in parts of sixteen.
pub(super) trait Plane: Copy {
    /// Bytes in a vector: as many as there are lanes.
    const BYTES: usize;

    unsafe fn load(from: *const u8) -> Self;
    unsafe fn store(self, to: *mut u8);
    unsafe fn splat(byte: u8) -> Self;
    unsafe fn xor(self, b: Self) -> Self;
    unsafe fn and(self, b: Self) -> Self;
    unsafe fn or(self, b: Self) -> Self;
    /// The difference of each byte.
    unsafe fn sub(self, b: Self) -> Self;
    /// All ones in each byte that is zero.
    unsafe fn is_zero(self) -> Self;
    /// The first halves of each part of `self` and `b`, byte by byte in turn.
    unsafe fn interleave_low(self, b: Self) -> Self;
    /// The second halves.
    unsafe fn interleave_high(self, b: Self) -> Self;
    /// Each byte shifted left by 1 to 7 bits, the top bits of `next` below.
    unsafe fn shift(self, next: Self, bits: u32) -> Self;
    /// Computes FI (TS 35.202 §4.5), with KI in the form of [`Subkeys::ki`].
    unsafe fn fi(x: Word<Self>, ki: Word<Self>) -> Word<Self>;
}

/// Sixteen bits: the high byte's plane and the low byte's.
pub(super) type Word<P> = [P; 2];

/// A block, or any eight bytes, the first byte's plane first.
pub(super) type Eight<P> = [P; 8];

/// Turns the index of a byte (its vector, its place in a part) by one bit.
#[inline(always)]
unsafe fn turn<P: Plane, const V: usize>(x: [P; V]) -> [P; V] {
    let mut y = x;
    for i in 0..V / 2 {
        // SAFETY: see the head of this file; so below.
        unsafe {
            y[2 * i] = x[i].interleave_low(x[i + V / 2]);
            y[2 * i + 1] = x[i].interleave_high(x[i + V / 2]);
        }
    }
    y
}

/// Returns the planes of one row of eight bytes for each lane. Row `r` is lane [`place`]`(r)`.
#[inline(always)]
pub(super) unsafe fn planes<P: Plane>(rows: &[[u8; 8]]) -> Eight<P> {
    assert!(rows.len() >= P::BYTES);
    // SAFETY: eight vectors fit the rows; for the features see the head of this file.
    unsafe {
        let mut x = [P::splat(0); 8];
        for i in 0..8 {
            x[i] = P::load(rows.as_ptr().cast::<u8>().add(i * P::BYTES));
        }
        turn(turn(turn(turn(x))))
    }
}

/// Turns planes back into rows.
#[inline(always)]
pub(super) unsafe fn rows<P: Plane>(x: Eight<P>, rows: &mut [[u8; 8]]) {
    assert!(rows.len() >= P::BYTES);
    // SAFETY: as in `planes`.
    unsafe {
        let x = turn(turn(turn(x)));
        for i in 0..8 {
            x[i].store(rows.as_mut_ptr().cast::<u8>().add(i * P::BYTES));
        }
    }
}

/// Returns the place in a plane for a row of eight bytes.
#[inline(always)]
pub(super) const fn place<P: Plane>(row: usize) -> usize {
    let in_vector = P::BYTES / 8;
    in_vector_place(row % in_vector) + row / in_vector * 2
}

#[inline(always)]
const fn in_vector_place(row: usize) -> usize {
    row / 2 * 16 + row % 2
}

/// Returns the row of sixteen bytes, a key, that goes to the same place as a row of eight.
#[inline(always)]
pub(super) const fn key_row<P: Plane>(row: usize) -> usize {
    let place = place::<P>(row);
    place % 16 * (P::BYTES / 16) + place / 16
}

/// The subkeys of every lane. All are rotations of the key's eight words or of those with the
/// constants C added: four forms of each word (TS 35.202 table 1).
pub(super) struct Subkeys<P> {
    /// K. Rotated by eight, each word is itself with its planes exchanged.
    plain: [Word<P>; 8],
    /// K rotated left by one.
    one: [Word<P>; 8],
    /// K rotated left by five, which also serves the rotations by thirteen.
    five: [Word<P>; 8],
    /// K'.
    primed: [Word<P>; 8],
    /// The high byte of K', rotated right by one.
    middle: [P; 8],
}

impl<P: Plane> Subkeys<P> {
    /// Expands the keys whose rows [`key_row`] returns.
    #[inline(always)]
    pub unsafe fn expand(&mut self, keys: &[[u8; 16]]) {
        /// The constants C1 to C8.
        const C: [u16; 8] = [0x0123, 0x4567, 0x89ab, 0xcdef, 0xfedc, 0xba98, 0x7654, 0x3210];
        assert!(keys.len() >= P::BYTES);
        // SAFETY: sixteen vectors fit the keys; for the features see the head of this file.
        unsafe {
            let mut x = [P::splat(0); 16];
            for i in 0..16 {
                x[i] = P::load(keys.as_ptr().cast::<u8>().add(i * P::BYTES));
            }
            let x = turn(turn(turn(turn(x))));
            for i in 0..8 {
                let k = [x[2 * i], x[2 * i + 1]];
                let [high, low] = C[i].to_be_bytes();
                let primed = [k[0].xor(P::splat(high)), k[1].xor(P::splat(low))];
                self.plain[i] = k;
                self.one[i] = rotate(k, 1);
                self.five[i] = rotate(k, 5);
                self.primed[i] = primed;
                self.middle[i] = primed[0].shift(primed[0], 7);
            }
        }
    }

    #[inline(always)]
    fn kl(&self, round: usize) -> [Word<P>; 2] {
        [self.one[round % 8], self.primed[(round + 2) % 8]]
    }

    #[inline(always)]
    fn ko(&self, round: usize) -> [Word<P>; 3] {
        let [high, low] = self.plain[(round + 5) % 8];
        let [thirteen_low, thirteen_high] = self.five[(round + 6) % 8];
        [self.five[(round + 1) % 8], [low, high], [thirteen_high, thirteen_low]]
    }

    /// Returns KI in the form for the middle of FI: the low byte has the low bits of the nine-bit
    /// half, and the high byte its top bit above the seven-bit half.
    #[inline(always)]
    fn ki(&self, round: usize) -> [Word<P>; 3] {
        let [i, j, k] = [(round + 4) % 8, (round + 3) % 8, (round + 7) % 8];
        [
            [self.middle[i], self.primed[i][1]],
            [self.middle[j], self.primed[j][1]],
            [self.middle[k], self.primed[k][1]],
        ]
    }
}

/// Rotates a word left by 1 to 7 bits.
#[inline(always)]
unsafe fn rotate<P: Plane>([high, low]: Word<P>, bits: u32) -> Word<P> {
    // SAFETY: see the head of this file; so below.
    unsafe { [high.shift(low, bits), low.shift(high, bits)] }
}

#[inline(always)]
unsafe fn xor<P: Plane>(a: Word<P>, b: Word<P>) -> Word<P> {
    // SAFETY: as above.
    unsafe { [a[0].xor(b[0]), a[1].xor(b[1])] }
}

/// FL, TS 35.202 §4.3.
#[inline(always)]
unsafe fn fl<P: Plane>(kl: [Word<P>; 2], [l, r]: [Word<P>; 2]) -> [Word<P>; 2] {
    // SAFETY: as above.
    unsafe {
        let r = xor(r, rotate([l[0].and(kl[0][0]), l[1].and(kl[0][1])], 1));
        let l = xor(l, rotate([r[0].or(kl[1][0]), r[1].or(kl[1][1])], 1));
        [l, r]
    }
}

/// Computes an odd round (FL, then FO) and the even one after it (FO, then FL). The first FI of the
/// even round needs only the left half of the odd round's output, so two FI always go side by side.
#[inline(always)]
unsafe fn two_rounds<P: Plane>(
    keys: &Subkeys<P>,
    round: usize,
    [left, right]: [[Word<P>; 2]; 2],
) -> [[Word<P>; 2]; 2] {
    let (ko, ki) = (keys.ko(round), keys.ki(round));
    let (next_ko, next_ki) = (keys.ko(round + 1), keys.ki(round + 1));
    // SAFETY: as above.
    unsafe {
        let [a, b] = fl(keys.kl(round), left);
        let f1 = P::fi(xor(a, ko[0]), ki[0]);
        let f2 = P::fi(xor(b, ko[1]), ki[1]);
        let p = xor(f1, b);
        let q = xor(f2, p);
        let a = xor(right[0], q);
        let f3 = P::fi(xor(p, ko[2]), ki[2]);
        let g1 = P::fi(xor(a, next_ko[0]), next_ki[0]);
        let b = xor(xor(right[1], f3), q);
        let p = xor(g1, b);
        let g2 = P::fi(xor(b, next_ko[1]), next_ki[1]);
        let g3 = P::fi(xor(p, next_ko[2]), next_ki[2]);
        let q = xor(g2, p);
        let [u, v] = fl(keys.kl(round + 1), [q, xor(g3, q)]);
        [[xor(left[0], u), xor(left[1], v)], [a, b]]
    }
}

/// KASUMI on one block in each lane.
#[inline(always)]
pub(super) unsafe fn encrypt<P: Plane>(keys: &Subkeys<P>, x: Eight<P>) -> Eight<P> {
    let mut halves = [[[x[0], x[1]], [x[2], x[3]]], [[x[4], x[5]], [x[6], x[7]]]];
    for pair in 0..4 {
        // SAFETY: as above.
        halves = unsafe { two_rounds(keys, 2 * pair, halves) };
    }
    let [[a, b], [c, d]] = halves;
    [a[0], a[1], b[0], b[1], c[0], c[1], d[0], d[1]]
}
