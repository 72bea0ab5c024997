//! An executable image: what is in a program's file or a library, or in memory where the file can't be had.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use super::bounds::{Bounds, Found, Function, Functions, of_symbols};
use super::carry_less::{self, CarryLess};
use super::classes::{Class, Classes, Counts};
use super::elf::{Elf, Segment, Source, Symbol};
use super::frames::Frames;
use super::generated::hotspot;
use super::go::GoTable;
use super::known::{self, Library};
use super::names;
use super::pointers::Pointers;
use super::sites::Site;
use super::survey::{Code, Survey};
use crate::memory::Memory;

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
    functions: Functions,
    sites: Vec<Site>,
    proven: Counts,
    unproved: Counts,
    build_id: Option<Vec<u8>>,
    pub(super) libraries: Vec<Library>,
    /// Of functions that multiply without carries, and say what for.
    carry_less: HashMap<usize, CarryLess>,
    pub(super) segments: Vec<Segment>,
    /// Data that tells what a virtual machine has made.
    pub(super) landmarks: HashMap<Box<str>, u64>,
    pub(super) frames: Frames,
    pub(super) go: Option<GoTable>,
}

/// Why an image can't be looked at.
#[derive(Debug)]
pub enum ImageError {
    /// It can't be read.
    Read(io::Error),
    /// It is no ELF file.
    NotElf,
    /// It is for another processor, of this number in ELF's list.
    Machine(u16),
    /// Its headers contradict themselves: which.
    Malformed(&'static str),
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImageError::Read(error) => write!(f, "the image can't be read: {error}"),
            ImageError::NotElf => f.write_str("the image is no ELF file"),
            ImageError::Machine(machine) => {
                write!(f, "the image is for another processor than x86-64 (ELF machine {machine})")
            }
            ImageError::Malformed(what) => write!(f, "the image's {what} contradict themselves"),
        }
    }
}

impl std::error::Error for ImageError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ImageError::Read(error) => Some(error),
            _ => None,
        }
    }
}

impl Image {
    /// What is in a file.
    ///
    /// # Errors
    /// When it can't be read, or is no ELF file for x86-64 that Linux would map.
    pub fn of_file(file: &File) -> Result<Image, ImageError> {
        Image::with_debug_files(file, Path::new("/usr/lib/debug"))
    }

    /// What is in a file; names that were stripped from it are looked for in `directory`, where `.build-id` holds them by
    /// the build's identification.
    ///
    /// # Errors
    /// Those of [`Image::of_file`].
    pub fn with_debug_files(file: &File, directory: &Path) -> Result<Image, ImageError> {
        let elf = Elf::of_file(file)?;
        let stripped = elf.section(".symtab").is_none();
        let names = elf.build_id().filter(|_| stripped).and_then(|id| debug_symbols(&id, directory));
        Ok(Image::analyse(&elf, names.unwrap_or_default()))
    }

    /// What is in a file of these bytes.
    ///
    /// # Errors
    /// When they are no ELF file for x86-64 that Linux would map.
    pub fn of_bytes(bytes: &[u8]) -> Result<Image, ImageError> {
        Ok(Image::analyse(&Elf::read(Source::Bytes(bytes))?, Vec::new()))
    }

    /// What is in memory, where the file's first byte is mapped at `base`. Names are then those that are exported.
    ///
    /// # Errors
    /// When the headers can't be read, or are not those of an ELF file for x86-64.
    pub fn of_memory(memory: &dyn Memory, base: u64) -> Result<Image, ImageError> {
        Ok(Image::analyse(&Elf::read(Source::Memory(memory, base))?, Vec::new()))
    }

    fn analyse(elf: &Elf<'_>, more_symbols: Vec<Symbol>) -> Image {
        let executable = elf.executable();
        let frames = Frames::read(elf);
        let go = GoTable::read(elf);
        let (data, symbols): (Vec<_>, Vec<_>) =
            elf.symbols().into_iter().chain(more_symbols).partition(Symbol::is_data);
        let landmarks = data.into_iter().filter(|symbol| hotspot::is_landmark(&symbol.name));
        let (mut found, labels) = of_symbols(symbols);
        found.extend(frames.ranges().map(|range| Found { range, bounds: Bounds::Frame, name: None }));
        found.extend(go.iter().flat_map(GoTable::functions));
        let code: Vec<Code> = executable
            .iter()
            .filter_map(|range| {
                let bytes = elf.at_address(range.start, range.end - range.start)?;
                Some(Code { start: range.start, bytes })
            })
            .collect();
        let functions = Functions::new(found, labels, &executable);
        let pointers = || Pointers::read(elf, &executable);
        let survey = Survey::of(functions, &code, &executable, elf.is_absolute, pointers);
        let is_of_interest = survey.proven.total() + survey.unproved.total() > 0;
        let texts = if is_of_interest { elf.read_only_data() } else { Vec::new() };
        Image {
            carry_less: carry_less_in(&survey, &code, elf),
            libraries: known::held(&texts, &elf.needed()),
            functions: survey.functions,
            sites: survey.sites,
            proven: survey.proven,
            unproved: survey.unproved,
            build_id: elf.build_id(),
            segments: elf.segments.clone(),
            landmarks: landmarks.map(|symbol| (symbol.name, symbol.address)).collect(),
            frames,
            go,
        }
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

/// What the functions with carry-less multiplication are for.
fn carry_less_in(survey: &Survey, code: &[Code], elf: &Elf<'_>) -> HashMap<usize, CarryLess> {
    let mut classes: HashMap<usize, Classes> = HashMap::new();
    for site in &survey.sites {
        let known = classes.entry(site.function).or_default();
        *known = known.union(site.classes);
    }
    classes.retain(|_, classes| classes.has(Class::Pclmul) || classes.has(Class::Vpclmul));
    let read = |address| elf.at_address(address, 16)?.try_into().ok();
    let of = |(index, classes): (usize, Classes)| {
        let function = &survey.functions.list[index];
        let code = code.iter().find(|code| (code.start..code.end()).contains(&function.start))?;
        let range = function.start..function.end.min(code.end());
        Some((index, carry_less::of(code.at(&range), range.start, classes, read)))
    };
    classes.into_iter().filter_map(of).collect()
}

/// The symbols of the file that a distribution keeps apart from a stripped one.
fn debug_symbols(build_id: &[u8], directory: &Path) -> Option<Vec<Symbol>> {
    let digits: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
    let (first, rest) = digits.split_at_checked(2)?;
    let file = File::open(directory.join(".build-id").join(first).join(format!("{rest}.debug"))).ok()?;
    let elf = Elf::of_file(&file).ok()?;
    (elf.build_id_by_section().as_deref() == Some(build_id)).then(|| elf.symbols())
}
