//! Keys that the service made or took: what they sign, decrypt, agree on and encrypt is checked with engines of this process.

use cryptoki::mechanism::aead::{GcmMessageParams, GcmParams, GeneratorFunction};
use cryptoki::mechanism::eddsa::{EddsaParams, EddsaSignatureScheme};
use cryptoki::mechanism::elliptic_curve::{EcKdf, Ecdh1DeriveParams};
use cryptoki::mechanism::hkdf::{HkdfParams, HkdfSalt};
use cryptoki::mechanism::rsa::{PkcsMgfType, PkcsOaepParams, PkcsOaepSource, PkcsPssParams};
use cryptoki::mechanism::{Mechanism, MechanismType, MessageParam};
use cryptoki::object::{Attribute, AttributeType, KeyType, ObjectClass, ObjectHandle};
use cryptoki::session::Session;

use crate::bed::{alone, client, logged_in, make, secret};
use crate::refused;

const P256: &[u8] = b"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07";
const P384: &[u8] = b"\x06\x05\x2b\x81\x04\x00\x22";
const P521: &[u8] = b"\x06\x05\x2b\x81\x04\x00\x23";
const ED25519: &[u8] = b"\x06\x03\x2b\x65\x70";
const X25519: &[u8] = b"\x06\x03\x2b\x65\x6e";

const TEXT: &[u8] = b"an object of no particular length, which is signed, sealed and delivered";

fn pair(
    session: &Session,
    mechanism: &Mechanism<'_>,
    public: Attribute,
    in_token: bool,
) -> (ObjectHandle, ObjectHandle) {
    let same = [Attribute::Token(in_token), Attribute::Label(b"pair".to_vec()), Attribute::Id(vec![7])];
    let public = [&same[..], &[public]].concat();
    session.generate_key_pair(mechanism, &public, &same).unwrap()
}

fn value(session: &Session, object: ObjectHandle, kind: AttributeType) -> Vec<u8> {
    match session.get_attributes(object, &[kind]).unwrap().remove(0) {
        Attribute::Value(bytes) | Attribute::EcPoint(bytes) | Attribute::PublicKeyInfo(bytes) => bytes,
        other => panic!("{other:?}"),
    }
}

/// Signs at once and in parts, and verifies here.
fn sign(
    session: &Session,
    mechanism: &Mechanism<'_>,
    (public, private): (ObjectHandle, ObjectHandle),
    text: &[u8],
) {
    let signature = session.sign(mechanism, private, text).unwrap();
    session.verify(mechanism, public, text, &signature).unwrap();
    let mut forged = signature;
    forged[20] ^= 1;
    refused!(session.verify(mechanism, public, text, &forged), SignatureInvalid);
}

