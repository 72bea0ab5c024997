//! Known answers, through the queue.

use millstream_testkit::{hex, hex_array};

use super::*;

/// Runs a control word of OpenSPARC's with these objects, and answers the bytes at the destination.
fn run(control: u64, key: &str, iv: &str, source: &str) -> Vec<u8> {
    let mut bench = Bench::new(Model::T2);
    let source = hex(source);
    let word = ControlWord {
        control: Control(control),
        source: bench.place(&source),
        cipher_key: bench.place(&hex(key)),
        cipher_iv: bench.place(&hex(iv)),
        destination: bench.room(source.len()),
        ..ControlWord::default()
    };
    bench.execute(&[word]);
    bench.bytes(word.destination, source.len())
}

/// `aes_kat_ecb.s`. The key is what FIPS 197 would take for 128 bits; CBC is fed the plaintext plus the vector.
#[test]
fn aes_ecb_and_cbc() {
    let key = "00010203050607080a0b0c0d0f101112";
    let (plain, made) = ("506812a45f08c889b97f5980038b8359", "d8f532538289ef7d06b506a4fd5be9c9");
    assert_eq!(run(0x40e0_0000_1000_000f, key, "00", plain), hex(made));
    assert_eq!(run(0x4060_0000_1000_000f, key, "00", made), hex(plain));
    let iv = "0f0e0d0c0b0a09080706050403020100";
    let mixed: String =
        hex(plain).iter().zip(hex(iv)).map(|(byte, iv)| format!("{:02x}", byte ^ iv)).collect();
    assert_eq!(run(0x40e0_0000_1100_000f, key, iv, &mixed), hex(made));
    assert_eq!(run(0x4060_0000_1100_000f, key, iv, made), hex(&mixed));
}

/// The other lengths of key, by their codes: FIPS 197 appendix C.
#[test]
fn aes_key_sizes() {
    let plain = "00112233445566778899aabbccddeeff";
    let key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    assert_eq!(run(0x40e0_0000_1000_000f, &key[..32], "00", plain), hex("69c4e0d86a7b0430d8cdb78070b4c55a"));
    assert_eq!(run(0x40e0_0000_1400_000f, &key[..48], "00", plain), hex("dda97ca4864cdfe06eaf70a0ec0d7191"));
    assert_eq!(run(0x40e0_0000_1800_000f, key, "00", plain), hex("8ea2b7ca516745bfeafc49904b496089"));
}

/// `aes_kat_ctr.s`, RFC 3686: with the bit for encryption and without.
#[test]
fn aes_ctr() {
    const SINGLE: &str = "53696e676c6520626c6f636b206d7367";
    let cases: [(u64, &str, &str, &str, &str); 5] = [
        (
            0x13,
            "ae6852f8121067cc4bf7a5765577f39e",
            "00000030000000000000000000000001",
            SINGLE,
            "e4095d4fb7a7b3792d6175a3261311b8",
        ),
        (
            0x13,
            "7e24067817fae0d743d6ce1f32539163",
            "006cb6dbc0543b59da48d90b00000001",
            "000102030405060708090a0b0c0d0e0f",
            "5104a106168a72d9790d41ee8edad388",
        ),
        (
            0x13,
            "7e24067817fae0d743d6ce1f32539163",
            "006cb6dbc0543b59da48d90b00000002",
            "101112131415161718191a1b1c1d1e1f",
            "eb2e1efc46da57c8fce630df9141be28",
        ),
        (
            0x17,
            "16af5b145fc9f579c175f93e3bfb0eed863d06ccfdb78515",
            "0000004836733c147d6d93cb00000001",
            SINGLE,
            "4b55384fe259c9c84e7935a003cbe928",
        ),
        (
            0x1b,
            "776beff2851db06f4c8a0542c8696f6c6a81af1eec96b4d37fc1d689e6c1c104",
            "00000060db5672c97aa8f0b200000001",
            SINGLE,
            "145ad01dbf824ec7560863dc71e3e0c0",
        ),
    ];
    for (code, key, counter, plain, made) in cases {
        for control in [0x4060_0000_0000_000f, 0x40e0_0000_0000_000f] {
            assert_eq!(run(control | code << 24, key, counter, plain), hex(made), "{key}");
        }
    }
    // Both blocks of the second vector are in one word, so the counter has to count.
    let made = run(
        0x4060_0000_1300_001f,
        "7e24067817fae0d743d6ce1f32539163",
        "006cb6dbc0543b59da48d90b00000001",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
    );
    assert_eq!(made, hex("5104a106168a72d9790d41ee8edad388eb2e1efc46da57c8fce630df9141be28"));
}

#[test]
fn des_cbc() {
    let plain = "4e6f77206973207468652074696d6520666f7220616c6c20";
    let made = "e5c7cdde872bf27c43e934008c389c0f683788499a7c05f6";
    let (key, iv) = ("0123456789abcdef", "1234567890abcdef");
    assert_eq!(run(0x40e0_0000_0900_0017, key, iv, plain), hex(made));
    assert_eq!(run(0x4060_0000_0900_0017, key, iv, made), hex(plain));
}

/// `interrupt_SPU_interrupt.s`: two bytes, the rest of the destination stays; and it interrupts.
#[test]
fn tcp_checksum() {
    let mut bench = Bench::new(Model::T2);
    let data: [u8; 30] = hex_array("deeca425c5af7185b128069258cf5271f2d9fc0493661ff44c6dc5810067");
    let word = ControlWord {
        control: Control(0xc1e1_0108_0000_001d),
        source: bench.place(&data),
        auth_iv: bench.place(&[0, 0]),
        destination: bench.place(&[0x77; 8]),
        ..ControlWord::default()
    };
    bench.execute(&[word]);
    assert_eq!(bench.bytes(word.destination, 8), hex("2e2d777777777777"));
    let interrupt = Interrupt { trap: trap::CONTROL_WORD_QUEUE, strand: 0 };
    assert_eq!(bench.spu.take_interrupt(), Some(interrupt));
    assert_eq!(bench.spu.take_interrupt(), None);
}

