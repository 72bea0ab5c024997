//! PINs and the policy.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use cryptoki::mechanism::Mechanism;
use cryptoki::object::Attribute;
use cryptoki::session::UserType;

use crate::bed::{PIN, SO_PIN, alone, client, load, logged_in, make, pin};
use crate::refused;

/// A user who is not the service's.
const NOBODY: u32 = 65534;

#[test]
fn ten_wrong_pins_lock_a_token_until_its_officer_sets_another() {
    alone("pins::ten_wrong_pins_lock_a_token_until_its_officer_sets_another", |bed| {
        let service = bed.serve();
        make(&service);
        let (client, slot) = client();
        let session = client.open_rw_session(slot).unwrap();
        refused!(session.login(UserType::User, Some(&pin("12"))), PinIncorrect);
        for left in (0..10).rev() {
            refused!(session.login(UserType::User, Some(&pin("000000"))), PinIncorrect);
            let info = client.get_token_info(slot).unwrap();
            assert_eq!((info.user_pin_final_try(), info.user_pin_locked()), (left == 1, left == 0));
        }
        refused!(session.login(UserType::User, Some(&pin(PIN))), PinLocked);
        session.login(UserType::So, Some(&pin(SO_PIN))).unwrap();
        session.init_pin(&pin("161803")).unwrap();
        session.logout().unwrap();
        session.login(UserType::User, Some(&pin("161803"))).unwrap();
        let key = [Attribute::Token(true), Attribute::ValueLen(32.into())];
        let first = session.generate_key(&Mechanism::AesKeyGen, &key).unwrap();
        refused!(session.set_pin(&pin("000000"), &pin("577215")), PinIncorrect);
        session.set_pin(&pin("161803"), &pin("577215")).unwrap();
        // The user who is logged in goes on with the token that has another PIN, after another start of the service, too.
        session.encrypt(&Mechanism::AesEcb, first, &[0; 16]).unwrap();
        drop(service);
        let _service = bed.serve();
        session.encrypt(&Mechanism::AesEcb, first, &[0; 16]).unwrap();
        session.generate_key(&Mechanism::AesKeyGen, &key).unwrap();
        refused!(session.login(UserType::User, Some(&pin(PIN))), UserAlreadyLoggedIn);
        session.logout().unwrap();
        refused!(session.login(UserType::User, Some(&pin("161803"))), PinIncorrect);
        session.login(UserType::User, Some(&pin("577215"))).unwrap();
        session.logout().unwrap();
        drop(session);

        // A token is made anew, and another one in the slot for it.
        refused!(client.init_token(slot, &pin("000000"), "web"), PinIncorrect);
        client.init_token(slot, &pin(SO_PIN), "web").unwrap();
        let info = client.get_token_info(slot).unwrap();
        assert_eq!((info.label(), info.user_pin_initialized()), ("web", false));
        let empty = *client.get_slots_with_token().unwrap().last().unwrap();
        refused!(client.init_token(empty, &pin(SO_PIN), "web"), ArgumentsBad);
        client.init_token(empty, &pin(SO_PIN), "more").unwrap();
        assert_eq!(client.get_token_info(empty).unwrap().label(), "more");
        // A token that can't be made anew stays as it is.
        refused!(client.init_token(slot, &pin(SO_PIN), "more"), ArgumentsBad);
        assert_eq!(client.get_token_info(slot).unwrap().label(), "web");
        let session = client.open_rw_session(slot).unwrap();
        refused!(session.login(UserType::User, Some(&pin(PIN))), UserPinNotInitialized);
    });
}

