//! `montmul`, `montsqr`, `mpmul`: numbers of up to 2048 bits, spread over seven register windows and the floating-point
//! registers.
//! Ref. Oracle SPARC Architecture 2011, "Montgomery Multiplication" and "Multiple Precision Multiply"; for where the
//! operands are, OpenSSL's `sparct4-mont.pl` and HotSpot's `gen_mult_mpmul`.
//!
//! A program loads an operand, goes to the next window with `save`, loads another, and so on. If a window is lost on the
//! way, to the program's stack by a spill, the instruction does nothing but to set `%fcc3` to unordered; the program does
//! it again, or otherwise.

use crate::arithmetic::{montgomery_multiply, montgomery_square, multiply};
use crate::cpu::window::{INS, LOCALS, OUTS};
use crate::cpu::{Cpu, Op, Step};
use crate::isa::{Class, Instruction, Operand, Word};
use crate::processor::Feature;
use crate::t4::{Kind, doubles};

/// The rows. The immediate is the length in words, less one.
pub const INSTRUCTIONS: &[Instruction] = &[
    row("mpmul", 0x148, Feature::Mpmul, Class::Mpmul, |word, _| sized(multiple_precision, word)),
    row("montmul", 0x149, Feature::Montmul, Class::Montmul, |word, _| sized(montgomery, word)),
    row("montsqr", 0x14a, Feature::Montsqr, Class::Montsqr, |word, _| sized(square, word)),
];

/// `rd` is zero: with 1 these are instructions of later processors (xmpmul, xmontmul, xmontsqr).
const fn row(
    name: &'static str,
    opf: u32,
    needs: Feature,
    class: Class,
    decode: fn(Word, u64) -> Op,
) -> Instruction {
    Kind { needs, class }.row(name, 0xffff_ffe0, 0x36 << 19 | opf << 5, &[Operand::Imm5], decode)
}

fn sized(run: crate::cpu::Handler, word: Word) -> Op {
    Op { imm: u64::from(word.rs2()) + 1, ..doubles(run, word) }
}

/// The longest operand, in words.
const MOST: usize = 32;

/// The number of windows that must be restorable: all but the current one and the one that is kept free.
const WINDOWS: usize = 6;

/// A place for some words of an operand, the least significant first.
#[derive(Clone, Copy)]
enum Place {
    /// So many registers from that one on, in the window so many restores up.
    Window(usize, usize, usize),
    /// So many double registers from the one with that index on.
    Double(usize, usize),
}
use Place::{Double, Window};

/// %f60: −N⁻¹ mod 2^64.
const N0: usize = 30;

const MODULUS: &[Place] = &[
    Window(4, LOCALS, 8),
    Window(4, OUTS, 6),
    Window(3, LOCALS, 8),
    Window(3, OUTS, 6),
    Window(2, LOCALS, 4),
];

/// The multiplicand, which the result replaces: the last words are from %f24 on.
const A: &[Place] = &[Window(5, LOCALS, 8), Window(5, OUTS, 6), Double(12, 18)];

const B: &[Place] =
    &[Window(1, INS, 6), Window(1, LOCALS, 8), Window(0, INS, 6), Window(0, LOCALS, 8), Window(0, OUTS, 4)];

/// `mpmul`'s multiplier: after six words in registers two in %f0 and %f2, and the last ten from %f4 on.
const X: &[Place] =
    &[Window(6, OUTS, 6), Double(0, 2), Window(6, LOCALS, 8), Window(6, INS, 6), Double(2, 10)];

const PRODUCT: &[Place] = &[
    Window(4, LOCALS, 8),
    Window(4, OUTS, 6),
    Window(3, LOCALS, 8),
    Window(3, OUTS, 6),
    Window(2, LOCALS, 8),
    Window(2, OUTS, 6),
    Window(1, LOCALS, 8),
    Window(1, OUTS, 6),
    Window(0, LOCALS, 8),
];

