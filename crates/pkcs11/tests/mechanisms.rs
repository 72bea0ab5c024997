//! Every kind of mechanism, asked for by a client that is not ours, and compared with the engines called directly.

mod support;

use cryptoki::error::{Error, RvError};
use cryptoki::mechanism::aead::{GcmMessageParams, GcmParams, GeneratorFunction};
use cryptoki::mechanism::eddsa::{EddsaParams, EddsaSignatureScheme};
use cryptoki::mechanism::elliptic_curve::{EcKdf, Ecdh1DeriveParams};
use cryptoki::mechanism::hkdf::{HkdfParams, HkdfSalt};
use cryptoki::mechanism::rsa::{PkcsMgfType, PkcsOaepParams, PkcsOaepSource, PkcsPssParams};
use cryptoki::mechanism::{Mechanism, MechanismType, MessageParam};
use cryptoki::object::{Attribute, AttributeType, KeyType, ObjectClass, ObjectHandle};
use cryptoki::session::Session;
use millstream::hash::Hash;
use millstream::hmac::HmacKey;
use millstream::modes::{BlockMode, BlockStream, Direction, Padding};
use millstream::{InOut, aes, features, hkdf};
use support::{alone, client, logged_in};

const P256: &[u8] = b"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07";
const P384: &[u8] = b"\x06\x05\x2b\x81\x04\x00\x22";
const P521: &[u8] = b"\x06\x05\x2b\x81\x04\x00\x23";
const ED25519: &[u8] = b"\x06\x03\x2b\x65\x70";
const X25519: &[u8] = b"\x06\x03\x2b\x65\x6e";

const TEXT: &[u8] = b"an object of no particular length, which is signed, sealed and delivered";

fn secret(session: &Session, key_type: KeyType, value: &[u8]) -> ObjectHandle {
    session
        .create_object(&[
            Attribute::Class(ObjectClass::SECRET_KEY),
            Attribute::KeyType(key_type),
            Attribute::Value(value.to_vec()),
        ])
        .unwrap()
}

fn value(session: &Session, object: ObjectHandle, kind: AttributeType) -> Vec<u8> {
    match session.get_attributes(object, &[kind]).unwrap().remove(0) {
        Attribute::Value(bytes) | Attribute::EcPoint(bytes) => bytes,
        other => panic!("{other:?}"),
    }
}

fn block_mode<M: BlockMode>(mode: &M, iv: &[u8], padding: Padding, text: &[u8]) -> Vec<u8> {
    let mut stream = BlockStream::new(mode, iv, Direction::Encrypt, padding).unwrap();
    let mut out = vec![0; text.len() + 16];
    let done = stream.update(text, &mut out).unwrap();
    let last = stream.finish(&mut out[done..]).unwrap();
    out.truncate(done + last);
    out
}

