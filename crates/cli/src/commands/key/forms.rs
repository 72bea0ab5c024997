//! The kinds of keys and the forms of files, as the options name them.

use millstream::publickey::slhdsa::Set;
use millstream_files::key::{Form as FileForm, Kind as KeyKind};
use millstream_store::usage;

/// A kind of key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Kind {
    /// AES: 128, 192 or 256 bits
    Aes,
    /// AES-SIV, deterministic: 256, 384 or 512 bits
    AesSiv,
    /// Fernet, for tokens: 256 bits
    Fernet,
    /// HMAC: 128 to 8192 bits, in whole bytes
    Hmac,
    /// ChaCha20-Poly1305: 256 bits
    #[value(name = "chacha20-poly1305", alias = "chacha20")]
    ChaCha20Poly1305,
    /// ECDSA and ECDH on P-256
    #[value(name = "p-256", aliases = ["p256", "prime256v1"])]
    P256,
    /// ECDSA and ECDH on P-384
    #[value(name = "p-384", aliases = ["p384", "secp384r1"])]
    P384,
    /// ECDSA and ECDH on P-521
    #[value(name = "p-521", aliases = ["p521", "secp521r1"])]
    P521,
    /// Ed25519
    Ed25519,
    /// X25519
    X25519,
    /// RSA: 2048, 3072 or 4096 bits
    Rsa,
    /// ML-KEM-512
    #[value(name = "ml-kem-512", alias = "mlkem512")]
    MlKem512,
    /// ML-KEM-768
    #[value(name = "ml-kem-768", alias = "mlkem768")]
    MlKem768,
    /// ML-KEM-1024
    #[value(name = "ml-kem-1024", alias = "mlkem1024")]
    MlKem1024,
    /// ML-DSA-44
    #[value(name = "ml-dsa-44", alias = "mldsa44")]
    MlDsa44,
    /// ML-DSA-65
    #[value(name = "ml-dsa-65", alias = "mldsa65")]
    MlDsa65,
    /// ML-DSA-87
    #[value(name = "ml-dsa-87", alias = "mldsa87")]
    MlDsa87,
    /// SLH-DSA-SHA2-128s
    #[value(name = "slh-dsa-sha2-128s")]
    SlhDsaSha2128s,
    /// SLH-DSA-SHA2-128f
    #[value(name = "slh-dsa-sha2-128f")]
    SlhDsaSha2128f,
    /// SLH-DSA-SHA2-192s
    #[value(name = "slh-dsa-sha2-192s")]
    SlhDsaSha2192s,
    /// SLH-DSA-SHA2-192f
    #[value(name = "slh-dsa-sha2-192f")]
    SlhDsaSha2192f,
    /// SLH-DSA-SHA2-256s
    #[value(name = "slh-dsa-sha2-256s")]
    SlhDsaSha2256s,
    /// SLH-DSA-SHA2-256f
    #[value(name = "slh-dsa-sha2-256f")]
    SlhDsaSha2256f,
    /// SLH-DSA-SHAKE-128s
    #[value(name = "slh-dsa-shake-128s")]
    SlhDsaShake128s,
    /// SLH-DSA-SHAKE-128f
    #[value(name = "slh-dsa-shake-128f")]
    SlhDsaShake128f,
    /// SLH-DSA-SHAKE-192s
    #[value(name = "slh-dsa-shake-192s")]
    SlhDsaShake192s,
    /// SLH-DSA-SHAKE-192f
    #[value(name = "slh-dsa-shake-192f")]
    SlhDsaShake192f,
    /// SLH-DSA-SHAKE-256s
    #[value(name = "slh-dsa-shake-256s")]
    SlhDsaShake256s,
    /// SLH-DSA-SHAKE-256f
    #[value(name = "slh-dsa-shake-256f")]
    SlhDsaShake256f,
}

impl From<Kind> for KeyKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Aes => KeyKind::Aes,
            Kind::AesSiv => KeyKind::AesSiv,
            Kind::Fernet => KeyKind::Fernet,
            Kind::Hmac => KeyKind::Hmac,
            Kind::ChaCha20Poly1305 => KeyKind::ChaCha20Poly1305,
            Kind::P256 => KeyKind::P256,
            Kind::P384 => KeyKind::P384,
            Kind::P521 => KeyKind::P521,
            Kind::Ed25519 => KeyKind::Ed25519,
            Kind::X25519 => KeyKind::X25519,
            Kind::Rsa => KeyKind::Rsa,
            Kind::MlKem512 => KeyKind::MlKem512,
            Kind::MlKem768 => KeyKind::MlKem768,
            Kind::MlKem1024 => KeyKind::MlKem1024,
            Kind::MlDsa44 => KeyKind::MlDsa44,
            Kind::MlDsa65 => KeyKind::MlDsa65,
            Kind::MlDsa87 => KeyKind::MlDsa87,
            Kind::SlhDsaSha2128s => KeyKind::SlhDsa(Set::Sha2_128s),
            Kind::SlhDsaSha2128f => KeyKind::SlhDsa(Set::Sha2_128f),
            Kind::SlhDsaSha2192s => KeyKind::SlhDsa(Set::Sha2_192s),
            Kind::SlhDsaSha2192f => KeyKind::SlhDsa(Set::Sha2_192f),
            Kind::SlhDsaSha2256s => KeyKind::SlhDsa(Set::Sha2_256s),
            Kind::SlhDsaSha2256f => KeyKind::SlhDsa(Set::Sha2_256f),
            Kind::SlhDsaShake128s => KeyKind::SlhDsa(Set::Shake128s),
            Kind::SlhDsaShake128f => KeyKind::SlhDsa(Set::Shake128f),
            Kind::SlhDsaShake192s => KeyKind::SlhDsa(Set::Shake192s),
            Kind::SlhDsaShake192f => KeyKind::SlhDsa(Set::Shake192f),
            Kind::SlhDsaShake256s => KeyKind::SlhDsa(Set::Shake256s),
            Kind::SlhDsaShake256f => KeyKind::SlhDsa(Set::Shake256f),
        }
    }
}

/// The form of a key in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Form {
    /// PKCS#8 or SubjectPublicKeyInfo in PEM
    Pem,
    /// The same in DER
    Der,
    /// SEC 1 or PKCS#1 in PEM, as older programs have it
    Traditional,
    /// A JSON Web Key
    Jwk,
    /// A cleartext keyset of Tink in JSON
    Tink,
    /// The bytes of the key alone
    Raw,
}

impl From<Form> for FileForm {
    fn from(form: Form) -> Self {
        match form {
            Form::Pem => FileForm::Pem,
            Form::Der => FileForm::Der,
            Form::Traditional => FileForm::Traditional,
            Form::Jwk => FileForm::Jwk,
            Form::Tink => FileForm::Tink,
            Form::Raw => FileForm::Raw,
        }
    }
}

/// Returns the usual form for a kind: PEM for keys with a public part, and bytes for others.
pub(super) fn usual(kind: KeyKind) -> FileForm {
    if kind.is_pair() { FileForm::Pem } else { FileForm::Raw }
}

/// Returns the names of usages, with commas.
pub(in crate::commands) fn usage_names(usages: u32) -> String {
    let named = usage::NAMES.iter().enumerate().filter(|(bit, _)| usages & 1 << bit != 0);
    named.map(|(_, name)| *name).collect::<Vec<_>>().join(",")
}
