//! `caps`, `check`, the mask, manual pages and completions.

mod common;

use std::process::Command;
use std::time::{Duration, Instant};

use common::{MILLSTREAM, Place, ended};
use serde_json::Value;

fn masked(mask: &str, args: &[&str]) -> common::Ended {
    // `ended` clears the variable, so `env` sets it again.
    let mut command = Command::new("env");
    command.arg(format!("MILLSTREAM_HWCAP={mask}")).arg(MILLSTREAM).args(args);
    ended(&mut command, b"")
}

fn json(text: String) -> Value {
    serde_json::from_str(&text).unwrap()
}

#[test]
fn caps_names_processor_features_and_every_algorithm() {
    let place = Place::new();
    let text = place.words("caps").text();
    assert!(text.contains(&millstream_cpu::processor_name()), "{text}");
    for engine in millstream::engines() {
        let name = engine.algorithm().name;
        let chosen = engine.chosen(millstream_cpu::Features::hardware()).name;
        let line = text.lines().find(|line| line.split(' ').next() == Some(name));
        assert!(line.is_some_and(|line| line.contains(chosen)), "{name} {chosen}: {text}");
    }
}

#[test]
fn caps_tells_what_was_masked_and_what_lost_its_place_by_it() {
    let hardware = millstream_cpu::Features::hardware();
    let aes = millstream_cpu::FeatureSet::from(millstream_cpu::Feature::Aes);
    if !hardware.contains(aes) {
        millstream_testkit::skip("caps under a mask: this processor has no aes to mask");
        return;
    }
    let report = json(masked("-aes", &["caps", "--json"]).text());
    assert_eq!(report["version"], 1);
    assert!(report["features"]["masked"].as_array().unwrap().contains(&"aes".into()));
    assert!(!report["features"]["present"].as_array().unwrap().contains(&"aes".into()));
    let algorithms = report["algorithms"].as_array().unwrap();
    let gcm = algorithms.iter().find(|a| a["name"] == "aes-gcm").unwrap();
    assert_eq!(gcm["kernel"], millstream_engines::gcm::GCM.best(hardware.without(aes)).kernel().name);
    let not_used = gcm["not_used"].as_array().unwrap();
    let reasons = |kernel: &Value| ["masked", "lacks"].map(|why| kernel[why].as_array().unwrap().len());
    assert!(!not_used.is_empty() && not_used.iter().all(|kernel| reasons(kernel) != [0, 0]), "{gcm:#}");
    let text = masked("-aes", &["caps"]).text();
    assert!(text.contains(": masked aes"), "{text}");
}

#[test]
fn the_work_is_the_same_under_a_mask() {
    let fast = masked("", &["digest", "-a", "sha256", MILLSTREAM]).text();
    assert_eq!(masked("-crypto -avx512 -avx2", &["digest", "-a", "sha256", MILLSTREAM]).text(), fast);
}

#[test]
fn an_unknown_feature_lists_the_known_ones() {
    for args in [&["caps"][..], &["check"], &["digest", "-a", "sha1", "x"], &["decrypt", "-i", "x"]] {
        masked("-ase", args).bad(2, &["MILLSTREAM_HWCAP", "'-ase'", "aes", "vpclmul", "avx512"]);
    }
}

#[test]
fn check_runs_every_kernel_in_two_seconds() {
    let place = Place::new();
    let began = Instant::now();
    let text = place.words("check --verbose").text();
    let took = began.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
    let mut kernels = 0;
    for engine in millstream::engines() {
        for kernel in engine.kernels() {
            kernels += 1;
            let line = text.lines().find(|line| {
                let mut words = line.split_whitespace();
                (words.next(), words.next()) == (Some(engine.algorithm().name), Some(kernel.name))
            });
            let available = millstream_cpu::Features::hardware().contains(kernel.requires);
            let word = if available { " ok" } else { " not available (needs " };
            assert!(
                line.is_some_and(|line| line.contains(word)),
                "{} {}: {text}",
                engine.algorithm().name,
                kernel.name
            );
        }
    }
    assert_eq!(text.lines().count(), kernels + 1);
    let report = json(place.words("check --json").text());
    assert_eq!(report["failed"], 0);
    assert_eq!(report["kernels"].as_array().unwrap().len(), kernels);
    let masked = json(masked("-crypto", &["check", "--json"]).text());
    assert!(
        masked["ok"].as_u64() < report["ok"].as_u64()
            || report["not_available"].as_u64() == masked["not_available"].as_u64()
    );
}

