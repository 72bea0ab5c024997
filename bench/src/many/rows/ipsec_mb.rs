//! intel-ipsec-mb with its lanes as full as the objects in flight make them.
//!
//! - `job`: an object is submitted as soon as fewer than all are outstanding; one is flushed only when all
//!   are.
//! - `burst`: the same with half of the objects at a time (128 at most).
//! - `jobs, then flush` and `burst, then flush`: all objects are submitted, then all are flushed. With
//!   few in flight this keeps more lanes busy than flushing one at a time.
//! - `cipher burst` and `hash burst`: an array of jobs of one algorithm at a time, without the
//!   queue, where the library has that for the algorithm; for a chain one after the other.
//! - `direct`: one object after another, for algorithms that have no lanes.
//!
//! None of the calls checks its arguments. In the jobs of a queue every field is written for every object, as
//! a program must. In those of an array, only the fields that differ between objects are written.
//!
//! # Safety
//! Offsets and types are the installed header's, and the library is of the header's version. Keys are boxed,
//! belong to the rows' plans and never move. An object's output is as long as its input, and either the same
//! memory or disjoint; a tag has 64 bytes. Everything that is submitted has ended when `batch` returns.
#![allow(unsafe_code)]

use std::ptr::null_mut;
use std::rc::Rc;

use super::{Cell, Row, Rows, Run};
use crate::case::{AAD, Algorithm, Cipher, Hash, Mode, kasumi};
use crate::many::objects::{Memory, Object, Objects, Tag};
use crate::many::work::{Keys, Sizes, Work};
use crate::peers::ipsec_mb::layout::*;
use crate::peers::ipsec_mb::{
    Aligned, Crc, Gcm, In, IpsecMb, Job, JobCall, KasumiF8, KasumiF9, Manager, Ptr, direction, gcm_call,
    hmac_algorithm,
};

const FAMILY: &str = "ipsec-mb";

type BurstCall = unsafe extern "C" fn(Ptr, u32, *mut *mut u8) -> u32;
type CipherBurst = unsafe extern "C" fn(Ptr, *mut u8, u32, u32, u32, u32) -> u32;
type HashBurst = unsafe extern "C" fn(Ptr, *mut u8, u32, u32) -> u32;

pub fn load() -> Result<Box<dyn Rows>, String> {
    Ok(Box::new(IpsecMb::load()?))
}

impl Rows for IpsecMb {
    fn version(&self) -> (String, String) {
        (FAMILY.to_owned(), self.version.clone())
    }

    fn rows(&self, cell: &Cell) -> Vec<Row> {
        // The library's lanes count bytes in 16 bits.
        if cell.sizes.longest() > 0xf000 {
            return Vec::new();
        }
        let (manager, work) = (self.manager, cell.work);
        let case = match work {
            Work::Null => return queue_rows(manager, cell, Nothing),
            Work::EncryptThenMac(cipher, hash) => {
                let (Some(cipher), Some(hmac)) = (
                    BlockCipher::new(manager, cell, cipher, Mode::Cbc),
                    Hmac::new(manager, cell, hash, Work::mac_key),
                ) else {
                    return Vec::new();
                };
                return queue_rows(manager, cell, Chain { cipher, hmac });
            }
            Work::One(case) => case,
        };
        match case.algorithm {
            Algorithm::Cipher(cipher, mode) => match BlockCipher::new(manager, cell, cipher, mode) {
                Some(plan) => queue_rows(manager, cell, plan),
                None => Vec::new(),
            },
            Algorithm::Gcm(bits) => {
                let mut rows = queue_rows(manager, cell, Aead::gcm(manager, cell));
                rows.push(gcm_direct(manager, cell, bits));
                rows
            }
            Algorithm::ChaCha20Poly1305 => queue_rows(manager, cell, Aead::chacha20_poly1305(cell)),
            Algorithm::Cmac(bits) => queue_rows(manager, cell, Cmac::new(manager, cell, bits)),
            Algorithm::Digest(hash) => match plain_hash(hash) {
                Some(algorithm) => queue_rows(manager, cell, Plain { algorithm, tag_len: hash.digest_len() }),
                None => Vec::new(),
            },
            Algorithm::Hmac(hash) => match Hmac::new(manager, cell, hash, Work::key) {
                Some(plan) => queue_rows(manager, cell, plan),
                None => Vec::new(),
            },
            // The library silently refuses objects of more than 20,000 bits.
            Algorithm::KasumiF8 | Algorithm::KasumiF9 if cell.sizes.longest() > 2500 => Vec::new(),
            Algorithm::KasumiF8 => kasumi_f8(manager, cell),
            Algorithm::KasumiF9 => vec![kasumi_f9(manager, cell)],
            // The library's CRC32-SCTP has CRC-32C's polynomial, but is another code.
            Algorithm::Crc32 => {
                let mut rows =
                    queue_rows(manager, cell, Plain { algorithm: IMB_AUTH_CRC32_ETHERNET_FCS, tag_len: 4 });
                rows.push(crc32(manager));
                rows
            }
            _ => Vec::new(),
        }
    }
}

