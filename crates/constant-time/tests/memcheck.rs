//! Every row that valgrind can execute, with its keys and data declared undefined. Memcheck must report no
//! branch and no address that depends on them, except verdicts, which are public. It must report the rows
//! that leak.
//!
//! The program is compiled as it ships, because debug assertions and overflow checks branch on secrets and
//! are not in a release.
#![cfg(target_arch = "x86_64")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use millstream_testkit::skip;

/// Branches on values that come from secrets but are the caller's answer: the file, the text that the line of
/// the branch must contain, and the reason why it is no secret. Valgrind reports these, and the rest of the
/// path stays judged.
const PUBLIC: &[(&str, &str, &str)] = &[
    ("engines/src/gcm/mod.rs", "if tags_match(value, tag)", "whether a tag is right is the answer"),
    (
        "engines/src/gcm/state.rs",
        "if tags_match(self.finish(gcm), tag)",
        "whether a tag is right is the answer",
    ),
    ("engines/src/gcm/lanes.rs", "!tags_match(", "whether a tag is right is the answer"),
    (
        "engines/src/chacha20poly1305/mod.rs",
        "self.kernel.ops().open",
        "the kernel says whether the tag was right",
    ),
    (
        "engines/src/chacha20poly1305/object.rs",
        "if !tags_match(&mac.tag(), tag)",
        "whether a tag is right is the answer",
    ),
    (
        "engines/src/chacha20poly1305/state.rs",
        "if tags_match(&self.tag(key), tag)",
        "whether a tag is right is the answer",
    ),
    (
        "engines/src/chacha20poly1305/side_by_side.rs",
        "if tags_match(&tag, &job.tag)",
        "whether a tag is right is the answer",
    ),
    ("engines/src/siv/mod.rs", "if begins(&right, tag).into()", "whether a tag is right is the answer"),
    ("engines/src/siv/mod.rs", "!bool::from(begins(tag, &job.tag))", "whether a tag is right is the answer"),
    ("engines/src/gcm_siv/mod.rs", "if same", "whether a tag is right is the answer"),
    (
        "engines/src/gcm_siv/mod.rs",
        "!bool::from(begins(tag, &job.tag))",
        "whether a tag is right is the answer",
    ),
    (
        "engines/src/fernet/lanes.rs",
        "if begins(&tag, &job.tag).into()",
        "whether a token is right is the answer",
    ),
    ("engines/src/keywrap/lanes.rs", "if bool::from(right)", "whether a key was wrapped so is the answer"),
    (
        "engines/src/keywrap/lanes.rs",
        "job.result == Err(Error::Authentication)",
        "whether a key was wrapped so is the answer",
    ),
    ("engines/src/ff1/lanes.rs", "if !all {", "whether all digits are below the radix is the answer"),
    ("engines/src/ff1/mod.rs", "if too_large != 0", "whether all digits are below the radix is the answer"),
    (
        "engines/src/ff1/mod.rs",
        "filter(|job| job.result.is_ok())",
        "whether all digits are below the radix is the answer",
    ),
    ("engines/src/ff1/short.rs", "if right[lane]", "whether all digits are below the radix is the answer"),
    ("engines/src/cmac/mod.rs", "if begins(computed, tag).into()", "whether a tag is right is the answer"),
    (
        "engines/src/tls/cbc_hmac.rs",
        "match self.verify(header",
        "whether a record is authentic is the answer",
    ),
    (
        "engines/src/tls/padding.rs",
        "return match bool::from(valid)",
        "the record is authentic already, its padding public",
    ),
    (
        "engines/src/modes.rs",
        "if Choice::into(good)",
        "whether padding is valid is the answer, to who asks for it alone",
    ),
    (
        "engines/src/aes/xts.rs",
        "if begins(data_key, tweak_key).into()",
        "whether both keys are one is why they are refused",
    ),
    (
        "publickey/src/x25519/mod.rs",
        "if bool::from(zero)",
        "whether the peer's point has a small order is the answer",
    ),
    (
        "publickey/src/x448/mod.rs",
        "if bool::from(zero)",
        "whether the peer's point has a small order is the answer",
    ),
    (
        "publickey/src/weierstrass/key.rs",
        "if !is_scalar(curve, &scalar)",
        "whether a number is a scalar is why it is refused",
    ),
    (
        "publickey/src/weierstrass/key.rs",
        "if is_scalar(curve, &scalar)",
        "a number that is no scalar is forgotten, and another one drawn",
    ),
    (
        "publickey/src/ecdsa/presign.rs",
        "if limbs::zero_mask(r)",
        "a zero makes no presignature, and nobody has seen one",
    ),
    (
        "publickey/src/ffdh/key.rs",
        "if words::less(&key.exponent, &order)",
        "whether a number is an exponent of the group is why it is refused",
    ),
    (
        "publickey/src/ecdsa/nonce.rs",
        "if is_scalar(self.curve, &nonce)",
        "a number that is no scalar is forgotten, and another one drawn",
    ),
    ("publickey/src/ecdsa/signature.rs", "limbs::zero_mask(&pair.r)", "a signature is public"),
    (
        "publickey/src/mldsa/sponge.rs",
        "if least == N",
        "the matrix comes from a public seed, and of a stream with secrets nothing is seen but what is passed over",
    ),
    (
        "publickey/src/mldsa/private.rs",
        "if !valid",
        "whether the numbers of an expanded key are small enough is why it is refused",
    ),
    (
        "publickey/src/mldsa/private.rs",
        "let same = key.t0().ct_eq(t0)",
        "whether an expanded key fits together is why it is refused",
    ),
    (
        "publickey/src/mldsa/private.rs",
        "if same.into()",
        "whether an expanded key fits together is why it is refused",
    ),
    (
        "publickey/src/mldsa/sign.rs",
        "if !engine.add_within(",
        "a candidate is rejected, with a chance that is the same for every secret",
    ),
    (
        "publickey/src/mldsa/sign.rs",
        "if !engine.subtract_within(",
        "a candidate is rejected by what a verifier could compute of it",
    ),
    (
        "publickey/src/mldsa/sign.rs",
        "if ones > set.ones()",
        "a candidate is rejected by what a verifier could compute of it",
    ),
    (
        "publickey/src/mlkem/sponge.rs",
        "if least == N",
        "the matrix comes from a seed that is part of the public key",
    ),
    (
        "publickey/src/rsa/private.rs",
        "if !words::read(bytes, &mut prime",
        "whether a prime is odd and short enough is why it is refused",
    ),
    (
        "publickey/src/rsa/private.rs",
        "if prime[significant - 1] != 0",
        "how many words a prime has is no secret",
    ),
    (
        "publickey/src/rsa/private.rs",
        "check_product(&secret, public.numbers())?",
        "whether a key's numbers fit each other is why it is refused",
    ),
    (
        "publickey/src/rsa/private.rs",
        "check_exponent(&secret.",
        "whether a key's numbers fit each other is why it is refused",
    ),
    (
        "publickey/src/rsa/public.rs",
        "if words::less(&number",
        "whether a number is below the modulus is why it is refused",
    ),
    (
        "publickey/src/rsa/numbers.rs",
        "if words::equal(input, back) == 0",
        "whether a result leads back to its input is why it is not released",
    ),
    (
        "publickey/src/rsa/oaep.rs",
        "if words::equal_word(wrong, 0) == 0",
        "whether padding is valid is the answer",
    ),
    ("publickey/src/rsa/oaep.rs", "room(out, len)?", "the message's length is the answer"),
    ("publickey/src/rsa/lengths.rs", "out.get_mut(..len)", "the message's length is the answer"),
    (
        "publickey/src/slhdsa/hypertree.rs",
        "if tree.known != Some(number)",
        "the leaves that sign follow from the message and the front of the signature",
    ),
];

