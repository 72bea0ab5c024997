//! The profiles that the token says it implements: what a program does that was written for each of them.
//!
//! Ref. PKCS #11 Profiles v3.2 §5 (Baseline Provider, Extended Provider, Authentication Token, Public Certificates Token).

use std::ptr::null_mut;

use cryptoki_sys::*;

use crate::functions::{Module, Value, attributes, bare, loaded, number};
use crate::support::{PIN, alone};

/// The bytes of a certificate. The module keeps them as they are.
const CERTIFICATE: &[u8] = b"\x30\x03\x02\x01\x07";

impl Module {
    /// Opens a session that only reads, as programs do that look at what is there.
    fn look(self) -> CK_SESSION_HANDLE {
        let mut session = 0;
        good!(self, C_OpenSession, 0, CKF_SERIAL_SESSION, null_mut(), None, &mut session);
        session
    }

    fn read(self, session: CK_SESSION_HANDLE, object: CK_OBJECT_HANDLE, kind: CK_ATTRIBUTE_TYPE) -> Vec<u8> {
        let mut value = vec![0; 1024];
        let mut wanted = CK_ATTRIBUTE { type_: kind, pValue: value.as_mut_ptr().cast(), ulValueLen: 1024 };
        good!(self, C_GetAttributeValue, session, object, &mut wanted, 1);
        value.truncate(wanted.ulValueLen as usize);
        value
    }

    fn create(self, session: CK_SESSION_HANDLE, values: &[Value]) -> (CK_RV, CK_OBJECT_HANDLE) {
        let (mut template, mut object) = (attributes(values), 0);
        let (at, count) = (template.as_mut_ptr(), template.len() as CK_ULONG);
        (call!(self, C_CreateObject, session, at, count, &mut object), object)
    }
}

/// A program finds out what there is, without a login: the functions of the baseline.
#[test]
fn a_baseline_provider() {
    alone("profiles::a_baseline_provider", || {
        let module = loaded();
        // SAFETY: structures of C that hold for all zeroes.
        let (mut info, mut slot, mut token, mut mechanism, mut of_session) = unsafe {
            (
                std::mem::zeroed::<CK_INFO>(),
                std::mem::zeroed::<CK_SLOT_INFO>(),
                std::mem::zeroed::<CK_TOKEN_INFO>(),
                std::mem::zeroed::<CK_MECHANISM_INFO>(),
                std::mem::zeroed::<CK_SESSION_INFO>(),
            )
        };
        good!(module, C_GetInfo, &mut info);
        assert_eq!((info.cryptokiVersion.major, info.cryptokiVersion.minor, info.flags), (3, 2, 0));
        let (mut slots, mut count) = ([9; 4], 0);
        good!(module, C_GetSlotList, 1, null_mut(), &mut count);
        good!(module, C_GetSlotList, 1, slots.as_mut_ptr(), &mut count);
        assert!(count >= 1 && slots[0] == 0);
        good!(module, C_GetSlotInfo, 0, &mut slot);
        good!(module, C_GetTokenInfo, 0, &mut token);
        assert_ne!(slot.flags & CKF_TOKEN_PRESENT, 0);
        assert_eq!(&token.label, format!("{:<32}", "web").as_bytes());
        let mut count = 0;
        good!(module, C_GetMechanismList, 0, null_mut(), &mut count);
        let mut mechanisms = vec![0; count as usize];
        good!(module, C_GetMechanismList, 0, mechanisms.as_mut_ptr(), &mut count);
        for kind in mechanisms {
            good!(module, C_GetMechanismInfo, 0, kind, &mut mechanism);
            assert!(mechanism.flags & !CKF_HW != 0 && mechanism.ulMinKeySize <= mechanism.ulMaxKeySize);
        }
        let session = module.look();
        good!(module, C_GetSessionInfo, session, &mut of_session);
        assert_eq!((of_session.slotID, of_session.state), (0, CKS_RO_PUBLIC_SESSION));

        let profiles = module.find(session, &[number(CKA_CLASS, CKO_PROFILE)]);
        let named: Vec<_> =
            profiles.iter().map(|found| module.read(session, *found, CKA_PROFILE_ID)).collect();
        assert_eq!(named, [1, 2, 3, 4].map(|profile: CK_ULONG| profile.to_ne_bytes()));
        let baseline = [number(CKA_PROFILE_ID, CKP_BASELINE_PROVIDER)];
        assert_eq!(module.find(session, &baseline), profiles[..1]);
        // Who does not know profiles does not meet them.
        assert!(module.find(session, &[]).is_empty());
        good!(module, C_CloseAllSessions, 0);

        // Nobody makes a profile, or changes, copies or removes one.
        let session = module.log_in();
        assert_ne!(
            module.create(session, &[vec![number(CKA_CLASS, CKO_PROFILE)], baseline.to_vec()].concat()).0,
            CKR_OK
        );
        let mine = [(CKA_LABEL, b"mine".to_vec())];
        let (mut label, mut copy) = (attributes(&mine), 0);
        for profile in profiles {
            let at = label.as_mut_ptr();
            assert_eq!(call!(module, C_SetAttributeValue, session, profile, at, 1), CKR_ACTION_PROHIBITED);
            assert_eq!(
                call!(module, C_CopyObject, session, profile, null_mut(), 0, &mut copy),
                CKR_ACTION_PROHIBITED
            );
            assert_eq!(call!(module, C_DestroyObject, session, profile), CKR_ACTION_PROHIBITED);
        }
        good!(module, C_Finalize, null_mut());
    });
}

