//! The functions that C calls: each checks its pointers and lengths, catches panics, and calls an inner function that
//! returns a `Result`. The doc comments here are the text of millstream.h.
//!
//! # Safety
//! A C program promises, by the header's first paragraphs, that a pointer it passes is NULL or valid for as many bytes
//! as the length beside it says; that a handle is NULL or came from the function that makes its kind, was not freed
//! since, and is used by one thread at a time unless it is a key; and that nobody else writes meanwhile to what a
//! call names. All that can be checked beyond that is checked: NULL, lengths, and that no output overlaps another
//! part of the call. Bytes become references in [`In::get`] and [`Out::get`] only, objects and structures in [`object`],
//! [`object_mut`] and where a structure's fields are read, after those checks, and for as long as the call.
#![allow(unsafe_code)]
// The caller's duties are the same for all functions, and stand above and at the head of the header.
#![allow(clippy::missing_safety_doc)]

// The order is that of the header.
pub mod library;

pub mod direct;

pub mod slh_dsa;

pub mod stream;

pub mod batch;

pub mod queue;

pub mod isolated;

pub mod usage;

pub mod srtp;

pub mod lent;

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use millstream::InOut;

use crate::failure::{Failure, null};
use crate::pass::Pass;
use crate::status::Status;

thread_local! {
    static LAST: RefCell<Last> = const { RefCell::new(Last { failure: None, text: None }) };
}

/// The last failure on this thread, and its text once somebody asked for it.
struct Last {
    failure: Option<Failure>,
    text: Option<CString>,
}

/// Runs the inner part of a function; a panic becomes a status.
#[inline(always)]
pub fn guard(call: impl FnOnce() -> Result<(), Failure>) -> Status {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => Status::Ok,
        Ok(Err(failure)) => tell(failure),
        Err(panic) => tell(Failure::Panic(said(panic))),
    }
}

/// Runs the inner part of a function that can't fail but returns something; a panic, or NULL, becomes `otherwise`.
#[inline(always)]
pub fn guard_value<T>(otherwise: T, call: impl FnOnce() -> Result<T, Failure>) -> T {
    let mut value = otherwise;
    guard(|| {
        value = call()?;
        Ok(())
    });
    value
}

/// Keeps a failure for callers who ask for it.
#[cold]
pub fn tell(failure: Failure) -> Status {
    let status = failure.status();
    // At a thread's very end nobody is left to ask.
    let _ = LAST.try_with(|last| *last.borrow_mut() = Last { failure: Some(failure), text: None });
    status
}

/// Returns the last failure of this thread in words.
fn last_text() -> *const c_char {
    let text = LAST.try_with(|last| {
        let Last { failure, text } = &mut *last.borrow_mut();
        let Some(failure) = failure else { return Status::Ok.text().as_ptr() };
        let made = text.get_or_insert_with(|| {
            let bytes: Vec<u8> = failure.to_string().bytes().filter(|byte| *byte != 0).collect();
            CString::new(bytes).unwrap_or_default()
        });
        made.as_ptr()
    });
    text.unwrap_or(Status::Ok.text().as_ptr())
}

/// Returns the message of a panic.
#[cold]
fn said(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text").to_owned()
}

/// Bytes of the caller's: their address, their number, and their name in the header.
#[derive(Clone, Copy)]
struct Span {
    name: &'static str,
    at: usize,
    len: usize,
}

impl Span {
    #[inline(always)]
    fn new(name: &'static str, at: usize, len: usize) -> Result<Self, Failure> {
        if at == 0 && len > 0 || len > isize::MAX as usize {
            return Err(impossible(name, at, len));
        }
        Ok(Span { name, at, len })
    }

    #[inline(always)]
    fn apart(&self, other: &Span) -> Result<(), Failure> {
        let meet = self.at < other.at.wrapping_add(other.len) && other.at < self.at.wrapping_add(self.len);
        if meet && self.len > 0 && other.len > 0 {
            return Err(overlap(self.name, other.name));
        }
        Ok(())
    }
}

// Failures are made out of line: the code that makes one is as long as the rest of a wrapper.

