//! The kernel's messages, compared with the text that they stand for: `ip xfrm` makes both.

use std::fs;
use std::process::{Command, Stdio};

use millstream_esp::{Description, KernelMessage, Parsed, kernel_messages, parse};
use millstream_testkit::Random;

/// Keeps what `ip` sends.
const SENT: &str = include_str!("sent.c");

const GCM: &str = "aead rfc4106(gcm(aes)) KEY20 128";

/// Associations that are there, as `ip xfrm state add` takes them.
const STATES: [&str; 19] = [
    "GCM replay-window 32",
    "GCM replay-window 128 flag esn",
    "aead rfc4106(gcm(aes)) KEY36 64 replay-window 0",
    "aead rfc4106(gcm(aes)) KEY28 96 replay-window 64",
    "aead rfc7539esp(chacha20,poly1305) KEY36 128 replay-window 4096 flag esn",
    "enc cbc(aes) KEY16 auth-trunc hmac(sha256) KEY32 128 replay-window 32",
    "enc cbc(aes) KEY32 auth-trunc hmac(sha512) KEY64 256 replay-window 32",
    "enc cbc(aes) KEY24 auth-trunc hmac(sha1) KEY20 96 replay-window 32",
    "enc rfc3686(ctr(aes)) KEY20 auth-trunc hmac(sha384) KEY48 192 replay-window 32",
    "enc cbc(des3_ede) KEY24 auth hmac(sha1) KEY20 replay-window 32 limit byte-hard 34359738368",
    "GCM replay-window 32 encap espinudp 4500 4501 0.0.0.0",
    "GCM replay-window 32 reqid 17 flag noecn decap-dscp nopmtudisc af-unspec extra-flag dont-encap-dscp",
    "GCM replay-window 32 sel src 10.1.0.0/16 dst 10.2.3.4/32",
    "GCM replay-window 32 sel src fd00:1::/64 dst fd00:2::/64 proto udp",
    "GCM replay-window 32 sel src 10.1.0.0/16 dst 10.2.0.0/16 proto 47",
    "GCM replay-window 32 limit byte-soft 10 limit byte-hard 20 limit packet-soft 30 limit packet-hard 40",
    "GCM replay-window 32 limit time-soft 50 limit time-hard 60",
    "GCM replay-window 32 replay-seq 0x7 replay-oseq 0x9",
    "GCM replay-window 256 flag esn replay-seq 0x7 replay-oseq 0x9 replay-seq-hi 0x1 replay-oseq-hi 0x2",
];

/// Associations that are not, and a word of what is said about them.
const REFUSED: [(&str, &str); 15] = [
    ("GCM mark 7 mask 0xff", "mark"),
    ("GCM if_id 7", "if_id"),
    ("GCM output-mark 7", "output mark"),
    ("GCM mode transport", "mode tunnel"),
    ("GCM mode beet", "mode tunnel"),
    ("GCM flag icmp", "icmp"),
    ("GCM flag wildrecv", "wildrecv"),
    ("GCM extra-flag oseq-may-wrap", "oseq-may-wrap"),
    ("GCM limit time-use-hard 60", "first use"),
    ("GCM encap espintcp 4500 4501 0.0.0.0", "espintcp"),
    ("GCM sel src 10.1.0.0/16 dst 10.2.0.0/16 proto udp dport 53", "dport"),
    ("aead rfc4543(gcm(aes)) KEY20 128", "rfc4543(gcm(aes))"),
    ("enc cbc(aes) KEY16 auth-trunc hmac(sha256) KEY32 96", "128 bits"),
    ("enc cbc(aes) KEY16 auth-trunc hmac(md5) KEY16 96", "hmac(md5)"),
    ("enc cbc(camellia) KEY16 auth-trunc hmac(sha256) KEY32 128", "cbc(camellia)"),
];

/// Policies that are there.
const POLICIES: [&str; 6] = [
    "src 10.1.0.0/16 dst 10.2.0.0/16 dir out priority 100 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel",
    "src 10.2.0.0/16 dst 10.1.0.0/16 dir in tmpl src 192.0.2.2 dst 192.0.2.1 proto esp spi 0xc0de0001 mode tunnel",
    "src 10.2.0.0/16 dst 10.1.0.0/16 dir fwd tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 1 mode tunnel",
    "src 0.0.0.0/0 dst 10.2.0.0/16 proto tcp dir out tmpl src 0.0.0.0 dst 192.0.2.2 proto esp mode tunnel",
    "src fd00:1::/64 dst fd00:2::/64 dir out tmpl src 2001:db8::1 dst 2001:db8::2 proto esp reqid 4 mode tunnel",
    "src 10.1.0.0/16 dst 10.3.0.0/16 dir out priority 5 action block",
];

/// Policies that are not, and a word of what is said about them.
const NO_POLICIES: [(&str, &str); 5] = [
    ("src 10.1.0.0/16 dst 10.2.0.0/16 dir out", "in the clear"),
    ("src 10.1.0.0/16 dst 10.2.0.0/16 dir out mark 7 action block", "mark"),
    ("src 10.1.0.0/16 dst 10.2.0.0/16 dir out ptype sub action block", "sub"),
    (
        "src 10.1.0.0/16 dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp mode transport",
        "mode",
    ),
    (
        "src 10.1.0.0/16 dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto ah mode tunnel",
        "templates are of esp",
    ),
];

