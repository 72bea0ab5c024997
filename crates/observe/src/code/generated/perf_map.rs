//! The file `/tmp/perf-PID.map`, in which programs describe the code they make to profilers: a line for each
//! function, with address, size and name.
//!
//! Ref. Linux `tools/perf/Documentation/jit-interface.txt`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt};

use super::stretch::{Made, Origin, Stretch, stretch};
use crate::code::modules::Modules;
use crate::memory::Memory;
use crate::process::files;

/// The most bytes of the file that one look reads.
const MOST_BYTES: usize = 1 << 20;
/// The largest size that a function may claim.
const LONGEST: u64 = 1 << 22;
/// The largest number of functions that is kept.
const MOST_FUNCTIONS: usize = 1 << 20;

/// One process's file, and how far it was read.
#[derive(Debug)]
pub(super) struct PerfMap {
    pid: i32,
    file: Option<File>,
    at: u64,
    /// The functions by their start: end and name.
    functions: BTreeMap<u64, (u64, String)>,
}

impl PerfMap {
    pub fn new(pid: i32) -> PerfMap {
        PerfMap { pid, file: None, at: 0, functions: BTreeMap::new() }
    }

    /// Returns the functions that were added since the last look and hold an instruction of a class.
    pub fn look(&mut self, memory: &dyn Memory, modules: &Modules) -> Vec<Stretch> {
        if self.file.is_none() {
            self.file = open(self.pid);
        }
        let lines = self.read().unwrap_or_default();
        let mut stretches = Vec::new();
        for (start, end, name) in lines.lines().filter_map(parse) {
            self.tell(start, end, name);
            let mut bytes = vec![0; (end - start) as usize];
            // Code from a mapped file is searched there.
            if modules.at(start).is_none() && memory.read(start, &mut bytes).is_ok() {
                let told = [(start..end, name.to_owned())];
                stretches.extend(stretch(start, bytes, Origin::PerfMap, &told));
            }
        }
        stretches
    }

    /// Records a function, which replaces older ones in its place.
    fn tell(&mut self, start: u64, end: u64, name: &str) {
        let before = self.functions.range(..start).next_back();
        let cut = before.filter(|(_, (old_end, _))| *old_end > start).map(|(old, _)| *old);
        let inside = self.functions.range(start..end).map(|(old, _)| *old);
        let gone: Vec<u64> = cut.into_iter().chain(inside).collect();
        for old in gone {
            self.functions.remove(&old);
        }
        if self.functions.len() < MOST_FUNCTIONS {
            self.functions.insert(start, (end, name.to_owned()));
        }
    }

    pub fn made_at(&self, address: u64) -> Option<Made> {
        let (start, (end, name)) = self.functions.range(..=address).next_back()?;
        (address < *end).then(|| Made { start: *start, name: name.clone(), frame_size: 0 })
    }

    /// Returns the whole lines that were added since the last read.
    fn read(&mut self) -> Option<String> {
        let file = self.file.as_ref()?;
        let mut bytes =
            vec![0; MOST_BYTES.min(usize::try_from(file.metadata().ok()?.len().checked_sub(self.at)?).ok()?)];
        let count = file.read_at(&mut bytes, self.at).ok()?;
        bytes.truncate(count);
        let lines = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        bytes.truncate(lines);
        self.at += lines as u64;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn parse(line: &str) -> Option<(u64, u64, &str)> {
    let mut words = line.splitn(3, ' ');
    let number = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    let (start, size, name) = (number(words.next()?)?, number(words.next()?)?, words.next()?);
    let end = start.checked_add(size)?;
    (size > 0 && size <= LONGEST).then_some((start, end, name))
}

/// Opens the file as the process sees it, below its own root. Anyone may put files into `/tmp`, so it must be
/// a regular file and belong to the process's user or to root.
fn open(pid: i32) -> Option<File> {
    let inner = inner_pid(pid)?;
    let path = format!("/tmp/perf-{inner}.map");
    let file = files::open_as_seen_by(pid, path.as_ref(), files::Last::Itself).ok()?;
    let (found, process) = (file.metadata().ok()?, fs::metadata(format!("/proc/{pid}")).ok()?);
    (found.uid() == process.uid() || found.uid() == 0).then_some(file)
}

/// Returns the process's number in its own namespace.
fn inner_pid(pid: i32) -> Option<i32> {
    let mut status = String::new();
    File::open(format!("/proc/{pid}/status")).ok()?.take(1 << 16).read_to_string(&mut status).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_whitespace().last()?.parse().ok()
}
