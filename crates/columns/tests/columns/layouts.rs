//! Columns in each of Arrow's layouts, and the values of any column as Arrow's own types read them.

use std::sync::Arc;

use arrow_array::types::{
    ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BinaryViewArray, DictionaryArray, FixedSizeBinaryArray,
    LargeBinaryArray, LargeStringArray, PrimitiveArray, StringArray, StringViewArray, make_array,
};
use arrow_schema::DataType;
use millstream_columns::ArrayData;

/// The rows of a column.
pub type Rows = Vec<Option<Vec<u8>>>;

/// Returns these rows, which are text, in each layout; plain, as a slice, and as a dictionary.
pub fn all(rows: &Rows) -> Vec<(String, ArrayData)> {
    let mut columns = Vec::new();
    for kind in kinds(rows) {
        columns.push((format!("{kind}"), plain(&kind, rows)));
        let mut longer: Rows = vec![rows.iter().flatten().next().cloned(), None, None];
        longer.extend(rows.iter().cloned());
        longer.extend([None, rows.iter().flatten().next().cloned()]);
        let slice = make_array(plain(&kind, &longer)).slice(3, rows.len());
        columns.push((format!("slice of {kind}"), slice.to_data()));
        columns.push((format!("dictionary of {kind}"), dictionary::<Int32Type>(&kind, rows)));
        let slice = make_array(dictionary::<UInt16Type>(&kind, &longer)).slice(3, rows.len());
        columns.push((format!("slice of dictionary of {kind}"), slice.to_data()));
    }
    if rows.len() < 100 {
        let kind = DataType::Utf8;
        columns.push(("i8".into(), dictionary::<Int8Type>(&kind, rows)));
        columns.push(("i16".into(), dictionary::<Int16Type>(&kind, rows)));
        columns.push(("i64".into(), dictionary::<Int64Type>(&kind, rows)));
        columns.push(("u8".into(), dictionary::<UInt8Type>(&kind, rows)));
        columns.push(("u32".into(), dictionary::<UInt32Type>(&kind, rows)));
        columns.push(("u64".into(), dictionary::<UInt64Type>(&kind, rows)));
    }
    columns
}

/// Returns the layouts that can have these rows.
fn kinds(rows: &Rows) -> Vec<DataType> {
    let mut kinds = vec![
        DataType::Utf8,
        DataType::LargeUtf8,
        DataType::Utf8View,
        DataType::Binary,
        DataType::LargeBinary,
        DataType::BinaryView,
    ];
    let mut lengths = rows.iter().flatten().map(Vec::len);
    if let Some(first) = lengths.next()
        && lengths.all(|len| len == first)
    {
        kinds.push(DataType::FixedSizeBinary(first as i32));
    }
    kinds
}

/// Returns rows in a layout.
pub fn plain(kind: &DataType, rows: &Rows) -> ArrayData {
    let binary = || rows.iter().map(|row| row.as_deref());
    let text = || binary().map(|row| row.map(|row| std::str::from_utf8(row).unwrap()));
    let array: ArrayRef = match kind {
        DataType::Utf8 => Arc::new(text().collect::<StringArray>()),
        DataType::LargeUtf8 => Arc::new(text().collect::<LargeStringArray>()),
        DataType::Utf8View => Arc::new(text().collect::<StringViewArray>()),
        DataType::Binary => Arc::new(binary().collect::<BinaryArray>()),
        DataType::LargeBinary => Arc::new(binary().collect::<LargeBinaryArray>()),
        DataType::BinaryView => Arc::new(binary().collect::<BinaryViewArray>()),
        DataType::FixedSizeBinary(width) => {
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(binary(), *width).unwrap())
        }
        other => panic!("no layout {other}"),
    };
    array.to_data()
}

