//! The seccomp filter that stops a launched program at calls that make memory executable.
//!
//! Ref. Linux `include/uapi/linux/seccomp.h`, `audit.h`; the numbers are those of each architecture's system call table.

use libc::sock_filter;

/// The value with which this filter's stops differ from those of the program's own filters.
pub(super) const MARK: u16 = 0x4d53;

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const ANY_OF: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// Offsets in the data that a filter sees.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
/// The low half of the third argument, the protection, little-endian.
const PROTECTION: u32 = 16 + 2 * 8;

/// The calls of one system call table.
struct Calls {
    architecture: u32,
    /// Calls whose third argument is the protection.
    protecting: &'static [u32],
    /// Calls that may move executable memory, or whose protection a filter can't see.
    others: &'static [u32],
}

#[cfg(target_arch = "x86_64")]
const TABLES: &[Calls] = &[
    // These are mmap, mprotect, pkey_mprotect; mremap, shmat. Numbers from 0x4000_0000 on are those of x32
    // programs.
    Calls {
        architecture: 0xc000_003e,
        protecting: &[9, 10, 329, 0x4000_0009, 0x4000_000a, 0x4000_0149],
        others: &[25, 30, 0x4000_0019, 0x4000_001e],
    },
    // These are mmap2, mprotect, pkey_mprotect; mremap, and the mmap with its arguments in memory.
    Calls { architecture: 0x4000_0003, protecting: &[192, 125, 380], others: &[163, 90] },
];

#[cfg(not(target_arch = "x86_64"))]
const TABLES: &[Calls] = &[
    // These are mmap, mprotect, pkey_mprotect; mremap, shmat.
    Calls { architecture: 0xc000_00b7, protecting: &[222, 226, 288], others: &[216, 196] },
];

/// Builds the filter.
pub(super) fn program() -> Vec<sock_filter> {
    let statement = |code, k| sock_filter { code, jt: 0, jf: 0, k };
    let jump = |code, k, jt, jf| sock_filter { code, jt, jf, k };
    let mut program = vec![];
    for table in TABLES {
        let tests = (table.protecting.len() + table.others.len()) as u8;
        // A mismatch skips the rest of this table: one load, the tests, and the five statements that they
        // jump to.
        program.push(statement(LOAD, ARCHITECTURE));
        program.push(jump(EQUAL, table.architecture, 0, tests + 6));
        program.push(statement(LOAD, NUMBER));
        for (index, number) in table.others.iter().chain(table.protecting).enumerate() {
            let left = tests - 1 - index as u8;
            let to_trace = left + 4;
            let to_protection = left + 1;
            let target = if index < table.others.len() { to_trace } else { to_protection };
            program.push(jump(EQUAL, *number, target, 0));
        }
        program.push(statement(RETURN, libc::SECCOMP_RET_ALLOW));
        program.push(statement(LOAD, PROTECTION));
        program.push(jump(ANY_OF, libc::PROT_EXEC as u32, 1, 0));
        program.push(statement(RETURN, libc::SECCOMP_RET_ALLOW));
        program.push(statement(RETURN, libc::SECCOMP_RET_TRACE | u32::from(MARK)));
    }
    program.push(statement(RETURN, libc::SECCOMP_RET_ALLOW));
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Interprets the filter's four instructions and returns its verdict.
    fn run(architecture: u32, number: u32, protection: u32) -> u32 {
        let program = program();
        let (mut at, mut accumulator) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            at += 1;
            let choose = |taken| usize::from(if taken { jt } else { jf });
            match code {
                LOAD if k == NUMBER => accumulator = number,
                LOAD if k == ARCHITECTURE => accumulator = architecture,
                LOAD if k == PROTECTION => accumulator = protection,
                EQUAL => at += choose(accumulator == k),
                ANY_OF => at += choose(accumulator & k != 0),
                RETURN => return k,
                _ => panic!("{code:#x} {k}"),
            }
        }
    }

    #[test]
    fn executable_memory_is_marked_and_nothing_else() {
        let marked = libc::SECCOMP_RET_TRACE | u32::from(MARK);
        for table in TABLES {
            for number in (0..600).chain(0x4000_0000..0x4000_0200) {
                let executable = run(table.architecture, number, 5) == marked;
                let plain = run(table.architecture, number, 3) == marked;
                let other = table.others.contains(&number);
                assert_eq!(plain, other, "{number}");
                assert_eq!(executable, other || table.protecting.contains(&number), "{number}");
            }
        }
        assert_eq!(run(0x1234, 9, 7), libc::SECCOMP_RET_ALLOW);
    }
}