/// One trial of a row.
#[derive(Default)]
struct Outcome {
    /// Algorithm, kernel, operation, and timing, separated by bars.
    name: String,
    errors: usize,
    undefined: usize,
    /// Reports of places that had not been reported before, as lines of text.
    reports: Vec<Vec<String>>,
}

fn valgrind_is_there() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// The runs of valgrind: the trials of each are those whose name contains a text, or, behind `!`, those of no other run. Behind a hundred
/// reports valgrind takes those with the same few innermost frames for one, so no run may have so many.
const RUNS: [&str; 17] = [
    "SIV",
    "any keys",
    "rsa",
    "of ml-kem",
    "ml-kem-lanes",
    "key pair of ml-dsa-44",
    "signature of ml-dsa-44",
    "expanded key of ml-dsa-44",
    "key pair of ml-dsa-65",
    "signature of ml-dsa-65",
    "expanded key of ml-dsa-65",
    "key pair of ml-dsa-87",
    "signature of ml-dsa-87",
    "expanded key of ml-dsa-87",
    "ml-dsa-lanes",
    "slh-dsa",
    "!SIV|any keys|rsa|ml-kem|ml-dsa|slh-dsa",
];

/// Returns the output of some trials under valgrind, with valgrind's reports between its lines.
fn output(trials: &str) -> String {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=memcheck", "--quiet", "--log-fd=1", "--error-limit=no", "--num-callers=12"]);
    // With this option files are shown with their folders. Files of other crates keep their whole path.
    valgrind.arg("--fullpath-after=crates/");
    let output = valgrind.arg(env!("CARGO_BIN_EXE_trials")).arg(trials).output().expect("valgrind runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {text}\n{errors}", output.status);
    text
}

