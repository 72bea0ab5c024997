//! Characters in place of digits.
//!
//! Ref. NIST SP 800-38G §4.1.

use super::{NAME, check_radix};
use crate::Error;
use crate::aes::wipe;

/// Characters of one byte that are made at a time.
const PIECE: usize = 64;

/// An alphabet: each character stands for the digit of its place.
///
/// Looking a character up compares it with every run of characters that follow each other in Unicode, so the time depends on
/// lengths alone. The digits are one run, and digits with both cases of letters are three.
///
/// ```
/// use millstream_engines::ff1::Alphabet;
///
/// let letters = Alphabet::new("abcdefghijklmnopqrstuvwxyz")?;
/// assert_eq!(letters.radix(), 26);
/// let digits = letters.digits("name")?;
/// assert_eq!(digits, [13, 0, 12, 4]);
/// assert_eq!(letters.text(&digits)?, "name");
/// assert!(letters.digits("Name").is_err());
/// # Ok::<(), millstream_engines::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Alphabet {
    runs: Vec<Run>,
    radix: u32,
    /// True if each character is a byte in UTF-8.
    is_ascii: bool,
}

/// Characters that follow each other in the alphabet and in Unicode.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The first character.
    character: u32,
    /// The digit that it stands for.
    digit: u32,
    len: u32,
}

impl Alphabet {
    /// An alphabet of 2 to 65536 characters, each of which occurs once.
    ///
    /// # Errors
    /// [`Error::Parameter`].
    pub fn new(characters: &str) -> Result<Self, Error> {
        let characters: Vec<char> = characters.chars().collect();
        check_radix(characters.len() as u64)?;
        let mut sorted = characters.clone();
        sorted.sort_unstable();
        if let Some([twice, _]) = sorted.array_windows().find(|[a, b]| a == b) {
            return Err(Error::Parameter {
                algorithm: NAME,
                name: "a character of the alphabet that occurs twice",
                given: u64::from(u32::from(*twice)),
                takes: "each character once",
            });
        }
        let mut runs: Vec<Run> = Vec::new();
        for (digit, character) in (0..).zip(&characters) {
            let character = u32::from(*character);
            match runs.last_mut() {
                Some(run) if run.character + run.len == character => run.len += 1,
                _ => runs.push(Run { character, digit, len: 1 }),
            }
        }
        let is_ascii = runs.iter().all(|run| run.character + run.len <= 128);
        Ok(Alphabet { runs, radix: characters.len() as u32, is_ascii })
    }

    /// The number of characters.
    pub fn radix(&self) -> u32 {
        self.radix
    }

    /// Returns the digits that the characters of `text` stand for.
    ///
    /// # Errors
    /// [`Error::Parameter`] when a character is not in the alphabet; it does not say which, because the text may be a secret.
    pub fn digits(&self, text: &str) -> Result<Vec<u16>, Error> {
        let mut digits = Vec::with_capacity(text.len());
        self.push_digits(text, &mut digits)?;
        Ok(digits)
    }

    /// Appends the digits that the characters of `text` stand for.
    ///
    /// # Errors
    /// The errors of [`Alphabet::digits`]; nothing is appended then.
    pub fn push_digits(&self, text: &str, digits: &mut Vec<u16>) -> Result<(), Error> {
        let before = digits.len();
        let known = match self.is_ascii {
            true => self.push_digits_of_bytes(text.as_bytes(), digits),
            false => self.push_digits_of_characters(text, digits),
        };
        if known == 0 {
            digits.truncate(before);
            return Err(self.unknown("the alphabet, which a character is not of,"));
        }
        Ok(())
    }

    /// Appends the digits of texts that lie one behind the other, if each of their characters is one byte and in the alphabet. Returns false
    /// and appends nothing if that is not so, also for an alphabet that has longer characters. Many short texts take less time so than one
    /// after the other.
    ///
    /// ```
    /// use millstream_engines::ff1::Alphabet;
    ///
    /// let (decimal, mut digits, mut text) = (Alphabet::new("0123456789")?, Vec::new(), Vec::new());
    /// assert!(decimal.push_digits_of_ascii(b"123456", &mut digits) && !decimal.push_digits_of_ascii(b"7a", &mut digits));
    /// assert!(decimal.push_ascii(&digits, &mut text));
    /// assert_eq!(text, b"123456");
    /// # Ok::<(), millstream_engines::Error>(())
    /// ```
    #[must_use]
    pub fn push_digits_of_ascii(&self, text: &[u8], digits: &mut Vec<u16>) -> bool {
        let before = digits.len();
        let known = self.is_ascii && self.push_digits_of_bytes(text, digits) == 1;
        if !known {
            digits.truncate(before);
        }
        known
    }

    /// Appends the digits of characters, and returns 1 if all are in the alphabet.
    fn push_digits_of_characters(&self, text: &str, digits: &mut Vec<u16>) -> u32 {
        let mut known = 1;
        digits.extend(text.chars().map(|character| {
            let (mut digit, mut found) = (0, 0);
            for run in &self.runs {
                let place = u32::from(character).wrapping_sub(run.character);
                let inside = below(place, run.len);
                digit |= (run.digit + (place & inside.wrapping_neg())) & inside.wrapping_neg();
                found |= inside;
            }
            known &= found;
            digit as u16
        }));
        known
    }

