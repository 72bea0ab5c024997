//! OpenSSL's configuration with the provider in it: the program's own configuration, and additions.
//!
//! In OpenSSL's format, sections of one name are one section, and of two assignments to a name the later one
//! counts. So the program's own file is included whole, and the lines after it extend the sections that it
//! uses. Its other providers, its TLS settings and its properties stay as they are.
//!
//! The module is named by its absolute path. The environment variable OPENSSL_MODULES would do too, but it
//! names only one folder, and the distribution's own modules (`legacy.so`) would not be found any more.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::base::{Base, DEFAULT};

/// The names under which programs look for their configuration: OpenSSL's own, and that of Node.js.
const NAMES: [&str; 2] = ["openssl_conf", "nodejs_conf"];

/// The provider's name, in lists and in properties.
const PROVIDER: &str = "millstream";

/// The keys that are kept in the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Isolated {
    /// Every key that Millstream computes with
    All,
    /// Private keys that the program loads; those of sessions stay with it
    Private,
}

impl Isolated {
    /// Returns the value of the provider's line.
    const fn line(self) -> &'static str {
        match self {
            Isolated::All => "yes",
            Isolated::Private => "private",
        }
    }
}

/// The settings of the provider.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// The module's absolute path.
    pub module: PathBuf,
    /// The keys that are kept in the service, if any are.
    pub isolated: Option<Isolated>,
    /// The service's socket, where it is not the usual one.
    pub socket: Option<PathBuf>,
    /// The file of counters.
    pub tally: Option<PathBuf>,
}

impl Configuration {
    /// Returns the text that extends `base`, which is included first if its path is given.
    pub fn text(&self, base: &Base, include: Option<&Path>) -> String {
        let mut text = String::new();
        if let Some(path) = include {
            let _ = writeln!(text, ".include = {}\n", quoted(&path.to_string_lossy()));
        }
        let sections = NAMES.map(|name| base.get(DEFAULT, name));
        // If the file has only one of the names, all programs get the section of that one.
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

    /// Returns the additions to the section that a name leads to, and to the sections below it.
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
            // The generator itself is made of ciphers and hashes. They stay with the original provider, so
            // that neither depends on the other to be seeded.
            let properties =
                if parts.activates_default { "provider=default" } else { "provider!=millstream" };
            section(&parts.random, &[("properties", properties.into())]);
        }
        text
    }

    fn provider(&self) -> Vec<(&'static str, String)> {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let mut lines = vec![("module", path(&self.module)), ("activate", "1".into())];
        lines.extend(self.isolated.map(|isolated| ("isolated", isolated.line().into())));
        lines.extend(self.socket.as_deref().map(|socket| ("socket", path(socket))));
        lines.extend(self.tally.as_deref().map(|tally| ("tally", path(tally))));
        lines
    }

    /// Returns the properties that prefer our implementations. The file's own demands stay.
    fn properties(&self, base: &Base, section: &str) -> String {
        let mut all: Vec<String> = Vec::new();
        all.extend(base.get(section, "default_properties").map(str::to_owned));
        // `fips_mode` is a property, too. Ours are set after it and would replace it.
        let fips = base.get(section, "fips_mode");
        if all.is_empty() && fips.is_some_and(|value| ["yes", "on", "true", "1"].contains(&value)) {
            all.push("fips=yes".into());
        }
        // The property is not `provider`, because a query that names a provider would replace it.
        let mut wanted = vec!["?millstream.accelerated=yes"];
        if self.isolated.is_some() {
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

/// Returns true when the file's demands rule the provider out.
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
    /// True when the default provider must be activated here. OpenSSL activates it by itself in a file
    /// without any provider, but only as long as nobody activates another. If the file has providers without
    /// the default one, somebody decided so.
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

    /// Returns the entries that the section of a name lacks.
    fn missing(&self, base: &Base, init: &str) -> Vec<(&'static str, String)> {
        let all =
            [("providers", &self.providers), ("alg_section", &self.algorithms), ("random", &self.random)];
        let lacks = |key: &str| base.get(init, key).is_none();
        all.into_iter().filter(|(key, _)| lacks(key)).map(|(key, section)| (key, section.clone())).collect()
    }
}

/// Quotes a value so that it is read back unchanged.
fn quoted(value: &str) -> String {
    let special = |letter: char| matches!(letter, '\\' | '$' | '#' | '"' | '\'' | '`');
    if !value.contains(special) && value.trim() == value {
        return value.to_owned();
    }
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}
