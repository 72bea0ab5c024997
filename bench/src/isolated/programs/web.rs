//! nginx with its private key in a file, or in a token by OpenSSL's engine for PKCS #11.

use std::process::Command;
use std::time::Duration;

use super::bed::{Bed, pin};
use super::{Arguments, Place, Row, output};
use crate::isolated::clients::Clients;
use crate::isolated::handshakes::KEYS;
use crate::isolated::nginx::Nginx;
use crate::isolated::running::Server;

/// Measures handshakes with each kind of key.
///
/// # Errors
/// nginx can't be started, or a handshake fails.
pub fn run(arguments: &Arguments, bed: &Bed) -> Result<Vec<Row>, String> {
    let [cpu, _] = bed.processors;
    let mut rows = Vec::new();
    for (key, _) in KEYS {
        let mut servers = Vec::new();
        for place in Place::ALL {
            let server = start(arguments, bed, key, place)?;
            let before = bed.operations()?;
            connect(bed, key, server.ports[0])?;
            if place == Place::Millstream && bed.operations()? <= before {
                return Err("nginx: the service did not sign".to_owned());
            }
            servers.push(server);
        }
        if arguments.common.check_only {
            continue;
        }
        let turn = |at: usize| {
            let clients = Clients { ports: &servers[at].ports, count: arguments.clients, cpu, hybrid: false };
            let took = clients.turn(Duration::from_secs_f64(arguments.seconds))?;
            Ok(took.len() as f64 / arguments.seconds)
        };
        rows.push(Row::measure(format!("nginx, handshakes, key {key}"), arguments.rounds, turn)?);
    }
    Ok(rows)
}

/// Starts nginx with the key in that place.
fn start(arguments: &Arguments, bed: &Bed, key: &str, place: Place) -> Result<Server, String> {
    let folder = bed.folder.path().join(key);
    let mut environment = bed.environment().to_vec();
    let uri = format!("pkcs11:token=bench;object={key};type=private;pin-value={}", pin());
    let of_token = (place != Place::Process).then(|| format!("engine:pkcs11:{uri}"));
    let engine = match place {
        Place::Process => String::new(),
        Place::Millstream | Place::SoftHsm => format!(
            "openssl_conf = main\n[main]\nengines = engines\n[engines]\npkcs11 = pkcs11\n[pkcs11]\nengine_id = pkcs11\n\
             dynamic_path = {}\nMODULE_PATH = {}\ninit = 1\n",
            arguments.engine.display(),
            bed.module(place).display()
        ),
    };
    let configuration = folder.join(format!("openssl-{}.cnf", place.name()));
    std::fs::write(&configuration, engine).map_err(|e| format!("{}: {e}", configuration.display()))?;
    environment.push(("OPENSSL_CONF", configuration.into()));
    let server = Nginx {
        program: &arguments.nginx,
        workers: arguments.workers,
        cpu: bed.processors[1],
        folder: &folder,
        front: &[],
        key: of_token,
        environment: &environment,
    };
    server.start(&format!("nginx-{}", place.name()))
}

/// Makes a connection with OpenSSL's client, which verifies the server's signature.
fn connect(bed: &Bed, key: &str, port: u16) -> Result<(), String> {
    let mut client = Command::new("openssl");
    client.args(["s_client", "-connect", &format!("127.0.0.1:{port}"), "-verify_return_error", "-CAfile"]);
    let said = output(client.arg(bed.folder.path().join(key).join("certificate.pem")))?;
    let verified = said.contains("Verify return code: 0 (ok)");
    if verified { Ok(()) } else { Err(format!("openssl s_client: {said}")) }
}