/// Returns rows as a dictionary, whose values have a null, one that no row has, and others in an order of their own.
pub fn dictionary<K: ArrowDictionaryKeyType>(kind: &DataType, rows: &Rows) -> ArrayData
where
    <K as ArrowPrimitiveType>::Native: TryFrom<usize>,
{
    let mut values: Rows = rows.iter().flatten().rev().map(|row| Some(row.clone())).collect();
    values.dedup();
    let unused = match kind {
        DataType::FixedSizeBinary(width) => vec![b'~'; *width as usize],
        _ => b"unused".to_vec(),
    };
    values.extend([None, Some(unused)]);
    let null = values.len() - 2;
    let keys = rows.iter().enumerate().map(|(i, row)| match row {
        Some(_) => values.iter().position(|value| value == row),
        // Half of the nulls have no place, and the others the place of a null.
        None => (i % 2 == 0).then_some(null),
    });
    let keys: PrimitiveArray<K> = keys.map(|key| key.map(|key| key.try_into().ok().unwrap())).collect();
    DictionaryArray::new(keys, make_array(plain(kind, &values))).to_data()
}

/// Reads a column's rows by Arrow's own types.
pub fn read(column: &ArrayData) -> Rows {
    fn rows<'a, T: AsRef<[u8]> + ?Sized + 'a>(values: impl IntoIterator<Item = Option<&'a T>>) -> Rows {
        values.into_iter().map(|row| row.map(|row| row.as_ref().to_vec())).collect()
    }
    fn places<K: ArrowDictionaryKeyType>(column: &ArrayData) -> Rows {
        let array = DictionaryArray::<K>::from(column.clone());
        let values = read(&array.values().to_data());
        (0..array.len()).map(|row| values[array.key(row)?].clone()).collect()
    }
    column.validate_full().unwrap();
    match column.data_type() {
        DataType::Utf8 => rows(&StringArray::from(column.clone())),
        DataType::LargeUtf8 => rows(&LargeStringArray::from(column.clone())),
        DataType::Utf8View => rows(&StringViewArray::from(column.clone())),
        DataType::Binary => rows(&BinaryArray::from(column.clone())),
        DataType::LargeBinary => rows(&LargeBinaryArray::from(column.clone())),
        DataType::BinaryView => rows(&BinaryViewArray::from(column.clone())),
        DataType::FixedSizeBinary(_) => rows(&FixedSizeBinaryArray::from(column.clone())),
        DataType::Dictionary(keys, _) => match **keys {
            DataType::Int8 => places::<Int8Type>(column),
            DataType::Int16 => places::<Int16Type>(column),
            DataType::Int32 => places::<Int32Type>(column),
            DataType::Int64 => places::<Int64Type>(column),
            DataType::UInt8 => places::<UInt8Type>(column),
            DataType::UInt16 => places::<UInt16Type>(column),
            DataType::UInt32 => places::<UInt32Type>(column),
            DataType::UInt64 => places::<UInt64Type>(column),
            ref other => panic!("keys of type {other}"),
        },
        other => panic!("a column of type {other}"),
    }
}

/// Returns `count` rows of text of the lengths that `len` tells, some of them null and some equal.
pub fn rows(count: usize, len: impl Fn(usize) -> usize) -> Rows {
    let row = |i: usize| {
        let i = if i % 9 == 8 { i - 3 } else { i };
        (i % 7 != 3).then(|| (0..len(i)).map(|j| b'!' + ((i * 31 + j * 7) % 90) as u8).collect())
    };
    (0..count).map(row).collect()
}

/// The sets of rows that every function is tried with.
pub fn sets() -> Vec<Rows> {
    let mut sets = vec![
        Vec::new(),
        vec![None],
        vec![None; 40],
        rows(1, |_| 23),
        rows(37, |_| 16),
        rows(90, |i| (i * 5) % 41),
        vec![Some(Vec::new()); 3],
    ];
    sets.push(rows(700, |i| if i % 100 == 50 { 3000 } else { i % 33 }));
    sets
}