/// A program logs in by the newer function, makes objects of each kind, uses them and removes them: the functions of the extended profile.
#[test]
fn an_extended_provider() {
    alone("profiles::an_extended_provider", || {
        let module = loaded();
        let session = module.open();
        let mut pin = PIN.as_bytes().to_vec();
        let len = pin.len() as CK_ULONG;
        good!(module, C_LoginUser, session, CKU_USER, pin.as_mut_ptr(), len, null_mut(), 0);
        let mut random = [0; 64];
        good!(module, C_GenerateRandom, session, random.as_mut_ptr(), 64);
        assert_ne!(random, [0; 64]);
        let (mut digest, mut len) = ([0; 32], 32);
        good!(module, C_DigestInit, session, &mut bare(CKM_SHA256));
        good!(module, C_Digest, session, random.as_mut_ptr(), 64, digest.as_mut_ptr(), &mut len);
        let data =
            [number(CKA_CLASS, CKO_DATA), (CKA_LABEL, b"note".to_vec()), (CKA_VALUE, b"text".to_vec())];
        let (made, note) = module.create(session, &data);
        assert_eq!((made, module.read(session, note, CKA_VALUE)), (CKR_OK, b"text".to_vec()));
        let mut size = 0;
        good!(module, C_GetObjectSize, session, note, &mut size);
        assert!(size > 4);
        let other = [(CKA_LABEL, b"other".to_vec())];
        let mut changed = attributes(&other);
        good!(module, C_SetAttributeValue, session, note, changed.as_mut_ptr(), 1);
        let mut copy = 0;
        good!(module, C_CopyObject, session, note, null_mut(), 0, &mut copy);
        assert_eq!(module.find(session, &other), [note, copy]);
        for object in [note, copy] {
            good!(module, C_DestroyObject, session, object);
        }
        let key = module.generate(session, CKM_AES_KEY_GEN, &[number(CKA_VALUE_LEN, 32)]);
        let (mut block, mut sealed, mut opened, mut len) = (*b"sixteen bytes ..", [0; 16], [0; 16], 16);
        good!(module, C_EncryptInit, session, &mut bare(CKM_AES_ECB), key);
        good!(module, C_Encrypt, session, block.as_mut_ptr(), 16, sealed.as_mut_ptr(), &mut len);
        good!(module, C_DecryptInit, session, &mut bare(CKM_AES_ECB), key);
        good!(module, C_Decrypt, session, sealed.as_mut_ptr(), 16, opened.as_mut_ptr(), &mut len);
        assert_eq!(opened, block);
        let (public, private) = module.pair(session, &[]);
        let mut signature = module.sign(session, private).unwrap();
        good!(module, C_VerifyInit, session, &mut bare(CKM_ECDSA), public);
        good!(module, C_Verify, session, [7; 32].as_mut_ptr(), 32, signature.as_mut_ptr(), 64);
        good!(module, C_Logout, session,);
    });
}

