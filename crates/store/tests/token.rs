//! Tokens: PINs, roles, and what a session notices of changes that were made behind its back.

mod common;

use common::{OFFICER, USER, attributes, secret, store, user, vault, vault_of};
use millstream_store::vault::{Change, Entry, Header, Records, Session, Vault};
use millstream_store::{Attributes, Error, File, ObjectId, Role, Token, TokenId, token};

#[test]
fn objects_come_back_and_are_found_by_label_and_identifier() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    let mut file = store(&path);
    let mut token = user(&mut file).unwrap();
    let objects: Vec<ObjectId> = (0..20).map(|i| token.add(&attributes(i), &secret(i)).unwrap()).collect();
    token.remove(objects[3]).unwrap();
    token.write(objects[4], &attributes(104), &secret(104)).unwrap();
    drop(file);

    let mut file = File::open(&path).unwrap();
    assert!(file.damage().is_empty());
    let mut token = user(&mut file).unwrap();
    for (i, object) in objects.iter().enumerate() {
        let i = if i == 4 { 104 } else { i };
        let found = token.find(&attributes(i).label);
        if i == 3 {
            assert!(matches!(found, Err(Error::NoObject(_))));
            assert!(matches!(token.read(*object), Err(Error::NoObject(_))));
            assert!(matches!(token.remove(*object), Err(Error::NoObject(_))));
            continue;
        }
        assert_eq!(found.unwrap(), *object);
        assert_eq!(token.find(&object.to_string()).unwrap(), *object);
        let (id, serial) = (attributes(i).id, token.id());
        assert_eq!(token.file().identified(serial, &id).unwrap(), [*object]);
        let (found, bytes) = token.read(*object).unwrap();
        assert_eq!((found, &bytes[..]), (attributes(i), &secret(i)[..]));
    }
    assert!(matches!(token.find("key 4"), Err(Error::NoObject(_))));
    token.add(&attributes(5), b"").unwrap();
    assert!(matches!(token.find("key 5"), Err(Error::Ambiguous(_))));
}

#[test]
fn a_wrong_pin_counts_until_the_officer_resets_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = store(&folder.path().join("tokens"));
    let open = |file: &mut File, role, pin: &[u8]| Token::open(file, &vault(), "web", role, pin).map(|_| ());
    for left in (0..9).rev() {
        // A right one in between takes all back.
        assert!(matches!(open(&mut file, Role::User, b"0000"), Err(Error::WrongPin { left: 9, .. })));
        open(&mut file, Role::User, USER).unwrap();
        let _ = left;
    }
    for left in (0..10).rev() {
        let error = open(&mut file, Role::User, b"0000").unwrap_err();
        assert!(matches!(error, Error::WrongPin { role: Role::User, left: l } if l == left), "{error}");
    }
    drop(file);
    let mut file = File::open(&folder.path().join("tokens")).unwrap();
    for pin in [USER, b"0000"] {
        assert!(matches!(open(&mut file, Role::User, pin), Err(Error::Locked(Role::User))));
    }
    assert_eq!(file.tokens().next().unwrap().user_tries_left, 0);

    assert!(matches!(open(&mut file, Role::Officer, USER), Err(Error::WrongPin { left: 9, .. })));
    let mut officer = Token::open(&mut file, &vault(), "web", Role::Officer, OFFICER).unwrap();
    officer.set_pin(Role::User, b"another").unwrap();
    assert!(matches!(officer.add(&attributes(1), b""), Err(Error::Role(Role::Officer))));
    assert!(matches!(open(&mut file, Role::User, USER), Err(Error::WrongPin { left: 9, .. })));
    let mut token = Token::open(&mut file, &vault(), "web", Role::User, b"another").unwrap();
    assert!(matches!(token.set_pin(Role::Officer, b"mine now"), Err(Error::Role(Role::User))));
    assert!(matches!(token.set_pin(Role::User, b"abc"), Err(Error::PinLength)));
    token.set_pin(Role::User, USER).unwrap();
    open(&mut file, Role::User, USER).unwrap();
}

