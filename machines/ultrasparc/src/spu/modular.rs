//! The modular arithmetic unit: 160 words of memory of its own, and five operations on them.
//!
//! Numbers of several words are in its memory least significant word first. MA_ADDR has up to eight fields of a byte,
//! each the index of an operand's first word.
//!
//! | op | | operands | result |
//! | --- | --- | --- | --- |
//! | 0 | load | ADDR0, MPA | words from memory |
//! | 1 | store | ADDR0, MPA | words to memory |
//! | 2 | multiply | A, B, N, M, X | X = A B 2^(-64 len) mod N; M is scratch |
//! | 3 | reduce | A, N, R | R = A - N, or A if that is less than N |
//! | 4 | exponentiate | A, M, N, X, E, ES | for each bit of E: X = X X, and times A if it is set |
//!
//! Ref. OpenSPARC T1, `spu_*.v` and its tests. T2's further operations (5 to 0x11, on elliptic curves) were never
//! published, so they are invalid here. Ours: that operands outside the memory make an operation invalid, that M
//! holds zeros afterwards, and that either of T2's two bits of parity mask spoils a whole word.

use super::codes::Model;
use super::physical::{BusError, Physical, read_word, write_word};
use super::{Completed, Fault, Interrupt, Kind, Outcome, Place, Work, trap};
use crate::arithmetic::{montgomery_multiply, montgomery_square, reduce_once};

/// Words of the unit's memory.
pub const MA_WORDS: usize = 160;

/// The unit's registers, by address.
pub mod mau_register {
    #![allow(missing_docs)]
    pub const CTL: u64 = 0x80;
    pub const MPA: u64 = 0x88;
    pub const MA_ADDR: u64 = 0x90;
    pub const NP: u64 = 0x98;
    pub const SYNC: u64 = 0xa0;
}

/// An operation's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Op {
    Load,
    Store,
    Multiply,
    Reduce,
    Exponentiate,
    /// An operation that was never published, or does not exist.
    Unknown(u8),
}

impl Op {
    /// The operation of that number.
    #[must_use]
    pub const fn from_code(code: u8) -> Op {
        match code {
            0 => Op::Load,
            1 => Op::Store,
            2 => Op::Multiply,
            3 => Op::Reduce,
            4 => Op::Exponentiate,
            code => Op::Unknown(code),
        }
    }
}

/// The fields of the control register, which T1 and T2 have in different places.
pub mod ctl {
    use super::{Model, Op};

    /// T1: inverts the parity of words that are loaded.
    pub const T1_INVERT_PARITY: u64 = 1 << 13;
    /// T1: busy.
    pub const T1_BUSY: u64 = 1 << 10;
    /// T1: interrupt at the end.
    pub const T1_INTERRUPT: u64 = 1 << 9;
    /// T2: the halves of words whose parity is inverted when they are loaded.
    pub const T2_PARITY: u64 = 3 << 24;
    /// T2: a word had the wrong parity, or memory did not answer.
    pub const T2_HARDWARE_ERROR: u64 = 1 << 22;
    /// T2: invalid operation.
    pub const T2_INVALID: u64 = 1 << 21;
    /// T2: interrupt at the end.
    pub const T2_INTERRUPT: u64 = 1 << 17;
    /// T2: busy.
    pub const T2_BUSY: u64 = 1 << 16;

    /// The register for an operation on that many words, with an interrupt at the end.
    #[must_use]
    pub const fn command(model: Model, op: u8, words: usize) -> u64 {
        let len = words as u64 - 1;
        match model {
            Model::T1 => (op as u64 & 7) << 6 | len & 0x3f | T1_INTERRUPT,
            Model::T2 | Model::RainbowFalls => (op as u64 & 0x1f) << 8 | len & 0xff | T2_INTERRUPT,
        }
    }

    /// The operation.
    #[must_use]
    pub const fn op(model: Model, ctl: u64) -> Op {
        Op::from_code(match model {
            Model::T1 => (ctl >> 6 & 7) as u8,
            Model::T2 | Model::RainbowFalls => (ctl >> 8 & 0x1f) as u8,
        })
    }

    /// Words of its operands.
    #[must_use]
    pub const fn words(model: Model, ctl: u64) -> usize {
        1 + match model {
            Model::T1 => ctl & 0x3f,
            Model::T2 | Model::RainbowFalls => ctl & 0xff,
        } as usize
    }

    /// The strand that the unit works for.
    #[must_use]
    pub const fn strand(model: Model, ctl: u64) -> u8 {
        match model {
            Model::T1 => (ctl >> 11 & 3) as u8,
            Model::T2 | Model::RainbowFalls => (ctl >> 18 & 7) as u8,
        }
    }

    /// The same register for another strand.
    #[must_use]
    pub const fn with_strand(model: Model, ctl: u64, strand: u8) -> u64 {
        match model {
            Model::T1 => ctl & !(3 << 11) | (strand as u64 & 3) << 11,
            Model::T2 | Model::RainbowFalls => ctl & !(7 << 18) | (strand as u64 & 7) << 18,
        }
    }

