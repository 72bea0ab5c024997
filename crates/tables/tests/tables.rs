//! Tables of each format: written to each, changed and restored, and refused where they are damaged.

use std::fs::File;
use std::io::{Seek, Write};
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, DictionaryArray, Int64Array, LargeStringArray, ListArray, RecordBatch,
    StringArray, StringViewArray, TimestampMicrosecondArray,
};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Schema};
use millstream::hash::Hash;
use millstream_columns::{Aead, Cipher, Encoding, OnError, Open, Parameter, Seal, Siv, digest};
use millstream_tables::{Aad, Change, Error, Format, Reading, Table, Values, Writing, rewrite};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// A file with these bytes, read from its beginning.
fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).expect("written");
    file.rewind().expect("at its beginning");
    file
}

fn to(format: Format) -> Writing {
    Writing { format: Some(format), ..Writing::default() }
}

/// Rewrites a table of bytes.
fn changed(bytes: &[u8], how: &Writing, change: &Change<'_>) -> Result<Vec<u8>, Error> {
    let mut table = Table::open(file(bytes), &Reading::default())?;
    let mut out = Vec::new();
    rewrite(&mut table, &mut out, how, change, &|_| {})?;
    Ok(out)
}

/// Converts a table.
fn converted(bytes: &[u8], format: Format) -> Vec<u8> {
    let none = |column: &ArrayData, _: Parameter<'_>, _: bool| Ok(column.clone());
    changed(bytes, &to(format), &Change::new(&[], &none)).expect("a table")
}

/// Returns a table's columns, each in one piece.
fn read(bytes: &[u8]) -> RecordBatch {
    let stream = converted(bytes, Format::ArrowStream);
    let reader = arrow_ipc::reader::StreamReader::try_new(&stream[..], None).expect("a stream");
    let schema = reader.schema();
    let batches: Vec<RecordBatch> = reader.map(|batch| batch.expect("a batch")).collect();
    let column = |at: usize| -> ArrayRef {
        let parts: Vec<&dyn Array> = batches.iter().map(|batch| &**batch.column(at)).collect();
        if parts.is_empty() {
            return arrow_array::new_empty_array(schema.field(at).data_type());
        }
        arrow_select::concat::concat(&parts).expect("one type")
    };
    RecordBatch::try_new(schema.clone(), (0..schema.fields().len()).map(column).collect()).expect("a batch")
}

/// A table of Arrow with columns of many types, in several batches.
fn people(rows: usize) -> Vec<u8> {
    let batch = |first: usize, rows: usize| {
        let numbers = first..first + rows;
        let text = |row: usize| (row % 7 != 3).then(|| format!("name {row}"));
        let list = ListArray::from_iter_primitive::<arrow_array::types::Int64Type, _, _>(
            numbers.clone().map(|row| Some(vec![Some(row as i64), None])),
        );
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("id", Arc::new(StringArray::from_iter_values(numbers.clone().map(|row| row.to_string())))),
            ("utf8", Arc::new(numbers.clone().map(text).collect::<StringArray>())),
            ("large", Arc::new(numbers.clone().map(text).collect::<LargeStringArray>())),
            ("view", Arc::new(numbers.clone().map(text).collect::<StringViewArray>())),
            (
                "bytes",
                Arc::new(
                    numbers.clone().map(|row| text(row).map(|t| t.into_bytes())).collect::<BinaryArray>(),
                ),
            ),
            (
                "few",
                Arc::new(
                    numbers
                        .clone()
                        .map(|row| Some(["a", "bb", "ccc"][row % 3]))
                        .collect::<DictionaryArray<arrow_array::types::Int32Type>>(),
                ),
            ),
            (
                "when",
                Arc::new(TimestampMicrosecondArray::from_iter_values(numbers.clone().map(|row| row as i64))),
            ),
            ("number", Arc::new(Int64Array::from_iter_values(numbers.map(|row| row as i64)))),
            ("list", Arc::new(list)),
        ];
        let fields = columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), true));
        let schema = Schema::new_with_metadata(
            fields.collect::<Vec<_>>(),
            [("owner".to_owned(), "somebody".to_owned())],
        );
        RecordBatch::try_new(Arc::new(schema), columns.into_iter().map(|(_, column)| column).collect())
            .expect("a batch")
    };
    let mut out = Vec::new();
    let mut writer =
        arrow_ipc::writer::StreamWriter::try_new(&mut out, &batch(0, 0).schema()).expect("a stream");
    for first in (0..rows).step_by(1000) {
        writer.write(&batch(first, 1000.min(rows - first))).expect("written");
    }
    writer.finish().expect("ended");
    drop(writer);
    out
}