/// A PIN that can't be right costs no try.
#[test]
fn no_try_is_spent_on_another_machine_or_without_a_user_pin() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = store(&folder.path().join("tokens"));
    let other = vault_of(&[8; 32]);
    let error = Token::open(&mut file, &other, "web", Role::User, USER).map(|_| ()).unwrap_err();
    assert!(matches!(&error, Error::OtherDevice { token } if token == "web"), "{error}");
    assert!(matches!(
        Token::open(&mut file, &vault(), "web", Role::User, b"123").map(|_| ()),
        Err(Error::PinLength)
    ));
    token::make(&mut file, &vault(), "new", OFFICER, None).unwrap();
    let error = Token::open(&mut file, &vault(), "new", Role::User, USER).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::NoUserPin), "{error}");
    assert!(file.tokens().all(|token| (token.user_tries_left, token.officer_tries_left) == (10, 10)));
    assert!(matches!(
        token::make(&mut file, &vault(), "new", OFFICER, None),
        Err(Error::TokenExists(label)) if label == "new"
    ));
    for label in ["", &"x".repeat(33), &"é".repeat(17)] {
        let error = token::make(&mut file, &vault(), label, OFFICER, None).unwrap_err();
        assert!(matches!(error, Error::TokenLabel), "{error}");
    }
    token::make(&mut file, &vault(), &"x".repeat(32), OFFICER, None).unwrap();
}

/// The records and the objects of a token, for whoever writes to its file.
struct Tampered {
    records: Records,
    objects: Vec<(ObjectId, Vec<u8>, Vec<u8>)>,
}

impl Tampered {
    fn of(file: &mut File) -> Self {
        let token = file.find("web").unwrap();
        let records = file.records(token).unwrap();
        let ids: Vec<ObjectId> = file.objects(token).unwrap().map(|(object, _)| object).collect();
        let objects = ids
            .into_iter()
            .map(|object| {
                let stored = file.get(token, object).unwrap();
                (object, stored.attributes, stored.sealed)
            })
            .collect();
        Tampered { records, objects }
    }

    /// Opens the token, and reads all of its objects.
    fn read(&self, pin: &[u8]) -> Result<usize, Error> {
        let entries = self.objects.iter().map(|(object, _, sealed)| Ok((*object, Entry::of(sealed)?)));
        let entries = entries.collect::<Result<Vec<_>, Error>>()?;
        let session = vault().unlock(&self.records, &mut entries.into_iter(), Role::User, pin)?;
        let session = session.ok_or(Error::WrongPin { role: Role::User, left: 0 })?;
        for (object, attributes, sealed) in &self.objects {
            session.open(*object, attributes, sealed)?;
        }
        Ok(self.objects.len())
    }
}

#[test]
fn nothing_is_exchanged_brought_back_left_out_or_added_singly() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = store(&folder.path().join("tokens"));
    let mut token = user(&mut file).unwrap();
    let objects: Vec<ObjectId> = (0..3).map(|i| token.add(&attributes(i), &secret(i)).unwrap()).collect();
    let old = Tampered::of(&mut file);
    let mut token = user(&mut file).unwrap();
    token.write(objects[0], &attributes(0), &secret(50)).unwrap();
    token.remove(objects[1]).unwrap();
    token.set_pin(Role::User, b"newer PIN").unwrap();
    let new = || Tampered::of(&mut File::open(&folder.path().join("tokens")).unwrap());
    drop(file);
    assert_eq!((old.read(USER).unwrap(), new().read(b"newer PIN").unwrap()), (3, 2));
    let at = |tampered: &Tampered, object| tampered.objects.iter().position(|it| it.0 == object).unwrap();

    // An older version of one object, alone or with the index of then.
    let mut tampered = new();
    let place = at(&tampered, objects[0]);
    tampered.objects[place] = old.objects[at(&old, objects[0])].clone();
    assert!(matches!(tampered.read(b"newer PIN"), Err(Error::RolledBack)));
    tampered.records.index.clone_from(&old.records.index);
    assert!(matches!(tampered.read(b"newer PIN"), Err(Error::RolledBack)));

    // An object that was removed.
    let mut tampered = new();
    tampered.objects.push(old.objects[at(&old, objects[1])].clone());
    assert!(matches!(tampered.read(b"newer PIN"), Err(Error::RolledBack)));

    // One that is left out.
    let mut tampered = new();
    tampered.objects.remove(0);
    assert!(matches!(tampered.read(b"newer PIN"), Err(Error::RolledBack)));

    // The header with the PIN that was replaced.
    let mut tampered = new();
    tampered.records.header.clone_from(&old.records.header);
    assert!(matches!(tampered.read(USER), Err(Error::RolledBack)));

    // Two objects that change places, and attributes that change theirs.
    let mut tampered = new();
    let (a, b) = (tampered.objects[0].0, tampered.objects[1].0);
    (tampered.objects[0].0, tampered.objects[1].0) = (b, a);
    assert!(matches!(tampered.read(b"newer PIN"), Err(Error::RolledBack)));
    let mut tampered = new();
    let label = tampered.objects[0].1.clone();
    tampered.objects[0].1 = tampered.objects[1].1.clone();
    tampered.objects[1].1 = label;
    assert!(matches!(tampered.read(b"newer PIN"), Err(Error::Forged("a key"))));
}

