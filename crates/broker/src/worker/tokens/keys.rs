//! Keys of tokens in a worker: their kinds, their attributes, and the algorithms of slots that take them.

use millstream_accelerator::slh_dsa_set;
use millstream_cpu::Features;
use millstream_cwq::{Algorithm, Usages};
use millstream_files::key::{Form, Key, Kind};
use millstream_protocol::{KeyRefusal, MOST_OBJECT_BYTES};
use millstream_store::{Attributes, token, usage};
use zeroize::Zeroizing;

/// The bytes of a key. Zeroised on drop.
pub(super) type Secret = Zeroizing<Vec<u8>>;

/// The bytes that sealing adds to a key.
const SEALING: usize = 37;

/// The most bytes of a secret of any length.
const MOST_SECRET: usize = 1024;

/// The hashes in the names of keys for HMAC with one hash alone.
const HASHES: [(&str, Algorithm); 11] = [
    ("md5", Algorithm::Md5),
    ("sha1", Algorithm::Sha1),
    ("sha224", Algorithm::Sha224),
    ("sha256", Algorithm::Sha256),
    ("sha384", Algorithm::Sha384),
    ("sha512", Algorithm::Sha512),
    ("sha512-256", Algorithm::Sha512_256),
    ("sha3-224", Algorithm::Sha3_224),
    ("sha3-256", Algorithm::Sha3_256),
    ("sha3-384", Algorithm::Sha3_384),
    ("sha3-512", Algorithm::Sha3_512),
];

/// Returns the hash of a kind of keys for HMAC with it alone.
fn only_hash(kind: &str) -> Option<Algorithm> {
    let name = kind.strip_prefix("hmac-")?;
    HASHES.iter().find(|(hash, _)| *hash == name).map(|(_, algorithm)| *algorithm)
}

/// Returns whether a secret key of so many bytes is one of a kind that PKCS #11 has and key files do not; none for all other kinds.
fn is_bare_secret(kind: &str, len: usize) -> Option<bool> {
    match kind {
        "aes-xts" => Some([32, 64].contains(&len)),
        "3des" => Some(len == 24),
        kind if kind == "hkdf" || only_hash(kind).is_some() => Some((1..=MOST_SECRET).contains(&len)),
        _ => None,
    }
}

/// Returns true for what is kept in a token and is no key to be used: certificates, data, and public keys that stand for themselves.
fn is_kept_only(kind: &str) -> bool {
    let of = kind.strip_suffix(" public").and_then(Kind::named);
    matches!(kind, "certificate" | "data") || of.is_some_and(Kind::is_pair)
}

/// Makes a new key and its attributes.
pub(super) fn generate(
    features: Features,
    asked: &Attributes,
    bits: u32,
) -> Result<(Attributes, Secret), KeyRefusal> {
    let made = |kind, bits| {
        Key::generate(features, kind, bits).map_err(|error| match error {
            millstream_files::Error::Key(_) => KeyRefusal::KeyLength,
            _ => KeyRefusal::Exhausted,
        })
    };
    if let Some(fits) = is_bare_secret(&asked.kind, bits as usize / 8) {
        if !fits || !bits.is_multiple_of(8) {
            return Err(KeyRefusal::KeyLength);
        }
        // A key for HMAC is nothing but random bytes, too.
        let key = made(Kind::Hmac, Some(bits as usize))?;
        return bare_secret(asked, key.secret(), true);
    }
    let kind = Kind::named(&asked.kind).ok_or(KeyRefusal::Attributes)?;
    described(features, asked, &made(kind, (bits != 0).then_some(bits as usize))?, true)
}

/// Checks a key that a client brings, and completes its attributes.
pub(super) fn import(
    features: Features,
    asked: &Attributes,
    secret: &[u8],
) -> Result<(Attributes, Secret), KeyRefusal> {
    if is_kept_only(&asked.kind) {
        // Such objects were outside and are no keys, so whoever opens the token may have them.
        let attributes = Attributes {
            usages: 0,
            exportable: true,
            never_outside: false,
            created: token::now(),
            ..asked.clone()
        };
        fit(&attributes, secret)?;
        return Ok((attributes, Zeroizing::new(secret.to_vec())));
    }
    match is_bare_secret(&asked.kind, secret.len()) {
        Some(true) => return bare_secret(asked, secret, false),
        Some(false) => return Err(KeyRefusal::KeyLength),
        None => {}
    }
    let kind = Kind::named(&asked.kind).ok_or(KeyRefusal::Attributes)?;
    let key = Key::new(features, kind, secret).map_err(|_| KeyRefusal::KeyLength)?;
    described(features, asked, &key, false)
}

