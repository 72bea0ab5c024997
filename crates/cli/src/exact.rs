//! Names of files and words of command lines in JSON, which has no strings but Unicode. Where a name is not UTF-8, a
//! member of the same name with `_base64` behind it has its bytes.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use base64ct::{Base64, Encoding};
use serde_json::{Value, json};

/// Puts a name into an object.
pub fn put(object: &mut Value, member: &str, name: &OsStr) {
    object[member] = name.to_string_lossy().into();
    if name.to_str().is_none() {
        object[format!("{member}_base64")] = base64(name).into();
    }
}

/// Puts the words of a command into an object. If one is not UTF-8, all are there in Base64, too.
pub fn put_command(object: &mut Value, words: &[OsString]) {
    object["command"] = json!(words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>());
    if words.iter().any(|word| word.to_str().is_none()) {
        object["command_base64"] = json!(words.iter().map(|word| base64(word)).collect::<Vec<_>>());
    }
}

fn base64(name: &OsStr) -> String {
    Base64::encode_string(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_kept() {
        let (good, bad) = (OsStr::new("caf\u{e9}"), OsStr::from_bytes(b"caf\xe9"));
        let mut object = json!({});
        put(&mut object, "good", good);
        put(&mut object, "bad", bad);
        put_command(&mut object, &[good.to_owned(), bad.to_owned()]);
        let expected = json!({
            "good": "caf\u{e9}",
            "bad": "caf\u{fffd}",
            "bad_base64": "Y2Fm6Q==",
            "command": ["caf\u{e9}", "caf\u{fffd}"],
            "command_base64": ["Y2Fmw6k=", "Y2Fm6Q=="],
        });
        assert_eq!(object, expected);
        let mut object = json!({});
        put_command(&mut object, &[good.to_owned()]);
        assert_eq!(object, json!({ "command": ["caf\u{e9}"] }));
    }
}
