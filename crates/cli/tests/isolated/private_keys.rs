//! Private keys have workers of their own, which no data reaches, and no other worker takes one.

use millstream::cwq::{Algorithm, Status};
use millstream::hash::Hash;
use millstream::isolated::{Accelerator, Attach, AttachError, Exportable, ServiceRefusal};
use millstream::publickey::ecdsa::Curve;
use millstream::publickey::{ecdsa, ed25519, mldsa, mlkem, rsa, slhdsa, x25519};
use millstream::queue::{Queue, Request};
use millstream::{MlDsaInput, SignatureScheme};

use millstream_testkit::keys::RSA_1024;

use super::service::{PRIVATE, Service};

fn attach(service: &Service) -> Result<Accelerator, AttachError> {
    Attach { private_keys: true, ..service.wanted() }.attach()
}

/// Executes an operation that must succeed, and returns what it gave.
fn run(queue: &mut Queue, request: Request<'_>) -> Vec<u8> {
    queue.submit(request).unwrap();
    let done = queue.wait().unwrap();
    done.result.unwrap();
    done.tag().to_vec()
}

/// Executes an operation of RSA that must succeed, and returns what it gave.
fn long(queue: &mut Queue, request: Request<'_>) -> Vec<u8> {
    queue.submit(request).unwrap();
    let done = queue.wait().unwrap();
    done.result.unwrap();
    done.buffers.destination.as_deref().unwrap()[..done.value as usize].to_vec()
}

#[test]
fn they_sign_and_agree_where_nobody_sees_them() {
    let service = Service::with(&[PRIVATE, "1"]);
    let (accelerator, features) = (attach(&service).unwrap(), millstream::features().unwrap());
    let mut queue = accelerator.queue().unwrap();

    let signer = accelerator.generate_key(Algorithm::Ed25519, 32, Exportable::No).unwrap();
    let public = run(&mut queue, Request::public_key(signer));
    let public = ed25519::PublicKey::new(features, &public).unwrap();
    for len in [0, 1, 100, 65_536] {
        let mut message = queue.buffer(len).unwrap();
        message.fill(len as u8);
        let expected = message.to_vec();
        let signature = run(&mut queue, Request::sign(signer, message));
        public.verify(&expected, &signature).unwrap();
    }
    let message = queue.buffer(65_537).unwrap();
    queue.submit(Request::sign(signer, message)).unwrap();
    assert_eq!(queue.wait().unwrap().result, Err(Status::DataLength));

    let ours = accelerator.generate_key(Algorithm::X25519, 32, Exportable::No).unwrap();
    let theirs = x25519::PrivateKey::new(features, &[5; 32]).unwrap();
    let public = run(&mut queue, Request::public_key(ours));
    let secret = theirs.agree(&x25519::PublicKey::new(&public).unwrap()).unwrap();
    let mut peer = queue.buffer(32).unwrap();
    peer.copy_from_slice(theirs.public_key().as_bytes());
    assert_eq!(run(&mut queue, Request::agree(ours, peer)), secret.as_bytes());
    assert!(accelerator.export_key(ours).is_err() && accelerator.export_key(signer).is_err());
}

