//! Scalars times points.
//!
//! Every function is in constant time but those that are named `_vartime`.

use zeroize::Zeroize;

use super::curve::{BaseTable, Params};
use super::digits::{self, Digit, digit, masks};
use super::field::Element;
use super::limbs::zero_mask;
use super::point::{Affine, Projective};

/// The bits of a digit where the point is any.
const WINDOW: usize = 5;
/// The multiples of the point that such a digit chooses from.
const MULTIPLES: usize = 1 << (WINDOW - 1);

/// Returns `scalar` times the base point.
pub(crate) fn base<C: Params<N>, const N: usize>(scalar: &[u64; N]) -> Projective<C, N> {
    let BaseTable { window, groups, .. } = C::BASE;
    let count = digits::count(C::BITS, window);
    let mut sum = Projective::IDENTITY;
    for group in (0..groups).rev() {
        if group + 1 < groups {
            sum = sum.double_times(window);
        }
        for index in (group..count).step_by(groups) {
            let digit = digit(scalar, window, index);
            let mut point = look_up_base::<C, N>(index / groups, digit.size);
            point.negate_if(digit.negative);
            sum = sum.add_affine(&point).select(&sum, zero_mask(&[digit.size]));
        }
    }
    sum
}

/// Returns a point of a block; any, if the digit is zero. All of the block is read.
#[inline(always)]
fn look_up_base<C: Params<N>, const N: usize>(block: usize, size: u64) -> Affine<C, N> {
    let [x, y] = C::choose(base_block::<C, N>(block), size);
    Affine { x: Element::from_raw(x), y: Element::from_raw(y) }
}

/// Returns a block of the table.
#[inline(always)]
fn base_block<C: Params<N>, const N: usize>(block: usize) -> &'static [[u8; 8]] {
    let words = 2 * N * (1 << (C::BASE.window - 1));
    &C::BASE.bytes.as_chunks::<8>().0[words * block..][..words]
}

/// Returns a point of a block by its index.
pub(crate) fn base_multiple_vartime<C: Params<N>, const N: usize>(block: usize, size: u64) -> Affine<C, N> {
    let block = base_block::<C, N>(block);
    let mut rows = block.chunks_exact(block.len() / (2 * N));
    let mut limb = || rows.next().map_or(0, |row| u64::from_le_bytes(row[size as usize - 1]));
    let mut coordinate = || Element::from_raw(std::array::from_fn(|_| limb()));
    Affine { x: coordinate(), y: coordinate() }
}

/// Returns `scalar` times a point.
pub(crate) fn point<C: Params<N>, const N: usize>(
    scalar: &[u64; N],
    point: &Affine<C, N>,
) -> Projective<C, N> {
    let multiples = multiples(point);
    let mut sum = Projective::IDENTITY;
    let count = digits::count(C::BITS, WINDOW);
    for index in (0..count).rev() {
        if index + 1 < count {
            sum = sum.double_times(WINDOW);
        }
        sum = sum.add(&look_up(&multiples, digit(scalar, WINDOW, index)));
    }
    sum
}

/// Returns the point times 1 to [`MULTIPLES`].
fn multiples<C: Params<N>, const N: usize>(point: &Affine<C, N>) -> [Projective<C, N>; MULTIPLES] {
    let mut multiples = [Projective { x: point.x, y: point.y, z: Element::ONE }; MULTIPLES];
    for i in 1..MULTIPLES {
        multiples[i] = multiples[i - 1].add_affine(point);
    }
    multiples
}

/// Returns a digit times the point. All of the multiples are read.
#[inline(always)]
fn look_up<C: Params<N>, const N: usize>(
    multiples: &[Projective<C, N>; MULTIPLES],
    digit: Digit,
) -> Projective<C, N> {
    let mut chosen = Projective::IDENTITY;
    for (multiple, mask) in multiples.iter().zip(masks::<MULTIPLES>(digit.size)) {
        chosen = chosen.select(multiple, mask);
    }
    chosen.y = chosen.y.select(&-chosen.y, digit.negative);
    chosen
}

/// Forgets a point that a secret led to.
pub(crate) fn wiped_affine<C: Params<N>, const N: usize>(mut point: Projective<C, N>) -> Affine<C, N> {
    let affine = point.affine();
    point.zeroize();
    affine
}

#[cfg(test)]
mod tests {
    use super::super::curve;
    use super::super::example::Example;
    use super::super::named::Curve;
    use super::super::ops::narrow;
    use super::super::vartime::double_base_vartime;
    use super::*;

    /// Returns the base point.
    fn base_point<C: Params<N>, const N: usize>(curve: Curve) -> Affine<C, N> {
        let point = Example::of(curve).base();
        Affine { x: Element::new(narrow(&point.x)), y: Element::new(narrow(&point.y)) }
    }