#[test]
fn ciphers_give_what_the_engines_give() {
    alone("ciphers_give_what_the_engines_give", || {
        let (client, slot) = client();
        let session = logged_in(&client, slot);
        let features = features().unwrap();
        for len in [16, 24, 32] {
            let bytes = &[[7; 16], [9; 16]].concat()[..len];
            let key = secret(&session, KeyType::AES, bytes);
            let (ecb, cbc) =
                (aes::Ecb::new(features, bytes).unwrap(), aes::Cbc::new(features, bytes).unwrap());
            let whole = &TEXT[..64];
            let cases = [
                (Mechanism::AesEcb, block_mode(&ecb, &[], Padding::None, whole), whole),
                (Mechanism::AesCbc([3; 16]), block_mode(&cbc, &[3; 16], Padding::None, whole), whole),
                (Mechanism::AesCbcPad([3; 16]), block_mode(&cbc, &[3; 16], Padding::Pkcs7, TEXT), TEXT),
                (Mechanism::AesCbcPad([3; 16]), block_mode(&cbc, &[3; 16], Padding::Pkcs7, whole), whole),
            ];
            for (mechanism, expected, text) in cases {
                assert_eq!(session.encrypt(&mechanism, key, text).unwrap(), expected);
                assert_eq!(session.decrypt(&mechanism, key, &expected).unwrap(), text);
                // In parts of all sizes.
                for part in [1, 15, 16, 17, 40] {
                    session.encrypt_init(&mechanism, key).unwrap();
                    let mut out: Vec<u8> =
                        text.chunks(part).flat_map(|part| session.encrypt_update(part).unwrap()).collect();
                    out.extend(session.encrypt_final().unwrap());
                    assert_eq!(out, expected, "parts of {part}");
                    session.decrypt_init(&mechanism, key).unwrap();
                    let mut back: Vec<u8> =
                        out.chunks(part).flat_map(|part| session.decrypt_update(part).unwrap()).collect();
                    back.extend(session.decrypt_final().unwrap());
                    assert_eq!(back, text, "parts of {part}");
                }
            }
            assert_eq!(session.sign(&Mechanism::AesCMac, key, TEXT).unwrap(), {
                aes::Cmac::new(features, bytes).unwrap().mac(TEXT)
            });
            let odd = session.encrypt(&Mechanism::AesCbc([3; 16]), key, TEXT);
            assert!(matches!(odd, Err(Error::Pkcs11(RvError::DataLenRange, _))), "{odd:?}");
            let cut = session.decrypt(&Mechanism::AesCbcPad([3; 16]), key, &[1; 17]);
            assert!(matches!(cut, Err(Error::Pkcs11(RvError::EncryptedDataLenRange, _))), "{cut:?}");
            let bad = session.decrypt(&Mechanism::AesCbcPad([3; 16]), key, &[1; 32]);
            assert!(matches!(bad, Err(Error::Pkcs11(RvError::EncryptedDataInvalid, _))), "{bad:?}");
        }
    });
}

#[test]
fn gcm_seals_at_once_in_parts_and_by_messages() {
    alone("gcm_seals_at_once_in_parts_and_by_messages", || {
        use millstream::aead::Aead;
        let (client, slot) = client();
        let session = logged_in(&client, slot);
        let key = secret(&session, KeyType::AES, &[5; 32]);
        let gcm = millstream::gcm::Gcm::new(features().unwrap(), &[5; 32]).unwrap();
        let (mut expected, mut tag) = (TEXT.to_vec(), [0; 16]);
        gcm.seal(&[8; 12], b"header", InOut::in_place(&mut expected), &mut tag).unwrap();
        let sealed = [&expected[..], &tag].concat();
        let mut nonce = [8; 12];
        let mechanism = Mechanism::AesGcm(GcmParams::new(&mut nonce, b"header", 128.into()).unwrap());
        assert_eq!(session.encrypt(&mechanism, key, TEXT).unwrap(), sealed);
        assert_eq!(session.decrypt(&mechanism, key, &sealed).unwrap(), TEXT);
        session.decrypt_init(&mechanism, key).unwrap();
        for part in sealed.chunks(7) {
            assert!(session.decrypt_update(part).unwrap().is_empty(), "nothing before the tag");
        }
        assert_eq!(session.decrypt_final().unwrap(), TEXT);
        let mut forged = sealed.clone();
        forged[3] ^= 1;
        let refused = session.decrypt(&mechanism, key, &forged);
        assert!(matches!(refused, Err(Error::Pkcs11(RvError::EncryptedDataInvalid, _))), "{refused:?}");

        // Many messages with one key: with given nonces, and with ones that the token makes.
        let (mut no_nonce, mut no_tag) = ([0; 12], [0; 16]);
        let any = Mechanism::AesGcmMessage(
            GcmMessageParams::new(&mut no_nonce, 0.into(), GeneratorFunction::NoGenerate, &mut no_tag)
                .unwrap(),
        );
        session.message_encrypt_init(&any, key).unwrap();
        session.message_decrypt_init(&any, key).unwrap();
        for generator in [GeneratorFunction::NoGenerate, GeneratorFunction::GenerateRandom] {
            let (mut nonce, mut tag) = ([8; 12], [0; 16]);
            let param = MessageParam::AesGcmMessage(
                GcmMessageParams::new(&mut nonce, 0.into(), generator, &mut tag).unwrap(),
            );
            let text = session.encrypt_message(&param, b"header", TEXT).unwrap();
            if matches!(generator, GeneratorFunction::NoGenerate) {
                assert_eq!([&text[..], &tag].concat(), sealed);
            } else {
                assert_ne!(nonce, [8; 12]);
            }
            let param = MessageParam::AesGcmMessage(
                GcmMessageParams::new(&mut nonce, 0.into(), GeneratorFunction::NoGenerate, &mut tag).unwrap(),
            );
            assert_eq!(session.decrypt_message(&param, b"header", &text).unwrap(), TEXT);
            assert!(session.decrypt_message(&param, b"other", &text).is_err());
        }
        session.message_encrypt_final().unwrap();
        session.message_decrypt_final().unwrap();
    });
}

