//! Figures that Sun and Oracle published, and the model's beside them.
//!
//! Each experiment says on which of its points the model was fitted. The model predicts the others, and their error
//! shows how good it is.

mod tools;

use super::counts::{Counts, RSA_SIGNATURES};
use super::model::{self, Bulk, Level};
use super::parameters as p;
use super::simulation::{Network, Visit};
use crate::processor::Processor;

/// Beyond this error, a note has to say why.
pub const TOLERANCE: f64 = 0.15;

/// The lengths of `openssl speed`.
pub const SIZES: [u64; 5] = [16, 64, 256, 1024, 8192];

/// S2: `openssl speed -evp aes-128-cbc` on a T4, 1000s of bytes a second: the t4 engine.
pub const T4_ENGINE: [f64; 5] = [487_777.10, 816_822.21, 986_012.59, 1_017_029.97, 1_053_543.08];
/// S2: the same through PKCS #11.
pub const T4_PKCS11: [f64; 5] = [31_703.58, 116_636.39, 350_672.81, 696_170.50, 993_599.49];
/// S4: AES-128-CBC through PKCS #11 on a T4, 1000s of bytes a second.
pub const T4_WITH: [f64; 5] = [54_170.81, 187_416.00, 489_725.70, 805_445.63, 1_018_880.00];
/// S4: the same with `LD_HWCAP` taking the instructions away.
pub const T4_WITHOUT: [f64; 5] = [29_376.37, 58_328.13, 79_031.55, 86_738.26, 89_191.77];
/// S4's third table: headed as the t4 engine, but with the speed of software, so through EVP without PKCS #11.
pub const T4_SOFTWARE: [f64; 5] = [85_526.61, 89_298.84, 91_970.30, 92_662.78, 92_842.67];

/// OSL: RSA signatures a second of one thread of a T4, with 1024, 2048 and 4096 bits.
pub const T4_RSA: [f64; 3] = [3904.4, 1056.8, 197.6];

/// The length of objects in 2008.
const LARGE: u64 = 8192;
/// A small packet.
const SMALL: u64 = 64;
/// The object whose pipeline slots S0 counted, and whose part of the peak it gave.
const ONE_KB: u64 = 1024;

/// The way in which the model comes to its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The model was fitted on this very point.
    Fitted,
    /// The model predicts it from parameters that were fitted elsewhere, or not at all.
    Predicted,
    /// Instructions counted on the emulator.
    Counted,
}

/// The kind of statement that the published figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// A measurement.
    Measured,
    /// "About", "near".
    About,
    /// "Up to".
    UpTo,
    /// "Less than".
    LessThan,
    /// "More than", "and more".
    MoreThan,
    /// No figure was published for this point; the model's stands alone.
    None,
}

/// One published figure and the model's.
#[derive(Clone, Debug)]
pub struct Point {
    /// The place of the point, such as `16 bytes`.
    pub at: String,
    /// The published figure.
    pub published: f64,
    /// The kind of statement that the published figure is.
    pub claim: Claim,
    /// The model's figure.
    pub model: f64,
    /// The way in which the model comes to its figure.
    pub how: How,
}

impl Point {
    /// Returns the part by which the model is too high. Returns nothing for a fitted point, or if there is no figure
    /// for a comparison.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        let comparable = matches!(self.claim, Claim::Measured | Claim::About | Claim::UpTo);
        (comparable && self.how != How::Fitted).then(|| self.model / self.published - 1.0)
    }

    /// True if the published figure is a limit, which the model's keeps or not.
    #[must_use]
    pub fn is_limit(&self) -> bool {
        matches!(self.claim, Claim::LessThan | Claim::MoreThan)
    }

    /// True if the model agrees with the published figure.
    #[must_use]
    pub fn agrees(&self) -> bool {
        match self.claim {
            Claim::LessThan => self.model < self.published,
            Claim::MoreThan => self.model > self.published,
            Claim::None => true,
            _ => self.error().is_none_or(|error| error.abs() <= TOLERANCE),
        }
    }
}

/// Figures that belong together.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The measured operation, and the machine.
    pub title: &'static str,
    /// The source of the figures.
    pub source: &'static str,
    /// The unit of the figures.
    pub unit: &'static str,
    /// The figures.
    pub points: Vec<Point>,
    /// The model's way to its figures, and the reason why some are off.
    pub note: &'static str,
}

/// All of them.
#[must_use]
pub fn experiments(counts: &Counts) -> Vec<Experiment> {
    let mut all = vec![
        t4_engine(),
        t4_pkcs11(),
        hwcap_with(),
        hwcap_without(),
        software(),
        instructions_and_software(),
    ];
    all.push(rsa());
    all.extend([outstanding(), two_sockets(), cores(), tools::tools(), tools::processor_time()]);
    all.extend([part_of_peak(), small_packets(counts)]);
    all.extend([ghash(counts), pipeline_slots(counts)]);
    all
}

