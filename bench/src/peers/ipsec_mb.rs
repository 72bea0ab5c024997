//! intel-ipsec-mb, Debian's shared library. It is called directly where it has such calls, and otherwise with
//! jobs of which one is outstanding, that is, submitted and flushed object by object.
//!
//! These are direct calls, one object at a time; `many/rows/ipsec_mb.rs` keeps its lanes full. The library
//! gives out its functions in a structure, whose offsets `ipsec_mb_layout.c` prints.
//!
//! # Safety
//! The library's version is compared with that of the header the offsets come from. Keys are
//! expanded into boxes that the row's closure owns and that never move. An [`Io`]'s output has its
//! input's length, its tag 64 bytes.
#![allow(unsafe_code, non_upper_case_globals)]

use std::ffi::{CStr, c_char, c_int, c_void};

use millstream_engines::modes::Direction;

use super::dl::Library;
use super::{Peer, Row};
use crate::case::{AAD, Algorithm, Case, Cipher, Hash, Io, Mode, kasumi};

pub mod layout {
    #![allow(dead_code, missing_docs)]
    include!(concat!(env!("OUT_DIR"), "/ipsec_mb_layout.rs"));
}
use layout::*;

pub type Ptr = *mut c_void;
pub type In = *const c_void;

/// A key or context as the library wants it: aligned to a cache line, at a fixed address.
#[repr(C, align(64))]
pub struct Aligned<const N: usize>([u8; N]);

impl<const N: usize> Aligned<N> {
    pub fn zeroed() -> Box<Self> {
        Box::new(Aligned([0; N]))
    }

    pub fn as_in(&self) -> In {
        self.0.as_ptr().cast()
    }

    pub fn as_out(&mut self) -> Ptr {
        self.0.as_mut_ptr().cast()
    }
}

/// The library's structure of functions and job slots.
#[derive(Clone, Copy)]
pub struct Manager(pub *mut u8);

/// An AES key's schedules for encryption and decryption.
pub type AesKey = (Box<Aligned<240>>, Box<Aligned<240>>);

type KeyExpansion = unsafe extern "C" fn(In, Ptr, Ptr);
type OneBlock = unsafe extern "C" fn(In, Ptr);
pub type Digest = unsafe extern "C" fn(In, u64, Ptr);
pub type Gcm =
    unsafe extern "C" fn(In, Ptr, *mut u8, *const u8, u64, *const u8, *const u8, u64, *mut u8, u64);
pub type ChaChaInit = unsafe extern "C" fn(In, Ptr, In, In, u64);
pub type ChaChaUpdate = unsafe extern "C" fn(In, Ptr, Ptr, In, u64);
pub type ChaChaFinal = unsafe extern "C" fn(Ptr, Ptr, u64);
type KasumiKey = unsafe extern "C" fn(In, Ptr) -> c_int;
pub type KasumiF8 = unsafe extern "C" fn(In, u64, In, Ptr, u32);
pub type KasumiF9 = unsafe extern "C" fn(In, u64, In, u32, Ptr, u32);
pub type Crc = unsafe extern "C" fn(In, u64) -> u32;
pub type JobCall = unsafe extern "C" fn(Ptr) -> *mut u8;

impl Manager {
    /// Returns the function at that offset.
    ///
    /// # Safety
    /// `F` is the type the header gives the field.
    pub unsafe fn function<F: Copy>(self, offset: usize) -> F {
        const { assert!(size_of::<F>() == size_of::<Ptr>()) };
        // SAFETY: the offset is the header's, and the library filled the structure.
        unsafe { self.0.add(offset).cast::<F>().read() }
    }

    pub fn aes_key(self, key: &[u8]) -> AesKey {
        let offset = if key.len() == 16 { MANAGER_keyexp_128 } else { MANAGER_keyexp_256 };
        let (mut encrypt, mut decrypt) = (Aligned::zeroed(), Aligned::zeroed());
        // SAFETY: 15 round keys fit.
        unsafe {
            self.function::<KeyExpansion>(offset)(key.as_ptr().cast(), encrypt.as_out(), decrypt.as_out());
        }
        (encrypt, decrypt)
    }

