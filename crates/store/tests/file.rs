//! The file: who may read it, who has it open, and what is done with one that is no store, is damaged or too new.

mod common;

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use common::{OFFICER, USER, attributes, secret, store, user, vault};
use millstream_store::{Error, File, ObjectId, token};
use redb::{Database, ReadableDatabase, TableDefinition};

type Table = TableDefinition<'static, &'static [u8], &'static [u8]>;

/// The bytes of a page.
const PAGE: usize = 4096;

const META: Table = TableDefinition::new("meta");
const OBJECTS: Table = TableDefinition::new("objects");
const HEADERS: Table = TableDefinition::new("headers");

/// Writes a row of a table, as somebody else may who has the file.
fn put(path: &Path, table: Table, key: &[u8], value: &[u8]) {
    let database = Database::open(path).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(table).unwrap().insert(key, value).unwrap();
    transaction.commit().unwrap();
}

fn get(path: &Path, table: Table, key: &[u8]) -> Vec<u8> {
    let database = Database::open(path).unwrap();
    let table = database.begin_read().unwrap().open_table(table).unwrap();
    table.get(key).unwrap().unwrap().value().to_vec()
}

#[test]
fn a_store_is_its_owners_and_replaces_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    assert!(matches!(File::open(&path), Err(Error::Missing(_))));
    let file = File::create(&path).unwrap();
    assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o600);
    assert!(matches!(File::create(&path), Err(Error::Exists(_))));
    assert!(matches!(File::open(&path), Err(Error::InUse(_))));
    drop(file);
    assert_eq!(File::open(&path).unwrap().tokens().count(), 0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "something was left behind");
    assert!(matches!(File::create(Path::new("/nonexistent/tokens")), Err(Error::Io { .. })));
}

#[test]
fn what_is_no_store_or_too_new_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    for bytes in [&b""[..], b"text", &[0; 100_000], b"redb\x1a\x0a\xa9\x0d\x0a and no more"] {
        std::fs::write(&path, bytes).unwrap();
        let error = File::open(&path).unwrap_err();
        assert!(matches!(error, Error::NotAStore(_) | Error::Damaged { .. }), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
    std::fs::remove_file(&path).unwrap();
    drop(store(&path));
    put(&path, META, b"format", &2u32.to_be_bytes());
    let error = File::open(&path).unwrap_err();
    assert!(matches!(error, Error::Newer { version: 2, .. }), "{error}");
    assert_eq!(get(&path, META, b"format"), 2u32.to_be_bytes());
    put(&path, META, b"format", &1u32.to_be_bytes());
    File::open(&path).unwrap();
    // A database of another program.
    let other = folder.path().join("other");
    put(&other_database(&other), META, b"what", b"else");
    assert!(matches!(File::open(&other), Err(Error::NotAStore(_))));
}

fn other_database(path: &Path) -> std::path::PathBuf {
    drop(Database::create(path).unwrap());
    path.to_owned()
}

#[test]
fn records_that_cant_be_understood_are_named_and_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    let mut file = store(&path);
    let serial = file.find("web").unwrap();
    token::make(&mut file, &vault(), "other", OFFICER, Some(USER)).unwrap();
    let object = user(&mut file).unwrap().add(&attributes(1), &secret(1)).unwrap();
    drop(file);
    let key = [serial.0, object.0].concat();
    let whole = get(&path, OBJECTS, &key);
    put(&path, OBJECTS, &key, &whole[..20]);
    put(&path, HEADERS, &[9; 16], b"\x02 a header of a newer version");

    let mut file = File::open(&path).unwrap();
    let named: Vec<(bool, Option<ObjectId>)> =
        file.damage().iter().map(|damage| (damage.token == serial, damage.object)).collect();
    assert_eq!(named, [(false, None), (true, Some(object))]);
    assert!(matches!(user(&mut file), Err(Error::RolledBack)));
    assert_eq!(file.tokens().count(), 2);
    drop(file);
    assert_eq!(get(&path, OBJECTS, &key), &whole[..20]);
    put(&path, OBJECTS, &key, &whole);
    let mut file = File::open(&path).unwrap();
    assert_eq!(user(&mut file).unwrap().read(object).unwrap().0, attributes(1));
}

