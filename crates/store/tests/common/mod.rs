//! Tokens that are cheap to open, and storage whose power can be cut.
#![allow(dead_code)]

use std::path::Path;

use millstream_cpu::Features;
use millstream_store::vault::{Cost, LocalSession, LocalVault};
use millstream_store::{Attributes, DeviceSecret, Error, File, Role, Token};

pub mod power;

pub const OFFICER: &[u8] = b"officer's PIN";
pub const USER: &[u8] = b"1234";

/// Returns a vault whose tokens take a hundredth of a millisecond for a PIN.
pub fn vault() -> LocalVault {
    vault_of(&[7; 32])
}

pub fn vault_of(device: &[u8]) -> LocalVault {
    let cost = Cost { memory_kib: 8, passes: 1, lanes: 1 };
    LocalVault::with_cost(Features::hardware(), DeviceSecret::new(device).unwrap(), cost)
}

/// Opens the token `web` as its user.
pub fn user(file: &mut File) -> Result<Token<'_, LocalSession>, Error> {
    Token::open(file, &vault(), "web", Role::User, USER)
}

/// Returns the attributes of the key number `i`.
pub fn attributes(i: usize) -> Attributes {
    Attributes {
        label: format!("key {i}"),
        id: i.to_be_bytes().to_vec(),
        kind: "aes".into(),
        bits: 256,
        created: i as u64,
        public_key: vec![i as u8; i % 200],
        ..Attributes::default()
    }
}

/// Returns the secret of the key number `i`.
pub fn secret(i: usize) -> Vec<u8> {
    (0..32 + i % 64).map(|at| (i * 31 + at) as u8).collect()
}

/// Makes a store with the token `web`.
pub fn store(path: &Path) -> File {
    let mut file = File::create(path).unwrap();
    millstream_store::token::make(&mut file, &vault(), "web", OFFICER, Some(USER)).unwrap();
    file
}
