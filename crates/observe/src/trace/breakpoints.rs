//! Breakpoints: one byte of `int3` in place of an instruction's first byte.
//!
//! A byte is written only where memory still holds the instruction that was found, and restored only where it
//! still holds what was written. So code that is rewritten at run time is left alone.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use crate::memory::Memory;

/// The instruction that is a breakpoint.
pub const INT3: u8 = 0xCC;

/// The length of the longest instruction.
pub const LONGEST: usize = 15;

/// Memory that can be written regardless of its protection.
pub trait Writable: Memory {
    /// Writes `bytes` at `address`.
    ///
    /// # Errors
    /// Fails when any of it is not mapped, or is shared with others.
    fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()>;
}

/// A record of changed bytes, written before each change and after each restoration, so that another process
/// can restore them.
pub trait Record {
    /// Records that the byte at `address` is about to change.
    ///
    /// # Errors
    /// Fails when it can't be recorded; the byte is then not changed.
    fn arming(&mut self, address: u64, instruction: &[u8]) -> io::Result<()>;

    /// Records that the byte is restored or no longer ours.
    ///
    /// # Errors
    /// Fails when that can't be recorded.
    fn disarmed(&mut self, address: u64) -> io::Result<()>;
}

/// Records nothing.
impl Record for () {
    fn arming(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn disarmed(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }
}

/// An instruction as it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Original {
    bytes: [u8; LONGEST],
    length: u8,
}

impl Original {
    /// Returns the first instruction of `code`, unless its bytes are invalid or a breakpoint of the program's
    /// own.
    pub fn first(code: &[u8], address: u64) -> Option<Original> {
        let code = &code[..code.len().min(LONGEST)];
        let mut decoder = iced_x86::Decoder::with_ip(64, code, address, iced_x86::DecoderOptions::NONE);
        let instruction = decoder.decode();
        if instruction.is_invalid() || code.first() == Some(&INT3) {
            return None;
        }
        Original::new(&code[..instruction.len()])
    }

    /// Makes an instruction from its bytes.
    pub fn new(instruction: &[u8]) -> Option<Original> {
        if instruction.is_empty() || instruction.len() > LONGEST {
            return None;
        }
        let mut bytes = [0; LONGEST];
        bytes[..instruction.len()].copy_from_slice(instruction);
        Some(Original { bytes, length: instruction.len() as u8 })
    }

    /// Returns the instruction's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Returns true when memory holds the instruction.
    fn stands(&self, memory: &dyn Writable, address: u64) -> bool {
        self.found(memory, address).is_some_and(|found| found == self.bytes())
    }

    /// Returns true when memory holds the instruction with our byte as its first.
    pub fn stands_armed(&self, memory: &dyn Writable, address: u64) -> bool {
        self.found(memory, address).is_some_and(|found| found[0] == INT3 && found[1..] == self.bytes()[1..])
    }

    fn found(&self, memory: &dyn Writable, address: u64) -> Option<Vec<u8>> {
        let mut found = vec![0; usize::from(self.length)];
        memory.read(address, &mut found).ok().map(|()| found)
    }
}

/// A place where a breakpoint stands or stood.
#[derive(Clone, Copy, Debug)]
pub struct Breakpoint {
    /// The instruction at that place.
    pub original: Original,
    /// True while the byte is written.
    pub armed: bool,
    /// The caller's number for the place.
    pub site: usize,
}

/// The result of arming a breakpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Armed {
    /// The breakpoint stands.
    Stands,
    /// Memory holds another instruction than was found, and is left alone.
    Changed,
}

/// The owner of an `int3` that a thread has executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    /// A breakpoint of ours that still stands.
    Armed,
    /// A breakpoint of ours that was removed meanwhile. The thread executes what is there now.
    Gone,
    /// The program's own instruction.
    Foreign,
}

/// The breakpoints of one address space. Places stay known after removal, because a second thread may have
/// executed a breakpoint that the first thread's hit removed.
#[derive(Clone, Debug, Default)]
pub struct Table {
    at: BTreeMap<u64, Breakpoint>,
}

impl Table {
    /// Returns the breakpoint at `address`.
    pub fn get(&self, address: u64) -> Option<&Breakpoint> {
        self.at.get(&address)
    }

