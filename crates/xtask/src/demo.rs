//! The service on real work: started on its own, used, watched, compared and stopped.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::run::{command, root, run, works};
use crate::setup;

const MILLSTREAM: &str = "target/release/millstream";
const PLACE: &str = "target/demo";
const SOCKET: &str = "target/demo/millstream.sock";
const KEY: &str = "target/demo/key";

/// The length of the data on which openssl is observed, so long that its start-up does not count.
const LARGE_BYTES: u64 = 256 << 20;

/// Builds the command, and encrypts and decrypts a real file. Then starts the service, computes the codes of every file
/// of this project through it, has the real `openssl` encrypt with it, shows `status` during a comparison with the
/// mediated ways of today, and stops it. At last it shows which crypto instructions the real `openssl` runs by itself,
/// and how much they speed it up.
///
/// # Errors
/// When a step fails, results differ, or something is left behind.
pub fn demo() -> Result<(), String> {
    let packages = ["--package", "millstream-cli", "--package", "millstream-provider"];
    run(command("cargo", &[&["build", "--release"], &packages[..]].concat()))?;
    let place = root().join(PLACE);
    // An interrupted demo may have left files.
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(place.join("tmp")).map_err(|e| format!("{}: {e}", place.display()))?;
    write_key(&root().join(KEY))?;
    let peers = peers();

    run(millstream(&["check"]))?;
    title("Files, with the key in the command's own process");
    files()?;
    title("The service, and a key that its clients can't read");
    let service = Service::start()?;
    codes()?;
    title("A program that knows nothing of it: openssl, in its own process and with its key in the service");
    unmodified()?;
    title("What that costs, beside the mediated ways of today");
    compare(&peers)?;
    let workers = service.workers()?;
    service.stop(&workers)?;
    println!("The service has ended with its {} worker, and nothing of it is left.", workers.len());
    title("Which instructions openssl runs by itself, and what they are worth to it");
    observed()?;
    if peers.is_empty() {
        println!("Left out: SoftHSM and p11-kit (apt-get install softhsm2 p11-kit p11-kit-modules).");
    }
    Ok(())
}

fn title(text: &str) {
    println!("\n=== {text}\n");
}

fn millstream(arguments: &[&str]) -> Command {
    let mut command = command(MILLSTREAM, arguments);
    // The command sees only the service that is started here, and puts temporary files below this place.
    command.env("MILLSTREAM_SOCKET", SOCKET).env("TMPDIR", root().join(PLACE).join("tmp"));
    command
}

/// Returns the peers for the comparison, which are installed if that is possible.
fn peers() -> Vec<&'static str> {
    let there = || works("softhsm2-util", &["--version"]) && works("p11-kit", &["--help"]);
    if !there()
        && setup::may_install()
        && let Err(why) = setup::install(setup::PEERS)
    {
        eprintln!("xtask: {why}; the comparison will be left out");
    }
    if there() { vec!["--against", "softhsm,p11-kit"] } else { Vec::new() }
}

/// Encrypts, decrypts and digests the command itself: a real file of a few megabytes.
fn files() -> Result<(), String> {
    let (sealed, opened) = ("target/demo/sealed", "target/demo/opened");
    run(millstream(&["encrypt", "-k", KEY, "-i", MILLSTREAM, "-o", sealed]))?;
    run(millstream(&["decrypt", "-k", KEY, "-i", sealed, "-o", opened]))?;
    run(millstream(&["digest", "-v", "-a", "sha256", MILLSTREAM, opened]))?;
    if read(MILLSTREAM)? != read(opened)? {
        return Err(format!("{opened} differs from {MILLSTREAM}"));
    }
    Ok(())
}

