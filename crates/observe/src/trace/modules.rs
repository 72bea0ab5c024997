//! The images that were searched, each once however many processes map it, and the places in them to stop at.

use std::any::Any;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use super::Looking;
use super::breakpoints::Original;
use super::findings::{Findings, Function, Mode, Module, Note};
use crate::code::cache::Cache;
use crate::code::{CarryLess, Classes, Image, known};
use crate::memory::Memory;
use crate::process::files;
use crate::process::maps::Map;

/// A place to stop at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    /// The address in the image's own terms.
    pub address: u64,
    /// Index into [`Findings::modules`].
    pub module: usize,
    /// Index into [`Module::functions`].
    pub function: usize,
    /// The classes that run when this place is passed; empty for the mere entry of a function.
    pub classes: Classes,
    /// True when a function begins here and its entries are counted.
    pub entry: bool,
    /// The instruction in the file; `None` for entries, where memory is read instead.
    pub original: Option<Original>,
    /// True when the place turned out to be unwatchable.
    pub unwatchable: bool,
}

/// An image and its part of the findings.
#[derive(Debug)]
pub(super) struct Scanned {
    pub image: Arc<Image>,
    /// Index into [`Findings::modules`].
    pub module: usize,
    /// The range of its spots in [`Modules::spots`].
    pub spots: std::ops::Range<usize>,
    /// True for an image that checks its own code when it starts.
    pub checks_itself: bool,
}

/// The identity of a file: device, inode, time of change and size. A rewritten file has another one.
type Key = (u64, u64, i64, i64, u64);

/// The images of all processes.
#[derive(Default)]
pub(super) struct Modules {
    files: HashMap<Key, Option<Rc<Scanned>>>,
    pub spots: Vec<Spot>,
    /// The cache of earlier searches.
    pub cache: Option<Cache>,
    /// The callback before a file is searched.
    pub looking: Option<ShowLooking>,
    /// True while the only process begins a program, whose files are searched.
    pub is_new: bool,
}

