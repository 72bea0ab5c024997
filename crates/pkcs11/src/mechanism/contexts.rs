//! The parameters of ML-DSA and SLH-DSA: hedging, the context, and the function of HashML-DSA and HashSLH-DSA.
//!
//! Ref. PKCS #11 v3.2 §6, "ML-DSA" and "SLH-DSA"; FIPS 204 §3.4, §5.2, §5.4; FIPS 205 §10.2.
//!
//! # Safety
//! As in `parameters`: the pointers are the program's, and every pattern of bytes is one of these structures.
#![allow(unsafe_code)]

use cryptoki_sys::*;
use millstream::publickey::mldsa::{CONTEXT_MAX, Prehash};
use millstream::publickey::{mldsa, slhdsa};

use super::hash_of;
use crate::abi::{Mechanism, pointed};
use crate::refusal::{Outcome, Refusal, demand, refuse};

/// The parameters of ML-DSA and SLH-DSA, and of their forms for digests.
#[derive(Clone, Debug)]
pub struct InContext {
    /// The context, of 0 to 255 bytes.
    pub context: Vec<u8>,
    /// True for a signature without random bytes.
    pub deterministic: bool,
    /// The function that made the digest; none for a message that is signed itself.
    pub function: Option<Prehash>,
}

impl InContext {
    /// Reads the parameter of a mechanism that signs messages, themselves or by a function. A program may leave the parameter out.
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID`.
    pub fn read(mechanism: &Mechanism<'_>, function: Option<Prehash>, signs: bool) -> Outcome<Self> {
        if mechanism.parameter.is_empty() {
            return Ok(InContext { context: Vec::new(), deterministic: false, function });
        }
        // SAFETY: the head of the file.
        let given = unsafe { mechanism.parameter::<CK_SIGN_ADDITIONAL_CONTEXT>()? };
        InContext::new(given.hedgeVariant, (given.pContext, given.ulContextLen), function, signs)
    }

    /// Reads the parameter of a mechanism that signs digests of the program.
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID`.
    pub fn of_digest(mechanism: &Mechanism<'_>, signs: bool) -> Outcome<Self> {
        // SAFETY: the head of the file.
        let given = unsafe { mechanism.parameter::<CK_HASH_SIGN_ADDITIONAL_CONTEXT>()? };
        let function = match given.hash {
            CKM_SHA512_224 => Some(Prehash::Sha512_224),
            number => {
                let hash = hash_of(number)?;
                Prehash::ALL.into_iter().find(|function| function.hash() == Some(hash))
            }
        };
        demand(function.is_some(), CKR_MECHANISM_PARAM_INVALID)?;
        InContext::new(given.hedgeVariant, (given.pContext, given.ulContextLen), function, signs)
    }

    fn new(
        hedge: CK_HEDGE_TYPE,
        (context, context_len): (*mut CK_BYTE, CK_ULONG),
        function: Option<Prehash>,
        signs: bool,
    ) -> Outcome<Self> {
        let deterministic = match hedge {
            CKH_HEDGE_PREFERRED | CKH_HEDGE_REQUIRED => false,
            CKH_DETERMINISTIC_REQUIRED => true,
            // Whoever verifies does not see how a signature was made, and the standard has the value ignored.
            _ if !signs => false,
            _ => return refuse(CKR_MECHANISM_PARAM_INVALID),
        };
        demand(context_len <= CONTEXT_MAX as CK_ULONG, CKR_MECHANISM_PARAM_INVALID)?;
        // SAFETY: the head of the file.
        let context = unsafe { pointed(context, context_len)? }.to_vec();
        Ok(InContext { context, deterministic, function })
    }

    /// Returns the scheme of ML-DSA by which a message or its digest is signed.
    pub fn ml_dsa(&self) -> mldsa::Scheme<'_> {
        match self.function {
            None => mldsa::Scheme::Pure(&self.context),
            Some(function) => mldsa::Scheme::Digest(function, &self.context),
        }
    }

    /// Returns the scheme of SLH-DSA by which a message or its digest is signed.
    pub fn slh_dsa(&self) -> slhdsa::Scheme<'_> {
        match self.function {
            None => slhdsa::Scheme::Pure(&self.context),
            Some(function) => slhdsa::Scheme::Digest(function, &self.context),
        }
    }

    /// Refuses a digest of another length than the function makes.
    ///
    /// # Errors
    /// `CKR_DATA_LEN_RANGE`.
    pub fn check(&self, input: &[u8]) -> Outcome {
        match self.function {
            Some(function) if function.digest_len() != input.len() => Err(Refusal(CKR_DATA_LEN_RANGE)),
            _ => Ok(()),
        }
    }
}
