//! One operation: the block of control words that describes it, and its execution.
//!
//! The first word says everything; further words bring more of the source. An invalid word is refused when it is
//! taken, so the queue stops at the word that is at fault. Everything is computed before anything is written.
//!
//! Ref. UltraSPARC Virtual Machine Specification 3.0 §25.2.2.3; Linux, `drivers/crypto/n2_core.c` (the rules of
//! blocks). Not public, and so ours: that a word is refused if an address that it needs is zero, as are a cipher's
//! broken blocks, a digest longer than the hash's and pieces beyond 64 KB.

use std::ops::Range;

use super::codes::{Auth, Cipher, CipherKind, Model};
use super::control_word::{Control, ControlWord, Opcode};
use super::diagnostics::Latches;
use super::fault::{Fault, Field, Refusal};
use super::physical::{Physical, read_word};
use super::results::Results;
use super::{auth, cipher, sslkey};

/// The task of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// SSLv3's key block.
    SslKey,
    /// A copy.
    Copy,
    /// A cipher.
    Cipher(Cipher),
    /// A hash, MAC or checksum.
    Auth(Auth),
}

/// An object of a word, other than the source and a destination as long as the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operand {
    pub field: Field,
    pub address: u64,
    pub len: usize,
    pub write: bool,
}

/// The part of its page that a queue of the fast path may reach.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub page_bytes: u64,
    pub queue: Range<u64>,
}

impl Limits {
    fn check(&self, field: Field, address: u64, len: usize) -> Result<(), Refusal> {
        let end = address.checked_add(len as u64).filter(|&end| end <= self.page_bytes);
        let end = end.ok_or(Refusal::OutsidePage(field))?;
        if overlap(&(address..end), &self.queue) { Err(Refusal::OutsidePage(field)) } else { Ok(()) }
    }
}

fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

impl Task {
    /// The task that a first word asks of a unit.
    ///
    /// # Errors
    /// The unit does not have it.
    pub fn of(model: Model, control: Control) -> Result<Task, Refusal> {
        let opcode = control.opcode().ok_or(Refusal::Opcode)?;
        if control.gather() && (model < Model::RainbowFalls || opcode == Opcode::SslKey) {
            return Err(Refusal::Opcode);
        }
        match opcode {
            Opcode::SslKey => Ok(Task::SslKey),
            Opcode::Copy => Ok(Task::Copy),
            Opcode::Cipher => Cipher::from_code(control.cipher_code())
                .filter(|cipher| cipher.known_to(model))
                .map(Task::Cipher)
                .ok_or(Refusal::Cipher),
            Opcode::Auth => Auth::from_code(control.auth_code())
                .filter(|auth| auth.known_to(model))
                .map(Task::Auth)
                .ok_or(Refusal::Auth),
        }
    }

    /// Bytes of a block, 1 if the task has no blocks.
    fn block_len(self) -> usize {
        match self {
            Task::Cipher(cipher) => cipher.kind.block_len(),
            _ => 1,
        }
    }

    /// Bytes that a word reads at its source.
    pub(crate) fn source_len(self, control: Control) -> usize {
        if self == Task::SslKey { sslkey::SOURCE_BYTES } else { control.len() }
    }

    /// Bytes that go to the destination, for a source of that many bytes in all.
    pub(crate) fn destination_len(self, control: Control, source: usize) -> usize {
        match self {
            Task::Copy | Task::Cipher(_) => source,
            Task::SslKey => control.hash_len(),
            Task::Auth(auth) if auth.is_partial() && control.store_state() => 0,
            Task::Auth(_) => control.hash_len(),
        }
    }

    /// True if the result replaces the source. A hash has a destination even with its bit for in-place.
    pub(crate) fn in_place(self, control: Control) -> bool {
        control.in_place() && !matches!(self, Task::Auth(_))
    }

    /// The objects that a first word reads and writes besides source and destination.
    pub(crate) fn operands(self, word: &ControlWord) -> Vec<Operand> {
        let control = word.control;
        let read = |field, address, len| Operand { field, address, len, write: false };
        let all = match self {
            Task::Copy => vec![],
            Task::SslKey => vec![read(Field::AuthKey, word.auth_key, sslkey::MASTER_BYTES)],
            Task::Cipher(cipher) => vec![
                Operand {
                    write: cipher.kind == CipherKind::Rc4,
                    ..read(Field::CipherKey, word.cipher_key, cipher.kind.key_len())
                },
                read(Field::CipherIv, word.cipher_iv, cipher.iv_len()),
            ],
            Task::Auth(auth) => {
                let key_len = if auth.is_keyed() { control.auth_key_len() } else { 0 };
                let stored = if control.store_state() { auth.stored_len() } else { 0 };
                let state = read(Field::FinalAuthState, word.final_auth_state, stored);
                vec![
                    read(Field::AuthKey, word.auth_key, key_len),
                    read(Field::AuthIv, word.auth_iv, auth.state_len()),
                    Operand { write: true, ..state },
                ]
            }
        };
        all.into_iter().filter(|operand| operand.len > 0).collect()
    }
}

