//! The additions of Rainbow Falls. The codes and layouts are ours; the algorithms are everybody's.

use millstream_testkit::hex;

use super::*;

const MODEL: Model = Model::RainbowFalls;

#[test]
fn t2_refuses_all_of_it() {
    let mut bench = Bench::new(Model::T2);
    let source = bench.place(&[1; 64]);
    let room = bench.room(256);
    let word = |control: Control| ControlWord {
        control,
        source,
        auth_key: source,
        auth_iv: source,
        cipher_key: source,
        cipher_iv: source,
        destination: room,
        ..ControlWord::default()
    };
    for auth in Auth::ALL.into_iter().filter(|auth| !auth.known_to(Model::T2)) {
        let control = Control::new(Opcode::Auth, 16).with_auth(auth);
        assert_eq!(bench.refusal(&[word(control)]), (0, Refusal::Auth), "{auth}");
    }
    for kind in [CipherKind::Kasumi, CipherKind::KasumiF8] {
        let cipher = Cipher { kind, chaining: Chaining::Ecb };
        let control = Control::new(Opcode::Cipher, 16).with_cipher(cipher);
        assert_eq!(bench.refusal(&[word(control)]), (0, Refusal::Cipher), "{cipher}");
    }
    let control = Control::new(Opcode::Copy, 16).gathering();
    assert_eq!(bench.refusal(&[word(control)]), (0, Refusal::Opcode));
}

#[test]
fn sha512_and_its_relatives() {
    let mut random = random(30);
    for len in [1, 111, 112, 127, 128, 129, 1000] {
        let mut bench = Bench::new(MODEL);
        bench.misalignment = len as u64 % 16;
        let (data, key) = (random.bytes(len), random.bytes(64));
        for auth in [Auth::Sha512, Auth::HmacSha512, Auth::Crc32c, Auth::IpChecksum] {
            let key = if auth.is_keyed() { &key[..] } else { &[] };
            let word = bench.auth(auth, key, &plain::initial(auth), &data);
            assert_eq!(bench.digest(&word), plain::auth(auth, key, &data), "{auth} of {len}");
        }
    }
    // FIPS 180-4: SHA-384 is SHA-512 from another state.
    let state = hex("cbbb9d5dc1059ed8629a292a367cd5079159015a3070dd17152fecd8f70e5939\
                     67332667ffc00b318eb44a8768581511db0c2e0d64f98fa747b5481dbefa4fa4");
    let mut bench = Bench::new(MODEL);
    let word = bench.auth(Auth::Sha512, &[], &state, b"abc");
    let expected = hex("cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed\
                        8086072ba1e7cc2358baeca134c825a7");
    assert_eq!(bench.digest(&word)[..48], expected);
    let word = bench.auth(Auth::Crc32c, &[], &[0xff; 4], &[0; 32]);
    assert_eq!(bench.digest(&word), hex("8a9136aa"), "RFC 3720 §B.4");
}

#[test]
fn kasumi_block_modes_go_both_ways() {
    let mut random = random(31);
    // TS 35.203 §3: KASUMI, test set 1.
    let mut bench = Bench::new(MODEL);
    let ecb = Cipher { kind: CipherKind::Kasumi, chaining: Chaining::Ecb };
    let key = hex("2bd6459f82c5b300952c49104881ff48");
    let word = bench.cipher(ecb, true, &key, &[], &hex("ea024714ad5c4d84"));
    assert_eq!(bench.crypt(&word), hex("df1f9b251c0bf45f"));
    let word = bench.cipher(ecb, false, &key, &[], &hex("df1f9b251c0bf45f"));
    assert_eq!(bench.crypt(&word), hex("ea024714ad5c4d84"));

    for chaining in Chaining::ALL {
        let cipher = Cipher { kind: CipherKind::Kasumi, chaining };
        for misalignment in 0..16 {
            let mut bench = Bench::new(MODEL);
            bench.misalignment = misalignment;
            let (key, iv) = (random.bytes(16), random.bytes(cipher.iv_len()));
            let data = random.bytes(8 * (1 + misalignment as usize));
            let word = bench.cipher(cipher, true, &key, &iv, &data);
            let made = bench.crypt(&word);
            assert_eq!(made, modes(&mut bench, chaining, &key, &iv, &data), "{cipher}");
            let word = bench.cipher(cipher, false, &key, &iv, &made);
            assert_eq!(bench.crypt(&word), data, "{cipher}");
        }
    }
}

