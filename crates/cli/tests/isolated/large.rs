//! Objects as large as they come: expanded private keys of ML-DSA, and the most that the service takes.

use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use millstream::cwq::Algorithm;
use millstream::isolated::KeyRefusal;
use millstream::isolated::token::Attributes;
use millstream::publickey::mldsa;
use millstream::queue::{KeyOptions, Request};
use millstream::{MlDsaInput, SignatureScheme};
use millstream_files::key::{Form, Key, Kind};

use super::service::millstream;
use super::tokens::{Kept, asked, make, open, operator, private, refused};

/// Has a key sign in the service, and checks that here.
fn check(queue: &mut millstream::queue::Queue, key: millstream::queue::KeyHandle, public: &mldsa::PublicKey) {
    let scheme = SignatureScheme::MlDsa { input: MlDsaInput::Message, deterministic: false };
    let mut message = queue.buffer(7).unwrap();
    message.copy_from_slice(b"message");
    let place = queue.buffer(public.set().signature_len()).unwrap();
    queue.submit(Request::sign_ml_dsa(key, scheme, b"", message, place)).unwrap();
    let done = queue.wait().unwrap();
    done.result.unwrap();
    let signature = &done.buffers.destination.as_deref().unwrap()[..done.value as usize];
    public.verify(b"message", signature).unwrap();
}

/// Keys without a seed have 2560, 4032 and 4896 bytes. They come through the library and through the command, sign in the service, and are
/// exported as they came.
#[test]
fn expanded_keys_of_ml_dsa_are_kept_and_sign() {
    let kept = Kept::new();
    let service = kept.serve();
    let web = make(&service);
    let accelerator = private(&service);
    let features = millstream::features().unwrap();
    let token = open(&accelerator, web);
    let mut queue = accelerator.queue().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| -> Output {
        let mut command = millstream();
        command.args(line.split_whitespace()).current_dir(folder.path());
        command.env("MILLSTREAM_SOCKET", service.socket()).env_remove("MILLSTREAM_STORE");
        let ended = command.output().unwrap();
        assert!(ended.status.success(), "{line}: {}", String::from_utf8_lossy(&ended.stderr));
        ended
    };
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    };
    write("pin", b"314159\n");
    let lengths = [2560, 4032, 4896];
    for (set, len) in mldsa::Set::ALL.into_iter().zip(lengths) {
        let algorithm = Algorithm::from_name(set.name()).unwrap();
        let key = mldsa::PrivateKey::from_seed(features, set, &[len as u8; 32]);
        let expanded = key.to_expanded();
        assert_eq!(expanded.len(), len);
        let wanted = Attributes { exportable: true, ..asked(set.name(), set.name()) };
        let (object, made) = token.import(&wanted, &expanded).unwrap();
        assert!(made.public_key.ends_with(key.public_key().as_bytes()));
        assert_eq!(token.export(object).unwrap(), expanded);
        let loaded = token.load(object, algorithm, KeyOptions::default()).unwrap();
        check(&mut queue, loaded, key.public_key());
        accelerator.destroy_key(loaded).unwrap();
        // A key that no token keeps may be as long.
        let direct =
            accelerator.import_key(algorithm, &expanded, millstream::isolated::Exportable::Yes).unwrap();
        assert_eq!(accelerator.export_key(direct).unwrap()[..], expanded[..]);
        accelerator.destroy_key(direct).unwrap();

        let kind = Kind::named(set.name()).unwrap();
        let pem = Key::new(features, kind, &expanded).unwrap().write(features, Form::Pem).unwrap();
        write("key.pem", &pem);
        run(&format!(
            "key import key.pem -T web -K given-{set} --exportable --pin-file pin",
            set = set.name()
        ));
        run(&format!("key export -T web -K given-{set} --pin-file pin -o again.pem", set = set.name()));
        assert_eq!(std::fs::read(folder.path().join("again.pem")).unwrap(), pem.to_vec());
        std::fs::remove_file(folder.path().join("again.pem")).unwrap();
    }
    // All of them come in a list, though no message takes them together.
    let listed = operator(&service).objects(web).unwrap();
    assert_eq!(listed.len(), 6);
}

/// The longest object is made, listed, copied, exported and removed. One byte more is refused, and changes nothing.
#[test]
fn the_longest_object_is_taken_and_one_byte_more_is_not() {
    let kept = Kept::new();
    let service = kept.serve();
    let web = make(&service);
    let accelerator = private(&service);
    let token = open(&accelerator, web);
    let data = |label: &str| Attributes { exportable: true, ..asked(label, "data") };
    let (mut fits, mut not) = (8 << 10, 12 << 10);
    while not - fits > 1 {
        let len = (fits + not) / 2;
        match token.import(&data("probe"), &vec![7; len]) {
            Ok((object, _)) => {
                token.remove(object).unwrap();
                fits = len;
            }
            Err(millstream::Error::Key(KeyRefusal::TooLong)) => not = len,
            Err(other) => panic!("{len}: {other}"),
        }
    }
    assert!((11_000..12_000).contains(&fits), "{fits}");
    let bytes: Vec<u8> = (0..fits).map(|i| i as u8).collect();
    let (object, made) = token.import(&data("large"), &bytes).unwrap();
    refused(token.import(&data("large"), &vec![7; fits + 1]), KeyRefusal::TooLong);
    let (copy, _) = token.copy(object, &token, &data("again")).unwrap();
    for object in [object, copy] {
        assert_eq!(token.export(object).unwrap()[..], bytes);
    }
    // With a longer label it would be too long.
    refused(token.change(object, &data("a longer label")), KeyRefusal::TooLong);
    // So long attributes that a list has one of them a message.
    let wide = Attributes { others: [(99, vec![1; fits - 200])].into(), ..data("wide") };
    token.import(&wide, b"x").unwrap();
    let (wide, _) = token.import(&wide, b"y").unwrap();
    let listed = operator(&service).objects(web).unwrap();
    assert_eq!(listed.len(), 4);
    assert_eq!(listed.iter().find(|(of, _)| *of == object).unwrap().1, made);
    for object in [object, copy, wide] {
        token.remove(object).unwrap();
    }
    assert_eq!(operator(&service).objects(web).unwrap().len(), 1);
}
