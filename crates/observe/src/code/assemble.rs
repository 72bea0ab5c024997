//! Assembles an image from its tables, and from a search through its code or a cached earlier search.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::path::Path;

use super::bounds::{Bounds, Found, Function, Functions, around, of_symbols};
use super::cache::{self, Cache, Entry, Record};
use super::carry_less::{self, CarryLess};
use super::classes::{Class, Classes};
use super::elf::{Elf, Source, Symbol};
use super::error::ImageError;
use super::frames::Frames;
use super::generated::hotspot;
use super::go::GoTable;
use super::image::Image;
use super::known::library::{self, Library};
use super::pointers::Pointers;
use super::region::Code;
use super::signatures;
use super::sites::Site;
use super::survey::Survey;
use crate::memory::Memory;

impl Image {
    /// Reads the image in a file.
    ///
    /// # Errors
    /// Fails when the file can't be read, or is no ELF file for x86-64 that Linux would map.
    pub fn of_file(file: &File) -> Result<Image, ImageError> {
        Image::with_debug_files(file, Path::new(DEBUG_FILES), None)
    }

    /// Reads the image in a file. A search that `cache` knows is not repeated, and a new one is kept there.
    ///
    /// # Errors
    /// Fails as [`Image::of_file`] does.
    pub fn of_file_or_cache(file: &File, cache: Option<&Cache>) -> Result<Image, ImageError> {
        Image::with_debug_files(file, Path::new(DEBUG_FILES), cache)
    }

    /// Reads the image in a file, by way of a cache. Names that were stripped from the file are looked up in
    /// `directory`, which holds them under `.build-id` by the build's identification.
    ///
    /// # Errors
    /// Fails as [`Image::of_file`] does.
    pub fn with_debug_files(
        file: &File,
        directory: &Path,
        cache: Option<&Cache>,
    ) -> Result<Image, ImageError> {
        let elf = Elf::of_file(file)?;
        let stripped = elf.section(".symtab").is_none();
        let build_id = elf.build_id();
        let names = build_id.as_ref().filter(|_| stripped).and_then(|id| debug_symbols(id, directory));
        let code: u64 = elf.executable().iter().map(|range| range.end - range.start).sum();
        let cache = cache.filter(|_| code >= cache::LEAST_CODE);
        let entry = cache.zip(build_id).and_then(|(cache, id)| cache.entry(file, &id));
        let found = entry.as_ref().and_then(Entry::read);
        let is_new = |image: &Image| !image.was_known;
        let (image, tables) = Image::analyse(&elf, names.unwrap_or_default(), found);
        if let Some(entry) = entry.filter(|_| is_new(&image)) {
            entry.write(file, &image.record(tables));
        }
        Ok(image)
    }

    /// Reads the image in a file with these bytes.
    ///
    /// # Errors
    /// Fails when they are no ELF file for x86-64 that Linux would map.
    pub fn of_bytes(bytes: &[u8]) -> Result<Image, ImageError> {
        Ok(Image::analyse(&Elf::read(Source::Bytes(bytes))?, Vec::new(), None).0)
    }

    /// Reads the image in memory, where the file's first byte is mapped at `base`. Only exported functions
    /// have names then.
    ///
    /// # Errors
    /// Fails when the headers can't be read, or are not those of an ELF file for x86-64.
    pub fn of_memory(memory: &dyn Memory, base: u64) -> Result<Image, ImageError> {
        Ok(Image::analyse(&Elf::read(Source::Memory(memory, base))?, Vec::new(), None).0)
    }

    /// Builds the image, from the record of an earlier search where that still fits. Also returns a digest of
    /// the functions in the file's tables.
    fn analyse(elf: &Elf<'_>, more_symbols: Vec<Symbol>, known: Option<Record>) -> (Image, u64) {
        let executable = elf.executable();
        let frames = Frames::read(elf);
        // Proving that there is no table takes a pass over all data, so a record that says so is believed.
        let may_have_go = known.as_ref().is_none_or(|known| known.has_go_table);
        let go = if may_have_go { GoTable::read(elf) } else { None };
        let (data, symbols): (Vec<_>, Vec<_>) =
            elf.symbols().into_iter().chain(more_symbols).partition(Symbol::is_data);
        let landmarks = data.into_iter().filter(|symbol| hotspot::is_landmark(&symbol.name));
        let (mut found, labels) = of_symbols(symbols);
        found.extend(frames.ranges().map(|range| Found { range, bounds: Bounds::Frame, name: None }));
        found.extend(go.iter().flat_map(GoTable::functions));
        let mut functions = Functions::new(found, labels, &executable);
        let tables = cache::digest(functions.list.iter().map(|function| function.start..function.end));
        let known = known.filter(|known| known.functions == tables);
        let kept = known.and_then(|known| Searched::of_record(known, &mut functions, &executable));
        let was_known = kept.is_some();
        let searched = kept.unwrap_or_else(|| Searched::of(elf, functions, &executable));
        let image = Image {
            carry_less: searched.carry_less,
            libraries: searched.libraries,
            functions: searched.survey.functions,
            sites: searched.survey.sites,
            proven: searched.survey.proven,
            unproved: searched.survey.unproved,
            build_id: elf.build_id(),
            segments: elf.segments.clone(),
            landmarks: landmarks.map(|symbol| (symbol.name, symbol.address)).collect(),
            frames,
            go,
            was_known,
        };
        (image, tables)
    }