/// Generated and imported keys of curves and of RSA: what they sign, agree on and decrypt is what other keys of this process find right.
#[test]
fn curves_and_rsa_work_where_nobody_sees_them() {
    let service = Service::with(&[PRIVATE, "1"]);
    let (accelerator, features) = (attach(&service).unwrap(), millstream::features().unwrap());
    let mut queue = accelerator.queue().unwrap();
    let filled = |queue: &Queue, bytes: &[u8]| {
        let mut buffer = queue.buffer(bytes.len()).unwrap();
        buffer.copy_from_slice(bytes);
        buffer
    };
    let digest = [0x5a; 32];
    for (algorithm, curve) in
        [(Algorithm::P256, Curve::P256), (Algorithm::P384, Curve::P384), (Algorithm::P521, Curve::P521)]
    {
        let imported = vec![1; curve.bytes()];
        for key in [
            accelerator.generate_key(algorithm, curve.bytes(), Exportable::No).unwrap(),
            accelerator.import_key(algorithm, &imported, Exportable::No).unwrap(),
        ] {
            let point = run(&mut queue, Request::public_key(key));
            let public = ecdsa::PublicKey::new(features, curve, &point).unwrap();
            let mut signatures = vec![];
            for deterministic in [true, false, false] {
                let scheme = SignatureScheme::Ecdsa { hash: Hash::Sha256, deterministic };
                let source = filled(&queue, &digest);
                let signature = run(&mut queue, Request::sign_with(key, scheme, source));
                public.verify(&ecdsa::Message::digest(Hash::Sha256, &digest), &signature).unwrap();
                signatures.push(signature);
            }
            assert!(
                signatures[0] != signatures[1] && signatures[1] != signatures[2],
                "random bytes hedge nonces"
            );
            let scalar = [&[0][..], &vec![2; curve.bytes() - 1]].concat();
            let theirs = ecdsa::PrivateKey::new(features, curve, &scalar).unwrap();
            let peer = filled(&queue, &theirs.public().to_bytes());
            let secret = run(&mut queue, Request::agree(key, peer));
            assert_eq!(secret, theirs.agree(&public).unwrap()[..]);
        }
    }

    let generated = accelerator.generate_key(Algorithm::Rsa, 256, Exportable::No).unwrap();
    for key in [generated, accelerator.import_key(Algorithm::Rsa, RSA_1024, Exportable::No).unwrap()] {
        let place = queue.buffer(rsa::MAX_PUBLIC_DER).unwrap();
        let public = long(&mut queue, Request::public_key_rsa(key, place));
        let public = rsa::PublicKey::from_pkcs1(features, &public).unwrap();
        let mut signature = |scheme| {
            let (source, place) = (filled(&queue, &digest), queue.buffer(256).unwrap());
            long(&mut queue, Request::sign_rsa(key, scheme, source, place))
        };
        let pkcs1 = signature(SignatureScheme::RsaPkcs1 { hash: Some(Hash::Sha256) });
        let pss = [(); 2].map(|()| signature(SignatureScheme::pss(Hash::Sha256)));
        public.verify_pkcs1_digest_vartime(Hash::Sha256, &digest, &pkcs1).unwrap();
        assert_ne!(pss[0], pss[1], "salts are random");
        for pss in pss {
            public.verify_pss_digest_vartime(&rsa::Pss::new(Hash::Sha256), &digest, &pss).unwrap();
        }
    }
    assert!(accelerator.export_key(generated).is_err());
}

/// Generated and imported keys on hashes sign in a worker, which verifies too, and computes nothing of what does not fit.
#[test]
fn hashes_sign_where_nobody_sees_them() {
    let service = Service::with(&[PRIVATE, "1"]);
    let (accelerator, features) = (attach(&service).unwrap(), millstream::features().unwrap());
    let (mut queue, set) = (accelerator.queue().unwrap(), slhdsa::Set::Sha2_128f);
    let algorithm = Algorithm::SlhDsaSha2_128f;
    let filled = |queue: &Queue, bytes: &[u8]| {
        let mut buffer = queue.buffer(bytes.len()).unwrap();
        buffer.copy_from_slice(bytes);
        buffer
    };
    let known = slhdsa::PrivateKey::from_seeds(features, set, &[7; 48]).unwrap();
    let imported = accelerator.import_key(algorithm, &known.to_bytes(), Exportable::No).unwrap();
    let generated = accelerator.generate_key(algorithm, 64, Exportable::No).unwrap();
    for key in [imported, generated] {
        queue.submit(Request::public_key(key)).unwrap();
        let public = queue.wait().unwrap().tag().to_vec();
        assert_eq!(public == known.public_key().as_bytes(), key == imported);
        let public = slhdsa::PublicKey::new(features, set, &public).unwrap();
        let mut signatures = vec![];
        for deterministic in [true, false] {
            let scheme = SignatureScheme::SlhDsa { digest: None, deterministic };
            let (message, place) = (filled(&queue, b"message"), queue.buffer(set.signature_len()).unwrap());
            let signature = long(&mut queue, Request::sign_slh_dsa(key, scheme, b"context", message, place));
            public.verify_by(slhdsa::Scheme::Pure(b"context"), b"message", &signature).unwrap();
            let message = filled(&queue, b"message");
            let verify = Request::verify_signature(algorithm, public.as_bytes(), scheme, message, &signature);
            queue.submit(verify.within(b"context")).unwrap();
            queue.wait().unwrap().check().unwrap();
            signatures.push(signature);
        }
        assert_ne!(signatures[0], signatures[1], "random bytes hedge one of them");
    }
    let scheme = SignatureScheme::SlhDsa { digest: None, deterministic: true };
    let (message, place) = (filled(&queue, b"message"), queue.buffer(set.signature_len() - 1).unwrap());
    queue.submit(Request::sign_slh_dsa(imported, scheme, b"", message, place)).unwrap();
    let done = queue.wait().unwrap();
    assert_eq!(done.result, Err(Status::DataLength));
    let mut wrong = known.to_bytes();
    wrong[63] ^= 1;
    assert!(accelerator.import_key(algorithm, &wrong, Exportable::No).is_err());
}

