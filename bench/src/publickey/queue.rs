//! Our rows of ML-KEM and ML-DSA through an inline queue: the key is in a slot, and eight requests are in flight.

use millstream::Features;
use millstream::cwq::Algorithm;
use millstream::publickey::{mldsa, mlkem};
use millstream::queue::{Buffer, Config, Done, KeyHandle, Queue, Request};
use millstream::{MlDsaInput, SignatureScheme};

use super::Row;
use super::cases::MESSAGE;
use super::ours::MANY;

/// A queue with a key in a slot, and the buffers of its requests.
struct Slot {
    queue: Queue,
    key: KeyHandle,
    buffers: Vec<(Buffer, Option<Buffer>)>,
}

impl Slot {
    /// Makes buffers with `source` in them, and with room for `room` bytes if there is any result of that length.
    fn new(
        features: Features,
        name: &str,
        private: &[u8],
        source: &[u8],
        room: usize,
    ) -> Result<Self, String> {
        let algorithm = Algorithm::from_name(name).ok_or("a set without an algorithm")?;
        let mut queue = Queue::inline(features, Config::default()).map_err(|error| error.to_string())?;
        let key = queue.import_key(algorithm, private).map_err(|error| error.to_string())?;
        let buffers = (0..MANY).map(|_| {
            let mut buffer = queue.buffer(source.len())?;
            buffer.copy_from_slice(source);
            Ok((buffer, if room > 0 { Some(queue.buffer(room)?) } else { None }))
        });
        let buffers = buffers.collect::<Result<_, millstream::queue::Refusal>>();
        let buffers = buffers.map_err(|refusal| refusal.to_string())?;
        Ok(Slot { queue, key, buffers })
    }

    /// Executes a request for each pair of buffers, and hands each end to `take`.
    fn run(
        &mut self,
        make: impl Fn(KeyHandle, Buffer, Option<Buffer>) -> Request<'static>,
        mut take: impl FnMut(&Done),
    ) {
        for (source, destination) in std::mem::take(&mut self.buffers) {
            self.queue.submit(make(self.key, source, destination)).expect("the queue has room");
        }
        for _ in 0..MANY {
            let done = self.queue.wait().expect("in flight");
            assert_eq!(done.result, Ok(()));
            take(&done);
            let source = done.buffers.source.expect("it comes back");
            self.buffers.push((source, done.buffers.destination));
        }
    }
}

/// Returns the row of decapsulations.
pub fn decapsulate(
    features: Features,
    set: mlkem::Set,
    private: &[u8],
    ciphertext: &[u8],
) -> Result<Row, String> {
    let mut slot = Slot::new(features, set.name(), private, ciphertext, 0)?;
    Ok(Row::new("millstream", "an inline queue", MANY, move |out| {
        slot.run(|key, source, _| Request::decapsulate(key, source), |done| out.extend(done.tag()));
    }))
}

/// Returns the row of signatures.
pub fn sign(features: Features, set: mldsa::Set, private: &[u8]) -> Result<Row, String> {
    let mut slot = Slot::new(features, set.name(), private, MESSAGE, set.signature_len())?;
    let scheme = SignatureScheme::MlDsa { input: MlDsaInput::Message, deterministic: false };
    Ok(Row::new("millstream", "an inline queue", MANY, move |out| {
        let make = |key, source, place: Option<Buffer>| {
            Request::sign_ml_dsa(key, scheme, b"", source, place.expect("it was made"))
        };
        slot.run(make, |done| out.extend(&done.buffers.destination.as_deref().expect("it comes back")[..]));
    }))
}
