//! MACs: the common part of HMAC and CMAC.
//!
//! A context computes in one of three places: in this process, in the service that holds the key, or, with a digest or a cipher
//! that no engine has, where the default provider does.
//!
//! Ref. provider-mac(7), EVP_MAC(3), EVP_MAC-HMAC(7), EVP_MAC-CMAC(7).

pub mod cmac;
pub mod hmac;
mod tag;

use std::ffi::CStr;
use std::sync::Arc;

use millstream::cwq;
use millstream::isolated::ServiceKey;
use millstream::tally::{Place, Row};
use zeroize::Zeroizing;

use crate::abi::OsslParam;
use crate::append::append;
use crate::count::Count;
use crate::error::{Reason, Result};
use crate::libcrypto;
use crate::params::Params;
use crate::provider::Provider;
use crate::remote;
pub use tag::Tag;

/// A kind of MAC, over any of several digests or ciphers.
pub trait Kind: Sized + 'static {
    /// OpenSSL's name for the kind.
    const NAME: &'static CStr;
    /// The parameter that names the digest or cipher.
    const OVER: &'static CStr;
    /// The reason with which a key is refused before a digest or cipher is named.
    const UNSAID: Reason;
    /// The parameters that can be set; the list ends with `END`.
    const SETTABLE: &'static [OsslParam];

    /// A digest or a cipher.
    type Algorithm: Copy + Send + Sync;
    /// A key in this process, and a message under way.
    type Keyed: Keyed;

    /// Returns the digest or cipher of that name, if an engine has it.
    fn named(name: &str) -> Option<Self::Algorithm>;

    /// Returns the bytes of a MAC, and of a block.
    fn size(algorithm: Self::Algorithm) -> (usize, usize);

    /// Returns the name in the service.
    fn in_service(algorithm: Self::Algorithm) -> Option<cwq::Algorithm>;

    /// Fails unless a key has the right length.
    fn check(_algorithm: Self::Algorithm, _len: usize) -> Result<()> {
        Ok(())
    }

    /// Tells whether expanding a key needs more stack than a job has.
    fn is_large(_algorithm: Self::Algorithm) -> bool {
        false
    }

    /// Expands a key and begins a message.
    fn key(algorithm: Self::Algorithm, key: &[u8]) -> Result<Self::Keyed>;

    /// Returns the row in which the MAC is counted.
    fn row(provider: Provider, algorithm: Self::Algorithm, place: Place, kernel: &str) -> Row;
}

/// A key and a message under way.
pub trait Keyed: Clone + Send {
    fn kernel(&self) -> &'static str;

    /// Forgets the message and begins another.
    fn restart(&mut self);

    /// Returns how many bytes [`Keyed::update`] may read, to take in `len`.
    fn reach(&self, len: usize) -> Result<usize> {
        Ok(len)
    }

    /// Takes in the first `len` bytes of `data`.
    fn update(&mut self, data: &[u8], len: usize) -> Result<()>;

    /// Returns the MAC, and begins another message.
    fn finish(&mut self) -> Result<Tag>;

    /// Announces a record of TLS under CBC with so many bytes of data, MAC and padding; 0 for none.
    fn record(&mut self, _len: usize) {}
}

/// A key in the service, and a message, which goes there as a whole unless it is long.
#[derive(Clone)]
struct Remote {
    key: Arc<ServiceKey>,
    /// The mid-state with which the service left the message off.
    state: Option<Vec<u8>>,
    /// The data since then.
    message: Zeroizing<Vec<u8>>,
}

impl Remote {
    fn new(key: Arc<ServiceKey>) -> Self {
        Remote { key, state: None, message: Zeroizing::default() }
    }

    fn restart(&mut self) {
        self.state = None;
        self.message.clear();
    }

    fn update(&mut self, mut data: &[u8]) -> Result<()> {
        while self.message.len() + data.len() > ServiceKey::PIECE {
            let (now, later) = data.split_at(ServiceKey::PIECE - self.message.len());
            append(&mut self.message, now);
            self.state = Some(self.key.partial_mac(self.state.as_deref(), &self.message)?);
            self.message.clear();
            data = later;
        }
        append(&mut self.message, data);
        Ok(())
    }

    /// Writes the MAC, which fills `out`, and begins another message.
    fn finish(&mut self, out: &mut [u8]) -> Result<()> {
        self.key.mac(self.state.as_deref(), &self.message, out)?;
        self.restart();
        Ok(())
    }
}

/// The place where a context computes.
enum State<K: Kind> {
    /// No key yet.
    Unkeyed,
    Local(K::Algorithm, K::Keyed),
    Remote(K::Algorithm, Remote),
    Foreign(libcrypto::Mac),
}

