//! Signatures with keys that another provider holds: ECDSA and RSA.
//!
//! Parameters that a caller sets are kept by a context of that provider, so that every parameter means here what it means there, and is refused in the
//! same words; it is made when it is first needed. The message is hashed here if the digest is one of ours. When the signature
//! is made or compared, the engine does it if it has the key and knows all that was set; else the other provider gets the
//! digest. It gets it too when the engine fails, and says why. A key whose private part is in the service signs there or not at all.
//!
//! Ref. provider-signature(7).

mod beside;

use std::ffi::{CStr, CString};

use millstream::hash::{Hash, Hasher};
use millstream::tally::Row;
use millstream::{Operation as Batched, SignatureScheme};

use super::held::{Family, Isolated, Key, LACKING, Operation};
use crate::abi::{self, signature as id};
use crate::algorithms::digest_named;
use crate::count::Count;
use crate::digest;
use crate::error::{Reason, Result};
use crate::jobs::signatures::{self, Signer};
use crate::libcrypto::Job;
use crate::libcrypto::pkey::{Context, Copied, Numbers, Out};
use crate::mac::excludes_us;
use crate::params::Params;
use crate::provider::Provider;

/// A signature algorithm.
pub trait Scheme: 'static {
    /// The keys.
    type Family: Family;
    /// OpenSSL's names.
    const NAMES: &'static CStr;
    /// The first of them.
    const NAME: &'static CStr;
    /// The parameters of a context that plans follow. Any other hands the context over.
    const KNOWN: &'static [&'static CStr];
    /// True if a signature can give back what was signed.
    const RECOVERS: bool;
    /// True if the engine needs more stack than a job has.
    const DEEP: bool;
    /// The steps of the engine.
    type Plan: Send + Sync;

    /// Tells whether the engine has the part of the key that signs, or that verifies.
    fn has(engine: &Engine<Self>, signs: bool) -> bool;
    /// Returns the most bytes of a signature.
    fn size(engine: &Engine<Self>) -> usize;
    /// Returns the row in which operations are counted.
    fn row(engine: &Engine<Self>, provider: Provider) -> Option<Row>;
    /// Returns the steps; none if the engine lacks one of them.
    fn plan(engine: &Engine<Self>, asked: &Asked<'_>) -> Option<Self::Plan>;
    /// Writes a signature to the front of `out`; returns its length, or none if the engine fails.
    fn sign(engine: &Engine<Self>, plan: &Self::Plan, digest: &[u8], out: &mut [u8]) -> Option<usize>;
    /// Returns the row in which signatures of the service are counted.
    fn isolated_row(isolated: &Isolated, provider: Provider) -> Row;
    /// Returns the service's scheme for the same steps; none if it lacks one of them.
    fn there(isolated: &Isolated, plan: &Self::Plan, digest: &[u8]) -> Option<SignatureScheme>;
    /// Returns the scheme of the same steps, for signatures beside others; none if the engine lacks a step, or has no lanes.
    fn in_lanes(engine: &Engine<Self>, plan: &Self::Plan, digest: &[u8]) -> Option<SignatureScheme>;
    /// Makes the operation of such a signature, which is its tag or goes to the front of `place`.
    fn operation<'a>(
        engine: &'a Engine<Self>,
        scheme: SignatureScheme,
        digest: &'a [u8],
        place: &'a mut [u8],
    ) -> Option<Batched<'a>>;
    /// Writes a signature of the service's, or of lanes, to the front of `out`; returns its length.
    fn encode(signature: &[u8], out: &mut [u8]) -> Option<usize> {
        out.get_mut(..signature.len())?.copy_from_slice(signature);
        Some(signature.len())
    }
    /// Compares a signature. A signature that does not verify is compared once more by the other provider.
    fn verify(engine: &Engine<Self>, plan: &Self::Plan, digest: &[u8], signature: &[u8]) -> bool;
}

/// The key of a scheme as its engine has it.
pub type Engine<S> = <<S as Scheme>::Family as Family>::Engine;

/// The digest that is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// None was named: what is signed comes as it is.
    Nothing,
    Ours(Hash),
    Others,
}

impl Named {
    pub fn of(name: &str) -> Self {
        match name {
            "" => Named::Nothing,
            name => digest_named(name).map_or(Named::Others, Named::Ours),
        }
    }

    /// Returns the hash, if it is one of ours.
    pub fn ours(self) -> Option<Hash> {
        match self {
            Named::Ours(hash) => Some(hash),
            _ => None,
        }
    }
}

/// Parameters that a caller has set.
pub struct Asked<'a> {
    pub digest: Named,
    /// The context with all other parameters; none if nothing was set.
    pub others: Option<&'a Context>,
}

/// The call that a context was initialised by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    Sign,
    Verify,
    Recover,
    DigestSign,
    DigestVerify,
}

