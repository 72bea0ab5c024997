//! ML-KEM and ML-DSA through queues and batches: what direct calls say, at every place among others.

use millstream::cwq::{Algorithm, Status};
use millstream::publickey::{mldsa, mlkem};
use millstream::queue::{
    AcceleratorThread, Buffer, Config, KeyHandle, Queue, Request, SharedQueue, ThreadConfig,
};
use millstream::{MlDsaInput, Operation, SignatureScheme, VerifyingKey};

/// More than the widest lanes hold, and no multiple of that.
const TOGETHER: usize = 19;

const CONTEXT: &[u8] = b"a context";

fn algorithm(name: &str) -> Algorithm {
    Algorithm::from_name(name).expect("an algorithm of each set")
}

fn scheme(deterministic: bool) -> SignatureScheme {
    SignatureScheme::MlDsa { input: MlDsaInput::Message, deterministic }
}

fn filled(queue: &Queue, bytes: &[u8]) -> Buffer {
    let mut buffer = queue.buffer(bytes.len()).expect("the arena has room");
    buffer.copy_from_slice(bytes);
    buffer
}

fn queue() -> Queue {
    Queue::inline(millstream::features().unwrap(), Config::default()).unwrap()
}

/// What an operation came to: its result, its tag, and what it wrote to the destination.
type End = (Result<(), Status>, Vec<u8>, Vec<u8>);

/// Executes requests together, and returns their ends in the order in which they were submitted.
fn run<'r>(queue: &mut Queue, requests: impl Iterator<Item = Request<'r>>) -> Vec<End> {
    let tickets: Vec<_> =
        requests.map(|request| queue.submit(request).expect("the queue has room")).collect();
    let mut ends: Vec<Option<End>> = tickets.iter().map(|_| None).collect();
    for _ in &tickets {
        let done = queue.wait().expect("in flight");
        let long = done.buffers.destination.as_deref().map_or(&[][..], |all| &all[..done.value as usize]);
        let at = tickets.iter().position(|ticket| *ticket == done.ticket).expect("one of these");
        ends[at] = Some((done.result, done.tag().to_vec(), long.to_vec()));
    }
    ends.into_iter().map(|end| end.expect("each has ended")).collect()
}

struct Kem {
    set: mlkem::Set,
    direct: mlkem::PrivateKey,
    handle: KeyHandle,
}

fn kems(queue: &mut Queue) -> Vec<Kem> {
    let features = millstream::features().unwrap();
    let mut make = |at: usize| {
        let set = mlkem::Set::ALL[at % 3];
        let seed = [at as u8 + 1; 64];
        let direct = mlkem::PrivateKey::from_seed(features, set, &seed);
        let handle = queue.import_key(algorithm(set.name()), &seed).unwrap();
        Kem { set, direct, handle }
    };
    (0..TOGETHER).map(&mut make).collect()
}

