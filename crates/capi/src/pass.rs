//! Input and output that need not be of one length: from the same start, or apart.

/// `len` bytes of input, and room for output.
pub enum Pass<'a> {
    /// Input and output begin at the same byte: the buffer is as long as the longer of the two.
    InPlace {
        /// The buffer.
        buffer: &'a mut [u8],
        /// Bytes of input.
        len: usize,
        /// Bytes there are for output.
        room: usize,
    },
    /// Input and output don't overlap.
    Apart {
        /// The input.
        input: &'a [u8],
        /// Room for the output.
        output: &'a mut [u8],
    },
}
