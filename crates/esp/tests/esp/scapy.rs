//! Packets both ways with scapy's IPsec layer, which stands on Python's cryptography.

use std::io::Write;
use std::process::{Command, Stdio};

use millstream_testkit::Random;

use crate::peers::{described, inner, into, open, out, seal, suites};

/// Opens what it gets and seals it again: each line has a suite, and each packet a line.
const PEER: &str = include_str!("peer.py");

/// Debian's Python, which has Debian's scapy.
const PYTHON: &str = "/usr/bin/python3";

#[test]
fn scapy_opens_what_is_sealed_and_the_other_way_round() {
    let has_scapy = Command::new(PYTHON).args(["-c", "import scapy.layers.ipsec"]).output();
    if !has_scapy.is_ok_and(|ended| ended.status.success()) {
        println!("SKIPPED scapy_opens_what_is_sealed_and_the_other_way_round: this needs python3-scapy");
        return;
    }
    let mut random = Random::new(10);
    let mut input = String::new();
    let mut expected = Vec::new();
    for suite in suites() {
        for more in ["", "flag esn"] {
            // An HMAC of scapy covers no upper half of a number.
            if suite.line.starts_with("enc") && !more.is_empty() {
                continue;
            }
            // Nor does it open what has a shorter tag than 16 bytes; what it seals is cut here.
            let cut = suite
                .name
                .starts_with("gcm")
                .then(|| 16 - suite.name.rsplit('-').next().unwrap().parse::<usize>().unwrap());
            let cut = cut.unwrap_or(0);
            let text = described(&suite.line, more);
            let first = if more.is_empty() { 1 } else { (5 << 32) + 1 };
            let sealing = out(&text, first);
            let packets: Vec<_> = (30..75).chain([1300]).map(|len| inner(&mut random, len)).collect();
            let sealed = seal(&sealing, &packets);
            input += &format!("sa {} {}\n", first >> 32, suite.line.replace('\n', " "));
            for (i, packet) in sealed.iter().enumerate().filter(|_| cut == 0) {
                input += &format!("open {} {}\n", first + i as u64, hex(packet));
                expected.push((suite.name, None, packets[i].clone(), 0));
            }
            let opening = into(&text, first - 1);
            for (i, packet) in packets.iter().enumerate() {
                input += &format!("seal {} {}\n", first + i as u64, hex(packet));
                expected.push((suite.name, Some(opening.clone()), packet.clone(), cut));
            }
        }
    }
    let mut peer =
        Command::new(PYTHON).args(["-c", PEER]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = peer.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()).unwrap());
    let ended = peer.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(ended.status.success());
    let output = String::from_utf8(ended.stdout).unwrap();
    assert_eq!(output.lines().count(), expected.len());
    // 20 suites and sorts of numbers, each with 46 packets both ways, and 4 with cut tags one way.
    assert_eq!(expected.len(), 20 * 92 + 4 * 46);
    for (line, (name, opening, packet, cut)) in output.lines().zip(expected) {
        let mut found = bytes(line);
        found.truncate(found.len() - cut);
        match opening {
            None => assert_eq!(found, packet, "{name}: scapy opened something else"),
            Some(opening) => {
                assert_eq!(open(&opening, &[found])[0].as_ref(), Ok(&packet), "{name}: what scapy sealed");
            }
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digit).collect()
}
