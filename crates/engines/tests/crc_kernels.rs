//! CRC-32 and CRC32c on every kernel, against the definition bit by bit.
//!
//! Ref. IEEE 802.3 §3.2.9; RFC 3720 §12.1 and appendix B.4.

use millstream_cpu::Features;
use millstream_engines::crc::{Castagnoli, Crc, Ieee, Ops, Polynomial};
use millstream_engines::{Bound, Engine, Error};
use millstream_testkit::{Guarded, Ran, Random, feature_subsets};

/// Past the widest steps of every kernel.
const LONGEST: usize = 2100;

fn kernels<P: Polynomial>() -> impl Iterator<Item = Bound<Ops<P>>> {
    P::table().available(Features::hardware())
}

fn crc<P: Polynomial>(kernel: Bound<Ops<P>>, data: &[u8]) -> u32 {
    let mut crc = Crc::with_kernel(kernel);
    crc.update(data);
    crc.value()
}

/// The definition: divide by the polynomial, one bit at a time.
fn by_definition<P: Polynomial>(crc: u32, data: &[u8]) -> u32 {
    let mut remainder = !crc;
    for &byte in data {
        remainder ^= u32::from(byte);
        for _ in 0..8 {
            remainder = remainder >> 1 ^ if remainder & 1 == 1 { P::REFLECTED } else { 0 };
        }
    }
    !remainder
}

/// Runs a check for both polynomials.
macro_rules! both {
    ($($name:ident)*) => { $(
        #[test]
        fn $name() {
            check::$name::<Ieee>();
            check::$name::<Castagnoli>();
        }
    )* };
}

both! {
    every_length every_split_and_copy any_alignment stays_inside_its_buffers long_inputs
    combination every_feature_subset_agrees known_answers_hold miri_each_path_of_each_kernel
}

mod check {
    use super::*;

    pub fn every_length<P: Polynomial>() {
        let mut random = Random::new(1);
        let data = random.bytes(LONGEST);
        let mut ran = Ran::new(P::NAME);
        let mut expected = 0;
        for len in 0..=LONGEST {
            for kernel in kernels::<P>() {
                ran.kernel(kernel.kernel().name);
                assert_eq!(crc(kernel, &data[..len]), expected, "{len} on {kernel:?}");
                let mut copy = vec![0; len];
                let mut fused = Crc::with_kernel(kernel);
                fused.update_copy(&data[..len], &mut copy).unwrap();
                assert_eq!(fused.value(), expected, "copy of {len} on {kernel:?}");
                assert_eq!(copy, data[..len], "copy of {len} on {kernel:?}");
            }
            if len < LONGEST {
                expected = by_definition::<P>(expected, &data[len..len + 1]);
            }
        }
        let table = P::table();
        ran.missing((&table).kernels().iter().map(|k| (k.name, k.requires)));
        ran.at_least(kernels::<P>().count());
    }

    pub fn every_split_and_copy<P: Polynomial>() {
        let data = Random::new(2).bytes(777);
        let expected = by_definition::<P>(0, &data);
        for kernel in kernels::<P>() {
            for split in 0..=data.len() {
                let (a, b) = data.split_at(split);
                let mut first = Crc::with_kernel(kernel);
                first.update(a);
                let mut second = first.resume(first.value());
                let mut copy = vec![0; b.len()];
                second.update_copy(b, &mut copy).unwrap();
                assert_eq!(second.value(), expected, "{kernel:?} at {split}");
                assert_eq!(copy, b);
            }
            let mut crc = Crc::with_kernel(kernel);
            assert_eq!(
                crc.update_copy(&data, &mut [0; 3]),
                Err(Error::OutputLength { given: 3, needed: 777 })
            );
            assert_eq!(crc.value(), 0, "nothing was taken");
        }
    }

    pub fn any_alignment<P: Polynomial>() {
        let data = Random::new(3).bytes(1500);
        for offset in 0..64 {
            let data = &data[offset..data.len() - offset / 2];
            let expected = by_definition::<P>(0, data);
            for kernel in kernels::<P>() {
                assert_eq!(crc(kernel, data), expected, "{kernel:?} at {offset}");
            }
        }
    }

    pub fn stays_inside_its_buffers<P: Polynomial>() {
        let mut random = Random::new(4);
        for len in (0..600).chain([1023, 1024, 1025, 2048, 2083]) {
            let data = random.bytes(len);
            let expected = by_definition::<P>(0, &data);
            for place in [Guarded::at_start, Guarded::at_end] {
                let (source, mut target) = (place(&data), place(&vec![0; len]));
                for kernel in kernels::<P>() {
                    assert_eq!(crc(kernel, &source), expected, "{len} on {kernel:?}");
                    target.fill(0);
                    let mut fused = Crc::with_kernel(kernel);
                    fused.update_copy(&source, &mut target).unwrap();
                    assert_eq!((fused.value(), &*target), (expected, &*data), "{len} on {kernel:?}");
                }
            }
        }
    }

