//! KASUMI, f8 and f9 on every kernel, against TS 35.203.

use millstream_cpu::Features;
use millstream_engines::kasumi::{F8, F9, Ops, UEA1, UIA1};
use millstream_engines::{Bound, Engine, Error, InOut, Timing};
use millstream_testkit::{Guarded, Ran, Random, executes, feature_subsets, hex, hex_array};

/// A test set of f8: key, COUNT, BEARER, DIRECTION, bits, plaintext, ciphertext.
type F8Set = (&'static str, u32, u8, u8, usize, &'static str, &'static str);

/// TS 35.203 §3.4 to §3.8; bits beyond the length are zero.
const F8_SETS: [F8Set; 5] = [
    (
        "2bd6459f82c5b300952c49104881ff48",
        0x72a4f20f,
        0x0c,
        1,
        798,
        "7ec61272743bf1614726446a6c38ced166f6ca76eb5430044286346cef130f92922b03450d3a9975
         e5bd2ea0eb55ad8e1b199e3ec4316020e9a1b285e762795359b7bdfd39bef4b2484583d5afe082ae
         e638bf5fd5a606193901a08f4ab41aab9b134880",
        "d1e2de70eef86c6964fb542bc2d460aabfaa10a4a093262b7d199e706fc2d4891553296910f3a973
         012682e41c4e2b02be2017b7253bbf9309de5819cb42e81956f4c99bc9765caf53b1d0bb8279826a
         dbbc5522e915c120a618a5a7f5e897089339650c",
    ),
    (
        "efa8b2229e720c2a7c36ea55e9605695",
        0xe28bcf7b,
        0x18,
        0,
        510,
        "10111231e060253a43fd3f57e37607ab2827b599b6b1bbda37a8abcc5a8c550d1bfb2f494624fb50
         367fa36ce3bc68f11cf93b1510376b02130f812a9fa169d8",
        "3deacc7c15821caa89eecade9b5bd3614bd0c8419d710385ddbe5849ef1bac5ae8b14a5b0a674152
         1eb4e00bb9ecf3e9f7ccb9cae74152d7f4e2a034b6ea00ec",
    ),
    (
        "d3c5d592327fb11c4035c6680af8c6d1",
        0x398a59b4,
        0x05,
        1,
        253,
        "981ba6824c1bfb1ab485472029b71d808ce33e2cc3c0b5fc1f3de8a6dc66b1f0",
        "5bb9431bb1e98bd11b93db7c3d45136559bb86a295aa204ecbebf6f7a5101510",
    ),
    (
        "5acb1d644c0d51204ea5f1451010d852",
        0xfa556b26,
        0x03,
        1,
        120,
        "ad9c441f890b38c457a49d421407e8",
        "9bc92ca803c67b28a11a4bee5a0c25",
    ),
    (
        "6090eae04c83706eecbf652be8e36566",
        0x72a4f20f,
        0x09,
        0,
        837,
        "40981ba6824c1bfb4286b299783daf442c099f7ab0f58d5c8e46b104f08f01b41ab485472029b71d
         36bd1a3d90dc3a41b46d51672ac4c9663a2be063da4bc8d2808ce33e2cccbfc634e1b259060876a0
         fbb5a437ebcc8d31c19e4454318745e3987645987a986f2cb0",
        "ddb364dd2aaec24dff291957b78bad063ac579cd9041babe89fd195c0578cb9fde42175661 78d202
         40206d07cfa619ec059f63514459fc10d42dc9934e56ebc0cbc60d4d2df174774cbdcd5da4a35031
         7a7f12e1949471f8a295f272e68fc07159b07d8e2d26e45998",
    ),
];

/// A test set of f9: key, COUNT, FRESH, DIRECTION, bits, message, MAC.
type F9Set = (&'static str, u32, u32, u8, usize, &'static str, &'static str);

/// TS 35.203 §4.4 to §4.8.
const F9_SETS: [F9Set; 5] = [
    (
        "2bd6459f82c5b300952c49104881ff48",
        0x38a6f056,
        0x05d2ec49,
        0,
        189,
        "6b227737296f393c8079353edc87e2e805d2ec49a4f2d8e0",
        "f63bd72c",
    ),
    (
        "d42f682428201cafcd9f97945e6de7b7",
        0x3edc87e2,
        0xa4f2d8e2,
        1,
        254,
        "b5924384328a4ae00b737109f8b6c8dd2b4db63dd533981ceb19aad52a5b2bc0",
        "a9daf1ff",
    ),
    (
        "fdb9cfdf28936cc483a31869d81b8fab",
        0x36af6144,
        0x9838f03a,
        1,
        319,
        "5932bc0ace2b0aba33d8ac188ac54f346fad10bf9dee2920b43bd0c53a915cb7df6caa72053abff2",
        "1537d316",
    ),
    (
        "c736c6aab22bfff91e2698d2e22ad57e",
        0x14793e41,
        0x0397e8fd,
        1,
        384,
        "d0a7d463df9fb2b278833fa02e235aa172bd970c1473e12907fb648b6599aaa0b24a038665422b20
         a499276a50427009",
        "dd7dfadd",
    ),
    (
        "f4ebec69e73eaf2eb2cf6af4b3120ffd",
        0x296f393c,
        0x6b227737,
        1,
        1000,
        "10bfff839e0c71658dbb2d1707e145724f41c16f48bf403c3b18e38fd5d1663b6f6d900193e3cea8
         bb4f1b4f5be822032232a78d7d75238d5e6daecd3b4322cf59bc7ea84ab18811b5bfb7bc553f4fe4
         4478ce287a14879990d18d12ca79d2c855149021cd5ce8ca0371ca04fcce143e3d7cfee94585b588
         5cac46068b",
        "c383839d",
    ),
];

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
///
/// # Safety
/// The signatures are those of `intel-ipsec-mb.h` 1.3, which exports these names itself.
#[cfg(target_arch = "x86_64")]
mod intel {
    use super::*;
    use std::ffi::{CStr, c_char, c_int, c_void};

    unsafe extern "C" {
        fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
        fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    }

    /// Two schedules of 64 words, in whole cache lines.
    #[repr(C, align(64))]
    struct Schedule([u16; 128]);

    type Expand = unsafe extern "C" fn(*const u8, *mut Schedule) -> c_int;
    type F8Bits = unsafe extern "C" fn(*const Schedule, u64, *const u8, *mut u8, u32, u32);
    type F9User = unsafe extern "C" fn(*const Schedule, u64, *const u8, u32, *mut u8, u32);

    struct Library {
        expand_f8: Expand,
        expand_f9: Expand,
        f8: F8Bits,
        f9: F9User,
    }

    /// The library, unless it or one of the names is missing.
    fn library() -> Option<Library> {
        // SAFETY: a library without effects on loading; each name has the type it is given.
        unsafe {
            let library = dlopen(c"libIPSec_MB.so.1".as_ptr(), 2);
            let find = |name: &CStr| {
                let at = if library.is_null() { library } else { dlsym(library, name.as_ptr()) };
                (!at.is_null()).then_some(at)
            };
            Some(Library {
                expand_f8: std::mem::transmute::<*mut c_void, Expand>(find(c"kasumi_init_f8_key_sched_sse")?),
                expand_f9: std::mem::transmute::<*mut c_void, Expand>(find(c"kasumi_init_f9_key_sched_sse")?),
                f8: std::mem::transmute::<*mut c_void, F8Bits>(find(c"kasumi_f8_1_buffer_bit_sse")?),
                f9: std::mem::transmute::<*mut c_void, F9User>(find(c"kasumi_f9_1_buffer_user_sse")?),
            })
        }
    }

    #[test]
    fn agrees_with_ipsec_mb() {
        let Some(intel) = library() else {
            return millstream_testkit::skip("kasumi: Intel's ipsec-mb 1.x (libipsec-mb1) is not installed");
        };
        let mut random = Random::new(5);
        for bits in 1..=400_usize {
            let key = random.array::<16>();
            let (count, fresh) = (random.next_u64() as u32, random.next_u64() as u32);
            let (bearer, direction) = (random.below(32) as u8, random.below(2) as u8);
            let plain = random.bytes(bits.div_ceil(8));
            let mut theirs = plain.clone();
            let mut their_mac = [0; 4];
            let f8_vector = [&count.to_be_bytes()[..], &[bearer << 3 | direction << 2, 0, 0, 0]].concat();
            let f9_vector = [count.to_be_bytes(), fresh.to_be_bytes()].concat();
            let word = |bytes: Vec<u8>| u64::from_le_bytes(bytes.try_into().unwrap());
            let mut schedule = Schedule([0; 128]);
            // SAFETY: the buffers hold the bits, the schedule is as large as theirs.
            unsafe {
                (intel.expand_f8)(key.as_ptr(), &mut schedule);
                let (from, to) = (plain.as_ptr(), theirs.as_mut_ptr());
                (intel.f8)(&schedule, word(f8_vector), from, to, bits as u32, 0);
                (intel.expand_f9)(key.as_ptr(), &mut schedule);
                let mac = their_mac.as_mut_ptr();
                (intel.f9)(&schedule, word(f9_vector), from, bits as u32, mac, direction as u32);
            }
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
}
