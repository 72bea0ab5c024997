//! The parameters of the curves y^2 = x^3 - 3x + b.
//!
//! Ref. SP 800-186 §3.2.1.3 to §3.2.1.5.

use super::digits::masks;
use super::field::{Element, Modulus};
use super::limbs::times_power_of_two;
use super::primes::{P256Field, P256Order, P384Field, P384Order, P521Field, P521Order};

/// A curve whose coordinates have `N` limbs, and the arithmetic for one tier of processors.
pub(crate) trait Params<const N: usize>: Copy + 'static {
    /// The field of the coordinates.
    type Field: Modulus<N>;
    /// The field of the scalars.
    type Order: Modulus<N>;
    /// The bits of the order, which are those of the prime too.
    const BITS: usize;
    /// The coefficient b, in the form of the field.
    const B: Element<Self::Field, N>;
    /// The multiples of the base point.
    const BASE: BaseTable;

    /// Returns the coordinates of the point number `size` of a block, from one on. All of the block is read.
    #[inline(always)]
    fn choose(block: &[[u8; 8]], size: u64) -> [[u64; N]; 2] {
        choose(block, size)
    }
}

/// Multiples of the base point, as affine coordinates in the form of the field.
///
/// Block `t` has the multiples from 1 to 2^(`window` - 1) of the base point times 2^(`window` * `groups` * `t`). A block has one array
/// for each limb of x and then of y, with that limb of all its points as little-endian words, so that a vector
/// register holds the same limb of several points.
#[derive(Clone, Copy)]
pub(crate) struct BaseTable {
    /// The bits of a digit of the scalar.
    pub(crate) window: usize,
    /// The blocks serve every so many digits. Doublings lie between their uses.
    pub(crate) groups: usize,
    /// The blocks.
    pub(crate) bytes: &'static [u8],
}

/// Returns the coordinates of a point of a block, all of which is read.
#[inline(always)]
pub(crate) fn choose<const N: usize>(block: &[[u8; 8]], size: u64) -> [[u64; N]; 2] {
    /// The most points in a block.
    const MOST: usize = 32;
    let points = block.len() / (2 * N);
    let masks = masks::<MOST>(size);
    let mut chosen = [[0; N]; 2];
    for (limb, row) in chosen.as_flattened_mut().iter_mut().zip(block.chunks_exact(points)) {
        for (word, mask) in row.iter().zip(&masks) {
            *limb |= u64::from_le_bytes(*word) & mask;
        }
    }
    chosen
}

/// Keeps a table's rows in cache lines of their own.
#[repr(C, align(64))]
struct Aligned<const LEN: usize>([u8; LEN]);

static P256_BASE: Aligned<{ 43 * 8 * 32 * 8 }> = Aligned(*include_bytes!("tables/p256.bin"));
static P384_BASE: Aligned<{ 39 * 12 * 16 * 8 }> = Aligned(*include_bytes!("tables/p384.bin"));
static P521_BASE: Aligned<{ 27 * 18 * 16 * 8 }> = Aligned(*include_bytes!("tables/p521.bin"));

/// Returns a number in the form of a field.
pub(crate) const fn form<M: Modulus<N>, const N: usize>(number: [u64; N]) -> Element<M, N> {
    Element::from_raw(times_power_of_two(&number, 64 * N, &M::MODULUS))
}

/// Curve P-256 on any processor.
#[derive(Clone, Copy)]
pub(crate) struct P256;

/// The coefficient b of P-256.
pub(crate) const P256_B: [u64; 4] =
    [0x3bce_3c3e_27d2_604b, 0x651d_06b0_cc53_b0f6, 0xb3eb_bd55_7698_86bc, 0x5ac6_35d8_aa3a_93e7];
/// The multiples of P-256's base point.
pub(crate) const P256_TABLE: BaseTable = BaseTable { window: 6, groups: 1, bytes: &P256_BASE.0 };

impl Params<4> for P256 {
    type Field = P256Field;
    type Order = P256Order;
    const BITS: usize = 256;
    const B: Element<P256Field, 4> = form(P256_B);
    const BASE: BaseTable = P256_TABLE;
}

/// The coefficient b of P-384.
pub(crate) const P384_B: [u64; 6] = [
    0x2a85_c8ed_d3ec_2aef,
    0xc656_398d_8a2e_d19d,
    0x0314_088f_5013_875a,
    0x181d_9c6e_fe81_4112,
    0x988e_056b_e3f8_2d19,
    0xb331_2fa7_e23e_e7e4,
];

/// Curve P-384 on any processor.
#[derive(Clone, Copy)]
pub(crate) struct P384;

impl Params<6> for P384 {
    type Field = P384Field;
    type Order = P384Order;
    const BITS: usize = 384;
    const B: Element<P384Field, 6> = form(P384_B);
    const BASE: BaseTable = BaseTable { window: 5, groups: 2, bytes: &P384_BASE.0 };
}

/// The coefficient b of P-521.
pub(crate) const P521_B: [u64; 9] = [
    0xef45_1fd4_6b50_3f00,
    0x3573_df88_3d2c_34f1,
    0x1652_c0bd_3bb1_bf07,
    0x5619_3951_ec7e_937b,
    0xb8b4_8991_8ef1_09e1,
    0xa2da_725b_99b3_15f3,
    0x929a_21a0_b685_40ee,
    0x953e_b961_8e1c_9a1f,
    0x51,
];

/// Curve P-521 on any processor.
#[derive(Clone, Copy)]
pub(crate) struct P521;

impl Params<9> for P521 {
    type Field = P521Field;
    type Order = P521Order;
    const BITS: usize = 521;
    const B: Element<P521Field, 9> = Element::from_raw(P521_B);
    const BASE: BaseTable = BaseTable { window: 5, groups: 4, bytes: &P521_BASE.0 };
}