/// Generated and imported keys on lattices: what they sign and decapsulate is what other keys of this process find right.
#[test]
fn lattices_work_where_nobody_sees_them() {
    let service = Service::with(&[PRIVATE, "1"]);
    let (accelerator, features) = (attach(&service).unwrap(), millstream::features().unwrap());
    let mut queue = accelerator.queue().unwrap();
    let filled = |queue: &Queue, bytes: &[u8]| {
        let mut buffer = queue.buffer(bytes.len()).unwrap();
        buffer.copy_from_slice(bytes);
        buffer
    };
    for set in mlkem::Set::ALL {
        let algorithm = Algorithm::from_name(set.name()).unwrap();
        let known = mlkem::PrivateKey::from_seed(features, set, &[7; 64]);
        let imported = accelerator.import_key(algorithm, &[7; 64], Exportable::No).unwrap();
        let expanded = accelerator.import_key(algorithm, &known.to_expanded(), Exportable::No).unwrap();
        let generated = accelerator.generate_key(algorithm, 64, Exportable::No).unwrap();
        for key in [imported, expanded, generated] {
            let place = queue.buffer(set.public_key_len()).unwrap();
            let public = long(&mut queue, Request::public_key_to(key, place));
            assert_eq!(public == known.public_key().as_bytes(), key != generated);
            // A worker makes one secret, and this process another.
            let place = queue.buffer(set.ciphertext_len()).unwrap();
            queue.submit(Request::encapsulate(algorithm, &public, place)).unwrap();
            let sent = queue.wait().unwrap();
            sent.check().unwrap();
            let secret = sent.tag().to_vec();
            assert_eq!(run(&mut queue, Request::decapsulate(key, sent.buffers.destination.unwrap())), secret);
            let (ciphertext, secret) =
                mlkem::PublicKey::new(features, set, &public).unwrap().encapsulate_message(&[9; 32]);
            let source = filled(&queue, &ciphertext);
            assert_eq!(run(&mut queue, Request::decapsulate(key, source)), secret.as_bytes());
        }
        for key in [imported, expanded, generated] {
            accelerator.destroy_key(key).unwrap();
        }
    }
    for set in mldsa::Set::ALL {
        let algorithm = Algorithm::from_name(set.name()).unwrap();
        let key = accelerator.generate_key(algorithm, 32, Exportable::No).unwrap();
        let place = queue.buffer(set.public_key_len()).unwrap();
        let public = long(&mut queue, Request::public_key_to(key, place));
        let public = mldsa::PublicKey::new(features, set, &public).unwrap();
        let mut signatures = vec![];
        for deterministic in [true, false, false] {
            let scheme = SignatureScheme::MlDsa { input: MlDsaInput::Message, deterministic };
            let (message, place) = (filled(&queue, b"message"), queue.buffer(set.signature_len()).unwrap());
            let signature = long(&mut queue, Request::sign_ml_dsa(key, scheme, b"context", message, place));
            public.verify_by(mldsa::Scheme::Pure(b"context"), b"message", &signature).unwrap();
            let verify = Request::verify_signature(
                algorithm,
                public.as_bytes(),
                scheme,
                filled(&queue, b"message"),
                &signature,
            );
            run(&mut queue, verify.within(b"context"));
            signatures.push(signature);
        }
        assert!(signatures[0] != signatures[1] && signatures[1] != signatures[2], "random bytes hedge");
        assert!(accelerator.export_key(key).is_err());
        accelerator.destroy_key(key).unwrap();
    }
}