/// A description of jobs.
trait Plan: 'static {
    /// Sets the fields that are the same for all objects.
    fn constant(&self, job: Job);
    /// Sets the fields that differ.
    fn each(&self, job: Job, object: &mut Object<'_>, tag: &mut Tag);
    /// Returns the mode, direction and bytes of key, if there is a cipher.
    fn cipher(&self) -> Option<(u32, u32, u32)> {
        None
    }
    /// Returns the hash, if there is one that has a burst of its own.
    fn hash(&self) -> Option<u32> {
        None
    }
    /// Compares tags that were only computed, after all objects have ended.
    fn end(&self, _tags: &[Tag]) {}
}

/// Returns the queue's rows, and those of the arrays that the library accepts.
fn queue_rows<P: Plan>(manager: Manager, cell: &Cell, plan: P) -> Vec<Row> {
    /// The number in flight above which the lanes are full either way.
    const FEW: usize = 64;
    let (depth, plan) = (cell.depth, Rc::new(plan));
    let jobs = |drain| JobQueue { manager, depth, drain, plan: plan.clone() };
    let bursts = |drain| BurstQueue { manager, depth, drain, plan: plan.clone() };
    let mut rows = vec![Row::new(FAMILY, "job", "submit, get completed, flush", jobs(false))];
    if depth > 1 {
        rows.push(Row::new(FAMILY, "burst", "submit, flush", bursts(false)));
    }
    if (2..=FEW).contains(&depth) {
        rows.push(Row::new(FAMILY, "jobs, then flush", "submit, get completed, flush", jobs(true)));
        rows.push(Row::new(FAMILY, "burst, then flush", "submit, flush", bursts(true)));
    }
    let way = match (plan.cipher(), plan.hash()) {
        (Some(_), None) => "cipher burst",
        (None, Some(_)) => "hash burst",
        (Some(_), Some(_)) => "both bursts",
        (None, None) => return rows,
    };
    let array = JobArray::new(manager, plan);
    if array.accepted(cell.work) {
        rows.push(Row::new(FAMILY, way, "an array of jobs", array));
    }
    rows
}

/// Checks that a job has ended well, as a queue's user does.
#[inline(always)]
fn check(job: *const u8) {
    // SAFETY: a job of the library's.
    let status = unsafe { job.add(JOB_STATUS).cast::<u32>().read() };
    assert_eq!(status, IMB_STATUS_COMPLETED, "ipsec-mb did not complete a job");
}

struct JobQueue<P> {
    manager: Manager,
    depth: usize,
    /// True when all objects end before any is taken up again.
    drain: bool,
    plan: Rc<P>,
}

