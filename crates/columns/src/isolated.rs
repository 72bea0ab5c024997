//! Columns under keys that are elsewhere: each value passes through a queue as an operation of its own, and the key stays on the
//! accelerator's side of it.

#[cfg(feature = "ff1")]
mod digits;
mod naming;
mod spans;
mod tokens;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow_data::ArrayData;
use millstream::cwq::{Algorithm, Status, Usages};
use millstream::hash::Hash;
use millstream::isolated::Attach;
use millstream::isolated::token::Pin;
use millstream::queue::{Buffer, Done, KeyHandle, KeyOptions, Nonces, Queue, Refusal, Request, Ticket};
use zeroize::Zeroizing;

use crate::dictionary::is_dictionary;
use crate::error::{Error, Fault};
use crate::results::{Content, Offsets, fixed, with_failed, with_values};
use crate::sealed::{AAD, Open, TAG, open_column};
use crate::spread::{Failures, OnError};
use crate::text::Encoding;
use crate::values::{Parameter, Values};
use naming::{algorithm, find, isolated};

/// Bytes of a nonce that an accelerator makes.
const NONCE: usize = 12;

/// Operations in flight of a queue that [`Isolated::attach`] makes.
const DEPTH: usize = 256;

/// Bytes for which a buffer has room at least, so that it serves for other values, too.
const ROOM: usize = 128;

/// A key behind a queue, for columns: AES-GCM, ChaCha20-Poly1305, AES-GCM-SIV, AES-SIV, an HMAC, FF1 or Fernet.
///
/// With [`Isolated::attach`] the key is one of a token of the running service. This process names it, and never has its bytes; its
/// worker makes the nonces, which AES-SIV has none of. As long as this process may use the key, it can have any number of values sealed or
/// signed: who takes over this process can try a dictionary of values under the key of an HMAC, of AES-SIV or of FF1. The policy's
/// `key_uses` and `uses` bound that.
///
/// ```
/// use arrow_array::{Array, StringArray};
/// use millstream::cwq::Algorithm;
/// use millstream::queue::{Config, KeyOptions, Nonces, Queue};
/// use millstream_columns::{Isolated, Open, Parameter, Seal};
///
/// // A queue of this process shows how it works, and isolates nothing.
/// let mut queue = Queue::inline(millstream::features()?, Config::default())?;
/// let made = KeyOptions { nonces: Nonces::Made, ..KeyOptions::default() };
/// let key = queue.import_key_with(Algorithm::AesGcm, &[7; 32], made)?;
/// let key = Isolated::over(queue, key);
///
/// let names = StringArray::from(vec![Some("Ada"), None, Some("Grace")]);
/// let aad = Parameter::Constant(b"customers.name");
/// let sealed = key.seal(&names.to_data(), &Seal { aad, ..Seal::default() })?;
/// let opened = key.open(&sealed, &Open { aad, text: true, ..Open::default() })?;
/// assert_eq!(StringArray::from(opened), names);
/// # Ok::<(), millstream_columns::Error>(())
/// ```
pub struct Isolated {
    queue: Mutex<Queue>,
    key: KeyHandle,
}

impl Isolated {
    /// Takes a queue over, and a key that its accelerator has. A key that seals has nonces that the accelerator makes
    /// ([`Nonces::Made`]).
    pub fn over(queue: Queue, key: KeyHandle) -> Self {
        Isolated { queue: Mutex::new(queue), key }
    }

    /// Attaches to the service, and loads a key of a token there.
    ///
    /// `name` is `TOKEN/LABEL`, or the key's label where only one token has such a key. A key of kind `aes` is for AES-GCM, one of kind
    /// `chacha20-poly1305` or `aes-siv` for that, and one of kind `hmac` for HMACs with `hash`.
    ///
    /// # Errors
    /// [`Error::Name`] when no key, or more than one, is meant; [`Error::Isolated`] when the service can not be reached or refuses.
    pub fn attach(options: &Attach, name: &str, pin: &[u8], hash: Hash) -> Result<Self, Error> {
        Isolated::load(options, name, pin, |kind| algorithm(kind, hash))
    }

    /// Attaches to the service as [`Isolated::attach`], and loads the key for an algorithm: one of kind `aes` is also for
    /// [`Algorithm::AesGcmSiv`] and [`Algorithm::AesFf1`].
    ///
    /// # Errors
    /// The errors of [`Isolated::attach`]; [`Error::Isolated`] also when the algorithm takes no keys of that kind.
    pub fn attach_for(options: &Attach, name: &str, pin: &[u8], algorithm: Algorithm) -> Result<Self, Error> {
        Isolated::load(options, name, pin, |_| Some(algorithm))
    }

