//! Keys of ML-KEM and ML-DSA, and encapsulation, by the C functions: what the standard says of templates, lengths and return values.

use std::ptr;
use std::slice::from_ref;

use cryptoki_sys::*;

use crate::functions::{Module, Value, attributes, bare, loaded, number};
use crate::support::alone;

/// A logged-in session.
#[derive(Clone, Copy)]
pub struct Client {
    pub module: Module,
    pub session: CK_SESSION_HANDLE,
}

fn answer<T>(value: CK_RV, result: T) -> Result<T, CK_RV> {
    if value == CKR_OK { Ok(result) } else { Err(value) }
}

/// A key that may be read.
fn open() -> [Value; 2] {
    [(CKA_SENSITIVE, vec![0]), (CKA_EXTRACTABLE, vec![1])]
}

impl Client {
    pub fn new() -> Self {
        let module = loaded();
        Client { module, session: module.log_in() }
    }

    pub fn pair(
        self,
        kind: CK_MECHANISM_TYPE,
        public: &[Value],
        private: &[Value],
    ) -> Result<[CK_OBJECT_HANDLE; 2], CK_RV> {
        let (mut of_public, mut of_private) = (attributes(public), attributes(private));
        let [mut public, mut private] = [0; 2];
        let value = call!(
            self.module,
            C_GenerateKeyPair,
            self.session,
            &mut bare(kind),
            of_public.as_mut_ptr(),
            of_public.len() as CK_ULONG,
            of_private.as_mut_ptr(),
            of_private.len() as CK_ULONG,
            &mut public,
            &mut private,
        );
        answer(value, [public, private])
    }

    pub fn create(self, template: &[Value]) -> Result<CK_OBJECT_HANDLE, CK_RV> {
        let (mut template, mut made) = (attributes(template), 0);
        let (at, count) = (template.as_mut_ptr(), template.len() as CK_ULONG);
        answer(call!(self.module, C_CreateObject, self.session, at, count, &mut made), made)
    }

    pub fn private(
        self,
        kind: CK_KEY_TYPE,
        set: CK_ULONG,
        values: &[(CK_ATTRIBUTE_TYPE, &[u8])],
    ) -> Result<CK_OBJECT_HANDLE, CK_RV> {
        let head =
            [number(CKA_CLASS, CKO_PRIVATE_KEY), number(CKA_KEY_TYPE, kind), number(CKA_PARAMETER_SET, set)];
        let values: Vec<Value> = values.iter().map(|(kind, value)| (*kind, value.to_vec())).collect();
        self.create(&[&head[..], &values, &open()].concat())
    }

    pub fn read(self, object: CK_OBJECT_HANDLE, kind: CK_ATTRIBUTE_TYPE) -> Result<Vec<u8>, CK_RV> {
        let mut value = vec![0; 8192];
        let mut wanted = [CK_ATTRIBUTE { type_: kind, pValue: value.as_mut_ptr().cast(), ulValueLen: 8192 }];
        let told = call!(self.module, C_GetAttributeValue, self.session, object, wanted.as_mut_ptr(), 1);
        answer(told, ())?;
        value.truncate(wanted[0].ulValueLen as usize);
        Ok(value)
    }

    pub fn sign(
        self,
        mut mechanism: CK_MECHANISM,
        key: CK_OBJECT_HANDLE,
        data: &[u8],
    ) -> Result<Vec<u8>, CK_RV> {
        let (module, session) = (self.module, self.session);
        answer(call!(module, C_SignInit, session, &mut mechanism, key), ())?;
        let (mut out, mut len) = (vec![0; 49_856], 49_856);
        let (at, data_len) = (data.as_ptr().cast_mut(), data.len() as CK_ULONG);
        let value = call!(module, C_Sign, session, at, data_len, out.as_mut_ptr(), &mut len);
        out.truncate(len as usize);
        answer(value, out)
    }

    pub fn verify(
        self,
        mut mechanism: CK_MECHANISM,
        key: CK_OBJECT_HANDLE,
        data: &[u8],
        signature: &[u8],
    ) -> CK_RV {
        let (module, session) = (self.module, self.session);
        match call!(module, C_VerifyInit, session, &mut mechanism, key) {
            CKR_OK => {}
            value => return value,
        }
        let (at, data_len) = (data.as_ptr().cast_mut(), data.len() as CK_ULONG);
        let (signature, len) = (signature.as_ptr().cast_mut(), signature.len() as CK_ULONG);
        call!(module, C_Verify, session, at, data_len, signature, len)
    }