impl<P: Plan> Run for JobQueue<P> {
    fn batch(&mut self, objects: &mut Objects<'_>, times: u32) {
        let (manager, plan) = (self.manager.0.cast(), &*self.plan);
        let Objects { list, tags } = objects;
        let mut outstanding = 0;
        // SAFETY: as the heading says.
        unsafe {
            let next: JobCall = self.manager.function(MANAGER_get_next_job);
            let submit: JobCall = self.manager.function(MANAGER_submit_job_nocheck);
            let completed: JobCall = self.manager.function(MANAGER_get_completed_job);
            let flush: JobCall = self.manager.function(MANAGER_flush_job);
            for time in 0..times {
                for (object, tag) in list.iter_mut().zip(tags.iter_mut()) {
                    if outstanding == self.depth {
                        check(flush(manager));
                        outstanding -= 1;
                    }
                    let job = Job(next(manager));
                    plan.constant(job);
                    plan.each(job, object, tag);
                    let mut done = submit(manager);
                    outstanding += 1;
                    while !done.is_null() {
                        check(done);
                        outstanding -= 1;
                        done = completed(manager);
                    }
                }
                while outstanding > 0 && (self.drain || time + 1 == times) {
                    check(flush(manager));
                    outstanding -= 1;
                }
            }
        }
        plan.end(tags);
    }
}

struct BurstQueue<P> {
    manager: Manager,
    depth: usize,
    /// The same as in [`JobQueue`].
    drain: bool,
    plan: Rc<P>,
}

/// Room for a burst of jobs.
type Slots = [*mut u8; IMB_MAX_BURST_SIZE as usize];

/// Ends up to `most` outstanding jobs; returns how many.
///
/// Version 1.3 miscounts the jobs in its ring when that wraps, and may flush nothing. The call for one job
/// does not use that count.
///
/// # Safety
/// The manager is initialised and has that many jobs.
#[inline(always)]
unsafe fn flush_burst(manager: Manager, most: usize, slots: &mut Slots) -> usize {
    let most = most.min(slots.len());
    // SAFETY: the types are the header's; there are that many slots.
    unsafe {
        let flush: BurstCall = manager.function(MANAGER_flush_burst);
        let done = flush(manager.0.cast(), most as u32, slots.as_mut_ptr()) as usize;
        if done > 0 {
            slots[..done].iter().for_each(|&job| check(job));
            return done;
        }
        let flush: JobCall = manager.function(MANAGER_flush_job);
        let job = flush(manager.0.cast());
        assert!(!job.is_null(), "ipsec-mb flushed nothing");
        check(job);
        1
    }
}

impl<P: Plan> Run for BurstQueue<P> {
    fn batch(&mut self, objects: &mut Objects<'_>, times: u32) {
        let (manager, plan) = (self.manager.0.cast(), &*self.plan);
        let Objects { list, tags } = objects;
        let most = if self.drain { self.depth } else { self.depth.div_ceil(2) };
        let most = most.min(IMB_MAX_BURST_SIZE as usize);
        let mut slots: Slots = [null_mut(); IMB_MAX_BURST_SIZE as usize];
        let mut outstanding = 0;
        // SAFETY: as the heading says; no more slots are asked for than there is room for.
        unsafe {
            let next: BurstCall = self.manager.function(MANAGER_get_next_burst);
            let submit: BurstCall = self.manager.function(MANAGER_submit_burst_nocheck);
            for time in 0..times {
                let mut at = 0;
                while at < list.len() {
                    let wanted = most.min(list.len() - at);
                    while outstanding + wanted > self.depth {
                        outstanding -= flush_burst(self.manager, wanted, &mut slots);
                    }
                    let given = next(manager, wanted as u32, slots.as_mut_ptr()) as usize;
                    if given == 0 {
                        outstanding -= flush_burst(self.manager, wanted.min(outstanding), &mut slots);
                        continue;
                    }
                    for (i, &slot) in slots[..given].iter().enumerate() {
                        plan.constant(Job(slot));
                        plan.each(Job(slot), &mut list[at + i], &mut tags[at + i]);
                    }
                    let done = submit(manager, given as u32, slots.as_mut_ptr()) as usize;
                    slots[..done].iter().for_each(|&job| check(job));
                    outstanding = outstanding + given - done;
                    at += given;
                }
                while outstanding > 0 && (self.drain || time + 1 == times) {
                    outstanding -= flush_burst(self.manager, outstanding, &mut slots);
                }
            }
        }
        plan.end(tags);
    }
}

