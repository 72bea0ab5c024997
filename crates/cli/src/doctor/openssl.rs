//! OpenSSL, and the provider in it.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::Places;
use super::finding::Finding;
use crate::error::{Error, plain};
use crate::programs::base::{self, Base};
use crate::programs::configuration::Configuration;
use crate::programs::folder::Folder;
use crate::programs::module;
use crate::shown;
use crate::speed::ffi::libcrypto::LibCrypto;

/// The library that programs are linked with.
const LIBRARY: &str = "libcrypto.so.3";

pub(super) fn examine(places: &Places, asked: bool) -> Vec<Finding> {
    let mut findings = vec![library(asked)];
    let program = program(asked);
    let can_list = program.state == super::State::Ok;
    findings.push(program);
    match module::find(places.module.as_deref()) {
        Ok(module) => {
            findings.push(installed(&module));
            if can_list {
                findings.extend([loads(&module), configured()]);
            }
        }
        Err(error) => findings.push(Finding::error(asked || places.module.is_some(), "provider", &error)),
    }
    findings
}

fn library(asked: bool) -> Finding {
    match LibCrypto::open(LIBRARY.as_ref()) {
        Ok(library) => Finding::ok("libcrypto", format!("{LIBRARY} is {}", library.version())),
        Err(why) => Finding::absent(asked, "libcrypto", why, "install OpenSSL 3: apt-get install libssl3"),
    }
}

/// Runs `openssl` and returns its output.
fn openssl(arguments: &[&str], configuration: Option<&Path>) -> Result<Output, String> {
    let mut command = Command::new("openssl");
    command.args(arguments).stdin(Stdio::null());
    if let Some(path) = configuration {
        command.env("OPENSSL_CONF", path);
    }
    command.output().map_err(|error| plain(&error))
}

fn program(asked: bool) -> Finding {
    match openssl(&["version"], None) {
        Ok(output) => {
            let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            let major: Option<u32> =
                version.strip_prefix("OpenSSL ").and_then(|rest| rest.split('.').next()?.parse().ok());
            match major {
                Some(3..) => Finding::ok("openssl", version),
                _ => {
                    let found = format!("the program on the path is {version:?}");
                    Finding::absent(asked, "openssl", found, "providers need OpenSSL 3 or later")
                }
            }
        }
        Err(why) => {
            let remedy = "whether the provider loads can't be tried: apt-get install openssl";
            Finding::absent(asked, "openssl", format!("the program can't be run: {why}"), remedy)
        }
    }
}

fn installed(module: &Path) -> Finding {
    let found = shown::path(module);
    if module::is_of_a_build(module) {
        let remedy =
            "it goes with its build: install it ('cargo xtask install') before a configuration names it";
        return Finding::warn("provider", found, remedy);
    }
    Finding::ok("provider", found)
}

/// Returns true when the provider is among the active ones that `openssl` lists.
fn lists(configuration: Option<&Path>) -> Result<bool, String> {
    let output = openssl(&["list", "-providers"], configuration)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let own = text.split("\n  ").skip_while(|part| part.trim() != "millstream");
    // Entries of a provider are indented deeper than its name.
    if own.skip(1).take_while(|part| part.starts_with(' ')).any(|part| part.trim() == "status: active") {
        return Ok(true);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    match said.lines().last() {
        Some(why) if configuration.is_some() => Err(why.to_owned()),
        _ => Ok(false),
    }
}

/// Has `openssl` load the module by the configuration that `millstream run` gives to programs.
fn loads(module: &Path) -> Finding {
    let tried = || -> Result<bool, Error> {
        let usual = base::usual();
        let base = usual.as_deref().map_or(Ok(Base::default()), Base::read);
        let base = base.map_err(|source| Error::Open { path: usual.clone().unwrap_or_default(), source })?;
        let configuration =
            Configuration { module: module.to_owned(), isolated: None, socket: None, tally: None };
        let folder = Folder::new()?;
        let path = folder.write("openssl.cnf", &configuration.text(&base, usual.as_deref()))?;
        lists(Some(&path)).map_err(Error::Serve)
    };
    let remedy =
        "see what 'millstream run -- openssl list -providers' says; the module must be of this release";
    match tried() {
        Ok(true) => Finding::ok("loading", "OpenSSL loads the provider"),
        Ok(false) => Finding::fail("loading", "OpenSSL does not list the provider", remedy),
        Err(error) => {
            Finding::fail("loading", format!("OpenSSL does not load the provider: {error}"), remedy)
        }
    }
}

/// Tells whether programs use the provider without being started by `millstream run`.
fn configured() -> Finding {
    let found = match lists(None) {
        Ok(true) => "programs use the provider by their usual configuration",
        _ => "programs use the provider where 'millstream run' or 'openssl-conf' says so",
    };
    Finding::ok("by default", found)
}
