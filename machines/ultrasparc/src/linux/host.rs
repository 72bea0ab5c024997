//! The host's system calls: which of them programs may reach, the memory that each touches, and how they are
//! interrupted.
//!
//! A call is made with [`call`]. [`Number`] says for each call which arguments are pointers and how many bytes the
//! kernel may touch there. `call` compares that with the buffers it was given, so it need not trust its callers.
//!
//! A signal that comes just before a call that sleeps must interrupt that sleep. The two instructions before the call
//! check if the thread has caught a signal, and a handler that interrupts between them and the call moves the program
//! counter past it. The call then answers that it was interrupted.
//!
//! # Safety
//! - `call`: the kernel touches what [`Number`] says and nothing else; `call` checks that this lies in the slices and regions
//!   that it was given. None of the calls maps, unmaps or protects memory of this process, and none starts a thread.
//! - `fork`: the child has the thread that called alone. That thread had the turn (`threads.rs`), so the others were
//!   in a call, began or ended one, or waited for their turn: they held no lock but those of the turn, which the child
//!   leaves behind, and of the C library's heap and threads, which the library releases in the child. Threads are the C library's,
//!   not those of Rust's, which has locks of its own around their ends.
#![allow(unsafe_code)]

mod caught;
mod numbers;

use std::ffi::{CStr, CString, c_long, c_void};
use std::mem::MaybeUninit;

pub use caught::{
    CALL, Disposition, as_started, attend, block_all, call_out, caught_number, dispose, end_by, forget,
    is_caught, is_ignored, mask, reserve, reserved, send_again, set_mask, take, take_call,
};

pub use numbers::*;

use self::bytes as b;
use self::numbers::Touch::{
    self, Each, Reads, ReadsAfter, ReadsBytes, Text, Writes, WritesAfter, WritesBytes, WritesCounted,
};
use crate::linux::errno::{Errno, RESTART};
use crate::memory::Region;

/// An argument of a call.
pub enum Argument<'a> {
    /// A number, or no pointer.
    Word(u64),
    /// A path or another text.
    Text(&'a CStr),
    /// Bytes that the kernel reads.
    In(&'a [u8]),
    /// Bytes that the kernel writes, or reads and writes.
    Out(&'a mut [u8]),
    /// Bytes of the program's memory, which other threads may use during the call.
    Region(&'a Region),
}

impl From<u64> for Argument<'_> {
    fn from(word: u64) -> Self {
        Argument::Word(word)
    }
}

impl From<i32> for Argument<'_> {
    fn from(word: i32) -> Self {
        Argument::Word(word as i64 as u64)
    }
}

impl<'a> From<&'a CString> for Argument<'a> {
    fn from(text: &'a CString) -> Self {
        Argument::Text(text)
    }
}

impl<'a> From<&'a [u8]> for Argument<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Argument::In(bytes)
    }
}

impl<'a> From<&'a mut [u8]> for Argument<'a> {
    fn from(bytes: &'a mut [u8]) -> Self {
        Argument::Out(bytes)
    }
}

impl<'a> From<&'a Region> for Argument<'a> {
    fn from(region: &'a Region) -> Self {
        Argument::Region(region)
    }
}

impl<'a> From<Option<&'a [u8]>> for Argument<'a> {
    fn from(bytes: Option<&'a [u8]>) -> Self {
        bytes.map_or(Argument::Word(0), Argument::In)
    }
}

impl<'a> From<Option<&'a mut [u8]>> for Argument<'a> {
    fn from(bytes: Option<&'a mut [u8]>) -> Self {
        bytes.map_or(Argument::Word(0), Argument::Out)
    }
}

