//! The commands to the TPM, through the library of the TSS.
//!
//! The secret is the data of an object that is sealed under the *storage key*: the primary key of the storage hierarchy that the TPM makes of its seed and of the template
//! in [`template`]. That key is made anew each time, and no handle of the TPM's memory is kept. The object is bound to this TPM and to its parent, has no password, and counts no
//! wrong tries; with PCRs, its policy is that they have the values of when it was made.
//!
//! A session encrypts the traffic between this process and the TPM. Its salt is encrypted for the storage key, so whoever listens on the bus learns nothing. That
//! the key is the TPM's own is known by its name, which the file has.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::str::FromStr;

use tss_esapi::attributes::{ObjectAttributesBuilder, SessionAttributesBuilder};
use tss_esapi::constants::SessionType;
use tss_esapi::constants::response_code::Tss2ResponseCodeKind;
use tss_esapi::handles::KeyHandle;
use tss_esapi::interface_types::algorithm::{HashingAlgorithm, PublicAlgorithm};
use tss_esapi::interface_types::ecc::EccCurve;
use tss_esapi::interface_types::resource_handles::Hierarchy;
use tss_esapi::interface_types::session_handles::{AuthSession, PolicySession};
use tss_esapi::structures::{
    Digest, EccPoint, KeyedHashScheme, PcrSelectionList, PcrSelectionListBuilder, PcrSlot, Private, Public,
    PublicBuilder, PublicEccParametersBuilder, PublicKeyedHashParameters, SensitiveData, SymmetricDefinition,
    SymmetricDefinitionObject,
};
use tss_esapi::tcti_ldr::{DeviceConfig, NetworkTPMConfig, TctiNameConf};
use tss_esapi::traits::{Marshall, UnMarshall};
use tss_esapi::{Context, Error as TssError};
use zeroize::Zeroizing;

use super::blob::Blob;
use super::{Pcrs, Tpm, TpmFault};
use crate::Error;
use crate::secret::DeviceSecret;

/// The bytes in front of a sealed secret.
const HEAD: [u8; 4] = [0; 4];

/// Has a TPM seal a secret.
///
/// # Errors
/// [`Error::Tpm`].
pub(super) fn seal(tpm: &Tpm, secret: &DeviceSecret, pcrs: Pcrs) -> Result<Blob, Error> {
    let seal = || -> Result<Blob, TpmFault> {
        let mut chip = Chip::open(tpm)?;
        let (endorsement_key, endorsement) = chip.primary(Hierarchy::Endorsement)?;
        chip.context.flush_context(endorsement_key.into())?;
        let (key, storage) = chip.primary(Hierarchy::Owner)?;
        let policy = match pcrs.is_empty() {
            true => None,
            false => Some(chip.policy(key, SessionType::Trial, pcrs)?.1),
        };
        let data = Zeroizing::new([&HEAD, secret.bytes()].concat());
        let data = SensitiveData::try_from(data.to_vec())?;
        let session = chip.session(key)?;
        let made = chip.context.execute_with_session(Some(session), |context| {
            context.create(key, sealed(policy)?, None, Some(data), None, None)
        })?;
        let private = made.out_private.to_vec();
        Ok(Blob { pcrs, storage, endorsement, public: made.out_public.marshall()?, private })
    };
    seal().map_err(|why| Error::Tpm { place: tpm.to_string(), why })
}

/// Has a TPM open a sealed secret.
///
/// # Errors
/// [`TpmFault`].
pub(super) fn unseal(tpm: &Tpm, blob: &Blob) -> Result<DeviceSecret, TpmFault> {
    let mut chip = Chip::open(tpm)?;
    let (key, storage) = chip.primary(Hierarchy::Owner)?;
    if storage != blob.storage {
        chip.context.flush_context(key.into())?;
        let (_, endorsement) = chip.primary(Hierarchy::Endorsement)?;
        let is_same = endorsement == blob.endorsement;
        return Err(if is_same { TpmFault::Cleared } else { TpmFault::OtherMachine });
    }
    let public = Public::unmarshall(&blob.public).map_err(|_| TpmFault::Changed)?;
    let private = Private::try_from(blob.private.clone()).map_err(|_| TpmFault::Changed)?;
    let expected = public.auth_policy().clone();
    let session = chip.session(key)?;
    let object =
        chip.context.execute_with_session(Some(session), |context| context.load(key, private, public))?;
    let session = match blob.pcrs.is_empty() {
        true => session,
        false => {
            // The policies are compared here first: what the TPM refuses, its library writes to the terminal.
            let (session, policy) = chip.policy(key, SessionType::Policy, blob.pcrs)?;
            if policy != expected {
                return Err(TpmFault::Measured(blob.pcrs));
            }
            session
        }
    };
    let data = chip.context.execute_with_session(Some(session), |context| context.unseal(object.into()))?;
    let secret = data.strip_prefix(&HEAD).and_then(DeviceSecret::new);
    secret.ok_or(TpmFault::Changed)
}

/// A connection to a TPM. What was loaded by it ends with it.
struct Chip {
    context: Context,
}

impl Chip {
    fn open(tpm: &Tpm) -> Result<Self, TpmFault> {
        let place = match tpm {
            Tpm::Device(path) => {
                check_device(path)?;
                let path = path.to_str().ok_or(TpmFault::Name)?;
                TctiNameConf::Device(DeviceConfig::from_str(path)?)
            }
            Tpm::Emulator(address) => {
                TctiNameConf::Swtpm(NetworkTPMConfig::from_str(address).map_err(|_| TpmFault::Name)?)
            }
        };
        let context = Context::new(place).map_err(|error| TpmFault::Silent(error.to_string()))?;
        Ok(Chip { context })
    }

