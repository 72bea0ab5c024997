//! RC4 against published vectors, OpenSSL's legacy provider where it loads, and itself in pieces.
//!
//! Ref. RFC 6229; the vectors of `cryptography_vectors`, ciphers/ARC4.

use millstream_cpu::Features;
use millstream_engines::rc4::{RC4, Rc4};
use millstream_engines::{Engine, Error, InOut};
use millstream_testkit::{Guarded, Ran, Random, cavp, hex};

#[test]
fn published_vectors() {
    let mut ran = Ran::new("rc4");
    let mut count = 0;
    let rfc = [40, 56, 64, 80, 128, 192, 256].map(|bits| format!("ciphers/ARC4/rfc-6229-{bits}.txt"));
    for file in rfc.into_iter().chain(["ciphers/ARC4/arc4.txt".to_owned()]) {
        for case in cavp::cases(&file) {
            for kernel in RC4.available(Features::hardware()) {
                let mut rc4 = Rc4::with_kernel(kernel, &hex(&case["KEY"])).unwrap();
                let offset = case.get("OFFSET").map_or(0, |offset| offset.parse().unwrap());
                rc4.apply(vec![0; offset].as_mut_slice().into());
                let mut data = hex(&case["PLAINTEXT"]);
                rc4.apply(data.as_mut_slice().into());
                assert_eq!(data, hex(&case["CIPHERTEXT"]), "{file} {case:?} on {kernel:?}");
                ran.kernel(kernel.kernel().name);
            }
            count += 1;
        }
    }
    ran.at_least(1);
    assert_eq!(count, 8 * 36);
}

#[test]
fn knows_its_answer() {
    assert_eq!((&RC4).check(Features::none(), "portable"), Some(true));
}

#[test]
fn key_lengths() {
    for len in [0, 257] {
        let error = Rc4::new(Features::none(), &vec![1; len]).err();
        assert!(matches!(error, Some(Error::KeyLength { given, .. }) if given == len));
    }
    assert!(Rc4::new(Features::none(), &[1]).is_ok() && Rc4::new(Features::none(), &[1; 256]).is_ok());
}

#[test]
fn every_split_and_both_forms_agree() {
    let mut random = Random::new(4);
    let (key, plaintext) = (random.bytes(13), random.bytes(61));
    let mut whole = plaintext.clone();
    Rc4::new(Features::none(), &key).unwrap().apply(whole.as_mut_slice().into());
    for at in 0..=plaintext.len() {
        let mut pieces = plaintext.clone();
        let mut rc4 = Rc4::new(Features::none(), &key).unwrap();
        let (head, tail) = pieces.split_at_mut(at);
        rc4.apply(head.into());
        rc4.apply(tail.into());
        assert_eq!(pieces, whole, "split at {at}");
    }
    for len in 0..=plaintext.len() {
        let input = Guarded::at_end(&plaintext[..len]);
        let mut output = Guarded::at_start(&vec![0; len]);
        let pass = InOut::separate(&input, &mut output).unwrap();
        Rc4::new(Features::none(), &key).unwrap().apply(pass);
        assert_eq!(*output, whole[..len]);
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn openssl_agrees() {
    use openssl::provider::Provider;
    let _default = Provider::load(None, "default").unwrap();
    let _legacy = match Provider::load(None, "legacy") {
        Ok(provider) => provider,
        Err(_) => return millstream_testkit::skip("rc4: OpenSSL has no legacy provider here"),
    };
    let mut random = Random::new(5);
    for len in [1, 8, 100, 5000] {
        let (key, plaintext) = (random.bytes(16), random.bytes(len));
        let mut ours = plaintext.clone();
        Rc4::new(Features::none(), &key).unwrap().apply(ours.as_mut_slice().into());
        let theirs = openssl::symm::encrypt(openssl::symm::Cipher::rc4(), &key, None, &plaintext).unwrap();
        assert_eq!(ours, theirs);
    }
}
