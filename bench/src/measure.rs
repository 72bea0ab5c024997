//! Measures one cell: a case at one size, every row of which is compared and then timed in turns.

use millstream_cpu::Features;
use millstream_measure::clock;
use millstream_measure::statistics::median;

use crate::case::{Buffers, Case};
use crate::peers::{Peer, Row, ours};

/// Our own name in the tables.
pub const OURS: &str = "millstream";

/// The duration of a measurement.
#[derive(Clone, Copy)]
pub struct Effort {
    /// The number of turns of each row.
    pub rounds: u32,
    /// The time of each row over all rounds, in seconds.
    pub seconds: f64,
}

/// The settings that are the same in every cell of a run.
pub struct Setting<'a> {
    /// The features that our kernels may use.
    pub features: Features,
    /// The name of our kernel, in place of the one that is picked.
    pub kernel: Option<&'a str>,
    /// True when our other kernels have rows too.
    pub all_kernels: bool,
    /// The offset of the buffers from the beginning of a cache line.
    pub offset: usize,
    /// None to compare only.
    pub effort: Option<Effort>,
}

/// The result of one row in one cell.
pub struct Measured {
    pub name: String,
    /// The call or the kernel.
    pub call: String,
    /// The nanoseconds of an object in each round.
    pub ns: Vec<f64>,
}

impl Measured {
    pub fn median_ns(&self) -> f64 {
        median(self.ns.clone())
    }

    /// Returns the ratio of the median turn's time to that of the best, which is near 1 on an idle machine.
    pub fn unsteadiness(&self) -> f64 {
        self.median_ns() / self.best_ns()
    }

