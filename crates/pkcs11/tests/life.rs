//! The life of a token in programs: PINs, objects that stay and go, forks, threads, and what is refused.

mod support;

use std::collections::HashSet;
use std::path::PathBuf;

use cryptoki::context::{CInitializeArgs, CInitializeFlags};
use cryptoki::error::{Error, RvError};
use cryptoki::mechanism::Mechanism;
use cryptoki::object::{Attribute, AttributeType, ObjectClass};
use cryptoki::session::UserType;
use cryptoki::types::AuthPin;
use millstream_store::File;
use support::{PIN, SO_PIN, alone, client, logged_in};

const P256: &[u8] = b"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07";

fn pin(text: &str) -> AuthPin {
    AuthPin::new(text.into())
}

macro_rules! refused {
    ($call:expr, $value:ident) => {
        match $call {
            Err(Error::Pkcs11(RvError::$value, _)) => {}
            other => panic!("{other:?}"),
        }
    };
}

#[test]
fn ten_wrong_pins_lock_a_token_until_its_officer_sets_another() {
    alone("ten_wrong_pins_lock_a_token_until_its_officer_sets_another", || {
        let (client, slot) = client();
        let session = client.open_rw_session(slot).unwrap();
        for left in (0..10).rev() {
            refused!(session.login(UserType::User, Some(&pin("000000"))), PinIncorrect);
            let info = client.get_token_info(slot).unwrap();
            assert_eq!(info.user_pin_final_try(), left == 1);
            assert_eq!(
                (info.user_pin_count_low(), info.user_pin_locked()),
                ((1..10).contains(&left), left == 0)
            );
        }
        refused!(session.login(UserType::User, Some(&pin(PIN))), PinLocked);
        session.login(UserType::So, Some(&pin(SO_PIN))).unwrap();
        session.init_pin(&pin("161803")).unwrap();
        session.logout().unwrap();
        session.login(UserType::User, Some(&pin("161803"))).unwrap();
        session.set_pin(&pin("161803"), &pin("577215")).unwrap();
        // The user who is logged in goes on with the token that has another PIN.
        let key = [Attribute::Token(true), Attribute::ValueLen(32.into())];
        session.generate_key(&Mechanism::AesKeyGen, &key).unwrap();
        refused!(session.login(UserType::User, Some(&pin(PIN))), UserAlreadyLoggedIn);
        session.logout().unwrap();
        refused!(session.login(UserType::User, Some(&pin("161803"))), PinIncorrect);
        session.login(UserType::User, Some(&pin("577215"))).unwrap();
    });
}

#[test]
fn token_objects_stay_session_objects_go_and_private_ones_hide() {
    alone("token_objects_stay_session_objects_go_and_private_ones_hide", || {
        let (client, slot) = client();
        let session = logged_in(&client, slot);
        let named = |label: &str, stays| {
            vec![Attribute::Label(label.into()), Attribute::Token(stays), Attribute::Id(label.into())]
        };
        let public = [named("stays", true), vec![Attribute::EcParams(P256.to_vec())]].concat();
        session.generate_key_pair(&Mechanism::EccKeyPairGen, &public, &named("stays", true)).unwrap();
        let goes = [named("goes", false), vec![Attribute::ValueLen(16.into())]].concat();
        let gone = session.generate_key(&Mechanism::AesKeyGen, &goes).unwrap();
        let all = |session: &cryptoki::session::Session| session.find_objects(&[]).unwrap().len();
        assert_eq!(all(&session), 3);
        let other = client.open_ro_session(slot).unwrap();
        assert_eq!(all(&other), 3, "sessions of one program see the same");
        refused!(
            other.generate_key_pair(&Mechanism::EccKeyPairGen, &public, &named("more", true)),
            SessionReadOnly
        );
        session.close().unwrap();
        assert_eq!(all(&other), 2);
        refused!(other.get_attributes(gone, &[AttributeType::Label]), ObjectHandleInvalid);
        other.logout().unwrap();
        assert_eq!(all(&other), 1, "only the public key is seen by everybody");
        other.login(UserType::User, Some(&pin(PIN))).unwrap();
        let private = [Attribute::Class(ObjectClass::PRIVATE_KEY), Attribute::Id(b"stays".to_vec())];
        let found = other.find_objects(&private).unwrap();
        assert_eq!(found.len(), 1);
        assert!(
            other.get_attributes(found[0], &[AttributeType::Value]).unwrap().is_empty(),
            "it is sensitive"
        );
        let what =
            [AttributeType::PublicKeyInfo, AttributeType::NeverExtractable, AttributeType::AlwaysSensitive];
        let told = other.get_attributes(found[0], &what).unwrap();
        assert!(matches!(&told[0], Attribute::PublicKeyInfo(der) if der.starts_with(&[0x30, 0x59])));
        assert_eq!(told[1..], [Attribute::NeverExtractable(true), Attribute::AlwaysSensitive(true)]);
        // Another process sees and uses the same.
        drop(other);
        let session = logged_in(&client, slot);
        let key = session.find_objects(&private).unwrap()[0];
        session.sign(&Mechanism::EcdsaSha256, key, b"message").unwrap();
        let copy =
            session.copy_object(key, &[Attribute::Token(false), Attribute::Label(b"copy".to_vec())]).unwrap();
        session.sign(&Mechanism::EcdsaSha256, copy, b"message").unwrap();
        session.destroy_object(key).unwrap();
        refused!(session.sign(&Mechanism::EcdsaSha256, key, b"message"), KeyHandleInvalid);
        session.sign(&Mechanism::EcdsaSha256, copy, b"message").unwrap();
    });
}