    /// Makes the primary key of a hierarchy, and returns it with its name.
    fn primary(&mut self, hierarchy: Hierarchy) -> Result<(KeyHandle, Vec<u8>), TpmFault> {
        let made = self.context.execute_with_session(Some(AuthSession::Password), |context| {
            context.create_primary(hierarchy, template()?, None, None, None, None)
        });
        let key = made.map_err(|error| match kind(&error) {
            Some(Tss2ResponseCodeKind::BadAuth | Tss2ResponseCodeKind::AuthFail) => TpmFault::Owned,
            _ => error.into(),
        })?;
        let name = self.context.tr_get_name(key.key_handle.into())?;
        Ok((key.key_handle, name.value().to_vec()))
    }

    /// Begins a session that encrypts, with a salt for the key.
    fn session(&mut self, key: KeyHandle) -> Result<AuthSession, TpmFault> {
        self.begin(key, SessionType::Hmac)
    }

    /// Begins a session of the policy that the PCRs are what they are now, and returns the policy too.
    fn policy(
        &mut self,
        key: KeyHandle,
        kind: SessionType,
        pcrs: Pcrs,
    ) -> Result<(AuthSession, Digest), TpmFault> {
        let session = self.begin(key, kind)?;
        let of_policy = PolicySession::try_from(session)?;
        self.context.policy_pcr(of_policy, Digest::default(), selection(pcrs)?)?;
        let policy = self.context.policy_get_digest(of_policy)?;
        Ok((session, policy))
    }

    fn begin(&mut self, key: KeyHandle, kind: SessionType) -> Result<AuthSession, TpmFault> {
        let cipher = SymmetricDefinition::AES_128_CFB;
        let session =
            self.context.start_auth_session(Some(key), None, None, kind, cipher, HashingAlgorithm::Sha256)?;
        let session = session.ok_or(TpmFault::Failed("it gave no session".into()))?;
        if kind != SessionType::Trial {
            let (attributes, mask) = SessionAttributesBuilder::new()
                .with_continue_session(true)
                .with_decrypt(true)
                .with_encrypt(true)
                .build();
            self.context.tr_sess_set_attributes(session, attributes, mask)?;
        }
        Ok(session)
    }
}

/// Refuses a device that can't be opened, of which the library says less than the system does, and a file that is no device: the library would write its commands into it.
fn check_device(path: &Path) -> Result<(), TpmFault> {
    let fault = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => TpmFault::Missing,
        io::ErrorKind::PermissionDenied => TpmFault::Denied,
        _ => TpmFault::Silent(error.to_string()),
    };
    let found = path.metadata().map_err(fault)?;
    if !found.file_type().is_char_device() {
        return Err(TpmFault::Name);
    }
    OpenOptions::new().read(true).write(true).open(path).map(drop).map_err(fault)
}

/// Returns the template of the primary keys: a key of P-256 that encrypts what is below it with AES-128-CFB, bound to its TPM.
fn template() -> Result<Public, TssError> {
    let attributes = ObjectAttributesBuilder::new()
        .with_fixed_tpm(true)
        .with_fixed_parent(true)
        .with_sensitive_data_origin(true)
        .with_user_with_auth(true)
        .with_no_da(true)
        .with_restricted(true)
        .with_decrypt(true)
        .build()?;
    let cipher = SymmetricDefinitionObject::AES_128_CFB;
    PublicBuilder::new()
        .with_public_algorithm(PublicAlgorithm::Ecc)
        .with_name_hashing_algorithm(HashingAlgorithm::Sha256)
        .with_object_attributes(attributes)
        .with_ecc_parameters(
            PublicEccParametersBuilder::new_restricted_decryption_key(cipher, EccCurve::NistP256).build()?,
        )
        .with_ecc_unique_identifier(EccPoint::default())
        .build()
}

/// Returns the public area of a sealed object. With a policy, that alone opens it.
fn sealed(policy: Option<Digest>) -> Result<Public, TssError> {
    let attributes = ObjectAttributesBuilder::new()
        .with_fixed_tpm(true)
        .with_fixed_parent(true)
        .with_no_da(true)
        .with_user_with_auth(policy.is_none())
        .build()?;
    PublicBuilder::new()
        .with_public_algorithm(PublicAlgorithm::KeyedHash)
        .with_name_hashing_algorithm(HashingAlgorithm::Sha256)
        .with_object_attributes(attributes)
        .with_auth_policy(policy.unwrap_or_default())
        .with_keyed_hash_parameters(PublicKeyedHashParameters::new(KeyedHashScheme::Null))
        .with_keyed_hash_unique_identifier(Digest::default())
        .build()
}

fn selection(pcrs: Pcrs) -> Result<PcrSelectionList, TssError> {
    let slots: Result<Vec<PcrSlot>, TssError> = (0..32)
        .map(|register| 1 << register)
        .filter(|bit| pcrs.to_bits() & bit != 0)
        .map(PcrSlot::try_from)
        .collect();
    PcrSelectionListBuilder::new().with_selection(HashingAlgorithm::Sha256, &slots?).build()
}

fn kind(error: &TssError) -> Option<Tss2ResponseCodeKind> {
    match error {
        TssError::Tss2Error(code) => code.kind(),
        TssError::WrapperError(_) => None,
    }
}

impl From<TssError> for TpmFault {
    fn from(error: TssError) -> Self {
        match kind(&error) {
            Some(Tss2ResponseCodeKind::Integrity) => TpmFault::Changed,
            _ => TpmFault::Failed(error.to_string()),
        }
    }
}
