//! Parameters: names with places for values, as OpenSSL passes them.
//!
//! Ref. OSSL_PARAM(3), OSSL_PARAM_int(3).
//!
//! # Safety
//! [`Params::new`] is the one place where a caller's array becomes a value; what it promises there (a terminated array whose
//! places are as long as they say, alive for the call) is the witness of every access here.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_void};
use std::marker::PhantomData;
use std::{ptr, slice, str};

use crate::abi::{INTEGER, OCTET_PTR, OCTET_STRING, OsslParam, UNSIGNED_INTEGER, UTF8_PTR, UTF8_STRING};
use crate::error::{Reason, Result};

/// Parameters of one call.
#[derive(Clone, Copy)]
pub struct Params<'a> {
    first: *mut OsslParam,
    call: PhantomData<&'a OsslParam>,
}

impl<'a> Params<'a> {
    /// Wraps the parameters from `first` on; none where that is null.
    ///
    /// # Safety
    /// `first` is null, or an array that ends with a parameter without a name and whose names and places are valid for `'a`.
    pub unsafe fn new(first: *const OsslParam) -> Self {
        Params { first: first.cast_mut(), call: PhantomData }
    }

    /// No parameters.
    pub const NONE: Params<'static> = Params { first: ptr::null_mut(), call: PhantomData };

    /// Returns the array, for functions that take one.
    pub fn as_ptr(self) -> *mut OsslParam {
        self.first
    }

    /// Tells whether there is no parameter.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.into_iter().next().is_none()
    }

    /// Returns the parameter of that name.
    pub fn find(self, name: &CStr) -> Option<Param<'a>> {
        self.into_iter().find(|param| param.key() == name)
    }
}

impl<'a> IntoIterator for Params<'a> {
    type Item = Param<'a>;
    type IntoIter = Iter<'a>;

    #[inline]
    fn into_iter(self) -> Iter<'a> {
        Iter { next: self.first, call: PhantomData }
    }
}

impl OsslParam {
    /// Calls `taker` with parameters that have these names, types and values.
    pub fn tell(
        parts: &[(&'static CStr, u32, &[u8])],
        taker: &mut dyn FnMut(Params<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut params: Vec<OsslParam> = Vec::with_capacity(parts.len() + 1);
        params.extend(parts.iter().map(|(name, data_type, value)| OsslParam {
            data: value.as_ptr().cast_mut().cast(),
            data_size: value.len(),
            ..OsslParam::described(name, *data_type)
        }));
        params.push(OsslParam::END);
        // SAFETY: a terminated array whose values live as long as the call.
        taker(unsafe { Params::new(params.as_ptr()) })
    }
}

/// An iterator over parameters.
pub struct Iter<'a> {
    next: *mut OsslParam,
    call: PhantomData<&'a OsslParam>,
}

impl<'a> Iterator for Iter<'a> {
    type Item = Param<'a>;

    #[inline]
    fn next(&mut self) -> Option<Param<'a>> {
        // SAFETY: not null, and not yet past the one without a name.
        if self.next.is_null() || unsafe { (*self.next).key.is_null() } {
            return None;
        }
        let param = Param { at: self.next, call: PhantomData };
        // SAFETY: this one has a name, so there is another.
        self.next = unsafe { self.next.add(1) };
        Some(param)
    }
}

/// One parameter.
pub struct Param<'a> {
    at: *mut OsslParam,
    call: PhantomData<&'a OsslParam>,
}