#[test]
fn digests_and_macs_give_what_the_engines_give() {
    alone("digests_and_macs_give_what_the_engines_give", || {
        let (client, slot) = client();
        let session = logged_in(&client, slot);
        let features = features().unwrap();
        let hashes = [
            (Mechanism::Sha1, Mechanism::Sha1Hmac, Hash::Sha1),
            (Mechanism::Sha224, Mechanism::Sha224Hmac, Hash::Sha224),
            (Mechanism::Sha256, Mechanism::Sha256Hmac, Hash::Sha256),
            (Mechanism::Sha384, Mechanism::Sha384Hmac, Hash::Sha384),
            (Mechanism::Sha512, Mechanism::Sha512Hmac, Hash::Sha512),
        ];
        let key = secret(&session, KeyType::GENERIC_SECRET, &[4; 40]);
        for (digest, mac, hash) in hashes {
            let mut expected = vec![0; hash.output_len()];
            millstream::hash::digest(features, hash, TEXT, &mut expected).unwrap();
            assert_eq!(session.digest(&digest, TEXT).unwrap(), expected);
            session.digest_init(&digest).unwrap();
            TEXT.chunks(9).for_each(|part| session.digest_update(part).unwrap());
            assert_eq!(session.digest_final().unwrap(), expected);
            let tag = HmacKey::new(features, hash, &[4; 40]).sign(TEXT).to_vec();
            assert_eq!(session.sign(&mac, key, TEXT).unwrap(), tag);
            session.verify(&mac, key, TEXT, &tag).unwrap();
            let refused = session.verify(&mac, key, b"other", &tag);
            assert!(matches!(refused, Err(Error::Pkcs11(RvError::SignatureInvalid, _))), "{refused:?}");
            let short = session.verify(&mac, key, TEXT, &tag[1..]);
            assert!(matches!(short, Err(Error::Pkcs11(RvError::SignatureLenRange, _))), "{short:?}");
        }
    });
}