/// No bit of anything that is kept can be changed without an error.
#[test]
fn each_bit_counts() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = store(&folder.path().join("tokens"));
    let mut token = user(&mut file).unwrap();
    token.add(&attributes(9), &secret(9)).unwrap();
    let mut tampered = Tampered::of(&mut file);
    let mut tried = 0;
    let mut flip = |part: fn(&mut Tampered) -> &mut Vec<u8>, except: std::ops::Range<usize>| {
        for bit in (0..part(&mut tampered).len() * 8).filter(|bit| !except.contains(&(bit / 8))) {
            part(&mut tampered)[bit / 8] ^= 1 << (bit % 8);
            assert!(tampered.read(USER).is_err(), "bit {bit}");
            part(&mut tampered)[bit / 8] ^= 1 << (bit % 8);
            tried += 1;
        }
    };
    // A byte of the memory for Argon2 would make the test slow, with up to a GiB for a try.
    flip(|tampered| &mut tampered.records.header, 26..27);
    flip(|tampered| &mut tampered.records.index, 0..0);
    flip(|tampered| &mut tampered.objects[0].1, 0..0);
    flip(|tampered| &mut tampered.objects[0].2, 0..0);
    assert_eq!(tampered.read(USER).unwrap(), 1);
    assert!(tried > 3000, "{tried} bits");
}

#[test]
fn an_object_of_another_token_is_none_of_this_one() {
    let vault = vault();
    let session = |serial: u8| {
        let records = vault.make(TokenId([serial; 16]), "t", OFFICER, Some(USER)).unwrap();
        vault.unlock(&records, &mut std::iter::empty(), Role::User, USER).unwrap().unwrap()
    };
    let (mut one, mut other) = (session(1), session(2));
    let (object, attributes) = (ObjectId([3; 16]), attributes(1).encode().unwrap());
    let Change { sealed, .. } = one.seal(object, &attributes, b"secret").unwrap();
    one.applied();
    let sealed = sealed.unwrap();
    assert_eq!(&one.open(object, &attributes, &sealed).unwrap()[..], b"secret");
    other.seal(object, &attributes, b"secret").unwrap();
    other.applied();
    assert!(matches!(other.open(object, &attributes, &sealed), Err(Error::Forged(_))));
}

/// A change that the file could not take is made again under the same version, with another secret. The first one is not the token's.
#[test]
fn a_change_that_failed_can_not_take_the_place_of_the_one_that_followed() {
    let vault = vault();
    let records = vault.make(TokenId([1; 16]), "t", OFFICER, Some(USER)).unwrap();
    let unlock = |records: &Records, objects: Vec<(ObjectId, Entry)>| {
        vault.unlock(records, &mut objects.into_iter(), Role::User, USER).map(Option::unwrap)
    };
    let mut session = unlock(&records, Vec::new()).unwrap();
    let object = ObjectId([3; 16]);
    let [failed, done] = [b"failed", b"done.."].map(|secret| session.seal(object, &[], secret).unwrap());
    session.applied();
    let [failed, sealed] = [failed.sealed, done.sealed].map(Option::unwrap);
    let [of_failed, of_done] = [&failed, &sealed].map(|sealed| Entry::of(sealed).unwrap());
    assert_eq!((of_failed.version, of_done.version), (1, 1));
    assert_ne!(failed[9..21], sealed[9..21], "the nonce was used twice");
    assert!(matches!(session.open(object, &[], &failed), Err(Error::Forged(_))));
    assert_eq!(&session.open(object, &[], &sealed).unwrap()[..], b"done..");
    let records = Records { index: done.index, ..records };
    assert!(matches!(unlock(&records, vec![(object, of_failed)]), Err(Error::RolledBack)));
    unlock(&records, vec![(object, of_done)]).unwrap();
}

