//! Tries of PINs that end otherwise than with a right or a wrong PIN.

use millstream::isolated::KeyRefusal;
use millstream::isolated::token::Pin;
use millstream_store::vault::Change;
use millstream_store::{File, ObjectId, TokenId};

use super::tokens::{Kept, asked, make, open, refused, token};

/// Somebody puts an older state of one object into the file. The right PIN finds it, which is no wrong PIN, and spends no try.
#[test]
fn a_token_that_is_not_what_was_sealed_counts_no_wrong_pin() {
    let kept = Kept::new();
    let service = kept.serve();
    let web = make(&service);
    let accelerator = service.attach().unwrap();
    let session = open(&accelerator, web);
    let (object, made) = session.generate(&asked("key", "aes"), None).unwrap();
    drop((session, accelerator, service));
    let (path, serial, name) =
        (kept.store().join("tokens.redb"), TokenId(web.to_be_bytes()), ObjectId(object.to_be_bytes()));
    let older = File::open(&path).unwrap().get(serial, name).unwrap();

    let service = kept.serve();
    let accelerator = service.attach().unwrap();
    let session = open(&accelerator, web);
    let renamed = millstream::isolated::token::Attributes { label: "renamed".into(), ..made };
    session.change(object, &renamed).unwrap();
    drop((session, accelerator, service));
    let mut file = File::open(&path).unwrap();
    let index = file.records(serial).unwrap().index;
    let change = Change { sealed: Some(older.sealed), index: index.clone() };
    file.change(serial, name, &index, &older.attributes, &change).unwrap();
    drop(file);

    let service = kept.serve();
    let accelerator = service.attach().unwrap();
    refused(accelerator.open_token(web, Pin::User(b"314159")), KeyRefusal::Forged);
    let counted = || {
        ["wrong_pins", "failed_tries", "tokens_opened"]
            .map(|name| kept.metric(&format!("millstream_{name}_total")))
    };
    assert_eq!((counted(), token(&service).user_tries_left), ([0, 1, 0], 10));
    // A wrong PIN is one, whatever the token is.
    let wrong = accelerator.open_token(web, Pin::User(b"271828")).unwrap_err();
    assert_eq!(wrong, millstream::Error::WrongPin { left: 9 });
    assert_eq!(counted(), [1, 1, 0]);
}
