//! The provider as OpenSSL loaded it into one library context: how to call back, and what the configuration says.
//!
//! # Safety
//! The core's functions and its handle are valid until the provider's teardown, and OpenSSL frees every context of a provider
//! before that (provider(7)): so a [`Provider`] in a context is never dangling.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use millstream::isolated::{Attach, Grants, environment};

use crate::abi::{self, CoreHandle, Dispatch, Function, OsslParam};
use crate::error::Reason;
use crate::libcrypto::Libcrypto;

type GetParams = unsafe extern "C" fn(*const CoreHandle, *mut OsslParam) -> c_int;
type GetLibctx = unsafe extern "C" fn(*const CoreHandle) -> *mut c_void;
type NewError = unsafe extern "C" fn(*const CoreHandle);
type SetErrorDebug = unsafe extern "C" fn(*const CoreHandle, *const c_char, c_int, *const c_char);
type VsetError = unsafe extern "C" fn(*const CoreHandle, u32, *const c_char, *mut c_void);

/// The type of both functions that make objects known: they take three texts.
type CreateObject =
    unsafe extern "C" fn(*const CoreHandle, *const c_char, *const c_char, *const c_char) -> c_int;

/// A stream that the core has handed to a decoder or an encoder.
#[repr(C)]
pub struct Bio {
    _opaque: [u8; 0],
}

type BioRead = unsafe extern "C" fn(*mut Bio, *mut c_void, usize, *mut usize) -> c_int;
type BioWrite = unsafe extern "C" fn(*mut Bio, *const c_void, usize, *mut usize) -> c_int;
type BioGets = unsafe extern "C" fn(*mut Bio, *mut c_char, c_int) -> c_int;

/// The functions of the core that a provider may call.
#[derive(Clone, Copy, Default)]
struct Core {
    get_params: Option<GetParams>,
    get_libctx: Option<GetLibctx>,
    new_error: Option<NewError>,
    set_error_debug: Option<SetErrorDebug>,
    vset_error: Option<VsetError>,
    create_object: Option<CreateObject>,
    add_signature: Option<CreateObject>,
    bio_read: Option<BioRead>,
    bio_write: Option<BioWrite>,
    bio_gets: Option<BioGets>,
}

struct Inner {
    handle: *const CoreHandle,
    core: Core,
    configuration: OnceLock<Configuration>,
    /// An atomic, not a lock: a child that is forked meanwhile would wait for a lock for ever.
    begun: AtomicBool,
    libcrypto: Libcrypto,
}

/// The configuration from the provider's section of openssl.cnf and from the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// The options with which the service is asked, where keys are to be isolated.
    pub service: Option<Attach>,
    /// True if only private keys that a program loads are to be isolated. Keys of ciphers and MACs, and private keys that
    /// the program generates, as for a key exchange, stay in the process.
    pub loaded_only: bool,
    /// The file to which counters are added.
    pub tally: Option<PathBuf>,
    /// The version of the libcrypto that loaded the module, major and minor; zeros where it does not tell.
    pub openssl: (u32, u32),
}

/// The answers to the line `isolated`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Isolated {
    No,
    /// Only private keys that a program loads.
    Private,
    /// All keys.
    Yes,
}

impl Isolated {
    /// Reads the answer. Whoever writes the line wants keys out of reach, so what is not understood keeps all of them out.
    fn of(answer: &str) -> Self {
        match &*answer.trim().to_ascii_lowercase() {
            "no" | "false" | "off" | "0" => Isolated::No,
            "private" => Isolated::Private,
            _ => Isolated::Yes,
        }
    }
}

/// A provider in a library context. It is valid as long as OpenSSL has a context of it.
#[derive(Clone, Copy)]
pub struct Provider(NonNull<Inner>);

// SAFETY: the core's functions may be called by any thread, and nothing of `Inner` changes but a `OnceLock`.
unsafe impl Send for Provider {}
// SAFETY: as above.
unsafe impl Sync for Provider {}

