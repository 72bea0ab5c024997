//! Compares the results for real programs and libraries with those of other tools.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::process::Command;

use iced_x86::{Decoder, DecoderOptions};
use millstream_observe::code::{CarryLess, Class, Function, Image, Site, known};

use crate::support::{Directory, Program, has, image};

/// Returns the first of these files that exists.
fn first_of<'a>(paths: &[&'a str]) -> Option<&'a str> {
    let found = paths.iter().copied().find(|path| Path::new(path).exists());
    if found.is_none() {
        println!("SKIPPED none of {paths:?} is installed");
    }
    found
}

/// Returns the class of a disassembler's mnemonic, without regard to its width.
fn class_of(mnemonic: &str) -> Option<Class> {
    let plain = mnemonic.strip_prefix('v').unwrap_or(mnemonic);
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| plain.starts_with(prefix));
    Some(if starts(&["aes"]) {
        Class::Aes
    } else if starts(&["pclmul"]) {
        Class::Pclmul
    } else if starts(&["sha1", "sha256"]) {
        Class::Sha
    } else if starts(&["gf2p8"]) {
        Class::Gfni
    } else if starts(&["pmadd52"]) {
        Class::Ifma
    } else {
        return None;
    })
}

/// Counts instructions with objdump.
fn counted_by_objdump(path: &Path) -> BTreeMap<Class, u32> {
    let output = Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(path).output().unwrap();
    let mut counts = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let mnemonic = line.split('\t').nth(1).and_then(|text| text.split_whitespace().next());
        if let Some(class) = mnemonic.and_then(class_of) {
            *counts.entry(class).or_default() += 1;
        }
    }
    counts
}

fn counted_here(image: &Image) -> BTreeMap<Class, u32> {
    let mut counts = BTreeMap::new();
    for (class, count) in image.proven().iter().chain(image.unproved().iter()) {
        let class = match class {
            Class::Vaes => Class::Aes,
            Class::Vpclmul => Class::Pclmul,
            class => class,
        };
        *counts.entry(class).or_default() += count;
    }
    let compared = [Class::Aes, Class::Pclmul, Class::Sha, Class::Gfni, Class::Ifma];
    counts.retain(|class, _| compared.contains(class));
    counts
}

#[test]
fn what_is_found_is_what_objdump_counts() {
    if !has("objdump") {
        return;
    }
    let libraries =
        ["libcrypto.so.3", "libgcrypt.so.20", "libnettle.so.8", "libgnutls.so.30", "libfreeblpriv3.so"];
    let mut compared = 0;
    for library in libraries {
        let path = Path::new("/usr/lib/x86_64-linux-gnu").join(library);
        if path.exists() {
            let image = image(&path);
            assert_eq!(counted_here(&image), counted_by_objdump(&path), "{library}");
            // Everything is proven, even where functions have neither symbols nor unwinding entries.
            let unproved = image.unproved().iter().filter(|(class, _)| *class != Class::Padlock).count();
            assert_eq!(unproved, 0, "{library}: {:?}", image.unproved());
            compared += 1;
        }
    }
    println!("{compared} libraries compared");
    if compared == 0 {
        println!("SKIPPED none of {libraries:?} is installed");
    }
}

#[test]
fn libraries_of_checksums_are_told_from_those_of_ciphers() {
    let folder = Path::new("/usr/lib/x86_64-linux-gnu");
    let what = |library: &str| -> Option<Vec<CarryLess>> {
        let path = folder.join(library);
        if !path.exists() {
            println!("SKIPPED {library} is not installed");
            return None;
        }
        let image = image(path);
        let multiply = |class| class == Class::Pclmul || class == Class::Vpclmul;
        let sites = image.sites().iter().filter(|site| site.classes.iter().any(multiply));
        let mut functions: Vec<usize> = sites.map(|site| site.function).collect();
        functions.dedup();
        Some(functions.into_iter().map(|function| image.carry_less(function)).collect())
    };
    for library in ["libdeflate.so.0", "liblzma.so.5"] {
        if let Some(found) = what(library) {
            // Some versions have no such function.
            assert!(found.iter().all(|what| *what == CarryLess::Checksum), "{library}: {found:?}");
        }
    }
    for library in ["libcrypto.so.3", "libgnutls.so.30", "libnettle.so.8"] {
        if let Some(found) = what(library) {
            assert!(found.contains(&CarryLess::Cipher), "{library}: {found:?}");
            assert!(!found.contains(&CarryLess::Checksum), "{library}: {found:?}");
        }
    }
}

