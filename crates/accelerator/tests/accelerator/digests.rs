//! Signatures of digests within a context, HashML-DSA's and HashSLH-DSA's, with what is refused of them.

use millstream_cwq::{Algorithm, Opcode, Scheme, Status};

use crate::case::Case;

/// The context of all of them.
pub const CONTEXT: &[u8] = b"ctx";

/// A deterministic signature of a digest, which the function of that number has made.
pub fn sign(
    name: String,
    algorithm: Algorithm,
    key: Vec<u8>,
    function: u8,
    digest: Vec<u8>,
    signature: Vec<u8>,
) -> Case {
    let sign = Case {
        algorithm,
        key,
        parameter: Scheme::DETERMINISTIC | u32::from(function) << 8,
        iv: CONTEXT.to_vec(),
        state: signature,
        ..Case::new(name, Opcode::Sign)
    };
    sign.from(digest, vec![])
}

/// What is done around a signature: one of a digest that is too short, its verification, one in another context, and one as if the digest were
/// the message.
pub fn around(sign: &Case, public: &[u8]) -> [Case; 4] {
    let short =
        Case { source: sign.source[1..].to_vec(), status: Status::DataLength, state: vec![], ..sign.clone() };
    let verify = Case {
        key: public.to_vec(),
        aad: sign.state.clone(),
        state: vec![],
        opcode: Opcode::Verify,
        ..sign.clone()
    };
    let elsewhere = Case { iv: vec![], status: Status::Authentication, ..verify.clone() };
    let itself = Case { parameter: 0, ..elsewhere.clone() };
    [short, verify, elsewhere, itself]
}