/// An array of jobs that the caller owns.
struct JobArray<P> {
    manager: Manager,
    plan: Rc<P>,
    jobs: Box<Aligned<{ JOB_SIZE * IMB_MAX_BURST_SIZE as usize }>>,
}

impl<P: Plan> JobArray<P> {
    fn new(manager: Manager, plan: Rc<P>) -> Self {
        let mut array = JobArray { manager, plan, jobs: Aligned::zeroed() };
        for i in 0..IMB_MAX_BURST_SIZE as usize {
            array.plan.clone().constant(array.job(i));
        }
        array
    }

    #[inline(always)]
    fn job(&mut self, i: usize) -> Job {
        assert!(i < IMB_MAX_BURST_SIZE as usize);
        // SAFETY: inside the array.
        Job(unsafe { self.jobs.as_out().cast::<u8>().add(i * JOB_SIZE) })
    }

    /// Returns true when the library takes such jobs as an array, by trying one with the call that checks its
    /// arguments.
    fn accepted(&self, work: Work) -> bool {
        let mut array = JobArray::new(self.manager, self.plan.clone());
        let mut memory = Memory::new(work, Sizes::Equal(64), 1, Keys::Same, 0);
        let (mut objects, _) = memory.objects();
        array.plan.clone().each(array.job(0), &mut objects.list[0], &mut objects.tags[0]);
        array.submit(1, MANAGER_submit_cipher_burst, MANAGER_submit_hash_burst)
    }

    /// Processes the first `count` jobs. Returns false when some were not.
    #[inline(always)]
    fn submit(&mut self, count: u32, cipher_burst: usize, hash_burst: usize) -> bool {
        let (manager, jobs) = (self.manager.0.cast(), self.jobs.as_out().cast());
        let mut all = true;
        // SAFETY: as the heading says; there are that many jobs.
        unsafe {
            if let Some((mode, direction, key)) = self.plan.cipher() {
                let call: CipherBurst = self.manager.function(cipher_burst);
                all &= call(manager, jobs, count, mode, direction, key) == count;
            }
            if let Some(hash) = self.plan.hash() {
                let call: HashBurst = self.manager.function(hash_burst);
                all &= call(manager, jobs, count, hash) == count;
            }
        }
        all
    }
}

impl<P: Plan> Run for JobArray<P> {
    fn batch(&mut self, objects: &mut Objects<'_>, times: u32) {
        const MOST: usize = IMB_MAX_BURST_SIZE as usize;
        let plan = self.plan.clone();
        let Objects { list, tags } = objects;
        for _ in 0..times {
            for (list, tags) in list.chunks_mut(MOST).zip(tags.chunks_mut(MOST)) {
                for (i, (object, tag)) in list.iter_mut().zip(tags).enumerate() {
                    plan.each(self.job(i), object, tag);
                }
                let (cipher, hash) = (MANAGER_submit_cipher_burst_nocheck, MANAGER_submit_hash_burst_nocheck);
                assert!(self.submit(list.len() as u32, cipher, hash), "ipsec-mb did not complete a burst");
            }
        }
        plan.end(tags);
    }
}

/// AES-CBC and CTR, DES and triple DES.
struct BlockCipher {
    mode: u32,
    direction: u32,
    key_len: usize,
    iv_len: usize,
    /// Pointers to each key's expansion, which lives in `_memory`.
    keys: Vec<(In, In)>,
    _memory: Vec<CipherKey>,
}

/// The expansion of a key.
#[allow(dead_code)]
enum CipherKey {
    Aes(crate::peers::ipsec_mb::AesKey),
    Des(Vec<Aligned<128>>, Vec<In>),
}

