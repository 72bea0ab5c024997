//! RC4, a stream cipher of bytes.
//!
//! Legacy: the keystream is biased from the first byte on, and RFC 7465 forbids RC4 in TLS. This cipher is for data
//! that exists already. RC4 takes no vector, so a key must never be used for two messages.
//!
//! RC4 looks tables up at secret indices and has no other practical form, so its time depends on the key and the
//! position through the cache: [`Timing::VariableByNature`]. The state is 256 words, sixteen cache lines.
//!
//! Ref. RFC 6229 (vectors); B. Schneier, "Applied Cryptography", §17.1.

mod portable;

use millstream_cpu::{FeatureSet, Features};

use crate::kernel::{AlgorithmInfo, Bound, Kernel, Row, Standing, Table, Timing};
use crate::{Error, InOut};
use portable::State;

/// A kernel's functions.
#[derive(Debug)]
pub struct Ops {
    apply: fn(&mut State, InOut<'_>),
}

static ROWS: &[Row<Ops>] = &[Row {
    kernel: Kernel {
        name: "portable",
        requires: FeatureSet::EMPTY,
        timing: Timing::VariableByNature,
        note: "each exchange overlaps the next index",
    },
    ops: Ops { apply: portable::apply },
}];

/// RC4.
pub static RC4: Table<Ops> = Table::new(
    AlgorithmInfo {
        name: "rc4",
        standing: Standing::Legacy,
        standard: "RFC 6229",
        key_bits: &[40, 56, 64, 80, 128, 192, 256],
    },
    ROWS,
    known_answer,
);

/// The keystream of one key, which encrypts and decrypts one message in pieces of any length.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::rc4::Rc4;
///
/// let mut data = *b"Plaintext";
/// Rc4::new(Features::hardware(), b"Key")?.apply(data.as_mut_slice().into());
/// assert_eq!(data, [0xbb, 0xf3, 0x16, 0xe8, 0xd9, 0x40, 0xaf, 0x0a, 0xd3]);
/// # Ok::<(), millstream_engines::Error>(())
/// ```
#[derive(Clone)]
pub struct Rc4 {
    kernel: Bound<Ops>,
    state: State,
}

impl Rc4 {
    /// Schedules the key for the best kernel that `features` allow.
    ///
    /// # Errors
    /// [`Error::KeyLength`] unless the key has 1 to 256 bytes.
    pub fn new(features: Features, key: &[u8]) -> Result<Self, Error> {
        Self::with_kernel(RC4.best(features), key)
    }

    /// The same for a kernel of choice.
    ///
    /// # Errors
    /// As for [`Rc4::new`].
    pub fn with_kernel(kernel: Bound<Ops>, key: &[u8]) -> Result<Self, Error> {
        if !(1..=256).contains(&key.len()) {
            return Err(Error::KeyLength { algorithm: "rc4", given: key.len(), takes: "1 to 256 bytes" });
        }
        Ok(Rc4 { kernel, state: State::new(key) })
    }

    /// Goes on from a state that [`Rc4::export`] gave: the 256 bytes of S, then the two indices. Any bytes are
    /// accepted, but bytes that are no permutation give a worthless keystream.
    pub fn import(features: Features, state: &[u8; 258]) -> Self {
        Rc4 { kernel: RC4.best(features), state: State::import(state) }
    }

    /// Returns the state after the data so far. The state is as secret as the key.
    pub fn export(&self) -> [u8; 258] {
        self.state.export()
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Adds the next bytes of the keystream to the data.
    pub fn apply(&mut self, data: InOut<'_>) {
        (self.kernel.ops().apply)(&mut self.state, data);
    }
}

/// RFC 6229 §2, 128-bit key 0102..10, offsets 0 and 240.
fn known_answer(kernel: Bound<Ops>) -> bool {
    let key: [u8; 16] = std::array::from_fn(|i| i as u8 + 1);
    Rc4::with_kernel(kernel, &key).is_ok_and(|mut rc4| {
        let mut stream = [0; 256];
        rc4.apply(stream.as_mut_slice().into());
        stream[..8] == 0x9ac7_cc9a_609d_1ef7_u64.to_be_bytes()
            && stream[240..248] == 0x0659_02e4_b620_f6cc_u64.to_be_bytes()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goes_on_from_a_state() {
        let mut whole = Rc4::new(Features::hardware(), b"Key").expect("three bytes");
        let mut part = whole.clone();
        let (mut all, mut first, mut second) = ([0; 100], [0; 37], [0; 63]);
        whole.apply(all.as_mut_slice().into());
        part.apply(first.as_mut_slice().into());
        Rc4::import(Features::hardware(), &part.export()).apply(second.as_mut_slice().into());
        assert_eq!((&all[..37], &all[37..]), (&first[..], &second[..]));
    }
}