const TEXTS: [&str; 5] = ["utf8", "large", "view", "bytes", "few"];

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Seals and opens with associated data from another column, in each format that keeps types.
#[test]
fn what_is_sealed_opens_to_the_same_table() {
    let key = Aead::new(Cipher::AesGcm, &[7; 32]).expect("a key");
    let seal =
        |column: &ArrayData, aad: Parameter<'_>, _: bool| key.seal(column, &Seal { aad, ..Seal::default() });
    let open = |column: &ArrayData, aad: Parameter<'_>, text: bool| {
        key.open(column, &Open { aad, text, on_error: OnError::Fail })
    };
    let columns = names(&TEXTS);
    let people = people(2500);
    for format in [Format::Parquet, Format::Arrow, Format::ArrowStream] {
        let before = converted(&people, format);
        let mut sealing = Change::new(&columns, &seal);
        sealing.values = Values::Sealed;
        sealing.aad = Aad::Column("id");
        let sealed = changed(&before, &Writing::default(), &sealing).expect("sealed");
        assert_eq!(Format::from_beginning(&sealed), format);
        let batch = read(&sealed);
        assert_eq!(batch.column_by_name("utf8").map(|column| column.data_type()), Some(&DataType::Binary));
        assert_eq!(
            batch.column_by_name("large").map(|column| column.data_type()),
            Some(&DataType::LargeBinary)
        );
        assert_eq!(batch.schema().metadata()["owner"], "somebody");

        let mut opening = Change::new(&columns, &open);
        opening.values = Values::Opened { encoding: Encoding::Base64 };
        opening.aad = Aad::Column("id");
        let opened = read(&changed(&sealed, &to(Format::ArrowStream), &opening).expect("opened"));
        let plain = read(&converted(&before, Format::Arrow));
        for name in TEXTS {
            let of = |batch: &RecordBatch| {
                let column = batch.column_by_name(name).expect("a column");
                arrow_cast::cast(column, &DataType::Utf8).expect("text")
            };
            assert_eq!(&of(&opened), &of(&plain), "{name} in {format}");
        }
        // Without the associated data, and with that of other rows, no table comes.
        opening.aad = Aad::Constant(b"0");
        let refused = changed(&sealed, &Writing::default(), &opening).expect_err("other associated data");
        assert!(
            refused.to_string().starts_with("column \"utf8\": row 1: authentication failed"),
            "{refused}"
        );
    }
}

/// In CSV everything is text, and what is not changed stays as it was written.
#[test]
fn csv_keeps_what_it_has() {
    let text = "id,name,code\n007,\"Ada, Countess\",0x10\n008,,1e5\n009,\"a \"\"quote\"\"\",NaN\n";
    let siv = Siv::new(&[9; 64]).expect("a key");
    let seal = |column: &ArrayData, aad: Parameter<'_>, _: bool| siv.seal(column, aad, Encoding::Hex);
    let open = |column: &ArrayData, aad: Parameter<'_>, text: bool| {
        siv.open(column, &Open { aad, text, on_error: OnError::Fail })
    };
    let columns = names(&["name"]);
    let mut sealing = Change::new(&columns, &seal);
    sealing.values = Values::Sealed;
    let sealed = changed(text.as_bytes(), &Writing::default(), &sealing).expect("sealed");
    let shown = String::from_utf8(sealed.clone()).expect("text");
    assert!(!shown.contains("Ada") && shown.contains("\n008,,1e5\n") && shown.contains(",NaN\n"), "{shown}");
    let mut opening = Change::new(&columns, &open);
    opening.values = Values::Opened { encoding: Encoding::Hex };
    let opened = changed(&sealed, &Writing::default(), &opening).expect("opened");
    assert_eq!(String::from_utf8(opened).expect("text"), text);
    // Read as another encoding the row is named.
    opening.values = Values::Opened { encoding: Encoding::Base64 };
    let refused = changed(b"name\n====\n", &Writing::default(), &opening).expect_err("no base64");
    assert!(refused.to_string().contains("\"name\": row 0: the value is not base64"), "{refused}");
}

#[test]
fn tables_without_rows_have_their_columns() -> Outcome<()> {
    let hash = |column: &ArrayData, _: Parameter<'_>, _: bool| digest(Hash::Sha256, column, Encoding::Binary);
    let columns = names(&["utf8"]);
    for format in Format::ALL {
        let before =
            if format == Format::Csv { b"id,utf8\n".to_vec() } else { converted(&people(0), format) };
        let after = read(&changed(&before, &Writing::default(), &Change::new(&columns, &hash))?);
        assert_eq!(after.num_rows(), 0);
        assert!(after.column_by_name("utf8").is_some() && after.column_by_name("id").is_some(), "{format}");
    }
    Ok(())
}

