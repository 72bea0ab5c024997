//! The cost of observing a program: for each exec, CPUID, signal and breakpoint, and while it runs.

mod report;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use millstream_cpu::Features;
use millstream_measure::statistics::median;

use crate::record::{self, Circumstances, Recording};
use crate::{isolated, progress};

#[derive(clap::Args)]
pub struct Arguments {
    /// The program millstream [default: the one beside this program]
    #[arg(long, value_name = "PATH")]
    millstream: Option<PathBuf>,
    /// Number of turns of each way
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
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

/// A way to run a program, as words of `millstream`.
pub struct Way {
    pub name: &'static str,
    words: &'static [&'static str],
}

/// The ways. The first is the one that others are compared with.
pub const WAYS: &[Way] = &[
    Way { name: "alone", words: &[] },
    Way { name: "run --without", words: &["run", "--quiet", "--without", "sha"] },
    Way { name: "trace --once", words: &["trace", "--quiet", "--once"] },
    Way { name: "trace --rate", words: &["trace", "--quiet", "--rate"] },
    Way { name: "trace --count", words: &["trace", "--quiet", "--count"] },
];

/// A load: something that is done many times.
pub struct Load {
    pub name: &'static str,
    what: &'static str,
    count: u32,
    /// True when it is also measured with every entry counted.
    counted: bool,
    /// True when observing must change it by less than a hundredth.
    pub steady: bool,
}

const fn load(name: &'static str, what: &'static str, count: u32) -> Load {
    Load { name, what, count, counted: true, steady: false }
}

pub const LOADS: &[Load] = &[
    load("program started", "execs", 40),
    load("CPUID", "cpuids", 2000),
    load("signal", "signals", 2000),
    load("process forked", "forks", 200),
    load("thread started", "threads", 200),
    load("AES function entered", "hits", 2000),
    Load { name: "running on", what: "steady", count: 200_000, counted: false, steady: true },
    Load { name: "openssl speed", what: "", count: 0, counted: false, steady: true },
];

/// The cost of one load by each way, in nanoseconds, in each round.
pub struct Row {
    pub load: &'static Load,
    pub turns: Vec<Vec<Option<f64>>>,
}

impl Row {
    /// Returns the median time of a way.
    pub fn nanoseconds(&self, way: usize) -> Option<f64> {
        let all: Vec<f64> = self.turns.iter().filter_map(|turn| turn[way]).collect();
        (!all.is_empty()).then(|| median(all))
    }

    /// Returns the median ratio of a way's time to that of the program alone.
    pub fn ratio(&self, way: usize) -> Option<f64> {
        let all: Vec<f64> = self.turns.iter().filter_map(|turn| Some(turn[way]? / turn[0]?)).collect();
        (!all.is_empty()).then(|| median(all))
    }
}

/// Measures and reports. Slowness is never an error; another result always is.
///
/// # Errors
/// Fails when something can't be run, or when a program's result is another when it is observed.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.recording.wanted()?;
    if let Some(cpu) = arguments.cpu {
        isolated::pin(cpu);
    }
    let features = Features::active().map_err(|e| e.to_string())?;
    let millstream = crate::millstream(arguments.millstream.as_deref())?;
    let folder = tempfile_folder()?;
    let bench = Bench { millstream, load: build(&folder)? };
    let done = if arguments.check_only { bench.check() } else { bench.measure(arguments, features) };
    let _ = std::fs::remove_dir_all(folder);
    done
}

