//! Every kernel of every hash against RustCrypto and OpenSSL: lengths, pieces, buffers, mid-states.

use std::io::Write;

use millstream_cpu::{FeatureSet, Features};
use millstream_engines::hash::{self, Hash, HashKernel, Hasher};
use millstream_engines::{Engine, Error, md5, sha1, sha3, sha256, sha512};
use millstream_testkit::{Guarded, Ran, Random, executes, feature_subsets, hex};
use sha2::Digest as _;

fn kernels(hash: Hash) -> Vec<HashKernel> {
    let engine = match hash {
        Hash::Sha224 => "sha256",
        Hash::Sha384 | Hash::Sha512_256 => "sha512",
        _ => hash.name(),
    };
    let mut kernels = HashKernel::available(Features::hardware(), hash);
    kernels.retain(|kernel| executes(engine, kernel.kernel().name));
    kernels
}

/// What RustCrypto says.
fn reference(hash: Hash, data: &[u8]) -> Vec<u8> {
    match hash {
        Hash::Md5 => md5_reference(data),
        Hash::Sha1 => sha1_reference(data),
        Hash::Sha224 => sha2::Sha224::digest(data).to_vec(),
        Hash::Sha256 => sha2::Sha256::digest(data).to_vec(),
        Hash::Sha384 => sha2::Sha384::digest(data).to_vec(),
        Hash::Sha512 => sha2::Sha512::digest(data).to_vec(),
        Hash::Sha512_256 => sha2::Sha512_256::digest(data).to_vec(),
        Hash::Sha3_224 => ::sha3::Sha3_224::digest(data).to_vec(),
        Hash::Sha3_256 => ::sha3::Sha3_256::digest(data).to_vec(),
        Hash::Sha3_384 => ::sha3::Sha3_384::digest(data).to_vec(),
        Hash::Sha3_512 => ::sha3::Sha3_512::digest(data).to_vec(),
    }
}

fn md5_reference(data: &[u8]) -> Vec<u8> {
    use ::md5::Digest as _;
    ::md5::Md5::digest(data).to_vec()
}

fn sha1_reference(data: &[u8]) -> Vec<u8> {
    use ::sha1::Digest as _;
    ::sha1::Sha1::digest(data).to_vec()
}

/// Holds every kernel against the reference, with messages of the lengths that `lengths` returns for a block's length.
fn every_kernel(lengths: fn(usize) -> Vec<usize>) {
    let data = Random::new(1).bytes(7 * 144);
    for hash in Hash::ALL {
        let mut ran = Ran::new(hash.name());
        let kernels = kernels(hash);
        for len in lengths(hash.block_len()) {
            let data = &data[..len];
            let expected = reference(hash, data);
            for kernel in &kernels {
                assert_eq!(*kernel.digest(data), *expected, "{kernel:?}, {len} bytes");
                ran.kernel(kernel.kernel().name);
            }
        }
        ran.at_least(kernels.len());
    }
}

/// Past the widest kernel, which takes two blocks at a time.
#[test]
fn every_length() {
    every_kernel(|block| (0..7 * block).collect());
}

/// Miri takes some milliseconds for a block: a padding that takes a block of its own, and two blocks at once before one
/// that does not.
#[test]
fn miri_lengths() {
    every_kernel(|block| vec![block - 3, 2 * block + 5]);
}

/// Lengths of which each has another padding.
#[test]
fn miri_long_lengths() {
    every_kernel(|block| (0..2 * block).step_by(23).collect());
}

#[test]
#[cfg(target_arch = "x86_64")]
fn agrees_with_openssl() {
    use openssl::hash::MessageDigest;
    let mut random = Random::new(2);
    for (hash, theirs) in [
        (Hash::Md5, MessageDigest::md5()),
        (Hash::Sha1, MessageDigest::sha1()),
        (Hash::Sha224, MessageDigest::sha224()),
        (Hash::Sha256, MessageDigest::sha256()),
        (Hash::Sha384, MessageDigest::sha384()),
        (Hash::Sha512, MessageDigest::sha512()),
        (Hash::Sha512_256, MessageDigest::from_name("SHA512-256").expect("OpenSSL has it")),
        (Hash::Sha3_224, MessageDigest::sha3_224()),
        (Hash::Sha3_256, MessageDigest::sha3_256()),
        (Hash::Sha3_384, MessageDigest::sha3_384()),
        (Hash::Sha3_512, MessageDigest::sha3_512()),
    ] {
        for _ in 0..50 {
            let len = random.below(20_000);
            let data = random.bytes(len);
            let expected = openssl::hash::hash(theirs, &data).unwrap();
            for kernel in kernels(hash) {
                assert_eq!(*kernel.digest(&data), *expected, "{kernel:?}, {len} bytes");
            }
        }
    }
}

