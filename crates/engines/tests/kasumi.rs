//! KASUMI, f8 and f9 on every kernel, against TS 35.203.

mod kasumi_common;

#[cfg(target_arch = "x86_64")]
use kasumi_common::intel::Library;
use kasumi_common::{F8_SETS, F9_SETS};
use millstream_cpu::Features;
use millstream_engines::kasumi::{F8, F9, Ops, UEA1, UIA1};
use millstream_engines::{Bound, Engine, Error, InOut, Timing};
use millstream_testkit::{Guarded, Ran, Random, executes, feature_subsets, hex, hex_array};

/// The kernels, under Miri those that it can execute.
fn interpretable() -> impl Iterator<Item = Bound<Ops>> {
    UEA1.available(Features::hardware()).filter(|k| executes("kasumi-f8", k.kernel().name))
}

#[test]
fn miri_test_sets_of_the_standard() {
    let mut ran = Ran::new("kasumi, TS 35.203");
    // A block takes Miri a tenth of a second and more.
    let most_bits = if cfg!(miri) { 256 } else { usize::MAX };
    for kernel in interpretable() {
        for (key, count, bearer, direction, bits, plain, cipher) in F8_SETS {
            if bits > most_bits {
                continue;
            }
            let f8 = F8::with_kernel(kernel, &hex(key)).unwrap();
            let mut data = hex(plain);
            f8.apply(count, bearer, direction, InOut::in_place(&mut data), bits).unwrap();
            assert_eq!(data, hex(cipher), "{kernel:?}, {bits} bits");
            ran.kernel(kernel.kernel().name);
        }
        for (key, count, fresh, direction, bits, message, mac) in F9_SETS {
            if bits > most_bits {
                continue;
            }
            let f9 = F9::with_kernel(kernel, &hex(key)).unwrap();
            let got = f9.mac(count, fresh, direction, &hex(message), bits).unwrap();
            assert_eq!(got, hex_array(mac), "{kernel:?}, {bits} bits");
        }
    }
    ran.missing((&UEA1).kernels().iter().map(|k| (k.name, k.requires)));
    ran.at_least(3);
}

/// KASUMI itself: every kernel on random blocks.
#[test]
fn miri_kernels_agree_on_blocks() {
    let mut random = Random::new(1);
    for _ in 0..if cfg!(miri) { 3 } else { 20 } {
        let (key, block) = (random.array::<16>(), random.next_u64());
        let want = F8::new(Features::none(), &key).unwrap().block(block);
        for kernel in interpretable() {
            assert_eq!(F8::with_kernel(kernel, &key).unwrap().block(block), want, "{kernel:?}");
        }
    }
}

/// Backwards, from what each kernel expanded.
#[test]
fn blocks_go_both_ways() {
    let mut random = Random::new(2);
    for kernel in UEA1.available(Features::hardware()) {
        for _ in 0..20 {
            let (key, block) = (random.array::<16>(), random.next_u64());
            let f8 = F8::with_kernel(kernel, &key).unwrap();
            assert_eq!(f8.inverse_block(f8.block(block)), block, "{kernel:?}");
            assert_eq!(f8.block(f8.inverse_block(block)), block, "{kernel:?}");
        }
    }
}

/// Every number of bits up to a few blocks: all kernels give the bytes of the portable one, in and
/// out of place, between pages that may not be touched, and keep the bits beyond the length.
#[test]
fn every_length_in_bits() {
    const MOST: usize = 8 * 35;
    let key = [0x3c; 16];
    let plain = Random::new(2).bytes(MOST / 8);
    let mut pad = vec![0; MOST / 8];
    F8::new(Features::none(), &key).unwrap().apply(9, 31, 1, InOut::in_place(&mut pad), MOST).unwrap();
    for kernel in UEA1.available(Features::hardware()) {
        let f8 = F8::with_kernel(kernel, &key).unwrap();
        for bits in 0..=MOST {
            let bytes = bits.div_ceil(8);
            let mut want: Vec<u8> = plain.iter().zip(&pad).map(|(a, b)| a ^ b).take(bytes).collect();
            if bits % 8 > 0 {
                let beyond = 0xff >> (bits % 8);
                want[bytes - 1] = want[bytes - 1] & !beyond | plain[bytes - 1] & beyond;
            }
            for new in [Guarded::at_start, Guarded::at_end] {
                let (input, mut output) = (new(&plain[..bytes]), new(&vec![0; bytes]));
                f8.apply(9, 31, 1, InOut::separate(&input, &mut output).unwrap(), bits).unwrap();
                assert_eq!(*output, *want, "{kernel:?}, {bits} bits");
                f8.apply(9, 31, 1, InOut::in_place(&mut output), bits).unwrap();
                assert_eq!(*output, plain[..bytes], "{kernel:?}, {bits} bits");
            }
        }
    }
}