impl BlockCipher {
    fn new(manager: Manager, cell: &Cell, cipher: Cipher, mode: Mode) -> Option<Self> {
        let mode = match (cipher, mode) {
            (Cipher::Aes(_), Mode::Cbc) => IMB_CIPHER_CBC,
            (Cipher::Aes(_), Mode::Ctr) => IMB_CIPHER_CNTR,
            (Cipher::Des, Mode::Cbc) => IMB_CIPHER_DES,
            (Cipher::Tdes, Mode::Cbc) => IMB_CIPHER_DES3,
            _ => return None,
        };
        let work = cell.work;
        let memory = cell.each_key(|k| match cipher {
            Cipher::Aes(_) => CipherKey::Aes(manager.aes_key(&work.key(k))),
            _ => {
                let schedules = manager.des_key(&work.key(k));
                let pointers = schedules.iter().map(|schedule| schedule.as_in()).collect();
                CipherKey::Des(schedules, pointers)
            }
        });
        let pointers = |memory: &CipherKey| match memory {
            CipherKey::Aes((encrypt, decrypt)) => (encrypt.as_in(), decrypt.as_in()),
            CipherKey::Des(schedules, _) if schedules.len() == 1 => {
                (schedules[0].as_in(), schedules[0].as_in())
            }
            CipherKey::Des(_, pointers) => (pointers.as_ptr().cast(), pointers.as_ptr().cast()),
        };
        Some(BlockCipher {
            mode,
            direction: direction(&work.cipher_case()),
            key_len: work.key(0).len(),
            iv_len: work.iv_len(),
            keys: memory.iter().map(pointers).collect(),
            _memory: memory,
        })
    }
}

impl Plan for BlockCipher {
    #[inline(always)]
    fn constant(&self, job: Job) {
        job.set(JOB_CIPHER_MODE, self.mode);
        job.set(JOB_DIRECTION, self.direction);
        job.set(JOB_HASH, IMB_AUTH_NULL);
        job.set(JOB_ORDER, IMB_ORDER_CIPHER_HASH);
        job.set(JOB_KEY_LEN, self.key_len as u64);
        job.set(JOB_IV_LEN, self.iv_len as u64);
        job.set(JOB_CIPHER_START, 0u64);
    }

    #[inline(always)]
    fn each(&self, job: Job, object: &mut Object<'_>, _: &mut Tag) {
        let (encrypt, decrypt) = self.keys[object.key];
        let (input, output, len) = object.data.parts();
        job.set(JOB_ENC_KEYS, encrypt);
        job.set(JOB_DEC_KEYS, decrypt);
        job.set(JOB_SRC, input);
        job.set(JOB_DST, output);
        job.set(JOB_CIPHER_LEN, len as u64);
        job.set(JOB_IV, object.iv.as_ptr());
    }

    #[inline(always)]
    fn cipher(&self) -> Option<(u32, u32, u32)> {
        Some((self.mode, self.direction, self.key_len as u32))
    }
}

/// Sets the common fields of jobs that only hash.
#[inline(always)]
fn constant_hash(job: Job, algorithm: u32, tag_len: usize) {
    job.set(JOB_CIPHER_MODE, IMB_CIPHER_NULL);
    job.set(JOB_DIRECTION, IMB_DIR_ENCRYPT);
    job.set(JOB_ORDER, IMB_ORDER_HASH_CIPHER);
    job.set(JOB_HASH, algorithm);
    job.set(JOB_HASH_START, 0u64);
    job.set(JOB_TAG_LEN, tag_len as u64);
}

#[inline(always)]
fn each_hash(job: Job, object: &mut Object<'_>, tag: &mut Tag) {
    let input = object.data.input();
    job.set(JOB_SRC, input.as_ptr());
    job.set(JOB_HASH_LEN, input.len() as u64);
    job.set(JOB_TAG, tag.as_mut_ptr());
}

/// A hash or checksum without a key.
struct Plain {
    algorithm: u32,
    tag_len: usize,
}

fn plain_hash(hash: Hash) -> Option<u32> {
    match hash {
        Hash::Md5 | Hash::Sha3_256 => None,
        Hash::Sha1 => Some(IMB_AUTH_SHA_1),
        Hash::Sha256 => Some(IMB_AUTH_SHA_256),
        Hash::Sha512 => Some(IMB_AUTH_SHA_512),
    }
}

impl Plan for Plain {
    #[inline(always)]
    fn constant(&self, job: Job) {
        constant_hash(job, self.algorithm, self.tag_len);
    }

    #[inline(always)]
    fn each(&self, job: Job, object: &mut Object<'_>, tag: &mut Tag) {
        each_hash(job, object, tag);
    }