/// Makes a call of the host.
///
/// # Errors
/// The kernel's error; [`RESTART`] if a signal was caught before the call began; `EFAULT` if a buffer is shorter than
/// the kernel may touch, which is a mistake of the caller.
pub fn call<const N: usize>(number: Number, mut arguments: [Argument<'_>; N]) -> Result<u64, Errno> {
    if !number.touches.iter().all(|&(index, touch)| fits(&arguments, index, touch)) {
        debug_assert!(false, "call {} was given too short a buffer", number.raw);
        return Err(Errno(libc::EFAULT));
    }
    let mut words = [0; 6];
    for (index, (word, argument)) in words.iter_mut().zip(&mut arguments).enumerate() {
        let touched = number.touches.iter().any(|(touched, _)| *touched == index);
        *word = match argument {
            // An argument that the kernel takes as a number must not be a pointer here.
            Argument::Word(word) => *word,
            _ if !touched => return Err(Errno(libc::EFAULT)),
            Argument::Text(text) => text.as_ptr() as u64,
            Argument::In(bytes) => bytes.as_ptr() as u64,
            Argument::Out(bytes) => bytes.as_mut_ptr() as u64,
            Argument::Region(region) => region.place() as u64,
        };
    }
    // SAFETY: each pointer that the kernel follows was found to be a slice or region as long as it may touch, above.
    unsafe { raw(number.raw, &words) }
}

/// True if an argument is no pointer, or points to as many bytes as the kernel may touch.
fn fits(arguments: &[Argument<'_>], index: usize, touch: Touch) -> bool {
    let word = |index: usize| match arguments.get(index) {
        Some(Argument::Word(word)) => *word,
        _ => 0,
    };
    let (have, written) = match arguments.get(index) {
        None | Some(Argument::Word(0)) => return true,
        Some(Argument::Word(_)) => return false,
        Some(Argument::Text(_)) => return matches!(touch, Text),
        Some(Argument::In(bytes)) => (bytes.len() as u64, false),
        Some(Argument::Out(bytes)) => (bytes.len() as u64, true),
        Some(Argument::Region(region)) => (region.length(), region.is_writable()),
    };
    match touch {
        Text => false,
        Reads(length) => have >= word(length),
        Writes(length) => written && have >= word(length),
        ReadsBytes(length) => have >= length,
        WritesBytes(length) => written && have >= length,
        Each(count, size) => written && word(count).checked_mul(size).is_some_and(|length| have >= length),
        ReadsAfter(length) => word(length).checked_add(8).is_some_and(|length| have >= length),
        WritesAfter(length) => written && word(length).checked_add(8).is_some_and(|length| have >= length),
        WritesCounted(at) => match arguments.get(at) {
            Some(Argument::Out(length)) if length.len() >= 4 => {
                let length = u32::from_ne_bytes([length[0], length[1], length[2], length[3]]);
                written && have >= u64::from(length)
            }
            _ => false,
        },
    }
}

/// Makes a call, and sorts its answer from its error.
///
/// # Safety
/// The kernel may follow the pointers among the words.
unsafe fn raw(number: c_long, words: &[u64; 6]) -> Result<u64, Errno> {
    // SAFETY: the caller guarantees that the kernel may follow the pointers among the words.
    let answer = unsafe { interruptible(caught::state(), number, words) };
    match answer {
        -4095..0 if answer == -i64::from(RESTART.0) => Err(RESTART),
        -4095..0 => Err(Errno(-answer as i32)),
        _ => Ok(answer as u64),
    }
}

/// Makes a system call unless `caught` is set. A handler that finds the program counter between the two labels moves
/// it to the third.
///
/// # Safety
/// The conditions of [`raw`].
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn interruptible(caught: *const u8, number: c_long, words: &[u64; 6]) -> i64 {
    std::arch::naked_asm!(
        "mov rax, rsi",
        "mov r11, rdi",
        "mov rcx, rdx",
        "mov rdi, [rcx]",
        "mov rsi, [rcx + 8]",
        "mov rdx, [rcx + 16]",
        "mov r10, [rcx + 24]",
        "mov r8, [rcx + 32]",
        "mov r9, [rcx + 40]",
        ".globl millstream_sparc_call_look",
        ".globl millstream_sparc_call_made",
        ".globl millstream_sparc_call_left",
        ".hidden millstream_sparc_call_look",
        ".hidden millstream_sparc_call_made",
        ".hidden millstream_sparc_call_left",
        "millstream_sparc_call_look:",
        "cmp byte ptr [r11], 0",
        "jne millstream_sparc_call_left",
        "syscall",
        "millstream_sparc_call_made:",
        "ret",
        "millstream_sparc_call_left:",
        "mov rax, -512",
        "ret",
    )
}

/// Makes a system call unless `caught` is set. A handler that finds the program counter between the two labels moves
/// it to the third.
///
/// # Safety
/// The conditions of [`raw`].
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn interruptible(caught: *const u8, number: c_long, words: &[u64; 6]) -> i64 {
    std::arch::naked_asm!(
        "mov x9, x0",
        "mov x8, x1",
        "mov x10, x2",
        "ldp x0, x1, [x10]",
        "ldp x2, x3, [x10, 16]",
        "ldp x4, x5, [x10, 32]",
        ".globl millstream_sparc_call_look",
        ".globl millstream_sparc_call_made",
        ".globl millstream_sparc_call_left",
        ".hidden millstream_sparc_call_look",
        ".hidden millstream_sparc_call_made",
        ".hidden millstream_sparc_call_left",
        "millstream_sparc_call_look:",
        "ldrb w11, [x9]",
        "cbnz w11, millstream_sparc_call_left",
        "svc 0",
        "millstream_sparc_call_made:",
        "ret",
        "millstream_sparc_call_left:",
        "mov x0, -512",
        "ret",
    )
}

unsafe extern "C" {
    static millstream_sparc_call_look: u8;
    static millstream_sparc_call_made: u8;
    static millstream_sparc_call_left: u8;
}

/// Forks; answers the child's number, or zero in the child.
///
/// # Errors
/// The kernel's error.
pub fn fork() -> Result<i32, Errno> {
    // SAFETY: no thread that the child lacks holds a lock that it needs, as the head of this file says.
    match unsafe { libc::fork() } {
        -1 => Err(last()),
        pid => Ok(pid),
    }
}

/// Starts a detached thread with a stack of that many bytes.
///
/// # Errors
/// There can be no more threads.
pub fn start(stack: usize, run: Box<dyn FnOnce() + Send>) -> Result<(), Errno> {
    extern "C" fn begin(run: *mut c_void) -> *mut c_void {
        // SAFETY: this is the box that was given away below.
        let run = unsafe { Box::from_raw(run.cast::<Box<dyn FnOnce() + Send>>()) };
        run();
        std::ptr::null_mut()
    }
    let run = Box::into_raw(Box::new(run));
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    // SAFETY: the attributes are initialised before they are used; the thread gets a box that nobody else has, which
    // is taken back if no thread was made.
    let error = unsafe {
        libc::pthread_attr_init(attributes.as_mut_ptr());
        libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), stack);
        libc::pthread_attr_setdetachstate(attributes.as_mut_ptr(), libc::PTHREAD_CREATE_DETACHED);
        let error = libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), begin, run.cast());
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        if error != 0 {
            drop(Box::from_raw(run));
        }
        error
    };
    if error == 0 { Ok(()) } else { Err(Errno(error)) }
}

