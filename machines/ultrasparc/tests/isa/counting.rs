//! What a program executed, of one whose counts are known.

use std::collections::BTreeMap;
use std::process::Command;

use millstream_ultrasparc::counts::{Counts, Image, Name, crypto_paths, entries};
use millstream_ultrasparc::linux::{Ended, Process, Settings};
use millstream_ultrasparc::processor::Processor;
use millstream_ultrasparc::program::Program;

use crate::{GCC, run};

/// `tagged` adds ten times, the last time not, as the delay slot is annulled; of `crypto` the branch goes past the
/// second instruction; nobody calls `hidden`.
const PROGRAM: &str = r#"
__asm__(".text\n.type tagged,#function\ntagged:\n"
        "mov 10, %o1\n1: deccc %o1\nbne,a 1b\ntaddcc %o0, 1, %o0\nretl\nnop\n.size tagged,.-tagged\n"
        ".type crypto,#function\ncrypto:\naes_kexpand0 %f0, %f2, %f4\nb,a 1f\naes_kexpand2 %f0, %f2, %f4\n"
        "1: retl\nnop\n.size crypto,.-crypto\n"
        ".type hidden,#function\nhidden:\ndes_ip %f0, %f2\ndes_iip %f0, %f2\nretl\nnop\n.size hidden,.-hidden\n");
long tagged(long);
void crypto(void);
__attribute__((noinline)) long twice(long x) { __asm__ volatile("" : "+r"(x)); return 2 * x; }
int main(void) {
    long sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += twice(i);
    for (int i = 0; i < 7; i++)
        crypto();
    return sum != 999000 || tagged(0) != 9;
}
"#;

#[test]
fn counts_are_exact() {
    let folder = tempfile::tempdir().unwrap();
    let (source, file) = (folder.path().join("program.c"), folder.path().join("program"));
    std::fs::write(&source, PROGRAM).unwrap();
    let mut compiler = Command::new("sparc64-linux-gnu-gcc");
    run(compiler.args(["-O2", "-mcpu=niagara4", "-static", "-o"]).arg(&file).arg(&source), GCC);

    let mut process = Process::new(Settings::of(Processor::T4), &file, &["program".into()], &[]).unwrap();
    assert_eq!(process.run(), Ended::Exited(0));
    let blocks = || process.cpu.blocks();

    let counts = Counts::of(blocks());
    let named = ["taddcc", "aes_kexpand0", "aes_kexpand2", "des_ip"].map(|name| counts.named(name));
    assert_eq!(named, [9, 7, 0, 0]);
    assert_eq!(counts.crypto(), 7);

    let program = Program::parse(&std::fs::read(&file).unwrap()).unwrap();
    let images = [Image { name: "program".into(), program, bias: 0 }];
    let name = |function: &str| Name { library: "program".into(), function: function.into() };
    let of = |pattern| entries(blocks(), &images, pattern);
    assert_eq!(of("tw?ce"), BTreeMap::from([(name("twice"), 1000)]));
    assert_eq!(of("main"), BTreeMap::from([(name("main"), 1)]));

    let paths = crypto_paths(blocks(), &images);
    assert_eq!(paths.len(), 2, "{paths:?}");
    let found = |function: &str| {
        let paths = &paths[&name(function)];
        (paths.present, paths.reached, paths.executions, paths.unreached.clone())
    };
    assert_eq!(found("crypto"), (2, 1, 7, [("aes_kexpand2", 1)].into()));
    assert_eq!(found("hidden"), (2, 0, 0, [("des_iip", 1), ("des_ip", 1)].into()));
}
