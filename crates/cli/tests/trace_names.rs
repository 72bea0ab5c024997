//! Names that are no text in the JSON of a trace.

mod common;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use base64ct::{Base64, Encoding};
use common::Place;
use serde_json::Value;

#[test]
fn names_that_are_not_utf8_are_in_the_json_of_a_trace() {
    if cfg!(not(target_arch = "x86_64")) {
        return millstream_testkit::skip("a trace's JSON: traces are those of x86-64");
    }
    let place = Place::new();
    let name = OsStr::from_bytes(b"tru\xe9");
    let program = place.path("").join(name);
    millstream_testkit::copy_program("/usr/bin/true".as_ref(), &program);
    let options = ["trace", "-q", "--json", "--report", "told"].map(OsString::from);
    let words = options.into_iter().chain([program.clone().into(), OsString::from("caf\u{e9}"), name.into()]);
    place.millstream(words).good();
    let told: Value = serde_json::from_slice(&place.read("told")).unwrap();

    let base64 = |name: &OsStr| Base64::encode_string(name.as_bytes());
    let path = std::fs::canonicalize(&program).unwrap();
    let modules = told["modules"].as_array().unwrap();
    let own = modules.iter().find(|module| module["path_base64"] == base64(path.as_os_str()).as_str());
    assert_eq!(own.map(|module| &module["path"]), Some(&path.to_string_lossy().into()), "{modules:?}");
    assert!(
        modules.iter().any(|module| module.get("path_base64").is_none()),
        "text alone where it is enough"
    );

    let process = told["processes"].as_array().unwrap().last().unwrap();
    let command = [program.as_os_str().as_bytes(), b" caf\xc3\xa9 tru\xe9"].concat();
    assert_eq!(process["command_base64"], base64(OsStr::from_bytes(&command)).as_str());
    assert_eq!(process["command"], String::from_utf8_lossy(&command).as_ref());
}
