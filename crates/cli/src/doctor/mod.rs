//! The examination of `millstream doctor`: what this machine has for each part of Millstream, and the remedy for
//! what it lacks.

mod finding;
mod isolation;
mod machine;
mod openssl;
mod service;
mod tracing;

use std::path::PathBuf;

use clap::ValueEnum;
use serde_json::{Value, json};

pub use finding::{Finding, State};

/// A part of Millstream that can be asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// The processor, the kernels' answers, the system's version and load
    Machine,
    /// A worker's memory for keys, and its sandbox
    Isolation,
    /// The running service, and the policy
    Service,
    /// OpenSSL and the provider
    Openssl,
    /// Tracing programs, and withholding features from them
    Tracing,
}

/// The files to look at, where they are not in their usual places.
#[derive(Default)]
pub struct Places {
    /// The service's socket.
    pub socket: Option<PathBuf>,
    /// The policy file.
    pub policy: Option<PathBuf>,
    /// The provider's module.
    pub module: Option<PathBuf>,
}

/// Examines the parts that were asked about, or all. What may well be absent where nobody asked is a fault where
/// somebody did.
pub fn examine(asked: &[Part], places: &Places) -> Vec<(Part, Finding)> {
    let parts = if asked.is_empty() { Part::value_variants() } else { asked };
    let mut findings = Vec::new();
    for &part in parts {
        let is_asked = !asked.is_empty();
        let found = match part {
            Part::Machine => machine::examine(),
            Part::Isolation => isolation::examine(),
            Part::Service => service::examine(places, is_asked),
            Part::Openssl => openssl::examine(places, is_asked),
            Part::Tracing => tracing::examine(),
        };
        findings.extend(found.into_iter().map(|finding| (part, finding)));
    }
    findings
}

/// Formats a line for each finding, and its remedy in the next one.
pub fn text(findings: &[(Part, Finding)]) -> String {
    let width = findings.iter().map(|(_, finding)| finding.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (_, Finding { name, state, found, remedy }) in findings {
        text += &format!("{:4}  {name:width$}  {found}\n", state.word());
        if let Some(remedy) = remedy {
            text += &format!("{:4}  {:width$}  -> {remedy}\n", "", "");
        }
    }
    let count = |state| findings.iter().filter(|(_, finding)| finding.state == state).count();
    text + &format!(
        "\n{} ok, {} to look at, {} at fault\n",
        count(State::Ok),
        count(State::Warn),
        count(State::Fail)
    )
}

/// Returns the same for programs.
pub fn json(findings: &[(Part, Finding)]) -> Value {
    let checks = findings.iter().map(|(part, finding)| {
        json!({
            "part": part.to_possible_value().map(|value| value.get_name().to_owned()),
            "check": finding.name,
            "state": finding.state.word(),
            "found": finding.found,
            "remedy": finding.remedy,
        })
    });
    json!({ "version": 1, "checks": checks.collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedies_stand_below_what_was_found() {
        let findings = [
            (Part::Machine, Finding::ok("kernel", "6.1")),
            (Part::Service, Finding::absent(true, "service", "none", "start one")),
        ];
        let expected = "ok    kernel   6.1\nfail  service  none\n               -> start one\n\n\
                        1 ok, 0 to look at, 1 at fault\n";
        assert_eq!(text(&findings), expected);
        let json = json(&findings);
        assert_eq!(
            (&json["checks"][1]["part"], &json["checks"][1]["state"]),
            (&json!("service"), &json!("fail"))
        );
        assert_eq!(json["checks"][0]["remedy"], Value::Null);
    }
}