#[cold]
#[inline(never)]
fn overlap(a: &'static str, b: &'static str) -> Failure {
    Failure::Overlap(a, b)
}

#[cold]
#[inline(never)]
fn impossible(name: &'static str, at: usize, len: usize) -> Failure {
    if at == 0 { Failure::Null(name) } else { Failure::Size(name, len) }
}

/// Bytes that are read.
#[derive(Clone, Copy)]
pub struct In {
    at: *const u8,
    span: Span,
}

impl In {
    /// Checks for NULL and for an impossible length.
    #[inline(always)]
    pub fn new(name: &'static str, at: *const u8, len: usize) -> Result<Self, Failure> {
        Ok(In { at, span: Span::new(name, at as usize, len)? })
    }

    /// Returns the bytes.
    ///
    /// # Safety
    /// They are valid, and nothing writes to them, for `'a`: every output of the call was found to lie apart.
    #[inline(always)]
    pub unsafe fn get<'a>(self) -> &'a [u8] {
        if self.span.len == 0 {
            return &[];
        }
        // SAFETY: not NULL, no longer than an object can be; the rest is the caller's word.
        unsafe { std::slice::from_raw_parts(self.at, self.span.len) }
    }
}

/// Bytes that are written.
#[derive(Clone, Copy)]
pub struct Out {
    at: *mut u8,
    span: Span,
}

impl Out {
    /// Checks for NULL and for an impossible length.
    #[inline(always)]
    pub fn new(name: &'static str, at: *mut u8, len: usize) -> Result<Self, Failure> {
        Ok(Out { at, span: Span::new(name, at as usize, len)? })
    }

    /// Checks that it overlaps no input.
    #[inline(always)]
    pub fn apart<const N: usize>(&self, others: &[In; N]) -> Result<(), Failure> {
        // An iterator's adaptor would be a call.
        for other in others {
            self.span.apart(&other.span)?;
        }
        Ok(())
    }

    /// Checks that it does not overlap another output.
    #[inline(always)]
    pub fn apart_from(&self, other: &Out) -> Result<(), Failure> {
        self.span.apart(&other.span)
    }

    /// Returns the bytes.
    ///
    /// # Safety
    /// They are valid and nobody else's for `'a`: every other part of the call was found to lie apart.
    #[inline(always)]
    pub unsafe fn get<'a>(self) -> &'a mut [u8] {
        if self.span.len == 0 {
            return &mut [];
        }
        // SAFETY: not NULL, no longer than an object can be; the rest is the caller's word.
        unsafe { std::slice::from_raw_parts_mut(self.at, self.span.len) }
    }
}

/// Returns input and output of one length: the same memory, or apart.
///
/// # Safety
/// As for [`In::get`] and [`Out::get`].
#[inline(always)]
pub unsafe fn pass<'a>(input: In, output: Out) -> Result<InOut<'a>, Failure> {
    if input.at == output.at.cast_const() {
        // SAFETY: as the caller says.
        return Ok(InOut::in_place(unsafe { output.get() }));
    }
    output.apart(&[input])?;
    // SAFETY: as the caller says, and the two don't overlap.
    Ok(unsafe { InOut::separate(input.get(), output.get())? })
}

/// Returns input and output that may differ in length: from one start, or apart.
///
/// # Safety
/// As for [`In::get`] and [`Out::get`].
#[inline(always)]
pub unsafe fn uneven_pass<'a>(input: In, output: Out) -> Result<Pass<'a>, Failure> {
    let (len, room) = (input.span.len, output.span.len);
    if input.at == output.at.cast_const() && len > 0 {
        let buffer = Out::new(output.span.name, output.at, len.max(room))?;
        // SAFETY: as the caller says, of both; they are one.
        return Ok(Pass::InPlace { buffer: unsafe { buffer.get() }, len, room });
    }
    output.apart(&[input])?;
    // SAFETY: as the caller says, and the two don't overlap.
    Ok(unsafe { Pass::Apart { input: input.get(), output: output.get() } })
}

