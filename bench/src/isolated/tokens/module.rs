//! A PKCS #11 module, loaded as a program loads it, with a session that is logged in.
//!
//! # Safety
//! The module's functions are called as the standard has them: with pointers to values that outlive the call, and their lengths.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::path::Path;
use std::ptr::null_mut;

use cryptoki_sys::*;

/// The PIN of the tokens that are measured.
pub const PIN: &[u8] = b"314159";

/// An attribute with its value.
pub type Value = (CK_ATTRIBUTE_TYPE, Vec<u8>);

/// Returns an attribute that is a number.
pub fn number(kind: CK_ATTRIBUTE_TYPE, value: CK_ULONG) -> Value {
    (kind, value.to_ne_bytes().to_vec())
}

/// A module whose only token is open.
#[derive(Clone, Copy)]
pub struct Module {
    functions: &'static CK_FUNCTION_LIST,
    /// The list of version 3.2, where the module has it.
    newest: Option<&'static CK_FUNCTION_LIST_3_2>,
    slot: CK_SLOT_ID,
}

macro_rules! call {
    ($functions:expr, $name:ident($($argument:expr),* $(,)?)) => {{
        let function = $functions.$name.ok_or_else(|| format!("no {}", stringify!($name)))?;
        // SAFETY: as the head says.
        match unsafe { function($($argument),*) } {
            CKR_OK => Ok(()),
            value => Err(format!("{} answers {value:#x}", stringify!($name))),
        }
    }};
}

fn attributes(values: &[Value]) -> Vec<CK_ATTRIBUTE> {
    let one = |(kind, value): &Value| CK_ATTRIBUTE {
        type_: *kind,
        pValue: value.as_ptr().cast_mut().cast(),
        ulValueLen: value.len() as CK_ULONG,
    };
    values.iter().map(one).collect()
}

fn bare(mechanism: CK_MECHANISM_TYPE) -> CK_MECHANISM {
    CK_MECHANISM { mechanism, pParameter: null_mut(), ulParameterLen: 0 }
}