/// Returns 1000s of bytes a second for a call that takes so many cycles, and so many for each byte.
fn rate(call: f64, per_byte: f64, bytes: u64) -> f64 {
    let cycles = call + per_byte * bytes as f64;
    p::T4_CLOCK.value / cycles * bytes as f64 / 1e3
}

/// Sets a table of `openssl speed` beside the cycles of a call and its bytes. `fitted` has the lengths at which the
/// model was fitted.
fn speed(published: [f64; 5], call: f64, per_byte: f64, fitted: &[u64]) -> Vec<Point> {
    let point = |(bytes, published): (u64, f64)| Point {
        at: format!("{bytes} bytes"),
        published: published / 1e3,
        claim: Claim::Measured,
        model: rate(call, per_byte, bytes) / 1e3,
        how: if fitted.contains(&bytes) { How::Fitted } else { How::Predicted },
    };
    SIZES.into_iter().zip(published).map(point).collect()
}

fn t4_engine() -> Experiment {
    Experiment {
        title: "openssl speed -evp aes-128-cbc on a T4, the t4 engine",
        source: "S2",
        unit: "MB/s",
        points: speed(T4_ENGINE, p::T4_ENGINE_CALL.value, p::T4_AES128_CBC.value, &[16]),
        note: "Cycles a byte as published; the cost of a call fitted at 16 bytes.",
    }
}

fn t4_pkcs11() -> Experiment {
    Experiment {
        title: "The same through PKCS #11",
        source: "S2",
        unit: "MB/s",
        points: speed(T4_PKCS11, p::T4_PKCS11_CALL.value, p::T4_AES128_CBC.value, &[16]),
        note: "Only the cost of a call differs from the former.",
    }
}

fn hwcap_with() -> Experiment {
    Experiment {
        title: "AES-128-CBC through PKCS #11 on a T4, with its instructions",
        source: "S4",
        unit: "MB/s",
        points: speed(T4_WITH, p::T4_HWCAP_CALL.value, p::T4_AES128_CBC.value, &[16]),
        note: "Another release than S2's, with a shorter way through the library.",
    }
}

fn hwcap_without() -> Experiment {
    let (call, per_byte) = (p::T4_HWCAP_SOFTWARE_CALL.value, p::T4_SOFTWARE_AES128_CBC.value);
    Experiment {
        title: "The same with LD_HWCAP=\"-aes ...\"",
        source: "S4",
        unit: "MB/s",
        points: speed(T4_WITHOUT, call, per_byte, &[16, 8192]),
        note: "A line through the first and the last.",
    }
}

fn software() -> Experiment {
    Experiment {
        title: "AES-128-CBC on a T4 in software, without PKCS #11",
        source: "S4",
        unit: "MB/s",
        points: speed(T4_SOFTWARE, p::T4_ENGINE_CALL.value, p::T4_SOFTWARE_AES128_CBC.value, &[]),
        note: "Cycles a byte from the table before, the call's from S2. S4 heads it as the t4 engine.",
    }
}

fn instructions_and_software() -> Experiment {
    let ratio = |bytes: u64, published| {
        let (call, bytes_) = (p::T4_ENGINE_CALL.value, bytes as f64);
        let software = call + p::T4_SOFTWARE_AES128_CBC.value * bytes_;
        let model = software / (call + p::T4_AES128_CBC.value * bytes_);
        let at = format!("{bytes} bytes");
        Point { at, published, claim: Claim::About, model, how: How::Predicted }
    };
    Experiment {
        title: "AES-128-CBC on a T4: its instructions against its software",
        source: "S3",
        unit: "times",
        points: vec![ratio(16, 6.0), ratio(8192, 12.0)],
        note: "Software's cycles a byte from S4, the call's from S2.",
    }
}

fn rsa() -> Experiment {
    let point = |((bits, multiplications), published): ((u64, u64), f64)| {
        // The Chinese remainder theorem halves the bits of the numbers.
        let cycles = multiplications as f64 * model::montmul(bits / 2 / 64);
        let how = if bits == 4096 { How::Predicted } else { How::Fitted };
        let model = p::T4_CLOCK.value / cycles;
        Point { at: format!("{bits} bits"), published, claim: Claim::Measured, model, how }
    };
    Experiment {
        title: "RSA on a T4, one thread, with montmul and montsqr",
        source: "OSL",
        unit: "signatures/s",
        points: RSA_SIGNATURES.into_iter().zip(T4_RSA).map(point).collect(),
        note: "How many multiplications a signature takes is counted on the emulator. What one takes is fitted, as \
               a number of cycles and so many more for each product of words.",
    }
}