#[test]
fn sites_are_instructions_of_their_class_inside_their_function() {
    let Some(path) = first_of(&["/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/lib64/libcrypto.so.3"])
    else {
        return;
    };
    let image = image(path);
    assert!(image.sites().len() > 100);
    let mut total = 0;
    for site in image.sites() {
        let function = &image.functions()[site.function];
        assert!((function.start..function.end).contains(&site.address));
        assert!(!site.classes.is_empty() && !site.bytes().is_empty());
        assert!(site.run as usize >= site.bytes().len());
        total += u64::from(site.instructions);
    }
    assert_eq!(total, image.proven().total());
    assert!(image.sites().windows(2).all(|pair| pair[0].address + u64::from(pair[0].run) <= pair[1].address));
}

const GO: &str = r#"
package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"fmt"
)

func main() {
	block, _ := aes.NewCipher(make([]byte, 16))
	gcm, _ := cipher.NewGCM(block)
	sealed := gcm.Seal(nil, make([]byte, 12), make([]byte, 100), nil)
	fmt.Println(sha256.Sum256(sealed))
}
"#;

#[test]
fn stripped_go_programs_hold_what_others_hold() {
    if !has("go") {
        return;
    }
    let directory = Directory::new("go");
    std::fs::write(directory.path().join("a.go"), GO).unwrap();
    let mut images = Vec::new();
    for (name, options) in [
        ("whole", &[][..]),
        ("stripped", &["-ldflags=-s -w"]),
        ("pie", &["-buildmode=pie", "-ldflags=-s -w"]),
    ] {
        let mut build = Command::new("go");
        build.args(["build", "-o", name]).args(options).arg("a.go").current_dir(directory.path());
        assert!(build.env("CGO_ENABLED", "0").status().unwrap().success());
        images.push(image(directory.path().join(name)));
    }
    let named = |image: &Image| -> BTreeMap<String, u32> {
        let mut named = BTreeMap::new();
        for site in image.sites() {
            *named.entry(image.name(site.function)).or_default() += site.instructions;
        }
        named
    };
    let whole = named(&images[0]);
    // The symbol table adds the ABI's suffix to names of functions in assembly language.
    let plain = |names: BTreeMap<String, u32>| -> BTreeMap<String, u32> {
        names.into_iter().map(|(name, count)| (name.replace(".abi0", ""), count)).collect()
    };
    let whole = plain(whole);
    assert!(whole.contains_key("crypto/internal/fips140/aes/gcm.gcmAesEnc"), "{whole:?}");
    for image in &images {
        assert_eq!(image.unproved().total(), 0);
        assert_eq!(plain(named(image)), whole);
    }
    assert!(whole.keys().any(|name| known::noise(name) == Some(known::Noise::HashTable)));
    // The section's name may be gone too.
    let bytes = std::fs::read(directory.path().join("stripped")).unwrap();
    let nameless = Image::of_bytes(&without_sections(bytes)).unwrap();
    assert_eq!(plain(named(&nameless)), whole);
}

/// Removes the sections from a file's header.
fn without_sections(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes[40..48].fill(0);
    bytes[60..64].fill(0);
    bytes
}

#[test]
fn without_sections_the_unwinding_header_serves() {
    let Some(path) = first_of(&["/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/lib64/libcrypto.so.3"])
    else {
        return;
    };
    let bytes = std::fs::read(path).unwrap();
    let (whole, bare) =
        (Image::of_bytes(&bytes).unwrap(), Image::of_bytes(&without_sections(bytes)).unwrap());
    assert_eq!(whole.sites(), bare.sites());
    let names = |image: &Image| image.functions().iter().filter(|function| function.name.is_some()).count();
    assert_eq!(names(&whole), names(&bare));
    assert_eq!(whole.build_id(), bare.build_id());
    assert!(whole.build_id().is_some());
}