    pub fn long_inputs<P: Polynomial>() {
        let mut random = Random::new(5);
        for len in [4096, 24_575, 65_536 + 13, 300_000] {
            let data = random.bytes(len);
            let expected = by_definition::<P>(0, &data);
            for kernel in kernels::<P>() {
                assert_eq!(crc(kernel, &data), expected, "{len} on {kernel:?}");
                let mut copy = vec![0; len];
                let mut fused = Crc::with_kernel(kernel);
                fused.update_copy(&data, &mut copy).unwrap();
                assert!(fused.value() == expected && copy == data, "copy of {len} on {kernel:?}");
            }
        }
    }

    pub fn combination<P: Polynomial>() {
        let mut random = Random::new(6);
        for _ in 0..200 {
            let (len_a, len_b) = (random.below(2000), random.below(5000));
            let (a, b) = (random.bytes(len_a), random.bytes(len_b));
            let of = |data: &[u8]| Crc::<P>::of(Features::hardware(), data);
            assert_eq!(Crc::<P>::combine(of(&a), of(&b), len_b as u64), of(&[a, b].concat()));
        }
        // A length no buffer has: 2^40 zero bytes are 2^20 times 2^20 of them.
        let zeros = |crc, len| Crc::<P>::combine(crc, 0, len);
        let mut by_parts = 0x1234_5678;
        for _ in 0..1 << 10 {
            by_parts = zeros(by_parts, 1 << 50);
        }
        assert_eq!(zeros(0x1234_5678, 1 << 60), by_parts);
    }

    pub fn every_feature_subset_agrees<P: Polynomial>() {
        let data = Random::new(7).bytes(1999);
        let expected = by_definition::<P>(0, &data);
        let mut ran = Ran::new(P::NAME);
        let table = P::table();
        for features in feature_subsets((&table).kernels().iter().map(|k| k.requires)) {
            let mut crc = Crc::<P>::new(features);
            crc.update(&data);
            ran.kernel(crc.kernel().name);
            assert_eq!(crc.value(), expected, "under {features:?}");
        }
        ran.at_least(kernels::<P>().count());
    }

    pub fn known_answers_hold<P: Polynomial>() {
        for kernel in kernels::<P>() {
            let checked = (&P::table()).check(Features::hardware(), kernel.kernel().name);
            assert_eq!(checked, Some(true), "{kernel:?}");
        }
    }

    /// Sizes that reach each path of a kernel, few enough for an interpreter.
    pub fn miri_each_path_of_each_kernel<P: Polynomial>() {
        let data: Vec<u8> = (0..1400u32).map(|i| (i * 7) as u8).collect();
        let (mut before, mut expected) = (0, 0);
        let mut ran = Ran::new(P::NAME);
        for len in [0, 1, 3, 4, 15, 16, 17, 63, 64, 65, 127, 128, 200, 255, 256, 300, 511, 513, 800, 1400] {
            expected = by_definition::<P>(expected, &data[before..len]);
            before = len;
            for kernel in kernels::<P>() {
                assert_eq!(crc(kernel, &data[..len]), expected, "{len} on {kernel:?}");
                let mut copy = vec![0; len];
                let mut fused = Crc::with_kernel(kernel);
                fused.update_copy(&data[..len], &mut copy).unwrap();
                assert_eq!((fused.value(), &copy[..]), (expected, &data[..len]), "{len} on {kernel:?}");
                ran.kernel(kernel.kernel().name);
            }
        }
        ran.missing((&P::table()).kernels().iter().map(|k| (k.name, k.requires)));
        ran.at_least(kernels::<P>().count());
    }
}

/// RFC 3720 appendix B.4, and the check values of both.
#[test]
fn published_values() {
    let rising: Vec<u8> = (0..32).collect();
    let falling: Vec<u8> = (0..32).rev().collect();
    for kernel in kernels::<Castagnoli>() {
        assert_eq!(crc(kernel, &[0; 32]), 0x8a91_36aa);
        assert_eq!(crc(kernel, &[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc(kernel, &rising), 0x46dd_794e);
        assert_eq!(crc(kernel, &falling), 0x113f_db5c);
        assert_eq!(crc(kernel, b"123456789"), 0xe306_9283);
    }
    for kernel in kernels::<Ieee>() {
        assert_eq!(crc(kernel, b"123456789"), 0xcbf4_3926);
        assert_eq!(crc(kernel, b"The quick brown fox jumps over the lazy dog"), 0x414f_a339);
    }
}
