//! Instructions as data: what each looks like, which processors have it, and how it is made ready to be executed.
//!
//! Each family of instructions is one file, with a list of rows ([`Instruction`]) beside the code that executes them;
//! [`FAMILIES`] is all of them. Everything else follows from the rows: [`find`] and [`decode`] (for blocks),
//! [`disassemble()`] (for people), [`crate::counts`] (for `--mix`), and the timing model's classes.
//!
//! ```
//! use millstream_ultrasparc::isa;
//! use millstream_ultrasparc::processor::Processor;
//!
//! let word = 0x8cc8_0802;
//! let row = isa::find(word).expect("the T4's");
//! assert_eq!((row.name, row.class.name()), ("aes_eround01", "AES rounds"));
//! assert_eq!(isa::disassemble(word, 0).to_string(), "aes_eround01  %f0, %f2, %f4, %f6");
//! assert!(isa::decode(word, 0, Processor::T4.features()).is_some());
//! assert!(isa::decode(word, 0, Processor::T3.features()).is_none());
//! ```
//!
//! # To add an instruction
//!
//! 1. **Its row**, in the file of its family. `value` is its word with all operands zero, as the assembler makes it;
//!    `mask` has all bits that are not operands and that the processor looks at. A reserved field is in the mask if
//!    the processor checks it, and not if the processor ignores it. `operands` are in the order of assembly: their
//!    names say which bits they are. `needs` is the feature without which it is an illegal instruction. An
//!    instruction with a condition has one row for each condition, because each has a name: write a `const fn` that
//!    makes them.
//! 2. **Its handler**, beside the row: a small function that takes the processor and the [`Op`](crate::cpu::Op). It answers
//!    [`Step::Next`](crate::cpu::Step::Next), or stops with a trap before it has changed anything. All that it can
//!    know from the word alone belongs in the closure of `decode`, which runs once for each place in a program, not
//!    each time. [`Decode::Control`] is for transfers of control, [`Decode::Plain`] for everything else.
//! 3. **Its class**, if none fits: a line in [`Class`] and its name; crypto instructions come last. The timing model
//!    says how long it takes.
//! 4. **A new family's list**: a line in [`FAMILIES`], in `families.rs`. Instructions that are executed together have
//!    a list of their own, a line in [`FUSIONS`] beside it.
//!
//! The index needs no change. These tests then say what is wrong:
//!
//! * `isa::index` (`cargo test -p millstream-ultrasparc --lib index`): all 2^32 words have one row or none. A row
//!   that takes words from another is named with it.
//! * `tests/isa/assembler.rs`: words of each row with random operands are shown as text, and GNU as makes the same
//!   words of that. It finds wrong bits, wrong operands, and fields missing from the mask.
//! * `tests/isa/objdump.rs`: the same words, and all of a static program, look as `objdump` shows them. It lists
//!   instructions that objdump knows and we lack, with the reason; take the new one off that list.
//! * `tests/differential`: the result, against `qemu-sparc64` for instructions that QEMU has; the known answers of
//!   its family for others.

mod disassemble;
mod families;
mod index;
mod names;
mod row;
mod word;

pub use disassemble::{Text, disassemble};
pub use families::{FAMILIES, FUSIONS};
pub use index::{decode, find, find_number, rows};
pub use row::{Class, Decode, Fusion, Instruction, Operand};
pub use word::{Word, double};
