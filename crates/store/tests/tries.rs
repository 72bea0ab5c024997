//! Tries of PINs that are counted for one user: they outlive everything but that user's right PIN and a new PIN.

mod common;

use std::path::Path;

use common::power::{Cut, Disk};
use common::{OFFICER, USER, vault};
use millstream_store::file::{MOST_TRIES_OF_USER, MOST_USERS};
use millstream_store::{Error, File, Role, Token, TokenId, token};

fn open(disk: &Disk) -> File {
    let disk = disk.clone();
    File::with_backends(Path::new("disk"), move || Ok(disk.storage())).unwrap()
}

fn made(disk: &Disk, label: &str) -> TokenId {
    token::make(&mut open(disk), &vault(), label, OFFICER, Some(USER)).unwrap()
}

#[test]
fn a_user_has_five_in_a_row_wherever_the_store_was_opened_again() {
    let disk = Disk::default();
    let web = made(&disk, "web");
    for left in (0..MOST_TRIES_OF_USER).rev() {
        assert_eq!(open(&disk).count_try_of(web, Role::User, 7).unwrap(), left);
    }
    let mut file = open(&disk);
    assert!(matches!(file.count_try_of(web, Role::User, 7), Err(Error::UserTries(Role::User))));
    assert_eq!(file.tokens().next().unwrap().user_tries_left, 5, "a refused try is no try");
    // The other PIN, and another user, are counted for themselves; what is left of the token's own is said where it is less.
    assert_eq!(file.count_try_of(web, Role::Officer, 7).unwrap(), 4);
    assert_eq!(file.count_try_of(web, Role::User, 8).unwrap(), 4);
    assert_eq!(file.count_try(web, Role::User).unwrap(), 3);
    assert_eq!(file.count_try_of(web, Role::User, 9).unwrap(), 2);
    // The right PIN of another gives the token its tries back, and nobody else.
    file.clear_tries_of(web, Role::User, 8).unwrap();
    drop(file);
    let mut file = open(&disk);
    assert_eq!(file.tokens().next().unwrap().user_tries_left, 10);
    let tries = [7, 8, 9].map(|user| file.tries_of(web, Role::User, user).unwrap());
    assert_eq!(tries, [5, 0, 1]);
    file.clear_tries(web, Role::User).unwrap();
    assert!(matches!(file.count_try_of(web, Role::User, 7), Err(Error::UserTries(_))));
    // A new PIN begins anew for all, and for that PIN alone.
    let mut officer = Token::open(&mut file, &vault(), "web", Role::Officer, OFFICER).unwrap();
    officer.set_pin(Role::User, b"another").unwrap();
    drop(officer);
    let mut again = open(&disk.after(Cut::Kept));
    for file in [&mut file, &mut again] {
        let tries = [Role::User, Role::Officer].map(|role| file.tries_of(web, role, 7).unwrap());
        assert_eq!(tries, [0, 1]);
        assert_eq!(file.count_try_of(web, Role::User, 7).unwrap(), 4);
    }
}

#[test]
fn a_removed_token_takes_its_tries_with_it() {
    let disk = Disk::default();
    let (web, other) = (made(&disk, "web"), made(&disk, "other"));
    let mut file = open(&disk);
    for token in [web, other] {
        file.count_try_of(token, Role::User, u32::MAX).unwrap();
    }
    file.remove_token(web).unwrap();
    assert!(matches!(file.count_try_of(web, Role::User, 1), Err(Error::NoToken(_))));
    drop(file);
    assert_eq!(open(&disk).tries_of(other, Role::User, u32::MAX).unwrap(), 1);
}

/// More users than are kept: one with the fewest tries is forgotten, in memory and on the disk.
#[test]
fn as_many_users_are_kept_as_are_allowed() {
    let disk = Disk::default();
    let web = made(&disk, "web");
    let mut file = open(&disk);
    let count = |file: &mut File, user| {
        file.count_try_of(web, Role::User, user).unwrap();
        file.clear_tries(web, Role::User).unwrap();
    };
    for user in 0..MOST_USERS as u32 {
        count(&mut file, user);
    }
    count(&mut file, 3);
    for user in 5000..5003 {
        count(&mut file, user);
        count(&mut file, user);
    }
    let kept = |file: &File| {
        let users = (0..6000).map(|user| file.tries_of(web, Role::User, user).unwrap());
        users.filter(|tries| *tries > 0).collect::<Vec<_>>()
    };
    for file in [&file, &open(&disk.after(Cut::Kept))] {
        let tries = kept(file);
        assert_eq!((tries.len(), tries.iter().filter(|tries| **tries == 2).count()), (MOST_USERS, 4));
        assert_eq!(file.tries_of(web, Role::User, 3).unwrap(), 2);
    }
}