    pub(super) const fn wants_interrupt(model: Model, ctl: u64) -> bool {
        match model {
            Model::T1 => ctl & T1_INTERRUPT != 0,
            Model::T2 | Model::RainbowFalls => ctl & T2_INTERRUPT != 0,
        }
    }

    pub(super) const fn inverts_parity(model: Model, ctl: u64) -> bool {
        match model {
            Model::T1 => ctl & T1_INVERT_PARITY != 0,
            Model::T2 | Model::RainbowFalls => ctl & T2_PARITY != 0,
        }
    }

    /// The bits that software may write.
    pub(super) const fn writable(model: Model) -> u64 {
        match model {
            Model::T1 => 0x3fff & !T1_BUSY,
            Model::T2 | Model::RainbowFalls => T2_PARITY | 7 << 18 | T2_INTERRUPT | 0x1fff,
        }
    }

    pub(super) const fn busy(model: Model) -> u64 {
        match model {
            Model::T1 => T1_BUSY,
            Model::T2 | Model::RainbowFalls => T2_BUSY,
        }
    }

    /// The error bits.
    #[must_use]
    pub const fn errors(model: Model) -> u64 {
        match model {
            Model::T1 => 0,
            Model::T2 | Model::RainbowFalls => T2_HARDWARE_ERROR | T2_INVALID,
        }
    }
}

/// The unit.
pub struct Mau {
    model: Model,
    words: [u64; MA_WORDS],
    /// Words with the wrong parity.
    wrong: [bool; MA_WORDS],
    mpa: u64,
    ma_addr: u64,
    np: u64,
    ctl: u64,
    busy: bool,
    /// The errors of the last operation, as T2's bits; T1 has no place to show them.
    errors: u64,
    interrupt: Option<Interrupt>,
}

/// The reason why an operation failed.
enum Stop {
    BadOperands,
    Parity,
    Bus(BusError),
}

impl Mau {
    pub(crate) fn new(model: Model) -> Mau {
        Mau {
            model,
            words: [0; MA_WORDS],
            wrong: [false; MA_WORDS],
            mpa: 0,
            ma_addr: 0,
            np: 0,
            ctl: 0,
            busy: false,
            errors: 0,
            interrupt: None,
        }
    }

    /// The unit's memory.
    #[must_use]
    pub fn words(&self) -> &[u64; MA_WORDS] {
        &self.words
    }

