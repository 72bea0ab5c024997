//! The places to stop a program at to learn that it runs certain instructions: one for each straight-line run
//! of them.

use super::classes::{Class, Classes, Counts};
use super::outcome::Proven;

/// The first instruction of a run. When it executes, so does the rest, as nothing jumps into the run or out
/// of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The address in the image's own terms, before relocation.
    pub address: u64,
    /// The index of the image's function that holds it.
    pub function: usize,
    /// The classes of the run's instructions.
    pub classes: Classes,
    /// The number of instructions of a class in the run.
    pub instructions: u32,
    /// The length of the run in bytes, to the end of its last instruction of a class.
    pub run: u32,
    bytes: [u8; 15],
    length: u8,
}

impl Site {
    /// Returns the bytes of the first instruction, the only ones that a breakpoint may change.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// Cuts proven instructions into runs. `function` returns the function that holds an address, and `bytes` the
/// code there.
pub(super) fn of<'a>(
    proven: &[Proven],
    function: impl Fn(u64) -> Option<usize>,
    bytes: impl Fn(u64, usize) -> &'a [u8],
) -> (Vec<Site>, Counts) {
    let mut sites: Vec<Site> = Vec::new();
    let mut counts = Counts::default();
    let mut open = false;
    let mut expected = None;
    for instruction in proven {
        // A target of a jump, or a gap, begins another block.
        open &= !instruction.is_target && expected == Some(instruction.address);
        let end = instruction.address + u64::from(instruction.length);
        if let Some(class) = instruction.class {
            counts.add(class);
            match sites.last_mut().filter(|_| open) {
                Some(site) => site.extend(class, end),
                None => {
                    if let Some(function) = function(instruction.address) {
                        let head = bytes(instruction.address, usize::from(instruction.length));
                        sites.push(Site::new(instruction.address, function, class, head));
                        open = true;
                    }
                }
            }
        }
        open &= !instruction.ends_block;
        expected = Some(end);
    }
    (sites, counts)
}

impl Site {
    fn new(address: u64, function: usize, class: Class, head: &[u8]) -> Site {
        Site { function, ..Site::of_run(address, class.into(), 1, head.len() as u32, head) }
    }

    /// Builds a site from a known run. Its function is set by `in_function`.
    pub(super) fn of_run(address: u64, classes: Classes, instructions: u32, run: u32, head: &[u8]) -> Site {
        let mut bytes = [0; 15];
        bytes[..head.len()].copy_from_slice(head);
        Site { address, function: 0, classes, instructions, run, bytes, length: head.len() as u8 }
    }

    /// Returns the site with its function set.
    pub(super) fn in_function(&self, function: usize) -> Site {
        Site { function, ..*self }
    }

    fn extend(&mut self, class: Class, end: u64) {
        self.classes.insert(class);
        self.instructions += 1;
        self.run = u32::try_from(end - self.address).unwrap_or(u32::MAX);
    }
}
