//! `encrypt` and `decrypt` lose no data and no key by a slip of the hand, and accept nothing unauthenticated
//! unless asked to.

mod common;

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use common::{MILLSTREAM, Place, Terminal, bytes, exists};

fn place_with_key() -> Place {
    let place = Place::new();
    place.key("key", bytes(32));
    place.key("pass", "correct horse\n");
    place.write("data", "data");
    place
}

/// Returns the command under the name that it has on Solaris.
fn solaris(place: &Place, name: &str) -> String {
    let path = place.path(name);
    if !exists(&path) {
        symlink(MILLSTREAM, &path).unwrap();
    }
    path.into_os_string().into_string().unwrap()
}

fn words_of(place: &Place, program: &str, line: &str) -> common::Ended {
    place.run(solaris(place, program), line.split_whitespace(), b"")
}

/// Somebody who can write the file replaces it with one that `openssl enc` made with the same passphrase,
/// which is known to whoever made a backup with it, and changes a bit. In CBC that changes the plaintext.
#[test]
fn an_unauthenticated_file_in_place_of_an_authenticated_one_is_not_decrypted() {
    let place = place_with_key();
    place.write("plain", bytes(1000));
    place.words("encrypt --passphrase-file pass -i plain -o file").good();
    place.words("decrypt --passphrase-file pass -i file -o opened").good();
    let line = "enc -aes-256-cbc -pbkdf2 -pass file:pass -in plain -out file";
    place.run("openssl", line.split_whitespace(), b"").good();
    let mut file = place.read("file");
    file[16 + 100] ^= 1;
    place.write("file", &file);

    let words = ["file: ", "openssl enc", "--format openssl"];
    place.words("decrypt --passphrase-file pass -i file").bad(2, &words);
    place.words("decrypt --passphrase-file pass -i file -o new").bad(2, &words);
    place.words_with("decrypt --passphrase-file pass", &file).bad(2, &["--format openssl"]);
    words_of(&place, "decrypt", "--passphrase-file pass -i file").bad(2, &words);
    assert!(!exists(&place.path("new")));
    // Naming the format on the command line is enough to decrypt it.
    let opened = place.words("decrypt --format openssl --passphrase-file pass -i file").good();
    assert_eq!((opened.len(), opened == bytes(1000)), (1000, false));
}

#[test]
fn a_solaris_file_is_decrypted_where_a_says_so_by_either_name() {
    let place = place_with_key();
    words_of(&place, "encrypt", "-a aes -k key -i data -o file").good();
    place.words("decrypt -k key -i file").bad(2, &["Solaris", "--format solaris"]);
    words_of(&place, "decrypt", "-k key -i file").bad(2, &["Solaris", "--format solaris"]);
    assert_eq!(place.words("decrypt -a aes -k key -i file").good(), b"data");
    assert_eq!(words_of(&place, "decrypt", "-a aes -k key -i file").good(), b"data");
}

#[test]
fn an_output_never_replaces_what_the_key_came_from() {
    let place = place_with_key();
    let (key, pass) = (place.read("key"), place.read("pass"));
    place.key("iv", [7; 16]);
    place.words("encrypt -k key -i data -o sealed").good();
    place.words("encrypt --passphrase-file pass -i data -o locked").good();
    std::fs::hard_link(place.path("key"), place.path("hard")).unwrap();
    symlink("key", place.path("soft")).unwrap();
    symlink("pass", place.path("linked")).unwrap();
    let names = place.names();
    for (line, what) in [
        ("encrypt -k key -i data -o key", "key: is the key file key"),
        ("encrypt -k key -i key -o key", "key file key"),
        ("encrypt -k key -i data -o ./key", "key file key"),
        ("encrypt -k key -i data -o soft", "key file key"),
        ("encrypt -k key -i data -o hard", "hard: is the key file key"),
        ("encrypt -k soft -i data -o key", "key file soft"),
        ("decrypt -k key -i sealed -o key", "key file key"),
        ("encrypt --passphrase-file pass -i data -o linked", "passphrase file pass"),
        ("decrypt --passphrase-file linked -i locked -o pass", "passphrase file linked"),
        ("encrypt --format raw -a aes-cbc -k key --iv-file iv -i data -o iv", "initialisation vector iv"),
        ("encrypt --format raw -a aes-cbc -k key --iv-file iv -i data -o key", "key file key"),
        ("speed --pkcs11 module --pin-file pass --plot pass sha256", "PIN file pass"),
    ] {
        place.words(line).bad(2, &[what, "destroy"]);
    }
    words_of(&place, "encrypt", "-a aes -k key -i data -o key").bad(2, &["key file key"]);
    std::fs::remove_file(place.path("encrypt")).unwrap();
    // A file that a shell has opened for appending is recognised without its name.
    for line in ["encrypt -k key -i data", "mac -a sha256_hmac -k key data"] {
        let shell = format!("exec {MILLSTREAM} {line} >> key");
        place.run("sh", ["-c", &shell], b"").bad(2, &["standard output: is the key file key"]);
    }
    assert_eq!((place.read("key"), place.read("pass")), (key, pass));
    assert_eq!(place.names(), names);
    // The input may be replaced, as always, and a passphrase may come from where the output goes.
    place.words("encrypt -k key -i data -o data").good();
    place.words("encrypt --passphrase-file pass -i data -o /dev/null").good();
}

