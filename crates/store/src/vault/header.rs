//! The header of a token: its label, and its master key wrapped under each PIN.
//!
//! | offset | bytes | meaning |
//! | ---: | ---: | --- |
//! | 0 | 1 | version, 1 |
//! | 1 | 16 | the token's serial number |
//! | 17 | 8 | fingerprint of the device secret |
//! | 25 | 4 | Argon2id: memory in KiB, big-endian |
//! | 29 | 4 | Argon2id: passes, big-endian |
//! | 33 | 4 | Argon2id: lanes, big-endian |
//! | 37 | 1 | length of the label, n |
//! | 38 | n | label, UTF-8 |
//! | 38 + n | 76 | the master key under the security officer's PIN |
//! | 114 + n | 1 | 1 if there is a user PIN, else 0 |
//! | 115 + n | 76 | the master key under the user PIN, if there is one |
//!
//! | offset | bytes | meaning of a wrapped key |
//! | ---: | ---: | --- |
//! | 0 | 16 | salt |
//! | 16 | 12 | nonce |
//! | 28 | 32 | the master key under AES-256-GCM |
//! | 60 | 16 | tag |
//!
//! The wrapping key is HKDF-SHA-256 of Argon2id(PIN, salt) followed by the device secret, with the info `millstream token PIN v1`,
//! the serial number and the role (1 = user, 2 = security officer). The associated data are the same role, the header's bytes in front of the wrapped
//! keys, and the salt. So no field can be changed, and no wrapped key serves another token or role.
//!
//! Ref. RFC 9106 §3.1 (Argon2id), RFC 5869 (HKDF), NIST SP 800-38D (GCM).

use argon2::{Algorithm, Argon2, Block, Params, Version};
use millstream_cpu::Features;
use millstream_engines::aead::Aead;
use millstream_engines::gcm::Gcm;
use millstream_engines::hash::Hash;
use millstream_engines::hkdf::Hkdf;
use millstream_engines::{Error as EngineError, InOut};
use zeroize::Zeroizing;

use crate::names::{Role, TokenId};
use crate::secret::DeviceSecret;
use crate::{Error, MOST_TOKEN_LABEL_BYTES};

/// The version of headers that this crate writes.
pub(super) const VERSION: u8 = 1;

/// The lengths of a PIN in bytes.
pub const PIN_BYTES: std::ops::RangeInclusive<usize> = 4..=255;

const WRAPPED: usize = 76;
const FIXED: usize = 38;

/// A token's master key. Zeroised on drop.
pub(super) type Master = Zeroizing<[u8; 32]>;

/// The cost of deriving a key from a PIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Memory in KiB.
    pub memory_kib: u32,
    /// Passes over the memory.
    pub passes: u32,
    /// Lanes.
    pub lanes: u32,
}

impl Cost {
    /// The cost of new tokens: 64 MiB and three passes, about a tenth of a second.
    pub const USUAL: Cost = Cost { memory_kib: 64 << 10, passes: 3, lanes: 1 };

    /// Returns Argon2's parameters. What a file may ask for is limited, since it is used before it is authenticated.
    fn parameters(self) -> Result<Params, Error> {
        let work = u64::from(self.memory_kib) * u64::from(self.passes);
        if self.memory_kib > 1 << 20 || self.passes > 16 || self.lanes > 16 || work > 4 << 20 {
            return Err(Error::Cost);
        }
        Params::new(self.memory_kib, self.passes, self.lanes, Some(32)).map_err(|_| Error::Cost)
    }
}

/// A token's header. The label and the costs are authenticated when a PIN opens it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The serial number.
    pub token: TokenId,
    /// The label.
    pub label: String,
    /// The fingerprint of the device secret.
    fingerprint: [u8; 8],
    /// The cost of trying a PIN.
    pub cost: Cost,
    officer: [u8; WRAPPED],
    user: Option<[u8; WRAPPED]>,
}