    /// Returns all breakpoints, by address.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Breakpoint)> {
        self.at.iter().map(|(address, breakpoint)| (*address, breakpoint))
    }

    /// Returns the first armed breakpoint in a range.
    pub fn first_armed(&self, range: Range<u64>) -> Option<(u64, Original)> {
        let mut all = self.at.range(range);
        all.find(|(_, breakpoint)| breakpoint.armed)
            .map(|(address, breakpoint)| (*address, breakpoint.original))
    }

    /// Returns a copy in which no breakpoint is armed.
    #[must_use]
    pub fn unarmed(&self) -> Table {
        let mut table = self.clone();
        table.at.values_mut().for_each(|breakpoint| breakpoint.armed = false);
        table
    }

    /// Returns the breakpoints in a range.
    pub fn between(&self, range: Range<u64>) -> impl Iterator<Item = (u64, &Breakpoint)> {
        self.at.range(range).map(|(address, breakpoint)| (*address, breakpoint))
    }

    /// Returns the number of armed breakpoints.
    pub fn armed(&self) -> usize {
        self.at.values().filter(|breakpoint| breakpoint.armed).count()
    }

    /// Adds a place, without writing anything. A place whose breakpoint is armed stays as it is.
    pub fn know(&mut self, address: u64, original: Original, site: usize) {
        let entry = self.at.entry(address).or_insert(Breakpoint { original, armed: false, site });
        if !entry.armed {
            *entry = Breakpoint { original, armed: false, site };
        }
    }

    /// Writes the byte at a known place.
    ///
    /// # Errors
    /// Fails when the memory or the journal can't be written.
    pub fn arm(&mut self, memory: &dyn Writable, record: &mut dyn Record, address: u64) -> io::Result<Armed> {
        let Some(breakpoint) = self.at.get_mut(&address) else { return Ok(Armed::Changed) };
        if breakpoint.armed {
            return Ok(Armed::Stands);
        }
        if !breakpoint.original.stands(memory, address) {
            return Ok(Armed::Changed);
        }
        record.arming(address, breakpoint.original.bytes())?;
        if let Err(error) = memory.write(address, &[INT3]) {
            record.disarmed(address)?;
            return Err(error);
        }
        breakpoint.armed = true;
        Ok(Armed::Stands)
    }

    /// Restores the byte where it is still ours.
    ///
    /// # Errors
    /// Fails when the memory or the journal can't be written.
    pub fn disarm(&mut self, memory: &dyn Writable, record: &mut dyn Record, address: u64) -> io::Result<()> {
        let Some(breakpoint) = self.at.get_mut(&address).filter(|breakpoint| breakpoint.armed) else {
            return Ok(());
        };
        put_back(memory, address, &breakpoint.original)?;
        breakpoint.armed = false;
        record.disarmed(address)
    }

    /// Restores all bytes. Returns the number of failures, whose memory is gone or belongs to somebody else.
    pub fn disarm_all(&mut self, memory: &dyn Writable, record: &mut dyn Record) -> usize {
        let armed: Vec<u64> = self.iter().filter(|(_, b)| b.armed).map(|(address, _)| address).collect();
        armed.into_iter().filter(|address| self.disarm(memory, record, *address).is_err()).count()
    }

    /// Returns the owner of the `int3` at `address`.
    pub fn trapped(&self, memory: &dyn Writable, address: u64) -> Trap {
        let Some(breakpoint) = self.at.get(&address) else { return Trap::Foreign };
        if breakpoint.armed && breakpoint.original.stands_armed(memory, address) {
            return Trap::Armed;
        }
        let mut now = [0];
        let foreign = !breakpoint.armed && memory.read(address, &mut now).is_ok() && now[0] == INT3;
        if foreign { Trap::Foreign } else { Trap::Gone }
    }

    /// Checks which breakpoints in a range stand in memory. The memory may have been mapped anew, or belong
    /// to a child that was born while others were armed and removed. No place is forgotten.
    ///
    /// # Errors
    /// Fails when the journal can't be written.
    pub fn review(
        &mut self,
        memory: &dyn Writable,
        record: &mut dyn Record,
        range: Range<u64>,
    ) -> io::Result<()> {
        const PAGE: u64 = 4096;
        let mut page = vec![0; PAGE as usize + LONGEST];
        let mut read = None;
        for (address, breakpoint) in self.at.range_mut(range) {
            let start = address & !(PAGE - 1);
            if read.is_none_or(|(from, _)| from != start) {
                let whole = memory.read(start, &mut page).is_ok();
                let most = PAGE as usize;
                let length = if whole {
                    page.len()
                } else {
                    usize::from(memory.read(start, &mut page[..most]).is_ok()) * most
                };
                read = Some((start, length));
            }
            let length = read.map_or(0, |(_, length)| length);
            let found = page[..length].get((address - start) as usize..).unwrap_or(&[]);
            let original = breakpoint.original.bytes();
            let stands = found.len() >= original.len()
                && found[0] == INT3
                && found[1..original.len()] == original[1..];
            match (breakpoint.armed, stands) {
                (false, true) => record.arming(*address, original)?,
                (true, false) => record.disarmed(*address)?,
                _ => {}
            }
            breakpoint.armed = stands;
        }
        Ok(())
    }
}

