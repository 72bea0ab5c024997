//! Power is cut after every single operation on the disk, and nothing that was acknowledged is lost.

mod common;

use std::path::Path;

use common::power::{Cut, Disk};
use common::{OFFICER, USER, attributes, secret, user, vault};
use millstream_store::{Error, File, ObjectId, Role, Token, token};

/// The facts that a user was told, and the one that they were not told yet.
#[derive(Clone, Debug, Default)]
struct Told {
    has_token: bool,
    /// The objects, and the numbers of their contents.
    objects: Vec<(ObjectId, usize)>,
    /// The object that was under way, with its contents before and after.
    under_way: Option<(ObjectId, Option<usize>, Option<usize>)>,
    /// The PINs that may be right.
    pins: Vec<&'static [u8]>,
    /// Wrong tries that were answered.
    wrong: u8,
}

fn open(disk: &Disk) -> Result<File, Error> {
    let disk = disk.clone();
    File::with_backends(Path::new("disk"), move || Ok(disk.storage()))
}

/// Makes a token, adds, changes and removes objects, sets a PIN and tries wrong ones, until the power is cut.
fn scenario(disk: &Disk, told: &mut Told) -> Result<(), Error> {
    let mut file = open(disk)?;
    told.pins = vec![USER];
    token::make(&mut file, &vault(), "web", OFFICER, Some(USER))?;
    told.has_token = true;
    let mut token = user(&mut file)?;
    for i in 0..12 {
        let object = ObjectId([i as u8 + 1; 16]);
        told.under_way = Some((object, None, Some(i)));
        token.write(object, &attributes(i), &secret(i))?;
        told.objects.push((object, i));
        told.under_way = None;
        if i % 4 == 3 {
            let (object, before) = told.objects[i / 2];
            told.under_way = Some((object, Some(before), Some(100 + i)));
            token.write(object, &attributes(100 + i), &secret(100 + i))?;
            told.objects[i / 2].1 = 100 + i;
            let (object, before) = told.objects[0];
            told.under_way = Some((object, Some(before), None));
            token.remove(object)?;
            told.objects.remove(0);
            told.under_way = None;
        }
    }
    told.pins = vec![USER, b"new PIN"];
    token.set_pin(Role::User, b"new PIN")?;
    told.pins = vec![b"new PIN"];
    for _ in 0..3 {
        match Token::open(&mut file, &vault(), "web", Role::User, b"wrong") {
            Err(Error::WrongPin { .. }) => told.wrong += 1,
            Err(error) => return Err(error),
            Ok(_) => panic!("a wrong PIN opened the token"),
        }
    }
    Ok(())
}

/// Compares what is on a disk with what the user was told.
fn check(disk: &Disk, told: &Told, what: &str) {
    let mut file = open(disk).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(file.damage().is_empty(), "{what}: {:?}", file.damage());
    let Some(info) = file.tokens().next() else {
        assert!(!told.has_token, "{what}: the token is lost");
        return;
    };
    let spent = 10 - info.user_tries_left;
    assert!(spent >= told.wrong, "{what}: {spent} tries counted of {}", told.wrong);
    let pin = told.pins.iter().find(|pin| {
        let opened = Token::open(&mut file, &vault(), "web", Role::User, pin);
        match opened {
            Ok(_) => true,
            Err(Error::WrongPin { .. }) => false,
            Err(error) => panic!("{what}: {error}"),
        }
    });
    let pin = pin.unwrap_or_else(|| panic!("{what}: no PIN opens the token"));
    let mut token = Token::open(&mut file, &vault(), "web", Role::User, pin).unwrap();
    let serial = token.id();
    let found: Vec<ObjectId> = token.file().objects(serial).unwrap().map(|(object, _)| object).collect();
    for &(object, i) in &told.objects {
        let mut may_be = vec![i];
        match told.under_way {
            Some((other, _, None)) if other == object && !found.contains(&object) => continue,
            Some((other, _, Some(after))) if other == object => may_be.push(after),
            _ => {}
        }
        let (is, bytes) = token.read(object).unwrap_or_else(|error| panic!("{what}: key {i}: {error}"));
        let which = may_be.iter().find(|&&i| is == attributes(i) && bytes[..] == secret(i)[..]);
        assert!(which.is_some(), "{what}: key {i} is torn: {is:?}");
    }
    for object in found {
        let known = told.objects.iter().any(|(other, _)| *other == object);
        let new = told.under_way.and_then(|(other, _, after)| after.filter(|_| other == object));
        match (known, new) {
            (true, _) => {}
            (false, Some(i)) => {
                let (is, bytes) = token.read(object).unwrap();
                assert_eq!((is, &bytes[..]), (attributes(i), &secret(i)[..]), "{what}");
            }
            (false, None) => panic!("{what}: {object} came from nowhere"),
        }
    }
    // The store takes changes again.
    token.add(&attributes(999), &secret(999)).unwrap();
}

