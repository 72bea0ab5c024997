//! Libraries with a C interface, loaded at run time. Only these files call them.
//!
//! # Safety
//! A library stays loaded until the process ends, so that the symbols found in it stay valid.
#![allow(unsafe_code)]

pub mod libcrypto;
pub mod pkcs11;

use std::ffi::OsStr;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

/// Loads a library for good, with its symbols to itself.
fn load(name: &OsStr) -> Result<&'static Library, String> {
    // SAFETY: this runs the library's constructors. The caller of this program chose the library.
    let library = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL) };
    library.map(|library| &*Box::leak(Box::new(library))).map_err(|error| error.to_string())
}

/// Returns the function of that name.
///
/// # Safety
/// `F` is the symbol's true type, a function pointer.
unsafe fn symbol<F: Copy + 'static>(library: &'static Library, name: &str) -> Result<F, String> {
    // SAFETY: the caller vouches for the type.
    let found = unsafe { library.get::<F>(name.as_bytes()) };
    found.map(|symbol| *symbol).map_err(|_| format!("it has no {name}"))
}