/// The modes of encryption, made of single blocks through ECB.
fn modes(bench: &mut Bench, chaining: Chaining, key: &[u8], iv: &[u8], data: &[u8]) -> Vec<u8> {
    let ecb = Cipher { kind: CipherKind::Kasumi, chaining: Chaining::Ecb };
    let mut encrypt = |block: &[u8]| {
        let word = bench.cipher(ecb, true, key, &[], block);
        bench.crypt(&word)
    };
    let xor = |a: &[u8], b: &[u8]| -> Vec<u8> { a.iter().zip(b).map(|(a, b)| a ^ b).collect() };
    let mut chain = iv.to_vec();
    let mut out = Vec::new();
    for (i, block) in (0_u32..).zip(data.chunks(8)) {
        let made = match chaining {
            Chaining::Ecb => encrypt(block),
            Chaining::Cbc => encrypt(&xor(block, &chain)),
            Chaining::Cfb => xor(block, &encrypt(&chain)),
            Chaining::Ctr => {
                let low = u32::from_be_bytes(iv[4..].try_into().expect("4 bytes")).wrapping_add(i);
                xor(block, &encrypt(&[&iv[..4], &low.to_be_bytes()].concat()))
            }
        };
        chain.clone_from(&made);
        out.extend(made);
    }
    out
}

/// TS 35.203 §3.4, test set 1, in whole bytes: the first 99 of 798 bits.
#[test]
fn kasumi_f8() {
    let mut bench = Bench::new(MODEL);
    let f8 = Cipher { kind: CipherKind::KasumiF8, chaining: Chaining::Ecb };
    let key = hex("2bd6459f82c5b300952c49104881ff48");
    // COUNT 72a4f20f, BEARER 0c, DIRECTION 1.
    let iv = hex("72a4f20f64000000");
    let plain = hex("7ec61272743bf1614726446a6c38ced1");
    let word = bench.cipher(f8, true, &key, &iv, &plain);
    let made = bench.crypt(&word);
    assert_eq!(made, hex("d1e2de70eef86c6964fb542bc2d460aa"));
    let word = bench.cipher(f8, false, &key, &iv, &made);
    assert_eq!(bench.crypt(&word), plain);
}

/// The standard's definition of f9, made of the block cipher. TS 35.201 §4.
#[test]
fn kasumi_f9() {
    let mut random = random(32);
    let mut bench = Bench::new(MODEL);
    for direction in [0, 1] {
        for len in [1, 7, 8, 9, 23, 24, 100] {
            let (key, start, message) = (random.bytes(16), random.bytes(8), random.bytes(len));
            let state = [&start[..], &[direction]].concat();
            let word = bench.auth(Auth::KasumiF9, &key, &state, &message);
            let mac = bench.digest(&word);
            let mut padded = [&start[..], &message].concat();
            padded.push(direction << 7 | 0x40);
            padded.resize(padded.len().next_multiple_of(8), 0);
            let zero = [0; 8];
            let chain = modes(&mut bench, Chaining::Cbc, &key, &zero, &padded);
            let sum = chain.chunks(8).fold([0; 8], |mut sum: [u8; 8], block| {
                sum.iter_mut().zip(block).for_each(|(sum, byte)| *sum ^= byte);
                sum
            });
            let modified: Vec<u8> = key.iter().map(|byte| byte ^ 0xaa).collect();
            let expected = modes(&mut bench, Chaining::Ecb, &modified, &zero, &sum);
            assert_eq!(mac, expected[..4], "{len} bytes, direction {direction}");
        }
    }
}

