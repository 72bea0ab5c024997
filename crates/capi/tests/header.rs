//! The header and the sources say the same, and every function is guarded.

/// Each file of wrappers.
const SOURCES: &[(&str, &str)] = &[
    ("library.rs", include_str!("../src/ffi/library.rs")),
    ("direct.rs", include_str!("../src/ffi/direct.rs")),
    ("slh_dsa.rs", include_str!("../src/ffi/slh_dsa.rs")),
    ("stream.rs", include_str!("../src/ffi/stream.rs")),
    ("batch/mod.rs", include_str!("../src/ffi/batch/mod.rs")),
    ("queue/mod.rs", include_str!("../src/ffi/queue/mod.rs")),
    ("isolated.rs", include_str!("../src/ffi/isolated.rs")),
    ("usage.rs", include_str!("../src/ffi/usage.rs")),
    ("srtp.rs", include_str!("../src/ffi/srtp.rs")),
];
const HEADER: &str = include_str!("../include/millstream.h");

/// An exported function: its name, what is said of it, and its body.
fn functions() -> Vec<(&'static str, String, &'static str)> {
    let mut found = Vec::new();
    for (file, source) in SOURCES {
        let mut parts = source.split("#[unsafe(no_mangle)]\n");
        let mut before = parts.next().unwrap();
        for part in parts {
            let (_, rest) = part.split_once("extern \"C\" fn ").expect(file);
            let name = rest.split(['(', '<']).next().unwrap();
            // The comment is what ends the part before.
            let comment: Vec<&str> =
                before.lines().rev().take_while(|line| line.starts_with("///")).collect();
            let comment = comment.iter().rev().map(|line| line[3..].trim()).collect::<Vec<_>>().join(" ");
            found.push((name, comment, &rest[..rest.find("\n}\n").expect(name)]));
            before = part;
        }
    }
    found
}

/// The functions that can't fail and call nothing that could panic.
const PLAIN: &[&str] = &[
    "millstream_version",
    "millstream_version_number",
    "millstream_status_text",
    "millstream_last_error",
    "millstream_fallbacks",
];

#[test]
fn every_function_is_guarded_and_says_what_can_go_wrong() {
    let functions = functions();
    assert!(functions.len() > 70, "{}", functions.len());
    for (name, comment, body) in functions {
        assert!(name.starts_with("millstream_"), "{name}");
        assert!(comment.len() > 40, "{name}: {comment}");
        let guarded = ["guard(", "guard_value(", "{ free("].iter().any(|guard| body.contains(guard));
        assert!(guarded || PLAIN.contains(&name), "{name} may let a panic out");
        // A function that returns a status lists its failures, or names a function that fails alike; any other lists
        // none.
        let says = comment.contains("ail") && comment.contains("MILLSTREAM_STATUS_");
        if body.contains("-> Status {") {
            assert!(says || comment.contains("ails as"), "{name}: {comment}");
        }
    }
}

#[test]
fn the_header_has_every_function_and_no_other() {
    let mut ours: Vec<&str> = functions().iter().map(|(name, ..)| *name).collect();
    let mut declared: Vec<&str> = HEADER
        .lines()
        .filter(|line| !line.starts_with([' ', '*', '/', '#']))
        .filter_map(|line| line.split_once('('))
        .filter_map(|(before, _)| before.rsplit([' ', '*']).next())
        .filter(|name| name.starts_with("millstream_"))
        .collect();
    ours.sort_unstable();
    declared.sort_unstable();
    assert_eq!(declared, ours);
}

/// Statuses that a comment names exist, and each is named by some function.
#[test]
fn comments_name_statuses_that_exist() {
    let (types, declared) = HEADER.split_once("extern \"C\" {").unwrap();
    let word =
        |text: &'static str| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap();
    let named =
        |text: &'static str| text.match_indices("MILLSTREAM_STATUS_").map(move |(at, _)| word(&text[at..]));
    let known: Vec<&str> = types.lines().filter(|line| line.contains(" = ")).flat_map(named).collect();
    for name in named(declared) {
        assert!(known.contains(&name), "{name}");
    }
    // These are of operations in queues and of what the library has no name for.
    let elsewhere = [
        "OTHER",
        "PANIC",
        "WORD_",
        "STATUS_POLICY",
        "CANCELLED",
        "SERVICE_MESSAGE",
        "KEY_MEMORY",
        "NONCE_GIVEN",
        "NONCE_MISSING",
        "NONCES_SPENT",
        "SHORT_TAG",
        "STATUS_USES_",
    ];
    for name in known.iter().filter(|name| !elsewhere.iter().any(|part| name.contains(part))) {
        assert!(named(declared).any(|each| each == *name), "{name} is nobody's");
    }
}
