//! An executable image: the contents of a program's file or a library, or of memory where the file can't be
//! had.

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

/// An executable image: its functions, and the places where instructions of a class are.
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
    /// The purpose of carry-less multiplication, for the functions that reveal it.
    pub(super) carry_less: HashMap<usize, CarryLess>,
    pub(super) segments: Vec<Segment>,
    /// Symbols of data in which a virtual machine describes the code it makes.
    pub(super) landmarks: HashMap<Box<str>, u64>,
    pub(super) frames: Frames,
    pub(super) go: Option<GoTable>,
    pub(super) was_known: bool,
}

impl Image {
    /// Returns true when the image came from a cache and was not searched.
    pub fn was_known(&self) -> bool {
        self.was_known
    }

    /// Returns the functions, ordered by their start.
    pub fn functions(&self) -> &[Function] {
        &self.functions.list
    }

    /// Returns the places to stop at, ordered by address.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// Returns how many instructions of each class are proven to be there: those in the sites' runs.
    pub fn proven(&self) -> &Counts {
        &self.proven
    }

    /// Returns how many more instructions of each class seem to be there without proof. No breakpoint may
    /// stand on them.
    pub fn unproved(&self) -> &Counts {
        &self.unproved
    }

    /// Returns the classes of all instructions that were found, proven or not.
    pub fn classes(&self) -> Classes {
        self.proven.iter().chain(self.unproved.iter()).map(|(class, _)| class).collect()
    }

    /// Returns the linker's identification of the build.
    pub fn build_id(&self) -> Option<&[u8]> {
        self.build_id.as_deref()
    }

    /// Returns the function that holds an address of the image's own.
    pub fn function_at(&self, address: u64) -> Option<usize> {
        self.functions.at(address)
    }

    /// Returns a function's demangled name, or `fn_` and its address where it has none.
    pub fn name(&self, function: usize) -> String {
        let function = &self.functions.list[function];
        names::display(function.name.as_deref(), function.start)
    }

    /// Returns what a function uses carry-less multiplication for, as far as its constants reveal it.
    pub fn carry_less(&self, function: usize) -> CarryLess {
        self.carry_less.get(&function).copied().unwrap_or_default()
    }

    /// Returns the executable parts of the file, in whole pages.
    pub fn code_in_file(&self) -> impl Iterator<Item = Range<u64>> {
        const PAGE: u64 = 4096;
        let executable = self.segments.iter().filter(|segment| segment.is_executable());
        executable.map(|segment| {
            let end = segment.offset.saturating_add(segment.file_size);
            segment.offset & !(PAGE - 1)..end.checked_next_multiple_of(PAGE).unwrap_or(end)
        })
    }

    /// Returns the number to add to the image's addresses in a process that has mapped the file from `offset`
    /// on at `start`. `None` means that nothing of the file is mapped from that offset.
    pub fn bias(&self, start: u64, offset: u64) -> Option<u64> {
        const PAGE: u64 = 4096;
        let holds = |segment: &&Segment| {
            let end = segment.offset.saturating_add(segment.file_size);
            (segment.offset & !(PAGE - 1)..end).contains(&offset)
        };
        // Two segments may share a page of the file; code is what is usually asked about.
        let mut holding = self.segments.iter().filter(holds);
        let code = holding.clone().find(|segment| segment.is_executable());
        let segment = code.or_else(|| holding.next())?;
        let address = segment.address.wrapping_sub(segment.offset).wrapping_add(offset);
        Some(start.wrapping_sub(address))
    }
}
