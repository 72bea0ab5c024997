//! Every operation at every alignment, against other code, with a check of every byte that each writes.

use super::*;

/// Bytes around an object.
const GUARD: usize = 24;

/// Places room for a result in the middle of a pattern.
fn guarded(bench: &mut Bench, len: usize) -> u64 {
    bench.place(&vec![0xa5; len + 2 * GUARD]) + GUARD as u64
}

fn check_guards(bench: &Bench, address: u64, len: usize) {
    let all = bench.bytes(address - GUARD as u64, len + 2 * GUARD);
    assert!(all[..GUARD].iter().chain(&all[GUARD + len..]).all(|byte| *byte == 0xa5), "outside the result");
}

#[test]
fn ciphers_at_every_alignment() {
    let mut random = random(10);
    for (i, cipher) in block_ciphers(Model::T2).into_iter().enumerate() {
        for misalignment in 0..16 {
            let mut bench = Bench::new(Model::T2);
            bench.misalignment = misalignment;
            let blocks = 1 + (misalignment as usize + i) % 9;
            let data = random.bytes(blocks * cipher.kind.block_len());
            let key = random.bytes(cipher.kind.key_len());
            let mut iv = random.bytes(cipher.iv_len());
            if cipher.chaining == Chaining::Ctr && misalignment % 2 == 1 {
                // The counter wraps inside the data.
                let at = iv.len() - 4;
                iv[at..].copy_from_slice(&(u32::MAX - 2).to_be_bytes());
            }
            for encrypt in [true, false] {
                let expected = plain::cipher(cipher, encrypt, &key, &iv, &data);
                let mut word = bench.cipher(cipher, encrypt, &key, &iv, &data);
                word.word.destination = guarded(&mut bench, data.len());
                assert_eq!(bench.crypt(&word), expected, "{cipher} at {misalignment}");
                check_guards(&bench, word.word.destination, data.len());
                if !iv.is_empty() {
                    assert_eq!(
                        bench.bytes(word.word.cipher_iv, iv.len()),
                        iv,
                        "the vector is not written back"
                    );
                }
                // The same operation in place.
                let source = bench.place(&data);
                let control = word.word.control.in_place_bit();
                bench.execute(&[ControlWord { control, source, destination: 0, ..word.word }]);
                assert_eq!(bench.bytes(source, data.len()), expected, "{cipher} in place at {misalignment}");
            }
        }
    }
}

#[test]
fn long_ciphers() {
    let mut random = random(11);
    for cipher in block_ciphers(Model::T2) {
        let mut bench = Bench::new(Model::T2);
        let (key, iv) = (random.bytes(cipher.kind.key_len()), random.bytes(cipher.iv_len()));
        let data = random.bytes(if cipher.kind == CipherKind::Aes128 { 0x1_0000 } else { 2048 });
        let word = bench.cipher(cipher, true, &key, &iv, &data);
        assert_eq!(bench.crypt(&word), plain::cipher(cipher, true, &key, &iv, &data), "{cipher}");
    }
}

#[test]
fn rc4_at_every_alignment_and_length() {
    let mut random = random(12);
    for misalignment in 0..16 {
        let mut bench = Bench::new(Model::T2);
        bench.misalignment = misalignment;
        let mut state = plain::rc4_state(&random.bytes(16));
        let cipher = Cipher { kind: CipherKind::Rc4, chaining: Chaining::Ecb };
        let word = bench.cipher(cipher, true, &state, &[], &[]).word;
        for len in [1, 2, 7, 8, 9, 31, 100 + misalignment as usize] {
            let data = random.bytes(len);
            let control = Control::new(Opcode::Cipher, len).with_cipher(cipher);
            let word = ControlWord {
                control,
                source: bench.place(&data),
                destination: guarded(&mut bench, len),
                ..word
            };
            bench.execute(&[word]);
            assert_eq!(bench.bytes(word.destination, len), plain::rc4(&mut state, &data));
            check_guards(&bench, word.destination, len);
            assert_eq!(bench.bytes(word.cipher_key, 258), state, "S, X and Y are written back");
        }
    }
}

/// T2's hashes, MACs and checksums.
fn auths() -> impl Iterator<Item = Auth> {
    Auth::ALL.into_iter().filter(|auth| auth.known_to(Model::T2))
}

