//! The walk over a column that is sealed or opened: rows become jobs for the engines, and jobs results.

use std::ops::Range;

use arrow_data::ArrayData;
use millstream::{EngineError, InOut};
use zeroize::Zeroize;

use crate::dictionary::{is_dictionary, over_dictionary};
use crate::error::{Error, Fault};
use crate::results::{Content, Offsets, with_failed, with_values};
use crate::spread::{Failures, OnError, WINDOW, spread};
use crate::text::Encoding;
use crate::values::{Beside, Parameter, Values};

/// Bytes of a tag.
pub(crate) const TAG: usize = 16;

pub(crate) const AAD: &str = "associated data";
const NONCE: &str = "the nonce";

/// An engine that seals and opens many values under one key.
pub(crate) trait Sealer: Sync {
    type Job<'a>;

    /// Bytes of a nonce, which stands in front of the text.
    const NONCE: usize;

    /// True if the tag stands in front of the text and not behind it.
    const TAG_FIRST: bool;

    /// Makes the job of one value. `aad` has one component or none.
    fn job<'a>(&'a self, nonce: &'a [u8], aad: &'a [&'a [u8]], data: InOut<'a>) -> Self::Job<'a>;

    fn seal(&self, jobs: &mut [&mut Self::Job<'_>]);
    fn open(&self, jobs: &mut [&mut Self::Job<'_>]);

    fn tag<'j>(job: &'j mut Self::Job<'_>) -> &'j mut [u8; TAG];
    fn output<'j>(job: &'j mut Self::Job<'_>) -> &'j mut [u8];
    fn result(job: &Self::Job<'_>) -> Result<(), EngineError>;
}

/// The nonces of a column.
pub(crate) enum Nonces<'a> {
    /// The nonces of all rows, one behind the other. An engine without nonces has none.
    Made(Vec<u8>),
    /// One for all rows, which only an engine that outputs the same for the same may have.
    Constant(&'a [u8]),
    Column(Values<'a>),
}

/// Parameters of opening.
#[derive(Clone, Copy, Debug, Default)]
pub struct Open<'a> {
    /// The associated data that they were sealed with.
    pub aad: Parameter<'a>,
    /// The fate of rows that do not authenticate.
    pub on_error: OnError,
    /// True if the values are text in UTF-8. The result is Utf8 then, and otherwise Binary.
    pub text: bool,
}

const fn overhead<S: Sealer>() -> usize {
    S::NONCE + TAG
}

/// Seals every value.
pub(crate) fn seal<S: Sealer>(
    sealer: &S,
    column: &ArrayData,
    aad: Parameter<'_>,
    nonces: &Nonces<'_>,
    encoding: Encoding,
) -> Result<ArrayData, Error> {
    let constant = match nonces {
        Nonces::Made(bytes) => bytes.is_empty() && S::NONCE == 0,
        Nonces::Constant(_) => true,
        Nonces::Column(_) => false,
    };
    if is_dictionary(column) && constant && aad.is_constant() {
        return with_values(column, seal(sealer, &column.child_data()[0], aad, nonces, encoding)?);
    }
    let values = Values::new("the column", column)?;
    let aad = aad.values(AAD, values.len)?;
    let sealed = |row| encoding.len(values.get(row).len() + overhead::<S>());
    let lengths = (0..values.len).map(|row| if values.is_valid(row) { sealed(row) } else { 0 });
    let offsets = Offsets::new(lengths, values.large)?;
    let mut out = offsets.room();
    let failures = Failures::new(OnError::Fail);
    spread(offsets.split(&values, &mut out), |(rows, out)| {
        if !failures.are_before(rows.start) {
            seal_rows(sealer, &values, &aad, nonces, encoding, rows, out, &failures);
        }
    })?;
    failures.finish()?;
    let content = if encoding == Encoding::Binary { Content::Binary } else { Content::Text };
    offsets.column(content, out, values.nulls)
}

fn seal_rows<S: Sealer>(
    sealer: &S,
    values: &Values<'_>,
    aad: &Beside<'_>,
    nonces: &Nonces<'_>,
    encoding: Encoding,
    rows: Range<usize>,
    mut out: &mut [u8],
    failures: &Failures,
) {
    let sealing = Sealing { nonces };
    let mut room = Vec::new();
    for window in windows(rows) {
        let spans = window.clone().filter(|row| values.is_valid(*row));
        let lengths = spans.map(|row| values.get(row).len() + overhead::<S>());
        if encoding == Encoding::Binary {
            let (place, rest) = std::mem::take(&mut out).split_at_mut(lengths.sum());
            out = rest;
            walk(sealer, &sealing, values, aad, window, place, failures);
            continue;
        }
        let lengths: Vec<usize> = lengths.collect();
        room.clear();
        room.resize(lengths.iter().sum(), 0);
        walk(sealer, &sealing, values, aad, window, &mut room, failures);
        let mut sealed = &room[..];
        for len in lengths {
            let (value, after) = sealed.split_at(len);
            let (text, behind) = std::mem::take(&mut out).split_at_mut(encoding.len(len));
            encoding.write(value, text);
            (sealed, out) = (after, behind);
        }
    }
}

/// Opens every value.
pub(crate) fn open<S: Sealer>(sealer: &S, column: &ArrayData, how: &Open<'_>) -> Result<ArrayData, Error> {
    open_column(column, how, |column, how| open_all(sealer, column, how))
}

/// Opens every value by `open_all`, which also tells the rows that failed. Of a dictionary it is given the values only.
pub(crate) fn open_column(
    column: &ArrayData,
    how: &Open<'_>,
    open_all: impl FnOnce(&ArrayData, &Open<'_>) -> Result<(ArrayData, Vec<(usize, Fault)>), Error>,
) -> Result<ArrayData, Error> {
    if is_dictionary(column) && how.aad.is_constant() {
        let each = Open { on_error: OnError::Null, ..*how };
        return over_dictionary(column, how.on_error, |values| open_all(values, &each));
    }
    open_all(column, how).map(|(column, _)| column)
}

fn open_all<S: Sealer>(
    sealer: &S,
    column: &ArrayData,
    how: &Open<'_>,
) -> Result<(ArrayData, Vec<(usize, Fault)>), Error> {
    let values = Values::new("the column", column)?;
    let aad = how.aad.values(AAD, values.len)?;
    let plain = |row| values.get(row).len().saturating_sub(overhead::<S>());
    let lengths = (0..values.len).map(|row| if values.is_valid(row) { plain(row) } else { 0 });
    let offsets = Offsets::new(lengths, values.large)?;
    let mut out = offsets.room();
    let failures = Failures::new(how.on_error);
    spread(offsets.split(&values, &mut out), |(rows, mut out)| {
        if failures.are_before(rows.start) {
            return;
        }
        for window in windows(rows) {
            let len = offsets.get(window.end) - offsets.get(window.start);
            let (place, rest) = std::mem::take(&mut out).split_at_mut(len);
            out = rest;
            walk(sealer, &Opening { text: how.text }, &values, &aad, window, place, &failures);
        }
    })?;
    let failed = match failures.finish() {
        Ok(failed) => failed,
        Err(error) => {
            out.zeroize();
            return Err(error);
        }
    };
    let nulls = with_failed(values.nulls, values.len, &failed);
    let content = if how.text { Content::Text } else { Content::Binary };
    Ok((offsets.column(content, out, nulls)?, failed))
}

/// A direction of the walk over a column: the parts of a row, and what is done with them.
trait Direction<S: Sealer> {
    /// The tag's place, from which it is read or to which it is written.
    type Tag<'t>;

    /// Returns the bytes that a value of `given` bytes becomes.
    fn len(given: usize) -> usize;

    /// Returns the nonce of a row, its text, and the place of its tag. `place` has [`Direction::len`] bytes.
    fn parts<'t>(
        &'t self,
        row: usize,
        given: &'t [u8],
        place: &'t mut [u8],
    ) -> Result<Parts<'t, Self::Tag<'t>>, Fault>;

    /// Works on all values of a window.
    fn run(sealer: &S, jobs: &mut [&mut S::Job<'_>]);

    /// Gives the job its tag before the work.
    fn begin(job: &mut S::Job<'_>, tag: &Self::Tag<'_>);

    /// Looks at the result, and takes the tag from the job after the work.
    fn finish(&self, job: &mut S::Job<'_>, tag: Self::Tag<'_>) -> Result<(), Fault>;
}

/// The parts of a row.
struct Parts<'t, T> {
    nonce: &'t [u8],
    text: InOut<'t>,
    tag: T,
}

/// Values become nonces, ciphertexts and tags.
struct Sealing<'a> {
    nonces: &'a Nonces<'a>,
}

impl<S: Sealer> Direction<S> for Sealing<'_> {
    type Tag<'t> = &'t mut [u8];

    #[inline]
    fn len(given: usize) -> usize {
        given + overhead::<S>()
    }

    #[inline]
    fn parts<'t>(
        &'t self,
        row: usize,
        given: &'t [u8],
        place: &'t mut [u8],
    ) -> Result<Parts<'t, &'t mut [u8]>, Fault> {
        let nonce = nonce::<S>(self.nonces, row)?;
        let (before, rest) = place.split_at_mut(S::NONCE);
        before.copy_from_slice(nonce);
        let (text, tag) = if S::TAG_FIRST {
            let (tag, text) = rest.split_at_mut(TAG);
            (text, tag)
        } else {
            rest.split_at_mut(given.len())
        };
        let text = InOut::separate(given, text).expect("a text as long as the value");
        Ok(Parts { nonce, text, tag })
    }

    fn run(sealer: &S, jobs: &mut [&mut S::Job<'_>]) {
        sealer.seal(jobs);
    }

    fn begin(_: &mut S::Job<'_>, _: &&mut [u8]) {}

    #[inline]
    fn finish(&self, job: &mut S::Job<'_>, tag: &mut [u8]) -> Result<(), Fault> {
        // A value may be longer than the engine allows.
        S::result(job)?;
        tag.copy_from_slice(S::tag(job));
        Ok(())
    }
}

/// Nonces, ciphertexts and tags become values. One that fails leaves zeros.
struct Opening {
    text: bool,
}

impl<S: Sealer> Direction<S> for Opening {
    type Tag<'t> = &'t [u8];

    #[inline]
    fn len(given: usize) -> usize {
        given.saturating_sub(overhead::<S>())
    }

    #[inline]
    fn parts<'t>(
        &'t self,
        _: usize,
        given: &'t [u8],
        place: &'t mut [u8],
    ) -> Result<Parts<'t, &'t [u8]>, Fault> {
        if given.len() < overhead::<S>() {
            return Err(Fault::TooShort { given: given.len(), least: overhead::<S>() });
        }
        let (nonce, rest) = given.split_at(S::NONCE);
        let (text, tag) = if S::TAG_FIRST {
            let (tag, text) = rest.split_at(TAG);
            (text, tag)
        } else {
            rest.split_at(place.len())
        };
        let text = InOut::separate(text, place).expect("room for the text");
        Ok(Parts { nonce, text, tag })
    }

    fn run(sealer: &S, jobs: &mut [&mut S::Job<'_>]) {
        sealer.open(jobs);
    }

    #[inline]
    fn begin(job: &mut S::Job<'_>, tag: &&[u8]) {
        S::tag(job).copy_from_slice(tag);
    }

    #[inline]
    fn finish(&self, job: &mut S::Job<'_>, _: &[u8]) -> Result<(), Fault> {
        let result = S::result(job).map_err(Fault::from);
        let opened = S::output(job);
        let result = result.and_then(|()| match self.text && std::str::from_utf8(opened).is_err() {
            true => Err(Fault::NotText),
            false => Ok(()),
        });
        if result.is_err() {
            // The engine has left zeros already, unless what it opened is no text.
            opened.fill(0);
        }
        result
    }
}

/// Seals or opens the values of a window into `out`, one behind the other.
fn walk<S: Sealer, D: Direction<S>>(
    sealer: &S,
    direction: &D,
    values: &Values<'_>,
    aad: &Beside<'_>,
    window: Range<usize>,
    mut out: &mut [u8],
    failures: &Failures,
) {
    let components = Components::new(aad, window.clone());
    let mut jobs = Vec::with_capacity(window.len());
    let mut tags = Vec::with_capacity(window.len());
    for row in window {
        if !values.is_valid(row) {
            continue;
        }
        let given = values.get(row);
        let (place, rest) = std::mem::take(&mut out).split_at_mut(D::len(given.len()));
        out = rest;
        let parts = components.get(aad, row).and_then(|aad| Ok((aad, direction.parts(row, given, place)?)));
        match parts {
            Ok((aad, parts)) => {
                let mut job = sealer.job(parts.nonce, aad, parts.text);
                D::begin(&mut job, &parts.tag);
                jobs.push(job);
                tags.push((row, parts.tag));
            }
            Err(fault) => failures.note(row, fault),
        }
    }
    D::run(sealer, &mut jobs.iter_mut().collect::<Vec<_>>());
    for (job, (row, tag)) in jobs.iter_mut().zip(tags) {
        if let Err(fault) = direction.finish(job, tag) {
            failures.note(row, fault);
        }
    }
}

/// The associated data of a window's rows, of one component or none. Where it is constant, all rows have the very same slice of it, and
/// an engine may work on it once.
struct Components<'a> {
    constant: &'a [&'a [u8]],
    /// The component of each row from `first` on, if it is a column.
    each: Vec<&'a [u8]>,
    first: usize,
}

impl<'a> Components<'a> {
    fn new(aad: &'a Beside<'a>, window: Range<usize>) -> Self {
        let (first, mut each) = (window.start, Vec::new());
        let constant = match aad {
            Beside::None => &[][..],
            Beside::Constant(component) => std::slice::from_ref(component),
            Beside::Column(values) => {
                each.extend(window.map(|row| values.get(row)));
                &[]
            }
        };
        Components { constant, each, first }
    }

    #[inline]
    fn get(&self, aad: &Beside<'_>, row: usize) -> Result<&[&'a [u8]], Fault> {
        match aad {
            Beside::Column(values) if values.is_valid(row) => {
                Ok(std::slice::from_ref(&self.each[row - self.first]))
            }
            Beside::Column(_) => Err(Fault::Null { column: AAD }),
            _ => Ok(self.constant),
        }
    }
}

/// Returns the windows of a task's rows.
fn windows(rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = rows.end;
    rows.step_by(WINDOW).map(move |begin| begin..end.min(begin + WINDOW))
}

/// The nonce of a row.
#[inline]
fn nonce<'a, S: Sealer>(nonces: &'a Nonces<'_>, row: usize) -> Result<&'a [u8], Fault> {
    let nonce = match nonces {
        Nonces::Made(bytes) => &bytes[row * S::NONCE..(row + 1) * S::NONCE],
        Nonces::Constant(nonce) => nonce,
        Nonces::Column(values) => values.beside(NONCE, row)?,
    };
    if nonce.len() != S::NONCE {
        return Err(Fault::NonceLength { given: nonce.len(), needed: S::NONCE });
    }
    Ok(nonce)
}