    /// Returns the schedule of each of a key's one or three DES keys.
    pub fn des_key(self, key: &[u8]) -> Vec<Aligned<128>> {
        // SAFETY: the type is the header's.
        let expand: unsafe extern "C" fn(Ptr, In) -> c_int = unsafe { self.function(MANAGER_des_key_sched) };
        let schedule = |key: &[u8]| {
            let mut schedule = Aligned([0; 128]);
            // SAFETY: 16 rounds of 8 bytes fit.
            unsafe { expand(schedule.as_out(), key.as_ptr().cast()) };
            schedule
        };
        key.chunks(8).map(schedule).collect()
    }

    pub fn gcm_key(self, key: &[u8]) -> Box<Aligned<GCM_KEY>> {
        let offset = if key.len() == 16 { MANAGER_gcm128_pre } else { MANAGER_gcm256_pre };
        let mut expanded = Aligned::zeroed();
        // SAFETY: the type and the size are the header's.
        unsafe { self.function::<OneBlock>(offset)(key.as_ptr().cast(), expanded.as_out()) };
        expanded
    }

    /// Returns the AES schedule and the two subkeys (RFC 4493 §2.3).
    pub fn cmac_key(self, key: &[u8]) -> (AesKey, [Box<Aligned<16>>; 2]) {
        let offset = if key.len() == 16 { MANAGER_cmac_subkey_gen_128 } else { MANAGER_cmac_subkey_gen_256 };
        let schedule = self.aes_key(key);
        let (mut first, mut second) = (Aligned::zeroed(), Aligned::zeroed());
        // SAFETY: the type is the header's, the subkeys are of one block.
        unsafe {
            self.function::<KeyExpansion>(offset)(schedule.0.as_in(), first.as_out(), second.as_out());
        }
        (schedule, [first, second])
    }

    /// Returns the mid-states after the key's block, inner and outer (RFC 2104 §4).
    pub fn hmac_key(self, hash: Hash, key: &[u8]) -> [Box<Aligned<64>>; 2] {
        let (one_block, block) = match hash {
            Hash::Md5 => (MANAGER_md5_one_block, 64),
            Hash::Sha1 => (MANAGER_sha1_one_block, 64),
            Hash::Sha256 => (MANAGER_sha256_one_block, 64),
            Hash::Sha512 => (MANAGER_sha512_one_block, 128),
            Hash::Sha3_256 => unreachable!("the library has no HMAC over SHA-3"),
        };
        [0x36, 0x5c].map(|pad| {
            let mut padded = vec![pad; block];
            for (padded, key) in padded.iter_mut().zip(key) {
                *padded ^= key;
            }
            let mut state = Aligned::zeroed();
            // SAFETY: one block goes in, a state of at most 64 bytes comes out.
            unsafe { self.function::<OneBlock>(one_block)(padded.as_ptr().cast(), state.as_out()) };
            state
        })
    }

    /// Returns a KASUMI key expanded by the function at that offset, for F8 or for F9.
    pub fn kasumi_key(self, offset: usize, key: &[u8]) -> Box<Aligned<KASUMI_KEY>> {
        let mut expanded = Aligned::zeroed();
        // SAFETY: the type and the size are the header's, the key has 16 bytes.
        unsafe { self.function::<KasumiKey>(offset)(key.as_ptr().cast(), expanded.as_out()) };
        expanded
    }

    /// Processes one object as a job: fills it, submits it, and flushes it if it waits for others.
    #[inline(always)]
    fn process(self, calls: &JobCalls, fill: impl FnOnce(Job)) {
        // SAFETY: the slot is ours until it is submitted; with one job outstanding, what comes
        // back is that job.
        unsafe {
            let manager = self.0.cast();
            fill(Job((calls.next)(manager)));
            let mut done = (calls.submit)(manager);
            if done.is_null() {
                done = (calls.flush)(manager);
            }
            let status = done.add(JOB_STATUS).cast::<u32>().read();
            assert_eq!(status, IMB_STATUS_COMPLETED, "ipsec-mb did not complete a job");
        }
    }
}

/// The three calls that a job takes.
struct JobCalls {
    next: JobCall,
    submit: JobCall,
    flush: JobCall,
}

