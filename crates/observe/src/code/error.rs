//! Errors of looking at an image.

use std::fmt;
use std::io;

/// Why an image can't be looked at.
#[derive(Debug)]
pub enum ImageError {
    /// It can't be read.
    Read(io::Error),
    /// It is no ELF file.
    NotElf,
    /// It is for another processor, of this number in ELF's list.
    Machine(u16),
    /// Its headers contradict themselves: which.
    Malformed(&'static str),
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImageError::Read(error) => write!(f, "the image can't be read: {error}"),
            ImageError::NotElf => f.write_str("the image is no ELF file"),
            ImageError::Machine(machine) => {
                write!(f, "the image is for another processor than x86-64 (ELF machine {machine})")
            }
            ImageError::Malformed(what) => write!(f, "the image's {what} contradict themselves"),
        }
    }
}

impl std::error::Error for ImageError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ImageError::Read(error) => Some(error),
            _ => None,
        }
    }
}