#[test]
fn rc4() {
    // RFC 6229, the key of 40 bits: offsets 0 and 16, in two words of the stream form, and again without it.
    let state = plain::rc4_state(&hex("0102030405"));
    let first = hex("b2396305f03dc027ccc3524a0a1118a8");
    let second = hex("6982944f18fc82d589c403a47a0d0919");
    let mut bench = Bench::new(Model::T2);
    let stream = Cipher { kind: CipherKind::Rc4, chaining: Chaining::Ecb };
    let word = bench.cipher(stream, true, &state, &[], &[0; 16]);
    assert_eq!(bench.crypt(&word), first);
    let moved = bench.bytes(word.word.cipher_key, 258);
    assert_eq!(moved[256], 16, "X counts the bytes");
    assert_eq!(bench.crypt(&word), second, "the state was written back");
    let no_stream = Cipher { kind: CipherKind::Rc4NoStream, ..stream };
    let word = bench.cipher(no_stream, true, &state, &[], &[0; 16]);
    assert_eq!(bench.crypt(&word), first);
    assert_eq!(bench.crypt(&word), first, "the state was not written back");
}

#[test]
fn hashes_and_checksums() {
    let mut bench = Bench::new(Model::T2);
    let mut of = |auth: Auth, key: &[u8], data: &[u8]| {
        let word = bench.auth(auth, key, &plain::initial(auth), data);
        bench.digest(&word)
    };
    // RFC 1321, FIPS 180-4.
    assert_eq!(of(Auth::Md5, &[], b"abc"), hex("900150983cd24fb0d6963f7d28e17f72"));
    assert_eq!(of(Auth::Sha1, &[], b"abc"), hex("a9993e364706816aba3e25717850c26c9cd0d89d"));
    let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(of(Auth::Sha256, &[], b"abc"), hex(sha256));
    // RFC 2202 case 1, RFC 4231 case 2.
    let hi = b"Hi There";
    assert_eq!(of(Auth::HmacMd5, &[0x0b; 16], hi), hex("9294727a3638bb1c13f48ef8158bfc9d"));
    assert_eq!(of(Auth::HmacSha1, &[0x0b; 20], hi), hex("b617318655057264e28bc0b6fb378c8ef146be00"));
    let hmac = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    assert_eq!(of(Auth::HmacSha256, b"Jefe", b"what do ya want for nothing?"), hex(hmac));
    assert_eq!(of(Auth::Crc32, &[], b"123456789"), hex("cbf43926"));
    // RFC 1071 §3.
    assert_eq!(of(Auth::TcpChecksum, &[], &hex("0001f203f4f5f6f7")), hex("220d"));
}

/// SHA-224 is SHA-256 from another state, cut short by software: Linux.
#[test]
fn sha224() {
    let state = hex("c1059ed8367cd5073070dd17f70e5939ffc00b316858151164f98fa7befa4fa4");
    let mut bench = Bench::new(Model::T2);
    let word = bench.auth(Auth::Sha256, &[], &state, b"abc");
    let expected = hex("23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7");
    assert_eq!(bench.digest(&word)[..28], expected);
}

/// Linux's plain hash: the state and the destination are one buffer, in-place is set.
#[test]
fn a_hash_as_linux_has_it() {
    let mut bench = Bench::new(Model::T2);
    let buffer = bench.place(&plain::initial(Auth::Sha1));
    let control = Control::new(Opcode::Auth, 3).in_place_bit().with_auth(Auth::Sha1).with_hash_len(20);
    let source = bench.place(b"abc");
    let word =
        ControlWord { control, source, auth_iv: buffer, destination: buffer, ..ControlWord::default() };
    bench.execute(&[word]);
    assert_eq!(bench.bytes(buffer, 20), hex("a9993e364706816aba3e25717850c26c9cd0d89d"));
    assert_eq!(bench.bytes(source, 3), b"abc");
}

/// The SSL key block is that of SSLv3's formula, in every length.
#[test]
fn ssl_key_block() {
    use sha1::Digest;

    let mut random = random(3);
    let (master, randoms): ([u8; 48], [u8; 64]) = (random.array(), random.array());
    let mut expected = Vec::new();
    for i in 1..=16_u8 {
        let label = vec![b'A' + i - 1; usize::from(i)];
        let sha = sha1::Sha1::digest([&label[..], &master, &randoms].concat());
        expected.extend(md5::Md5::digest([&master[..], &sha].concat()));
    }
    let mut bench = Bench::new(Model::T2);
    for len in [1, 6, 16, 17, 59, 104, 256] {
        let control = Control(0x1060_0000_0000_0000).with_hash_len(len);
        let word = ControlWord {
            control,
            source: bench.place(&randoms),
            auth_key: bench.place(&master),
            destination: bench.room(260),
            ..ControlWord::default()
        };
        bench.execute(&[word]);
        assert_eq!(bench.bytes(word.destination, len + 1)[..len], expected[..len]);
        assert_eq!(bench.bytes(word.destination, len + 1)[len], 0x5a);
    }
    let source = bench.place(&randoms);
    let auth_key = bench.place(&master);
    let word =
        ControlWord { control: Control(0x9060_1a80_0000_0000), source, auth_key, ..ControlWord::default() };
    bench.execute(&[word]);
    assert_eq!(bench.bytes(source, 64)[..27], expected[..27]);
    assert_eq!(bench.bytes(source, 64)[27..], randoms[27..]);
}