/// A key on lattices takes the room of many slots. A grant has as many as fit, and other grants have theirs.
#[test]
fn keys_on_lattices_are_counted_with_all_that_they_keep() {
    let service = Service::with(&[PRIVATE, "1"]);
    let (one, other) = (attach(&service).unwrap(), attach(&service).unwrap());
    let mut keys = vec![];
    let refused = loop {
        match one.generate_key(Algorithm::MlDsa87, 32, Exportable::No) {
            Ok(key) => keys.push(key),
            Err(error) => break error,
        }
        assert!(keys.len() < 1000, "there is no limit");
    };
    assert!(matches!(refused, millstream::Error::KeySlots), "{refused}");
    let reserve = one.grant().key_slots * 2048;
    let takes = mldsa::Set::MlDsa87.kept_private_len();
    assert!(!keys.is_empty() && keys.len() * takes <= reserve, "{} keys in {reserve} bytes", keys.len());
    other.generate_key(Algorithm::MlDsa87, 32, Exportable::No).expect("another grant has room of its own");
    one.destroy_key(keys[0]).unwrap();
    one.generate_key(Algorithm::MlDsa87, 32, Exportable::No).expect("the room that was freed");
}

#[test]
fn each_worker_serves_its_own_kind() {
    let service = Service::with(&[PRIVATE, "1"]);
    let (private, data) = (attach(&service).unwrap(), service.attach().unwrap());
    assert!(private.generate_key(Algorithm::AesGcm, 32, Exportable::No).is_err());
    assert!(data.generate_key(Algorithm::Ed25519, 32, Exportable::No).is_err());
    data.generate_key(Algorithm::AesGcm, 32, Exportable::No).unwrap();
    // A key that a word carries is no way round it.
    let mut queue = data.queue().unwrap();
    let message = queue.buffer(10).unwrap();
    let carried = millstream::queue::RequestKey::Carried(Algorithm::Ed25519, &[7; 32]);
    queue.submit(Request::sign(carried, message)).unwrap();
    assert_eq!(queue.wait().unwrap().result, Err(Status::Policy));

    let status = service.status();
    let workers = status["workers"].as_array().unwrap();
    let of = |private: bool| workers.iter().find(|worker| worker["private_keys"] == private).unwrap();
    assert_eq!((&of(true)["grants"], &of(false)["grants"]), (&1.into(), &1.into()), "{status:#}");
    // A grant goes to no worker of the other kind.
    let (grant, to) = (data.grant().id.to_string(), of(true)["worker"].to_string());
    let moved = super::service::millstream()
        .args(["move", "--socket"])
        .arg(service.socket())
        .args([&grant, &to])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&moved.stderr).into_owned();
    assert!(!moved.status.success() && said.contains("private keys have workers of their own"), "{said}");
}

#[test]
fn a_service_without_such_workers_says_so() {
    let service = Service::with(&[PRIVATE, "0"]);
    match attach(&service) {
        Err(AttachError::Refused { why: ServiceRefusal::NoWorker, detail }) => {
            assert!(detail.contains("--private-accelerators"), "{detail}");
        }
        other => panic!("{other:?}"),
    }
    service.attach().unwrap();
}