/// Somebody changes bytes of the file, anywhere. It opens and gives nothing but what was sealed, or it doesn't open.
#[test]
fn a_damaged_file_never_gives_something_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    let mut file = store(&path);
    let mut token = user(&mut file).unwrap();
    for i in 0..8 {
        token.add(&attributes(i), &secret(i)).unwrap();
    }
    drop(file);
    let whole = std::fs::read(&path).unwrap();
    let pages = whole.chunks(PAGE).enumerate().filter(|(_, page)| page.iter().any(|byte| *byte != 0));
    let cuts = (1..10).map(|tenth| (whole.len() * tenth / 10, None));
    let faults: Vec<(usize, Option<usize>)> = pages
        .flat_map(|(i, page)| {
            let used: Vec<usize> = (0..PAGE).filter(|&at| page[at] != 0).collect();
            [1, 2, 3, 4, 5, 6, 7, 8, 9]
                .map(|part| (whole.len(), Some(i * PAGE + used[used.len() * part / 10])))
        })
        .chain(cuts)
        .collect();
    let (mut refused, mut read) = (0, 0);
    for (step, (len, at)) in faults.into_iter().enumerate() {
        let mut bytes = whole[..len].to_vec();
        if let Some(at) = at {
            bytes[at] ^= 1 << (step % 8);
        }
        std::fs::write(&path, &bytes).unwrap();
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(Error::NotAStore(_) | Error::Damaged { .. } | Error::Io { .. } | Error::Newer { .. }) => {
                refused += 1;
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        let Ok(mut token) = user(&mut file) else {
            refused += 1;
            continue;
        };
        for i in 0..8 {
            let object = token.find(&attributes(i).label).unwrap();
            let (is, bytes) = token.read(object).unwrap();
            assert_eq!((is, &bytes[..]), (attributes(i), &secret(i)[..]));
        }
        read += 1;
    }
    assert!(refused > 15 && read > 5, "{refused} refused, {read} read");
}

#[test]
fn a_removed_token_leaves_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    let mut file = store(&path);
    token::make(&mut file, &vault(), "other", OFFICER, Some(USER)).unwrap();
    user(&mut file).unwrap().add(&attributes(1), &secret(1)).unwrap();
    let other = file.find("other").unwrap();
    file.remove_token(other).unwrap();
    assert!(matches!(file.find("other"), Err(Error::NoToken(label)) if label == "other"));
    assert!(matches!(file.remove_token(other), Err(Error::NoToken(_))));
    drop(file);
    let mut file = File::open(&path).unwrap();
    let mut token = user(&mut file).unwrap();
    let object = token.find("key 1").unwrap();
    assert_eq!(token.read(object).unwrap().1[..], secret(1)[..]);
}

#[test]
fn a_token_takes_the_place_of_another_and_each_change_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    let mut file = store(&path);
    let changes = |file: &File| file.tokens().map(|token| token.changes).collect::<Vec<_>>();
    assert_eq!(changes(&file), [1]);
    user(&mut file).unwrap().add(&attributes(1), &secret(1)).unwrap();
    assert_eq!(changes(&file), [2]);
    let other = token::make(&mut file, &vault(), "other", OFFICER, None).unwrap();
    let old = file.find("web").unwrap();
    let taken = token::replace(&mut file, &vault(), old, "other", OFFICER);
    assert!(matches!(taken, Err(Error::TokenExists(label)) if label == "other"));
    // Its own label is free, and so is any that no other token has.
    let new = token::replace(&mut file, &vault(), old, "web", OFFICER).unwrap();
    assert!(matches!(token::replace(&mut file, &vault(), old, "gone", OFFICER), Err(Error::NoToken(_))));
    let renamed = token::replace(&mut file, &vault(), new, "renamed", OFFICER).unwrap();
    drop(file);
    let file = File::open(&path).unwrap();
    let mut left: Vec<_> =
        file.tokens().map(|token| (token.token, token.objects, token.has_user_pin)).collect();
    left.sort_unstable_by_key(|(token, ..)| *token != other);
    assert_eq!(left, [(other, 0, false), (renamed, 0, false)]);
    assert!(matches!(file.find("web"), Err(Error::NoToken(_))));
}

/// A store that may only be read is looked at in a copy, also while another process has it open. Nothing can be changed there.
#[test]
fn a_copy_shows_what_there_is_and_takes_no_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    let missing = File::copied_within(&path, Duration::ZERO);
    assert!(matches!(missing, Err(Error::Missing(_))), "{missing:?}");
    let mut file = store(&path);
    let object = user(&mut file).unwrap().add(&attributes(1), &secret(1)).unwrap();
    let mut copy = File::copied_within(&path, Duration::from_secs(10)).unwrap();
    assert_eq!(copy.tokens().collect::<Vec<_>>(), file.tokens().collect::<Vec<_>>());
    let token = copy.find("web").unwrap();
    assert_eq!(copy.get(token, object).unwrap(), file.get(token, object).unwrap());
    // A PIN is not tried, since the try could not be counted.
    let tried = user(&mut copy).map(|_| ());
    assert!(matches!(tried, Err(Error::ReadOnly(_))), "{tried:?}");
    assert!(matches!(copy.remove_token(token), Err(Error::ReadOnly(_))));
    assert_eq!(file.tokens().next().unwrap().user_tries_left, 10);
    std::fs::write(&path, [7; 5000]).unwrap();
    assert!(matches!(
        File::copied_within(&path, Duration::ZERO),
        Err(Error::NotAStore(_) | Error::Damaged { .. })
    ));
}