#[test]
fn secrets_are_those_of_direct_calls_at_every_place() {
    let mut queue = queue();
    let kems = kems(&mut queue);
    let places: Vec<_> = kems.iter().map(|kem| queue.buffer(kem.set.public_key_len()).unwrap()).collect();
    let requests = kems.iter().zip(places).map(|(kem, place)| Request::public_key_to(kem.handle, place));
    let publics = run(&mut queue, requests);
    for (kem, (result, _, public)) in kems.iter().zip(&publics) {
        assert_eq!((*result, &public[..]), (Ok(()), kem.direct.public_key().as_bytes()));
    }
    let places: Vec<_> = kems.iter().map(|kem| queue.buffer(kem.set.ciphertext_len()).unwrap()).collect();
    let requests =
        kems.iter().zip(&publics).zip(places).map(|((kem, (.., public)), place)| {
            Request::encapsulate(algorithm(kem.set.name()), public, place)
        });
    let sent = run(&mut queue, requests);
    // A ciphertext that was changed moves from place to place.
    for changed in 0..TOGETHER {
        let mut ciphertexts: Vec<Vec<u8>> = sent.iter().map(|(.., ciphertext)| ciphertext.clone()).collect();
        ciphertexts[changed][9] ^= 1;
        let sources: Vec<_> = ciphertexts.iter().map(|ciphertext| filled(&queue, ciphertext)).collect();
        let requests = kems.iter().zip(sources).map(|(kem, source)| Request::decapsulate(kem.handle, source));
        for (at, (result, secret, _)) in run(&mut queue, requests).into_iter().enumerate() {
            let direct = kems[at].direct.decapsulate(&ciphertexts[at]).unwrap();
            assert_eq!((result, &secret[..]), (Ok(()), &direct.as_bytes()[..]), "place {at}");
            assert_eq!(secret == sent[at].1, at != changed, "place {at}");
        }
    }
    let firsts: std::collections::BTreeSet<&Vec<u8>> = sent.iter().map(|(_, secret, _)| secret).collect();
    assert_eq!(firsts.len(), TOGETHER, "each secret is another");
}

#[test]
fn signatures_are_those_of_direct_calls_at_every_place() {
    let features = millstream::features().unwrap();
    let mut queue = queue();
    let keys: Vec<_> = (0..TOGETHER)
        .map(|at| {
            let (set, seed) = (mldsa::Set::ALL[at % 3], [at as u8 + 1; 32]);
            let handle = queue.import_key(algorithm(set.name()), &seed).unwrap();
            (mldsa::PrivateKey::from_seed(features, set, &seed), handle)
        })
        .collect();
    let messages: Vec<Vec<u8>> = (0..TOGETHER).map(|at| vec![at as u8; 7 * at]).collect();
    for deterministic in [true, false] {
        let buffers: Vec<_> = keys
            .iter()
            .zip(&messages)
            .map(|((key, _), message)| {
                (filled(&queue, message), queue.buffer(key.set().signature_len()).unwrap())
            })
            .collect();
        let requests = keys.iter().zip(buffers).map(|((_, handle), (message, place))| {
            Request::sign_ml_dsa(*handle, scheme(deterministic), CONTEXT, message, place)
        });
        let signed = run(&mut queue, requests);
        for (at, (result, _, signature)) in signed.iter().enumerate() {
            let pure = mldsa::Scheme::Pure(CONTEXT);
            let direct = keys[at].0.sign_deterministic(pure, &messages[at]).unwrap();
            assert_eq!((*result, *signature == direct), (Ok(()), deterministic), "place {at}");
            keys[at].0.public_key().verify_by(pure, &messages[at], signature).unwrap();
        }
        // A signature that was changed moves from place to place, and fails there alone.
        for changed in 0..TOGETHER {
            let mut signatures: Vec<Vec<u8>> =
                signed.iter().map(|(.., signature)| signature.clone()).collect();
            signatures[changed][40] ^= 1;
            let sources: Vec<_> = messages.iter().map(|message| filled(&queue, message)).collect();
            let requests =
                keys.iter().zip(sources).zip(&signatures).map(|(((key, _), source), signature)| {
                    let (of, public) = (algorithm(key.set().name()), key.public_key().as_bytes());
                    Request::verify_signature(of, public, scheme(false), source, signature).within(CONTEXT)
                });
            for (at, (result, ..)) in run(&mut queue, requests).into_iter().enumerate() {
                let expected = if at == changed { Err(Status::Authentication) } else { Ok(()) };
                assert_eq!(result, expected, "place {at}, changed {changed}");
            }
        }
    }
}

