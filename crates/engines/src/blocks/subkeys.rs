//! The expanded key: subkeys in the order in which the data meets them, for either direction.

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::{Block, Cipher};
use crate::modes::Direction;

/// The subkeys of one direction, in rows of 16 bytes.
#[derive(Clone)]
pub struct Subkeys<C: Cipher> {
    /// Every byte of the subkeys in the order in which the data's bytes meet them.
    pub(crate) rows: C::Rows<u8>,
    /// Each byte four times, for kernels that keep each byte of a block in a register of its own.
    pub(crate) wide: C::Rows<u32>,
    /// The number of rows that the key has.
    pub(crate) used: usize,
}

impl<C: Cipher> Subkeys<C> {
    /// Makes subkeys of their rows.
    ///
    /// # Panics
    /// When there are more rows than the longest key has.
    pub(crate) fn new(rows: &[Block]) -> Self {
        let mut subkeys: Self = Subkeys { rows: C::rows_of(0), wide: C::rows_of(0), used: rows.len() };
        subkeys.rows.as_mut()[..rows.len()].copy_from_slice(rows);
        for (wide, row) in subkeys.wide.as_mut().iter_mut().zip(rows) {
            *wide = row.map(|byte| u32::from_ne_bytes([byte; 4]));
        }
        subkeys
    }

    /// The rows that the key has.
    pub(crate) fn rows(&self) -> &[Block] {
        &self.rows.as_ref()[..self.used]
    }
}

impl<C: Cipher> Zeroize for Subkeys<C> {
    fn zeroize(&mut self) {
        self.rows.as_mut().as_flattened_mut().zeroize();
        self.wide.as_mut().as_flattened_mut().zeroize();
        self.used.zeroize();
    }
}

/// An expanded key.
#[derive(Clone)]
pub struct Schedule<C: Cipher> {
    pub(crate) encrypt: Subkeys<C>,
    pub(crate) decrypt: Subkeys<C>,
}

impl<C: Cipher> Schedule<C> {
    /// The subkeys of one direction.
    pub(crate) fn subkeys(&self, direction: Direction) -> &Subkeys<C> {
        match direction {
            Direction::Encrypt => &self.encrypt,
            Direction::Decrypt => &self.decrypt,
        }
    }
}

impl<C: Cipher> Drop for Schedule<C> {
    fn drop(&mut self) {
        self.encrypt.zeroize();
        self.decrypt.zeroize();
    }
}

impl<C: Cipher> ZeroizeOnDrop for Schedule<C> {}