/// Ends this process at once.
pub fn exit(status: u8) -> ! {
    // SAFETY: the call takes only a number, and nothing of this process is used afterwards.
    unsafe { libc::_exit(status.into()) }
}

/// Becomes another program. Returns only if that fails.
pub fn execute(path: &CStr, arguments: &[CString], environment: &[CString]) -> Errno {
    let pointers = |texts: &[CString]| -> Vec<_> {
        texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (arguments, environment) = (pointers(arguments), pointers(environment));
    // SAFETY: both lists end with a null pointer, and their texts outlive the call.
    unsafe { libc::execve(path.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    last()
}

/// Makes `pselect6`, whose last argument is a pointer to a pointer and a length.
///
/// # Errors
/// The errors of [`call`].
pub fn pselect(
    count: u64,
    sets: [Option<&mut [u8]>; 3],
    timeout: Option<&mut [u8]>,
    mask: Option<u64>,
) -> Result<u64, Errno> {
    let [reads, writes, exceptions] = sets;
    let mut arguments: [Argument<'_>; 5] =
        [count.into(), reads.into(), writes.into(), exceptions.into(), timeout.into()];
    if count > 8 * b::FD_SET as u64
        || !PSELECT.touches.iter().all(|&(index, touch)| fits(&arguments, index, touch))
    {
        return Err(Errno(libc::EINVAL));
    }
    let mut words = [0; 6];
    for (word, argument) in words.iter_mut().zip(&mut arguments) {
        *word = match argument {
            Argument::Word(word) => *word,
            Argument::Out(bytes) => bytes.as_mut_ptr() as u64,
            Argument::In(_) | Argument::Text(_) | Argument::Region(_) => return Err(Errno(libc::EFAULT)),
        };
    }
    let set = mask.unwrap_or(0);
    let sized = [mask.map_or(0, |_| &raw const set as u64), b::SIGSET as u64];
    words[5] = sized.as_ptr() as u64;
    // SAFETY: the slices are as long as the call's sets and time, and the mask is one word.
    unsafe { raw(PSELECT.raw, &words) }
}

/// The most pieces that one call takes.
const IOV_MAX: usize = 1024;

/// Makes `vmsplice` into a pipe: the kernel keeps the pages of these bytes, not a copy.
///
/// # Errors
/// The errors of [`call`].
pub fn splice_from_memory(pipe: u64, pieces: &[Region], flags: u64) -> Result<u64, Errno> {
    let vector: Vec<_> = pieces
        .iter()
        .take(IOV_MAX)
        .map(|piece| libc::iovec { iov_base: piece.place().cast(), iov_len: piece.length() as usize })
        .collect();
    // SAFETY: the kernel reads the vector and the regions that it names. It may keep their pages, which it frees
    // itself.
    unsafe { raw(libc::SYS_vmsplice, &[pipe, vector.as_ptr() as u64, vector.len() as u64, flags, 0, 0]) }
}

/// Makes `vmsplice` out of a pipe, which copies.
///
/// # Errors
/// The errors of [`call`].
pub fn splice_to_memory(pipe: u64, to: &mut [u8], flags: u64) -> Result<u64, Errno> {
    let piece = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
    // SAFETY: the kernel writes the slice, which is borrowed mutably.
    unsafe { raw(libc::SYS_vmsplice, &[pipe, &raw const piece as u64, 1, flags, 0, 0]) }
}

/// The buffers from which a message is sent or into which it is received.
pub struct Message<'a> {
    /// The address of the sender or receiver.
    pub name: &'a mut [u8],
    /// The bytes of the message.
    pub data: &'a mut [u8],
    /// The ancillary data.
    pub control: &'a mut [u8],
}

/// Sends a message.
///
/// # Errors
/// The errors of [`call`].
pub fn send_message(socket: u64, message: &mut Message<'_>, flags: u64) -> Result<u64, Errno> {
    with_header(message, |header| {
        // SAFETY: the header's pointers are slices of the lengths beside them.
        unsafe { raw(libc::SYS_sendmsg, &[socket, header as u64, flags, 0, 0, 0]) }
    })
    .map(|(sent, ..)| sent)
}

/// Receives a message; answers the bytes received, the lengths of its name and of its control data, and its flags.
///
/// # Errors
/// The errors of [`call`].
pub fn receive_message(
    socket: u64,
    message: &mut Message<'_>,
    flags: u64,
) -> Result<(u64, usize, usize, u32), Errno> {
    with_header(message, |header| {
        // SAFETY: the header's pointers are slices of the lengths beside them, borrowed mutably.
        unsafe { raw(libc::SYS_recvmsg, &[socket, header as u64, flags, 0, 0, 0]) }
    })
}

fn with_header(
    message: &mut Message<'_>,
    made: impl FnOnce(*mut libc::msghdr) -> Result<u64, Errno>,
) -> Result<(u64, usize, usize, u32), Errno> {
    let mut data = libc::iovec { iov_base: message.data.as_mut_ptr().cast(), iov_len: message.data.len() };
    // SAFETY: a header of all zeros is valid.
    let mut header: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    if !message.name.is_empty() {
        header.msg_name = message.name.as_mut_ptr().cast();
        header.msg_namelen = message.name.len() as u32;
    }
    if !message.control.is_empty() {
        header.msg_control = message.control.as_mut_ptr().cast();
        header.msg_controllen = message.control.len();
    }
    header.msg_iov = &mut data;
    header.msg_iovlen = 1;
    let count = made(&mut header)?;
    Ok((count, header.msg_namelen as usize, header.msg_controllen, header.msg_flags as u32))
}

fn last() -> Errno {
    Errno(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_writes_only_where_there_is_room() {
        let mut bytes = [0_u8; 8];
        let count = call(GETRANDOM, [bytes.as_mut_slice().into(), 8.into(), 0.into()]);
        assert_eq!(count, Ok(8));
        assert!(!fits(&[Argument::Out(&mut bytes), Argument::Word(9)], 0, Writes(1)));
        assert!(!fits(&[Argument::In(&bytes), Argument::Word(8)], 0, Writes(1)), "it is only to be read");
        assert!(!fits(&[Argument::Word(0x1000), Argument::Word(8)], 0, Writes(1)), "a number is no buffer");
        assert!(fits(&[Argument::Word(0), Argument::Word(8)], 0, Writes(1)), "no pointer is no harm");
        let pair = [Argument::Word(0), Argument::Out(&mut bytes), Argument::Word(2)];
        assert!(fits(&pair, 1, Each(2, 4)) && !fits(&pair, 1, Each(2, 8)));
    }

    #[test]
    fn an_error_is_the_kernels() {
        assert_eq!(call(CLOSE, [(-1).into()]), Err(Errno(libc::EBADF)));
    }
}
