//! The C functions of the module, loaded as a program loads them.
#![allow(dead_code)]

use std::ptr;

use cryptoki_sys::*;

use crate::support::{PIN, module};

pub const P256: &[u8] = b"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07";

/// The functions of the loaded module. They may be called from every thread.
#[derive(Clone, Copy)]
pub struct Module(pub &'static CK_FUNCTION_LIST_3_2, pub usize);

macro_rules! call {
    ($module:expr, $function:ident, $($argument:expr),* $(,)?) => {
        // SAFETY: the test passes what the standard asks for.
        unsafe { $module.0.$function.unwrap()($($argument),*) }
    };
}

macro_rules! good {
    ($module:expr, $function:ident, $($argument:expr),* $(,)?) => {
        assert_eq!(call!($module, $function, $($argument),*), CKR_OK, stringify!($function))
    };
}

impl Module {
    /// Loads the module as a program does.
    pub fn load() -> Module {
        let path = std::ffi::CString::new(module().to_str().unwrap()).unwrap();
        // SAFETY: the module has the functions that the standard names, and stays loaded while the list is used.
        unsafe {
            let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            assert!(!library.is_null());
            let get = libc::dlsym(library, c"C_GetInterface".as_ptr());
            let get: unsafe extern "C" fn(
                *mut u8,
                *mut CK_VERSION,
                *mut *mut CK_INTERFACE,
                CK_FLAGS,
            ) -> CK_RV = std::mem::transmute(get);
            let mut interface = ptr::null_mut();
            let mut version = CK_VERSION { major: 3, minor: 2 };
            assert_eq!(get(ptr::null_mut(), &mut version, &mut interface, 0), CKR_OK);
            Module(&*(*interface).pFunctionList.cast(), library as usize)
        }
    }

    pub fn initialise(self) {
        let mut args = CK_C_INITIALIZE_ARGS {
            CreateMutex: None,
            DestroyMutex: None,
            LockMutex: None,
            UnlockMutex: None,
            flags: CKF_OS_LOCKING_OK,
            pReserved: ptr::null_mut(),
        };
        good!(self, C_Initialize, (&raw mut args).cast());
    }

    pub fn open(self) -> CK_SESSION_HANDLE {
        let mut handle = 0;
        let flags = CKF_SERIAL_SESSION | CKF_RW_SESSION;
        good!(self, C_OpenSession, 0, flags, ptr::null_mut(), None, &mut handle);
        handle
    }

    pub fn log_in(self) -> CK_SESSION_HANDLE {
        let handle = self.open();
        let mut pin = PIN.as_bytes().to_vec();
        good!(self, C_Login, handle, CKU_USER, pin.as_mut_ptr(), pin.len() as CK_ULONG);
        handle
    }

    pub fn generate(
        self,
        session: CK_SESSION_HANDLE,
        kind: CK_MECHANISM_TYPE,
        template: &[Value],
    ) -> CK_OBJECT_HANDLE {
        let mut key = 0;
        let mut template = attributes(template);
        let (at, count) = (template.as_mut_ptr(), template.len() as CK_ULONG);
        good!(self, C_GenerateKey, session, &mut bare(kind), at, count, &mut key);
        key
    }

    pub fn pair(self, session: CK_SESSION_HANDLE, private: &[Value]) -> (CK_OBJECT_HANDLE, CK_OBJECT_HANDLE) {
        let (mut public_key, mut private_key) = (0, 0);
        let params = [(CKA_EC_PARAMS, P256.to_vec())];
        let (mut public, mut private) = (attributes(&params), attributes(private));
        good!(
            self,
            C_GenerateKeyPair,
            session,
            &mut bare(CKM_EC_KEY_PAIR_GEN),
            public.as_mut_ptr(),
            1,
            private.as_mut_ptr(),
            private.len() as CK_ULONG,
            &mut public_key,
            &mut private_key,
        );
        (public_key, private_key)
    }

    pub fn find(self, session: CK_SESSION_HANDLE, template: &[Value]) -> Vec<CK_OBJECT_HANDLE> {
        let mut template = attributes(template);
        good!(self, C_FindObjectsInit, session, template.as_mut_ptr(), template.len() as CK_ULONG);
        let (mut found, mut count) = ([0; 16], 0);
        good!(self, C_FindObjects, session, found.as_mut_ptr(), 16, &mut count);
        good!(self, C_FindObjectsFinal, session,);
        found[..count as usize].to_vec()
    }

    /// Signs 32 bytes; the answer says how far that went.
    pub fn sign(self, session: CK_SESSION_HANDLE, key: CK_OBJECT_HANDLE) -> Result<Vec<u8>, CK_RV> {
        match call!(self, C_SignInit, session, &mut bare(CKM_ECDSA), key) {
            CKR_OK => {}
            value => return Err(value),
        }
        let (mut digest, mut signature, mut len) = ([7; 32], vec![0; 64], 64);
        match call!(self, C_Sign, session, digest.as_mut_ptr(), 32, signature.as_mut_ptr(), &mut len) {
            CKR_OK if len == 64 => Ok(signature),
            value => Err(value),
        }
    }
}

/// An attribute with a value of its own.
pub type Value = (CK_ATTRIBUTE_TYPE, Vec<u8>);

pub fn number(kind: CK_ATTRIBUTE_TYPE, value: CK_ULONG) -> Value {
    (kind, value.to_ne_bytes().to_vec())
}

pub fn attributes(values: &[Value]) -> Vec<CK_ATTRIBUTE> {
    let one = |(kind, value): &Value| CK_ATTRIBUTE {
        type_: *kind,
        pValue: value.as_ptr().cast_mut().cast(),
        ulValueLen: value.len() as CK_ULONG,
    };
    values.iter().map(one).collect()
}

pub fn bare(mechanism: CK_MECHANISM_TYPE) -> CK_MECHANISM {
    CK_MECHANISM { mechanism, pParameter: ptr::null_mut(), ulParameterLen: 0 }
}

pub fn loaded() -> Module {
    let module = Module::load();
    module.initialise();
    module
}
