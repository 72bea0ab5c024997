//! What the client of the other tests does not know: XTS and ChaCha20-Poly1305, by the functions themselves.
#![allow(non_snake_case, unsafe_code)]

use std::ptr::null_mut;

use cryptoki_sys::*;

use crate::bed::{PIN, alone, make};

/// The functions of version 3.2, from the module that is linked into this test.
pub struct Functions(pub CK_FUNCTION_LIST_3_2);

macro_rules! call {
    ($functions:expr, $name:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: the pointers are those of values that outlive the call, with their lengths.
        unsafe { ($functions.0.$name.unwrap())($($argument),*) }
    };
}

macro_rules! good {
    ($functions:expr, $name:ident($($argument:expr),* $(,)?)) => {
        assert_eq!(call!($functions, $name($($argument),*)), CKR_OK, stringify!($name))
    };
}

pub(crate) use {call, good};

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

impl Functions {
    pub fn get() -> Self {
        let mut interface = null_mut();
        let mut version = CK_VERSION { major: 3, minor: 2 };
        // SAFETY: the arguments are a name that may be NULL, a version, and a place.
        let got =
            unsafe { millstream_pkcs11::abi::C_GetInterface(null_mut(), &mut version, &mut interface, 0) };
        assert_eq!(got, CKR_OK);
        // SAFETY: the interface of that version has such a list.
        let functions = Functions(unsafe { *(*interface).pFunctionList.cast::<CK_FUNCTION_LIST_3_2>() });
        good!(functions, C_Initialize(null_mut()));
        let mut count = 0;
        good!(functions, C_GetSlotList(1, null_mut(), &mut count));
        functions
    }

    pub fn session(&self, flags: CK_FLAGS) -> CK_SESSION_HANDLE {
        let mut session = 0;
        let flags = flags | CKF_SERIAL_SESSION | CKF_RW_SESSION;
        good!(self, C_OpenSession(0, flags, null_mut(), None, &mut session));
        session
    }

    pub fn logged_in(&self) -> CK_SESSION_HANDLE {
        let session = self.session(0);
        let mut pin = PIN.as_bytes().to_vec();
        good!(self, C_Login(session, CKU_USER, pin.as_mut_ptr(), pin.len() as CK_ULONG));
        session
    }

    fn secret(&self, session: CK_SESSION_HANDLE, key_type: CK_KEY_TYPE, value: &[u8], in_token: bool) -> u64 {
        self.secret_with(session, key_type, value, in_token, &[])
    }

    fn secret_with(
        &self,
        session: CK_SESSION_HANDLE,
        key_type: CK_KEY_TYPE,
        value: &[u8],
        in_token: bool,
        more: &[Value],
    ) -> u64 {
        let values = [
            number(CKA_CLASS, CKO_SECRET_KEY),
            number(CKA_KEY_TYPE, key_type),
            (CKA_TOKEN, vec![u8::from(in_token)]),
            (CKA_VALUE, value.to_vec()),
        ];
        self.create(session, &[&values[..], more].concat())
    }

    pub fn create(&self, session: CK_SESSION_HANDLE, values: &[Value]) -> CK_OBJECT_HANDLE {
        let (mut template, mut object) = (attributes(values), 0);
        good!(self, C_CreateObject(session, template.as_mut_ptr(), template.len() as CK_ULONG, &mut object));
        object
    }

    /// Returns a new pair, the public and the private key.
    pub fn pair(
        &self,
        session: CK_SESSION_HANDLE,
        mechanism: CK_MECHANISM_TYPE,
        public: &[Value],
        private: &[Value],
    ) -> [CK_OBJECT_HANDLE; 2] {
        let (mut of_public, mut of_private) = (attributes(public), attributes(private));
        let (mut public_key, mut private_key) = (0, 0);
        good!(
            self,
            C_GenerateKeyPair(
                session,
                &mut bare(mechanism),
                of_public.as_mut_ptr(),
                of_public.len() as CK_ULONG,
                of_private.as_mut_ptr(),
                of_private.len() as CK_ULONG,
                &mut public_key,
                &mut private_key,
            )
        );
        [public_key, private_key]
    }

