//! The registers of a TPM that a sealed secret depends on.

use std::fmt;
use std::str::FromStr;

/// A set of platform configuration registers, 0 to 23, in the bank of SHA-256. An empty one leaves the secret to whatever system the machine runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pcrs(u32);

/// The number of registers that a PC has.
const REGISTERS: u32 = 24;

impl Pcrs {
    /// Returns the set for those bits; none if one of them is no register.
    pub const fn from_bits(bits: u32) -> Option<Self> {
        if bits >> REGISTERS == 0 { Some(Pcrs(bits)) } else { None }
    }

    /// Returns a bit for each register.
    pub const fn to_bits(self) -> u32 {
        self.0
    }

    /// Returns true if no register counts.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Pcrs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut registers = (0..REGISTERS).filter(|register| self.0 >> register & 1 == 1);
        registers.next().map_or(Ok(()), |first| write!(f, "{first}"))?;
        registers.try_for_each(|register| write!(f, ",{register}"))
    }
}

impl FromStr for Pcrs {
    type Err = String;

    /// Reads numbers with commas in between, as `0,7,11`.
    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',').try_fold(Pcrs::default(), |all, number| match number.trim().parse::<u32>() {
            Ok(register) if register < REGISTERS => Ok(Pcrs(all.0 | 1 << register)),
            _ => Err(format!("{number:?} is no PCR; write numbers from 0 to 23, as 0,7")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_read_as_they_are_shown() {
        for text in ["0", "7", "0,7,11", "23"] {
            assert_eq!(text.parse::<Pcrs>().unwrap().to_string(), text);
        }
        assert_eq!("11, 7,7".parse::<Pcrs>().unwrap().to_string(), "7,11");
        for text in ["", "24", "-1", "7,", "seven", "4294967303"] {
            assert!(text.parse::<Pcrs>().is_err(), "{text:?}");
        }
        assert_eq!(Pcrs::from_bits(1 << 24), None);
    }
}
