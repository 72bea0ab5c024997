//! The secrets of TLS 1.2: master secrets, a connection's keys, exported keys, and the MAC of a `Finished` message.
//!
//! Ref. RFC 5246 §5, §6.3, §8.1; RFC 7627; RFC 5705; PKCS #11 v3.2 §6, "TLS 1.2 mechanisms".

use cryptoki_sys::*;
use millstream::Features;
use millstream::hmac::HmacKey;
use zeroize::{Zeroize, Zeroizing};

use crate::abi::Mechanism;
use crate::mechanism::Way;
use crate::mechanism::tls::{Kdf, Keys, MASTER, Master};
use crate::object::attributes::Attributes;
use crate::object::make::{self, Origin};
use crate::object::{Draft, Secret};
use crate::refusal::{Outcome, Refusal, demand, refuse};

/// Fills `out` with the pseudorandom function of a secret, which is the key of `secret` (RFC 5246 §5).
pub fn prf(secret: &HmacKey, label: &[u8], seed: &[u8], out: &mut [u8]) {
    let mac = |parts: &[&[u8]]| {
        let mut mac = secret.start();
        parts.iter().for_each(|part| mac.update(part));
        Zeroizing::new(mac.finish().to_vec())
    };
    let mut chain = mac(&[label, seed]);
    let size = chain.len();
    for chunk in out.chunks_mut(size) {
        chunk.copy_from_slice(&mac(&[&chain, label, seed])[..chunk.len()]);
        chain = mac(&[&chain]);
    }
}

/// Returns the bytes of a premaster secret for RSA: the version that the parameter says, and random ones.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID`, `CKR_RANDOM_NO_RNG`.
pub fn premaster(mechanism: &Mechanism<'_>) -> Outcome<Secret> {
    let [major, minor] = *mechanism.parameter else { return refuse(CKR_MECHANISM_PARAM_INVALID) };
    let mut value = Zeroizing::new(vec![0; MASTER]);
    millstream::random(&mut value)?;
    value[..2].copy_from_slice(&[major, minor]);
    Ok(value)
}

/// Returns a master secret, or what the general derivation gives: `said` bytes.
///
/// # Errors
/// Those of the parameters; `CKR_KEY_SIZE_RANGE`; `CKR_TEMPLATE_INCONSISTENT` for another length.
pub fn derive(
    features: Features,
    way: Way,
    mechanism: &Mechanism<'_>,
    secret: &[u8],
    said: Option<usize>,
) -> Outcome<Secret> {
    let (master, of_rsa) = match way {
        Way::TlsMaster { extended: true, of_rsa } => (Master::extended(mechanism, of_rsa)?, of_rsa),
        Way::TlsMaster { extended: false, of_rsa } => (Master::plain(mechanism, of_rsa)?, of_rsa),
        Way::TlsKdf => {
            let wanted = Kdf::read(mechanism)?;
            let mut value = Zeroizing::new(vec![0; said.ok_or(Refusal(CKR_TEMPLATE_INCOMPLETE))?]);
            prf(&HmacKey::new(features, wanted.hash, secret), &wanted.label, &wanted.seed, &mut value);
            return Ok(value);
        }
        _ => return refuse(CKR_MECHANISM_INVALID),
    };
    demand(!of_rsa || secret.len() == MASTER, CKR_KEY_SIZE_RANGE)?;
    demand(said.is_none_or(|said| said == MASTER), CKR_TEMPLATE_INCONSISTENT)?;
    let mut value = Zeroizing::new(vec![0; MASTER]);
    prf(&HmacKey::new(features, master.hash, secret), master.label, &master.seed, &mut value);
    master.give_version(secret)?;
    Ok(value)
}

/// The keys of a connection, before they are objects: the client's before the server's.
pub struct Connection {
    wanted: Keys,
    /// The keys of the MACs; none for an AEAD.
    pub macs: Option<[Draft; 2]>,
    /// The keys of the ciphers; none without encryption.
    pub keys: Option<[Draft; 2]>,
    vectors: Zeroizing<Vec<u8>>,
}

