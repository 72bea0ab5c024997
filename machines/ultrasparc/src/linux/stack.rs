//! The contents of a new program's stack: arguments, environment and the auxiliary vector.
//! Ref. System V ABI, SPARC V9 supplement, "Process Initialization"; Linux `fs/binfmt_elf.c`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use crate::cpu::Cpu;
use crate::cpu::window::BIAS;
use crate::linux::elf::{HEADER_BYTES, LoadError, Placed};
use crate::memory::{PAGE_BYTES, Protection, SPAN_BYTES};

/// The register save area at the beginning of each frame.
const SAVE_AREA: u64 = 128;

/// Ticks in a second of `times`.
const CLOCK_TICKS: u64 = 100;

/// The length of the stack of a program without limit.
const MOST_BYTES: u64 = 1 << 30;

/// The least length of a stack: less is no use to anybody.
const LEAST_BYTES: u64 = 128 << 10;

/// All that the kernel tells a new program.
pub struct Start<'a> {
    /// The arguments, the program's name among them.
    pub arguments: &'a [OsString],
    /// The environment, each as `NAME=VALUE`.
    pub environment: &'a [OsString],
    /// The program's file, as it was named.
    pub file: &'a std::path::Path,
    /// The place of the program.
    pub program: Placed,
    /// The place of its interpreter, if it has one.
    pub interpreter: Option<Placed>,
    /// `AT_HWCAP`.
    pub hwcap: u64,
}

/// Numbers of the auxiliary vector. Ref. Linux `include/uapi/linux/auxvec.h`.
mod at {
    pub const NULL: u64 = 0;
    pub const PHDR: u64 = 3;
    pub const PHENT: u64 = 4;
    pub const PHNUM: u64 = 5;
    pub const PAGESZ: u64 = 6;
    pub const BASE: u64 = 7;
    pub const FLAGS: u64 = 8;
    pub const ENTRY: u64 = 9;
    pub const UID: u64 = 11;
    pub const EUID: u64 = 12;
    pub const GID: u64 = 13;
    pub const EGID: u64 = 14;
    pub const HWCAP: u64 = 16;
    pub const CLKTCK: u64 = 17;
    pub const SECURE: u64 = 23;
    pub const RANDOM: u64 = 25;
    pub const EXECFN: u64 = 31;
}

/// The length of the stack, from this process's own limit.
fn stack_bytes() -> u64 {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Stack).current;
    limit.unwrap_or(MOST_BYTES).clamp(LEAST_BYTES, MOST_BYTES) & !(PAGE_BYTES - 1)
}

impl Start<'_> {
    /// Makes the stack and sets the registers for the first instruction.
    ///
    /// # Errors
    /// The texts are too long for the stack.
    pub fn set_up(&self, cpu: &mut Cpu) -> Result<(), LoadError> {
        let size = stack_bytes();
        cpu.memory.map(SPAN_BYTES - size, size, Protection::DATA);
        let texts = || self.arguments.iter().chain(self.environment);
        let text_bytes: u64 = texts().map(|text| text.len() as u64 + 1 + 8).sum();
        if text_bytes > size / 4 {
            return Err(LoadError::Arguments(text_bytes));
        }
        let mut strings = Strings { top: SPAN_BYTES - 8 };
        let file = strings.push(cpu, self.file.as_os_str().as_bytes());
        let environment: Vec<_> =
            self.environment.iter().map(|text| strings.push(cpu, text.as_bytes())).collect();
        let arguments: Vec<_> =
            self.arguments.iter().map(|text| strings.push(cpu, text.as_bytes())).collect();
        let mut random = [0; 16];
        // Without random bytes a program has a guessable canary, but runs.
        let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
        let random = strings.push(cpu, &random);

        let mut words = vec![arguments.len() as u64];
        words.extend(arguments.iter().chain([&0]).chain(&environment).chain([&0]));
        words.extend(self.auxiliary(random, file));
        let place = (strings.top - words.len() as u64 * 8) & !15;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        write(cpu, place, &bytes);

        cpu.r.fill(0);
        cpu.r[14] = place - SAVE_AREA - BIAS;
        cpu.jump(self.interpreter.unwrap_or(self.program).entry);
        Ok(())
    }

    fn auxiliary(&self, random: u64, file: u64) -> Vec<u64> {
        use rustix::process::{getegid, geteuid, getgid, getuid};
        let entries = [
            (at::HWCAP, self.hwcap),
            (at::PAGESZ, PAGE_BYTES),
            (at::CLKTCK, CLOCK_TICKS),
            (at::PHDR, self.program.headers),
            (at::PHENT, HEADER_BYTES),
            (at::PHNUM, self.program.header_count),
            (at::BASE, self.interpreter.map_or(0, |interpreter| interpreter.base)),
            (at::FLAGS, 0),
            (at::ENTRY, self.program.entry),
            (at::UID, getuid().as_raw().into()),
            (at::EUID, geteuid().as_raw().into()),
            (at::GID, getgid().as_raw().into()),
            (at::EGID, getegid().as_raw().into()),
            (at::SECURE, 0),
            (at::RANDOM, random),
            (at::EXECFN, file),
            (at::NULL, 0),
        ];
        entries.into_iter().flat_map(|(number, value)| [number, value]).collect()
    }
}

/// Texts at the top of the stack, each below the one before.
struct Strings {
    top: u64,
}

impl Strings {
    /// Puts a text with a zero after it, and answers its address.
    fn push(&mut self, cpu: &mut Cpu, text: &[u8]) -> u64 {
        self.top -= text.len() as u64 + 1;
        write(cpu, self.top, text);
        self.top
    }
}

fn write(cpu: &mut Cpu, address: u64, bytes: &[u8]) {
    let written = cpu.memory.write(address, bytes);
    debug_assert!(written.is_ok(), "the stack was found long enough before");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::Processor;

    fn start<'a>(arguments: &'a [OsString], environment: &'a [OsString]) -> Start<'a> {
        let program = Placed { base: 0, entry: 0x10_0000, headers: 0x10_0040, header_count: 3, end: 0 };
        let file = std::path::Path::new("/bin/a");
        Start { arguments, environment, file, program, interpreter: None, hwcap: 0x1234 }
    }

    #[test]
    fn a_program_finds_its_arguments_and_environment() {
        let mut cpu = Cpu::new(Processor::T4.features()).unwrap();
        let (arguments, environment) = (["a".into(), "b c".into()], ["X=1".into()]);
        start(&arguments, &environment).set_up(&mut cpu).unwrap();
        let place = cpu.r[14] + BIAS + SAVE_AREA;
        assert_eq!(place % 16, 0);
        let word = |index: u64| cpu.memory.load_u64(place + 8 * index).unwrap();
        assert_eq!(word(0), 2);
        assert_eq!(cpu.memory.c_string(word(2)).unwrap(), b"b c");
        assert_eq!(word(3), 0);
        assert_eq!(cpu.memory.c_string(word(4)).unwrap(), b"X=1");
        assert_eq!((word(5), word(6), word(7)), (0, at::HWCAP, 0x1234));
        assert_eq!((cpu.pc, cpu.npc), (0x10_0000, 0x10_0004));
    }

    #[test]
    fn more_than_fits_is_refused() {
        let mut cpu = Cpu::new(Processor::T4.features()).unwrap();
        let long = [OsString::from("x".repeat(usize::try_from(stack_bytes() / 4).unwrap()))];
        assert!(matches!(start(&long, &[]).set_up(&mut cpu), Err(LoadError::Arguments(_))));
    }
}