    fn encapsulate(
        self,
        key: CK_OBJECT_HANDLE,
        template: &[Value],
    ) -> Result<(Vec<u8>, CK_OBJECT_HANDLE), CK_RV> {
        let (mut template, mut made) = (attributes(template), 0);
        let (mut out, mut len) = (vec![0; 2000], 2000);
        let value = call!(
            self.module,
            C_EncapsulateKey,
            self.session,
            &mut bare(CKM_ML_KEM),
            key,
            template.as_mut_ptr(),
            template.len() as CK_ULONG,
            out.as_mut_ptr(),
            &mut len,
            &mut made,
        );
        out.truncate(len as usize);
        answer(value, (out, made))
    }

    fn decapsulate(
        self,
        key: CK_OBJECT_HANDLE,
        template: &[Value],
        ciphertext: &[u8],
    ) -> Result<CK_OBJECT_HANDLE, CK_RV> {
        let (mut template, mut made) = (attributes(template), 0);
        let value = call!(
            self.module,
            C_DecapsulateKey,
            self.session,
            &mut bare(CKM_ML_KEM),
            key,
            template.as_mut_ptr(),
            template.len() as CK_ULONG,
            ciphertext.as_ptr().cast_mut(),
            ciphertext.len() as CK_ULONG,
            &mut made,
        );
        answer(value, made)
    }
}

/// A mechanism with a structure as its parameter.
pub fn with<T>(mechanism: CK_MECHANISM_TYPE, parameter: &T) -> CK_MECHANISM {
    CK_MECHANISM {
        mechanism,
        pParameter: ptr::from_ref(parameter).cast_mut().cast(),
        ulParameterLen: size_of::<T>() as CK_ULONG,
    }
}

#[test]
fn templates_of_keys_are_checked() {
    alone("lattices::templates_of_keys_are_checked", || {
        let client = Client::new();
        for (mechanism, kind, set, seed, value) in [
            (CKM_ML_KEM_KEY_PAIR_GEN, CKK_ML_KEM, CKP_ML_KEM_768, 64, 2400),
            (CKM_ML_DSA_KEY_PAIR_GEN, CKK_ML_DSA, CKP_ML_DSA_44, 32, 2560),
        ] {
            let (right, other) = (number(CKA_PARAMETER_SET, set), number(CKA_PARAMETER_SET, 3));
            let pair = |public: &[Value], private: &[Value]| client.pair(mechanism, public, private);
            let unknown = number(CKA_PARAMETER_SET, 4);
            assert_eq!(pair(&[], &[]), Err(CKR_TEMPLATE_INCOMPLETE));
            assert_eq!(pair(from_ref(&unknown), &[]), Err(CKR_PARAMETER_SET_NOT_SUPPORTED));
            assert_eq!(pair(&[(CKA_PARAMETER_SET, vec![1])], &[]), Err(CKR_ATTRIBUTE_VALUE_INVALID));
            assert_eq!(pair(from_ref(&right), &[other]), Err(CKR_TEMPLATE_INCONSISTENT));
            let wrong = number(CKA_KEY_TYPE, CKK_EC);
            assert_eq!(pair(&[right.clone(), wrong], &[]), Err(CKR_TEMPLATE_INCONSISTENT));
            let wrong = number(CKA_CLASS, CKO_PUBLIC_KEY);
            assert_eq!(pair(from_ref(&right), &[wrong]), Err(CKR_TEMPLATE_INCONSISTENT));
            for own in [CKA_SEED, CKA_VALUE] {
                let given = [(own, vec![7; 32])];
                assert_eq!(pair(from_ref(&right), &given), Err(CKR_TEMPLATE_INCONSISTENT));
            }
            let given = [right.clone(), (CKA_VALUE, vec![7; 800])];
            assert_eq!(pair(&given, &[]), Err(CKR_TEMPLATE_INCONSISTENT));
            let private = |values: &[(CK_ATTRIBUTE_TYPE, &[u8])]| client.private(kind, set, values);
            let [_, own] = pair(from_ref(&right), &open()).unwrap();
            let (of_seed, of_value) =
                (client.read(own, CKA_SEED).unwrap(), client.read(own, CKA_VALUE).unwrap());
            assert_eq!((of_seed.len(), of_value.len()), (seed, value));
            assert_eq!(client.read(own, CKA_PRIVATE_EXPONENT), Err(CKR_ATTRIBUTE_TYPE_INVALID));
            assert_eq!(private(&[]), Err(CKR_TEMPLATE_INCOMPLETE));
            assert_eq!(private(&[(CKA_SEED, &[]), (CKA_VALUE, &[])]), Err(CKR_TEMPLATE_INCOMPLETE));
            assert_eq!(private(&[(CKA_SEED, &of_seed[1..])]), Err(CKR_ATTRIBUTE_VALUE_INVALID));
            assert_eq!(private(&[(CKA_VALUE, &of_value[1..])]), Err(CKR_ATTRIBUTE_VALUE_INVALID));
            // A seed is no value, and those of two keys are none of one.
            assert_eq!(private(&[(CKA_VALUE, &of_seed)]), Err(CKR_ATTRIBUTE_VALUE_INVALID));
            let both = [(CKA_SEED, &vec![7; seed][..]), (CKA_VALUE, &of_value)];
            assert_eq!(private(&both), Err(CKR_TEMPLATE_INCONSISTENT));
            let refused = client.private(kind, 4, &[(CKA_SEED, &of_seed)]);
            assert_eq!(refused, Err(CKR_PARAMETER_SET_NOT_SUPPORTED));
            let own = private(&[(CKA_VALUE, &of_value)]).unwrap();
            assert_eq!(client.read(own, CKA_VALUE).unwrap(), of_value);
            assert_eq!(client.read(own, CKA_SEED), Err(CKR_ATTRIBUTE_TYPE_INVALID));
            let head = [number(CKA_CLASS, CKO_PUBLIC_KEY), number(CKA_KEY_TYPE, kind), right];
            assert_eq!(client.create(&head), Err(CKR_TEMPLATE_INCOMPLETE));
            let short = [&head[..], &[(CKA_VALUE, vec![0; 100])]].concat();
            assert_eq!(client.create(&short), Err(CKR_ATTRIBUTE_VALUE_INVALID));
        }
        let curve = [number(CKA_CLASS, CKO_PUBLIC_KEY), number(CKA_KEY_TYPE, CKK_RSA), (CKA_VALUE, vec![7])];
        let rsa = [(CKA_MODULUS, vec![0xc1; 256]), (CKA_PUBLIC_EXPONENT, vec![1, 0, 1])];
        assert_eq!(client.create(&[&curve[..], &rsa].concat()), Err(CKR_ATTRIBUTE_TYPE_INVALID));
    });
}

