//! The part of a PKCS #11 module that is measured.
//!
//! # Safety
//! `cryptoki_sys` states the types of the standard's headers. A module's function list stays where it is
//! while the module is loaded, which is for ever. Every buffer is passed with its length, and a
//! mechanism's parameter lives until the call that reads it has returned. Sessions are used by one
//! thread at a time: a [`Session`] is not `Send`.
#![allow(unsafe_code)]

use std::ffi::{OsStr, c_void};
use std::marker::PhantomData;
use std::ptr::null_mut;

use cryptoki_sys::*;

use super::{load, symbol};
use crate::speed::algorithm::AAD;

/// A refusal of a module: the function that was called, and its answer.
#[derive(Debug)]
pub struct Refused {
    call: &'static str,
    code: CK_RV,
}

impl Refused {
    /// Returns true when the module wants a login first.
    pub fn is_for_want_of_login(&self) -> bool {
        self.code == CKR_USER_NOT_LOGGED_IN
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self.code {
            CKR_PIN_INCORRECT => "the PIN is wrong (CKR_PIN_INCORRECT)",
            CKR_PIN_LOCKED => "the PIN is locked (CKR_PIN_LOCKED)",
            CKR_PIN_LEN_RANGE => "the PIN is too short or too long (CKR_PIN_LEN_RANGE)",
            CKR_USER_NOT_LOGGED_IN => "nobody is logged in (CKR_USER_NOT_LOGGED_IN)",
            CKR_FUNCTION_NOT_SUPPORTED => "it has no such function (CKR_FUNCTION_NOT_SUPPORTED)",
            CKR_KEY_SIZE_RANGE => "it takes no key of that size (CKR_KEY_SIZE_RANGE)",
            CKR_TEMPLATE_INCONSISTENT => "it takes no such key (CKR_TEMPLATE_INCONSISTENT)",
            code => return write!(f, "{} failed with {code:#x}", self.call),
        };
        write!(f, "{} failed: {name}", self.call)
    }
}

/// Calls a function of the list.
macro_rules! call {
    ($list:expr, $name:ident $(, $argument:expr)*) => {
        match $list.$name {
            // SAFETY: the file's heading; each use passes pointers to values that outlive the call.
            Some(function) => unsafe { function($($argument),*) },
            None => CKR_FUNCTION_NOT_SUPPORTED,
        }
    };
}

/// Calls a function that must succeed.
macro_rules! must {
    ($list:expr, $name:ident $(, $argument:expr)*) => {
        match call!($list, $name $(, $argument)*) {
            CKR_OK => {}
            code => return Err(Refused { call: stringify!($name), code }),
        }
    };
}

/// An initialised module.
#[derive(Clone, Copy)]
pub struct Module {
    list: &'static CK_FUNCTION_LIST,
}

/// A token in one of the module's slots.
pub struct Token {
    slot: CK_SLOT_ID,
    /// The label.
    pub label: String,
    /// True when it does nothing with keys before it gets a PIN.
    pub asks_for_pin: bool,
}

impl Module {
    /// Loads and initialises it.
    ///
    /// # Errors
    /// The error of the loader or the module.
    pub fn open(path: &OsStr) -> Result<Module, String> {
        let library = load(path)?;
        // SAFETY: that is the function's type in the standard.
        let get: unsafe extern "C" fn(*mut *mut CK_FUNCTION_LIST) -> CK_RV =
            unsafe { symbol(library, "C_GetFunctionList") }
                .map_err(|why| format!("{why}, so it is not a PKCS #11 module"))?;
        let mut list = null_mut();
        // SAFETY: the pointer is written.
        let code = unsafe { get(&mut list) };
        // SAFETY: the list is static in the module; null is no reference.
        let list = match unsafe { list.as_ref() } {
            Some(list) if code == CKR_OK => list,
            _ => return Err(format!("C_GetFunctionList failed with {code:#x}")),
        };
        let mut arguments = CK_C_INITIALIZE_ARGS { flags: CKF_OS_LOCKING_OK, ..Default::default() };
        match call!(list, C_Initialize, (&raw mut arguments).cast()) {
            CKR_OK | CKR_CRYPTOKI_ALREADY_INITIALIZED => Ok(Module { list }),
            code => Err(Refused { call: "C_Initialize", code }.to_string()),
        }
    }

