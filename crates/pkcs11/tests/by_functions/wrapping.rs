//! Keys that are wrapped with associated data, with each structure that the mechanisms take.

use std::ptr;

use cryptoki_sys::*;

use crate::functions::{Module, Value, attributes, bare, loaded, number};
use crate::support::alone;

/// A mechanism with a structure as its parameter.
fn with<T>(mechanism: CK_MECHANISM_TYPE, parameter: &mut T) -> CK_MECHANISM {
    let len = size_of::<T>() as CK_ULONG;
    CK_MECHANISM { mechanism, pParameter: ptr::from_mut(parameter).cast(), ulParameterLen: len }
}

fn flag(kind: CK_ATTRIBUTE_TYPE) -> Value {
    (kind, vec![1])
}

/// A session with a key that wraps and unwraps, and one to be wrapped whose value can be read.
#[derive(Clone, Copy)]
struct Keys {
    module: Module,
    session: CK_SESSION_HANDLE,
    wrapping: CK_OBJECT_HANDLE,
    key: CK_OBJECT_HANDLE,
}

impl Keys {
    fn new(make: CK_MECHANISM_TYPE) -> Self {
        let module = loaded();
        let session = module.log_in();
        let usages = [CKA_WRAP, CKA_UNWRAP, CKA_ENCRYPT, CKA_DECRYPT].map(flag);
        let wrapping = module.generate(session, make, &[&usages[..], &[number(CKA_VALUE_LEN, 32)]].concat());
        let open = [flag(CKA_EXTRACTABLE), (CKA_SENSITIVE, vec![0]), number(CKA_VALUE_LEN, 24)];
        let key = module.generate(session, CKM_AES_KEY_GEN, &open);
        Keys { module, session, wrapping, key }
    }

    fn value(&self, key: CK_OBJECT_HANDLE) -> Vec<u8> {
        let mut value = vec![0; 64];
        let (at, room) = (value.as_mut_ptr().cast(), value.len() as CK_ULONG);
        let mut wanted = CK_ATTRIBUTE { type_: CKA_VALUE, pValue: at, ulValueLen: room };
        good!(self.module, C_GetAttributeValue, self.session, key, &mut wanted, 1);
        value.truncate(wanted.ulValueLen as usize);
        value
    }

    fn wrap(&self, mechanism: &mut CK_MECHANISM, aad: &[u8]) -> Result<Vec<u8>, CK_RV> {
        let (mut out, mut len) = (vec![0; 128], 128);
        let (aad, aad_len) = (aad.as_ptr().cast_mut(), aad.len() as CK_ULONG);
        let (s, w, k) = (self.session, self.wrapping, self.key);
        match call!(
            self.module,
            C_WrapKeyAuthenticated,
            s,
            mechanism,
            w,
            k,
            aad,
            aad_len,
            out.as_mut_ptr(),
            &mut len
        ) {
            CKR_OK => Ok(out[..len as usize].to_vec()),
            value => Err(value),
        }
    }

    fn unwrap(
        &self,
        mechanism: &mut CK_MECHANISM,
        wrapped: &[u8],
        aad: &[u8],
    ) -> Result<CK_OBJECT_HANDLE, CK_RV> {
        let given = [
            number(CKA_CLASS, CKO_SECRET_KEY),
            number(CKA_KEY_TYPE, CKK_AES),
            flag(CKA_EXTRACTABLE),
            (CKA_SENSITIVE, vec![0]),
        ];
        let mut template = attributes(&given);
        let (at, count) = (template.as_mut_ptr(), template.len() as CK_ULONG);
        let (wrapped, len) = (wrapped.as_ptr().cast_mut(), wrapped.len() as CK_ULONG);
        let (aad, aad_len) = (aad.as_ptr().cast_mut(), aad.len() as CK_ULONG);
        let (s, by, mut key) = (self.session, self.wrapping, 0);
        let value = call!(
            self.module,
            C_UnwrapKeyAuthenticated,
            s,
            mechanism,
            by,
            wrapped,
            len,
            at,
            count,
            aad,
            aad_len,
            &mut key
        );
        if value == CKR_OK { Ok(key) } else { Err(value) }
    }

    /// Encrypts the value of the key with the wrapping key, as a program does that knows nothing of wrapping.
    fn encrypted(&self, mechanism: &mut CK_MECHANISM) -> Vec<u8> {
        good!(self.module, C_EncryptInit, self.session, mechanism, self.wrapping);
        let (mut value, mut out, mut len) = (self.value(self.key), vec![0; 128], 128);
        let (at, value_len) = (value.as_mut_ptr(), value.len() as CK_ULONG);
        good!(self.module, C_Encrypt, self.session, at, value_len, out.as_mut_ptr(), &mut len);
        out.truncate(len as usize);
        out
    }
}

fn gcm(nonce: &mut [u8; 12], aad: &mut [u8]) -> CK_GCM_PARAMS {
    let (at, len) = match aad.is_empty() {
        true => (ptr::null_mut(), 0),
        false => (aad.as_mut_ptr(), aad.len() as CK_ULONG),
    };
    CK_GCM_PARAMS {
        pIv: nonce.as_mut_ptr(),
        ulIvLen: 12,
        ulIvBits: 96,
        pAAD: at,
        ulAADLen: len,
        ulTagBits: 128,
    }
}