    #[inline(always)]
    fn hash(&self) -> Option<u32> {
        Some(self.algorithm)
    }
}

struct Hmac {
    algorithm: u32,
    tag_len: usize,
    keys: Vec<[Box<Aligned<64>>; 2]>,
}

impl Hmac {
    fn new(manager: Manager, cell: &Cell, hash: Hash, key: fn(Work, usize) -> Vec<u8>) -> Option<Self> {
        let algorithm = hmac_algorithm(hash)?;
        let keys = cell.each_key(|k| manager.hmac_key(hash, &key(cell.work, k)));
        Some(Hmac { algorithm, tag_len: hash.digest_len(), keys })
    }
}

impl Plan for Hmac {
    #[inline(always)]
    fn constant(&self, job: Job) {
        constant_hash(job, self.algorithm, self.tag_len);
    }

    #[inline(always)]
    fn each(&self, job: Job, object: &mut Object<'_>, tag: &mut Tag) {
        let [inner, outer] = &self.keys[object.key];
        each_hash(job, object, tag);
        job.set(JOB_HASH_KEYS, [inner.as_in(), outer.as_in()]);
    }

    #[inline(always)]
    fn hash(&self) -> Option<u32> {
        Some(self.algorithm)
    }
}

struct Cmac {
    algorithm: u32,
    keys: Vec<(crate::peers::ipsec_mb::AesKey, [Box<Aligned<16>>; 2])>,
}

impl Cmac {
    fn new(manager: Manager, cell: &Cell, bits: usize) -> Self {
        let algorithm = if bits == 128 { IMB_AUTH_AES_CMAC } else { IMB_AUTH_AES_CMAC_256 };
        Cmac { algorithm, keys: cell.each_key(|k| manager.cmac_key(&cell.work.key(k))) }
    }
}

impl Plan for Cmac {
    #[inline(always)]
    fn constant(&self, job: Job) {
        constant_hash(job, self.algorithm, 16);
    }

    #[inline(always)]
    fn each(&self, job: Job, object: &mut Object<'_>, tag: &mut Tag) {
        let ((schedule, _), [first, second]) = &self.keys[object.key];
        each_hash(job, object, tag);
        job.set(JOB_HASH_KEYS, [schedule.as_in(), first.as_in(), second.as_in()]);
    }

    #[inline(always)]
    fn hash(&self) -> Option<u32> {
        Some(self.algorithm)
    }
}

/// CBC encryption, then HMAC.
struct Chain {
    cipher: BlockCipher,
    hmac: Hmac,
}

impl Plan for Chain {
    #[inline(always)]
    fn constant(&self, job: Job) {
        self.hmac.constant(job);
        self.cipher.constant(job);
        job.set(JOB_HASH, self.hmac.algorithm);
    }

    #[inline(always)]
    fn each(&self, job: Job, object: &mut Object<'_>, tag: &mut Tag) {
        // The hash's input is given by its distance from the cipher's input, which is zero in place.
        self.hmac.each(job, object, tag);
        self.cipher.each(job, object, tag);
    }

    #[inline(always)]
    fn cipher(&self) -> Option<(u32, u32, u32)> {
        self.cipher.cipher()
    }

    #[inline(always)]
    fn hash(&self) -> Option<u32> {
        self.hmac.hash()
    }
}

/// A job that asks for nothing.
struct Nothing;

impl Plan for Nothing {
    #[inline(always)]
    fn constant(&self, job: Job) {
        constant_hash(job, IMB_AUTH_NULL, 0);
    }

    #[inline(always)]
    fn each(&self, job: Job, object: &mut Object<'_>, tag: &mut Tag) {
        each_hash(job, object, tag);
    }
}

/// GCM or ChaCha20-Poly1305. The library computes tags in both directions. For `open`, each is written after
/// the expected one and compared at the end of a batch, which is in the library's favour.
struct Aead {
    mode: u32,
    hash: u32,
    direction: u32,
    key_len: usize,
    keys: Vec<In>,
    _memory: Vec<AeadKey>,
    opens: bool,
}

