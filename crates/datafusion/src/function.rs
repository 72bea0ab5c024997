//! One function of one column, as DataFusion calls it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{Array, ArrayRef};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion_common::{Result, ScalarValue, plan_err};
use datafusion_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use millstream_columns::{ArrayData, Error, Parameter};

use crate::exchange::{failed, from_columns, to_columns};

/// A computation over a column, with associated data or a tweak for each of its rows.
type Compute = Box<dyn Fn(&ArrayData, Parameter<'_>) -> std::result::Result<ArrayData, Error> + Send + Sync>;

/// The facts about a function that DataFusion has to know.
#[derive(Clone, Copy)]
pub(crate) struct Facts {
    /// True if the results are text.
    pub(crate) text: bool,
    /// True if there may be a second argument.
    pub(crate) second: bool,
    /// True if equal arguments give equal results.
    pub(crate) repeatable: bool,
}

/// A function of one column.
pub(crate) struct Function {
    name: String,
    signature: Signature,
    facts: Facts,
    compute: Compute,
    /// Functions of one name and different keys are different ones.
    number: u64,
}

impl Function {
    /// Makes a function of that name.
    pub(crate) fn new(
        name: String,
        facts: Facts,
        compute: impl Fn(&ArrayData, Parameter<'_>) -> std::result::Result<ArrayData, Error>
        + Send
        + Sync
        + 'static,
    ) -> ScalarUDF {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let volatility = if facts.repeatable { Volatility::Immutable } else { Volatility::Volatile };
        let arguments = [1, 2].into_iter().take(1 + usize::from(facts.second));
        let signature = Signature::one_of(arguments.map(TypeSignature::Any).collect(), volatility);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        ScalarUDF::from(Function { name, signature, facts, compute: Box::new(compute), number })
    }

    /// Returns the type of the results for a column of that type.
    fn results(&self, column: &DataType) -> Result<DataType> {
        let large = match column {
            DataType::Dictionary(_, values) => return self.results(values),
            DataType::Null | DataType::Utf8 | DataType::Binary | DataType::FixedSizeBinary(_) => false,
            DataType::LargeUtf8 | DataType::LargeBinary | DataType::Utf8View | DataType::BinaryView => true,
            other => return plan_err!("{} takes text or binary; a column of {other} can be cast", self.name),
        };
        Ok(match (self.facts.text, large) {
            (true, false) => DataType::Utf8,
            (true, true) => DataType::LargeUtf8,
            (false, false) => DataType::Binary,
            (false, true) => DataType::LargeBinary,
        })
    }

    fn call(&self, arguments: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let column = to_columns(&*plain(&arguments[0], rows)?)?;
        let results = match arguments.get(1) {
            None => (self.compute)(&column, Parameter::None),
            Some(ColumnarValue::Scalar(scalar)) if bytes(scalar).is_some() => {
                (self.compute)(&column, bytes(scalar).map_or(Parameter::None, Parameter::Constant))
            }
            Some(second) => (self.compute)(&column, Parameter::Column(&to_columns(&*plain(second, rows)?)?)),
        };
        from_columns(&results.map_err(failed)?)
    }
}

/// Returns an argument as a column of text or binary, and no dictionary.
fn plain(argument: &ColumnarValue, rows: usize) -> Result<ArrayRef> {
    let array = argument.to_array(rows)?;
    match array.data_type() {
        DataType::Dictionary(_, values) => Ok(cast(&array, &values.clone())?),
        DataType::Null => Ok(cast(&array, &DataType::Utf8)?),
        _ => Ok(array),
    }
}

/// Returns the bytes of a constant, if it has any.
fn bytes(scalar: &ScalarValue) -> Option<&[u8]> {
    match scalar {
        ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) | ScalarValue::Utf8View(text) => {
            text.as_deref().map(str::as_bytes)
        }
        ScalarValue::Binary(bytes)
        | ScalarValue::LargeBinary(bytes)
        | ScalarValue::BinaryView(bytes)
        | ScalarValue::FixedSizeBinary(_, bytes) => bytes.as_deref(),
        _ => None,
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        if let Some(second) = arguments.get(1) {
            self.results(second)?;
        }
        self.results(&arguments[0])
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = |argument: &ColumnarValue| matches!(argument, ColumnarValue::Scalar(_));
        // A function that is not repeatable is computed for each row.
        let once = self.facts.repeatable && arguments.args.iter().all(is_constant);
        let rows = if once { 1 } else { arguments.number_rows };
        let results = self.call(&arguments.args, rows)?;
        let wanted = arguments.return_type();
        let results = if results.data_type() == wanted { results } else { cast(&results, wanted)? };
        Ok(match once {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&results, 0)?),
            false => ColumnarValue::Array(Arc::clone(&results)),
        })
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