impl Connection {
    /// Derives the keys of a connection from its master secret.
    ///
    /// # Errors
    /// Those of the parameters and of templates; `CKR_KEY_SIZE_RANGE`.
    pub fn derive(
        features: Features,
        mechanism: &Mechanism<'_>,
        with_vectors: bool,
        (base, secret): (&Attributes, &[u8]),
        template: &[(CK_ATTRIBUTE_TYPE, &[u8])],
    ) -> Outcome<Self> {
        demand(secret.len() == MASTER, CKR_KEY_SIZE_RANGE)?;
        let wanted = Keys::read(mechanism, with_vectors)?;
        let given = Attributes::from_template(template)?;
        demand(given.get(CKA_VALUE).is_none(), CKR_TEMPLATE_INCONSISTENT)?;
        let mut block = Zeroizing::new(vec![0; 2 * (wanted.mac + wanted.key + wanted.vector)]);
        prf(&HmacKey::new(features, wanted.hash, secret), b"key expansion", &wanted.seed, &mut block);
        let (macs, rest) = block.split_at(2 * wanted.mac);
        let (keys, vectors) = rest.split_at(2 * wanted.key);
        let origin = Origin { made_by: Some(mechanism.kind), from: Some(base) };
        let both = |bytes: &[u8], is: &Attributes| -> Outcome<Option<[Draft; 2]>> {
            if bytes.is_empty() {
                return Ok(None);
            }
            let one =
                |half: &[u8]| make::secret_key(features, is.clone(), Zeroizing::new(half.to_vec()), origin);
            let (client, server) = bytes.split_at(bytes.len() / 2);
            Ok(Some([one(client)?, one(server)?]))
        };
        let inherits = inheriting(given, base)?;
        let made = (both(macs, &of_mac(&inherits))?, both(keys, &of_cipher(&inherits))?);
        Ok(Connection { wanted, macs: made.0, keys: made.1, vectors: Zeroizing::new(vectors.to_vec()) })
    }

    /// Gives the program the handles of the keys, and the initialisation vectors.
    ///
    /// # Errors
    /// None for parameters that were read.
    pub fn give(mut self, macs: [CK_OBJECT_HANDLE; 2], keys: [CK_OBJECT_HANDLE; 2]) -> Outcome {
        let (client, server) = self.vectors.split_at(self.wanted.vector);
        let given = self.wanted.give(macs, keys, [client, server]);
        self.vectors.zeroize();
        given
    }
}

/// Adds the attributes that a connection's keys take over from its master secret. A template may only be stricter.
fn inheriting(mut given: Attributes, base: &Attributes) -> Outcome<Attributes> {
    for (kind, strict) in [(CKA_SENSITIVE, true), (CKA_EXTRACTABLE, false)] {
        let of_base = base.is(kind);
        let said = given.flag(kind)?.unwrap_or(of_base);
        demand(said == of_base || said == strict, CKR_TEMPLATE_INCONSISTENT)?;
        given.set_flag(kind, said);
    }
    Ok(given)
}

fn of_mac(given: &Attributes) -> Attributes {
    let mut is = given.clone();
    for kind in [CKA_VALUE_LEN, CKA_ENCRYPT, CKA_DECRYPT, CKA_WRAP, CKA_UNWRAP] {
        is.take(kind);
    }
    is.set_number(CKA_KEY_TYPE, CKK_GENERIC_SECRET);
    [CKA_SIGN, CKA_VERIFY, CKA_DERIVE].into_iter().for_each(|kind| is.set_flag(kind, true));
    is
}

fn of_cipher(given: &Attributes) -> Attributes {
    let mut is = given.clone();
    is.set_default(CKA_KEY_TYPE, &CKK_GENERIC_SECRET.to_ne_bytes());
    [CKA_ENCRYPT, CKA_DECRYPT, CKA_DERIVE].into_iter().for_each(|kind| is.set_flag(kind, true));
    is
}

#[cfg(test)]
mod tests {
    use millstream::hash::Hash;

    use super::*;

    #[test]
    fn the_function_gives_the_known_answers() {
        // Published beside the drafts of TLS 1.2, for the hash of most suites.
        let hex = |text: &str| -> Vec<u8> {
            let pairs = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
            pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
        };
        let key = HmacKey::new(
            millstream::features().unwrap(),
            Hash::Sha256,
            &hex("9bbe436ba940f017b17652849a71db35"),
        );
        let mut out = [0; 100];
        prf(&key, b"test label", &hex("a0ba9f936cda311827a6f796ffd5198c"), &mut out);
        let expected = "e3f229ba727be17b8d122620557cd453c2aab21d07c3d495329b52d4e61edb5a6b301791e90d35c9c9a46b4e14baf9af0fa0\
                        22f7077def17abfd3797c0564bab4fbc91666e9def9b97fce34f796789baa48082d122ee42c5a72e5a5110fff70187347b66";
        assert_eq!(out.to_vec(), hex(expected));
    }
}
