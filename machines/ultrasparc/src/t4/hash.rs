//! `md5`, `sha1`, `sha256`, `sha512`: one block each, out of floating-point registers.
//! Ref. RFC 1321 §3.4; FIPS 180-4 §6.1, §6.2 and §6.4; Oracle SPARC Architecture 2011, "Hash Operations".
//!
//! The chaining value is in the registers from %f0, the block in those after it: %f8 to %f22 for the hashes of 64 bytes
//! a block, %f16 to %f46 for SHA-512. Words are big-endian, as the bytes of a block are loaded; MD5's chaining value has
//! its bytes in the order of the digest.

use std::sync::LazyLock;

use millstream_cpu::Features;
use millstream_engines::Bound;
use millstream_engines::hash::{CompressOps, fold};
use millstream_engines::md5::MD5;
use millstream_engines::sha1::SHA1;
use millstream_engines::sha256::SHA256;
use millstream_engines::sha512::SHA512;

use crate::cpu::{Cpu, Op, Step};
use crate::isa::{Class, Instruction, Word};
use crate::processor::Feature;
use crate::t4::{Kind, doubles};

/// The rows. They have no operands.
pub const INSTRUCTIONS: &[Instruction] = &[
    row("md5", 0x140, Feature::Md5, Class::Md5, |word, _| doubles(md5_block, word)),
    row("sha1", 0x141, Feature::Sha1, Class::Sha1, |word, _| doubles(sha1_block, word)),
    row("sha256", 0x142, Feature::Sha256, Class::Sha256, |word, _| doubles(sha256_block, word)),
    row("sha512", 0x143, Feature::Sha512, Class::Sha512, |word, _| doubles(sha512_block, word)),
];

const fn row(
    name: &'static str,
    opf: u32,
    needs: Feature,
    class: Class,
    decode: fn(Word, u64) -> Op,
) -> Instruction {
    Kind { needs, class }.row(name, 0xffff_ffff, 0x36 << 19 | opf << 5, &[], decode)
}

/// A kernel, looked for once.
type Kernel<S, const BLOCK: usize> = LazyLock<Bound<CompressOps<S, BLOCK>>>;

/// A block of bytes from registers.
#[inline(always)]
fn block<const BLOCK: usize>(registers: &[u64]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    for (bytes, register) in block.as_chunks_mut().0.iter_mut().zip(registers) {
        *bytes = register.to_be_bytes();
    }
    block
}

/// Single registers from doubles.
#[inline(always)]
fn singles<const WORDS: usize>(registers: &[u64]) -> [u32; WORDS] {
    let mut words = [0; WORDS];
    for (at, word) in words.iter_mut().enumerate() {
        *word = (registers[at / 2] >> (32 * (1 - at % 2))) as u32;
    }
    words
}

/// Writes single registers; the other half of the last one, of an odd number, stays.
#[inline(always)]
fn set_singles<const WORDS: usize>(registers: &mut [u64; 32], words: [u32; WORDS]) {
    for (at, word) in words.into_iter().enumerate() {
        let shift = 32 * (1 - at % 2);
        let register = &mut registers[at / 2];
        *register = *register & !(0xffff_ffff << shift) | u64::from(word) << shift;
    }
}

/// `md5`: %f0 to %f3 after the block in %f8 to %f22.
pub fn md5(registers: &mut [u64; 32]) {
    static KERNEL: Kernel<[u32; 4], 64> = LazyLock::new(|| MD5.best(Features::hardware()));
    let mut state = singles::<4>(registers).map(u32::swap_bytes);
    fold(*KERNEL, &mut state, &[block(&registers[4..12])]);
    set_singles(registers, state.map(u32::swap_bytes));
}

/// `sha1`: %f0 to %f4 after the block in %f8 to %f22.
pub fn sha1(registers: &mut [u64; 32]) {
    static KERNEL: Kernel<[u32; 5], 64> = LazyLock::new(|| SHA1.best(Features::hardware()));
    let mut state = singles::<5>(registers);
    fold(*KERNEL, &mut state, &[block(&registers[4..12])]);
    set_singles(registers, state);
}

/// `sha256`: %f0 to %f7 after the block in %f8 to %f22.
pub fn sha256(registers: &mut [u64; 32]) {
    static KERNEL: Kernel<[u32; 8], 64> = LazyLock::new(|| SHA256.best(Features::hardware()));
    let mut state = singles::<8>(registers);
    fold(*KERNEL, &mut state, &[block(&registers[4..12])]);
    set_singles(registers, state);
}

