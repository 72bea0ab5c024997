//! Arrays of parameters as OpenSSL passes them, of any names, types, lengths and places: what is read is what is there, what is
//! written can be read again, and nothing outside a place is touched (which the address sanitiser sees: each place is an
//! allocation of its own).
#![cfg_attr(fuzzing, no_main)]

use std::ffi::{CStr, CString, c_void};
use std::ptr;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use millstream_provider::fuzzing::abi::{
    INTEGER, OCTET_PTR, OCTET_STRING, OsslParam, UNMODIFIED, UNSIGNED_INTEGER, UTF8_PTR, UTF8_STRING,
};
use millstream_provider::fuzzing::{Param, Params};

#[derive(Arbitrary, Debug)]
struct One {
    name: u8,
    data_type: u8,
    /// What is in the place, which is as long; or no place, of which a length is claimed.
    value: Result<Vec<u8>, usize>,
    number: usize,
    octets: Vec<u8>,
    text: Vec<u8>,
}

const NAMES: [&CStr; 4] = [c"", c"key", c"ivlen", c"a name that nobody knows"];

/// A place, and what keeps it.
struct Place {
    bytes: Option<Box<[u8]>>,
    pointer: Box<*const c_void>,
    text: CString,
    is_pointer: bool,
}

impl Place {
    fn new(one: &One) -> Self {
        let bytes = one.value.as_ref().ok().map(|bytes| bytes.clone().into_boxed_slice());
        let until_zero = one.text.split(|byte| *byte == 0).next().unwrap_or_default();
        let text = CString::new(until_zero).expect("no zero is left");
        let is_pointer = matches!(u32::from(one.data_type), UTF8_PTR | OCTET_PTR);
        // An array of pointers is what OpenSSL's own pipelines pass, and no bytes can stand for it.
        let to_text = u32::from(one.data_type) == UTF8_PTR && one.number.is_multiple_of(2);
        let pointer = Box::new(if to_text { text.as_ptr().cast() } else { ptr::null() });
        Place { bytes, pointer, text, is_pointer }
    }

    fn param(&mut self, one: &One) -> OsslParam {
        let (data, data_size) = match (&mut self.bytes, &one.value) {
            (Some(_), _) if self.is_pointer => ((&raw mut *self.pointer).cast(), one.number),
            (Some(bytes), _) => (bytes.as_mut_ptr().cast(), bytes.len()),
            (None, Err(claimed)) => (ptr::null_mut(), *claimed),
            (None, Ok(_)) => unreachable!("a value has a place"),
        };
        let key = NAMES[usize::from(one.name) % NAMES.len()].as_ptr();
        OsslParam { key, data_type: one.data_type.into(), data, data_size, return_size: UNMODIFIED }
    }
}

/// The number in some bytes, least significant first; nothing where it is none that a size can be.
fn model(data_type: u32, bytes: &[u8]) -> Option<usize> {
    let negative = data_type == INTEGER && bytes.last().is_some_and(|top| top & 0x80 != 0);
    let (low, high) = bytes.split_at(bytes.len().min(8));
    let fits = high.iter().all(|byte| *byte == 0) && !negative;
    fits.then(|| low.iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte)))
}

fn read(param: &Param<'_>, one: &One, place: &Place) {
    let (data_type, value) = (u32::from(one.data_type), one.value.as_deref().ok());
    let is_number = matches!(data_type, INTEGER | UNSIGNED_INTEGER);
    let bytes = value.or((one.value == Err(0)).then_some(&[]));
    assert_eq!(param.size().ok(), bytes.filter(|_| is_number).and_then(|bytes| model(data_type, bytes)));
    assert_eq!(param.octets().ok(), bytes.filter(|_| data_type == OCTET_STRING));
    let text = match data_type {
        UTF8_STRING => bytes.map(|bytes| bytes.split(|byte| *byte == 0).next().unwrap_or_default()),
        UTF8_PTR if value.is_some() && !place.pointer.is_null() => Some(place.text.as_bytes()),
        _ => None,
    };
    assert_eq!(param.text().ok(), text.and_then(|text| std::str::from_utf8(text).ok()));
    assert_eq!(param.has_data(), value.is_some());
    assert_eq!(param.is_octets(), data_type == OCTET_STRING);
    assert!(param.uint().is_err() || param.uint().ok() == param.size().ok().map(|size| size as u32));
    assert!(param.octets_of_each(3).is_err());
}

fn write(param: &Param<'_>, one: &One) {
    let has_place = one.value.is_ok();
    if param.set_size(one.number).is_ok() && has_place {
        assert_eq!(param.size().ok(), Some(one.number));
    }
    if param.set_octets(&one.octets).is_ok() && has_place && param.is_octets() {
        assert!(param.octets().is_ok_and(|bytes| bytes.starts_with(&one.octets)));
    }
    for (number, known) in [(0, false), (1, true)] {
        if param.set_bool(known).is_ok() && has_place {
            assert_eq!(param.size().ok(), Some(number));
        }
    }
    let is_text = u32::from(one.data_type) == UTF8_STRING;
    if param.set_text(c"AES-128-GCM").is_ok() && has_place && is_text {
        assert!(param.text().is_ok_and(|text| text == "AES-128-GCM"));
    }
}

fuzz_target!(|all: Vec<One>| {
    let mut places: Vec<Place> = all.iter().map(Place::new).collect();
    let mut array: Vec<OsslParam> =
        all.iter().zip(&mut places).map(|(one, place)| place.param(one)).collect();
    array.push(OsslParam::END);
    // SAFETY: terminated, with names that are static and places that are as long as they say and outlive the calls.
    let params = unsafe { Params::new(array.as_mut_ptr()) };
    assert_eq!(params.is_empty(), all.is_empty());
    for name in NAMES {
        assert_eq!(
            params.find(name).is_some(),
            all.iter().any(|one| NAMES[usize::from(one.name) % NAMES.len()] == name)
        );
    }
    assert_eq!(params.into_iter().count(), all.len());
    for ((param, one), place) in params.into_iter().zip(&all).zip(&places) {
        read(&param, one, place);
        write(&param, one);
    }
});
