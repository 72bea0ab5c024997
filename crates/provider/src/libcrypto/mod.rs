//! Functions of the libcrypto that loaded the provider, found without being linked to one.
//!
//! Nearly everything goes through the tables that OpenSSL and a provider exchange. The exceptions are here: handing an
//! operation on to another provider, and pausing a job. A process may have more than one libcrypto, so a function is
//! looked for in the object that a function of the core lies in, and nowhere else.
//!
//! Operations may call the functions that are found here. Code that OpenSSL calls while it holds locks (the start,
//! queries) must not.
//!
//! # Safety
//! A libcrypto stays loaded as long as a provider in it, and a [`Libcrypto`] is part of one. Each function is given the type that
//! libcrypto's own headers declare for its name, which has not changed since 3.0.
#![allow(unsafe_code)]

mod job;
pub mod kdf;
mod mac;
pub mod pkcs8;
pub mod pkey;

use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

use crate::abi::Function;
use crate::error::{Reason, Result};

pub use job::Job;
pub use mac::Mac;

/// The property query for operations that are handed on: any provider but this one.
const OTHERS: &CStr = c"provider!=millstream";

/// The libcrypto that loaded a provider.
#[derive(Default)]
pub struct Libcrypto {
    /// An address inside that libcrypto.
    inside: Option<Function>,
    mac: OnceLock<Option<mac::Functions>>,
    kdf: OnceLock<Option<kdf::Functions>>,
    job: OnceLock<Option<job::Functions>>,
    pkcs8: OnceLock<Option<pkcs8::Functions>>,
    pkey: OnceLock<Option<pkey::Functions>>,
}

impl Libcrypto {
    /// Returns the libcrypto in which `inside` lies. Nothing is looked for yet.
    pub fn with(inside: Option<Function>) -> Self {
        Libcrypto { inside, ..Libcrypto::default() }
    }

    /// Returns the function of that name; none if libcrypto has none, or if it is linked into a program that does not
    /// export its symbols.
    pub fn symbol(&self, name: &CStr) -> Option<Function> {
        let inside = object(self.inside? as *const c_void)?;
        // SAFETY: a path of an object that is loaded; NOLOAD never loads another.
        let by_path = unsafe { libc::dlopen(inside.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        found(by_path, name, &inside).or_else(|| {
            // SAFETY: null stands for the program itself.
            let program = unsafe { libc::dlopen(ptr::null(), libc::RTLD_LAZY) };
            found(program, name, &inside)
        })
    }

    fn mac(&self) -> Result<&mac::Functions> {
        self.mac.get_or_init(|| mac::Functions::find(self)).as_ref().ok_or(HIDDEN)
    }

    fn job(&self) -> Option<&job::Functions> {
        self.job.get_or_init(|| job::Functions::find(self)).as_ref()
    }

    fn pkcs8(&self) -> Result<&pkcs8::Functions> {
        self.pkcs8.get_or_init(|| pkcs8::Functions::find(self)).as_ref().ok_or(HIDDEN)
    }

    fn pkey(&self) -> Result<&pkey::Functions> {
        self.pkey.get_or_init(|| pkey::Functions::find(self)).as_ref().ok_or(HIDDEN)
    }

    /// Tells whether keys can be handed on to another provider. Nothing of libcrypto's is called.
    pub fn has_pkey(&self) -> bool {
        self.pkey().is_ok()
    }

    fn kdf(&self) -> Result<&kdf::Functions> {
        self.kdf.get_or_init(|| kdf::Functions::find(self)).as_ref().ok_or(HIDDEN)
    }
}

const HIDDEN: Reason = Reason::NOT_SUPPORTED.with(
    "this digest or cipher is another provider's, and the program's libcrypto can't be called: it is linked in and not exported; ask for provider=default",
);

/// Returns the object at an address.
fn object(address: *const c_void) -> Option<libc::Dl_info> {
    let mut info = MaybeUninit::uninit();
    // SAFETY: a place for the answer, which is there when the function says so.
    unsafe { (libc::dladdr(address, info.as_mut_ptr()) != 0).then(|| info.assume_init()) }
}

/// Returns the function of that name in an opened object, if it lies where `inside` does. Closes the object.
fn found(opened: *mut c_void, name: &CStr, inside: &libc::Dl_info) -> Option<Function> {
    if opened.is_null() {
        return None;
    }
    // SAFETY: opened by our caller and closed once; what it was opened of is in use by others and stays.
    let address = unsafe {
        let address = libc::dlsym(opened, name.as_ptr());
        libc::dlclose(opened);
        address
    };
    if address.is_null() || object(address)?.dli_fbase != inside.dli_fbase {
        return None;
    }
    // SAFETY: not null; whoever calls it gives it its own type first.
    Some(unsafe { std::mem::transmute::<*mut c_void, Function>(address) })
}

/// A table of functions, with the types that they have.
macro_rules! functions {
    ($($name:ident = $symbol:literal: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions in use.
        pub(super) struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Functions {
            /// Finds all of them, or returns none.
            pub(super) fn find(libcrypto: &super::Libcrypto) -> Option<Self> {
                Some(Functions {
                    $($name: {
                        let function = libcrypto.symbol($symbol)?;
                        // SAFETY: the type that belongs to the name.
                        unsafe {
                            std::mem::transmute::<
                                $crate::abi::Function,
                                unsafe extern "C" fn($($argument),*) $(-> $result)?,
                            >(function)
                        }
                    },)*
                })
            }
        }
    };
}
use functions;
