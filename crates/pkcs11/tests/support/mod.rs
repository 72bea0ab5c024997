//! A store with a token, and a client of the module in a process of its own.
#![allow(dead_code)]

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::session::{Session, UserType};
use cryptoki::slot::Slot;
use cryptoki::types::AuthPin;
use millstream_store::vault::{Cost, LocalVault};
use millstream_store::{DeviceSecret, File, token};

pub const PIN: &str = "314159";
pub const SO_PIN: &str = "271828";

/// Returns the built module.
pub fn module() -> PathBuf {
    let deps = env::current_exe().unwrap().parent().unwrap().to_owned();
    let built = deps.join("libmillstream_pkcs11.so");
    assert!(built.exists(), "{} is built with the tests", built.display());
    built
}

/// Makes a store with a token `web` whose PINs cost little.
pub fn store(folder: &Path) {
    let mut file = File::create(&folder.join("tokens.redb")).unwrap();
    let (device, _) = DeviceSecret::find_or_make(folder).unwrap();
    let cost = Cost { memory_kib: 64, passes: 1, lanes: 1 };
    let vault = LocalVault::with_cost(millstream::features().unwrap(), device, cost);
    token::make(&mut file, &vault, "web", SO_PIN.as_bytes(), Some(PIN.as_bytes())).unwrap();
}

/// Runs a test's body in a process of its own, where the module finds a new store.
pub fn alone(test: &str, body: impl FnOnce()) {
    const INSIDE: &str = "MILLSTREAM_TEST_INSIDE";
    if env::var_os(INSIDE) == Some(OsString::from(test)) {
        return body();
    }
    let folder = tempfile::tempdir().unwrap();
    store(folder.path());
    let run = Command::new(env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env("MILLSTREAM_STORE", folder.path())
        .env(INSIDE, test)
        .output()
        .unwrap();
    let (said, told) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success() && said.contains("1 passed"), "{said}{told}");
}

/// Loads and initialises the module, and returns the slot of the token.
#[allow(dead_code)]
pub fn client() -> (Pkcs11, Slot) {
    let client = Pkcs11::new(module()).unwrap();
    client.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK)).unwrap();
    let slots = client.get_slots_with_initialized_token().unwrap();
    assert_eq!(slots.len(), 1);
    (client, slots[0])
}

/// Opens a session and logs the user in.
#[allow(dead_code)]
pub fn logged_in(client: &Pkcs11, slot: Slot) -> Session {
    let session = client.open_rw_session(slot).unwrap();
    session.login(UserType::User, Some(&AuthPin::new(PIN.into()))).unwrap();
    session
}
