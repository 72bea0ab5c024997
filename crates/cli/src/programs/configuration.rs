//! OpenSSL's configuration with the provider in it: the one the program has without us, and what is added.
//!
//! In OpenSSL's format sections of one name are one section, and of two assignments to a name the later one counts. So the
//! program's own file is included whole, and what follows it extends the very sections it uses: its other providers,
//! its TLS settings and its properties stay as they are.
//!
//! The module is named by its absolute path. The environment variable OPENSSL_MODULES would do too, but there can be only
//! one such folder, and the distribution's own modules (`legacy.so`) would not be found any more.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::base::{Base, DEFAULT};

/// The names under which programs look for their configuration: OpenSSL's own, and that of Node.js.
const NAMES: [&str; 2] = ["openssl_conf", "nodejs_conf"];

/// The provider's name, in lists and in properties.
const PROVIDER: &str = "millstream";

/// What the provider is to be told.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// The module's absolute path.
    pub module: PathBuf,
    /// Whether the keys are to be out of reach.
    pub isolated: bool,
    /// The service's socket, where it is not the usual one.
    pub socket: Option<PathBuf>,
    /// The file of counters.
    pub tally: Option<PathBuf>,
}

impl Configuration {
    /// The text that extends `base`, which is included first if its path is given.
    pub fn text(&self, base: &Base, include: Option<&Path>) -> String {
        let mut text = String::new();
        if let Some(path) = include {
            let _ = writeln!(text, ".include = {}\n", quoted(&path.to_string_lossy()));
        }
        let sections = NAMES.map(|name| base.get(DEFAULT, name));
        // Where the file has one name only, all programs get the section of that one.
        let usual = sections.iter().flatten().next().copied().unwrap_or("millstream_init");
        let mut names = String::new();
        for (name, section) in NAMES.iter().zip(sections) {
            if section.is_none() {
                let _ = writeln!(names, "{name} = {}", quoted(usual));
            }
        }
        if !names.is_empty() {
            let _ = writeln!(text, "[{DEFAULT}]\n{names}");
        }
        let mut extended: Vec<&str> = Vec::new();
        for section in sections.map(|section| section.unwrap_or(usual)) {
            if !extended.contains(&section) {
                text += &self.extension(base, section);
                extended.push(section);
            }
        }
        text
    }

    /// What is added to the section that a name leads to, and to those it leads to.
    fn extension(&self, base: &Base, init: &str) -> String {
        let parts = Parts::of(base, init);
        let mut text = String::new();
        let mut section = |name: &str, entries: &[(&str, String)]| {
            if !entries.is_empty() {
                let _ = writeln!(text, "[{name}]");
                for (key, value) in entries {
                    let _ = writeln!(text, "{key} = {}", quoted(value));
                }
                text.push('\n');
            }
        };
        section(init, &parts.missing(base, init));
        let mut providers = Vec::new();
        if parts.activates_default {
            providers.push(("default", parts.default_section.clone()));
        }
        providers.push((PROVIDER, parts.own_section.clone()));
        section(&parts.providers, &providers);
        if parts.activates_default {
            section(&parts.default_section, &[("activate", "1".into())]);
        }
        section(&parts.own_section, &self.provider());
        section(&parts.algorithms, &[("default_properties", self.properties(base, &parts.algorithms))]);
        if base.get(&parts.random, "properties").is_none() {
            // The generator itself is made of ciphers and hashes. They stay with those who made it, so that nothing of
            // ours is needed to seed it, nor it for anything of ours.
            let properties =
                if parts.activates_default { "provider=default" } else { "provider!=millstream" };
            section(&parts.random, &[("properties", properties.into())]);
        }
        text
    }

    fn provider(&self) -> Vec<(&'static str, String)> {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let mut lines = vec![("module", path(&self.module)), ("activate", "1".into())];
        if self.isolated {
            lines.push(("isolated", "yes".into()));
        }
        lines.extend(self.socket.as_deref().map(|socket| ("socket", path(socket))));
        lines.extend(self.tally.as_deref().map(|tally| ("tally", path(tally))));
        lines
    }

    /// Which implementations are preferred. What the file demands stays demanded.
    fn properties(&self, base: &Base, section: &str) -> String {
        let mut all: Vec<String> = Vec::new();
        all.extend(base.get(section, "default_properties").map(str::to_owned));
        // It is a property too, and ours are set after it and would take its place.
        let fips = base.get(section, "fips_mode");
        if all.is_empty() && fips.is_some_and(|value| ["yes", "on", "true", "1"].contains(&value)) {
            all.push("fips=yes".into());
        }
        // Not `provider`, which a query that names it would take the place of.
        let mut wanted = vec!["?millstream.accelerated=yes"];
        if self.isolated {
            wanted.push("?millstream.isolated=yes");
        }
        for property in wanted {
            if !all.iter().any(|existing| existing.split(',').any(|one| one.trim() == property)) {
                all.push(property.to_owned());
            }
        }
        all.join(",")
    }
}

/// Whether what the file demands rules the provider out.
pub fn demands_fips(base: &Base) -> bool {
    NAMES.iter().filter_map(|name| base.get(DEFAULT, name)).any(|init| {
        let section = base.get(init, "alg_section").unwrap_or_default();
        let demanded = base.get(section, "default_properties").unwrap_or_default();
        demanded.split(',').any(|one| one.trim() == "fips=yes")
            || base.get(section, "fips_mode") == Some("yes")
    })
}

/// The names of the sections that matter, the file's own where it has some.
struct Parts {
    providers: String,
    algorithms: String,
    random: String,
    default_section: String,
    own_section: String,
    /// Where the file has no provider activated, OpenSSL activates the default one, but only as long as nobody activates
    /// another. Where it has some, and the default one is not among them, that is somebody's decision.
    activates_default: bool,
}

impl Parts {
    fn of(base: &Base, init: &str) -> Parts {
        let named = |key: &str, ours: &str| base.get(init, key).unwrap_or(ours).to_owned();
        let providers = named("providers", "millstream_providers");
        // A name may have a number before it, as in `1.default`.
        let entry = |name: &str| {
            let mut all = base.section(&providers).iter();
            all.find(|(key, _)| key.rsplit('.').next() == Some(name)).map(|(_, section)| section.clone())
        };
        let active = |section: &str| base.get(section, "activate").is_some();
        let others = base.section(&providers).iter().filter(|(key, _)| key != PROVIDER);
        let activates_any = others.clone().any(|(_, section)| active(section));
        let default = entry("default");
        Parts {
            activates_default: !activates_any || default.as_deref().is_some_and(active),
            default_section: default.unwrap_or_else(|| "millstream_default".into()),
            own_section: entry(PROVIDER).unwrap_or_else(|| "millstream_provider".into()),
            algorithms: named("alg_section", "millstream_algorithms"),
            random: named("random", "millstream_random"),
            providers,
        }
    }

    /// The entries that the section of a name lacks.
    fn missing(&self, base: &Base, init: &str) -> Vec<(&'static str, String)> {
        let all =
            [("providers", &self.providers), ("alg_section", &self.algorithms), ("random", &self.random)];
        let lacks = |key: &str| base.get(init, key).is_none();
        all.into_iter().filter(|(key, _)| lacks(key)).map(|(key, section)| (key, section.clone())).collect()
    }
}

/// A value as it has to be written so that it is read as it is.
fn quoted(value: &str) -> String {
    let special = |letter: char| matches!(letter, '\\' | '$' | '#' | '"' | '\'' | '`');
    if !value.contains(special) && value.trim() == value {
        return value.to_owned();
    }
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}
