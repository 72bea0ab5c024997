//! RC4 in the unit's form: the 256 bytes of S, then X and Y.
//!
//! Ref. OpenSPARC T2, `n2_sput0.s`: 32 words and 2 bytes. The stream form writes them back, the other does not.

use millstream_engines::InOut;
use millstream_engines::rc4::Rc4;

use super::engine;

/// Applies the keystream from a state on, and returns the state after it.
pub(crate) fn apply(state: &[u8], data: &mut [u8]) -> Vec<u8> {
    let state = state.first_chunk().expect("the state of a key has 258 bytes");
    let mut rc4 = Rc4::import(engine(), state);
    rc4.apply(InOut::in_place(data));
    rc4.export().to_vec()
}