impl Begun {
    fn number(self) -> i32 {
        match self {
            Begun::Sign => id::SIGN_INIT,
            Begun::Verify => id::VERIFY_INIT,
            Begun::Recover => id::VERIFY_RECOVER_INIT,
            Begun::DigestSign => id::DIGEST_SIGN_INIT,
            Begun::DigestVerify => id::DIGEST_VERIFY_INIT,
        }
    }

    fn hashes(self) -> bool {
        matches!(self, Begun::DigestSign | Begun::DigestVerify)
    }

    fn signs(self) -> bool {
        matches!(self, Begun::Sign | Begun::DigestSign)
    }
}

/// The context of a signature.
pub struct Signature<S: Scheme> {
    provider: Provider,
    properties: Option<CString>,
    key: Option<Key<S::Family>>,
    begun: Begun,
    /// The digest that was named with the key.
    digest: Option<CString>,
    others: Option<Context>,
    /// The parameters that were set, as they came.
    said: Vec<Copied>,
    /// True if a parameter was set that the engine lacks.
    handed: bool,
    /// The message, if it is hashed here.
    hasher: Option<Hasher>,
    /// True if it was hashed here, and ended.
    finished: bool,
    /// The bytes of the message so far.
    fed: usize,
    count: Count,
}

const NUMBERS: Numbers = Numbers {
    operation: abi::OP_SIGNATURE,
    new: id::NEWCTX,
    free: id::FREECTX,
    duplicate: id::DUPCTX,
    get: id::GET_CTX_PARAMS,
    gettable: id::GETTABLE_CTX_PARAMS,
    set: id::SET_CTX_PARAMS,
    settable: id::SETTABLE_CTX_PARAMS,
};

/// The most bytes of a signature that an engine makes.
const LONGEST: usize = millstream::publickey::rsa::MAX_BYTES;

impl<S: Scheme> Signature<S> {
    pub fn new(provider: Provider, properties: Option<&CStr>) -> Self {
        Signature {
            provider,
            properties: properties.map(CStr::to_owned),
            key: None,
            begun: Begun::Sign,
            digest: None,
            others: None,
            said: Vec::new(),
            handed: false,
            hasher: None,
            finished: false,
            fed: 0,
            count: Count::default(),
        }
    }

    fn key(&self) -> Result<&Key<S::Family>> {
        self.key.as_ref().ok_or(Reason::NO_KEY_SET)
    }

    /// Begins to sign or verify: with a key, or once more with the one that is there.
    pub fn begin(
        &mut self,
        begun: Begun,
        digest: Option<&CStr>,
        key: Option<&Key<S::Family>>,
        params: Params<'_>,
    ) -> Result<()> {
        match key {
            Some(key) => {
                self.key = Some(key.clone());
                (self.others, self.handed) = (None, self.properties.as_deref().is_some_and(excludes));
                self.said.clear();
                self.digest = digest.map(CStr::to_owned);
                let isolated = key.isolated().filter(|_| begun.signs());
                let isolated = isolated.map(|isolated| S::isolated_row(isolated, self.provider));
                if let Some(row) = isolated.or_else(|| S::row(key.engine(), self.provider)) {
                    self.count.bind(row);
                }
            }
            None => {
                self.key()?;
                // The other provider knows which parameters are kept.
                self.handed |= !self.said.is_empty();
                self.digest = digest.map(CStr::to_owned).or(self.digest.take());
            }
        }
        (self.begun, self.fed) = (begun, 0);
        match self.others.take() {
            Some(mut others) => {
                let again = key.is_none();
                if begun.hashes() {
                    others.init_digest(begun.number(), digest, again, params)?;
                } else {
                    others.init(begun.number(), again, params)?;
                }
                self.others = Some(others);
            }
            None if !params.is_empty() || !self.is_ours()? || self.is_dated() => {
                self.others = Some(self.context(begun, params)?);
            }
            None => {}
        }
        self.note(params)?;
        self.finished = false;
        self.hasher = match self.named().ours() {
            Some(hash) if begun.hashes() && self.is_ours()? => {
                Some(Hasher::with_kernel(*digest::kernel(hash)?))
            }
            _ => None,
        };
        Ok(())
    }

    /// Tells whether the engine may have a part in the operation, or the service.
    fn is_ours(&self) -> Result<bool> {
        let hashed = !self.begun.hashes() || self.named().ours().is_some();
        if self.handed || !hashed || self.begun == Begun::Recover {
            return Ok(false);
        }
        Ok(self.signs_there().is_some() || S::has(self.key()?.engine(), self.begun.signs()))
    }

    /// Returns the private part in the service that is to sign. Then nobody else can.
    fn signs_there(&self) -> Option<&Isolated> {
        self.key.as_ref().filter(|_| self.begun.signs())?.isolated()
    }