#[test]
fn pairs_sign_decrypt_and_agree() {
    alone("pairs_sign_decrypt_and_agree", || {
        let (client, slot) = client();
        let session = logged_in(&client, slot);
        let (public, private) = session
            .generate_key_pair(&Mechanism::RsaPkcsKeyPairGen, &[Attribute::ModulusBits(2048.into())], &[])
            .unwrap();
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
            let signature = session.sign(&mechanism, private, message).unwrap();
            session.verify(&mechanism, public, message, &signature).unwrap();
            let mut forged = signature.clone();
            forged[100] ^= 1;
            let refused = session.verify(&mechanism, public, message, &forged);
            assert!(matches!(refused, Err(Error::Pkcs11(RvError::SignatureInvalid, _))), "{mechanism:?}");
            session.verify_signature_init(&mechanism, public, &signature).unwrap();
            session.verify_signature(message).unwrap();
        }
        // The digest in its encoding, signed as it is, is the signature over the message.
        let encoded =
            [b"\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20", &digest[..]]
                .concat();
        assert_eq!(
            session.sign(&Mechanism::RsaPkcs, private, &encoded).unwrap(),
            session.sign(&Mechanism::Sha256RsaPkcs, private, TEXT).unwrap()
        );
        let oaep =
            PkcsOaepParams::new(MechanismType::SHA256, PkcsMgfType::MGF1_SHA256, PkcsOaepSource::empty());
        for mechanism in [Mechanism::RsaPkcs, Mechanism::RsaPkcsOaep(oaep)] {
            let sealed = session.encrypt(&mechanism, public, TEXT).unwrap();
            assert_eq!(session.decrypt(&mechanism, private, &sealed).unwrap(), TEXT);
        }
        for (params, bytes) in [(P256, 64), (P384, 96), (P521, 132)] {
            let (public, private) = session
                .generate_key_pair(&Mechanism::EccKeyPairGen, &[Attribute::EcParams(params.to_vec())], &[])
                .unwrap();
            for (mechanism, message) in [
                (Mechanism::EcdsaSha256, TEXT),
                (Mechanism::EcdsaSha512, TEXT),
                (Mechanism::Ecdsa, &digest[..]),
            ] {
                let signature = session.sign(&mechanism, private, message).unwrap();
                assert_eq!(signature.len(), bytes);
                session.verify(&mechanism, public, message, &signature).unwrap();
                assert!(session.verify(&mechanism, public, b"other", &signature).is_err());
            }
            // Zeros at the beginning of both halves may be missing in what is verified.
            let short = (0..if bytes == 132 { 1000 } else { 0 }).find_map(|_| {
                let signature = session.sign(&Mechanism::EcdsaSha256, private, TEXT).unwrap();
                let (r, s) = signature.split_at(bytes / 2);
                (r[0] == 0 && s[0] == 0).then(|| [&r[1..], &s[1..]].concat())
            });
            if let Some(mut short) = short {
                session.verify(&Mechanism::EcdsaSha256, public, TEXT, &short).unwrap();
                let odd = session.verify(&Mechanism::EcdsaSha256, public, TEXT, &short[1..]);
                assert!(matches!(odd, Err(Error::Pkcs11(RvError::SignatureLenRange, _))), "{odd:?}");
                short[70] ^= 1;
                let forged = session.verify(&Mechanism::EcdsaSha256, public, TEXT, &short);
                assert!(matches!(forged, Err(Error::Pkcs11(RvError::SignatureInvalid, _))), "{forged:?}");
            } else {
                assert_ne!(bytes, 132, "a quarter of the signatures is such a one");
            }
        }
        let (public, private) = session
            .generate_key_pair(
                &Mechanism::EccEdwardsKeyPairGen,
                &[Attribute::EcParams(ED25519.to_vec())],
                &[],
            )
            .unwrap();
        for scheme in [EddsaSignatureScheme::Pure, EddsaSignatureScheme::Ed25519ctx(b"context")] {
            let mechanism = Mechanism::Eddsa(EddsaParams::new(scheme));
            let signature = session.sign(&mechanism, private, TEXT).unwrap();
            session.verify(&mechanism, public, TEXT, &signature).unwrap();
            assert!(session.verify(&mechanism, public, b"other", &signature).is_err());
        }
    });
}

