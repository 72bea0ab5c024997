//! One key on its way: SP 800-38F's functions W and its inverse, a step at a time.
//!
//! Ref. NIST SP 800-38F §6.1 (W), §6.2 (KW), §6.3 (KWP).

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq, ConstantTimeGreater, ConstantTimeLess};
use zeroize::Zeroize;

use super::{Form, HALF};
use crate::Error;
use crate::modes::Direction;

/// One key that is wrapped or unwrapped.
pub struct Job<'a> {
    input: &'a [u8],
    output: &'a mut [u8],
    /// The number of bytes at the front of the output, or why there are none.
    pub result: Result<usize, Error>,
    /// The half that goes through all blocks: A of the standard.
    carried: [u8; HALF],
    /// The number of the next step, from 1 to `6 n`; wrapping counts up, unwrapping down.
    step: u64,
    /// The place of the next step's half, from 0.
    at: usize,
    /// The halves that are wrapped: n of the standard.
    halves: usize,
}

impl<'a> Job<'a> {
    /// A job from `input` to the front of `output`, which is at least as long as [`Form::wrapped_len`] or
    /// [`Form::unwrapped_len`] say.
    pub fn new(input: &'a [u8], output: &'a mut [u8]) -> Self {
        Job { input, output, result: Ok(0), carried: [0; HALF], step: 0, at: 0, halves: 0 }
    }

    /// Lays out the halves in the output. Returns false if there is nothing to do, and then the result says why.
    pub(super) fn begin(&mut self, direction: Direction, form: Form, check_value: [u8; HALF]) -> bool {
        self.result = self.lay_out(direction, form, check_value);
        self.result.is_ok()
    }

    fn lay_out(&mut self, direction: Direction, form: Form, check_value: [u8; HALF]) -> Result<usize, Error> {
        let len = self.input.len();
        let needed = match direction {
            Direction::Encrypt => form.wrapped_len(len)?,
            Direction::Decrypt => form.unwrapped_len(len)?,
        };
        if self.output.len() < needed {
            return Err(Error::OutputLength { given: self.output.len(), needed });
        }
        match direction {
            Direction::Encrypt => {
                self.carried = check_value;
                if form == Form::Kwp {
                    self.carried[4..].copy_from_slice(&(len as u32).to_be_bytes());
                }
                self.output[HALF..HALF + len].copy_from_slice(self.input);
                self.output[HALF + len..needed].fill(0);
                self.halves = needed / HALF - 1;
                self.step = 1;
                self.at = 0;
            }
            Direction::Decrypt => {
                self.carried.copy_from_slice(&self.input[..HALF]);
                self.output[..needed].copy_from_slice(&self.input[HALF..]);
                self.halves = needed / HALF;
                self.step = 6 * self.halves as u64;
                self.at = self.halves - 1;
            }
        }
        Ok(needed)
    }

    /// A single half goes through one block and no steps: §6.3, step 4.
    fn is_short(&self) -> bool {
        self.halves == 1
    }

    fn half(&mut self, direction: Direction) -> &mut [u8] {
        // A wrapped key has the carried half in front.
        let place = HALF * (self.at + usize::from(direction == Direction::Encrypt));
        &mut self.output[place..place + HALF]
    }

    /// Writes the next block.
    pub(super) fn load(&mut self, direction: Direction, block: &mut [u8; 16]) {
        block[..HALF].copy_from_slice(&self.carried);
        if direction == Direction::Decrypt && !self.is_short() {
            let carried = u64::from_be_bytes(self.carried) ^ self.step;
            block[..HALF].copy_from_slice(&carried.to_be_bytes());
        }
        block[HALF..].copy_from_slice(self.half(direction));
    }

    /// Takes the block that the cipher made of it. Returns true if that was the last.
    pub(super) fn store(&mut self, direction: Direction, block: &[u8; 16]) -> bool {
        self.carried.copy_from_slice(&block[..HALF]);
        self.half(direction).copy_from_slice(&block[HALF..]);
        if self.is_short() {
            return true;
        }
        match direction {
            Direction::Encrypt => {
                self.carried = (u64::from_be_bytes(self.carried) ^ self.step).to_be_bytes();
                self.at = if self.at + 1 == self.halves { 0 } else { self.at + 1 };
                self.step += 1;
                self.step > 6 * self.halves as u64
            }
            Direction::Decrypt => {
                self.at = if self.at == 0 { self.halves - 1 } else { self.at - 1 };
                self.step -= 1;
                self.step == 0
            }
        }
    }

    /// Ends the key: puts the carried half in front, or compares it.
    pub(super) fn finish(&mut self, direction: Direction, form: Form, check_value: [u8; HALF]) {
        if direction == Direction::Encrypt {
            self.output[..HALF].copy_from_slice(&self.carried);
            return;
        }
        let whole = HALF * self.halves;
        let (right, len) = match form {
            Form::Kw => (self.carried.ct_eq(&check_value), whole),
            Form::Kwp => self.padding(&check_value),
        };
        if bool::from(right) {
            self.result = Ok(len);
        } else {
            self.output[..whole].zeroize();
            self.result = Err(Error::Authentication);
        }
    }

    /// §6.3, KWP-AD, steps 4 to 8: the check value, the length, and the padding of zeros. Which of them is wrong shows in
    /// nothing.
    fn padding(&self, check_value: &[u8; HALF]) -> (Choice, usize) {
        let whole = HALF * self.halves;
        let len = u32::from_be_bytes([self.carried[4], self.carried[5], self.carried[6], self.carried[7]]);
        let mut right = self.carried[..4].ct_eq(&check_value[..4]);
        let padding = (whole as u32).wrapping_sub(len);
        right &= padding.ct_lt(&(HALF as u32));
        for (i, byte) in self.output[..whole].iter().rev().take(HALF - 1).enumerate() {
            let padded = padding.ct_gt(&(i as u32));
            right &= u8::conditional_select(&0, byte, padded).ct_eq(&0);
        }
        (right, len as usize)
    }
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        self.carried.zeroize();
    }
}
