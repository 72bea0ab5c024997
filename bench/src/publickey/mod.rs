//! Public keys: one operation at a time and eight in flight, beside OpenSSL, AWS-LC, graviola, ring, libcrux, crypto_mb and SPHINCS+.

mod cases;
mod crypto_mb;
mod evp;
mod graviola;
mod lattice;
mod libcrux;
mod ours;
mod report;
mod ring;
mod slhdsa;
mod sphincs;

use std::path::PathBuf;

use millstream::Features;
use millstream_measure::clock;
use millstream_measure::statistics::median;

use crate::record::{self, Circumstances, Recording};
use crate::{glob, progress};
use cases::{Algorithm, Case, Material, Operation};
use crypto_mb::CryptoMb;

#[derive(clap::Args)]
pub struct Arguments {
    /// Only cases whose name matches one of these patterns, as in 'p256-*'
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    algorithms: Vec<String>,
    /// Number of turns of each row in each case
    #[arg(long, value_name = "N", default_value_t = 41, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Milliseconds of each turn
    #[arg(long, value_name = "MS", default_value_t = 4.0)]
    milliseconds: f64,
    /// Compare the results of all rows and time nothing
    #[arg(long, conflicts_with_all = ["json", "record", "rounds", "milliseconds"])]
    check_only: bool,
    /// Write every figure to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    recording: Recording,
}

/// A call that appends the result of each of its operations to a buffer.
type Call = Box<dyn FnMut(&mut Vec<u8>)>;

/// An implementation of a case.
pub struct Row {
    /// The library, as in `openssl-3.0`.
    pub name: String,
    /// The call, or for our own rows the kernel.
    pub call: String,
    /// Operations that one call does.
    pub width: usize,
    run: Call,
    /// Nanoseconds of an operation, one figure for each round.
    pub times: Vec<f64>,
}

impl Row {
    /// Makes a row of a call that appends the result of each of its operations to an empty buffer.
    fn new(name: &str, call: &str, width: usize, run: impl FnMut(&mut Vec<u8>) + 'static) -> Row {
        Row { name: name.to_owned(), call: call.to_owned(), width, run: Box::new(run), times: Vec::new() }
    }

    /// Returns the result of each operation of a call.
    fn results(&mut self) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        (self.run)(&mut out);
        out.chunks(out.len() / self.width).map(<[u8]>::to_vec).collect()
    }

    fn seconds(&mut self, calls: u32) -> f64 {
        let mut out = Vec::with_capacity(1 << 14);
        let ns = clock::time_ns(|| {
            for _ in 0..calls {
                out.clear();
                (self.run)(&mut out);
            }
        });
        ns / f64::from(calls) / self.width as f64
    }
}

/// A case that was measured. Our rows come first.
pub struct Measured {
    pub case: Case,
    pub rows: Vec<Row>,
}

impl Measured {
    /// Returns how many times as long as a row of ours another takes: the median of each round's ratio.
    pub fn ratio(&self, ours: &Row, other: &Row) -> f64 {
        median(other.times.iter().zip(&ours.times).map(|(other, ours)| other / ours).collect())
    }
}