fn for_wrapping(nonce: &mut [u8; 12], generator: CK_GENERATOR_FUNCTION) -> CK_GCM_WRAP_PARAMS {
    CK_GCM_WRAP_PARAMS {
        pIv: nonce.as_mut_ptr(),
        ulIvLen: 12,
        ulIvFixedBits: 0,
        ivGenerator: generator,
        pAAD: ptr::null_mut(),
        ulAADLen: 0,
        ulTagBits: 128,
    }
}

const AAD: &[u8] = b"associated";

#[test]
fn aes_gcm_wraps_with_associated_data_in_each_form() {
    alone("wrapping::aes_gcm_wraps_with_associated_data_in_each_form", || {
        let keys = Keys::new(CKM_AES_KEY_GEN);
        let value = keys.value(keys.key);
        let back = |mechanism: &mut CK_MECHANISM, wrapped: &[u8]| {
            assert_eq!(keys.value(keys.unwrap(mechanism, wrapped, AAD).unwrap()), value);
            assert_eq!(keys.unwrap(mechanism, wrapped, b"other"), Err(CKR_AEAD_DECRYPT_FAILED));
            assert_eq!(keys.unwrap(mechanism, wrapped, b""), Err(CKR_AEAD_DECRYPT_FAILED));
        };

        // The structure of an encryption: what comes is what C_Encrypt makes of the value.
        let (mut nonce, mut aad) = ([7; 12], AAD.to_vec());
        let mut apart = gcm(&mut nonce, &mut []);
        let wrapped = keys.wrap(&mut with(CKM_AES_GCM, &mut apart), AAD).unwrap();
        let mut together = gcm(&mut nonce, &mut aad);
        assert_eq!(wrapped, keys.encrypted(&mut with(CKM_AES_GCM, &mut together)));
        back(&mut with(CKM_AES_GCM, &mut apart), &wrapped);
        // The associated data may stand there, too, but not in two places.
        assert_eq!(keys.wrap(&mut with(CKM_AES_GCM, &mut together), b""), Ok(wrapped.clone()));
        let twice = keys.wrap(&mut with(CKM_AES_GCM, &mut together), AAD);
        assert_eq!(twice, Err(CKR_MECHANISM_PARAM_INVALID));
        let mut changed = wrapped.clone();
        changed[3] ^= 1;
        let apart = &mut with(CKM_AES_GCM, &mut apart);
        assert_eq!(keys.unwrap(apart, &changed, AAD), Err(CKR_AEAD_DECRYPT_FAILED));
        assert_eq!(keys.unwrap(apart, &wrapped[..15], AAD), Err(CKR_WRAPPED_KEY_LEN_RANGE));

        // The structure of wrapping: the nonce is made, and written where it belongs.
        let mut nonce = [0; 12];
        let mut parameter = for_wrapping(&mut nonce, CKG_GENERATE_RANDOM);
        let wrapped = keys.wrap(&mut with(CKM_AES_GCM, &mut parameter), AAD).unwrap();
        assert_eq!(wrapped.len(), value.len() + 16);
        assert_ne!(nonce, [0; 12]);
        back(&mut with(CKM_AES_GCM, &mut for_wrapping(&mut nonce, CKG_NO_GENERATE)), &wrapped);

        // The structure of a message: the tag is apart.
        let (mut nonce, mut tag) = ([0; 12], [0; 16]);
        let mut parameter = CK_GCM_MESSAGE_PARAMS {
            pIv: nonce.as_mut_ptr(),
            ulIvLen: 12,
            ulIvFixedBits: 0,
            ivGenerator: CKG_GENERATE,
            pTag: tag.as_mut_ptr(),
            ulTagBits: 128,
        };
        let message = &mut with(CKM_AES_GCM, &mut parameter);
        let wrapped = keys.wrap(message, AAD).unwrap();
        assert_eq!(wrapped.len(), value.len());
        assert_ne!((nonce, tag), ([0; 12], [0; 16]));
        back(message, &wrapped);
    });
}

