//! Record protection of TLS: padding, MAC and the two together, against what is written plainly.
//!
//! Ref. RFC 5246 §6.2.3.2.

use millstream_cpu::Features;
use millstream_engines::aes::{CBC, CBC_LANES, Cbc, CbcLanes};
use millstream_engines::hash::{Hash, HashKernel};
use millstream_engines::hmac::{HmacKey, HmacLanes};
use millstream_engines::modes::BlockMode;
use millstream_engines::tls::{
    CbcHmac, CbcHmacJob, CbcHmacLanes, HEADER, SEAL, pad, padded_len, remove_padding,
};
use millstream_engines::{Error, InOut};
use millstream_testkit::{Ran, Random};

const NUMBER: [u8; HEADER] = [0, 0, 0, 0, 0, 0, 1, 2, 23, 3, 3];

/// The data's length and the MAC, if the padding is valid; written plainly.
fn plainly(record: &[u8], mac: usize) -> Option<(usize, &[u8])> {
    let padding = 1 + usize::from(*record.last()?);
    let end = record.len().checked_sub(padding)?;
    let start = end.checked_sub(mac)?;
    let valid = record[end..].iter().all(|byte| usize::from(*byte) + 1 == padding);
    valid.then_some((start, &record[start..end]))
}

fn compare_with_plain(record: &[u8], mac: usize) {
    const DECOY: [u8; 64] = [0xdd; 64];
    let unpadded = remove_padding(record, mac);
    match (plainly(record, mac), unpadded) {
        (Some((len, expected)), Ok(unpadded)) => {
            assert!(bool::from(unpadded.is_valid()));
            assert_eq!((unpadded.len(), &unpadded.mac_or(&DECOY)[..mac]), (len, expected), "{mac}");
        }
        (None, Ok(unpadded)) => {
            assert!(mac > 0 && !bool::from(unpadded.is_valid()), "{} bytes, {mac}", record.len());
            assert_eq!((unpadded.len(), unpadded.mac_or(&DECOY)), (record.len() - mac, DECOY));
        }
        (None, Err(error)) => {
            let expected = if record.len() <= mac { "too short" } else { "no MAC" };
            assert_eq!(matches!(error, Error::DataLength { .. }), expected == "too short", "{error}");
            assert_eq!(matches!(error, Error::Padding), expected == "no MAC", "{error}");
        }
        (Some(_), Err(error)) => panic!("{} bytes, {mac} of MAC: {error}", record.len()),
    }
}

#[test]
fn every_padding_of_every_length() {
    let mut random = Random::new(81);
    let noise = random.bytes(700);
    for mac in [0, 1, 16, 20, 28, 32, 48, 64] {
        for len in (0..700).step_by(8) {
            let mut record = noise[..len].to_vec();
            compare_with_plain(&record, mac);
            for told in 0..=255u8 {
                let padding = len.min(usize::from(told) + 1);
                record.copy_from_slice(&noise[..len]);
                record[len - padding..].fill(told);
                compare_with_plain(&record, mac);
            }
        }
    }
}

#[test]
fn every_wrong_byte_of_padding() {
    let mut random = Random::new(82);
    for (len, mac) in [(64, 20), (256, 16), (288, 32), (304, 48), (320, 64), (512, 20)] {
        for told in 0..=255usize {
            let mut record = random.bytes(len);
            record[len - (told + 1).min(len)..].fill(told as u8);
            for at in len.saturating_sub(260)..len {
                record[at] ^= 0x80;
                compare_with_plain(&record, mac);
                record[at] ^= 0x80;
            }
        }
    }
    assert!(matches!(remove_padding(&[0; 80], 65), Err(Error::TagLength { given: 65, .. })));
}

#[test]
fn padding_is_the_least() {
    for block in [8, 16] {
        for len in 0..100 {
            let mut buffer = vec![0xee; padded_len(len, block) + 3];
            let padded = pad(&mut buffer, len, block).unwrap();
            assert!(padded > len && padded <= len + block && padded.is_multiple_of(block));
            assert_eq!(plainly(&buffer[..padded], 0), Some((len, &[][..])));
            assert_eq!(buffer[padded..], [0xee; 3]);
            let short = pad(&mut buffer[..padded - 1], len, block);
            assert_eq!(short, Err(Error::OutputLength { given: padded - 1, needed: padded }));
        }
    }
}