    /// Appends the digits of characters that are one byte each, one run of the alphabet after the other, so that many bytes are
    /// compared at a time. A byte of a longer character is in no run.
    fn push_digits_of_bytes(&self, text: &[u8], digits: &mut Vec<u16>) -> u32 {
        let before = digits.len();
        digits.resize(before + text.len(), 0);
        let digits = &mut digits[before..];
        for run in &self.runs {
            for (digit, byte) in digits.iter_mut().zip(text) {
                let place = i32::from(*byte) - run.character as i32;
                // One more than the digit, as there is none in the end where no run has the character.
                *digit |= ((run.digit as i32 + place + 1) & mask(place, run.len)) as u16;
            }
        }
        let mut unknown = 0;
        for digit in digits {
            *digit = digit.wrapping_sub(1);
            unknown |= *digit >> 15;
        }
        u32::from(1 ^ unknown)
    }

    /// Returns the characters that stand for digits.
    ///
    /// # Errors
    /// [`Error::Parameter`] when a digit is not below the radix.
    pub fn text(&self, digits: &[u16]) -> Result<String, Error> {
        let mut text = String::with_capacity(digits.len());
        self.push_text(digits, &mut text)?;
        Ok(text)
    }

    /// Appends the characters that stand for digits.
    ///
    /// # Errors
    /// The errors of [`Alphabet::text`]; nothing is appended then.
    pub fn push_text(&self, digits: &[u16], text: &mut String) -> Result<(), Error> {
        let before = text.len();
        let known = match self.is_ascii {
            true => self.push_bytes_of_digits(digits, text),
            false => self.push_characters_of_digits(digits, text),
        };
        if known == 0 {
            text.truncate(before);
            return Err(self.unknown("the radix, which a digit is not below,"));
        }
        Ok(())
    }

    /// Appends the characters of many values' digits, as [`Alphabet::push_digits_of_ascii`] has taken them. Returns false and appends nothing
    /// if one is not below the radix, or the alphabet has characters of several bytes.
    #[must_use]
    pub fn push_ascii(&self, digits: &[u16], text: &mut Vec<u8>) -> bool {
        let before = text.len();
        let known =
            self.is_ascii && self.pieces_of_digits(digits, |piece| text.extend_from_slice(piece)) == 1;
        if !known {
            text.truncate(before);
        }
        known
    }

    /// Appends the characters of digits, and returns 1 if all are below the radix.
    fn push_characters_of_digits(&self, digits: &[u16], text: &mut String) -> u32 {
        let mut known = 1;
        text.extend(digits.iter().map(|digit| {
            let (mut character, mut found) = (0, 0);
            for run in &self.runs {
                let place = u32::from(*digit).wrapping_sub(run.digit);
                let inside = below(place, run.len);
                character |= (run.character + (place & inside.wrapping_neg())) & inside.wrapping_neg();
                found |= inside;
            }
            known &= found;
            char::from_u32(character).unwrap_or_default()
        }));
        known
    }

    /// Appends characters that are one byte each, and returns 1 if all digits are below the radix.
    fn push_bytes_of_digits(&self, digits: &[u16], text: &mut String) -> u32 {
        self.pieces_of_digits(digits, |piece| {
            text.push_str(std::str::from_utf8(piece).expect("characters below 128"));
        })
    }

    /// Gives characters that are one byte each to `push`, one run of the alphabet after the other as above. Returns 1 if all digits are below
    /// the radix.
    fn pieces_of_digits(&self, digits: &[u16], mut push: impl FnMut(&[u8])) -> u32 {
        const FOUND: u16 = 1 << 8;
        let mut all = FOUND;
        let (mut characters, mut bytes) = ([0u16; PIECE], [0; PIECE]);
        for piece in digits.chunks(PIECE) {
            let (characters, bytes) = (&mut characters[..piece.len()], &mut bytes[..piece.len()]);
            characters.fill(0);
            for run in &self.runs {
                for (character, digit) in characters.iter_mut().zip(piece) {
                    let place = i32::from(*digit) - run.digit as i32;
                    let found = (run.character as i32 + place) | i32::from(FOUND);
                    *character |= (found & mask(place, run.len)) as u16;
                }
            }
            for (byte, character) in bytes.iter_mut().zip(&*characters) {
                *byte = *character as u8;
                all &= *character;
            }
            push(bytes);
        }
        wipe(&mut characters);
        wipe(&mut bytes);
        u32::from(all >> 8)
    }

    #[cold]
    fn unknown(&self, name: &'static str) -> Error {
        Error::Parameter {
            algorithm: NAME,
            name,
            given: self.radix().into(),
            takes: "characters of the alphabet, and digits below its length",
        }
    }
}

/// Returns ones if `place` is from 0 to below `len`, and zeros otherwise, in the form of which a vector has most.
#[inline(always)]
fn mask(place: i32, len: u32) -> i32 {
    ((place - len as i32) >> 31) & !(place >> 31)
}

/// Returns 1 if `place` is below `len`, and 0 otherwise.
#[inline(always)]
fn below(place: u32, len: u32) -> u32 {
    ((u64::from(place).wrapping_sub(u64::from(len))) >> 63) as u32
}
