//! The ssh-agent that signs with keys of a token: what it says on the wire, which keys it has, and whom it serves.
//!
//! Ref. draft-ietf-sshm-ssh-agent (the protocol), RFC 4251 §5 (encodings), RFC 4253 §6.6, RFC 5656 §3, RFC 8332 §3 and RFC 8709 §4, §6
//! (keys and signatures).

pub mod confirm;
pub mod identity;
pub mod protocol;
pub mod serve;
pub mod wire;
