//! An executable image: what is in a program's file or a library, or in memory where the file can't be had.

use std::collections::HashMap;
use std::ops::Range;

use super::bounds::{Function, Functions};
use super::carry_less::CarryLess;
use super::classes::{Classes, Counts};
use super::elf::Segment;
use super::frames::Frames;
use super::go::GoTable;
use super::known::library::Library;
use super::names;
use super::sites::Site;

/// What is in an image.
///
/// ```
/// # #[cfg(target_arch = "x86_64")] {
/// use millstream_observe::code::Image;
///
/// let image = Image::of_file(&std::fs::File::open("/proc/self/exe")?)?;
/// for site in image.sites() {
///     println!("{:x} {} in {}", site.address, site.classes, image.name(site.function));
/// }
/// assert!(image.functions().iter().any(|function| function.name.is_some()));
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Image {
    pub(super) functions: Functions,
    pub(super) sites: Vec<Site>,
    pub(super) proven: Counts,
    pub(super) unproved: Counts,
    pub(super) build_id: Option<Vec<u8>>,
    pub(super) libraries: Vec<Library>,
    /// Of functions that multiply without carries, and say what for.
    pub(super) carry_less: HashMap<usize, CarryLess>,
    pub(super) segments: Vec<Segment>,
    /// Data that tells what a virtual machine has made.
    pub(super) landmarks: HashMap<Box<str>, u64>,
    pub(super) frames: Frames,
    pub(super) go: Option<GoTable>,
    pub(super) was_known: bool,
}

impl Image {
    /// Whether a cache knew it, so that it was not searched.
    pub fn was_known(&self) -> bool {
        self.was_known
    }

    /// The functions, ordered by their start.
    pub fn functions(&self) -> &[Function] {
        &self.functions.list
    }

    /// The places to stop at, ordered by address.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// How many instructions of each class are proven to be there: those of the sites' runs.
    pub fn proven(&self) -> &Counts {
        &self.proven
    }

    /// How many more instructions of each class there seem to be, of which it isn't proven. No breakpoint may stand there.
    pub fn unproved(&self) -> &Counts {
        &self.unproved
    }

    /// The classes there are instructions of, proven or not.
    pub fn classes(&self) -> Classes {
        self.proven.iter().chain(self.unproved.iter()).map(|(class, _)| class).collect()
    }

    /// The linker's identification of the build.
    pub fn build_id(&self) -> Option<&[u8]> {
        self.build_id.as_deref()
    }

    /// Which function holds an address of the image's own.
    pub fn function_at(&self, address: u64) -> Option<usize> {
        self.functions.at(address)
    }

    /// A function's name for people; `fn_` and its address where it has none.
    pub fn name(&self, function: usize) -> String {
        let function = &self.functions.list[function];
        names::display(function.name.as_deref(), function.start)
    }

    /// What a function multiplies without carries for, as far as its numbers say it.
    pub fn carry_less(&self, function: usize) -> CarryLess {
        self.carry_less.get(&function).copied().unwrap_or_default()
    }

    /// Which parts of the file are executable, in whole pages.
    pub fn code_in_file(&self) -> impl Iterator<Item = Range<u64>> {
        const PAGE: u64 = 4096;
        let executable = self.segments.iter().filter(|segment| segment.is_executable());
        executable.map(|segment| {
            let end = segment.offset.saturating_add(segment.file_size);
            segment.offset & !(PAGE - 1)..end.checked_next_multiple_of(PAGE).unwrap_or(end)
        })
    }

    /// What must be added to the image's addresses to get those of a process that has mapped the file from `offset` on
    /// at `start`. `None` where nothing of the file is mapped from that offset.
    pub fn bias(&self, start: u64, offset: u64) -> Option<u64> {
        const PAGE: u64 = 4096;
        let holds = |segment: &&Segment| {
            let end = segment.offset.saturating_add(segment.file_size);
            (segment.offset & !(PAGE - 1)..end).contains(&offset)
        };
        let mut holding = self.segments.iter().filter(holds);
        let code = holding.clone().find(|segment| segment.is_executable());
        let segment = code.or_else(|| holding.next())?;
        let address = segment.address.wrapping_sub(segment.offset).wrapping_add(offset);
        Some(start.wrapping_sub(address))
    }
}