/// Returns the usages that are asked for; all where none is said.
fn usages(asked: &Attributes) -> Result<u32, KeyRefusal> {
    let all = usage::of_kind(&asked.kind);
    let usages = if asked.usages == 0 { all } else { asked.usages };
    if usages & !all != 0 { Err(KeyRefusal::TokenUsage) } else { Ok(usages) }
}

/// Returns a secret key of a kind that key files do not have, and its attributes.
fn bare_secret(
    asked: &Attributes,
    secret: &[u8],
    never_outside: bool,
) -> Result<(Attributes, Secret), KeyRefusal> {
    let attributes = Attributes {
        bits: secret.len() as u32 * 8,
        usages: usages(asked)?,
        never_outside,
        created: token::now(),
        public_key: Vec::new(),
        ..asked.clone()
    };
    fit(&attributes, secret)?;
    Ok((attributes, Zeroizing::new(secret.to_vec())))
}

/// Returns the attributes of a key: the client's own where it has a say, and what follows from the key.
fn described(
    features: Features,
    asked: &Attributes,
    key: &Key,
    never_outside: bool,
) -> Result<(Attributes, Secret), KeyRefusal> {
    let no = |_| KeyRefusal::KeyLength;
    let usages = usages(asked)?;
    let public_key = match key.kind().is_pair() {
        true => key.public(features).and_then(|public| public.write(Form::Der)).map_err(no)?,
        false => Vec::new(),
    };
    let attributes = Attributes {
        kind: key.kind().name().to_owned(),
        bits: key.bits(features).map_err(no)? as u32,
        usages,
        never_outside,
        created: token::now(),
        public_key,
        ..asked.clone()
    };
    fit(&attributes, key.secret())?;
    Ok((attributes, Zeroizing::new(key.secret().to_vec())))
}

/// Returns the attributes of a key that has some and is to have others. What follows from the key stays; usages become fewer only, and
/// no key becomes exportable.
pub(super) fn altered(is: &Attributes, asked: &Attributes) -> Result<Attributes, KeyRefusal> {
    let named = Attributes {
        label: asked.label.clone(),
        id: asked.id.clone(),
        others: asked.others.clone(),
        ..is.clone()
    };
    // A worker does nothing with such objects, so they have no usages, whatever a program says that a public key is for.
    if is_kept_only(&is.kind) {
        return Ok(named);
    }
    if asked.usages & !is.usages != 0 {
        return Err(KeyRefusal::TokenUsage);
    }
    if asked.exportable && !is.exportable {
        return Err(KeyRefusal::Attributes);
    }
    Ok(Attributes { usages: asked.usages, exportable: asked.exportable, ..named })
}

/// Refuses what no message carries.
pub(super) fn fit(attributes: &Attributes, secret: &[u8]) -> Result<Vec<u8>, KeyRefusal> {
    let bytes = attributes.encode().map_err(|_| KeyRefusal::Attributes)?;
    if bytes.len() + secret.len() + SEALING > MOST_OBJECT_BYTES {
        return Err(KeyRefusal::TooLong);
    }
    Ok(bytes)
}

/// Returns the usages of a slot, as bits, for a key of a token. `asked` may be fewer than the token allows; 0 stands for all.
pub(super) fn slot_usages(is: &Attributes, algorithm: u8, asked: u8) -> Result<u8, KeyRefusal> {
    let algorithm = Algorithm::from_code(algorithm).ok_or(KeyRefusal::Algorithm)?;
    if !takes(algorithm, &is.kind) {
        return Err(KeyRefusal::TokenKind);
    }
    let pairs = [
        (usage::ENCRYPT, Usages::ENCRYPT),
        (usage::DECRYPT, Usages::DECRYPT),
        (usage::SIGN, Usages::SIGN),
        (usage::VERIFY, Usages::VERIFY),
        (usage::WRAP, Usages::WRAP),
        (usage::DERIVE, Usages::DERIVE),
    ];
    let granted = pairs.into_iter().filter(|(bit, _)| is.usages & bit != 0);
    let granted = granted.fold(0, |all, (_, usage)| all | usage.to_bits());
    let usages = if asked == 0 { granted & Usages::of(algorithm).to_bits() } else { asked };
    if usages == 0 || usages & !granted != 0 { Err(KeyRefusal::TokenUsage) } else { Ok(usages) }
}

