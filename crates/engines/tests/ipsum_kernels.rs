//! The IP checksum on every kernel, against the definition.
//!
//! Ref. RFC 1071 §1 and §3; RFC 1624 §4.

use millstream_cpu::Features;
use millstream_engines::ipsum::{IP_CHECKSUM, IpChecksum, Ops};
use millstream_engines::{Bound, Engine, Error};
use millstream_testkit::{Guarded, Ran, Random, feature_subsets};

const LONGEST: usize = 1100;

fn kernels() -> impl Iterator<Item = Bound<Ops>> {
    IP_CHECKSUM.available(Features::hardware())
}

fn checksum(kernel: Bound<Ops>, data: &[u8]) -> u16 {
    let mut sum = IpChecksum::with_kernel(kernel);
    sum.update(data);
    sum.value()
}

/// RFC 1071 §1: the 16-bit ones' complement of the ones' complement sum of big-endian words.
fn by_definition(data: &[u8]) -> u16 {
    let mut sum = 0u16;
    for pair in data.chunks(2) {
        let word = u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]);
        let (added, carry) = sum.overflowing_add(word);
        sum = added + u16::from(carry);
    }
    !sum
}

#[test]
fn every_length_and_copy() {
    let data = Random::new(1).bytes(LONGEST);
    let mut ran = Ran::new("ip-checksum");
    for len in 0..=LONGEST {
        let expected = by_definition(&data[..len]);
        for kernel in kernels() {
            ran.kernel(kernel.kernel().name);
            assert_eq!(checksum(kernel, &data[..len]), expected, "{len} on {kernel:?}");
            let mut copy = vec![0; len];
            let mut fused = IpChecksum::with_kernel(kernel);
            fused.update_copy(&data[..len], &mut copy).unwrap();
            assert_eq!((fused.value(), &copy[..]), (expected, &data[..len]), "{len} on {kernel:?}");
        }
    }
    ran.missing((&IP_CHECKSUM).kernels().iter().map(|k| (k.name, k.requires)));
    ran.at_least(kernels().count());
}

#[test]
fn every_split_odd_and_even() {
    let data = Random::new(2).bytes(333);
    let expected = by_definition(&data);
    for kernel in kernels() {
        for a in 0..=data.len() {
            let b = a + (data.len() - a) / 3;
            let mut sum = IpChecksum::with_kernel(kernel);
            for piece in [&data[..a], &data[a..b], &data[b..]] {
                sum.update(piece);
            }
            assert_eq!(sum.value(), expected, "{kernel:?} at {a} and {b}");
            let part = |piece| {
                let mut sum = IpChecksum::with_kernel(kernel);
                sum.update(piece);
                sum.partial()
            };
            let whole = part(&data[..a]).then(part(&data[a..b])).then(part(&data[b..]));
            assert_eq!(whole.checksum(), expected, "{kernel:?} at {a} and {b}");
            assert_eq!(sum.resume(whole).value(), expected);
        }
        assert_eq!(
            IpChecksum::with_kernel(kernel).update_copy(&data, &mut []),
            Err(Error::OutputLength { given: 0, needed: 333 })
        );
    }
}

#[test]
fn extreme_words() {
    for kernel in kernels() {
        for len in [1, 2, 63, 64, 65, 1000, 70_000] {
            assert_eq!(checksum(kernel, &vec![0; len]), 0xffff, "{kernel:?}");
            assert_eq!(checksum(kernel, &vec![0xff; len]), by_definition(&vec![0xff; len]), "{kernel:?}");
        }
        // More words than a 32-bit sum of 16-bit words can hold.
        let ones = vec![0xff; 1 << 20];
        assert_eq!(checksum(kernel, &ones), 0, "{kernel:?}");
        let mut copy = vec![0; ones.len()];
        let mut sum = IpChecksum::with_kernel(kernel);
        sum.update_copy(&ones, &mut copy).unwrap();
        assert!(sum.value() == 0 && copy == ones, "{kernel:?}");
    }
}

#[test]
fn stays_inside_its_buffers() {
    let mut random = Random::new(3);
    for len in 0..600 {
        let data = random.bytes(len);
        let expected = by_definition(&data);
        for place in [Guarded::at_start, Guarded::at_end] {
            let (source, mut target) = (place(&data), place(&vec![0; len]));
            for kernel in kernels() {
                assert_eq!(checksum(kernel, &source), expected, "{len} on {kernel:?}");
                target.fill(0);
                let mut fused = IpChecksum::with_kernel(kernel);
                fused.update_copy(&source, &mut target).unwrap();
                assert_eq!((fused.value(), &*target), (expected, &*data), "{len} on {kernel:?}");
            }
        }
    }
}

#[test]
fn replacing_a_word() {
    let mut random = Random::new(4);
    for _ in 0..1000 {
        let mut header = random.array::<20>();
        let before = IpChecksum::of(Features::hardware(), &header);
        let at = 2 * random.below(10);
        let old = u16::from_be_bytes([header[at], header[at + 1]]);
        let new = random.next_u64() as u16;
        header[at..at + 2].copy_from_slice(&new.to_be_bytes());
        let updated = IpChecksum::replace(before, old, new);
        assert_eq!(updated, IpChecksum::of(Features::hardware(), &header));
    }
    // RFC 1624 §4, where the equation of RFC 1071 gives ffff.
    assert_eq!(IpChecksum::replace(0xdd2f, 0x5555, 0x3285), 0x0000);
}

#[test]
fn a_packet_with_its_checksum_sums_to_zero() {
    let mut packet = Random::new(5).bytes(1500);
    packet[10..12].fill(0);
    let checksum = IpChecksum::of(Features::hardware(), &packet);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    assert_eq!(IpChecksum::of(Features::hardware(), &packet), 0);
}

#[test]
fn every_feature_subset_agrees() {
    let data = Random::new(6).bytes(1999);
    let mut ran = Ran::new("ip-checksum feature subsets");
    for features in feature_subsets((&IP_CHECKSUM).kernels().iter().map(|k| k.requires)) {
        let mut sum = IpChecksum::new(features);
        sum.update(&data);
        ran.kernel(sum.kernel().name);
        assert_eq!(sum.value(), by_definition(&data), "under {features:?}");
    }
    ran.at_least(kernels().count());
}

#[test]
fn known_answers_hold() {
    for kernel in kernels() {
        let checked = (&&IP_CHECKSUM).check(Features::hardware(), kernel.kernel().name);
        assert_eq!(checked, Some(true), "{kernel:?}");
    }
}

/// Sizes that reach each path of a kernel, few enough for an interpreter.
#[test]
fn miri_each_path_of_each_kernel() {
    let data: Vec<u8> = (0..900u32).map(|i| (i * 7) as u8).collect();
    let mut ran = Ran::new("ip-checksum");
    for len in [0, 1, 2, 31, 32, 33, 64, 65, 127, 128, 200, 255, 256, 257, 300, 511, 900] {
        let expected = by_definition(&data[..len]);
        for kernel in kernels() {
            assert_eq!(checksum(kernel, &data[..len]), expected, "{len} on {kernel:?}");
            let mut copy = vec![0; len];
            let mut fused = IpChecksum::with_kernel(kernel);
            fused.update_copy(&data[..len], &mut copy).unwrap();
            assert_eq!((fused.value(), &copy[..]), (expected, &data[..len]), "{len} on {kernel:?}");
            ran.kernel(kernel.kernel().name);
        }
    }
    ran.missing((&IP_CHECKSUM).kernels().iter().map(|k| (k.name, k.requires)));
    ran.at_least(kernels().count());
}
