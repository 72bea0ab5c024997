//! Jobs that can pause.
//!
//! Ref. ASYNC_start_job(3), ASYNC_WAIT_CTX_new(3).
//!
//! # Safety
//! A job and its wait context are libcrypto's, and are there as long as the function runs that was called in the job.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::sync::OnceLock;

use super::functions;
use crate::error::{Reason, Result};
use crate::provider::Provider;

/// The stack that is lent to a job, in bytes.
const LENT: usize = 256 << 10;

functions! {
    current = c"ASYNC_get_current_job": fn() -> *mut c_void;
    wait_context = c"ASYNC_get_wait_ctx": fn(*mut c_void) -> *mut c_void;
    pause = c"ASYNC_pause_job": fn() -> c_int;
    set_fd = c"ASYNC_WAIT_CTX_set_wait_fd": fn(*mut c_void, *const c_void, c_int, *mut c_void, *const c_void) -> c_int;
    clear_fd = c"ASYNC_WAIT_CTX_clear_fd": fn(*mut c_void, *const c_void) -> c_int;
    callback = c"ASYNC_WAIT_CTX_get_callback": fn(*mut c_void, *mut *const c_void, *mut *mut c_void) -> c_int;
}

/// The key of the descriptor in a wait context: an address that nobody else uses.
static KEY: u8 = 0;

/// The job that runs on this thread.
pub struct Job {
    provider: Provider,
    wait_context: *mut c_void,
}

impl Job {
    /// Returns that job, if there is one that may be paused.
    ///
    /// A program that wants to be called back rather than wait for a descriptor gets none: its jobs do not pause.
    pub fn current(provider: Provider) -> Option<Self> {
        let functions = provider.libcrypto().job()?;
        // SAFETY: takes nothing; the job is there while it runs; places for two pointers.
        unsafe {
            let job = (functions.current)();
            if job.is_null() {
                return None;
            }
            let wait_context = (functions.wait_context)(job);
            let (mut callback, mut argument) = (ptr::null(), ptr::null_mut());
            if wait_context.is_null()
                || (functions.callback)(wait_context, &mut callback, &mut argument) == 1
                    && !callback.is_null()
            {
                return None;
            }
            Some(Job { provider, wait_context })
        }
    }

    /// Tells whether a job runs on this thread, on its small stack.
    fn is_current(provider: Provider) -> bool {
        // SAFETY: takes nothing and returns a pointer that is only compared.
        provider.libcrypto().job().is_some_and(|functions| !unsafe { (functions.current)() }.is_null())
    }

    /// Calls a function that needs more stack than the 32 KiB of a job: in a job, on a thread that lends its own.
    pub fn with_stack<T: Send>(provider: Provider, make: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        if !Job::is_current(provider) {
            return make();
        }
        std::thread::scope(|scope| {
            let builder = std::thread::Builder::new().stack_size(LENT);
            // The program's signals are for its own threads.
            match millstream::without_signals(|| builder.spawn_scoped(scope, make)) {
                Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                Err(why) => Err(Reason::KEY_SETUP_FAILED.because(format!(
                    "a job has too small a stack for this key, and no thread can be started that has more: {why}"
                ))),
            }
        })
    }

    /// Lets others run. Returns false if the job did not pause: then nobody will come back to it, and it must go on
    /// itself.
    ///
    /// A program that waits for the job sees it ready at once.
    pub fn pause(&self) -> bool {
        let (Some(functions), Some(ready)) = (self.provider.libcrypto().job(), ready()) else { return false };
        let key = (&raw const KEY).cast();
        // SAFETY: the job's wait context, a descriptor that is never closed, and no function to call in the end.
        unsafe {
            if (functions.set_fd)(self.wait_context, key, ready.as_raw_fd(), ptr::null_mut(), ptr::null())
                != 1
            {
                return false;
            }
            let paused = (functions.pause)() == 1;
            (functions.clear_fd)(self.wait_context, key);
            paused
        }
    }
}

/// Returns a descriptor that can always be read.
fn ready() -> Option<&'static OwnedFd> {
    static READY: OnceLock<Option<OwnedFd>> = OnceLock::new();
    READY.get_or_init(|| rustix::event::eventfd(1, rustix::event::EventfdFlags::CLOEXEC).ok()).as_ref()
}
