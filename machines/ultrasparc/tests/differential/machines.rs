//! The two machines: ours, and QEMU with the guest program.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use millstream_ultrasparc::cpu::{Cpu, Trap};
use millstream_ultrasparc::memory::{PAGE_BYTES, Protection};
use millstream_ultrasparc::processor::Processor;

use crate::cases::{Case, MEMORY, WORDS};

/// Where the guest program has the words.
pub const CODE: u64 = 0x20_0000;
/// And the memory.
pub const SCRATCH: u64 = 0x30_0000;
/// `ta 0x55`, after the words.
const END: u32 = 0x91d0_2055;

/// Our processor, used for case after case.
pub struct Ours(Cpu);

impl Ours {
    pub fn new() -> Ours {
        let mut cpu = Cpu::new(Processor::T4.features()).expect("memory for a processor");
        let all = Protection::ALL;
        cpu.memory.map(CODE, PAGE_BYTES, all);
        cpu.memory.map(SCRATCH, PAGE_BYTES, all);
        Ours(cpu)
    }

    /// The processor, as the last case left it.
    pub fn cpu(&self) -> &Cpu {
        &self.0
    }

    /// What a case leaves, or what stopped it.
    pub fn execute(&mut self, case: &Case) -> Result<Case, String> {
        let cpu = &mut self.0;
        let mut code: Vec<u8> = case.words.iter().flat_map(|word| word.to_be_bytes()).collect();
        code.extend(END.to_be_bytes());
        cpu.memory.write(CODE, &code).expect("a page of code");
        cpu.memory.code_changed(CODE);
        cpu.memory.write(SCRATCH, &case.memory).expect("a page of memory");
        for n in 1..32 {
            cpu.r[n] = case.r[n];
        }
        cpu.d = case.d;
        (cpu.fsr, cpu.gsr, cpu.y, cpu.asi) = (case.fsr, case.gsr, case.y, case.asi as u8);
        cpu.set_ccr(case.ccr as u8);
        cpu.jump(CODE);
        let trap = cpu.run();
        if trap != Trap::Software(0x55) || cpu.pc != CODE + 4 * WORDS as u64 {
            return Err(format!("{trap:?} at {:#x}", cpu.pc));
        }
        let mut left = case.clone();
        left.r.copy_from_slice(&cpu.r[..32]);
        left.d = cpu.d;
        (left.fsr, left.gsr, left.y) = (cpu.fsr, cpu.gsr, cpu.y);
        (left.asi, left.ccr) = (cpu.asi.into(), cpu.ccr().into());
        cpu.memory.read(SCRATCH, &mut left.memory).expect("a page of memory");
        Ok(left)
    }
}

/// The guest program, made once.
fn guest() -> &'static PathBuf {
    static GUEST: OnceLock<PathBuf> = OnceLock::new();
    GUEST.get_or_init(|| {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guest/differential.s");
        let (object, program) = (folder.join("differential.o"), folder.join("differential"));
        run(Command::new("sparc64-linux-gnu-as").args(["-Av9v", source, "-o"]).arg(&object));
        run(Command::new("sparc64-linux-gnu-ld")
            .args(["-static", "--section-start=.code=0x200000", "--section-start=.scratch=0x300000"])
            .args(["--section-start=.data=0x400000", "-o"])
            .arg(&program)
            .arg(&object));
        program
    })
}

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| {
        panic!("{command:?}: {error}; Debian's binutils-sparc64-linux-gnu has it");
    });
    assert!(status.success(), "{command:?}: {status}");
}

/// What QEMU leaves of each case, up to the one that it dies of.
pub fn qemu<'a>(cases: impl Iterator<Item = &'a Case>) -> Vec<Case> {
    let input: Vec<u8> = cases.flat_map(Case::to_bytes).collect();
    // A case that it never finishes is one that it dies of.
    let mut child = Command::new("timeout")
        .args(["-s", "KILL", "15", "qemu-sparc64", "-cpu", "Sun-UltraSparc-T2,+float128"])
        .arg(guest())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("timeout, of coreutils");
    let mut stdin = child.stdin.take().expect("a pipe");
    // It may die before it has read all.
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let mut output = Vec::new();
    child.stdout.take().expect("a pipe").read_to_end(&mut output).expect("qemu's output");
    let status = child.wait().expect("qemu's end");
    assert_ne!(status.code(), Some(127), "there is no qemu-sparc64: Debian's qemu-user has it");
    let _ = writer.join().expect("the writer");
    output.chunks_exact(Case::BYTES).map(Case::from_bytes).collect()
}

const _: () = assert!(MEMORY.is_multiple_of(8));