#[test]
fn an_option_that_is_given_again_is_an_error_unless_solaris_takes_it() {
    let place = place_with_key();
    place.write("b", "second");
    for (line, words) in [
        ("encrypt -k key -i data -i b -o z", &["-o names one output for several inputs", "--output-dir"][..]),
        ("decrypt -k key -i data --input b -o z", &["-o names one output for several inputs"]),
        ("encrypt -k key -i data -o y -o z", &["--output", "multiple times"]),
        ("encrypt -k key -k pass -i data -o z", &["--key-file", "multiple times"]),
        ("encrypt -a aes -a des -k key -i data -o z", &["--algorithm", "multiple times"]),
        ("encrypt --passphrase-file pass --passphrase-file pass -i data -o z", &["multiple times"]),
        ("mac -a sha256_hmac -k key -k key data", &["multiple times"]),
        ("encrypt -k key data b -o z", &["-o names one output for several inputs"]),
    ] {
        place.words(line).bad(2, words);
    }
    assert!(!exists(&place.path("z")));
    place.words("encrypt -qq -k key -i data -o z").good();
    // The Solaris commands use getopt(3C): the last one counts.
    words_of(&place, "encrypt", "-a des -a aes -k key -i data -i b -o y -o z").good();
    assert_eq!(place.words("decrypt -a aes -k key -i z").good(), b"second");
    assert!(!exists(&place.path("y")));
    words_of(&place, "millstream-encrypt", "-k key -i data -i b -o y").bad(2, &["several inputs"]);
}

#[test]
fn a_minus_names_the_standard_streams() {
    let place = place_with_key();
    let sealed = place.words_with("encrypt -k key -i - -o -", b"piped").good();
    assert_eq!(place.words_with("decrypt -k key -i -", &sealed).good(), b"piped");
    assert!(!exists(&place.path("-")));
}

fn at_terminal(place: &Place, line: &str) -> (Option<i32>, String) {
    Terminal::new(place, &format!("{MILLSTREAM} {line}")).end()
}

#[test]
fn ciphertext_goes_to_a_terminal_only_when_it_must() {
    let place = place_with_key();
    let (code, shown) = at_terminal(&place, "encrypt -k key -i data");
    assert!(
        code == Some(2) && shown.contains("is a terminal") && shown.contains("'-o -'"),
        "{code:?} {shown}"
    );
    let (code, shown) = at_terminal(&place, "encrypt -k key -i data -o -");
    assert!(code == Some(0) && shown.starts_with('('), "{code:?} {shown}");
    assert_eq!(at_terminal(&place, "encrypt -k key -i data -o sealed"), (Some(0), String::new()));
    assert_eq!(at_terminal(&place, "decrypt -k key -i sealed"), (Some(0), "data".to_owned()));
}

#[test]
fn plaintext_that_is_no_text_does_not_command_the_terminal() {
    let place = place_with_key();
    place.write("data", "\x1b]0;title\x07");
    place.words("encrypt -k key -i data -o sealed").good();
    let (code, shown) = at_terminal(&place, "decrypt -k key -i sealed");
    assert!(code == Some(1) && shown.contains("not text") && shown.contains("'-o -'"), "{code:?} {shown}");
    assert!(!shown.contains("title"), "{shown}");
    let (code, shown) = at_terminal(&place, "decrypt -k key -i sealed -o -");
    assert!(code == Some(0) && shown.contains("title"), "{code:?} {shown}");
    assert_eq!(place.words("decrypt -k key -i sealed").good(), b"\x1b]0;title\x07");
}