/// Returns the object behind a handle.
///
/// # Safety
/// It is NULL or a handle that was not freed.
#[inline(always)]
pub unsafe fn object<'a, T>(name: &'static str, at: *const T) -> Result<&'a T, Failure> {
    // SAFETY: as the caller says.
    unsafe { at.as_ref() }.ok_or_else(|| null(name))
}

/// Returns the object behind a handle, to be changed.
///
/// # Safety
/// It is NULL or a handle that was not freed and that nobody else uses now.
#[inline(always)]
pub unsafe fn object_mut<'a, T>(name: &'static str, at: *mut T) -> Result<&'a mut T, Failure> {
    // SAFETY: as the caller says.
    unsafe { at.as_mut() }.ok_or_else(|| null(name))
}

/// Writes a result.
///
/// # Safety
/// It is NULL or room for one.
#[inline(always)]
pub unsafe fn put<T>(name: &'static str, at: *mut T, value: T) -> Result<(), Failure> {
    if at.is_null() {
        return Err(null(name));
    }
    // SAFETY: not NULL; room for one, as the caller says.
    unsafe { at.write(value) };
    Ok(())
}

/// Makes an object and writes its handle, or NULL if it can't be made.
///
/// # Safety
/// As for [`put`].
#[inline(always)]
pub unsafe fn make<T>(
    name: &'static str,
    at: *mut *mut T,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<(), Failure> {
    // SAFETY: as the caller says.
    unsafe {
        put(name, at, std::ptr::null_mut())?;
        put(name, at, Box::into_raw(Box::new(make()?)))
    }
}

/// Frees an object. NULL is ignored.
///
/// # Safety
/// It is NULL or a handle that came from [`make`] and was not freed.
pub unsafe fn free<T>(at: *mut T) {
    guard(|| {
        if !at.is_null() {
            // SAFETY: as the caller says.
            drop(unsafe { Box::from_raw(at) });
        }
        Ok(())
    });
}

/// Returns a text of the caller's; none where it is NULL.
///
/// # Safety
/// It is NULL or a text that ends with a zero.
pub unsafe fn text<'a>(at: *const c_char) -> Option<&'a CStr> {
    // SAFETY: as the caller says.
    (!at.is_null()).then(|| unsafe { CStr::from_ptr(at) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last() -> String {
        // SAFETY: a text of this thread's.
        unsafe { CStr::from_ptr(last_text()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_becomes_a_status() {
        let status = guard(|| {
            let empty: Vec<u8> = Vec::new();
            assert!(!empty.is_empty(), "a fault of the test's");
            Ok(())
        });
        assert_eq!(status, Status::Panic);
        assert!(last().contains("a fault of the test's"), "{}", last());
        assert_eq!(guard_value(7, || -> Result<i32, Failure> { panic!("another") }), 7);
        assert!(last().contains("another"));
    }

    #[test]
    fn a_zero_inside_a_text_does_not_end_it() {
        guard(|| panic!("before\0after"));
        assert!(last().contains("beforeafter"));
    }

    #[test]
    fn texts_are_each_threads_own() {
        guard(|| Err(Failure::Null("input")));
        std::thread::spawn(|| assert_eq!(last(), "done")).join().unwrap();
        assert!(last().starts_with("input is NULL"));
    }

    #[test]
    fn spans_meet_only_where_they_share_a_byte() {
        let span = |at, len| Span::new("x", at, len).unwrap();
        let fixed = span(100, 10);
        for (at, len, apart) in
            [(90, 10, true), (110, 5, true), (109, 1, false), (95, 6, false), (105, 0, true)]
        {
            assert_eq!(fixed.apart(&span(at, len)).is_ok(), apart, "{at} {len}");
            assert_eq!(span(at, len).apart(&fixed).is_ok(), apart, "{at} {len}");
        }
        assert!(matches!(Span::new("x", 0, 1), Err(Failure::Null("x"))));
        assert!(matches!(Span::new("x", 1, usize::MAX), Err(Failure::Size("x", _))));
        assert!(Span::new("x", 0, 0).is_ok());
    }
}
