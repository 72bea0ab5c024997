//! The functions in DataFusion's own engine, over columns of every layout, beside what the columns' own functions give.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::prelude::SessionContext;
use millstream::hash::Hash;
use millstream_datafusion::{Aead, Cipher, Fernet, Hmac, Siv, functions, hashes};

const NAMES: [Option<&str>; 5] = [Some("Ada"), None, Some("Grace"), Some(""), Some("Ada")];

/// A table of names in a layout, with numbers, and all functions.
fn context(layout: &DataType) -> Result<SessionContext> {
    let names = cast(&StringArray::from(NAMES.to_vec()), layout)?;
    let rows: ArrayRef = Arc::new(StringArray::from(vec!["0", "1", "2", "3", "4"]));
    let batch = RecordBatch::try_from_iter_with_nullable([("name", names, true), ("row", rows, false)])?;
    let context = SessionContext::new();
    context.register_batch("people", batch)?;
    let keyed = [
        functions("ms_", Hmac::new(Hash::Sha256, &[1; 32]).unwrap()),
        functions("ms_", Aead::new(Cipher::AesGcm, &[2; 32]).unwrap()),
        functions("other_", Aead::new(Cipher::AesGcm, &[3; 32]).unwrap()),
        functions("ms_", Siv::new(&[4; 64]).unwrap()),
        functions("ms_", Fernet::new("cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4=").unwrap()),
        hashes("ms_"),
    ];
    keyed.into_iter().flatten().for_each(|function| context.register_udf(function));
    Ok(context)
}

fn run(context: &SessionContext, sql: &str) -> Result<RecordBatch> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(async {
        let frame = context.sql(sql).await?;
        let schema = Arc::new(frame.schema().as_arrow().clone());
        Ok(arrow::compute::concat_batches(&schema, &frame.collect().await?)?)
    })
}

/// Returns the texts of a column, whichever layout of text it has.
fn texts(column: &ArrayRef) -> Vec<Option<String>> {
    let column = cast(column, &DataType::Utf8).unwrap();
    column.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
}

fn names() -> Vec<Option<String>> {
    NAMES.map(|name| name.map(str::to_owned)).to_vec()
}

#[test]
fn every_layout_comes_back() -> Result<()> {
    let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    for layout in [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View, DataType::Binary, dictionary] {
        let context = context(&layout)?;
        for (seal, open) in [("ms_seal", "ms_open"), ("ms_siv_seal", "ms_siv_open")] {
            let batch = run(
                &context,
                &format!(
                    "SELECT {open}({seal}(name)), {open}({seal}(name, row), row), {open}({seal}(name, 'c'), 'c') FROM people"
                ),
            )?;
            for column in batch.columns() {
                assert_eq!(texts(column), names(), "{seal} {layout}");
            }
        }
        let batch =
            run(&context, "SELECT ms_fernet_decrypt(ms_fernet_encrypt(name)), ms_sha256(name) FROM people")?;
        assert_eq!(texts(batch.column(0)), names());
        let digest = |name: &str| -> String {
            let digest = millstream::hash::HashKernel::best(millstream::features().unwrap(), Hash::Sha256);
            digest.digest(name.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
        };
        let expected: Vec<_> = NAMES.iter().map(|name| name.map(digest)).collect();
        assert_eq!(texts(batch.column(1)), expected);
    }
    Ok(())
}

#[test]
fn equal_values_join_where_they_should_and_nowhere_else() -> Result<()> {
    let context = context(&DataType::Utf8)?;
    let joined = "SELECT count(*) AS n FROM (SELECT ms_siv_seal(name, 'name') AS s FROM people) a JOIN \
        (SELECT ms_siv_seal(name, 'name') AS s FROM people) b ON a.s = b.s";
    // Ada is there twice, and null is equal to nothing.
    assert_eq!(texts(run(&context, joined)?.column(0)), [Some("6".to_owned())]);
    let macs = run(&context, "SELECT ms_hmac(name) FROM people")?;
    let macs = texts(macs.column(0));
    assert_eq!((macs[0].as_ref(), macs[1].as_ref()), (macs[4].as_ref(), None));
    // A constant is sealed for each row, under a nonce of its own.
    let sealed = run(&context, "SELECT ms_seal('Ada') FROM people")?;
    let sealed = cast(sealed.column(0), &DataType::Binary)?;
    assert_eq!(sealed.as_binary::<i32>().iter().collect::<HashSet<_>>().len(), 5);
    Ok(())
}

#[test]
fn what_is_not_authentic_is_an_error_or_null() -> Result<()> {
    let context = context(&DataType::Utf8)?;
    for wrong in [
        "other_open(ms_seal(name))",
        "ms_open(ms_seal(name, 'a'), 'b')",
        "ms_siv_open(ms_siv_seal(name), row)",
    ] {
        let refused = run(&context, &format!("SELECT {wrong} FROM people")).unwrap_err().to_string();
        assert!(refused.contains("row 0: authentication failed"), "{refused}");
        let (function, rest) = wrong.split_once("open").unwrap();
        let (prefix, class) = function.split_once('_').unwrap();
        let nulls = run(&context, &format!("SELECT {prefix}_try_{class}open{rest} FROM people"))?;
        assert_eq!(nulls.column(0).null_count(), 5);
    }
    let refused = run(&context, "SELECT ms_sha256(1)").unwrap_err().to_string();
    assert!(refused.contains("ms_sha256 takes text or binary"), "{refused}");
    let null = run(&context, "SELECT ms_siv_seal(NULL)")?;
    assert_eq!(null.column(0).null_count(), 1);
    Ok(())
}