#[allow(dead_code)]
enum AeadKey {
    Gcm(Box<Aligned<GCM_KEY>>),
    ChaCha(Box<Aligned<32>>),
}

impl Aead {
    fn gcm(manager: Manager, cell: &Cell) -> Self {
        let keys = cell.each_key(|k| AeadKey::Gcm(manager.gcm_key(&cell.work.key(k))));
        Aead::new(cell, IMB_CIPHER_GCM, IMB_AUTH_AES_GMAC, keys)
    }

    fn chacha20_poly1305(cell: &Cell) -> Self {
        let keys = cell.each_key(|k| {
            let mut key = Aligned::zeroed();
            // SAFETY: 32 bytes each.
            unsafe { key.as_out().cast::<u8>().copy_from(cell.work.key(k).as_ptr(), 32) };
            AeadKey::ChaCha(key)
        });
        Aead::new(cell, IMB_CIPHER_CHACHA20_POLY1305, IMB_AUTH_CHACHA20_POLY1305, keys)
    }

    fn new(cell: &Cell, mode: u32, hash: u32, memory: Vec<AeadKey>) -> Self {
        let pointer = |key: &AeadKey| match key {
            AeadKey::Gcm(key) => key.as_in(),
            AeadKey::ChaCha(key) => key.as_in(),
        };
        Aead {
            mode,
            hash,
            direction: direction(&cell.work.cipher_case()),
            key_len: cell.work.key(0).len(),
            keys: memory.iter().map(pointer).collect(),
            _memory: memory,
            opens: cell.work.opens(),
        }
    }
}

impl Plan for Aead {
    #[inline(always)]
    fn constant(&self, job: Job) {
        job.set(JOB_CIPHER_MODE, self.mode);
        job.set(JOB_DIRECTION, self.direction);
        job.set(JOB_HASH, self.hash);
        let encrypts = self.direction == IMB_DIR_ENCRYPT;
        job.set(JOB_ORDER, if encrypts { IMB_ORDER_CIPHER_HASH } else { IMB_ORDER_HASH_CIPHER });
        job.set(JOB_KEY_LEN, self.key_len as u64);
        job.set(JOB_IV_LEN, 12u64);
        job.set(JOB_CIPHER_START, 0u64);
        job.set(JOB_HASH_START, 0u64);
        job.set(JOB_TAG_LEN, 16u64);
        // In both, the associated data comes first and its length next.
        job.set(JOB_HASH_KEYS, (AAD.as_ptr(), AAD.len() as u64));
    }

    #[inline(always)]
    fn each(&self, job: Job, object: &mut Object<'_>, tag: &mut Tag) {
        let key = self.keys[object.key];
        let (input, output, len) = object.data.parts();
        job.set(JOB_ENC_KEYS, key);
        job.set(JOB_DEC_KEYS, key);
        job.set(JOB_SRC, input);
        job.set(JOB_DST, output);
        job.set(JOB_CIPHER_LEN, len as u64);
        job.set(JOB_HASH_LEN, len as u64);
        job.set(JOB_IV, object.iv.as_ptr());
        job.set(JOB_TAG, tag[if self.opens { 16 } else { 0 }..].as_mut_ptr());
    }

    #[inline(always)]
    fn cipher(&self) -> Option<(u32, u32, u32)> {
        Some((self.mode, self.direction, self.key_len as u32))
    }

    fn end(&self, tags: &[Tag]) {
        if self.opens {
            assert!(tags.iter().all(|tag| tag[..16] == tag[16..32]), "ipsec-mb computed another tag");
        }
    }
}

fn gcm_direct(manager: Manager, cell: &Cell, bits: usize) -> Row {
    let opens = cell.work.opens();
    let keys = cell.each_key(|k| manager.gcm_key(&cell.work.key(k)));
    let mut context = Aligned::<GCM_CONTEXT>::zeroed();
    // SAFETY: the type is the header's.
    let call: Gcm = unsafe { manager.function(gcm_call(bits, opens)) };
    Row::each(FAMILY, "direct", "one call each", move |object, tag| {
        let (input, output, len) = object.data.parts();
        let (key, iv) = (keys[object.key].as_in(), object.iv.as_ptr());
        let mut computed = [0; 16];
        let place = if opens { computed.as_mut_ptr() } else { tag.as_mut_ptr() };
        // SAFETY: as the heading says; the nonce has 12 bytes.
        unsafe {
            let (aad, aad_len) = (AAD.as_ptr(), AAD.len() as u64);
            call(key, context.as_out(), output, input, len as u64, iv, aad, aad_len, place, 16);
        }
        if opens {
            assert_eq!(tag[..16], computed, "ipsec-mb computed another tag");
        }
    })
}

