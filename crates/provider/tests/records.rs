//! TLS records under CBC suites, as libssl has them made, against OpenSSL's own.

mod support;

use millstream_testkit::Random;
use support::{Cipher, CipherContext, Library, Param, Refused};

const BLOCK_CIPHERS: &[&str] = &["AES-128-CBC", "AES-256-CBC", "CAMELLIA-256-CBC", "DES-EDE3-CBC"];
const COMPOSITES: &[(&str, usize)] = &[
    ("AES-128-CBC-HMAC-SHA1", 20),
    ("AES-256-CBC-HMAC-SHA1", 20),
    ("AES-128-CBC-HMAC-SHA256", 32),
    ("AES-256-CBC-HMAC-SHA256", 32),
];

/// TLS 1.0 to 1.2, DTLS 1.0 and 1.2.
const VERSIONS: &[u32] = &[0x0301, 0x0302, 0x0303, 0xfeff, 0xfefd];

/// Passes a record in place: what it became, or an error.
fn in_place(context: &mut CipherContext, record: &[u8]) -> Result<Vec<u8>, Refused> {
    let mut buffer = [record, &[0; 64]].concat();
    let at = buffer.as_mut_ptr();
    // SAFETY: room for 64 bytes more.
    let n = unsafe { context.update_raw(at, at, record.len()) }?;
    buffer.truncate(n.max(record.len()));
    Ok([&n.to_ne_bytes(), buffer.as_slice()].concat())
}

fn speaking(cipher: &Cipher, encrypt: bool, key: &[u8], version: u32, mac: usize) -> CipherContext {
    let mut context = cipher.context(encrypt, key, &vec![3; cipher.iv_len()]).unwrap();
    let (mut version, mut mac) = (version, mac);
    let params = [Param::uint(c"tls-version", &mut version), Param::size(c"tls-mac-size", &mut mac)];
    context.set(&params).unwrap();
    context
}

fn mac(context: &CipherContext) -> Vec<u8> {
    let mut at = std::ptr::null();
    let answer = context.get(&[Param::octet_pointer(c"tls-mac", &mut at)]).unwrap();
    let len = answer[0].return_size;
    // SAFETY: the context has so many bytes there.
    unsafe { std::slice::from_raw_parts(at, len) }.to_vec()
}

/// RC4 in TLS 1.0 to 1.2: no padding, and keystreams go on from record to record.
#[test]
fn records_of_streams_lose_their_mac_as_by_the_legacy_provider() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    let mut random = Random::new(4);
    let ciphers = [&ours, &theirs].map(|library| library.cipher("RC4").unwrap());
    for mac_len in [16, 20] {
        let contexts = |encrypt| {
            ciphers.each_ref().map(|cipher| {
                let mut context = cipher.context(encrypt, &[7; 16], &[]).unwrap();
                let (mut version, mut mac) = (0x0303_u32, mac_len);
                let params =
                    [Param::uint(c"tls-version", &mut version), Param::size(c"tls-mac-size", &mut mac)];
                context.set(&params).unwrap();
                context
            })
        };
        let (mut sealing, mut opening) = (contexts(true), contexts(false));
        for _ in 0..20 {
            let len = mac_len + random.below(300);
            let record = random.bytes(len);
            let sealed = sealing.each_mut().map(|context| in_place(context, &record).unwrap());
            assert_eq!(sealed[0], sealed[1]);
            let opened = opening.each_mut().map(|context| in_place(context, &sealed[0][8..]).unwrap());
            assert_eq!(opened[0], opened[1]);
            // Theirs points into a record that is gone.
            assert_eq!(mac(&opening[0]), record[len - mac_len..]);
        }
        assert!(in_place(&mut opening[0], &[0; 8]).is_err(), "shorter than a MAC");
    }
}

