//! FI by table look-up. It is fast on processors with caches, and its time depends on keys and
//! data.
//!
//! There are two forms, as in the Rainbow Falls study: the S-boxes themselves, 1.25 KiB, of which
//! FI reads four entries; and two tables of 65,536 entries, 256 KiB, each a whole half of FI, of
//! which it reads two. Neither is ever picked by default.
//!
//! Ref. TS 35.202 §4.5.

use std::sync::LazyLock;

use super::Ops;
use super::cipher::{self, Cipher, Fi, Keystream, Sums};
use super::sbox;
use super::schedule::{Schedule, expand};
use crate::InOut;

static S7: [u16; 128] = sbox::S7;
static S9: [u16; 512] = sbox::S9;

/// The S-boxes of the standard.
#[derive(Clone, Copy)]
struct Boxes;

impl Fi for Boxes {
    #[inline(always)]
    fn pair(self, x: [u16; 2], ki: [u16; 2]) -> [u16; 2] {
        [fi(x[0], ki[0]), fi(x[1], ki[1])]
    }
}

#[inline(always)]
fn fi(x: u16, ki: u16) -> u16 {
    let (nine, seven) = stage(x >> 7, x & 0x7f);
    let (nine, seven) = stage(nine ^ ki & 0x1ff, seven ^ ki >> 9);
    seven << 9 | nine
}

#[inline(always)]
fn stage(nine: u16, seven: u16) -> (u16, u16) {
    let nine = S9[(nine & 0x1ff) as usize] ^ seven;
    (nine, S7[(seven & 0x7f) as usize] ^ nine & 0x7f)
}

/// Both halves of FI as tables. Inputs and outputs have seven bits above nine, as KI has.
struct Merged {
    first: Box<[u16; 65536]>,
    second: Box<[u16; 65536]>,
}

static MERGED: LazyLock<Merged> = LazyLock::new(|| {
    let table = |half: fn(u16) -> (u16, u16)| -> Box<[u16; 65536]> {
        let entries: Box<[u16]> = (0..=u16::MAX).map(half).map(|(nine, seven)| seven << 9 | nine).collect();
        entries.try_into().expect("65,536 entries")
    };
    Merged { first: table(|x| stage(x >> 7, x & 0x7f)), second: table(|x| stage(x & 0x1ff, x >> 9)) }
});

impl Fi for &Merged {
    #[inline(always)]
    fn pair(self, x: [u16; 2], ki: [u16; 2]) -> [u16; 2] {
        let middle = [self.first[x[0] as usize] ^ ki[0], self.first[x[1] as usize] ^ ki[1]];
        [self.second[middle[0] as usize], self.second[middle[1] as usize]]
    }
}

fn boxes_block(schedule: &Schedule, x: u64) -> u64 {
    Boxes.block(schedule, x)
}

fn boxes_f8(schedule: &Schedule, stream: Keystream, data: InOut<'_>) {
    cipher::f8(Boxes, schedule, stream, data);
}

fn boxes_f9(schedule: &Schedule, sums: Sums, blocks: &[u8]) -> Sums {
    cipher::f9(Boxes, schedule, sums, blocks)
}

fn merged_block(schedule: &Schedule, x: u64) -> u64 {
    (&*MERGED).block(schedule, x)
}

fn merged_f8(schedule: &Schedule, stream: Keystream, data: InOut<'_>) {
    cipher::f8(&*MERGED, schedule, stream, data);
}

fn merged_f9(schedule: &Schedule, sums: Sums, blocks: &[u8]) -> Sums {
    cipher::f9(&*MERGED, schedule, sums, blocks)
}

pub(super) const BOXES: Ops = Ops { expand, block: boxes_block, f8: boxes_f8, f9: boxes_f9 };
pub(super) const MERGED_TABLES: Ops = Ops { expand, block: merged_block, f8: merged_f8, f9: merged_f9 };