/// The digests of a column are those of its values, one at a time, whatever batch they are in.
#[test]
fn rows_stay_in_their_order() {
    let hash = |column: &ArrayData, _: Parameter<'_>, _: bool| digest(Hash::Sha256, column, Encoding::Hex);
    let columns = names(&["id"]);
    let lines: String = (0..70_000).map(|row| format!("{row},{row}\n")).collect();
    let table = format!("id,row\n{lines}");
    let hashed = read(
        &changed(table.as_bytes(), &to(Format::Parquet), &Change::new(&columns, &hash)).expect("hashed"),
    );
    let column = |name: &str| {
        let column = hashed.column_by_name(name).expect("a column");
        column.as_any().downcast_ref::<StringArray>().expect("text").clone()
    };
    let (ids, rows) = (column("id"), column("row"));
    assert_eq!(rows.len(), 70_000);
    for row in [0, 1, 65_535, 65_536, 69_999] {
        assert_eq!(rows.value(row), row.to_string());
        let one = StringArray::from(vec![row.to_string()]).to_data();
        let alone = StringArray::from(digest(Hash::Sha256, &one, Encoding::Hex).expect("a digest"));
        assert_eq!(ids.value(row), alone.value(0));
    }
}

#[test]
fn wrong_names_are_named() {
    let none = |column: &ArrayData, _: Parameter<'_>, _: bool| Ok(column.clone());
    let refused = |table: &str, columns: &[&str], aad: Aad<'_>| {
        let columns = names(columns);
        let mut change = Change::new(&columns, &none);
        change.aad = aad;
        changed(table.as_bytes(), &Writing::default(), &change).expect_err("refused").to_string()
    };
    assert_eq!(refused("a,b\n1,2\n", &["c"], Aad::None), "no column is called \"c\"; there are a, b");
    assert_eq!(refused("a,b\n1,2\n", &["a"], Aad::Column("d")), "no column is called \"d\"; there are a, b");
    assert!(refused("a,a\n1,2\n", &["a"], Aad::None).contains("more than one column is called \"a\""));
    assert!(refused("a,b\n1,2\n", &["a", "a"], Aad::None).contains("\"a\" is named twice"));
    assert!(refused("a,b\n1,2\n", &["a"], Aad::Column("a")).contains("its own associated data"));
    assert!(refused("", &["a"], Aad::None).contains("its first line must name the columns"));
    assert!(refused("a,b\n1,2,3\n", &["a"], Aad::None).contains("can't be read as csv"));
    let hash = |column: &ArrayData, _: Parameter<'_>, _: bool| digest(Hash::Sha256, column, Encoding::Binary);
    let columns = names(&["number"]);
    let error =
        changed(&people(3), &Writing::default(), &Change::new(&columns, &hash)).expect_err("a number");
    assert!(error.to_string().starts_with("column \"number\": the column is of type Int64"), "{error}");
}

/// A file that was cut off anywhere is refused, or has fewer rows where its format can't tell.
#[test]
fn damaged_tables_are_refused() {
    let none = |column: &ArrayData, _: Parameter<'_>, _: bool| Ok(column.clone());
    for format in [Format::Parquet, Format::Arrow] {
        let whole = converted(&people(1500), format);
        for length in (0..whole.len()).step_by(whole.len() / 97) {
            let cut = Reading { format: Some(format), ..Reading::default() };
            let result = Table::open(file(&whole[..length]), &cut).and_then(|mut table| {
                rewrite(&mut table, Vec::new(), &Writing::default(), &Change::new(&[], &none), &|_| {})
            });
            assert!(matches!(result, Err(Error::Read { .. })), "{format} of {length} bytes: {result:?}");
        }
    }
    let whole = people(1500);
    for length in (1..whole.len() - 8).step_by(whole.len() / 97) {
        let result = Table::open(
            file(&whole[..length]),
            &Reading { format: Some(Format::ArrowStream), ..Reading::default() },
        )
        .and_then(|mut table| {
            rewrite(&mut table, Vec::new(), &Writing::default(), &Change::new(&[], &none), &|_| {})
        });
        assert!(result.as_ref().is_ok_and(|rows| *rows < 1500) || result.is_err(), "{length}: {result:?}");
    }
}

/// Formats whose end is read first can't come through a pipe, and the others can.
#[test]
fn pipes_are_for_what_is_read_forwards() -> Outcome<()> {
    for format in Format::ALL {
        let bytes =
            if format == Format::Csv { b"a,b\n1,2\n".to_vec() } else { converted(&people(10), format) };
        let (reader, mut writer) = std::io::pipe()?;
        let write = std::thread::spawn(move || writer.write_all(&bytes));
        let opened = Table::open(File::from(std::os::fd::OwnedFd::from(reader)), &Reading::default());
        match opened {
            Err(Error::Pipe(refused)) => assert!(refused == format && format.needs_seek()),
            Err(other) => panic!("{format}: {other}"),
            Ok(mut table) => {
                assert!(!format.needs_seek());
                let none = |column: &ArrayData, _: Parameter<'_>, _: bool| Ok(column.clone());
                let rows = rewrite(
                    &mut table,
                    Vec::new(),
                    &to(Format::ArrowStream),
                    &Change::new(&[], &none),
                    &|_| {},
                )?;
                assert_eq!(rows, if format == Format::Csv { 1 } else { 10 });
            }
        }
        // The reader may be gone before all was written.
        let _ = write.join();
    }
    Ok(())
}