#[test]
fn records_are_padded_and_opened_as_by_the_default_provider() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    let mut random = Random::new(1);
    for name in BLOCK_CIPHERS {
        let ciphers = [&ours, &theirs].map(|library| library.cipher(name).unwrap());
        let key = random.bytes(ciphers[0].key_len());
        for version in VERSIONS {
            for mac_len in [20, 32, 48] {
                let mut sealing =
                    ciphers.each_ref().map(|cipher| speaking(cipher, true, &key, *version, mac_len));
                let mut opening =
                    ciphers.each_ref().map(|cipher| speaking(cipher, false, &key, *version, mac_len));
                for _ in 0..40 {
                    let len = ciphers[0].block_len() + mac_len + random.below(400);
                    let record = random.bytes(len);
                    let sealed = sealing.each_mut().map(|context| in_place(context, &record).unwrap());
                    assert_eq!(sealed[0], sealed[1], "{name} {version:x}");
                    let opened =
                        opening.each_mut().map(|context| in_place(context, &sealed[0][8..]).unwrap());
                    assert_eq!(opened[0], opened[1], "{name} {version:x}");
                    assert_eq!(mac(&opening[0]), record[len - mac_len..], "{name} {version:x}");
                    assert_eq!(mac(&opening[1]), record[len - mac_len..], "{name} {version:x}");
                }
            }
        }
    }
}

#[test]
fn wrong_padding_is_only_a_wrong_mac() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    let mut random = Random::new(2);
    let ciphers = [&ours, &theirs].map(|library| library.cipher("AES-128-CBC").unwrap());
    for _ in 0..50 {
        let key = random.bytes(16);
        let blocks = 5 + random.below(10);
        let record = random.bytes(16 * blocks);
        let outcomes = ciphers.each_ref().map(|cipher| {
            let mut context = speaking(cipher, false, &key, 0x0303, 20);
            let length =
                in_place(&mut context, &record).map(|out| out[..8].to_vec()).map_err(|e| e.code & 0x7f_ffff);
            (length, mac(&context).len())
        });
        assert_eq!(outcomes[0], outcomes[1]);
    }
    // Too short, and not whole blocks.
    for len in [16, 32, 47] {
        let outcomes = ciphers.each_ref().map(|cipher| {
            let mut context = speaking(cipher, false, &[1; 16], 0x0303, 20);
            in_place(&mut context, &vec![9; len]).map_err(|e| e.code & 0x7f_ffff)
        });
        assert_eq!(outcomes[0].is_err(), outcomes[1].is_err(), "{len} bytes");
    }
}

#[test]
fn without_a_mac_inside_padding_is_told() {
    let ours = Library::millstream();
    let cipher = ours.cipher("AES-128-CBC").unwrap();
    let mut sealing = speaking(&cipher, true, &[1; 16], 0x0303, 0);
    let sealed = in_place(&mut sealing, &[7; 40]).unwrap();
    let mut opening = speaking(&cipher, false, &[1; 16], 0x0303, 0);
    assert_eq!(in_place(&mut opening, &sealed[8..]).unwrap()[..8], 24_usize.to_ne_bytes());
    let mut opening = speaking(&cipher, false, &[1; 16], 0x0303, 0);
    let refused = in_place(&mut opening, &[5; 48]).unwrap_err();
    assert!(refused.text.ends_with("cipher operation failed"), "{}", refused.text);
    // A record is a whole message, so nothing is ever finished.
    assert!(opening.finish().is_err());
}

/// A context for records whole, and how much longer the next one becomes.
fn composite(
    cipher: &Cipher,
    encrypt: bool,
    key: &[u8],
    mac_key: &[u8],
    tls: u32,
) -> Result<CipherContext, Refused> {
    let mut context = cipher.context(encrypt, key, &[4; 16])?;
    let (mut mac_key, mut tls) = (mac_key.to_vec(), tls);
    context.set(&[Param::octets(c"mackey", &mut mac_key)])?;
    // libssl sets these in this order, and OpenSSL's own cipher depends on it.
    context.set(&[Param::uint(c"tls-version", &mut tls)])?;
    Ok(context)
}