#[test]
fn pairs_that_the_worker_made_sign_decrypt_and_agree() {
    alone("keys::pairs_that_the_worker_made_sign_decrypt_and_agree", |bed| {
        let service = bed.serve();
        make(&service);
        let (client, slot) = client();
        let session = logged_in(&client, slot);
        let rsa = pair(&session, &Mechanism::RsaPkcsKeyPairGen, Attribute::ModulusBits(2048.into()), true);
        let what = [
            AttributeType::Local,
            AttributeType::Sensitive,
            AttributeType::NeverExtractable,
            AttributeType::AlwaysSensitive,
        ];
        let told = session.get_attributes(rsa.1, &what).unwrap();
        assert_eq!(
            told,
            [
                Attribute::Local(true),
                Attribute::Sensitive(true),
                Attribute::NeverExtractable(true),
                Attribute::AlwaysSensitive(true)
            ]
        );
        assert!(session.get_attributes(rsa.1, &[AttributeType::PrivateExponent]).unwrap().is_empty());
        let info = |key| value(&session, key, AttributeType::PublicKeyInfo);
        assert_eq!(info(rsa.0), info(rsa.1));
        let pss = PkcsPssParams {
            hash_alg: MechanismType::SHA256,
            mgf: PkcsMgfType::MGF1_SHA256,
            s_len: 32.into(),
        };
        let digest = session.digest(&Mechanism::Sha256, TEXT).unwrap();
        for (mechanism, message) in [
            (Mechanism::RsaPkcs, TEXT),
            (Mechanism::RsaX509, TEXT),
            (Mechanism::Sha1RsaPkcs, TEXT),
            (Mechanism::Sha256RsaPkcs, TEXT),
            (Mechanism::Sha512RsaPkcs, TEXT),
            (Mechanism::Sha256RsaPkcsPss(pss), TEXT),
            (Mechanism::RsaPkcsPss(pss), &digest[..]),
        ] {
            sign(&session, &mechanism, rsa, message);
        }
        session.sign_init(&Mechanism::Sha256RsaPkcs, rsa.1).unwrap();
        TEXT.chunks(9).for_each(|part| session.sign_update(part).unwrap());
        let in_parts = session.sign_final().unwrap();
        assert_eq!(in_parts, session.sign(&Mechanism::Sha256RsaPkcs, rsa.1, TEXT).unwrap());
        let oaep = PkcsOaepParams::new(
            MechanismType::SHA256,
            PkcsMgfType::MGF1_SHA256,
            PkcsOaepSource::data_specified(b"label"),
        );
        for mechanism in [Mechanism::RsaPkcs, Mechanism::RsaPkcsOaep(oaep), Mechanism::RsaX509] {
            let sealed = session.encrypt(&mechanism, rsa.0, TEXT).unwrap();
            let opened = session.decrypt(&mechanism, rsa.1, &sealed).unwrap();
            assert!(opened.ends_with(TEXT), "{mechanism:?}");
            refused!(session.decrypt(&mechanism, rsa.1, &sealed[1..]), EncryptedDataLenRange);
        }
        refused!(session.decrypt(&Mechanism::RsaPkcsOaep(oaep), rsa.1, &[0x11; 256]), EncryptedDataInvalid);
        for (params, longest) in [(P256, 64), (P384, 64), (P521, 64)] {
            let keys = pair(&session, &Mechanism::EccKeyPairGen, Attribute::EcParams(params.to_vec()), true);
            sign(&session, &Mechanism::EcdsaSha256, keys, TEXT);
            sign(&session, &Mechanism::EcdsaSha512, keys, TEXT);
            // Digests of all lengths that a program may give.
            for len in [1, 20, 21, 32, 33, 48, longest] {
                sign(&session, &Mechanism::Ecdsa, keys, &[0x5a; 64][..len]);
            }
            agree(&session, &Mechanism::EccKeyPairGen, keys, params);
        }
        let ed =
            pair(&session, &Mechanism::EccEdwardsKeyPairGen, Attribute::EcParams(ED25519.to_vec()), true);
        sign(&session, &Mechanism::Eddsa(EddsaParams::new(EddsaSignatureScheme::Pure)), ed, TEXT);
        let context = Mechanism::Eddsa(EddsaParams::new(EddsaSignatureScheme::Ed25519ctx(b"context")));
        refused!(session.sign(&context, ed.1, TEXT), MechanismParamInvalid);
        let x = Mechanism::EccMontgomeryKeyPairGen;
        let keys = pair(&session, &x, Attribute::EcParams(X25519.to_vec()), true);
        agree(&session, &x, keys, X25519);
    });
}

/// Agrees with a pair of the session, on both sides.
fn agree(
    session: &Session,
    generate: &Mechanism<'_>,
    (public, private): (ObjectHandle, ObjectHandle),
    params: &[u8],
) {
    let template = [
        Attribute::Class(ObjectClass::SECRET_KEY),
        Attribute::KeyType(KeyType::GENERIC_SECRET),
        Attribute::Sensitive(false),
        Attribute::Extractable(true),
    ];
    let other = pair(session, generate, Attribute::EcParams(params.to_vec()), false);
    let with = |private, public| {
        let point = value(session, public, AttributeType::EcPoint);
        let mechanism = Mechanism::Ecdh1Derive(Ecdh1DeriveParams::new(EcKdf::null(), &point));
        let key = session.derive_key(&mechanism, private, &template).unwrap();
        value(session, key, AttributeType::Value)
    };
    assert_eq!(with(private, other.0), with(other.1, public));
    let junk = Mechanism::Ecdh1Derive(Ecdh1DeriveParams::new(EcKdf::null(), &[4; 31]));
    refused!(session.derive_key(&junk, private, &template), MechanismParamInvalid);
}