/// Computes the code of every file of this project, once through the service and once not.
fn codes() -> Result<(), String> {
    let mut files = Vec::new();
    for folder in ["crates", "machines", "bench", "docs"] {
        walk(&root().join(folder), &mut files)?;
    }
    files.sort();
    let compute = |how: &[&str]| -> Result<Vec<u8>, String> {
        let mut command = millstream(&["mac"]);
        command.args(how).args(["-q", "-a", "sha256_hmac", "-k", KEY]).args(&files);
        let output = command.output().map_err(|e| format!("millstream mac: {e}"))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(output.stdout) } else { Err(format!("millstream mac: {said}")) }
    };
    let begin = Instant::now();
    let isolated = compute(&["--isolated"])?;
    let took = begin.elapsed();
    if isolated != compute(&[])? {
        return Err("a code from the service differs from the one computed here".into());
    }
    println!(
        "millstream mac --isolated: HMAC-SHA256 of {} files of this project in {:.0} ms, the same as without the \
         service.",
        files.len(),
        took.as_secs_f64() * 1e3
    );
    Ok(())
}

/// Encrypts the command itself with the real openssl: by itself, with Millstream, and with Millstream in the service.
fn unmodified() -> Result<(), String> {
    if !works("openssl", &["version"]) {
        println!("Left out: there is no openssl here (apt-get install openssl).");
        return Ok(());
    }
    let outputs = ["target/demo/plain.enc", "target/demo/run.enc", "target/demo/isolated.enc"];
    let openssl = |output| {
        let key = ["-K", "000102030405060708090a0b0c0d0e0f", "-iv", "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"];
        [&["openssl", "enc", "-aes-128-ctr", "-in", MILLSTREAM, "-out", output], &key[..]].concat()
    };
    run(command("openssl", &openssl(outputs[0])[1..]))?;
    // If a service were named, it would have the keys.
    let mut here = millstream(&[&["run", "--"], &openssl(outputs[1])[..]].concat());
    here.env_remove("MILLSTREAM_SOCKET");
    run(here)?;
    run(millstream(&[&["run", "--isolated", "--"], &openssl(outputs[2])[..]].concat()))?;
    if outputs[1..].iter().any(|output| read(output).ok() != read(outputs[0]).ok()) {
        return Err(format!("{} differs from {}", outputs[1..].join(" or "), outputs[0]));
    }
    println!("The three files are the same.");
    Ok(())
}

