//! The border to C: what programs pass becomes slices and values here, and nowhere else.
//!
//! # Safety
//! A program promises, by the standard, that a pointer it passes is NULL or valid for as many bytes or elements as the length
//! beside it says, and that nobody else writes to them during a call. What can be checked beyond that is checked: NULL, and lengths that no
//! memory has. Pointers may be misaligned: structures are read and written as bytes. Input and output of a call may be the same
//! memory, so results are made elsewhere and copied when the input is not needed any more.
#![allow(unsafe_code)]

mod entries;
mod lists;

pub use self::lists::{C_GetFunctionList, C_GetInterface, C_GetInterfaceList};

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use cryptoki_sys::*;

use crate::refusal::{Outcome, Refusal, demand, refuse};

/// Runs the inner part of a function; a panic becomes a return value.
pub(crate) fn guard(call: impl FnOnce() -> Outcome) -> CK_RV {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => CKR_OK,
        Ok(Err(Refusal(value))) => value,
        Err(_) => CKR_GENERAL_ERROR,
    }
}

/// Bytes that the program passed. They are copied wherever they outlive the call.
///
/// # Safety
/// As the module says.
pub(crate) unsafe fn bytes<'a>(pointer: *const CK_BYTE, len: CK_ULONG) -> Outcome<&'a [u8]> {
    if len == 0 {
        return Ok(&[]);
    }
    let len = usize::try_from(len).ok().filter(|len| isize::try_from(*len).is_ok());
    match len {
        // SAFETY: the program's promise; the length was checked.
        Some(len) if !pointer.is_null() => Ok(unsafe { std::slice::from_raw_parts(pointer, len) }),
        _ => refuse(CKR_ARGUMENTS_BAD),
    }
}

/// Reads a structure that may be misaligned.
///
/// # Safety
/// As the module says; every pattern of bytes is a `T`.
pub(crate) unsafe fn structure<T>(pointer: *const T) -> Outcome<T> {
    demand(!pointer.is_null(), CKR_ARGUMENTS_BAD)?;
    // SAFETY: the program's promise.
    Ok(unsafe { ptr::read_unaligned(pointer) })
}

/// Writes a value to where the program wants it, which may be misaligned.
///
/// # Safety
/// As the module says.
pub(crate) unsafe fn put<T>(pointer: *mut T, value: T) -> Outcome {
    demand(!pointer.is_null(), CKR_ARGUMENTS_BAD)?;
    // SAFETY: the program's promise.
    unsafe { ptr::write_unaligned(pointer, value) };
    Ok(())
}

/// The place of a result: a buffer, or none to ask for the length, and where the length goes.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    buffer: *mut CK_BYTE,
    len: *mut CK_ULONG,
}

// SAFETY: the pointers are the program's, which has them used by whichever thread makes the next call of the session.
unsafe impl Send for Place {}

impl Place {
    /// Takes the program's pointers.
    ///
    /// # Safety
    /// As the module says, for as long as the place is used.
    pub(crate) unsafe fn new(buffer: *mut CK_BYTE, len: *mut CK_ULONG) -> Outcome<Self> {
        demand(!len.is_null(), CKR_ARGUMENTS_BAD)?;
        Ok(Place { buffer, len })
    }

    /// Returns true if a result of that length goes to the program. Else the program only learns the length: without an error if
    /// it asked for it alone.
    ///
    /// # Errors
    /// `CKR_BUFFER_TOO_SMALL`.
    pub(crate) fn takes(self, len: usize) -> Outcome<bool> {
        if self.buffer.is_null() {
            self.tell(len);
            return Ok(false);
        }
        if self.room() < len {
            self.tell(len);
            return refuse(CKR_BUFFER_TOO_SMALL);
        }
        Ok(true)
    }

    /// Returns true if the program asks for the length alone.
    pub(crate) fn is_question(self) -> bool {
        self.buffer.is_null()
    }

    /// Returns the length of the program's buffer.
    pub(crate) fn room(self) -> usize {
        // SAFETY: the program's promise; not NULL, as `new` checked.
        usize::try_from(unsafe { ptr::read_unaligned(self.len) }).unwrap_or(usize::MAX)
    }

    /// Returns the address of the program's buffer.
    pub(crate) fn address(self) -> *mut CK_BYTE {
        self.buffer
    }

    /// Tells the program a length.
    pub(crate) fn tell(self, len: usize) {
        // SAFETY: the program's promise; not NULL, as `new` checked.
        unsafe { ptr::write_unaligned(self.len, len as CK_ULONG) };
    }

    /// Writes a result to the buffer, which had room for it when the operation began. The place of the length may be gone by now.
    pub(crate) fn fill(self, result: &[u8]) -> Outcome {
        demand(!self.buffer.is_null(), CKR_FUNCTION_FAILED)?;
        // SAFETY: the program's promise, that its buffer stays until the operation is complete.
        unsafe { ptr::copy_nonoverlapping(result.as_ptr(), self.buffer, result.len()) };
        Ok(())
    }

    /// Gives the program a result.
    ///
    /// # Errors
    /// `CKR_BUFFER_TOO_SMALL`.
    pub(crate) fn give(self, result: &[u8]) -> Outcome {
        if self.takes(result.len())? {
            // SAFETY: the buffer takes as many bytes; `result` is this module's memory.
            unsafe { ptr::copy_nonoverlapping(result.as_ptr(), self.buffer, result.len()) };
            self.tell(result.len());
        }
        Ok(())
    }
}