#[test]
fn the_mac_of_every_secret_length() {
    let mut random = Random::new(83);
    let data = random.bytes(600);
    let header = random.bytes(150);
    let mut ran = Ran::new("hmac-prefix");
    for hash in Hash::ALL {
        for kernel in HashKernel::available(Features::hardware(), hash) {
            let key = HmacKey::with_kernel(kernel, b"a key for records");
            for header in [&header[..13], &[], &header[..64], &header[..128], &header] {
                for len in 0..=data.len() {
                    let expected = key.sign(&[header, &data[..len]].concat());
                    // All lengths possible, those of a record possible, and this one alone.
                    let end = (len + 200).min(data.len());
                    for (end, shortest) in
                        [(data.len(), 0), (end, end.saturating_sub(257).min(len)), (len, len)]
                    {
                        let tag = key.sign_prefix(header, &data[..end], shortest, len);
                        assert_eq!(tag, expected, "{key:?}, {len} of {shortest} to {end}");
                    }
                }
            }
            ran.kernel(kernel.kernel().name);
        }
    }
    ran.at_least(2);
}

/// A record with as much padding as `told` says, made with the parts alone.
fn sealed(keys: &CbcHmac, vector: &[u8], data: &[u8], told: u8) -> Vec<u8> {
    let header = [&NUMBER[..], &(data.len() as u16).to_be_bytes()].concat();
    let tag = keys.mac().sign(&[&header, data].concat());
    let mut record = [vector, data, &tag, &vec![told; usize::from(told) + 1]].concat();
    keys.cipher().encrypt(&mut [9; 16], InOut::in_place(&mut record));
    record
}

#[test]
fn records_of_every_length_and_padding() {
    let mut random = Random::new(84);
    let (data, vector) = (random.bytes(600), random.bytes(16));
    let mut ran = Ran::new("aes-cbc");
    let (hashes, lens) = ([Hash::Md5, Hash::Sha1, Hash::Sha224, Hash::Sha256, Hash::Sha384], [16, 24, 32]);
    for kernel in CBC.available(Features::hardware()) {
        for (seal, (hash, len)) in SEAL
            .available(Features::hardware())
            .flat_map(|seal| hashes.iter().flat_map(move |hash| lens.map(|len| (seal, (*hash, len)))))
        {
            let mac = HmacKey::new(Features::hardware(), hash, b"MAC key");
            let keys = CbcHmac::with_kernel(seal, Cbc::with_kernel(kernel, &vec![3; len]).unwrap(), mac);
            ran.kernel(keys.kernel().name);
            for explicit in [false, true] {
                let vector = if explicit { &vector[..] } else { &[] };
                for len in (0..=80).chain([255, 256, 257, 320, 511, 600]) {
                    let least = keys.sealed_len(explicit, len) - vector.len() - len - hash.output_len() - 1;
                    for told in (least..=255).step_by(16) {
                        let record = sealed(&keys, vector, &data[..len], told as u8);
                        let (mut iv, mut opened) = ([9; 16], record.clone());
                        let place = keys.open(&mut iv, &NUMBER, &mut opened, explicit).unwrap();
                        assert_eq!(opened[place], data[..len], "{keys:?}, {len} bytes, {told} of padding");
                        assert_eq!(iv, record[record.len() - 16..], "the chain goes on");
                        if told == least {
                            let mut own =
                                [vector, &data[..len], &vec![0; hash.output_len() + least + 1]].concat();
                            let mut iv = [9; 16];
                            keys.seal(&mut iv, &NUMBER, &mut own, explicit, len).unwrap();
                            assert_eq!(own, record);
                            assert_eq!(iv, record[record.len() - 16..]);
                        }
                    }
                }
            }
        }
        ran.kernel(kernel.kernel().name);
    }
    ran.at_least(2);
}

