//! The protection of TLS 1.0 to 1.2 records by CBC suites, in constant time.
//!
//! A record is authenticated, then padded, then encrypted. The receiver knows the padding before
//! anything vouches for it, so no function here takes another time, or reads other memory, for other
//! padding: neither [`remove_padding`], nor the MAC
//! ([`HmacKey::sign_prefix`](crate::hmac::HmacKey::sign_prefix)), nor [`CbcHmac::open`], which uses
//! both.
//!
//! Ref. RFC 2246 §6.2.3.2 (TLS 1.0), RFC 4346 §6.2.3.2 (1.1: the explicit vector), RFC 5246 §6.2.3.2
//! (1.2); RFC 7366 (encrypt-then-MAC); AlFardan and Paterson, "Lucky Thirteen", 2013.

mod arch;
mod cbc_hmac;
mod lanes;
mod ops;
mod padding;
mod seal;

pub use cbc_hmac::{CbcHmac, Opened};
pub use lanes::{CbcHmacJob, CbcHmacLanes};
pub use ops::{HEADER, SealOps};
pub use padding::{Unpadded, pad, padded_len, remove_padding};
pub use seal::SEAL;
