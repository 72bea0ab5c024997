//! The files of age: those that the real age writes, in both forms, and what is changed in them.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use millstream_cpu::Features;
use millstream_files::Error;
use millstream_files::age::{self, Secrets};

/// Runs age or age-keygen, and returns its output.
fn run(program: &str, args: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{program} (Debian's package age): {error}"));
    let (mut stdin, input) = (child.stdin.take().expect("a pipe"), input.to_vec());
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{program} {args:?}");
    output.stdout
}

fn opened(file: &[u8], secrets: Secrets<'_>) -> Result<Vec<u8>, Error> {
    let binary = if age::is_armoured(file) { age::dearmour(file)? } else { file.to_vec() };
    let mut file = &binary[..];
    let mut plain = Vec::new();
    age::open(Features::hardware(), &mut file, secrets)?.run_here(file, &mut plain)?;
    Ok(plain)
}

#[test]
fn files_of_the_real_age() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (key(folder.path(), "one"), key(folder.path(), "two"));
    let keys = age::identities(&one.0).unwrap();
    let others = age::identities(&two.0).unwrap();
    let (one, two) = (one.1, two.1);
    let both = [&keys[..], &others].concat();
    for len in [0, 1, 65535, 65536, 65537, 131072, 300_000] {
        let text: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
        for form in [&["-r", &one][..], &["-a", "-r", &one], &["-r", &two, "-r", &one]] {
            let file = run("age", form, &text);
            assert!(age::is_age(&file[..16]));
            for secrets in [&keys, &both] {
                assert!(
                    opened(&file, Secrets::Identities(secrets)).unwrap() == text,
                    "{len} bytes, {form:?}"
                );
            }
        }
        let refused = opened(&run("age", &["-r", &two], &text), Secrets::Identities(&keys));
        assert!(matches!(refused, Err(Error::NoKey { fitting: true, .. })), "{len} bytes");
    }
    let file = run("age", &["-r", &one], b"text");
    let refused = opened(&file, Secrets::Passphrase(b"text"));
    assert!(matches!(refused, Err(Error::NoKey { fitting: false, .. })));
    for at in 0..file.len() {
        let mut changed = file.clone();
        changed[at] ^= 1;
        assert!(opened(&changed, Secrets::Identities(&keys)).is_err(), "byte {at}");
        assert!(opened(&file[..at], Secrets::Identities(&keys)).is_err(), "{at} bytes");
    }
}

/// Makes a key pair, and returns the identity file and the recipient.
fn key(folder: &Path, name: &str) -> (Vec<u8>, String) {
    let path = folder.join(name);
    let path = path.to_str().expect("a temporary folder has a plain name");
    run("age-keygen", &["-o", path], b"");
    let public = run("age-keygen", &["-y", path], b"");
    (std::fs::read(path).unwrap(), String::from_utf8(public).unwrap().trim().to_owned())
}

/// A file that age 1.1.1 wrote for the passphrase `correct horse`: age asks for one only at a terminal.
const OF_A_PASSPHRASE: &str = "-----BEGIN AGE ENCRYPTED FILE-----\n\
YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IHNjcnlwdCBXZENaOG9mVTF5cUV0dEd6\n\
NUQzaWxRIDE4ClRBTStyU1JkeE9jZDJ4ZUoxdjBWNEMwK3FwUWNGR0NFazJSVElr\n\
eXZjWE0KLS0tIFA1ZTJweklKcVo5Sldua0JDbkk1cmJQMlBtYTBKK0oyT2hzc1VW\n\
MU9rNm8KNaWpL/BAIEOd6ukoFxpDjlbFdtkCRpWInAG42gcdPjcFpUaB1p6GclU/\n\
VpdtQRNYHYSnGB2G0Fk=\n\
-----END AGE ENCRYPTED FILE-----\n\
";