#[test]
fn ciphers_and_macs_give_in_the_service_what_they_give_here() {
    alone("keys::ciphers_and_macs_give_in_the_service_what_they_give_here", |bed| {
        let service = bed.serve();
        make(&service);
        let (client, slot) = client();
        let session = logged_in(&client, slot);
        let both = |key_type, bytes: &[u8]| {
            (secret(&session, key_type, bytes, true), secret(&session, key_type, bytes, false))
        };
        let bytes = [[7u8; 32], [9; 32]].concat();
        let long: Vec<u8> = (0..200_003u32).map(|i| (i * 7) as u8).collect();
        let whole = &long[..long.len() / 16 * 16];
        let aes = both(KeyType::AES, &bytes[16..48]);
        let des = both(KeyType::DES3, b"octet-1.octet-2.octet-3.");
        let mut long_nonce = [3; 20];
        let gcm = || {
            // Each use takes the parameters, and may write to the nonce.
            let nonce = Box::leak(Box::new([8; 12]));
            Mechanism::AesGcm(GcmParams::new(nonce, b"header", 128.into()).unwrap())
        };
        let cut = GcmParams::new(&mut long_nonce, b"", 96.into()).unwrap();
        for (mechanism, (there, here), text) in [
            (Mechanism::AesEcb, aes, whole),
            (Mechanism::AesCbc([3; 16]), aes, whole),
            (Mechanism::AesCbcPad([3; 16]), aes, TEXT),
            (Mechanism::AesCbcPad([3; 16]), aes, &long[..]),
            (gcm(), aes, TEXT),
            (gcm(), aes, &long[..]),
            (Mechanism::AesGcm(cut), aes, TEXT),
            (Mechanism::Des3Cbc([3; 8]), des, whole),
            (Mechanism::Des3Ecb, des, whole),
        ] {
            let sealed = session.encrypt(&mechanism, there, text).unwrap();
            assert!(sealed == session.encrypt(&mechanism, here, text).unwrap(), "{mechanism:?}");
            assert!(session.decrypt(&mechanism, there, &sealed).unwrap() == text, "{mechanism:?}");
            for part in [1000, 70_000] {
                session.encrypt_init(&mechanism, there).unwrap();
                let mut out: Vec<u8> =
                    text.chunks(part).flat_map(|part| session.encrypt_update(part).unwrap()).collect();
                out.extend(session.encrypt_final().unwrap());
                assert!(out == sealed, "{mechanism:?} in parts of {part}");
                session.decrypt_init(&mechanism, there).unwrap();
                let mut back: Vec<u8> =
                    out.chunks(part).flat_map(|part| session.decrypt_update(part).unwrap()).collect();
                back.extend(session.decrypt_final().unwrap());
                assert!(back == text, "{mechanism:?} in parts of {part}");
            }
        }
        let mut forged = session.encrypt(&gcm(), aes.0, TEXT).unwrap();
        forged[3] ^= 1;
        refused!(session.decrypt(&gcm(), aes.0, &forged), EncryptedDataInvalid);

        // Longer than one operation of an AEAD takes.
        let huge = vec![0x31; (9 << 20) + 5];
        let sealed = session.encrypt(&gcm(), aes.0, &huge).unwrap();
        assert!(sealed == session.encrypt(&gcm(), aes.1, &huge).unwrap());
        assert!(session.decrypt(&gcm(), aes.0, &sealed).unwrap() == huge);

        let generic = both(KeyType::GENERIC_SECRET, &bytes[..40]);
        let sha256 = both(KeyType::SHA256_HMAC, &bytes[..5]);
        for (mechanism, (there, here)) in [
            (Mechanism::Sha1Hmac, generic),
            (Mechanism::Sha256Hmac, generic),
            (Mechanism::Sha512Hmac, generic),
            (Mechanism::Sha256Hmac, sha256),
            (Mechanism::AesCMac, aes),
        ] {
            for text in [&b""[..], TEXT, &long[..65_536], &long[..]] {
                let mac = session.sign(&mechanism, there, text).unwrap();
                assert_eq!(mac, session.sign(&mechanism, here, text).unwrap(), "{mechanism:?}");
                session.verify(&mechanism, there, text, &mac).unwrap();
                session.sign_init(&mechanism, there).unwrap();
                text.chunks(50_000).for_each(|part| session.sign_update(part).unwrap());
                assert_eq!(session.sign_final().unwrap(), mac, "{mechanism:?} in parts");
                session.verify_init(&mechanism, there).unwrap();
                text.chunks(70_000).for_each(|part| session.verify_update(part).unwrap());
                session.verify_final(&mac).unwrap();
                refused!(session.verify(&mechanism, there, b"other", &mac), SignatureInvalid);
            }
        }
        refused!(session.sign(&Mechanism::Sha1Hmac, sha256.0, TEXT), KeyTypeInconsistent);
    });
}