/// `sha512`: %f0 to %f14, doubles, after the block in %f16 to %f46.
pub fn sha512(registers: &mut [u64; 32]) {
    static KERNEL: Kernel<[u64; 8], 128> = LazyLock::new(|| SHA512.best(Features::hardware()));
    let data = block(&registers[8..24]);
    let (state, _) = registers.split_first_chunk_mut().expect("eight of 32 registers");
    fold(*KERNEL, state, &[data]);
}

fn md5_block(cpu: &mut Cpu, _op: &Op) -> Step {
    md5(&mut cpu.d);
    Step::Next
}

fn sha1_block(cpu: &mut Cpu, _op: &Op) -> Step {
    sha1(&mut cpu.d);
    Step::Next
}

fn sha256_block(cpu: &mut Cpu, _op: &Op) -> Step {
    sha256(&mut cpu.d);
    Step::Next
}

fn sha512_block(cpu: &mut Cpu, _op: &Op) -> Step {
    sha512(&mut cpu.d);
    Step::Next
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "abc" padded to one block, whose length field is big-endian or little-endian.
    fn abc<const BLOCK: usize>(little: bool) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        block[..4].copy_from_slice(b"abc\x80");
        block[if little { 56 } else { BLOCK - 1 }] = 24;
        block
    }

    /// Registers with a chaining value, a block from a double register on, and all else filled.
    fn registers(state: &[u8], block: &[u8], at: usize) -> [u64; 32] {
        let mut registers = [0x5555_aaaa_5555_aaaau64; 32];
        let mut put = |at: usize, bytes: &[u8]| {
            for (i, byte) in bytes.iter().enumerate() {
                let register = &mut registers[at + i / 8];
                let mut all = register.to_be_bytes();
                all[i % 8] = *byte;
                *register = u64::from_be_bytes(all);
            }
        };
        put(0, state);
        put(at, block);
        registers
    }

    /// The first bytes of the registers are these, and nothing else has changed.
    fn check(before: [u64; 32], after: [u64; 32], digest: &[u8]) {
        let bytes =
            |registers: [u64; 32]| registers.map(u64::to_be_bytes).into_iter().flatten().collect::<Vec<u8>>();
        let (before, after) = (bytes(before), bytes(after));
        assert_eq!(&after[..digest.len()], digest);
        assert_eq!(after[digest.len()..], before[digest.len()..]);
    }

    fn hex(text: &str) -> Vec<u8> {
        let digits: String = text.split_whitespace().collect();
        (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
    }

    fn run(instruction: fn(&mut [u64; 32]), initial: &str, block: &[u8], at: usize, digest: &str) {
        let before = registers(&hex(initial), block, at);
        let mut after = before;
        instruction(&mut after);
        check(before, after, &hex(digest));
    }

    #[test]
    fn known_answers() {
        let initial = "01234567 89abcdef fedcba98 76543210";
        run(md5, initial, &abc::<64>(true), 4, "90015098 3cd24fb0 d6963f7d 28e17f72");
        let initial = "67452301 efcdab89 98badcfe 10325476 c3d2e1f0";
        run(sha1, initial, &abc::<64>(false), 4, "a9993e36 4706816a ba3e2571 7850c26c 9cd0d89d");
        run(
            sha256,
            "6a09e667 bb67ae85 3c6ef372 a54ff53a 510e527f 9b05688c 1f83d9ab 5be0cd19",
            &abc::<64>(false),
            4,
            "ba7816bf 8f01cfea 414140de 5dae2223 b00361a3 96177a9c b410ff61 f20015ad",
        );
        run(
            sha512,
            "6a09e667f3bcc908 bb67ae8584caa73b 3c6ef372fe94f82b a54ff53a5f1d36f1
             510e527fade682d1 9b05688c2b3e6c1f 1f83d9abfb41bd6b 5be0cd19137e2179",
            &abc::<128>(false),
            8,
            "ddaf35a193617aba cc417349ae204131 12e6fa4e89a97ea2 0a9eeee64b55d39a
             2192992a274fc1a8 36ba3c23a3feebbd 454d4423643ce80e 2a9ac94fa54ca49f",
        );
    }
}
