//! A disk that is full, and a file that is no store: what the module answers, and that nothing is lost.
#![allow(unsafe_code)]

use std::path::PathBuf;
use std::ptr::null_mut;

use cryptoki_sys::*;

use crate::functions::{Module, attributes, loaded, number};
use crate::support::{PIN, alone};

/// Returns the path of the store's file.
fn file() -> PathBuf {
    PathBuf::from(std::env::var_os("MILLSTREAM_STORE").unwrap()).join("tokens.redb")
}

/// Sets the most bytes that a file of this process may have, which acts like a full disk and needs no privilege.
fn limit(bytes: libc::rlim_t) {
    // SAFETY: the signal is ignored, so that writing fails in its place; the structure is valid.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
    }
}

/// Adds an object of so many bytes to the token.
fn add(module: Module, session: CK_SESSION_HANDLE, bytes: usize) -> Result<CK_OBJECT_HANDLE, CK_RV> {
    let values = [number(CKA_CLASS, CKO_DATA), (CKA_TOKEN, vec![1]), (CKA_VALUE, vec![7; bytes])];
    let (mut template, mut object) = (attributes(&values), 0);
    match call!(module, C_CreateObject, session, template.as_mut_ptr(), 3, &mut object) {
        CKR_OK => Ok(object),
        value => Err(value),
    }
}

fn log_in(module: Module, session: CK_SESSION_HANDLE) -> CK_RV {
    let mut pin = PIN.as_bytes().to_vec();
    call!(module, C_Login, session, CKU_USER, pin.as_mut_ptr(), pin.len() as CK_ULONG)
}

#[test]
fn a_full_disk_is_told_and_nothing_is_lost() {
    alone("disks::a_full_disk_is_told_and_nothing_is_lost", || {
        let module = loaded();
        let session = module.log_in();
        let mut kept: Vec<_> = (0..3).map(|_| add(module, session, 4096).unwrap()).collect();
        limit(file().metadata().unwrap().len());
        let refused = loop {
            match add(module, session, 4096) {
                Ok(object) => kept.push(object),
                Err(value) => break value,
            }
            assert!(kept.len() < 4096, "the file grows in spite of the limit");
        };
        assert_eq!(refused, CKR_DEVICE_MEMORY);
        // The objects that are there can be read, and those of the session need no disk.
        let read = |object| {
            let mut value = vec![0u8; 4096];
            let mut wanted =
                CK_ATTRIBUTE { type_: CKA_VALUE, pValue: value.as_mut_ptr().cast(), ulValueLen: 4096 };
            good!(module, C_GetAttributeValue, session, object, &mut wanted, 1);
            assert!(value == [7; 4096]);
        };
        kept.iter().copied().for_each(read);
        module.generate(session, CKM_AES_KEY_GEN, &[number(CKA_VALUE_LEN, 32)]);
        // A try of a PIN is written before the PIN is looked at.
        good!(module, C_Logout, session,);
        assert!(matches!(log_in(module, session), CKR_OK | CKR_DEVICE_MEMORY));

        limit(libc::RLIM_INFINITY);
        assert!(matches!(log_in(module, session), CKR_OK | CKR_USER_ALREADY_LOGGED_IN));
        good!(module, C_FindObjectsInit, session, null_mut(), 0);
        let (mut found, mut count) = (vec![0; 5000], 0);
        good!(module, C_FindObjects, session, found.as_mut_ptr(), 5000, &mut count);
        good!(module, C_FindObjectsFinal, session,);
        assert_eq!(count as usize, kept.len(), "what was acknowledged, and nothing else");
        found[..kept.len()].iter().copied().for_each(read);
        add(module, session, 4096).unwrap();
    });
}

#[test]
fn a_file_that_is_no_store_is_a_token_that_nobody_knows() {
    alone("disks::a_file_that_is_no_store_is_a_token_that_nobody_knows", || {
        let whole = std::fs::read(file()).unwrap();
        std::fs::write(file(), b"of another program, or of a later version").unwrap();
        let module = loaded();
        let (mut slots, mut count) = ([0; 4], 4);
        good!(module, C_GetSlotList, 1, slots.as_mut_ptr(), &mut count);
        assert_eq!((count, slots[0]), (1, 0));
        // SAFETY: the structure is numbers and bytes, which may be zero.
        let mut info: CK_TOKEN_INFO = unsafe { std::mem::zeroed() };
        let (mut pin, mut label, mut session) = (*b"271828", [b' '; 32], 0);
        label[..3].copy_from_slice(b"new");
        let told = [
            call!(module, C_GetTokenInfo, 0, &mut info),
            call!(module, C_OpenSession, 0, CKF_SERIAL_SESSION, null_mut(), None, &mut session),
            call!(module, C_InitToken, 0, pin.as_mut_ptr(), 6, label.as_mut_ptr()),
        ];
        assert_eq!(told, [CKR_TOKEN_NOT_RECOGNIZED; 3], "{told:x?}");
        assert_eq!(std::fs::read(file()).unwrap(), b"of another program, or of a later version");
        // With the right file the same process has the token.
        std::fs::write(file(), whole).unwrap();
        count = 4;
        good!(module, C_GetSlotList, 1, slots.as_mut_ptr(), &mut count);
        module.log_in();
    });
}