#[test]
fn manual_pages_for_all_that_groff_takes_without_a_word() {
    let place = Place::new();
    std::fs::create_dir(place.path("man")).unwrap();
    place.words("man man").good();
    for (page, words) in [
        ("millstream", &["caps", "check", "MILLSTREAM_HWCAP"][..]),
        ("millstream-caps", &["json"]),
        ("millstream-check", &["verbose"]),
        ("millstream-digest", &["EXIT STATUS", "EXAMPLES", "disk.img"]),
        ("millstream-mac", &["EXIT STATUS", "EXAMPLES", "PBKDF2"]),
        ("millstream-encrypt", &["EXIT STATUS", "EXAMPLES", "FORMATS", "keyset"]),
        ("millstream-decrypt", &["EXIT STATUS", "EXAMPLES", "FORMATS"]),
    ] {
        let text = String::from_utf8(place.read(&format!("man/{page}.1"))).unwrap().replace('\\', "");
        for word in words {
            assert!(text.contains(word), "no '{word}' in {page}: {text}");
        }
        if Command::new("groff").arg("--version").output().is_ok() {
            let path = format!("man/{page}.1");
            place.run("groff", ["-ww", "-man", "-Tutf8", &path], b"").good();
        }
    }
    place.words("man missing").bad(1, &["missing/millstream.1", "No such file"]);
}

/// Returns the names of pages in a text, as in `millstream-run(1)`.
fn pages_named_in(text: &str) -> Vec<String> {
    let text = text.replace("\\-", "-");
    let mut pages = Vec::new();
    for (at, _) in text.match_indices("(1)") {
        let before = &text[..at];
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let start = before.rfind(|c| !is_letter(c)).map_or(0, |at| at + 1);
        pages.push(before[start..].to_owned());
    }
    pages
}

#[test]
fn manuals_refer_to_pages_that_exist_and_have_their_own_names() {
    let place = Place::new();
    std::fs::create_dir(place.path("man")).unwrap();
    place.words("man man").good();
    let mut count = 0;
    for entry in std::fs::read_dir(place.path("man")).unwrap() {
        let path = entry.unwrap().path();
        let (name, text) =
            (path.file_stem().unwrap().to_str().unwrap(), std::fs::read_to_string(&path).unwrap());
        assert!(text.contains(".SH \"SEE ALSO\""), "{name}");
        let heading = format!(".SH NAME\n{} \\- ", name.replace('-', "\\-"));
        assert!(text.contains(&heading), "{name}: {}", &text[..400]);
        for other in pages_named_in(&text).iter().filter(|other| other.starts_with("millstream")) {
            assert!(place.path("man").join(format!("{other}.1")).exists(), "{name} refers to {other}(1)");
            count += 1;
        }
    }
    assert!(count > 60, "{count} references");
}

#[test]
fn help_names_every_option_and_the_exit_codes() {
    let place = Place::new();
    let help = place.words("encrypt --help").text();
    for word in [
        "-a",
        "-k",
        "-i",
        "-o",
        "-l",
        "-v",
        "--format",
        "--iv",
        "--passphrase-file",
        "Exit status",
        "openssl",
    ] {
        assert!(help.contains(word), "no '{word}' in {help}");
    }
    assert_eq!(place.words("--version").text(), format!("millstream {}\n", env!("CARGO_PKG_VERSION")));
}
