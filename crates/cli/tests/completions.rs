//! Completions, made by the shells themselves.

mod common;

use std::path::Path;
use std::process::Command;

use common::{MILLSTREAM, Place, Service, Terminal};
use millstream::isolated::Attach;
use millstream_testkit::skip;

#[test]
fn completions_for_each_shell() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = place.words(&format!("completions {shell}")).text();
        assert!(text.contains("millstream") && text.contains("decrypt"), "{shell}");
    }
    let script = place.words("completions bash").good();
    place.run("bash", ["-n"], &script).good();
}

/// Completes a command line as bash does when Tab is pressed behind it.
fn completed(place: &Place, script: &str, line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split(' ').collect();
    let (name, word) = (words[0], words[words.len() - 1]);
    let program = format!(
        "source {script}; COMP_WORDS=({line}{}); COMP_CWORD={}; _{name} {name} '{word}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        if word.is_empty() { "''" } else { "" },
        words.len() - 1,
        words[words.len() - 2],
    );
    let path = std::env::var("PATH").unwrap_or_default();
    let program = format!("PATH={}:{path}; {program}", Path::new(MILLSTREAM).parent().unwrap().display());
    place
        .run("bash", ["-c", &program], b"")
        .text()
        .lines()
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn completions_know_algorithms_and_features() {
    let place = Place::new();
    place.write("millstream.bash", place.words("completions bash").good());
    for (line, expected) in [
        ("millstream digest -a sha5", &["sha512", "sha512_256"][..]),
        ("millstream mac --algorithm aes", &["aes_cmac"]),
        ("millstream encrypt -a chacha", &["chacha20-poly1305"]),
        ("millstream speed hmac-sha2", &["hmac-sha224", "hmac-sha256"]),
        ("millstream run --without cryp", &["crypto"]),
        ("millstream run --without avx512f,cryp", &["avx512f,crypto"]),
        ("millstream compare --with-only sse2,aes,sha", &["sse2,aes,sha", "sse2,aes,sha512"]),
        ("millstream speed --ways direct,ba", &["direct,batch"]),
        ("millstream speed --ways direct,nothing", &[]),
        ("millstream trace --with-only cryp", &["crypto"]),
        ("millstream sparc --cpu ultra", &["ultrasparc2"]),
        ("millstream keygen tin", &["tink"]),
    ] {
        assert_eq!(completed(&place, "millstream.bash", line), expected, "{line}");
    }
    for (name, line, expected) in [
        ("digest", "digest -a crc", &["crc32", "crc32c"][..]),
        ("mac", "mac -a md5", &["md5_hmac"]),
        ("encrypt", "encrypt -a arc", &["arcfour"]),
        ("decrypt", "decrypt --format so", &["solaris"]),
    ] {
        place.write(name, place.words(&format!("completions bash {name}")).good());
        assert_eq!(completed(&place, name, line), expected, "{line}");
        for shell in ["zsh", "fish"] {
            let text = place.words(&format!("completions {shell} {name}")).text();
            assert!(text.contains(name) && text.contains("algorithm"), "{shell}: {text}");
        }
    }
    for shell in ["zsh", "fish"] {
        let text = place.words(&format!("completions {shell}")).text();
        for name in ["sha512_256", "sha256_hmac", "aes-gcm-hkdf", "hmac-sha384", "crypto", "ultrasparc2"] {
            assert!(text.contains(name), "no {name} for {shell}");
        }
        place.write(&format!("millstream.{shell}"), text);
    }
}

/// Returns true if there is such a shell, and prints what is left out otherwise.
fn has(shell: &str) -> bool {
    let has = Command::new(shell).arg("--version").output().is_ok();
    if !has {
        skip(&format!("completions as {shell} makes them: there is no {shell}"));
    }
    has
}

/// Puts the script of a shell, and the command by its name, into a directory.
fn place_with_script(shell: &str) -> Place {
    let place = Place::new();
    place.write(&format!("millstream.{shell}"), place.words(&format!("completions {shell}")).good());
    std::os::unix::fs::symlink(MILLSTREAM, place.path("millstream")).unwrap();
    place
}

/// Runs a program of a shell in a place, with the command in the path. Returns the lines that it prints.
fn lines(place: &Place, shell: &str, program: &[&str]) -> Vec<String> {
    let path = format!("{}:{}", place.path("").display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new(shell)
        .args(program)
        .current_dir(place.path(""))
        .env("PATH", path)
        .env("MILLSTREAM_SOCKET", place.path("s"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    text.lines().map(str::to_owned).filter(|line| !line.is_empty()).collect()
}

fn in_fish(place: &Place, line: &str) -> Vec<String> {
    let program = format!("source millstream.fish; complete -C '{line}'");
    lines(place, "fish", &["--no-config", "-c", &program])
}

/// Completes a command line in a zsh at a terminal of its own, and returns the line as it is then. What is typed may be echoed, so it has
/// neither of the signs between which the line is printed.
fn in_zsh(place: &Place, line: &str) -> Vec<String> {
    let program = format!(
        r#"
zmodload zsh/zpty
zpty -b z zsh -f -i
zpty -w z 'PS1=; stty -echo; unsetopt zle_bracketed_paste; autoload -Uz compinit && compinit -D -u; source ./millstream.zsh'
zpty -w z 'show() {{ printf "\074%s\076\n" "$BUFFER"; BUFFER=; zle accept-line }}; zle -N show; bindkey "^X" show; bindkey "^I" complete-word'
zpty -w z 'print ready''-now'
zpty -r -m z text '*ready-now*'
zpty -w -n z $'{line}\t\x18'
zpty -r -m z text $'*<*>*'
print -r -- "$text"
"#
    );
    let shown = lines(place, "zsh", &["-f", "-c", &program]).join("\n");
    let found = shown.rsplit_once('<').and_then(|(_, rest)| rest.split_once('>'));
    vec![found.map_or(shown.clone(), |(line, _)| line.to_owned())]
}

#[test]
fn a_bash_at_a_terminal_completes_lists_in_both_spellings() {
    let place = place_with_script("bash");
    let shell = "PS1='> ' PATH=.:$PATH TERM=dumb exec bash --norc --noprofile -i";
    let mut terminal = Terminal::new(&place, shell);
    terminal.see("> ");
    terminal.type_in("source millstream.bash; echo rea''dy\n");
    terminal.see("ready");
    for (typed, rest) in [
        ("millstream run --without avx512f,cryp", "to "),
        ("millstream run --without=avx512f,cryp", "to "),
        ("millstream run --without=cryp", "to "),
        ("millstream digest --algorithm=sha512_", "256 "),
        ("millstream speed --ways direct,ba", "tch "),
    ] {
        terminal.type_in(&format!("{typed}\t"));
        terminal.see(&format!("{typed}{rest}"));
        // Another line begins.
        terminal.type_in("\x15");
    }
    terminal.type_in("exit\n");
    terminal.end();
}

#[test]
fn other_shells_complete_names_and_lists() {
    if has("fish") {
        let place = place_with_script("fish");
        for (line, expected) in [
            ("millstream digest -a sha5", &["sha512", "sha512_256"][..]),
            ("millstream speed hmac-sha38", &["hmac-sha384"]),
            ("millstream run --without cryp", &["crypto"]),
            ("millstream run --without avx512f,cryp", &["avx512f,crypto"]),
            ("millstream speed --ways direct,ba", &["direct,batch"]),
        ] {
            assert_eq!(in_fish(&place, line), expected, "{line}");
        }
    }
    if has("zsh") {
        let place = place_with_script("zsh");
        place.run("zsh", ["-n", "millstream.zsh"], b"").good();
        for (line, expected) in [
            ("millstream digest -a sha512_", "millstream digest -a sha512_256 "),
            ("millstream run --without=cryp", "millstream run --without=crypto"),
            ("millstream run --without avx512f,cryp", "millstream run --without avx512f,crypto"),
            ("millstream speed --ways direct,ba", "millstream speed --ways direct,batch"),
        ] {
            let shown = in_zsh(&place, line);
            assert!(shown[0].starts_with(expected.trim_end()), "{line}: {shown:?}");
        }
    }
}

#[test]
fn grants_and_workers_are_those_of_the_running_service() {
    let service = Service::start("-n 2");
    let socket = service.place.path("s");
    let attach = Attach { socket: Some(socket.clone()), name: "a test".into(), ..Attach::default() };
    let (_first, _second) = (attach.attach().unwrap(), attach.attach().unwrap());
    let ids: Vec<String> = grants(&service).iter().map(u64::to_string).collect();
    assert_eq!(ids.len(), 2);
    let place = place_with_script("bash");
    let path = socket.display();
    assert_eq!(completed(&place, "millstream.bash", &format!("millstream revoke --socket {path} ")), ids);
    let line = format!("millstream revoke --socket {path} {} ", ids[0]);
    assert_eq!(completed(&place, "millstream.bash", &line), ids[1..]);
    let line = format!("millstream move --socket {path} {} ", ids[0]);
    assert_eq!(completed(&place, "millstream.bash", &line), ["0", "1"]);
    // Without a service there is nothing, and nothing is said.
    let began = std::time::Instant::now();
    assert!(completed(&place, "millstream.bash", "millstream revoke --socket nowhere ").is_empty());
    assert!(began.elapsed().as_secs() < 20);
    if has("fish") {
        let place = place_with_script("fish");
        let found = in_fish(&place, &format!("millstream revoke --socket {path} "));
        let expected = ids.iter().map(|id| format!("{id}\ta test, process {}", std::process::id()));
        assert_eq!(found, expected.collect::<Vec<_>>());
        assert_eq!(in_fish(&place, "millstream revoke "), [""; 0]);
    }
    if has("zsh") {
        let place = place_with_script("zsh");
        let line = format!("millstream revoke --socket {path} {} ", ids[0]);
        assert_eq!(in_zsh(&place, &line), [format!("{line}{} ", ids[1])]);
    }
}

fn grants(service: &Service) -> Vec<u64> {
    let mut asked = millstream::isolated::Service::connect(Some(&service.place.path("s"))).unwrap();
    let mut ids: Vec<u64> = asked.status().unwrap().grants.iter().map(|grant| grant.grant.id).collect();
    ids.sort_unstable();
    ids
}
