//! Operations of several words: the words that are allowed, those that are not, and that splitting changes nothing.

use super::*;

const AES_CBC: Cipher = Cipher { kind: CipherKind::Aes128, chaining: Chaining::Cbc };
const DES_CBC: Cipher = Cipher { kind: CipherKind::Des, chaining: Chaining::Cbc };

/// The words of an operation, its source in pieces of these lengths, each at a place of its own.
fn split(bench: &mut Bench, word: &ControlWord, source: &[u8], lens: &[usize]) -> Vec<ControlWord> {
    assert_eq!(lens.iter().sum::<usize>(), source.len());
    let mut rest = source;
    let mut words = Vec::new();
    for (i, &len) in lens.iter().enumerate() {
        let (piece, after) = rest.split_at(len);
        rest = after;
        let mut word =
            ControlWord { source: bench.place(piece), ..if i == 0 { *word } else { Default::default() } };
        let control = if i == 0 { word.control.0 & !(0xffff | 1 << 53) } else { 0 };
        word.control = Control(control | Control::piece(len).0);
        if i + 1 == lens.len() {
            word.control = word.control.ends();
        }
        words.push(word);
    }
    words
}

/// Splits of a length into pieces of at least `least`, the last beginning and ending at whole blocks.
fn random_split(random: &mut Random, total: usize, block: usize) -> Vec<usize> {
    let mut lens = Vec::new();
    let last = block * (1 + random.below(3).min(total / block - 1));
    let mut rest = total - last;
    while rest > 0 {
        let len =
            if rest < 2 * block { rest } else { block + random.below((rest - 2 * block + 1).min(3 * block)) };
        lens.push(len);
        rest -= len;
    }
    lens.push(last);
    lens
}

#[test]
fn random_splits_change_nothing() {
    let mut random = random(20);
    for cipher in block_ciphers(Model::T2) {
        for round in 0..12 {
            let mut bench = Bench::new(Model::T2);
            bench.misalignment = round;
            let block = cipher.kind.block_len();
            let blocks = 2 + random.below(20);
            let data = random.bytes(block * blocks);
            let (key, iv) = (random.bytes(cipher.kind.key_len()), random.bytes(cipher.iv_len()));
            let expected = plain::cipher(cipher, true, &key, &iv, &data);
            let word = bench.cipher(cipher, true, &key, &iv, &data).word;
            let lens = random_split(&mut random, data.len(), block);
            let words = split(&mut bench, &word, &data, &lens);
            bench.execute(&words);
            assert_eq!(bench.bytes(word.destination, data.len()), expected, "{cipher} {lens:?}");
            // The result in place is as scattered as the source.
            let first = ControlWord { control: word.control.in_place_bit(), destination: 0, ..word };
            let words = split(&mut bench, &first, &data, &lens);
            bench.execute(&words);
            let pieces = words.iter().zip(&lens).flat_map(|(word, len)| bench.bytes(word.source, *len));
            assert_eq!(pieces.collect::<Vec<_>>(), expected, "{cipher} in place {lens:?}");
        }
    }
}

#[test]
fn hashes_split_anywhere() {
    let mut random = random(21);
    for auth in Auth::ALL.into_iter().filter(|auth| auth.known_to(Model::T2)) {
        for _ in 0..6 {
            let mut bench = Bench::new(Model::T2);
            let data = random.bytes(150);
            let key = random.bytes(if auth.is_keyed() { 20 } else { 0 });
            let word = bench.auth(auth, &key, &plain::initial(auth), &data);
            let first = 1 + random.below(147);
            let second = 1 + random.below(149 - first);
            let lens = [first, second, 150 - first - second];
            let words = split(&mut bench, &word, &data, &lens);
            bench.execute(&words);
            assert_eq!(
                bench.bytes(word.destination, auth.result_len()),
                plain::auth(auth, &key, &data),
                "{auth}"
            );
        }
    }
}

/// Linux's example for blocks of 8 bytes: 0xe, 0xa, 0x8 is valid, 0xe, 0xb, 0x7 is not.
#[test]
fn the_rules_of_linux() {
    let mut bench = Bench::new(Model::T2);
    let data: Vec<u8> = (0..32).collect();
    let word = bench.cipher(DES_CBC, true, &[7; 8], &[9; 8], &data).word;
    let words = split(&mut bench, &word, &data, &[0xe, 0xa, 0x8]);
    bench.execute(&words);
    assert_eq!(bench.bytes(word.destination, 32), plain::cipher(DES_CBC, true, &[7; 8], &[9; 8], &data));
    let words = split(&mut bench, &word, &data, &[0xe, 0xb, 0x7]);
    assert_eq!(bench.refusal(&words), (2, Refusal::ShortPiece));
}

