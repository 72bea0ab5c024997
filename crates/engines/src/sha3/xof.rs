//! SHAKE128 and SHAKE256: output of any length.
//!
//! Ref. FIPS 202 §4 (the sponge) and §6.2.

use std::fmt;

use millstream_cpu::Features;
use zeroize::Zeroize;

use super::{RATE_256, RATE_SHAKE128, SHA3_256, SHAKE128, State, mix, permutation};
use crate::hash::{CompressOps, compress};
use crate::{Bound, Kernel};

/// The byte that ends a message: the four bits that FIPS 202 §6.2 appends, and the first of the padding.
const END: u8 = 0x1f;

/// A function with output of any length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Xof {
    /// SHAKE128, with a security of 128 bits.
    Shake128,
    /// SHAKE256, with a security of 256 bits.
    Shake256,
}

impl Xof {
    /// Both functions.
    pub const ALL: [Xof; 2] = [Xof::Shake128, Xof::Shake256];

    /// Returns the name, as in `shake128`.
    pub const fn name(self) -> &'static str {
        match self {
            Xof::Shake128 => "shake128",
            Xof::Shake256 => "shake256",
        }
    }

    /// Bytes in a block, the sponge's rate.
    pub const fn block_len(self) -> usize {
        match self {
            Xof::Shake128 => RATE_SHAKE128,
            Xof::Shake256 => RATE_256,
        }
    }
}

impl fmt::Display for Xof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The same thing for both rates.
#[derive(Clone, Copy)]
enum Rates<A, B> {
    Shake128(A),
    Shake256(B),
}

/// Evaluates one expression for the rate that is there.
macro_rules! each {
    ($rates:expr, $x:pat => $body:expr) => {
        match $rates {
            Rates::Shake128($x) => $body,
            Rates::Shake256($x) => $body,
        }
    };
}

/// A function bound to a kernel.
#[derive(Clone, Copy)]
pub struct XofKernel(Rates<Bound<CompressOps<State, RATE_SHAKE128>>, Bound<CompressOps<State, RATE_256>>>);

impl XofKernel {
    /// The fastest kernel that `features` allow.
    #[inline]
    pub fn best(features: Features, xof: Xof) -> Self {
        XofKernel(match xof {
            Xof::Shake128 => Rates::Shake128(SHAKE128.best(features)),
            Xof::Shake256 => Rates::Shake256(SHA3_256.best(features)),
        })
    }

    /// Every kernel that `features` allow, best first.
    pub fn available(features: Features, xof: Xof) -> Vec<Self> {
        match xof {
            Xof::Shake128 => {
                SHAKE128.available(features).map(|row| XofKernel(Rates::Shake128(row))).collect()
            }
            Xof::Shake256 => {
                SHA3_256.available(features).map(|row| XofKernel(Rates::Shake256(row))).collect()
            }
        }
    }

    /// The kernel of that name, if `features` allow it.
    pub fn named(features: Features, xof: Xof, name: &str) -> Option<Self> {
        XofKernel::available(features, xof).into_iter().find(|found| found.kernel().name == name)
    }

    /// The kernel's description.
    pub fn kernel(&self) -> &'static Kernel {
        each!(&self.0, kernel => kernel.kernel())
    }
}

impl fmt::Debug for XofKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kernel().name)
    }
}

/// A message that comes in pieces, and whose output is then read in pieces.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::sha3::{Shake, Xof};
///
/// let mut shake = Shake::new(Features::hardware(), Xof::Shake128);
/// shake.update(b"a");
/// shake.update(b"bc");
/// let mut output = shake.finish();
/// let mut out = [0; 4];
/// output.squeeze(&mut out);
/// assert_eq!(out, [0x58, 0x81, 0x09, 0x2d]);
/// output.squeeze(&mut out);
/// assert_eq!(out, [0xd8, 0x18, 0xbf, 0x5c]);
/// ```
#[derive(Clone)]
pub struct Shake(Sponges);

type Sponges = Rates<Sponge<RATE_SHAKE128>, Sponge<RATE_256>>;

impl Shake {
    /// Begins a message with the fastest kernel.
    #[inline]
    pub fn new(features: Features, xof: Xof) -> Self {
        Shake::with_kernel(XofKernel::best(features, xof))
    }

