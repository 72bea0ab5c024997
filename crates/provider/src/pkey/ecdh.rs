//! Key agreement with ECDH.
//!
//! Ref. EVP_KEYEXCH-ECDH(7); SP 800-56A Rev. 3 §5.7.1.2.

use std::ffi::CStr;

use millstream::FeatureSet;
use millstream::publickey::ecdsa::{Curve, PrivateKey, PublicKey};
use millstream::tally::{Place, Row};

use super::ec::{Ec, curve_there};
use super::held::{Isolated, Key, LACKING, Operation};
use crate::abi::{self, keyexch as id};
use crate::count::{Count, Rows};
use crate::error::{Reason, Result};
use crate::libcrypto::pkey::{Context, Numbers, Out};
use crate::params::Params;
use crate::provider::Provider;

/// OpenSSL's name.
pub const NAME: &CStr = c"ECDH";

/// The context of an agreement: a key of ours, and the peer's.
pub struct Exchange {
    provider: Provider,
    key: Option<Key<Ec>>,
    peer: Option<Key<Ec>>,
    /// The context of the other provider, which has all parameters; it is made when it is needed.
    others: Option<Context>,
    /// True if a parameter was set that is for what the engine does not do.
    handed: bool,
    count: Count,
}

const NUMBERS: Numbers = Numbers {
    operation: abi::OP_KEYEXCH,
    new: id::NEWCTX,
    free: id::FREECTX,
    duplicate: id::DUPCTX,
    get: id::GET_CTX_PARAMS,
    gettable: id::GETTABLE_CTX_PARAMS,
    set: id::SET_CTX_PARAMS,
    settable: id::SETTABLE_CTX_PARAMS,
};

impl Exchange {
    pub fn new(provider: Provider) -> Self {
        Exchange { provider, key: None, peer: None, others: None, handed: false, count: Count::default() }
    }

    /// Begins an agreement with a key of ours.
    pub fn begin(&mut self, key: &Key<Ec>, params: Params<'_>) -> Result<()> {
        (self.key, self.peer, self.others) = (Some(key.clone()), None, None);
        self.handed = changes(params);
        if let Some(isolated) = key.isolated() {
            self.count.bind(row(self.provider, Place::Isolated, curve_there(isolated), ""));
            // The other provider examines the parameters, and tells them again.
            if !params.is_empty() {
                self.others = Some(self.context(params)?);
            }
            return Ok(());
        }
        if !params.is_empty() {
            self.others = Some(self.context(params)?);
        }
        let Some(private) = key.engine().private.as_ref().filter(|_| !self.handed) else {
            self.others()?;
            return Ok(());
        };
        let row = row(self.provider, Place::InProcess, private.curve(), private.kernel().name);
        self.count.bind(row);
        Ok(())
    }

    /// Returns our private part where that is in the service. Then nobody else can agree.
    fn isolated(&self) -> Option<&Isolated> {
        self.key.as_ref()?.isolated()
    }

    /// Has the service agree.
    fn derive_there(&self, isolated: &Isolated, out: Out) -> Result<()> {
        let curve = curve_there(isolated);
        let peer = self.peer.as_ref().ok_or(Reason::MISSING_KEY)?;
        let peer = peer.engine().public.as_ref().filter(|peer| peer.curve() == curve);
        let peer = peer.ok_or(Reason::INVALID_KEY.with("the peer's key is for another curve"))?;
        if self.handed {
            return Err(LACKING);
        }
        if out.is_question() {
            return out.answer(curve.bytes());
        }
        if out.room() < curve.bytes() {
            return Err(Reason::OUTPUT_BUFFER_TOO_SMALL);
        }
        out.write(&isolated.key.agree(&peer.to_bytes())?)
    }

    fn context(&self, params: Params<'_>) -> Result<Context> {
        let key = self.key.as_ref().ok_or(Reason::MISSING_KEY)?;
        let mut others = Context::new(key.held().clone(), &NUMBERS, NAME, None)?;
        others.init(id::INIT, false, params)?;
        if let Some(peer) = &self.peer {
            others.set_peer(id::SET_PEER, peer.held())?;
        }
        Ok(others)
    }