#[test]
fn pieces_that_break_the_rules() {
    let mut bench = Bench::new(Model::T2);
    let data: Vec<u8> = (0..64).collect();
    let word = bench.cipher(DES_CBC, true, &[7; 8], &[9; 8], &data).word;
    let cases: [(&[usize], (usize, Refusal)); 6] = [
        // This is a block over three words.
        (&[12, 6, 46], (1, Refusal::ShortPiece)),
        (&[7, 57], (0, Refusal::ShortPiece)),
        // Part of a block spills into the last word.
        (&[12, 52], (1, Refusal::BrokenBlock)),
        (&[16, 39, 9], (2, Refusal::BrokenBlock)),
        (&[63, 1], (1, Refusal::ShortPiece)),
        (&[9, 9, 46], (2, Refusal::BrokenBlock)),
    ];
    for (lens, refusal) in cases {
        let words = split(&mut bench, &word, &data, lens);
        assert_eq!(bench.refusal(&words), refusal, "{lens:?}");
    }
    // These lengths are not whole blocks at all.
    for len in (1..40).filter(|len| len % 8 != 0) {
        let word = bench.cipher(DES_CBC, true, &[7; 8], &[9; 8], &data[..len]).word;
        let refusal = if len < 8 { Refusal::ShortPiece } else { Refusal::BrokenBlock };
        assert_eq!(bench.refusal(&[word]), (0, refusal), "{len} bytes");
    }
}

#[test]
fn every_length_of_a_counter_must_be_whole_blocks_too() {
    let mut bench = Bench::new(Model::T2);
    let ctr = Cipher { chaining: Chaining::Ctr, ..AES_CBC };
    let word = bench.cipher(ctr, true, &[7; 16], &[9; 16], &[0; 17]).word;
    assert_eq!(bench.refusal(&[word]), (0, Refusal::BrokenBlock));
}

#[test]
fn operations_end_at_64_kilobytes() {
    let mut bench = Bench::new(Model::T2);
    let data: Vec<u8> = (0..0x1_0010_u32).map(|i| (i * 7) as u8).collect();
    let word = bench.cipher(AES_CBC, true, &[7; 16], &[9; 16], &data).word;
    let whole = &data[..0x1_0000];
    let words = split(&mut bench, &word, whole, &[0x8000, 0x7ff0, 0x10]);
    bench.execute(&words);
    let expected = plain::cipher(AES_CBC, true, &[7; 16], &[9; 16], whole);
    assert_eq!(bench.bytes(word.destination, 0x1_0000), expected);
    let words = split(&mut bench, &word, &data, &[0x8000, 0x8000, 0x10]);
    assert_eq!(bench.refusal(&words), (2, Refusal::TooLong));
}

#[test]
fn blocks_begin_and_end() {
    let mut bench = Bench::new(Model::T2);
    let source = bench.place(&[1; 32]);
    let destination = bench.room(64);
    let control = Control::new(Opcode::Copy, 16);
    let copy = ControlWord { control, source, destination, ..ControlWord::default() };
    let last = |word: ControlWord| ControlWord { control: word.control.ends(), ..word };
    assert_eq!(bench.refusal(&[ControlWord::piece(source, 16)]), (0, Refusal::NotBegun));
    bench.execute(&[copy]);
    assert_eq!(
        bench.refusal(&[last(ControlWord::piece(source, 16))]),
        (0, Refusal::NotBegun),
        "the copy has ended"
    );
    bench.memory.write(destination, &[0x5a; 16]).expect("memory");
    let open = ControlWord { control: Control(copy.control.0 & !(1 << 53)), ..copy };
    assert_eq!(bench.refusal(&[open, copy]), (1, Refusal::BegunAlready));
    // A block may wait for its last word.
    bench.submit(&[open]);
    bench.run();
    assert_eq!(bench.bytes(destination, 1), [0x5a]);
    bench.execute(&[last(ControlWord::piece(source + 16, 16))]);
    assert_eq!(bench.bytes(destination, 33)[..32], [1; 32]);
}

