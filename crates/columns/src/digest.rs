//! Hashes, HMACs and CRC32c of every value of a column.
//!
//! Ref. FIPS 180-4, FIPS 202, RFC 1321 (the hashes); FIPS 198-1 (HMAC); RFC 3720 §12.1 (CRC32c).

use std::fmt;
use std::ops::Range;

use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::DataType;
use millstream::crc::Crc32c;
use millstream::hash::{Hash, HashJob, HashLanes};
use millstream::hmac::{HmacJob, HmacKey, HmacLanes};

use crate::dictionary::is_dictionary;
use crate::error::Error;
use crate::results::{Content, Offsets, fixed, with_values};
use crate::spread::{WINDOW, cut, spread};
use crate::text::Encoding;
use crate::values::Values;

/// Returns the digest of every value of `column`: FixedSizeBinary, or text where an encoding is asked for. A null stays null. Of a
/// dictionary only the values are hashed, and its places are kept.
///
/// ```
/// use arrow_array::{Array, FixedSizeBinaryArray, StringArray};
/// use millstream::hash::Hash;
/// use millstream_columns::{Encoding, digest};
///
/// let column = StringArray::from(vec![Some("abc"), None]);
/// let digests = FixedSizeBinaryArray::from(digest(Hash::Sha256, &column.to_data(), Encoding::Binary)?);
/// assert_eq!(digests.value(0)[..4], [0xba, 0x78, 0x16, 0xbf]);
/// assert!(digests.is_null(1));
/// # Ok::<(), millstream_columns::Error>(())
/// ```
///
/// # Errors
/// [`Error::Type`], and [`Error::TooLarge`] for text.
pub fn digest(hash: Hash, column: &ArrayData, encoding: Encoding) -> Result<ArrayData, Error> {
    digests(&HashLanes::new(millstream::features()?, hash), hash.output_len(), column, encoding)
}

/// A key for HMACs of columns. Zeroised on drop.
///
/// ```
/// use arrow_array::{Array, StringArray};
/// use millstream::hash::Hash;
/// use millstream_columns::{Encoding, Hmac};
///
/// let key = Hmac::new(Hash::Sha256, b"Jefe")?;
/// let column = StringArray::from(vec!["what do ya want for nothing?"]);
/// let tokens = StringArray::from(key.sign(&column.to_data(), Encoding::Hex)?);
/// assert!(tokens.value(0).starts_with("5bdcc146bf60754e"));
/// # Ok::<(), millstream_columns::Error>(())
/// ```
pub struct Hmac {
    key: HmacKey,
    lanes: HmacLanes,
}

impl Hmac {
    /// A key of any length. A key shorter than the digest is weaker.
    ///
    /// # Errors
    /// [`Error::Environment`].
    pub fn new(hash: Hash, key: &[u8]) -> Result<Self, Error> {
        let features = millstream::features()?;
        Ok(Hmac { key: HmacKey::new(features, hash, key), lanes: HmacLanes::new(features, hash) })
    }

    /// The hash.
    pub fn hash(&self) -> Hash {
        self.key.hash()
    }

    /// Returns the tag of every value of `column`, in the form that [`digest`] has.
    ///
    /// # Errors
    /// The errors of [`digest`].
    pub fn sign(&self, column: &ArrayData, encoding: Encoding) -> Result<ArrayData, Error> {
        digests(self, self.hash().output_len(), column, encoding)
    }
}

impl fmt::Debug for Hmac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HMAC, {}", self.hash())
    }
}

