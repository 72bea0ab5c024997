//! The C data and stream interfaces, with structures that are right and with wrong ones.
//!
//! # Safety
//! The structures are Arrow's own; a test changes fields of theirs before they are taken over, and back where their owner needs
//! the field.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr;

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{Array as _, ffi};
use arrow_array::{Int32Array, RecordBatchReader, StructArray, make_array};
use arrow_schema::{DataType, Field, Fields};
use millstream_columns::c_data::{FFI_ArrowArray, FFI_ArrowSchema, Stream, export, import, import_type};
use millstream_columns::{ArrayData, Error};

use super::layouts::{all, plain, read, rows, sets};

/// The fields of `struct ArrowArray`.
#[repr(C)]
struct Fields10 {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut c_void,
    dictionary: *mut Fields10,
    release: *const c_void,
    private_data: *mut c_void,
}

fn taken_over(column: &ArrayData) -> Result<ArrayData, Error> {
    let (array, schema) =
        (FFI_ArrowArray::new(column), FFI_ArrowSchema::try_from(column.data_type()).unwrap());
    // SAFETY: Arrow has filled the structures.
    unsafe { import(array, &import_type(&schema)?) }
}

#[test]
fn columns_of_every_layout_come_and_go() {
    for rows in sets() {
        for (name, column) in all(&rows) {
            let ours = taken_over(&column).unwrap();
            assert_eq!(ours.data_type(), column.data_type());
            assert_eq!(read(&ours), rows, "{name}");
            let (array, schema) = export(&ours).unwrap();
            // SAFETY: we have filled the structures, and Arrow's crate checks them.
            let theirs = unsafe { ffi::from_ffi(array, &schema) }.unwrap();
            assert_eq!(read(&theirs), rows, "{name}");
        }
    }
}

#[test]
fn other_types_are_refused() {
    for column in [
        Int32Array::from(vec![1]).to_data(),
        StructArray::new_empty_fields(3, None).to_data(),
        ArrayData::new_null(&DataType::List(Field::new("x", DataType::Utf8, true).into()), 2),
        ArrayData::new_null(&DataType::Struct(Fields::from(vec![Field::new("x", DataType::Utf8, true)])), 2),
    ] {
        let error = taken_over(&column).unwrap_err();
        assert!(error.to_string().contains("give"), "{error}");
    }
}

/// Changes a structure, takes it over, and gives the error; `owner` is what the release function needs.
fn refusal(column: &ArrayData, change: impl Fn(&mut Fields10)) -> String {
    let mut array = FFI_ArrowArray::new(column);
    let schema = FFI_ArrowSchema::try_from(column.data_type()).unwrap();
    // SAFETY: the structure has these fields.
    change(unsafe { &mut *ptr::from_mut(&mut array).cast::<Fields10>() });
    // SAFETY: what is wrong is to be found.
    let result = unsafe { import(array, &import_type(&schema).unwrap()) };
    match result {
        Err(error) => error.to_string(),
        Ok(column) => panic!("taken over: {column:?}"),
    }
}

/// Changes pointers to buffers.
fn buffer(at: usize, pointer: *const c_void) -> impl Fn(&mut Fields10) {
    // SAFETY: the structure has so many buffers, and nobody frees by these pointers.
    move |array| unsafe { *array.buffers.add(at) = pointer }
}

#[test]
fn structures_that_are_wrong_are_refused() {
    let rows = rows(40, |_| 20);
    for kind in [
        DataType::Utf8,
        DataType::LargeUtf8,
        DataType::Utf8View,
        DataType::Binary,
        DataType::LargeBinary,
        DataType::BinaryView,
        DataType::FixedSizeBinary(20),
    ] {
        let column = plain(&kind, &rows);
        let refused = |change: &dyn Fn(&mut Fields10)| refusal(&column, change);
        assert!(refused(&|array| array.length = -1).contains("negative length"), "{kind}");
        assert!(refused(&|array| array.offset = -1).contains("negative length or offset"), "{kind}");
        assert!(refused(&|array| array.length = i64::MAX).contains("no memory has"), "{kind}");
        assert!(refused(&|array| array.offset = i64::MAX).contains("no memory has"), "{kind}");
        assert!(refused(&|array| array.null_count = -2).contains("number of nulls"), "{kind}");
        assert!(refused(&|array| array.null_count = 41).contains("number of nulls"), "{kind}");
        assert!(refused(&|array| array.n_buffers = 0).contains("without buffers"), "{kind}");
        assert!(refused(&|array| array.n_buffers = 1).contains("buffers where"), "{kind}");
        assert!(refused(&|array| array.n_buffers = i64::MIN).contains("buffers"), "{kind}");
        assert!(refused(&|array| array.n_children = 1).contains("children"), "{kind}");
        assert!(refused(&|array| array.buffers = ptr::null_mut()).contains("no list of buffers"), "{kind}");
        assert!(refused(&buffer(0, ptr::null())).contains("without a bitmap"), "{kind}");
        assert!(refused(&buffer(1, ptr::null())).contains("is null"), "{kind}");
        if kind != DataType::FixedSizeBinary(20) {
            assert!(refused(&buffer(2, ptr::null())).contains("is null"), "{kind}");
        }
    }
}

