//! OpenSSL's types and numbers, as they are between core and providers since 3.0.
//!
//! Ref. openssl-core.h(7), openssl-core_dispatch.h(7), OSSL_PARAM(3).
//!
//! # Safety
//! The types hold pointers into static memory only, which is what makes them `Sync`.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;

/// The opaque handle by which OpenSSL knows this provider.
#[repr(C)]
pub struct CoreHandle {
    _opaque: [u8; 0],
}

/// A function, to be cast to its own type.
pub type Function = unsafe extern "C" fn();

/// An entry in a table of functions, which ends with the number 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Dispatch {
    pub id: c_int,
    pub function: Option<Function>,
}

impl Dispatch {
    pub const END: Dispatch = Dispatch { id: 0, function: None };
}

/// An algorithm: its names, its properties, its functions. A table of them ends with one without names.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OsslAlgorithm {
    pub names: *const c_char,
    pub properties: *const c_char,
    pub functions: *const Dispatch,
    pub description: *const c_char,
}

// SAFETY: made from `'static` references only.
unsafe impl Sync for OsslAlgorithm {}

impl OsslAlgorithm {
    pub const END: OsslAlgorithm = OsslAlgorithm {
        names: ptr::null(),
        properties: ptr::null(),
        functions: ptr::null(),
        description: ptr::null(),
    };

    pub const fn new(
        names: &'static CStr,
        properties: &'static CStr,
        functions: &'static [Dispatch],
    ) -> Self {
        OsslAlgorithm {
            names: names.as_ptr(),
            properties: properties.as_ptr(),
            functions: functions.as_ptr(),
            description: ptr::null(),
        }
    }
}

/// An error reason: its number, and what it is in words.
#[repr(C)]
pub struct Item {
    pub id: c_uint,
    pub text: *const c_char,
}

// SAFETY: made from `'static` references only.
unsafe impl Sync for Item {}

/// A parameter: a name and a place for its value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OsslParam {
    pub key: *const c_char,
    pub data_type: c_uint,
    pub data: *mut c_void,
    pub data_size: usize,
    pub return_size: usize,
}

// SAFETY: in statics they only describe: the name is `'static`, and there is no data.
unsafe impl Sync for OsslParam {}

pub const INTEGER: c_uint = 1;
pub const UNSIGNED_INTEGER: c_uint = 2;
pub const UTF8_STRING: c_uint = 4;
pub const OCTET_STRING: c_uint = 5;
pub const UTF8_PTR: c_uint = 6;
pub const OCTET_PTR: c_uint = 7;
/// A parameter that was not set.
pub const UNMODIFIED: usize = usize::MAX;

impl OsslParam {
    pub const END: OsslParam = OsslParam::described(c"", 0).nameless();

    /// Describes a parameter of that type, without a value.
    pub const fn described(key: &'static CStr, data_type: c_uint) -> Self {
        OsslParam {
            key: key.as_ptr(),
            data_type,
            data: ptr::null_mut(),
            data_size: 0,
            return_size: UNMODIFIED,
        }
    }

    const fn nameless(mut self) -> Self {
        self.key = ptr::null();
        self
    }
}

// Functions of the core.
pub const CORE_GET_PARAMS: c_int = 2;
pub const CORE_GET_LIBCTX: c_int = 4;
pub const CORE_NEW_ERROR: c_int = 5;
pub const CORE_SET_ERROR_DEBUG: c_int = 6;
pub const CORE_VSET_ERROR: c_int = 7;
pub const CORE_OBJ_ADD_SIGID: c_int = 11;
pub const CORE_OBJ_CREATE: c_int = 12;
pub const CORE_BIO_READ_EX: c_int = 42;
pub const CORE_BIO_WRITE_EX: c_int = 43;
pub const CORE_BIO_GETS: c_int = 49;

// Functions of a provider.
pub const PROVIDER_TEARDOWN: c_int = 1024;
pub const PROVIDER_GETTABLE_PARAMS: c_int = 1025;
pub const PROVIDER_GET_PARAMS: c_int = 1026;
pub const PROVIDER_QUERY_OPERATION: c_int = 1027;
pub const PROVIDER_GET_REASON_STRINGS: c_int = 1029;
pub const PROVIDER_GET_CAPABILITIES: c_int = 1030;

