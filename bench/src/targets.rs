//! The targets of Millstream, as data, and their evaluation.

use std::ops::RangeInclusive;

use crate::glob;
use crate::measure::{Cell, OURS};

/// A ratio to reach against certain peers in certain cells.
pub struct Target {
    /// The description in the report.
    pub text: &'static str,
    cases: &'static [&'static str],
    sizes: RangeInclusive<usize>,
    peers: &'static [&'static str],
    /// The least ratio of a peer's time to ours.
    pub at_least: f64,
}

/// All targets, for direct calls with one object at a time.
pub const TARGETS: &[Target] = &[
    Target {
        text: "AES in ECB, CBC decryption, CTR, XTS and GCM at 1 KB and above: 1.0 times every peer",
        cases: &[
            "aes-*-ecb-*",
            "aes-*-cbc-decrypt",
            "aes-*-ctr",
            "aes-*-xts-*",
            "aes-*-gcm-seal",
            "aes-*-gcm-open",
        ],
        sizes: 1024..=usize::MAX,
        peers: &["*"],
        at_least: 1.0,
    },
    Target {
        text: "AES-GCM of 16 and 64 bytes: 3 times AWS-LC",
        cases: &["aes-*-gcm-seal", "aes-*-gcm-open"],
        sizes: 16..=64,
        peers: &["aws-lc"],
        at_least: 3.0,
    },
    Target {
        text: "every current algorithm at every size: 1.0 times OpenSSL",
        cases: CURRENT,
        sizes: 0..=usize::MAX,
        peers: &["openssl-*"],
        at_least: 1.0,
    },
    Target {
        // One compression is most of a small digest or HMAC, and the same for everyone, so those have only
        // the target above.
        text: "every current cipher, AEAD and CMAC at 16 and 64 bytes: 1.5 times OpenSSL",
        cases: &["aes-*", "chacha20-*"],
        sizes: 16..=64,
        peers: &["openssl-*"],
        at_least: 1.5,
    },
    Target {
        text: "legacy algorithms and Camellia at every size: 0.5 times OpenSSL",
        cases: &["camellia-*", "des-*", "3des-*", "rc4", "md5", "sha1", "hmac-md5", "hmac-sha1"],
        sizes: 0..=usize::MAX,
        peers: &["openssl-*"],
        at_least: 0.5,
    },
    Target {
        text: "3DES-CBC decryption of 8 KB: 10 times OpenSSL",
        cases: &["3des-cbc-decrypt"],
        sizes: 8192..=8192,
        peers: &["openssl-*"],
        at_least: 10.0,
    },
    Target {
        text: "one KASUMI-F8 stream: 1.0 times intel-ipsec-mb",
        cases: &["kasumi-f8"],
        sizes: 0..=usize::MAX,
        peers: &["ipsec-mb"],
        at_least: 1.0,
    },
];

const CURRENT: &[&str] =
    &["aes-*", "chacha20-*", "sha256", "sha512", "hmac-sha256", "hmac-sha512", "hkdf-sha256"];

impl Target {
    /// Returns true when the target applies to this case, size and peer.
    pub fn covers(&self, case: &str, size: usize, peer: &str) -> bool {
        glob::any(self.cases, case)
            && self.sizes.contains(&size)
            && glob::any(self.peers, peer)
            && !peer.starts_with(OURS)
    }
}

/// Returns the highest ratio that any target asks of us here.
pub fn asked(case: &str, size: usize, peer: &str) -> Option<f64> {
    let covering = TARGETS.iter().filter(|target| target.covers(case, size, peer));
    covering.map(|target| target.at_least).reduce(f64::max)
}

/// Returns true when a measured ratio reaches a target, at the two decimals that reports show.
pub fn reaches(ratio: f64, at_least: f64) -> bool {
    (ratio * 100.0).round() >= (at_least * 100.0).round()
}

/// One comparison that a target applies to.
pub struct Finding {
    pub case: String,
    pub size: usize,
    pub peer: String,
    pub ratio: f64,
    pub best_ratio: f64,
}

/// A target and what was measured about it.
pub struct Verdict {
    pub target: &'static Target,
    /// The number of comparisons.
    pub compared: usize,
    /// The comparisons that fall short, worst first.
    pub missed: Vec<Finding>,
    /// The comparison with the lowest ratio.
    pub lowest: Option<Finding>,
}

/// Evaluates each target on the cells.
pub fn verdicts(cells: &[Cell]) -> Vec<Verdict> {
    TARGETS.iter().map(|target| verdict(target, cells)).collect()
}

fn verdict(target: &'static Target, cells: &[Cell]) -> Verdict {
    let mut findings = Vec::new();
    for cell in cells {
        let case = cell.case.name();
        for row in cell.rows.iter().skip(1) {
            if !target.covers(&case, cell.size, &row.name) {
                continue;
            }
            if let (Some(ratio), Some(best_ratio)) = (cell.ratio(row), cell.best_ratio(row)) {
                let (case, peer) = (case.clone(), row.name.clone());
                findings.push(Finding { case, size: cell.size, peer, ratio, best_ratio });
            }
        }
    }
    findings.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let compared = findings.len();
    let (missed, mut met): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|finding| !reaches(finding.ratio, target.at_least));
    let lowest = if met.is_empty() { None } else { Some(met.remove(0)) };
    Verdict { target, compared, missed, lowest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Case;

    #[test]
    fn every_target_speaks_of_some_case() {
        let names: Vec<String> = Case::all().iter().map(Case::name).collect();
        for target in TARGETS {
            assert!(names.iter().any(|name| glob::any(target.cases, name)), "{}", target.text);
            for pattern in target.cases {
                assert!(names.iter().any(|name| glob::any(&[pattern], name)), "{pattern}");
            }
        }
    }

    #[test]
    fn the_strictest_target_is_asked() {
        assert_eq!(asked("3des-cbc-decrypt", 8192, "openssl-3.0"), Some(10.0));
        assert_eq!(asked("3des-cbc-decrypt", 1024, "openssl-3.0"), Some(0.5));
        assert_eq!(asked("aes-128-gcm-seal", 16, "aws-lc"), Some(3.0));
        assert_eq!(asked("aes-128-gcm-seal", 16, "ring"), None);
        assert!(reaches(0.996, 1.0) && !reaches(0.994, 1.0));
    }
}
