//! Key derivation: HKDF, and the key schedule that TLS 1.3 builds on it.
//!
//! Parameters are kept until a key is derived. With a digest that no engine has they are handed on to the default
//! provider.
//!
//! Ref. provider-kdf(7), EVP_KDF-HKDF(7), EVP_KDF-TLS13_KDF(7); RFC 5869, RFC 8446 §7.1.

use std::ffi::{CStr, CString, c_int};
use std::marker::PhantomData;

use millstream::hash::Hash;
use millstream::hmac::HmacKey;
use millstream::tally::Place;
use millstream::{hash, hkdf};
use zeroize::{Zeroize, Zeroizing};

use crate::abi::{INTEGER, OCTET_STRING, OsslParam, UNSIGNED_INTEGER, UTF8_STRING};
use crate::algorithms;
use crate::append::append;
use crate::count::{Count, Rows};
use crate::digest::{self, PerHash};
use crate::error::{Reason, Result};
use crate::libcrypto::kdf::{self as others, Value};
use crate::mac::excludes_us;
use crate::params::{Param, Params};
use crate::provider::Provider;

/// A kind of key derivation.
pub trait Kind: Sized + 'static {
    /// OpenSSL's name for the kind.
    const NAME: &'static CStr;
    /// The parameters that can be set; the list ends with `END`.
    const SETTABLE: &'static [OsslParam];

    /// Fails where parameters do not go together, as soon as they are set.
    fn check(_inputs: &Inputs) -> Result<()> {
        Ok(())
    }

    /// Fills `out`.
    fn derive(hash: Hash, inputs: &Inputs, out: &mut [u8]) -> Result<()>;
}

/// The steps that are derived, by OpenSSL's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    ExtractAndExpand = 0,
    ExtractOnly = 1,
    ExpandOnly = 2,
}

impl Mode {
    const ALL: [(Mode, &'static CStr); 3] = [
        (Mode::ExtractAndExpand, c"EXTRACT_AND_EXPAND"),
        (Mode::ExtractOnly, c"EXTRACT_ONLY"),
        (Mode::ExpandOnly, c"EXPAND_ONLY"),
    ];

    /// Reads a mode, which comes as a text or as a number.
    fn read(param: &Param<'_>) -> Result<Self> {
        let found = match (param.text(), param.size()) {
            (Ok(text), _) => {
                Mode::ALL.iter().find(|(_, name)| text.as_bytes().eq_ignore_ascii_case(name.to_bytes()))
            }
            (_, Ok(number)) => Mode::ALL.get(number),
            _ => None,
        };
        found.map(|(mode, _)| *mode).ok_or(Reason::INVALID_MODE)
    }

    fn write(self, param: &Param<'_>) -> Result<()> {
        let (_, name) = Mode::ALL[self as usize];
        param.set_text(name).or_else(|_| param.set_size(self as usize))
    }
}

/// A digest: one of ours, or one for which the whole derivation is handed on.
#[derive(Clone)]
enum Chosen {
    Ours(Hash),
    Others { name: CString, properties: Option<CString> },
}

type Secret = Zeroizing<Vec<u8>>;

/// The inputs that were set. Absent and empty differ.
#[derive(Clone, Default)]
pub struct Inputs {
    mode: Mode,
    key: Option<Secret>,
    salt: Option<Secret>,
    info: Option<Secret>,
    prefix: Option<Secret>,
    label: Option<Secret>,
    data: Option<Secret>,
}

impl Inputs {
    fn octets(&mut self, name: &[u8]) -> Option<&mut Option<Secret>> {
        Some(match name {
            b"key" => &mut self.key,
            b"salt" => &mut self.salt,
            b"prefix" => &mut self.prefix,
            b"label" => &mut self.label,
            b"data" => &mut self.data,
            _ => return None,
        })
    }

