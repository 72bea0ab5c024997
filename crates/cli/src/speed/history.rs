//! The experiments with which Sun and Oracle showed what their accelerators and instructions were worth,
//! repeated here.
//!
//! The published figures are from notes on UltraSPARC T2 cryptography (2008), on turning the SPARC T4's
//! instructions off (2011), and on seeing whether the hardware is used (2012).

use std::borrow::Cow;
use std::fmt::Write;
use std::num::NonZero;
use std::path::Path;

use millstream_cpu::{Feature, Features};
use millstream_engines::modes::Direction;
use millstream_measure::figures::{rounded, significant};
use millstream_measure::plot::Panel;
use serde_json::{Value, json};

use super::Way;
use super::algorithm::{Algorithm, Case};
use super::masked::Masked;
use super::measure::{self, Measured, Setting};
use super::sizes::Size;
use super::ways::direct::Direct;
use crate::error::Error;
use crate::progress::Progress;

/// The lengths of objects in 2011 and 2012.
const SIZES: [usize; 5] = [16, 64, 256, 1024, 8192];
/// The length of objects in 2008.
const LARGE: usize = 8192;
/// The numbers of outstanding operations in 2008.
const OUTSTANDING: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// The number of outstanding operations where it is not the question.
const DEEP: usize = 64;
/// The most threads; more of them show nothing new.
const MOST_THREADS: usize = 64;

/// Returns the number of cells of a run, for its progress.
pub fn cells() -> u64 {
    // One experiment has a cell beside those of its sizes, for OpenSSL without AES instructions.
    (2 + 2 * SIZES.len() + threads().len()) as u64
}

/// Returns the numbers of threads: powers of two, and the number of cores.
fn threads() -> Vec<usize> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
    let doubled = std::iter::successors(Some(1), |n| Some(2 * n));
    doubled.take_while(|&n| n < cores).chain([cores]).collect()
}

/// AES-128-CBC through PKCS #11 on a SPARC T4, with its instructions and without, in MB a second.
const T4_WITH: [f64; 5] = [54.17, 187.42, 489.73, 805.45, 1018.88];
const T4_WITHOUT: [f64; 5] = [29.38, 58.33, 79.03, 86.74, 89.19];
/// `openssl speed -evp aes-128-cbc` on a SPARC T4, with the built-in engine and through PKCS #11, in
/// 1000s of bytes a second.
const T4_BUILT_IN: [f64; 5] = [487_777.0, 816_822.0, 986_013.0, 1_017_030.0, 1_053_543.0];
const T4_PKCS11: [f64; 5] = [31_704.0, 116_636.0, 350_673.0, 696_170.0, 993_599.0];

/// OpenSSL without AES instructions, with the variable that masks them.
const MASKED_OPENSSL: &str =
    if cfg!(target_arch = "x86_64") { "openssl, OPENSSL_ia32cap" } else { "openssl, OPENSSL_armcap" };

/// One of the experiments, as a table.
pub struct Experiment {
    title: &'static str,
    /// The published finding, where there were no figures for a row.
    found: Cow<'static, str>,
    /// The quantity that the columns count, and its values.
    columns: (&'static str, Vec<usize>),
    rows: Vec<Row>,
}

struct Row {
    name: String,
    unit: &'static str,
    /// The values, one for each column.
    values: Vec<Option<f64>>,
}

impl Row {
    fn new(
        name: impl Into<String>,
        unit: &'static str,
        values: impl IntoIterator<Item = Option<f64>>,
    ) -> Row {
        Row { name: name.into(), unit, values: values.into_iter().collect() }
    }

    fn given(name: &str, unit: &'static str, values: &[f64]) -> Row {
        Row::new(name, unit, values.iter().copied().map(Some))
    }