fn outcomes(text: &str) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("TRIAL ") {
            outcomes.push(Outcome { name: name.to_owned(), ..Outcome::default() });
        } else if let Some(result) = line.strip_prefix("RESULT ") {
            let numbers: Vec<usize> = result.split(' ').filter_map(|word| word.parse().ok()).collect();
            let last = outcomes.last_mut().expect("a trial before its result");
            [last.errors, last.undefined] = [numbers[0], numbers[1]];
        } else if let Some((_, report)) = line.strip_prefix("==").and_then(|rest| rest.split_once("== ")) {
            let Some(last) = outcomes.last_mut() else {
                panic!("valgrind reports before the first trial: {line}")
            };
            // A report is a sentence, with the places indented below it.
            match report.trim() {
                "" => {}
                // In a run of its own these reports can hide no other.
                "More than 100 errors detected.  Subsequent errors"
                | "will still be recorded, but in less detail than before."
                    if last.name.contains("SIV") => {}
                sentence if !report.starts_with("  ") => last.reports.push(vec![sentence.to_owned()]),
                place => last.reports.last_mut().expect("a sentence").push(place.to_owned()),
            }
        }
    }
    outcomes
}

/// Calls whose position in a text follows from a tag, which comes from secrets and is public: the file, the text that the line of the call
/// must contain, and the reason. What is called has trials of its own, where that position is given.
const PUBLIC_BELOW: &[(&str, &str, &str)] = &[
    (
        "engines/src/siv/mod.rs",
        "self.ctr.apply(&counter(tag), data)",
        "the counter is the tag, which is sent",
    ),
    (
        "engines/src/siv/mod.rs",
        "self.lanes.apply(&mut texts.each_mut())",
        "the counters are the tags, which are sent",
    ),
    (
        "publickey/src/mldsa/sponge.rs",
        "engine.sample_vartime(&bytes[lane]",
        "the matrix comes from a seed that is part of the public key",
    ),
    (
        "publickey/src/mldsa/sponge.rs",
        "engine.sample_small(bytes",
        "where a number is written follows from the bytes that are passed over, which are independent of the others",
    ),
    (
        "publickey/src/mldsa/sign.rs",
        "sponge::challenges_vartime(",
        "a challenge is drawn from a hash, which is public for rejected candidates too",
    ),
    (
        "publickey/src/mldsa/sign.rs",
        "coding::pack_hint(",
        "the hint is part of the signature, which is accepted then",
    ),
    (
        "publickey/src/mlkem/sponge.rs",
        "engine.sample_vartime(&bytes[lane]",
        "the matrix comes from a seed that is part of the public key",
    ),
    (
        "publickey/src/slhdsa/tree.rs",
        "out.copy_from_slice(&level[",
        "the leaves that sign follow from the message and the front of the signature",
    ),
    (
        "publickey/src/slhdsa/work.rs",
        "out.copy_from_slice(&now[",
        "the leaves that sign follow from the message and the front of the signature",
    ),
    (
        "publickey/src/slhdsa/hypertree.rs",
        "level[n * leaf..n * (leaf + 1)].copy_from_slice(node)",
        "the leaves that sign follow from the message and the front of the signature",
    ),
    (
        "publickey/src/slhdsa/hypertree.rs",
        "chosen.sign(",
        "what a layer signs is a node of the tree below, which whoever verifies computes",
    ),
];

/// Returns the places of a report that are lines of this project, the innermost first: file and line. Inlined functions
/// of other crates are passed over, and so are instructions that belong to no line.
fn places(report: &[String]) -> impl Iterator<Item = (&str, usize)> {
    report[1..].iter().filter_map(|frame| {
        let (_, place) = frame.strip_suffix(')')?.rsplit_once(" (")?;
        let (file, line) = place.rsplit_once(':')?;
        let line = line.parse().ok().filter(|line| *line > 0)?;
        (!file.starts_with('/')
            && ["engines/", "publickey/", "kernel/", "constant-time/"]
                .iter()
                .any(|own| file.starts_with(own)))
        .then_some((file, line))
    })
}

