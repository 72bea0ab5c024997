//! Sealed records of tokens, as the file, the broker and a worker read them: any bytes are refused or taken for what they are, and nothing
//! that was changed, cut or made longer opens.
#![cfg_attr(fuzzing, no_main)]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use millstream_broker::records::{bytes, parse};
use millstream_cpu::Features;
use millstream_store::vault::{Cost, Entry, Header, LocalSession, LocalVault, Records, Session, Vault};
use millstream_store::{Attributes, DeviceSecret, Error, ObjectId, Role, TokenId};

const PIN: &[u8] = b"1234";

/// A token with two objects, and all that is known of it.
struct Made {
    vault: LocalVault,
    records: Records,
    objects: Vec<(ObjectId, Vec<u8>, Vec<u8>)>,
    session: LocalSession,
}

fn made() -> &'static Made {
    static MADE: OnceLock<Made> = OnceLock::new();
    MADE.get_or_init(|| {
        let cost = Cost { memory_kib: 8, passes: 1, lanes: 1 };
        let device = DeviceSecret::new(&[7; 32]).expect("32 bytes");
        let vault = LocalVault::with_cost(Features::hardware(), device, cost);
        let made = vault.make(TokenId([1; 16]), "web", b"officer", Some(PIN)).expect("a token");
        let opened = vault.unlock(&made, &mut std::iter::empty(), Role::User, PIN);
        let mut session = opened.expect("it is whole").expect("the PIN is right");
        let mut objects = Vec::new();
        for i in [1, 2] {
            let asked = Attributes { label: format!("key {i}"), kind: "aes".into(), ..Attributes::default() };
            let (object, attributes) = (ObjectId([i; 16]), asked.encode().expect("short attributes"));
            let change = session.seal(object, &attributes, &[i; 32]).expect("a short secret");
            session.applied();
            objects.push((object, attributes, change.sealed.expect("an object that is added")));
        }
        let records = Records { header: made.header, index: session.index().to_vec() };
        Made { vault, records, objects, session }
    })
}

impl Made {
    fn entries(&self) -> impl Iterator<Item = (ObjectId, Entry)> + '_ {
        self.objects.iter().map(|(object, _, sealed)| (*object, Entry::of(sealed).expect("it is whole")))
    }

    /// Opens records with the right PIN.
    fn opens(&self, records: &Records, entries: Vec<(ObjectId, Entry)>) -> bool {
        // A header may ask for much memory, which is looked at before anything is derived.
        let cost = Header::decode(&records.header).map(|header| header.cost.memory_kib);
        if cost.is_ok_and(|memory_kib| memory_kib > 64) {
            let _ = self.vault.check(&records.header, Role::User, PIN);
            return false;
        }
        matches!(self.vault.unlock(records, &mut entries.into_iter(), Role::User, PIN), Ok(Some(_)))
    }
}

/// Changes bytes in one of three ways: a flipped byte, an early end, or more at the end.
fn changed(whole: &[u8], how: u8, at: usize, flip: u8, more: &[u8]) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let at = at % bytes.len();
    match how % 3 {
        0 => bytes[at] ^= flip,
        1 => bytes.truncate(at),
        _ => bytes.extend(more),
    }
    bytes
}

fuzz_target!(|data: &[u8]| {
    let made = made();

    // Bytes from nowhere.
    let _ = (Header::decode(data), Attributes::decode(data), Entry::of(data));
    if let Some((records, entries)) = parse(data) {
        assert!(data.starts_with(&bytes(&records, entries.iter().copied())), "records have one encoding");
        assert!(!made.opens(&records, entries), "bytes from nowhere are a token");
    }

    // What was made here, and changed in one place.
    let Some((&[which, how, low, high, flip], more)) = data.split_first_chunk::<5>() else { return };
    let at = usize::from(u16::from_le_bytes([low, high]));
    let change = |whole: &[u8]| changed(whole, how, at, flip, more);
    let (object, attributes, sealed) = &made.objects[usize::from(which >> 4 & 1)];
    match which % 5 {
        0 => {
            let whole = bytes(&made.records, made.entries());
            let Some((records, entries)) = parse(&change(&whole)) else { return };
            let same = records == made.records && entries == made.entries().collect::<Vec<_>>();
            assert_eq!(made.opens(&records, entries), same);
        }
        1 => {
            let records = Records { header: change(&made.records.header), ..made.records.clone() };
            let same = records == made.records;
            assert_eq!(made.opens(&records, made.entries().collect()), same);
        }
        2 => {
            let records = Records { index: change(&made.records.index), ..made.records.clone() };
            let same = records == made.records;
            assert_eq!(made.opens(&records, made.entries().collect()), same);
            let mut session = made.session.clone();
            let refreshed = session.refresh(&records, &mut made.entries());
            assert_eq!(refreshed.is_ok(), same);
        }
        3 => {
            let others = change(attributes);
            let opened = made.session.open(*object, &others, sealed);
            assert_eq!(opened.is_ok(), others == *attributes, "{opened:?}");
        }
        _ => {
            let other = change(sealed);
            let opened = made.session.open(*object, attributes, &other);
            assert_eq!(opened.is_ok(), other == *sealed);
            assert!(matches!(opened, Ok(_) | Err(Error::Forged(_) | Error::Malformed(_))), "{opened:?}");
        }
    }
});
