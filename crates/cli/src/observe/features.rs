//! Withheld features: the options that name them, and the list of all.

use millstream_observe::capability::{self, Capabilities, Capability, Withheld};
use millstream_observe::{knobs, processor, without};
use serde_json::{Value, json};

use super::table::{enumerated, table};
use crate::error::Error;
use crate::shown;

/// The options that take features away.
#[derive(clap::Args)]
pub struct Features {
    /// Withhold these features of the processor, and those that depend on them: names from --list between
    /// commas, as in aes,sha. crypto means all cryptographic ones, avx512 and amx mean the families
    #[arg(long, value_name = "LIST", conflicts_with = "with_only")]
    pub without: Option<String>,
    /// Withhold all but these features and those that they need. An empty list leaves the ones every program may use
    #[arg(long, value_name = "LIST")]
    pub with_only: Option<String>,
}

impl Features {
    /// Returns the features to withhold, if one of the options was given.
    ///
    /// # Errors
    /// Fails on an unknown name.
    pub fn withheld(&self) -> Result<Option<Withheld>, Error> {
        let withheld = match (&self.without, &self.with_only) {
            (Some(list), _) => Withheld::without(list),
            (None, Some(list)) => Withheld::with_only(list),
            (None, None) => return Ok(None),
        };
        let withheld = withheld.map_err(|error| {
            let near = crate::names::did_you_mean(crate::names::nearest(&error.0, known()));
            Error::Usage(format!("{}{near}", shown::text(&error.to_string())))
        })?;
        if self.without.is_some() && withheld.is_empty() {
            return Err(Error::Usage(
                "--without names nothing; 'millstream run --list' shows the names".into(),
            ));
        }
        Ok(Some(withheld))
    }

    /// Returns the thing that makes the difference, as the beginning of a sentence, and whether it is plural.
    pub fn subject(&self) -> (String, bool) {
        let words = |list: &str| {
            let words = list.split([',', ' ', '\t']).filter(|word| !word.is_empty());
            words.map(|word| word.trim_start_matches('-').to_uppercase()).collect::<Vec<_>>()
        };
        match (&self.without, &self.with_only) {
            (Some(list), _) if list == "crypto" => ("cryptographic instructions".into(), true),
            (Some(list), _) => {
                let words = words(list);
                (format!("hardware {}", enumerated(&words)), words.len() > 1)
            }
            (None, Some(list)) if !list.is_empty() => {
                (format!("what the processor has beyond {}", enumerated(words(list))), false)
            }
            _ => ("what the processor has beyond the least".into(), false),
        }
    }
}

/// Returns the names of all features and groups.
pub fn known() -> impl Iterator<Item = &'static str> {
    let groups = capability::groups().filter(|(_, members)| !members.is_empty()).map(|(name, _)| name);
    capability::HERE.iter().map(|feature| feature.name).chain(groups)
}

/// Returns the features that were named and that this processor lacks, so that they can't be withheld.
pub fn missing(features: &Features, withheld: Withheld) -> Capabilities {
    // With --with-only that would be most of the list, and no surprise.
    if features.without.is_none() {
        return Capabilities::NONE;
    }
    withheld.asked().difference(processor::capabilities())
}

/// Tells the user about those, if there are any.
pub fn tell_missing(features: &Features, withheld: Withheld, say: &dyn Fn(&str)) {
    let missing = missing(features, withheld);
    if !missing.is_empty() {
        say(&format!("this processor has no {missing} that could be withheld"));
    }
}

/// A feature in the list.
struct Entry {
    feature: &'static Capability,
    here: bool,
    dependents: Capabilities,
    libraries: Vec<&'static str>,
}

fn entries() -> Vec<Entry> {
    let here = processor::capabilities();
    let entry = |feature: &'static Capability| {
        let own = Capabilities::named(feature.name);
        let moved = knobs::LIBRARIES.iter().filter(|library| library.moves().has(feature.name));
        Entry {
            feature,
            here: here.has(feature.name),
            dependents: own.with_dependents().difference(own),
            libraries: moved.map(|library| library.name).collect(),
        }
    };
    capability::HERE.iter().map(entry).collect()
}

