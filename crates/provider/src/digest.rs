//! Digests.
//!
//! Ref. provider-digest(7), EVP_MD-common(7).

use std::cell::Cell;
use std::sync::OnceLock;
use std::thread::LocalKey;

use millstream::hash::{Hash, HashKernel, Hasher};
use millstream::sha3::Xof;
use millstream::tally::{Place, Row};

use crate::abi::{INTEGER, OsslParam, UNSIGNED_INTEGER};
use crate::count::{Count, Rows};
use crate::error::{Reason, Result};
use crate::params::Params;
use crate::provider::Provider;

/// A digest that the provider offers.
pub trait Digest: Clone + 'static {
    /// A message under way.
    type Message: Message;
    /// The description that OpenSSL asks for.
    const SPEC: Spec;
    /// Returns the place of a context that this thread freed and may need again soon: OpenSSL makes one context for
    /// each message that is there as a whole.
    fn spare() -> &'static LocalKey<Spare<Self>>;
}

/// A context, or none.
pub type Spare<D> = Cell<Option<Box<Context<D>>>>;

/// The description of a digest that OpenSSL asks for.
#[derive(Clone, Copy)]
pub struct Spec {
    /// The hash that computes the digest, if it is one hash.
    pub hash: Option<Hash>,
    /// The function whose output is as long as the caller says.
    pub xof: Option<Xof>,
    /// Bytes of a digest, and of a block. A function with output of any length has the size that it has by default, or 0.
    pub size: usize,
    block: usize,
    /// True if an AlgorithmIdentifier omits its parameters (RFC 5754 §2).
    algid_absent: bool,
}

/// The parameters that tell the description.
pub const GETTABLE: &[OsslParam] = &[
    OsslParam::described(c"blocksize", UNSIGNED_INTEGER),
    OsslParam::described(c"size", UNSIGNED_INTEGER),
    OsslParam::described(c"xof", INTEGER),
    OsslParam::described(c"algid-absent", INTEGER),
    OsslParam::END,
];

impl Spec {
    /// Both hashes, one after the other: TLS before 1.2 signs these.
    pub const MD5_SHA1: Spec = Spec { hash: None, xof: None, size: 36, block: 64, algid_absent: false };

    pub const fn of(hash: Hash) -> Self {
        let (size, block) = (hash.output_len(), hash.block_len());
        Spec { hash: Some(hash), xof: None, size, block, algid_absent: true }
    }

    /// Describes a function with output of any length, `size` bytes where nobody says how long.
    pub const fn of_xof(xof: Xof, size: usize) -> Self {
        Spec { hash: None, xof: Some(xof), size, block: xof.block_len(), algid_absent: true }
    }

    /// Has an AlgorithmIdentifier carry NULL as its parameters.
    pub const fn with_null(self) -> Self {
        Spec { algid_absent: false, ..self }
    }

