//! Signatures of asynchronous sessions: they wait until somebody asks for one of them, and are made side by side then.
//!
//! One thread with many sessions begins a signature in each, and then collects: whoever collects first computes all that wait, in lanes. Nothing
//! runs between two calls, so no thread of this module is ever in a program. Signatures with keys in the service are put in flight at once, and
//! computed there meanwhile.
//!
//! Ref. PKCS #11 v3.2 §5.22.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cryptoki_sys::*;
use millstream::isolated::BegunSignature;
use millstream::{EngineError, Operation};

use super::prepared::{Prepared, Signer};
use crate::object::engine::Engine;
use crate::refusal::{Outcome, Refusal};

/// The most signatures that wait in a process. The next one computes them.
const MOST_WAITING: usize = 4096;

/// A signature that was begun.
pub struct Pending {
    prepared: Prepared,
    /// The signature that the service computes.
    in_flight: Mutex<Option<BegunSignature>>,
    result: OnceLock<Outcome<Vec<u8>>>,
}

/// The signatures of a process that wait.
#[derive(Default)]
pub struct Gathering {
    waiting: Mutex<Vec<Arc<Pending>>>,
}

impl Gathering {
    fn take(&self) -> Vec<Arc<Pending>> {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Begins a signature.
    pub fn begin(&self, prepared: Prepared) -> Arc<Pending> {
        let in_flight = Mutex::new(in_flight(&prepared));
        let is_remote = matches!(&*prepared.engine, Engine::Remote(_));
        let pending = Arc::new(Pending { prepared, in_flight, result: OnceLock::new() });
        if is_remote {
            return pending;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(Arc::clone(&pending));
        if waiting.len() >= MOST_WAITING {
            let full = std::mem::take(&mut *waiting);
            drop(waiting);
            compute(full);
        }
        pending
    }

    /// Returns a signature; none while another thread computes it.
    pub fn collect(&self, pending: &Pending) -> Option<Outcome<Vec<u8>>> {
        if pending.result.get().is_none() {
            match &*pending.prepared.engine {
                Engine::Remote(_) => pending.end(),
                _ => compute(self.take()),
            }
        }
        pending.result.get().cloned()
    }
}

/// Puts a signature with a key in the service in flight; none where that is not possible now.
fn in_flight(prepared: &Prepared) -> Option<BegunSignature> {
    let Engine::Remote(key) = &*prepared.engine else { return None };
    let (context, input) = prepared.to_send().ok()?;
    key.begin_signature(prepared.scheme()?, context, &input).ok()
}

impl Pending {
    /// Waits for the service. What was not put in flight, or ended with its grant, is asked for anew, and any other reason told.
    fn end(&self) {
        let begun = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner).take();
        let signature = match begun.map(BegunSignature::wait) {
            Some(Ok(signature)) => Ok(signature),
            _ => self.prepared.sign(),
        };
        let _ = self.result.set(signature);
    }
}

/// Signatures that are computed now. Each has a result in the end, whatever happens: nobody asks for one for ever.
struct Taken(Vec<Arc<Pending>>);

impl Drop for Taken {
    fn drop(&mut self) {
        for pending in &self.0 {
            // Only what was left in the middle has no result yet.
            let _ = pending.result.set(Err(Refusal(CKR_FUNCTION_FAILED)));
        }
    }
}

/// Computes signatures side by side. Those that no session waits for any more are left out.
fn compute(taken: Vec<Arc<Pending>>) {
    let taken = Taken(taken);
    let wanted = taken.0.iter().filter(|pending| Arc::strong_count(pending) > 1);
    let mut places: Vec<(&Pending, Vec<u8>)> =
        wanted.map(|pending| (&**pending, vec![0; pending.prepared.len])).collect();
    let (mut operations, mut in_lanes) = (Vec::with_capacity(places.len()), Vec::with_capacity(places.len()));
    for (index, (pending, place)) in places.iter_mut().enumerate() {
        match operation(&pending.prepared, place) {
            Some(operation) => {
                operations.push(operation);
                in_lanes.push(index);
            }
            // A signature without lanes is computed alone.
            None => {
                let _ = pending.result.set(pending.prepared.sign());
            }
        }
    }
    let ran = millstream::batch(&mut operations).map_err(Refusal::from);
    let ended = operations.iter().map(|operation| {
        ran?;
        operation.result().map_err(|error| match error {
            EngineError::DataLength { .. } => Refusal(CKR_DATA_LEN_RANGE),
            error => error.into(),
        })?;
        Ok((operation.value() as usize, operation.tag().to_vec()))
    });
    let ended: Vec<Outcome<(usize, Vec<u8>)>> = ended.collect();
    drop(operations);
    for (index, ended) in in_lanes.into_iter().zip(ended) {
        let (pending, place) = &mut places[index];
        // A signature of RSA, ML-DSA or SLH-DSA is in its place, and all others are in the operation.
        let signature = ended.map(|(len, tag)| match &*pending.prepared.engine {
            Engine::Rsa(_) | Engine::MlDsa(_) | Engine::SlhDsa(_) => place[..len].to_vec(),
            _ => tag,
        });
        let _ = pending.result.set(signature);
    }
}

/// Returns the operation that makes a signature, if there is one.
fn operation<'p>(prepared: &'p Prepared, place: &'p mut [u8]) -> Option<Operation<'p>> {
    let (scheme, input) = (prepared.scheme()?, &prepared.input[..]);
    match (&prepared.signer, &*prepared.engine) {
        (Signer::RsaRaw, _) => None,
        (_, Engine::Rsa(key)) => Some(Operation::sign_rsa(key, scheme, input, place)),
        (_, Engine::Curve(key)) => Some(Operation::sign_ecdsa(key, prepared.ecdsa_hash(), false, input)),
        (_, Engine::Ed25519(key)) => Some(Operation::sign(key, input)),
        (Signer::MlDsa(form), Engine::MlDsa(key)) => {
            Some(Operation::sign_ml_dsa(key, scheme, &form.context, input, place))
        }
        (Signer::SlhDsa(form), Engine::SlhDsa(key)) => {
            Some(Operation::sign_slh_dsa(key, scheme, &form.context, input, place))
        }
        _ => None,
    }
}