    /// Tells whether the digest is one that a policy of the system's may forbid in signatures. The other provider knows it, and is asked
    /// at once.
    fn is_dated(&self) -> bool {
        matches!(self.named(), Named::Ours(Hash::Md5 | Hash::Sha1))
    }

    /// Returns the digest that was named.
    fn named(&self) -> Named {
        match (&self.digest, &self.others) {
            (Some(name), _) => name.to_str().map_or(Named::Others, Named::of),
            (None, Some(others)) => others.text(c"digest").map_or(Named::Nothing, |name| Named::of(&name)),
            (None, None) => Named::Nothing,
        }
    }

    /// Makes a context of the other provider.
    fn context(&self, begun: Begun, params: Params<'_>) -> Result<Context> {
        let held = self.key()?.held().clone();
        let mut others = Context::new(held, &NUMBERS, S::NAME, self.properties.as_deref())?;
        if begun.hashes() {
            others.init_digest(begun.number(), self.digest.as_deref(), false, params)?;
        } else {
            others.init(begun.number(), false, params)?;
        }
        Ok(others)
    }

    /// Remembers parameters that the other provider has taken.
    fn note(&mut self, params: Params<'_>) -> Result<()> {
        if params.is_empty() {
            return Ok(());
        }
        for param in params {
            let is_query = param.key().to_bytes().ends_with(b"properties");
            self.handed |=
                !S::KNOWN.contains(&param.key()) || is_query && param.text().is_ok_and(excludes_us);
        }
        self.said.push(Copied::new(self.provider, params)?);
        Ok(())
    }

    /// Answers questions about the digest.
    pub fn get_digest(&mut self, params: Params<'_>) -> Result<()> {
        self.others()?.get_by(id::GET_CTX_MD_PARAMS, params)
    }

    /// Sets parameters of the digest. None of ours has any in a signature, so the message is the other provider's from then on.
    pub fn set_digest(&mut self, params: Params<'_>) -> Result<()> {
        if self.finished || self.fed > 0 && self.hasher.is_some() {
            return Err(Reason::FAILED_TO_SET_PARAMETER
                .with("a digest's parameters can't be set after the beginning of a message"));
        }
        self.others()?.set_by(id::SET_CTX_MD_PARAMS, params)?;
        if !params.is_empty() {
            self.hasher = None;
        }
        Ok(())
    }

    /// Takes a piece of the message.
    pub fn update(&mut self, data: &[u8]) -> Result<()> {
        self.fed += data.len();
        if self.finished {
            return Err(Reason::UPDATE_CALL_OUT_OF_ORDER);
        }
        if let Some(hasher) = &mut self.hasher {
            hasher.update(data);
            return Ok(());
        }
        let signs = self.begun.signs();
        let number = if signs { id::DIGEST_SIGN_UPDATE } else { id::DIGEST_VERIFY_UPDATE };
        self.others()?.update(number, data)
    }

    /// Ends a message; returns its digest, or none if the other provider hashes.
    fn hashed(&mut self) -> Result<Option<millstream::hash::Digest>> {
        if self.finished {
            return Err(Reason::FINAL_CALL_OUT_OF_ORDER);
        }
        let hasher = self.hasher.take();
        self.finished = hasher.is_some();
        Ok(hasher.map(Hasher::finish))
    }

    /// Returns the most bytes of a signature, where the engine may make it.
    fn size(&self) -> Result<Option<usize>> {
        if !self.is_ours()? {
            return Ok(None);
        }
        let isolated = self.signs_there().map(|isolated| isolated.size);
        Ok(Some(isolated.unwrap_or_else(|| self.key.as_ref().map_or(0, |key| S::size(key.engine())))))
    }

    /// Ends the message, and signs it.
    pub fn finish(&mut self, out: Out) -> Result<()> {
        if out.is_question()
            && let Some(size) = self.size()?
        {
            return out.answer(size);
        }
        if out.is_question() && self.signs_there().is_none() {
            return self.others()?.finish(id::DIGEST_SIGN_FINAL, out);
        }
        match self.hashed()? {
            Some(digest) => self.produce(&digest, out),
            None if self.signs_there().is_some() => Err(LACKING),
            None => self.others()?.finish(id::DIGEST_SIGN_FINAL, out),
        }
    }

    /// Signs a digest that the caller has computed, or what else is to be signed as it is.
    pub fn sign(&mut self, out: Out, signed: &[u8]) -> Result<()> {
        match self.size()? {
            Some(size) if out.is_question() => out.answer(size),
            Some(_) if self.begun == Begun::Sign => {
                self.fed = signed.len();
                self.produce(signed, out)
            }
            _ if self.signs_there().is_some() => Err(LACKING),
            _ => self.others()?.transform(id::SIGN, out, signed),
        }
    }