    pub fn best_ns(&self) -> f64 {
        self.ns.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// A case at one size. Our row, if there is one, is first.
pub struct Cell {
    pub case: Case,
    pub size: usize,
    pub rows: Vec<Measured>,
    /// The core's clock in each round.
    pub ghz: Vec<f64>,
}

impl Cell {
    /// Returns our own row.
    pub fn ours(&self) -> Option<&Measured> {
        self.rows.first().filter(|row| row.name == OURS)
    }

    /// Returns the ratio of a peer's time per object to ours: the median of each round's ratio.
    pub fn ratio(&self, peer: &Measured) -> Option<f64> {
        let ours = self.ours()?;
        (!peer.ns.is_empty()).then(|| median(peer.ns.iter().zip(&ours.ns).map(|(p, o)| p / o).collect()))
    }

    /// Returns the ratio of the best batches.
    pub fn best_ratio(&self, peer: &Measured) -> Option<f64> {
        Some(peer.best_ns() / self.ours()?.best_ns())
    }

    /// Returns the core cycles for each byte of a row's best batch, at the fastest clock seen in the cell.
    /// This is an upper bound.
    pub fn best_cycles_per_byte(&self, row: &Measured) -> Option<f64> {
        let ghz = self.ghz.iter().copied().fold(f64::NAN, f64::max);
        (!ghz.is_nan()).then(|| row.best_ns() * ghz / self.size as f64)
    }

    /// Returns the core cycles for each byte of a row's median batch, at the cell's median clock.
    pub fn median_cycles_per_byte(&self, row: &Measured) -> Option<f64> {
        (!self.ghz.is_empty()).then(|| row.median_ns() * median(self.ghz.clone()) / self.size as f64)
    }
}

/// Compares all rows of a case at one size and, if there is an effort, times them.
///
/// # Errors
/// Names the row whose output differs from the first row's, and where it differs.
pub fn cell(case: Case, size: usize, peers: &[Box<dyn Peer>], setting: &Setting<'_>) -> Result<Cell, String> {
    let mut rows: Vec<(String, Row)> = Vec::new();
    rows.extend(ours::row(&case, setting.features, setting.kernel).map(|row| (OURS.to_owned(), row)));
    if setting.all_kernels {
        let others = ours::other_rows(&case, setting.features);
        rows.extend(others.into_iter().map(|row| (format!("{OURS} {}", row.call), row)));
    }
    for peer in peers {
        rows.extend(peer.row(&case, size).map(|row| (peer.name().to_owned(), row)));
    }
    let mut buffers = Buffers::new(&case, size, setting.offset);
    compare(&case, &mut buffers, &mut rows)?;
    let (ns, ghz) = match setting.effort {
        Some(effort) => take_turns(&mut buffers, &mut rows, effort),
        None => (vec![Vec::new(); rows.len()], Vec::new()),
    };
    let measured = rows.into_iter().zip(ns).map(|((name, row), ns)| Measured { name, call: row.call, ns });
    Ok(Cell { case, size, rows: measured.collect(), ghz })
}

/// Runs every row once on the same input.
fn compare(case: &Case, buffers: &mut Buffers, rows: &mut [(String, Row)]) -> Result<(), String> {
    let mut expected: Option<(String, Vec<u8>, Vec<u8>)> = None;
    for (name, row) in rows {
        // Rows that work in place find their input in the output. The others must overwrite it.
        buffers.refill();
        if !case.opens() {
            buffers.tag.fill(0);
        }
        row.run.batch(&mut buffers.io(), 1);
        let output = if case.has_output() { buffers.output().to_vec() } else { Vec::new() };
        let tag = buffers.tag[..case.tag_len()].to_vec();
        match &expected {
            None => expected = Some((name.clone(), output, tag)),
            Some((first, o, t)) => {
                let what = format!("{} of {} bytes: {name} ({})", case.name(), buffers.size(), row.call);
                if let Some(at) = o.iter().zip(&output).position(|(a, b)| a != b) {
                    return Err(format!("{what} differs from {first} at output byte {at}"));
                }
                if *t != tag {
                    return Err(format!("{what} has the tag {}, {first} has {}", hex(&tag), hex(t)));
                }
            }
        }
    }
    Ok(())
}

/// Times the rows in turns, beginning each round with another one. Returns nanoseconds per object for each
/// row and round, and the core's clock for each round.
fn take_turns(
    buffers: &mut Buffers,
    rows: &mut [(String, Row)],
    effort: Effort,
) -> (Vec<Vec<f64>>, Vec<f64>) {
    let batch_ns = effort.seconds * 1e9 / f64::from(effort.rounds);
    let mut times = Vec::new();
    let mut round_ns = 0.0;
    for (_, row) in rows.iter_mut() {
        let one_ns = object_ns(buffers, row, batch_ns);
        times.push((batch_ns / one_ns).max(1.0) as u32);
        round_ns += batch_ns.max(one_ns);
    }
    let rounds = affordable(effort, rows.len(), round_ns);
    let mut ns = vec![Vec::with_capacity(rounds); rows.len()];
    let mut ghz = Vec::new();
    for round in 0..rounds {
        ghz.extend(clock::core_ghz());
        for turn in 0..rows.len() {
            let i = (round + turn) % rows.len();
            let spent = clock::time_ns(|| rows[i].1.run.batch(&mut buffers.io(), times[i]));
            ns[i].push(spent / f64::from(times[i]));
        }
    }
    (ns, ghz)
}

/// Returns the number of rounds. If one object outlasts a batch (64 KB of triple DES), there are fewer: as
/// many as take four times as long as the cell should, but at least seven.
pub fn affordable(effort: Effort, rows: usize, round_ns: f64) -> usize {
    let budget_ns = 4.0 * effort.seconds * 1e9 * rows as f64;
    let rounds = (budget_ns / round_ns) as usize;
    rounds.max(7).min(effort.rounds as usize)
}

/// Returns about how long an object takes, from batches of growing size, which also warm the row up. The
/// least of three tries counts, so that an interruption does not pass for a slow row.
fn object_ns(buffers: &mut Buffers, row: &mut Row, batch_ns: f64) -> f64 {
    let mut times = 1u32;
    loop {
        let mut least = f64::INFINITY;
        for _ in 0..3 {
            least = least.min(clock::time_ns(|| row.run.batch(&mut buffers.io(), times)));
            if least > batch_ns {
                break;
            }
        }
        if least > batch_ns / 8.0 || times >= 1 << 24 {
            return least.max(1.0) / f64::from(times);
        }
        times *= 2;
    }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::SIZES;
    use crate::peers;

    #[test]
    fn every_peer_agrees_with_us_on_every_case() {
        let (present, absent) = peers::peers();
        for line in absent {
            println!("absent: {line}");
        }
        let setting = Setting {
            features: Features::hardware(),
            kernel: None,
            all_kernels: true,
            offset: 1,
            effort: None,
        };
        let mut compared = 0;
        for case in Case::all() {
            for size in SIZES.into_iter().filter(|&size| case.takes(size)) {
                let cell = cell(case, size, &present, &setting).unwrap();
                assert!(cell.ours().is_some(), "{} has no row of ours", case.name());
                compared += cell.rows.len().saturating_sub(1);
            }
        }
        println!("{compared} outputs compared");
        assert!(compared > 600, "only {compared} outputs were compared");
    }

    #[test]
    fn a_wrong_answer_is_an_error() {
        let case = Case::all()[0];
        let row = |byte| (format!("row {byte}"), Row::new("test", move |io| io.output.fill(byte)).unwrap());
        let mut buffers = Buffers::new(&case, 64, 0);
        assert_eq!(compare(&case, &mut buffers, &mut [row(1), row(1)]), Ok(()));
        let error = compare(&case, &mut buffers, &mut [row(1), row(2)]).unwrap_err();
        assert!(error.contains("row 2") && error.contains("byte 0"), "{error}");
    }
}
