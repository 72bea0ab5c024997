//! The operations of AES instructions, for any way to compute a round.

use crate::cpu::{Cpu, Op, Step};
use crate::t4::d;

/// Both halves of the state, or of a round key: columns 0 and 1, columns 2 and 3, big-endian.
pub type Halves = [u64; 2];

/// A way to compute AES. Its functions are only called where what it needs is there.
pub trait Unit: 'static {
    /// Sixteen bytes as it likes them.
    type State: Copy;

    /// The bytes of both halves.
    fn pack(halves: Halves) -> Self::State;
    /// The halves again.
    fn unpack(state: Self::State) -> Halves;
    /// SubBytes, ShiftRows, MixColumns, then the key.
    fn encrypt(state: Self::State, key: Self::State) -> Self::State;
    /// The same without MixColumns.
    fn encrypt_last(state: Self::State, key: Self::State) -> Self::State;
    /// InvShiftRows, InvSubBytes, the key, then InvMixColumns.
    fn decrypt(state: Self::State, key: Self::State) -> Self::State;
    /// The same without InvMixColumns.
    fn decrypt_last(state: Self::State, key: Self::State) -> Self::State;
    /// SubBytes of four.
    fn substitute(word: u32) -> u32;
}

/// The kinds of rounds, in the order of the instructions: `aes_eround*`, `aes_dround*`, `aes_eround*_l`, `aes_dround*_l`.
pub const ENCRYPT: usize = 0;
pub const DECRYPT: usize = 1;
pub const ENCRYPT_LAST: usize = 2;
pub const DECRYPT_LAST: usize = 3;

#[inline(always)]
fn round_of<U: Unit, const KIND: usize>(state: U::State, key: U::State) -> U::State {
    match KIND {
        ENCRYPT => U::encrypt(state, key),
        DECRYPT => U::decrypt(state, key),
        ENCRYPT_LAST => U::encrypt_last(state, key),
        _ => U::decrypt_last(state, key),
    }
}

/// A whole round.
#[inline(always)]
pub fn round<U: Unit, const KIND: usize>(state: Halves, key: Halves) -> Halves {
    U::unpack(round_of::<U, KIND>(U::pack(state), U::pack(key)))
}

/// One instruction: half a round. `HALF` is 0 for those named 01, 1 for those named 23.
#[inline(always)]
pub fn single<U: Unit, const KIND: usize, const HALF: usize>(cpu: &mut Cpu, op: &Op) -> Step {
    let key = d!(cpu, op.rs1);
    d!(cpu, op.rd) = round::<U, KIND>([d!(cpu, op.rs2), d!(cpu, op.rs3)], [key, key])[HALF];
    Step::Next
}

/// Two instructions that make a round: the second's key and destination are in `imm`.
#[inline(always)]
pub fn pair<U: Unit, const KIND: usize>(cpu: &mut Cpu, op: &Op) -> Step {
    let [key23, rd23, ..] = op.imm.to_le_bytes();
    let state = [d!(cpu, op.rs2), d!(cpu, op.rs3)];
    let result = round::<U, KIND>(state, [d!(cpu, op.rs1), d!(cpu, key23)]);
    d!(cpu, op.rd) = result[0];
    d!(cpu, rd23) = result[1];
    Step::Next
}

/// The round key in two registers of which this is the first.
#[inline(always)]
fn key<U: Unit>(cpu: &Cpu, first: usize) -> U::State {
    // Together, so that it is one load.
    let halves = cpu.d.get(first..).and_then(|rest| rest.first_chunk());
    U::pack(*halves.expect("a run's keys are in registers that exist"))
}

/// A state that is in the registers `a` and `b`, and its next value in `other` and `b`.
struct Chain<S> {
    state: S,
    before: S,
    a: u8,
    b: u8,
    other: u8,
}

