//! FF1: format-preserving encryption. A string of digits of any radix becomes another one of the same length.
//!
//! Patents may apply to FF1 in some places. The cargo feature `ff1`, which is on by default, leaves it out where it is off.
//!
//! Short values (both halves below 2^64, as 38 decimal digits are) stay in registers as two integers, and many of them under
//! one key go side by side: a block of each for every round. Longer ones are integers of any length, one value at a time.
//! The time depends on the radix, and on the lengths of value and tweak. It does not depend on digits, tweak or key: integers
//! are divided by multiplication with reciprocals, and reduced by masks.
//!
//! FF3 and FF3-1, which the second draft of Revision 1 withdraws, are not here.
//!
//! Ref. NIST SP 800-38G Revision 1 (second draft) §4, §5.1.

mod alphabet;
mod feistel;
mod job;
mod lanes;
mod long;
mod short;

use std::fmt;

use millstream_cpu::Features;

pub use alphabet::Alphabet;
pub use job::{Digit, Ff1Job};
pub use lanes::{Ff1Key, Ff1Lanes, KeyedFf1Job};

use crate::aes::{self, EcbOps, Forward};
use crate::{Bound, Error, Kernel};
use feistel::LANES;
use short::Shape;

const NAME: &str = "aes-ff1";

/// The least number of values of a domain (SP 800-38G Revision 1 §4.3.1). In a smaller one whoever can have values encrypted
/// finds the others by trial.
pub const MIN_DOMAIN: u64 = 1_000_000;

/// The most digits of a value. The standard sets 2^32; the time grows with the square of the length.
pub const MAX_DIGITS: usize = 1 << 16;

/// A key for FF1 with digits of one radix. Zeroised on drop.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::ff1::{Alphabet, Ff1};
///
/// let decimal = Alphabet::new("0123456789")?;
/// let key = Ff1::new(Features::hardware(), &[7; 32], decimal.radix())?;
/// let mut digits = decimal.digits("4000123456789010")?;
/// key.encrypt(b"card", &mut digits)?;
/// let token = decimal.text(&digits)?;
/// assert_eq!(token.len(), 16);
///
/// key.decrypt(b"card", &mut digits)?;
/// assert_eq!(decimal.text(&digits)?, "4000123456789010");
/// # Ok::<(), millstream_engines::Error>(())
/// ```
pub struct Ff1 {
    cipher: Forward,
    radix: u32,
}

impl Ff1 {
    /// A key of 16, 24 or 32 bytes for digits of a radix from 2 to 65536, on the best kernel that `features` allow.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::Parameter`] for the radix.
    pub fn new(features: Features, key: &[u8], radix: u32) -> Result<Self, Error> {
        Ff1::with_kernel(aes::ECB.best(features), key, radix)
    }

    /// A key on the given kernel of ECB.
    ///
    /// # Errors
    /// The errors of [`Ff1::new`].
    pub fn with_kernel(kernel: Bound<EcbOps>, key: &[u8], radix: u32) -> Result<Self, Error> {
        check_radix(radix.into())?;
        Ok(Ff1 { cipher: Forward::new(kernel, NAME, key)?, radix })
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.cipher.kernel()
    }

    /// The number of values that a digit may have.
    pub fn radix(&self) -> u32 {
        self.radix
    }

    /// Encrypts the digits in place.
    ///
    /// # Errors
    /// [`Error::DataLength`] when there are so few digits that the domain has fewer than [`MIN_DOMAIN`] values, or more than
    /// [`MAX_DIGITS`]; [`Error::Parameter`] when one is not below the radix. The digits then stay as they are.
    pub fn encrypt(&self, tweak: &[u8], digits: &mut [u16]) -> Result<(), Error> {
        let mut job = Ff1Job::new(tweak, digits);
        self.encrypt_many(&mut [&mut job]);
        job.result
    }

    /// Decrypts the digits in place. Nothing tells whether they were encrypted under this key and tweak.
    ///
    /// # Errors
    /// The errors of [`Ff1::encrypt`].
    pub fn decrypt(&self, tweak: &[u8], digits: &mut [u16]) -> Result<(), Error> {
        let mut job = Ff1Job::new(tweak, digits);
        self.decrypt_many(&mut [&mut job]);
        job.result
    }

    /// Encrypts many values, those of one length that follow each other side by side. Each has a result of its own.
    pub fn encrypt_many<D: Digit>(&self, jobs: &mut [&mut Ff1Job<'_, D>]) {
        many::<false, D>(&self.cipher, self.radix, jobs);
    }

    /// Decrypts many values, those of one length that follow each other side by side. Each has a result of its own.
    pub fn decrypt_many<D: Digit>(&self, jobs: &mut [&mut Ff1Job<'_, D>]) {
        many::<true, D>(&self.cipher, self.radix, jobs);
    }
}

impl fmt::Debug for Ff1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME}({}, radix {})", self.kernel().name, self.radix)
    }
}

/// Encrypts or decrypts values of one radix, which was checked.
fn many<const DECRYPT: bool, D: Digit>(cipher: &Forward, radix: u32, jobs: &mut [&mut Ff1Job<'_, D>]) {
    let mut shape: Option<Shape> = None;
    for run in jobs.chunk_by_mut(|a, b| a.digits.len() == b.digits.len()) {
        let (values, len) = (run.len(), run[0].digits.len());
        if let Err(error) = check_length(radix, len) {
            for job in run {
                job.result = Err(error);
            }
            continue;
        }
        if shape.as_ref().is_none_or(|shape| shape.len() != len) {
            shape = Shape::new(radix, len, values);
        }
        for window in run.chunks_mut(LANES) {
            let mut right = [false; LANES];
            for (right, job) in right.iter_mut().zip(&mut *window) {
                job.result = check_digits(radix, job.digits);
                *right = job.result.is_ok();
            }
            match &shape {
                Some(shape) => short::crypt::<DECRYPT, D>(cipher, shape, window, &right),
                None => {
                    for job in window.iter_mut().filter(|job| job.result.is_ok()) {
                        long::crypt::<DECRYPT, D>(cipher, radix, job.tweak, job.digits);
                    }
                }
            }
        }
    }
}

fn check_radix(radix: u64) -> Result<(), Error> {
    if (2..=1 << 16).contains(&radix) {
        return Ok(());
    }
    Err(Error::Parameter { algorithm: NAME, name: "radix", given: radix, takes: "2 to 65536" })
}

/// Checks that values of so many digits may be encrypted.
///
/// # Errors
/// [`Error::DataLength`], as [`Ff1::encrypt`] says.
pub fn check_length(radix: u32, len: usize) -> Result<(), Error> {
    let mut domain = 1u64;
    for _ in 0..len.min(20) {
        domain = domain.saturating_mul(radix.into());
    }
    if domain < MIN_DOMAIN || !(2..=MAX_DIGITS).contains(&len) {
        return Err(Error::DataLength {
            algorithm: NAME,
            given: len as u64,
            takes: "so many digits that there are a million values (six decimal digits), and at most 65536",
        });
    }
    Ok(())
}

/// Looks at every digit, so that the time does not tell where one is too large.
fn check_digits<D: Digit>(radix: u32, digits: &[D]) -> Result<(), Error> {
    let mut too_large = 0;
    for digit in digits {
        too_large |= (radix - 1).wrapping_sub(u32::from(digit.number())) >> 31;
    }
    if too_large != 0 {
        // The number of the digit is not told: it may be part of a secret.
        return Err(Error::Parameter {
            algorithm: NAME,
            name: "the radix, which a digit is not below,",
            given: radix.into(),
            takes: "digits below it",
        });
    }
    Ok(())
}
