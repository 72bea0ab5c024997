//! Remembers the instruction that raised SIGILL.

use std::collections::HashMap;
use std::io;

use crate::process::{Answer, Pid, Signal, Thread, Watcher, maps};

/// An instruction that the processor refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The name, such as `vaesenc`, or `None` for bytes that are no instruction.
    pub instruction: Option<String>,
    /// True for an instruction that is never legal, which programs execute in order to end.
    pub is_deliberate: bool,
    /// The file that holds it and the offset there, if it came from a file.
    pub file: Option<(String, u64)>,
}

/// A watcher that remembers the last illegal instruction of each process.
#[derive(Debug, Default)]
pub struct Illegal(HashMap<Pid, Refused>);

impl Illegal {
    /// Returns the illegal instruction of a process. The process may have handled the signal.
    pub fn of(&self, pid: Pid) -> Option<&Refused> {
        self.0.get(&pid)
    }
}

impl Watcher for Illegal {
    fn signal(&mut self, thread: &mut Thread, signal: &Signal) -> io::Result<Answer> {
        if signal.number == libc::SIGILL && signal.info()?.is_fault() {
            let refused = look(thread)?;
            self.0.insert(thread.pid, refused);
        }
        Ok(Answer::NotMine)
    }
}

fn look(thread: &mut Thread) -> io::Result<Refused> {
    let pc = thread.registers()?.pc();
    let mut bytes = [0; 16];
    let len = thread.memory().read_some(pc, &mut bytes).unwrap_or(0);
    let (instruction, is_deliberate) = decoded(&bytes[..len]);
    // If the maps can't be read, no file is named.
    let found = maps::of(thread.pid).unwrap_or_default().into_iter().find(|map| map.contains(pc));
    let file = found.filter(maps::Map::is_file);
    let file = file.map(|map| (map.path.to_string_lossy().into_owned(), pc - map.start + map.offset));
    Ok(Refused { instruction, is_deliberate, file })
}

#[cfg(target_arch = "x86_64")]
fn decoded(bytes: &[u8]) -> (Option<String>, bool) {
    use iced_x86::{Decoder, DecoderOptions, Mnemonic};

    let instruction = Decoder::new(64, bytes, DecoderOptions::NONE).decode();
    if instruction.is_invalid() {
        return (None, false);
    }
    let mnemonic = instruction.mnemonic();
    let is_deliberate = matches!(mnemonic, Mnemonic::Ud0 | Mnemonic::Ud1 | Mnemonic::Ud2);
    (Some(format!("{mnemonic:?}").to_lowercase()), is_deliberate)
}

/// On AArch64 the permanently undefined instructions have sixteen zeros in front.
#[cfg(not(target_arch = "x86_64"))]
fn decoded(bytes: &[u8]) -> (Option<String>, bool) {
    (None, bytes.len() >= 4 && bytes[2..4] == [0, 0])
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn instructions_have_names() {
        assert_eq!(decoded(&[0x0f, 0x0b]), (Some("ud2".into()), true));
        assert_eq!(decoded(&[0x66, 0x0f, 0x38, 0xdc, 0xc1]), (Some("aesenc".into()), false));
        assert_eq!(decoded(&[0x06]), (None, false));
    }
}