/// Somebody else changes the PIN: a program that works on spends one try and does not lock the token.
#[test]
fn a_pin_that_is_right_no_more_is_tried_once() {
    alone("pins::a_pin_that_is_right_no_more_is_tried_once", |bed| {
        let service = bed.serve();
        let token = make(&service);
        let (client, slot) = client();
        let session = logged_in(&client, slot);
        let wanted = [Attribute::Token(true), Attribute::ValueLen(32.into())];
        let key = session.generate_key(&Mechanism::AesKeyGen, &wanted).unwrap();
        session.encrypt(&Mechanism::AesEcb, key, &[0; 16]).unwrap();
        let other = service.attach().unwrap();
        let open = other.open_token(token, millstream::isolated::token::Pin::User(PIN.as_bytes())).unwrap();
        open.set_pin(millstream::isolated::token::Pin::User(b"577215")).unwrap();
        drop((open, other, service));
        let _service = bed.serve();
        for _ in 0..12 {
            refused!(session.encrypt(&Mechanism::AesEcb, key, &[0; 16]), PinIncorrect);
        }
        let info = client.get_token_info(slot).unwrap();
        assert!(info.user_pin_count_low() && !info.user_pin_locked());
        session.logout().unwrap();
        session.login(UserType::User, Some(&pin("577215"))).unwrap();
        let key = session.find_objects(&[]).unwrap()[0];
        session.encrypt(&Mechanism::AesEcb, key, &[0; 16]).unwrap();
        assert!(!client.get_token_info(slot).unwrap().user_pin_count_low());
    });
}

/// The body of the next test in the process of a user who may use the token only.
#[test]
#[ignore = "run by another test, as another user"]
fn as_a_user() {
    let (client, slot) = client();
    assert!(client.get_token_info(slot).unwrap().write_protected());
    assert_eq!(client.get_slots_with_token().unwrap().len(), 1, "there is no slot for a new token");
    let session = logged_in(&client, slot);
    let key = session.find_objects(&[Attribute::Label(b"key".to_vec())]).unwrap()[0];
    session.sign(&Mechanism::Sha256Hmac, key, b"message").unwrap();
    let wanted = [Attribute::Token(true), Attribute::ValueLen(32.into())];
    refused!(session.generate_key(&Mechanism::AesKeyGen, &wanted), TokenWriteProtected);
    refused!(session.destroy_object(key), TokenWriteProtected);
    refused!(session.set_pin(&pin(PIN), &pin("577215")), TokenWriteProtected);
    session.generate_key(&Mechanism::AesKeyGen, &wanted[1..]).unwrap();
}

/// Runs one test of a program as another user, and requires that it passes.
fn passes_as_nobody(program: &Path, test: &str) {
    let run = Command::new(program)
        .args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env("MILLSTREAM_SERVICE_UID", "0")
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    let (said, told) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success() && said.contains("1 passed"), "{said}{told}");
}

#[test]
fn who_is_no_manager_uses_keys_and_changes_nothing() {
    if !nix::unistd::geteuid().is_root() {
        println!("SKIPPED who_is_no_manager_uses_keys_and_changes_nothing: this needs root");
        return;
    }
    alone("pins::who_is_no_manager_uses_keys_and_changes_nothing", |bed| {
        use std::os::unix::fs::PermissionsExt;
        let service = bed.serve_with("users = [\"65534\"]\n");
        make(&service);
        let (client, slot) = client();
        let session = logged_in(&client, slot);
        let wanted =
            [Attribute::Token(true), Attribute::ValueLen(32.into()), Attribute::Label(b"key".to_vec())];
        session.generate_key(&Mechanism::GenericSecretKeyGen, &wanted).unwrap();
        let socket = service.socket();
        for path in [&bed.0, service.folder(), socket.parent().unwrap()] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        // The other user may not reach the folder of this test's program, so it gets a copy.
        let library = bed.0.join("libmillstream_pkcs11.so");
        let built = std::env::current_exe().unwrap().with_file_name("libmillstream_pkcs11.so");
        std::fs::copy(built, &library).unwrap();
        let copy = bed.0.join("program");
        millstream_testkit::copy_program(&std::env::current_exe().unwrap(), &copy);
        passes_as_nobody(&copy, "pins::as_a_user");
        // Whom the policy does not name sees no slots.
        drop(service);
        let service = bed.serve_with("");
        std::fs::set_permissions(service.folder(), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::set_permissions(service.socket().parent().unwrap(), std::fs::Permissions::from_mode(0o755))
            .unwrap();
        passes_as_nobody(&copy, "pins::as_a_stranger");
    });
}

/// The body of the process of a user whom the policy does not name.
#[test]
#[ignore = "run by another test, as another user"]
fn as_a_stranger() {
    assert!(load().get_all_slots().unwrap().is_empty());
}