impl JobCalls {
    fn of(manager: Manager) -> JobCalls {
        // SAFETY: the types are the header's.
        unsafe {
            JobCalls {
                next: manager.function(MANAGER_get_next_job),
                submit: manager.function(MANAGER_submit_job_nocheck),
                flush: manager.function(MANAGER_flush_job),
            }
        }
    }
}

/// A job slot being filled.
#[derive(Clone, Copy)]
pub struct Job(pub *mut u8);

impl Job {
    #[inline(always)]
    pub fn set<T>(self, offset: usize, value: T) {
        // SAFETY: the offset is the header's, the field is of `T`'s size, the slot is ours.
        unsafe { self.0.add(offset).cast::<T>().write(value) }
    }

    #[inline(always)]
    fn cipher(self, mode: u32, direction: u32, io: (*const u8, *mut u8, u64)) {
        self.set(JOB_CIPHER_MODE, mode);
        self.set(JOB_DIRECTION, direction);
        self.set(JOB_HASH, IMB_AUTH_NULL);
        let encrypts = direction == IMB_DIR_ENCRYPT;
        self.set(JOB_ORDER, if encrypts { IMB_ORDER_CIPHER_HASH } else { IMB_ORDER_HASH_CIPHER });
        self.set(JOB_SRC, io.0);
        self.set(JOB_DST, io.1);
        self.set(JOB_CIPHER_START, 0u64);
        self.set(JOB_CIPHER_LEN, io.2);
    }

    #[inline(always)]
    fn hash(self, algorithm: u32, input: *const u8, len: u64, tag: *mut u8, tag_len: usize) {
        self.set(JOB_CIPHER_MODE, IMB_CIPHER_NULL);
        self.set(JOB_DIRECTION, IMB_DIR_ENCRYPT);
        self.set(JOB_HASH, algorithm);
        self.set(JOB_ORDER, IMB_ORDER_HASH_CIPHER);
        self.set(JOB_SRC, input);
        self.set(JOB_HASH_START, 0u64);
        self.set(JOB_HASH_LEN, len);
        self.set(JOB_TAG, tag);
        self.set(JOB_TAG_LEN, tag_len as u64);
    }
}

/// The library, loaded and initialised for this processor.
pub struct IpsecMb {
    pub manager: Manager,
    pub version: String,
    kasumi_f8_iv: unsafe extern "C" fn(u32, u8, u8, Ptr) -> c_int,
}

/// The library as a peer of direct calls.
pub fn load() -> Result<Box<dyn Peer>, String> {
    Ok(Box::new(IpsecMb::load()?))
}

impl IpsecMb {
    /// Loads the library and makes a separate manager.
    ///
    /// # Errors
    /// The reason why it can't be had.
    pub fn load() -> Result<IpsecMb, String> {
        let absent = |why: String| format!("ipsec-mb: {why}");
        let library = Library::open("libIPSec_MB.so.1").map_err(absent)?;
        // SAFETY: the types are the header's; the manager is initialised before anything else.
        unsafe {
            let number: unsafe extern "C" fn() -> u32 = library.symbol("imb_get_version").map_err(absent)?;
            let text: unsafe extern "C" fn() -> *const c_char =
                library.symbol("imb_get_version_str").map_err(absent)?;
            let version = CStr::from_ptr(text()).to_string_lossy().into_owned();
            if number() != IMB_VERSION_NUM {
                return Err(format!("ipsec-mb: the library is {version}, the header at build time was not"));
            }
            let allocate: unsafe extern "C" fn(u64) -> *mut u8 =
                library.symbol("alloc_mb_mgr").map_err(absent)?;
            let initialise: unsafe extern "C" fn(*mut u8, *mut u32) =
                library.symbol("init_mb_mgr_auto").map_err(absent)?;
            let manager = allocate(0);
            if manager.is_null() {
                return Err("ipsec-mb: alloc_mb_mgr failed".to_owned());
            }
            let mut tier = 0;
            initialise(manager, &mut tier);
            let kasumi_f8_iv = library.symbol("kasumi_f8_iv_gen").map_err(absent)?;
            let version = format!("ipsec-mb {version}, tier {}", tier_name(tier));
            Ok(IpsecMb { manager: Manager(manager), version, kasumi_f8_iv })
        }
    }
}

