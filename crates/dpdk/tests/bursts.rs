//! Bursts of packets that are frequent, which have a way of their own: each packet ends as it does alone and in pieces, where it goes the general way.

mod support;

use millstream_dpdk::*;
use support::*;

/// The numbers and lengths of a cipher: its number, bytes of its key and of its initialisation vector, and of its block.
type Cipher = (u32, usize, u16, usize);

const AES_CBC: Cipher = (5, 16, 16, 16);
const AES_CTR: Cipher = (6, 32, 16, 1);
const AES_CTR_NONCE: Cipher = (6, 16, 12, 1);
const DES_CBC: Cipher = (2, 24, 8, 8);

/// The numbers of HMAC-SHA1 and HMAC-SHA256, and the bytes of their tags.
const HASHES: [(u32, u16); 2] = [(10, 12), (14, 16)];

/// Packets in a burst: some lanes full, and some not.
const PACKETS: usize = 45;

/// Returns bytes that differ from number to number and from place to place.
fn bytes(number: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + number * 31 + i / 13) as u8).collect()
}

/// Runs a burst of packets with sessions of their own, in place or apart. Returns what [`run`] returns for each.
fn run_burst(burst: &[(&Bound, Parts)], lie: Lie) -> Vec<(Status, Vec<u8>, Vec<u8>)> {
    let mut places: Vec<_> =
        burst.iter().map(|(_, p)| (p.span.clone(), vec![0xee; p.span.len()], p.tag.clone())).collect();
    let mut packets: Vec<Packet> = burst
        .iter()
        .zip(&mut places)
        .map(|((session, parts), (bytes, other, tag))| {
            let source = bytes.as_mut_ptr();
            let destination = if lie == Lie::Apart { other.as_mut_ptr() } else { source };
            // Bytes in one piece have no pieces, and nobody asks for them.
            packet(session, parts, (source, destination), (source.cast(), destination.cast()), tag)
        })
        .collect();
    // SAFETY: everything is as long as it says.
    unsafe { millstream_dpdk_run(packets.as_mut_ptr(), packets.len()) };
    let ends: Vec<Status> = packets.iter().map(|packet| packet.status).collect();
    let results =
        places.into_iter().map(|(bytes, other, tag)| (if lie == Lie::Apart { other } else { bytes }, tag));
    ends.into_iter().zip(results).map(|(status, (bytes, tag))| (status, bytes, tag)).collect()
}

/// Runs bursts of two sessions there and back, where some tags are wrong, and compares each packet with itself in pieces.
#[track_caller]
fn there_and_back(there: &[Bound; 2], back: &[Bound; 2], parts: impl Fn(usize) -> Parts, tag_len: u16) {
    for lie in [Lie::InPlace, Lie::Apart] {
        let burst: Vec<_> = (0..PACKETS).map(|i| (&there[usize::from(i % 5 == 4)], parts(i))).collect();
        let sealed = run_burst(&burst, lie);
        for (i, ((session, parts), got)) in burst.iter().zip(&sealed).enumerate() {
            assert_eq!(*got, run(session, parts, Lie::InPieces), "packet {i}, {lie:?}");
            assert_eq!(got.0, Status::Good, "packet {i}, {lie:?}");
        }
        let wrong = |i: usize| tag_len > 0 && i % 4 == 1;
        let burst: Vec<_> = sealed
            .into_iter()
            .enumerate()
            .map(|(i, (_, span, mut tag))| {
                if wrong(i) {
                    tag[i % usize::from(tag_len)] ^= 1 << (i % 8);
                }
                (&back[usize::from(i % 5 == 4)], Parts { span, tag, ..parts(i) })
            })
            .collect();
        for (i, (status, bytes, _)) in run_burst(&burst, lie).into_iter().enumerate() {
            if !wrong(i) {
                assert_eq!((status, bytes), (Status::Good, parts(i).span), "packet {i}, {lie:?}");
                continue;
            }
            let left = if lie == Lie::Apart { vec![0; bytes.len()] } else { burst[i].1.span.clone() };
            assert_eq!((status, bytes), (Status::Authentication, left), "packet {i}, {lie:?}");
        }
    }
}

/// Returns the transform of a cipher.
fn cipher((number, _, iv_len, _): Cipher, forward: bool, key: &[u8]) -> GivenTransform {
    transform(Class::Cipher, number, forward, key, [iv_len, 0, 0])
}

