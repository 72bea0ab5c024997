//! The memory of a running program, searched for secrets.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::{OpenSsl, Side};

/// Bytes of a run that is searched for. A secret that is found has such a run, however it is aligned, if it is in memory in a piece
/// of at least twice this length.
const RUN: usize = 16;
/// Bytes between the beginnings of two runs.
const STEP: usize = 8;

/// The bytes of an expanded key of ML-DSA, and those of s1 and s2 in it, for each of its sets.
const ML_DSA: [(usize, usize); 3] = [(2560, 8 * 96), (4032, 11 * 128), (4896, 15 * 96)];

/// Secrets to search for.
#[derive(Default)]
pub struct Secrets {
    /// By the first bytes of a run: the rest of it, and the name of the secret.
    runs: HashMap<[u8; STEP], Vec<([u8; RUN - STEP], String)>>,
    /// For the first two bytes of a run, true: most of memory is passed over with this alone.
    begins: Vec<bool>,
}

impl Secrets {
    /// Returns the private numbers in a key's file, in both byte orders. Of ML-DSA they are the seed, and of the expanded key what makes
    /// nonces and the short vectors, s1 and s2.
    ///
    /// # Panics
    /// When OpenSSL tells of none.
    #[track_caller]
    pub fn of_key(side: &Side, key: &Path) -> Secrets {
        let text = OpenSsl::system().text(side, &format!("pkey -noout -text -in {}", key.display()));
        let mut secrets = Secrets { runs: HashMap::new(), begins: vec![false; 1 << 16] };
        let mut found = 0;
        for (name, digits) in sections(&text) {
            let is_private = name.starts_with("priv")
                || name == "seed"
                || name.starts_with("prime")
                || name.starts_with("exponent")
                || name.starts_with("coefficient");
            if !is_private {
                continue;
            }
            let mut number = match ML_DSA.iter().find(|(len, _)| *len == digits.len()) {
                // The public seed comes before, and the hash of the public key between: FIPS 204 §7.2, algorithm 24.
                Some((_, short)) => {
                    secrets.add(&format!("{name}, for nonces"), &digits[32..64]);
                    digits[128..128 + short].to_vec()
                }
                None => digits,
            };
            while number.first() == Some(&0) {
                number.remove(0);
            }
            secrets.add(&name, &number);
            number.reverse();
            secrets.add(&format!("{name} backwards"), &number);
            found += 1;
        }
        assert!(found > 0, "no private number in {text}");
        secrets
    }

    /// Returns the lines of a key's file.
    #[track_caller]
    pub fn of_text(key: &Path) -> Secrets {
        let text = std::fs::read_to_string(key).unwrap_or_else(|e| panic!("{}: {e}", key.display()));
        let mut secrets = Secrets { runs: HashMap::new(), begins: vec![false; 1 << 16] };
        for line in text.lines().filter(|line| !line.starts_with("-----")) {
            secrets.add("a line of the file", line.as_bytes());
        }
        secrets
    }

    fn add(&mut self, name: &str, secret: &[u8]) {
        for at in (0..=secret.len().saturating_sub(RUN)).step_by(STEP) {
            let Some(run) = secret.get(at..at + RUN) else { return };
            let first: [u8; STEP] = run[..STEP].try_into().expect("so many bytes");
            let rest = run[STEP..].try_into().expect("the others");
            self.begins[usize::from(u16::from_le_bytes([first[0], first[1]]))] = true;
            self.runs.entry(first).or_default().push((rest, format!("{name}, byte {at}")));
        }
    }

    /// Searches the readable memory of a process. Returns what is there: the secret, and the address and the region.
    ///
    /// # Panics
    /// When the process can't be looked at.
    #[track_caller]
    pub fn found_in(&self, pid: u32) -> Vec<String> {
        let open = |name: &str| {
            let path = format!("/proc/{pid}/{name}");
            File::open(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
        };
        let memory = open("mem");
        let maps = std::io::read_to_string(open("maps")).expect("it is readable");
        let (mut found, mut searched) = (Vec::new(), 0);
        for region in maps.lines() {
            let (range, rest) = region.split_once(' ').expect("a range comes first");
            let is_device = rest.contains("[vvar") || rest.contains("[vsyscall]");
            if !rest.starts_with('r') || is_device {
                continue;
            }
            let (begin, end) = range.split_once('-').expect("it has two ends");
            let address = |text| u64::from_str_radix(text, 16).expect("an address");
            let (begin, end) = (address(begin), address(end));
            let mut bytes = vec![0; usize::try_from(end - begin).expect("it is mapped")];
            // What is not backed, as the end of a file, is read as far as it goes.
            let mut read = 0;
            while read < bytes.len() {
                match memory.read_at(&mut bytes[read..], begin + read as u64) {
                    Ok(more @ 1..) => read += more,
                    _ => break,
                }
            }
            searched += read;
            self.search(&bytes[..read], begin, region, &mut found);
        }
        assert!(searched > 1 << 20, "only {searched} bytes of process {pid} could be read");
        found
    }

    fn search(&self, bytes: &[u8], begin: u64, region: &str, found: &mut Vec<String>) {
        // Tests are not optimised, so a loop that calls nothing is several times as fast as one over windows.
        let begins = &self.begins[..];
        let mut next = 0;
        while next + RUN <= bytes.len() {
            let at = next;
            next += 1;
            if !begins[bytes[at] as usize | (bytes[at + 1] as usize) << 8] {
                continue;
            }
            let run = &bytes[at..at + RUN];
            let Some(rests) = self.runs.get(&run[..STEP]) else { continue };
            let rests = rests.iter().filter(|(rest, _)| run[STEP..] == *rest);
            found.extend(rests.map(|(_, name)| format!("{name}: {:#x} in {region}", begin + at as u64)));
        }
    }
}

/// Returns the names and numbers of OpenSSL's description of a key.
fn sections(text: &str) -> Vec<(String, Vec<u8>)> {
    let mut sections: Vec<(String, Vec<u8>)> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_suffix(':').filter(|name| !name.starts_with(' ')) {
            sections.push((name.to_owned(), Vec::new()));
        } else if let Some((_, digits)) = sections.last_mut().filter(|_| line.starts_with(' ')) {
            let octets = line.trim().split(':').filter(|octet| !octet.is_empty());
            digits.extend(octets.map(|octet| u8::from_str_radix(octet, 16).expect("two digits")));
        }
    }
    sections
}
