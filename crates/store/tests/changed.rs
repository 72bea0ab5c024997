//! Rows of the store's file that somebody has flipped bits of, cut, or made longer: what was sealed is read or an error is told, and nothing
//! is deleted, so that the row's former bytes bring everything back.

mod common;

use std::path::Path;

use common::{attributes, secret, store, user};
use millstream_store::{Error, File};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

type Table = TableDefinition<'static, &'static [u8], &'static [u8]>;

const HEADERS: Table = TableDefinition::new("headers");
const INDICES: Table = TableDefinition::new("indices");
const TRIES: Table = TableDefinition::new("tries");
const OBJECTS: Table = TableDefinition::new("objects");

type Row = (Vec<u8>, Vec<u8>);

fn rows(path: &Path, table: Table) -> Vec<Row> {
    let database = Database::open(path).unwrap();
    let table = database.begin_read().unwrap().open_table(table).unwrap();
    let owned = |row: redb::Result<_, redb::StorageError>| {
        let (key, value): (redb::AccessGuard<'_, &[u8]>, redb::AccessGuard<'_, &[u8]>) = row.unwrap();
        (key.value().to_vec(), value.value().to_vec())
    };
    table.iter().unwrap().map(owned).collect()
}

fn put(path: &Path, table: Table, (key, value): (&[u8], &[u8])) {
    let database = Database::open(path).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(table).unwrap().insert(key, value).unwrap();
    transaction.commit().unwrap();
}

/// Flips a bit in twelve places, ends in six, and goes on after the end in three ways.
fn changes(whole: &[u8]) -> Vec<Vec<u8>> {
    let flipped = (0..12).map(|part| {
        let mut bytes = whole.to_vec();
        let at = part * (whole.len() - 1) / 11;
        bytes[at] ^= 1 << (part % 8);
        bytes
    });
    let cut = (0..6).map(|part| whole[..whole.len() * part / 6].to_vec());
    let grown = [&[0][..], &[0xff; 100], whole].map(|more| [whole, more].concat());
    flipped.chain(cut).chain(grown).collect()
}

const KEYS: usize = 3;

/// Reads all keys of the token, and returns how many are there: whatever is read is what was sealed.
fn read(file: &mut File, what: &str) -> Result<usize, Error> {
    let mut token = user(file)?;
    let mut found = 0;
    for i in 0..KEYS {
        let Ok(object) = token.find(&attributes(i).label) else { continue };
        let Ok((is, bytes)) = token.read(object) else { continue };
        assert_eq!((is, &bytes[..]), (attributes(i), &secret(i)[..]), "{what}");
        found += 1;
    }
    Ok(found)
}

#[test]
fn a_changed_row_is_refused_and_stays() {
    let folder = tempfile::tempdir_in(millstream_testkit::memory()).unwrap();
    let path = folder.path().join("tokens");
    let mut file = store(&path);
    let mut token = user(&mut file).unwrap();
    for i in 0..KEYS {
        token.add(&attributes(i), &secret(i)).unwrap();
    }
    drop(file);
    let (mut cases, mut refused) = (0, 0);
    for (name, table) in [("headers", HEADERS), ("indices", INDICES), ("tries", TRIES), ("objects", OBJECTS)]
    {
        for (key, whole) in rows(&path, table) {
            for (step, bytes) in changes(&whole).into_iter().enumerate() {
                let what = format!("{name}, change {step}");
                put(&path, table, (&key, &bytes));
                let mut file = File::open(&path).unwrap_or_else(|error| panic!("{what}: {error}"));
                refused += usize::from(read(&mut file, &what).is_err());
                let is_damaged = !file.damage().is_empty();
                drop(file);
                let now = rows(&path, table);
                // A try that was counted is a change of its row.
                let stays = name == "tries" || now.contains(&(key.clone(), bytes.clone()));
                assert!(stays && rows(&path, OBJECTS).len() == KEYS, "{what}, damaged: {is_damaged}");
                put(&path, table, (&key, &whole));
                let mut file = File::open(&path).unwrap();
                assert_eq!(read(&mut file, &what).unwrap(), KEYS, "{what}, with the former bytes");
                cases += 1;
            }
        }
    }
    assert!(cases > 100, "{cases} cases");
    assert!(refused > cases / 2, "{refused} of {cases} refused");
}