    /// Returns the ratios of this row to another.
    fn over(&self, other: &Row, name: impl Into<String>) -> Row {
        let values = self.values.iter().zip(&other.values).map(|(a, b)| Some((*a)? / (*b)?));
        Row::new(name, TIMES, values)
    }
}

const TIMES: &str = "times";

/// Runs all experiments.
///
/// # Errors
/// The same as for [`measure::cell`].
pub fn run(
    features: Features,
    ways: &[&dyn Way],
    openssl: Option<&Path>,
    seconds: f64,
    progress: &Progress,
) -> Result<Vec<Experiment>, Error> {
    let run = Run { features, ways, openssl, seconds, progress };
    Ok(vec![run.outstanding()?, run.hwcap()?, run.pkcs11()?, run.cores()?])
}

struct Run<'a> {
    features: Features,
    ways: &'a [&'a dyn Way],
    /// The libcrypto that was named, if any.
    openssl: Option<&'a Path>,
    seconds: f64,
    progress: &'a Progress,
}

impl Run<'_> {
    fn cell(
        &self,
        name: &str,
        bytes: usize,
        ways: Vec<&dyn Way>,
        depths: &[usize],
        threads: usize,
    ) -> Result<Vec<Measured>, Error> {
        let algorithm = Algorithm::from_name(name).expect("a name of ours");
        let case = Case { name: name.to_owned(), algorithm, direction: Direction::Encrypt };
        let (features, depths, seconds) = (self.features, depths.to_vec(), self.seconds);
        self.progress.say(&format!("{name}, {bytes} bytes"));
        let lines =
            measure::cell(&Setting { features, ways, depths, threads, seconds }, &case, Size::Bytes(bytes));
        self.progress.advance(1);
        lines
    }

    /// Measures asynchronous beside synchronous operations, by the number outstanding (2008).
    fn outstanding(&self) -> Result<Experiment, Error> {
        let cells = self.cell("3des-cbc+hmac-md5", LARGE, self.ways.to_vec(), &OUTSTANDING, 1)?;
        let row = |way: &str, name: &str| {
            let values: Vec<Option<f64>> = OUTSTANDING
                .iter()
                .map(|&depth| {
                    let mut lines = cells.iter().filter(|cell| cell.way == way);
                    let at_depth = lines.clone().find(|cell| cell.depth == depth);
                    // Some ways of computing never have more than one in flight.
                    let only = lines.next().filter(|cell| !self.has_depth(cell.way));
                    at_depth.or(only).map(|cell| cell.gb_per_s() * 1e3)
                })
                .collect();
            values.iter().any(Option::is_some).then(|| Row::new(name, "MB/s", values))
        };
        let direct = row("direct", "direct: synchronous");
        let openssl = row("openssl", "openssl: synchronous");
        let batch = row("batch", "batch: all in one call");
        let queue = row("queue", "queue: asynchronous");
        let over = |a: &Option<Row>, b: &Option<Row>, name: &str| Some(a.as_ref()?.over(b.as_ref()?, name));
        let ratios = [
            over(&batch, &direct, "batch over direct"),
            over(&queue, &direct, "queue over direct"),
            over(&queue, &openssl, "queue over openssl"),
        ];
        Ok(Experiment {
            title: "Asynchronous over synchronous: 3DES-CBC + MD5, 8192 bytes",
            found:
                "Sun, UltraSPARC T2, 2008: up to 4.7 times, one thread with several operations outstanding"
                    .into(),
            columns: ("outstanding", OUTSTANDING.to_vec()),
            rows: [direct, openssl, batch, queue].into_iter().chain(ratios).flatten().collect(),
        })
    }

    fn has_depth(&self, way: &str) -> bool {
        self.ways.iter().any(|own| own.name() == way && own.has_depth())
    }

    /// Measures AES-128-CBC with and without the instructions for it (2011), beside OpenSSL with and without them.
    fn hwcap(&self) -> Result<Experiment, Error> {
        let without = Direct { features: self.features.without(Feature::Aes.into()) };
        let with = Direct { features: self.features };
        let openssl = self.ways.iter().copied().find(|way| way.name() == "openssl");
        let ways = [&with as &dyn Way, &without].into_iter().chain(openssl).collect();
        let mut values = self.over_sizes(ways)?.into_iter();
        let sun = Row::given("Sun, with", "MB/s", &T4_WITH);
        let sun_without = Row::given("Sun, LD_HWCAP=-aes", "MB/s", &T4_WITHOUT);
        let with = Row::new("direct, with", "MB/s", values.next().unwrap_or_default());
        let without = Row::new("direct, MILLSTREAM_HWCAP=-aes", "MB/s", values.next().unwrap_or_default());
        let (openssl, missing) = match values.next() {
            Some(with) => self.openssl_without(Row::new("openssl, with", "MB/s", with), &without),
            None => (Vec::new(), "it is not loaded".to_owned()),
        };
        self.progress.advance(1);
        let mut found = "Sun measured through PKCS #11 on a SPARC T4, 2011".to_owned();
        if !missing.is_empty() {
            found += &format!("; OpenSSL without AES instructions was not measured: {missing}");
        }
        let ratios = [
            sun.over(&sun_without, "Sun, with over without"),
            with.over(&without, "direct, with over without"),
        ];
        let ours = [sun, sun_without, with, without].into_iter().chain(ratios);
        Ok(Experiment {
            title: "Turning it off: AES-128-CBC without the instructions for it",
            found: found.into(),
            columns: ("bytes", SIZES.to_vec()),
            rows: ours.chain(openssl).collect(),
        })
    }

    /// Returns the speeds of AES-128-CBC in MB/s: for each way a row over the sizes.
    fn over_sizes(&self, ways: Vec<&dyn Way>) -> Result<Vec<Vec<Option<f64>>>, Error> {
        let mut values = vec![Vec::new(); ways.len()];
        for bytes in SIZES {
            let cells = self.cell("aes-128-cbc", bytes, ways.clone(), &[1], 1)?;
            for (row, cell) in values.iter_mut().zip(&cells) {
                row.push(Some(cell.gb_per_s() * 1e3));
            }
        }
        Ok(values)
    }

    /// Returns the rows of OpenSSL with and without AES instructions, or those with and the reason why there are no
    /// others. `direct` is the row of the direct calls without.
    fn openssl_without(&self, with: Row, direct: &Row) -> (Vec<Row>, String) {
        let (without, algorithm, sizes) = ("aes", "aes-128-cbc", &SIZES);
        self.progress.say(&format!("{algorithm}, {MASKED_OPENSSL}"));
        let masked = Masked { without, algorithm, sizes, seconds: self.seconds, library: self.openssl };
        match masked.gb_per_s() {
            Ok(speeds) => {
                let values = speeds.iter().map(|speed| Some(speed * 1e3));
                let without = Row::new(MASKED_OPENSSL, "MB/s", values);
                let ratios = [
                    with.over(&without, "openssl, with over without"),
                    direct.over(&without, "direct over openssl, without"),
                ];
                ([with, without].into_iter().chain(ratios).collect(), String::new())
            }
            Err(why) => (vec![with], why),
        }
    }

    /// Measures `openssl speed -evp aes-128-cbc`, and the same through PKCS #11 (2012).
    fn pkcs11(&self) -> Result<Experiment, Error> {
        let ways: Vec<&dyn Way> = self.ways.iter().copied().filter(|way| !way.has_depth()).collect();
        let mut values: Vec<Vec<Option<f64>>> = vec![Vec::new(); ways.len()];
        for bytes in SIZES {
            let cells = self.cell("aes-128-cbc", bytes, ways.clone(), &[1], 1)?;
            for (row, way) in values.iter_mut().zip(&ways) {
                let cell = cells.iter().find(|cell| cell.way == way.name());
                row.push(cell.map(|cell| cell.gb_per_s() * 1e6));
            }
        }
        let sun = Row::given("Sun, built in", "kB/s", &T4_BUILT_IN);
        let sun_pkcs11 = Row::given("Sun, PKCS #11", "kB/s", &T4_PKCS11);
        let ours: Vec<Row> =
            ways.iter().zip(values).map(|(way, values)| Row::new(way.name(), "kB/s", values)).collect();
        let named = |name: &str| ours.iter().find(|row| row.name == name);
        let mut ratios = vec![sun.over(&sun_pkcs11, "Sun, built in over PKCS #11")];
        for way in ["direct", "openssl"] {
            if let (Some(way), Some(pkcs11)) = (named(way), named("pkcs11")) {
                ratios.push(way.over(pkcs11, format!("{} over pkcs11", way.name)));
            }
        }
        Ok(Experiment {
            title: "The same instructions through other doors: AES-128-CBC",
            found: "Sun, SPARC T4, 2012: openssl speed -evp aes-128-cbc with the built-in engine and through PKCS #11"
                .into(),
            columns: ("bytes", SIZES.to_vec()),
            rows: [sun, sun_pkcs11].into_iter().chain(ours).chain(ratios).collect(),
        })
    }

    /// Measures bulk encryption on one core, and on more (2008).
    fn cores(&self) -> Result<Experiment, Error> {
        let threads = threads();
        let ways: Vec<&dyn Way> =
            self.ways.iter().copied().filter(|way| ["direct", "queue"].contains(&way.name())).collect();
        let mut values: Vec<Vec<Option<f64>>> = vec![Vec::new(); ways.len()];
        for &threads in &threads {
            let cells = self.cell("aes-128-cbc", LARGE, ways.clone(), &[DEEP], threads)?;
            for (row, cell) in values.iter_mut().zip(&cells) {
                row.push(Some(cell.gb_per_s() * 1e3));
            }
        }
        let mut rows = Vec::new();
        let mut ratios = Vec::new();
        for (way, values) in ways.iter().zip(values) {
            let one = Row::new("", "MB/s", vec![values[0]; values.len()]);
            let row = Row::new(way.name(), "MB/s", values);
            ratios.push(row.over(&one, format!("{}, over one thread", way.name())));
            rows.push(row);
        }
        Ok(Experiment {
            title: "Scaling over cores: AES-128-CBC, 8192 bytes",
            found: "Sun, UltraSPARC T2, 2008: almost linear; about 9 GB/s from two sockets".into(),
            columns: ("threads", threads),
            rows: rows.into_iter().chain(ratios).collect(),
        })
    }
}

