//! Fernet under a key that is elsewhere: padding and base64 are made here, the rest of each token passes through the queue.

use arrow_data::ArrayData;
use millstream::cwq::Algorithm;
use millstream::fernet::{Age, NONCE, Parts, pad, unpadded};
use millstream::queue::{Done, Request};
use zeroize::{Zeroize, Zeroizing};

use super::Isolated;
use super::spans::Spans;
use crate::dictionary::{is_dictionary, over_dictionary};
use crate::error::{Error, Fault};
use crate::fernet::{Token, now, token_len};
use crate::random::random;
use crate::results::{Content, Offsets};
use crate::spread::{Failures, OnError};
use crate::values::Values;

impl Isolated {
    /// Returns a Fernet token for every value of `column`, as [`Fernet::encrypt`](crate::Fernet::encrypt) does.
    ///
    /// # Errors
    /// The errors of [`Fernet::encrypt`](crate::Fernet::encrypt); [`Error::Parameter`] for a key that is none of Fernet; [`Error::Row`] for a value of more
    /// than 65519 bytes; [`Error::Isolated`].
    pub fn encrypt_tokens(&self, column: &ArrayData, time: Option<u64>) -> Result<ArrayData, Error> {
        self.check_fernet()?;
        let values = Values::new("the column", column)?;
        let mut nonces = vec![[0; NONCE]; values.len];
        random(nonces.as_flattened_mut())?;
        let time = time.unwrap_or_else(now).to_be_bytes();
        nonces.iter_mut().for_each(|nonce| nonce[..time.len()].copy_from_slice(&time));
        let token = |row| token_len(values.get(row).len());
        let lengths = (0..values.len).map(|row| if values.is_valid(row) { token(row) } else { 0 });
        let offsets = Offsets::new(lengths, values.large)?;
        let (mut out, mut padded) = (offsets.room(), Zeroizing::new(Vec::new()));
        let failures = Failures::new(OnError::Fail);
        let mut put = |row: usize, done: &Done| {
            let data = done.buffers.destination.as_deref().unwrap_or_default();
            let tag = done.tag().try_into().map_err(|_| Fault::Authentication)?;
            let token = Parts::join(&nonces[row], data, tag);
            out[offsets.get(row)..offsets.get(row + 1)].copy_from_slice(token.as_bytes());
            Ok(())
        };
        self.pass(
            &values,
            &failures,
            |row, room| {
                padded.zeroize();
                padded.extend_from_slice(values.get(row));
                pad(&mut padded);
                let (source, destination) = (room.filled(&padded)?, room.empty(padded.len())?);
                Ok(Request::seal(self.key, &nonces[row], &[], source, destination))
            },
            &mut put,
        )?;
        failures.finish()?;
        offsets.column(Content::Text, out, values.nulls)
    }

    /// Returns the value in every token of `column`, as [`Fernet::decrypt`](crate::Fernet::decrypt) does.
    ///
    /// # Errors
    /// The errors of [`Fernet::decrypt`](crate::Fernet::decrypt); [`Error::Parameter`] for a key that is none of Fernet; [`Error::Isolated`].
    pub fn decrypt_tokens(&self, column: &ArrayData, how: &Token) -> Result<ArrayData, Error> {
        self.check_fernet()?;
        if is_dictionary(column) {
            let each = Token { on_error: OnError::Null, ..*how };
            return over_dictionary(column, how.on_error, |values| self.all_tokens(values, &each));
        }
        self.all_tokens(column, how).map(|(column, _)| column)
    }

    fn all_tokens(&self, column: &ArrayData, how: &Token) -> Result<(ArrayData, Vec<(usize, Fault)>), Error> {
        let values = Values::new("the column", column)?;
        let age = how.ttl.map(|ttl| Age { now: now(), ttl });
        let parts: Vec<Option<Parts>> = (0..values.len)
            .map(|row| std::str::from_utf8(values.get(row)).ok().filter(|_| values.is_valid(row)))
            .map(|token| token.and_then(Parts::of))
            .collect();
        let failures = Failures::new(how.on_error);
        let mut made = Spans::new(values.len);
        let mut put = |row: usize, done: &Done| {
            let token = parts[row].as_ref().ok_or(Fault::Authentication)?;
            token.check_age(age)?;
            let value = unpadded(done.buffers.destination.as_deref().unwrap_or_default())?;
            if how.text && std::str::from_utf8(value).is_err() {
                return Err(Fault::NotText);
            }
            made.put(row, value);
            Ok(())
        };
        self.pass(
            &values,
            &failures,
            |row, room| {
                let token = parts[row].as_ref().ok_or(Fault::Authentication)?;
                let (source, destination) = (room.filled(token.data())?, room.empty(token.data().len())?);
                let tag = token.tag();
                Ok(Request::open_cut(self.key, token.nonce(), &[], source, destination, tag, tag.len()))
            },
            &mut put,
        )?;
        let content = if how.text { Content::Text } else { Content::Binary };
        made.column(&values, content, failures)
    }

    fn check_fernet(&self) -> Result<(), Error> {
        if self.algorithm() == Algorithm::Fernet {
            return Ok(());
        }
        Err(Error::Parameter { rule: "the isolated key is none of Fernet: take one of kind fernet" })
    }
}
