//! CMAC over Camellia and triple DES, on every kernel.
//!
//! Ref. NIST SP 800-38B, the TDEA examples; Camellia against OpenSSL.

use millstream_cpu::Features;
use millstream_engines::cmac::{Cbc, Cmac, State};
use millstream_engines::{Engine, Error, camellia, des};
use millstream_testkit::{Ran, Random, cavp, hex};

fn runnable(engine: &dyn Engine) -> usize {
    engine.kernels().iter().filter(|kernel| Features::hardware().contains(kernel.requires)).count()
}

#[test]
fn published_tags() {
    let cases = cavp::cases("CMAC/nist-800-38b-3des.txt");
    assert_eq!(cases.len(), 8);
    let mut ran = Ran::new("3des-cbc");
    for kernel in des::TRIPLE_CBC.available(Features::hardware()) {
        for case in &cases {
            let key = ["KEY1", "KEY2", "KEY3"].map(|part| hex(&case[part])).concat();
            let cmac = Cmac::new(des::Cbc::with_kernel(kernel, &key).unwrap());
            let (message, tag) = (hex(&case["MESSAGE"]), hex(&case["OUTPUT"]));
            assert_eq!(cmac.verify(&message, &tag), Ok(()), "{kernel:?}, {case:?}");
            assert_eq!(cmac.mac(&message)[..], tag);
            ran.kernel(kernel.kernel().name);
        }
    }
    ran.at_least(runnable(&&des::TRIPLE_CBC));
}

/// The tag by an independent hand: OpenSSL's.
#[cfg(target_arch = "x86_64")]
fn reference(cipher: &str, key: &[u8], message: &[u8]) -> Vec<u8> {
    use openssl::{nid::Nid, pkey::PKey, sign::Signer, symm::Cipher};
    let nid = match cipher {
        "camellia-128-cbc" => Nid::CAMELLIA_128_CBC,
        "camellia-192-cbc" => Nid::CAMELLIA_192_CBC,
        "camellia-256-cbc" => Nid::CAMELLIA_256_CBC,
        _ => Nid::DES_EDE3_CBC,
    };
    let key = PKey::cmac(&Cipher::from_nid(nid).unwrap(), key).unwrap();
    Signer::new_without_digest(&key).unwrap().sign_oneshot_to_vec(message).unwrap()
}

/// Whole, in two pieces, byte by byte, and as two ends of one beginning.
fn every_way<M: Cbc<N>, const N: usize>(cmac: &Cmac<M, N>, message: &[u8], tag: &[u8], what: &str) {
    assert_eq!(cmac.mac(message)[..], *tag, "{what}");
    for cut in 0..=message.len().min(3 * N) {
        let mut stream = cmac.stream();
        stream.update(&message[..cut]);
        stream.update(&message[cut..]);
        assert_eq!(stream.finish()[..], *tag, "{what}, cut at {cut}");

        let mut state = State::new();
        state.update(cmac, &message[..cut]);
        let mut other = state.clone();
        other.update(cmac, b"something else");
        state.update(cmac, &message[cut..]);
        assert_eq!(state.tag(cmac)[..], *tag, "{what}, cut at {cut}");
        assert_eq!(other.tag(cmac), cmac.mac(&[&message[..cut], b"something else"].concat()), "{what}");
    }
    let mut state = cmac.begin();
    message.iter().for_each(|byte| state.update(cmac, &[*byte]));
    assert_eq!(state.verify(cmac, tag), Ok(()), "{what}");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn every_length() {
    let mut ran = Ran::new("camellia-cbc and 3des-cbc");
    let mut random = Random::new(71);
    let message = random.bytes(1100);
    let lengths = || (0..=100).chain([511, 512, 513, 527, 528, 529, 1023, 1024, 1040, 1041, 1100]);
    for key_len in [16, 24, 32] {
        let key = random.bytes(key_len);
        for kernel in camellia::CBC.available(Features::hardware()) {
            let cmac = Cmac::new(camellia::Cbc::with_kernel(kernel, &key).unwrap());
            for len in lengths() {
                let tag = reference(&format!("camellia-{}-cbc", 8 * key_len), &key, &message[..len]);
                every_way(&cmac, &message[..len], &tag, &format!("{kernel:?}, {len} bytes"));
            }
            ran.kernel(kernel.kernel().name);
        }
    }
    let key = random.bytes(24);
    for kernel in des::TRIPLE_CBC.available(Features::hardware()) {
        let cmac = Cmac::new(des::Cbc::with_kernel(kernel, &key).unwrap());
        for len in lengths() {
            let tag = reference("des-ede3-cbc", &key, &message[..len]);
            every_way(&cmac, &message[..len], &tag, &format!("{kernel:?}, {len} bytes"));
        }
        ran.kernel(kernel.kernel().name);
    }
    ran.at_least(runnable(&&des::TRIPLE_CBC));
}

#[test]
fn tags_may_be_cut_but_not_away() {
    let cmac = Cmac::new(des::Cbc::new(Features::hardware(), &[0x13; 24]).unwrap());
    let tag = cmac.mac(b"message");
    for len in 0..=9 {
        let given: Vec<u8> = tag.iter().copied().chain([0]).take(len).collect();
        let result = cmac.verify(b"message", &given);
        if (4..=8).contains(&len) {
            assert_eq!(result, Ok(()), "{len} bytes");
            for byte in 0..len {
                let mut forged = given.clone();
                forged[byte] ^= 0x10;
                assert_eq!(cmac.verify(b"message", &forged), Err(Error::Authentication));
            }
        } else {
            assert!(matches!(result, Err(Error::TagLength { algorithm: "3des-cmac", .. })), "{len} bytes");
        }
    }
}