/// A session is told nothing but what was applied, and a change is made on the state that the session knows.
#[test]
fn two_sessions_do_not_overwrite_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = store(&folder.path().join("tokens"));
    let serial = file.find("web").unwrap();
    let records = file.records(serial).unwrap();
    let mut sessions: Vec<_> = (0..2)
        .map(|_| vault().unlock(&records, &mut std::iter::empty(), Role::User, USER).unwrap().unwrap())
        .collect();
    let bytes = attributes(1).encode().unwrap();
    for (i, session) in sessions.iter_mut().enumerate() {
        let object = ObjectId([i as u8; 16]);
        let before = session.index().to_vec();
        let change = session.seal(object, &bytes, b"secret").unwrap();
        let changed = file.change(serial, object, &before, &bytes, &change);
        match i {
            0 => changed.map(|()| session.applied()).unwrap(),
            _ => assert!(matches!(changed, Err(Error::Stale))),
        }
    }
    assert_eq!(user(&mut file).unwrap().file().tokens().next().unwrap().objects, 1);
}

#[test]
fn limits_have_errors() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = store(&folder.path().join("tokens"));
    let mut token = user(&mut file).unwrap();
    let plain = Attributes::default();
    assert!(matches!(token.add(&plain, &[0; 65537]), Err(Error::TooLong { .. })));
    let object = token.add(&plain, &[1; 65536]).unwrap();
    assert_eq!(token.read(object).unwrap().1.len(), 65536);
    let header = Header::decode(&file.records(file.find("web").unwrap()).unwrap().header).unwrap();
    for len in 0..header.encode().len() {
        assert!(Header::decode(&header.encode()[..len]).is_err(), "{len} bytes");
    }
}

#[test]
fn a_session_goes_on_with_what_others_changed_and_not_with_an_older_state() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    let mut file = store(&path);
    let attributes = attributes(1);
    let mut left = user(&mut file).unwrap().leave();
    let id = file.find("web").unwrap();
    let before = (file.records(id).unwrap(), file.objects(id).unwrap().collect::<Vec<_>>());
    user(&mut file).unwrap().add(&attributes, b"theirs").unwrap();
    // Without a look at what changed, nothing is changed in turn.
    let mut behind = Token::resume(&mut file, id, left);
    assert!(matches!(behind.add(&attributes, b"ours"), Err(Error::Stale)));
    left = behind.leave();
    left.refresh(&file.records(id).unwrap(), &mut file.objects(id).unwrap()).unwrap();
    let mut level = Token::resume(&mut file, id, left);
    let ours = level.add(&attributes, b"ours").unwrap();
    assert_eq!(&level.read(ours).unwrap().1[..], b"ours");
    left = level.leave();
    let older = left.refresh(&before.0, &mut before.1.into_iter());
    assert!(matches!(older, Err(Error::RolledBack)));
}

/// Several sessions of one token, as processes have them that share a store.
#[test]
fn a_session_takes_what_others_have_changed_and_nothing_older() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = store(&folder.path().join("tokens"));
    let id = file.find("web").unwrap();
    let open = |file: &File| {
        let records = file.records(id).unwrap();
        vault().unlock(&records, &mut file.objects(id).unwrap(), Role::User, USER).unwrap().unwrap()
    };
    let old = file.records(id).unwrap();
    let (mut first, mut second) = (open(&file), open(&file));
    let bytes = attributes(1).encode().unwrap();
    let object = ObjectId([1; 16]);
    let add = |session: &mut millstream_store::vault::LocalSession, file: &mut File, object| {
        let before = session.index().to_vec();
        let change = session.seal(object, &bytes, &secret(1)).unwrap();
        file.change(id, object, &before, &bytes, &change).map(|()| session.applied())
    };
    add(&mut first, &mut file, object).unwrap();
    assert!(matches!(add(&mut second, &mut file, ObjectId([2; 16])), Err(Error::Stale)));
    let records = file.records(id).unwrap();
    // Not with an object left out.
    assert!(matches!(second.refresh(&records, &mut std::iter::empty()), Err(Error::RolledBack)));
    second.refresh(&records, &mut file.objects(id).unwrap()).unwrap();
    let stored = file.get(id, object).unwrap();
    assert_eq!(second.open(object, &stored.attributes, &stored.sealed).unwrap()[..], secret(1)[..]);
    add(&mut second, &mut file, ObjectId([2; 16])).unwrap();
    // An earlier state is not taken any more.
    assert!(matches!(second.refresh(&old, &mut std::iter::empty()), Err(Error::RolledBack)));
    first.refresh(&file.records(id).unwrap(), &mut file.objects(id).unwrap()).unwrap();
    assert_eq!(first.index(), second.index());
}
