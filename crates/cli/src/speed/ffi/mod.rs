//! Libraries with a C interface, loaded at run time: the only files that call them.
//!
//! # Safety
//! A library stays loaded until the process ends, so that what is found in it stays valid.
#![allow(unsafe_code)]

pub mod libcrypto;
pub mod pkcs11;

use std::ffi::OsStr;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

/// A library that stays loaded, with its symbols to itself.
fn load(name: &OsStr) -> Result<&'static Library, String> {
    // SAFETY: the constructors of the library that was asked for are run. It is the caller of this
    // program who names it.
    let library = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL) };
    library.map(|library| &*Box::leak(Box::new(library))).map_err(|error| error.to_string())
}

/// The function of that name.
///
/// # Safety
/// `F` is the symbol's true type, a function pointer.
unsafe fn symbol<F: Copy + 'static>(library: &'static Library, name: &str) -> Result<F, String> {
    // SAFETY: the caller vouches for the type.
    let found = unsafe { library.get::<F>(name.as_bytes()) };
    found.map(|symbol| *symbol).map_err(|_| format!("it has no {name}"))
}