#[test]
fn a_file_for_a_passphrase() {
    let plain = opened(OF_A_PASSPHRASE.as_bytes(), Secrets::Passphrase(b"correct horse")).unwrap();
    assert_eq!(plain, b"a file for a passphrase\n");
    let refused = opened(OF_A_PASSPHRASE.as_bytes(), Secrets::Passphrase(b"battery staple"));
    assert!(matches!(refused, Err(Error::NoKey { fitting: true, .. })));
    let refused = opened(OF_A_PASSPHRASE.as_bytes(), Secrets::Identities(&[]));
    assert!(matches!(refused, Err(Error::NoKey { fitting: false, .. })));
}

/// A file that age 1.3.1 wrote for the recipient of [`HYBRID`]; Debian's age has no such keys yet.
const FOR_A_HYBRID: &str = include_str!("data/hybrid.age");
const HYBRID: &str = "AGE-SECRET-KEY-PQ-177CDTH9SYTXGQFL22RRLJE2QZRC9PRAFUUDKFN6W009CKS5WC5CS35ZK2U";

#[test]
fn a_file_for_a_hybrid_key() {
    let features = Features::hardware();
    let ours = age::identities(HYBRID.as_bytes()).unwrap();
    let to = ours[0].recipient(features).unwrap().to_line();
    assert_eq!(
        (to.len(), &to[..40], &to[to.len() - 20..]),
        (1959, "age1pq1rx4ha736e7aqjjzz9qs23w568sd855ef5", "0sqj4mnuyuqd8yxx7xrp")
    );
    let folder = tempfile::tempdir().unwrap();
    let others = age::identities(&key(folder.path(), "one").0).unwrap();
    let both = [&others[..], &ours].concat();
    for keys in [&ours, &both] {
        let plain = opened(FOR_A_HYBRID.as_bytes(), Secrets::Identities(keys)).unwrap();
        assert_eq!(plain, b"a file for a hybrid key\n");
    }
    // Neither a key of X25519 nor another hybrid opens it.
    let refused = opened(FOR_A_HYBRID.as_bytes(), Secrets::Identities(&others));
    assert!(matches!(refused, Err(Error::NoKey { fitting: true, .. })));
    let refused =
        opened(FOR_A_HYBRID.as_bytes(), Secrets::Identities(&[age::Identity::Hybrid([7; 32].into())]));
    assert!(matches!(refused, Err(Error::NoKey { fitting: true, .. })));
    // No byte of it can be changed, nor left out.
    let file = age::dearmour(FOR_A_HYBRID.as_bytes()).unwrap();
    for at in 0..file.len() {
        let mut changed = file.clone();
        changed[at] ^= 1;
        assert!(opened(&changed, Secrets::Identities(&ours)).is_err(), "byte {at}");
    }
    assert!(opened(&file[..file.len() - 1], Secrets::Identities(&ours)).is_err());
}

#[test]
fn a_costly_work_factor_is_refused_before_it_is_used() {
    let mut file = age::dearmour(OF_A_PASSPHRASE.as_bytes()).unwrap();
    assert!(age::takes_passphrase(&file));
    let end = b" 18\n";
    let at = file.windows(end.len()).position(|window| window == end).expect("the work factor") + 1;
    file[at..at + 2].copy_from_slice(b"22");
    let refused = opened(&file, Secrets::Passphrase(b"correct horse"));
    assert!(matches!(refused, Err(Error::Limit { given: 22, .. })));
    file[at..at + 2].copy_from_slice(b"08");
    let refused = opened(&file, Secrets::Passphrase(b"correct horse"));
    assert!(matches!(refused, Err(Error::NotThisFormat { .. })));
}

#[test]
fn armour_is_strict() {
    let whole = OF_A_PASSPHRASE;
    assert!(age::dearmour(whole.as_bytes()).is_ok());
    assert!(age::dearmour(whole.replace('\n', "\r\n").as_bytes()).is_ok());
    for changed in [
        whole.replace("-----END", "----END"),
        format!("{whole}more"),
        format!("more\n{whole}"),
        whole.replacen('\n', "\n\n", 1),
        whole[..whole.len() / 2].to_owned(),
    ] {
        assert!(age::dearmour(changed.as_bytes()).is_err(), "{changed}");
    }
}