#[test]
fn every_split() {
    for hash in Hash::ALL {
        let data = Random::new(3).bytes(3 * hash.block_len() + 1);
        let expected = reference(hash, &data);
        for kernel in kernels(hash) {
            for at in 0..=data.len() {
                let mut hasher = Hasher::with_kernel(kernel);
                hasher.update(&data[..at]);
                hasher.update(&data[at..]);
                assert_eq!(*hasher.finish(), *expected, "{kernel:?}, split at {at}");
            }
        }
    }
}

#[test]
fn pieces_of_every_size() {
    for hash in Hash::ALL {
        let data = Random::new(4).bytes(5 * hash.block_len() + 3);
        let expected = reference(hash, &data);
        for kernel in kernels(hash) {
            let mut hasher = Hasher::with_kernel(kernel);
            for size in 1..=hash.block_len() + 1 {
                for piece in data.chunks(size) {
                    hasher.write_all(piece).unwrap();
                }
                assert_eq!(*hasher.finish_reset(), *expected, "{kernel:?}, pieces of {size}");
            }
        }
    }
}

#[test]
fn stays_inside_its_buffers() {
    for hash in Hash::ALL {
        for len in 0..4 * hash.block_len() {
            let data = Random::new(5).bytes(len);
            let expected = reference(hash, &data);
            let (at_end, at_start) = (Guarded::at_end(&data), Guarded::at_start(&data));
            for kernel in kernels(hash) {
                assert_eq!(*kernel.digest(&at_end), *expected, "{kernel:?}");
                assert_eq!(*kernel.digest(&at_start), *expected, "{kernel:?}");
            }
        }
    }
}

#[test]
fn any_alignment() {
    for hash in Hash::ALL {
        let data = Random::new(6).bytes(64 + 4 * hash.block_len());
        for kernel in kernels(hash) {
            for offset in 0..64 {
                let data = &data[offset..offset + 3 * hash.block_len() + 5];
                assert_eq!(*kernel.digest(data), *reference(hash, data), "{kernel:?}, offset {offset}");
            }
        }
    }
}

#[test]
fn every_feature_subset() {
    let engines: [&dyn Engine; 8] = [
        &&md5::MD5,
        &&sha1::SHA1,
        &&sha256::SHA256,
        &&sha512::SHA512,
        &&sha3::SHA3_224,
        &&sha3::SHA3_256,
        &&sha3::SHA3_384,
        &&sha3::SHA3_512,
    ];
    let kernels = || engines.iter().flat_map(|engine| engine.kernels());
    let data = Random::new(7).bytes(1000);
    for features in feature_subsets(kernels().map(|kernel| kernel.requires)) {
        for hash in Hash::ALL {
            let mut out = [0; hash::MAX_DIGEST];
            let len = hash::digest(features, hash, &data, &mut out).unwrap();
            assert_eq!(out[..len], *reference(hash, &data), "{hash} under {:?}", features.set());
        }
        assert_eq!(md5::digest(features, &data)[..], *reference(Hash::Md5, &data));
        assert_eq!(sha1::digest(features, &data)[..], *reference(Hash::Sha1, &data));
        assert_eq!(sha256::digest(features, &data)[..], *reference(Hash::Sha256, &data));
        assert_eq!(sha512::digest(features, &data)[..], *reference(Hash::Sha512, &data));
    }
    assert!(kernels().any(|kernel| kernel.requires != FeatureSet::EMPTY));
}

#[test]
fn the_output_must_hold_a_digest() {
    for hash in Hash::ALL {
        let mut out = vec![0; hash.output_len() - 1];
        let error = hash::digest(Features::hardware(), hash, b"", &mut out).unwrap_err();
        assert_eq!(error, Error::OutputLength { given: out.len(), needed: hash.output_len() });
        assert_eq!(Hash::from_name(hash.name()), Some(hash));
    }
    assert_eq!(Hash::from_name("sha4-256"), None);
}

/// Left off at every byte of three blocks on one kernel and taken up by each of the others.
fn handed_over(hashes: &[Hash], step: usize) {
    for &hash in hashes {
        let data = Random::new(8).bytes(3 * hash.block_len() + 9);
        let expected = reference(hash, &data);
        for from in kernels(hash) {
            for at in (0..=3 * hash.block_len()).step_by(step) {
                let mut hasher = Hasher::with_kernel(from);
                hasher.update(&data[..at]);
                let saved = hasher.export();
                for to in kernels(hash) {
                    let mut hasher = Hasher::import_with_kernel(to, &saved).unwrap();
                    assert_eq!(*hasher.export(), *saved, "{from:?} to {to:?} at {at}");
                    hasher.update(&data[at..]);
                    assert_eq!(*hasher.finish(), *expected, "{from:?} to {to:?} at {at}");
                }
            }
        }
    }
}