fn tier_name(tier: u32) -> &'static str {
    ["none", "no-aesni", "sse", "avx", "avx2", "avx512"].get(tier as usize).unwrap_or(&"unknown")
}

impl IpsecMb {
    fn aes(&self, case: &Case, mode: Mode) -> Option<Row> {
        let mode = match mode {
            Mode::Ecb => IMB_CIPHER_ECB,
            Mode::Cbc => IMB_CIPHER_CBC,
            Mode::Ctr => IMB_CIPHER_CNTR,
            Mode::Cfb | Mode::Xts => return None,
        };
        let manager = self.manager;
        let calls = JobCalls::of(manager);
        let (key, iv, direction) = (case.key(), case.iv(), direction(case));
        let (encrypt, decrypt) = manager.aes_key(&key);
        Row::new("job, one outstanding", move |io| {
            manager.process(&calls, |job| {
                job.cipher(mode, direction, parts(io));
                job.set(JOB_ENC_KEYS, encrypt.as_in());
                job.set(JOB_DEC_KEYS, decrypt.as_in());
                job.set(JOB_KEY_LEN, key.len() as u64);
                job.set(JOB_IV, iv.as_ptr());
                job.set(JOB_IV_LEN, iv.len() as u64);
            });
        })
    }

    fn des(&self, case: &Case, triple: bool) -> Option<Row> {
        let manager = self.manager;
        let calls = JobCalls::of(manager);
        let (iv, direction) = (case.iv(), direction(case));
        let schedules = manager.des_key(&case.key());
        let pointers: Vec<In> = schedules.iter().map(|schedule| schedule.as_in()).collect();
        let mode = if triple { IMB_CIPHER_DES3 } else { IMB_CIPHER_DES };
        Row::new("job, one outstanding", move |io| {
            let keys = if triple { pointers.as_ptr().cast() } else { schedules[0].as_in() };
            manager.process(&calls, |job| {
                job.cipher(mode, direction, parts(io));
                job.set(JOB_ENC_KEYS, keys);
                job.set(JOB_DEC_KEYS, keys);
                job.set(JOB_KEY_LEN, 8 * schedules.len() as u64);
                job.set(JOB_IV, iv.as_ptr());
                job.set(JOB_IV_LEN, iv.len() as u64);
            });
        })
    }

    fn gcm(&self, case: &Case, bits: usize) -> Option<Row> {
        let opens = case.opens();
        let nonce = case.iv();
        let expanded = self.manager.gcm_key(&case.key());
        let mut context = Aligned::<GCM_CONTEXT>::zeroed();
        // SAFETY: the type is the header's.
        let call = unsafe { self.manager.function::<Gcm>(gcm_call(bits, opens)) };
        Row::new("direct", move |io| {
            let (input, output, len) = parts(io);
            let mut tag = [0u8; 16];
            // SAFETY: as above; the nonce has 12 bytes.
            unsafe {
                call(
                    expanded.as_in(),
                    context.as_out(),
                    output,
                    input,
                    len,
                    nonce.as_ptr(),
                    AAD.as_ptr(),
                    AAD.len() as u64,
                    tag.as_mut_ptr(),
                    16,
                );
            }
            settle_tag(io, opens, tag);
        })
    }

    fn chacha20_poly1305(&self, case: &Case) -> Option<Row> {
        let opens = case.opens();
        let (key, nonce) = (case.key(), case.iv());
        let mut context = Aligned::<CHACHA_CONTEXT>::zeroed();
        let update =
            if opens { MANAGER_chacha20_poly1305_dec_update } else { MANAGER_chacha20_poly1305_enc_update };
        // SAFETY: the types are the header's.
        let (init, update, finish): (ChaChaInit, ChaChaUpdate, ChaChaFinal) = unsafe {
            (
                self.manager.function(MANAGER_chacha20_poly1305_init),
                self.manager.function(update),
                self.manager.function(MANAGER_chacha20_poly1305_finalize),
            )
        };
        Row::new("direct init update finalize", move |io| {
            let (input, output, len) = parts(io);
            let mut tag = [0u8; 16];
            let key = key.as_ptr().cast();
            // SAFETY: a context, a key of 32 bytes and a nonce of 12.
            unsafe {
                let aad = AAD.as_ptr().cast();
                init(key, context.as_out(), nonce.as_ptr().cast(), aad, AAD.len() as u64);
                update(key, context.as_out(), output.cast(), input.cast(), len);
                finish(context.as_out(), tag.as_mut_ptr().cast(), 16);
            }
            settle_tag(io, opens, tag);
        })
    }

