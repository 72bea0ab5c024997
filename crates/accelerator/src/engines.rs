//! The modules of all engines that rows name, whichever crate they are from.

pub(crate) use millstream_engines::{
    aes, camellia, chacha20poly1305, des, gcm, gcm_siv, hmac, kasumi, rc4, siv, sm4, xaes,
};
pub(crate) use millstream_publickey::{ecdsa, ed25519, mldsa, mlkem, rsa, x25519};
