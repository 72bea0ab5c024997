//! JSON Web Keys.
//!
//! Ref. RFC 7517 §4, RFC 7518 §6 (EC, RSA and oct), RFC 8037 §2 (OKP).

use base64ct::{Base64UrlUnpadded, Encoding};
use der::asn1::UintRef;
use der::{Decode, Encode};
use millstream_cpu::Features;
use millstream_publickey::rsa::Components;
use pkcs1::{RsaPrivateKeyRef, RsaPublicKeyRef};
use zeroize::Zeroizing;

use super::{Found, Key, Kind, PublicKey, Secret, bad, post_quantum, publickey_error};
use crate::error::Error;
use crate::json::{self, Members};

/// The members of a key of RSA, in the order of PKCS#1.
const RSA_MEMBERS: [&str; 8] = ["n", "e", "d", "p", "q", "dp", "dq", "qi"];

/// The names of curves.
const CURVES: [(Kind, &str); 5] = [
    (Kind::P256, "P-256"),
    (Kind::P384, "P-384"),
    (Kind::P521, "P-521"),
    (Kind::Ed25519, "Ed25519"),
    (Kind::X25519, "X25519"),
];

/// Reads a key. A symmetric one is of AES where its length or `alg` does not say otherwise.
pub(super) fn read(features: Features, text: &[u8]) -> Result<Found, Error> {
    let jwk: Members<'_> =
        serde_json::from_slice(text).map_err(|error| bad(format!("no JSON Web Key: {error}")))?;
    let jwk = &jwk;
    match json::text(jwk, "kty").as_deref() {
        Some("oct") => {
            let secret = member(jwk, "k")?;
            let is_hmac = json::text(jwk, "alg").is_some_and(|alg| alg.starts_with("HS"));
            let kind = if is_hmac || ![16, 24, 32].contains(&secret.len()) { Kind::Hmac } else { Kind::Aes };
            Key::new(features, kind, &secret).map(Found::Key)
        }
        Some("EC" | "OKP") => read_curve(features, jwk),
        Some("RSA") => read_rsa(features, jwk),
        _ => Err(bad(
            "JSON that is neither a JSON Web Key of the kinds oct, EC, OKP or RSA nor a keyset of Tink",
        )),
    }
}

fn read_curve(features: Features, jwk: &Members<'_>) -> Result<Found, Error> {
    let name = json::text(jwk, "crv").unwrap_or_else(|| "none".into());
    let known = CURVES.iter().find(|(_, known)| *known == name);
    let (kind, _) =
        known.ok_or_else(|| bad(format!("a JSON Web Key of the curve {name}, which is not known here")))?;
    let point = match kind.curve() {
        Some(_) => [&[4][..], &member(jwk, "x")?, &member(jwk, "y")?].concat(),
        None => member(jwk, "x")?.to_vec(),
    };
    let public = PublicKey::new(features, *kind, &point)?;
    if !jwk.contains_key("d") {
        return Ok(Found::Public(public));
    }
    let key = Key::new(features, *kind, &member(jwk, "d")?)?;
    if key.public(features)? != public {
        return Err(bad("the public key in it belongs to another private key"));
    }
    Ok(Found::Key(key))
}

fn read_rsa(features: Features, jwk: &Members<'_>) -> Result<Found, Error> {
    let is_private = jwk.contains_key("d");
    let count = if is_private { 8 } else { 2 };
    let members: Vec<Secret> =
        RSA_MEMBERS[..count].iter().map(|name| member(jwk, name)).collect::<Result<_, _>>()?;
    let room = members.iter().map(|member| member.len() + 8).sum::<usize>() + 8;
    let mut der = Zeroizing::new(vec![0; room]);
    if let Some(numbers) = members.as_array::<8>() {
        let len = Components::in_order(numbers).to_pkcs1(&mut der).map_err(publickey_error)?;
        return Key::new(features, Kind::Rsa, &der[..len]).map(Found::Key);
    }
    let number = |i: usize| UintRef::new(&members[i]).map_err(|_| bad("a number of RSA that is none"));
    let key = RsaPublicKeyRef { modulus: number(0)?, public_exponent: number(1)? };
    let der = key.encode_to_slice(&mut der);
    let der = der.map_err(|error| bad(format!("a key of RSA that can't be written: {error}")))?;
    PublicKey::new(features, Kind::Rsa, der).map(Found::Public)
}