fn header(context: &mut CipherContext, number: u64, version: u32, len: usize) -> Result<usize, Refused> {
    let mut header = [number.to_be_bytes().as_slice(), &[23, (version >> 8) as u8, version as u8]].concat();
    header.extend((len as u16).to_be_bytes());
    context.set(&[Param::octets(c"tlsaad", &mut header)])?;
    context.number(c"tlsaadpad")
}

#[test]
fn composites_seal_and_open_whole_records() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    let mut random = Random::new(3);
    for (name, mac_len) in COMPOSITES {
        let Some(theirs) = theirs.cipher(name) else {
            println!("SKIPPED {name}: this processor is not one on which OpenSSL has it");
            continue;
        };
        let ciphers = [ours.cipher(name).unwrap(), theirs];
        let key = random.bytes(ciphers[0].key_len());
        let mac_key = random.bytes(*mac_len);
        for version in [0x0301, 0x0302, 0x0303] {
            let context =
                |cipher: &Cipher, encrypt| composite(cipher, encrypt, &key, &mac_key, version).unwrap();
            let mut sealing = ciphers.each_ref().map(|cipher| context(cipher, true));
            let mut opening = ciphers.each_ref().map(|cipher| context(cipher, false));
            for number in 0..60 {
                let payload = random.below(300);
                let vector = if version > 0x0301 { 16 } else { 0 };
                let record = random.bytes(vector + payload);
                let sealed = sealing.each_mut().map(|context| {
                    let growth = header(context, number, version, record.len()).unwrap();
                    in_place(context, &[record.as_slice(), &vec![0; growth]].concat()).unwrap()
                });
                assert_eq!(sealed[0], sealed[1], "{name} {version:x}, {payload} bytes");
                let sealed = &sealed[0][8..];
                let opened = opening.each_mut().map(|context| {
                    let mac = header(context, number, version, sealed.len()).unwrap();
                    assert_eq!(mac, *mac_len);
                    let opened = in_place(context, sealed).unwrap();
                    (opened[..8].to_vec(), opened[8 + vector..8 + vector + payload].to_vec())
                });
                assert_eq!(opened[0], opened[1], "{name} {version:x}, {payload} bytes");
                assert_eq!(opened[0].0, payload.to_ne_bytes());
                assert_eq!(opened[0].1, record[vector..]);
            }
            let growth = header(&mut sealing[0], 99, version, 40).unwrap();
            let mut forged = in_place(&mut sealing[0], &vec![1; 40 + growth]).unwrap().split_off(8);
            forged[20] ^= 1;
            header(&mut opening[0], 99, version, forged.len()).unwrap();
            assert!(in_place(&mut opening[0], &forged).is_err());
        }
    }
}

/// Has a context seal data as many records, as libssl does; all of them, with their fronts.
fn many_records(
    context: &mut CipherContext,
    number: u64,
    data: &[u8],
    records: u32,
) -> Result<Vec<u8>, Refused> {
    let mut count = records;
    let mut header = [number.to_be_bytes().as_slice(), &[23, 3, 3, 0, 0], &vec![0; data.len()]].concat();
    // The parameter says how long the data is.
    let announced = Param::octets(c"tls1multi_aad", &mut header[..data.len()]);
    context.set(&[announced, Param::uint(c"tls1multi_interleave", &mut count)])?;
    assert_eq!(context.number(c"tls1multi_interleave")?, records as usize);
    let mut out = vec![0xee; context.number(c"tls1multi_aadpacklen")? + 8];
    let mut data = data.to_vec();
    let room = data.len();
    context.set(&[
        Param::octets(c"tls1multi_enc", &mut out[..room]),
        Param::octets(c"tls1multi_encin", &mut data),
        Param::uint(c"tls1multi_interleave", &mut count),
    ])?;
    let len = context.number(c"tls1multi_enclen")?;
    assert_eq!(out.split_off(len), [0xee; 8]);
    Ok(out)
}

