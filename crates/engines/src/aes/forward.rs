//! AES in its forward direction alone, for constructions that encrypt single blocks of many messages side by side.
//!
//! Ref. FIPS 197 §5.1.
//!
//! # Safety
//! A kernel's functions are called through its [`Bound`], the witness that its features exist.
#![allow(unsafe_code)]

use zeroize::optimization_barrier;

use super::EcbOps;
#[cfg(feature = "ff1")]
use super::feistel::{BothPlaces, Digits, Feistel, FeistelRounds, Integers};
use super::schedule::{Block, Schedule};
use crate::kernel::{BesideKernel, no_padding};
use crate::{Bound, Error, InOut, Kernel};

/// A key that only encrypts, on a kernel of ECB. Zeroised on drop.
pub(crate) struct Forward {
    schedule: Schedule,
    kernel: Bound<EcbOps>,
    _unused: BesideKernel,
}

no_padding!(Forward: Schedule, Bound<EcbOps>, BesideKernel);

impl Forward {
    /// A key of 16, 24 or 32 bytes. The error names `algorithm`.
    #[inline]
    pub(crate) fn new(kernel: Bound<EcbOps>, algorithm: &'static str, key: &[u8]) -> Result<Self, Error> {
        let mut this = Schedule::blank(algorithm, key).map(|schedule| Forward {
            schedule,
            kernel,
            _unused: [0; size_of::<BesideKernel>()],
        });
        if let Ok(this) = &mut this {
            this.replace(key);
        }
        this
    }

    /// The place of a key of 16, 24 or 32 bytes, which encrypts nothing before it has [one](Forward::replace).
    ///
    /// # Panics
    /// With another length.
    #[inline(always)]
    pub(crate) fn blank(kernel: Bound<EcbOps>, key_len: usize) -> Self {
        let schedule = Schedule::blank("aes", &[0; 32][..key_len]).expect("a key's length");
        Forward { schedule, kernel, _unused: [0; size_of::<BesideKernel>()] }
    }

    /// Replaces the key with another of the same length.
    #[inline(always)]
    pub(crate) fn replace(&mut self, key: &[u8]) {
        assert!(key.len() == 4 * (self.schedule.rounds - 6), "keys of one length");
        // SAFETY: the kernel is bound.
        unsafe { (self.kernel.ops().expand)(&mut self.schedule, key) };
    }

    /// Encrypts each block.
    #[inline(always)]
    pub(crate) fn encrypt(&self, blocks: &mut [Block]) {
        // SAFETY: the kernel is bound.
        unsafe { (self.kernel.ops().encrypt)(&self.schedule, InOut::in_place(blocks.as_flattened_mut())) };
    }

    /// The functions that the kernel has for FF1, if it has more for it than passes over blocks.
    #[cfg(feature = "ff1")]
    #[inline(always)]
    pub(crate) fn feistel(&self) -> Option<BoundFeistel<'_>> {
        let functions = self.kernel.ops().feistel.as_ref()?;
        Some(BoundFeistel { schedule: &self.schedule, functions })
    }

    /// The kernel in use.
    pub(crate) fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }
}

/// The functions for FF1 of a kernel that is bound, and a key.
#[cfg(feature = "ff1")]
#[derive(Clone, Copy)]
pub(crate) struct BoundFeistel<'k> {
    schedule: &'k Schedule,
    functions: &'static Feistel,
}

#[cfg(feature = "ff1")]
impl BoundFeistel<'_> {
    /// Reads the two integers of each value.
    #[inline(always)]
    pub(crate) fn read(
        self,
        places: &BothPlaces,
        digits: &[Digits<'_>],
        integers: (&mut Integers, &mut Integers),
    ) {
        // SAFETY: the kernel is bound.
        unsafe { (self.functions.read)(places, digits, integers.0, integers.1) }
    }

    /// Makes the rounds.
    #[inline(always)]
    pub(crate) fn rounds(self, rounds: &FeistelRounds<'_>, integers: (&mut Integers, &mut Integers)) {
        // SAFETY: the kernel is bound.
        unsafe { (self.functions.rounds)(self.schedule, rounds, integers.0, integers.1) }
    }

    /// Writes the two integers of each value.
    #[inline(always)]
    pub(crate) fn write(
        self,
        places: &BothPlaces,
        integers: (&Integers, &Integers),
        digits: &mut [Digits<'_>],
    ) {
        // SAFETY: the kernel is bound.
        unsafe { (self.functions.write)(places, integers.0, integers.1, digits) }
    }
}

/// Overwrites what was computed of a secret. Volatile stores would go byte by byte and cost more than the rounds of AES.
#[inline(always)]
pub(crate) fn wipe<T: Copy + Default>(values: &mut [T]) {
    values.fill(T::default());
    optimization_barrier(values);
}