#[test]
fn what_another_program_changes_is_seen() {
    alone("what_another_program_changes_is_seen", || {
        use millstream_store::vault::LocalVault;
        use millstream_store::{Attributes, DeviceSecret, Role, Token, usage};
        let folder = PathBuf::from(std::env::var_os("MILLSTREAM_STORE").unwrap());
        let (client, slot) = client();
        let session = logged_in(&client, slot);
        assert!(session.find_objects(&[]).unwrap().is_empty());
        let features = millstream::features().unwrap();
        {
            let vault = LocalVault::new(features, DeviceSecret::find(&folder).unwrap().0);
            let mut file = File::open(&folder.join("tokens.redb")).unwrap();
            let mut token = Token::open(&mut file, &vault, "web", Role::User, PIN.as_bytes()).unwrap();
            let usages = usage::ENCRYPT | usage::DECRYPT;
            let attributes = Attributes {
                label: "other".into(),
                kind: "aes".into(),
                bits: 256,
                usages,
                ..Attributes::default()
            };
            token.add(&attributes, &[3; 32]).unwrap();
        }
        let found = session.find_objects(&[Attribute::Label(b"other".to_vec())]).unwrap();
        assert_eq!(found.len(), 1);
        let text = session.encrypt(&Mechanism::AesEcb, found[0], &[0; 16]).unwrap();
        assert_eq!(session.decrypt(&Mechanism::AesEcb, found[0], &text).unwrap(), [0; 16]);
        refused!(session.sign(&Mechanism::AesCMac, found[0], b"message"), KeyFunctionNotPermitted);
        session.update_attributes(found[0], &[Attribute::Label(b"ours".to_vec())]).unwrap();
        let file = File::open(&folder.join("tokens.redb")).unwrap();
        let token = file.find("web").unwrap();
        assert_eq!(file.labelled(token, "ours").unwrap().len(), 1);
    });
}

#[test]
fn sixteen_threads_work_in_sessions_of_their_own_and_in_one() {
    alone("sixteen_threads_work_in_sessions_of_their_own_and_in_one", || {
        let (client, slot) = client();
        let session = logged_in(&client, slot);
        let params = [Attribute::EcParams(P256.to_vec())];
        let (public, private) = session.generate_key_pair(&Mechanism::EccKeyPairGen, &params, &[]).unwrap();
        let signatures: Vec<Vec<u8>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16)
                .map(|_| {
                    let client = client.clone();
                    scope.spawn(move || {
                        let session = client.open_rw_session(slot).unwrap();
                        (0..50)
                            .map(|_| session.sign(&Mechanism::EcdsaSha256, private, b"message").unwrap())
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(signatures.iter().collect::<HashSet<_>>().len(), 800);
        for signature in &signatures {
            session.verify(&Mechanism::EcdsaSha256, public, b"message", signature).unwrap();
        }
    });
}

#[test]
fn a_forked_child_starts_anew_and_its_parent_goes_on() {
    alone("a_forked_child_starts_anew_and_its_parent_goes_on", || {
        let (client, slot) = client();
        let session = logged_in(&client, slot);
        let key = session.generate_key(&Mechanism::AesKeyGen, &[Attribute::ValueLen(32.into())]).unwrap();
        // SAFETY: the child only calls the module and exits.
        let child = unsafe { fork() };
        if child == 0 {
            let said = session.encrypt(&Mechanism::AesEcb, key, &[0; 16]);
            let is_new = matches!(said, Err(Error::Pkcs11(RvError::CryptokiNotInitialized, _)));
            let again = client.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK)).is_ok();
            let works = again
                && client.open_rw_session(slot).is_ok_and(|session| {
                    session.login(UserType::User, Some(&pin(PIN))).is_ok()
                        && session.find_objects(&[]).is_ok()
                });
            std::process::exit(if is_new && works { 0 } else { 1 });
        }
        assert_eq!(wait(child), 0);
        session.encrypt(&Mechanism::AesEcb, key, &[0; 16]).unwrap();
        refused!(
            client.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK)),
            CryptokiAlreadyInitialized
        );
    });
}

/// Forks.
///
/// # Safety
/// The child has one thread, and may call what is sound after a fork.
unsafe fn fork() -> i32 {
    // SAFETY: the caller's promise.
    unsafe { libc::fork() }
}

fn wait(child: i32) -> i32 {
    let mut status = 0;
    // SAFETY: `status` is a place for the status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    status
}