    fn cmac(&self, case: &Case, bits: usize) -> Option<Row> {
        let manager = self.manager;
        let calls = JobCalls::of(manager);
        let algorithm = if bits == 128 { IMB_AUTH_AES_CMAC } else { IMB_AUTH_AES_CMAC_256 };
        let ((expanded, _), [first, second]) = manager.cmac_key(&case.key());
        Row::new("job, one outstanding", move |io| {
            manager.process(&calls, |job| {
                job.hash(algorithm, io.input.as_ptr(), io.input.len() as u64, io.tag.as_mut_ptr(), 16);
                job.set(JOB_HASH_KEYS, [expanded.as_in(), first.as_in(), second.as_in()]);
            });
        })
    }

    fn digest(&self, hash: Hash) -> Option<Row> {
        let offset = match hash {
            Hash::Md5 | Hash::Sha3_256 => return None,
            Hash::Sha1 => MANAGER_sha1,
            Hash::Sha256 => MANAGER_sha256,
            Hash::Sha512 => MANAGER_sha512,
        };
        // SAFETY: the type is the header's.
        let call: Digest = unsafe { self.manager.function(offset) };
        Row::new("direct", move |io| {
            // SAFETY: the tag has room for the longest digest.
            unsafe { call(io.input.as_ptr().cast(), io.input.len() as u64, io.tag.as_mut_ptr().cast()) }
        })
    }

    fn hmac(&self, case: &Case, hash: Hash) -> Option<Row> {
        let manager = self.manager;
        let calls = JobCalls::of(manager);
        let algorithm = hmac_algorithm(hash)?;
        let [inner, outer] = manager.hmac_key(hash, &case.key());
        let tag_len = hash.digest_len();
        Row::new("job, one outstanding", move |io| {
            manager.process(&calls, |job| {
                let tag = io.tag.as_mut_ptr();
                job.hash(algorithm, io.input.as_ptr(), io.input.len() as u64, tag, tag_len);
                job.set(JOB_HASH_KEYS, [inner.as_in(), outer.as_in()]);
            });
        })
    }

    fn kasumi_f8(&self, case: &Case) -> Option<Row> {
        let key = self.manager.kasumi_key(MANAGER_kasumi_init_f8_key_sched, &case.key());
        let mut iv = 0u64;
        // SAFETY: the types are the header's; the IV has 8 bytes.
        let call: KasumiF8 = unsafe {
            let iv_pointer = (&raw mut iv).cast();
            (self.kasumi_f8_iv)(kasumi::COUNT, kasumi::BEARER, kasumi::DIRECTION, iv_pointer);
            self.manager.function(MANAGER_f8_1_buffer)
        };
        Row::new("direct, 1 buffer", move |io| {
            let (input, output, len) = parts(io);
            // SAFETY: the output has the input's length.
            unsafe { call(key.as_in(), iv, input.cast(), output.cast(), len as u32) }
        })
    }

    fn kasumi_f9(&self, case: &Case) -> Option<Row> {
        let key = self.manager.kasumi_key(MANAGER_kasumi_init_f9_key_sched, &case.key());
        // SAFETY: the type is the header's.
        let call: KasumiF9 = unsafe { self.manager.function(MANAGER_f9_1_buffer_user) };
        // COUNT and FRESH, each big-endian, in the order of memory.
        let iv =
            u64::from_ne_bytes(((u64::from(kasumi::COUNT) << 32) | u64::from(kasumi::FRESH)).to_be_bytes());
        Row::new("direct, 1 buffer", move |io| {
            let bits = 8 * io.input.len() as u32;
            let direction = u32::from(kasumi::DIRECTION);
            // SAFETY: the tag has room for 4 bytes.
            unsafe {
                call(key.as_in(), iv, io.input.as_ptr().cast(), bits, io.tag.as_mut_ptr().cast(), direction);
            }
        })
    }

