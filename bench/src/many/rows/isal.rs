//! isa-l_crypto's multi-buffer hashes. The library is loaded at run time from the file that `ISAL_CRYPTO`
//! names, or from the system.
//!
//! Each object in flight has a context. A context that has not ended when its object's turn comes again is
//! flushed.
//!
//! # Safety
//! The types and layouts are those of the library's headers, 2.24 to 2.26. A manager and its
//! contexts belong to one row and stay where they are while it works; a context's object outlives
//! the batch, at whose end every context has ended.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use super::{Cell, Row, Rows, Run};
use crate::case::{Algorithm, Hash};
use crate::many::objects::{Objects, Tag};
use crate::many::work::Work;
use crate::peers::dl::Library;

const FAMILY: &str = "isa-l";
const VARIABLE: &str = "ISAL_CRYPTO";
const LIBRARY: &str = "libisal_crypto.so.2";

/// The flags to begin, take everything, and end.
const ENTIRE: c_int = 3;
const PROCESSING: u32 = 1;
const COMPLETE: u32 = 4;
/// The offset of the digest in a context.
const DIGEST: usize = 64;

type Init = unsafe extern "C" fn(*mut c_void) -> c_int;
type Submit =
    unsafe extern "C" fn(*mut c_void, *mut Context, *mut *mut Context, *const u8, u32, c_int) -> c_int;
type Flush = unsafe extern "C" fn(*mut c_void, *mut *mut Context) -> c_int;

/// The library.
struct Isal {
    library: Library,
    version: String,
}

pub fn load() -> Result<Box<dyn Rows>, String> {
    let path = std::env::var(VARIABLE).unwrap_or_else(|_| LIBRARY.to_owned());
    let library = Library::open(&path).map_err(|why| format!("{FAMILY}: {why}"))?;
    // SAFETY: the types are the header's; the text is a static C string.
    let version = unsafe {
        match library
            .symbol::<unsafe extern "C" fn() -> *const std::ffi::c_char>("isal_crypto_get_version_str")
        {
            Ok(version) => std::ffi::CStr::from_ptr(version()).to_string_lossy().into_owned(),
            Err(_) => "of unknown version".to_owned(),
        }
    };
    Ok(Box::new(Isal { library, version }))
}

impl Rows for Isal {
    fn version(&self) -> (String, String) {
        (FAMILY.to_owned(), format!("isa-l_crypto {}", self.version))
    }

    fn rows(&self, cell: &Cell) -> Vec<Row> {
        let Work::One(case) = cell.work else { return Vec::new() };
        let Algorithm::Digest(hash) = case.algorithm else { return Vec::new() };
        let lanes = Lanes::new(self.library, hash, cell.depth);
        lanes.into_iter().map(|lanes| Row::new(FAMILY, "contexts", "submit, flush", lanes)).collect()
    }
}

/// A context, as large as the largest: SHA-512's takes 576 bytes.
#[repr(C, align(64))]
struct Context([u8; 640]);

/// A manager, with more room than the largest takes.
#[repr(C, align(64))]
struct Manager([u8; 1 << 16]);

struct Lanes {
    submit: Submit,
    flush: Flush,
    manager: Box<Manager>,
    contexts: Vec<Context>,
    hash: Hash,
    /// The offset of a context's status, behind which is its error.
    status: usize,
}

impl Lanes {
    fn new(library: Library, hash: Hash, depth: usize) -> Option<Lanes> {
        let name = |what: &str| format!("isal_{}_ctx_mgr_{what}", hash.name());
        // SAFETY: the types are the header's, and the manager has room.
        let (submit, flush, manager) = unsafe {
            let init: Init = library.symbol(&name("init")).ok()?;
            let mut manager = Box::new(Manager([0; 1 << 16]));
            assert_eq!(init((&raw mut *manager).cast()), 0, "isa-l_crypto made no manager");
            (library.symbol(&name("submit")).ok()?, library.symbol(&name("flush")).ok()?, manager)
        };
        // The job in front of it has a pointer, a length, the digest on a cache line, a status and a pointer.
        let status = (DIGEST + hash.digest_len() + 16).next_multiple_of(64);
        let mut lanes = Lanes { submit, flush, manager, contexts: Vec::new(), hash, status };
        lanes.contexts.resize_with(depth, || Context([0; 640]));
        for context in &mut lanes.contexts {
            context.0[status..status + 4].copy_from_slice(&COMPLETE.to_ne_bytes());
        }
        Some(lanes)
    }

    /// Copies the digest of a context that has ended to its tag.
    #[inline(always)]
    fn settle(&self, ended: *mut Context, tags: &mut [Tag]) {
        // SAFETY: the library gives back contexts that it was given.
        let (index, context) = unsafe { (ended.offset_from(self.contexts.as_ptr()) as usize, &(*ended).0) };
        let (len, tag) = (self.hash.digest_len(), &mut tags[index]);
        tag[..len].copy_from_slice(&context[DIGEST..DIGEST + len]);
        // The states are words in the machine's order, but SHA's digests are big-endian.
        match self.hash {
            Hash::Md5 => {}
            Hash::Sha512 => tag[..len].as_chunks_mut::<8>().0.iter_mut().for_each(|word| word.reverse()),
            _ => tag[..len].as_chunks_mut::<4>().0.iter_mut().for_each(|word| word.reverse()),
        }
    }

    /// Ends one more context. Returns false when there was none.
    #[inline(always)]
    fn flush_one(&mut self, tags: &mut [Tag]) -> bool {
        let mut ended = null_mut();
        // SAFETY: as the heading says.
        let error = unsafe { (self.flush)((&raw mut *self.manager).cast(), &mut ended) };
        assert_eq!(error, 0, "isa-l_crypto did not flush");
        if ended.is_null() {
            return false;
        }
        self.settle(ended, tags);
        true
    }

    #[inline(always)]
    fn processing(&self, context: usize) -> bool {
        // SAFETY: inside and aligned; the library writes it behind the compiler's back.
        let status = unsafe {
            self.contexts.as_ptr().add(context).cast::<u8>().add(self.status).cast::<u32>().read_volatile()
        };
        status & PROCESSING != 0
    }
}

impl Run for Lanes {
    fn batch(&mut self, objects: &mut Objects<'_>, times: u32) {
        let Objects { list, tags } = objects;
        for _ in 0..times {
            for (i, object) in list.iter().enumerate() {
                while self.processing(i) && self.flush_one(tags) {}
                let input = object.data.input();
                let mut ended = null_mut();
                // SAFETY: as the heading says.
                let error = unsafe {
                    let (manager, context) =
                        ((&raw mut *self.manager).cast(), self.contexts.as_mut_ptr().add(i));
                    (self.submit)(manager, context, &mut ended, input.as_ptr(), input.len() as u32, ENTIRE)
                };
                assert_eq!(error, 0, "isa-l_crypto did not take an object");
                if !ended.is_null() {
                    self.settle(ended, tags);
                }
            }
        }
        while self.flush_one(tags) {}
    }
}