    fn load(
        options: &Attach,
        name: &str,
        pin: &[u8],
        algorithm: impl FnOnce(&str) -> Option<Algorithm>,
    ) -> Result<Self, Error> {
        let (token, object, attributes) = find(options, name)?;
        let algorithm = algorithm(&attributes.kind).ok_or_else(|| {
            Error::name(name, format!("it is of kind {}, which is not for columns", attributes.kind))
        })?;
        let accelerator = Attach { depth: DEPTH, ..options.clone() }.attach().map_err(isolated)?;
        let token = accelerator.open_token(token, Pin::User(pin)).map_err(isolated)?;
        let nonces = if Usages::has_made_nonces(algorithm) { Nonces::Made } else { Nonces::Given };
        let key = token
            .load(object, algorithm, KeyOptions { nonces, ..KeyOptions::default() })
            .map_err(isolated)?;
        Ok(Isolated::over(accelerator.queue().map_err(isolated)?, key))
    }

    /// The key's algorithm. For an HMAC it is the hash.
    pub fn algorithm(&self) -> Algorithm {
        self.key.algorithm()
    }

    /// Returns true when the key is one for HMACs.
    pub fn is_of_hmac(&self) -> bool {
        hash_of(self.algorithm()).is_some()
    }

    /// Returns the HMAC of every value of `column`, in the form that [`digest`](crate::digest()) has.
    ///
    /// # Errors
    /// [`Error::Type`], [`Error::TooLarge`]; [`Error::Parameter`] for another key than an HMAC's; [`Error::Isolated`].
    pub fn sign(&self, column: &ArrayData, encoding: Encoding) -> Result<ArrayData, Error> {
        let Some(hash) = hash_of(self.algorithm()) else {
            return Err(Error::Parameter {
                rule: "the isolated key is none of an HMAC: seal and open with it",
            });
        };
        if is_dictionary(column) {
            return with_values(column, self.sign(&column.child_data()[0], encoding)?);
        }
        let values = Values::new("the column", column)?;
        let (width, text) = (hash.output_len(), encoding.len(hash.output_len()));
        let absent = if encoding == Encoding::Binary { width } else { 0 };
        let lengths = (0..values.len).map(|row| if values.is_valid(row) { text } else { absent });
        let offsets = Offsets::new(lengths, encoding == Encoding::Binary || values.large)?;
        let mut out = offsets.room();
        let failures = Failures::new(OnError::Fail);
        let mut put = |row: usize, done: &Done| {
            encoding.write(done.tag(), &mut out[offsets.get(row)..][..text]);
            Ok(())
        };
        self.pass(
            &values,
            &failures,
            |row, room| {
                let source = room.filled(values.get(row))?;
                Ok(Request::mac(self.key, source))
            },
            &mut put,
        )?;
        failures.finish()?;
        match encoding {
            Encoding::Binary => fixed(width, out, values.nulls),
            Encoding::Hex | Encoding::Base64 => offsets.column(Content::Text, out, values.nulls),
        }
    }

    /// Returns every value of `column` sealed, in the form of [`Aead::seal`](crate::Aead::seal) under nonces that the accelerator
    /// makes; under AES-SIV in that of [`Siv::seal`](crate::Siv::seal), for which there is associated data, that may have no bytes.
    ///
    /// # Errors
    /// The errors of [`Aead::seal`](crate::Aead::seal); [`Error::Parameter`] for nonces of the caller's, for the key of an HMAC, and under
    /// AES-SIV without associated data; [`Error::Isolated`].
    pub fn seal(&self, column: &ArrayData, how: &crate::Seal<'_>) -> Result<ArrayData, Error> {
        let layout = self.layout(&how.aad)?;
        if !matches!(how.nonces, Parameter::None) {
            return Err(Error::Parameter {
                rule: "the service makes the nonces of an isolated key: give none",
            });
        }
        let values = Values::new("the column", column)?;
        let aad = how.aad.values(AAD, values.len)?;
        let encoding = how.encoding;
        let sealed = |row| encoding.len(values.get(row).len() + layout.overhead());
        let lengths = (0..values.len).map(|row| if values.is_valid(row) { sealed(row) } else { 0 });
        let offsets = Offsets::new(lengths, values.large)?;
        let (mut out, mut whole) = (offsets.room(), Vec::new());
        let failures = Failures::new(OnError::Fail);
        let mut put = |row: usize, done: &Done| {
            let text = done.buffers.destination.as_deref().unwrap_or_default();
            whole.clear();
            let parts = match layout {
                Layout::NonceTextTag => [done.nonce(), text, done.tag()],
                Layout::TagText => [&[], done.tag(), text],
            };
            parts.iter().for_each(|part| whole.extend_from_slice(part));
            encoding.write(&whole, &mut out[offsets.get(row)..offsets.get(row + 1)]);
            Ok(())
        };
        self.pass(
            &values,
            &failures,
            |row, room| {
                let aad = aad.get(AAD, row)?.unwrap_or_default();
                let value = values.get(row);
                let (source, destination) = (room.filled(value)?, room.empty(value.len())?);
                Ok(match layout {
                    Layout::NonceTextTag => Request::seal_with_made_nonce(self.key, aad, source, destination),
                    Layout::TagText => Request::seal(self.key, &[], aad, source, destination),
                })
            },
            &mut put,
        )?;
        failures.finish()?;
        let content = if encoding == Encoding::Binary { Content::Binary } else { Content::Text };
        offsets.column(content, out, values.nulls)
    }