/// A code depends on every bit of the message and on no bit beyond, on its length, and on every
/// parameter; all kernels agree.
#[test]
fn codes_cover_just_the_message() {
    let message = Random::new(3).bytes(17);
    let own = F9::new(Features::none(), &[1; 16]).unwrap();
    for kernel in UIA1.available(Features::hardware()) {
        let f9 = F9::with_kernel(kernel, &[1; 16]).unwrap();
        for bits in 0..=8 * 17_usize {
            let part = &message[..bits.div_ceil(8)];
            let mac = own.mac(1, 2, 0, part, bits).unwrap();
            f9.verify(1, 2, 0, part, bits, &mac).unwrap();
            assert!(f9.verify(1, 2, 1, part, bits, &mac).is_err(), "{kernel:?}, {bits} bits");
            assert!(f9.verify(0, 2, 0, part, bits, &mac).is_err(), "{kernel:?}, {bits} bits");
            for bit in 0..8 * part.len() {
                let mut other = part.to_vec();
                other[bit / 8] ^= 0x80 >> (bit % 8);
                let verdict = f9.verify(1, 2, 0, &other, bits, &mac);
                assert_eq!(verdict.is_ok(), bit >= bits, "{kernel:?}, {bits} bits, bit {bit}");
            }
        }
    }
}

#[test]
fn every_subset_of_features() {
    let mut ran = Ran::new("kasumi-f8, feature subsets");
    let data = Random::new(4).bytes(99);
    let mut want = data.clone();
    F8::new(Features::none(), &[2; 16]).unwrap().apply(1, 2, 0, InOut::in_place(&mut want), 792).unwrap();
    for features in feature_subsets((&UEA1).kernels().iter().map(|k| k.requires)) {
        let f8 = F8::new(features, &[2; 16]).unwrap();
        assert_eq!(f8.kernel().timing, Timing::Constant);
        let mut out = data.clone();
        f8.apply(1, 2, 0, InOut::in_place(&mut out), 792).unwrap();
        assert_eq!(out, want, "{f8:?}");
        ran.kernel(f8.kernel().name);
    }
    ran.at_least(1);
}

#[test]
fn refuses_lengths_that_do_not_fit() {
    let error = F8::new(Features::none(), &[0; 15]).unwrap_err();
    assert!(matches!(error, Error::KeyLength { algorithm: "kasumi-f8", given: 15, .. }));
    let f8 = F8::new(Features::none(), &[0; 16]).unwrap();
    for bits in [0, 24, 33] {
        let error = f8.apply(0, 0, 0, InOut::in_place(&mut [0; 4]), bits).unwrap_err();
        assert!(matches!(error, Error::DataLength { algorithm: "kasumi-f8", .. }), "{bits}");
    }
    assert!(F9::new(Features::none(), &[0; 16]).unwrap().mac(0, 0, 0, &[0; 4], 33).is_err());
}

#[test]
fn refuses_parameters_of_too_many_bits() {
    let f8 = F8::new(Features::none(), &[0; 16]).unwrap();
    for (bearer, direction, name) in [(32, 0, "BEARER"), (31, 2, "DIRECTION")] {
        let mut data = *b"as it was";
        let error = f8.apply(0, bearer, direction, InOut::in_place(&mut data), 72).unwrap_err();
        assert!(matches!(error, Error::Parameter { algorithm: "kasumi-f8", name: n, .. } if n == name));
        assert_eq!(&data, b"as it was");
    }
    let error = F9::new(Features::none(), &[0; 16]).unwrap().mac(0, 0, 2, b"", 0).unwrap_err();
    let named = Error::Parameter { algorithm: "kasumi-f9", name: "DIRECTION", given: 2, takes: "0 or 1" };
    assert_eq!(error, named);
}

/// Random messages through every kernel and through Intel's library, where it is installed.
#[cfg(target_arch = "x86_64")]
#[test]
fn agrees_with_ipsec_mb() {
    let Some(intel) = Library::load() else {
        return millstream_testkit::skip("kasumi: Intel's ipsec-mb 1.x (libipsec-mb1) is not installed");
    };
    let mut random = Random::new(5);
    for bits in 1..=400_usize {
        let key = random.array::<16>();
        let (count, fresh) = (random.next_u64() as u32, random.next_u64() as u32);
        let (bearer, direction) = (random.below(32) as u8, random.below(2) as u8);
        let plain = random.bytes(bits.div_ceil(8));
        let theirs = intel.f8(&key, count, bearer, direction, &plain, bits);
        let their_mac = intel.f9(&key, count, fresh, direction, &plain, bits);
        for kernel in UEA1.available(Features::hardware()) {
            let mut ours = plain.clone();
            let f8 = F8::with_kernel(kernel, &key).unwrap();
            f8.apply(count, bearer, direction, InOut::in_place(&mut ours), bits).unwrap();
            assert_eq!(ours, theirs, "{kernel:?}, {bits} bits");
            let f9 = F9::with_kernel(kernel, &key).unwrap();
            let mac = f9.mac(count, fresh, direction, &plain, bits).unwrap();
            assert_eq!(mac, their_mac, "{kernel:?}, {bits} bits");
        }
    }
}