/// Measures and reports. Slowness is never an error; a wrong result always is.
///
/// # Errors
/// Fails when results differ.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.recording.wanted()?;
    let features = Features::active().map_err(|e| e.to_string())?;
    let (libraries, mut absent) = evp::libraries();
    let lanes = CryptoMb::load().map_err(|why| absent.push(why)).ok();
    absent.extend(sphincs::folder().err());
    let mut versions: Vec<_> =
        libraries.iter().map(|library| (library.name().to_owned(), library.version())).collect();
    versions.extend(lanes.as_ref().map(|lanes| (crypto_mb::NAME.to_owned(), lanes.version())));
    versions.push((graviola::NAME.to_owned(), format!("graviola {}", env!("GRAVIOLA_VERSION"))));
    versions.push((libcrux::NAME.to_owned(), env!("LIBCRUX_VERSIONS").to_owned()));
    versions.push((ring::NAME.to_owned(), format!("ring {}", env!("RING_VERSION"))));
    let peers = Peers { libraries, lanes };
    let about = Circumstances::now(features, versions, absent);
    if !arguments.check_only {
        about.lines().iter().for_each(|line| println!("{line}"));
    }
    let cases: Vec<Case> =
        Case::all().into_iter().filter(|case| glob::any(&arguments.algorithms, &case.name())).collect();
    let (mut all, mut compared) = (Vec::new(), 0);
    let mut last: Option<(Algorithm, Material)> = None;
    for (done, case) in cases.iter().enumerate() {
        progress(&format!("{} of {}: {}", done + 1, cases.len(), case.name()));
        let mut material = match last.take() {
            Some((algorithm, material)) if algorithm == case.algorithm => material,
            _ => Material::new(features, case.algorithm)?,
        };
        let rows = checked(features, case, &mut material, &peers, &mut compared)?;
        last = Some((case.algorithm, material));
        let mut measured = Measured { case: *case, rows };
        if !arguments.check_only {
            measure(&mut measured, arguments);
            progress("");
            println!("{}", report::table(&measured));
        }
        all.push(measured);
    }
    progress("");
    if all.is_empty() {
        return Err("nothing to measure: no case matches".to_owned());
    }
    if arguments.check_only {
        println!("{} cases; {compared} results of other libraries compared, all equal", all.len());
        return Ok(());
    }
    print!("{}", report::goals(&all));
    about.warn();
    let value = report::json(&about, arguments, &all);
    if let Some(path) = &arguments.json {
        let json = serde_json::to_string_pretty(&value).map_err(|e| e.to_string())? + "\n";
        std::fs::write(path, json).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    if arguments.recording.wanted()? {
        record::keep(&about, "-publickey", &value, report::markdown(&about, arguments, &all))?;
    }
    Ok(())
}

/// The libraries that were loaded.
struct Peers {
    libraries: Vec<evp::Evp>,
    lanes: Option<CryptoMb>,
}

/// Makes the rows of a case, and compares what they say: of an agreement or a signature the bytes, or with ECDSA whether it
/// verifies; of a verification both verdicts.
fn checked(
    features: Features,
    case: &Case,
    material: &mut Material,
    peers: &Peers,
    compared: &mut usize,
) -> Result<Vec<Row>, String> {
    material.signature = ours::signature(features, case.algorithm, material)?;
    let rows = |material: &Material| -> Result<Vec<Row>, String> {
        let mut rows = ours::rows(features, case, material)?;
        rows.extend(peers.libraries.iter().filter_map(|library| library.row(case, material)));
        rows.extend(graviola::row(features, case, material));
        rows.extend(libcrux::rows(features, case, material));
        rows.extend(peers.lanes.as_ref().and_then(|lanes| lanes.row(features, case, material)));
        rows.extend(ring::row(features, case, material));
        rows.extend(sphincs::row(case, material).ok());
        Ok(rows)
    };
    let mut right = rows(material)?;
    let expected = right[0].results()[0].clone();
    for row in &mut right {
        for result in row.results() {
            let same = match (case.algorithm, case.operation) {
                (Algorithm::Ec(curve), Operation::Sign) => {
                    let raw = cases::decoded_signature(curve, &result).unwrap_or(result);
                    let signed = Material {
                        signature: raw,
                        peer: material.peer.clone(),
                        private: material.private.clone(),
                    };
                    let verify = Case { operation: Operation::Verify, ..*case };
                    ours::rows(features, &verify, &signed)?[0].results()[0] == [1]
                }
                (_, Operation::Verify) => result == [1],
                _ => lattice::is_right(features, case, material, &result, &expected).is_ok_and(|right| right),
            };
            if !same {
                return Err(format!("{}: the result of {} ({}) is wrong", case.name(), row.name, row.call));
            }
        }
        *compared += usize::from(row.name != "millstream");
    }
    if case.operation == Operation::Verify {
        let last = material.signature.len() - 1;
        material.signature[last] ^= 1;
        for row in &mut rows(material)? {
            if row.results().iter().any(|result| result != &[0]) {
                return Err(format!("{}: {} takes a damaged signature", case.name(), row.name));
            }
        }
    }
    Ok(right)
}

/// Measures the rows of a case in turns.
fn measure(measured: &mut Measured, arguments: &Arguments) {
    let turn = arguments.milliseconds * 1e6;
    let calls: Vec<u32> = measured
        .rows
        .iter_mut()
        .map(|row| {
            let once = row.seconds(4).max(1.0) * row.width as f64;
            (turn / once).ceil().clamp(1.0, 1e6) as u32
        })
        .collect();
    for _ in 0..arguments.rounds {
        for (row, &calls) in measured.rows.iter_mut().zip(&calls) {
            let time = row.seconds(calls);
            row.times.push(time);
        }
    }
}