/// Formats the list for people.
pub fn text() -> String {
    let columns =
        [("NAME", false), ("HERE", false), ("WHAT", false), ("DEPENDENTS", false), ("KNOBS", false)];
    let row = |entry: &Entry| {
        vec![
            entry.feature.name.to_owned(),
            (if entry.here { "yes" } else { "-" }).to_owned(),
            entry.feature.summary.to_owned(),
            shortened(entry.dependents),
            entry
                .libraries
                .iter()
                .map(|name| name.split(',').next().unwrap_or(name))
                .collect::<Vec<_>>()
                .join(" "),
        ]
    };
    let mut text = table(&columns, &entries().iter().map(row).collect::<Vec<_>>());
    text += "\nGroups:\n";
    for (name, members) in capability::groups().filter(|(_, members)| !members.is_empty()) {
        text += &format!("  {name:8}{members}\n");
    }
    text += &match without::supported() {
        Ok(()) => {
            "\nCPUID can be answered here, so these features can be withheld from any program.\n".to_owned()
        }
        Err(why) => format!("\nOnly knobs can withhold them here: {why}.\n"),
    };
    text += "\nKnobs are variables that make a library leave a feature unused. BoringSSL and AWS-LC read OpenSSL's. \
             There is none\nfor ";
    text += &enumerated(knobs::WITHOUT.iter().map(|(library, _)| *library));
    text += ".\nOnly the answers to CPUID reach those.\n";
    text
}

/// Shortens a list of names to what a line has room for.
fn shortened(set: Capabilities) -> String {
    const MOST: usize = 4;
    let names: Vec<&str> = set.iter().map(|feature| feature.name).collect();
    match names.len() {
        0 => "-".to_owned(),
        len if len > MOST => format!("{} and {} more", names[..MOST - 1].join(" "), len + 1 - MOST),
        _ => names.join(" "),
    }
}

/// Formats the list for programs.
pub fn json() -> Value {
    let features = entries().into_iter().map(|entry| {
        json!({
            "name": entry.feature.name,
            "summary": entry.feature.summary,
            "here": entry.here,
            "dependents": names(entry.dependents),
            "knobs": entry.libraries,
        })
    });
    let groups = capability::groups().map(|(name, members)| (name.to_owned(), json!(names(members))));
    let without = knobs::WITHOUT.iter().map(|(name, instead)| ((*name).to_owned(), json!(instead)));
    json!({
        "version": 1,
        "cpuid": without::supported().is_ok(),
        "features": features.collect::<Vec<_>>(),
        "groups": groups.collect::<serde_json::Map<_, _>>(),
        "without_knob": without.collect::<serde_json::Map<_, _>>(),
    })
}

/// Returns the names of a set.
pub fn names(set: Capabilities) -> Vec<&'static str> {
    set.iter().map(|feature| feature.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(without: Option<&str>, with_only: Option<&str>) -> Features {
        Features { without: without.map(str::to_owned), with_only: with_only.map(str::to_owned) }
    }

    #[test]
    fn what_makes_the_difference_is_named() {
        let subject = |without, with_only| features(without, with_only).subject();
        assert_eq!(subject(Some("aes"), None), ("hardware AES".into(), false));
        assert_eq!(subject(Some("aes,-sha"), None), ("hardware AES and SHA".into(), true));
        assert_eq!(subject(Some("crypto"), None).0, "cryptographic instructions");
        assert_eq!(subject(None, Some("sse4.2")).0, "what the processor has beyond SSE4.2");
        assert_eq!(subject(None, Some("")).0, "what the processor has beyond the least");
    }

    #[test]
    fn a_wrong_name_is_a_wrong_call() {
        let error = features(Some("aes,nonsense"), None).withheld().unwrap_err();
        assert_eq!(error.exit_code(), crate::error::exit::USAGE);
        assert!(error.to_string().contains("\"nonsense\""), "{error}");
        assert!(features(Some(" "), None).withheld().is_err());
        assert!(features(None, None).withheld().unwrap().is_none());
        assert!(!features(None, Some("")).withheld().unwrap().unwrap().is_empty());
    }

    #[test]
    fn the_list_has_every_feature() {
        let text = text();
        for feature in capability::HERE {
            assert!(text.lines().any(|line| line.starts_with(feature.name)), "{}", feature.name);
        }
        assert_eq!(json()["features"].as_array().unwrap().len(), capability::HERE.len());
    }
}
