//! Accidents: a service that is away or is started again, forks, and several programs at once.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use cryptoki::context::{CInitializeArgs, CInitializeFlags};
use cryptoki::error::{Error, RvError};
use cryptoki::mechanism::Mechanism;
use cryptoki::object::{Attribute, AttributeType, ObjectClass, ObjectHandle};
use cryptoki::session::{Session, UserType};
use millstream_store::vault::Change;
use millstream_store::{Attributes, File, TokenId};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};

use crate::bed::{PIN, alone, client, load, logged_in, make, pin};
use crate::refused;
use crate::service::{eventually, millstream};

const P256: &[u8] = b"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07";

fn pair(session: &Session) -> (ObjectHandle, ObjectHandle) {
    let same = [Attribute::Token(true), Attribute::Label(b"pair".to_vec())];
    let public = [&same[..], &[Attribute::EcParams(P256.to_vec())]].concat();
    session.generate_key_pair(&Mechanism::EccKeyPairGen, &public, &same).unwrap()
}

#[test]
fn without_a_service_there_are_no_slots_until_one_comes() {
    alone("accidents::without_a_service_there_are_no_slots_until_one_comes", |bed| {
        let client = load();
        assert!(client.get_all_slots().unwrap().is_empty());
        let service = bed.serve();
        // Nobody has made a token yet, and who may make one is the administrator's matter.
        assert!(client.get_all_slots().unwrap().is_empty());
        make(&service);
        let slot = client.get_slots_with_initialized_token().unwrap()[0];
        assert_eq!(slot.id(), 0);
        drop(service);
        // The slot keeps its number.
        assert!(client.get_all_slots().unwrap().contains(&slot));
        refused!(client.get_token_info(slot), DeviceRemoved);
        let _service = bed.serve();
        assert_eq!(client.get_token_info(slot).unwrap().label(), "web");
    });
}

#[test]
fn keys_work_on_after_the_service_was_started_again_under_load() {
    alone("accidents::keys_work_on_after_the_service_was_started_again_under_load", |bed| {
        let service = bed.serve();
        make(&service);
        let (client, slot) = client();
        let session = logged_in(&client, slot);
        let (public, private) = pair(&session);
        let wanted = [Attribute::Token(true), Attribute::ValueLen(32.into())];
        let aes = session.generate_key(&Mechanism::AesKeyGen, &wanted).unwrap();
        let (ends, signed, refused) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let session = client.open_ro_session(slot).unwrap();
                    while !ends.load(Ordering::Relaxed) {
                        match session.sign(&Mechanism::EcdsaSha256, private, b"message") {
                            Ok(signature) => {
                                let verified =
                                    session.verify(&Mechanism::EcdsaSha256, public, b"message", &signature);
                                verified.unwrap();
                                signed.fetch_add(1, Ordering::Relaxed);
                            }
                            Err(Error::Pkcs11(RvError::DeviceRemoved, _)) => {
                                refused.fetch_add(1, Ordering::Relaxed);
                                std::thread::sleep(Duration::from_millis(1));
                            }
                            Err(error) => panic!("{error:?}"),
                        }
                    }
                });
            }
            eventually("signatures", || signed.load(Ordering::Relaxed) > 100);
            drop(service);
            refused!(session.encrypt(&Mechanism::AesEcb, aes, &[0; 16]), DeviceRemoved);
            eventually("refusals", || refused.load(Ordering::Relaxed) > 4);
            let _service = bed.serve();
            let before = signed.load(Ordering::Relaxed);
            eventually("signatures again", || signed.load(Ordering::Relaxed) > before + 100);
            session.encrypt(&Mechanism::AesEcb, aes, &[0; 16]).unwrap();
            assert_eq!(session.find_objects(&[]).unwrap().len(), 3);
            ends.store(true, Ordering::Relaxed);
        });
        // And after a new login.
        let _service = bed.serve();
        session.logout().unwrap();
        session.login(UserType::User, Some(&pin(PIN))).unwrap();
        let private = session.find_objects(&[Attribute::Class(ObjectClass::PRIVATE_KEY)]).unwrap()[0];
        session.sign(&Mechanism::EcdsaSha256, private, b"message").unwrap();
    });
}