/// Shows which crypto instructions the real openssl executes, and how long it takes without them.
fn observed() -> Result<(), String> {
    if !works("openssl", &["version"]) {
        println!("Left out: there is no openssl here (apt-get install openssl).");
        return Ok(());
    }
    if !cfg!(target_arch = "x86_64") {
        println!("Left out: programs are traced on x86-64.");
        return Ok(());
    }
    let large = root().join(PLACE).join("large");
    let fail = |e: std::io::Error| format!("{}: {e}", large.display());
    File::create(&large).and_then(|file| file.set_len(LARGE_BYTES)).map_err(fail)?;
    let large = large.to_string_lossy().into_owned();
    let key = ["-K", "000102030405060708090a0b0c0d0e0f", "-iv", "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"];
    let program =
        [&["--", "openssl", "enc", "-aes-128-cbc", "-in", &large, "-out", "/dev/null"], &key[..]].concat();
    for observe in [&["trace"][..], &["compare", "--without", "aes", "--runs", "3"]] {
        run(millstream(&[observe, &program[..]].concat()))?;
        println!();
    }
    Ok(())
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let fail = |e: std::io::Error| format!("{}: {e}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let kind = entry.file_type().map_err(fail)?;
        if kind.is_dir() && entry.file_name() != "target" {
            walk(&entry.path(), files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// Runs `speed` through the service and against the peers, and `status` meanwhile.
fn compare(peers: &[&str]) -> Result<(), String> {
    let mut speed =
        millstream(&["speed", "--quiet", "--isolated", "--ways", "direct,queue", "--depth", "1,32"]);
    speed.args(peers).args(["--bytes", "64,1024", "--seconds", "0.3", "--show", "ops,p50,times"]);
    speed.args(["hmac-sha256", "aes-128-ecb", "aes-128-cbc"]).stdout(Stdio::piped());
    let speed = speed.spawn().map_err(|e| format!("millstream speed: {e}"))?;
    sleep(Duration::from_secs(1));
    println!("millstream status, while it is measured:\n");
    run(millstream(&["status"]))?;
    let output = speed.wait_with_output().map_err(|e| format!("millstream speed: {e}"))?;
    println!("\n{}", String::from_utf8_lossy(&output.stdout));
    if output.status.success() { Ok(()) } else { Err(format!("millstream speed: {}", output.status)) }
}

/// Returns true if there is a processor for clients beside the worker's. A pinned worker makes the scheduler move
/// clients away from its processor.
fn two_processors() -> bool {
    works("taskset", &["-c", "0", "true"]) && works("taskset", &["-c", "1", "true"])
}

/// The service, while the demo runs.
struct Service {
    child: Child,
}

impl Service {
    /// Starts it and waits until it is ready.
    fn start() -> Result<Service, String> {
        let log = root().join(PLACE).join("serve.log");
        let log = File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
        let mut command = millstream(&["serve", "--socket", SOCKET, "--ready-fd", "1"]);
        command.args(if two_processors() { &["--pin", "1"][..] } else { &[] });
        command.stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().map_err(|e| format!("millstream serve: {e}"))?;
        let stdout = child.stdout.take().expect("stdout is piped");
        let service = Service { child };
        let mut line = String::new();
        match BufReader::new(stdout).read_line(&mut line) {
            Ok(bytes) if bytes > 0 => {
                println!("millstream serve --socket {SOCKET}");
                Ok(service)
            }
            _ => Err(format!("millstream serve did not become ready; see {PLACE}/serve.log")),
        }
    }

    /// Returns the processes of its workers.
    fn workers(&self) -> Result<Vec<u64>, String> {
        let output =
            millstream(&["status", "--json"]).output().map_err(|e| format!("millstream status: {e}"))?;
        let status: Value =
            serde_json::from_slice(&output.stdout).map_err(|e| format!("millstream status --json: {e}"))?;
        let workers = status["workers"].as_array().ok_or("millstream status --json: no workers")?;
        Ok(workers.iter().filter_map(|worker| worker["pid"].as_u64()).collect())
    }

    /// Asks the service to end, and looks for files and processes that it should not have left.
    fn stop(mut self, workers: &[u64]) -> Result<(), String> {
        run(command("kill", &["-TERM", &self.child.id().to_string()]))?;
        let until = Instant::now() + Duration::from_secs(10);
        let status = loop {
            match self.child.try_wait().map_err(|e| format!("millstream serve: {e}"))? {
                Some(status) => break status,
                None if Instant::now() > until => return Err("millstream serve does not end".into()),
                None => sleep(Duration::from_millis(5)),
            }
        };
        if !status.success() {
            return Err(format!("millstream serve: {status}; see {PLACE}/serve.log"));
        }
        for worker in workers {
            if Path::new(&format!("/proc/{worker}")).exists() {
                return Err(format!("worker process {worker} is still there"));
            }
        }
        let left =
            std::fs::read_dir(root().join(PLACE).join("tmp")).map_err(|e| format!("{PLACE}/tmp: {e}"))?;
        if root().join(SOCKET).exists() || left.count() > 0 {
            return Err(format!("something is left in {PLACE}"));
        }
        Ok(())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // After a clean end there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(path: &str) -> Result<Vec<u8>, String> {
    std::fs::read(root().join(path)).map_err(|e| format!("{path}: {e}"))
}

/// Writes a fresh 32-byte key that only its owner can read.
fn write_key(path: &Path) -> Result<(), String> {
    use std::io::{Read, Write};
    use std::os::unix::fs::OpenOptionsExt;
    let fail = |e: std::io::Error| format!("{}: {e}", path.display());
    let mut key = [0; 32];
    File::open("/dev/urandom").and_then(|mut f| f.read_exact(&mut key)).map_err(fail)?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path).and_then(|mut f| f.write_all(&key)).map_err(fail)
}