/// A hash can be left off at any byte and go on, in any number of words.
#[test]
fn partial_hashes() {
    let mut random = random(33);
    for (partial, whole) in [
        (Auth::PartialMd5, Auth::Md5),
        (Auth::PartialSha1, Auth::Sha1),
        (Auth::PartialSha256, Auth::Sha256),
        (Auth::PartialSha512, Auth::Sha512),
    ] {
        for _ in 0..10 {
            let mut bench = Bench::new(MODEL);
            bench.misalignment = random.below(16) as u64;
            let data = random.bytes(400);
            let mut state = vec![0; partial.state_len()];
            state[8..8 + partial.result_len()].copy_from_slice(&plain::initial(whole));
            let mut saved = bench.place(&state);
            let mut rest = &data[..];
            while rest.len() > 100 {
                let (piece, after) = rest.split_at(1 + random.below(100));
                rest = after;
                let word = bench.auth(partial, &[], &[], piece);
                let control = word.control.storing_state();
                let next = bench.room(partial.stored_len());
                let word =
                    ControlWord { control, auth_iv: saved, final_auth_state: next, destination: 0, ..word };
                bench.execute(&[word]);
                saved = next;
            }
            let word = ControlWord { auth_iv: saved, ..bench.auth(partial, &[], &[], rest) };
            assert_eq!(bench.digest(&word), plain::auth(whole, &[], &data), "{partial}");
        }
    }
    // No message of SHA-1 has this count.
    let mut bench = Bench::new(MODEL);
    let word = bench.auth(Auth::PartialSha1, &[], &[0xff; 92], b"data");
    assert_eq!(bench.refusal(&[word]), (0, Refusal::SavedState));
}

/// The source may be a list.
#[test]
fn gathers() {
    let mut random = random(34);
    for _ in 0..20 {
        let mut bench = Bench::new(MODEL);
        let data = random.bytes(160);
        let mut list = Vec::new();
        let mut rest = &data[..];
        while !rest.is_empty() {
            bench.misalignment = random.below(16) as u64;
            let (piece, after) = rest.split_at(1 + random.below(rest.len().min(40)));
            list.extend(bench.place(piece).to_be_bytes());
            list.extend((piece.len() as u64).to_be_bytes());
            rest = after;
        }
        let source = bench.place(&list);
        let aes = Cipher { kind: CipherKind::Aes256, chaining: Chaining::Cbc };
        let word = bench.cipher(aes, true, &[1; 32], &[2; 16], &data).word;
        let gather = |control: Control| Control(control.0 & !0xffff | (list.len() as u64 - 1)).gathering();
        bench.execute(&[ControlWord { control: gather(word.control), source, ..word }]);
        assert_eq!(bench.bytes(word.destination, 160), plain::cipher(aes, true, &[1; 32], &[2; 16], &data));
        let word = bench.auth(Auth::Sha256, &[], &plain::initial(Auth::Sha256), &data);
        bench.execute(&[ControlWord { control: gather(word.control), source, ..word }]);
        assert_eq!(bench.bytes(word.destination, 32), plain::auth(Auth::Sha256, &[], &data));
        let copy = ControlWord {
            control: gather(Control::new(Opcode::Copy, 1)),
            source,
            destination: bench.room(160),
            ..ControlWord::default()
        };
        assert_eq!(copy.control.to_string(), format!("copy gather sob eob {} bytes", list.len()));
        bench.execute(&[copy]);
        assert_eq!(bench.bytes(copy.destination, 160), data, "data are moved");
        let odd = ControlWord { control: Control(copy.control.0 - 1), ..copy };
        assert_eq!(bench.refusal(&[odd]), (0, Refusal::Gather));
        let in_place = ControlWord { control: copy.control.in_place_bit(), ..copy };
        assert_eq!(bench.refusal(&[in_place]), (0, Refusal::Gather));
    }
    // These lengths are too long, or add up to no whole blocks.
    let mut bench = Bench::new(MODEL);
    let place = bench.place(&[0; 32]);
    let aes = Cipher { kind: CipherKind::Aes256, chaining: Chaining::Cbc };
    let word = bench.cipher(aes, true, &[1; 32], &[2; 16], &[0; 16]).word;
    for (len, refusal) in [
        (15, Refusal::BrokenBlock),
        (0, Refusal::BrokenBlock),
        (0x1_0001, Refusal::TooLong),
        (u64::MAX, Refusal::TooLong),
    ] {
        let list: Vec<u8> = [place, len].iter().flat_map(|word| word.to_be_bytes()).collect();
        let source = bench.place(&list);
        let word = ControlWord { control: word.control.gathering(), source, ..word };
        assert_eq!(bench.refusal(&[word]), (0, refusal), "{len}");
    }
}