#[test]
fn messages_are_sealed_one_by_one_and_in_parts() {
    alone("keys::messages_are_sealed_one_by_one_and_in_parts", |bed| {
        let service = bed.serve();
        make(&service);
        let (client, slot) = client();
        let session = logged_in(&client, slot);
        let keys = [true, false].map(|in_token| secret(&session, KeyType::AES, &[5; 32], in_token));
        let sealed = keys.map(|key| {
            let (mut no_nonce, mut no_tag) = ([0; 12], [0; 16]);
            let none = GeneratorFunction::NoGenerate;
            let any = GcmMessageParams::new(&mut no_nonce, 0.into(), none, &mut no_tag).unwrap();
            session.message_encrypt_init(&Mechanism::AesGcmMessage(any), key).unwrap();
            let (mut nonce, mut tag) = ([8; 12], [0; 16]);
            let param = GcmMessageParams::new(&mut nonce, 0.into(), none, &mut tag).unwrap();
            let text = session.encrypt_message(&MessageParam::AesGcmMessage(param), b"header", TEXT).unwrap();
            session.message_encrypt_final().unwrap();
            session.message_decrypt_init(&Mechanism::AesGcmMessage(any), key).unwrap();
            let (mut nonce, mut given) = ([8; 12], tag);
            let param = GcmMessageParams::new(&mut nonce, 0.into(), none, &mut given).unwrap();
            let param = MessageParam::AesGcmMessage(param);
            assert_eq!(session.decrypt_message(&param, b"header", &text).unwrap(), TEXT);
            assert!(session.decrypt_message(&param, b"other", &text).is_err(), "other associated data");
            session.message_decrypt_final().unwrap();
            (text, tag)
        });
        assert_eq!(sealed[0], sealed[1]);
    });
}