    /// Returns the octets as parameters for another provider.
    fn values(&self) -> Vec<(&'static CStr, Value<'_>)> {
        let octets = [
            (c"key", &self.key),
            (c"salt", &self.salt),
            (c"info", &self.info),
            (c"prefix", &self.prefix),
            (c"label", &self.label),
            (c"data", &self.data),
        ];
        octets.into_iter().filter_map(|(name, set)| Some((name, Value::Octets(set.as_ref()?)))).collect()
    }
}

fn or_empty(secret: &Option<Secret>) -> &[u8] {
    secret.as_ref().map_or(&[], |secret| secret)
}

/// The context behind an `EVP_KDF_CTX`.
pub struct Context<K> {
    pub provider: Provider,
    digest: Option<Chosen>,
    inputs: Inputs,
    kind: PhantomData<K>,
}

impl<K> Clone for Context<K> {
    fn clone(&self) -> Self {
        Context { digest: self.digest.clone(), inputs: self.inputs.clone(), ..*self }
    }
}

/// The parameters that tell about a context.
pub const GETTABLE: &[OsslParam] = &[
    OsslParam::described(c"size", UNSIGNED_INTEGER),
    OsslParam::described(c"digest", UTF8_STRING),
    OsslParam::described(c"mode", UTF8_STRING),
    OsslParam::described(c"mode", INTEGER),
    OsslParam::described(c"salt", OCTET_STRING),
    OsslParam::described(c"info", OCTET_STRING),
    OsslParam::END,
];

impl<K: Kind> Context<K> {
    pub fn new(provider: Provider) -> Self {
        Context { provider, digest: None, inputs: Inputs::default(), kind: PhantomData }
    }

    pub fn set(&mut self, params: Params<'_>) -> Result<()> {
        if let Some(digest) = params.find(c"digest") {
            let properties = params.find(c"properties").map(|param| param.text()).transpose()?;
            self.digest = Some(self.choose(digest.text()?, properties)?);
        }
        // Several `info` parameters are concatenated, and together replace the earlier ones.
        let mut info: Option<Secret> = None;
        for param in params {
            match param.key().to_bytes() {
                b"mode" => self.inputs.mode = Mode::read(&param)?,
                b"info" => append(info.get_or_insert_default(), param.octets()?),
                name => {
                    if let Some(input) = self.inputs.octets(name) {
                        *input = Some(Zeroizing::new(param.octets()?.to_vec()));
                    }
                }
            }
        }
        self.inputs.info = info.or(self.inputs.info.take());
        if !params.is_empty() { K::check(&self.inputs) } else { Ok(()) }
    }

    fn choose(&self, name: &str, properties: Option<&str>) -> Result<Chosen> {
        let ours = algorithms::digest_named(name).filter(|_| !properties.is_some_and(excludes_us));
        if let Some(hash) = ours {
            return Ok(Chosen::Ours(hash));
        }
        let text = |text| CString::new(text).map_err(|_| Reason::FAILED_TO_GET_PARAMETER);
        let chosen = Chosen::Others { name: text(name)?, properties: properties.map(text).transpose()? };
        // The size is asked for now, so that an unknown name is refused now.
        others::size(self.provider, K::NAME, &chosen.values(&(Mode::ExpandOnly as c_int)))?;
        Ok(chosen)
    }

    pub fn get(&self, params: Params<'_>) -> Result<()> {
        for param in params {
            match param.key().to_bytes() {
                b"size" => param.set_size(self.size()?)?,
                b"digest" => param.set_text(self.digest_name().ok_or(Reason::MISSING_MESSAGE_DIGEST)?)?,
                b"mode" => self.inputs.mode.write(&param)?,
                b"salt" => param.set_octets(or_empty(&self.inputs.salt))?,
                b"info" => param.set_octets(or_empty(&self.inputs.info))?,
                _ => {}
            }
        }
        Ok(())
    }

    fn digest_name(&self) -> Option<&CStr> {
        match self.digest.as_ref()? {
            Chosen::Ours(hash) => Some(algorithms::digest_name(*hash)),
            Chosen::Others { name, .. } => Some(name),
        }
    }

