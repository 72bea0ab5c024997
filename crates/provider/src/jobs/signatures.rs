//! Signatures with private keys inside of ASYNC_JOBs, which go side by side in the lanes of their algorithm.

use std::cell::RefCell;
use std::thread::LocalKey;

use millstream::publickey::rsa::MAX_BYTES;
use millstream::{Operation, SignatureScheme};

use super::{Shared, Work, gather, lock};
use crate::libcrypto::Job;
use crate::provider::Provider;

/// A private key in this process that signs in lanes.
pub trait Signer: Send + Sync {
    /// Makes the operation of a signature, which is its tag or goes to the front of `place`; none where the key does not sign so.
    fn operation<'a>(
        &'a self,
        scheme: SignatureScheme,
        digest: &'a [u8],
        place: &'a mut [u8],
    ) -> Option<Operation<'a>>;
}

/// A digest to sign.
struct Signing {
    provider: Provider,
    signer: Box<dyn Signer>,
    scheme: SignatureScheme,
    digest: Vec<u8>,
    /// The signature once it was made, or nothing where that failed.
    made: Option<Option<Vec<u8>>>,
}

thread_local! {
    static LIST: RefCell<Vec<Shared<Signing>>> = const { RefCell::new(Vec::new()) };
}

/// Signs a digest beside other jobs', if this is a job. Returns nothing if it is none; inside, nothing if the key does not
/// sign so, or the signature failed. That of ECDSA is r and s side by side.
pub fn sign(
    provider: Provider,
    signer: impl FnOnce() -> Box<dyn Signer>,
    scheme: SignatureScheme,
    digest: &[u8],
) -> Option<Option<Vec<u8>>> {
    let job = Job::current(provider)?;
    let work = Signing { provider, signer: signer(), scheme, digest: digest.to_vec(), made: None };
    let work = gather(&job, work);
    let made = lock(&work).made.take();
    Some(made.flatten())
}

impl Work for Signing {
    // Four signatures of RSA fill eight lanes, and eight of P-256.
    const FULL: usize = 8;

    fn list() -> &'static LocalKey<RefCell<Vec<Shared<Self>>>> {
        &LIST
    }

    fn is_done(&self) -> bool {
        self.made.is_some()
    }

    fn run(works: &mut [&mut Self]) {
        let Some(provider) = works.first().map(|work| work.provider) else { return };
        // The lanes of RSA need more stack than a job has.
        let done = Job::with_stack(provider, || {
            run(works);
            Ok(())
        });
        if done.is_err() {
            works.iter_mut().for_each(|work| work.made = Some(None));
        }
    }
}

fn run(works: &mut [&mut Signing]) {
    let mut places = vec![[0; MAX_BYTES]; works.len()];
    let operations = works.iter().zip(&mut places).map(|(work, place)| {
        let operation = work.signer.operation(work.scheme, &work.digest, place);
        operation.unwrap_or_else(Operation::null)
    });
    let mut operations: Vec<_> = operations.collect();
    let ran = millstream::batch(&mut operations);
    // An operation that does nothing has neither a tag nor a length.
    let made: Vec<_> = operations
        .iter()
        .map(|operation| match (&ran, operation.result()) {
            (Ok(()), Ok(())) => (operation.tag().to_vec(), operation.value() as usize),
            _ => (Vec::new(), 0),
        })
        .collect();
    drop(operations);
    for ((work, place), (tag, len)) in works.iter_mut().zip(&places).zip(made) {
        let signature = if tag.is_empty() { place[..len].to_vec() } else { tag };
        work.made = Some((!signature.is_empty()).then_some(signature));
    }
}