/// A callback before a file is searched. Its result is dropped afterwards.
pub(super) type ShowLooking = Box<dyn FnMut(&Looking<'_>) -> Box<dyn Any>>;

impl Modules {
    /// Returns the image of a mapping. `None`, with a note, means that the file is not readable as an image.
    pub fn of_map(
        &mut self,
        map: &Map,
        maps: &[Map],
        pid: i32,
        memory: &dyn Memory,
        findings: &mut Findings,
    ) -> Option<Rc<Scanned>> {
        let path = map.path.clone();
        let started = Instant::now();
        let scanned = match file_of(map, pid) {
            Some((file, key)) => match self.files.get(&key) {
                Some(known) => return known.clone(),
                None => {
                    let looking = Looking { path: &path, bytes: key.4, is_new: self.is_new };
                    let shown = self.looking.as_mut().map(|show| show(&looking));
                    // A file in another mount namespace may be served by whoever made that namespace, so the
                    // cache is not used.
                    let cache = self.cache.as_ref().filter(|_| has_our_mounts(pid));
                    let image = Image::of_file_or_cache(&file, cache).map_err(|error| error.to_string());
                    drop(shown);
                    findings.cost.known += usize::from(image.as_ref().is_ok_and(Image::was_known));
                    let scanned = self.register(image, path, findings);
                    self.files.insert(key, scanned.clone());
                    scanned
                }
            },
            None => {
                let first = maps.iter().find(|first| {
                    (first.device, first.inode, first.offset) == (map.device, map.inode, 0)
                        && first.start <= map.start
                });
                let image = match first {
                    Some(first) => Image::of_memory(memory, first.start).map_err(|error| error.to_string()),
                    None => Err("its file is gone, and the start of the file is not mapped".into()),
                };
                self.register(image, path, findings)
            }
        };
        findings.cost.images += 1;
        findings.cost.scanning += started.elapsed();
        scanned
    }

    /// Adds an image to the findings.
    pub fn register(
        &mut self,
        image: Result<Image, String>,
        path: OsString,
        findings: &mut Findings,
    ) -> Option<Rc<Scanned>> {
        let image = match image {
            Ok(image) => image,
            Err(why) => {
                findings.note(Note::Unreadable { path, why });
                return None;
            }
        };
        let module = findings.modules.len();
        let checks_itself = checks_itself(&image);
        let (functions, spots) = spots_of(&image, module, findings.mode);
        let name = path.to_string_lossy();
        let libraries = known::libraries(name.rsplit('/').next().unwrap_or(&name), &image);
        let labels: Vec<String> = libraries.iter().map(ToString::to_string).collect();
        findings.modules.push(Module {
            library: (!labels.is_empty()).then(|| labels.join(", ")),
            path,
            build_id: image.build_id().map(hexadecimal),
            present: image.classes(),
            functions,
            watched: *image.proven(),
            unproved: *image.unproved(),
            unwatchable: 0,
        });
        let first = self.spots.len();
        self.spots.extend(spots);
        Some(Rc::new(Scanned {
            image: Arc::new(image),
            module,
            spots: first..self.spots.len(),
            checks_itself,
        }))
    }
}

/// Returns true when a process is in our mount namespace.
fn has_our_mounts(pid: i32) -> bool {
    let of = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    of("self").is_some_and(|ours| of(&pid.to_string()) == Some(ours))
}

/// Opens the file of a mapping, if it is still the one that is mapped.
pub(super) fn file_of(map: &Map, pid: i32) -> Option<(File, Key)> {
    let range = format!("/proc/{pid}/map_files/{:x}-{:x}", map.start, map.end);
    let exe = format!("/proc/{pid}/exe");
    // A later way is tried only where an earlier one fails or leads to another file.
    let ways: [&dyn Fn() -> io::Result<File>; 3] = [
        &|| files::open_as_seen_by(pid, map.path.as_ref(), files::Last::Link),
        &|| files::open_link(range.as_ref()),
        &|| files::open_link(exe.as_ref()),
    ];
    ways.into_iter().find_map(|open| {
        let file = open().ok()?;
        let found = file.metadata().ok()?;
        // Some file systems report another device here than in the maps. That is harmless, as breakpoints are
        // compared with memory anyway.
        let key = (found.dev(), found.ino(), found.mtime(), found.mtime_nsec(), found.size());
        (found.ino() == map.inode).then_some((file, key))
    })
}

/// Returns the functions with instructions of a class, and the spots in them.
fn spots_of(image: &Image, module: usize, mode: Mode) -> (Vec<Function>, Vec<Spot>) {
    let mut indices: HashMap<usize, usize> = HashMap::new();
    let mut functions: Vec<Function> = Vec::new();
    let mut spots: Vec<Spot> = Vec::new();
    for site in image.sites() {
        let function = *indices.entry(site.function).or_insert_with(|| {
            let found = &image.functions()[site.function];
            functions.push(Function {
                carry_less: image.carry_less(site.function),
                ..function_of(found, Some(image.name(site.function)))
            });
            functions.len() - 1
        });
        functions[function].present = functions[function].present.union(site.classes);
        let original = Original::new(site.bytes());
        let spot = Spot {
            address: site.address,
            module,
            function,
            classes: site.classes,
            entry: false,
            original,
            unwatchable: false,
        };
        spots.push(spot);
    }
    if mode != Mode::Once {
        add_entries(image, &indices, &mut functions, &mut spots, module);
    }
    (functions, spots)
}

fn add_entries(
    image: &Image,
    indices: &HashMap<usize, usize>,
    functions: &mut [Function],
    spots: &mut Vec<Spot>,
    module: usize,
) {
    for (of_image, function) in indices {
        let found = &image.functions()[*of_image];
        if !found.entry_proven {
            continue;
        }
        functions[*function].entries = Some(0);
        match spots.iter_mut().find(|spot| spot.address == found.start) {
            Some(spot) => spot.entry = true,
            None => spots.push(Spot {
                address: found.start,
                module,
                function: *function,
                classes: Classes::NONE,
                entry: true,
                original: None,
                unwatchable: false,
            }),
        }
    }
}

/// Makes the findings' function, in which nothing ran yet.
pub(super) fn function_of(found: &crate::code::Function, name: Option<String>) -> Function {
    let unnamed = || found.name.as_deref().map_or_else(|| format!("fn_{:x}", found.start), str::to_owned);
    let name = name.unwrap_or_else(unnamed);
    Function {
        symbol: found.name.as_deref().filter(|symbol| *symbol != name).map(str::to_owned),
        name,
        address: found.start,
        bounds: found.bounds,
        present: Classes::NONE,
        carry_less: CarryLess::Unknown,
        ran: Classes::NONE,
        worked: Classes::NONE,
        entries: None,
        samples: 0,
        rate: None,
        hits: 0,
        first: None,
        callers: Vec::new(),
        origins: Vec::new(),
        by_process: Vec::new(),
    }
}

/// Returns true for images that check their own code in memory before they work. They would take breakpoints
/// for damage.
fn checks_itself(image: &Image) -> bool {
    const MARKS: [&str; 4] = [
        "BORINGSSL_bcm_text_hash",
        "BORINGSSL_integrity_test",
        "bcm_power_on_self_test",
        "wolfCrypt_FIPS_first",
    ];
    image.functions().iter().any(|function| {
        function.name.as_deref().is_some_and(|name| MARKS.iter().any(|mark| name.ends_with(mark)))
    })
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The command line of a process, for people.
pub(super) fn command_of(pid: i32) -> io::Result<OsString> {
    const MOST: usize = 200;
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline"))?;
    let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let mut text = words.collect::<Vec<_>>().join(&b' ');
    if text.is_empty() {
        let name = std::fs::read(format!("/proc/{pid}/comm"))?;
        return Ok(OsStr::from_bytes(name.trim_ascii_end()).to_owned());
    }
    // No character is cut in two.
    let begins = |byte: &u8| *byte & 0xc0 != 0x80;
    if let Some(end) = (MOST..text.len()).find(|at| begins(&text[*at])) {
        text.truncate(end);
        text.extend(b"...");
    }
    Ok(OsString::from_vec(text))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustix::fs::{CWD, Mode, RenameFlags};

    use super::*;

    #[test]
    fn a_pipe_in_place_of_a_mapped_file_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let (file, pipe) = (directory.path().join("lib.so"), directory.path().join("pipe"));
        std::fs::write(&file, "a library").unwrap();
        rustix::fs::mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        let inode = std::fs::metadata(&file).unwrap().ino();
        let path = file.clone().into_os_string();
        let map = Map {
            start: 0x1000,
            end: 0x2000,
            readable: true,
            writable: false,
            executable: true,
            shared: false,
            offset: 0,
            device: (0, 0),
            inode,
            path,
        };
        let (tell, told) = std::sync::mpsc::channel();
        let looking = std::thread::spawn(move || {
            let pid = std::process::id().cast_signed();
            let found = (0..5000).filter(|_| file_of(&map, pid).is_some()).count();
            tell.send(found).unwrap();
        });
        // The path is the file or the pipe, in turns.
        let end = Instant::now() + Duration::from_secs(60);
        while !looking.is_finished() && Instant::now() < end {
            rustix::fs::renameat_with(CWD, &file, CWD, &pipe, RenameFlags::EXCHANGE).unwrap();
        }
        let found = told.try_recv().expect("it waits for a pipe");
        assert!(found > 0, "the file was never found");
    }
}