/// Returns the cycles of an operation through T2's framework, with several operations of one thread in flight.
///
/// The thread submits and copies; strands of the kernel drive the units, to which operations go in turn.
fn framework_cycles(in_flight: usize) -> f64 {
    let cores = p::T2_CORES.value as usize;
    let mut network = Network::default();
    let (thread, kernel) = (network.station(1), network.station(cores));
    let units: Vec<_> = (0..cores).map(|_| network.station(1)).collect();
    let own = p::FRAMEWORK_THREAD.value + p::T2_COPY.value * (2 * LARGE) as f64;
    let half = p::FRAMEWORK_REST.value / 2.0;
    let job = encrypt_mac();
    network.run(in_flight, 2000, |_, number| {
        let unit = units[number as usize % units.len()];
        let visits = [(thread, own), (kernel, half), (unit, job), (kernel, half)];
        visits.map(|(station, cycles)| Visit { station, cycles }).to_vec()
    })
}

/// Two words for one unit: triple DES, then MD5.
fn encrypt_mac() -> f64 {
    [Bulk::TripleDes, Bulk::Md5].map(|bulk| model::unit(bulk, LARGE, Level::L2)).iter().sum()
}

fn outstanding() -> Experiment {
    let synchronous = framework_cycles(1);
    let point = |in_flight: usize| {
        let model = synchronous / framework_cycles(in_flight);
        let at = format!("{in_flight} in flight");
        Point { at, published: 0.0, claim: Claim::None, model, how: How::Predicted }
    };
    let mut points: Vec<Point> = [1, 2, 4, 8, 16].map(point).into();
    let last = points.last_mut().expect("there are five");
    (last.published, last.claim, last.how) = (4.7, Claim::UpTo, How::Fitted);
    Experiment {
        title: "T2's framework, one thread: async against sync, 8 KB of encrypt_mac with 3DES and MD5",
        source: "S1",
        unit: "times",
        points,
        note: "Simulated: the thread's own part of an operation, fitted, is what remains when eight units share the rest.",
    }
}

/// Returns the rate of AES-128-CBC in the kernel, so without copies, of 8 KB objects in DRAM on T2: bytes a second of
/// so many cores with so many threads each.
fn kernel_rate(cores: usize, threads: usize) -> f64 {
    let a_socket = p::T2_CORES.value as usize;
    let mut network = Network::default();
    let strands = network.station(cores * threads);
    let memories: Vec<_> = (0..cores.div_ceil(a_socket)).map(|_| network.station(1)).collect();
    let units: Vec<_> = (0..cores).map(|_| network.station(1)).collect();
    let clock = p::T2_CLOCK.value;
    let own = p::FRAMEWORK_THREAD.value + p::FRAMEWORK_REST.value;
    let transfer = 2.0 * LARGE as f64 / p::T2_DRAM_READ.value * clock;
    let job = model::unit(Bulk::Aes128, LARGE, Level::Dram);
    let cycles = network.run(cores * threads, 20_000, |token, _| {
        let core = token % cores;
        let visits = [(strands, own), (memories[core / a_socket], transfer), (units[core], job)];
        visits.map(|(station, cycles)| Visit { station, cycles }).to_vec()
    });
    LARGE as f64 / cycles * clock
}

fn two_sockets() -> Experiment {
    let cores = 2 * p::T2_CORES.value as usize;
    let a_core = p::T2_STRANDS.value as usize;
    let most = kernel_rate(cores, a_core);
    let enough = (1..=a_core).find(|&threads| kernel_rate(cores, threads) > 0.98 * most).unwrap_or(a_core);
    let strands = enough as f64 / a_core as f64 * 100.0;
    Experiment {
        title: "Two sockets of T2: AES-128-CBC in the kernel, 8 KB",
        source: "S1",
        unit: "GB/s, %",
        points: vec![
            Point {
                at: "GB/s".into(),
                published: 9.0,
                claim: Claim::About,
                model: most / 1e9,
                how: How::Fitted,
            },
            Point {
                at: "% of strands".into(),
                published: 50.0,
                claim: Claim::LessThan,
                model: strands,
                how: How::Predicted,
            },
        ],
        note: "Simulated. The second line: the strands with which it reaches 98 % of the first.",
    }
}

fn cores() -> Experiment {
    let threads = p::T2_STRANDS.value as usize;
    let one = kernel_rate(1, threads);
    let point = |cores: usize| {
        let at = format!("{cores} cores");
        let model = kernel_rate(cores, threads) / one;
        Point { at, published: cores as f64, claim: Claim::About, model, how: How::Predicted }
    };
    Experiment {
        title: "The same by cores, eight threads on each: \"almost linear\"",
        source: "S1",
        unit: "times one core",
        points: [2, 4, 8, 16].map(point).into(),
        note: "Simulated. Cores share nothing but their socket's memory, which is far from busy.",
    }
}