/// Returns true when an algorithm takes keys of a kind.
fn takes(algorithm: Algorithm, kind: &str) -> bool {
    use Algorithm::*;
    let kinds = match algorithm {
        AesEcb | AesCbc | AesCtr | AesCfb | AesGcm | AesGcmSiv | AesCmac | AesKw | AesKwp | AesFf1 => "aes",
        Fernet => "fernet",
        ChaCha20Poly1305 => "chacha20-poly1305",
        Md5 | Sha1 | Sha224 | Sha256 | Sha384 | Sha512 | Sha512_256 | Sha3_224 | Sha3_256 | Sha3_384
        | Sha3_512
            if only_hash(kind) == Some(algorithm) =>
        {
            return true;
        }
        Md5 | Sha1 | Sha224 | Sha256 | Sha384 | Sha512 | Sha512_256 | Sha3_224 | Sha3_256 | Sha3_384
        | Sha3_512 => "hmac",
        AesXts => "aes-xts",
        AesSiv => "aes-siv",
        DesEcb | DesCbc => "3des",
        P256 => "p-256",
        P384 => "p-384",
        P521 => "p-521",
        Ed25519 => "ed25519",
        X25519 => "x25519",
        Rsa => "rsa",
        MlKem512 | MlKem768 | MlKem1024 | MlDsa44 | MlDsa65 | MlDsa87 => algorithm.name(),
        _ if slh_dsa_set(algorithm).is_some() => algorithm.name(),
        _ => return false,
    };
    kinds == kind
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_has_what_the_token_allows_and_no_more() {
        let (sign, derive) = (Usages::SIGN.to_bits(), Usages::DERIVE.to_bits());
        let p256 = |usages| Attributes { kind: "p-256".into(), usages, ..Attributes::default() };
        let of = |usages, asked| slot_usages(&p256(usages), Algorithm::P256 as u8, asked);
        assert_eq!(of(usage::SIGN | usage::VERIFY | usage::DERIVE, 0), Ok(sign | derive));
        assert_eq!(of(usage::SIGN | usage::DERIVE, sign), Ok(sign));
        assert_eq!(of(usage::SIGN, 0), Ok(sign));
        assert_eq!(of(usage::SIGN, derive), Err(KeyRefusal::TokenUsage));
        assert_eq!(of(usage::VERIFY, 0), Err(KeyRefusal::TokenUsage), "the algorithm only signs");
        let other = slot_usages(&p256(usage::SIGN), Algorithm::P384 as u8, 0);
        assert_eq!(other, Err(KeyRefusal::TokenKind));
        assert_eq!(slot_usages(&p256(usage::SIGN), 0xfe, 0), Err(KeyRefusal::Algorithm));
    }

    #[test]
    fn every_kind_is_made_and_taken_by_an_algorithm() {
        let features = Features::hardware();
        for kind in Kind::ALL {
            let asked = Attributes { label: "k".into(), kind: kind.name().into(), ..Attributes::default() };
            let bits = if kind == Kind::Rsa { 2048 } else { 0 };
            let (made, secret) = generate(features, &asked, bits).unwrap();
            assert!(made.never_outside && made.usages == usage::of_kind(kind.name()) && made.bits > 0);
            assert_eq!(made.public_key.is_empty(), !kind.is_pair());
            let (brought, again) = import(features, &asked, &secret).unwrap();
            assert_eq!((&brought.public_key, &again), (&made.public_key, &secret));
            assert!(!brought.never_outside);
            let algorithm = (1..=u8::MAX).find(|code| slot_usages(&made, *code, 0).is_ok());
            assert!(algorithm.is_some(), "{kind}");
        }
        let odd = Attributes { kind: "dsa".into(), ..Attributes::default() };
        assert_eq!(generate(features, &odd, 0).unwrap_err(), KeyRefusal::Attributes);
        let wide = Attributes { kind: "aes".into(), usages: usage::DERIVE, ..Attributes::default() };
        assert_eq!(generate(features, &wide, 0).unwrap_err(), KeyRefusal::TokenUsage);
        let aes = Attributes { kind: "aes".into(), ..Attributes::default() };
        assert_eq!(generate(features, &aes, 100).unwrap_err(), KeyRefusal::KeyLength);
        let long = Attributes { others: [(99, vec![1; MOST_OBJECT_BYTES - 100])].into(), ..aes };
        assert_eq!(generate(features, &long, 0).unwrap_err(), KeyRefusal::TooLong);
    }

    #[test]
    fn objects_of_pkcs11_are_kept_and_keys_of_its_kinds_used() {
        let features = Features::hardware();
        let asked = |kind: &str| Attributes { kind: kind.into(), usages: 0, ..Attributes::default() };
        for kind in ["certificate", "data", "p-256 public", "rsa public"] {
            let (is, kept) = import(features, &asked(kind), b"anything").unwrap();
            assert_eq!((is.usages, is.exportable, &kept[..]), (0, true, &b"anything"[..]));
            assert_eq!(generate(features, &asked(kind), 128).unwrap_err(), KeyRefusal::Attributes);
            assert!((0..=u8::MAX).all(|code| slot_usages(&is, code, 0).is_err()), "{kind} is no key");
        }
        for kind in ["aes public", "public", "dsa public", "hmac-sha7"] {
            assert_eq!(
                import(features, &asked(kind), &[7; 32]).unwrap_err(),
                KeyRefusal::Attributes,
                "{kind}"
            );
        }
        for (kind, bits, algorithm) in [
            ("hmac-sha256", 256, Algorithm::Sha256),
            ("hmac-sha3-512", 160, Algorithm::Sha3_512),
            ("aes-xts", 512, Algorithm::AesXts),
            ("3des", 192, Algorithm::DesCbc),
        ] {
            let (is, key) = generate(features, &asked(kind), bits).unwrap();
            assert_eq!((is.bits, key.len() as u32 * 8, is.never_outside), (bits, bits, true));
            assert!(slot_usages(&is, algorithm as u8, 0).is_ok(), "{kind}");
            assert_eq!(slot_usages(&is, Algorithm::Sha1 as u8, 0), Err(KeyRefusal::TokenKind));
            assert!(!import(features, &asked(kind), &key).unwrap().0.never_outside);
            assert_eq!(generate(features, &asked(kind), 0).unwrap_err(), KeyRefusal::KeyLength);
        }
        assert_eq!(import(features, &asked("3des"), &[7; 16]).unwrap_err(), KeyRefusal::KeyLength);
        assert!(import(features, &asked("hkdf"), &[7; 5]).is_ok());
    }

    #[test]
    fn what_follows_from_a_key_stays() {
        let is = Attributes {
            label: "a".into(),
            kind: "aes".into(),
            bits: 256,
            usages: usage::ENCRYPT | usage::DECRYPT,
            created: 7,
            ..Attributes::default()
        };
        let asked = Attributes { label: "b".into(), usages: usage::DECRYPT, ..Attributes::default() };
        let altered = |asked: &Attributes| super::altered(&is, asked);
        let expected = Attributes { label: "b".into(), usages: usage::DECRYPT, ..is.clone() };
        assert_eq!(altered(&asked), Ok(expected));
        assert_eq!(
            altered(&Attributes { usages: usage::SIGN, ..asked.clone() }),
            Err(KeyRefusal::TokenUsage)
        );
        assert_eq!(altered(&Attributes { exportable: true, ..asked }), Err(KeyRefusal::Attributes));
        // A public key is only kept here, so a program may say of it what it is for.
        let is = Attributes { kind: "rsa public".into(), usages: 0, exportable: true, ..is };
        let asked = Attributes { label: "b".into(), usages: usage::VERIFY, exportable: false, ..is.clone() };
        assert_eq!(super::altered(&is, &asked), Ok(Attributes { label: "b".into(), ..is }));
    }
}