// Operations.
pub const OP_DIGEST: c_int = 1;
pub const OP_CIPHER: c_int = 2;
pub const OP_MAC: c_int = 3;
pub const OP_KDF: c_int = 4;
pub const OP_KEYMGMT: c_int = 10;
pub const OP_KEYEXCH: c_int = 11;
pub const OP_SIGNATURE: c_int = 12;
pub const OP_ASYM_CIPHER: c_int = 13;
pub const OP_KEM: c_int = 14;
pub const OP_SKEYMGMT: c_int = 15;
pub const OP_ENCODER: c_int = 20;
pub const OP_DECODER: c_int = 21;
pub const OP_STORE: c_int = 22;

/// Functions of a digest.
pub mod digest {
    use super::c_int;

    pub const NEWCTX: c_int = 1;
    pub const INIT: c_int = 2;
    pub const UPDATE: c_int = 3;
    pub const FINAL: c_int = 4;
    pub const DIGEST: c_int = 5;
    pub const FREECTX: c_int = 6;
    pub const DUPCTX: c_int = 7;
    pub const GET_PARAMS: c_int = 8;
    pub const SET_CTX_PARAMS: c_int = 9;
    pub const GET_CTX_PARAMS: c_int = 10;
    pub const GETTABLE_PARAMS: c_int = 11;
    pub const SETTABLE_CTX_PARAMS: c_int = 12;
    pub const GETTABLE_CTX_PARAMS: c_int = 13;
    /// Is known from OpenSSL 3.3 on.
    pub const SQUEEZE: c_int = 14;
    pub const COPYCTX: c_int = 15;
}

/// Functions of a cipher.
pub mod cipher {
    use super::c_int;

    pub const NEWCTX: c_int = 1;
    pub const ENCRYPT_INIT: c_int = 2;
    pub const DECRYPT_INIT: c_int = 3;
    pub const UPDATE: c_int = 4;
    pub const FINAL: c_int = 5;
    pub const CIPHER: c_int = 6;
    pub const FREECTX: c_int = 7;
    pub const DUPCTX: c_int = 8;
    pub const GET_PARAMS: c_int = 9;
    pub const GET_CTX_PARAMS: c_int = 10;
    pub const SET_CTX_PARAMS: c_int = 11;
    pub const GETTABLE_PARAMS: c_int = 12;
    pub const GETTABLE_CTX_PARAMS: c_int = 13;
    pub const SETTABLE_CTX_PARAMS: c_int = 14;
    pub const PIPELINE_ENCRYPT_INIT: c_int = 15;
    pub const PIPELINE_DECRYPT_INIT: c_int = 16;
    pub const PIPELINE_UPDATE: c_int = 17;
    pub const PIPELINE_FINAL: c_int = 18;
    pub const ENCRYPT_SKEY_INIT: c_int = 19;
    pub const DECRYPT_SKEY_INIT: c_int = 20;
}

/// Functions of a MAC.
pub mod mac {
    use super::c_int;

    pub const NEWCTX: c_int = 1;
    pub const DUPCTX: c_int = 2;
    pub const FREECTX: c_int = 3;
    pub const INIT: c_int = 4;
    pub const UPDATE: c_int = 5;
    pub const FINAL: c_int = 6;
    pub const GET_CTX_PARAMS: c_int = 8;
    pub const SET_CTX_PARAMS: c_int = 9;
    pub const GETTABLE_CTX_PARAMS: c_int = 11;
    pub const SETTABLE_CTX_PARAMS: c_int = 12;
    pub const INIT_SKEY: c_int = 13;
}

/// Functions of secret keys, from OpenSSL 3.5 on.
pub mod skeymgmt {
    use super::c_int;