    /// Returns a description like `SoftHSM 2.6, Implementation of PKCS11`.
    pub fn description(self) -> String {
        let mut info = CK_INFO::default();
        call!(self.list, C_GetInfo, &mut info);
        let (maker, what) = (text(&info.manufacturerID), text(&info.libraryDescription));
        let CK_VERSION { major, minor } = info.libraryVersion;
        format!("{maker} {major}.{minor}, {what}")
    }

    /// Returns the tokens that are ready to be used.
    ///
    /// # Errors
    /// The module's error.
    pub fn tokens(self) -> Result<Vec<Token>, Refused> {
        let mut slots = [0; 64];
        let mut count = slots.len() as CK_ULONG;
        must!(self.list, C_GetSlotList, CK_TRUE, slots.as_mut_ptr(), &mut count);
        let mut tokens = Vec::new();
        for &slot in &slots[..count as usize] {
            let mut info = CK_TOKEN_INFO::default();
            must!(self.list, C_GetTokenInfo, slot, &mut info);
            if info.flags & CKF_TOKEN_INITIALIZED != 0 {
                let asks_for_pin = info.flags & CKF_LOGIN_REQUIRED != 0;
                tokens.push(Token { slot, label: text(&info.label), asks_for_pin });
            }
        }
        Ok(tokens)
    }

    /// Returns true when a token has a mechanism for these uses, such as `CKF_ENCRYPT`.
    pub fn has(self, token: &Token, mechanism: CK_MECHANISM_TYPE, uses: CK_FLAGS) -> bool {
        let mut info = CK_MECHANISM_INFO::default();
        call!(self.list, C_GetMechanismInfo, token.slot, mechanism, &mut info) == CKR_OK
            && info.flags & uses == uses
    }

    /// Logs this process in. The session for it stays open, because the login ends with the last session.
    ///
    /// # Errors
    /// The module's error.
    pub fn login(self, token: &Token, pin: &[u8]) -> Result<(), Refused> {
        let session = self.session(token)?;
        let (bytes, len) = (pin.as_ptr().cast_mut(), pin.len() as CK_ULONG);
        match call!(self.list, C_Login, session.handle, CKU_USER, bytes, len) {
            CKR_OK | CKR_USER_ALREADY_LOGGED_IN => {
                std::mem::forget(session);
                Ok(())
            }
            code => Err(Refused { call: "C_Login", code }),
        }
    }

    /// Opens a session for this thread.
    ///
    /// # Errors
    /// The module's error.
    pub fn session(self, token: &Token) -> Result<Session, Refused> {
        let (flags, mut handle) = (CKF_SERIAL_SESSION | CKF_RW_SESSION, 0);
        must!(self.list, C_OpenSession, token.slot, flags, null_mut(), None, &mut handle);
        Ok(Session { list: self.list, handle, one_thread: PhantomData })
    }
}

/// Trims the blanks that end a text of the standard.
fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.trim_end_matches([' ', '\0']).to_owned()
}

/// The parameter of a mechanism.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    /// No parameter.
    None,
    /// An initialisation vector of that many bytes.
    Iv(usize),
    /// A whole counter block.
    Counter,
    /// A nonce of 12 bytes, [`AAD`], and a tag of 16 bytes.
    Gcm,
}

/// A mechanism.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Mechanism {
    /// `CKM_...`.
    pub kind: CK_MECHANISM_TYPE,
    /// The parameter.
    pub parameter: Parameter,
}

impl Mechanism {
    /// Calls `run` with the mechanism and its parameter, which lives as long as the call.
    #[inline(always)]
    fn with(self, iv: &[u8; 16], run: impl FnOnce(*mut CK_MECHANISM) -> CK_RV) -> CK_RV {
        let mut mechanism = CK_MECHANISM { mechanism: self.kind, pParameter: null_mut(), ulParameterLen: 0 };
        let (mut counter, mut gcm);
        let (parameter, bytes): (*mut c_void, usize) = match self.parameter {
            Parameter::None => (null_mut(), 0),
            Parameter::Iv(bytes) => (iv.as_ptr().cast_mut().cast(), bytes.min(16)),
            Parameter::Counter => {
                counter = CK_AES_CTR_PARAMS { ulCounterBits: 128, cb: *iv };
                ((&raw mut counter).cast(), size_of::<CK_AES_CTR_PARAMS>())
            }
            Parameter::Gcm => {
                gcm = CK_GCM_PARAMS {
                    pIv: iv.as_ptr().cast_mut(),
                    ulIvLen: 12,
                    ulIvBits: 96,
                    pAAD: AAD.as_ptr().cast_mut(),
                    ulAADLen: AAD.len() as CK_ULONG,
                    ulTagBits: 128,
                };
                ((&raw mut gcm).cast(), size_of::<CK_GCM_PARAMS>())
            }
        };
        (mechanism.pParameter, mechanism.ulParameterLen) = (parameter, bytes as CK_ULONG);
        run(&mut mechanism)
    }
}

