//! One key on its way, which lies in one piece where it is wrapped.
//!
//! Ref. NIST SP 800-38F §6.2 (KW), §6.3 (KWP).

use zeroize::Zeroize;

use super::Wrapping;
use super::chain::Chain;
use super::form::{Form, HALF};
use crate::Error;
use crate::modes::Direction;

/// One key that is wrapped or unwrapped.
pub struct Job<'a> {
    input: &'a [u8],
    output: &'a mut [u8],
    /// The number of bytes at the front of the output, or why there are none.
    pub result: Result<usize, Error>,
    chain: Chain,
}

impl<'a> Job<'a> {
    /// A job from `input` to the front of `output`, which is at least as long as [`Form::wrapped_len`] or
    /// [`Form::unwrapped_len`] say.
    pub fn new(input: &'a [u8], output: &'a mut [u8]) -> Self {
        Job { input, output, result: Ok(0), chain: Chain::NONE }
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
        let (mut carried, count) = match direction {
            Direction::Encrypt => {
                self.output[HALF..HALF + len].copy_from_slice(self.input);
                self.output[HALF + len..needed].fill(0);
                (form.begin(check_value, len), needed / HALF - 1)
            }
            Direction::Decrypt => {
                self.output[..needed].copy_from_slice(&self.input[HALF..]);
                let carried = self.input.first_chunk().copied();
                (carried.unwrap_or_default(), needed / HALF)
            }
        };
        self.chain = Chain::new(direction, carried, count);
        carried.zeroize();
        Ok(needed)
    }
}

impl Wrapping for Job<'_> {
    fn begin(&mut self, direction: Direction, form: Form, check_value: [u8; HALF]) -> bool {
        self.result = self.lay_out(direction, form, check_value);
        self.result.is_ok()
    }

    fn chain(&mut self, direction: Direction) -> (&mut Chain, &mut [u8]) {
        // A wrapped key has the carried half in front.
        let front = HALF * usize::from(direction == Direction::Encrypt);
        (&mut self.chain, &mut self.output[front..])
    }

    fn finish(&mut self, direction: Direction, form: Form, check_value: [u8; HALF]) {
        if direction == Direction::Encrypt {
            self.output[..HALF].copy_from_slice(&self.chain.carried);
            return;
        }
        let (right, len) = self.chain.verdict(form, check_value, self.output);
        let whole = self.result.unwrap_or_default();
        if bool::from(right) {
            self.result = Ok(len);
        } else {
            self.output[..whole].zeroize();
            self.result = Err(Error::Authentication);
        }
    }
}
