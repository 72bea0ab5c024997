//! Functions of the standard that this module does not have. They are in the lists all the same, as the standard demands.
//!
//! Ref. PKCS #11 v3.2 §5.2.

use cryptoki_sys::*;

use crate::module::Module;

/// Declares functions that only say that they are not supported; the arguments have the types of the standard.
macro_rules! unsupported {
    ($(fn $name:ident($($type:ty),*);)*) => {$(
        pub unsafe extern "C" fn $name($(_: $type),*) -> CK_RV {
            match Module::get() {
                Ok(_) => CKR_FUNCTION_NOT_SUPPORTED,
                Err(refusal) => refusal.0,
            }
        }
    )*};
}

unsupported! {
    fn C_EncapsulateKey(CK_SESSION_HANDLE, *mut CK_MECHANISM, CK_OBJECT_HANDLE, *mut CK_ATTRIBUTE, CK_ULONG, *mut CK_BYTE, *mut CK_ULONG, *mut CK_OBJECT_HANDLE);
    fn C_DecapsulateKey(CK_SESSION_HANDLE, *mut CK_MECHANISM, CK_OBJECT_HANDLE, *mut CK_ATTRIBUTE, CK_ULONG, *mut CK_BYTE, CK_ULONG, *mut CK_OBJECT_HANDLE);
}