    /// Reads an attribute.
    pub fn read(
        &self,
        session: CK_SESSION_HANDLE,
        object: CK_OBJECT_HANDLE,
        kind: CK_ATTRIBUTE_TYPE,
    ) -> Result<Vec<u8>, CK_RV> {
        let mut value = vec![0; 5000];
        let mut wanted = CK_ATTRIBUTE { type_: kind, pValue: value.as_mut_ptr().cast(), ulValueLen: 5000 };
        let told = call!(self, C_GetAttributeValue(session, object, &mut wanted, 1));
        value.truncate(wanted.ulValueLen.min(5000) as usize);
        if told == CKR_OK { Ok(value) } else { Err(told) }
    }

    /// Signs at once.
    pub fn sign(
        &self,
        session: CK_SESSION_HANDLE,
        mut mechanism: CK_MECHANISM,
        key: CK_OBJECT_HANDLE,
        text: &[u8],
    ) -> Result<Vec<u8>, CK_RV> {
        let (at, n) = (text.as_ptr().cast_mut(), text.len() as CK_ULONG);
        match call!(self, C_SignInit(session, &mut mechanism, key)) {
            CKR_OK => {}
            told => return Err(told),
        }
        let (mut signature, mut len) = (vec![0; 50_000], 50_000);
        match call!(self, C_Sign(session, at, n, signature.as_mut_ptr(), &mut len)) {
            CKR_OK => signature.truncate(len as usize),
            told => return Err(told),
        }
        Ok(signature)
    }

    /// Verifies at once.
    pub fn verify(
        &self,
        session: CK_SESSION_HANDLE,
        mut mechanism: CK_MECHANISM,
        key: CK_OBJECT_HANDLE,
        text: &[u8],
        signature: &[u8],
    ) -> CK_RV {
        let (at, n) = (text.as_ptr().cast_mut(), text.len() as CK_ULONG);
        good!(self, C_VerifyInit(session, &mut mechanism, key));
        call!(self, C_Verify(session, at, n, signature.as_ptr().cast_mut(), signature.len() as CK_ULONG))
    }

    /// Waits for the signature of an asynchronous session, and returns its length.
    pub fn complete(&self, session: CK_SESSION_HANDLE) -> Result<usize, CK_RV> {
        let mut data =
            CK_ASYNC_DATA { ulVersion: 0, pValue: null_mut(), ulValue: 0, hObject: 0, hAdditionalObject: 0 };
        let name = c"C_Sign".as_ptr().cast_mut().cast();
        loop {
            match call!(self, C_AsyncComplete(session, name, &mut data)) {
                CKR_PENDING => {}
                CKR_OK => return Ok(data.ulValue as usize),
                told => return Err(told),
            }
        }
    }

    /// Encrypts or decrypts at once.
    fn cipher(
        &self,
        session: CK_SESSION_HANDLE,
        encrypts: bool,
        mut mechanism: CK_MECHANISM,
        key: u64,
        text: &[u8],
    ) -> Result<Vec<u8>, CK_RV> {
        let (mut out, mut len) = (vec![0; text.len() + 64], text.len() as CK_ULONG + 64);
        let (at, n) = (text.as_ptr().cast_mut(), text.len() as CK_ULONG);
        let ended = if encrypts {
            good!(self, C_EncryptInit(session, &mut mechanism, key));
            call!(self, C_Encrypt(session, at, n, out.as_mut_ptr(), &mut len))
        } else {
            good!(self, C_DecryptInit(session, &mut mechanism, key));
            call!(self, C_Decrypt(session, at, n, out.as_mut_ptr(), &mut len))
        };
        out.truncate(len as usize);
        if ended == CKR_OK { Ok(out) } else { Err(ended) }
    }
}

pub fn with<T>(mechanism: CK_MECHANISM_TYPE, parameter: &mut T) -> CK_MECHANISM {
    CK_MECHANISM {
        mechanism,
        pParameter: std::ptr::from_mut(parameter).cast(),
        ulParameterLen: size_of::<T>() as CK_ULONG,
    }
}

