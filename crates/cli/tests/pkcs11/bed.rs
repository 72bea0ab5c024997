//! A test in a process of its own, with a service that keeps the token `web` and a client of the module that finds it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::object::{Attribute, KeyType, ObjectClass, ObjectHandle};
use cryptoki::session::{Session, UserType};
use cryptoki::slot::Slot;
use cryptoki::types::AuthPin;
use millstream::isolated::Attach;

use crate::service::{PRIVATE, Service};

pub const PIN: &str = "314159";
pub const SO_PIN: &str = "271828";

/// Names the process of a test's body.
const INSIDE: &str = "MILLSTREAM_TEST_INSIDE";

/// Requires a refusal with a return value.
#[macro_export]
macro_rules! refused {
    ($call:expr, $value:ident) => {
        match $call {
            Err(cryptoki::error::Error::Pkcs11(cryptoki::error::RvError::$value, _)) => {}
            other => panic!("{other:?}"),
        }
    };
}

/// The folder of a test: the store, the policy, and a link to the socket of the service that runs.
pub struct Bed(pub PathBuf);

impl Bed {
    /// Starts a service with the store, and with these lines in `[tokens]`.
    pub fn serve_with(&self, lines: &str) -> Service {
        let (policy, store) = (self.0.join("policy.toml"), self.0.join("tokens"));
        let text =
            format!("[default]\nattaches_per_s = 0\nworkers = 0\n[tokens]\nstore = {store:?}\n{lines}");
        std::fs::write(&policy, text).unwrap();
        let service = Service::as_command(|serve| {
            serve.args(["--accelerators", "1", PRIVATE, "1", "--policy"]).arg(&policy);
        });
        let link = self.socket();
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(service.socket(), link).unwrap();
        service
    }

    pub fn serve(&self) -> Service {
        self.serve_with("")
    }

    pub fn socket(&self) -> PathBuf {
        self.0.join("socket")
    }
}

/// Makes the token `web`.
pub fn make(service: &Service) -> u128 {
    // Other tests may have all processors, and a PIN takes some time.
    let attach = Attach { limit: Duration::from_secs(60), ..service.wanted() };
    attach.attach().unwrap().make_token("web", SO_PIN.as_bytes(), Some(PIN.as_bytes())).unwrap()
}

/// Returns the built module.
fn module() -> PathBuf {
    let deps = env::current_exe().unwrap().parent().unwrap().to_owned();
    let built = deps.join("libmillstream_pkcs11.so");
    assert!(built.exists(), "{} is built with the tests", built.display());
    built
}

/// Runs a test's body in a process of its own, whose module looks for the service at the bed's socket.
pub fn alone(test: &str, body: impl FnOnce(&Bed)) {
    if env::var_os(INSIDE) == Some(OsString::from(test)) {
        let socket = env::var_os("MILLSTREAM_SOCKET").unwrap();
        return body(&Bed(Path::new(&socket).parent().unwrap().to_owned()));
    }
    let folder = tempfile::tempdir_in(millstream_testkit::memory()).unwrap();
    let run = Command::new(env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env("MILLSTREAM_SOCKET", folder.path().join("socket"))
        .env_remove("MILLSTREAM_STORE")
        .env(INSIDE, test)
        .output()
        .unwrap();
    let (said, told) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success() && said.contains("1 passed"), "{}: {said}{told}", run.status);
    print!("{said}");
}

/// Loads and initialises the module.
pub fn load() -> Pkcs11 {
    let client = Pkcs11::new(module()).unwrap();
    client.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK)).unwrap();
    client
}

/// Returns the module and the slot of the token.
pub fn client() -> (Pkcs11, Slot) {
    let client = load();
    let slots = client.get_slots_with_initialized_token().unwrap();
    assert_eq!(slots.len(), 1);
    (client, slots[0])
}

pub fn pin(text: &str) -> AuthPin {
    AuthPin::new(text.into())
}

/// Opens a session and logs the user in.
pub fn logged_in(client: &Pkcs11, slot: Slot) -> Session {
    let session = client.open_rw_session(slot).unwrap();
    session.login(UserType::User, Some(&pin(PIN))).unwrap();
    session
}

/// Makes a secret key of these bytes, in the token or in the session.
pub fn secret(session: &Session, key_type: KeyType, value: &[u8], in_token: bool) -> ObjectHandle {
    let template = [
        Attribute::Class(ObjectClass::SECRET_KEY),
        Attribute::KeyType(key_type),
        Attribute::Token(in_token),
        Attribute::Label(b"given".to_vec()),
        Attribute::Value(value.to_vec()),
    ];
    session.create_object(&template).unwrap()
}