    pub const FREE: c_int = 1;
    pub const IMPORT: c_int = 2;
    pub const EXPORT: c_int = 3;
    pub const GENERATE: c_int = 4;
    pub const GET_KEY_ID: c_int = 5;
    pub const IMP_SETTABLE_PARAMS: c_int = 6;
    pub const GEN_SETTABLE_PARAMS: c_int = 7;

    /// Selects the key itself, not what is known about it.
    pub const SELECT_SECRET_KEY: c_int = 2;
}

/// Functions of a KDF.
pub mod kdf {
    use super::c_int;

    pub const NEWCTX: c_int = 1;
    pub const DUPCTX: c_int = 2;
    pub const FREECTX: c_int = 3;
    pub const RESET: c_int = 4;
    pub const DERIVE: c_int = 5;
    pub const GETTABLE_CTX_PARAMS: c_int = 7;
    pub const SETTABLE_CTX_PARAMS: c_int = 8;
    pub const GET_CTX_PARAMS: c_int = 10;
    pub const SET_CTX_PARAMS: c_int = 11;
}

/// Functions of keys for public-key algorithms.
pub mod keymgmt {
    use super::c_int;

    pub const NEW: c_int = 1;
    pub const GEN_INIT: c_int = 2;
    pub const GEN_SET_TEMPLATE: c_int = 3;
    pub const GEN_SET_PARAMS: c_int = 4;
    pub const GEN_SETTABLE_PARAMS: c_int = 5;
    pub const GEN: c_int = 6;
    pub const GEN_CLEANUP: c_int = 7;
    pub const LOAD: c_int = 8;
    /// Are known from OpenSSL 3.5 on.
    pub const GEN_GET_PARAMS: c_int = 15;
    pub const GEN_GETTABLE_PARAMS: c_int = 16;
    pub const QUERY_OPERATION_NAME: c_int = 20;
    pub const FREE: c_int = 10;
    pub const GET_PARAMS: c_int = 11;
    pub const GETTABLE_PARAMS: c_int = 12;
    pub const SET_PARAMS: c_int = 13;
    pub const SETTABLE_PARAMS: c_int = 14;
    pub const HAS: c_int = 21;
    pub const VALIDATE: c_int = 22;
    pub const MATCH: c_int = 23;
    pub const IMPORT: c_int = 40;
    pub const IMPORT_TYPES: c_int = 41;
    pub const EXPORT: c_int = 42;
    pub const EXPORT_TYPES: c_int = 43;
    pub const DUP: c_int = 44;
    /// Are known from OpenSSL 3.2 on.
    pub const IMPORT_TYPES_EX: c_int = 45;
    pub const EXPORT_TYPES_EX: c_int = 46;
}

/// Functions of an encoder.
pub mod encoder {
    use super::c_int;

    pub const NEWCTX: c_int = 1;
    pub const FREECTX: c_int = 2;
    pub const SET_CTX_PARAMS: c_int = 5;
    pub const SETTABLE_CTX_PARAMS: c_int = 6;
    pub const DOES_SELECTION: c_int = 10;
    pub const ENCODE: c_int = 11;
}

/// Functions of a decoder.
pub mod decoder {
    use super::c_int;

    pub const NEWCTX: c_int = 1;
    pub const FREECTX: c_int = 2;
    pub const DOES_SELECTION: c_int = 10;
    pub const DECODE: c_int = 11;
    pub const EXPORT_OBJECT: c_int = 20;
}

/// Functions of a store.
pub mod store {
    use super::c_int;

    pub const OPEN: c_int = 1;
    pub const SETTABLE_CTX_PARAMS: c_int = 3;
    pub const SET_CTX_PARAMS: c_int = 4;
    pub const LOAD: c_int = 5;
    pub const EOF: c_int = 6;
    pub const CLOSE: c_int = 7;
    pub const EXPORT_OBJECT: c_int = 8;
}

/// The kinds of objects that decoders and stores pass on.
pub mod object {
    use super::c_int;

    pub const NAME: c_int = 1;
    pub const PKEY: c_int = 2;
    pub const CERT: c_int = 3;
}

/// Functions of a key agreement.
pub mod keyexch {
    use super::c_int;

