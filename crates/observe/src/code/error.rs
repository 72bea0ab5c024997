//! The errors of reading an image.

use std::fmt;
use std::io;

/// The reason why an image can't be read.
#[derive(Debug)]
pub enum ImageError {
    /// Reading it failed.
    Read(io::Error),
    /// The file is no ELF file.
    NotElf,
    /// The image is for another processor, which has this number in ELF.
    Machine(u16),
    /// The named part of the headers contradicts itself.
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