/// Restores one byte, if it and the rest of its instruction are as they were written.
///
/// # Errors
/// Fails when the memory can't be written.
pub fn put_back(memory: &dyn Writable, address: u64, original: &Original) -> io::Result<()> {
    if original.stands_armed(memory, address) {
        memory.write(address, &original.bytes()[..1])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::test::Bytes;

    impl Writable for Bytes {
        fn write(&self, address: u64, from: &[u8]) -> io::Result<()> {
            let start = address as usize;
            self.bytes.borrow_mut()[start..start + from.len()].copy_from_slice(from);
            Ok(())
        }
    }

    /// aesenc xmm0, xmm1; aesenc xmm2, xmm3
    const CODE: [u8; 10] = [0x66, 0x0F, 0x38, 0xDC, 0xC1, 0x66, 0x0F, 0x38, 0xDC, 0xD3];

    fn table() -> (Bytes, Table) {
        let mut table = Table::default();
        table.know(0, Original::first(&CODE, 0).unwrap(), 7);
        (Bytes::new(0, CODE.to_vec()), table)
    }

    #[test]
    fn a_byte_is_written_and_put_back() {
        let (memory, mut table) = table();
        assert_eq!(table.get(0).unwrap().original.bytes().len(), 5);
        assert_eq!(table.arm(&memory, &mut (), 0).unwrap(), Armed::Stands);
        assert_eq!(memory.bytes.borrow()[..2], [INT3, 0x0F]);
        assert_eq!(table.trapped(&memory, 0), Trap::Armed);
        assert_eq!(table.disarm_all(&memory, &mut ()), 0);
        assert_eq!(*memory.bytes.borrow(), CODE);
        assert_eq!(table.trapped(&memory, 0), Trap::Gone, "a second thread may have executed it");
        assert_eq!(table.trapped(&memory, 5), Trap::Foreign);
    }

    #[test]
    fn code_that_was_rewritten_is_left_alone() {
        let (memory, mut table) = table();
        table.arm(&memory, &mut (), 0).unwrap();
        memory.bytes.borrow_mut()[3] = 0x90;
        assert_eq!(table.trapped(&memory, 0), Trap::Gone);
        table.disarm(&memory, &mut (), 0).unwrap();
        assert_eq!(memory.bytes.borrow()[0], INT3, "it is no longer ours");
        memory.bytes.borrow_mut()[0] = 0x90;
        assert_eq!(table.arm(&memory, &mut (), 0).unwrap(), Armed::Changed);
        assert_eq!(memory.bytes.borrow()[0], 0x90);
    }

    #[test]
    fn a_breakpoint_of_the_program_itself_is_its_own() {
        let (memory, mut table) = table();
        assert_eq!(Original::first(&[INT3, 0x90], 0), None);
        memory.bytes.borrow_mut()[0] = INT3;
        assert_eq!(table.arm(&memory, &mut (), 0).unwrap(), Armed::Changed);
        assert_eq!(table.trapped(&memory, 0), Trap::Foreign);
    }

    #[test]
    fn memory_says_what_stands() {
        let (memory, mut table) = table();
        let mut copy = table.clone();
        table.arm(&memory, &mut (), 0).unwrap();
        copy.review(&memory, &mut (), 0..u64::MAX).unwrap();
        assert_eq!(copy.armed(), 0, "a page that ends too soon is not mapped");
        memory.bytes.borrow_mut().resize(4096, 0);
        copy.review(&memory, &mut (), 0..u64::MAX).unwrap();
        assert_eq!(copy.armed(), 1);
        memory.bytes.borrow_mut()[0] = 0x66;
        copy.review(&memory, &mut (), 1..u64::MAX).unwrap();
        assert_eq!(copy.armed(), 1, "not asked for");
        copy.review(&memory, &mut (), 0..1).unwrap();
        assert_eq!(copy.armed(), 0);
    }

    #[test]
    fn what_cannot_be_recorded_is_not_written() {
        struct Full;
        impl Record for Full {
            fn arming(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn disarmed(&mut self, _: u64) -> io::Result<()> {
                Ok(())
            }
        }
        let (memory, mut table) = table();
        table.arm(&memory, &mut Full, 0).unwrap_err();
        assert_eq!(*memory.bytes.borrow(), CODE);
    }
}
