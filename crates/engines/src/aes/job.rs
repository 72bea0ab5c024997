//! One object's work for the lanes: in a chaining mode, where each block waits for the one before, or in CTR.
//!
//! Ref. NIST SP 800-38A §6.2 (CBC), §6.3 (CFB), §6.5 (CTR); SP 800-38B §6 (CMAC).

use std::ptr;

use super::schedule::{Block, Form, Schedule};
use super::vector::{load_short, store_short};
use super::{Cbc, Cfb, Cmac, Ctr};
use crate::{Crossover, InOut};

/// One object, as the managers see it.
pub(crate) trait Job<'k> {
    /// The round keys.
    fn schedule(&self) -> &'k Schedule;
    /// Length in bytes.
    fn bytes(&self) -> usize;
}

/// One object of a chaining mode.
pub(crate) trait Chained<'k>: Job<'k> {
    /// True if the data goes in with the first round key (CBC), false if it goes in with the last (CFB).
    const BEFORE: bool;
    /// True if there is output; false if only the last chaining value counts (CMAC).
    const WRITES: bool;

    /// Returns the first chaining value and the whole blocks, of which there may be none.
    fn begin(&mut self) -> Part;
    /// Called after the whole blocks. Returns true if there is one more block, which is then in `tail`.
    fn tail(&mut self, chain: &mut Block, tail: &mut Block) -> bool;
    /// Ends the object with the last chaining value and the tail's result, if there was a tail.
    fn finish(&mut self, chain: &Block, tail: Option<&Block>);
}

/// Whole blocks of one object.
pub(crate) struct Part {
    pub(crate) chain: Block,
    pub(crate) input: *const u8,
    pub(crate) output: *mut u8,
    pub(crate) blocks: usize,
}

/// The functions of a kernel of AES-CBC in lanes.
pub struct CbcLanesOps {
    pub(crate) crossover: Crossover,
    /// The form of the round keys that the lanes take.
    pub(crate) form: Form,
    pub(crate) encrypt: unsafe fn(&mut [&mut CbcJob<'_>], bool),
}

/// One object to pass through CBC: whole blocks, of which there may be none.
pub struct CbcJob<'a> {
    /// The key, on any kernel.
    pub key: &'a Cbc,
    /// The initialisation vector before, the last block of ciphertext after.
    pub iv: Block,
    /// The object; not moved or shortened, so that the result can be read through it.
    pub data: InOut<'a>,
}

impl<'a> Job<'a> for CbcJob<'a> {
    #[inline(always)]
    fn schedule(&self) -> &'a Schedule {
        &self.key.forward
    }

    #[inline(always)]
    fn bytes(&self) -> usize {
        self.data.len()
    }
}

impl<'a> Chained<'a> for CbcJob<'a> {
    const BEFORE: bool = true;
    const WRITES: bool = true;

    #[inline(always)]
    fn begin(&mut self) -> Part {
        Part {
            chain: self.iv,
            input: self.data.input_ptr(),
            output: self.data.output_ptr(),
            blocks: self.data.len() / 16,
        }
    }

    #[inline(always)]
    fn tail(&mut self, _: &mut Block, _: &mut Block) -> bool {
        false
    }

    #[inline(always)]
    fn finish(&mut self, chain: &Block, _: Option<&Block>) {
        self.iv = *chain;
    }
}

/// The functions of a kernel of AES-CFB128 in lanes.
pub struct CfbLanesOps {
    pub(crate) crossover: Crossover,
    /// The form of the round keys that the lanes take.
    pub(crate) form: Form,
    pub(crate) encrypt: unsafe fn(&mut [&mut CfbJob<'_>], bool),
}

/// One object to encrypt with CFB: any number of bytes.
pub struct CfbJob<'a> {
    /// The key, on any kernel.
    pub key: &'a Cfb,
    /// The initialisation vector before; after, the last whole block of ciphertext if there is one.
    pub iv: Block,
    /// The object; not moved or shortened, so that the result can be read through it.
    pub data: InOut<'a>,
}

impl<'a> Job<'a> for CfbJob<'a> {
    #[inline(always)]
    fn schedule(&self) -> &'a Schedule {
        &self.key.schedule
    }

    #[inline(always)]
    fn bytes(&self) -> usize {
        self.data.len()
    }
}