    /// Returns the most bytes that can be derived.
    fn size(&self) -> Result<usize> {
        if self.inputs.mode != Mode::ExtractOnly {
            return Ok(usize::MAX);
        }
        match self.digest.as_ref().ok_or(Reason::MISSING_MESSAGE_DIGEST)? {
            Chosen::Ours(hash) => Ok(hash.output_len()),
            others => others::size(self.provider, K::NAME, &others.values(&(Mode::ExtractOnly as c_int))),
        }
    }

    pub fn derive(&mut self, out: &mut [u8]) -> Result<()> {
        match self.digest.as_ref().ok_or(Reason::MISSING_MESSAGE_DIGEST)? {
            Chosen::Ours(hash) => {
                K::derive(*hash, &self.inputs, out)?;
                self.count(*hash, out.len())
            }
            others => {
                let mode = self.inputs.mode as c_int;
                let values = [others.values(&mode), self.inputs.values()].concat();
                others::derive(self.provider, K::NAME, &values, out)
            }
        }
    }

    fn count(&self, hash: Hash, bytes: usize) -> Result<()> {
        static ROWS: PerHash<Rows> = [const { Rows::new() }; _];
        let kernel = digest::kernel(hash)?.kernel().name;
        let mut count = Count::default();
        count.bind(ROWS[hash as usize].row(self.provider, Place::InProcess, row_name(hash), kernel));
        count.add(bytes);
        Ok(())
    }
}

impl Chosen {
    /// Returns mode and digest as parameters for another provider.
    fn values<'a>(&'a self, mode: &'a c_int) -> Vec<(&'static CStr, Value<'a>)> {
        let mut values = vec![(c"mode", Value::Number(mode))];
        if let Chosen::Others { name, properties } = self {
            values.push((c"digest", Value::Text(name)));
            values.extend(properties.as_deref().map(|query| (c"properties", Value::Text(query))));
        }
        values
    }
}

/// Returns the name under which a derivation is counted.
fn row_name(hash: Hash) -> &'static str {
    match hash {
        Hash::Md5 => "hkdf-md5",
        Hash::Sha1 => "hkdf-sha1",
        Hash::Sha224 => "hkdf-sha224",
        Hash::Sha256 => "hkdf-sha256",
        Hash::Sha384 => "hkdf-sha384",
        Hash::Sha512 => "hkdf-sha512",
        Hash::Sha512_256 => "hkdf-sha512-256",
        Hash::Sha3_224 => "hkdf-sha3-224",
        Hash::Sha3_256 => "hkdf-sha3-256",
        Hash::Sha3_384 => "hkdf-sha3-384",
        Hash::Sha3_512 => "hkdf-sha3-512",
    }
}

fn hmac_key(hash: Hash, key: &[u8]) -> Result<HmacKey> {
    Ok(HmacKey::with_kernel(*digest::kernel(hash)?, key))
}

/// RFC 5869 §2.2.
fn extract(hash: Hash, salt: &[u8], key: &[u8], out: &mut [u8]) -> Result<()> {
    if out.len() != hash.output_len() {
        return Err(Reason::WRONG_OUTPUT_BUFFER_SIZE);
    }
    let mut prk = hmac_key(hash, salt)?.sign(key);
    out.copy_from_slice(&prk);
    prk.zeroize();
    Ok(())
}

/// RFC 5869 §2.3, with a key of any length.
fn expand(hash: Hash, key: &[u8], info: &[u8], out: &mut [u8]) -> Result<()> {
    let hkdf = hkdf::Hkdf::with_key(hmac_key(hash, key)?);
    hkdf.expand(info, out).map_err(|why| Reason::LENGTH_TOO_LARGE.because(why.to_string()))
}

/// HKDF.
pub struct Hkdf;

