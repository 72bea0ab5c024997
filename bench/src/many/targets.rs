//! The targets for many objects in flight, as data, and their evaluation.

use std::ops::RangeInclusive;

use millstream_measure::statistics::median;

use super::measure::{Cell, Measured};
use crate::glob;
use crate::measure::OURS;
use crate::targets::reaches;

/// A target for certain cells.
pub struct Target {
    /// The description in the report.
    pub text: &'static str,
    cases: &'static [&'static str],
    bytes: RangeInclusive<usize>,
    depths: RangeInclusive<usize>,
    pub asked: Asked,
}

/// The condition of a target.
#[derive(Clone, Copy)]
pub enum Asked {
    /// In every cell, the best row of each family that matches takes at least so many times as long as ours.
    Ratio { family: &'static str, at_least: f64 },
    /// The median of these ratios over all cells is at least that.
    MedianRatio { family: &'static str, at_least: f64 },
    /// Our own direct calls take at least so many times as long as lanes.
    OverDirect { at_least: f64 },
    /// The best row of each family that matches takes at least so many times as long as our queue.
    Queue { family: &'static str, at_least: f64 },
    /// Our rows of `ways` take at most so many nanoseconds more than our row `than`.
    More { ways: &'static [&'static str], than: &'static str, at_most: f64 },
}

const IPSEC_MB: &str = "ipsec-mb";

/// The algorithms that are to be as fast as ipsec-mb everywhere.
const MAIN: &[&str] = &[
    "aes-*-cbc-encrypt",
    "aes-*-ctr",
    "aes-*-gcm-seal",
    "aes-*-gcm-open",
    "sha1",
    "sha256",
    "sha512",
    "hmac-*",
    "aes-*-cbc-encrypt-hmac-*",
];
/// The algorithms whose queue is to be as fast as ipsec-mb's jobs and bursts.
const QUEUED: &[&str] = &[
    "aes-*-cbc-encrypt",
    "aes-*-ctr",
    "aes-*-gcm-seal",
    "aes-*-gcm-open",
    "hmac-sha1",
    "hmac-sha256",
    "hmac-sha512",
    "aes-*-cmac",
    "chacha20-poly1305-*",
];
const HASHES: &[&str] = &["md5", "sha1", "sha256", "sha512"];

/// All targets for many objects.
pub const TARGETS: &[Target] = &[
    Target {
        text: "the main algorithms, 16 to 8192 bytes, 64 in flight: 1.0 times ipsec-mb",
        cases: MAIN,
        bytes: 16..=8192,
        depths: 64..=64,
        asked: Asked::Ratio { family: IPSEC_MB, at_least: 1.0 },
    },
    Target {
        text: "the same, 16 to 256 bytes: 1.3 times ipsec-mb in the median",
        cases: MAIN,
        bytes: 16..=256,
        depths: 64..=64,
        asked: Asked::MedianRatio { family: IPSEC_MB, at_least: 1.3 },
    },
    Target {
        text: "MD5, SHA-1, SHA-256 and SHA-512, 64 in flight: 1.0 times isa-l_crypto",
        cases: HASHES,
        bytes: 16..=8192,
        depths: 64..=64,
        asked: Asked::Ratio { family: "isa-l", at_least: 1.0 },
    },
    Target {
        text: "3DES-CBC encryption, 256 or more in flight: 8 times ipsec-mb",
        cases: &["3des-cbc-encrypt"],
        bytes: 16..=8192,
        depths: 256..=usize::MAX,
        asked: Asked::Ratio { family: IPSEC_MB, at_least: 8.0 },
    },
    Target {
        // Debian's 1.3 computes KASUMI nine to ten times as slowly as the newest source, against which the
        // target would be twenty times.
        text: "KASUMI F8 and F9, 64 or more in flight: 200 times ipsec-mb 1.3",
        cases: &["kasumi-*"],
        bytes: 16..=8192,
        depths: 64..=usize::MAX,
        asked: Asked::Ratio { family: IPSEC_MB, at_least: 200.0 },
    },
    Target {
        text: "8 KB 3DES-CBC and HMAC-MD5, 16 in flight: 4.7 times our own one at a time",
        cases: &["3des-cbc-encrypt-hmac-md5"],
        bytes: 8192..=8192,
        depths: 16..=16,
        asked: Asked::OverDirect { at_least: 4.7 },
    },
    Target {
        text: "8 KB 3DES-CBC and HMAC-MD5, 256 in flight: 10 times OpenSSL's one at a time",
        cases: &["3des-cbc-encrypt-hmac-md5"],
        bytes: 8192..=8192,
        depths: 256..=256,
        asked: Asked::Ratio { family: "openssl-*", at_least: 10.0 },
    },
    Target {
        text: "hashes and HMAC, 1 to 4 in flight: 4 times ipsec-mb",
        cases: &["sha1", "sha256", "sha512", "hmac-*"],
        bytes: 16..=8192,
        depths: 1..=4,
        asked: Asked::Ratio { family: IPSEC_MB, at_least: 4.0 },
    },
    Target {
        text: "a null operation through the queue, 64 in flight: at most 1.7 times ipsec-mb's best call",
        cases: &["null"],
        bytes: 0..=usize::MAX,
        depths: 64..=64,
        asked: Asked::Queue { family: IPSEC_MB, at_least: 1.0 / 1.7 },
    },
    Target {
        text: "the queue, 16 to 256 bytes, 64 in flight: 1.0 times ipsec-mb's best call",
        cases: QUEUED,
        bytes: 16..=256,
        depths: 64..=64,
        asked: Asked::Queue { family: IPSEC_MB, at_least: 1.0 },
    },
    Target {
        text: "the queue, 16 to 256 bytes, 64 in flight: at most 18 ns over lanes",
        cases: QUEUED,
        bytes: 16..=256,
        depths: 64..=64,
        asked: Asked::More { ways: &["queue"], than: "lanes", at_most: 18.0 },
    },
    Target {
        text: "FF1 of 16 digits, 64 or more in flight: 100 times the crate fpe",
        cases: &["aes-256-ff1-*"],
        bytes: 32..=32,
        depths: 64..=usize::MAX,
        asked: Asked::Ratio { family: "rustcrypto", at_least: 100.0 },
    },
    Target {
        text: "one in flight: at most 35 ns over the direct call",
        cases: &["*"],
        bytes: 0..=usize::MAX,
        depths: 1..=1,
        asked: Asked::More { ways: &["lanes", "batch", "queue"], than: "direct", at_most: 35.0 },
    },
];

impl Target {
    /// Returns true when the target applies to this cell.
    fn covers(&self, cell: &Cell) -> bool {
        glob::any(self.cases, &cell.place.work.name())
            && cell.place.sizes.equal().is_some_and(|bytes| self.bytes.contains(&bytes))
            && self.depths.contains(&cell.place.depth)
    }

    /// Returns the figures of a cell: the row or family, the median and the best batches' ratio.
    fn figures(&self, cell: &Cell) -> Vec<(String, f64, f64)> {
        let Some(ours) = cell.ours() else { return Vec::new() };
        let of_families = |pattern, ours| {
            let matching = families(cell).into_iter().filter(|name| glob::any(&[pattern], name));
            matching.filter_map(|name| best_ratio(cell, ours, name)).collect()
        };
        match self.asked {
            Asked::Ratio { family, .. } | Asked::MedianRatio { family, .. } => of_families(family, ours),
            Asked::Queue { family, .. } => {
                cell.row(OURS, "queue").map_or_else(Vec::new, |queue| of_families(family, queue))
            }
            Asked::OverDirect { .. } => {
                let direct = cell.row(OURS, "direct");
                let direct = direct.filter(|direct| direct.way != ours.way);
                direct
                    .map(|row| (row.name(), row.ratio_to(ours), row.best_ratio_to(ours)))
                    .into_iter()
                    .collect()
            }
            Asked::More { ways, than, .. } => {
                let Some(than) = cell.row(OURS, than) else { return Vec::new() };
                let more = |row: &Measured| {
                    let more = median(row.ns.iter().zip(&than.ns).map(|(ns, than)| ns - than).collect());
                    (row.name(), more, row.best_ns() - than.best_ns())
                };
                ways.iter().filter_map(|way| cell.row(OURS, way)).map(more).collect()
            }
        }
    }

    /// Returns true when a figure meets the target, at the two decimals that reports show.
    fn reached(&self, figure: f64) -> bool {
        match self.asked {
            Asked::Ratio { at_least, .. }
            | Asked::MedianRatio { at_least, .. }
            | Asked::Queue { at_least, .. }
            | Asked::OverDirect { at_least } => reaches(figure, at_least),
            Asked::More { at_most, .. } => reaches(at_most, figure),
        }
    }

    /// Returns how far a figure is from the target; greater is better.
    fn margin(&self, figure: f64) -> f64 {
        match self.asked {
            Asked::More { .. } => -figure,
            _ => figure,
        }
    }

    /// Returns the unit of a figure.
    pub fn unit(&self) -> &'static str {
        match self.asked {
            Asked::More { .. } => "ns",
            _ => "times",
        }
    }
}

/// Returns the peers' families in a cell, each once.
pub fn families(cell: &Cell) -> Vec<&'static str> {
    let mut families = Vec::new();
    for row in &cell.rows {
        if row.family != OURS && !families.contains(&row.family) {
            families.push(row.family);
        }
    }
    families
}

fn best_ratio(cell: &Cell, ours: &Measured, family: &str) -> Option<(String, f64, f64)> {
    let best = cell.best_of(family).filter(|row| !row.ns.is_empty())?;
    Some((best.name(), best.ratio_to(ours), best.best_ratio_to(ours)))
}

/// Returns true when a ratio to a family's best row falls short of some target in this cell.
pub fn falls_short(cell: &Cell, family: &str, ratio: f64) -> bool {
    TARGETS.iter().filter(|target| target.covers(cell)).any(|target| match target.asked {
        Asked::Ratio { family: pattern, at_least } => {
            glob::any(&[pattern], family) && !reaches(ratio, at_least)
        }
        _ => false,
    })
}

/// One figure that a target applies to.
pub struct Finding {
    /// The description of the cell.
    pub place: String,
    pub against: String,
    pub figure: f64,
    pub best_figure: f64,
}

/// A target and what was measured about it.
pub struct Verdict {
    pub target: &'static Target,
    /// The number of figures found.
    pub compared: usize,
    /// The figures that fall short, worst first; for a median, the median alone.
    pub missed: Vec<Finding>,
    /// The worst figure that does not fall short.
    pub worst: Option<Finding>,
}

/// Evaluates each target on the cells.
pub fn verdicts(cells: &[Cell]) -> Vec<Verdict> {
    TARGETS.iter().map(|target| verdict(target, cells)).collect()
}

fn verdict(target: &'static Target, cells: &[Cell]) -> Verdict {
    let mut findings = Vec::new();
    for cell in cells.iter().filter(|cell| target.covers(cell)) {
        for (against, figure, best_figure) in target.figures(cell) {
            findings.push(Finding { place: place(cell), against, figure, best_figure });
        }
    }
    if let Asked::MedianRatio { family, .. } = target.asked {
        findings = median_of(findings, family);
    }
    findings.sort_by(|a, b| target.margin(a.figure).total_cmp(&target.margin(b.figure)));
    let compared = findings.len();
    let (missed, mut met): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|finding| !target.reached(finding.figure));
    let worst = if met.is_empty() { None } else { Some(met.remove(0)) };
    Verdict { target, compared, missed, worst }
}

/// Replaces all findings by their median.
fn median_of(findings: Vec<Finding>, family: &str) -> Vec<Finding> {
    if findings.is_empty() {
        return findings;
    }
    let of = |figure: fn(&Finding) -> f64| median(findings.iter().map(figure).collect());
    vec![Finding {
        place: format!("the median of {} cells", findings.len()),
        against: family.to_owned(),
        figure: of(|finding| finding.figure),
        best_figure: of(|finding| finding.best_figure),
    }]
}

/// Formats a place like `md5, 64 bytes, 16 in flight`.
fn place(cell: &Cell) -> String {
    let place = &cell.place;
    let keys = if place.work.has_key() { format!(", {}", place.keys.name()) } else { String::new() };
    format!("{}, {} bytes, {} in flight{keys}", place.work.name(), place.sizes, place.depth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::many::work::Work;

    #[test]
    fn every_target_speaks_of_some_case() {
        let names: Vec<String> = Work::all().iter().map(|work| work.name()).collect();
        for pattern in TARGETS.iter().flat_map(|target| target.cases) {
            assert!(names.iter().any(|name| glob::any(&[pattern], name)), "{pattern}");
        }
    }
}