    /// Returns every value of `column` opened, as [`Aead::open`](crate::Aead::open) does.
    ///
    /// # Errors
    /// The errors of [`Aead::open`](crate::Aead::open); [`Error::Parameter`] for the key of an HMAC; [`Error::Isolated`].
    pub fn open(&self, column: &ArrayData, how: &Open<'_>) -> Result<ArrayData, Error> {
        let layout = self.layout(&how.aad)?;
        open_column(column, how, |column, how| self.open_all(layout, column, how))
    }

    fn open_all(
        &self,
        layout: Layout,
        column: &ArrayData,
        how: &Open<'_>,
    ) -> Result<(ArrayData, Vec<(usize, Fault)>), Error> {
        let values = Values::new("the column", column)?;
        let aad = how.aad.values(AAD, values.len)?;
        let plain = |row| values.get(row).len().saturating_sub(layout.overhead());
        let lengths = (0..values.len).map(|row| if values.is_valid(row) { plain(row) } else { 0 });
        let offsets = Offsets::new(lengths, values.large)?;
        let mut out = Zeroizing::new(offsets.room());
        let failures = Failures::new(how.on_error);
        let mut put = |row: usize, done: &Done| {
            let text = done.buffers.destination.as_deref().unwrap_or_default();
            if how.text && std::str::from_utf8(text).is_err() {
                return Err(Fault::NotText);
            }
            out[offsets.get(row)..offsets.get(row + 1)].copy_from_slice(text);
            Ok(())
        };
        self.pass(
            &values,
            &failures,
            |row, room| {
                let sealed = values.get(row);
                let aad = aad.get(AAD, row)?.unwrap_or_default();
                let Some((nonce, text, tag)) = layout.parts(sealed) else {
                    return Err(Fault::TooShort { given: sealed.len(), least: layout.overhead() }.into());
                };
                let (source, destination) = (room.filled(text)?, room.empty(text.len())?);
                Ok(Request::open(self.key, nonce, aad, source, destination, tag))
            },
            &mut put,
        )?;
        let failed = failures.finish()?;
        let nulls = with_failed(values.nulls, values.len, &failed);
        let content = if how.text { Content::Text } else { Content::Binary };
        Ok((offsets.column(content, std::mem::take(&mut *out), nulls)?, failed))
    }

    /// Returns the layout of the values that the key seals.
    fn layout(&self, aad: &Parameter<'_>) -> Result<Layout, Error> {
        match self.algorithm() {
            Algorithm::AesSiv if matches!(aad, Parameter::None) => Err(Error::Parameter {
                rule: "an isolated key of AES-SIV takes associated data: give some, which may have no bytes",
            }),
            Algorithm::AesSiv => Ok(Layout::TagText),
            algorithm if Usages::has_made_nonces(algorithm) => Ok(Layout::NonceTextTag),
            _ => Err(Error::Parameter {
                rule: "the isolated key neither seals nor opens: it is one of an HMAC, of FF1 or of Fernet",
            }),
        }
    }

    /// Passes every row with a value through the queue. `request` makes the operation of a row, and `put` takes its result.
    fn pass<'r>(
        &self,
        values: &Values<'_>,
        failures: &Failures,
        mut request: impl FnMut(usize, &mut Room<'_>) -> Result<Request<'r>, Stop>,
        put: &mut dyn FnMut(usize, &Done) -> Result<(), Fault>,
    ) -> Result<(), Error> {
        let mut queue = self.queue();
        let mut flight = Flight { under_way: VecDeque::new(), spare: Vec::new(), failures, put };
        let mut ended = Ok(());
        let mut row = 0;
        while row < values.len && ended.is_ok() && !failures.are_before(row) {
            if !values.is_valid(row) {
                row += 1;
                continue;
            }
            if queue.in_flight() == queue.depth() {
                ended = flight.land(&mut queue);
                continue;
            }
            let made = request(row, &mut Room { queue: &queue, spare: &mut flight.spare });
            let submitted =
                made.and_then(|request| queue.submit(request).map_err(|refused| refused.why.into()));
            match submitted {
                Ok(ticket) => flight.under_way.push_back((ticket, row)),
                Err(Stop::Row(fault)) => failures.note(row, fault),
                // The rows in flight give their buffers back.
                Err(Stop::Queue(Refusal::ArenaFull)) if queue.in_flight() > 0 => {
                    flight.spare.clear();
                    ended = flight.land(&mut queue);
                    continue;
                }
                Err(Stop::Queue(why)) => ended = Err(Error::Isolated(why.into())),
            }
            row += 1;
        }
        // Whatever happened, no buffer stays behind in the queue.
        while queue.in_flight() > 0 {
            let landed = flight.land(&mut queue);
            ended = ended.and(landed);
        }
        ended
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Isolated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Isolated({})", self.algorithm().name())
    }
}