#[test]
fn hashes_macs_and_checksums_at_every_alignment() {
    let mut random = random(13);
    for auth in auths() {
        for misalignment in 0..16 {
            let mut bench = Bench::new(Model::T2);
            bench.misalignment = misalignment;
            let lens = [1, 2, 55, 56, 57, 63, 64, 65, 119, 127, 128, 500];
            let data = random.bytes(lens[misalignment as usize % lens.len()]);
            let key_len = if auth.is_keyed() { [16, 20, 32, 1, 31][misalignment as usize % 5] } else { 0 };
            let key = random.bytes(key_len);
            let expected = plain::auth(auth, &key, &data);
            for wanted in [1, auth.result_len() / 2, auth.result_len()] {
                let mut word = bench.auth(auth, &key, &plain::initial(auth), &data);
                word.control = word.control.with_hash_len(wanted);
                word.destination = guarded(&mut bench, wanted);
                assert_eq!(bench.digest(&word), expected[..wanted], "{auth} at {misalignment}");
                check_guards(&bench, word.destination, wanted);
                assert_eq!(bench.bytes(word.source, data.len()), data);
            }
        }
    }
}

/// A word may begin with the state that SFAS stored: an operation in two words equals one, if nothing is padded.
#[test]
fn running_states() {
    let mut random = random(14);
    for auth in auths() {
        let mut bench = Bench::new(Model::T2);
        let key = random.bytes(if auth.is_keyed() { 16 } else { 0 });
        let data = random.bytes(256);
        let stored = guarded(&mut bench, auth.stored_len());
        let word = bench.auth(auth, &key, &plain::initial(auth), &data[..128]);
        let storing = ControlWord { control: word.control.storing_state(), final_auth_state: stored, ..word };
        assert_eq!(
            bench.digest(&storing),
            plain::auth(auth, &key, &data[..128]),
            "the digest as without SFAS"
        );
        check_guards(&bench, stored, auth.stored_len());
        let state = bench.bytes(stored, auth.stored_len());
        if matches!(auth, Auth::Crc32 | Auth::TcpChecksum) {
            let word = bench.auth(auth, &[], &state, &data[128..]);
            assert_eq!(bench.digest(&word), plain::auth(auth, &[], &data), "{auth} in two words");
        } else {
            // Whole blocks were hashed, and nothing was padded yet: one more block of padding makes the digest.
            assert_ne!(state, plain::initial(auth));
        }
    }
    // The chaining value of SHA-256 after a block, from another implementation: the digest of the whole through it.
    let mut bench = Bench::new(Model::T2);
    let block = random.bytes(64);
    let stored = bench.room(32);
    let word = bench.auth(Auth::Sha256, &[], &plain::initial(Auth::Sha256), &[&block[..], b"tail"].concat());
    let control = word.control.storing_state();
    bench.execute(&[ControlWord { control, final_auth_state: stored, ..word }]);
    let mut state: [u32; 8] = [0; 8];
    for (word, bytes) in state.iter_mut().zip(plain::initial(Auth::Sha256).chunks(4)) {
        *word = u32::from_be_bytes(bytes.try_into().expect("4 bytes"));
    }
    sha2::block_api::compress256(&mut state, &[block.try_into().expect("64 bytes")]);
    let state: Vec<u8> = state.iter().flat_map(|word| word.to_be_bytes()).collect();
    assert_eq!(bench.bytes(stored, 32), state, "the tail waits, it is in no block yet");
}

#[test]
fn copies() {
    let mut random = random(15);
    for misalignment in 0..16 {
        let mut bench = Bench::new(Model::T2);
        bench.misalignment = misalignment;
        for len in [1, 2, 15, 16, 17, 255, 4096] {
            let data = random.bytes(len);
            let word = ControlWord {
                control: Control::new(Opcode::Copy, len),
                source: bench.place(&data),
                destination: guarded(&mut bench, len),
                ..ControlWord::default()
            };
            bench.execute(&[word]);
            assert_eq!(bench.bytes(word.destination, len), data);
            check_guards(&bench, word.destination, len);
        }
        let source = bench.place(b"stays");
        let control = Control::new(Opcode::Copy, 5).in_place_bit();
        bench.execute(&[ControlWord { control, source, ..ControlWord::default() }]);
        assert_eq!(bench.bytes(source, 5), b"stays");
    }
}

/// HMAC from another state than the hash's own: both of its hashes begin there.
#[test]
fn the_state_of_an_hmac_is_both_hashes() {
    let mut bench = Bench::new(Model::T2);
    let state = [0x11; 20];
    let word = bench.auth(Auth::HmacSha1, b"key", &state, b"data");
    let odd = bench.digest(&word);
    let hash = |bench: &mut Bench, pad: u8, data: &[u8]| {
        let mut message = vec![pad; 64];
        for (byte, key) in message.iter_mut().zip(b"key") {
            *byte ^= key;
        }
        message.extend(data);
        let word = bench.auth(Auth::Sha1, &[], &state, &message);
        bench.digest(&word)
    };
    let inner = hash(&mut bench, 0x36, b"data");
    assert_eq!(hash(&mut bench, 0x5c, &inner), odd);
}
