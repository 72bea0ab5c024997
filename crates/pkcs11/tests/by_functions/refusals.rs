//! What functions answer to mechanisms, parameters, keys and templates that don't fit: tables of the standard's return values.
//!
//! Ref. PKCS #11 v3.2 §5.1 (return values), §5.7 to §5.18.

use std::ptr::null_mut;

use cryptoki_sys::*;

use crate::functions::{Module, Value, attributes, bare, loaded, number};
use crate::support::alone;

/// A mechanism with these bytes as its parameter.
pub fn with(mechanism: CK_MECHANISM_TYPE, parameter: &[u8]) -> CK_MECHANISM {
    CK_MECHANISM {
        mechanism,
        pParameter: parameter.as_ptr().cast_mut().cast(),
        ulParameterLen: parameter.len() as CK_ULONG,
    }
}

/// Begins an operation.
pub type Begin = fn(Module, CK_SESSION_HANDLE, CK_MECHANISM, CK_OBJECT_HANDLE) -> CK_RV;

macro_rules! begins {
    ($name:ident) => {
        |module, session, mut mechanism, key| call!(module, $name, session, &mut mechanism, key)
    };
}

pub(crate) use begins;

const BEGINS: [(&str, Begin); 11] = [
    ("C_EncryptInit", begins!(C_EncryptInit)),
    ("C_DecryptInit", begins!(C_DecryptInit)),
    ("C_SignInit", begins!(C_SignInit)),
    ("C_VerifyInit", begins!(C_VerifyInit)),
    ("C_SignRecoverInit", begins!(C_SignRecoverInit)),
    ("C_VerifyRecoverInit", begins!(C_VerifyRecoverInit)),
    ("C_MessageEncryptInit", begins!(C_MessageEncryptInit)),
    ("C_MessageDecryptInit", begins!(C_MessageDecryptInit)),
    ("C_MessageSignInit", begins!(C_MessageSignInit)),
    ("C_MessageVerifyInit", begins!(C_MessageVerifyInit)),
    ("C_VerifySignatureInit", |module, session, mut mechanism, key| {
        call!(module, C_VerifySignatureInit, session, &mut mechanism, key, [0u8; 64].as_mut_ptr(), 64)
    }),
];

/// Keys, each without any usage but one that no operation here has where it says so.
pub struct Keys {
    pub aes: CK_OBJECT_HANDLE,
    pub hmac: CK_OBJECT_HANDLE,
    pub ec: [CK_OBJECT_HANDLE; 2],
    pub rsa: [CK_OBJECT_HANDLE; 2],
    pub idle_aes: CK_OBJECT_HANDLE,
    pub idle_hmac: CK_OBJECT_HANDLE,
}

fn rsa(module: Module, session: CK_SESSION_HANDLE) -> [CK_OBJECT_HANDLE; 2] {
    let (bits, recovers) = ([number(CKA_MODULUS_BITS, 2048)], [(CKA_SIGN_RECOVER, vec![1])]);
    let (mut public, mut private, mut keys) = (attributes(&bits), attributes(&recovers), [0; 2]);
    let [public_key, private_key] = &mut keys;
    let (one, other) = (public.as_mut_ptr(), private.as_mut_ptr());
    let kind = &mut bare(CKM_RSA_PKCS_KEY_PAIR_GEN);
    good!(module, C_GenerateKeyPair, session, kind, one, 1, other, 1, public_key, private_key);
    keys
}

pub fn keys(module: Module, session: CK_SESSION_HANDLE) -> Keys {
    let no = |kinds: &[CK_ATTRIBUTE_TYPE]| kinds.iter().map(|kind| (*kind, vec![0])).collect::<Vec<Value>>();
    let secret = |kind, more: Vec<Value>| {
        module.generate(session, kind, &[vec![number(CKA_VALUE_LEN, 32)], more].concat())
    };
    let (public, private) = module.pair(session, &[]);
    let idle = || no(&[CKA_ENCRYPT, CKA_DECRYPT, CKA_SIGN, CKA_VERIFY, CKA_WRAP, CKA_UNWRAP, CKA_DERIVE]);
    Keys {
        aes: secret(CKM_AES_KEY_GEN, vec![]),
        hmac: secret(CKM_GENERIC_SECRET_KEY_GEN, vec![(CKA_SIGN, vec![1]), (CKA_VERIFY, vec![1])]),
        ec: [public, private],
        rsa: rsa(module, session),
        idle_aes: secret(CKM_AES_KEY_GEN, idle()),
        idle_hmac: secret(CKM_GENERIC_SECRET_KEY_GEN, idle()),
    }
}