#[test]
fn no_cut_loses_or_tears_anything() {
    let (mut cuts, mut seeds) = (0, 1);
    for after in 0.. {
        let disk = Disk::default();
        disk.cut_after(after);
        let mut told = Told::default();
        let ended = scenario(&disk, &mut told);
        let is_whole = ended.is_ok();
        assert_eq!(is_whole, !disk.is_cut() || told.wrong == 3, "{ended:?}");
        for cut in [Cut::Kept, Cut::Lost] {
            check_cut(&disk, cut, &told, after);
        }
        for _ in 0..3 {
            seeds += 1;
            check_cut(&disk, Cut::Torn(seeds), &told, after);
        }
        if is_whole {
            break;
        }
        cuts += 1;
    }
    assert!(cuts > 150, "only {cuts} operations were cut");
    println!("{cuts} operations, each cut in 5 ways");
}

/// A disk on which the database never came to be has no token, and what is there is no store or an empty one.
fn check_cut(disk: &Disk, cut: Cut, told: &Told, after: u64) {
    let what = format!("cut after {after} operations, {cut:?}");
    let disk = disk.after(cut);
    if !told.has_token && open(&disk).is_err() {
        // Stores are made under no name, so nobody ever sees this one.
        assert!(matches!(open(&disk), Err(Error::NotAStore(_) | Error::Damaged { .. })), "{what}");
        return;
    }
    check(&disk, told, &what);
}

#[test]
fn a_power_cut_while_a_store_is_opened_after_a_power_cut() {
    let disk = Disk::default();
    let mut told = Told::default();
    disk.cut_after(120);
    scenario(&disk, &mut told).unwrap_err();
    let image = disk.after(Cut::Torn(1));
    for after in 0.. {
        let disk = image.after(Cut::Kept);
        disk.cut_after(after);
        let opened = open(&disk).is_ok();
        for cut in [Cut::Kept, Cut::Lost, Cut::Torn(after)] {
            check(&disk.after(cut), &told, &format!("the opening cut after {after}, {cut:?}"));
        }
        if opened {
            assert!(after > 3, "the opening had {after} operations");
            break;
        }
    }
}

/// A token that takes another's place: whenever the power goes, one of the two is there in whole.
#[test]
fn a_power_cut_while_a_token_is_replaced_leaves_the_old_one_or_the_new_one() {
    let disk = Disk::default();
    let mut file = open(&disk).unwrap();
    let old = token::make(&mut file, &vault(), "web", OFFICER, Some(USER)).unwrap();
    user(&mut file).unwrap().add(&attributes(0), &secret(0)).unwrap();
    drop(file);
    let image = disk.after(Cut::Kept);
    let (mut olds, mut news) = (0, 0);
    for after in 0.. {
        let disk = image.after(Cut::Kept);
        disk.cut_after(after);
        let replace = |file: &mut File| token::replace(file, &vault(), old, "web", b"another PIN");
        let replaced = open(&disk).and_then(|mut file| replace(&mut file));
        for cut in [Cut::Kept, Cut::Lost, Cut::Torn(after), Cut::Torn(after + 1000)] {
            let what = format!("cut after {after} operations, {cut:?}");
            let mut file = open(&disk.after(cut)).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!((file.tokens().count(), file.damage().len()), (1, 0), "{what}");
            if file.find("web").unwrap() == old {
                assert!(replaced.is_err(), "{what}: the new token is lost");
                let mut token = user(&mut file).unwrap();
                let object = token.find("key 0").unwrap();
                assert_eq!(token.read(object).unwrap().1[..], secret(0)[..], "{what}");
                olds += 1;
            } else {
                let opened = Token::open(&mut file, &vault(), "web", Role::Officer, b"another PIN");
                assert_eq!(opened.unwrap().file().tokens().next().unwrap().objects, 0, "{what}");
                news += 1;
            }
        }
        if replaced.is_ok() {
            break;
        }
    }
    assert!(olds > 20 && news > 4, "{olds} old ones, {news} new ones");
}

