//! `millstream sparc` beside qemu-sparc64, on the same programs for SPARC, in turns.

mod report;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use millstream_cpu::Features;
use millstream_measure::statistics::median;
use millstream_testkit::{newest_openssl, refuse_built_for_tests};

use crate::progress;
use crate::record::{self, Circumstances, Recording};

#[derive(clap::Args)]
pub struct Arguments {
    /// The program millstream [default: the one beside this program]
    #[arg(long, value_name = "PATH")]
    millstream: Option<PathBuf>,
    /// OpenSSL for SPARC [default: the newest 3.x that `cargo xtask openssl` built]
    #[arg(long, value_name = "PATH")]
    openssl: Option<PathBuf>,
    /// Number of turns of each way
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// The processor that everything runs on; any by default
    #[arg(long, value_name = "CPU")]
    cpu: Option<usize>,
    /// Compare results and time nothing
    #[arg(long)]
    check_only: bool,
    #[command(flatten)]
    recording: Recording,
}

/// A load that is run both ways.
pub struct Load {
    pub name: &'static str,
    what: What,
    /// The least ratio of our speed to that of qemu.
    pub target: Option<f64>,
}

enum What {
    /// A program of this folder, by the time from start to end.
    Program(&'static str),
    /// `openssl enc` of a file, by the time from start to end.
    Encrypt { withheld: bool },
    /// `openssl speed` with these words, by its own figures.
    Speed { words: &'static str, withheld: bool },
}

/// Plain integer code, then OpenSSL's T4 assembly. qemu has no crypto instructions, so OpenSSL computes in
/// software there.
pub const LOADS: &[Load] = &[
    Load { name: "sieve", what: What::Program(include_str!("programs/sieve.c")), target: Some(0.2) },
    Load { name: "crc", what: What::Program(include_str!("programs/crc.c")), target: Some(0.2) },
    Load { name: "sort", what: What::Program(include_str!("programs/sort.c")), target: Some(0.2) },
    Load { name: "words", what: What::Program(include_str!("programs/words.c")), target: Some(0.2) },
    Load { name: "enc aes-128-cbc, 32 MiB", what: What::Encrypt { withheld: false }, target: Some(3.0) },
    Load { name: "enc aes-128-cbc, software", what: What::Encrypt { withheld: true }, target: None },
    Load {
        name: "speed aes-128-cbc, 8 KB",
        what: What::Speed { words: "-bytes 8192 -evp aes-128-cbc", withheld: false },
        target: Some(3.0),
    },
    Load {
        name: "speed sha256, 8 KB",
        what: What::Speed { words: "-bytes 8192 -evp sha256", withheld: false },
        target: None,
    },
    Load {
        name: "speed rsa2048, sign",
        what: What::Speed { words: "rsa2048", withheld: false },
        target: Some(5.0),
    },
    Load {
        name: "speed rsa2048, sign, software",
        what: What::Speed { words: "rsa2048", withheld: true },
        target: None,
    },
];

/// The two emulators.
#[derive(Clone, Copy, PartialEq)]
enum Emulator {
    Qemu,
    Millstream,
}

/// The seconds of a load, or of one of its operations, in each round.
pub struct Row {
    pub load: &'static Load,
    pub qemu: Vec<f64>,
    pub ours: Vec<f64>,
    /// The instructions that our emulator executed from start to end, if that is what is timed.
    pub instructions: Option<u64>,
}

impl Row {
    /// Returns the median ratio of our speed to that of qemu.
    pub fn ratio(&self) -> f64 {
        median(self.qemu.iter().zip(&self.ours).map(|(qemu, ours)| qemu / ours).collect())
    }

    /// Returns the millions of instructions a second of the whole process.
    pub fn mips(&self) -> Option<f64> {
        self.instructions.map(|count| count as f64 / median(self.ours.clone()) / 1e6)
    }
}

/// Measures and reports. Slowness is never an error; a different result always is.
///
/// # Errors
/// When something can't be run, or the two emulators give different results.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.recording.wanted()?;
    if let Some(cpu) = arguments.cpu {
        crate::isolated::pin(cpu);
    }
    let features = Features::active().map_err(|e| e.to_string())?;
    let bench = Bench::new(arguments)?;
    if arguments.check_only { bench.check() } else { bench.measure(arguments, features) }
}

struct Bench {
    millstream: PathBuf,
    openssl: PathBuf,
    /// The programs, and the file to encrypt.
    folder: tempfile::TempDir,
}

impl Bench {
    fn new(arguments: &Arguments) -> Result<Bench, String> {
        let millstream = crate::millstream(arguments.millstream.as_deref())?;
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/openssl");
        let newest = || Ok(newest_openssl(&built, "sparc64-3.")?.join("bin/openssl"));
        let openssl = arguments.openssl.clone().map_or_else(newest, Ok::<_, String>)?;
        refuse_built_for_tests(&openssl)?;
        let folder = tempfile::tempdir().map_err(|e| format!("a temporary folder: {e}"))?;
        std::fs::write(folder.path().join("data"), vec![0x5a; 32 << 20]).map_err(|e| e.to_string())?;
        let bench = Bench { millstream, openssl, folder };
        for load in LOADS {
            if let What::Program(source) = load.what {
                bench.compile(load.name, source)?;
            }
        }
        Ok(bench)
    }

