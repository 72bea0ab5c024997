//! Control words: the samples of OpenSPARC's tests, and the way to bytes and back.

use super::*;
use crate::processor::Processor;

/// Words that are all legal on T2: OpenSPARC T2, `n2_sput0.s`.
const SAMPLES: &[(u64, &str)] = &[
    (0x406000401300001f, "decrypt aes-128-ctr sob eob 32 bytes"),
    (0xc06100201800003f, "decrypt aes-256-ecb in-place sob eob intr strand 1 64 bytes"),
    (0xc0e100401400001f, "encrypt aes-192-ecb in-place sob eob intr strand 2 32 bytes"),
    (0x406000001100000f, "decrypt aes-128-cbc sob eob 16 bytes"),
    (0x406100601700000f, "decrypt aes-192-ctr sob eob intr strand 3 16 bytes"),
    (0xc0e000801500000f, "encrypt aes-192-cbc in-place sob eob 16 bytes"),
    (0x406000a01b00000f, "decrypt aes-256-ctr sob eob 16 bytes"),
    (0xc06000601100002f, "decrypt aes-128-cbc in-place sob eob 48 bytes"),
    (0xc0e100400d000007, "encrypt 3des-cbc in-place sob eob intr strand 2 8 bytes"),
    (0xc060061008000007, "decrypt des-ecb in-place sob eob 8 bytes"),
    (0xc061006008000007, "decrypt des-ecb in-place sob eob intr strand 3 8 bytes"),
    (0x40e000a00d00001f, "encrypt 3des-cbc sob eob 32 bytes"),
    (0xc0e000200e00000f, "encrypt 3des-cfb in-place sob eob 16 bytes"),
    (0x406000000a00000f, "decrypt des-cfb sob eob 16 bytes"),
    (0xc0e100c009000017, "encrypt des-cbc in-place sob eob intr strand 6 24 bytes"),
    (0xc0e000c00c000007, "encrypt 3des-ecb in-place sob eob 8 bytes"),
    (0x206100800000000c, "copy sob eob intr strand 4 13 bytes"),
    (0xa060008000000006, "copy in-place sob eob 7 bytes"),
    (0x206000c000000004, "copy sob eob 5 bytes"),
    (0xa061008000000000, "copy in-place sob eob intr strand 4 1 bytes"),
    (0x206000e00000000e, "copy sob eob 15 bytes"),
    (0xc162034400000005, "crc32 4 in-place sob eob sfas 6 bytes"),
    (0x416001e80000000b, "tcp-checksum 2 sob eob 12 bytes"),
    (0xc16101e800000003, "tcp-checksum 2 in-place sob eob intr strand 7 4 bytes"),
    (0x416103640000000b, "crc32 4 sob eob intr strand 3 12 bytes"),
    (0xc162018800000004, "tcp-checksum 2 in-place sob eob sfas 5 bytes"),
    (0x416302c200000026, "sha1 3 sob eob sfas intr strand 6 39 bytes"),
    (0xc162024100000023, "md5 3 in-place sob eob sfas 36 bytes"),
    (0xc16118230000003b, "sha256 25 in-place sob eob intr strand 1 60 bytes"),
    (0x41620e8100000021, "md5 15 sob eob sfas 34 bytes"),
    (0x416107a300000003, "sha256 8 sob eob intr strand 5 4 bytes"),
    (0xc16015a300000022, "sha256 22 in-place sob eob 35 bytes"),
    (0x41630fc5000f001b, "hmac-md5 16 key 16 sob eob sfas intr strand 6 28 bytes"),
    (0xc16301e600130038, "hmac-sha1 2 key 20 in-place sob eob sfas intr strand 7 57 bytes"),
    (0xc1620109000f0040, "ssl-hmac-md5 2 key 16 in-place sob eob sfas 65 bytes"),
    (0x41600a69000f0037, "ssl-hmac-md5 11 key 16 sob eob 56 bytes"),
    (0xc1631927001f003f, "hmac-sha256 26 key 32 in-place sob eob sfas intr strand 1 64 bytes"),
    (0xc1600c060013002e, "hmac-sha1 13 key 20 in-place sob eob 47 bytes"),
    (0x40e100a000000005, "encrypt rc4 sob eob intr strand 5 6 bytes"),
    (0xc0e000e004000003, "encrypt rc4-no-stream in-place sob eob 4 bytes"),
    (0x40e1004004000008, "encrypt rc4-no-stream sob eob intr strand 2 9 bytes"),
    (0xc0e0000004000005, "encrypt rc4-no-stream in-place sob eob 6 bytes"),
    (0x90601a8000000000, "sslkey 27 in-place sob eob "),
    (0x1060196000000000, "sslkey 26 sob eob "),
    (0x90600ae000000000, "sslkey 11 in-place sob eob "),
    (0x106038a000000000, "sslkey 57 sob eob "),
    (0x40e000001000000f, "encrypt aes-128-ecb sob eob 16 bytes"),
    (0x40e000001100000f, "encrypt aes-128-cbc sob eob 16 bytes"),
    (0x40e0000009000017, "encrypt des-cbc sob eob 24 bytes"),
    (0xc1e101080000001d, "tcp-checksum 2 in-place sob eob intr strand 0 30 bytes"),
];

