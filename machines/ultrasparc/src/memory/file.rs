//! Pages of files, which may end. A file's page behind its end can be mapped, but an access to it raises SIGBUS. The
//! emulator's access gets that signal from its own kernel, as others may shorten a file at any time, and has to pass
//! it on to the program.
//!
//! Such pages permit nothing in the bits that the inlined loads and stores check, so their accesses come here.
//! Instructions at known places make them, and the handler of SIGBUS goes on behind these: the access has not been
//! made then, and the program's instruction has changed nothing, as on the machine. Ranges that the emulator itself
//! or the kernel reads or writes are checked beforehand. If another process takes a page away between that check and
//! the access, SIGBUS ends the emulator, as it ends a program that does not handle it.
//!
//! The only difference from the machine is the end of the file's last page: it is that of the host's page, which may
//! be shorter.
//!
//! # Safety
//! `reach` is given an address inside the reservation, at a multiple of the size, as `Memory::span` found it.
#![allow(unsafe_code)]

use rustix::mm::Advice;

use super::Memory;
use super::page::{Access, FILE, Fault, PAGE_BITS, PAGE_BYTES, Protection, pages_of};

/// The operation of [`reach`], to which the logarithm of the size is added.
const LOAD: u64 = 0;
const STORE: u64 = 4;

/// The answer of [`reach`].
#[repr(C)]
struct Reached {
    value: u64,
    failed: u64,
}

/// Loads or stores 1, 2, 4 or 8 bytes. A handler that finds the program counter between the first two labels moves it
/// to the third.
///
/// # Safety
/// The address is that of so many bytes of the reservation. The access may raise SIGBUS.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn reach(at: *mut u8, value: u64, what: u64) -> Reached {
    std::arch::naked_asm!(
        "lea rax, [rip + 3f]",
        "lea rax, [rax + 8 * rdx]",
        "xor edx, edx",
        "jmp rax",
        ".globl millstream_sparc_reach_begin",
        ".globl millstream_sparc_reach_end",
        ".globl millstream_sparc_reach_failed",
        ".hidden millstream_sparc_reach_begin",
        ".hidden millstream_sparc_reach_end",
        ".hidden millstream_sparc_reach_failed",
        ".p2align 3",
        "millstream_sparc_reach_begin:",
        "3:",
        "movzx eax, byte ptr [rdi]",
        "ret",
        ".p2align 3",
        "movzx eax, word ptr [rdi]",
        "ret",
        ".p2align 3",
        "mov eax, dword ptr [rdi]",
        "ret",
        ".p2align 3",
        "mov rax, qword ptr [rdi]",
        "ret",
        ".p2align 3",
        "mov byte ptr [rdi], sil",
        "ret",
        ".p2align 3",
        "mov word ptr [rdi], si",
        "ret",
        ".p2align 3",
        "mov dword ptr [rdi], esi",
        "ret",
        ".p2align 3",
        "mov qword ptr [rdi], rsi",
        "ret",
        "millstream_sparc_reach_end:",
        "millstream_sparc_reach_failed:",
        "mov edx, 1",
        "ret",
    )
}

/// Loads or stores 1, 2, 4 or 8 bytes. A handler that finds the program counter between the first two labels moves it
/// to the third.
///
/// # Safety
/// The address is that of so many bytes of the reservation. The access may raise SIGBUS.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn reach(at: *mut u8, value: u64, what: u64) -> Reached {
    std::arch::naked_asm!(
        "mov x9, x0",
        "adr x10, 3f",
        "add x10, x10, x2, lsl 3",
        "mov x2, x1",
        "mov x0, 0",
        "mov x1, 0",
        "br x10",
        ".globl millstream_sparc_reach_begin",
        ".globl millstream_sparc_reach_end",
        ".globl millstream_sparc_reach_failed",
        ".hidden millstream_sparc_reach_begin",
        ".hidden millstream_sparc_reach_end",
        ".hidden millstream_sparc_reach_failed",
        "millstream_sparc_reach_begin:",
        "3:",
        "ldrb w0, [x9]",
        "ret",
        "ldrh w0, [x9]",
        "ret",
        "ldr w0, [x9]",
        "ret",
        "ldr x0, [x9]",
        "ret",
        "strb w2, [x9]",
        "ret",
        "strh w2, [x9]",
        "ret",
        "str w2, [x9]",
        "ret",
        "str x2, [x9]",
        "ret",
        "millstream_sparc_reach_end:",
        "millstream_sparc_reach_failed:",
        "mov x1, 1",
        "ret",
    )
}