#[test]
fn mid_state_at_every_byte() {
    handed_over(&Hash::ALL, 1);
}

#[test]
fn miri_long_mid_state() {
    handed_over(&[Hash::Sha256, Hash::Sha512, Hash::Sha3_256], 77);
}

/// The bytes that the documentation of the format promises.
#[test]
fn mid_state_format() {
    let mut hasher = Hasher::new(Features::hardware(), Hash::Sha256);
    hasher.update(&[b'a'; 66]);
    let saved = hasher.export();
    let mut block = [b'a'; 128];
    block[66..].fill(0);
    assert_eq!(saved.len(), 16 + 32 + 2);
    assert_eq!(saved[..16], *hex("0104000000000000 4200000000000000"));
    assert_eq!(&saved[48..], b"aa");

    let hasher = Hasher::new(Features::hardware(), Hash::Md5);
    let initial = hex("01010000000000000000000000000000 0123456789abcdeffedcba9876543210");
    assert_eq!(*hasher.export(), *initial);
}

#[test]
fn damaged_mid_states_are_refused() {
    for hash in Hash::ALL {
        let mut hasher = Hasher::new(Features::hardware(), hash);
        hasher.update(&[7; 200]);
        let saved = hasher.export();
        let refused = |bytes: &[u8]| {
            let error = Hasher::import(Features::hardware(), hash, bytes).unwrap_err();
            assert_eq!(error, Error::MidState, "{hash}");
        };
        for len in 0..saved.len() {
            refused(&saved[..len]);
        }
        refused(&[&saved, &[0][..]].concat());
        for at in 0..8 {
            let mut bytes = saved.to_vec();
            bytes[at] ^= 0x20;
            refused(&bytes);
        }
        // Another number of bytes taken in leaves another number waiting. A sponge keeps none.
        if hash.block_len().is_power_of_two() {
            let mut bytes = saved.to_vec();
            bytes[8] ^= 1;
            refused(&bytes);
        }
        for other in Hash::ALL.into_iter().filter(|&other| other != hash) {
            assert!(Hasher::import(Features::hardware(), other, &saved).is_err(), "{hash} as {other}");
        }
    }
    // FIPS 180-4 §1: SHA-256 takes less than 2^64 bits.
    let mut bytes = Hasher::new(Features::hardware(), Hash::Sha256).export().to_vec();
    bytes[15] = 0x20;
    assert!(Hasher::import(Features::hardware(), Hash::Sha256, &bytes).is_err());
    bytes[1] = 6;
    bytes.extend([0; 32]);
    assert!(Hasher::import(Features::hardware(), Hash::Sha512, &bytes).is_ok());
}

/// A message of 2^32 bytes and more, by a mid-state at its last block, against one whose length is
/// padded by hand: the count must reach every byte of the length field. SHA-3 has none.
#[test]
fn long_messages_are_padded_with_their_whole_length() {
    for hash in Hash::ALL {
        let block = hash.block_len() as u64;
        for count in [1 << 29, 1 << 32, (1 << 56) + 3 * block, (1 << 60) + (1 << 35) + block] {
            let count = count / block * block;
            let mut padding = vec![0; hash.block_len()];
            padding[..4].copy_from_slice(b"end\x80");
            let bits = u128::from(count + 3) << 3;
            let field = match hash {
                Hash::Md5 => (bits as u64).to_le_bytes().to_vec(),
                Hash::Sha1 | Hash::Sha224 | Hash::Sha256 => (bits as u64).to_be_bytes().to_vec(),
                Hash::Sha384 | Hash::Sha512 | Hash::Sha512_256 => bits.to_be_bytes().to_vec(),
                _ => {
                    padding[3] = 0x06;
                    vec![0x80]
                }
            };
            let at = padding.len() - field.len();
            padding[at..].copy_from_slice(&field);
            for kernel in kernels(hash) {
                let mut saved = Hasher::with_kernel(kernel).export().to_vec();
                saved[8..16].copy_from_slice(&count.to_le_bytes());
                let mut long = Hasher::import_with_kernel(kernel, &saved).unwrap();
                long.update(b"end");

                let mut padded = Hasher::with_kernel(kernel);
                padded.update(&padding);
                let words = &padded.export()[16..];
                let digest = long.finish();
                assert_eq!(*digest, words[..digest.len()], "{kernel:?}, {count} bytes");
            }
        }
    }
}
