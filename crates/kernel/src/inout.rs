//! Input and output of one pass: the same memory, or memory that does not overlap.
//!
//! # Safety
//! An [`InOut`] is made from either one `&mut [u8]` or a `&[u8]` and a `&mut [u8]`, so its two
//! pointers are each valid for `len` bytes for the lifetime `'a`, the output for writing too, and
//! they are equal or disjoint. The pointers never leave this file except through
//! [`InOut::input_ptr`] and [`InOut::output_ptr`], for vector loads and stores in kernels.
#![allow(unsafe_code)]

use std::marker::PhantomData;

use crate::Error;

/// `len` bytes to read and `len` bytes to write, either the same bytes or disjoint ones.
///
/// A kernel reads a block, computes, and writes it before it reads past it, so that both work.
///
/// ```
/// use millstream_kernel::InOut;
///
/// let mut buffer = *b"in place";
/// let mut pass = InOut::in_place(&mut buffer);
/// let block: [u8; 8] = pass.load(0);
/// pass.store(0, block.map(|b| b.to_ascii_uppercase()));
/// assert_eq!(&buffer, b"IN PLACE");
/// ```
#[derive(Debug)]
pub struct InOut<'a> {
    input: *const u8,
    output: *mut u8,
    len: usize,
    borrows: PhantomData<(&'a [u8], &'a mut [u8])>,
}

// SAFETY: an `InOut` is a shared and an exclusive borrow of bytes, which are `Send`.
unsafe impl Send for InOut<'_> {}

impl<'a> InOut<'a> {
    /// Reads and writes the same bytes.
    #[inline]
    pub fn in_place(buffer: &'a mut [u8]) -> Self {
        let output = buffer.as_mut_ptr();
        InOut { input: output, output, len: buffer.len(), borrows: PhantomData }
    }

    /// Reads one buffer and writes another.
    ///
    /// # Errors
    /// [`Error::OutputLength`] when they are not of the same length.
    #[inline]
    pub fn separate(input: &'a [u8], output: &'a mut [u8]) -> Result<Self, Error> {
        if input.len() != output.len() {
            return Err(Error::OutputLength { given: output.len(), needed: input.len() });
        }
        Ok(InOut {
            input: input.as_ptr(),
            output: output.as_mut_ptr(),
            len: input.len(),
            borrows: PhantomData,
        })
    }

    /// Length in bytes of the input, and of the output.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there is nothing to do.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns true if input and output are the same memory.
    #[inline]
    pub fn is_in_place(&self) -> bool {
        self.input == self.output
    }