#[test]
fn objects_are_kept_changed_copied_and_destroyed() {
    alone("keys::objects_are_kept_changed_copied_and_destroyed", |bed| {
        let service = bed.serve();
        make(&service);
        let (client, slot) = client();
        let session = logged_in(&client, slot);
        let labelled = |label: &str| session.find_objects(&[Attribute::Label(label.into())]).unwrap();
        let data = [
            Attribute::Class(ObjectClass::DATA),
            Attribute::Token(true),
            Attribute::Label(b"note".to_vec()),
            Attribute::Value(b"remember".to_vec()),
        ];
        let note = session.create_object(&data).unwrap();
        assert_eq!(value(&session, note, AttributeType::Value), b"remember");
        let certificate = [
            Attribute::Class(ObjectClass::CERTIFICATE),
            Attribute::CertificateType(cryptoki::object::CertificateType::X_509),
            Attribute::Token(true),
            Attribute::Label(b"cert".to_vec()),
            Attribute::Subject(b"subject".to_vec()),
            Attribute::Value(vec![0x30; 1500]),
        ];
        session.create_object(&certificate).unwrap();
        let keys = pair(&session, &Mechanism::EccKeyPairGen, Attribute::EcParams(P256.to_vec()), true);

        // What is public is seen without a PIN, by another program too.
        session.logout().unwrap();
        let seen = labelled("cert");
        assert_eq!((seen.len(), value(&session, seen[0], AttributeType::Value)), (1, vec![0x30; 1500]));
        assert_eq!((labelled("note").len(), labelled("pair").len()), (0, 1), "private objects hide");
        refused!(session.sign(&Mechanism::Ecdsa, keys.1, &[7; 32]), KeyHandleInvalid);
        session.login(cryptoki::session::UserType::User, Some(&crate::bed::pin(crate::bed::PIN))).unwrap();
        assert_eq!(labelled("pair").len(), 2);
        let private = [Attribute::Class(ObjectClass::PRIVATE_KEY)];
        let private = session.find_objects(&private).unwrap()[0];
        sign(&session, &Mechanism::Ecdsa, (keys.0, private), &[7; 32]);

        // A copy in the session and one in the token are the same key, which stays in the service.
        let named = |label: &str, in_token| [Attribute::Token(in_token), Attribute::Label(label.into())];
        let here = session.copy_object(private, &named("here", false)).unwrap();
        let there = session.copy_object(private, &named("there", true)).unwrap();
        sign(&session, &Mechanism::Ecdsa, (keys.0, here), &[7; 32]);
        sign(&session, &Mechanism::Ecdsa, (keys.0, there), &[7; 32]);
        session
            .update_attributes(there, &[Attribute::Label(b"renamed".to_vec()), Attribute::Sign(false)])
            .unwrap();
        assert_eq!(labelled("renamed"), [there]);
        refused!(session.sign(&Mechanism::Ecdsa, there, &[7; 32]), KeyFunctionNotPermitted);
        session.destroy_object(private).unwrap();
        refused!(session.sign(&Mechanism::Ecdsa, private, &[7; 32]), KeyHandleInvalid);
        sign(&session, &Mechanism::Ecdsa, (keys.0, here), &[7; 32]);

        // Whatever would bring a key's bytes here is refused, but for a key that may leave.
        let aes = |more: &[Attribute]| {
            let template = [&[Attribute::Token(true), Attribute::ValueLen(32.into())], more].concat();
            session.generate_key(&Mechanism::AesKeyGen, &template).unwrap()
        };
        let stays = aes(&[Attribute::Extractable(true)]);
        let kek = secret(&session, KeyType::AES, &[1; 32], false);
        refused!(session.wrap_key(&Mechanism::AesKeyWrap, kek, stays), KeyNotWrappable);
        refused!(session.wrap_key(&Mechanism::AesKeyWrap, kek, aes(&[])), KeyUnextractable);
        refused!(session.wrap_key(&Mechanism::AesKeyWrap, stays, kek), KeyFunctionNotPermitted);
        assert!(session.get_attributes(stays, &[AttributeType::Value]).unwrap().is_empty());
        session.digest_init(&Mechanism::Sha256).unwrap();
        refused!(session.digest_key(stays), KeyIndigestible);
        let _ = session.digest_final();
        let leaves = aes(&[Attribute::Extractable(true), Attribute::Sensitive(false)]);
        let bytes = value(&session, leaves, AttributeType::Value);
        assert_eq!(bytes.len(), 32);
        let same = secret(&session, KeyType::AES, &bytes, false);
        let seal = |key| session.encrypt(&Mechanism::AesEcb, key, &[0; 16]).unwrap();
        assert_eq!(seal(leaves), seal(same));
        let wrapped = session.wrap_key(&Mechanism::AesKeyWrap, kek, leaves).unwrap();
        let template = [
            Attribute::Class(ObjectClass::SECRET_KEY),
            Attribute::KeyType(KeyType::AES),
            Attribute::Token(true),
        ];
        let unwrapped = session.unwrap_key(&Mechanism::AesKeyWrap, kek, &wrapped, &template).unwrap();
        assert_eq!(seal(unwrapped), seal(same));
        let base = secret(&session, KeyType::GENERIC_SECRET, &[6; 32], true);
        let hkdf = HkdfParams::new(MechanismType::SHA256, Some(HkdfSalt::Data(b"salt")), Some(b"info"));
        let wanted = [
            Attribute::Class(ObjectClass::SECRET_KEY),
            Attribute::KeyType(KeyType::AES),
            Attribute::ValueLen(16.into()),
        ];
        refused!(session.derive_key(&Mechanism::HkdfDerive(hkdf), base, &wanted), KeyFunctionNotPermitted);
    });
}