fn tempfile_folder() -> Result<PathBuf, String> {
    let folder = std::env::temp_dir().join(format!("millstream-bench-observe-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(folder)
}

/// Compiles the program of the loads.
fn build(folder: &Path) -> Result<PathBuf, String> {
    let (source, program) = (folder.join("load.c"), folder.join("load"));
    std::fs::write(&source, include_str!("load.c")).map_err(|e| format!("{}: {e}", source.display()))?;
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-pthread", "-o"]).arg(&program).arg(&source);
    let status = cc.status().map_err(|e| format!("{cc:?}: {e}"))?;
    if status.success() { Ok(program) } else { Err(format!("{cc:?}: {status}")) }
}

struct Bench {
    millstream: PathBuf,
    load: PathBuf,
}

/// The output of a program, and the time of one of its operations.
struct Turn {
    result: String,
    nanoseconds: f64,
}

impl Bench {
    /// Runs every load by every way, a few times each, and checks that the results are the same.
    fn check(&self) -> Result<(), String> {
        let mut compared = 0;
        for load in LOADS.iter().filter(|load| !load.what.is_empty()) {
            let alone = self.turn(load, &WAYS[0], 10)?.result;
            for way in &WAYS[1..] {
                let observed = self.turn(load, way, 10)?.result;
                if observed != alone {
                    return Err(format!("{}, {}: {observed:?}, and alone {alone:?}", load.name, way.name));
                }
                compared += 1;
            }
        }
        println!("test result: ok. {compared} passed; 0 failed");
        Ok(())
    }

    fn measure(&self, arguments: &Arguments, features: Features) -> Result<(), String> {
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let peers = vec![("Linux".to_owned(), kernel.trim().to_owned())];
        let about = Circumstances::now(features, peers, Vec::new());
        let mut rows = Vec::new();
        for load in LOADS {
            let mut row = Row { load, turns: Vec::new() };
            for round in 0..arguments.rounds {
                progress(&format!("{}, round {} of {}", load.name, round + 1, arguments.rounds));
                row.turns.push(self.round(load, round as usize)?);
            }
            progress("");
            println!("{}", report::line(&row));
            rows.push(row);
        }
        let text = report::markdown(&about, arguments.rounds, &rows);
        println!("\n{text}");
        if arguments.recording.wanted()? {
            record::keep(&about, "-observe", &report::json(&about, arguments.rounds, &rows), text)?;
        }
        Ok(())
    }

    /// Measures one turn of each way, beginning with another one each time.
    fn round(&self, load: &Load, round: usize) -> Result<Vec<Option<f64>>, String> {
        let mut turn = vec![None; WAYS.len()];
        for step in 0..WAYS.len() {
            let way = (step + round) % WAYS.len();
            if load.counted || !WAYS[way].words.contains(&"--count") {
                turn[way] = Some(self.turn(load, &WAYS[way], load.count)?.nanoseconds);
            }
        }
        Ok(turn)
    }

    fn turn(&self, load: &Load, way: &Way, count: u32) -> Result<Turn, String> {
        match load.what {
            "" => self.openssl(way),
            "execs" => {
                // The first start, and that of the command itself, are in both.
                let one = self.whole(way, 0)?;
                let many = self.whole(way, count)?;
                let each = (many.nanoseconds - one.nanoseconds) / f64::from(count);
                Ok(Turn { nanoseconds: each, ..many })
            }
            what => {
                let mut command = self.under(way, &self.load);
                let (out, err) = output(command.args([what, &count.to_string()]))?;
                let said = err.lines().find_map(|line| line.strip_prefix("nanoseconds "));
                let nanoseconds = said.and_then(|number| number.parse().ok());
                Ok(Turn { result: out, nanoseconds: nanoseconds.ok_or(format!("no time in {err:?}"))? })
            }
        }
    }

    /// Measures a chain of programs by the time from start to end.
    fn whole(&self, way: &Way, count: u32) -> Result<Turn, String> {
        let mut command = self.under(way, &self.load);
        let begin = Instant::now();
        let (result, _) = output(command.args(["execs", &count.to_string()]))?;
        Ok(Turn { result, nanoseconds: begin.elapsed().as_secs_f64() * 1e9 })
    }

    /// Returns the nanoseconds for 16 KiB, as openssl reports them. Its clock has hundredths of a second, so
    /// it gets three seconds.
    fn openssl(&self, way: &Way) -> Result<Turn, String> {
        let mut command = self.under(way, Path::new("openssl"));
        command.args(["speed", "-mr", "-seconds", "3", "-bytes", "16384", "-evp", "aes-128-gcm"]);
        let (out, _) = output(&mut command)?;
        let line = out.lines().find(|line| line.starts_with("+F:"));
        let bytes: Option<f64> = line.and_then(|line| line.rsplit(':').next()?.parse().ok());
        let bytes = bytes.ok_or(format!("openssl speed says no speed: {out}"))?;
        Ok(Turn { result: String::new(), nanoseconds: 16384.0 / bytes * 1e9 })
    }

    fn under(&self, way: &Way, program: &Path) -> Command {
        if way.words.is_empty() {
            return Command::new(program);
        }
        let mut command = Command::new(&self.millstream);
        command.args(way.words);
        if way.words[0] == "trace" {
            command.args(["--report", "/dev/null"]);
        }
        command.arg("--").arg(program);
        command
    }
}

fn output(command: &mut Command) -> Result<(String, String), String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(format!("{command:?}: {}: {err}", output.status));
    }
    Ok((String::from_utf8_lossy(&output.stdout).into_owned(), err))
}