    /// True while an operation is under way.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.busy
    }

    /// The operation in the control register.
    #[must_use]
    pub fn op(&self) -> Op {
        ctl::op(self.model, self.ctl)
    }

    /// The control register.
    #[must_use]
    pub fn ctl(&self) -> u64 {
        self.ctl | if self.busy { ctl::busy(self.model) } else { 0 }
    }

    /// The errors of the last operation: [`ctl::T2_INVALID`], [`ctl::T2_HARDWARE_ERROR`] or 0. T2's control register
    /// shows them; T1's has no bits for them, so it is ours that the hypervisor knows them there.
    pub(crate) fn errors(&self) -> u64 {
        self.errors
    }

    /// Loads from one of its registers. SYNC waits for the operation of the strand that asks, so that operation is
    /// done here.
    pub(crate) fn load(
        &mut self,
        address: u64,
        strand: u8,
        memory: &mut dyn Physical,
    ) -> Option<(u64, Option<Completed>)> {
        let value = match address {
            mau_register::CTL => self.ctl(),
            mau_register::MPA => self.mpa,
            mau_register::MA_ADDR => self.ma_addr,
            mau_register::NP => self.np,
            mau_register::SYNC => {
                let was_busy = u64::from(self.busy && self.model != Model::T1);
                let own = strand == ctl::strand(self.model, self.ctl);
                return Some((was_busy, if own { self.finish(memory) } else { None }));
            }
            _ => return None,
        };
        Some((value, None))
    }

    /// Stores to one of its registers. A store to CTL starts an operation, and aborts one that is under way.
    pub(crate) fn store(&mut self, address: u64, value: u64) -> bool {
        match address {
            mau_register::CTL => {
                self.ctl = value & ctl::writable(self.model);
                self.busy = true;
            }
            mau_register::MPA => self.mpa = value & 0x7f_ffff_fff8,
            mau_register::MA_ADDR => {
                self.ma_addr = if self.model == Model::T1 { value & 0xffff_ffff_ffff } else { value };
            }
            mau_register::NP => self.np = value,
            _ => return false,
        }
        true
    }

    /// The work under way.
    #[must_use]
    pub fn work(&self) -> Option<Work> {
        if !self.busy {
            return None;
        }
        let words = ctl::words(self.model, self.ctl);
        let op = self.op();
        let multiplications = match op {
            Op::Multiply => 1,
            Op::Exponentiate => {
                let bits = self.exponent_bits();
                bits.map_or(0, |bits| bits.map(|bit| 1 + usize::from(bit)).sum())
            }
            _ => 0,
        };
        let kind = Kind::Modular(op);
        Some(Work { place: Place::Hypervisor, kind, bytes: 8 * words, words, multiplications, first: true })
    }

    /// Does the work under way.
    pub fn finish(&mut self, memory: &mut dyn Physical) -> Option<Completed> {
        let work = self.work()?;
        self.busy = false;
        let (errors, outcome) = match self.execute(memory) {
            Ok(()) => (0, Outcome::Done),
            Err(Stop::BadOperands) => (ctl::T2_INVALID, Outcome::BadOperands),
            Err(Stop::Parity) => (ctl::T2_HARDWARE_ERROR, Outcome::Parity),
            Err(Stop::Bus(error)) => (ctl::T2_HARDWARE_ERROR, Outcome::Failed(Fault::Bus(error))),
        };
        self.errors = errors;
        self.ctl |= errors & ctl::errors(self.model);
        if ctl::wants_interrupt(self.model, self.ctl) {
            let number = match self.model {
                Model::T1 => trap::T1_MODULAR_ARITHMETIC,
                Model::T2 | Model::RainbowFalls => trap::MODULAR_ARITHMETIC,
            };
            self.interrupt = Some(Interrupt { trap: number, strand: ctl::strand(self.model, self.ctl) });
        }
        Some(Completed { work, last: true, outcome })
    }

    /// Aborts the work under way.
    pub fn abort(&mut self) {
        self.busy = false;
    }

    pub(crate) fn take_interrupt(&mut self) -> Option<Interrupt> {
        self.interrupt.take()
    }

    fn execute(&mut self, memory: &mut dyn Physical) -> Result<(), Stop> {
        let len = ctl::words(self.model, self.ctl);
        match self.op() {
            Op::Load => self.load_words(len, memory),
            Op::Store => self.store_words(len, memory),
            Op::Multiply => {
                let [a, b, n] = [0, 1, 2].map(|field| self.read(field, len));
                let (a, b, n, mut x) = (a?, b?, n?, vec![0; len]);
                montgomery_multiply(&mut x, &a, &b, &n, self.np);
                self.write(3, &vec![0; len])?;
                self.write(4, &x)
            }
            Op::Reduce => {
                let (mut a, n) = (self.read(0, len)?, self.read(1, len)?);
                reduce_once(&mut a, 0, &n);
                self.write(2, &a)
            }
            Op::Exponentiate => self.exponentiate(len),
            Op::Unknown(_) => Err(Stop::BadOperands),
        }
    }

    /// The span of an operand's words.
    fn span(&self, field: usize, len: usize) -> Result<std::ops::Range<usize>, Stop> {
        let start = usize::from(self.ma_addr.to_le_bytes()[field]);
        if start + len <= MA_WORDS { Ok(start..start + len) } else { Err(Stop::BadOperands) }
    }

    fn read(&self, field: usize, len: usize) -> Result<Vec<u64>, Stop> {
        let span = self.span(field, len)?;
        if self.wrong[span.clone()].contains(&true) {
            Err(Stop::Parity)
        } else {
            Ok(self.words[span].to_vec())
        }
    }

    fn write(&mut self, field: usize, words: &[u64]) -> Result<(), Stop> {
        let span = self.span(field, words.len())?;
        self.words[span.clone()].copy_from_slice(words);
        self.wrong[span].fill(false);
        Ok(())
    }

    fn load_words(&mut self, len: usize, memory: &dyn Physical) -> Result<(), Stop> {
        let span = self.span(0, len)?;
        let mut words = Vec::with_capacity(len);
        for i in 0..len as u64 {
            words.push(read_word(memory, self.mpa + 8 * i).map_err(Stop::Bus)?);
        }
        self.write(0, &words)?;
        self.wrong[span].fill(ctl::inverts_parity(self.model, self.ctl));
        Ok(())
    }

    fn store_words(&self, len: usize, memory: &mut dyn Physical) -> Result<(), Stop> {
        for (i, word) in (0..).zip(self.read(0, len)?) {
            write_word(memory, self.mpa + 8 * i, word).map_err(Stop::Bus)?;
        }
        Ok(())
    }

    /// The bits of the exponent in the order of their use: words in their order, each from its highest bit.
    fn exponent_bits(&self) -> Result<impl Iterator<Item = bool> + use<>, Stop> {
        let bits = 8 * (usize::from(self.ma_addr.to_le_bytes()[5]) + 1);
        let words = self.read(4, bits.div_ceil(64))?;
        Ok((0..bits).map(move |i| words[i / 64] >> (63 - i % 64) & 1 != 0))
    }

    fn exponentiate(&mut self, len: usize) -> Result<(), Stop> {
        let [a, n, x] = [0, 2, 3].map(|field| self.read(field, len));
        let (a, n, mut x, mut last) = (a?, n?, x?, vec![0; len]);
        for bit in self.exponent_bits()? {
            last.copy_from_slice(&x);
            montgomery_square(&mut x, &last, &n, self.np);
            if bit {
                last.copy_from_slice(&x);
                montgomery_multiply(&mut x, &last, &a, &n, self.np);
            }
        }
        self.write(1, &vec![0; len])?;
        self.write(3, &x)
    }
}