/// Removes all tables of functions from a file. Calls and pointers to the functions remain.
fn without_tables(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = without_sections(bytes.to_vec());
    // PT_GNU_EH_FRAME is removed, and in the list of PT_DYNAMIC the symbols.
    for header in program_headers(&bytes) {
        let (kind, offset, size) =
            (number(&bytes, header) as u32, number(&bytes, header + 8), number(&bytes, header + 32));
        if kind == 0x6474_E550 {
            bytes[header..header + 4].fill(0);
        }
        if kind == 2 {
            for entry in (offset..offset + size).step_by(16).map(|entry| entry as usize) {
                if number(&bytes, entry) == 6 {
                    bytes[entry + 8..entry + 16].fill(0xFF);
                }
            }
        }
    }
    bytes
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn program_headers(bytes: &[u8]) -> impl Iterator<Item = usize> + use<> {
    let (table, count) = (number(bytes, 32) as usize, usize::from(bytes[56]));
    (0..count).map(move |index| table + index * 56)
}

/// Returns the starts of the instructions in an image's runs.
fn instructions(image: &Image, bytes: &[u8]) -> BTreeSet<u64> {
    let at = |address: u64| {
        let mut loaded = program_headers(bytes).filter(|header| number(bytes, *header) as u32 == 1);
        let holds = |header: &usize| {
            let start = number(bytes, header + 16);
            (start..start + number(bytes, header + 32)).contains(&address)
        };
        let header = loaded.find(holds).unwrap();
        (address - number(bytes, header + 16) + number(bytes, header + 8)) as usize
    };
    let mut places = BTreeSet::new();
    for site in image.sites() {
        let code = &bytes[at(site.address)..at(site.address) + site.run as usize];
        let decoder = Decoder::with_ip(64, code, site.address, DecoderOptions::NONE);
        places.extend(decoder.into_iter().map(|instruction| instruction.ip()));
    }
    places
}

/// Pointers and calls alone prove only what tables confirm, and most of it.
#[test]
fn without_any_table_nothing_is_proven_that_is_not_so() {
    let library = |name: &str| format!("/usr/lib/x86_64-linux-gnu/{name}");
    // Node is linked for a fixed place, and has 25 MB of code.
    for file in [library("libcrypto.so.3"), library("libgnutls.so.30"), "/usr/bin/node".into()] {
        let Ok(bytes) = std::fs::read(&file) else {
            println!("SKIPPED {file} is not there");
            continue;
        };
        let whole = Image::of_bytes(&bytes).unwrap();
        let bare = Image::of_bytes(&without_tables(&bytes)).unwrap();
        let known = instructions(&whole, &bytes);
        // If nothing else is unproved, PadLock's instructions are not worth a search.
        let is_wanted = |site: &&Site| site.classes != Class::Padlock.into();
        let mut sites = bare.sites().iter().filter(is_wanted).map(|site| site.address);
        let wrong = sites.find(|site| !known.contains(site));
        assert_eq!(wrong, None, "{file}");
        let (proven, all) = (bare.proven().of(Class::Aes), whole.proven().of(Class::Aes));
        println!("{file}: {proven} of {all} AES instructions proven");
        assert!(u64::from(proven) * 10 > u64::from(all) * 7, "{file}: {proven} of {all}");
    }
}

#[test]
fn known_functions_that_nothing_calls_are_found() {
    let Some(archive) = first_of(&["/usr/lib/x86_64-linux-gnu/libcrypto.a", "/usr/lib64/libcrypto.a"]) else {
        return;
    };
    let directory = Directory::new("signatures");
    let at = |name: &str| directory.path().join(name);
    let ghash = Command::new("ar").args(["p", archive, "libcrypto-lib-ghash-x86_64.o"]).output().unwrap();
    std::fs::write(at("ghash.o"), ghash.stdout).unwrap();
    let start = ".globl _start\n_start: mov $60,%eax\nxor %edi,%edi\nsyscall\n1: jmp 1b\n.comm OPENSSL_ia32cap_P,16,8\n";
    std::fs::write(at("start.s"), start).unwrap();
    for kind in ["-static", "-static-pie"] {
        let mut cc = Command::new("cc");
        cc.args(["-nostdlib", kind, "-o"]).arg(at("whole")).args([at("start.s"), at("ghash.o")]);
        assert!(cc.status().unwrap().success());
        let mut strip = Command::new("strip");
        strip.args(["-s", "-R", ".eh_frame", "-R", ".eh_frame_hdr", "-o"]).args([at("bare"), at("whole")]);
        assert!(strip.status().unwrap().success());
        let (whole, bare) = (image(at("whole")), image(at("bare")));
        let places = |image: &Image| image.sites().iter().map(|site| site.address).collect::<Vec<_>>();
        assert!(!places(&whole).is_empty());
        assert_eq!(places(&bare), places(&whole), "{kind}");
        assert_eq!(bare.unproved().total(), 0, "{kind}");
        // If one byte differs, the function is another one, of which nothing is known.
        let named = |function: &&Function| function.name.as_deref() == Some("gcm_ghash_clmul");
        let function = whole.functions().iter().find(named).unwrap();
        let mut bytes = std::fs::read(at("bare")).unwrap();
        let code = bare.code_in_file().next().unwrap();
        let place = function.start - bare.bias(0, code.start).unwrap().wrapping_neg() + code.start + 20;
        bytes[usize::try_from(place).unwrap()] ^= 1;
        let other = Image::of_bytes(&bytes).unwrap();
        assert!(other.sites().len() < bare.sites().len() && other.unproved().total() > 0, "{kind}");
    }
}

#[test]
fn names_that_are_kept_apart_are_found() {
    if !has("objcopy") {
        return;
    }
    let directory = Directory::new("debug");
    let at = |name: &str| directory.path().join(name);
    let source = "__attribute__((target(\"aes\"))) static __attribute__((noinline)) long long secret(long long x) {\n\
        typedef long long v __attribute__((vector_size(16))); v a = {x, 1};\n\
        return __builtin_ia32_aesenc128(a, a)[0]; }\nint main(int n, char **w) { return (int)secret(n); }\n";
    std::fs::write(at("a.c"), source).unwrap();
    let run = |program: &str, words: &[&str]| {
        let status = Command::new(program).args(words).current_dir(directory.path()).status();
        assert!(status.unwrap().success());
    };
    run("cc", &["-O1", "-Wl,--build-id", "-o", "a", "a.c"]);
    run("objcopy", &["--only-keep-debug", "a", "a.debug"]);
    run("objcopy", &["--strip-all", "a", "stripped"]);
    let bare = image(at("stripped"));
    assert!(bare.name(bare.sites()[0].function).starts_with("fn_"));
    let digits: String = bare.build_id().unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = at(".build-id").join(&digits[..2]);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::rename(at("a.debug"), folder.join(format!("{}.debug", &digits[2..]))).unwrap();
    let named =
        Image::with_debug_files(&File::open(at("stripped")).unwrap(), directory.path(), None).unwrap();
    assert_eq!(named.name(named.sites()[0].function), "secret");
    assert_eq!(named.sites()[0].address, bare.sites()[0].address);
}

#[test]
fn libraries_say_who_they_are() {
    let Some(path) = first_of(&["/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/lib64/libcrypto.so.3"])
    else {
        return;
    };
    let found = known::libraries("libcrypto.so.3", &image(path));
    assert!(found.iter().any(|library| library.to_string().starts_with("OpenSSL 3.")), "{found:?}");
}

#[test]
fn in_memory_there_is_what_is_in_the_file() {
    if !has("python3") {
        return;
    }
    let script =
        "import ctypes, sys\nctypes.CDLL('libcrypto.so.3')\nprint('ready', flush=True)\nsys.stdin.read()";
    let program = Program::start(Command::new("python3").args(["-c", script]));
    let modules = program.modules();
    let Some(module) = modules.iter().find(|module| &*module.name == "libcrypto.so.3") else {
        println!("SKIPPED libcrypto.so.3 is not installed");
        return;
    };
    // The file's first byte is at the lowest address, as the first segment begins at zero.
    let memory = program.memory();
    let found = Image::of_memory(&memory, module.bias).unwrap();
    assert_eq!(found.sites(), module.image.sites());
    assert_eq!(found.build_id(), module.image.build_id());
    let named = |image: &Image| -> Vec<String> {
        let exported = ["EVP_EncryptUpdate", "RAND_bytes"].map(String::from);
        (0..image.functions().len())
            .map(|function| image.name(function))
            .filter(|name| exported.contains(name))
            .collect()
    };
    assert_eq!(named(&found).len(), 2);
    assert!(Image::of_memory(&memory, module.bias + 4096).is_err());
}