impl Kind for Hkdf {
    const NAME: &'static CStr = c"HKDF";
    const SETTABLE: &'static [OsslParam] = &[
        OsslParam::described(c"mode", UTF8_STRING),
        OsslParam::described(c"mode", INTEGER),
        OsslParam::described(c"properties", UTF8_STRING),
        OsslParam::described(c"digest", UTF8_STRING),
        OsslParam::described(c"key", OCTET_STRING),
        OsslParam::described(c"salt", OCTET_STRING),
        OsslParam::described(c"info", OCTET_STRING),
        OsslParam::END,
    ];

    fn derive(hash: Hash, inputs: &Inputs, out: &mut [u8]) -> Result<()> {
        let key = inputs.key.as_ref().ok_or(Reason::MISSING_KEY)?;
        if out.is_empty() {
            return Err(Reason::INVALID_KEY_LENGTH);
        }
        let (salt, info) = (or_empty(&inputs.salt), or_empty(&inputs.info));
        match inputs.mode {
            Mode::ExtractOnly => extract(hash, salt, key, out),
            Mode::ExpandOnly => expand(hash, key, info, out),
            Mode::ExtractAndExpand => {
                let mut prk = Zeroizing::new([0; hash::MAX_DIGEST]);
                let prk = &mut prk[..hash.output_len()];
                extract(hash, salt, key, prk)?;
                expand(hash, prk, info, out)
            }
        }
    }
}

/// The key schedule of TLS 1.3: HKDF-Expand-Label, and the extraction after it.
pub struct Tls13;

impl Kind for Tls13 {
    const NAME: &'static CStr = c"TLS13-KDF";
    const SETTABLE: &'static [OsslParam] = &[
        OsslParam::described(c"mode", UTF8_STRING),
        OsslParam::described(c"mode", INTEGER),
        OsslParam::described(c"properties", UTF8_STRING),
        OsslParam::described(c"digest", UTF8_STRING),
        OsslParam::described(c"key", OCTET_STRING),
        OsslParam::described(c"salt", OCTET_STRING),
        OsslParam::described(c"prefix", OCTET_STRING),
        OsslParam::described(c"label", OCTET_STRING),
        OsslParam::described(c"data", OCTET_STRING),
        OsslParam::END,
    ];

    fn check(inputs: &Inputs) -> Result<()> {
        if inputs.mode == Mode::ExtractAndExpand { Err(Reason::INVALID_MODE) } else { Ok(()) }
    }

    fn derive(hash: Hash, inputs: &Inputs, out: &mut [u8]) -> Result<()> {
        match inputs.mode {
            Mode::ExpandOnly => {
                let key = inputs.key.as_ref().ok_or(Reason::MISSING_KEY)?;
                expand_label(hash, key, inputs, or_empty(&inputs.data), out)
            }
            Mode::ExtractOnly => next_secret(hash, inputs, out),
            Mode::ExtractAndExpand => Err(Reason::INVALID_MODE),
        }
    }
}

/// RFC 8446 §7.1: HKDF-Expand-Label, where the label has a prefix.
fn expand_label(hash: Hash, key: &[u8], inputs: &Inputs, data: &[u8], out: &mut [u8]) -> Result<()> {
    let (prefix, label) = (or_empty(&inputs.prefix), or_empty(&inputs.label));
    let too_long = |_| Reason::LENGTH_TOO_LARGE;
    let mut info = Vec::with_capacity(4 + prefix.len() + label.len() + data.len());
    info.extend(u16::try_from(out.len()).map_err(too_long)?.to_be_bytes());
    info.push(u8::try_from(prefix.len() + label.len()).map_err(too_long)?);
    info.extend([prefix, label].concat());
    info.push(u8::try_from(data.len()).map_err(too_long)?);
    info.extend(data);
    expand(hash, key, &info, out)
}

/// RFC 8446 §7.1: derives the next secret from one (the salt); zeros stand for absent inputs.
fn next_secret(hash: Hash, inputs: &Inputs, out: &mut [u8]) -> Result<()> {
    let zeros = [0; hash::MAX_DIGEST];
    let zeros = &zeros[..hash.output_len()];
    let key = inputs.key.as_ref().map_or(zeros, |key| key);
    let Some(secret) = &inputs.salt else { return extract(hash, zeros, key, out) };
    let nothing = digest::kernel(hash)?.digest(&[]);
    let mut derived = Zeroizing::new([0; hash::MAX_DIGEST]);
    let derived = &mut derived[..hash.output_len()];
    expand_label(hash, secret, inputs, &nothing, derived)?;
    extract(hash, derived, key, out)
}