#[test]
fn a_full_disk_loses_nothing_and_is_told() {
    for spare in (0..12).map(|i| i * 4096) {
        let disk = Disk::default();
        let mut file = open(&disk).unwrap();
        token::make(&mut file, &vault(), "web", OFFICER, Some(USER)).unwrap();
        let mut token = user(&mut file).unwrap();
        token.add(&attributes(0), &secret(0)).unwrap();
        disk.set_room(Some(disk.len() + spare));
        let mut stored = vec![0];
        let error = loop {
            let i = stored.len();
            match token.add(&attributes(i), &vec![i as u8; 40_000]) {
                Ok(_) => stored.push(i),
                Err(error) => break error,
            }
            assert!(i < 10_000, "the disk was never full");
        };
        assert!(matches!(error, Error::Full(_)), "{error}");
        // Reading goes on, also of what the failed change was about.
        drop(token);
        let check = |file: &mut File, stored: &[usize]| {
            let mut token = match user(file) {
                Ok(token) => token,
                // To count a try needs room, too.
                Err(Error::Full(_)) => return,
                Err(error) => panic!("{error}"),
            };
            for &i in stored {
                let object = token.find(&format!("key {i}")).unwrap();
                assert_eq!(token.read(object).unwrap().0, attributes(i));
            }
        };
        check(&mut file, &stored);
        disk.set_room(None);
        check(&mut file, &stored);
        let mut token = user(&mut file).unwrap();
        token.add(&attributes(stored.len()), &secret(1)).unwrap();
        stored.push(stored.len());
        drop(file);
        check(&mut open(&disk).unwrap(), &stored);
    }
}

/// Tries of users: whenever the power goes, none that was answered is given back, and a user's own stands beside the token's or both do not.
#[test]
fn a_power_cut_gives_no_user_a_try_back() {
    let disk = Disk::default();
    let token = token::make(&mut open(&disk).unwrap(), &vault(), "web", OFFICER, Some(USER)).unwrap();
    let image = disk.after(Cut::Kept);
    let mut cuts = 0;
    for after in 0.. {
        let disk = image.after(Cut::Kept);
        disk.cut_after(after);
        // The tries that were answered, and the user whose try or whose right PIN was under way.
        let (mut told, mut under_way, mut cleared) = ([0, 0], None, false);
        let mut turns = || -> Result<(), Error> {
            let mut file = open(&disk)?;
            for user in [0, 1, 0, 0, 1] {
                under_way = Some(user);
                file.count_try_of(token, Role::User, 1000 + user as u32)?;
                told[user] += 1;
            }
            (under_way, cleared) = (None, true);
            file.clear_tries_of(token, Role::User, 1000)?;
            told[0] = 0;
            Ok(())
        };
        let ended = turns();
        for cut in [Cut::Kept, Cut::Lost, Cut::Torn(after), Cut::Torn(after + 1000)] {
            let what = format!("cut after {after} operations, {cut:?}");
            let file = open(&disk.after(cut)).unwrap_or_else(|error| panic!("{what}: {error}"));
            let own = [0, 1].map(|user| file.tries_of(token, Role::User, 1000 + user).unwrap());
            let all = 10 - file.tokens().next().unwrap().user_tries_left;
            for user in [0, 1] {
                let more = u8::from(under_way == Some(user));
                let may_be = told[user]..=told[user] + more;
                let is_cleared = user == 0 && cleared && own[0] == 0;
                assert!(may_be.contains(&own[user]) || is_cleared, "{what}: {own:?} of {told:?}");
            }
            // The right PIN of one user gives nothing back to the other.
            assert_eq!(all, if cleared && own[0] == 0 { 0 } else { own[0] + own[1] }, "{what}");
        }
        if ended.is_ok() {
            break;
        }
        cuts += 1;
    }
    assert!(cuts > 40, "only {cuts} operations were cut");
}
