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
use super::held::{Isolated, Key, LACKING, Operation};
use super::rsa::{Engine, Rsa, isolated_row};
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
use millstream::DecryptionScheme;

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
    Oaep {
        hash: Hash,
        mgf: Hash,
        label: Vec<u8>,
    },
    /// PKCS#1 v1.5 of a secret that begins with one of these versions. Only the service has it.
    Tls {
        client: i32,
        negotiated: Option<i32>,
    },
}

/// OpenSSL's number of that padding.
const TLS: i32 = 7;

/// Bytes of a secret of TLS.
const PREMASTER: usize = 48;

/// Returns the secret of a message, or a random one where the message is none: its sender must not learn which (RFC 5246 §7.4.7.1).
///
/// The service decrypts with implicit rejection, so a message of the wrong length tells nothing of the padding. The versions are
/// compared without a branch.
fn premaster(message: &[u8], client: i32, negotiated: Option<i32>) -> Result<Zeroizing<[u8; PREMASTER]>> {
    let mut secret = Zeroizing::new([0; PREMASTER]);
    crate::cipher::random(&mut *secret)?;
    if message.len() == PREMASTER {
        let differs = |version: i32| (version as u16 ^ u16::from_be_bytes([message[0], message[1]])) as u32;
        // Some old clients send the version that was negotiated instead of their own.
        let differs = negotiated.map_or(u32::MAX, differs).min(differs(client));
        // All ones where the version is right.
        let take = (differs.wrapping_sub(1) >> 16 >> 8) as u8;
        secret.iter_mut().zip(message).for_each(|(place, byte)| *place ^= (*place ^ byte) & take);
    }
    Ok(secret)
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
        let isolated = key.isolated().filter(|_| !encrypts);
        let isolated = isolated.map(|isolated| isolated_row(isolated, self.provider));
        if let Some(row) = isolated.or_else(|| key.engine().row(self.provider)) {
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

    /// Returns the steps of the service; none if it lacks one of them. PKCS#1 v1.5 it decrypts with implicit rejection, whatever the
    /// version of OpenSSL: to tell of a wrong padding would let others decrypt with the key.
    fn plan_there(&self) -> Option<Plan> {
        let others = &self.state.as_ref()?.others;
        match others.numbers([c"pad-mode", c"implicit-rejection"]) {
            [Some(PKCS1), None | Some(1)] => Some(Plan::Pkcs1),
            [Some(TLS), _] => {
                let versions = others.numbers([c"tls-client-version", c"tls-negotiated-version"]);
                let [client, negotiated] = versions.map(|version| version.filter(|version| *version > 0));
                Some(Plan::Tls { client: client?, negotiated })
            }
            _ => self.plan(),
        }
    }

    /// Has the service decrypt.
    fn decrypt_there(&self, isolated: &Isolated, out: Out, input: &[u8]) -> Result<()> {
        let plan = self.plan_there().filter(|_| !self.handed).ok_or(LACKING)?;
        if let Plan::Tls { client, negotiated } = plan {
            if out.is_question() {
                return out.answer(PREMASTER);
            }
            let message = isolated.key.decrypt(DecryptionScheme::RsaPkcs1, input)?;
            return out.write(&*premaster(&message, client, negotiated)?);
        }
        if out.is_question() {
            return out.answer(isolated.size);
        }
        let scheme = match &plan {
            Plan::Bare => DecryptionScheme::RsaRaw,
            Plan::Oaep { hash, mgf, label } => {
                DecryptionScheme::RsaOaep { hash: *hash, mgf_hash: *mgf, label }
            }
            Plan::Pkcs1 | Plan::Tls { .. } => DecryptionScheme::RsaPkcs1,
        };
        out.write(&isolated.key.decrypt(scheme, input)?)
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
        if !self.encrypts
            && let Some(isolated) = self.state.as_ref().and_then(|state| state.key.isolated())
        {
            self.decrypt_there(isolated, out, input)?;
            if !out.is_question() {
                self.count.add(input.len());
            }
            return Ok(());
        }
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
