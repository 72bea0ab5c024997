//! Columns by Arrow's C data interface: whatever a structure says that keeps the interface's one promise, that buffers are as long as it says,
//! is taken over or refused. It is released once. What is taken over is hashed, sealed and opened to itself, and goes out and comes back.
//!
//! # Safety
//! Each structure here is laid out as the interface has it, its pointers are null or lead to buffers that outlive it and are as long as it says, and
//! its lengths are small or such as no memory has.
#![cfg_attr(fuzzing, no_main)]
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{CString, c_char, c_void};
use std::ptr;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use millstream_columns::c_data::{FFI_ArrowArray, FFI_ArrowSchema, export, import, import_type};
use millstream_columns::{ArrayData, Encoding, Open, Parameter, Siv, crc32c, values};

/// The most elements, and the most bytes of a buffer of values.
const MOST: i64 = 64;
const BYTES: i64 = 4096;

/// The formats of columns, of places in dictionaries, and some that are neither.
const FORMATS: [&str; 20] = [
    "u", "U", "z", "Z", "vu", "vz", "w:0", "w:7", "w:16", "c", "C", "s", "S", "i", "I", "l", "L", "w:-1",
    "+l", "",
];

#[derive(Arbitrary, Debug)]
struct Column {
    format: u8,
    length: Count,
    offset: Count,
    nulls: i8,
    /// The buffers whose pointers are null, a bit each.
    missing: u8,
    /// The number of buffers, if it is not the layout's.
    buffers: Option<i8>,
    children: bool,
    released: bool,
    /// The bytes of which all buffers are made.
    contents: Vec<u8>,
    dictionary: Option<Box<Column>>,
}

/// A length or an offset.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Count {
    Small(u8),
    Any(i64),
}

impl Count {
    /// Returns a number that is small, negative, or larger than any memory.
    fn value(self) -> i64 {
        match self {
            Count::Small(number) => i64::from(number) % (MOST + 1),
            Count::Any(number @ 0..) => number | 1 << 62,
            Count::Any(number) => number,
        }
    }

    /// Returns the number of elements that there have to be.
    fn elements(self) -> usize {
        usize::try_from(self.value()).ok().filter(|number| *number <= MOST as usize).unwrap_or(0)
    }
}

/// `struct ArrowArray`.
#[repr(C)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *const *const c_void,
    children: *const c_void,
    dictionary: *mut Array,
    release: Option<extern "C" fn(*mut Array)>,
    private_data: *const Cell<u32>,
}

/// `struct ArrowSchema`.
#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *const c_void,
    dictionary: *mut Schema,
    release: Option<extern "C" fn(*mut Schema)>,
    private_data: *const c_void,
}

const _: () = assert!(size_of::<Array>() == size_of::<FFI_ArrowArray>());
const _: () = assert!(size_of::<Schema>() == size_of::<FFI_ArrowSchema>());

extern "C" fn release_array(array: *mut Array) {
    // SAFETY: the interface releases a structure that is there, and the counter outlives it.
    unsafe {
        (*array).release = None;
        (*(*array).private_data).set((*(*array).private_data).get() + 1);
    }
}

extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: as above.
    unsafe { (*schema).release = None };
}

/// The memory of a column.
struct Memory {
    format: CString,
    buffers: Vec<Vec<u8>>,
    pointers: Vec<*const c_void>,
    /// The buffers that the layout has.
    count: i64,
    dictionary: Option<(Box<Array>, Box<Schema>, Box<Memory>)>,
}