impl Provider {
    /// Takes the arguments of `OSSL_provider_init`. Calls nothing and reads nothing else.
    ///
    /// # Safety
    /// `handle` and the table `functions` (ending with 0) come from OpenSSL and are valid until teardown.
    pub unsafe fn new(handle: *const CoreHandle, mut functions: *const Dispatch) -> Self {
        let mut core = Core::default();
        // SAFETY: the table ends with 0; each function has the type that its number stands for.
        unsafe {
            while !functions.is_null() && (*functions).id != 0 {
                let Dispatch { id, function } = *functions;
                match id {
                    abi::CORE_GET_PARAMS => {
                        core.get_params = std::mem::transmute::<Option<Function>, Option<GetParams>>(function)
                    }
                    abi::CORE_GET_LIBCTX => {
                        core.get_libctx = std::mem::transmute::<Option<Function>, Option<GetLibctx>>(function)
                    }
                    abi::CORE_NEW_ERROR => {
                        core.new_error = std::mem::transmute::<Option<Function>, Option<NewError>>(function)
                    }
                    abi::CORE_SET_ERROR_DEBUG => {
                        core.set_error_debug =
                            std::mem::transmute::<Option<Function>, Option<SetErrorDebug>>(function);
                    }
                    abi::CORE_VSET_ERROR => {
                        core.vset_error = std::mem::transmute::<Option<Function>, Option<VsetError>>(function)
                    }
                    abi::CORE_BIO_READ_EX => {
                        core.bio_read = std::mem::transmute::<Option<Function>, Option<BioRead>>(function)
                    }
                    abi::CORE_BIO_WRITE_EX => {
                        core.bio_write = std::mem::transmute::<Option<Function>, Option<BioWrite>>(function)
                    }
                    abi::CORE_OBJ_CREATE => {
                        core.create_object =
                            std::mem::transmute::<Option<Function>, Option<CreateObject>>(function);
                    }
                    abi::CORE_OBJ_ADD_SIGID => {
                        core.add_signature =
                            std::mem::transmute::<Option<Function>, Option<CreateObject>>(function);
                    }
                    abi::CORE_BIO_GETS => {
                        core.bio_gets = std::mem::transmute::<Option<Function>, Option<BioGets>>(function)
                    }
                    _ => {}
                }
                functions = functions.add(1);
            }
        }
        // SAFETY: only where it lies matters; `Libcrypto` never calls it.
        let inside =
            unsafe { std::mem::transmute::<Option<GetLibctx>, Option<abi::Function>>(core.get_libctx) };
        let libcrypto = Libcrypto::with(inside);
        let inner = Box::new(Inner {
            handle,
            core,
            configuration: OnceLock::new(),
            begun: AtomicBool::new(false),
            libcrypto,
        });
        Provider(NonNull::from(Box::leak(inner)))
    }

    /// Returns the pointer that OpenSSL keeps.
    pub fn into_raw(self) -> *mut c_void {
        self.0.as_ptr().cast()
    }

    /// Recovers the provider from that pointer.
    ///
    /// # Safety
    /// It comes from [`Provider::into_raw`], and the provider has not been torn down.
    pub unsafe fn from_raw(raw: *mut c_void) -> Option<Self> {
        NonNull::new(raw.cast()).map(Provider)
    }

