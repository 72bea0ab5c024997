//! What the tests of C's functions share.

/// Calls a function of C, and requires that it succeeds.
macro_rules! ok {
    ($call:expr) => {{
        let status = unsafe { $call };
        let text = unsafe { std::ffi::CStr::from_ptr(millstream_c::ffi::library::millstream_last_error()) };
        assert_eq!(status, millstream_c::status::Status::Ok, "{}: {text:?}", stringify!($call));
    }};
}