/// A block of words under way.
pub(crate) struct Block {
    task: Task,
    word: ControlWord,
    /// The source so far, and the pieces of which it consists.
    source: Vec<u8>,
    pieces: Vec<(u64, usize)>,
    /// True if one of its words wants an interrupt.
    pub interrupt: bool,
}

impl Block {
    /// Takes the first word.
    pub fn begin(
        model: Model,
        limits: Option<&Limits>,
        word: &ControlWord,
        memory: &dyn Physical,
    ) -> Result<Block, Fault> {
        if !word.control.start_of_block() {
            return Err(Refusal::NotBegun.into());
        }
        let task = Task::of(model, word.control)?;
        check_fields(task, word)?;
        if let Some(limits) = limits {
            check_redoable(task, word)?;
            for operand in task.operands(word) {
                limits.check(operand.field, operand.address, operand.len)?;
            }
        }
        let mut block = Block { task, word: *word, source: Vec::new(), pieces: Vec::new(), interrupt: false };
        if word.control.gather() {
            block.gather(limits, memory)?;
            block.interrupt = word.control.interrupt();
        } else {
            block.take(limits, word.control, word.source, memory)?;
        }
        Ok(block)
    }

    /// Bytes of source so far.
    pub fn bytes(&self) -> usize {
        self.source.len()
    }

    /// The task of the block.
    pub fn task(&self) -> Task {
        self.task
    }

    /// Takes a further word.
    pub fn go_on(
        &mut self,
        limits: Option<&Limits>,
        word: &ControlWord,
        memory: &dyn Physical,
    ) -> Result<(), Fault> {
        if word.control.start_of_block() {
            return Err(Refusal::BegunAlready.into());
        }
        self.take(limits, word.control, word.source, memory)
    }

    fn take(
        &mut self,
        limits: Option<&Limits>,
        control: Control,
        source: u64,
        memory: &dyn Physical,
    ) -> Result<(), Fault> {
        let len = self.task.source_len(control);
        let block = self.task.block_len();
        if len < block {
            return Err(Refusal::ShortPiece.into());
        }
        let whole_before = self.source.len().is_multiple_of(block);
        if control.end_of_block() && !(whole_before && len.is_multiple_of(block)) {
            return Err(Refusal::BrokenBlock.into());
        }
        self.read(limits, source, len, memory)?;
        self.interrupt |= control.interrupt();
        Ok(())
    }

    fn read(
        &mut self,
        limits: Option<&Limits>,
        source: u64,
        len: usize,
        memory: &dyn Physical,
    ) -> Result<(), Fault> {
        if source == 0 {
            return Err(Refusal::NoAddress(Field::Source).into());
        }
        if let Some(limits) = limits {
            limits.check(Field::Source, source, len)?;
        }
        let before = self.source.len();
        if before + len > Control::MAX_BYTES {
            return Err(Refusal::TooLong.into());
        }
        self.source.resize(before + len, 0);
        memory.read(source, &mut self.source[before..])?;
        self.pieces.push((source, len));
        Ok(())
    }

    /// Reads the pieces of a gather list: entries of 16 bytes, an address and a length.
    fn gather(&mut self, limits: Option<&Limits>, memory: &dyn Physical) -> Result<(), Fault> {
        let (list, bytes) = (self.word.source, self.word.control.len());
        if !bytes.is_multiple_of(16) {
            return Err(Refusal::Gather.into());
        }
        if list == 0 {
            return Err(Refusal::NoAddress(Field::Source).into());
        }
        if let Some(limits) = limits {
            limits.check(Field::Source, list, bytes)?;
        }
        for entry in (0..bytes as u64).step_by(16) {
            let address = read_word(memory, list.wrapping_add(entry))?;
            let len = read_word(memory, list.wrapping_add(entry + 8))?;
            let len = usize::try_from(len).ok().filter(|&len| len <= Control::MAX_BYTES);
            self.read(limits, address, len.ok_or(Refusal::TooLong)?, memory)?;
        }
        // The list itself must stay as it is, too, so that the operation can be done again.
        self.pieces.push((list, bytes));
        if self.source.len().is_multiple_of(self.task.block_len()) && !self.source.is_empty() {
            Ok(())
        } else {
            Err(Refusal::BrokenBlock.into())
        }
    }