/// The default provider opens, one after the other, the records that one context seals at once.
#[test]
fn many_records_at_once_are_opened_one_by_one() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    let mut random = Random::new(5);
    for (name, mac_len) in COMPOSITES {
        let cipher = ours.cipher(name).unwrap();
        let (key, mac_key) = (random.bytes(cipher.key_len()), random.bytes(*mac_len));
        let mut sealing = composite(&cipher, true, &key, &mac_key, 0x0303).unwrap();
        // Where OpenSSL does not have the cipher, ours opens the records that it sealed.
        let opener = theirs.cipher(name).unwrap_or_else(|| ours.cipher(name).unwrap());
        let mut opening = composite(&opener, false, &key, &mac_key, 0x0303).unwrap();
        let mut longest = 1400;
        sealing.set(&[Param::size(c"tls1multi_maxsndfrag", &mut longest)]).unwrap();
        let most = sealing.number(c"tls1multi_maxbufsz").unwrap();
        let mut number = u64::from(u32::MAX) - 3;
        let mut vectors = std::collections::HashSet::new();
        for (records, len) in [(4, 2048), (4, 5599), (8, 8 * 1400), (8, 4097), (4, 4 << 14), (8, 8 << 14)] {
            let data = random.bytes(len);
            let sealed = many_records(&mut sealing, number, &data, records).unwrap();
            let (mut rest, mut opened, mut seen) = (&sealed[..], Vec::new(), 0);
            while let Some((front, others)) = rest.split_first_chunk::<5>() {
                assert_eq!(front[..3], [23, 3, 3]);
                let (record, others) = others.split_at(usize::from(u16::from_be_bytes([front[3], front[4]])));
                assert!(len > 8 * 1400 || record.len() + 5 <= most);
                vectors.insert(record[..16].to_vec());
                header(&mut opening, number + seen, 0x0303, record.len()).unwrap();
                let plain = in_place(&mut opening, record).unwrap();
                let payload = usize::from_ne_bytes(*plain.first_chunk().unwrap());
                opened.extend_from_slice(&plain[8 + 16..8 + 16 + payload]);
                (rest, seen) = (others, seen + 1);
            }
            assert!(seen == u64::from(records) && opened == data, "{name}: {len} bytes in {records}");
            number += seen;
        }
        assert_eq!(vectors.len(), 36, "every record has a vector of its own");
        let (mut five, mut long) = (5, vec![0; 5000]);
        for refused in [
            vec![Param::octets(c"tls1multi_aad", &mut long), Param::uint(c"tls1multi_interleave", &mut five)],
            vec![
                Param::octets(c"tls1multi_enc", &mut vec![0; 90_000]),
                Param::octets(c"tls1multi_encin", &mut vec![0; 4096]),
            ],
        ] {
            assert!(sealing.set(&refused).is_err());
        }
        assert!(many_records(&mut sealing, 1, &vec![0; (4 << 14) + 1], 4).is_err(), "too long for four");
        assert!(many_records(&mut opening, 1, &[0; 4096], 4).is_err(), "a context that opens");
    }
}

#[test]
fn composites_without_a_header_are_cbc() {
    let ours = Library::millstream();
    let cipher = ours.cipher("AES-128-CBC-HMAC-SHA256").unwrap();
    let plain = ours.cipher("AES-128-CBC").unwrap();
    let mut context = cipher.context(true, &[1; 16], &[2; 16]).unwrap();
    let expected = plain.context(true, &[1; 16], &[2; 16]).unwrap().update(&[3; 64]).unwrap();
    assert_eq!(context.update(&[3; 64]).unwrap(), expected);
    assert!(context.update(&[3; 63]).is_err());
}
