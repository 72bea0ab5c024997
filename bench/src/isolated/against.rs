//! `millstream speed --isolated` beside PKCS #11 modules that mediate.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Runs `millstream speed` beside existing mediated ways. Returns all figures, and the tables.
pub fn mediated(
    command: &Path,
    socket: &Path,
    client: usize,
    worker: usize,
) -> Result<(Value, String), String> {
    let speed = |json: bool| {
        // The command is not pinned to one processor: p11-kit's server runs where the scheduler puts it, as
        // for its users.
        let mut speed = Command::new("taskset");
        speed.arg("-c").arg(format!("{client},{worker}")).arg(command);
        speed.args(["speed", "--isolated", "--socket"]).arg(socket);
        speed.args([
            "--against",
            "softhsm",
            "--against",
            "p11-kit",
            "--depth",
            "1,32",
            "--bytes",
            "16,64,256,1024",
        ]);
        speed.args(["--seconds", "0.2", "--quiet", "aes-128-ecb", "hmac-sha256"]);
        if json {
            speed.arg("--json");
        }
        let output = speed.output().map_err(|e| format!("{}: {e}", command.display()))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let value: Value = serde_json::from_str(&speed(true)?).map_err(|e| e.to_string())?;
    let mut text = String::new();
    let results = value["results"].as_array().cloned().unwrap_or_default();
    let get = |algorithm: &str, bytes: u64, way: &str, depth: u64| {
        let found = results.iter().find(|r| {
            r["algorithm"] == algorithm && r["bytes"] == bytes && r["way"] == way && r["in_flight"] == depth
        })?;
        found["objects_per_s"].as_f64()
    };
    let _ = writeln!(
        text,
        "{:14}{:>8}{:>10}{:>16}{:>16}{:>16}",
        "", "bytes", "in flight", "operations/s", "over softhsm", "over p11-kit"
    );
    for algorithm in ["aes-128-ecb", "hmac-sha256"] {
        for bytes in [16, 64, 256, 1024] {
            for depth in [1, 32] {
                let Some(ours) = get(algorithm, bytes, "isolated", depth) else { continue };
                let over = |way: &str| {
                    get(algorithm, bytes, way, 1).map_or("-".to_owned(), |peer| format!("{:.1}", ours / peer))
                };
                let _ = writeln!(
                    text,
                    "{algorithm:14}{bytes:>8}{depth:>10}{ours:>16.0}{:>16}{:>16}",
                    over("softhsm"),
                    over("p11-kit")
                );
            }
        }
    }
    Ok((value, text))
}
