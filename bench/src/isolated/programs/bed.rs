//! The same keys in files, in a token of the service, and in one of SoftHSM2.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::{Arguments, Place, output, tokens};
use crate::isolated::handshakes::{KEYS, make_certificate};
use crate::isolated::{Service, tokens::module::PIN};

/// The PIN of the security officers.
const SO_PIN: &str = "271828";

/// A service with a token, and another token of SoftHSM2.
pub struct Bed {
    pub service: Service,
    /// The folder of everything, with one for each key of [`KEYS`].
    pub folder: TempDir,
    /// The program that all figures are about.
    pub command: PathBuf,
    pub softhsm: PathBuf,
    pub module: PathBuf,
    /// The configuration of SoftHSM2.
    configuration: PathBuf,
    /// The processor of Java and of the clients, and that of the worker and the servers.
    pub processors: [usize; 2],
}

impl Bed {
    /// Makes the keys and the tokens.
    ///
    /// # Errors
    /// A program is missing, or a token can't be made.
    pub fn make(arguments: &Arguments, processors: [usize; 2]) -> Result<Bed, String> {
        let [_, worker] = processors;
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
        let command = arguments.common.command()?;
        let store = folder.path().join("store");
        let policy = format!("[default]\nattaches_per_s = 0\n[tokens]\nstore = {store:?}\n");
        let service = Service::start_with(&command, &[worker, worker], Some(&policy))?;
        let own = std::env::current_exe().map_err(|e| e.to_string())?;
        let module =
            arguments.module.clone().unwrap_or_else(|| own.with_file_name("libmillstream_pkcs11.so"));
        let configuration = tokens::softhsm(folder.path())?;
        let softhsm = arguments.softhsm.clone();
        let bed = Bed { service, folder, command, softhsm, module, configuration, processors };
        let secret = |name: &str, pin: &[u8]| {
            let path = bed.folder.path().join(name);
            std::fs::write(&path, pin).map_err(|e| format!("{}: {e}", path.display()))?;
            output(Command::new("chmod").arg("600").arg(path))
        };
        secret("pin", PIN)?;
        secret("so-pin", SO_PIN.as_bytes())?;
        bed.millstream("token init bench --so-pin-file so-pin --pin-file pin")?;
        for (number, (key, words)) in KEYS.iter().enumerate() {
            bed.keep(key, number + 1, words)?;
        }
        Ok(bed)
    }

    /// Makes a key and its certificate, and brings the key into both tokens under its name.
    fn keep(&self, key: &str, id: usize, words: &[&str]) -> Result<(), String> {
        let folder = self.folder.path().join(key);
        make_certificate(&folder, words)?;
        let openssl = |words: &str| {
            output(Command::new("openssl").args(words.split(' ')).current_dir(&folder)).map(drop)
        };
        openssl("pkcs8 -topk8 -nocrypt -in key.pem -outform DER -out key.der")?;
        openssl("pkey -in key.pem -pubout -out public.pem")?;
        self.millstream(&format!(
            "key import {key}/key.pem -T bench -K {key} --id {id:02} --usages sign --pin-file pin"
        ))?;
        let mut import = Command::new("softhsm2-util");
        import.arg("--import").arg(folder.join("key.pem")).args(["--token", "bench", "--label", key]);
        import.args(["--id", &format!("{id:02}"), "--pin", &pin()]);
        self.apply(&mut import);
        output(&mut import).map(drop)
    }

    /// Runs `millstream` in the folder.
    pub fn millstream(&self, words: &str) -> Result<String, String> {
        let mut command = Command::new(&self.command);
        self.apply(&mut command);
        output(command.args(words.split(' ')).current_dir(self.folder.path()))
    }

    /// The variables by which modules find their tokens.
    pub fn environment(&self) -> [(&'static str, OsString); 2] {
        [
            ("MILLSTREAM_SOCKET", self.service.socket.clone().into()),
            ("SOFTHSM2_CONF", self.configuration.clone().into()),
        ]
    }

    /// Gives a program these variables.
    pub fn apply(&self, command: &mut Command) {
        command.envs(self.environment()).env_remove("MILLSTREAM_STORE");
    }

    /// Returns the module of a token.
    pub fn module(&self, place: Place) -> &Path {
        if place == Place::SoftHsm { &self.softhsm } else { &self.module }
    }

    /// Returns the number of operations that the workers have computed.
    pub fn operations(&self) -> Result<u64, String> {
        let status: serde_json::Value =
            serde_json::from_str(&self.millstream("status --json")?).map_err(|e| e.to_string())?;
        let grants = status["grants"].as_array().cloned().unwrap_or_default();
        Ok(grants.iter().filter_map(|grant| grant["operations"].as_u64()).sum())
    }
}

/// Returns the PIN of the users as text.
pub fn pin() -> String {
    String::from_utf8_lossy(PIN).into_owned()
}