/// What is wrong with lengths is said as the direct call says it, and refused before anything is done.
#[test]
fn wrong_lengths_are_refused_with_the_engines_sentence() {
    let mut queue = queue();
    let kem = queue.import_key(Algorithm::MlKem512, &[1; 64]).unwrap();
    let mut refused = |make: &dyn Fn(&Queue) -> Request<'static>| {
        let request = make(&queue);
        queue.submit(request).unwrap();
        queue.wait().unwrap().check().unwrap_err().to_string()
    };
    let short = refused(&|queue| Request::decapsulate(kem, queue.buffer(767).unwrap()));
    assert!(short.contains("data of length 767; it takes 768 bytes"), "{short}");
    let short =
        refused(&|queue| Request::encapsulate(Algorithm::MlKem512, &[0; 799], queue.buffer(768).unwrap()));
    assert!(short.contains("799") && short.contains("800 bytes of a public key"), "{short}");
}

/// One batch holds operations of all kinds on lattices, each with its own key.
#[test]
fn a_batch_does_all_of_it_at_once() {
    let features = millstream::features().unwrap();
    let kem = mlkem::PrivateKey::from_seed(features, mlkem::Set::MlKem1024, &[1; 64]);
    let signer = mldsa::PrivateKey::from_seed(features, mldsa::Set::MlDsa87, &[1; 32]);
    let (ciphertext, secret) = kem.public_key().encapsulate_message(&[5; 32]);
    let expected = signer.sign_deterministic(mldsa::Scheme::Pure(b""), b"message").unwrap();
    let key = VerifyingKey::new(features, Algorithm::MlDsa87, signer.public_key().as_bytes()).unwrap();
    let (mut place, mut sent, mut again) = (vec![0; 4627], vec![0; 1568], vec![0; 1568]);
    let mut operations = [
        Operation::sign_ml_dsa(&signer, scheme(true), b"", b"message", &mut place),
        Operation::decapsulate(&kem, &ciphertext),
        Operation::encapsulate(kem.public_key(), &mut sent),
        Operation::encapsulate_for(Algorithm::MlKem1024, kem.public_key().as_bytes(), &mut again),
        Operation::verify_signature(&key, scheme(true), b"message", &expected),
        Operation::public_key(&kem),
        Operation::encapsulate_for(Algorithm::X25519, &[0; 32], &mut []),
    ];
    millstream::batch(&mut operations).unwrap();
    let failed: Vec<usize> = (0..7).filter(|at| operations[*at].result().is_err()).collect();
    assert_eq!(failed, [6]);
    assert_eq!(operations[1].tag(), secret.as_bytes());
    assert_eq!(operations[5].tag(), kem.public_key().as_bytes());
    let secrets = [2, 3].map(|at: usize| operations[at].tag().to_vec());
    drop(operations);
    assert_eq!(place, expected);
    for (ciphertext, secret) in [(sent, &secrets[0]), (again, &secrets[1])] {
        assert_eq!(kem.decapsulate(&ciphertext).unwrap().as_bytes()[..], secret[..]);
    }
}

/// Threads share a queue over an accelerator of another thread: each gets its own answers.
#[test]
fn threads_share_a_queue() {
    let features = millstream::features().unwrap();
    let thread = AcceleratorThread::spawn(features, ThreadConfig::default()).unwrap();
    let mut queue = thread.queue(Config::default()).unwrap();
    let kem = mlkem::PrivateKey::from_seed(features, mlkem::Set::MlKem768, &[3; 64]);
    let handle = queue.import_key(Algorithm::MlKem768, &[3; 64]).unwrap();
    let shared = SharedQueue::new(queue);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let place = shared.buffer(1088).unwrap();
                    let public = kem.public_key().as_bytes();
                    let sent =
                        shared.submit(Request::encapsulate(Algorithm::MlKem768, public, place)).unwrap();
                    let sent = sent.wait();
                    let secret = sent.tag().to_vec();
                    let ciphertext = sent.buffers.destination.unwrap();
                    let received = shared.submit(Request::decapsulate(handle, ciphertext)).unwrap().wait();
                    assert_eq!((received.result, received.tag()), (Ok(()), &secret[..]));
                }
            });
        }
    });
}