/// The layout of a sealed value.
#[derive(Clone, Copy)]
enum Layout {
    /// Nonce, ciphertext and tag, as [`Aead`](crate::Aead) has them.
    NonceTextTag,
    /// Tag and ciphertext, as [`Siv`](crate::Siv) has them.
    TagText,
}

impl Layout {
    /// Returns the bytes that a sealed value has more than the value.
    fn overhead(self) -> usize {
        match self {
            Layout::NonceTextTag => NONCE + TAG,
            Layout::TagText => TAG,
        }
    }

    /// Returns the nonce, the ciphertext and the tag of a sealed value; none if it is too short.
    fn parts(self, sealed: &[u8]) -> Option<(&[u8], &[u8], &[u8; TAG])> {
        match self {
            Layout::NonceTextTag => {
                let (nonce, rest) = sealed.split_at_checked(NONCE)?;
                let (text, tag) = rest.split_last_chunk()?;
                Some((nonce, text, tag))
            }
            Layout::TagText => {
                let (tag, text) = sealed.split_first_chunk()?;
                Some((&[], text, tag))
            }
        }
    }
}

/// Why a row has no operation.
enum Stop {
    /// The row is at fault.
    Row(Fault),
    /// The queue takes none.
    Queue(Refusal),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Stop::Row(fault)
    }
}

impl From<Refusal> for Stop {
    fn from(why: Refusal) -> Self {
        Stop::Queue(why)
    }
}

/// The buffers of the queue: those that rows have given back, and new ones.
struct Room<'a> {
    queue: &'a Queue,
    spare: &'a mut Vec<Buffer>,
}

impl Room<'_> {
    fn empty(&mut self, len: usize) -> Result<Buffer, Refusal> {
        let mut buffer = match self.spare.pop() {
            Some(spare) if spare.capacity() >= len => spare,
            _ => self.queue.buffer(len.max(ROOM))?,
        };
        buffer.set_len(len);
        Ok(buffer)
    }

    fn filled(&mut self, bytes: &[u8]) -> Result<Buffer, Refusal> {
        let mut buffer = self.empty(bytes.len())?;
        buffer.copy_from_slice(bytes);
        Ok(buffer)
    }
}

/// The rows in flight.
struct Flight<'a> {
    under_way: VecDeque<(Ticket, usize)>,
    /// Buffers for the next rows. They are wiped when they are dropped, at the end of the column.
    spare: Vec<Buffer>,
    failures: &'a Failures,
    put: &'a mut dyn FnMut(usize, &Done) -> Result<(), Fault>,
}

impl Flight<'_> {
    /// Waits for a row, and takes all that have ended by then.
    fn land(&mut self, queue: &mut Queue) -> Result<(), Error> {
        let mut ended = Ok(());
        let mut next = queue.wait();
        while let Some(done) = next {
            ended = ended.and(self.take(done));
            next = queue.poll();
        }
        ended
    }

    fn take(&mut self, mut done: Done) -> Result<(), Error> {
        // Rows end in the order in which they began, or nearly so.
        let at = self.under_way.iter().position(|(ticket, _)| *ticket == done.ticket);
        let Some((_, row)) = at.and_then(|at| self.under_way.remove(at)) else { return Ok(()) };
        let fault = match done.result {
            Ok(()) => (self.put)(row, &done).err(),
            Err(Status::Authentication) => Some(Fault::Authentication),
            Err(_) => match done.check() {
                Err(millstream::Error::Engine(error)) => Some(Fault::from(error)),
                Err(error) => return Err(Error::Isolated(error)),
                Ok(()) => None,
            },
        };
        if let Some(fault) = fault {
            self.failures.note(row, fault);
        }
        self.spare.extend(done.buffers.source.take());
        self.spare.extend(done.buffers.destination.take());
        Ok(())
    }
}

/// Returns the hash of an HMAC's key.
fn hash_of(algorithm: Algorithm) -> Option<Hash> {
    Hash::ALL.into_iter().find(|hash| millstream::algorithm_of(*hash) == algorithm)
}
