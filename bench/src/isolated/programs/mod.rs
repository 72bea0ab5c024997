//! Whole programs with keys of a token: Java, OpenSSH's server and nginx, beside the same programs with the same keys in their own
//! process, and in SoftHSM2.
//!
//! Each program runs three times, on the same configuration but for the key. What comes from the token is verified by other code before
//! anything is timed. The three take turns, and a figure is the median of the ratios within a turn. Java has one processor and the worker the
//! other. A server shares its processor with the worker and all that helps it, and the clients have the other.

mod bed;
mod java;
mod sshd;
mod web;

use std::fmt::Write as _;
use std::path::PathBuf;

use millstream_cpu::Features;
use millstream_measure::statistics::median;
use serde_json::{Value, json};

use self::bed::Bed;
use super::nginx;
use super::running::output;
use super::{Common, Figure, tokens};
use crate::record::{self, Circumstances, rounded};

/// The part of the speed of keys in the process that a token is to reach.
const GOAL: f64 = 0.95;

#[derive(clap::Args)]
pub struct Arguments {
    /// Only these of java, sshd and nginx
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_values_t = ["java", "sshd", "nginx"].map(str::to_owned))]
    programs: Vec<String>,
    /// Number of turns of each way
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds of a turn; a turn of Java has a tenth
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    seconds: f64,
    /// nginx
    #[arg(long, value_name = "PATH", default_value = "/usr/sbin/nginx")]
    nginx: PathBuf,
    /// nginx's workers
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    workers: u32,
    /// Clients of nginx, each of which has one handshake under way
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    clients: u32,
    /// Clients of sshd, each of which logs in again and again
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    logins: u32,
    /// The engine for PKCS #11 of OpenSSL 3.0
    #[arg(long, value_name = "PATH", default_value = "/usr/lib/x86_64-linux-gnu/engines-3/pkcs11.so")]
    engine: PathBuf,
    /// The module of SoftHSM2
    #[arg(long, value_name = "PATH", default_value = tokens::SOFTHSM)]
    softhsm: PathBuf,
    /// Our module [default: the one beside this program]
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

/// The place of a program's key.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Process,
    Millstream,
    SoftHsm,
}

impl Place {
    const ALL: [Place; 3] = [Place::Process, Place::Millstream, Place::SoftHsm];

    fn name(self) -> &'static str {
        match self {
            Place::Process => "process",
            Place::Millstream => "millstream",
            Place::SoftHsm => "softhsm",
        }
    }
}

/// The rates of a program, times a second in each turn, by the places in their order.
struct Row {
    what: String,
    rates: [Vec<f64>; 3],
}

impl Row {
    fn new(what: impl Into<String>) -> Row {
        Row { what: what.into(), rates: Default::default() }
    }

    /// Runs all places in turns. `turn` returns how often a second a place did it.
    fn measure(
        what: impl Into<String>,
        rounds: u32,
        turn: impl Fn(usize) -> Result<f64, String>,
    ) -> Result<Row, String> {
        let mut row = Row::new(what);
        for round in 0..rounds as usize {
            for step in 0..row.rates.len() {
                // Another place begins each time.
                let at = (round + step) % row.rates.len();
                row.rates[at].push(turn(at)?);
            }
        }
        Ok(row)
    }

    fn figures(&self) -> [Figure; 2] {
        let [process, ours, softhsm] = &self.rates;
        let over = |peer: &[f64]| median(ours.iter().zip(peer).map(|(ours, peer)| ours / peer).collect());
        let rate = |rates: &[f64]| median(rates.to_vec());
        [
            Figure {
                what: format!("{}, over keys in the process", self.what),
                value: over(process),
                unit: "times",
                wish: Some((false, GOAL)),
                detail: format!("{:.0} a second, in the process {:.0}", rate(ours), rate(process)),
            },
            Figure {
                what: "  over keys in SoftHSM2".to_owned(),
                value: over(softhsm),
                unit: "times",
                wish: None,
                detail: format!("SoftHSM2 {:.0} a second", rate(softhsm)),
            },
        ]
    }

    fn json(&self) -> Value {
        let rates = |rates: &[f64]| rates.iter().map(|rate| rounded(*rate)).collect::<Vec<_>>();
        let [process, ours, softhsm] = &self.rates;
        json!({ "what": self.what, "process": rates(process), "millstream": rates(ours), "softhsm": rates(softhsm) })
    }
}

/// Measures and reports.
///
/// # Errors
/// A program is not there or can't be started, or what comes from a token is wrong.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.common.recording.wanted()?;
    let features = Features::active().map_err(|e| e.to_string())?;
    let processors = arguments.common.processors()?;
    let bed = Bed::make(arguments, processors)?;
    let mut about = Circumstances::now(features, Vec::new(), Vec::new()).beside(1.0);
    about.peers = vec![("SoftHSM2".to_owned(), tokens::version())];
    let mut rows = Vec::new();
    for program in &arguments.programs {
        let (version, measured) = match program.as_str() {
            "java" => (java::version()?, java::run(arguments, &bed)?),
            "sshd" => (sshd::version()?, sshd::run(arguments, &bed)?),
            "nginx" => (nginx::version(&arguments.nginx)?, web::run(arguments, &bed)?),
            other => return Err(format!("{other}: one of java, sshd and nginx")),
        };
        about.peers.push(version);
        rows.extend(measured);
    }
    if arguments.common.check_only {
        println!("test result: ok. {} passed; 0 failed", arguments.programs.len());
        return Ok(());
    }
    let mut text = String::new();
    about.lines().iter().for_each(|line| text += &format!("- {line}\n"));
    let [one, other] = processors;
    let _ = writeln!(
        text,
        "- Java on processor {one} and the worker on {other}; servers and the worker on {other}, clients on {one}; \
         {} workers of nginx and {} clients, {} clients of sshd\n\n```text",
        arguments.workers, arguments.clients, arguments.logins
    );
    let figures: Vec<Figure> = rows.iter().flat_map(Row::figures).collect();
    figures.iter().for_each(|figure| text += &(figure.line().trim_end().to_owned() + "\n"));
    text += "```\n";
    print!("{text}");
    about.warn();
    if arguments.common.recording.wanted()? {
        let value = json!({ "about": about.json(), "cpus": arguments.common.cpus,
                            "figures": figures.iter().map(Figure::json).collect::<Vec<_>>(),
                            "rates": rows.iter().map(Row::json).collect::<Vec<_>>() });
        record::keep(&about, "-programs", &value, format!("# Programs with keys in a token\n\n{text}"))?;
    }
    Ok(())
}