/// The places that so many words take, and which of the words each of them takes first.
fn spans(places: &[Place], words: usize) -> impl Iterator<Item = (Place, usize)> {
    let mut at = 0;
    places.iter().map_while(move |&place| {
        let (start, left) = (at, words - at);
        let span = match place {
            Window(k, first, count) => Window(k, first, count.min(left)),
            Double(first, count) => Double(first, count.min(left)),
        };
        at += span.count();
        (left > 0).then_some((span, start))
    })
}

impl Place {
    fn count(self) -> usize {
        let (Window(_, _, count) | Double(_, count)) = self;
        count
    }
}

fn load(cpu: &Cpu, places: &[Place], words: &mut [u64]) {
    for (span, at) in spans(places, words.len()) {
        let words = &mut words[at..][..span.count()];
        match span {
            Window(k, first, _) => {
                (first..).zip(words).for_each(|(register, word)| *word = cpu.window(k, register))
            }
            Double(first, count) => words.copy_from_slice(&cpu.d[first..][..count]),
        }
    }
}

fn store(cpu: &mut Cpu, places: &[Place], words: &[u64]) {
    for (span, at) in spans(places, words.len()) {
        let words = &words[at..][..span.count()];
        match span {
            Window(k, first, _) => {
                (first..).zip(words).for_each(|(register, word)| cpu.set_window(k, register, *word))
            }
            Double(first, count) => cpu.d[first..][..count].copy_from_slice(words),
        }
    }
}

/// `%fcc3` when it is done, and when a window is missing: V9 §5.1.7.1, the codes of "equal" and "unordered".
const DONE: u64 = 0;
const MISSING: u64 = 3;

fn set_fcc3(cpu: &mut Cpu, code: u64) {
    const SHIFT: u32 = 36;
    cpu.fsr = cpu.fsr & !(3 << SHIFT) | code << SHIFT;
}

/// True if all windows are there; if not, sets `%fcc3` for the program.
fn windows_are_there(cpu: &mut Cpu) -> bool {
    let there = cpu.windows.canrestore >= WINDOWS;
    set_fcc3(cpu, if there { DONE } else { MISSING });
    there
}

fn montgomery(cpu: &mut Cpu, op: &Op) -> Step {
    if windows_are_there(cpu) {
        let length = op.imm as usize;
        let (mut a, mut b, mut n, mut x) = ([0; MOST], [0; MOST], [0; MOST], [0; MOST]);
        load(cpu, A, &mut a[..length]);
        load(cpu, B, &mut b[..length]);
        load(cpu, MODULUS, &mut n[..length]);
        montgomery_multiply(&mut x[..length], &a[..length], &b[..length], &n[..length], cpu.d[N0]);
        store(cpu, A, &x[..length]);
    }
    Step::Next
}

fn square(cpu: &mut Cpu, op: &Op) -> Step {
    if windows_are_there(cpu) {
        let length = op.imm as usize;
        let (mut a, mut n, mut x) = ([0; MOST], [0; MOST], [0; MOST]);
        load(cpu, A, &mut a[..length]);
        load(cpu, MODULUS, &mut n[..length]);
        montgomery_square(&mut x[..length], &a[..length], &n[..length], cpu.d[N0]);
        store(cpu, A, &x[..length]);
    }
    Step::Next
}

fn multiple_precision(cpu: &mut Cpu, op: &Op) -> Step {
    if windows_are_there(cpu) {
        let length = op.imm as usize;
        let (mut x, mut y, mut product) = ([0; MOST], [0; MOST], [0; 2 * MOST]);
        load(cpu, X, &mut x[..length]);
        load(cpu, A, &mut y[..length]);
        multiply(&mut product[..2 * length], &x[..length], &y[..length]);
        store(cpu, PRODUCT, &product[..2 * length]);
    }
    Step::Next
}

#[cfg(test)]
mod tests;
