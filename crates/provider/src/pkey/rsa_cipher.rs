//! Encryption with RSA: PKCS#1 v1.5, OAEP, and the bare power.
//!
//! Parameters that a caller sets are kept by a context of the provider that holds the key, as with [signatures](super::signature).
//!
//! Ref. EVP_ASYM_CIPHER-RSA(7); RFC 8017 §7.

use std::ffi::CStr;

use millstream::hash::Hash;
use millstream::publickey::rsa::{MAX_BYTES, Oaep};
use zeroize::Zeroizing;

use super::System;
use super::held::{Key, Operation};
use super::rsa::{Engine, Rsa};
use super::rsa_signature::{BARE, OAEP, PKCS1};
use super::signature::Named;
use crate::abi::{self, asym_cipher as id};
use crate::count::Count;
use crate::error::{Reason, Result};
use crate::libcrypto::Job;
use crate::libcrypto::pkey::{Context, Numbers, Out};
use crate::mac::excludes_us;
use crate::params::Params;
use crate::provider::Provider;

const NUMBERS: Numbers = Numbers {
    operation: abi::OP_ASYM_CIPHER,
    new: id::NEWCTX,
    free: id::FREECTX,
    duplicate: id::DUPCTX,
    get: id::GET_CTX_PARAMS,
    gettable: id::GETTABLE_CTX_PARAMS,
    set: id::SET_CTX_PARAMS,
    settable: id::SETTABLE_CTX_PARAMS,
};

/// The context of an encryption.
pub struct Cipher {
    provider: Provider,
    state: Option<State>,
    encrypts: bool,
    /// True if a digest was asked for that must not be ours.
    handed: bool,
    count: Count,
}

struct State {
    key: Key<Rsa>,
    others: Context,
}

/// The steps of the engine.
enum Plan {
    Pkcs1,
    Bare,
    Oaep { hash: Hash, mgf: Hash, label: Vec<u8> },
}

impl Cipher {
    pub fn new(provider: Provider) -> Self {
        Cipher { provider, state: None, encrypts: false, handed: false, count: Count::default() }
    }

    /// Begins to encrypt, or to decrypt.
    pub fn begin(&mut self, encrypts: bool, key: &Key<Rsa>, params: Params<'_>) -> Result<()> {
        let mut others = Context::new(key.held().clone(), &NUMBERS, c"RSA", None)?;
        let number = if encrypts { id::ENCRYPT_INIT } else { id::DECRYPT_INIT };
        others.init(number, false, params)?;
        if let Some(row) = key.engine().row(self.provider) {
            self.count.bind(row);
        }
        self.state = Some(State { key: key.clone(), others });
        (self.encrypts, self.handed) = (encrypts, false);
        self.note(params);
        Ok(())
    }

    fn state(&mut self) -> Result<&mut State> {
        self.state.as_mut().ok_or(Reason::NO_KEY_SET)
    }

    fn note(&mut self, params: Params<'_>) {
        let queries = [c"digest-props", c"mgf1-properties"];
        self.handed |= queries
            .iter()
            .any(|name| params.find(name).is_some_and(|query| query.text().map_or(true, excludes_us)));
    }

    /// Returns the steps; none if the engine lacks one of them.
    fn plan(&self) -> Option<Plan> {
        let others = &self.state.as_ref()?.others;
        let [padding, implicit] = others.numbers([c"pad-mode", c"implicit-rejection"]);
        match padding? {
            // Versions of OpenSSL that do not know of implicit rejection tell of a wrong padding, and programs may wait for that.
            PKCS1 if self.encrypts || implicit == Some(1) => Some(Plan::Pkcs1),
            BARE => Some(Plan::Bare),
            OAEP => {
                let hash = match Named::of(&others.text(c"digest")?) {
                    Named::Nothing => Hash::Sha1,
                    named => named.ours()?,
                };
                let mgf = match Named::of(&others.text(c"mgf1-digest")?) {
                    Named::Nothing => hash,
                    named => named.ours()?,
                };
                Some(Plan::Oaep { hash, mgf, label: others.bytes(c"oaep-label")? })
            }
            _ => None,
        }
    }

    /// Has the engine do it, where it can.
    fn run(encrypts: bool, engine: &Engine, plan: &Plan, input: &[u8], out: &mut [u8]) -> Option<usize> {
        let bare = |done: std::result::Result<(), _>, out: &mut [u8]| done.map(|()| out.len());
        let oaep = |plan| match plan {
            &Plan::Oaep { hash, mgf, ref label } => Oaep { hash, mgf, label },
            _ => Oaep::new(Hash::Sha1),
        };
        if encrypts {
            let key = engine.public()?;
            let encrypted = match plan {
                Plan::Pkcs1 => key.encrypt_pkcs1(&mut System, input, out),
                Plan::Bare => {
                    let out = out.get_mut(..key.size())?;
                    bare(key.raw(input, out), out)
                }
                plan => key.encrypt_oaep(&oaep(plan), &mut System, input, out),
            };
            return encrypted.ok();
        }
        let key = engine.private()?;
        let decrypted = match plan {
            Plan::Pkcs1 => key.decrypt_pkcs1(input, out),
            Plan::Bare => {
                let out = out.get_mut(..key.size())?;
                bare(key.raw(input, out), out)
            }
            plan => key.decrypt_oaep(&oaep(plan), input, out),
        };
        decrypted.ok()
    }

    /// Encrypts or decrypts.
    ///
    /// A failure of the engine's is left to the other provider, which then fails in its own words. That takes longer, but whoever sees
    /// the time sees the failure too, and each failure takes the same.
    pub fn transform(&mut self, out: Out, input: &[u8]) -> Result<()> {
        let size = self.state()?.key.engine().public().map(|key| key.size());
        if !self.handed && !out.is_question() && size.is_some_and(|size| out.room() >= size) {
            let mut result = Zeroizing::new([0; MAX_BYTES]);
            let (encrypts, plan, provider) = (self.encrypts, self.plan(), self.provider);
            let engine = self.state()?.key.engine();
            // The numbers fill the stack of a job.
            let done = Job::with_stack(provider, || {
                Ok(plan.and_then(|plan| Self::run(encrypts, engine, &plan, input, &mut *result)))
            })?;
            if let Some(len) = done {
                self.count.add(input.len());
                return out.write(&result[..len]);
            }
        }
        let number = if self.encrypts { id::ENCRYPT } else { id::DECRYPT };
        self.state()?.others.transform(number, out, input)
    }
}

impl Operation for Cipher {
    type Family = Rsa;
    const ALGORITHM: &'static CStr = c"RSA";
    const NUMBERS: &'static Numbers = &NUMBERS;

    fn provider(&self) -> Provider {
        self.provider
    }

    fn duplicate(&self) -> Result<Self> {
        let state = self.state.as_ref().map(|state| {
            Ok::<_, Reason>(State { key: state.key.clone(), others: state.others.duplicate()? })
        });
        Ok(Cipher {
            provider: self.provider,
            state: state.transpose()?,
            encrypts: self.encrypts,
            handed: self.handed,
            count: self.count.clone(),
        })
    }

    fn others(&mut self) -> Result<&mut Context> {
        Ok(&mut self.state()?.others)
    }

    fn set(&mut self, params: Params<'_>) -> Result<()> {
        self.state()?.others.set(params)?;
        self.note(params);
        Ok(())
    }
}