    fn plan(&self) -> Option<S::Plan> {
        if !self.is_ours().ok()? {
            return None;
        }
        let asked = Asked { digest: self.named(), others: self.others.as_ref() };
        S::plan(self.key.as_ref()?.engine(), &asked)
    }

    /// Runs the engine.
    fn run<T: Send>(&self, engine: impl FnOnce() -> T + Send) -> Result<T> {
        if S::DEEP { Job::with_stack(self.provider, || Ok(engine())) } else { Ok(engine()) }
    }

    /// Has the service sign.
    fn produce_there(&self, isolated: &Isolated, signed: &[u8], out: Out) -> Result<()> {
        let plan = self.plan().ok_or(LACKING)?;
        let scheme = S::there(isolated, &plan, signed).ok_or(LACKING)?;
        if out.room() < isolated.size {
            return Err(Reason::OUTPUT_BUFFER_TOO_SMALL);
        }
        let mut signature = [0; LONGEST];
        let made = isolated.key.sign(scheme, signed)?;
        let len = S::encode(&made, &mut signature).ok_or(Reason::INTERNAL)?;
        out.write(&signature[..len])
    }

    /// Signs beside others, if this is a job and the key has lanes.
    fn beside(&self, engine: &Engine<S>, plan: &S::Plan, signed: &[u8]) -> Option<Option<Vec<u8>>> {
        let (key, scheme) = (self.key.as_ref()?, S::in_lanes(engine, plan, signed)?);
        signatures::sign(self.provider, || Box::new(Beside::<S>(key.clone())), scheme, signed)
    }

    fn produce(&mut self, signed: &[u8], out: Out) -> Result<()> {
        if let Some(isolated) = self.signs_there() {
            self.produce_there(isolated, signed, out)?;
            self.count.add(self.fed);
            return Ok(());
        }
        let engine = self.key()?.engine();
        if let Some(plan) = self.plan().filter(|_| out.room() >= S::size(engine)) {
            let mut signature = [0; LONGEST];
            let place = &mut signature;
            let made = match self.beside(engine, &plan, signed) {
                Some(made) => made.and_then(|made| S::encode(&made, place)),
                None => self.run(|| S::sign(engine, &plan, signed, place))?,
            };
            if let Some(len) = made {
                self.count.add(self.fed);
                return out.write(&signature[..len]);
            }
        }
        match self.begun {
            Begun::DigestSign => self.directly(Begun::Sign)?.transform(id::SIGN, out, signed),
            _ => self.others()?.transform(id::SIGN, out, signed),
        }
    }

    /// Ends the message, and compares a signature with it.
    pub fn finish_verify(&mut self, signature: &[u8]) -> Result<()> {
        match self.hashed()? {
            Some(digest) => self.compare(&digest, signature),
            None => self.others()?.update(id::DIGEST_VERIFY_FINAL, signature),
        }
    }

    /// Compares a signature with a digest that the caller has computed.
    pub fn verify(&mut self, signature: &[u8], signed: &[u8]) -> Result<()> {
        if self.begun != Begun::Verify {
            return self.others()?.verify(id::VERIFY, signature, signed);
        }
        self.fed = signed.len();
        self.compare(signed, signature)
    }

    fn compare(&mut self, signed: &[u8], signature: &[u8]) -> Result<()> {
        let engine = self.key()?.engine();
        let planned = self.plan();
        if let Some(plan) = &planned
            && self.run(|| S::verify(engine, plan, signed, signature))?
        {
            self.count.add(self.fed);
            return Ok(());
        }
        match self.begun {
            Begun::DigestVerify => self.directly(Begun::Verify)?.verify(id::VERIFY, signature, signed),
            _ => self.others()?.verify(id::VERIFY, signature, signed),
        }
    }

    /// Returns what was signed.
    pub fn recover(&mut self, out: Out, signature: &[u8]) -> Result<()> {
        self.others()?.transform(id::VERIFY_RECOVER, out, signature)
    }

    /// Makes a context of the other provider that takes the digest of a message which was hashed here, with all that was set.
    fn directly(&self, begun: Begun) -> Result<Context> {
        let mut context = self.context(begun, Params::NONE)?;
        if let Some(name) = &self.digest {
            context.set_text(c"digest", name)?;
        }
        self.said.iter().try_for_each(|said| context.set(said.params()))?;
        Ok(context)
    }
}

/// A key that signs beside others.
struct Beside<S: Scheme>(Key<S::Family>);

impl<S: Scheme> Signer for Beside<S> {
    fn operation<'a>(
        &'a self,
        scheme: SignatureScheme,
        digest: &'a [u8],
        place: &'a mut [u8],
    ) -> Option<Batched<'a>> {
        S::operation(self.0.engine(), scheme, digest, place)
    }
}

fn excludes(properties: &CStr) -> bool {
    properties.to_str().map_or(true, excludes_us)
}
