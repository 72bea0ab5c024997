//! The system calls: one table, a file for each family.
//! Ref. Linux `arch/sparc/kernel/syscalls/syscall.tbl`, the column of 64-bit programs.

mod descriptors;
mod files;
mod futex;
mod identity;
mod ipc;
mod memory;
mod polling;
mod processes;
mod queues;
mod segments;
mod signals;
mod sockets;
mod special;
mod system;
mod terminal;
mod time;

use std::sync::LazyLock;

pub(crate) use special::are_inherited;

use crate::linux::errno::{Errno, of_sparc};
use crate::linux::process::Process;

/// The answer of a call.
pub type Answer = Result<u64, Errno>;

/// One call.
#[derive(Clone, Copy)]
pub struct Call {
    /// The call's number on SPARC.
    pub number: u16,
    /// The call's name.
    pub name: &'static str,
    /// The form of each argument in reports: `d` a number, `x` bits, `p` an address, `s` a text.
    pub shown: &'static str,
    /// The function that answers it.
    pub run: fn(&mut Process, &[u64; 6]) -> Answer,
    /// True if it is made once more after a handler with SA_RESTART interrupted it.
    pub restarts: bool,
}

/// A call that is not restarted.
const fn call(
    number: u16,
    name: &'static str,
    shown: &'static str,
    run: fn(&mut Process, &[u64; 6]) -> Answer,
) -> Call {
    Call { number, name, shown, run, restarts: false }
}

impl Call {
    /// The same call, restarted after such a handler.
    const fn restarting(self) -> Call {
        Call { restarts: true, ..self }
    }
}

/// The families.
const FAMILIES: &[&[Call]] = &[
    descriptors::CALLS,
    files::CALLS,
    futex::CALLS,
    identity::CALLS,
    ipc::CALLS,
    memory::CALLS,
    polling::CALLS,
    processes::CALLS,
    queues::CALLS,
    segments::CALLS,
    signals::CALLS,
    sockets::CALLS,
    special::CALLS,
    system::CALLS,
    terminal::CALLS,
    time::CALLS,
];

/// A number above that of every call.
const NUMBERS: usize = 512;

static TABLE: LazyLock<[Option<&'static Call>; NUMBERS]> = LazyLock::new(|| {
    let mut table = [None; NUMBERS];
    for call in FAMILIES.iter().flat_map(|family| family.iter()) {
        table[usize::from(call.number)] = Some(call);
    }
    table
});

/// The call of that number.
#[must_use]
pub fn find(number: u64) -> Option<&'static Call> {
    TABLE.get(usize::try_from(number).ok()?).copied().flatten()
}

/// Reports a call and its answer on standard error.
pub(crate) fn tell(
    process: &Process,
    name: &str,
    shown: &str,
    number: u64,
    arguments: &[u64; 6],
    answer: Answer,
) {
    use std::io::Write;
    let arguments: Vec<_> =
        shown.bytes().zip(arguments).map(|(how, &word)| show(process, how, word)).collect();
    let answer = match answer {
        Ok(result) => format!("{:#x}", result),
        Err(error) => {
            format!("-1, error {} ({})", of_sparc(error), std::io::Error::from_raw_os_error(error.0))
        }
    };
    let pid = rustix::process::getpid().as_raw_pid();
    let who = match process.threads {
        Some(_) => format!("{pid}/{}", rustix::thread::gettid().as_raw_pid()),
        None => pid.to_string(),
    };
    // Nobody reads a closed standard error.
    let _ = writeln!(std::io::stderr(), "[{who}] {name}:{number}({}) = {answer}", arguments.join(", "));
}

fn show(process: &Process, how: u8, word: u64) -> String {
    match how {
        b'd' => (word as i32).to_string(),
        b's' => match process.cpu.memory.c_string(word) {
            Ok(text) => format!("{:?}", String::from_utf8_lossy(&text)),
            Err(_) => format!("{word:#x}"),
        },
        _ => format!("{word:#x}"),
    }
}

/// The host's number for a descriptor or another `int`: the high half of the register has no meaning.
fn int(word: u64) -> u64 {
    word as i32 as i64 as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_is_two_calls() {
        let mut numbers: Vec<_> =
            FAMILIES.iter().flat_map(|family| family.iter()).map(|call| call.number).collect();
        let count = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), count);
        assert!(count >= 200, "{count} calls");
    }

    #[test]
    fn numbers_are_those_of_the_header() {
        let header = "/usr/sparc64-linux-gnu/include/asm/unistd_64.h";
        let text = std::fs::read_to_string(header)
            .unwrap_or_else(|error| panic!("{header}: {error}: install linux-libc-dev-sparc64-cross"));
        for call in FAMILIES.iter().flat_map(|family| family.iter()) {
            let line = format!("#define __NR_{} {}", call.name, call.number);
            assert!(text.lines().any(|have| have.split_whitespace().eq(line.split_whitespace())), "{line}");
        }
    }
}