impl Column {
    fn format(&self) -> &'static str {
        FORMATS[usize::from(self.format) % FORMATS.len()]
    }

    /// Returns `count` numbers of the contents, from the number `from` on.
    fn numbers(&self, from: usize, count: usize) -> impl Iterator<Item = i64> {
        let byte = move |at: usize| self.contents.get(at % self.contents.len().max(1)).copied().unwrap_or(0);
        (from..from + count).map(move |at| i64::from(byte(at)) - 8 * i64::from(byte(at) == 255))
    }

    /// Makes the buffers that the layout has, each as long as the structure says.
    fn memory(&self, releases: &Cell<u32>) -> Memory {
        let end = self.length.elements() + self.offset.elements();
        let bytes =
            |count: usize, from: usize| self.numbers(from, count).map(|n| n as u8).collect::<Vec<u8>>();
        let mut buffers = vec![bytes(end.div_ceil(8), 1)];
        match self.format().as_bytes() {
            [kind @ (b'u' | b'z' | b'U' | b'Z')] => {
                // Most offsets rise; some fall, and may become negative.
                let mut offset = 0;
                let offsets: Vec<i64> = self
                    .numbers(2, end + 1)
                    .map(|n| {
                        offset += n % 64;
                        offset
                    })
                    .collect();
                let wide = kind.is_ascii_uppercase();
                buffers.push(
                    offsets
                        .iter()
                        .flat_map(|n| n.to_le_bytes()[..if wide { 8 } else { 4 }].to_vec())
                        .collect(),
                );
                let last = offsets.iter().copied().max().unwrap_or(0).clamp(0, 64 * (2 * MOST + 1));
                buffers.push(bytes(last as usize, 3));
            }
            [b'v', _] => {
                let views = self.numbers(4, 16 * end).map(|n| n as u8 & if n & 64 == 0 { 15 } else { 0 });
                buffers.push(views.collect());
                let lengths: Vec<i64> = self.numbers(5, 2).map(|n| (n * 16).min(BYTES)).collect();
                buffers.extend(lengths.iter().map(|n| bytes((*n).max(0) as usize, 6)));
                buffers.push(lengths.iter().flat_map(|n| n.to_le_bytes()).collect());
            }
            [b'w', b':', width @ ..] => {
                let width: usize = std::str::from_utf8(width).ok().and_then(|w| w.parse().ok()).unwrap_or(0);
                buffers.push(bytes(width * end, 7));
            }
            _ => buffers.push(bytes(8 * end, 8)),
        }
        let count = buffers.len() as i64;
        // More buffers than there are lie nowhere.
        let mut pointers = vec![ptr::null(); 160];
        for (at, buffer) in buffers.iter().enumerate() {
            if self.missing >> at.min(7) & 1 == 0 || self.missing & 0x80 == 0 {
                pointers[at] = buffer.as_ptr().cast();
            }
        }
        let dictionary = self.dictionary.as_ref().map(|dictionary| {
            let mut memory = Box::new(dictionary.memory(releases));
            let array = Box::new(dictionary.array(&mut memory, releases));
            let schema = Box::new(dictionary.schema(&mut memory));
            (array, schema, memory)
        });
        Memory { format: CString::new(self.format()).expect("no zero"), buffers, pointers, count, dictionary }
    }

    fn array(&self, memory: &mut Memory, releases: &Cell<u32>) -> Array {
        // A list of views says by their number where the lengths of its buffers lie.
        let count = self.buffers.filter(|_| !self.format().starts_with('v')).map_or(memory.count, i64::from);
        Array {
            length: self.length.value(),
            null_count: i64::from(self.nulls),
            offset: self.offset.value(),
            n_buffers: count,
            n_children: self.children.into(),
            buffers: memory.pointers.as_ptr(),
            children: ptr::null(),
            dictionary: memory.dictionary.as_mut().map_or(ptr::null_mut(), |(array, ..)| &raw mut **array),
            release: (!self.released).then_some(release_array),
            private_data: releases,
        }
    }

    fn schema(&self, memory: &mut Memory) -> Schema {
        Schema {
            format: memory.format.as_ptr(),
            name: ptr::null(),
            metadata: ptr::null(),
            flags: 2,
            n_children: 0,
            children: ptr::null(),
            dictionary: memory
                .dictionary
                .as_mut()
                .map_or(ptr::null_mut(), |(_, schema, _)| &raw mut **schema),
            release: Some(release_schema),
            private_data: ptr::null(),
        }
    }
}

/// Returns how deep dictionaries lie in each other.
fn depth(column: &Column) -> usize {
    column.dictionary.as_ref().map_or(0, |dictionary| 1 + depth(dictionary))
}

/// Computes with a column that was taken over.
fn use_of(column: &ArrayData) {
    let Ok(rows) = values_of(column) else { return };
    let siv = Siv::new(&[7; 64]).expect("a key");
    assert_eq!(crc32c(column).expect("checksums").len(), rows.len());
    let sealed = siv.seal(column, Parameter::Constant(b"column"), Encoding::Binary).expect("sealed");
    let how = Open { aad: Parameter::Constant(b"column"), ..Open::default() };
    let opened = siv.open(&sealed, &how).expect("opened");
    assert_eq!(values_of(&opened).expect("values"), rows);
    let (array, schema) = export(column).expect("structures");
    // SAFETY: they were made of a column a moment ago.
    let back = unsafe { import(array, &import_type(&schema).expect("its type")) }.expect("taken over");
    assert_eq!(values_of(&back).expect("values"), rows);
}

fn values_of(column: &ArrayData) -> Result<Vec<Option<Vec<u8>>>, millstream_columns::Error> {
    Ok(values(column)?.into_iter().map(|value| value.map(<[u8]>::to_vec)).collect())
}

fuzz_target!(|column: Column| {
    if depth(&column) > 3 {
        return;
    }
    let releases = Cell::new(0);
    let mut memory = column.memory(&releases);
    let (array, schema) = (column.array(&mut memory, &releases), column.schema(&mut memory));
    // SAFETY: the structures are laid out as Arrow's, and are moved into them.
    let (array, schema) = unsafe {
        (
            ptr::read((&raw const array).cast::<FFI_ArrowArray>()),
            ptr::read((&raw const schema).cast::<FFI_ArrowSchema>()),
        )
    };
    match import_type(&schema) {
        Ok(kind) => {
            // SAFETY: the buffers are as long as the structure says.
            if let Ok(column) = unsafe { import(array, &kind) } {
                use_of(&column);
            }
        }
        Err(_) => drop(array),
    }
    assert_eq!(releases.get(), u32::from(!column.released), "released once");
    drop(memory.buffers);
});