#[test]
fn samples_say_what_they_say() {
    for &(word, says) in SAMPLES {
        // One of them has a strand above the field's limit; it is not shown without an interrupt.
        assert_eq!(Control(word).to_string(), says, "{word:016x}");
    }
}

/// Each sample is executed, on objects at addresses of every kind.
#[test]
fn samples_are_executed() {
    for (i, &(word, says)) in SAMPLES.iter().enumerate() {
        let mut bench = Bench::new(Model::T2);
        let control = Control(word);
        bench.misalignment = if control.opcode() == Some(Opcode::SslKey) { 0 } else { i as u64 % 16 };
        let mut room = || bench.room(512);
        let word = ControlWord {
            control,
            source: room(),
            auth_key: room(),
            auth_iv: room(),
            final_auth_state: room(),
            cipher_key: room(),
            cipher_iv: room(),
            destination: room(),
        };
        bench.execute(&[word]);
        let interrupt = bench.spu.take_interrupt();
        let expected = Interrupt { trap: trap::CONTROL_WORD_QUEUE, strand: control.strand() };
        assert_eq!(interrupt, control.interrupt().then_some(expected), "{says}");
    }
}

#[test]
fn the_builder_of_linux() {
    // drivers/crypto/n2_core.c: control_word_base, and the flags that its callers add.
    let sha1 = Control::new(Opcode::Auth, 100).in_place_bit().with_auth(Auth::HmacSha1);
    let sha1 = sha1.with_hash_len(20).with_auth_key_len(20);
    assert_eq!(sha1.0, 0xc160_1306_0013_0063);
    assert_eq!(Control::piece(0x1_0000).0, 0xffff);
    assert_eq!(
        ControlWord::piece(0x4000, 1).build()[..16],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0]
    );
}

#[test]
fn bytes_both_ways() {
    let mut random = random(1);
    for _ in 0..1000 {
        let bytes: [u8; 64] = random.array();
        assert_eq!(ControlWord::parse(&bytes).build(), bytes);
    }
}

#[test]
fn every_field_in_its_place() {
    let word = ControlWord {
        control: Control(1),
        source: 2,
        auth_key: 3,
        auth_iv: 4,
        final_auth_state: 5,
        cipher_key: 6,
        cipher_iv: 7,
        destination: 8,
    };
    for (i, bytes) in word.build().chunks(8).enumerate() {
        assert_eq!(bytes, (i as u64 + 1).to_be_bytes());
    }
}

#[test]
fn codes_both_ways() {
    for code in 0..=255 {
        if let Some(cipher) = Cipher::from_code(code) {
            assert_eq!(cipher.code(), code);
            assert_eq!(Control::default().with_cipher(cipher).cipher_code(), code);
        }
        if let Some(auth) = Auth::from_code(code) {
            assert_eq!(Control::default().with_auth(auth).auth_code(), code, "five bits");
        }
    }
    assert_eq!(
        (0..=255).filter_map(Cipher::from_code).filter(|cipher| cipher.known_to(Model::T2)).count(),
        22
    );
    assert_eq!((0..=255).filter_map(Auth::from_code).filter(|auth| auth.known_to(Model::T2)).count(), 11);
}

#[test]
fn units_of_processors() {
    let of = |processor| Model::of(processor);
    assert_eq!(
        Processor::ALL.map(of),
        [None, Some(Model::T1), Some(Model::T2), Some(Model::RainbowFalls), None]
    );
}
