//! Input and output of one call, whose memory a C caller may have arranged in any way.
//!
//! # Safety
//! [`Exchange::new`] is the one place where pointers become slices. Input and output are lent as two slices only where they are
//! apart, as one where they begin at the same place, and else the input is copied first.
#![allow(unsafe_code)]

use std::slice;

use millstream::InOut;
use zeroize::Zeroizing;

use crate::error::Result;

/// The place of the input.
enum Input<'a> {
    Apart(&'a [u8]),
    Copied(Zeroizing<Vec<u8>>),
    /// The input is this many first bytes of the output.
    InPlace(usize),
}

/// The input and the output of one call.
pub struct Exchange<'a> {
    input: Input<'a>,
    output: &'a mut [u8],
}

impl<'a> Exchange<'a> {
    /// Takes `input_len` bytes to read, and `output_len` to write.
    ///
    /// # Safety
    /// `input` is valid for reads of `input_len` bytes and `output` for writes of `output_len`, for `'a`, and nobody else uses
    /// them meanwhile. Null is fine for none. They may overlap.
    #[inline(always)]
    pub unsafe fn new(input: *const u8, input_len: usize, output: *mut u8, output_len: usize) -> Self {
        if input_len == 0 || input.is_null() {
            // SAFETY: `output` is ours for `output_len` bytes.
            return Exchange { input: Input::Apart(&[]), output: unsafe { bytes_mut(output, output_len) } };
        }
        let (from, to) = (input as usize, output as usize);
        if from == to {
            let longer = input_len.max(output_len);
            // SAFETY: the same memory: what is only read lies in the longer one of both.
            let output = unsafe { bytes_mut(output, longer) };
            return Exchange { input: Input::InPlace(input_len), output };
        }
        let apart = from + input_len <= to || to + output_len <= from;
        // SAFETY: valid for reads; lent only for the copy unless they are apart.
        let read = unsafe { slice::from_raw_parts(input, input_len) };
        let input = if apart { Input::Apart(read) } else { Input::Copied(Zeroizing::new(read.to_vec())) };
        // SAFETY: `output` is ours for `output_len` bytes, and no borrow of `input` that overlaps it is left.
        Exchange { input, output: unsafe { bytes_mut(output, output_len) } }
    }

    /// Returns the number of bytes of input.
    #[inline(always)]
    pub fn input_len(&self) -> usize {
        match &self.input {
            Input::Apart(input) => input.len(),
            Input::Copied(input) => input.len(),
            Input::InPlace(len) => *len,
        }
    }

    /// Returns input and output as memory that may be the same: where both are one, with the length of the input.
    #[inline(always)]
    pub fn parts(&mut self) -> Parts<'_> {
        match &self.input {
            Input::Apart(input) => Parts::Apart(input, self.output),
            Input::Copied(input) => Parts::Apart(input, self.output),
            Input::InPlace(len) => Parts::InPlace(self.output, *len),
        }
    }

    /// Tells whether input and output are the same memory.
    pub fn is_in_place(&self) -> bool {
        matches!(self.input, Input::InPlace(_))
    }

    /// Returns that memory, and how many bytes of it are input: 0 where they are apart.
    pub fn in_place(&mut self) -> (&mut [u8], usize) {
        match self.input {
            Input::InPlace(len) => (self.output, len),
            _ => (self.output, 0),
        }
    }

    /// Returns all the input as an `InOut`, where the output is as long.
    #[inline(always)]
    pub fn in_out(&mut self) -> Result<InOut<'_>> {
        Ok(match self.parts() {
            Parts::InPlace(buffer, len) => InOut::in_place(&mut buffer[..len]),
            Parts::Apart(input, output) => InOut::separate(input, output)?,
        })
    }

    /// Separates input and output, for callers that read input after they began to write.
    pub fn apart(&mut self) -> (&[u8], &mut [u8]) {
        if let Input::InPlace(len) = self.input {
            self.input = Input::Copied(Zeroizing::new(self.output[..len].to_vec()));
        }
        match &self.input {
            Input::Apart(input) => (input, self.output),
            Input::Copied(input) => (input, self.output),
            Input::InPlace(_) => unreachable!("it was copied above"),
        }
    }
}

/// The memory of an [`Exchange`].
pub enum Parts<'a> {
    /// Input, and output.
    Apart(&'a [u8], &'a mut [u8]),
    /// One buffer, and the number of its first bytes that are the input.
    InPlace(&'a mut [u8], usize),
}

/// # Safety
/// `at` is null, or valid for `len` bytes and exclusively the caller's for `'a`.
pub unsafe fn bytes_mut<'a>(at: *mut u8, len: usize) -> &'a mut [u8] {
    if at.is_null() || len == 0 {
        return &mut [];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts_mut(at, len) }
}

/// Returns the bytes at an address; none where it is null.
///
/// # Safety
/// `at` is null, or valid for reads of `len` bytes for `'a`.
pub unsafe fn given<'a>(at: *const u8, len: usize) -> Option<&'a [u8]> {
    // SAFETY: the caller's promise.
    (!at.is_null()).then(|| unsafe { bytes(at, len) })
}

/// # Safety
/// `at` is null, or valid for reads of `len` bytes for `'a`.
pub unsafe fn bytes<'a>(at: *const u8, len: usize) -> &'a [u8] {
    if at.is_null() || len == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(at, len) }
}