/// Every function that begins an operation, with a mechanism that nobody knows, one of another function, a bad parameter, a key that is none,
/// one of another kind, one that may not, and while an operation is under way.
#[test]
fn operations_begin_with_what_fits_and_with_nothing_else() {
    alone("refusals::operations_begin_with_what_fits_and_with_nothing_else", || {
        let module = loaded();
        let session = module.log_in();
        let keys = keys(module, session);
        let gcm = [0u8; 0];
        for (name, begin) in BEGINS {
            let is = |part: &str| name.contains(part);
            // What fits, with a key of another kind, and one that has no usages.
            let (fits, key, other, idle) = match name {
                _ if is("Message") && is("crypt") => (bare(CKM_AES_GCM), keys.aes, keys.hmac, keys.idle_aes),
                _ if is("crypt") => (bare(CKM_AES_ECB), keys.aes, keys.hmac, keys.idle_aes),
                _ if is("SignRecover") => (bare(CKM_RSA_PKCS), keys.rsa[1], keys.hmac, keys.ec[1]),
                _ if is("VerifyRecover") => (bare(CKM_RSA_PKCS), keys.rsa[0], keys.hmac, keys.ec[0]),
                _ => (bare(CKM_SHA256_HMAC), keys.hmac, keys.ec[0], keys.idle_hmac),
            };
            let tell = |mechanism, key| begin(module, session, mechanism, key);
            let expect = |value: CK_RV, answer: CK_RV, what: &str| {
                assert_eq!(value, answer, "{name} with {what} answers {value:#x}");
            };
            expect(tell(bare(CKM_VENDOR_DEFINED | 77), key), CKR_MECHANISM_INVALID, "an unknown mechanism");
            expect(tell(bare(CKM_SHA256), key), CKR_MECHANISM_INVALID, "a digest");
            expect(tell(bare(CKM_AES_KEY_GEN), key), CKR_MECHANISM_INVALID, "a generation");
            for handle in [0, 1 << 40, CK_ULONG::MAX] {
                expect(tell(fits, handle), CKR_KEY_HANDLE_INVALID, "no key");
            }
            expect(tell(fits, other), CKR_KEY_TYPE_INCONSISTENT, "a key of another kind");
            if !is("Recover") {
                expect(tell(fits, idle), CKR_KEY_FUNCTION_NOT_PERMITTED, "a key that may not");
            }
            // The parameter of messages comes with each of them.
            if !is("Message") || !is("crypt") {
                let bad = with(fits.mechanism, &[7; 5]);
                expect(tell(bad, key), CKR_MECHANISM_PARAM_INVALID, "a parameter where there is none");
                let wild = CK_MECHANISM { ulParameterLen: 5, ..bare(fits.mechanism) };
                expect(tell(wild, key), CKR_MECHANISM_PARAM_INVALID, "a length without a parameter");
            }
            if is("crypt") && !is("Message") {
                for (mechanism, parameter) in [
                    (CKM_AES_CBC, &[0u8; 15][..]),
                    (CKM_AES_CTR, &[0; 16]),
                    (CKM_AES_GCM, &gcm),
                    (CKM_AES_CBC_PAD, &[]),
                ] {
                    let value = tell(with(mechanism, parameter), key);
                    expect(value, CKR_MECHANISM_PARAM_INVALID, "a parameter of another length");
                }
            }
            expect(tell(fits, key), CKR_OK, "all that fits");
            expect(tell(fits, key), CKR_OPERATION_ACTIVE, "an operation under way");
            good!(module, C_SessionCancel, session, CK_ULONG::MAX);
            expect(tell(fits, key), CKR_OK, "all that fits, again");
            good!(module, C_SessionCancel, session, CK_ULONG::MAX);
        }
        // No hash at all is the usual one of OAEP, as OpenSSL's provider has it. Half of none is none.
        for (hash, mgf, answer) in [
            (0, 0, CKR_OK),
            (CKM_SHA_1, CKG_MGF1_SHA1, CKR_OK),
            (CKM_SHA_1, 0, CKR_MECHANISM_PARAM_INVALID),
            (0, CKG_MGF1_SHA1, CKR_MECHANISM_PARAM_INVALID),
        ] {
            let mut given = CK_RSA_PKCS_OAEP_PARAMS {
                hashAlg: hash,
                mgf,
                source: CKZ_DATA_SPECIFIED,
                pSourceData: null_mut(),
                ulSourceDataLen: 0,
            };
            let mut oaep = CK_MECHANISM {
                mechanism: CKM_RSA_PKCS_OAEP,
                pParameter: (&raw mut given).cast(),
                ulParameterLen: size_of::<CK_RSA_PKCS_OAEP_PARAMS>() as CK_ULONG,
            };
            assert_eq!(call!(module, C_EncryptInit, session, &mut oaep, keys.rsa[0]), answer);
            good!(module, C_SessionCancel, session, CK_ULONG::MAX);
        }
        for (mechanism, answer) in [
            (bare(CKM_VENDOR_DEFINED | 77), CKR_MECHANISM_INVALID),
            (bare(CKM_AES_ECB), CKR_MECHANISM_INVALID),
            (with(CKM_SHA256, &[1]), CKR_MECHANISM_PARAM_INVALID),
            (bare(CKM_SHA256), CKR_OK),
            (bare(CKM_SHA256), CKR_OPERATION_ACTIVE),
        ] {
            assert_eq!(call!(module, C_DigestInit, session, &mut { mechanism }), answer);
        }
    });
}