unsafe extern "C" {
    static millstream_sparc_reach_begin: u8;
    static millstream_sparc_reach_end: u8;
    static millstream_sparc_reach_failed: u8;
}

/// The address at which the emulator goes on after SIGBUS at `pc` of the host, if `pc` is an access to a file's page.
#[must_use]
pub(crate) fn after_sigbus(pc: u64) -> Option<u64> {
    let [begin, end, failed] = [
        &raw const millstream_sparc_reach_begin,
        &raw const millstream_sparc_reach_end,
        &raw const millstream_sparc_reach_failed,
    ]
    .map(|label| label as u64);
    (begin..end).contains(&pc).then_some(failed)
}

impl Memory {
    /// Makes pages those of a file.
    pub(super) fn are_of_file(&mut self, pages: std::ops::Range<usize>, protection: Protection) {
        self.table_mut()[pages].fill(protection.page_of_file());
    }

    /// True if the page at `address` is a file's.
    fn is_of_file(&self, address: u64) -> bool {
        self.table().get((address >> PAGE_BITS) as usize).is_some_and(|page| page & FILE != 0)
    }

    /// Loads from a page whose protection the inlined loads do not see.
    #[cold]
    pub(super) fn load_slowly(&self, address: u64, size: u64) -> Result<u64, Fault> {
        self.access(address, size, Access::Read, LOAD, 0)
    }

    /// Stores to a page whose protection the inlined stores do not see.
    #[cold]
    pub(super) fn store_slowly(&self, address: u64, size: u64, value: u64) -> Result<(), Fault> {
        self.access(address, size, Access::Write, STORE, value).map(|_| ())
    }

    /// Makes one access, if it is to a file's page that permits it.
    fn access(&self, address: u64, size: u64, access: Access, what: u64, value: u64) -> Result<u64, Fault> {
        if !address.is_multiple_of(size) || !self.is_of_file(address) {
            return Err(self.fault(address, access));
        }
        let at = self.permitted_span(address, size as usize, access.bit(), access)?;
        // SAFETY: the span lies inside the reservation, so the worst result is SIGBUS, which is handled. Others may
        // write it at any time, so no Rust reference to it exists.
        let reached = unsafe { reach(at, value, what + u64::from(size.trailing_zeros())) };
        if reached.failed != 0 {
            return Err(Fault { address, access, mapped: true, ended: true });
        }
        Ok(reached.value)
    }

    /// The host's address of an object that can be written and that no file ends before.
    pub(super) fn permitted_place(&self, address: u64, size: u64) -> Result<*mut u8, Fault> {
        if self.is_of_file(address) {
            self.access(address, size, Access::Write, LOAD, 0)?;
        }
        self.permitted_span(address, size as usize, Access::Write.bit(), Access::Write)
    }

    /// Checks that the host has each page of a range that is a file's.
    ///
    /// # Errors
    /// The first address where a file has ended.
    pub(super) fn look_at_files(&self, address: u64, length: u64, access: Access) -> Result<(), Fault> {
        let pages = pages_of(address, length);
        for page in pages.filter(|page| self.table()[*page] & FILE != 0) {
            let start = (page as u64) << PAGE_BITS;
            let (begin, end) = (address.max(start), (address + length).min(start + PAGE_BYTES));
            let host = rustix::param::page_size() as u64;
            for at in (begin & !(host - 1)..end).step_by(host as usize) {
                // SAFETY: this is one page of the host inside the reservation, and nothing visible changes.
                let there = unsafe {
                    let place = self.base.as_ptr().add(at as usize).cast();
                    rustix::mm::madvise(place, host as usize, Advice::LinuxPopulateRead)
                };
                // A kernel before 5.14 does not know the advice, and answers another error.
                if there == Err(rustix::io::Errno::FAULT) {
                    return Err(Fault { address: at.max(address), access, mapped: true, ended: true });
                }
            }
        }
        Ok(())
    }
}
