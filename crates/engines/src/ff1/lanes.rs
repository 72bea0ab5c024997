//! Values of any keys and radices, as they come from queues: digits as pairs of bytes.

use std::fmt;

use millstream_cpu::Features;

use super::job::Ff1Job;
use super::{NAME, check_digits, check_length, check_radix, many};
use crate::aead::{by_key, in_arrays};
use crate::aes::{self, EcbOps, Forward};
use crate::{Bound, Error, InOut, Kernel};

/// A key for FF1 of any radix, which each value tells. Zeroised on drop.
pub struct Ff1Key {
    cipher: Forward,
}

impl Ff1Key {
    /// A key of 16, 24 or 32 bytes on the best kernel that `features` allow.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn new(features: Features, key: &[u8]) -> Result<Self, Error> {
        Ff1Key::with_kernel(aes::ECB.best(features), key)
    }

    /// A key on the given kernel of ECB.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn with_kernel(kernel: Bound<EcbOps>, key: &[u8]) -> Result<Self, Error> {
        Ok(Ff1Key { cipher: Forward::new(kernel, NAME, key)? })
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.cipher.kernel()
    }
}

impl fmt::Debug for Ff1Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME}({})", self.kernel().name)
    }
}

/// One value with its key, for [`Ff1Lanes`].
pub struct KeyedFf1Job<'a> {
    /// The key.
    pub key: &'a Ff1Key,
    /// The radix, 2 to 65536.
    pub radix: u32,
    /// The tweak, of any length.
    pub tweak: &'a [u8],
    /// The digits: two bytes each, the low one first.
    pub data: InOut<'a>,
    /// The result of [`Ff1::encrypt`](super::Ff1::encrypt) or [`Ff1::decrypt`](super::Ff1::decrypt). After an error the
    /// output is as it was.
    pub result: Result<(), Error>,
}

impl<'a> KeyedFf1Job<'a> {
    /// A value to encrypt or decrypt.
    pub const fn new(key: &'a Ff1Key, radix: u32, tweak: &'a [u8], data: InOut<'a>) -> Self {
        KeyedFf1Job { key, radix, tweak, data, result: Ok(()) }
    }
}

/// Many values of any keys and radices.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::InOut;
/// use millstream_engines::ff1::{Alphabet, Ff1, Ff1Key, Ff1Lanes, KeyedFf1Job};
///
/// let features = Features::hardware();
/// let (key, decimal) = (Ff1Key::new(features, &[7; 16])?, Alphabet::new("0123456789")?);
/// let mut digits = decimal.digits("4000123456789010")?;
/// let mut bytes: Vec<u8> = digits.iter().flat_map(|digit| digit.to_le_bytes()).collect();
/// let mut job = KeyedFf1Job::new(&key, 10, b"card", InOut::in_place(&mut bytes));
/// Ff1Lanes::new(features).encrypt(&mut [&mut job]);
/// assert_eq!(job.result, Ok(()));
///
/// Ff1::new(features, &[7; 16], 10)?.encrypt(b"card", &mut digits)?;
/// assert_eq!(bytes, digits.iter().flat_map(|digit| digit.to_le_bytes()).collect::<Vec<_>>());
/// # Ok::<(), millstream_engines::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Ff1Lanes;

impl Ff1Lanes {
    /// Lanes for keys that are bound to any kernels.
    pub const fn new(_: Features) -> Self {
        Ff1Lanes
    }

    /// Encrypts many values, those of one key, radix and length side by side, and may reorder `jobs`. Each job has a result of
    /// its own.
    pub fn encrypt(&self, jobs: &mut [&mut KeyedFf1Job<'_>]) {
        run::<false>(jobs);
    }

    /// Decrypts many values as [`Ff1Lanes::encrypt`] encrypts them.
    pub fn decrypt(&self, jobs: &mut [&mut KeyedFf1Job<'_>]) {
        run::<true>(jobs);
    }
}

fn run<const DECRYPT: bool>(jobs: &mut [&mut KeyedFf1Job<'_>]) {
    by_key(
        jobs,
        |job| (std::ptr::from_ref(job.key), job.radix, job.data.len()),
        |jobs| {
            in_arrays!(jobs, |array| of_one_kind::<DECRYPT, _>(array), 32 16 8 4 2 1);
        },
    );
}

/// Works on values of one key, radix and length.
fn of_one_kind<const DECRYPT: bool, const COUNT: usize>(jobs: &mut [&mut KeyedFf1Job<'_>; COUNT]) {
    let (key, radix) = (jobs[0].key, jobs[0].radix);
    let parameters = check_parameters(radix, jobs[0].data.len());
    let mut all = true;
    for job in jobs.iter_mut() {
        job.result = parameters.and_then(|()| check_digits(radix, job.data.input().as_chunks::<2>().0));
        all &= job.result.is_ok();
    }
    if !all {
        // One whose digits are wrong leaves its output alone, so those beside it go alone, too.
        if COUNT > 1 {
            jobs.as_chunks_mut::<1>().0.iter_mut().for_each(of_one_kind::<DECRYPT, 1>);
        }
        return;
    }
    let mut inner = jobs.each_mut().map(|job| {
        job.data.copy();
        Ff1Job::new(job.tweak, job.data.output().as_chunks_mut::<2>().0)
    });
    many::<DECRYPT, [u8; 2]>(&key.cipher, radix, &mut inner.each_mut());
    let results = inner.map(|inner| inner.result);
    for (job, result) in jobs.iter_mut().zip(results) {
        job.result = result;
    }
}

/// Checks the radix and the number of bytes before anything is written.
fn check_parameters(radix: u32, len: usize) -> Result<(), Error> {
    check_radix(radix.into())?;
    if !len.is_multiple_of(2) {
        return Err(Error::DataLength {
            algorithm: NAME,
            given: len as u64,
            takes: "two bytes for each digit",
        });
    }
    check_length(radix, len / 2)
}