    pub const NEWCTX: c_int = 1;
    pub const INIT: c_int = 2;
    pub const DERIVE: c_int = 3;
    pub const SET_PEER: c_int = 4;
    pub const FREECTX: c_int = 5;
    pub const DUPCTX: c_int = 6;
    pub const SET_CTX_PARAMS: c_int = 7;
    pub const SETTABLE_CTX_PARAMS: c_int = 8;
    pub const GET_CTX_PARAMS: c_int = 9;
    pub const GETTABLE_CTX_PARAMS: c_int = 10;
}

/// Functions of key encapsulation.
pub mod kem {
    use super::c_int;

    pub const NEWCTX: c_int = 1;
    pub const ENCAPSULATE_INIT: c_int = 2;
    pub const ENCAPSULATE: c_int = 3;
    pub const DECAPSULATE_INIT: c_int = 4;
    pub const DECAPSULATE: c_int = 5;
    pub const FREECTX: c_int = 6;
    pub const DUPCTX: c_int = 7;
    pub const SET_CTX_PARAMS: c_int = 10;
    pub const SETTABLE_CTX_PARAMS: c_int = 11;
}

/// Functions of encryption with a public key.
pub mod asym_cipher {
    use super::c_int;

    pub const NEWCTX: c_int = 1;
    pub const ENCRYPT_INIT: c_int = 2;
    pub const ENCRYPT: c_int = 3;
    pub const DECRYPT_INIT: c_int = 4;
    pub const DECRYPT: c_int = 5;
    pub const FREECTX: c_int = 6;
    pub const DUPCTX: c_int = 7;
    pub const GET_CTX_PARAMS: c_int = 8;
    pub const GETTABLE_CTX_PARAMS: c_int = 9;
    pub const SET_CTX_PARAMS: c_int = 10;
    pub const SETTABLE_CTX_PARAMS: c_int = 11;
}

/// Functions of a signature. Those from 26 on are known from OpenSSL 3.4 on.
pub mod signature {
    use super::c_int;

    pub const NEWCTX: c_int = 1;
    pub const SIGN_INIT: c_int = 2;
    pub const SIGN: c_int = 3;
    pub const VERIFY_INIT: c_int = 4;
    pub const VERIFY: c_int = 5;
    pub const VERIFY_RECOVER_INIT: c_int = 6;
    pub const VERIFY_RECOVER: c_int = 7;
    pub const DIGEST_SIGN_INIT: c_int = 8;
    pub const DIGEST_SIGN_UPDATE: c_int = 9;
    pub const DIGEST_SIGN_FINAL: c_int = 10;
    pub const DIGEST_SIGN: c_int = 11;
    pub const DIGEST_VERIFY_INIT: c_int = 12;
    pub const DIGEST_VERIFY_UPDATE: c_int = 13;
    pub const DIGEST_VERIFY_FINAL: c_int = 14;
    pub const DIGEST_VERIFY: c_int = 15;
    pub const FREECTX: c_int = 16;
    pub const DUPCTX: c_int = 17;
    pub const GET_CTX_PARAMS: c_int = 18;
    pub const GETTABLE_CTX_PARAMS: c_int = 19;
    pub const SET_CTX_PARAMS: c_int = 20;
    pub const SETTABLE_CTX_PARAMS: c_int = 21;
    pub const GET_CTX_MD_PARAMS: c_int = 22;
    pub const GETTABLE_CTX_MD_PARAMS: c_int = 23;
    pub const SET_CTX_MD_PARAMS: c_int = 24;
    pub const SETTABLE_CTX_MD_PARAMS: c_int = 25;
    pub const QUERY_KEY_TYPES: c_int = 26;
    pub const SIGN_MESSAGE_INIT: c_int = 27;
    pub const SIGN_MESSAGE_UPDATE: c_int = 28;
    pub const SIGN_MESSAGE_FINAL: c_int = 29;
    pub const VERIFY_MESSAGE_INIT: c_int = 30;
    pub const VERIFY_MESSAGE_UPDATE: c_int = 31;
    pub const VERIFY_MESSAGE_FINAL: c_int = 32;
}