/// Writes keys of the lengths that an association names.
fn with_keys(text: &str) -> String {
    let mut random = Random::new(22);
    let mut line = text.replace("GCM", GCM);
    for len in [64, 48, 36, 32, 28, 24, 20, 16] {
        let name = format!("KEY{len}");
        while line.contains(&name) {
            let key: String = random.bytes(len).iter().map(|byte| format!("{byte:02x}")).collect();
            line = line.replacen(&name, &format!("0x{key}"), 1);
        }
    }
    line
}

fn state(text: &str) -> String {
    let mode = if text.contains("mode ") { "" } else { "mode tunnel" };
    format!("xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0xc0de0001 {mode} {}", with_keys(text))
}

fn policy(text: &str) -> String {
    format!("xfrm policy add {text}")
}

/// Returns what `ip` sends for these commands: a datagram for each. None where there is no `ip` or no compiler.
fn sent(commands: &[String]) -> Option<Vec<Vec<u8>>> {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("sent.c"), SENT).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"]).arg(path("sent.so")).arg(path("sent.c"));
    if !cc.status().is_ok_and(|ended| ended.success()) {
        return None;
    }
    let mut messages = Vec::new();
    for command in commands {
        let mut ip = Command::new("ip");
        ip.args(command.split_whitespace()).stdin(Stdio::null());
        ip.env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin");
        ip.env("LD_PRELOAD", path("sent.so")).env("SENT", path("sent"));
        let said = ip.output().ok()?;
        let said = String::from_utf8_lossy(&said.stderr).into_owned();
        messages.push(fs::read(path("sent")).unwrap_or_else(|_| panic!("{command}: {said}")));
        fs::remove_file(path("sent")).unwrap();
    }
    Some(messages)
}

fn only(datagram: &[u8]) -> Result<KernelMessage, String> {
    let mut all = kernel_messages(datagram);
    let first = all.next().expect("a message").map_err(|error| error.to_string());
    assert!(all.next().is_none());
    first
}

fn same_numbers(one: &Description, other: &Description) -> bool {
    let of = |state: &Description| (state.last_sent, state.last_accepted);
    let keys = |state: &Description| {
        let keys = &state.keys;
        (keys.cipher.to_vec(), keys.salt.to_vec(), keys.auth.to_vec())
    };
    one.is_alike(other) && of(one) == of(other) && keys(one) == keys(other)
}

/// Reads the real messages of `ip xfrm`, and finds in them what the text says.
#[test]
fn messages_say_what_the_text_says() {
    let lines: Vec<String> = STATES.iter().map(|text| state(text)).collect();
    let policies: Vec<String> = POLICIES.iter().map(|text| policy(text)).collect();
    let Some(messages) = sent(&[lines.clone(), policies.clone()].concat()) else {
        println!("SKIPPED messages_say_what_the_text_says: this needs ip (iproute2) and cc");
        return;
    };
    let parsed = |line: &String| -> Parsed { parse(line).unwrap() };
    for (line, message) in lines.iter().zip(&messages) {
        let expected = parsed(line).states.remove(0);
        match only(message) {
            Ok(KernelMessage::State(found)) => {
                assert!(same_numbers(&found, &expected), "{line}\n{found:#?}\n{expected:#?}");
            }
            other => panic!("{line}: {other:?}"),
        }
    }
    for (line, message) in policies.iter().zip(&messages[lines.len()..]) {
        let expected = parsed(line).policies.remove(0);
        match only(message) {
            Ok(KernelMessage::Policy { policy, forwarded }) => {
                assert_eq!((policy, forwarded), (expected, line.contains("dir fwd")), "{line}");
            }
            other => panic!("{line}: {other:?}"),
        }
    }
    every_change_is_read_or_refused(&messages);
}

/// Cuts and changes messages, which has to end in a message or in an error: a changed one may mean something else, and no key is ever in what is said.
fn every_change_is_read_or_refused(messages: &[Vec<u8>]) {
    let mut random = Random::new(4);
    for message in messages {
        for len in 0..message.len() {
            assert!(kernel_messages(&message[..len]).all(|read| read.is_err()), "{len}");
            // The same with a length that is true.
            let mut cut = message[..len].to_vec();
            if len >= 16 {
                cut[..4].copy_from_slice(&(len as u32).to_ne_bytes());
            }
            kernel_messages(&cut).for_each(drop);
        }
        for _ in 0..500 {
            let mut changed = message.clone();
            for _ in 0..random.below(4) + 1 {
                let at = random.below(changed.len());
                changed[at] = random.bytes(1)[0];
            }
            for read in kernel_messages(&changed) {
                match read {
                    Ok(KernelMessage::State(state)) => assert!(state.spi >= 256 && state.window <= 4096),
                    Ok(_) => {}
                    Err(error) => assert!(!error.to_string().is_empty()),
                }
            }
        }
    }
}

/// Whatever would be protected in another way than here is refused, by its name.
#[test]
fn what_is_not_there_is_refused_by_its_name() {
    let mut commands: Vec<String> = REFUSED.iter().map(|(text, _)| state(text)).collect();
    commands.extend(NO_POLICIES.iter().map(|(text, _)| policy(text)));
    let Some(messages) = sent(&commands) else {
        println!("SKIPPED what_is_not_there_is_refused_by_its_name: this needs ip (iproute2) and cc");
        return;
    };
    let words = REFUSED.iter().chain(&NO_POLICIES).map(|(_, word)| word);
    for ((command, message), word) in commands.iter().zip(&messages).zip(words) {
        let error = only(message).map(|read| panic!("{command}: {read:?}")).unwrap_err();
        assert!(error.contains(word), "{command}: {error}");
        // No error shows a key.
        assert!(!error.contains("0x") || error.starts_with("association 0xc0de0001: "), "{error}");
    }
}