impl<S: Copy> Chain<S> {
    #[inline(always)]
    fn load<U: Unit<State = S>>(cpu: &Cpu, a: u8, b: u8, other: u8) -> Chain<S> {
        let state = U::pack([d!(cpu, a), d!(cpu, b)]);
        Chain { state, before: state, a, b, other }
    }

    #[inline(always)]
    fn advance<U: Unit<State = S>, const KIND: usize>(&mut self, key: S) {
        self.before = self.state;
        self.state = round_of::<U, KIND>(self.state, key);
    }

    /// Writes what is in the registers after so many rounds: each left its first half in the other register.
    #[inline(always)]
    fn store<U: Unit<State = S>>(self, cpu: &mut Cpu, rounds: usize) {
        let (new, old) = if rounds.is_multiple_of(2) { (self.a, self.other) } else { (self.other, self.a) };
        let state = U::unpack(self.state);
        d!(cpu, old) = U::unpack(self.before)[0];
        d!(cpu, new) = state[0];
        d!(cpu, self.b) = state[1];
    }
}

/// Whole rounds one after another, `imm` of them: keys in registers one after another from `rs1`, the state in `rs2` and
/// `rs3`, its first half moving between `rs2` and `rd`.
#[inline(always)]
pub fn run<U: Unit, const KIND: usize>(cpu: &mut Cpu, op: &Op) -> Step {
    let (first, rounds) = (usize::from(op.rs1), op.imm as usize);
    let mut chain = Chain::load::<U>(cpu, op.rs2, op.rs3, op.rd);
    for round in 0..rounds {
        chain.advance::<U, KIND>(key::<U>(cpu, first + 2 * round));
    }
    chain.store::<U>(cpu, rounds);
    Step::Next
}

/// The same for two blocks with the same keys, a round of one after that of the other. The other's registers and the
/// number of rounds are in `imm`.
#[inline(always)]
pub fn twins<U: Unit, const KIND: usize>(cpu: &mut Cpu, op: &Op) -> Step {
    let [rounds, a, b, other, ..] = op.imm.to_le_bytes();
    let (first, rounds) = (usize::from(op.rs1), usize::from(rounds));
    let mut chain = Chain::load::<U>(cpu, op.rs2, op.rs3, op.rd);
    let mut twin = Chain::load::<U>(cpu, a, b, other);
    for round in 0..rounds {
        let key = key::<U>(cpu, first + 2 * round);
        chain.advance::<U, KIND>(key);
        twin.advance::<U, KIND>(key);
    }
    chain.store::<U>(cpu, rounds);
    twin.store::<U>(cpu, rounds);
    Step::Next
}

/// FIPS 197 §5.2: Rcon. What `aes_kexpand1` adds for an immediate above 9 is not public; nothing, here.
const ROUND_CONSTANTS: [u32; 32] = {
    let mut constants = [0; 32];
    let (mut i, mut x) = (0, 1);
    while i < 10 {
        constants[i] = x << 24;
        x = (x << 1) ^ ((x >> 7) * 0x11b);
        i += 1;
    }
    constants
};

/// `aes_kexpand0`, `aes_kexpand1` with its immediate, `aes_kexpand2`.
#[inline(always)]
pub fn expand<U: Unit, const WHICH: usize>(key: u64, last: u64, imm: u8) -> u64 {
    let last = last as u32;
    let added = match WHICH {
        0 => U::substitute(last),
        1 => U::substitute(last.rotate_left(8)) ^ ROUND_CONSTANTS[usize::from(imm & 31)],
        _ => last,
    };
    let first = (key >> 32) as u32 ^ added;
    u64::from(first) << 32 | u64::from(key as u32 ^ first)
}

/// One of the three instructions.
#[inline(always)]
pub fn expansion<U: Unit, const WHICH: usize>(cpu: &mut Cpu, op: &Op) -> Step {
    d!(cpu, op.rd) = expand::<U, WHICH>(d!(cpu, op.rs1), d!(cpu, op.rs2), op.rs3);
    Step::Next
}

