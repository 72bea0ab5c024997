//! The modules of all engines that rows name, whichever crate they are from.

pub(crate) use millstream_engines::{aes, camellia, chacha20poly1305, des, gcm, hmac, kasumi, rc4, sm4};
pub(crate) use millstream_publickey::{ecdsa, ed25519, mldsa, mlkem, rsa, x25519};