fn member(jwk: &Members<'_>, name: &str) -> Result<Secret, Error> {
    let value = jwk.get(name).ok_or_else(|| bad(format!("a JSON Web Key without {name}")))?;
    json::decoded::<Base64UrlUnpadded>(value)
        .ok_or_else(|| bad(format!("a JSON Web Key whose {name} is not base64url")))
}

/// Writes a secret or private key.
pub(super) fn write(features: Features, key: &Key) -> Result<Secret, Error> {
    let mut text = Text::new();
    match key.kind {
        Kind::Aes | Kind::AesSiv | Kind::Fernet | Kind::Hmac | Kind::ChaCha20Poly1305 => {
            text.plain("kty", "oct");
            text.bytes("k", &key.secret);
        }
        Kind::Rsa => {
            let parsed = RsaPrivateKeyRef::from_der(&key.secret).map_err(|_| bad("no key of RSA"))?;
            let numbers = [
                parsed.modulus,
                parsed.public_exponent,
                parsed.private_exponent,
                parsed.prime1,
                parsed.prime2,
                parsed.exponent1,
                parsed.exponent2,
                parsed.coefficient,
            ];
            text.plain("kty", "RSA");
            for (name, number) in RSA_MEMBERS.iter().zip(numbers) {
                text.bytes(name, number.as_bytes());
            }
        }
        Kind::P256 | Kind::P384 | Kind::P521 | Kind::Ed25519 | Kind::X25519 => {
            text.curve(&key.public(features)?);
            text.bytes("d", &key.secret);
        }
        kind @ (Kind::MlKem512
        | Kind::MlKem768
        | Kind::MlKem1024
        | Kind::MlDsa44
        | Kind::MlDsa65
        | Kind::MlDsa87
        | Kind::SlhDsa(_)) => return Err(no_form(kind)),
    }
    Ok(text.finish())
}

/// Writes a public key.
pub(super) fn write_public(key: &PublicKey) -> Result<Vec<u8>, Error> {
    if post_quantum::set_of(key.kind).is_some() {
        return Err(no_form(key.kind));
    }
    let mut text = Text::new();
    if key.kind == Kind::Rsa {
        let parsed = RsaPublicKeyRef::from_der(&key.bytes).map_err(|_| bad("no public key of RSA"))?;
        text.plain("kty", "RSA");
        text.bytes("n", parsed.modulus.as_bytes());
        text.bytes("e", parsed.public_exponent.as_bytes());
    } else {
        text.curve(key);
    }
    Ok(text.finish().to_vec())
}

/// Returns the refusal of a kind that JSON Web Keys do not have.
fn no_form(kind: Kind) -> Error {
    bad(format!("JSON Web Keys of {kind} are not known here; write PEM or raw"))
}

/// An object that is written. The room is there at once, so no copy stays behind.
struct Text(Secret);

impl Text {
    fn new() -> Self {
        let mut text = Zeroizing::new(Vec::with_capacity(8 << 10));
        text.push(b'{');
        Text(text)
    }

    fn plain(&mut self, name: &str, value: &str) {
        let comma = if self.0.len() > 1 { "," } else { "" };
        self.0.extend_from_slice(format!("{comma}\"{name}\":\"").as_bytes());
        self.0.extend_from_slice(value.as_bytes());
        self.0.push(b'"');
    }

    fn bytes(&mut self, name: &str, bytes: &[u8]) {
        let mut digits = Zeroizing::new(vec![0; bytes.len().div_ceil(3) * 4]);
        let text = Base64UrlUnpadded::encode(bytes, &mut digits).expect("four digits for three bytes");
        self.plain(name, text);
    }

    /// Writes the curve and the coordinates.
    fn curve(&mut self, key: &PublicKey) {
        let name = CURVES.iter().find(|(kind, _)| *kind == key.kind).map_or("", |(_, name)| name);
        self.plain("kty", if key.kind.curve().is_some() { "EC" } else { "OKP" });
        self.plain("crv", name);
        match key.kind.curve() {
            Some(curve) => {
                let (x, y) = key.bytes[1..].split_at(curve.bytes());
                self.bytes("x", x);
                self.bytes("y", y);
            }
            None => self.bytes("x", &key.bytes),
        }
    }

    fn finish(mut self) -> Secret {
        self.0.extend_from_slice(b"}\n");
        self.0
    }
}
