//! Prints the first bytes of functions in assembly language that hold instructions of interest, in the format
//! of `src/code/signatures.txt`.
//!
//! `cargo run -p millstream-observe --example signatures -- libcrypto.a libring_core.a >crates/observe/src/code/signatures.txt`
//!
//! The arguments are static libraries, whose relocations mark the bytes that the linker fills in. A name in
//! several libraries appears once for each beginning.

use std::collections::BTreeSet;
use std::error::Error;

use millstream_observe::code::possible;

/// The number of bytes to take of a function.
const LENGTH: usize = 48;
/// The number of them that must be fixed, not filled in by the linker.
const FIXED: usize = 32;
/// The mark of functions that are called through pointers, which builds may omit.
const MARK: [u8; 4] = [0xF3, 0x0F, 0x1E, 0xFA];

fn main() -> Result<(), Box<dyn Error>> {
    let mut lines = BTreeSet::new();
    for path in std::env::args().skip(1) {
        let archive = std::fs::read(&path)?;
        for member in members(&archive) {
            lines.extend(functions(member).unwrap_or_default());
        }
    }
    // The same beginning under another name adds nothing.
    let mut known = BTreeSet::new();
    for (bytes, name) in &lines {
        if known.insert(bytes) {
            println!("{bytes} {name}");
        }
    }
    Ok(())
}

/// Returns the files of an archive. Ref. ar(5).
fn members(archive: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = archive.strip_prefix(b"!<arch>\n").unwrap_or_default();
    std::iter::from_fn(move || {
        let (header, behind) = rest.split_at_checked(60)?;
        let length: usize = std::str::from_utf8(&header[48..58]).ok()?.trim().parse().ok()?;
        let member = behind.get(..length)?;
        rest = behind.get(length.next_multiple_of(2)..).unwrap_or_default();
        Some(member)
    })
}

fn number(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let bytes = bytes.get(at..at + width)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

/// Returns the beginnings and names of an object's functions. Ref. System V ABI, chapter 4.
fn functions(object: &[u8]) -> Option<Vec<(String, String)>> {
    const RELOCATABLE: usize = 1;
    if !object.starts_with(b"\x7FELF") || number(object, 16, 2)? != RELOCATABLE {
        return None;
    }
    let (table, count) = (number(object, 40, 8)?, number(object, 60, 2)?);
    let section = |index: usize| object.get(table + index * 64..table + index * 64 + 64);
    let content = |section: &[u8]| object.get(number(section, 24, 8)?..)?.get(..number(section, 32, 8)?);
    let all: Vec<&[u8]> = (0..count).filter_map(section).collect();
    let of_kind = |kind| all.iter().filter(move |section| number(section, 4, 4) == Some(kind));
    let symbols = of_kind(2).next()?;
    let names = content(all.get(number(symbols, 40, 4)?)?)?;
    let mut found = Vec::new();
    for symbol in content(symbols)?.chunks_exact(24) {
        let (index, start, size) = (number(symbol, 6, 2)?, number(symbol, 8, 8)?, number(symbol, 16, 8)?);
        let Some(code) = all.get(index).and_then(|section| content(section)) else { continue };
        let Some(code) = code.get(start..).filter(|_| symbol[4] & 15 == 2) else { continue };
        let code = if size == 0 { code } else { &code[..size.min(code.len())] };
        let mut is_of_interest = false;
        possible(code, |_, class| is_of_interest |= class.is_proof());
        if !is_of_interest {
            continue;
        }
        let relocations = of_kind(4).filter(|section| number(section, 44, 4) == Some(index));
        let filled: Vec<usize> = relocations
            .filter_map(|section| content(section))
            .flat_map(|entries| entries.chunks_exact(24).filter_map(|entry| number(entry, 0, 8)))
            .collect();
        let skipped = if code.starts_with(&MARK) { MARK.len() } else { 0 };
        let is_filled = |at: usize| filled.iter().any(|place| (*place..place + 4).contains(&(start + at)));
        let bytes: Vec<String> = (skipped..code.len().min(skipped + LENGTH))
            .map(|at| if is_filled(at) { "..".to_owned() } else { format!("{:02x}", code[at]) })
            .collect();
        let fixed = bytes.iter().filter(|byte| *byte != "..").count();
        if fixed >= FIXED && bytes[..4].iter().all(|byte| byte != "..") {
            let end = number(symbol, 0, 4)?;
            let name = names.get(end..)?.split(|byte| *byte == 0).next()?;
            found.push((bytes.concat(), String::from_utf8_lossy(name).into_owned()));
        }
    }
    Some(found)
}