    /// Returns what a cache keeps of the image.
    fn record(&self, tables: u64) -> Record {
        let list = &self.functions.list;
        let that = |wanted: fn(&Function) -> bool| {
            list.iter().filter(|function| wanted(function)).map(|function| function.start).collect()
        };
        let of_start = |(index, what): (&usize, &CarryLess)| (list[*index].start, *what);
        let mut carry_less: Vec<_> = self.carry_less.iter().map(of_start).collect();
        carry_less.sort_unstable_by_key(|(start, _)| *start);
        Record {
            functions: tables,
            has_go_table: self.go.is_some(),
            reached: that(|function| function.bounds == Bounds::Reached),
            entered: that(|function| function.entry_proven),
            sites: self.sites.clone(),
            proven: self.proven,
            unproved: self.unproved,
            carry_less,
            libraries: self.libraries.clone(),
        }
    }
}

/// The results of the slow search.
struct Searched {
    survey: Survey,
    carry_less: HashMap<usize, CarryLess>,
    libraries: Vec<Library>,
}

impl Searched {
    fn of(elf: &Elf<'_>, functions: Functions, executable: &[Range<u64>]) -> Searched {
        let code: Vec<Code> = executable
            .iter()
            .filter_map(|range| {
                let bytes = elf.at_address(range.start, range.end - range.start)?;
                Some(Code { start: range.start, bytes })
            })
            .collect();
        let pointers = || {
            let mut pointers = Pointers::read(elf, executable);
            pointers.called.extend(code.iter().flat_map(|code| signatures::entries(code.start, &code.bytes)));
            pointers
        };
        let survey = Survey::of(functions, &code, executable, elf.is_absolute, pointers);
        let is_of_interest = survey.proven.total() + survey.unproved.total() > 0;
        let texts = if is_of_interest { elf.read_only_data() } else { Vec::new() };
        let libraries = library::held(&texts, &elf.needed());
        Searched { carry_less: carry_less_in(&survey, &code, elf), libraries, survey }
    }

    /// Restores the results of an earlier search. Returns `None`, with `functions` as they were, when the
    /// record does not fit them.
    fn of_record(known: Record, functions: &mut Functions, executable: &[Range<u64>]) -> Option<Searched> {
        let is_code = |start: &u64| around(executable, *start).is_some();
        if !known.reached.iter().all(is_code) {
            return None;
        }
        functions.add(known.reached.iter().copied(), executable);
        let Some((sites, carry_less)) = put_into(&known, functions) else {
            functions.forget_reached(executable);
            return None;
        };
        let functions = std::mem::take(functions);
        let survey = Survey { functions, sites, proven: known.proven, unproved: known.unproved };
        Some(Searched { survey, carry_less, libraries: known.libraries })
    }
}

/// Assigns the recorded sites and purposes to the functions that hold them.
fn put_into(known: &Record, functions: &mut Functions) -> Option<(Vec<Site>, HashMap<usize, CarryLess>)> {
    let starting = |functions: &Functions, start: u64| {
        functions.list.binary_search_by_key(&start, |function| function.start).ok()
    };
    let in_function = |site: &Site| Some(site.in_function(functions.at(site.address)?));
    let sites = known.sites.iter().map(in_function).collect::<Option<_>>()?;
    let carry_less = known.carry_less.iter();
    let carry_less =
        carry_less.map(|(start, what)| Some((starting(functions, *start)?, *what))).collect::<Option<_>>()?;
    for start in &known.entered {
        let index = starting(functions, *start)?;
        functions.list[index].entry_proven = true;
    }
    Some((sites, carry_less))
}

/// The directory where distributions keep the symbols that they strip from programs.
const DEBUG_FILES: &str = "/usr/lib/debug";

/// Determines what each function with carry-less multiplication uses it for.
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

/// Reads the symbols from the file that a distribution keeps apart from a stripped program.
fn debug_symbols(build_id: &[u8], directory: &Path) -> Option<Vec<Symbol>> {
    let digits: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
    let (first, rest) = digits.split_at_checked(2)?;
    let file = File::open(directory.join(".build-id").join(first).join(format!("{rest}.debug"))).ok()?;
    let elf = Elf::of_file(&file).ok()?;
    (elf.build_id_by_section().as_deref() == Some(build_id)).then(|| elf.symbols())
}