#[test]
fn what_is_forged_is_refused_and_left_alone() {
    let mut random = Random::new(85);
    let (data, vector) = (random.bytes(100), random.bytes(16));
    let keys = CbcHmac::new(Features::hardware(), Hash::Sha256, &[3; 32], b"MAC key").unwrap();
    let padding = |told| sealed(&keys, &vector, &data[..95], told);
    for record in [padding(0), padding(16), padding(240)] {
        let refused = |record: &[u8], header| {
            let (mut iv, mut opened) = ([9; 16], record.to_vec());
            let result = keys.open(&mut iv, header, &mut opened, true);
            assert_eq!(result, Err(Error::Authentication));
            assert!(opened == record && iv == [9; 16]);
        };
        for at in 0..record.len() {
            let mut forged = record.clone();
            forged[at] ^= 1 << (at % 8);
            // The vector too: its ciphertext is added to the first block of data.
            refused(&forged, &NUMBER);
        }
        refused(&record, &[0; HEADER]);
        refused(&record[..record.len() - 16], &NUMBER);
        refused(&[&record[..], &record[..16]].concat(), &NUMBER);
    }
    for len in [0, 16, 32, 47, 49] {
        let error = keys.open(&mut [0; 16], &NUMBER, &mut vec![0; len], true).unwrap_err();
        assert!(matches!(error, Error::DataLength { given, .. } if given == len as u64), "{len}");
    }
    let mut room = [0; 64];
    let short = keys.seal(&mut [0; 16], &NUMBER, &mut room[..63], true, 15);
    assert_eq!(short, Err(Error::OutputLength { given: 63, needed: 64 }));
    let long = keys.seal(&mut [0; 16], &NUMBER, &mut room, true, 1 << 16);
    assert!(matches!(long, Err(Error::DataLength { .. })));
}

#[test]
fn many_records_as_one_by_one() {
    let features = Features::hardware();
    let mut random = Random::new(86);
    let mut ran = Ran::new("aes-cbc-lanes");
    for hash in [Hash::Md5, Hash::Sha1, Hash::Sha256, Hash::Sha384] {
        let keys: Vec<_> = (0..3)
            .map(|i| CbcHmac::new(features, hash, &vec![i as u8; 16 + 8 * i], &[i as u8; 20]).unwrap())
            .collect();
        for macs in HmacLanes::available(features, hash) {
            for blocks in CBC_LANES.available(features) {
                let lanes = CbcHmacLanes::with_lanes(macs, CbcLanes::with_kernel(blocks));
                for count in [0, 1, 2, 7, 8, 9, 16, 33] {
                    for most in [0, 100, 1500] {
                        let payloads: Vec<_> = (0..count).map(|_| random.below(most + 1)).collect();
                        let records: Vec<_> = (0..count)
                            .map(|i| random.bytes(keys[i % 3].sealed_len(true, payloads[i])))
                            .collect();
                        let mut alone = records.clone();
                        let mut ivs = Vec::new();
                        for (i, record) in alone.iter_mut().enumerate() {
                            let mut iv = [i as u8; 16];
                            keys[i % 3].seal(&mut iv, &NUMBER, record, true, payloads[i]).unwrap();
                            ivs.push(iv);
                        }
                        let mut many = records;
                        let mut jobs: Vec<_> = many
                            .iter_mut()
                            .enumerate()
                            .map(|(i, record)| CbcHmacJob {
                                keys: &keys[i % 3],
                                iv: [i as u8; 16],
                                header: NUMBER,
                                record,
                                payload: payloads[i],
                            })
                            .collect();
                        lanes.seal(&mut jobs).unwrap();
                        assert!(jobs.iter().zip(&ivs).all(|(job, iv)| job.iv == *iv));
                        assert_eq!(many, alone, "{lanes:?}, {count} records up to {most}");
                    }
                }
                ran.kernel(blocks.kernel().name);
            }
        }
    }
    ran.at_least(if cfg!(target_arch = "x86_64") { 2 } else { 1 });
}

#[test]
fn one_wrong_record_stops_all_before_they_begin() {
    let keys = CbcHmac::new(Features::hardware(), Hash::Sha1, &[1; 16], &[2; 20]).unwrap();
    let (mut right, mut wrong) = ([5; 64], [5; 65]);
    let job = |record| CbcHmacJob { keys: &keys, iv: [0; 16], header: NUMBER, record, payload: 27 };
    let mut jobs = [job(&mut right[..]), job(&mut wrong[..])];
    let result = CbcHmacLanes::new(Features::hardware(), Hash::Sha1).seal(&mut jobs);
    assert_eq!(result, Err(Error::OutputLength { given: 65, needed: 64 }));
    assert_eq!(right, [5; 64]);
}