/// The progress of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// No data came yet.
    Begun,
    UnderWay,
    Finished,
}

/// The context behind an `EVP_MAC_CTX`.
pub struct Context<K: Kind> {
    pub provider: Provider,
    isolated: bool,
    /// The digest or cipher for the next key.
    over: Option<K::Algorithm>,
    state: State<K>,
    phase: Phase,
    /// The length for [`Keyed::record`].
    record: usize,
    count: Count,
}

impl<K: Kind> Context<K> {
    pub fn new(provider: Provider, isolated: bool) -> Self {
        Context {
            provider,
            isolated,
            over: None,
            state: State::Unkeyed,
            phase: Phase::Begun,
            record: 0,
            count: Count::default(),
        }
    }

    /// Makes another context in the same state.
    pub fn duplicate(&self) -> Result<Self> {
        let state = match &self.state {
            State::Unkeyed => State::Unkeyed,
            State::Local(algorithm, keyed) => State::Local(*algorithm, keyed.clone()),
            State::Remote(algorithm, remote) => State::Remote(*algorithm, remote.clone()),
            State::Foreign(mac) => State::Foreign(mac.duplicate()?),
        };
        Ok(Context { state, count: self.count.clone(), ..*self })
    }

    /// Begins a message, under the last key where none is given.
    pub fn init(&mut self, key: Option<&[u8]>, params: Params<'_>) -> Result<()> {
        if !params.is_empty() {
            self.set(params)?;
        }
        match (&mut self.state, key) {
            (State::Foreign(mac), key) => return mac.init(key, Params::NONE),
            (_, Some(key)) => return self.set_key(key),
            (State::Unkeyed, None) => return Err(Reason::NO_KEY_SET),
            (State::Local(_, keyed), None) if self.phase == Phase::UnderWay => keyed.restart(),
            (State::Remote(_, remote), None) => remote.restart(),
            _ => {}
        }
        self.phase = Phase::Begun;
        Ok(())
    }

    /// Returns how many bytes [`Context::update`] must be shown, to take in `len`.
    #[inline]
    pub fn reach(&self, len: usize) -> Result<usize> {
        match &self.state {
            State::Local(_, keyed) => keyed.reach(len),
            _ => Ok(len),
        }
    }

    /// Takes in the first `len` bytes of `data`.
    #[inline]
    pub fn update(&mut self, data: &[u8], len: usize) -> Result<()> {
        if self.phase == Phase::Finished {
            return Err(Reason::UPDATE_CALL_OUT_OF_ORDER);
        }
        match &mut self.state {
            State::Local(_, keyed) => keyed.update(data, len)?,
            State::Remote(_, remote) => remote.update(data)?,
            State::Foreign(mac) => return mac.update(data),
            State::Unkeyed => return Err(Reason::NO_KEY_SET),
        }
        self.phase = Phase::UnderWay;
        self.count.add_bytes(data.len());
        Ok(())
    }

    /// Writes the MAC to the front of `out`.
    #[inline]
    pub fn finish(&mut self, out: &mut [u8]) -> Result<usize> {
        if self.phase == Phase::Finished {
            return Err(Reason::FINAL_CALL_OUT_OF_ORDER);
        }
        let size = self.size();
        if out.len() < size {
            return Err(Reason::OUTPUT_BUFFER_TOO_SMALL);
        }
        match &mut self.state {
            State::Local(_, keyed) => out[..size].copy_from_slice(&keyed.finish()?),
            State::Remote(_, remote) => remote.finish(&mut out[..size])?,
            State::Foreign(mac) => return mac.finish(out),
            State::Unkeyed => return Err(Reason::NO_KEY_SET),
        }
        self.phase = Phase::Finished;
        self.count.add(0);
        Ok(size)
    }

    /// Returns the bytes of the MAC; 0 before there is a key, as in the default provider.
    #[inline]
    fn size(&self) -> usize {
        match &self.state {
            State::Local(algorithm, _) | State::Remote(algorithm, _) => K::size(*algorithm).0,
            _ => 0,
        }
    }

    pub fn get(&self, params: Params<'_>) -> Result<()> {
        if let State::Foreign(mac) = &self.state {
            return mac.get(params);
        }
        for param in params {
            match param.key().to_bytes() {
                b"size" => param.set_size(self.size())?,
                b"block-size" => param.set_size(self.over.map_or(0, |over| K::size(over).1))?,
                _ => {}
            }
        }
        Ok(())
    }

