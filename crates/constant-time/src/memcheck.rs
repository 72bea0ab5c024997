//! Requests to valgrind's memcheck: to declare memory undefined or defined, and to count the errors it has
//! seen.
//!
//! Ref. valgrind.h and memcheck.h of valgrind 3.19 (`__SPECIAL_INSTRUCTION_PREAMBLE`, amd64-linux).
//!
//! # Safety
//! Outside of valgrind, a request is four rotations of a register that cancel out, and an exchange of a
//! register with itself. Under valgrind, the request is answered by valgrind. It reads the six words of the
//! request, and changes nothing except its own record of what is defined and the memory that it is asked to
//! copy that record to.
#![allow(unsafe_code)]

use std::arch::asm;

const RUNNING_ON_VALGRIND: usize = 0x1001;
const COUNT_ERRORS: usize = 0x1201;
/// The prefix of the tool's own requests: 'M' and 'C'.
const MAKE_UNDEFINED: usize = 0x4d43_0001;
const MAKE_DEFINED: usize = 0x4d43_0002;
const GET_VALIDITY: usize = 0x4d43_0008;

/// Sends a request. The answer is `otherwise` where nobody listens.
fn request(what: usize, arguments: [usize; 3], otherwise: usize) -> usize {
    let [first, second, third] = arguments;
    let words = [what, first, second, third, 0, 0];
    let mut answer = otherwise;
    // SAFETY: the file's head says why; the words live until after the request, and the flags are declared to
    // change.
    unsafe {
        asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") words.as_ptr(),
            inout("rdx") answer,
            in("rdi") 0_usize,
        );
    }
    answer
}

/// Returns true when the program runs under valgrind.
pub fn listens() -> bool {
    request(RUNNING_ON_VALGRIND, [0; 3], 0) != 0
}

/// Returns the number of errors so far, counting repeated ones again.
pub fn errors() -> usize {
    request(COUNT_ERRORS, [0; 3], 0)
}

/// Declares memory undefined: each branch and each address that depends on it is an error from now on.
pub fn make_undefined(memory: &mut [u8]) {
    request(MAKE_UNDEFINED, [memory.as_ptr() as usize, memory.len(), 0], 0);
}

/// Declares memory defined: its contents are public from now on.
pub fn make_defined(memory: &mut [u8]) {
    request(MAKE_DEFINED, [memory.as_ptr() as usize, memory.len(), 0], 0);
}

/// Returns how many bytes of the memory have a bit that is not defined.
pub fn undefined(memory: &[u8]) -> usize {
    let mut validity = vec![0_u8; memory.len()];
    request(GET_VALIDITY, [memory.as_ptr() as usize, validity.as_mut_ptr() as usize, memory.len()], 0);
    validity.iter().filter(|bits| **bits != 0).count()
}
