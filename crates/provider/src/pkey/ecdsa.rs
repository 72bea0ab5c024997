//! Signatures with ECDSA.
//!
//! OpenSSL's forms with a digest in their names (`ECDSA-SHA256`) are not offered: the default provider has them, and OpenSSL brings keys to
//! it by export and import.
//!
//! Ref. EVP_SIGNATURE-ECDSA(7); FIPS 186-5 §6; RFC 3279 §2.2.3 (the encoding).

use std::ffi::CStr;

use der::asn1::UintRef;
use der::{Encode, Length, Reader, SliceReader, SliceWriter};
use millstream::hash::Hash;
use millstream::publickey::ecdsa::{Curve, MAX_SIGNATURE, Message, PrivateKey};
use millstream::tally::{Place, Row};

use super::System;
use super::ec::{Ec, Engine, curve_there};
use super::held::Isolated;
use super::signature::{Asked, Named, Scheme};
use crate::count::Rows;
use crate::provider::Provider;
use millstream::{Operation, SignatureScheme};

/// ECDSA.
pub struct Ecdsa;

/// The steps of the engine.
pub struct Plan {
    /// The hash that makes nonces.
    hash: Hash,
    deterministic: bool,
    /// The length that a digest must have, if it matters.
    len: Option<usize>,
}

impl Scheme for Ecdsa {
    type Family = Ec;
    const NAMES: &'static CStr = c"ECDSA";
    const NAME: &'static CStr = c"ECDSA";
    const KNOWN: &'static [&'static CStr] =
        &[c"digest", c"properties", c"digest-size", c"nonce-type", c"tls-version"];
    const RECOVERS: bool = false;
    const DEEP: bool = false;
    type Plan = Plan;

    fn has(engine: &Engine, signs: bool) -> bool {
        if signs { engine.private.is_some() } else { engine.public.is_some() }
    }

    fn size(engine: &Engine) -> usize {
        // Two numbers whose first bit may be set, each with a tag and a length; and those of the sequence.
        engine.curve().map_or(0, |curve| {
            let number = curve.bits() / 8 + 1 + 2;
            2 * number + if 2 * number < 128 { 2 } else { 3 }
        })
    }

    fn row(engine: &Engine, provider: Provider) -> Option<Row> {
        let curve = engine.curve()?;
        let kernel = engine.private.as_ref().map(PrivateKey::kernel);
        let kernel = kernel.or_else(|| engine.public.as_ref().map(|key| key.kernel()))?;
        Some(row(provider, Place::InProcess, curve, kernel.name))
    }

    fn isolated_row(isolated: &Isolated, provider: Provider) -> Row {
        row(provider, Place::Isolated, curve_there(isolated), "")
    }

    fn there(_: &Isolated, plan: &Plan, digest: &[u8]) -> Option<SignatureScheme> {
        let Plan { hash, deterministic, len } = *plan;
        len.is_none_or(|len| len == digest.len()).then_some(SignatureScheme::Ecdsa { hash, deterministic })
    }

    fn in_lanes(engine: &Engine, plan: &Plan, digest: &[u8]) -> Option<SignatureScheme> {
        let Plan { hash, deterministic, len } = *plan;
        // The other curves have no lanes.
        let fits =
            engine.private.as_ref()?.curve() == Curve::P256 && len.is_none_or(|len| len == digest.len());
        fits.then_some(SignatureScheme::Ecdsa { hash, deterministic })
    }

    fn operation<'a>(
        engine: &'a Engine,
        scheme: SignatureScheme,
        digest: &'a [u8],
        _: &'a mut [u8],
    ) -> Option<Operation<'a>> {
        let SignatureScheme::Ecdsa { hash, deterministic } = scheme else { return None };
        Some(Operation::sign_ecdsa(engine.private.as_ref()?, hash, deterministic, digest))
    }

    fn encode(signature: &[u8], out: &mut [u8]) -> Option<usize> {
        encode(signature, out)
    }

    fn plan(engine: &Engine, asked: &Asked<'_>) -> Option<Plan> {
        let numbers = asked.others.map(|others| others.numbers([c"digest-size", c"nonce-type"]));
        let [len, nonces] = numbers.unwrap_or_default();
        let deterministic = match nonces {
            None | Some(0) => false,
            Some(1) => true,
            _ => return None,
        };
        let hash = match (asked.digest, engine.curve()?) {
            (Named::Ours(hash), _) => hash,
            // The hash of a deterministic nonce is told by the digest (RFC 6979 §2.4).
            _ if deterministic => return None,
            (_, Curve::P256) => Hash::Sha256,
            (_, Curve::P384) => Hash::Sha384,
            (_, Curve::P521) => Hash::Sha512,
        };
        let len = len.and_then(|len| usize::try_from(len).ok()).filter(|len| *len != 0);
        let len = len.or_else(|| asked.digest.ours().map(Hash::output_len));
        Some(Plan { hash, deterministic, len })
    }

    fn sign(engine: &Engine, plan: &Plan, digest: &[u8], out: &mut [u8]) -> Option<usize> {
        if plan.len.is_some_and(|len| len != digest.len()) {
            return None;
        }
        let key = engine.private.as_ref()?;
        let message = Message::digest(plan.hash, digest);
        let signature = if plan.deterministic {
            key.sign_deterministic(&message)
        } else {
            key.sign(&message, &mut System).ok()?
        };
        encode(&signature, out)
    }

    fn verify(engine: &Engine, plan: &Plan, digest: &[u8], signature: &[u8]) -> bool {
        let Some(key) = engine.public.as_ref().filter(|_| plan.len.is_none_or(|len| len == digest.len()))
        else {
            return false;
        };
        let mut pair = [0; MAX_SIGNATURE];
        let pair = &mut pair[..2 * key.curve().bytes()];
        decode(signature, pair).is_some() && key.verify(&Message::digest(plan.hash, digest), pair).is_ok()
    }
}