impl Header {
    /// Makes a header whose master key only the officer's PIN opens.
    pub(super) fn new(
        features: Features,
        device: &DeviceSecret,
        (token, label, cost): (TokenId, &str, Cost),
        (pin, master): (&[u8], &Master),
    ) -> Result<Self, Error> {
        if label.is_empty() || label.len() > MOST_TOKEN_LABEL_BYTES {
            return Err(Error::TokenLabel);
        }
        let fingerprint = device.fingerprint(features);
        let label = label.to_owned();
        let mut header = Header { token, label, fingerprint, cost, officer: [0; WRAPPED], user: None };
        header.wrap(features, device, Role::Officer, pin, master)?;
        Ok(header)
    }

    /// Encodes the header.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.front();
        bytes.extend(self.officer);
        bytes.push(self.user.is_some().into());
        bytes.extend(self.user.iter().flatten());
        bytes
    }

    /// Returns the bytes in front of the wrapped keys.
    fn front(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FIXED + self.label.len() + 2 * WRAPPED + 1);
        bytes.push(VERSION);
        bytes.extend(self.token.0);
        bytes.extend(self.fingerprint);
        for number in [self.cost.memory_kib, self.cost.passes, self.cost.lanes] {
            bytes.extend(number.to_be_bytes());
        }
        bytes.push(self.label.len() as u8);
        bytes.extend(self.label.as_bytes());
        bytes
    }

    /// Decodes a header.
    ///
    /// # Errors
    /// [`Error::Malformed`].
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let bad = Error::Malformed("the header of a token");
        Header::decoded(bytes).ok_or(bad)
    }

    fn decoded(bytes: &[u8]) -> Option<Self> {
        let (&[version], rest) = bytes.split_first_chunk()?;
        let (token, rest) = rest.split_first_chunk()?;
        let (fingerprint, rest) = rest.split_first_chunk()?;
        let (memory_kib, rest) = rest.split_first_chunk()?;
        let (passes, rest) = rest.split_first_chunk()?;
        let (lanes, rest) = rest.split_first_chunk()?;
        let (&[len], rest) = rest.split_first_chunk()?;
        let (label, rest) = rest.split_at_checked(len.into())?;
        let (officer, rest) = rest.split_first_chunk()?;
        let (&[set], rest) = rest.split_first_chunk()?;
        let user = match set {
            0 if rest.is_empty() => None,
            1 => Some(rest.try_into().ok()?),
            _ => return None,
        };
        let number = |bytes: &[u8; 4]| u32::from_be_bytes(*bytes);
        (version == VERSION).then_some(())?;
        Some(Header {
            token: TokenId(*token),
            label: str::from_utf8(label).ok()?.to_owned(),
            fingerprint: *fingerprint,
            cost: Cost { memory_kib: number(memory_kib), passes: number(passes), lanes: number(lanes) },
            officer: *officer,
            user,
        })
    }

    /// Returns true when a user PIN was set.
    pub fn has_user_pin(&self) -> bool {
        self.user.is_some()
    }

    /// Checks everything that can be checked without the PIN, so that no try is spent in vain.
    pub(super) fn check(
        &self,
        features: Features,
        device: &DeviceSecret,
        role: Role,
        pin: &[u8],
    ) -> Result<(), Error> {
        if self.fingerprint != device.fingerprint(features) {
            return Err(Error::OtherDevice { token: self.label.clone() });
        }
        if role == Role::User && self.user.is_none() {
            return Err(Error::NoUserPin);
        }
        check_pin(pin)?;
        self.cost.parameters().map(|_| ())
    }

    /// Wraps the master key under a PIN.
    pub(super) fn wrap(
        &mut self,
        features: Features,
        device: &DeviceSecret,
        role: Role,
        pin: &[u8],
        master: &Master,
    ) -> Result<(), Error> {
        check_pin(pin)?;
        let mut wrapped = [0; WRAPPED];
        getrandom::fill(&mut wrapped[..28])?;
        let (salt, rest) = wrapped.split_first_chunk_mut::<16>().expect("76 bytes");
        let (nonce, rest) = rest.split_first_chunk_mut::<12>().expect("60 bytes");
        let (sealed, tag) = rest.split_first_chunk_mut::<32>().expect("48 bytes");
        sealed.copy_from_slice(&**master);
        let gcm = self.wrapping_key(features, device, role, pin, salt)?;
        let tag: &mut [u8; 16] = tag.try_into().expect("16 bytes");
        gcm.seal(nonce, &self.bound(role, salt), InOut::in_place(sealed), tag)
            .expect("the lengths are fixed");
        match role {
            Role::Officer => self.officer = wrapped,
            Role::User => self.user = Some(wrapped),
        }
        Ok(())
    }

    /// Unwraps the master key; none when the PIN is wrong.
    pub(super) fn unwrap(
        &self,
        features: Features,
        device: &DeviceSecret,
        role: Role,
        pin: &[u8],
    ) -> Result<Option<Master>, Error> {
        let wrapped = match role {
            Role::Officer => &self.officer,
            Role::User => self.user.as_ref().ok_or(Error::NoUserPin)?,
        };
        let (salt, rest) = wrapped.split_first_chunk::<16>().expect("76 bytes");
        let (nonce, rest) = rest.split_first_chunk::<12>().expect("60 bytes");
        let (sealed, tag) = rest.split_first_chunk::<32>().expect("48 bytes");
        let mut master = Zeroizing::new(*sealed);
        let gcm = self.wrapping_key(features, device, role, pin, salt)?;
        let tag: &[u8; 16] = tag.try_into().expect("16 bytes");
        match gcm.open(nonce, &self.bound(role, salt), InOut::in_place(&mut *master), tag) {
            Ok(()) => Ok(Some(master)),
            Err(EngineError::Authentication) => Ok(None),
            Err(error) => unreachable!("the lengths are fixed: {error}"),
        }
    }

    /// Returns the associated data of a wrapped key.
    fn bound(&self, role: Role, salt: &[u8; 16]) -> Vec<u8> {
        [b"millstream token PIN", &[role.code()][..], &self.front(), salt].concat()
    }

    fn wrapping_key(
        &self,
        features: Features,
        device: &DeviceSecret,
        role: Role,
        pin: &[u8],
        salt: &[u8; 16],
    ) -> Result<Gcm, Error> {
        let parameters = self.cost.parameters()?;
        let mut memory = argon2_memory(parameters.block_count())?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters);
        let mut material = Zeroizing::new(vec![0; 32 + device.bytes().len()]);
        let hashed = argon2.hash_password_into_with_memory(pin, salt, &mut material[..32], &mut *memory);
        hashed.map_err(|_| Error::Cost)?;
        material[32..].copy_from_slice(device.bytes());
        let hkdf = Hkdf::extract(features, Hash::Sha256, b"", &material);
        let info = [b"millstream token PIN v1", &self.token.0[..], &[role.code()]].concat();
        Ok(derived(features, &hkdf, &info))
    }
}

/// Returns memory for Argon2, which is zeroised after use: whoever reads what it held tries PINs at no cost, and without the device secret.
fn argon2_memory(blocks: usize) -> Result<Zeroizing<Box<[Block]>>, Error> {
    let mut memory = Vec::new();
    memory.try_reserve_exact(blocks).map_err(|_| Error::Cost)?;
    memory.resize(blocks, Block::default());
    Ok(Zeroizing::new(memory.into_boxed_slice()))
}

fn check_pin(pin: &[u8]) -> Result<(), Error> {
    if PIN_BYTES.contains(&pin.len()) { Ok(()) } else { Err(Error::PinLength) }
}

/// Returns the AES-256-GCM key that HKDF gives for a purpose.
pub(super) fn derived(features: Features, hkdf: &Hkdf, info: &[u8]) -> Gcm {
    let mut key = Zeroizing::new([0; 32]);
    hkdf.expand(info, &mut *key).expect("32 bytes are less than 255 digests");
    Gcm::new(features, &*key).expect("32 bytes are a key")
}