#[test]
fn the_parameter_of_wrapping_is_for_the_older_functions_too() {
    alone("wrapping::the_parameter_of_wrapping_is_for_the_older_functions_too", || {
        let keys = Keys::new(CKM_AES_KEY_GEN);
        let mut nonce = [0; 12];
        let (mut out, mut len) = ([0; 64], 0);
        let mut parameter = for_wrapping(&mut nonce, CKG_GENERATE);
        let mechanism = &mut with(CKM_AES_GCM, &mut parameter);
        let (module, session, by) = (keys.module, keys.session, keys.wrapping);
        // A question about the length makes no nonce.
        good!(module, C_WrapKey, session, mechanism, by, keys.key, ptr::null_mut(), &mut len);
        assert_eq!((len, nonce), (40, [0; 12]));
        len -= 1;
        let short = call!(module, C_WrapKey, session, mechanism, by, keys.key, out.as_mut_ptr(), &mut len);
        assert_eq!((short, len, nonce), (CKR_BUFFER_TOO_SMALL, 40, [0; 12]));
        good!(module, C_WrapKey, session, mechanism, by, keys.key, out.as_mut_ptr(), &mut len);
        assert_ne!(nonce, [0; 12]);
        let given = [number(CKA_CLASS, CKO_SECRET_KEY), number(CKA_KEY_TYPE, CKK_AES)];
        let (mut template, mut key) = (attributes(&given), 0);
        let mut parameter = for_wrapping(&mut nonce, CKG_NO_GENERATE);
        let mechanism = &mut with(CKM_AES_GCM, &mut parameter);
        good!(
            module,
            C_UnwrapKey,
            session,
            mechanism,
            by,
            out.as_mut_ptr(),
            40,
            template.as_mut_ptr(),
            2,
            &mut key
        );
        out[0] ^= 1;
        let value = call!(
            module,
            C_UnwrapKey,
            session,
            mechanism,
            by,
            out.as_mut_ptr(),
            40,
            template.as_mut_ptr(),
            2,
            &mut key
        );
        assert_eq!(value, CKR_WRAPPED_KEY_INVALID);
    });
}

#[test]
fn chacha20_poly1305_wraps_with_associated_data() {
    alone("wrapping::chacha20_poly1305_wraps_with_associated_data", || {
        let keys = Keys::new(CKM_CHACHA20_KEY_GEN);
        let (mut nonce, mut tag, mut aad) = ([9; 12], [0; 16], AAD.to_vec());
        let mut parameter = CK_SALSA20_CHACHA20_POLY1305_PARAMS {
            pNonce: nonce.as_mut_ptr(),
            ulNonceLen: 12,
            pAAD: ptr::null_mut(),
            ulAADLen: 0,
        };
        let behind = &mut with(CKM_CHACHA20_POLY1305, &mut parameter);
        let wrapped = keys.wrap(behind, AAD).unwrap();
        let mut together = CK_SALSA20_CHACHA20_POLY1305_PARAMS {
            pAAD: aad.as_mut_ptr(),
            ulAADLen: aad.len() as CK_ULONG,
            ..parameter
        };
        assert_eq!(wrapped, keys.encrypted(&mut with(CKM_CHACHA20_POLY1305, &mut together)));
        assert_eq!(keys.value(keys.unwrap(behind, &wrapped, AAD).unwrap()), keys.value(keys.key));
        assert_eq!(keys.unwrap(behind, &wrapped, b"other"), Err(CKR_AEAD_DECRYPT_FAILED));
        let mut parameter = CK_SALSA20_CHACHA20_POLY1305_MSG_PARAMS {
            pNonce: nonce.as_mut_ptr(),
            ulNonceLen: 12,
            pTag: tag.as_mut_ptr(),
        };
        let message = &mut with(CKM_CHACHA20_POLY1305, &mut parameter);
        let other = keys.wrap(message, AAD).unwrap();
        assert_eq!([&other[..], &tag].concat(), wrapped);
        assert_eq!(keys.value(keys.unwrap(message, &other, AAD).unwrap()), keys.value(keys.key));
    });
}

#[test]
fn what_may_not_be_wrapped_is_not() {
    alone("wrapping::what_may_not_be_wrapped_is_not", || {
        let keys = Keys::new(CKM_AES_KEY_GEN);
        let stays = keys.module.generate(
            keys.session,
            CKM_AES_KEY_GEN,
            &[number(CKA_VALUE_LEN, 16), (CKA_EXTRACTABLE, vec![0])],
        );
        let mut nonce = [7; 12];
        let mut parameter = gcm(&mut nonce, &mut []);
        let mechanism = &mut with(CKM_AES_GCM, &mut parameter);
        assert_eq!(Keys { key: stays, ..keys }.wrap(mechanism, AAD), Err(CKR_KEY_UNEXTRACTABLE));
        assert_eq!(Keys { key: 0, ..keys }.wrap(mechanism, AAD), Err(CKR_KEY_HANDLE_INVALID));
        assert_eq!(Keys { wrapping: 0, ..keys }.wrap(mechanism, AAD), Err(CKR_WRAPPING_KEY_HANDLE_INVALID));
        assert!(Keys { wrapping: keys.key, ..keys }.unwrap(mechanism, &[0; 40], AAD).is_err());
        let other = Keys { wrapping: 0, ..keys }.unwrap(mechanism, &[0; 40], AAD);
        assert_eq!(other, Err(CKR_UNWRAPPING_KEY_HANDLE_INVALID));
        // A cipher without associated data can't authenticate any.
        let without = keys.wrap(&mut bare(CKM_AES_KEY_WRAP), AAD);
        assert_eq!(without, Err(CKR_MECHANISM_INVALID));
        assert_eq!(keys.wrap(&mut bare(CKM_AES_GCM), AAD), Err(CKR_MECHANISM_PARAM_INVALID));
        assert_eq!(keys.wrap(&mut bare(CKM_SHA256), AAD), Err(CKR_MECHANISM_INVALID));
    });
}