/// Functions that make keys, with mechanisms, handles and templates that don't fit.
#[test]
fn keys_are_made_of_what_fits_alone() {
    alone("refusals::keys_are_made_of_what_fits_alone", || {
        let module = loaded();
        let session = module.log_in();
        let keys = keys(module, session);
        let mut made = 0;
        let mut generate = |mechanism: CK_MECHANISM, template: &[Value]| {
            let mut template = attributes(template);
            let (at, count) = (template.as_mut_ptr(), template.len() as CK_ULONG);
            call!(module, C_GenerateKey, session, &mut { mechanism }, at, count, &mut made)
        };
        let len = |len| number(CKA_VALUE_LEN, len);
        for (mechanism, template, answer) in [
            (bare(CKM_VENDOR_DEFINED | 1), vec![len(32)], CKR_MECHANISM_INVALID),
            (bare(CKM_AES_ECB), vec![len(32)], CKR_MECHANISM_INVALID),
            (bare(CKM_EC_KEY_PAIR_GEN), vec![len(32)], CKR_MECHANISM_INVALID),
            (with(CKM_AES_KEY_GEN, &[1]), vec![len(32)], CKR_MECHANISM_PARAM_INVALID),
            (bare(CKM_AES_KEY_GEN), vec![], CKR_TEMPLATE_INCOMPLETE),
            (bare(CKM_AES_KEY_GEN), vec![len(17)], CKR_ATTRIBUTE_VALUE_INVALID),
            (bare(CKM_AES_KEY_GEN), vec![len(32), number(CKA_CLASS, CKO_DATA)], CKR_TEMPLATE_INCONSISTENT),
            (bare(CKM_AES_KEY_GEN), vec![len(32), number(CKA_KEY_TYPE, CKK_DES3)], CKR_TEMPLATE_INCONSISTENT),
            (bare(CKM_AES_KEY_GEN), vec![len(32), (0x6fff, vec![1])], CKR_ATTRIBUTE_TYPE_INVALID),
            (bare(CKM_AES_KEY_GEN), vec![len(32), (CKA_ENCRYPT, vec![1, 1])], CKR_ATTRIBUTE_VALUE_INVALID),
            (bare(CKM_AES_KEY_GEN), vec![len(32), (CKA_ENCRYPT, vec![])], CKR_ATTRIBUTE_VALUE_INVALID),
            (bare(CKM_AES_KEY_GEN), vec![len(32), (CKA_LOCAL, vec![1])], CKR_ATTRIBUTE_READ_ONLY),
            (bare(CKM_AES_KEY_GEN), vec![len(32), (CKA_LABEL, vec![])], CKR_OK),
        ] {
            let told = generate(mechanism, &template);
            assert_eq!(told, answer, "{:#x} with {template:?} answers {told:#x}", mechanism.mechanism);
        }
        let mut template = attributes(&[]);
        let (mut out, mut len) = ([0; 64], 64);
        let mut wrap = |mechanism: CK_MECHANISM, by, key| {
            len = 64;
            call!(module, C_WrapKey, session, &mut { mechanism }, by, key, out.as_mut_ptr(), &mut len)
        };
        let stays = module.generate(
            session,
            CKM_AES_KEY_GEN,
            &[number(CKA_VALUE_LEN, 16), (CKA_EXTRACTABLE, vec![0])],
        );
        for (mechanism, by, key, answer) in [
            (bare(CKM_SHA256), keys.aes, keys.hmac, CKR_MECHANISM_INVALID),
            (with(CKM_AES_KEY_WRAP, &[1; 3]), keys.aes, keys.hmac, CKR_MECHANISM_PARAM_INVALID),
            (bare(CKM_AES_KEY_WRAP), 0, keys.hmac, CKR_WRAPPING_KEY_HANDLE_INVALID),
            (bare(CKM_AES_KEY_WRAP), keys.hmac, keys.aes, CKR_WRAPPING_KEY_TYPE_INCONSISTENT),
            (bare(CKM_AES_KEY_WRAP), keys.aes, 0, CKR_KEY_HANDLE_INVALID),
            (bare(CKM_AES_KEY_WRAP), keys.aes, stays, CKR_KEY_UNEXTRACTABLE),
            (bare(CKM_AES_KEY_WRAP), keys.idle_aes, keys.hmac, CKR_KEY_FUNCTION_NOT_PERMITTED),
            (bare(CKM_AES_KEY_WRAP), keys.aes, keys.ec[0], CKR_KEY_NOT_WRAPPABLE),
        ] {
            let told = wrap(mechanism, by, key);
            assert_eq!(told, answer, "{:#x} of {key} by {by} answers {told:#x}", mechanism.mechanism);
        }
        let mut unwrap = |mechanism: CK_MECHANISM, by, wrapped: &mut [u8]| {
            let (at, n) = (wrapped.as_mut_ptr(), wrapped.len() as CK_ULONG);
            let template = [number(CKA_CLASS, CKO_SECRET_KEY), number(CKA_KEY_TYPE, CKK_AES)];
            let mut template = attributes(&template);
            call!(
                module,
                C_UnwrapKey,
                session,
                &mut { mechanism },
                by,
                at,
                n,
                template.as_mut_ptr(),
                2,
                &mut made
            )
        };
        for (mechanism, by, wrapped, answer) in [
            (bare(CKM_SHA256), keys.aes, 24, CKR_MECHANISM_INVALID),
            (with(CKM_AES_KEY_WRAP, &[1; 3]), keys.aes, 24, CKR_MECHANISM_PARAM_INVALID),
            (bare(CKM_AES_KEY_WRAP), 0, 24, CKR_UNWRAPPING_KEY_HANDLE_INVALID),
            (bare(CKM_AES_KEY_WRAP), keys.hmac, 24, CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT),
            (bare(CKM_AES_KEY_WRAP), keys.aes, 24, CKR_WRAPPED_KEY_INVALID),
            (bare(CKM_AES_KEY_WRAP), keys.aes, 23, CKR_WRAPPED_KEY_LEN_RANGE),
            (bare(CKM_AES_KEY_WRAP), keys.aes, 0, CKR_WRAPPED_KEY_LEN_RANGE),
        ] {
            let told = unwrap(mechanism, by, &mut vec![3; wrapped]);
            assert_eq!(
                told, answer,
                "{:#x} of {wrapped} bytes by {by} answers {told:#x}",
                mechanism.mechanism
            );
        }
        let mut derive = |mechanism: CK_MECHANISM, base| {
            call!(module, C_DeriveKey, session, &mut { mechanism }, base, template.as_mut_ptr(), 0, &mut made)
        };
        for (mechanism, base, answer) in [
            (bare(CKM_SHA256_HMAC), keys.hmac, CKR_MECHANISM_INVALID),
            (with(CKM_HKDF_DERIVE, &[1; 3]), keys.hmac, CKR_MECHANISM_PARAM_INVALID),
            (with(CKM_HKDF_DERIVE, &[1; 3]), keys.idle_hmac, CKR_KEY_FUNCTION_NOT_PERMITTED),
            (with(CKM_ECDH1_DERIVE, &[1; 3]), keys.ec[1], CKR_MECHANISM_PARAM_INVALID),
            (with(CKM_ECDH1_DERIVE, &[1; 3]), 0, CKR_KEY_HANDLE_INVALID),
            (with(CKM_ECDH1_DERIVE, &[1; 3]), keys.aes, CKR_KEY_TYPE_INCONSISTENT),
        ] {
            let told = derive(mechanism, base);
            assert_eq!(told, answer, "{:#x} of {base} answers {told:#x}", mechanism.mechanism);
        }
        for object in [0, 1 << 40] {
            let mut copy = 0;
            let told = [
                call!(module, C_CopyObject, session, object, null_mut(), 0, &mut copy),
                call!(module, C_DestroyObject, session, object),
                call!(module, C_GetAttributeValue, session, object, null_mut(), 0),
                call!(module, C_SetAttributeValue, session, object, null_mut(), 0),
                call!(module, C_GetObjectSize, session, object, &mut copy),
            ];
            assert_eq!(told, [CKR_OBJECT_HANDLE_INVALID; 5]);
        }
    });
}