/// All handlers of a unit, and the functions by themselves.
pub struct Handlers {
    /// The name for people.
    pub name: &'static str,
    /// A round of each kind.
    pub round: [fn(Halves, Halves) -> Halves; 4],
    /// `aes_kexpand0` to `aes_kexpand2`.
    pub expand: [fn(u64, u64, u8) -> u64; 3],
    /// The handlers of single instructions, by kind and half.
    pub single: [[crate::cpu::Handler; 2]; 4],
    /// The handlers of both halves of a round, by kind.
    pub pair: [crate::cpu::Handler; 4],
    /// Encryption, decryption.
    pub run: [crate::cpu::Handler; 2],
    /// Encryption, decryption.
    pub twins: [crate::cpu::Handler; 2],
    /// `aes_kexpand0` to `aes_kexpand2`.
    pub expansion: [crate::cpu::Handler; 3],
}

/// A function of a unit as anybody may hold it. It must only be called where the unit's features are.
macro_rules! entry {
    ([] ($($argument:ident: $type:ty),*) -> $result:ty { $body:expr }) => {
        |$($argument: $type),*| -> $result { $body }
    };
    ([$features:literal] ($($argument:ident: $type:ty),*) -> $result:ty { $body:expr }) => {
        |$($argument: $type),*| -> $result {
            #[target_feature(enable = $features)]
            fn inner($($argument: $type),*) -> $result {
                $body
            }
            // SAFETY: `aes::handlers` gives this out only where the features are there.
            unsafe { inner($($argument),*) }
        }
    };
}
pub(super) use entry;

/// The handlers of a unit, which needs these features or none.
macro_rules! handlers {
    ($name:literal, $unit:ty, $features:tt) => {
        pub(super) static HANDLERS: $crate::t4::aes::rounds::Handlers = {
            use $crate::cpu::{Cpu, Op, Step};
            use $crate::t4::aes::rounds::*;

            macro_rules! handler {
                ($function:expr) => {
                    entry!($features (cpu: &mut Cpu, op: &Op) -> Step { $function(cpu, op) })
                };
            }
            macro_rules! round {
                ($kind:expr) => {
                    entry!($features (state: Halves, key: Halves) -> Halves { round::<$unit, $kind>(state, key) })
                };
            }
            macro_rules! expand {
                ($which:expr) => {
                    entry!($features (key: u64, last: u64, imm: u8) -> u64 { expand::<$unit, $which>(key, last, imm) })
                };
            }
            macro_rules! halves {
                ($kind:expr) => {
                    [handler!(single::<$unit, $kind, 0>), handler!(single::<$unit, $kind, 1>)]
                };
            }
            Handlers {
                name: $name,
                round: [round!(ENCRYPT), round!(DECRYPT), round!(ENCRYPT_LAST), round!(DECRYPT_LAST)],
                expand: [expand!(0), expand!(1), expand!(2)],
                single: [halves!(ENCRYPT), halves!(DECRYPT), halves!(ENCRYPT_LAST), halves!(DECRYPT_LAST)],
                pair: [
                    handler!(pair::<$unit, ENCRYPT>),
                    handler!(pair::<$unit, DECRYPT>),
                    handler!(pair::<$unit, ENCRYPT_LAST>),
                    handler!(pair::<$unit, DECRYPT_LAST>),
                ],
                run: [handler!(run::<$unit, ENCRYPT>), handler!(run::<$unit, DECRYPT>)],
                twins: [handler!(twins::<$unit, ENCRYPT>), handler!(twins::<$unit, DECRYPT>)],
                expansion: [
                    handler!(expansion::<$unit, 0>),
                    handler!(expansion::<$unit, 1>),
                    handler!(expansion::<$unit, 2>),
                ],
            }
        };
    };
}
pub(super) use handlers;
