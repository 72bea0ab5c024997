//! Properties of the formats, without a process around them.

use millstream_cpu::Features;
use millstream_engines::hash::Hash;
use millstream_files::cipher::Cipher;
use millstream_files::tink::{Key, Parameters};
use millstream_files::{DETECT_LEN, Error, detect, keyset, openssl, solaris, tink};
use proptest::collection::vec;
use proptest::prelude::*;

/// Returns a key with short segments, so that a short stream has many.
fn key(segment_bytes: usize, derived_key_bytes: usize) -> Key {
    Key::with_parameters(&[7; 32], Parameters { segment_bytes, derived_key_bytes, hash: Hash::Sha256 })
        .unwrap()
}

fn sealed(key: &Key, data: &[u8], aad: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    tink::encrypt(Features::hardware(), data, &mut out, key, aad).unwrap();
    out
}

fn opened(key: &Key, data: &[u8], aad: &[u8]) -> (Vec<u8>, Result<(), Error>) {
    let mut out = Vec::new();
    let result = tink::decrypt(Features::hardware(), data, &mut out, key, aad);
    (out, result)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn tink_round_trip(data in vec(any::<u8>(), 0..700), aad in vec(any::<u8>(), 0..40), segment in 57usize..200) {
        for derived in [16, 32] {
            let key = key(segment, derived);
            let sealed = sealed(&key, &data, &aad);
            let (out, result) = opened(&key, &sealed, &aad);
            prop_assert!(result.is_ok());
            prop_assert_eq!(&out, &data);
        }
    }

    #[test]
    fn tink_lets_no_change_pass(
        data in vec(any::<u8>(), 0..500), segment in 57usize..120, at in any::<prop::sample::Index>(), bit in 0u8..8,
    ) {
        let key = key(segment, 32);
        let sealed = sealed(&key, &data, b"");
        let mut changed = sealed.clone();
        changed[at.index(sealed.len())] ^= 1 << bit;
        let (out, result) = opened(&key, &changed, b"");
        prop_assert!(result.is_err());
        prop_assert!(data.starts_with(&out), "what was written is a beginning of the plaintext");
    }

    #[test]
    fn tink_lets_no_cut_and_no_more_pass(
        data in vec(any::<u8>(), 0..500), segment in 57usize..120, at in any::<prop::sample::Index>(), more in vec(any::<u8>(), 1..200),
    ) {
        let key = key(segment, 32);
        let mut sealed = sealed(&key, &data, b"");
        let (out, result) = opened(&key, &sealed[..at.index(sealed.len())], b"");
        prop_assert!(result.is_err());
        prop_assert!(data.starts_with(&out));
        sealed.extend(more);
        prop_assert!(opened(&key, &sealed, b"").1.is_err());
    }

    #[test]
    fn tink_finds_the_right_key(data in vec(any::<u8>(), 0..500), which in 0usize..3) {
        let keys = [key(60, 32), key(60, 16), key(97, 32)];
        let sealed = sealed(&keys[which], &data, b"aad");
        let found = tink::key_for(Features::hardware(), &keys, &sealed[..sealed.len().min(98)], b"aad").unwrap();
        prop_assert_eq!(opened(found, &sealed, b"aad").0, data);
        prop_assert!(tink::key_for(Features::hardware(), &keys, &sealed, b"other").is_none());
    }

    #[test]
    fn solaris_and_openssl_round_trip(data in vec(any::<u8>(), 0..200)) {
        let features = Features::hardware();
        for algorithm in solaris::Algorithm::ALL {
            let (mut sealed, mut out) = (Vec::new(), Vec::new());
            let secret = solaris::Secret::Passphrase(b"secret");
            solaris::seal(features, algorithm, secret, 3).unwrap().run_here(&data[..], &mut sealed).unwrap();
            solaris::decrypt(features, &sealed[..], &mut out, algorithm, secret).unwrap();
            prop_assert_eq!(&out, &data);
        }
        for name in ["aes-256-cbc", "aes-192-ctr", "camellia-128-cbc", "des-ede3-cfb", "rc4"] {
            let cipher = Cipher::from_name(name).unwrap();
            let (mut sealed, mut out) = (Vec::new(), Vec::new());
            openssl::encrypt(features, &data[..], &mut sealed, cipher, b"secret", 3).unwrap();
            openssl::decrypt(features, &sealed[..], &mut out, cipher, b"secret", 3).unwrap();
            prop_assert_eq!(&out, &data);
        }
    }

    #[test]
    fn no_bytes_make_a_reader_panic(mut data in vec(any::<u8>(), 0..300), magic in 0usize..5) {
        let features = Features::hardware();
        let start: &[u8] = [&b""[..], b"Salted__", b"Millstrm\x01\x01\0\0", &[0, 0, 0, 1, 0, 0, 0, 1], &[40]][magic];
        data.splice(..start.len().min(data.len()), start.iter().copied());
        detect(&data[..data.len().min(DETECT_LEN)]);
        let mut out = Vec::new();
        prop_assert!(tink::decrypt(features, &data[..], &mut out, &key(64, 32), b"").is_err());
        for algorithm in solaris::Algorithm::ALL {
            // A change in a file without a MAC may go unnoticed, but must do no harm.
            let secret = solaris::Secret::Key(&[3; 24][..if algorithm == solaris::Algorithm::Des { 8 } else { 24 }]);
            let mut file = data.clone();
            if let Some(iterations) = file.get_mut(4..8) { iterations.copy_from_slice(&[0, 0, 0, 9]); }
            let _ = solaris::decrypt(features, &file[..], &mut out, algorithm, secret);
        }
        let cipher = Cipher::from_name("aes-256-cbc").unwrap();
        let _ = openssl::decrypt(features, &data[..], &mut out, cipher, b"secret", 1);
        let _ = keyset::parse(&data);
    }

    #[test]
    fn keyset_values_never_panic(value in vec(any::<u8>(), 0..60)) {
        const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let text: String = value.iter().map(|b| ALPHABET[usize::from(b % 64)] as char).collect();
        let text = &text[..text.len() / 4 * 4];
        let json = format!(
            r#"{{"primaryKeyId":1,"key":[{{"keyId":1,"status":"ENABLED","keyData":{{"value":"{text}",
            "typeUrl":"type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey"}}}}]}}"#
        );
        prop_assert!(keyset::parse(json.as_bytes()).is_err());
    }
}