fn mode(place: &Place, name: &str) -> u32 {
    place.path(name).metadata().unwrap().mode() & 0o7777
}

fn set_mode(place: &Place, name: &str, mode: u32) {
    std::fs::set_permissions(place.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_file_is_no_more_readable_than_what_it_was_made_from() {
    let place = place_with_key();
    let sealed = place.words_with("encrypt -k key", b"data").good();
    place.write("sealed", &sealed);
    for (umask, input, expected) in [
        ("022", 0o600, 0o600),
        ("022", 0o644, 0o644),
        ("022", 0o640, 0o640),
        ("022", 0o666, 0o644),
        ("022", 0o755, 0o644),
        ("000", 0o640, 0o640),
        ("077", 0o644, 0o600),
    ] {
        set_mode(&place, "sealed", input);
        for from in ["-i sealed", "< sealed"] {
            let shell = format!("umask {umask}; rm -f new; exec {MILLSTREAM} decrypt -k key -o new {from}");
            place.run("sh", ["-c", &shell], b"").good();
            assert_eq!(mode(&place, "new"), expected, "umask {umask}, input {input:o}, {from}");
            let shell = format!("umask {umask}; rm -f new; exec {MILLSTREAM} encrypt -k key -o new {from}");
            place.run("sh", ["-c", &shell], b"").good();
            assert_eq!(mode(&place, "new"), expected, "encrypted: umask {umask}, input {input:o}, {from}");
        }
    }
    let shell = format!("umask 022; cat sealed | {MILLSTREAM} encrypt -k key -o twice");
    place.run("sh", ["-c", &shell], b"").good();
    assert_eq!(mode(&place, "twice"), 0o644);
    // Nobody knows who may read the data from a pipe.
    let shell = format!("umask 022; cat sealed | {MILLSTREAM} decrypt -k key -o piped");
    place.run("sh", ["-c", &shell], b"").good();
    assert_eq!(mode(&place, "piped"), 0o600);
    // An existing file keeps what its owner gave it.
    set_mode(&place, "sealed", 0o600);
    set_mode(&place, "piped", 0o644);
    place.words("decrypt -k key -i sealed -o piped").good();
    assert_eq!(mode(&place, "piped"), 0o644);
    set_mode(&place, "sealed", 0o640);
    place.words("decrypt -k key -i sealed -o sealed").good();
    assert_eq!(mode(&place, "sealed"), 0o640);
}

#[test]
fn another_group_is_given_no_more_than_everyone() {
    let place = place_with_key();
    place.words("encrypt -k key -i data -o sealed").good();
    set_mode(&place, "sealed", 0o640);
    if std::os::unix::fs::chown(place.path("sealed"), None, Some(12345)).is_err() {
        return millstream_testkit::skip("a file of another group: this user may not give one away");
    }
    place.words("decrypt -k key -i sealed -o new").good();
    assert_eq!(mode(&place, "new"), 0o600);
    set_mode(&place, "sealed", 0o644);
    let shell = format!("umask 022; exec {MILLSTREAM} decrypt -k key -i sealed -o other");
    place.run("sh", ["-c", &shell], b"").good();
    assert_eq!(mode(&place, "other"), 0o644);
}

#[test]
fn one_line_warns_of_what_is_not_authenticated_or_too_weak() {
    let place = place_with_key();
    place.key("short", bytes(8));
    let raw = "--format raw -k key --iv 00112233445566778899aabbccddeeff";
    for (line, words) in [
        ("-a aes -k key", &["the format solaris does not authenticate"][..]),
        ("-a des -k short", &["des is too weak", "does not authenticate"]),
        ("--format openssl --passphrase-file pass", &["the format openssl does not authenticate"]),
        (&format!("-a aes-ctr {raw}"), &["aes-ctr does not authenticate"]),
        ("-a aes-ecb --format raw -k key", &["aes-ecb is too weak"]),
    ] {
        let ended = place.words(&format!("encrypt {line} -i data -o out"));
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
        assert!(ended.err.starts_with("millstream encrypt: warning: "), "{}", ended.err);
        for word in words {
            assert!(ended.err.contains(word), "no '{word}' in: {}", ended.err);
        }
        place.words(&format!("encrypt -q {line} -i data -o out")).good();
        words_of(&place, "encrypt", &format!("{line} -i data -o out")).good();
    }
    place.words("encrypt --format raw -a aes-gcm -k key --iv 00112233445566778899aabb -i data -o out").good();
    place.words("decrypt --format raw -a aes-gcm -k key --iv 00112233445566778899aabb -i out").good();
}

#[test]
fn one_line_warns_of_a_mac_that_is_too_weak() {
    let place = place_with_key();
    place.key("short", bytes(8));
    for name in ["des_mac", "hmac-md5", "sha1_hmac"] {
        let ended = place.words(&format!("mac -a {name} -k short data"));
        let warning = format!("millstream mac: warning: {name} is too weak for new data; sha256_hmac ");
        assert_eq!((ended.code, ended.err.lines().count()), (Some(0), 1), "{}", ended.err);
        assert!(ended.err.starts_with(&warning), "{}", ended.err);
        let code = place.words(&format!("mac -q -a {name} -k short data")).good();
        assert_eq!(code, ended.out);
        assert_eq!(words_of(&place, "mac", &format!("-a {name} -k short data")).good(), code);
    }
    place.words("mac -a sha256_hmac -k key data").good();
    place.words("mac -a aes_cmac -k key data").good();
}

#[test]
fn a_key_file_that_holds_no_random_key_is_told_from_one() {
    let place = place_with_key();
    let hex = common::hex(&bytes(32));
    place.key("hex", format!("{hex}\n"));
    place.key("half", &hex[..32]);
    place.key("text", "correct horse battery staple 123");
    place.key("zero", [0; 32]);
    let encrypt = |key: &str| place.words(&format!("encrypt -k {key} -i data -o out"));
    encrypt("hex").bad(1, &["hex: ", "65 bytes", "32 bytes", "hexadecimal", "xxd -r -p"]);
    place.words("encrypt --format raw -a aes-gcm -k hex --iv 00 -i data").bad(1, &["hexadecimal"]);
    place.words("mac -a aes_cmac -k hex data").bad(1, &["hexadecimal"]);
    encrypt("zero").bad(1, &["zero: every byte is zero"]);
    assert!(!exists(&place.path("out")));
    for (key, word) in [("half", "hexadecimal"), ("text", "--passphrase-file")] {
        let ended = encrypt(key);
        assert!(
            ended.code == Some(0) && ended.err.starts_with("millstream encrypt: warning: "),
            "{}",
            ended.err
        );
        assert!(ended.err.contains(word) && ended.err.lines().count() == 1, "{}", ended.err);
        place.words(&format!("encrypt -q -k {key} -i data -o out")).good();
        // A weak key must not keep anybody from decrypting.
        assert_eq!(place.words(&format!("decrypt -k {key} -i out")).good(), b"data");
    }
    words_of(&place, "encrypt", "-a aes -k zero -i data -o out").good();
}

/// Ctrl-Z gives the shell a terminal with echo, and back in the foreground the passphrase is hidden again.
#[test]
fn a_prompt_that_is_stopped_gives_the_echo_back() {
    let place = place_with_key();
    let shell = format!(
        "exec sh -mc '{MILLSTREAM} encrypt -i data -o sealed; stty -a; echo stopped; read go; fg; echo code $?; stty -a; echo end'"
    );
    let mut terminal = Terminal::new(&place, &shell);
    terminal.see("Enter passphrase: ");
    terminal.type_in("half of it\x1a");
    let between = terminal.see("stopped");
    assert!(between.contains(" echo ") && !between.contains("-echo "), "{between}");
    assert!(!exists(&place.path("sealed")));
    terminal.type_in("go\n");
    terminal.see("Enter passphrase: ");
    terminal.type_in("tell nobody\n");
    let between = terminal.see("Re-enter passphrase: ");
    assert!(!between.contains("tell nobody"), "{between}");
    terminal.type_in("tell nobody\n");
    terminal.see("code 0");
    let between = terminal.see("end");
    assert!(between.contains(" echo ") && !between.contains("-echo "), "{between}");
    assert_eq!(terminal.end().0, Some(0));
    place.key("pass", "tell nobody\n");
    assert_eq!(place.words("decrypt --passphrase-file pass -i sealed").good(), b"data");
}