impl<'a> Chained<'a> for CfbJob<'a> {
    const BEFORE: bool = false;
    const WRITES: bool = true;

    #[inline(always)]
    fn begin(&mut self) -> Part {
        Part {
            chain: self.iv,
            input: self.data.input_ptr(),
            output: self.data.output_ptr(),
            blocks: self.data.len() / 16,
        }
    }

    #[inline(always)]
    fn tail(&mut self, chain: &mut Block, tail: &mut Block) -> bool {
        let whole = self.data.len() & !15;
        self.iv = *chain;
        *tail = load_short(&self.data.input()[whole..]).to_le_bytes();
        self.data.len() > whole
    }

    #[inline(always)]
    fn finish(&mut self, _: &Block, tail: Option<&Block>) {
        if let Some(tail) = tail {
            let whole = self.data.len() & !15;
            store_short(&mut self.data.output()[whole..], u128::from_le_bytes(*tail));
        }
    }
}

/// The functions of a kernel of AES-CMAC in lanes.
pub struct CmacLanesOps {
    pub(crate) crossover: Crossover,
    /// The form of the round keys that the lanes take.
    pub(crate) form: Form,
    pub(crate) sign: unsafe fn(&mut [&mut CmacJob<'_>], bool),
}

/// One message to authenticate.
pub struct CmacJob<'a> {
    /// The key, on any kernel.
    pub key: &'a Cmac,
    /// The message, of any length.
    pub data: &'a [u8],
    /// The tag, once it has been computed. A shorter one is the first bytes of it.
    pub tag: Block,
}

impl<'a> Job<'a> for CmacJob<'a> {
    #[inline(always)]
    fn schedule(&self) -> &'a Schedule {
        &self.key.schedule
    }

    #[inline(always)]
    fn bytes(&self) -> usize {
        self.data.len()
    }
}

impl<'a> Chained<'a> for CmacJob<'a> {
    const BEFORE: bool = true;
    const WRITES: bool = false;

    #[inline(always)]
    fn begin(&mut self) -> Part {
        Part {
            chain: [0; 16],
            input: self.data.as_ptr(),
            output: ptr::null_mut(),
            blocks: self.data.len().saturating_sub(1) / 16,
        }
    }

    #[inline(always)]
    fn tail(&mut self, _: &mut Block, tail: &mut Block) -> bool {
        let whole = self.data.len().saturating_sub(1) & !15;
        *tail = self.key.last_number(&self.data[whole..]).to_le_bytes();
        true
    }

    #[inline(always)]
    fn finish(&mut self, chain: &Block, _: Option<&Block>) {
        self.tag = *chain;
    }
}

/// The functions of a kernel of AES-CTR in lanes.
pub struct CtrLanesOps {
    pub(crate) crossover: Crossover,
    /// The form of the round keys that the lanes take.
    pub(crate) form: Form,
    pub(crate) apply: unsafe fn(&mut [&mut CtrJob<'_>], bool),
}

/// One object to encrypt or decrypt with CTR: any number of bytes.
pub struct CtrJob<'a> {
    /// The key, on any kernel.
    pub key: &'a Ctr,
    /// The first counter block; the same after.
    pub counter: Block,
    /// The object; not moved or shortened, so that the result can be read through it.
    pub data: InOut<'a>,
}

impl<'a> Job<'a> for CtrJob<'a> {
    #[inline(always)]
    fn schedule(&self) -> &'a Schedule {
        &self.key.schedule
    }

    #[inline(always)]
    fn bytes(&self) -> usize {
        self.data.len()
    }
}
