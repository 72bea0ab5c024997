//! A token of the service with ten thousand keys: how long the service takes to start, and a program to find, make, change and remove a key.

use std::path::Path;
use std::time::{Duration, Instant};

use cryptoki::mechanism::Mechanism;
use cryptoki::object::{Attribute, AttributeType, ObjectHandle};
use cryptoki::session::Session;
use millstream_files::key::{Form, Key, Kind};
use millstream_store::vault::{Cost, LocalVault};
use millstream_store::{Attributes, Role, Token, folder, token, usage};

use crate::bed::{PIN, SO_PIN, alone, client, logged_in};

const KEYS: u32 = 10_000;

/// The folder in memory, so that what is measured is what a key takes beyond fsync.
const MEMORY: &str = "/dev/shm";

/// Makes a store with the token `web`, half of whose keys are pairs.
fn fill(place: &Path) {
    let features = millstream::features().unwrap();
    let (mut file, device, _) = folder::open_or_make(place, millstream_store::File::open).unwrap();
    let vault = LocalVault::with_cost(features, device, Cost { memory_kib: 64, passes: 1, lanes: 1 });
    token::make(&mut file, &vault, "web", SO_PIN.as_bytes(), Some(PIN.as_bytes())).unwrap();
    let mut token = Token::open(&mut file, &vault, "web", Role::User, PIN.as_bytes()).unwrap();
    for i in 0..KEYS {
        let kind = if i % 2 == 0 { Kind::Aes } else { Kind::P256 };
        let key = Key::generate(features, kind, None).unwrap();
        let public = key.public(features).ok().map(|public| public.write(Form::Der).unwrap());
        let attributes = Attributes {
            label: format!("key {i}"),
            id: i.to_be_bytes().to_vec(),
            kind: kind.name().into(),
            bits: 256,
            usages: usage::of_kind(kind.name()),
            never_outside: true,
            public_key: public.unwrap_or_default(),
            ..Attributes::default()
        };
        token.add(&attributes, key.secret()).unwrap();
    }
}

fn find(session: &Session, template: &[Attribute]) -> Vec<ObjectHandle> {
    session.find_objects(template).unwrap()
}

/// Returns the time that a tenth of the turns kept: what else the machine does meanwhile is in the others.
fn tenth(turns: u32, mut work: impl FnMut(u32)) -> Duration {
    let mut times: Vec<_> = (0..turns)
        .map(|i| {
            let begin = Instant::now();
            work(i);
            begin.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 10]
}

#[test]
fn ten_thousand_keys_slow_nothing_down() {
    alone("ten_thousand::ten_thousand_keys_slow_nothing_down", |bed| {
        let memory = tempfile::tempdir_in(MEMORY).unwrap();
        std::os::unix::fs::symlink(memory.path(), bed.0.join("tokens")).unwrap();
        fill(&bed.0.join("tokens"));
        let begin = Instant::now();
        let _service = bed.serve();
        let start = begin.elapsed();

        let (client, slot) = client();
        let begin = Instant::now();
        let session = logged_in(&client, slot);
        let login = begin.elapsed();
        let id = |i: u32| vec![Attribute::Id((i * 7 % KEYS).to_be_bytes().to_vec())];
        let label = |i: u32| vec![Attribute::Label(format!("key {}", i * 7 % KEYS).into_bytes())];
        // A pair is found with its public half.
        assert_eq!([find(&session, &id(0)).len(), find(&session, &id(1)).len()], [1, 2]);
        let look_ups = [
            tenth(2000, |i| assert!(!find(&session, &id(i)).is_empty())),
            tenth(2000, |i| assert!(!find(&session, &label(i)).is_empty())),
        ];

        let mut made = Vec::new();
        let create = tenth(50, |i| {
            let template =
                [Attribute::Token(true), Attribute::Id(vec![1, i as u8]), Attribute::ValueLen(32.into())];
            made.push(session.generate_key(&Mechanism::AesKeyGen, &template).unwrap());
        });
        let change = tenth(50, |i| {
            let (key, new) = (made[i as usize], [Attribute::Id(vec![2, i as u8])]);
            session.update_attributes(key, &new).unwrap();
            assert_eq!(find(&session, &new), [key]);
            assert!(find(&session, &[Attribute::Id(vec![1, i as u8])]).is_empty());
        });
        let remove = tenth(50, |i| session.destroy_object(made[i as usize]).unwrap());
        assert!(find(&session, &[Attribute::Id(vec![2, 7])]).is_empty());

        let all = find(&session, &[]);
        assert_eq!(all.len(), (KEYS + KEYS / 2) as usize);
        let begin = Instant::now();
        for object in &all {
            assert_eq!(
                session.get_attributes(*object, &[AttributeType::Label, AttributeType::Id]).unwrap().len(),
                2
            );
        }
        let read = begin.elapsed();
        println!(
            "start {start:?}, login {login:?}, look-up by id and label {look_ups:?}, made {create:?}, changed {change:?}, \
             removed {remove:?}, all attributes {read:?}"
        );
        assert!(start < Duration::from_secs(1), "{start:?}");
        assert!(look_ups.iter().all(|time| *time < Duration::from_micros(10)), "{look_ups:?}");
        let most = Duration::from_millis(5);
        assert!(create < most && change < most && remove < most, "{create:?}, {change:?}, {remove:?}");
    });
}
