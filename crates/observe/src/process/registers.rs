//! The registers of a stopped thread.

/// The kernel's layout of the registers.
pub(super) type Raw = libc::user_regs_struct;

/// The registers of a stopped thread. Changes are written before the thread is resumed.
#[derive(Clone, Copy, Debug)]
pub struct Registers {
    raw: Raw,
}

impl Registers {
    pub(super) fn new(raw: Raw) -> Registers {
        Registers { raw }
    }

    pub(super) fn raw(&self) -> &Raw {
        &self.raw
    }
}

#[cfg(target_arch = "x86_64")]
macro_rules! accessors {
    ($($field:ident $set:ident $text:literal;)*) => {
        impl Registers {
            $(
                #[doc = concat!("Returns ", $text, ".")]
                pub fn $field(&self) -> u64 {
                    self.raw.$field
                }

                #[doc = concat!("Sets ", $text, ".")]
                pub fn $set(&mut self, value: u64) {
                    self.raw.$field = value;
                }
            )*
        }

        impl PartialEq for Registers {
            fn eq(&self, other: &Registers) -> bool {
                true $(&& self.raw.$field == other.raw.$field)*
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
accessors! {
    rax set_rax "RAX"; rbx set_rbx "RBX"; rcx set_rcx "RCX"; rdx set_rdx "RDX";
    rsi set_rsi "RSI"; rdi set_rdi "RDI"; rbp set_rbp "RBP"; rsp set_rsp "RSP";
    r8 set_r8 "R8"; r9 set_r9 "R9"; r10 set_r10 "R10"; r11 set_r11 "R11";
    r12 set_r12 "R12"; r13 set_r13 "R13"; r14 set_r14 "R14"; r15 set_r15 "R15";
    rip set_rip "RIP"; eflags set_eflags "RFLAGS"; orig_rax set_orig_rax "the system call's number";
    fs_base set_fs_base "the base of FS"; gs_base set_gs_base "the base of GS"; cs set_cs "CS";
}

#[cfg(target_arch = "x86_64")]
impl Registers {
    /// Returns the address of the next instruction.
    pub fn pc(&self) -> u64 {
        self.raw.rip
    }

    /// Sets the address of the next instruction.
    pub fn set_pc(&mut self, address: u64) {
        self.raw.rip = address;
    }

    /// Returns the stack pointer.
    pub fn sp(&self) -> u64 {
        self.raw.rsp
    }

    /// Returns true when the thread runs 32-bit code.
    pub fn is_32_bit(&self) -> bool {
        /// The kernel's code segment of 32-bit programs.
        const USER32_CS: u64 = 0x23;
        self.raw.cs == USER32_CS
    }

    /// Returns the result of a system call.
    pub fn result(&self) -> u64 {
        self.raw.rax
    }

    /// Returns a register by its number in instructions: RAX is 0, R15 is 15.
    ///
    /// # Panics
    /// Panics when the number is above 15.
    pub fn general(&self, number: usize) -> u64 {
        let raw = &self.raw;
        [
            raw.rax, raw.rcx, raw.rdx, raw.rbx, raw.rsp, raw.rbp, raw.rsi, raw.rdi, raw.r8, raw.r9, raw.r10,
            raw.r11, raw.r12, raw.r13, raw.r14, raw.r15,
        ][number]
    }

    /// Sets up a system call, and marks it as none that the kernel would restart.
    pub(super) fn prepare_call(&mut self, at: u64, number: u64, arguments: [u64; 6]) {
        let raw = &mut self.raw;
        raw.rip = at;
        raw.rax = number;
        raw.orig_rax = u64::MAX;
        let [a, b, c, d, e, f] = arguments;
        if raw.cs == 0x23 {
            (raw.rbx, raw.rcx, raw.rdx, raw.rsi, raw.rdi, raw.rbp) = (a, b, c, d, e, f);
        } else {
            (raw.rdi, raw.rsi, raw.rdx, raw.r10, raw.r8, raw.r9) = (a, b, c, d, e, f);
        }
    }

    /// Makes the kernel skip the system call that is about to begin.
    pub(super) fn skip_call(&mut self) {
        self.raw.orig_rax = u64::MAX;
    }
}

#[cfg(target_arch = "aarch64")]
impl PartialEq for Registers {
    fn eq(&self, other: &Registers) -> bool {
        let (one, other) = (&self.raw, &other.raw);
        (one.regs, one.sp, one.pc, one.pstate) == (other.regs, other.sp, other.pc, other.pstate)
    }
}

#[cfg(target_arch = "aarch64")]
impl Registers {
    /// Returns the address of the next instruction.
    pub fn pc(&self) -> u64 {
        self.raw.pc
    }

    /// Sets the address of the next instruction.
    pub fn set_pc(&mut self, address: u64) {
        self.raw.pc = address;
    }

    /// Returns the stack pointer.
    pub fn sp(&self) -> u64 {
        self.raw.sp
    }

    /// Returns false: the registers of threads that run 32-bit code can't be fetched here.
    pub fn is_32_bit(&self) -> bool {
        false
    }

    /// Returns the result of a system call.
    pub fn result(&self) -> u64 {
        self.raw.regs[0]
    }

    /// Returns one of X0 to X30.
    ///
    /// # Panics
    /// Panics when the number is above 30.
    pub fn general(&self, number: usize) -> u64 {
        self.raw.regs[number]
    }
}