/// A mechanism that the program passed, with its parameter as bytes.
pub(crate) struct Mechanism<'a> {
    pub(crate) kind: CK_MECHANISM_TYPE,
    pub(crate) parameter: &'a [u8],
}

impl Mechanism<'_> {
    /// Reads a mechanism.
    ///
    /// # Safety
    /// As the module says.
    pub(crate) unsafe fn read<'a>(pointer: *const CK_MECHANISM) -> Outcome<Mechanism<'a>> {
        // SAFETY: the program's promise.
        let given = unsafe { structure(pointer)? };
        let refused = Refusal(CKR_MECHANISM_PARAM_INVALID);
        // SAFETY: the program's promise.
        let parameter =
            unsafe { bytes(given.pParameter.cast(), given.ulParameterLen) }.map_err(|_| refused)?;
        Ok(Mechanism { kind: given.mechanism, parameter })
    }

    /// Returns the parameter as a structure.
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID` for another length.
    ///
    /// # Safety
    /// Every pattern of bytes is a `T`.
    pub(crate) unsafe fn parameter<T>(&self) -> Outcome<T> {
        demand(self.parameter.len() == size_of::<T>(), CKR_MECHANISM_PARAM_INVALID)?;
        // SAFETY: there are as many bytes.
        Ok(unsafe { ptr::read_unaligned(self.parameter.as_ptr().cast()) })
    }

    /// Refuses a parameter where there is none.
    pub(crate) fn bare(&self) -> Outcome {
        demand(self.parameter.is_empty(), CKR_MECHANISM_PARAM_INVALID)
    }
}

/// Bytes that a parameter points to.
///
/// # Safety
/// As the module says.
pub(crate) unsafe fn pointed<'a>(pointer: *const CK_BYTE, len: CK_ULONG) -> Outcome<&'a [u8]> {
    // SAFETY: the program's promise.
    unsafe { bytes(pointer, len) }.map_err(|_| Refusal(CKR_MECHANISM_PARAM_INVALID))
}

/// The attributes that a program wants to know, one after another, with where each goes.
pub(crate) struct Wanted {
    pointer: *mut CK_ATTRIBUTE,
    count: usize,
}

impl Wanted {
    /// Takes the program's pointers.
    ///
    /// # Safety
    /// As the module says, for as long as the value is used.
    pub(crate) unsafe fn new(pointer: *mut CK_ATTRIBUTE, count: CK_ULONG) -> Outcome<Self> {
        let count = count_of(pointer, count)?;
        Ok(Wanted { pointer, count })
    }

    /// Answers each with what `answer` returns for its type.
    ///
    /// # Errors
    /// The last refusal of a single attribute; the others are answered all the same.
    pub(crate) fn answer(self, mut answer: impl FnMut(CK_ATTRIBUTE_TYPE) -> Outcome<Vec<u8>>) -> Outcome {
        let mut outcome = Ok(());
        for index in 0..self.count {
            // SAFETY: the program's promise; `count` was checked.
            let place = unsafe { self.pointer.add(index) };
            // SAFETY: as above.
            let mut wanted = unsafe { ptr::read_unaligned(place) };
            let room = usize::try_from(wanted.ulValueLen).unwrap_or(usize::MAX);
            let given = answer(wanted.type_).map(zeroize::Zeroizing::new);
            wanted.ulValueLen = CK_UNAVAILABLE_INFORMATION;
            match given {
                Ok(value) if wanted.pValue.is_null() || room >= value.len() => {
                    if !wanted.pValue.is_null() {
                        // SAFETY: the program's promise; it has room for as many bytes.
                        unsafe {
                            ptr::copy_nonoverlapping(value.as_ptr(), wanted.pValue.cast(), value.len())
                        };
                    }
                    wanted.ulValueLen = value.len() as CK_ULONG;
                }
                Ok(_) => outcome = refuse(CKR_BUFFER_TOO_SMALL),
                Err(refusal) => outcome = Err(refusal),
            }
            // SAFETY: as above.
            unsafe { ptr::write_unaligned(place, wanted) };
        }
        outcome
    }
}

/// Reads the attributes of a template.
///
/// # Safety
/// As the module says.
pub(crate) unsafe fn attributes<'a>(
    pointer: *const CK_ATTRIBUTE,
    count: CK_ULONG,
) -> Outcome<Vec<(CK_ATTRIBUTE_TYPE, &'a [u8])>> {
    let count = count_of(pointer, count)?;
    let refused = Refusal(CKR_ATTRIBUTE_VALUE_INVALID);
    let mut attributes = Vec::with_capacity(count.min(64));
    for index in 0..count {
        // SAFETY: the program's promise; `count` was checked.
        let given = unsafe { ptr::read_unaligned(pointer.add(index)) };
        // SAFETY: the program's promise.
        let value = unsafe { bytes(given.pValue.cast(), given.ulValueLen) }.map_err(|_| refused)?;
        attributes.push((given.type_, value));
    }
    Ok(attributes)
}

fn count_of(pointer: *const CK_ATTRIBUTE, count: CK_ULONG) -> Outcome<usize> {
    let most = isize::MAX as usize / size_of::<CK_ATTRIBUTE>();
    let count = usize::try_from(count).ok().filter(|count| *count <= most);
    let count = count.ok_or(Refusal(CKR_ARGUMENTS_BAD))?;
    demand(count == 0 || !pointer.is_null(), CKR_ARGUMENTS_BAD)?;
    Ok(count)
}
