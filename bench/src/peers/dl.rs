//! Loads a shared library at run time, without its symbols becoming visible to anything else.
//!
//! # Safety
//! A [`Library`] is never closed, so what is found in it stays valid. The caller who asks for a symbol states
//! its type.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_void};

/// A library that stays loaded.
#[derive(Clone, Copy)]
pub struct Library(*mut c_void);

impl Library {
    /// Loads the library of that name with `RTLD_LOCAL`.
    ///
    /// # Errors
    /// The loader's message.
    pub fn open(name: &str) -> Result<Library, String> {
        let c_name = CString::new(name).expect("no NUL in a library's name");
        // SAFETY: the name is a C string; the libraries named here have benign constructors.
        let handle = unsafe { libc::dlopen(c_name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() { Err(last_error()) } else { Ok(Library(handle)) }
    }

    /// Returns the function of that name, as `F`.
    ///
    /// # Errors
    /// When the library has no such symbol.
    ///
    /// # Safety
    /// `F` is the type of a function pointer and the symbol's true type.
    pub unsafe fn symbol<F: Copy>(self, name: &str) -> Result<F, String> {
        assert_eq!(size_of::<F>(), size_of::<*mut c_void>());
        let c_name = CString::new(name).expect("no NUL in a symbol");
        // SAFETY: the handle is open for ever, the name is a C string.
        let found = unsafe { libc::dlsym(self.0, c_name.as_ptr()) };
        if found.is_null() {
            return Err(last_error());
        }
        // SAFETY: of pointer size, not null; the caller vouches for the type.
        Ok(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&found) })
    }
}

fn last_error() -> String {
    // SAFETY: dlerror returns null or a C string that is valid until the next call.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the loader gave no reason".to_owned();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
