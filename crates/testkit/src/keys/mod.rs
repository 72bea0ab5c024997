//! Private keys for tests, which protect nothing.

/// A key of RSA with a modulus of 1024 bits: the DER of an `RSAPrivateKey` (RFC 8017 appendix A.1.2).
pub const RSA_1024: &[u8] = include_bytes!("rsa_1024.der");

/// The same with 2048 bits.
pub const RSA_2048: &[u8] = include_bytes!("rsa_2048.der");