/// A key in a session, which ends with it.
#[derive(Clone, Copy)]
pub struct Key(CK_OBJECT_HANDLE);

/// A session with a token.
pub struct Session {
    list: &'static CK_FUNCTION_LIST,
    handle: CK_SESSION_HANDLE,
    one_thread: PhantomData<*const ()>,
}

/// Makes a one-shot operation of two functions of the list. All of `input` goes in, and exactly `output`
/// comes out.
macro_rules! operation {
    ($(#[$doc:meta])* $name:ident $(($key:ident))?, $init:ident, $run:ident) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(
            &self,
            mechanism: Mechanism,
            $($key: Key,)?
            iv: &[u8; 16],
            input: &[u8],
            output: &mut [u8],
        ) -> Option<usize> {
            let begun = mechanism.with(iv, |m| call!(self.list, $init, self.handle, m $(, $key.0)?));
            let mut written = output.len() as CK_ULONG;
            // The standard's types lack `const`; nothing writes to an input.
            let (from, len) = (input.as_ptr().cast_mut(), input.len() as CK_ULONG);
            let done = begun == CKR_OK
                && call!(self.list, $run, self.handle, from, len, output.as_mut_ptr(), &mut written) == CKR_OK;
            done.then_some(written as usize)
        }
    };
}

impl Session {
    /// Makes a key of a type such as `CKK_AES` for all of its uses. It never leaves the token.
    ///
    /// # Errors
    /// The module's error.
    pub fn key(&self, kind: CK_KEY_TYPE, value: &[u8], signs: bool) -> Result<Key, Refused> {
        let (class, yes, no) = (CKO_SECRET_KEY, CK_TRUE, CK_FALSE);
        let uses = if signs { [CKA_SIGN, CKA_VERIFY] } else { [CKA_ENCRYPT, CKA_DECRYPT] };
        let mut template = [
            attribute(CKA_CLASS, &class),
            attribute(CKA_KEY_TYPE, &kind),
            attribute(CKA_TOKEN, &no),
            attribute(CKA_PRIVATE, &no),
            attribute(CKA_SENSITIVE, &yes),
            attribute(CKA_EXTRACTABLE, &no),
            attribute(uses[0], &yes),
            attribute(uses[1], &yes),
            CK_ATTRIBUTE {
                type_: CKA_VALUE,
                pValue: value.as_ptr().cast_mut().cast(),
                ulValueLen: value.len() as CK_ULONG,
            },
        ];
        let (count, mut handle) = (template.len() as CK_ULONG, 0);
        must!(self.list, C_CreateObject, self.handle, template.as_mut_ptr(), count, &mut handle);
        Ok(Key(handle))
    }

    operation! {
        /// Encrypts; an AEAD's tag comes behind the data. Returns the bytes written.
        encrypt(key), C_EncryptInit, C_Encrypt
    }
    operation! {
        /// Decrypts; an AEAD's tag is expected behind the data. Returns the bytes written.
        decrypt(key), C_DecryptInit, C_Decrypt
    }
    operation! {
        /// Computes a MAC. Returns the bytes written.
        sign(key), C_SignInit, C_Sign
    }
    operation! {
        /// Computes a digest. Returns the bytes written.
        digest, C_DigestInit, C_Digest
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        call!(self.list, C_CloseSession, self.handle);
    }
}

fn attribute<T>(kind: CK_ATTRIBUTE_TYPE, value: &T) -> CK_ATTRIBUTE {
    let pointer: *mut T = std::ptr::from_ref(value).cast_mut();
    CK_ATTRIBUTE { type_: kind, pValue: pointer.cast(), ulValueLen: size_of::<T>() as CK_ULONG }
}
