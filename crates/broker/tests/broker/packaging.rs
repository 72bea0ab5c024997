//! The files that are shipped beside the program are usable.

use std::path::{Path, PathBuf};
use std::process::Command;

use millstream_broker::rules::Policy;

pub const TRIALS: &[(&str, fn())] = &[
    ("the example policy can be used", example_policy),
    ("every key of a policy is documented, with its limits", documented_policy),
    ("systemd understands the units", units),
    ("workers need nothing of /proc but links of their own", proc_of_the_unit),
];

/// Settings that Debian 12's systemd (252) does not know.
const NEWER: &[&str] = &["AcceptFileDescriptors"];

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist").join(name)
}

fn example_policy() {
    Policy::load(&shipped("policy.toml")).unwrap();
    // The lines that are commented out must be valid, too, except for names that this machine need not know.
    let mut text = std::fs::read_to_string(shipped("policy.toml")).unwrap();
    for name in ["\"www-data\"", "\"users\"", "\"adm\""] {
        assert!(text.contains(name));
        text = text.replace(name, "\"root\"");
    }
    let examples: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("#:")).collect();
    assert!(examples.len() > 5);
    let text = format!("{text}\n{}", examples.join("\n"));
    Policy::parse(&text, Path::new("policy.toml")).unwrap();
}

fn documented_policy() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policy.md");
    let page = std::fs::read_to_string(page).unwrap();
    let chapter = |title: &str| {
        let (_, rest) =
            page.split_once(&format!("\n## {title}")).unwrap_or_else(|| panic!("no chapter {title}"));
        rest.split("\n## ").next().unwrap().to_owned()
    };
    let whom = chapter("Whom a section is for");
    let section = chapter("What a section grants");
    let user = section.clone() + &whom;
    let limits = chapter("What the service has in all");
    let (operators, tokens) = (chapter("Operators"), chapter("Tokens"));
    let mut keys = 0;
    for (header, chapter) in [
        ("[default]", &section),
        ("[[user]]", &user),
        ("[[group]]", &user),
        ("[limits]", &limits),
        ("[operators]", &operators),
        ("[tokens]", &tokens),
        ("[[token]]", &tokens),
    ] {
        // The parser knows its keys, and says so.
        let text = format!("{header}\nno_such_key = 1\n");
        let error = Policy::parse(&text, Path::new("policy.toml")).unwrap_err().to_string();
        let (_, names) = error.split_once("expected one of ").unwrap_or_else(|| panic!("{header}: {error}"));
        for key in names.split('`').skip(1).step_by(2).filter(|name| *name != "no_such_key = 1") {
            assert!(chapter.contains(&format!("`{key}`")), "docs/policy.md does not have {key} of {header}");
            keys += 1;
            // A number's limits are those that its error names.
            let whom = match header {
                "[[user]]" => "uid = 0\n",
                "[[group]]" => "gid = 0\n",
                _ => "",
            };
            let text = format!("{header}\n{whom}{key} = 4294967295\n");
            let Err(error) = Policy::parse(&text, Path::new("policy.toml")) else { continue };
            let error = error.to_string();
            let Some((_, allowed)) = error.split_once("it must be from ") else { continue };
            let words: Vec<&str> = allowed.split([' ', ',']).collect();
            let row = chapter.lines().find(|line| line.starts_with(&format!("| `{key}` |"))).unwrap();
            let expected = format!("| {} … {} |", words[0], words[2]);
            assert!(row.contains(&expected), "docs/policy.md, {key}: not {expected} in {row}");
        }
    }
    assert!(keys > 60, "{keys}");
}

fn units() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        println!("SKIPPED units: there is no systemd-analyze");
        return;
    }
    // The rest can be checked without installing the program.
    let directory = tempfile::tempdir().unwrap();
    for name in ["millstream.service", "millstream.socket"] {
        let text = std::fs::read_to_string(shipped(name)).unwrap();
        let text = text.replace("/usr/bin/millstream", "/bin/true");
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    let output = Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .arg(directory.path().join("millstream.service"))
        .arg(directory.path().join("millstream.socket"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // systemd ignores settings that are newer than it is, and says so.
    let newer = |line: &&str| NEWER.iter().any(|key| line.contains(&format!("Unknown key '{key}'")));
    let ours: Vec<&str> =
        said.lines().filter(|line| line.contains("millstream")).filter(|line| !newer(line)).collect();
    assert!(output.status.success() && ours.is_empty(), "{said}");
}

/// Runs as under `ProtectProc=invisible` and `ProcSubset=pid`.
fn proc_of_the_unit() {
    let unit = std::fs::read_to_string(shipped("millstream.service")).unwrap();
    assert!(unit.contains("\nProtectProc=invisible\nProcSubset=pid\n"), "{unit}");
    let script = "mount -t proc -o hidepid=invisible,subset=pid proc /proc && ! test -e /proc/cpuinfo || exit 99; exec \"$@\"";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "real workers: the death of one ends its grants", "--nocapture"])
        .output();
    let output = match output {
        Ok(output)
            if output.status.code() == Some(99)
                || String::from_utf8_lossy(&output.stderr).starts_with("unshare:") =>
        {
            println!("SKIPPED workers under another /proc: it can't be mounted here");
            return;
        }
        Ok(output) => output,
        Err(error) => {
            println!("SKIPPED workers under another /proc: unshare: {error}");
            return;
        }
    };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
