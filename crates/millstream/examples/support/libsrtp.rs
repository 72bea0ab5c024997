//! Sessions of libsrtp2, the library that others use.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use millstream::srtp::Profile;

/// A policy of libsrtp2 (`srtp_policy_t`), of which only the sizes of what follows the key matter here.
#[repr(C)]
struct Policy {
    ssrc: [u32; 2],
    rtp: [c_int; 6],
    rtcp: [c_int; 6],
    key: *const u8,
    keys: *const c_void,
    num_master_keys: u64,
    deprecated_ekt: *const c_void,
    window_size: u64,
    allow_repeat_tx: c_int,
    enc_xtn_hdr: *const c_int,
    enc_xtn_hdr_count: c_int,
    next: *const Policy,
}

type SetPolicy = unsafe extern "C" fn(*mut [c_int; 6]);
type Protect = unsafe extern "C" fn(*mut c_void, *mut u8, *mut c_int) -> c_int;

/// libsrtp2, with its own types: nothing is preloaded into this test.
struct Library(*mut c_void);

// SAFETY: a handle of the loader, which any thread may use.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    fn get() -> &'static Library {
        static LIBRARY: OnceLock<Library> = OnceLock::new();
        LIBRARY.get_or_init(|| {
            // SAFETY: a name with a zero at its end.
            let handle = unsafe { libc::dlopen(c"libsrtp2.so.1".as_ptr(), libc::RTLD_NOW) };
            assert!(!handle.is_null(), "libsrtp2 is not installed: see `cargo xtask setup`");
            let library = Library(handle);
            // SAFETY: the function of that name takes nothing.
            let status = unsafe { library.function::<unsafe extern "C" fn() -> c_int>("srtp_init\0")() };
            assert_eq!(status, 0);
            library
        })
    }

    /// # Safety
    /// `F` is the type of the function of that name.
    unsafe fn function<F: Copy>(&self, name: &str) -> F {
        // SAFETY: the name ends with a zero.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr().cast()) };
        assert!(!found.is_null(), "{name}");
        // SAFETY: as the caller says.
        unsafe { std::mem::transmute_copy(&found) }
    }
}

/// A session of libsrtp2, in one direction.
pub struct Theirs {
    session: *mut c_void,
    rtp: Protect,
    rtcp: Protect,
}

impl Theirs {
    pub fn new(profile: Profile, key: &[u8], outbound: bool) -> Theirs {
        let (rtp, rtcp) = match profile {
            Profile::Aes128CmSha1Tag80 => ("rtp_default", "rtp_default"),
            Profile::Aes128CmSha1Tag32 => ("aes_cm_128_hmac_sha1_32", "rtp_default"),
            Profile::Aes256CmSha1Tag80 => ("aes_cm_256_hmac_sha1_80", "aes_cm_256_hmac_sha1_80"),
            Profile::AeadAes128Gcm => ("aes_gcm_128_16_auth", "aes_gcm_128_16_auth"),
            Profile::AeadAes256Gcm => ("aes_gcm_256_16_auth", "aes_gcm_256_16_auth"),
        };
        let library = Library::get();
        // SAFETY: zeros are a policy.
        let mut policy: Policy = unsafe { std::mem::zeroed() };
        for (name, place) in [(rtp, &raw mut policy.rtp), (rtcp, &raw mut policy.rtcp)] {
            // SAFETY: functions of these names fill in a policy's part.
            unsafe { library.function::<SetPolicy>(&format!("srtp_crypto_policy_set_{name}\0"))(place) };
        }
        // `ssrc_any_inbound` and `ssrc_any_outbound`.
        (policy.ssrc, policy.key, policy.window_size) = ([2 + u32::from(outbound), 0], key.as_ptr(), 128);
        let mut session = std::ptr::null_mut();
        // SAFETY: the policy and its key are there.
        let create = unsafe {
            library
                .function::<unsafe extern "C" fn(*mut *mut c_void, *const Policy) -> c_int>("srtp_create\0")
        };
        // SAFETY: as above.
        assert_eq!(unsafe { create(&mut session, &policy) }, 0, "{profile:?}");
        let names = if outbound {
            ["srtp_protect\0", "srtp_protect_rtcp\0"]
        } else {
            ["srtp_unprotect\0", "srtp_unprotect_rtcp\0"]
        };
        // SAFETY: the functions of these names have the same type.
        let [rtp, rtcp] = names.map(|name| unsafe { library.function::<Protect>(name) });
        Theirs { session, rtp, rtcp }
    }

    /// Protects or accepts a packet of RTP.
    pub fn rtp(&self, packet: &mut Vec<u8>) -> Result<(), c_int> {
        self.call(self.rtp, packet)
    }

    /// Protects or accepts a packet of RTCP.
    pub fn rtcp(&self, packet: &mut Vec<u8>) -> Result<(), c_int> {
        self.call(self.rtcp, packet)
    }

    fn call(&self, function: Protect, packet: &mut Vec<u8>) -> Result<(), c_int> {
        let mut len = packet.len() as c_int;
        packet.resize(packet.len() + 64, 0);
        // SAFETY: there is more room behind the packet than a trailer takes.
        let status = unsafe { function(self.session, packet.as_mut_ptr(), &mut len) };
        packet.truncate(len as usize);
        if status == 0 { Ok(()) } else { Err(status) }
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        // SAFETY: the session is this one's.
        unsafe {
            Library::get().function::<unsafe extern "C" fn(*mut c_void) -> c_int>("srtp_dealloc\0")(
                self.session,
            )
        };
    }
}