fn part_of_peak() -> Experiment {
    let percent = |bytes, level| 100.0 * model::part_of_peak(Bulk::Aes128, bytes, level);
    let given = |at: &str, level, published| Point {
        at: at.to_owned(),
        published,
        claim: Claim::About,
        model: percent(ONE_KB, level),
        how: How::Fitted,
    };
    let alone = |bytes: u64, name, level| Point {
        at: format!("{bytes} bytes, {name}"),
        published: 0.0,
        claim: Claim::None,
        model: percent(bytes, level),
        how: How::Predicted,
    };
    Experiment {
        title: "Rainbow Falls' accelerator: part of its peak, AES-128",
        source: "S0",
        unit: "%",
        points: vec![
            alone(64, "L2", Level::L2),
            alone(256, "L2", Level::L2),
            given("1024 bytes, L2", Level::L2, 90.0),
            alone(8192, "L2", Level::L2),
            alone(256, "DRAM", Level::Dram),
            given("1024 bytes, DRAM", Level::Dram, 70.0),
            alone(8192, "DRAM", Level::Dram),
        ],
        note: "Both figures are used up by the fit; the next experiment tests the start of an operation.",
    }
}

/// The whole of one small operation over the fast path, in cycles of Rainbow Falls.
fn fast_path(counts: &Counts, bytes: u64) -> f64 {
    p::FAST_INSTRUCTION.value * counts.fast_submit as f64 + model::unit(Bulk::Aes128, bytes, Level::L2)
}

/// The same over T2's framework, in cycles of T2.
fn framework_path(bytes: u64) -> f64 {
    model::framework(2 * bytes) + model::unit(Bulk::Aes128, bytes, Level::L2)
}

fn small_packets(counts: &Counts) -> Experiment {
    let times = |bytes| {
        let fast = fast_path(counts, bytes) / model::clock(Processor::T3);
        framework_path(bytes) / model::clock(Processor::T2) / fast
    };
    let point =
        |at: &str, published, claim, model, how| Point { at: at.to_owned(), published, claim, model, how };
    Experiment {
        title: "Small packets: Rainbow Falls' fast path against T2's framework, AES-128",
        source: "S0; the cycles as the press had them from it",
        unit: "cycles, times",
        points: vec![
            point("64 bytes: cycles, fast", 500.0, Claim::About, fast_path(counts, SMALL), How::Predicted),
            point("64 bytes: cycles, framework", 0.0, Claim::None, framework_path(SMALL), How::Predicted),
            point("64 bytes: times as fast", 30.0, Claim::UpTo, times(SMALL), How::Fitted),
            point("256 bytes: times as fast", 0.0, Claim::None, times(256), How::Predicted),
            point("1024 bytes: times as fast", 0.0, Claim::None, times(ONE_KB), How::Predicted),
            point("8192 bytes: times as fast", 0.0, Claim::None, times(LARGE), How::Predicted),
        ],
        note: "The submitting strand's instructions are counted, the unit's start is that of the former experiment; \
               the framework's total is fitted on the 30. The press said tens of thousands of cycles for it.",
    }
}

fn ghash(counts: &Counts) -> Experiment {
    let over_xmulx = |at: &str, instructions: u64, published, claim| Point {
        at: at.to_owned(),
        published,
        claim,
        model: instructions as f64 / counts.ghash_xmulx_1kb as f64,
        how: How::Counted,
    };
    Experiment {
        title: "GHASH of 1 KB: instructions with tables over instructions with xmulx",
        source: "S0",
        unit: "times",
        points: vec![
            over_xmulx("a table of 256 entries", counts.ghash_bytes_1kb, 8.0, Claim::About),
            over_xmulx("a table of 16 entries", counts.ghash_tables_1kb, 0.0, Claim::None),
        ],
        note: "Guest programs of this crate, counted on the emulator. S0 does not say which table; the larger makes \
               the faster software.",
    }
}

fn pipeline_slots(counts: &Counts) -> Experiment {
    let slots = |at: &str, instructions: u64, published, claim| Point {
        at: at.to_owned(),
        published,
        claim,
        model: instructions as f64 / counts.fast_submit as f64,
        how: How::Counted,
    };
    Experiment {
        title: "AES-128-CBC of 1 KB in the core: pipeline slots over those of the fast path",
        source: "S0",
        unit: "times",
        points: vec![
            slots("T4's instructions", counts.aes_t4_1kb, 60.0, Claim::About),
            slots("software with tables", counts.aes_software_1kb, 0.0, Claim::None),
        ],
        note: "Guest programs of this crate, counted on the emulator: a control word, the doorbell and one look at the \
               unit against whole operations. S0, before there was a T4, does not say which instructions it meant.",
    }
}

#[cfg(test)]
mod tests;
