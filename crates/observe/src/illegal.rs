//! Which instruction a program was ended for: SIGILL, and what stood there.

use std::collections::HashMap;
use std::io;

use crate::process::{Answer, Pid, Signal, Thread, Watcher, maps};

/// An instruction that the processor refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its name, as in `vaesenc`; nothing where there is no such instruction at all.
    pub instruction: Option<String>,
    /// Whether it is one that is never legal: whoever executes it wants to end.
    pub is_deliberate: bool,
    /// The file that it is from, if it is from one, and where in that.
    pub file: Option<(String, u64)>,
}

/// Remembers the last illegal instruction of each process.
#[derive(Debug, Default)]
pub struct Illegal(HashMap<Pid, Refused>);

impl Illegal {
    /// That of a process, which may have handled it.
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
    // Where the maps can't be read there is no file to name.
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