    /// Begins a message with a given kernel.
    #[inline]
    pub fn with_kernel(kernel: XofKernel) -> Self {
        Shake(match kernel.0 {
            Rates::Shake128(kernel) => Rates::Shake128(Sponge::new(kernel)),
            Rates::Shake256(kernel) => Rates::Shake256(Sponge::new(kernel)),
        })
    }

    /// The function.
    pub fn xof(&self) -> Xof {
        self.0.xof()
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        each!(&self.0, sponge => sponge.kernel.kernel())
    }

    /// Takes in the next piece, of any length.
    #[inline]
    pub fn update(&mut self, data: &[u8]) {
        each!(&mut self.0, sponge => sponge.absorb(data));
    }

    /// Ends the message. Its output can be read in pieces, and never ends.
    #[inline]
    pub fn finish(mut self) -> XofReader {
        each!(&mut self.0, sponge => sponge.pad(END));
        XofReader(self.0)
    }
}

impl fmt::Debug for Shake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.xof(), self.kernel().name)
    }
}

/// The output of a message that has ended.
#[derive(Clone)]
pub struct XofReader(Sponges);

impl XofReader {
    /// Fills `out` with the next bytes.
    #[inline]
    pub fn squeeze(&mut self, out: &mut [u8]) {
        each!(&mut self.0, sponge => sponge.squeeze(out));
    }
}

impl fmt::Debug for XofReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "output of {}", self.0.xof())
    }
}

impl Sponges {
    fn xof(&self) -> Xof {
        match self {
            Rates::Shake128(_) => Xof::Shake128,
            Rates::Shake256(_) => Xof::Shake256,
        }
    }
}

/// Returns the output of the empty message.
pub(super) fn of_nothing(kernel: Bound<CompressOps<State, RATE_SHAKE128>>) -> XofReader {
    Shake(Rates::Shake128(Sponge::new(kernel))).finish()
}

/// A state, which is absorbed into and then squeezed out of. The part of a block that came first is in the state already.
#[derive(Clone)]
struct Sponge<const RATE: usize> {
    kernel: Bound<CompressOps<State, RATE>>,
    state: State,
    /// Bytes of the block at hand that were absorbed, or were squeezed out.
    at: usize,
}

impl<const RATE: usize> Sponge<RATE> {
    #[inline(always)]
    fn new(kernel: Bound<CompressOps<State, RATE>>) -> Self {
        Sponge { kernel, state: [0; permutation::WORDS], at: 0 }
    }

    #[inline(always)]
    fn absorb(&mut self, mut data: &[u8]) {
        if self.at > 0 {
            let (head, rest) = data.split_at(data.len().min(RATE - self.at));
            self.mix(head);
            data = rest;
            if self.at < RATE {
                return;
            }
            self.permute();
        }
        let (blocks, tail) = data.as_chunks::<RATE>();
        if !blocks.is_empty() {
            compress(self.kernel, &mut self.state, blocks, &[]);
        }
        self.mix(tail);
    }

    /// Adds bytes to those of the block, which has room for them.
    #[inline(always)]
    fn mix(&mut self, data: &[u8]) {
        mix(&mut self.state, self.at, data);
        self.at += data.len();
    }

    /// Ends the message: FIPS 202 §5.1.
    #[inline(always)]
    fn pad(&mut self, end: u8) {
        self.mix(&[end]);
        self.state[RATE / 8 - 1] ^= 1 << 63;
        self.permute();
    }

    /// Fills `out`, and permutes the state whenever its block is used up: FIPS 202 §4, steps 8 to 10.
    #[inline(always)]
    fn squeeze(&mut self, out: &mut [u8]) {
        let mut out = out;
        while !out.is_empty() {
            if self.at == RATE {
                self.permute();
            }
            let in_word = self.at % 8;
            let bytes = self.state[self.at / 8].to_le_bytes();
            let (head, rest) = out.split_at_mut(out.len().min(8 - in_word));
            head.copy_from_slice(&bytes[in_word..in_word + head.len()]);
            self.at += head.len();
            out = rest;
        }
    }

    /// Permutes the state, and begins its next block. To absorb zeros is to add nothing.
    #[inline(always)]
    fn permute(&mut self) {
        compress(self.kernel, &mut self.state, &[[0; RATE]], &[]);
        self.at = 0;
    }
}

/// Clears the state, because the message may be secret.
impl<const RATE: usize> Drop for Sponge<RATE> {
    fn drop(&mut self) {
        self.state.zeroize();
    }
}