    pub fn answer(&self, params: Params<'_>) -> Result<()> {
        for param in params {
            match param.key().to_bytes() {
                b"blocksize" => param.set_size(self.block)?,
                b"size" => param.set_size(self.size)?,
                b"xof" => param.set_bool(self.xof.is_some())?,
                b"algid-absent" => param.set_bool(self.algid_absent)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// A value for each hash: `table[hash as usize]`.
pub type PerHash<T> = [T; Hash::ALL.len()];

/// Returns the kernel for a hash, which is chosen once.
#[inline]
pub fn kernel(hash: Hash) -> Result<&'static HashKernel> {
    static KERNELS: PerHash<OnceLock<HashKernel>> = [const { OnceLock::new() }; _];
    let kernel = &KERNELS[hash as usize];
    if let Some(kernel) = kernel.get() {
        return Ok(kernel);
    }
    let best = HashKernel::best(millstream::features()?, hash);
    Ok(kernel.get_or_init(|| best))
}

/// A message under way.
pub trait Message: Clone + Send + Sized {
    fn new(spec: &Spec) -> Result<Self>;

    /// Returns the row in which the message is counted.
    fn row(&self, provider: Provider) -> Row;

    /// Forgets the message, clears it, and begins another.
    fn reset(&mut self);

    /// Does the same, and forgets what parameters set.
    fn renew(&mut self, _: &Spec) {
        self.reset();
    }

    fn update(&mut self, data: &[u8]) -> Result<()>;

    /// Returns the bytes that [`Message::finish`] writes.
    #[inline]
    fn size(&self, spec: &Spec) -> Result<usize> {
        Ok(spec.size)
    }

    /// Returns the length that the caller has set for the digest.
    #[inline]
    fn asked(&self) -> Option<usize> {
        None
    }

    /// Writes the digest, and begins another message.
    fn finish(&mut self, out: &mut [u8]) -> Result<()>;
}

/// A message for one hash.
#[derive(Clone)]
pub struct One(Hasher);

impl Message for One {
    fn new(spec: &Spec) -> Result<Self> {
        Ok(One(Hasher::with_kernel(*kernel(spec.hash.ok_or(Reason::INTERNAL)?)?)))
    }

    fn row(&self, provider: Provider) -> Row {
        static ROWS: PerHash<Rows> = [const { Rows::new() }; _];
        let hash = self.0.hash();
        ROWS[hash as usize].row(provider, Place::InProcess, hash.name(), self.0.kernel().name)
    }

    #[inline]
    fn reset(&mut self) {
        self.0.reset();
    }

    #[inline]
    fn update(&mut self, data: &[u8]) -> Result<()> {
        self.0.update(data);
        Ok(())
    }

    #[inline]
    fn finish(&mut self, out: &mut [u8]) -> Result<()> {
        out.copy_from_slice(&self.0.finish_reset());
        Ok(())
    }
}

/// A message for both MD5 and SHA-1.
#[derive(Clone)]
pub struct Md5Sha1 {
    md5: Hasher,
    sha1: Hasher,
}

impl Message for Md5Sha1 {
    fn new(_: &Spec) -> Result<Self> {
        let begin = |hash| kernel(hash).map(|kernel| Hasher::with_kernel(*kernel));
        Ok(Md5Sha1 { md5: begin(Hash::Md5)?, sha1: begin(Hash::Sha1)? })
    }

    fn row(&self, provider: Provider) -> Row {
        static ROWS: Rows = Rows::new();
        ROWS.row(provider, Place::InProcess, "md5-sha1", self.sha1.kernel().name)
    }

    fn reset(&mut self) {
        self.md5.reset();
        self.sha1.reset();
    }

    fn update(&mut self, data: &[u8]) -> Result<()> {
        self.md5.update(data);
        self.sha1.update(data);
        Ok(())
    }

    fn finish(&mut self, out: &mut [u8]) -> Result<()> {
        let (md5, sha1) = out.split_at_mut(Hash::Md5.output_len());
        md5.copy_from_slice(&self.md5.finish_reset());
        sha1.copy_from_slice(&self.sha1.finish_reset());
        Ok(())
    }
}

/// The context behind an `EVP_MD_CTX`.
#[derive(Clone)]
pub struct Context<D: Digest> {
    pub provider: Provider,
    pub(crate) message: D::Message,
    /// True until data comes.
    pub(crate) begun: bool,
    pub(crate) count: Count,
}

impl<D: Digest> Context<D> {
    /// Returns a context in a box: the spare one if there is one.
    #[inline]
    pub fn boxed(provider: Provider) -> Result<Box<Self>> {
        match D::spare().try_with(Cell::take) {
            Ok(Some(mut spare)) => {
                spare.provider = provider;
                Ok(spare)
            }
            _ => Ok(Box::new(Context::new(provider)?)),
        }
    }

    /// Clears a context that is not needed any more, and keeps it as the spare one.
    #[inline]
    pub fn retire(mut self: Box<Self>) {
        self.message.renew(const { &D::SPEC });
        self.begun = true;
        self.count.flush();
        // A thread that is ending keeps none.
        let _ = D::spare().try_with(|spare| spare.set(Some(self)));
    }

    pub fn new(provider: Provider) -> Result<Self> {
        let message = D::Message::new(const { &D::SPEC })?;
        let mut count = Count::default();
        count.bind(message.row(provider));
        Ok(Context { provider, message, begun: true, count })
    }

    /// Begins a message.
    #[inline]
    pub fn init(&mut self) {
        if !self.begun {
            self.message.reset();
            self.begun = true;
        }
    }

    #[inline]
    pub fn update(&mut self, data: &[u8]) -> Result<()> {
        self.begun = false;
        self.message.update(data)?;
        self.count.add_bytes(data.len());
        Ok(())
    }

    /// Returns the bytes at the caller's place for the digest, where `given` are said to be. A caller who sets a length has room for it,
    /// of which older versions of libcrypto don't know: they give the size that the digest has by default. No place is longer than
    /// half of what can be addressed, whatever length was set.
    #[inline]
    pub fn room(&self, given: usize) -> usize {
        match self.message.asked() {
            Some(len) if given > 0 && given == D::SPEC.size => given.max(len).min(isize::MAX as usize),
            _ => given,
        }
    }

    /// Writes the digest to the front of `out`.
    #[inline]
    pub fn finish(&mut self, out: &mut [u8]) -> Result<usize> {
        let size = self.message.size(const { &D::SPEC })?;
        self.message.finish(out.get_mut(..size).ok_or(Reason::OUTPUT_BUFFER_TOO_SMALL)?)?;
        self.begun = true;
        self.count.add(0);
        Ok(size)
    }
}
