//! The rows: Millstream and each peer behind the same small interface.

pub mod aws_lc;
pub mod checksums;
pub mod dl;
#[cfg(ipsec_mb)]
pub mod ipsec_mb;
pub mod openssl;
pub mod ours;
pub mod ring;
pub mod rustcrypto;
pub mod values;

#[cfg(not(ipsec_mb))]
pub mod ipsec_mb {
    /// Returns the reason why the library has no rows.
    pub fn load() -> Result<Box<dyn super::Peer>, String> {
        Err(concat!("ipsec-mb: ", env!("IPSEC_MB_ABSENT")).to_owned())
    }
}

use std::hint::black_box;

use crate::case::{Case, Io};

/// An implementation to measure, with the key set up and everything that can be fetched fetched.
pub trait Run {
    /// Processes the object `times` times. The loop is inside, so that the one indirect call is
    /// paid per batch and not per object.
    fn batch(&mut self, io: &mut Io<'_>, times: u32);
}

impl<F: FnMut(&mut Io<'_>)> Run for F {
    fn batch(&mut self, io: &mut Io<'_>, times: u32) {
        for _ in 0..times {
            self(black_box(&mut *io));
        }
        black_box(&mut *io.output);
        black_box(&mut *io.tag);
    }
}

/// One line of a case's table.
pub struct Row {
    /// The call, or for our own rows the kernel, in a few words.
    pub call: String,
    pub run: Box<dyn Run>,
}

impl Row {
    pub fn new(call: impl Into<String>, run: impl FnMut(&mut Io<'_>) + 'static) -> Option<Row> {
        Some(Row { call: call.into(), run: Box::new(run) })
    }
}

/// A library that has rows.
pub trait Peer {
    /// Returns a name like `openssl-3.0`, for `--peers` and the table's first column.
    fn name(&self) -> &str;
    /// Returns the exact version that was measured.
    fn version(&self) -> String;
    /// Returns its row for a case, if it has the algorithm and takes objects of `size` bytes. A new row
    /// begins from a new key.
    fn row(&self, case: &Case, size: usize) -> Option<Row>;
}

/// Returns every available peer, and a line for each that is missing.
pub fn peers() -> (Vec<Box<dyn Peer>>, Vec<String>) {
    let mut present: Vec<Box<dyn Peer>> = Vec::new();
    let mut absent = Vec::new();
    let mut add = |found: Result<Box<dyn Peer>, String>| match found {
        Ok(peer) => present.push(peer),
        Err(why) => absent.push(why),
    };
    add(openssl::system().map(|peer| Box::new(peer) as Box<dyn Peer>));
    add(openssl::built().map(|peer| Box::new(peer) as Box<dyn Peer>));
    add(Ok(Box::new(aws_lc::AwsLc)));
    add(Ok(Box::new(ring::Ring)));
    add(Ok(Box::new(rustcrypto::RustCrypto)));
    add(ipsec_mb::load());
    add(Ok(Box::new(checksums::Crates)));
    add(Ok(Box::new(checksums::Loop)));
    add(checksums::zlib());
    (present, absent)
}