impl<'a> Param<'a> {
    /// Returns the name.
    pub fn key(&self) -> &'a CStr {
        // SAFETY: a name is a C string that lives as long as the call.
        unsafe { CStr::from_ptr((*self.at).key) }
    }

    fn raw(&self) -> OsslParam {
        // SAFETY: `at` is inside the array.
        unsafe { *self.at }
    }

    /// Returns a number as a size.
    pub fn size(&self) -> Result<usize> {
        let raw = self.raw();
        let bytes = self.bytes_of(raw, &[INTEGER, UNSIGNED_INTEGER])?;
        let mut value = 0u64;
        for (i, byte) in bytes.iter().enumerate() {
            match (i, byte) {
                (0..8, _) => value |= u64::from(*byte) << (8 * i),
                (_, 0) => {}
                _ => return Err(Reason::FAILED_TO_GET_PARAMETER),
            }
        }
        let negative = raw.data_type == INTEGER && bytes.last().is_some_and(|top| top & 0x80 != 0);
        if negative {
            return Err(Reason::FAILED_TO_GET_PARAMETER);
        }
        usize::try_from(value).map_err(|_| Reason::FAILED_TO_GET_PARAMETER)
    }

    /// Copies a number without a sign, which may be longer than the place, to the end of it, big-endian.
    pub fn copy_big_endian(&self, place: &mut [u8]) -> Result<()> {
        let bytes = self.bytes_of(self.raw(), &[UNSIGNED_INTEGER])?;
        place.fill(0);
        let mut excess = 0;
        for i in 0..bytes.len() {
            let byte = bytes[if cfg!(target_endian = "little") { i } else { bytes.len() - 1 - i }];
            match place.len().checked_sub(i + 1) {
                Some(at) => place[at] = byte,
                None => excess |= byte,
            }
        }
        // A number that is too long for its kind of key is wrong, and no secret.
        if excess == 0 { Ok(()) } else { Err(Reason::INVALID_KEY_LENGTH) }
    }

    /// Returns the bytes that a number without a sign takes here.
    pub fn number_len(&self) -> Result<usize> {
        Ok(self.bytes_of(self.raw(), &[UNSIGNED_INTEGER])?.len())
    }

    /// Returns a number that fits in 32 bits.
    pub fn uint(&self) -> Result<u32> {
        u32::try_from(self.size()?).map_err(|_| Reason::FAILED_TO_GET_PARAMETER)
    }

    /// Returns the bytes at each of so many addresses, all as long as the parameter says: the value of `pipeline-tag`.
    pub fn octets_of_each(&self, places: usize) -> Result<Vec<&'a mut [u8]>> {
        let raw = self.raw();
        if raw.data_type != OCTET_PTR || raw.data.is_null() {
            return Err(Reason::FAILED_TO_GET_PARAMETER);
        }
        // SAFETY: the place of a pointer holds one, to an array of as many pointers as there are pipes.
        let first = unsafe { *raw.data.cast::<*const *mut u8>() };
        if first.is_null() {
            return Err(Reason::FAILED_TO_GET_PARAMETER);
        }
        let each = (0..places).map(|i| {
            // SAFETY: each points to so many bytes that are this call's, or is null.
            unsafe {
                let at = *first.add(i);
                (!at.is_null()).then(|| slice::from_raw_parts_mut(at, raw.data_size))
            }
        });
        each.collect::<Option<_>>().ok_or(Reason::FAILED_TO_GET_PARAMETER)
    }

    /// Returns bytes.
    pub fn octets(&self) -> Result<&'a [u8]> {
        self.bytes_of(self.raw(), &[OCTET_STRING])
    }

    /// Returns the first `len` bytes of a parameter that gives another length.
    pub fn octets_exactly(&self, len: usize) -> Result<&'a [u8]> {
        self.bytes_of(OsslParam { data_size: len, ..self.raw() }, &[OCTET_STRING])
    }

    /// Tells whether the value is bytes, or a place to copy bytes to.
    pub fn is_octets(&self) -> bool {
        self.raw().data_type == OCTET_STRING
    }

    /// Returns the bytes of the place to which a value is to be written.
    pub fn room(&self) -> usize {
        self.raw().data_size
    }

    /// Tells whether there is a value, or a place for one.
    pub fn has_data(&self) -> bool {
        !self.raw().data.is_null()
    }

    /// Returns a text.
    pub fn text(&self) -> Result<&'a str> {
        let raw = self.raw();
        let bytes = match raw.data_type {
            UTF8_PTR if !raw.data.is_null() => {
                // SAFETY: the place of a text's pointer holds one.
                let at = unsafe { *raw.data.cast::<*const c_char>() };
                if at.is_null() {
                    return Err(Reason::FAILED_TO_GET_PARAMETER);
                }
                // SAFETY: and it points to a C string.
                unsafe { CStr::from_ptr(at) }.to_bytes()
            }
            _ => {
                let bytes = self.bytes_of(raw, &[UTF8_STRING])?;
                // Some callers count the terminator.
                bytes.split(|byte| *byte == 0).next().unwrap_or_default()
            }
        };
        str::from_utf8(bytes).map_err(|_| Reason::FAILED_TO_GET_PARAMETER)
    }

    fn bytes_of(&self, raw: OsslParam, types: &[u32]) -> Result<&'a [u8]> {
        if !types.contains(&raw.data_type) {
            return Err(Reason::FAILED_TO_GET_PARAMETER);
        }
        if raw.data.is_null() {
            return if raw.data_size == 0 { Ok(&[]) } else { Err(Reason::FAILED_TO_GET_PARAMETER) };
        }
        if raw.data_size > isize::MAX as usize {
            return Err(Reason::FAILED_TO_GET_PARAMETER);
        }
        // SAFETY: a value is as long as it says.
        Ok(unsafe { slice::from_raw_parts(raw.data.cast::<u8>(), raw.data_size) })
    }

    /// Answers with a number.
    pub fn set_size(&self, value: usize) -> Result<()> {
        let raw = self.raw();
        if !matches!(raw.data_type, INTEGER | UNSIGNED_INTEGER) {
            return Err(Reason::FAILED_TO_SET_PARAMETER);
        }
        let bytes = (value as u64).to_le_bytes();
        if raw.data.is_null() {
            return self.returned(bytes.len());
        }
        let signed = usize::from(raw.data_type == INTEGER);
        let needed = bytes.len() - (value as u64).leading_zeros() as usize / 8;
        let top = if needed > 0 { bytes[needed - 1] >> 7 & 1 } else { 0 };
        if needed + signed * usize::from(top) > raw.data_size {
            self.returned(bytes.len())?;
            return Err(Reason::FAILED_TO_SET_PARAMETER);
        }
        let data = raw.data.cast::<u8>();
        for i in 0..raw.data_size {
            // SAFETY: inside the place.
            unsafe { data.add(i).write(bytes.get(i).copied().unwrap_or(0)) };
        }
        self.returned(raw.data_size)
    }

    /// Answers with a number of 32 bits.
    pub fn set_uint(&self, value: u32) -> Result<()> {
        self.set_size(value as usize)
    }

    /// Answers with yes or no.
    pub fn set_bool(&self, value: bool) -> Result<()> {
        self.set_size(usize::from(value))
    }

    /// Answers with bytes, or with a pointer to them, as the caller asks.
    ///
    /// A caller that asks for a pointer may use it until the context is used again or freed.
    pub fn set_octets(&self, value: &[u8]) -> Result<()> {
        let raw = self.raw();
        match raw.data_type {
            OCTET_PTR => self.set_pointer(value.as_ptr().cast(), value.len()),
            OCTET_STRING => self.copy(value, 0),
            _ => Err(Reason::FAILED_TO_SET_PARAMETER),
        }
    }

    /// Fills a place that the caller made long enough without saying how long.
    ///
    /// OpenSSL gives `randkey` a place for a key of the context's length, and for `tlsivgen` room for no bytes means
    /// room for a vector.
    pub fn fill(&self, value: &[u8]) -> Result<()> {
        let raw = self.raw();
        if raw.data_type != OCTET_STRING || raw.data.is_null() {
            return Err(Reason::FAILED_TO_SET_PARAMETER);
        }
        // SAFETY: see above.
        unsafe { ptr::copy_nonoverlapping(value.as_ptr(), raw.data.cast::<u8>(), value.len()) };
        self.returned(value.len())
    }

    /// Answers with a text.
    pub fn set_text(&self, value: &CStr) -> Result<()> {
        let raw = self.raw();
        match raw.data_type {
            UTF8_PTR => self.set_pointer(value.as_ptr().cast(), value.count_bytes()),
            UTF8_STRING => self.copy(value.to_bytes_with_nul(), 1),
            _ => Err(Reason::FAILED_TO_SET_PARAMETER),
        }
    }

    fn set_pointer(&self, to: *const c_void, len: usize) -> Result<()> {
        self.returned(len)?;
        let raw = self.raw();
        if !raw.data.is_null() {
            // SAFETY: the place of a pointer has room for one.
            unsafe { raw.data.cast::<*const c_void>().write(to) };
        }
        Ok(())
    }

    /// Copies the bytes; the last `optional` of them may be left out.
    fn copy(&self, value: &[u8], optional: usize) -> Result<()> {
        self.returned(value.len() - optional)?;
        let raw = self.raw();
        if raw.data.is_null() {
            return Ok(());
        }
        if raw.data_size < value.len() - optional {
            return Err(Reason::FAILED_TO_SET_PARAMETER);
        }
        let n = value.len().min(raw.data_size);
        // SAFETY: the place has `data_size` bytes, and nobody else has it during the call.
        unsafe { ptr::copy_nonoverlapping(value.as_ptr(), raw.data.cast::<u8>(), n) };
        Ok(())
    }

    fn returned(&self, size: usize) -> Result<()> {
        // SAFETY: `at` is inside the array, which is the callee's to write to.
        unsafe { (*self.at).return_size = size };
        Ok(())
    }
}