#[test]
fn keys_are_derived_and_wrapped() {
    alone("keys_are_derived_and_wrapped", || {
        let (client, slot) = client();
        let session = logged_in(&client, slot);
        let open = [
            Attribute::Class(ObjectClass::SECRET_KEY),
            Attribute::KeyType(KeyType::GENERIC_SECRET),
            Attribute::Sensitive(false),
            Attribute::Extractable(true),
        ];
        for (generate, params) in [
            (Mechanism::EccKeyPairGen, P256),
            (Mechanism::EccKeyPairGen, P521),
            (Mechanism::EccMontgomeryKeyPairGen, X25519),
        ] {
            let pair = || {
                let params = [Attribute::EcParams(params.to_vec())];
                session.generate_key_pair(&generate, &params, &[Attribute::Derive(true)]).unwrap()
            };
            let ((public, private), (other_public, other_private)) = (pair(), pair());
            let agree = |private, public| {
                // The point comes in an OCTET STRING, which is taken as it is.
                let point = value(&session, public, AttributeType::EcPoint);
                let mechanism = Mechanism::Ecdh1Derive(Ecdh1DeriveParams::new(EcKdf::null(), &point));
                let key = session.derive_key(&mechanism, private, &open).unwrap();
                value(&session, key, AttributeType::Value)
            };
            let shared = agree(private, other_public);
            assert_eq!(shared, agree(other_private, public));
            // A session's key that nobody said anything about is the secret itself, and a shorter one is the end of it.
            let point = value(&session, other_public, AttributeType::EcPoint);
            let mechanism = Mechanism::Ecdh1Derive(Ecdh1DeriveParams::new(EcKdf::null(), &point));
            let bare =
                [Attribute::Class(ObjectClass::SECRET_KEY), Attribute::KeyType(KeyType::GENERIC_SECRET)];
            let key = session.derive_key(&mechanism, private, &bare).unwrap();
            assert_eq!(value(&session, key, AttributeType::Value), shared);
            let short = [&open[..], &[Attribute::ValueLen(20.into())]].concat();
            let key = session.derive_key(&mechanism, private, &short).unwrap();
            assert_eq!(value(&session, key, AttributeType::Value), shared[shared.len() - 20..]);
        }
        let base = secret(&session, KeyType::GENERIC_SECRET, &[6; 32]);
        let wanted = [&open[..], &[Attribute::ValueLen(42.into())]].concat();
        let mechanism = Mechanism::HkdfDerive(HkdfParams::new(
            MechanismType::SHA256,
            Some(HkdfSalt::Data(b"salt")),
            Some(b"info"),
        ));
        let key = session.derive_key(&mechanism, base, &wanted).unwrap();
        let mut expected = [0; 42];
        hkdf::derive(features().unwrap(), Hash::Sha256, b"salt", &[6; 32], b"info", &mut expected).unwrap();
        assert_eq!(value(&session, key, AttributeType::Value), expected);

        let kek = secret(&session, KeyType::AES, &[1; 32]);
        let wrapped = session.wrap_key(&Mechanism::AesCbcPad([2; 16]), kek, key).unwrap();
        let again = session.unwrap_key(&Mechanism::AesCbcPad([2; 16]), kek, &wrapped, &open).unwrap();
        assert_eq!(value(&session, again, AttributeType::Value), expected);
        let aes = [Attribute::ValueLen(32.into()), Attribute::Extractable(true)];
        let aes = session.generate_key(&Mechanism::AesKeyGen, &aes).unwrap();
        let wrapped = session.wrap_key(&Mechanism::AesKeyWrap, kek, aes).unwrap();
        assert_eq!(wrapped.len(), 40);
        let mut bad = wrapped.clone();
        bad[9] ^= 1;
        let template = [Attribute::Class(ObjectClass::SECRET_KEY), Attribute::KeyType(KeyType::AES)];
        let again = session.unwrap_key(&Mechanism::AesKeyWrap, kek, &wrapped, &template).unwrap();
        let of = |key| session.encrypt(&Mechanism::AesEcb, key, &[0; 16]).unwrap();
        assert_eq!(of(again), of(aes));
        let refused = session.unwrap_key(&Mechanism::AesKeyWrap, kek, &bad, &template);
        assert!(matches!(refused, Err(Error::Pkcs11(RvError::WrappedKeyInvalid, _))), "{refused:?}");
        let closed = session.copy_object(base, &[Attribute::Extractable(false)]).unwrap();
        let stays = session.wrap_key(&Mechanism::AesKeyWrap, kek, closed);
        assert!(matches!(stays, Err(Error::Pkcs11(RvError::KeyUnextractable, _))), "{stays:?}");
        // A private key goes as PKCS #8, and comes back.
        let (public, private) = session
            .generate_key_pair(
                &Mechanism::EccKeyPairGen,
                &[Attribute::EcParams(P256.to_vec())],
                &[Attribute::Extractable(true)],
            )
            .unwrap();
        let wrapped = session.wrap_key(&Mechanism::AesCbcPad([2; 16]), kek, private).unwrap();
        let template = [Attribute::Class(ObjectClass::PRIVATE_KEY), Attribute::KeyType(KeyType::EC)];
        let back = session.unwrap_key(&Mechanism::AesCbcPad([2; 16]), kek, &wrapped, &template).unwrap();
        let signature = session.sign(&Mechanism::EcdsaSha256, back, TEXT).unwrap();
        session.verify(&Mechanism::EcdsaSha256, public, TEXT, &signature).unwrap();
    });
}
