//! Masks from secret numbers, without a branch. They are for loops over bytes, in which a
//! [`Choice`](subtle::Choice) for each byte would take longer than the rest.

use subtle::BlackBox;

/// Returns a secret number as a value about which the compiler can assume nothing.
#[inline(always)]
pub fn secret(number: usize) -> u32 {
    BlackBox::new(number as u32).get()
}

/// All ones where `a < b`, else zero. Both are below 2^31.
#[inline(always)]
pub fn less(a: u32, b: u32) -> u32 {
    ((a.wrapping_sub(b) as i32) >> 31) as u32
}

/// All ones where `a` equals `b`, else zero. Both are below 2^31.
#[inline(always)]
pub fn equal(a: u32, b: u32) -> u32 {
    less(a ^ b, 1)
}

/// A mask for all bytes of a loop. If the compiler knew that it is all ones or zero, it would make two
/// loops of the one and a branch between them.
#[inline(always)]
pub fn for_bytes(mask: u32) -> u8 {
    BlackBox::new(mask as u8).get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn miri_masks() {
        let numbers = [0, 1, 2, 127, 128, 255, 256, 65535, (1 << 31) - 2, (1 << 31) - 1];
        for a in numbers {
            for b in numbers {
                assert_eq!(less(a, b), if a < b { u32::MAX } else { 0 }, "{a} {b}");
                assert_eq!(equal(a, b), if a == b { u32::MAX } else { 0 }, "{a} {b}");
            }
        }
    }
}