/// A program signs with the key pair of a person, and finds the certificate that goes with it before anybody logs in.
#[test]
fn an_authentication_token_with_public_certificates() {
    alone("profiles::an_authentication_token_with_public_certificates", || {
        let module = loaded();
        let session = module.log_in();
        let named =
            |label: &str| [(CKA_TOKEN, vec![1]), (CKA_ID, vec![1]), (CKA_LABEL, label.as_bytes().to_vec())];
        let exponent = [number(CKA_MODULUS_BITS, 2048), (CKA_PUBLIC_EXPONENT, vec![1, 0, 1])];
        let public = [&named("public")[..], &exponent].concat();
        let (mut public, private) = (attributes(&public), named("private"));
        let mut private = attributes(&private);
        let (mut shown, mut kept) = (0, 0);
        good!(
            module,
            C_GenerateKeyPair,
            session,
            &mut bare(CKM_RSA_PKCS_KEY_PAIR_GEN),
            public.as_mut_ptr(),
            public.len() as CK_ULONG,
            private.as_mut_ptr(),
            private.len() as CK_ULONG,
            &mut shown,
            &mut kept,
        );
        let certificate = [
            number(CKA_CLASS, CKO_CERTIFICATE),
            number(CKA_CERTIFICATE_TYPE, CKC_X_509),
            (CKA_SUBJECT, b"\x30\x00".to_vec()),
            (CKA_VALUE, CERTIFICATE.to_vec()),
        ];
        assert_eq!(module.create(session, &[&certificate[..], &named("certificate")].concat()).0, CKR_OK);
        good!(module, C_Logout, session,);

        // Nobody is logged in: the certificate and the public key are there, the private key is not.
        let other = module.look();
        let of = |class| [number(CKA_CLASS, class), (CKA_ID, vec![1])];
        let found = module.find(other, &of(CKO_CERTIFICATE));
        assert_eq!(found.len(), 1);
        assert_eq!(module.read(other, found[0], CKA_VALUE), CERTIFICATE);
        assert_eq!(module.read(other, found[0], CKA_ID), [1]);
        assert!(module.find(other, &of(CKO_PRIVATE_KEY)).is_empty());
        let shown = module.find(other, &of(CKO_PUBLIC_KEY))[0];

        let mut pin = PIN.as_bytes().to_vec();
        good!(module, C_Login, other, CKU_USER, pin.as_mut_ptr(), pin.len() as CK_ULONG);
        let kept = module.find(other, &[(CKA_LABEL, b"private".to_vec())])[0];
        assert_eq!(module.read(other, kept, CKA_MODULUS), module.read(other, shown, CKA_MODULUS));
        let (mut text, mut signature, mut len) = (*b"who is there", [0; 256], 256);
        good!(module, C_SignInit, other, &mut bare(CKM_SHA256_RSA_PKCS), kept);
        good!(module, C_Sign, other, text.as_mut_ptr(), 12, signature.as_mut_ptr(), &mut len);
        good!(module, C_VerifyInit, other, &mut bare(CKM_SHA256_RSA_PKCS), shown);
        good!(module, C_Verify, other, text.as_mut_ptr(), 12, signature.as_mut_ptr(), len);
    });
}
