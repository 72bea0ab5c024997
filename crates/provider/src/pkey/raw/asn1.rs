//! Keys as files and certificates have them: `PrivateKeyInfo` and `SubjectPublicKeyInfo`, in DER.
//!
//! Ref. RFC 5958 §2, RFC 5280 §4.1.2.7; RFC 9881 §4 and §6 (ML-DSA); RFC 9935 §4 and §6 (ML-KEM); RFC 9909 §4 and §6 (SLH-DSA).

use der::asn1::{BitStringRef, ContextSpecific, OctetStringRef};
use der::{
    Decode, DecodeValue, Encode, EncodeValue, Header, Length, Reader, Sequence, SliceReader, Tag, TagMode,
    TagNumber, Writer,
};
use pkcs8::PrivateKeyInfoRef;
use pkcs8::spki::{AlgorithmIdentifierRef, SubjectPublicKeyInfoRef};
use zeroize::Zeroizing;

use super::Encoded;
use super::key::{Given, Key};
use crate::error::{Reason, Result};

/// The room that an encoding needs beside the bytes in it.
const FRAME: usize = 64;

/// The tag of a seed that stands alone.
const SEED: TagNumber = TagNumber(0);

/// The forms of a private key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The seed, and the expanded key.
    Both,
    Seed,
    Expanded,
}

impl Form {
    /// Chooses a form for a key: the first in a list that the key has. The list is in OpenSSL's words; without one a key is written as
    /// OpenSSL does, with its seed where there is one.
    pub fn choose(list: Option<&str>, has_seed: bool) -> Result<Self> {
        let Some(list) = list else { return Ok(if has_seed { Form::Both } else { Form::Expanded }) };
        let named = |word: &str| {
            let known = [("seed-priv", Form::Both), ("seed-only", Form::Seed), ("priv-only", Form::Expanded)];
            known.into_iter().find(|(name, _)| word.eq_ignore_ascii_case(name)).map(|(_, form)| form)
        };
        let mut forms = list.split([' ', '\t', ',']).filter_map(named);
        forms.find(|form| has_seed || *form == Form::Expanded).ok_or(
            Reason::NOT_SUPPORTED
                .with("the key has none of the configured output formats; add priv-only, or seed-priv"),
        )
    }
}

/// A seed and an expanded key, the third of the choices for a private key.
struct Both<'a> {
    seed: &'a OctetStringRef,
    expanded: &'a OctetStringRef,
}

impl Sequence<'_> for Both<'_> {}

impl<'a> DecodeValue<'a> for Both<'a> {
    type Error = der::Error;

    fn decode_value<R: Reader<'a>>(reader: &mut R, _: Header) -> der::Result<Self> {
        Ok(Both { seed: reader.decode()?, expanded: reader.decode()? })
    }
}

impl EncodeValue for Both<'_> {
    fn value_len(&self) -> der::Result<Length> {
        self.seed.encoded_len()? + self.expanded.encoded_len()?
    }

    fn encode_value(&self, writer: &mut impl Writer) -> der::Result<()> {
        self.seed.encode(writer)?;
        self.expanded.encode(writer)
    }
}

/// Reads the parts of a private key of a type; none where the DER is something else.
pub fn read_private<E: Encoded>(der: &[u8]) -> Result<Option<Given<'_>>> {
    let info = PrivateKeyInfoRef::from_der(der).ok().filter(|info| info.algorithm.oid == E::OID);
    let Some(info) = info else { return Ok(None) };
    if info.algorithm.parameters.is_some() {
        return Err(Reason::UNEXPECTED_KEY_PARAMETERS);
    }
    let private = info.private_key.as_bytes();
    let given = if is_bare::<E>() {
        Given { private: Some(private), ..Given::default() }
    } else {
        read_choice(private).map_err(|_| {
            Reason::BAD_ENCODING.with("the private key is no seed, no expanded key, and not both")
        })?
    };
    let public = info.public_key.map(|key| key.as_bytes().ok_or(SPARE)).transpose()?;
    Ok(Some(Given { public, ..given }))
}

/// Returns true for keys that stand in PKCS#8 as they are, without a choice of forms.
fn is_bare<E: Encoded>() -> bool {
    E::OUTPUT_FORMATS.is_none()
}

const SPARE: Reason = Reason::BAD_ENCODING.with("the public key has bits to spare");

fn read_choice(bytes: &[u8]) -> der::Result<Given<'_>> {
    let mut reader = SliceReader::new(bytes)?;
    let mut given = Given::default();
    match Tag::peek(&reader)? {
        Tag::OctetString => given.private = Some(reader.decode::<&OctetStringRef>()?.as_bytes()),
        Tag::Sequence => {
            let Both { seed, expanded } = Both::decode(&mut reader)?;
            (given.seed, given.private) = (Some(seed.as_bytes()), Some(expanded.as_bytes()));
        }
        tag => {
            let seed = reader.context_specific::<&OctetStringRef>(SEED, TagMode::Implicit)?;
            given.seed = Some(seed.ok_or_else(|| tag.value_error())?.as_bytes());
        }
    }
    reader.finish()?;
    Ok(given)
}

/// Reads a public key of a type; none where the DER is something else.
pub fn read_public<E: Encoded>(der: &[u8]) -> Result<Option<Given<'_>>> {
    let info = SubjectPublicKeyInfoRef::from_der(der).ok().filter(|info| info.algorithm.oid == E::OID);
    let Some(info) = info else { return Ok(None) };
    if info.algorithm.parameters.is_some() {
        return Err(Reason::UNEXPECTED_KEY_PARAMETERS);
    }
    let public = info.subject_public_key.as_bytes().ok_or(SPARE)?;
    Ok(Some(Given { public: Some(public), ..Given::default() }))
}

