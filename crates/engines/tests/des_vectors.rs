//! DES and triple DES against published vectors, on every kernel.
//!
//! Ref. NIST CAVP, TDES: SP 800-20's known-answer tests and the multi-block message tests.

use millstream_cpu::Features;
use millstream_engines::des::{self, Ops};
use millstream_engines::modes::{BlockMode, ByteStream, Direction};
use millstream_engines::{Bound, Engine, Table};
use millstream_testkit::{Ran, cavp, hex};

#[test]
fn every_table_knows_its_answer() {
    let tables =
        [&des::ECB, &des::CBC, &des::CFB, &des::MAC, &des::TRIPLE_ECB, &des::TRIPLE_CBC, &des::TRIPLE_CFB];
    for table in tables {
        for kernel in table.available(Features::hardware()) {
            let name = kernel.kernel().name;
            assert_eq!(
                (&table).check(Features::hardware(), name),
                Some(true),
                "{} {name}",
                table.algorithm.name
            );
        }
    }
}

/// Runs the cases of the files of one mode and returns how many there were.
fn run(
    table: &'static Table<Ops>,
    files: &[String],
    pass: impl Fn(Bound<Ops>, &[u8], &[u8], Direction, &mut [u8]),
) -> usize {
    let mut ran = Ran::new(table.algorithm.name);
    let mut count = 0;
    for file in files {
        for case in cavp::cases(file) {
            let key = match case.get("KEYs") {
                Some(key) => hex(key),
                None => [hex(&case["KEY1"]), hex(&case["KEY2"]), hex(&case["KEY3"])].concat(),
            };
            let iv = case.get("IV").map_or(vec![], |iv| hex(iv));
            let (plaintext, ciphertext) = (hex(&case["PLAINTEXT"]), hex(&case["CIPHERTEXT"]));
            let (direction, from, to) = if case.contains_key("ENCRYPT") {
                (Direction::Encrypt, plaintext, ciphertext)
            } else {
                (Direction::Decrypt, ciphertext, plaintext)
            };
            for kernel in table.available(Features::hardware()) {
                let mut data = from.clone();
                pass(kernel, &key, &iv, direction, &mut data);
                assert_eq!(data, to, "{file} {case:?} on {kernel:?}");
                ran.kernel(kernel.kernel().name);
            }
            count += 1;
        }
    }
    ran.missing(table.kernels().iter().map(|kernel| (kernel.name, kernel.requires)));
    ran.at_least(1);
    count
}

fn files(stem: &str) -> Vec<String> {
    ["MMT1", "MMT2", "MMT3", "invperm", "permop", "subtab", "varkey", "vartext"]
        .map(|kind| format!("ciphers/3DES/{stem}{kind}.rsp"))
        .to_vec()
}

#[test]
fn ecb() {
    let count = run(&des::TRIPLE_ECB, &files("ECB/TECB"), |kernel, key, _, direction, data| {
        des::Ecb::with_kernel(kernel, key).unwrap().pass(direction, &mut [], data.into());
    });
    assert_eq!(count, 530);
}

#[test]
fn cbc() {
    let count = run(&des::TRIPLE_CBC, &files("CBC/TCBC"), |kernel, key, iv, direction, data| {
        des::Cbc::with_kernel(kernel, key).unwrap().pass(direction, &mut iv.to_vec(), data.into());
    });
    assert_eq!(count, 530);
}

#[test]
fn cfb64() {
    let count = run(&des::TRIPLE_CFB, &files("CFB/TCFB64"), |kernel, key, iv, direction, data| {
        let cfb = des::Cfb::with_kernel(kernel, key).unwrap();
        ByteStream::new(&cfb, iv, direction).unwrap().update(data.into());
    });
    assert_eq!(count, 530);
}

/// The same key three times is DES: what is encrypted so must come out of the short key too.
#[test]
fn one_key_three_times_is_one_key() {
    for kernel in des::ECB.available(Features::hardware()) {
        let key = [0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01];
        let mut one: Vec<u8> = (0..=255).cycle().take(8 * 600).collect();
        let mut three = one.clone();
        des::Ecb::with_kernel(kernel, &key).unwrap().encrypt(&mut [], one.as_mut_slice().into());
        des::Ecb::with_kernel(kernel, &key.repeat(3)).unwrap().encrypt(&mut [], three.as_mut_slice().into());
        assert!(one == three, "{kernel:?}");
    }
}

#[test]
fn weak_keys_are_known_whatever_their_parity() {
    assert!(des::weak_key(&[0x01; 8]));
    assert!(des::weak_key(&[0x00; 8]));
    assert!(des::weak_key(&hex("fee0fee0fef1fef1")));
    assert!(des::weak_key(&hex("0123456789abcdef e0e0e0e0f1f1f1f1")));
    assert!(!des::weak_key(&hex("0123456789abcdef fedcba9876543210")));
}