impl Module {
    /// Loads a module, and logs in at its first token.
    ///
    /// # Errors
    /// It is no module, it has no token, or the PIN is wrong.
    pub fn load(path: &Path) -> Result<Self, String> {
        let name = CString::new(path.to_string_lossy().into_owned()).map_err(|e| e.to_string())?;
        // SAFETY: a module runs what it has to when it is loaded, as in every program.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            return Err(format!("{}: not a library that can be loaded", path.display()));
        }
        // SAFETY: the library stays loaded.
        let find = |symbol: &std::ffi::CStr| unsafe { libc::dlsym(library, symbol.as_ptr()) };
        let get = find(c"C_GetFunctionList");
        if get.is_null() {
            return Err(format!("{}: not a PKCS #11 module", path.display()));
        }
        let mut list = null_mut();
        // SAFETY: the standard's function of that name, and a place for its answer, which is a list that stays.
        let functions = unsafe {
            let get: unsafe extern "C" fn(*mut *mut CK_FUNCTION_LIST) -> CK_RV = std::mem::transmute(get);
            get(&mut list);
            list.as_ref().ok_or("no list of functions")?
        };
        let newest = newest(find(c"C_GetInterface"));
        let mut args = CK_C_INITIALIZE_ARGS {
            CreateMutex: None,
            DestroyMutex: None,
            LockMutex: None,
            UnlockMutex: None,
            flags: CKF_OS_LOCKING_OK,
            pReserved: null_mut(),
        };
        call!(functions, C_Initialize((&raw mut args).cast()))?;
        let (mut slots, mut count) = ([0; 8], 8);
        call!(functions, C_GetSlotList(1, slots.as_mut_ptr(), &mut count))?;
        let module = Module { functions, newest, slot: slots[0] };
        let mut pin = PIN.to_vec();
        let session = module.open(0)?;
        call!(functions, C_Login(session, CKU_USER, pin.as_mut_ptr(), pin.len() as CK_ULONG))?;
        Ok(module)
    }

    /// Opens a session, which is logged in as all are.
    ///
    /// # Errors
    /// The module's.
    pub fn open(&self, flags: CK_FLAGS) -> Result<CK_SESSION_HANDLE, String> {
        let (mut session, flags) = (0, flags | CKF_SERIAL_SESSION | CKF_RW_SESSION);
        call!(self.functions, C_OpenSession(self.slot, flags, null_mut(), None, &mut session))?;
        Ok(session)
    }

    /// Closes a session.
    ///
    /// # Errors
    /// The module's.
    pub fn close(&self, session: CK_SESSION_HANDLE) -> Result<(), String> {
        call!(self.functions, C_CloseSession(session))
    }

    /// Makes an object of these attributes.
    ///
    /// # Errors
    /// The module's.
    pub fn create(&self, session: CK_SESSION_HANDLE, values: &[Value]) -> Result<CK_OBJECT_HANDLE, String> {
        let (mut template, mut object) = (attributes(values), 0);
        let (at, count) = (template.as_mut_ptr(), template.len() as CK_ULONG);
        call!(self.functions, C_CreateObject(session, at, count, &mut object))?;
        Ok(object)
    }

    /// Makes a key pair of the session that may be read: the public key, and the private one.
    ///
    /// # Errors
    /// The module's.
    pub fn pair(
        &self,
        session: CK_SESSION_HANDLE,
        mechanism: CK_MECHANISM_TYPE,
        public: &[Value],
    ) -> Result<[CK_OBJECT_HANDLE; 2], String> {
        let private = [(CKA_SENSITIVE, vec![0]), (CKA_EXTRACTABLE, vec![1])];
        let (mut public, mut private, mut keys) = (attributes(public), attributes(&private), [0; 2]);
        let ([public_key, private_key], kind) = (&mut keys, &mut bare(mechanism));
        let (one, of_one) = (public.as_mut_ptr(), public.len() as CK_ULONG);
        let (other, of_other) = (private.as_mut_ptr(), private.len() as CK_ULONG);
        call!(
            self.functions,
            C_GenerateKeyPair(session, kind, one, of_one, other, of_other, public_key, private_key)
        )?;
        Ok(keys)
    }

    /// Reads an attribute.
    ///
    /// # Errors
    /// The module's.
    pub fn read(
        &self,
        session: CK_SESSION_HANDLE,
        object: CK_OBJECT_HANDLE,
        kind: CK_ATTRIBUTE_TYPE,
    ) -> Result<Value, String> {
        let mut value = vec![0; 1024];
        let mut wanted = CK_ATTRIBUTE { type_: kind, pValue: value.as_mut_ptr().cast(), ulValueLen: 1024 };
        call!(self.functions, C_GetAttributeValue(session, object, &mut wanted, 1))?;
        value.truncate(wanted.ulValueLen as usize);
        Ok((kind, value))
    }

    /// Begins a signature, and makes it. In an asynchronous session it may be under way then. Returns its length.
    ///
    /// # Errors
    /// The module's.
    pub fn sign(
        &self,
        session: CK_SESSION_HANDLE,
        mechanism: CK_MECHANISM_TYPE,
        key: CK_OBJECT_HANDLE,
        data: &[u8],
        out: &mut [u8],
    ) -> Result<usize, String> {
        call!(self.functions, C_SignInit(session, &mut bare(mechanism), key))?;
        let (at, n, mut len) = (data.as_ptr().cast_mut(), data.len() as CK_ULONG, out.len() as CK_ULONG);
        let sign = self.functions.C_Sign.ok_or("no C_Sign")?;
        // SAFETY: as the head says; the buffer of an asynchronous session is kept until `collect`.
        match unsafe { sign(session, at, n, out.as_mut_ptr(), &mut len) } {
            CKR_OK | CKR_PENDING => Ok(len as usize),
            value => Err(format!("C_Sign answers {value:#x}")),
        }
    }

    /// Waits for the signature of an asynchronous session, which is in the buffer of [`Module::sign`] then.
    ///
    /// # Errors
    /// The module's.
    pub fn collect(&self, session: CK_SESSION_HANDLE) -> Result<(), String> {
        let complete = self.newest.and_then(|list| list.C_AsyncComplete).ok_or("no asynchronous sessions")?;
        let mut data =
            CK_ASYNC_DATA { ulVersion: 0, pValue: null_mut(), ulValue: 0, hObject: 0, hAdditionalObject: 0 };
        loop {
            // SAFETY: as the head says.
            match unsafe { complete(session, c"C_Sign".as_ptr().cast_mut().cast(), &mut data) } {
                CKR_PENDING => std::hint::spin_loop(),
                CKR_OK => return Ok(()),
                value => return Err(format!("C_AsyncComplete answers {value:#x}")),
            }
        }
    }

    /// Verifies a signature.
    ///
    /// # Errors
    /// The module's; it is wrong.
    pub fn verify(
        &self,
        session: CK_SESSION_HANDLE,
        mechanism: CK_MECHANISM_TYPE,
        key: CK_OBJECT_HANDLE,
        data: &[u8],
        signature: &[u8],
    ) -> Result<(), String> {
        call!(self.functions, C_VerifyInit(session, &mut bare(mechanism), key))?;
        let (at, n) = (data.as_ptr().cast_mut(), data.len() as CK_ULONG);
        let (of, len) = (signature.as_ptr().cast_mut(), signature.len() as CK_ULONG);
        call!(self.functions, C_Verify(session, at, n, of, len))
    }
}

/// Returns the list of version 3.2.
fn newest(get: *mut libc::c_void) -> Option<&'static CK_FUNCTION_LIST_3_2> {
    if get.is_null() {
        return None;
    }
    type Get =
        unsafe extern "C" fn(*mut CK_UTF8CHAR, *mut CK_VERSION, *mut *mut CK_INTERFACE, CK_FLAGS) -> CK_RV;
    let (mut interface, mut version) = (null_mut(), CK_VERSION { major: 3, minor: 2 });
    // SAFETY: the standard's function of that name; the interface of that version has such a list, which stays.
    unsafe {
        let get: Get = std::mem::transmute(get);
        (get(null_mut(), &mut version, &mut interface, 0) == CKR_OK)
            .then(|| &*(*interface).pFunctionList.cast::<CK_FUNCTION_LIST_3_2>())
    }
}