/// Returns the CRC32c of every value of `column`, as UInt32. It guards against accidents, and against nobody.
///
/// ```
/// use arrow_array::{Array, BinaryArray, UInt32Array};
///
/// let column = BinaryArray::from(vec![&b"123456789"[..]]);
/// let checksums = UInt32Array::from(millstream_columns::crc32c(&column.to_data())?);
/// assert_eq!(checksums.value(0), 0xe306_9283);
/// # Ok::<(), millstream_columns::Error>(())
/// ```
///
/// # Errors
/// [`Error::Type`].
pub fn crc32c(column: &ArrayData) -> Result<ArrayData, Error> {
    if is_dictionary(column) {
        return with_values(column, crc32c(&column.child_data()[0])?);
    }
    let features = millstream::features()?;
    let values = Values::new("the column", column)?;
    let mut sums = vec![0u32; values.len];
    let mut rest = &mut sums[..];
    let tasks = cut(&values).into_iter().map(|rows| {
        let (part, after) = std::mem::take(&mut rest).split_at_mut(rows.len());
        rest = after;
        (rows, part)
    });
    spread(tasks.collect(), |(rows, sums): (Range<usize>, &mut [u32])| {
        for (row, sum) in rows.zip(sums) {
            if values.is_valid(row) {
                *sum = Crc32c::of(features, values.get(row));
            }
        }
    })?;
    let column = ArrayData::builder(DataType::UInt32).len(values.len).nulls(values.nulls);
    Ok(column.add_buffer(Buffer::from(sums)).build()?)
}

/// Computes a digest of each of many values.
trait Digests: Sync {
    /// Hands the digest of every value in `window` to `put`, in order.
    fn window(&self, window: &[&[u8]], put: impl FnMut(&[u8]));
}

impl Digests for HashLanes {
    fn window(&self, window: &[&[u8]], mut put: impl FnMut(&[u8])) {
        let mut jobs: Vec<HashJob<'_>> = window.iter().map(|data| HashJob::new(data)).collect();
        self.digest(&mut jobs.iter_mut().collect::<Vec<_>>());
        jobs.iter().for_each(|job| put(&job.digest));
    }
}

impl Digests for Hmac {
    fn window(&self, window: &[&[u8]], mut put: impl FnMut(&[u8])) {
        let mut jobs: Vec<HmacJob<'_>> = window.iter().map(|data| HmacJob::new(&self.key, data)).collect();
        self.lanes.sign(&mut jobs.iter_mut().collect::<Vec<_>>());
        jobs.iter().for_each(|job| put(&job.tag));
    }
}

fn digests<D: Digests>(
    engine: &D,
    width: usize,
    column: &ArrayData,
    encoding: Encoding,
) -> Result<ArrayData, Error> {
    if is_dictionary(column) {
        return with_values(column, digests(engine, width, &column.child_data()[0], encoding)?);
    }
    let values = Values::new("the column", column)?;
    let text = encoding.len(width);
    // A row without a value has its place among values of one width, and no place in text.
    let absent = if encoding == Encoding::Binary { width } else { 0 };
    let lengths = (0..values.len).map(|row| if values.is_valid(row) { text } else { absent });
    let offsets = match encoding {
        Encoding::Binary => Offsets::new(lengths, true)?,
        Encoding::Hex | Encoding::Base64 => Offsets::new(lengths, values.large)?,
    };
    let mut out = offsets.room();
    spread(offsets.split(&values, &mut out), |(rows, out)| {
        let (first, mut window, mut places) = (offsets.get(rows.start), Vec::new(), Vec::new());
        let mut row = rows.start;
        while row < rows.end {
            window.clear();
            places.clear();
            while row < rows.end && window.len() < WINDOW {
                if values.is_valid(row) {
                    window.push(values.get(row));
                    places.push(offsets.get(row) - first);
                }
                row += 1;
            }
            let mut places = places.iter();
            engine.window(&window, |digest| {
                let place = *places.next().expect("a place for each digest");
                encoding.write(digest, &mut out[place..place + text]);
            });
        }
    })?;
    match encoding {
        Encoding::Binary => fixed(width, out, values.nulls),
        Encoding::Hex | Encoding::Base64 => offsets.column(Content::Text, out, values.nulls),
    }
}