    fn compile(&self, name: &str, source: &str) -> Result<(), String> {
        let file = self.folder.path().join(format!("{name}.c"));
        std::fs::write(&file, source).map_err(|e| format!("{}: {e}", file.display()))?;
        let mut cc = Command::new("sparc64-linux-gnu-gcc");
        cc.args(["-O2", "-static", "-o"]).arg(self.folder.path().join(name)).arg(&file);
        let status = cc.status().map_err(|e| format!("{cc:?}: {e}: install gcc-sparc64-linux-gnu"))?;
        if status.success() { Ok(()) } else { Err(format!("{cc:?}: {status}")) }
    }

    /// Runs every load once by both, where their results can be compared.
    fn check(&self) -> Result<(), String> {
        let mut compared = 0;
        for load in LOADS.iter().filter(|load| !matches!(load.what, What::Speed { .. })) {
            let (qemu, ours) = (self.turn(load, Emulator::Qemu)?, self.turn(load, Emulator::Millstream)?);
            if qemu.0 != ours.0 {
                return Err(format!("{}: qemu and millstream give different results", load.name));
            }
            compared += 1;
        }
        println!("test result: ok. {compared} passed; 0 failed");
        Ok(())
    }

    fn measure(&self, arguments: &Arguments, features: Features) -> Result<(), String> {
        self.check()?;
        let version = output(Command::new("qemu-sparc64").arg("--version"))?;
        let version = String::from_utf8_lossy(&version).lines().next().unwrap_or_default().to_owned();
        let openssl = output(&mut self.command(Emulator::Qemu, true, &self.openssl, "version"))?;
        let openssl = String::from_utf8_lossy(&openssl).trim().to_owned();
        let peers = vec![("qemu-sparc64".to_owned(), version), ("OpenSSL for SPARC".to_owned(), openssl)];
        let about = Circumstances::now(features, peers, Vec::new());
        let mut rows = Vec::new();
        for load in LOADS {
            let mut row = Row { load, qemu: Vec::new(), ours: Vec::new(), instructions: None };
            for round in 0..arguments.rounds {
                progress(&format!("{}, round {} of {}", load.name, round + 1, arguments.rounds));
                let mut order = [Emulator::Qemu, Emulator::Millstream];
                order.rotate_left(round as usize % 2);
                for emulator in order {
                    let (_, seconds) = self.turn(load, emulator)?;
                    if emulator == Emulator::Qemu { row.qemu.push(seconds) } else { row.ours.push(seconds) }
                }
            }
            row.instructions = self.instructions(load)?;
            progress("");
            println!("{}", report::line(&row));
            rows.push(row);
        }
        let text = report::markdown(&about, arguments.rounds, &rows);
        println!("\n{text}");
        if arguments.recording.wanted()? {
            record::keep(&about, "-sparc", &report::json(&about, arguments.rounds, &rows), text)?;
        }
        Ok(())
    }