#[test]
#[allow(unsafe_code)]
fn a_forked_child_starts_anew_and_its_parent_goes_on() {
    alone("accidents::a_forked_child_starts_anew_and_its_parent_goes_on", |bed| {
        let service = bed.serve();
        make(&service);
        let (client, slot) = client();
        let session = logged_in(&client, slot);
        let (public, private) = pair(&session);
        let sign = || session.sign(&Mechanism::EcdsaSha256, private, b"message");
        sign().unwrap();
        // SAFETY: the child calls the module and exits.
        match unsafe { fork() }.unwrap() {
            ForkResult::Child => {
                let is_new = matches!(sign(), Err(Error::Pkcs11(RvError::CryptokiNotInitialized, _)));
                let args = CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK);
                let works = client.initialize(args).is_ok() && {
                    let session = logged_in(&client, slot);
                    let keys = session.find_objects(&[Attribute::Class(ObjectClass::PRIVATE_KEY)]).unwrap();
                    session.sign(&Mechanism::EcdsaSha256, keys[0], b"message").is_ok()
                };
                std::process::exit(if is_new && works { 0 } else { 1 });
            }
            ForkResult::Parent { child } => {
                for _ in 0..100 {
                    let signature = sign().unwrap();
                    session.verify(&Mechanism::EcdsaSha256, public, b"message", &signature).unwrap();
                }
                assert_eq!(waitpid(child, None).unwrap(), WaitStatus::Exited(child, 0));
                sign().unwrap();
            }
        }
    });
}

#[test]
fn programs_see_what_each_other_makes() {
    alone("accidents::programs_see_what_each_other_makes", |bed| {
        let service = bed.serve();
        make(&service);
        let (client, slot) = client();
        let session = logged_in(&client, slot);
        pair(&session);
        let file = bed.0.join("pin");
        std::fs::write(&file, PIN).unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let command = |words: &str| {
            let mut command = millstream();
            command.args(words.split(' ')).env("MILLSTREAM_SOCKET", bed.socket());
            if !words.contains("list") {
                command.arg("--pin-file").arg(&file);
            }
            let output = command.output().unwrap();
            assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        assert!(command("key list -T web").contains("pair"));
        command("key generate hmac -T web -K other --id 0a0b");
        let found = session.find_objects(&[Attribute::Id(vec![10, 11])]).unwrap();
        let mac = session.sign(&Mechanism::Sha256Hmac, found[0], b"message").unwrap();
        session.verify(&Mechanism::Sha256Hmac, found[0], b"message", &mac).unwrap();
        command("key remove -T web -K other");
        assert!(session.find_objects(&[Attribute::Id(vec![10, 11])]).unwrap().is_empty());
        refused!(session.sign(&Mechanism::Sha256Hmac, found[0], b"message"), KeyHandleInvalid);
    });
}

/// Somebody changes the service's file: an object that is listed under another label than its own is not used, and no attribute of it is told.
#[test]
fn an_object_that_is_not_authentic_is_not_there() {
    alone("accidents::an_object_that_is_not_authentic_is_not_there", |bed| {
        let service = bed.serve();
        let token = make(&service);
        let (client, slot) = client();
        let session = logged_in(&client, slot);
        let (_, private) = pair(&session);
        let wanted = [Attribute::Token(true), Attribute::ValueLen(32.into())];
        let aes = session.generate_key(&Mechanism::AesKeyGen, &wanted).unwrap();
        session.sign(&Mechanism::EcdsaSha256, private, b"message").unwrap();
        drop(service);
        relabel(&bed.0.join("tokens").join("tokens.redb"), token, "pair", "forged");
        let _service = bed.serve();
        refused!(session.sign(&Mechanism::EcdsaSha256, private, b"message"), DeviceError);
        session.logout().unwrap();
        session.login(UserType::User, Some(&pin(PIN))).unwrap();
        let forged = session.find_objects(&[Attribute::Label(b"forged".to_vec())]).unwrap();
        assert_eq!(forged.len(), 2);
        for object in forged {
            refused!(session.sign(&Mechanism::EcdsaSha256, object, b"message"), KeyHandleInvalid);
            refused!(session.get_attributes(object, &[AttributeType::Label]), ObjectHandleInvalid);
        }
        // The others are as they were.
        let others = session.find_objects(&[Attribute::Class(ObjectClass::SECRET_KEY)]).unwrap();
        assert_eq!(others.len(), 1);
        assert_ne!(others, [aes], "the login is another");
        session.encrypt(&Mechanism::AesEcb, others[0], &[0; 16]).unwrap();
    });
}

/// Gives the objects with a label another one than that with which they were sealed.
fn relabel(path: &Path, token: u128, label: &str, other: &str) {
    let mut file = File::open(path).unwrap();
    let token = TokenId(token.to_be_bytes());
    for object in file.labelled(token, label).unwrap().to_vec() {
        let stored = file.get(token, object).unwrap();
        let is = Attributes { label: other.to_owned(), ..Attributes::decode(&stored.attributes).unwrap() };
        let index = file.records(token).unwrap().index;
        let change = Change { sealed: Some(stored.sealed), index: index.clone() };
        file.change(token, object, &index, &is.encode().unwrap(), &change).unwrap();
    }
}