    pub fn set(&mut self, params: Params<'_>) -> Result<()> {
        if let Some(over) = params.find(K::OVER) {
            let demands = params.find(c"properties").map(|param| param.text()).transpose()?;
            match K::named(over.text()?).filter(|_| !demands.is_some_and(excludes_us)) {
                Some(over) => self.choose(over),
                None => self.hand_over()?,
            }
        }
        if let State::Foreign(mac) = &mut self.state {
            return mac.set(params);
        }
        for param in params {
            match param.key().to_bytes() {
                b"key" => self.set_key(param.octets()?)?,
                b"tls-data-size" => {
                    self.record = param.size()?;
                    self.apply_record()?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Chooses the digest or cipher for the next key. A key that is set stays, and so does its message.
    fn choose(&mut self, over: K::Algorithm) {
        self.over = Some(over);
        if matches!(self.state, State::Foreign(_)) {
            self.state = State::Unkeyed;
        }
    }

    /// Hands the context over to another provider.
    fn hand_over(&mut self) -> Result<()> {
        if self.isolated {
            return Err(NOT_ISOLATED);
        }
        if !matches!(self.state, State::Foreign(_)) {
            self.state = State::Foreign(libcrypto::Mac::new(self.provider, K::NAME)?);
            self.phase = Phase::UnderWay;
        }
        self.over = None;
        Ok(())
    }

    fn set_key(&mut self, key: &[u8]) -> Result<()> {
        let over = self.over.ok_or(K::UNSAID)?;
        K::check(over, key.len())?;
        if self.isolated {
            let algorithm = K::in_service(over).ok_or(NOT_ISOLATED)?;
            let key = remote::signing(self.provider, algorithm, key)?;
            return self.begin_with(over, Arc::new(key));
        }
        let keyed = match K::is_large(over) {
            true => libcrypto::Job::with_stack(self.provider, || K::key(over, key))?,
            false => K::key(over, key)?,
        };
        self.count.bind(K::row(self.provider, over, Place::InProcess, keyed.kernel()));
        self.state = State::Local(over, keyed);
        self.phase = Phase::Begun;
        self.apply_record()
    }

    /// Begins a message under a key that is in the service already. The digest or cipher that the parameters name must be its own.
    pub fn take(&mut self, key: &Arc<ServiceKey>, params: Params<'_>) -> Result<()> {
        self.set(params)?;
        let over = self.over.ok_or(K::UNSAID)?;
        remote::fits(key, K::in_service(over), None)?;
        K::check(over, key.len())?;
        self.begin_with(over, Arc::clone(key))
    }

    fn begin_with(&mut self, over: K::Algorithm, key: Arc<ServiceKey>) -> Result<()> {
        self.state = State::Remote(over, Remote::new(key));
        self.count.bind(K::row(self.provider, over, Place::Isolated, "worker"));
        self.phase = Phase::Begun;
        self.apply_record()
    }

    fn apply_record(&mut self) -> Result<()> {
        match &mut self.state {
            State::Local(_, keyed) => keyed.record(self.record),
            State::Remote(..) if self.record > 0 => return Err(LEAKS),
            _ => {}
        }
        Ok(())
    }
}

const NOT_ISOLATED: Reason = Reason::NOT_SUPPORTED.with(
    "the service has no MAC with this digest or cipher: use another, or ask for millstream.isolated=no",
);
const LEAKS: Reason = Reason::NOT_SUPPORTED.with(
    "an isolated key can't hide how long the padding of a TLS record is: use encrypt-then-MAC or an AEAD, or ask for millstream.isolated=no",
);

/// The parameters that tell about a context of any kind.
pub const GETTABLE: &[OsslParam] = &[
    OsslParam::described(c"size", crate::abi::UNSIGNED_INTEGER),
    OsslParam::described(c"block-size", crate::abi::UNSIGNED_INTEGER),
    OsslParam::END,
];

/// Tells whether a property query demands something of a digest or a cipher that might not be true of ours. A
/// preference (`?`) is no demand.
pub fn excludes_us(query: &str) -> bool {
    let demands = query.split(',').map(str::trim).filter(|demand| !demand.is_empty());
    demands.into_iter().any(|demand| {
        let spaceless: String = demand.split_whitespace().collect();
        !demand.starts_with(['?', '-'])
            && !matches!(
                &*spaceless,
                "provider=millstream" | "millstream.accelerated=yes" | "millstream.isolated=no"
            )
    })
}

#[cfg(test)]
mod tests {
    use super::excludes_us;

    #[test]
    fn a_query_excludes_us_when_it_demands_what_we_may_not_have() {
        for query in [
            "",
            "?provider=default",
            "provider=millstream",
            "provider = millstream, ?fips=yes",
            "millstream.accelerated=yes",
            "-fips",
        ] {
            assert!(!excludes_us(query), "{query}");
        }
        for query in ["provider=default", "fips=yes", "?a=b,provider!=millstream", "fips"] {
            assert!(excludes_us(query), "{query}");
        }
    }
}