/// Each word has one error, beside the refusal that it must get.
#[test]
fn words_that_are_refused() {
    let mut bench = Bench::new(Model::T2);
    let cipher = bench.cipher(AES_CBC, true, &[7; 16], &[9; 16], &[3; 32]).word;
    let hmac = bench.auth(Auth::HmacSha1, &[5; 20], &plain::initial(Auth::HmacSha1), &[3; 32]);
    let ssl_key = ControlWord {
        control: Control(0x1060_1960_0000_0000),
        source: bench.place(&[1; 64]),
        auth_key: bench.place(&[2; 48]),
        destination: bench.room(32),
        ..ControlWord::default()
    };
    let with = |word: ControlWord, control: u64| ControlWord { control: Control(control), ..word };
    let (c, h) = (cipher.control.0, hmac.control.0);
    let cipher_code = |code: u64| with(cipher, c & !(0xff << 24) | code << 24);
    let auth_code = |code: u64| with(hmac, h & !(0x1f << 32) | code << 32);
    let opcode = |code: u64| with(cipher, c & !(0xff << 56) | code << 56);
    let mut cases = vec![
        (ControlWord { cipher_key: 0, ..cipher }, Refusal::NoAddress(Field::CipherKey)),
        (ControlWord { cipher_iv: 0, ..cipher }, Refusal::NoAddress(Field::CipherIv)),
        (ControlWord { destination: 0, ..cipher }, Refusal::NoAddress(Field::Destination)),
        (ControlWord { source: 0, ..cipher }, Refusal::NoAddress(Field::Source)),
        (ControlWord { auth_key: 0, ..hmac }, Refusal::NoAddress(Field::AuthKey)),
        (ControlWord { auth_iv: 0, ..hmac }, Refusal::NoAddress(Field::AuthIv)),
        (ControlWord { destination: 0, ..hmac }, Refusal::NoAddress(Field::Destination)),
        (with(hmac, h | 1 << 49), Refusal::NoAddress(Field::FinalAuthState)),
        (ControlWord { control: hmac.control.with_auth_key_len(33), ..hmac }, Refusal::KeyLength),
        (ControlWord { control: hmac.control.with_hash_len(21), ..hmac }, Refusal::HashLength),
        (with(ssl_key, 0x9060_4060_0000_0000), Refusal::HashLength),
        (ControlWord { auth_key: ssl_key.auth_key + 8, ..ssl_key }, Refusal::NotAligned(Field::AuthKey)),
        (ControlWord { source: ssl_key.source + 1, ..ssl_key }, Refusal::NotAligned(Field::Source)),
        (
            ControlWord { destination: ssl_key.destination + 15, ..ssl_key },
            Refusal::NotAligned(Field::Destination),
        ),
    ];
    // T2 knows no codes but its own, not even Rainbow Falls'.
    cases.extend((0x1c..=0xff).map(|code| (cipher_code(code), Refusal::Cipher)));
    cases.extend([1, 2, 3, 5, 6, 7].map(|code| (cipher_code(code), Refusal::Cipher)));
    cases.extend((12..32).chain([0]).map(|code| (auth_code(code), Refusal::Auth)));
    let opcodes = [0x10, 0x20, 0x40, 0x41];
    let others = (0..=0xff).filter(|code| !opcodes.contains(&(code & 0x7f)));
    cases.extend(others.map(|code| (opcode(code), Refusal::Opcode)));
    for (word, refusal) in cases {
        assert_eq!(bench.refusal(&[word]), (0, refusal), "{}", word.control);
        assert!(!refusal.to_string().is_empty());
    }
    bench.execute(&[cipher, hmac, ssl_key]);
}

/// An access to missing memory is an error of the hardware, for every object.
#[test]
fn memory_that_does_not_answer() {
    const NOWHERE: u64 = 0xf000_0000;
    let mut bench = Bench::new(Model::T2);
    let cipher = bench.cipher(AES_CBC, true, &[7; 16], &[9; 16], &[3; 32]).word;
    let hmac = bench.auth(Auth::HmacSha1, &[5; 20], &plain::initial(Auth::HmacSha1), &[3; 32]);
    let stored = ControlWord { control: hmac.control.storing_state(), final_auth_state: NOWHERE, ..hmac };
    for word in [
        ControlWord { source: NOWHERE, ..cipher },
        ControlWord { cipher_key: NOWHERE, ..cipher },
        ControlWord { cipher_iv: NOWHERE, ..cipher },
        ControlWord { destination: NOWHERE, ..cipher },
        ControlWord { destination: u64::MAX - 3, ..cipher },
        ControlWord { source: u64::MAX, ..cipher },
        ControlWord { auth_key: NOWHERE, ..hmac },
        ControlWord { auth_iv: NOWHERE, ..hmac },
        stored,
    ] {
        bench.submit(&[word]);
        let done = bench.run();
        assert!(
            matches!(done.last().map(|done| done.outcome), Some(Outcome::Failed(Fault::Bus(_)))),
            "{done:?}"
        );
        assert_eq!(bench.register(register::CSR), csr::HARDWARE_ERROR);
        bench.spu.store(register::HEAD, bench.register(register::TAIL));
        bench.spu.store(register::CSR, csr::ENABLED);
    }
}