#[test]
fn offsets_that_are_wrong_are_refused() {
    let column = plain(&DataType::Utf8, &rows(40, |_| 20));
    let good: Vec<i32> = column.buffers()[0].typed_data::<i32>().to_vec();
    for (at, offset) in [(0, -1), (40, -5), (40, i32::MIN), (7, i32::MAX), (20, 3)] {
        let mut offsets = good.clone();
        offsets[at] = offset;
        let error = refusal(&column, buffer(1, offsets.as_ptr().cast()));
        assert!(error.contains("offset"), "{at} {offset}: {error}");
    }
    let text = vec![0xff_u8; 1000];
    let error = refusal(&column, buffer(2, text.as_ptr().cast()));
    assert!(error.contains("UTF"), "{error}");
}

#[test]
fn views_that_are_wrong_are_refused() {
    let column = plain(&DataType::BinaryView, &rows(40, |_| 20));
    let good = column.buffers()[0].typed_data::<u128>().to_vec();
    for view in [
        20 | 7 << 64,                    // a buffer that there is not
        20 | u128::from(u32::MAX) << 96, // an offset outside of it
        u128::from(u32::MAX),            // a length outside of it
        3 | 1 << 100,                    // something behind a value in the view
    ] {
        let mut views = good.clone();
        views[11] = view;
        let error = refusal(&column, buffer(1, views.as_ptr().cast()));
        assert!(error.contains("not well formed"), "{error}");
    }
    for lengths in [[-1_i64], [5], [i64::MIN]] {
        let error = refusal(&column, buffer(3, lengths.as_ptr().cast()));
        assert!(error.contains("not well formed"), "{error}");
    }
}

#[test]
fn places_that_are_wrong_are_refused() {
    let (_, column) =
        all(&rows(40, |_| 20)).into_iter().find(|(name, _)| name == "dictionary of Utf8").unwrap();
    for place in [-1, 1000, i32::MAX, i32::MIN] {
        let mut places: Vec<i32> = column.buffers()[0].typed_data::<i32>().to_vec();
        places[1] = place;
        let error = refusal(&column, buffer(1, places.as_ptr().cast()));
        assert!(error.contains("not well formed"), "{error}");
    }
    let dictionary = |change: fn(&mut Fields10)| {
        // SAFETY: a dictionary has one, and what is changed there its owner does not need.
        refusal(&column, move |array| change(unsafe { &mut *array.dictionary }))
    };
    assert!(dictionary(|values| values.length = -1).contains("negative length"));
    assert!(dictionary(|values| values.length = 3).contains("not well formed"));
    assert!(dictionary(|values| values.buffers = ptr::null_mut()).contains("no list of buffers"));
}

#[test]
fn released_structures_are_refused() {
    // SAFETY: a released structure may be given.
    let error = unsafe { import(FFI_ArrowArray::empty(), &DataType::Utf8) }.unwrap_err();
    assert!(error.to_string().contains("released"));
    assert!(import_type(&FFI_ArrowSchema::empty()).unwrap_err().to_string().contains("released"));
}

#[test]
fn misaligned_offsets_are_copied() {
    let rows = rows(40, |_| 20);
    let column = plain(&DataType::LargeBinary, &rows);
    let mut bytes = vec![0_u8; 1];
    bytes.extend_from_slice(&column.buffers()[0]);
    let mut array = FFI_ArrowArray::new(&column);
    // SAFETY: the structure has these fields.
    buffer(1, bytes[1..].as_ptr().cast())(unsafe { &mut *ptr::from_mut(&mut array).cast::<Fields10>() });
    // SAFETY: it is filled as the interface demands, but for the alignment that it advises.
    let ours = unsafe { import(array, &DataType::LargeBinary) }.unwrap();
    assert_eq!(read(&ours), rows);
}

#[test]
fn chunks_come_and_go_by_streams() {
    let chunks = [rows(40, |_| 20), rows(0, |_| 1), rows(7, |i| i)];
    for kind in [DataType::Utf8, DataType::BinaryView] {
        let columns: Vec<ArrayData> = chunks.iter().map(|rows| plain(&kind, rows)).collect();
        let mut stream = Stream::new(kind.clone(), columns);
        assert_eq!(stream.kind().unwrap(), kind);
        for rows in &chunks {
            // SAFETY: the stream is ours.
            let chunk = unsafe { stream.next(&kind) }.unwrap().unwrap();
            assert_eq!(read(&chunk), *rows);
        }
        // SAFETY: the stream is ours.
        assert!(unsafe { stream.next(&kind) }.unwrap().is_none());
    }
}

/// A stream of ours is read by Arrow's crate, which takes streams of structs.
#[test]
fn others_read_our_streams() {
    let fields = Fields::from(vec![Field::new("x", DataType::Utf8, true)]);
    let chunks = [rows(40, |_| 20), rows(7, |i| i)];
    let structs = chunks.iter().map(|rows| {
        let column = make_array(plain(&DataType::Utf8, rows));
        StructArray::new(fields.clone(), vec![column], None).to_data()
    });
    let mut stream = Stream::new(DataType::Struct(fields.clone()), structs.collect());
    // SAFETY: both are `struct ArrowArrayStream`.
    let reader = unsafe {
        RecordBatchStreamReader::from_raw(ptr::from_mut(&mut stream).cast::<FFI_ArrowArrayStream>())
    };
    let reader = reader.unwrap();
    assert_eq!(reader.schema().fields(), &fields);
    for (batch, rows) in reader.zip(&chunks) {
        assert_eq!(read(&batch.unwrap().column(0).to_data()), *rows);
    }
    assert!(stream.kind().unwrap_err().to_string().contains("released"));
}