    /// Borrows the same pass for a shorter lifetime.
    #[inline(always)]
    pub fn reborrow(&mut self) -> InOut<'_> {
        InOut { input: self.input, output: self.output, len: self.len, borrows: PhantomData }
    }

    /// Returns the same pass, and keeps the compiler from copying it with loads that are wider than the stores that
    /// have just written it. Such a load waits until the stores have left the store buffer, which takes as long as a
    /// block.
    #[cfg_attr(miri, allow(unused_mut))]
    #[inline(always)]
    pub fn word_by_word(mut self) -> Self {
        #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
        // SAFETY: no instruction; the pointers come out as they went in.
        #[allow(clippy::pointers_in_nomem_asm_block)]
        unsafe {
            std::arch::asm!(
                "/* {0} {1} */",
                inout(reg) self.input,
                inout(reg) self.output,
                options(nomem, nostack, preserves_flags)
            );
        }
        self
    }

    /// The first `at` bytes, and the rest.
    ///
    /// # Panics
    /// When `at` is more than the length.
    #[inline(always)]
    pub fn split_at(self, at: usize) -> (InOut<'a>, InOut<'a>) {
        assert!(at <= self.len);
        // SAFETY: `at <= len`, so both halves stay within the borrows, and they don't overlap.
        let (input, output) = unsafe { (self.input.add(at), self.output.add(at)) };
        (
            InOut { input: self.input, output: self.output, len: at, borrows: PhantomData },
            InOut { input, output, len: self.len - at, borrows: PhantomData },
        )
    }

    /// Takes the first `n` bytes off this pass.
    ///
    /// # Panics
    /// When `n` is more than the length.
    #[inline(always)]
    pub fn take(&mut self, n: usize) -> InOut<'a> {
        let whole = InOut { input: self.input, output: self.output, len: self.len, borrows: PhantomData };
        let (head, tail) = whole.split_at(n);
        *self = tail;
        head
    }

    /// The whole blocks of `block` bytes, and the bytes after them.
    #[inline(always)]
    pub fn split_blocks(self, block: usize) -> (InOut<'a>, InOut<'a>) {
        let whole = self.len - self.len % block;
        self.split_at(whole)
    }

    /// The `N` input bytes from `at`.
    ///
    /// # Panics
    /// When they are not all inside.
    #[inline(always)]
    pub fn load<const N: usize>(&self, at: usize) -> [u8; N] {
        assert!(at <= self.len && N <= self.len - at);
        // SAFETY: the bytes `at..at + N` are inside the input, and an array has no alignment.
        unsafe { self.input.add(at).cast::<[u8; N]>().read() }
    }

    /// Writes `N` output bytes from `at`.
    ///
    /// # Panics
    /// When they are not all inside.
    #[inline(always)]
    pub fn store<const N: usize>(&mut self, at: usize, bytes: [u8; N]) {
        assert!(at <= self.len && N <= self.len - at);
        // SAFETY: the bytes `at..at + N` are inside the output, which is exclusively ours.
        unsafe { self.output.add(at).cast::<[u8; N]>().write(bytes) }
    }

    /// The input.
    #[inline(always)]
    pub fn input(&self) -> &[u8] {
        // SAFETY: valid for `len` bytes; nothing is written while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.input, self.len) }
    }

    /// The output, which in place is the input too.
    #[inline(always)]
    pub fn output(&mut self) -> &mut [u8] {
        // SAFETY: valid for `len` bytes and exclusively ours while `self` is borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.output, self.len) }
    }

    /// Returns the beginning of the input, for vector loads inside `0..len`.
    #[inline(always)]
    pub fn input_ptr(&self) -> *const u8 {
        self.input
    }

    /// Returns the beginning of the output, for vector stores inside `0..len`.
    #[inline(always)]
    pub fn output_ptr(&mut self) -> *mut u8 {
        self.output
    }

    /// Copies the input to the output (nothing to do in place).
    #[inline]
    pub fn copy(&mut self) {
        // SAFETY: both valid for `len` bytes; equal regions are allowed by `copy`.
        unsafe { std::ptr::copy(self.input, self.output, self.len) }
    }

    /// Writes `input XOR pad` over the first `pad.len()` bytes.
    ///
    /// # Panics
    /// When `pad` is longer than the pass.
    #[inline(always)]
    pub fn xor(&mut self, pad: &[u8]) {
        assert!(pad.len() <= self.len);
        for (i, p) in pad.iter().enumerate() {
            let [byte] = self.load::<1>(i);
            self.store(i, [byte ^ p]);
        }
    }
}

impl<'a> From<&'a mut [u8]> for InOut<'a> {
    #[inline]
    fn from(buffer: &'a mut [u8]) -> Self {
        InOut::in_place(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separate_needs_equal_lengths() {
        let error = InOut::separate(&[0; 4], &mut [0; 3]).unwrap_err();
        assert_eq!(error, Error::OutputLength { given: 3, needed: 4 });
    }

    #[test]
    fn parts_see_their_own_bytes() {
        let input: Vec<u8> = (0..40).collect();
        let mut output = [0; 40];
        let (mut blocks, mut tail) = InOut::separate(&input, &mut output).unwrap().split_blocks(16);
        assert_eq!((blocks.len(), tail.len()), (32, 8));
        let first = blocks.take(16);
        assert_eq!(first.input(), &input[..16]);
        assert_eq!(blocks.load::<2>(0), [16, 17]);
        blocks.xor(&[0xff; 16]);
        tail.copy();
        assert_eq!(output[16], 16 ^ 0xff);
        assert_eq!(output[..16], [0; 16]);
        assert_eq!(output[32..], input[32..]);
    }

    #[test]
    #[should_panic]
    fn loads_stay_inside() {
        InOut::in_place(&mut [0; 15]).load::<16>(0);
    }
}
