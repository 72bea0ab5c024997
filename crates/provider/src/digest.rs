//! Digests.
//!
//! Ref. provider-digest(7), EVP_MD-common(7).

use std::ffi::CStr;
use std::sync::OnceLock;

use millstream::hash::{Digest as Output, Hash, HashKernel, Hasher};
use millstream::tally::Place;

use crate::abi::{INTEGER, OsslParam, UNSIGNED_INTEGER};
use crate::count::{Count, Rows};
use crate::error::{Reason, Result};
use crate::params::Params;
use crate::provider::Provider;

/// A digest that is offered.
pub trait Digest: 'static {
    /// OpenSSL's names for it, with colons between.
    const NAMES: &'static CStr;
    /// What it is.
    const SPEC: Spec;
    /// Found once.
    fn bound() -> &'static Bound;
}

/// What OpenSSL wants to know of a digest.
#[derive(Clone, Copy)]
pub struct Spec {
    pub hash: Hash,
    /// Whether an AlgorithmIdentifier leaves its parameters out (RFC 5754 §2).
    pub algid_absent: bool,
}

/// The parameters that tell that.
pub const GETTABLE: &[OsslParam] = &[
    OsslParam::described(c"blocksize", UNSIGNED_INTEGER),
    OsslParam::described(c"size", UNSIGNED_INTEGER),
    OsslParam::described(c"xof", INTEGER),
    OsslParam::described(c"algid-absent", INTEGER),
    OsslParam::END,
];

impl Spec {
    pub fn answer(&self, params: Params<'_>) -> Result<()> {
        for param in params {
            match param.key().to_bytes() {
                b"blocksize" => param.set_size(self.hash.block_len())?,
                b"size" => param.set_size(self.hash.output_len())?,
                b"xof" => param.set_bool(false)?,
                b"algid-absent" => param.set_bool(self.algid_absent)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// A digest's kernel and counters.
pub struct Bound {
    kernel: OnceLock<HashKernel>,
    rows: Rows,
}

impl Bound {
    pub const fn new() -> Self {
        Bound { kernel: OnceLock::new(), rows: Rows::new() }
    }

    fn kernel(&self, hash: Hash) -> Result<HashKernel> {
        if let Some(kernel) = self.kernel.get() {
            return Ok(*kernel);
        }
        let kernel = HashKernel::best(millstream::features()?, hash);
        Ok(*self.kernel.get_or_init(|| kernel))
    }

    fn count(&self, provider: Provider, kernel: &HashKernel) -> Count {
        let mut count = Count::default();
        let (algorithm, kernel) = (kernel.hash().name(), kernel.kernel().name);
        count.bind(self.rows.row(provider, Place::InProcess, algorithm, kernel));
        count
    }
}

/// What stands behind an `EVP_MD_CTX`.
#[derive(Clone)]
pub struct Context {
    pub provider: Provider,
    kernel: HashKernel,
    hasher: Hasher,
    count: Count,
}

impl Context {
    pub fn new<D: Digest>(provider: Provider) -> Result<Self> {
        let bound = D::bound();
        let kernel = bound.kernel(D::SPEC.hash)?;
        let count = bound.count(provider, &kernel);
        Ok(Context { provider, kernel, hasher: Hasher::with_kernel(kernel), count })
    }

    /// Begins a message.
    #[inline]
    pub fn init(&mut self) {
        self.hasher = Hasher::with_kernel(self.kernel);
    }

    #[inline]
    pub fn update(&mut self, data: &[u8]) {
        self.hasher.update(data);
        self.count.add_bytes(data.len());
    }

    /// Writes the digest to the front of `out`.
    #[inline]
    pub fn finish(&mut self, out: &mut [u8]) -> Result<usize> {
        let digest = self.hasher.finish_reset();
        self.count.add(0);
        write(&digest, out)
    }
}

/// A whole message at once.
pub fn digest<D: Digest>(provider: Provider, data: &[u8], out: &mut [u8]) -> Result<usize> {
    let bound = D::bound();
    let kernel = bound.kernel(D::SPEC.hash)?;
    bound.count(provider, &kernel).add(data.len());
    write(&kernel.digest(data), out)
}

fn write(digest: &Output, out: &mut [u8]) -> Result<usize> {
    out.get_mut(..digest.len()).ok_or(Reason::OUTPUT_BUFFER_TOO_SMALL)?.copy_from_slice(digest);
    Ok(digest.len())
}