    /// Returns both keys, where they are the engine's and of the same curve, and the engine is as quick as the other provider.
    fn pair<'a>(key: &'a Option<Key<Ec>>, peer: &'a Key<Ec>) -> Option<(&'a PrivateKey, &'a PublicKey)> {
        let pair = key.as_ref()?.engine().private.as_ref().zip(peer.engine().public.as_ref());
        pair.filter(|(private, public)| private.curve() == public.curve() && pays(private))
    }

    /// Takes the peer's key.
    pub fn set_peer(&mut self, peer: &Key<Ec>) -> Result<()> {
        if self.others.is_some() || self.isolated().is_none() && Self::pair(&self.key, peer).is_none() {
            self.others()?.set_peer(id::SET_PEER, peer.held())?;
        }
        self.peer = Some(peer.clone());
        Ok(())
    }

    /// Writes the shared secret.
    pub fn derive(&mut self, out: Out) -> Result<()> {
        if let Some(isolated) = self.isolated() {
            let len = isolated.size;
            let asks = out.is_question();
            self.derive_there(isolated, out)?;
            if !asks {
                self.count.add(len);
            }
            return Ok(());
        }
        let pair = self.peer.as_ref().and_then(|peer| Self::pair(&self.key, peer));
        if let Some((private, public)) = pair.filter(|_| !self.handed) {
            let len = private.curve().bytes();
            if out.is_question() {
                return out.answer(len);
            }
            if out.room() >= len
                && let Ok(shared) = private.agree(public)
            {
                self.count.add(len);
                return out.write(&shared);
            }
        }
        self.others()?.finish(id::DERIVE, out)
    }
}

/// Returns true for keys with which the engine needs no longer than OpenSSL for one agreement. On P-256 and P-521 these are the keys on
/// kernels of AVX-512 IFMA: elsewhere OpenSSL needs four fifths and half of the engine's time.
fn pays(private: &PrivateKey) -> bool {
    const IFMA: FeatureSet = FeatureSet::parse("avx512ifma");
    private.curve() == Curve::P384 || private.kernel().requires.contains(IFMA)
}

/// Returns true if a parameter makes another secret. The cofactor of these curves is one, so a secret is the same with it and without.
fn changes(params: Params<'_>) -> bool {
    params.into_iter().any(|param| param.key() != c"ecdh-cofactor-mode")
}

fn row(provider: Provider, place: Place, curve: Curve, kernel: &str) -> Row {
    static ROWS: [Rows; 3] = [const { Rows::new() }; 3];
    let name = match curve {
        Curve::P256 => "ecdh-p256",
        Curve::P384 => "ecdh-p384",
        Curve::P521 => "ecdh-p521",
    };
    ROWS[curve as usize].row(provider, place, name, kernel)
}

impl Operation for Exchange {
    type Family = Ec;
    const ALGORITHM: &'static CStr = NAME;
    const NUMBERS: &'static Numbers = &NUMBERS;

    fn provider(&self) -> Provider {
        self.provider
    }

    fn duplicate(&self) -> Result<Self> {
        Ok(Exchange {
            provider: self.provider,
            key: self.key.clone(),
            peer: self.peer.clone(),
            others: self.others.as_ref().map(Context::duplicate).transpose()?,
            handed: self.handed,
            count: self.count.clone(),
        })
    }

    fn others(&mut self) -> Result<&mut Context> {
        if self.others.is_none() {
            self.others = Some(self.context(Params::NONE)?);
        }
        self.others.as_mut().ok_or(Reason::INTERNAL)
    }

    fn set(&mut self, params: Params<'_>) -> Result<()> {
        if params.is_empty() {
            return Ok(());
        }
        self.handed |= changes(params);
        self.others()?.set(params)
    }
}
