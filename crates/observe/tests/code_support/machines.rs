//! Tests of code that virtual machines make.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use millstream_observe::code::Class;
use millstream_observe::code::generated::{Generated, Origin, Stretch};

use crate::support::{Directory, Program, has};

const JAVA: &str = r#"
import javax.crypto.*; import javax.crypto.spec.*; import java.security.*;
public class Busy {
    public static void main(String[] arguments) throws Exception {
        byte[] key = new byte[16], data = new byte[4096];
        Cipher cipher = Cipher.getInstance("AES/CBC/NoPadding");
        cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "AES"), new IvParameterSpec(key));
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        for (int i = 0; i < 3000; i++) { data = cipher.update(data); digest.update(data); }
        System.out.println("ready");
        System.in.read();
    }
}
"#;

/// Checks the routines of a machine that has just run ciphers.
fn routines_of(home: &str) {
    let directory = Directory::new(&format!("java{}", home.replace('/', "-")));
    std::fs::write(directory.path().join("Busy.java"), JAVA).unwrap();
    let done =
        Command::new(format!("{home}/bin/javac")).arg("Busy.java").current_dir(directory.path()).status();
    assert!(done.unwrap().success());
    let program =
        Program::start(Command::new(format!("{home}/bin/java")).arg("Busy").current_dir(directory.path()));
    let (modules, memory) = (program.modules(), program.memory());
    let mut generated = Generated::new(program.pid() as i32);
    let stretches = generated.look(&memory, &modules);
    let names = |class| -> Vec<&str> {
        let sites =
            stretches.iter().flat_map(|stretch| stretch.sites.iter().map(move |site| (stretch, site)));
        let mut names: Vec<&str> = sites
            .filter(|(_, site)| site.classes.has(class))
            .map(|(stretch, site)| stretch.functions[site.function].name.as_deref().unwrap())
            .collect();
        names.dedup();
        names
    };
    for stretch in &stretches {
        println!(
            "{home} {:x} +{} proven {:?}",
            stretch.start,
            stretch.bytes.len(),
            stretch.proven.iter().collect::<Vec<_>>()
        );
        println!("  unproved {:?}", stretch.unproved.iter().collect::<Vec<_>>());
    }
    println!("{:?}\n{:?}\n{:?}", names(Class::Aes), names(Class::Sha), names(Class::Vaes));
    let routine = "StubRoutines::cipherBlockChaining_encryptAESCrypt";
    assert!(names(Class::Aes).contains(&routine));
    assert!(names(Class::Sha).iter().any(|name| name.contains("sha256_implCompress")));
    assert!(stretches.iter().all(|stretch| stretch.origin == Origin::HotSpot));
    sites_hold_what_is_there(&stretches);
    let function = stretches
        .iter()
        .flat_map(|stretch| &stretch.functions)
        .find(|function| function.name.as_deref() == Some(routine))
        .unwrap();
    assert!(function.entry_proven);
    assert_eq!(generated.name_at(&memory, function.start + 8).as_deref(), Some(routine));
    let methods = names_of_methods(&generated, &program);
    assert!(methods.iter().any(|name| name.starts_with("com.sun.crypto.provider.")), "{methods:?}");
    let again = Instant::now();
    assert!(generated.look(&memory, &modules).is_empty());
    println!("a look at what is unchanged: {:?}", again.elapsed());
    assert!(again.elapsed() < Duration::from_millis(20));
}

/// Returns the machine's names for places all over the memory in which it makes code.
fn names_of_methods(generated: &Generated, program: &Program) -> BTreeSet<String> {
    let memory = program.memory();
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", program.pid())).unwrap();
    let anonymous = maps.lines().filter(|line| line.contains("rwxp") && !line.contains('/'));
    let places = anonymous.flat_map(|line| {
        let (start, rest) = line.split_once('-').unwrap();
        let end = rest.split_once(' ').unwrap().0;
        let number = |text| u64::from_str_radix(text, 16).unwrap();
        (number(start)..number(end)).step_by(512)
    });
    let names = places.take(50_000).filter_map(|place| generated.name_at(&memory, place));
    names.filter(|name| name.contains('.')).collect()
}

fn sites_hold_what_is_there(stretches: &[Stretch]) {
    for stretch in stretches {
        for site in &stretch.sites {
            let at = (site.address - stretch.start) as usize;
            assert_eq!(&stretch.bytes[at..at + site.bytes().len()], site.bytes());
        }
    }
}

#[test]
fn routines_of_java_machines_are_found() {
    let homes = [
        "/usr/lib/jvm/java-17-openjdk-amd64",
        "/usr/lib/jvm/java-21-openjdk-amd64",
        "/usr/lib/jvm/temurin-25-jdk-amd64",
    ];
    let mut any = false;
    for home in homes.into_iter().filter(|home| Path::new(home).join("bin/javac").exists()) {
        routines_of(home);
        any = true;
    }
    if !any {
        println!("SKIPPED no Java development kit is installed");
    }
}

#[test]
fn functions_of_a_perf_map_are_found() {
    if !has("python3") {
        return;
    }
    // The page holds `endbr64; aesenc %xmm1, %xmm0; ret`. The map has two lines, the second of which is
    // completed later.
    let script = r#"
import ctypes, mmap, os, sys
page = mmap.mmap(-1, 4096, prot=7)
page[256:256+10] = bytes.fromhex("f30f1efa660f38dcc1c3")
page[512:512+6] = bytes.fromhex("660f38ddc1c3")
start = ctypes.addressof(ctypes.c_char.from_buffer(page))
path = f"/tmp/perf-{os.getpid()}.map"
with open(path, "w") as told:
    told.write(f"{start+256:x} a encrypt one\n{start+512:x} 6 half a li")
    told.flush()
    print("ready", flush=True)
    sys.stdin.readline()
    told.write("ne\n")
    told.flush()
    print("more", flush=True)
    sys.stdin.readline()
"#;
    let mut program = Program::start(Command::new("python3").arg("-c").arg(script));
    let map = format!("/tmp/perf-{}.map", program.pid());
    let (modules, memory) = (program.modules(), program.memory());
    let mut generated = Generated::new(program.pid() as i32);
    let first = generated.look(&memory, &modules);
    assert_eq!(first.len(), 1);
    assert_eq!(first[0].functions[0].name.as_deref(), Some("encrypt one"));
    assert_eq!(first[0].sites[0].address, first[0].start + 4);
    assert!(first[0].functions[0].entry_proven);
    assert!(generated.look(&memory, &modules).is_empty());
    program.say_and_wait();
    let second = generated.look(&memory, &modules);
    assert_eq!(second[0].functions[0].name.as_deref(), Some("half a line"));
    assert_eq!(generated.name_at(&memory, second[0].start + 5).as_deref(), Some("half a line"));
    sites_hold_what_is_there(&second);
    std::fs::remove_file(map).unwrap();
}