/// Writes a private key in a form that it has.
pub fn write_private<E: Encoded>(private: &E::Private, form: Form) -> Result<Zeroizing<Vec<u8>>> {
    let expanded = match form {
        Form::Seed => Zeroizing::default(),
        Form::Both | Form::Expanded => E::to_expanded(private)?,
    };
    let seed = || E::seed(private).ok_or(Reason::NOT_A_PRIVATE_KEY);
    let string = |bytes| OctetStringRef::new(bytes).map_err(unwritten);
    let inner = match form {
        Form::Seed => {
            let value = string(seed()?)?;
            let seed = ContextSpecific { tag_number: SEED, tag_mode: TagMode::Implicit, value };
            encoded(&seed, E::SEED)
        }
        Form::Expanded if is_bare::<E>() => Ok(expanded),
        Form::Expanded => encoded(&string(&expanded)?, expanded.len()),
        Form::Both => {
            let both = Both { seed: string(seed()?)?, expanded: string(&expanded)? };
            encoded(&both, E::SEED + expanded.len())
        }
    }?;
    encoded(&PrivateKeyInfoRef::new(algorithm::<E>(), string(&inner)?), inner.len())
}

/// Writes a public key.
pub fn write_public<E: Encoded>(key: &Key<E>) -> Result<Zeroizing<Vec<u8>>> {
    let public = key.public_bytes().ok_or(Reason::NOT_A_PUBLIC_KEY)?;
    let subject_public_key = BitStringRef::from_bytes(public).map_err(unwritten)?;
    encoded(&SubjectPublicKeyInfoRef { algorithm: algorithm::<E>(), subject_public_key }, public.len())
}

fn algorithm<E: Encoded>() -> AlgorithmIdentifierRef<'static> {
    AlgorithmIdentifierRef { oid: E::OID, parameters: None }
}

/// Encodes a value that is little longer than `bytes`. The room is there at once, so no copy stays behind.
fn encoded(value: &impl Encode, bytes: usize) -> Result<Zeroizing<Vec<u8>>> {
    let mut room = Zeroizing::new(vec![0; bytes + FRAME]);
    let len = value.encode_to_slice(&mut room).map_err(unwritten)?.len();
    room.truncate(len);
    Ok(room)
}

fn unwritten(error: der::Error) -> Reason {
    Reason::BAD_ENCODING.because(format!("the key could not be written: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pkey::kem::{MlKem512, MlKem768};

    /// Wraps the choice of a private key.
    fn info(choice: &[u8]) -> Zeroizing<Vec<u8>> {
        let key = OctetStringRef::new(choice).unwrap();
        encoded(&PrivateKeyInfoRef::new(algorithm::<MlKem512>(), key), choice.len()).unwrap()
    }

    fn forms() -> [Zeroizing<Vec<u8>>; 3] {
        let string = |bytes| OctetStringRef::new(bytes).unwrap();
        let seed = ContextSpecific { tag_number: SEED, tag_mode: TagMode::Implicit, value: string(&[7; 5]) };
        let both = Both { seed: string(&[7; 5]), expanded: string(&[9; 9]) };
        [encoded(&seed, 5).unwrap(), encoded(&string(&[9; 9]), 9).unwrap(), encoded(&both, 14).unwrap()]
    }

    #[test]
    fn forms_have_their_parts() {
        let parts = forms().map(|form| {
            let der = info(&form);
            let given = read_private::<MlKem512>(&der).unwrap().unwrap();
            [
                given.seed.map(<[u8]>::to_vec),
                given.private.map(<[u8]>::to_vec),
                given.public.map(<[u8]>::to_vec),
            ]
        });
        let (seed, expanded) = (Some(vec![7; 5]), Some(vec![9; 9]));
        assert_eq!(parts[0], [seed.clone(), None, None]);
        assert_eq!(parts[1], [None, expanded.clone(), None]);
        assert_eq!(parts[2], [seed, expanded, None]);
        assert!(read_private::<MlKem768>(&info(&forms()[0])).unwrap().is_none(), "another type of key");
    }

    /// Whatever is changed or cut off: parts that are within the bytes, an error, or none.
    #[test]
    fn broken_keys_are_keys_or_none() {
        for form in forms() {
            let der = info(&form);
            for at in 0..der.len() {
                assert!(!matches!(read_private::<MlKem512>(&der[..at]), Ok(Some(_))), "{at} bytes");
                for bit in 0..8 {
                    let mut changed = der.clone();
                    changed[at] ^= 1 << bit;
                    let given = read_private::<MlKem512>(&changed).ok().flatten().unwrap_or_default();
                    let parts = [given.seed, given.private, given.public];
                    assert!(parts.into_iter().flatten().all(|part| part.len() < der.len()), "byte {at}");
                    let _ = read_public::<MlKem512>(&changed);
                }
            }
        }
    }

    #[test]
    fn the_first_form_is_chosen_that_the_key_has() {
        for (list, with_seed, without) in [
            (None, Form::Both, Some(Form::Expanded)),
            (Some("seed-only"), Form::Seed, None),
            (Some("seed-only, priv-only"), Form::Seed, Some(Form::Expanded)),
            (Some("SEED-PRIV\tseed-only"), Form::Both, None),
            (Some("bare-seed priv-only"), Form::Expanded, Some(Form::Expanded)),
        ] {
            assert_eq!(Form::choose(list, true), Ok(with_seed), "{list:?}");
            assert_eq!(Form::choose(list, false).ok(), without, "{list:?}");
        }
        assert!(Form::choose(Some("pem"), true).is_err());
    }
}