pub fn bare(mechanism: CK_MECHANISM_TYPE) -> CK_MECHANISM {
    CK_MECHANISM { mechanism, pParameter: null_mut(), ulParameterLen: 0 }
}

#[test]
fn ciphers_that_few_clients_know_give_what_they_give_here() {
    alone("raw::ciphers_that_few_clients_know_give_what_they_give_here", |bed| {
        let service = bed.serve();
        make(&service);
        let functions = Functions::get();
        let session = functions.logged_in();
        let long: Vec<u8> = (0..150_001u32).map(|i| (i * 5) as u8).collect();
        let both = |key_type, value: &[u8]| {
            [true, false].map(|in_token| functions.secret(session, key_type, value, in_token))
        };
        let xts_key: Vec<u8> = (0..64).collect();
        let (mut nonce, mut aad) = ([9u8; 12], *b"header");
        let mut chacha = CK_SALSA20_CHACHA20_POLY1305_PARAMS {
            pNonce: nonce.as_mut_ptr(),
            ulNonceLen: 12,
            pAAD: aad.as_mut_ptr(),
            ulAADLen: 6,
        };
        let mut counter = CK_AES_CTR_PARAMS { ulCounterBits: 128, cb: [0xff; 16] };
        let mut tweak = [4u8; 16];
        for (keys, mechanism) in [
            (both(CKK_CHACHA20, &[7; 32]), with(CKM_CHACHA20_POLY1305, &mut chacha)),
            (both(CKK_AES, &[8; 16]), with(CKM_AES_CTR, &mut counter)),
            (both(CKK_AES_XTS, &xts_key), with(CKM_AES_XTS, &mut tweak)),
        ] {
            for len in [16, 33, 65_536, long.len()] {
                let text = &long[..len];
                let [there, here] =
                    keys.map(|key| functions.cipher(session, true, mechanism, key, text).unwrap());
                assert!(there == here, "{:#x} of {len} bytes", mechanism.mechanism);
                let back = functions.cipher(session, false, mechanism, keys[0], &there).unwrap();
                assert!(back == text, "{:#x} of {len} bytes", mechanism.mechanism);
            }
        }
        // A counter mode in parts that are no whole blocks.
        let key = functions.secret(session, CKK_AES, &[8; 16], true);
        let mut mechanism = with(CKM_AES_CTR, &mut counter);
        let whole = functions.cipher(session, true, mechanism, key, &long).unwrap();
        good!(functions, C_EncryptInit(session, &mut mechanism, key));
        let mut out = Vec::new();
        for part in long.chunks(7_777) {
            let (mut done, mut len) = (vec![0; part.len()], part.len() as CK_ULONG);
            let at = part.as_ptr().cast_mut();
            good!(functions, C_EncryptUpdate(session, at, len, done.as_mut_ptr(), &mut len));
            out.extend(done);
        }
        let (mut end, mut len) = ([0; 16], 16);
        good!(functions, C_EncryptFinal(session, end.as_mut_ptr(), &mut len));
        assert!(out == whole && len == 0);
        // A key that decrypts alone does that where it does not take keystream, and no more.
        let uses = [(CKA_ENCRYPT, vec![0]), (CKA_DECRYPT, vec![1])];
        let reads = functions.secret_with(session, CKK_AES, &[8; 16], true, &uses);
        let begun = call!(functions, C_DecryptInit(session, &mut mechanism, reads));
        assert_eq!(begun, CKR_KEY_FUNCTION_NOT_PERMITTED);
        let (mut iv, text) = ([5u8; 16], &long[..4096]);
        let mut cbc = with(CKM_AES_CBC, &mut iv);
        let sealed = functions.cipher(session, true, cbc, key, text).unwrap();
        assert!(functions.cipher(session, false, cbc, reads, &sealed).unwrap() == text);
        let begun = call!(functions, C_EncryptInit(session, &mut cbc, reads));
        assert_eq!(begun, CKR_KEY_FUNCTION_NOT_PERMITTED);
    });
}