    /// Frees the provider.
    ///
    /// # Safety
    /// No context of it is left, and nothing uses it again.
    pub unsafe fn tear_down(self) {
        // SAFETY: `new` leaked a box.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }

    fn inner(&self) -> &Inner {
        // SAFETY: not torn down while there are contexts (see above).
        unsafe { self.0.as_ref() }
    }

    /// Returns the library context that the provider was loaded into.
    pub fn library_context(self) -> *mut c_void {
        let Inner { handle, core, .. } = self.inner();
        // SAFETY: the core's own function and handle.
        core.get_libctx.map_or(ptr::null_mut(), |get| unsafe { get(*handle) })
    }

    /// Returns the libcrypto that loaded the provider.
    pub fn libcrypto(&self) -> &Libcrypto {
        &self.inner().libcrypto
    }

    /// Puts an error into OpenSSL's queue, under the default provider's library number, so that texts are the same.
    pub fn raise(self, reason: &Reason) {
        if [Reason::SILENT, Reason::TOLD_BELOW_ZERO].contains(reason) {
            return;
        }
        let Inner { handle, core, .. } = self.inner();
        let (Some(new_error), Some(vset_error)) = (core.new_error, core.vset_error) else { return };
        // The text has no conversions, so that no arguments are looked for.
        let detail = reason.detail.as_deref().map(|text| format!("{}\0", text.replace('%', "%%")));
        let format = detail.as_ref().map_or(ptr::null(), |text| text.as_ptr().cast());
        // A `va_list` is passed by its address on every machine we build for, and is at most 32 bytes.
        let mut no_arguments = [0u64; 4];
        // SAFETY: the core's own functions and handle; the format is a C string without arguments.
        unsafe {
            new_error(*handle);
            if let Some(set_error_debug) = core.set_error_debug {
                set_error_debug(*handle, c"millstream".as_ptr(), 0, c"millstream".as_ptr());
            }
            vset_error(*handle, reason.packed(), format, no_arguments.as_mut_ptr().cast());
        }
    }

    /// Reads from a stream that the core has handed to a call that still goes on. Returns the bytes that were read; none at the end.
    pub fn read(self, bio: *mut Bio, place: &mut [u8]) -> Option<usize> {
        let mut read = 0;
        // SAFETY: the core's own function and stream, and a place as long as it says.
        let done =
            unsafe { (self.inner().core.bio_read?)(bio, place.as_mut_ptr().cast(), place.len(), &mut read) };
        (done == 1).then_some(read.min(place.len()))
    }

    /// Reads a line from such a stream, or as much of it as there is room for before a terminator. Returns its bytes; none at the end.
    pub fn read_line(self, bio: *mut Bio, place: &mut [u8]) -> Option<usize> {
        // SAFETY: the core's own function and stream, and a place as long as it says.
        let len =
            unsafe { (self.inner().core.bio_gets?)(bio, place.as_mut_ptr().cast(), place.len() as c_int) };
        usize::try_from(len).ok().filter(|len| (1..=place.len()).contains(len))
    }

    /// Writes bytes to such a stream.
    pub fn write(self, bio: *mut Bio, mut bytes: &[u8]) -> Option<()> {
        let write = self.inner().core.bio_write?;
        while !bytes.is_empty() {
            let mut written = 0;
            // SAFETY: the core's own function and stream, and as many bytes as it says.
            let done = unsafe { write(bio, bytes.as_ptr().cast(), bytes.len(), &mut written) };
            bytes = bytes.get(written..).filter(|_| done == 1 && written > 0)?;
        }
        Some(())
    }

    /// Makes an object known: its identifier, its short name and its long one. One that libcrypto knows already stays as it is.
    pub fn name_object(self, [oid, short, long]: &[&CStr; 3]) {
        let Inner { handle, core, .. } = self.inner();
        let Some(create) = core.create_object else { return };
        // SAFETY: the core's own function and handle, and C strings, which it copies.
        unsafe { create(*handle, oid.as_ptr(), short.as_ptr(), long.as_ptr()) };
    }

    /// Tells libcrypto that signatures and their keys have the same object, which has that name, and that no digest stands beside it.
    pub fn name_signature(self, name: &CStr) {
        let Inner { handle, core, .. } = self.inner();
        let Some(add) = core.add_signature else { return };
        // SAFETY: the core's own function and handle, and C strings that name what it knows.
        unsafe { add(*handle, name.as_ptr(), c"".as_ptr(), name.as_ptr()) };
    }

    /// Returns true for the first caller only.
    pub fn begins(self) -> bool {
        !self.inner().begun.swap(true, Ordering::Relaxed)
    }

    /// Returns the configuration, which is read once, at the first use.
    pub fn configuration(&self) -> &Configuration {
        self.inner().configuration.get_or_init(|| self.configure())
    }

    fn configure(self) -> Configuration {
        let socket = self.line(c"socket").map(PathBuf::from);
        let isolated = self.line(c"isolated").map(|answer| Isolated::of(&answer));
        let loaded_only = isolated == Some(Isolated::Private);
        let socket = match isolated {
            Some(Isolated::No) => None,
            Some(_) => Some(path("MILLSTREAM_SOCKET").or(socket).unwrap_or_default()),
            None => path("MILLSTREAM_SOCKET").or(socket),
        };
        // An empty path stands for the usual places.
        let service =
            socket.map(|path| Grants::options(Some(path).filter(|path| !path.as_os_str().is_empty())));
        let tally = path("MILLSTREAM_TALLY").or_else(|| self.line(c"tally").map(PathBuf::from));
        Configuration { service, loaded_only, tally, openssl: self.openssl() }
    }

    /// Asks the core for its version, major and minor; zeros where it does not tell.
    pub fn openssl(self) -> (u32, u32) {
        let version = self.line(c"openssl-version").and_then(|version| {
            let mut numbers = version.split('.').map(|number| number.parse().ok());
            Some((numbers.next()??, numbers.next()??))
        });
        version.unwrap_or_default()
    }

    /// Returns true if keys of ciphers and MACs, and private keys that are generated, are to be isolated too.
    pub fn isolates_all(self) -> bool {
        let configuration = self.configuration();
        configuration.service.is_some() && !configuration.loaded_only
    }

    /// Returns the core's value for a name: its own version, or a line of the provider's section.
    pub fn line(self, name: &'static CStr) -> Option<String> {
        let Inner { handle, core, .. } = self.inner();
        let mut text: *const c_char = ptr::null();
        let place = (&raw mut text).cast();
        let param = OsslParam {
            data: place,
            data_size: size_of::<*const c_char>(),
            ..OsslParam::described(name, abi::UTF8_PTR)
        };
        let mut params = [param, OsslParam::END];
        // SAFETY: the core's own function and handle; the array is terminated, and its place has room for a pointer.
        let answered = unsafe { core.get_params?(*handle, params.as_mut_ptr()) };
        if answered != 1 || text.is_null() {
            return None;
        }
        // SAFETY: the core points to the text that it keeps of the configuration.
        Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }
}

/// Returns the path that the environment names, where the environment may be believed.
fn path(variable: &str) -> Option<PathBuf> {
    environment(variable).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_understood_keeps_keys_out_of_the_process() {
        for (answers, isolated) in [
            (&["no", "No", "false", "off", "0", " no "][..], Isolated::No),
            (&["private", "Private", "PRIVATE", "private "], Isolated::Private),
            (&["yes", "YES", "True", "on", "1", "privat", "", "keys"], Isolated::Yes),
        ] {
            for answer in answers {
                assert_eq!(Isolated::of(answer), isolated, "{answer:?}");
            }
        }
    }
}