#[test]
fn ciphers_with_hmac() {
    for kind in [AES_CBC, AES_CTR, AES_CTR_NONCE, DES_CBC] {
        for (hash, tag_len) in HASHES {
            let keys = [1, 2].map(|number| (bytes(number, kind.1), bytes(number + 2, 20)));
            let mac = |forward, key: &[u8]| transform(Class::Auth, hash, forward, key, [0, tag_len, 0]);
            let there = keys
                .each_ref()
                .map(|(key, other)| bind(&[cipher(kind, true, key), mac(true, other)]).unwrap());
            let back = keys
                .each_ref()
                .map(|(key, other)| bind(&[mac(false, other), cipher(kind, false, key)]).unwrap());
            let parts = |i: usize| {
                let (clear, secret) = ([0, 24, 8][i % 3], kind.3 * (1 + i * 3 % 29));
                let span = bytes(i, clear + secret);
                let len = span.len() as u32;
                let (iv, tag) = (bytes(i + 9, kind.2.into()), vec![0; tag_len.into()]);
                Parts {
                    span,
                    cipher: (clear as u32, secret as u32),
                    auth: (0, len),
                    iv,
                    tag,
                    ..Parts::default()
                }
            };
            there_and_back(&there, &back, parts, tag_len);
        }
    }
}

#[test]
fn ciphers_alone() {
    for kind in [AES_CBC, AES_CTR, AES_CTR_NONCE, DES_CBC] {
        let keys = [1, 2].map(|number| bytes(number, kind.1));
        let bound = |forward| keys.each_ref().map(|key| bind(&[cipher(kind, forward, key)]).unwrap());
        let parts = |i: usize| {
            let span = bytes(i, kind.3 * (1 + i * 3 % 29));
            Parts {
                cipher: (0, span.len() as u32),
                span,
                iv: bytes(i + 9, kind.2.into()),
                ..Parts::default()
            }
        };
        there_and_back(&bound(true), &bound(false), parts, 0);
    }
}

#[test]
fn hmac_alone() {
    for (hash, tag_len) in HASHES {
        let keys = [1, 2].map(|number| bytes(number, 20));
        let bind = |forward| {
            keys.each_ref()
                .map(|key| bind(&[transform(Class::Auth, hash, forward, key, [0, tag_len, 0])]).unwrap())
        };
        let (there, back) = (bind(true), bind(false));
        let burst: Vec<_> = (0..PACKETS)
            .map(|i| {
                let span = bytes(i, 1 + i * 37 % 300);
                let parts = Parts {
                    auth: (0, span.len() as u32),
                    span,
                    tag: vec![0; tag_len.into()],
                    ..Parts::default()
                };
                (&there[usize::from(i % 5 == 4)], parts)
            })
            .collect();
        let signed = run_burst(&burst, Lie::InPlace);
        let mut received = Vec::new();
        for (i, ((session, parts), got)) in burst.iter().zip(signed).enumerate() {
            assert_eq!(got, run(session, parts, Lie::InPieces), "packet {i}");
            let mut tag = got.2;
            tag[i % usize::from(tag_len)] ^= u8::from(i % 4 == 1);
            received.push((&back[usize::from(i % 5 == 4)], Parts { tag, ..parts.clone() }));
        }
        for (i, (status, ..)) in run_burst(&received, Lie::InPlace).into_iter().enumerate() {
            assert_eq!(status, if i % 4 == 1 { Status::Authentication } else { Status::Good }, "packet {i}");
        }
    }
}

/// A packet with something unusual ends the run of frequent ones; those behind it are executed as well, and only it fails.
#[test]
fn a_wrong_packet_among_frequent_ones() {
    let key = bytes(1, 16);
    let mac_key = bytes(2, 20);
    let mac = transform(Class::Auth, 10, true, &mac_key, [0, 12, 0]);
    let session = bind(&[cipher(AES_CBC, true, &key), mac]).unwrap();
    let burst: Vec<_> = (0..20_usize)
        .map(|i| {
            // No whole blocks.
            let secret = if i == 7 { 33 } else { 32 };
            let span = bytes(i, 8 + secret);
            let auth = (0, span.len() as u32);
            let parts = Parts {
                span,
                cipher: (8, secret as u32),
                auth,
                iv: bytes(i, 16),
                tag: vec![0; 12],
                ..Parts::default()
            };
            (&session, parts)
        })
        .collect();
    for (i, (got, (session, parts))) in run_burst(&burst, Lie::InPlace).into_iter().zip(&burst).enumerate() {
        if i == 7 {
            assert_eq!(got, (Status::Argument, parts.span.clone(), parts.tag.clone()));
        } else {
            assert_eq!(got, run(session, parts, Lie::InPieces), "packet {i}");
            assert_eq!(got.0, Status::Good, "packet {i}");
        }
    }
}