/// Returns the IV as one word, in the order of memory.
#[inline(always)]
fn kasumi_iv(object: &Object<'_>) -> u64 {
    u64::from_ne_bytes(*object.iv.first_chunk().expect("8 bytes"))
}

fn kasumi_f8(manager: Manager, cell: &Cell) -> Vec<Row> {
    let key = |k| manager.kasumi_key(MANAGER_kasumi_init_f8_key_sched, &cell.work.key(k));
    let keys = cell.each_key(key);
    // SAFETY: the types are the header's.
    let (one, many): (KasumiF8, KasumiF8Many) =
        unsafe { (manager.function(MANAGER_f8_1_buffer), manager.function(MANAGER_f8_n_buffer)) };
    let mut rows = vec![Row::each(FAMILY, "direct", "1 buffer", move |object, _| {
        let iv = kasumi_iv(object);
        let (input, output, len) = object.data.parts();
        // SAFETY: as the heading says.
        unsafe { one(keys[object.key].as_in(), iv, input.cast(), output.cast(), len as u32) }
    })];
    if cell.keys == Keys::Same && cell.depth > 1 {
        let key = key(0);
        rows.push(Row::new(FAMILY, "n buffers", "16 buffers a call", move |objects: &mut Objects<'_>| {
            for some in objects.list.chunks_mut(16) {
                let (mut ivs, mut inputs, mut outputs, mut lens) =
                    ([0; 16], [std::ptr::null(); 16], [null_mut(); 16], [0; 16]);
                for (i, object) in some.iter_mut().enumerate() {
                    ivs[i] = kasumi_iv(object);
                    let (input, output, len) = object.data.parts();
                    (inputs[i], outputs[i], lens[i]) = (input.cast(), output.cast(), len as u32);
                }
                let (inputs, outputs) = (inputs.as_ptr(), outputs.as_mut_ptr());
                // SAFETY: as the heading says; the arrays have as many elements as the call is told.
                unsafe { many(key.as_in(), ivs.as_ptr(), inputs, outputs, lens.as_ptr(), some.len() as u32) }
            }
        }));
    }
    rows
}

type KasumiF8Many = unsafe extern "C" fn(In, *const u64, *const In, *mut Ptr, *const u32, u32);

fn kasumi_f9(manager: Manager, cell: &Cell) -> Row {
    let keys = cell.each_key(|k| manager.kasumi_key(MANAGER_kasumi_init_f9_key_sched, &cell.work.key(k)));
    // SAFETY: the type is the header's.
    let call: KasumiF9 = unsafe { manager.function(MANAGER_f9_1_buffer_user) };
    Row::each(FAMILY, "direct", "1 buffer", move |object, tag| {
        let (iv, input) = (kasumi_iv(object), object.data.input());
        let (bits, direction) = (8 * input.len() as u32, u32::from(kasumi::DIRECTION));
        let key = keys[object.key].as_in();
        // SAFETY: as the heading says.
        unsafe { call(key, iv, input.as_ptr().cast(), bits, tag.as_mut_ptr().cast(), direction) };
    })
}

fn crc32(manager: Manager) -> Row {
    // SAFETY: the type is the header's.
    let call: Crc = unsafe { manager.function(MANAGER_crc32_ethernet_fcs) };
    Row::each(FAMILY, "direct", "crc32_ethernet_fcs", move |object, tag| {
        let input = object.data.input();
        // SAFETY: reads the input only.
        let crc = unsafe { call(input.as_ptr().cast(), input.len() as u64) };
        tag[..4].copy_from_slice(&crc.to_le_bytes());
    })
}