/// Returns the entry of [`PUBLIC`] that a report belongs to, or that of [`PUBLIC_BELOW`] behind them.
fn public(report: &[String]) -> Option<usize> {
    let (file, line) = places(report).next()?;
    let text = source(file, line)?;
    let branch = report[0].starts_with("Conditional jump");
    let verdict =
        PUBLIC.iter().position(|(of, contains, _)| branch && *of == file && text.contains(contains));
    let below = || {
        PUBLIC_BELOW.iter().position(|(of, contains, _)| {
            places(report)
                .filter(|(file, _)| file == of)
                .any(|(file, line)| source(file, line).is_some_and(|text| text.contains(contains)))
        })
    };
    verdict.or_else(|| below().map(|entry| PUBLIC.len() + entry))
}

/// Returns a line of the source.
fn source(file: &str, line: usize) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    let source = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    source.lines().nth(line - 1).map(str::to_owned)
}

#[test]
fn nothing_secret_decides_a_branch_or_an_address() {
    if cfg!(debug_assertions) {
        skip("constant time: this build has debug assertions, which branch on secrets; test with --release");
        return;
    }
    if !valgrind_is_there() {
        skip("constant time: valgrind is not installed, nothing was run with undefined secrets");
        return;
    }
    let text = RUNS.map(output).concat();
    for line in text.lines().filter_map(|line| line.strip_prefix("MISSING ")) {
        skip(&format!("constant time: under valgrind {line}"));
    }
    let faults: Vec<_> = text.lines().filter(|line| line.starts_with("FAULT ")).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    let ended = text.lines().filter(|line| *line == "END").count();
    assert_eq!(ended, RUNS.len(), "the trials did not end: {text}");

    let outcomes = outcomes(&text);
    let (mut used, mut leaks, mut silent) = (BTreeSet::new(), Vec::new(), Vec::new());
    for outcome in &outcomes {
        assert!(outcome.undefined > 0, "{}: what came of secrets is taken for public", outcome.name);
        if !outcome.name.ends_with("|Constant") {
            // These rows leak: they are marked so in the registry, or they were planted.
            if outcome.errors == 0 {
                silent.push(&outcome.name);
            }
            continue;
        }
        for report in &outcome.reports {
            match public(report) {
                Some(entry) => drop(used.insert(entry)),
                None => leaks.push(format!("{}\n{}", outcome.name, report.join("\n    "))),
            }
        }
    }
    let errors: usize = outcomes.iter().map(|outcome| outcome.errors).sum();
    println!("{} trials, {errors} reports in all, {} kinds of public verdicts", outcomes.len(), used.len());
    assert!(leaks.is_empty(), "secrets decide a branch or an address:\n{}", leaks.join("\n\n"));
    assert!(silent.is_empty(), "these leak, and valgrind did not see it: {silent:#?}");
    for control in ["planted|planted|branch|", "planted|planted|index|", "vartime-", "rc4|"] {
        assert!(outcomes.iter().any(|outcome| outcome.name.contains(control)), "{control} was not tried");
    }
}

/// Each line that may branch exists. Whether the compiler branches there is its choice.
#[test]
fn public_verdicts_are_in_the_source() {
    for (file, contains, _) in PUBLIC.iter().chain(PUBLIC_BELOW) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
        let source = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(source.lines().any(|line| line.contains(contains)), "{file} has no line with {contains}");
    }
}

/// Places are found in reports as valgrind writes them, and a report elsewhere does not pass for a verdict.
#[test]
fn reports_are_understood() {
    let text = "TRIAL a|b|c|Constant\n\
        ==7== Conditional jump or move depends on uninitialised value(s)\n\
        ==7==    at 0x1: from (/root/.cargo/registry/src/index.crates.io-1/subtle-2.6.1/src/lib.rs:154)\n\
        ==7==    by 0x1: verify (engines/src/tls/cbc_hmac.rs:0)\n\
        ==7==    by 0x1: open (engines/src/tls/cbc_hmac.rs:7)\n\
        ==7== \n\
        ==7== Use of uninitialised value of size 8\n\
        ==7==    at 0x2: main (in /usr/bin/true)\n\
        ==7== \n\
        RESULT 2 errors, 33 bytes undefined, 5 ms\n";
    let outcomes = outcomes(text);
    assert_eq!(outcomes.len(), 1);
    let outcome = &outcomes[0];
    assert_eq!((outcome.name.as_str(), outcome.errors, outcome.undefined), ("a|b|c|Constant", 2, 33));
    assert_eq!(outcome.reports.len(), 2);
    assert_eq!(places(&outcome.reports[0]).next(), Some(("engines/src/tls/cbc_hmac.rs", 7)));
    assert_eq!(places(&outcome.reports[1]).next(), None);
    assert!(outcome.reports.iter().all(|report| public(report).is_none()));
}
