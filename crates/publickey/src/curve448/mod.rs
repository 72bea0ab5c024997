//! The field, the scalars and the group of curve448 and edwards448, on which X448 and Ed448 stand.
//!
//! Nothing here decides a branch or an address by a value, except for what has `_vartime` in its name.
//!
//! Ref. RFC 7748 §4.2; RFC 8032 §5.2.

pub(crate) mod edwards;
pub(crate) mod field;
pub(crate) mod scalar;
