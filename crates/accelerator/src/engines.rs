//! The modules of all engines that rows name, whichever crate they are from.

#[cfg(not(feature = "ff1"))]
pub(crate) use crate::without_ff1 as ff1;
#[cfg(feature = "ff1")]
pub(crate) use millstream_engines::ff1;
pub(crate) use millstream_engines::{
    aes, camellia, chacha20poly1305, des, fernet, gcm, gcm_siv, hmac, kasumi, keywrap, rc4, siv, sm4, xaes,
};
pub(crate) use millstream_publickey::{ecdsa, ed25519, mldsa, mlkem, rsa, slhdsa, x25519};
