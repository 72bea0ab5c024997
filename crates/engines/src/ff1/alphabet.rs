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
        Ok(Alphabet { runs, radix: characters.len() as u32 })
    }

    /// The number of characters.
    pub fn radix(&self) -> u32 {
        self.radix
    }

    /// Returns true if each character is a byte in UTF-8.
    fn is_ascii(&self) -> bool {
        self.runs.iter().all(|run| run.character + run.len <= 128)
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
        let mut known = 1;
        let mut digit_of = |character: u32| {
            let (mut digit, mut found) = (0, 0);
            for run in &self.runs {
                let place = character.wrapping_sub(run.character);
                let inside = below(place, run.len);
                digit |= (run.digit + (place & inside.wrapping_neg())) & inside.wrapping_neg();
                found |= inside;
            }
            known &= found;
            digit as u16
        };
        if text.is_ascii() {
            digits.extend(text.bytes().map(|byte| digit_of(byte.into())));
        } else {
            digits.extend(text.chars().map(|character| digit_of(character.into())));
        }
        if known == 0 {
            digits.truncate(before);
            return Err(self.unknown("the alphabet, which a character is not of,"));
        }
        Ok(())
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
        let mut known = 1;
        let mut character_of = |digit: u16| {
            let (mut character, mut found) = (0, 0);
            for run in &self.runs {
                let place = u32::from(digit).wrapping_sub(run.digit);
                let inside = below(place, run.len);
                character |= (run.character + (place & inside.wrapping_neg())) & inside.wrapping_neg();
                found |= inside;
            }
            known &= found;
            character
        };
        if self.is_ascii() {
            let mut bytes = [0; PIECE];
            for piece in digits.chunks(PIECE) {
                for (byte, digit) in bytes.iter_mut().zip(piece) {
                    *byte = character_of(*digit) as u8;
                }
                let piece = &bytes[..piece.len()];
                text.push_str(std::str::from_utf8(piece).expect("characters below 128"));
            }
            wipe(&mut bytes);
        } else {
            text.extend(digits.iter().map(|digit| char::from_u32(character_of(*digit)).unwrap_or_default()));
        }
        if known == 0 {
            text.truncate(before);
            return Err(self.unknown("the radix, which a digit is not below,"));
        }
        Ok(())
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

/// Returns 1 if `place` is below `len`, and 0 otherwise.
#[inline(always)]
fn below(place: u32, len: u32) -> u32 {
    ((u64::from(place).wrapping_sub(u64::from(len))) >> 63) as u32
}
