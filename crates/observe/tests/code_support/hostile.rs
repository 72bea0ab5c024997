//! Broken files: whatever their bytes are, reading them ends soon and without a panic.

use std::time::{Duration, Instant};

use millstream_observe::code::{Image, ImageError};
use millstream_observe::memory::Memory;

use crate::support::{Directory, has};

/// A small random generator with the same numbers in each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// A file in memory, mapped as its headers say.
struct Mapped<'a>(&'a [u8]);

impl Memory for Mapped<'_> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        let start = usize::try_from(address).unwrap_or(usize::MAX);
        let found = start.checked_add(buffer.len()).and_then(|end| self.0.get(start..end));
        buffer.copy_from_slice(found.ok_or(std::io::ErrorKind::InvalidInput)?);
        Ok(())
    }
}

/// Returns programs in C, assembly language and Go.
fn programs() -> Vec<Vec<u8>> {
    let directory = Directory::new("hostile");
    let at = |name: &str| directory.path().join(name);
    std::fs::write(at("a.s"), ".globl f\n.type f,@function\nf:.cfi_startproc\naesenc %xmm1,%xmm0\njmp *%rax\n1: aesenc %xmm1,%xmm0\nret\n.cfi_endproc\n.size f,.-f\n").unwrap();
    let mut programs = vec![std::fs::read("/bin/true").unwrap()];
    let small = std::process::Command::new("cc")
        .args(["-shared", "-nostdlib", "-o"])
        .arg(at("a.so"))
        .arg(at("a.s"))
        .status();
    if small.is_ok_and(|status| status.success()) {
        programs.push(std::fs::read(at("a.so")).unwrap());
    }
    std::fs::write(at("a.go"), "package main\nfunc main() { println(len(map[string]int{\"a\": 1})) }\n")
        .unwrap();
    if has("go") {
        let mut build = std::process::Command::new("go");
        build.args(["build", "-ldflags=-s -w", "-o", "go", "a.go"]).current_dir(directory.path());
        assert!(build.status().unwrap().success());
        programs.push(std::fs::read(at("go")).unwrap());
    }
    programs
}

/// Changes bytes where that does most: in the headers, in the tables, anywhere.
fn change(bytes: &mut [u8], numbers: &mut Numbers) {
    for _ in 0..=numbers.below(8) {
        let length = bytes.len();
        let at = match numbers.below(4) {
            0 => numbers.below(64),
            1 => 64 + numbers.below(800.min(length - 64)),
            2 => length - 1 - numbers.below(2500.min(length)),
            _ => numbers.below(length),
        };
        match numbers.below(3) {
            0 => bytes[at] ^= 1 << numbers.below(8),
            1 => bytes[at] = numbers.next() as u8,
            _ => {
                let value = [0, u64::MAX, 1 << 63, 0x1000, length as u64, numbers.next()][numbers.below(6)];
                let end = (at + 8).min(length);
                bytes[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
            }
        }
    }
}

#[test]
fn broken_files_are_looked_at_quickly() {
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let (mut whole, mut refused) = (0, 0);
    for original in programs() {
        let rounds = if original.len() > 1 << 20 { 60 } else { 1500 };
        for round in 0..rounds {
            let mut bytes = original.clone();
            change(&mut bytes, &mut numbers);
            if numbers.below(10) == 0 {
                bytes.truncate(numbers.below(bytes.len()));
            }
            let began = Instant::now();
            match Image::of_bytes(&bytes) {
                Ok(_) => whole += 1,
                Err(_) => refused += 1,
            }
            let _ = Image::of_memory(&Mapped(&bytes), 0);
            assert!(began.elapsed() < Duration::from_secs(10), "round {round}");
        }
    }
    println!("{whole} looked at, {refused} refused");
    assert!(whole > 100 && refused > 20);
}

#[test]
fn other_files_are_refused_with_a_reason() {
    assert!(matches!(Image::of_bytes(b"#!/bin/sh\n"), Err(ImageError::Read(_))));
    assert!(matches!(Image::of_bytes(&[0; 100]), Err(ImageError::NotElf)));
    let mut other = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    other[18] = 243;
    assert!(matches!(Image::of_bytes(&other), Err(ImageError::Machine(243))));
}

/// The code is random bytes that a symbol declares as one function. The search ends, and everything proven
/// lies in the function.
#[test]
fn random_code_is_followed_to_an_end() {
    let directory = Directory::new("random");
    let mut numbers = Numbers(88_172_645_463_325_252);
    for round in 0..6 {
        let mut source = String::from(".text\n.globl f\n.type f,@function\nf:\n");
        for _ in 0..4000 {
            // The random bytes contain many jumps, calls and AES instructions.
            let line = match numbers.below(6) {
                0 => ".byte 0x66,0x0f,0x38,0xdc,0xc1".to_owned(),
                1 => format!(".byte 0xeb,{}", numbers.below(256)),
                2 => format!(".byte 0x74,{}", numbers.below(256)),
                3 => format!(".byte 0xe8,{},{},0,0", numbers.below(256), numbers.below(32)),
                _ => format!(".byte {}", numbers.below(256)),
            };
            source += &line;
            source.push('\n');
        }
        source += ".size f,.-f\n";
        let (from, to) = (directory.path().join("a.s"), directory.path().join("a.so"));
        std::fs::write(&from, source).unwrap();
        let done = std::process::Command::new("cc")
            .args(["-shared", "-nostdlib", "-o"])
            .arg(&to)
            .arg(&from)
            .status();
        if !done.is_ok_and(|status| status.success()) {
            println!("SKIPPED no compiler is installed");
            return;
        }
        let image = Image::of_bytes(&std::fs::read(&to).unwrap()).unwrap();
        let function = &image.functions()[0];
        println!("round {round}: {} sites", image.sites().len());
        assert!(image.sites().iter().all(|site| (function.start..function.end).contains(&site.address)));
        assert!(image.unproved().of(millstream_observe::code::Class::Aes) > 0);
    }
}