fn row(provider: Provider, place: Place, curve: Curve, kernel: &str) -> Row {
    static ROWS: [Rows; 3] = [const { Rows::new() }; 3];
    let name = match curve {
        Curve::P256 => "ecdsa-p256",
        Curve::P384 => "ecdsa-p384",
        Curve::P521 => "ecdsa-p521",
    };
    ROWS[curve as usize].row(provider, place, name, kernel)
}

/// Writes r and s, which are side by side, as a sequence of two numbers; returns its length.
fn encode(pair: &[u8], out: &mut [u8]) -> Option<usize> {
    let (r, s) = pair.split_at(pair.len() / 2);
    let numbers = [UintRef::new(r).ok()?, UintRef::new(s).ok()?];
    let len = numbers.iter().try_fold(Length::ZERO, |len, number| len + number.encoded_len()?).ok()?;
    let mut writer = SliceWriter::new(out);
    der::Header::new(der::Tag::Sequence, len).encode(&mut writer).ok()?;
    numbers.iter().try_for_each(|number| number.encode(&mut writer)).ok()?;
    writer.finish().ok().map(<[u8]>::len)
}

/// Reads the sequence of two numbers; none unless it is encoded in the one way that DER has, with nothing behind it.
fn decode(signature: &[u8], pair: &mut [u8]) -> Option<()> {
    let mut reader = SliceReader::new(signature).ok()?;
    let numbers: [UintRef<'_>; 2] =
        reader.sequence(|inner| Ok::<_, der::Error>([inner.decode()?, inner.decode()?])).ok()?;
    reader.finish().ok()?;
    let (r, s) = pair.split_at_mut(pair.len() / 2);
    for (number, place) in numbers.iter().zip([r, s]) {
        let bytes = number.as_bytes();
        let before = place.len().checked_sub(bytes.len())?;
        place[..before].fill(0);
        place[before..].copy_from_slice(bytes);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_encoded_as_der_and_back() {
        let mut pair = [0; 64];
        (pair[0], pair[31], pair[63]) = (0x80, 1, 5);
        let mut out = [0; 80];
        let len = encode(&pair, &mut out).unwrap();
        assert_eq!((len, &out[..5], &out[len - 3..len]), (40, &[0x30, 38, 2, 33, 0][..], &[2, 1, 5][..]));
        let mut back = [1; 64];
        decode(&out[..len], &mut back).unwrap();
        assert_eq!(back, pair);
    }

    #[test]
    fn whatever_is_not_der_is_refused() {
        let mut pair = [0; 64];
        assert_eq!(decode(&[0x30, 6, 2, 1, 1, 2, 1, 1], &mut pair), Some(()));
        let refused: [&[u8]; 9] = [
            &[],
            &[0x30, 6, 2, 1, 1, 2, 1],
            &[0x30, 6, 2, 1, 1, 2, 1, 1, 0],
            &[0x30, 0x81, 6, 2, 1, 1, 2, 1, 1],
            &[0x30, 7, 2, 2, 0, 1, 2, 1, 1],
            &[0x30, 6, 2, 1, 0x81, 2, 1, 1],
            &[0x30, 9, 2, 1, 1, 2, 1, 1, 2, 1, 1],
            &[0x31, 6, 2, 1, 1, 2, 1, 1],
            &[0x30, 0x80, 2, 1, 1, 2, 1, 1, 0, 0],
        ];
        for signature in refused {
            assert_eq!(decode(signature, &mut pair), None, "{signature:x?}");
        }
        let mut long = vec![0x30, 2 + 33 + 3, 2, 33, 1];
        long.extend([0; 32]);
        long.extend([2, 1, 1]);
        assert_eq!(decode(&long, &mut pair), None);
    }
}