    /// Runs a load. Returns its output, and the seconds of the load or one of its operations.
    fn turn(&self, load: &Load, emulator: Emulator) -> Result<(Vec<u8>, f64), String> {
        match load.what {
            What::Program(_) => {
                whole(&mut self.command(emulator, false, &self.folder.path().join(load.name), ""))
            }
            What::Encrypt { withheld } => {
                whole(&mut self.command(emulator, withheld, &self.openssl, &self.encrypt()))
            }
            What::Speed { words, withheld } => {
                let words = format!("speed -mr -seconds 1 {words}");
                let out = output(&mut self.command(emulator, withheld, &self.openssl, &words))?;
                let out = String::from_utf8_lossy(&out).into_owned();
                let each = each(&out).ok_or_else(|| format!("openssl speed says no speed: {out}"))?;
                Ok((Vec::new(), each))
            }
        }
    }

    fn encrypt(&self) -> String {
        let data = self.folder.path().join("data");
        let (key, iv) = ("00112233445566778899aabbccddeeff", "0123456789abcdef0123456789abcdef");
        format!("enc -aes-128-cbc -bufsize 8192 -K {key} -iv {iv} -in {}", data.display())
    }

    /// Returns how many instructions a program executes from start to end.
    fn instructions(&self, load: &Load) -> Result<Option<u64>, String> {
        let (program, words, withheld) = match load.what {
            What::Program(_) => (self.folder.path().join(load.name), String::new(), false),
            What::Encrypt { withheld } => (self.openssl.clone(), self.encrypt(), withheld),
            What::Speed { .. } => return Ok(None),
        };
        let report = self.folder.path().join("mix.json");
        let mut command = Command::new(&self.millstream);
        command.args(["sparc", "--mix", "--json", "--report"]).arg(&report);
        if withheld {
            command.args(["--hwcap", WITHHELD]);
        }
        output(command.arg(program).args(words.split_whitespace()))?;
        let text = std::fs::read_to_string(&report).map_err(|e| format!("{}: {e}", report.display()))?;
        let value: serde_json::Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
        Ok(value["instructions"].as_u64())
    }

    /// Returns the command of a program under an emulator. It has no crypto instructions if they are
    /// withheld, and never under qemu.
    fn command(&self, emulator: Emulator, withheld: bool, program: &Path, words: &str) -> Command {
        let mut command = match emulator {
            Emulator::Qemu => {
                let mut command = Command::new("qemu-sparc64");
                command.env("OPENSSL_sparcv9cap", "0");
                command
            }
            Emulator::Millstream => {
                let mut command = Command::new(&self.millstream);
                command.arg("sparc");
                if withheld {
                    command.args(["--hwcap", WITHHELD]);
                }
                command
            }
        };
        command.arg(program).args(words.split_whitespace());
        command
    }
}

/// All of the T4's crypto capabilities.
const WITHHELD: &str = "-aes -des -kasumi -camellia -md5 -sha1 -sha256 -sha512 -mpmul -mont -crc32c";

/// Returns the seconds of one operation, from the lines that `openssl speed -mr` writes for programs.
fn each(text: &str) -> Option<f64> {
    let bytes = text.lines().find_map(|line| line.strip_prefix("+F:"));
    if let Some(figures) = bytes {
        return Some(8192.0 / figures.rsplit(':').next()?.parse::<f64>().ok()?);
    }
    let signatures = text.lines().find_map(|line| line.strip_prefix("+F2:"))?;
    Some(1.0 / signatures.split(':').nth(2)?.parse::<f64>().ok()?)
}

/// Runs a program, and returns its output with the seconds it took.
fn whole(command: &mut Command) -> Result<(Vec<u8>, f64), String> {
    let begin = Instant::now();
    let out = output(command)?;
    Ok((out, begin.elapsed().as_secs_f64()))
}

fn output(command: &mut Command) -> Result<Vec<u8>, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if !output.status.success() {
        let err = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {}: {err}", output.status));
    }
    Ok(output.stdout)
}