/// Formats tables with their rows and ours.
pub fn text(experiments: &[Experiment]) -> String {
    let mut text = String::new();
    for Experiment { title, found, columns: (what, columns), rows } in experiments {
        let _ = write!(text, "\n{title}\n{found}\n{what:>40}");
        for column in columns {
            let _ = write!(text, "{column:>11}");
        }
        text.push('\n');
        for row in rows {
            let _ = write!(text, "  {:30}{:>8}", row.name, row.unit);
            for value in &row.values {
                let _ = write!(text, "{:>11}", value.map_or("-".to_owned(), significant));
            }
            text.push('\n');
        }
    }
    text
}

/// Returns the same for other programs.
pub fn json(experiments: &[Experiment]) -> Value {
    let row = |row: &Row| json!({ "name": row.name, "unit": row.unit, "values": row.values.iter().map(|value| value.map(rounded)).collect::<Vec<_>>() });
    let experiment = |e: &Experiment| {
        json!({
            "title": e.title,
            "found": e.found,
            "columns": { "name": e.columns.0, "values": e.columns.1 },
            "rows": e.rows.iter().map(row).collect::<Vec<_>>(),
        })
    };
    experiments.iter().map(experiment).collect()
}

/// Returns a panel for each experiment, with speeds but not the ratios between them.
pub fn panels(experiments: &[Experiment]) -> Vec<Panel> {
    let panel = |e: &Experiment| {
        let (what, columns) = &e.columns;
        let speeds = e.rows.iter().filter(|row| row.unit != TIMES);
        let curve = |row: &Row| {
            let points = columns.iter().zip(&row.values);
            let points = points.filter_map(|(&x, y)| Some((x as f64, (*y)?)));
            (row.name.clone(), points.collect())
        };
        let y = e.rows.first().map_or("", |row| row.unit);
        Panel { title: e.title.to_owned(), x: what, y, curves: speeds.map(curve).collect() }
    };
    experiments.iter().map(panel).collect()
}
