//! What the tests of KASUMI share: the test sets of TS 35.203 and Intel's library.

/// A test set of f8: key, COUNT, BEARER, DIRECTION, bits, plaintext, ciphertext.
pub type F8Set = (&'static str, u32, u8, u8, usize, &'static str, &'static str);

/// TS 35.203 §3.4 to §3.8; bits beyond the length are zero.
pub const F8_SETS: [F8Set; 5] = [
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
pub type F9Set = (&'static str, u32, u32, u8, usize, &'static str, &'static str);

/// TS 35.203 §4.4 to §4.8.
pub const F9_SETS: [F9Set; 5] = [
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

/// Intel's ipsec-mb, where it is installed.
///
/// # Safety
/// The signatures are those of `intel-ipsec-mb.h` 1.3, which exports these names itself.
#[cfg(target_arch = "x86_64")]
pub mod intel {
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

    pub struct Library {
        expand_f8: Expand,
        expand_f9: Expand,
        f8: F8Bits,
        f9: F9User,
    }

    impl Library {
        /// The library, unless it or one of the names is missing.
        pub fn load() -> Option<Self> {
            // SAFETY: a library without effects on loading; each name has the type it is given.
            unsafe {
                let library = dlopen(c"libIPSec_MB.so.1".as_ptr(), 2);
                let find = |name: &CStr| {
                    let at = if library.is_null() { library } else { dlsym(library, name.as_ptr()) };
                    (!at.is_null()).then_some(at)
                };
                let (f8_key, f9_key) = (c"kasumi_init_f8_key_sched_sse", c"kasumi_init_f9_key_sched_sse");
                Some(Library {
                    expand_f8: std::mem::transmute::<*mut c_void, Expand>(find(f8_key)?),
                    expand_f9: std::mem::transmute::<*mut c_void, Expand>(find(f9_key)?),
                    f8: std::mem::transmute::<*mut c_void, F8Bits>(find(c"kasumi_f8_1_buffer_bit_sse")?),
                    f9: std::mem::transmute::<*mut c_void, F9User>(find(c"kasumi_f9_1_buffer_user_sse")?),
                })
            }
        }

        pub fn f8(
            &self,
            key: &[u8; 16],
            count: u32,
            bearer: u8,
            direction: u8,
            data: &[u8],
            bits: usize,
        ) -> Vec<u8> {
            let [a, b, c, d] = count.to_be_bytes();
            let iv = u64::from_le_bytes([a, b, c, d, bearer << 3 | direction << 2, 0, 0, 0]);
            let (mut schedule, mut out) = (Schedule([0; 128]), data.to_vec());
            // SAFETY: the buffers hold the bits, the schedule is as large as theirs.
            unsafe {
                (self.expand_f8)(key.as_ptr(), &mut schedule);
                (self.f8)(&schedule, iv, data.as_ptr(), out.as_mut_ptr(), bits as u32, 0);
            }
            out
        }

        pub fn f9(
            &self,
            key: &[u8; 16],
            count: u32,
            fresh: u32,
            direction: u8,
            message: &[u8],
            bits: usize,
        ) -> [u8; 4] {
            let iv = u64::from_be(u64::from(count) << 32 | u64::from(fresh));
            let (mut schedule, mut mac) = (Schedule([0; 128]), [0; 4]);
            // SAFETY: as in `f8`; the code has room for 4 bytes.
            unsafe {
                (self.expand_f9)(key.as_ptr(), &mut schedule);
                let to = mac.as_mut_ptr();
                (self.f9)(&schedule, iv, message.as_ptr(), bits as u32, to, u32::from(direction));
            }
            mac
        }
    }
}