    /// Computes everything that the whole block writes.
    pub fn results(&self, limits: Option<&Limits>, memory: &dyn Physical) -> Result<Results, Fault> {
        let mut results = self.compute(memory)?;
        results.latches.control(self.word.control.0);
        results.latches.data(&self.source);
        if let Some(limits) = limits {
            self.check_results(limits, &results)?;
        }
        Ok(results)
    }

    fn compute(&self, memory: &dyn Physical) -> Result<Results, Fault> {
        let word = &self.word;
        let mut results = Results { writes: Vec::new(), latches: Latches::default() };
        let made = match self.task {
            Task::Copy if word.control.in_place() => return Ok(results),
            Task::Copy => self.source.clone(),
            Task::SslKey => sslkey::key_block(word, &self.source, memory)?,
            Task::Cipher(cipher) => cipher::run(cipher, word, &self.source, memory, &mut results)?,
            Task::Auth(auth) => auth::run(auth, word, &self.source, memory, &mut results)?,
        };
        if self.task.in_place(word.control) {
            self.scatter(&made, &mut results);
        } else if !made.is_empty() {
            results.writes.push((Field::Destination, word.destination, made));
        }
        Ok(results)
    }

    /// Puts a result made in place over the pieces of its source; an SSL key block over their beginning.
    fn scatter(&self, made: &[u8], results: &mut Results) {
        let mut rest = made;
        for &(address, len) in &self.pieces {
            let (piece, after) = rest.split_at(len.min(rest.len()));
            results.writes.push((Field::Source, address, piece.to_vec()));
            rest = after;
        }
    }

    fn check_results(&self, limits: &Limits, results: &Results) -> Result<(), Refusal> {
        let span = |address: u64, len: usize| address..address + len as u64;
        let operands = self.task.operands(&self.word);
        let inputs = operands.iter().filter(|operand| !operand.write);
        let inputs: Vec<Range<u64>> = inputs
            .map(|operand| span(operand.address, operand.len))
            .chain(self.pieces.iter().map(|&(address, len)| span(address, len)))
            .collect();
        let mut outputs: Vec<Range<u64>> = Vec::new();
        for (field, address, bytes) in &results.writes {
            limits.check(*field, *address, bytes.len())?;
            let output = span(*address, bytes.len());
            if inputs.iter().chain(&outputs).any(|other| overlap(other, &output)) {
                return Err(Refusal::Overlap);
            }
            outputs.push(output);
        }
        Ok(())
    }
}

/// Bytes of the pieces of a gather list, as far as it can be read.
pub(crate) fn gathered(word: &ControlWord, memory: &dyn Physical) -> usize {
    let lengths = (8..word.control.len() as u64).step_by(16);
    let lengths = lengths.map_while(|at| read_word(memory, word.source.wrapping_add(at)).ok());
    let sum = lengths.fold(0_u64, u64::saturating_add);
    usize::try_from(sum).unwrap_or(usize::MAX).min(Control::MAX_BYTES)
}

/// Checks a first word's statements about its operation, apart from the source.
fn check_fields(task: Task, word: &ControlWord) -> Result<(), Refusal> {
    let control = word.control;
    if let Task::Auth(auth) = task {
        let key = control.auth_key_len();
        if auth.is_keyed() && (key > auth.max_key_len() || auth == Auth::KasumiF9 && key != 16) {
            return Err(Refusal::KeyLength);
        }
        if control.hash_len() > auth.result_len() {
            return Err(Refusal::HashLength);
        }
    }
    if control.gather() && task.in_place(control) {
        return Err(Refusal::Gather);
    }
    if task == Task::SslKey && task.in_place(control) && control.hash_len() > sslkey::SOURCE_BYTES {
        return Err(Refusal::HashLength);
    }
    if task.destination_len(control, 1) > 0 && !task.in_place(control) && word.destination == 0 {
        return Err(Refusal::NoAddress(Field::Destination));
    }
    let nowhere = task.operands(word).into_iter().find(|operand| operand.address == 0);
    if let Some(operand) = nowhere {
        return Err(Refusal::NoAddress(operand.field));
    }
    if task == Task::SslKey { sslkey::check_alignment(word) } else { Ok(()) }
}

/// Refuses operations that can't be done again after they were done in part.
fn check_redoable(task: Task, word: &ControlWord) -> Result<(), Refusal> {
    let streams = matches!(task, Task::Cipher(Cipher { kind: CipherKind::Rc4, .. }));
    if task.in_place(word.control) || streams { Err(Refusal::InPlace) } else { Ok(()) }
}