    fn crc32(&self) -> Option<Row> {
        // SAFETY: the type is the header's.
        let call: Crc = unsafe { self.manager.function(MANAGER_crc32_ethernet_fcs) };
        Row::new("direct", move |io| {
            // SAFETY: reads the input only.
            let crc = unsafe { call(io.input.as_ptr().cast(), io.input.len() as u64) };
            io.tag[..4].copy_from_slice(&crc.to_be_bytes());
        })
    }
}

impl Peer for IpsecMb {
    fn name(&self) -> &str {
        "ipsec-mb"
    }

    fn version(&self) -> String {
        self.version.clone()
    }

    fn row(&self, case: &Case, size: usize) -> Option<Row> {
        let encrypts = case.direction == Direction::Encrypt;
        match case.algorithm {
            // The lanes of CBC encryption and of DES count bytes in 16 bits.
            Algorithm::Cipher(Cipher::Aes(_), Mode::Cbc) if size > 0xffff && encrypts => None,
            Algorithm::Cipher(Cipher::Des | Cipher::Tdes, _) if size > 0xffff => None,
            Algorithm::Cipher(Cipher::Aes(_), mode) => self.aes(case, mode),
            Algorithm::Cipher(Cipher::Des, _) => self.des(case, false),
            Algorithm::Cipher(Cipher::Tdes, _) => self.des(case, true),
            Algorithm::Gcm(bits) => self.gcm(case, bits),
            Algorithm::ChaCha20Poly1305 => self.chacha20_poly1305(case),
            Algorithm::Cmac(bits) => self.cmac(case, bits),
            Algorithm::Digest(hash) => self.digest(hash),
            Algorithm::Hmac(hash) => self.hmac(case, hash),
            // The library silently refuses objects of more than 20,000 bits.
            Algorithm::KasumiF8 | Algorithm::KasumiF9 if size > 2500 => None,
            Algorithm::KasumiF8 => self.kasumi_f8(case),
            Algorithm::KasumiF9 => self.kasumi_f9(case),
            Algorithm::Crc32 => self.crc32(),
            _ => None,
        }
    }
}

pub fn hmac_algorithm(hash: Hash) -> Option<u32> {
    match hash {
        Hash::Md5 => Some(IMB_AUTH_MD5),
        Hash::Sha1 => Some(IMB_AUTH_HMAC_SHA_1),
        Hash::Sha256 => Some(IMB_AUTH_HMAC_SHA_256),
        Hash::Sha512 => Some(IMB_AUTH_HMAC_SHA_512),
        Hash::Sha3_256 => None,
    }
}

/// Returns the offset of the function for GCM in one call.
pub fn gcm_call(bits: usize, opens: bool) -> usize {
    match (bits, opens) {
        (128, false) => MANAGER_gcm128_enc,
        (128, true) => MANAGER_gcm128_dec,
        (_, false) => MANAGER_gcm256_enc,
        (_, true) => MANAGER_gcm256_dec,
    }
}

pub fn direction(case: &Case) -> u32 {
    match case.direction {
        Direction::Encrypt => IMB_DIR_ENCRYPT,
        Direction::Decrypt => IMB_DIR_DECRYPT,
    }
}

/// Returns where to read, where to write, and the number of bytes.
#[inline(always)]
fn parts(io: &mut Io<'_>) -> (*const u8, *mut u8, u64) {
    (io.input.as_ptr(), io.output.as_mut_ptr(), io.input.len() as u64)
}

/// Writes or compares the tag. The library computes it in both directions and leaves the comparison to the
/// caller.
#[inline(always)]
fn settle_tag(io: &mut Io<'_>, opens: bool, tag: [u8; 16]) {
    if opens {
        assert_eq!(io.tag[..16], tag, "ipsec-mb computed another tag");
    } else {
        io.tag[..16].copy_from_slice(&tag);
    }
}
