//! Where to stop a program to learn that it runs certain instructions: one place for each straight-line run of them.

use super::classes::{Class, Classes, Counts};
use super::outcome::Proven;

/// The first instruction of a run: when it executes, so does the rest, as nothing jumps into the run or out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Where it begins: an address of the image's own, before it is moved to where it is mapped.
    pub address: u64,
    /// Which of the image's functions holds it.
    pub function: usize,
    /// The classes of the run's instructions.
    pub classes: Classes,
    /// How many instructions of a class the run has.
    pub instructions: u32,
    /// The length of the run in bytes, to the end of its last instruction of a class.
    pub run: u32,
    bytes: [u8; 15],
    length: u8,
}

impl Site {
    /// The bytes of the first instruction, which is all that a breakpoint there may change.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// Cuts proven instructions into runs. `function` says which function holds an address, `bytes` what stands there.
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
        // Another block begins.
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

    /// One whose run is known. Its function is to be said.
    pub(super) fn of_run(address: u64, classes: Classes, instructions: u32, run: u32, head: &[u8]) -> Site {
        let mut bytes = [0; 15];
        bytes[..head.len()].copy_from_slice(head);
        Site { address, function: 0, classes, instructions, run, bytes, length: head.len() as u8 }
    }

    /// The same in a function.
    pub(super) fn in_function(&self, function: usize) -> Site {
        Site { function, ..*self }
    }

    fn extend(&mut self, class: Class, end: u64) {
        self.classes.insert(class);
        self.instructions += 1;
        self.run = u32::try_from(end - self.address).unwrap_or(u32::MAX);
    }
}
