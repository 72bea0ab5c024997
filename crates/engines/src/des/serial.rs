//! The outer permutations, which the one-block forms of all kernels share.
//!
//! Ref. FIPS 46-3, "Enciphering": IP and its inverse.

/// Exchanges the bits of `a` that `mask << shift` selects with those of `b` that `mask` selects.
#[inline(always)]
fn exchange(a: &mut u32, b: &mut u32, shift: u32, mask: u32) {
    let t = (*a >> shift ^ *b) & mask;
    *b ^= t;
    *a ^= t << shift;
}

/// Applies IP, and returns the left and the right half with bit 1 at the top. In rows of eight
/// bits IP is a transposition that separates even columns from odd ones, and five exchanges
/// between the halves perform it.
#[inline(always)]
pub(super) fn initial(block: u64) -> (u32, u32) {
    let block = u64::from_be_bytes(block.to_ne_bytes());
    let (mut l, mut r) = ((block >> 32) as u32, block as u32);
    exchange(&mut l, &mut r, 4, 0x0f0f_0f0f);
    exchange(&mut l, &mut r, 16, 0x0000_ffff);
    exchange(&mut r, &mut l, 2, 0x3333_3333);
    exchange(&mut r, &mut l, 8, 0x00ff_00ff);
    exchange(&mut l, &mut r, 1, 0x5555_5555);
    (l, r)
}

/// The inverse of IP.
#[inline(always)]
pub(super) fn last((mut l, mut r): (u32, u32)) -> u64 {
    exchange(&mut l, &mut r, 1, 0x5555_5555);
    exchange(&mut r, &mut l, 8, 0x00ff_00ff);
    exchange(&mut r, &mut l, 2, 0x3333_3333);
    exchange(&mut l, &mut r, 16, 0x0000_ffff);
    exchange(&mut l, &mut r, 4, 0x0f0f_0f0f);
    u64::from_ne_bytes((u64::from(l) << 32 | u64::from(r)).to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::tables::IP;
    use super::*;

    #[test]
    fn exchanges_make_the_permutation_of_the_standard() {
        for i in 0..64 {
            let (l, r) = initial((1u64 << (64 - u32::from(IP[i]))).to_be());
            assert_eq!(u64::from(l) << 32 | u64::from(r), 1 << (63 - i));
            assert_eq!(last((l, r)).to_be(), 1u64 << (64 - u32::from(IP[i])));
        }
    }
}