#[test]
fn encapsulation_answers_as_the_standard_says() {
    alone("lattices::encapsulation_answers_as_the_standard_says", || {
        let client = Client::new();
        let Client { module, session } = client;
        let set = [number(CKA_PARAMETER_SET, CKP_ML_KEM_768)];
        let [public, private] = client.pair(CKM_ML_KEM_KEY_PAIR_GEN, &set, &[]).unwrap();
        let (ciphertext, sent) = client.encapsulate(public, &open()).unwrap();
        assert_eq!(ciphertext.len(), 1088);
        let flags = [CKA_LOCAL, CKA_ALWAYS_SENSITIVE, CKA_NEVER_EXTRACTABLE];
        assert!(flags.iter().all(|flag| client.read(sent, *flag).unwrap() == [0]));
        assert_eq!(client.read(sent, CKA_KEY_TYPE).unwrap(), CKK_GENERIC_SECRET.to_ne_bytes());
        // Without a word the key is one that a program may read, as the standard has it.
        let received = client.decapsulate(private, &[], &ciphertext).unwrap();
        assert_eq!(client.read(received, CKA_EXTRACTABLE).unwrap(), [1]);
        let secret = client.read(sent, CKA_VALUE).unwrap();
        assert_eq!((secret.len(), &secret), (32, &client.read(received, CKA_VALUE).unwrap()));
        // A ciphertext that was changed gives another secret, and no error.
        let changed = [&[ciphertext[0] ^ 1], &ciphertext[1..]].concat();
        let other = client.decapsulate(private, &open(), &changed).unwrap();
        assert_ne!(client.read(other, CKA_VALUE).unwrap(), secret);
        for cut in [&ciphertext[1..], &[&ciphertext[..], &[0]].concat(), &[]] {
            assert_eq!(client.decapsulate(private, &[], cut), Err(CKR_WRAPPED_KEY_LEN_RANGE));
        }
        let aes =
            [number(CKA_CLASS, CKO_SECRET_KEY), number(CKA_KEY_TYPE, CKK_AES), (CKA_SENSITIVE, vec![1])];
        let key = client.decapsulate(private, &aes, &ciphertext).unwrap();
        assert_eq!(client.read(key, CKA_VALUE), Err(CKR_ATTRIBUTE_SENSITIVE));
        for (template, value) in [
            (number(CKA_CLASS, CKO_PRIVATE_KEY), CKR_TEMPLATE_INCONSISTENT),
            (number(CKA_VALUE_LEN, 16), CKR_TEMPLATE_INCONSISTENT),
            (number(CKA_KEY_TYPE, CKK_DES3), CKR_ATTRIBUTE_VALUE_INVALID),
            (number(CKA_KEY_TYPE, CKK_RSA), CKR_TEMPLATE_INCONSISTENT),
            ((CKA_VALUE, vec![7; 32]), CKR_TEMPLATE_INCONSISTENT),
            ((CKA_LOCAL, vec![1]), CKR_ATTRIBUTE_READ_ONLY),
            ((CKA_MODULUS, vec![1]), CKR_ATTRIBUTE_TYPE_INVALID),
        ] {
            assert_eq!(client.encapsulate(public, from_ref(&template)), Err(value), "{template:?}");
            assert_eq!(
                client.decapsulate(private, from_ref(&template), &ciphertext),
                Err(value),
                "{template:?}"
            );
        }
        // The length alone, and a place that is too small: no key is made.
        let (mut len, mut made) = (0, 0);
        let (none, no_template) = (ptr::null_mut(), ptr::null_mut());
        let mechanism = &mut bare(CKM_ML_KEM);
        good!(
            module,
            C_EncapsulateKey,
            session,
            mechanism,
            public,
            no_template,
            0,
            none,
            &mut len,
            &mut made
        );
        assert_eq!((len, made), (1088, 0));
        let (mut place, mut len) = ([0; 1087], 1087);
        let at = place.as_mut_ptr();
        let short = call!(
            module,
            C_EncapsulateKey,
            session,
            mechanism,
            public,
            no_template,
            0,
            at,
            &mut len,
            &mut made
        );
        assert_eq!((short, len, made, place), (CKR_BUFFER_TOO_SMALL, 1088, 0, [0; 1087]));
        // Other keys, other mechanisms, a parameter.
        assert_eq!(client.encapsulate(private, &[]).map(drop), Err(CKR_KEY_FUNCTION_NOT_PERMITTED));
        assert_eq!(client.decapsulate(public, &[], &ciphertext), Err(CKR_KEY_FUNCTION_NOT_PERMITTED));
        assert_eq!(client.encapsulate(12345, &[]).map(drop), Err(CKR_KEY_HANDLE_INVALID));
        assert_eq!(client.decapsulate(12345, &[], &ciphertext), Err(CKR_UNWRAPPING_KEY_HANDLE_INVALID));
        let (of_curve, own_of_curve) = module.pair(session, &[]);
        assert_eq!(client.encapsulate(of_curve, &[]).map(drop), Err(CKR_KEY_TYPE_INCONSISTENT));
        let refused = client.decapsulate(own_of_curve, &[], &ciphertext);
        assert_eq!(refused, Err(CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT));
        for (mut mechanism, value) in [
            (bare(CKM_ML_DSA), CKR_MECHANISM_INVALID),
            (bare(CKM_ECDH1_DERIVE), CKR_MECHANISM_INVALID),
            (with(CKM_ML_KEM, &[7u8; 4]), CKR_MECHANISM_PARAM_INVALID),
        ] {
            let mut len = 2000;
            let refused = call!(
                module,
                C_EncapsulateKey,
                session,
                &mut mechanism,
                public,
                no_template,
                0,
                none,
                &mut len,
                &mut made
            );
            assert_eq!(refused, value, "{mechanism:?}");
        }
        let off = [(CKA_ENCAPSULATE, vec![0]), set[0].clone()];
        let [public, _] = client.pair(CKM_ML_KEM_KEY_PAIR_GEN, &off, &[]).unwrap();
        assert_eq!(client.encapsulate(public, &[]).map(drop), Err(CKR_KEY_FUNCTION_NOT_PERMITTED));
        let mut info = CK_MECHANISM_INFO::default();
        good!(module, C_GetMechanismInfo, 0, CKM_ML_KEM, &mut info);
        assert_eq!(
            (info.ulMinKeySize, info.ulMaxKeySize, info.flags),
            (800, 1568, CKF_ENCAPSULATE | CKF_DECAPSULATE)
        );
        good!(module, C_GetMechanismInfo, 0, CKM_ML_DSA_KEY_PAIR_GEN, &mut info);
        assert_eq!((info.ulMinKeySize, info.ulMaxKeySize, info.flags), (1312, 2592, CKF_GENERATE_KEY_PAIR));
    });
}