    /// Computes the table of a curve by additions of the base point.
    fn table<C: Params<N>, const N: usize>(curve: Curve) -> Vec<u8> {
        let BaseTable { window, groups, bytes } = C::BASE;
        let points = 1 << (window - 1);
        let mut first = base_point::<C, N>(curve);
        let mut table = Vec::with_capacity(bytes.len());
        while table.len() < bytes.len() {
            let mut multiple = Projective { x: first.x, y: first.y, z: Element::ONE };
            let mut block = Vec::new();
            for _ in 0..points {
                block.push(multiple.affine());
                multiple = multiple.add_affine(&first);
            }
            for limb in 0..2 * N {
                for Affine { x, y } in &block {
                    let word = if limb < N { x.0[limb] } else { y.0[limb - N] };
                    table.extend(word.to_le_bytes());
                }
            }
            let next = Projective { x: first.x, y: first.y, z: Element::ONE };
            first = next.double_times(window * groups).affine();
        }
        table
    }

    /// Compares the tables with what they should be. `MILLSTREAM_WRITE_TABLES` names a folder to write them to.
    #[test]
    fn tables_of_the_base_points() {
        fn check<C: Params<N>, const N: usize>(curve: Curve, name: &str) {
            let table = table::<C, N>(curve);
            if let Some(folder) = std::env::var_os("MILLSTREAM_WRITE_TABLES") {
                std::fs::write(std::path::Path::new(&folder).join(name), &table).expect("a table is written");
            }
            let count = digits::count(C::BITS, C::BASE.window).div_ceil(C::BASE.groups);
            assert_eq!(table.len(), count * 16 * N * (1 << (C::BASE.window - 1)), "{curve}");
            assert!(table == C::BASE.bytes, "{curve}: the table is not that of its base point");
        }
        check::<curve::P256, 4>(Curve::P256, "p256.bin");
        check::<curve::P384, 6>(Curve::P384, "p384.bin");
        check::<curve::P521, 9>(Curve::P521, "p521.bin");
    }

    /// Multiplies by doubling and adding, with complete formulas alone.
    fn plain<C: Params<N>, const N: usize>(scalar: &[u64; N], point: &Affine<C, N>) -> Projective<C, N> {
        let mut sum = Projective::IDENTITY;
        for bit in (0..64 * N).rev() {
            sum = sum.add(&sum);
            if scalar[bit / 64] >> (bit % 64) & 1 == 1 {
                sum = sum.add_affine(point);
            }
        }
        sum
    }

    fn same<C: Params<N>, const N: usize>(a: &Projective<C, N>, b: &Projective<C, N>) -> bool {
        a.x * b.z == b.x * a.z && a.y * b.z == b.y * a.z && a.z.zero_mask() == b.z.zero_mask()
    }

    #[test]
    fn scalars_of_every_kind() {
        fn check<C: Params<N>, const N: usize>(curve: Curve) {
            use crate::weierstrass::field::Modulus;
            let mut random = millstream_testkit::Random::new(11);
            let order = C::Order::MODULUS;
            let mut scalars = vec![[0; N], order];
            for small in [1, 2, 15, 16, 17, 31, 32, 33, 1 << 40] {
                let mut scalar = [0; N];
                scalar[0] = small;
                scalars.push(scalar);
                // The order less a small number: no limb but the first changes.
                let mut scalar = order;
                scalar[0] = scalar[0].wrapping_sub(small);
                scalars.push(scalar);
            }
            for _ in 0..if cfg!(miri) { 1 } else { 20 } {
                let mut scalar = [0; N].map(|_: u64| random.next_u64());
                scalar[N - 1] &= order[N - 1] >> 1;
                scalars.push(scalar);
            }
            let base_point = base_point::<C, N>(curve);
            let other = plain(&scalars[scalars.len() - 1], &base_point).affine();
            for scalar in &scalars {
                assert!(same(&base::<C, N>(scalar), &plain(scalar, &base_point)), "{curve} {scalar:x?}");
                assert!(same(&point(scalar, &other), &plain(scalar, &other)), "{curve} {scalar:x?}");
                for second in &scalars {
                    let sum = plain(scalar, &base_point).add(&plain(second, &other));
                    assert!(
                        same(&double_base_vartime(scalar, second, &other).into(), &sum),
                        "{curve} {scalar:x?} {second:x?}"
                    );
                    if N > 4 {
                        break;
                    }
                }
            }
        }
        check::<curve::P256, 4>(Curve::P256);
        check::<curve::P384, 6>(Curve::P384);
        check::<curve::P521, 9>(Curve::P521);
    }
}
